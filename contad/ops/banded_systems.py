"""Systems with banded matrices, in SciPy's storage: row d of `ab` holds the diagonal `upper - d`, by columns."""

import numpy as np

from contad.ops._scipy import linalg
from contad.ops.cotangents import all_finite
from contad.ops.factors import factorise_band, factorise_positive_band, known_band, known_positive_band
from contad.ops.linear_systems import as_columns, conj_of, mask, real_of
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import COMPLEX, HERMITIAN, dtype_beside, is_float64

_TRI = [[0.0, 0.6, -0.8, 0.3], [2.3, 3.1, 2.7, 1.9], [0.4, -0.5, 0.7, 0.0]]
_WIDE = [[0.0, 0.0, 0.5, -0.3], [0.0, 0.6, -0.8, 0.3], [2.3, 3.1, 2.7, 1.9], [0.4, -0.5, 0.7, 0.0]]
_HALF = [[2.3, 3.1, 2.7, 1.9], [0.4, -0.5, 0.7, 0.0], [0.3, 0.2, 0.0, 0.0]]
_UPPER = [[0.0, 0.4, -0.5, 0.7], [2.3, 3.1, 2.7, 1.9]]
_B = [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9], [0.8, 0.3]]


@array_rule(
    dtypes=COMPLEX,
    points=[
        (_TRI, [0.6, 1.7, -0.2, 0.9], {"lower": 1, "upper": 1}),
        (_WIDE, _B, {"lower": 1, "upper": 2}),
        ([[2.3, 3.1, 2.7, 1.9]], _B, {"lower": 0, "upper": 0}),
    ]
)
def banded_solution(ab, b, *, lower, upper):
    """The solution of a z = b for a banded matrix a, a_ij = ab[upper + i - j, j]; scipy.linalg.solve_banded calls it.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-T z_bar,     ab_bar: -b_bar z^T in the band

    Shapes:  ab (lower + upper + 1, n), b (n,) or (n, k) -> z like b. Elements of ab outside the matrix are not read.
    Domain:  nonsingular a.
    Raises:  LinAlgError if a is singular, ValueError if the shapes do not fit.
    Cost:    O(n (lower + upper)^2) forward, O(n k (lower + upper)) in reverse from the saved factors.
    Ref:     Giles (2008), section 2.3.1, on the elements of the band.

    >>> banded_solution(np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([4.0, 8.0]), lower=0, upper=1)
    array([1., 2.])
    """
    factor = known_band(ab, lower, upper)
    if factor is not None and is_side(b, ab):
        return factor.solve(b, False)
    return linalg().solve_banded((lower, upper), ab, b, check_finite=False)


@banded_solution.forward
def banded_solution_forward(ab, b, *, lower, upper):
    factor = factorise_band(ab, lower, upper)
    if factor is not None and are_numbers(ab, b) and is_side(b, ab):
        return factor.solve(b, False), factor
    return banded_solution(ab, b, lower=lower, upper=upper), factor


@banded_solution.common
def banded_solution_common(z, z_bar, ab, b, saved, *, lower, upper):
    return banded_back(ab, z_bar, saved, lower, upper)


@banded_solution.vjp("ab")
def banded_solution_vjp_ab(z, z_bar, ab, b, saved, common, *, lower, upper):
    return band_of_product(-common, z, lower, upper)


@banded_solution.vjp("b")
def banded_solution_vjp_b(z, z_bar, ab, b, saved, common, *, lower, upper):
    return common


@banded_solution.jvp
def banded_solution_jvp(z, ab_dot, b_dot, ab, b, saved, *, lower, upper):
    return banded_solution(ab, b_dot - banded_product(ab_dot, z, lower, upper), lower=lower, upper=upper)


# ---- positive definite matrices --------------------------------------------------------------------------------------
@array_rule(
    dtypes=HERMITIAN,
    points=[
        (_UPPER, [0.6, 1.7, -0.2, 0.9], {"lower": False}),
        (_HALF, _B, {"lower": True}),
        ([[2.3, 3.1, 2.7, 1.9]], _B, {"lower": True}),
    ]
)
def positive_banded_solution(ab, b, *, lower):
    """The solution of a z = b for a positive definite banded matrix; ab holds one half of the band.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-1 z_bar,
        ab_bar: -b_bar z^T in the half of the band, with the other half added

    Shapes:  ab (width + 1, n), the lower half of the band (lower) or the upper one, b (n,) or (n, k) -> z like b.
             Elements of ab outside the matrix are not read.
    Domain:  positive definite a, which is Hermitian if it is complex.
    Raises:  LinAlgError if a is not positive definite, ValueError if the shapes do not fit.
    Cost:    O(n width^2) forward, O(n k width) in reverse from the saved factor.
    Ref:     Giles (2008), section 2.3.1, on the elements of the band.

    >>> positive_banded_solution(np.array([[4.0, 9.0], [2.0, 0.0]]), np.array([8.0, 20.0]), lower=True)
    array([1., 2.])
    """
    factor = known_positive_band(ab, lower)
    if factor is not None and is_side(b, ab):
        return factor.solve(b)
    return linalg().solveh_banded(ab, b, lower=lower, check_finite=False)


@positive_banded_solution.forward
def positive_banded_solution_forward(ab, b, *, lower):
    factor = factorise_positive_band(ab, lower) if np.ndim(ab) == 2 and is_side(b, ab) else None
    if factor is not None and are_numbers(ab, b):
        return factor.solve(b), factor
    return positive_banded_solution(ab, b, lower=lower), factor


