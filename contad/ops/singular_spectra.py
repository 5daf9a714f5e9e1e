"""Singular values and vectors, as one rule whose value is one matrix, like those of `contad.ops.spectra`."""

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.close_singular_values import UNSIGNED, along_matrix, are_moved, free_zeros, is_singular_right
from contad.ops.close_values import CLOSE, DOUBLE, LEAST, column_sizes, has_close, lose_uneven
from contad.ops.cotangents import carries, plain
from contad.ops.linear_systems import conj_transposed_of, in_c_order, real_of
from contad.ops.products import as_array, matmul
from contad.ops.spectra import (
    column,
    dual_parts,
    live_columns,
    of_plain_parts,
    once_or_nan,
    parted_values,
    pull_turned,
    push_turned,
    reciprocal_gaps,
    reciprocals,
    row,
    taken_apart,
)
from contad.ops.triangular_factors import symmetrise
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import is_complex
from contad.variables.dual import ArrayDual, array_dual

_A, _C = [[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]], [[2.2, -0.7, 0.3], [-0.2, 3.9, 0.4], [0.5, 0.1, 1.1]]
_TALL, _THIN = [[1.3, -0.7], [0.4, 1.9], [-1.1, 0.8]], [[0.4, 1.2], [2.1, -0.3], [0.6, 1.5]]
_WIDE = [[1.3, 0.4, -1.1], [-0.7, 1.9, 0.8]]
_quiet = np.errstate(all="ignore")  # results of division by 0 or overflow are set to nan on purpose
_SVDResult = type(np.linalg.svd(np.eye(1)))


@array_rule(dtypes=DOUBLE, points=[(_A,), ([_A, _C],), (_TALL,), (_WIDE,), ([_TALL, _THIN],)])
def singular_spectrum(a):
    """u, then s as a row, then v, stacked, with a = u diag(s) v^T; like np.linalg.svd without full matrices.

        z = (u, s, v),  z_dot:  s_dot = diag(c),     c = u^T a_dot v,     f_ij = 1 / (s_j^2 - s_i^2), 0 for i = j
        u_dot = u (f (c s + s c^T)) + (1 - u u^T) a_dot v s^-1,   v_dot likewise
        a_bar = u ((f (u^T u_bar - u_bar^T u)) s + s (f (v^T v_bar - v_bar^T v)) + diag(s_bar)) v^T
                + (1 - u u^T) u_bar s^-1 v^T + u s^-1 v_bar^T (1 - v v^T)

    Shapes:  a (..., m, n) -> z (..., m + 1 + n, k) with k = min(m, n).
    Domain:  every a. Vectors of equal singular values, and those of 0 if m and n differ, have the derivative nan. So
             have second derivatives of functions that treat equal values, within 1e-13 of the largest, differently.
             For a complex a, ^T conjugates, and the first element of the shorter one of u_i and v_i is real.
    Raises:  LinAlgError if the iteration fails, or if a is not finite.
    Cost:    O(m n k) forward and reverse; saves nothing.
    Ref:     Giles (2008), section 2.3.4; Townsend (2016).

    >>> singular_spectrum(np.array([[0.0, 2.0], [3.0, 0.0]]))[2]
    array([3., 2.])
    """
    check_finite(a)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, s[..., None, :], np.swapaxes(vh, -1, -2).conj()], axis=-2)


@singular_spectrum.vjp("a")
def singular_spectrum_vjp_a(z, z_bar, a):
    return pull_singular(z, z_bar, a)


@_quiet
def pull_singular(z, z_bar, a):
    """The cotangent of a matrix; forward mode over it has its own path for close values."""
    if isinstance(z, ArrayDual) and is_close(z, np.shape(a), least=1.0) and of_plain_parts(z, z_bar, a):
        return singular_cotangent_of_close(z, z_bar, a)
    return singular_cotangent(z, z_bar, np.shape(a))


