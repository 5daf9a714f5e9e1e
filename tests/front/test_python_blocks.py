"""Blocks in objmode: what comes out of them is held fixed, and what would have to carry a derivative is refused."""

import math

import numpy as np
import pytest
from numba import boolean, njit, objmode, types

import contad
from contad.errors import UnsupportedError
from contad.memory.arena import memory_in_use

X = np.array([0.7, -1.2, 2.5])
VALUES = types.float64[:]
SCALE = 1.5


class Recorder:
    """What has been seen, in an object that is no value that Numba would freeze."""

    def __init__(self):
        self.seen = []


RUNS = Recorder()


def table(k):
    """Python that Numba does not take."""
    RUNS.seen.append(k)
    return {0: 0.5, 1: -2.0, 2: 3.0}[k]


def make(shift):
    @njit
    def in_a_loop(x):
        total = 0.0
        for k in range(x.shape[0]):
            with objmode(y="float64", weights=VALUES, even=boolean):
                y = table(k) * SCALE
                weights = np.array([shift + i * y for i in range(3)])
                even = bool(k % 2 == 0)
            if even:
                total += x[k] ** 2 * y
            total += x[k] * weights[2] * total
        return total

    return in_a_loop


in_a_loop = make(0.3)


@njit
def of_fixed_values(x):
    fixed = contad.stop_gradient(x)
    with objmode(y="float64[:, :]", n="int64"):
        n = int(np.count_nonzero(fixed > 0.0))
        y = np.outer(fixed, fixed)
    return y[0, 1] * x[1] ** n + x[0] * np.sum(y)


@njit
def watched(x):
    with objmode():
        RUNS.seen.append(x[0])
    return x[0] * x[1]


@njit
def of_active_values(x):
    with objmode(y="float64"):
        y = math.gamma(x[0])
    return y * x[1]


@njit
def assigns(x, data):
    with objmode(n="int64"):
        n = 1
        data[0] = 3.0
    return x[0] * data[0] * n


@njit
def sorts(x, data):
    with objmode():
        data.sort()
    return x[0] * data[0]


@njit
def shows_a_part(x, data):
    with objmode(y="float64[:]"):
        y = data[1:]
    return x[0] * y[0]


@njit
def gives_text(x):
    with objmode(y="unicode_type"):
        y = "a"
    return x[0] * len(y)


def by_differences(f, h=1e-6):
    return [(f(X + step) - f(X - step)) / (2 * h) for step in h * np.eye(3)]


def test_the_outputs_are_fixed_and_the_block_runs_once():
    derivative = contad.value_and_grad(in_a_loop)
    assert contad.engine_name(derivative, args=(X,)) == "generated"
    RUNS.seen.clear()
    value, gradient = derivative(X)
    assert RUNS.seen == [0, 1, 2]
    assert value == pytest.approx(in_a_loop(X), rel=1e-15)
    np.testing.assert_allclose(gradient, by_differences(in_a_loop), rtol=1e-8)


def test_second_derivatives_hold_them_fixed():
    along = contad.hvp(in_a_loop, engine="generated")(X, np.array([0.3, -0.7, 1.1]))
    h = 1e-5 * np.array([0.3, -0.7, 1.1])
    gradient = contad.grad(in_a_loop, engine="generated")
    np.testing.assert_allclose(along, (gradient(X + h) - gradient(X - h)) / 2e-5, rtol=1e-7)


def test_stopped_values_may_enter_a_block():
    value, gradient = contad.value_and_grad(of_fixed_values, engine="generated")(X)
    y = np.outer(X, X)
    assert value == pytest.approx(y[0, 1] * X[1] ** 2 + X[0] * np.sum(y))
    np.testing.assert_allclose(gradient, [np.sum(y), 2 * y[0, 1] * X[1], 0.0])


def test_a_block_that_gives_nothing_may_read_anything():
    RUNS.seen.clear()
    np.testing.assert_allclose(contad.grad(watched, engine="generated")(X), [X[1], X[0], 0.0])
    assert RUNS.seen == [X[0]]


@pytest.mark.parametrize(("f", "args", "message"), [
    (of_active_values, (X,), r"reads what is differentiated, among x; read contad.stop_gradient\(...\)"),
    (assigns, (X, X + 1.0), "a write into data in an objmode block; make a new array"),
    (gives_text, (X,), "the output y of an objmode block, of type unicode_type; declare float64"),
])  # fmt: skip
def test_it_is_refused(f, args, message):
    with pytest.raises(UnsupportedError, match=rf"test_python_blocks.py:\d+: {f.__name__}: .*{message}"):
        contad.source(f, *args)


@pytest.mark.parametrize(("f", "message"), [
    (sorts, "a write into an array that an objmode block is given; make a new array"),
    (shows_a_part, r"the output y of an objmode block is a part of an array that it reads; copy it"),
])  # fmt: skip
def test_writes_and_views_are_refused_when_the_block_runs(f, message):
    with pytest.raises(UnsupportedError, match=rf"test_python_blocks.py:\d+: {f.__name__}: {message}"):
        contad.grad(f, engine="generated")(X, X + 1.0)


@njit
def sine(y):
    total = 1.0
    for k in range(y.shape[0]):
        total = 0.5 * total + np.sin(total * y[k])
    return total


def slope(fails):
    if fails:
        raise ArithmeticError("no slope")
    return contad.grad(sine)(np.linspace(0.0, 3.0, 50))[3]


@njit
def with_slopes(x, fails):
    total = 0.3
    for k in range(x.shape[0]):
        with objmode(y="float64"):
            y = slope(fails and k == 2)
        total = 0.5 * total + np.sin(total * x[k]) * y
    return total


@njit
def slope_of_list(data):
    kept = [data, 2.0 * data]  # which is not read
    with objmode(y="float64"):
        y = slope(False)
    return y * kept[0][0]


@njit
def with_slopes_of_lists(x, data):
    total = 0.3
    for k in range(x.shape[0]):
        total = 0.5 * total + np.sin(total * x[k]) * slope_of_list(data)
    return total


def test_a_block_in_a_function_that_is_not_read_is_not_called_as_it_is():
    with pytest.raises(UnsupportedError, match="the list"):
        contad.grad(with_slopes_of_lists, engine="generated")(X, X)


def test_a_block_may_take_a_derivative_itself():
    gradient = contad.grad(with_slopes)
    y, total, by_total, expected = slope(False), 0.3, [], np.empty(3)
    for x in X:
        by_total.append((0.5 + x * np.cos(total * x) * y, total * np.cos(total * x) * y))
        total = 0.5 * total + np.sin(total * x) * y
    bar = 1.0
    for k in (2, 1, 0):
        expected[k], bar = bar * by_total[k][1], bar * by_total[k][0]
    np.testing.assert_allclose(gradient(X, False), expected, rtol=1e-12)
    held = memory_in_use()
    with pytest.raises(ArithmeticError, match="no slope"):
        gradient(X, True)
    np.testing.assert_allclose(gradient(X, False), expected, rtol=1e-12)
    assert memory_in_use() == held
