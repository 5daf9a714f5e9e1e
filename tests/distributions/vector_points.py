"""Every density of vectors and matrices of `contad.stan` and `contad.scipy.stats`, and points in every regime.

A case is the function, its definition in mpmath, and by argument what is free in it: "f" each of its numbers, "s" the
lower triangle of a symmetric matrix, "l" that of a Cholesky factor, "c" nothing. Numbers that are nan
are missing, and infinite ones have no derivative.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp

from contad import stan
from contad.distributions.faces import Face
from contad.scipy import multivariate_densities, stats
from contad.scipy.multivariate_densities import MultivariateDistribution
from tests.distributions import vector_definitions as exact

_rng = np.random.default_rng(7)
Point = tuple[Any, ...]


# ---- arguments -------------------------------------------------------------------------------------------------------
def unit(x):
    """Vectors of length 1."""
    return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True))


def a(*shape):
    return np.round(_rng.normal(size=shape), 2) + 0.005


def spd(n, *scales):
    """A covariance; with scales, ill-conditioned."""
    factor = low(n, *scales)
    product = factor @ factor.T
    return np.tril(product) + np.tril(product, -1).T


def low(n, *scales):
    factor = np.tril(a(n, n), -1) + np.diag(0.4 + np.abs(a(n)))
    return factor * np.array(scales)[:, None] if scales else factor


def corr(n, near=0.0):
    """Correlations, some of which are near 1."""
    s = spd(n) + near
    made = s / np.sqrt(np.outer(np.diag(s), np.diag(s)))
    return np.tril(made, -1) + np.tril(made, -1).T + np.eye(n)


corr_factor = lambda n, near=0.0: np.linalg.cholesky(corr(n, near))
shares = lambda *values: np.array(values) / np.sum(values)
positive = lambda n: 0.3 + np.abs(a(n))
counts = lambda *values: np.array(values, dtype=float)
X = a(4, 2)
CUTS, CLOSE = np.array([-1.0, 0.25, 0.9]), np.array([-1.0, 0.25, 0.25 + 1e-9])
ODDS = np.array([0.7, -2.0, 0.4])
TWO, THREE = [a(2, 2), a(2), spd(2)], [a(3), a(3), spd(3)]
NEARLY_ONE = np.array([[1.0, 2e-4, -1e-4], [2e-4, 1.0, 3e-4], [-1e-4, 3e-4, 1.0]])
FAR = [np.array([40.0, -700.0, 3e-3]), np.array([-3.0, 2.0, 0.4])]


def linear(*given, more=()):
    """Data, predictors of matrix and row, one intercept or many, and the rest."""
    moved = [np.roll(x, 1) if np.ndim(x) else x for x in given]
    beta = np.array([0.4, -0.7])
    points = [(*given, X, 0.3, beta, *more), (*moved, X, a(4), beta, *(1.3 * x for x in more))]
    points.append((*given, X, -2.0, np.array([3.0, 1.6]), *(0.3 * x + 0.1 * np.arange(4.0) for x in more)))
    first = [float(np.ravel(x)[0]) for x in given]
    return [*points, (*first, X[0], 0.2, -2.0 * beta, *more)]


MODEL = [a(2, 2), 0.5 * a(2, 2), spd(2), spd(2), a(2), spd(2)]
MISSING = np.array([[0.3, np.nan, -1.1], [np.nan, np.nan, 0.8]])
CHAIN = [shares(0.7, 0.2, 0.1), shares(0.1, 0.5, 0.4), shares(0.3, 0.1, 0.6)]


class Case(NamedTuple):
    """A function of numbers and arrays with one result."""

    function: Callable[..., Any]
    reference: Callable[..., Any]
    kinds: str
    points: list[Point]


FREEDOM = [(spd(2), 3.3, spd(2)), (spd(3), 4.5, corr(3)), (spd(3, 10.0, 1.0, 1e-2), 2.2, spd(3)),
(corr(4), 800.0, spd(4))]
FACTORS = [(low(2), 3.3, low(2)), (low(3), 4.5, corr_factor(3)), (low(3, 10.0, 1.0, 1e-3), 2.2, low(3)),
(low(4), 300.0, low(4))]
STAN = {
    "multi_normal_lpdf": (
        exact.multi_normal, "f f s",
        [TWO, THREE, [a(3, 3), a(3, 3), spd(3)], [a(2), a(3, 2), spd(2)], [*FAR, spd(3)],
         [a(4), a(4), spd(4, 30, 1, 1, 0.1)]],
    ),
    "multi_normal_cholesky_lpdf": (
        exact.of_factor(exact.multi_normal, 2), "f f l",
        [[a(2, 2), a(2), low(2)], [a(3), a(3), low(3)], [a(3, 3), a(3, 3), low(3)], [*FAR, low(3)],
         [a(4), a(4), low(4, 1e3, 1.0, 1e-3, 1.0)]],
    ),
    "multi_normal_prec_lpdf": (
        lambda y, mu, omega: exact.multi_normal(y, mu, exact.inverse(omega)), "f f s",
        [TWO, THREE, [a(3, 3), a(3, 3), spd(3)], [*FAR, spd(3)], [a(4), a(4), spd(4, 30, 1, 1, 0.1)]],
    ),
    "multi_student_t_lpdf": (
        exact.multi_student_t, "f f f s",
        [[a(2, 2), 3.3, a(2), spd(2)], [a(3), 0.5, a(3), spd(3)], [a(3, 3), 12.0, a(3, 3), spd(3)],
         [FAR[0], 2.2, FAR[1], spd(3)], [a(4), 1e9, a(4), spd(4)]],
    ),
    "multi_student_t_cholesky_lpdf": (
        exact.of_factor(exact.multi_student_t, 3), "f f f l",
        [[a(2, 2), 3.3, a(2), low(2)], [a(3), 0.5, a(3), low(3)], [a(3, 3), 12.0, a(3, 3), low(3)],
         [FAR[0], 2.2, FAR[1], low(3, 30, 1, 1e-3)], [a(4), 1e9, a(4), low(4)]],
    ),
    "multi_gp_lpdf": (
        exact.multi_gp, "f s f",
        [(a(3, 2), spd(2), positive(3)), (a(2, 3), spd(3), np.array([1e-3, 200.0])),
         (40.0 * a(1, 4), spd(4), positive(1))],
    ),
    "multi_gp_cholesky_lpdf": (
        exact.of_factor(exact.multi_gp, 1), "f l f",
        [(a(3, 2), low(2), positive(3)), (a(2, 3), low(3), np.array([1e-3, 200.0])),
         (40.0 * a(1, 4), low(4), positive(1))],
    ),
    "dirichlet_lpdf": (
        exact.dirichlet, "f f",
        [(shares(1.0, 2.0, 5.0), np.array([0.7, 2.0, 3.0])), (shares(0.3, 0.4), np.array([1e-3, 40.0])),
         (shares(1e-9, 2e-7, 3.0, 1.0), np.array([0.2, 9.0, 90.0, 1.0])), (shares(1.0, 3.0), np.array([1e9, 3e9])),
         (np.stack([shares(1.0, 2.0), shares(0.3, 0.4)]), np.array([[0.7, 2.0], [3.0, 1.6]])),
         (np.stack([shares(1.0, 2.0), shares(0.3, 0.4)]), np.array([0.7, 2.0])),
         (shares(0.3, 0.4), np.array([[0.7, 2.0], [3.0, 1.6]]))],
    ),
    "multinomial_lpmf": (
        exact.multinomial, "c f",
        [(counts(4, 0, 3), shares(1.0, 2.0, 5.0)), (counts(1, 2), shares(1e-3, 0.9)),
         (counts(300, 7000, 2, 21), shares(3.0, 60.0, 0.1, 0.2))],
    ),
    "multinomial_logit_lpmf": (
        exact.multinomial_logit, "c f",
        [(counts(4, 0, 3), ODDS), (counts(1, 2), np.array([-40.0, 3.0])), (counts(300, 7000, 2, 21), a(4))],
    ),
    "dirichlet_multinomial_lpmf": (
        exact.dirichlet_multinomial, "c f",
        [(counts(4, 0, 3), np.array([0.7, 2.0, 3.0])), (counts(1, 2), np.array([1e-3, 40.0])),
         (counts(3, 70, 2, 21), np.array([9.0, 4e6, 0.3, 2.0])),
         (counts(5, 2), np.array([3e9, 1e9])), (counts(0, 0), np.array([0.7, 2.0]))],
    ),
    "wishart_lpdf": (exact.wishart, "s f s", FREEDOM),
    "inv_wishart_lpdf": (exact.inv_wishart, "s f s", FREEDOM),
    "wishart_cholesky_lpdf": (exact.of_factors(exact.wishart), "l f l", FACTORS),
    "inv_wishart_cholesky_lpdf": (exact.of_factors(exact.inv_wishart), "l f l", FACTORS),
    "lkj_corr_lpdf": (
        exact.lkj_corr, "s f", [(corr(2), 2.5), (corr(3), 0.2), (corr(4), 1.7), (corr(3, 9.0), 1.2),
         (NEARLY_ONE, 1e7), (np.eye(4), 1e9)],
    ),
    "lkj_corr_cholesky_lpdf": (
        exact.lkj_corr_cholesky, "l f",
        [(corr_factor(2), 2.5), (corr_factor(3), 0.2), (corr_factor(4), 1.7), (corr_factor(3, 9.0), 1.2),
         (np.linalg.cholesky(NEARLY_ONE), 1e7), (np.eye(4), 1e9)],
    ),
    "lkj_cov_lpdf": (
        exact.lkj_cov, "s f f f",
        [(spd(2), a(2), positive(2), 2.5), (spd(3, 30.0, 1.0, 0.1), a(3), positive(3), 0.4), (spd(3), 0.3, 1.9, 1.2)],
    ),
    "categorical_lpmf": (
        exact.categorical, "c f", [(counts(3, 1, 3, 2), shares(1.0, 2.0, 5.0)), (2, shares(1e-3, 2e-9, 0.9))],
    ),
    "categorical_logit_lpmf": (
        exact.categorical_logit, "c f", [(counts(3, 1, 3, 2), ODDS), (2, ODDS), (1, np.array([-900.0, 3.0]))],
    ),
    "ordered_logistic_lpmf": (
        exact.ordered_logistic, "c f f",
        [(counts(4, 2, 1, 3), a(4), CUTS), (2, 0.3, CUTS), (3, 30.0, CUTS), (2, -35.0, CUTS), (1, 0.4, CUTS),
         (4, 0.4, CUTS), (counts(3, 2, 1, 4), -0.7, CLOSE)],
    ),
    "ordered_probit_lpmf": (
        exact.ordered_probit, "c f f",
        [(counts(4, 2, 1, 3), a(4), CUTS), (2, 0.3, CUTS), (3, 9.0, CUTS), (2, -8.0, CUTS), (1, 0.4, CUTS),
         (4, 0.4, CUTS), (counts(3, 2, 1, 4), -0.7, CUTS), (2, -40.0, CUTS), (counts(3, 2, 1, 4), -0.7, CLOSE),
         (2, -15.0, CLOSE), (3, -9.0, CLOSE)],
    ),
    "normal_id_glm_lpdf": (exact.glm("normal_lpdf"), "f f f f f", linear(a(4), more=(1.3,))),
    "bernoulli_logit_glm_lpmf": (exact.glm("bernoulli_logit_lpmf"), "c f f f", linear(counts(1, 0, 1, 1))),
    "binomial_logit_glm_lpmf": (
        exact.glm("binomial_logit_lpmf", 2), "c c f f f", linear(counts(3, 0, 2, 31), counts(9, 3, 2, 40)),
    ),
    "poisson_log_glm_lpmf": (exact.glm("poisson_log_lpmf"), "c f f f", linear(counts(3, 0, 2, 31))),
    "neg_binomial_2_log_glm_lpmf": (
        exact.glm("neg_binomial_2_log_lpmf"), "c f f f f", linear(counts(3, 0, 2, 31), more=(1.7,)),
    ),
    "categorical_logit_glm_lpmf": (
        exact.categorical_logit_glm, "c f f f",
        [(counts(3, 1, 2, 2), X, ODDS, a(2, 3)), (counts(1, 2, 1, 1), X, a(2), 40.0 * a(2, 2)),
         (3, X[:1], ODDS, a(2, 3)), (counts(2), X[0], ODDS, a(2, 3)), (2, X[0], ODDS, a(2, 3))],
    ),
    "ordered_logistic_glm_lpmf": (
        exact.ordered_logistic_glm, "c f f f",
        [(counts(4, 2, 1, 3), X, np.array([0.4, -0.7]), CUTS),
         (counts(1, 3, 2), a(3, 3), np.array([3.0, 1.6, -2.2]), CUTS[:2]),
         (2, X[:1], np.array([0.4, -0.7]), CUTS), (counts(3), X[0], np.array([0.4, -0.7]), CUTS),
         (3, X[0], np.array([0.4, -0.7]), CUTS)],
    ),
    "gaussian_dlm_obs_lpdf": (
        exact.gaussian_dlm_obs, "f f f s s f s",
        [(a(2, 3), *MODEL), (MISSING, *MODEL), (a(2, 2), *MODEL[:2], np.array([0.4, 1.7]), *MODEL[3:]),
         (np.array([[0.2, 30.0]]), np.array([[1.0]]), np.array([[1.1]]), np.array([0.3]), np.array([[1e-6]]),
          np.array([0.4]), np.array([[9.0]]))],
    ),
    "hmm_marginal": (
        exact.hmm_marginal, "f f f",
        [(a(3, 3), np.array(CHAIN), shares(0.2, 0.5, 0.3)), (a(3, 1), np.array(CHAIN), shares(0.2, 0.5, 0.3)),
         (np.array([[-400.0, -3.0, 1.0, 0.2], [2.0, -500.0, 0.3, -0.4]]), np.array([[0.999, 0.001], [0.3, 0.7]]),
          shares(1e-6, 1.0)),
         (np.array([[-800.0, 0.3, -np.inf], [-790.0, -1.2, 0.7]]), np.array([[0.6, 0.4], [0.3, 0.7]]),
          shares(0.2, 0.5))],
    ),
}  # fmt: skip
SCIPY = {
    "multivariate_normal": (
        exact.scipy_normal, "f f s",
        [(a(2, 3), a(3), spd(3)), (a(2), a(2), spd(2)), (a(3), a(3), positive(3)), (a(2, 2), a(2), 1.7),
         (a(4), None, 0.6),
         (1.7, 0.4, 0.6), (a(3), a(3), None), (a(2, 3), None, 0.6), (0.01 * FAR[0], FAR[1], spd(3))],
    ),
    "multivariate_t": (
        exact.scipy_t, "f f s f",
        [(a(2, 3), a(3), spd(3), 3.3), (a(2), None, spd(2), 0.5), (a(4), a(4), spd(4), 1e9),
         (0.01 * FAR[0], FAR[1], spd(3), 12.0)],
    ),
    "dirichlet": (
        exact.scipy_dirichlet, "f f",
        [(shares(1.0, 2.0, 5.0), np.array([0.7, 2.0, 3.0])), (np.array([0.25]), np.array([1e-3, 40.0])),
         (np.array([[0.2, 0.4], [0.5, 0.1]]), np.array([1.3, 2.2, 0.7]))],
    ),
    "categorical": (
        exact.scipy_categorical, "c f",
        [(counts(0, 2, 0, 1), shares(1.0, 2.0, 5.0)), (1, shares(1e-3, 2e-9, 0.9)),
         (counts(1, 0), np.array([[0.3, 0.7], [0.9, 0.1]]))],
    ),
    "multinomial": (
        exact.scipy_multinomial, "c c f",
        [(counts(4, 0, 3), 7, shares(1.0, 2.0, 5.0)), (np.array([[1.0, 2.0], [0.0, 3.0]]), 3, shares(1e-4, 0.9)),
         (counts(30, 700, 2, 21), 753, shares(3.0, 60.0, 0.1, 2.0))],
    ),
    "dirichlet_multinomial": (
        exact.scipy_dirichlet_multinomial, "c f c",
        [(counts(4, 0, 3), np.array([0.7, 2.0, 3.0]), 7), (np.array([[1.0, 2.0],
         [0.0, 3.0]]), np.array([1e-3, 40.0]), 3),
         (counts(3, 70, 2), np.array([9.0, 4e6, 0.3]), 75), (counts(5, 2), np.array([3e9, 1e9]), 7)],
    ),
    "wishart": (exact.scipy_matrix(exact.wishart), "s f s", [*FREEDOM[:3], (1.7, 2.2, 0.9)]),
    "invwishart": (exact.scipy_matrix(exact.inv_wishart), "s f s", [*FREEDOM[:3], (1.7, 2.2, 0.9)]),
    "lkj": (exact.scipy_lkj, "s f", [(corr(2), 2.5), (corr(3), 0.2), (corr(4), 1.7), (corr(3, 9.0), 1.2)]),
    "matrix_normal": (
        exact.scipy_matrix_normal, "f f s s",
        [(a(2, 3), a(2, 3), spd(2), spd(3)), (a(2, 2, 3), None, spd(2), spd(3)), (a(3, 2), a(3, 2), positive(3), 0.7)],
    ),
    "matrix_t": (
        exact.scipy_matrix_t, "f f s s f",
        [(a(2, 3), a(2, 3), spd(2), spd(3), 3.3), (a(2, 2, 3), None, spd(2), spd(3), 0.5),
         (a(3, 2), a(3, 2), positive(3), 0.7, 12.0)],
    ),
    "normal_inverse_gamma": (
        exact.scipy_normal_inverse_gamma, "f f f f f f",
        [(0.3, 1.2, 0.5, 2.0, 3.0, 1.5), (a(3), positive(3), -0.4, 0.3, 0.7, 2.5)],
    ),
    "vonmises_fisher": (
        exact.scipy_fisher, "f f f",
        [(unit(a(3)), unit(a(3)), 2.3), (unit(a(2, 4)), unit(a(4)), 40.0), (unit(a(2)), unit(a(2)), 1e-3)],
    ),
    "gaussian_kde": (
        exact.kernel_density, "f f f c",
        [(a(5), a(3), None, None), (a(2, 5), a(2, 2), None, "silverman"), (a(5), a(2), positive(5), None),
         (a(5), a(2), None, 0.7),
         (a(2, 5), a(2), positive(5), None)],
    ),
}  # fmt: skip
WEIGHTS = np.array([1.0, 0.7, -0.4, 1.3, 0.6])  # of the elements of an array of densities


# ---- functions of one number -----------------------------------------------------------------------------------------
def _elements(values: Any) -> Any:
    flat = np.reshape(values, (-1,))
    return flat, WEIGHTS[: np.shape(flat)[0]]


def _call_of_scipy(name: str, method: str) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        if name == "gaussian_kde":
            data, points, weights, bandwidth = args
            values = getattr(stats.gaussian_kde(data, bandwidth, weights), method)(points)
        else:
            values = getattr(getattr(stats, name), method)(*args)
        flat, weights = _elements(values)
        return np.sum(flat * weights)

    return function


def _sum_of_scipy(reference: Callable[..., Any], method: str) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        flat, weights = _elements(reference(*args))
        return np.sum((flat if method.startswith("log") else exact.exp(flat)) * [mp.mpf(x) for x in weights])

    return function


def methods_of(name: str) -> list[str]:
    """The densities of one of SciPy's names."""
    if name == "gaussian_kde":
        return ["logpdf", "pdf"]
    return [method for method in vars(getattr(stats, name)) if method.startswith(("pdf", "pmf", "log"))]


