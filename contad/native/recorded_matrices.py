"""What recorded programs do with systems, inverses and functions of matrices: values, adjoints and tangents.

The rules are those of `contad.ops`; how kernels are called is told in `contad.native.recorded_operands`.
"""

import numpy as np

from contad.native.arena import INTERNAL_OPTIONS
from contad.native.exponential_kernels import add_by_powers, along_by_powers, expm_with_powers
from contad.native.factor_kernels import (
    add_cholesky,
    add_inv,
    cholesky_tangent,
    cofactors,
    inv_tangent,
    solve_factored_transposed,
    write_cholesky,
)
from contad.native.lapack import trsm
from contad.native.machine_code import njit
from contad.native.matrix_loops import add_scaled, copy_lower, dot, in_order, masked_sum, subtract, turn, write_into
from contad.native.products_in_place import add_product
from contad.native.recorded_operands import (
    add_columns,
    adjoint,
    block,
    fields,
    give,
    operand,
    put,
    read_saved,
    result,
    tangent,
)
from contad.native.small_systems import factor_rows, find_det, invert, solve_factored
from contad.native.step_fields import (
    A_CELLS,
    A_TURNED,
    B_CELLS,
    FIRST,
    KEEPER,
    KEPT,
    RESULT,
    SAVED,
    SECOND,
    STATUS,
    THIRD,
    A,
    B,
    K,
    N,
)
from contad.native.triangular_kernels import (
    add_band_cotangents,
    add_cho_factor,
    cho_factor_forward,
    cho_factor_tangent,
    cho_solve_forward,
    cho_solve_tangent,
    factor_banded,
    height_of_factors,
    pull_cho_solve,
    pull_vector_of_factored,
    solve_banded_tangent,
    solve_factored_band,
    solve_triangular_forward,
    solve_triangular_tangent,
    subtract_triangle,
    write_vector_of_factored,
)

_MANY = 24  # rows and columns from which on BLAS is faster than loops
_RIGHT, _UPPER, _LOWER, _NO, _YES, _UNIT = ord("R"), ord("U"), ord("L"), ord("N"), ord("T"), ord("U")


# ---- Cholesky's factor -----------------------------------------------------------------------------------------------
def cholesky_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z z^T = a"""
    shape = fields(shape_at)
    n = shape[N]
    write_cholesky(operand(shape, A, values_at, constants_at, n, n), block(values_at, shape[RESULT], n, n))


def cholesky_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """On the lower triangle."""
    shape = fields(shape_at)
    n = shape[N]
    bar = copy_lower(block(adjoints_at, shape[RESULT], n, n), 0)
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_cholesky(bar, block(values_at, shape[RESULT], n, n), a_bar)
    give(shape, A, adjoints_at, a_bar)


def cholesky_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangent."""
    shape = fields(shape_at)
    n = shape[N]
    put(shape, dots_at, cholesky_tangent(result(shape, values_at, n, n), tangent(shape, A, dots_at, n, n)))


# ---- triangular systems: FIRST transposed, SECOND lower, THIRD a diagonal of ones ------------------------------------
def triangular_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a z = b"""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    a, b = operand(shape, A, values_at, constants_at, n, n), operand(shape, B, values_at, constants_at, n, k)
    put(shape, values_at, solve_triangular_forward(a, b, shape[FIRST] != 0, shape[SECOND] != 0, shape[THIRD] != 0))


def triangular_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, a_bar -= a^-T z_bar z^T in the triangle."""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    transposed, lower, unit_diagonal = shape[FIRST] != 0, shape[SECOND] != 0, shape[THIRD] != 0
    a = operand(shape, A, values_at, constants_at, n, n)
    c = solve_triangular_forward(a, result(shape, adjoints_at, n, k), not transposed, lower, unit_diagonal)
    add_columns(shape, adjoints_at, c)
    if shape[A_CELLS] > 0:
        z, a_bar = result(shape, values_at, n, k), adjoint(shape, A, adjoints_at, n, n)
        subtract_triangle(c, z, transposed, lower, unit_diagonal, a_bar)
        give(shape, A, adjoints_at, a_bar)


