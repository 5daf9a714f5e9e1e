"""Densities of vectors inside njit: what they tell of arguments that are not theirs."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

import contad
from contad import stan

SHARES, ALPHA = np.array([0.2, 0.3, 0.5]), np.array([1.3, 0.8, 2.4])


@njit
def dirichlet(theta, alpha):
    return stan.dirichlet_lpdf(theta, alpha)


def test_arguments_outside_of_their_domains_are_told():
    with pytest.raises(ValueError, match="dirichlet_lpdf: alpha must be positive"):
        dirichlet(SHARES, -ALPHA)


CUTS, X = np.array([-1.0, 0.5]), np.ones((4, 3))


@njit
def ordered(eta, y):
    return stan.ordered_logistic_lpmf(y, eta, CUTS) + stan.ordered_probit_lpmf(y, eta, CUTS)


@njit
def ordered_probit(eta, y):
    return stan.ordered_probit_lpmf(y, eta, CUTS)


@njit
def ordered_regression(beta, y):
    return stan.ordered_logistic_glm_lpmf(y, X, beta, CUTS)


@njit
def categorical_regression(beta, y):
    return stan.categorical_logit_glm_lpmf(y, X, np.zeros(3), beta)


LOCATIONS = {
    ordered: np.zeros(4), ordered_probit: np.zeros(4), ordered_regression: np.zeros(3),
    categorical_regression: np.zeros((3, 3)),
}  # fmt: skip


@pytest.mark.parametrize("f", LOCATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("count", [1, 3, 5, 400])
def test_other_numbers_of_outcomes_are_told(f, count):
    """No location is read that is not there."""
    y = np.full(count, 2)
    for call in (f, contad.grad(f), contad.grad(f, engine="tape")):
        with pytest.raises(ValueError, match="y must (have an outcome|be a number or have an element) for each"):
            call(LOCATIONS[f], y)


def test_other_axes_are_refused_with_those_that_there_are():
    with pytest.raises(TypingError, match="dirichlet_lpdf: inside njit .*theta of 1, alpha of 1"):
        dirichlet(SHARES, 1.0)


# ---- what stands for an array ----------------------------------------------------------------------------------------
@njit
def of_tuple(t):
    return stan.normal_lpdf((0.3, t), t, 2.0)


@njit
def of_list(t):
    y = [0.3]
    y.append(t * t)
    return stan.normal_lpdf(y, 0.5, 2.0) + stan.bernoulli_logit_lpmf([True, False], t)


@njit
def of_booleans(y, t):
    return stan.bernoulli_logit_lpmf(y, t)


@pytest.mark.parametrize("f", [of_tuple, of_list], ids=lambda f: f.__name__)
def test_lists_and_tuples(f):
    assert f(0.7) == pytest.approx(f.py_func(0.7), rel=1e-14)
    expected = contad.grad(f.py_func)(0.7)
    for engine in ("generated", "tape"):
        assert contad.grad(f, engine=engine)(0.7) == pytest.approx(expected, rel=1e-12)


def test_booleans():
    y = np.array([True, False, True])
    assert of_booleans(y, 0.3) == pytest.approx(of_booleans.py_func(y, 0.3), rel=1e-14)
    assert contad.grad(of_booleans, 1)(y, 0.3) == pytest.approx(contad.grad(of_booleans.py_func, 1)(y, 0.3), rel=1e-12)
    assert of_booleans(True, 0.3) == pytest.approx(of_booleans.py_func(True, 0.3), rel=1e-14)
