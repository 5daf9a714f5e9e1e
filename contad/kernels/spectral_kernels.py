"""Eigenvalues and singular values in compiled code: adjoints and tangents.

The rules are those of `contad.ops.spectra`, for one matrix in C order. Where singular values or eigenvalues are close,
`contad.ops.close_values` decides between a number and nan.
"""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.kernels import close_spectra as close
from contad.kernels.matrix_loops import (
    add,
    add_into,
    add_scaled,
    dot,
    in_order,
    is_zero,
    mirror_lower,
    onto_lower,
    scale_columns,
    subtract,
    turn,
)
from contad.kernels.small_systems import invert
from contad.ops.close_singular_values import UNSIGNED
from contad.ops.close_values import LEAST, NEAR


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
    if close.are_close(w):
        lost = close.are_lost(w, c)
        equal, r = close.part_equal(w, c, order)
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
def reciprocals(s, live):  # type: ignore[no-untyped-def]
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
    elif close.are_close(w):
        right = close.is_first_right(w, inner, w_bar, np.zeros(w.size), 0)
    inner = add(inner, turn(inner))
    for i in range(w.size):
        inner[i, i] = 2.0 * w_bar[i]
    add_scaled(a_bar, 0, 0, 0.5 if right else np.nan, onto_lower(dot(dot(v, inner), turn(v))))


@in_machine_code
def _is_right(w, p, w_bar, v_bar):  # type: ignore[no-untyped-def]
    """Whether the cotangent in vectors has six digits left."""
    return not close.are_close(w) or close.is_first_right(w, p, w_bar, close.column_sizes(v_bar), 0)


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
    most = close.largest_of(w)
    for i in range(w.size):
        for j in range(w.size):
            if i != j and abs(w[j] - w[i]) <= NEAR * most:
                w_dot[i] = close.one_or_nan(False)


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
    g, right = close.second_of_pairs(w, c, dot(turn(v), v_bar), w_bar, close.column_sizes(v_bar))
    scale = close.one_or_nan(right and not close.are_uneven(w, w_bar))
    add_scaled(a_bar, 0, 0, scale, onto_lower(dot(dot(v, g), turn(v))))


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
    elif close.are_close(w):
        right = close.is_first_right(w, inner, w_bar, np.zeros(w.size), 0)
    for i in range(w.size):
        inner[i, i] = w_bar[i]
    add_scaled(a_bar, 0, 0, 1.0 if right else np.nan, dot(dot(turn(invert(v)), inner), turn(v)))


@in_machine_code
def eig_tangent(w, v, a_dot):  # type: ignore[no-untyped-def]
    """(w_dot, v_dot)"""
    c = dot(dot(invert(v), a_dot), v)
    w_dot = _diagonal(c)
    if close.are_close(w):
        lost = close.are_lost(w, c)
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
def outside(u, x):  # type: ignore[no-untyped-def]
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
    doubles = close.double_values(s, s_bar, 1)[0]
    if close.are_close(doubles) and not close.is_singular_right(s, left, right, u_bar, s_bar, v_bar):
        scale = np.nan
    inner = np.zeros((k, k))
    if not (is_zero(u_bar) and is_zero(v_bar)):
        live = _live_columns(u_bar)
        for j, x in enumerate(_live_columns(v_bar)):
            live[j] = live[j] or x
        if m > k:
            add_into(a_bar, dot(scale_columns(outside(u, u_bar), reciprocals(s, live)), vt))
        if n > k:
            add_into(a_bar, dot(u, turn(scale_columns(outside(v, v_bar), reciprocals(s, live)))))
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
def tangents_of_values(s, c):  # type: ignore[no-untyped-def]
    """(s_dot, the symmetric part of c = u^T a_dot v with nan for pairs that turn fast, the other part)"""
    even, odd = add(c, turn(c)), subtract(c, turn(c))
    for i in range(s.size):
        for j in range(s.size):
            even[i, j] *= 0.5
            odd[i, j] *= 0.5
    s_dot = _parted_values(s, even, -1.0)
    for j in range(s.size):  # whose sign is unknown
        if 0.0 < s[j] <= UNSIGNED * s.size * s[0] and abs(c[j, j]) > NEAR * close.largest_in(c):
            s_dot[j] = np.nan
    return s_dot, even, odd


@in_machine_code
def svd_tangent(u, s, vt, a_dot):  # type: ignore[no-untyped-def]
    """(u_dot, s_dot, vt_dot)"""
    m, n, k = u.shape[0], vt.shape[1], s.size
    v, live = turn(vt), np.ones(s.size, np.bool_)
    c = dot(dot(turn(u), a_dot), v)
    s_dot, even, odd = tangents_of_values(s, c)
    _lose_fast(odd, s)
    _divide_by_gaps(even, s, live)
    _divide_by_sums(odd, s, live)
    u_dot, v_dot = dot(u, add(even, odd)), dot(v, subtract(even, odd))
    if m > k:
        moved = outside(u, dot(a_dot, v))
        _lose_small(moved, s)
        add_into(u_dot, scale_columns(moved, reciprocals(s, live)))
    if n > k:
        moved = outside(v, dot(turn(a_dot), u))
        _lose_small(moved, s)
        add_into(v_dot, scale_columns(moved, reciprocals(s, live)))
    return u_dot, s_dot, turn(v_dot)


@in_machine_code
def _lose_fast(odd, s):  # type: ignore[no-untyped-def]
    """Set pairs of small values that odd turns fast to nan."""
    size, most = close.largest_in(odd), close.largest_of(s)
    for i in range(s.size):
        for j in range(s.size):
            if size > 0.0 and abs(odd[i, j]) / size * LEAST > (s[i] + s[j]) / most:
                odd[i, j] = np.nan


@in_machine_code
def _lose_small(moved, s):  # type: ignore[no-untyped-def]
    """Set columns that move fast relative to small values to nan."""
    sizes, most = close.column_sizes(moved), close.largest_of(s)
    size = close.largest_of(sizes)
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
        g, right = close.second_of_doubles(u, s, v, a_dot, u_bar, s_bar, v_bar)
    else:
        turned, right = close.second_of_doubles(v, s, u, turn(a_dot), v_bar, s_bar, u_bar)
        g = turn(turned)
    add_scaled(a_bar, 0, 0, close.one_or_nan(right and not close.are_uneven(s, s_bar)), g)
