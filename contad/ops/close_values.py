"""Spectra with close values: every derivative is right to six digits, or nan.

Two vectors rotate into each other at the rate c_ij / (w_j - w_i). A function that does not depend on the choice of
vectors multiplies this rate by a difference as small as the gap, which has few digits left after rounding. This module
estimates the rounding error, relative to the size that a derivative would have if all gaps were as large as the values.

Each function takes one matrix of numbers; `contad.kernels.close_spectra` has the same for compiled code. In f_ij = 1 /
(w_j - w_i), column j belongs to the vector with the cotangent. Gaps between vectors without cotangents are never used
as divisors.
"""

import ctypes
from collections.abc import Callable
from threading import get_ident

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.dtypes import Dtypes
from contad.variables.open_types import ArrayValue, Nested
from contad.variables.stack import attempt
from contad.variables.trees import flatten, holds_number

LEAST = 4.0 * 2.0**-52 / 1e-6  # a gap of this fraction of the largest value leaves six digits after division
CLOSE = 1e-4  # gaps of this fraction leave enough digits after division by their squares
NEAR = 1e-13  # values that differ by less than this fraction of the largest count as equal
UNEVEN = 1e-8  # cotangents that differ by less than this fraction of the largest count as equal
DOUBLE = Dtypes("dD", "equality and the digits that are left are measured in units of double precision", False)
LOST: set[int] = set()  # threads whose reverse sweep met a cotangent without six digits
BARRED: set[int] = set()  # threads that met one for which forward mode has no more digits
FILLED = 1000  # numbers of a derivative that forward mode completes; beyond this, nans stay
LOSSES = (ctypes.c_int64 * 1)()  # the number of losses, a word that machine code reads


def note_lost(barred: bool = False) -> None:
    """Note for the gradient in progress that its cotangent of a spectrum is nan because digits were lost.

    With `barred`, forward mode has no more digits either, so the gradient is not completed from there.
    """
    LOST.add(get_ident())
    if barred:
        BARRED.add(get_ident())
    LOSSES[0] += 1


def was_lost() -> bool:
    """Whether this thread has noted a loss since the last call, and forward mode may have more digits."""
    found = get_ident() in LOST and get_ident() not in BARRED
    LOST.discard(get_ident())
    BARRED.discard(get_ident())
    return found


def has_close(w, share, least=0.0):
    """Whether values differ by less than that fraction of the largest magnitude, or of `least`, in any row of w.

    >>> has_close(np.array([[1.0, 2.0], [3.0, 3.0]]), 1e-3)
    True
    """
    if w.dtype.kind == "c":
        gaps = np.abs(w[..., None, :] - w[..., :, None]) + np.diag(np.full(w.shape[-1], np.inf))
        most = np.max(np.abs(w), axis=-1, keepdims=True, initial=0.0)[..., None]
        return bool(np.any(gaps <= share * np.maximum(most, least)))
    ordered = np.sort(w, axis=-1)
    most = np.maximum(np.abs(ordered[..., :1]), np.abs(ordered[..., -1:]))
    return bool(np.any(np.diff(ordered, axis=-1) <= share * np.maximum(most, least)))


def column_sizes(x):
    """The largest magnitude in each column."""
    found = np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        if x.shape[0] > 0:
            found[j] = np.max(np.abs(x[:, j]))
    return found


def largest_of(x):
    """The largest magnitude in an array; 0 if it is empty."""
    return np.max(np.abs(x)) if x.size > 0 else 0.0


def gaps_of(w):
    """w_j - w_i in row i and column j; nan instead of 0."""
    gaps = np.reshape(w, (1, w.size)) - np.reshape(w, (w.size, 1))
    return np.where(gaps == 0.0, np.nan, gaps)


