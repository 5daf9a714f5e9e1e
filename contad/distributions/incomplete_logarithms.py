"""Logarithms of the incomplete gamma and beta functions, and their derivatives, even where the functions underflow.

Two families make the derivatives in the parameters closed under differentiation: the derivatives of a function over
itself, and those of its density over the density. In the tails both are means of an integrand with one sign.
"""

import math

import numpy as np

from contad.distributions.formula import LOG_2, formula, unlisted_rule
from contad.ops._scipy import special
from contad.ops.arithmetic import absolute
from contad.ops.beta_functions import betaln, log1pmx_of_ratio, shape_shift, stirling_series
from contad.ops.exponential import exp, expm1, log
from contad.ops.gamma_functions import gammaln, polygamma_difference
from contad.ops.incomplete_beta import (
    bell_polynomial,
    beta_cumulants,
    beta_density,
    beta_density_slope,
    beta_density_weight,
    betainc,
    betainc_derivative,
    betaincc,
    log_of_part,
    relative_beta_integral,
    shifted_beta_cumulants,
)
from contad.ops.incomplete_gamma import (
    gamma_cumulants,
    gamma_density,
    gamma_density_weight,
    gammainc,
    gammainc_derivative,
    gammaincc,
    log_less_digamma,
    relative_lower_integral,
    relative_upper_integral,
)
from contad.ops.logic import select
from contad.ops.logistic import log1m_exp
from contad.ops.rounding import rint

LEAST, MOST = 1e-100, 1e100  # of r; beyond these, r^2 or 1 / r^2 is negligible compared with 1
MOST_OF_LOG = 600.0  # of a logarithm; beyond it, the number or its inverse is negligible compared with 1
TINY = 1e-20  # an argument negligible compared with 1
SMALL = 1e-280  # below it a function has lost its digits, or soon loses them


