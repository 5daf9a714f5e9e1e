"""Systems, inverses, determinants and Cholesky factors in compiled code: values as Numba's own, adjoints and tangents.

The rules are those of `contad.ops.linear_systems`, `determinants` and `triangular_factors`, as loops on matrices in C
order. A right-hand side is a matrix, of one column where it is a vector.
"""

from typing import Any

import numpy as np
from numba import types
from numba.np.linalg import _LAPACK, F_INT_nptype, _check_finite_matrix, _inv_err_handler

from contad.native.arena import INTERNAL_OPTIONS
from contad.native.lapack import trtrs
from contad.native.overloads import add_overload, in_machine_code

_LIMIT = 1e8  # the condition from which an inverse has lost half of the digits
_gesv = _LAPACK().numba_xgesv(types.float64)
_KIND = ord("d")
_UPPER, _NO, _UNIT = ord("U"), ord("N"), ord("U")
_BLOCK = 48  # rows of Cholesky's factor that are reversed together
_SMALL = 24  # from which on LAPACK's blocks are faster than loops


# ---- triangles -------------------------------------------------------------------------------------------------------
@in_machine_code
def solve_lower(t, c, unit):  # type: ignore[no-untyped-def]
    """c = t^-1 c, for the lower triangle of t, whose diagonal is 1 if `unit`."""
    for i in range(t.shape[0]):
        for j in range(i):
            d = t[i, j]
            for k in range(c.shape[1]):
                c[i, k] -= d * c[j, k]
        if not unit:
            for k in range(c.shape[1]):
                c[i, k] /= t[i, i]


def solve_lower_transposed(t: Any, c: Any, unit: Any) -> None:
    """c = t^-T c, for the lower triangle of t, whose diagonal is 1 if `unit`."""
    _solve_lower_transposed(t, c, unit)


@in_machine_code
def _solve_lower_transposed(t, c, unit):  # type: ignore[no-untyped-def]
    for i in range(t.shape[0] - 1, -1, -1):
        if not unit:
            for k in range(c.shape[1]):
                c[i, k] /= t[i, i]
        for j in range(i):
            d = t[i, j]
            for k in range(c.shape[1]):
                c[j, k] -= d * c[i, k]


@add_overload(solve_lower_transposed, jit_options=INTERNAL_OPTIONS)
def _solve_lower_transposed_by_blocks(t: Any, c: Any, unit: Any) -> Any:
    """By LAPACK where it is faster, on copies in Fortran's order."""

    def implementation(t: Any, c: Any, unit: Any) -> None:
        n, count = c.shape
        if n < _SMALL or count < _SMALL:
            _solve_lower_transposed(t, c, unit)
            return
        rows, columns = np.ascontiguousarray(t), np.ascontiguousarray(c.T)  # to LAPACK t^T, and c
        trtrs((_UPPER, _NO, _UNIT if unit else _NO, n, count, rows, n, columns, n))
        c[...] = columns.T

    return implementation


@in_machine_code
def solve_upper(t, c):  # type: ignore[no-untyped-def]
    """c = t^-1 c, for the upper triangle of t."""
    for i in range(t.shape[0] - 1, -1, -1):
        for j in range(i + 1, t.shape[0]):
            d = t[i, j]
            for k in range(c.shape[1]):
                c[i, k] -= d * c[j, k]
        for k in range(c.shape[1]):
            c[i, k] /= t[i, i]


@in_machine_code
def solve_upper_transposed(t, c):  # type: ignore[no-untyped-def]
    """c = t^-T c, for the upper triangle of t."""
    for i in range(t.shape[0]):
        for k in range(c.shape[1]):
            c[i, k] /= t[i, i]
        for j in range(i + 1, t.shape[0]):
            d = t[i, j]
            for k in range(c.shape[1]):
                c[j, k] -= d * c[i, k]


@in_machine_code
def halve_triangle(c):  # type: ignore[no-untyped-def]
    """The lower triangle of c, with half of its diagonal."""
    made = np.tril(c)
    for i in range(c.shape[0]):
        made[i, i] *= 0.5
    return made


@in_machine_code
def onto_lower(c):  # type: ignore[no-untyped-def]
    """The cotangent of a symmetric matrix, of which the lower triangle is read: both sums there, zeros above."""
    made = np.zeros(c.shape)
    for i in range(c.shape[0]):
        made[i, i] = c[i, i]
        for j in range(i):
            made[i, j] = c[i, j] + c[j, i]
    return made


