"""Values of the classical orthogonal polynomials of whole degree, by their recurrences in the degree.

They can be differentiated with respect to x and the parameters. The degree is a plain whole number.

Ref:  DLMF 18.9.1, table 18.9.1.
"""

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.logic import select
from contad.rules.numpy_functions import stands_for
from contad.variables.array import numbers_in
from contad.variables.number import observe


def whole_degree(name, n):
    """The degree as an int."""
    if numbers_in(n) or np.ndim(n) or not 0 <= n < 10_000 or n != round(float(n)):
        raise UnsupportedError(f"{name}: on variables n must be one plain whole number from 0 to 9999, got {n!r}")
    return round(float(n))


def _one(*args):
    """1 in the shape of the arguments, also where they are infinite; nan where one is nan."""
    ones = observe(lambda *xs: np.where(sum(map(np.isnan, xs)), np.nan, 1.0), *args)
    return ones if ones.ndim else float(ones)


def _climb(n, first, second, step):
    """p_n from p_0 and p_1 by step(k, p_k, p_(k - 1)) = p_(k + 1)."""
    if n == 0:
        return first
    before, z = first, second
    for k in range(1, n):
        before, z = z, step(k, z, before)
    return z


@stands_for("eval_jacobi")
def eval_jacobi(n, alpha, beta, x):
    """Jacobi's polynomial P_n^(alpha, beta)(x).

        z = p_n, p_(k+1) = (a_k x + b_k) p_k - c_k p_(k-1),
        p_0 = 1, p_1 = alpha + 1 + (alpha + beta + 2) (x - 1) / 2

    Domain:  n a whole number from 0 to 9999, every x, alpha and beta > -1.
    Ref:     DLMF 18.9.1, 18.9.2.

    >>> round(eval_jacobi(2, 0.5, 1.5, 0.3), 12)
    -0.6625
    """

    def step(k, z, before):
        c = 2.0 * k + alpha + beta
        scale = 2.0 * (k + 1.0) * (k + alpha + beta + 1.0) * c
        linear = (c + 1.0) * ((c + 2.0) * c * x + alpha * alpha - beta * beta)
        return (linear * z - 2.0 * (k + alpha) * (k + beta) * (c + 2.0) * before) / scale

    first = _one(alpha, beta, x)
    return _climb(whole_degree("eval_jacobi", n), first, alpha + 1.0 + 0.5 * (alpha + beta + 2.0) * (x - 1.0), step)


@stands_for("eval_gegenbauer")
def eval_gegenbauer(n, alpha, x):
    """Gegenbauer's polynomial C_n^(alpha)(x).

        z = p_n, (k + 1) p_(k+1) = 2 (k + alpha) x p_k - (k + 2 alpha - 1) p_(k-1),     p_0 = 1, p_1 = 2 alpha x

    Domain:  n a whole number from 0 to 9999, every x, alpha > -1/2 and not 0.
    Ref:     DLMF 18.9.1, table 18.9.1.

    >>> round(eval_gegenbauer(2, 0.5, 0.3), 12)
    -0.365
    """
    return _climb(
        whole_degree("eval_gegenbauer", n), _one(alpha, x), 2.0 * alpha * x,
        lambda k, z, before: (2.0 * (k + alpha) * x * z - (k + 2.0 * alpha - 1.0) * before) / (k + 1.0),
    )  # fmt: skip


@stands_for("eval_legendre")
def eval_legendre(n, x):
    """Legendre's polynomial P_n(x).

        z = p_n, (k + 1) p_(k+1) = (2 k + 1) x p_k - k p_(k-1),     p_0 = 1, p_1 = x

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.9.1, table 18.9.1.

    >>> round(eval_legendre(2, 0.3), 12)
    -0.365
    """
    return _climb(
        whole_degree("eval_legendre", n), _one(x), x,
        lambda k, z, before: ((2.0 * k + 1.0) * x * z - k * before) / (k + 1.0),
    )  # fmt: skip


@stands_for("eval_chebyt")
def eval_chebyt(n, x):
    """Chebyshev's polynomial of the first kind T_n(x).

        z = p_n, p_(k+1) = 2 x p_k - p_(k-1),     p_0 = 1, p_1 = x

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.9.1, table 18.9.1.

    >>> round(eval_chebyt(2, 0.3), 12)
    -0.82
    """
    return _climb(whole_degree("eval_chebyt", n), _one(x), x, lambda k, z, before: 2.0 * x * z - before)


