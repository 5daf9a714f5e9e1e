"""Matrix products in compiled code, for every engine, and their contributions to adjoints and tangents.

    put_product_at     z = a b
    add_masked_at      c += d p, in which a zero in d masks an infinity or nan in p

The latter is the rule `contad.ops.matmul` in all its directions. Each multiplies one adjoint or tangent:

    a_bar += z_bar b^T     b_bar^T += z_bar^T a     z_dot += a_dot b     z_dot^T += b_dot^T a^T

Matrices have any layout: each comes as an address and two strides. Sizes and strides decide between loops and BLAS.
"""

import numpy as np

from contad.compile.called_by_name import COUNT, called_by_name
from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.words import array_at, hold, numbers_at, word
from contad.kernels.products_in_place import has_rows, is_in_place, multiply_at, multiply_vector_at

_NUMBER = 8  # bytes
_SHIFT, _BYTES = 3, 7  # strides in numbers, and the remainder
_EXPONENT = 0x7FF0000000000000  # all bits of it are set in infinities and nans
FEW = 1000  # number of multiplications that take less time than memory and the call of a routine
FEW_IN_PLACE = 300  # the same for matrices that the routine takes in place
_FEW_FOR_VECTORS = 200  # the same for a matrix and a vector
_NARROW, _IN_L1 = 8, 4000  # columns that vector registers do not help, numbers that the L1 cache keeps


# ---- loops -----------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def are_nonzero(x):  # type: ignore[no-untyped-def]
    """Whether no element is 0, so that there is no masking."""
    found = True
    for d in x:
        found &= d != 0.0
    return found


@njit(**INTERNAL_OPTIONS)
def _multiply_column(d, p, j, columns):  # type: ignore[no-untyped-def]
    """The product of a row and column j of a matrix with contiguous rows: four sums, which do not wait for each
    other."""
    whole, at = d.size - d.size % 4, j
    total, total_1, total_2, total_3 = 0.0, 0.0, 0.0, 0.0
    for i in range(0, whole, 4):
        total += d[i] * p[at]
        total_1 += d[i + 1] * p[at + columns]
        total_2 += d[i + 2] * p[at + 2 * columns]
        total_3 += d[i + 3] * p[at + 3 * columns]
        at += 4 * columns
    for i in range(whole, d.size):
        total += d[i] * p[i * columns + j]
    return (total + total_1) + (total_2 + total_3)


@njit(**INTERNAL_OPTIONS)
def add_rows(d, p, c):  # type: ignore[no-untyped-def]
    """c += d p, for one row d and a matrix p with contiguous rows; by columns, each summed in four parts, if few."""
    columns = c.size
    if columns < _NARROW and d.size * columns < _IN_L1 and are_nonzero(d):
        for j in range(columns):
            c[j] += _multiply_column(d, p, j, columns)
    else:
        add_rows_in_order(d, p, c)


@njit(**INTERNAL_OPTIONS)
def add_rows_in_order(d, p, c):  # type: ignore[no-untyped-def]
    """The same row by row, four at once: the order of sums of the eager engines, in Python too."""
    rows, columns = d.size, c.size
    i = 0
    while i < rows:
        row = p[i * columns : (i + 1) * columns]
        x = d[i]
        if i + 4 <= rows and x * d[i + 1] * d[i + 2] * d[i + 3] != 0.0:
            row_1 = p[(i + 1) * columns : (i + 2) * columns]
            row_2 = p[(i + 2) * columns : (i + 3) * columns]
            row_3 = p[(i + 3) * columns : (i + 4) * columns]
            x_1 = d[i + 1]
            x_2 = d[i + 2]
            x_3 = d[i + 3]
            for j in range(columns):
                c[j] = (((c[j] + x * row[j]) + x_1 * row_1[j]) + x_2 * row_2[j]) + x_3 * row_3[j]
            i += 4
            continue
        if x != 0.0:
            for j in range(columns):
                c[j] += x * row[j]
        i += 1


@njit(**INTERNAL_OPTIONS)
def add_along_columns(d, p, c):  # type: ignore[no-untyped-def]
    """The same for a matrix with contiguous columns, unless d masks: four columns at once, each summed in order."""
    rows = d.size
    k = 0
    while k + 4 <= c.size:
        column, column_1 = p[k * rows : (k + 1) * rows], p[(k + 1) * rows : (k + 2) * rows]
        column_2, column_3 = p[(k + 2) * rows : (k + 3) * rows], p[(k + 3) * rows : (k + 4) * rows]
        total, total_1, total_2, total_3 = c[k], c[k + 1], c[k + 2], c[k + 3]
        for i in range(rows):
            x = d[i]
            total += x * column[i]
            total_1 += x * column_1[i]
            total_2 += x * column_2[i]
            total_3 += x * column_3[i]
        c[k], c[k + 1], c[k + 2], c[k + 3] = total, total_1, total_2, total_3
        k += 4
    while k < c.size:
        column = p[k * rows : (k + 1) * rows]
        for i in range(rows):
            c[k] += d[i] * column[i]
        k += 1


