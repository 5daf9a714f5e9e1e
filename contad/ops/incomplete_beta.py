"""The incomplete beta functions and their inverses, with derivatives of every order in all three arguments."""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.arithmetic import absolute
from contad.ops.beta_functions import beta, betaln, log1pmx_of_ratio, shape_shift, stirling_series
from contad.ops.exponential import exp, log, log1p
from contad.ops.gamma_functions import polygamma, polygamma_difference
from contad.ops.incomplete_gamma import NEGLIGIBLE
from contad.ops.logic import select
from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import mend

# logarithms of x and of 1 - x below which I_x(a, b), or its complement, is the first term of its series
FIRST_TERM, LAST_TERM = -46.0, -36.0
TWO_TERMS = -20.0  # below it, the third term is less than an ulp


@scalar_rule(ufunc="scipy.special.betainc", points=[(2.3, 1.7, 0.4), (0.6, 3.2, 0.3), (3.1, 0.8, 0.7)])
def betainc(a, b, x):
    """Regularised incomplete beta function; `inc_beta` in Stan.

        z = I_x(a, b) = int_0^x g(a, b, t) dt,     dz/da = betainc_derivative(1, 0, a, b, x),
        dz/db = betainc_derivative(0, 1, a, b, x),     dz/dx = g(a, b, x),
        where g(a, b, x) = x^(a-1) (1 - x)^(b-1) / B(a, b)

    Domain:  a, b > 0, 0 <= x <= 1; elsewhere the partials are nan, and those by a and b where a + b > 1e12.
    Ref:     DLMF 8.17.2.

    >>> round(betainc(2.0, 3.0, 0.4), 12)
    0.5248
    """
    return float(special().betainc(a, b, x))


@betainc.partials
def betainc_partials(z, a, b, x):
    return (
        betainc_derivative(1.0, 0.0, a, b, x),
        betainc_derivative(0.0, 1.0, a, b, x),
        beta_density(0.0, 0.0, a, b, x),
    )


@scalar_rule(ufunc="scipy.special.betaincc", points=[(2.3, 1.7, 0.4), (0.6, 3.2, 0.3), (3.1, 0.8, 0.7)])
def betaincc(a, b, x):
    """Complement of the regularised incomplete beta function.

        z = 1 - I_x(a, b),     dz/da = -betainc_derivative(1, 0, a, b, x),
        dz/db = -betainc_derivative(0, 1, a, b, x),     dz/dx = -x^(a-1) (1 - x)^(b-1) / B(a, b)

    Domain:  a, b > 0, 0 <= x <= 1; elsewhere the partials are nan, and those by a and b where a + b > 1e12.
    Ref:     DLMF 8.17.2.

    >>> round(betaincc(2.0, 3.0, 0.4), 12)
    0.4752
    """
    return float(special().betaincc(a, b, x))


@betaincc.partials
def betaincc_partials(z, a, b, x):
    return (
        -betainc_derivative(1.0, 0.0, a, b, x),
        -betainc_derivative(0.0, 1.0, a, b, x),
        -beta_density(0.0, 0.0, a, b, x),
    )


# ---- the inverses: SciPy has none at some tiny probabilities --------------------------------------------------
def _tiny_inverse(a, b, log_p, log_q):
    """The quantile by two terms of the series at 0 or at 1, if these suffice; otherwise nan."""
    size = betaln.function(a, b)
    at_zero = (log_p + math.log(a) + size) / a
    at_one = (log_q + math.log(b) + size) / b
    if at_zero + math.log1p(b) < TWO_TERMS:
        first = math.exp(at_zero)
        return first - first * first * ((1.0 - b) / (a + 1.0))
    if at_one + math.log1p(a) < TWO_TERMS:
        first = math.exp(at_one)
        return 1.0 - (first - first * first * ((1.0 - a) / (b + 1.0)))
    return math.nan


def _betaincinv_of_arrays(a, b, p):
    z = special().betaincinv(a, b, p)
    return mend(z, np.isnan(z) & (p > 0.0) & (p < 1.0), betaincinv.function, a, b, p)


def _betainccinv_of_arrays(a, b, q):
    z = special().betainccinv(a, b, q)
    return mend(z, np.isnan(z) & (q > 0.0) & (q < 1.0), betainccinv.function, a, b, q)


