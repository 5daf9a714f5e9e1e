"""Stan's log densities of vectors and matrices.

Vectors y are one vector (k,), or a row for each of n observations (n, k), over which the result is summed; so may mu.
Symmetric matrices must be so up to 1e-8; their lower triangle is read. Domains are Stan's. `propto=True` drops the
terms in which no argument occurs that has a derivative; in those of the Dirichlet, Wishart and LKJ densities there is
one in each.
"""


import numpy as np

from contad.distributions.vector_densities import (
    LOG_TWO_PI,
    inverse_wishart_of_matrix,
    log_constant_of_lkj,
    wishart_of_matrix,
)
from contad.ops import positive_definite
from contad.ops.exponential import log
from contad.ops.triangular_factors import cholesky_factor
from contad.stan import bodies
from contad.stan.compiled import with_bodies
from contad.stan.domains import Demands
from contad.variables.open_types import ArrayValue, Nested, Real, Value

ROWS = (
    ("y.ndim == 1 or mu.ndim == 1 or len(y) == len(mu)", "y and mu must have as many rows, or one of them be a vector"),
)
REAL = (("y", "real"), ("mu", "finite"))  # which shows in a value that is not finite
# as Stan, which looks at one vector's factor less closely
LOWER = (
    "is_cholesky_factor(L) or (y.ndim == 1 and mu.ndim == 1 and is_factor(L))",
    "L must be lower triangular with a positive diagonal",
)
FIT, FITS = "{0}.shape[0] == {1}.shape[0]", "{0} and {1} must have the same length"


def _finite(*names: str) -> Demands:
    return [(name, "finite") for name in names]


def _vectors(matrix: str, kind: tuple[str, str]) -> Demands:
    """The demands of a density of vectors y and mu beside a matrix."""
    square = f"len({matrix}) == {matrix}.shape[1]" + (f" and len({matrix}) > 0" if kind[1] == "symmetric" else "")
    fit = f"{square} and y.shape[-1] == len({matrix}) and mu.shape[-1] == len({matrix})"
    return ((fit, f"y and mu must have the length of {matrix}, a square matrix"), *ROWS, kind)


def _processes(matrix: str, kind: str) -> Demands:
    """The demands of a density of rows y, a matrix and weights w."""
    return (
        ("len(y) == len(w)", "w must have an element for each row of y"),
        (f"len({matrix}) == y.shape[-1] and len(y) > 0", f"y must have a column for each row of {matrix}"),
        ("w", "positive finite"), (matrix, kind),
    )  # fmt: skip


def _matrices(first: str, second: str, kind: str) -> Demands:
    """The demands of a density of a matrix, degrees of freedom nu and the matrix of a scale."""
    return (
        (f"len({first}) == len({second})", f"{first} and {second} must have the same size"),
        (f"nu > len({first}) - 1.0", "nu must be greater than the size of the matrix less 1"),
        (first, kind), (second, kind),
    )  # fmt: skip


def _rows(y: ArrayValue, mu: ArrayValue, size: int) -> ArrayValue:
    """y - mu, a row for each observation."""
    difference = y - mu
    return difference if np.ndim(difference) == 2 else np.reshape(difference, (1, size))


def _factor(name: str, argument: str, matrix: ArrayValue) -> ArrayValue:
    try:
        return cholesky_factor(matrix)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"{name}: {argument} must be a positive definite matrix: {error}") from None


def _lkj(name: str, argument: str, matrix: ArrayValue, eta: Real) -> Real:
    try:
        return (eta - 1.0) * positive_definite.log_determinant_spd(matrix) + log_constant_of_lkj(eta, len(matrix))
    except np.linalg.LinAlgError as error:
        raise ValueError(f"{name}: {argument} must be a positive definite matrix: {error}") from None


