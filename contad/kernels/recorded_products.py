"""Matrix products in recordings: in a program, and in a recording that is swept once. A transposed factor is stored as
its transpose, and so are its adjoint and its tangent.

The shape of a product z = a b in a program is (z, place of a, whether a is in cells, m, p, place of b, whether b is in
cells, n, whether a and b are transposed). Vectors are matrices of one row or one column.
"""

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.words import array_at, hold, integers_at
from contad.kernels.gram_matrices import gram
from contad.kernels.matrix_loops import write_rows
from contad.kernels.product_kernels import FEW_IN_PLACE, add_masked_at, is_finite, put_product_at
from contad.kernels.recorded_operands import fields, place_of
from contad.kernels.shape_fields import A_CELLS, A_TURNED, B_CELLS, B_TURNED, RESULT, A, B, K, M, N

_NUMBER = 8  # bytes


@njit(**INTERNAL_OPTIONS)
def _strides(rows, columns, is_turned):  # type: ignore[no-untyped-def]
    return (_NUMBER, _NUMBER * rows) if is_turned else (_NUMBER * columns, _NUMBER)


@njit(**INTERNAL_OPTIONS)
def _matrix(at, rows, columns, is_turned):  # type: ignore[no-untyped-def]
    return array_at(at, (columns, rows)).T if is_turned else array_at(at, (rows, columns))


@njit(**INTERNAL_OPTIONS)
def _is_gram(a, a_turned, b, b_turned, m, p, n):  # type: ignore[no-untyped-def]
    """Whether the product is b^T b, and large enough that half of the work takes less time."""
    return a == b and a_turned != b_turned and m == n and m * p * n > FEW_IN_PLACE


@njit(**INTERNAL_OPTIONS)
def pull_product(z_bar, a, a_bar, a_turned, b, b_bar, b_turned, m, p, n):  # type: ignore[no-untyped-def]
    """Add the contributions of z = a b, (m, p) by (p, n), to the adjoints of its factors; the address for a constant is
    0."""
    (a_row, a_stride), (b_row, b_stride), row = _strides(m, p, a_turned), _strides(p, n, b_turned), _NUMBER * n
    if _is_gram(a, a_turned, b, b_turned, m, p, n) and a_bar != 0 and a_bar == b_bar:
        d = array_at(z_bar, (n, n))
        if is_finite(array_at(a, m * p)) and is_finite(d):  # without masking one product serves both factors
            both = np.empty((n, n))
            for i in range(n):
                for j in range(n):
                    both[i, j] = d[i, j] + d[j, i]
            add_masked_at(both.ctypes.data, row, _NUMBER, a, a_row, a_stride, a_bar, a_row, a_stride, n, n, p)
            hold(both)
            return
    if a_bar != 0:
        add_masked_at(z_bar, row, _NUMBER, b, b_stride, b_row, a_bar, a_row, a_stride, m, n, p)
    if b_bar != 0:
        add_masked_at(z_bar, _NUMBER, row, a, a_row, a_stride, b_bar, b_stride, b_row, n, m, p)


# ---- products of programs --------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def _read(shape_at, values_at, constants_at, cells_at):  # type: ignore[no-untyped-def]
    """The cells and position of z, a and b, whether each is transposed, and the sizes."""
    z, x, x_cells, m, p, y, y_cells, n, a_turned, b_turned = integers_at(shape_at, 10)
    a, of_a = (values_at + _NUMBER * x, cells_at + _NUMBER * x) if x_cells else (constants_at + _NUMBER * x, 0)
    b, of_b = (values_at + _NUMBER * y, cells_at + _NUMBER * y) if y_cells else (constants_at + _NUMBER * y, 0)
    return cells_at + _NUMBER * z, a, of_a, a_turned, b, of_b, b_turned, m, p, n


@njit(**INTERNAL_OPTIONS)
def product_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z = a b"""
    z, a, _, a_turned, b, _, b_turned, m, p, n = _read(shape_at, values_at, constants_at, values_at)
    if _is_gram(a, a_turned, b, b_turned, m, p, n):
        write_rows(array_at(z, (n, n)), 0, gram(_matrix(b, p, n, b_turned)))
        return
    (a_row, a_stride), (b_row, b_stride) = _strides(m, p, a_turned), _strides(p, n, b_turned)
    put_product_at(z, _NUMBER * n, _NUMBER, a, a_row, a_stride, b, b_row, b_stride, m, p, n)


@njit(**INTERNAL_OPTIONS)
def product_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T, b_bar += a^T z_bar"""
    z_bar, a, a_bar, a_turned, b, b_bar, b_turned, m, p, n = _read(shape_at, values_at, constants_at, adjoints_at)
    pull_product(z_bar, a, a_bar, a_turned, b, b_bar, b_turned, m, p, n)


@njit(**INTERNAL_OPTIONS)
def product_tangent(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """z_dot += a_dot b + a b_dot"""
    z_dot, a, a_dot, a_turned, b, b_dot, b_turned, m, p, n = _read(shape_at, values_at, constants_at, dots_at)
    (a_row, a_stride), (b_row, b_stride), row = _strides(m, p, a_turned), _strides(p, n, b_turned), _NUMBER * n
    if a_dot != 0:
        add_masked_at(a_dot, a_row, a_stride, b, b_row, b_stride, z_dot, row, _NUMBER, m, p, n)
    if b_dot != 0:
        add_masked_at(b_dot, b_stride, b_row, a, a_stride, a_row, z_dot, _NUMBER, row, n, p, m)


# ---- products of a recording that is swept at once -------------------------------------------------------------------
def record_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """The same, for a kernel record."""
    shape = fields(shape_at)
    pull_product(
        adjoints_at + _NUMBER * shape[RESULT],
        place_of(shape, A, values_at, constants_at),
        adjoints_at + _NUMBER * shape[A] if shape[A_CELLS] > 0 else 0,
        shape[A_TURNED],
        place_of(shape, B, values_at, constants_at),
        adjoints_at + _NUMBER * shape[B] if shape[B_CELLS] > 0 else 0,
        shape[B_TURNED],
        shape[M],
        shape[K],
        shape[N],
    )


PRODUCT_KERNELS = {"matmul": (None, record_adjoint)}  # values are NumPy's, or those of programs
