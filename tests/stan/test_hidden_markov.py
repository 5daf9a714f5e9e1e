"""Hidden Markov models: every sequence of states enumerated, derivatives of both orders, draws, long sequences."""

import itertools

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan
from contad.engines import engine_names
from tests.judges.ways import differences

STATES, LENGTH = 3, 5
RNG = np.random.default_rng(3)
LOG_OMEGA = RNG.normal(size=(STATES, LENGTH))
GAMMA, RHO = RNG.dirichlet(np.ones(STATES), STATES), RNG.dirichlet(np.ones(STATES))
MODEL = LOG_OMEGA, GAMMA, RHO


def enumerate_paths(log_omega, gamma, rho):
    """{sequence of states: its joint density with the observations}."""
    found = {}
    for path in itertools.product(range(len(rho)), repeat=log_omega.shape[1]):
        p = rho[path[0]] * np.exp(log_omega[path[0], 0])
        for t in range(1, len(path)):
            p = p * gamma[path[t - 1], path[t]] * np.exp(log_omega[path[t], t])
        found[path] = p
    return found


def by_enumeration(log_omega, gamma, rho):
    return np.log(sum(enumerate_paths(log_omega, gamma, rho).values()))


def test_the_sum_over_all_sequences():
    assert stan.hmm_marginal(*MODEL) == pytest.approx(by_enumeration(*MODEL), rel=1e-13)
    found, expected = (contad.grad(f, (0, 1, 2))(*MODEL) for f in (stan.hmm_marginal, by_enumeration))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


def test_the_probabilities_of_states():
    paths = enumerate_paths(*MODEL)
    expected = np.zeros((STATES, LENGTH))
    for path, p in paths.items():
        expected[path, np.arange(LENGTH)] += p / sum(paths.values())
    np.testing.assert_allclose(stan.hmm_hidden_state_prob(*MODEL), expected, rtol=1e-12)


def softmax(x):
    return np.exp(x) / np.sum(np.exp(x))


def of_vector(v):
    """All three arguments from free numbers."""
    gamma = np.stack([softmax(v[6:8]), softmax(v[8:10])])
    return stan.hmm_marginal(np.reshape(v[:6], (2, 3)), gamma, softmax(v[10:12]))


def test_orders_and_engines():
    v = RNG.normal(size=12)
    hessian = differences(contad.grad(of_vector), v, 1e-5)
    gradient = differences(of_vector, v, 1e-5)
    for engine in engine_names():
        np.testing.assert_allclose(contad.grad(of_vector, engine=engine)(v), gradient, atol=1e-9)
    np.testing.assert_allclose(contad.hessian(of_vector)(v), hessian, atol=1e-9)
    np.testing.assert_allclose(contad.jacfwd(contad.jacfwd(of_vector))(v), hessian, atol=1e-9)

    def probability(v):
        gamma = np.stack([softmax(v[6:8]), softmax(v[8:10])])
        return stan.hmm_hidden_state_prob(np.reshape(v[:6], (2, 3)), gamma, softmax(v[10:12]))[0, 1]

    np.testing.assert_allclose(contad.grad(probability)(v), differences(probability, v, 1e-5), atol=1e-9)


def test_short_and_long_sequences():
    one = LOG_OMEGA[:, :1], GAMMA, RHO
    assert stan.hmm_marginal(*one) == pytest.approx(np.log(RHO @ np.exp(LOG_OMEGA[:, 0])))
    np.testing.assert_array_equal(contad.grad(stan.hmm_marginal, 1)(*one), np.zeros((STATES, STATES)))
    assert stan.hmm_marginal(LOG_OMEGA[:, :0], GAMMA, RHO) == 0.0
    long = np.full((2, 5000), -400.0)
    even = np.full((2, 2), 0.5)
    value, slopes = contad.value_and_grad(stan.hmm_marginal)(long, even, even[0])
    assert value == pytest.approx(-400.0 * 5000)
    np.testing.assert_allclose(slopes, np.full((2, 5000), 0.5))


def test_impossible_observations():
    blocked = LOG_OMEGA.copy()
    blocked[0, 2] = -np.inf
    assert stan.hmm_marginal(blocked, GAMMA, RHO) == pytest.approx(by_enumeration(blocked, GAMMA, RHO))
    assert stan.hmm_hidden_state_prob(blocked, GAMMA, RHO)[0, 2] == 0.0
    assert stan.hmm_marginal(np.full((2, 3), -np.inf), np.eye(2), np.array([0.5, 0.5])) == -np.inf
    with pytest.raises(ValueError, match="hmm_latent: log_omega must leave a sequence of states possible, got none"):
        stan.hmm_latent(np.full((2, 3), -np.inf), np.eye(2), np.array([0.5, 0.5]), RNG)


