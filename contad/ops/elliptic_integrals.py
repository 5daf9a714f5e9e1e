"""Elliptic integrals of the first and second kind, with derivatives of every order in both arguments."""

import math

from contad.ops._scipy import special
from contad.ops.arithmetic import power
from contad.ops.elementary import sqrt
from contad.ops.logic import select
from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint
from contad.ops.trigonometric import cos, sin
from contad.rules.scalar_rule import scalar_rule

PI, PI_REST = math.pi, 1.2246467991473532e-16  # the sum of the two is pi


@scalar_rule(ufunc="scipy.special.ellipk", points=[(0.7,), (-1.6,)])
def ellipk(k2):
    """Complete elliptic integral of the first kind, of the squared modulus k2, SciPy's m.

        z = int_0^(pi/2) (1 - k2 sin^2 t)^(-1/2) dt,     dz/dk2 = elliptic_moment(1, 1, 1 - k2) / 2

    Domain:  k2 < 1; z = inf at 1, nan above.
    Ref:     DLMF 19.2.8.

    >>> round(ellipk(0.5), 12)
    1.854074677301
    """
    return float(special().ellipk(k2))


@ellipk.partials
def ellipk_partials(z, k2):
    return 0.5 * elliptic_moment(1.0, 1.0, 1.0 - k2)


@scalar_rule(ufunc="scipy.special.ellipkm1", points=[(0.7,), (2.6,), (1e-3,)])
def ellipkm1(p):
    """Complete elliptic integral of the first kind, of 1 - k2, SciPy's 1 - m.

        z = int_0^(pi/2) (cos^2 t + p sin^2 t)^(-1/2) dt,     dz/dp = -elliptic_moment(1, 1, p) / 2

    Domain:  p > 0; z = inf at 0, nan below.
    Ref:     DLMF 19.2.8.

    >>> round(ellipkm1(0.5), 12)
    1.854074677301
    """
    return float(special().ellipkm1(p))


@ellipkm1.partials
def ellipkm1_partials(z, p):
    return -0.5 * elliptic_moment(1.0, 1.0, p)


@scalar_rule(ufunc="scipy.special.ellipe", points=[(0.7,), (-1.6,)])
def ellipe(k2):
    """Complete elliptic integral of the second kind, of the squared modulus k2, SciPy's m.

        z = int_0^(pi/2) (1 - k2 sin^2 t)^(1/2) dt,     dz/dk2 = -elliptic_moment(1, 0, 1 - k2) / 2

    Domain:  k2 <= 1, where dz/dk2 = -inf; nan above.
    Ref:     DLMF 19.2.8.

    >>> round(ellipe(0.5), 12)
    1.350643881048
    """
    return float(special().ellipe(k2))


@ellipe.partials
def ellipe_partials(z, k2):
    return -0.5 * elliptic_moment(1.0, 0.0, 1.0 - k2)


@scalar_rule(points=[(1.0, 1.0, 0.7), (2.0, 1.0, 2.6), (1.0, 0.0, 1e-3)])
def elliptic_moment(n, m, p):
    """A family of integrals that contains all derivatives of the complete elliptic integrals.

        z = int_0^(pi/2) sin^(2 n) t (cos^2 t + p sin^2 t)^(-1/2 - m) dt,     dz/dn = 0,     dz/dm = 0,
        dz/dp = -(m + 1/2) elliptic_moment(n + 1, m + 1, p)

    Domain:  n, m = 0, 1, ..., rounded to integers, at most 20; 1e-250 < p < 1e250, z = inf at 0. Elsewhere nan.
    Ref:     the trapezoidal rule in log tan t; the integrand is positive, and analytic up to pi / 2 i.

    >>> round(elliptic_moment(0.0, 0.0, 0.5), 12)
    1.854074677301
    """
    if not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0 and p >= 0.0):
        return math.nan
    if p < 1e-250:
        return math.inf if p == 0.0 else math.nan
    if p > 1e250:
        return 0.0 if p == math.inf else math.nan
    n, m = round(n), round(m)
    logarithm = math.log(p)
    start = -0.5 * max(logarithm, 0.0) - 40.0 / (2.0 * n + 1.0)
    end = -0.5 * min(logarithm, 0.0) + 40.0
    count = round((end - start) * (5.3 + 0.15 * (n + m)))
    step = (end - start) / count
    total = rest = 0.0
    for j in range(count + 1):  # Kahan's sum
        term = _integrand(n, m, start + step * j, p) - rest
        above = total + term
        rest = (above - total) - term
        total = above
    return step * total


@elliptic_moment.partials
def elliptic_moment_partials(z, n, m, p):
    return 0.0, 0.0, -(rint(m) + 0.5) * elliptic_moment(rint(n) + 1.0, rint(m) + 1.0, p)


