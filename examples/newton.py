"""Poisson regression by Newton's method, written in njit: gradient and Hessian are compiled into the loop."""

import numba
import numpy as np

import contad


@numba.njit
def loss(w, rows, counts):
    total = 0.0
    for n in range(len(counts)):
        eta = 0.0
        for k in range(len(w)):
            eta += rows[n, k] * w[k]
        total += np.exp(eta) - counts[n] * eta
    return total


@numba.njit
def fit(w, rows, counts):
    """The coefficients, their standard errors, and how many steps it took."""
    steps = 0
    while steps < 50:
        steps += 1
        gradient = contad.grad(loss)(w, rows, counts)
        hessian = contad.hessian(loss)(w, rows, counts)
        if np.max(np.abs(gradient)) < 1e-10 * len(counts):
            break
        w = w - np.linalg.solve(hessian, gradient)
    return w, np.sqrt(np.diag(np.linalg.inv(hessian))), steps


rng = np.random.default_rng(1)
truth = np.array([0.5, -0.3, 0.8])
rows = rng.normal(size=(2000, 3))
counts = rng.poisson(np.exp(rows @ truth)).astype(float)
w, errors, steps = fit(np.zeros(3), rows, counts)
assert np.all(np.abs(w - truth) < 4.0 * errors)
print(f"{steps} steps:", ", ".join(f"{a:.3f} +- {e:.3f}" for a, e in zip(w, errors, strict=True)))
