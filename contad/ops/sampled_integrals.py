"""Integrals of sampled functions by Simpson's rule, and running integrals by the trapezoidal rule."""

import numpy as np

from contad.ops.calculus import cut
from contad.ops.products import as_array


def spacings(y, x, dx, axis):
    """The distances of samples along the last axis, shaped to multiply y, or one number."""
    if x is None:
        return dx
    x = as_array(x)
    if np.ndim(x) == 1:
        return x[1:] - x[:-1]
    x = np.moveaxis(x, axis, -1)
    return x[..., 1:] - x[..., :-1]


def check_samples(name, y, x, axis):
    """y with its axis last; ValueError if the points do not fit."""
    y = as_array(y)
    if np.ndim(y) == 0 or np.shape(y)[axis] == 0:
        raise ValueError(f"{name}: at least one point is required along axis {axis}, got shape {np.shape(y)}")
    if x is not None:
        ndim = np.ndim(x)
        if ndim not in (1, np.ndim(y)) or np.shape(x)[axis if ndim > 1 else 0] != np.shape(y)[axis]:
            raise ValueError(
                f"{name}: x must be of shape {np.shape(y)} or of the length of y along axis {axis}, got {np.shape(x)}"
            )
    return np.moveaxis(y, axis, -1)


def simpson_integral(y, h):
    """The integral of samples along the last axis by parabolas, with Cartwright's correction for an even number.

    Ref: Cartwright (2017), Simpson's rule cumulative integration with MS Excel and irregularly-spaced data.
    """
    n = np.shape(y)[-1]
    even_spaced = np.ndim(h) == 0
    if n == 2:
        return 0.5 * (h if even_spaced else h[..., 0]) * (y[..., 0] + y[..., 1])
    stop = n - 2 if n % 2 else n - 3
    first, middle, last = (y[..., k : stop + k : 2] for k in range(3))
    if even_spaced:
        z = np.sum(first + 4.0 * middle + last, axis=-1) * (h / 3.0)
    else:
        a, b = h[..., 0:stop:2], h[..., 1 : stop + 1 : 2]
        both, ratio = a + b, a / b
        ends = first * (2.0 - 1.0 / ratio) + last * (2.0 - ratio)
        z = np.sum(both / 6.0 * (ends + middle * (both * both / (a * b))), axis=-1)
    if n % 2:
        return z
    a, b = (h, h) if even_spaced else (h[..., -2], h[..., -1])
    z = z + (2.0 * b * b + 3.0 * a * b) / (6.0 * (a + b)) * y[..., -1]
    z = z + (b * b + 3.0 * a * b) / (6.0 * a) * y[..., -2]
    return z - b * b * b / (6.0 * a * (a + b)) * y[..., -3]


def running_integral(y, h):
    """The integrals up to each sample but the first, by the trapezoidal rule."""
    axis = np.ndim(y) - 1
    return np.cumsum(h * (cut(y, axis, 1) + cut(y, axis, 0, -1)) / 2.0, axis=-1)
