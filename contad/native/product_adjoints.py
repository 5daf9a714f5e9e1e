"""The adjoints of a product as generated code calls them: `add_left` and `add_right`, for matrices and vectors.

Compiled, each calls a function that is compiled once, with the addresses, strides and sizes of the operands.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array

from contad.native.arena import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.named_code import compiled_address, emit_address, emit_call, name_of
from contad.native.product_kernels import add_left_matrix, add_right_matrix
from contad.native.words import pointer
from contad.ops.products import left_cotangent, right_cotangent

_SIGNATURE = types.none(*[types.int64] * 12)
_NUMBER = 8  # bytes


@njit(**INTERNAL_OPTIONS)
def _matrix(at, rows, columns, row, step):  # type: ignore[no-untyped-def]
    """A matrix of these strides in bytes: itself where its rows follow one another, else a copy."""
    if (step == _NUMBER or columns == 1) and (row == _NUMBER * columns or rows == 1):
        return carray(pointer(at), (rows, columns), np.float64)
    made = np.empty((rows, columns))
    for i in range(rows):
        for k in range(columns):
            made[i, k] = carray(pointer(at + i * row + k * step), 1, np.float64)[0]
    return made


@njit(**INTERNAL_OPTIONS)
def _put(made, at, row, step):  # type: ignore[no-untyped-def]
    """Write a matrix back where `_matrix` has made a copy of it."""
    if made.ctypes.data != at:
        for i in range(made.shape[0]):
            for k in range(made.shape[1]):
                carray(pointer(at + i * row + k * step), 1, np.float64)[0] = made[i, k]


# of each operand the address and the two strides
def add_left_at(z_at, z_row, z_step, b_at, b_row, b_step, bar_at, bar_row, bar_step, m, n, p):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T"""
    if m * n * p != 0:
        a_bar = _matrix(bar_at, m, p, bar_row, bar_step)
        add_left_matrix(_matrix(z_at, m, n, z_row, z_step), _matrix(b_at, p, n, b_row, b_step), a_bar)
        _put(a_bar, bar_at, bar_row, bar_step)


def add_right_at(z_at, z_row, z_step, a_at, a_row, a_step, bar_at, bar_row, bar_step, m, n, p):  # type: ignore[no-untyped-def]
    """b_bar += a^T z_bar"""
    if m * n * p != 0:
        b_bar = _matrix(bar_at, p, n, bar_row, bar_step)
        add_right_matrix(_matrix(z_at, m, n, z_row, z_step), _matrix(a_at, m, p, a_row, a_step), b_bar)
        _put(b_bar, bar_at, bar_row, bar_step)


def find_adjoint(name: str) -> int:
    """The address of one of the two, compiled or loaded."""
    return compiled_address(name, _SIGNATURE)


# ---- what generated code calls ---------------------------------------------------------------------------------------
def add_left(z_bar: Any, b: Any, a_bar: Any) -> None:
    """The adjoint of a in z = a b: a_bar += z_bar b^T."""
    a_bar += left_cotangent(z_bar, a_bar.shape, b)


def add_right(z_bar: Any, a: Any, b_bar: Any) -> None:
    """The adjoint of b in z = a b: b_bar += a^T z_bar."""
    b_bar += right_cotangent(z_bar, a, b_bar.shape)


@type_callable(add_left)
@type_callable(add_right)
def _type_of_call(context):  # type: ignore[no-untyped-def]
    return lambda z_bar, factor, bar: types.none


@lower_builtin(add_left, types.Any, types.Array, types.Array)
def _lower_left(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A vector a is a row, a vector b a column; so is the adjoint of the result."""
    a_is_row = signature.args[2].ndim == 1
    z_bar, b, a_bar = map(_Matrix, [context] * 3, [builder] * 3, signature.args, args, (a_is_row, False, True))
    words = [*z_bar.words, *b.words, *a_bar.words, *z_bar.sizes, b.sizes[0]]
    return _emit(context, builder, add_left_at, words)


@lower_builtin(add_right, types.Any, types.Array, types.Array)
def _lower_right(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Likewise."""
    a_is_row = signature.args[1].ndim == 1
    z_bar, a, b_bar = map(_Matrix, [context] * 3, [builder] * 3, signature.args, args, (a_is_row, True, False))
    words = [*z_bar.words, *a.words, *b_bar.words, *z_bar.sizes, a.sizes[1]]
    return _emit(context, builder, add_right_at, words)


def _emit(context: Any, builder: Any, function: Any, words: Any) -> Any:
    at = emit_address(context, builder, find_adjoint, name_of(function))
    emit_call(context, builder, at, _SIGNATURE, words)
    return context.get_dummy_value()


class _Matrix:
    """An operand as emitted code has it: its address, sizes and strides; a number is a matrix of one element."""

    def __init__(self, context: Any, builder: Any, kind: Any, x: Any, is_row: bool) -> None:
        if isinstance(kind, types.Array):
            made = make_array(kind)(context, builder, x)
            data = made.data
            sizes, strides = (cgutils.unpack_tuple(builder, x, kind.ndim) for x in (made.shape, made.strides))
        else:
            data, sizes, strides = cgutils.alloca_once_value(builder, x), [], []
        while len(sizes) < 2:
            where = 0 if is_row else len(sizes)
            sizes.insert(where, context.get_constant(types.intp, 1))
            strides.insert(where, context.get_constant(types.intp, _NUMBER))
        self.sizes = sizes
        self.words = [builder.ptrtoint(data, context.get_value_type(types.int64)), *strides]
