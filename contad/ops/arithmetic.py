"""The operators."""

import math

import numpy as np

from contad.ops.exponential import log
from contad.ops.logic import select
from contad.ops.rounding import sign
from contad.rules.scalar_rule import scalar_rule


@scalar_rule(ufunc=np.add, operator="add", core=True, points=[(1.3, -0.7)])
def add(x, y):
    """Sum.

        z = x + y,     dz/dx = 1,     dz/dy = 1

    >>> add(1.5, 2.0)
    3.5
    """
    return x + y


@add.partials
def add_partials(z, x, y):
    return 1.0, 1.0


@scalar_rule(ufunc=np.subtract, operator="sub", core=True, points=[(1.3, -0.7)])
def subtract(x, y):
    """Difference.

        z = x - y,     dz/dx = 1,     dz/dy = -1

    >>> subtract(1.5, 2.0)
    -0.5
    """
    return x - y


@subtract.partials
def subtract_partials(z, x, y):
    return 1.0, -1.0


@scalar_rule(ufunc=np.multiply, operator="mul", core=True, points=[(1.3, -0.7)])
def multiply(x, y):
    """Product.

        z = x y,     dz/dx = y,     dz/dy = x

    >>> multiply(1.5, 2.0)
    3.0
    """
    return x * y


@multiply.partials
def multiply_partials(z, x, y):
    return y, x


@scalar_rule(ufunc=np.true_divide, operator="truediv", core=True, points=[(1.3, -0.7)])
def divide(x, y):
    """Quotient.

        z = x / y,     dz/dx = 1 / y,     dz/dy = -z / y

    Domain:  y != 0.

    >>> divide(1.5, 2.0)
    0.75
    """
    return x / y


@divide.partials
def divide_partials(z, x, y):
    return 1.0 / y, -z / y


@scalar_rule(ufunc=np.floor_divide, operator="floordiv", core=True, points=[(7.3, -1.7)])
def floor_divide(x, y):
    """Largest integer that is not above x / y, as a float.

        z = floor(x / y),     dz/dx = 0,     dz/dy = 0

    Domain:  y != 0; the jumps at integer quotients have derivative 0.

    >>> floor_divide(7.5, -2.0)
    -4.0
    """
    return x // y


@floor_divide.partials
def floor_divide_partials(z, x, y):
    return 0.0, 0.0


@scalar_rule(ufunc=np.remainder, operator="mod", core=True, points=[(7.3, -1.7), (-3.1, 0.8)])
def remainder(x, y):
    """Remainder with the sign of the divisor, like Python's operator %.

        z = x - y floor(x / y),     dz/dx = 1,     dz/dy = -floor(x / y)

    Domain:  y != 0; at a jump (x a multiple of y) the derivative of the branch that gives z = 0.

    >>> remainder(7.5, -2.0)
    -0.5
    """
    return x % y


@remainder.partials
def remainder_partials(z, x, y):
    return 1.0, -(x // y)


@scalar_rule(
    ufunc=(np.power, np.float_power),
    math="pow",
    operator="pow",
    core=True,
    points=[(1.3, -0.7), (2.4, 3.1), (0.6, 0.3)],
)
def power(x, y):
    """Power.

        z = x^y,     dz/dx = y x^(y-1),     dz/dy = z log x

    Domain:  x > 0, or x <= 0 and y an integer; z is nan for x < 0 and any other y. For x < 0 there is no derivative in
             y: dz/dy is nan (a constant exponent does not need it). At x = 0, dz/dy = 0 for y >= 0; and dz/dx = 0 at x
             = y = 0, where z = 1.
    Ref:     DLMF 4.2(iv), 4.7. dz/dx is computed as y z / x if y - 1 would lose digits of y; and also, unless z
             underflows or overflows, for y = 1 and y >= 2, where the second derivative does not cancel.

    >>> power(2.0, 3.0)
    8.0
    """
    return math.pow(x, y)


@power.partials
def power_partials(z, x, y):
    is_moderate = 1e-280 < absolute(z) < 1e280
    is_quotient = x != 0.0 and (-1.0 < y < 0.5 or (is_moderate and (y >= 2.0 or y == 1.0)))
    dx = select(is_quotient, y * z / x, select(x == 0.0 and y == 0.0, 0.0, y * power(x, y - 1.0)))
    return dx, select(x == 0.0 and y >= 0.0, 0.0, z * log(x))


@scalar_rule(ufunc=np.negative, operator="neg", core=True, points=[(1.3,)])
def negative(x):
    """Negation.

        z = -x,     dz/dx = -1

    >>> negative(1.5)
    -1.5
    """
    return -x


@negative.partials
def negative_partials(z, x):
    return -1.0


@scalar_rule(ufunc=(np.absolute, np.fabs), math="fabs", operator="abs", core=True, points=[(1.3,), (-0.7,)])
def absolute(x):
    """Absolute value.

        z = |x|,     dz/dx = sgn(x)

    Domain:  every x; the kink at 0 has derivative 0.
    Ref:     C99, 7.12.7.2.

    >>> absolute(-1.5)
    1.5
    """
    return abs(x)


@absolute.partials
def absolute_partials(z, x):
    return sign(x)