@scalar_rule(
    ufunc="scipy.special.betaincinv", array=_betaincinv_of_arrays,
    points=[(2.3, 1.7, 0.4), (0.6, 3.2, 0.3), (3.1, 1.8, 0.7)],
)  # fmt: skip
def betaincinv(a, b, p):
    """The inverse of betainc in x; `inv_inc_beta` in Stan.

        z = x where I_x(a, b) = p,     dz/da = -betainc_derivative(1, 0, a, b, z) / g(a, b, z),
        dz/db = -betainc_derivative(0, 1, a, b, z) / g(a, b, z),     dz/dp = 1 / g(a, b, z),
        where g(a, b, x) = x^(a-1) (1 - x)^(b-1) / B(a, b)

    Domain:  a, b > 0, 0 < p < 1. If 1 - z has few digits, so have the partials; if it has none, they have all.
    Ref:     DLMF 8.17.2.
    Accuracy: partials 1000 ulp + 4 ulp x condition number, from the error of SciPy's z

    >>> round(betaincinv(2.0, 3.0, 0.5248), 12)
    0.4
    """
    z = float(special().betaincinv(a, b, p))
    if z != z and a > 0.0 and b > 0.0 and 0.0 < p < 1.0:
        return _tiny_inverse(a, b, math.log(p), math.log1p(-p))
    return z


@betaincinv.partials
def betaincinv_partials(z, a, b, p):
    at_zero = (log(p) + log(a) + betaln(a, b)) / a  # log z, by the first term of a series
    at_one = (log1p(-p) + log(b) + betaln(a, b)) / b  # log(1 - z)
    near = at_zero + log1p(b) < FIRST_TERM
    far = at_one + log1p(a) < LAST_TERM
    x = select(near or far, 0.5, z)
    density = beta_density(0.0, 0.0, a, b, x)
    below = z / a
    above = exp(select(far, at_one, 0.0)) / b
    psi_a = polygamma_difference(0.0, a, b)
    psi_b = polygamma_difference(0.0, b, a)
    by_a = select(far, above * psi_a, -betainc_derivative(1.0, 0.0, a, b, x) / density)
    by_b = select(far, above * (at_one + psi_b - 1.0 / b), -betainc_derivative(0.0, 1.0, a, b, x) / density)
    return (
        select(near, below * (1.0 / a - psi_a - at_zero), by_a),
        select(near, -below * psi_b, by_b),
        select(near, below / p, select(far, above / (1.0 - p), 1.0 / density)),
    )


@scalar_rule(
    ufunc="scipy.special.betainccinv", array=_betainccinv_of_arrays,
    points=[(2.3, 1.7, 0.4), (0.6, 3.2, 0.3), (3.1, 1.8, 0.7)],
)  # fmt: skip
def betainccinv(a, b, q):
    """The inverse of betaincc in x.

        z = x where 1 - I_x(a, b) = q,     dz/da = -betainc_derivative(1, 0, a, b, z) / g(a, b, z),
        dz/db = -betainc_derivative(0, 1, a, b, z) / g(a, b, z),     dz/dq = -1 / g(a, b, z),
        where g(a, b, x) = x^(a-1) (1 - x)^(b-1) / B(a, b)

    Domain:  a, b > 0, 0 < q < 1. If 1 - z has few digits, so have the partials; if it has none, they have all.
    Ref:     DLMF 8.17.2.
    Accuracy: partials 1000 ulp + 4 ulp x condition number, from the error of SciPy's z

    >>> round(betainccinv(2.0, 3.0, 0.4752), 12)
    0.4
    """
    z = float(special().betainccinv(a, b, q))
    if z != z and a > 0.0 and b > 0.0 and 0.0 < q < 1.0:
        return _tiny_inverse(a, b, math.log1p(-q), math.log(q))
    return z


@betainccinv.partials
def betainccinv_partials(z, a, b, q):
    at_zero = (log1p(-q) + log(a) + betaln(a, b)) / a  # log z, by the first term of a series
    at_one = (log(q) + log(b) + betaln(a, b)) / b  # log(1 - z)
    near = at_zero + log1p(b) < FIRST_TERM
    far = at_one + log1p(a) < LAST_TERM
    x = select(near or far, 0.5, z)
    density = beta_density(0.0, 0.0, a, b, x)
    below = z / a
    above = exp(select(far, at_one, 0.0)) / b
    psi_a = polygamma_difference(0.0, a, b)
    psi_b = polygamma_difference(0.0, b, a)
    by_a = select(far, above * psi_a, -betainc_derivative(1.0, 0.0, a, b, x) / density)
    by_b = select(far, above * (at_one + psi_b - 1.0 / b), -betainc_derivative(0.0, 1.0, a, b, x) / density)
    return (
        select(near, below * (1.0 / a - psi_a - at_zero), by_a),
        select(near, -below * psi_b, by_b),
        -select(near, below / (1.0 - q), select(far, above / q, 1.0 / density)),
    )


