"""What recorded programs do with matrices: values, adjoints and tangents of an operation, on the cells of one run.

A kernel takes four addresses: of the shape, of values, of constants, and of what it writes to (values, adjoints,
tangents). One that adds to adjoints raises before it writes or not at all, so that Python can do it over. The rules
are those of `contad.ops`; the shape of a record is described at the fields below.
"""

import numpy as np
from numba import carray, types

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
from contad.native.matrix_loops import add_scaled, copy_lower, dot, in_order, subtract, turn
from contad.native.products_in_place import add_product
from contad.native.small_systems import factor_rows, find_det, invert, solve_factored
from contad.native.spectral_kernels import (
    add_eig,
    add_eigh,
    add_qr,
    add_svd,
    eig_tangent,
    eigh_tangent,
    find_real_spectrum,
    qr_tangent,
    reduced_svd,
    svd_tangent,
)
from contad.native.triangular_kernels import (
    add_band_cotangents,
    factor_banded,
    height_of_factors,
    solve_banded_tangent,
    solve_factored_band,
    solve_triangular_forward,
    solve_triangular_tangent,
    subtract_triangle,
)
from contad.native.words import pointer

SIGNATURE = types.none(types.int64, types.int64, types.int64, types.int64)

# The shape: the place that says whether Python has to do it, the place of what is saved, and the first cell of the
# result; of both operands the place and whether it is in cells; of these three, whether the cells are those of the
# transpose; three sizes and three options, which are the rule's; and of the step that keeps the factors the first two.
STATUS, SAVED, RESULT, A, A_CELLS, B, B_CELLS, TURNED, A_TURNED, B_TURNED = range(10)
M, N, K, FIRST, SECOND, THIRD, KEEPER, KEPT, FIELDS = range(10, 19)
_NUMBER = 8  # bytes
_MANY = 24  # rows and columns from which on BLAS is faster than loops
_RIGHT, _UPPER, _LOWER, _NO, _YES, _UNIT = ord("R"), ord("U"), ord("L"), ord("N"), ord("T"), ord("U")


# ---- operands and results --------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def fields(shape_at):  # type: ignore[no-untyped-def]
    """The shape."""
    return carray(pointer(shape_at), (FIELDS,), np.int64)


@njit(**INTERNAL_OPTIONS)
def block(at, place, rows, columns):  # type: ignore[no-untyped-def]
    """The matrix at a place of an array."""
    return carray(pointer(at + _NUMBER * place), (rows, columns), np.float64)


@njit(**INTERNAL_OPTIONS)
def is_turned(shape, field):  # type: ignore[no-untyped-def]
    """Whether the cells of an operand, A or B, are those of the transpose."""
    return shape[A_TURNED if field == A else B_TURNED] != 0


@njit(**INTERNAL_OPTIONS)
def operand(shape, field, values_at, constants_at, rows, columns):  # type: ignore[no-untyped-def]
    """An operand, A or B, in C order; not to be written to."""
    at = values_at if shape[field + 1] != 0 else constants_at
    if is_turned(shape, field):
        return turn(block(at, shape[field], columns, rows))
    return block(at, shape[field], rows, columns)


@njit(**INTERNAL_OPTIONS)
def adjoint(shape, field, adjoints_at, rows, columns):  # type: ignore[no-untyped-def]
    """What is added to the adjoint of an operand: itself, or zeros for `give`; empty of a constant."""
    if shape[field + 1] == 0:
        return np.zeros((0, 0))
    if is_turned(shape, field):
        return np.zeros((rows, columns))
    return block(adjoints_at, shape[field], rows, columns)


@njit(**INTERNAL_OPTIONS)
def give(shape, field, adjoints_at, made):  # type: ignore[no-untyped-def]
    """Add what `adjoint` gave, and has been added to, where it is not the adjoint itself."""
    if shape[field + 1] != 0 and is_turned(shape, field):
        rows, columns = made.shape
        bar = block(adjoints_at, shape[field], columns, rows)
        for j in range(columns):
            for i in range(rows):
                bar[j, i] += made[i, j]


