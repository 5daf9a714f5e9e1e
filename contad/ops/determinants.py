"""Determinants, their logarithms, and the matrix of cofactors."""

import numpy as np

from contad.ops.cotangents import all_finite, in_range, plain, scale
from contad.ops.factors import factorise, known_factor
from contad.ops.linear_systems import by_matrix, check_square, inv, solve, transposed_of
from contad.ops.products import as_array, matmul
from contad.ops.spectra import singular_spectrum
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.number import observe

_A, _C = [[2.3, -0.7, 0.4], [0.5, 1.9, -1.1], [-0.8, 0.3, 2.6]], [[1.2, 0.4, 0.3], [-0.5, 3.1, 0.2], [0.7, -0.6, 1.8]]
_SINGULAR = [[1.2, 0.4, 0.3, 0.9], [-0.5, 3.1, 0.2, 1.1], [0.7, -0.6, 1.8, -0.4], [1.4, 2.9, 2.3, 1.6]]


@array_rule(numpy=np.linalg.det, points=[(_A,), ([_A, _C],)])
def det(a):
    """The determinant of a matrix, or of each in a stack.

        z = |a|,     z_dot = <c, a_dot>,     a_bar = z_bar c,     c = |a| a^-T, the matrix of cofactors

    Shapes:  a (..., n, n) -> z (...).
    Domain:  every a; where a is singular, c is made without its inverse. Of more than three rows the third derivative
             is nan there if singular values are equal.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse; saves nothing. For large matrices take slogdet: det overflows.
    Ref:     Giles (2008), section 2.2.4.

    >>> det(np.array([[2.0, 1.0], [1.0, 4.0]]))
    7.000000000000001
    """
    return np.linalg.det(a)


@det.vjp("a")
def det_vjp_a(z, z_bar, a):
    return scale(by_matrix(z_bar), cofactors(z, a))


@det.jvp
def det_jvp(z, a_dot, a):
    return np.sum(scale(a_dot, cofactors(z, a)), axis=(-2, -1))


def cofactors(z, a):
    """The matrix of cofactors of a, whose determinant is z."""
    if np.size(a) == 0 or not all_finite(a):
        return by_matrix(z) * transposed_of(inv(a))
    inverse = well_conditioned_inverse(a) if in_range(z) else None
    if inverse is not None:
        return by_matrix(z) * transposed_of(inverse)
    return cofactor_matrix(a)


def well_conditioned_inverse(a):
    """The inverse of a; None where it would lose half of the digits, by the condition in the 1-norm."""
    try:
        inverse = inv(a)
    except np.linalg.LinAlgError:
        return None
    condition = np.linalg.norm(plain(a), 1, (-2, -1)) * np.linalg.norm(plain(inverse), 1, (-2, -1))
    return inverse if np.all(condition < 1e8) else None


def cofactor_matrix(a):
    """The matrix of cofactors without division: of up to three rows by products, which have all derivatives."""
    n = np.shape(a)[-1]
    if n == 1:
        return a * 0.0 + 1.0
    if n == 2:
        return a[..., ::-1, ::-1] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    if n == 3:
        return cross_rows(a[..., [1, 2, 0], :], a[..., [2, 0, 1], :])
    return spectral_cofactors(a)


@array_rule(points=[(_A,), ([_A, _C],), (_SINGULAR,)])
def spectral_cofactors(a):
    """The matrix of cofactors from singular values, a = u diag(s) v^T; det calls it where a is singular.

        z = |u| |v| u diag(c) v^T,     c_i: the product of all s but s_i
        z_dot = l(a_dot),     a_bar = l(z_bar),     l(e) = |u| |v| u (diag(p diag(f)) - p * f^T) v^T,     f = u^T e v
        p_ij: the product of all s but s_i and s_j, 0 where i = j

    Shapes:  a (..., n, n) -> z (..., n, n).
    Domain:  every a; where singular values are equal the second derivative is nan.
    Raises:  LinAlgError if a is not finite.
    Cost:    O(n^3) forward and reverse; saves nothing.
    Ref:     Golub & Van Loan (2013), section 2.4; the derivative of a diagonal matrix's minors.

    >>> spectral_cofactors(np.array([[2.0, 0.0], [0.0, 0.0]])) + 0.0
    array([[0., 0.],
           [0., 2.]])
    """
    u, s, vh = np.linalg.svd(a)
    others = np.where(np.eye(np.shape(a)[-1], dtype=bool), 1.0, s[..., None, :])  # row i: the singular values but s_i
    sign = np.round(np.linalg.det(u) * np.linalg.det(vh))
    return matmul(u * (sign[..., None] * np.prod(others, axis=-1))[..., None, :], vh)


