"""Exponential, sine and cosine integrals, and the hyperbolic ones."""

import math

import numpy as np

from contad.ops._scipy import part_of_special, special
from contad.ops.arithmetic import absolute
from contad.ops.exponential import exp
from contad.ops.hyperbolic import cosh, sinh
from contad.ops.logic import select
from contad.ops.rounding import trunc
from contad.ops.spherical_bessel import spherical_jn
from contad.ops.trigonometric import cos
from contad.rules.numpy_functions import stands_for
from contad.rules.scalar_rule import scalar_rule


@scalar_rule(ufunc="scipy.special.exp1", points=[(0.7,), (4.3,)])
def exp1(x):
    """Exponential integral E_1.

        z = int_x^inf e^-t / t dt,     dz/dx = -e^-x / x

    Domain:  x > 0; z = inf at 0, nan below.
    Ref:     DLMF 6.2.1.

    >>> round(exp1(1.0), 12)
    0.219383934396
    """
    return float(special().exp1(x))


@exp1.partials
def exp1_partials(z, x):
    return select(x < 0.0, z, -exp(-x) / x)


@scalar_rule(ufunc="scipy.special.expi", points=[(0.7,), (-1.6,)])
def expi(x):
    """Exponential integral Ei, a principal value for x > 0.

        z = int_-inf^x e^t / t dt,     dz/dx = e^x / x

    Domain:  x other than 0, where z = -inf.
    Ref:     DLMF 6.2.5.

    >>> round(expi(1.0), 12)
    1.895117816356
    """
    return float(special().expi(x))


@expi.partials
def expi_partials(z, x):
    return exp(x) / x


def _expn(n, x):
    order = np.trunc(n)
    known = (order >= 0.0) & (order <= 1e9)
    return np.where(known, special().expn(np.where(known, order, 0.0), x), math.nan)


@scalar_rule(ufunc="scipy.special.expn", array=_expn, points=[(1.4, 0.7), (3.4, 4.3), (0.4, 1.6)])
def expn(n, x):
    """Exponential integral E_n.

        z = int_1^inf e^(-x t) / t^n dt,     dz/dn = 0,     dz/dx = -expn(n - 1, x), and -z (1 + 1 / x) for n = 0

    Domain:  n = 0, 1, ..., 1e9, cut to an integer as in SciPy, x >= 0; nan elsewhere.
    Ref:     DLMF 8.19.2, 8.19.13.

    >>> round(expn(2.0, 1.0), 12)
    0.148495506776
    """
    return float(special().expn(float(int(n)), x)) if -1.0 < n <= 1e9 else math.nan


@expn.partials
def expn_partials(z, n, x):
    first = n < 1.0
    lower = expn(select(first, 1.0, trunc(n)) - 1.0, x)
    return 0.0, select(first, -z * (1.0 + 1.0 / x), -lower)


@scalar_rule(array=part_of_special("sici", 0), points=[(0.7,), (-4.3,)])
def si(x):
    """Sine integral, the first result of scipy.special.sici.

        z = int_0^x sin(t) / t dt,     dz/dx = sin(x) / x

    Ref:     DLMF 6.2.9.

    >>> round(si(1.0), 12)
    0.946083070367
    """
    return float(special().sici(x)[0])


@si.partials
def si_partials(z, x):
    return spherical_jn(0.0, x)


@scalar_rule(array=part_of_special("sici", 1), points=[(0.7,), (4.3,)])
def ci(x):
    """Cosine integral, the second result of scipy.special.sici.

        z = -int_x^inf cos(t) / t dt,     dz/dx = cos(x) / x

    Domain:  x > 0; z = -inf at 0, nan below.
    Ref:     DLMF 6.2.11.

    >>> round(ci(1.0), 12)
    0.337403922901
    """
    return float(special().sici(x)[1])


@ci.partials
def ci_partials(z, x):
    return cos(x) / x


@scalar_rule(array=part_of_special("shichi", 0), points=[(0.7,), (-1.6,)])
def shi(x):
    """Hyperbolic sine integral, the first result of scipy.special.shichi.

        z = int_0^x sinh(t) / t dt,     dz/dx = sinh(x) / x

    Ref:     DLMF 6.2.15.

    >>> round(shi(1.0), 12)
    1.057250875376
    """
    return float(special().shichi(x)[0])


@shi.partials
def shi_partials(z, x):
    small = absolute(x) < 1.0
    w = select(small, x, 0.0)
    y = select(small, 1.0, x)
    s = w * w
    last = 1.0 + s / 110.0 * (1.0 + s / 156.0 * (1.0 + s / 210.0 * (1.0 + s / 272.0 * (1.0 + s / 342.0))))
    series = 1.0 + s / 20.0 * (1.0 + s / 42.0 * (1.0 + s / 72.0 * last))
    return select(small, 1.0 + s / 6.0 * series, sinh(y) / y)


@scalar_rule(array=part_of_special("shichi", 1), points=[(0.7,), (4.3,)])
def chi(x):
    """Hyperbolic cosine integral, the second result of scipy.special.shichi.

        z = gamma + log x + int_0^x (cosh(t) - 1) / t dt,     dz/dx = cosh(x) / x

    Domain:  x > 0; z = -inf at 0, nan below.
    Ref:     DLMF 6.2.16.

    >>> round(chi(1.0), 12)
    0.83786694098
    """
    return float(special().shichi(x)[1])


@chi.partials
def chi_partials(z, x):
    return cosh(x) / x


@stands_for("sici")
def sici(x):
    """Sine and cosine integrals.

        z = int_0^x sin(t) / t dt, -int_x^inf cos(t) / t dt

    Domain:  x > 0; the first of every x.
    Ref:     DLMF 6.2.9, 6.2.11.

    >>> [round(z, 6) for z in sici(1.0)]
    [0.946083, 0.337404]
    """
    return si(x), ci(x)


@stands_for("shichi")
def shichi(x):
    """Hyperbolic sine and cosine integrals.

        z = int_0^x sinh(t) / t dt, gamma + log x + int_0^x (cosh(t) - 1) / t dt

    Domain:  x > 0; the first of every x.
    Ref:     DLMF 6.2.15, 6.2.16.

    >>> [round(z, 6) for z in shichi(1.0)]
    [1.057251, 0.837867]
    """
    return shi(x), chi(x)
