"""Products of two matrices of which one is lanes: one call of BLAS for all directions, or loops where they are small.

    z += x y,     lane by lane: in C order the lanes of y are further columns, x [y_0 y_1 ...] = [z_0 z_1 ...]

Where x is the lanes, the transposes are multiplied: z^T += y^T x^T.
"""

import numpy as np
from numba import types

from contad.native.called_by_name import called_by_name
from contad.native.overloads import in_machine_code
from contad.native.products_in_place import add_product, is_in_place
from contad.native.words import array_at

SMALL = 600  # multiplications of lanes that take less time in loops
_MATRIX = types.Array(types.float64, 2, "A")
_FLOATS = types.Array(types.float64, 3, "A")
_NUMBER = 8  # bytes


@in_machine_code
def _is_in_order(x):  # type: ignore[no-untyped-def]
    """Whether the lanes of a matrix follow one another row by row."""
    m, n, k = x.shape
    return (x.strides[1] == _NUMBER * k or n == 1) and (x.strides[0] == _NUMBER * n * k or m == 1)


@in_machine_code
def _copy_lanes(x):  # type: ignore[no-untyped-def]
    """A copy in C order."""
    m, n, k = x.shape
    made = np.empty((m, n, k))
    for i in range(m):
        for j in range(n):
            for lane in range(k):
                made[i, j, lane] = x[i, j, lane]
    return made


@in_machine_code
def _columns(x):  # type: ignore[no-untyped-def]
    """Lanes in C order as columns, in the same memory, which the caller keeps alive."""
    return array_at(x.ctypes.data, (x.shape[0], x.shape[1] * x.shape[2]))


@in_machine_code
def _add_to_columns(x, y, z):  # type: ignore[no-untyped-def]
    if _is_in_order(y):
        add_product(1.0, x, _columns(y), z)
    else:
        made = _copy_lanes(y)
        add_product(1.0, x, made.reshape((y.shape[0], z.shape[1])), z)


@in_machine_code
def _add_in_place(x, y, z):  # type: ignore[no-untyped-def]
    """z += x y, for a matrix x that BLAS takes."""
    if _is_in_order(z):
        _add_to_columns(x, y, _columns(z))
        return
    m, n, k = z.shape
    made = np.zeros((m, n * k))
    _add_to_columns(x, y, made)
    for j in range(n):  # a transpose, as a rule
        for i in range(m):
            for lane in range(k):
                z[i, j, lane] += made[i, j * k + lane]


@called_by_name(_MATRIX, _FLOATS, _FLOATS)
def add_numbers_times_lanes(x, y, z):  # type: ignore[no-untyped-def]
    """z += x y, for a matrix x of numbers; the last axis of y and z has the lanes."""
    if z.size == 0 or x.size == 0:
        return
    if is_in_place(x.shape[0], x.shape[1], x.strides[0], x.strides[1]):
        _add_in_place(x, y, z)
    else:
        _add_in_place(x.copy(), y, z)


@in_machine_code
def add_by_loops(x, y, z):  # type: ignore[no-untyped-def]
    """z += x y, for matrices of numbers and lanes, of which z is lanes."""
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            total = z[i, j]
            for k in range(y.shape[0]):
                total += x[i, k] * y[k, j]
            z[i, j] = total
