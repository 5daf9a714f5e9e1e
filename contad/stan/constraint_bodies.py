"""Constraining transforms from and to vectors, and their log-Jacobians.

Functions that Python also runs are written with arrays. The rest are loops for compiled code, where an array for each
step of a short vector would double the time; `contad.stan.transforms` has the same formulas on arrays.
"""

import math

import numpy as np

from contad.distributions.ways_by_axes import in_expressions
from contad.ops.exponential import exp, log
from contad.ops.log_sums import logsumexp
from contad.ops.logistic import log_expit
from contad.stan.bodies import log_of_each
from contad.variables import creation


@in_expressions({"1234 0": "np.zeros(m)", "1234 0 0": "np.zeros((m, n))", "1234 0 0 0": "np.zeros((m, n, k))"})
def zeros(like, m, n=None, k=None):
    """Zeros to which elements of an array, possibly variables, can be assigned."""
    return creation.zeros(m if n is None else (m, n) if k is None else (m, n, k))


@in_expressions({"0": "np.full(1, x)", "1": "x", "234": "x.ravel()"})
def in_a_row(x):
    """The elements of an array as a vector."""
    return np.reshape(x, (-1,))


# ---- numbers and arrays ----------------------------------------------------------------------------------------------
@in_expressions({"0": "x", "1234": "np.sum(x)"})
def total(x):
    """The sum of an array, or the number itself."""
    return np.sum(x) if np.ndim(x) else x


@in_expressions({"0": "1.0", "1234": "1.0 * x.size"})
def count(x):
    """The number of elements."""
    return 1.0 * np.size(x)


@in_expressions({"0 0": "x >= y", "01234 01234": "np.all(x >= y)"})
def is_at_least(x, y):
    """Whether x >= y, element by element."""
    found = x >= y
    return found if found.__class__ is bool else bool(np.all(found))


@in_expressions({"0 0": "x < y", "01234 01234": "np.all(x < y) and np.all(y - x < np.inf)"})
def is_less(x, y):
    """Whether x < y, element by element; differences of arrays must be finite, too."""
    return bool(np.all(x < y)) and (np.ndim(y - x) == 0 or bool(np.all(y - x < np.inf)))


@in_expressions({
    "0 0 0": "u if bound == -np.inf else y", "1234 0 1234": "1.0 * u if bound == -np.inf else y",
    "1234 1234 1234": "np.where(bound == -np.inf, u, y)",
})  # fmt: skip
def where_free(u, bound, y):
    """u where the bound is -inf, that is, where there is no bound, and y elsewhere."""
    return np.where(bound == -np.inf, u, y) if np.ndim(bound) else (1.0 * u if bound == -np.inf else y)


@in_expressions({
    "0 0": "0.0 if bound == -np.inf else u", "1234 0": "0.0 if bound == -np.inf else np.sum(u)",
    "1234 1234": "np.sum(np.where(bound == -np.inf, 0.0, u))",
})  # fmt: skip
def sum_bounded(u, bound):
    """The sum of the elements that have a bound."""
    return total(np.where(bound == -np.inf, 0.0, u)) if np.ndim(bound) else (0.0 if bound == -np.inf else total(u))


def above(u, lower):
    """lower + e^u, and the log-Jacobian."""
    return where_free(u, lower, lower + exp(u)), sum_bounded(u, lower)


def free_above(y, lower):
    """The inverse of `above`."""
    return where_free(y, lower, log(y - lower))


def below(u, upper):
    """upper - e^u, and the log-Jacobian."""
    return where_free(u, -upper, upper - exp(u)), sum_bounded(u, -upper)


def free_below(y, upper):
    """The inverse of `below`."""
    return where_free(y, -upper, log(upper - y))


def between(u, lower, upper):
    """lower + (upper - lower) expit(u), and the log-Jacobian of each element, for finite bounds."""
    logs, width = log_expit(u), upper - lower
    return lower + width * exp(logs), logs + log_expit(-u) + log(width)


def sum_logs(made):
    """A value, and the sum of the log-Jacobians of its elements."""
    y, logs = made
    return y, np.sum(logs)


def between_numbers(u, lower, upper):
    """Likewise; one bound or both may be infinite."""
    if lower == -np.inf:
        return below(u, upper)
    if upper == np.inf:
        return above(u, lower)
    y, logs = between(u, lower, upper)
    return y, total(logs)


def free_between(y, lower, upper):
    """The inverse of `between`."""
    return log(y - lower) - log(upper - y)


def free_between_numbers(y, lower, upper):
    """The inverse of `between_numbers`."""
    if lower == -np.inf:
        return free_below(y, upper)
    if upper == np.inf:
        return free_above(y, lower)
    return free_between(y, lower, upper)


