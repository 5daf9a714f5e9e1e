"""How kernels of recordings find the operands and results of a matrix operation among the cells of a run.

A kernel takes four addresses: of the shape, of values, of constants, and of its output (values, adjoints, tangents). A
kernel that adds to adjoints raises before it writes anything, or never, so that Python can redo the operation.
"""

import numpy as np
from numba import carray, types

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.named_code import attempt_call
from contad.compile.words import array_at, pointer
from contad.kernels.matrix_loops import turn
from contad.kernels.product_kernels import is_finite
from contad.kernels.shape_fields import FIELDS, IS_CHECKED, RESULT, SAVED, STATUS, TURNED, A, B, K, M, N

SIGNATURE = types.none(types.int64, types.int64, types.int64, types.int64)

_NUMBER = 8  # bytes


# ---- calls from Python -----------------------------------------------------------------------------------------------
OF_ATTEMPT = types.float64(
    *(types.int64, types.int64, types.int64, types.int64, types.float64[::1]), *(types.int64,) * 5
)
GIVEN = FIELDS + 3 - M  # the fields from M on, the address of the value's kernel, and its numbers


def attempt_value(  # type: ignore[no-untyped-def]
    given_at, buffers_at, slot, first, memory, a, a_cells, b, b_cells, flags
):
    """Write a shape, and call the kernel of its value; return the first number of the result.

    The result is nan if the kernel has raised, or has written an infinity or nan. The sizes and the rest are at
    `given_at`, the addresses of shapes, values and constants at `buffers_at`, and the value saves the data for the
    adjoint in `memory`. Flag 1 marks a transposed result, and flags 2 and 4 transposed operands. IS_CHECKED requires
    finite operands.
    """
    buffers = carray(pointer(buffers_at), (3,), np.int64)
    shape_at, values_at, constants_at = buffers[0] + _NUMBER * slot, buffers[1], buffers[2]
    shape = carray(pointer(shape_at), (FIELDS + 1,), np.int64)
    given = carray(pointer(given_at), (GIVEN,), np.int64)
    shape[STATUS], shape[SAVED], shape[RESULT] = 0, -(np.int64(memory.ctypes.data) // _NUMBER), first
    shape[A], shape[A + 1], shape[B], shape[B + 1] = a, a_cells, b, b_cells
    for k in range(3):  # the result and both operands
        shape[TURNED + k] = flags >> k & 1
    for k in range(GIVEN - 2):
        shape[M + k] = given[k]
    address, n = given[GIVEN - 2], given[GIVEN - 1]
    if flags & IS_CHECKED:
        if not is_finite(array_at(place_of(shape, A, values_at, constants_at), shape[M] * shape[N])):
            return np.nan
        if not is_finite(array_at(place_of(shape, B, values_at, constants_at), shape[N] * shape[K])):
            return np.nan
    if attempt_call(np.uintp(address), shape_at, values_at, constants_at, values_at):
        return np.nan
    z = array_at(values_at + _NUMBER * first, n)
    return z[0] if is_finite(z) else np.nan


_attempt = njit(**INTERNAL_OPTIONS)(attempt_value)


def attempt_briefly(  # type: ignore[no-untyped-def]
    given_at, buffers_at, slot, first, memory, a, a_cells, b, b_cells, flags
):
    """`attempt_value` for so few numbers that other threads would gain nothing from Python's lock meanwhile."""
    return _attempt(given_at, buffers_at, slot, first, memory, a, a_cells, b, b_cells, flags)


# ---- operands and results --------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def fields(shape_at):  # type: ignore[no-untyped-def]
    """The shape."""
    return carray(pointer(shape_at), (FIELDS,), np.int64)


@njit(**INTERNAL_OPTIONS)
def matrix_at(at, place, rows, columns):  # type: ignore[no-untyped-def]
    """The matrix at a position in an array."""
    return array_at(at + _NUMBER * place, (rows, columns))


@njit(**INTERNAL_OPTIONS)
def is_turned(shape, field):  # type: ignore[no-untyped-def]
    """Whether the cells of an operand, A or B, hold the transpose."""
    return shape[TURNED + (1 if field == A else 2)] != 0


@njit(**INTERNAL_OPTIONS)
def place_of(shape, field, values_at, constants_at):  # type: ignore[no-untyped-def]
    """Where an operand, A or B, is."""
    at = values_at if shape[field + 1] > 0 else constants_at if shape[field + 1] == 0 else 0
    return at + _NUMBER * shape[field]


@njit(**INTERNAL_OPTIONS)
def operand(shape, field, values_at, constants_at, rows, columns):  # type: ignore[no-untyped-def]
    """An operand, A or B, in C order; not to be written to."""
    at = values_at if shape[field + 1] > 0 else constants_at if shape[field + 1] == 0 else 0
    if is_turned(shape, field):
        return turn(matrix_at(at, shape[field], columns, rows))
    return matrix_at(at, shape[field], rows, columns)


@njit(**INTERNAL_OPTIONS)
def adjoint(shape, field, adjoints_at, rows, columns):  # type: ignore[no-untyped-def]
    """The array for additions to the adjoint of an operand: the adjoint itself, or zeros for `give`; empty for a
    constant."""
    if shape[field + 1] <= 0:
        return np.zeros((0, 0))
    if is_turned(shape, field):
        return np.zeros((rows, columns))
    return matrix_at(adjoints_at, shape[field], rows, columns)


@njit(**INTERNAL_OPTIONS)
def give(shape, field, adjoints_at, made):  # type: ignore[no-untyped-def]
    """Add the array that `adjoint` returned to the adjoint, unless it is the adjoint itself."""
    if shape[field + 1] > 0 and is_turned(shape, field):
        rows, columns = made.shape
        bar = matrix_at(adjoints_at, shape[field], columns, rows)
        for j in range(columns):
            for i in range(rows):
                bar[j, i] += made[i, j]


@njit(**INTERNAL_OPTIONS)
def tangent(shape, field, dots_at, rows, columns):  # type: ignore[no-untyped-def]
    """The tangent of an operand; zeros for a constant."""
    if shape[field + 1] <= 0:
        return np.zeros((rows, columns))
    if is_turned(shape, field):
        return turn(matrix_at(dots_at, shape[field], columns, rows))
    return matrix_at(dots_at, shape[field], rows, columns)


@njit(**INTERNAL_OPTIONS)
def result(shape, at, rows, columns):  # type: ignore[no-untyped-def]
    """The result, its adjoint or its tangent, in C order; not to be written to."""
    if shape[TURNED] != 0:
        return turn(matrix_at(at, shape[RESULT], columns, rows))
    return matrix_at(at, shape[RESULT], rows, columns)


@njit(**INTERNAL_OPTIONS)
def room(shape, at, rows, columns):  # type: ignore[no-untyped-def]
    """The memory for the result, or its tangent: its own cells, or memory for `write_back`."""
    if shape[TURNED] != 0:
        return np.empty((rows, columns))
    return matrix_at(at, shape[RESULT], rows, columns)


@njit(**INTERNAL_OPTIONS)
def write_back(shape, at, z):  # type: ignore[no-untyped-def]
    """Write the memory that `room` returned into the result, unless it is the result itself."""
    if shape[TURNED] != 0:
        rows, columns = z.shape
        made = matrix_at(at, shape[RESULT], columns, rows)
        for i in range(rows):
            for j in range(columns):
                made[j, i] = z[i, j]


@njit(**INTERNAL_OPTIONS)
def read_saved(shape, values_at, rows, columns):  # type: ignore[no-untyped-def]
    """The numbers that a value saves for the adjoint."""
    place = shape[SAVED]
    return matrix_at(values_at, place, rows, columns) if place >= 0 else matrix_at(0, -place, rows, columns)