@njit(**INTERNAL_OPTIONS)
def tangent(shape, field, dots_at, rows, columns):  # type: ignore[no-untyped-def]
    """The tangent of an operand, zeros of a constant."""
    if shape[field + 1] == 0:
        return np.zeros((rows, columns))
    if is_turned(shape, field):
        return turn(block(dots_at, shape[field], columns, rows))
    return block(dots_at, shape[field], rows, columns)


@njit(**INTERNAL_OPTIONS)
def result(shape, at, rows, columns):  # type: ignore[no-untyped-def]
    """The result, its adjoint or its tangent, in C order; not to be written to."""
    if shape[TURNED] != 0:
        return turn(block(at, shape[RESULT], columns, rows))
    return block(at, shape[RESULT], rows, columns)


@njit(**INTERNAL_OPTIONS)
def put(shape, at, z):  # type: ignore[no-untyped-def]
    """Write the result or its tangent."""
    rows, columns = z.shape
    if shape[TURNED] != 0:
        made = block(at, shape[RESULT], columns, rows)
        for i in range(rows):
            for j in range(columns):
                made[j, i] = z[i, j]
    else:
        put_block(at, shape[RESULT], z)


@njit(**INTERNAL_OPTIONS)
def put_block(at, place, z):  # type: ignore[no-untyped-def]
    """Write a matrix at a place of an array."""
    made = block(at, place, z.shape[0], z.shape[1])
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            made[i, j] = z[i, j]


@njit(**INTERNAL_OPTIONS)
def masked_sum(c, a_dot):  # type: ignore[no-untyped-def]
    """<c, a_dot>, in which a zero of a_dot masks what is not finite in c."""
    total = 0.0
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            if a_dot[i, j] != 0.0:
                total += c[i, j] * a_dot[i, j]
    return total


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
    if shape[A_CELLS] != 0:
        z, a_bar = result(shape, values_at, n, k), adjoint(shape, A, adjoints_at, n, n)
        subtract_triangle(c, z, transposed, lower, unit_diagonal, a_bar)
        give(shape, A, adjoints_at, a_bar)


@njit(**INTERNAL_OPTIONS)
def add_columns(shape, adjoints_at, c):  # type: ignore[no-untyped-def]
    """Add to the adjoint of a right-hand side."""
    if shape[B_CELLS] == 0:
        return
    rows, columns = c.shape
    if shape[B_TURNED] != 0:
        bar = block(adjoints_at, shape[B], columns, rows)
        for j in range(columns):
            for i in range(rows):
                bar[j, i] += c[i, j]
    else:
        add_scaled(block(adjoints_at, shape[B], rows, columns), 0, 0, 1.0, c)


