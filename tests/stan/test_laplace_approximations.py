"""Laplace approximations: exact for normal likelihoods, near integrals in one and two dimensions, derivatives of both
orders against differences, four sets of data, all solvers, draws, and what is refused."""


import numba
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special

import contad
from contad import stan
from contad.engines import engine_names
from tests.judges.ways import differences

RNG = np.random.default_rng(5)
PLACES = np.array([0.0, 0.7, 1.1, 2.3])
NAMES = [name for name in stan.__all__ if name.startswith("laplace_")]


def covariance(scale, length):
    squares = (PLACES[:, None] - PLACES) ** 2
    return stan.add_diag(scale**2 * np.exp(-0.5 * squares / length**2), 1e-6)


def normal_likelihood(theta, y, sigma):
    return stan.normal_lpdf(y, theta, sigma)


# ---- what it is worth ------------------------------------------------------------------------------------------------
def test_the_approximation_is_exact_for_a_normal_likelihood():
    y = np.array([0.5, -1.0, 0.2, 1.9])
    approximate = lambda v: stan.laplace_marginal(normal_likelihood, (y, v[0]), 1, covariance, (v[1], v[2]))
    exact = lambda v: stan.multi_normal_lpdf(y, np.zeros(4), stan.add_diag(covariance(v[1], v[2]), v[0] ** 2))
    v = np.array([0.5, 1.3, 0.9])
    assert approximate(v) == pytest.approx(exact(v), rel=1e-12)
    for engine in engine_names():
        found = contad.grad(approximate, engine=engine)(v)
        np.testing.assert_allclose(found, contad.grad(exact)(v), rtol=1e-9)
    np.testing.assert_allclose(contad.jacfwd(approximate)(v), contad.grad(exact)(v), rtol=1e-9)
    np.testing.assert_allclose(contad.hessian(approximate)(v), contad.hessian(exact)(v), rtol=1e-7, atol=1e-8)
    whole = stan.laplace_marginal(normal_likelihood, (y, v[0]), 4, covariance, (v[1], v[2]))
    assert whole == pytest.approx(exact(v), rel=1e-12)


def test_the_approximation_is_near_integrals_in_one_and_two_dimensions():
    mass = lambda theta, y, rate: np.exp(y * (theta + rate) - np.exp(theta + rate))
    y, s = 40.0, 0.7
    integral = scipy.integrate.quad(
        lambda t: mass(t, y, 3.0) * np.exp(-0.5 * (t / s) ** 2) / np.sqrt(2.0 * np.pi) / s, -4.0, 4.0, epsabs=0.0
    )[0]
    found = stan.laplace_marginal_poisson_log_lpmf([40], [0], 3.0, lambda: np.array([[s * s]]), ())
    assert found + scipy.special.gammaln(41.0) == pytest.approx(np.log(integral), abs=4e-3)
    k = np.array([[0.5, 0.2], [0.2, 0.4]])
    inverse = np.linalg.inv(k)

    def integrand(u, v):
        t = np.array([u, v])
        return mass(u, 40.0, 3.0) * mass(v, 25.0, 3.0) * np.exp(-0.5 * t @ inverse @ t)

    integral = scipy.integrate.dblquad(integrand, -2.0, 2.0, -2.0, 2.0)[0]
    integral /= 2.0 * np.pi * np.sqrt(np.linalg.det(k))
    found = stan.laplace_marginal_poisson_log_lpmf([40, 25], [0, 1], 3.0, lambda: k, ())
    factorials = scipy.special.gammaln(41.0) + scipy.special.gammaln(26.0)
    assert found + factorials == pytest.approx(np.log(integral), abs=8e-3)


def by_definition(likelihood, k):
    """The approximation by an optimiser that knows nothing of the problem, and determinants of plain matrices."""
    precision = np.linalg.inv(k)
    start = np.zeros(len(k))
    objective = lambda t: -likelihood(t) + 0.5 * t @ precision @ t
    mode = scipy.optimize.minimize(
        objective, start, jac=contad.grad(objective), hess=contad.hessian(objective), method="trust-exact", tol=1e-12
    ).x
    _, log_det = np.linalg.slogdet(np.eye(len(k)) - k @ contad.hessian(likelihood)(mode))
    return -objective(mode) - 0.5 * log_det