@njit(**INTERNAL_OPTIONS)
def add_few(d, d_row, d_stride, p, p_row, p_stride, c, c_row, c_stride, m, n, k):  # type: ignore[no-untyped-def]
    """c += d p, number by number; for matrices (m, n) and (n, k), with strides in numbers."""
    for i in range(m):
        for j in range(n):
            x = d[i * d_row + j * d_stride]
            if x != 0.0:
                at, p_at = i * c_row, j * p_row
                for h in range(k):
                    c[at + h * c_stride] += x * p[p_at + h * p_stride]


@njit(**INTERNAL_OPTIONS)
def add_by_columns(d, d_row, p, p_stride, c, c_stride, m, k):  # type: ignore[no-untyped-def]
    """c += d p, for one column d and one row p, and a matrix c with contiguous columns."""
    for h in range(k):
        x, at = p[h * p_stride], h * c_stride
        if np.isfinite(x):
            for i in range(m):
                c[at + i] += d[i * d_row] * x
        else:
            for i in range(m):
                if d[i * d_row] != 0.0:
                    c[at + i] += d[i * d_row] * x


@njit(**INTERNAL_OPTIONS)
def _put_few(z, a, a_row, a_stride, b, b_row, b_stride, m, p, n):  # type: ignore[no-untyped-def]
    """z = a b, number by number, for numbers z in C order; with strides in bytes."""
    for j in range(n):
        for i in range(m):
            total = 0.0
            for k in range(p):
                total += array_at(a + i * a_row + k * a_stride, 1)[0] * array_at(b + k * b_row + j * b_stride, 1)[0]
            z[i * n + j] = total


# ---- matrices in place -----------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def is_finite(a):  # type: ignore[no-untyped-def]
    """Whether no element is infinite or nan."""
    at = a.ctypes.data  # it is in C order
    found = 0
    for k in range(a.size):  # a sum of integers, which the compiler vectorises
        found += (word(at, k) & _EXPONENT) == _EXPONENT
    return found == 0


@njit(**INTERNAL_OPTIONS)
def _is_finite_at(at, rows, columns, row, stride):  # type: ignore[no-untyped-def]
    """The same for a matrix that BLAS takes in place."""
    if not has_rows(columns, row, stride):
        rows, columns, row = columns, rows, stride
    if row == _NUMBER * columns:
        return is_finite(array_at(at, rows * columns))
    for i in range(rows):  # noqa: SIM110  (Numba has no generators)
        if not is_finite(array_at(at + i * row, columns)):
            return False
    return True


@njit(**INTERNAL_OPTIONS)
def _is_packed(rows, columns, row, stride):  # type: ignore[no-untyped-def]
    """Whether a matrix is in C order."""
    return (stride == _NUMBER or columns == 1) and (row == _NUMBER * columns or rows == 1)


@njit(**INTERNAL_OPTIONS)
def _pack(at, rows, columns, row, stride):  # type: ignore[no-untyped-def]
    """A matrix in C order: itself, or a copy if needed."""
    if _is_packed(rows, columns, row, stride):
        return array_at(at, (rows, columns))
    made = np.empty((rows, columns))
    for i in range(rows):
        for k in range(columns):
            made[i, k] = array_at(at + i * row + k * stride, 1)[0]
    return made


@njit(**INTERNAL_OPTIONS)
def _add_times_vector(a, a_row, a_stride, m, n, x, x_stride, z, z_stride):  # type: ignore[no-untyped-def]
    """z += a x by BLAS; return whether it is done: not if a zero may have to mask an infinity or nan."""
    if m * n <= FEW or x_stride < _NUMBER or x_stride % _NUMBER or not is_in_place(m, n, a_row, a_stride):
        return False
    made = np.empty(m)
    multiply_vector_at(a, a_row, a_stride, m, n, x, x_stride, made)
    if not is_finite(made):
        return False
    for i in range(m):
        array_at(z + i * z_stride, 1)[0] += made[i]
    return True


@njit(**INTERNAL_OPTIONS)
def _add_packed(d, d_row, d_stride, p, p_row, p_stride, c, c_row, c_stride, m, n, k):  # type: ignore[no-untyped-def]
    """c += d p; matrices that are not in C order are copied."""
    x, y, z = _pack(d, m, n, d_row, d_stride), _pack(p, n, k, p_row, p_stride), _pack(c, m, k, c_row, c_stride)
    x_at, y_at, z_at = np.int64(x.ctypes.data), np.int64(y.ctypes.data), np.int64(z.ctypes.data)
    if m * n * k > FEW and is_finite(y):
        rows, stride = _NUMBER * n, _NUMBER * k
        multiply_at(1.0, x_at, rows, _NUMBER, y_at, stride, _NUMBER, 1.0, z_at, stride, _NUMBER, m, n, k)
    else:
        add_few(numbers_at(x_at), n, 1, numbers_at(y_at), k, 1, numbers_at(z_at), k, 1, m, n, k)
    if z_at != c:
        for i in range(m):
            for h in range(k):
                array_at(c + i * c_row + h * c_stride, 1)[0] = z[i, h]
    hold(x)
    hold(y)
    hold(z)


