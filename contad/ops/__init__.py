"""The rules, by the names that NumPy and SciPy give them."""

from contad.ops import (  # noqa: F401  (they register NumPy's functions)
    accumulations,
    assignment,
    banded_systems,
    calculus,
    constants,
    convolution,
    determinants,
    einsum,
    linear_systems,
    matrix_functions,
    norms,
    orthogonal_factors,
    polar_factors,
    polynomials,
    positive_definite,
    powers,
    products,
    quadratic_forms,
    reductions,
    schur_forms,
    selection,
    shape,
    sparse_products,
    sparse_systems,
    spectra,
    statistics,
    toeplitz_systems,
    tridiagonal_spectra,
    truncated_spectra,
)
from contad.ops.arithmetic import (
    absolute,
    add,
    divide,
    floor_divide,
    multiply,
    negative,
    power,
    remainder,
    subtract,
)
from contad.ops.beta_functions import beta, betaln
from contad.ops.c_functions import fdim, fma, fmod, ldexp
from contad.ops.covariances import covariance, cross_covariance  # noqa: F401  (after the rules of numbers it calls)
from contad.ops.elementary import cbrt, fmax, fmin, hypot, maximum, minimum, reciprocal, sqrt, square
from contad.ops.entropies import entr, kl_div, log1pmx, rel_entr, xlog1py, xlogy
from contad.ops.error_functions import Phi_approx, erf, erfc, erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri
from contad.ops.exponential import exp, exp2, expm1, log, log1p, log2, log10, logaddexp, logaddexp2
from contad.ops.gamma_functions import digamma, gamma, gammaln, polygamma, trigamma
from contad.ops.gamma_ratios import binom, gammasgn, multigammaln, poch, rgamma
from contad.ops.hyperbolic import arccosh, arcsinh, arctanh, cosh, sinh, tanh
from contad.ops.incomplete_beta import betainc, betaincc, betainccinv, betaincinv
from contad.ops.incomplete_gamma import gammainc, gammaincc, gammainccinv, gammaincinv
from contad.ops.log_sums import logsumexp, softmax
from contad.ops.logic import select, stop_gradient
from contad.ops.logistic import expit, log1m, log1m_exp, log1p_exp, log_diff_exp, log_expit, log_mix, logit
from contad.ops.power_transforms import boxcox, boxcox1p, cosm1, exprel, inv_boxcox, inv_boxcox1p
from contad.ops.rounding import ceil, copysign, floor, rint, sign, trunc
from contad.ops.spherical_bessel import sinc, spherical_jn
from contad.ops.trigonometric import arccos, arcsin, arctan, arctan2, cos, deg2rad, rad2deg, sin, tan
from contad.ops.zeta_functions import zeta

degrees = rad2deg
radians = deg2rad

# Stan's names
inv_logit = expit
Phi = ndtr
inv_Phi = ndtri
lgamma = gammaln
lbeta = betaln
log_inv_logit = log_expit
tgamma = gamma
std_normal_qf = ndtri

__all__ = [
    "Phi",
    "Phi_approx",
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "beta",
    "betainc",
    "betaincc",
    "betainccinv",
    "betaincinv",
    "betaln",
    "binom",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "cosm1",
    "deg2rad",
    "degrees",
    "digamma",
    "divide",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expit",
    "expm1",
    "exprel",
    "fdim",
    "floor",
    "floor_divide",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "gammasgn",
    "hypot",
    "inv_Phi",
    "inv_boxcox",
    "inv_boxcox1p",
    "inv_logit",
    "kl_div",
    "lbeta",
    "ldexp",
    "lgamma",
    "log",
    "log1m",
    "log1m_exp",
    "log1p",
    "log1p_exp",
    "log1pmx",
    "log2",
    "log10",
    "log_diff_exp",
    "log_expit",
    "log_inv_logit",
    "log_mix",
    "log_ndtr",
    "logaddexp",
    "logaddexp2",
    "logit",
    "logsumexp",
    "maximum",
    "minimum",
    "multigammaln",
    "multiply",
    "ndtr",
    "ndtri",
    "negative",
    "poch",
    "polygamma",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "rel_entr",
    "remainder",
    "rgamma",
    "rint",
    "select",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "softmax",
    "spherical_jn",
    "sqrt",
    "square",
    "std_normal_qf",
    "stop_gradient",
    "subtract",
    "tan",
    "tanh",
    "tgamma",
    "trigamma",
    "trunc",
    "xlog1py",
    "xlogy",
    "zeta",
]