def singular_cotangent(z, z_bar, shape):
    """The cotangent of a matrix, from those of its singular vectors and values."""
    m = shape[-2]
    u, s, v = z[..., :m, :], real_of(z[..., m, :]), z[..., m + 1 :, :]
    u_bar, v_bar = z_bar[..., :m, :], z_bar[..., m + 1 :, :]
    inner = row(real_of(z_bar[..., m, :])) * np.eye(np.shape(s)[-1])
    live = live_columns(u_bar) | live_columns(v_bar)
    vh = conj_transposed_of(v)
    if not np.any(live):
        return matmul(matmul(u, singular_or_nan(inner, z, z_bar, shape)), vh)
    if is_complex(z):
        both = pull_turned(vectors_of(u, v), vectors_of(u_bar, v_bar), place_of(shape))
        u_bar, v_bar = both[..., :m, :], both[..., m:, :]
    left, right = matmul(conj_transposed_of(u), u_bar), matmul(vh, v_bar)
    turned, even = left - conj_transposed_of(left), right - conj_transposed_of(right)
    even, odd = 0.5 * (turned + even), 0.5 * (turned - even)
    if is_complex(z):  # the difference of the phases
        inner = inner + np.eye(np.shape(s)[-1]) * row(0.5 * reciprocal_values(s, live)) * odd
    inner = singular_or_nan(inner + reciprocal_gaps(s, live) * even + reciprocal_sums(s, live) * odd, z, z_bar, shape)
    a_bar = matmul(matmul(u, inner), vh)
    if shape[-2] > shape[-1]:
        a_bar = a_bar + matmul((u_bar - matmul(u, left)) * row(reciprocal_values(s, live)), vh)
    elif shape[-2] < shape[-1]:
        a_bar = a_bar + matmul(u * row(reciprocal_values(s, live)), conj_transposed_of(v_bar - matmul(v, right)))
    return a_bar


def vectors_of(u, v):
    """The vectors of both sides, one below the other; they turn together."""
    return np.concatenate([u, v], axis=-2)


def place_of(shape):
    """The row of these vectors that LAPACK makes real: the first element of the shorter ones."""
    return shape[-2] if shape[-2] >= shape[-1] else 0


def singular_or_nan(inner, z, z_bar, shape):
    """`right_or_nan` of singular vectors and values: inner is the cotangent in them."""
    m, again = shape[-2], carries(z)
    z, z_bar = plain(z), plain(z_bar)
    if not is_close(z, shape, CLOSE if again else 2.0 * LEAST, 1.0):
        return inner
    right = np.ones((*z.shape[:-2], 1, 1), dtype=bool)
    for k in np.ndindex(z.shape[:-2]):
        u, s, v, u_bar, s_bar, v_bar = (x[k][part] for x in (z, z_bar) for part in (slice(m), m, slice(m + 1, None)))
        outside = column_sizes(u_bar if len(u) > len(v) else v_bar)[None][: shape[-2] != shape[-1]]
        right[k] = is_singular_right(
            s.real, u.conj().T @ u_bar, v.conj().T @ v_bar, outside, u_bar, s_bar.real, v_bar, again
        )
    return inner if np.all(right) else np.where(right, inner, np.nan)


def is_close(z, shape, share=CLOSE, least=0.0):
    """Whether gaps of singular values, or the values themselves, are below that fraction of the largest one or
    `least`."""
    s = plain(z)[..., shape[-2], :].real
    return has_close(np.concatenate([s, -s], axis=-1), 2.0 * share, least)


def singular_cotangent_of_close(z, z_bar, a):
    """singular_cotangent for duals of numbers with close values, like `cotangent_of_close`."""
    shape = np.shape(a)
    m = shape[-2]
    value, *tangents = dual_parts(z)
    bars = dual_parts(z_bar) if isinstance(z_bar, ArrayDual) else [z_bar] + [0.0 * z_bar for _ in tangents]
    found = [lose_uneven(singular_cotangent(value, bars[0], shape), *(x[..., m, :] for x in (value, *bars)))]
    for a_dot, bar in zip(dual_parts(a)[1:], bars[1:], strict=True):
        moved = np.zeros(np.shape(a_dot))
        for k in np.ndindex(moved.shape[:-2]):
            parts = [(x[k][:m], x[k][m], x[k][m + 1 :]) for x in (value, bars[0], bar)]
            if shape[-2] >= shape[-1]:
                moved[k] = along_matrix(*parts, a_dot[k])
            else:
                moved[k] = along_matrix(*(x[::-1] for x in parts), a_dot[k].T).T
        found.append(moved)
    return array_dual(z._owner, found[0], found[1:])


@singular_spectrum.jvp
def singular_spectrum_jvp(z, a_dot, a):
    return singular_tangent(z, a_dot, np.shape(a))


