"""NumPy's functions of whole arrays, written as loops over numbers, for compiled engines.

The generator inlines these bodies at a call; the tape compiles them for its variables. So each is plain Python that
both can read: numbers, elements, branches and loops, arrays made by `zeros`. Their decisions (an order, a position) are
integers, and carry no derivative. Values and errors are those of Numba's own functions.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from contad.kernels import missing_data_loops, sample_loops
from contad.rules.compilable import ARRAY_FUNCTIONS, BODIES, LOOPS, is_in_bodies, loop_body
from contad.rules.definition import copy_under, named_values

zeros = np.zeros  # engines that differentiate elements substitute their own


# ---- running results -------------------------------------------------------------------------------------------------
@loop_body(np.cumsum, "a", 1)
def _cumsum(a):  # type: ignore[no-untyped-def]
    made = zeros(len(a))
    total = 0.0
    for k in range(len(a)):
        total = total + a[k]
        made[k] = total
    return made


@loop_body(np.cumprod, "a", 1)
def _cumprod(a):  # type: ignore[no-untyped-def]
    made = zeros(len(a))
    total = 1.0
    for k in range(len(a)):
        total = total * a[k]
        made[k] = total
    return made


@loop_body(np.ediff1d, "ary", 1)
@loop_body(np.diff, "a, n=1", 1)
def _diff(a):  # type: ignore[no-untyped-def]
    made = zeros(max(len(a) - 1, 0))
    for k in range(len(a) - 1):
        made[k] = a[k + 1] - a[k]
    return made


@loop_body(np.diff, "a, n=1", 1, 0)
def _diff_of_order(a, n):  # type: ignore[no-untyped-def]
    if n < 0:
        raise ValueError("diff(): order must be non-negative")
    size = len(a)
    made = zeros(size)
    for k in range(size):
        made[k] = a[k]
    for done in range(1, n + 1):
        for k in range(size - done):
            made[k] = made[k + 1] - made[k]
    return made[: max(size - n, 0)].copy()


# ---- all elements ----------------------------------------------------------------------------------------------------
@loop_body(np.average, "a, weights=None", 1)
@loop_body(np.average, "a, weights=None", 2)
def _average(a):  # type: ignore[no-untyped-def]
    return np.divide(np.sum(a), float(a.size))


@loop_body(np.average, "a, weights=None", 1, 1)
@loop_body(np.average, "a, weights=None", 2, 2)
def _weighted_average(a, weights):  # type: ignore[no-untyped-def]
    total = np.sum(weights)
    if total == 0.0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized.")
    return np.sum(a * weights) / total


@loop_body(np.prod, "a", 1)
def _prod(a):  # type: ignore[no-untyped-def]
    total = 1.0
    for k in range(len(a)):
        total = total * a[k]
    return total


@loop_body(np.prod, "a", 2)
def _prod_of_matrix(a):  # type: ignore[no-untyped-def]
    total = 1.0
    for j in range(a.shape[0]):
        for k in range(a.shape[1]):
            total = total * a[j, k]
    return total


@loop_body(np.var, "a", 1)
@loop_body(np.var, "a", 2)
def _var(a):  # type: ignore[no-untyped-def]
    mean = np.divide(np.sum(a), float(a.size))
    return np.divide(np.sum((a - mean) * (a - mean)), float(a.size))


@loop_body(np.std, "a", 1)
@loop_body(np.std, "a", 2)
def _std(a):  # type: ignore[no-untyped-def]
    mean = np.divide(np.sum(a), float(a.size))
    variance = np.divide(np.sum((a - mean) * (a - mean)), float(a.size))
    if variance == 0.0:  # a kink, where the derivative is 0
        return np.linalg.norm(a - mean) / np.sqrt(float(a.size))
    return np.sqrt(variance)


@loop_body(np.trace, "a, offset=0", 2)
def _trace(a):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(min(a.shape[0], a.shape[1])):
        total = total + a[k, k]
    return total


@loop_body(np.trace, "a, offset=0", 2, 0)
def _trace_beside_the_diagonal(a, offset):  # type: ignore[no-untyped-def]
    right, below = max(offset, 0), max(-offset, 0)
    total = 0.0
    for k in range(min(a.shape[0] - below, a.shape[1] - right)):
        total = total + a[k + below, k + right]
    return total


@loop_body(np.diag, "v", 1)
def _diag(v):  # type: ignore[no-untyped-def]
    made = zeros((len(v), len(v)))
    for k in range(len(v)):
        made[k, k] = v[k]
    return made


@loop_body(np.diag, "v", 2)
def _diagonal(v):  # type: ignore[no-untyped-def]
    n = min(v.shape[0], v.shape[1])
    made = zeros(n)
    for k in range(n):
        made[k] = v[k, k]
    return made


# ---- by order --------------------------------------------------------------------------------------------------------
@loop_body(np.sort, "a", 1)
def _sort(a):  # type: ignore[no-untyped-def]
    order = np.argsort(a)
    made = zeros(len(a))
    for k in range(len(a)):
        made[k] = a[order[k]]
    return made


@loop_body(np.unique, "ar", 1)
def _unique(a):  # type: ignore[no-untyped-def]
    order = np.argsort(a)
    n = 0
    for k in range(len(a)):
        if k == 0 or a[order[k]] != a[order[k - 1]]:
            n += 1
    made = zeros(n)
    n = 0
    for k in range(len(a)):
        if k == 0 or a[order[k]] != a[order[k - 1]]:
            made[n] = a[order[k]]
            n += 1
    return made


@loop_body(np.median, "a", 1)
def _median(a):  # type: ignore[no-untyped-def]
    n = len(a)
    if n == 0:
        raise ValueError("the median of an empty array")
    order = np.argsort(a)
    last = a[order[n - 1]]  # nan, where there is any
    middle = a[order[n // 2]]
    below = a[order[n // 2 - (n + 1) % 2]]
    found = middle if n % 2 == 1 else 0.5 * (below + middle)
    return last if np.isnan(last) else found


def _at_percent(a, order, percent):  # type: ignore[no-untyped-def]
    if not 0.0 <= percent <= 100.0:
        raise ValueError("the quantile is not in the range from 0 to 1, or 100 percent")
    n = len(a)
    rank = 1.0 + (n - 1) * np.divide(percent, 100.0)
    below = int(rank)
    above = rank - below
    found = a[order[below - 1]] * (1.0 - above) + a[order[min(below, n - 1)]] * above
    last = a[order[n - 1]]  # nan, where there is any
    return last if np.isnan(last) else found


@loop_body(np.percentile, "a, q", 1, 0)
def _percentile(a, q):  # type: ignore[no-untyped-def]
    if len(a) == 0:
        raise ValueError("the percentile of an empty array")
    return _at_percent(a, np.argsort(a), q)


@loop_body(np.percentile, "a, q", 1, 1)
def _percentiles(a, q):  # type: ignore[no-untyped-def]
    if len(a) == 0:
        raise ValueError("the percentile of an empty array")
    order = np.argsort(a)
    made = zeros(len(q))
    for k in range(len(q)):
        made[k] = _at_percent(a, order, q[k])
    return made


@loop_body(np.quantile, "a, q", 1, 0)
def _quantile(a, q):  # type: ignore[no-untyped-def]
    return _percentile(a, 100.0 * q)


@loop_body(np.quantile, "a, q", 1, 1)
def _quantiles(a, q):  # type: ignore[no-untyped-def]
    return _percentiles(a, 100.0 * q)


@loop_body(np.percentile, "a, q", 2, 0)
def _percentile_of_matrix(a, q):  # type: ignore[no-untyped-def]
    return _percentile(a.copy().reshape(a.size), q)


@loop_body(np.quantile, "a, q", 2, 0)
def _quantile_of_matrix(a, q):  # type: ignore[no-untyped-def]
    return _percentile(a.copy().reshape(a.size), 100.0 * q)


# ---- sliding sums ----------------------------------------------------------------------------------------------------
def _slide(x, y, left, length):  # type: ignore[no-untyped-def]
    """sum_j x[k - left + j] y[j] for k < length, over the j for which x has that element; y is not longer than x."""
    made = zeros(length)
    for k in range(length):
        total = 0.0
        for j in range(max(left - k, 0), min(len(y), len(x) + left - k)):
            total = total + x[k - left + j] * y[j]
        made[k] = total
    return made


def _require_elements(a, v):  # type: ignore[no-untyped-def]
    if len(a) == 0:
        raise ValueError("'a' cannot be empty")
    if len(v) == 0:
        raise ValueError("'v' cannot be empty")


@loop_body(np.convolve, "a, v, mode='full'", 1, 1)
def _convolve(a, v):  # type: ignore[no-untyped-def]
    return _convolve_full(a, v, "full")


@loop_body(np.convolve, "a, v, mode='full'", 1, 1, "full")
def _convolve_full(a, v, mode):  # type: ignore[no-untyped-def]
    _require_elements(a, v)
    x, y = (v, a[::-1]) if len(a) < len(v) else (a, v[::-1])
    return _slide(x, y, len(y) - 1, len(x) + len(y) - 1)


@loop_body(np.convolve, "a, v, mode='full'", 1, 1, "same")
def _convolve_same(a, v, mode):  # type: ignore[no-untyped-def]
    _require_elements(a, v)
    x, y = (v, a[::-1]) if len(a) < len(v) else (a, v[::-1])
    return _slide(x, y, len(y) // 2, len(x))


@loop_body(np.convolve, "a, v, mode='full'", 1, 1, "valid")
def _convolve_valid(a, v, mode):  # type: ignore[no-untyped-def]
    _require_elements(a, v)
    x, y = (v, a[::-1]) if len(a) < len(v) else (a, v[::-1])
    return _slide(x, y, 0, len(x) - len(y) + 1)


@loop_body(np.correlate, "a, v, mode='valid'", 1, 1)
def _correlate(a, v):  # type: ignore[no-untyped-def]
    return _correlate_valid(a, v, "valid")


@loop_body(np.correlate, "a, v, mode='valid'", 1, 1, "full")
def _correlate_full(a, v, mode):  # type: ignore[no-untyped-def]
    return _convolve_full(a, v[::-1], mode)


@loop_body(np.correlate, "a, v, mode='valid'", 1, 1, "valid")
def _correlate_valid(a, v, mode):  # type: ignore[no-untyped-def]
    return _convolve_valid(a, v[::-1], mode)


@loop_body(np.correlate, "a, v, mode='valid'", 1, 1, "same")
def _correlate_same(a, v, mode):  # type: ignore[no-untyped-def]
    _require_elements(a, v)
    x, y = (v, a) if len(a) < len(v) else (a, v)
    found = _slide(x, y, len(y) // 2, len(x))
    return found[::-1] if len(a) < len(v) else found


# ---- sums by position ------------------------------------------------------------------------------------------------
@loop_body(np.bincount, "a, weights=None, minlength=0", 1, 1)
def _bincount(a, weights):  # type: ignore[no-untyped-def]
    return _bincount_of_length(a, weights, 0)


@loop_body(np.bincount, "a, weights=None, minlength=0", 1, 1, 0)
def _bincount_of_length(a, weights, minlength):  # type: ignore[no-untyped-def]
    if len(a) != len(weights):
        raise ValueError("bincount(): weights and list don't have the same length")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    length = minlength
    for k in range(len(a)):
        if a[k] < 0:
            raise ValueError("bincount(): first argument must be non-negative")
        length = max(length, a[k] + 1)
    made = zeros(length)
    for k in range(len(a)):
        made[a[k]] += weights[k]
    return made


# ---- tables ----------------------------------------------------------------------------------------------------------
@loop_body(np.interp, "x, xp, fp", 0, 1, 1)
def _interp(x, xp, fp):  # type: ignore[no-untyped-def]
    n = len(xp)
    if n == 0:
        raise ValueError("array of sample points is empty")
    if len(fp) != n:
        raise ValueError("fp and xp are not of the same size.")
    k = np.searchsorted(xp, x, side="right") - 1
    if k < 0:
        found = fp[0]
    elif k >= n - 1:
        found = fp[n - 1]
        if n > 1 and x == xp[n - 1] and xp[n - 2] < x:  # the slope of the last piece
            found = np.divide(fp[n - 1] - fp[n - 2], xp[n - 1] - xp[n - 2]) * (x - xp[n - 1]) + found
    else:
        found = np.divide(fp[k + 1] - fp[k], xp[k + 1] - xp[k]) * (x - xp[k]) + fp[k]
    return x if np.isnan(x) else found


@loop_body(np.interp, "x, xp, fp", 1, 1, 1)
def _interp_of_array(x, xp, fp):  # type: ignore[no-untyped-def]
    made = zeros(len(x))
    for k in range(len(x)):
        made[k] = _interp(x[k], xp, fp)
    return made


# ---- moved elements --------------------------------------------------------------------------------------------------
@loop_body(np.repeat, "a, repeats", 1, 0)
def _repeat(a, repeats):  # type: ignore[no-untyped-def]
    if repeats < 0:
        raise ValueError("negative dimensions not allowed")
    made = zeros(len(a) * repeats)
    for k in range(len(a)):
        for j in range(repeats):
            made[k * repeats + j] = a[k]
    return made


@loop_body(np.repeat, "a, repeats", 0, 0)
def _repeat_number(a, repeats):  # type: ignore[no-untyped-def]
    if repeats < 0:
        raise ValueError("negative dimensions not allowed")
    made = zeros(repeats)
    for k in range(repeats):
        made[k] = a
    return made


@loop_body(np.repeat, "a, repeats", 1, 1)
def _repeat_each(a, repeats):  # type: ignore[no-untyped-def]
    if len(a) != len(repeats):
        raise ValueError("operands could not be broadcast together")
    for k in range(len(repeats)):
        if repeats[k] < 0:
            raise ValueError("negative dimensions are not allowed")
    made = zeros(np.sum(repeats))
    at = 0
    for k in range(len(a)):
        for _ in range(repeats[k]):
            made[at] = a[k]
            at += 1
    return made


@loop_body(np.outer, "a, b", 1, 1)
def _outer(a, b):  # type: ignore[no-untyped-def]
    made = zeros((len(a), len(b)))
    for j in range(len(a)):
        for k in range(len(b)):
            made[j, k] = a[j] * b[k]
    return made


@loop_body(np.vdot, "a, b", 1, 1)
def _vdot(a, b):  # type: ignore[no-untyped-def]
    return np.dot(a, b)


@loop_body(np.kron, "a, b", 2, 2)
def _kron(a, b):  # type: ignore[no-untyped-def]
    (m, n), (p, q) = a.shape, b.shape
    made = zeros((m * p, n * q))
    for i in range(m):
        for j in range(n):
            for k in range(p):
                for s in range(q):
                    made[i * p + k, j * q + s] = a[i, j] * b[k, s]
    return made


@loop_body(np.kron, "a, b", 1, 1)
def _kron_of_vectors(a, b):  # type: ignore[no-untyped-def]
    made = zeros(len(a) * len(b))
    for j in range(len(a)):
        for k in range(len(b)):
            made[j * len(b) + k] = a[j] * b[k]
    return made


@loop_body(np.kron, "a, b", 1, 2)
def _kron_with_matrix(a, b):  # type: ignore[no-untyped-def]
    p, q = b.shape
    made = zeros((p, len(a) * q))
    for j in range(len(a)):
        for k in range(p):
            for s in range(q):
                made[k, j * q + s] = a[j] * b[k, s]
    return made


@loop_body(np.kron, "a, b", 2, 1)
def _kron_with_vector(a, b):  # type: ignore[no-untyped-def]
    m, n = a.shape
    made = zeros((m, n * len(b)))
    for i in range(m):
        for j in range(n):
            for k in range(len(b)):
                made[i, j * len(b) + k] = a[i, j] * b[k]
    return made


@loop_body(np.cross, "a, b", 1, 1)
def _cross(a, b):  # type: ignore[no-untyped-def]
    _check_cross(len(a), len(b))
    made = zeros(3)
    a2 = a[2] if len(a) == 3 else 0.0 * a[0]
    b2 = b[2] if len(b) == 3 else 0.0 * b[0]
    made[0] = a[1] * b2 - a2 * b[1]
    made[1] = a2 * b[0] - a[0] * b2
    made[2] = a[0] * b[1] - a[1] * b[0]
    return made


def _check_cross(m, n):  # type: ignore[no-untyped-def]
    """Refuse as Numba does: vectors of lengths other than 2 and 3, and two vectors of length 2."""
    if m < 2 or m > 3 or n < 2 or n > 3 or m + n == 4:
        raise ValueError("Incompatible dimensions for cross product: 2 or 3 elements, and 3 on one side")


@loop_body(np.cross, "a, b", 1, 2)
def _cross_with_rows(a, b):  # type: ignore[no-untyped-def]
    _check_cross(len(a), b.shape[1])
    made = zeros((len(b), 3))
    a2 = a[2] if len(a) == 3 else 0.0 * a[0]
    for k in range(len(b)):
        b2 = b[k, 2] if b.shape[1] == 3 else 0.0 * b[k, 0]
        made[k, 0] = a[1] * b2 - a2 * b[k, 1]
        made[k, 1] = a2 * b[k, 0] - a[0] * b2
        made[k, 2] = a[0] * b[k, 1] - a[1] * b[k, 0]
    return made


@loop_body(np.cross, "a, b", 2, 1)
def _cross_of_rows_with(a, b):  # type: ignore[no-untyped-def]
    return -_cross_with_rows(b, a)


@loop_body(np.cross, "a, b", 2, 2)
def _cross_of_rows(a, b):  # type: ignore[no-untyped-def]
    _check_cross(a.shape[1], b.shape[1])
    count = len(b) if len(a) == 1 else len(a)
    if len(b) != count and len(b) != 1:
        raise ValueError("unable to broadcast argument 1 to output array")
    made = zeros((count, 3))
    for k in range(count):
        i, j = min(k, len(a) - 1), min(k, len(b) - 1)  # a single row is paired with all rows of the other
        a2 = a[i, 2] if a.shape[1] == 3 else 0.0 * a[i, 0]
        b2 = b[j, 2] if b.shape[1] == 3 else 0.0 * b[j, 0]
        made[k, 0] = a[i, 1] * b2 - a2 * b[j, 1]
        made[k, 1] = a2 * b[j, 0] - a[i, 0] * b2
        made[k, 2] = a[i, 0] * b[j, 1] - a[i, 1] * b[j, 0]
    return made


def owns(function: Any) -> bool:
    """Whether a function is a body of this file or of a function that has some, or is called by these."""
    homes = (__name__, missing_data_loops.__name__, sample_loops.__name__, LOOPS, *BODIES)
    return isinstance(function, FunctionType) and function.__module__.startswith(homes)


def with_compiled_callees(body: FunctionType, compile: Callable[[FunctionType], Any]) -> FunctionType:
    """A body that calls the compiled versions of the bodies that it names."""
    called = {name: f for name, f in named_values(body).items() if owns(f)}
    if not called:
        return body
    compiled = {name: compile(with_compiled_callees(f, compile)) for name, f in called.items()}
    return copy_under(body, body.__globals__ | compiled)


def array_function_of(function: Any) -> Any:
    """The loops that compute a function: of this file, or of a function with bodies; None for any other."""
    return function if is_in_bodies(function) else ARRAY_FUNCTIONS.get(function)
