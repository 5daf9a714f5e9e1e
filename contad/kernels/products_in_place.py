"""Products and triangular systems in compiled code by BLAS, which reads matrices in place: no operand is copied.

The elements of each row, or of each column, are contiguous. Rows or columns may have gaps between them, as in a
submatrix.
"""

from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.lapack import gemm, gemv, trsm
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload

_NO, _YES = ord("N"), ord("T")
_LEFT, _UPPER = ord("L"), ord("U")
_NUMBER = 8  # bytes


@njit(**INTERNAL_OPTIONS)
def has_rows(columns, row, stride):  # type: ignore[no-untyped-def]
    """Whether a matrix of these strides, in bytes, has contiguous rows."""
    return (stride == _NUMBER or columns == 1) and row % _NUMBER == 0 and row >= _NUMBER * columns


@njit(**INTERNAL_OPTIONS)
def is_in_place(rows, columns, row, stride):  # type: ignore[no-untyped-def]
    """Whether BLAS takes a matrix of these strides."""
    return has_rows(columns, row, stride) or has_rows(rows, stride, row)


@njit(**INTERNAL_OPTIONS)
def multiply_at(alpha, a, a_row, a_stride, b, b_row, b_stride, beta, c, c_row, c_stride, m, p, n):  # type: ignore[no-untyped-def]
    """c = alpha a b + beta c; c is not read if beta is 0.

    The matrices come as addresses and strides, and BLAS takes them in place. c must not overlap with a or b.
    """
    if m * p * n == 0:
        return
    if not has_rows(n, c_row, c_stride):  # c^T += alpha b^T a^T
        a, a_row, a_stride, b, b_row, b_stride = b, b_stride, b_row, a, a_stride, a_row
        c_row, c_stride, m, n = c_stride, c_row, n, m
    # to BLAS the rows are columns, and the matrices transposed: again the product of the second and the first
    a_flag, a_apart = (_NO, a_row) if has_rows(p, a_row, a_stride) else (_YES, a_stride)
    b_flag, b_apart = (_NO, b_row) if has_rows(n, b_row, b_stride) else (_YES, b_stride)
    gemm((
        b_flag, a_flag, n, m, p, alpha, np.int64(b), b_apart // _NUMBER, np.int64(a), a_apart // _NUMBER,
        beta, np.int64(c), c_row // _NUMBER,
    ))  # fmt: skip


@njit(**INTERNAL_OPTIONS)
def multiply_vector_at(a, a_row, a_stride, m, n, x, x_stride, z):  # type: ignore[no-untyped-def]
    """z = a x, for a matrix of m rows in place, a vector x, and an array z of m elements."""
    if has_rows(n, a_row, a_stride):
        gemv((_YES, n, m, 1.0, a, a_row // _NUMBER, x, x_stride // _NUMBER, 0.0, z, 1))
    else:
        gemv((_NO, m, n, 1.0, a, a_stride // _NUMBER, x, x_stride // _NUMBER, 0.0, z, 1))


def add_product(alpha: Any, a: Any, b: Any, c: Any) -> None:
    """c += alpha a b"""
    c += alpha * (a @ b)


@add_overload(add_product, jit_options=INTERNAL_OPTIONS)
def _add_product(alpha: Any, a: Any, b: Any, c: Any) -> Any:
    def implementation(alpha: Any, a: Any, b: Any, c: Any) -> None:
        multiply_at(
            alpha, a.ctypes.data, a.strides[0], a.strides[1], b.ctypes.data, b.strides[0], b.strides[1], 1.0,
            c.ctypes.data, c.strides[0], c.strides[1], a.shape[0], a.shape[1], b.shape[1],
        )  # fmt: skip

    return implementation


def solve_from_right(t: Any, c: Any) -> None:
    """c = c t^-1, for the lower triangle of t; the rows of both are contiguous."""
    c[...] = np.linalg.solve(np.tril(t).T, c.T).T


@add_overload(solve_from_right, jit_options=INTERNAL_OPTIONS)
def _solve_from_right(t: Any, c: Any) -> Any:
    def implementation(t: Any, c: Any) -> None:
        if c.size != 0:
            trsm((
                _LEFT, _UPPER, _NO, _NO, c.shape[1], c.shape[0], 1.0, t.ctypes.data, t.strides[0] // _NUMBER,
                c.ctypes.data, c.strides[0] // _NUMBER,
            ))  # fmt: skip

    return implementation