def _where_small(function, part, rest, args):
    """log(part), computed as log(1 - rest) where it is large, and by the function of floats where it is small."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(part > 0.5, np.log1p(-rest), np.log(part))
    return _by_numbers(z, ~(part > SMALL) & ~np.isnan(z), function, args)


def _by_numbers(z, places, function, args):
    """z with the elements at these places computed by the function of floats."""
    made = np.array(z)
    for at in np.flatnonzero(places):
        made.flat[at] = function(*(float(x.flat[at]) for x in args))
    return made[()]  # a number if there are no axes


# ---- the incomplete gamma functions ----------------------------------------------------------------------------------
def _gamma_part_of_arrays(upper, a, x):
    args = np.broadcast_arrays(np.asarray(upper, float), np.asarray(a, float), np.asarray(x, float))
    below, above = special().gammainc(*args[1:]), special().gammaincc(*args[1:])
    swap = args[0] > 0.5
    return _where_small(log_gamma_part.function, np.where(swap, above, below), np.where(swap, below, above), args)


@unlisted_rule(
    points=[(0.0, 2.3, 1.7), (1.0, 0.6, 1.2), (0.0, 4.0, 1e-90), (1.0, 3.1, 900.0)], array=_gamma_part_of_arrays
)
def log_gamma_part(upper, a, x):
    """log P(a, x), or log Q(a, x) if `upper` is 1."""
    if not (0.0 < a < math.inf and x >= 0.0):
        return math.nan
    part, rest = gammainc.function(a, x), gammaincc.function(a, x)
    if upper > 0.5:
        part, rest = rest, part
    if part > SMALL:
        return math.log1p(-rest) if part > 0.5 else math.log(part)
    if x == 0.0 or math.isinf(x):
        return -math.inf
    if upper > 0.5:
        return _log_power_over_gamma(a, x) + math.log(relative_upper_integral(0, a, x))
    return _log_power_over_gamma(a, x) + math.log(relative_lower_integral(0, a, x))


@log_gamma_part.partials
def log_gamma_part_partials(z, upper, a, x):
    inside = x > 0.0 and x < math.inf
    u = select(inside, x, 1.0)
    # at the ends by the derivatives of the function itself
    part = select(inside, 1.0, select(upper > 0.5, -exp(z), exp(z)))
    hazard = select(upper > 0.5, -gamma_hazard(upper, a, u), gamma_hazard(upper, a, u))
    by_a = select(inside, gamma_part_ratio(upper, 1.0, a, u), gammainc_derivative(1.0, a, x) / part)
    return 0.0, by_a, select(inside, hazard / u, gamma_density(0.0, a, x) / part)


def _gamma_hazard_of_arrays(upper, a, x):
    upper, a, x = np.broadcast_arrays(np.asarray(upper, float), np.asarray(a, float), np.asarray(x, float))
    part = np.where(upper > 0.5, special().gammaincc(a, x), special().gammainc(a, x))
    with np.errstate(all="ignore"):
        z = np.exp(log_gamma_power.array_value(a, x)) / part
    return _by_numbers(z, ~(part > SMALL) & (x > 0.0), gamma_hazard.function, (upper, a, x))


@unlisted_rule(
    points=[(0.0, 2.3, 1.7), (1.0, 0.6, 1.2), (0.0, 4.0, 1e-90), (1.0, 3.1, 900.0)], array=_gamma_hazard_of_arrays
)
def gamma_hazard(upper, a, x):
    """x^a e^-x / Gamma(a) over P(a, x), or over Q(a, x) if `upper` is 1."""
    if not (0.0 < a < math.inf and 0.0 < x < math.inf):
        return math.nan
    part = gammaincc.function(a, x) if upper > 0.5 else gammainc.function(a, x)
    if part > SMALL:
        return math.exp(_log_power_over_gamma(a, x)) / part
    if upper > 0.5:
        return 1.0 / relative_upper_integral(0, a, x)
    return 1.0 / relative_lower_integral(0, a, x)


@gamma_hazard.partials
def gamma_hazard_partials(z, upper, a, x):
    tiny = upper < 0.5 and x < TINY  # z is a - a x / (a + 1) there
    apart = select(tiny, 1.0, x)
    by_a = z * (gamma_weight(1.0, a, apart) - gamma_part_ratio(upper, 1.0, a, apart))
    first = 1.0 - x / ((a + 1.0) * (a + 1.0))
    # below 1, where z of the lower part is nearly a, a - z is z x divided by z at a + 1
    near = upper < 0.5 and x < 1.0
    drop = z / gamma_hazard(0.0, a + 1.0, select(near, x, 1.0)) - 1.0
    above = upper > 0.5
    growth = select(above, upper_gamma_growth(a, select(above, x, 1.0)), a - x - z)
    return 0.0, select(tiny, first, by_a), z * select(near, drop, growth / x)


@unlisted_rule(points=[(2.3, 1.7), (0.6, 70.0), (3.1, 900.0)])
def upper_gamma_growth(a, x):
    """a - x + h with h = x^a e^-x / Gamma(a, x); far in the tail h is x - a + 1 - k by Legendre's continued
    fraction."""
    if not (0.0 < a < math.inf and 0.0 < x < math.inf):
        return math.nan
    if x < 2.0 * a + 40.0:
        return a - x + gamma_hazard.function(1.0, a, x)
    k = 0.0
    for n in range(40, 0, -1):
        k = n * (n - a) / (x + 2.0 * n + 1.0 - a - k)
    return 1.0 - k


@upper_gamma_growth.partials
def upper_gamma_growth_partials(z, a, x):
    hazard = gamma_hazard(1.0, a, x)
    by_a = gamma_weight(1.0, a, x) - gamma_part_ratio(1.0, 1.0, a, x)
    return 1.0 + hazard * by_a, hazard * z / x - 1.0


@unlisted_rule(points=[(0.0, 1.0, 2.3, 1.7), (1.0, 2.0, 0.6, 1.2), (0.0, 1.0, 4.0, 1e-90), (1.0, 1.0, 3.1, 900.0)])
def gamma_part_ratio(upper, n, a, x):
    """The n-th derivative in a of P(a, x), or Q(a, x), over the function itself; n = 0, 1, ..., 20."""
    if not (-0.5 <= n <= 20.0 and 0.0 < a < math.inf and 0.0 < x < math.inf):
        return math.nan
    n = round(n)
    part = gammaincc.function(a, x) if upper > 0.5 else gammainc.function(a, x)
    if n == 0:
        return 1.0
    if part > SMALL:
        return gammainc_derivative.function(n, a, x) / (-part if upper > 0.5 else part)
    if upper > 0.5:
        return relative_upper_integral(n, a, x) / relative_upper_integral(0, a, x)
    return relative_lower_integral(n, a, x) / relative_lower_integral(0, a, x)


@gamma_part_ratio.partials
def gamma_part_ratio_partials(z, upper, n, a, x):
    order = rint(n)
    by_x = (gamma_weight(order, a, x) - z) * gamma_hazard(upper, a, x) / x
    first = gamma_part_ratio(upper, order + 1.0, a, x) - z * gamma_part_ratio(upper, 1.0, a, x)
    return 0.0, 0.0, first, select(upper > 0.5, -by_x, by_x)


@unlisted_rule(points=[(2.3, 1.7), (0.6, 1.2), (31.0, 900.0)])
def log_gamma_power(a, x):
    """log(x^a e^-x / Gamma(a))."""
    return _log_power_over_gamma(a, x) if 0.0 < a < math.inf and 0.0 < x < math.inf else math.nan


@log_gamma_power.partials
def log_gamma_power_partials(z, a, x):
    return gamma_weight(1.0, a, x), (a - x) / x


@unlisted_rule(points=[(1.0, 2.3, 1.7), (2.0, 0.6, 1.2), (1.0, 31.0, 900.0)])
def gamma_weight(n, a, x):
    """The n-th derivative in a of x^a e^-x / Gamma(a), over itself; n = 0, 1, ..., 20."""
    if not (-0.5 <= n <= 20.0 and 0.0 < a < math.inf and 0.0 < x < math.inf):
        return math.nan
    shift, n = shape_shift(a), round(n)
    first, cumulants = log_less_digamma(a + shift, x), gamma_cumulants(n, a + shift)
    return gamma_density_weight(n, a, first, cumulants) if n else 1.0


@gamma_weight.partials
def gamma_weight_partials(z, n, a, x):
    order = rint(n)
    lower = (order + absolute(order - 1.0) - 1.0) / 2.0  # n - 1, and 0 for 0, where its factor is 0
    by_a = gamma_weight(order + 1.0, a, x) - z * gamma_weight(1.0, a, x)
    return 0.0, by_a, order * gamma_weight(lower, a, x) / x


# at x = r^2 / 2, by the first terms of the series at 0 and infinity if the square would underflow or overflow
@formula(points=[(1.3, 0.7), (0.6, 2.1)])
def lower_part_of_square(a, r):
    """P(a, r^2 / 2)."""
    near = r < LEAST
    s = select(near or r > MOST, 1.0, r)
    first = exp(log_first_of_square(a, select(near, r, LEAST)))
    return select(near, first, select(r > MOST, 1.0, gammainc(a, 0.5 * s * s)))


@formula(points=[(1.3, 0.7), (0.6, 2.1)])
def upper_part_of_square(a, r):
    """Q(a, r^2 / 2)."""
    near = r < LEAST
    s = select(near or r > MOST, 1.0, r)
    first = expm1(log_first_of_square(a, select(near, r, LEAST)))
    return select(near, -first, select(r > MOST, 0.0, gammaincc(a, 0.5 * s * s)))


@formula(points=[(1.3, 0.7), (0.6, 2.1)])
def log_lower_part_of_square(a, r):
    """log P(a, r^2 / 2)."""
    near = r < LEAST
    s = select(near or r > MOST, 1.0, r)
    first = log_first_of_square(a, select(near, r, LEAST))
    return select(near, first, select(r > MOST, 0.0, log_gamma_part(0.0, a, 0.5 * s * s)))


@formula(points=[(1.3, 0.7), (0.6, 2.1)])
def log_upper_part_of_square(a, r):
    """log Q(a, r^2 / 2)."""
    near = r < LEAST
    far = select(r > MOST, r, MOST)
    s = select(near or r > MOST, 1.0, r)
    first = log1m_exp(log_first_of_square(a, select(near, r, LEAST)))
    last = (a - 1.0) * (2.0 * log(far) - LOG_2) - gammaln(a) - 0.5 * far * far
    return select(near, first, select(r > MOST, last, log_gamma_part(1.0, a, 0.5 * s * s)))


@formula(points=[(0.0, 1.3, 0.4), (1.0, 0.6, -0.7), (0.0, 2.3, -1e3)])
def log_gamma_part_of_log(upper, a, u):
    """log P(a, e^u), or log Q(a, e^u) if `upper` is 1; by the first terms at 0 and infinity where e^u is extreme."""
    near = u < -MOST_OF_LOG
    far = u > MOST_OF_LOG
    first = a * select(near, u, -MOST_OF_LOG) - gammaln(a + 1.0)
    large = select(far, u, MOST_OF_LOG)
    last = (a - 1.0) * large - gammaln(a) - exp(large)
    middle = log_gamma_part(upper, a, exp(select(near or far, 0.0, u)))
    low = select(near, first, select(far, 0.0, middle))
    high = select(near, log1m_exp(first), select(far, last, middle))
    return select(upper > 0.5, high, low)


@formula(points=[(1.3, 1e-120)])
def log_first_of_square(a, r):
    """log((r^2 / 2)^a / Gamma(a + 1))."""
    return a * (2.0 * log(r) - LOG_2) - gammaln(a + 1.0)


def _log_power_over_gamma(a, x):
    """log(x^a e^-x / Gamma(a)), for a >= 10 by Stirling's series around the largest value."""
    if a < 10.0:
        return a * math.log(x) - x - math.lgamma(a)
    exponent = a * log1pmx_of_ratio((x - a) / a, x / a)
    return 0.5 * math.log(a / (2.0 * math.pi)) + exponent - stirling_series(a)


