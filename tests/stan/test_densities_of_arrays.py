"""Densities of vectors and matrices, of categories and of linear models: SciPy's values, identities, refusals."""

import math

import numpy as np
import pytest
import scipy.stats
from scipy.special import expit, log_ndtr, ndtr

import contad
from contad import stan
from contad.testing import expect_ad

RNG = np.random.default_rng(1)


def spd(size):
    a = RNG.normal(size=(size, size))
    return a @ a.T + np.eye(size)


S, W, MU, Y = spd(3), spd(3), RNG.normal(size=3), RNG.normal(size=(4, 3))
L, COUNTS, SHARES, ALPHA = (
    np.linalg.cholesky(S), np.array([0, 3, 4]), np.array([0.2, 0.3, 0.5]), np.array([0.7, 2.0, 3.0]),
)  # fmt: skip
WEIGHTS = np.array([0.5, 1.2, 2.0, 0.7])
R = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.0]])
NORMAL = scipy.stats.multivariate_normal.logpdf(Y, MU, S).sum()
STUDENT = scipy.stats.multivariate_t.logpdf(Y, MU, S, 4.2).sum()
GP = sum(scipy.stats.multivariate_normal.logpdf(y, np.zeros(3), S / w) for y, w in zip(Y, WEIGHTS, strict=True))
MULTINOMIAL = scipy.stats.multinomial.logpmf(COUNTS, 7, SHARES)
X, B, A = RNG.normal(size=(6, 2)), np.array([0.4, -0.7]), 0.3
ETA = X @ B + A
BINARY, TOTALS, SIX = np.array([0, 1, 1, 0, 1, 1]), np.full(6, 9), np.array([0, 4, 2, 1, 7, 3])
CUTS, CATEGORIES = np.array([-1.0, 0.2, 0.9]), np.array([1, 3, 2, 4, 4, 1])
EDGES = np.array([-np.inf, -1.0, 0.2, 0.9, np.inf])
BETAS, ALPHAS = RNG.normal(size=(2, 4)), RNG.normal(size=4)
ODDS = X @ BETAS + ALPHAS


def between(cdf, location):
    return np.sum(np.log(cdf(EDGES[CATEGORIES] - location) - cdf(EDGES[CATEGORIES - 1] - location)))


def jacobian_of_factor(w):
    """log|d(L L^T) / dL|, of the lower triangles."""
    factor, places = np.linalg.cholesky(w), np.tril_indices(len(w))
    rows = []
    for k in range(len(places[0])):
        change = np.zeros_like(w)
        change[places[0][k], places[1][k]] = 1.0
        rows.append((change @ factor.T + factor @ change.T)[places])
    return np.linalg.slogdet(np.array(rows))[1]


