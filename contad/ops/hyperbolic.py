"""Hyperbolic functions and their inverses."""

import math

import numpy as np

from contad.ops.elementary import hypot, sqrt
from contad.ops.exponential import exp
from contad.ops.logic import select
from contad.rules.scalar_rule import scalar_rule


@scalar_rule(ufunc=np.sinh, math="sinh", core=True, points=[(0.7,), (-1.6,)])
def sinh(x):
    """Hyperbolic sine.

        z = sinh x,     dz/dx = cosh x

    Domain:  every x.
    Ref:     DLMF 4.34.

    >>> sinh(1.0)
    1.1752011936438014
    """
    return math.sinh(x)


@sinh.partials
def sinh_partials(z, x):
    return cosh(x)


@scalar_rule(ufunc=np.cosh, math="cosh", core=True, points=[(0.7,), (-1.6,)])
def cosh(x):
    """Hyperbolic cosine.

        z = cosh x,     dz/dx = sinh x

    Domain:  every x.
    Ref:     DLMF 4.34.

    >>> cosh(1.0)
    1.5430806348152437
    """
    return math.cosh(x)


@cosh.partials
def cosh_partials(z, x):
    return sinh(x)


@scalar_rule(ufunc=np.tanh, math="tanh", core=True, points=[(0.7,), (-1.6,)])
def tanh(x):
    """Hyperbolic tangent.

        z = tanh x,     dz/dx = sech(x)^2 = 4 t / (1 + t)^2 with t = e^(-2|x|)

    Domain:  every x; z = -1 at -inf and 1 at inf.
    Ref:     DLMF 4.34. Not 1 - z^2, which loses every digit where z is close to 1; and t does not overflow, as
             cosh(x)^2 does. But 1 - z^2 where |z| < 1/2, because its own derivative, -2 z dz/dx, loses none near 0.

    >>> tanh(0.5)
    0.46211715726000974
    """
    return math.tanh(x)


@tanh.partials
def tanh_partials(z, x):
    t = exp(select(x > 0.0, -2.0 * x, 2.0 * x))
    r = 1.0 / (1.0 + t)
    return select(z * z < 0.25, 1.0 - z * z, 4.0 * t * r * r)


@scalar_rule(ufunc=np.arcsinh, math="asinh", core=True, points=[(0.7,), (-1.6,)])
def arcsinh(x):
    """Inverse hyperbolic sine.

        z = arcsinh x,     dz/dx = 1 / sqrt(1 + x^2)

    Domain:  every x.
    Ref:     DLMF 4.38(ii).

    >>> arcsinh(1.0)
    0.881373587019543
    """
    return math.asinh(x)


@arcsinh.partials
def arcsinh_partials(z, x):
    return 1.0 / hypot(1.0, x)


@scalar_rule(ufunc=np.arccosh, math="acosh", core=True, points=[(1.4,), (3.2,)])
def arccosh(x):
    """Inverse hyperbolic cosine.

        z = arccosh x,     dz/dx = 1 / sqrt(x^2 - 1)

    Domain:  x >= 1; dz/dx = inf at 1, and z is nan below.
    Ref:     DLMF 4.38(ii). The root is taken of x - 1 and of x + 1: accurate near 1, and without overflow.

    >>> arccosh(2.0)
    1.3169578969248166
    """
    return math.acosh(x)


@arccosh.partials
def arccosh_partials(z, x):
    return 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0))


@scalar_rule(ufunc=np.arctanh, math="atanh", core=True, points=[(0.4,), (-0.7,)])
def arctanh(x):
    """Inverse hyperbolic tangent.

        z = arctanh x,     dz/dx = 1 / (1 - x^2)

    Domain:  |x| < 1; z = +-inf and dz/dx = inf at +-1, and z is nan outside.
    Ref:     DLMF 4.38(ii). 1 - x^2 is written (1 - x)(1 + x), accurate near +-1, but for x^2 < 1/2, where
             its derivative is not.

    >>> arctanh(0.5)
    0.5493061443340548
    """
    return math.atanh(x)


@arctanh.partials
def arctanh_partials(z, x):
    return 1.0 / select(x * x < 0.5, 1.0 - x * x, (1.0 - x) * (1.0 + x))
