"""Values of images between their elements, by linear interpolation and by cubic splines; and filters along axes."""

import numpy as np

from contad.ops.cotangents import plain
from contad.ops.piecewise_polynomials import solve_columns
from contad.ops.products import as_array
from contad.ops.recursive_filters import convolve_arrays
from contad.ops.spline_bases import cubic_weights, linear_weights, sum_corners
from contad.variables.number import observe

PAD_MODES = {"reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
             "constant": "constant", "grid-constant": "constant", "wrap": "wrap", "grid-wrap": "wrap"}  # fmt: skip


# ---- splines ---------------------------------------------------------------------------------------------------------
def cubic_coefficients(x, axis, mode):
    """The coefficients of the cubic spline with unit knots through x along an axis, mirrored at or beyond its ends.

    Solves (c_{i-1} + 4 c_i + c_{i+1}) / 6 = x_i, O(n) along the axis.
    """
    x = np.moveaxis(as_array(x), axis, 0)
    n = np.shape(x)[0]
    if n < 2:
        return np.moveaxis(x, 0, axis)
    ab = np.full((3, n), 1.0 / 6.0)
    ab[1] = 4.0 / 6.0
    if mode == "reflect":
        ab[1, [0, -1]] = 5.0 / 6.0
    else:
        ab[0, 1] = ab[2, -2] = 2.0 / 6.0
    return np.moveaxis(solve_columns(ab, x, 1, 1), 0, axis)


def fold(at, n, mode):
    """Places moved into an axis of n elements according to a mode of scipy.ndimage; "constant" leaves them."""
    place = np.asarray(plain(at))
    if mode == "constant" or n == 1:
        return at if mode == "constant" else 0.0 * at
    if mode == "nearest":
        return np.where(place < 0.0, 0.0, np.where(place > n - 1.0, n - 1.0, at))
    if mode in ("wrap", "grid-wrap"):
        period = n - 1.0 if mode == "wrap" else float(n)
        outside = (place < 0.0) | (place > n - 1.0)
        return at - np.where(outside, np.floor(place / period), 0.0) * period
    period, before = (2.0 * (n - 1.0), 0.0) if mode == "mirror" else (2.0 * n, 0.5)
    moves = np.floor((place + before) / period) * period
    back = place - moves + before > period / 2.0
    at = at - moves
    return np.where(back, period - 2.0 * before - at, at)


def fold_index(i, n, mode):
    """Indices moved into an axis of n elements in the same way."""
    if n == 1:
        return np.zeros_like(i)
    if mode == "nearest":
        return np.clip(i, 0, n - 1)
    if mode == "grid-wrap":
        return i % n
    if mode == "reflect":
        i = i % (2 * n)
        return np.where(i >= n, 2 * n - 1 - i, i)
    i = i % (2 * (n - 1))
    return np.where(i >= n, 2 * (n - 1) - i, i)


def image_values(c, coordinates, order, mode):
    """The values at coordinates (d, n) of the spline of degree 0, 1 or 3 with coefficients c, which has d axes."""
    places, weights = [], []
    spline_mode = "mirror" if mode in ("constant", "wrap") else mode
    for axis in range(np.shape(coordinates)[0]):
        n = np.shape(c)[axis]
        at = fold(coordinates[axis], n, mode)
        place = np.asarray(plain(at))
        if order == 0:
            below = np.floor(place + 0.5).astype(np.intp)
            reach, weight = below[:, None], np.ones((len(below), 1))
        else:
            below = np.floor(place).astype(np.intp)
            first, last = (0, 2) if order == 1 else (-1, 3)
            reach = below[:, None] + np.arange(first, last)
            weight = (linear_weights if order == 1 else cubic_weights)(at - below)
        places.append(fold_index(reach, n, spline_mode))
        weights.append(weight)
    return sum_corners(c, places, weights)


def outside_of(shape, coordinates):
    """Which coordinates lie outside of an image."""
    place = observe(np.asarray, coordinates)
    last = np.reshape(np.array(shape) - 1.0, (-1, 1))
    return ~np.all((place >= 0.0) & (place <= last), axis=0)


# ---- filters ---------------------------------------------------------------------------------------------------------
def correlate_padded(x, weights, mode, cval, origins):
    """The correlation of an image with weights of as many axes; the mode says how the image continues beyond its
    edges."""
    widths = []
    for n, origin in zip(np.shape(weights), origins, strict=True):
        before = n // 2 + origin
        widths.append((before, n - 1 - before))
    options = {"constant_values": cval} if PAD_MODES[mode] == "constant" else {}
    padded = np.pad(as_array(x), widths, mode=PAD_MODES[mode], **options)
    return convolve_arrays(padded, np.flip(as_array(weights), None), mode="valid", method="direct")