def _find_cases() -> dict[str, Case]:
    found = {f"stan.{name}": Case(getattr(stan, name), *row) for name, row in STAN.items()}
    for name, (reference, kinds, points) in SCIPY.items():
        for method in methods_of(name):
            call = _call_of_scipy(name, method)
            found[f"stats.{name}.{method}"] = Case(call, _sum_of_scipy(reference, method), kinds, points)
    return found


def public_names() -> set[str]:
    """The densities of vectors and matrices that there are; those by Laplace's method are approximations."""
    made = [name for name in stan.__all__ if name.endswith(("_lpdf", "_lpmf", "_marginal"))]
    found = {f"stan.{name}" for name in made if not isinstance(getattr(stan, name), Face)}
    found = {name for name in found if not name.startswith("stan.laplace_")}
    names = [name for name, x in vars(multivariate_densities).items() if isinstance(x, MultivariateDistribution)]
    return found | {f"stats.{name}.{method}" for name in (*names, "gaussian_kde") for method in methods_of(name)}


CASES = _find_cases()
EVERY = [(name, k) for name, case in CASES.items() for k in range(len(case.points))]


# ---- what is free ----------------------------------------------------------------------------------------------------
def is_free(kind: str, x: Any) -> bool:
    return kind != "c" and x is not None


