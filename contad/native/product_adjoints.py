"""A product and its adjoints as generated code calls them: `put_product`, `add_left` and `add_right`.

They take matrices and vectors; `put_product` writes an array, not a number. Compiled, each calls a function that is
compiled once, with the addresses, strides and sizes of the operands.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.named_code import compiled_address, emit_address, emit_call, name_of
from contad.native.product_kernels import (
    FEW,
    FEW_IN_PLACE,
    add_left_matrix,
    add_right_matrix,
    add_rows,
    is_finite,
    multiply_into,
)
from contad.native.products_in_place import add_product_at, has_rows, is_in_place, multiply_at, multiply_vector_at
from contad.native.words import array_at, hold
from contad.ops.products import left_cotangent, right_cotangent

_SIGNATURE = types.none(*[types.int64] * 12)
_NUMBER = 8  # bytes
_FEW_FOR_VECTORS = 200  # multiplications that take less time than the call of BLAS for a matrix and a vector


@njit(**INTERNAL_OPTIONS)
def _is_packed(rows, columns, row, step):  # type: ignore[no-untyped-def]
    """Whether a matrix of these strides in bytes is in C order."""
    return (step == _NUMBER or columns == 1) and (row == _NUMBER * columns or rows == 1)


@njit(**INTERNAL_OPTIONS)
def _matrix(at, rows, columns, row, step):  # type: ignore[no-untyped-def]
    """A matrix of these strides in bytes: itself where it is in C order, else a copy."""
    if _is_packed(rows, columns, row, step):
        return array_at(at, (rows, columns))
    made = np.empty((rows, columns))
    for i in range(rows):
        for k in range(columns):
            made[i, k] = array_at(at + i * row + k * step, 1)[0]
    return made


@njit(**INTERNAL_OPTIONS)
def _put(made, at, row, step):  # type: ignore[no-untyped-def]
    """Write a matrix back where `_matrix` has made a copy of it."""
    if made.ctypes.data != at:
        for i in range(made.shape[0]):
            for k in range(made.shape[1]):
                array_at(at + i * row + k * step, 1)[0] = made[i, k]


@njit(**INTERNAL_OPTIONS)
def _vector(at, size):  # type: ignore[no-untyped-def]
    return array_at(at, size)


@njit(**INTERNAL_OPTIONS)
def _is_finite(at, rows, columns, row, step):  # type: ignore[no-untyped-def]
    """Whether no element of a matrix that is in place is infinite or nan."""
    if not has_rows(rows, columns, row, step):
        rows, columns, row = columns, rows, step
    if row == _NUMBER * columns:
        return is_finite(_vector(at, rows * columns))
    for i in range(rows):  # noqa: SIM110  (Numba has no generators)
        if not is_finite(_vector(at + i * row, columns)):
            return False
    return True


@njit(**INTERNAL_OPTIONS)
def _add_times_vector(a, a_row, a_step, m, n, x, x_step, z, z_step):  # type: ignore[no-untyped-def]
    """z += a x by BLAS; whether that is done: not where a zero of x may have to mask an element of a."""
    if m * n <= FEW or x_step < _NUMBER or x_step % _NUMBER or not is_in_place(m, n, a_row, a_step):
        return False
    made = np.empty(m)
    multiply_vector_at(a, a_row, a_step, m, n, x, x_step, made)
    if not is_finite(made):
        return False
    for i in range(m):
        _vector(z + i * z_step, 1)[0] += made[i]
    return True


@njit(**INTERNAL_OPTIONS)
def _add_outer_by_columns(z, z_step, b, b_step, bar, bar_step, m, p):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T for a matrix whose columns follow one another."""
    z_bar = np.empty(m)
    for i in range(m):
        z_bar[i] = _vector(z + i * z_step, 1)[0]
    for k in range(p):
        c = _vector(b + k * b_step, 1)[0]
        column = _vector(bar + k * bar_step, m)
        if np.isfinite(c):
            for i in range(m):
                column[i] += z_bar[i] * c
        else:
            for i in range(m):
                if z_bar[i] != 0.0:
                    column[i] += z_bar[i] * c


