"""Triangular, Cholesky and banded systems in compiled code, by the LAPACK routines that SciPy calls.

`name_forward(...)` gives a result and raises SciPy's errors, `add_name(...)` adds the cotangents of the arguments to
arrays, and `name_tangent(...)` gives the tangent of the result. The rules are those of `contad.ops.triangular_factors`
and `contad.ops.banded_systems`. A right-hand side is a matrix; a vector is a matrix of one column.
"""

import numpy as np

from contad.compile.called_by_name import COUNT, FLAG, MATRIX, called_by_name
from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.lapack import gbtrf, gbtrs, gttrf, gttrs, potrf, trsm, trtrs
from contad.compile.machine_code import njit
from contad.compile.words import array_at, hold
from contad.kernels.factor_kernels import add_cholesky, cholesky_tangent, reverse_triangle
from contad.kernels.factors_by_fours import FEWEST_ROWS, MOST_ROWS
from contad.kernels.matrix_loops import (
    add_into,
    copy_lower,
    copy_upper,
    dot,
    subtract,
    turn,
    write_into,
    write_row,
)
from contad.kernels.product_kernels import is_finite
from contad.kernels.products_in_place import add_product
from contad.kernels.rows.row_tables import band_height
from contad.kernels.triangles_by_fours import solve_by_fours, subtract_by_fours
from contad.kernels.tridiagonal_kernels import factor_in_order, solve_in_order, solve_transposed_in_order

_MATRIX_BLOCK = 64  # rows of a triangle that BLAS multiplies together
_FEW = 6  # from this many rows and columns it is faster
_NO, _YES = ord("N"), ord("T")
_RIGHT = ord("R")
_UPPER, _LOWER = ord("U"), ord("L")
_UNIT = ord("U")


# ---- shared functions ------------------------------------------------------------------------------------------------
@njit(**NJIT_OPTIONS)
def mask_dead(z_bar, c):  # type: ignore[no-untyped-def]
    """c, with zeros where the cotangent z_bar is zero and c is not finite: dead code never makes a nan."""
    if not is_finite(c) and not np.any(z_bar != 0.0):
        return np.zeros(c.shape)
    return c


@njit(**NJIT_OPTIONS)
def subtract_row(x, y, is_turned, a_bar, i, left, right):  # type: ignore[no-untyped-def]
    """a_bar -= x y^T in a part of row i; zeros of x, or of y if it is turned, mask infinities and nans."""
    for k in range(x.shape[1]):
        d = x[i, k]
        if is_turned:
            for j in range(left, right):
                if y[j, k] != 0.0:
                    a_bar[i, j] -= d * y[j, k]
        elif d != 0.0:
            for j in range(left, right):
                a_bar[i, j] -= d * y[j, k]


@njit(**NJIT_OPTIONS)
def subtract_triangle(c, z, is_turned, lower, unit_diagonal, a_bar):  # type: ignore[no-untyped-def]
    """a_bar -= c z^T in the triangle that the system reads, or z c^T: by BLAS if that is faster, in strips of rows."""
    n, k = c.shape
    x, y = (z, c) if is_turned else (c, z)
    apart = 1 if unit_diagonal else 0
    if k == 1 and is_finite(c) and is_finite(z):  # so that nothing has to be masked
        column = y.reshape(n)
        if subtract_by_fours(x.reshape(n), column, lower, unit_diagonal, a_bar):
            return
        for i in range(n):
            left, right = (0, i + 1 - apart) if lower else (i + apart, n)
            d, row = x[i, 0], a_bar[i]
            for j in range(left, right):
                row[j] -= d * column[j]
        return
    if k < _FEW or n < _FEW or not is_finite(c) or not is_finite(z):
        for i in range(n):
            left, right = (0, i + 1 - apart) if lower else (i + apart, n)
            subtract_row(x, y, is_turned, a_bar, i, left, right)
        return
    for first in range(0, n, _MATRIX_BLOCK):
        end = min(first + _MATRIX_BLOCK, n)
        corner = np.zeros((end - first, end - first))
        add_product(1.0, x[first:end], y[first:end].T, corner)
        for i in range(first, end):
            left, right = (first, i + 1 - apart) if lower else (i + apart, end)
            for j in range(left, right):
                a_bar[i, j] -= corner[i - first, j - first]
        if lower:
            add_product(-1.0, x[first:end], y[:first].T, a_bar[first:end, :first])
        else:
            add_product(-1.0, x[first:end], y[end:].T, a_bar[first:end, end:])


