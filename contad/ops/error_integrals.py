"""Other integrals of Gaussians: Dawson's, Fresnel's and Owen's; ndtri of a logarithm."""

import math

from contad.ops._scipy import part_of_special, special
from contad.ops.arithmetic import absolute
from contad.ops.error_functions import erf, erfcx
from contad.ops.exponential import exp
from contad.ops.logic import select
from contad.ops.rounding import rint
from contad.ops.trigonometric import cos, sin
from contad.rules.numpy_functions import stands_for
from contad.rules.scalar_rule import scalar_rule

SQRT_PI = math.sqrt(math.pi)
SQRT_2 = math.sqrt(2.0)


@scalar_rule(ufunc="scipy.special.erfi", points=[(0.7,), (-1.6,)])
def erfi(x):
    """Imaginary error function.

        z = 2 / sqrt(pi) int_0^x e^(t^2) dt,     dz/dx = 2 / sqrt(pi) e^(x^2)

    Domain:  every x; z = -inf at -inf and inf at inf.
    Ref:     DLMF 7.2.1, with i x.

    >>> round(erfi(0.5), 12)
    0.614952094697
    """
    return float(special().erfi(x))


@erfi.partials
def erfi_partials(z, x):
    return 2.0 / SQRT_PI * exp(x * x)


@scalar_rule(ufunc="scipy.special.dawsn", points=[(0.7,), (-1.6,)])
def dawsn(x):
    """Dawson's integral.

        z = e^(-x^2) int_0^x e^(t^2) dt,     dz/dx = dawsn_derivative(1, x)

    Domain:  every x; z = 0 at -inf and inf.
    Ref:     DLMF 7.2.5.

    >>> round(dawsn(1.0), 12)
    0.538079506913
    """
    return float(special().dawsn(x))


@dawsn.partials
def dawsn_partials(z, x):
    return dawsn_derivative(1.0, x)


@scalar_rule(points=[(1.0, 0.7), (2.0, -1.6), (3.0, 8.3)])
def dawsn_derivative(n, x):
    """The n-th derivative of Dawson's integral.

        z = F^(n)(x),     dz/dn = 0,     dz/dx = dawsn_derivative(n + 1, x)

    Domain:  n = 0, 1, ..., rounded to an integer, at most 20; nan for other n. Every x.
    Ref:     DLMF 7.12.1 differentiated for large x. Otherwise F and F' by one continued fraction, so that F' loses no
             digits, and F'' = -2 (x F' + F) and so on, each of which loses two digits for x about 6.

    >>> round(dawsn_derivative(1.0, 1.0), 12)
    -0.076159013826
    """
    if not -0.5 <= n <= 20.0 or math.isnan(x):
        return math.nan
    n = round(n)
    y = abs(x)
    odd = x < 0.0 and n % 2 == 0
    if math.isinf(y):
        return 0.0
    if n == 0:
        return dawsn.function(x)
    if y > 6.3 + 0.25 * n:
        term = 0.5 / y  # (2 k - 1)!! / 2^(k + 1) y^-(2 k + 1), times (2 k + 1) ... (2 k + n) (-1 / y)^n
        for j in range(1, n + 1):
            term *= -j / y
        total, k = 0.0, 0.0
        while abs(term) > 1e-18 * abs(total) and k < 60.0:
            total += term
            term *= (2.0 * k + 1.0) / (2.0 * y * y) * (2.0 * k + n + 1.0) * (2.0 * k + n + 2.0)
            term /= (2.0 * k + 1.0) * (2.0 * k + 2.0)
            k += 1.0
        return -total if odd else total
    c = 0.0
    for k in range(60 + round(4.0 * y * y), 0, -1):
        c = 4.0 * k * y * y / (2.0 * k + 1.0 + 2.0 * y * y - c)
    below = 1.0 + 2.0 * y * y - c
    before, z = y / below, (1.0 - c) / below
    for k in range(1, n):
        before, z = z, -2.0 * (y * z + k * before)
    return -z if odd else z


@dawsn_derivative.partials
def dawsn_derivative_partials(z, n, x):
    return 0.0, dawsn_derivative(rint(n) + 1.0, x)


