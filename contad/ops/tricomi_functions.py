"""Tricomi's confluent hypergeometric function U, with derivatives of every order in its parameters."""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.arithmetic import absolute
from contad.ops.gamma_functions import polygamma
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule

NODES = 240  # nodes of the trapezoidal rule on the interval where the integrand is not negligible
NEGLIGIBLE = 42.0


def _on_arrays(a, b, x):
    return np.vectorize(hyperu.function, otypes=[float])(a, b, x)


@scalar_rule(
    ufunc="scipy.special.hyperu", points=[(1.3, 2.1, 0.9), (0.4, 0.7, 2.3), (2.3, -0.8, 1.7)], array=_on_arrays
)
def hyperu(a, b, x):
    """Confluent hypergeometric function U of Tricomi.

        z = U(a, b, x) = 1 / Gamma(a) int_0^inf e^(-x t) t^(a - 1) (1 + t)^(b - a - 1) dt,
        dz/da = hyperu_derivative(1, 0, a, b, x),     dz/db = hyperu_derivative(0, 1, a, b, x),
        dz/dx = -a hyperu_derivative(0, 0, a + 1, b + 1, x)

    Domain:  contad's own value, and partials: 0 < a <= 100 and |b| <= 100, or -10 <= a <= 0 and -10 <= b <= 2; and 1e-3
             <= x <= 1e4. Elsewhere the value is SciPy's, and partials are nan. Accuracy: partials 10000 ulp + 4 ulp x
             condition number
    Ref:     DLMF 13.4.4.

    >>> round(hyperu(1.0, 2.0, 4.0), 12)
    0.25
    """
    z = hyperu_derivative.function(0.0, 0.0, a, b, x)  # SciPy's has lost all digits at some points
    return float(special().hyperu(a, b, x)) if z != z else z


@hyperu.partials
def hyperu_partials(z, a, b, x):
    return (
        hyperu_derivative(1.0, 0.0, a, b, x),
        hyperu_derivative(0.0, 1.0, a, b, x),
        -a * hyperu_derivative(0.0, 0.0, a + 1.0, b + 1.0, x),
    )


@scalar_rule(points=[(1.0, 0.0, 1.3, 2.1, 0.9), (0.0, 1.0, 0.4, 0.7, 2.3), (1.0, 1.0, 2.3, -0.8, 1.7)])
def hyperu_derivative(n, m, a, b, x):
    """Derivatives of U(a, b, x) in a and b.

        z = d^n/da^n d^m/db^m U(a, b, x),     dz/dn = 0,     dz/dm = 0,
        dz/da = hyperu_derivative(n + 1, m, a, b, x),     dz/db = hyperu_derivative(n, m + 1, a, b, x),
        dz/dx = -a hyperu_derivative(n, m, a + 1, b + 1, x) - n hyperu_derivative(n - 1, m, a + 1, b + 1, x)

    Domain:  n, m = 0, 1, ..., rounded to integers, at most 8; a, b and x as of hyperu. Elsewhere nan.
    Accuracy: partials 10000 ulp + 4 ulp x condition number
    Ref:     DLMF 13.4.4 for a >= 1, a trapezoidal rule in log t; 13.3.7 towards smaller a.

    >>> round(hyperu_derivative(0.0, 0.0, 1.0, 2.0, 4.0), 12)
    0.25
    """
    near = (0.0 < a <= 110.0 and abs(b) <= 110.0) or (-10.0 <= a <= 0.0 and -10.0 <= b <= 4.0)
    near = near and 1e-3 <= x <= 1e4
    if not (near and -0.5 <= n <= 8.0 and -0.5 <= m <= 8.0):
        return math.nan
    n, m = round(n), round(m)
    columns = m + 1
    size = (n + 1) * columns
    steps = math.ceil(1.0 - a) if a < 1.0 else 0.0
    here = _integrals(n, m, a + steps, b, x)
    if steps > 0.0:
        above = _integrals(n, m, a + steps + 1.0, b, x)
        at = a + steps
        while at > a + 0.5:
            # U(a - 1) = (2 a + x - b) U(a) - a (a - b + 1) U(a + 1), of polynomials in the changes e of a and f of b
            below = [0.0] * size
            c = at - b + 1.0
            for i in range(size):
                value = (2.0 * at + x - b) * here[i] - at * c * above[i]
                if i >= columns:
                    value += 2.0 * here[i - columns] - (at + c) * above[i - columns]
                if i >= 2 * columns:
                    value -= above[i - 2 * columns]
                if i % columns:
                    value += at * above[i - 1] - here[i - 1]
                    if i >= columns:
                        value += above[i - 1 - columns]
                below[i] = value
            above, here = here, below
            at -= 1.0
    factor = 1.0
    for order in (n, m):
        for i in range(order):
            factor *= i + 1.0
    return factor * here[size - 1]


