"""QR factors, least squares and pseudoinverses."""

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.cotangents import all_finite, carries, plain
from contad.ops.factors import triangular_solution
from contad.ops.linear_systems import (
    are_matrices,
    conj_of,
    conj_transposed_of,
    in_c_order,
    real_of,
    transposed_of,
)
from contad.ops.products import as_array, matmul
from contad.ops.singular_spectra import check_finite, svdvals
from contad.ops.triangular_factors import (
    solve_triangular,
    strict_triangle,
    symmetrise,
    upper_part,
    with_real_diagonal,
)
from contad.ops.truncated_spectra import along_kept, drops_some, truncated_matrix
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import HERMITIAN, dtype_beside
from contad.variables.number import observe, peek

_A, _C = [[2.3, -0.7, 0.4], [0.5, 1.9, -1.1], [-0.8, 0.3, 2.6]], [[1.2, 0.4, 0.3], [-0.5, 3.1, 0.2], [0.7, -0.6, 1.8]]
_TALL = [[1.3, -0.7], [0.4, 1.9], [-1.1, 0.8]]
_WIDE = [[1.3, 0.4, -1.1], [-0.7, 1.9, 0.8]]
DEPENDENT = 4.0 * 2.0**-52  # times the rows: the rounding error of a 0 on the diagonal of r, relative to its column


# ---- QR --------------------------------------------------------------------------------------------------------------
@array_rule(dtypes=HERMITIAN, points=[(_A,), ([_A, _C],), (_TALL,), ([_TALL, [[0.4, 1.2], [2.1, -0.3], [0.6, 1.5]]],)])
def orthogonal_factor(a):
    """q and below it r, of a = q r for a matrix with at least as many rows as columns; np.linalg.qr calls it.

        z = (q, r),  z_dot:  q_dot = x - q (c - w),     r_dot = (c - w) r,     x = a_dot r^-1,     c = q^T x,
        w = l - l^T with l the strict lower triangle of c
        a_bar = (q_bar + q (t + l^T)) r^-T,     t: the lower triangle of r r_bar^T - q_bar^T q, l the strict one

    For a complex a, ^T conjugates, the diagonal of r is real, and so is that of c - w.

    Shapes:  a (..., m, n), m >= n -> z (..., m + n, n).
    Domain:  a of rank n; if the rank is less, up to rounding, the derivative is nan.
    Cost:    O(m n^2) forward and reverse; saves nothing.
    Ref:     Walter & Lehmann (2013), section 3.

    >>> orthogonal_factor(np.array([[3.0], [4.0]]))
    array([[-0.6],
           [-0.8],
           [-5. ]])
    """
    q, r = np.linalg.qr(a)
    return np.concatenate([q, r], axis=-2)


@orthogonal_factor.vjp("a")
def orthogonal_factor_vjp_a(z, z_bar, a):
    return orthogonal_cotangent(z, z_bar, np.shape(a)[-2])


def orthogonal_cotangent(z, z_bar, m):
    """The cotangent of a matrix, from those of its factors."""
    q, q_bar, r = z[..., :m, :], z_bar[..., :m, :], of_full_rank(z[..., m:, :], m)
    if are_matrices(z, z_bar) and z.size:
        found = _pull_numbers(q, q_bar, r, z_bar[m:])
        if all_finite(found):
            return found
    t = matmul(r, conj_transposed_of(upper_part(z_bar[..., m:, :]))) - matmul(conj_transposed_of(q_bar), q)
    total = q_bar + matmul(q, symmetrise(t))
    return conj_transposed_of(solve_triangular(r, conj_transposed_of(total)))


def _pull_numbers(q, q_bar, r, r_bar):
    """The same for one matrix of numbers, in few calls."""
    t = r.dot(upper_part(r_bar).T) - q_bar.T.dot(q)
    low = t * strict_triangle(len(r), True)
    low += low.T
    low.flat[:: len(r) + 1] = t.diagonal()
    total = q.dot(low)
    total += q_bar
    return triangular_solution(r.T, total.T, True, True, overwrite=True).T


@orthogonal_factor.jvp
def orthogonal_factor_jvp(z, a_dot, a):
    return orthogonal_tangent(z, a_dot, np.shape(a)[-2])


def orthogonal_tangent(z, a_dot, m):
    """The tangents of the factors of a matrix."""
    q, r = z[..., :m, :], of_full_rank(z[..., m:, :], m)
    x = transposed_of(solve_triangular(r, transposed_of(a_dot), transposed=True))
    c = matmul(conj_transposed_of(q), x)
    low = np.tril(c, -1)
    turned = with_real_diagonal(c - low + conj_transposed_of(low))
    return np.concatenate([x - matmul(q, turned), matmul(turned, r)], axis=-2)


