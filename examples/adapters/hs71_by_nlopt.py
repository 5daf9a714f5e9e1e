"""Problem 71 of Hock & Schittkowski by NLopt's SLSQP, with exact gradients: a product above 25, squares that sum to 40.

    python examples/adapters/hs71_by_nlopt.py

The least value known is 17.0140173, at (1, 4.743, 3.8211, 1.3794).
"""

import nlopt
import numpy as np

import contad


def with_gradient(f):
    """f as NLopt calls it."""

    def call(x, grad):
        value, slope = contad.value_and_grad(f)(x)
        if grad.size:
            grad[:] = slope
        return value

    return call


def cost(x):
    return x[0] * x[3] * np.sum(x[:3]) + x[2]


if __name__ == "__main__":
    solver = nlopt.opt(nlopt.LD_SLSQP, 4)
    solver.set_min_objective(with_gradient(cost))
    solver.add_inequality_constraint(with_gradient(lambda x: 25.0 - np.prod(x)), 1e-8)
    solver.add_equality_constraint(with_gradient(lambda x: np.sum(x**2) - 40.0), 1e-8)
    solver.set_lower_bounds(1.0)
    solver.set_upper_bounds(5.0)
    solver.set_xtol_rel(1e-9)
    x = solver.optimize(np.array([1.0, 5.0, 5.0, 1.0]))
    print(x.round(4), f"{cost(x):.7f}")
    assert abs(cost(x) - 17.0140173) < 1e-6
