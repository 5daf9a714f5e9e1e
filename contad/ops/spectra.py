"""Eigenvalues and eigenvectors, singular values and vectors.

A decomposition is one rule whose value is one matrix: the values are its first row (or the row below u), the vectors
the others. What NumPy's functions give are views of it.
"""

import itertools

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import linalg
from contad.ops.cotangents import all_finite, plain
from contad.ops.linear_systems import check_square, in_c_order, inv, transposed_of
from contad.ops.products import as_array, matmul
from contad.ops.triangular_factors import onto_triangle, symmetrise
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.dual import ArrayDual, array_dual
from contad.variables.number import Carrier

_S, _T = [[4.3, 0.6, -0.8], [0.6, 1.9, 0.5], [-0.8, 0.5, 2.6]], [[2.2, -0.7, 0.3], [-0.7, 3.9, 0.4], [0.3, 0.4, 1.1]]
_A, _C = [[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]], [[2.2, -0.7, 0.3], [-0.2, 3.9, 0.4], [0.5, 0.1, 1.1]]
NEAR = 1e-13  # of the largest one: values nearer to each other leave less than three digits of what is divided by it
_TALL = [[1.3, -0.7], [0.4, 1.9], [-1.1, 0.8]]
_WIDE = [[1.3, 0.4, -1.1], [-0.7, 1.9, 0.8]]


# ---- what eigenvectors and singular vectors have in common -----------------------------------------------------------
def row(x):
    """x (..., n) as matrices of one row."""
    return np.expand_dims(x, -2)


def column(x):
    """x (..., n) as matrices of one column."""
    return np.expand_dims(x, -1)


def diagonal_of(a):
    """The diagonals of the matrices of a stack."""
    return np.diagonal(a, axis1=-2, axis2=-1)


def reciprocal_gaps(w, live=True):
    """1 / (w_j - w_i) at row i and column j, and 0 where i = j.

    Where the gap is 0, vectors have no derivative: nan, or 0 where no derivative of either vector is `live`.

    >>> reciprocal_gaps(np.array([1.0, 3.0, 3.0]), np.array([True, False, False]))
    array([[ 0. ,  0.5,  0.5],
           [-0.5,  0. ,  0. ],
           [-0.5,  0. ,  0. ]])
    """
    gaps = row(w) - column(w)
    same = np.eye(np.shape(w)[-1], dtype=bool)
    equal = (plain(gaps) == 0.0) & ~same
    if not np.any(equal):
        return np.where(same, 0.0, 1.0 / np.where(same, 1.0, gaps))
    lost = equal & (row(live) | column(live)) if live is not True else equal
    return np.where(same | equal, np.where(lost, np.nan, 0.0), 1.0 / np.where(same | equal, 1.0, gaps))


def near_pairs(w):
    """The pairs of values that are equal, or as near to it as rounding leaves equal ones; none is its own.

    >>> near_pairs(np.array([1.0, 3.0, 3.0]))
    array([[False, False, False],
           [False, False,  True],
           [False,  True, False]])
    """
    w = plain(w)
    near = np.abs(row(w) - column(w)) <= NEAR * np.max(np.abs(w), axis=-1, initial=0.0)[..., None, None]
    return near & ~np.eye(w.shape[-1], dtype=bool)


def taken_apart(w, c):
    """The near pairs of values that c moves apart."""
    near = near_pairs(w)
    if np.any(near):
        c = np.abs(plain(c))
        near &= np.maximum(c, np.swapaxes(c, -1, -2)) > NEAR * np.max(c, axis=(-2, -1), keepdims=True)
    return near


def once_differentiable(w_dot, apart, z):
    """w_dot; where z is differentiated again, nan of values that are taken apart: their vectors change by leaps."""
    if isinstance(z, Carrier) and np.any(apart):
        return w_dot * np.where(np.any(apart, axis=-1), np.nan, 1.0)
    return w_dot


