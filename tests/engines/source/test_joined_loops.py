"""Loops that are joined where the array between them goes: which are, which may not be, and that both are right."""

import re

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.reading import frontend


@numba.njit
def named_parts(x, y, w):
    residual = y - w * x
    scaled = residual / (1.0 + w * w)
    return np.sum(scaled * residual)


@numba.njit
def tables(x, y, w):
    z = np.exp(x[:, None] * w - y[None, :])
    return np.sum(z * np.sin(z))


@numba.njit
def with_others_between(x, y, w):
    z = x * y
    s = 0.0
    for i in range(len(y)):
        s += y[i] * w
    u = y * y
    return np.sum(z * z) * s + np.sum(u)


@numba.njit
def neighbours(x, y, w):
    z = x * w
    s = 0.0
    for i in range(len(x)):
        s += z[i] * z[len(x) - 1 - i]
    return s


@numba.njit
def written_between(x, y, w):
    x = x.copy()
    z = x * w
    for i in range(len(x)):
        x[i] = y[i] * x[i]
    s = 0.0
    for i in range(len(x)):
        s += z[i] * x[i]
    return s


@numba.njit
def sum_of_the_first(x, y, w):
    z = np.empty(len(x))
    total = 0.0
    for i in range(len(x)):
        z[i] = x[i] * w
        total += z[i] * y[i]
    s = 0.0
    for i in range(len(x)):
        s += z[i] / (total + i)
    return s


@numba.njit
def last_of_a_row(x, y, w):
    z = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(y)):
            z[i] = x[i] * y[j] * w
    s = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            s += z[i] * y[j]
    return s


@numba.njit
def read_by_two(x, y, w):
    z = np.exp(x * w)
    return np.sum(z * y) + z[0]


@numba.njit
def other_lengths(x, y, w):
    z = np.zeros(len(x))
    for i in range(len(x)):
        z[i] = x[i] * w
    s = 0.0
    for i in range(len(x) - 1):
        s += z[i] * z[i] * y[i]
    return s


X, Y, W = np.array([0.5, -1.25, 2.0, 0.75]), np.array([1.5, 0.25, -0.5, 3.0]), 0.8
JOINED = (named_parts, tables, with_others_between)
APART = (neighbours, written_between, sum_of_the_first, last_of_a_row, read_by_two, other_lengths)


def _source(f):
    """The generated source of a function, read anew."""
    return contad.source(contad.grad(numba.njit(f.py_func), (0, 1, 2)), X, Y, W)


@pytest.mark.parametrize("f", JOINED, ids=lambda f: f.__name__)
def test_an_array_that_one_later_loop_reads_goes(f):
    made = re.findall(r"(\w+) = (?:np\.|lent_|small_)(?:empty|zeros)\(", _source(f))
    assert not {"residual", "scaled", "z", "u"} & set(made)


@pytest.mark.parametrize("f", APART, ids=lambda f: f.__name__)
def test_loops_stay_apart_where_they_may_not_run_together(f, monkeypatch):
    found = _source(f)
    monkeypatch.setattr(frontend, "join_loops", lambda program: False)
    assert found == _source(f)


@pytest.mark.parametrize("f", [*JOINED, written_between], ids=lambda f: f.__name__)
def test_joined_loops_have_the_gradient_of_complex_steps(f):
    found = contad.grad(f, (0, 1, 2))(X, Y, W)
    given = [X.astype(complex), Y.astype(complex), np.array(W, complex)]
    for k, gradient in enumerate(found):
        for place in np.ndindex(given[k].shape):
            moved = [x.copy() for x in given]
            moved[k][place] += 1e-30j
            exact = f.py_func(*moved).imag / 1e-30
            assert np.asarray(gradient)[place] == pytest.approx(exact, rel=1e-13)
