"""Log densities of vectors and matrices from prepared arguments: rows minus the mean, Cholesky factors.

They do no checks; SciPy's and Stan's functions call them. Numba functions also call those that use numbers, sums and a
single vector or matrix.
"""

import math

import numpy as np

from contad.distributions.counts import log_rising_ratio
from contad.distributions.faces import Face
from contad.distributions.formula import unlisted_rule
from contad.distributions.ways_by_axes import in_expressions
from contad.ops import triangular_factors
from contad.ops._scipy import special
from contad.ops.bessel_functions import ive
from contad.ops.beta_functions import betaln, stirling_series
from contad.ops.entropies import xlogy
from contad.ops.exponential import exp, log
from contad.ops.gamma_functions import gammaln, polygamma
from contad.ops.gamma_ratios import multigammaln
from contad.ops.incomplete_gamma import log_less_digamma
from contad.ops.linear_systems import transposed_of
from contad.ops.log_sums import logsumexp
from contad.ops.triangular_factors import cholesky_factor
from contad.scipy.linalg import solve_triangular

LOG_PI, LOG_TWO_PI = math.log(math.pi), math.log(2.0 * math.pi)
LARGE = 10.0  # from which on Stirling's series has all digits


def _excess_of_arrays(a):
    a = np.asarray(a, dtype=np.float64)
    large = np.where(a >= LARGE, a, LARGE)
    with np.errstate(all="ignore"):
        near = special().gammaln(a) - a * np.log(a) + a
    far = 0.5 * np.log(2.0 * math.pi / large) + stirling_series(large)
    return np.where(a > 0.0, np.where(a >= LARGE, far, near), np.nan)


@unlisted_rule(points=[(2.3,), (0.04,), (40.0,)], array=_excess_of_arrays)
def log_gamma_excess(a):
    """log Gamma(a) - a log a + a: small where log Gamma and its terms are huge."""
    if not a > 0.0:
        return math.nan
    if a < LARGE:
        return math.lgamma(a) - a * math.log(a) + a
    return stirling_series(a) - 0.5 * math.log(a / (2.0 * math.pi))


@log_gamma_excess.partials
def log_gamma_excess_partials(z, a):
    return digamma_excess(a)


@unlisted_rule(points=[(2.3,), (0.04,), (40.0,)])
def digamma_excess(a):
    """psi(a) - log a."""
    return -log_less_digamma(a, a) if a > 0.0 else math.nan


@digamma_excess.partials
def digamma_excess_partials(z, a):
    return polygamma(1.0, a) - 1.0 / a


sum_of_logs = Face(__name__, "sum_of_logs", log, "The sum of log x.", reduce="sum")
sum_of_log_gammas = Face(__name__, "sum_of_log_gammas", gammaln, "The sum of log Gamma(x).", reduce="sum")
sum_of_log_betas = Face(__name__, "sum_of_log_betas", betaln, "The sum of log B(a, b).", reduce="sum")
sum_of_products = Face(__name__, "sum_of_products", xlogy, "The sum of x log y, 0 where x is.", reduce="sum")
sum_of_excesses = Face(
    __name__, "sum_of_excesses", log_gamma_excess, "The sum of log Gamma(x) - x log x + x.", reduce="sum"
)


@in_expressions(
    {"nn n/nk": "solve_triangular(a, b, lower=True, check_finite=False)"}, solve_triangular=solve_triangular
)
def solve_lower(a, b):
    """a^-1 b of a lower triangular matrix."""
    return triangular_factors.solve_triangular(a, b, lower=True, transposed=False)


def log_diagonal(factor):
    """log of the product of a factor's diagonal, half of log|L L^T|."""
    return sum_of_logs(np.diag(factor))


def squared_lengths(rows, factor):
    """|L^-1 x|^2 for each row x, O(n k^2)."""
    scaled = solve_lower(factor, rows.T)
    return np.sum(scaled * scaled, axis=0)


def normal_of_squares(squares, logs, size, count=1.0, propto=False):
    """-|L^-1 x|^2 / 2 - log|L| - k / 2 log(2 pi), from the squares and log|L|; or the sum over `count` vectors x."""
    constant = 0.0 if propto else 0.5 * count * size * LOG_TWO_PI
    return -0.5 * squares - count * logs - constant


def student_of_logs(terms, logs, df, size, count=1.0, propto=False):
    """c - k / 2 log(df) - k / 2 log(pi) - log|L| - (df + k) / 2 log(1 + |L^-1 x|^2 / df); or the sum over so many x.

    It takes log(1 + |L^-1 x|^2 / df), or their sum, and log|L|. c = log Gamma((df + k) / 2) - log Gamma(df / 2), a
    difference of large numbers, is computed by the beta function at k / 2.
    """
    constant = 0.0 if propto else 0.5 * size * LOG_PI
    growth = gammaln(0.5 * size) - betaln(0.5 * size, 0.5 * df) - 0.5 * size * log(df)
    return count * (growth - logs - constant) - 0.5 * (df + size) * terms


def constant_of_dirichlet(alpha):
    """log Gamma(sum alpha) - sum log Gamma(alpha).

    The large terms a log a - a of log Gamma(a) are written as a divergence: - sum alpha log(alpha / sum alpha).
    """
    whole = np.sum(alpha)
    return log_gamma_excess(whole) - sum_of_excesses(alpha) - sum_of_products(alpha, alpha / whole)


