"""Constraining transforms from and to vectors, and their log-Jacobians.

Functions that Python also runs are written with arrays. The rest are loops for compiled code, where an array for each
step of a short vector would double the time; `contad.stan.transforms` has the same formulas on arrays.
"""

import math

import numpy as np

from contad.distributions.ways_by_axes import in_expressions
from contad.ops.exponential import exp, log
from contad.ops.logistic import log_expit
from contad.stan.bodies import log_of_each
from contad.variables import creation


@in_expressions({"12 0": "np.zeros(m)", "12 0 0": "np.zeros((m, n))"})
def zeros(like, m, n=None):
    """Zeros to which elements of an array, possibly variables, can be assigned."""
    return creation.zeros(m if n is None else (m, n))


# ---- vectors ---------------------------------------------------------------------------------------------------------
def bounded_of(u, lower, width):
    """lower + width expit(u)."""
    y = np.zeros(len(u))
    for k in range(len(u)):
        y[k] = lower + width * math.exp(log_expit(u[k]))
    return y


def log_jacobian_of_bounded(u, width):
    """The sum of log width + log expit(u) + log expit(-u)."""
    total = len(u) * math.log(width)
    for k in range(len(u)):
        total += log_expit(u[k]) + log_expit(-u[k])
    return total


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
    """Shares expit(u_i - log(k - i)) of the remaining part of 1."""
    count = len(u)
    y = np.zeros(count + 1)
    left = 0.0
    for k in range(count):
        shifted = u[k] - math.log(float(count - k))
        y[k] = math.exp(log_expit(shifted) + left)
        left = left + log_expit(-shifted)
    y[count] = math.exp(left)
    return y


def sticks_of(y):
    """The inverse of `simplex_of`."""
    left = np.cumsum(y[::-1])[::-1]
    return log_of_each(y[:-1]) - log_of_each(left[1:]) + np.log(np.arange(y.shape[0] - 1, 0, -1.0))


def columns_of(u, m, n):
    """m x n numbers whose columns are simplices."""
    y = np.zeros((m, n))
    for j in range(n):
        y[:, j] = simplex_of(u[j * (m - 1) : (j + 1) * (m - 1)])
    return y


def log_jacobian_of_simplices(u, size):
    """The sum over simplices of this size: of the logarithms of the shares, of the complements, and of the rests
    before.

    The rest after a share is a factor of all later shares, so its logarithm counts for each of them, too.
    """
    counts = size - 1.0 - np.arange(len(u)) % (size - 1)
    shifted = u - np.log(counts)
    return np.sum(log_expit(shifted) + counts * log_expit(-shifted))


def sticks_of_columns(y):
    """The inverse of `columns_of`."""
    m, n = y.shape
    u = zeros(y, (m - 1) * n)
    for j in range(n):
        u[j * (m - 1) : (j + 1) * (m - 1)] = sticks_of(y[:, j])
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


def zero_sums_of(u, m, n):
    """m x n numbers whose rows and columns sum to 0, by columns."""
    rows, y = np.zeros((m, n - 1)), np.zeros((m, n))
    for j in range(n - 1):
        rows[:, j] = zero_sum_of(u[j * (m - 1) : (j + 1) * (m - 1)])
    for i in range(m):
        y[i] = zero_sum_of(rows[i])
    return y


def free_of_zero_sums(y):
    """The inverse of `zero_sums_of`."""
    m, n = y.shape
    rows, u = zeros(y, m, n - 1), zeros(y, (m - 1) * (n - 1))
    for i in range(m):
        rows[i] = free_of_zero_sum(y[i])
    for j in range(n - 1):
        u[j * (m - 1) : (j + 1) * (m - 1)] = free_of_zero_sum(rows[:, j])
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
