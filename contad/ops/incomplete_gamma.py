"""The incomplete gamma functions and their inverses, with derivatives of every order in both arguments."""

import math

from contad.ops._scipy import special
from contad.ops.arithmetic import absolute
from contad.ops.beta_functions import log1pmx_of_ratio, shape_shift, stirling_series
from contad.ops.exponential import log, log1p
from contad.ops.gamma_functions import digamma, gammaln, polygamma
from contad.ops.logic import select
from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule

NEGLIGIBLE = 44.0  # e^-44 is negligible compared with 1
FIRST_TERM = 1e-20  # below it, P(a, x) is x^a / Gamma(a + 1), and partials over x would overflow


@scalar_rule(ufunc="scipy.special.gammainc", points=[(2.3, 1.7), (0.6, 1.2), (3.1, 4.8)])
def gammainc(a, x):
    """Regularised lower incomplete gamma function; `gamma_p` in Stan.

        z = P(a, x) = int_0^x g(a, t) dt,     dz/da = gammainc_derivative(1, a, x),     dz/dx = g(a, x),
        where g(a, x) = x^(a-1) e^-x / Gamma(a)

    Domain:  a > 0, x >= 0; nan elsewhere.
    Ref:     DLMF 8.2.4.

    >>> round(gammainc(2.0, 1.0), 12)
    0.264241117657
    """
    return float(special().gammainc(a, x))


@gammainc.partials
def gammainc_partials(z, a, x):
    return gammainc_derivative(1.0, a, x), gamma_density(0.0, a, x)


@scalar_rule(ufunc="scipy.special.gammaincc", points=[(2.3, 1.7), (0.6, 1.2), (3.1, 4.8)])
def gammaincc(a, x):
    """Regularised upper incomplete gamma function; `gamma_q` in Stan.

        z = Q(a, x) = 1 - P(a, x),     dz/da = -gammainc_derivative(1, a, x),     dz/dx = -g(a, x),
        where g(a, x) = x^(a-1) e^-x / Gamma(a)

    Domain:  a > 0, x >= 0; nan elsewhere.
    Ref:     DLMF 8.2.4.

    >>> round(gammaincc(2.0, 1.0), 12)
    0.735758882343
    """
    return float(special().gammaincc(a, x))


@gammaincc.partials
def gammaincc_partials(z, a, x):
    return -gammainc_derivative(1.0, a, x), -gamma_density(0.0, a, x)


@scalar_rule(ufunc="scipy.special.gammaincinv", points=[(2.3, 0.4), (0.6, 0.7), (3.1, 0.9)])
def gammaincinv(a, p):
    """The inverse of gammainc in x.

        z = x where P(a, x) = p,     dz/da = -gammainc_derivative(1, a, z) / g(a, z),     dz/dp = 1 / g(a, z),
        where g(a, x) = x^(a-1) e^-x / Gamma(a)

    Domain:  a > 0, 0 < p < 1; z = 0 at p = 0 and inf at 1.
    Ref:     DLMF 8.2.4.
    Accuracy: partials 1000 ulp + 4 ulp x condition number, from the error of SciPy's z

    >>> round(gammaincinv(2.0, 0.264241117657), 10)
    1.0
    """
    return float(special().gammaincinv(a, p))


@gammaincinv.partials
def gammaincinv_partials(z, a, p):
    near = z < FIRST_TERM
    density = gamma_density(0.0, a, select(near, 1.0, z))
    by_a = -gammainc_derivative(1.0, a, select(near, 1.0, z)) / density
    logarithm = (log(select(near, p, 1.0)) + gammaln(a + 1.0)) / a  # of z, there
    return select(near, z * (digamma(a + 1.0) - logarithm) / a, by_a), select(near, z / p / a, 1.0 / density)


@scalar_rule(ufunc="scipy.special.gammainccinv", points=[(2.3, 0.4), (0.6, 0.7), (3.1, 0.9)])
def gammainccinv(a, q):
    """The inverse of gammaincc in x.

        z = x where Q(a, x) = q,     dz/da = -gammainc_derivative(1, a, z) / g(a, z),     dz/dq = -1 / g(a, z),
        where g(a, x) = x^(a-1) e^-x / Gamma(a)

    Domain:  a > 0, 0 < q < 1; z = inf at q = 0 and 0 at 1.
    Ref:     DLMF 8.2.4.
    Accuracy: partials 1000 ulp + 4 ulp x condition number, from the error of SciPy's z

    >>> round(gammainccinv(2.0, 0.735758882343), 10)
    1.0
    """
    return float(special().gammainccinv(a, q))


@gammainccinv.partials
def gammainccinv_partials(z, a, q):
    near = z < FIRST_TERM
    density = gamma_density(0.0, a, select(near, 1.0, z))
    by_a = -gammainc_derivative(1.0, a, select(near, 1.0, z)) / density
    logarithm = (log1p(-select(near, q, 0.0)) + gammaln(a + 1.0)) / a  # of z, there
    below = z / (1.0 - q) / a
    return select(near, z * (digamma(a + 1.0) - logarithm) / a, by_a), -select(near, below, 1.0 / density)


