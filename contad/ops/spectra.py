"""Eigenvalues and eigenvectors, singular values and vectors.

A decomposition is one rule whose value is one matrix: the eigenvalues or singular values are its first row (or the row
below u), and the vectors its other rows. The results of NumPy's functions are views of it.

A derivative is nan if gaps of values leave less than six digits of it, relative to the size of the whole derivative.
A tangent has these digits if it does not rotate close vectors into each other; a cotangent holds for every direction.
"""

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import linalg
from contad.ops.close_singular_values import UNSIGNED, along_matrix, are_moved, free_zeros, is_singular_right
from contad.ops.close_values import (
    CLOSE,
    DOUBLE,
    LEAST,
    NEAR,
    along_direction,
    are_lost,
    column_sizes,
    has_close,
    is_first_right,
    lose_uneven,
    part_equal,
)
from contad.ops.cotangents import all_finite, plain
from contad.ops.linear_systems import check_square, in_c_order, inv, transposed_of
from contad.ops.products import as_array, matmul
from contad.ops.triangular_factors import onto_triangle, symmetrise
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.dual import ArrayDual, array_dual
from contad.variables.number import Carrier

_quiet = np.errstate(all="ignore")  # results of division by 0 or overflow are set to nan on purpose
_S, _T = [[4.3, 0.6, -0.8], [0.6, 1.9, 0.5], [-0.8, 0.5, 2.6]], [[2.2, -0.7, 0.3], [-0.7, 3.9, 0.4], [0.3, 0.4, 1.1]]
_A, _C = [[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]], [[2.2, -0.7, 0.3], [-0.2, 3.9, 0.4], [0.5, 0.1, 1.1]]
_TALL, _THIN = [[1.3, -0.7], [0.4, 1.9], [-1.1, 0.8]], [[0.4, 1.2], [2.1, -0.3], [0.6, 1.5]]
_WIDE = [[1.3, 0.4, -1.1], [-0.7, 1.9, 0.8]]


# ---- common parts of eigenvectors and singular vectors ---------------------------------------------------------------
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
    """1 / (w_j - w_i) in row i and column j, and 0 where i = j.

    If the gap is 0, the vectors have no derivative: nan, or 0 if no derivative of either vector is `live`.

    >>> reciprocal_gaps(np.array([1.0, 3.0, 3.0]), np.array([True, False, False]))
    array([[ 0. ,  0.5,  0.5],
           [-0.5,  0. ,  0. ],
           [-0.5,  0. ,  0. ]])
    """
    return reciprocals(row(w) - column(w), w, live)


def reciprocals(x, w, live):
    """1 / x with a zero diagonal, for x of all pairs of w; zeros as in `reciprocal_gaps`."""
    same = np.eye(np.shape(w)[-1], dtype=bool)
    zero = (plain(x) == 0.0) & ~same
    if isinstance(x, Carrier):  # its derivatives contain squares, which must not overflow
        most = np.max(np.abs(plain(w)), axis=-1, initial=0.0)[..., None, None]
        unit = np.exp2(np.round(np.log2(np.where(most > 0.0, most, 1.0))))
        found = 1.0 / np.where(same | zero, 1.0, x / unit) / unit
    else:
        found = 1.0 / np.where(same | zero, 1.0, x)
    if not np.any(zero):
        return np.where(same, 0.0, found)
    lost = zero & (row(live) | column(live)) if live is not True else zero
    return np.where(lost, np.nan, np.where(same | zero, 0.0, found))


def taken_apart(w, c, z):
    """The near pairs of values that c separates: their vectors rotate too fast to leave six digits of other terms."""
    w, c, again = plain(w), plain(c), isinstance(z, Carrier)
    lost = np.zeros(c.shape, dtype=bool)
    if has_close(w, 2.0 * LEAST, 1.0 if again else 0.0):
        for k in np.ndindex(w.shape[:-1]):
            lost[k] = are_lost(w[k], c[k], again)
    return lost


def once_or_nan(rates, x, w, z):
    """The divisor x, for values or pairs; nan for small x if z is differentiated again, because that divides by x^2."""
    if not isinstance(z, Carrier):
        return rates
    most, of_pairs = np.max(np.abs(plain(w)), axis=-1, keepdims=True, initial=0.0), np.ndim(x) > np.ndim(w)
    small = np.abs(plain(x)) <= CLOSE * np.maximum(column(most) if of_pairs else most, 1.0)
    return np.where(small & ~np.eye(np.shape(w)[-1], dtype=bool) if of_pairs else small, np.nan, rates)