# ---- the incomplete beta function ------------------------------------------------------------------------------------
def _beta_part_of_arrays(a, b, t):
    args = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float), np.asarray(t, float))
    a, b, t = args
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x, y = t / (1.0 + t), 1.0 / (1.0 + t)
        near = t < 1.0
        part = np.where(near, special().betainc(a, b, np.where(near, x, 0.5)),
                        special().betaincc(b, a, np.where(near, 0.5, y)))  # fmt: skip
        rest = np.where(near, special().betaincc(a, b, np.where(near, x, 0.5)),
                        special().betainc(b, a, np.where(near, 0.5, y)))  # fmt: skip
    return _where_small(log_beta_part.function, part, rest, args)


@unlisted_rule(
    points=[(2.3, 1.7, 0.4), (0.6, 3.2, 1.3), (3.1, 0.8, 1e-120), (900.0, 700.0, 0.2)], array=_beta_part_of_arrays
)
def log_beta_part(a, b, t):
    """log I_x(a, b) at x = t / (1 + t), by the odds t, which determine both x and 1 - x to all digits."""
    if not (0.0 < a < math.inf and 0.0 < b < math.inf and t >= 0.0):
        return math.nan
    if math.isinf(t):
        return 0.0
    part, rest = _beta_parts(a, b, t)
    if part > SMALL:
        return math.log1p(-rest) if part > 0.5 else math.log(part)
    return _log_powers_over_beta(a, b, t) + math.log(_relative_part(0, 0, a, b, t)) if t > 0.0 else -math.inf


