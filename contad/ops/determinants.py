"""Determinants, their logarithms, and the matrix of cofactors."""

import numpy as np

from contad.ops._scipy import lapack
from contad.ops.cotangents import all_finite, in_range, plain, scale
from contad.ops.factors import factorise, known_factor
from contad.ops.linear_systems import (
    are_matrices,
    by_matrix,
    check_square,
    conj_of,
    conj_transposed_of,
    identity_beside,
    inv,
    real_of,
    solve,
    transposed_of,
)
from contad.ops.products import as_array, matmul
from contad.ops.singular_spectra import singular_spectrum
from contad.ops.trigonometric import cos, sin
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.array import is_plain
from contad.variables.complex_pair import is_complex, join
from contad.variables.dtypes import COMPLEX, dtype_beside
from contad.variables.number import observe

_A, _C = [[2.3, -0.7, 0.4], [0.5, 1.9, -1.1], [-0.8, 0.3, 2.6]], [[1.2, 0.4, 0.3], [-0.5, 3.1, 0.2], [0.7, -0.6, 1.8]]

# the condition number from which an inverse has lost half of the digits of its dtype
_LOSES_HALF = {"d": 1e8, "D": 1e8, "f": 3e3, "F": 3e3}
_LOSES_A_QUARTER = 1e4  # the same for the derivatives of an inverse, each of which squares the condition number
_FOUR = [[2.3, -0.7, 0.4, 0.9], [0.5, 1.9, -1.1, 0.2], [-0.8, 0.3, 2.6, -0.4], [0.6, -1.3, 0.7, 1.4]]
_DEFICIENT = [[2.3, -0.7, 0.4, 0.9], [0.5, 1.9, -1.1, 0.2], [2.8, 1.2, -0.7, 1.1], [0.6, -1.3, 0.7, 1.4]]


@array_rule(dtypes=COMPLEX, numpy=np.linalg.det, points=[(_A,), ([_A, _C],)])
def det(a):
    """The determinant of a matrix, or of each matrix in a stack.

        z = |a|,     z_dot = <c, a_dot>,     a_bar = z_bar c,     c = |a| a^-T, the matrix of cofactors

    Shapes:  a (..., n, n) -> z (...).
    Domain:  every a; for a singular a, c is computed without an inverse.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse, O(n^5) for third derivatives if a is nearly singular; saves nothing. For large
             matrices use slogdet, because det overflows.
    Ref:     Giles (2008), section 2.2.4.

    >>> det(np.array([[2.0, 1.0], [1.0, 4.0]]))
    7.000000000000001
    """
    check_square("det", a)
    return np.linalg.det(a)


@det.vjp("a")
def det_vjp_a(z, z_bar, a):
    return scale(_beside_matrix(z_bar), cofactors(z, a))


@det.jvp
def det_jvp(z, a_dot, a):
    return np.sum(scale(a_dot, cofactors(z, a)), axis=(-2, -1))


def cofactors(z, a):
    """The matrix of cofactors of a, whose determinant is z."""
    if np.size(a) == 0:
        return a
    if not all_finite(a):
        return cofactors_beside_infinite(z, a)
    if np.shape(a)[-1] < 3:  # without an inverse
        return cofactor_matrix(a)
    inverse = well_conditioned_inverse(a) if in_range(z) else None
    if inverse is not None:
        return _beside_matrix(z) * transposed_of(inverse)
    return cofactor_matrix(a)


def cofactors_beside_infinite(z, a):
    """The same if some of the matrices are not finite; nan for those without an inverse."""
    try:
        return by_matrix(z) * transposed_of(inv(a))
    except np.linalg.LinAlgError:
        broken = by_matrix(~np.isfinite(plain(a)).all(axis=(-2, -1)))
        rest = np.where(broken, identity_beside(a), a)
        return np.where(broken, np.nan, cofactors(det(rest), rest))


def well_conditioned_inverse(a):
    """The inverse of a; None if it or its derivatives would lose many digits, by the condition number in the 1-norm."""
    is_one = are_matrices(a)
    try:
        inverse = np.linalg.inv(a) if is_one else inv(a)
    except np.linalg.LinAlgError:
        return None
    if is_one:
        condition = _norm_of_columns(a) * _norm_of_columns(inverse)
        return inverse if condition < _LOSES_HALF["d"] else None
    condition = _column_norm(plain(a)) * _column_norm(plain(inverse))
    most = _LOSES_HALF[dtype_beside(a).char] if is_plain(a) else _LOSES_A_QUARTER
    return inverse if (condition < most).all() else None