def triangular_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangent."""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    a, z = operand(shape, A, values_at, constants_at, n, n), result(shape, values_at, n, k)
    a_dot, b_dot = tangent(shape, A, dots_at, n, n), tangent(shape, B, dots_at, n, k)
    flags = shape[FIRST] != 0, shape[SECOND] != 0, shape[THIRD] != 0
    put(shape, dots_at, solve_triangular_tangent(z, a, flags[0], flags[1], flags[2], a_dot, b_dot))


# ---- a Cholesky factor in one triangle, the matrix in the other, and systems with it: FIRST of a lower one -----------
def filled_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z z^T = a"""
    shape = fields(shape_at)
    n = shape[N]
    put(shape, values_at, cho_factor_forward(operand(shape, A, values_at, constants_at, n, n), shape[FIRST] != 0))


def filled_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """On both triangles."""
    shape = fields(shape_at)
    n = shape[N]
    z_bar, z = result(shape, adjoints_at, n, n), result(shape, values_at, n, n)
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_cho_factor(z_bar, z, shape[FIRST] != 0, a_bar)
    give(shape, A, adjoints_at, a_bar)


def filled_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangent."""
    shape = fields(shape_at)
    n = shape[N]
    z, a_dot = result(shape, values_at, n, n), tangent(shape, A, dots_at, n, n)
    put(shape, dots_at, cho_factor_tangent(z, shape[FIRST] != 0, a_dot))


def factored_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """c c^T z = b"""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    c, b = operand(shape, A, values_at, constants_at, n, n), operand(shape, B, values_at, constants_at, n, k)
    lower = shape[FIRST] != 0
    if not write_vector_of_factored(c, b, lower, block(values_at, shape[RESULT], n, k)):
        put(shape, values_at, cho_solve_forward(c, b, lower))


def factored_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """Back through the two triangular systems."""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    c, b = operand(shape, A, values_at, constants_at, n, n), operand(shape, B, values_at, constants_at, n, k)
    lower = shape[FIRST] != 0
    z_bar, z = result(shape, adjoints_at, n, k), result(shape, values_at, n, k)
    if k == 1 and shape[A_TURNED] == 0:  # all adjoints lie as they are
        a_bar = adjoint(shape, A, adjoints_at, n, n)
        b_bar = block(adjoints_at, shape[B], n if shape[B_CELLS] > 0 else 0, 1)
        if pull_vector_of_factored(z_bar, z, c, b, lower, a_bar, b_bar):
            return
    c_bar, b_bar = np.zeros((n, n)), np.zeros((n, k))
    pull_cho_solve(z_bar, z, c, b, lower, c_bar, b_bar)
    add_columns(shape, adjoints_at, b_bar)
    if shape[A_CELLS] > 0:
        a_bar = adjoint(shape, A, adjoints_at, n, n)
        add_scaled(a_bar, 0, 0, 1.0, c_bar)
        give(shape, A, adjoints_at, a_bar)


def factored_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangent."""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    c, b = operand(shape, A, values_at, constants_at, n, n), operand(shape, B, values_at, constants_at, n, k)
    c_dot, b_dot = tangent(shape, A, dots_at, n, n), tangent(shape, B, dots_at, n, k)
    put(shape, dots_at, cho_solve_tangent(c, b, shape[FIRST] != 0, c_dot, b_dot))


# ---- factors of a matrix, which the first step on it keeps -----------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def kept_factors(shape, values_at):  # type: ignore[no-untyped-def]
    """The factors and the exchanges of rows, when they are there; what a step saves where it has no other place."""
    n, at, place = shape[N], values_at, shape[KEPT]
    if place == 0:
        at, place = 0, -shape[SAVED]
    return block(at, place, n, n), block(at, place + n * n, 1, n)[0]


@njit(**INTERNAL_OPTIONS)
def factors_in(shape, values_at, constants_at):  # type: ignore[no-untyped-def]
    """The factors and the exchanges of rows; they are found by the step that keeps them, or it raises."""
    n, status = shape[N], shape[KEEPER]
    factors, exchanges = kept_factors(shape, values_at)
    if status != shape[STATUS]:
        if shape[KEPT] != 0 and block(values_at, status, 1, 1)[0, 0] != 0.0:
            raise np.linalg.LinAlgError("there are no factors")
        return factors, exchanges
    found, order, report = factor_rows(operand(shape, A, values_at, constants_at, n, n))
    if report != 0:
        raise np.linalg.LinAlgError("Singular matrix")
    write_into(factors, found)
    for i in range(n):
        exchanges[i] = order[i]
    return factors, exchanges


