"""Stan's log densities of vectors and matrices.

y is one vector (k,), or a row for each of n observations (n, k), over which the result is summed; so may be mu.
Symmetric matrices must be so up to 1e-8; their lower triangle is read. Domains are Stan's. `propto=True` drops the
terms without differentiable arguments; the Dirichlet, Wishart and LKJ densities have no such terms.
"""

import functools

from contad.stan.compiled import density_of_vectors
from contad.stan.domains import Demands

__all__ = [
    "dirichlet_lpdf", "dirichlet_multinomial_lpmf", "inv_wishart_cholesky_lpdf", "inv_wishart_lpdf",
    "lkj_corr_cholesky_lpdf", "lkj_corr_lpdf", "lkj_cov_lpdf", "multi_gp_cholesky_lpdf", "multi_gp_lpdf",
    "multi_normal_cholesky_lpdf", "multi_normal_lpdf", "multi_normal_prec_lpdf", "multi_student_t_cholesky_lpdf",
    "multi_student_t_lpdf", "multinomial_logit_lpmf", "multinomial_lpmf", "wishart_cholesky_lpdf", "wishart_lpdf",
]  # fmt: skip

ROWS = (
    ("y.ndim == 1 or mu.ndim == 1 or len(y) == len(mu)", "y and mu must have as many rows, or one of them be a vector"),
)
REAL = (("y", "real"), ("mu", "finite"))  # violations make the value not finite
# like Stan, which checks the factor for one vector less strictly
LOWER = (
    "is_cholesky_factor(L) or (y.ndim == 1 and mu.ndim == 1 and is_factor(L))",
    "L must be lower triangular with a positive diagonal",
)
FIT, FITS = "{0}.shape[0] == {1}.shape[0]", "{0} and {1} must have the same length"


_density = functools.partial(density_of_vectors, __name__)


def _of_rows(body: str, more: str, between: str = "") -> dict[str, str]:
    """The compiled forms of a density of y - mu, for one vector or rows of them; `between` are the axes of the
    arguments in between."""
    return {
        f"1 {between}1 2": f"{body}(as_row(y - mu), {more}PROPTO)",
        f"12 {between}12 2": f"{body}(y - mu, {more}PROPTO)",
    }


def _finite(*names: str) -> Demands:
    return [(name, "finite") for name in names]


def _vectors(matrix: str, kind: tuple[str, str]) -> Demands:
    """The demands of a density of vectors y and mu and a matrix."""
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
    """The demands of a density of a matrix, degrees of freedom nu and a scale matrix."""
    return (
        (f"len({first}) == len({second})", f"{first} and {second} must have the same size"),
        (f"nu > len({first}) - 1.0", "nu must be greater than the size of the matrix less 1"),
        (first, kind), (second, kind),
    )  # fmt: skip


# ---- normal and Student's t vectors ----------------------------------------------------------------------------------
multi_normal_cholesky_lpdf = _density(
    "multi_normal_cholesky_lpdf", "y mu L", _of_rows("normal_of_rows", "L"), _vectors("L", LOWER), after=REAL, empty="y"
)
multi_normal_lpdf = _density(
    "multi_normal_lpdf", "y mu Sigma", _of_rows("normal_of_rows", "cholesky(Sigma)"),
    _vectors("Sigma", ("Sigma", "symmetric")), after=(*REAL, *_finite("Sigma")), empty="y", far=True,
)  # fmt: skip
multi_normal_prec_lpdf = _density(
    "multi_normal_prec_lpdf", "y mu Omega", _of_rows("normal_of_rows_by_precision", "cholesky(Omega)"),
    _vectors("Omega", ("Omega", "symmetric")), after=(*REAL, *_finite("Omega")), empty="y", far=True,
)  # fmt: skip
multi_student_t_lpdf = _density(
    "multi_student_t_lpdf", "y nu mu Sigma", _of_rows("student_of_rows", "nu, cholesky(Sigma)", "0 "),
    (("nu", "positive finite"), *_vectors("Sigma", ("Sigma", "symmetric"))), after=(*REAL, *_finite("Sigma")),
    empty="y", far=True,
)  # fmt: skip
multi_student_t_cholesky_lpdf = _density(
    "multi_student_t_cholesky_lpdf", "y nu mu L", _of_rows("student_of_rows", "nu, L", "0 "),
    (("nu", "positive finite"), *_vectors("L", ("L", "Cholesky factor"))), after=REAL, empty="y",
)  # fmt: skip
multi_gp_lpdf = _density(
    "multi_gp_lpdf", "y Sigma w", {"2 2 1": "normal_of_weighted_rows(y, cholesky(Sigma), wPROPTO)"},
    _processes("Sigma", "symmetric"), after=_finite("y", "Sigma"),
)  # fmt: skip
multi_gp_cholesky_lpdf = _density(
    "multi_gp_cholesky_lpdf", "y L w", {"2 2 1": "normal_of_weighted_rows(y, L, wPROPTO)"},
    _processes("L", "Cholesky factor"), after=_finite("y"),
)  # fmt: skip

