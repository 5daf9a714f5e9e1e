"""Error functions, the normal distribution, and their inverses."""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.exponential import exp
from contad.ops.logic import select
from contad.ops.logistic import expit, expit_slope
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import mend

TWO_OVER_SQRT_PI = 1.1283791670955126
SQRT_HALF = 0.7071067811865476
SQRT_HALF_PI = 1.2533141373155003
SQRT_TWO_OVER_PI = 0.7978845608028654
ONE_OVER_SQRT_TWO_PI = 0.3989422804014327
HALF_SQRT_PI = 0.886226925452758


@scalar_rule(ufunc="scipy.special.erf", math="erf", points=[(0.7,), (-1.6,)])
def erf(x):
    """Error function.

        z = 2/sqrt(pi) int_0^x e^(-t^2) dt,     dz/dx = 2/sqrt(pi) e^(-x^2)

    Domain:  every x; z = -1 at -inf and 1 at inf.
    Ref:     DLMF 7.2.1.

    >>> round(erf(0.7), 12)
    0.677801193837
    """
    return math.erf(x)


@erf.partials
def erf_partials(z, x):
    return TWO_OVER_SQRT_PI * exp(-x * x)


# ---- values on arrays ------------------------------------------------------------------------------------------------
def _erfc(x):
    z = special().erfc(x)
    return mend(z, (x > 0.5) & (x < 28.0), math.erfc, x)  # SciPy loses two digits there


def _erfcinv(y):
    return mend(special().erfcinv(y), (y > 0.0) & (y < 1e-290), erfcinv.function, y)


def _erfcx(x):
    near = np.abs(x) < 1.0
    inner = np.where(near, x, 0.0)
    return np.where(near, np.exp(inner * inner) * _erfc(inner), special().erfcx(x))


def _tail(x):
    """`_normal_tail` on arrays."""
    u = x * SQRT_HALF
    return np.where(x < 1.0, 0.5 * _erfc(np.minimum(u, SQRT_HALF)), 0.5 * np.exp(-0.5 * x * x) * special().erfcx(u))


def _log_ndtr(x):
    return np.where(x > 0.0, np.log1p(-_tail(x)), special().log_ndtr(np.minimum(x, 0.0)))


@scalar_rule(ufunc="scipy.special.erfc", math="erfc", array=_erfc, points=[(0.7,), (-1.6,)])
def erfc(x):
    """Complementary error function.

        z = 1 - erf(x),     dz/dx = -2/sqrt(pi) e^(-x^2)

    Domain:  every x; z = 2 at -inf and 0 at inf.
    Ref:     DLMF 7.2.2.

    >>> round(erfc(10.0) * 1e45, 12)
    2.088487583763
    """
    return math.erfc(x)


@erfc.partials
def erfc_partials(z, x):
    return -TWO_OVER_SQRT_PI * exp(-x * x)


@scalar_rule(ufunc="scipy.special.erfcx", array=_erfcx, points=[(0.7,), (-1.6,)])
def erfcx(x):
    """Scaled complementary error function.

        z = e^(x^2) erfc(x),     dz/dx = 2 x z - 2/sqrt(pi) = -2 erfcx_integral(1, x)

    Domain:  every x; z = inf below -26.7, 0 at inf.
    Ref:     DLMF 7.2.2, 7.18.3. The difference cancels for large x; the integral does not.

    >>> round(erfcx(10.0), 12)
    0.056140992744
    """
    if abs(x) < 1.0:
        return math.exp(x * x) * math.erfc(x)
    return float(special().erfcx(x))


@erfcx.partials
def erfcx_partials(z, x):
    return -2.0 * erfcx_integral(1.0, x)


