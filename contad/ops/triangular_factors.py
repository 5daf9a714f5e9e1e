"""Triangular systems, and the Cholesky factors of symmetric matrices."""

import functools

import numpy as np

from contad.ops.cotangents import all_finite, fold
from contad.ops.factors import triangular_product, triangular_solution
from contad.ops.linear_systems import (
    are_matrices,
    as_columns,
    check_lengths,
    check_square,
    column_shape,
    conj_of,
    conj_transposed_of,
    in_c_order,
    mask,
    transposed_of,
    turn,
)
from contad.ops.products import as_array, masked_product, matmul
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import COMPLEX, FLOAT, HERMITIAN, dtype_beside, is_float64

_L = [[1.3, 0.0, 0.0], [0.4, 1.9, 0.0], [-1.1, 0.7, 2.2]]
_M = [[0.9, 0.3, -0.2], [0.8, -1.4, 0.6], [0.5, 1.2, 1.7]]  # both triangles are nonzero, although one is not read
_S, _T = [[4.3, 0.6, -0.8], [0.6, 3.9, 0.5], [-0.8, 0.5, 2.6]], [[2.2, -0.7, 0.3], [-0.7, 3.1, 0.4], [0.3, 0.4, 1.8]]
_B = [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9]]
MATRIX_BLOCK = 64  # rows of a factor in one matrix block of the reverse
MASKED = 128  # rows up to which masks of triangles are cached


# ---- triangles -------------------------------------------------------------------------------------------------------
def lower_part(a, k=0):
    """The elements of a on diagonal k and below it, and zeros: np.tril with cached masks for small matrices."""
    if is_float64(a) and a.ndim == 2 and len(a) == a.shape[1] <= MASKED:
        return np.where(_lower_mask(len(a), k), a, 0.0)
    return np.tril(a, k)


def upper_part(a, k=0):
    """The elements of a on diagonal k and above it, and zeros."""
    if is_float64(a) and a.ndim == 2 and len(a) == a.shape[1] <= MASKED:
        return np.where(_lower_mask(len(a), k - 1), 0.0, a)
    return np.triu(a, k)


def strict_triangle(n, lower, dtype=FLOAT):
    """Ones in one triangle of n rows, without the diagonal.

    >>> strict_triangle(2, True)
    array([[0., 0.],
           [1., 0.]])
    """
    return (_kept_triangle if n <= MASKED else _kept_triangle.__wrapped__)(n, lower, dtype)


@functools.lru_cache(MATRIX_BLOCK)
def _kept_triangle(n, lower, dtype):
    ones = np.tri(n, k=-1, dtype=dtype) if lower else np.triu(np.ones((n, n), dtype), 1)
    ones.flags.writeable = False
    return ones


@functools.lru_cache(MATRIX_BLOCK)
def places_above(n):
    """The flat positions of the elements above the diagonal of a matrix with n rows."""
    return np.flatnonzero(np.triu(np.ones((n, n)), 1))


@functools.lru_cache(MATRIX_BLOCK)
def _lower_mask(n, k):
    """The mask of the elements on diagonal k and below it in a matrix with n rows."""
    return np.tri(n, k=k, dtype=bool)


@functools.lru_cache(MATRIX_BLOCK)
def subtracted_triangle(n, lower, unit_diagonal):
    """-1 where solve_triangular reads a matrix with n rows, and zeros elsewhere."""
    return -triangle_of(np.ones((n, n)), lower, unit_diagonal)


def half_triangle(a):
    """The lower triangle of a with half of its diagonal; a symmetric a is the sum of this and its transpose.

    >>> half_triangle(np.array([[2.0, 3.0], [3.0, 4.0]]))
    array([[1., 0.],
           [3., 2.]])
    """
    return lower_part(a) * _diagonal_halved(np.shape(a)[-1], dtype_beside(a))


@functools.lru_cache(MATRIX_BLOCK)
def _few_halved(n, dtype):
    return 1.0 - 0.5 * np.eye(n, dtype=dtype)


