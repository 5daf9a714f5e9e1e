"""`contad.logsumexp` and `contad.softmax` in compiled code, as the parts of operations: see `user_rules`.

The rules are those of `contad.ops.log_sums`.
"""

import math
from typing import Any

import numpy as np
from numba import types

from contad.errors import UnsupportedError
from contad.native.compiling import NJIT_OPTIONS
from contad.native.machine_code import njit
from contad.native.matrix_loops import in_order, turn
from contad.native.overloads import add_overload, in_machine_code
from contad.ops.log_sums import logsumexp, softmax
from contad.rules.array_rule import ArrayRule
from contad.rules.compilable import Parts


# ---- all elements ----------------------------------------------------------------------------------------------------
@njit(**NJIT_OPTIONS)
def _top_of(a):  # type: ignore[no-untyped-def]
    """(the largest element, how many equal it); nan and 0 where there is a nan."""
    top, count = -np.inf, 0
    for x in a.flat:
        if x != x:
            return np.nan, 0
        if x > top:
            top, count = x, 0
        if x == top:
            count += 1
    return top, count


@njit(**NJIT_OPTIONS)
def sum_exponentials(a):  # type: ignore[no-untyped-def]
    """log(sum(exp(a))), the largest terms apart: the others may be less than their rounding."""
    top, count = _top_of(a)
    if count == 0:
        return top  # nan, or -inf of nothing
    rest = 0.0
    for x in a.flat:
        if x != top:
            rest += math.exp(x - top)
    return math.log1p(rest / count) + math.log(count) + top


@njit(**NJIT_OPTIONS)
def share(z_bar, a):  # type: ignore[no-untyped-def]
    """Each term's share of z_bar; infinite terms that tie share equally."""
    top, _ = _top_of(a)
    made = np.empty(a.shape)
    flat = made.reshape(made.size)
    total = 0.0
    for k, x in enumerate(a.flat):
        flat[k] = (1.0 if x == top else 0.0) if np.isinf(top) else math.exp(x - top)
        total += flat[k]
    for k in range(flat.size):
        flat[k] = flat[k] / total * z_bar
    return made


@njit(**NJIT_OPTIONS)
def _top_of_weighted(a, w):  # type: ignore[no-untyped-def]
    """The largest element with a weight other than zero, -inf where there is none; nan where there is a nan."""
    top = -np.inf
    for x, weight in zip(a.flat, w.flat):  # noqa: B905  (Numba has no strict=)
        if x != x:
            return np.nan
        if weight != 0.0 and x > top:
            top = x
    return top


@njit(**NJIT_OPTIONS)
def sum_weighted(a, w):  # type: ignore[no-untyped-def]
    """log(sum(w exp(a))), the largest terms apart; nan where the sum is negative."""
    top = _top_of_weighted(a, w)
    at_top, rest = 0.0, 0.0
    for x, weight in zip(a.flat, w.flat):  # noqa: B905
        if x == top:
            at_top += weight
        elif weight != 0.0:
            rest += weight * math.exp(x - top)
    if at_top > 0.0:
        return np.log1p(rest / at_top) + np.log(at_top) + top
    return np.log(at_top + rest) + top


@njit(**NJIT_OPTIONS)
def share_weighted(z_bar, a, w):  # type: ignore[no-untyped-def]
    """Each term's share of z_bar; infinite terms that tie share by their weights."""
    top = _top_of_weighted(a, w)
    made = np.zeros(a.shape)
    flat = made.reshape(made.size)
    total = 0.0
    for k, (x, weight) in enumerate(zip(a.flat, w.flat)):  # noqa: B905
        if weight != 0.0:
            flat[k] = weight * ((1.0 if x == top else 0.0) if np.isinf(top) else math.exp(x - top))
        total += flat[k]
    for k in range(flat.size):
        flat[k] = flat[k] / total * z_bar
    return made


@njit(**NJIT_OPTIONS)
def normalise(x):  # type: ignore[no-untyped-def]
    """e^x over its sum."""
    top, _ = _top_of(x)
    made = np.empty(x.shape)
    flat = made.reshape(made.size)
    total = 0.0
    for k, element in enumerate(x.flat):
        flat[k] = math.exp(element - top)
        total += flat[k]
    for k in range(flat.size):
        flat[k] /= total
    return made