def live_columns(v_bar):
    """For each column whether its cotangent takes part: it is not zero, or carries a derivative of an outer level."""
    if isinstance(v_bar, ArrayDual) and not any(isinstance(x, Carrier) for x in dual_parts(v_bar)):
        return np.any([live_columns(x) for x in dual_parts(v_bar)], axis=0)
    if isinstance(v_bar, Carrier) or v_bar.dtype == object:
        return np.ones((*np.shape(v_bar)[:-2], np.shape(v_bar)[-1]), dtype=bool)
    return np.any(v_bar != 0.0, axis=-2)


def dual_parts(x):
    """The value of an array of duals and its tangents, one after the other."""
    x = x._sync_parts()
    return [x._value, *x._tangents]


def leading_signs(v):
    """The signs of the elements of largest magnitude in the columns of v.

    >>> leading_signs(np.array([[0.6, -0.8], [0.8, 0.6]]))
    array([ 1., -1.])
    """
    if v.size == 0:
        return np.ones(v.shape[1])
    return np.where(v[np.argmax(np.abs(v), axis=0), np.arange(v.shape[1])] < 0.0, -1.0, 1.0)


# ---- symmetric matrices ----------------------------------------------------------------------------------------------
@array_rule(points=[(_S,), ([_S, _T],), (_S, {"upper": True}), ([[2.3]],)])
def symmetric_spectrum(a, *, upper=False):
    """Eigenvalues (in the first row) and eigenvectors (below, as columns) of a symmetric matrix; as np.linalg.eigh.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c),     c = v^T a_dot v
        a_bar = v (diag(w_bar) + f (v^T v_bar)) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j

    a_bar belongs to the symmetric a; one triangle is read, and gets the sum of both (zeros in the other).

    Shapes:  a (..., n, n) -> z (..., n + 1, n).
    Domain:  every symmetric a; eigenvectors of equal eigenvalues have the derivative nan. Functions of eigenvalues
             that treat equal ones alike have one, and second ones: of plain functions by hvp, hessian and the jvp of a
             gradient, else nan. There those that differ by less than 1e-13 of the largest one count as equal. Tangents
             are those in the basis in which c is diagonal among equal eigenvalues.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse; saves nothing.
    Ref:     Giles (2008), section 2.3.3 (the symmetric case).

    >>> symmetric_spectrum(np.array([[3.0, 0.0], [0.0, 2.0]]))
    array([[2., 3.],
           [0., 1.],
           [1., 0.]])
    """
    w, v = np.linalg.eigh(a, "U" if upper else "L")
    return np.concatenate([w[..., None, :], v], axis=-2)


@symmetric_spectrum.vjp("a")
def symmetric_spectrum_vjp_a(z, z_bar, a, *, upper=False):
    return symmetric_cotangent(z, z_bar, a, upper)


def symmetric_cotangent(z, z_bar, a, upper):
    """The cotangent of a symmetric matrix, of which one triangle is read."""
    w, v, v_bar = z[..., 0, :], z[..., 1:, :], z_bar[..., 1:, :]
    live = live_columns(v_bar)
    if isinstance(z, ArrayDual) and not np.any(live) and of_plain_parts(z, z_bar, a) and np.any(near_pairs(w)):
        return cotangent_of_values(z, z_bar, a, upper)
    inner = row(z_bar[..., 0, :]) * np.eye(np.shape(w)[-1])
    if np.any(live):
        inner = inner + gaps_once_more(w, z_bar, live) * matmul(transposed_of(v), v_bar)
    return onto_triangle(0.5 * around(v, inner + transposed_of(inner)), upper)


def gaps_once_more(w, z_bar, live):
    """reciprocal_gaps, and where w is differentiated again nan between near values that take part."""
    f = reciprocal_gaps(w, live)
    if not isinstance(w, Carrier):
        return f
    part = np.any(plain(z_bar) != 0.0, axis=-2)
    lost = near_pairs(w) & (row(part) | column(part))
    return np.where(lost, np.nan, f) if np.any(lost) else f