@njit(**INTERNAL_OPTIONS)
def divide(factors, exchanges, c, transposed):  # type: ignore[no-untyped-def]
    """c = a^-1 c, or a^-T c."""
    n, k = c.shape
    if n < _MANY or k < _MANY:
        if transposed:
            solve_factored_transposed(factors, exchanges, c)
        else:
            solve_factored(factors, exchanges, c)
        return
    # rows are columns to BLAS: the triangles change places, and the system stands on the right
    if transposed:
        trsm((_RIGHT, _LOWER, _YES, _NO, k, n, 1.0, factors, n, c, k))
        trsm((_RIGHT, _UPPER, _YES, _UNIT, k, n, 1.0, factors, n, c, k))
    for step in range(n):
        i = n - 1 - step if transposed else step
        j = int(exchanges[i]) - 1
        if i != j:
            for m in range(k):
                c[i, m], c[j, m] = c[j, m], c[i, m]
    if not transposed:
        trsm((_RIGHT, _UPPER, _NO, _UNIT, k, n, 1.0, factors, n, c, k))
        trsm((_RIGHT, _LOWER, _NO, _NO, k, n, 1.0, factors, n, c, k))


@njit(**INTERNAL_OPTIONS)
def turned_inverse(factors, exchanges):  # type: ignore[no-untyped-def]
    """a^-T"""
    made = np.zeros(factors.shape)
    for i in range(len(made)):
        made[i, i] = 1.0
    divide(factors, exchanges, made, True)
    return made


# ---- systems: FIRST transposed ---------------------------------------------------------------------------------------
def solve_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a z = b"""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    factors, exchanges = factors_in(shape, values_at, constants_at)
    z = in_order(operand(shape, B, values_at, constants_at, n, k))
    divide(factors, exchanges, z, shape[FIRST] != 0)
    put(shape, values_at, z)


def solve_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, a_bar -= a^-T z_bar z^T"""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    factors, exchanges = kept_factors(shape, values_at)
    c = in_order(result(shape, adjoints_at, n, k))
    divide(factors, exchanges, c, shape[FIRST] == 0)
    add_columns(shape, adjoints_at, c)
    if shape[A_CELLS] > 0:
        z, a_bar = result(shape, values_at, n, k), adjoint(shape, A, adjoints_at, n, n)
        if shape[FIRST] != 0:
            c, z = z, c
        if k == 1:
            for i in range(n):
                for j in range(n):
                    a_bar[i, j] -= c[i, 0] * z[j, 0]
        else:
            add_product(-1.0, c, z.T, a_bar)
        give(shape, A, adjoints_at, a_bar)


def solve_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """a^-1 (b_dot - a_dot z)"""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    factors, exchanges = kept_factors(shape, values_at)
    a_dot, z = tangent(shape, A, dots_at, n, n), result(shape, values_at, n, k)
    if shape[FIRST] != 0:
        a_dot = turn(a_dot)
    c = subtract(tangent(shape, B, dots_at, n, k), dot(a_dot, z))
    divide(factors, exchanges, c, shape[FIRST] != 0)
    put(shape, dots_at, c)


# ---- inverses and determinants ---------------------------------------------------------------------------------------
def inv_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a z = 1"""
    shape = fields(shape_at)
    n = shape[N]
    a = operand(shape, A, values_at, constants_at, n, n)
    if n == 1 and a[0, 0] != 0.0:  # as where one number is observed; without memory for factors
        block(values_at, shape[RESULT], 1, 1)[0, 0] = 1.0 / a[0, 0]
    else:
        put(shape, values_at, invert(a))


def inv_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar -= z^T z_bar z^T"""
    shape = fields(shape_at)
    n = shape[N]
    z_bar, z = result(shape, adjoints_at, n, n), result(shape, values_at, n, n)
    if n == 1:
        block(adjoints_at, shape[A], 1, 1)[0, 0] -= z[0, 0] * z_bar[0, 0] * z[0, 0]
        return
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_inv(z_bar, z, a_bar)
    give(shape, A, adjoints_at, a_bar)