@njit(**NJIT_OPTIONS)
def read_triangle(a, lower, unit_diagonal):  # type: ignore[no-untyped-def]
    """The part of a that the system reads: a triangle, with the diagonal or without."""
    k = 1 if unit_diagonal else 0
    return copy_lower(a, -k) if lower else copy_upper(a, k)


# ---- triangular systems ----------------------------------------------------------------------------------------------
@njit(**NJIT_OPTIONS)
def _solve_few(a, z, transposed, lower, unit_diagonal):  # type: ignore[no-untyped-def]
    """z = a^-1 z, or a^-T z, for a vector z: along the rows of a, either from the first row or from the last one."""
    n = z.size
    for done in range(n):
        i = done if lower != transposed else n - 1 - done
        left, right = (0, i) if lower else (i + 1, n)
        if transposed:
            if not unit_diagonal:
                z[i] /= a[i, i]
            x = z[i]
            for j in range(left, right):
                z[j] -= a[i, j] * x
        else:
            x = z[i]
            for j in range(left, right):
                x -= a[i, j] * z[j]
            z[i] = x if unit_diagonal else x / a[i, i]


@called_by_name(MATRIX, MATRIX, FLAG, FLAG, FLAG, MATRIX)
def _write_solution(a, b, transposed, lower, unit_diagonal, z):  # type: ignore[no-untyped-def]
    """Write the solution; returns LAPACK's report."""
    n, k = b.shape
    write_into(z, b)
    if b.size == 0:
        return 0
    if k == 1 and n <= MOST_ROWS:
        for i in range(n):
            if a[i, i] == 0.0 and not unit_diagonal:
                return i + 1
        if not solve_by_fours(a, z.reshape(n), transposed, lower, unit_diagonal):
            if n >= FEWEST_ROWS:
                write_into(z, b)
            _solve_few(a, z.reshape(n), transposed, lower, unit_diagonal)
        return 0
    # LAPACK sees rows as columns: a is transposed, and the solution of many columns is on the left
    triangle, diagonal = _UPPER if lower else _LOWER, _UNIT if unit_diagonal else _NO
    if k == 1:
        return trtrs((triangle, _NO if transposed else _YES, diagonal, n, k, a, n, z, n))
    if not unit_diagonal:
        for i in range(n):
            if a[i, i] == 0.0:
                return i + 1
    trsm((_RIGHT, triangle, _YES if transposed else _NO, diagonal, k, n, 1.0, a, n, z, k))
    return 0


@njit(**NJIT_OPTIONS)
def _triangular_solution(a, b, transposed, lower, unit_diagonal):  # type: ignore[no-untyped-def]
    """The solution, in C order, and LAPACK's report."""
    z = np.empty(b.shape)
    return z, _write_solution(a, b, transposed, lower, unit_diagonal, z)


@called_by_name(MATRIX, MATRIX, FLAG, FLAG, FLAG, MATRIX)
def write_triangular_solution(a, b, transposed, lower, unit_diagonal, z):  # type: ignore[no-untyped-def]
    """The solution of a z = b, or of a^T z = b."""
    report = _write_solution(a, b, transposed, lower, unit_diagonal, z)
    if report > 0:
        raise np.linalg.LinAlgError("singular matrix: resolution failed at diagonal " + str(report - 1))


