"""Loops over matrices for the kernels: they compile in a fraction of the time of NumPy expressions.

Their results are new and in C order, so that Numba compiles each of them for few types.
"""

from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.overloads import add_overload, in_machine_code
from contad.compile.words import array_at

_FEW = 1000  # multiplications that take less time than the call of a routine for them
_NUMBER = 8  # bytes
_TILE = 32  # rows and columns of a matrix and its transpose that fit into the cache


# ---- in the same memory ----------------------------------------------------------------------------------------------
def is_in_rows(a: Any) -> bool:
    """Whether the matrix is in C order."""
    return bool(a.flags.c_contiguous)


def in_rows(a: Any) -> Any:
    """The matrix in C order: itself, or a copy if needed; the caller keeps it alive."""
    return np.ascontiguousarray(a)


@add_overload(is_in_rows, jit_options=INTERNAL_OPTIONS)
def _is_in_rows(a: Any) -> Any:
    def implementation(a: Any) -> bool:
        (rows, columns), (row, stride) = a.shape, a.strides
        return (stride == _NUMBER or columns == 1) and (row == _NUMBER * columns or rows == 1)

    return (lambda a: True) if a.layout == "C" else implementation


@add_overload(in_rows, jit_options=INTERNAL_OPTIONS)
def _in_rows(a: Any) -> Any:
    def implementation(a: Any) -> Any:
        if is_in_rows(a):
            return array_at(a.ctypes.data, a.shape)
        return in_order(a)

    return (lambda a: a) if a.layout == "C" else implementation


# ---- elements --------------------------------------------------------------------------------------------------------
@in_machine_code
def in_order(a):  # type: ignore[no-untyped-def]
    """A copy."""
    return take_part(a, 0, a.shape[0], 0, a.shape[1])


@in_machine_code
def take_part(a, first, end, left, right):  # type: ignore[no-untyped-def]
    """A copy of a[first:end, left:right]."""
    made = np.empty((end - first, right - left))
    for i in range(first, end):
        for j in range(left, right):
            made[i - first, j - left] = a[i, j]
    return made


@in_machine_code
def turn(a):  # type: ignore[no-untyped-def]
    """The transpose."""
    m, n = a.shape
    made = np.empty((n, m))
    for top in range(0, m, _TILE):
        for left in range(0, n, _TILE):
            for j in range(left, min(left + _TILE, n)):
                for i in range(top, min(top + _TILE, m)):
                    made[j, i] = a[i, j]
    return made


@in_machine_code
def write_into(z, a):  # type: ignore[no-untyped-def]
    """z = a"""
    if is_in_rows(z) and is_in_rows(a):
        target, rows = in_rows(z), in_rows(a)
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                target[i, j] = rows[i, j]
        return
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[i, j] = a[i, j]


# For an assignment to a slice Numba compiles the text of its error, which takes seconds; so these are loops.


@in_machine_code
def write_rows(z, first, a):  # type: ignore[no-untyped-def]
    """z[first:] = a, for the rows of a."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[first + i, j] = a[i, j]


@in_machine_code
def write_row(z, i, a):  # type: ignore[no-untyped-def]
    """z[i] = a, for the elements of a vector a."""
    for j in range(a.size):
        z[i, j] = a[j]


@in_machine_code
def clear(z):  # type: ignore[no-untyped-def]
    """z = 0"""
    if is_in_rows(z):
        rows = in_rows(z)
        for i in range(z.shape[0]):
            for j in range(z.shape[1]):
                rows[i, j] = 0.0
        return
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] = 0.0


@in_machine_code
def write_column(z, a):  # type: ignore[no-untyped-def]
    """z = a, for a vector a and a matrix z of one column; further rows of z do not change."""
    for i in range(a.size):
        z[i, 0] = a[i]


@in_machine_code
def write_vector(z, a):  # type: ignore[no-untyped-def]
    """z = a, for vectors."""
    for i in range(a.size):
        z[i] = a[i]


@in_machine_code
def take_column(a):  # type: ignore[no-untyped-def]
    """A copy of the first column, as a vector."""
    made = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        made[i] = a[i, 0]
    return made


@in_machine_code
def add_into(z, a):  # type: ignore[no-untyped-def]
    """z += a, unless z is empty because it is not needed."""
    if z.size != 0:
        add_scaled(z, 0, 0, 1.0, a)


@in_machine_code
def add_scaled(z, first, left, c, a):  # type: ignore[no-untyped-def]
    """z[first:, left:] += c a, for the rows and columns of a."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[first + i, left + j] += c * a[i, j]


