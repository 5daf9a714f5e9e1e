"""Trigonometric functions, their inverses, and angles in degrees."""

import math
from typing import Any

import numpy as np

from contad.ops.arithmetic import absolute
from contad.ops.elementary import sqrt
from contad.ops.logic import select
from contad.rules.numpy_functions import implements
from contad.rules.scalar_rule import scalar_rule
from contad.variables.number import observe
from contad.variables.open_types import Value

RADIANS_PER_DEGREE = 0.017453292519943295
DEGREES_PER_RADIAN = 57.29577951308232


@scalar_rule(ufunc=np.sin, math="sin", core=True, points=[(0.7,), (-2.1,)])
def sin(x):
    """Sine.

        z = sin x,     dz/dx = cos x

    Domain:  every finite x.
    Ref:     DLMF 4.20.

    >>> sin(0.5)
    0.479425538604203
    """
    return math.sin(x)


@sin.partials
def sin_partials(z, x):
    return cos(x)


@scalar_rule(ufunc=np.cos, math="cos", core=True, points=[(0.7,), (-2.1,)])
def cos(x):
    """Cosine.

        z = cos x,     dz/dx = -sin x

    Domain:  every finite x.
    Ref:     DLMF 4.20.

    >>> cos(0.5)
    0.8775825618903728
    """
    return math.cos(x)


@cos.partials
def cos_partials(z, x):
    return -sin(x)


@scalar_rule(ufunc=np.tan, math="tan", core=True, points=[(0.7,), (-2.1,)])
def tan(x):
    """Tangent.

        z = tan x,     dz/dx = 1 + z^2

    Domain:  every finite x; no float is a pole.
    Ref:     DLMF 4.20.

    >>> tan(0.5)
    0.5463024898437905
    """
    return math.tan(x)


@tan.partials
def tan_partials(z, x):
    return 1.0 + z * z


@scalar_rule(ufunc=np.arcsin, math="asin", core=True, points=[(0.4,), (-0.7,)])
def arcsin(x):
    """Inverse sine, in [-pi/2, pi/2].

        z = arcsin x,     dz/dx = 1 / sqrt(1 - x^2)

    Domain:  |x| <= 1; dz/dx = inf at +-1, and z is nan outside.
    Ref:     DLMF 4.24(ii). 1 - x^2 is written (1 - x)(1 + x), accurate near +-1, but for x^2 < 1/2, where
             its derivative is not.

    >>> arcsin(0.5)
    0.5235987755982989
    """
    return math.asin(x)


@arcsin.partials
def arcsin_partials(z, x):
    return 1.0 / sqrt(select(x * x < 0.5, 1.0 - x * x, (1.0 - x) * (1.0 + x)))


@scalar_rule(ufunc=np.arccos, math="acos", core=True, points=[(0.4,), (-0.7,)])
def arccos(x):
    """Inverse cosine, in [0, pi].

        z = arccos x,     dz/dx = -1 / sqrt(1 - x^2)

    Domain:  |x| <= 1; dz/dx = -inf at +-1, and z is nan outside.
    Ref:     DLMF 4.24(ii). 1 - x^2 is written (1 - x)(1 + x), accurate near +-1, but for x^2 < 1/2, where
             its derivative is not.

    >>> arccos(0.5)
    1.0471975511965979
    """
    return math.acos(x)


@arccos.partials
def arccos_partials(z, x):
    return -1.0 / sqrt(select(x * x < 0.5, 1.0 - x * x, (1.0 - x) * (1.0 + x)))


@scalar_rule(ufunc=np.arctan, math="atan", core=True, points=[(0.4,), (-1.7,)])
def arctan(x):
    """Inverse tangent, in [-pi/2, pi/2].

        z = arctan x,     dz/dx = 1 / (1 + x^2)

    Domain:  every x; z = -pi/2 at -inf and pi/2 at inf.
    Ref:     DLMF 4.24(ii).

    >>> arctan(1.0)
    0.7853981633974483
    """
    return math.atan(x)


@arctan.partials
def arctan_partials(z, x):
    return 1.0 / (1.0 + x * x)


@scalar_rule(ufunc=np.arctan2, math="atan2", core=True, points=[(0.7, 1.3), (-0.4, -1.9), (2.2, -0.3)])
def arctan2(y, x):
    """Angle of the point (x, y), in [-pi, pi]; the argument y comes first, as in NumPy.

        z = arg(x + iy),     dz/dy = x / (x^2 + y^2),     dz/dx = -y / (x^2 + y^2)

    Domain:  every point but the origin, where both partials are nan, and the cut (y = 0, x < 0), where z jumps and the
             partials are those of either side.
    Ref:     DLMF 4.23(iv). Written with the quotient t of the smaller and the larger argument, so that no square
             overflows or underflows.

    >>> arctan2(1.0, -1.0)
    2.356194490192345
    """
    return math.atan2(y, x)


@arctan2.partials
def arctan2_partials(z, y, x):
    wide = absolute(x) > absolute(y)
    larger = select(wide, x, y)
    t = select(wide, y, x) / larger
    return select(wide, 1.0, t) / (1.0 + t * t) / larger, -select(wide, t, 1.0) / (1.0 + t * t) / larger


@scalar_rule(ufunc=(np.deg2rad, np.radians), math="radians", core=True, points=[(37.0,)])
def deg2rad(x):
    """Degrees to radians.

        z = x pi / 180,     dz/dx = pi / 180

    >>> deg2rad(180.0)
    3.141592653589793
    """
    return math.radians(x)


@deg2rad.partials
def deg2rad_partials(z, x):
    return RADIANS_PER_DEGREE


@scalar_rule(ufunc=(np.rad2deg, np.degrees), math="degrees", core=True, points=[(0.7,)])
def rad2deg(x):
    """Radians to degrees.

        z = x 180 / pi,     dz/dx = 180 / pi

    >>> rad2deg(1.0)
    57.29577951308232
    """
    return math.degrees(x)


@rad2deg.partials
def rad2deg_partials(z, x):
    return DEGREES_PER_RADIAN


# ---- of arrays -------------------------------------------------------------------------------------------------------
_SERIES = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(10))  # of sin(y) / y, in y^2


@implements(np.sinc, layout="own")
def sinc(x: Value) -> Value:
    """sin(pi x) / (pi x), 1 at 0; near 0 its series, whose derivatives are all as accurate as the value."""
    y = np.pi * x
    near = observe(np.less, abs(y), 0.8)
    t = np.where(near, y * y, 0.0)
    series: Any = _SERIES[-1]
    for c in _SERIES[-2::-1]:
        series = series * t + c
    away = np.where(near, 1.0, y)
    return np.where(near, series, sin(away) / away)
