"""The Schur form of a matrix whose eigenvalues are real, or of a complex matrix."""

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import linalg
from contad.ops.linear_systems import check_square, conj_of, conj_transposed_of, mask, transposed_of
from contad.ops.products import matmul
from contad.ops.spectra import diagonal_of, reciprocal_gaps
from contad.ops.triangular_factors import solve_triangular
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import COMPLEX, HERMITIAN, dtype_beside

_A = [[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]]
_T = [[2.3, -0.7, 0.4], [0.0, 1.9, -1.1], [0.0, 0.0, 2.9]]


@array_rule(dtypes=COMPLEX, points=[(_T,), ([[2.3, -0.7], [0.0, 1.9]],)])
def triangular_eigenvectors(t):
    """The unit upper triangular z whose columns are eigenvectors of an upper triangular matrix, t z = z diag(t).

        z_dot = z (f up(z^-1 t_dot z)),     t_bar = z^-T up(f (z^T z_bar)) z^T,     up: the part above the diagonal
        f_ij = 1 / (t_jj - t_ii)

    Shapes:  t (n, n), whose upper triangle is read -> z (n, n).
    Domain:  t whose diagonal has no two equal elements; otherwise nan.
    Cost:    O(n^3) forward and reverse; saves nothing.
    Ref:     Golub & Van Loan (2013), section 7.6.4.

    >>> triangular_eigenvectors(np.array([[2.0, 3.0], [0.0, 5.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    d, z = np.diagonal(t), np.eye(len(t), dtype=dtype_beside(t))
    if len(np.unique(d)) < len(d):
        return np.where(np.eye(len(t), dtype=bool), z, np.nan)
    for j in range(1, len(t)):
        z[:j, j] = solve_triangular(t[:j, :j] - d[j] * np.eye(j, dtype=z.dtype), -t[:j, j])
    return z


@triangular_eigenvectors.vjp("t")
def triangular_eigenvectors_vjp_t(z, z_bar, t):
    inner = np.triu(spread_gaps(t) * matmul(transposed_of(z), z_bar), 1)
    return np.triu(unit_solution(z, matmul(inner, transposed_of(z)), transposed=True))


@triangular_eigenvectors.jvp
def triangular_eigenvectors_jvp(z, t_dot, t):
    return matmul(z, np.triu(spread_gaps(t) * unit_solution(z, matmul(np.triu(t_dot), z)), 1))


def spread_gaps(t):
    """1 / (t_jj - t_ii), 0 on the diagonal."""
    return reciprocal_gaps(diagonal_of(t))


def unit_solution(y, c, transposed=False):
    """y^-1 c, or y^-T c, for a unit upper triangular y."""
    return solve_triangular(y, c, transposed=transposed, unit_diagonal=True)


@array_rule(dtypes=HERMITIAN, points=[(_A,), ([[1.7]],), ([[2.3, 0.6], [0.4, 1.9]],)])
def schur_factors(a):
    """t, and below it q, in the Schur form a = q t q^T of a matrix with real eigenvalues; scipy.linalg.schur.

        z = (t, q),  z_dot:  t_dot = up(c - x t + t x),     q_dot = q x,     c = q^T a_dot q,     x = l - l^T
        l: the strictly lower solution of low(l t - t l) = low(c);    a_bar = q (up(t_bar) + s) q^T
        s: the adjoint of c -> l, at low(k - k^T),     k = q^T q_bar - up(t_bar) t^T + t^T up(t_bar)

    low and up are the part below the diagonal and the rest. With the eigenvectors y of t, l = low(y g y^-1) where
    g_ij = (y^-1 low(c) y)_ij / (t_jj - t_ii) below the diagonal.

    Shapes:  a (n, n) -> z (2 n, n).
    Domain:  distinct real eigenvalues; otherwise the derivatives, also those of t, are nan. For a complex a, ^T
             conjugates, and eigenvalues may be complex; the phases of vectors are kept, so that derivatives are right
             for functions that do not depend on them.
    Raises:  UnsupportedError if eigenvalues are complex; LinAlgError if a is not a square matrix.
    Cost:    O(n^3) forward and reverse; saves nothing.
    Ref:     Golub & Van Loan (2013), section 7.6.3; the derivative by their Sylvester equation.

    >>> schur_factors(np.array([[2.0, 3.0], [0.0, 5.0]]))[:2]
    array([[2., 3.],
           [0., 5.]])
    """
    check_square("schur", a)
    t, q = linalg().schur(a)
    if t.dtype.kind != "c" and np.any(np.diagonal(t, -1)):
        raise UnsupportedError(
            "schur: a has complex eigenvalues, and its real form blocks on the diagonal, which have no derivative; use "
            "output=\"complex\", or functions of the matrix itself, expm, solve_sylvester or inv"
        )
    return np.concatenate([t, q])


@schur_factors.vjp("a")
def schur_factors_vjp_a(z, z_bar, a):
    return schur_cotangent(z, z_bar)


def schur_cotangent(z, z_bar):
    """The cotangent of a matrix, from those of its Schur form."""
    n = np.shape(z)[1]
    t, q = np.triu(z[:n]), z[n:]
    t_bar = np.triu(z_bar[:n])
    th = conj_transposed_of(t)
    k = matmul(conj_transposed_of(q), z_bar[n:]) - matmul(t_bar, th) + matmul(th, t_bar)
    t = conj_of(t)
    y = triangular_eigenvectors(t)
    right = unit_solution(y, transposed_of(np.tril(k - conj_transposed_of(k), -1)))  # y^-1 l_bar^T
    g = np.tril(spread_gaps(t) * transposed_of(matmul(right, y)), -1)  # y^T l_bar y^-T over the gaps
    s = np.tril(unit_solution(y, matmul(g, transposed_of(y)), transposed=True), -1)
    return mask(z_bar, matmul(matmul(q, t_bar + s), conj_transposed_of(q)))


@schur_factors.jvp
def schur_factors_jvp(z, a_dot, a):
    return schur_tangent(z, a_dot)


def schur_tangent(z, a_dot):
    """The tangents of the Schur form."""
    n = np.shape(z)[1]
    t, q = np.triu(z[:n]), z[n:]
    c = matmul(matmul(conj_transposed_of(q), a_dot), q)
    y = triangular_eigenvectors(t)
    g = np.tril(spread_gaps(t) * unit_solution(y, matmul(np.tril(c, -1), y)), -1)
    low = np.tril(transposed_of(unit_solution(y, transposed_of(matmul(y, g)), transposed=True)), -1)
    x = low - conj_transposed_of(low)
    return np.concatenate([np.triu(c - matmul(x, t) + matmul(t, x)), matmul(q, x)])