def of_full_rank(r, m):
    """r of a matrix of m rows, with nan on its diagonal for columns that depend on others, up to rounding."""
    values = np.abs(plain(r))
    sizes, diagonal = np.max(values, axis=-2, initial=0.0), np.diagonal(values, axis1=-2, axis2=-1)
    unit = np.finfo(dtype_beside(values)).eps / np.finfo(float).eps
    lost = diagonal <= DEPENDENT * unit * m * sizes
    return np.where(np.eye(lost.shape[-1], dtype=bool) & lost[..., None], np.nan, r) if np.any(lost) else r


def without_zeros(triangle):
    """A triangular matrix with nan for the zeros on its diagonal."""
    if triangle.__class__ is np.ndarray and triangle.ndim == 2:
        if np.count_nonzero(triangle.diagonal()) == len(triangle):
            return triangle
    n = np.shape(triangle)[-1]
    zero = np.eye(n, dtype=bool) & (plain(triangle) == 0.0)
    return np.where(zero, np.nan, triangle) if np.any(zero) else triangle


_QRResult = type(np.linalg.qr(np.eye(1)))


@implements(np.linalg.qr)
def qr(a, mode="reduced"):
    """The factors of a = q r."""
    a = as_array(a)
    shape = np.shape(a)
    if len(shape) < 2:
        raise np.linalg.LinAlgError(f"qr: a must be a matrix or a stack of matrices, got shape {shape}")
    m, n = shape[-2:]
    if mode == "raw" and not is_complex(a):
        return reflect_columns(a)
    if mode not in ("reduced", "r", "complete") or (mode == "complete" and m > n):
        raise UnsupportedError(
            f"np.linalg.qr: mode={mode!r} has no derivative for shape {shape}; use 'reduced' or 'r'"
        )
    z = orthogonal_factor(a[..., :m] if m < n else a)
    q, r = (z[:m], z[m:]) if len(shape) == 2 else (in_c_order(z[..., :m, :]), in_c_order(z[..., m:, :]))
    if m < n:
        r = np.concatenate([r, matmul(conj_transposed_of(q), a[..., m:])], axis=-1)
    return r if mode == "r" else _QRResult(q, r)


def reflect_columns(a):
    """LAPACK's results instead of q and r: the reflections 1 - tau v v^T that make a triangular, and r.

    They are computed again, column by column, by operations on arrays. If a column is zero below the diagonal, LAPACK
    reflects nothing; its result jumps there, and has the derivative of the unreflected column.
    """
    m, n = np.shape(a)[-2:]
    k = min(m, n)
    heads, tails, taus = [], [], []
    for j in range(k):
        first, rest = a[..., 0, 0], a[..., 1:, 0]
        if j == m - 1:
            beta, tau, v = first, 0.0 * first, rest
        else:
            stays = observe(np.equal, rest, 0.0).all(-1)
            beta = -np.copysign(np.linalg.norm(a[..., :, 0], axis=-1), first)
            beta = np.where(stays, first, beta)
            tau = np.where(stays, 0.0, (beta - first) / np.where(stays, 1.0, beta))
            v = rest / np.expand_dims(np.where(stays, 1.0, first - beta), -1)
        ones = np.ones((*np.shape(v)[:-1], 1))
        v = np.concatenate([ones, v], axis=-1)
        along = matmul(np.expand_dims(tau, -1)[..., None] * v[..., None, :], a[..., :, 1:])
        a = a[..., :, 1:] - np.expand_dims(v, -1) * along
        heads.append(np.concatenate([np.expand_dims(np.expand_dims(beta, -1), -1), a[..., :1, :]], axis=-1))
        tails.append(np.expand_dims(v[..., 1:], -1))
        taus.append(tau)
        a = a[..., 1:, :]
    for head, tail in zip(reversed(heads), reversed(tails), strict=True):
        a = np.concatenate([head, np.concatenate([tail, a], axis=-1)], axis=-2)
    return transposed_of(a), np.stack(taus, axis=-1) if taus else np.zeros((*np.shape(a)[:-2], 0))


# ---- pseudoinverses --------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=HERMITIAN,
    points=[
        (_A,),
        (_TALL,),
        (_WIDE,),
        ([_TALL, [[0.4, 1.2], [2.1, -0.3], [0.6, 1.5]]],),
        (_A, {"rcond": 0.7}),
        (_WIDE, {"rcond": 0.9}),
    ]
)
def pseudoinverse(a, *, rcond=None, hermitian=False):
    """The pseudoinverse of Moore and Penrose; np.linalg.pinv calls it.

        z_dot = -z a_dot z + z z^T a_dot^T (1 - a z) + (1 - z a) a_dot^T z^T z
        a_bar = -z^T z_bar z^T + (1 - a z) z_bar^T z z^T + z^T z z_bar^T (1 - z a)

    Shapes:  a (..., m, n) -> z (..., n, m).
    Domain:  where the rank does not change; rcond, the bound of small singular values, is a constant. If it drops a
             nonzero one, z is the pseudoinverse of `truncated_matrix`, and the derivative passes through that.
             For a complex a, ^T conjugates.
    Raises:  LinAlgError if a is not finite.
    Cost:    O(m n min(m, n)) forward and reverse; saves nothing.
    Ref:     Golub & Pereyra (1973), equation 4.12.

    >>> pseudoinverse(np.array([[2.0], [0.0]]))
    array([[0.5, 0. ]])
    """
    check_finite(a)
    return np.linalg.pinv(a, rcond=rcond, hermitian=hermitian)


