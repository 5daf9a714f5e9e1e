"""Stan's functions of numbers: those that are other names for rules, and those that are a line of rules.

They work element by element on arrays, and on variables of every engine.
"""

from typing import Any

import numpy as np

import contad.ops as operations
from contad.distributions.faces import check_domain
from contad.ops.probabilities import stdtrit as student_quantile
from contad.ops.products import as_array
from contad.scipy.special_in_numba import face_of
from contad.stan import bodies
from contad.stan.checks import check_nonzero_size
from contad.stan.compiled import AsWritten, with_bodies
from contad.variables import arguments
from contad.variables.open_types import ArrayValue, Nested, Value

from contad.ops import (  # isort: skip
    Phi, Phi_approx, absolute as abs, arccos as acos, arccosh as acosh, arcsin as asin, arcsinh as asinh,
    arctan as atan, arctan2 as atan2, arctanh as atanh, beta, betainc as inc_beta, betaincinv as inv_inc_beta, betaln,
    binom as choose, cbrt, ceil, cos, cosh, digamma, erf, erfc, erfcinv as inv_erfc, exp, exp2, expm1, fdim, floor, fma,
    fmax, fmin, fmod, gammainc as gamma_p, gammaincc as gamma_q, gammaln, hypot, inv_Phi, inv_logit,
    iv as modified_bessel_first_kind, ive, jv as bessel_first_kind, kv as modified_bessel_second_kind, lambert_w0,
    lambert_wm1, lbeta, ldexp, lgamma, log, log1m, log1m_exp, log1p, log1p_exp, log2, log10, log_diff_exp, log_expit,
    log_inv_logit, logaddexp, logit, logsumexp, multigammaln, owens_t, poch as rising_factorial, power as pow,
    reciprocal as inv, select, sin, sinh, sqrt_at_rest as sqrt, square, std_normal_qf, tan, tanh, tgamma, trigamma,
    trunc, xlogy as lmultiply, yv as bessel_second_kind,
)  # fmt: skip

__all__ = [
    "Phi", "Phi_approx", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bessel_first_kind",
    "bessel_second_kind", "beta", "binary_log_loss", "cbrt", "ceil", "choose", "cos", "cosh", "digamma", "erf", "erfc",
    "exp", "exp2", "expm1", "falling_factorial", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "gamma_p", "gamma_q",
    "hypergeometric_1F0", "hypot", "inc_beta", "inv", "inv_Phi", "inv_cloglog", "inv_erfc", "inv_inc_beta", "inv_logit",
    "inv_sqrt", "inv_square", "lambert_w0", "lambert_wm1", "lbeta", "lchoose", "ldexp", "lgamma", "lmgamma",
    "lmultiply", "log", "log1m", "log1m_exp", "log1m_inv_logit", "log1p", "log1p_exp", "log2", "log10", "log_diff_exp",
    "log_falling_factorial", "log_inv_logit", "log_inv_logit_diff", "log_mix", "log_modified_bessel_first_kind",
    "log_rising_factorial", "log_softmax", "log_sum_exp", "logit", "modified_bessel_first_kind",
    "modified_bessel_second_kind", "owens_t", "pow", "rising_factorial", "sin", "sinh", "softmax", "sqrt", "square",
    "std_normal_qf", "student_t_qf", "tan", "tanh", "tgamma", "trigamma", "trunc",
]  # fmt: skip


stdtrit: Any = face_of(__name__, "stdtrit", student_quantile)


@AsWritten
def inv_sqrt(x: Value) -> Value:
    """Reciprocal of the square root.

        z = 1 / sqrt(x),     dz/dx = -z / (2 x)

    Domain:  x > 0; inf at 0, nan below.
    Ref:     Stan Functions Reference, inverse functions.

    >>> inv_sqrt(4.0)
    0.5
    """
    return inv(sqrt(x))


@AsWritten
def inv_square(x: Value) -> Value:
    """Reciprocal of the square.

        z = 1 / x^2,     dz/dx = -2 z / x

    Domain:  x other than 0.
    Ref:     Stan Functions Reference, inverse functions.

    >>> inv_square(2.0)
    0.25
    """
    return inv(square(x))


@AsWritten
def inv_cloglog(x: Value) -> Value:
    """Inverse of the complementary log-log link.

        z = 1 - e^(-e^x),     dz/dx = e^(x - e^x)

    Domain:  every x; z = 0 at -inf and 1 at inf.
    Ref:     McCullagh & Nelder (1989), section 4.3.

    >>> round(inv_cloglog(0.0), 12)
    0.632120558829
    """
    return -expm1(-exp(x))