@scalar_rule(points=[(1.0, 2.3, 1.7), (2.0, 0.6, 1.2), (1.0, 3.1, 4.8)])
def gamma_density(n, a, x):
    """The n-th derivative in a of the density of the gamma distribution.

        z = d^n/da^n g(a, x) with g(a, x) = x^(a-1) e^-x / Gamma(a),     dz/dn = 0,
        dz/da = gamma_density(n + 1, a, x),     dz/dx = ((a - 1 - x) z + n gamma_density(n - 1, a, x)) / x,
        which is gamma_density(n, a - 1, x) - z

    Domain:  n = 0, 1, ..., rounded to an integer, at most 20; a > 0, x > 0. Elsewhere nan, and 0 at x = inf. At x = 0
             it is the limit: 0 for a > 1, and for n = 0 it is 1 at a = 1 and inf for a < 1.
             Its partials there are limits as well, or nan.
    Ref:     DLMF 5.2.2; a complete Bell polynomial in the derivatives of log g, times g.

    >>> round(gamma_density(0.0, 2.0, 1.0), 12)
    0.367879441171
    """
    if not -0.5 <= n <= 20.0 or not 0.0 < a < math.inf or not x >= 0.0:
        return math.nan
    if x == 0.0:
        return 0.0 if a > 1.0 else math.nan if n >= 0.5 else 1.0 if a == 1.0 else math.inf
    if math.isinf(x):
        return 0.0
    z = _density(a, x)
    if z == 0.0 or n < 0.5:
        return z
    shift = shape_shift(a)
    return z * gamma_density_weight(round(n), a, log_less_digamma(a + shift, x), gamma_cumulants(round(n), a + shift))


@gamma_density.partials
def gamma_density_partials(z, n, a, x):
    order = rint(n)
    lower = (order + absolute(order - 1.0) - 1.0) / 2.0  # n - 1, and 0 for 0, where its factor is 0
    inside = x > 0.0 and x < math.inf
    u = select(inside, x, 1.0)
    slope = ((a - 1.0 - u) * z + order * gamma_density(lower, a, u)) / u
    far = a > 1.0
    less = gamma_density(order, select(far, a - 1.0, 1.0), select(inside, 0.0, x))
    at_end = select(far, less, 0.0) - z  # at x = 0 also for a = 1
    return 0.0, gamma_density(order + 1.0, a, x), select(inside, slope, at_end)


@scalar_rule(points=[(1.0, 2.3, 1.7), (2.0, 0.6, 1.2), (1.0, 6.1, 9.8)])
def gammainc_derivative(n, a, x):
    """The n-th derivative in a of the regularised lower incomplete gamma function.

        z = d^n/da^n P(a, x),     dz/dn = 0,     dz/da = gammainc_derivative(n + 1, a, x),
        dz/dx = gamma_density(n, a, x)

    Domain:  n = 0, 1, ..., rounded to an integer, at most 20; a > 0, x >= 0. z = 0 at x = 0 and inf, for n > 0.
    Ref:     DLMF 8.2.4, 8.7.1. The integrand of dP/da has one change of sign, at log t = psi(a), so the integral on the
             side of x without a change does not cancel: as a series for x < a + 1/2 and a < 5, as a quadrature
             elsewhere. Accuracy: partials 1000 ulp + 4 ulp x condition number: those of higher orders are sums of terms
             that cancel

    >>> round(gammainc_derivative(1.0, 2.0, 1.0), 12)
    -0.276196045703
    """
    if not -0.5 <= n <= 20.0 or not 0.0 < a < math.inf or not x >= 0.0:
        return math.nan
    if n < 0.5:
        return gammainc.function(a, x)
    if x == 0.0 or math.isinf(x):
        return 0.0
    n = round(n)
    if x <= a + 0.5:
        return _lower_series(n, a, x) if a < 5.0 else _lower_integral(n, a, x)
    return _upper_integral(n, a, x)


@gammainc_derivative.partials
def gammainc_derivative_partials(z, n, a, x):
    order = rint(n)
    return 0.0, gammainc_derivative(order + 1.0, a, x), gamma_density(order, a, x)


# ---- the density -----------------------------------------------------------------------------------------------------
def _density(a, x):
    """x^(a-1) e^-x / Gamma(a)."""
    if a >= 10.0 and x > 0.1:
        return _power_over_gamma(a, x) / x
    if a > 160.0:
        return 0.0  # at an x below 0.1
    if x > 600.0:
        return math.exp((a - 1.0) * math.log(x) - x) / math.gamma(a) if a > 0.01 else _power_over_gamma(a, x) / x
    if a > 1.0:
        return math.pow(x, a - 1.0) * math.exp(-x) / math.gamma(a)
    return a * (math.pow(x, a) / x) * math.exp(-x) / math.gamma(a + 1.0)


