"""Densities in recorded programs: records of their operations, if compiled code has all of them, else Python's."""

import math

import numpy as np
import pytest

import contad
from contad import stan
from contad.errors import GuardError
from contad.programs import expanded_formulas
from tests.programs.comparison import require_derivatives

Y = np.array([0.3, -1.2, 0.8, 2.1, -0.4, 1.7, -2.2, 0.5])
COUNTS = np.arange(8.0)
U, V = np.array([0.2, 0.3]), np.array([-0.4, 0.7])

CASES = {
    "normal": lambda u: stan.normal_lpdf(Y, u[0] + u[1] * Y, np.exp(u[1])) + stan.normal_lpdf(u[0], 0.0, 5.0),
    "lognormal": lambda u: stan.lognormal_lpdf(np.exp(u), 0.5, np.exp(u[1])),
    "exponential": lambda u: stan.exponential_lpdf(np.exp(u), np.exp(u[0])),
    "gumbel": lambda u: stan.gumbel_lpdf(Y, u[0], np.exp(u[1])),
    "bernoulli_logit": lambda u: stan.bernoulli_logit_lpmf(COUNTS % 2.0, u[0] + u[1] * Y),
    "binomial_logit": lambda u: stan.binomial_logit_lpmf(COUNTS, COUNTS + 3.0, u[0] + u[1] * Y),
    "propto": lambda u: stan.normal_lpdf(Y, u[0], np.exp(u[1]), propto=True),
    "poisson_log": lambda u: stan.poisson_log_lpmf(COUNTS, u[0] + u[1] * Y),
    "gamma": lambda u: stan.gamma_lpdf(np.exp(u), 2.5, np.exp(u[1])),
    "beta": lambda u: stan.beta_lpdf(1.0 / (1.0 + np.exp(u)), 2.5, 1.5),
    "logistic": lambda u: stan.logistic_lpdf(Y, u[0], np.exp(u[1])),
    "student_t": lambda u: stan.student_t_lpdf(Y, 4.0, u[0], np.exp(u[1])) + stan.student_t_lpdf(u[1], 3.0, 0.0, 1.0),
    "cauchy": lambda u: stan.cauchy_lpdf(Y, u[0], np.exp(u[1])) + stan.cauchy_lpdf(u[1], 0.0, 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_python_runs_no_formula(name):
    """And the program is right elsewhere than where it was recorded."""
    f = CASES[name]
    program = contad.record(f, U)
    assert not program.python_rules
    for point in (U, V):
        require_derivatives(program, f, (point,), None, False, 1e-13, (1e-12, 1e-14))


@pytest.mark.parametrize("name", ["student_t", "cauchy", "logistic"])
def test_selections_by_variables_are_made_anew(name):
    """Which of the forms near and far from the centre holds changes from run to run, and what is left out is no nan."""
    f = CASES[name]
    program = contad.record(f, U)
    for point in (U, 30.0 * V, np.array([Y[3], 0.0]), np.array([1e6, -300.0])):
        require_derivatives(program, f, (point,), None, False, 1e-13, (1e-11, 0.0))


def test_cases_and_domains_are_guards():
    program = contad.record(lambda u: stan.exponential_lpdf(u[0], u[1]), U)
    assert program(np.array([0.5, 2.0])) == pytest.approx(math.log(2.0) - 1.0)
    with pytest.raises(GuardError):
        program(np.array([0.5, -2.0]))
    with pytest.raises(GuardError):
        program(np.array([-0.5, 2.0]))
    normal = contad.record(lambda u: stan.normal_lpdf(u[0], 0.0, 1.0), U)
    with pytest.raises(GuardError):
        normal(np.array([math.inf, 0.0]))


def test_outside_of_the_domain_it_is_told_while_recording():
    with pytest.raises(ValueError, match="normal_lpdf: sigma must be positive, got -0.3"):
        contad.record(lambda u: stan.normal_lpdf(Y, u[0], -u[1]), U)
    with pytest.raises(ValueError, match="have the shape of"):
        contad.record(lambda u: stan.normal_lpdf(Y, u, 1.0), U)


def test_where_a_case_holds_python_evaluates_it():
    """Outside of the support the density is 0 at these inputs, and may not be at others."""
    program = contad.record(lambda u: stan.uniform_lpdf(u[0], 0.5, 1.5), U)
    assert program(U) == -math.inf
    assert program(np.array([1.0, 0.0])) == 0.0


def test_lines_without_their_guards_are_noticed(monkeypatch):
    """A planted fault: the cases of a formula are forgotten."""
    monkeypatch.setattr(expanded_formulas, "_tests_of", lambda rule, conditions: [])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_cases_and_domains_are_guards()
