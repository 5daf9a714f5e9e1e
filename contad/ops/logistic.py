"""The logistic function, its inverse and its logarithms; logarithms of 1 - x, 1 - e^x, 1 + e^x and e^x - e^y."""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.exponential import exp, expm1
from contad.ops.hyperbolic import tanh
from contad.ops.logic import select
from contad.rules.scalar_rule import scalar_rule

MINUS_LN_2 = -0.6931471805599453


def _expit(x):
    """expit on arrays: SciPy's flushes subnormal results to zero."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, e) / (1.0 + e)


def _log1p_exp(x):
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _log1m_exp(x):
    return np.where(x > MINUS_LN_2, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _log_diff_exp(x, y):
    z = x + _log1m_exp(y - x)
    return np.where(x == y, np.where(x < math.inf, -math.inf, math.nan), np.where(x == math.inf, x - y, z))


@scalar_rule(ufunc="scipy.special.expit", array=_expit, points=[(0.7,), (-1.6,)])
def expit(x):
    """Logistic function; `inv_logit` in Stan.

        z = 1 / (1 + e^-x),     dz/dx = expit(x) expit(-x)

    Domain:  every x; z = 0 at -inf and 1 at inf, dz/dx = 0 at both.
    Ref:     McCullagh & Nelder (1989), section 4.3.

    >>> round(expit(0.7), 12)
    0.668187772168
    """
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@expit.partials
def expit_partials(z, x):
    return expit_slope(x)


def _expit_slope(x):
    t = np.exp(-np.abs(x))
    return t / ((1.0 + t) * (1.0 + t))


@scalar_rule(array=_expit_slope, points=[(0.7,), (-1.6,)])
def expit_slope(x):
    """The derivative of expit; its own derivative loses no digits near 0, unlike that of a product.

        z = expit(x) expit(-x),     dz/dx = -z tanh(x / 2)

    Domain:  every x; z = 0 at -inf and inf.

    >>> expit_slope(0.0)
    0.25
    """
    t = math.exp(-abs(x))
    return t / ((1.0 + t) * (1.0 + t))


@expit_slope.partials
def expit_slope_partials(z, x):
    return -z * tanh(0.5 * x)


@scalar_rule(ufunc="scipy.special.logit", points=[(0.3,), (0.8,)])
def logit(p):
    """Logarithm of the odds, the inverse of expit.

        z = log(p / (1 - p)),     dz/dp = 1 / (p (1 - p))

    Domain:  0 < p < 1; z = -inf at 0, inf at 1, and nan outside.
    Ref:     McCullagh & Nelder (1989), section 4.3.

    >>> round(logit(0.3), 12)
    -0.847297860387
    """
    return float(special().logit(p))


@logit.partials
def logit_partials(z, p):
    return 1.0 / (p * (1.0 - p))


@scalar_rule(ufunc="scipy.special.log_expit", points=[(0.7,), (-1.6,)])
def log_expit(x):
    """Logarithm of the logistic function; `log_inv_logit` in Stan.

        z = -log(1 + e^-x),     dz/dx = expit(-x)

    Domain:  every x; z = -inf and dz/dx = 1 at -inf, z = 0 and dz/dx = 0 at inf.
    Ref:     McCullagh & Nelder (1989), section 4.3.

    >>> log_expit(-800.0)
    -800.0
    """
    if x > 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


@log_expit.partials
def log_expit_partials(z, x):
    return expit(-x)


@scalar_rule(array=_log1p_exp, points=[(0.7,), (-1.6,)])
def log1p_exp(x):
    """log(1 + e^x) without overflow: the softplus function.

        z = log(1 + e^x),     dz/dx = expit(x)

    Domain:  every x; z = 0 and dz/dx = 0 at -inf, z = inf and dz/dx = 1 at inf.
    Ref:     Maechler (2012).

    >>> log1p_exp(800.0)
    800.0
    """
    if x > 0.0:
        return x + math.log1p(math.exp(-x))
    return math.log1p(math.exp(x))


@log1p_exp.partials
def log1p_exp_partials(z, x):
    return expit(x)


@scalar_rule(array=lambda x: np.log1p(-x), points=[(0.3,), (-1.7,)])
def log1m(x):
    """log(1 - x), accurate for small x.

        z = log(1 - x),     dz/dx = 1 / (x - 1)

    Domain:  x < 1; z = -inf at 1, and nan above.
    Ref:     C99, 7.12.6.9, of -x.

    >>> log1m(1e-20)
    -1e-20
    """
    if x < 1.0:
        return math.log1p(-x)
    return -math.inf if x == 1.0 else math.nan


@log1m.partials
def log1m_partials(z, x):
    return 1.0 / (x - 1.0)


@scalar_rule(array=_log1m_exp, points=[(-0.4,), (-1.7,)])
def log1m_exp(x):
    """log(1 - e^x), accurate on both sides.

        z = log(1 - e^x),     dz/dx = e^x / (e^x - 1)

    Domain:  x < 0; z = -inf at 0, and nan above; z = 0 and dz/dx = 0 at -inf.
    Ref:     Maechler (2012), Accurately computing log(1 - exp(-|a|)).

    >>> round(log1m_exp(-1e-20), 12)
    -46.051701859881
    """
    if x < 0.0:
        return math.log(-math.expm1(x)) if x > MINUS_LN_2 else math.log1p(-math.exp(x))
    return -math.inf if x == 0.0 else math.nan


@log1m_exp.partials
def log1m_exp_partials(z, x):
    return exp(x) / expm1(x)


@scalar_rule(array=_log_diff_exp, points=[(1.3, 0.4), (-0.6, -2.9)])
def log_diff_exp(x, y):
    """log(e^x - e^y) without overflow.

        z = log(e^x - e^y),     dz/dx = 1 / (1 - e^(y-x)),     dz/dy = 1 / (1 - e^(x-y))

    Domain:  x > y; z = -inf, dz/dx = inf and dz/dy = -inf at x = y, and z is nan where x < y or both are inf;
             dz/dx = 1 and dz/dy = 0 at y = -inf.
    Ref:     Maechler (2012).

    >>> round(log_diff_exp(1001.0, 1000.0), 10)
    1000.5413248546
    """
    if x > y:
        return x + log1m_exp.function(y - x) if x < math.inf else math.inf
    return -math.inf if x == y < math.inf else math.nan


@log_diff_exp.partials
def log_diff_exp_partials(z, x, y):
    d = -(x - y)  # -0.0 where x = y, so that the infinities have the signs of one side
    return -1.0 / expm1(d), exp(d) / expm1(d)


@scalar_rule(points=[(0.3, 0.7, -0.4), (0.8, -1.6, 2.3)])
def log_mix(theta, x, y):
    """Logarithm of a mixture of two densities, from their logarithms.

        z = log(theta e^x + (1 - theta) e^y),     dz/dtheta = e^(x-z) - e^(y-z),     dz/dx = theta e^(x-z),
        dz/dy = (1 - theta) e^(y-z)

    Domain:  0 <= theta <= 1; every (x, y). Outside z is nan.
    Ref:     Stan Functions Reference, composed functions.

    >>> log_mix(0.25, -1000.0, -1001.0)
    -1000.6426259804912
    """
    if not 0.0 <= theta <= 1.0 or math.isnan(x) or math.isnan(y):
        return math.nan
    if x == y or theta in (0.0, 1.0):
        return x if theta == 1.0 else y
    d = y - x
    s = -d if d > 0.0 else d
    t = math.exp(s)  # compiled code shares it with the partials
    rest = 1.0 - theta
    top, share = (y, theta) if d > 0.0 else (x, rest)
    change = share * (math.expm1(s) if s > -0.5 else t - 1.0)
    if change > -0.5:
        return top + math.log1p(change)
    return top + math.log(theta * t + rest if d > 0.0 else theta + rest * t)


@log_mix.partials
def log_mix_partials(z, theta, x, y):
    d = y - x
    s = select(d > 0.0, -d, d)
    t = exp(s)
    rest = 1.0 - theta
    inverse = 1.0 / select(d > 0.0, theta * t + rest, theta + rest * t)
    change = select(s > -0.5, expm1(select(s > -0.5, s, 0.0)), t - 1.0)
    return (
        select(d > 0.0, change, -change) * inverse,
        theta * select(d > 0.0, t, 1.0) * inverse,
        rest * select(d > 0.0, 1.0, t) * inverse,
    )
