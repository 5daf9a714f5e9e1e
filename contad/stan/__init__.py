"""Stan's names: functions of vectors and matrices under the names and with the arguments that Stan gives them.

A function is here where NumPy has none of that meaning, or where a name that is longer than one call says more; the
rules are in `contad.ops`. What NumPy or SciPy spells itself, and what is missing, says `python -m contad.table --stan`.

The functions take arrays, nested lists and variables, in Python code on every eager engine, at every order. They never
broadcast lengths that differ. Where a matrix is symmetric by its meaning the lower triangle is read. Its cotangent has
there the sum of both triangles, and zeros above; so it is the derivative of what was read.

>>> import contad, numpy as np
>>> def log_density(y, x, sigma, length_scale):
...     k = add_diag(gp_exp_quad_cov(x, sigma, length_scale), 0.1)
...     return -0.5 * (y @ mdivide_left_spd(k, y) + log_determinant_spd(k))
>>> y, x = np.array([0.3, -0.2, 0.7]), np.array([0.0, 1.0, 2.5])
>>> contad.grad(log_density, argnums=3)(y, x, 1.0, 0.8)
0.10758201
"""

from types import ModuleType
from typing import Any

from contad.ops import (
    Phi,
    beta,
    cbrt,
    ceil,
    cos,
    cosh,
    digamma,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    floor,
    fmax,
    fmin,
    hypot,
    inv_logit,
    inv_Phi,
    lbeta,
    lgamma,
    log,
    log1m,
    log1m_exp,
    log1p,
    log1p_exp,
    log2,
    log10,
    log_diff_exp,
    log_inv_logit,
    logit,
    sin,
    sinh,
    softmax,
    sqrt,
    square,
    std_normal_qf,
    tan,
    tanh,
    tgamma,
    trigamma,
    trunc,
)
from contad.stan.decompositions import (
    cholesky_decompose,
    eigendecompose,
    eigendecompose_sym,
    eigenvalues,
    eigenvalues_sym,
    eigenvectors,
    eigenvectors_sym,
    qr,
    qr_Q,
    qr_R,
    qr_thin,
    qr_thin_Q,
    qr_thin_R,
    singular_values,
    svd,
    svd_U,
    svd_V,
)
from contad.stan.gaussian_processes import (
    gp_dot_prod_cov,
    gp_exp_quad_cov,
    gp_exponential_cov,
    gp_matern32_cov,
    gp_matern52_cov,
    gp_periodic_cov,
)
from contad.stan.matrix_algebra import (
    add_diag,
    columns_dot_product,
    columns_dot_self,
    crossprod,
    diag_post_multiply,
    diag_pre_multiply,
    elt_divide,
    elt_multiply,
    matrix_exp,
    matrix_exp_multiply,
    matrix_power,
    multiply_lower_tri_self_transpose,
    quad_form,
    quad_form_diag,
    quad_form_sym,
    rows_dot_product,
    rows_dot_self,
    scale_matrix_exp_multiply,
    tcrossprod,
    trace_gen_quad_form,
    trace_quad_form,
)
from contad.stan.solves import (
    chol2inv,
    determinant,
    generalized_inverse,
    inverse,
    inverse_spd,
    log_determinant,
    log_determinant_spd,
    mdivide_left,
    mdivide_left_spd,
    mdivide_left_tri_low,
    mdivide_right,
    mdivide_right_spd,
    mdivide_right_tri_low,
)
from contad.stan.sparse import (
    csr_extract,
    csr_extract_u,
    csr_extract_v,
    csr_extract_w,
    csr_matrix_times_vector,
    csr_to_dense_matrix,
)

__all__ = [
    "Phi",
    "add_diag",
    "beta",
    "cbrt",
    "ceil",
    "chol2inv",
    "cholesky_decompose",
    "columns_dot_product",
    "columns_dot_self",
    "cos",
    "cosh",
    "crossprod",
    "csr_extract",
    "csr_extract_u",
    "csr_extract_v",
    "csr_extract_w",
    "csr_matrix_times_vector",
    "csr_to_dense_matrix",
    "determinant",
    "diag_post_multiply",
    "diag_pre_multiply",
    "digamma",
    "eigendecompose",
    "eigendecompose_sym",
    "eigenvalues",
    "eigenvalues_sym",
    "eigenvectors",
    "eigenvectors_sym",
    "elt_divide",
    "elt_multiply",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fmax",
    "fmin",
    "generalized_inverse",
    "gp_dot_prod_cov",
    "gp_exp_quad_cov",
    "gp_exponential_cov",
    "gp_matern32_cov",
    "gp_matern52_cov",
    "gp_periodic_cov",
    "hypot",
    "inv_Phi",
    "inv_logit",
    "inverse",
    "inverse_spd",
    "lbeta",
    "lgamma",
    "log",
    "log1m",
    "log1m_exp",
    "log1p",
    "log1p_exp",
    "log2",
    "log10",
    "log_determinant",
    "log_determinant_spd",
    "log_diff_exp",
    "log_inv_logit",
    "logit",
    "matrix_exp",
    "matrix_exp_multiply",
    "matrix_power",
    "mdivide_left",
    "mdivide_left_spd",
    "mdivide_left_tri_low",
    "mdivide_right",
    "mdivide_right_spd",
    "mdivide_right_tri_low",
    "multiply_lower_tri_self_transpose",
    "qr",
    "qr_Q",
    "qr_R",
    "qr_thin",
    "qr_thin_Q",
    "qr_thin_R",
    "quad_form",
    "quad_form_diag",
    "quad_form_sym",
    "rows_dot_product",
    "rows_dot_self",
    "scale_matrix_exp_multiply",
    "sin",
    "singular_values",
    "sinh",
    "softmax",
    "sqrt",
    "square",
    "std_normal_qf",
    "svd",
    "svd_U",
    "svd_V",
    "tan",
    "tanh",
    "tcrossprod",
    "tgamma",
    "trace_gen_quad_form",
    "trace_quad_form",
    "trigamma",
    "trunc",
]

# functions of functions, which stand above the transforms, and are imported when they are first used
__all__ += ["integrate_1d", "integrate_1d_double_exponential", "integrate_1d_gauss_kronrod"]
__all__ += ["ode_adams", "ode_adams_tol", "ode_adjoint_tol_ctl", "ode_bdf", "ode_bdf_tol"]
__all__ += ["ode_ckrk", "ode_ckrk_tol", "ode_rk45", "ode_rk45_tol"]


def _functionals() -> ModuleType:
    import contad.stan.functionals

    return contad.stan.functionals


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(_functionals(), name)
    raise AttributeError(f"module 'contad.stan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