def inv_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """-z a_dot z"""
    shape = fields(shape_at)
    n = shape[N]
    put(shape, dots_at, inv_tangent(result(shape, values_at, n, n), tangent(shape, A, dots_at, n, n)))


def det_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """The determinant."""
    shape = fields(shape_at)
    n = shape[N]
    a = operand(shape, A, values_at, constants_at, n, n)
    block(values_at, shape[RESULT], 1, 1)[0, 0] = a[0, 0] if n == 1 else find_det(a)


def det_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += z_bar c, c: the matrix of cofactors"""
    shape = fields(shape_at)
    n = shape[N]
    z, z_bar = block(values_at, shape[RESULT], 1, 1)[0, 0], block(adjoints_at, shape[RESULT], 1, 1)[0, 0]
    if n == 1:
        block(adjoints_at, shape[A], 1, 1)[0, 0] += z_bar
        return
    c = cofactors(z, operand(shape, A, values_at, constants_at, n, n))
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_scaled(a_bar, 0, 0, z_bar, c)
    give(shape, A, adjoints_at, a_bar)


def det_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """<c, a_dot>"""
    shape = fields(shape_at)
    n = shape[N]
    z = block(values_at, shape[RESULT], 1, 1)[0, 0]
    c = cofactors(z, operand(shape, A, values_at, constants_at, n, n))
    block(dots_at, shape[RESULT], 1, 1)[0, 0] = masked_sum(c, tangent(shape, A, dots_at, n, n))


def log_determinant_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """The logarithm of the magnitude of the determinant."""
    shape = fields(shape_at)
    factors = factors_in(shape, values_at, constants_at)[0]
    log = 0.0
    for i in range(len(factors)):
        log += np.log(abs(factors[i, i]))
    block(values_at, shape[RESULT], 1, 1)[0, 0] = log


def log_determinant_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += z_bar a^-T"""
    shape = fields(shape_at)
    n = shape[N]
    factors, exchanges = kept_factors(shape, values_at)
    z_bar = block(adjoints_at, shape[RESULT], 1, 1)[0, 0]
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_scaled(a_bar, 0, 0, z_bar, turned_inverse(factors, exchanges))
    give(shape, A, adjoints_at, a_bar)


def log_determinant_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """<a^-T, a_dot>"""
    shape = fields(shape_at)
    n = shape[N]
    factors, exchanges = kept_factors(shape, values_at)
    z_dot = masked_sum(turned_inverse(factors, exchanges), tangent(shape, A, dots_at, n, n))
    block(dots_at, shape[RESULT], 1, 1)[0, 0] = z_dot


# ---- banded systems: FIRST and SECOND are the diagonals below and above ----------------------------------------------
def banded_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a z = b; the factors are saved"""
    shape = fields(shape_at)
    n, k, lower, upper = shape[N], shape[K], shape[FIRST], shape[SECOND]
    ab = operand(shape, A, values_at, constants_at, lower + upper + 1, n)
    factors = read_saved(shape, values_at, height_of_factors(lower, upper), n)
    if shape[KEEPER] == shape[STATUS] and factor_banded(lower, upper, ab, factors) != 0:  # else another step has
        raise np.linalg.LinAlgError("singular matrix")
    b = operand(shape, B, values_at, constants_at, n, k)
    if k == 1:
        z = block(values_at, shape[RESULT], n, 1)
        write_into(z, b)
        solve_factored_band(lower, upper, factors, z, False)
    else:
        z = in_order(b)
        solve_factored_band(lower, upper, factors, z, False)
        put(shape, values_at, z)


def banded_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, ab_bar -= a^-T z_bar z^T in the band."""
    shape = fields(shape_at)
    n, k, lower, upper = shape[N], shape[K], shape[FIRST], shape[SECOND]
    factors = read_saved(shape, values_at, height_of_factors(lower, upper), n)
    c = in_order(result(shape, adjoints_at, n, k))
    solve_factored_band(lower, upper, factors, c, True)
    add_columns(shape, adjoints_at, c)
    if shape[A_CELLS] > 0:
        ab_bar = adjoint(shape, A, adjoints_at, lower + upper + 1, n)
        add_band_cotangents(c, result(shape, values_at, n, k), lower, upper, ab_bar, np.empty((0, 0)))
        give(shape, A, adjoints_at, ab_bar)


