"""Mixing proportions that sum to one, and the widths of two components: a constrained maximum likelihood by SciPy.

    python examples/constrained_fit.py

The parameters are a dict; gradients, products with the Hessian and the constraint's Jacobian come from contad.
"""

import numpy as np
from scipy.optimize import NonlinearConstraint

import contad

DRAW = np.random.default_rng(8)
SAMPLE = np.concatenate([DRAW.normal(-1.0, 0.5, 300), DRAW.normal(2.0, 1.0, 700)])


def minus_log_likelihood(p):
    z = (SAMPLE[:, None] - p["mean"]) / p["width"]
    parts = p["share"] * np.exp(-0.5 * z * z) / p["width"]
    return -np.sum(np.log(np.sum(parts, axis=1)))


if __name__ == "__main__":
    start = {"share": np.full(2, 0.5), "mean": np.array([-2.0, 1.0]), "width": np.ones(2)}
    fit = contad.scipy.optimize.minimize(
        minus_log_likelihood, start, method="trust-constr",
        bounds={"share": (0.0, 1.0), "width": (1e-3, None)},
        constraints=NonlinearConstraint(lambda p: p["share"].sum(), 1.0, 1.0),
    )  # fmt: skip
    for name, x in fit.x.items():
        print(f"{name:6} {x.round(3)}")
    print(f"{fit.nit} iterations, {fit.nfev} values with gradients")
    assert abs(fit.x["share"].sum() - 1.0) < 1e-8 and np.allclose(fit.x["share"], [0.3, 0.7], atol=0.05)
