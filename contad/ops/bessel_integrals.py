"""Derivatives of any order of Bessel functions in their order, by Schlaefli's integrals through a saddle point."""

import math

import numpy as np

from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import by_element

TINY = 1e-280  # the smallest x
FALL = 42.0  # integrands are followed down to e^-42 of their largest value


# ---- values on arrays ------------------------------------------------------------------------------------------------
def _ive_derivative(n, m, v, x):
    """Only the main part, which suffices for integer orders that are not differentiated."""
    v, x = np.asarray(v), np.asarray(x)
    if np.ndim(n) or np.ndim(m) or n > 0.5 or (v != np.rint(v)).any() or not (x > 0.0).all():
        return _each_ive(n, m, v, x)
    is_inside = (np.abs(v) < 1e5) & (x > TINY) & (x < math.inf)
    v, x = np.where(is_inside, v, 0.0), np.where(is_inside, x, 1.0)
    with np.errstate(all="ignore"):
        a = np.arcsinh(v / x)
        width, height = x * np.cosh(a), 2.0 * np.sinh(0.5 * a) ** 2
        top = np.where(width <= 0.5 * FALL, math.pi, 2.0 * np.arcsin(np.sqrt(np.minimum(0.5 * FALL / width, 1.0))))
        phases = np.max(np.abs(v) * (top - np.sin(top)), initial=0.0)
        m = round(float(m))
        panels = 2 + round(float(phases) / 25.0) + m
        total = np.zeros(np.broadcast_shapes(v.shape, x.shape))
        for y, weight in _gauss(panels):
            t = top * y
            low = 2.0 * np.sin(0.5 * t) ** 2
            moment = (height - np.cosh(a) * low + 1j * (np.sinh(a) * np.sin(t))) ** m
            total += weight * np.real(moment * np.exp(1j * (v * (np.sin(t) - t)))) * np.exp(-width * low)
        z = total * top * np.exp(x * height - v * a) / math.pi
    return np.where(is_inside, z, math.nan)


def _kve_derivative(n, m, v, x):
    """The trapezoidal rule, which converges fast for such integrands."""
    if np.ndim(n) or np.ndim(m) or not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0):
        return _each_kve(n, m, v, x)
    n, m, order, x = round(float(n)), round(float(m)), np.abs(v), np.asarray(x)
    is_known = (order < 1e5) & (x > TINY) & (x < math.inf)
    order, x = np.where(is_known, order, 0.0), np.where(is_known, x, 1.0)
    with np.errstate(all="ignore"):
        peak = np.arcsinh((order + n) / x)
        highest = order * peak - x * (2.0 * np.sinh(0.5 * peak) ** 2)
        high = peak + 1.0
        for _ in range(800):
            if not (order * high - x * (2.0 * np.sinh(0.5 * high) ** 2) > highest - FALL - 20.0).any():
                break
            high = high + 1.0
        high = np.minimum(high, peak + np.sqrt(2.0 * FALL / np.hypot(order + n, x)))
        inside, outside = np.stack([peak, peak]), np.stack([high, np.maximum(0.0, peak - _reach_below(n, x))])
        for _ in range(12):
            middle = 0.5 * (inside + outside)
            is_inside = order * middle - x * (2.0 * np.sinh(0.5 * middle) ** 2) > highest - FALL
            inside, outside = np.where(is_inside, middle, inside), np.where(is_inside, outside, middle)
        high, start = outside[0], np.where(highest - FALL < 0.0, 0.0, outside[1])
        count = max(48, math.ceil(5.0 * float(np.max(high - start, initial=0.0, where=np.isfinite(high - start)))))
        step = (high - start) / count
        total = np.zeros(np.shape(step))
        for j in range(count + 1):
            t = start + step * j
            below = 2.0 * np.sinh(0.5 * t) ** 2
            waves = -0.5 * np.expm1(-2.0 * order * t) if n % 2 else 0.5 + 0.5 * np.exp(-2.0 * order * t)
            part = waves * np.exp(order * t - x * below - highest) * t**n * (-below) ** m
            total += part if j else 0.5 * part
        z = np.where(total == 0.0, 0.0, step * total * np.exp(highest)) * (np.sign(v) if n % 2 else 1.0)
    return np.where(is_known, z, math.nan)


def _reach_below(n, x):
    """An upper bound of the distance over which the integrand of K falls from its peak; its curvature is at least x."""
    return 2.0 * n / x + (2.0 * FALL / x) ** 0.5


def _each_ive(n, m, v, x):
    return by_element(ive_derivative.function, 4)(n, m, v, x)


def _each_kve(n, m, v, x):
    return by_element(kve_derivative.function, 4)(n, m, v, x)


def _gauss(panels):
    """Gauss's rule on (0, 1), divided into `panels` panels: the nodes and their weights."""
    for p in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                yield (2.0 * p + 1.0 + s) / (2.0 * panels), weight / (2.0 * panels)


