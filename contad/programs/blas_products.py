"""Products of matrices and vectors in recorded programs: three C functions around BLAS, compiled on first use.

The shape of a product z = a b is (z, place of a, whether it is in cells, m, p, place of b, whether it is in cells, n);
vectors are matrices of one row or one column. Where a factor holds inf or nan, a zero of the adjoint (or of the
tangent) masks it, as everywhere; then loops multiply.
"""

PRODUCTS_SOURCE = '''\
"""Products of matrices and vectors, their adjoints and tangents."""

import math

import numpy as np
from numba import carray
from contad.native.machine_code import cfunc, njit

ENDLESS = 1 << 60


@njit({options})
def multiplied(a, b, z):
    """z = a b, by the routine for matrices, or for a matrix and a vector."""
    if b.shape[1] == 1:
        np.dot(a, b.reshape(b.size), z.reshape(z.size))
    elif a.shape[0] == 1:
        np.dot(a.reshape(a.size), b, z.reshape(z.size))
    else:
        np.dot(a, b, z)


@njit({options})
def turned(a):
    """The transpose, in C order."""
    t = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[j, i] = a[i, j]
    return t


@njit({options})
def is_finite(a):
    """Whether no element is infinite or nan."""
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * 0.0
    return total == 0.0


@njit({options})
def add_product(d, p, target):
    """target += d p, in which a zero of d masks what is not finite in p."""
    if is_finite(p):
        z = np.empty(target.shape)
        multiplied(d, p, z)
        for i in range(z.shape[0]):
            for k in range(z.shape[1]):
                target[i, k] += z[i, k]
    else:
        for i in range(d.shape[0]):
            for j in range(d.shape[1]):
                if d[i, j] != 0.0:
                    for k in range(p.shape[1]):
                        target[i, k] += d[i, j] * p[j, k]


@njit({options})
def add_turned(a, target):
    """target += a^T"""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            target[j, i] += a[i, j]


@njit({options})
def factor(at, rows, columns, in_cells, values, constants):
    """A matrix among the values or the constants."""
    return (values if in_cells else constants)[at : at + rows * columns].reshape((rows, columns))


{loops}

@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True)
def value(shape_at, values_at, constants_at, values_again):
    z, x, x_cells, m, p, y, y_cells, n = carray(shape_at, (8,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    a = factor(x, m, p, x_cells, values, constants)
    b = factor(y, p, n, y_cells, values, constants)
    multiplied(a, b, factor(z, m, n, 1, values, constants))


@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True)
def adjoint(shape_at, values_at, constants_at, adjoints_at):
    z, x, x_cells, m, p, y, y_cells, n = carray(shape_at, (8,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    adjoints = carray(adjoints_at, (ENDLESS,))
    z_bar = factor(z, m, n, 1, adjoints, constants)
    if n == 1:
        if y_cells:
            a = factor(x, m, p, x_cells, values, constants)
            add_rows(z_bar.reshape(m), a.reshape(m * p), adjoints[y : y + p])
        if x_cells:
            b = factor(y, p, n, y_cells, values, constants)
            add_outer(z_bar.reshape(m), b.reshape(p), adjoints[x : x + m * p])
        return
    if x_cells:  # a_bar += z_bar b^T
        b = factor(y, p, n, y_cells, values, constants)
        add_product(z_bar, turned(b), factor(x, m, p, 1, adjoints, constants))
    if y_cells:  # b_bar^T += z_bar^T a
        a = factor(x, m, p, x_cells, values, constants)
        b_bar = np.zeros((n, p))
        add_product(turned(z_bar), a, b_bar)
        add_turned(b_bar, factor(y, p, n, 1, adjoints, constants))


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
        add_product(turned(factor(y, p, n, 1, dots, constants)), turned(a), z_turned)
        add_turned(z_turned, z_dot)
'''
