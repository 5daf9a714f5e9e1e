"""The product of a matrix with its own transpose in generated code, at half of the work of a general product.

`gram(x)` is x^T x, and `add_gram(z_bar, x, x_bar)` adds the cotangents of both factors in the rule of a product to the
adjoint of x.
"""

from typing import Any

import numpy as np

from contad.compile.called_by_name import COUNT, MATRIX, called_by_name
from contad.compile.lapack import syrk
from contad.compile.overloads import add_overload
from contad.compile.words import hold
from contad.kernels.matrix_loops import add, in_order, in_rows, turn
from contad.kernels.products_in_place import has_rows, is_in_place
from contad.kernels.rows.product_rows import add_right

_NO, _YES, _LOWER = ord("N"), ord("T"), ord("L")
_NUMBER = 8  # bytes


def gram(x: Any) -> Any:
    """x^T x"""
    return x.T @ x


def add_gram(z_bar: Any, x: Any, x_bar: Any) -> None:
    """The adjoint of z = x^T x: x_bar += x (z_bar + z_bar^T)."""
    add_right(z_bar + z_bar.T, x.T, x_bar)


@called_by_name(COUNT, COUNT, COUNT, COUNT, COUNT)
def _gram_of_place(at, rows, columns, row, stride):  # type: ignore[no-untyped-def]
    """x^T x of a matrix in place."""
    z = np.zeros((columns, columns))
    if rows * columns != 0:
        # BLAS sees rows as columns: its lower triangle is above the diagonal here
        is_turned = has_rows(columns, row, stride)
        flag, apart = (_NO, row) if is_turned else (_YES, stride)
        syrk((_LOWER, flag, columns, rows, 1.0, at, apart // _NUMBER, 0.0, z, columns))
        for i in range(columns):
            for j in range(i):
                z[i, j] = z[j, i]
    return z


@called_by_name(MATRIX)
def _add_transposed(z):  # type: ignore[no-untyped-def]
    return add(z, turn(z))


@add_overload(gram)
def _gram(x: Any) -> Any:
    def implementation(x: Any) -> Any:
        (rows, columns), (row, stride) = x.shape, x.strides
        if is_in_place(rows, columns, row, stride):
            return _gram_of_place(x.ctypes.data, rows, columns, row, stride)
        copy = in_order(x)
        found = _gram_of_place(copy.ctypes.data, rows, columns, _NUMBER * columns, _NUMBER)
        hold(copy)
        return found

    return implementation


@add_overload(add_gram)
def _add_gram(z_bar: Any, x: Any, x_bar: Any) -> Any:
    def implementation(z_bar: Any, x: Any, x_bar: Any) -> None:
        add_right(_add_transposed(in_rows(z_bar)), x.T, x_bar)

    return implementation
