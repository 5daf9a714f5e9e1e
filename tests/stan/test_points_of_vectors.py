"""Densities of vectors and matrices, of categories and of linear models: values and gradients beside mpmath's."""

import numpy as np
import pytest
from mpmath import mp

import contad
from contad import stan
from tests.distributions.reference_densities import LOG_DENSITIES

ROWS = np.array([[0.3, -1.2], [2.5, 0.4], [-0.7, 0.9]])
COUNTS, TOTALS, MARKS = (4.0, 0.0, 31.0), (9.0, 3.0, 40.0), (1.0, 0.0, 1.0)
CATEGORIES = (3, 1, 2)
DRAWN = (4, 0, 3)


# ---- contad's functions of one vector --------------------------------------------------------------------------------
def factor(v):
    """A lower triangular matrix of two rows."""
    return v[[0, 0, 1, 2]].reshape(2, 2) * np.array([[1.0, 0.0], [1.0, 1.0]])


def covariance(v):
    a = factor(v)
    return a @ a.T


def correlation(r):
    return np.array([[1.0, 0.0], [0.0, 1.0]]) + np.array([[0.0, 1.0], [1.0, 0.0]]) * r


def factor_of_correlation(r):
    return np.array([[1.0, 0.0], [0.0, 0.0]]) + np.array([[0.0, 0.0], [1.0, 0.0]]) * r + np.array(
        [[0.0, 0.0], [0.0, 1.0]]
    ) * np.sqrt(1.0 - r * r)  # fmt: skip


def simplex(v):
    """Two probabilities and what is left."""
    return np.stack([v[0], v[1], 1.0 - v[0] - v[1]])


# ---- in mpmath -------------------------------------------------------------------------------------------------------
def matrix(v):
    a = mp.matrix([[v[0], 0], [v[1], v[2]]])
    return a * a.T


def of_square(d, precision):
    return (mp.matrix([d]) * precision * mp.matrix(d))[0]


def normal(y, mu, precision):
    d = [a - b for a, b in zip(y, mu, strict=True)]
    return mp.log(mp.det(precision)) / 2 - mp.log(2 * mp.pi) - of_square(d, precision) / 2


def student(y, nu, mu, precision):
    d = [a - b for a, b in zip(y, mu, strict=True)]
    scale = mp.loggamma(nu / 2 + 1) - mp.loggamma(nu / 2) - mp.log(nu * mp.pi) + mp.log(mp.det(precision)) / 2
    return scale - (nu / 2 + 1) * mp.log(1 + of_square(d, precision) / nu)


def wishart(w, nu, s):
    trace = sum((s**-1 * w)[k, k] for k in range(2))
    of_gammas = mp.log(mp.pi) / 2 + mp.loggamma(nu / 2) + mp.loggamma((nu - 1) / 2)
    return (nu - 3) / 2 * mp.log(mp.det(w)) - trace / 2 - nu * mp.log(2) - nu / 2 * mp.log(mp.det(s)) - of_gammas


def inv_wishart(w, nu, s):
    return wishart(w**-1, nu, s**-1) - 3 * mp.log(mp.det(w))  # of the inverse, and its Jacobian


def jacobian(v):
    """log |d (a a^T) / d a| of the lower triangular matrix a, from the determinant of the derivatives."""
    a, b, c = v
    return mp.log(abs(mp.det(mp.matrix([[2 * a, 0, 0], [b, a, 0], [0, 2 * b, 2 * c]]))))


def processes(y, covariance, weights):
    """Rows of y, each with the covariance over its weight."""
    rows = zip(y, weights, strict=True)
    return mp.fsum(normal(row, [0, 0], (covariance / w) ** -1) for row, w in rows)


def lkj_cov(v, mu, sigma, eta):
    w = matrix(v)
    scales = [mp.sqrt(w[k, k]) for k in range(2)]
    normals = [mp.log(mp.npdf(mp.log(s), m, d)) - mp.log(s) for s, m, d in zip(scales, mu, sigma, strict=True)]
    return mp.fsum(normals) + lkj(w[1, 0] / scales[0] / scales[1], eta)


def lkj(r, eta):
    whole = 2 ** (2 * eta - 1) * mp.beta(eta, eta)  # of (1 - r^2)^(eta - 1) over -1 < r < 1
    return (eta - 1) * mp.log(1 - r * r) - mp.log(whole)


def softmax(values, k):
    return values[k] - mp.log(mp.fsum(map(mp.exp, values)))


def ordered(cdf, y, eta, cuts):
    low, high = [mp.mpf(0), *(cdf(c - eta) for c in cuts)], [*(cdf(c - eta) for c in cuts), mp.mpf(1)]
    return mp.log(high[y - 1] - low[y - 1])


