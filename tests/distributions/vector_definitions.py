"""Log densities of vectors and matrices by their definitions, in mpmath: on NumPy arrays whose elements are mpmath's.

Determinants and inverses are mpmath's own, of the matrices themselves and not of their factors. Where a density of a
factor is asked for, it is that of the matrix times the determinant of the derivatives. Filters are joint densities of
all that is seen, chains are sums over all their paths.
"""

import itertools

import numpy as np
from mpmath import mp

from tests.distributions.reference_densities import LOG_DENSITIES

log, exp = (np.frompyfunc(f, 1, 1) for f in (mp.log, mp.exp))


def inverse(a):
    return np.array((mp.matrix(a.tolist()) ** -1).tolist(), dtype=object)


log_det = lambda a: mp.log(mp.det(mp.matrix(a.tolist())))
half = lambda x: x * mp.mpf("0.5")


def as_matrix(a, size):
    """A covariance given as a matrix, its diagonal, or one number."""
    if a is None:
        a = mp.mpf(1)
    return a if np.ndim(a) == 2 else np.diag(a + np.zeros(size, int)) + np.zeros((size, size), int) * mp.mpf(1)


# ---- normal and Student's t vectors ----------------------------------------------------------------------------------
def squares(d, sigma):
    """x^T sigma^-1 x of each row."""
    precision = inverse(sigma)
    return np.array([x @ precision @ x for x in np.reshape(d, (-1, len(sigma)))], dtype=object)


normal_rows = lambda d, sigma: -half(squares(d, sigma) + log_det(sigma) + len(sigma) * mp.log(2 * mp.pi))


def student_rows(d, nu, sigma):
    k = len(sigma)
    scale = mp.gamma(half(nu + k)) / mp.gamma(half(nu)) / mp.sqrt((nu * mp.pi) ** k * mp.exp(log_det(sigma)))
    return mp.log(scale) - half(nu + k) * log(1 + squares(d, sigma) / nu)


multi_normal = lambda y, mu, sigma: np.sum(normal_rows(y - mu, sigma))
multi_student_t = lambda y, nu, mu, sigma: np.sum(student_rows(y - mu, nu, sigma))
multi_gp = lambda y, sigma, w: sum(normal_rows(row, sigma / weight)[0] for row, weight in zip(y, w, strict=True))


def of_factor(density, place):
    """The density of L L^T as one of L, the argument at a place, without a Jacobian: as a parameter."""
    return lambda *args: density(*(a @ a.T if k == place else a for k, a in enumerate(args)))


# ---- simplices and counts --------------------------------------------------------------------------------------------
def dirichlet(theta, alpha):
    if theta.ndim + alpha.ndim > 2:
        return sum(dirichlet(*rows) for rows in zip(*np.broadcast_arrays(theta, alpha), strict=True))
    parts = [(a - 1) * mp.log(t) - mp.loggamma(a) for t, a in zip(theta, alpha, strict=True)]
    return mp.loggamma(np.sum(alpha)) + mp.fsum(parts)


log_choices = lambda n: mp.log(mp.factorial(np.sum(n))) - sum(mp.log(mp.factorial(k)) for k in n)


def multinomial(n, theta):
    return log_choices(n) + sum(mp.log(t) * k if k else mp.mpf(0) for k, t in zip(n, theta, strict=True))


softmax = lambda odds: exp(odds) / np.sum(exp(odds))
multinomial_logit = lambda n, gamma: multinomial(n, softmax(gamma))


def dirichlet_multinomial(n, alpha):
    whole = np.sum(alpha)
    parts = [mp.rf(a, k) for k, a in zip(n, alpha, strict=True)]
    return log_choices(n) + mp.log(mp.fprod(parts)) - mp.log(mp.rf(whole, np.sum(n)))


# ---- matrices --------------------------------------------------------------------------------------------------------
def log_multigamma(a, k):
    return mp.log(mp.pi ** (mp.mpf(k * (k - 1)) / 4) * mp.fprod(mp.gamma(a - mp.mpf(j) / 2) for j in range(k)))


def wishart(w, nu, s):
    k = len(w)
    powers = half(nu - k - 1) * log_det(w) - half(nu) * log_det(s) - half(np.trace(inverse(s) @ w))
    return powers - half(nu) * k * mp.log(2) - log_multigamma(half(nu), k)


def inv_wishart(w, nu, s):
    """That of the inverse, and the Jacobian of the inverse."""
    return wishart(inverse(w), nu, inverse(s)) - (len(w) + 1) * log_det(w)


def log_jacobian(factor):
    """log|d(L L^T) / dL| of the lower triangles."""
    places = list(zip(*np.tril_indices(len(factor)), strict=True))
    derivatives = [
        [(i == a) * factor[j, b] + (j == a) * factor[i, b] for a, b in places] for i, j in places
    ]  # fmt: skip
    return mp.log(mp.det(mp.matrix(derivatives)))


def of_factors(density):
    return lambda factor, nu, scale: density(factor @ factor.T, nu, scale @ scale.T) + log_jacobian(factor)