@pseudoinverse.vjp("a")
def pseudoinverse_vjp_a(z, z_bar, a, *, rcond=None, hermitian=False):
    return pseudoinverse_cotangent(z, z_bar, a, rcond)


def pseudoinverse_cotangent(z, z_bar, a, rcond):
    """The cotangent of a matrix, from that of its pseudoinverse z."""
    if drops_some(a, rcond):
        return along_kept(a, pseudoinverse_cotangent(z, z_bar, truncated_matrix(a, bound=rcond), None), rcond)
    zt, across = conj_transposed_of(z), conj_transposed_of(z_bar)
    c = beyond(a, z, matmul(matmul(across, z), zt)) - matmul(matmul(zt, z_bar), zt)
    return c + conj_transposed_of(beyond(conj_transposed_of(a), zt, matmul(matmul(z_bar, zt), z)))


def beyond(a, z, x):
    """(1 - a z) x: 0 if a has full row rank; by QR factors, which keep digits, if it has full column rank."""
    m, n = np.shape(a)[-2:]
    rank = np.min(np.sum(plain(a) * np.swapaxes(plain(z), -1, -2), axis=(-2, -1)).real, initial=m)
    if rank > m - 0.5:
        return np.zeros(np.shape(x), dtype_beside(x))
    if rank > n - 0.5 and carries(z):
        q = orthogonal_factor(a)[..., :m, :]
        return x - matmul(q, matmul(conj_transposed_of(q), x))
    return x - matmul(a, matmul(z, x))


@pseudoinverse.jvp
def pseudoinverse_jvp(z, a_dot, a, *, rcond=None, hermitian=False):
    return pseudoinverse_tangent(z, a_dot, a, rcond)


def pseudoinverse_tangent(z, a_dot, a, rcond):
    """The tangent of a pseudoinverse z."""
    if drops_some(a, rcond):
        return pseudoinverse_tangent(z, along_kept(a, a_dot, rcond), truncated_matrix(a, bound=rcond), None)
    zt, across = conj_transposed_of(z), conj_transposed_of(a_dot)
    z_dot = conj_transposed_of(beyond(a, z, matmul(matmul(a_dot, z), zt))) - matmul(matmul(z, a_dot), z)
    return z_dot + beyond(conj_transposed_of(a), zt, matmul(matmul(across, zt), z))


@implements(np.linalg.pinv, layout="own")
def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    """The pseudoinverse; singular values below a fraction of the largest count as 0."""
    if rcond is None and rtol is not None:
        rcond = rtol
    return pseudoinverse(symmetrise(a) if hermitian else a, rcond=peek(rcond))


# ---- least squares ---------------------------------------------------------------------------------------------------
@implements(np.linalg.lstsq, layout="own")
def lstsq(a, b, rcond=None):
    """Solution of least squares, residuals, rank and singular values, as NumPy returns them.

    With full rank the solution comes from QR factors. Otherwise it comes from the pseudoinverse: it is the shortest of
    all solutions, and its derivative holds where the rank does not change. Directions that rcond drops take part in the
    derivative, too.
    """
    a, b = as_array(a), as_array(b)
    if np.ndim(a) != 2 or np.ndim(b) not in (1, 2):
        raise np.linalg.LinAlgError(
            f"lstsq: a must be a matrix and b a vector or matrix, got shapes {np.shape(a)} and {np.shape(b)}"
        )
    m, n = np.shape(a)
    if np.shape(b)[0] != m:
        raise np.linalg.LinAlgError(f"lstsq: a and b must have as many rows, got {m} and {np.shape(b)[0]}")
    s = svdvals(a)
    smallest = np.finfo(float).eps * max(m, n) if rcond is None else max(peek(rcond), 0.0)
    rank = int(np.sum(observe(np.greater, s, smallest * s[:1])))  # the largest is the first
    if rank < min(m, n):
        x = matmul(pseudoinverse(a, rcond=smallest), b)
    elif m >= n:
        q, r = qr(a)
        x = solve_triangular(r, matmul(conj_transposed_of(q), b))
    else:
        q, r = qr(conj_transposed_of(a))
        x = matmul(q, solve_triangular(conj_of(r), b, transposed=True))
    if rank == n < m:
        residual = b - matmul(a, x)
        residuals = np.sum(real_of(residual * conj_of(residual)), axis=0)
        residuals = np.expand_dims(residuals, -1) if np.ndim(b) == 1 else residuals
    else:
        residuals = np.empty(0)
    return in_c_order(x), residuals, rank, s