@stands_for("eval_chebyu")
def eval_chebyu(n, x):
    """Chebyshev's polynomial of the second kind U_n(x).

        z = p_n, p_(k+1) = 2 x p_k - p_(k-1),     p_0 = 1, p_1 = 2 x

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.9.1, table 18.9.1.

    >>> round(eval_chebyu(2, 0.3), 12)
    -0.64
    """
    return _climb(whole_degree("eval_chebyu", n), _one(x), 2.0 * x, lambda k, z, before: 2.0 * x * z - before)


@stands_for("eval_sh_legendre")
def eval_sh_legendre(n, x):
    """The shifted polynomial P_n(2 x - 1).

        z = eval_legendre(n, 2 x - 1)

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.7, table 18.3.1.

    >>> round(eval_sh_legendre(2, 0.65), 12)
    -0.365
    """
    return eval_legendre(n, 2.0 * x - 1.0)


@stands_for("eval_sh_chebyt")
def eval_sh_chebyt(n, x):
    """The shifted polynomial T_n(2 x - 1).

        z = eval_chebyt(n, 2 x - 1)

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.7, table 18.3.1.

    >>> round(eval_sh_chebyt(2, 0.65), 12)
    -0.82
    """
    return eval_chebyt(n, 2.0 * x - 1.0)


@stands_for("eval_sh_chebyu")
def eval_sh_chebyu(n, x):
    """The shifted polynomial U_n(2 x - 1).

        z = eval_chebyu(n, 2 x - 1)

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.7, table 18.3.1.

    >>> round(eval_sh_chebyu(2, 0.65), 12)
    -0.64
    """
    return eval_chebyu(n, 2.0 * x - 1.0)


@stands_for("eval_hermite")
def eval_hermite(n, x):
    """Hermite's polynomial H_n(x) of the weight e^(-x^2).

        z = p_n, p_(k+1) = 2 x p_k - 2 k p_(k-1),     p_0 = 1, p_1 = 2 x

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.9.1, table 18.9.1.

    >>> round(eval_hermite(2, 0.3), 12)
    -1.64
    """
    return _climb(
        whole_degree("eval_hermite", n), _one(x), 2.0 * x, lambda k, z, before: 2.0 * (x * z - k * before)
    )


@stands_for("eval_hermitenorm")
def eval_hermitenorm(n, x):
    """Hermite's polynomial He_n(x) of the weight e^(-x^2 / 2).

        z = p_n, p_(k+1) = x p_k - k p_(k-1),     p_0 = 1, p_1 = x

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.9.1, table 18.9.1.

    >>> round(eval_hermitenorm(2, 0.3), 12)
    -0.91
    """
    return _climb(whole_degree("eval_hermitenorm", n), _one(x), x, lambda k, z, before: x * z - k * before)


@stands_for("eval_genlaguerre")
def eval_genlaguerre(n, alpha, x):
    """Laguerre's generalised polynomial L_n^(alpha)(x).

        z = p_n, (k + 1) p_(k+1) = (2 k + 1 + alpha - x) p_k - (k + alpha) p_(k-1),     p_0 = 1, p_1 = 1 + alpha - x

    Domain:  n a whole number from 0 to 9999, every x, alpha > -1.
    Ref:     DLMF 18.9.1, table 18.9.1.

    >>> round(eval_genlaguerre(2, 0.5, 0.3), 12)
    1.17
    """
    z = _climb(
        whole_degree("eval_genlaguerre", n), _one(alpha, x), 1.0 + alpha - x,
        lambda k, z, before: ((2.0 * k + 1.0 + alpha - x) * z - (k + alpha) * before) / (k + 1.0),
    )  # fmt: skip
    return z * select(alpha > -1.0, 1.0, np.nan)


@stands_for("eval_laguerre")
def eval_laguerre(n, x):
    """Laguerre's polynomial L_n(x).

        z = eval_genlaguerre(n, 0, x)

    Domain:  n a whole number from 0 to 9999, every x.
    Ref:     DLMF 18.9.1, table 18.9.1.

    >>> round(eval_laguerre(2, 0.3), 12)
    0.445
    """
    return eval_genlaguerre(n, 0.0, x)
