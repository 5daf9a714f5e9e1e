"""Products of recordings, by loops where they are small and by BLAS otherwise: the same numbers, masks and sums."""

import itertools

import numpy as np
import pytest
from numba import njit

import contad
from contad.kernels.product_kernels import FEW_IN_PLACE
from contad.kernels.recorded_products import pull_product
from contad.ops.products import left_cotangent, right_cotangent

DRAW = np.random.default_rng(57)
SIZES = [(1, 1, 1), (2, 2, 1), (1, 3, 2), (2, 3, 4), (5, 5, 5), (1, 17, 1), (7, 6, 8), (9, 1, 40)]
TURNS = list(itertools.product([False, True], repeat=2))


@njit
def pull(z_bar, a, a_bar, a_turned, b, b_bar, b_turned, m, p, n):
    a_at = np.int64(a_bar.ctypes.data) if a_bar.size else 0
    b_at = np.int64(b_bar.ctypes.data) if b_bar.size else 0
    pull_product(z_bar.ctypes.data, a.ctypes.data, a_at, a_turned, b.ctypes.data, b_at, b_turned, m, p, n)


def lying(x, turned):
    """A matrix as it lies in cells."""
    return np.ascontiguousarray(x.T if turned else x)


def test_there_are_sizes_on_both_sides():
    sizes = [m * p * n for m, p, n in SIZES]
    assert min(sizes) < FEW_IN_PLACE < max(sizes)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_adjoints_are_added_and_a_zero_masks(size, turns):
    m, p, n = size
    a, b, z_bar = DRAW.normal(size=(m, p)), DRAW.normal(size=(p, n)), DRAW.normal(size=(m, n))
    if min(m, n) > 1:
        a[1, 0], z_bar[1] = np.inf, 0.0
        b[0, 1], z_bar[:, 1] = np.nan, 0.0
    with np.errstate(invalid="ignore"):
        of_a, of_b = left_cotangent(z_bar, (m, p), b), right_cotangent(z_bar, a, (p, n))
    for is_left, is_right in ((True, True), (True, False), (False, True), (False, False)):
        a_bar, b_bar = np.ones((m, p) if is_left else (0, 0)), np.ones((p, n) if is_right else (0, 0))
        a_bar, b_bar = lying(a_bar, turns[0]), lying(b_bar, turns[1])
        pull(z_bar, lying(a, turns[0]), a_bar, turns[0], lying(b, turns[1]), b_bar, turns[1], m, p, n)
        for bar, wanted, turned in ((a_bar, of_a, turns[0]), (b_bar, of_b, turns[1])):
            if bar.size:
                np.testing.assert_allclose(bar.T if turned else bar, 1.0 + wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", [(3, 2), (12, 11)])
def test_both_factors_may_be_the_same_numbers(shape, turned):
    x, bar = DRAW.normal(size=shape), np.zeros(shape)
    m, p = shape[::-1] if turned else shape
    z_bar = DRAW.normal(size=(m, m))
    pull(z_bar, x, bar, turned, x, bar, not turned, m, p, m)
    both = z_bar + z_bar.T
    np.testing.assert_allclose(bar, x @ both if turned else both @ x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_recorded_products_are_those_of_eager_ones(size):
    m, p, n = size
    fixed = DRAW.normal(size=(p, n))

    def f(a, b):
        both = np.sum(np.sin(a @ b)) + np.sum(np.cos(b.T @ a.T)) + np.sum(np.sin(a @ a.T)) + np.sum(np.cos(b.T @ b))
        return both + np.sum(np.sin(a @ fixed)) + np.sum(np.cos(fixed.T @ a.T)) + np.sum(np.sin(fixed @ (b.T @ a[0])))

    first, second = ((DRAW.normal(size=(m, p)), DRAW.normal(size=(p, n))) for _ in range(2))
    program = contad.record(f, *first)
    program._compile()
    for args in (first, second):
        value, gradient = program.value_and_grad(*args)
        wanted, adjoints = contad.value_and_grad(f, argnums=(0, 1))(*args)
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        for found, expected in zip(gradient, adjoints, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
