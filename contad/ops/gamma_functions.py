"""The gamma function, its logarithm, and the derivatives of the logarithm to every order."""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import mend

# B_2k / (2k)! for k = 1 ... 10
EULER_MACLAURIN = (
    8.333333333333333e-02, -1.388888888888889e-03, 3.306878306878307e-05, -8.267195767195767e-07, 2.08767569878681e-08,
    -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
    -2.1748686985580617e-16,
)  # fmt: skip


# ---- values on arrays: SciPy's, and the scalar functions where these do not take them --------------------------------
def _gamma(x):
    poles = (x <= 0.0) & (x == np.floor(x))
    return mend(special().gamma(x), poles | ((x > -200.0) & (x < -170.0)), gamma.function, x)


def _gammaln(x):
    x = np.asarray(x)
    z = np.where(np.abs(x) < 1e-100, -np.log(np.abs(x)), special().gammaln(x))
    near = ((x > 0.8) & (x < 1.2)) | ((x > 1.8) & (x < 2.2))
    if near.any():
        z[near] = special().loggamma(x[near].astype(complex)).real
    return z


def _polygamma(n, x):
    n, x = np.broadcast_arrays(n, x)
    order = np.rint(n)
    inside = (order >= 1.0) & (order <= 30.0) & (x > 0.0)
    order = np.where(inside, order, 1.0)
    zeta = special().zeta(order + 1.0, np.where(inside, x, 1.0))  # never below 0, where SciPy takes |x| steps
    z = np.where(order % 2.0, 1.0, -1.0) * special().gamma(order + 1.0) * zeta
    return mend(z, ~(inside & (zeta > 1e-250) & (zeta < 1e250)), polygamma.function, n, x)


@scalar_rule(ufunc="scipy.special.gamma", math="gamma", array=_gamma, points=[(3.3,), (-1.4,)])
def gamma(x):
    """Gamma function; `tgamma` in Stan.

        z = Gamma(x),     dz/dx = z digamma(x)

    Domain:  x other than 0, -1, ...; z = inf at 0, -inf at -0.0, nan at the other poles and -inf; inf above 171.6.
    Ref:     DLMF 5.2.1.

    >>> gamma(5.0)
    24.0
    """
    if x == 0.0:
        return math.copysign(math.inf, x)
    if x <= -1.0 and (math.isinf(x) or x == math.floor(x)):
        return math.nan  # inf, and -inf at -inf, in SciPy before 1.15
    if -200.0 < x < -170.0:
        return math.gamma(x)  # SciPy flushes subnormal results to zero
    return float(special().gamma(x))


@gamma.partials
def gamma_partials(z, x):
    return z * digamma(x)


@scalar_rule(ufunc="scipy.special.gammaln", math="lgamma", array=_gammaln, points=[(3.3,), (-1.4,)])
def gammaln(x):
    """log |Gamma(x)|; `lgamma` in Stan.

        z = log |Gamma(x)|,     dz/dx = digamma(x)

    Domain:  x other than 0, -1, ...; z = inf there.
    Ref:     DLMF 5.2.1.

    >>> round(gammaln(3.5), 12)
    1.200973602347
    """
    if 0.0 < abs(x) < 1e-100:
        return -math.log(abs(x))  # SciPy overflows
    if 0.8 < x < 1.2 or 1.8 < x < 2.2:
        return float(special().loggamma(complex(x)).real)  # accurate at the roots, unlike SciPy's gammaln
    return float(special().gammaln(x))


@gammaln.partials
def gammaln_partials(z, x):
    return digamma(x)


@scalar_rule(ufunc=("scipy.special.digamma", "scipy.special.psi"), points=[(3.3,), (-1.4,)])
def digamma(x):
    """Logarithmic derivative of the gamma function.

        z = psi(x),     dz/dx = trigamma(x)

    Domain:  x other than 0, -1, ...; z = -inf at 0, inf at -0.0, and nan at the other poles.
    Ref:     DLMF 5.2.2.

    >>> round(digamma(3.5), 12)
    1.103156640645
    """
    return float(special().psi(x))


