"""Formulas for the tangents of matrix functions: the reader reads each formula as a function, which is then inlined.

<name>(*operands and options, *results, *the tangents of the operands) -> the tangents of the results

The formulas follow the kernels: they read only one triangle where the kernels do. An option that is constant in the
call is constant here, so only one side of a branch on it is read. `again` says whether the tangents are differentiated
again.
"""

import numpy as np
from numba import njit

from contad.engines.source.ir.kink_functions import nowhere
from contad.kernels import spectral_kernels
from contad.kernels.rows.row_calls import ROW_CALLS
from contad.ops import determinants, log_sums
from contad.ops.close_values import NEAR
from contad.ops.orthogonal_factors import DEPENDENT
from contad.variables.open_types import ArrayValue, Real

Array = ArrayValue
_CALLED = "solve_triangular", "cho_solve", "solve_banded", "solveh_banded", "expm"
_solve_triangular, _cho_solve, _solve_banded, _solveh_banded, _expm = (ROW_CALLS[name].function for name in _CALLED)
_LEAST = 1e-14  # an rcond up to this drops only values that are rounding errors, and changes no tangent


def solve(a: Array, b: Array, z: Array, a_dot: Array, b_dot: Array) -> Array:
    """a^-1 (b_dot - a_dot z)"""
    return np.linalg.solve(a, b_dot - a_dot @ z)


def inv(a: Array, z: Array, a_dot: Array) -> Array:
    """-z a_dot z"""
    return -(z @ a_dot @ z)


def det(a: Array, z: Real, a_dot: Array) -> Real:
    """<c, a_dot>, c: the cofactors, as `cofactors` of `factor_kernels` has them"""
    n = a.shape[0]
    found = 0.0
    is_found = n <= 3
    if n == 1:
        found = a_dot[0, 0]
    elif n == 2:
        found = a_dot[0, 0] * a[1, 1] + a[0, 0] * a_dot[1, 1] - a_dot[0, 1] * a[1, 0] - a[0, 1] * a_dot[1, 0]
    elif n == 3:
        for i in range(3):
            for j in range(3):
                after, before, right, left = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                found += a_dot[i, j] * (a[after, right] * a[before, left] - a[after, left] * a[before, right])
    elif n > 3 and 1e-290 < abs(z) < 1e290:
        inverse = np.linalg.inv(a)
        if np.linalg.norm(a, 1) * np.linalg.norm(inverse, 1) < 1e8:
            is_found = True
            found = z * np.sum(inverse.T * a_dot)
    if not is_found:
        found = np.sum(determinants.singular_cofactors(a) * a_dot)
    return found


def singular_cofactors(a: Array, z: Array, a_dot: Array) -> Array:
    """u m v^T, m_ij = -e_ji p_ij, m_ii = sum_k e_kk p_ik, e = u^T a_dot v, p_ij: the product of the other values"""
    n = a.shape[0]
    u, s, vt = np.linalg.svd(a, False)
    sign = 1.0 if np.linalg.det(u) * np.linalg.det(vt) > 0.0 else -1.0
    e = u.T @ a_dot @ vt.T
    m = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                p = sign
                for k in range(n):
                    if k not in (i, j):
                        p *= s[k]
                m[i, j] = -p * e[j, i]
                m[i, i] += p * e[j, j]
    return u @ m @ vt


def slogdet(a: Array, sign: Real, log: Real, a_dot: Array) -> Real:
    """tr(a^-1 a_dot); nan where a is singular"""
    found = np.nan
    if log != -np.inf:
        found = np.sum(np.linalg.inv(a).T * a_dot)
    return found


@njit
def _along_factor(z: Array, inner: Array) -> Array:
    """z P(z^-1 a_dot z^-T), P: the lower triangle, diagonal halved"""
    n = z.shape[0]
    half = _solve_triangular(z, inner, lower=True, check_finite=False)
    whole = _solve_triangular(z, half.T, lower=True, check_finite=False)
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            lower[i, j] = whole[i, j]
        lower[i, i] = 0.5 * whole[i, i]
    return z @ lower


def cholesky(a: Array, z: Array, a_dot: Array) -> Array:
    """`_along_factor` for the lower triangle of a."""
    n = a.shape[0]
    inner = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            inner[i, j] = a_dot[i, j] if j <= i else a_dot[j, i]
    return _along_factor(z, inner)


