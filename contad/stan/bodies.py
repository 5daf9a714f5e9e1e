"""Building blocks of densities of vectors, which Python runs on arrays of variables, and Numba compiles.

They use only what all engines support: NumPy, scalar rules, and densities of one formula.
"""

import math

import numpy as np
from numpy.linalg import cholesky

from contad.distributions.counts import log_rising_ratio
from contad.distributions.faces import Face, compose
from contad.distributions.intervals import log_normal_interval
from contad.distributions.ways_by_axes import in_expressions
from contad.ops import positive_definite
from contad.ops.covariances import ROOT3, ROOT5
from contad.ops.elementary import sqrt
from contad.ops.error_functions import log_ndtr
from contad.ops.exponential import exp, log, log1p
from contad.ops.gamma_functions import gammaln
from contad.ops.log_sums import logsumexp
from contad.ops.logic import select, stop_gradient
from contad.ops.logistic import log1m_exp, log_expit, log_mix
from contad.ops.trigonometric import sin
from contad.scipy.linalg import solve_triangular
from contad.scipy.vector_densities import (
    LOG_TWO_PI,
    constant_of_dirichlet,
    lkj_of_determinant,
    log_constant_of_lkj,
    log_diagonal,
    normal_of_squares,
    solve_lower,
    squared_lengths,
    student_of_logs,
    sum_of_log_gammas,
    sum_of_logs,
    sum_of_products,
)

sum_of_rising_ratios = Face(
    __name__, "sum_of_rising_ratios", log_rising_ratio, "The sum of log Gamma(n + a) / (Gamma(a) n!).", reduce="sum"
)
log_of_each = Face(__name__, "log_of_each", log, "log x of each element.")
sum_of_log1p = Face(__name__, "sum_of_log1p", log1p, "The sum of log(1 + x).", reduce="sum")


# ---- checks ----------------------------------------------------------------------------------------------------------
def is_simplex(a):
    """Whether elements are nonnegative and sum to 1."""
    return np.all(a >= 0.0) and abs(np.sum(a) - 1.0) <= 1e-8


def are_simplices(rows):
    """Whether each row is a simplex."""
    good = True
    for k in range(len(rows)):
        good = good and is_simplex(rows[k])
    return good


def is_factor(a):
    """Whether a matrix is square and has a positive diagonal."""
    return a.shape[0] == a.shape[1] and np.all(np.diag(a) > 0.0)


def is_square(a):
    """Whether a matrix has as many rows as columns."""
    return a.shape[0] == a.shape[1]


def is_symmetric(a):
    """Whether a matrix is symmetric up to 1e-8."""
    good = a.shape[0] == a.shape[1]
    for i in range(a.shape[0]):
        for j in range(min(i, a.shape[1])):
            good = good and abs(a[i, j] - a[j, i]) <= 1e-8
    return good


def is_finite_symmetric(a):
    """Whether a matrix is square, of finite numbers and symmetric up to 1e-8."""
    good = a.shape[0] == a.shape[1]
    for i in range(a.shape[0]):
        for j in range(min(i + 1, a.shape[1])):
            good = good and abs(a[i, j] - a[j, i]) <= 1e-8  # nan if one of them is not finite
    return good


def is_lower_triangular(a):
    """Whether the elements above the diagonal are 0."""
    good = True
    for i in range(a.shape[0]):
        for j in range(i + 1, a.shape[1]):
            good = good and a[i, j] == 0.0
    return good


def is_cholesky_factor(a):
    """Whether a matrix is lower triangular with a positive diagonal, and no wider than it is high."""
    good = a.shape[0] >= a.shape[1] > 0
    for i in range(a.shape[1] if good else 0):
        good = good and a[i, i] > 0.0
        for j in range(i + 1, a.shape[1]):
            good = good and a[i, j] == 0.0
    return good


def has_unit_rows(a):
    """Whether the squares of each row sum to 1."""
    good = True
    for i in range(a.shape[0]):
        good = good and abs(np.sum(a[i] * a[i]) - 1.0) <= 1e-8
    return good


def has_unit_diagonal(a):
    """Whether the diagonal is 1."""
    return np.all(np.abs(np.diag(a) - 1.0) <= 1e-8)


def is_positive_definite(a):
    """Whether a matrix is symmetric and has a Cholesky factor."""
    return is_symmetric(a) and has_factor(stop_gradient(a))