@digamma.partials
def digamma_partials(z, x):
    return trigamma(x)


@scalar_rule(array=lambda x: _polygamma(1.0, x), points=[(3.3,), (-1.4,)])
def trigamma(x):
    """Derivative of digamma.

        z = psi'(x),     dz/dx = polygamma(2, x)

    Domain:  x other than 0, -1, ...; z = inf there.
    Ref:     DLMF 5.15(i).

    >>> round(trigamma(3.5), 12)
    0.3303577561
    """
    return polygamma.function(1.0, x)


@trigamma.partials
def trigamma_partials(z, x):
    return polygamma(2.0, x)


@scalar_rule(array=_polygamma, points=[(2.0, 1.7), (1.0, -1.4), (3.0, 21.3)])
def polygamma(n, x):
    """The n-th derivative of digamma.

        z = psi^(n)(x),     dz/dx = polygamma(n + 1, x)

    Domain:  n = 0, 1, ..., rounded to an integer, hence dz/dn = 0; nan for other n. x other than 0, -1, ...;
             for n > 0, z = (-1)^(n+1) inf there, nan at -inf, and 0 at inf.
    Ref:     DLMF 5.15; as the series 5.15.1 over all k, so that an x below 0 needs no reflection.

    >>> round(polygamma(2.0, 3.5), 12)
    -0.108204051642
    """
    if not -0.5 <= n < 1e15 or math.isnan(x) or x == -math.inf:
        return math.nan
    n = round(n)
    if n == 0:
        return float(special().psi(x))
    sign = 1.0 if n % 2 else -1.0
    if x > 0.0:
        zeta = float(special().zeta(n + 1.0, x)) if n <= 30 else 0.0
        if 1e-250 < zeta < 1e250:
            return sign * math.gamma(n + 1.0) * zeta
        return sign * (_drop(n, x, math.inf) if x < math.inf else 0.0)
    m, r = _distance(x, 0.0)
    if r == 0.0:
        return sign * math.inf
    return sign * (_pole(n, r) + _drop(n, 1.0 + r, math.inf) + sign * _drop(n, 1.0 - r, m))


@polygamma.partials
def polygamma_partials(z, n, x):
    return 0.0, polygamma(rint(n) + 1.0, x)


@scalar_rule(points=[(0.0, 1.7, 0.6), (1.0, 21.3, -4.2), (2.0, -1.4, 0.3)])
def polygamma_difference(n, x, y):
    """psi^(n)(x + y) - psi^(n)(x) without cancellation, for the derivatives of beta and betaln.

        z = psi^(n)(x + y) - psi^(n)(x),     dz/dx = psi^(n+1)(x + y) - psi^(n+1)(x),     dz/dy = psi^(n+1)(x + y)

    Domain:  n = 0, 1, ..., rounded to an integer, hence dz/dn = 0; nan for other n. x and x + y other than 0, -1, ...
    Ref:     DLMF 5.15.1 term by term, and 2.10.1 (Euler-Maclaurin) for the tail.

    >>> round(polygamma_difference(0.0, 1e10, 1e-10) * 1e20, 12)
    1.00000000005
    """
    total = x + y
    if not -0.5 <= n < 1e15 or math.isnan(total) or math.isinf(x) or math.isinf(y):
        return math.nan
    n = round(n)
    if x > 0.0 and total > 0.0:
        if n == 0:  # the difference itself, if it cancels little
            first, last = digamma.function(x), digamma.function(total)
            if abs(last - first) > max(0.5, 0.25 * (abs(first) + abs(last))) and math.isfinite(last - first):
                return last - first
        return _between(n, x, total, y) * (-1.0 if n % 2 else 1.0)
    if x <= 0.0 < total:
        return _across(n, *_distance(x, 0.0), total)
    if total <= 0.0 < x:
        return -_across(n, *_distance(x, y), x)
    return _below(n, x, y)


@polygamma_difference.partials
def polygamma_difference_partials(z, n, x, y):
    order = rint(n) + 1.0
    return 0.0, polygamma_difference(order, x, y), polygamma(order, x + y)


