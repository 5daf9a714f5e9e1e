"""Stan's functions of numbers: those that are other names for rules, and those that are one line of rules.

They work element by element on arrays, and on variables of every engine.
"""

from typing import Any

import numpy as np

import contad.ops as operations
from contad.distributions.docstrings import describe
from contad.distributions.faces import check_domain, function_of_text
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
    arctan as atan, arctan2 as atan2, arctanh as atanh, beta, betainc as inc_beta, betaincinv as inv_inc_beta,
    binom as choose, cbrt, ceil, cos, cosh, digamma, erf, erfc, erfcinv as inv_erfc, exp, exp2, expm1, fdim, floor, fma,
    fmax, fmin, fmod, gammainc as gamma_p, gammaincc as gamma_q, hypot, inv_Phi, inv_logit,
    iv as modified_bessel_first_kind, jv as bessel_first_kind, kv as modified_bessel_second_kind, lambert_w0,
    lambert_wm1, lbeta, ldexp, lgamma, log, log1m, log1m_exp, log1p, log1p_exp, log2, log10, log_diff_exp,
    log_inv_logit, logaddexp, logit, logsumexp, multigammaln, owens_t, poch as rising_factorial, power as pow,
    ndtri_exp as std_normal_log_qf, reciprocal as inv, select, sin, sinh, sqrt_at_rest as sqrt, square, std_normal_qf,
    tan, tanh, tgamma, trigamma, trunc, xlogy as lmultiply, yv as bessel_second_kind,
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
    "std_normal_log_qf", "std_normal_qf", "student_t_qf", "tan", "tanh", "tgamma", "trigamma", "trunc",
]  # fmt: skip


stdtrit: Any = face_of(__name__, "stdtrit", student_quantile)


def _composition(
    name: str, names: str, expression: str, title: str, formula: str, domain: str, source: str, example: str,
    result: str,
) -> AsWritten:  # fmt: skip
    """A function of rules: one expression, which Python evaluates and compiled code uses as a body."""
    known = vars(operations) | {"stdtrit": stdtrit}
    made = function_of_text(f"def {name}({names}):\n    return {expression}\n", name, known)
    fields = {"Domain": f"{domain}.", "Ref": f"{source}."}
    made.__doc__ = describe(f"{title}.", formula, fields, f">>> round({name}({example}), 12)\n{result}")
    found = AsWritten(made)
    found.__module__ = __name__
    return found


# ---- one expression each ---------------------------------------------------------------------------------------------
inv_sqrt = _composition(
    "inv_sqrt", "x", "reciprocal(sqrt_at_rest(x))", "Reciprocal of the square root",
    "z = 1 / sqrt(x),     dz/dx = -z / (2 x)", "x > 0; inf at 0, nan below",
    "Stan Functions Reference, inverse functions", "4.0", "0.5",
)  # fmt: skip
inv_square = _composition(
    "inv_square", "x", "reciprocal(square(x))", "Reciprocal of the square", "z = 1 / x^2,     dz/dx = -2 z / x",
    "x other than 0", "Stan Functions Reference, inverse functions", "2.0", "0.25",
)  # fmt: skip
inv_cloglog = _composition(
    "inv_cloglog", "x", "-expm1(-exp(x))", "Inverse of the complementary log-log link",
    "z = 1 - e^(-e^x),     dz/dx = e^(x - e^x)", "every x; z = 0 at -inf and 1 at inf",
    "McCullagh & Nelder (1989), section 4.3", "0.0", "0.632120558829",
)  # fmt: skip
log1m_inv_logit = _composition(
    "log1m_inv_logit", "x", "log_expit(-x)", "Logarithm of one less the logistic function",
    "z = log(1 - expit(x)) = -log(1 + e^x),     dz/dx = -expit(x)", "every x",
    "Stan Functions Reference, composed functions", "0.0", "-0.69314718056",
)  # fmt: skip
log_inv_logit_diff = _composition(
    "log_inv_logit_diff", "x, y", "log_diff_exp(log_expit(x), log_expit(y))",
    "Logarithm of a difference of logistic functions", "z = log(expit(x) - expit(y))", "x > y",
    "Stan Functions Reference, composed functions", "1.0, 0.0", "-1.465084013465",
)  # fmt: skip
hypergeometric_1F0 = _composition(
    "hypergeometric_1F0", "a, z", "exp(-a * log1m(z))", "Hypergeometric function of no lower parameter",
    "z_0 = (1 - z)^-a = sum_k (a)_k z^k / k!", "|z| < 1", "DLMF 15.4.6, 16.2.1", "2.0, 0.5", "4.0",
)  # fmt: skip


