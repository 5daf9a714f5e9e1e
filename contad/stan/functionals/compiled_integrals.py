"""Stan's integrals of one variable in compiled code: Numba functions that contad differentiates like a user's.

Plain numbers decide where the integrand is evaluated. Then one sum over these places is recorded, so that derivatives
in the arguments are integrals by the same rule. Derivatives in the limits are those of Leibniz's rule.
"""

import math

import numpy as np

from contad.compile.machine_code import njit
from contad.ops.logic import stop_gradient
from contad.stan.functionals.compiled_functionals import OPTIONS
from contad.stan.functionals.integrals import LEVELS, REACH, ROOT_OF_EPSILON
from contad.variables.open_types import NumbaFunction

_FIRST, _LAST = LEVELS[0], LEVELS[-1]
_PARTS = 10_000  # the most parts of an interval
# Kronrod's nodes and weights on (-1, 1) from the end to the centre, and Gauss's weights at every second node
_NODES = np.array(
    [0.9956571630258081, 0.9739065285171717, 0.9301574913557082, 0.8650633666889845, 0.7808177265864169,
     0.6794095682990244, 0.5627571346686047, 0.4333953941292472, 0.2943928627014602, 0.14887433898163122, 0.0]
)  # fmt: skip
_WEIGHTS = np.array(
    [0.011694638867371874, 0.032558162307964725, 0.054755896574351995, 0.07503967481091996, 0.09312545458369761,
     0.10938715880229764, 0.12349197626206584, 0.13470921731147334, 0.14277593857706009, 0.1477391049013385,
     0.1494455540029169]
)  # fmt: skip
_GAUSS = np.array(
    [0.06667134430868814, 0.1494513491505806, 0.21908636251598204, 0.26926671930999635, 0.29552422471475287]
)


# ---- limits ----------------------------------------------------------------------------------------------------------
@njit(**OPTIONS)
def _move_end(f, end, args):  # type: ignore[no-untyped-def]
    """0, with the derivatives of the integral from `end` as it is to `end`, by Simpson's rule; inf becomes huge."""
    at = stop_gradient(end)
    if not math.isfinite(at):
        return 0.0
    if not math.isfinite(stop_gradient(f(at, 0.0, *args))):
        return (end - at) * 1e308
    return (end - at) / 6.0 * (f(at, 0.0, *args) + 4.0 * f(0.5 * (at + end), 0.0, *args) + f(end, 0.0, *args))


# ---- the double exponential rule -------------------------------------------------------------------------------------
@njit(**OPTIONS)
def _node(t, a, b):  # type: ignore[no-untyped-def]
    """(x, xc, weight) of the node t."""
    u, slope = 0.5 * math.pi * math.sinh(t), 0.5 * math.pi * math.cosh(t)
    if math.isinf(a) and math.isinf(b):
        return math.sinh(u), math.nan, math.cosh(u) * slope
    if math.isinf(b):
        return a + math.exp(u), math.nan, math.exp(u) * slope
    if math.isinf(a):
        return b - math.exp(-u), math.nan, math.exp(-u) * slope
    e = math.exp(-2.0 * abs(u))
    distance = (b - a) * e / (1.0 + e)
    weight = (b - a) * slope * 2.0 * e / (1.0 + e) ** 2
    return (b - distance if t > 0.0 else a + distance), (distance if t > 0.0 else -distance), weight


@njit(**OPTIONS)
def _add_nodes(f, a, b, known, level, odd, args):  # type: ignore[no-untyped-def]
    """The sum of the weighted values at the nodes of a level, or at those that no lower level has, and that of their
    absolute values."""
    h = 2.0**-level
    count = int(REACH / h)
    total, size = 0.0, 0.0
    for k in range(-count, count + 1):
        if odd and k % 2 == 0:
            continue
        x, xc, weight = _node(k * h, a, b)
        if not known:
            xc = math.nan
        if not a < x < b and not math.isfinite(stop_gradient(f(x, xc, *args))):
            continue  # x is rounded to the end, and f does not use xc
        term = weight * f(x, xc, *args)
        total += term
        size += abs(stop_gradient(term))
    return total, size


def _make_rule(name: str) -> NumbaFunction:
    """The rule of a function, whose name is in its messages."""
    values = f"{name}: f must give finite numbers"
    error = f"{name}: the error estimate of the integral exceeds the relative tolerance times the integral of |f|"

    @njit(**OPTIONS)
    def integrate_part(f, a, b, known, args):  # type: ignore[no-untyped-def]
        """The integral over an interval whose ends are plain."""
        total, size, previous = 0.0, 0.0, 0.0
        for level in range(_FIRST, _LAST + 1):
            more, added = _add_nodes(f, a, b, known, level, level > _FIRST, args)
            total += stop_gradient(more)
            size += added
            if not math.isfinite(total):
                raise ValueError(values)
            estimate = 2.0**-level * total
            if level > max(_FIRST, 3) and abs(estimate - previous) <= ROOT_OF_EPSILON * 2.0**-level * size:
                return 2.0**-level * _add_nodes(f, a, b, known, level, False, args)[0]
            previous = estimate
        raise ValueError(error)

    return integrate_part


