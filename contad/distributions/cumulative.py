"""Distribution functions, their complements, the logarithms of both, and their inverses, matching the densities.

The logarithms keep their digits far in the tails, where the functions underflow.
"""

from contad.distributions.probability_functions import (
    Cumulative,
    Four,
    distribution,
    lower_beta,
    lower_gamma,
    upper_gamma,
)

_OF_HALF_SQUARE: Four = {
    "both": ("lower_part_of_square(a, r)", "upper_part_of_square(a, r)"),
    "logs": ("log_lower_part_of_square(a, r)", "log_upper_part_of_square(a, r)"),
}
_LOG_ERF = (
    "select({x} < 1.0, log(erf(0.7071067811865476 * select({x} < 1.0, {x}, 1.0))), "
    "log1p(-2.0 * ndtr(-select({x} < 1.0, 1.0, {x}))))"
)
_LOG_ERFC = (
    "select({x} < 1.0, log1p(-erf(0.7071067811865476 * select({x} < 1.0, {x}, 0.5))), "
    "0.6931471805599453 + log_ndtr(-select({x} < 1.0, 1.0, {x})))"
)
# by a tangent in the middle, where the cotangent has a pole
_OF_CAUCHY = (
    "middle = absolute({p} - 0.5) < 0.25; tail = select(middle, 0.25, {p}); "
    "centre = tan(3.141592653589793 * (select(middle, {p}, 0.5) - 0.5)); "
    "low = tail < 0.5; outer = 1.0 / tan(3.141592653589793 * select(low, tail, 1.0 - tail)); "
    "mu {sign} sigma * select(middle, centre, select(low, -outer, outer))"
)
# by the first term of its series if the quantile of the square is tiny or underflows
_OF_CHI = (
    "a = 0.5 * nu; x = {quantile}; near = x < 1e-150; logarithm = ({log} + gammaln(a + 1.0)) / a; "
    "sigma * select(near, exp(0.5 * (0.6931471805599453 + logarithm)), sqrt(2.0 * select(near, 1.0, x)))"
)
_R = "r = (y - mu) / sigma"
_TRIANGLE = "select({low}, sqrt(c * select({low}, {p}, 1.0)), 1.0 - sqrt((1.0 - c) * select({low}, 1.0, {q})))"
_LOG_RISING = "2.0 * log(select(rising, y, 1.0)) - log(select(rising, c, 1.0))"
_LOG_FALLING = "2.0 * log1p(-select(rising, 0.0, y)) - log1p(-select(rising, 0.0, c))"
# by the smaller tail of the normal distribution
_TRUNCATED = (
    "below = logaddexp(log_ndtr({f}) + log1p(-{p}), log_ndtr({g}) + log({p})); "
    "above = logaddexp(log_ndtr(-({f})) + log1p(-{p}), log_ndtr(-({g})) + log({p})); small = below < above; "
    "{sign}select(small, ndtri_exp(select(small, below, -1.0)), -ndtri_exp(select(small, -1.0, above)))"
)
_ANGLE_BELOW = "von_mises_log_mass(-3.141592653589793 - mu, x, kappa) - total"
_ANGLE_ABOVE = "von_mises_log_mass(x, 3.141592653589793 - mu, kappa) - total"

