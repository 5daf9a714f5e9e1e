"""Exponentials and logarithms."""

import math

import numpy as np

from contad.ops.logic import select
from contad.rules.scalar_rule import scalar_rule

LN_2 = 0.6931471805599453  # log 2
LOG2_E = 1.4426950408889634  # 1 / log 2
LOG10_E = 0.4342944819032518  # 1 / log 10


@scalar_rule(ufunc=np.exp, math="exp", core=True, points=[(0.7,), (-1.3,)])
def exp(x):
    """Exponential.

        z = e^x,     dz/dx = z

    Domain:  every x; z = 0 at -inf and inf at inf.
    Ref:     DLMF 4.7(ii).

    >>> exp(1.0)
    2.718281828459045
    """
    return math.exp(x)


@exp.partials
def exp_partials(z, x):
    return z


@scalar_rule(ufunc=(np.expm1, "scipy.special.expm1"), math="expm1", core=True, points=[(0.7,), (-1.3,)])
def expm1(x):
    """e^x - 1, accurate for small x.

        z = e^x - 1,     dz/dx = e^x

    Domain:  every x; z = -1 and dz/dx = 0 at -inf.
    Ref:     DLMF 4.7(ii). Not z + 1, which loses e^x for very negative x.

    >>> expm1(1e-20)
    1e-20
    """
    return math.expm1(x)


@expm1.partials
def expm1_partials(z, x):
    return exp(x)


@scalar_rule(ufunc=(np.exp2, "scipy.special.exp2"), math="exp2", core=True, points=[(0.7,), (-1.3,)])
def exp2(x):
    """Power of two.

        z = 2^x,     dz/dx = z log 2

    Domain:  every x; z = 0 at -inf and inf at inf.
    Ref:     C99, 7.12.6.2.

    >>> exp2(10.0)
    1024.0
    """
    return math.pow(2.0, x)


@exp2.partials
def exp2_partials(z, x):
    return z * LN_2


@scalar_rule(ufunc=np.log, math="log", core=True, points=[(2.3,), (0.4,)])
def log(x):
    """Natural logarithm.

        z = log x,     dz/dx = 1 / x

    Domain:  x > 0; z = -inf and dz/dx = inf at 0, and z is nan below.
    Ref:     DLMF 4.7(i).

    >>> log(2.0)
    0.6931471805599453
    """
    return math.log(x)


@log.partials
def log_partials(z, x):
    return 1.0 / x


@scalar_rule(ufunc=(np.log1p, "scipy.special.log1p"), math="log1p", core=True, points=[(1.3,), (-0.6,)])
def log1p(x):
    """log(1 + x), accurate for small x.

        z = log(1 + x),     dz/dx = 1 / (1 + x)

    Domain:  x > -1; z = -inf and dz/dx = inf at -1, and z is nan below.
    Ref:     C99, 7.12.6.9.

    >>> log1p(1e-20)
    1e-20
    """
    return math.log1p(x)


@log1p.partials
def log1p_partials(z, x):
    return 1.0 / (1.0 + x)


@scalar_rule(ufunc=np.log2, math="log2", core=True, points=[(2.3,), (0.4,)])
def log2(x):
    """Logarithm to base 2.

        z = log x / log 2,     dz/dx = 1 / (x log 2)

    Domain:  x > 0; z = -inf and dz/dx = inf at 0, and z is nan below.
    Ref:     C99, 7.12.6.10.

    >>> log2(8.0)
    3.0
    """
    return math.log2(x)


@log2.partials
def log2_partials(z, x):
    return LOG2_E / x


@scalar_rule(ufunc=np.log10, math="log10", core=True, points=[(2.3,), (0.4,)])
def log10(x):
    """Logarithm to base 10.

        z = log x / log 10,     dz/dx = 1 / (x log 10)

    Domain:  x > 0; z = -inf and dz/dx = inf at 0, and z is nan below.
    Ref:     C99, 7.12.6.8.

    >>> log10(1000.0)
    3.0
    """
    return math.log10(x)


@log10.partials
def log10_partials(z, x):
    return LOG10_E / x


@scalar_rule(ufunc=np.logaddexp, core=True, points=[(0.7, -0.4), (1.3, 2.6)])
def logaddexp(x, y):
    """log(e^x + e^y) without overflow.

        z = log(e^x + e^y),     dz/dx = 1 / (1 + e^(y-x)),     dz/dy = 1 / (1 + e^(x-y))

    Domain:  every (x, y); at two equal infinities both partials are 1/2.

    >>> logaddexp(1000.0, 1000.0)
    1000.6931471805599
    """
    return (y if y - x > 0.0 else x) + math.log1p(math.exp(x - y if y - x > 0.0 else 0.0 if x == y else y - x))


@logaddexp.partials
def logaddexp_partials(z, x, y):
    difference = y - x
    d = select(x == y and difference != 0.0, 0.0, difference)
    t = exp(select(d > 0.0, -d, d))  # at most 1: no overflow, at any order of derivative
    inverse = 1.0 / (1.0 + t)
    return select(d > 0.0, t, 1.0) * inverse, select(d > 0.0, 1.0, t) * inverse


@scalar_rule(ufunc=np.logaddexp2, points=[(0.7, -0.4), (1.3, 2.6)])
def logaddexp2(x, y):
    """log2(2^x + 2^y) without overflow.

        z = log2(2^x + 2^y),     dz/dx = 1 / (1 + 2^(y-x)),     dz/dy = 1 / (1 + 2^(x-y))

    Domain:  every (x, y); at two equal infinities both partials are 1/2.

    >>> logaddexp2(1000.0, 1000.0)
    1001.0
    """
    return x + 1.0 if x == y else max(x, y) + LOG2_E * math.log1p(math.pow(2.0, -abs(x - y)))


@logaddexp2.partials
def logaddexp2_partials(z, x, y):
    difference = y - x
    d = select(x == y and difference != 0.0, 0.0, difference)
    t = exp2(select(d > 0.0, -d, d))
    return select(d > 0.0, t, 1.0) / (1.0 + t), select(d > 0.0, 1.0, t) / (1.0 + t)