def log_volume(eta, k):
    """Of correlation matrices weighted by their determinant to the power of eta - 1, by the partial correlations."""
    powers = sum((2 * (eta - 1) + k - i) * (k - i) for i in range(1, k))
    betas = [mp.beta(eta + half(k - i - 1), eta + half(k - i - 1)) ** (k - i) for i in range(1, k)]
    return powers * mp.log(2) + mp.log(mp.fprod(betas))


lkj_corr = lambda omega, eta: (eta - 1) * log_det(omega) - log_volume(eta, len(omega))


def lkj_corr_cholesky(factor, eta):
    """Of rows of length 1, whose last elements follow from the others: d Omega / dL has L_ii on its diagonal."""
    k = len(factor)
    jacobian = sum((k - i) * mp.log(factor[i - 1, i - 1]) for i in range(2, k + 1))
    return jacobian + (eta - 1) * log_det(factor @ factor.T) - log_volume(eta, k) - 2 * (eta - 1) * mp.log(factor[0, 0])


def lkj_cov(y, mu, sigma, eta):
    scales = [mp.sqrt(x) for x in np.diagonal(y)]
    mu, sigma = (x + np.zeros(len(y), int) for x in (mu, sigma))
    of_scales = sum(mp.log(mp.npdf(mp.log(s), m, d) / s) for s, m, d in zip(scales, mu, sigma, strict=True))
    return of_scales + lkj_corr(y / np.outer(scales, scales), eta)


def matrix_normal(x, rows, columns):
    """Of a vector of all elements, whose covariance is the Kronecker product."""
    return normal_rows(np.reshape(x, -1), np.kron(rows, columns))[0]


# ---- categories ------------------------------------------------------------------------------------------------------
categorical = lambda y, theta: sum(mp.log(theta[int(k) - 1]) for k in np.reshape(y, -1))
categorical_logit = lambda y, beta: categorical(y, softmax(beta))


def ordered(cdf):
    def mass(y, eta, cuts):
        y, eta = np.broadcast_arrays(y, eta)
        total = mp.mpf(0)
        for k, x in zip(map(int, y.flat), eta.flat, strict=True):
            above = cdf(x - cuts[k - 2]) if k > 1 else mp.mpf(1)
            total += mp.log(above - (cdf(x - cuts[k - 1]) if k <= len(cuts) else 0))
        return total

    return mass


ordered_logistic, ordered_probit = ordered(lambda x: 1 / (1 + mp.exp(-x))), ordered(mp.ncdf)


# ---- linear models ---------------------------------------------------------------------------------------------------
predictors = lambda x, alpha, beta: np.reshape(x, (-1, len(beta))) @ beta + alpha


def glm(name, data=1):
    """The sum over rows of a density of Stan's: of the data before x, the predictor and what follows."""

    def mass(*args):
        given, (x, alpha, beta, *more) = args[:data], args[data:]
        columns = np.broadcast_arrays(*given, predictors(x, alpha, beta), *more)
        return sum(LOG_DENSITIES[name](*row) for row in zip(*map(np.ravel, columns), strict=True))

    return mass


def categorical_logit_glm(y, x, alpha, beta):
    rows = np.reshape(x, (-1, len(beta))) @ beta + alpha
    return sum(categorical_logit(k, row) for k, row in zip(np.broadcast_to(y, len(rows)), rows, strict=True))


ordered_logistic_glm = lambda y, x, beta, cuts: ordered_logistic(y, predictors(x, 0, beta), cuts)


# ---- chains ----------------------------------------------------------------------------------------------------------
def hmm_marginal(log_omega, gamma, rho):
    states, times = log_omega.shape
    omega, total = exp(log_omega), mp.mpf(0)
    for path in itertools.product(range(states), repeat=times):
        steps = [gamma[a, b] for a, b in itertools.pairwise(path)]
        seen = [omega[k, t] for t, k in enumerate(path)]
        total += rho[path[0]] * mp.fprod([*steps, *seen])
    return mp.log(total)


def gaussian_dlm_obs(y, F, G, V, W, m0, C0):
    """The joint density of all numbers that are there."""
    r, times = y.shape
    V = as_matrix(V, r)
    means, covariances, m, C = [], [], m0, C0
    for _ in range(times):
        m, C = G @ m, G @ C @ G.T + W
        means.append(F.T @ m)
        covariances.append(C)
    joint = np.zeros((times * r, times * r), dtype=object)
    for s, t in itertools.combinations_with_replacement(range(times), 2):
        across = covariances[s]  # of theta_t and theta_s
        for _ in range(t - s):
            across = G @ across
        block = F.T @ across @ F + (V if s == t else 0)
        joint[t * r : (t + 1) * r, s * r : (s + 1) * r] = block
        joint[s * r : (s + 1) * r, t * r : (t + 1) * r] = block.T
    seen = [k for k, x in enumerate(y.T.flat) if x == x]
    d = y.T.reshape(-1)[seen] - np.concatenate(means)[seen]
    return normal_rows(d, joint[np.ix_(seen, seen)])[0]


