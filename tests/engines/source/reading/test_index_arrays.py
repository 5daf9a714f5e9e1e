"""Elements at positions in compiled derivatives."""

import numpy as np
import pytest
from numba import njit

import contad


@njit(boundscheck=True)
def at(x, k):
    return np.sum(x[k] * x[k])


def test_an_index_out_of_range_raises_where_that_is_asked_for():
    x = np.array([0.5, 2.0, 3.0])
    assert contad.grad(at, engine="generated")(x, np.array([2, -1, 0])).tolist() == [1.0, 0.0, 12.0]
    with pytest.raises(IndexError):
        contad.grad(at, engine="generated")(x, np.array([0, 3]))


@njit
def joined(x, d):
    pair = np.stack((x, x * x), axis=1)
    wide = np.hstack((pair, np.column_stack((x, d))))
    tall = np.vstack((np.concatenate((x[:2], d[2:])), np.append(x[1:], d[0])))
    return np.sum(wide[:, 1] * wide[:, 2]) + np.sum(tall[0] * tall[1])


@njit
def shifted(x, d):
    s = np.trapezoid(x * x, dx=0.5) * np.ptp(x)
    t = np.roll(np.outer(x, d), 4) + np.triu(np.outer(x, x), 1) * np.broadcast_to(d, (5, 5))
    ends = np.linspace(x[0], x[1], 4) * np.clip(np.full_like(x[:4], x[2]), None, d[1:])
    return s + np.sum(t * t) + np.sum(ends * ends) + sum([x[0], d[1], x[2]])


@pytest.mark.parametrize("f", [joined, pytest.param(shifted, marks=pytest.mark.long)])
def test_joined_and_shifted_arrays_are_right_once_they_are_compiled(f):
    x, d = np.array([0.7, 1.31, 2.1, -0.4, 0.9]), np.array([0.5, 2.0, -1.0, 0.25, 3.0])
    value, gradient = contad.value_and_grad(f, engine="generated")(x, d)
    assert value == pytest.approx(f(x, d), rel=1e-13)
    right = [(f(x + 1e-6 * e, d) - f(x - 1e-6 * e, d)) / 2e-6 for e in np.eye(5)]
    np.testing.assert_allclose(gradient, right, rtol=1e-6)