def expit(x):
    return 1 / (1 + mp.exp(-x))


def predictors(alpha, beta):
    return [alpha + mp.mpf(x[0]) * beta[0] + mp.mpf(x[1]) * beta[1] for x in ROWS]


def glm(mass, data=COUNTS):
    """The sum over the rows of a density of Stan's of the data, the predictor and what follows."""

    def logarithm(v):
        rows = zip(data, predictors(v[0], v[1:3]), strict=True)
        return mp.fsum(LOG_DENSITIES[mass](y, eta, *v[3:]) for y, eta in rows)

    return logarithm


def dirichlet(theta, alpha):
    scale = mp.loggamma(mp.fsum(alpha)) - mp.fsum(map(mp.loggamma, alpha))
    return scale + mp.fsum((a - 1) * mp.log(t) for a, t in zip(alpha, theta, strict=True))


def rest(v):
    return [v[0], v[1], 1 - v[0] - v[1]]


def chosen(y, alpha, beta):
    """log odds of three categories: the predictor of each row by a column of coefficients."""
    rows = ([a + mp.mpf(x[0]) * beta[k] + mp.mpf(x[1]) * beta[3 + k] for k, a in enumerate(alpha)] for x in ROWS)
    return mp.fsum(softmax(row, k - 1) for row, k in zip(rows, y, strict=True))


def choices(n):
    return mp.loggamma(sum(n) + 1) - mp.fsum(mp.loggamma(k + 1) for k in n)


def of_dirichlet(n, alpha):
    whole, total = mp.fsum(alpha), sum(n)
    parts = mp.fsum(mp.loggamma(k + a) - mp.loggamma(a) for k, a in zip(n, alpha, strict=True))
    return choices(n) + parts + mp.loggamma(whole) - mp.loggamma(whole + total)


