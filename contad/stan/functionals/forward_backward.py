"""The forward and backward recursions of a hidden Markov model, compiled; imported on first use."""

import math
from typing import Any

import numpy as np

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit


@njit(
    "Tuple((float64, float64[:, ::1], float64[:, ::1], float64[::1]))"
    "(float64[:, ::1], float64[:, ::1], float64[::1], boolean)",
    **NJIT_OPTIONS,
)
def run_both(log_omega: Any, gamma: Any, rho: Any, backward: bool) -> Any:
    """(log p, dp/d log_omega, d/d gamma, d/d rho); the derivatives are those of log p, and zeros without the backward
    sweep.

    The forward variables are scaled to sum to 1, so long sequences neither overflow nor underflow.
    """
    states, times = log_omega.shape
    alpha, omega = np.zeros((times, states)), np.zeros((times, states))
    scales = np.zeros(times)
    total = 0.0
    for t in range(times):
        top = -math.inf
        for k in range(states):
            top = max(top, log_omega[k, t])
        shift = top if math.isfinite(top) else 0.0
        for k in range(states):
            omega[t, k] = math.exp(log_omega[k, t] - shift)
            came = rho[k]
            if t > 0:
                came = 0.0
                for j in range(states):
                    came += alpha[t - 1, j] * gamma[j, k]
            alpha[t, k] = omega[t, k] * came
            scales[t] += alpha[t, k]
        if scales[t] == 0.0:  # no sequence is possible
            nan = math.nan
            return -math.inf, np.full((states, times), nan), np.full((states, states), nan), np.full(states, nan)
        for k in range(states):
            alpha[t, k] = alpha[t, k] / scales[t]
        total += math.log(scales[t]) + shift
    of_omega, of_gamma, of_rho = np.zeros((states, times)), np.zeros((states, states)), np.zeros(states)
    if not backward or times == 0:
        return total, of_omega, of_gamma, of_rho
    beta, ahead = np.ones(states), np.zeros(states)
    for t in range(times - 1, -1, -1):
        for k in range(states):
            of_omega[k, t] = alpha[t, k] * beta[k]
            ahead[k] = omega[t, k] * beta[k] / scales[t]
        for j in range(states):
            if t == 0:
                of_rho[j] = ahead[j]
                continue
            beta[j] = 0.0
            for k in range(states):
                of_gamma[j, k] += alpha[t - 1, j] * ahead[k]
                beta[j] += gamma[j, k] * ahead[k]
    return total, of_omega, of_gamma, of_rho
