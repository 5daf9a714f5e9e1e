"""Eigenvalues, singular values, QR factors and pseudoinverses in compiled code: adjoints and tangents.

The rules are those of `contad.ops.spectra` and `orthogonal_factors`, for one matrix in C order. Where singular values
or eigenvalues are equal, vectors whose cotangent is not zero have the derivative nan.
"""

import numpy as np

from contad.native.factor_kernels import mirror_lower, onto_lower, solve_upper
from contad.native.overloads import in_machine_code


@in_machine_code
def in_order(a):  # type: ignore[no-untyped-def]
    """A copy in C order."""
    made = np.empty(a.shape)
    made[...] = a
    return made


@in_machine_code
def is_zero(a):  # type: ignore[no-untyped-def]
    """Whether all elements are zero."""
    return not np.any(a)


@in_machine_code
def _divide_by_gaps(c, w, live):  # type: ignore[no-untyped-def]
    """c_ij / (w_j - w_i) and a zero diagonal, in place; of equal w nan where vector i or j is live, else 0."""
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
def _live_columns(v_bar):  # type: ignore[no-untyped-def]
    live = np.zeros(v_bar.shape[1], np.bool_)
    for i in range(v_bar.shape[0]):
        for j in range(v_bar.shape[1]):
            if v_bar[i, j] != 0.0:
                live[j] = True
    return live


