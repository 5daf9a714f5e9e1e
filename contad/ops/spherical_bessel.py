"""Spherical Bessel functions, and the sine cardinal."""

import math

import numpy as np

from contad.ops.arithmetic import absolute, power
from contad.ops.bessel_functions import iv
from contad.ops.elementary import sqrt
from contad.ops.exponential import exp
from contad.ops.gamma_ratios import rgamma
from contad.ops.hypergeometric_functions import hyp0f1
from contad.ops.logic import select
from contad.ops.orthogonal_polynomials import whole_degree
from contad.ops.rounding import rint, trunc
from contad.ops.trigonometric import cos, sin
from contad.rules.numpy_functions import implements
from contad.rules.scalar_rule import scalar_rule


@scalar_rule(points=[(0.0, 0.7), (1.0, -1.6), (2.0, 4.3)])
def spherical_jn(n, x):
    """Spherical Bessel function of the first kind.

        z = sqrt(pi / (2 x)) J_(n+1/2)(x),     dz/dn = 0,
        dz/dx = (n spherical_jn(n - 1, x) - (n + 1) spherical_jn(n + 1, x)) / (2 n + 1)

    Domain:  n = 0, 1, ..., truncated to an integer; nan for other n. Every x; z = 0 at +-inf.
    Ref:     DLMF 10.47.3, 10.51.2: the series 10.53.1 for small x, 10.51.1 upward for x > n, and downward elsewhere.

    >>> round(spherical_jn(1.0, 2.0), 12)
    0.43539777498
    """
    if not -1.0 < n < 1e6 or math.isnan(x):
        return math.nan
    n = int(n)
    y = abs(x)
    if math.isinf(y):
        return 0.0
    sign = -1.0 if x < 0.0 and n % 2 else 1.0
    if y * y < 4.0 * n + 6.0:
        half = 0.5 * y * y
        term = total = 1.0
        k = 1.0
        while abs(term) > 1e-18:
            term *= -half / (k * (2.0 * n + 2.0 * k + 1.0))
            total += term
            k += 1.0
        for k in range(1, n + 1):
            total *= y / (2.0 * k + 1.0)
        return sign * total
    before, z = math.cos(y) / y, math.sin(y) / y
    if y >= n:
        for k in range(n):
            before, z = z, (2.0 * k + 1.0) / y * z - before
        return sign * z
    first, second = z, z / y - before
    above, here, found = 0.0, 1e-290, 0.0
    for k in range(n + 30 + round(20.0 * math.sqrt(n)), 0, -1):
        above, here = here, (2.0 * k + 1.0) / y * here - above
        if k - 1 == n:
            found = here
        if abs(here) > 1e200:
            above, here, found = above * 1e-200, here * 1e-200, found * 1e-200
    return sign * (found * (first / here) if abs(first) > abs(second) else found * (second / above))


@spherical_jn.partials
def spherical_jn_partials(z, n, x):
    order = trunc(select(n > -1.0, n, math.nan))
    lower = (order + absolute(order - 1.0) - 1.0) / 2.0  # n - 1, and 0 for 0, where its factor is 0
    return (
        0.0,
        (order * spherical_jn(lower, x) - (order + 1.0) * spherical_jn(order + 1.0, x)) / (2.0 * order + 1.0),
    )


def _sinc(x):
    y = x - np.rint(x)
    odd = np.rint(x) % 2.0
    with np.errstate(all="ignore"):
        z = np.where(odd, -1.0, 1.0) * np.sin(math.pi * y) / (math.pi * x)
        return np.where(x == 0.0, 1.0, np.where(np.isinf(math.pi * x), math.nan, z))


@scalar_rule(array=_sinc, points=[(0.7,), (-1.6,)])
def sinc(x):
    """Sine cardinal, like numpy.sinc.

        z = sin(pi x) / (pi x), 1 at 0,     dz/dx = (cos(pi x) - z) / x

    Ref:     below 1 the derivative is -pi j_1(pi x), which does not cancel. z is 0 at integers, where NumPy's has the
             rounding error of pi x, and nan where pi x is infinite, like NumPy's.

    >>> sinc(0.5)
    0.6366197723675814
    """
    if x == 0.0 or math.isinf(math.pi * x):
        return math.nan if x else 1.0
    n = float(np.rint(x))
    z = math.sin(math.pi * (x - n)) / (math.pi * x)
    return -z if n % 2.0 else z


@sinc.partials
def sinc_partials(z, x):
    small = absolute(x) < 1.0
    y = select(small, x, 0.0)
    w = select(small, 1.0, x)
    return select(small, -math.pi * spherical_jn(1.0, math.pi * y), (cos(math.pi * (w - 2.0 * rint(0.5 * w))) - z) / w)


# ---- written with others ---------------------------------------------------------------------------------------------
def spherical_yn(n, x):
    """Spherical Bessel function of the second kind, by its recurrence from -cos(x) / x and -cos(x) / x^2 - sin(x) / x.

    Ref:     DLMF 10.49.5, 10.51.1.

    >>> round(spherical_yn(1, 2.0), 12)
    -0.350612004276
    """
    n = whole_degree("spherical_yn", n)
    before = -cos(x) / x
    if n == 0:
        return before
    z = (before - sin(x)) / x
    for k in range(1, n):
        before, z = z, (2.0 * k + 1.0) / x * z - before
    return z


def spherical_kn(n, x):
    """Modified spherical Bessel function of the second kind, by its recurrence from pi / 2 e^-x / x.

    Ref:     DLMF 10.49.12, 10.51.4.

    >>> round(spherical_kn(1, 2.0), 12)
    0.159438124345
    """
    n = whole_degree("spherical_kn", n)
    before = 0.5 * math.pi * exp(-x) / x
    if n == 0:
        return before
    z = before * (1.0 + 1.0 / x)
    for k in range(1, n):
        before, z = z, (2.0 * k + 1.0) / x * z + before
    return z


def spherical_in(n, x):
    """Modified spherical Bessel function of the first kind, sqrt(pi / (2 x)) I_(n + 1/2)(x), on the whole line.

    Ref:     DLMF 10.47.7; 10.39.9, the series in x^2, for n up to 100, as the root has a pole at 0.

    >>> round(spherical_in(1, 2.0), 12)
    0.974382743580
    """
    n = whole_degree("spherical_in", n)
    if n > 100:
        return math.sqrt(0.5 * math.pi) / sqrt(x) * iv(n + 0.5, x)
    first = 0.5 * math.sqrt(math.pi) * rgamma(n + 1.5) * power(0.5 * x, float(n))
    return first * hyp0f1(n + 1.5, 0.25 * x * x)


@implements(np.sinc)
def _numpy_sinc(x):
    return sinc(x)