@spectral_cofactors.vjp("a")
def spectral_cofactors_vjp_a(z, z_bar, a):
    return cofactors_along(a, z_bar)


@spectral_cofactors.jvp
def spectral_cofactors_jvp(z, a_dot, a):
    return cofactors_along(a, a_dot)


def cofactors_along(a, e):
    """The derivative of the cofactors of a along e: a symmetric map of e."""
    n, z = np.shape(a)[-1], singular_spectrum(a)
    u, s, v = z[..., :n, :], z[..., n, :], z[..., n + 1 :, :]
    sign = by_matrix(np.round(np.linalg.det(plain(u)) * np.linalg.det(plain(v))))
    f = matmul(matmul(transposed_of(u), e), v)
    p = products_but_two(s)
    diagonal = np.sum(p * np.expand_dims(np.diagonal(f, axis1=-2, axis2=-1), -2), axis=-1)
    inner = np.expand_dims(diagonal, -1) * np.eye(n) - p * transposed_of(f)
    return sign * matmul(matmul(u, inner), transposed_of(v))


def products_but_two(s):
    """In row i and column j the product of all elements of s but two, 0 on the diagonal.

    >>> products_but_two(np.array([2.0, 3.0, 5.0]))
    array([[0., 5., 3.],
           [5., 0., 2.],
           [3., 2., 0.]])
    """
    n = np.shape(s)[-1]
    row = np.expand_dims(s, -2)
    before, between = np.tri(n, n, -1, dtype=bool), np.tri(n, n, -1, dtype=bool).T
    first = np.prod(np.where(before, row, 1.0), axis=-1)  # of those before i
    last = np.prod(np.where(between, row, 1.0), axis=-1)  # of those after j
    after = np.cumprod(np.where(between, row, 1.0), axis=-1)
    middle = np.concatenate([np.ones_like(plain(after[..., :1])), after[..., :-1]], axis=-1)
    half = np.where(between, np.expand_dims(first, -1) * middle * np.expand_dims(last, -2), 0.0)
    return half + transposed_of(half)


def cross_rows(x, y):
    """The vector products of vectors of three elements in the last axis."""
    after, before = [1, 2, 0], [2, 0, 1]
    return x[..., after] * y[..., before] - x[..., before] * y[..., after]


@array_rule(points=[(_A,), ([_A, _C],), ([[-1.3]],)])
def log_determinant(a):
    """The logarithm of the magnitude of the determinant; Stan's name for what np.linalg.slogdet gives second.

        z = log |det a|,     z_dot = <a^-T, a_dot>,     a_bar = z_bar a^-T

    Shapes:  a (..., n, n) -> z (...).
    Domain:  every a; -inf where a is singular, with the derivative nan.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse; saves the factors, which solve and inv of the same a share.
    Ref:     Giles (2008), section 2.2.4.

    >>> log_determinant(np.array([[2.0, 0.0], [1.0, -4.0]]))
    2.0794415416798357
    """
    check_square("slogdet", a)
    factor = known_factor(a)
    return np.linalg.slogdet(a)[1] if factor is None else factor.sign_and_log()[1]


@log_determinant.forward
def log_determinant_forward(a):
    check_square("slogdet", a)
    factor = factorise(a)
    return log_determinant(a), factor


@log_determinant.vjp("a")
def log_determinant_vjp_a(z, z_bar, a, saved):
    return scale(by_matrix(z_bar), inverse_transposed(z, a))


@log_determinant.jvp
def log_determinant_jvp(z, a_dot, a, saved):
    return np.sum(scale(a_dot, inverse_transposed(z, a)), axis=(-2, -1))


def inverse_transposed(z, a):
    """a^-T, from the factors of a where they are known; nan where a is singular, so that z is -inf."""
    singular = by_matrix(plain(z) == -np.inf)
    if np.any(singular):
        return np.where(singular, np.nan, transposed_of(inv(np.where(singular, np.eye(np.shape(a)[-1]), a))))
    return transposed_of(inv(a)) if known_factor(a) is None else solve(a, np.eye(np.shape(a)[-1]), transposed=True)


@implements(np.linalg.slogdet, layout="own")
def slogdet(a):
    """The sign of the determinant, which is constant, and the logarithm of its magnitude."""
    a = as_array(a)
    z = log_determinant(a)
    return type(np.linalg.slogdet(np.eye(1)))(observe(sign_of_determinant, a), z)


def sign_of_determinant(a):
    """The sign of the determinant of a plain matrix, or of each in a stack."""
    factor = known_factor(a)
    return np.linalg.slogdet(a)[0] if factor is None else factor.sign_and_log()[0]
