"""Hidden Markov models: the marginal density, the probabilities of states, and draws of their sequence."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.distributions.docstrings import with_rest_of
from contad.stan import bodies, recursion_bodies
from contad.stan.compiled import with_bodies
from contad.stan.recorded_checks import values_of
from contad.transforms.operation import CustomOperation
from contad.variables import arguments
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.number import map_numbers, peek, primal
from contad.variables.open_types import ArrayValue, Nested, Real

__all__ = ["hmm_hidden_state_prob", "hmm_latent", "hmm_marginal"]

_SIMPLEX = 1e-8  # tolerance of sums that must be 1, as in Stan
_PROBABILITIES = [
    ("len(log_omega) > 0", "log_omega must have a row for each state"),
    ("are_simplices(gamma)", "gamma must have rows of nonnegative numbers that sum to 1"),
    ("is_simplex(rho)", "rho must have nonnegative elements that sum to 1"),
]


def _in_njit(body: str) -> Callable[[Callable[..., Any]], Any]:
    """Let Numba functions call a function of a model, by a body."""
    known = vars(bodies) | vars(recursion_bodies)
    return with_bodies({"st ss s": f"{body}(log_omega, gamma, rho)"}, inside=_PROBABILITIES, **known)


@_in_njit("log_sum_over_sequences")
def hmm_marginal(log_omega: ArrayValue, gamma: ArrayValue, rho: ArrayValue) -> Real:
    """log p(y) of a hidden Markov model, summed over all sequences of states.

        p = sum over z of rho[z_1] gamma[z_1, z_2] ... gamma[z_T-1, z_T] omega[z_1, 1] ... omega[z_T, T]

    log_omega[k, t] is the log density of observation t in state k, gamma[j, k] the probability of k after j, and rho[k]
    that of k at the start. The derivatives, by the backward recursion, are probabilities of states and expected
    transitions; they treat the rows as unconstrained. Without observations the result is 0.

    Shapes:  log_omega (K, T), gamma (K, K), rho (K,) -> a number.
    Domain:  rows of gamma and rho sum to 1 and are not negative. An impossible sequence gives -inf.
    Raises:  ValueError for other shapes, and for values that are not probabilities.
    Cost:    O(T K^2) for the value and for the gradient, compiled; saves the derivatives.
    Ref:     Rabiner (1989), Proceedings of the IEEE 77; Stan's hmm_marginal.

    >>> import contad
    >>> gamma, rho = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5])
    >>> log_omega = np.log(np.array([[0.7, 0.1, 0.2], [0.3, 0.6, 0.5]]))
    >>> round(hmm_marginal(log_omega, gamma, rho), 6)
    -3.018899
    >>> contad.grad(hmm_marginal)(log_omega, gamma, rho).round(3)
    array([[0.337, 0.162, 0.203],
           [0.663, 0.838, 0.797]])
    """
    log_omega, gamma, rho = _require_model("hmm_marginal", log_omega, gamma, rho)

    def value(*args: ArrayValue) -> tuple[Real, Any]:
        if numbers_in(list(args)):
            return hmm_marginal(*args), None
        if operation.owner is None:
            return _run_compiled(args, False)[0], None
        total, *slopes = _run_compiled(args, True)
        return total, tuple(slopes)

    def pull(args: Sequence[ArrayValue], saved: Any, z: Real, z_bar: Real) -> list[ArrayValue]:
        return [z_bar * slope for slope in (_run_recorded(*args)[1:] if saved is None else saved)]

    def push(args: Sequence[ArrayValue], saved: Any, z: Real, tangents: Sequence[ArrayValue]) -> Real:
        slopes = _run_recorded(*args)[1:] if saved is None else saved
        active = {n for n, _ in operation.places}
        return sum(np.sum(slopes[n] * tangents[n]) for n in sorted(active))

    operation = CustomOperation("hmm_marginal", (log_omega, gamma, rho), value, pull, push, [], [])
    return operation.perform()


@_in_njit("probabilities_of_states")
@with_rest_of(hmm_marginal)
def hmm_hidden_state_prob(log_omega: ArrayValue, gamma: ArrayValue, rho: ArrayValue) -> ArrayValue:
    """The probability of each state at each time, given all observations.

        z_kt = p(z_t = k | y) = d log p(y) / d log_omega_kt

    Arguments are those of `hmm_marginal`. The result is its derivative in log_omega, and can be differentiated as well.

    Shapes:  log_omega (K, T), gamma (K, K), rho (K,) -> (K, T).
    Domain:  rows of gamma and rho sum to 1 and are not negative.
    Cost:    O(T K^2), compiled; on variables, T small array operations.
    Ref:     Stan's hmm_hidden_state_prob, on data only there.

    >>> gamma, rho = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5])
    >>> log_omega = np.log(np.array([[0.7, 0.1, 0.2], [0.3, 0.6, 0.5]]))
    >>> hmm_hidden_state_prob(log_omega, gamma, rho).round(6)
    array([[0.337427, 0.162419, 0.203255],
           [0.662573, 0.837581, 0.796745]])
    """
    model = _require_model("hmm_hidden_state_prob", log_omega, gamma, rho)
    return _run_recorded(*model)[1] if numbers_in(list(model)) else _run_compiled(model, True)[1]


@with_rest_of(hmm_marginal)
def hmm_latent(log_omega: ArrayValue, gamma: ArrayValue, rho: ArrayValue, rng: np.random.Generator) -> np.ndarray:
    """A draw of the sequence of states given all observations, states counted from 0.

        z_1 ~ p(z_1 | y),     z_t ~ p(z_t | z_(t-1), y_t, ..., y_T)

    Arguments are those of `hmm_marginal`, but only their values are used; a draw of integers has no derivative.

    Shapes:  log_omega (K, T), gamma (K, K), rho (K,) -> (T,) of integers.
    Domain:  rows of gamma and rho sum to 1 and are not negative.
    Raises:  as there; ValueError if no sequence is possible.
    Cost:    O(T K^2).
    Ref:     Stan's hmm_latent_rng.

    >>> gamma, rho = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5])
    >>> hmm_latent(np.log(np.eye(2)[:, [0, 1, 1]] + 1e-300), gamma, rho, np.random.default_rng(1))
    array([0, 1, 1])
    """
    model = _require_model("hmm_latent", log_omega, gamma, rho)
    densities, transitions, first = (np.asarray(map_numbers(primal, x), float) for x in model)
    states, times = densities.shape
    ahead = np.ones((times, states))  # p(later observations | state), scaled
    with np.errstate(all="ignore"):
        omega = np.exp(densities - np.max(densities, axis=0, initial=-np.inf))
        for t in range(times - 1, 0, -1):
            ahead[t - 1] = transitions @ (omega[:, t] * ahead[t])
            ahead[t - 1] /= np.sum(ahead[t - 1])
    drawn = np.empty(times, np.int64)
    for t in range(times):
        weights = (first if t == 0 else transitions[drawn[t - 1]]) * omega[:, t] * ahead[t]
        total = np.sum(weights)
        if not total > 0.0:
            arguments.fail("hmm_latent", "log_omega", "leave a sequence of states possible", f"none at time {t}")
        drawn[t] = rng.choice(states, p=weights / total)
    return drawn


# ---- the recursions --------------------------------------------------------------------------------------------------
def _run_compiled(model: Sequence[ArrayValue], backward: bool) -> tuple[Any, ...]:
    from contad.stan.functionals.forward_backward import run_both

    found: tuple[Any, ...] = run_both(*(np.array(x, float, order="C") for x in model), backward)
    return found


def _run_recorded(log_omega: ArrayValue, gamma: ArrayValue, rho: ArrayValue) -> tuple[Any, ...]:
    """The compiled recursions as operations on variables."""
    times = log_omega.shape[1]
    tops = np.max(np.asarray(peek(log_omega), float), axis=0, initial=-np.inf)
    tops = np.where(np.isfinite(tops), tops, 0.0)  # a constant, which cancels
    omega = np.exp(log_omega - tops)
    total: Any = np.sum(tops)
    alphas: list[Any] = []
    scales: list[Any] = []
    for t in range(times):
        alpha = omega[:, t] * (alphas[-1] @ gamma if t else rho)
        scales.append(np.sum(alpha))
        alphas.append(alpha / scales[-1])
        total = total + np.log(scales[-1])
    beta: Any = np.ones(len(rho))
    posteriors, ahead = [], []
    for t in reversed(range(times)):
        posteriors.append(alphas[t] * beta)
        ahead.append(omega[:, t] * beta / scales[t])
        beta = gamma @ ahead[-1]
    posteriors.reverse()
    ahead.reverse()
    if not times:
        return total, np.zeros((len(rho), 0)), np.zeros((len(rho), len(rho))), np.zeros(len(rho))
    if times == 1:
        return total, np.transpose(np.stack(posteriors)), np.zeros((len(rho), len(rho))), ahead[0]
    of_gamma = np.transpose(np.stack(alphas[:-1])) @ np.stack(ahead[1:])
    return total, np.transpose(np.stack(posteriors)), of_gamma, ahead[0]


# ---- checks ----------------------------------------------------------------------------------------------------------
def _require_model(name: str, log_omega: Nested, gamma: Nested, rho: Nested) -> tuple[Any, Any, Any]:
    """The three arguments as arrays, checked to have matching shapes and to hold probabilities."""
    log_omega, gamma, rho = array(log_omega), array(gamma), array(rho)
    if np.ndim(log_omega) != 2:
        arguments.fail(name, "log_omega", "be a matrix of states and times", f"shape {np.shape(log_omega)}")
    states = np.shape(log_omega)[0]
    if not states:
        arguments.fail(name, "log_omega", "have a row for each state", "no rows")
    for argument, x, shape in (("gamma", gamma, (states, states)), ("rho", rho, (states,))):
        if np.shape(x) != shape:
            expected = f"have shape {shape}, as log_omega has {states} rows"
            arguments.fail(name, argument, expected, f"shape {np.shape(x)}")
        seen = values_of(name, argument, x)
        if np.all(seen >= 0.0) and np.all(np.abs(np.sum(seen, axis=-1) - 1.0) <= _SIMPLEX):
            continue
        plain = arguments.array(name, argument, peek(x))
        if not (plain >= 0.0).all():
            at = np.unravel_index(np.argmin(plain >= 0.0), shape)
            arguments.fail(name, argument, "not be negative", f"{plain[at]}{arguments.at(at)}")
        sums = np.sum(plain, axis=-1)
        if not (np.abs(sums - 1.0) <= _SIMPLEX).all():
            if np.ndim(sums):
                row = int(np.argmax(np.abs(sums - 1.0)))
                arguments.fail(name, argument, "have rows that sum to 1", f"the sum {sums[row]} at index {row}")
            arguments.fail(name, argument, "sum to 1", sums)
    return log_omega, gamma, rho
