"""Sums of powers j^-s of whole numbers, for the distribution functions of Zipf's distribution.

The first terms are added; the others are an integral over the logarithm of j, with Euler-Maclaurin corrections at both
ends (DLMF 2.10.1). All are positive and relative to the first, so neither tail cancels or underflows.
"""

import math

from contad.distributions.formula import LOG_2, formula, unlisted_rule
from contad.ops.exponential import log1p
from contad.ops.logic import select
from contad.ops.logistic import log1m_exp
from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint
from contad.ops.zeta_functions import correct_integral, zeta

PANELS = 4


@unlisted_rule(points=[(1.0, 40.0, 1.3), (7.0, 1e9, 2.4), (3.0, math.inf, 300.0)])
def log_power_sum(low, high, s):
    """log of the sum of j^-s, j = low, ..., high, for s >= 0; for s > 1, `high` may be infinite."""
    if not (1.0 <= low <= high and 0.0 <= s < math.inf and (s > 1.0 or high < math.inf)):
        return math.nan
    more, unit = _add_powers(0, low, high, s)
    if unit == 1.0:
        return math.log1p(more) - s * math.log(low)
    return math.log(more) + (1.0 - s) * math.log(low)


@log_power_sum.partials
def log_power_sum_partials(z, low, high, s):
    return 0.0, 0.0, power_sum_ratio(1.0, low, high, s)


@unlisted_rule(points=[(1.0, 1.0, 40.0, 1.3), (2.0, 7.0, 1e9, 2.4), (1.0, 3.0, math.inf, 300.0)])
def power_sum_ratio(n, low, high, s):
    """The n-th derivative of the sum in s, over the sum; n = 0, 1, ..., 20."""
    if not (-0.5 <= n <= 20.0 and 1.0 <= low <= high and 0.0 <= s < math.inf and (s > 1.0 or high < math.inf)):
        return math.nan
    n = round(n)
    whole, unit = _add_powers(0, low, high, s)
    part, _ = _add_powers(n, low, high, s)
    if unit == 1.0:
        whole, part = whole + 1.0, part + math.log(low) ** n
    return -part / whole if n % 2 else part / whole


@power_sum_ratio.partials
def power_sum_ratio_partials(z, n, low, high, s):
    following = power_sum_ratio(rint(n) + 1.0, low, high, s)
    return 0.0, 0.0, 0.0, following - z * power_sum_ratio(1.0, low, high, s)


def _add_powers(n, low, high, s):
    """(the sum of log(j)^n (j / low)^-s over a unit, the unit), without its first term if the unit is 1, or low."""
    unit, total, t = low, 0.0, low
    if low < 16.0 + s + 20.0:
        unit = 1.0
        t = low + 1.0
        while t < 16.0 + s + 20.0:
            if t > high:
                return total, unit
            term = math.log(t) ** n * math.exp(-s * math.log1p((t - low) / low))
            total += term
            t += 1.0
            if t > low + 3.0 and s * math.log(t) > n and term * t <= 1e-19 * total:
                return total, unit
    if t > high:
        return total, unit
    last = high + 1.0  # the sum from t on, minus the sum from here on
    begin = math.log(t / low)
    end = math.log(last / low) if last < math.inf else math.inf
    if s > 1.0:
        end = min(end, begin + (60.0 + 8.0 * n) / (s - 1.0))
    half = 0.5 * (end - begin) / PANELS
    integral = 0.0
    for panel in range(PANELS):
        middle = half * (2.0 * panel + 1.0)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for sign in (-1.0, 1.0):
                u = middle + half * sign * node
                integral += weight * math.exp((1.0 - s) * u) * (math.log(t) + u) ** n
    more = half * integral + correct_integral(n, s, t)
    if last < math.inf:
        more -= math.exp((1.0 - s) * math.log(last / t)) * correct_integral(n, s, last)
    return total + more * math.exp((1.0 - s) * begin) * (low / unit), unit


@formula(whole=["k"], points=[(3.0, 2.4), (40.0, 1.0001)])
def zipf_log_cdf(k, a):
    """The logarithm of the sum up to k over zeta(a); if that exceeds 1/2, of 1 minus that of the others."""
    whole = log1p(zeta(a, 2.0))
    above = log_power_sum(k + 1.0, math.inf, a) - whole
    small = above < -LOG_2
    below = log_power_sum(1.0, k, a) - whole
    return select(small, log1m_exp(select(small, above, -1.0)), below)


@formula(whole=["k"], points=[(3.0, 2.4), (40.0, 1.0001)])
def zipf_log_ccdf(k, a):
    """The logarithm of the sum from k + 1 on over zeta(a); if that exceeds 1/2, of 1 minus the other."""
    whole = log1p(zeta(a, 2.0))
    below = log_power_sum(1.0, k, a) - whole
    small = below < -LOG_2
    above = log_power_sum(k + 1.0, math.inf, a) - whole
    return select(small, log1m_exp(select(small, below, -1.0)), above)
