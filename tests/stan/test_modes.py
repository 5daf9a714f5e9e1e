"""Modes beside formulas and SciPy, and normal approximations beside normal densities."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from numba import njit

from contad.errors import SingularPointError
from contad.stan import Model, gamma_lpdf, normal_lpdf
from contad.stan.modes import InverseHessian

X = np.random.default_rng(1).normal(size=(30, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 * np.random.default_rng(2).normal(size=30)


def likelihood(beta, sigma, X, Y):
    return normal_lpdf(Y, X @ beta, sigma)


def log_gamma(s):
    return gamma_lpdf(s, 3.0, 2.0)


FIT = Model("vector[3] beta; real<lower=0> sigma;", likelihood, X=X, Y=Y)
GAMMA = Model("real<lower=0> s;", log_gamma)
VALLEY = Model("vector[n] x;", lambda x: -np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2), n=6)
COVARIANCE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
CENTRE = np.array([1.0, -2.0, 0.3])


def log_normal(a, b, P, m):
    z = np.concatenate([np.array([a]), b]) - m
    return -0.5 * z @ (P @ z)


NORMAL = Model("real a; vector[2] b;", log_normal, P=np.linalg.inv(COVARIANCE), m=CENTRE)


# ---- optimize --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(3))
def test_a_likelihood_has_the_estimates_of_least_squares(seed):
    found = FIT.optimize(seed=seed)
    beta, rest, *_ = np.linalg.lstsq(X, Y)
    assert found.converged and found.message == f"converged after {found.steps} steps" and not found.jacobian
    np.testing.assert_allclose(found.values["beta"], beta, atol=1e-5)
    assert found.values["sigma"] == pytest.approx(math.sqrt(rest[0] / 30), rel=1e-5)
    assert found.log_density == FIT.log_density(found.u, jacobian=False)
    assert FIT.constrain(found.u)["sigma"] == found.values["sigma"]


def test_the_jacobian_moves_the_mode():
    assert GAMMA.optimize(seed=1).values["s"] == pytest.approx(2.0 / 2.0, rel=1e-5)
    assert GAMMA.optimize(seed=1, jacobian=True).values["s"] == pytest.approx(3.0 / 2.0, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_bent_valley(seed):
    found = VALLEY.optimize(seed=seed)
    np.testing.assert_allclose(found.u, 1.0, atol=1e-4)


@pytest.mark.parametrize("start", [{"s": 4.0}, [math.log(4.0)], np.array([math.log(4.0)])], ids=str)
def test_an_ascent_starts_anywhere(start):
    assert GAMMA.optimize(start, max_steps=0, require_converged=False).values["s"] == pytest.approx(4.0)
    kept = np.array(start) if isinstance(start, np.ndarray) else None
    assert GAMMA.optimize(start).values["s"] == pytest.approx(1.0, rel=1e-5)
    assert kept is None or np.array_equal(start, kept)


def test_points_that_are_rejected_are_not_taken():
    def narrow(x):
        if x > 1.0:
            raise ValueError("too large")
        return math.log(1.0 - x) + 20.0 * x if x > -3.0 else math.nan

    model = Model("real x;", narrow)
    for start in (-2.9, 0.0, 0.999):
        assert model.optimize([start]).values["x"] == pytest.approx(0.95, abs=1e-5)


def test_a_density_that_grows_for_ever_has_no_mode():
    model = Model("real x; real<lower=0> s;", lambda x, s: normal_lpdf(x, 0.0, s))
    with pytest.raises(RuntimeError, match=r"Model\.optimize: not converged: .* would still gain"):
        model.optimize({"x": 0.3, "s": 1.0})
    found = model.optimize({"x": 0.3, "s": 1.0}, require_converged=False)
    assert not found.converged and found.log_density > 20.0


def test_too_few_steps_are_told():
    with pytest.raises(RuntimeError, match="not converged: 3 steps were not enough"):
        VALLEY.optimize(seed=1, max_steps=3)
    found = VALLEY.optimize(seed=1, max_steps=3, require_converged=False)
    assert found.steps == 3 and not found.converged


def test_a_small_gradient_is_no_mode_before_the_scale_is_known():
    wide = Model("real x;", lambda x: -0.5 * (1e-6 * (x - 3e4)) ** 2)
    assert wide.optimize([0.0]).u[0] == pytest.approx(3e4, rel=1e-2)


def test_great_log_densities_are_rounded():
    model = Model("vector[4] x;", lambda x: -0.5 * np.sum((x - 1.0) ** 2) - 1e9)
    np.testing.assert_allclose(model.optimize(seed=3).u, 1.0, atol=0.2)


def test_a_model_of_no_numbers():
    model = Model("", lambda: 2.5)
    assert model.optimize().log_density == 2.5 and model.optimize().values == {}
    draws = model.laplace().draw(3, seed=1)
    assert draws.u.shape == (3, 0) and np.all(draws.log_p == 2.5) and np.all(draws.log_q == 0.0)


# ---- the estimate of L-BFGS ------------------------------------------------------------------------------------------
def test_the_inverse_hessian_is_that_of_bfgs():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(9, 9))
    hessian = root @ root.T + np.eye(9)
    estimate, pairs = InverseHessian(9), []
    for _ in range(8):
        s = rng.normal(size=9)
        pairs.append((s, hessian @ s))
        estimate = estimate.update(*pairs[-1])
        by_hand = np.diag(estimate.scales)
        for step, fall in pairs[-6:]:
            v = np.eye(9) - np.outer(fall, step) / (step @ fall)
            by_hand = v.T @ by_hand @ v + np.outer(step, step) / (step @ fall)
        found = np.stack([estimate.times(e) for e in np.eye(9)])
        np.testing.assert_allclose(found, by_hand, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(estimate.times(pairs[-1][1]), s, rtol=1e-8)
        around = estimate.approximate(None, np.zeros(9), True)
        np.testing.assert_allclose(around.covariance, by_hand, rtol=1e-7, atol=1e-9)
        z = rng.normal(size=(1, 9))
        density = scipy.stats.multivariate_normal.logpdf(around._move(z)[0], cov=by_hand)
        assert around._log_density(z)[0] == pytest.approx(density, rel=1e-8)


# ---- laplace ---------------------------------------------------------------------------------------------------------
def test_a_normal_density_is_its_own_approximation():
    found = NORMAL.laplace(seed=1)
    np.testing.assert_allclose(found.covariance, COVARIANCE, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.u, CENTRE, atol=1e-5)
    draws = found.draw(4000, seed=2)
    assert draws.u.shape == (4000, 3) and draws.values["a"].shape == (4000,) and draws.values["b"].shape == (4000, 2)
    np.testing.assert_array_equal(draws.values["b"], draws.u[:, 1:])
    np.testing.assert_allclose(np.cov(draws.u.T), COVARIANCE, atol=0.12)
    np.testing.assert_allclose(draws.log_q, scipy.stats.multivariate_normal.logpdf(draws.u, found.u, COVARIANCE))
    evidence = 0.5 * math.log((2.0 * math.pi) ** 3 * np.linalg.det(COVARIANCE))
    np.testing.assert_allclose(draws.log_p - draws.log_q, evidence, atol=1e-4)
    np.testing.assert_allclose(draws.weights, 1.0 / 4000, rtol=1e-3)
    np.testing.assert_array_equal(found.draw(7, seed=2).u, found.draw(7, seed=np.random.default_rng(2)).u)


def test_importance_weights_make_the_moments_of_the_density():
    draws = GAMMA.laplace(seed=1).draw(20_000, seed=3)
    assert draws.weights.sum() == pytest.approx(1.0)
    assert draws.weights @ draws.values["s"] == pytest.approx(1.5, abs=0.02)
    assert draws.weights @ draws.values["s"] ** 2 == pytest.approx(0.75 + 2.25, abs=0.06)
    assert np.mean(np.exp(draws.log_p - draws.log_q)) == pytest.approx(1.0, abs=0.01)


def test_a_mode_is_given_in_any_form():
    mode = GAMMA.optimize(seed=1, jacobian=True)
    first = GAMMA.laplace(mode).covariance
    assert first == pytest.approx(1.0 / 3.0, rel=1e-4)  # minus the second derivative of 3 u - 2 exp(u)
    for form in (mode.u, list(mode.u), mode.values):
        assert GAMMA.laplace(form).covariance == pytest.approx(first, rel=1e-9)
    without = GAMMA.laplace(GAMMA.optimize(seed=1), jacobian=False)
    assert without.covariance == pytest.approx(1.0 / 2.0, rel=1e-4) and without.values["s"] == pytest.approx(1.0)
    assert without.draw(1, seed=1).log_p == GAMMA.log_density(without.draw(1, seed=1).u[0], jacobian=False)


def test_draws_that_a_model_rejects_have_no_weight():
    def half(x):
        if x > 0.5:
            raise ValueError("too large")
        return -0.5 * x**2 if x > -0.5 else math.nan

    draws = Model("real x;", half).laplace([0.0]).draw(200, seed=1)
    inside = np.abs(draws.values["x"]) < 0.5
    assert np.all(np.isneginf(draws.log_p) != inside) and np.all((draws.weights > 0.0) == inside) and sum(inside) > 0


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (lambda x: -0.5 * (x[0] + x[1]) ** 2, r"not negative definite .*, along [+-]0\.71 x\.[12] [+-]0\.71 x\.[12]"),
        (lambda x: x[0] ** 2 - x[1] ** 2, r"not .* eigenvalue is 2, along [+-]1 x\.1"),
        (lambda x: -np.abs(x[0]) ** 1.5 - x[1] ** 2, "not negative definite"),
    ],
    ids=["flat", "saddle", "kink"],
)
def test_where_there_is_no_maximum(density, message):
    with pytest.raises(SingularPointError, match=rf"Model\.laplace: the Hessian at the mode is {message}"):
        Model("vector[2] x;", density).laplace(np.zeros(2))


# ---- pathfinder ------------------------------------------------------------------------------------------------------
def test_a_path_finds_a_normal_density():
    found = NORMAL.pathfinder(seed=1, elbo_draws=50)
    draws = found.draw(4000, seed=2)
    np.testing.assert_allclose(draws.weights @ draws.u, CENTRE, atol=0.1)
    np.testing.assert_allclose(found.covariance, COVARIANCE, atol=0.5)
    density = scipy.stats.multivariate_normal.logpdf(draws.u, found.u, found.covariance)
    np.testing.assert_allclose(draws.log_q, density, rtol=1e-8)
    np.testing.assert_array_equal(NORMAL.pathfinder(seed=1, elbo_draws=50).u, found.u)


def test_a_path_to_a_pole_has_points_before():
    funnel = Model("real y; vector[9] x;", lambda y, x: normal_lpdf(y, 0.0, 3.0) + normal_lpdf(x, 0.0, np.exp(y / 2)))
    draws = funnel.pathfinder(seed=3).draw(500, seed=4)
    assert np.all(np.isfinite(draws.log_p)) and abs(draws.values["y"].mean()) < 4.0


def test_an_approximation_in_one_dimension():
    found = GAMMA.pathfinder(seed=1)
    draws = found.draw(4000, seed=2)
    assert draws.weights @ draws.values["s"] == pytest.approx(1.5, abs=0.05)


# ---- pickles, threads, errors ----------------------------------------------------------------------------------------
@njit
def log_density(x):
    return -0.5 * np.sum(x * x) - 0.25 * x[0] ** 4


COMPILED = Model("vector[3] x;", log_density)


def test_pickles_and_threads():
    mode = COMPILED.optimize(seed=1, jacobian=True)
    np.testing.assert_allclose(mode.u, 0.0, atol=1e-4)
    approximation = COMPILED.laplace(mode)
    draws = approximation.draw(5, seed=1)
    copied = pickle.loads(pickle.dumps((mode, approximation, draws)))
    np.testing.assert_array_equal(copied[0].values["x"], mode.values["x"])
    np.testing.assert_array_equal(copied[1].draw(5, seed=1).log_p, draws.log_p)
    np.testing.assert_array_equal(copied[2].u, draws.u)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: COMPILED.pathfinder(seed=seed).draw(3, seed=seed).log_p, [5, 5, 6, 6] * 4))
    for k in range(4):
        np.testing.assert_array_equal(found[4 * k], found[1])
        np.testing.assert_array_equal(found[4 * k + 2], found[3])


def raising(x):
    raise ValueError("nowhere")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: FIT.optimize(np.zeros(3)), ValueError, "start must be a vector of 4 numbers, or .* shape"),
        (lambda: FIT.optimize({"beta": np.zeros(3)}), ValueError, "Model.unconstrain: values must have all parameters"),
        (lambda: FIT.optimize([0.0, 0.0, 0.0, -np.inf]), ValueError, "start must have a finite log density"),
        (lambda: Model("real x;", raising).optimize(seed=1), ValueError, "no finite log density"),
        (lambda: Model("real x;", raising).optimize([0.0]), ValueError, "start must have a finite log density"),
        (lambda: GAMMA.laplace(GAMMA.optimize(seed=1)), ValueError, "mode must be found with jacobian=True, got"),
        (lambda: GAMMA.laplace([1.0]), ValueError, "mode must be a mode of this density"),
        (lambda: NORMAL.laplace(seed=1).draw(0), ValueError, "draw: n must be positive, got 0"),
        (lambda: NORMAL.laplace(seed=1).draw(2.0), TypeError, "draw: n must be an integer"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