def first_of_pairs(w, p, d, sizes):
    """(x, error): the cotangent of a symmetric matrix in the basis of its eigenvectors, and its rounding error over
    2^-52.

        x_ij = f_ij (p_ij - p_ji) / 2,     x_ii = d_i,     p = v^T v_bar,     d = w_bar

    `sizes` are those of the columns of v_bar. Near values count as equal: if none of their vectors has a cotangent, the
    cotangents of the values are those in the present basis.
    """
    n, most = w.size, largest_of(w)
    gaps, same = gaps_of(w), np.eye(n) == 1.0
    pairs = np.reshape(sizes, (1, n)) + np.reshape(sizes, (n, 1))
    uneven = np.abs(np.reshape(d, (1, n)) - np.reshape(d, (n, 1)))
    x = np.where(same | (pairs == 0.0), 0.0, 0.5 * (p - p.conj().T) / gaps)
    noise = pairs + np.abs(x) * most + np.where(np.isnan(gaps), 0.0, uneven * most)
    error = np.where(same | (noise == 0.0), 0.0, noise / np.abs(gaps))
    tied = (np.isnan(gaps) | (np.abs(gaps) <= NEAR * most)) & (pairs == 0.0)  # they keep the present basis
    return x + np.diag(d), np.where(tied, 0.0, error)


def second_of_pairs(w, c, p, d, sizes):
    """(g, error): the change of the cotangent of a symmetric matrix along a direction, with p and d constant.

        g = (m + m^T) / 2 + n,     n_ij = c_ij f_ij (d_j - d_i),     c = v^T a_dot v,     z = f p,     o = f c
        m_ij = f_ij ((c z)_ij - z_ij c_jj - o_ij p_jj) + (o z^T)_ij,     m_ii = (o z^T)_ii - sum_k o_ki z_ki
    """
    n, most = w.size, largest_of(w)
    over, same = 1.0 / gaps_of(w), np.eye(n) == 1.0
    live = (np.reshape(sizes, (1, n)) + np.zeros((n, 1))) != 0.0
    sides, rates = np.reshape(sizes, (1, n)), np.reshape(np.diag(c), (1, n))
    z, o = np.where(live & ~same, p * over, 0.0), np.where(live & ~same, c * over, 0.0)
    m = np.where(live & ~same, over * (np.dot(c, z) - z * rates - o * np.reshape(np.diag(p), (1, n))), 0.0)
    m = m + np.dot(o, z.T) - np.diag(np.sum(o * z, axis=0))
    turning = (np.abs(c) > NEAR * largest_of(c)) & ~same
    d_row, d_column = np.reshape(d, (1, n)), np.reshape(d, (n, 1))
    values = turning & ((d_row != 0.0) | (d_column != 0.0))
    apart = np.where(values, c * over * (d_row - d_column), 0.0)

    over, c, o = np.abs(over), np.abs(c), np.abs(o)
    z = np.where(live & ~same, sides * over, 0.0)
    error = np.where(live & ~same, over * (np.dot(c, z) + z * np.abs(rates) + o * sides), 0.0) + np.dot(o, z.T)
    uneven = np.abs(d_row) + np.abs(d_column) + most * over * np.abs(d_row - d_column)
    error = error + error.T + np.where(values, c * over * uneven, 0.0)
    return 0.5 * (m + m.T) + apart, error


def differences_of(x):
    """The magnitude of x_j - x_i in row i and column j."""
    return np.abs(np.reshape(x, (1, x.size)) - np.reshape(x, (x.size, 1)))


def are_uneven(w, d, d_dot):
    """Whether near values have different cotangents d; their vectors are an arbitrary basis, and d depends on it.

    The cotangent of the matrix is then a choice, which has no derivative.
    """
    steps = differences_of(d) > UNEVEN * (largest_of(d) + largest_of(d_dot))
    return bool(np.any(steps & (differences_of(w) <= NEAR * largest_of(w))))


def lose_uneven(a_bar, w, d, *d_dots):
    """The cotangents of a stack of matrices, with nan for those that are a choice."""
    for k in np.ndindex(w.shape[:-1]):
        if all(are_uneven(w[k], d[k], x[k]) for x in d_dots):
            a_bar[k] = np.nan
    return a_bar


