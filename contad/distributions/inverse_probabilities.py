"""Quantiles of distributions whose distribution functions have no inverse in closed form: by Newton's method.

Each takes a probability p of the lower tail, or of the upper one if `upper` is 1. Newton's method solves for the
logarithm of the smaller of the two, so both tails keep their digits. The derivatives are those of the inverse function.
"""

import math

from contad.distributions.circular import (
    log_scaled_bessel,
    von_mises_log_density,
    von_mises_log_mass,
    von_mises_moment,
)
from contad.distributions.formula import LOG_SQRT_TWO_PI, LOG_TWO_PI, unlisted_rule
from contad.distributions.normal_mixtures import (
    log_exp_mod_normal,
    log_mills_moment,
    log_skew_normal,
    log_upper_exp_mod_normal,
    mean_above_zero,
)
from contad.distributions.positive_line import inverse_gaussian_log_density, rice_log_density
from contad.distributions.real_line import exp_mod_normal_log_density, skew_normal_log_density
from contad.distributions.rice_probabilities import log_rice_part
from contad.ops.arithmetic import absolute
from contad.ops.bessel_functions import i0e, i1e
from contad.ops.elementary import sqrt
from contad.ops.exponential import exp
from contad.ops.logic import select

PI = 3.141592653589793
VON_MISES, SKEW_NORMAL, EXP_MOD_NORMAL, INVERSE_GAUSSIAN, RICE = range(5)


@unlisted_rule(points=[(0.0, 0.3, 1.3), (1.0, 0.2, -0.7)])
def standard_skew_normal_quantile(upper, p, alpha):
    """The quantile of a standard skew normal number."""
    return _solve(SKEW_NORMAL, upper > 0.5, p, alpha) if abs(alpha) < math.inf else math.nan


@standard_skew_normal_quantile.partials
def skew_normal_quantile_partials(z, upper, p, alpha):
    logarithm = skew_normal_log_density(z, 0.0, 1.0, alpha)
    by_p = exp(-logarithm)
    factor = 1.0 + alpha * alpha
    return 0.0, select(upper > 0.5, -by_p, by_p), exp(-0.5 * z * z * factor - logarithm) / (PI * factor)


@unlisted_rule(points=[(0.0, 0.3, 1.3), (1.0, 0.2, 0.7)])
def standard_exp_mod_normal_quantile(upper, p, v):
    """The quantile of a standard normal number plus an exponential one with rate v."""
    return _solve(EXP_MOD_NORMAL, upper > 0.5, p, v) if 0.0 < v < math.inf else math.nan


@standard_exp_mod_normal_quantile.partials
def exp_mod_normal_quantile_partials(z, upper, p, v):
    by_p = exp(-exp_mod_normal_log_density(z, 0.0, 1.0, v))
    return 0.0, select(upper > 0.5, -by_p, by_p), -mean_above_zero(z - v) / v


@unlisted_rule(points=[(0.0, 0.3, 1.3), (1.0, 0.2, 0.7)])
def standard_inverse_gaussian_quantile(upper, p, mu):
    """The quantile of an inverse Gaussian number with mean mu and weight 1."""
    return _solve(INVERSE_GAUSSIAN, upper > 0.5, p, mu) if 0.0 < mu < math.inf else math.nan


@standard_inverse_gaussian_quantile.partials
def inverse_gaussian_quantile_partials(z, upper, p, mu):
    logarithm = inverse_gaussian_log_density(z, mu, 1.0)
    by_p = exp(-logarithm)
    s = 1.0 / sqrt(z)
    u = s * (1.0 - z / mu)
    by_mu = 2.0 * exp(log_mills_moment(0.0, u - 2.0 * s) - 0.5 * u * u - LOG_SQRT_TWO_PI - logarithm) / (mu * mu)
    return 0.0, select(upper > 0.5, -by_p, by_p), by_mu


@unlisted_rule(points=[(0.0, 0.3, 1.3), (1.0, 0.2, 0.7)])
def standard_rice_quantile(upper, p, b):
    """The quantile of Rice's distribution with scale 1."""
    return _solve(RICE, upper > 0.5, p, b) if 0.0 <= b < math.inf else math.nan


@standard_rice_quantile.partials
def rice_quantile_partials(z, upper, p, b):
    by_p = exp(-rice_log_density(z, b, 1.0))
    return 0.0, select(upper > 0.5, -by_p, by_p), i1e(b * z) / i0e(b * z)