def test_draws_have_the_probabilities_of_sequences():
    paths = enumerate_paths(LOG_OMEGA[:, :3], GAMMA, RHO)
    draws = 4000
    counts = dict.fromkeys(paths, 0)
    rng = np.random.default_rng(7)
    for _ in range(draws):
        counts[tuple(stan.hmm_latent(LOG_OMEGA[:, :3], GAMMA, RHO, rng).tolist())] += 1
    p = np.array([*paths.values()]) / sum(paths.values())
    standard = np.sqrt(p * (1.0 - p) / draws)
    assert (np.abs(np.array([*counts.values()]) / draws - p) < 4.5 * standard).all()


@pytest.mark.parametrize("name", ["hmm_marginal", "hmm_hidden_state_prob", "hmm_latent"])
@pytest.mark.parametrize(("model", "message"), [
    ((LOG_OMEGA[0], GAMMA, RHO), "log_omega must be a matrix of states and times, got shape"),
    ((LOG_OMEGA, GAMMA[:2], RHO), r"gamma must have shape \(3, 3\), as log_omega has 3 rows, got shape \(2, 3\)"),
    ((LOG_OMEGA, GAMMA, RHO[:2]), r"rho must have shape \(3,\), as log_omega has 3 rows, got shape \(2,\)"),
    ((LOG_OMEGA, 1.1 * GAMMA, RHO), "gamma must have rows that sum to 1, got the sum 1.1"),
    ((LOG_OMEGA, GAMMA, RHO + 0.1), r"rho must sum to 1, got 1\."),
    ((LOG_OMEGA, GAMMA, np.array([1.5, -0.5, 0.0])), "rho must not be negative, got -0.5 at index 1"),
    ((LOG_OMEGA[:0], GAMMA, RHO), "log_omega must have a row for each state, got no rows"),
])  # fmt: skip
def test_bad_input(name, model, message):
    more = [RNG] if name == "hmm_latent" else []
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        getattr(stan, name)(*model, *more)
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        contad.grad(lambda x: np.sum(getattr(stan, name)(x, *model[1:], *more)))(model[0])
    assert contad.stack().top <= 1


# ---- Numba functions and recorded programs ---------------------------------------------------------------------------
@njit
def compiled(log_omega, gamma, rho):
    states = stan.hmm_hidden_state_prob(log_omega, gamma, rho)
    return stan.hmm_marginal(log_omega, gamma, rho) + np.sum(states[0] * states[0])


def test_numba_functions():
    assert compiled(*MODEL) == pytest.approx(compiled.py_func(*MODEL), rel=1e-13)
    found, expected = (contad.grad(f, (0, 1, 2))(*MODEL) for f in (compiled, compiled.py_func))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14)
    with pytest.raises(ValueError, match="hmm_marginal: gamma must have rows of nonnegative numbers that sum to 1"):
        contad.grad(marginal)(LOG_OMEGA, 1.1 * GAMMA, RHO)
    assert marginal(np.full((2, 3), -np.inf), np.eye(2), np.array([0.5, 0.5])) == -np.inf
    assert marginal(LOG_OMEGA[:, :0], GAMMA, RHO) == 0.0


@njit
def marginal(log_omega, gamma, rho):
    return stan.hmm_marginal(log_omega, gamma, rho)


def test_recorded_programs_check_again():
    def f(log_omega, p):
        return stan.hmm_marginal(log_omega, np.stack([np.stack([p, 1.0 - p]), np.array([0.3, 0.7])]), np.full(2, 0.5))

    program = contad.record(f, LOG_OMEGA[:2], 0.6)
    assert program(LOG_OMEGA[1:], 0.8) == pytest.approx(f(LOG_OMEGA[1:], 0.8), rel=1e-13)
    assert contad.grad(program, 1)(LOG_OMEGA[1:], 0.8) == pytest.approx(
        contad.grad(f, 1)(LOG_OMEGA[1:], 0.8), rel=1e-12
    )
    with pytest.raises((ValueError, contad.errors.GuardError)):
        program(LOG_OMEGA[1:], 1.2)