# ---- SciPy's, an array of log densities ------------------------------------------------------------------------------
def scipy_normal(x, mean, cov):
    whole = np.shape(x)[-1] if np.ndim(x) > 1 else 1
    k = next((len(given) for given in (mean, cov) if np.ndim(given)), whole)
    return normal_rows(x if mean is None else x - mean, as_matrix(cov, k))


scipy_t = lambda x, loc, shape, df: student_rows(x if loc is None else x - loc, df, as_matrix(shape, len(shape)))


def scipy_dirichlet(x, alpha):
    if len(x) < len(alpha):
        x = np.concatenate([x, (1 - np.sum(x, axis=0))[None] if np.ndim(x) > 1 else [1 - np.sum(x)]])
    return np.array([dirichlet(column, alpha) for column in np.reshape(x, (len(alpha), -1)).T])


def scipy_categorical(k, p):
    k = np.reshape(k, -1)
    return np.array([mp.log(q[int(i)]) for i, q in zip(k, np.broadcast_to(p, (len(k), p.shape[-1])), strict=True)])


scipy_lkj = lambda x, eta: np.array([lkj_corr(x, eta)])


def scipy_multinomial(x, n, p):
    rows = np.reshape(x, (-1, np.shape(x)[-1]))
    return np.array([multinomial(row, q) for row, q in zip(rows, np.broadcast_to(p, rows.shape), strict=True)])


def scipy_dirichlet_multinomial(x, alpha, n):
    rows = np.reshape(x, (-1, np.shape(x)[-1]))
    shares = np.broadcast_to(alpha, rows.shape)
    return np.array([dirichlet_multinomial(row, a) for row, a in zip(rows, shares, strict=True)])


def scipy_matrix(density):
    """Of one matrix, which may be a number."""

    def values(x, df, scale):
        one = np.shape(x)[0] if np.ndim(x) else 1
        return np.array([density(as_matrix(x, one), df, as_matrix(scale, one))])

    return values


def scipy_matrix_normal(X, mean, rowcov, colcov):
    x = X if mean is None else X - mean
    rows, columns = as_matrix(rowcov, x.shape[-2]), as_matrix(colcov, x.shape[-1])
    return np.array([matrix_normal(one, rows, columns) for one in np.reshape(x, (-1, *x.shape[-2:]))])


def scipy_matrix_t(X, mean, row_spread, col_spread, df):
    x = X if mean is None else X - mean
    m, k = x.shape[-2:]
    rows, columns = as_matrix(row_spread, m), as_matrix(col_spread, k)
    size = lambda a: sum(mp.loggamma(a - mp.mpf(j) / 2) for j in range(k))  # of the parts of Gamma_k that differ
    h = (df + k - 1) / mp.mpf(2)

    def one(r):
        grown = np.eye(k, dtype=int) + r.T @ inverse(rows) @ r @ inverse(columns)
        logs = k * log_det(rows) / 2 + m * log_det(columns) / 2
        return size(h + mp.mpf(m) / 2) - size(h) - m * k * mp.log(mp.pi) / 2 - logs - (h + mp.mpf(m) / 2) * mp.log(
            mp.det(mp.matrix(grown.tolist()))
        )

    return np.array([one(r) for r in np.reshape(x, (-1, m, k))])


def scipy_fisher(x, mu, kappa):
    d = mp.mpf(len(mu))
    constant = (d / 2 - 1) * mp.log(kappa) - d / 2 * mp.log(2 * mp.pi) - mp.log(mp.besseli(d / 2 - 1, kappa))
    return np.reshape(kappa * (x @ mu) + constant, (-1,))


def scipy_normal_inverse_gamma(x, s2, mu, lmbda, a, b):
    def one(x, s2):
        normal = mp.log(mp.npdf(x, mu, mp.sqrt(s2 / lmbda)))
        return normal + a * mp.log(b) - mp.loggamma(a) - (a + 1) * mp.log(s2) - b / s2

    return np.array([one(*row) for row in zip(np.reshape(x, (-1,)), np.reshape(s2, (-1,)), strict=True)])


def kernel_density(data, points, weights, bandwidth):
    """Of Scott's factor, or the one given; of data (d, n) and points (d, m)."""
    data = np.reshape(data, (-1, np.shape(data)[-1]))
    d, n = data.shape
    points = np.reshape(points, (d, -1))
    w = np.array([mp.mpf(1) / n] * n, dtype=object) if weights is None else weights / np.sum(weights)
    size = 1 / np.sum(w * w)
    factor = size ** (-mp.mpf(1) / (d + 4)) if bandwidth is None else bandwidth
    if bandwidth == "silverman":
        factor = (size * mp.mpf(d + 2) / 4) ** (-mp.mpf(1) / (d + 4))
    centred = data - np.sum(data * w, axis=1)[:, None]
    covariance = (centred * w) @ centred.T / (1 - np.sum(w * w)) * factor**2
    return np.array([mp.log(w @ exp(normal_rows(x - data.T, covariance))) for x in points.T])
