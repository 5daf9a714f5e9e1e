"""What loops keep for their reverse lies in adjoints that this writes first, and in the workspace elsewhere."""

import math

import numpy as np
import pytest
from numba import njit

from contad.engines.source import build, source
from contad.engines.source.writing import kept_in_adjoints
from tests.engines.source.agreement import agree, as_python, flat, numbers_stored, request

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])
Y = np.array([0.8, 0.1, -0.6, 1.1, 0.2])


@njit
def logarithm(x, y):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i])
    return math.log(total)


@njit
def of_an_array_within(x, y):
    """The adjoint is that of an array which the function makes."""
    z = np.empty(len(x))
    for i in range(len(x)):
        z[i] = x[i] * y[i]
    total = 0.0
    for i in range(len(z)):
        total += math.exp(z[i])
    return math.log(total)


@njit
def twice(x, y):
    """Two sums of the same numbers: the second loop back, that of the first, finds the adjoint begun."""
    first = second = 0.0
    for i in range(len(x)):
        first += math.exp(x[i])
    for i in range(len(x)):
        second += math.exp(0.5 * x[i]) * first
    return math.log(first) * math.log(second)


@njit
def of_two(x, y):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i]) * math.sin(y[i])
    return math.log(total * total)


@njit
def where_lengths_are_one(x, y):
    total = 0.0
    for i in range(min(len(x), len(y))):
        total += math.exp(x[i] * y[i])
    return math.log(total)


@njit
def of_others(x, y):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[len(x) - 1 - i])
    return math.log(total)


@njit
def from_one_on(x, y):
    total = 0.0
    for i in range(1, len(x)):
        total += math.exp(x[i])
    return math.log(total)


@njit
def of_neighbours(x, y):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] * x[(i + 1) % len(x)])
    return math.log(total)


@njit
def lengths_checked_late(x, y):
    """That both arrays are as long is known behind the loop alone."""
    total = 0.0
    for i in range(len(y)):
        total += math.exp(y[i])
    for i in range(len(y)):
        total += x[i] * math.log(total)
    return total


KEPT = {logarithm: 1, of_an_array_within: 1}
STORED = [of_two, where_lengths_are_one, of_others, from_one_on, of_neighbours]
ALL = [*KEPT, *STORED, twice, lengths_checked_late]


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.py_func.__name__)
def test_the_same_numbers(f):
    for argnums in ((0,), (0, 1)):
        agree(f, X, Y, argnums=argnums)
    agree(f, X, Y, argnums=(0, 1), compiled=True)


@pytest.mark.parametrize("f", KEPT, ids=lambda f: f.py_func.__name__)
def test_no_workspace_where_an_adjoint_is_written_first(f):
    asked = request(f, X, Y)
    assert "work" not in source(asked)
    assert numbers_stored(asked, (X, Y)) == 0


@pytest.mark.parametrize("f", STORED, ids=lambda f: f.py_func.__name__)
def test_the_workspace_elsewhere(f):
    assert "work[" in source(request(f, X, Y))


def test_one_of_two_loops():
    """An adjoint that another loop has written before holds what that wrote."""
    asked = request(twice, X, Y)
    assert source(asked).count("x_bar[i] = ") + source(asked).count("x_bar[i_2] = ") == 2
    assert source(asked).count("grow(work") == 1


def test_large_and_empty_arrays():
    for n in (0, 1, 255, 256, 1000):
        x = np.random.default_rng(n).normal(size=n)
        (found,) = build(request(logarithm, x, x)._replace(numerics="auto"))(x, x)[1] if n else [x]
        np.testing.assert_allclose(found, np.exp(x) / np.exp(x).sum(), rtol=1e-13)


def test_a_mistake_is_found(monkeypatch):
    """Without the test of where the loop back writes, numbers are wrong."""
    known = flat(as_python(request(of_others, X, Y))(X, Y)[1])
    monkeypatch.setattr(kept_in_adjoints._SearchOfPairs, "_find_adjoint", lambda *_: "x_bar")
    found = flat(as_python(request(of_others, X, Y))(X, Y)[1])
    assert not np.allclose(found, known, rtol=1e-6)
