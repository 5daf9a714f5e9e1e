"""Distributions on the whole line in standard form."""

from contad.distributions.standard_forms import StandardForm, even, standard

_JKB1 = "Johnson, Kotz & Balakrishnan (1994), chapter {}"
_JKB2 = "Johnson, Kotz & Balakrishnan (1995), chapter {}"

# a power of the normal tail Phi(-y): x is the logarithm of the odds of that tail
_POWER_OF_TAIL = ("c * log1p_exp(-x)", "log(c) + log_log1p_exp(x)")
_BALL = (  # the logarithms of the integrals: of the power below -beta, and of the whole
    "power_part = log(m / (beta * (m - 1.0))) - 0.5 * beta * beta; "
    "total = logaddexp(power_part, LOG_SQRT_TWO_PI + log_ndtr(beta))"
)
_BALL_FALL = "log1p(-beta * select(far, beta + y, 0.0) / m)"
_BALL_LESS = f"select(far, power_part + (1.0 - m) * {_BALL_FALL}, 0.0)"
_BALL_MORE = "LOG_SQRT_TWO_PI + log_normal_interval(-beta, select(far, 0.0, y), select(far, beta, y + beta))"
_BALL_BACK = (
    _BALL + "; far = {low} + total < power_part; "
    "w = expm1((select(far, {low} + total, power_part) - power_part) / (1.0 - m)); "
    "select(far, -m / beta * w - beta, -ndtri_exp(select(far, -1.0, {high} + total - LOG_SQRT_TWO_PI)))"
)
_SHAPE = "4.0 / select(absolute(skew) < 0.01, _nan, skew * skew)"  # for less, its derivatives lose their digits
_MOYAL = "far = y > 90.0; s = exp(-0.5 * select(far, 0.0, y))"

