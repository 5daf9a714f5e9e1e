"""The definitions, in mpmath, of the distributions that are rows in standard form, as those in `reference_tails`."""

from mpmath import mp

from tests.distributions.reference_tails import (
    LOG_2,
    LOG_PI,
    LOG_TWO_PI,
    TAILS as OTHERS,
    exp,
    gamma_density,
    log_bessel,
    log_beta,
    log_between,
    log_erf,
    log_erfc,
    log_exp_mod,
    log_lower_beta,
    log_lower_gamma,
    log_phi,
    log_rest,
    log_sum,
    log_upper_cauchy,
    log_upper_exp_mod,
    log_upper_gamma,
    of_function,
    of_survival,
    softplus,
)

log_normal = lambda z: -z * z / 2 - LOG_TWO_PI / 2
log_half_cauchy = lambda x: LOG_2 + log_upper_cauchy(x)  # the upper tail of a folded one
grown = lambda x: mp.expm1(x) if x < 1e4 else mp.inf
square_root = lambda x: mp.hypot(1, x)


def log_inside(low, width):
    """log(Phi(low + width) - Phi(low))."""
    return log_between(low, low + width) if width > 1e-15 else log_normal(low + width / 2) + mp.log(width)


def even(density, tail):
    """By the density and the upper tail at r >= 0."""
    low = lambda x, *s: tail(-x, *s) if x < 0 else log_rest(tail(x, *s))
    return lambda x, *s: density(abs(x), *s), low, lambda x, *s: low(-x, *s)


def of_power(a, power, jacobian):
    """Of a number of which a power has a gamma distribution of shape a; decreasing powers swap the tails."""

    def pick(upper):
        return lambda x, *s: (log_upper_gamma if upper == rises(*s) else log_lower_gamma)(a(*s), power(x, *s))

    rises = lambda *s: power(mp.mpf(2), *s) > power(mp.mpf(1), *s)
    density = lambda x, *s: gamma_density(power(x, *s), a(*s)) + mp.log(jacobian(x, *s))
    return density, pick(False), pick(True)


def of_normal(z, log_slope):
    """Of a number that z makes a normal one."""
    return (
        lambda x, *s: log_normal(z(x, *s)) + log_slope(x, *s),
        lambda x, *s: log_phi(z(x, *s)), lambda x, *s: log_phi(-z(x, *s)),
    )  # fmt: skip


def of_tails(density, low, high):
    """By both probabilities, of which the smaller has all digits."""

    def pick(upper, x, *s):
        below, above = low(x, *s), high(x, *s)
        return (above if upper else below) if (above < below) == upper else log_rest(min(above, below))

    return density, lambda x, *s: pick(False, x, *s), lambda x, *s: pick(True, x, *s)


def ball(x, beta, m):
    """(the logarithms of the density, of the probability of at most x, of that of more)."""
    power = mp.log(m / beta / (m - 1)) - beta * beta / 2
    total = log_sum(power, LOG_TWO_PI / 2 + log_phi(beta))
    if x < -beta:
        fall = mp.log1p(-beta * (beta + x) / m)
        low = power + (1 - m) * fall - total
        return -beta * beta / 2 - m * fall - total, low, log_rest(low)
    high = LOG_TWO_PI / 2 + log_phi(-x) - total
    low = log_sum(power, LOG_TWO_PI / 2 + log_between(-beta, x)) - total if x < 0 else log_rest(high)
    return -x * x / 2 - total, low, high


def skewed_cauchy(x, a):
    w = 1 - a if x < 0 else 1 + a
    tail = mp.log(w) + log_upper_cauchy(abs(x) / w)
    return -LOG_PI - mp.log1p((x / w) ** 2), *((tail, log_rest(tail)) if x < 0 else (log_rest(tail), tail))


def skewed_laplace(x, k):
    tail = x / k - mp.log1p(k**-2) if x < 0 else -k * x - mp.log1p(k**2)
    density = -mp.log(k + 1 / k) + (x / k if x < 0 else -k * x)
    return density, *((tail, log_rest(tail)) if x < 0 else (log_rest(tail), tail))