# ---- rules -----------------------------------------------------------------------------------------------------------
@scalar_rule(array=_ive_derivative, points=[(1.0, 0.0, 0.6, 1.7), (0.0, 1.0, 2.3, 0.9), (1.0, 1.0, 1.4, 5.3)])
def ive_derivative(n, m, v, x):
    """Derivatives of e^-x I_v(x) in the order and in x.

        z = d^n/dv^n d^m/dx^m e^-x I_v(x),     dz/dn = 0,     dz/dm = 0,
        dz/dv = ive_derivative(n + 1, m, v, x),     dz/dx = ive_derivative(n, m + 1, v, x)

    Domain:  n, m = 0, 1, ..., rounded to integers, at most 20; x = 0 or x > 1e-280, |v| < 1e5. Elsewhere nan.
    Ref:     DLMF 10.32.12: (2 pi i)^-1 int (-t)^n (cosh t - 1)^m e^(x (cosh t - 1) - v t) dt from inf - pi i to
             inf + pi i, through the saddle point asinh(v / x).

    >>> round(ive_derivative(0.0, 0.0, 0.0, 1.0), 12)
    0.465759607594
    """
    if not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0 and (x == 0.0 or TINY < x < math.inf) and abs(v) < 1e5):
        return math.nan
    n, m = round(n), round(m)
    if x == 0.0:
        return _at_zero(n, m, v)
    a = math.asinh(v / x)
    width, height = x * _cosh(a), 2.0 * _sinh(0.5 * a) ** 2
    top = math.pi if width <= 0.5 * FALL else 2.0 * math.asin(math.sqrt(0.5 * FALL / width))
    panels = 2 + round(abs(v) * (top - math.sin(top)) / 25.0) + n + m
    half = 0.5 * top / panels
    total = 0.0
    for p in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                y = half * (2.0 * p + 1.0 + s)
                low = 2.0 * math.sin(0.5 * y) ** 2
                real = height - _cosh(a) * low
                part = _real_part(n, -a, -y, m, real, _sinh(a) * math.sin(y), v * (math.sin(y) - y))
                total += weight * part * _exp(-width * low)
    total *= half * _scaled_power(x * height, v, a, x / (v + math.hypot(v, x)) if v > 0.0 else 1.0)
    return (total + _cut(n, m, v, x, a, True)) / math.pi


@ive_derivative.partials
def ive_derivative_partials(z, n, m, v, x):
    return 0.0, 0.0, ive_derivative(rint(n) + 1.0, m, v, x), ive_derivative(n, rint(m) + 1.0, v, x)


@scalar_rule(array=_kve_derivative, points=[(1.0, 0.0, 0.6, 1.7), (0.0, 1.0, 2.3, 0.9), (1.0, 1.0, 1.4, 5.3)])
def kve_derivative(n, m, v, x):
    """Derivatives of e^x K_v(x) in the order and in x.

        z = d^n/dv^n d^m/dx^m e^x K_v(x),     dz/dn = 0,     dz/dm = 0,
        dz/dv = kve_derivative(n + 1, m, v, x),     dz/dx = kve_derivative(n, m + 1, v, x)

    Domain:  n, m = 0, 1, ..., rounded to integers, at most 20; x > 1e-280, |v| < 1e5. Elsewhere nan.
    Ref:     DLMF 10.32.9: int_0^inf t^n cosh(v t) (1 - cosh t)^m e^(x (1 - cosh t)) dt, with sinh for odd n: nothing in
             it cancels.

    >>> round(kve_derivative(0.0, 0.0, 0.0, 1.0), 12)
    1.144463079807
    """
    if not (-0.5 <= n <= 20.0 and -0.5 <= m <= 20.0 and TINY < x < math.inf and abs(v) < 1e5):
        return math.nan
    n, m = round(n), round(m)
    order = abs(v)
    odd = n % 2 == 1
    if odd and v == 0.0:
        return 0.0
    sign = -1.0 if (odd and v < 0.0) != (m % 2 == 1) else 1.0
    peak = math.asinh((order + n) / x)
    highest = order * peak - x * (2.0 * _sinh(0.5 * peak) ** 2)
    high = peak + 1.0
    while order * high - x * (2.0 * _sinh(0.5 * high) ** 2) > highest - FALL - 20.0:
        high += 1.0
    low, high = peak, min(high, peak + math.sqrt(2.0 * FALL / math.hypot(order + n, x)))
    for _ in range(12):
        middle = 0.5 * (low + high)
        if order * middle - x * (2.0 * _sinh(0.5 * middle) ** 2) > highest - FALL:
            low = middle
        else:
            high = middle
    start, end = 0.0, peak
    if highest > FALL:
        start = max(0.0, peak - _reach_below(n, x))
        for _ in range(12):
            middle = 0.5 * (start + end)
            if order * middle - x * (2.0 * _sinh(0.5 * middle) ** 2) < highest - FALL:
                start = middle
            else:
                end = middle
    panels = 3 + round((high - start) / 2.0) + n + m
    half = 0.5 * (high - start) / panels
    total = 0.0
    for p in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                t = start + half * (2.0 * p + 1.0 + s)
                below = 2.0 * _sinh(0.5 * t) ** 2
                grown = order * t
                waves = -0.5 * math.expm1(-2.0 * grown) if odd else 0.5 + 0.5 * _exp(-2.0 * grown)
                total += weight * waves * _exp(grown - x * below - highest) * _pow(t, n) * _pow(below, m)
    return sign * (half * total * _exp(0.5 * highest)) * _exp(0.5 * highest)


