"""Loops on matrices in compiled code, for the kernels: they compile in a fraction of the time of NumPy's expressions.

What they return is new and in C order, so that each of them is compiled for few types.
"""

import numpy as np

from contad.native.overloads import in_machine_code

_FEW = 1000  # multiplications that take less time than the call of a routine for them


# ---- elements --------------------------------------------------------------------------------------------------------
@in_machine_code
def in_order(a):  # type: ignore[no-untyped-def]
    """A copy."""
    return take_block(a, 0, a.shape[0], 0, a.shape[1])


@in_machine_code
def take_block(a, first, end, left, right):  # type: ignore[no-untyped-def]
    """A copy of a[first:end, left:right]."""
    made = np.empty((end - first, right - left))
    for i in range(first, end):
        for j in range(left, right):
            made[i - first, j - left] = a[i, j]
    return made


@in_machine_code
def turn(a):  # type: ignore[no-untyped-def]
    """The transpose."""
    made = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[j, i] = a[i, j]
    return made


@in_machine_code
def write_into(z, a):  # type: ignore[no-untyped-def]
    """z = a"""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[i, j] = a[i, j]


@in_machine_code
def write_column(z, a):  # type: ignore[no-untyped-def]
    """z = a, for a vector a and a matrix z of one column, whose further rows are left alone."""
    for i in range(a.size):
        z[i, 0] = a[i]


@in_machine_code
def take_column(a):  # type: ignore[no-untyped-def]
    """A copy of the first column, as a vector."""
    made = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        made[i] = a[i, 0]
    return made


@in_machine_code
def add_into(z, a):  # type: ignore[no-untyped-def]
    """z += a, unless z is empty because nobody asks for it."""
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
def dot(a, b):  # type: ignore[no-untyped-def]
    """a b, of few rows by loops."""
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
    """The cotangent of a symmetric matrix, of which the lower triangle is read: both sums there, zeros above."""
    made = np.zeros(c.shape)
    for i in range(c.shape[0]):
        made[i, i] = c[i, i]
        for j in range(i):
            made[i, j] = c[i, j] + c[j, i]
    return made


@in_machine_code
def mirror_lower(a):  # type: ignore[no-untyped-def]
    """The symmetric matrix of which a has the lower triangle."""
    made = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            made[i, j] = made[j, i] = a[i, j]
    return made