# ---- the series s_n(x) = (-1)^(n+1) psi^(n)(x) = n! sum_k (x + k)^-(n+1), up to a constant for n = 0 -----------------
def _drop(n, x, y):
    """s_n(x) - s_n(x + y) for x > 0 and y >= 0: every term is positive. For n > 0, y = inf gives s_n(x)."""
    if y == 0.0 or x <= 0.0:
        return 0.0 if y == 0.0 else math.inf
    total = 0.0
    k = 0.0
    while x + k < 16.0 + n:
        t = x + k
        term = _over_power(n, n + 1, t) * -math.expm1(-(n + 1) * math.log1p(y / t))
        total += term
        if n and not term > 1e-19 * total:
            return total
        k += 1.0
    t = x + k
    growth = math.log1p(y / t)
    tail = (-math.expm1(-n * growth) / n if n else growth) - 0.5 / t * math.expm1(-(n + 1) * growth)
    factor = (n + 1) / t / t
    for j, b in zip(range(n + 2, n + 22, 2), EULER_MACLAURIN, strict=True):
        tail -= b * factor * math.expm1(-j * growth)
        factor *= j / t * ((j + 1) / t)
    return total + _over_power(n, n, t) * tail


def _between(n, x, t, d):
    """s_n(x) - s_n(t) where t = x + d."""
    return _drop(n, x, d) if d >= 0.0 else -_drop(n, t, -d)


def _over_power(n, m, x):
    """n! / x^m for m = n or n + 1, through the m-th root of n!, so that neither factor overflows."""
    try:
        return math.pow(math.exp(math.lgamma(n + 1.0) / m) / x, m) if n > 1 else math.pow(x, -m)
    except OverflowError:
        return math.inf


def _pole(n, r):
    """n! / r^(n+1): the term of the series that is nearest to a pole."""
    return _over_power(n, n + 1, r) if r > 0.0 else (1.0 if n % 2 else -1.0) * _over_power(n, n + 1, -r)


def _pole_difference(n, r, t, d):
    """_pole(n, t) - _pole(n, r) where t = r + d."""
    if abs(d) <= 0.5 * abs(r):
        growth = (n + 1) * math.log1p(d / r)
        return _pole(n, r) * math.expm1(-growth) if growth > 0.0 else -_pole(n, t) * math.expm1(growth)
    if abs(t) < abs(r):
        return _pole(n, t) * (1.0 - (t / r) ** (n + 1))
    return _pole(n, r) * ((r / t) ** (n + 1) - 1.0)


def _distance(x, y):
    """(m, r) with x + y = r - m, m an integer and |r| <= 1/2; r is accurate however small it is."""
    n, k = rint.function(x), rint.function(y)
    r, s = x - n, y - k
    t = r + s
    error = (r - (t - (t - r))) + (s - (t - r))
    shift = rint.function(t)
    return -(n + k + shift), (t - shift) + error


def _across(n, m, r, t):
    """psi^(n)(t) - psi^(n)(r - m) for r - m < 0 < t: the series at r - m over all k, less its mirror image."""
    if r == 0.0:
        return math.nan if n else math.inf
    sign = 1.0 if n % 2 else -1.0
    upper = _pole_difference(n, r, t, t - r) + _between(n, 1.0 + t, 1.0 + r, r - t)
    return sign * (upper - sign * _drop(n, 1.0 - r, m))


def _below(n, x, y):
    """psi^(n)(x + y) - psi^(n)(x) for x, x + y < 0, from the distances r, t of these to poles."""
    r = x - rint.function(x)
    d = y - rint.function(y)
    t = r + d
    if abs(t) > 0.75:
        t = _distance(x, y)[1]
        d = t - r
    if r == 0.0 or t == 0.0:
        return math.nan
    sign = 1.0 if n % 2 else -1.0
    upper = _pole_difference(n, r, t, d) - _between(n, 1.0 + r, 1.0 + t, d)
    return sign * upper + _between(n, 1.0 - t, 1.0 - r, d) - _between(n, 1.0 - (x + y), 1.0 - x, y)