@log_beta_part.partials
def log_beta_part_partials(z, a, b, t):
    return (
        beta_part_ratio(1.0, 0.0, a, b, t),
        beta_part_ratio(0.0, 1.0, a, b, t),
        beta_hazard(a, b, t) / t,
    )


@unlisted_rule(points=[(2.3, 1.7, 0.4, 1.3), (3.1, 0.8, 1e-120, 0.7)])
def log_beta_part_of_ratio(a, b, x, y):
    """log I_q(a, b) at q = x / (x + y); the derivative of x / y in y would overflow for tiny y."""
    if y > 0.0 and x / y == math.inf > x:
        return math.log1p(-math.exp(log_beta_part.function(b, a, y / x)))
    return log_beta_part.function(a, b, x / y) if y > 0.0 else 0.0 if y == 0.0 else math.nan


@log_beta_part_of_ratio.partials
def log_beta_part_of_ratio_partials(z, a, b, x, y):
    inside = x > 0.0 and y > 0.0
    u = select(inside, x, 1.0)
    v = select(inside, y, 1.0)
    hazard = beta_hazard(a, b, u / v)
    # at the ends by the derivatives of the function itself, in 1 - q
    part = select(inside, 1.0, exp(z))
    rest = y / (x + y)
    by_rest = beta_density(0.0, 0.0, b, a, rest) / part / (x + y)
    return (
        select(inside, beta_part_ratio(1.0, 0.0, a, b, u / v), -betainc_derivative(0.0, 1.0, b, a, rest) / part),
        select(inside, beta_part_ratio(0.0, 1.0, a, b, u / v), -betainc_derivative(1.0, 0.0, b, a, rest) / part),
        select(inside, hazard / u, by_rest * rest),
        select(inside, -hazard / v, by_rest * (rest - 1.0)),
    )


