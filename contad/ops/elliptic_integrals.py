"""Elliptic integrals of the first and second kind, with derivatives of every order in both arguments."""

import math

from contad.ops._scipy import special
from contad.ops.arithmetic import power
from contad.ops.elementary import sqrt
from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint
from contad.ops.trigonometric import cos, sin
from contad.rules.scalar_rule import scalar_rule

PI, PI_REST = math.pi, 1.2246467991473532e-16  # the sum of the two is pi


@scalar_rule(ufunc="scipy.special.ellipk", points=[(0.7,), (-1.6,)])
def ellipk(m):
    """Complete elliptic integral of the first kind, of the parameter m.

        z = int_0^(pi/2) (1 - m sin^2 t)^(-1/2) dt,     dz/dm = elliptic_moment(1, 1, 1 - m) / 2

    Domain:  m < 1; z = inf at 1, nan above.
    Ref:     DLMF 19.2.8.

    >>> round(ellipk(0.5), 12)
    1.854074677301
    """
    return float(special().ellipk(m))


@ellipk.partials
def ellipk_partials(z, m):
    return 0.5 * elliptic_moment(1.0, 1.0, 1.0 - m)


@scalar_rule(ufunc="scipy.special.ellipkm1", points=[(0.7,), (2.6,), (1e-3,)])
def ellipkm1(p):
    """Complete elliptic integral of the first kind, of 1 - m.

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
def ellipe(m):
    """Complete elliptic integral of the second kind, of the parameter m.

        z = int_0^(pi/2) (1 - m sin^2 t)^(1/2) dt,     dz/dm = -elliptic_moment(1, 0, 1 - m) / 2

    Domain:  m <= 1, where dz/dm = -inf; nan above.
    Ref:     DLMF 19.2.8.

    >>> round(ellipe(0.5), 12)
    1.350643881048
    """
    return float(special().ellipe(m))


@ellipe.partials
def ellipe_partials(z, m):
    return -0.5 * elliptic_moment(1.0, 0.0, 1.0 - m)


@scalar_rule(points=[(1.0, 1.0, 0.7), (2.0, 1.0, 2.6), (1.0, 0.0, 1e-3)])
def elliptic_moment(n, k, p):
    """An integral to which those of derivatives of complete elliptic integrals belong.

        z = int_0^(pi/2) sin^(2 n) t (cos^2 t + p sin^2 t)^(-1/2 - k) dt,     dz/dn = 0,     dz/dk = 0,
        dz/dp = -(k + 1/2) elliptic_moment(n + 1, k + 1, p)

    Domain:  n, k = 0, 1, ..., rounded to integers, at most 20; p > 0, z = inf at 0. Elsewhere nan.
    Ref:     the trapezoidal rule in log tan t, of an integrand that is positive, and analytic up to pi / 2 i.

    >>> round(elliptic_moment(0.0, 0.0, 0.5), 12)
    1.854074677301
    """
    if not (-0.5 <= n <= 20.0 and -0.5 <= k <= 20.0 and p >= 0.0):
        return math.nan
    if p == 0.0:
        return math.inf
    if p == math.inf:
        return 0.0
    n, k = round(n), round(k)
    logarithm = math.log(p)
    start = -0.5 * max(logarithm, 0.0) - 40.0 / (2.0 * n + 1.0)
    end = -0.5 * min(logarithm, 0.0) + 40.0
    count = round((end - start) / 0.24)
    step = (end - start) / count
    total = 0.0
    for j in range(count + 1):
        total += _integrand(n, k, start + step * j, logarithm)
    return step * total


@elliptic_moment.partials
def elliptic_moment_partials(z, n, k, p):
    return 0.0, 0.0, -(rint(k) + 0.5) * elliptic_moment(rint(n) + 1.0, rint(k) + 1.0, p)


@scalar_rule(ufunc="scipy.special.ellipkinc", points=[(0.7, 0.4), (-1.2, -1.6), (4.3, 0.6)])
def ellipkinc(phi, m):
    """Incomplete elliptic integral of the first kind, of the parameter m.

        z = int_0^phi (1 - m sin^2 t)^(-1/2) dt,     dz/dphi = (1 - m sin^2 phi)^(-1/2),
        dz/dm = elliptic_part(1, 1, phi, m) / 2

    Domain:  m <= 1, and |phi| < pi / 2 for m = 1; nan for m > 1.
    Ref:     DLMF 19.2.4.

    >>> round(ellipkinc(1.0, 0.5), 12)
    1.083216773299
    """
    return float(special().ellipkinc(phi, m))


@ellipkinc.partials
def ellipkinc_partials(z, phi, m):
    return (
        1.0 / sqrt(cos(phi) * cos(phi) + (1.0 - m) * sin(phi) * sin(phi)),
        0.5 * elliptic_part(1.0, 1.0, phi, m),
    )


@scalar_rule(ufunc="scipy.special.ellipeinc", points=[(0.7, 0.4), (-1.2, -1.6), (4.3, 0.6)])
def ellipeinc(phi, m):
    """Incomplete elliptic integral of the second kind, of the parameter m.

        z = int_0^phi (1 - m sin^2 t)^(1/2) dt,     dz/dphi = (1 - m sin^2 phi)^(1/2),
        dz/dm = -elliptic_part(1, 0, phi, m) / 2

    Domain:  m <= 1; nan for m > 1.
    Ref:     DLMF 19.2.5.

    >>> round(ellipeinc(1.0, 0.5), 12)
    0.927329883641
    """
    return float(special().ellipeinc(phi, m))


@ellipeinc.partials
def ellipeinc_partials(z, phi, m):
    return (
        sqrt(cos(phi) * cos(phi) + (1.0 - m) * sin(phi) * sin(phi)),
        -0.5 * elliptic_part(1.0, 0.0, phi, m),
    )


@scalar_rule(points=[(1.0, 1.0, 0.7, 0.4), (2.0, 1.0, -1.2, -1.6), (1.0, 0.0, 4.3, 0.6)])
def elliptic_part(n, k, phi, m):
    """An integral to which those of derivatives of incomplete elliptic integrals belong.

        z = int_0^phi sin^(2 n) t (1 - m sin^2 t)^(-1/2 - k) dt,     dz/dn = 0,     dz/dk = 0,
        dz/dphi = sin^(2 n) phi (1 - m sin^2 phi)^(-1/2 - k),     dz/dm = (k + 1/2) elliptic_part(n + 1, k + 1, phi, m)

    Domain:  n, k = 0, 1, ..., rounded to integers, at most 20; m < 1, and m = 1 where |phi| < pi / 2. Elsewhere nan.
    Ref:     Gauss's rule in log tan t, of an integrand that is positive.

    >>> round(elliptic_part(0.0, 0.0, 1.0, 0.5), 12)
    1.083216773299
    """
    if not (-0.5 <= n <= 20.0 and -0.5 <= k <= 20.0 and m <= 1.0 and abs(phi) < 1e15):
        return math.nan
    n, k = round(n), round(k)
    turns = math.floor(phi / PI + 0.5)
    rest = (phi - turns * PI) - turns * PI_REST
    whole = 2.0 * turns * elliptic_moment.function(n, k, 1.0 - m) if turns != 0.0 else 0.0
    if rest == 0.0:
        return whole
    logarithm = math.log(1.0 - m) if m < 1.0 else -1e300
    end = math.log(abs(math.tan(rest)))
    start = min(end, -0.5 * max(logarithm, 0.0)) - 40.0 / (2.0 * n + 1.0)
    end = min(end, 40.0 - 0.5 * min(logarithm, 0.0))
    panels = 1 + round((end - start) / 4.0)
    half = 0.5 * (end - start) / panels
    total = 0.0
    for j in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                total += weight * _integrand(n, k, start + half * (2.0 * j + 1.0 + s), logarithm)
    return whole + (half * total if rest > 0.0 else -half * total)


@elliptic_part.partials
def elliptic_part_partials(z, n, k, phi, m):
    square = sin(phi) * sin(phi)
    return (
        0.0,
        0.0,
        power(square, rint(n)) * power(cos(phi) * cos(phi) + (1.0 - m) * square, -0.5 - rint(k)),
        (rint(k) + 0.5) * elliptic_part(rint(n) + 1.0, rint(k) + 1.0, phi, m),
    )


def _integrand(n, k, u, logarithm):
    """sin^(2 n) t (cos^2 t + p sin^2 t)^(-1/2 - k) dt/du where u = log tan t, and log p is given."""
    exponent = (2.0 * n + 1.0) * u - (n + 0.5 - k) * _softplus(2.0 * u) - (k + 0.5) * _softplus(2.0 * u + logarithm)
    return math.exp(exponent)


def _softplus(x):
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))