def trapeze(x, c, d):
    top = 2 / (1 + d - c)
    height = top * (x / c if x < c else (1 - x) / (1 - d) if x > d else 1)
    low = top * (x * x / c / 2 if x < c else x - c / 2) if x < d else 1 - top * (1 - x) ** 2 / (1 - d) / 2
    return mp.log(height), mp.log(low), mp.log1p(-low)


def split(f):
    """The three functions of one that returns all."""
    return tuple(lambda x, *s, k=k: f(x, *s)[k] for k in range(3))


def faddy(x, a, b):
    s = mp.sqrt(a + b + x * x)
    over = s + x if x > 0 else (a + b) / (s - x)
    return (
        (a + mp.mpf(1) / 2) * mp.log(over / s) + (b + mp.mpf(1) / 2) * mp.log((a + b) / over / s)
        - (a + b - 1) * LOG_2 - log_beta(a, b) - mp.log(a + b) / 2,
        log_lower_beta(a, b, over**2 / (a + b)), log_lower_beta(b, a, (a + b) / over**2),
    )  # fmt: skip


def pearson(x, skew):
    r = 2 / skew
    a = r * r
    t = a + r * x
    return (
        gamma_density(t, a) + mp.log(abs(r)),
        (log_lower_gamma if skew > 0 else log_upper_gamma)(a, t),
        (log_upper_gamma if skew > 0 else log_lower_gamma)(a, t),
    )


def birnbaum(x, c):
    return (x - 1) / (c * mp.sqrt(x))


def log_bessel_k(v, x):
    """log K_v(x), by its asymptotic series for large x."""
    if x < 300:
        return mp.log(mp.besselk(v, x))
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(1, 60):
        total, term = total + term, term * (4 * v * v - (2 * k - 1) ** 2) / (8 * k * x)
    return mp.log(mp.pi / (2 * x)) / 2 - x + mp.log(total)


def hyperbolic(x, p, a, b):
    s, g = square_root(x), mp.sqrt(a * a - b * b)
    height = b * x + (p - mp.mpf(1) / 2) * mp.log(s / a) + p * mp.log(g) - LOG_TWO_PI / 2
    return height + log_bessel_k(p - mp.mpf(1) / 2, a * s) - log_bessel_k(p, g)


def log_chi_square_off_centre(x, nu, shift):
    v = nu / 2 - 1
    return -LOG_2 - (x + shift) / 2 + v / 2 * mp.log(x / shift) + log_bessel_i(v, mp.sqrt(shift * x))


def log_bessel_i(v, x):
    if x < 1e3:
        return mp.log(mp.besseli(v, x))
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(1, 40):
        total, term = total + term, -term * (4 * v * v - (2 * k - 1) ** 2) / (8 * k * x)
    return x - mp.log(2 * mp.pi * x) / 2 + mp.log(total)


burr = lambda x, c, d: -d * softplus(c * mp.log(x))
folded_tail = lambda x, c: mp.log((mp.atan2(1, x - c) + mp.atan(1 / (x + c))) / mp.pi)
folded_part = lambda x, c: mp.log(mp.atan2(2 * x, 1 + c * c - x * x) / mp.pi)
extreme = lambda x, c: -mp.log1p(-c * x) / c
log_tanh_half = lambda u: mp.log(mp.tanh(u / 2)) if u < 1 else log_rest(LOG_2 - softplus(u))
weibull_part = lambda a, b, c: -(a**c) + log_rest(a**c - b**c)
of_secant = lambda r: LOG_2 - LOG_PI + (mp.log(mp.atan(exp(-r))) if r < 1000 else -r)
angle_part = lambda low, high, k: mp.log(mp.quad(lambda t: mp.exp(k * mp.cos(t)), [low, high]))

