"""Hypergeometric functions 0F1, 1F1 and 2F1, with derivatives of every order in their parameters.

The series are evaluated with parameters that carry small changes, as polynomials in these changes. Where the series at
0 loses digits, Taylor series of the differential equation, also with such polynomials, continue it along the line to x:
x (1 - x) w'' + (c - (a + b + 1) x) w' = a b w for 2F1, x w'' + (c - x) w' = a w for 1F1, x w'' + c w' = w for 0F1.
"""

import math

from contad.ops._scipy import special
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import mend

BESSEL_OVERFLOWS = 1.27e5
MOST_TERMS = 600
MOST_TERMS = 2000
LOST = 1e-8  # a sum below this fraction of the largest term has lost eight digits


def _hyp0f1_of_arrays(v, x):
    return mend(special().hyp0f1(v, x), (v == 1.0) & (x > BESSEL_OVERFLOWS), hyp0f1.function, v, x)


@scalar_rule(
    ufunc="scipy.special.hyp0f1", array=_hyp0f1_of_arrays, points=[(1.7, 0.9), (0.6, -1.3), (2.3, 4.1)]
)
def hyp0f1(v, x):
    """Confluent hypergeometric limit function.

        z = 0F1(; v; x) = sum_k x^k / ((v)_k k!),     dz/dv = hyp0f1_derivative(1, 0, v, x),
        dz/dx = hyp0f1_derivative(0, 1, v, x)

    Domain:  partials: -100 <= v <= 100, v not 0, -1, ..., and -3e4 <= x <= 1e5; elsewhere nan, and for v <= -1 where
             the series at 0 loses eight digits.
    Accuracy: partials 40 ulp + 4 ulp x condition number
    Ref:     DLMF 16.2.1.

    >>> round(hyp0f1(0.5, 0.25), 12)
    1.543080634815
    """
    if v == 1.0 and BESSEL_OVERFLOWS < x < math.inf:  # SciPy's divides by v - 1 where a Bessel function overflows
        return float(special().i0(2.0 * math.sqrt(x)))
    return float(special().hyp0f1(v, x))


@hyp0f1.partials
def hyp0f1_partials(z, v, x):
    return hyp0f1_derivative(1.0, 0.0, v, x), hyp0f1_derivative(0.0, 1.0, v, x)


@scalar_rule(ufunc="scipy.special.hyp1f1", points=[(1.3, 2.1, 0.9), (-0.6, 1.7, 2.3), (2.3, 0.8, -1.7)])
def hyp1f1(a, b, x):
    """Kummer's confluent hypergeometric function.

        z = 1F1(a; b; x) = sum_k (a)_k x^k / ((b)_k k!),     dz/da = hyp1f1_derivative(1, 0, 0, a, b, x),
        dz/db = hyp1f1_derivative(0, 1, 0, a, b, x),     dz/dx = hyp1f1_derivative(0, 0, 1, a, b, x)

    Domain:  |a| <= 1000, -100 <= b <= 1000, and nan elsewhere, where SciPy's function may end the process.
             Partials: |a| <= 100, -100 <= b <= 100, b not 0, -1, ..., and |x| <= 700; elsewhere nan, and for b <= -1
             where the series at 0 loses eight digits.
    Accuracy: partials 40 ulp + 4 ulp x condition number
    Ref:     DLMF 13.2.2.

    >>> round(hyp1f1(1.0, 2.0, 1.0), 12)
    1.718281828459
    """
    safe = abs(a) <= 1e3 and -100.0 <= b <= 1e3  # SciPy's ends the process at some places outside
    return float(special().hyp1f1(a, b, x)) if safe else math.nan


@hyp1f1.partials
def hyp1f1_partials(z, a, b, x):
    return (
        hyp1f1_derivative(1.0, 0.0, 0.0, a, b, x),
        hyp1f1_derivative(0.0, 1.0, 0.0, a, b, x),
        hyp1f1_derivative(0.0, 0.0, 1.0, a, b, x),
    )