def _diagonal_halved(n, dtype):
    """Ones, and halves on the diagonal."""
    return (_few_halved if n <= MATRIX_BLOCK else _few_halved.__wrapped__)(n, dtype)


def symmetrise(a, upper=False):
    """The symmetric or Hermitian matrix with the triangle of a that a function reads."""
    lower = lower_part(conj_transposed_of(a) if upper else a)
    return with_real_diagonal(lower + conj_transposed_of(lower_part(lower, -1)))


def with_real_diagonal(a):
    """a without the imaginary parts on its diagonal; a itself if it is real."""
    return np.where(np.eye(np.shape(a)[-1], dtype=bool), np.real(a), a) if is_complex(a) else a


def onto_triangle(c, upper=False):
    """The cotangent of the triangle that was read, from the cotangent c of the whole symmetric matrix."""
    lower = half_triangle(c + conj_transposed_of(c))
    return conj_transposed_of(lower) if upper else lower


# ---- triangular systems ----------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    points=[
        (_L, [0.6, 1.7, -0.2], {"lower": True}),
        (_M, _B),
        (_M, _B, {"transposed": True, "lower": True}),
        (_M, [0.6, 1.7, -0.2], {"transposed": True}),
        (_M, _B, {"lower": True, "unit_diagonal": True}),
        ([_L, _M], _B, {"lower": True}),
        (_M, [_B, [[0.3, 1.1], [-0.8, 2.4], [0.5, 1.6]]]),
    ]
)
def solve_triangular(a, b, *, transposed=False, lower=False, unit_diagonal=False):
    """The solution of a z = b, where one triangle of a is read; like scipy.linalg.solve_triangular.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-T z_bar,     a_bar = -b_bar z^T in the triangle

    Shapes:  a (..., n, n), b (n,) or (..., n, k) -> z like b. transposed: a^T z = b is solved.
    Domain:  a with a nonzero diagonal; with unit_diagonal the diagonal counts as 1 and is not read.
    Raises:  LinAlgError if a is singular or not square, ValueError if the lengths differ.
    Cost:    O(n^2 k) forward, twice that in reverse, one solution for both arguments; saves nothing.
    Ref:     Giles (2008), section 2.3.1.

    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([4.0, 10.0]), lower=True)
    array([2., 2.])
    """
    check_square("solve_triangular", a)
    columns = as_columns(b, b.ndim)
    check_lengths("solve_triangular", a, b)
    flags = (bool(transposed), bool(lower), bool(unit_diagonal))
    if a.ndim == 2 and columns.ndim == 2:
        z = _solve_one(a, columns, flags)
        return z if b.ndim == 2 else z[:, 0]
    stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    left, right = (np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, columns))
    z = np.empty(right.shape, dtype_beside(a, columns))
    for k in np.ndindex(stack):
        z[k] = _solve_one(left[k], right[k], flags)
    return z[..., 0] if b.ndim == 1 else z


def _solve_one(a, b, flags):
    transposed, lower, unit_diagonal = flags
    if b.size == 0:
        return np.zeros(b.shape, dtype_beside(a, b))
    if not unit_diagonal and np.count_nonzero(a.diagonal()) < len(a):
        zero = np.flatnonzero(a.diagonal() == 0.0)[0]
        raise np.linalg.LinAlgError(f"Singular matrix: element {zero} of the diagonal is 0")
    return solve_regular(a, b, transposed, lower, unit_diagonal)


def solve_regular(a, b, transposed, lower, unit_diagonal):
    """The solution of a z = b for a matrix with a nonzero diagonal, and the columns of b."""
    if a.flags.c_contiguous:  # the transpose is in BLAS's order without a copy
        return triangular_solution(a.T, b, not lower, not transposed, unit_diagonal)
    return triangular_solution(a, b, lower, transposed, unit_diagonal)


@solve_triangular.common
def solve_triangular_common(z, z_bar, a, b, *, transposed=False, lower=False, unit_diagonal=False):
    return triangular_back(a, z_bar, b.ndim, transposed, lower, unit_diagonal)


