"""Simulations that write to an array in place, step by step."""

import numpy as np


def simulation(step, steps):
    """The sum of squares after so many steps."""
    def f(u, k):
        u = u.copy()
        for _ in range(steps):
            step(u, k)
        return np.sum(u * u)

    return f


def heat(u, k):
    """A step of the heat equation."""
    u[1:-1] += k * (u[:-2] - 2.0 * u[1:-1] + u[2:])