def _power_over_gamma(a, x):
    """x^a e^-x / Gamma(a), for a >= 10 by Stirling's series around the largest value."""
    if a >= 10.0:
        exponent = a * log1pmx_of_ratio((x - a) / a, x / a)
        return math.sqrt(a / (2.0 * math.pi)) * math.exp(exponent - stirling_series(a))
    if x > 600.0:
        return a * math.exp(a * math.log(x) - x) / math.gamma(a + 1.0)
    return a * math.pow(x, a) * math.exp(-x) / math.gamma(a + 1.0)


def log_less_digamma(a, x):
    """log x - psi(a)."""
    if a < 10.0:
        return math.log(x) - digamma.function(a)
    u = (x - a) / a
    v = 1.0 / (a * a)
    lost = 0.5 / a + v * (1.0 / 12.0 - v * (1.0 / 120.0 - v * (1.0 / 252.0 - v * (1.0 / 240.0 - v / 132.0))))
    return (math.log1p(u) if abs(u) < 0.5 else math.log(x) - math.log(a)) + lost


def gamma_cumulants(n, a):
    """The derivatives of -log Gamma(a) from the second to the n-th, indexed by order."""
    cumulants = [0.0] * (n + 1)
    for k in range(2, n + 1):
        cumulants[k] = -polygamma.function(k - 1.0, a)
    return cumulants


def _bell(n, first, cumulants):
    """The complete Bell polynomial: the n-th derivative of exp(f), over exp(f), from the derivatives of f."""
    if n < 2:
        return first if n else 1.0
    values = [1.0] * (n + 1)
    for m in range(n):
        total, binomial = values[m] * first, 1.0
        for k in range(1, m + 1):
            binomial *= (m - k + 1.0) / k
            total += binomial * values[m - k] * cumulants[k + 1]
        values[m + 1] = total
    return values[n]


def gamma_density_weight(n, a, first, cumulants):
    """The n-th derivative of the density over the density, from derivatives at a + shape_shift(a)."""
    if a >= 2.0:
        return _bell(n, first, cumulants)
    return _bell(n, first, cumulants) + n * _bell(n - 1, first, cumulants) / a


# ---- the integral ----------------------------------------------------------------------------------------------------
def _lower_series(n, a, x):
    """The derivatives of P(a, x) as the sum of the densities of a + 1, a + 2, ... at x."""
    total, size, b = 0.0, 0.0, a + 1.0
    while True:
        term = _density(b, x)
        if term == 0.0:
            return total
        c = b + shape_shift(b)
        term *= gamma_density_weight(n, b, log_less_digamma(c, x), gamma_cumulants(n, c))
        total += term
        size += abs(term)
        if b > x + 1.0 and abs(term) < 1e-18 * size:
            return total
        b += 1.0


def _lower_integral(n, a, x):
    scale = _power_over_gamma(a, x)
    return scale * relative_lower_integral(n, a, x) if scale else 0.0


def _upper_integral(n, a, x):
    scale = _power_over_gamma(a, x)
    return -scale * relative_upper_integral(n, a, x) if scale else 0.0


def relative_lower_integral(n, a, x):
    """The n-th derivative of P(a, x) over x^a e^-x / Gamma(a).

    The integral over t = x e^-v up to the point where the integrand is negligible, found by Newton's method.
    """
    d = a - x
    root = math.hypot(d, math.sqrt(4.0 * NEGLIGIBLE / 3.0 * x))
    length = 2.0 * NEGLIGIBLE / (d + root) if d > 0.0 else 1.5 * (root - d) / x
    if length > 1.0:
        length = (NEGLIGIBLE + x) / a
    for _ in range(60):
        step = (d * length + x * _excess(-length) - NEGLIGIBLE) / (d - x * math.expm1(-length))
        length -= step
        if abs(step) < 0.01 * length:
            break
    shift = shape_shift(a)
    first, cumulants, total = log_less_digamma(a + shift, x), gamma_cumulants(n, a + shift), 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        for s in (-node, node):
            v = 0.5 * length * (1.0 + s)
            total += weight * math.exp(-d * v - x * _excess(-v)) * gamma_density_weight(n, a, first - v, cumulants)
    return 0.5 * length * total


def relative_upper_integral(n, a, x):
    """The n-th derivative of Q(a, x) over x^a e^-x / Gamma(a): the integral over t = x e^v."""
    d = x - a
    length = 2.0 * NEGLIGIBLE / (d + math.hypot(d, math.sqrt(2.0 * NEGLIGIBLE * x)))
    for _ in range(60):
        step = (d * length + x * _excess(length) - NEGLIGIBLE) / (d + x * math.expm1(length))
        length -= step
        if abs(step) < 0.01 * length:
            break
    shift = shape_shift(a)
    first, cumulants, total = log_less_digamma(a + shift, x), gamma_cumulants(n, a + shift), 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        for s in (-node, node):
            v = 0.5 * length * (1.0 + s)
            total += weight * math.exp(-d * v - x * _excess(v)) * gamma_density_weight(n, a, first + v, cumulants)
    return 0.5 * length * total


def _excess(v):
    """e^v - 1 - v."""
    if abs(v) > 0.5:
        return math.expm1(v) - v
    total = 1.0
    for k in range(16, 2, -1):
        total = 1.0 + total * v / k
    return 0.5 * v * v * total
