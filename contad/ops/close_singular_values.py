"""Singular vectors as eigenvectors of ((0, a), (a^T, 0)), so that `close_values` handles both.

Its eigenvalues are s, -s, and 0 for the excess of the longer side. Its eigenvectors are (u, v), (u, -v) and (e, 0), the
first two divided by the square root of 2. Only those of s have a cotangent: the gaps are s_j - s_i, s_j + s_i and s_j,
and no singular value is squared.
"""

import numpy as np

from contad.ops.close_values import (
    NEAR,
    are_chosen,
    column_sizes,
    first_of_pairs,
    is_cotangent_right,
    is_right,
    is_right_again,
    largest_of,
    part_equal,
    second_of_pairs,
    size_along,
)

ROOT = np.sqrt(2.0)
_ROUNDING = 2.0**-52
UNSIGNED = 4.0 * _ROUNDING  # times k: a singular value below this fraction of the largest is 0 up to rounding


def double_values(s, outside):
    """The eigenvalues, including `outside` zeros."""
    return np.concatenate((s, -s, np.zeros(outside)))


def double_cotangents(left, right, outside):
    """p = y^T y_bar from left = u^T u_bar, right = v^T v_bar and outside = e^T u_bar."""
    k, n = left.shape[0], 2 * left.shape[0] + outside.shape[0]
    p = np.zeros((n, n), left.dtype)
    p[:k, :k], p[k : 2 * k, :k], p[2 * k :, :k] = left + right, left - right, ROOT * outside
    return p


def double_rates(c, outside):
    """y^T ((0, a_dot), (a_dot^T, 0)) y from c = u^T a_dot v and outside = e^T a_dot v."""
    k, n = c.shape[0], 2 * c.shape[0] + outside.shape[0]
    found = np.zeros((n, n))
    even, odd, rest = 0.5 * (c + c.T), 0.5 * (c.T - c), outside / ROOT
    found[:k, :k], found[k : 2 * k, k : 2 * k] = even, -even
    found[:k, k : 2 * k], found[k : 2 * k, :k] = odd, odd.T
    found[2 * k :, :k], found[:k, 2 * k :] = rest, rest.T
    found[2 * k :, k : 2 * k], found[k : 2 * k, 2 * k :] = -rest, -rest.T
    return found


def double_sizes(u_bar, v_bar, n):
    """The sizes of the columns of y_bar; only the first ones are not 0."""
    found = np.zeros(n)
    found[: u_bar.shape[1]] = ROOT * np.maximum(column_sizes(u_bar), column_sizes(v_bar))
    return found


def first_of_doubles(w, p, d, sizes, k):
    """`first_of_pairs`, ignoring the pair (u, v) and (u, -v) of one singular value.

    The sign of a singular value that is 0 up to rounding is unknown, and so is its derivative.
    """
    x, error = first_of_pairs(w, p, d, sizes)
    for j in range(k):
        x[j, k + j] = x[k + j, j] = error[j, k + j] = error[k + j, j] = 0.0
        if d[j] != 0.0 and 0.0 < w[j] <= UNSIGNED * k * largest_of(w):
            error[j, j] = abs(d[j]) / _ROUNDING
    return x, error


def is_singular_right(s, left, right, outside, u_bar, s_bar, v_bar, again):
    """Whether six digits are left of the cotangent of a matrix, or with `again` of its derivative."""
    k = s.size
    w, p = double_values(s, outside.shape[0]), double_cotangents(left, right, outside)
    d, sizes = np.zeros(w.size), double_sizes(u_bar, v_bar, w.size)
    d[:k], d[k : 2 * k] = 0.5 * s_bar, -0.5 * s_bar  # half for s and half for -s
    x, error = first_of_doubles(w, p, d, sizes, k)
    if again:
        if np.any(free_zeros(s, outside.shape[0] > 0)):
            return False
        c = double_rates(np.triu(np.ones((k, k)), 1), np.ones(outside.shape))
        return is_right_again(error, w, c, p, d)
    return is_cotangent_right(error, w, d, sizes, x)


