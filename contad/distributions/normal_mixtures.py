"""Distribution functions of sums and skewed versions of normal numbers: by integrals of positive terms where terms
cancel."""

import math

from contad.distributions.formula import LOG_2, LOG_SQRT_TWO_PI, formula, unlisted_rule
from contad.ops.error_functions import erfcx, log_ndtr
from contad.ops.error_integrals import owens_t
from contad.ops.exponential import exp, logaddexp
from contad.ops.logic import select
from contad.ops.logistic import log1m_exp
from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint

NEGLIGIBLE = 45.0  # terms with exponents below minus this are 0
HUGE = 1e150  # its square is nearly infinite


def _panels(mode, slope, reach):
    """(the beginnings of six panels, half of their width), from the mode to the point where the integrand is
    negligible.

    It falls like exp(-slope s - s^2 / 2), by `reach`.
    """
    length = 2.0 * reach / (slope + math.hypot(slope, math.sqrt(2.0 * reach)))
    low = max(-length, -mode)
    return low, (length - low) / 12.0


# ---- Mills's ratio and its derivatives -------------------------------------------------------------------------------
@unlisted_rule(points=[(0.0, 0.7), (1.0, -2.6), (2.0, 3.1)])
def log_mills_moment(n, x):
    """log int_0^inf s^n exp(x s - s^2 / 2) ds, the logarithm of the n-th derivative of Phi(x) / phi(x).

    n = 0, 1, ... at most 20.
    """
    if not (-0.5 <= n <= 20.0) or x != x or abs(x) == math.inf:
        return math.nan
    n = round(n)
    if x < -HUGE:
        return math.lgamma(n + 1.0) - (n + 1.0) * math.log(-x)
    root = math.hypot(x, 2.0 * math.sqrt(n))
    mode = 0.5 * (x + root) if x > 0.0 else 2.0 * n / (root - x) if n else 0.0  # of s^n exp(x s - s^2 / 2)
    top = (n * math.log(mode) if n else 0.0) + mode * (x - 0.5 * mode)
    reach = NEGLIGIBLE + 8.0 * n
    slope = -n / mode if n else min(x, 0.0)  # x - mode
    low, half = _panels(mode, abs(slope) if x < 0.0 else 0.0, reach)
    total = 0.0
    for panel in range(6):
        middle = low + half * (2.0 * panel + 1.0)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for sign in (-1.0, 1.0):
                s = middle + half * sign * node  # from the mode
                total += weight * math.exp((n * math.log1p(s / mode) if n else 0.0) + s * (slope - 0.5 * s))
    return top + math.log(half) + math.log(total)


@log_mills_moment.partials
def log_mills_moment_partials(z, n, x):
    return 0.0, exp(log_mills_moment(rint(n) + 1.0, x) - z)


@formula(points=[(0.7,), (-2.6,)])
def mean_above_zero(x):
    """The mean of s > 0 with the density exp(x s - s^2 / 2), a positive normal number around x."""
    above = x > 0.0
    near = select(above, 0.0, x)
    far = select(above, x, 1.0)
    mean = far + exp(-0.5 * far * far - LOG_SQRT_TWO_PI - log_ndtr(far))
    return select(above, mean, exp(log_mills_moment(1.0, near) - log_mills_moment(0.0, near)))


# ---- a normal and an exponential number ------------------------------------------------------------------------------
@unlisted_rule(points=[(0.7, 1.3), (-2.6, 0.4), (3.1, 0.05)])
def log_exp_mod_normal(u, v):
    """log(Phi(u) - exp(v^2 / 2 - u v) Phi(u - v)): for a standard normal number plus an exponential one with rate v."""
    if u != u or not 0.0 < v < math.inf:
        return math.nan
    if abs(u) == math.inf:
        return 0.0 if u > 0.0 else -math.inf
    if u < 0.0:
        return log_exp_mod_mills.function(u, v) - 0.5 * u * u - LOG_SQRT_TWO_PI
    whole = log_ndtr.function(u)
    less = log_decayed_normal.function(u, v) - whole
    return whole + math.log1p(-math.exp(less)) if less < -LOG_2 else _log_exp_mod_integral(u, v) - LOG_SQRT_TWO_PI


@log_exp_mod_normal.partials
def log_exp_mod_normal_partials(z, u, v):
    negative = u < 0.0
    low = select(negative, u, -1.0)
    high = select(negative, 1.0, u)
    mills = log_exp_mod_mills(low, v)
    rest = exp(log_decayed_normal(high, v) - z)
    above = select(rest == 0.0, 0.0, rest * mean_above_zero(high - v))
    return (
        v * select(negative, exp(log_mills_moment(0.0, low - v) - mills), rest),
        select(negative, exp(log_mills_moment(1.0, low - v) - mills), above),
    )


@unlisted_rule(points=[(-0.7, 1.3), (-2.6, 0.4), (-31.0, 0.05)])
def log_exp_mod_mills(u, v):
    """log_exp_mod_normal minus the logarithm of the normal density, for u < 0."""
    if not (-math.inf < u < 0.0 and 0.0 < v < math.inf):
        return math.nan
    whole = log_mills_moment.function(0.0, u)
    less = log_mills_moment.function(0.0, u - v) - whole
    return whole + math.log1p(-math.exp(less)) if less < -LOG_2 else _log_exp_mod_integral(u, v)


@log_exp_mod_mills.partials
def log_exp_mod_mills_partials(z, u, v):
    return u + v * exp(log_mills_moment(0.0, u - v) - z), exp(log_mills_moment(1.0, u - v) - z)