def has_factor(a):
    """Whether all pivots of a symmetric matrix are positive."""
    size = a.shape[0]
    rest = a.copy()
    good = True
    for k in range(size):
        pivot = rest[k, k]
        good = good and pivot > 0.0
        if good:
            for i in range(k + 1, size):
                ratio = rest[i, k] / pivot
                for j in range(k + 1, i + 1):
                    rest[i, j] = rest[i, j] - ratio * rest[j, k]
    return good


# ---- normal and Student's t vectors ----------------------------------------------------------------------------------
def as_row(x):
    """A vector as a matrix of one row."""
    return x.reshape((1, x.shape[0]))


def normal_of_rows(rows, factor, propto=False):
    """The sum over rows x of -|L^-1 x|^2 / 2 - log|L| - k / 2 log(2 pi)."""
    scaled = solve_lower(factor, rows.T)
    squares = np.sum(scaled * scaled)
    return normal_of_squares(squares, log_diagonal(factor), rows.shape[1], float(rows.shape[0]), propto)


def normal_of_rows_by_precision(rows, factor, propto=False):
    """The same density, from the factor of the precision matrix."""
    scaled = rows @ factor
    squares = np.sum(scaled * scaled)
    return normal_of_squares(squares, -log_diagonal(factor), rows.shape[1], float(rows.shape[0]), propto)


def normal_of_weighted_rows(rows, factor, weights, propto=False):
    """The same density, of rows whose covariances are L L^T / w."""
    count, size = float(rows.shape[0]), float(rows.shape[1])
    squares = np.sum(squared_lengths(rows, factor) * weights)
    return 0.5 * size * sum_of_logs(weights) + normal_of_squares(squares, log_diagonal(factor), size, count, propto)


def student_of_rows(rows, nu, factor, propto=False):
    """The sum over rows of the log density of Student's t."""
    terms = sum_of_log1p(squared_lengths(rows, factor) / nu)
    count, size = float(rows.shape[0]), float(rows.shape[1])
    return student_of_logs(terms, log_diagonal(factor), nu, size, count, propto)


# ---- matrices --------------------------------------------------------------------------------------------------------
@in_expressions({"nn": "2.0 * log_diagonal(cholesky(a))"}, log_diagonal=log_diagonal)
def log_determinant_spd(a):
    """log|a| of a symmetric positive definite matrix."""
    return positive_definite.log_determinant_spd(a)


def log_jacobian_of_factor(factor, propto=False):
    """k log 2 + sum_i (k - i + 1) log L_ii: the log-Jacobian of L -> L L^T."""
    size = factor.shape[0]
    logs = sum_of_products(size - np.arange(size) * 1.0, np.diag(factor))
    return logs + (0.0 if propto else size * math.log(2.0))


def lkj_of_factor(factor, eta):
    """sum_i (k - i + 2 eta - 2) log L_ii, i = 2, ..., k, and the constant."""
    size = factor.shape[0]
    weights = size - 3.0 - np.arange(1, size) + 2.0 * eta
    return sum_of_products(weights, np.diag(factor)[1:]) + log_constant_of_lkj(eta, size)


def lkj_of_covariance(y, mu, sigma, eta, propto=False):
    """The lognormal density of the scales plus the density of the correlations."""
    scales = np.sqrt(np.diag(y))
    logs = log_of_each(scales)
    r = (logs - mu) / sigma
    total = np.sum(-0.5 * r * r - log_of_each(sigma) - logs) - (0.0 if propto else 0.5 * y.shape[0] * LOG_TWO_PI)
    correlations = y / np.expand_dims(scales, 1) / scales
    return total + lkj_of_determinant(log_determinant_spd(correlations), eta, y.shape[0])


# ---- counts ----------------------------------------------------------------------------------------------------------
def log_multinomial_coefficient(n):
    """log N! - sum log n!, where N = sum n."""
    return gammaln(np.sum(n) + 1.0) - sum_of_log_gammas(n + 1.0)


def dirichlet_of_vector(theta, alpha):
    """log Gamma(sum alpha) - sum log Gamma(alpha) + sum (alpha - 1) log theta."""
    return constant_of_dirichlet(alpha) + sum_of_products(alpha - 1.0, theta)


def dirichlet_of_rows(theta, alpha):
    """The sum over rows of the density of a vector."""
    total = 0.0
    for k in range(len(theta)):
        total = total + dirichlet_of_vector(theta[k], alpha[k])
    return total