@kve_derivative.partials
def kve_derivative_partials(z, n, m, v, x):
    return 0.0, 0.0, kve_derivative(rint(n) + 1.0, m, v, x), kve_derivative(n, rint(m) + 1.0, v, x)


@scalar_rule(points=[(1.0, 0.6, 1.7), (0.0, 2.3, 0.9), (1.0, 1.4, 5.3)])
def jv_derivative(n, v, x):
    """The n-th derivative of Bessel's J_v(x) in the order.

        z = d^n/dv^n J_v(x),     dz/dn = 0,     dz/dv = jv_derivative(n + 1, v, x),
        dz/dx = (jv_derivative(n, v - 1, x) - jv_derivative(n, v + 1, x)) / 2

    Domain:  n = 0, 1, ..., rounded to an integer, at most 20; x = 0 or 1e-280 < x < 1e5, |v| < 1e5.
             Elsewhere nan.
    Ref:     DLMF 10.9.17: (2 pi i)^-1 int (-t)^n e^(x sinh t - v t) dt from inf - pi i to inf + pi i, through the
             saddle point acosh(v / x) where v > x. The time grows as x + |v|.

    >>> round(jv_derivative(1.0, 0.0, 1.0), 12)
    0.138633715204
    """
    if not (-0.5 <= n <= 20.0 and (x == 0.0 or TINY < x < 1e5) and abs(v) < 1e5):
        return math.nan
    n = round(n)
    if x == 0.0:
        return _at_zero(n, 0, v)
    a = math.acosh(v / x) if v > x else 0.0
    width, speed = x * _sinh(a), x * _cosh(a)
    top = math.pi if width <= 0.5 * FALL else 2.0 * math.asin(math.sqrt(0.5 * FALL / width))
    panels = 2 + round((speed + abs(v)) * top / 25.0) + n
    half = 0.5 * top / panels
    total = 0.0
    for p in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                y = half * (2.0 * p + 1.0 + s)
                part = _real_part(n, -a, -y, 0, 0.0, 0.0, speed * math.sin(y) - v * y)
                total += weight * part * _exp(-2.0 * width * math.sin(0.5 * y) ** 2)
    total *= half * (_scaled_power(width, v, a, x / (v + width)) if a > 0.0 else 1.0)
    return (total + _cut(n, 0, v, x, a, False)) / math.pi


@jv_derivative.partials
def jv_derivative_partials(z, n, v, x):
    order = rint(n)
    return (
        0.0,
        jv_derivative(order + 1.0, v, x),
        0.5 * (jv_derivative(order, v - 1.0, x) - jv_derivative(order, v + 1.0, x)),
    )


@scalar_rule(points=[(1.0, 0.6, 1.7), (0.0, 2.3, 0.9), (1.0, 1.4, 5.3)])
def yv_derivative(n, v, x):
    """The n-th derivative of Bessel's Y_v(x) in the order.

        z = d^n/dv^n Y_v(x),     dz/dn = 0,     dz/dv = yv_derivative(n + 1, v, x),
        dz/dx = (yv_derivative(n, v - 1, x) - yv_derivative(n, v + 1, x)) / 2

    Domain:  n = 0, 1, ..., rounded to an integer, at most 20; 1e-280 < x < 1e5, |v| < 1e5. Elsewhere nan.
    Ref:     DLMF 10.9.7. The time grows as x + |v|. Below order 1 dz/dx loses two digits where x is small.

    >>> round(yv_derivative(1.0, 0.0, 1.0), 12)
    -1.201969715317
    """
    if not (-0.5 <= n <= 20.0 and TINY < x < 1e5 and abs(v) < 1e5):
        return math.nan
    n = round(n)
    panels = 2 + round((x + abs(v)) * math.pi / 25.0) + n
    half = 0.5 * math.pi / panels
    total = 0.0
    for p in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                y = half * (2.0 * p + 1.0 + s)
                phase = x * math.sin(y) - v * y
                wave = math.sin(phase) if n % 2 == 0 else -math.cos(phase)
                total += weight * _pow(y, n) * (-wave if n % 4 > 1 else wave)
    total *= half
    order = v - 2.0 * math.floor(0.5 * v)
    start, end = _reach(abs(v), x, 0.0, False)
    panels = 3 + round((end - start) / 1.5) + n
    half = 0.5 * (end - start) / panels
    rest = 0.0
    for p in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                t = start + half * (2.0 * p + 1.0 + s)
                back = _real_part(n, -t, math.pi, 0, 0.0, 0.0, math.pi * order)
                fall = x * _sinh(t)
                rest += weight * (_pow(t, n) * _exp(v * t - fall) + back * _exp(-v * t - fall))
    return (total - half * rest) / math.pi


