"""Which features of a cell nucleus speak of a malignant tumour? The posterior by Hamiltonian Monte Carlo, all compiled.

    python examples/hmc.py

    malignant ~ Bernoulli(expit(w_0 + sum_k w_k x_k)),     w_k ~ Normal(0, 2.5)

The sampler is a loop in Numba that asks for the gradient of the log posterior, another Numba function, where it needs
it: contad.value_and_grad(log_posterior)(w, X, y), inside compiled code. The log posterior knows nothing of it. The
method is that of R. M. Neal (2011), MCMC using Hamiltonian dynamics, in the Handbook of Markov Chain Monte Carlo.

Data: the breast cancer table of `python -m contad`; see contad/example/SOURCE.md.
"""

import math

import numpy as np
from numba import njit

import contad
from contad.example.logistic_regression import read_table

PRIOR_SD = 2.5


@njit(cache=True)
def log_posterior(w, X, y):
    """Up to a constant. The rows of X are patients, their first entry is 1."""
    total = 0.0
    for k in range(w.shape[0]):
        total -= 0.5 * (w[k] / PRIOR_SD) ** 2
    for i in range(X.shape[0]):
        logit = 0.0
        for k in range(w.shape[0]):
            logit += w[k] * X[i, k]
        # y logit - log(1 + exp(logit)), without overflow
        total += y[i] * logit - max(logit, 0.0) - math.log1p(math.exp(-abs(logit)))
    return total


@njit(cache=True)
def sample(w, X, y, draws, steps, step, rng):
    """Draws from the posterior, and the fraction of trajectories that were accepted."""
    found = np.empty((draws, w.shape[0]))
    accepted = 0
    value, slope = contad.value_and_grad(log_posterior)(w, X, y)
    for n in range(draws):
        momentum = rng.standard_normal(w.shape[0])
        start = value - 0.5 * np.sum(momentum**2)
        w_new, value_new, slope_new = w.copy(), value, slope
        for _ in range(steps):  # leapfrog
            momentum += 0.5 * step * slope_new
            w_new += step * momentum
            value_new, slope_new = contad.value_and_grad(log_posterior)(w_new, X, y)
            momentum += 0.5 * step * slope_new
        if math.log(rng.random()) < value_new - 0.5 * np.sum(momentum**2) - start:
            w, value, slope = w_new, value_new, slope_new
            accepted += 1
        found[n] = w
    return found, accepted / draws


table = read_table()
names = ["intercept", *table.names]
X = np.column_stack([np.ones(len(table.malignant)), np.array(table.features)])
y = np.array(table.malignant)


if __name__ == "__main__":
    draws, accepted = sample(np.zeros(len(names)), X, y, 2000, 25, 0.05, np.random.default_rng(1))
    draws = draws[200:]
    print(f"{len(draws)} draws of {len(names)} coefficients, {accepted:.0%} of the trajectories accepted\n")
    for name, mean, sd in zip(names, draws.mean(axis=0), draws.std(axis=0), strict=True):
        print(f"{name:24} {mean:8.3f} +- {sd:.3f}")
    assert 0.6 < accepted <= 1.0, "the step does not suit the posterior"
