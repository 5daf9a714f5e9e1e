"""Spectra whose values are close, in compiled code: the functions of `contad.ops.close_values`, in loops.

Numba compiles a loop in a tenth of the time that the same array expressions take.
"""

import ctypes

import numpy as np
from numba import types

from contad.compile.emitting import name_address
from contad.compile.overloads import in_machine_code
from contad.kernels.matrix_loops import add_into, dot, scale_columns, turn
from contad.ops.close_singular_values import ROOT, UNSIGNED
from contad.ops.close_values import LEAST, NEAR, UNEVEN, note_lost

_ROUNDING = 2.0**-52


@ctypes.CFUNCTYPE(ctypes.c_int64)
def _call_note() -> int:
    """`note_lost`, for compiled code."""
    note_lost()
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int64)
def _call_bar() -> int:
    """The same for lost digits that forward mode does not have either."""
    note_lost(barred=True)
    return 0


name_address("contad_note_lost", ctypes.cast(_call_note, ctypes.c_void_p).value)
name_address("contad_bar_lost", ctypes.cast(_call_bar, ctypes.c_void_p).value)
_note = types.ExternalFunction("contad_note_lost", types.int64())
_bar = types.ExternalFunction("contad_bar_lost", types.int64())


@in_machine_code
def one_or_nan(right):  # type: ignore[no-untyped-def]
    """1 if digits are left; else nan, which is reported to the gradient of a plain function."""
    if right:
        return 1.0
    _note()
    return np.nan


@in_machine_code
def largest_of(x):  # type: ignore[no-untyped-def]
    """The largest magnitude in a vector; nan if there is a nan."""
    found = 0.0
    for i in range(x.size):
        if not abs(x[i]) <= found:
            found = abs(x[i])
    return found


@in_machine_code
def largest_in(x):  # type: ignore[no-untyped-def]
    """The largest magnitude in a matrix."""
    return largest_of(column_sizes(x))


@in_machine_code
def column_sizes(x):  # type: ignore[no-untyped-def]
    """The largest magnitude in each column."""
    found = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if not abs(x[i, j]) <= found[j]:
                found[j] = abs(x[i, j])
    return found


@in_machine_code
def are_close(w):  # type: ignore[no-untyped-def]
    """Whether values are so close that few digits remain after division by a gap."""
    most = max(largest_of(w), 1.0)
    for i in range(w.size):
        for j in range(i):
            if abs(w[j] - w[i]) <= 2.0 * LEAST * most:
                return True
    return False


@in_machine_code
def leaves_digits(error, size):  # type: ignore[no-untyped-def]
    """`is_right` for the largest error."""
    return error * (4.0 * _ROUNDING) <= 1e-6 * size


@in_machine_code
def first_size(w, d, sizes, least):  # type: ignore[no-untyped-def]
    """The size of a cotangent if all gaps were as large as the values, or as `least`."""
    most = max(largest_of(w), least)
    return largest_of(d) + (largest_of(sizes) / most if most > 0.0 else 0.0)


@in_machine_code
def is_first_right(w, p, d, sizes, k):  # type: ignore[no-untyped-def]
    """`is_first_right` for eigenvalues, if k is 0, or for k singular values as in `first_of_doubles`."""
    most, size, error = largest_of(w), 0.0, 0.0
    for i in range(w.size):
        if i < k and d[i] != 0.0 and 0.0 < w[i] <= UNSIGNED * k * most:
            error = max(error, abs(d[i]) / _ROUNDING)
        for j in range(i):
            gap, pair, noise = abs(w[i] - w[j]), sizes[i] + sizes[j], abs(d[i] - d[j])
            if (k > 0 and i < 2 * k and i == j + k) or (pair == 0.0 and gap <= NEAR * most):
                continue
            if pair != 0.0 and gap != 0.0:
                x = 0.5 * abs(p[i, j] - p[j, i]) / gap
                size, noise = max(size, x), noise + x
            error = max(error, (pair + noise * most) / gap if gap != 0.0 else np.inf)
    usual = first_size(w, d, sizes, 1.0)
    right = leaves_digits(error, usual + max(size, largest_of(d)))
    if not right:
        if first_size(w, d, sizes, 0.0) > 4.0 * usual:
            _bar()
        else:
            _note()
    return right