@with_bodies(
    {
        "0 0": "-log(y_hat) if y != 0 else -minus(y_hat)",
        "01234 01234": "-np.where(y != 0, np.log(y_hat), np.log1p(-y_hat))",
    },
    minus=log1m,
)
def binary_log_loss(y: Value, y_hat: Value) -> Value:
    """Log loss of a predicted probability for an outcome 0 or 1.

        z = -log(y_hat) where y is 1, -log(1 - y_hat) where it is 0

    Domain:  0 <= y_hat <= 1.
    Ref:     Good (1952).

    >>> round(binary_log_loss(1, 0.5), 12)
    0.69314718056
    """
    return -select(y != 0, log(y_hat), log1m(y_hat))


# ---- factorials ------------------------------------------------------------------------------------------------------
falling_factorial = _composition(
    "falling_factorial", "x, n", "poch(x - n + 1.0, n)", "Falling factorial",
    "z = Gamma(x + 1) / Gamma(x - n + 1)", "x > -1 and x - n > -1, or n a whole number", "DLMF 5.2.5, of x - n + 1",
    "5.0, 2.0", "20.0",
)  # fmt: skip
log_falling_factorial = _composition(
    "log_falling_factorial", "x, n", "gammaln(x + 1.0) - gammaln(x - n + 1.0)", "Logarithm of the falling factorial",
    "z = log(Gamma(x + 1) / Gamma(x - n + 1)),     dz/dn = psi(x - n + 1)", "x > -1, x - n > -1",
    "DLMF 5.2.5, of x - n + 1", "5.0, 2.0", "2.995732273554",
)  # fmt: skip
log_rising_factorial = _composition(
    "log_rising_factorial", "x, n", "gammaln(x + n) - gammaln(x)", "Logarithm of the rising factorial",
    "z = log(Gamma(x + n) / Gamma(x)),     dz/dn = psi(x + n)", "x > 0, x + n > 0", "DLMF 5.2.5", "4.0, 2.0",
    "2.995732273554",
)  # fmt: skip
lchoose = _composition(
    "lchoose", "x, y", "-log(x + 1.0) - betaln(x - y + 1.0, y + 1.0)", "Logarithm of the binomial coefficient",
    "z = log(Gamma(x + 1) / (Gamma(y + 1) Gamma(x - y + 1)))", "-1 < y < x + 1", "DLMF 1.2.1", "5.0, 2.0",
    "2.302585092994",
)  # fmt: skip


@with_bodies({"01234 01234": "rule(x, 1.0 * n)"}, rule=multigammaln)
def lmgamma(n: Value, x: Value) -> Value:
    """Logarithm of the multivariate gamma function, `multigammaln(x, n)`.

        z = n (n - 1) / 4 log pi + sum_(j < n) log Gamma(x - j / 2)

    Domain:  x > (n - 1) / 2.
    Ref:     DLMF 35.3.4.

    >>> round(lmgamma(2, 3.5), 12)
    2.466485725832
    """
    return multigammaln(x, 1.0 * as_array(n) if np.ndim(n) else float(n))


