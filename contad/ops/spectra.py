"""Eigenvalues and eigenvectors.

A decomposition is one rule whose value is one matrix: the eigenvalues or singular values are its first row (or the row
below u), and the vectors its other rows. The results of NumPy's functions are views of it.

A derivative is nan if gaps of values leave less than six digits of it, relative to the size of the whole derivative.
A tangent has these digits if it does not rotate close vectors into each other; a cotangent holds for every direction.
"""

import numpy as np

from contad.ops._scipy import linalg
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
from contad.ops.cotangents import all_finite, carries, plain
from contad.ops.linear_systems import check_square, conj_of, conj_transposed_of, in_c_order, inv, real_of
from contad.ops.products import as_array, matmul
from contad.ops.triangular_factors import onto_triangle, symmetrise
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import ComplexResult, as_complex, is_complex
from contad.variables.dual import ArrayDual, array_dual

_quiet = np.errstate(all="ignore")  # results of division by 0 or overflow are set to nan on purpose
_S, _T = [[4.3, 0.6, -0.8], [0.6, 1.9, 0.5], [-0.8, 0.5, 2.6]], [[2.2, -0.7, 0.3], [-0.7, 3.9, 0.4], [0.3, 0.4, 1.1]]
_A, _C = [[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]], [[2.2, -0.7, 0.3], [-0.2, 3.9, 0.4], [0.5, 0.1, 1.1]]


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
    if carries(x):  # its derivatives contain squares, which must not overflow
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
    w, c, again = plain(w), plain(c), carries(z)
    lost = np.zeros(c.shape, dtype=bool)
    if has_close(w, 2.0 * LEAST, 1.0 if again else 0.0):
        for k in np.ndindex(w.shape[:-1]):
            lost[k] = are_lost(w[k], c[k], again)
    return lost


def once_or_nan(rates, x, w, z):
    """The divisor x, for values or pairs; nan for small x if z is differentiated again, because that divides by x^2."""
    if not carries(z):
        return rates
    most, of_pairs = np.max(np.abs(plain(w)), axis=-1, keepdims=True, initial=0.0), np.ndim(x) > np.ndim(w)
    small = np.abs(plain(x)) <= CLOSE * np.maximum(column(most) if of_pairs else most, 1.0)
    return np.where(small & ~np.eye(np.shape(w)[-1], dtype=bool) if of_pairs else small, np.nan, rates)


def once_differentiable(w_dot, apart, z):
    """w_dot; if z is differentiated again, nan for values that are separated, because their vectors jump."""
    if carries(z) and np.any(apart):
        return w_dot * np.where(np.any(apart, axis=-1), np.nan, 1.0)
    return w_dot


def live_columns(v_bar):
    """For each column whether its cotangent matters: it is not zero, or carries a derivative of an outer level."""
    if isinstance(v_bar, ArrayDual) and not any(map(carries, dual_parts(v_bar))):
        return np.any([live_columns(x) for x in dual_parts(v_bar)], axis=0)
    if carries(v_bar) or v_bar.dtype == object:
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


# ---- phases of complex vectors ---------------------------------------------------------------------------------------
def push_turned(v, free, place=None):
    """The tangents of complex vectors of which LAPACK makes the element in row `place`, or the largest one, real.

    `free` has any change of phase. Where the element is 0, the phase is kept. Real vectors have no phase.
    """
    if not is_complex(v):
        return free
    pivots = pivots_of(v, place)
    return free - 1j * v * row(np.imag(np.sum(free * pivots, axis=-2)))


def pull_turned(v, v_bar, place=None):
    """The cotangents of `free` in push_turned."""
    if not is_complex(v):
        return v_bar
    turned = np.imag(np.sum(conj_of(v_bar) * v, axis=-2))
    return v_bar + 1j * conj_of(pivots_of(v, place)) * row(turned)


def pivots_of(v, place):
    """1 / v in the row `place` of each column, or at the largest element; 0 elsewhere, and where v is 0 up to
    rounding."""
    values = plain(v)
    if not values.size:
        return v
    place = largest_places(values) if place is None else place
    at = np.zeros(values.shape, dtype=bool)
    places = np.broadcast_to(place, (*values.shape[:-2], 1, values.shape[-1])) % values.shape[-2]
    np.put_along_axis(at, places, True, -2)
    at &= np.abs(values) > 1e-13
    return np.where(at, 1.0 / np.where(at, v, 1.0), 0.0)


