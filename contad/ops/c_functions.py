"""Further functions of C's math.h and NumPy: fmod, fdim, fma, ldexp."""

import math

import numpy as np

from contad.ops.exponential import exp2
from contad.ops.logic import select
from contad.ops.rounding import rint, trunc
from contad.rules.scalar_rule import scalar_rule


@scalar_rule(ufunc=np.fmod, math="fmod", points=[(7.3, -1.7), (-3.1, 0.8)])
def fmod(x, y):
    """Remainder with the sign of the dividend.

        z = x - y trunc(x / y),     dz/dx = 1,     dz/dy = -trunc(x / y)

    Domain:  y != 0; at a jump (x a multiple of y) the derivative of the branch that gives z = 0.
    Ref:     C99, 7.12.10.1.

    >>> fmod(7.5, -2.0)
    1.5
    """
    return math.copysign(abs(x) % abs(y), x)


@fmod.partials
def fmod_partials(z, x, y):
    return 1.0, -trunc((x - z) / y + select((x > 0.0) == (y > 0.0), 0.25, -0.25))


@scalar_rule(points=[(1.3, -0.7), (2.4, 3.1)])
def fdim(x, y):
    """How much x is above y.

        z = max(x - y, 0),     dz/dx = 1 if x > y else 0,     dz/dy = -1 if x > y else 0

    Domain:  every (x, y); at a tie both partials are 0. z and the partials are nan where an argument is.
    Ref:     C99, 7.12.12.1.

    >>> fdim(3.0, 1.0)
    2.0
    """
    return 0.0 if x <= y else x - y


@fdim.partials
def fdim_partials(z, x, y):
    kept = select(x > y, 1.0, select(x <= y, 0.0, math.nan))
    return kept, -kept


def _ldexp(x, n):
    z = np.ldexp(x, np.clip(np.rint(np.nan_to_num(n, nan=0.0)), -5000.0, 5000.0).astype(np.intc))
    return np.where(np.isnan(n), n, z)


@scalar_rule(ufunc=np.ldexp, array=_ldexp, points=[(1.3, 3.0), (-0.7, -2.0)])
def ldexp(x, n):
    """x times a power of two.

        z = x 2^n,     dz/dx = 2^n,     dz/dn = 0

    Domain:  every x; n = ..., -1, 0, 1, ..., rounded to an integer; nan for nan.
    Ref:     C99, 7.12.6.6.

    >>> ldexp(1.5, 4.0)
    24.0
    """
    if math.isnan(n):
        return n
    n = round(min(max(n, -5000.0), 5000.0))
    for step in (-1000, 1000):  # at most five times, because 2^n itself may overflow
        while n * step > 0 and abs(n) > 1000:
            x *= 2.0**step
            n -= step
    return x * 2.0**n


@ldexp.partials
def ldexp_partials(z, x, n):
    return exp2(rint(n)), 0.0


@scalar_rule(points=[(1.3, -0.7, 2.1), (0.6, 2.3, -0.4)])
def fma(x, y, a):
    """x y + a, with one rounding.

        z = x y + a,     dz/dx = y,     dz/dy = x,     dz/da = 1

    Domain:  every x, y and z.
    Ref:     Dekker's exact product, if no part of it overflows or underflows; otherwise rounded twice.

    >>> fma(0.1, 10.0, -1.0)
    5.551115123125783e-17
    """
    product = x * y
    total = product + a
    if not (abs(x) < 1e150 and abs(y) < 1e150 and 1e-250 < abs(product) < 1e280) or math.isinf(total):
        return total
    wide = 134217729.0 * x
    high = wide - (wide - x)
    low = x - high
    wide = 134217729.0 * y
    top = wide - (wide - y)
    rest = y - top
    lost = low * rest - (((product - high * top) - low * top) - high * rest)
    other = total - product
    return total + (((product - (total - other)) + (a - other)) + lost)


@fma.partials
def fma_partials(z, x, y, a):
    return y, x, 1.0
