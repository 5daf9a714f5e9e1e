"""Numba functions for the tests of numbers: their sources must be in a file without tests in it."""

import numba
import numpy as np


@numba.njit
def counted(x):
    """Comparisons of elements counted, as Numba counts them."""
    count = (x[0] > 0.0) + (x[1] > 0.0) + (x[0] > 0.0) * (x[1] > 0.0)
    if ~(x[2] > 0.0):
        count += 1
    if ~(x[0] > 0.0):
        count += 100
    return x[2] * x[2] * (count + np.isnan(x[0]))


@numba.njit
def str(x):
    """A function with the name of an attribute that NumPy warns of."""
    return x * x


@numba.njit
def named_after_text(x):
    """A call of it."""
    return str(x)