def dirichlet_multinomial_of_counts(n, alpha, propto=False):
    """The multinomial mass averaged over the Dirichlet density of its probabilities."""
    if len(n) == 0:
        return 0.0
    constant = log(max(np.sum(n), 1.0)) - sum_of_logs(np.maximum(n, 1.0)) if propto else 0.0
    return sum_of_rising_ratios(n, alpha) - log_rising_ratio(np.sum(n), np.sum(alpha)) - constant


def multinomial_of_shares(n, theta, propto=False):
    """sum n log theta plus the coefficient."""
    constant = 0.0 if propto else log_multinomial_coefficient(n)
    return sum_of_products(n, theta) + constant


def multinomial_of_odds(n, odds, propto=False):
    """sum n log softmax(odds) plus the coefficient."""
    constant = 0.0 if propto else log_multinomial_coefficient(n)
    return np.sum(n * (odds - logsumexp(odds))) + constant


def mixture_of_vectors(theta, x):
    """log sum theta e^x."""
    if not (np.all(theta >= 0.0) and np.all(theta <= 1.0) and len(theta) == len(x)):
        raise ValueError("log_mix: theta must be between 0 and 1, and have the length of x")
    if not (np.all(x > -np.inf) and np.all(x < np.inf)):
        raise ValueError("log_mix: x must be finite")
    if not np.any(theta > 0.0):
        return -np.inf
    top = np.max(np.where(theta > 0.0, x, -np.inf))
    return top + log(np.sum(theta * np.exp(np.minimum(x - top, 709.0))))  # only a share of 0 can have more


def mixture_of_rows(theta, x):
    """Its sum over the rows of x."""
    total = 0.0
    for i in range(x.shape[0]):
        total += mixture_of_vectors(theta, x[i])
    return total


def mixture_of_each(theta, x, y):
    """log(theta e^x + (1 - theta) e^y), element by element."""
    none = np.zeros((theta + x + y).shape)
    shares, first, second = (theta + none).ravel(), (x + none).ravel(), (y + none).ravel()
    found = np.empty(len(shares))
    for i in range(len(shares)):
        found[i] = log_mix(shares[i], first[i], second[i])
    return found.reshape(none.shape)


# ---- places ----------------------------------------------------------------------------------------------------------
def whole_steps(n, lower, upper):
    """n integers from lower to upper in equal steps, or each equally often; upper is lowered until that is possible."""
    if n < 0 or upper < lower:
        raise ValueError("linspaced_int_array: n must be nonnegative, and upper at least lower")
    if n == 1:
        return np.full(1, upper, dtype=np.int64)
    width = upper - lower
    if width + 1 < n:
        return lower + np.arange(n) // ((width + n) // (width + 1))
    return lower + np.arange(n) * (width // max(n - 1, 1))


def values_of_rows(a):
    """The elements of a matrix other than 0, row by row."""
    found = np.empty(np.count_nonzero(a), dtype=a.dtype)
    k = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] != 0.0:
                found[k] = a[i, j]
                k += 1
    return found


def columns_of_rows(a):
    """Their columns."""
    return np.nonzero(a)[1]


def beginnings_of_rows(a):
    """The number of them in the rows before each, and in all."""
    found = np.zeros(a.shape[0] + 1, dtype=np.int64)
    for i in range(a.shape[0]):
        found[i + 1] = found[i]
        for j in range(a.shape[1]):
            if a[i, j] != 0.0:
                found[i + 1] += 1
    return found


# ---- categories ------------------------------------------------------------------------------------------------------


def are_categories(y, count):
    """Whether elements are whole numbers from 1 to count."""
    return np.all(y >= 1.0) and np.all(y <= count) and np.all(y == np.floor(y))


def increases(a):
    """Whether each element is greater than the one before it."""
    return np.all(a[1:] > a[:-1])


def categorical_of_number(y, theta):
    """log theta_y."""
    return np.log(theta[int(y) - 1])


def categorical_of_vector(y, theta):
    """The sum of log theta_y."""
    total = 0.0
    for k in range(len(y)):
        total += math.log(theta[int(y[k]) - 1])
    return total


def categorical_of_odds(y, odds):
    """The sum of odds_y - log sum exp odds."""
    whole = logsumexp(odds)
    total = 0.0
    for k in range(len(y)):
        total += odds[int(y[k]) - 1] - whole
    return total


def categorical_of_predictors(y, predicted):
    """The sum over rows of predicted_y - log sum exp predicted."""
    total = 0.0
    for k in range(len(y)):
        total += predicted[k, int(y[k]) - 1] - logsumexp(predicted[k])
    return total