@with_bodies(
    {"1 1 2": "normal_of_rows(as_row(y - mu), LPROPTO)", "12 12 2": "normal_of_rows(y - mu, LPROPTO)"},
    _vectors("L", LOWER), after=REAL, empty="y",
)
def multi_normal_cholesky_lpdf(y: Nested, mu: Nested, L: Nested, propto: bool = False) -> Real:
    """Log density of normal vectors of mean mu and covariance L L^T.

        log f = -|r|^2 / 2 - log|L| - k log(2 pi) / 2, with L r = y - mu; summed over the rows of y

    Shapes:  y and mu (k,) or (n, k), L (k, k) lower triangular.
    Domain:  y without nan, mu finite, L lower triangular with a positive diagonal.
    Raises:  ValueError where shapes do not fit, or the diagonal of L is not positive.
    Cost:    O(n k^2).
    Ref:     Kotz, Balakrishnan & Johnson (2000), chapter 45;
             Stan Functions Reference, multivariate normal distribution, Cholesky parameterization.

    >>> float(round(multi_normal_cholesky_lpdf([1.0, 0.0], [0.0, 0.0], [[1.0, 0.0], [0.5, 2.0]]), 12))
    -3.062274246969
    """
    return bodies.normal_of_rows(_rows(y, mu, len(L)), L, propto)


@with_bodies(
    {
        "1 1 2": "normal_of_rows(as_row(y - mu), cholesky(Sigma)PROPTO)",
        "12 12 2": "normal_of_rows(y - mu, cholesky(Sigma)PROPTO)",
    },
    _vectors("Sigma", ("Sigma", "symmetric")), after=(*REAL, *_finite("Sigma")), empty="y", far=True,
)
def multi_normal_lpdf(y: Nested, mu: Nested, Sigma: Nested, propto: bool = False) -> Real:
    """Log density of normal vectors of mean mu and covariance Sigma.

        log f = -|r|^2 / 2 - log|L| - k log(2 pi) / 2, with L r = y - mu, L L^T = Sigma; summed over the rows of y

    Shapes:  y and mu (k,) or (n, k), Sigma (k, k).
    Domain:  y without nan, mu finite, Sigma positive definite.
    Raises:  ValueError where shapes do not fit, or Sigma is not positive definite.
    Cost:    O(k^3 + n k^2).
    Ref:     Kotz, Balakrishnan & Johnson (2000), chapter 45;
             Stan Functions Reference, multivariate normal distribution.

    >>> round(float(multi_normal_lpdf([1.0, 0.0], [0.5, 0.5], [[2.0, 0.5], [0.5, 1.0]])), 6)
    -2.403399
    """
    return bodies.normal_of_rows(_rows(y, mu, len(Sigma)), _factor("multi_normal_lpdf", "Sigma", Sigma), propto)


@with_bodies(
    {
        "1 1 2": "normal_of_rows_by_precision(as_row(y - mu), cholesky(Omega)PROPTO)",
        "12 12 2": "normal_of_rows_by_precision(y - mu, cholesky(Omega)PROPTO)",
    },
    _vectors("Omega", ("Omega", "symmetric")), after=(*REAL, *_finite("Omega")), empty="y", far=True,
)
def multi_normal_prec_lpdf(y: Nested, mu: Nested, Omega: Nested, propto: bool = False) -> Real:
    """Log density of normal vectors of mean mu and precision matrix Omega.

        log f = -|L^T (y - mu)|^2 / 2 + log|L| - k log(2 pi) / 2, with L L^T = Omega; summed over the rows of y

    Shapes:  y and mu (k,) or (n, k), Omega (k, k).
    Domain:  y without nan, mu finite, Omega positive definite.
    Raises:  ValueError where shapes do not fit, or Omega is not positive definite.
    Cost:    O(k^3 + n k^2).
    Ref:     Kotz, Balakrishnan & Johnson (2000), chapter 45;
             Stan Functions Reference, multivariate normal distribution, precision parameterization.

    >>> round(float(multi_normal_prec_lpdf([1.0, 0.0], [0.5, 0.5], [[2.0, 0.5], [0.5, 1.0]])), 6)
    -1.808069
    """
    factor = _factor("multi_normal_prec_lpdf", "Omega", Omega)
    return bodies.normal_of_rows_by_precision(_rows(y, mu, len(Omega)), factor, propto)


