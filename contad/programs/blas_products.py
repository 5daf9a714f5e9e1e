"""Products of matrices and vectors in recorded programs: three C functions around BLAS, each compiled on first use.

The shape of a product z = a b is (z, place of a, whether it is in cells, m, p, place of b, whether it is in cells, n,
whether the cells of a, and of b, are those of the transpose); vectors are matrices of one row or one column. Where a
factor holds inf or nan, a zero of the adjoint (or of the tangent) masks it, as everywhere; then loops multiply.
"""

_HEAD = '''\
"""Products of matrices and vectors, their adjoints and tangents."""

import numpy as np
from numba import carray
from contad.native.machine_code import cfunc, njit
from contad.native.gram_matrices import gram
from contad.native.products_in_place import add_product_at
from contad.native.matrix_loops import clear, turn, write_rows
from contad.native.product_kernels import add_product, add_turned, multiply_into
from contad.native.recorded_products import pull_product
from contad.native.looped_products import SMALL, put_small

ENDLESS = 1 << 60
NUMBER = 8


@njit({options})
def steps(rows, columns, is_turned):
    """The strides of a matrix, in bytes."""
    return (NUMBER, NUMBER * rows) if is_turned else (NUMBER * columns, NUMBER)


@njit({options})
def factor(at, rows, columns, in_cells, values, constants):
    """A matrix among the values or the constants."""
    return (values if in_cells else constants)[at : at + rows * columns].reshape((rows, columns))


@njit({options})
def plain_factor(at, rows, columns, in_cells, is_turned, values, constants):
    """A matrix among the values or the constants, a copy where it is turned."""
    if is_turned:
        return turn(factor(at, columns, rows, in_cells, values, constants))
    return factor(at, rows, columns, in_cells, values, constants)


'''

_VALUE = '''\
@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True)
def value(shape_at, values_at, constants_at, values_again):
    z, x, x_cells, m, p, y, y_cells, n, x_turned, y_turned = carray(shape_at, (10,))
    if m * p * n <= SMALL:
        x_row, x_step = (1, m) if x_turned else (p, 1)
        y_row, y_step = (1, p) if y_turned else (n, 1)
        put_small(values_at, z, values_at if x_cells else constants_at, x, x_row, x_step,
                  values_at if y_cells else constants_at, y, y_row, y_step, m, p, n)
        return
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    if x_turned or y_turned:
        made = factor(z, m, n, 1, values, constants)
        if x == y and x_cells == y_cells and x_turned != y_turned and m == n:
            if x_turned:
                write_rows(made, 0, gram(factor(y, p, n, y_cells, values, constants)))
            else:
                write_rows(made, 0, gram(factor(x, m, p, x_cells, values, constants).T))
            return
        clear(made)
        a, b = (values if x_cells else constants)[x:], (values if y_cells else constants)[y:]
        (x_row, x_step), (y_row, y_step) = steps(m, p, x_turned), steps(p, n, y_turned)
        add_product_at(1.0, a.ctypes.data, x_row, x_step, b.ctypes.data, y_row, y_step, made.ctypes.data, NUMBER * n,
                       NUMBER, m, p, n)
        return
    a = factor(x, m, p, x_cells, values, constants)
    b = factor(y, p, n, y_cells, values, constants)
    multiply_into(a, b, factor(z, m, n, 1, values, constants))
'''

_ADJOINT = '''\
@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True)
def adjoint(shape_at, values_at, constants_at, adjoints_at):
    z, x, x_cells, m, p, y, y_cells, n, x_turned, y_turned = carray(shape_at, (10,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    adjoints = carray(adjoints_at, (ENDLESS,))
    a = np.int64((values if x_cells else constants)[x:].ctypes.data)
    b = np.int64((values if y_cells else constants)[y:].ctypes.data)
    z_bar, a_bar, b_bar = np.int64(adjoints[z:].ctypes.data), np.int64(0), np.int64(0)
    if x_cells:
        a_bar = np.int64(adjoints[x:].ctypes.data)
    if y_cells:
        b_bar = np.int64(adjoints[y:].ctypes.data)
    pull_product(z_bar, a, a_bar, x_turned != 0, b, b_bar, y_turned != 0, m, p, n)
'''

_TANGENT = '''\
@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True)
def tangent(shape_at, values_at, constants_at, dots_at):
    z, x, x_cells, m, p, y, y_cells, n, x_turned, y_turned = carray(shape_at, (10,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    dots = carray(dots_at, (ENDLESS,))
    z_dot = factor(z, m, n, 1, dots, constants)
    if x_cells:
        b = plain_factor(y, p, n, y_cells, y_turned, values, constants)
        add_product(plain_factor(x, m, p, 1, x_turned, dots, constants), b, z_dot)
    if y_cells:
        a = plain_factor(x, m, p, x_cells, x_turned, values, constants)
        z_turned = np.zeros((n, m))
        add_product(turn(plain_factor(y, p, n, 1, y_turned, dots, constants)), turn(a), z_turned)
        add_turned(z_turned, z_dot)
'''

NAMES = "value", "adjoint", "tangent"


def product_source(name: str, options: str) -> str:
    """The module with one of the three functions."""
    return _HEAD.format(options=options) + dict(zip(NAMES, (_VALUE, _ADJOINT, _TANGENT), strict=True))[name]
