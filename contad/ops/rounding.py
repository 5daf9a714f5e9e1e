"""Sign and rounding: piecewise constant, so every derivative is zero; a jump has derivative zero as well."""

import math

import numpy as np

from contad.rules.scalar_rule import scalar_rule


@scalar_rule(ufunc=np.sign, core=True, points=[(-1.7,)])
def sign(x):
    """Sign: -1, 0 or 1.

        z = sgn x,     dz/dx = 0

    Domain:  every x; the jump at 0 has derivative 0.

    >>> sign(-1.7)
    -1.0
    """
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else abs(x)


@sign.partials
def sign_partials(z, x):
    return 0.0


@scalar_rule(ufunc=np.floor, core=True, points=[(-1.7,)])
def floor(x):
    """Largest integer that is not above x, as a float.

        z = floor x,     dz/dx = 0

    Domain:  every x; the jumps at integers have derivative 0.
    Ref:     C99, 7.12.9.2.

    >>> floor(-1.7)
    -2.0
    """
    return float(np.floor(x))


@floor.partials
def floor_partials(z, x):
    return 0.0


@scalar_rule(ufunc=np.ceil, core=True, points=[(-1.7,)])
def ceil(x):
    """Smallest integer that is not below x, as a float.

        z = ceil x,     dz/dx = 0

    Domain:  every x; the jumps at integers have derivative 0.
    Ref:     C99, 7.12.9.1.

    >>> ceil(1.2)
    2.0
    """
    return float(np.ceil(x))


@ceil.partials
def ceil_partials(z, x):
    return 0.0


@scalar_rule(ufunc=np.trunc, core=True, points=[(-1.7,)])
def trunc(x):
    """x rounded towards zero to an integer, as a float.

        z = trunc x,     dz/dx = 0

    Domain:  every x; the jumps at nonzero integers have derivative 0.
    Ref:     C99, 7.12.9.8.

    >>> trunc(-1.7)
    -1.0
    """
    return float(np.trunc(x))


@trunc.partials
def trunc_partials(z, x):
    return 0.0


@scalar_rule(ufunc=np.rint, core=True, points=[(-1.7,)])
def rint(x):
    """x rounded to the nearest integer, halves to the even one, as a float.

        z = rint x,     dz/dx = 0

    Domain:  every x; the jumps at half-integers have derivative 0.

    >>> rint(2.5)
    2.0
    """
    return float(np.rint(x))


@rint.partials
def rint_partials(z, x):
    return 0.0


@scalar_rule(ufunc=np.copysign, math="copysign", core=True, points=[(1.3, -0.7), (-1.3, -0.4)])
def copysign(x, y):
    """Magnitude of x with the sign of y.

        z = |x| sgn(y),     dz/dx = sgn(x) sgn(y),     dz/dy = 0

    Domain:  every (x, y); at x = 0 the kink has dz/dx = 0, and at y = +-0.0 the jump has dz/dy = 0.

    >>> copysign(1.3, -0.7)
    -1.3
    """
    return math.copysign(x, y)


@copysign.partials
def copysign_partials(z, x, y):
    return sign(x) * copysign(1.0, y), 0.0
