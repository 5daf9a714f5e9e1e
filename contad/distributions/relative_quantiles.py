"""Logarithms of the quantiles of the gamma and beta distributions, which are tiny or huge for small shape parameters.

The derivatives are those of the inverse function, with numerator and denominator divided by the probability, so that
neither underflows.
"""

import math

from contad.distributions.formula import unlisted_rule
from contad.distributions.incomplete_logarithms import beta_hazard, beta_part_ratio, gamma_hazard, gamma_part_ratio
from contad.ops.beta_functions import betaln
from contad.ops.exponential import exp
from contad.ops.gamma_functions import digamma, polygamma_difference
from contad.ops.incomplete_beta import betainccinv, betaincinv
from contad.ops.incomplete_gamma import gammainccinv, gammaincinv
from contad.ops.logic import select

EXTREME = 600.0  # of a logarithm; beyond it the first term of the series at 0 suffices


@unlisted_rule(points=[(2.2, 1.9, 0.3), (0.6, 3.1, 0.8), (0.04, 0.03, 1e-30)])
def log_beta_odds(a, b, p):
    """log(x / (1 - x)) where I_x(a, b) = p."""
    if not (0.0 < a < math.inf and 0.0 < b < math.inf and 0.0 <= p <= 1.0):
        return math.nan
    if p * (1.0 - p) == 0.0:
        return math.inf if p > 0.5 else -math.inf
    size = betaln.function(a, b)
    low = (math.log(p) + math.log(a) + size) / a
    high = -(math.log1p(-p) + math.log(b) + size) / b
    if low < -EXTREME:
        return low
    return high if high > EXTREME else math.log(betaincinv.function(a, b, p) / betainccinv.function(b, a, p))


@log_beta_odds.partials
def log_beta_odds_partials(z, a, b, p):
    low = z < -EXTREME
    high = z > EXTREME
    t = exp(select(low or high, 0.0, z))
    hazard = select(low, a, select(high, b, beta_hazard(a, b, t)))
    share = select(high, 1.0 - p, p)
    by_a = -beta_part_ratio(1.0, 0.0, a, b, t)
    by_b = -beta_part_ratio(0.0, 1.0, a, b, t)
    psi_a = polygamma_difference(0.0, a, b)
    psi_b = polygamma_difference(0.0, b, a)
    return (
        select(low, 1.0 / a - psi_a - z, select(high, psi_a, by_a)) / hazard,
        select(low, -psi_b, select(high, psi_b - 1.0 / b - z, by_b)) / hazard,
        1.0 / (share * hazard),
    )


@unlisted_rule(points=[(0.0, 2.2, 0.3), (1.0, 0.6, 0.8), (0.0, 0.04, 1e-30)])
def log_gamma_quantile(upper, a, p):
    """log x where P(a, x) = p, or Q(a, x) = p if `upper` is 1."""
    if not (0.0 < a < math.inf and 0.0 <= p <= 1.0):
        return math.nan
    above = upper > 0.5
    if p * (1.0 - p) == 0.0:
        return math.inf if above == (p < 0.5) else -math.inf
    low = ((math.log1p(-p) if above else math.log(p)) + math.lgamma(a + 1.0)) / a
    if low < -EXTREME:
        return low
    return math.log(gammainccinv.function(a, p) if above else gammaincinv.function(a, p))


@log_gamma_quantile.partials
def log_gamma_quantile_partials(z, upper, a, p):
    above = upper > 0.5
    low = z < -EXTREME
    x = exp(select(low, 0.0, z))
    hazard = select(low, a, gamma_hazard(upper, a, x))
    by_a = -gamma_part_ratio(upper, 1.0, a, x)
    by_p = 1.0 / (hazard * select(low and above, 1.0 - p, p))
    near = select(above, -by_a, by_a)
    return 0.0, select(low, digamma(a + 1.0) - z, near) / hazard, select(above, -by_p, by_p)