@njit(**NJIT_OPTIONS)
def pull_normalised(z_bar, z):  # type: ignore[no-untyped-def]
    """z (z_bar - sum(z z_bar)), in which zeros of z_bar mask what is not finite in z."""
    made = np.empty(z.shape)
    flat, of_z, of_bar = made.reshape(made.size), z.reshape(z.size), z_bar.reshape(z_bar.size)
    total = 0.0
    for k in range(flat.size):
        flat[k] = of_z[k] * of_bar[k] if of_bar[k] != 0.0 else 0.0
        total += flat[k]
    for k in range(flat.size):
        if total != 0.0:
            flat[k] -= total * of_z[k]
    return made


# ---- along an axis ---------------------------------------------------------------------------------------------------
@in_machine_code
def as_rows(x, axis):  # type: ignore[no-untyped-def]
    """The lines of a matrix along an axis, as rows; of such rows, the matrix."""
    if axis < -2 or axis > 1:
        raise ValueError("axis is out of bounds for array of dimension 2")
    return turn(x) if axis in (0, -2) else in_order(x)


@in_machine_code
def sum_lines(a, axis):  # type: ignore[no-untyped-def]
    """log(sum(exp(line))) of each line of a matrix along an axis."""
    rows = as_rows(a, axis)
    made = np.empty(rows.shape[0])
    for i in range(made.size):
        made[i] = sum_exponentials(rows[i])
    return made


@in_machine_code
def share_lines(z_bar, a, axis):  # type: ignore[no-untyped-def]
    """Each term's share of the cotangent of its line."""
    rows = as_rows(a, axis)
    for i in range(rows.shape[0]):
        found = share(z_bar[i], rows[i])
        for j in range(rows.shape[1]):
            rows[i, j] = found[j] if z_bar[i] != 0.0 else 0.0
    return as_rows(rows, axis)


@in_machine_code
def sum_weighted_lines(a, w, axis):  # type: ignore[no-untyped-def]
    """log(sum(w exp(line))) of each line of a matrix along an axis."""
    rows, weights = as_rows(a, axis), as_rows(w, axis)
    made = np.empty(rows.shape[0])
    for i in range(made.size):
        made[i] = sum_weighted(rows[i], weights[i])
    return made


@in_machine_code
def share_weighted_lines(z_bar, a, w, axis):  # type: ignore[no-untyped-def]
    """Each term's share of the cotangent of its line."""
    rows, weights = as_rows(a, axis), as_rows(w, axis)
    for i in range(rows.shape[0]):
        found = share_weighted(z_bar[i], rows[i], weights[i])
        for j in range(rows.shape[1]):
            rows[i, j] = found[j] if z_bar[i] != 0.0 else 0.0
    return as_rows(rows, axis)


@in_machine_code
def normalise_lines(x, axis):  # type: ignore[no-untyped-def]
    """e^x over the sum of its line."""
    rows = as_rows(x, axis)
    for i in range(rows.shape[0]):
        found = normalise(rows[i])
        for j in range(rows.shape[1]):
            rows[i, j] = found[j]
    return as_rows(rows, axis)


@in_machine_code
def pull_normalised_lines(z_bar, z, axis):  # type: ignore[no-untyped-def]
    """Likewise, of each line."""
    rows, bars = as_rows(z, axis), as_rows(z_bar, axis)
    for i in range(rows.shape[0]):
        found = pull_normalised(bars[i], rows[i])
        for j in range(rows.shape[1]):
            rows[i, j] = found[j]
    return as_rows(rows, axis)


# ---- by the type of the axis -----------------------------------------------------------------------------------------
def _by_axis(axis: Any, x: Any, of_all: Any, of_line: Any, of_lines: Any) -> Any:
    """What is compiled for these types: of all elements, of those of the only axis, or of the lines of a matrix."""
    if axis is None or isinstance(axis, types.NoneType) or getattr(axis, "value", axis) is None:
        return of_all
    if isinstance(axis, types.Integer) and isinstance(x, types.Array) and x.ndim in (1, 2):
        return of_lines if x.ndim == 2 else of_line
    raise UnsupportedError(
        "contad.logsumexp and contad.softmax inside njit go over all axes of an array, or over one of a matrix"
    )


@njit(**NJIT_OPTIONS)
def _require_only(axis):  # type: ignore[no-untyped-def]
    if axis < -1 or axis > 0:
        raise ValueError("axis is out of bounds for array of dimension 1")


