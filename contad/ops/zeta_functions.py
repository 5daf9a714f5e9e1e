"""Hurwitz's zeta function and its derivatives in both arguments."""

import math

from contad.ops.arithmetic import absolute
from contad.ops.gamma_functions import EULER_MACLAURIN
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule


@scalar_rule(points=[(2.3, 1.7), (3.6, 0.4)])
def zeta(s, q):
    """Hurwitz's zeta function; Riemann's at q = 1.

        z = sum_(k >= 0) (q + k)^-s,     dz/ds = -sum_k log(q + k) (q + k)^-s,     dz/dq = -s zeta(s + 1, q)

    Domain:  s > 1, q > 0; z = inf at s = 1 or q = 0, nan below these.
    Ref:     DLMF 25.11.1, 25.11.17, 25.11.18.

    >>> round(zeta(2.0, 1.0), 12)
    1.644934066848
    """
    return zeta_derivative.function(0.0, s, q)


@zeta.partials
def zeta_partials(z, s, q):
    return zeta_derivative(1.0, s, q), -s * zeta(s + 1.0, q)


@scalar_rule(points=[(1.0, 2.3, 1.7), (2.0, 3.6, 0.4), (0.0, 1.8, 3.1)])
def zeta_derivative(n, s, q):
    """The n-th derivative of Hurwitz's zeta function in s.

        z = sum_k (-log(q + k))^n (q + k)^-s,     dz/dn = 0,     dz/ds = zeta_derivative(n + 1, s, q),
        dz/dq = -s zeta_derivative(n, s + 1, q) - n zeta_derivative(n - 1, s + 1, q)

    Domain:  n = 0, 1, ..., rounded to an integer, at most 50; s > 1, q > 0.
    Ref:     DLMF 2.10.1 (Euler-Maclaurin): a derivative of log(t)^n t^-s is a power of t by a polynomial in log t.

    >>> round(zeta_derivative(1.0, 2.0, 1.0), 12)
    -0.937548254316
    """
    if not -0.5 <= n <= 50.0 or not s >= 1.0 or not q >= 0.0:
        return math.nan
    n = round(n)
    sign = -1.0 if n % 2 else 1.0
    if s == 1.0 or q == 0.0:
        return sign * math.inf if s == 1.0 else math.inf
    if math.isinf(s) or math.isinf(q):
        return 0.0 if q > 1.0 else 1.0 if q == 1.0 and n == 0 else 0.0 if q == 1.0 else math.inf
    total = 0.0
    t = q
    while t < 16.0 + s + n:
        term = _power(t, s, math.log(t), n)
        total += term
        t += 1.0
        # the first term may be 0, at q = 1
        if s > 2.0 and s * math.log(t) > n and (term != 0.0 or t >= q + 2.0) and abs(term) * t <= 1e-19 * abs(total):
            return sign * total
    if _power(t, s, 1.0, 0) == 0.0:
        return sign * total
    logarithm = math.log(t)
    tail, part = 0.0, 1.0 / (s - 1.0)  # the integral from t on, divided by t^(1 - s), by parts
    for j in range(n + 1):
        tail += part * logarithm ** (n - j)
        part *= (n - j) / (s - 1.0)
    tail += correct_integral(n, s, t)
    return sign * (total + tail * t * _power(t, s, 1.0, 0))


@zeta_derivative.partials
def zeta_derivative_partials(z, n, s, q):
    order = rint(n)
    lower = (order + absolute(order - 1.0) - 1.0) / 2.0  # n - 1, and 0 for 0, where its factor is 0
    return (
        0.0,
        zeta_derivative(order + 1.0, s, q),
        -s * zeta_derivative(order, s + 1.0, q) - order * zeta_derivative(lower, s + 1.0, q),
    )


def _power(t, s, logarithm, n):
    """logarithm^n t^-s."""
    try:
        return math.pow(t, -s) * math.pow(logarithm, n)
    except OverflowError:
        return math.copysign(math.inf, math.pow(logarithm, n)) if t < 1.0 else 0.0


def correct_integral(n, s, t):
    """The excess of the sum of log(t)^n t^-s from t on over its integral, divided by t^(1 - s); t > s."""
    logarithm = math.log(t)
    coefficients = [0.0] * (n + 2)  # of the m-th derivative, times t^(s + m)
    coefficients[n] = 1.0
    more = 0.5 / t * logarithm**n
    scale = 1.0 / t
    m = 0
    for b in EULER_MACLAURIN:
        while True:
            for i in range(n + 1):
                coefficients[i] = (i + 1.0) * coefficients[i + 1] - (s + m) * coefficients[i]
            m += 1
            scale /= t
            if m % 2:
                break
        value = 0.0
        for i in range(n, -1, -1):
            value = value * logarithm + coefficients[i]
        more -= b * value * scale
    return more
