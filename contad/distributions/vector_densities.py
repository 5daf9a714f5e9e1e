"""Log densities of vectors and matrices, of what was made ready: rows less the mean, Cholesky factors.

They are of n rows (n, k) or of one matrix, without checks; the names of SciPy's and Stan's call them.
"""

import math

import numpy as np

from contad.distributions.counts import log_rising_ratio
from contad.distributions.faces import Face
from contad.distributions.gamma_excesses import log_gamma_excess
from contad.ops.beta_functions import betaln
from contad.ops.entropies import xlogy
from contad.ops.exponential import exp, log, log1p
from contad.ops.gamma_functions import gammaln
from contad.ops.gamma_ratios import multigammaln
from contad.ops.linear_systems import transposed_of
from contad.ops.log_sums import logsumexp
from contad.ops.triangular_factors import cholesky_factor, solve_triangular

LOG_PI, LOG_TWO_PI = math.log(math.pi), math.log(2.0 * math.pi)

sum_of_log_gammas = Face(__name__, "sum_of_log_gammas", gammaln, "The sum of log Gamma(x).", reduce="sum")
sum_of_log_betas = Face(__name__, "sum_of_log_betas", betaln, "The sum of log B(a, b).", reduce="sum")


def log_diagonal(factor):
    """log of the product of the diagonal of a factor: half of log|L L^T|."""
    return np.sum(log(np.diagonal(factor)))


def squared_lengths(rows, factor):
    """|L^-1 x|^2 for each row x, O(n k^2)."""
    scaled = solve_triangular(factor, transposed_of(rows), lower=True, transposed=False)
    return np.sum(scaled * scaled, axis=0)


def normal_of_rows(rows, factor):
    """-|L^-1 x|^2 / 2 - log|L| - k / 2 log(2 pi)."""
    size = np.shape(factor)[0]
    return -0.5 * squared_lengths(rows, factor) - log_diagonal(factor) - 0.5 * size * LOG_TWO_PI


def student_of_rows(rows, factor, df):
    """Student's t: c - k / 2 log(df pi) - log|L| - (df + k) / 2 log(1 + |L^-1 x|^2 / df).

    c = log Gamma((df + k) / 2) - log Gamma(df / 2), a difference of large numbers, by the beta function of k / 2.
    """
    size = np.shape(factor)[0]
    growth = math.lgamma(0.5 * size) - betaln(0.5 * size, 0.5 * df)
    each = growth - 0.5 * size * log(df * math.pi) - log_diagonal(factor)
    return each - 0.5 * (df + size) * log1p(squared_lengths(rows, factor) / df)


def dirichlet_of_columns(x, alpha):
    """log Gamma(sum alpha) - sum log Gamma(alpha) + sum (alpha - 1) log x, x (k, ...).

    The large terms a log a - a of log Gamma(a) are written as a divergence: - sum alpha log(alpha / sum alpha).
    """
    weights = np.reshape(alpha, (-1,) + (1,) * (np.ndim(x) - 1))
    whole = np.sum(alpha)
    constant = log_gamma_excess(whole) - np.sum(log_gamma_excess(alpha) + xlogy(alpha, alpha / whole))
    return constant + np.sum(xlogy(weights - 1.0, x), axis=0)


def multinomial_of_rows(x, n, p):
    """log n! - sum log x! + sum x log p, over the last axis; x and n are constants."""
    return gammaln(n + 1.0) - np.sum(gammaln(x + 1.0), axis=-1) + np.sum(xlogy(x, p), axis=-1)


def dirichlet_multinomial_of_rows(x, n, alpha):
    """The multinomial mass averaged over the Dirichlet density of its probabilities, over the last axis."""
    return np.sum(log_rising_ratio(x, alpha), axis=-1) - log_rising_ratio(n, np.sum(alpha, axis=-1))


def wishart_of_matrix(factor, scale_factor, df):
    """(df - k - 1) / 2 log|X| - tr(S^-1 X) / 2 - df / 2 log|S| - df k / 2 log 2 - log Gamma_k(df / 2), X = L L^T."""
    ratio = solve_triangular(scale_factor, factor, lower=True, transposed=False)
    return wishart_of_ratio(ratio, log_diagonal(factor), log_diagonal(scale_factor), df, np.shape(factor)[0])