CUMULATIVE: dict[str, Cumulative] = {
    # ---- on the whole line -------------------------------------------------------------------------------------------
    "normal": distribution(
        "normal", "mu sigma", _R, positive="sigma", both=("ndtr(r)", "ndtr(-r)"), logs=("log_ndtr(r)", "log_ndtr(-r)"),
        inverse=("mu + sigma * ndtri(p)", "mu - sigma * ndtri(q)"),
    ),
    "std_normal": distribution(
        "std_normal", "", both=("ndtr(y)", "ndtr(-y)"), logs=("log_ndtr(y)", "log_ndtr(-y)"),
        inverse=("ndtri(p)", "-ndtri(q)"),
    ),
    "cauchy": distribution(
        "cauchy", "mu sigma", _R, positive="sigma",
        both=("arctan2(1.0, -r) / 3.141592653589793", "arctan2(1.0, r) / 3.141592653589793"),
        logs=("log_upper_cauchy(-r)", "log_upper_cauchy(r)"),
        inverse=(_OF_CAUCHY.format(p="p", sign="+"), _OF_CAUCHY.format(p="q", sign="-")),
    ),
    "logistic": distribution(
        "logistic", "mu sigma", _R, positive="sigma", both=("expit(r)", "expit(-r)"),
        logs=("log_expit(r)", "log_expit(-r)"), inverse=("mu + sigma * logit(p)", "mu - sigma * logit(q)"),
    ),
    "double_exponential": distribution(
        "double_exponential", "mu sigma", _R + "; half = 0.5 * exp(select(r < 0.0, r, -r))", positive="sigma",
        both=("select(r < 0.0, half, 1.0 - half)", "select(r < 0.0, 1.0 - half, half)"),
        logs=(
            "select(r < 0.0, r - 0.6931471805599453, log1p(-half))",
            "select(r < 0.0, log1p(-half), -r - 0.6931471805599453)",
        ),
        inverse=(
            "mu + sigma * select(p < 0.5, log(2.0 * select(p < 0.5, p, 0.5)), -log(2.0 - 2.0 * p))",
            "mu - sigma * select(q < 0.5, log(2.0 * select(q < 0.5, q, 0.5)), -log(2.0 - 2.0 * q))",
        ),
    ),
    "gumbel": distribution(
        "gumbel", "mu beta", "r = (y - mu) / beta; t = exp(-r)", positive="beta", attained=("t", "-r"),
        inverse=("mu - beta * log(-log(p))", "mu - beta * log(-log1p(-q))"),
    ),
    "student_t": distribution(
        "student_t", "nu mu sigma",
        # for huge nu the first term of the difference from a normal number, because the slopes of the others are lost
        _R + "; huge = nu > 1e12 and absolute(r) < 1000.0; v = select(huge, 1.0, nu); x = select(huge, r, 0.0); "
        "drift = x * (x * x + 1.0) / (4.0 * nu); "
        "below = log_ndtr(x) - drift * normal_hazard(x); above = log_ndtr(-x) + drift * normal_hazard(-x); "
        "low = r < -1.0; high = r > 1.0; far = absolute(r) > FAR * sqrt(v); "
        "s = select((low or high) and not far, r, 2.0); "
        "near = log_beta_part(0.5 * v, 0.5, v / (s * s)) - 0.6931471805599453; "
        "tail = select(far, log_far_student(v, select(far, absolute(r), FAR)), near); "
        "most = log1p(-exp(tail)); middle = select(low or high, 0.0, r)",
        positive="nu sigma", both=("student_cdf(nu, r)", "student_cdf(nu, -r)"), logs=(
            "select(huge, below, select(low, tail, select(high, most, log1p(-student_cdf(v, -middle)))))",
            "select(huge, above, select(high, tail, select(low, most, log1p(-student_cdf(v, middle)))))",
        ),
        inverse=("mu + sigma * student_quantile(nu, p)", "mu - sigma * student_quantile(nu, q)"),
    ),
    "noncentral_t": distribution(
        "noncentral_t", "nu delta mu sigma", _R + "; below = noncentral_t_log_cdf(r, nu, delta); "
        "above = noncentral_t_log_cdf(-r, nu, -delta)",
        positive="nu sigma", both=("exp(below)", "exp(above)"), logs=("below", "above"),
    ),
    "skew_double_exponential": distribution(
        "skew_double_exponential", "mu sigma tau",
        _R + "; left = 2.0 * (1.0 - tau) * select(r < 0.0, r, 0.0); right = -2.0 * tau * select(r < 0.0, 0.0, r)",
        positive="sigma", valid="0.0 <= tau and tau <= 1.0",
        both=(
            "select(r < 0.0, tau * exp(left), 1.0 - (1.0 - tau) * exp(right))",
            "select(r < 0.0, 1.0 - tau * exp(left), (1.0 - tau) * exp(right))",
        ),
        logs=(
            "select(r < 0.0, log(tau) + left, log1p((tau - 1.0) * exp(right)))",
            "select(r < 0.0, log1p(-tau * exp(left)), log1p(-tau) + right)",
        ),
    ),
    "exp_mod_normal": distribution(
        "exp_mod_normal", "mu sigma rate",
        _R + "; v = rate * sigma; below = log_exp_mod_normal(r, v); above = log_upper_exp_mod_normal(r, v)",
        positive="sigma rate", both=("exp(below)", "exp(above)"), logs=("below", "above"),
        inverse=(
            "mu + sigma * standard_exp_mod_normal_quantile(0.0, p, rate * sigma)",
            "mu + sigma * standard_exp_mod_normal_quantile(1.0, q, rate * sigma)",
        ),
    ),
    "skew_normal": distribution(
        "skew_normal", "xi omega alpha",
        "r = (y - xi) / omega; below = log_skew_normal(r, alpha); above = log_skew_normal(-r, -alpha)",
        positive="omega", valid="alpha == alpha", both=("exp(below)", "exp(above)"), logs=("below", "above"),
        inverse=(
            "xi + omega * standard_skew_normal_quantile(0.0, p, alpha)",
            "xi + omega * standard_skew_normal_quantile(1.0, q, alpha)",
        ),
    ),
    "von_mises": distribution(
        "von_mises", "mu kappa", "x = y - mu; total = 1.8378770664093453 + log_scaled_bessel(kappa)", positive="kappa",
        low="y <= -3.141592653589793", high="y >= 3.141592653589793",
        both=(f"exp({_ANGLE_BELOW})", f"exp({_ANGLE_ABOVE})"), logs=(_ANGLE_BELOW, _ANGLE_ABOVE),
    ),
    "von_mises_of_turns": distribution(
        "von_mises_of_turns", "kappa",
        "turn = floor(0.5 + y / 6.283185307179586); x = y - 6.283185307179586 * turn; "
        "total = 1.8378770664093453 + log_scaled_bessel(kappa); first = turn == 0.0; "
        "f = von_mises_log_mass(-3.141592653589793, x, kappa) - total; "
        "g = von_mises_log_mass(x, 3.141592653589793, kappa) - total; low = turn + exp(f); high = exp(g) - turn",
        valid="kappa >= 0.0", both=("low", "high"),
        logs=(
            "select(first, f, log(select(low > 0.0 and not first, low, _nan)))",
            "select(first, g, log(select(high > 0.0 and not first, high, _nan)))",
        ),
        inverse=("standard_von_mises_quantile(0.0, p, kappa)", "standard_von_mises_quantile(1.0, q, kappa)"),
    ),
    # ---- on the positive half ----------------------------------------------------------------------------------------
    "exponential": distribution(
        "exponential", "beta", positive="beta", low="y <= 0.0", upper="(-beta * y)",
        inverse=("-log1p(-p) / beta", "-log(q) / beta"),
    ),
    "gamma": distribution(
        "gamma", "alpha beta", "t = beta * y", positive="alpha beta", low="y <= 0.0",
        **lower_gamma("alpha", "t"),
        inverse=("gammaincinv(alpha, p) / beta", "gammainccinv(alpha, q) / beta"),
    ),
    "inv_gamma": distribution(
        "inv_gamma", "alpha beta", "t = beta / y", positive="alpha beta", low="y <= 0.0",
        **upper_gamma("alpha", "t"),
        inverse=(
            "beta * exp(-log_gamma_quantile(1.0, alpha, p))", "beta * exp(-log_gamma_quantile(0.0, alpha, q))",
        ),
    ),
    "chi_square": distribution(
        "chi_square", "nu", "t = 0.5 * y", positive="nu", low="y <= 0.0",
        **lower_gamma("0.5 * nu", "t"),
        inverse=("2.0 * gammaincinv(0.5 * nu, p)", "2.0 * gammainccinv(0.5 * nu, q)"),
    ),
    "inv_chi_square": distribution(
        "inv_chi_square", "nu", "t = 0.5 / y", positive="nu", low="y <= 0.0",
        **upper_gamma("0.5 * nu", "t"),
    ),
    "scaled_inv_chi_square": distribution(
        "scaled_inv_chi_square", "nu sigma", "t = 0.5 * nu * sigma * sigma / y", positive="nu sigma", low="y <= 0.0",
        **upper_gamma("0.5 * nu", "t"),
    ),
    "lognormal": distribution(
        "lognormal", "mu sigma", "r = (log(y) - mu) / sigma", positive="sigma", low="y <= 0.0",
        both=("ndtr(r)", "ndtr(-r)"), logs=("log_ndtr(r)", "log_ndtr(-r)"),
        inverse=("exp(mu + sigma * ndtri(p))", "exp(mu - sigma * ndtri(q))"),
    ),
    "weibull": distribution(
        "weibull", "alpha sigma", "r = y / sigma; t = power(r, alpha)", positive="alpha sigma", low="y <= 0.0",
        survival=("t", "alpha * log(r)"),
        inverse=("sigma * power(-log1p(-p), 1.0 / alpha)", "sigma * power(-log(q), 1.0 / alpha)"),
    ),
    "frechet": distribution(
        "frechet", "alpha sigma", "r = y / sigma; t = power(r, -alpha)", positive="alpha sigma", low="y <= 0.0",
        attained=("t", "-alpha * log(r)"),
        inverse=("sigma * power(0.0 - log(p), -1.0 / alpha)", "sigma * power(-log1p(-q), -1.0 / alpha)"),
    ),
    "rayleigh": distribution(
        "rayleigh", "sigma", "r = y / sigma; t = 0.5 * r * r", positive="sigma", low="y <= 0.0",
        survival=("t", "2.0 * log(r) - 0.6931471805599453"),
        inverse=("sigma * sqrt(-2.0 * log1p(-p))", "sigma * sqrt(-2.0 * log(q))"),
    ),
    "pareto": distribution(
        "pareto", "y_min alpha", "t = alpha * log(y_min / y)", positive="y_min alpha", low="y <= y_min", upper="t",
        inverse=("y_min * exp(-log1p(-p) / alpha)", "y_min * exp(-log(q) / alpha)"),
    ),
    "pareto_type_2": distribution(
        "pareto_type_2", "mu rate alpha", "t = -alpha * log1p((y - mu) / rate)", positive="rate alpha", low="y <= mu",
        upper="t", inverse=("mu + rate * expm1(-log1p(-p) / alpha)", "mu + rate * expm1(-log(q) / alpha)"),
    ),
    "loglogistic": distribution(
        "loglogistic", "alpha beta", "t = beta * log(y / alpha)", positive="alpha beta", low="y <= 0.0",
        both=("expit(t)", "expit(-t)"), logs=("log_expit(t)", "log_expit(-t)"),
        inverse=("alpha * exp(logit(p) / beta)", "alpha * exp(-logit(q) / beta)"),
    ),
    "chi": distribution(
        "chi", "nu sigma", "a = 0.5 * nu; r = y / sigma", positive="nu sigma", low="y <= 0.0", **_OF_HALF_SQUARE,
        inverse=(
            _OF_CHI.format(quantile="gammaincinv(a, p)", log="log(p)"),
            _OF_CHI.format(quantile="gammainccinv(a, q)", log="log1p(-q)"),
        ),
    ),
    "half_normal": distribution(
        "half_normal", "sigma", "r = y / sigma", positive="sigma", low="y <= 0.0",
        both=("erf(0.7071067811865476 * r)", "2.0 * ndtr(-r)"),
        logs=(_LOG_ERF.format(x="r"), _LOG_ERFC.format(x="r")),
        inverse=("1.4142135623730951 * sigma * erfinv(p)", "-sigma * ndtri(0.5 * q)"),
    ),
    "maxwell": distribution(
        "maxwell", "sigma", "a = 1.5; r = y / sigma", positive="sigma", low="y <= 0.0",
        **_OF_HALF_SQUARE,
        inverse=("sigma * sqrt(2.0 * gammaincinv(1.5, p))", "sigma * sqrt(2.0 * gammainccinv(1.5, q))"),
    ),
    "half_cauchy": distribution(
        "half_cauchy", "sigma", "r = y / sigma", positive="sigma", low="y <= 0.0",
        both=("arctan2(r, 1.0) / 1.5707963267948966", "arctan2(1.0, r) / 1.5707963267948966"),
        logs=("log_lower_half_cauchy(r)", "log_upper_half_cauchy(r)"),
        inverse=("sigma * select(p < 0.5, tan(1.5707963267948966 * p), 1.0 / tan(1.5707963267948966 * (1.0 - p)))",
            "sigma * select(q < 0.5, 1.0 / tan(1.5707963267948966 * q), tan(1.5707963267948966 * (1.0 - q)))",),
    ),
    "beta_prime": distribution(
        "beta_prime", "alpha beta sigma", "r = y / sigma", positive="alpha beta sigma", low="y <= 0.0",
        **lower_beta("alpha", "beta", "r", "1.0"),
        inverse=(
            "sigma * exp(log_beta_odds(alpha, beta, p))", "sigma * exp(-log_beta_odds(beta, alpha, q))",
        ),
    ),
    "f": distribution(
        "f", "m n sigma", "r = m * y / (n * sigma)", positive="m n sigma", low="y <= 0.0",
        **lower_beta("0.5 * m", "0.5 * n", "r", "1.0"),
        inverse=(
            "sigma * (n / m * exp(log_beta_odds(0.5 * m, 0.5 * n, p)))",
            "sigma * (n / m * exp(-log_beta_odds(0.5 * n, 0.5 * m, q)))",
        ),
    ),
    "burr": distribution(
        "burr", "c d sigma", "u = c * log(y / sigma); t = d * log1p_exp(-u)", positive="c d sigma", low="y <= 0.0",
        attained=("t", "log(d) + log_log1p_exp(u)"),
        inverse=(
            "u = log(p) / d; sigma * exp((u - log1m_exp(u)) / c)",
            "u = log1p(-q) / d; sigma * exp((u - log1m_exp(u)) / c)",
        ),
    ),
    "loglaplace": distribution(
        "loglaplace", "c sigma", "t = c * log(y / sigma); half = 0.5 * exp(select(t < 0.0, t, -t))", positive="c sigma",
        low="y <= 0.0", both=("select(t < 0.0, half, 1.0 - half)", "select(t < 0.0, 1.0 - half, half)"),
        logs=(
            "select(t < 0.0, t - 0.6931471805599453, log1p(-half))",
            "select(t < 0.0, log1p(-half), -t - 0.6931471805599453)",
        ),
        inverse=(
            "sigma * exp(select(p < 0.5, log(2.0 * select(p < 0.5, p, 0.5)), -log(2.0 - 2.0 * p)) / c)",
            "sigma * exp(select(q < 0.5, log(2.0 * select(q < 0.5, q, 0.5)), -log(2.0 - 2.0 * q)) / (-c))",
        ),
    ),
    "levy": distribution(
        "levy", "sigma", "s = sqrt(sigma / y)", positive="sigma", low="y <= 0.0",
        both=("2.0 * ndtr(-s)", "erf(0.7071067811865476 * s)"),
        logs=(_LOG_ERFC.format(x="s"), _LOG_ERF.format(x="s")),
        inverse=("sigma * power(ndtri(0.5 * p), -2.0)", "0.5 * sigma * power(erfinv(q), -2.0)"),
    ),
    "inverse_gaussian": distribution(
        "inverse_gaussian", "mu weight",
        "s = sqrt(weight) / sqrt(y); u = s * (1.0 - y / mu); "
        "below = log_upper_exp_mod_normal(u, 2.0 * s); above = log_exp_mod_normal(u, 2.0 * s)",
        positive="mu weight", low="y <= 0.0", both=("exp(below)", "exp(above)"), logs=("below", "above"),
        inverse=(
            "weight * standard_inverse_gaussian_quantile(0.0, p, mu / weight)",
            "weight * standard_inverse_gaussian_quantile(1.0, q, mu / weight)",
        ),
    ),
    "rice": distribution(
        "rice", "b sigma", "r = y / sigma; below = log_rice_part(0.0, r, b); above = log_rice_part(1.0, r, b)",
        positive="sigma", valid="b >= 0.0", low="y <= 0.0", both=("exp(below)", "exp(above)"), logs=("below", "above"),
        inverse=("sigma * standard_rice_quantile(0.0, p, b)", "sigma * standard_rice_quantile(1.0, q, b)"),
    ),
    # ---- on intervals ------------------------------------------------------------------------------------------------
    "uniform": distribution(
        "uniform", "alpha beta", valid="alpha < beta", low="y <= alpha", high="y >= beta",
        both=("(y - alpha) / (beta - alpha)", "(beta - y) / (beta - alpha)"),
        inverse=("alpha + p * (beta - alpha)", "beta - q * (beta - alpha)"),
    ),
    "beta": distribution(
        "beta", "alpha beta", positive="alpha beta", low="y <= 0.0", high="y >= 1.0",
        **lower_beta("alpha", "beta", "y", "(1.0 - y)", "betainc(alpha, beta, y)", "betaincc(alpha, beta, y)"),
        inverse=("betaincinv(alpha, beta, p)", "betainccinv(alpha, beta, q)"),
    ),
    "beta_proportion": distribution(
        "beta_proportion", "mu kappa", "a = mu * kappa; b = (1.0 - mu) * kappa", positive="kappa",
        valid="0.0 < mu and mu < 1.0", low="y <= 0.0", high="y >= 1.0",
        **lower_beta("a", "b", "y", "(1.0 - y)", "betainc(a, b, y)", "betaincc(a, b, y)"),
    ),
    "triangular": distribution(
        "triangular", "c", "rising = y < c or c == 1.0; f = y * (y / select(rising, c, 1.0)); "
        "g = (1.0 - y) * (1.0 - y) / select(rising, 1.0, 1.0 - c)",
        valid="0.0 <= c and c <= 1.0", low="y <= 0.0", high="y >= 1.0",
        both=(f"select(rising, f, -expm1({_LOG_FALLING}))", "select(rising, 1.0 - f, g)"),
        logs=(
            f"select(rising, {_LOG_RISING}, log1m_exp(select(rising, -1.0, {_LOG_FALLING})))",
            f"select(rising, log1m_exp(select(rising, {_LOG_RISING}, -1.0)), {_LOG_FALLING})",
        ),
        inverse=(
            _TRIANGLE.format(low="p < c", p="p", q="1.0 - p"),
            _TRIANGLE.format(low="1.0 - q < c", p="1.0 - q", q="q"),
        ),
    ),
    "truncated_normal": distribution(
        "truncated_normal", "a b",
        "total = log_normal_interval(a, b, b - a)", valid="a < b", low="y <= a", high="y >= b",
        tails=("log_normal_interval(a, y, y - a) - total", "log_normal_interval(y, b, b - y) - total"),
        inverse=(_TRUNCATED.format(f="a", g="b", sign="", p="p"), _TRUNCATED.format(f="-b", g="-a", sign="-", p="q")),
    ),
    "generalised_pareto": distribution(
        "generalised_pareto", "c", "t = -log_ratio_of_extremes(y, c)", valid="c == c", low="y <= 0.0",
        high="1.0 + c * y <= 0.0 or y == _inf", upper="t",
        inverse=("growth_of_extremes(-log1p(-p), c)", "growth_of_extremes(-log(q), c)"),
    ),
    "generalised_extreme": distribution(
        "generalised_extreme", "c", "u = log_ratio_of_extremes(y, -c); t = exp(-u)", valid="c == c",
        low="y == -_inf or (c < 0.0 and 1.0 - c * y <= 0.0)", high="y == _inf or (c > 0.0 and 1.0 - c * y <= 0.0)",
        attained=("t", "-u"),
        inverse=("growth_of_extremes(-log(0.0 - log(p)), -c)", "growth_of_extremes(-log(-log1p(-q)), -c)"),
    ),
    # ---- whole numbers -----------------------------------------------------------------------------------------------
    "zipf": distribution(
        "zipf", "a", "k = floor(n)", valid="a > 1.0", low="n < 1.0", high="n == _inf", whole=["n"],
        both=("exp(zipf_log_cdf(k, a))", "exp(zipf_log_ccdf(k, a))"),
        logs=("zipf_log_cdf(k, a)", "zipf_log_ccdf(k, a)"),
    ),
    "discrete_range": distribution(
        "discrete_range", "lower upper", "k = floor(n); a = floor(lower); b = floor(upper); w = 1.0 / (b - a + 1.0)",
        valid="lower <= upper", low="n < lower", high="n >= upper", whole=["n", "lower", "upper"],
        both=("(k - a + 1.0) * w", "(b - k) * w"),
        logs=("log((k - a + 1.0) * w)", "log((b - k) * w)"),
    ),
    "bernoulli": distribution(
        "bernoulli", "theta", valid="0.0 <= theta and theta <= 1.0", low="n < 0.0", high="n >= 1.0", whole=["n"],
        both=("1.0 - theta", "theta"), logs=("log1p(-theta)", "log(theta)"),
    ),
    "binomial": distribution(
        "binomial", "N theta", "k = floor(n)", valid="0.0 <= theta and theta <= 1.0", low="n < 0.0", high="n >= N",
        whole=["n", "N"],
        **lower_beta(
            "N - k", "k + 1.0", "(1.0 - theta)", "theta",
            "betaincc(k + 1.0, N - k, theta)", "betainc(k + 1.0, N - k, theta)",
        ),
    ),
    "beta_binomial": distribution(
        "beta_binomial", "N alpha beta", "k = floor(n)", positive="alpha beta", valid="N >= 0.0 and N == floor(N)",
        low="n < 0.0", high="n >= N", whole=["n", "N"],
        both=("exp(beta_binomial_log_cdf(k, N, alpha, beta))", "exp(beta_binomial_log_ccdf(k, N, alpha, beta))"),
        logs=("beta_binomial_log_cdf(k, N, alpha, beta)", "beta_binomial_log_ccdf(k, N, alpha, beta)"),
    ),
    "beta_neg_binomial": distribution(
        "beta_neg_binomial", "r alpha beta", "k = floor(n)", positive="r alpha beta", low="n < 0.0",
        high="n == _inf", whole=["n"],
        both=(
            "exp(beta_neg_binomial_log_cdf(k, r, alpha, beta))", "exp(beta_neg_binomial_log_ccdf(k, r, alpha, beta))",
        ),
        logs=("beta_neg_binomial_log_cdf(k, r, alpha, beta)", "beta_neg_binomial_log_ccdf(k, r, alpha, beta)"),
    ),
    "hypergeometric": distribution(
        "hypergeometric", "N a b", "k = floor(n)", valid="N >= 0.0 and a >= 0.0 and b >= 0.0 and N <= a + b",
        low="n < 0.0", high="n >= N", whole=["n", "N", "a", "b"],
        both=("exp(log_hypergeometric_cdf(k, N, a, b))", "exp(log_hypergeometric_ccdf(k, N, a, b))"),
        logs=("log_hypergeometric_cdf(k, N, a, b)", "log_hypergeometric_ccdf(k, N, a, b)"),
    ),
    "poisson": distribution(
        "poisson", "rate", "k = floor(n) + 1.0", valid="rate >= 0.0", low="n < 0.0", high="n == _inf", whole=["n"],
        **upper_gamma("k", "rate"),
    ),
    "neg_binomial": distribution(
        "neg_binomial", "alpha beta", "k = floor(n) + 1.0", positive="alpha beta",
        low="n < 0.0", high="n == _inf", whole=["n"],
        **lower_beta("alpha", "k", "beta", "1.0"),
    ),
    "neg_binomial_2": distribution(
        "neg_binomial_2", "mu phi", "k = floor(n) + 1.0", positive="mu phi", low="n < 0.0", high="n == _inf",
        whole=["n"],
        **lower_beta("phi", "k", "phi", "mu"),
    ),
    "negative_binomial": distribution(
        "negative_binomial", "size p", "k = floor(n) + 1.0", positive="size", valid="0.0 < p and p <= 1.0",
        low="n < 0.0", high="n == _inf", whole=["n"],
        **lower_beta("size", "k", "p", "(1.0 - p)", "betainc(size, k, p)", "betaincc(size, k, p)"),
    ),
    "yule_simon": distribution(
        "yule_simon", "alpha", "t = -log_rising_growth(floor(n), alpha)", positive="alpha", low="n < 1.0",
        high="n == _inf", whole=["n"], upper="t",
    ),
    "geometric": distribution(
        "geometric", "p", "t = floor(n) * log1p(-p)", valid="0.0 < p and p <= 1.0", low="n < 1.0", high="n == _inf",
        whole=["n"], upper="t",
    ),
}  # fmt: skip