@in_machine_code
def second_of_pairs(w, c, p, d, sizes):  # type: ignore[no-untyped-def]
    """(g, whether it has six digits if the number to which it is added has its usual size)"""
    n, most, turn_size = w.size, largest_of(w), largest_in(c)
    z, o, m = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    size, magnitudes, spread = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            size[i, j] = abs(c[i, j])
            if i != j and sizes[j] != 0.0:
                over = 1.0 / (w[j] - w[i]) if w[j] != w[i] else np.nan
                z[i, j], o[i, j] = p[i, j] * over, c[i, j] * over
                magnitudes[i, j], spread[i, j] = sizes[j] * abs(over), abs(o[i, j])
    inner, errors = dot(c, z), dot(size, magnitudes)
    g, error = dot(o, turn(z)), dot(spread, turn(magnitudes))
    for i in range(n):
        for j in range(n):
            if i != j and sizes[j] != 0.0:
                over = 1.0 / (w[j] - w[i]) if w[j] != w[i] else np.nan
                m[i, j] = over * (inner[i, j] - z[i, j] * c[j, j] - o[i, j] * p[j, j])
                errors[i, j] = abs(over) * (
                    errors[i, j] + magnitudes[i, j] * size[j, j] + spread[i, j] * sizes[j]
                )
            else:
                errors[i, j] = 0.0
            m[j, j] -= o[i, j] * z[i, j]
    add_into(g, m)
    add_into(error, errors)
    found, worst = np.zeros((n, n)), 0.0
    for i in range(n):
        for j in range(n):
            found[i, j], noise = 0.5 * (g[i, j] + g[j, i]), error[i, j] + error[j, i]
            if i != j and size[i, j] > NEAR * turn_size and (d[i] != 0.0 or d[j] != 0.0):
                over = 1.0 / (w[j] - w[i]) if w[j] != w[i] else np.nan
                found[i, j] += c[i, j] * over * (d[j] - d[i])
                noise += size[i, j] * abs(over) * (abs(d[i]) + abs(d[j]) + most * abs(over) * abs(d[j] - d[i]))
            if not noise <= worst:
                worst = noise
    return found, leaves_digits(worst, size_along(w, c, p, d))


@in_machine_code
def are_uneven(w, d):  # type: ignore[no-untyped-def]
    """Whether near values have cotangents that differ."""
    near, even = NEAR * largest_of(w), UNEVEN * largest_of(d)
    for i in range(w.size):
        for j in range(i):
            if abs(w[j] - w[i]) <= near and abs(d[j] - d[i]) > even:
                return True
    return False


@in_machine_code
def size_along(w, c, p, d):  # type: ignore[no-untyped-def]
    """The usual size of the change of a cotangent."""
    most, odd = largest_of(w), 0.0
    if most == 0.0:
        return 0.0
    for i in range(w.size):
        for j in range(i):
            odd = max(odd, abs(p[i, j] - p[j, i]))
    return largest_in(c) / max(most, 1.0) * (largest_of(d) + odd / most)


@in_machine_code
def are_lost(w, c):  # type: ignore[no-untyped-def]
    """The pairs that turn too fast."""
    n, most, size = w.size, largest_of(w), largest_in(c)
    lost = np.zeros((n, n), np.bool_)
    if most > 0.0 and size > 0.0:
        for i in range(n):
            for j in range(n):
                rate = max(abs(c[i, j]), abs(c[j, i])) / size
                lost[i, j] = i != j and rate > NEAR and LEAST * rate > abs(w[j] / most - w[i] / most)
    return lost


@in_machine_code
def part_equal(w, c, order):  # type: ignore[no-untyped-def]
    """(w with near values made equal, r)"""
    n, most = w.size, largest_of(w)
    equal, r, start = w.copy(), np.eye(n), 0
    if not np.isfinite(largest_in(c)):
        return equal, r
    for end in range(1, n + 1):
        if end == n or abs(w[end] - w[end - 1]) > NEAR * most:
            if end - start > 1:
                part = np.empty((end - start, end - start))
                for i in range(end - start):
                    for j in range(end - start):
                        part[i, j] = order * c[start + i, start + j]
                vectors = np.linalg.eigh(part)[1]
                for i in range(end - start):
                    equal[start + i] = w[start]
                    for j in range(end - start):
                        r[start + i, start + j] = vectors[i, j]
            start = end
    return equal, r


