"""The adjoints of products of matrices in recordings: of a program, and of one that is swept at once."""

import numpy as np
from numba import carray

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.looped_products import SMALL, pull_small
from contad.native.machine_code import njit
from contad.native.product_adjoints import add_left, add_right
from contad.native.product_kernels import is_finite
from contad.native.products_in_place import add_product_at
from contad.native.recorded_operands import fields, place_of
from contad.native.step_fields import A_CELLS, A_TURNED, B_CELLS, B_TURNED, RESULT, A, B, K, M, N
from contad.native.words import hold, pointer

_NUMBER = 8  # bytes


@njit(**INTERNAL_OPTIONS)
def _matrix(at, rows, columns):  # type: ignore[no-untyped-def]
    return carray(pointer(at), (rows, columns), np.float64)


@njit(**INTERNAL_OPTIONS)
def _pull_left(z_bar, b, bar_at, m, p, is_turned):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T"""
    if is_turned:
        add_left(z_bar, b, _matrix(bar_at, p, m).T)
    else:
        add_left(z_bar, b, _matrix(bar_at, m, p))


@njit(**INTERNAL_OPTIONS)
def _pull_right(z_bar, a, bar_at, p, n, is_turned):  # type: ignore[no-untyped-def]
    """b_bar += a^T z_bar"""
    if is_turned:
        add_right(z_bar, a, _matrix(bar_at, n, p).T)
    else:
        add_right(z_bar, a, _matrix(bar_at, p, n))


@njit(**INTERNAL_OPTIONS)
def pull_product(z_bar_at, a_at, a_bar_at, a_turned, b_at, b_bar_at, b_turned, m, p, n):  # type: ignore[no-untyped-def]
    """What z = a b, (m, p) by (p, n), adds to the adjoints of its factors; the address of a constant's is 0.

    A turned factor lies in memory as its transpose does, and its adjoint too.
    """
    if m * p * n <= SMALL:
        pull_small(z_bar_at, a_at, a_bar_at, a_turned, b_at, b_bar_at, b_turned, m, p, n)
        return
    z_bar = _matrix(z_bar_at, m, n)
    is_gram = a_at == b_at and a_bar_at != 0 and a_bar_at == b_bar_at and a_turned != b_turned and m == n
    if is_gram and is_finite(_matrix(a_at, m, p)) and is_finite(z_bar):
        both = np.empty((n, n))  # of x^T x, or x x^T: one product does for both factors
        for i in range(n):
            for j in range(n):
                both[i, j] = z_bar[i, j] + z_bar[j, i]
        at, bar_at, step = np.int64(both.ctypes.data), np.int64(a_bar_at), _NUMBER
        if a_turned:
            row = _NUMBER * n
            add_product_at(1.0, b_at, row, step, at, row, step, bar_at, row, step, p, n, n)
        else:
            row = _NUMBER * p
            add_product_at(1.0, at, _NUMBER * m, step, a_at, row, step, bar_at, row, step, m, m, p)
        hold(both)
        return
    if a_bar_at != 0:
        if b_turned:
            _pull_left(z_bar, _matrix(b_at, n, p).T, a_bar_at, m, p, a_turned)
        else:
            _pull_left(z_bar, _matrix(b_at, p, n), a_bar_at, m, p, a_turned)
    if b_bar_at != 0:
        if a_turned:
            _pull_right(z_bar, _matrix(a_at, p, m).T, b_bar_at, p, n, b_turned)
        else:
            _pull_right(z_bar, _matrix(a_at, m, p), b_bar_at, p, n, b_turned)


def product_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T, b_bar += a^T z_bar"""
    shape = fields(shape_at)
    pull_product(
        adjoints_at + _NUMBER * shape[RESULT],
        place_of(shape, A, values_at, constants_at),
        adjoints_at + _NUMBER * shape[A] if shape[A_CELLS] > 0 else 0,
        shape[A_TURNED] != 0,
        place_of(shape, B, values_at, constants_at),
        adjoints_at + _NUMBER * shape[B] if shape[B_CELLS] > 0 else 0,
        shape[B_TURNED] != 0,
        shape[M],
        shape[K],
        shape[N],
    )


PRODUCT_KERNELS = {"matmul": (None, product_adjoint)}  # values are NumPy's, or those of programs
