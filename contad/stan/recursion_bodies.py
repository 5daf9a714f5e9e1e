"""Loops over time, which Numba compiles.

They are the forward algorithm of hidden Markov models, the Kalman filter, and integrals of first passage times.
"""

import numpy as np
from numpy.linalg import cholesky

from contad.distributions.faces import Face
from contad.distributions.first_passage import wiener_log_density
from contad.ops.exponential import exp, log
from contad.ops.log_sums import logsumexp
from contad.ops.logic import stop_gradient
from contad.scipy.vector_densities import LOG_TWO_PI, log_diagonal, solve_lower
from contad.stan.bodies import has_factor, is_finite_symmetric


def densities_of_states(log_omega):
    """The densities of observations by time and state, each time over its largest, and the logarithms of these."""
    states, times = log_omega.shape
    omega, tops = np.zeros((times, states)), np.zeros(times)
    for t in range(times):
        top = -np.inf
        for k in range(states):
            top = max(top, stop_gradient(log_omega[k, t]))
        tops[t] = top if top > -np.inf and top < np.inf else 0.0
        for k in range(states):
            omega[t, k] = exp(log_omega[k, t] - tops[t])
    return omega, tops


def move_forward(omega, gamma, rho):
    """The probabilities of states given the observations so far, and those of each observation given earlier ones."""
    times, states = omega.shape
    alpha, scales = np.zeros((times, states)), np.zeros(times)
    for t in range(times):
        scale = 0.0
        for k in range(states):
            came = 0.0
            if t == 0:
                came = rho[k]
            else:
                for j in range(states):
                    came = came + alpha[t - 1, j] * gamma[j, k]
            alpha[t, k] = omega[t, k] * came
            scale = scale + alpha[t, k]
        scales[t] = scale
        for k in range(states):
            alpha[t, k] = alpha[t, k] / (scale if scale > 0.0 else 1.0)  # 0 if no sequence is possible
    return alpha, scales


def log_sum_over_sequences(log_omega, gamma, rho):
    """log p(y) of a hidden Markov model."""
    omega, tops = densities_of_states(log_omega)
    _, scales = move_forward(omega, gamma, rho)
    total = 0.0
    for t in range(len(tops)):
        total = total + log(scales[t]) + tops[t]
    return total


def probabilities_of_states(log_omega, gamma, rho):
    """The probability of each state at each time, given all observations."""
    states, times = log_omega.shape
    omega, _ = densities_of_states(log_omega)
    alpha, scales = move_forward(omega, gamma, rho)
    beta, found = np.ones((times, states)), np.zeros((states, times))
    for s in range(times):
        t = times - 1 - s
        for k in range(states):
            if t < times - 1:
                total = 0.0
                for j in range(states):
                    total = total + gamma[k, j] * omega[t + 1, j] * beta[t + 1, j]
                beta[t, k] = total / scales[t + 1]
            found[k, t] = alpha[t, k] * beta[t, k]
    return found


def is_semidefinite(a):
    """Whether a matrix is finite, symmetric and positive semidefinite up to 1e-8."""
    return is_finite_symmetric(a) and has_factor(stop_gradient(a) + 1e-8 * np.eye(len(a)))


def filter_observations(y, F, G, V, W, m0, C0, propto=False):
    """The log density of a Gaussian dynamic linear model.

    A missing element becomes an observation of 0 with variance 1 that depends on nothing, and whose density is 1.
    """
    if not (is_semidefinite(V) and is_semidefinite(W) and is_semidefinite(C0)):
        raise ValueError("gaussian_dlm_obs_lpdf: V, W and C0 must be finite and positive semidefinite")
    rows, times = y.shape
    m, C = 1.0 * m0, 1.0 * C0
    total, count = 0.0, 0.0
    for t in range(times):
        m = G @ m
        C = G @ C @ G.T + W
        seen, observed = np.zeros(rows), np.zeros(rows)
        for i in range(rows):
            if y[i, t] == y[i, t]:
                seen[i] = 1.0
                observed[i] = y[i, t]
        design = F * seen
        noise = V * np.expand_dims(seen, 1) * seen + np.diag(1.0 - seen)
        across = design.T @ C
        factor = cholesky(across @ design + noise)
        error = solve_lower(factor, observed - design.T @ m)
        gain = solve_lower(factor, across)
        m = m + gain.T @ error
        C = C - gain.T @ gain
        total = total - 0.5 * np.sum(error * error) - log_diagonal(factor)
        count = count + np.sum(seen)
    return total - (0.0 if propto else 0.5 * LOG_TWO_PI * count)


# ---- first passage times ---------------------------------------------------------------------------------------------
def _rule(panels: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule on panels of (0, 1)."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    at = (np.arange(panels)[:, None] + 0.5 * (x + 1.0)) / panels
    return at.ravel(), np.tile(0.5 * weights / panels, panels)


def _graded_rule(panels: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Like `_rule`, with panels that halve towards 1, where densities of short times vary most."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    ends = np.append(1.0 - 2.0 ** -np.arange(panels), 1.0)
    lengths = np.diff(ends)[:, None]
    return (ends[:-1, None] + 0.5 * lengths * (x + 1.0)).ravel(), (0.5 * lengths * weights).ravel()


NEGLIGIBLE = 46.0
passage_density = Face(__name__, "passage_density", wiener_log_density, "The log density of a first passage time.")
SHARES, SHARE_WEIGHTS = _rule(1, 24)
DELAYS, DELAY_WEIGHTS = _graded_rule(8, 16)
TIMES, TIME_WEIGHTS = _rule(8, 24)


def log_passage(y, alpha, tau, beta, delta, var_delta, var_beta, var_tau, above):
    """log of the density at y if `above` is negative, of the probability below y if it is 0, and above y if it is 1."""
    starts = len(SHARES) if var_beta > 0.0 else 1
    delays = len(DELAYS) if var_tau > 0.0 else 1
    ends = len(TIMES) if above >= 0.0 else 1
    length = var_tau if var_tau < y - tau else y - tau
    duration, width = stop_gradient(y - tau), stop_gradient(alpha)
    nearest = (1.0 - stop_gradient(beta) - 0.5 * stop_gradient(var_beta)) * width
    far, near = width * width / (np.pi * np.pi * duration), duration / (nearest * nearest)
    reach = np.log1p(2.0 * NEGLIGIBLE * (far if above > 0.0 else near))
    logs = np.zeros(starts * delays * ends)
    n = 0
    for i in range(starts):
        start = beta + var_beta * (SHARES[i] - 0.5) if starts > 1 else beta
        of_start = np.log(SHARE_WEIGHTS[i]) if starts > 1 else 0.0
        for j in range(delays):
            delay = tau + length * DELAYS[j] if delays > 1 else tau
            of_delay = np.log(DELAY_WEIGHTS[j]) + log(length / var_tau) if delays > 1 else 0.0
            for k in range(ends):
                t, of_end = y - delay, 0.0
                if ends > 1:
                    t = t * np.exp((1.0 if above > 0.0 else -1.0) * reach * TIMES[k])
                    of_end = np.log(TIME_WEIGHTS[k] * reach) + log(t)
                density = passage_density(delay + t, alpha, delay, start, delta, var_delta)
                logs[n] = of_start + of_delay + of_end + density
                n += 1
    return logsumexp(logs)