@with_bodies(
    {
        "1 0 1 2": "student_of_rows(as_row(y - mu), nu, cholesky(Sigma)PROPTO)",
        "12 0 12 2": "student_of_rows(y - mu, nu, cholesky(Sigma)PROPTO)",
    },
    (("nu", "positive finite"), *_vectors("Sigma", ("Sigma", "symmetric"))),
    after=(*REAL, *_finite("Sigma")), empty="y", far=True,
)
def multi_student_t_lpdf(y: Nested, nu: Real, mu: Nested, Sigma: Nested, propto: bool = False) -> Real:
    """Log density of Student's t vectors of nu degrees of freedom, location mu and scale matrix Sigma.

        log f = log Gamma((nu + k) / 2) - log Gamma(nu / 2) - k log(nu) / 2 - k log(pi) / 2 - log|L|
                - (nu + k) / 2 log(1 + |r|^2 / nu), with L r = y - mu, L L^T = Sigma; summed over the rows of y

    Shapes:  y and mu (k,) or (n, k), nu (), Sigma (k, k).
    Domain:  y without nan, mu finite, nu positive and finite, Sigma positive definite.
    Raises:  ValueError where shapes do not fit, nu is not positive or Sigma not positive definite.
    Cost:    O(k^3 + n k^2).
    Ref:     Kotz & Nadarajah (2004), section 1.1; Stan Functions Reference, multivariate Student-t distribution.

    >>> round(float(multi_student_t_lpdf([1.0, 0.0], 4.0, [0.5, 0.5], [[2.0, 0.5], [0.5, 1.0]])), 6)
    -2.518279
    """
    factor = _factor("multi_student_t_lpdf", "Sigma", Sigma)
    return bodies.student_of_rows(_rows(y, mu, len(Sigma)), nu, factor, propto)


@with_bodies(
    {"1 0 1 2": "student_of_rows(as_row(y - mu), nu, LPROPTO)", "12 0 12 2": "student_of_rows(y - mu, nu, LPROPTO)"},
    (("nu", "positive finite"), *_vectors("L", ("L", "Cholesky factor"))), after=REAL, empty="y",
)
def multi_student_t_cholesky_lpdf(y: Nested, nu: Real, mu: Nested, L: Nested, propto: bool = False) -> Real:
    """Log density of Student's t vectors of nu degrees of freedom, location mu and scale matrix L L^T.

        log f = log Gamma((nu + k) / 2) - log Gamma(nu / 2) - k log(nu) / 2 - k log(pi) / 2 - log|L|
                - (nu + k) / 2 log(1 + |r|^2 / nu), with L r = y - mu; summed over the rows of y

    Shapes:  y and mu (k,) or (n, k), nu (), L (k, k) lower triangular.
    Domain:  y without nan, mu finite, nu positive and finite, L lower triangular with a positive diagonal.
    Raises:  ValueError where shapes do not fit, or nu or the diagonal of L is not positive.
    Cost:    O(n k^2).
    Ref:     Kotz & Nadarajah (2004), section 1.1; Stan Functions Reference, multivariate Student-t distribution.

    >>> round(float(multi_student_t_cholesky_lpdf([1.0, 0.0], 4.0, [0.5, 0.5], [[1.5, 0.0], [0.4, 0.9]])), 6)
    -2.56138
    """
    return bodies.student_of_rows(_rows(y, mu, len(L)), nu, L, propto)


