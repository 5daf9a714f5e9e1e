"""The rules, by the names that NumPy, SciPy and Stan give them.

The bodies of rules call these functions. Other code finds them in `numpy`, `contad.scipy.special` and `contad.stan`.
On object arrays of variables, some of NumPy's functions work only in their form here.
"""

from contad.ops import (  # noqa: F401  (they register functions of NumPy and SciPy)
    accumulations,
    assignment,
    banded_systems,
    calculus,
    cholesky_systems,
    constants,
    convolution,
    determinants,
    einsum,
    fourier_transforms,
    histograms,
    kinks,
    linear_systems,
    matrix_functions,
    norms,
    orthogonal_factors,
    orthogonal_polynomials,
    paddings,
    piecewise_polynomials,
    polar_factors,
    poles,
    polynomials,
    positive_definite,
    powers,
    probabilities,
    products,
    quadratic_forms,
    quadrature,
    quantiles,
    real_transforms,
    recursive_filters,
    reductions,
    rotations,
    sampled_images,
    schur_forms,
    selection,
    shape,
    singular_spectra,
    sparse_products,
    sparse_systems,
    spectra,
    spline_bases,
    statistics,
    toeplitz_systems,
    tridiagonal_spectra,
    truncated_spectra,
    unique_elements,
    written_functions,
)
from contad.ops.accumulations import linear_recurrence
from contad.ops.airy_functions import airy_ai, airy_aip, airy_bi, airy_bip
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
from contad.ops.bessel_functions import i0, i0e, i1, i1e, iv, ive, j0, j1, jv, k0, k0e, k1, k1e, kv, kve, y0, y1, yv
from contad.ops.beta_functions import beta, betaln
from contad.ops.c_functions import fdim, fma, fmod, ldexp
from contad.ops.covariances import covariance, cross_covariance  # noqa: F401  (after the rules of numbers it calls)
from contad.ops.elementary import cbrt, fmax, fmin, hypot, maximum, minimum, reciprocal, sqrt, sqrt_at_rest, square
from contad.ops.elliptic_integrals import ellipe, ellipeinc, ellipk, ellipkinc, ellipkm1
from contad.ops.entropies import entr, kl_div, log1pmx, rel_entr, xlog1py, xlogy
from contad.ops.error_functions import Phi_approx, erf, erfc, erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri
from contad.ops.error_integrals import dawsn, erfi, fresnel_c, fresnel_s, ndtri_exp, owens_t
from contad.ops.exponential import exp, exp2, expm1, log, log1p, log2, log10, logaddexp, logaddexp2
from contad.ops.exponential_integrals import chi, ci, exp1, expi, expn, shi, si
from contad.ops.gamma_functions import digamma, gamma, gammaln, polygamma, trigamma
from contad.ops.gamma_ratios import binom, gammasgn, multigammaln, poch, rgamma
from contad.ops.holomorphic import log_abs, reciprocal_real, sqrt_real  # noqa: F401  (parts of complex functions)
from contad.ops.hyperbolic import arccosh, arcsinh, arctanh, cosh, sinh, tanh
from contad.ops.hypergeometric_functions import hyp0f1, hyp1f1, hyp2f1
from contad.ops.incomplete_beta import betainc, betaincc, betainccinv, betaincinv
from contad.ops.incomplete_gamma import gammainc, gammaincc, gammainccinv, gammaincinv
from contad.ops.log_sums import logsumexp, softmax
from contad.ops.logarithmic_functions import lambert_w0, lambert_wm1, spence, wrightomega
from contad.ops.logic import select, stop_gradient
from contad.ops.logistic import expit, log1m, log1m_exp, log1p_exp, log_diff_exp, log_expit, log_mix, logit
from contad.ops.power_transforms import boxcox, boxcox1p, cosm1, exprel, inv_boxcox, inv_boxcox1p
from contad.ops.rounding import ceil, copysign, floor, rint, sign, trunc
from contad.ops.spherical_bessel import sinc, spherical_jn
from contad.ops.tricomi_functions import hyperu
from contad.ops.trigonometric import arccos, arcsin, arctan, arctan2, cos, deg2rad, rad2deg, sin, tan
from contad.ops.wright_functions import wright_bessel
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
    "Phi", "Phi_approx", "absolute", "add", "airy_ai", "airy_aip", "airy_bi", "airy_bip", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan", "arctan2", "arctanh", "beta", "betainc", "betaincc", "betainccinv", "betaincinv", "betaln",
    "binom", "boxcox", "boxcox1p", "cbrt", "ceil", "chi", "ci", "copysign", "cos", "cosh", "cosm1", "dawsn", "deg2rad",
    "degrees", "digamma", "divide", "ellipe", "ellipeinc", "ellipk", "ellipkinc", "ellipkm1", "entr", "erf", "erfc",
    "erfcinv", "erfcx", "erfi", "erfinv", "exp", "exp1", "exp2", "expi", "expit", "expm1", "expn", "exprel", "fdim",
    "floor", "floor_divide", "fma", "fmax", "fmin", "fmod", "fresnel_c", "fresnel_s", "gamma", "gammainc", "gammaincc",
    "gammainccinv", "gammaincinv", "gammaln", "gammasgn", "hyp0f1", "hyp1f1", "hyp2f1", "hyperu", "hypot", "i0", "i0e",
    "i1", "i1e", "inv_Phi", "inv_boxcox", "inv_boxcox1p", "inv_logit", "iv", "ive", "j0", "j1", "jv", "k0", "k0e", "k1",
    "k1e", "kl_div", "kv", "kve", "lambert_w0", "lambert_wm1", "lbeta", "ldexp", "lgamma", "linear_recurrence", "log",
    "log1m", "log1m_exp", "log1p", "log1p_exp", "log1pmx", "log2", "log10", "log_diff_exp", "log_expit",
    "log_inv_logit", "log_mix", "log_ndtr", "logaddexp", "logaddexp2", "logit", "logsumexp", "maximum", "minimum",
    "multigammaln", "multiply", "ndtr", "ndtri", "ndtri_exp", "negative", "owens_t", "poch", "polygamma", "power",
    "rad2deg", "radians", "reciprocal", "rel_entr", "remainder", "rgamma", "rint", "select", "shi", "si", "sign", "sin",
    "sinc", "sinh", "softmax", "spence", "spherical_jn", "sqrt", "sqrt_at_rest", "square", "std_normal_qf",
    "stop_gradient", "subtract", "tan", "tanh", "tgamma", "trigamma", "trunc", "wright_bessel", "wrightomega",
    "xlog1py", "xlogy", "y0", "y1", "yv", "zeta",
]  # fmt: skip