@njit
def mark_near(values: Array, w: Array) -> None:
    """Set the tangents of values that are near others to nan, in place; their adjoints become nan, too.

    Such values have no derivative, whatever the direction.
    """
    n = w.shape[0]
    most = 0.0
    for i in range(n):
        most = max(most, abs(w[i]))
    for i in range(n):
        for j in range(n):
            if i != j and abs(w[j] - w[i]) <= NEAR * most:
                values[i] *= np.nan


def eigh(a: Array, w: Array, v: Array, a_dot: Array, again: bool) -> tuple[Array, Array]:
    """w_dot = diag(c), v_dot = v (f c) with c = v^T a_dot v, f_ij = 1 / (w_j - w_i)"""
    return spectral_kernels.eigh_along(a, a_dot, w, v, 1.0 if again else 0.0)


def eigvalsh(a: Array, w: Array, a_dot: Array, again: bool) -> Array:
    """diag(v^T a_dot v)"""
    _, v = np.linalg.eigh(a)
    values, _vectors = spectral_kernels.eigh_along(a, a_dot, w, v, 1.0 if again else 0.0)
    return values


def eigh_along(
    a: Array, b: Array, w: Array, v: Array, marks: Real, w_b: Array, v_b: Array, a_dot: Array, b_dot: Array
) -> tuple[Array, Array]:
    """The tangents of w_b = diag(c) and v_b = v (f c) with c = v^T b v, for third derivatives."""
    n = a.shape[0]
    s, t, t_dot = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            s[i, j] = a_dot[i, j] if j <= i else a_dot[j, i]
            t[i, j] = b[i, j] if j <= i else b[j, i]
            t_dot[i, j] = b_dot[i, j] if j <= i else b_dot[j, i]
    c, e = v.T @ s @ v, v.T @ t @ v
    turn = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                turn[i, j] = c[i, j] / (w[j] - w[i])
    e_dot = v.T @ t_dot @ v + e @ turn - turn @ e
    values = np.empty(n)
    turned, along = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        values[i] = e_dot[i, i]
        for j in range(n):
            if i != j:
                turned[i, j] = e[i, j] / (w[j] - w[i])
                along[i, j] = (e_dot[i, j] - turned[i, j] * (c[j, j] - c[i, i])) / (w[j] - w[i])
    vectors = v @ (turn @ turned + along)
    mark_near(values, w)
    return values, vectors


def eig(a: Array, w: Array, v: Array, a_dot: Array, again: bool) -> tuple[Array, Array]:
    """w_dot = diag(c), v_dot = x - v diag(v^T x) with x = v (f c), c = v^-1 a_dot v, f_ij = 1 / (w_j - w_i)"""
    n = a.shape[0]
    c = np.linalg.solve(v, a_dot @ v)
    values = np.empty(n)
    turned = np.zeros((n, n))
    for i in range(n):
        values[i] = c[i, i]
        for j in range(n):
            if i != j:
                turned[i, j] = c[i, j] / (w[j] - w[i])
    free = v @ turned
    vectors = np.empty((n, n))
    for j in range(n):
        along = 0.0
        for i in range(n):
            along += v[i, j] * free[i, j]
        for i in range(n):
            vectors[i, j] = free[i, j] - v[i, j] * along
    if again:
        mark_near(values, w)
    return values, vectors


eigvals = eig


def svd(a: Array, u: Array, s: Array, vt: Array, a_dot: Array, again: bool) -> tuple[Array, Array, Array]:
    """s_dot = diag(c), u_dot and vt_dot as `svd_tangent` of `spectral_kernels` has them, with c = u^T a_dot v"""
    return spectral_kernels.svd_along(a, a_dot, u, s, vt, 1.0 if again else 0.0)


