"""Numba functions with gradients written by hand, shared by the tests so that little is compiled."""

import math
from collections import namedtuple

import numba
import numpy as np

Point = namedtuple("Point", "x y")
X = np.array([0.7, -1.2, 2.5])
Y = np.array([1.5, 0.3, -0.4])


@numba.njit
def weighted(x, y, scale=2.0):
    """scale sum_i x_i y_i^2 + exp(scale / 4)"""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i] * y[i]
    return scale * total + math.exp(scale / 4)


def weighted_by_hand(x, y, scale=2.0):
    return scale * y**2, 2 * scale * x * y, np.sum(x * y**2) + math.exp(scale / 4) / 4


@numba.njit
def power(x, n):
    """x^n by repeated multiplication: n is a count."""
    z = 1.0
    for _ in range(n):
        z *= x
    return z


@numba.njit
def with_aux(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] ** 2
    return total, (x.shape[0], total + 1.0)


@numba.njit
def of_pair(p):
    """p is (a, b): a^2 b_0 + b_1."""
    return p[0] * p[0] * p[1][0] + p[1][1]


@numba.njit
def of_point(p):
    return p.x * p.x * p.y


@numba.njit
def overwrites(x, y):
    """Writes into both of its arguments."""
    for i in range(x.shape[0]):
        x[i] = x[i] * y[i]
        y[i] = x[i] + 1.0
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


def overwrites_by_hand(x, y):
    """total = sum z (z + 1), z = x y"""
    return (2 * x * y + 1) * y, (2 * x * y + 1) * x


@numba.njit
def guarded(x):
    if x < 0.0:
        raise ValueError("x must not be negative")
    return math.sqrt(x) * x


@numba.njit
def several(x, k):
    """An array, a number and a count."""
    z = np.empty_like(x)
    total = 0.0
    for i in range(x.shape[0]):
        z[i] = x[i] * x[i] * k
        total += x[i] * k
    return z, total, x.shape[0]


@numba.njit
def square(x):
    return x * x


@numba.njit
def writes_only(x):
    x[0] = 1.0


@numba.njit
def counted(x):
    return x.shape[0], x.shape[0]


@numba.njit
def is_positive(x):
    return x > 0.0


@numba.njit
def quotient(x, y):
    return x / y + x // y + x % y


quiet_quotient = numba.njit(error_model="numpy")(quotient.py_func)


@numba.njit(boundscheck=True)
def first_squares(x, n):
    total = 0.0
    for i in range(n):
        total += x[i] * x[i]
    return total


@numba.njit
def asserted(x):
    assert x > 0.0, "x must be positive"
    if x > 9.0:
        raise KeyError("x", 9)
    return math.log(x)


@numba.njit
def recurrence(x, a, n):
    s = 0.0
    for _ in range(n):
        x = np.sin(x) * a
        s += x
    return s