@scalar_rule(points=[(1.0, 0.0, 2.3, 1.7, 0.4), (0.0, 1.0, 0.6, 3.2, 0.3), (1.0, 1.0, 3.1, 0.8, 0.7)])
def beta_density(n, m, a, b, x):
    """Derivatives in a and b of the density of the beta distribution.

        z = d^n/da^n d^m/db^m g with g = x^(a-1) (1 - x)^(b-1) / B(a, b),     dz/dn = 0,     dz/dm = 0,
        dz/da = beta_density(n + 1, m, a, b, x),     dz/db = beta_density(n, m + 1, a, b, x),
        dz/dx = ((a - 1) z + n beta_density(n - 1, m, ...)) / x - ((b - 1) z + m beta_density(n, m - 1, ...)) / (1 - x)

    Domain:  n, m = 0, 1, ..., rounded to integers, at most 20; a, b > 0, 0 < x < 1. Elsewhere nan. At
             x = 0 it is the limit: 0 for a > 1, and for n = m = 0 it is b at a = 1 and inf for a < 1; likewise at 1.
             Its partials there are limits as well, or nan. Accuracy: partials 200 ulp + 4 ulp x condition number
    Ref:     a complete Bell polynomial in the derivatives of log g, times g.

    >>> round(beta_density(0.0, 0.0, 2.0, 3.0, 0.5), 12)
    1.5
    """
    if not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0 and 0.0 < a < math.inf and 0.0 < b < math.inf and 0.0 <= x <= 1.0):
        return math.nan
    if not 0.0 < x < 1.0:
        near, other = (a, b) if x == 0.0 else (b, a)
        return 0.0 if near > 1.0 else math.nan if n + m >= 0.5 else other if near == 1.0 else math.inf
    z = _density(a, b, x)
    if z == 0.0 or n + m < 0.5:
        return z
    n, m = round(n), round(m)
    first, other = beta_density_slope(a, b, x, 1.0 - x), beta_density_slope(b, a, 1.0 - x, x)
    return z * beta_density_weight(n, m, a, b, first, other, shifted_beta_cumulants(n, m, a, b))


@beta_density.partials
def beta_density_partials(z, n, m, a, b, x):
    n_above = rint(n)
    m_above = rint(m)
    n_below = (n_above + absolute(n_above - 1.0) - 1.0) / 2.0  # n - 1, and 0 for 0, where its factor is 0
    m_below = (m_above + absolute(m_above - 1.0) - 1.0) / 2.0
    left = ((a - 1.0) * z + n_above * beta_density(n_below, m_above, a, b, x)) / select(x > 0.0, x, 1.0)
    right = ((b - 1.0) * z + m_above * beta_density(n_above, m_below, a, b, x)) / select(x < 1.0, 1.0 - x, 1.0)
    # at the ends by the density with a shape smaller by one, if there is one
    low = a > 1.0
    high = b > 1.0
    first = (a + b - 1.0) * beta_density(n_above, m_above, select(low, a - 1.0, a), b, select(x > 0.0, 0.0, x))
    last = (a + b - 1.0) * beta_density(n_above, m_above, a, select(high, b - 1.0, b), select(x < 1.0, 1.0, x))
    slope = select(x > 0.0 or not low, left, first) - select(x < 1.0 or not high, right, last)
    return 0.0, 0.0, beta_density(n_above + 1.0, m, a, b, x), beta_density(n, m_above + 1.0, a, b, x), slope


