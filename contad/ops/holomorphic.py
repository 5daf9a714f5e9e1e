"""Real and imaginary parts of functions of a complex number, as functions of two real numbers.

A complex number is a pair of real ones. A holomorphic f(x + iy) = u + iv with derivative f' = p + iq has, by the
equations of Cauchy and Riemann, the partials

    du/dx = p,     du/dy = -q,     dv/dx = q,     dv/dy = p

Here are the parts that elementary functions of real numbers do not give; `contad.protocols.complex_forms` has the
others. Branch cuts are those of NumPy: on a cut the sign of a zero says on which side a point lies.
"""

import cmath
import math

import numpy as np

from contad.ops.elementary import hypot
from contad.ops.hyperbolic import cosh, tanh
from contad.ops.trigonometric import cos, sin
from contad.rules.scalar_rule import scalar_rule
from contad.variables.complex_pair import join

_POINTS = [(0.7, -0.4), (-1.3, 1.9)]


def _part_of(function, part):
    """The part of NumPy's function on arrays."""
    return lambda x, y: getattr(function(join(x, y)), part)


def _reciprocals(x, y):
    wide = np.abs(x) >= np.abs(y)
    t = np.where(wide, y, x) / np.where(wide, x, y)
    return np.where(wide, 1.0 / (x + y * t), t / (x * t + y))


@scalar_rule(array=_reciprocals, points=_POINTS)
def reciprocal_real(x, y):
    """Real part of 1 / (x + iy); the imaginary part is -reciprocal_real(y, x).

        z = x / (x^2 + y^2),     dz/dx = w^2 - z^2,     dz/dy = -2 z w,     w = y / (x^2 + y^2)

    Domain:  every (x, y) but the pole at the origin, where z is nan; without overflow of the squares.
    Ref:     Smith 1962, Algorithm 116.

    >>> reciprocal_real(3.0, 4.0)
    0.12
    """
    if (x == 0.0 and y == 0.0) or math.isnan(x) or math.isnan(y):
        return math.nan
    if abs(x) >= abs(y):
        return 1.0 / (x + y * (y / x))
    return (x / y) / (x * (x / y) + y)


@reciprocal_real.partials
def reciprocal_real_partials(z, x, y):
    w = reciprocal_real(y, x)
    return (w - z) * (w + z), -2.0 * z * w


def _log_abs(x, y):
    r = np.hypot(x, y)
    big = np.maximum(np.abs(x), np.abs(y))
    small = np.minimum(np.abs(x), np.abs(y))
    return np.where((r > 0.5) & (r < 2.0), 0.5 * np.log1p((big - 1.0) * (big + 1.0) + small * small), np.log(r))


@scalar_rule(array=_log_abs, points=_POINTS)
def log_abs(x, y):
    """Real part of log(x + iy); the imaginary part is arctan2(y, x).

        z = log sqrt(x^2 + y^2),     dz/dx = x / (x^2 + y^2),     dz/dy = y / (x^2 + y^2)

    Domain:  every (x, y); -inf at the origin, where the partials are nan.
    Ref:     DLMF 4.2.

    >>> log_abs(0.0, 2.0)
    0.6931471805599453
    """
    r = math.hypot(x, y)
    if 0.5 < r < 2.0:
        big, small = max(abs(x), abs(y)), min(abs(x), abs(y))
        return 0.5 * math.log1p((big - 1.0) * (big + 1.0) + small * small)
    return math.log(r) if r != 0.0 else -math.inf


@log_abs.partials
def log_abs_partials(z, x, y):
    return reciprocal_real(x, y), reciprocal_real(y, x)


@scalar_rule(array=_part_of(np.sqrt, "real"), points=_POINTS)
def sqrt_real(x, y):
    """Real part of sqrt(x + iy).

        z = sqrt((r + x) / 2),     dz/dx = z / (2 r),     dz/dy = w / (2 r),     r = |x + iy|,     w = Im sqrt(x + iy)

    Domain:  every (x, y); infinite partials at the origin. The cut is the negative real axis.
    Ref:     DLMF 4.37; C99, G.6.4.2.

    >>> sqrt_real(3.0, 4.0)
    2.0
    """
    return cmath.sqrt(complex(x, y)).real


