"""Multiples of four rows that are added to earlier rows: those of one row after the other, whatever is not finite."""

import numpy as np
import pytest
from numba import njit

from contad.native.late_rows import add_late_rows, first_of_four

DRAW = np.random.default_rng(23)


@njit
def compiled(z_bar, weights, x, first):
    add_late_rows(z_bar, weights, x, first)


@njit
def begin(i, z_bar, weights, x):
    return first_of_four(i, z_bar, weights, x)


def draw(n, count):
    return DRAW.standard_normal((n, n + 3)), DRAW.standard_normal((4, count)), DRAW.standard_normal((n, n))


@pytest.mark.parametrize("first", [4, 8, 12, 40, 44])
@pytest.mark.parametrize("zeros", [0, 1, 7])
def test_each_row_up_to_its_diagonal(first, zeros):
    z_bar, weights, x = draw(50, 47)
    weights[:, :zeros] = 0.0
    weights[2, 5:7] = 0.0
    left, expected = weights.copy(), z_bar.copy()
    left[:, :first] = 0.0
    for j in range(first):
        expected[j, :j] += weights[:, j] @ x[first : first + 4, :j]
    for run in (compiled, add_late_rows):
        made, used = z_bar.copy(), weights.copy()
        run(made, used, x, first)
        np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(used, left)


def test_a_weight_of_zero_adds_nothing_and_another_all_that_is_there():
    z_bar, weights, x = draw(20, 20)
    x[9, 2] = np.inf
    weights[1] = 0.0
    whole, nans = z_bar.copy(), z_bar.copy()
    compiled(whole, weights.copy(), x, 8)
    assert np.isfinite(whole).all()
    weights[1, 6] = np.nan
    compiled(nans, weights, x, 8)
    assert np.isnan(nans[6, :6]).all() and np.isfinite(np.delete(nans, 6, 0)).all()


def test_rows_that_are_not_there_or_not_in_rows_do_not_wait():
    z_bar, weights, x = draw(20, 20)
    for run in (begin, first_of_four):
        assert [run(i, z_bar, weights, x) for i in (-5, -1, 0, 3, 4, 7, 8, 19)] == [0, 0, 0, 0, 4, 4, 8, 16]
        assert run(18, z_bar, weights, x[:19]) == 0
        assert run(18, z_bar[:15], weights, x) == run(18, z_bar[:, :15], weights, x) == 0
        assert run(18, z_bar, weights[:, :15], x) == run(18, z_bar, weights, x[:, :15].copy()) == 0
        assert run(18, z_bar, weights, x.T) == run(18, z_bar.T, weights, x) == 0
        assert run(18, z_bar[:16].copy(), weights, x) == 16