# ---- symmetric matrices ----------------------------------------------------------------------------------------------
@array_rule(dtypes=DOUBLE, points=[(_S,), ([_S, _T],), (_S, {"upper": True}), ([[2.3]],)])
def symmetric_spectrum(a, *, upper=False):
    """Eigenvalues (in the first row) and eigenvectors (below, as columns) of a symmetric matrix; like np.linalg.eigh.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c),     c = v^T a_dot v
        a_bar = v (diag(w_bar) + f (v^T v_bar)) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j

    a_bar belongs to the symmetric a; one triangle is read, and gets the sum of both (zeros in the other). A complex a
    is Hermitian, and ^T conjugates it; the first element of each vector (with `upper` the last one) is real.

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
    w, v, w_bar, v_bar = real_of(z[..., 0, :]), z[..., 1:, :], real_of(z_bar[..., 0, :]), z_bar[..., 1:, :]
    if isinstance(z, ArrayDual) and has_close(plain(w), CLOSE, 1.0) and of_plain_parts(z, z_bar, a):
        return cotangent_of_close(z, z_bar, a, upper)
    live = live_columns(v_bar)
    inner = row(w_bar) * np.eye(np.shape(w)[-1])
    if np.any(live):
        v_bar = pull_turned(v, v_bar, -1 if upper else 0)
        inner = inner + reciprocal_gaps(w, live) * matmul(conj_transposed_of(v), v_bar)
    inner = right_or_nan(inner, w, v, w_bar, v_bar)
    return onto_triangle(0.5 * around(v, inner + conj_transposed_of(inner)), upper)


def right_or_nan(inner, w, v, w_bar, v_bar):
    """The cotangent in the basis of vectors; nan if gaps of w leave less than six digits of it or its derivative."""
    again = carries(w)
    if not has_close(plain(w), CLOSE if again else 2.0 * LEAST, 1.0):
        return inner
    w, v, w_bar, v_bar = map(plain, (w, v, w_bar, v_bar))
    right = np.ones((*w.shape[:-1], 1, 1), dtype=bool)
    for k in np.ndindex(w.shape[:-1]):
        right[k] = is_first_right(w[k], v[k].conj().T @ v_bar[k], w_bar[k], column_sizes(v_bar[k]), again)
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
        carries(part) or np.asarray(part).dtype.kind == "O"
        for x in arrays
        for part in (dual_parts(x) if isinstance(x, ArrayDual) else [x])
    )


@symmetric_spectrum.jvp
def symmetric_spectrum_jvp(z, a_dot, a, *, upper=False):
    return symmetric_tangent(z, a_dot, upper)


@_quiet
def symmetric_tangent(z, a_dot, upper):
    """The tangents of eigenvalues and eigenvectors of a symmetric matrix."""
    w, v = real_of(z[..., 0, :]), z[..., 1:, :]
    c = matmul(matmul(conj_transposed_of(v), symmetrise(a_dot, upper)), v)
    c = 0.5 * (c + conj_transposed_of(c))  # exactly symmetric, so that rotations of near ones cancel
    apart = taken_apart(w, c, z)
    turned = np.where(apart, np.nan, once_or_nan(reciprocal_gaps(w), row(w) - column(w), w, z) * c)
    v_dot = push_turned(v, matmul(v, turned), -1 if upper else 0)
    return np.concatenate([row(parted_values(z, w, c, apart, 1.0)), v_dot], axis=-2)


def parted_values(z, w, c, apart, order):
    """The tangents of ordered values, diag(c) in the basis in which c is diagonal among equal ones.

    Those of close values that are separated are nan, and so are those of equal values if z is differentiated again.
    """
    w_dot = real_of(diagonal_of(c))
    if carries(z) or carries(c) or c.dtype == object:
        return once_differentiable(w_dot, apart, z)
    if has_close(w, NEAR):
        w_dot = w_dot.copy()
        for k in np.ndindex(w.shape[:-1]):
            _, r = part_equal(w[k], c[k], order)
            w_dot[k] = real_of(diagonal_of(r.conj().T @ c[k] @ r))
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
    z = np.full((*a.shape[:-2], a.shape[-1] + 1, a.shape[-1]), np.nan, a.dtype)
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
    """v c v^T, or v c v^H."""
    return matmul(matmul(v, c), conj_transposed_of(v))


_EighResult = type(np.linalg.eigh(np.eye(1)))
_EigResult = type(np.linalg.eig(np.eye(1)))


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
    return _EighResult(in_c_order(real_of(z[..., 0, :])), in_c_order(z[..., 1:, :]))


@implements(np.linalg.eigvalsh, layout="own")
def eigvalsh(a, UPLO="L"):
    """Eigenvalues of a symmetric matrix, from the smallest to the largest."""
    return eigh(a, UPLO)[0]


# ---- general matrices ------------------------------------------------------------------------------------------------
@array_rule(dtypes=DOUBLE, points=[(_A,), ([_A, _C],), ([[2.3]],)])
def real_spectrum(a):
    """Eigenvalues (in the first row) and eigenvectors (below) of a matrix; like np.linalg.eig.

        z = (w, v),  z_dot:  w_dot = diag(c),     v_dot = v (f c) - v diag(v^T v (f c)),     c = v^-1 a_dot v
        a_bar = v^-T (diag(w_bar) + f (v^T (v_bar - v diag(v^T v_bar)))) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j

    For a complex a, ^T conjugates, and v_bar and v_dot lose the part that turns the real element.

    Shapes:  a (..., n, n) -> z (..., n + 1, n).
    Domain:  matrices with n eigenvectors, whose eigenvalues are real if a is. Eigenvectors have length 1, and a real
             element, the largest; those of equal eigenvalues have the derivative nan. Second derivatives are nan if
             eigenvalues are equal, within 1e-13 of the largest, and separate.
    Raises:  ComplexResult if those of a real a are complex; LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse; saves nothing.
    Ref:     Giles (2008), section 2.3.3.

    >>> real_spectrum(np.array([[3.0, 0.0], [0.0, 2.0]]))
    array([[3., 2.],
           [1., 0.],
           [0., 1.]])
    """
    w, v = np.linalg.eig(a.real if a.dtype.kind == "c" and not np.any(a.imag) else a)
    z = np.concatenate([w[..., None, :], v], axis=-2)
    if np.iscomplexobj(z) and not np.iscomplexobj(a):
        if np.any(w.imag != 0.0):
            raise ComplexResult("np.linalg.eig: eigenvalues are complex; in the recorded example they were real")
        return z.real
    return z.astype(a.dtype, copy=False)


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
        across = v_bar - v * row(real_of(np.sum(conj_of(v) * v_bar, axis=-2)))  # the lengths stay 1
        across = pull_turned(v, across)
        inner = inner + conj_of(reciprocal_gaps(w, live)) * matmul(conj_transposed_of(v), across)
    inner = right_or_nan(inner, w, v, z_bar[..., 0, :], v_bar)
    return matmul(matmul(conj_transposed_of(inv(v)), inner), conj_transposed_of(v))


def largest_places(values):
    """The places of the elements that LAPACK makes real, the largest ones; where two are as large, of the real one."""
    return np.argmax(np.abs(values) * (1.0 + (np.imag(values) == 0.0)), axis=-2, keepdims=True)


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
    v_dot = free - v * row(real_of(np.sum(conj_of(v) * free, axis=-2)))
    return np.concatenate([row(w_dot), push_turned(v, v_dot)], axis=-2)


@implements(np.linalg.eig, layout="own")
def eig(a):
    """Eigenvalues and eigenvectors of a matrix; real ones, if the matrix and all its eigenvalues are real."""
    a = as_array(a)
    check_square("eig", a)
    try:
        z = real_spectrum(a)
    except ComplexResult:
        z = real_spectrum(as_complex(a))
    return _EigResult(in_c_order(z[..., 0, :]), in_c_order(z[..., 1:, :]))


@implements(np.linalg.eigvals, layout="own")
def eigvals(a):
    """Eigenvalues of a matrix."""
    return eig(a)[0]
