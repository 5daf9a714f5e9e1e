"""Products of a matrix with itself, and quadratic forms of symmetric matrices."""

import numpy as np

from contad.ops.cotangents import fold
from contad.ops.linear_systems import as_columns, by_matrix, check_square, column_shape, mask, transposed_of
from contad.ops.products import masked_product, matmul
from contad.ops.triangular_factors import onto_triangle, symmetrise
from contad.rules.array_rule import array_rule
from contad.variables.array import is_plain
from contad.variables.dtypes import COMPLEX

_A, _W = [[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]], [[0.3, 1.1, -0.8], [2.4, 0.5, 1.6]]
_T, _V = [[2.2, 5.0, 6.0], [-0.7, 3.1, 7.0], [0.3, 0.4, 1.8]], [0.6, 1.7, -0.2]
_S, _B = [[4.3, 9.0, 7.0], [0.6, 1.9, 8.0], [-0.8, 0.5, -2.6]], [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9]]


@array_rule(dtypes=COMPLEX, points=[(_A,), ([_A, _W],), ([[1.3], [-0.7]],)])
def tcrossprod(a):
    """a a^T; Stan's name.

        z = a a^T,     z_dot = a_dot a^T + a a_dot^T,     a_bar = (z_bar + z_bar^T) a

    Shapes:  a (..., m, n) -> z (..., m, m), exactly symmetric.
    Raises:  ValueError if a is not a matrix.
    Cost:    O(m^2 n) forward, half that of a product; O(m^2 n), one product, in reverse; saves nothing.
    Ref:     Giles (2008), section 2.2.2.

    >>> tcrossprod(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.],
           [11., 25.]])
    """
    if np.ndim(a) < 2:
        raise ValueError(f"tcrossprod: a must be a matrix or a stack of matrices, got shape {np.shape(a)}")
    return np.matmul(a, np.swapaxes(a, -1, -2))


@tcrossprod.vjp("a")
def tcrossprod_vjp_a(z, z_bar, a):
    return masked_product(z_bar + transposed_of(z_bar), a)


@tcrossprod.jvp
def tcrossprod_jvp(z, a_dot, a):
    half = matmul(a_dot, transposed_of(a))
    return half + transposed_of(half)


@array_rule(points=[(_S, _B), (_S, _V), ([_S, _T], _B), ([_S, _T], _V)])
def quad_form_sym(a, b):
    """b^T a b for a symmetric a, whose lower triangle is read; Stan's name.

        z = b^T a b,     z_dot = b^T a_dot b + m + m^T,  m = b_dot^T a b
        b_bar = a b (z_bar + z_bar^T),     a_bar = b (z_bar + z_bar^T) b^T / 2

    a_bar belongs to the symmetric a: the lower triangle has the sum of both, the upper one zeros.

    Shapes:  a (..., n, n), b (..., n, k) -> z (..., k, k), exactly symmetric; b (n,) -> z (...).
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ.
    Cost:    O(n^2 k) forward and reverse, one product with n^2 k each; saves a b.
    Ref:     Giles (2008), section 2.2.2.

    >>> quad_form_sym(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0]))
    18.0
    """
    check_square("quad_form_sym", a)
    return form_of(symmetric_product(a, b), b)


def symmetric_product(a, b, saved=None):
    """a b in columns, for the symmetric matrix in the lower triangle of a; the saved product if it carries no
    derivative."""
    if saved is not None and is_plain(a) and is_plain(b):
        return saved
    return matmul(symmetrise(a), as_columns(b, np.ndim(b)))


def form_of(product, b):
    """b^T (a b) from the plain product a b, exactly symmetric; a number for each matrix if b is a vector."""
    z = np.matmul(np.swapaxes(as_columns(b, np.ndim(b)), -1, -2), product)
    return z[..., 0, 0][()] if np.ndim(b) == 1 else 0.5 * (z + np.swapaxes(z, -1, -2))


@quad_form_sym.forward
def quad_form_sym_forward(a, b):
    if not (is_plain(a) and is_plain(b)):
        return quad_form_sym(a, b), None
    check_square("quad_form_sym", a)
    product = symmetric_product(a, b)
    return form_of(product, b), product


@quad_form_sym.common
def quad_form_sym_common(z, z_bar, a, b, saved):
    bar = as_matrix(z_bar, np.ndim(b))
    return bar + transposed_of(bar)


@quad_form_sym.vjp("a")
def quad_form_sym_vjp_a(z, z_bar, a, b, saved, common):
    columns = as_columns(b, np.ndim(b))
    c = mask(common, matmul(matmul(columns, 0.5 * common), transposed_of(columns)))
    return onto_triangle(fold(c, np.shape(a)))


@quad_form_sym.vjp("b")
def quad_form_sym_vjp_b(z, z_bar, a, b, saved, common):
    c = mask(common, matmul(symmetric_product(a, b, saved), common))
    return np.reshape(fold(c, column_shape(np.shape(b))), np.shape(b))


@quad_form_sym.jvp
def quad_form_sym_jvp(z, a_dot, b_dot, a, b, saved):
    half = matmul(transposed_of(as_columns(b_dot, np.ndim(b))), symmetric_product(a, b, saved))
    form = matmul(transposed_of(as_columns(b, np.ndim(b))), symmetric_product(a_dot, b))
    return as_form(form + half + transposed_of(half), np.ndim(b))


def as_matrix(z, ndim):
    """A quadratic form as matrices; ndim is that of b (the form of a vector b is a number)."""
    return by_matrix(z) if ndim == 1 else z


def as_form(c, ndim):
    """The inverse of `as_matrix`."""
    return np.sum(c, axis=(-2, -1)) if ndim == 1 else c