SHARES = (0.125, 0.25, 0.625)
PLACES = [0.7, -1.3, 0.2, 0.4]  # y and mu
FAR = [40.0, 1e-3, -3.0, 2.0]
SIDES = [1.3, -0.7, 0.6]
THIN = [30.0, 2.0, 1e-3]
LINE = [[0.3, 0.4, -0.7], [-2.0, 1.5, 0.8]]
CUTS = [-1.0, 0.25, 0.9]
# by the name: contad's function of a vector, the reference, points
CASES = {
    "multi_normal_lpdf": (
        lambda v: stan.multi_normal_lpdf(v[0:2], v[2:4], covariance(v[4:7])),
        lambda v: normal(v[0:2], v[2:4], matrix(v[4:7]) ** -1), [PLACES + SIDES, FAR + SIDES],
    ),
    "multi_normal_cholesky_lpdf": (
        lambda v: stan.multi_normal_cholesky_lpdf(v[0:2], v[2:4], factor(v[4:7])),
        lambda v: normal(v[0:2], v[2:4], matrix(v[4:7]) ** -1), [PLACES + SIDES, FAR + SIDES, PLACES + THIN],
    ),
    "multi_normal_prec_lpdf": (
        lambda v: stan.multi_normal_prec_lpdf(v[0:2], v[2:4], covariance(v[4:7])),
        lambda v: normal(v[0:2], v[2:4], matrix(v[4:7])), [PLACES + SIDES, FAR + SIDES],
    ),
    "multi_student_t_lpdf": (
        lambda v: stan.multi_student_t_lpdf(v[0:2], v[7], v[2:4], covariance(v[4:7])),
        lambda v: student(v[0:2], v[7], v[2:4], matrix(v[4:7]) ** -1), [[*PLACES, *SIDES, 3.3], [*FAR, *SIDES, 0.5]],
    ),
    "wishart_lpdf": (
        lambda v: stan.wishart_lpdf(covariance(v[0:3]), v[6], covariance(v[3:6])),
        lambda v: wishart(matrix(v[0:3]), v[6], matrix(v[3:6])), [[*SIDES, 0.8, 0.5, 1.1, 3.5]],
    ),
    "inv_wishart_lpdf": (
        lambda v: stan.inv_wishart_lpdf(covariance(v[0:3]), v[6], covariance(v[3:6])),
        lambda v: inv_wishart(matrix(v[0:3]), v[6], matrix(v[3:6])), [[*SIDES, 0.8, 0.5, 1.1, 3.5]],
    ),
    "lkj_corr_lpdf": (
        lambda v: stan.lkj_corr_lpdf(correlation(v[0]), v[1]), lambda v: lkj(v[0], v[1]), [[0.3, 2.5], [-0.99, 0.2]],
    ),
    "lkj_corr_cholesky_lpdf": (  # with the Jacobian of r itself, which is 1 for two rows
        lambda v: stan.lkj_corr_cholesky_lpdf(factor_of_correlation(v[0]), v[1]),
        lambda v: lkj(v[0], v[1]), [[0.3, 2.5], [-0.99, 0.2]],
    ),
    "dirichlet_lpdf": (
        lambda v: stan.dirichlet_lpdf(np.array(SHARES), v), lambda v: dirichlet(SHARES, v),
        [[0.7, 2.0, 3.0], [1e-3, 40.0, 90.0]],
    ),
    "dirichlet_lpdf of theta": (
        lambda v: stan.dirichlet_lpdf(simplex(v), np.array([0.7, 2.0, 3.0])),
        lambda v: dirichlet(rest(v), (mp.mpf(0.7), 2, 3)), [[0.125, 0.25], [1e-3, 0.9], [1e-9, 2e-7]],
    ),
    "multinomial_lpmf": (
        lambda v: stan.multinomial_lpmf(DRAWN, simplex(v)),
        lambda v: choices(DRAWN) + mp.fsum(n * mp.log(t) for n, t in zip(DRAWN, rest(v), strict=True)),
        [[0.125, 0.25], [1e-3, 0.9], [0.98, 0.01]],
    ),
    "categorical_lpmf": (
        lambda v: stan.categorical_lpmf(CATEGORIES, simplex(v)), lambda v: mp.fsum(map(mp.log, rest(v))),
        [[0.125, 0.25], [1e-3, 0.9]],
    ),
    "multi_student_t_cholesky_lpdf": (
        lambda v: stan.multi_student_t_cholesky_lpdf(v[0:2], v[7], v[2:4], factor(v[4:7])),
        lambda v: student(v[0:2], v[7], v[2:4], matrix(v[4:7]) ** -1), [[*PLACES, *SIDES, 3.3], [*FAR, *THIN, 0.5]],
    ),
    "wishart_cholesky_lpdf": (
        lambda v: stan.wishart_cholesky_lpdf(factor(v[0:3]), v[6], factor(v[3:6])),
        lambda v: wishart(matrix(v[0:3]), v[6], matrix(v[3:6])) + jacobian(v[0:3]),
        [[*SIDES, 0.8, 0.5, 1.1, 3.5], [30.0, 2.0, 0.1, 0.8, 0.5, 1.1, 1.25]],
    ),
    "inv_wishart_cholesky_lpdf": (
        lambda v: stan.inv_wishart_cholesky_lpdf(factor(v[0:3]), v[6], factor(v[3:6])),
        lambda v: inv_wishart(matrix(v[0:3]), v[6], matrix(v[3:6])) + jacobian(v[0:3]),
        [[*SIDES, 0.8, 0.5, 1.1, 3.5], [30.0, 2.0, 0.7, 0.8, 0.5, 1.1, 40.0]],
    ),
    "lkj_cov_lpdf": (
        lambda v: stan.lkj_cov_lpdf(covariance(v[0:3]), v[3:5], v[5:7], v[7]),
        lambda v: lkj_cov(v[0:3], v[3:5], v[5:7], v[7]), [[*SIDES, 0.3, -0.2, 0.8, 1.9, 2.5]],
    ),
    "multi_gp_lpdf": (
        lambda v: stan.multi_gp_lpdf(v[0:4].reshape(2, 2), covariance(v[4:7]), v[7:9]),
        lambda v: processes((v[0:2], v[2:4]), matrix(v[4:7]), v[7:9]),
        [[*PLACES, *SIDES, 0.5, 3.0], [*FAR, *SIDES, 1e-3, 200.0]],
    ),
    "multi_gp_cholesky_lpdf": (
        lambda v: stan.multi_gp_cholesky_lpdf(v[0:4].reshape(2, 2), factor(v[4:7]), v[7:9]),
        lambda v: processes((v[0:2], v[2:4]), matrix(v[4:7]), v[7:9]),
        [[*PLACES, *SIDES, 0.5, 3.0], [*FAR, *SIDES, 1e-3, 200.0]],
    ),
    "categorical_logit_glm_lpmf": (
        lambda v: stan.categorical_logit_glm_lpmf(np.array(CATEGORIES), ROWS, v[0:3], v[3:9].reshape(2, 3)),
        lambda v: chosen(CATEGORIES, v[0:3], v[3:9]),
        [[0.3, -0.4, 0.1, 0.7, -1.3, 0.2, 0.4, 0.9, -0.6], [9.0, -30.0, 2.0, 40.0, -1.3, 0.2, 0.4, 250.0, -0.6]],
    ),
    "binomial_logit_glm_lpmf": (
        lambda v: stan.binomial_logit_glm_lpmf(np.array(COUNTS, int), np.array(TOTALS, int), ROWS, v[0], v[1:3]),
        lambda v: mp.fsum(map(LOG_DENSITIES["binomial_logit_lpmf"], COUNTS, TOTALS, predictors(v[0], v[1:3]))), LINE,
    ),
    "dirichlet_multinomial_lpmf": (
        lambda v: stan.dirichlet_multinomial_lpmf(DRAWN, v), lambda v: of_dirichlet(DRAWN, v),
        [[0.7, 2.0, 3.0], [1e-3, 40.0, 900.0]],
    ),
    "multinomial_logit_lpmf": (
        lambda v: stan.multinomial_logit_lpmf(DRAWN, v),
        lambda v: choices(DRAWN) + mp.fsum(n * softmax(v, k) for k, n in enumerate(DRAWN)),
        [[0.7, -2.0, 0.4], [-40.0, 3.0, 700.0]],
    ),
    "categorical_logit_lpmf": (
        lambda v: stan.categorical_logit_lpmf(2, v), lambda v: softmax(v, 1), [[0.7, -2.0, 0.4], [40.0, -900.0, 3.0]],
    ),
    "ordered_logistic_lpmf": (
        lambda v: stan.ordered_logistic_lpmf(2, v[0], v[1:4]), lambda v: ordered(expit, 2, v[0], v[1:4]),
        [[0.3, *CUTS], [30.0, *CUTS], [-35.0, *CUTS]],
    ),
    "ordered_probit_lpmf": (
        lambda v: stan.ordered_probit_lpmf(2, v[0], v[1:4]), lambda v: ordered(mp.ncdf, 2, v[0], v[1:4]),
        [[0.3, *CUTS], [9.0, *CUTS], [-8.0, *CUTS]],
    ),
    "normal_id_glm_lpdf": (
        lambda v: stan.normal_id_glm_lpdf(np.array(COUNTS), ROWS, v[0], v[1:3], v[3]),
        glm("normal_lpdf"), [[*line, 0.8] for line in LINE],
    ),
    "bernoulli_logit_glm_lpmf": (
        lambda v: stan.bernoulli_logit_glm_lpmf(np.array(MARKS, int), ROWS, v[0], v[1:3]),
        glm("bernoulli_logit_lpmf", MARKS), [*LINE, [0.0, 30.0, -200.0]],
    ),
    "poisson_log_glm_lpmf": (
        lambda v: stan.poisson_log_glm_lpmf(np.array(COUNTS, int), ROWS, v[0], v[1:3]), glm("poisson_log_lpmf"), LINE,
    ),
    "neg_binomial_2_log_glm_lpmf": (
        lambda v: stan.neg_binomial_2_log_glm_lpmf(np.array(COUNTS, int), ROWS, v[0], v[1:3], v[3]),
        glm("neg_binomial_2_log_lpmf"), [[*LINE[0], 0.7], [*LINE[1], 60.0]],
    ),
    "ordered_logistic_glm_lpmf": (
        lambda v: stan.ordered_logistic_glm_lpmf(np.array(CATEGORIES), ROWS, v[0:2], v[2:5]),
        lambda v: mp.fsum(ordered(expit, y, eta, v[2:5]) for y, eta in zip(CATEGORIES, predictors(0, v), strict=True)),
        [[0.4, -0.7, *CUTS]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@mp.workdps(45)
def test_values_and_gradients(name):
    f, reference, points = CASES[name]
    for point in points:
        exact, v = [mp.mpf(x) for x in point], np.array(point)
        value, slopes = reference(exact), []
        for k, x in enumerate(exact):
            h = mp.mpf(10) ** -15 * (abs(x) or 1)
            ends = [reference([p + w * (j == k) for j, p in enumerate(exact)]) for w in (-h, h)]
            slopes.append((ends[1] - ends[0]) / (2 * h))
        size = 1 + abs(value) + sum(abs(x * slope) for x, slope in zip(exact, slopes, strict=True))
        assert abs(f(v) - value) <= 1e-14 * size
        for x, found, slope in zip(point, contad.grad(f)(v), slopes, strict=True):
            assert abs(found - slope) <= 1e-13 * (abs(slope) + size / max(abs(x), 1.0)), (point, found, slope)


def test_there_are_many():
    assert sum(len(points) for _, _, points in CASES.values()) >= 60