def triangular_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangent."""
    shape = fields(shape_at)
    n, k = shape[N], shape[K]
    a, z = operand(shape, A, values_at, constants_at, n, n), result(shape, values_at, n, k)
    a_dot, b_dot = tangent(shape, A, dots_at, n, n), tangent(shape, B, dots_at, n, k)
    flags = shape[FIRST] != 0, shape[SECOND] != 0, shape[THIRD] != 0
    put(shape, dots_at, solve_triangular_tangent(z, a, flags[0], flags[1], flags[2], a_dot, b_dot))


# ---- factors of a matrix, which the first step on it keeps -----------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def factors_in(shape, values_at, constants_at):  # type: ignore[no-untyped-def]
    """The factors and the exchanges of rows; they are found by the step that keeps them, or it raises."""
    n, status, place = shape[N], shape[KEEPER], shape[KEPT]
    factors, exchanges = block(values_at, place, n, n), block(values_at, place + n * n, 1, n)[0]
    if status != shape[STATUS]:
        if block(values_at, status, 1, 1)[0, 0] != 0.0:
            raise np.linalg.LinAlgError("there are no factors")
        return factors, exchanges
    found, order, report = factor_rows(operand(shape, A, values_at, constants_at, n, n))
    if report != 0:
        raise np.linalg.LinAlgError("Singular matrix")
    put_block(values_at, place, found)
    for i in range(n):
        exchanges[i] = order[i]
    return factors, exchanges


@njit(**INTERNAL_OPTIONS)
def kept_factors(shape, values_at):  # type: ignore[no-untyped-def]
    """The factors and the exchanges of rows, when they are there."""
    n, place = shape[N], shape[KEPT]
    return block(values_at, place, n, n), block(values_at, place + n * n, 1, n)[0]


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
    if shape[A_CELLS] != 0:
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
    put(shape, values_at, invert(operand(shape, A, values_at, constants_at, n, n)))


def inv_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar -= z^T z_bar z^T"""
    shape = fields(shape_at)
    n = shape[N]
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_inv(result(shape, adjoints_at, n, n), result(shape, values_at, n, n), a_bar)
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
    block(values_at, shape[RESULT], 1, 1)[0, 0] = find_det(operand(shape, A, values_at, constants_at, n, n))


def det_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += z_bar c, c: the matrix of cofactors"""
    shape = fields(shape_at)
    n = shape[N]
    z, z_bar = block(values_at, shape[RESULT], 1, 1)[0, 0], block(adjoints_at, shape[RESULT], 1, 1)[0, 0]
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


# ---- QR factors: q, and below it r^T ---------------------------------------------------------------------------------
def orthogonal_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a = q r"""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    q, r = np.linalg.qr(operand(shape, A, values_at, constants_at, m, n))
    for i in range(n):
        if r[i, i] == 0.0:
            raise np.linalg.LinAlgError("the rank is less")
    z = np.empty((m + n, n))
    for j in range(n):
        for i in range(m):
            z[i, j] = q[i, j]
        for i in range(n):
            z[m + i, j] = r[j, i]
    put(shape, values_at, z)


def orthogonal_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """(q_bar + q c) r^-T"""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    z, z_bar = result(shape, values_at, m + n, n), result(shape, adjoints_at, m + n, n)
    none, a_bar = np.empty((m, 0)), adjoint(shape, A, adjoints_at, m, n)
    add_qr(z_bar[:m], turn(z_bar[m:]), z[:m], turn(z[m:]), none, a_bar)
    give(shape, A, adjoints_at, a_bar)


def orthogonal_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangents of the factors."""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    z, a = result(shape, values_at, m + n, n), operand(shape, A, values_at, constants_at, m, n)
    q_dot, r_dot = qr_tangent(z[:m], turn(z[m:]), a, tangent(shape, A, dots_at, m, n))
    z_dot = np.empty((m + n, n))
    z_dot[:m] = q_dot
    z_dot[m:] = r_dot.T
    put(shape, dots_at, z_dot)


# ---- eigenvalues in a row, and vectors below; FIRST: of the upper triangle -------------------------------------------
def eigh_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a v = v diag(w) for a symmetric a"""
    shape = fields(shape_at)
    n = shape[N]
    a = operand(shape, A, values_at, constants_at, n, n)
    if shape[FIRST] != 0:
        a = turn(a)
    w, v = np.linalg.eigh(a)
    put_spectrum(shape, values_at, w, in_order(v))


@njit(**INTERNAL_OPTIONS)
def put_spectrum(shape, at, w, v):  # type: ignore[no-untyped-def]
    """Write eigenvalues and vectors, or their tangents."""
    z = np.empty((w.size + 1, w.size))
    z[0] = w
    z[1:] = v
    put(shape, at, z)


