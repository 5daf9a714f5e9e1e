"""Splines by their bases: B-splines of any degree with variable knots, and sums over the corners of grids.

A value is the weighted sum of the few coefficients whose basis functions reach the place. So no array has the size of
all coefficients times all places, and the derivatives with respect to places, knots and coefficients are those of the
sum.
"""

import numpy as np

from contad.ops.calculus import bincount
from contad.ops.cotangents import plain
from contad.ops.piecewise_polynomials import solve_columns
from contad.ops.products import as_array
from contad.variables.number import observe


def find_intervals(t, k, at):
    """For each place the interval j, t_j <= at < t_{j+1}, among those that k + 1 functions of degree k reach."""
    knots = np.asarray(plain(t))
    n = len(knots) - k - 1
    j = np.searchsorted(knots, np.asarray(plain(at)), side="right") - 1
    last = np.searchsorted(knots, knots[n], side="left") - 1  # the last interval of nonzero length
    return np.clip(j, k, max(last, k))


def basis_values(t, k, at, j, order=0):
    """The k + 1 B-splines of degree k that reach places (n,) in intervals j, or derivatives of theirs: (n, k + 1).

    Ref: de Boor, A Practical Guide to Splines, chapter X, (14) and (15).
    """
    zero = 0.0 * at
    if order > k:
        return np.stack([zero] * (k + 1), axis=-1)
    found = [zero + 1.0]
    for d in range(1, k + 1):
        raised = []
        derives = d > k - order
        for i in range(d + 1):
            left = found[i - 1] / (t[j + i] - t[j + i - d]) if i > 0 else None
            right = found[i] / (t[j + i + 1] - t[j + i + 1 - d]) if i < d else None
            if derives:
                term = (0.0 if left is None else left) - (0.0 if right is None else right)
                raised.append(d * term)
            else:
                rising = 0.0 if left is None else (at - t[j + i - d]) * left
                raised.append(rising if right is None else rising + (t[j + i + 1] - at) * right)
        found = raised
    return np.stack(found, axis=-1)


def spline_values(t, c, k, at, order=0):
    """The values at places (n,) of the spline with coefficients c (m, ...), or of a derivative."""
    j = find_intervals(t, k, at)
    weights = basis_values(t, k, at, j, order)
    return sum_corners(c, [j[:, None] + np.arange(-k, 1)], [weights])


def interpolating_coefficients(t, k, x, y, first=(), last=()):
    """The coefficients (n, ...) of the spline through y at x; `first`, `last`: (order, value) of derivatives there."""
    conditions = [*((order, x[:1]) for order, _ in first), (0, x), *((order, x[-1:]) for order, _ in last)]
    rows = []
    for order, at in conditions:
        j = find_intervals(t, k, at)
        rows.append((basis_values(t, k, at, j, order), j))
    b = [(value + np.zeros(np.shape(y)[1:]))[None] for _, value in first]
    b += [y, *((value + np.zeros(np.shape(y)[1:]))[None] for _, value in last)]
    values = np.concatenate([v for v, _ in rows], axis=0)
    j = np.concatenate([j for _, j in rows])
    n = len(j)
    columns = j[:, None] + np.arange(-k, 1)
    places = (k + np.arange(n)[:, None] - columns) * n + columns
    inside = (places // n >= 0) & (places // n <= 2 * k)
    if np.any(np.asarray(observe(np.not_equal, values, 0.0)) & ~inside):
        raise ValueError("the places of the data and the knots do not interlace (Schoenberg-Whitney)")
    kept = np.where(inside, places, 0)
    weights = np.where(inside, values, 0.0)
    ab = np.reshape(bincount(np.reshape(weights, (-1,)), x=kept.reshape(-1), minlength=(2 * k + 1) * n), (2 * k + 1, n))
    return solve_columns(ab, np.concatenate(b, axis=0) if len(b) > 1 else y, k, k)


def not_a_knot(x, k):
    """The knots for interpolation of degree k at x, with k + 1 at both ends."""
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2.0
    half = (k + 1) // 2 if k % 2 else k // 2
    inner = inner[half : np.shape(inner)[0] - half]
    return np.concatenate([np.broadcast_to(x[0], (k + 1,)), inner, np.broadcast_to(x[-1], (k + 1,))])


def with_ends(x, k):
    """The knots x with k more at both ends."""
    return np.concatenate([np.broadcast_to(x[0], (k,)), x, np.broadcast_to(x[-1], (k,))])


# ---- grids -----------------------------------------------------------------------------------------------------------
def sum_corners(c, places, weights):
    """For each n, the weighted sum of elements of c (m_1, m_2, ..., rest) at the places (n, p_k) along each axis k."""
    axes = len(places)
    index = tuple(
        np.reshape(i, (len(i), *(1,) * d, i.shape[1], *(1,) * (axes - 1 - d))) for d, i in enumerate(places)
    )
    total = as_array(c)[index]
    for d in range(axes - 1, -1, -1):
        w = weights[d]
        shape = (np.shape(w)[0], *(1,) * d, np.shape(w)[1], *(1,) * (np.ndim(total) - d - 2))
        total = np.sum(total * np.reshape(w, shape), axis=d + 1)
    return total


def linear_weights(t):
    """The weights of both neighbours, at a fraction t of the way from the first."""
    return np.stack([1.0 - t, t], axis=-1)


def cubic_weights(t):
    """The cubic B-splines with unit knots that reach a place, at a fraction t after the second of them."""
    u = 1.0 - t
    near, far = (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0, (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0
    return np.stack([u * u * u / 6.0, near, far, t * t * t / 6.0], axis=-1)
