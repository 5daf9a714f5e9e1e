"""Systems with symmetric positive definite matrices, their inverses and determinants, by Cholesky factors.

Only the lower triangle of such a matrix is read. Its cotangent has the sum of both triangles there, and zeros above.
"""

import numpy as np

from contad.ops.cotangents import fold, scale
from contad.ops.factors import CholeskyFactor, factorise, known_factor
from contad.ops.linear_systems import (
    as_columns,
    by_matrix,
    check_lengths,
    check_square,
    column_shape,
    mask,
    transposed_of,
)
from contad.ops.products import masked_product, matmul
from contad.ops.triangular_factors import onto_triangle, symmetrise
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import dtype_beside

# elements above the diagonal are not read
_S, _T = [[4.3, 9.0, 7.0], [0.6, 3.9, 8.0], [-0.8, 0.5, 2.6]], [[2.2, 5.0, 6.0], [-0.7, 3.1, 7.0], [0.3, 0.4, 1.8]]
_B = [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9]]


def each_matrix(function, a, shape):
    """function(k, factor) for each matrix of a stack of plain matrices, as an array; `shape` is that of one result."""
    z = np.empty((*a.shape[:-2], *shape), dtype_beside(a))
    for k in np.ndindex(a.shape[:-2]):
        z[k] = function(k, known_factor(a[k], symmetric=True) or CholeskyFactor(a[k]))
    return z


# ---- systems ---------------------------------------------------------------------------------------------------------
@array_rule(
    points=[
        (_S, [0.6, 1.7, -0.2]),
        (_S, _B),
        ([_S, _T], _B),
        (_S, [_B, [[0.3, 1.1], [-0.8, 2.4], [0.5, 1.6]]]),
    ]
)
def solve_spd(a, b):
    """The solution of a z = b for a symmetric positive definite a, whose lower triangle is read.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-1 z_bar,     a_bar = -b_bar z^T

    a_bar belongs to the symmetric a: the lower triangle has the sum of both, the upper one zeros.

    Shapes:  a (..., n, n), b (n,) or (..., n, k) -> z like b; the stacks broadcast.
    Domain:  positive definite a.
    Raises:  LinAlgError if a is not positive definite or not square, ValueError if the lengths differ.
    Cost:    O(n^3 / 3 + n^2 k) forward, O(n^2 k) in reverse from the saved factor; stacks are factorised again.
    Ref:     Giles (2008), section 2.3.1, for a symmetric matrix.

    >>> solve_spd(np.array([[4.0, 2.0], [2.0, 10.0]]), np.array([8.0, 22.0]))
    array([1., 2.])
    """
    check_square("mdivide_left_spd", a)
    columns = as_columns(b, np.ndim(b))
    check_lengths("mdivide_left_spd", a, b)
    stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    if not columns.size:
        shape = np.shape(b) if np.ndim(b) == 1 else (*stack, *columns.shape[-2:])
        return np.zeros(shape, dtype_beside(a))
    left, right = (np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, columns))
    z = each_matrix(lambda k, factor: factor.solve(right[k]), left, columns.shape[-2:])
    return z[..., 0] if np.ndim(b) == 1 else z


@solve_spd.forward
def solve_spd_forward(a, b):
    check_square("mdivide_left_spd", a)
    factor = factorise(a, symmetric=True)
    return solve_spd(a, b), factor


@solve_spd.common
def solve_spd_common(z, z_bar, a, b, saved):
    return symmetric_back(a, as_columns(z_bar, np.ndim(b)))


@solve_spd.vjp("a")
def solve_spd_vjp_a(z, z_bar, a, b, saved, common):
    c = masked_product(common, transposed_of(as_columns(z, np.ndim(b))))
    return -onto_triangle(fold(c, np.shape(a)))


@solve_spd.vjp("b")
def solve_spd_vjp_b(z, z_bar, a, b, saved, common):
    return np.reshape(fold(common, column_shape(np.shape(b))), np.shape(b))


@solve_spd.jvp
def solve_spd_jvp(z, a_dot, b_dot, a, b, saved):
    product = matmul(symmetrise(a_dot), as_columns(z, np.ndim(b)))
    return np.reshape(solve_spd(a, as_columns(b_dot, np.ndim(b)) - product), np.shape(z))


def symmetric_back(a, columns):
    """The cotangent of the columns of b, before the stacks are summed."""
    return mask(columns, solve_spd(a, columns))


# ---- inverses and determinants ---------------------------------------------------------------------------------------
@array_rule(points=[(_S,), ([_S, _T],), ([[2.3]],)])
def inverse_spd(a):
    """The inverse of a symmetric positive definite matrix, whose lower triangle is read; Stan's inverse_spd.

        z = a^-1,     z_dot = -z a_dot z,     a_bar = -z z_bar z

    a_bar belongs to the symmetric a: the lower triangle has the sum of both, the upper one zeros.

    Shapes:  a (..., n, n) -> z (..., n, n), exactly symmetric.
    Domain:  positive definite a.
    Raises:  LinAlgError if a is not positive definite or not square.
    Cost:    O(n^3) forward, two products in reverse; saves nothing. To solve a system, call mdivide_left_spd.
    Ref:     Giles (2008), section 2.2.3.

    >>> inverse_spd(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    check_square("inverse_spd", a)
    if not a.size:
        return np.zeros(a.shape, dtype_beside(a))
    return each_matrix(lambda k, factor: factor.inverse(), a, np.shape(a)[-2:])


@inverse_spd.vjp("a")
def inverse_spd_vjp_a(z, z_bar, a):
    return mask(z_bar, -onto_triangle(matmul(matmul(z, z_bar), z)))


@inverse_spd.jvp
def inverse_spd_jvp(z, a_dot, a):
    return -matmul(matmul(z, symmetrise(a_dot)), z)


@array_rule(points=[(_S,), ([_S, _T],), ([[2.3]],)])
def log_determinant_spd(a):
    """log det a of a symmetric positive definite matrix, whose lower triangle is read; Stan's name.

        z = log det a,     z_dot = <a^-1, a_dot>,     a_bar = z_bar a^-1

    a_bar belongs to the symmetric a: the lower triangle has the sum of both, the upper one zeros.

    Shapes:  a (..., n, n) -> z (...);  n = 0 gives 0.0.
    Domain:  positive definite a.
    Raises:  LinAlgError if a is not positive definite or not square.
    Cost:    O(n^3 / 3) forward, O(n^3) in reverse; saves the factor and shares it with mdivide_left_spd of the same a.
    Ref:     Giles (2008), section 2.2.4.

    >>> log_determinant_spd(np.array([[2.0, 0.0], [0.0, 4.0]]))
    2.0794415416798357
    """
    check_square("log_determinant_spd", a)
    if not a.size:
        return np.zeros(np.shape(a)[:-2], dtype_beside(a))[()]
    return each_matrix(lambda k, factor: factor.log_determinant(), a, ())[()]


@log_determinant_spd.forward
def log_determinant_spd_forward(a):
    check_square("log_determinant_spd", a)
    factor = factorise(a, symmetric=True)
    return log_determinant_spd(a), factor


@log_determinant_spd.vjp("a")
def log_determinant_spd_vjp_a(z, z_bar, a, saved):
    return onto_triangle(scale(by_matrix(z_bar), inverse_spd(a)))


@log_determinant_spd.jvp
def log_determinant_spd_jvp(z, a_dot, a, saved):
    return np.sum(scale(symmetrise(a_dot), inverse_spd(a)), axis=(-2, -1))