def are_chosen(w, c, d, d_dot):
    """Whether the change of that cotangent along a direction is a choice: the cotangents differ, or begin to differ.

    If they only begin to differ, the direction determines the vectors, provided it separates the values. c is diagonal
    among equal values; where it is 0 they do not separate, and the choice remains.
    """
    most = largest_of(c)
    together = (w[:, None] == w) & (differences_of(np.diag(c)) <= LEAST * most)
    begin = differences_of(d_dot) > UNEVEN * (largest_of(d) + largest_of(d_dot))
    return most > 0.0 and (are_uneven(w, d, d_dot) or bool(np.any(begin & together)))


def is_right(error, size):
    """Whether an error, in units of rounding, leaves six digits of a number of that size."""
    return bool(np.all(4.0 * 2.0**-52 * error <= 1e-6 * size)) if error.size > 0 else True


def first_size(w, d, sizes, least):
    """The size that a cotangent would have if all gaps were as large as the values, or as `least`."""
    most = max(largest_of(w), least)
    return largest_of(d) + (largest_of(sizes) / most if most > 0.0 else 0.0)


def is_cotangent_right(error, w, d, sizes, x):
    """Whether six digits are left of a cotangent x; if not, note it, because forward mode may have them.

    Forward mode does not have them if the function varies over a length much larger than the values: the rates of
    rotation are then large, and their contributions cancel.
    """
    usual = first_size(w, d, sizes, 1.0)
    right = is_right(error, usual + largest_of(x))
    if not right:
        note_lost(barred=first_size(w, d, sizes, 0.0) > 4.0 * usual)
    return right


def is_first_right(w, p, d, sizes, again):
    """Whether six digits are left of the result of `first_of_pairs`, or with `again` of its derivative."""
    x, error = first_of_pairs(w, p, d, sizes)
    most = largest_of(w)
    if again:
        part = (sizes != 0.0) | (d != 0.0)
        far = (np.abs(gaps_of(w)) > NEAR * most) | (np.eye(w.size) == 1.0)
        if not np.all(far | ~(np.reshape(part, (1, w.size)) | np.reshape(part, (w.size, 1)))):
            return False
        return is_right_again(error, w, 1.0 - np.eye(w.size), p, d)
    return is_cotangent_right(error, w, d, sizes, x)


def is_right_again(error, w, c, p, d):
    """Whether six digits are left of the change of a cotangent with this rounding error, along any c."""
    error = error + np.abs(np.reshape(d, (1, w.size))) + np.abs(np.reshape(d, (w.size, 1)))
    return is_right(np.where((c == 0.0) | (error == 0.0), 0.0, error / np.abs(gaps_of(w))), size_along(w, c, p, d))


def size_along(w, c, p, d):
    """The usual size of the change of a cotangent, for a function that varies over a length of 1 or of the values.

    p - p^T is what a rotation of all vectors leaves. For values smaller than 1 the terms of the change may be much
    larger and cancel, as for exp(a) with small a.
    """
    most = largest_of(w)
    return largest_of(c) / max(most, 1.0) * (largest_of(d) + largest_of(p - p.conj().T) / most) if most > 0.0 else 0.0


def are_lost(w, c, again=False):
    """The pairs whose rotation c_ij / (w_j - w_i) is so fast that it leaves less than six digits of other terms.

    If c is differentiated `again`, other vectors rotate as well.
    """
    n, most, size = w.size, max(largest_of(w), float(again)), largest_of(c)
    lost = np.zeros((n, n)) == 1.0
    if most > 0.0 and (size > 0.0 or again):
        gaps = np.abs(np.reshape(w / most, (1, n)) - np.reshape(w / most, (n, 1)))
        rates = np.maximum(np.abs(c), np.abs(c.T)) / size if size > 0.0 else np.ones((n, n))
        rates = np.where((gaps > 0.0) & again, 1.0, rates)
        lost = (rates > NEAR) & (LEAST * rates > gaps) & (np.eye(n) == 0.0)
    return lost