def svd_along(
    a: Array, b: Array, u: Array, s: Array, vt: Array, marks: Real, u_b: Array, s_b: Array, vt_b: Array,
    a_dot: Array, b_dot: Array,
) -> tuple[Array, Array, Array]:
    """The tangents of the results of `svd` along b, for third derivatives."""
    (m, k), n = u.shape, vt.shape[1]
    u_dot, s_dot, vt_dot = spectral_kernels.svd_along(a, a_dot, u, s, vt, 1.0)
    v, v_dot = vt.T, vt_dot.T
    forth, back = b @ v, b.T @ u
    forth_dot, back_dot = b_dot @ v + b @ v_dot, b_dot.T @ u + b.T @ u_dot
    c, c_dot = u.T @ forth, u_dot.T @ forth + u.T @ forth_dot
    values = np.empty(k)
    left, right = np.zeros((k, k)), np.zeros((k, k))
    left_dot, right_dot = np.zeros((k, k)), np.zeros((k, k))
    for i in range(k):
        values[i] = c_dot[i, i]
        for j in range(k):
            if i != j:
                gap, total = s[j] - s[i], s[j] + s[i]
                even, odd = 0.5 * (c[i, j] + c[j, i]) / gap, 0.5 * (c[i, j] - c[j, i]) / total
                even_dot = (0.5 * (c_dot[i, j] + c_dot[j, i]) - even * (s_dot[j] - s_dot[i])) / gap
                odd_dot = (0.5 * (c_dot[i, j] - c_dot[j, i]) - odd * (s_dot[j] + s_dot[i])) / total
                left[i, j], right[i, j] = even + odd, even - odd
                left_dot[i, j], right_dot[i, j] = even_dot + odd_dot, even_dot - odd_dot
    u_found, v_found = u_dot @ left + u @ left_dot, v_dot @ right + v @ right_dot
    if m > k:
        u_found += (forth_dot - u_dot @ c - u @ c_dot - (forth - u @ c) / s * s_dot) / s
    if n > k:
        v_found += (back_dot - v_dot @ c.T - v @ c_dot.T - (back - v @ c.T) / s * s_dot) / s
    mark_near(values, s)
    return u_found, values, v_found.T


def qr(a: Array, q: Array, r: Array, a_dot: Array) -> tuple[Array, Array]:
    """q_dot = x - q (c - w), r_dot = (c - w) r with x = a_dot r^-1, c = q^T x, w = l - l^T, l: the strict lower
    triangle of c. For a wide matrix, r continues with q^T times the columns after the square part.
    """
    (m, k), n = q.shape, r.shape[1]
    square = np.empty((k, k))
    for j in range(k):
        most = 0.0
        for i in range(k):
            square[i, j] = r[i, j]
            most = max(most, abs(r[i, j]))
        if abs(r[j, j]) <= DEPENDENT * m * most:
            square[j, j] = np.nan
    x = _solve_triangular(square, a_dot[:, :k].T, trans=1, check_finite=False).T
    c = q.T @ x
    turned = np.zeros((k, k))
    for i in range(k):
        for j in range(i, k):
            turned[i, j] = c[i, j] + (c[j, i] if j > i else 0.0)
    q_dot = x - q @ turned
    r_dot = turned @ r
    if n > k:
        rest = q_dot.T @ a[:, k:].copy() + q.T @ a_dot[:, k:].copy()
        for i in range(k):
            for j in range(k, n):
                r_dot[i, j] = rest[i, j - k]
    return q_dot, r_dot


@njit
def along_kept(a: Array, rcond: Real, a_dot: Array) -> Array:
    """The tangent of the part of a that rcond keeps: see `along_kept` of `contad.ops.truncated_spectra`"""
    m, n = a.shape
    k = min(m, n)
    e = a_dot.copy()
    rounding = 2.0**-52 * max(m, n)
    if rcond > rounding:
        u, s, vt = np.linalg.svd(a, False)
        kept, whole = 0, 0
        for i in range(k):
            kept += 1 if s[i] > rcond * s[0] else 0
            whole += 1 if s[i] > rounding * s[0] else 0
        if kept < whole:
            left, right = u[:, :kept].copy(), vt[:kept].copy()
            rows = left @ (left.T @ a_dot)
            c = (u.T @ a_dot) @ vt.T
            inner = np.zeros((k, k))
            for i in range(kept):
                for j in range(kept, k):
                    f = 1.0 / (s[i] * s[i] - s[j] * s[j])
                    inner[i, j] = f * (s[j] * s[j] * c[i, j] + s[i] * s[j] * c[j, i])
                    inner[j, i] = f * (s[j] * s[j] * c[j, i] + s[i] * s[j] * c[i, j])
            total = rows + ((a_dot - rows) @ right.T) @ right + (u @ inner) @ vt
            for i in range(m):
                for j in range(n):
                    e[i, j] = total[i, j]
    return e


