"""The exponential of a matrix in compiled code, and its derivative along another one: `contad.ops.matrix_functions`.

    expm_with_powers(a, powers)            the exponential
    along_by_powers(a, e, powers)          the derivative at a along e, which is the tangent
    add_by_powers(z_bar, a, powers, a_bar) the cotangent, L(a^T, z_bar)

Higham (2005): the matrix is scaled by a power of 2, and its Pade approximant of degree 13 is squared again. For the
exponential the scaling follows from norms of powers, as in Al-Mohy & Higham (2009a). The derivative goes through the
same steps; there it follows from the norm of the matrix, as in their (2009b).
"""

import math

import numpy as np

from contad.compile.called_by_name import MATRIX, called_by_name
from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit
from contad.kernels.factor_kernels import norm_by_columns
from contad.kernels.matrix_loops import turn, write_rows
from contad.kernels.product_kernels import is_finite
from contad.kernels.products_in_place import add_product
from contad.kernels.small_systems import solve_factored, solve_forward
from contad.kernels.triangular_kernels import mask_dead

_LIMIT, _LIMIT_ALONG = 4.25, 4.74  # norm up to which degree 13 is accurate to rounding, also for the derivative
_REMAINDER = math.comb(26, 13) * math.factorial(27) * 1.1102230246251565e-16
_B = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


@njit(**NJIT_OPTIONS)
def _halvings(size, limit):  # type: ignore[no-untyped-def]
    """The number of halvings that bring a size below the limit."""
    return max(0, math.ceil(math.log2(size / limit))) if size > 0.0 else 0


@njit(**NJIT_OPTIONS)
def _more_halvings(a, s):  # type: ignore[no-untyped-def]
    """Further halvings because of rounding in the terms, by the norm of |2^-s a|^27, estimated from a third of that
    power."""
    n = len(a)
    positive = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            positive[i, j] = abs(a[i, j]) * 0.5**s
    norm = norm_by_columns(a) * 0.5**s
    size, largest = np.ones(n), 0.0
    for k in range(27):
        after = np.zeros(n)
        for i in range(n):
            for j in range(n):
                after[j] += size[i] * positive[i, j]
        size = after
        if k in (8, 26):
            largest = 0.0
            for x in size:
                largest = max(largest, x)
            if k == 8 and largest**3 <= norm * _REMAINDER:
                return 0
    return math.ceil(math.log2(largest / norm / _REMAINDER) / 26) if largest > norm * _REMAINDER else 0


@njit(**NJIT_OPTIONS)
def _combine(one, x, a, y, b, z, c):  # type: ignore[no-untyped-def]
    """one 1 + x a + y b + z c"""
    made = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[i, j] = x * a[i, j] + y * b[i, j] + z * c[i, j]
        made[i, i] += one
    return made


@njit(**NJIT_OPTIONS)
def _scale(x, a):  # type: ignore[no-untyped-def]
    return _combine(0.0, x, a, 0.0, a, 0.0, a)


@njit(**NJIT_OPTIONS)
def _add(a, b):  # type: ignore[no-untyped-def]
    return _combine(0.0, 1.0, a, 1.0, b, 0.0, a)


@njit(**NJIT_OPTIONS)
def _product_along(a, a_dot, b, b_dot):  # type: ignore[no-untyped-def]
    """The derivative of a b."""
    return _add_products(np.zeros(a.shape), a, a_dot, b, b_dot)


@njit(**NJIT_OPTIONS)
def _add_products(c, a, a_dot, b, b_dot):  # type: ignore[no-untyped-def]
    """c and the derivative of a b, in place."""
    add_product(1.0, a, b_dot, c)
    add_product(1.0, a_dot, b, c)
    return c


@njit(**NJIT_OPTIONS)
def _divide(u, v, c):  # type: ignore[no-untyped-def]
    """(v - u)^-1 c, the factors of v - u, and its row exchanges."""
    return solve_forward(_combine(0.0, 1.0, v, -1.0, u, 0.0, v), c)


@njit(**NJIT_OPTIONS)
def _is_diagonal(a):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if i != j and a[i, j] != 0.0:
                return False
    return True


@njit(**NJIT_OPTIONS)
def _write_powers(a, powers):  # type: ignore[no-untyped-def]
    """Write a^2, a^4 and a^6 one below the other, and return them."""
    n = len(a)
    a2 = np.dot(a, a)
    a4 = np.dot(a2, a2)
    a6 = np.dot(a2, a4)
    for k, power in enumerate((a2, a4, a6)):
        write_rows(powers, k * n, power)
    return a2, a4, a6