# ---- others ----------------------------------------------------------------------------------------------------------
log_modified_bessel_first_kind = _composition(
    "log_modified_bessel_first_kind", "v, z", "log(ive(v, z)) + z",
    "Logarithm of the modified Bessel function of the first kind, which does not overflow", "log I_v(z)",
    "z > 0, v >= 0", "DLMF 10.25.2", "1.0, 800.0", "795.73828656",
)  # fmt: skip
student_t_qf = _composition(
    "student_t_qf", "p, nu, mu=0.0, sigma=1.0", "mu + sigma * stdtrit(nu, p)",
    "Quantile of Student's t distribution with nu degrees of freedom, location mu and scale sigma",
    "z = y where student_t_cdf(y, nu, mu, sigma) = p", "0 < p < 1, nu > 0, sigma > 0",
    "Johnson, Kotz & Balakrishnan (1995), chapter 28", "0.9, 4.0", "1.533206274059",
)  # fmt: skip


@with_bodies({"1": "rule(x)", "2": "rule(x, axis=1)"}, rule=operations.softmax)
def softmax(x: Nested, axis: int | None = -1) -> ArrayValue:
    """e^x over its sum; for a list of vectors, each along the last axis.

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
    """Logarithm of softmax; for a list of vectors, each along the last axis.

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
    {"12": "rule(x)", "0 01234": "both(x, y)", "1234 0": "both(x, y)", **{f"{n} {n}": "both(x, y)" for n in "1234"}},
    rule=logsumexp, both=logaddexp,
)  # fmt: skip
def log_sum_exp(x: Nested, y: Nested | None = None, axis: Any = None, b: Any = None, keepdims: bool = False) -> Value:
    """log of the sum of e^x over all elements; for two arguments log(e^x + e^y), element by element.

        z = log sum_i e^(x_i),     z = log(e^x + e^y)

    The options are those of `contad.logsumexp`, also inside njit.

    Domain:  every x and y.
    Ref:     Blanchard, Higham & Higham (2021); Stan Functions Reference, composed functions.

    >>> round(log_sum_exp(0.5, 0.5), 12), round(float(log_sum_exp([0.5, 0.5])), 12)
    (1.19314718056, 1.19314718056)
    """
    return logsumexp(x, axis=axis, b=b, keepdims=keepdims) if y is None else logaddexp(x, y)


@with_bodies(
    {
        "0 0 0": "rule(theta, x, y)", "012 012 012": "mixture_of_each(theta, x, y)",
        "1 1": "mixture_of_vectors(theta, x)", "1 2": "mixture_of_rows(theta, x)",
    },
    rule=operations.log_mix,
)  # fmt: skip
def log_mix(theta: Value, x: Value, y: Value | None = None) -> Value:
    """Logarithm of a mixture of two densities, or of as many as theta has shares, from their logarithms.

        z = log(theta e^x + (1 - theta) e^y),     z = log sum_i theta_i e^(x_i)

    Shapes:  theta, x and y that broadcast; or theta and x (k,), or x (n, k), whose rows give a sum.
    Domain:  0 <= theta <= 1, every x and y; outside z is nan. For vectors, theta is between 0 and 1, and x is finite.
    Raises:  ValueError if vectors are outside their domain.
    Ref:     Stan Functions Reference, composed functions.

    >>> round(log_mix(0.25, -1000.0, -1001.0), 12), round(float(log_mix([0.25, 0.75], [-1000.0, -1001.0])), 12)
    (-1000.642625980491, -1000.642625980491)
    """
    if y is not None:
        return operations.log_mix(theta, x, y)
    shares, logs = as_array(theta), as_array(x)
    if np.ndim(shares) != 1 or np.ndim(logs) not in (1, 2) or np.shape(shares) != np.shape(logs)[-1:]:
        arguments.fail("log_mix", "x", f"be a vector as theta, of shape {np.shape(shares)}", f"shape {np.shape(logs)}")
    check_domain("log_mix", "theta", shares, "probability")
    check_domain("log_mix", "x", logs, "finite")
    mixture = bodies.mixture_of_vectors if np.ndim(logs) == 1 else bodies.mixture_of_rows
    return mixture(shares, logs)