# of each operand the address and the two strides
def add_left_at(z_at, z_row, z_step, b_at, b_row, b_step, bar_at, bar_row, bar_step, m, n, p):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T"""
    if m * n * p == 0:
        return
    if n == 1:
        if not has_rows(m, p, bar_row, bar_step) and has_rows(p, m, bar_step, bar_row):
            _add_outer_by_columns(z_at, z_row, b_at, b_row, bar_at, bar_step, m, p)
            return
    elif m == 1:
        if _add_times_vector(b_at, b_row, b_step, p, n, z_at, z_step, bar_at, bar_step):
            return
    elif (
        m * n * p > FEW_IN_PLACE
        and is_in_place(m, n, z_row, z_step)
        and is_in_place(p, n, b_row, b_step)
        and is_in_place(m, p, bar_row, bar_step)
        and _is_finite(b_at, p, n, b_row, b_step)
    ):
        add_product_at(1.0, z_at, z_row, z_step, b_at, b_step, b_row, bar_at, bar_row, bar_step, m, n, p)
        return
    a_bar = _matrix(bar_at, m, p, bar_row, bar_step)
    add_left_matrix(_matrix(z_at, m, n, z_row, z_step), _matrix(b_at, p, n, b_row, b_step), a_bar)
    _put(a_bar, bar_at, bar_row, bar_step)


def add_right_at(z_at, z_row, z_step, a_at, a_row, a_step, bar_at, bar_row, bar_step, m, n, p):  # type: ignore[no-untyped-def]
    """b_bar += a^T z_bar"""
    if m * n * p == 0:
        return
    if n == 1:
        if _add_times_vector(a_at, a_step, a_row, p, m, z_at, z_row, bar_at, bar_row):
            return
        if _is_packed(m, p, a_row, a_step) and _is_packed(m, 1, z_row, z_step) and _is_packed(p, 1, bar_row, bar_step):
            add_rows(_vector(z_at, m), _vector(a_at, m * p), _vector(bar_at, p))
            return
    elif (
        m * n * p > FEW_IN_PLACE
        and m > 1
        and is_in_place(m, n, z_row, z_step)
        and is_in_place(m, p, a_row, a_step)
        and is_in_place(p, n, bar_row, bar_step)
        and _is_finite(a_at, m, p, a_row, a_step)
    ):
        add_product_at(1.0, a_at, a_step, a_row, z_at, z_row, z_step, bar_at, bar_row, bar_step, p, m, n)
        return
    b_bar = _matrix(bar_at, p, n, bar_row, bar_step)
    add_right_matrix(_matrix(z_at, m, n, z_row, z_step), _matrix(a_at, m, p, a_row, a_step), b_bar)
    _put(b_bar, bar_at, bar_row, bar_step)


def put_product_at(z_at, z_row, z_step, a_at, a_row, a_step, b_at, b_row, b_step, m, n, p):  # type: ignore[no-untyped-def]
    """z = a b"""
    if n == 1:
        _put_times_vector(a_at, a_row, a_step, m, p, b_at, b_row, z_at)
    elif m > 1:
        z = _vector(z_at, m * n).reshape((m, n))
        if is_in_place(m, p, a_row, a_step) and is_in_place(p, n, b_row, b_step):
            multiply_at(1.0, a_at, a_row, a_step, b_at, b_row, b_step, 0.0, z_at, z_row, z_step, m, p, n)
        else:
            multiply_into(_matrix(a_at, m, p, a_row, a_step), _matrix(b_at, p, n, b_row, b_step), z)
    else:
        _put_times_vector(b_at, b_step, b_row, n, p, a_at, a_step, z_at)


@njit(**INTERNAL_OPTIONS)
def _put_times_vector(a, a_row, a_step, m, n, x, x_step, z_at):  # type: ignore[no-untyped-def]
    """z = a x, for an array z"""
    z = _vector(z_at, m)
    if m * n > _FEW_FOR_VECTORS and is_in_place(m, n, a_row, a_step):
        if x_step >= _NUMBER and x_step % _NUMBER == 0:
            multiply_vector_at(a, a_row, a_step, m, n, x, x_step, z)
        else:
            copy = _matrix(x, n, 1, x_step, _NUMBER)
            multiply_vector_at(a, a_row, a_step, m, n, np.int64(copy.ctypes.data), _NUMBER, z)
            hold(copy)
        return
    for i in range(m):
        total = 0.0
        for k in range(n):
            total += _vector(a + i * a_row + k * a_step, 1)[0] * _vector(x + k * x_step, 1)[0]
        z[i] = total


def find_product(name: str) -> int:
    """The address of one of the three, compiled or loaded."""
    return compiled_address(name, _SIGNATURE)


# ---- what generated code calls ---------------------------------------------------------------------------------------
def put_product(z: Any, a: Any, b: Any) -> None:
    """z = a b, for an array z in C order."""
    z[...] = a @ b


def add_left(z_bar: Any, b: Any, a_bar: Any) -> None:
    """The adjoint of a in z = a b: a_bar += z_bar b^T."""
    a_bar += left_cotangent(z_bar, a_bar.shape, b)


def add_right(z_bar: Any, a: Any, b_bar: Any) -> None:
    """The adjoint of b in z = a b: b_bar += a^T z_bar."""
    b_bar += right_cotangent(z_bar, a, b_bar.shape)


@type_callable(put_product)
@type_callable(add_left)
@type_callable(add_right)
def _type_of_call(context):  # type: ignore[no-untyped-def]
    return lambda first, second, third: types.none


@lower_builtin(put_product, types.Array, types.Array, types.Array)
def _lower_product(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A vector a is a row, a vector b a column; so is the result."""
    a_is_row = signature.args[1].ndim == 1
    z, a, b = map(MatrixWords, [context] * 3, [builder] * 3, signature.args, args, (a_is_row, a_is_row, False))
    return _emit(context, builder, put_product_at, [*z.words, *a.words, *b.words, *z.sizes, a.sizes[1]])


