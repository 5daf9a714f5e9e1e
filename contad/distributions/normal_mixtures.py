"""Distribution functions of sums and skewings of normal numbers: by integrals of positive terms, where terms cancel."""

import math

from contad.distributions.formula import formula, unlisted_rule
from contad.ops.error_functions import log_ndtr
from contad.ops.error_integrals import owens_t
from contad.ops.exponential import exp, logaddexp
from contad.ops.logic import select
from contad.ops.logistic import log1m_exp
from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint

LOG_SQRT_TWO_PI = 0.9189385332046727
LOG_2 = 0.6931471805599453
NEGLIGIBLE = 45.0  # an exponent below which a term is none


def _panels(mode, slope, reach):
    """(where six panels begin, half of the width of one): to where exp(-slope s - s^2 / 2) has fallen by `reach`."""
    length = 2.0 * reach / (slope + math.sqrt(slope * slope + 2.0 * reach))
    low = max(mode - length, 0.0)
    return low, (mode + length - low) / 12.0


# ---- Mills's ratio and its derivatives -------------------------------------------------------------------------------
@unlisted_rule(points=[(0.0, 0.7), (1.0, -2.6), (2.0, 3.1)])
def log_mills_moment(n, x):
    """log int_0^inf s^n exp(x s - s^2 / 2) ds: for n = 0 of Phi(x) / phi(x), for others of its n-th derivative.

    n = 0, 1, ... at most 20.
    """
    if not (-0.5 <= n <= 20.0) or x != x or abs(x) == math.inf:
        return math.nan
    n = round(n)
    mode = 0.5 * (x + math.sqrt(x * x + 4.0 * n))  # of s^n exp(x s - s^2 / 2)
    if x < 0.0:
        mode = n / (0.5 * (math.sqrt(x * x + 4.0 * n) - x)) if n else 0.0
    top = (n * math.log(mode) if n else 0.0) + mode * (x - 0.5 * mode)
    reach = NEGLIGIBLE + 8.0 * n
    low, half = _panels(mode, abs(x - mode) if x < 0.0 else 0.0, reach)
    total = 0.0
    for panel in range(6):
        middle = low + half * (2.0 * panel + 1.0)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for sign in (-1.0, 1.0):
                s = middle + half * sign * node
                total += weight * math.exp((n * math.log(s) if n else 0.0) + s * (x - 0.5 * s) - top)
    return top + math.log(half * total)


@log_mills_moment.partials
def log_mills_moment_partials(z, n, x):
    return 0.0, exp(log_mills_moment(rint(n) + 1.0, x) - z)


# ---- a normal and an exponential number ------------------------------------------------------------------------------
@unlisted_rule(points=[(0.7, 1.3), (-2.6, 0.4), (3.1, 0.05)])
def log_exp_mod_normal(u, v):
    """log(Phi(u) - exp(v^2 / 2 - u v) Phi(u - v)): of a standard normal number plus an exponential one of rate v.

    Where the two are near each other the difference is phi(u) int_0^inf exp(u s - s^2 / 2) (1 - exp(-v s)) ds.
    """
    if u != u or not 0.0 < v < math.inf:
        return math.nan
    if abs(u) == math.inf:
        return 0.0 if u > 0.0 else -math.inf
    whole = log_ndtr.function(u)
    if u > v:
        less = v * (0.5 * v - u) + log_ndtr.function(u - v) - whole
    else:
        less = log_mills_moment.function(0.0, u - v) - 0.5 * u * u - LOG_SQRT_TWO_PI - whole
        if u < 0.0:
            less = log_mills_moment.function(0.0, u - v) - log_mills_moment.function(0.0, u)
    if less < -LOG_2:
        return whole + math.log1p(-math.exp(less))
    mode = max(u, 0.0)
    top = mode * (u - 0.5 * mode)
    reach = NEGLIGIBLE + 8.0
    low, half = _panels(mode, max(-u, 0.0), reach)
    total = 0.0
    for panel in range(6):
        middle = low + half * (2.0 * panel + 1.0)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for sign in (-1.0, 1.0):
                s = middle + half * sign * node
                total -= weight * math.exp(s * (u - 0.5 * s) - top) * math.expm1(-v * s)
    return top + math.log(half * total) - 0.5 * u * u - LOG_SQRT_TWO_PI


