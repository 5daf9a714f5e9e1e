"""Loops over typed lists and dicts that are arguments: they carry no derivative, and are generated as other loops."""

import numpy as np
import pytest
from numba import njit
from numba.typed import Dict, List

import contad

X = np.array([0.3, 1.2, 0.7])
ARRAYS = [np.array([1.0, 2.0, 3.0]), np.array([0.0, -2.0, 1.0])]


def numbers():
    return List([2, 0, 1])


def arrays():
    return List(ARRAYS)


def rates():
    found = Dict()
    found[1], found[5] = 2.0, 3.0
    return found


@njit
def over_a_list(x, numbers):
    total = 0.0
    for k in numbers:
        if k == 1:
            continue
        total += x[k] ** 2 * (k + 1)
    total *= x[1]
    return total


@njit
def over_arrays(x, list):  # the name of a function that the loop is made with
    total = 0.0
    for a in list:
        for b in list:
            total += np.sum(a * b * x) ** 2
    return total


@njit
def over_a_dict(x, rates):
    total = 0.0
    for k in rates:
        total += rates[k] * x[k % 3] ** 2
    for k, rate in rates.items():
        total += k * rate * x[0] * x[1]
    for rate in rates.values():
        total *= rate
    return total


@njit
def over_pairs(x, numbers):
    total = 0.0
    for i, k in enumerate(numbers):
        total += (i + 1) * x[k] ** 2
    for k, a in zip(numbers, x):  # noqa: B905 (Numba's zip has no strict)
        total += k * a * x[1]
    for i, (k, a) in enumerate(zip(numbers, x), 2):  # noqa: B905
        total += i * k * a
    return total


def gradient_over_arrays(x):
    pairs = [a * b for a in ARRAYS for b in ARRAYS]
    return sum(2.0 * (pair @ x) * pair for pair in pairs)


A, B, C = X
EXPECTED = {  # (what makes the container, for that compiles; the gradient)
    over_a_list: (numbers, [2.0 * A * B, A**2 + 3.0 * C**2, 6.0 * C * B]),
    over_arrays: (arrays, gradient_over_arrays(X)),
    over_pairs: (numbers, [4.0 * A + 2.0 * B + 4.0, 6.0 * B + 2.0 * A + C, 2.0 * C + B + 4.0]),
    over_a_dict: (rates, [6.0 * 17.0 * B, 6.0 * (4.0 * B + 17.0 * A), 36.0 * C]),
}


@pytest.mark.parametrize("f", EXPECTED, ids=lambda f: f.__name__)
def test_the_gradient_is_generated(f):
    make, expected = EXPECTED[f]
    np.testing.assert_allclose(contad.grad(f, engine="generated")(X, make()), expected, rtol=1e-13)