@AsWritten
def log1m_inv_logit(x: Value) -> Value:
    """Logarithm of one less the logistic function.

        z = log(1 - expit(x)) = -log(1 + e^x),     dz/dx = -expit(x)

    Domain:  every x.
    Ref:     Stan Functions Reference, composed functions.

    >>> round(log1m_inv_logit(0.0), 12)
    -0.69314718056
    """
    return log_expit(-x)


@AsWritten
def log_inv_logit_diff(x: Value, y: Value) -> Value:
    """Logarithm of a difference of logistic functions.

        z = log(expit(x) - expit(y))

    Domain:  x > y.
    Ref:     Stan Functions Reference, composed functions.

    >>> round(log_inv_logit_diff(1.0, 0.0), 12)
    -1.465084013465
    """
    return log_diff_exp(log_expit(x), log_expit(y))


@with_bodies({"0 0": "-log(y_hat) if y != 0 else -minus(y_hat)"}, minus=log1m)
def binary_log_loss(y: Value, y_hat: Value) -> Value:
    """Loss of a probability of an outcome that is 1 or 0.

        z = -log(y_hat) where y is 1, -log(1 - y_hat) where it is 0

    Domain:  0 <= y_hat <= 1.
    Ref:     Good (1952).

    >>> round(binary_log_loss(1, 0.5), 12)
    0.69314718056
    """
    return -select(y != 0, log(y_hat), log1m(y_hat))


@AsWritten
def hypergeometric_1F0(a: Value, z: Value) -> Value:
    """Hypergeometric function of no lower parameter.

        z_0 = (1 - z)^-a = sum_k (a)_k z^k / k!

    Domain:  |z| < 1.
    Ref:     DLMF 15.4.6, 16.2.1.

    >>> hypergeometric_1F0(2.0, 0.5)
    4.0
    """
    return exp(-a * log1m(z))


# ---- factorials ------------------------------------------------------------------------------------------------------
@AsWritten
def falling_factorial(x: Value, n: Value) -> Value:
    """Falling factorial.

        z = Gamma(x + 1) / Gamma(x - n + 1)

    Domain:  x > -1 and x - n > -1, or n a whole number.
    Ref:     DLMF 5.2.5, of x - n + 1.

    >>> falling_factorial(5.0, 2.0)
    20.0
    """
    return rising_factorial(x - n + 1.0, n)


@AsWritten
def log_falling_factorial(x: Value, n: Value) -> Value:
    """Logarithm of the falling factorial.

        z = log(Gamma(x + 1) / Gamma(x - n + 1)),     dz/dn = psi(x - n + 1)

    Domain:  x > -1, x - n > -1.
    Ref:     DLMF 5.2.5, of x - n + 1.

    >>> round(log_falling_factorial(5.0, 2.0), 12)
    2.995732273554
    """
    return gammaln(x + 1.0) - gammaln(x - n + 1.0)


@AsWritten
def log_rising_factorial(x: Value, n: Value) -> Value:
    """Logarithm of the rising factorial.

        z = log(Gamma(x + n) / Gamma(x)),     dz/dn = psi(x + n)

    Domain:  x > 0, x + n > 0.
    Ref:     DLMF 5.2.5.

    >>> round(log_rising_factorial(4.0, 2.0), 12)
    2.995732273554
    """
    return gammaln(x + n) - gammaln(x)


@AsWritten
def lchoose(x: Value, y: Value) -> Value:
    """Logarithm of the binomial coefficient.

        z = log(Gamma(x + 1) / (Gamma(y + 1) Gamma(x - y + 1)))

    Domain:  -1 < y < x + 1.
    Ref:     DLMF 1.2.1.

    >>> round(lchoose(5.0, 2.0), 12)
    2.302585092994
    """
    return -log(x + 1.0) - betaln(x - y + 1.0, y + 1.0)


@with_bodies({"0 0": "rule(x, 1.0 * n)"}, rule=multigammaln)
def lmgamma(n: int, x: Value) -> Value:
    """Logarithm of the multivariate gamma function, `multigammaln(x, n)`.

        z = n (n - 1) / 4 log pi + sum_(j < n) log Gamma(x - j / 2)

    Domain:  x > (n - 1) / 2.
    Ref:     DLMF 35.3.4.

    >>> round(lmgamma(2, 3.5), 12)
    2.466485725832
    """
    return multigammaln(x, float(n))


# ---- others ----------------------------------------------------------------------------------------------------------
@AsWritten
def log_modified_bessel_first_kind(v: Value, z: Value) -> Value:
    """Logarithm of the modified Bessel function of the first kind, which does not overflow.

        log I_v(z)

    Domain:  z > 0, v >= 0.
    Ref:     DLMF 10.25.2.

    >>> round(log_modified_bessel_first_kind(1.0, 800.0), 9)
    795.73828656
    """
    return log(ive(v, z)) + z