def banded_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangent."""
    shape = fields(shape_at)
    n, k, lower, upper = shape[N], shape[K], shape[FIRST], shape[SECOND]
    rows = lower + upper + 1
    ab, z = operand(shape, A, values_at, constants_at, rows, n), result(shape, values_at, n, k)
    ab_dot, b_dot = tangent(shape, A, dots_at, rows, n), tangent(shape, B, dots_at, n, k)
    put(shape, dots_at, solve_banded_tangent(z, lower, upper, ab, ab_dot, b_dot))


# ---- exponentials ----------------------------------------------------------------------------------------------------
def expm_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """exp(a); the powers of a are saved"""
    shape = fields(shape_at)
    n = shape[N]
    powers = read_saved(shape, values_at, 3 * n, n)
    put(shape, values_at, expm_with_powers(operand(shape, A, values_at, constants_at, n, n), powers))


def expm_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """L(a^T, z_bar)"""
    shape = fields(shape_at)
    n = shape[N]
    a, powers = operand(shape, A, values_at, constants_at, n, n), read_saved(shape, values_at, 3 * n, n)
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_by_powers(result(shape, adjoints_at, n, n), a, powers, a_bar)
    give(shape, A, adjoints_at, a_bar)


def expm_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """L(a, a_dot)"""
    shape = fields(shape_at)
    n = shape[N]
    a, powers = operand(shape, A, values_at, constants_at, n, n), read_saved(shape, values_at, 3 * n, n)
    put(shape, dots_at, along_by_powers(a, in_order(tangent(shape, A, dots_at, n, n)), powers))


# ---- lengths ---------------------------------------------------------------------------------------------------------
def norm_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """The root of the sum of squares."""
    shape = fields(shape_at)
    total = 0.0
    for x in operand(shape, A, values_at, constants_at, 1, shape[N])[0]:
        total += x * x
    if not total > 1e-280:  # 0, or so small that squares are lost
        raise ValueError("a small vector")
    block(values_at, shape[RESULT], 1, 1)[0, 0] = np.sqrt(total)


def norm_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """x_bar += z_bar x / z"""
    shape = fields(shape_at)
    n = shape[N]
    z, z_bar = block(values_at, shape[RESULT], 1, 1)[0, 0], block(adjoints_at, shape[RESULT], 1, 1)[0, 0]
    x_bar = adjoint(shape, A, adjoints_at, 1, n)
    add_scaled(x_bar, 0, 0, z_bar / z, operand(shape, A, values_at, constants_at, 1, n))
    give(shape, A, adjoints_at, x_bar)


def norm_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """<x, x_dot> / z"""
    shape = fields(shape_at)
    n = shape[N]
    z, x_dot = block(values_at, shape[RESULT], 1, 1)[0, 0], tangent(shape, A, dots_at, 1, n)
    block(dots_at, shape[RESULT], 1, 1)[0, 0] = masked_sum(operand(shape, A, values_at, constants_at, 1, n), x_dot) / z


KERNELS = {
    "cholesky_factor": (cholesky_value, cholesky_adjoint, cholesky_push),
    "solve_triangular": (triangular_value, triangular_adjoint, triangular_push),
    "filled_cholesky_factor": (filled_value, filled_adjoint, filled_push),
    "cholesky_solution": (factored_value, factored_adjoint, factored_push),
    "solve": (solve_value, solve_adjoint, solve_push),
    "inv": (inv_value, inv_adjoint, inv_push),
    "det": (det_value, det_adjoint, det_push),
    "log_determinant": (log_determinant_value, log_determinant_adjoint, log_determinant_push),
    "banded_solution": (banded_value, banded_adjoint, banded_push),
    "expm": (expm_value, expm_adjoint, expm_push),
    "euclidean_norm": (norm_value, norm_adjoint, norm_push),
}