@scalar_rule(
    ufunc="scipy.special.hyp2f1",
    points=[(1.3, 0.7, 2.1, 0.4), (0.6, 1.8, 1.2, -1.3), (-0.4, 2.3, 1.9, 0.8)],
)
def hyp2f1(a, b, c, x):
    """Gauss's hypergeometric function; `hypergeometric_2F1` in Stan.

        z = 2F1(a, b; c; x) = sum_k (a)_k (b)_k x^k / ((c)_k k!),     dz/da = hyp2f1_derivative(1, 0, 0, 0, a, b, c, x),
        dz/db = hyp2f1_derivative(0, 1, 0, 0, ...), dz/dc = hyp2f1_derivative(0, 0, 1, 0, ...),
        dz/dx = hyp2f1_derivative(0, 0, 0, 1, ...)

    Domain:  |a|, |b| <= 1000, -100 <= c <= 1000, and nan elsewhere, where SciPy's function may end the process.
             Partials: |a|, |b| <= 100, -1 < c <= 100, c not 0, -1e8 <= x <= 1 - 1e-8; elsewhere nan.
    Accuracy: partials 40 ulp + 4 ulp x condition number
    Ref:     DLMF 15.2.1, 15.10.1.

    >>> round(hyp2f1(1.0, 1.0, 2.0, 0.5), 12)
    1.38629436112
    """
    safe = abs(a) <= 1e3 and abs(b) <= 1e3 and -100.0 <= c <= 1e3  # SciPy's ends the process at some places outside
    return float(special().hyp2f1(a, b, c, x)) if safe else math.nan


@hyp2f1.partials
def hyp2f1_partials(z, a, b, c, x):
    return (
        hyp2f1_derivative(1.0, 0.0, 0.0, 0.0, a, b, c, x),
        hyp2f1_derivative(0.0, 1.0, 0.0, 0.0, a, b, c, x),
        hyp2f1_derivative(0.0, 0.0, 1.0, 0.0, a, b, c, x),
        hyp2f1_derivative(0.0, 0.0, 0.0, 1.0, a, b, c, x),
    )


@scalar_rule(points=[(1.0, 0.0, 1.7, 0.9), (0.0, 1.0, 0.6, -1.3), (1.0, 2.0, 2.3, 4.1)])
def hyp0f1_derivative(n, d, v, x):
    """Derivatives of 0F1(; v; x), n in v and d in x.

        z = d^n/dv^n d^d/dx^d 0F1(; v; x),     dz/dn = 0,     dz/dd = 0,     dz/dv = hyp0f1_derivative(n + 1, d, v, x),
        dz/dx = hyp0f1_derivative(n, d + 1, v, x)

    Domain:  n, d = 0, 1, ..., rounded to integers, at most 8; v and x as of hyp0f1. Elsewhere nan.
    Accuracy: partials 40 ulp + 4 ulp x condition number

    >>> round(hyp0f1_derivative(0.0, 1.0, 0.5, 0.0), 12)
    2.0
    """
    if not (_is_order(n) and _is_order(d) and -100.0 <= v <= 100.0 and -3e4 <= x <= 1e5) or _is_pole(v):
        return math.nan
    return _derivative(0, 0, 0, round(n), round(d), 0.0, 0.0, v, x)


@hyp0f1_derivative.partials
def hyp0f1_derivative_partials(z, n, d, v, x):
    return 0.0, 0.0, hyp0f1_derivative(rint(n) + 1.0, d, v, x), hyp0f1_derivative(n, rint(d) + 1.0, v, x)


@scalar_rule(points=[(1.0, 0.0, 0.0, 1.3, 2.1, 0.9), (0.0, 1.0, 0.0, -0.6, 1.7, 2.3), (1.0, 0.0, 1.0, 2.3, 0.8, -1.7)])
def hyp1f1_derivative(n, m, d, a, b, x):
    """Derivatives of 1F1(a; b; x), n in a, m in b and d in x.

        z = d^n/da^n d^m/db^m d^d/dx^d 1F1(a; b; x),     dz/dn = 0,     dz/dm = 0,     dz/dd = 0,
        dz/da = hyp1f1_derivative(n + 1, m, d, ...), dz/db = hyp1f1_derivative(n, m + 1, d, ...),
        dz/dx = hyp1f1_derivative(n, m, d + 1, ...)

    Domain:  n, m, d = 0, 1, ..., rounded to integers, at most 8; a, b and x as of hyp1f1. Elsewhere nan.
    Accuracy: partials 40 ulp + 4 ulp x condition number

    >>> round(hyp1f1_derivative(0.0, 0.0, 1.0, 1.0, 2.0, 0.0), 12)
    0.5
    """
    near = abs(a) <= 100.0 and -100.0 <= b <= 100.0 and abs(x) <= 700.0
    if not (near and _is_order(n) and _is_order(m) and _is_order(d)) or _is_pole(b):
        return math.nan
    return _derivative(1, round(n), 0, round(m), round(d), a, 0.0, b, x)


