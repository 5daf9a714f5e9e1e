"""Piecewise polynomials through points: the slopes that kinds of cubic interpolation choose, coefficients, values.

The functions take n increasing points x (n,) and values y (n, ...) there; both may be variables. Cost: O(n).
"""

import math

import numpy as np

from contad.ops.banded_systems import banded_solution
from contad.ops.cotangents import plain
from contad.ops.products import as_array
from contad.variables.number import observe


def as_column(h, y):
    """A vector reshaped to multiply the rows of y."""
    return np.reshape(h, (-1,) + (1,) * (np.ndim(y) - 1))


def divided_differences(x, y):
    """The slopes of the lines between neighbouring points."""
    return (y[1:] - y[:-1]) / as_column(x[1:] - x[:-1], y)


def hermite_coefficients(x, y, slopes):
    """The coefficients of the cubics with these values and slopes at the points: (4, n - 1, ...), the highest first."""
    h = as_column(x[1:] - x[:-1], y)
    line = (y[1:] - y[:-1]) / h
    t = (slopes[:-1] + slopes[1:] - 2.0 * line) / h
    return np.stack([t / h, (line - slopes[:-1]) / h - t, slopes[:-1], y[:-1]])


# ---- slopes ----------------------------------------------------------------------------------------------------------
def spline_slopes(x, y, start, end):
    """The slopes of the cubic spline, by de Boor, A Practical Guide to Splines, chapter IV.

    `start` and `end` are "not-a-knot", "periodic", or (order, value) of the derivative there.
    """
    n = np.shape(x)[0]
    line = divided_differences(x, y)
    if n == 2:
        start, end = ((1, line[0]) if isinstance(one, str) else one for one in (start, end))
    if n == 3 and start == "periodic":
        h = as_column(x[1:] - x[:-1], y)
        same = np.sum(line / h, axis=0) / np.sum(1.0 / h, axis=0)
        return np.stack([same, same, same])
    if n == 3 and isinstance(start, str) and isinstance(end, str):
        return _parabola_slopes(x, line)
    h = x[1:] - x[:-1]
    w = as_column(h, y)
    inner = 3.0 * (w[1:] * line[:-1] + w[:-1] * line[1:])
    if start == "periodic":
        return _periodic_slopes(h, w, line, inner)
    diagonal, above, below = 2.0 * (h[:-1] + h[1:]), h[:-1], h[1:]
    first, last = _end_row(x, y, h, w, line, start, 1), _end_row(x, y, h, w, line, end, -1)
    ab = np.stack(
        [
            np.concatenate([np.zeros(1), _one(first[1]), above]),
            np.concatenate([_one(first[0]), diagonal, _one(last[0])]),
            np.concatenate([below, _one(last[1]), np.zeros(1)]),
        ]
    )
    b = np.concatenate([first[2][None], inner, last[2][None]], axis=0)
    return solve_columns(ab, b, 1, 1)


def _one(x):
    return np.reshape(as_array(x), (1,))


def _end_row(x, y, h, w, line, condition, side):
    """The row of the system at one end: diagonal, its neighbour, and the right-hand side."""
    k, m = (0, 1) if side == 1 else (-1, -2)
    if condition == "not-a-knot":
        d = side * (x[2 * side if side == 1 else -3] - x[k])
        rhs = ((w[k] + 2.0 * d) * w[m] * line[k] + w[k] * w[k] * line[m]) / d
        return h[m], d, rhs
    order, value = condition
    value = value + np.zeros(np.shape(y)[1:])
    if order == 1:
        return 1.0, 0.0, value
    return 2.0 * h[k], h[k], 3.0 * side * (y[m] - y[k]) - side * 0.5 * value * w[k] * w[k]


def _parabola_slopes(x, line):
    """The slopes of the parabola through three points."""
    h = x[1:] - x[:-1]
    bend = (line[1] - line[0]) / (h[0] + h[1])
    return np.stack([line[0] - bend * h[0], line[0] + bend * h[0], line[1] + bend * h[1]])


def _periodic_slopes(h, w, line, inner):
    """The slopes of the periodic spline: a tridiagonal system for all unknowns but the last, and then the last."""
    b = np.concatenate([(3.0 * (w[0] * line[-1] + w[-1] * line[0]))[None], inner], axis=0)
    diagonal = 2.0 * np.concatenate([_one(h[-1] + h[0]), h[:-1] + h[1:]])
    n = np.shape(diagonal)[0]
    above = np.concatenate([_one(h[-1]), h[: n - 2]])  # of rows 0, 1, ...
    below = h[1:]  # of rows 1, 2, ...
    ab = np.stack(
        [
            np.concatenate([np.zeros(1), above[: n - 2]]),
            diagonal[: n - 1],
            np.concatenate([below[: n - 2], np.zeros(1)]),
        ]
    )
    ends = np.concatenate([_one(-h[0]), np.zeros(n - 3), _one(-h[-3])])
    free, by_last = solve_columns(ab, b[:-1], 1, 1), solve_columns(ab, ends, 1, 1)
    last = (b[-1] - h[-2] * free[0] - h[-1] * free[-1]) / (
        2.0 * (h[-1] + h[-2]) + h[-2] * by_last[0] + h[-1] * by_last[-1]
    )
    found = free + as_column(by_last, free) * last
    return np.concatenate([found, last[None], found[:1]], axis=0)


