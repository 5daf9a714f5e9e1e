"""logsumexp and softmax in Numba functions: the values of the rules at points of all kinds, and their cotangents."""

import numpy as np
import pytest
from numba import njit

import contad
from tests.engines import matrix_programs
from tests.engines.matrix_programs import M
from tests.engines.tape.requests import value_and_grad

INF, NAN = np.inf, np.nan
POINTS = [
    [1.3, -0.7, 2.1], [1000.0, 1000.0, -3.0], [-INF, 0.4, 1.2], [INF, 0.4, INF], [-INF, -INF], [NAN, 1.0], [0.7], [],
]  # fmt: skip


@njit
def both(x):
    return contad.logsumexp(x), contad.softmax(x)


@njit
def weighed(x, w):
    return contad.logsumexp(x) * w[0] + np.sum(contad.softmax(x) * w)


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_values_and_gradients_are_those_of_the_rules(point):
    x = np.array(point)
    z, shares = both(x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(z, contad.logsumexp(x), rtol=1e-15)
        np.testing.assert_allclose(shares, contad.softmax(x), rtol=1e-15)
    w = np.array([0.3, -1.7, 0.9])[: len(x)]
    if np.isfinite(x).all() and len(x):
        _, (x_bar,) = value_and_grad(weighed, x, w)
        np.testing.assert_allclose(x_bar, contad.grad(weighed.py_func)(x, w), rtol=1e-13, atol=1e-16)


@njit
def total(x):
    return contad.logsumexp(x)


@pytest.mark.parametrize("point", POINTS[2:5], ids=str)
def test_infinite_terms_that_tie_share_the_cotangent(point):
    _, (x_bar,) = value_and_grad(total, np.array(point))
    np.testing.assert_array_equal(x_bar, contad.grad(total.py_func)(np.array(point)))


ENGINES = ["text", *(pytest.param(e, marks=pytest.mark.long) for e in ("tape", "generated"))]


@njit
def of_columns(m, w):
    return np.sum(contad.logsumexp(m, axis=0) * w)


@pytest.mark.parametrize("engine", ENGINES)
def test_infinite_lines_and_lines_without_a_cotangent(engine):
    m, w = np.array([[-INF, 1.0, INF, NAN], [-INF, INF, INF, 0.3]]), np.array([0.7, 2.0, -1.3, 0.0])
    with np.errstate(invalid="ignore"):  # of the value
        (bar,) = matrix_programs.value_and_grad(engine, of_columns, (m, w), (0,))[1]
    np.testing.assert_array_equal(bar, [[0.35, 0.0, -0.65, 0.0], [0.35, 2.0, -0.65, 0.0]])


@njit
def beside(m, axis):
    return np.sum(contad.softmax(m, axis=axis) * m)


@njit
def over_three(x):
    return np.sum(contad.logsumexp(x.reshape(1, 2, 3), axis=0))


@pytest.mark.long
def test_axes_that_are_not_there():
    with pytest.raises(ValueError, match="axis is out of bounds"):
        contad.grad(beside)(M, 2)
    np.testing.assert_allclose(contad.grad(beside)(M, 1), contad.grad(beside.py_func)(M, 1), rtol=1e-13)
    with pytest.raises(contad.UnsupportedError, match="over one of a matrix"):
        contad.grad(over_three, engine="tape")(M)


@njit
def with_weights(x, b):
    return contad.logsumexp(x, b=b)


@njit
def with_weights_along(m, b, w):
    return np.sum(contad.logsumexp(m, axis=-1, b=b) * w)


WEIGHTS = [[0.4, 0.0, 1.7], [1.0, 2.0, 0.5], [-1.0, 0.2, 0.1], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("point", [[1.3, -0.7, 2.1], [INF, 1.0, INF], [-INF, -INF, -INF]], ids=str)
def test_weights_are_those_of_the_rule(point, weights):
    x, b = np.array(point), np.array(weights)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(with_weights(x, b), contad.logsumexp(x, b=b), rtol=1e-15)
        expected = contad.grad(with_weights.py_func)(x, b)
    np.testing.assert_allclose(value_and_grad(with_weights, x, b)[1][0], expected, rtol=1e-13)


@pytest.mark.long
def test_weights_broadcast_and_a_derivative_that_is_asked_for_finds_its_engine():
    b, w = np.array([0.4, 0.0, 1.7]), np.array([1.0, 2.0])
    expected = contad.grad(with_weights_along.py_func)(M, b, w)
    np.testing.assert_allclose(contad.grad(with_weights_along)(M, b, w), expected, rtol=1e-13)
