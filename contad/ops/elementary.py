"""Squares, roots, lengths, maxima and minima."""

import math

import numpy as np

from contad.ops.logic import select
from contad.rules.scalar_rule import scalar_rule

SUBNORMAL_LENGTH = 2.0**-960  # below it, hypot is scaled up before it serves as a divisor
SCALE_UP = 2.0**600


@scalar_rule(ufunc=np.square, core=True, points=[(1.3,), (-0.7,)])
def square(x):
    """Square.

        z = x^2,     dz/dx = 2 x

    Domain:  every x.
    Ref:     IEEE 754-2019, section 5.4.1.

    >>> square(1.5)
    2.25
    """
    return x * x


@square.partials
def square_partials(z, x):
    return 2.0 * x


@scalar_rule(ufunc=np.reciprocal, core=True, points=[(1.3,), (-0.7,)])
def reciprocal(x):
    """Reciprocal.

        z = 1 / x,     dz/dx = -z^2

    Domain:  x != 0.
    Ref:     IEEE 754-2019, section 5.4.1.

    >>> reciprocal(4.0)
    0.25
    """
    return 1.0 / x


@reciprocal.partials
def reciprocal_partials(z, x):
    return -z * z


@scalar_rule(ufunc=np.sqrt, math="sqrt", core=True, points=[(2.3,), (0.4,)])
def sqrt(x):
    """Square root.

        z = sqrt x,     dz/dx = 1 / (2 z)

    Domain:  x >= 0; dz/dx = inf at 0, and z is nan below. If x is 0 with a tangent of 0 (an exp that underflowed), the
             tangent of z is 0; reverse mode cannot know that and gives inf times 0, nan. See `contad.stan.sqrt`.
    Ref:     C99, 7.12.7.5.

    >>> sqrt(2.25)
    1.5
    """
    return math.sqrt(x)


@sqrt.partials
def sqrt_partials(z, x):
    return 0.5 / z


@scalar_rule(array=np.sqrt, points=[(2.3,), (0.4,)])
def sqrt_at_rest(x):
    """Square root with a derivative of 0 at 0, like Stan's.

        z = sqrt x,     dz/dx = 1 / (2 z), and 0 where z = 0

    So the root of a value that has underflowed, such as a spectral density of a Gaussian process, has the derivative 0.
    That of `sqrt` is inf times 0 there, nan in reverse mode.

    Domain:  x >= 0; z is nan below.
    Ref:     Stan Math, rev/fun/sqrt.

    >>> sqrt_at_rest(2.25)
    1.5
    """
    return math.sqrt(x) if x >= 0.0 else math.nan


@sqrt_at_rest.partials
def sqrt_at_rest_partials(z, x):
    return 0.5 / select(z == 0.0, math.inf, z)


@scalar_rule(ufunc=(np.cbrt, "scipy.special.cbrt"), math="cbrt", core=True, points=[(2.3,), (-0.4,)])
def cbrt(x):
    """Real cube root.

        z = x^(1/3),     dz/dx = 1 / (3 z^2)

    Domain:  every x; dz/dx = inf at 0.
    Ref:     C99, 7.12.7.1.

    >>> cbrt(-8.0)
    -2.0
    """
    return float(np.cbrt(x))


@cbrt.partials
def cbrt_partials(z, x):
    return 1.0 / (3.0 * z * z)


@scalar_rule(ufunc=np.hypot, math="hypot", core=True, points=[(3.1, -1.7), (0.4, 1.9)])
def hypot(x, y):
    """Length of the vector (x, y), without overflow or underflow.

        z = sqrt(x^2 + y^2),     dz/dx = x / z,     dz/dy = y / z

    Domain:  every (x, y); the kink at the origin has both partials 0. Second derivatives are within 8 ulp of 1 / z.
    Ref:     C99, 7.12.7.3.

    >>> hypot(3.0, 4.0)
    5.0
    """
    return math.hypot(x, y)


@hypot.partials
def hypot_partials(z, x, y):
    short = z < SUBNORMAL_LENGTH
    r = select(short, hypot(x * SCALE_UP, y * SCALE_UP), z)
    c = select(short, SCALE_UP, 1.0)
    return select(z == 0.0, 0.0, x * c / r), select(z == 0.0, 0.0, y * c / r)


@scalar_rule(ufunc=np.maximum, core=True, points=[(1.3, -0.7), (0.4, 1.9)])
def maximum(x, y):
    """The larger argument; nan if either is nan.

        z = max(x, y),     dz/dx = 1 if x > y else 0,     dz/dy = 1 if y > x else 0

    Domain:  every (x, y); at a tie both partials are 1/2, so that exchanging the arguments exchanges the partials;
             nan where z is.
    Ref:     IEEE 754-2019, section 9.6.

    >>> maximum(1.5, 2.0)
    2.0
    """
    return y if y >= x or math.isnan(y) else x


@maximum.partials
def maximum_partials(z, x, y):
    tie = select(x == y, 0.5, select(z == z, 0.0, math.nan))
    return select(x > y, 1.0, tie), select(y > x, 1.0, tie)


@scalar_rule(ufunc=np.minimum, core=True, points=[(1.3, -0.7), (0.4, 1.9)])
def minimum(x, y):
    """The smaller argument; nan if either is nan.

        z = min(x, y),     dz/dx = 1 if x < y else 0,     dz/dy = 1 if y < x else 0

    Domain:  every (x, y); at a tie both partials are 1/2, so that exchanging the arguments exchanges the partials;
             nan where z is.

    >>> minimum(1.5, 2.0)
    1.5
    """
    return y if y <= x or math.isnan(y) else x


@minimum.partials
def minimum_partials(z, x, y):
    tie = select(x == y, 0.5, select(z == z, 0.0, math.nan))
    return select(x < y, 1.0, tie), select(y < x, 1.0, tie)


@scalar_rule(ufunc=np.fmax, points=[(1.3, -0.7), (0.4, 1.9)])
def fmax(x, y):
    """The larger argument; if one is nan, the other one.

        z = fmax(x, y),     dz/dx = 1 if x > y or y is nan else 0,     dz/dy = 1 if y > x or x is nan else 0

    Domain:  every (x, y); at a tie both partials are 1/2, like those of `maximum`; nan where z is.
    Ref:     C99, 7.12.12.2.

    >>> fmax(1.5, float("nan"))
    1.5
    """
    return y if y >= x or math.isnan(x) else x


@fmax.partials
def fmax_partials(z, x, y):
    tie = select(x == y, 0.5, 0.0)
    all_of_it = select(z == z, 1.0, math.nan)
    return select(x > y or y != y, all_of_it, tie), select(y > x or x != x, all_of_it, tie)


@scalar_rule(ufunc=np.fmin, points=[(1.3, -0.7), (0.4, 1.9)])
def fmin(x, y):
    """The smaller argument; if one is nan, the other one.

        z = fmin(x, y),     dz/dx = 1 if x < y or y is nan else 0,     dz/dy = 1 if y < x or x is nan else 0

    Domain:  every (x, y); at a tie both partials are 1/2, like those of `minimum`; nan where z is.
    Ref:     C99, 7.12.12.3.

    >>> fmin(1.5, float("nan"))
    1.5
    """
    return y if y <= x or math.isnan(x) else x


@fmin.partials
def fmin_partials(z, x, y):
    tie = select(x == y, 0.5, 0.0)
    all_of_it = select(z == z, 1.0, math.nan)
    return select(x < y or y != y, all_of_it, tie), select(y < x or x != x, all_of_it, tie)