def _sum(a: Any, axis: Any, b: Any) -> Any: ...
def _share(axis: Any, b: Any, a: Any, z_bar: Any) -> Any: ...
def _normalise(x: Any, axis: Any) -> Any: ...
def _pull_normalised(axis: Any, z: Any, z_bar: Any) -> Any: ...


def _is_weighted(b: Any, a: Any) -> bool:
    """Whether a call has weights: an array, which is broadcast to the shape of a."""
    if b is None or isinstance(b, types.NoneType) or getattr(b, "value", b) is None:
        return False
    if isinstance(b, types.Array) and isinstance(b.dtype, types.Float) and isinstance(a, types.Array):
        return True
    raise UnsupportedError("contad.logsumexp inside njit: b must be an array of floats")


@add_overload(_sum)
def _of_sum(a: Any, axis: Any, b: Any) -> Any:
    if _is_weighted(b, a):

        def weighted_line(a: Any, axis: Any, b: Any) -> Any:
            _require_only(axis)
            return sum_weighted(a, np.broadcast_to(b, a.shape))

        return _by_axis(
            axis, a, lambda a, axis, b: sum_weighted(a, np.broadcast_to(b, a.shape)), weighted_line,
            lambda a, axis, b: sum_weighted_lines(a, np.broadcast_to(b, a.shape), axis),
        )  # fmt: skip

    def of_line(a: Any, axis: Any, b: Any) -> Any:
        _require_only(axis)
        return sum_exponentials(a)

    return _by_axis(axis, a, lambda a, axis, b: sum_exponentials(a), of_line, lambda a, axis, b: sum_lines(a, axis))


@add_overload(_share)
def _of_share(axis: Any, b: Any, a: Any, z_bar: Any) -> Any:
    if _is_weighted(b, a):

        def of_weighted(axis: Any, b: Any, a: Any, z_bar: Any) -> Any:
            return share_weighted(z_bar, a, np.broadcast_to(b, a.shape))

        return _by_axis(
            axis, a, of_weighted, of_weighted,
            lambda axis, b, a, z_bar: share_weighted_lines(z_bar, a, np.broadcast_to(b, a.shape), axis),
        )  # fmt: skip

    def of_all(axis: Any, b: Any, a: Any, z_bar: Any) -> Any:
        return share(z_bar, a)

    return _by_axis(axis, a, of_all, of_all, lambda axis, b, a, z_bar: share_lines(z_bar, a, axis))


@add_overload(_normalise)
def _of_normalise(x: Any, axis: Any) -> Any:
    def of_line(x: Any, axis: Any) -> Any:
        _require_only(axis)
        return normalise(x)

    return _by_axis(axis, x, lambda x, axis: normalise(x), of_line, normalise_lines)


@add_overload(_pull_normalised)
def _of_pull_normalised(axis: Any, z: Any, z_bar: Any) -> Any:
    def of_all(axis: Any, z: Any, z_bar: Any) -> Any:
        return pull_normalised(z_bar, z)

    return _by_axis(axis, z, of_all, of_all, lambda axis, z, z_bar: pull_normalised_lines(z_bar, z, axis))


# ---- the parts -------------------------------------------------------------------------------------------------------
@njit(**NJIT_OPTIONS)
def _compute_logsumexp(a, axis=None, b=None):  # type: ignore[no-untyped-def]
    return _sum(a, axis, b)


@njit(**NJIT_OPTIONS)
def _push_logsumexp(a, axis=None, b=None):  # type: ignore[no-untyped-def]
    return _sum(a, axis, b), a


@njit(**NJIT_OPTIONS)
def _pull_logsumexp(axis, b, a, z_bar):  # type: ignore[no-untyped-def]
    return (_share(axis, b, a, z_bar),)


@njit(**NJIT_OPTIONS)
def _compute_softmax(x, axis=None):  # type: ignore[no-untyped-def]
    return _normalise(x, axis)


@njit(**NJIT_OPTIONS)
def _push_softmax(x, axis=None):  # type: ignore[no-untyped-def]
    z = _normalise(x, axis)
    return z, z


@njit(**NJIT_OPTIONS)
def _pull_softmax(axis, z, z_bar):  # type: ignore[no-untyped-def]
    return (_pull_normalised(axis, z, z_bar),)


PARTS: dict[ArrayRule, Parts] = {
    logsumexp: Parts(_compute_logsumexp, _push_logsumexp, _pull_logsumexp, (1, 2)),
    softmax: Parts(_compute_softmax, _push_softmax, _pull_softmax, (1,)),
}