@scalar_rule(points=[(1.0, 0.0, 2.3, 1.7, 0.4), (0.0, 1.0, 0.6, 3.2, 0.3), (1.0, 1.0, 3.1, 0.8, 0.7)])
def betainc_derivative(n, m, a, b, x):
    """Derivatives in a and b of the regularised incomplete beta function.

        z = d^n/da^n d^m/db^m I_x(a, b),     dz/dn = 0,     dz/dm = 0,
        dz/da = betainc_derivative(n + 1, m, a, b, x),     dz/db = betainc_derivative(n, m + 1, a, b, x),
        dz/dx = beta_density(n, m, a, b, x)

    Domain:  n, m = 0, 1, ..., rounded to integers, at most 20; a, b > 0, a + b < 1e12, 0 <= x <= 1; elsewhere nan.
             z = 0 at x = 0 and 1, for n + m > 0.
    Ref:     DLMF 8.17.2, 8.17.20. The integrand of dI/da has one change of sign, at log t = psi(a) - psi(a + b), so the
             integral on the side of x without a change does not cancel; so has that of dI/db. A quadrature in log(t /
             (1 - t)), after recurrence to a shape above 5. Accuracy: partials 1000 ulp + 4 ulp x condition number:
             those of higher orders are sums of terms that cancel

    >>> round(betainc_derivative(1.0, 0.0, 2.0, 1.0, 0.5), 12)
    -0.173286795140
    """
    if not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0 and 0.0 < a < math.inf and 0.0 < b < math.inf and 0.0 <= x <= 1.0):
        return math.nan
    if n + m < 0.5:
        return betainc.function(a, b, x)
    if a + b > 1e12:
        return math.nan
    y = 1.0 - x
    if x * y == 0.0:
        return 0.0
    n, m = round(n), round(m)
    if m == 0:
        lower = beta_density_slope(a, b, x, y) < 0.0
    elif n == 0:
        lower = beta_density_slope(b, a, y, x) > 0.0
    else:
        lower = x * b < y * a
    return _lower(n, m, a, b, x, y) if lower else -_lower(m, n, b, a, y, x)


@betainc_derivative.partials
def betainc_derivative_partials(z, n, m, a, b, x):
    above = rint(n)
    other = rint(m)
    return (
        0.0,
        0.0,
        betainc_derivative(above + 1.0, other, a, b, x),
        betainc_derivative(above, other + 1.0, a, b, x),
        beta_density(above, other, a, b, x),
    )


# ---- the density; y stands for 1 - x, and each of the two is accurate where it is small ------------------------------
def log_of_part(x, y):
    """log x, given y = 1 - x as well, by the smaller of the two."""
    return math.log1p(-y) if y < 0.5 else math.log(x)


def _density(a, b, x):
    if x < 0.5 and a > 1.0 and min(a, b) < 10.0 and beta.function(a, b) > 1e-290:
        return math.pow(x, a - 1.0) * math.exp((b - 1.0) * math.log1p(-x)) / beta.function(a, b)
    return _powers_over_beta(a, b, x, 1.0 - x) / x / (1.0 - x)


def _powers_over_beta(a, b, x, y):
    """x^a y^b / B(a, b), for large a and b by Stirling's series around the largest value."""
    if min(a, b) >= 10.0:
        w = x * b - y * a
        c = a + b
        exponent = a * log1pmx_of_ratio(w / a, x * (c / a)) + b * log1pmx_of_ratio(-w / b, y * (c / b))
        root = math.sqrt(a / c * b / (2.0 * math.pi))
        return root * math.exp(exponent + stirling_series(c) - stirling_series(a) - stirling_series(b))
    exponent = a * log_of_part(x, y) + b * log_of_part(y, x)
    below = beta.function(a, b)
    if below > 1e-290 and exponent > -600.0:
        return math.exp(exponent) / below
    return math.exp(exponent - betaln.function(a, b))


def beta_density_slope(a, b, x, y):
    """The derivative of the logarithm of the density in a."""
    return log_of_part(x, y) + polygamma_difference.function(0.0, a, b)


def beta_cumulants(n, m, a, b, c):
    """The derivatives of log(Gamma(c) / (Gamma(a) Gamma(b))), c = a + b: n in a and m in b, except first ones."""
    found = {}
    for i in range(n + 1):
        for j in range(m + 1):
            if i + j < 2:
                continue
            if j == 0:
                found[i, j] = polygamma_difference.function(i - 1.0, a, c - a)
            elif i == 0:
                found[i, j] = polygamma_difference.function(j - 1.0, b, c - b)
            else:
                found[i, j] = polygamma.function(i + j - 1.0, c)
    return found


def shifted_beta_cumulants(n, m, a, b):
    """The derivatives that `beta_density_weight` takes, which are the same at each x."""
    return beta_cumulants(n, m, a + shape_shift(a), b + shape_shift(b), a + b)


