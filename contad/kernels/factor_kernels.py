"""Systems, inverses, determinants and Cholesky factors in compiled code: Numba's values, adjoints and tangents.

The rules are those of `contad.ops.linear_systems`, `determinants` and `triangular_factors`, as loops on matrices in C
order. A right-hand side is a matrix; a vector is a matrix of one column.
"""

from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.lapack import potrf, trtrs
from contad.compile.overloads import add_overload, in_machine_code
from contad.kernels.factors_by_fours import MOST_ROWS, factor_by_fours, reverse_by_fours
from contad.kernels.matrix_loops import (
    add_into,
    add_mirrored,
    add_scaled,
    dot,
    halve_triangle,
    in_order,
    mirror_lower,
    scale_columns,
    subtract,
    take_part,
    turn,
    write_into,
)
from contad.kernels.products_in_place import add_product, solve_from_right
from contad.kernels.small_systems import (
    FEW_ROWS,
    exchange_rows,
    factor_few,
    find_det,
    invert,
    solve_lower,
)
from contad.kernels.spectral_kernels import reduced_svd

_LIMIT = 1e8  # the condition number at which an inverse has lost half of the digits
_UPPER, _NO, _UNIT = ord("U"), ord("N"), ord("U")
_MATRIX_BLOCK = 64  # rows of a large Cholesky factor that are reversed together
_SMALL = 24  # from this size, LAPACK's blocked routines are faster than loops


# ---- triangles -------------------------------------------------------------------------------------------------------
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
def _solve_lower_transposed_by_matrix_blocks(t: Any, c: Any, unit: Any) -> Any:
    """By LAPACK if it is faster, on copies in Fortran order."""

    def implementation(t: Any, c: Any, unit: Any) -> None:
        n, count = c.shape
        if n < _SMALL or count < _SMALL:
            _solve_lower_transposed(t, c, unit)
            return
        rows, columns = in_order(t), turn(c)  # to LAPACK t^T, and c
        trtrs((_UPPER, _NO, _UNIT if unit else _NO, n, count, rows, n, columns, n))
        write_into(c, turn(columns))

    return implementation


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


# ---- systems ---------------------------------------------------------------------------------------------------------
@in_machine_code
def solve_factored_transposed(factors, exchanges, c):  # type: ignore[no-untyped-def]
    """c = a^-T c"""
    solve_upper_transposed(factors, c)
    solve_lower_transposed(factors, c, True)
    for i in range(exchanges.size - 1, -1, -1):
        exchange_rows(c, i, int(exchanges[i]) - 1)


# ---- inverses and determinants ---------------------------------------------------------------------------------------
@in_machine_code
def add_inv(z_bar, z, a_bar):  # type: ignore[no-untyped-def]
    """a_bar -= z^T z_bar z^T"""
    zt = turn(z)
    add_scaled(a_bar, 0, 0, -1.0, dot(dot(zt, z_bar), zt))


@in_machine_code
def inv_tangent(z, a_dot):  # type: ignore[no-untyped-def]
    """-z a_dot z"""
    return subtract(np.zeros(z.shape), dot(dot(z, a_dot), z))


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
    """The matrix of cofactors of a, whose determinant is z; it avoids an inverse that has lost half of its digits."""
    n = a.shape[0]
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
    if 1e-290 < abs(z) < 1e290:
        inverse = invert(a)
        if norm_by_columns(a) * norm_by_columns(inverse) < _LIMIT:
            return scale_columns(turn(inverse), np.full(n, z))
    return cofactors_by_values(a)


@in_machine_code
def cofactors_by_values(a):  # type: ignore[no-untyped-def]
    """The matrix of cofactors by singular values, without dividing by them."""
    n = a.shape[0]
    u, s, vt = reduced_svd(a)
    others = np.full(n, 1.0 if find_det(u) * find_det(vt) > 0.0 else -1.0)
    for i in range(n):
        for j in range(n):
            if j != i:
                others[i] *= s[j]
    return dot(scale_columns(u, others), vt)