@hyp1f1_derivative.partials
def hyp1f1_derivative_partials(z, n, m, d, a, b, x):
    return (
        0.0,
        0.0,
        0.0,
        hyp1f1_derivative(rint(n) + 1.0, m, d, a, b, x),
        hyp1f1_derivative(n, rint(m) + 1.0, d, a, b, x),
        hyp1f1_derivative(n, m, rint(d) + 1.0, a, b, x),
    )


@scalar_rule(
    points=[
        (1.0, 0.0, 0.0, 0.0, 1.3, 0.7, 2.1, 0.4),
        (0.0, 1.0, 0.0, 1.0, 0.6, 1.8, 1.2, -1.3),
        (0.0, 0.0, 1.0, 0.0, -0.4, 2.3, 1.9, 0.8),
    ]
)
def hyp2f1_derivative(n, m, k, d, a, b, c, x):
    """Derivatives of 2F1(a, b; c; x), n in a, m in b, k in c and d in x.

        z = d^n/da^n d^m/db^m d^k/dc^k d^d/dx^d 2F1(a, b; c; x),     dz/dn = 0,     dz/dm = 0,     dz/dk = 0,
        dz/dd = 0,
        dz/da = hyp2f1_derivative(n + 1, m, k, d, ...), dz/db = hyp2f1_derivative(n, m + 1, k, d, ...),
        dz/dc = hyp2f1_derivative(n, m, k + 1, d, ...), dz/dx = hyp2f1_derivative(n, m, k, d + 1, ...)

    Domain:  n, m, k, d = 0, 1, ..., rounded to integers, at most 8; a, b, c and x as of hyp2f1. Elsewhere nan.
    Accuracy: partials 40 ulp + 4 ulp x condition number

    >>> round(hyp2f1_derivative(0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 0.0), 12)
    0.5
    """
    near = abs(a) <= 100.0 and abs(b) <= 100.0 and -1.0 < c <= 100.0 and -1e8 <= x <= 1.0 - 1e-8
    if not (near and _is_order(n) and _is_order(m) and _is_order(k) and _is_order(d)) or c == 0.0:
        return math.nan
    return _derivative(2, round(n), round(m), round(k), round(d), a, b, c, x)


@hyp2f1_derivative.partials
def hyp2f1_derivative_partials(z, n, m, k, d, a, b, c, x):
    return (
        0.0,
        0.0,
        0.0,
        0.0,
        hyp2f1_derivative(rint(n) + 1.0, m, k, d, a, b, c, x),
        hyp2f1_derivative(n, rint(m) + 1.0, k, d, a, b, c, x),
        hyp2f1_derivative(n, m, rint(k) + 1.0, d, a, b, c, x),
        hyp2f1_derivative(n, m, k, rint(d) + 1.0, a, b, c, x),
    )


# ---- series of polynomials in the changes of a, b and c --------------------------------------------------------------
def _is_order(n):
    return -0.5 <= n <= 8.0


def _is_pole(c):
    return c <= 0.0 and c == math.floor(c)


def _derivative(kind, n, m, k, d, a, b, c, x):
    """The derivative of 0F1, 1F1 or 2F1, by `kind`: of order n in a, m in b, k in c and d in x.

    A polynomial in the changes e, f and g of a, b and c is a list: the coefficient of e^i f^j g^l is at
    (i (m + 1) + j) (k + 1) + l.
    """
    size = (n + 1) * (m + 1) * (k + 1)
    factor = 1.0
    for order in (n, m, k):
        for i in range(order):
            factor *= i + 1.0
    product = a * b if kind == 2 else a if kind == 1 else 1.0
    reach = 0.4 if kind == 2 else 1.0
    if abs(product) * reach > 1.5 * abs(c):
        reach = max(1.5 * abs(c) / abs(product), 1e-3 * reach)
    direct = kind < 2 and x > 0.0 and c > 0.0 and (kind == 0 or a > 0.0)  # all terms are positive
    direct = direct or c <= -1.0  # another solution, x^(1 - c), dominates this one along the line
    if direct or abs(x) <= reach:
        return factor * _sum_at_0(kind, n, m, k, d, a, b, c, x)[size - 1]
    at = math.copysign(reach, x)
    w, slope = _sum_at_0(kind, n, m, k, 0, a, b, c, at), _sum_at_0(kind, n, m, k, 1, a, b, c, at)
    for _ in range(MOST_TERMS):
        p = at * (1.0 - at) if kind == 2 else at
        q = c - (a + b + 1.0) * at if kind == 2 else c - at if kind == 1 else c
        step = 0.5 * min(abs(at), abs(1.0 - at)) if kind == 2 else 0.5 * abs(at)
        step = min(step, 2.0 / (abs(q / p) + math.sqrt(abs(product / p)) + 1e-300))
        last = abs(x - at) <= step
        step = x - at if last else math.copysign(step, x)
        if last:
            return factor * _continue(kind, n, m, k, d, a, b, c, at, step, w, slope)[size - 1]
        there = _continue(kind, n, m, k, 0, a, b, c, at, step, w, slope)
        slope = _continue(kind, n, m, k, 1, a, b, c, at, step, w, slope)
        w = there
        at += step
        if not abs(w[0]) + abs(slope[0]) < math.inf:
            break
    return math.nan