def dirichlet_of_columns(x, alpha):
    """log Gamma(sum alpha) - sum log Gamma(alpha) + sum (alpha - 1) log x, x (k, ...)."""
    weights = np.reshape(alpha, (-1,) + (1,) * (np.ndim(x) - 1))
    return constant_of_dirichlet(alpha) + np.sum(xlogy(weights - 1.0, x), axis=0)


def multinomial_of_rows(x, n, p):
    """log n! - sum log x! + sum x log p, over the last axis; x and n are constants."""
    return gammaln(n + 1.0) - np.sum(gammaln(x + 1.0), axis=-1) + np.sum(xlogy(x, p), axis=-1)


def dirichlet_multinomial_of_rows(x, n, alpha):
    """The multinomial mass averaged over the Dirichlet density of its probabilities, over the last axis."""
    return np.sum(log_rising_ratio(x, alpha), axis=-1) - log_rising_ratio(n, np.sum(alpha, axis=-1))


def wishart_of_factors(factor, scale, df):
    """(df - k - 1) / 2 log|X| - tr(S^-1 X) / 2 - df / 2 log|S| - df k / 2 log 2 - log Gamma_k(df / 2).

    X = L L^T is given by its factor, and S by that of the scale.
    """
    ratio, size = solve_lower(scale, factor), float(factor.shape[0])
    logs = (df - size - 1.0) * log_diagonal(factor) - df * log_diagonal(scale)
    return logs - 0.5 * np.sum(ratio * ratio) - constant_of_wishart(df, size)


def inverse_wishart_of_factors(factor, scale, df):
    """-(df + k + 1) / 2 log|X| - tr(S X^-1) / 2 + df / 2 log|S| - df k / 2 log 2 - log Gamma_k(df / 2).

    X and S are given by their Cholesky factors.
    """
    ratio, size = solve_lower(factor, scale), float(factor.shape[0])
    logs = df * log_diagonal(scale) - (df + size + 1.0) * log_diagonal(factor)
    return logs - 0.5 * np.sum(ratio * ratio) - constant_of_wishart(df, size)


def constant_of_wishart(df, size):
    """df k / 2 log 2 + log Gamma_k(df / 2)"""
    return 0.5 * math.log(2.0) * size * df + multigammaln(0.5 * df, float(size)) if size > 0 else 0.0


def log_constant_of_lkj(eta, size):
    """Minus the logarithm of the normalising constant of the LKJ densities.

    It is the sum over k of log Gamma(b + k / 2) - log Gamma(b) - k / 2 log(pi), with b = eta + (size - 1 - k) / 2.
    """
    halves = 0.5 * np.arange(1, size)
    growth = sum_of_log_gammas(halves) - sum_of_log_betas(halves, eta + (0.5 * (size - 1.0) - halves))
    return growth - 0.25 * size * (size - 1.0) * LOG_PI


def lkj_of_determinant(logs, eta, size):
    """(eta - 1) log|X| plus the constant, from log|X|."""
    return (eta - 1.0) * logs + log_constant_of_lkj(eta, size)


def categorical_of_rows(k, p):
    """log p_k for each k of the last axis of p."""
    return log(np.take_along_axis(p, k[..., None], axis=-1)[..., 0])


def matrix_normal_of_matrix(x, row_factor, column_factor):
    """-|L^-1 x M^-T|^2 / 2 - k log|L| - m log|M| - m k / 2 log(2 pi), with x (m, k) minus its mean."""
    m, k = np.shape(x)
    whole = solve_lower(column_factor, transposed_of(solve_lower(row_factor, x)))
    logs = k * log_diagonal(row_factor) + m * log_diagonal(column_factor)
    return normal_of_squares(np.sum(whole * whole), logs, m * k)


def matrix_t_of_matrix(x, row_factor, column_factor, df):
    """The log density of a matrix t, with x (m, k) minus its mean."""
    m, k = np.shape(x)
    whole = solve_lower(column_factor, transposed_of(solve_lower(row_factor, x)))
    logs = k * log_diagonal(row_factor) + m * log_diagonal(column_factor)
    half = 0.5 * (df + k - 1.0)
    grown = 2.0 * log_diagonal(cholesky_factor(np.eye(k) + np.matmul(whole, transposed_of(whole))))
    constant = multigammaln(half + 0.5 * m, k) - multigammaln(half, k) - 0.5 * m * k * LOG_PI
    return constant - logs - (half + 0.5 * m) * grown


def fisher_of_cosines(cosines, kappa, size):
    """kappa (c - 1) + (d / 2 - 1) log kappa - d / 2 log(2 pi) - log(e^-kappa I_(d / 2 - 1)(kappa))."""
    half = 0.5 * size
    return kappa * (cosines - 1.0) + (half - 1.0) * log(kappa) - half * LOG_TWO_PI - log(ive(half - 1.0, kappa))


# ---- kernel densities ------------------------------------------------------------------------------------------------
def kernel_log_densities(points, data, weights, factor):
    """log sum_i w_i N(x | y_i, L L^T) for the columns x of points (d, m) and y of data (d, n): O(d m n)."""
    x, y = solve_lower(factor, points), solve_lower(factor, data)
    squares = 0.0
    for k in range(np.shape(factor)[0]):
        difference = x[k][:, None] - y[k]
        squares = squares + difference * difference
    constant = log_diagonal(factor) + 0.5 * np.shape(factor)[0] * LOG_TWO_PI
    return logsumexp(log(weights) - 0.5 * squares, axis=1) - constant


def effective_size(weights):
    """(sum w)^2 / sum w^2 for weights that sum to 1."""
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
