"""Products with logarithms that are 0 where a factor is 0, and entropies built from them."""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.exponential import log, log1p
from contad.ops.logic import select
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import mend


@scalar_rule(ufunc="scipy.special.xlogy", points=[(1.3, 0.7), (-0.6, 2.4)])
def xlogy(x, y):
    """x log y, and 0 where x = 0; `lmultiply` in Stan.

        z = x log y,     dz/dx = log y,     dz/dy = x / y

    Domain:  y > 0, or x = 0 and y any number; at x = y = 0, z = dz/dy = 0 and dz/dx = -inf.
    Ref:     0 log 0 = 0 as in Cover & Thomas (2006), section 2.1.

    >>> xlogy(0.0, 0.0)
    0.0
    """
    if x == 0.0 and y == y:
        return 0.0
    return x * (math.log(y) if y > 0.0 else -math.inf if y == 0.0 else math.nan)


@xlogy.partials
def xlogy_partials(z, x, y):
    return log(y), x / select(x == 0.0 and y == 0.0, 1.0, y)


@scalar_rule(ufunc="scipy.special.xlog1py", points=[(1.3, 0.7), (-0.6, -0.4)])
def xlog1py(x, y):
    """x log(1 + y), and 0 where x = 0.

        z = x log(1 + y),     dz/dx = log(1 + y),     dz/dy = x / (1 + y)

    Domain:  y > -1, or x = 0 and y any number; at x = 0, y = -1, z = dz/dy = 0 and dz/dx = -inf.
    Ref:     0 log 0 = 0 as in Cover & Thomas (2006), section 2.1.

    >>> xlog1py(2.0, 1e-20)
    2e-20
    """
    if x == 0.0 and y == y:
        return 0.0
    return x * (math.log1p(y) if y > -1.0 else -math.inf if y == -1.0 else math.nan)


@xlog1py.partials
def xlog1py_partials(z, x, y):
    return log1p(y), x / (1.0 + select(x == 0.0 and y == -1.0, 0.0, y))


@scalar_rule(ufunc="scipy.special.entr", points=[(0.7,), (2.3,)])
def entr(x):
    """A term of an entropy.

        z = -x log x,     dz/dx = -log x - 1

    Domain:  x >= 0; z = 0 and dz/dx = inf at 0; z = -inf below, where dz/dx is nan.
    Ref:     Cover & Thomas (2006), section 2.1.

    >>> entr(0.5)
    0.34657359027997264
    """
    return float(special().entr(x))


@entr.partials
def entr_partials(z, x):
    return -log(x) - 1.0


@scalar_rule(ufunc="scipy.special.rel_entr", points=[(0.7, 0.4), (0.3, 1.9)])
def rel_entr(x, y):
    """A term of a relative entropy.

        z = x log(x / y),     dz/dx = log(x / y) + 1,     dz/dy = -x / y

    Domain:  x, y > 0; z = 0 at x = 0 and y >= 0, where dz/dx = -inf; z = inf elsewhere, where the partials are nan.
    Ref:     Cover & Thomas (2006), section 2.3.

    >>> rel_entr(0.5, 0.25)
    0.34657359027997264
    """
    return float(special().rel_entr(x, y))


@rel_entr.partials
def rel_entr_partials(z, x, y):
    r = x / y
    moderate = r > 1e-290 and r < math.inf
    s = select(moderate, log(select(moderate, r, 1.0)), log(x) - log(y))
    return s + 1.0, -x / y


def _kl_div(x, y):
    with np.errstate(all="ignore"):
        ratio = x / y
    near, is_lost = (ratio > 0.5) & (ratio < 2.0), (ratio == 0.0) | (ratio == math.inf)
    inside = (x > 0.0) & (y > 0.0) & (x < math.inf) & (y < math.inf) & (near | is_lost)
    return mend(special().kl_div(x, y), inside, kl_div.function, x, y)


@scalar_rule(ufunc="scipy.special.kl_div", array=_kl_div, points=[(0.7, 0.4), (0.3, 1.9)])
def kl_div(x, y):
    """A term of a Kullback-Leibler divergence, of numbers that need not sum to 1.

        z = x log(x / y) - x + y,     dz/dx = log(x / y),     dz/dy = 1 - x / y

    Domain:  x, y > 0; z = y at x = 0 and y >= 0, where dz/dx = -inf; z = inf elsewhere, where the partials are nan.
    Ref:     near x = y as (z + x) d - z' with d = (y - x) / x and log(1 + d) - d, which do not cancel.

    >>> round(kl_div(0.5, 0.25), 12)
    0.09657359028
    """
    if 0.0 < x < math.inf and 0.0 < y < math.inf:
        ratio = x / y
        if 0.5 < ratio < 2.0:
            return -x * log1pmx.function((y - x) / x)
        if 0.0 < ratio < math.inf:
            return x * math.log(ratio) - x + y
    if x > 0.0 and y > 0.0:
        return x * (math.log(x) - math.log(y)) - x + y
    if x != x or y != y:
        return math.nan
    return y if x == 0.0 and y >= 0.0 else math.inf


@kl_div.partials
def kl_div_partials(z, x, y):
    r = x / y
    near = r > 0.5 and r < 2.0
    moderate = r > 1e-290 and r < math.inf
    far = select(moderate, log(select(moderate, r, 1.0)), log(x) - log(y))
    return select(near, log1p(select(near, (x - y) / y, 0.0)), far), select(near, (y - x) / y, 1.0 - r)


@scalar_rule(points=[(0.7,), (-0.4,), (3.1,)])
def log1pmx(x):
    """log(1 + x) - x without cancellation.

        z = log(1 + x) - x,     dz/dx = -x / (1 + x)

    Domain:  x > -1; z = -inf and dz/dx = inf at -1, and z is nan below.
    Ref:     near 0 by arctanh(r) - r at r = x / (2 + x), whose series has terms of one sign; a polynomial interpolates
             it at Chebyshev's points, with a relative error of 8e-17.

    >>> round(log1pmx(1e-8) * 1e17, 7)
    -5.0
    """
    if not -0.6 < x < 1.2:
        return math.nan if x < -1.0 else -math.inf if x in (-1.0, math.inf) else math.log1p(x) - x
    r = x / (2.0 + x)
    s = r * r
    q = s * s
    even = 0.06664037913485343 + q * (0.04992097491405264 - q * 0.003919424444557627)
    even = 0.3333333333333333 + q * (0.14285714284837114 + q * (0.09090904557976656 + q * even))
    odd = 0.05915214092323143 + q * (0.062115856560120926 + q * 0.12100278603106707)
    odd = 0.2000000000000342 + q * (0.11111111198976566 + q * (0.07692445140073842 + q * odd))
    return r * (2.0 * s * (even + s * odd) - x)


@log1pmx.partials
def log1pmx_partials(z, x):
    return select(x > 1.0, 1.0 / (1.0 + x) - 1.0, -x / (1.0 + x))
