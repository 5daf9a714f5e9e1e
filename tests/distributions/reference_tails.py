"""Logarithms of densities and of both probabilities by their definitions, in mpmath, however small they are."""

from mpmath import mp

with mp.workdps(60):
    LOG_2, LOG_PI, LOG_TWO_PI = mp.log(2), mp.log(mp.pi), mp.log(2 * mp.pi)


def log_rest(logarithm):
    """log(1 - e^x)."""
    if logarithm == 0:
        return -mp.inf
    return mp.log(-mp.expm1(logarithm)) if logarithm > -0.7 else mp.log1p(-exp(logarithm))


def exp(x):
    """e^x, of no number whose own exponential is beyond mpmath's time."""
    return mp.exp(x) if abs(x) < mp.mpf(10) ** 1000 else mp.mpf(0) if x < 0 else mp.inf


softplus = lambda x: x + mp.log1p(exp(-x)) if x > 0 else mp.log1p(exp(x))
log_sum = lambda x, y: max(x, y) + mp.log1p(exp(-abs(x - y)))


def log_phi(x):
    """log Phi(x), by its asymptotic series where it is far in the tail."""
    if x > 0:
        return mp.log1p(-exp(log_phi(-x)))
    if x > -200:
        return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(12):
        total, term = total + term, -term * (2 * k + 1) / x**2
    return -x * x / 2 - mp.log(-x) - LOG_TWO_PI / 2 + mp.log(total)


log_erf = lambda x: mp.log(mp.erf(x)) if x < 3 else mp.log1p(-exp(log_erfc(x)))
log_erfc = lambda x: mp.log1p(-mp.erf(x)) if x < 1 else LOG_2 + log_phi(-x * mp.sqrt(2))


def log_lower_gamma(a, x):
    """log P(a, x), by its series; by the continued fraction of the complement for large x."""
    if x > a + 20:
        return log_rest(log_upper_gamma(a, x))
    total, term, k = mp.mpf(0), mp.mpf(1), 0
    while term > mp.mpf(10) ** -45 * max(total, 1):
        total, k = total + term, k + 1
        term *= x / (a + k)
    return a * mp.log(x) - x - mp.loggamma(a + 1) + mp.log(total)


def log_upper_gamma(a, x):
    if x <= a + 20:
        return log_rest(log_lower_gamma(a, x))
    value = x + 1 - a
    for k in range(200, 0, -1):
        value = x + 2 * k - 1 - a - k * (k - a) / value
    return a * mp.log(x) - x - mp.loggamma(a) - mp.log(value)


log_beta = lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def log_lower_beta(a, b, odds):
    """log I_x(a, b) at x = odds / (1 + odds), by its continued fraction on the side where that converges."""
    x, y = odds / (1 + odds), 1 / (1 + odds)
    if x > (a + 1) / (a + b + 2):
        return log_rest(log_lower_beta(b, a, 1 / odds))
    value = mp.mpf(1)
    for m in range(150, 0, -1):
        value = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / value
        value = 1 - (a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1)) / value
    return a * mp.log(x) + b * mp.log(y) - log_beta(a, b) - mp.log(a) - mp.log(value)


log_upper_cauchy = lambda x: mp.log(mp.atan(1 / x) / mp.pi) if x > 0 else mp.log1p(mp.atan(1 / x) / mp.pi)
log_student = lambda x, nu: -(nu + 1) / 2 * mp.log1p(x * x / nu) - log_beta(mp.mpf(1) / 2, nu / 2) - mp.log(nu) / 2


def log_upper_student(x, nu):
    if not x:
        return -LOG_2
    tail = log_lower_beta(nu / 2, mp.mpf(1) / 2, nu / (x * x)) - LOG_2
    return tail if x > 0 else log_rest(tail)


def log_noncentral_t(x, nu, delta):
    """By two confluent hypergeometric functions, of which nothing is left in one tail but for many digits."""
    w = abs(delta * x) / mp.sqrt(x * x + nu)
    lost = int(w * (w + mp.sqrt(nu))) if delta * x < 0 else 0
    with mp.workdps(mp.dps + lost + 10):
        square = x * x + nu
        z = (delta * x) ** 2 / (2 * square)
        odd = mp.sqrt(2) * delta * x / square * mp.hyp1f1(nu / 2 + 1, mp.mpf(3) / 2, z) / mp.gamma((nu + 1) / 2)
        even = mp.hyp1f1((nu + 1) / 2, mp.mpf(1) / 2, z) / mp.sqrt(square) / mp.gamma(nu / 2 + 1)
        scale = nu / 2 * mp.log(nu / square) + mp.loggamma(nu + 1) - nu * mp.log(2) - mp.loggamma(nu / 2)
        return scale - delta**2 / 2 + mp.log(odd + even)


log_upper_laplace = lambda x: -x - LOG_2 if x > 0 else log_rest(x - LOG_2)
log_decayed = lambda u, v: v * v / 2 - u * v + log_phi(u - v)