def beta_density_weight(n, m, a, b, first, other, cumulants):
    """The derivatives of the density over the density; without the derivatives of 1 / a and 1 / b, which cancel."""
    left, right = shape_shift(a), shape_shift(b)
    first += 0.0 if left == 0.0 else -1.0 / a
    other += 0.0 if right == 0.0 else -1.0 / b
    total = 0.0
    for i in range(n - round(left) if n else 0, n + 1):
        for j in range(m - round(right) if m else 0, m + 1):
            factor = (1.0 if i == n else n / a) * (1.0 if j == m else m / b)
            total += factor * bell_polynomial(i, j, first, other, cumulants)
    return total


def bell_polynomial(n, m, first, other, cumulants):
    """The complete Bell polynomial of a function's derivatives: the first in either argument, and the cumulants."""
    if n + m < 2:
        return first if n else other if m else 1.0
    values = [1.0] * ((n + 1) * (m + 1))
    for i in range(n + 1):
        for j in range(m + 1):
            if i + j == 0:
                continue
            along = i > 0  # the last derivative is in a, otherwise in b
            p, q = (i - 1, j) if along else (i, j - 1)
            total, left = 0.0, 1.0
            for k in range(p + 1):
                right = left
                for h in range(q + 1):
                    if k + h == 0:
                        cumulant = first if along else other
                    else:
                        cumulant = cumulants[(k + 1, h) if along else (k, h + 1)]
                    total += right * cumulant * values[(p - k) * (m + 1) + q - h]
                    right *= (q - h) / (h + 1.0)
                left *= (p - k) / (k + 1.0)
            values[i * (m + 1) + j] = total
    return values[n * (m + 1) + m]


# ---- the integral ----------------------------------------------------------------------------------------------------
def _lower(n, m, a, b, x, y):
    """The derivatives of I_x(a, b) = x^a y^b / (a B(a, b)) + I_x(a + 1, b) as that sum, up to a shape above 5."""
    total = 0.0
    while a < 5.0:
        scale = _powers_over_beta(a, b, x, y) / a
        if scale > 0.0:
            first = log_of_part(x, y) + polygamma_difference.function(0.0, a + 1.0, b - 1.0)
            other = beta_density_slope(b, a, y, x)
            right = shape_shift(b)
            if right:
                other -= 1.0 / b
            cumulants = beta_cumulants(n, m, a + 1.0, b + right, a + b)
            for j in range(m - round(right) if m else 0, m + 1):
                factor = 1.0 if j == m else m / b
                total += scale * factor * bell_polynomial(n, j, first, other, cumulants)
        a += 1.0
    return total + _integral(n, m, a, b, x, y)


def _integral(n, m, a, b, x, y):
    scale = _powers_over_beta(a, b, x, y)
    return scale * relative_beta_integral(n, m, a, b, x, y) if scale else 0.0


def relative_beta_integral(n, m, a, b, x, y):
    """Derivatives of I_x(a, b) over x^a y^b / B(a, b).

    The integral over t / (1 - t) = x / y e^-v, up to the point where the integrand is negligible, found by Newton's
    method.
    """
    c = a + b
    length = (NEGLIGIBLE - c * log_of_part(y, x)) / a
    for _ in range(200):
        rest = y + x * math.exp(-length)
        slope = a - c * x * math.exp(-length) / rest
        if not slope > 0.0:
            break
        step = (a * length + c * math.log(rest) - NEGLIGIBLE) / slope
        length -= step
        if step < 0.01 * length:
            break
    first, other = beta_density_slope(a, b, x, y), beta_density_slope(b, a, y, x)
    cumulants = shifted_beta_cumulants(n, m, a, b)
    panels = math.ceil(length / 4.0)
    half = 0.5 * length / panels
    total = 0.0
    for k in range(int(panels)):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                v = half * (2.0 * k + 1.0 + s)
                change = x * math.expm1(-v)
                q = math.log1p(change) if change > -0.5 else math.log(y + x * math.exp(-v))
                growth = y * math.expm1(v) if v < 709.0 else 1.0
                p = -math.log1p(growth) if growth < 1.0 else -v - q
                found = beta_density_weight(n, m, a, b, first + p, other - q, cumulants)
                total += weight * math.exp(a * p - b * q) * found
    return half * total
