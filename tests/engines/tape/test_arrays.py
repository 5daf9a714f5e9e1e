"""Arrays of variables: what NumPy and Numba do with arrays, against differences of the plain Python function."""

import numpy as np
import pytest
from numba import njit

from tests.engines.tape.requests import jvp, value_and_grad

DRAW = np.random.default_rng(6)
X, A, B = DRAW.standard_normal(5), DRAW.standard_normal((4, 5)), DRAW.standard_normal((2, 3, 2))


@njit
def elements(a, x, b, scale, flags):
    """Created arrays, elements, views, iteration, assignments in place, elementwise operations, broadcasting."""
    y = np.zeros(5)
    y[0], y[1:3] = x[0], x[2]
    y += x * scale
    y[1:4] *= 2.0
    y[::2] -= np.exp(-x[::2])
    z = np.empty((4, 5))
    z[:] = a * x + np.maximum(a, scale) / (2.0 + a * a)
    z[0] = y
    z[:, 1] = 3.0
    z[flags] = z[flags] * scale
    copied = np.zeros_like(x)
    copied[...] = np.full(5, scale) + np.ones(5)
    filled = np.full_like(flags, 0.5, dtype=np.float64)
    filled[1] = x[4]
    total = filled[0] * filled[1]
    for row in z:
        for v in row:
            total += np.sin(v)
    for k, v in enumerate(y[::-1]):
        total += k * v**2
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            for k in range(b.shape[2]):
                b[i, j, k] = b[i, j, k] * b[0, j, k] + i
    total += b[1].sum() + b.size * b.ndim * b[0, 2, 1] + len(y) * copied[3]
    point = np.array(scale)
    point += x[1]
    point[()] *= y[2]
    total += np.sin(point) * point - np.copy(point)[()] * 0.3
    positive = y > 0.1
    return total + np.abs(y)[2] + (-y)[3] + np.sqrt(y * y + 1.0)[1] * positive.sum() + z.T[2, 1] ** 2


@njit
def functions(a, x, b, scale, flags):
    """Reductions, products, choices by condition, and what moves elements: those that are used most."""
    y = a @ x
    total = np.sum(a) * x.mean() + a.sum(axis=0)[1] + b.max() + np.dot(y, y) + np.linalg.norm(x)
    total += np.where(a > 0.1, a, x).sum() * scale + np.clip(a, -0.4, scale)[1, 2] + (x @ a.T)[1]
    joined = np.concatenate((x, a[0]))
    return total + joined[6] * np.array([x[0], scale, 1.0])[1] + a.copy().reshape(20)[4] * np.argmax(x)


@njit
def more_functions(a, x, b, scale, flags):
    """The others."""
    y = a @ x
    square = a @ a.T
    total = np.prod(x) + a.sum(1)[2] + a.std() + np.var(x) + np.min(a) + square[0, 1] + (square @ y)[2]
    total += np.outer(x, x)[1, 2] + np.dot(y, a)[1] + np.where(x < 0.0, 2.0, x)[1] + (np.cumsum(x) * x[::-1]).sum()
    total += np.diff(x)[1] + np.trace(square) + np.sort(x)[1] + x.dot(x) + b[0, 1, 1] * scale
    stacked = np.vstack((a, a)) if flags[0] else np.vstack((a, 2.0 * a))
    total += np.hstack((x, x))[7] + stacked[5, 2] * np.flip(x)[0] + np.roll(x, 2)[1] * np.ravel(a)[7]
    listed = np.array([[x[0], x[1]], [x[2], x[3]]])
    total += np.reshape(a, (2, 10))[1, 3] * listed[1, 0]
    return total + np.arctan2(x, scale)[2] + a.flatten()[3]


def differences(f, args, k, h=1e-6):
    def at(step, index):
        moved = [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]
        if index == ():
            moved[k] += step
        else:
            moved[k][index] += step
        return f.py_func(*moved)

    shape = np.shape(args[k])
    return np.array([(at(h, i) - at(-h, i)) / (2.0 * h) for i in np.ndindex(shape)]).reshape(shape)


def check(f, duals):
    args = A, X, B, 1.3, np.array([True, False, True, False])
    originals = [np.copy(x) for x in args]
    value, gradients = value_and_grad(f, *args, argnums=(0, 1, 2, 3))
    assert abs(value - f.py_func(A, X, B.copy(), *args[3:])) <= 1e-13 * abs(value)
    for x, original in zip(args, originals, strict=True):
        np.testing.assert_array_equal(x, original)
    for k, got in enumerate(gradients):
        np.testing.assert_allclose(got, differences(f, args, k), rtol=1e-6, atol=1e-6)
    if duals:
        tangents = tuple(np.cos(g) if np.ndim(g) else 0.7 for g in gradients)
        _, tangent = jvp(f, args, tangents, (0, 1, 2, 3))
        expected = sum(np.sum(g * t) for g, t in zip(gradients, tangents, strict=True))
        assert abs(tangent - expected) <= 1e-12 * abs(tangent)


def test_elements_views_and_elementwise_operations():
    check(elements, duals=False)


@pytest.mark.long
@pytest.mark.parametrize("f", [elements, functions, more_functions])
def test_functions_of_whole_arrays_and_arrays_of_duals(f):
    check(f, duals=True)


@njit
def one_constant(a, x):
    work = x.copy()
    work[1] = a[0, 0] ** 2
    return (work * x).sum() + (a @ x)[2]


def test_a_copy_of_a_constant_takes_variables():
    _, (a_bar,) = value_and_grad(one_constant, A, X)
    np.testing.assert_allclose(a_bar, differences(one_constant, (A, X), 0), rtol=1e-6, atol=1e-8)