@with_bodies(
    {"2 2 1": "normal_of_weighted_rows(y, cholesky(Sigma), wPROPTO)"},
    _processes("Sigma", "symmetric"), after=_finite("y", "Sigma"),
)  # fmt: skip
def multi_gp_lpdf(y: Nested, Sigma: Nested, w: Nested, propto: bool = False) -> Real:
    """Log density of Gaussian processes: row i of y is normal of mean 0 and covariance Sigma / w_i.

        log f = sum_i multi_normal_lpdf(y_i, 0, Sigma / w_i)

    Shapes:  y (d, n), Sigma (n, n), w (d,).
    Domain:  y finite, w positive and finite, Sigma positive definite.
    Raises:  ValueError outside of the domain, or where shapes do not fit.
    Cost:    O(n^3 + d n^2).
    Ref:     Stan Functions Reference, multivariate Gaussian process distribution.

    >>> round(float(multi_gp_lpdf([[1.0, 0.0], [0.5, -0.5]], [[2.0, 0.5], [0.5, 1.0]], [0.7, 1.3])), 6)
    -4.901109
    """
    return bodies.normal_of_weighted_rows(y, _factor("multi_gp_lpdf", "Sigma", Sigma), w, propto)


@with_bodies(
    {"2 2 1": "normal_of_weighted_rows(y, L, wPROPTO)"}, _processes("L", "Cholesky factor"), after=_finite("y")
)
def multi_gp_cholesky_lpdf(y: Nested, L: Nested, w: Nested, propto: bool = False) -> Real:
    """Log density of Gaussian processes: row i of y is normal of mean 0 and covariance L L^T / w_i.

        log f = sum_i multi_normal_lpdf(y_i, 0, L L^T / w_i)

    Shapes:  y (d, n), L (n, n) lower triangular, w (d,).
    Domain:  y finite, w positive and finite, L lower triangular with a positive diagonal.
    Raises:  ValueError outside of the domain, or where shapes do not fit.
    Cost:    O(d n^2).
    Ref:     Stan Functions Reference, multivariate Gaussian process distribution, Cholesky parameterization.

    >>> round(float(multi_gp_cholesky_lpdf([[1.0, 0.0], [0.5, -0.5]], [[1.5, 0.0], [0.4, 0.9]], [0.7, 1.3])), 6)
    -4.950658
    """
    return bodies.normal_of_weighted_rows(y, L, w, propto)


# ---- simplices and counts --------------------------------------------------------------------------------------------
@with_bodies(
    {"1 1": "dirichlet_of_vector(theta, alpha)"},
    ((FIT.format("theta", "alpha"), FITS.format("theta", "alpha")), ("alpha", "positive"), ("theta", "simplex")),
)
def dirichlet_lpdf(theta: Nested, alpha: Nested, propto: bool = False) -> Real:
    """Log density of points of a simplex.

        log f = log Gamma(sum alpha) - sum log Gamma(alpha) + sum (alpha - 1) log theta

    Shapes:  theta and alpha (k,).
    Domain:  theta a simplex, alpha > 0.
    Raises:  ValueError where theta is no simplex, or alpha is not positive.
    Ref:     Kotz, Balakrishnan & Johnson (2000), chapter 49; Stan Functions Reference, Dirichlet distribution.

    >>> float(round(dirichlet_lpdf([0.2, 0.3, 0.5], [1.0, 1.0, 1.0]), 12))
    0.69314718056
    """
    return bodies.dirichlet_of_vector(theta, alpha)


@with_bodies(
    {"1 1": "multinomial_of_shares(n, thetaPROPTO)"},
    ((FIT.format("n", "theta"), FITS.format("n", "theta")), ("n", "count"), ("theta", "simplex")),
)
def multinomial_lpmf(n: Nested, theta: Nested, propto: bool = False) -> Real:
    """Log mass of counts of draws with given probabilities.

        log p = log N! - sum log n! + sum n log theta, with N = sum n

    Shapes:  n and theta (k,).
    Domain:  n = 0, 1, ..., theta a simplex.
    Raises:  ValueError where n are no counts, or theta is no simplex.
    Ref:     Johnson, Kotz & Balakrishnan (1997), chapter 35; Stan Functions Reference, multinomial distribution.

    >>> float(round(multinomial_lpmf([1, 2], [0.5, 0.5]), 12))
    -0.980829253012
    """
    return bodies.multinomial_of_shares(n, theta, propto)