@in_machine_code
def mirror_lower(a):  # type: ignore[no-untyped-def]
    """The symmetric matrix of which a has the lower triangle."""
    made = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            made[i, j] = made[j, i] = a[i, j]
    return made


# ---- checks, and adjoints that nobody asks for -----------------------------------------------------------------------
@in_machine_code
def require_square(a):  # type: ignore[no-untyped-def]
    """Raise what Numba's functions raise unless a is square."""
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square.")


@in_machine_code
def require_rows(a, b):  # type: ignore[no-untyped-def]
    """Raise what Numba's functions raise unless b has as many rows as a."""
    if a.shape[0] != b.shape[0]:
        raise np.linalg.LinAlgError("Incompatible array sizes, system is not dimensionally valid.")


@in_machine_code
def check_system(a, b):  # type: ignore[no-untyped-def]
    """Raise what np.linalg.solve raises, and where a is not square, of which Numba's function takes no notice."""
    require_rows(a, b)
    require_square(a)


@in_machine_code
def check_least_squares(a, b):  # type: ignore[no-untyped-def]
    """Raise what np.linalg.lstsq raises."""
    require_rows(a, b)
    if a.size == 0 or b.size == 0:
        raise np.linalg.LinAlgError("Arrays cannot be empty")


@in_machine_code
def add_if_asked(x_bar, found):  # type: ignore[no-untyped-def]
    """x_bar += found, unless x_bar is empty because nobody asks for it."""
    if x_bar.size != 0:
        x_bar += found


# ---- systems ---------------------------------------------------------------------------------------------------------
def solve_forward(a: Any, b: Any) -> Any:
    """(z, the factors of a in C order, the exchanges of rows); LinAlgError if a is singular."""
    import scipy.linalg

    factors, exchanges = scipy.linalg.lu_factor(a)
    return np.linalg.solve(a, b), factors, exchanges + 1


@add_overload(solve_forward, jit_options=INTERNAL_OPTIONS)
def _solve_forward(a: Any, b: Any) -> Any:
    """By LAPACK's gesv, as Numba's own."""

    def implementation(a: Any, b: Any) -> Any:
        _check_finite_matrix(a)
        _check_finite_matrix(b)
        n, k = b.shape
        factors = np.asfortranarray(a)
        columns = np.asfortranarray(b)
        exchanges = np.empty(n, F_INT_nptype)
        if n != 0:
            _inv_err_handler(_gesv(_KIND, n, k, factors.ctypes, n, exchanges.ctypes, columns.ctypes, n))
        return np.ascontiguousarray(columns), np.ascontiguousarray(factors), exchanges

    return implementation


@in_machine_code
def solve_factored(factors, exchanges, c):  # type: ignore[no-untyped-def]
    """c = a^-1 c"""
    for i in range(exchanges.size):
        _exchange(c, i, int(exchanges[i]) - 1)
    solve_lower(factors, c, True)
    solve_upper(factors, c)


@in_machine_code
def solve_factored_transposed(factors, exchanges, c):  # type: ignore[no-untyped-def]
    """c = a^-T c"""
    solve_upper_transposed(factors, c)
    solve_lower_transposed(factors, c, True)
    for i in range(exchanges.size - 1, -1, -1):
        _exchange(c, i, int(exchanges[i]) - 1)


@in_machine_code
def _exchange(c, i, j):  # type: ignore[no-untyped-def]
    if i != j:
        for k in range(c.shape[1]):
            c[i, k], c[j, k] = c[j, k], c[i, k]


