"""Products of narrow matrices by a few rows: those of all rows, whatever is not finite."""

import numpy as np
import pytest
from numba import njit

from contad.native import narrow_products
from contad.native.narrow_products import add_right_of_rows, put_product_of_rows, rows_together
from contad.native.product_adjoints import add_right

DRAW = np.random.default_rng(17)
SIZES = [(0, 3), (1, 3), (77, 4), (301, 1), (1003, 7), (1000, 20), (300, 127), (300, 130), (5, 0), (9001, 11)]


@njit
def both(z, z_bar, a, b, b_bar, rows):
    for first in range(0, len(a), rows):
        last = min(first + rows, len(a))
        put_product_of_rows(z, a, b, first, last)
        add_right_of_rows(z_bar, a, b_bar, first, last)


@njit
def count(a, b, b_bar):
    return rows_together(a, b, b_bar)


def check(a, b, z_bar, rows):
    z, b_bar = np.full(len(a), np.nan), DRAW.standard_normal(len(b))
    expected = b_bar.copy()
    with np.errstate(invalid="ignore"):
        add_right(z_bar, a, expected)
        both(z, z_bar, a, b, b_bar, rows)
        np.testing.assert_allclose(z, a @ b, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(b_bar, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rows", [1, 7, 13, 32, 0])
@pytest.mark.parametrize(("m", "p"), SIZES)
def test_rows_are_those_of_the_product(m, p, rows):
    a, b, z_bar = DRAW.standard_normal((m, p)), DRAW.standard_normal(p), DRAW.standard_normal(m)
    check(a, b, z_bar, rows or count(a, b, b))
    if p:
        z_bar[::5] = 0.0
        check(a, b, z_bar, rows or count(a, b, b))
        a[::10, p // 2] = np.inf
        check(a, b, z_bar, rows or count(a, b, b))


def test_rows_of_a_wider_matrix_are_apart():
    a, b, z_bar = DRAW.standard_normal((90, 30))[::-2, 3:12], DRAW.standard_normal(9), DRAW.standard_normal(45)
    assert count(a[:, :4], b, b) < 500
    check(a, b, z_bar, 13)


def test_rows_are_fetched_where_no_cache_holds_the_matrix():
    """But not what lies between rows of a part of a matrix, nor from the last row to the first."""
    ask = njit(lambda row, m, p: narrow_products.count_fetched(row, m, p))
    assert [ask(20, m, 20) for m in (500, 3276, 3277, 50_000)] == [0, 0, 160, 160]
    assert [ask(row, 50_000, 20) for row in (-20, 0, 39, 40, 41, 1000)] == [0, 0, 312, 320, 0, 0]
    a, b, z_bar = DRAW.standard_normal((9000, 30)), DRAW.standard_normal(20), DRAW.standard_normal(9000)
    for part in (a[:, :20], a[::-1, 3:23], a[:, :7]):
        check(part, b[: part.shape[1]], z_bar, 48)


def test_few_rows_fit_into_the_first_cache_and_others_go_all_at_once():
    a, b = np.ones((5000, 20)), np.ones(20)
    assert 16 <= count(a, b, b) <= 64
    assert count(np.ones((5000, 128)), np.ones(128), np.ones(128)) == 16
    wide = np.ones((5000, 129))
    assert count(wide, wide[0], wide[0]) == 5000
    apart = np.ones(40)[::2]
    for given in ((np.asfortranarray(a), b, b), (a[:, ::-1], b, b), (a, apart, b), (a, b, apart), (a[:, :0], b, b)):
        assert count(*given) == 5000
    assert count(a[:0, ::-1], b, b) == 1


def test_a_row_whose_adjoint_is_0_adds_nothing():
    a, b, z_bar, b_bar = np.ones((16, 8)), np.ones(8), np.ones(16), np.zeros(8)
    a[3, 2], z_bar[3] = np.nan, 0.0
    both(np.empty(16), z_bar, a, b, b_bar, 8)
    assert b_bar.tolist() == [15.0] * 8
    z_bar[3] = 1.0
    both(np.empty(16), z_bar, a, b, b_bar, 8)
    assert np.isnan(b_bar).tolist() == [k == 2 for k in range(8)]


def test_in_plain_python():
    a, b, z_bar, z, b_bar = np.ones((5, 2)), np.arange(2.0), np.arange(5.0), np.zeros(5), np.zeros(2)
    assert rows_together(a, b, b) == 5
    put_product_of_rows(z, a, b, 1, 3)
    add_right_of_rows(z_bar, a, b_bar, 1, 3)
    assert z.tolist() == [0.0, 1.0, 1.0, 0.0, 0.0] and b_bar.tolist() == [3.0, 3.0]
    assert narrow_products.find_count("contad.native.narrow_products:rows_together_at") != 0