def scale(u, offset, multiplier):
    """offset + multiplier u, and the log-Jacobian; each element of a multiplier may be that of several."""
    return offset + multiplier * u, total(log(multiplier)) * (count(u) / max(count(multiplier), 1))


# ---- vectors ---------------------------------------------------------------------------------------------------------
def ordered_of(u):
    """y_1 = u_1, y_i = y_(i-1) + e^u_i."""
    y = np.zeros(len(u))
    for k in range(len(u)):
        y[k] = u[0] if k == 0 else y[k - 1] + math.exp(u[k])
    return y


def unordered_of(y):
    """The inverse of `ordered_of`."""
    return np.concatenate((y[:1], log_of_each(y[1:] - y[:-1])))


def positive_ordered_of(u):
    """y_1 = e^u_1, y_i = y_(i-1) + e^u_i."""
    y = np.zeros(len(u))
    total = 0.0
    for k in range(len(u)):
        total = total + math.exp(u[k])
        y[k] = total
    return y


def positive_unordered_of(y):
    """The inverse of `positive_ordered_of`."""
    return log_of_each(np.concatenate((y[:1], y[1:] - y[:-1])))


def simplex_of(u):
    """The softmax of a vector that sums to 0, and the log-Jacobian."""
    z = zero_sum_of(u)
    logs = z - logsumexp(z)
    return np.exp(logs), np.sum(logs) + 0.5 * math.log(1.0 * len(z))


def free_of_simplex(y):
    """The inverse of `simplex_of`."""
    return free_of_zero_sum(log_of_each(y))


def stochastic_of(u):
    """A matrix whose columns are simplices, of the columns of u, and the log-Jacobian."""
    y = np.zeros((u.shape[0] + 1, u.shape[1]))
    logs = 0.0
    for j in range(u.shape[1]):
        y[:, j], added = simplex_of(u[:, j])
        logs = logs + added
    return y, logs


def free_of_stochastic(y):
    """The inverse of `stochastic_of`."""
    u = zeros(y, y.shape[0] - 1, y.shape[1])
    for j in range(y.shape[1]):
        u[:, j] = free_of_simplex(y[:, j])
    return u


def broken_sticks_of(u):
    """Shares expit(u_i - log(k - i)) of the remaining part of 1, and the log-Jacobian.

    The rest after a share is a factor of all later shares, so its logarithm counts for each of them, too.
    """
    size = len(u)
    y = np.zeros(size + 1)
    left = 0.0
    logs = 0.0
    for k in range(size):
        shifted = u[k] - math.log(float(size - k))
        taken = log_expit(shifted)
        y[k] = math.exp(taken + left)
        kept = log_expit(-shifted)
        left = left + kept
        logs = logs + taken + (size - k) * kept
    y[size] = math.exp(left)
    return y, logs


def sticks_of(y):
    """The inverse of `broken_sticks_of`."""
    left = np.cumsum(y[::-1])[::-1]
    return log_of_each(y[:-1]) - log_of_each(left[1:]) + np.log(np.arange(y.shape[0] - 1, 0, -1.0))


def as_rows(made):
    """A matrix of columns and a number, as a matrix of rows and the number."""
    y, logs = made
    return y.T, logs


def broken_columns_of(u):
    """`stochastic_of` by broken sticks."""
    y = np.zeros((u.shape[0] + 1, u.shape[1]))
    logs = 0.0
    for j in range(u.shape[1]):
        y[:, j], added = broken_sticks_of(u[:, j])
        logs = logs + added
    return y, logs


def sticks_of_columns(y):
    """The inverse of `broken_columns_of`."""
    u = zeros(y, y.shape[0] - 1, y.shape[1])
    for j in range(y.shape[1]):
        u[:, j] = sticks_of(y[:, j])
    return u


def zero_sum_of(u):
    """The orthonormal combination of vectors that sum to 0."""
    count = len(u) + 1
    y = np.zeros(count)
    after = 0.0
    for i in range(count):
        j = count - 1 - i  # element j has -j s_j, and s of all later ones
        if j > 0:
            scaled = u[j - 1] / math.sqrt(j * (j + 1.0))
            y[j] = after - j * scaled
            after = after + scaled
        else:
            y[j] = after
    return y


def free_of_zero_sum(y):
    """The inverse of `zero_sum_of`."""
    places = np.arange(1.0, y.shape[0])
    return (np.cumsum(y)[:-1] - places * y[1:]) / np.sqrt(places * (places + 1.0))


