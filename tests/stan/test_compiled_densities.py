"""Densities of vectors and of regressions inside njit: Python's values and gradients, on both compiled engines."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

import contad
from contad import stan
from contad.rules.compilable import functions_of_text

_draw = np.random.default_rng(19)
X, BETA = _draw.normal(size=(6, 3)), 0.5 * _draw.normal(size=3)
ROWS, MU, W = _draw.normal(size=(4, 3)), _draw.normal(size=3), _draw.uniform(0.5, 2.0, 4)
FACTOR = np.tril(_draw.normal(size=(3, 3))) + 3.0 * np.eye(3)
SIGMA = FACTOR @ FACTOR.T
CORRELATION = SIGMA / np.sqrt(np.outer(np.diag(SIGMA), np.diag(SIGMA)))
SHARES, ALPHA, COUNTS = np.array([0.2, 0.3, 0.5]), np.array([1.3, 0.8, 2.4]), np.array([2.0, 0.0, 21.0])
Y, CATEGORY, CUTS = np.array([2.0, 0.0, 1.0, 3.0, 1.0, 5.0]), np.array([1, 3, 2, 2, 4, 1]), np.array([-0.7, 0.2, 1.1])
ODDS = _draw.normal(size=(3, 4))

# by Stan's name: arguments, and which of them are differentiated
CASES = {
    "multi_normal_cholesky_lpdf": [((ROWS, MU, FACTOR), (0, 1, 2)), ((ROWS[0], MU, FACTOR), (0, 1, 2))],
    "multi_normal_lpdf": [((ROWS, ROWS[::-1] + 1.0, SIGMA), (0, 1, 2))],
    "multi_normal_prec_lpdf": [((ROWS, MU, SIGMA), (0, 1, 2))],
    "multi_student_t_lpdf": [((ROWS, 3.4, MU, SIGMA), (0, 1, 2, 3))],
    "multi_student_t_cholesky_lpdf": [((ROWS[0], 3.4, MU, FACTOR), (0, 1, 2, 3))],
    "multi_gp_lpdf": [((ROWS, SIGMA, W), (0, 1, 2))],
    "multi_gp_cholesky_lpdf": [((ROWS, FACTOR, W), (0, 1, 2))],
    "dirichlet_lpdf": [((SHARES, ALPHA), (0, 1))],
    "multinomial_lpmf": [((COUNTS, SHARES), (1,))],
    "multinomial_logit_lpmf": [((COUNTS, ODDS[0, :3]), (1,))],
    "dirichlet_multinomial_lpmf": [((COUNTS, ALPHA), (1,))],
    "wishart_lpdf": [((SIGMA, 4.3, CORRELATION), (0, 1, 2))],
    "inv_wishart_lpdf": [((SIGMA, 4.3, CORRELATION), (0, 1, 2))],
    "wishart_cholesky_lpdf": [((FACTOR, 4.3, np.linalg.cholesky(CORRELATION)), (0, 1, 2))],
    "inv_wishart_cholesky_lpdf": [((FACTOR, 4.3, np.linalg.cholesky(CORRELATION)), (0, 1, 2))],
    "lkj_corr_lpdf": [((CORRELATION, 1.7), (0, 1))],
    "lkj_corr_cholesky_lpdf": [((np.linalg.cholesky(CORRELATION), 1.7), (0, 1))],
    "lkj_cov_lpdf": [((SIGMA, MU, ALPHA, 1.7), (0, 1, 2, 3))],
    "categorical_lpmf": [((CATEGORY[:4] % 3 + 1, SHARES), (1,)), ((2, SHARES), (1,))],
    "categorical_logit_lpmf": [((CATEGORY, ODDS[0]), (1,)), ((3, ODDS[0]), (1,))],
    "ordered_logistic_lpmf": [
        ((CATEGORY, X[:, 0], CUTS), (1, 2)), ((3, 0.4, CUTS), (1, 2)), ((CATEGORY, 0.4, CUTS), (1, 2)),
    ],
    "ordered_probit_lpmf": [((CATEGORY, X[:, 0], CUTS), (1, 2)), ((3, 0.4, CUTS), (1, 2))],
    "normal_id_glm_lpdf": [((Y, X, 0.3, BETA, 1.2), (0, 1, 2, 3, 4))],
    "bernoulli_logit_glm_lpmf": [((Y % 2.0, X, X[:, 1], BETA), (1, 2, 3))],
    "binomial_logit_glm_lpmf": [((Y, Y + 2.0, X, 0.3, BETA), (2, 3, 4))],
    "poisson_log_glm_lpmf": [((Y, X, 0.3, BETA), (1, 2, 3))],
    "neg_binomial_2_log_glm_lpmf": [((Y, X, 0.3, BETA, 1.9), (1, 2, 3, 4))],
    "categorical_logit_glm_lpmf": [((CATEGORY, X, ODDS[1], ODDS), (1, 2, 3))],
    "ordered_logistic_glm_lpmf": [((CATEGORY, X, BETA, CUTS), (1, 2, 3))],
}  # fmt: skip
EVERY = [(name, k) for name, cases in CASES.items() for k in range(len(cases))]
SAMPLE = [("bernoulli_logit_glm_lpmf", 0, "generated")]  # each case compiles for half a minute
REST = [(*case, engine) for case in EVERY for engine in ("generated", "tape") if (*case, engine) not in SAMPLE]


def compiled(name):
    density = getattr(stan, name)
    count = len(CASES[name][0][0])
    names = ", ".join(f"x{k}" for k in range(count))
    return njit(functions_of_text(f"def f({names}):\n    return density({names})\n", {"density": density})["f"])


LONG = [pytest.param(*case, marks=pytest.mark.long) for case in REST]


@pytest.mark.parametrize(("name", "k", "engine"), [*SAMPLE, *LONG])
def test_values_and_gradients_are_those_of_python(name, k, engine):
    args, argnums = CASES[name][k]
    value, gradient = contad.value_and_grad(getattr(stan, name), argnums)(*args)
    found, bars = contad.value_and_grad(compiled(name), argnums, engine=engine)(*args)
    assert found == pytest.approx(float(value), rel=1e-12)
    for bar, expected in zip(bars, gradient, strict=True):
        np.testing.assert_allclose(bar, expected, rtol=1e-9, atol=1e-12)


def test_arguments_outside_of_their_domains_are_told():
    with pytest.raises(ValueError, match="dirichlet_lpdf: alpha must be positive"):
        compiled("dirichlet_lpdf")(SHARES, -ALPHA)


def test_other_axes_are_refused_with_those_that_there_are():
    with pytest.raises(TypingError, match="dirichlet_lpdf: inside njit .*theta of 1, alpha of 1"):
        compiled("dirichlet_lpdf")(SHARES, 1.0)