# Of equal eigenvalues any basis has eigenvectors, and the derivative of the cotangent along a_dot is that in the basis
# in which v^T a_dot v is diagonal among them: there they change by its diagonal, and their vectors, with equal
# cotangents, do not matter.
def parting_basis(w, c):
    """The r in which c is diagonal among near values of w: r^T c r; the identity where no two are near."""
    r = np.zeros(c.shape) + np.eye(c.shape[-1])
    near = near_pairs(w)
    for k in np.ndindex(c.shape[:-2]):
        ends = [0, *(j for j in range(1, w.shape[-1]) if not near[k][j - 1, j]), w.shape[-1]]
        for start, end in itertools.pairwise(ends):
            some = slice(start, end)
            if end - start > 1 and np.all(np.isfinite(c[k])):
                r[k][some, some] = np.linalg.eigh(c[k][some, some])[1]
    return r


def cotangent_of_values(z, z_bar, a, upper):
    """symmetric_cotangent in duals, of a function of eigenvalues alone that treats equal ones alike, else nan."""
    value, *tangents = dual_parts(z)
    w, v = value[..., 0, :], value[..., 1:, :]
    bars = dual_parts(z_bar) if isinstance(z_bar, ArrayDual) else [z_bar] + [0.0 * z_bar for _ in tangents]
    w_bar, near = bars[0][..., 0, :], near_pairs(w)
    steps, f = row(w_bar) - column(w_bar), reciprocal_gaps(w, np.zeros(w.shape, dtype=bool))
    found = [onto_triangle(around(v, row(w_bar) * np.eye(w.shape[-1])), upper)]
    for a_dot, bar in zip(dual_parts(a)[1:], bars[1:], strict=True):
        c = matmul(matmul(transposed_of(v), symmetrise(a_dot, upper)), v)
        r = parting_basis(w, c)
        u, c, w_dot = matmul(v, r), matmul(matmul(transposed_of(r), c), r), bar[..., 0, :]
        moved = np.max(np.abs(c), axis=(-2, -1))[..., None]
        size = largest(w_bar) + largest(w_dot) * largest(w) / np.where(moved == 0.0, 1.0, moved)
        rates = np.abs(row(diagonal_of(c)) - column(diagonal_of(c)))
        uneven = (np.abs(steps) > 1e-8 * size[..., None]) & (rates > NEAR * moved[..., None])
        turned = np.where(near, np.where(uneven, np.nan, 0.0), steps * f * c)
        found.append(onto_triangle(around(u, turned + row(w_dot) * np.eye(w.shape[-1])), upper))
    return array_dual(z._owner, found[0], found[1:])


def largest(x):
    """The largest magnitudes along the last axis, which has length 1."""
    return np.max(np.abs(x), axis=-1, keepdims=True)


def of_plain_parts(*arrays):
    """Whether no array carries derivatives of more than one level."""
    return not any(
        isinstance(part, Carrier) or np.asarray(part).dtype.kind == "O"
        for x in arrays
        for part in (dual_parts(x) if isinstance(x, ArrayDual) else [x])
    )


@symmetric_spectrum.jvp
def symmetric_spectrum_jvp(z, a_dot, a, *, upper=False):
    return symmetric_tangent(z, a_dot, upper)


def symmetric_tangent(z, a_dot, upper):
    """The tangents of eigenvalues and eigenvectors of a symmetric matrix."""
    w, v = z[..., 0, :], z[..., 1:, :]
    c = matmul(matmul(transposed_of(v), symmetrise(a_dot, upper)), v)
    c = 0.5 * (c + transposed_of(c))  # to the last digit, so that turns among near eigenvalues cancel where they must
    apart = taken_apart(w, c)
    turned = np.where(apart, np.nan, reciprocal_gaps(w) * c)
    return np.concatenate([row(parted_values(z, c, apart)), matmul(v, turned)], axis=-2)