@called_by_name(MATRIX, MATRIX, MATRIX, FLAG, FLAG, FLAG, MATRIX, MATRIX)
def add_solve_triangular(z_bar, z, a, transposed, lower, unit_diagonal, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, a_bar -= a^-T z_bar z^T in the triangle."""
    c = _triangular_solution(a, z_bar, not transposed, lower, unit_diagonal)[0]
    c = mask_dead(z_bar, c)
    add_into(b_bar, c)
    if a_bar.size != 0:
        subtract_triangle(c, z, transposed, lower, unit_diagonal, a_bar)


@called_by_name(MATRIX, MATRIX, FLAG, FLAG, FLAG, MATRIX, MATRIX)
def solve_triangular_tangent(z, a, transposed, lower, unit_diagonal, a_dot, b_dot):  # type: ignore[no-untyped-def]
    """a^-1 (b_dot - a_dot z)"""
    read = read_triangle(a_dot, lower, unit_diagonal)
    if transposed:
        read = turn(read)
    return _triangular_solution(a, subtract(b_dot, dot(read, z)), transposed, lower, unit_diagonal)[0]


# ---- Cholesky factors ------------------------------------------------------------------------------------------------
@called_by_name(MATRIX, FLAG)
def cho_factor_forward(a, lower):  # type: ignore[no-untyped-def]
    """The factor; the other triangle is that of a."""
    n = len(a)
    z = a.copy()
    report = potrf((_UPPER if lower else _LOWER, n, z, n)) if n != 0 else 0  # rows are columns to LAPACK
    if report > 0:
        raise np.linalg.LinAlgError(str(report) + "-th leading minor of the array is not positive definite")
    return z


@called_by_name(MATRIX, MATRIX, FLAG, MATRIX)
def add_cho_factor(z_bar, z, lower, a_bar):  # type: ignore[no-untyped-def]
    """The cotangent in the triangle that the factorisation reads, and in the other triangle that of its copy."""
    n = len(z)
    bar = copy_lower(z_bar if lower else turn(z_bar), 0)
    # the other triangle is read if rows come in fours without padding, or if BLAS works by blocks
    factor = z if lower and (n < FEWEST_ROWS or (n <= MOST_ROWS and n % 4)) else copy_lower(z if lower else turn(z), 0)
    if n <= MOST_ROWS:
        reverse_triangle(factor, bar)
        found = bar
    else:
        found = np.zeros((n, n))
        add_cholesky(bar, factor, found)
    if not is_finite(found):
        found = mask_dead(copy_lower(z_bar if lower else turn(z_bar), 0), found)
    for i in range(n):
        for j in range(n):
            if lower:
                a_bar[i, j] += found[i, j] if j <= i else z_bar[i, j]
            else:
                a_bar[i, j] += found[j, i] if j >= i else z_bar[i, j]


@called_by_name(MATRIX, FLAG, MATRIX)
def cho_factor_tangent(z, lower, a_dot):  # type: ignore[no-untyped-def]
    """The tangent of the factor, and of the copy in the other triangle."""
    if lower:
        made = copy_lower(cholesky_tangent(copy_lower(z, 0), a_dot), 0)
        add_into(made, copy_upper(a_dot, 1))
        return made
    made = turn(copy_lower(cholesky_tangent(turn(copy_upper(z, 0)), turn(a_dot)), 0))
    add_into(made, copy_lower(a_dot, -1))
    return made


@njit(**NJIT_OPTIONS)
def _solve_vector(c, z, transposed, lower):  # type: ignore[no-untyped-def]
    """z = c^-1 z, or c^-T z, for a vector; return whether it is done. If not, z is overwritten."""
    n = z.size
    for i in range(n):
        if c[i, i] == 0.0:
            return False
    if n < FEWEST_ROWS:
        _solve_few(c, z, transposed, lower, False)
        return True
    return solve_by_fours(c, z, transposed, lower, False)


@njit(**NJIT_OPTIONS)
def write_vector_of_factored(c, b, lower, z):  # type: ignore[no-untyped-def]
    """Write the solution for one column in place; return whether it is done. This allocates nothing."""
    if z.shape[1] != 1:
        return False
    write_into(z, b)
    column = array_at(z.ctypes.data, len(c))
    return _solve_vector(c, column, not lower, lower) and _solve_vector(c, column, lower, lower)


@njit(**NJIT_OPTIONS)
def pull_vector_of_factored(z_bar, z, c, b, lower, c_bar, b_bar):  # type: ignore[no-untyped-def]
    """`add_cho_solve` for one column with a known solution; return whether it is done. An empty adjoint belongs to a
    constant."""
    n = len(c)
    if z_bar.shape[1] != 1:
        return False
    room = np.empty((3, n))
    at = room.ctypes.data
    half, half_bar, found = array_at(at, n), array_at(at + 8 * n, n), array_at(at + 16 * n, n)
    for i in range(n):
        half[i], half_bar[i] = b[i, 0], z_bar[i, 0]
    is_done = _solve_vector(c, half, not lower, lower) and _solve_vector(c, half_bar, not lower, lower)
    for i in range(n):
        found[i] = half_bar[i]
    is_done = is_done and _solve_vector(c, found, lower, lower) and is_finite(room) and is_finite(z)
    if is_done:
        for i in range(len(b_bar)):
            b_bar[i, 0] += found[i]
        for i in range(len(c_bar)):
            if lower:
                for j in range(i + 1):
                    c_bar[i, j] -= z[i, 0] * half_bar[j] + found[i] * half[j]
            else:
                for j in range(i, n):
                    c_bar[i, j] -= half_bar[i] * z[j, 0] + half[i] * found[j]
    hold(room)
    return is_done


@called_by_name(MATRIX, MATRIX, FLAG)
def cho_solve_forward(c, b, lower):  # type: ignore[no-untyped-def]
    """The solution of a z = b from the factor of a; LinAlgError, as from the rule, if the factor is singular."""
    half, report = _triangular_solution(c, b, not lower, lower, False)
    if report > 0:  # LAPACK has left b as it was
        raise np.linalg.LinAlgError("Singular matrix: element " + str(report - 1) + " of the diagonal is 0")
    return _triangular_solution(c, half, lower, lower, False)[0]


@njit(**NJIT_OPTIONS)
def pull_cho_solve(z_bar, z, c, b, lower, c_bar, b_bar):  # type: ignore[no-untyped-def]
    """`add_cho_solve`, with a known solution."""
    if pull_vector_of_factored(z_bar, z, c, b, lower, c_bar, b_bar):
        return
    half = _triangular_solution(c, b, not lower, lower, False)[0]
    half_bar = np.zeros(half.shape)
    add_solve_triangular(z_bar, z, c, lower, lower, False, c_bar, half_bar)
    add_solve_triangular(half_bar, half, c, not lower, lower, False, c_bar, b_bar)


@called_by_name(MATRIX, MATRIX, FLAG, MATRIX, MATRIX)
def cho_solve_tangent(c, b, lower, c_dot, b_dot):  # type: ignore[no-untyped-def]
    """The tangent through the two triangular systems."""
    half = _triangular_solution(c, b, not lower, lower, False)[0]
    z = _triangular_solution(c, half, lower, lower, False)[0]
    half_dot = solve_triangular_tangent(half, c, not lower, lower, False, c_dot, b_dot)
    return solve_triangular_tangent(z, c, lower, lower, False, c_dot, half_dot)


# ---- banded systems --------------------------------------------------------------------------------------------------
height_of_factors = njit(**NJIT_OPTIONS)(band_height)


@called_by_name(COUNT, COUNT, MATRIX, MATRIX)
def factor_banded(lower, upper, ab, made):  # type: ignore[no-untyped-def]
    """Write the factors of the band, and the row exchanges as 32 bits each in the last row; return LAPACK's report.

    For three diagonals without exchanges the first one is 0, because LAPACK counts from 1.
    """
    n, last = ab.shape[1], made.shape[0] - 1
    if n < 2:
        if n == 1:
            made[0, 0] = ab[upper, 0]
        return 0
    exchanges = made[last].view(np.int32)
    if lower == 1 and upper == 1:
        if factor_in_order(ab, made[0], made[1], made[2]):
            exchanges[0] = 0
            return 0
        write_row(made, 0, ab[2, : n - 1])
        write_row(made, 1, ab[1])
        write_row(made, 2, ab[0, 1:])
        return gttrf((n, made[0], made[1], made[2], made[3], exchanges))
    height = 2 * lower + upper + 1
    band = made[:last].reshape((n, height))  # the columns of LAPACK's band as rows
    for j in range(n):
        for d in range(lower):
            band[j, d] = 0.0
        for d in range(lower + upper + 1):
            band[j, lower + d] = ab[d, j]
    return gbtrf((n, n, lower, upper, band, height, exchanges))


@called_by_name(COUNT, COUNT, MATRIX, MATRIX, FLAG)
def solve_factored_band(lower, upper, factors, c, transposed):  # type: ignore[no-untyped-def]
    """c = a^-1 c, or a^-T c, from the factors of the band."""
    (n, k), last = c.shape, factors.shape[0] - 1
    if c.size == 0:
        return
    if n == 1:
        for j in range(k):
            c[0, j] /= factors[0, 0]
        return
    columns = c if k == 1 else turn(c)  # the transpose of one column has the same memory
    flag, exchanges = _YES if transposed else _NO, factors[last].view(np.int32)
    if lower == 1 and upper == 1 and exchanges[0] == 0:
        for z in columns.reshape((k, n)):
            if transposed:
                solve_transposed_in_order(factors[0], factors[1], factors[2], z)
            else:
                solve_in_order(factors[0], factors[1], factors[2], z)
    elif lower == 1 and upper == 1:
        gttrs((flag, n, k, factors[0], factors[1], factors[2], factors[3], exchanges, columns, n))
    else:
        gbtrs((flag, n, lower, upper, k, factors, 2 * lower + upper + 1, exchanges, columns, n))
    if k != 1:
        for i in range(n):
            for j in range(k):
                c[i, j] = columns[j, i]


@njit(**NJIT_OPTIONS)
def require_regular(report):  # type: ignore[no-untyped-def]
    """Raise as SciPy does if LAPACK has met a zero on the diagonal."""
    if report > 0:
        raise np.linalg.LinAlgError("singular matrix")


@called_by_name(MATRIX, MATRIX, COUNT, COUNT, MATRIX, MATRIX)
def add_band_cotangents(c, z, lower, upper, ab_bar, b_bar):  # type: ignore[no-untyped-def]
    """b_bar += c, ab_bar -= c z^T in the band, for c = a^-T z_bar"""
    add_into(b_bar, c)
    n = ab_bar.shape[1]
    for d in range(lower + upper + 1):
        first, end = max(0, upper - d), min(n, n + upper - d)  # where i = j + d - upper is a row
        if c.shape[1] == 1:
            left, right, diagonal = c[first + d - upper :, 0], z[first:, 0], ab_bar[d, first:]
            for j in range(end - first):
                diagonal[j] -= left[j] * right[j]
        else:
            for j in range(first, end):
                for k in range(c.shape[1]):
                    ab_bar[d, j] -= c[j + d - upper, k] * z[j, k]


@called_by_name(MATRIX, COUNT, COUNT, MATRIX, MATRIX, MATRIX)
def solve_banded_tangent(z, lower, upper, ab, ab_dot, b_dot):  # type: ignore[no-untyped-def]
    """a^-1 (b_dot - a_dot z)"""
    c = b_dot.copy()
    n = ab.shape[1]
    for d in range(lower + upper + 1):
        for j in range(n):
            i = j + d - upper
            if 0 <= i < n:
                for k in range(c.shape[1]):
                    c[i, k] -= ab_dot[d, j] * z[j, k]
    factors = np.empty((height_of_factors(lower, upper), n))
    if factor_banded(lower, upper, ab, factors) == 0:
        solve_factored_band(lower, upper, factors, c, False)
    return c