# ---- simplices and counts --------------------------------------------------------------------------------------------
dirichlet_lpdf = _density(
    "dirichlet_lpdf", "theta alpha",
    {
        "1 1": "dirichlet_of_vector(theta, alpha)", "2 2": "dirichlet_of_rows(theta, alpha)",
        "2 1": "dirichlet_of_rows(theta, np.ones((len(theta), 1)) * alpha)",
        "1 2": "dirichlet_of_rows(np.ones((len(alpha), 1)) * theta, alpha)",
    },
    (
        ("theta.shape[-1] == alpha.shape[-1]", FITS.format("theta", "alpha")),
        ("theta.ndim == 1 or alpha.ndim == 1 or len(theta) == len(alpha)", "theta and alpha must have as many rows"),
        ("alpha", "positive"), ("theta", "simplex"),
    ),
)  # fmt: skip
multinomial_lpmf = _density(
    "multinomial_lpmf", "n theta", {"1 1": "multinomial_of_shares(n, thetaPROPTO)"},
    ((FIT.format("n", "theta"), FITS.format("n", "theta")), ("n", "count"), ("theta", "simplex")),
)  # fmt: skip
multinomial_logit_lpmf = _density(
    "multinomial_logit_lpmf", "n gamma", {"1 1": "multinomial_of_odds(n, gammaPROPTO)"},
    ((FIT.format("n", "gamma"), FITS.format("n", "gamma")), ("n", "count"), ("gamma", "finite")),
)  # fmt: skip
dirichlet_multinomial_lpmf = _density(
    "dirichlet_multinomial_lpmf", "n alpha", {"1 1": "dirichlet_multinomial_of_counts(n, alphaPROPTO)"},
    ((FIT.format("n", "alpha"), FITS.format("n", "alpha")), ("n", "count"), ("alpha", "positive finite")),
)  # fmt: skip

# ---- matrices --------------------------------------------------------------------------------------------------------
wishart_lpdf = _density(
    "wishart_lpdf", "W nu S", {"2 0 2": "wishart_of_factors(cholesky(W), cholesky(S), nu)"},
    _matrices("W", "S", "symmetric"), after=_finite("W", "S"),
)  # fmt: skip
inv_wishart_lpdf = _density(
    "inv_wishart_lpdf", "W nu S", {"2 0 2": "inverse_wishart_of_factors(cholesky(W), cholesky(S), nu)"},
    _matrices("W", "S", "symmetric"), after=_finite("W", "S"),
)  # fmt: skip
wishart_cholesky_lpdf = _density(
    "wishart_cholesky_lpdf", "L_W nu L_S",
    {"2 0 2": "wishart_of_factors(np.tril(L_W), L_S, nu) + log_jacobian_of_factor(L_WPROPTO)"},
    _matrices("L_W", "L_S", "Cholesky factor"),
)  # fmt: skip
inv_wishart_cholesky_lpdf = _density(
    "inv_wishart_cholesky_lpdf", "L_W nu L_S",
    {"2 0 2": "inverse_wishart_of_factors(L_W, np.tril(L_S), nu) + log_jacobian_of_factor(L_WPROPTO)"},
    _matrices("L_W", "L_S", "Cholesky factor"),
)  # fmt: skip
lkj_corr_lpdf = _density(
    "lkj_corr_lpdf", "Omega eta",
    {"2 0": "lkj_of_determinant(log_determinant_spd(Omega), eta, Omega.shape[0])"},
    (("eta", "positive"), ("Omega", "correlation")),
)  # fmt: skip
lkj_corr_cholesky_lpdf = _density(
    "lkj_corr_cholesky_lpdf", "L eta", {"2 0": "lkj_of_factor(L, eta)"},
    (("eta", "positive"), ("len(L) == L.shape[-1]", "L must be a square matrix"), ("L", "Cholesky factor")),
)  # fmt: skip
lkj_cov_lpdf = _density(
    "lkj_cov_lpdf", "y mu sigma eta", {"2 1 1 0": "lkj_of_covariance(y, mu, sigma, etaPROPTO)"},
    (
        ("len(mu) == len(y)", "mu must be a number or have the length of y"),
        ("len(sigma) == len(y)", "sigma must be a number or have the length of y"),
        ("eta", "positive"), ("mu", "finite"), ("sigma", "positive finite"), ("y", "symmetric"),
        ("np.all(np.diag(y) > 0.0)", "y must have a positive diagonal"),
    ),
    after=_finite("y"),
)  # fmt: skip