# ---- four sets of data, small ones like Stan's -----------------------------------------------------------------------
def disease_map(v, solver=1):
    """Counts in areas by their places, with expected numbers as offsets."""
    y, expected = [3, 0, 5, 9, 2], np.log([2.1, 1.3, 4.0, 5.2, 2.2])
    index, offset = [0, 1, 2, 3, 1], expected[:4]
    arguments = y, index, offset + v[2], covariance, (v[0], v[1])
    return stan.laplace_marginal_tol_poisson_log_lpmf(*arguments, solver=solver)


def motorcycle(v, solver=1):
    """A mean and a log spread at each time: blocks of two, not log-concave."""
    y = np.array([-1.3, 0.4, 2.2, 1.0])

    def log_likelihood(theta, shift):
        pairs = np.reshape(theta, (-1, 2))
        return stan.normal_lpdf(y, pairs[:, 0], np.exp(pairs[:, 1] + shift))

    both = lambda scale, length: np.kron(covariance(scale, length), np.array([[1.0, 0.0], [0.0, 0.1]]))
    return stan.laplace_marginal_tol(log_likelihood, (v[2],), 2, both, (v[0], v[1]), solver=solver)


def skim(v, solver=1):
    """Outcomes with a covariance of products of predictors, sparse by a scale of each."""
    x = np.array([[0.3, -1.1], [1.2, 0.4], [-0.7, 0.9], [0.1, 0.2]])

    def kernel(scales, level):
        linear = (x * scales) @ np.transpose(x * scales)
        return stan.add_diag(level**2 * (linear + 1.0) ** 2, 1e-4)

    arguments = [1, 0, 1, 1], [0, 1, 2, 3], 0.1, kernel, (v[:2], v[2])
    return stan.laplace_marginal_tol_bernoulli_logit_lpmf(*arguments, solver=solver)


def roach(v, solver=1):
    """Counts with many zeros and a few large ones."""
    y, index = [0, 0, 14, 1, 0, 37], [0, 1, 2, 3, 0, 2]
    arguments = y, index, v[2] ** 2, 0.4, covariance, (v[0], v[1])
    return stan.laplace_marginal_tol_neg_binomial_2_log_lpmf(*arguments, solver=solver)


V = np.array([0.8, 1.2, 0.6])


