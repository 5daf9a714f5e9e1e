"""Sums of exponentials of short vectors are loops of the derivative, with the numbers of the kernels."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.reading import frontend
from tests.engines.source.agreement import agree

INF = np.inf
LINES = [
    [0.3, -1.2, 2.5], [0.7], [1.5, 1.5, -2.0], [700.0, 710.0, -800.0], [0.0, -50.0], [-INF, 0.3, 0.1], [-INF, -INF],
    [INF, 0.3, INF], [np.nan, 1.0], [],
]  # fmt: skip


@njit
def sums(x):
    return contad.logsumexp(x)


@njit
def sums_in_a_loop(x):
    total = 0.0
    for _ in range(1):
        total += contad.logsumexp(x)
    return total


@njit
def shares(x):
    z = contad.softmax(x)
    total = 0.0
    for k in range(len(x)):
        total += z[k] * (k + 0.5)
    return total


@njit
def shares_in_a_loop(x):
    total = 0.0
    for _ in range(1):
        z = contad.softmax(x)
        for k in range(len(x)):
            total += z[k] * (k + 0.5)
    return total


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("pair", [(sums, sums_in_a_loop), (shares, shares_in_a_loop)])
def test_values_and_gradients_are_those_of_the_kernel(pair, line):
    x = np.array(line)
    (value, slope), (expected, bar) = (contad.value_and_grad(f, engine="generated")(x) for f in reversed(pair))
    np.testing.assert_allclose(value, expected, rtol=1e-15, atol=1e-300)
    np.testing.assert_allclose(slope, bar, rtol=1e-14, atol=1e-300)


@njit
def graded(x, y):
    """A graded response: short sums of exponentials, one for each row."""
    total = 0.0
    for i in range(len(y)):
        total += np.log(contad.softmax(np.cumsum(x[i]))[y[i]]) - 0.1 * contad.logsumexp(x[i])
    return total


def test_no_kernel_is_called():
    x, y = np.random.default_rng(1).normal(size=(5, 3)), np.array([0, 2, 1, 1, 0])
    text = contad.source(graded, x, y)
    assert not any(word in text for word in ("softmax(", "logsumexp("))
    agree(graded, x, y)
    v = np.ones_like(x)
    step = 1e-6
    up, down = (contad.grad(graded)(x + sign * step * v, y) for sign in (1, -1))
    np.testing.assert_allclose(contad.hvp(graded)(x, y, v), (up - down) / (2 * step), atol=1e-8)


@njit
def once(x, i):
    return np.sin(x[i]) * x[0] if x[i] > 0.0 else np.cos(x[i])


@njit
def calls_once(x):
    total = 0.0
    for i in range(len(x)):
        total += once(x, i)
    return total


@njit
def calls_twice(x):
    total = 0.0
    for i in range(len(x)):
        total += once(x, i) * once(x, 0)
    return total


def test_a_function_that_is_called_once_is_inlined_in_a_loop_too(monkeypatch):
    monkeypatch.setattr(frontend, "INLINED", 3)
    x = np.array([0.3, -1.2, 2.5])
    assert "forward_of_once" not in contad.source(calls_once, x)
    assert "forward_of_once" in contad.source(calls_twice, x)
    agree(calls_once, x)