FORMS = {
    "genlogistic": of_function(
        lambda x, c: mp.log(c) + (c * x - (c + 1) * softplus(x) if x < 0 else -x - (c + 1) * softplus(-x)),
        lambda x, c: -c * softplus(-x),
    ),
    "gennorm": even(
        lambda x, b: mp.log(b / 2) - mp.loggamma(1 / b) - x**b, lambda r, b: log_upper_gamma(1 / b, r**b) - LOG_2
    ),
    "dgamma": even(lambda x, a: gamma_density(x, a) - LOG_2, lambda r, a: log_upper_gamma(a, r) - LOG_2),
    "dweibull": even(lambda x, c: mp.log(c / 2) + (c - 1) * mp.log(x) - x**c, lambda r, c: -(r**c) - LOG_2),
    "hypsecant": even(lambda x: LOG_2 - LOG_PI - x - mp.log1p(exp(-2 * x)), of_secant),
    "skewcauchy": split(skewed_cauchy), "laplace_asymmetric": split(skewed_laplace), "crystalball": split(ball),
    "moyal": (
        lambda x: -(x + exp(-x)) / 2 - LOG_TWO_PI / 2,
        lambda x: log_erfc(exp(-x / 2) / mp.sqrt(2)), lambda x: log_erf(exp(-x / 2) / mp.sqrt(2)) if x < 1e4 else
        LOG_2 - LOG_TWO_PI / 2 - x / 2,
    ),
    "loggamma": (
        lambda x, c: c * x - exp(x) - mp.loggamma(c),
        lambda x, c: log_lower_gamma(c, exp(x)) if abs(x) < 1e4 else c * x - mp.loggamma(c + 1) if x < 0 else mp.mpf(0),
        lambda x, c: log_upper_gamma(c, exp(x)) if abs(x) < 1e4 else -mp.inf if x > 0 else mp.mpf(0),
    ),
    "powernorm": of_survival(
        lambda x, c: mp.log(c) + log_normal(x) + (c - 1) * log_phi(-x), lambda x, c: c * log_phi(-x)
    ),
    "johnsonsu": of_normal(
        lambda x, a, b: a + b * mp.asinh(x), lambda x, a, b: mp.log(b) - mp.log(square_root(x))
    ),
    "jf_skew_t": split(faddy), "pearson3": split(pearson),
    "norminvgauss": (
        lambda x, a, b: mp.log(a) - LOG_PI + mp.sqrt(a * a - b * b) + b * x - mp.log(square_root(x))
        + log_bessel_k(1, a * square_root(x)), None, None,
    ),
    "genhyperbolic": (hyperbolic, None, None),
    "burr12": of_survival(
        lambda x, c, d: mp.log(c * d) + (c - 1) * mp.log(x) + burr(x, c, d + 1), burr
    ),
    "exponweib": of_function(
        lambda x, a, c: mp.log(a * c) + (a - 1) * log_rest(-(x**c)) - x**c + (c - 1) * mp.log(x),
        lambda x, a, c: a * log_rest(-(x**c)),
    ),
    "exponpow": of_survival(
        lambda x, b: mp.log(b) + (b - 1) * mp.log(x) + x**b - grown(x**b), lambda x, b: -grown(x**b)
    ),
    "gengamma": of_power(lambda a, c: a, lambda x, a, c: x**c, lambda x, a, c: abs(c) * x ** (c - 1)),
    "nakagami": of_power(lambda nu: nu, lambda x, nu: nu * x * x, lambda x, nu: 2 * nu * x),
    "halfgennorm": of_power(lambda b: 1 / b, lambda x, b: x**b, lambda x, b: b * x ** (b - 1)),
    "gompertz": of_survival(lambda x, c: mp.log(c) + x - c * grown(x), lambda x, c: -c * grown(x)),
    "halflogistic": of_tails(
        lambda x: LOG_2 - x - 2 * softplus(-x), log_tanh_half, lambda x: LOG_2 - softplus(x)
    ),
    "foldcauchy": of_tails(
        lambda x, c: -LOG_PI + mp.log(1 / (1 + (x - c) ** 2) + 1 / (1 + (x + c) ** 2)), folded_part, folded_tail
    ),
    "foldnorm": of_tails(
        lambda x, c: log_sum(log_normal(x - c), log_normal(x + c)),
        lambda x, c: log_inside(-x - c, 2 * x), lambda x, c: log_sum(log_phi(c - x), log_phi(-c - x)),
    ),
    "fatiguelife": of_normal(birnbaum, lambda x, c: mp.log((1 + x) / (2 * c)) - mp.log(x) * 3 / 2),
    "alpha": of_tails(
        lambda x, a: log_normal(a - 1 / x) - 2 * mp.log(x) - log_phi(a),
        lambda x, a: log_phi(a - 1 / x) - log_phi(a), lambda x, a: log_inside(a - 1 / x, 1 / x) - log_phi(a),
    ),
    "kappa3": of_function(
        lambda x, a: mp.log(a) - (1 + 1 / a) * (mp.log(a) + softplus(a * mp.log(x) - mp.log(a))),
        lambda x, a: -softplus(mp.log(a) - a * mp.log(x)) / a,
    ),
    "powerlognorm": of_survival(
        lambda x, c, s: mp.log(c / x / s) + log_normal(mp.log(x) / s) + (c - 1) * log_phi(-mp.log(x) / s),
        lambda x, c, s: c * log_phi(-mp.log(x) / s),
    ),
    "genexpon": of_survival(
        lambda x, a, b, c: mp.log(a - b * mp.expm1(-c * x)) - (a + b) * x - b / c * mp.expm1(-c * x),
        lambda x, a, b, c: -(a + b) * x - b / c * mp.expm1(-c * x),
    ),
    "recipinvgauss": (
        lambda x, mu: -(LOG_TWO_PI + mp.log(x)) / 2 - (1 - mu * x) ** 2 / (2 * x * mu * mu),
        lambda x, mu: log_exp_mod(mp.sqrt(x) - 1 / mu / mp.sqrt(x), 2 * mp.sqrt(x)),
        lambda x, mu: log_upper_exp_mod(mp.sqrt(x) - 1 / mu / mp.sqrt(x), 2 * mp.sqrt(x)),
    ),
    "geninvgauss": (
        lambda x, p, b: (p - 1) * mp.log(x) - b * (x + 1 / x) / 2 - LOG_2 - log_bessel_k(p, b), None, None
    ),
    "ncx2": (log_chi_square_off_centre, None, None),
    "powerlaw": of_function(lambda x, a: mp.log(a) + (a - 1) * mp.log(x), lambda x, a: a * mp.log(x)),
    "johnsonsb": of_normal(
        lambda x, a, b: a + b * mp.log(x / (1 - x)), lambda x, a, b: mp.log(b) - mp.log(x) - mp.log1p(-x)
    ),
    "loguniform": of_tails(
        lambda x, a, b: -mp.log(x) - mp.log(mp.log(b / a)),
        lambda x, a, b: mp.log(mp.log(x / a) / mp.log(b / a)), lambda x, a, b: mp.log(mp.log(b / x) / mp.log(b / a)),
    ),
    "truncexpon": of_tails(
        lambda x, b: -x - log_rest(-b), lambda x, b: log_rest(-x) - log_rest(-b),
        lambda x, b: -x + log_rest(x - b) - log_rest(-b),
    ),
    "truncpareto": of_tails(
        lambda x, b, c: mp.log(b / (1 - c**-b)) - (b + 1) * mp.log(x),
        lambda x, b, c: mp.log((1 - x**-b) / (1 - c**-b)), lambda x, b, c: mp.log((x**-b - c**-b) / (1 - c**-b)),
    ),
    "truncweibull_min": of_tails(
        lambda x, c, a, b: mp.log(c) + (c - 1) * mp.log(x) - x**c - weibull_part(a, b, c),
        lambda x, c, a, b: weibull_part(a, x, c) - weibull_part(a, b, c),
        lambda x, c, a, b: weibull_part(x, b, c) - weibull_part(a, b, c),
    ),
    "bradford": (
        lambda x, c: mp.log(c / mp.log1p(c)) - mp.log1p(c * x), lambda x, c: mp.log(mp.log1p(c * x) / mp.log1p(c)),
        lambda x, c: mp.log1p(-mp.log1p(c * x) / mp.log1p(c)),
    ),
    "anglit": of_tails(
        lambda x: mp.log(mp.cos(2 * x)),
        lambda x: 2 * mp.log(mp.sin(x + mp.pi / 4)), lambda x: 2 * mp.log(mp.sin(mp.pi / 4 - x)),
    ),
    "arcsine": (
        lambda x: -LOG_PI - mp.log(x * (1 - x)) / 2,
        lambda x: mp.log(2 / mp.pi * mp.asin(mp.sqrt(x))), lambda x: mp.log1p(-2 / mp.pi * mp.asin(mp.sqrt(x))),
    ),
    "cosine": of_tails(
        lambda x: mp.log(1 + mp.cos(x)) - LOG_TWO_PI, lambda x: mp.log((mp.pi + x + mp.sin(x)) / (2 * mp.pi)),
        lambda x: mp.log((mp.pi - x - mp.sin(x)) / (2 * mp.pi)),
    ),
    "semicircular": even(
        lambda x: LOG_2 - LOG_PI + mp.log1p(-x * x) / 2,
        lambda r: mp.log(mp.mpf(1) / 2 - (r * mp.sqrt(1 - r * r) + mp.asin(r)) / mp.pi),
    ),
    "rdist": even(
        lambda x, c: (c / 2 - 1) * mp.log1p(-x * x) - log_beta(mp.mpf(1) / 2, c / 2),
        lambda r, c: log_lower_beta(c / 2, c / 2, (1 - r) / (1 + r)),
    ),
    "wrapcauchy": of_tails(
        lambda x, c: mp.log((1 - c * c) / (2 * mp.pi * (1 + c * c - 2 * c * mp.cos(x)))),
        lambda x, c: mp.log(mp.atan2((1 + c) * mp.sin(x / 2), (1 - c) * mp.cos(x / 2)) / mp.pi),
        lambda x, c: mp.log(mp.atan2((1 + c) * mp.sin(x / 2), -(1 - c) * mp.cos(x / 2)) / mp.pi),
    ),
    "vonmises_line": (
        lambda x, k: k * mp.cos(x) - LOG_TWO_PI - log_bessel(k),
        lambda x, k: angle_part(-mp.pi, x, k) - LOG_TWO_PI - log_bessel(k),
        lambda x, k: angle_part(x, mp.pi, k) - LOG_TWO_PI - log_bessel(k),
    ),
    "trapezoid": split(trapeze),
    "genhalflogistic": of_tails(
        lambda x, c: LOG_2 - extreme(x, c) - 2 * softplus(-extreme(x, c)) - mp.log1p(-c * x),
        lambda x, c: log_tanh_half(extreme(x, c)), lambda x, c: LOG_2 - softplus(extreme(x, c)),
    ),
}  # fmt: skip
FORMS |= {
    "reciprocal": FORMS["loguniform"], "erlang": OTHERS["gamma"],
    "gibrat": tuple(lambda x, f=f: f(x, mp.mpf(1)) for f in OTHERS["lognorm"]),
    "wald": tuple(lambda x, f=f: f(x, mp.mpf(1)) for f in OTHERS["invgauss"]),
    "mielke": tuple(lambda x, k, s, f=f: f(x, s, k / s) for f in OTHERS["burr"]),
    "levy_l": tuple(lambda x, k=k: OTHERS["levy"][k](-x) for k in (0, 2, 1)),
}  # fmt: skip
TAILS = OTHERS | FORMS
