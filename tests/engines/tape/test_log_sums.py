"""logsumexp and softmax in Numba functions: the values of the rules at points of all kinds, and their cotangents."""

import numpy as np
import pytest
from numba import njit

import contad
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