def eigh_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """On the triangle that is read."""
    shape = fields(shape_at)
    n = shape[N]
    z, z_bar = result(shape, values_at, n + 1, n), result(shape, adjoints_at, n + 1, n)
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    if shape[FIRST] != 0:
        found = np.zeros((n, n))
        add_eigh(z_bar[0], z_bar[1:], z[0], z[1:], found)
        add_scaled(a_bar, 0, 0, 1.0, turn(found))
    else:
        add_eigh(z_bar[0], z_bar[1:], z[0], z[1:], a_bar)
    give(shape, A, adjoints_at, a_bar)


def eigh_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangents of eigenvalues and vectors."""
    shape = fields(shape_at)
    n = shape[N]
    z, a_dot = result(shape, values_at, n + 1, n), tangent(shape, A, dots_at, n, n)
    if shape[FIRST] != 0:
        a_dot = turn(a_dot)
    w_dot, v_dot = eigh_tangent(z[0], z[1:], a_dot)
    put_spectrum(shape, dots_at, w_dot, v_dot)


def eig_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a v = v diag(w); it raises where an eigenvalue is complex"""
    shape = fields(shape_at)
    n = shape[N]
    w, v = find_real_spectrum(operand(shape, A, values_at, constants_at, n, n), False)
    put_spectrum(shape, values_at, w, v)


def eig_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """The adjoint."""
    shape = fields(shape_at)
    n = shape[N]
    z, z_bar = result(shape, values_at, n + 1, n), result(shape, adjoints_at, n + 1, n)
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_eig(z_bar[0], z_bar[1:], z[0], z[1:], a_bar)
    give(shape, A, adjoints_at, a_bar)


def eig_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangents of eigenvalues and vectors."""
    shape = fields(shape_at)
    n = shape[N]
    z = result(shape, values_at, n + 1, n)
    w_dot, v_dot = eig_tangent(z[0], z[1:], tangent(shape, A, dots_at, n, n))
    put_spectrum(shape, dots_at, w_dot, v_dot)


# ---- singular values: u, s as a row, and v ---------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def put_factors(shape, at, u, s, vt):  # type: ignore[no-untyped-def]
    """Write the factors, or their tangents."""
    m, n, k = u.shape[0], vt.shape[1], s.size
    z = np.empty((m + 1 + n, k))
    z[:m] = u
    z[m] = s
    z[m + 1 :] = vt.T
    put(shape, at, z)


def svd_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a = u diag(s) v^T"""
    shape = fields(shape_at)
    u, s, vt = reduced_svd(operand(shape, A, values_at, constants_at, shape[M], shape[N]))
    put_factors(shape, values_at, u, s, vt)


def svd_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """The adjoint."""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    k = min(m, n)
    z, z_bar = result(shape, values_at, m + 1 + n, k), result(shape, adjoints_at, m + 1 + n, k)
    a_bar = adjoint(shape, A, adjoints_at, m, n)
    add_svd(z_bar[:m], z_bar[m], turn(z_bar[m + 1 :]), z[:m], z[m], turn(z[m + 1 :]), a_bar)
    give(shape, A, adjoints_at, a_bar)


def svd_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangents of the factors."""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    z = result(shape, values_at, m + 1 + n, min(m, n))
    u_dot, s_dot, vt_dot = svd_tangent(z[:m], z[m], turn(z[m + 1 :]), tangent(shape, A, dots_at, m, n))
    put_factors(shape, dots_at, u_dot, s_dot, vt_dot)


# ---- banded systems: FIRST and SECOND are the diagonals below and above ----------------------------------------------
def banded_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a z = b; the factors are saved"""
    shape = fields(shape_at)
    n, k, lower, upper = shape[N], shape[K], shape[FIRST], shape[SECOND]
    ab = operand(shape, A, values_at, constants_at, lower + upper + 1, n)
    factors = block(values_at, shape[SAVED], height_of_factors(lower, upper), n)
    if factor_banded(lower, upper, ab, factors) != 0:
        raise np.linalg.LinAlgError("singular matrix")
    z = in_order(operand(shape, B, values_at, constants_at, n, k))
    solve_factored_band(lower, upper, factors, z, False)
    put(shape, values_at, z)