@solve_triangular.vjp("a")
def solve_triangular_vjp_a(z, z_bar, a, b, common, *, transposed=False, lower=False, unit_diagonal=False):
    return pull_triangle(z, a, b, common, transposed, lower, unit_diagonal)


def pull_triangle(z, a, b, common, transposed, lower, unit_diagonal):
    """The cotangent of the matrix, from that of the columns of b."""
    n = a.shape[-1]
    if a.ndim == 2 and n <= MASKED and are_matrices(common) and z.__class__ is np.ndarray and z.ndim <= 2:
        c = common * z if z.ndim == 1 else common.dot(z.T)
        c = (c.T if transposed else c) * subtracted_triangle(n, lower, unit_diagonal)
        if all_finite(c):
            return c
    c = masked_product(common, transposed_of(as_columns(z, b.ndim)))
    return -fold(triangle_of(turn(c, transposed), lower, unit_diagonal), a.shape)


@solve_triangular.vjp("b")
def solve_triangular_vjp_b(z, z_bar, a, b, common, *, transposed=False, lower=False, unit_diagonal=False):
    return of_right_side(common, b)


def of_right_side(columns, b):
    """Columns in the shape of b, summed over stacks that b does not have."""
    if columns.__class__ is b.__class__ is np.ndarray and columns.size == b.size:
        return columns.reshape(b.shape)
    return np.reshape(fold(columns, column_shape(b.shape)), b.shape)


@solve_triangular.jvp
def solve_triangular_jvp(z, a_dot, b_dot, a, b, *, transposed=False, lower=False, unit_diagonal=False):
    read = triangle_of(a_dot, lower, unit_diagonal)
    product = matmul(turn(read, transposed), as_columns(z, np.ndim(b)))
    solution = solve_triangular(
        a, as_columns(b_dot, np.ndim(b)) - product, transposed=transposed, lower=lower, unit_diagonal=unit_diagonal
    )
    return np.reshape(solution, np.shape(z))


def triangular_back(a, z_bar, ndim, transposed, lower, unit_diagonal):
    """The cotangent of the columns of b, before the stacks are summed."""
    columns = as_columns(z_bar, ndim)
    if are_matrices(a, columns) and columns.size:  # the forward solution shows that it is regular
        solution = solve_regular(a, columns, not transposed, lower, unit_diagonal)
        if all_finite(solution):
            return solution
    solution = solve_triangular(a, columns, transposed=not transposed, lower=lower, unit_diagonal=unit_diagonal)
    return mask(columns, solution)


def triangle_of(a, lower, unit_diagonal):
    """The part of a that solve_triangular reads: a triangle, with or without the diagonal."""
    k = int(unit_diagonal)
    return lower_part(a, -k) if lower else upper_part(a, k)


# ---- Cholesky factors ------------------------------------------------------------------------------------------------
@array_rule(dtypes=HERMITIAN, points=[(_S,), ([_S, _T],), ([[2.3]],)])
def cholesky_factor(a):
    """The lower triangular factor z of a symmetric positive definite matrix, a = z z^T; np.linalg.cholesky calls it.

        z_dot = z P(z^-1 a_dot z^-T),     a_bar = z^-T P(z^T z_bar) z^-1,     P: the lower triangle, diagonal halved

    a_bar belongs to the symmetric a. Only the lower triangle is read; a_bar has the sum of both triangles there, and
    zeros above. A complex a is Hermitian, and ^T conjugates it.

    Shapes:  a (..., n, n) -> z (..., n, n).
    Domain:  positive definite a.
    Raises:  LinAlgError if a is not positive definite or not square.
    Cost:    n^3 / 3 multiplications forward, twice that in reverse by blocks, of plain numbers; saves nothing.
    Ref:     Giles (2008), section 2.3.2; Murray (2016), equation 10 and section 4.2.

    >>> cholesky_factor(np.array([[4.0, 2.0], [2.0, 10.0]]))
    array([[2., 0.],
           [1., 3.]])
    """
    check_square("cholesky", a)
    return np.linalg.cholesky(a)