def pinv(a: Array, rcond: Real, z: Array, a_dot: Array) -> Array:
    """-z e z + z z^T e^T (1 - a z) + (1 - z a) e^T z^T z, e: the tangent of what rcond keeps of a"""
    m, n = a.shape
    e = a_dot if rcond <= _LEAST else along_kept(a, rcond, a_dot)
    rank = np.sum(z.T * a)
    made = -(z @ e @ z)
    if rank < m - 0.5:  # else the sum of squares is 0, and so is its derivative
        left, inside, over = z @ (z.T @ e.T), a, z
        if rank > n - 0.5:  # QR factors keep more digits when this is differentiated again
            inside = np.linalg.qr(a)[0].copy()
            over = inside.T.copy()
        made += left - (left @ inside) @ over
    if rank < n - 0.5:
        right, inside, over = (e.T @ z.T) @ z, z, a
        if rank > m - 0.5:
            inside = np.linalg.qr(a.T)[0].copy()
            over = inside.T.copy()
        made += right - inside @ (over @ right)
    return made


def lstsq(
    a: Array, b: Array, rcond: Real, x: Array, squares: Array, s: Array, rank: int, a_dot: Array, b_dot: Array
) -> tuple[Array, Array, Array]:
    """x_dot = z (b_dot - e x) + z z^T e^T (b - a x) + (1 - z a) e^T z^T x, z: the pseudoinverse, e: the tangent of the
    part of a that rcond keeps

    The tangent of the sum of squares is 2 (b - a x) (b_dot - a_dot x); that of singular values is as in `svd`.
    """
    e = a_dot if rcond <= _LEAST else along_kept(a, rcond, a_dot)
    z = np.linalg.pinv(a, rcond if rcond >= 0.0 else 2.0**-52)
    rest = b - a @ x
    outside = e.T @ (z.T @ x)
    x_dot = z @ (b_dot - e @ x)
    if rank < a.shape[0]:
        x_dot += z @ (z.T @ (e.T @ rest))
    if rank < a.shape[1]:
        x_dot += outside - z @ (a @ outside)
    if b.ndim == 1:
        squares_dot = np.empty(1)
        squares_dot[0] = 2.0 * np.sum(rest * (b_dot - a_dot @ x))
    else:
        squares_dot = 2.0 * np.sum(rest * (b_dot - a_dot @ x), axis=0)
    u, found, vt = np.linalg.svd(a, False)
    _left, values, _right = spectral_kernels.svd_along(a, a_dot, u, found, vt, 0.0)
    return x_dot, squares_dot, values


def norm(a: Array, z: Real, a_dot: Array) -> Real:
    """tr(a^T a_dot) / z, and 0 at the kink"""
    found = 0.0
    if z != 0.0:
        found = np.sum(a * a_dot) / z
    return found


def norm_on_line(a: Array, z: Real, a_dot: Array, in_lanes: bool) -> tuple[Real, Real]:
    """The norm and its tangent, as in `norm`; at the kink u a and u a_dot with u = a_dot / |a_dot|, unless a_dot is 0

    If tangents have lanes, the tangent at the kink is nan.
    """
    length = z
    if z != 0.0:
        found = np.sum(a * a_dot) / z
    elif in_lanes:
        length = np.sum(nowhere(a))
        found = np.sum(a_dot) * np.nan
    else:
        found = np.linalg.norm(a_dot)
        if found != 0.0:
            length = np.sum(a * (a_dot / found))
        else:
            length = np.sum(nowhere(a))
            found = np.sum(nowhere(a_dot))
    return length, found


def solve_triangular(
    a: Array, b: Array, trans: bool, lower: bool, unit: bool, finite: bool, z: Array, a_dot: Array, b_dot: Array
) -> Array:
    """a^-1 (b_dot - a_dot z), of a triangle, or a^-T (b_dot - a_dot^T z)"""
    n = a.shape[0]
    own = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if (j < i and lower) or (j > i and not lower) or (j == i and not unit):
                if trans:
                    own[j, i] = a_dot[i, j]
                else:
                    own[i, j] = a_dot[i, j]
    rest = b_dot - own @ z
    return _solve_triangular(a, rest, trans=trans, lower=lower, unit_diagonal=unit, check_finite=False)