CASES = {
    "multi_normal_lpdf": ((Y, MU, S), NORMAL),
    "multi_normal_cholesky_lpdf": ((Y, MU, L), NORMAL),
    "multi_normal_prec_lpdf": ((Y, MU, np.linalg.inv(S)), NORMAL),
    "multi_student_t_lpdf": ((Y, 4.2, MU, S), STUDENT),
    "multi_student_t_cholesky_lpdf": ((Y, 4.2, MU, L), STUDENT),
    "multi_gp_lpdf": ((Y, S, WEIGHTS), GP),
    "multi_gp_cholesky_lpdf": ((Y, L, WEIGHTS), GP),
    "dirichlet_lpdf": ((SHARES, ALPHA), scipy.stats.dirichlet.logpdf(SHARES, ALPHA)),
    "multinomial_lpmf": ((COUNTS, SHARES), MULTINOMIAL),
    "multinomial_logit_lpmf": ((COUNTS, np.log(SHARES) + 3.0), MULTINOMIAL),
    "dirichlet_multinomial_lpmf": ((COUNTS, ALPHA), scipy.stats.dirichlet_multinomial.logpmf(COUNTS, ALPHA, 7)),
    "wishart_lpdf": ((W, 4.5, S), scipy.stats.wishart.logpdf(W, 4.5, S)),
    "inv_wishart_lpdf": ((W, 4.5, S), scipy.stats.invwishart.logpdf(W, 4.5, S)),
    "wishart_cholesky_lpdf": (
        (np.linalg.cholesky(W), 4.5, L), scipy.stats.wishart.logpdf(W, 4.5, S) + jacobian_of_factor(W),
    ),
    "inv_wishart_cholesky_lpdf": (
        (np.linalg.cholesky(W), 4.5, L), scipy.stats.invwishart.logpdf(W, 4.5, S) + jacobian_of_factor(W),
    ),
    "categorical_lpmf": (([1, 3, 3], SHARES), np.log(0.2 * 0.5 * 0.5)),
    "categorical_logit_lpmf": (([1, 3, 3], np.log(SHARES) + 1.0), np.log(0.2 * 0.5 * 0.5)),
    "ordered_logistic_lpmf": ((CATEGORIES, ETA, CUTS), between(expit, ETA)),
    "ordered_probit_lpmf": ((CATEGORIES, 0.3, CUTS), between(ndtr, 0.3)),
    "normal_id_glm_lpdf": ((ETA**2, X, A, B, 1.3), scipy.stats.norm.logpdf(ETA**2, ETA, 1.3).sum()),
    "bernoulli_logit_glm_lpmf": ((BINARY, X, A, B), scipy.stats.bernoulli.logpmf(BINARY, expit(ETA)).sum()),
    "binomial_logit_glm_lpmf": ((SIX, TOTALS, X, A, B), scipy.stats.binom.logpmf(SIX, 9, expit(ETA)).sum()),
    "poisson_log_glm_lpmf": ((SIX, X, A, B), scipy.stats.poisson.logpmf(SIX, np.exp(ETA)).sum()),
    "neg_binomial_2_log_glm_lpmf": (
        (SIX, X, np.full(6, A), B, 2.2), scipy.stats.nbinom.logpmf(SIX, 2.2, 2.2 / (2.2 + np.exp(ETA))).sum(),
    ),
    "categorical_logit_glm_lpmf": (
        (CATEGORIES, X, ALPHAS, BETAS),
        np.sum(ODDS[np.arange(6), CATEGORIES - 1] - np.log(np.sum(np.exp(ODDS), axis=1))),
    ),
    "ordered_logistic_glm_lpmf": ((CATEGORIES, X, B, CUTS), between(expit, X @ B)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    args, expected = CASES[name]
    assert getattr(stan, name)(*args) == pytest.approx(float(expected), rel=1e-12)


def test_every_mode_and_engine():
    expect_ad(lambda mu, L: stan.multi_normal_cholesky_lpdf(Y, mu, np.tril(L)), MU, L)
    expect_ad(lambda a, b: stan.poisson_log_glm_lpmf(SIX, X, a, b), A, B)
    expect_ad(lambda b, cuts: stan.ordered_logistic_glm_lpmf(CATEGORIES, X, b, cuts), B, CUTS)


def test_correlations_of_two():
    """Their one correlation r: (1 + r) / 2 is beta distributed with eta and eta."""
    expected = scipy.stats.beta.logpdf(0.65, 1.7, 1.7) - math.log(2.0)
    assert stan.lkj_corr_lpdf([[1.0, 0.3], [0.3, 1.0]], 1.7) == pytest.approx(expected, rel=1e-13)


def test_correlations_and_their_factors():
    """The densities differ by the Jacobian of L L^T."""
    transform = stan.cholesky_factor_corr(3)
    u = np.array([0.3, -0.4, 0.8])
    free = lambda y: np.array([y[1, 0], y[2, 0], y[2, 1]])
    to_factor = contad.jacobian(lambda u: contad.array(list(free(transform.constrain(u)))))(u)
    to_matrix = contad.jacobian(lambda u: contad.array(list(free(stan.tcrossprod(transform.constrain(u))))))(u)
    factor = transform.constrain(u)
    left = stan.lkj_corr_lpdf(factor @ factor.T, 1.7) + np.linalg.slogdet(to_matrix)[1]
    right = stan.lkj_corr_cholesky_lpdf(factor, 1.7) + np.linalg.slogdet(to_factor)[1]
    assert left == pytest.approx(right, rel=1e-12)


def test_covariances_of_scales_and_correlations():
    scales = np.sqrt(np.diagonal(S))
    expected = scipy.stats.lognorm.logpdf(scales, WEIGHTS[:3], scale=np.exp(MU)).sum()
    expected += stan.lkj_corr_lpdf(S / np.outer(scales, scales), 1.7)
    assert stan.lkj_cov_lpdf(S, MU, WEIGHTS[:3], 1.7) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("name", ["wishart_cholesky_lpdf", "inv_wishart_cholesky_lpdf"])
def test_factors_that_are_none(name):
    function = getattr(stan, name)
    with pytest.raises(ValueError, match=f"{name}: L_W must be lower triangular"):
        function(W, 4.5, L)
    with pytest.raises(ValueError, match=f"{name}: nu must be greater than the size of the matrix .* nu = 1.5"):
        function(L, 1.5, L)
    with pytest.raises(ValueError, match=f"{name}: L_W and L_S must have the same size"):
        function(L, 4.5, np.eye(2))


def test_far_categories():
    """Differences of distribution functions in either tail."""
    assert stan.ordered_probit_lpmf(2, 0.0, [39.0, 40.0]) == pytest.approx(log_ndtr(-39.0), rel=1e-12)
    assert stan.ordered_probit_lpmf(2, 0.0, [-40.0, -39.0]) == pytest.approx(log_ndtr(-39.0), rel=1e-12)
    assert stan.ordered_logistic_lpmf(2, 0.0, [800.0, 801.0]) == pytest.approx(
        -800.0 + np.log1p(-np.exp(-1.0)), rel=1e-14
    )


@pytest.mark.parametrize(("name", "args", "message"), [
    ("multi_normal_lpdf", (Y, MU, -S), "multi_normal_lpdf: Sigma must be a positive definite matrix"),
    ("multi_normal_lpdf", (Y[:, :2], MU, S), "multi_normal_lpdf: y and mu must have the length of Sigma"),
    ("multi_normal_cholesky_lpdf", (Y, MU, -L), "multi_normal_cholesky_lpdf: L must be lower triangular"),
    ("multi_student_t_lpdf", (Y, -1.0, MU, S), "multi_student_t_lpdf: nu must be positive and finite, got -1.0"),
    ("dirichlet_lpdf", ([0.5, 0.6], [1.0, 1.0]), "dirichlet_lpdf: theta must be a simplex"),
    ("multinomial_lpmf", ([0.5, 1.0], [0.5, 0.5]), "multinomial_lpmf: n must be a nonnegative whole number"),
    ("wishart_lpdf", (W, 1.5, S), "wishart_lpdf: nu must be greater than the size of the matrix"),
    ("lkj_corr_lpdf", (R, 0.0), "lkj_corr_lpdf: eta must be positive"),
    ("categorical_lpmf", ([0], SHARES), "categorical_lpmf: y must be a category, a whole number from 1 to 3, got 0"),
    ("ordered_logistic_lpmf", ([1], 0.3, [1.0, 0.5]), "ordered_logistic_lpmf: cuts must be a vector of increasing"),
    ("poisson_log_glm_lpmf", (SIX, X, A, np.ones(3)), "poisson_log_glm_lpmf: x must have a column for each element"),
    ("poisson_log_glm_lpmf", (-SIX, X, A, B), "poisson_log_glm_lpmf: y must be a nonnegative whole number"),
])  # fmt: skip
def test_refusals(name, args, message):
    with pytest.raises(ValueError, match=message):
        getattr(stan, name)(*args)
