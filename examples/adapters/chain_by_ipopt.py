"""A chain of 2,000 unknowns under 1,998 constraints by Ipopt, with exact sparse derivatives (Luksan & Vlcek).

    python examples/adapters/chain_by_ipopt.py

The matrices have some 6,000 elements of 4,000,000, and take three products each.
"""

import ipyopt
import numpy as np

import contad


def cost(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def bend(x):
    a, b, c = x[:-2], x[1:-1], x[2:]
    return 3.0 * b**3 + 2.0 * c - 8.0 + np.sin(b - c) * np.sin(b + c) + 4.0 * b - a * np.exp(a - b)


def fill(f):
    """f as ipyopt calls it, with the array for the result last."""
    return lambda *args: np.copyto(args[-1], f(*args[:-1]))


if __name__ == "__main__":
    x0 = np.where(np.arange(2000) % 2, 1.0, -1.2)
    problem = contad.IpoptProblem(cost, bend, x0)
    free, none = np.full(2000, 1e20), np.zeros(1998)
    solver = ipyopt.Problem(
        2000, -free, free, 1998, none, none, problem.jacobianstructure(), problem.hessianstructure(), cost,
        fill(problem.gradient), fill(bend), fill(problem.jacobian), fill(problem.hessian),
        ipopt_options={"print_level": 0, "sb": "yes"},
    )  # fmt: skip
    x, least, status = solver.solve(x0)
    print(f"status {status}, {least:.7f}, constraints to {np.abs(bend(x)).max():.0e}")
    assert status == 0 and abs(least - 6.2324586) < 1e-6