@pytest.mark.parametrize("f", [disease_map, motorcycle, skim, roach])
def test_four_sets_of_data(f):
    solvers = (2, 3) if f is motorcycle else (1, 2, 3)
    values = [f(V, solver) for solver in solvers]
    np.testing.assert_allclose(values, values[0], rtol=1e-9)
    gradient = differences(f, V, 1e-4)
    for solver in solvers:
        np.testing.assert_allclose(contad.grad(f)(V, solver), gradient, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(contad.jacfwd(f)(V), gradient, rtol=1e-6, atol=1e-7)
    hessian = differences(contad.grad(f), V, 1e-4)
    np.testing.assert_allclose(contad.hessian(f)(V), hessian, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(contad.jacrev(contad.grad(f))(V), hessian, rtol=1e-5, atol=1e-6)


def test_values_by_definition():
    y, index, offset = np.array([3.0, 0.0, 5.0, 9.0, 2.0]), [0, 1, 2, 3, 1], np.log([2.1, 1.3, 4.0, 5.2]) + V[2]
    expected = by_definition(lambda t: stan.poisson_log_lpmf(y, (t + offset)[index]), covariance(V[0], V[1]))
    assert disease_map(V) == pytest.approx(expected, rel=1e-9)
    y = np.array([-1.3, 0.4, 2.2, 1.0])
    k = np.kron(covariance(V[0], V[1]), np.array([[1.0, 0.0], [0.0, 0.1]]))
    spread = lambda t: np.exp(t[1::2] + V[2])
    assert motorcycle(V) == pytest.approx(by_definition(lambda t: stan.normal_lpdf(y, t[::2], spread(t)), k), rel=1e-9)


def test_captured_variables_trees_and_numba_functions():
    @numba.njit
    def compiled(theta, y, rate):
        total = 0.0
        for i in range(len(theta)):
            total += y[i] * (theta[i] + rate) - np.exp(theta[i] + rate)
        return total

    y = np.array([2.0, 0.0, 4.0, 1.0])
    plain = lambda theta, data, rate: np.sum(data["y"] * (theta + rate) - np.exp(theta + rate))
    of_tree = lambda v: stan.laplace_marginal(plain, ({"y": y}, v[2]), 1, covariance, (v[0], v[1]))

    def of_captured(v):
        log_likelihood = lambda theta: plain(theta, {"y": y}, v[2])
        return stan.laplace_marginal(log_likelihood, (), 1, lambda: covariance(v[0], v[1]), ())

    for f in (of_captured, lambda v: stan.laplace_marginal(compiled, (y, v[2]), 1, covariance, (v[0], v[1]))):
        assert f(V) == pytest.approx(of_tree(V), rel=1e-12)
        np.testing.assert_allclose(contad.grad(f)(V), contad.grad(of_tree)(V), rtol=1e-10)


def test_the_cost_of_a_gradient_does_not_grow_with_the_search():
    """The likelihood runs on variables a fixed number of times once the mode is found, wherever the search began."""
    calls = []

    def log_likelihood(theta, rate):
        calls.append(type(theta))
        return np.sum(np.array([2.0, 0.0, 4.0, 1.0]) * (theta + rate) - np.exp(theta + rate))

    def count(start):
        steps = []
        model = lambda k: stan.laplace_marginal_tol(log_likelihood, (0.3,), 1, lambda: k, (), start)
        for run in (model, contad.grad(model)):
            calls.clear()
            run(covariance(0.8, 1.2))
            steps.append(len(calls))
        return steps

    (near, near_with), (far, far_with) = count(np.zeros(4)), count(np.array([-6.0, -6.0, -6.0, -6.0]))
    assert far > near and far_with - far == near_with - near <= 4


# ---- draws -----------------------------------------------------------------------------------------------------------
def test_draws_have_the_moments_of_the_approximation():
    y, sigma, k = np.array([0.5, -1.0, 0.2, 1.9]), 0.5, covariance(1.3, 0.9)
    spread = np.linalg.inv(np.linalg.inv(k) + np.eye(4) / sigma**2)
    rng = np.random.default_rng(3)
    model = normal_likelihood, (y, sigma), 1, covariance, (1.3, 0.9)
    draws = np.stack([stan.laplace_latent_rng(*model, rng) for _ in range(300)])
    standard = np.sqrt(np.diag(spread) / len(draws))
    assert (np.abs(draws.mean(axis=0) - spread @ y / sigma**2) < 4.5 * standard).all()
    np.testing.assert_allclose(np.cov(draws.T), spread, atol=0.08)


@pytest.mark.parametrize("kind", ["poisson_log", "neg_binomial_2_log", "bernoulli_logit"])
def test_draws_of_likelihoods_with_a_name_replay(kind):
    more = (2.0,) if kind.startswith("neg") else ()
    model = [1, 0, 1], [0, 1, 3], *more, 0.2, covariance, (0.8, 1.1)
    drawn = getattr(stan, f"laplace_latent_{kind}_rng")(*model, np.random.default_rng(1))
    again = getattr(stan, f"laplace_latent_tol_{kind}_rng")(*model, np.random.default_rng(1), solver=2)
    np.testing.assert_allclose(drawn, again, atol=1e-9)
    with_tol = getattr(stan, f"laplace_marginal_tol_{kind}_lpmf")(*model, theta_init=np.full(4, 0.3))
    assert with_tol == pytest.approx(getattr(stan, f"laplace_marginal_{kind}_lpmf")(*model), rel=1e-10)


# ---- what is refused -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("block", [1, 2])
def test_blocks_that_leave_elements_out_are_refused(block):
    k = np.exp(-0.5 * np.subtract.outer(np.arange(4.0), np.arange(4.0)) ** 2) + 0.1 * np.eye(4)
    y = np.array([1.0, 0.0, 2.0, 1.0])
    coupled = lambda theta: np.sum(y * theta - np.exp(theta)) - 0.7 * (theta[0] * theta[1] - theta[2] * theta[3]) ** 2
    f = lambda block, s: stan.laplace_marginal(coupled, (), block, lambda s: s * k, (s,))
    with pytest.raises(ValueError, match=f"hessian_block_size must be that of the blocks .* got {block}, and elements"):
        contad.grad(lambda s: f(block, s))(1.3)
    found = contad.grad(lambda s: f(4, s))(1.3)
    assert found == pytest.approx((f(4, 1.3 + 1e-4) - f(4, 1.3 - 1e-4)) / 2e-4, rel=1e-7)


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"k": np.ones((2, 3))}, ValueError, r"covariance must give a square matrix, got shape \(2, 3\)"),
    ({"k": np.array([[1.0, np.nan], [0.0, 1.0]])}, ValueError, "covariance must be finite, got nan"),
    ({"k": np.array([[1.0, 0.5], [0.4, 1.0]])}, ValueError, "covariance must be symmetric, got a difference"),
    ({"block": 3}, ValueError, "hessian_block_size must divide the size of theta, 2, got 3"),
    ({"block": 0}, ValueError, "hessian_block_size must be positive, got 0"),
    ({"solver": 4}, ValueError, "solver must be 1, 2 or 3, got 4"),
    ({"tol": 0.0}, ValueError, "tol must be positive, got 0.0"),
    ({"max_steps": 0}, ValueError, "max_steps must be positive, got 0"),
    ({"max_steps": 1}, RuntimeError, "the mode was not found: not in 1 steps"),
    ({"max_steps_linesearch": -1}, ValueError, "max_steps_linesearch must not be negative, got -1"),
    ({"theta_init": [1.0]}, ValueError, r"theta_init must have 2 numbers, got shape \(1,\)"),
    ({"f": lambda theta, p: theta * p}, ValueError, r"log_likelihood must give a number, got shape \(2,\)"),
    ({"f": lambda theta, p: np.sum(theta) * p * np.nan}, ValueError, "log_likelihood must be finite at theta_init"),
    (
        {"f": lambda theta, p: p * np.sum(theta**2), "k": np.eye(2), "solver": 1, "allow_fallback": False},
        RuntimeError, "the mode was not found: the negative Hessian of log_likelihood has no decomposition",
    ),
    (
        {"f": lambda theta, p: np.sum(theta[0] ** 2 * p), "k": np.eye(2)},
        RuntimeError, "the mode was not found: I [+] K W has no decomposition",
    ),
])  # fmt: skip
def test_bad_input(change, error, message):
    settings = {"f": lambda theta, p: -np.sum((theta - p) ** 4 + theta**2), "k": np.eye(2), "block": 1} | change
    f, k, block = (settings.pop(name) for name in ("f", "k", "block"))
    run = lambda p: stan.laplace_marginal_tol(f, (p,), block, lambda: k, (), **settings)
    for call in (run, contad.grad(run)):
        with pytest.raises(error, match=f"laplace_marginal_tol: {message}"):
            call(0.9)
    assert contad.stack().top <= 1


