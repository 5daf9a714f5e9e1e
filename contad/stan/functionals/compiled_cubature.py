"""Stan's integral over a box in compiled code: a Numba function that contad differentiates like a user's.

Plain numbers decide how the box is cut. Then one sum over the parts is recorded, whose points move with the limits.
"""

import numpy as np

from contad.compile.machine_code import njit
from contad.ops.logic import stop_gradient
from contad.stan.functionals.compiled_functionals import OPTIONS
from contad.stan.functionals.compiled_integrals import _GAUSS, _NODES, _WEIGHTS

_PARTS = 100_000  # the most parts without max_eval
_NEAR, _FAR, _CORNER = (9.0 / 70.0) ** 0.5, 0.9**0.5, (9.0 / 19.0) ** 0.5  # places of Genz and Malik, from the centre


@njit(**OPTIONS)
def _make_line():  # type: ignore[no-untyped-def]
    """The rules of Kronrod and Gauss, as `_make_box` has others."""
    last = len(_NODES) - 1
    places, high, low = np.zeros((2 * last + 1, 1)), np.zeros(2 * last + 1), np.zeros(2 * last + 1)
    for k in range(last + 1):
        for at, sign in ((k, -1.0), (2 * last - k, 1.0)):
            places[at, 0], high[at] = sign * _NODES[k], 0.5 * _WEIGHTS[k]
            low[at] = 0.5 * _GAUSS[k // 2] if k % 2 == 1 else 0.0
    return places, high, low, np.zeros((1, 2 * last + 1))


@njit(**OPTIONS)
def _make_box(n):  # type: ignore[no-untyped-def]
    """The places of Genz and Malik's rules in [-1, 1]^n, the weights of those of degree 7 and 5, which sum to 1, and
    the weights of the fourth difference along each axis."""
    count = 1 + 4 * n + 2 * n * (n - 1) + 2**n
    places, high, low, fourth = np.zeros((count, n)), np.zeros(count), np.zeros(count), np.zeros((n, count))
    high[0], low[0] = (12824.0 - 9120.0 * n + 400.0 * n * n) / 19683.0, (729.0 - 950.0 * n + 50.0 * n * n) / 729.0
    fourth[:, 0] = -12.0 / 7.0
    at = 1
    for i in range(n):
        for sign in (-1.0, 1.0):
            places[at, i], high[at], low[at], fourth[i, at] = sign * _NEAR, 980.0 / 6561.0, 245.0 / 486.0, 1.0
            places[at + 1, i], fourth[i, at + 1] = sign * _FAR, -1.0 / 7.0
            high[at + 1], low[at + 1] = (1820.0 - 400.0 * n) / 19683.0, (265.0 - 100.0 * n) / 1458.0
            at += 2
            for j in range(i):
                for other in (-_FAR, _FAR):
                    places[at, i], places[at, j] = sign * _FAR, other
                    high[at], low[at] = 200.0 / 19683.0, 25.0 / 729.0
                    at += 1
    for k in range(2**n):
        for i in range(n):
            places[at, i] = _CORNER if (k >> i) % 2 == 1 else -_CORNER
        high[at] = 6859.0 / 19683.0 / 2.0**n
        at += 1
    return places, high, low, fourth


@njit(**OPTIONS)
def _estimate(f, rule, low, high, a, b, pars):  # type: ignore[no-untyped-def]
    """The integral over a part of the unit cube, the error, and the axis with the largest fourth difference."""
    places, weights, others, fourth = rule
    size = np.prod(high - low)
    found, less, differences = 0.0, 0.0, np.zeros(len(low))
    for k in range(len(weights)):
        t = 0.5 * (low + high) + 0.5 * (high - low) * places[k]
        value = f(a + (b - a) * t, *pars)
        plain = stop_gradient(value)
        found += weights[k] * value
        less += others[k] * plain
        differences += fourth[:, k] * plain
    return size * found, size * abs(stop_gradient(found) - less), int(np.argmax(np.abs(differences)))


@njit(**OPTIONS)
def hcubature(  # type: ignore[no-untyped-def]
    integrand, pars, dim, a, b, max_eval=0, reqAbsError=0.0, reqRelError=1e-8
):
    """By Genz and Malik's rules, or Gauss and Kronrod's in one dimension."""
    if len(a) != dim or len(b) != dim or dim < 1:
        raise ValueError("hcubature: a and b must have dim numbers, at least one")
    if not (max_eval >= 0 and reqAbsError >= 0.0 and reqRelError >= 0.0):
        raise ValueError("hcubature: max_eval and tolerances must not be negative")
    rule = _make_line() if dim == 1 else _make_box(dim)
    most = _PARTS if max_eval == 0 else max(1, max_eval // (2 * len(rule[0])))
    lows, highs, sums, errors = np.zeros((most, dim)), np.ones((most, dim)), np.zeros(most), np.zeros(most)
    axes = np.zeros(most, np.int64)
    low, high = stop_gradient(a) + np.zeros(dim), stop_gradient(b) + np.zeros(dim)
    volume = abs(np.prod(high - low))
    count, worst = 1, 0
    while True:
        for k in (worst, count - 1):
            found, error, axis = _estimate(integrand, rule, lows[k], highs[k], low, high, pars)
            sums[k], errors[k], axes[k] = stop_gradient(found), error, axis
            if not np.isfinite(sums[k]):
                raise ValueError("hcubature: the integrand must give finite numbers")
        error, size = volume * np.sum(errors[:count]), volume * abs(np.sum(sums[:count]))
        if error <= max(reqAbsError, reqRelError * size):
            break
        if count == most:
            raise RuntimeError("hcubature: the integral is not found in max_eval evaluations")
        worst = int(np.argmax(errors[:count]))
        axis = axes[worst]
        lows[count], highs[count] = lows[worst], highs[worst]
        lows[count, axis] = highs[worst, axis] = 0.5 * (lows[worst, axis] + highs[worst, axis])
        count += 1
    total = 0.0
    for k in range(count):
        total += _estimate(integrand, rule, lows[k], highs[k], a, b, pars)[0]
    for k in range(dim):
        total *= b[k] - a[k]
    return total
