"""Shapes and masks of cotangents, shared by reductions, products and accumulations.

These functions run on plain arrays, on object arrays of scalar variables and on array variables of outer levels.
"""

import math

import numpy as np

from contad.variables.complex_pair import ComplexPair, is_complex, split
from contad.variables.dtypes import FLOAT, dtype_beside
from contad.variables.number import Carrier, lower_to_recorded, map_numbers, observe, read_primal

_MANY = 2000  # numbers
TINY = 2.0**-900  # below it, a product has lost digits, or will lose them in a division
_TINY = {"d": TINY, "D": TINY, "f": 2.0**-110, "F": 2.0**-110}  # the same by dtypes


def carries(x):
    """Whether x is a number or an array that carries derivatives of an outer level."""
    return isinstance(x, (Carrier, ComplexPair))


def plain(x):
    """The primals of x as a float or an array of floats."""
    return map_numbers(read_primal, x)


def all_finite(x):
    """Whether no primal of x is infinite or nan.

    >>> all_finite(np.array([1.0, 2.0])), all_finite(np.array([1.0, np.inf]))
    (True, False)
    """
    if x.__class__ is not np.ndarray:
        if isinstance(x, ComplexPair):
            return all(map(all_finite, split(x)))
        x = lower_to_recorded(x)
    if x.__class__ is np.ndarray and x.dtype == FLOAT:
        if x.size > _MANY and x.flags.forc:  # the sum of squares is one BLAS call without an array of booleans
            flat = x.ravel("K")
            with np.errstate(over="ignore"):
                if math.isfinite(flat.dot(flat)):
                    return True
        return 0 not in np.isfinite(x).tobytes("A")  # for few numbers this takes half the time of counting
    return bool(np.all(observe(np.isfinite, x)))


def in_range(z):
    """Whether every primal of z is finite, and far enough from zero to be divided without loss."""
    if z.__class__ is float or z.__class__ is np.float64:
        return math.isfinite(z) and abs(z) >= TINY
    tiny = _TINY[dtype_beside(z).char]
    if is_complex(z):
        z = plain(np.abs(z))
    far = observe(np.greater_equal, z, tiny) | observe(np.less_equal, z, -tiny)
    return bool(np.all(far & observe(np.isfinite, z)))


def scale(d, p):
    """d p, where a zero d masks a non-finite partial p, so that dead code never makes a nan.

    Only the partial is masked, so that the derivative of d is kept on outer levels.

    >>> scale(np.array([0.0, 2.0]), np.array([np.inf, 3.0]))
    array([0., 6.])
    """
    if all_finite(p):
        return d * p
    finite = observe(np.isfinite, p)
    dead = observe(np.equal, d, 0.0) & ~finite
    return d * np.where(dead, 0.0, p)


def reduced_axes(ndim, axis):
    """The axes that a reduction removes, as a tuple of positions."""
    if axis is None or (ndim == 0 and axis in (0, -1)):  # NumPy accepts these for a number
        return tuple(range(ndim))
    return np.lib.array_utils.normalize_axis_tuple(axis, ndim)


def kept_shape(shape, axis):
    """The shape of a reduction with keepdims=True.

    >>> kept_shape((2, 3, 4), (0, -1))
    (1, 3, 1)
    """
    axes = reduced_axes(len(shape), axis)
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def spread(z_bar, shape, axis):
    """The cotangent of a sum, for each of its terms: z_bar repeated along the axes that were reduced.

    >>> spread(np.array([1.0, 2.0]), (2, 3), 1)
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """
    if z_bar.__class__ is float:
        return np.full(shape, z_bar)
    return np.broadcast_to(np.reshape(z_bar, kept_shape(shape, axis)), shape)


def fold(x, shape):
    """The transpose of broadcasting `shape` to that of x: sums over the axes that were repeated.

    >>> fold(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    if x.__class__ is np.ndarray and x.shape == shape:
        return x
    new = np.ndim(x) - len(shape)
    axes = tuple(k for k, n in enumerate(np.shape(x)) if k < new or (shape[k - new] == 1 and n != 1))
    if axes:
        x = np.sum(x, axis=axes, keepdims=True)
    return np.reshape(x, shape) if np.shape(x) != tuple(shape) else x


def lanes(a, axis):
    """a with the reduced axes moved to the end and merged into one."""
    axes = reduced_axes(np.ndim(a), axis)
    last = tuple(range(np.ndim(a) - len(axes), np.ndim(a)))
    moved = np.moveaxis(a, axes, last) if axes != last else a
    n = math.prod(moved.shape[k] for k in last)
    return np.reshape(moved, (*moved.shape[: moved.ndim - len(axes)], n))


def from_lanes(rows, shape, axis):
    """The inverse of `lanes`, for an array of that shape."""
    axes = reduced_axes(len(shape), axis)
    last = tuple(range(len(shape) - len(axes), len(shape)))
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    moved = np.reshape(rows, (*kept, *(shape[k] for k in axes)))
    return np.moveaxis(moved, last, axes) if axes != last else moved


def previous(x, first, axis=-1):
    """x shifted by one position along an axis; `first` fills the first position.

    >>> previous(np.array([2.0, 3.0, 4.0]), 1.0)
    array([1., 2., 3.])
    """
    k = axis % np.ndim(x)
    shape = np.shape(x)
    if shape[k] == 0:
        return x
    head = np.full((*shape[:k], 1, *shape[k + 1 :]), first, dtype_beside(x))
    return np.concatenate([head, x[(slice(None),) * k + (slice(0, shape[k] - 1),)]], axis=k)


def reduction_structure(shape, axis):
    """The element of a reduction to which each element contributes: (indices of results, indices of elements).

    >>> reduction_structure((2, 2), 0)
    (array([0, 1, 0, 1]), array([0, 1, 2, 3]))
    """
    kept = kept_shape(shape, axis)
    results = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), shape)
    return results.reshape(-1), np.arange(math.prod(shape))