def zero_sums_of(u):
    """A matrix whose rows and columns sum to 0, of one with a row and a column less; element 0 of the basis is last."""
    m, n = u.shape[0] + 1, u.shape[1] + 1
    rows, y = np.zeros((m, n - 1)), np.zeros((m, n))
    for j in range(n - 1):
        column = zero_sum_of(u[:, j])
        rows[:, j] = np.concatenate((column[1:], column[:1]))
    for i in range(m):
        row = zero_sum_of(rows[i])
        y[i] = np.concatenate((row[1:], row[:1]))
    return y


def free_of_zero_sums(y):
    """The inverse of `zero_sums_of`."""
    m, n = y.shape
    rows, u = zeros(y, m, n - 1), zeros(y, m - 1, n - 1)
    for i in range(m):
        rows[i] = free_of_zero_sum(np.concatenate((y[i, -1:], y[i, :-1])))
    for j in range(n - 1):
        u[:, j] = free_of_zero_sum(np.concatenate((rows[-1:, j], rows[:-1, j])))
    return u


# ---- matrices --------------------------------------------------------------------------------------------------------
def place_of(i, j, k, by_columns):
    """The index of the partial correlation of row i and column j in the vector of a k x k matrix."""
    return j * (k - 1) - j * (j - 1) // 2 + i - j - 1 if by_columns else i * (i - 1) // 2 + j


def log_squared_sech(u):
    """log(1 - tanh(u)^2)."""
    return 2.0 * math.log(2.0) + log_expit(2.0 * u) + log_expit(-2.0 * u)


def correlation_factor_of(u, k, by_columns):
    """The factor whose rows have the partial correlations tanh(u)."""
    y = np.zeros((k, k))
    for i in range(k):
        left = 0.0
        for j in range(i):
            x = u[place_of(i, j, k, by_columns)]
            y[i, j] = math.tanh(x) * math.exp(0.5 * left)
            left = left + log_squared_sech(x)
        y[i, i] = math.exp(0.5 * left)
    return y


def correlations_of(u, k):
    """L L^T of the factor, by columns."""
    factor = correlation_factor_of(u, k, True)
    return factor @ factor.T


def weight_of(i, j, k, by_columns):
    """The factor of log(1 - tanh(u)^2) in the log-Jacobian of the matrix (by columns) or of its factor (by rows)."""
    return 1.0 + 0.5 * (k - j - 2 if by_columns else i - j - 1)


def log_jacobian_of_correlations(u, k, by_columns):
    """The sum of the weighted logarithms of 1 - tanh(u)^2."""
    total = 0.0
    for i in range(k):
        for j in range(i):
            logs = log_squared_sech(u[place_of(i, j, k, by_columns)])
            total = total + weight_of(i, j, k, by_columns) * logs
    return total


def partial_correlations_of(factor, by_columns):
    """The inverse of `correlation_factor_of`."""
    k = factor.shape[0]
    u = zeros(factor, k * (k - 1) // 2)
    for i in range(1, k):
        row = factor[i, : i + 1]
        left = np.cumsum((row * row)[::-1])[::-1]
        found = np.arctanh(row[:-1] / np.sqrt(left[:-1]))
        for j in range(i):
            u[place_of(i, j, k, by_columns)] = found[j]
    return u


def factor_of(u, m, n):
    """A lower triangular matrix by rows, with exponentials on the diagonal."""
    y = zeros(u, m, n)
    start = 0
    for i in range(m):
        width = min(i, n)
        y[i, :width] = u[start : start + width]
        start += width
        if i < n:
            y[i, i] = exp(u[start])
            start += 1
    return y


def log_jacobian_of_factor(u, m, n):
    """The sum of the logarithms of the diagonal."""
    total = 0.0
    start = 0
    for i in range(n):
        total = total + u[start + i]
        start += i + 1
    return total


def covariance_of(u, k):
    """L L^T of the factor."""
    factor = factor_of(u, k, k)
    return factor @ factor.T


def log_jacobian_of_covariance(u, k):
    """k log 2 + sum_i (k - i + 2) u_i, for the diagonal elements."""
    total = k * math.log(2.0)
    start = 0
    for i in range(k):
        total = total + (k + 1.0 - i) * u[start + i]
        start += i + 1
    return total


def free_of_factor(y):
    """The inverse of `factor_of`."""
    m, n = y.shape
    u = zeros(y, n * (n + 1) // 2 + (m - n) * n)
    start = 0
    for i in range(m):
        width = min(i, n)
        u[start : start + width] = y[i, :width]
        start += width
        if i < n:
            u[start] = log(y[i, i])
            start += 1
    return u