def inverse_wishart_of_matrix(factor, scale_factor, df):
    """-(df + k + 1) / 2 log|X| - tr(S X^-1) / 2 + df / 2 log|S| - df k / 2 log 2 - log Gamma_k(df / 2), X = L L^T."""
    ratio = solve_triangular(factor, scale_factor, lower=True, transposed=False)
    return inverse_wishart_of_ratio(ratio, log_diagonal(factor), log_diagonal(scale_factor), df, np.shape(factor)[0])


def wishart_of_ratio(ratio, logs, scale_logs, df, size):
    """The density of L L^T from M^-1 L, log|L| and log|M|, where M M^T is the scale; in compiled code, too."""
    return (df - size - 1.0) * logs - df * scale_logs - 0.5 * np.sum(ratio * ratio) - constant_of_wishart(df, size)


def inverse_wishart_of_ratio(ratio, logs, scale_logs, df, size):
    """The inverse density of L L^T from L^-1 M, log|L| and log|M|."""
    return df * scale_logs - (df + size + 1.0) * logs - 0.5 * np.sum(ratio * ratio) - constant_of_wishart(df, size)


def constant_of_wishart(df, size):
    """df k / 2 log 2 + log Gamma_k(df / 2)"""
    return 0.5 * math.log(2.0) * size * df + multigammaln(0.5 * df, float(size)) if size > 0 else 0.0


def log_constant_of_lkj(eta, size):
    """Minus the logarithm of what the LKJ densities are divided by.

    It is the sum over k of log Gamma(b + k / 2) - log Gamma(b) - k / 2 log(pi), with b = eta + (size - 1 - k) / 2.
    """
    halves = 0.5 * np.arange(1, size)
    growth = sum_of_log_gammas(halves) - sum_of_log_betas(halves, eta + (0.5 * (size - 1.0) - halves))
    return growth - 0.25 * size * (size - 1.0) * LOG_PI


def lkj_of_matrix(factor, eta):
    """(eta - 1) log|L L^T|, and the constant."""
    return 2.0 * (eta - 1.0) * log_diagonal(factor) + log_constant_of_lkj(eta, np.shape(factor)[0])


def categorical_of_rows(k, p):
    """log p_k for each k of the last axis of p."""
    return log(np.take_along_axis(p, k[..., None], axis=-1)[..., 0])


def matrix_normal_of_matrix(x, row_factor, column_factor):
    """-|L^-1 x M^-T|^2 / 2 - k log|L| - m log|M| - m k / 2 log(2 pi), of x (m, k) less its mean."""
    m, k = np.shape(x)
    half = solve_triangular(row_factor, x, lower=True, transposed=False)
    whole = solve_triangular(column_factor, transposed_of(half), lower=True, transposed=False)
    logs = k * log_diagonal(row_factor) + m * log_diagonal(column_factor)
    return -0.5 * np.sum(whole * whole) - logs - 0.5 * m * k * LOG_TWO_PI


# ---- kernel densities ------------------------------------------------------------------------------------------------
def kernel_log_densities(points, data, weights, factor):
    """log sum_i w_i N(x | y_i, L L^T) for the columns x of points (d, m) and y of data (d, n): O(d m n)."""
    x = solve_triangular(factor, points, lower=True, transposed=False)
    y = solve_triangular(factor, data, lower=True, transposed=False)
    squares = 0.0
    for k in range(np.shape(factor)[0]):
        difference = x[k][:, None] - y[k]
        squares = squares + difference * difference
    constant = log_diagonal(factor) + 0.5 * np.shape(factor)[0] * LOG_TWO_PI
    return logsumexp(log(weights) - 0.5 * squares, axis=1) - constant


def effective_size(weights):
    """(sum w)^2 / sum w^2, of weights that sum to 1."""
    return 1.0 / np.sum(weights * weights)


def kernel_factor(data, weights, scale):
    """The Cholesky factor of the covariance of weighted data (d, n), times scale."""
    mean = np.sum(data * weights, axis=1, keepdims=True)
    centred = data - mean
    covariance = np.matmul(centred * weights, transposed_of(centred)) / (1.0 - np.sum(weights * weights))
    return cholesky_factor(covariance) * scale


def bandwidth(size, dimensions, kind):
    """The factor of Scott or Silverman."""
    n = size if kind == "scott" else size * (dimensions + 2.0) / 4.0
    return exp(-log(n) / (dimensions + 4.0))
