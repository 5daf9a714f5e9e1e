"""Densities of vectors inside njit: what they tell of arguments that are not theirs."""

import itertools

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
def test_other_numbers_of_outcomes_are_told(f):
    """No location is read that is not there."""
    for call, count in itertools.product((f, contad.grad(f), contad.grad(f, engine="tape")), (1, 3, 5, 400)):
        with pytest.raises(ValueError, match="y must (have an outcome|be a number or have an element) for each"):
            call(LOCATIONS[f], np.full(count, 2))


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


# ---- rows of vectors, and one row of predictors ----------------------------------------------------------------------
@njit
def of_rows(alphas, theta):
    return (
        stan.dirichlet_lpdf(theta, alphas)
        + stan.dirichlet_lpdf(theta, alphas[0])
        + stan.dirichlet_lpdf(theta[1], alphas[:, ::-1])
    )


@njit
def of_row(beta, coefficients, x):
    total = stan.categorical_logit_glm_lpmf(2, x, beta, coefficients) + stan.ordered_logistic_glm_lpmf(3, x, beta, CUTS)
    total += stan.categorical_logit_glm_lpmf(2, x[1], beta, coefficients)
    total += stan.ordered_logistic_glm_lpmf(np.array([1, 3]), x[1], beta, CUTS)
    total += stan.bernoulli_logit_glm_lpmf(np.array([1, 0, 1]), x[1], 0.3, beta)
    return total + stan.normal_id_glm_lpdf(np.array([0.2, 1.1]), x[0], np.array([0.3, 0.4]), beta, 1.5)


@njit
def of_numbers(x, v):
    both = stan.log_sum_exp(x, v) + stan.lmgamma(2, 3.0 + v) * stan.elt_multiply(x, x)
    losses = stan.binary_log_loss(np.array([1, 0, 1]), v) + stan.binary_log_loss(0, v)
    return np.sum(both) + np.sum(losses * v) + np.sum(stan.log_sum_exp(v, x))


ROWS = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
CASES = {
    of_rows: (np.array([[1.3, 0.8, 2.4], [0.7, 1.9, 1.1]]), ROWS),
    of_row: (ALPHA, np.arange(9.0).reshape(3, 3) / 7.0, ROWS), of_numbers: (0.4, SHARES),
}  # fmt: skip


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_other_axes(f):
    args = CASES[f]
    assert f(*args) == pytest.approx(f.py_func(*args), rel=1e-13)
    found, expected = (contad.grad(g, tuple(range(len(args))))(*args) for g in (f, f.py_func))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_rows_that_are_no_simplices_are_told():
    for f in (of_rows, of_rows.py_func):
        with pytest.raises(
            ValueError, match=r"dirichlet_lpdf: theta(\[0\])? must (have rows that are simplices|be a s)"
        ):
            f(CASES[of_rows][0], ROWS / 2.0)


@njit
def with_constants(x):
    return stan.student_t_lpdf(x, 3.0, 0.0, 2.5) - stan.student_t_lccdf(0.3, 3.0, 0.0, 36.0)


def test_densities_of_constants_are_folded():
    """Programs of brms subtract such constants."""
    text = contad.source(with_constants, 0.7)
    assert "student_t_lccdf" not in text
    value, slope = contad.value_and_grad(with_constants)(0.7)
    expected, slope_in_python = contad.value_and_grad(with_constants.py_func)(0.7)
    assert value == pytest.approx(expected, rel=1e-14)
    assert slope == pytest.approx(slope_in_python, rel=1e-14)


@njit
def outside_of_its_domain(x):
    return x * stan.student_t_lccdf(0.3, -3.0, 0.0, 36.0)


def test_constants_outside_of_their_domain_raise_when_the_function_runs():
    with pytest.raises(ValueError, match="student_t_lccdf: nu must be positive"):
        contad.grad(outside_of_its_domain)(0.7)


@njit
def chosen(x, scales, has_data):
    """The branch keeps the loop of the density from being reversed at once."""
    total = stan.normal_lpdf(x, 0.0, 2.0)
    if has_data:
        total += np.sum(np.sin(x)) ** 2 + stan.student_t_lpdf(x, 3.0, 0.0, scales)
    return total


def test_loops_of_densities_show_their_lines_to_the_strips():
    x = np.linspace(-1.0, 2.0, 7)
    text = contad.source(chosen, x, 1.0 + x * x, True)
    assert "value_student_t" not in text.partition("def run")[2]
    assert "log_rows(" in text
    found, expected = contad.grad(chosen)(x, 1.0 + x * x, True), contad.grad(chosen.py_func)(x, 1.0 + x * x, True)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