def second_of_doubles(u, s, v, a_dot, first, second):
    """The change of the cotangent of a along a_dot, its error over 2^-52, and its usual size.

    `first` are the cotangents (u_bar, s_bar, v_bar), `second` their changes; a has at least as many rows as columns.
    """
    (u_bar, s_bar, v_bar), (u_more, s_more, v_more) = first, second
    k = s.size
    forth = np.dot(a_dot, v)
    e = np.ascontiguousarray(np.linalg.qr(np.concatenate((u, forth, u_bar, u_more), axis=1))[0][:, k:])
    c = double_rates(np.dot(u.T, forth), np.dot(e.T, forth))
    w = double_values(s, e.shape[1])
    p = double_cotangents(np.dot(u.T, u_bar), np.dot(v.T, v_bar), np.dot(e.T, u_bar))
    q = double_cotangents(np.dot(u.T, u_more), np.dot(v.T, v_more), np.dot(e.T, u_more))
    d, d_more = np.zeros(w.size), np.zeros(w.size)
    d[:k], d[k : 2 * k] = 0.5 * s_bar, -0.5 * s_bar
    d_more[:k], d_more[k : 2 * k] = 0.5 * s_more, -0.5 * s_more
    sizes, more = double_sizes(u_bar, v_bar, w.size), double_sizes(u_more, v_more, w.size)
    g, error = second_of_pairs(w, c, p, d, sizes)
    x, rest = first_of_doubles(w, q, d_more, more, k)
    total = g + x
    upper = np.concatenate((u / ROOT, u / ROOT, e), axis=1)
    lower = np.concatenate((v / ROOT, -v / ROOT, np.zeros((v.shape[0], e.shape[1]))), axis=1)
    return 2.0 * np.dot(np.dot(upper, total), lower.T), error + rest, size_along(w, c, p, d)


def along_matrix(factors, first, second, a_dot):
    """`along_direction` of a matrix with at least as many rows as columns: first and second are cotangents."""
    u, s, v = factors
    c = u.T @ a_dot @ v
    c = 0.5 * (c + c.T)
    s, r = part_equal(s, c, -1.0)
    u, v, c = u @ r, v @ r, r.T @ c @ r
    first, second = ((x @ r, d, y @ r) for x, d, y in (first, second))
    part, second = part_zero(u, s, v, first, second, a_dot)
    moved, error, usual = second_of_doubles(u, s, v, a_dot, first, second)
    moved = moved + part
    right = is_right(error, largest_of(moved) + usual) and not are_chosen(s, c, first[1], second[1])
    return moved if right else np.full(a_dot.shape, np.nan)


def free_zeros(s, has_outside):
    """The values that are 0; none if there is only one and no excess, because it then passes through 0 smoothly."""
    zero = s == 0.0
    return zero & (has_outside | (np.sum(zero, axis=-1, keepdims=True) > 1))


def part_of_zeros(u, zero, v, a_dot):
    """The part of a_dot between left and right vectors of zero singular values, including those outside u and v."""
    u, v = (np.where(zero[..., None, :], 0.0, x) for x in (u, v))
    part = a_dot - u @ (np.swapaxes(u, -1, -2).conj() @ a_dot)
    return part - (part @ v) @ np.swapaxes(v, -1, -2).conj()


def are_moved(u, zero, v, a_dot):
    """Whether that part is larger than rounding, for each matrix of a stack."""
    moving, size = (np.max(np.abs(x), axis=(-2, -1), initial=0.0) for x in (part_of_zeros(u, zero, v, a_dot), a_dot))
    return moving > NEAR * size


def rates_of_zeros(u, zero, v, a_dot):
    """The rates at which zero singular values grow along a_dot: the singular values of that part; 0 up to rounding."""
    part, count = part_of_zeros(u, zero, v, a_dot), np.sum(zero)
    if not np.all(np.isfinite(part)):
        return np.full(count, np.nan)
    rates = np.linalg.svd(part, compute_uv=False)[:count]
    return np.where(rates > NEAR * largest_of(a_dot), rates, 0.0)


def move_zeros(z_dot, z, a_dot):
    """The tangents of singular vectors and values; zero values move to the side to which a_dot points."""
    (m, n), moved = a_dot.shape[-2:], z_dot.copy()
    for k in np.ndindex(z.shape[:-2]):
        zero = free_zeros(z[k][m], m != n)
        if np.any(zero):
            moved[k][m, zero] = rates_of_zeros(z[k][:m], zero, z[k][m + 1 :], a_dot[k])
    return moved


def part_zero(u, s, v, first, second, a_dot):
    """(the change of the cotangent among vectors of zero singular values, `second` without it).

    These vectors are arbitrary: u and v may rotate, and the values grow at the rates of the singular values of the
    part b of a_dot. If a function has a second derivative, its cotangents there are 0 and grow by a common multiple of
    these rates, and the cotangent of a grows by this multiple of b. The result is nan if a rate is too small to
    determine the multiple, or if the multiples differ.
    """
    zero, part = free_zeros(s, len(u) > len(v)), np.zeros(a_dot.shape)
    if not np.any(zero):
        return part, second
    rates, grown, ratio = rates_of_zeros(u, zero, v, a_dot), second[1][zero], np.nan
    if not (np.any(first[1][zero]) or np.any(rates) or np.any(grown)):
        ratio = 0.0
    elif not np.any(first[1][zero]) and np.min(rates) > 1e-7 * largest_of(a_dot):
        ratios = grown / rates
        ratio = ratios[0] if np.ptp(ratios) <= 1e-7 * largest_of(ratios) else np.nan
    return ratio * part_of_zeros(u, zero, v, a_dot), (second[0], np.where(zero, 0.0, second[1]), second[2])
