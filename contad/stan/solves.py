"""Stan's solutions of linear systems, inverses and determinants."""

import math

import numpy as np

from contad.distributions.docstrings import with_rest_of
from contad.ops import (
    determinants,
    linear_systems,
    orthogonal_factors,
    positive_definite,
    quadratic_forms,
    triangular_factors,
)
from contad.ops.linear_systems import check_square, transposed_of
from contad.ops.products import as_array
from contad.stan.checks import check_lower_triangular
from contad.stan.compiled import with_bodies
from contad.stan.recorded_checks import has_nan, require_symmetric, values_of
from contad.stan.shapes import matrices, require_length
from contad.variables.open_types import ArrayValue, Value

__all__ = [
    "chol2inv", "determinant", "generalized_inverse", "inverse", "inverse_spd", "log_determinant",
    "log_determinant_spd", "mdivide_left", "mdivide_left_spd", "mdivide_left_tri_low", "mdivide_right",
    "mdivide_right_spd", "mdivide_right_tri_low",
]  # fmt: skip

SYMMETRIC = (("a", "symmetric"),)
REAL = (*SYMMETRIC, ("a", "real"))


def _left(name: str, a: ArrayValue, b: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    a, b = map(as_array, (a, b))
    check_square(name, a)
    require_length(name, "b", b, -1 if np.ndim(b) == 1 else -2, np.shape(a)[-1], "a has columns")
    return a, b


def _right(name: str, b: ArrayValue, a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """A matrix, and the transpose of its left factor; a vector is a row."""
    a, b = map(as_array, (a, b))
    check_square(name, a)
    require_length(name, "b", b, -1, np.shape(a)[-2], "a has rows")
    return a, _turn(b)


def _unless_nan(name: str, a: ArrayValue, z: ArrayValue) -> ArrayValue:
    """z, or nan if the matrix contains nan, for which LAPACK returns arbitrary numbers."""
    return z * math.nan if has_nan(name, "a", a) else z


def _turn(x: ArrayValue) -> ArrayValue:
    return x if np.ndim(x) == 1 else transposed_of(x)


# ---- systems ---------------------------------------------------------------------------------------------------------
@with_bodies({"nn n/nk": "np.linalg.solve(a, b)"})
def mdivide_left(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """The solution of a linear system, like `numpy.linalg.solve`.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-T z_bar,     a_bar = -b_bar z^T

    Shapes:  a (..., n, n), b (n,) or (..., n, k) -> like b; the stacks broadcast.
    Domain:  every nonsingular a, every b.
    Raises:  LinAlgError if a is singular or not square, ValueError if the lengths differ.
    Cost:    O(n^3 + n^2 k) forward, O(n^2 k) in reverse from the saved factors.
    Ref:     Giles (2008), section 2.3.1; Stan Functions Reference, matrix division operators and functions.

    >>> mdivide_left([[2.0, 1.0], [0.5, 4.0]], [3.0, 8.25])
    array([0.5, 2. ])
    """
    a, b = _left("mdivide_left", a, b)
    return _unless_nan("mdivide_left", a, linear_systems.solve(a, b))


@with_bodies({"n nn": "np.linalg.solve(a.T, b)", "kn nn": "np.linalg.solve(a.T, b.T).T"})
@with_rest_of(mdivide_left)
def mdivide_right(b: ArrayValue, a: ArrayValue) -> ArrayValue:
    """The solution of a linear system from the right; it shares the factors of a with other functions.

        z = b a^-1,     z_dot = (b_dot - z a_dot) a^-1,     b_bar = z_bar a^-T,     a_bar = -z^T b_bar

    Shapes:  b (n,) or (..., k, n), a (..., n, n) -> like b; the stacks broadcast.

    >>> mdivide_right([2.0, 8.5], [[2.0, 1.0], [0.5, 4.0]])
    array([0.5, 2. ])
    """
    a, columns = _right("mdivide_right", b, a)
    return _unless_nan("mdivide_right", a, _turn(linear_systems.solve(a, columns, transposed=True)))


@with_bodies({"nn n/nk": "solve_spd(a, b)"}, inside=REAL)
def mdivide_left_spd(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """The solution of a linear system of a symmetric positive definite matrix, by its Cholesky factor.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-1 z_bar,     a_bar = -b_bar z^T

    The lower triangle of a is read. Its cotangent has the sum of both triangles there, and zeros above. The rule is
    `contad.ops.positive_definite.solve_spd`.

    Shapes:  a (..., n, n), b (n,) or (..., n, k) -> like b; the stacks broadcast.
    Domain:  every symmetric positive definite a, every b.
    Raises:  LinAlgError if a is not positive definite or not square, ValueError if it is not symmetric, or the lengths
             differ.
    Cost:    O(n^3 / 3 + n^2 k) forward, O(n^2 k) in reverse from the saved factor.
    Ref:     Giles (2008), section 2.3.1;
             Stan Functions Reference, symmetric positive-definite matrix division functions.

    >>> mdivide_left_spd([[4.0, 2.0], [2.0, 10.0]], [8.0, 22.0])
    array([1., 2.])
    """
    a, b = _left("mdivide_left_spd", a, b)
    require_symmetric("mdivide_left_spd", "a", a, "real")
    return positive_definite.solve_spd(a, b)


@with_bodies({"n nn": "solve_spd(a, b)", "kn nn": "solve_spd(a, b.T).T"}, inside=REAL)
@with_rest_of(mdivide_left_spd)
def mdivide_right_spd(b: ArrayValue, a: ArrayValue) -> ArrayValue:
    """The solution of a linear system of a symmetric positive definite matrix from the right; see `mdivide_left_spd`.

        z = b a^-1,     z_dot = (b_dot - z a_dot) a^-1,     b_bar = z_bar a^-1,     a_bar = -z^T b_bar

    Shapes:  b (n,) or (..., k, n), a (..., n, n) -> like b; the stacks broadcast.

    >>> mdivide_right_spd([8.0, 22.0], [[4.0, 2.0], [2.0, 10.0]])
    array([1., 2.])
    """
    a, columns = _right("mdivide_right_spd", b, a)
    require_symmetric("mdivide_right_spd", "a", a, "real")
    return _turn(positive_definite.solve_spd(a, columns))


@with_bodies({"nn n/nk": "solve_lower(a, b)"})
def mdivide_left_tri_low(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """The solution of a linear system of a lower triangular matrix.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-T z_bar,     a_bar = -tril(b_bar z^T)

    Elements above the diagonal are not read, and their cotangents are 0.

    Shapes:  a (..., n, n), b (n,) or (..., n, k) -> like b; the stacks broadcast.
    Domain:  every a without zeros on the diagonal, every b.
    Raises:  LinAlgError if the diagonal has a zero or a is not square, ValueError if the lengths differ.
    Cost:    O(n^2 k) forward, twice that in reverse.
    Ref:     Giles (2008), section 2.3.1; Stan Functions Reference, lower-triangular matrix division functions.

    >>> mdivide_left_tri_low([[2.0, 9.0], [1.0, 4.0]], [4.0, 10.0])
    array([2., 2.])
    """
    return triangular_factors.solve_triangular(*_left("mdivide_left_tri_low", a, b), lower=True)


@with_bodies({"n nn": "solve_lower_transposed(a, b)", "kn nn": "solve_lower_transposed(a, b.T).T"})
@with_rest_of(mdivide_left_tri_low)
def mdivide_right_tri_low(b: ArrayValue, a: ArrayValue) -> ArrayValue:
    """The solution of a linear system of a lower triangular matrix from the right.

        z = b a^-1,     z_dot = (b_dot - z a_dot) a^-1,     b_bar = z_bar a^-T,     a_bar = -tril(z^T b_bar)

    Elements above the diagonal are not read, and their cotangents are 0.

    Shapes:  b (n,) or (..., k, n), a (..., n, n) -> like b; the stacks broadcast.

    >>> mdivide_right_tri_low([6.0, 8.0], [[2.0, 9.0], [1.0, 4.0]])
    array([2., 2.])
    """
    a, columns = _right("mdivide_right_tri_low", b, a)
    return _turn(triangular_factors.solve_triangular(a, columns, transposed=True, lower=True))


# ---- inverses --------------------------------------------------------------------------------------------------------
@with_bodies({"nn": "np.linalg.inv(a)"})
def inverse(a: ArrayValue) -> ArrayValue:
    """The inverse of a square matrix, like `numpy.linalg.inv`.

        z = a^-1,     z_dot = -z a_dot z,     a_bar = -z^T z_bar z^T

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  every nonsingular a.
    Raises:  LinAlgError if a is singular or not square.
    Cost:    O(n^3) forward, twice that in reverse. To solve a system, call `mdivide_left`.
    Ref:     Giles (2008), section 2.2.3; Stan Functions Reference, inverses.

    >>> inverse([[2.0, 1.0], [1.0, 1.0]])
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    a = as_array(a)
    check_square("inverse", a)
    return _unless_nan("inverse", a, linear_systems.inv(a))


@with_bodies({"nn": "inverse_of_factor(cholesky(a))"}, inside=(*SYMMETRIC, ("a", "finite")))
def inverse_spd(a: ArrayValue) -> ArrayValue:
    """The inverse of a symmetric positive definite matrix, whose lower triangle is read.

        z = a^-1,     z_dot = -z a_dot z,     a_bar = -z z_bar z

    Its cotangent has the sum of both triangles in the lower one, and zeros above.

    Shapes:  a (..., n, n) -> (..., n, n), exactly symmetric.
    Domain:  every symmetric positive definite a.
    Raises:  ValueError if a is not symmetric, LinAlgError if it is not positive definite or not square.
    Cost:    O(n^3) forward, two products in reverse.
    Ref:     Giles (2008), section 2.2.3; Stan Functions Reference, inverses.

    >>> inverse_spd([[2.0, 0.5], [0.5, 4.0]]).round(6)
    array([[ 0.516129, -0.064516],
           [-0.064516,  0.258065]])
    """
    a = as_array(a)
    require_symmetric("inverse_spd", "a", a, "finite")
    return positive_definite.inverse_spd(a)


@with_bodies({"mn": "np.linalg.pinv(a)"})
def generalized_inverse(a: ArrayValue) -> ArrayValue:
    """The Moore-Penrose pseudoinverse, like `numpy.linalg.pinv`.

        a z a = a,     z a z = z,     z a and a z symmetric,
        z_dot = -z a_dot z + z z^T a_dot^T (1 - a z) + (1 - z a) a_dot^T z^T z

    Shapes:  a (..., m, n) -> (..., n, m).
    Domain:  where the rank does not change.
    Raises:  LinAlgError if a is not finite.
    Cost:    O(m n min(m, n)) forward and reverse.
    Ref:     Golub & Pereyra (1973), equation 4.12; Stan Functions Reference, generalized inverse.

    >>> generalized_inverse([[2.0], [1.0]])
    array([[0.4, 0.2]])
    """
    (a,) = matrices("generalized_inverse", a=a)
    return orthogonal_factors.pseudoinverse(a)


@with_bodies({"nn": "inverse_of_factor(l)"}, inside=[("is_lower_triangular(l)", "l must be lower triangular")])
def chol2inv(l: ArrayValue) -> ArrayValue:  # noqa: E741  (Stan's name)
    """The inverse of a symmetric positive definite matrix from its Cholesky factor.

        z = (l l^T)^-1,     z_dot = -z (l_dot l^T + l l_dot^T) z,     l_bar = -tril(z (z_bar + z_bar^T) z l)

    Shapes:  l (..., n, n) -> (..., n, n), exactly symmetric.
    Domain:  every lower triangular l without zeros on the diagonal.
    Raises:  ValueError if l is not lower triangular, LinAlgError if the diagonal has a zero or l is not square.
    Cost:    O(n^3) forward, three times that in reverse.
    Ref:     Giles (2008), section 2.2.3; Stan Functions Reference, inverses.

    >>> chol2inv([[2.0, 0.0], [1.0, 4.0]])
    array([[ 0.265625, -0.03125 ],
           [-0.03125 ,  0.0625  ]])
    """
    l = as_array(l)  # noqa: E741
    check_square("chol2inv", l)
    if not np.all(np.triu(values_of("chol2inv", "l", l), 1) == 0.0):
        check_lower_triangular("chol2inv", "l", l)
    inverse = triangular_factors.solve_triangular(l, np.eye(np.shape(l)[-1]), lower=True)
    return quadratic_forms.tcrossprod(transposed_of(inverse))


# ---- determinants ----------------------------------------------------------------------------------------------------
@with_bodies({"nn": "np.linalg.det(a)"})
def determinant(a: ArrayValue) -> Value:
    """The determinant of a square matrix, like `numpy.linalg.det`.

        z = |a|,     z_dot = <c, a_dot>,     a_bar = z_bar c,     c = |a| a^-T, the matrix of cofactors

    Shapes:  a (..., n, n) -> (...).
    Domain:  every a; for a singular a, the derivative is computed from singular values.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse.
    Ref:     Giles (2008), section 2.2.4; Stan Functions Reference, determinants.

    >>> round(determinant([[2.0, 1.0], [0.5, 4.0]]), 12)
    np.float64(7.5)
    """
    a = as_array(a)
    check_square("determinant", a)
    return determinants.det(a)


@with_bodies({"nn": "np.linalg.slogdet(a)[1]"})
@with_rest_of(determinant)
def log_determinant(a: ArrayValue) -> Value:
    """log |det a| of a square matrix, the second result of `numpy.linalg.slogdet`.

        z = log |det a|,     z_dot = <a^-T, a_dot>,     a_bar = z_bar a^-T

    Domain:  every a; -inf for a singular a, with the derivative nan.
    Cost:    O(n^3) forward and reverse; `mdivide_left` and `mdivide_right` of the same a share the factors.

    >>> log_determinant([[2.0, 0.0], [1.0, -4.0]])
    np.float64(2.07944154167983)
    """
    return determinants.log_determinant(a)


@with_bodies({"nn": "2.0 * log_diagonal(cholesky(a))"}, inside=SYMMETRIC)
def log_determinant_spd(a: ArrayValue) -> Value:
    """The logarithm of the determinant of a symmetric positive definite matrix, whose lower triangle is read.

        z = log det a,     z_dot = <a^-1, a_dot>,     a_bar = z_bar a^-1

    Its cotangent has the sum of both triangles in the lower one, and zeros above.

    Shapes:  a (..., n, n) -> (...).
    Domain:  every symmetric positive definite a.
    Raises:  ValueError if a is not symmetric, LinAlgError if it is not positive definite or not square.
    Cost:    O(n^3 / 3) forward, O(n^3) in reverse; `mdivide_left_spd` of the same a shares the factor.
    Ref:     Giles (2008), section 2.2.4; Stan Functions Reference, determinants.

    >>> round(log_determinant_spd([[2.0, 0.5], [0.5, 4.0]]), 12)
    np.float64(2.047692843365)
    """
    a = as_array(a)
    require_symmetric("log_determinant_spd", "a", a)
    return positive_definite.log_determinant_spd(a)