@with_bodies(
    {"1 1": "multinomial_of_odds(n, gammaPROPTO)"},
    ((FIT.format("n", "gamma"), FITS.format("n", "gamma")), ("n", "count"), ("gamma", "finite")),
)
def multinomial_logit_lpmf(n: Nested, gamma: Nested, propto: bool = False) -> Real:
    """Log mass of counts of draws with the probabilities softmax(gamma).

        log p = log N! - sum log n! + sum n (gamma - log sum e^gamma), with N = sum n

    Shapes:  n and gamma (k,).
    Domain:  n = 0, 1, ..., gamma finite.
    Raises:  ValueError outside of the domain, or where lengths differ.
    Ref:     Johnson, Kotz & Balakrishnan (1997), chapter 35;
             Stan Functions Reference, multinomial distribution, logit parameterization.

    >>> round(float(multinomial_logit_lpmf([1, 2], [0.3, -0.5])), 6)
    -1.61469
    """
    return bodies.multinomial_of_odds(n, gamma, propto)


@with_bodies(
    {"1 1": "dirichlet_multinomial_of_counts(n, alphaPROPTO)"},
    ((FIT.format("n", "alpha"), FITS.format("n", "alpha")), ("n", "count"), ("alpha", "positive finite")),
)
def dirichlet_multinomial_lpmf(n: Nested, alpha: Nested, propto: bool = False) -> Real:
    """Log mass of counts of draws whose probabilities are of a Dirichlet density.

        log p = log N + log B(sum alpha, N) - sum_(n > 0) (log n + log B(alpha, n)), with N = sum n

    Shapes:  n and alpha (k,).
    Domain:  n = 0, 1, ..., alpha positive and finite.
    Raises:  ValueError where n are no counts, or alpha is not positive.
    Ref:     Johnson, Kotz & Balakrishnan (1997), chapter 35;
             Stan Functions Reference, Dirichlet-multinomial distribution.

    >>> round(float(dirichlet_multinomial_lpmf([1, 2], [1.5, 2.0])), 6)
    -1.165752
    """
    return bodies.dirichlet_multinomial_of_counts(n, alpha, propto)


# ---- matrices --------------------------------------------------------------------------------------------------------
@with_bodies(
    {"2 0 2": "wishart_of_factors(cholesky(W), cholesky(S), nu)"},
    _matrices("W", "S", "symmetric"), after=_finite("W", "S"),
)  # fmt: skip
def wishart_lpdf(W: Nested, nu: Real, S: Nested, propto: bool = False) -> Real:
    """Log density of a Wishart matrix of nu degrees of freedom and scale S.

        (nu - k - 1) / 2 log|W| - tr(S^-1 W) / 2 - nu / 2 log|S| - nu k / 2 log 2 - log Gamma_k(nu / 2)

    Shapes:  W and S (k, k), nu ().
    Domain:  W and S positive definite, nu > k - 1.
    Raises:  ValueError where nu is at most k - 1, or a matrix is not symmetric and positive definite.
    Ref:     Gupta & Nagar (2000), chapter 3; Stan Functions Reference, Wishart distribution.

    >>> round(float(wishart_lpdf([[2.0, 0.5], [0.5, 1.0]], 3.5, [[1.0, 0.2], [0.2, 1.5]])), 6)
    -4.639437
    """
    return wishart_of_matrix(_factor("wishart_lpdf", "W", W), _factor("wishart_lpdf", "S", S), nu)