def banded_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """b_bar += a^-T z_bar, ab_bar -= a^-T z_bar z^T in the band."""
    shape = fields(shape_at)
    n, k, lower, upper = shape[N], shape[K], shape[FIRST], shape[SECOND]
    factors = block(values_at, shape[SAVED], height_of_factors(lower, upper), n)
    c = in_order(result(shape, adjoints_at, n, k))
    solve_factored_band(lower, upper, factors, c, True)
    add_columns(shape, adjoints_at, c)
    if shape[A_CELLS] != 0:
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
    powers = block(values_at, shape[SAVED], 3 * n, n)
    put(shape, values_at, expm_with_powers(operand(shape, A, values_at, constants_at, n, n), powers))


def expm_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """L(a^T, z_bar)"""
    shape = fields(shape_at)
    n = shape[N]
    a, powers = operand(shape, A, values_at, constants_at, n, n), block(values_at, shape[SAVED], 3 * n, n)
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_by_powers(result(shape, adjoints_at, n, n), a, powers, a_bar)
    give(shape, A, adjoints_at, a_bar)


def expm_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """L(a, a_dot)"""
    shape = fields(shape_at)
    n = shape[N]
    a, powers = operand(shape, A, values_at, constants_at, n, n), block(values_at, shape[SAVED], 3 * n, n)
    put(shape, dots_at, along_by_powers(a, in_order(tangent(shape, A, dots_at, n, n)), powers))


# ---- lengths ---------------------------------------------------------------------------------------------------------
def norm_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """The root of the sum of squares."""
    shape = fields(shape_at)
    total = 0.0
    for x in operand(shape, A, values_at, constants_at, 1, shape[N])[0]:
        total += x * x
    if not 1e-280 < total:  # 0, or so small that squares are lost
        raise ValueError("a small vector")
    block(values_at, shape[RESULT], 1, 1)[0, 0] = np.sqrt(total)


def norm_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """x_bar += z_bar x / z"""
    shape = fields(shape_at)
    n = shape[N]
    z, z_bar = block(values_at, shape[RESULT], 1, 1)[0, 0], block(adjoints_at, shape[RESULT], 1, 1)[0, 0]
    add_scaled(adjoint(shape, A, adjoints_at, 1, n), 0, 0, z_bar / z, operand(shape, A, values_at, constants_at, 1, n))


def norm_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """<x, x_dot> / z"""
    shape = fields(shape_at)
    n = shape[N]
    z, x_dot = block(values_at, shape[RESULT], 1, 1)[0, 0], tangent(shape, A, dots_at, 1, n)
    block(dots_at, shape[RESULT], 1, 1)[0, 0] = masked_sum(operand(shape, A, values_at, constants_at, 1, n), x_dot) / z


KERNELS = {
    "cholesky_factor": (cholesky_value, cholesky_adjoint, cholesky_push),
    "solve_triangular": (triangular_value, triangular_adjoint, triangular_push),
    "solve": (solve_value, solve_adjoint, solve_push),
    "inv": (inv_value, inv_adjoint, inv_push),
    "det": (det_value, det_adjoint, det_push),
    "log_determinant": (log_determinant_value, log_determinant_adjoint, log_determinant_push),
    "orthogonal_factor": (orthogonal_value, orthogonal_adjoint, orthogonal_push),
    "symmetric_spectrum": (eigh_value, eigh_adjoint, eigh_push),
    "real_spectrum": (eig_value, eig_adjoint, eig_push),
    "singular_spectrum": (svd_value, svd_adjoint, svd_push),
    "banded_solution": (banded_value, banded_adjoint, banded_push),
    "expm": (expm_value, expm_adjoint, expm_push),
    "euclidean_norm": (norm_value, norm_adjoint, norm_push),
}
