"""The function whose first gradient is timed: a branching recurrence and a sum over data."""

import math

import numba
import numpy as np

X = np.array([0.7, -0.2, 0.4])
Y = np.linspace(-1.0, 2.0, 50)


@numba.njit(cache=True)
def model(x, y):
    """A log density of data that a recurrence predicts."""
    total = 0.0
    state = x[0]
    for i in range(y.shape[0]):
        state = math.tanh(x[1] * state) + x[2] if state > 0.0 else x[0] - math.exp(-x[2]) * state
        total -= (y[i] - state) ** 2
    return total