def solve_columns(ab, b, lower, upper):
    """The solution of a banded system for b (n, ...)."""
    columns = np.reshape(b, (np.shape(b)[0], -1))
    return np.reshape(banded_solution(ab, columns, lower=lower, upper=upper), np.shape(b))


def monotone_slopes(x, y):
    """The slopes of Fritsch and Butland (1984), between which the cubics are monotone where the points are."""
    line = divided_differences(x, y)
    if np.shape(x)[0] == 2:
        return np.concatenate([line, line], axis=0)
    h = as_column(x[1:] - x[:-1], y)
    signs = observe(np.sign, line)
    flat = (signs[1:] != signs[:-1]) | (signs[1:] == 0.0) | (signs[:-1] == 0.0)
    u, v = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    before, after = np.where(flat, 1.0, line[:-1]), np.where(flat, 1.0, line[1:])
    inner = np.where(flat, 0.0, 1.0 / ((u / before + v / after) / (u + v)))
    first = _end_slope(h[0], h[1], line[0], line[1])
    last = _end_slope(h[-1], h[-2], line[-1], line[-2])
    return np.concatenate([first[None], inner, last[None]], axis=0)


def _end_slope(h, after, line, next_line):
    """The slope at an end by the parabola through three points, limited so that the cubic is monotone."""
    d = ((2.0 * h + after) * line - h * next_line) / (h + after)
    here, there = observe(np.sign, line), observe(np.sign, next_line)
    turned = observe(np.sign, d) != here
    steep = (here != there) & (np.abs(observe(np.asarray, d)) > 3.0 * np.abs(observe(np.asarray, line)))
    return np.where(turned, 0.0, np.where(steep, 3.0 * line, d))


def akima_slopes(x, y, modified):
    """The slopes of Akima (1970), weighted by changes of slope, or of the modified rule, which overshoots less."""
    line = divided_differences(x, y)
    if np.shape(x)[0] == 2:
        return np.concatenate([line, line], axis=0)
    before = 2.0 * line[0] - line[1]
    after = 2.0 * line[-1] - line[-2]
    ends = [(2.0 * before - line[0])[None], before[None]], [after[None], (2.0 * after - line[-1])[None]]
    m = np.concatenate([*ends[0], line, *ends[1]], axis=0)
    turn = np.abs(m[1:] - m[:-1])
    if modified:
        turn = turn + 0.5 * np.abs(m[1:] + m[:-1])
    ahead, behind = turn[2:], turn[:-2]
    total = ahead + behind
    size = observe(np.asarray, total)
    weighted = size > 1e-9 * np.max(size, initial=-math.inf)
    share = behind / np.where(weighted, total, 1.0)
    return np.where(weighted, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


# ---- values ----------------------------------------------------------------------------------------------------------
def find_pieces(x, at):
    """For each place the piece that begins at or before it; for places outside, the first or last piece."""
    table = np.asarray(plain(x))
    return np.clip(np.searchsorted(table, np.asarray(plain(at)), side="right") - 1, 0, len(table) - 2)


def wrap_period(x, at):
    """Places shifted by whole periods into the interval of x."""
    period = x[-1] - x[0]
    return at - np.floor(observe(np.asarray, (at - x[0]) / period)) * period


def polynomial_values(c, x, at, order=0):
    """The values of the pieces with coefficients c (k, n - 1, ...) at places of any shape, or their derivatives."""
    j = find_pieces(x, at)
    t = at - x[j]
    t = np.reshape(t, np.shape(t) + (1,) * (np.ndim(c) - 2))
    degree = np.shape(c)[0] - 1
    if order > degree:
        return np.zeros(np.shape(j) + np.shape(c)[2:]) + 0.0 * t
    total = None
    for k in range(degree - order + 1):
        term = c[k][j] * float(math.perm(degree - k, order))
        total = term if total is None else total * t + term
    return total if degree > order else total + 0.0 * t


def derivative_coefficients(c, order):
    """The coefficients of a derivative of the pieces."""
    degree = np.shape(c)[0] - 1
    if order > degree:
        return np.zeros((1, *np.shape(c)[1:]))
    return np.stack([c[k] * float(math.perm(degree - k, order)) for k in range(degree - order + 1)])


def integral_coefficients(c, x):
    """The coefficients of the integral of the pieces that is 0 at the first point, and continuous."""
    k = np.shape(c)[0]
    powers = np.reshape(np.arange(k, 0.0, -1.0), (-1,) + (1,) * (np.ndim(c) - 1))
    raised = c / powers
    h = np.reshape(x[1:] - x[:-1], (-1,) + (1,) * (np.ndim(c) - 2))
    whole = raised[0] * h
    for n in range(1, k):
        whole = (whole + raised[n]) * h
    start = np.concatenate([np.zeros((1, *np.shape(c)[2:])), np.cumsum(whole, axis=0)[:-1]], axis=0)
    return np.concatenate([raised, start[None]], axis=0)