def once_differentiable(w_dot, apart, z):
    """w_dot; if z is differentiated again, nan for values that are separated, because their vectors jump."""
    if isinstance(z, Carrier) and np.any(apart):
        return w_dot * np.where(np.any(apart, axis=-1), np.nan, 1.0)
    return w_dot


def live_columns(v_bar):
    """For each column whether its cotangent matters: it is not zero, or carries a derivative of an outer level."""
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
@array_rule(dtypes=DOUBLE, points=[(_S,), ([_S, _T],), (_S, {"upper": True}), ([[2.3]],)])
def symmetric_spectrum(a, *, upper=False):
    """Eigenvalues (in the first row) and eigenvectors (below, as columns) of a symmetric matrix; like np.linalg.eigh.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c),     c = v^T a_dot v
        a_bar = v (diag(w_bar) + f (v^T v_bar)) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j

    a_bar belongs to the symmetric a; one triangle is read, and gets the sum of both (zeros in the other).

    Shapes:  a (..., n, n) -> z (..., n + 1, n).
    Domain:  every symmetric a; eigenvectors of equal eigenvalues have the derivative nan. Functions that treat equal
             eigenvalues (within 1e-13 of the largest) alike have first derivatives; for plain functions also second
             ones by hvp, hessian and the jvp of a gradient, otherwise nan. Tangents are those in the basis in which c
             is diagonal among equal eigenvalues.
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


@_quiet
def symmetric_cotangent(z, z_bar, a, upper):
    """The cotangent of a symmetric matrix, of which only one triangle is read."""
    w, v, v_bar = z[..., 0, :], z[..., 1:, :], z_bar[..., 1:, :]
    if isinstance(z, ArrayDual) and has_close(plain(w), CLOSE, 1.0) and of_plain_parts(z, z_bar, a):
        return cotangent_of_close(z, z_bar, a, upper)
    live = live_columns(v_bar)
    inner = row(z_bar[..., 0, :]) * np.eye(np.shape(w)[-1])
    if np.any(live):
        inner = inner + reciprocal_gaps(w, live) * matmul(transposed_of(v), v_bar)
    inner = right_or_nan(inner, w, v, z_bar[..., 0, :], v_bar)
    return onto_triangle(0.5 * around(v, inner + transposed_of(inner)), upper)


def right_or_nan(inner, w, v, w_bar, v_bar):
    """The cotangent in the basis of vectors; nan if gaps of w leave less than six digits of it or its derivative."""
    again = isinstance(w, Carrier)
    if not has_close(plain(w), CLOSE if again else 2.0 * LEAST, 1.0):
        return inner
    w, v, w_bar, v_bar = map(plain, (w, v, w_bar, v_bar))
    right = np.ones((*w.shape[:-1], 1, 1), dtype=bool)
    for k in np.ndindex(w.shape[:-1]):
        right[k] = is_first_right(w[k], v[k].T @ v_bar[k], w_bar[k], column_sizes(v_bar[k]), again)
    return inner if np.all(right) else np.where(right, inner, np.nan)


def cotangent_of_close(z, z_bar, a, upper):
    """symmetric_cotangent for duals of numbers with close values: by formulas without the gaps that do not matter.

    The eigenvectors of equal eigenvalues are an arbitrary basis. The derivative of the cotangent along a_dot is that in
    the basis in which v^T a_dot v is diagonal among them; they change by its diagonal.
    """
    value, *tangents = dual_parts(z)
    bars = dual_parts(z_bar) if isinstance(z_bar, ArrayDual) else [z_bar] + [0.0 * z_bar for _ in tangents]
    found = [lose_uneven(symmetric_cotangent(value, bars[0], None, upper), *(x[..., 0, :] for x in (value, *bars)))]
    for a_dot, bar in zip(dual_parts(a)[1:], bars[1:], strict=True):
        moved = np.zeros(np.shape(a_dot))
        for k in np.ndindex(moved.shape[:-2]):
            moved[k] = along_direction(value[k], bars[0][k], bar[k], symmetrise(a_dot[k], upper))
        found.append(onto_triangle(moved, upper))
    return array_dual(z._owner, found[0], found[1:])


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


@_quiet
def symmetric_tangent(z, a_dot, upper):
    """The tangents of eigenvalues and eigenvectors of a symmetric matrix."""
    w, v = z[..., 0, :], z[..., 1:, :]
    c = matmul(matmul(transposed_of(v), symmetrise(a_dot, upper)), v)
    c = 0.5 * (c + transposed_of(c))  # exactly symmetric, so that rotations of near ones cancel
    apart = taken_apart(w, c, z)
    turned = np.where(apart, np.nan, once_or_nan(reciprocal_gaps(w), row(w) - column(w), w, z) * c)
    return np.concatenate([row(parted_values(z, w, c, apart, 1.0)), matmul(v, turned)], axis=-2)


def parted_values(z, w, c, apart, order):
    """The tangents of ordered values, diag(c) in the basis in which c is diagonal among equal ones.

    Those of close values that are separated are nan, and so are those of equal values if z is differentiated again.
    """
    w_dot = diagonal_of(c)
    if isinstance(z, Carrier) or isinstance(c, Carrier) or c.dtype == object:
        return once_differentiable(w_dot, apart, z)
    if has_close(w, NEAR):
        w_dot = w_dot.copy()
        for k in np.ndindex(w.shape[:-1]):
            _, r = part_equal(w[k], c[k], order)
            w_dot[k] = diagonal_of(r.T @ c[k] @ r)
    if not np.any(apart):
        return w_dot
    equal = np.abs(row(w) - column(w)) <= NEAR * np.max(np.abs(w), axis=-1, initial=0.0)[..., None, None]
    return np.where(np.any(apart & ~equal, axis=-1), np.nan, w_dot)


@array_rule(dtypes=DOUBLE, points=[(_S,), ([_S, _T],), (_S, {"upper": True}), ([[2.3]],)])
def robust_spectrum(a, *, upper=False, own_signs=False):
    """The same as symmetric_spectrum, by the algorithm of scipy.linalg.eigh.

    The largest element of each vector is positive, unless `own_signs` keeps LAPACK's signs, which may jump if a changes
    slightly.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c),     c = v^T a_dot v
        a_bar = v (diag(w_bar) + f (v^T v_bar)) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j

    Shapes:  a (..., n, n) -> z (..., n + 1, n).
    Domain:  like symmetric_spectrum; nan if the triangle that is read is not finite.
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
@array_rule(dtypes=DOUBLE, points=[(_A,), ([_A, _C],), ([[2.3]],)])
def real_spectrum(a):
    """Eigenvalues (in the first row) and eigenvectors (below) of a matrix with real eigenvalues; like np.linalg.eig.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c) - v diag(v^T v (f c)),     c = v^-1 a_dot v
        a_bar = v^-T (diag(w_bar) + f (v^T (v_bar - v diag(v^T v_bar)))) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j

    Shapes:  a (..., n, n) -> z (..., n + 1, n).
    Domain:  matrices with n eigenvectors and real eigenvalues. Eigenvectors have length 1; those of equal eigenvalues
             have the derivative nan. Second derivatives are nan if eigenvalues are equal, within 1e-13 of the largest,
             and separate.
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


@_quiet
def real_cotangent(z, z_bar):
    """The cotangent of a matrix with real eigenvalues."""
    w, v, v_bar = z[..., 0, :], z[..., 1:, :], z_bar[..., 1:, :]
    inner = row(z_bar[..., 0, :]) * np.eye(np.shape(w)[-1])
    live = live_columns(v_bar)
    if np.any(live):
        across = v_bar - v * row(np.sum(v * v_bar, axis=-2))  # the lengths stay 1
        inner = inner + reciprocal_gaps(w, live) * matmul(transposed_of(v), across)
    inner = right_or_nan(inner, w, v, z_bar[..., 0, :], v_bar)
    return matmul(matmul(transposed_of(inv(v)), inner), transposed_of(v))


@real_spectrum.jvp
def real_spectrum_jvp(z, a_dot, a):
    return real_tangent(z, a_dot)


@_quiet
def real_tangent(z, a_dot):
    """The tangents of real eigenvalues and their eigenvectors."""
    w, v = z[..., 0, :], z[..., 1:, :]
    c = matmul(matmul(inv(v), a_dot), v)
    apart = taken_apart(w, c, z)
    free = matmul(v, np.where(apart, np.nan, once_or_nan(reciprocal_gaps(w), row(w) - column(w), w, z) * c))
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
    u, s, v = z[..., :m, :], z[..., m, :], z[..., m + 1 :, :]
    u_bar, v_bar = z_bar[..., :m, :], z_bar[..., m + 1 :, :]
    inner = row(z_bar[..., m, :]) * np.eye(np.shape(s)[-1])
    live = live_columns(u_bar) | live_columns(v_bar)
    if not np.any(live):
        return matmul(matmul(u, singular_or_nan(inner, z, z_bar, shape)), transposed_of(v))
    left, right = matmul(transposed_of(u), u_bar), matmul(transposed_of(v), v_bar)
    turned, even = left - transposed_of(left), right - transposed_of(right)
    even, odd = 0.5 * (turned + even), 0.5 * (turned - even)
    inner = singular_or_nan(inner + reciprocal_gaps(s, live) * even + reciprocal_sums(s, live) * odd, z, z_bar, shape)
    a_bar = matmul(matmul(u, inner), transposed_of(v))
    if shape[-2] > shape[-1]:
        a_bar = a_bar + matmul((u_bar - matmul(u, left)) * row(reciprocal_values(s, live)), transposed_of(v))
    elif shape[-2] < shape[-1]:
        a_bar = a_bar + matmul(u * row(reciprocal_values(s, live)), transposed_of(v_bar - matmul(v, right)))
    return a_bar


def singular_or_nan(inner, z, z_bar, shape):
    """`right_or_nan` of singular vectors and values: inner is the cotangent in them."""
    m, again = shape[-2], isinstance(z, Carrier)
    z, z_bar = plain(z), plain(z_bar)
    if not is_close(z, shape, CLOSE if again else 2.0 * LEAST, 1.0):
        return inner
    right = np.ones((*z.shape[:-2], 1, 1), dtype=bool)
    for k in np.ndindex(z.shape[:-2]):
        u, s, v, u_bar, s_bar, v_bar = (x[k][part] for x in (z, z_bar) for part in (slice(m), m, slice(m + 1, None)))
        outside = column_sizes(u_bar if len(u) > len(v) else v_bar)[None][: shape[-2] != shape[-1]]
        right[k] = is_singular_right(s, u.T @ u_bar, v.T @ v_bar, outside, u_bar, s_bar, v_bar, again)
    return inner if np.all(right) else np.where(right, inner, np.nan)


def is_close(z, shape, share=CLOSE, least=0.0):
    """Whether gaps of singular values, or the values themselves, are below that fraction of the largest one or
    `least`."""
    s = plain(z)[..., shape[-2], :]
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
    u, s, v = z[..., :m, :], z[..., m, :], z[..., m + 1 :, :]
    forth, back = matmul(a_dot, v), matmul(transposed_of(a_dot), u)
    c = matmul(transposed_of(u), forth)
    ct = transposed_of(c)
    even, odd = 0.5 * (c + ct), 0.5 * (c - ct)
    apart = taken_apart(s, even, z)
    even = np.where(apart, np.nan, once_or_nan(reciprocal_gaps(s), row(s) - column(s), s, z)) * even
    odd = once_or_nan(singular_rates(s, odd), row(s) + column(s), s, z)
    u_dot, v_dot = matmul(u, even + odd), matmul(v, even - odd)
    if shape[-2] > shape[-1]:
        u_dot = u_dot + (forth - matmul(u, c)) * row(once_or_nan(rates_of_values(s, forth), s, s, z))
    elif shape[-2] < shape[-1]:
        v_dot = v_dot + (back - matmul(v, ct)) * row(once_or_nan(rates_of_values(s, back), s, s, z))
    s_dot = parted_values(z, s, 0.5 * (c + ct), apart, -1.0)
    values = plain(s)
    most = np.max(values, axis=-1, keepdims=True, initial=0.0)
    unsigned = (values > 0.0) & (values <= UNSIGNED * values.shape[-1] * most)
    if isinstance(z, Carrier):
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
        return in_c_order(z[..., m, :])
    return _SVDResult(*map(in_c_order, (z[..., :m, :], z[..., m, :], transposed_of(z[..., m + 1 :, :]))))


@implements(np.linalg.svdvals, layout="own")
def svdvals(x, /):
    """Singular values, from the largest to the smallest."""
    return svd(x, compute_uv=False)