@unlisted_rule(points=[(0.0, 0.3, 1.3), (1.0, 0.2, 0.7)])
def standard_von_mises_quantile(upper, p, kappa):
    """The quantile of an angle between -pi and pi with the von Mises distribution around 0."""
    return _solve(VON_MISES, upper > 0.5, p, kappa) if 0.0 <= kappa < math.inf else math.nan


@standard_von_mises_quantile.partials
def standard_von_mises_quantile_partials(z, upper, p, kappa):
    logarithm = von_mises_log_density(z, 0.0, kappa)
    by_p = exp(-logarithm)
    x = -absolute(z)  # in the smaller tail
    mean = von_mises_moment(1.0, -PI, x, kappa) - i1e(kappa) / i0e(kappa) + 1.0
    below = mean * exp(von_mises_log_mass(-PI, x, kappa) - log_scaled_bessel(kappa) - LOG_TWO_PI - logarithm)
    return 0.0, select(upper > 0.5, -by_p, by_p), select(z < 0.0, -below, below)


# ---- the equation ----------------------------------------------------------------------------------------------------
def _log_part(kind, above, x, shape):
    """The logarithm of the distribution function at x, or of its complement."""
    if kind == VON_MISES:
        return von_mises_log_mass.function(-PI, -x if above else x, shape) - math.log(i0e.function(shape)) - LOG_TWO_PI
    if kind == SKEW_NORMAL:
        return log_skew_normal.function(-x, -shape) if above else log_skew_normal.function(x, shape)
    if kind == EXP_MOD_NORMAL:
        return log_upper_exp_mod_normal.function(x, shape) if above else log_exp_mod_normal.function(x, shape)
    if kind == INVERSE_GAUSSIAN:
        s = 1.0 / math.sqrt(x)
        u = s * (1.0 - x / shape)
        return log_exp_mod_normal.function(u, 2.0 * s) if above else log_upper_exp_mod_normal.function(u, 2.0 * s)
    return log_rice_part.function(1.0 if above else 0.0, x, shape)


def _log_density(kind, x, shape):
    if kind == VON_MISES:
        return von_mises_log_density.function(x, 0.0, shape)
    if kind == SKEW_NORMAL:
        return skew_normal_log_density.function(x, 0.0, 1.0, shape)
    if kind == EXP_MOD_NORMAL:
        return exp_mod_normal_log_density.function(x, 0.0, 1.0, shape)
    if kind == INVERSE_GAUSSIAN:
        return inverse_gaussian_log_density.function(x, shape, 1.0)
    return rice_log_density.function(x, shape, 1.0)


def next_point(y, step, low, high):
    """y + step; if that is not between low and high, or far away, a point between them."""
    following = y + step
    if not low < following < high or abs(step) > 1.0 + abs(y):
        if math.isinf(low):
            following = high - 1.0 - abs(high)
        elif math.isinf(high):
            following = low + 1.0 + abs(low)
        else:
            following = 0.5 * (low + high)
    return following


def _solve(kind, above, p, shape):
    """x where the probability of one tail is p; on the positive half line the search is for log x."""
    positive = kind >= INVERSE_GAUSSIAN
    if not 0.0 <= p <= 1.0:
        return math.nan
    last = PI if kind == VON_MISES else math.inf
    if p * (1.0 - p) == 0.0:
        return last if above == (p == 0.0) else 0.0 if positive else -last
    if p > 0.5:
        above, p = not above, 1.0 - p
    target = math.log(p)
    low, high = -last, last
    y = 0.0
    if positive:
        y = math.log(shape) if kind == INVERSE_GAUSSIAN else 0.5 * math.log1p(shape * shape)
    for _ in range(200):
        x = math.exp(y) if positive else y
        part = _log_part(kind, above, x, shape)
        over = part - target  # decreases in x for the upper tail
        if over == 0.0:
            return x
        if (over > 0.0) == above:
            low = y
        else:
            high = y
        slope = math.exp(_log_density(kind, x, shape) - part) * (x if positive else 1.0)
        step = over / slope if slope > 0.0 else math.inf
        following = next_point(y, step if above else -step, low, high)
        if abs(following - y) <= 4e-16 * abs(y) or following == y:
            return math.exp(following) if positive else following
        y = following
    return math.exp(y) if positive else y
