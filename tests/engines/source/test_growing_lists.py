"""Lists that grow in loops, typed ones among them: values, gradients, second derivatives, and what they raise."""
# ruff: noqa: PERF401, PERF402  (lists that grow are what is tested)

import numba
import numpy as np
import pytest
from numba import njit
from numba.typed import List

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.ir.entries import constant
from contad.engines.source.reading.bounded_buffers import BoundedBuffer
from contad.errors import EngineLimitError
from contad.numba_functions.request import Request
from tests.engines.source.agreement import agree, as_python, request
from tests.random_programs.generated_programs import grown

X = np.array([0.6, -1.3, 2.1, 0.4])


@njit
def filtered(x):
    y = []
    for v in x:
        if v > 0.0:
            y.append(v * v * x[1])
    total = 0.0
    for k, v in enumerate(y):
        total += v * (k + 1)
    return total + y[-1] * len(y) + sum(y)


@njit
def in_triangles(x):
    y = [x[0]]
    for i in range(len(x)):
        for j in range(i):
            y.append(x[i] * x[j])
        for j in range(i, len(x), 2):
            if x[j] < 0.0:
                continue
            y.append(y[-1] * 0.5 + x[j])
    y[1] *= y[2]
    return np.sum(np.array(y) ** 2) + y[len(y) // 2]


@njit
def one_in_each_turn(x):
    total = 0.0
    for i in range(len(x)):
        y = [1.0, x[i]]
        for j in range(3):
            y.append(y[j] * y[j + 1])
            if y[j] > 2.0:
                break
        total += y[len(y) - 1]
    return total


@njit
def stack(x):
    y, total = 0.0, 1.0
    waiting = []
    for v in x:
        waiting.append(v)
        waiting.append(v * v)
        y = waiting.pop() * total
        total += y
    while len(waiting) > 1:
        total = total * 0.5 + waiting.pop() * x[0]
    return total * waiting[0]


@njit
def positions(x):
    found = []
    for i in range(len(x)):
        if x[i] > 0.0:
            found.append(i)
    total = 0.0
    for k in found:
        total += x[k] ** 2 * (k // 2 + 1)
    return total + x[found[0]] * x[found[-1]] + len(found) // 2 * x[1]


@njit
def average(values, weight):
    total = 0.0
    for v in values:
        total += v * weight
    return total / len(values)


@njit
def handed_over(x):
    y = []
    for i, j in np.ndindex(2, 2):
        y.append(x[i] * x[2 + j])
    for v in (x[0], 2.0, x[1]):
        y.append(v)
    return average(y, x[3])


@njit
def typed(x):
    y = List()
    z = List.empty_list(numba.float64)
    for v in x:
        y.append(v * v)
    for k in range(len(x)):
        if k != 1:
            z.append(y[k] * x[1])
    y[0] = z[2] * y[1]
    return y[0] * y[3] + z.pop() * len(z)


FUNCTIONS = [filtered, in_triangles, one_in_each_turn, stack, positions, handed_over]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_growing_lists_are_generated(f):
    assert agree(f, X.copy()) is not None
    value, _ = as_python(request(f, X))(X.copy())
    assert value == pytest.approx(f(X), rel=1e-13)


def differences(f, x, h=1e-5):
    steps = h * np.eye(len(x))
    return np.array([(f(x + s) - f(x - s)) / (2.0 * h) for s in steps])


def test_typed_lists():
    value, (gradient,) = as_python(request(typed, X))(X.copy())
    assert value == pytest.approx(typed(X), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(typed, X), rtol=1e-7)


@pytest.mark.parametrize("f", [filtered, in_triangles, stack, typed], ids=lambda f: f.__name__)
def test_second_derivatives(f):
    made = derivative_of(Request(f.py_func, f, (numba.typeof(X),), (0,), False, "hvp"))
    names = {}
    exec(made.source(), names)
    names.update(made.constants(), workspace=lambda: (np.full(3, np.nan), 0), grow=grown)
    v = np.array([0.3, -0.2, 1.0, 0.5])
    _, (along,) = names["run"]((X.copy(),), (v,))
    first = as_python(request(f, X))
    right = v @ differences(lambda x: first(x.copy())[1][0], X)
    np.testing.assert_allclose(along, right, rtol=1e-6, atol=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("f", [*FUNCTIONS, typed], ids=lambda f: f.__name__)
def test_they_are_right_once_compiled(f):
    value, gradient = contad.value_and_grad(f, engine="generated")(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-6, atol=1e-8)


@njit
def emptied(x, n):
    y = [x[0]]
    for _ in range(n):
        y.pop()
    y.append(x[1])
    return y[0]


def test_a_limit_that_changes_raises():
    assert as_python(request(emptied, X, 1))(X, 1)[0] == X[1]
    with pytest.raises(IndexError, match="pop from an empty list"):
        as_python(request(emptied, X, 2))(X, 2)

    @njit
    def renamed(x, n):
        y = []
        for k in range(n):
            n = k + 2
            for j in range(n):
                y.append(x[j % 4])
        return y[-1]

    with pytest.raises(EngineLimitError, match="a list grows by more than"):
        as_python(request(renamed, X, 1))(X, 1)


def counts_forgotten(monkeypatch):
    """Elements are written, and the count stays."""
    original = BoundedBuffer.append

    def append(self, x, node):
        before = self.count()
        original(self, x, node)
        self.reader.arrays.put(self.cell, [constant(0)], before)

    monkeypatch.setattr(BoundedBuffer, "append", append)


def test_a_planted_fault_is_noticed(monkeypatch):
    counts_forgotten(monkeypatch)
    with pytest.raises((AssertionError, IndexError)):
        test_growing_lists_are_generated(filtered)