def _log_exp_mod_integral(u, v):
    """log of int_0^inf exp(u s - s^2 / 2) (1 - exp(-v s)) ds, over exp(u^2 / 2) for u > 0."""
    if u < -HUGE:
        return math.log(v) - math.log(-u) - math.log(v - u)
    mode = max(u, 0.0)
    slope = min(u, 0.0)
    low, half = _panels(mode, -slope, NEGLIGIBLE + 8.0)
    total = 0.0
    for panel in range(6):
        middle = low + half * (2.0 * panel + 1.0)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for sign in (-1.0, 1.0):
                s = middle + half * sign * node
                total -= weight * math.exp(s * (slope - 0.5 * s)) * math.expm1(-v * (mode + s))
    return math.log(half) + math.log(total)


@formula(points=[(0.7, 1.3), (-2.6, 0.4), (3.1, 1.2)])
def log_decayed_normal(u, v):
    """log(exp(v^2 / 2 - u v) Phi(u - v)); its exponential cancels where u < v."""
    above = u > v
    near = select(above, -1.0, u - v)
    below = -0.5 * u * u - LOG_SQRT_TWO_PI + log_mills_moment(0.0, near)
    return select(above, v * (0.5 * v - u) + log_ndtr(select(above, u - v, 1.0)), below)


@formula(points=[(0.7, 1.3), (-2.6, 0.4)])
def log_upper_exp_mod_normal(u, v):
    """log(Phi(-u) + exp(v^2 / 2 - u v) Phi(u - v)): the logarithm of the complement."""
    below = log_exp_mod_normal(u, v)
    small = below < -LOG_2
    sum_of_two = logaddexp(log_ndtr(-u), log_decayed_normal(u, v))
    return select(small, log1m_exp(select(small, below, -1.0)), sum_of_two)


# ---- a skewed normal number ------------------------------------------------------------------------------------------
@unlisted_rule(points=[(0.7, 1.3), (-2.6, 0.4), (-1.1, -2.3)])
def log_skew_normal(u, alpha):
    """log(Phi(u) - 2 T(u, alpha)), with Owen's T: for a standard skew normal number.

    If the two terms are nearly equal, it is the integral of the density, 2 phi(t) Phi(alpha t).
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
    negative = u < 0.0
    low = select(negative, u, -1.0)
    high = select(negative, 1.0, u)
    lost = exp(-log_skew_mills(low, alpha))
    return (
        select(negative, lost, exp(LOG_2 - LOG_SQRT_TWO_PI - 0.5 * high * high + log_ndtr(alpha * high) - z)),
        select(
            negative, -lost * normal_hazard(alpha * low), -exp(-0.5 * high * high * factor - z) / 3.141592653589793
        ) / factor,
    )  # fmt: skip


@formula(points=[(0.7,), (-2.6,)])
def normal_hazard(x):
    """phi(x) / Phi(x)."""
    below = x < 0.0
    near = select(below, 1.0, x)
    far = 0.7978845608028654 / erfcx(-0.7071067811865476 * select(below, x, -1.0))
    return select(below, far, exp(-0.5 * near * near - LOG_SQRT_TWO_PI - log_ndtr(near)))


@unlisted_rule(points=[(-0.7, 1.3), (-6.6, 0.4), (-7.1, -2.3)])
def log_skew_mills(u, alpha):
    """log_skew_normal minus the logarithm of the density, for u < 0."""
    if not (-math.inf < u < 0.0 and abs(alpha) < math.inf):
        return math.nan
    if u < -HUGE:
        return -math.log(-u) - (2.0 * math.log(math.hypot(1.0, alpha)) if alpha > 0.0 else 0.0)
    if u > -5.0:
        density = LOG_2 - LOG_SQRT_TWO_PI - 0.5 * u * u + log_ndtr.function(alpha * u)
        if density > -600.0:
            return _log_lower_skew_normal(u, alpha) - density
    # int_0^inf exp(x v - v^2 / 2) Phi(alpha u - beta v) / Phi(alpha u) dv, in units of s = v / root
    root = math.hypot(1.0, alpha) if alpha > 0.0 else 1.0
    x, beta, at = u * root, alpha / root, alpha * u
    length = 2.0 * NEGLIGIBLE / (math.hypot(x, math.sqrt(2.0 * NEGLIGIBLE)) - x)
    half = length / 12.0
    whole = erfcx.function(-0.7071067811865476 * at) if alpha > 0.0 else math.exp(log_ndtr.function(at))
    total = 0.0
    for panel in range(6):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for sign in (-1.0, 1.0):
                v = half * (2.0 * panel + 1.0 + sign * node)
                if alpha > 0.0:  # its exponential is part of that of x v
                    ratio = erfcx.function(-0.7071067811865476 * (at - beta * v)) / whole
                else:
                    ratio = math.exp(log_ndtr.function(at - beta * v)) / whole
                total += weight * ratio * math.exp(v * (x - 0.5 * v))
    return math.log(half * total) - math.log(root)


@log_skew_mills.partials
def log_skew_mills_partials(z, u, alpha):
    lost = exp(-z)
    hazard = normal_hazard(alpha * u)
    return lost + u - alpha * hazard, -hazard * (u + lost / (1.0 + alpha * alpha))


def _log_lower_skew_normal(u, alpha):
    if u < -5.0:
        start = log_ndtr.function(alpha * u) - 0.5 * u * u
        return LOG_2 - LOG_SQRT_TWO_PI + start + log_skew_mills.function(u, alpha) if start > -math.inf else start
    whole = math.exp(log_ndtr.function(u))
    value = whole - 2.0 * owens_t.function(u, alpha)
    if value > 0.1 * whole or u > 2.0:
        return math.log(value)
    start = log_ndtr.function(alpha * u) - 0.5 * u * u
    if start == -math.inf:
        return start
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
