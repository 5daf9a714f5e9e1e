"""Three diagonals: rows that keep their order are solved without LAPACK, others by it; both give its numbers."""

import numpy as np
import pytest
import scipy.linalg
from scipy.linalg.lapack import dgttrf

from contad.kernels.triangular_kernels import factor_banded, height_of_factors, solve_factored_band

DRAW = np.random.default_rng(43)


def factorise(ab):
    made = np.full((height_of_factors(1, 1), ab.shape[1]), np.nan)
    report = factor_banded(1, 1, ab, made)
    return made, report, made[-1].view(np.int32)[0] == 0


def solve(made, b, transposed):
    c = b.copy()
    solve_factored_band(1, 1, made, c, transposed)
    return c


def diagonals(n, dominance):
    ab = np.random.default_rng(n).standard_normal((3, n))  # each size needs an exchange of rows
    ab[1] = dominance + 0.1 * ab[1] if dominance else 0.2 * ab[1]
    return ab


def matrix_of(ab):
    return np.diag(ab[1]) + np.diag(ab[0, 1:], 1) + np.diag(ab[2, :-1], -1)


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("dominance", [0.0, 4.0])
@pytest.mark.parametrize("columns", [1, 3])
def test_both_ways_solve_the_system_and_its_transpose(n, dominance, columns):
    ab, b = diagonals(n, dominance), DRAW.standard_normal((n, columns))
    before = ab.copy()
    made, report, in_order = factorise(ab)
    assert (report, in_order) == (0, dominance > 0.0)
    a = matrix_of(ab)
    np.testing.assert_allclose(a @ solve(made, b, False), b, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(a.T @ solve(made, b, True), b, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(ab, before)


def test_the_factors_are_lapacks():
    ab = diagonals(40, 4.0)
    multipliers, pivots, above, *_ = dgttrf(ab[2, :-1], ab[1], ab[0, 1:])
    made, *_ = factorise(ab)
    np.testing.assert_array_equal(made[0, :-1], multipliers)
    np.testing.assert_array_equal(made[1], 1.0 / pivots)
    np.testing.assert_array_equal(made[2, :-1], above)


@pytest.mark.parametrize("k", [0, 7, 19])
@pytest.mark.parametrize("pivot", [0.0, 1e-310, np.nan])
def test_a_pivot_that_has_no_reciprocal_is_left_to_lapack(k, pivot):
    ab = diagonals(20, 4.0)
    ab[0] = ab[2] = 0.0
    ab[1, k] = pivot
    _, report, in_order = factorise(ab)
    assert not in_order
    assert report == dgttrf(ab[2, :-1], ab[1], ab[0, 1:])[-1]


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_products_of_large_or_small_numbers_are_not_lost(scale):
    ab, b = diagonals(20, 4.0), DRAW.standard_normal((20, 1))
    made, _, in_order = factorise(scale * ab)
    assert in_order
    expected = scipy.linalg.solve_banded((1, 1), ab, b)
    np.testing.assert_allclose(solve(made, scale * b, False), expected, rtol=1e-12)