@in_machine_code
def add_cofactors(z_bar, a, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += the change of the cofactors of a along z_bar: `mixed_cofactors` of `contad.ops.determinants`"""
    n = a.shape[0]
    u, s, vt = reduced_svd(a)
    sign = 1.0 if find_det(u) * find_det(vt) > 0.0 else -1.0
    e, m = dot(dot(turn(u), z_bar), turn(vt)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                p = sign
                for k in range(n):
                    if k not in (i, j):
                        p *= s[k]
                m[i, j] = -p * e[j, i]
                m[i, i] += p * e[j, j]
    add_into(a_bar, dot(dot(u, m), vt))


# ---- Cholesky's factor -----------------------------------------------------------------------------------------------
def write_cholesky(a: Any, z: Any) -> None:
    """z = the factor of a."""
    z[...] = np.linalg.cholesky(a)


@add_overload(write_cholesky, jit_options=INTERNAL_OPTIONS)
def _write_cholesky(a: Any, z: Any) -> Any:
    """As in Numba's function, in place in z."""

    def implementation(a: Any, z: Any) -> None:
        if factor_by_fours(a, z):
            return
        for i in range(len(z)):
            row = z[i]
            for j in range(i + 1):
                row[j] = a[i, j]
            for j in range(i + 1, len(z)):
                row[j] = 0.0
        if len(z) <= FEW_ROWS and factor_few(a, z):
            return
        if potrf((_UPPER, len(z), z, len(z))) > 0:  # to LAPACK it is the upper triangle
            raise np.linalg.LinAlgError("Matrix is not positive definite.")

    return implementation


@in_machine_code
def reverse_rows(z, bar):  # type: ignore[no-untyped-def]
    """The adjoint of the lower triangle, in place of that of its factor: row by row, four columns at a time."""
    inverses = np.empty(z.shape[0])  # a division takes four times as long as a product, and they are sequential
    for i in range(z.shape[0]):
        inverses[i] = 1.0 / z[i, i]
    for i in range(z.shape[0] - 1, -1, -1):
        row, row_bar = z[i], bar[i]
        d = 0.5 * row_bar[i] * inverses[i]
        row_bar[i] = d
        for k in range(i):
            row_bar[k] -= 2.0 * d * row[k]
        j = i - 1
        while j >= 3:
            r0, r1, r2, r3 = z[j], z[j - 1], z[j - 2], z[j - 3]
            d0 = row_bar[j] * inverses[j]
            d1 = (row_bar[j - 1] - d0 * r0[j - 1]) * inverses[j - 1]
            d2 = (row_bar[j - 2] - d0 * r0[j - 2] - d1 * r1[j - 2]) * inverses[j - 2]
            d3 = (row_bar[j - 3] - d0 * r0[j - 3] - d1 * r1[j - 3] - d2 * r2[j - 3]) * inverses[j - 3]
            row_bar[j], row_bar[j - 1], row_bar[j - 2], row_bar[j - 3] = d0, d1, d2, d3
            for k in range(j - 3):
                row_bar[k] -= (d0 * r0[k] + d1 * r1[k]) + (d2 * r2[k] + d3 * r3[k])
            b0, b1, b2, b3 = bar[j], bar[j - 1], bar[j - 2], bar[j - 3]
            for k in range(j - 2):
                x = row[k]
                b0[k] -= d0 * x
                b1[k] -= d1 * x
                b2[k] -= d2 * x
                b3[k] -= d3 * x
            b0[j - 2], b0[j - 1], b0[j] = b0[j - 2] - d0 * row[j - 2], b0[j - 1] - d0 * row[j - 1], b0[j] - d0 * row[j]
            b1[j - 2], b1[j - 1] = b1[j - 2] - d1 * row[j - 2], b1[j - 1] - d1 * row[j - 1]
            b2[j - 2] -= d2 * row[j - 2]
            j -= 4
        while j >= 0:
            d = row_bar[j] * inverses[j]
            row_bar[j] = d
            column, column_bar = z[j], bar[j]
            for k in range(j):
                row_bar[k] -= d * column[k]
            for k in range(j + 1):
                column_bar[k] -= d * row[k]
            j -= 1


@in_machine_code
def reverse_triangle(z, bar):  # type: ignore[no-untyped-def]
    """The same, in vector registers if that is faster."""
    if not reverse_by_fours(z, bar):
        reverse_rows(z, bar)


@in_machine_code
def add_cholesky(bar, z, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += z^-T P(z^T z_bar) z^-1, on the lower triangle; P: the lower triangle, diagonal halved

    `bar` holds z_bar in its lower triangle, in C order, and is overwritten. It goes from the last rows to the first, by
    matrix blocks (Murray 2016, arXiv:1602.07527): twice the work of the factor.
    """
    end = z.shape[0]
    if end <= MOST_ROWS:
        reverse_triangle(z, bar)
        end = 0
    while end > 0:
        start = max(0, end - _MATRIX_BLOCK)
        corner, inner = take_part(z, start, end, start, end), take_part(bar, start, end, start, end)
        if end < z.shape[0]:
            columns = bar[end:, start:end]
            solve_from_right(corner, columns)
            add_product(-1.0, columns.T, z[end:, start:end], inner)
            add_product(-1.0, columns, z[start:end, :start], bar[end:, :start])
            add_product(-1.0, columns.T, z[end:, :start], bar[start:end, :start])
        reverse_triangle(corner, inner)
        add_product(-1.0, add_mirrored(inner), z[start:end, :start], bar[start:end, :start])
        write_into(bar[start:end, start:end], inner)
        end = start
    for i in range(z.shape[0]):
        for j in range(i + 1):
            a_bar[i, j] += bar[i, j]


@in_machine_code
def cholesky_tangent(z, a_dot):  # type: ignore[no-untyped-def]
    """z P(z^-1 a_dot z^-T)"""
    half = mirror_lower(a_dot)
    solve_lower(z, half, False)
    turned = turn(half)
    solve_lower(z, turned, False)
    return dot(z, halve_triangle(turned))
