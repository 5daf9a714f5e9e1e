"""Functions of SciPy and NumPy that are one line of rules: degrees, losses, counts, means."""

import math

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.arithmetic import absolute, power
from contad.ops.bessel_functions import i0, kv, yv
from contad.ops.elementary import hypot, sqrt
from contad.ops.elliptic_integrals import ellipkm1
from contad.ops.entropies import xlogy
from contad.ops.exponential import expm1, log
from contad.ops.gamma_functions import gamma
from contad.ops.gamma_ratios import binom, poch
from contad.ops.logic import holds, select
from contad.ops.products import as_array
from contad.ops.rounding import rint, trunc
from contad.ops.trigonometric import cos, sin
from contad.ops.zeta_functions import zeta
from contad.rules.numpy_functions import implements, stands_for
from contad.variables.complex_pair import is_complex
from contad.variables.number import observe

DEGREE = math.pi / 180.0
INF, NAN = math.inf, math.nan


# ---- angles in degrees -----------------------------------------------------------------------------------------------
@stands_for("sindg")
def sindg(x):
    """Sine of an angle in degrees; 0 at multiples of 180.

        z = sin(pi x / 180)

    Domain:  every finite x.
    Ref:     Moshier (1989), Cephes.

    >>> sindg(180.0)
    0.0
    """
    k = rint(x / 180.0)  # has derivative 0
    odd = k - 2.0 * rint(0.5 * k)
    return (1.0 - 2.0 * odd * odd) * sin(DEGREE * (x - 180.0 * k))


@stands_for("cosdg")
def cosdg(x):
    """Cosine of an angle in degrees; 0 at 90.

        z = cos(pi x / 180)

    Domain:  every finite x.
    Ref:     Moshier (1989), Cephes.

    >>> cosdg(90.0)
    0.0
    """
    k = rint(x / 180.0)
    odd = k - 2.0 * rint(0.5 * k)
    y = x - 180.0 * k
    near = absolute(y) < 45.0
    z = select(near, cos(DEGREE * y), sin(DEGREE * (90.0 - absolute(select(near, 90.0, y)))))
    return (1.0 - 2.0 * odd * odd) * z


@stands_for("tandg")
def tandg(x):
    """Tangent of an angle in degrees.

        z = tan(pi x / 180)

    Domain:  every finite x except odd multiples of 90.
    Ref:     Moshier (1989), Cephes.

    >>> round(tandg(45.0), 12)
    1.0
    """
    y = x - 180.0 * rint(x / 180.0)
    near = absolute(y) < 45.0
    cosine = select(near, cos(DEGREE * y), sin(DEGREE * (90.0 - absolute(select(near, 90.0, y)))))
    return sin(DEGREE * y) / cosine


@stands_for("cotdg")
def cotdg(x):
    """Cotangent of an angle in degrees.

        z = cot(pi x / 180)

    Domain:  every finite x except multiples of 180.
    Ref:     Moshier (1989), Cephes.

    >>> round(cotdg(45.0), 12)
    1.0
    """
    y = x - 180.0 * rint(x / 180.0)
    return sin(DEGREE * (90.0 - absolute(y))) / sin(DEGREE * y)


@stands_for("radian")
def radian(d, m, s):
    """Degrees, minutes and seconds as radians.

        z = pi / 180 (d + m / 60 + s / 3600)

    Domain:  every d, m and s.
    Ref:     Moshier (1989), Cephes.

    >>> round(radian(30.0, 0.0, 0.0), 12)
    0.523598775598
    """
    return DEGREE * (d + m / 60.0 + s / 3600.0)


# ---- parts of numbers ------------------------------------------------------------------------------------------------
@stands_for(np.modf)
def modf(x):
    """The fractional and the integral part; the derivative is that of the fractional one.

    >>> modf(-2.75)
    (-0.75, -2.0)
    """
    whole = trunc(x)
    finite = holds(np.isfinite, x)
    fraction = select(finite, x, 0.0) - select(finite, whole, 0.0)
    fraction = select(holds(np.isnan, x), x, fraction)
    return select(holds(lambda x: np.equal(np.modf(x)[0], 0.0), x), fraction * observe(_sign_of, x), fraction), whole


def _sign_of(x):
    return np.copysign(1.0, x)


@stands_for(np.frexp)
def frexp(x):
    """A mantissa in [1/2, 1) and an exponent, x = m 2^e; the exponent is a constant.

    >>> mantissa, exponent = frexp(6.0)
    >>> float(mantissa), int(exponent)
    (0.75, 3)
    """
    exponent = observe(lambda x: np.frexp(x)[1], x)
    half = exponent // 2  # 2^-e may overflow where x is tiny
    return x * np.ldexp(1.0, -half) * np.ldexp(1.0, half - exponent), exponent