@scalar_rule(points=[(1.0, 0.7), (2.0, -1.6), (3.0, 4.3)])
def erfcx_integral(n, x):
    """Scaled n-fold integral of the complementary error function; every derivative of erfcx is a sum of these.

        z = e^(x^2) i^n erfc(x),     dz/dx = -2 (n + 1) erfcx_integral(n + 1, x)

    Domain:  n = 0, 1, ..., rounded to an integer, hence dz/dn = 0; nan for other n. Every x; z = 0 at inf.
    Ref:     DLMF 7.18(i)-(iv); Gautschi (1961) for the backward recurrence.

    >>> round(erfcx_integral(1.0, 10.0), 12)
    0.00277965611
    """
    if not -0.5 <= n < 1e6 or math.isnan(x):
        return math.nan
    n = round(n)
    if x * math.sqrt(2.0 * n) < 1.0:
        # The terms of the forward recurrence are positive below 0, and cancel little up to here.
        before, z = TWO_OVER_SQRT_PI, erfcx.function(x)
        for k in range(1, n + 1):
            before, z = z, (before - 2.0 * x * z) / (2.0 * k)
        return z
    # Backward, the error of the start in the ratio of neighbours decays like exp(-2 x (sqrt(2 k) - sqrt(2 n))).
    k = n + math.ceil(16.0 / x * (2.0 * math.sqrt(n) + 16.0 / x)) + 10
    ratio = 1.0 / (x + math.sqrt(x * x + 2.0 * k))
    z = TWO_OVER_SQRT_PI
    while k > 0:
        ratio = 1.0 / (2.0 * x + 2.0 * k * ratio)
        k -= 1
        if k <= n:
            z *= ratio
    return z


@erfcx_integral.partials
def erfcx_integral_partials(z, n, x):
    order = rint(n) + 1.0
    return 0.0, -2.0 * order * erfcx_integral(order, x)


@scalar_rule(ufunc="scipy.special.ndtr", array=lambda x: _tail(-x), points=[(0.7,), (-1.6,)])
def ndtr(x):
    """Distribution function of the standard normal; `Phi` in Stan.

        z = erfc(-x / sqrt(2)) / 2,     dz/dx = e^(-x^2/2) / sqrt(2 pi)

    Domain:  every x; z = 0 at -inf and 1 at inf.
    Ref:     DLMF 7.2.2.

    >>> round(ndtr(-10.0) * 1e24, 12)
    7.619853024161
    """
    return _normal_tail(-x) if x < 0.0 else 0.5 * math.erfc(-x * SQRT_HALF)


@ndtr.partials
def ndtr_partials(z, x):
    return ONE_OVER_SQRT_TWO_PI * exp(-0.5 * x * x)


@scalar_rule(ufunc="scipy.special.ndtri", points=[(0.3,), (0.8,)])
def ndtri(p):
    """Quantile function of the standard normal, the inverse of ndtr; `inv_Phi` and `std_normal_qf` in Stan.

        z = ndtr^-1(p),     dz/dp = sqrt(2 pi) e^(z^2/2)

    Domain:  0 < p < 1; z = -inf at 0, inf at 1, dz/dp = inf at both, and nan outside.
    Ref:     e^(z^2/2) is written as sqrt(pi/2) erfcx(|z| / sqrt(2)) / min(p, 1 - p), which is insensitive to an error
             in z.

    >>> round(ndtri(0.3), 12)
    -0.524400512708
    """
    return float(special().ndtri(p))


@ndtri.partials
def ndtri_partials(z, p):
    tail = select(p < 0.5, p, 1.0 - p)
    distance = select(p < 0.5, -z, z)
    return select(tail == 0.0, 1.0, SQRT_HALF_PI * erfcx(distance * SQRT_HALF)) / tail


@scalar_rule(ufunc="scipy.special.log_ndtr", array=_log_ndtr, points=[(0.7,), (-1.6,)])
def log_ndtr(x):
    """Logarithm of the standard normal distribution function.

        z = log ndtr(x),     dz/dx = sqrt(2/pi) / erfcx(-x / sqrt(2))

    Domain:  every x; z = -inf and dz/dx = inf at -inf, z = 0 and dz/dx = 0 at inf.
    Ref:     DLMF 7.2.2.

    >>> round(log_ndtr(-100.0), 9)
    -5005.524208694
    """
    if x > 0.0:
        return math.log1p(-_normal_tail(x))
    return float(special().log_ndtr(x))


