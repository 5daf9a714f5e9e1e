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