def _beta_hazard_of_arrays(a, b, t):
    a, b, t = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float), np.asarray(t, float))
    with np.errstate(all="ignore"):
        near = t < 1.0
        part = np.where(near, special().betainc(a, b, np.where(near, t / (1.0 + t), 0.5)),
                        special().betaincc(b, a, np.where(near, 0.5, 1.0 / (1.0 + t))))  # fmt: skip
        z = np.exp(log_beta_powers.array_value(a, b, t)) / part
    return _by_numbers(z, ~(part > SMALL) & (t > 0.0), beta_hazard.function, (a, b, t))


@unlisted_rule(
    points=[(2.3, 1.7, 0.4), (0.6, 3.2, 1.3), (3.1, 0.8, 1e-120), (900.0, 700.0, 0.2)], array=_beta_hazard_of_arrays
)
def beta_hazard(a, b, t):
    """x^a (1 - x)^b / B(a, b) over I_x(a, b), at x = t / (1 + t)."""
    if not (0.0 < a < math.inf and 0.0 < b < math.inf and 0.0 < t < math.inf):
        return math.nan
    part, _ = _beta_parts(a, b, t)
    return math.exp(_log_powers_over_beta(a, b, t)) / part if part > SMALL else 1.0 / _relative_part(0, 0, a, b, t)


@beta_hazard.partials
def beta_hazard_partials(z, a, b, t):
    # below 1, where z is nearly a, a - z is z (a + b) x divided by z at a + 1
    near = t < 1.0
    drop = (a + b) * (z / beta_hazard(a + 1.0, b, select(near, t, 1.0)) - 1.0) / (1.0 + t)
    tiny = t * (1.0 + b) < TINY  # z is a - a s t there, with s = (a + b) / (a + 1)
    apart = select(tiny, 1.0, t)
    s = (a + b) / (a + 1.0)
    by_a = z * (beta_weight(1.0, 0.0, a, b, apart) - beta_part_ratio(1.0, 0.0, a, b, apart))
    by_b = z * (beta_weight(0.0, 1.0, a, b, apart) - beta_part_ratio(0.0, 1.0, a, b, apart))
    return (
        select(tiny, 1.0 - t * (s + a * (1.0 - s) / (a + 1.0)), by_a),
        select(tiny, -a * t / (a + 1.0), by_b),
        z * select(near, drop, ((a - b * t) / (1.0 + t) - z) / t),
    )


@unlisted_rule(points=[(1.0, 0.0, 2.3, 1.7, 0.4), (0.0, 1.0, 0.6, 3.2, 1.3), (1.0, 1.0, 3.1, 0.8, 1e-120)])
def beta_part_ratio(n, m, a, b, t):
    """The derivative of order n in a and m in b of I_x(a, b), over the function itself."""
    if not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0 and 0.0 < a < math.inf and 0.0 < b < math.inf):
        return math.nan
    if not 0.0 < t < math.inf:
        return math.nan
    n, m = round(n), round(m)
    if n + m == 0:
        return 1.0
    part, _ = _beta_parts(a, b, t)
    if part <= SMALL:
        return _relative_part(n, m, a, b, t) / _relative_part(0, 0, a, b, t)
    if t < 1.0:
        return betainc_derivative.function(n, m, a, b, t / (1.0 + t)) / part
    return -betainc_derivative.function(m, n, b, a, 1.0 / (1.0 + t)) / part


@beta_part_ratio.partials
def beta_part_ratio_partials(z, n, m, a, b, t):
    i = rint(n)
    j = rint(m)
    by_a = beta_part_ratio(i + 1.0, j, a, b, t) - z * beta_part_ratio(1.0, 0.0, a, b, t)
    by_b = beta_part_ratio(i, j + 1.0, a, b, t) - z * beta_part_ratio(0.0, 1.0, a, b, t)
    return 0.0, 0.0, by_a, by_b, (beta_weight(i, j, a, b, t) - z) * beta_hazard(a, b, t) / t


