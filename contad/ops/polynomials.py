"""Polynomials by their coefficients, their matrices, and spaced numbers."""

import operator

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.products import as_array
from contad.rules.numpy_functions import implements


@implements(np.polyval)
def polyval(p, x):
    """The polynomial with coefficients p, the highest power first, at x; by Horner's scheme."""
    p, x = as_array(p), as_array(x)
    z = np.zeros(np.shape(x)) * x if np.shape(p)[0] == 0 else p[0] + 0.0 * x
    for k in range(1, np.shape(p)[0]):
        z = z * x + p[k]
    return z


@implements(np.vander)
def vander(x, N=None, increasing=False):
    """The matrix of powers of the elements of a vector, the highest first unless `increasing`."""
    x = as_array(x)
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = np.shape(x)[0] if N is None else operator.index(N)
    exponents = np.arange(n) if increasing else np.arange(n)[::-1]
    return np.reshape(x, (-1, 1)) ** exponents


@implements(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """Evenly spaced numbers between two numbers or arrays, along a new axis."""
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise UnsupportedError(f"np.linspace: dtype={dtype} is not supported on variables, which are float64")
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    parts = num - 1 if endpoint else num
    start, stop = as_array(start), as_array(stop)
    width = stop - start
    step = width / parts if parts > 0 else width * np.nan
    ndim = np.ndim(width)
    t = np.reshape(np.arange(num, dtype=np.float64), (num, *(1,) * ndim))
    z = start + t * step if parts > 0 else start + t * width
    if endpoint and num > 1:
        z = np.concatenate([z[:-1], np.reshape(stop + 0.0 * width, (1, *np.shape(width)))], axis=0)
    z = np.moveaxis(z, 0, axis) if axis != 0 else z
    return (z, step) if retstep else z