@hyperu_derivative.partials
def hyperu_derivative_partials(z, n, m, a, b, x):
    above = rint(n)
    below = (above + absolute(above - 1.0) - 1.0) / 2.0  # n - 1, and 0 for 0, where its factor is 0
    left = a * hyperu_derivative(above, m, a + 1.0, b + 1.0, x)
    right = above * hyperu_derivative(below, m, a + 1.0, b + 1.0, x)
    return (
        0.0,
        0.0,
        hyperu_derivative(above + 1.0, m, a, b, x),
        hyperu_derivative(n, rint(m) + 1.0, a, b, x),
        -left - right,
    )


def _exponent(a, rest, x, v):
    """The logarithm of the integrand in v = log t."""
    return a * v - x * math.exp(v) + rest * (math.log1p(math.exp(v)) if v < 40.0 else v)


def _integrals(n, m, a, b, x):
    """The coefficients of U(a + e, b + f, x) at e^i f^j, in a list at i (m + 1) + j; a >= 1."""
    rest = b - a - 1.0
    # x t^2 + (x - a - rest) t - a = 0 at the largest integrand
    half = 0.5 * (x - a - rest)
    root = math.sqrt(half * half + x * a)
    mode = math.log(a / (half + root) if half > 0.0 else (root - half) / x)
    top = _exponent(a, rest, x, mode)
    left = right = 1e-3
    while _exponent(a, rest, x, mode - left) > top - NEGLIGIBLE:
        left *= 1.25
    while _exponent(a, rest, x, mode + right) > top - NEGLIGIBLE:
        right *= 1.25
    step = (left + right) / NODES
    psi = polygamma.function(0.0, a)
    columns = m + 1
    moments = [0.0] * ((n + 1) * columns)
    for k in range(NODES + 1):
        v = mode - left + k * step
        weight = math.exp(_exponent(a, rest, x, v) - top)
        share = math.log1p(math.exp(-v)) if v > -40.0 else -v
        first = -share - psi
        other = math.log1p(math.exp(v)) if v < 40.0 else v
        for i in range(n + 1):
            value = weight
            for j in range(m + 1):
                moments[i * columns + j] += value
                value *= other / (j + 1.0)
            weight *= first / (i + 1.0)
    # 1 / Gamma(a + e) is exp(-psi(a) e - psi'(a) e^2 / 2 - ...) / Gamma(a); its first term is in the moments
    cumulants = [0.0] * (n + 1)
    for r in range(2, n + 1):
        value = -polygamma.function(r - 1.0, a)
        for i in range(2, r):
            value /= i
        cumulants[r] = value  # times r, of the logarithm's coefficient
    series = [0.0] * (n + 1)
    series[0] = 1.0
    for r in range(1, n + 1):
        value = 0.0
        for i in range(1, r + 1):
            value += cumulants[i] * series[r - i]
        series[r] = value / r
    logarithm = top - math.lgamma(a)
    scale = step * math.exp(logarithm) if logarithm < 709.0 else math.inf
    found = [0.0] * ((n + 1) * columns)
    for i in range(n + 1):
        for r in range(i + 1):
            for j in range(columns):
                found[i * columns + j] += scale * series[r] * moments[(i - r) * columns + j]
    return found