@unlisted_rule(points=[(2.3, 1.7, 0.4), (0.6, 3.2, 1.3), (31.0, 70.0, 1e-5)])
def log_beta_powers(a, b, t):
    """log(x^a (1 - x)^b / B(a, b)) at x = t / (1 + t)."""
    if not (0.0 < a < math.inf and 0.0 < b < math.inf and 0.0 < t < math.inf):
        return math.nan
    return _log_powers_over_beta(a, b, t)


@log_beta_powers.partials
def log_beta_powers_partials(z, a, b, t):
    by_t = a / t - (a + b) / (1.0 + t)
    return beta_weight(1.0, 0.0, a, b, t), beta_weight(0.0, 1.0, a, b, t), by_t


@unlisted_rule(points=[(1.0, 0.0, 2.3, 1.7, 0.4), (0.0, 1.0, 0.6, 3.2, 1.3), (1.0, 1.0, 31.0, 70.0, 1e-5)])
def beta_weight(n, m, a, b, t):
    """The derivative of order n in a and m in b of x^a (1 - x)^b / B(a, b), over itself."""
    if not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0 and 0.0 < a < math.inf and 0.0 < b < math.inf):
        return math.nan
    if not 0.0 < t < math.inf:
        return math.nan
    n, m, x, y = round(n), round(m), t / (1.0 + t), 1.0 / (1.0 + t)
    if n + m == 0:
        return 1.0
    first, other = beta_density_slope(a, b, x, y), beta_density_slope(b, a, y, x)
    return beta_density_weight(n, m, a, b, first, other, shifted_beta_cumulants(n, m, a, b))


@beta_weight.partials
def beta_weight_partials(z, n, m, a, b, t):
    i = rint(n)
    j = rint(m)
    i_below = (i + absolute(i - 1.0) - 1.0) / 2.0  # n - 1, and 0 for 0, where its factor is 0
    j_below = (j + absolute(j - 1.0) - 1.0) / 2.0
    by_a = beta_weight(i + 1.0, j, a, b, t) - z * beta_weight(1.0, 0.0, a, b, t)
    by_b = beta_weight(i, j + 1.0, a, b, t) - z * beta_weight(0.0, 1.0, a, b, t)
    falling = j * beta_weight(i, j_below, a, b, t)
    return 0.0, 0.0, by_a, by_b, (i * beta_weight(i_below, j, a, b, t) / t - falling) / (1.0 + t)


def _beta_parts(a, b, t):
    """(I_x(a, b), its complement), by the smaller of x and 1 - x."""
    if t < 1.0:
        x = t / (1.0 + t)
        return betainc.function(a, b, x), betaincc.function(a, b, x)
    y = 1.0 / (1.0 + t)
    return betaincc.function(b, a, y), betainc.function(b, a, y)


def _relative_part(n, m, a, b, t):
    """The derivative of I_x(a, b) over x^a y^b / B(a, b) in the tail, by recurrence as in `betainc_derivative`."""
    x, y = t / (1.0 + t), 1.0 / (1.0 + t)
    total, scale = 0.0, 1.0
    while a < 5.0:
        first = log_of_part(x, y) + polygamma_difference.function(0.0, a + 1.0, b - 1.0)
        other, shift = beta_density_slope(b, a, y, x), shape_shift(b)
        if shift:
            other -= 1.0 / b
        cumulants = beta_cumulants(n, m, a + 1.0, b + shift, a + b)
        for j in range(m - round(shift) if m else 0, m + 1):
            factor = 1.0 if j == m else m / b
            total += scale / a * factor * bell_polynomial(n, j, first, other, cumulants)
        scale *= x * ((a + b) / a)
        a += 1.0
    return total + scale * relative_beta_integral(n, m, a, b, x, y)


def _log_powers_over_beta(a, b, t):
    """log(x^a y^b / B(a, b)), for large a and b by Stirling's series around the largest value."""
    x, y = t / (1.0 + t), 1.0 / (1.0 + t)
    if min(a, b) < 10.0:
        return a * log_of_part(x, y) + b * log_of_part(y, x) - betaln.function(a, b)
    w, c = x * b - y * a, a + b
    exponent = a * log1pmx_of_ratio(w / a, x * (c / a)) + b * log1pmx_of_ratio(-w / b, y * (c / b))
    series = stirling_series(c) - stirling_series(a) - stirling_series(b)
    return 0.5 * math.log(a / c * b / (2.0 * math.pi)) + exponent + series