@AsWritten
def student_t_qf(p: Value, nu: Value, mu: Value = 0.0, sigma: Value = 1.0) -> Value:
    """Quantile of Student's t distribution with nu degrees of freedom, location mu and scale sigma.

        z = y where student_t_cdf(y, nu, mu, sigma) = p

    Domain:  0 < p < 1, nu > 0, sigma > 0.
    Ref:     Johnson, Kotz & Balakrishnan (1995), chapter 28.

    >>> round(student_t_qf(0.9, 4.0), 12)
    1.533206274059
    """
    return mu + sigma * stdtrit(nu, p)


@with_bodies({"1": "rule(x)", "2": "rule(x, axis=1)"}, rule=operations.softmax)
def softmax(x: Nested, axis: int | None = -1) -> ArrayValue:
    """e^x over its sum; of a list of vectors that of each, along the last axis.

        z_i = e^(x_i) / sum_j e^(x_j)

    Shapes:  x (..., n) -> (..., n).
    Domain:  every finite x.
    Ref:     Blanchard, Higham & Higham (2021); Stan Functions Reference, softmax.

    >>> softmax([[0.0, 0.0], [1000.0, 1000.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    return operations.softmax(as_array(x), axis=axis)


@with_bodies(
    {"1": "x - rule(x)", "2": "x - rule(x, axis=1).reshape((x.shape[0], 1))"},
    inside=[("x.shape[-1] > 0", "x must not be empty")], rule=logsumexp,
)  # fmt: skip
def log_softmax(x: Nested) -> ArrayValue:
    """Logarithm of softmax; of a list of vectors that of each, along the last axis.

        z_i = x_i - log sum_j e^(x_j)

    Shapes:  x (..., n) -> (..., n).
    Domain:  every finite x.
    Raises:  ValueError for a vector without elements.
    Ref:     Blanchard, Higham & Higham (2021).

    >>> import numpy as np
    >>> log_softmax(np.array([0.0, 0.0])).round(12)
    array([-0.69314718, -0.69314718])
    """
    a = as_array(x)
    check_nonzero_size("log_softmax", "x", np.empty(np.shape(a)))
    return a - logsumexp(a, axis=-1, keepdims=True)


@with_bodies(
    {"1": "rule(x)", "2": "rule(x)", "0 0": "both(x, y)", "1 1": "both(x, y)", "2 2": "both(x, y)"},
    rule=logsumexp, both=logaddexp,
)  # fmt: skip
def log_sum_exp(x: Nested, y: Nested | None = None, axis: Any = None, b: Any = None, keepdims: bool = False) -> Value:
    """log of the sum of e^x over all elements; of two arguments log(e^x + e^y), element by element.

        z = log sum_i e^(x_i),     z = log(e^x + e^y)

    The options are those of `contad.logsumexp`, which inside njit takes them, too.

    Domain:  every x and y.
    Ref:     Blanchard, Higham & Higham (2021); Stan Functions Reference, composed functions.

    >>> round(log_sum_exp(0.5, 0.5), 12), round(float(log_sum_exp([0.5, 0.5])), 12)
    (1.19314718056, 1.19314718056)
    """
    return logsumexp(x, axis=axis, b=b, keepdims=keepdims) if y is None else logaddexp(x, y)


@with_bodies({"0 0 0": "rule(theta, x, y)", "1 1": "mixture_of_vectors(theta, x)"}, rule=operations.log_mix)
def log_mix(theta: Value, x: Value, y: Value | None = None) -> Value:
    """Logarithm of a mixture of two densities, or of as many as theta has shares, from their logarithms.

        z = log(theta e^x + (1 - theta) e^y),     z = log sum_i theta_i e^(x_i)

    Shapes:  theta, x and y as they broadcast; or theta and x (k,).
    Domain:  0 <= theta <= 1, every x and y; outside z is nan. Of vectors theta is between 0 and 1, and x is finite.
    Raises:  ValueError where vectors are outside of their domain.
    Ref:     Stan Functions Reference, composed functions.

    >>> round(log_mix(0.25, -1000.0, -1001.0), 12), round(float(log_mix([0.25, 0.75], [-1000.0, -1001.0])), 12)
    (-1000.642625980491, -1000.642625980491)
    """
    if y is not None:
        return operations.log_mix(theta, x, y)
    shares, logs = as_array(theta), as_array(x)
    if np.ndim(shares) != 1 or np.shape(shares) != np.shape(logs):
        arguments.fail("log_mix", "x", f"be a vector as theta, of shape {np.shape(shares)}", f"shape {np.shape(logs)}")
    check_domain("log_mix", "theta", shares, "probability")
    check_domain("log_mix", "x", logs, "finite")
    return bodies.mixture_of_vectors(shares, logs)
