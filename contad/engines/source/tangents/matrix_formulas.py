"""The tangents of functions of matrices: each a function that the generator reads, and writes into a program.

    <name>(*what it reads, *what it computes, *the tangents of its operands) -> the tangents of what it computes

They follow the kernels of `runtime`: where those read one triangle, so do these.
"""

import numpy as np

from contad.ops.log_sums import softmax
from contad.scipy.linalg import expm, solve_triangular
from contad.variables.open_types import ArrayValue, Real

Array = ArrayValue


def solve(a: Array, b: Array, z: Array, a_dot: Array, b_dot: Array) -> Array:
    """a^-1 (b_dot - a_dot z)"""
    return np.linalg.solve(a, b_dot - a_dot @ z)


def inv(a: Array, z: Array, a_dot: Array) -> Array:
    """-z a_dot z"""
    return -(z @ a_dot @ z)


def slogdet(a: Array, sign: Real, log: Real, a_dot: Array) -> Real:
    """tr(a^-1 a_dot); nan where a is singular"""
    found = np.nan
    if log != -np.inf:
        found = np.sum(np.linalg.inv(a).T * a_dot)
    return found


def cholesky(a: Array, z: Array, a_dot: Array) -> Array:
    """z P(z^-1 a_dot z^-T), of the lower triangle of a; P: the lower triangle, diagonal halved"""
    n = a.shape[0]
    inner = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            inner[i, j] = a_dot[i, j] if j <= i else a_dot[j, i]
    half = solve_triangular(z, inner, lower=True, check_finite=False)
    whole = solve_triangular(z, half.T, lower=True, check_finite=False)
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            lower[i, j] = whole[i, j]
        lower[i, i] = 0.5 * whole[i, i]
    return z @ lower


def eigh(a: Array, w: Array, v: Array, a_dot: Array) -> tuple[Array, Array]:
    """w_dot = diag(c), v_dot = v (f c) with c = v^T a_dot v, f_ij = 1 / (w_j - w_i)"""
    n = a.shape[0]
    s = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            s[i, j] = a_dot[i, j] if j <= i else a_dot[j, i]
    c = v.T @ s @ v
    values = np.empty(n)
    turned = np.zeros((n, n))
    for i in range(n):
        values[i] = c[i, i]
        for j in range(n):
            if i != j:
                turned[i, j] = c[i, j] / (w[j] - w[i])
    return values, v @ turned


def eigvalsh(a: Array, w: Array, a_dot: Array) -> Array:
    """diag(v^T a_dot v)"""
    n = a.shape[0]
    s = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            s[i, j] = a_dot[i, j] if j <= i else a_dot[j, i]
    _, v = np.linalg.eigh(a)
    t = s @ v
    values = np.zeros(n)
    for j in range(n):
        for i in range(n):
            values[j] += v[i, j] * t[i, j]
    return values


def norm(a: Array, z: Real, a_dot: Array) -> Real:
    """tr(a^T a_dot) / z, and 0 at the kink"""
    found = 0.0
    if z != 0.0:
        found = np.sum(a * a_dot) / z
    return found


def solve_triangular_as_it_is(
    a: Array, b: Array, trans: bool, lower: bool, unit: bool, finite: bool, z: Array, a_dot: Array, b_dot: Array
) -> Array:
    """a^-1 (b_dot - a_dot z), of a triangle"""
    n = a.shape[0]
    own = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if (j < i and lower) or (j > i and not lower) or (j == i and not unit):
                own[i, j] = a_dot[i, j]
    return solve_triangular(a, b_dot - own @ z, lower=lower, unit_diagonal=unit, check_finite=False)


def solve_triangular_transposed(
    a: Array, b: Array, trans: bool, lower: bool, unit: bool, finite: bool, z: Array, a_dot: Array, b_dot: Array
) -> Array:
    """a^-T (b_dot - a_dot^T z), of a triangle"""
    n = a.shape[0]
    own = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if (j < i and lower) or (j > i and not lower) or (j == i and not unit):
                own[j, i] = a_dot[i, j]
    return solve_triangular(a, b_dot - own @ z, trans=1, lower=lower, unit_diagonal=unit, check_finite=False)


def expm_of_block(a: Array, z: Array, a_dot: Array) -> Array:
    """The upper corner of exp((a, a_dot), (0, a))"""
    n = a.shape[0]
    both = np.zeros((2 * n, 2 * n))
    for i in range(n):
        for j in range(n):
            both[i, j] = a[i, j]
            both[n + i, n + j] = a[i, j]
            both[i, n + j] = a_dot[i, j]
    whole = expm(both)
    corner = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            corner[i, j] = whole[i, n + j]
    return corner


def logsumexp_of_all(a: Array, z: Real, a_dot: Array) -> Real:
    """sum(softmax(a) a_dot)"""
    return np.sum(softmax(a) * a_dot)


def softmax_of_all(a: Array, z: Array, a_dot: Array) -> Array:
    """z (a_dot - sum(z a_dot))"""
    return z * (a_dot - np.sum(z * a_dot))


def logsumexp_down(a: Array, axis: int, z: Array, a_dot: Array) -> Array:
    """Likewise, of columns."""
    return np.sum(softmax(a, axis=0) * a_dot, axis=0)


def logsumexp_across(a: Array, axis: int, z: Array, a_dot: Array) -> Array:
    """Likewise, of rows."""
    return np.sum(softmax(a, axis=1) * a_dot, axis=1)


def softmax_down(a: Array, axis: int, z: Array, a_dot: Array) -> Array:
    """Likewise, of columns."""
    m, n = z.shape
    found = np.empty((m, n))
    for j in range(n):
        total = 0.0
        for i in range(m):
            total += z[i, j] * a_dot[i, j]
        for i in range(m):
            found[i, j] = z[i, j] * (a_dot[i, j] - total)
    return found


def softmax_across(a: Array, axis: int, z: Array, a_dot: Array) -> Array:
    """Likewise, of rows."""
    m, n = z.shape
    found = np.empty((m, n))
    for i in range(m):
        total = 0.0
        for j in range(n):
            total += z[i, j] * a_dot[i, j]
        for j in range(n):
            found[i, j] = z[i, j] * (a_dot[i, j] - total)
    return found