@positive_banded_solution.common
def positive_banded_solution_common(z, z_bar, ab, b, saved, *, lower):
    return positive_banded_back(ab, z_bar, saved, lower)


def positive_banded_back(ab, z_bar, factor, lower):
    """The cotangent of b, from the saved factor if it consists of numbers."""
    if factor is not None and are_numbers(ab, z_bar):
        found = factor.solve(z_bar)
        if all_finite(found):
            return found
    columns = as_columns(z_bar, np.ndim(z_bar))
    return np.reshape(mask(columns, positive_banded_solution(ab, columns, lower=lower)), np.shape(z_bar))


@positive_banded_solution.vjp("ab")
def positive_banded_solution_vjp_ab(z, z_bar, ab, b, saved, common, *, lower):
    return -half_of_band(band_of_product(common, conj_of(z), np.shape(ab)[0] - 1, np.shape(ab)[0] - 1), lower)


@positive_banded_solution.vjp("b")
def positive_banded_solution_vjp_b(z, z_bar, ab, b, saved, common, *, lower):
    return common


@positive_banded_solution.jvp
def positive_banded_solution_jvp(z, ab_dot, b_dot, ab, b, saved, *, lower):
    change = banded_product(whole_band(ab_dot, lower), z, np.shape(ab)[0] - 1, np.shape(ab)[0] - 1)
    return positive_banded_solution(ab, b_dot - change, lower=lower)


def whole_band(half, lower):
    """The band of a symmetric or Hermitian matrix, from one half of it."""
    width = len(half) - 1
    other = conj_of(half)
    main = real_of(half[0 if lower else width])
    if lower:  # row d: the diagonal -d
        above = [move_rows(other[d], -d) for d in range(width, 0, -1)]
        return np.stack([*above, main, *(half[d] for d in range(1, width + 1))])
    below = [move_rows(other[width - d], d) for d in range(1, width + 1)]  # row d: the diagonal width - d
    return np.stack([*(half[d] for d in range(width)), main, *below])


def half_of_band(band, lower):
    """One half of a band with the other half added: the transpose of `whole_band`."""
    width = len(band) // 2
    main, other = real_of(band[width]), conj_of(band)
    if lower:
        return np.stack([main, *(band[width + d] + move_rows(other[width - d], d) for d in range(1, width + 1))])
    above = [band[width - d] + move_rows(other[width + d], -d) for d in range(width, 0, -1)]
    return np.stack([*above, main])


# ---- products with bands ---------------------------------------------------------------------------------------------
def is_side(b, ab):
    """Whether b is a right-hand side of a system with that band, and not empty."""
    return np.ndim(b) in (1, 2) and np.size(b) > 0 and np.shape(b)[0] == np.shape(ab)[1]


def banded_back(ab, z_bar, factor, lower, upper):
    """The cotangent of b; `factor` is that of ab, if there is one."""
    if factor is not None and are_numbers(ab, z_bar):
        found = factor.solve(z_bar, True)
        if all_finite(found):
            return found
    transposed = transposed_band(ab, lower, upper)
    columns = as_columns(z_bar, np.ndim(z_bar))
    return np.reshape(mask(columns, banded_solution(transposed, columns, lower=upper, upper=lower)), np.shape(z_bar))


def move_rows(x, k):
    """x with its rows moved up by k (down by -k), filled with zeros.

    >>> move_rows(np.array([1.0, 2.0, 3.0]), 1), move_rows(np.array([1.0, 2.0, 3.0]), -2)
    (array([2., 3., 0.]), array([0., 0., 1.]))
    """
    if k == 0:
        return x
    zeros = np.zeros((min(abs(k), len(x)), *np.shape(x)[1:]), dtype_beside(x))
    return np.concatenate([x[k:], zeros]) if k > 0 else np.concatenate([zeros, x[:k]])


def transposed_band(ab, lower, upper):
    """The band of the transposed matrix."""
    return np.stack([move_rows(ab[d], upper - d) for d in range(lower + upper, -1, -1)])


def banded_product(ab, x, lower, upper):
    """The product of a banded matrix with x."""
    columns = as_columns(x, np.ndim(x))
    total = move_rows(ab[0][:, None] * columns, upper)
    for d in range(1, lower + upper + 1):
        total = total + move_rows(ab[d][:, None] * columns, upper - d)
    return np.reshape(total, np.shape(x))


def band_of_product(x, y, lower, upper):
    """The band of x y^T, zeros outside the matrix."""
    if are_numbers(x, y) and x.ndim == 1:
        return _band_of_numbers(x, y, lower, upper)
    left, right = as_columns(x, np.ndim(x)), as_columns(y, np.ndim(y))
    return np.stack([np.sum(move_rows(left, d - upper) * right, axis=1) for d in range(lower + upper + 1)])


def _band_of_numbers(x, y, lower, upper):
    """The same for two vectors of numbers, row by row in place."""
    n = len(x)
    band = np.zeros((lower + upper + 1, n))
    for d in range(lower + upper + 1):
        k = d - upper
        if abs(k) < n:
            columns = slice(max(-k, 0), n - max(k, 0))
            np.multiply(x[max(k, 0) : n + min(k, 0)], y[columns], band[d, columns])
    return band


def are_numbers(*arrays):
    """Whether these are plain arrays of float64."""
    return all(map(is_float64, arrays))