def _sum_at_0(kind, n, m, k, d, a, b, c, x):
    """The d-th derivative at x of the series at 0."""
    columns, stride = k + 1, (m + 1) * (k + 1)
    size = (n + 1) * stride
    term = [0.0] * size
    term[0] = 1.0
    total = [0.0] * size
    largest = 0.0
    small = 0
    for j in range(MOST_TERMS + d):
        if j >= d:
            still = True
            largest = max(largest, abs(term[size - 1]))
            for i in range(size):
                total[i] += term[i]
                if not abs(term[i]) <= 1e-18 * abs(total[i]):
                    still = False
            small = small + 1 if still else 0
            if (small >= 4 and j + c > 0.0) or not abs(total[0]) < math.inf:
                break
        if kind >= 1:
            for i in range(size - 1, -1, -1):
                term[i] = (a + j) * term[i] + (term[i - stride] if i >= stride else 0.0)
        if kind == 2:
            for i in range(size - 1, -1, -1):
                term[i] = (b + j) * term[i] + (term[i - columns] if i % stride >= columns else 0.0)
        for i in range(size):
            term[i] = (term[i] - (term[i - 1] if i % columns else 0.0)) / (c + j)
        factor = (x if j >= d else 1.0) / (1.0 if j < d else j + 1.0 - d)
        for i in range(size):
            term[i] *= factor
    if c <= -1.0 and not (small >= 4 and largest * LOST < abs(total[size - 1])):
        total[size - 1] = math.nan
    return total


def _continue(kind, n, m, k, d, a, b, c, at, step, w, slope):
    """The d-th derivative at `at` + `step` of the solution with value w and slope at `at`, by its Taylor series."""
    columns, stride = k + 1, (m + 1) * (k + 1)
    size = (n + 1) * stride
    p = at * (1.0 - at) if kind == 2 else at
    p_slope = 1.0 - 2.0 * at if kind == 2 else 1.0
    half = -1.0 if kind == 2 else 0.0  # of the second derivative of p
    q_slope = -(a + b + 1.0) if kind == 2 else -1.0 if kind == 1 else 0.0
    product = a * b if kind == 2 else a if kind == 1 else 1.0
    now, then = [0.0] * size, [0.0] * size
    total = [0.0] * size
    for i in range(size):
        now[i], then[i] = w[i], step * slope[i]  # coefficients times powers of the step do not overflow
    small = 0
    scale = 1.0  # j (j - 1) ... (j - d + 1) / step^d
    for j in range(MOST_TERMS):
        if j >= d:
            if j == d:
                scale = 1.0
                for i in range(d):
                    scale *= (i + 1.0) / step
            else:
                scale *= j / (j - d + 0.0)
            still = True
            for i in range(size):
                total[i] += scale * now[i]
                if not abs(scale * now[i]) <= 1e-18 * abs(total[i]):
                    still = False
            small = small + 1 if still else 0
            if small == 4 or not abs(total[0]) < math.inf:
                break
        first = (p_slope * j + c + q_slope * at) * (j + 1.0)
        second = step * (half * j * (j - 1.0) + q_slope * j - product)
        below = -step / (p * (j + 2.0) * (j + 1.0))
        following = [0.0] * size
        for i in range(size):
            value = first * then[i] + second * now[i]
            if i % columns:
                value += (j + 1.0) * then[i - 1]
            if kind == 1 and i >= stride:
                value -= step * now[i - stride]
            if kind == 2:
                if i >= stride:
                    value -= at * (j + 1.0) * then[i - stride] + step * (j + b) * now[i - stride]
                if i % stride >= columns:
                    value -= at * (j + 1.0) * then[i - columns] + step * (j + a) * now[i - columns]
                    if i >= stride:
                        value -= step * now[i - columns - stride]
            following[i] = below * value
        now, then = then, following
    return total