def log_expit_interval(low, high, width):
    """log(expit(high) - expit(low)), by e^-low - e^-high over the product of both denominators."""
    return log1m_exp(-width) + log_expit(-low) + log_expit(high)


def ordered_logistic(y, eta, cuts):
    """log(expit(eta - c_(y-1)) - expit(eta - c_y)) of one outcome."""
    place = int(y) - 1
    if len(cuts) == 0:  # only one category
        found = 0.0
    elif place == 0:
        found = log_expit(cuts[0] - eta)
    elif place == len(cuts):
        found = log_expit(eta - cuts[place - 1])
    else:
        low, high = cuts[place - 1], cuts[place]
        found = log_expit_interval(low - eta, high - eta, high - low)
    return found


def ordered_probit(y, eta, cuts):
    """log(Phi(eta - c_(y-1)) - Phi(eta - c_y)) of one outcome."""
    place = int(y) - 1
    if place == 0:
        found = log_ndtr(cuts[0] - eta)
    elif place == len(cuts):
        found = log_ndtr(eta - cuts[place - 1])
    else:
        low, high = cuts[place - 1], cuts[place]
        found = log_normal_interval(low - eta, high - eta, high - low)
    return found


def ordered_logistic_of_vectors(y, eta, cuts):
    """The sum over outcomes."""
    total = 0.0
    for k in range(len(y)):
        total += ordered_logistic(y[k], eta[k], cuts)
    return total


def ordered_logistic_of_predictors(y, predictor, cuts):
    """The sum over outcomes of a model."""
    if not (np.all(predictor > -np.inf) and np.all(predictor < np.inf)):
        raise ValueError("ordered_logistic_glm_lpmf: predictor must be finite")
    return ordered_logistic_of_vectors(y, predictor, cuts)


def ordered_probit_of_vectors(y, eta, cuts):
    """The sum over outcomes."""
    total = 0.0
    for k in range(len(y)):
        total += ordered_probit(y[k], eta[k], cuts)
    return total


# ---- matrix functions ------------------------------------------------------------------------------------------------
def with_diagonal(m, d):
    """m + diag(d)."""
    made = m.copy()
    for i in range(min(m.shape[0], m.shape[1])):
        made[i, i] = m[i, i] + d[i]
    return made