@stands_for(np.nextafter)
def nextafter(x, y):
    """The next number from x towards y, with the derivative of x."""
    target = observe(np.nextafter, x, y)
    near = holds(lambda x, y: np.isfinite(x) & np.isfinite(np.nextafter(x, y)), x, y)
    inside = select(near, x, 0.0)
    return select(near, inside + (select(near, target, 0.0) - observe(np.multiply, inside, 1.0)), target)


@stands_for(np.spacing)
def spacing(x):
    """The distance to the next number, with derivative 0."""
    return observe(np.spacing, x)


implements(np.i0)(i0)


# ---- real functions that are complex outside of their domain ---------------------------------------------------------
def in_domain(function, of_real, is_outside):
    """Declare a function of np.emath, `of_real` where no element is outside; it also takes complex numbers."""

    def implementation(x):
        x = as_array(x)
        return of_real(x if is_complex(x) or not np.any(is_outside(x)) else x + 0j)

    implements(function)(implementation)


def _is_negative(x):
    return x < 0.0


def _is_no_cosine(x):
    return (x < -1.0) | (x > 1.0)


in_domain(np.emath.sqrt, np.sqrt, _is_negative)
in_domain(np.emath.log, np.log, _is_negative)
in_domain(np.emath.log2, lambda x: np.log(x) / math.log(2.0) if is_complex(x) else np.log2(x), _is_negative)
in_domain(np.emath.log10, lambda x: np.log(x) / math.log(10.0) if is_complex(x) else np.log10(x), _is_negative)
in_domain(np.emath.arccos, np.arccos, _is_no_cosine)
in_domain(np.emath.arcsin, np.arcsin, _is_no_cosine)
in_domain(np.emath.arctanh, np.arctanh, _is_no_cosine)


@implements(np.emath.logn)
def logn(n, x):
    """The logarithm of x to base n."""
    return np.emath.log(x) / np.emath.log(n)


@implements(np.emath.power)
def power_in_domain(x, p):
    """x to the power p; complex if one of the x is negative."""
    x = as_array(x)
    return np.power(x if is_complex(x) or not np.any(_is_negative(x)) else x + 0j, p)


# ---- powers, steps and losses ----------------------------------------------------------------------------------------
@stands_for("exp10")
def exp10(x):
    """Power of ten.

        z = 10^x

    Domain:  every x; z = 0 at -inf and inf at inf.
    Ref:     Moshier (1989), Cephes.

    >>> round(exp10(2.0), 9)
    100.0
    """
    return power(10.0, x)


@stands_for("powm1")
def powm1(x, y):
    """x^y - 1, accurate where it is small.

        z = x^y - 1 = e^(y log x) - 1

    Domain:  x >= 0, every y; x < 0 and whole y.
    Ref:     C99, 7.12.6.3, of y log x.

    >>> powm1(2.0, 1e-20)
    6.931471805599453e-21
    """
    is_power = x <= 0.0
    z = expm1(xlogy(select(x == 0.0, 0.0, y), select(is_power, 1.0, x)))
    return z + (power(select(is_power, x, 1.0), select(is_power, y, 1.0)) - 1.0)


@stands_for(np.heaviside)
def heaviside(x, y):
    """0 for x < 0, y at 0 and 1 for x > 0; the derivative in x is 0.

    >>> heaviside(0.0, 0.5)
    0.5
    """
    return select(holds(lambda x, y: np.equal(x, 0.0), x, y), y, observe(lambda x: np.heaviside(x, 0.5), x))


@stands_for("huber")
def huber(delta, r):
    """Huber's loss.

        z = r^2 / 2 for |r| <= delta, and delta (|r| - delta / 2) beyond

    Domain:  delta >= 0, every r; z = inf for delta < 0.
    Ref:     Huber (1964).

    >>> huber(1.0, 3.0)
    2.5
    """
    inside = holds(lambda d, r: np.abs(r) <= d, delta, r)
    z = select(inside, 0.5 * r * r, delta * (absolute(r) - 0.5 * delta))
    return select(holds(lambda d, r: np.less(d, 0.0), delta, r), math.inf, z)


@stands_for("pseudo_huber")
def pseudo_huber(delta, r):
    """The pseudo-Huber loss, smooth and without cancellation.

        z = delta^2 (sqrt(1 + (r / delta)^2) - 1) = delta r^2 / (delta + sqrt(delta^2 + r^2))

    Domain:  delta >= 0, every r; z = inf for delta < 0.
    Ref:     Hartley & Zisserman (2003), appendix 6.8.

    >>> round(pseudo_huber(1.0, 3.0), 12)
    2.162277660168
    """
    inside = select(absolute(r) < INF, r, 0.0)
    total = delta + hypot(delta, inside)
    z = inside * (delta * (inside / select(total == 0.0, 1.0, total)))
    at_infinity = select(absolute(r) < INF, 0.0, select(delta == 0.0, 0.0, delta * absolute(r)))
    return select(delta < 0.0, INF, z + at_infinity)


