"""Data of float32 and of unsigned integers beside what is differentiated: what Numba computes with them, which is not
always what NumPy does.
"""

import numpy as np
import pytest
from numba import njit

import contad
from tests.front.generated import run_of

X = np.array([0.7, -1.2, 2.5])
SINGLE = np.array([0.1, 0.7, -1.3], np.float32)
WORDS = np.array([3, 300, 7], np.uint32)


@njit
def singles(x, data):
    total = data[0] / 3 + data[1] * 2.0 + 1 - data[2]
    for k in range(3):
        total += x[k] ** 2 * (data[k] / 3) * (0.1 + data[k])
    return total + np.sum(data * 0.3 * x) + max(data[0], x[0] * data[1])


@njit
def unsigned(x, data):
    k = int(data[0]) - 5
    total = (data[1] + 2) * x[0] ** 2 + k * x[1] ** 2 + np.sum(data) * x[1]
    for v in data:
        total += x[v % 3] * v * (v - 10) + (v // 2) * x[0]
    return total + np.sum(x[data < 5]) + x[2] * (data[2] if x[0] > 0.0 else -1)


@pytest.mark.parametrize(("f", "data"), [(singles, SINGLE), (unsigned, WORDS)], ids=["singles", "unsigned"])
def test_values_are_those_of_numba(f, data):
    derivative = contad.value_and_grad(f, engine="generated")
    value, gradient = derivative(X, data)
    assert value == pytest.approx(f(X, data), rel=1e-15)
    steps = [np.eye(3)[k] * 1e-5 for k in range(3)]
    right = [(f(X + h, data) - f(X - h, data)) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, right, rtol=1e-6)
    along = contad.hvp(f, engine="generated")(X, data, np.array([0.3, -0.2, 1.0]))
    by_differences = [(derivative(X + h, data)[1] - derivative(X - h, data)[1]) / 2e-5 for h in steps]
    np.testing.assert_allclose(along, np.array([0.3, -0.2, 1.0]) @ by_differences, rtol=1e-6)


@njit
def sums_in_a_loop(x, data):
    total = x[0]
    for k in range(3):
        total = total * 0.5 + np.sum(data[k:]) * x[k] ** 2
    return total * total


@pytest.mark.parametrize("data", [SINGLE, WORDS], ids=["singles", "unsigned"])
def test_a_loop_reads_again_the_few_bits_that_it_stores(data):
    run = run_of(contad.source(sums_in_a_loop, X, data))
    value, (gradient,) = run(X, data)
    assert value == pytest.approx(sums_in_a_loop.py_func(X, data), rel=1e-7)
    steps = [np.eye(3)[k] * 1e-5 for k in range(3)]
    right = [(run(X + h, data)[0] - run(X - h, data)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, right, rtol=1e-6)


@njit
def sums_of_singles(x, data):
    means, total = data / np.sum(data), np.float32(0.0)
    for v in data[:50]:
        total += v * v - v / data[0]
    return x[0] * total + x[1] ** 2 * np.mean(means) + x[2] * np.sum(data[1:] * data[0])


def test_sums_of_float32_are_those_of_numba_to_the_bit():
    data = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    value, gradient = contad.value_and_grad(sums_of_singles, engine="generated")(X, data)
    assert value == sums_of_singles(X, data)
    steps = [np.eye(3)[k] * 1e-4 for k in range(3)]
    right = [(sums_of_singles(X + h, data) - sums_of_singles(X - h, data)) / 2e-4 for h in steps]
    np.testing.assert_allclose(gradient, right, rtol=1e-8)
