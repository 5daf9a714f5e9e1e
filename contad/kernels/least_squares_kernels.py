"""QR factors, pseudoinverses and least squares in compiled code: adjoints and tangents.

The rules are those of `contad.ops.orthogonal_factors`, for one matrix in C order.
"""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.kernels.close_spectra import column_sizes, largest_of
from contad.kernels.matrix_loops import (
    add,
    add_into,
    add_scaled,
    copy_lower,
    copy_upper,
    dot,
    in_order,
    mirror_lower,
    scale_columns,
    subtract,
    take_part,
    turn,
)
from contad.kernels.products_in_place import add_product, is_in_place, solve_from_right
from contad.kernels.spectral_kernels import add_svd, outside, reciprocals, reduced_svd, tangents_of_values
from contad.ops.orthogonal_factors import DEPENDENT


# ---- QR factors ------------------------------------------------------------------------------------------------------
@in_machine_code
def _of_full_rank(r, m):  # type: ignore[no-untyped-def]
    """The square part of r, as `of_full_rank` of `contad.ops.orthogonal_factors`."""
    square = take_part(r, 0, r.shape[0], 0, r.shape[0])
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
        rest_bar = take_part(r_bar, 0, k, k, n)
        add_into(q_bar, dot(rest, turn(rest_bar)))
        add_scaled(a_bar, 0, k, 1.0, dot(q, rest_bar))
    square = _of_full_rank(r, m)
    c = dot(square, turn(take_part(r_bar, 0, k, 0, k)))
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
    over = _over_upper(take_part(a_dot, 0, m, 0, k), square)
    c = dot(turn(q), over)
    lower = copy_lower(c, -1)
    rotation = subtract(lower, turn(lower))
    q_dot = add(dot(q, rotation), subtract(over, dot(q, c)))
    r_dot = np.zeros(r.shape)
    add_scaled(r_dot, 0, 0, 1.0, copy_upper(dot(subtract(c, rotation), square), 0))
    if n > k:
        add_scaled(r_dot, 0, k, 1.0, dot(turn(q_dot), take_part(a, 0, m, k, n)))
        add_scaled(r_dot, 0, k, 1.0, dot(turn(q), take_part(a_dot, 0, m, k, n)))
    return q_dot, r_dot


# ---- least squares ---------------------------------------------------------------------------------------------------
@in_machine_code
def pseudoinverse(u, s, vt, rank):  # type: ignore[no-untyped-def]
    """The pseudoinverse from the given number of singular values."""
    over = scale_columns(turn(take_part(vt, 0, rank, 0, vt.shape[1])), reciprocals(s[:rank], np.ones(rank, np.bool_)))
    return dot(over, turn(take_part(u, 0, u.shape[0], 0, rank)))


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
    left, right = take_part(u, 0, u.shape[0], 0, kept), take_part(v, 0, v.shape[0], 0, kept)
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
        return outside(in_order(np.linalg.qr(a)[0]), x)
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
    return x_dot, squares_dot, tangents_of_values(s, dot(dot(turn(u), a_dot), turn(vt)))[0]
