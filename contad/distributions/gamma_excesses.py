"""The remainder of Stirling's formula for log Gamma at any positive number: small where log Gamma and its terms are
huge."""

import math

import numpy as np

from contad.distributions.formula import unlisted_rule
from contad.ops._scipy import special
from contad.ops.beta_functions import stirling_series
from contad.ops.gamma_functions import polygamma
from contad.ops.incomplete_gamma import log_less_digamma

LARGE = 10.0  # the series has all digits from here on


def _excess_of_arrays(a):
    a = np.asarray(a, dtype=np.float64)
    large = np.where(a >= LARGE, a, LARGE)
    with np.errstate(all="ignore"):
        near = special().gammaln(a) - a * np.log(a) + a
    far = 0.5 * np.log(2.0 * math.pi / large) + stirling_series(large)
    return np.where(a > 0.0, np.where(a >= LARGE, far, near), np.nan)


@unlisted_rule(points=[(2.3,), (0.04,), (40.0,)], array=_excess_of_arrays)
def log_gamma_excess(a):
    """log Gamma(a) - a log a + a."""
    if not a > 0.0:
        return math.nan
    if a < LARGE:
        return math.lgamma(a) - a * math.log(a) + a
    return stirling_series(a) - 0.5 * math.log(a / (2.0 * math.pi))


@log_gamma_excess.partials
def log_gamma_excess_partials(z, a):
    return digamma_excess(a)


@unlisted_rule(points=[(2.3,), (0.04,), (40.0,)])
def digamma_excess(a):
    """psi(a) - log a."""
    return -log_less_digamma(a, a) if a > 0.0 else math.nan


@digamma_excess.partials
def digamma_excess_partials(z, a):
    return polygamma(1.0, a) - 1.0 / a
