"""Wright's generalised Bessel function, with derivatives of every order in all three arguments."""

import math

from contad.ops._scipy import special
from contad.ops.gamma_functions import polygamma
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule

MOST_TERMS = 3000


@scalar_rule(ufunc="scipy.special.wright_bessel", points=[(0.7, 1.3, 0.9), (1.4, 0.6, 2.3), (0.2, 2.1, 1.7)])
def wright_bessel(a, b, x):
    """Wright's generalised Bessel function.

        z = sum_k x^k / (k! Gamma(a k + b)),     dz/da = wright_bessel_derivative(1, 0, 0, a, b, x),
        dz/db = wright_bessel_derivative(0, 1, 0, a, b, x),     dz/dx = wright_bessel_derivative(0, 0, 1, a, b, x)

    Domain:  a, b, x >= 0, as in SciPy; partials if the largest term comes before the 1000th; elsewhere nan.
    Ref:     DLMF 10.46.1.

    >>> round(wright_bessel(0.0, 1.0, 1.0), 12)
    2.718281828459
    """
    return float(special().wright_bessel(a, b, x))


@wright_bessel.partials
def wright_bessel_partials(z, a, b, x):
    return (
        wright_bessel_derivative(1.0, 0.0, 0.0, a, b, x),
        wright_bessel_derivative(0.0, 1.0, 0.0, a, b, x),
        wright_bessel_derivative(0.0, 0.0, 1.0, a, b, x),
    )


@scalar_rule(points=[(1.0, 0.0, 0.0, 0.7, 1.3, 0.9), (0.0, 1.0, 0.0, 1.4, 0.6, 2.3), (1.0, 0.0, 1.0, 0.2, 2.1, 1.7)])
def wright_bessel_derivative(n, m, d, a, b, x):
    """Derivatives of Wright's generalised Bessel function, n in a, m in b and d in x.

        z = sum_k k^n R(a k + b) x^(k-d) / (k - d)!, where R is the derivative of order n + m of 1 / Gamma,
        dz/dn = 0,     dz/dm = 0,     dz/dd = 0,     dz/da = wright_bessel_derivative(n + 1, m, d, a, b, x),
        dz/db = wright_bessel_derivative(n, m + 1, d, ...), dz/dx = wright_bessel_derivative(n, m, d + 1, ...)

    Domain:  n, m, d = 0, 1, ..., rounded to integers, at most 8; a, b, x >= 0. Elsewhere nan.
    Ref:     DLMF 10.46.1.

    >>> round(wright_bessel_derivative(0.0, 0.0, 1.0, 0.0, 1.0, 1.0), 12)
    2.718281828459
    """
    if not (0.0 <= a < math.inf and 0.0 <= b < math.inf and 0.0 <= x < math.inf):
        return math.nan
    if not (-0.5 <= n <= 8.0 and -0.5 <= m <= 8.0 and -0.5 <= d <= 8.0):
        return math.nan
    if x > 0.0 and math.log(x) - (a * math.log(a) if a > 0.0 else 0.0) > 6.9 * (1.0 + a):
        return math.nan
    n, order, d = round(n), round(n) + round(m), round(d)
    total = size = last = 0.0
    for k in range(d, MOST_TERMS):
        logarithm = (k - d) * math.log(x) - math.lgamma(k - d + 1.0) if k > d and x > 0.0 else 0.0
        if k > d and x == 0.0:
            return total
        term = (1.0 if n == 0 else math.pow(float(k), n)) * _reciprocal_gamma(order, a * k + b, logarithm)
        total += term
        size = max(size, abs(term))
        if k > d + 4 and abs(term) <= 1e-18 * size and abs(term) <= 0.5 * last:
            return total
        last = abs(term)
    return math.nan


@wright_bessel_derivative.partials
def wright_bessel_derivative_partials(z, n, m, d, a, b, x):
    return (
        0.0,
        0.0,
        0.0,
        wright_bessel_derivative(rint(n) + 1.0, m, d, a, b, x),
        wright_bessel_derivative(n, rint(m) + 1.0, d, a, b, x),
        wright_bessel_derivative(n, m, rint(d) + 1.0, a, b, x),
    )


def _reciprocal_gamma(order, y, logarithm):
    """The derivative of 1 / Gamma at y >= 0, times exp(logarithm); below 2 as that of the product y (y + 1) / Gamma(y +
    2)."""
    at = y + 2.0 if y < 2.0 else y
    series = [0.0] * (order + 1)
    series[0] = 1.0
    for r in range(1, order + 1):
        value = 0.0
        factor = 1.0
        for i in range(1, r + 1):
            value -= polygamma.function(i - 1.0, at) * factor * series[r - i]
            factor /= i
        series[r] = value / r
    if y < 2.0:
        for base in (y, y + 1.0):
            for r in range(order, -1, -1):
                series[r] = base * series[r] + (series[r - 1] if r else 0.0)
    for i in range(order):
        series[order] *= i + 1.0
    logarithm -= math.lgamma(at)
    return series[order] * (math.exp(logarithm) if logarithm < 709.0 else math.inf)
