"""Lines of recorded arrays: what kernels along an axis read and write.

How kernels are called is told in `contad.native.recorded_operands`. The sizes are those of an array of three axes, of
which the middle one is that of the lines, the options its rows and columns as a matrix.
"""

import numpy as np

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.elementary.rows import place
from contad.native.machine_code import njit
from contad.native.recorded_operands import block, operand, put, result, tangent
from contad.native.step_fields import FIRST, RESULT, SECOND, TURNED, A, K, M, N

LANES = 32  # of a long line
LONG = 12  # elements from which on a line is cut into lanes


# ---- operands --------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def numbers(shape, values_at, constants_at):  # type: ignore[no-untyped-def]
    """The operand, in C order; not to be written to."""
    a = operand(shape, A, values_at, constants_at, shape[FIRST], shape[SECOND])
    return a.reshape(a.size)


@njit(**INTERNAL_OPTIONS)
def dots_of(shape, dots_at):  # type: ignore[no-untyped-def]
    """The tangent of the operand, in C order; not to be written to."""
    a = tangent(shape, A, dots_at, shape[FIRST], shape[SECOND])
    return a.reshape(a.size)


@njit(**INTERNAL_OPTIONS)
def one_each(shape, at):  # type: ignore[no-untyped-def]
    """One number of each line: a result, its adjoint or its tangent."""
    return block(at, shape[RESULT], 1, shape[M] * shape[K])[0]


@njit(**INTERNAL_OPTIONS)
def whole(shape, at):  # type: ignore[no-untyped-def]
    """A result with the shape of the operand, its adjoint or its tangent, in C order; not to be written to."""
    z = result(shape, at, shape[FIRST], shape[SECOND])
    return z.reshape(z.size)


@njit(**INTERNAL_OPTIONS)
def room(shape, at):  # type: ignore[no-untyped-def]
    """Where such a result is written in C order, for `put_whole`."""
    n = shape[FIRST] * shape[SECOND]
    return np.empty(n) if shape[TURNED] != 0 else block(at, shape[RESULT], 1, n)[0]


@njit(**INTERNAL_OPTIONS)
def put_whole(shape, at, z):  # type: ignore[no-untyped-def]
    """Write what `room` gave, where it is not the result itself."""
    if shape[TURNED] != 0:
        put(shape, at, z.reshape((shape[FIRST], shape[SECOND])))


# ---- lines -----------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def lines_of(shape):  # type: ignore[no-untyped-def]
    """(times, lines side by side, how far these lie apart, how far the elements of one do)."""
    if shape[K] == 1:
        return 1, shape[M], shape[N], 1
    return shape[M], shape[K], 1, shape[K]


@njit(**INTERNAL_OPTIONS)
def is_cut(shape):  # type: ignore[no-untyped-def]
    """Whether lines are cut into lanes."""
    return shape[K] == 1 and shape[N] >= LONG


@njit(**INTERNAL_OPTIONS)
def read(a, at, apart, count, x):  # type: ignore[no-untyped-def]
    """Elements that lie apart, into a row."""
    if apart == 1:
        part = a[at : at + count]
        for i in range(count):
            x[i] = part[i]
    else:
        for i in range(count):
            x[i] = a[place(at + i * apart)]


@njit(**INTERNAL_OPTIONS)
def write(a, at, apart, count, x):  # type: ignore[no-untyped-def]
    """A row into elements that lie apart."""
    if apart == 1:
        part = a[at : at + count]
        for i in range(count):
            part[i] = x[i]
    else:
        for i in range(count):
            a[place(at + i * apart)] = x[i]


@njit(**INTERNAL_OPTIONS)
def read_padded(a, at, count, x):  # type: ignore[no-untyped-def]
    """Elements in a row, into lanes, the others of which are -inf."""
    part = a[at : at + count]
    for i in range(count):
        x[i] = part[i]
    for i in range(count, LANES):
        x[i] = -np.inf