def parted_values(z, c, apart):
    """The tangents of eigenvalues; nan of those that are taken apart where z is to be differentiated again."""
    if isinstance(z, Carrier):
        return once_differentiable(diagonal_of(c), apart, z)
    if isinstance(c, Carrier) or c.dtype == object or not np.any(near_pairs(z[..., 0, :])):
        return diagonal_of(c)
    r = parting_basis(z[..., 0, :], c)
    return diagonal_of(matmul(matmul(transposed_of(r), c), r))


@array_rule(points=[(_S,), ([_S, _T],), (_S, {"upper": True}), ([[2.3]],)])
def robust_spectrum(a, *, upper=False, own_signs=False):
    """What symmetric_spectrum gives, by the algorithm of scipy.linalg.eigh.

    The largest element of each vector is positive, unless `own_signs` leaves LAPACK's signs, which may jump where a
    changes a little.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c),     c = v^T a_dot v
        a_bar = v (diag(w_bar) + f (v^T v_bar)) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j

    Shapes:  a (..., n, n) -> z (..., n + 1, n).
    Domain:  as symmetric_spectrum; nan where the triangle that is read is not finite.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse; saves nothing.
    Ref:     Giles (2008), section 2.3.3; Dhillon & Parlett (2004), on the algorithm.

    >>> robust_spectrum(np.array([[3.0, 0.0], [0.0, 2.0]]))[0]
    array([2., 3.])
    """
    check_square("eigh", a)
    z = np.full((*a.shape[:-2], a.shape[-1] + 1, a.shape[-1]), np.nan)
    read = np.triu(a) if upper else np.tril(a)
    for k in np.ndindex(a.shape[:-2]):
        if all_finite(read[k]):  # otherwise LAPACK may not return
            z[k][0], v = linalg().eigh(a[k], lower=not upper, check_finite=False)
            z[k][1:] = v if own_signs else v * leading_signs(v)
    return z


@robust_spectrum.vjp("a")
def robust_spectrum_vjp_a(z, z_bar, a, *, upper=False, own_signs=False):
    return symmetric_cotangent(z, z_bar, a, upper)


@robust_spectrum.jvp
def robust_spectrum_jvp(z, a_dot, a, *, upper=False, own_signs=False):
    return symmetric_tangent(z, a_dot, upper)


def around(v, c):
    """v c v^T."""
    return matmul(matmul(v, c), transposed_of(v))


_EighResult = type(np.linalg.eigh(np.eye(1)))
_EigResult = type(np.linalg.eig(np.eye(1)))
_SVDResult = type(np.linalg.svd(np.eye(1)))


def _is_upper(UPLO):
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError(f"np.linalg.eigh: UPLO must be 'L' or 'U', got {UPLO!r}")
    return UPLO in ("U", "u")


@implements(np.linalg.eigh, layout="own")
def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    a = as_array(a)
    check_square("eigh", a)
    z = symmetric_spectrum(a, upper=_is_upper(UPLO))
    return _EighResult(in_c_order(z[..., 0, :]), in_c_order(z[..., 1:, :]))


@implements(np.linalg.eigvalsh, layout="own")
def eigvalsh(a, UPLO="L"):
    """Eigenvalues of a symmetric matrix, from the smallest to the largest."""
    return eigh(a, UPLO)[0]


