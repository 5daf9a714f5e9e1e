"""The exponential of a matrix in compiled code, and its derivative along another one: `contad.ops.matrix_functions`.

    expm_forward(a)            the exponential
    expm_along(a, e)           the derivative at a along e, which is the tangent
    add_expm(z_bar, a, a_bar)  the cotangent, L(a^T, z_bar)

Higham (2005): the Pade approximant of degree 13 of a matrix that is scaled by a power of 2, squared again. By how much is
found as in Al-Mohy & Higham (2009a), who look at norms of powers; of the derivative, which goes through the same steps,
by the norm of the matrix, as in their (2009b).
"""

import math

import numpy as np

from contad.native.called_by_name import MATRIX, called_by_name
from contad.native.compiling import NJIT_OPTIONS
from contad.native.machine_code import njit
from contad.native.triangular_kernels import is_finite, mask_dead

_LIMIT, _LIMIT_ALONG = 4.25, 4.74  # up to where degree 13 is accurate to rounding, the derivative too
_REMAINDER = math.comb(26, 13) * math.factorial(27) * 1.1102230246251565e-16
_B = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


@njit(**NJIT_OPTIONS)
def _norm(a):  # type: ignore[no-untyped-def]
    """The 1-norm."""
    largest = 0.0
    for j in range(a.shape[1]):
        largest = max(largest, np.sum(np.abs(a[:, j])))
    return largest


@njit(**NJIT_OPTIONS)
def _halvings(size, limit):  # type: ignore[no-untyped-def]
    """How often a size is halved to be below the limit."""
    return max(0, math.ceil(math.log2(size / limit))) if size > 0.0 else 0


@njit(**NJIT_OPTIONS)
def _more_halvings(a, s):  # type: ignore[no-untyped-def]
    """How often more for the terms that rounding makes, by the norm of |2^-s a|^27."""
    n = len(a)
    size = np.ones(n)
    for _ in range(27):
        after = np.zeros(n)
        for i in range(n):
            for j in range(n):
                after[j] += size[i] * abs(a[i, j]) * 0.5**s
        size = after
    norm = _norm(a) * 0.5**s
    return math.ceil(math.log2(np.max(size) / norm / _REMAINDER) / 26) if np.max(size) > norm * _REMAINDER else 0


@njit(**NJIT_OPTIONS)
def _is_diagonal(a):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if i != j and a[i, j] != 0.0:
                return False
    return True


@called_by_name(MATRIX)
def expm_forward(a):  # type: ignore[no-untyped-def]
    """The exponential of a; of nan where a is not finite."""
    n = len(a)
    if not is_finite(a):
        return np.full(a.shape, np.nan)
    if _is_diagonal(a):
        made = np.zeros(a.shape)
        for k in range(n):
            made[k, k] = math.exp(a[k, k])
        return made
    a = np.ascontiguousarray(a)
    a2 = np.dot(a, a)
    a4 = np.dot(a2, a2)
    a6 = np.dot(a2, a4)
    d8 = _norm(np.dot(a4, a4)) ** (1 / 8)
    size = min(max(_norm(a6) ** (1 / 6), d8), max(d8, _norm(np.dot(a4, a6)) ** (1 / 10)))
    s = _halvings(size if size < np.inf else _norm(a), _LIMIT)
    s += _more_halvings(a, s)
    a, a2, a4, a6 = a * 0.5**s, a2 * 0.25**s, a4 * 0.0625**s, a6 * 0.015625**s
    b = _B
    eye = np.eye(n)
    w = np.dot(a6, b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye
    u = np.dot(a, w)
    v = np.dot(a6, b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    z = np.ascontiguousarray(np.linalg.solve(v - u, v + u))
    for _ in range(s):
        z = np.dot(z, z)
    return z


@called_by_name(MATRIX, MATRIX)
def expm_along(a, e):  # type: ignore[no-untyped-def]
    """The derivative of the exponential at a along e."""
    n = len(a)
    if not is_finite(a) or not is_finite(e):
        return np.full(a.shape, np.nan)
    s = _halvings(_norm(a), _LIMIT_ALONG)
    a, e = np.ascontiguousarray(a) * 0.5**s, np.ascontiguousarray(e) * 0.5**s
    b = _B
    eye = np.eye(n)
    a2, m2 = np.dot(a, a), np.dot(a, e) + np.dot(e, a)
    a4, m4 = np.dot(a2, a2), np.dot(a2, m2) + np.dot(m2, a2)
    a6, m6 = np.dot(a2, a4), np.dot(a4, m2) + np.dot(m4, a2)
    w1, w1_dot = b[13] * a6 + b[11] * a4 + b[9] * a2, b[13] * m6 + b[11] * m4 + b[9] * m2
    v1, v1_dot = b[12] * a6 + b[10] * a4 + b[8] * a2, b[12] * m6 + b[10] * m4 + b[8] * m2
    w = np.dot(a6, w1) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye
    w_dot = np.dot(a6, w1_dot) + np.dot(m6, w1) + b[7] * m6 + b[5] * m4 + b[3] * m2
    u, u_dot = np.dot(a, w), np.dot(a, w_dot) + np.dot(e, w)
    v = np.dot(a6, v1) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    v_dot = np.dot(a6, v1_dot) + np.dot(m6, v1) + b[6] * m6 + b[4] * m4 + b[2] * m2
    z = np.ascontiguousarray(np.linalg.solve(v - u, v + u))
    z_dot = np.ascontiguousarray(np.linalg.solve(v - u, u_dot + v_dot + np.dot(u_dot - v_dot, z)))
    for _ in range(s):
        z_dot = np.dot(z, z_dot) + np.dot(z_dot, z)
        z = np.dot(z, z)
    return z_dot


@called_by_name(MATRIX, MATRIX, MATRIX)
def add_expm(z_bar, a, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += L(a^T, z_bar)"""
    a_bar += mask_dead(z_bar, expm_along(np.ascontiguousarray(a.T), z_bar))
