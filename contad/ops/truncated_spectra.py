"""A matrix without its smallest singular values, which pseudoinverses with a bound invert instead."""

import numpy as np

from contad.ops.cotangents import plain
from contad.ops.linear_systems import conj_transposed_of, real_of
from contad.ops.products import matmul
from contad.ops.singular_spectra import check_finite, singular_spectrum
from contad.ops.spectra import column, row
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import HERMITIAN, dtype_beside

_A = [[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 0.7]]
_TALL = [[1.3, -0.7], [0.4, 1.9], [-1.1, 0.8]]
_WIDE = [[1.3, 0.4, -1.1], [-0.7, 1.9, 0.8]]


@array_rule(
    dtypes=HERMITIAN,
    points=[
        (_A, {"bound": 0.2}),
        (_A, {"bound": 0.6}),
        (_TALL, {"bound": 0.9}),
        (_WIDE, {"bound": 0.9}),
        ([_TALL, [[0.4, 1.2], [2.1, -0.3], [0.6, 1.5]]], {"bound": 0.75}),
    ]
)
def truncated_matrix(a, *, bound):
    """The matrix a = u s v^T without the singular values that are at most `bound` times the largest; pinv calls it.

        z = u_k s_k v_k^T, k: what is kept,     z_dot = l(a_dot),     a_bar = l(z_bar)
        l(e) = p e + (1 - p) e q + u x v^T,     p = u_k u_k^T,     q = v_k v_k^T,     c = u^T e v x_ij = (d^2 c_ij + s_i
        s_j c_ji) / (k^2 - d^2) where one of s_i, s_j is kept (k) and one is not (d), else 0

    Shapes:  a (..., m, n) -> z (..., m, n).
    Domain:  every a with no singular value at the bound. Equal values that are all kept, or all dropped, have a first
             derivative; the second is nan. For a complex a, ^T conjugates.
    Raises:  LinAlgError if a is not finite.
    Cost:    O(m n min(m, n)) forward and reverse; saves nothing.
    Ref:     Noferini (2017), theorem 4.2, on generalized functions of matrices.

    >>> truncated_matrix(np.array([[3.0, 0.0], [0.0, 0.1]]), bound=0.3)
    array([[3., 0.],
           [0., 0.]])
    """
    check_finite(a)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return matmul(u * row(s * are_kept(s, bound)), vh)


@truncated_matrix.vjp("a")
def truncated_matrix_vjp_a(z, z_bar, a, *, bound):
    return along_kept(a, z_bar, bound)


@truncated_matrix.jvp
def truncated_matrix_jvp(z, a_dot, a, *, bound):
    return along_kept(a, a_dot, bound)


def are_kept(s, bound):
    """Which singular values exceed the bound times the largest, as in NumPy."""
    values = plain(s)
    return values > np.asarray(bound)[..., None] * np.max(values, axis=-1, keepdims=True, initial=0.0)


def along_kept(a, e, bound):
    """The derivative of the truncated matrix along e: a symmetric map of e."""
    m, z = np.shape(a)[-2], singular_spectrum(a)
    u, s, v = z[..., :m, :], real_of(z[..., m, :]), z[..., m + 1 :, :]
    kept = are_kept(s, bound)
    left, right = (x * row(kept.astype(dtype_beside(s))) for x in (u, v))
    by_row = matmul(left, matmul(conj_transposed_of(left), e))
    rest = matmul(matmul(e - by_row, right), conj_transposed_of(right))
    c = matmul(matmul(conj_transposed_of(u), e), v)
    apart = column(kept) & ~row(kept)  # the row is kept, the column is not
    gaps = column(s * s) - row(s * s)
    f = np.where(apart, 1.0 / np.where(apart, gaps, 1.0), 0.0)
    dropped, across = row(s * s), column(s) * row(s)
    ct = conj_transposed_of(c)
    x = f * (dropped * c + across * ct)
    y = f * (dropped * ct + across * c)
    return by_row + rest + matmul(matmul(u, x + conj_transposed_of(y)), conj_transposed_of(v))


def drops_some(a, bound):
    """Whether the bound drops a singular value that is more than rounding."""
    shape = np.shape(a)
    rounding = np.finfo(dtype_beside(a)).eps * max(shape[-2:])
    if bound is None or np.size(a) == 0 or np.all(np.asarray(bound) <= rounding):
        return False
    s = np.linalg.svd(plain(a), compute_uv=False)
    return bool(np.any(~are_kept(s, bound) & are_kept(s, rounding)))