@called_by_name(MATRIX, MATRIX)
def expm_with_powers(a, powers):  # type: ignore[no-untyped-def]
    """The exponential of a; `powers` gets a^2, a^4 and a^6, for the derivative. If a is not finite, the result is
    nan."""
    n = len(a)
    if not is_finite(a):
        return np.full(a.shape, np.nan)
    a2, a4, a6 = _write_powers(a, powers)
    if _is_diagonal(a):
        made = np.zeros(a.shape)
        for k in range(n):
            made[k, k] = math.exp(a[k, k])
        return made
    d6 = norm_by_columns(a6) ** (1 / 6)
    size = max(norm_by_columns(a4) ** (1 / 4), d6)
    if not size <= _LIMIT:  # larger powers may allow fewer halvings
        d8 = norm_by_columns(np.dot(a4, a4)) ** (1 / 8)
        size = min(max(d6, d8), max(d8, norm_by_columns(np.dot(a4, a6)) ** (1 / 10)))
    s = _halvings(size if size < np.inf else norm_by_columns(a), _LIMIT)
    s += _more_halvings(a, s)
    a, a2, a4, a6 = _scale(0.5**s, a), _scale(0.25**s, a2), _scale(0.0625**s, a4), _scale(0.015625**s, a6)
    b = _B
    w = _add(np.dot(a6, _combine(0.0, b[9], a2, b[11], a4, b[13], a6)), _combine(b[1], b[3], a2, b[5], a4, b[7], a6))
    v = _add(np.dot(a6, _combine(0.0, b[8], a2, b[10], a4, b[12], a6)), _combine(b[0], b[2], a2, b[4], a4, b[6], a6))
    u = np.dot(a, w)
    z = _divide(u, v, _add(v, u))[0]
    for _ in range(s):
        z = np.dot(z, z)
    return z


@called_by_name(MATRIX, MATRIX, MATRIX)
def along_by_powers(a, e, powers):  # type: ignore[no-untyped-def]
    """Likewise, with a^2, a^4 and a^6 one below the other."""
    if not is_finite(a) or not is_finite(e):
        return np.full(a.shape, np.nan)
    n = len(a)
    s = _halvings(norm_by_columns(a), _LIMIT_ALONG)
    a, e = _scale(0.5**s, a), _scale(0.5**s, e)
    a2, a4, a6 = _scale(0.25**s, powers[:n]), _scale(0.0625**s, powers[n : 2 * n]), _scale(0.015625**s, powers[2 * n :])
    b = _B
    m2 = _product_along(a, e, a, e)
    m4 = _product_along(a2, m2, a2, m2)
    m6 = _product_along(a2, m2, a4, m4)
    w1, w1_dot = _combine(0.0, b[9], a2, b[11], a4, b[13], a6), _combine(0.0, b[9], m2, b[11], m4, b[13], m6)
    v1, v1_dot = _combine(0.0, b[8], a2, b[10], a4, b[12], a6), _combine(0.0, b[8], m2, b[10], m4, b[12], m6)
    w = _add(np.dot(a6, w1), _combine(b[1], b[3], a2, b[5], a4, b[7], a6))
    v = _add(np.dot(a6, v1), _combine(b[0], b[2], a2, b[4], a4, b[6], a6))
    w_dot = _add_products(_combine(0.0, b[3], m2, b[5], m4, b[7], m6), a6, m6, w1, w1_dot)
    v_dot = _add_products(_combine(0.0, b[2], m2, b[4], m4, b[6], m6), a6, m6, v1, v1_dot)
    u, u_dot = np.dot(a, w), _product_along(a, e, w, w_dot)
    z, factors, exchanges = _divide(u, v, _add(v, u))
    z_dot = _add(u_dot, v_dot)
    add_product(1.0, _combine(0.0, 1.0, u_dot, -1.0, v_dot, 0.0, u_dot), z, z_dot)
    solve_factored(factors, exchanges, z_dot)
    for _ in range(s):
        z_dot = _product_along(z, z_dot, z, z_dot)
        z = np.dot(z, z)
    return z_dot


@called_by_name(MATRIX, MATRIX, MATRIX, MATRIX)
def add_by_powers(z_bar, a, powers, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += L(a, z_bar^T)^T, which is the same, from the powers of a."""
    found = mask_dead(z_bar, turn(along_by_powers(a, turn(z_bar), powers)))
    for i in range(len(a)):
        for j in range(len(a)):
            a_bar[i, j] += found[i, j]