def test_bad_observations():
    k = lambda: np.eye(2)
    with pytest.raises(ValueError, match="y_index must be from 0 to 1, as covariance gives 2 rows, got 2"):
        stan.laplace_marginal_poisson_log_lpmf([1, 0], [0, 2], 0.0, k, ())
    with pytest.raises(ValueError, match="y_index must have 2 elements, as y has, got 1"):
        stan.laplace_marginal_poisson_log_lpmf([1, 0], [0], 0.0, k, ())
    with pytest.raises(ValueError, match=r"m must be a number or have 2 elements, got shape \(3,\)"):
        stan.laplace_marginal_bernoulli_logit_lpmf([1, 0], [0, 1], np.zeros(3), k, ())
    with pytest.raises(ValueError, match="phi must be positive"):
        stan.laplace_marginal_neg_binomial_2_log_lpmf([1, 0], [0, 1], -1.0, 0.0, k, ())
    with pytest.raises(TypeError, match="laplace_marginal: covariance must be callable, got ndarray"):
        stan.laplace_marginal(normal_likelihood, (), 1, np.eye(2), ())
    with pytest.raises(TypeError, match="laplace_marginal: likelihood_args must be a tuple of arguments, got float"):
        stan.laplace_marginal(normal_likelihood, 1.0, 1, k, ())
