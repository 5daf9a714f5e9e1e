"""Cholesky factors in LAPACK's storage, and systems with the factored matrix."""

import numpy as np

from contad.ops._scipy import lapack
from contad.ops.cotangents import all_finite, fold
from contad.ops.linear_systems import (
    are_matrices,
    as_columns,
    check_square,
    conj_of,
    conj_transposed_of,
    mask,
    turn,
)
from contad.ops.products import masked_product, matmul
from contad.ops.triangular_factors import (
    MASKED,
    cholesky_tangent,
    lower_part,
    of_right_side,
    pull_factor,
    pull_small,
    solve_regular,
    solve_triangular,
    strict_triangle,
    subtracted_triangle,
    triangular_back,
    upper_part,
)
from contad.rules.array_rule import array_rule
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import HERMITIAN, dtype_beside

# of a factor only its own triangle is read
_S, _T = [[4.3, 0.2, 0.7], [0.6, 3.9, -0.8], [-0.8, 0.5, 2.6]], [[2.2, 0.5, 0.6], [-0.7, 3.1, 0.7], [0.3, 0.4, 1.8]]
_C, _D = [[1.3, 9.0, 0.7], [0.4, 1.9, 8.0], [-1.1, 0.7, 2.2]], [[0.9, 0.3, -0.2], [0.8, -1.4, 0.6], [0.5, 1.2, 1.7]]
_E, _B = [[1.3, 0.4, -1.1], [9.0, 1.9, 0.7], [0.7, 8.0, 2.2]], [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9]]


@array_rule(
    dtypes=HERMITIAN,
    points=[(_S, {"lower": True}), (_S, {"lower": False}), ([_S, _T], {"lower": True}), ([[2.3]], {"lower": False})]
)
def filled_cholesky_factor(a, *, lower):
    """The Cholesky factor of a in one triangle, and a in the other; contad.scipy.linalg.cho_factor calls it.

        z: if `lower`, c with a = c c^T, and above it a; otherwise c with a = c^T c, and below it a
        z_dot, a_bar: those of cholesky_factor in the triangle of c, and a_dot and z_bar in the other

    Shapes:  a (..., n, n) -> z (..., n, n).
    Domain:  positive definite a; for a complex a, ^T conjugates.
    Raises:  LinAlgError if a is not positive definite or not square.
    Cost:    n^3 / 3 multiplications forward, twice that in reverse by blocks, of plain numbers; saves nothing.
    Ref:     Giles (2008), section 2.3.2; Murray (2016), equation 10 and section 4.2.

    >>> filled_cholesky_factor(np.array([[4.0, 7.0], [2.0, 10.0]]), lower=True)
    array([[2., 7.],
           [1., 3.]])
    """
    check_square("cho_factor", a)
    if are_matrices(a) and a.size:
        z, minor = lapack().dpotrf(a.T, lower=not lower, clean=0)  # LAPACK sees rows as columns
        if minor > 0:
            raise np.linalg.LinAlgError(f"{minor}-th leading minor of the array is not positive definite")
        return z.T
    factor = turn_conj(np.linalg.cholesky(turn_conj(a, not lower)), not lower)
    return factor + a * strict_triangle(np.shape(a)[-1], not lower, dtype_beside(a))


@filled_cholesky_factor.vjp("a")
def filled_cholesky_factor_vjp_a(z, z_bar, a, *, lower):
    return pull_filled(z, z_bar, lower)


def pull_filled(z, z_bar, lower):
    """The cotangent of the matrix; an upper factor is transposed first."""
    z, z_bar = turn_conj(z, not lower), turn_conj(z_bar, not lower)
    found = pull_small(z, z_bar)
    if found is not None:
        return turn(found + z_bar * strict_triangle(len(z), False), not lower)
    return turn_conj(pull_factor(lower_part(z), z_bar) + upper_part(z_bar, 1), not lower)


@filled_cholesky_factor.jvp
def filled_cholesky_factor_jvp(z, a_dot, a, *, lower):
    return push_filled(z, a_dot, lower)


def push_filled(z, a_dot, lower):
    """The tangent of the factor; an upper one is transposed first."""
    z, a_dot = turn_conj(z, not lower), turn_conj(a_dot, not lower)
    return turn_conj(cholesky_tangent(lower_part(z), a_dot) + upper_part(a_dot, 1), not lower)