def log_exp_mod(u, v):
    whole = log_phi(u)
    return whole + log_rest(log_decayed(u, v) - whole)


log_upper_exp_mod = lambda u, v: log_sum(log_phi(-u), log_decayed(u, v))


def log_bessel(z):
    """log I_0(z)."""
    if z < 1e3:
        return mp.log(mp.besseli(0, z))
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(1, 12):
        total, term = total + term, term * (2 * k - 1) ** 2 / (8 * k * z)
    return z - mp.log(2 * mp.pi * z) / 2 + mp.log(total)


def log_between(low, high):
    """log(Phi(high) - Phi(low))."""
    if low > 0:
        low, high = -high, -low
    whole = log_phi(high)
    return whole + log_rest(log_phi(low) - whole)


log_extreme = lambda x, c: mp.log1p(c * x) / c if c else x
of_survival = lambda density, survival: (density, lambda x, *s: log_rest(survival(x, *s)), survival)
of_function = lambda density, function: (density, function, lambda x, *s: log_rest(function(x, *s)))


def of_gamma(density, a, t):
    """A distribution that is P(a, t)."""
    return density, lambda x, *s: log_lower_gamma(a(*s), t(x)), lambda x, *s: log_upper_gamma(a(*s), t(x))


def of_beta(density, a, b, odds):
    return (
        density,
        lambda x, *s: log_lower_beta(a(*s), b(*s), odds(x, *s)),
        lambda x, *s: log_lower_beta(b(*s), a(*s), 1 / odds(x, *s)),
    )


gamma_density = lambda x, a: (a - 1) * mp.log(x) - x - mp.loggamma(a)
beta_prime_density = lambda x, a, b: (a - 1) * mp.log(x) - (a + b) * mp.log1p(x) - log_beta(a, b)
chi_density = lambda x, nu: gamma_density(x * x / 2, nu / 2) + mp.log(x)
half_square = lambda x: x * x / 2
weibull_density = lambda x, c: mp.log(c) + (c - 1) * mp.log(x) - x**c
inverse_gaussian_terms = lambda x, mu: ((1 - x / mu) / mp.sqrt(x), 2 / mp.sqrt(x))