# ---- symmetric matrices ----------------------------------------------------------------------------------------------
@in_machine_code
def add_eigh(w_bar, v_bar, w, v, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += v (diag(w_bar) + f (v^T v_bar)) v^T on the lower triangle, f_ij = 1 / (w_j - w_i)"""
    inner = np.zeros(v.shape)
    if not is_zero(v_bar):
        inner = np.dot(v.T, v_bar)
        _divide_by_gaps(inner, w, _live_columns(v_bar))
    for i in range(w.size):
        inner[i, i] = w_bar[i]
    a_bar += onto_lower(np.dot(np.dot(v, 0.5 * (inner + inner.T)), v.T))


@in_machine_code
def eigh_tangent(w, v, a_dot):  # type: ignore[no-untyped-def]
    """(w_dot, v_dot)"""
    c = np.dot(np.dot(v.T, mirror_lower(a_dot)), v)
    w_dot = np.diag(c).copy()
    _divide_by_gaps(c, w, np.ones(w.size, np.bool_))
    return w_dot, np.dot(v, c)


# ---- singular values -------------------------------------------------------------------------------------------------
@in_machine_code
def reduced_svd(a):  # type: ignore[no-untyped-def]
    """(u, s, v^T) in C order, of the shorter side."""
    u, s, vt = np.linalg.svd(a, False)
    return in_order(u), s, in_order(vt)


@in_machine_code
def _scale_columns(a, s):  # type: ignore[no-untyped-def]
    made = a.copy()
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[i, j] *= s[j]
    return made


@in_machine_code
def add_svd(u_bar, s_bar, vt_bar, u, s, vt, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += u (f (u^T u_bar - u_bar^T u) s + s f (v^T v_bar - v_bar^T v) + diag(s_bar)) v^T, and what of u_bar and
    v_bar is outside of u and v, over s; f_ij = 1 / (s_j^2 - s_i^2)
    """
    m, n, k = u.shape[0], vt.shape[1], s.size
    inner = np.diag(s_bar)
    v_bar, v = in_order(vt_bar.T), in_order(vt.T)
    if not is_zero(u_bar):
        c = np.dot(u.T, u_bar)
        if m > k:
            a_bar += np.dot(_scale_columns(u_bar - np.dot(u, c), 1.0 / s), vt)
        c = c - c.T
        _divide_by_gaps(c, s * s, _live_columns(u_bar))
        inner = inner + _scale_columns(c, s)
    if not is_zero(vt_bar):
        c = np.dot(vt, v_bar)
        if n > k:
            a_bar += np.dot(u, in_order(_scale_columns(v_bar - np.dot(v, c), 1.0 / s).T))
        c = c - c.T
        _divide_by_gaps(c, s * s, _live_columns(v_bar))
        inner = inner + in_order(_scale_columns(in_order(c.T), s).T)
    a_bar += np.dot(np.dot(u, inner), vt)


@in_machine_code
def svd_tangent(u, s, vt, a_dot):  # type: ignore[no-untyped-def]
    """(u_dot, s_dot, vt_dot)"""
    m, n, k = u.shape[0], vt.shape[1], s.size
    v = in_order(vt.T)
    c = np.dot(np.dot(u.T, a_dot), v)
    s_dot = np.diag(c).copy()
    live = np.ones(k, np.bool_)
    left = _scale_columns(c, s) + _scale_columns(c, s).T
    right = _scale_columns(in_order(c.T), s) + _scale_columns(in_order(c.T), s).T
    _divide_by_gaps(left, s * s, live)
    _divide_by_gaps(right, s * s, live)
    u_dot, v_dot = np.dot(u, left), np.dot(v, right)
    if m > k:
        outside = np.dot(a_dot, v)
        u_dot += _scale_columns(outside - np.dot(u, np.dot(u.T, outside)), 1.0 / s)
    if n > k:
        outside = np.dot(a_dot.T, u)
        v_dot += _scale_columns(outside - np.dot(v, np.dot(vt, outside)), 1.0 / s)
    return u_dot, s_dot, in_order(v_dot.T)


# ---- QR factors ------------------------------------------------------------------------------------------------------
@in_machine_code
def add_qr(q_bar, r_bar, q, r, a, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += (q_bar + q c) r^-T, c: the symmetric matrix of the lower triangle of r r_bar^T - q_bar^T q

    Of a wide matrix the columns behind the square part are products with q.
    """
    k, n = r.shape
    q_bar = q_bar.copy()
    r_bar = np.triu(r_bar)
    if n > k:
        rest_bar = in_order(r_bar[:, k:])
        q_bar += np.dot(in_order(a[:, k:]), rest_bar.T)
        a_bar[:, k:] += np.dot(q, rest_bar)
    square = in_order(r[:, :k])
    c = np.dot(square, in_order(r_bar[:, :k]).T) - np.dot(q_bar.T, q)
    turned = in_order((q_bar + np.dot(q, mirror_lower(c))).T)
    solve_upper(square, turned)
    a_bar[:, :k] += turned.T


@in_machine_code
def _over_upper(a, r):  # type: ignore[no-untyped-def]
    """a r^-1, for the upper triangle of r."""
    made = a.copy()
    for j in range(r.shape[0]):
        for i in range(a.shape[0]):
            for k in range(j):
                made[i, j] -= made[i, k] * r[k, j]
            made[i, j] /= r[j, j]
    return made


@in_machine_code
def qr_tangent(q, r, a, a_dot):  # type: ignore[no-untyped-def]
    """(q_dot, r_dot)"""
    k, n = r.shape
    square = in_order(r[:, :k])
    over = _over_upper(in_order(a_dot[:, :k]), square)
    c = np.dot(q.T, over)
    lower = np.tril(c, -1)
    turn = lower - lower.T
    q_dot = np.dot(q, turn) + over - np.dot(q, c)
    r_dot = np.empty(r.shape)
    r_dot[:, :k] = np.triu(np.dot(c - turn, square))
    if n > k:
        r_dot[:, k:] = np.dot(q_dot.T, in_order(a[:, k:])) + np.dot(q.T, in_order(a_dot[:, k:]))
    return q_dot, r_dot


# ---- least squares ---------------------------------------------------------------------------------------------------
@in_machine_code
def pseudoinverse(u, s, vt, rank):  # type: ignore[no-untyped-def]
    """The pseudoinverse from so many singular values."""
    return np.dot(_scale_columns(in_order(vt[:rank].T), 1.0 / s[:rank]), in_order(u[:, :rank].T))


@in_machine_code
def add_pinv(z_bar, z, a, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += -z^T z_bar z^T + (1 - a z) z_bar^T z z^T + z^T z z_bar^T (1 - z a), where the rank does not change"""
    zt = in_order(z.T)
    left = np.dot(np.dot(in_order(z_bar.T), z), zt)
    right = np.dot(np.dot(zt, z), in_order(z_bar.T))
    a_bar += left - np.dot(a, np.dot(z, left)) + right - np.dot(np.dot(right, z), a) - np.dot(np.dot(zt, z_bar), zt)


@in_machine_code
def pinv_tangent(z, a, a_dot):  # type: ignore[no-untyped-def]
    """-z a_dot z + z z^T a_dot^T (1 - a z) + (1 - z a) a_dot^T z^T z"""
    zt, dt = in_order(z.T), in_order(a_dot.T)
    left = np.dot(np.dot(z, zt), dt)
    right = np.dot(np.dot(dt, zt), z)
    return left - np.dot(np.dot(left, a), z) + right - np.dot(z, np.dot(a, right)) - np.dot(np.dot(z, a_dot), z)


@in_machine_code
def add_lstsq(x_bar, squares_bar, s_bar, x, rank, a, b, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """Add the cotangents of a and b to a_bar and b_bar: those of the solution x, the sums of squares and s."""
    u, s, vt = reduced_svd(a)
    z = pseudoinverse(u, s, vt, rank)
    rest = b - np.dot(a, x)
    c = np.dot(in_order(z.T), x_bar)
    a_bar += np.dot(rest, in_order(np.dot(z, c).T)) - np.dot(c, in_order(x.T))
    a_bar += np.dot(np.dot(in_order(z.T), x), in_order((x_bar - np.dot(in_order(a.T), c)).T))
    scaled = 2.0 * _scale_columns(rest, squares_bar)
    a_bar += np.dot(_scale_columns(u, s_bar), vt) - np.dot(scaled, in_order(x.T))
    b_bar += c + scaled


@in_machine_code
def lstsq_tangent(x, rank, a, b, a_dot, b_dot):  # type: ignore[no-untyped-def]
    """(x_dot, the tangents of the sums of squares, s_dot)"""
    u, s, vt = reduced_svd(a)
    z = pseudoinverse(u, s, vt, rank)
    zt, dt = in_order(z.T), in_order(a_dot.T)
    rest, moved = b - np.dot(a, x), b_dot - np.dot(a_dot, x)
    outside = np.dot(dt, np.dot(zt, x))
    x_dot = np.dot(z, moved) + np.dot(np.dot(z, zt), np.dot(dt, rest)) + outside - np.dot(z, np.dot(a, outside))
    s_dot = np.diag(np.dot(np.dot(in_order(u.T), a_dot), in_order(vt.T))).copy()
    return x_dot, 2.0 * np.sum(rest * moved, axis=0), s_dot