@lower_builtin(add_left, types.Any, types.Array, types.Array)
def _lower_left(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A vector a is a row, a vector b a column; so is the adjoint of the result."""
    a_is_row = signature.args[2].ndim == 1
    z_bar, b, a_bar = map(MatrixWords, [context] * 3, [builder] * 3, signature.args, args, (a_is_row, False, True))
    words = [*z_bar.words, *b.words, *a_bar.words, *z_bar.sizes, b.sizes[0]]
    return _emit(context, builder, add_left_at, words)


@lower_builtin(add_left, types.Number, types.Array, types.Array)
@lower_builtin(add_right, types.Number, types.Array, types.Array)
def _lower_scaled(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The adjoint of a factor of a dot product, whose own adjoint is a number: a loop."""
    return context.compile_internal(builder, _add_scaled, signature, args)


def _add_scaled(z_bar: Any, x: Any, bar: Any) -> None:
    if z_bar != 0.0:
        for k in range(len(x)):
            bar[k] += z_bar * x[k]


@lower_builtin(add_right, types.Any, types.Array, types.Array)
def _lower_right(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Likewise."""
    a_is_row = signature.args[1].ndim == 1
    z_bar, a, b_bar = map(MatrixWords, [context] * 3, [builder] * 3, signature.args, args, (a_is_row, True, False))
    words = [*z_bar.words, *a.words, *b_bar.words, *z_bar.sizes, a.sizes[1]]
    return _emit(context, builder, add_right_at, words)


def _emit(context: Any, builder: Any, function: Any, words: Any) -> Any:
    at = emit_address(context, builder, find_product, name_of(function))
    emit_call(context, builder, at, _SIGNATURE, words)
    return context.get_dummy_value()


class MatrixWords:
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