@log_exp_mod_normal.partials
def log_exp_mod_normal_partials(z, u, v):
    density = -0.5 * u * u - LOG_SQRT_TWO_PI - z
    return v * exp(density + log_mills_moment(0.0, u - v)), exp(density + log_mills_moment(1.0, u - v))


@formula(points=[(0.7, 1.3), (-2.6, 0.4)])
def log_upper_exp_mod_normal(u, v):
    """log(Phi(-u) + exp(v^2 / 2 - u v) Phi(u - v)): the logarithm of the complement."""
    below = log_exp_mod_normal(u, v)
    small = below < -LOG_2
    sum_of_two = logaddexp(log_ndtr(-u), -0.5 * u * u - LOG_SQRT_TWO_PI + log_mills_moment(0.0, u - v))
    return select(small, log1m_exp(select(small, below, -1.0)), sum_of_two)


# ---- a skewed normal number ------------------------------------------------------------------------------------------
@unlisted_rule(points=[(0.7, 1.3), (-2.6, 0.4), (-1.1, -2.3)])
def log_skew_normal(u, alpha):
    """log(Phi(u) - 2 T(u, alpha)), with Owen's T: of a standard skew normal number.

    Where the two are near each other it is the integral of the density, 2 phi(t) Phi(alpha t).
    """
    if u != u or alpha != alpha:
        return math.nan
    if abs(u) == math.inf:
        return 0.0 if u > 0.0 else -math.inf
    if u > 0.0:
        above = math.exp(_log_lower_skew_normal(-u, -alpha))
        if above < 0.5:
            return math.log1p(-above)
    return _log_lower_skew_normal(u, alpha)


@log_skew_normal.partials
def log_skew_normal_partials(z, u, alpha):
    factor = 1.0 + alpha * alpha
    return (
        exp(LOG_2 - LOG_SQRT_TWO_PI - 0.5 * u * u + log_ndtr(alpha * u) - z),
        -exp(-0.5 * u * u * factor - z) / (3.141592653589793 * factor),
    )


def _log_lower_skew_normal(u, alpha):
    if u > -5.0:
        whole = math.exp(log_ndtr.function(u))
        value = whole - 2.0 * owens_t.function(u, alpha)
        if value > 0.1 * whole or u > 2.0:
            return math.log(value)
    start = log_ndtr.function(alpha * u) - 0.5 * u * u
    top = start
    if u > 0.0 and alpha > 0.0:
        top = max(start, log_ndtr.function(0.0))
    high = max(u, 0.0) + 1e-3 / (1.0 + abs(alpha) + abs(u))
    while -0.5 * (u - high) * (u - high) + log_ndtr.function(alpha * (u - high)) > top - NEGLIGIBLE:
        high *= 1.5
    width = 10.0 / (1e-300 + abs(alpha))
    ends = [0.0, min(max(u - width, 0.0), high), min(max(u, 0.0), high), min(max(u + width, 0.0), high), high]
    total = 0.0
    for k in range(4):
        half = (ends[k + 1] - ends[k]) / 8.0
        if half > 0.0:
            for panel in range(4):
                middle = ends[k] + half * (2.0 * panel + 1.0)
                for node, weight in zip(NODES, WEIGHTS, strict=True):
                    for sign in (-1.0, 1.0):
                        t = u - middle - half * sign * node
                        total += half * weight * math.exp(log_ndtr.function(alpha * t) - 0.5 * t * t - top)
    return LOG_2 - LOG_SQRT_TWO_PI + top + math.log(total)
