"""Box-Cox transformations and their inverses, and the quotients (e^x - 1) / x and log(1 + x) / x behind them."""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.arithmetic import absolute, power
from contad.ops.exponential import exp, log, log1p
from contad.ops.logic import select
from contad.ops.rounding import rint
from contad.ops.trigonometric import sin
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import mend


def _cosm1(x):
    return np.where(np.abs(x) > 0.75, -2.0 * np.sin(0.5 * x) ** 2, special().cosm1(x))


@scalar_rule(ufunc="scipy.special.cosm1", array=_cosm1, points=[(0.7,), (-1.6,)])
def cosm1(x):
    """cos(x) - 1, accurate for small x, and near multiples of 2 pi, where SciPy loses digits.

        z = cos(x) - 1 = -2 sin(x / 2)^2,     dz/dx = -sin x

    Domain:  every finite x.
    Ref:     DLMF 4.21.28.

    >>> cosm1(1e-10)
    -5e-21
    """
    if 0.75 < abs(x) < math.inf:
        return -2.0 * math.sin(0.5 * x) ** 2
    return float(special().cosm1(x))


@cosm1.partials
def cosm1_partials(z, x):
    return -sin(x)


def _exprel(x):
    return mend(special().exprel(x), x >= 709.0, exprel.function, x)


@scalar_rule(ufunc="scipy.special.exprel", array=_exprel, points=[(0.7,), (-1.6,)])
def exprel(x):
    """(e^x - 1) / x, and 1 at 0.

        z = (e^x - 1) / x,     dz/dx = exprel_derivative(1, x)

    Domain:  every x; z = 0 at -inf and inf at inf.
    Ref:     phi_1 of Hochbruck & Ostermann (2010).

    >>> exprel(0.0)
    1.0
    """
    return float(special().exprel(x)) if x < 709.0 else exprel_derivative.function(0.0, x)  # SciPy overflows


@exprel.partials
def exprel_partials(z, x):
    return exprel_derivative(1.0, x)


@scalar_rule(points=[(1.0, 0.7), (2.0, -1.6), (3.0, 25.3)])
def exprel_derivative(n, x):
    """The n-th derivative of exprel.

        z = int_0^1 t^n e^(x t) dt,     dz/dn = 0,     dz/dx = exprel_derivative(n + 1, x)

    Domain:  n = 0, 1, ..., rounded to an integer; nan for other n. Every x; z = inf at inf, 0 at -inf.
    Ref:     DLMF 13.4.1, 13.2.2, 13.2.39: series of positive terms, and beyond 20 + n the recurrence by parts.

    >>> exprel_derivative(1.0, 0.0)
    0.5
    """
    if not -0.5 <= n < 1e6 or math.isnan(x):
        return math.nan
    n = round(n)
    if abs(x) <= 20.0 + n:
        term = 1.0 if x > 0.0 else 1.0 / (n + 1.0)
        total = term / (n + 1.0) if x > 0.0 else term
        k = 1.0
        while term > 1e-18 * total:
            term *= x / k if x > 0.0 else -x / (n + 1.0 + k)
            total += term / (n + 1.0 + k) if x > 0.0 else term
            k += 1.0
        return total if x > 0.0 else total * math.exp(x)
    if x > 0.0:
        if x > 1400.0:
            return math.inf
        half = math.exp(0.5 * x)
        z = -math.expm1(-x) / x
        for k in range(1, n + 1):
            z = (1.0 - k * z) / x
        return half * z * half
    z = math.expm1(x) / x
    for k in range(1, n + 1):
        z = (k * z - math.exp(x)) / -x
    return z


@exprel_derivative.partials
def exprel_derivative_partials(z, n, x):
    return 0.0, exprel_derivative(rint(n) + 1.0, x)


@scalar_rule(points=[(1.0, 0.7), (2.0, -0.4), (3.0, 5.3)])
def log1prel_derivative(n, x):
    """The n-th derivative of log(1 + x) / x.

        z = (-1)^n n! int_0^1 t^n / (1 + x t)^(n+1) dt,     dz/dn = 0,     dz/dx = log1prel_derivative(n + 1, x)

    Domain:  n = 0, 1, ..., rounded to an integer; nan for other n. x > -1.
    Ref:     with s = t (1 + x) / (1 + x t) the integral of s^n / (1 - w s), w = x / (1 + x), over (1 + x)^(n+1); its
             series where |w| < 0.8, and its recurrence, which loses n digits of two, elsewhere.

    >>> log1prel_derivative(1.0, 0.0)
    -0.5
    """
    if not -0.5 <= n < 150.0 or not x > -1.0:
        return math.nan
    n = round(n)
    w = x / (1.0 + x) if x < 1e300 else 1.0
    if abs(w) < 0.8:
        total, term, k = 0.0, 1.0, n + 1.0
        while abs(term) > 1e-18:
            total += term / k
            term *= w
            k += 1.0
    else:
        total = math.log1p(x) / w
        for k in range(1, n + 1):
            total = (total - 1.0 / k) / w
    for k in range(1, n + 1):
        total *= -k / (1.0 + x)
    return total / (1.0 + x)


@log1prel_derivative.partials
def log1prel_derivative_partials(z, n, x):
    return 0.0, log1prel_derivative(rint(n) + 1.0, x)