@in_machine_code
def add_solve(z_bar, z, factors, exchanges, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, a_bar -= a^-T z_bar z^T; an empty adjoint is left alone."""
    c = np.empty(z_bar.shape)
    c[...] = z_bar
    solve_factored_transposed(factors, exchanges, c)
    add_if_asked(b_bar, c)
    if a_bar.size != 0:
        a_bar -= np.dot(c, z.T)


@in_machine_code
def solve_tangent(z, factors, exchanges, a_dot, b_dot):  # type: ignore[no-untyped-def]
    """a^-1 (b_dot - a_dot z)"""
    c = b_dot - np.dot(a_dot, z)
    solve_factored(factors, exchanges, c)
    return c


# ---- inverses and determinants ---------------------------------------------------------------------------------------
@in_machine_code
def add_inv(z_bar, z, a_bar):  # type: ignore[no-untyped-def]
    """a_bar -= z^T z_bar z^T"""
    a_bar -= np.dot(np.dot(z.T, z_bar), z.T)


@in_machine_code
def inv_tangent(z, a_dot):  # type: ignore[no-untyped-def]
    """-z a_dot z"""
    return -np.dot(np.dot(z, a_dot), z)


@in_machine_code
def transposed_inverse(log, a):  # type: ignore[no-untyped-def]
    """a^-T, of which nan where a is singular: its logarithm of the determinant is -inf."""
    if log == -np.inf:
        return np.full(a.shape, np.nan)
    return np.ascontiguousarray(np.linalg.inv(a).T)


@in_machine_code
def norm_by_columns(a):  # type: ignore[no-untyped-def]
    """The 1-norm: the largest sum of the magnitudes of a column."""
    largest = 0.0
    for j in range(a.shape[1]):
        total = 0.0
        for i in range(a.shape[0]):
            total += abs(a[i, j])
        largest = max(largest, total)
    return largest


@in_machine_code
def cofactors(z, a):  # type: ignore[no-untyped-def]
    """The matrix of cofactors of a, whose determinant is z: without an inverse that has lost half of the digits."""
    n = a.shape[0]
    if 1e-290 < abs(z) < 1e290:
        inverse = np.linalg.inv(a)
        if norm_by_columns(a) * norm_by_columns(inverse) < _LIMIT:
            return z * np.ascontiguousarray(inverse.T)
    made = np.ones((n, n))
    if n < 2:
        return made
    if n <= 3:
        for i in range(n):
            for j in range(n):
                if n == 2:
                    made[i, j] = a[1 - i, 1 - j] * (1.0 if i == j else -1.0)
                else:
                    after, before, right, left = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                    made[i, j] = a[after, right] * a[before, left] - a[after, left] * a[before, right]
        return made
    u, s, v = np.linalg.svd(a)
    sign = np.round(np.linalg.det(u) * np.linalg.det(v))
    for i in range(n):
        others = sign
        for j in range(n):
            if j != i:
                others *= s[j]
        u[:, i] *= others
    return np.dot(np.ascontiguousarray(u), np.ascontiguousarray(v))


# ---- Cholesky's factor -----------------------------------------------------------------------------------------------
@in_machine_code
def _reverse_columns(z, bar):  # type: ignore[no-untyped-def]
    """The adjoint of the lower triangle, in place of that of its factor: column by column."""
    for j in range(z.shape[0] - 1, -1, -1):
        for i in range(j + 1, z.shape[0]):
            bar[j, j] -= bar[i, j] * z[i, j] / z[j, j]
        for i in range(j, z.shape[0]):
            bar[i, j] /= z[j, j]
        for k in range(j):
            bar[j, k] -= bar[j, j] * z[j, k]
        for i in range(j + 1, z.shape[0]):
            for k in range(j):
                bar[j, k] -= bar[i, j] * z[i, k]
                bar[i, k] -= bar[i, j] * z[j, k]
        bar[j, j] *= 0.5


@in_machine_code
def add_cholesky(z_bar, z, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += z^-T P(z^T z_bar) z^-1, on the lower triangle; P: the lower triangle, diagonal halved

    From the last rows to the first, by blocks (Murray 2016, arXiv:1602.07527): twice the work of the factor.
    """
    bar = np.tril(z_bar)
    end = z.shape[0]
    while end > 0:
        start = max(0, end - _BLOCK)
        corner = np.ascontiguousarray(z[start:end, start:end])
        if end < z.shape[0]:
            below, turned = z[end:, start:end], np.ascontiguousarray(bar[end:, start:end].T)
            solve_lower_transposed(corner, turned, False)
            columns = np.ascontiguousarray(turned.T)
            bar[end:, start:end] = columns
            bar[start:end, start:end] -= np.tril(np.dot(turned, np.ascontiguousarray(below)))
            if start > 0:
                before = np.ascontiguousarray(z[start:end, :start])
                bar[end:, :start] -= np.dot(columns, before)
                bar[start:end, :start] -= np.dot(turned, np.ascontiguousarray(z[end:, :start]))
        inner = np.ascontiguousarray(bar[start:end, start:end])
        _reverse_columns(corner, inner)
        bar[start:end, start:end] = inner
        if start > 0:
            bar[start:end, :start] -= np.dot(inner + inner.T, np.ascontiguousarray(z[start:end, :start]))
        end = start
    a_bar += bar


@in_machine_code
def cholesky_tangent(z, a_dot):  # type: ignore[no-untyped-def]
    """z P(z^-1 a_dot z^-T)"""
    half = mirror_lower(a_dot)
    solve_lower(z, half, False)
    turned = np.ascontiguousarray(half.T)
    solve_lower(z, turned, False)
    return np.dot(z, halve_triangle(turned))