@scalar_rule(ufunc="scipy.special.ellipkinc", points=[(0.7, 0.4), (-1.2, -1.6), (4.3, 0.6)])
def ellipkinc(phi, k2):
    """Incomplete elliptic integral of the first kind, of the squared modulus k2, SciPy's m.

        z = int_0^phi (1 - k2 sin^2 t)^(-1/2) dt,     dz/dphi = (1 - k2 sin^2 phi)^(-1/2),
        dz/dk2 = elliptic_part(1, 1, phi, k2) / 2

    Domain:  k2 <= 1, and |phi| < pi / 2 for k2 = 1; nan for k2 > 1.
    Ref:     DLMF 19.2.4.

    >>> round(ellipkinc(1.0, 0.5), 12)
    1.083216772845
    """
    return float(special().ellipkinc(phi, k2))


@ellipkinc.partials
def ellipkinc_partials(z, phi, k2):
    square = sin(phi) * sin(phi)
    return (
        1.0 / sqrt(select(k2 < 0.5, 1.0 - k2 * square, cos(phi) * cos(phi) + (1.0 - k2) * square)),
        0.5 * elliptic_part(1.0, 1.0, phi, k2),
    )


@scalar_rule(ufunc="scipy.special.ellipeinc", points=[(0.7, 0.4), (-1.2, -1.6), (4.3, 0.6)])
def ellipeinc(phi, k2):
    """Incomplete elliptic integral of the second kind, of the squared modulus k2, SciPy's m.

        z = int_0^phi (1 - k2 sin^2 t)^(1/2) dt,     dz/dphi = (1 - k2 sin^2 phi)^(1/2),
        dz/dk2 = -elliptic_part(1, 0, phi, k2) / 2

    Domain:  k2 <= 1; nan for k2 > 1.
    Ref:     DLMF 19.2.5.

    >>> round(ellipeinc(1.0, 0.5), 12)
    0.927329883624
    """
    return float(special().ellipeinc(phi, k2))


@ellipeinc.partials
def ellipeinc_partials(z, phi, k2):
    square = sin(phi) * sin(phi)
    return (
        sqrt(select(k2 < 0.5, 1.0 - k2 * square, cos(phi) * cos(phi) + (1.0 - k2) * square)),
        -0.5 * elliptic_part(1.0, 0.0, phi, k2),
    )


@scalar_rule(points=[(1.0, 1.0, 0.7, 0.4), (2.0, 1.0, -1.2, -1.6), (1.0, 0.0, 4.3, 0.6)])
def elliptic_part(n, m, phi, k2):
    """A family of integrals that contains all derivatives of the incomplete elliptic integrals.

        z = int_0^phi sin^(2 n) t (1 - k2 sin^2 t)^(-1/2 - m) dt,     dz/dn = 0,     dz/dm = 0,
        dz/dphi = sin^(2 n) phi (1 - k2 sin^2 phi)^(-1/2 - m),
        dz/dk2 = (m + 1/2) elliptic_part(n + 1, m + 1, phi, k2)

    Domain:  n, m = 0, 1, ..., rounded to integers, at most 20; k2 < 1, and k2 = 1 where |phi| < pi / 2. Elsewhere nan.
    Ref:     Gauss's rule in log tan t; the integrand is positive.

    >>> round(elliptic_part(0.0, 0.0, 1.0, 0.5), 12)
    1.083216772845
    """
    if not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0 and -1e250 < k2 <= 1.0 and abs(phi) < 1e15):
        return math.nan
    n, m = round(n), round(m)
    turns = math.floor(phi / PI + 0.5)
    rest = (phi - turns * PI) - turns * PI_REST
    whole = 2.0 * turns * elliptic_moment.function(n, m, 1.0 - k2) if turns != 0.0 else 0.0
    if rest == 0.0:
        return whole
    logarithm = math.log(1.0 - k2) if k2 < 1.0 else -500.0
    end = math.log(abs(math.tan(rest)))
    start = min(end, -0.5 * max(logarithm, 0.0)) - 40.0 / (2.0 * n + 1.0)
    end = min(end, 40.0 - 0.5 * min(logarithm, 0.0))
    panels = 1 + round((end - start) / 3.0)
    half = 0.5 * (end - start) / panels
    total = lost = 0.0
    for j in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                term = weight * _integrand(n, m, end - half * (2.0 * j + 1.0 + s), 1.0 - k2) - lost
                above = total + term
                lost = (above - total) - term
                total = above
    return whole + (half * total if rest > 0.0 else -half * total)


@elliptic_part.partials
def elliptic_part_partials(z, n, m, phi, k2):
    square = sin(phi) * sin(phi)
    return (
        0.0,
        0.0,
        power(square, rint(n)) * power(cos(phi) * cos(phi) + (1.0 - k2) * square, -0.5 - rint(m)),
        (rint(m) + 0.5) * elliptic_part(rint(n) + 1.0, rint(m) + 1.0, phi, k2),
    )


def _integrand(n, m, u, p):
    """sin^(2 n) t (cos^2 t + p sin^2 t)^(-1/2 - m) dt/du where u = log tan t."""
    w = math.exp(2.0 * u)
    share, below = w / (1.0 + w), 1.0 + p * w
    return math.pow(share, n) * math.pow((1.0 + w) / below, m) * math.sqrt(share / below)