# ---- general matrices ------------------------------------------------------------------------------------------------
@array_rule(points=[(_A,), ([_A, _C],), ([[2.3]],)])
def real_spectrum(a):
    """Eigenvalues (in the first row) and eigenvectors (below) of a matrix whose eigenvalues are real; as np.linalg.eig.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c) - v diag(v^T v (f c)),     c = v^-1 a_dot v
        a_bar = v^-T (diag(w_bar) + f (v^T (v_bar - v diag(v^T v_bar)))) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j

    Shapes:  a (..., n, n) -> z (..., n + 1, n).
    Domain:  matrices with n eigenvectors and real eigenvalues; eigenvectors have length 1, and those of equal
             eigenvalues the derivative nan. So have second derivatives where eigenvalues are equal, within 1e-13 of the
             largest one, and move apart.
    Raises:  UnsupportedError if eigenvalues are complex; LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse; saves nothing.
    Ref:     Giles (2008), section 2.3.3.

    >>> real_spectrum(np.array([[3.0, 0.0], [0.0, 2.0]]))
    array([[3., 2.],
           [1., 0.],
           [0., 1.]])
    """
    w, v = np.linalg.eig(a)
    if np.iscomplexobj(w):
        if np.any(w.imag != 0.0):
            raise UnsupportedError(
                "np.linalg.eig: eigenvalues are complex, and contad differentiates real numbers only; call "
                "np.linalg.eigh where the matrix is symmetric"
            )
        w, v = w.real, v.real
    return np.concatenate([w[..., None, :], v], axis=-2)


@real_spectrum.vjp("a")
def real_spectrum_vjp_a(z, z_bar, a):
    return real_cotangent(z, z_bar)


def real_cotangent(z, z_bar):
    """The cotangent of a matrix with real eigenvalues."""
    w, v, v_bar = z[..., 0, :], z[..., 1:, :], z_bar[..., 1:, :]
    inner = row(z_bar[..., 0, :]) * np.eye(np.shape(w)[-1])
    live = live_columns(v_bar)
    if np.any(live):
        across = v_bar - v * row(np.sum(v * v_bar, axis=-2))  # the lengths stay 1
        inner = inner + gaps_once_more(w, z_bar, live) * matmul(transposed_of(v), across)
    return matmul(matmul(transposed_of(inv(v)), inner), transposed_of(v))


@real_spectrum.jvp
def real_spectrum_jvp(z, a_dot, a):
    return real_tangent(z, a_dot)


def real_tangent(z, a_dot):
    """The tangents of real eigenvalues and their eigenvectors."""
    w, v = z[..., 0, :], z[..., 1:, :]
    c = matmul(matmul(inv(v), a_dot), v)
    apart = taken_apart(w, c)
    free = matmul(v, np.where(apart, np.nan, reciprocal_gaps(w) * c))
    w_dot = once_differentiable(diagonal_of(c), apart, z)
    return np.concatenate([row(w_dot), free - v * row(np.sum(v * free, axis=-2))], axis=-2)


@implements(np.linalg.eig, layout="own")
def eig(a):
    """Eigenvalues and eigenvectors of a matrix whose eigenvalues are real."""
    a = as_array(a)
    check_square("eig", a)
    z = real_spectrum(a)
    return _EigResult(in_c_order(z[..., 0, :]), in_c_order(z[..., 1:, :]))


@implements(np.linalg.eigvals, layout="own")
def eigvals(a):
    """Eigenvalues of a matrix, if they are real."""
    return eig(a)[0]


# ---- singular values -------------------------------------------------------------------------------------------------
@array_rule(points=[(_A,), ([_A, _C],), (_TALL,), (_WIDE,), ([_TALL, [[0.4, 1.2], [2.1, -0.3], [0.6, 1.5]]],)])
def singular_spectrum(a):
    """u, then s as a row, then v, below each other, of a = u diag(s) v^T; as np.linalg.svd without full matrices.

        z = (u, s, v),  z_dot:  s_dot = diag(c),     c = u^T a_dot v,     f_ij = 1 / (s_j^2 - s_i^2), 0 for i = j
        u_dot = u (f (c s + s c^T)) + (1 - u u^T) a_dot v s^-1,   v_dot likewise
        a_bar = u ((f (u^T u_bar - u_bar^T u)) s + s (f (v^T v_bar - v_bar^T v)) + diag(s_bar)) v^T
                + (1 - u u^T) u_bar s^-1 v^T + u s^-1 v_bar^T (1 - v v^T)

    Shapes:  a (..., m, n) -> z (..., m + 1 + n, k) with k = min(m, n).
    Domain:  every a; vectors of equal singular values, and where m and n differ those of 0, have the derivative nan.
             So have second derivatives where values are equal, within 1e-13 of the largest one, and move apart.
    Raises:  LinAlgError if the iteration fails, or if a is not finite.
    Cost:    O(m n k) forward and reverse; saves nothing.
    Ref:     Giles (2008), section 2.3.4; Townsend (2016).

    >>> singular_spectrum(np.array([[0.0, 2.0], [3.0, 0.0]]))[2]
    array([3., 2.])
    """
    check_finite(a)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, s[..., None, :], np.swapaxes(vh, -1, -2)], axis=-2)