FORMS: dict[str, StandardForm] = {
    "genlogistic": standard(
        "c", "log c - (c + 1) log(1 + e^-y) - y", _JKB2.format(23),
        "left = y < 0.0; u = select(left, y, 0.0); v = select(left, 0.0, y); "
        "log(c) + select(left, c * u - (c + 1.0) * log1p_exp(u), -v - (c + 1.0) * log1p_exp(-v))",
        positive="c", attained=("c * log1p_exp(-y)", "log(c) + log_log1p_exp(y)"),
        inverse=("u = log(p) / c; u - log1m_exp(u)", "u = log1p(-q) / c; u - log1m_exp(u)"),
    ),
    "gennorm": standard(
        "beta", "log(beta / 2) - log Gamma(1 / beta) - |y|^beta", "Nadarajah (2005)",
        "log(0.5 * beta) - gammaln(1.0 / beta) - power(r, beta)", positive="beta",
        **even(
            "select(r == 0.0, -LOG_2 - 2.0 * r * exp(log(0.5 * beta) - gammaln(1.0 / beta)), "
            "log_gamma_part_of_log(1.0, 1.0 / beta, beta * log(select(r == 0.0, 1.0, r))) - LOG_2)",
        ),
    ),
    "dgamma": standard(
        "a", "(a - 1) log|y| - |y| - log 2 - log Gamma(a)", _JKB1.format(17),
        "xlogy(a - 1.0, r) - r - LOG_2 - gammaln(a)", positive="a",
        **even("log_gamma_part(1.0, a, r) - LOG_2", "gammainccinv(a, t)"),
    ),
    "dweibull": standard(
        "c", "log(c / 2) + (c - 1) log|y| - |y|^c", _JKB1.format(21),
        "log(0.5 * c) + xlogy(c - 1.0, r) - power(r, c)", positive="c",
        **even("-power(r, c) - LOG_2", "power(-log(t), 1.0 / c)"),
    ),
    "hypsecant": standard(
        "", "-log pi - log cosh y", _JKB2.format(23),
        "LOG_2 - LOG_PI - r - log1p(exp(-2.0 * r))",
        **even(
            "select(r > 700.0, LOG_2 - LOG_PI - r, log_lower_half_cauchy(exp(-select(r > 700.0, 0.0, r))))",
            "-log(tan(0.25 * PI * t))",
        ),
    ),
    "skewcauchy": standard(
        "a", "-log pi - log(1 + (y / w)^2), w = 1 + a sign y", _JKB1.format(16),
        "-2.0 * log(hypot(1.0, y / w)) - LOG_PI", valid="-1.0 < a and a < 1.0",
        lines="w = select(y < 0.0, 1.0 - a, 1.0 + a); r = select(y < 0.0, -y, y)",
        split=("y < 0.0", "log(w) + log_upper_half_cauchy(r / w) - LOG_2"),
        inverse=tuple(
            f"near = {near}; w = select(near, 1.0 - a, 1.0 + a); t = select(near, {p}, {q}); middle = t > 0.25 * w; "
            "r = w * select(middle, tan(PI * (0.5 * w - t) / w), 1.0 / tan(PI * select(middle, 0.25 * w, t) / w)); "
            "select(near, -r, r)"
            for near, p, q in (("p < 0.5 * (1.0 - a)", "p", "1.0 - p"), ("q > 0.5 * (1.0 + a)", "1.0 - q", "q"))
        ),
    ),
    "laplace_asymmetric": standard(
        "kappa", "-log(kappa + 1 / kappa) - kappa y, or + y / kappa for y < 0", "Kotz, Kozubowski & Podgorski (2001)",
        "-log(kappa + 1.0 / kappa) + select(y < 0.0, y / kappa, -kappa * y)", positive="kappa",
        lines="s = kappa * kappa",
        split=("y < 0.0", "select(y < 0.0, y / kappa - log1p(1.0 / s), -kappa * y - log1p(s))"),
        inverse=tuple(
            f"s = kappa * kappa; near = {near}; "
            f"select(near, kappa * (log1p(1.0 / s) + {low}), -(log1p(s) + {high}) / kappa)"
            for near, low, high in (
                ("p * (1.0 + s) < s", "log(p)", "log1p(-p)"), ("q * (1.0 + s) > 1.0", "log1p(-q)", "log(q)"),
            )
        ),
    ),
    "crystalball": standard(
        "beta m", "-log N - y^2 / 2 for y > -beta, otherwise -log N - beta^2 / 2 - m log(1 - beta (beta + y) / m), "
        "with N = m e^(-beta^2 / 2) / (beta (m - 1)) + (2 pi)^(1/2) Phi(beta)", "Gaiser (1982), appendix F",
        "v = select(far, 0.0, y); "
        f"select(far, -0.5 * beta * beta - m * {_BALL_FALL}, -0.5 * v * v) - total",
        positive="beta", valid="m > 1.0", lines=_BALL + "; far = y < -beta",
        tails=(
            f"select(far, {_BALL_LESS}, logaddexp(power_part, {_BALL_MORE})) - total",
            "select(far, 0.0, LOG_SQRT_TWO_PI + log_ndtr(-y) - total)",
        ),
        inverse=(
            _BALL_BACK.format(low="log(p)", high="log1p(-p)"), _BALL_BACK.format(low="log1p(-q)", high="log(q)"),
        ),
    ),
    "moyal": standard(
        "", "-(y + e^-y) / 2 - log(2 pi) / 2", "Walck (2007), section 26", "-0.5 * (y + exp(-y)) - LOG_SQRT_TWO_PI",
        lines=_MOYAL,
        tails=(
            "LOG_2 + log_ndtr(-s)",
            "select(far, -0.5 * y + LOG_2 - LOG_SQRT_TWO_PI, log(erf(0.7071067811865476 * s)))",
        ),
        inverse=("-2.0 * log(-ndtri(0.5 * p))", "-2.0 * log(1.4142135623730951 * erfinv(q))"),
    ),
    "loggamma": standard(
        "c", "c y - e^y - log Gamma(c)", _JKB2.format(22), "c * y - exp(y) - gammaln(c)", positive="c",
        both=("exp(f)", "exp(g)"), logs=("f", "g"),
        lines="f = log_gamma_part_of_log(0.0, c, y); g = log_gamma_part_of_log(1.0, c, y)",
        inverse=("log_gamma_quantile(0.0, c, p)", "log_gamma_quantile(1.0, c, q)"),
    ),
    "powernorm": standard(
        "c", "log c - y^2 / 2 - log(2 pi) / 2 + (c - 1) log Phi(-y)", "Nelson & Doganaksoy (1995)",
        "log(c) - 0.5 * y * y - LOG_SQRT_TWO_PI + (c - 1.0) * log_ndtr(-y)", positive="c",
        lines="x = log_ndtr(-y) - log_ndtr(y)", survival=_POWER_OF_TAIL,
        inverse=("-ndtri_exp(log1p(-p) / c)", "-ndtri_exp(log(q) / c)"),
    ),
    "johnsonsu": standard(
        "a b", "log b - z^2 / 2 - log(2 pi) / 2 - log(1 + y^2) / 2, z = a + b arcsinh y", _JKB1.format(12),
        "log(b) - 0.5 * z * z - LOG_SQRT_TWO_PI - log(hypot(1.0, y))", positive="b", valid="a == a",
        lines="z = a + b * arcsinh(y)", both=("ndtr(z)", "ndtr(-z)"), logs=("log_ndtr(z)", "log_ndtr(-z)"),
        inverse=("sinh((ndtri(p) - a) / b)", "sinh((-ndtri(q) - a) / b)"),
    ),
    "jf_skew_t": standard(
        "a b", "(a + 1/2) log(1 + y / s) + (b + 1/2) log(1 - y / s) - (a + b - 1) log 2 - log B(a, b) "
        "- log(a + b) / 2, with s = (a + b + y^2)^(1/2)", "Jones & Faddy (2003)",
        "(a + 0.5) * (log(over) - log(s)) + (b + 0.5) * (log(under) - log(s)) - (a + b - 1.0) * LOG_2 - betaln(a, b) "
        "- 0.5 * log(a + b)", positive="a b",
        lines="s = hypot(sqrt(a + b), y); right = y > 0.0; large = s + select(right, y, -y); small = (a + b) / large; "
        "over = select(right, large, small); under = select(right, small, large); "
        "far = large > 1e140; u = select(far, 1.0, over); v = select(far, 1.0, under); c = select(right, b, a); "
        "last = c * (log(a + b) - 2.0 * log(large)) - betaln(a, b) - log(c); rest = log1m_exp(last); "
        "below = select(far, select(right, rest, last), log_beta_part_of_ratio(a, b, u, v)); "
        "above = select(far, select(right, last, rest), log_beta_part_of_ratio(b, a, v, u))",
        logs=("below", "above"), both=("exp(below)", "exp(above)"),
        inverse=(
            "sqrt(a + b) * sinh(0.5 * log_beta_odds(a, b, p))", "-sqrt(a + b) * sinh(0.5 * log_beta_odds(b, a, q))",
        ),
    ),
    "norminvgauss": standard(
        "a b", "log(a / pi) + (a^2 - b^2)^(1/2) + b y - log s + log K_1(a s), s = (1 + y^2)^(1/2)",
        "Barndorff-Nielsen (1978)",
        "s = hypot(1.0, y); log(a) - LOG_PI + sqrt(a - b) * sqrt(a + b) + b * y - a * s - log(s) "
        "+ log(kve(1.0, a * s))",
        valid="-a < b and b < a",
    ),
    "genhyperbolic": standard(
        "p a b", "b y + log K_(p - 1/2)(a s) + (p - 1/2) log(s / a) + p log g - log(2 pi) / 2 - log K_p(g), "
        "with s = (1 + y^2)^(1/2) and g = (a^2 - b^2)^(1/2)", "Barndorff-Nielsen (1978)",
        "s = hypot(1.0, y); g = sqrt(a - b) * sqrt(a + b); b * y - a * s + g + log(kve(p - 0.5, a * s)) "
        "+ (p - 0.5) * (log(s) - log(a)) + p * log(g) - LOG_SQRT_TWO_PI - log(kve(p, g))",
        valid="p == p and -a < b and b < a",
    ),
    "pearson3": standard(
        "skew", "(a - 1) log(a + r y) - (a + r y) + log|r| - log Gamma(a), with r = 2 / skew and a = r^2; "
        "-y^2 / 2 - log(2 pi) / 2 for skew = 0", _JKB1.format(17),
        "u = 0.5 * skew * y; low = absolute(skew) < 0.5; r = select(low, 0.25 * skew * skew, 0.0); w = r * r; "
        "series = r * (1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w / 1188.0)))); "
        "a = 4.0 / select(low, 1.0, skew * skew); "
        "rest = select(low, series, gammaln(a) - (a - 0.5) * log(a) + a - LOG_SQRT_TWO_PI); "
        "y * y * log1pmx_rate(u) - log1p(u) - LOG_SQRT_TWO_PI - rest",
        valid="skew == skew", outside="y == _inf or y == -_inf or 1.0 + 0.5 * skew * y <= 0.0",
        low="y == -_inf or (skew > 0.0 and 1.0 + 0.5 * skew * y <= 0.0)",
        high="y == _inf or (skew < 0.0 and 1.0 + 0.5 * skew * y <= 0.0)",
        lines=f"shape = {_SHAPE}; x = shape * (1.0 + 0.5 * skew * y); flag = select(skew > 0.0, 0.0, 1.0); "
        "below = log_gamma_part(flag, shape, x); above = log_gamma_part(1.0 - flag, shape, x)",
        both=("exp(below)", "exp(above)"), logs=("below", "above"),
        inverse=tuple(
            f"a = {_SHAPE}; 0.5 * skew * (select(skew > 0.0, {first}inv(a, {p}), {second}inv(a, {p})) - a)"
            for p, first, second in (("p", "gammainc", "gammaincc"), ("q", "gammaincc", "gammainc"))
        ),
    ),
}  # fmt: skip