@scalar_rule(ufunc="scipy.special.boxcox", points=[(1.7, 0.6), (0.4, -1.3), (2.2, 1e-3)])
def boxcox(x, lmbda):
    """Box-Cox transformation.

        z = (x^lmbda - 1) / lmbda, log x at lmbda = 0,     dz/dx = x^(lmbda - 1),
        dz/dlmbda = log(x)^2 exprel'(lmbda log x)

    Domain:  x > 0, or x = 0 and lmbda > 0; z = -inf at x = 0 for other lmbda.
    Ref:     Box & Cox (1964).

    >>> boxcox(2.0, 0.0)
    0.6931471805599453
    """
    return float(special().boxcox(x, lmbda))


@boxcox.partials
def boxcox_partials(z, x, lmbda):
    small = absolute(lmbda) < 0.5 and x != 0.0
    zero = x == 0.0 and lmbda > 0.0
    y = log(select(zero, 1.0, x))
    scale = select(zero, lmbda, 1.0)
    u = lmbda * y
    far = absolute(u) > 1.0
    distant = select(far, lmbda, 1.0)
    near = y * exprel_derivative(1.0, select(far, 0.0, u)) * y
    return (
        select(small, power(x, select(small, lmbda, 1.0)) / select(small, x, 1.0), power(x, lmbda - 1.0)),
        select(zero, 1.0 / scale / scale, select(far, (exp(u) * y - z) / distant, near)),
    )


@scalar_rule(ufunc="scipy.special.boxcox1p", points=[(1.7, 0.6), (-0.4, -1.3), (2.2, 1e-3)])
def boxcox1p(x, lmbda):
    """Box-Cox transformation of 1 + x, accurate for small x.

        z = ((1 + x)^lmbda - 1) / lmbda, log(1 + x) at lmbda = 0,     dz/dx = (1 + x)^(lmbda - 1),
        dz/dlmbda = log(1 + x)^2 exprel'(lmbda log(1 + x))

    Domain:  x > -1, or x = -1 and lmbda > 0; z = -inf at x = -1 for other lmbda.
    Ref:     Box & Cox (1964).

    >>> boxcox1p(1e-20, 0.5)
    1e-20
    """
    return float(special().boxcox1p(x, lmbda))


@boxcox1p.partials
def boxcox1p_partials(z, x, lmbda):
    small = absolute(lmbda) < 0.5
    zero = x == -1.0 and lmbda > 0.0
    y = log1p(select(zero, 0.0, x))
    scale = select(zero, lmbda, 1.0)
    u = lmbda * y
    far = absolute(u) > 1.0
    distant = select(far, lmbda, 1.0)
    near = y * exprel_derivative(1.0, select(far, 0.0, u)) * y
    slope = select(small, exp(lmbda * y) / (1.0 + x), exp((lmbda - 1.0) * y))
    return (
        select(zero, power(1.0 + x, lmbda - 1.0), slope),
        select(zero, 1.0 / scale / scale, select(far, (exp(u) * y - z) / distant, near)),
    )


@scalar_rule(ufunc="scipy.special.inv_boxcox", points=[(0.7, 0.6), (-0.4, 1.3), (1.2, -1e-3)])
def inv_boxcox(x, lmbda):
    """The inverse of the Box-Cox transformation.

        z = (1 + lmbda x)^(1/lmbda), e^x at lmbda = 0,     dz/dx = z / (1 + lmbda x),
        dz/dlmbda = z x^2 l'(lmbda x) with l(u) = log(1 + u) / u

    Domain:  lmbda x > -1.
    Ref:     Box & Cox (1964).

    >>> inv_boxcox(1.5, 2.0)
    2.0
    """
    return float(special().inv_boxcox(x, lmbda))


@inv_boxcox.partials
def inv_boxcox_partials(z, x, lmbda):
    u = lmbda * x
    small = absolute(u) < 1.0
    near = z * x * log1prel_derivative(1.0, select(small, u, 0.0)) * x
    scale = select(small, 1.0, lmbda)
    far = z * (u / (1.0 + u) - log1p(u)) / scale / scale
    return z / (1.0 + u), select(small, near, far)


@scalar_rule(ufunc="scipy.special.inv_boxcox1p", points=[(0.7, 0.6), (-0.4, 1.3), (1.2, -1e-3)])
def inv_boxcox1p(x, lmbda):
    """The inverse of boxcox1p, accurate for small x.

        z = y - 1 with y = (1 + lmbda x)^(1/lmbda), e^x at lmbda = 0,     dz/dx = y / (1 + lmbda x),
        dz/dlmbda = y x^2 l'(lmbda x) with l(u) = log(1 + u) / u

    Domain:  lmbda x > -1.
    Ref:     Box & Cox (1964).

    >>> inv_boxcox1p(1e-20, 2.0)
    1e-20
    """
    return float(special().inv_boxcox1p(x, lmbda))


@inv_boxcox1p.partials
def inv_boxcox1p_partials(z, x, lmbda):
    y = inv_boxcox(x, lmbda)
    u = lmbda * x
    small = absolute(u) < 1.0
    near = y * x * log1prel_derivative(1.0, select(small, u, 0.0)) * x
    scale = select(small, 1.0, lmbda)
    far = y * (u / (1.0 + u) - log1p(u)) / scale / scale
    return y / (1.0 + u), select(small, near, far)
