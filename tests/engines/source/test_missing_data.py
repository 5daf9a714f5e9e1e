"""Data that are nan or infinite, where no result depends on them: their elements take no part in a derivative.

A residual that is selected away has an adjoint of 0, and a partial that is nan; their product is 0.
"""

import numpy as np
import pytest
from numba import njit

import contad


@njit(error_model="numpy")
def quotient_where_it_is_large(x, c):
    r = abs(x[0] / (c - c))
    s = x[1] * c
    if r > 2.0:
        s = r
    return s


def test_a_selection_among_nan_that_is_not_taken():
    """Its partial is nan, not the 0 of what is not selected."""
    for engine in ("generated", "tape", "records"):
        found = contad.grad(quotient_where_it_is_large, (0, 1), engine=engine)(np.array([0.0, 3.0]), 2.0)
        np.testing.assert_array_equal(np.append(*found), [0.0, 2.0, 3.0])


@njit
def pair(p, d):
    r = p - d[0]
    q = p - d[1]
    return r * r, q * q


def test_a_result_without_a_cotangent():
    _, pullback = contad.vjp(pair, 0.7, np.array([1.5, np.nan]), engine="generated")
    assert pullback((1.0, 0.0))[0] == pytest.approx(-1.6, rel=1e-14)


@njit
def rows_in_use(x, y, a):
    z = a @ x
    w = a @ y
    return z[0] * w[0, 1] + w[2, 1] * z[2]


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_rows_of_a_product_that_are_not_used(engine):
    a = np.array([[1.5, 2.5], [np.inf, np.nan], [0.5, -1.0]])
    x, y = np.array([0.75, -2.0]), np.array([[0.5, 3.0], [1.25, 4.0]])
    z, w = a @ x, a @ y[:, 1]
    found = contad.grad(rows_in_use, (0, 1), engine=engine)(x, y, a)
    np.testing.assert_allclose(found[0], w[0] * a[0] + w[2] * a[2], rtol=1e-12)
    np.testing.assert_allclose(found[1], np.outer(z[0] * a[0] + z[2] * a[2], [0.0, 1.0]), rtol=1e-12)


@njit
def branches_of_missing_values(x, w):
    total = 0.0
    for i in range(x.size):
        r = w[i]
        if not x[i] <= 0.0:  # nan goes here
            r = w[i] * np.log(x[i])
        q = w[i] if x[i] < 0.0 else w[i] * x[i]
        if x[i] == x[i]:
            total += r * r + q
    return total


@njit
def one_way_or_the_other(x):
    total = 0.0
    for i in range(x.size):
        s = x[i] * x[i]
        if x[i] > 0.5:
            total += 2.0 * s
        else:
            total += s * x[i]
    return total


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_branches_whose_results_are_left_out(engine):
    x, w = np.array([np.nan, -1.0, 2.0]), np.array([1.0, 2.0, 0.5])
    by_x, by_w = contad.grad(branches_of_missing_values, (0, 1), engine=engine)(x, w)
    log = np.log(2.0)
    np.testing.assert_allclose(by_x, [0.0, 0.0, 2 * 0.25 * log / 2.0 + 0.5], rtol=1e-12)
    np.testing.assert_allclose(by_w, [0.0, 2 * 2.0 + 1.0, 2 * 0.5 * log**2 + 2.0], rtol=1e-12)


def test_adjoints_of_both_ways_are_not_masked():
    text = contad.source(contad.grad(one_way_or_the_other), np.array([0.5, 2.0]))
    assert "masked_product" not in text
    np.testing.assert_allclose(contad.grad(one_way_or_the_other)(np.array([0.5, 2.0])), [0.75, 8.0], rtol=1e-12)
