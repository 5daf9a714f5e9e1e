"""A rate that never falls, from counts on 300 days: SciPy's trust-constr with the sparse Hessian of a Numba function.

    python examples/rising_rate.py

The Hessian has 1,494 elements of 90,000 and takes five products with vectors, whatever the number of days.
"""

import numba
import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize

import contad

DAYS, SMOOTH = 300, 400.0
TRUTH = 2.5 + np.tanh(np.linspace(-4.0, 4.0, DAYS))  # the logarithm of the rate
COUNTS = np.random.default_rng(6).poisson(np.exp(TRUTH)).astype(float)


@numba.njit
def cost(u, counts):
    """Minus the log likelihood of log rates u, and a penalty on how much they bend."""
    total = 0.0
    for k in range(len(u)):
        total += np.exp(u[k]) - counts[k] * u[k]
        if 0 < k < len(u) - 1:
            total += 0.5 * SMOOTH * (u[k - 1] - 2.0 * u[k] + u[k + 1]) ** 2
    return total


if __name__ == "__main__":
    rises = sparse.diags_array([-np.ones(DAYS), np.ones(DAYS - 1)], offsets=[0, 1], shape=(DAYS - 1, DAYS))
    hess = contad.sparse_hessian(cost)
    start = np.linspace(1.0, 4.0, DAYS)
    fit = minimize(
        cost, start, args=(COUNTS,), method="trust-constr", jac=contad.grad(cost), hess=hess,
        constraints=LinearConstraint(rises, 0.0, np.inf), options={"maxiter": 200},
    )  # fmt: skip
    print(f"{fit.nit} steps; a Hessian has {hess(fit.x, COUNTS).nnz} elements, from {hess.passes} products")
    print(f"rates of the first and the last day: {np.exp(fit.x[0]):.1f}, {np.exp(fit.x[-1]):.1f}")
    assert np.diff(fit.x).min() > -1e-6 and np.abs(fit.x - TRUTH).max() < 0.3