# by the name: the logarithms of the density, of the probability of at most x, and of that of more; None is an integral
TAILS = {
    "norm": (lambda x: -x * x / 2 - LOG_TWO_PI / 2, log_phi, lambda x: log_phi(-x)),
    "cauchy": (lambda x: -LOG_PI - mp.log1p(x * x), lambda x: log_upper_cauchy(-x), log_upper_cauchy),
    "t": (log_student, lambda x, nu: log_upper_student(-x, nu), log_upper_student),
    "nct": (log_noncentral_t, None, None),
    "logistic": (lambda x: -abs(x) - 2 * softplus(-abs(x)), lambda x: -softplus(-x), lambda x: -softplus(x)),
    "laplace": (lambda x: -abs(x) - LOG_2, lambda x: log_upper_laplace(-x), log_upper_laplace),
    "gumbel_r": of_function(lambda x: -x - exp(-x), lambda x: -exp(-x)),
    "gumbel_l": of_survival(lambda x: x - exp(x), lambda x: -exp(x)),
    "exponnorm": (
        lambda x, k: -mp.log(k) + log_decayed(x, 1 / k),
        lambda x, k: log_exp_mod(x, 1 / k),
        lambda x, k: log_upper_exp_mod(x, 1 / k),
    ),
    "skewnorm": (lambda x, a: LOG_2 - x * x / 2 - LOG_TWO_PI / 2 + log_phi(a * x), None, None),
    "expon": of_survival(lambda x: -x, lambda x: -x),
    "gamma": of_gamma(gamma_density, lambda a: a, lambda x: x),
    "invgamma": (
        lambda x, a: gamma_density(1 / x, a) - 2 * mp.log(x),
        lambda x, a: log_upper_gamma(a, 1 / x),
        lambda x, a: log_lower_gamma(a, 1 / x),
    ),
    "chi2": of_gamma(lambda x, nu: gamma_density(x / 2, nu / 2) - LOG_2, lambda nu: nu / 2, lambda x: x / 2),
    "chi": of_gamma(chi_density, lambda nu: nu / 2, half_square),
    "maxwell": of_gamma(lambda x: chi_density(x, mp.mpf(3)), lambda: mp.mpf(3) / 2, half_square),
    "lognorm": (
        lambda x, s: -mp.log(x) - mp.log(s) - LOG_TWO_PI / 2 - (mp.log(x) / s) ** 2 / 2,
        lambda x, s: log_phi(mp.log(x) / s),
        lambda x, s: log_phi(-mp.log(x) / s),
    ),
    "weibull_min": of_survival(weibull_density, lambda x, c: -(x**c)),
    "weibull_max": of_function(lambda x, c: weibull_density(-x, c), lambda x, c: -((-x) ** c)),
    "invweibull": of_function(lambda x, c: mp.log(c) - (c + 1) * mp.log(x) - x**-c, lambda x, c: -(x**-c)),
    "rayleigh": of_survival(lambda x: mp.log(x) - half_square(x), lambda x: -half_square(x)),
    "halfnorm": (
        lambda x: LOG_2 - half_square(x) - LOG_TWO_PI / 2,
        lambda x: log_erf(x / mp.sqrt(2)),
        lambda x: log_erfc(x / mp.sqrt(2)),
    ),
    "halfcauchy": (
        lambda x: LOG_2 - LOG_PI - mp.log1p(x * x),
        lambda x: mp.log(2 * mp.atan(x) / mp.pi) if x < 1 else mp.log1p(-2 * mp.atan(1 / x) / mp.pi),
        lambda x: mp.log(2 * mp.atan(1 / x) / mp.pi) if x > 1 else mp.log1p(-2 * mp.atan(x) / mp.pi),
    ),
    "pareto": of_survival(lambda x, b: mp.log(b) - (b + 1) * mp.log(x), lambda x, b: -b * mp.log(x)),
    "lomax": of_survival(lambda x, c: mp.log(c) - (c + 1) * mp.log1p(x), lambda x, c: -c * mp.log1p(x)),
    "betaprime": of_beta(beta_prime_density, lambda a, b: a, lambda a, b: b, lambda x, a, b: x),
    "f": of_beta(
        lambda x, m, n: mp.log(m / n) + beta_prime_density(m * x / n, m / 2, n / 2),
        lambda m, n: m / 2, lambda m, n: n / 2, lambda x, m, n: m * x / n,
    ),
    "fisk": (
        lambda x, c: mp.log(c) + (c - 1) * mp.log(x) - 2 * softplus(c * mp.log(x)),
        lambda x, c: -softplus(-c * mp.log(x)),
        lambda x, c: -softplus(c * mp.log(x)),
    ),
    "burr": of_function(
        lambda x, c, d: mp.log(c * d) + (c * d - 1) * mp.log(x) - (d + 1) * softplus(c * mp.log(x)),
        lambda x, c, d: -d * softplus(-c * mp.log(x)),
    ),
    "loglaplace": (
        lambda x, c: mp.log(c / 2) + (c - 1 if x < 1 else -c - 1) * mp.log(x),
        lambda x, c: log_upper_laplace(-c * mp.log(x)),
        lambda x, c: log_upper_laplace(c * mp.log(x)),
    ),
    "invgauss": (
        lambda x, mu: -LOG_TWO_PI / 2 - mp.log(x) * 3 / 2 - (x - mu) ** 2 / (2 * mu * mu * x),
        lambda x, mu: log_upper_exp_mod(*inverse_gaussian_terms(x, mu)),
        lambda x, mu: log_exp_mod(*inverse_gaussian_terms(x, mu)),
    ),
    "rice": (lambda x, b: mp.log(x) - (x * x + b * b) / 2 + log_bessel(b * x), None, None),
    "levy": (
        lambda x: -LOG_TWO_PI / 2 - mp.log(x) * 3 / 2 - 1 / (2 * x),
        lambda x: log_erfc(1 / mp.sqrt(2 * x)),
        lambda x: log_erf(1 / mp.sqrt(2 * x)),
    ),
    "vonmises": (lambda x, kappa: kappa * mp.cos(x) - LOG_TWO_PI - log_bessel(kappa), None, None),
    "uniform": (lambda x: mp.mpf(0), mp.log, lambda x: mp.log1p(-x)),
    "beta": of_beta(
        lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - log_beta(a, b),
        lambda a, b: a, lambda a, b: b, lambda x, a, b: x / (1 - x),
    ),
    "triang": (
        lambda x, c: LOG_2 + (mp.log(x / c) if x < c else mp.log1p(-x) - mp.log1p(-c)),
        lambda x, c: 2 * mp.log(x) - mp.log(c) if x < c else log_rest(2 * mp.log1p(-x) - mp.log1p(-c)),
        lambda x, c: log_rest(2 * mp.log(x) - mp.log(c)) if x < c else 2 * mp.log1p(-x) - mp.log1p(-c),
    ),
    "truncnorm": (
        lambda x, a, b: -x * x / 2 - LOG_TWO_PI / 2 - log_between(a, b),
        lambda x, a, b: log_rest(log_between(x, b) - log_between(a, b)),
        lambda x, a, b: log_rest(log_between(a, x) - log_between(a, b)),
    ),
    "genpareto": of_survival(lambda x, c: -log_extreme(x, c) - mp.log1p(c * x), lambda x, c: -log_extreme(x, c)),
    "genextreme": of_function(
        lambda x, c: -log_extreme(x, -c) - exp(-log_extreme(x, -c)) - mp.log1p(-c * x),
        lambda x, c: -exp(-log_extreme(x, -c)),
    ),
}  # fmt: skip
