"""Eigenvalues, singular values, QR factors and pseudoinverses in compiled code: adjoints and tangents.

The rules are those of `contad.ops.spectra` and `orthogonal_factors`, for one matrix in C order. Where singular values
or eigenvalues are close, `contad.ops.close_values` decides between a number and nan.
"""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.kernels.close_spectra import (
    are_close,
    are_lost,
    are_uneven,
    column_sizes,
    double_values,
    is_first_right,
    is_singular_right,
    largest_in,
    largest_of,
    one_or_nan,
    part_equal,
    second_of_doubles,
    second_of_pairs,
)
from contad.kernels.matrix_loops import (
    add,
    add_into,
    add_scaled,
    copy_lower,
    copy_upper,
    dot,
    in_order,
    is_zero,
    mirror_lower,
    onto_lower,
    scale_columns,
    subtract,
    take_block,
    turn,
)
from contad.kernels.products_in_place import add_product, is_in_place, solve_from_right
from contad.kernels.small_systems import invert
from contad.ops.close_singular_values import UNSIGNED
from contad.ops.close_values import LEAST, NEAR
from contad.ops.orthogonal_factors import DEPENDENT


@in_machine_code
def _divide_by_gaps(c, w, live):  # type: ignore[no-untyped-def]
    """c_ij / (w_j - w_i) and a zero diagonal, in place; for equal w nan if vector i or j is live, else 0."""
    n = w.size
    for i in range(n):
        for j in range(n):
            if i == j:
                c[i, j] = 0.0
            elif w[i] == w[j]:
                c[i, j] = np.nan if live[i] or live[j] else 0.0
            else:
                c[i, j] /= w[j] - w[i]


@in_machine_code
def _divide_by_sums(c, s, live):  # type: ignore[no-untyped-def]
    """c_ij / (s_j + s_i) and a zero diagonal, in place; for sums of 0 nan if vector i or j is live, else 0."""
    n = s.size
    for i in range(n):
        for j in range(n):
            if i == j:
                c[i, j] = 0.0
            elif s[i] + s[j] == 0.0:
                c[i, j] = np.nan if live[i] or live[j] else 0.0
            else:
                c[i, j] /= s[j] + s[i]


@in_machine_code
def _parted_values(w, c, order):  # type: ignore[no-untyped-def]
    """The tangents of ordered values, as `parted_values` of `contad.ops.spectra`; nan in c of pairs that turn fast."""
    w_dot = _diagonal(c)
    if are_close(w):
        lost = are_lost(w, c)
        equal, r = part_equal(w, c, order)
        parted = _diagonal(dot(dot(turn(r), c), r))
        for i in range(w.size):
            w_dot[i] = parted[i]
            for j in range(w.size):
                if lost[i, j]:
                    c[i, j] = np.nan
                    if equal[i] != equal[j]:
                        w_dot[i] = np.nan
    return w_dot


@in_machine_code
def _live_columns(v_bar):  # type: ignore[no-untyped-def]
    live = np.zeros(v_bar.shape[1], np.bool_)
    for i in range(v_bar.shape[0]):
        for j in range(v_bar.shape[1]):
            if v_bar[i, j] != 0.0:
                live[j] = True
    return live


@in_machine_code
def _diagonal(c):  # type: ignore[no-untyped-def]
    made = np.empty(min(c.shape))
    for i in range(made.size):
        made[i] = c[i, i]
    return made


@in_machine_code
def _reciprocals(s, live):  # type: ignore[no-untyped-def]
    """1 / s; if s is 0, nan for a live vector and 0 for others."""
    made = np.empty(s.size)
    for i in range(s.size):
        made[i] = 1.0 / s[i] if s[i] != 0.0 else np.nan if live[i] else 0.0
    return made