def _norm_of_columns(a):
    """The 1-norm of one float64 matrix, by LAPACK, which sees rows as columns."""
    return lapack().dlange("I", a.T)


def _column_norm(a):
    """The 1-norm of a nonempty matrix, or of each matrix in a stack."""
    return np.maximum.reduce(np.add.reduce(np.abs(a), -2), -1)


def _beside_matrix(x):
    """The number of one matrix, or those of a stack with two more axes."""
    return x if x.__class__ is float else by_matrix(x)


def cofactor_matrix(a):
    """The matrix of cofactors without division; for up to three rows by products, which have all derivatives."""
    n = np.shape(a)[-1]
    if n == 1:
        return a * 0.0 + 1.0
    if n == 2:
        return a[..., ::-1, ::-1] * np.array([[1.0, -1.0], [-1.0, 1.0]], dtype_beside(a))
    if n == 3:
        return cross_rows(a[..., [1, 2, 0], :], a[..., [2, 0, 1], :])
    return singular_cofactors(a)


@array_rule(dtypes=COMPLEX, points=[(_FOUR,), ([_FOUR, _DEFICIENT],)])
def singular_cofactors(a):
    """The matrix of cofactors by singular values, a = u diag(s) v^T, without dividing by them.

        z = +-u diag(p_i) v^T,     p_i: the product of all singular values but s_i,     +-1 = |u| |v|
        z_dot = +-u m v^T,     m_ij = -e_ji p_ij,     m_ii = sum_k e_kk p_ik,     e = u^T a_dot v
        p_ij: the product of all but two

    It is the gradient of the determinant, so its Jacobian is symmetric: a_bar is z_dot with z_bar for a_dot. For a
    complex a, u outside e is conjugate, and the sign is a phase.

    Shapes:  a (..., n, n) -> z (..., n, n).
    Domain:  every a.
    Cost:    O(n^3) forward and reverse, O(n^5) for the second derivative; saves nothing.
    Ref:     Stewart (1998), On the adjugate matrix, section 2.

    >>> singular_cofactors(np.diag([2.0, 3.0, 5.0, 0.0])).round(12) + 0.0
    array([[ 0.,  0.,  0.,  0.],
           [ 0.,  0.,  0.,  0.],
           [ 0.,  0.,  0.,  0.],
           [ 0.,  0.,  0., 30.]])
    """
    u, s, v, sign = signed_spectrum(a)
    return matmul(conj_of(u) * np.expand_dims(sign * np.prod(others(s, 1), axis=-1), -2), transposed_of(v))


@singular_cofactors.vjp("a")
def singular_cofactors_vjp_a(z, z_bar, a):
    return mixed_cofactors(z_bar, a)


@singular_cofactors.jvp
def singular_cofactors_jvp(z, a_dot, a):
    return mixed_cofactors(a_dot, a)


def mixed_cofactors(d, a):
    """The change of the cofactors of a along d."""
    if not is_plain(a):  # singular vectors of (nearly) equal values have no derivatives
        return mixed_by_minors(d, a)
    u, s, v, sign = signed_spectrum(a)
    e = matmul(matmul(conj_transposed_of(u), d), v)
    one = identity_beside(a)
    p = np.expand_dims(sign, -1) * np.prod(others(s, 2), axis=-1) * (1.0 - one)
    along = np.sum(p * np.expand_dims(np.diagonal(e, axis1=-2, axis2=-1), -2), axis=-1)
    m = np.expand_dims(along, -1) * one - p * transposed_of(e)
    return matmul(matmul(conj_of(u), m), transposed_of(v))


def mixed_by_minors(d, a):
    """The same by the minors of a; O(n^5), with every derivative."""
    n = np.shape(a)[-1]
    rest = np.array([[k for k in range(n) if k != i] for i in range(n)])
    rows, columns = rest[:, None, :, None], rest[None, :, None, :]
    minors = a[..., rows, columns]
    signs = (-1.0) ** np.add.outer(np.arange(n), np.arange(n))
    return signs * np.sum(scale(d[..., rows, columns], cofactors(det(minors), minors)), axis=(-2, -1))