def _make_integral(name: str, make: NumbaFunction, split: bool) -> NumbaFunction:
    """An integral by the rule for one interval."""
    integrate_part = make(name)
    order, same = f"{name}: a must be at most b", f"{name}: a must be another infinity than b"

    @njit(**OPTIONS)
    def integrate(f, a, b, *args):  # type: ignore[no-untyped-def]
        low, high = stop_gradient(a) + 0.0, stop_gradient(b) + 0.0
        if not low <= high:
            raise ValueError(order)
        if low == high and math.isinf(low):
            raise ValueError(same)
        moved = _move_end(f, b, args) - _move_end(f, a, args)
        known = math.isfinite(low) and math.isfinite(high)
        if low == high:
            return moved
        if split and low < 0.0 < high and (math.isfinite(low) or math.isfinite(high)):
            below, above = integrate_part(f, low, 0.0, known, args), integrate_part(f, 0.0, high, known, args)
            return below + above + moved
        return integrate_part(f, low, high, known, args) + moved

    return integrate


integrate_1d = _make_integral("integrate_1d", _make_rule, True)
integrate_1d_double_exponential = _make_integral("integrate_1d_double_exponential", _make_rule, True)


# ---- Gauss-Kronrod rules ---------------------------------------------------------------------------------------------
@njit(**OPTIONS)
def _at(f, t, a, b, args):  # type: ignore[no-untyped-def]
    """The integrand in t: t is x for a finite interval, and runs from 0 to 1 otherwise."""
    if math.isfinite(a) and math.isfinite(b):
        return f(t, math.nan, *args)
    x, weight = (1.0 - t) / t, 1.0 / (t * t)
    if math.isfinite(a):
        return weight * f(a + x, math.nan, *args)
    if math.isfinite(b):
        return weight * f(b - x, math.nan, *args)
    return weight * (f(x, math.nan, *args) + f(-x, math.nan, *args))


@njit(**OPTIONS)
def _estimate(f, low, high, a, b, args):  # type: ignore[no-untyped-def]
    """Kronrod's and Gauss's sums over a part, and that of absolute values."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    kronrod, gauss, size = 0.0, 0.0, 0.0
    for k in range(len(_NODES)):
        value = _at(f, middle + half * _NODES[k], a, b, args)
        there = abs(stop_gradient(value))
        if k + 1 < len(_NODES):
            other = _at(f, middle - half * _NODES[k], a, b, args)
            there += abs(stop_gradient(other))
            value = value + other
        kronrod += half * _WEIGHTS[k] * value
        size += half * _WEIGHTS[k] * there
        if k % 2 == 1:
            gauss += half * _GAUSS[k // 2] * stop_gradient(value)
    return kronrod, gauss, size


def _make_adaptive(name: str) -> NumbaFunction:
    """The adaptive rule of a function, whose name is in its messages."""
    values = f"{name}: f must give finite numbers"
    error = f"{name}: the error estimate of the integral exceeds the relative tolerance times the integral of |f|"

    @njit(**OPTIONS)
    def integrate_part(f, a, b, known, args):  # type: ignore[no-untyped-def]
        """The integral over an interval whose ends are plain."""
        lows, highs, errors, sizes = np.zeros(_PARTS), np.zeros(_PARTS), np.zeros(_PARTS), np.zeros(_PARTS)
        lows[0], highs[0] = (a, b) if known else (0.0, 1.0)
        count, worst = 1, 0
        while True:
            for k in (worst, count - 1):
                kronrod, gauss, size = _estimate(f, lows[k], highs[k], a, b, args)
                errors[k], sizes[k] = abs(stop_gradient(kronrod) - gauss), size
                if not math.isfinite(size):
                    raise ValueError(values)
            if np.sum(errors[:count]) <= ROOT_OF_EPSILON * np.sum(sizes[:count]):
                break
            if count == _PARTS:
                raise ValueError(error)
            worst = int(np.argmax(errors[:count]))
            middle = 0.5 * (lows[worst] + highs[worst])
            lows[count], highs[count], highs[worst] = middle, highs[worst], middle
            count += 1
        total = 0.0
        for k in range(count):
            total += _estimate(f, lows[k], highs[k], a, b, args)[0]
        return total

    return integrate_part


integrate_1d_gauss_kronrod = _make_integral("integrate_1d_gauss_kronrod", _make_adaptive, False)
