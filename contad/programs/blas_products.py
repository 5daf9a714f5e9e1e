"""Products of matrices and vectors in recorded programs: three C functions around BLAS, compiled on first use.

The shape of a product z = a b is (z, place of a, whether it is in cells, m, p, place of b, whether it is in cells, n);
vectors are matrices of one row or one column. Where a factor holds inf or nan, a zero of the adjoint (or of the
tangent) masks it, as everywhere; then loops multiply.
"""

PRODUCTS_SOURCE = '''\
"""Products of matrices and vectors, their adjoints and tangents."""

import numpy as np
from numba import carray
from contad.native.machine_code import cfunc, njit
from contad.native.product_adjoints import add_left, add_right
from contad.native.matrix_loops import turn
from contad.native.product_kernels import add_product, add_turned, multiply_into

ENDLESS = 1 << 60


@njit({options})
def factor(at, rows, columns, in_cells, values, constants):
    """A matrix among the values or the constants."""
    return (values if in_cells else constants)[at : at + rows * columns].reshape((rows, columns))


@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True)
def value(shape_at, values_at, constants_at, values_again):
    z, x, x_cells, m, p, y, y_cells, n = carray(shape_at, (8,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    a = factor(x, m, p, x_cells, values, constants)
    b = factor(y, p, n, y_cells, values, constants)
    multiply_into(a, b, factor(z, m, n, 1, values, constants))


@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True)
def adjoint(shape_at, values_at, constants_at, adjoints_at):
    z, x, x_cells, m, p, y, y_cells, n = carray(shape_at, (8,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    adjoints = carray(adjoints_at, (ENDLESS,))
    z_bar = factor(z, m, n, 1, adjoints, constants)
    if x_cells:
        b = factor(y, p, n, y_cells, values, constants)
        add_left(z_bar, b, factor(x, m, p, 1, adjoints, constants))
    if y_cells:
        a = factor(x, m, p, x_cells, values, constants)
        add_right(z_bar, a, factor(y, p, n, 1, adjoints, constants))


@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True)
def tangent(shape_at, values_at, constants_at, dots_at):
    z, x, x_cells, m, p, y, y_cells, n = carray(shape_at, (8,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    dots = carray(dots_at, (ENDLESS,))
    z_dot = factor(z, m, n, 1, dots, constants)
    if x_cells:
        b = factor(y, p, n, y_cells, values, constants)
        add_product(factor(x, m, p, 1, dots, constants), b, z_dot)
    if y_cells:
        a = factor(x, m, p, x_cells, values, constants)
        z_turned = np.zeros((n, m))
        add_product(turn(factor(y, p, n, 1, dots, constants)), turn(a), z_turned)
        add_turned(z_turned, z_dot)
'''