@sqrt_real.partials
def sqrt_real_partials(z, x, y):
    r = 2.0 * hypot(x, y)
    return z / r, sqrt_imag(x, y) / r


@scalar_rule(array=_part_of(np.sqrt, "imag"), points=_POINTS)
def sqrt_imag(x, y):
    """Imaginary part of sqrt(x + iy), with the sign of y.

        z = sgn(y) sqrt((r - x) / 2),     dz/dx = -z / (2 r),     dz/dy = w / (2 r),     r = |x + iy|,
                                                                                         w = Re sqrt(x + iy)

    Domain:  every (x, y); infinite partials at the origin. The cut is the negative real axis.
    Ref:     DLMF 4.37; C99, G.6.4.2.

    >>> sqrt_imag(3.0, -4.0)
    -1.0
    """
    return cmath.sqrt(complex(x, y)).imag


@sqrt_imag.partials
def sqrt_imag_partials(z, x, y):
    r = 2.0 * hypot(x, y)
    return -z / r, sqrt_real(x, y) / r


# ---- tan -------------------------------------------------------------------------------------------------------------
@scalar_rule(array=_part_of(np.tan, "real"), points=_POINTS)
def tan_real(x, y):
    """Real part of tan(x + iy).

        z = sin 2x / (cos 2x + cosh 2y),     dz/dx = Re f',     dz/dy = -Im f',     f' = 1 / cos(x + iy)^2

    Domain:  every (x, y) but the poles at odd multiples of pi / 2.
    Ref:     DLMF 4.21.

    >>> tan_real(1.0, 0.5)
    0.8068774121630849
    """
    if math.isinf(x) and math.isfinite(y):
        return math.nan
    return cmath.tan(complex(x, y)).real


@tan_real.partials
def tan_real_partials(z, x, y):
    c = cos(x)
    s = sin(x) * tanh(y)
    w = 1.0 / (cosh(y) * (c * c + s * s))
    return (c - s) * (c + s) * w * w, -2.0 * (c * w) * (s * w)


@scalar_rule(array=_part_of(np.tan, "imag"), points=_POINTS)
def tan_imag(x, y):
    """Imaginary part of tan(x + iy).

        z = sinh 2y / (cos 2x + cosh 2y),     dz/dx = Im f',     dz/dy = Re f',     f' = 1 / cos(x + iy)^2

    Domain:  every (x, y) but the poles at odd multiples of pi / 2.
    Ref:     DLMF 4.21.

    >>> tan_imag(1.0, 0.5)
    1.0428307283443612
    """
    if y == 0.0 and not math.isfinite(x):
        return y
    if math.isinf(x) and math.isfinite(y):
        return math.nan
    return cmath.tan(complex(x, y)).imag


@tan_imag.partials
def tan_imag_partials(z, x, y):
    c = cos(x)
    s = sin(x) * tanh(y)
    w = 1.0 / (cosh(y) * (c * c + s * s))
    return 2.0 * (c * w) * (s * w), (c - s) * (c + s) * w * w


# ---- inverse functions -----------------------------------------------------------------------------------------------
def _arcsin_imag(x, y):
    z = np.arcsin(join(x, y)).imag
    return np.where(np.isinf(x) & np.isnan(y), -np.inf, z)  # of any sign, in C; as Python has it


@scalar_rule(array=_part_of(np.arcsin, "real"), points=_POINTS)
def arcsin_real(x, y):
    """Real part of arcsin(x + iy).

        z = Re arcsin(x + iy),     dz/dx = Re f',     dz/dy = -Im f',     f' = 1 / sqrt(1 - (x + iy)^2)

    Domain:  every (x, y); infinite partials at -1 and 1. The cuts are the real axis beyond these points.
    Ref:     DLMF 4.23; Kahan 1987.

    >>> arcsin_real(0.5, 0.0)
    0.5235987755982989
    """
    return cmath.asin(complex(x, y)).real


