"""The polar decomposition of a matrix: an orthogonal factor and a symmetric one."""

import numpy as np

from contad.ops.cotangents import plain
from contad.ops.linear_systems import conj_transposed_of, mask, solve
from contad.ops.matrix_functions import root_along
from contad.ops.products import matmul
from contad.ops.singular_spectra import check_finite
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import HERMITIAN, dtype_beside

_A = [[2.3, -0.7, 0.4], [0.5, 1.9, -1.1], [-0.8, 0.3, 2.6]]
_TALL = [[1.3, -0.7], [0.4, 1.9], [-1.1, 0.8]]


@array_rule(dtypes=HERMITIAN, points=[(_A,), (_TALL,), ([[2.3]],)])
def polar_factors(a):
    """u and below it p, of a = u p for a matrix with at least as many rows as columns; scipy.linalg.polar calls it.

        z = (u, p),  z_dot:  p x + x p = k - k^T,     k = u^T a_dot,     p_dot = k - x p
        u_dot = u x + (1 - u u^T) a_dot p^-1
        a_bar = u (s + y) + (1 - u u^T) u_bar p^-1,     s = (p_bar + p_bar^T) / 2
        p y + y p = x_bar - x_bar^T,     x_bar = u^T u_bar - s p

    Shapes:  a (m, n), m >= n -> z (m + n, n).
    Domain:  a of rank n; if the rank is less, the derivative is nan. For a complex a, ^T conjugates.
    Raises:  LinAlgError if a is not finite.
    Cost:    O(m n^2) forward and reverse; saves nothing.
    Ref:     Higham (2008), sections 8.1 and 8.2.

    >>> polar_factors(np.array([[3.0], [4.0]]))
    array([[0.6],
           [0.8],
           [5. ]])
    """
    check_finite(a)
    w, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([w @ vh, (vh.conj().T * s) @ vh])


@polar_factors.vjp("a")
def polar_factors_vjp_a(z, z_bar, a):
    return polar_cotangent(z, z_bar, np.shape(a))


def polar_cotangent(z, z_bar, shape):
    """The cotangent of a matrix, from those of its polar factors."""
    m, n = shape
    u, p, u_bar = z[:m], of_full_rank(z[m:]), z_bar[:m]
    s = 0.5 * (z_bar[m:] + conj_transposed_of(z_bar[m:]))
    ut_u_bar = matmul(conj_transposed_of(u), u_bar)
    x_bar = ut_u_bar - matmul(s, p)
    a_bar = matmul(u, s + turning(p, x_bar - conj_transposed_of(x_bar)))
    if m > n:
        a_bar = a_bar + over(u_bar - matmul(u, ut_u_bar), p)
    return mask(z_bar, a_bar)


@polar_factors.jvp
def polar_factors_jvp(z, a_dot, a):
    return polar_tangent(z, a_dot, np.shape(a))


def polar_tangent(z, a_dot, shape):
    """The tangents of polar factors."""
    m, n = shape
    u, p = z[:m], of_full_rank(z[m:])
    k = matmul(conj_transposed_of(u), a_dot)
    x = turning(p, k - conj_transposed_of(k))
    p_dot = k - matmul(x, p)
    u_dot = matmul(u, x)
    if m > n:
        u_dot = u_dot + over(a_dot - matmul(u, k), p)
    return np.concatenate([u_dot, 0.5 * (p_dot + conj_transposed_of(p_dot))])


def turning(p, e):
    """The skew solution x of p x + x p = e for a skew e.

    Rounding gives the solution a symmetric part, which is large where one eigenvalue of p is small.
    """
    x = root_along(p, e)
    return 0.5 * (x - conj_transposed_of(x))


def over(e, p):
    """e p^-1."""
    return conj_transposed_of(solve(p, conj_transposed_of(e)))


def of_full_rank(p):
    """p, or nan if it has an eigenvalue that is 0 up to rounding; the factors then have no derivative."""
    n = np.shape(p)[-1]
    lost = n and np.linalg.matrix_rank(plain(p), hermitian=True) < n
    return np.full((n, n), np.nan, dtype_beside(p)) if lost else p