def by_lower_triangle(a):
    """The symmetric matrix of a lower triangle."""
    made = np.zeros((a.shape[0], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(i + 1):
            made[i, j] = a[i, j]
            made[j, i] = a[i, j]
    return made


def solve_lower_transposed(a, b):
    """a^-T b of a lower triangular matrix."""
    return solve_triangular(a, b, trans=1, lower=True, check_finite=False)


def solve_spd(a, b):
    """a^-1 b of a symmetric positive definite matrix."""
    factor = cholesky(a)
    return solve_lower_transposed(factor, solve_lower(factor, b))


def inverse_of_factor(factor):
    """(L L^T)^-1."""
    inverse = solve_lower(factor, np.eye(factor.shape[0]))
    return inverse.T @ inverse


def with_positive_diagonal(factors):
    """The QR factors, with signs such that the diagonal of r is not negative."""
    q, r = factors
    signs = np.where(stop_gradient(np.diag(r)) < 0.0, -1.0, 1.0)
    return q * np.expand_dims(signs, 0), np.expand_dims(signs, 1) * r


def with_rows_of_zeros(r, count):
    """The same vector or matrix as a matrix."""
    made = np.zeros((count, r.shape[1]))
    made[: r.shape[0]] = r
    return made


def with_vectors_in_columns(factors):
    """The factors of a singular value decomposition, the last one transposed."""
    u, s, vh = factors
    return u, s, vh.T


def eigenvalues_of(a):
    """The eigenvalues of a symmetric matrix; nan if it is not finite."""
    return np.linalg.eigvalsh(a) if np.all(a - a == 0.0) else np.full(a.shape[0], np.nan)


def spectrum_of(a):
    """Eigenvectors and eigenvalues of a symmetric matrix; nan if it is not finite."""
    if np.all(a - a == 0.0):
        w, v = np.linalg.eigh(a)
    else:
        w, v = np.full(a.shape[0], np.nan), np.full(a.shape, np.nan)
    return v, w


def vectors_first(spectrum):
    """Eigenvectors and eigenvalues."""
    w, v = spectrum
    return v, w


# ---- series ----------------------------------------------------------------------------------------------------------
def is_end(x):
    """Whether a number is 0, -1, ..., which ends a series."""
    return x <= 0.0 and x == np.floor(x)


def converges(a1, a2, b1, z):
    """Whether 2F1 converges or can be continued; at a pole, its series has to end before."""
    ends = is_end(a1) or is_end(a2)
    first = max(a1 if is_end(a1) else -np.inf, a2 if is_end(a2) else -np.inf)  # where it ends
    good = ends or z < 1.0 or (z == 1.0 and b1 > a1 + a2)
    return good and not (is_end(b1) and first < b1)


def has_sum(above, below, z):
    """Whether a hypergeometric series converges or ends; at a pole, it has to end before."""
    first, pole, excess = -np.inf, -np.inf, 0.0
    for x in above:
        first = max(first, x if is_end(x) else -np.inf)  # where it ends
        excess -= x
    for x in below:
        pole = max(pole, x if is_end(x) else -np.inf)
        excess += x
    good = first > -np.inf or abs(z) < 1.0 or (abs(z) == 1.0 and excess > 0.0)
    return good and not (pole > -np.inf and first < pole)


# ---- sparse matrices -------------------------------------------------------------------------------------------------
def require_rows(m, n, w, v, u):
    """Raise ValueError unless the beginnings of rows are valid, and columns are from 0 to n - 1."""
    if len(u) != m + 1 or u[0] != 0 or u[m] != len(w) or not np.all(u[1:] >= u[:-1]):
        raise ValueError("u must rise from 0 to the number of values, with one element more than rows")
    if not (np.all(v >= 0) and np.all(v < n)):
        raise ValueError("v must have columns from 0 to n - 1")


def sparse_times_vector(m, n, w, v, u, b):
    """The product of a sparse matrix with a vector."""
    require_rows(m, n, w, v, u)
    if len(b) != n:
        raise ValueError("b must have as many elements as there are columns")
    made = np.zeros(m)
    for i in range(m):
        total = 0.0
        for k in range(u[i], u[i + 1]):
            total += w[k] * b[v[k]]
        made[i] = total
    return made


def dense_of_sparse(m, n, w, v, u):
    """A sparse matrix as a dense one."""
    require_rows(m, n, w, v, u)
    made = np.zeros((m, n))
    for i in range(m):
        for k in range(u[i], u[i + 1]):
            for other in range(u[i], k):
                if v[other] == v[k]:
                    raise ValueError("a column of v comes twice in a row")
            made[i, v[k]] = w[k]
    return made


# ---- covariances of Gaussian processes -------------------------------------------------------------------------------
def squares_between(x, y):
    """The squared distances of the rows of two matrices."""
    if x.shape[1] != y.shape[1]:
        raise ValueError("gp covariance: the points of both sets must have as many coordinates")
    made = np.zeros((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            total = 0.0
            for k in range(x.shape[1]):
                total += (x[i, k] - y[j, k]) * (x[i, k] - y[j, k])
            made[i, j] = total
    return made


def variance_of(sigma):
    """sigma^2 for a positive number."""
    if not sigma > 0.0:
        raise ValueError("gp covariance: sigma must be positive")
    return sigma * sigma


def _profile(name: str, text: str) -> Face:
    """Correlations at squared distances q; at q = 0 a polynomial of q, which has the existing derivatives."""
    scaled = "root = sqrt(select(zero, 1.0, q)); r = root / length_scale; s = q / (length_scale * length_scale)"
    lines = f"zero = q == 0.0; {scaled}; {text}"
    known = {"sqrt": sqrt, "exp": exp, "select": select, "sin": sin, "pi": math.pi, "r3": ROOT3, "r5": ROOT5}
    formula = compose(f"{name}_profile", ["q", "length_scale"], lines, home=__name__, **known)
    return Face(__name__, name, formula, "", domains={"length_scale": "positive"})


exponentiated_quadratic = _profile("exponentiated_quadratic", "exp(-0.5 * s)")
exponential = _profile("exponential", "select(zero, 1.0, exp(-r))")
matern32 = _profile("matern32", "select(zero, 1.0 - 1.5 * s, (1.0 + r3 * r) * exp(-r3 * r))")
matern52 = _profile("matern52", "select(zero, 1.0 - 5.0 / 6.0 * s, (1.0 + r5 * r + 5.0 / 3.0 * s) * exp(-r5 * r))")
periodic = _profile(
    "periodic", "w = sin(pi * root) / length_scale; select(zero, 1.0 - 2.0 * pi * pi * s, exp(-2.0 * w * w))"
)