@arcsin_real.partials
def arcsin_real_partials(z, x, y):
    p = (1.0 - x) * (1.0 + x) + y * y
    q = -2.0 * x * y
    r = hypot(p, q)
    return sqrt_real(p, q) / r, sqrt_imag(p, q) / r


@scalar_rule(array=_arcsin_imag, points=_POINTS)
def arcsin_imag(x, y):
    """Imaginary part of arcsin(x + iy), and minus that of arccos(x + iy).

        z = Im arcsin(x + iy),     dz/dx = Im f',     dz/dy = Re f',     f' = 1 / sqrt(1 - (x + iy)^2)

    Domain:  every (x, y); infinite partials at -1 and 1. The cuts are the real axis beyond these points.
    Ref:     DLMF 4.23; Kahan 1987.

    >>> arcsin_imag(2.0, 0.0)
    1.3169578969248166
    """
    return cmath.asin(complex(x, y)).imag


@arcsin_imag.partials
def arcsin_imag_partials(z, x, y):
    p = (1.0 - x) * (1.0 + x) + y * y
    q = -2.0 * x * y
    r = hypot(p, q)
    return -sqrt_imag(p, q) / r, sqrt_real(p, q) / r


@scalar_rule(array=_part_of(np.arccos, "real"), points=_POINTS)
def arccos_real(x, y):
    """Real part of arccos(x + iy).

        z = Re arccos(x + iy),     dz/dx = -Re f',     dz/dy = Im f',     f' = 1 / sqrt(1 - (x + iy)^2)

    Domain:  every (x, y); infinite partials at -1 and 1. The cuts are the real axis beyond these points.
    Ref:     DLMF 4.23; Kahan 1987.

    >>> arccos_real(0.5, 0.0)
    1.0471975511965979
    """
    return cmath.acos(complex(x, y)).real


@arccos_real.partials
def arccos_real_partials(z, x, y):
    p = (1.0 - x) * (1.0 + x) + y * y
    q = -2.0 * x * y
    r = hypot(p, q)
    return -sqrt_real(p, q) / r, -sqrt_imag(p, q) / r


@scalar_rule(array=_part_of(np.arctan, "real"), points=_POINTS)
def arctan_real(x, y):
    """Real part of arctan(x + iy).

        z = Re arctan(x + iy),     dz/dx = Re f',     dz/dy = -Im f',     f' = 1 / (1 + (x + iy)^2)

    Domain:  every (x, y); 0 with partials nan at the poles i and -i. The cuts are the imaginary axis beyond them.
    Ref:     DLMF 4.23; Kahan 1987.

    >>> arctan_real(1.0, 0.0)
    0.7853981633974483
    """
    if x == 0.0 and abs(y) == 1.0:
        return x
    return cmath.atan(complex(x, y)).real


@arctan_real.partials
def arctan_real_partials(z, x, y):
    p = (1.0 - y) * (1.0 + y) + x * x
    q = 2.0 * x * y
    return reciprocal_real(p, q), reciprocal_real(q, p)


@scalar_rule(array=_part_of(np.arctan, "imag"), points=_POINTS)
def arctan_imag(x, y):
    """Imaginary part of arctan(x + iy).

        z = Im arctan(x + iy),     dz/dx = Im f',     dz/dy = Re f',     f' = 1 / (1 + (x + iy)^2)

    Domain:  every (x, y) but the poles at i and -i, where z is infinite. The cuts are the imaginary axis beyond them.
    Ref:     DLMF 4.23; Kahan 1987.

    >>> arctan_imag(0.0, 0.5)
    0.5493061443340549
    """
    if x == 0.0 and abs(y) == 1.0:
        return math.copysign(math.inf, y)
    return cmath.atan(complex(x, y)).imag


@arctan_imag.partials
def arctan_imag_partials(z, x, y):
    p = (1.0 - y) * (1.0 + y) + x * x
    q = 2.0 * x * y
    return -reciprocal_real(q, p), reciprocal_real(p, q)
