"""`contad.logsumexp` and `contad.softmax` in compiled code, as the parts of operations: see `user_rules`.

They call the kernels of `contad.kernels.rows.row_tables`, for all axes of an array, or for one axis of a matrix.
"""

from typing import Any

import numpy as np
from numba import types

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload
from contad.errors import UnsupportedError
from contad.kernels.rows.log_sum_rows import (
    log_sum_of_line,
    logsumexp_adjoint,
    logsumexp_value,
    softmax_adjoint,
    softmax_value,
    weighted_logsumexp_value,
)
from contad.ops.log_sums import logsumexp, softmax
from contad.rules.array_rule import ArrayRule
from contad.rules.compilable import Parts


def _flat(a: Any) -> Any: ...
def _sizes(shape: Any, axis: Any) -> Any: ...
def _take_result(z: Any, shape: Any, axis: Any) -> Any: ...
def _value(a: Any, axis: Any, b: Any) -> Any: ...
def _sum(a: Any, b: Any, m: Any, n: Any, k: Any, terms: Any, totals: Any, z: Any) -> None: ...


def _is_none(x: Any) -> bool:
    return x is None or isinstance(x, types.NoneType) or getattr(x, "value", x) is None


@add_overload(_flat)
def _of_flat(a: Any) -> Any:
    """Floats, in C order; a number becomes one float."""
    if not isinstance(a, types.Array):
        return lambda a: np.full(1, a)
    if a.dtype == types.float64 and a.layout == "C":
        return (lambda a: a) if a.ndim == 1 else (lambda a: a.reshape(a.size))
    if a.dtype == types.float64:
        return lambda a: np.ascontiguousarray(a).reshape(a.size)
    return lambda a: np.ascontiguousarray(a).astype(np.float64).reshape(a.size)


@add_overload(_sizes)
def _of_sizes(shape: Any, axis: Any) -> Any:
    """m, n and k."""
    if _is_none(axis):

        def of_all(shape: Any, axis: Any) -> Any:
            n = 1
            for length in shape:
                n *= length
            return 1, n, 1

        return of_all
    ndim = len(shape)
    if not isinstance(axis, types.Integer) or ndim not in (1, 2):
        raise UnsupportedError(
            "contad.logsumexp and contad.softmax inside njit go over all axes of an array, or over one of a matrix"
        )
    message = f"axis is out of bounds for array of dimension {ndim}"

    def of_axis(shape: Any, axis: Any) -> Any:
        if axis < -ndim or axis >= ndim:
            raise ValueError(message)
        before, behind = (1, 1) if ndim == 1 else (shape[0], 1) if axis in (1, -1) else (1, shape[ndim - 1])
        return before, shape[axis], behind

    return of_axis


@add_overload(_take_result)
def _of_result(z: Any, shape: Any, axis: Any) -> Any:
    """One number for each line: the number, or the vector of all."""
    return (lambda z, shape, axis: z[0]) if _is_none(axis) or len(shape) == 1 else (lambda z, shape, axis: z)


@add_overload(_sum)
def _of_sum(a: Any, b: Any, m: Any, n: Any, k: Any, terms: Any, totals: Any, z: Any) -> Any:
    if _is_none(b):
        return lambda a, b, m, n, k, terms, totals, z: logsumexp_value(_flat(a), m, n, k, terms, totals, z)
    if not (isinstance(b, types.Array) and isinstance(b.dtype, types.Float)):
        raise UnsupportedError("contad.logsumexp inside njit: b must be an array of floats")

    def sum_weighted(a: Any, b: Any, m: Any, n: Any, k: Any, terms: Any, totals: Any, z: Any) -> None:
        weighted_logsumexp_value(_flat(a), _flat(np.broadcast_to(b, a.shape)), m, n, k, terms, totals, z)

    return sum_weighted


# ---- the parts -------------------------------------------------------------------------------------------------------
@njit(**NJIT_OPTIONS)
def _push_logsumexp(a, axis=None, b=None):  # type: ignore[no-untyped-def]
    m, n, k = _sizes(a.shape, axis)
    end, lines = m * n * k, m * k
    memory = np.empty(end + 2 * lines)
    z = memory[end + lines :]
    _sum(a, b, m, n, k, memory[:end], memory[end : end + lines], z)
    return _take_result(z, a.shape, axis), (memory, a.shape)


@add_overload(_value)
def _of_value(a: Any, axis: Any, b: Any) -> Any:
    """For all elements, without allocation unless there are many."""
    if _is_none(axis) and _is_none(b):
        return lambda a, axis, b: log_sum_of_line(_flat(a), a.size)
    return lambda a, axis, b: _push_logsumexp(a, axis, b)[0]


@njit(**NJIT_OPTIONS)
def _compute_logsumexp(a, axis=None, b=None):  # type: ignore[no-untyped-def]
    return _value(a, axis, b)


@njit(**NJIT_OPTIONS)
def _pull_logsumexp(axis, b, saved, z_bar):  # type: ignore[no-untyped-def]
    memory, shape = saved
    m, n, k = _sizes(shape, axis)
    end, made = m * n * k, np.zeros(shape)
    logsumexp_adjoint(_flat(z_bar), memory[:end], memory[end : end + m * k], m, n, k, _flat(made))
    return (made,)


@njit(**NJIT_OPTIONS)
def _compute_softmax(x, axis=None):  # type: ignore[no-untyped-def]
    m, n, k = _sizes(x.shape, axis)
    z = np.empty(x.shape)
    softmax_value(_flat(x), m, n, k, _flat(z))
    return z


@njit(**NJIT_OPTIONS)
def _push_softmax(x, axis=None):  # type: ignore[no-untyped-def]
    z = _compute_softmax(x, axis)
    return z, z


@njit(**NJIT_OPTIONS)
def _pull_softmax(axis, z, z_bar):  # type: ignore[no-untyped-def]
    m, n, k = _sizes(z.shape, axis)
    made = np.zeros(z.shape)
    softmax_adjoint(_flat(z_bar), _flat(z), m, n, k, _flat(made))
    return (made,)


PARTS: dict[ArrayRule, Parts] = {
    logsumexp: Parts(_compute_logsumexp, _push_logsumexp, _pull_logsumexp, (1, 2)),
    softmax: Parts(_compute_softmax, _push_softmax, _pull_softmax, (1,)),
}