def active_of(case: Case, point: Point) -> tuple[int, ...]:
    """The positions of the arguments that have a derivative."""
    return tuple(k for k, (kind, x) in enumerate(zip(case.kinds.split(), point, strict=True)) if is_free(kind, x))


def free_places(kind: str, x: Any) -> list[tuple[int, ...]]:
    """The indices of the numbers of an argument that are free."""
    places = list(np.ndindex(np.shape(x)))
    if kind in "sl" and np.ndim(x) == 2:
        places = [(i, j) for i, j in places if j <= i]
    return [at for at in places if np.isfinite(np.asarray(x)[at])]


def exact_args(case: Case, point: Point) -> list[Any]:
    """The arguments in mpmath."""
    return [x if x is None or isinstance(x, str) else _exact(x) for x in point]


def _exact(x: Any) -> Any:
    if not np.ndim(x):
        return mp.mpf(float(x))
    return np.reshape(np.array([mp.mpf(float(y)) for y in np.ravel(x)], dtype=object), np.shape(x))


def moved(kind: str, x: Any, at: tuple[int, ...], step: Any) -> Any:
    """An argument with one of its free numbers changed."""
    if not np.ndim(x):
        return x + step
    y = x.copy()
    y[at] += step
    if kind == "s" and y.ndim == 2:
        y[at[::-1]] = y[at]
    return y


def folded(kind: str, x: Any, gradient: Any) -> list[float]:
    """The derivatives by the free numbers: of both places of a symmetric matrix together."""
    g = np.asarray(gradient, dtype=float)
    if kind == "s" and g.ndim == 2:
        g = np.tril(g) + np.triu(g, 1).T
    return [float(g[at]) for at in free_places(kind, x)]


def of_free_numbers(case: Case, point: Point) -> tuple[Callable[..., Any], np.ndarray]:
    """(the function of a vector of the free numbers, this vector)."""
    kinds, made, start = case.kinds.split(), {}, list[float]()
    for k in active_of(case, point):
        x = np.array(point[k], dtype=float)
        index, free, base = np.zeros(x.shape, int), np.zeros(x.shape), x.copy()
        for at in free_places(kinds[k], x):
            for place in {at, at[::-1]} if kinds[k] == "s" and x.ndim == 2 else {at}:
                index[place], free[place], base[place] = len(start), 1.0, 0.0
            start.append(float(x[at]))
        made[k] = index, free, base

    def function(v: Any) -> Any:
        args = list(point)
        for k, (index, free, base) in made.items():
            args[k] = v[index] * free + base if index.ndim else v[int(index)]
        return case.function(*args)

    return function, np.array(start)