@array_rule(
    dtypes=HERMITIAN,
    points=[
        (_C, [0.6, 1.7, -0.2], {"lower": True}),
        (_E, _B, {"lower": False}),
        ([_C, _D], _B, {"lower": True}),
        (_E, [_B, [[0.3, 1.1], [-0.8, 2.4], [0.5, 1.6]]], {"lower": False}),
    ]
)
def cholesky_solution(c, b, *, lower):
    """The solution of a z = b for a = c c^T, c `lower`, or a = c^T c; contad.scipy.linalg.cho_solve calls it.

        c h = b, c^T z = h,     z_dot = a^-1 (b_dot - a_dot z),     u = c^-1 z_bar,     b_bar = c^-T u,
        c_bar = -(z u^T + b_bar h^T) in the triangle of a lower c, and its transpose for an upper one

    Shapes:  c (..., n, n), b (n,) or (..., n, k) -> z like b; the stacks broadcast.
    Domain:  c with a nonzero diagonal; for a complex c, ^T conjugates.
    Raises:  LinAlgError if c is singular or not square, ValueError if the lengths differ.
    Cost:    O(n^2 k) forward, twice that in reverse; saves h.
    Ref:     Giles (2008), section 2.3.1, for each of the two systems.

    >>> cholesky_solution(np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([8.0, 22.0]), lower=True)
    array([1., 2.])
    """
    half = solve_triangle(c, b, not lower, lower)
    return solve_triangle(c, half, lower, lower)


def solve_triangle(c, b, transposed, lower):
    """The solution of c z = b, or of c^T z = b, which conjugates a complex c."""
    return solve_triangular(conj_of(c) if transposed else c, b, transposed=transposed, lower=lower)


def turn_conj(a, transposed):
    """a, or a with its last two axes exchanged, and conjugate."""
    return conj_transposed_of(a) if transposed else a


@cholesky_solution.forward
def cholesky_solution_forward(c, b, *, lower):
    half = solve_triangle(c, b, not lower, lower)
    return solve_triangle(c, half, lower, lower), half


@cholesky_solution.common
def cholesky_solution_common(z, z_bar, c, b, saved, *, lower):
    return back_through_factor(c, b, z_bar, saved, lower)


@cholesky_solution.vjp("c")
def cholesky_solution_vjp_c(z, z_bar, c, b, saved, common, *, lower):
    return pull_solved(z, common, c, b, lower)


@cholesky_solution.vjp("b")
def cholesky_solution_vjp_b(z, z_bar, c, b, saved, common, *, lower):
    return of_right_side(common[2], b)


def back_through_factor(c, b, z_bar, half, lower):
    """h, the columns u of its cotangent, and those of the cotangent of b, before the stacks are summed."""
    columns = as_columns(z_bar, np.ndim(b))
    if are_matrices(c, columns) and columns.size:
        half_bar = solve_regular(c, columns, not lower, lower, False)
        b_bar = solve_regular(c, half_bar, lower, lower, False)
        if all_finite(b_bar):
            return half, half_bar, b_bar
    if not (c.__class__ is np.ndarray and b.__class__ is np.ndarray):  # `half` carries no derivative
        half = solve_triangle(c, b, not lower, lower)
    if is_complex(c):
        half_bar = solve_triangle(c, columns, not lower, lower)
        return half, half_bar, mask(columns, solve_triangle(c, half_bar, lower, lower))
    half_bar = triangular_back(c, z_bar, np.ndim(b), lower, lower, False)
    return half, half_bar, triangular_back(c, half_bar, np.ndim(half_bar), not lower, lower, False)


def pull_solved(z, common, c, b, lower):
    """The cotangent of the factor."""
    half, half_bar, b_bar = common
    ndim = np.ndim(b)
    is_one = ndim == 1 and half.__class__ is z.__class__ is np.ndarray and are_matrices(c, half_bar, b_bar)
    if is_one and len(c) <= MASKED:  # small: use few calls
        total = z[:, None] * half_bar.T + b_bar * half
        total *= subtracted_triangle(len(c), True, False)
        if all_finite(total):
            return turn(total, not lower)
    first = masked_product(half_bar, conj_transposed_of(as_columns(z, ndim)))
    total = conj_transposed_of(first) + masked_product(b_bar, conj_transposed_of(as_columns(half, ndim)))
    return turn_conj(-lower_part(fold(total, np.shape(c))), not lower)


@cholesky_solution.jvp
def cholesky_solution_jvp(z, c_dot, b_dot, c, b, saved, *, lower):
    return push_solved(z, c_dot, b_dot, c, b, lower)


def push_solved(z, c_dot, b_dot, c, b, lower):
    """The tangent of the solution."""
    c_dot, b_dot = lower_part(turn_conj(c_dot, not lower)), as_columns(b_dot, np.ndim(b))
    half, columns = solve_triangle(c, b, not lower, lower), as_columns(z, np.ndim(b))
    half_dot = b_dot - matmul(c_dot, as_columns(half, np.ndim(b)))
    half_dot = solve_triangle(c, half_dot, not lower, lower)
    z_dot = half_dot - matmul(conj_transposed_of(c_dot), columns)
    return np.reshape(solve_triangle(c, z_dot, lower, lower), np.shape(z))