def signed_spectrum(a):
    """(u, s, v, sign): the singular value decomposition of a square matrix, and |u| |v|, with an axis to broadcast."""
    n, z = np.shape(a)[-1], singular_spectrum(a)
    u, s, v = z[..., :n, :], real_of(z[..., n, :]), z[..., n + 1 :, :]
    sign = np.linalg.det(plain(u)) * conj_of(np.linalg.det(plain(v)))
    sign = sign if is_complex(sign) else np.round(sign)
    return u, s, v, np.expand_dims(sign, -1)


def others(s, count):
    """The singular values in the last axis, with one or two replaced by 1: p[..., i, :], p[..., i, j, :]."""
    is_self = np.eye(np.shape(s)[-1], dtype=bool)
    if count == 1:
        return np.where(is_self, 1.0, np.expand_dims(s, -2))
    return np.where(is_self[:, None, :] | is_self[None, :, :], 1.0, np.expand_dims(s, (-3, -2)))


def cross_rows(x, y):
    """The vector products of vectors of three elements in the last axis."""
    after, before = [1, 2, 0], [2, 0, 1]
    return x[..., after] * y[..., before] - x[..., before] * y[..., after]


@array_rule(dtypes=COMPLEX, points=[(_A,), ([_A, _C],), ([[-1.3]],)])
def log_determinant(a):
    """The logarithm of the magnitude of the determinant, Stan's name for the second result of np.linalg.slogdet.

    For a complex a it is the logarithm of the determinant, whose imaginary part is the argument.

        z = log |det a|,     z_dot = <a^-T, a_dot>,     a_bar = z_bar a^-T

    Shapes:  a (..., n, n) -> z (...).
    Domain:  every a; for a singular a, z = -inf and the derivative is nan.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse; saves the factors and shares them with solve and inv of the same a.
    Ref:     Giles (2008), section 2.2.4.

    >>> log_determinant(np.array([[2.0, 0.0], [1.0, -4.0]]))
    2.0794415416798357
    """
    check_square("slogdet", a)
    factor = known_factor(a)
    if is_complex(a):
        sign, z = np.linalg.slogdet(a) if factor is None else (factor.sign(), factor.log_magnitude())
        return z + 1j * np.angle(sign)
    return np.linalg.slogdet(a)[1] if factor is None else factor.log_magnitude()


@log_determinant.forward
def log_determinant_forward(a):
    check_square("slogdet", a)
    factor = factorise(a)
    if factor is not None and are_matrices(a):
        return factor.log_magnitude(), factor
    return log_determinant(a), factor


@log_determinant.vjp("a")
def log_determinant_vjp_a(z, z_bar, a, saved):
    return pull_log_determinant(z, z_bar, a, saved)


def pull_log_determinant(z, z_bar, a, factor):
    """The cotangent of the matrix; for a regular matrix by its factor, without handling stacks."""
    if factor is not None and are_matrices(a) and not factor.singular:
        return scale(z_bar, factor.solve(np.eye(len(a)), True))
    return scale(by_matrix(z_bar), inverse_transposed(z, a))


@log_determinant.jvp
def log_determinant_jvp(z, a_dot, a, saved):
    return np.sum(scale(a_dot, inverse_transposed(z, a)), axis=(-2, -1))


def inverse_transposed(z, a):
    """a^-T, from the factors of a if they are known; nan for a singular a, where z is -inf."""
    singular = by_matrix(np.real(plain(z)) == -np.inf)
    if np.any(singular):
        return np.where(singular, np.nan, transposed_of(inv(np.where(singular, identity_beside(a), a))))
    return transposed_of(inv(a)) if known_factor(a) is None else solve(a, identity_beside(a), transposed=True)


_PAIR = type(np.linalg.slogdet(np.eye(1)))


@implements(np.linalg.slogdet, layout="own")
def slogdet(a):
    """The sign of the determinant, which is constant for a real matrix, and the logarithm of its magnitude."""
    a = as_array(a)
    z = log_determinant(a)
    if is_complex(a):
        size, angle = np.real(z), np.imag(z)
        turned = join(cos(angle), sin(angle))
        return _PAIR(np.where(observe(np.equal, size, -np.inf), 0.0, turned), size)
    return _PAIR(observe(sign_of_determinant, a), z)


def sign_of_determinant(a):
    """The sign of the determinant of a plain matrix, or of each matrix in a stack."""
    factor = known_factor(a)
    return np.linalg.slogdet(a)[0] if factor is None else factor.sign()