@singular_spectrum.vjp("a")
def singular_spectrum_vjp_a(z, z_bar, a):
    return singular_cotangent(z, z_bar, np.shape(a))


def singular_cotangent(z, z_bar, shape):
    """The cotangent of a matrix, from those of its singular vectors and values."""
    m = shape[-2]
    u, s, v = z[..., :m, :], z[..., m, :], z[..., m + 1 :, :]
    u_bar, v_bar = z_bar[..., :m, :], z_bar[..., m + 1 :, :]
    inner = row(z_bar[..., m, :]) * np.eye(np.shape(s)[-1])
    live = live_columns(u_bar) | live_columns(v_bar)
    if not np.any(live):
        return matmul(matmul(u, inner), transposed_of(v))
    f = gaps_once_more(s * s, z_bar, live)
    left, right = matmul(transposed_of(u), u_bar), matmul(transposed_of(v), v_bar)
    inner = inner + f * (left - transposed_of(left)) * row(s) + column(s) * f * (right - transposed_of(right))
    a_bar = matmul(matmul(u, inner), transposed_of(v))
    if shape[-2] != shape[-1]:
        r = row(reciprocal_values(s, live))
        a_bar = a_bar + matmul((u_bar - matmul(u, left)) * r, transposed_of(v))
        a_bar = a_bar + matmul(u * r, transposed_of(v_bar - matmul(v, right)))
    return a_bar


@singular_spectrum.jvp
def singular_spectrum_jvp(z, a_dot, a):
    return singular_tangent(z, a_dot, np.shape(a))


def singular_tangent(z, a_dot, shape):
    """The tangents of singular vectors and values."""
    m = shape[-2]
    u, s, v = z[..., :m, :], z[..., m, :], z[..., m + 1 :, :]
    forth, back = matmul(a_dot, v), matmul(transposed_of(a_dot), u)
    c = matmul(transposed_of(u), forth)
    apart, ct = taken_apart(s, c), transposed_of(c)
    f = np.where(apart, np.nan, reciprocal_gaps(s * s))
    u_dot = matmul(u, f * (c * row(s) + column(s) * ct))
    v_dot = matmul(v, f * (column(s) * c + ct * row(s)))
    if shape[-2] != shape[-1]:
        r = row(reciprocal_values(s))
        u_dot = u_dot + (forth - matmul(u, c)) * r
        v_dot = v_dot + (back - matmul(v, ct)) * r
    return np.concatenate([u_dot, row(once_differentiable(diagonal_of(c), apart, z)), v_dot], axis=-2)


def reciprocal_values(s, live=True):
    """1 / s; where s is 0, nan, or 0 where no derivative of its vectors is `live`."""
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
        return in_c_order(z[..., m, :])
    return _SVDResult(*map(in_c_order, (z[..., :m, :], z[..., m, :], transposed_of(z[..., m + 1 :, :]))))


@implements(np.linalg.svdvals, layout="own")
def svdvals(x, /):
    """Singular values, from the largest to the smallest."""
    return svd(x, compute_uv=False)