# ---- singular vectors as eigenvectors, as in `contad.ops.close_singular_values` --------------------------------------
@in_machine_code
def double_values(s, s_bar, outside):  # type: ignore[no-untyped-def]
    """(w, d)"""
    k = s.size
    w, d = np.zeros(2 * k + outside), np.zeros(2 * k + outside)
    for j in range(k):
        w[j], w[k + j], d[j], d[k + j] = s[j], -s[j], 0.5 * s_bar[j], -0.5 * s_bar[j]
    return w, d


@in_machine_code
def double_cotangents(left, right, outside, u_bar, v_bar):  # type: ignore[no-untyped-def]
    """(p, sizes)"""
    k, more = left.shape[0], outside.shape[0]
    p, sizes = np.zeros((2 * k + more, 2 * k + more)), np.zeros(2 * k + more)
    of_u, of_v = column_sizes(u_bar), column_sizes(v_bar)
    for j in range(k):
        sizes[j] = ROOT * max(of_u[j], of_v[j])
        for i in range(k):
            p[i, j], p[k + i, j] = left[i, j] + right[i, j], left[i, j] - right[i, j]
        for i in range(more):
            p[2 * k + i, j] = ROOT * outside[i, j]
    return p, sizes


@in_machine_code
def is_singular_right(s, left, right, u_bar, s_bar, v_bar):  # type: ignore[no-untyped-def]
    """Whether the cotangent of a matrix has six digits left."""
    outside = np.zeros((1 if u_bar.shape[0] != v_bar.shape[0] else 0, s.size))
    if outside.shape[0] == 1:
        outside[0] = column_sizes(u_bar if u_bar.shape[0] > v_bar.shape[0] else v_bar)
    w, d = double_values(s, s_bar, outside.shape[0])
    p, sizes = double_cotangents(left, right, outside, u_bar, v_bar)
    return is_first_right(w, p, d, sizes, s.size)


@in_machine_code
def second_of_doubles(u, s, v, a_dot, u_bar, s_bar, v_bar):  # type: ignore[no-untyped-def]
    """(the change of the cotangent along a_dot, whether it has six digits), for a matrix that is not wide."""
    (m, k), n = u.shape, v.shape[0]
    forth = dot(a_dot, v)
    beside = np.zeros((m, 3 * k if m > k else 0))
    if m > k:
        beside[:, :k], beside[:, k : 2 * k], beside[:, 2 * k :] = u, forth, u_bar
    q = np.linalg.qr(beside)[0] if m > k else beside
    more = max(q.shape[1] - k, 0)
    e = np.zeros((m, more))
    for i in range(m):
        for j in range(more):
            e[i, j] = q[i, k + j]
    w, d = double_values(s, s_bar, more)
    p, sizes = double_cotangents(dot(turn(u), u_bar), dot(turn(v), v_bar), dot(turn(e), u_bar), u_bar, v_bar)
    rates, outside, c = dot(turn(u), forth), dot(turn(e), forth), np.zeros((2 * k + more, 2 * k + more))
    for i in range(k):
        for j in range(k):
            even, odd = 0.5 * (rates[i, j] + rates[j, i]), 0.5 * (rates[j, i] - rates[i, j])
            c[i, j], c[k + i, k + j], c[i, k + j], c[k + j, i] = even, -even, odd, odd
        for j in range(more):
            rest = outside[j, i] / ROOT
            c[2 * k + j, i], c[i, 2 * k + j], c[2 * k + j, k + i], c[k + i, 2 * k + j] = rest, rest, -rest, -rest
    g, right = second_of_pairs(w, c, p, d, sizes)
    upper, lower = np.zeros((m, 2 * k + more)), np.zeros((n, 2 * k + more))
    upper[:, :k], upper[:, k : 2 * k], upper[:, 2 * k :] = u, u, e
    lower[:, :k] = v
    for i in range(n):
        for j in range(k):
            lower[i, k + j] = -v[i, j]
    scales = np.full(2 * k + more, 1.0 / ROOT)
    scales[2 * k :] = 1.0
    made = dot(dot(scale_columns(upper, scales), g), turn(scale_columns(lower, scales)))
    return scale_columns(made, np.full(n, 2.0)), right
