"""Eigenvalues and eigenvectors of symmetric tridiagonal matrices."""

import numpy as np

from contad.ops._scipy import linalg
from contad.ops.linear_systems import transposed_of
from contad.ops.products import matmul
from contad.ops.spectra import diagonal_of, leading_signs, live_columns, reciprocal_gaps, row
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import dtype_beside


@array_rule(points=[([3.5, 4.7, 1.2, 3.1], [0.7, 0.4, -0.9]), ([2.3, 3.1], [-0.4])])
def tridiagonal_spectrum(d, e, *, own_signs=False):
    """Eigenvalues (the first row) and eigenvectors (below) of a symmetric tridiagonal matrix a.

    They are those of eigh_tridiagonal, except that the largest element of each vector is positive. LAPACK's own signs,
    which `own_signs` keeps, may jump if a changes slightly.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c),     c = v^T a_dot v
        d_bar = diag(g v^T),     e_bar_j = (g v^T)_{j,j+1} + (g v^T)_{j+1,j},     g = v (diag(w_bar) + f (v^T v_bar))
        f_ij = 1 / (w_j - w_i), 0 for i = j

    Shapes:  d (n,) the diagonal, e (n - 1,) next to it -> z (n + 1, n).
    Domain:  every d and e; vectors of equal eigenvalues, which need a zero in e, have the derivative nan.
    Raises:  ValueError if the lengths do not fit.
    Cost:    O(n^2) forward; in reverse O(n^2) for eigenvalues alone, O(n^3) with vectors; saves nothing.
    Ref:     Giles (2008), section 2.3.3 (the symmetric case), on the elements of the diagonals.

    >>> tridiagonal_spectrum(np.array([3.0, 2.0]), np.array([0.0]))[0]
    array([2., 3.])
    """
    w, v = linalg().eigh_tridiagonal(d, e, check_finite=False)
    return np.concatenate([w[None], v if own_signs else v * leading_signs(v).astype(v.dtype, copy=False)])


@tridiagonal_spectrum.vjp("d")
def tridiagonal_spectrum_vjp_d(z, z_bar, d, e, *, own_signs=False):
    return np.sum(tridiagonal_cotangent(z, z_bar) * z[1:], axis=-1)


@tridiagonal_spectrum.vjp("e")
def tridiagonal_spectrum_vjp_e(z, z_bar, d, e, *, own_signs=False):
    g = tridiagonal_cotangent(z, z_bar)
    v = z[1:]
    return np.sum(g[:-1] * v[1:] + g[1:] * v[:-1], axis=-1)


def tridiagonal_cotangent(z, z_bar):
    """The g for which the cotangent of the dense matrix is g v^T."""
    w, v, v_bar = z[0], z[1:], z_bar[1:]
    g = v * row(z_bar[0])
    live = live_columns(v_bar)
    if not np.any(live):
        return g
    return g + matmul(v, reciprocal_gaps(w, live) * matmul(transposed_of(v), v_bar))


@tridiagonal_spectrum.jvp
def tridiagonal_spectrum_jvp(z, d_dot, e_dot, d, e, *, own_signs=False):
    return tridiagonal_tangent(z, d_dot, e_dot)


def tridiagonal_tangent(z, d_dot, e_dot):
    """The tangents of eigenvalues and eigenvectors."""
    w, v = z[0], z[1:]
    zeros = np.zeros((1, np.shape(v)[1]), dtype_beside(v))
    above = np.concatenate([e_dot[:, None] * v[1:], zeros])
    below = np.concatenate([zeros, e_dot[:, None] * v[:-1]])
    c = matmul(transposed_of(v), d_dot[:, None] * v + above + below)
    return np.concatenate([row(diagonal_of(c)), matmul(v, reciprocal_gaps(w) * c)])