@yv_derivative.partials
def yv_derivative_partials(z, n, v, x):
    order = rint(n)
    return (
        0.0,
        yv_derivative(order + 1.0, v, x),
        0.5 * (yv_derivative(order, v - 1.0, x) - yv_derivative(order, v + 1.0, x)),
    )


def _at_zero(n, m, v):
    """The limit at 0 of a function of the first kind, or of the m-th derivative of the scaled one."""
    if v > m:
        return 0.0
    if n > 0 or v != math.floor(v):
        return math.nan
    order = round(abs(v))
    z = 0.5**m if (m - order) % 2 == 0 else -(0.5**m)
    if order > m:
        return 0.0
    for j in range(1, m - order + 1):
        z *= (m + order + j) / j
    return z


# ---- the integrands --------------------------------------------------------------------------------------------------
def _scaled_power(exponent, v, a, base):
    """e^(exponent - v a), where e^-a is the base."""
    if v > 0.0 and v * a < 300.0:
        return _exp(exponent) * _pow(base, v)
    return _exp(exponent - v * a)


def _real_part(n, a, b, m, c, d, phase):
    """The real part of (a + i b)^n (c + i d)^m e^(i phase)."""
    real, imaginary = math.cos(phase), math.sin(phase)
    for _ in range(n):
        real, imaginary = a * real - b * imaginary, a * imaginary + b * real
    for _ in range(m):
        real, imaginary = c * real - d * imaginary, c * imaginary + d * real
    return real


def _cut(n, m, v, x, a, modified):
    """pi times the part of the contour from a + pi i to inf + pi i and its conjugate."""
    order = v - 2.0 * math.floor(0.5 * v)
    if n == 0 and order in (0.0, 1.0):
        return 0.0
    start, end = _reach(-v, x, a, modified)
    panels = 3 + round((end - start) / 1.5) + n + m
    half = 0.5 * (end - start) / panels
    total = 0.0
    for p in range(panels):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for s in (-node, node):
                u = start + half * (2.0 * p + 1.0 + s)
                fall = _cosh(u) + 1.0 if modified else _sinh(u)
                # the imaginary part, as the real part of its product with -i
                part = _real_part(n, -u, -math.pi, m, -_cosh(u) - 1.0, 0.0, -math.pi * (order + 0.5))
                total += weight * part * _exp(-x * fall - v * u)
    return half * total


def _reach(v, x, a, modified):
    """The part of (a, inf) where v u - x cosh u, or v u - x sinh u, is at most 42 below its largest value."""
    peak = a
    if v > 0.0:
        peak = max(a, math.asinh(v / x) if modified else math.acosh(max(v / x, 1.0)))
    highest = v * peak - x * (_cosh(peak) if modified else _sinh(peak))
    low, step = peak, 0.125
    while v * (low + step) - x * (_cosh(low + step) if modified else _sinh(low + step)) > highest - FALL:
        low += step
        step *= 1.5
    high = low + step
    for _ in range(12):
        middle = 0.5 * (low + high)
        if v * middle - x * (_cosh(middle) if modified else _sinh(middle)) > highest - FALL:
            low = middle
        else:
            high = middle
    start, end = a, peak
    if v * a - x * (_cosh(a) if modified else _sinh(a)) < highest - FALL:
        for _ in range(12):
            middle = 0.5 * (start + end)
            if v * middle - x * (_cosh(middle) if modified else _sinh(middle)) < highest - FALL:
                start = middle
            else:
                end = middle
    return start, high


# ---- overflow to inf -------------------------------------------------------------------------------------------------
def _exp(x):
    return math.exp(x) if x < 709.7 else math.inf


def _cosh(x):
    return math.cosh(x) if abs(x) < 709.7 else math.inf


def _sinh(x):
    return math.sinh(x) if abs(x) < 709.7 else math.copysign(math.inf, x)


def _pow(x, n):
    """x^n for x >= 0 and n >= 0."""
    return math.pow(x, n) if x < 1.0 or n * math.log(x) < 709.7 else math.inf