@scalar_rule(array=part_of_special("fresnel", 0), points=[(0.7,), (-1.6,)])
def fresnel_s(x):
    """Fresnel's sine integral, the first result of scipy.special.fresnel.

        z = int_0^x sin(pi t^2 / 2) dt,     dz/dx = sin(pi x^2 / 2)

    Ref:     DLMF 7.2.8.

    >>> round(fresnel_s(1.0), 12)
    0.43825914739
    """
    return float(special().fresnel(x)[0])


@fresnel_s.partials
def fresnel_s_partials(z, x):
    k = rint(0.5 * x)
    r = x - 2.0 * k
    t = 2.0 * k * r + 0.5 * r * r  # x^2 / 2 less a multiple of 2
    j = rint(t)
    odd = j - 2.0 * rint(0.5 * j)
    turn = 1.0 - 2.0 * odd * odd
    return turn * sin(math.pi * (t - j))


@scalar_rule(array=part_of_special("fresnel", 1), points=[(0.7,), (-1.6,)])
def fresnel_c(x):
    """Fresnel's cosine integral, the second result of scipy.special.fresnel.

        z = int_0^x cos(pi t^2 / 2) dt,     dz/dx = cos(pi x^2 / 2)

    Ref:     DLMF 7.2.7.

    >>> round(fresnel_c(1.0), 12)
    0.779893400377
    """
    return float(special().fresnel(x)[1])


@fresnel_c.partials
def fresnel_c_partials(z, x):
    k = rint(0.5 * x)
    r = x - 2.0 * k
    t = 2.0 * k * r + 0.5 * r * r  # x^2 / 2 less a multiple of 2
    j = rint(t)
    odd = j - 2.0 * rint(0.5 * j)
    turn = 1.0 - 2.0 * odd * odd
    s = t - j
    return turn * select(absolute(s) < 0.25, cos(math.pi * s), sin(math.pi * (0.5 - absolute(s))))


@scalar_rule(ufunc="scipy.special.owens_t", points=[(0.7, 0.4), (-1.6, 2.3)])
def owens_t(h, a):
    """Owen's T function.

        z = (2 pi)^-1 int_0^a e^(-h^2 (1 + t^2) / 2) / (1 + t^2) dt,
        dz/dh = -(8 pi)^(-1/2) e^(-h^2 / 2) erf(a h / sqrt(2)),
        dz/da = (2 pi)^-1 e^(-h^2 (1 + a^2) / 2) / (1 + a^2)

    Domain:  every h and a.
    Ref:     Owen (1956); Patefield and Tandy (2000).

    >>> round(owens_t(1.0, 0.5), 12)
    0.043064691121
    """
    return float(special().owens_t(h, a))


@owens_t.partials
def owens_t_partials(z, h, a):
    return (
        -exp(-0.5 * h * h) * erf(a * h / SQRT_2) / (2.0 * SQRT_2 * SQRT_PI),
        exp(-0.5 * h * h) * exp(-0.5 * (a * h) * (a * h)) / (1.0 + a * a) / (2.0 * math.pi),
    )


@scalar_rule(ufunc="scipy.special.ndtri_exp", points=[(-0.7,), (-30.3,)])
def ndtri_exp(y):
    """The quantile of the standard normal from the logarithm of a probability, the inverse of log_ndtr.

        z = x where log ndtr(x) = y,     dz/dy = sqrt(pi / 2) erfcx(-z / sqrt(2))

    Domain:  y < 0; z = -inf at -inf, inf at 0, nan above.
    Ref:     DLMF 7.17(i).

    >>> round(ndtri_exp(-50.0), 12)
    -9.674825283612
    """
    return float(special().ndtri_exp(y))


@ndtri_exp.partials
def ndtri_exp_partials(z, y):
    return SQRT_PI / SQRT_2 * erfcx(-z / SQRT_2)


@stands_for("fresnel")
def fresnel(x):
    """Fresnel's sine and cosine integral.

        z = int_0^x sin(pi t^2 / 2) dt, int_0^x cos(pi t^2 / 2) dt

    Domain:  every x; z = -1/2 at -inf and 1/2 at inf.
    Ref:     DLMF 7.2.7, 7.2.8.

    >>> [round(z, 6) for z in fresnel(1.0)]
    [0.438259, 0.779893]
    """
    return fresnel_s(x), fresnel_c(x)