@cholesky_factor.vjp("a")
def cholesky_factor_vjp_a(z, z_bar, a):
    return pull_factor(z, z_bar)


def pull_factor(z, z_bar):
    """The cotangent of the matrix with the factor z; by blocks for a large matrix of numbers.

    Only the lower triangle of z_bar matters.
    """
    found = pull_small(z, z_bar)
    if found is not None:
        return found
    z_bar = lower_part(z_bar)
    if are_matrices(z, z_bar) and len(z) > MATRIX_BLOCK and all_finite(z):
        return pull_matrix_blocks(z, np.array(z_bar))
    inner = half_triangle(matmul(conj_transposed_of(z), z_bar))
    return onto_triangle(0.5 * between_inverses(z, inner + conj_transposed_of(inner)))


def pull_small(z, z_bar):
    """The same in few calls, for a small matrix of numbers; None for others, and if it is not finite.

    This computes one triangle of the symmetric matrix and mirrors it. Only one triangle of z is read. Elements of z_bar
    above the diagonal do not affect the lower triangle of the product.
    """
    if not are_matrices(z, z_bar) or not 0 < len(z) <= MATRIX_BLOCK:
        return None
    half = _lower_halved(len(z))
    low = half * triangular_product(z.T, z_bar)
    first = triangular_solution(z.T, (low + low.T).T, False, False, overwrite=True)
    found = half * triangular_solution(z.T, first, False, True, right=True, overwrite=True).T
    return found if all_finite(found) else None


@functools.lru_cache(MATRIX_BLOCK)
def _lower_halved(n):
    """Ones in the lower triangle, and halves on the diagonal."""
    return np.tril(np.ones((n, n))) - 0.5 * np.eye(n)


def pull_matrix_blocks(z, bar):
    """The same with 2/3 n^3 multiplications, in place in the cotangent: blocks of rows, the last first."""
    for start in range((len(z) - 1) // MATRIX_BLOCK * MATRIX_BLOCK, -1, -MATRIX_BLOCK):
        end = start + MATRIX_BLOCK
        corner, before = z[start:end, start:end], z[start:end, :start]
        below = triangular_solution(corner.T, bar[end:, start:end].T, lower=False, transposed=False)
        bar[end:, start:end] = below.T
        bar[end:, :start] -= below.T @ before
        bar[start:end, :start] -= below @ z[end:, :start]
        inner = pull_factor(corner, bar[start:end, start:end] - below @ z[end:, start:end])
        bar[start:end, start:end] = inner
        bar[start:end, :start] -= (inner + inner.T) @ before
    return bar


@cholesky_factor.jvp
def cholesky_factor_jvp(z, a_dot, a):
    return cholesky_tangent(z, a_dot)


def cholesky_tangent(z, a_dot):
    """The tangent of the factor z of a matrix; the lower triangle of the matrix's tangent is read."""
    half = solve_triangular(z, symmetrise(a_dot), lower=True)
    return matmul(z, half_triangle(solve_triangular(z, conj_transposed_of(half), lower=True)))


def between_inverses(z, c):
    """z^-T c z^-1 for a symmetric or Hermitian c."""
    z = conj_of(z)
    half = solve_triangular(z, c, transposed=True, lower=True)
    return mask(c, solve_triangular(z, conj_transposed_of(half), transposed=True, lower=True))


def upper_cholesky_factor(a):
    """The upper triangular factor, from the upper triangle of a."""
    return conj_transposed_of(cholesky_factor(in_c_order(conj_transposed_of(a))))


@implements(np.linalg.cholesky, layout="own")
def cholesky(a, /, *, upper=False):
    """The Cholesky factor of a symmetric matrix, whose lower (or upper) triangle is read."""
    a = as_array(a)
    return in_c_order(upper_cholesky_factor(a)) if upper else cholesky_factor(a)