# ---- functions that engines call -------------------------------------------------------------------------------------
@called_by_name(*[COUNT] * 12)
def add_masked_at(d, d_row, d_stride, p, p_row, p_stride, c, c_row, c_stride, m, n, k):  # type: ignore[no-untyped-def]
    """c += d p, for matrices (m, n) and (n, k); c overlaps with neither."""
    size = m * n * k
    if size == 0:
        return
    if n == 1:
        if not has_rows(k, c_row, c_stride) and has_rows(m, c_stride, c_row) and not (d_row | p_stride) & _BYTES:
            x_row, y_stride = d_row >> _SHIFT, p_stride >> _SHIFT
            add_by_columns(numbers_at(d), x_row, numbers_at(p), y_stride, numbers_at(c), c_stride >> _SHIFT, m, k)
            return
    elif m == 1:
        if _add_times_vector(p, p_stride, p_row, k, n, d, d_stride, c, c_stride):
            return
        if _is_packed(n, 1, d_stride, 0) and _is_packed(1, k, 0, c_stride):
            x, y, z = array_at(d, n), array_at(p, n * k), array_at(c, k)
            if _is_packed(n, k, p_row, p_stride):
                add_rows(x, y, z)
                return
            if _is_packed(k, n, p_stride, p_row) and are_nonzero(x):
                add_along_columns(x, y, z)
                return
    elif k == 1:
        if _add_times_vector(d, d_row, d_stride, m, n, p, p_row, c, c_row):
            return
    elif (
        size > FEW_IN_PLACE
        and is_in_place(m, n, d_row, d_stride)
        and is_in_place(n, k, p_row, p_stride)
        and is_in_place(m, k, c_row, c_stride)
        and _is_finite_at(p, n, k, p_row, p_stride)
    ):
        multiply_at(1.0, d, d_row, d_stride, p, p_row, p_stride, 1.0, c, c_row, c_stride, m, n, k)
        return
    if (n > 1 and size > FEW) or (d_row | d_stride | p_row | p_stride | c_row | c_stride) & _BYTES:
        _add_packed(d, d_row, d_stride, p, p_row, p_stride, c, c_row, c_stride, m, n, k)
        return
    d_row, d_stride, p_row, p_stride = d_row >> _SHIFT, d_stride >> _SHIFT, p_row >> _SHIFT, p_stride >> _SHIFT
    c_row, c_stride = c_row >> _SHIFT, c_stride >> _SHIFT
    add_few(numbers_at(d), d_row, d_stride, numbers_at(p), p_row, p_stride, numbers_at(c), c_row, c_stride, m, n, k)


@called_by_name(*[COUNT] * 12)
def put_product_at(z, z_row, z_stride, a, a_row, a_stride, b, b_row, b_stride, m, p, n):  # type: ignore[no-untyped-def]
    """z = a b, for matrices (m, p) and (p, n), and a matrix z in C order."""
    if m == 1:  # z^T = b^T a^T
        a, a_row, a_stride, b, b_row, b_stride, m, n = b, b_stride, b_row, a, a_stride, a_row, n, 1
    if n == 1:
        if m * p > _FEW_FOR_VECTORS and _put_times_vector(a, a_row, a_stride, m, p, b, b_row, z):
            return
    elif m * p * n > FEW_IN_PLACE:
        if is_in_place(m, p, a_row, a_stride) and is_in_place(p, n, b_row, b_stride):
            multiply_at(1.0, a, a_row, a_stride, b, b_row, b_stride, 0.0, z, z_row, z_stride, m, p, n)
        else:
            x, y = _pack(a, m, p, a_row, a_stride), _pack(b, p, n, b_row, b_stride)
            row, stride = _NUMBER * p, _NUMBER * n
            x_at, y_at = np.int64(x.ctypes.data), np.int64(y.ctypes.data)
            multiply_at(1.0, x_at, row, _NUMBER, y_at, stride, _NUMBER, 0.0, z, z_row, z_stride, m, p, n)
            hold(x)
            hold(y)
        return
    _put_few(array_at(z, m * n), a, a_row, a_stride, b, b_row, b_stride, m, p, n)


@njit(**INTERNAL_OPTIONS)
def _put_times_vector(a, a_row, a_stride, m, n, x, x_stride, z_at):  # type: ignore[no-untyped-def]
    """z = a x by BLAS; return whether BLAS takes the matrix."""
    if not is_in_place(m, n, a_row, a_stride):
        return False
    if x_stride >= _NUMBER and x_stride % _NUMBER == 0:
        multiply_vector_at(a, a_row, a_stride, m, n, x, x_stride, array_at(z_at, m))
    else:
        copy = _pack(x, n, 1, x_stride, _NUMBER)
        multiply_vector_at(a, a_row, a_stride, m, n, np.int64(copy.ctypes.data), _NUMBER, array_at(z_at, m))
        hold(copy)
    return True