def cho_factor(a: Array, lower: bool, finite: bool, z: Array, a_dot: Array) -> Array:
    """As `cholesky`, for one triangle; the other triangle of the result is that of a."""
    n = a.shape[0]
    factor, inner = np.zeros((n, n)), np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            factor[i, j] = z[i, j] if lower else z[j, i]
            inner[i, j] = a_dot[i, j] if lower else a_dot[j, i]
            inner[j, i] = inner[i, j]
    made = _along_factor(factor, inner)
    z_dot = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            if i == j or (j < i) == lower:
                z_dot[i, j] = made[i, j] if lower else made[j, i]
            else:
                z_dot[i, j] = a_dot[i, j]
    return z_dot


def cho_solve(c: Array, b: Array, lower: bool, finite: bool, z: Array, c_dot: Array, b_dot: Array) -> Array:
    """a^-1 (b_dot - a_dot z) with a = l l^T"""
    n = c.shape[0]
    factor, factor_dot = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            factor[i, j] = c[i, j] if lower else c[j, i]
            factor_dot[i, j] = c_dot[i, j] if lower else c_dot[j, i]
    moved = factor_dot @ (factor.T @ z) + factor @ (factor_dot.T @ z)
    return _cho_solve((c, lower), b_dot - moved, check_finite=False)


def solve_banded(
    ab: Array, b: Array, below: int, above: int, finite: bool, z: Array, ab_dot: Array, b_dot: Array
) -> Array:
    """a^-1 (b_dot - a_dot z) for a band"""
    n = z.shape[0]
    rest = b_dot.copy()
    for d in range(below + above + 1):
        for j in range(max(0, above - d), min(n, n + above - d)):
            if z.ndim == 1:
                rest[j + d - above] -= ab_dot[d, j] * z[j]
            else:
                for k in range(z.shape[1]):
                    rest[j + d - above, k] -= ab_dot[d, j] * z[j, k]
    return _solve_banded((below, above), ab, rest, check_finite=False)


def solveh_banded(ab: Array, b: Array, lower: bool, finite: bool, z: Array, ab_dot: Array, b_dot: Array) -> Array:
    """As `solve_banded`, for a positive definite band given by one half."""
    width, n = ab.shape
    rest = b_dot.copy()
    for d in range(width):
        for j in range(n - d):
            of_a = ab_dot[d, j] if lower else ab_dot[width - 1 - d, j + d]
            if z.ndim == 1:
                rest[j + d] -= of_a * z[j]
                if d > 0:
                    rest[j] -= of_a * z[j + d]
            else:
                for k in range(z.shape[1]):
                    rest[j + d, k] -= of_a * z[j, k]
                    if d > 0:
                        rest[j, k] -= of_a * z[j + d, k]
    return _solveh_banded(ab, rest, lower=lower, check_finite=False)


def expm(a: Array, z: Array, a_dot: Array) -> Array:
    """The upper corner of exp((a, a_dot), (0, a))"""
    n = a.shape[0]
    both = np.zeros((2 * n, 2 * n))
    for i in range(n):
        for j in range(n):
            both[i, j] = a[i, j]
            both[n + i, n + j] = a[i, j]
            both[i, n + j] = a_dot[i, j]
    whole = _expm(both)
    corner = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            corner[i, j] = whole[i, n + j]
    return corner


def logsumexp(a: Array, z: Real, a_dot: Array) -> Real:
    """sum(softmax(a) a_dot)"""
    return np.sum(log_sums.softmax(a) * a_dot)


def softmax(a: Array, z: Array, a_dot: Array) -> Array:
    """z (a_dot - sum(z a_dot))"""
    return z * (a_dot - np.sum(z * a_dot))


def logsumexp_along(a: Array, axis: int, z: Array, a_dot: Array) -> Array:
    """As `logsumexp`, along columns or rows."""
    return np.sum(log_sums.softmax(a, axis=axis) * a_dot, axis=axis)


def softmax_along(a: Array, axis: int, z: Array, a_dot: Array) -> Array:
    """As `softmax`, along columns or rows."""
    m, n = z.shape
    found = np.empty((m, n))
    for k in range(n if axis == 0 else m):
        total = 0.0
        for i in range(m if axis == 0 else n):
            total += z[i, k] * a_dot[i, k] if axis == 0 else z[k, i] * a_dot[k, i]
        for i in range(m if axis == 0 else n):
            if axis == 0:
                found[i, k] = z[i, k] * (a_dot[i, k] - total)
            else:
                found[k, i] = z[k, i] * (a_dot[k, i] - total)
    return found