@with_bodies(
    {"2 0 2": "inverse_wishart_of_factors(cholesky(W), cholesky(S), nu)"},
    _matrices("W", "S", "symmetric"), after=_finite("W", "S"),
)  # fmt: skip
def inv_wishart_lpdf(W: Nested, nu: Real, S: Nested, propto: bool = False) -> Real:
    """Log density of an inverse Wishart matrix of nu degrees of freedom and scale S.

        -(nu + k + 1) / 2 log|W| - tr(S W^-1) / 2 + nu / 2 log|S| - nu k / 2 log 2 - log Gamma_k(nu / 2)

    Shapes:  W and S (k, k), nu ().
    Domain:  W and S positive definite, nu > k - 1.
    Raises:  ValueError where nu is at most k - 1, or a matrix is not symmetric and positive definite.
    Ref:     Gupta & Nagar (2000), section 3.4; Stan Functions Reference, inverse Wishart distribution.

    >>> round(float(inv_wishart_lpdf([[2.0, 0.5], [0.5, 1.0]], 3.5, [[1.0, 0.2], [0.2, 1.5]])), 6)
    -5.057909
    """
    return inverse_wishart_of_matrix(_factor("inv_wishart_lpdf", "W", W), _factor("inv_wishart_lpdf", "S", S), nu)


@with_bodies(
    {"2 0 2": "wishart_of_factors(lower_triangle(L_W), L_S, nu) + log_jacobian_of_factor(L_WPROPTO)"},
    _matrices("L_W", "L_S", "Cholesky factor"),
)
def wishart_cholesky_lpdf(L_W: Nested, nu: Real, L_S: Nested, propto: bool = False) -> Real:
    """Log density of the Cholesky factor L_W of a Wishart matrix of nu degrees of freedom and scale L_S L_S^T.

        k log 2 + sum_i (nu - i) log L_W,ii - |L_S^-1 L_W|^2 / 2 - nu log|L_S| - nu k / 2 log 2 - log Gamma_k(nu / 2),
        i = 1, ..., k: the density of L_W L_W^T times the Jacobian of the factor, 2^k prod L_W,ii^(k - i + 1).

    Shapes:  L_W and L_S (k, k) lower triangular, nu ().
    Domain:  L_W and L_S lower triangular with a positive diagonal, nu > k - 1.
    Raises:  ValueError where nu is at most k - 1, or a matrix is no Cholesky factor.
    Ref:     Muirhead (1982), theorem 2.1.9; Stan Functions Reference, Wishart distribution, Cholesky parameterization.

    >>> float(round(wishart_cholesky_lpdf([[1.2]], 3.0, [[0.9]]), 12))
    -0.433955580972
    """
    return wishart_of_matrix(np.tril(L_W), L_S, nu) + bodies.log_jacobian_of_factor(L_W, propto)


@with_bodies(
    {"2 0 2": "inverse_wishart_of_factors(L_W, lower_triangle(L_S), nu) + log_jacobian_of_factor(L_WPROPTO)"},
    _matrices("L_W", "L_S", "Cholesky factor"),
)
def inv_wishart_cholesky_lpdf(L_W: Nested, nu: Real, L_S: Nested, propto: bool = False) -> Real:
    """Log density of the Cholesky factor L_W of an inverse Wishart matrix of nu degrees of freedom and scale L_S L_S^T.

        k log 2 - sum_i (nu + i) log L_W,ii - |L_W^-1 L_S|^2 / 2 + nu log|L_S| - nu k / 2 log 2 - log Gamma_k(nu / 2),
        i = 1, ..., k: the density of L_W L_W^T times the Jacobian of the factor, 2^k prod L_W,ii^(k - i + 1).

    Shapes:  L_W and L_S (k, k) lower triangular, nu ().
    Domain:  L_W and L_S lower triangular with a positive diagonal, nu > k - 1.
    Raises:  ValueError where nu is at most k - 1, or a matrix is no Cholesky factor.
    Ref:     Muirhead (1982), theorem 2.1.9;
             Stan Functions Reference, inverse Wishart distribution, Cholesky parameterization.

    >>> round(float(inv_wishart_cholesky_lpdf([[1.2]], 3.0, [[0.9]])), 6)
    -1.552409
    """
    return inverse_wishart_of_matrix(L_W, np.tril(L_S), nu) + bodies.log_jacobian_of_factor(L_W, propto)


