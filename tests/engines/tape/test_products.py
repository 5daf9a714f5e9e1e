"""Products of matrices: one record each, against the formulas by hand, in chains, in place, nested and after errors."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.compile.words import word
from contad.memory.arena import USED, arena
from tests.engines.tape.requests import state, value_and_grad, vjp

DRAW = np.random.default_rng(12)
A, B, C = DRAW.standard_normal((4, 3)), DRAW.standard_normal((3, 5)), DRAW.standard_normal((5, 4))


@njit
def chained(a, b, c, start):
    """Operands used twice, overwritten after use, a constant, and elements of the results."""
    z = a @ b
    w = np.dot(z, c)  # 4 x 4
    a[0] = 7.0  # which the product must not see
    u = w @ w.T
    before = start * z[1, 2]
    if start < 0.0:
        raise ValueError("a negative start")
    v = z.copy()
    v[2] = 0.0
    return np.sum(u) + before * w[3, 0] + np.sum(v @ c) + (a @ b)[0, 1]


def by_hand(a, b, c, start):
    """The same in plain NumPy, with the adjoints of every product."""
    z = a @ b
    w = z @ c
    overwritten = a.copy()
    overwritten[0] = 7.0
    v = z.copy()
    v[2] = 0.0
    value = np.sum(w @ w.T) + start * z[1, 2] * w[3, 0] + np.sum(v @ c) + (overwritten @ b)[0, 1]
    ones = np.ones((4, 4))
    w_bar = ones @ w + ones.T @ w
    w_bar[3, 0] += start * z[1, 2]
    v_bar = ones @ c.T
    v_bar[2] = 0.0
    z_bar = w_bar @ c.T + v_bar
    z_bar[1, 2] += start * w[3, 0]
    b_bar = a.T @ z_bar
    b_bar[:, 1] += overwritten[0]
    return value, (z_bar @ b.T, b_bar, z.T @ w_bar + v.T @ ones, z[1, 2] * w[3, 0])


def test_products_in_chains_agree_with_the_gradient_by_hand():
    value, gradient = value_and_grad(chained, A, B, C, 0.7, argnums=(0, 1, 2, 3))
    expected, expected_gradient = by_hand(A, B, C, 0.7)
    assert value == pytest.approx(expected, rel=1e-14)
    for found, right in zip(gradient, expected_gradient, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13)


@pytest.mark.long
def test_products_in_chains_of_which_other_operands_are_data():
    (b_bar,) = value_and_grad(chained, A, B, C, 0.7, argnums=(1,))[1]
    np.testing.assert_allclose(b_bar, by_hand(A, B, C, 0.7)[1][1], rtol=1e-12, atol=1e-13)


def test_an_exception_between_products_leaves_the_tape_as_it_was():
    before = state()
    with pytest.raises(ValueError, match="a negative start"):
        value_and_grad(chained, A, B, C, -0.7, argnums=(0, 1, 2, 3))
    assert state() == before
    value_and_grad(chained, A, B, C, 0.7, argnums=(0, 1, 2, 3))
    assert state() == before


@njit
def last(a, b):
    """An element of the last product is the result, and newer products do not matter."""
    z = a @ b
    newer = z @ z.T
    z[0, 0] = newer[0, 0]
    return (a @ b)[2, 1] if newer[1, 1] > 0.0 else newer[0, 1]


def test_the_result_is_an_element_of_a_product():
    _, (a_bar, b_bar) = value_and_grad(last, A, B, argnums=(0, 1))
    a_right, b_right = np.zeros((4, 3)), np.zeros((3, 5))
    a_right[2], b_right[:, 1] = B[:, 1], A[2]
    np.testing.assert_array_equal(a_bar, a_right)
    np.testing.assert_array_equal(b_bar, b_right)


@njit
def product(a, b):
    return a @ b


def test_pullback_of_a_product_and_an_element_that_is_not_finite():
    z_bar = DRAW.standard_normal((4, 5))
    a_bar, b_bar = vjp(product, (A, B), z_bar, argnums=(0, 1))
    np.testing.assert_allclose(a_bar, z_bar @ B.T, rtol=1e-13)
    np.testing.assert_allclose(b_bar, A.T @ z_bar, rtol=1e-13)
    bad, masked = A.copy(), z_bar.copy()
    bad[1, 0], masked[1] = np.inf, 0.0
    finite = np.where(np.isfinite(bad), bad, 0.0)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(vjp(product, (bad, B), masked, argnums=(1,))[0], finite.T @ masked, rtol=1e-13)


@njit
def cells_of_a_product(a, b):
    first = word(arena(), USED)
    z = a @ b
    return z[0, 0], word(arena(), USED) - first


def test_a_product_takes_records_for_its_elements_only():
    a, b = DRAW.standard_normal((20, 30)), DRAW.standard_normal((30, 40))
    (_, cells), _ = value_and_grad(cells_of_a_product, a, b, has_aux=True)
    assert cells == 20 * 30 + 30 * 40 + 20 * 40 + 2


def test_empty_and_constant_products():
    @njit
    def f(x):
        empty = np.zeros((0, 3)) @ np.zeros((3, 2))
        constant = np.ones((2, 3)) @ np.ones((3, 2))
        none = np.zeros((2, 0)) @ np.zeros((0, 2))
        return x * constant[0, 0] + empty.size + none[1, 1]

    assert contad.value_and_grad(f)(2.0) == (6.0, 3.0)
