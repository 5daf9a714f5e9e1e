"""Densities of vectors, matrices and kernels: SciPy's values, derivatives of both orders, and what is refused."""

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import contad
from contad.errors import UnsupportedError
from contad.scipy import stats
from contad.testing import expect_ad
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)


def a(*shape):
    return RNG.normal(size=shape)


def positive(n):
    x = a(n, n)
    return x @ x.T + np.eye(n)


def unit(x):
    return x / np.sqrt(np.sum(x**2))


def low(s):
    """The symmetric matrix of a lower triangle, so that SciPy, which reads the other one, sees the same."""
    return np.tril(s) + np.swapaxes(np.tril(s, -1), -1, -2)


S, S2 = positive(3), positive(2)
ALPHA, P, ROWS, DF = np.array([1.3, 2.2, 0.7]), np.array([0.2, 0.5, 0.3]), a(4, 3), np.array([4.3])
COUNTS = [[1, 2, 1], [0, 3, 1]]
CASES = {
    "normal": (lambda m, x, mu, s: m.multivariate_normal.logpdf(x, mu, low(s)), ROWS, a(3), S),
    "normal, one": (lambda m, x, mu, s: m.multivariate_normal.pdf(x, mu, low(s)), a(3), a(3), S),
    "normal, diagonal": (lambda m, x, mu, s: m.multivariate_normal.logpdf(x, mu, cov=s**2), ROWS, a(3), ALPHA),
    "normal, one variance": (lambda m, x, mu: m.multivariate_normal.logpdf(x, mu, 1.7), ROWS, a(3)),
    "normal, numbers": (lambda m, x, s: m.multivariate_normal.logpdf(x, 0.3, s[0]), a(5), np.array([1.3])),
    "t": (lambda m, x, mu, s, df: m.multivariate_t.logpdf(x, mu, low(s), df[0]), ROWS, a(3), S, DF),
    "dirichlet": (lambda m, alpha: m.dirichlet.logpdf(P, alpha), ALPHA),
    "dirichlet, free": (lambda m, x, alpha: m.dirichlet.logpdf(x, alpha), P[:2], ALPHA),
    "dirichlet, columns": (lambda m, x, alpha: m.dirichlet.pdf(x, alpha), np.array([[0.2, 0.4], [0.5, 0.1]]), ALPHA),
    "multinomial": (lambda m, p: m.multinomial.logpmf(COUNTS, 4, p / np.sum(p)), ALPHA),
    "dirichlet_multinomial": (lambda m, alpha: m.dirichlet_multinomial.logpmf(COUNTS, alpha, 4), ALPHA),
    "dirichlet_multinomial, one": (lambda m, alpha: m.dirichlet_multinomial.pmf(COUNTS[0], alpha, 4), ALPHA),
    "wishart": (lambda m, x, df, s: m.wishart.logpdf(low(x), df[0], low(s)), S + 0.3, DF, S),
    "invwishart": (lambda m, x, df, s: m.invwishart.logpdf(low(x), df[0], low(s)), S + 0.3, DF, S),
    "matrix_normal": (lambda m, x, mu, r, c: m.matrix_normal.logpdf(x, mu, low(r), low(c)), a(2, 3), a(2, 3), S2, S),
    "matrix_normal, more": (lambda m, x, r, c: m.matrix_normal.logpdf(x, None, low(r), low(c)), a(4, 2, 3), S2, S),
    "directions": (
        lambda m, x, mu, kappa: m.vonmises_fisher.logpdf(unit(x), unit(mu), kappa[0]),
        a(3), a(3), DF,
    ),
    "kernels": (lambda m, y, x: m.gaussian_kde(y).logpdf(x), a(7), a(3)),
    "kernels, two axes": (lambda m, y, x: m.gaussian_kde(y, "silverman").pdf(x), a(2, 7), a(2, 3)),
    "kernels, weights": (lambda m, y, x, w: m.gaussian_kde(y, weights=w**2).logpdf(x), a(2, 7), a(2, 3), a(7)),
    "kernels, a factor": (lambda m, y, x: m.gaussian_kde(y, 0.7)(x), a(7), a(3)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.stats, stats, False, 1e-11, 1e-12)


def test_categories():
    """SciPy has no such distribution: beside multinomial counts of one draw."""
    rows = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    for k in range(3):
        expected = scipy.stats.multinomial.logpmf(np.eye(3)[k], 1, rows)
        np.testing.assert_allclose(stats.categorical.logpmf(k, rows), expected, rtol=1e-14)
        np.testing.assert_allclose(stats.categorical.pmf([k, k], rows), np.exp(expected), rtol=1e-14)
    k = np.array([[2], [0]])
    expect_ad(lambda p: np.sum(stats.categorical.logpmf(k, p / np.sum(p)) * [[1.3], [0.7]]), ALPHA)
    gradient = contad.grad(lambda p: np.sum(stats.categorical.logpmf(k, p)))(P)
    np.testing.assert_allclose(gradient, [1.0 / P[0], 0.0, 1.0 / P[2]], rtol=1e-15)
    value, gradient = contad.value_and_grad(lambda p: stats.categorical.logpmf(3, p))(P)
    assert value == -np.inf and not np.any(gradient)
    np.testing.assert_array_equal(stats.categorical.logpmf([-1, 0.5, 1], [0.5, 0.5]), [-np.inf, -np.inf, np.log(0.5)])
    assert np.isnan(stats.categorical.logpmf(0, [0.5, 0.6]))
    with pytest.raises(UnsupportedError, match="k must be constants"):
        contad.grad(lambda k: stats.categorical.logpmf(k, P))(1.0)


def test_correlation_matrices():
    """SciPy has no such distribution: beside its integral, for matrices of two and three."""
    x = np.array([[1.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 1.0]])
    eta = 2.0
    two = scipy.integrate.quad(lambda r: (1.0 - r * r) ** (eta - 1.0), -1.0, 1.0)[0]
    assert stats.lkj.pdf(x[:2, :2], eta) == pytest.approx((1.0 - 0.09) / two, rel=1e-12)
    det = lambda c, b, a: max(1.0 + 2.0 * a * b * c - a * a - b * b - c * c, 0.0) ** (eta - 1.0)
    of_two = lambda s: lambda a, b: a * b + s * np.sqrt((1.0 - a * a) * (1.0 - b * b))
    three = scipy.integrate.tplquad(det, -1.0, 1.0, -1.0, 1.0, of_two(-1.0), of_two(1.0), epsabs=1e-8)[0]
    assert stats.lkj.pdf(x, eta) == pytest.approx(np.linalg.det(x) / three, rel=1e-6)
    stack = np.stack([x, np.eye(3)])
    assert stats.lkj.logpdf(stack, eta).tolist() == [stats.lkj.logpdf(x, eta), stats.lkj.logpdf(np.eye(3), eta)]

    def of_distances(r, eta):
        off = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        return stats.lkj.logpdf(np.eye(3) + r * off + r * r * 0.5 * off[::-1, ::-1], eta)

    expect_ad(of_distances, 0.3, 1.7)
    for bad, at, message in (
        (x[:2], eta, "square"), (x, -1.0, "eta must be one positive"), (2.0 * x, eta, "a diagonal of 1"),
        (x + 0.95 - 0.95 * np.eye(3), eta, "positive definite"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            stats.lkj.logpdf(bad, at)


def test_impossible_values_have_no_probability():
    value, gradient = contad.value_and_grad(lambda p: stats.multinomial.logpmf([1, 2, 2], 4, p))(P)
    assert value == -np.inf and not np.any(gradient)
    mass = stats.dirichlet_multinomial.logpmf
    value, gradient = contad.value_and_grad(lambda alpha: mass([1, 2, 2], alpha, 4))(ALPHA)
    assert value == -np.inf and not np.any(gradient)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: stats.multivariate_normal.logpdf(x, cov=-np.eye(3), mean=x), ValueError, "cov must be positive def"),
    (lambda x: stats.multivariate_normal.logpdf(x, np.zeros(2)), ValueError, "x must have 2 elements"),
    (lambda x: stats.multivariate_normal.logpdf(x, x, np.eye(3), True), UnsupportedError, "allow_singular"),
    (lambda x: stats.multivariate_t.logpdf(x, x, np.eye(3), -1.0), ValueError, "df must be positive, got -1.0"),
    (lambda x: stats.dirichlet.logpdf(x + 1.0, ALPHA), ValueError, "points of a simplex"),
    (lambda x: stats.dirichlet.logpdf(P, -x - 2.0), ValueError, "alpha must be a vector of positive"),
    (lambda x: stats.multinomial.logpmf(x, 4, P), UnsupportedError, "x and n must be constants"),
    (lambda x: stats.wishart.logpdf(S, 1.0 + 0.1 * x[0], S), ValueError, "df must be greater than 2"),
    (lambda x: stats.matrix_normal.logpdf(x), ValueError, "X must be a matrix"),
    (lambda x: stats.gaussian_kde(x, "wide").logpdf(0.0)[0], ValueError, "bw_method"),
    (lambda x: stats.gaussian_kde(np.stack([x, 0.0 * x])).logpdf(P[:2])[0], np.linalg.LinAlgError, "subspace"),
    (lambda x: stats.gaussian_kde(x).logpdf(np.zeros((2, 3)))[0], ValueError, "dataset has dimension 1"),
    (lambda x: stats.uniform_direction.logpdf(x), AttributeError, "has no uniform_direction"),
    (lambda x: stats.vonmises_fisher.logpdf(x, x, 2.0), ValueError, "mu must be a vector of length 1"),
    (lambda x: stats.matrix_t.logpdf(np.outer(x, x), df=-1.0), ValueError, "df must be positive"),
])  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(call)(np.array([0.3, -0.7, 1.1]))