# ---- symmetric matrices ----------------------------------------------------------------------------------------------
@in_machine_code
def add_eigh(w_bar, v_bar, w, v, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += v (diag(w_bar) + f (v^T v_bar)) v^T on the lower triangle, f_ij = 1 / (w_j - w_i)"""
    inner = np.zeros(v.shape)
    right = True
    if not is_zero(v_bar):
        inner = dot(turn(v), v_bar)
        right = _is_right(w, inner, w_bar, v_bar)
        _divide_by_gaps(inner, w, _live_columns(v_bar))
    elif are_close(w):
        right = is_first_right(w, inner, w_bar, np.zeros(w.size), 0)
    inner = add(inner, turn(inner))
    for i in range(w.size):
        inner[i, i] = 2.0 * w_bar[i]
    add_scaled(a_bar, 0, 0, 0.5 if right else np.nan, onto_lower(dot(dot(v, inner), turn(v))))


@in_machine_code
def _is_right(w, p, w_bar, v_bar):  # type: ignore[no-untyped-def]
    """Whether the cotangent in vectors has six digits left."""
    return not are_close(w) or is_first_right(w, p, w_bar, column_sizes(v_bar), 0)


@in_machine_code
def eigh_tangent(w, v, a_dot):  # type: ignore[no-untyped-def]
    """(w_dot, v_dot)"""
    c = dot(dot(turn(v), mirror_lower(a_dot)), v)
    c = add(c, turn(c))  # symmetric to the last digit, so that turns among close values cancel where they must
    for i in range(w.size):
        for j in range(w.size):
            c[i, j] *= 0.5
    w_dot = _parted_values(w, c, 1.0)
    _divide_by_gaps(c, w, np.ones(w.size, np.bool_))
    return w_dot, dot(v, c)


@in_machine_code
def eigh_along(a, a_dot, w, v, again):  # type: ignore[no-untyped-def]
    """(w_dot, v_dot), as a function of a and a_dot, to be differentiated again; w_dot of equal values is nan."""
    w_dot, v_dot = eigh_tangent(w, v, a_dot)
    if again != 0.0:
        _lose_equal(w_dot, w)
    return w_dot, v_dot


@in_machine_code
def _lose_equal(w_dot, w):  # type: ignore[no-untyped-def]
    """Set tangents of near values to nan: they have no derivative in any direction."""
    most = largest_of(w)
    for i in range(w.size):
        for j in range(w.size):
            if i != j and abs(w[j] - w[i]) <= NEAR * most:
                w_dot[i] = one_or_nan(False)


@in_machine_code
def add_eigh_along(w_bar, v_bar, w, v, a_dot, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += the cotangent of a from cotangents of the tangents of values and vectors, on the lower triangle.

    It is the change of `add_eigh` along a_dot, by formulas without the gaps that do not matter. The moving vectors and
    the resulting cotangents have other parts, which cancel; so the rest is compared with its usual size.
    """
    c = dot(dot(turn(v), mirror_lower(a_dot)), v)
    c = add(c, turn(c))
    for i in range(w.size):
        for j in range(w.size):
            c[i, j] *= 0.5
    g, right = second_of_pairs(w, c, dot(turn(v), v_bar), w_bar, column_sizes(v_bar))
    add_scaled(a_bar, 0, 0, one_or_nan(right and not are_uneven(w, w_bar)), onto_lower(dot(dot(v, g), turn(v))))


# ---- general matrices ------------------------------------------------------------------------------------------------
@in_machine_code
def find_real_spectrum(a, values_alone):  # type: ignore[no-untyped-def]
    """(w, v) in C order; ValueError, as from Numba's eigvals or eig, if an eigenvalue is complex."""
    if values_alone:
        np.linalg.eigvals(a)  # compiled code raises under its own name
    w, v = np.linalg.eig(a)
    n = w.size
    values, vectors = np.empty(n), np.empty((n, n))
    for j in range(n):
        if w[j].imag != 0.0:
            if values_alone:
                raise ValueError("eigvals() argument must not cause a domain change.")
            raise ValueError("eig() argument must not cause a domain change.")
        values[j] = w[j].real
        for i in range(n):
            vectors[i, j] = v[i, j].real
    return values, vectors


@in_machine_code
def _keep_lengths(v_bar, v):  # type: ignore[no-untyped-def]
    """v_bar without its part along the columns of v, whose lengths stay 1."""
    made = in_order(v_bar)
    for j in range(v.shape[1]):
        along = 0.0
        for i in range(v.shape[0]):
            along += v[i, j] * v_bar[i, j]
        for i in range(v.shape[0]):
            made[i, j] -= v[i, j] * along
    return made


@in_machine_code
def add_eig(w_bar, v_bar, w, v, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += v^-T (diag(w_bar) + f (v^T (v_bar - v diag(v^T v_bar)))) v^T, f_ij = 1 / (w_j - w_i)"""
    inner = np.zeros(v.shape)
    right = True
    if not is_zero(v_bar):
        inner = dot(turn(v), _keep_lengths(v_bar, v))
        right = _is_right(w, inner, w_bar, v_bar)
        _divide_by_gaps(inner, w, _live_columns(v_bar))
    elif are_close(w):
        right = is_first_right(w, inner, w_bar, np.zeros(w.size), 0)
    for i in range(w.size):
        inner[i, i] = w_bar[i]
    add_scaled(a_bar, 0, 0, 1.0 if right else np.nan, dot(dot(turn(invert(v)), inner), turn(v)))


@in_machine_code
def eig_tangent(w, v, a_dot):  # type: ignore[no-untyped-def]
    """(w_dot, v_dot)"""
    c = dot(dot(invert(v), a_dot), v)
    w_dot = _diagonal(c)
    if are_close(w):
        lost = are_lost(w, c)
        for i in range(w.size):
            for j in range(w.size):
                if lost[i, j]:
                    c[i, j] = np.nan
    _divide_by_gaps(c, w, np.ones(w.size, np.bool_))
    return w_dot, _keep_lengths(dot(v, c), v)


# ---- singular values -------------------------------------------------------------------------------------------------
@in_machine_code
def reduced_svd(a):  # type: ignore[no-untyped-def]
    """(u, s, v^T) in C order, reduced to the shorter side."""
    u, s, vt = np.linalg.svd(a, False)
    return in_order(u), s, in_order(vt)


@in_machine_code
def _outside(u, x):  # type: ignore[no-untyped-def]
    """The part of the columns of x that is orthogonal to those of u."""
    return subtract(x, dot(u, dot(turn(u), x)))


@in_machine_code
def add_svd(u_bar, s_bar, vt_bar, u, s, vt, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += u (e / (s_j - s_i) + o / (s_j + s_i) + diag(s_bar)) v^T, and u_bar and v_bar orthogonal to u
    and v, over s; e and o are the even and the odd part of x - x^T, x = u^T u_bar, under exchange of u and v
    """
    m, n, k = u.shape[0], vt.shape[1], s.size
    v_bar, v = turn(vt_bar), turn(vt)
    left, right, scale = dot(turn(u), u_bar), dot(vt, v_bar), 1.0
    if are_close(double_values(s, s_bar, 1)[0]) and not is_singular_right(s, left, right, u_bar, s_bar, v_bar):
        scale = np.nan
    inner = np.zeros((k, k))
    if not (is_zero(u_bar) and is_zero(v_bar)):
        live = _live_columns(u_bar)
        for j, x in enumerate(_live_columns(v_bar)):
            live[j] = live[j] or x
        if m > k:
            add_into(a_bar, dot(scale_columns(_outside(u, u_bar), _reciprocals(s, live)), vt))
        if n > k:
            add_into(a_bar, dot(u, turn(scale_columns(_outside(v, v_bar), _reciprocals(s, live)))))
        left, right = subtract(left, turn(left)), subtract(right, turn(right))
        even, odd = add(left, right), subtract(left, right)
        _divide_by_gaps(even, s, live)
        _divide_by_sums(odd, s, live)
        add_scaled(inner, 0, 0, 0.5, even)
        add_scaled(inner, 0, 0, 0.5, odd)
    for i in range(k):
        inner[i, i] = s_bar[i]
    add_scaled(a_bar, 0, 0, scale, dot(dot(u, inner), vt))


@in_machine_code
def _tangents_of_values(s, c):  # type: ignore[no-untyped-def]
    """(s_dot, the symmetric part of c = u^T a_dot v with nan for pairs that turn fast, the other part)"""
    even, odd = add(c, turn(c)), subtract(c, turn(c))
    for i in range(s.size):
        for j in range(s.size):
            even[i, j] *= 0.5
            odd[i, j] *= 0.5
    s_dot = _parted_values(s, even, -1.0)
    for j in range(s.size):  # whose sign is unknown
        if 0.0 < s[j] <= UNSIGNED * s.size * s[0] and abs(c[j, j]) > NEAR * largest_in(c):
            s_dot[j] = np.nan
    return s_dot, even, odd


@in_machine_code
def svd_tangent(u, s, vt, a_dot):  # type: ignore[no-untyped-def]
    """(u_dot, s_dot, vt_dot)"""
    m, n, k = u.shape[0], vt.shape[1], s.size
    v, live = turn(vt), np.ones(s.size, np.bool_)
    c = dot(dot(turn(u), a_dot), v)
    s_dot, even, odd = _tangents_of_values(s, c)
    _lose_fast(odd, s)
    _divide_by_gaps(even, s, live)
    _divide_by_sums(odd, s, live)
    u_dot, v_dot = dot(u, add(even, odd)), dot(v, subtract(even, odd))
    if m > k:
        moved = _outside(u, dot(a_dot, v))
        _lose_small(moved, s)
        add_into(u_dot, scale_columns(moved, _reciprocals(s, live)))
    if n > k:
        moved = _outside(v, dot(turn(a_dot), u))
        _lose_small(moved, s)
        add_into(v_dot, scale_columns(moved, _reciprocals(s, live)))
    return u_dot, s_dot, turn(v_dot)


@in_machine_code
def _lose_fast(odd, s):  # type: ignore[no-untyped-def]
    """Set pairs of small values that odd turns fast to nan."""
    size, most = largest_in(odd), largest_of(s)
    for i in range(s.size):
        for j in range(s.size):
            if size > 0.0 and abs(odd[i, j]) / size * LEAST > (s[i] + s[j]) / most:
                odd[i, j] = np.nan


@in_machine_code
def _lose_small(moved, s):  # type: ignore[no-untyped-def]
    """Set columns that move fast relative to small values to nan."""
    sizes, most = column_sizes(moved), largest_of(s)
    size = largest_of(sizes)
    for j in range(s.size):
        if size > 0.0 and sizes[j] / size * LEAST > s[j] / most:
            moved[:, j] = np.nan


@in_machine_code
def svd_along(a, a_dot, u, s, vt, again):  # type: ignore[no-untyped-def]
    """(u_dot, s_dot, vt_dot), as `eigh_along`."""
    u_dot, s_dot, vt_dot = svd_tangent(u, s, vt, a_dot)
    if again != 0.0:
        _lose_equal(s_dot, s)
        for j in range(s.size):  # whose vector on the longer side is arbitrary
            if s[j] == 0.0 and u.shape[0] != vt.shape[1]:
                s_dot[j] = np.nan
    return u_dot, s_dot, vt_dot


@in_machine_code
def add_svd_along(u_bar, s_bar, vt_bar, u, s, vt, a_dot, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += the cotangent of a from cotangents of the tangents of singular vectors and values, as
    `add_eigh_along`."""
    v, v_bar = turn(vt), turn(vt_bar)
    if u.shape[0] >= v.shape[0]:
        g, right = second_of_doubles(u, s, v, a_dot, u_bar, s_bar, v_bar)
    else:
        turned, right = second_of_doubles(v, s, u, turn(a_dot), v_bar, s_bar, u_bar)
        g = turn(turned)
    add_scaled(a_bar, 0, 0, one_or_nan(right and not are_uneven(s, s_bar)), g)


# ---- QR factors ------------------------------------------------------------------------------------------------------
@in_machine_code
def _of_full_rank(r, m):  # type: ignore[no-untyped-def]
    """The square part of r, as `of_full_rank` of `contad.ops.orthogonal_factors`."""
    square = take_block(r, 0, r.shape[0], 0, r.shape[0])
    sizes = column_sizes(square)
    for j in range(sizes.size):
        if abs(square[j, j]) <= DEPENDENT * m * sizes[j]:
            square[j, j] = np.nan
    return square


@in_machine_code
def add_qr(q_bar, r_bar, q, r, rest, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += (q_bar + q c) r^-T, c: the symmetric matrix of the lower triangle of r r_bar^T - q_bar^T q

    If a is wide, the columns after the square part are products with q.
    """
    k, n = r.shape
    m = q.shape[0]
    r_bar = copy_upper(r_bar, 0)
    if n > k:
        q_bar = in_order(q_bar)
        rest_bar = take_block(r_bar, 0, k, k, n)
        add_into(q_bar, dot(rest, turn(rest_bar)))
        add_scaled(a_bar, 0, k, 1.0, dot(q, rest_bar))
    square = _of_full_rank(r, m)
    c = dot(square, turn(take_block(r_bar, 0, k, 0, k)))
    add_product(-1.0, q_bar.T, q, c)
    c = mirror_lower(c)
    over = turn(square)
    if m > 4 * k and is_in_place(m, k, a_bar.strides[0], a_bar.strides[1]):
        # for many rows: two products with the small r^-T, which BLAS computes faster than it solves the system
        solve_from_right(over, c)
        inverse = np.eye(k)
        solve_from_right(over, inverse)
        add_product(1.0, q_bar, inverse, a_bar[:, :k])
        add_product(1.0, q, c, a_bar[:, :k])
        return
    total = in_order(q_bar)
    add_product(1.0, q, c, total)
    solve_from_right(over, total)
    add_scaled(a_bar, 0, 0, 1.0, total)


@in_machine_code
def _over_upper(a, r):  # type: ignore[no-untyped-def]
    """a r^-1, for the upper triangle of r."""
    made = in_order(a)
    for j in range(r.shape[0]):
        for i in range(a.shape[0]):
            for k in range(j):
                made[i, j] -= made[i, k] * r[k, j]
            made[i, j] /= r[j, j]
    return made


@in_machine_code
def qr_tangent(q, r, a, a_dot):  # type: ignore[no-untyped-def]
    """(q_dot, r_dot)"""
    m, k, n = q.shape[0], r.shape[0], r.shape[1]
    square = _of_full_rank(r, m)
    over = _over_upper(take_block(a_dot, 0, m, 0, k), square)
    c = dot(turn(q), over)
    lower = copy_lower(c, -1)
    rotation = subtract(lower, turn(lower))
    q_dot = add(dot(q, rotation), subtract(over, dot(q, c)))
    r_dot = np.zeros(r.shape)
    add_scaled(r_dot, 0, 0, 1.0, copy_upper(dot(subtract(c, rotation), square), 0))
    if n > k:
        add_scaled(r_dot, 0, k, 1.0, dot(turn(q_dot), take_block(a, 0, m, k, n)))
        add_scaled(r_dot, 0, k, 1.0, dot(turn(q), take_block(a_dot, 0, m, k, n)))
    return q_dot, r_dot


# ---- least squares ---------------------------------------------------------------------------------------------------
@in_machine_code
def pseudoinverse(u, s, vt, rank):  # type: ignore[no-untyped-def]
    """The pseudoinverse from the given number of singular values."""
    over = scale_columns(turn(take_block(vt, 0, rank, 0, vt.shape[1])), _reciprocals(s[:rank], np.ones(rank, np.bool_)))
    return dot(over, turn(take_block(u, 0, u.shape[0], 0, rank)))


@in_machine_code
def _count_above(s, bound):  # type: ignore[no-untyped-def]
    """The number of singular values above the bound times the largest."""
    found = 0
    for x in s:
        if x > bound * s[0]:
            found += 1
    return found


@in_machine_code
def _rounding(a):  # type: ignore[no-untyped-def]
    """The fraction of the largest singular value that rounding may leave in place of 0."""
    return 2.0**-52 * max(a.shape)


@in_machine_code
def _along_kept(u, s, vt, kept, e):  # type: ignore[no-untyped-def]
    """The derivative along e of the matrix truncated to the first singular values; it is a symmetric map of e.

    `along_kept` of `contad.ops.truncated_spectra` documents the formula.
    """
    v, k = turn(vt), s.size
    left, right = take_block(u, 0, u.shape[0], 0, kept), take_block(v, 0, v.shape[0], 0, kept)
    made = dot(left, dot(turn(left), e))
    add_into(made, dot(dot(subtract(e, made), right), turn(right)))
    c, inner = dot(dot(turn(u), e), v), np.zeros((k, k))
    for i in range(kept):
        for j in range(kept, k):
            f = 1.0 / (s[i] * s[i] - s[j] * s[j])
            inner[i, j] = f * (s[j] * s[j] * c[i, j] + s[i] * s[j] * c[j, i])
            inner[j, i] = f * (s[j] * s[j] * c[j, i] + s[i] * s[j] * c[i, j])
    add_into(made, dot(dot(u, inner), vt))
    return made


@in_machine_code
def add_pinv(z_bar, z, a, rcond, a_bar):  # type: ignore[no-untyped-def]
    """Add the cotangent of a matrix, from that of its pseudoinverse, through the part of the matrix that rcond
    keeps."""
    if rcond > _rounding(a):
        u, s, vt = reduced_svd(a)
        kept = _count_above(s, rcond)
        if kept < _count_above(s, _rounding(a)):
            own = np.zeros(a.shape)
            _add_pinv(z_bar, z, a, own)
            add_into(a_bar, _along_kept(u, s, vt, kept, own))
            return
    _add_pinv(z_bar, z, a, a_bar)


@in_machine_code
def _beyond(a, z, x):  # type: ignore[no-untyped-def]
    """(1 - a z) x: 0 if a has full row rank; by QR factors, which keep digits, if it has full column rank."""
    m, n = a.shape
    rank = 0.0
    for i in range(m):
        for j in range(n):
            rank += a[i, j] * z[j, i]
    if rank > m - 0.5:
        return np.zeros(x.shape)
    if rank > n - 0.5:
        return _outside(in_order(np.linalg.qr(a)[0]), x)
    return subtract(x, dot(a, dot(z, x)))


@in_machine_code
def _add_pinv(z_bar, z, a, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += -z^T z_bar z^T + (1 - a z) z_bar^T z z^T + z^T z z_bar^T (1 - z a), if the rank does not change"""
    zt, turned = turn(z), turn(z_bar)
    add_into(a_bar, _beyond(a, z, dot(dot(turned, z), zt)))
    add_into(a_bar, turn(_beyond(turn(a), zt, dot(dot(z_bar, zt), z))))
    add_scaled(a_bar, 0, 0, -1.0, dot(dot(zt, z_bar), zt))


@in_machine_code
def pinv_tangent(z, a, rcond, a_dot):  # type: ignore[no-untyped-def]
    """-z a_dot z + z z^T a_dot^T (1 - a z) + (1 - z a) a_dot^T z^T z, for the part that rcond keeps"""
    if rcond > _rounding(a):
        u, s, vt = reduced_svd(a)
        kept = _count_above(s, rcond)
        if kept < _count_above(s, _rounding(a)):
            a_dot = _along_kept(u, s, vt, kept, a_dot)
    zt = turn(z)
    made = turn(_beyond(a, z, dot(dot(a_dot, z), zt)))
    add_into(made, _beyond(turn(a), zt, dot(dot(turn(a_dot), zt), z)))
    add_scaled(made, 0, 0, -1.0, dot(dot(z, a_dot), z))
    return made


@in_machine_code
def add_lstsq(x_bar, squares_bar, s_bar, x, rank, a, b, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """Add the cotangents of a and b to a_bar and b_bar: those of the solution x, the sums of squares and s.

    Sums of squares are returned, and are not constant, if the rank is full and a has more rows than columns.
    """
    u, s, vt = reduced_svd(a)
    z = pseudoinverse(u, s, vt, rank)
    zt, xt = turn(z), turn(x)
    rest, c = subtract(b, dot(a, x)), dot(zt, x_bar)
    of_x = dot(rest, turn(dot(z, c))) if rank < a.shape[0] else np.zeros(a.shape)
    add_scaled(of_x, 0, 0, -1.0, dot(c, xt))
    if rank < a.shape[1]:
        add_into(of_x, dot(dot(zt, x), turn(subtract(x_bar, dot(turn(a), c)))))
    add_into(a_bar, _along_kept(u, s, vt, rank, of_x) if rank < _count_above(s, _rounding(a)) else of_x)
    if largest_of(s_bar) != 0.0:
        add_svd(np.zeros(u.shape), s_bar, np.zeros(vt.shape), u, s, vt, a_bar)
    add_into(b_bar, c)
    if a.shape[1] == rank < a.shape[0]:
        scaled = scale_columns(rest, squares_bar)
        add_scaled(a_bar, 0, 0, -2.0, dot(scaled, xt))
        add_scaled(b_bar, 0, 0, 2.0, scaled)


@in_machine_code
def lstsq_tangent(x, rank, a, b, a_dot, b_dot):  # type: ignore[no-untyped-def]
    """(x_dot, the tangents of the sums of squares, s_dot)"""
    u, s, vt = reduced_svd(a)
    z = pseudoinverse(u, s, vt, rank)
    zt, e = turn(z), _along_kept(u, s, vt, rank, a_dot) if rank < _count_above(s, _rounding(a)) else a_dot
    rest, moved, dt = subtract(b, dot(a, x)), subtract(b_dot, dot(a_dot, x)), turn(e)
    outside = dot(dt, dot(zt, x))
    x_dot = dot(z, subtract(b_dot, dot(e, x)))
    if rank < a.shape[0]:
        add_into(x_dot, dot(z, dot(zt, dot(dt, rest))))
    if rank < a.shape[1]:
        add_into(x_dot, subtract(outside, dot(z, dot(a, outside))))
    squares_dot = np.zeros(b.shape[1])
    for i in range(rest.shape[0] if a.shape[1] == rank < a.shape[0] else 0):
        for k in range(rest.shape[1]):
            squares_dot[k] += 2.0 * rest[i, k] * moved[i, k]
    return x_dot, squares_dot, _tangents_of_values(s, dot(dot(turn(u), a_dot), turn(vt)))[0]
