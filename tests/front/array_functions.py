"""Numba functions of a vector and data, with functions of whole arrays and other constructs in them."""

import numpy as np
from numba import njit

X = np.array([0.7, 1.31, 2.1, -0.4, 0.9])
DATA = np.array([0.5, 2.0, -1.0, 0.25, 3.0])


@njit
def unpacks(x, d):
    a, b, c, e, g = x
    (h, i), (j, k) = x[:2] * 1.5, d[1:3]
    return a * b + c * e * g + h * i * j * k


@njit
def ends_loops(x, d):
    s, k = x[0], 0
    while k < 3:
        s *= x[k]
        if s > 100.0:
            break
        k += 1
    else:
        s = s * x[4]
    for k in range(5):
        if x[k] > 2.0:
            s *= x[k]
            break
    else:
        s = s * x[3]
    for k in range(3):
        for j in range(2):
            if x[k] < j:
                break
        else:
            continue
        s *= 1.0 + x[k]
        break
    return s


@njit
def converts(x, d):
    y = x.astype(np.float64)
    y[0] = 3.0 * x[1]
    whole, rest = divmod(x[2] * 3.0, 1.7)
    kind = type(x[0])
    total = np.sum(y * y) + np.sum(x.astype(np.int64)) * x[0] + np.sum(d.astype(np.int64)) * x[1]
    return total + whole * x[0] + rest * x[1] + kind(0.5) * np.float64(x[0]) * x[1] + kind(x[1]) * np.float64(3)


@njit
def rounds(x, d):
    return np.sum(np.round(x) * x) + round(x[0]) * x[1] + np.round(x[2], 1) * x[2] + np.sum(np.round(d)) * x[3]


@njit
def repeats(x, d):
    each = np.repeat(x, np.array([1, 0, 2, 1, 3]))
    return np.sum(np.repeat(x, 2) * np.repeat(x[::-1], 2)) + np.sum(np.repeat(x[0] * x[1], 3)) + each[5] * x[0]


@njit
def interpolates(x, d):
    knots = np.array([-1.0, 0.0, 1.3, 2.0])
    moved = np.interp(x[1], x[1] * np.array([0.5, 1.5]), x[:2])
    outside = np.interp(3.0 * x[2], knots, x[1:]) + np.interp(-5.0, knots, x[1:])
    return np.sum(np.interp(x, knots, d[1:]) * x) + np.interp(0.3 * x[0], knots, x[:4]) + moved + outside


@njit
def orders(x, d):
    s = np.sort(x)
    u = np.unique(np.floor(x[2] * 0.0) + x)
    low = np.median(x) * x[0] + np.median(x[:4]) * x[1] + np.median(d) * x[2]
    return s[0] * s[1] * 2.0 + s[4] + np.sum(u * np.arange(len(u))) + low + len(np.unique(np.array([1, 2, 1]))) * x[3]


@njit
def accumulates(x, d):
    y = x.copy()
    y[2] = np.nan
    total = np.nansum(y * y) + np.sum(np.cumprod(x) * np.cumsum(x)) + np.prod(x) * x[0]
    return total + np.var(x) + np.std(x) * x[1] + np.sum(np.diff(x) ** 2)


@njit
def crosses(x, d):
    rows = np.cross(np.outer(x[:2], x[:3]), np.outer(x[3:], x[2:]))
    mixed = np.cross(rows, x[1:4]) * x[2] + np.cross(d[:3], rows) * x[3]
    one = np.cross(rows[:1], rows) * np.cross(rows, rows[1:])
    vectors = np.cross(x[:3], x[2:]) * x[1:4]
    return np.sum(vectors) + np.sum(rows) + np.cross(x[:3], d[:3])[1] * x[4] + np.sum(mixed - one)


@njit
def searches(x, d):
    grid = np.array([-1.0, 0.5, 1.0, 2.0, 3.0])
    s = 0.0
    for i in range(5):
        k = np.searchsorted(grid, x[i])
        s += x[i] * k + grid[k] * x[i]
    found = np.searchsorted(grid, x, side="right")
    return s + np.sum(found) * x[0] + np.searchsorted(np.sort(x), 0.8) * x[1]


@njit
def multiplies_all(x, d):
    rows = np.outer(x[:2], x[2:])
    of_vectors = np.sum(np.kron(x[:3], x[3:]) * np.kron(d[:2], x[1:4]))
    return of_vectors + np.sum(np.sin(np.kron(rows, x[:2]))) + np.sum(np.sin(np.kron(x[3:], rows)))


FUNCTIONS = [
    unpacks, ends_loops, converts, rounds, repeats, interpolates, orders, accumulates, crosses, searches,
    multiplies_all,
]  # fmt: skip