@in_machine_code
def add(a, b):  # type: ignore[no-untyped-def]
    """a + b"""
    made = in_order(a)
    add_scaled(made, 0, 0, 1.0, b)
    return made


@in_machine_code
def subtract(a, b):  # type: ignore[no-untyped-def]
    """a - b"""
    made = in_order(a)
    add_scaled(made, 0, 0, -1.0, b)
    return made


@in_machine_code
def scale_columns(a, s):  # type: ignore[no-untyped-def]
    """Each column of a by its number of s."""
    made = in_order(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[i, j] *= s[j]
    return made


@in_machine_code
def is_zero(a):  # type: ignore[no-untyped-def]
    """Whether all elements are zero."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] != 0.0:
                return False
    return True


@in_machine_code
def has_finite(a):  # type: ignore[no-untyped-def]
    """Whether no element is infinite or nan."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] - a[i, j] != 0.0:
                return False
    return True


@in_machine_code
def dot(a, b):  # type: ignore[no-untyped-def]
    """a b; by loops if there are few rows."""
    m, n = a.shape[0], b.shape[1]
    if m * n * b.shape[0] > _FEW:
        return np.dot(a, b)
    made = np.zeros((m, n))
    for i in range(m):
        for j in range(b.shape[0]):
            for k in range(n):
                made[i, k] += a[i, j] * b[j, k]
    return made


# ---- triangles -------------------------------------------------------------------------------------------------------
@in_machine_code
def masked_sum(c, a_dot):  # type: ignore[no-untyped-def]
    """<c, a_dot>, in which a zero in a_dot masks an infinity or nan in c."""
    total = 0.0
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            if a_dot[i, j] != 0.0:
                total += c[i, j] * a_dot[i, j]
    return total


@in_machine_code
def copy_lower(a, k):  # type: ignore[no-untyped-def]
    """The lower triangle of a, up to the diagonal k, with zeros above."""
    made = np.zeros(a.shape)
    for i in range(a.shape[0]):
        for j in range(min(i + k + 1, a.shape[1])):
            made[i, j] = a[i, j]
    return made


@in_machine_code
def copy_upper(a, k):  # type: ignore[no-untyped-def]
    """The upper triangle of a, from the diagonal k on, with zeros below."""
    made = np.zeros(a.shape)
    for i in range(a.shape[0]):
        for j in range(max(i + k, 0), a.shape[1]):
            made[i, j] = a[i, j]
    return made


@in_machine_code
def halve_triangle(a):  # type: ignore[no-untyped-def]
    """The lower triangle of a, with half of its diagonal."""
    made = copy_lower(a, 0)
    for i in range(a.shape[0]):
        made[i, i] *= 0.5
    return made


@in_machine_code
def onto_lower(c):  # type: ignore[no-untyped-def]
    """The cotangent of a symmetric matrix of which only the lower triangle is read: sums of both elements there, zeros
    above."""
    made = np.zeros(c.shape)
    for i in range(c.shape[0]):
        made[i, i] = c[i, i]
        for j in range(i):
            made[i, j] = c[i, j] + c[j, i]
    return made


@in_machine_code
def mirror_lower(a):  # type: ignore[no-untyped-def]
    """The symmetric matrix whose lower triangle is in a."""
    made = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            made[i, j] = made[j, i] = a[i, j]
    return made


@in_machine_code
def add_mirrored(a):  # type: ignore[no-untyped-def]
    """The lower triangle of a, and its transpose added: twice the diagonal."""
    made = mirror_lower(a)
    for i in range(a.shape[0]):
        made[i, i] *= 2.0
    return made