@with_bodies({"2 0": "lkj_of_matrix(Omega, cholesky(Omega), eta)"}, (("eta", "positive"), ("Omega", "correlation")))
def lkj_corr_lpdf(Omega: Nested, eta: Real, propto: bool = False) -> Real:
    """Log density of correlation matrices.

        log f = (eta - 1) log|Omega| - log c(eta), c the integral over correlation matrices

    Shapes:  Omega (k, k), eta ().
    Domain:  Omega a positive definite correlation matrix, eta > 0.
    Raises:  ValueError where eta is not positive, or Omega is no correlation matrix.
    Ref:     Lewandowski, Kurowicka & Joe (2009).

    >>> round(float(lkj_corr_lpdf([[1.0, 0.3], [0.3, 1.0]], 2.0)), 6)
    -0.381993
    """
    return _lkj("lkj_corr_lpdf", "Omega", Omega, eta)


@with_bodies(
    {"2 0": "lkj_of_factor(L, eta)"},
    (("eta", "positive"), ("len(L) == L.shape[-1]", "L must be a square matrix"), ("L", "Cholesky factor")),
)
def lkj_corr_cholesky_lpdf(L: Nested, eta: Value, propto: bool = False) -> Real:
    """Log density of Cholesky factors of correlation matrices.

        log f = sum_i (k - i + 2 eta - 2) log L_ii - log c(eta), i = 2, ..., k, c as of lkj_corr_lpdf

    Shapes:  L (k, k) lower triangular, eta ().
    Domain:  L the Cholesky factor of a correlation matrix, eta > 0; that its rows have length 1 is not checked, as in
             Stan.
    Raises:  ValueError where eta or the diagonal of L is not positive, or L is not lower triangular.
    Ref:     Lewandowski, Kurowicka & Joe (2009).

    >>> round(float(lkj_corr_cholesky_lpdf([[1.0, 0.0], [0.6, 0.8]], 2.0)), 6)
    -0.733969
    """
    return bodies.lkj_of_factor(L, eta)


@with_bodies(
    {"2 1 1 0": "lkj_of_covariance(y, mu, sigma, etaPROPTO)"},
    (
        ("len(mu) == len(y)", "mu must be a number or have the length of y"),
        ("len(sigma) == len(y)", "sigma must be a number or have the length of y"),
        ("eta", "positive"), ("mu", "finite"), ("sigma", "positive finite"), ("y", "symmetric"),
        ("np.all(np.diag(y) > 0.0)", "y must have a positive diagonal"),
    ),
    after=_finite("y"),
)  # fmt: skip
def lkj_cov_lpdf(y: Nested, mu: Nested, sigma: Nested, eta: Real, propto: bool = False) -> Real:
    """Log density of covariance matrices: scales that are lognormal, and a correlation matrix of lkj_corr.

        log f = sum_i lognormal_lpdf(s_i, mu_i, sigma_i) + lkj_corr_lpdf(R, eta),
        with s_i = sqrt(y_ii) and R_ij = y_ij / (s_i s_j)

    As Stan has it, it is a density of s and R, without the Jacobian of y.

    Shapes:  y (k, k), mu and sigma (k,) or (), eta ().
    Domain:  y positive definite, sigma and eta > 0.
    Raises:  ValueError where sigma or eta is not positive, or y is not symmetric and positive definite.
    Ref:     Lewandowski, Kurowicka & Joe (2009); Stan Math's lkj_cov_lpdf.

    >>> round(float(lkj_cov_lpdf([[2.0, 0.5], [0.5, 1.0]], [0.1, 0.2], [1.0, 0.8], 2.0)), 6)
    -2.44417
    """
    scales = np.sqrt(np.diagonal(y))
    logs = log(scales)
    r = (logs - mu) / sigma
    total = np.sum(-0.5 * r * r - log(sigma) - logs) - (0.0 if propto else 0.5 * len(y) * LOG_TWO_PI)
    return total + _lkj("lkj_cov_lpdf", "y", y / scales[:, None] / scales, eta)