@log_ndtr.partials
def log_ndtr_partials(z, x):
    # above 0 it is density over ndtr, because erfcx overflows
    density = ONE_OVER_SQRT_TWO_PI * exp(-0.5 * x * x)
    return select(x > 0.0, density / ndtr(x), SQRT_TWO_OVER_PI / erfcx(-x * SQRT_HALF))


def _normal_tail(x):
    """ndtr(-x) for x > 0, where the rounding of x / sqrt(2) inside erfc would double the error of large x."""
    u = x * SQRT_HALF
    return 0.5 * math.erfc(u) if x < 1.0 else 0.5 * math.exp(-0.5 * x * x) * float(special().erfcx(u))


@scalar_rule(ufunc="scipy.special.erfinv", points=[(0.3,), (-0.8,)])
def erfinv(y):
    """The inverse of erf.

        z = erf^-1(y),     dz/dy = sqrt(pi)/2 e^(z^2)

    Domain:  |y| < 1; z = +-inf and dz/dy = inf at +-1, and nan outside.
    Ref:     e^(z^2) is erfcx(|z|) / (1 - |y|) for |y| > 1/2, which is insensitive to an error in z.

    >>> round(erfinv(0.5), 12)
    0.476936276204
    """
    return float(special().erfinv(y))


@erfinv.partials
def erfinv_partials(z, y):
    size = select(y < 0.0, -y, y)
    tail = 1.0 - size
    near = select(size < 0.5, z, 0.0)
    far = select(tail <= 0.0, 1.0, erfcx(select(y < 0.0, -z, z)))
    beyond = select(tail < 0.0, z, tail)  # nan
    return select(size < 0.5, HALF_SQRT_PI * exp(near * near), HALF_SQRT_PI * far / beyond)


@scalar_rule(ufunc="scipy.special.erfcinv", array=_erfcinv, points=[(0.3,), (1.8,)])
def erfcinv(y):
    """The inverse of erfc; `inv_erfc` in Stan.

        z = erfc^-1(y),     dz/dy = -sqrt(pi)/2 e^(z^2)

    Domain:  0 < y < 2; z = inf at 0, -inf at 2, dz/dy = -inf at both, and nan outside.
    Ref:     e^(z^2) is erfcx(|z|) / min(y, 2 - y) where that minimum is below 1/2, which is insensitive to an error in
             z.

    >>> round(erfcinv(1e-20), 12)
    6.601580622355
    """
    if 0.0 < y < 1e-290:  # SciPy stops at subnormal y
        z = 25.0
        for _ in range(6):
            scaled = erfcx.function(z)
            z += (math.log(scaled) - math.log(y) - z * z) * scaled * HALF_SQRT_PI
        return z
    return float(special().erfcinv(y))


@erfcinv.partials
def erfcinv_partials(z, y):
    tail = select(y < 1.0, y, 2.0 - y)
    near = select(tail > 0.5, z, 0.0)
    far = select(tail <= 0.0, 1.0, erfcx(select(y > 1.0, -z, z)))
    beyond = select(tail < 0.0, z, tail)  # nan
    return select(tail > 0.5, -HALF_SQRT_PI * exp(near * near), -HALF_SQRT_PI * far / beyond)


@scalar_rule(points=[(0.7,), (-1.6,)])
def Phi_approx(x):
    """Stan's approximation of the normal distribution function by a logistic one.

        z = expit(0.07056 x^3 + 1.5976 x),     dz/dx = z (1 - z) (0.21168 x^2 + 1.5976)

    Domain:  every x; z = 0 at -inf and 1 at inf.
    Ref:     Bowling et al. (2009).

    >>> round(Phi_approx(0.7), 12)
    0.758142394942
    """
    return expit.function(x * (0.07056 * x * x + 1.5976))


@Phi_approx.partials
def Phi_approx_partials(z, x):
    y = select(x > 30.0, 30.0, select(x < -30.0, -30.0, x))  # the slope is 0 beyond, and its factors overflow
    return expit_slope(y * (0.07056 * y * y + 1.5976)) * (0.21168 * y * y + 1.5976)
