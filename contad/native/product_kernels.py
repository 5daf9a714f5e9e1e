"""The adjoints of a product of matrices in compiled code, for every engine: the rule `contad.ops.matmul`, as loops.

A zero of z_bar masks what is infinite or nan in the other factor, as the rule has it. Matrices are in C order.
"""

import numpy as np

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.words import word

_EXPONENT = 0x7FF0000000000000  # all bits of it are set in what is infinite or nan
FEW = 1000  # multiplications that take less time than the memory and the call of a routine for them
FEW_IN_PLACE = 300  # likewise of matrices that the routine takes as they lie


# ---- a matrix and a vector -------------------------------------------------------------------------------------------
# By rows: each number of the matrix is met once, and a row whose z_bar is 0 adds nothing, whatever stands in it.
@njit(**INTERNAL_OPTIONS)
def add_rows(z_bar, a, b_bar):  # type: ignore[no-untyped-def]
    """b_bar += a^T z_bar, for a matrix a whose rows follow one another."""
    rows, columns = z_bar.size, b_bar.size
    i = 0
    while i < rows:
        row = a[i * columns : (i + 1) * columns]
        d = z_bar[i]
        if i + 4 <= rows and d * z_bar[i + 1] * z_bar[i + 2] * z_bar[i + 3] != 0.0:
            row_1 = a[(i + 1) * columns : (i + 2) * columns]
            row_2 = a[(i + 2) * columns : (i + 3) * columns]
            row_3 = a[(i + 3) * columns : (i + 4) * columns]
            d_1 = z_bar[i + 1]
            d_2 = z_bar[i + 2]
            d_3 = z_bar[i + 3]
            for j in range(columns):
                b_bar[j] += (d * row[j] + d_1 * row_1[j]) + (d_2 * row_2[j] + d_3 * row_3[j])
            i += 4
            continue
        if d != 0.0:
            for j in range(columns):
                b_bar[j] += d * row[j]
        i += 1


@njit(**INTERNAL_OPTIONS)
def add_outer(z_bar, b, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T, for a matrix a_bar whose rows follow one another."""
    for i in range(z_bar.size):
        d = z_bar[i]
        if d != 0.0:
            row = a_bar[i * b.size : (i + 1) * b.size]
            for j in range(b.size):
                row[j] += d * b[j]


@njit(**INTERNAL_OPTIONS)
def add_few(z_bar, lengths, x, x_steps, bar, bar_steps):  # type: ignore[no-untyped-def]
    """bar += z_bar times the other factor, number by number, for rows i, columns j and terms k, with steps for each."""
    rows, columns, terms = lengths
    for i in range(rows):
        for j in range(columns):
            d = z_bar[i * columns + j]
            if d != 0.0:
                at, x_at = i * bar_steps[0] + j * bar_steps[1], i * x_steps[0] + j * x_steps[1]
                for k in range(terms):
                    bar[at + k * bar_steps[2]] += d * x[x_at + k * x_steps[2]]


# ---- matrices --------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def multiply_into(a, b, z):  # type: ignore[no-untyped-def]
    """z = a b, by the routine for matrices, or for a matrix and a vector."""
    if b.shape[1] == 1:
        np.dot(a, b.reshape(b.size), z.reshape(z.size))
    elif a.shape[0] == 1:
        np.dot(a.reshape(a.size), b, z.reshape(z.size))
    else:
        np.dot(a, b, z)


@njit(**INTERNAL_OPTIONS)
def add_turned(a, target):  # type: ignore[no-untyped-def]
    """target += a^T"""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            target[j, i] += a[i, j]


@njit(**INTERNAL_OPTIONS)
def is_finite(a):  # type: ignore[no-untyped-def]
    """Whether no element is infinite or nan."""
    at = a.ctypes.data  # it is in C order
    found = 0
    for k in range(a.size):  # a sum of integers, which the compiler takes several at a time
        found += (word(at, k) & _EXPONENT) == _EXPONENT
    return found == 0


@njit(**INTERNAL_OPTIONS)
def add_product(d, p, target):  # type: ignore[no-untyped-def]
    """target += d p, in which a zero of d masks what is not finite in p."""
    if d.size * p.shape[1] > FEW and is_finite(p):
        z = np.empty(target.shape)
        multiply_into(d, p, z)
        for i in range(z.shape[0]):
            for k in range(z.shape[1]):
                target[i, k] += z[i, k]
    else:
        for i in range(d.shape[0]):
            for j in range(d.shape[1]):
                if d[i, j] != 0.0:
                    for k in range(p.shape[1]):
                        target[i, k] += d[i, j] * p[j, k]


@njit(**INTERNAL_OPTIONS)
def add_left_matrix(z_bar, b, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T"""
    (m, n), p = z_bar.shape, a_bar.shape[1]
    if n == 1:
        add_outer(z_bar.reshape(m), b.reshape(p), a_bar.reshape(m * p))
    elif m * n * p > FEW and is_finite(b):
        if m == 1:
            row = a_bar[0]  # an assignment to a_bar[0] would compile the text of its error
            row += np.dot(b, z_bar.reshape(n))
        else:
            a_bar += np.dot(z_bar, b.T)
    else:
        for i in range(m):
            for j in range(n):
                if z_bar[i, j] != 0.0:
                    for k in range(p):
                        a_bar[i, k] += z_bar[i, j] * b[k, j]


@njit(**INTERNAL_OPTIONS)
def add_right_matrix(z_bar, a, b_bar):  # type: ignore[no-untyped-def]
    """b_bar += a^T z_bar"""
    (m, n), p = z_bar.shape, a.shape[1]
    if n == 1:
        add_rows(z_bar.reshape(m), a.reshape(m * p), b_bar.reshape(p))
    elif m > 1 and m * n * p > FEW and is_finite(a):
        b_bar += np.dot(a.T, z_bar)
    else:
        for i in range(m):
            for k in range(p):
                for j in range(n):
                    if z_bar[i, j] != 0.0:
                        b_bar[k, j] += z_bar[i, j] * a[i, k]