def part_equal(w, c, order):
    """(w, r): w with near values made equal, and the r that makes the symmetric c diagonal among them: r^T c r.

    w increases if `order` is 1 and decreases if it is -1. Equal values separate by the diagonal of r^T c r, in that
    order. If no two are near, r is the identity.
    """
    n, most = w.size, largest_of(w)
    equal, r, start = w.copy(), np.eye(n, dtype=c.dtype), 0
    if not np.all(np.isfinite(c)):
        return equal, r
    for end in range(1, n + 1):
        if end == n or abs(w[end] - w[end - 1]) > NEAR * most:
            if end - start > 1:
                r[start:end, start:end] = np.linalg.eigh(order * c[start:end, start:end])[1]
                equal[start:end] = w[start]
            start = end
    return equal, r


def along_direction(z, z_bar, bar, a_dot):
    """The change of the cotangent of a symmetric matrix along a_dot, if that of its spectrum changes by `bar`; or nan.

    The eigenvectors of equal eigenvalues are an arbitrary basis. This is the change in the basis in which v^T a_dot v
    is diagonal among them; they separate by its diagonal.
    """
    w, v = z[0], z[1:]
    c = v.T @ a_dot @ v
    c = 0.5 * (c + c.T)
    w, r = part_equal(w, c, 1.0)
    v, c, v_bar, v_bar_dot = v @ r, r.T @ c @ r, z_bar[1:] @ r, bar[1:] @ r
    p, sizes, more = v.T @ v_bar, column_sizes(v_bar), column_sizes(v_bar_dot)
    g, error = second_of_pairs(w, c, p, z_bar[0], sizes)
    x, rest = first_of_pairs(w, v.T @ v_bar_dot, bar[0], more)
    size = size_along(w, c, p, z_bar[0]) + largest_of(g + x)
    right = is_right(error + rest, size) and not are_chosen(w, c, z_bar[0], bar[0])
    return v @ (g + x) @ v.T if right else np.full(a_dot.shape, np.nan)


# ---- gradients that have lost digits ---------------------------------------------------------------------------------
# The cotangent of a matrix is nan, because rounding hides its part among the close vectors. Most gradients do not need
# that part: for a kernel matrix of nearly low rank, it is multiplied by a tangent that is 0 there up to rounding.
# Forward mode sees this tangent, and a reverse sweep does not. So forward mode recomputes the entries that are nan.


def fill_lost(found: Nested, forward: Callable[[], Nested]) -> Nested:
    """A derivative by reverse mode, with forward mode in place of nans; both have the same numbers in the same
    order."""
    tree = flatten(found)
    if holds_number(found) or sum(map(np.size, tree.leaves)) > FILLED:
        return found
    if not any(np.isnan(x).any() for x in tree.leaves):
        return found
    try:
        with attempt():
            others = flatten(forward()).leaves
    except UnsupportedError:  # a rule without forward mode
        return found
    leaves = []
    for x, other in zip(tree.leaves, others, strict=True):
        known = np.where(np.isnan(x), other, x)
        leaves.append(known if isinstance(x, np.ndarray) else float(known))
    return tree.unflatten(leaves)


def fill_lost_if_same(found: Nested, value: Nested, forward: Callable[[], tuple[Nested, Nested]]) -> Nested:
    """`fill_lost`, if forward mode has the same value: a function may draw random numbers, or read changed data."""

    def of_same_function() -> Nested:
        derivative, again = forward()
        pairs = zip(flatten(value).leaves, flatten(again).leaves, strict=True)
        return derivative if all(np.allclose(x, y, 1e-9, 0.0, equal_nan=True) for x, y in pairs) else found

    return fill_lost(found, of_same_function)


def contract(z_bar: Nested, jacobian: Nested) -> list[ArrayValue]:
    """The cotangents of all numbers of the arguments, from that of the result and the Jacobian by a tuple of them."""
    bars, matrices = flatten(z_bar).leaves, flatten(jacobian).leaves
    count = len(matrices) // max(len(bars), 1)
    return [
        sum(np.tensordot(bar, matrices[k * count + n], np.ndim(bar)) for k, bar in enumerate(bars))
        for n in range(count)
    ]