@_quiet
def singular_tangent(z, a_dot, shape):
    """The tangents of singular vectors and values."""
    m = shape[-2]
    u, s, v = z[..., :m, :], real_of(z[..., m, :]), z[..., m + 1 :, :]
    forth, back = matmul(a_dot, v), matmul(conj_transposed_of(a_dot), u)
    c = matmul(conj_transposed_of(u), forth)
    ct = conj_transposed_of(c)
    even, odd = 0.5 * (c + ct), 0.5 * (c - ct)
    apart = taken_apart(s, even, z)
    even = np.where(apart, np.nan, once_or_nan(reciprocal_gaps(s), row(s) - column(s), s, z)) * even
    phases = np.eye(np.shape(s)[-1]) * row(0.5 * rates_of_values(s, odd)) * odd if is_complex(z) else 0.0
    odd = once_or_nan(singular_rates(s, odd), row(s) + column(s), s, z) + phases
    u_dot, v_dot = matmul(u, even + odd), matmul(v, even - odd)
    if shape[-2] > shape[-1]:
        u_dot = u_dot + (forth - matmul(u, c)) * row(once_or_nan(rates_of_values(s, forth), s, s, z))
    elif shape[-2] < shape[-1]:
        v_dot = v_dot + (back - matmul(v, ct)) * row(once_or_nan(rates_of_values(s, back), s, s, z))
    if is_complex(z):
        both = push_turned(vectors_of(u, v), vectors_of(u_dot, v_dot), place_of(shape))
        u_dot, v_dot = both[..., :m, :], both[..., m:, :]
    s_dot = parted_values(z, s, 0.5 * (c + ct), apart, -1.0)
    values = plain(s)
    most = np.max(values, axis=-1, keepdims=True, initial=0.0)
    unsigned = (values > 0.0) & (values <= UNSIGNED * values.shape[-1] * most)
    if carries(z):
        unsigned = unsigned | free_zeros(values, shape[-2] != shape[-1])
    if np.any(unsigned):
        s_dot = np.where(unsigned & column(are_moved(plain(u), unsigned, plain(v), plain(a_dot))), np.nan, s_dot)
    return np.concatenate([u_dot, row(s_dot), v_dot], axis=-2)


def reciprocal_sums(s, live=True):
    """1 / (s_j + s_i), and 0 where i = j; infinite ones become nan, or 0 if no derivative of either is `live`."""
    return reciprocals(row(s) + column(s), s, live)


def singular_rates(s, odd):
    """odd_ij / (s_j + s_i), nan for small values that it rotates fast, as in `are_lost` for gaps."""
    values, rates = plain(s), np.abs(plain(odd))
    share = LEAST * np.max(values, axis=-1, initial=0.0)[..., None, None]
    lost = rates * share > (row(values) + column(values)) * np.max(rates, axis=(-2, -1), keepdims=True, initial=0.0)
    return np.where(lost, np.nan, reciprocal_sums(s)) * odd


def rates_of_values(s, moved):
    """1 / s for the excess of the longer side; nan for small values that change fast."""
    values, rates = plain(s), np.max(np.abs(plain(moved)), axis=-2, initial=0.0)
    most, fastest = (np.max(x, axis=-1, keepdims=True, initial=0.0) for x in (values, rates))
    lost = rates * LEAST * most > values * fastest
    return np.where(lost, np.nan, reciprocal_values(s))


def reciprocal_values(s, live=True):
    """1 / s; for s = 0 it is nan, or 0 if no derivative of its vectors is `live`."""
    zero = plain(s) == 0.0
    if not np.any(zero):
        return 1.0 / s
    return np.where(zero, np.where(zero & live, np.nan, 0.0), 1.0 / np.where(zero, 1.0, s))


def check_finite(a):
    """Raise LinAlgError unless a is finite: LAPACK's iteration for singular values may never end."""
    if not np.all(np.isfinite(a)):
        raise np.linalg.LinAlgError("SVD did not converge: a has elements that are not finite")


@implements(np.linalg.svd, layout="own")
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular vectors and values."""
    a = as_array(a)
    if np.ndim(a) < 2:
        raise np.linalg.LinAlgError(f"svd: a must be a matrix or a stack of matrices, got shape {np.shape(a)}")
    m, n = np.shape(a)[-2:]
    if full_matrices and compute_uv and m != n:
        raise UnsupportedError(
            f"np.linalg.svd: of shape {np.shape(a)}, the additional vectors of full matrices have no derivative; pass "
            "full_matrices=False"
        )
    z = singular_spectrum(symmetrise(a) if hermitian else a)
    if not compute_uv:
        return in_c_order(real_of(z[..., m, :]))
    return _SVDResult(*map(in_c_order, (z[..., :m, :], real_of(z[..., m, :]), conj_transposed_of(z[..., m + 1 :, :]))))


@implements(np.linalg.svdvals, layout="own")
def svdvals(x, /):
    """Singular values, from the largest to the smallest."""
    return svd(x, compute_uv=False)