@stands_for("agm")
def agm(a, b):
    """Arithmetic-geometric mean of two numbers of one sign.

        z = pi / 2 m / K((a - m)^2 / m^2),     m = (a + b) / 2

    If the ratio of the numbers underflows, K(1 - p) is log(4 / sqrt(p)), the first term of its series.

    Domain:  a, b >= 0 or a, b <= 0; 0 if one is 0, and infinite if one is infinite and the other one is not 0.
    Ref:     DLMF 19.8.5, 19.12.1.

    >>> round(agm(1.0, 2.0), 12)
    1.456791031047
    """
    sign = select(a + b < 0.0, -1.0, 1.0)
    zero = select(a == 0.0, 1.0, select(b == 0.0, 1.0, 0.0))  # the slope is infinite there, like that of the roots
    x = sign * select(zero > 0.0, 1.0, a)
    y = sign * select(zero > 0.0, 1.0, b)
    mean = 0.5 * x + 0.5 * y
    p = (x / mean) * (y / mean)
    tiny = select(p < 1e-290, 1.0, 0.0)
    logarithm = log(4.0 * select(tiny > 0.0, mean, 1.0)) - 0.5 * log(select(tiny > 0.0, x, 1.0))
    series = logarithm - 0.5 * log(select(tiny > 0.0, y, 1.0))
    z = sign * mean / select(tiny > 0.0, series, ellipkm1(select(tiny > 0.0, 1.0, p)))
    finite = select(mean < INF, 1.0, 0.0)
    found = select(finite > 0.0, 0.5 * math.pi * z, sign * mean * sqrt(select(finite > 0.0, 1.0, x * y)))
    # 0.0 is added because the slope of the root of -0.0 is -inf
    roots = sqrt(select(zero > 0.0, sign * a + 0.0, 1.0)) * sqrt(select(zero > 0.0, sign * b + 0.0, 1.0))
    return select(zero > 0.0, sign * roots, found)


# ---- counts ----------------------------------------------------------------------------------------------------------
def comb(n, k, repetition=False):
    """Number of choices of k from n, as a function of numbers; 0 where k < 0 or k > n.

    >>> comb(5.0, 2.0)
    10.0
    """
    if repetition:
        return comb(n + k - 1.0, k)
    inside = holds(lambda n, k: (np.asarray(k) >= 0) & (np.asarray(k) <= n) & (np.asarray(n) >= 0), n, k)
    return select(inside, binom(n, k), 0.0)


def perm(n, k):
    """Number of ordered choices of k from n, as a function of numbers; 0 where k < 0 or k > n.

    >>> perm(5.0, 2.0)
    20.0
    """
    inside = holds(lambda n, k: (np.asarray(k) >= 0) & (np.asarray(k) <= n) & (np.asarray(n) >= 0), n, k)
    return select(inside, poch(n - k + 1.0, k), 0.0)


def factorial(n):
    """Gamma(n + 1), and 0 for n < 0.

    >>> factorial(4.0)
    24.0
    """
    return select(holds(lambda n: np.less(n, 0.0), n), 0.0, gamma(n + 1.0))


# ---- Bessel functions of whole order ---------------------------------------------------------------------------------
@stands_for("kn")
def kn(n, x):
    """The modified Bessel function kv, with an order that is truncated to a whole number and has no derivative.

        z = K_n(x)

    Domain:  x > 0.
    Ref:     DLMF 10.25.3.

    >>> round(kn(1.0, 1.5), 12)
    0.277387800457
    """
    return kv(trunc(n), x) * select(n == n, 1.0, NAN)


@stands_for("yn")
def yn(n, x):
    """The Bessel function yv, with an order that is truncated to a whole number and has no derivative.

        z = Y_n(x)

    Domain:  x > 0.
    Ref:     DLMF 10.2.3.

    >>> round(yn(1.0, 1.5), 12)
    -0.412308626974
    """
    return yv(trunc(n), x)


# ---- zeta ------------------------------------------------------------------------------------------------------------
@stands_for("_zeta")
def hurwitz_zeta(s, q):
    """The replacement of scipy.special.zeta(s, q).

    >>> round(hurwitz_zeta(2.0, 1.0), 12)
    1.644934066848
    """
    return zeta(s, q)


@stands_for("_riemann_zeta")
def riemann_zeta(s):
    """The replacement of scipy.special.zeta(s); on variables s > 1.

    >>> round(riemann_zeta(2.0), 12)
    1.644934066848
    """
    if not np.all(holds(lambda s: np.greater_equal(s, 1.0), s)):
        raise UnsupportedError("zeta: Riemann's zeta function has a derivative here for s > 1 only; got a smaller s")
    return zeta(s, 1.0)
