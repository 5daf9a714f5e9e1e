"""Loops that fill a matrix for Cholesky's factor end at its diagonal: which do, which may not; all are right."""

import math
import re

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.reading import frontend
from contad.scipy import linalg


@numba.njit
def covariance(x, y, w):
    """With a sum of its own for each element, and a division that raises."""
    n = len(y)
    k = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            apart = 0.0
            for c in range(2):
                apart += (x[i] - x[j]) ** 2 * (c + 1)
            k[i, j] = w * math.exp(-apart / (w * w))
        k[i, i] += 1.0
    z = linalg.solve_triangular(np.linalg.cholesky(k), y, lower=True)
    return np.sum(z * z)


@numba.njit
def not_symmetric(x, y, w):
    """What is above the diagonal is never read, whatever it would be."""
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * y[j] * w + i
            k[i, j] += 0.1 * x[j]
        k[i, i] = 9.0 + k[i, i] * k[i, i]
    return np.sum(np.linalg.cholesky(k) ** 3)


@numba.njit
def whole_arrays(x, y, w):
    k = np.exp(-((np.reshape(x, (4, 1)) - np.reshape(x, (1, 4))) ** 2) / w)
    n = len(x)
    for i in range(n):
        k[i, i] += y[i] * y[i]
    return np.sum(np.log(np.diag(np.linalg.cholesky(k))))


@numba.njit
def read_above(x, y, w):
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * x[j] * w
        k[i, i] += 2.0
    return np.sum(np.linalg.cholesky(k)) + k[0, 1]


@numba.njit
def read_whole(x, y, w):
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * x[j] * w
        k[i, i] += 2.0
    return np.sum(np.linalg.cholesky(k)) + np.sum(k @ y)


@numba.njit
def turned(x, y, w):
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * y[j] * w
        k[i, i] += 9.0
    return np.sum(np.linalg.cholesky(k.T))


@numba.njit
def stored_turned(x, y, w):
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[j, i] = x[i] * y[j] * w
    for i in range(n):
        k[i, i] += 9.0
    return np.sum(np.linalg.cholesky(k))


@numba.njit
def of_neighbours(x, y, w):
    """An element is made of the one before it, across the diagonal."""
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * x[j] * w + (0.5 * k[i - 1, j] if i > 0 else 0.0)
        k[i, i] += 9.0
    return np.sum(np.linalg.cholesky(k))


@numba.njit
def with_a_sum(x, y, w):
    n = len(x)
    k = np.zeros((n, n))
    total = 0.0
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * x[j] * w
            total += k[i, j] * y[j]
        k[i, i] += 2.0
    return np.sum(np.linalg.cholesky(k)) + total


@numba.njit
def with_sums_on_the_diagonal(x, y, w):
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] += x[i] * x[j] * w
            k[i, i] += 1.0 + y[j] * y[j]
    return np.sum(np.linalg.cholesky(k))


@numba.njit
def with_another_array(x, y, w):
    n = len(x)
    k, other = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * x[j] * w
            other[i, j] = k[i, j] * y[j]
        k[i, i] += 2.0
    return np.sum(np.linalg.cholesky(k)) + np.sum(other)


@numba.njit
def of_another_length(x, y, w):
    n, m = len(x), len(y) - 1
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(m):
            k[i, j] = x[i] * x[j] * w
    for i in range(n):
        k[i, i] += 2.0
    return np.sum(np.linalg.cholesky(k))


@numba.njit
def with_a_check(x, y, w):
    """A division by zero above the diagonal raises."""
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * x[j] / (y[j] - w)
        k[i, i] += 9.0
    return np.sum(np.linalg.cholesky(k))


@numba.njit
def with_its_matrix(x, y, w):
    """SciPy's factor has the matrix in its other triangle."""
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[i] * x[j] * w
        k[i, i] += 2.0
    return np.sum(linalg.cho_factor(k, True)[0])


X, Y, W = np.array([0.5, -1.25, 2.0, 0.75]), np.array([1.5, 0.25, -0.5, 3.0]), 0.8
ENDED = (covariance, not_symmetric, whole_arrays)
WHOLE = (
    read_above, read_whole, turned, stored_turned, of_neighbours, with_a_sum, with_sums_on_the_diagonal,
    with_another_array, of_another_length, with_a_check, with_its_matrix,
)  # fmt: skip


def name(f):
    return f.__name__


def _source(f):
    """The generated source of a function, read anew."""
    return contad.source(contad.grad(numba.njit(f.py_func), (0, 1, 2)), X, Y, W)


@pytest.mark.parametrize("f", ENDED, ids=name)
def test_loops_end_at_the_diagonal(f):
    assert len(re.findall(r"for \w+ in range\(\(?\w+ \+ 1\)?\)", _source(f))) >= 2, "forward and back"


@pytest.mark.parametrize("f", WHOLE, ids=name)
def test_loops_of_which_more_is_read_or_done_go_on(f, monkeypatch):
    found = _source(f)
    monkeypatch.setattr(frontend, "skip_dead_triangles", lambda program: False)
    assert found == _source(f)


@pytest.mark.parametrize("f", [*ENDED, *WHOLE], ids=name)
def test_gradients_are_those_of_differences(f):
    value, found = contad.value_and_grad(f, (0, 1, 2))(X, Y, W)
    assert value == pytest.approx(f(X, Y, W), rel=1e-14)
    step = 1e-6
    for k, gradient in enumerate(found):
        for place in np.ndindex(np.shape(gradient)):
            sides = []
            for h in (step, -step):
                given = [X.copy(), Y.copy(), np.array(W)]
                given[k][place] += h
                sides.append(f.py_func(given[0], given[1], float(given[2])))
            difference = (sides[0] - sides[1]) / (2.0 * step)
            assert np.asarray(gradient)[place] == pytest.approx(difference, rel=1e-7, abs=1e-8)


def test_errors_are_those_of_the_function():
    for f, given in ((covariance, (X, Y, 0.0)), (with_a_check, (X, np.where(np.arange(4) == 3, W, Y), W))):
        with pytest.raises(ZeroDivisionError):
            contad.grad(f, (0, 1))(*given)
    with pytest.raises(np.linalg.LinAlgError):
        contad.grad(covariance, (0, 1))(X, Y, -5.0)
    assert contad.grad(not_symmetric)(X[:0], Y[:0], W).shape == (0,)
