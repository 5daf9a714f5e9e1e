"""A product and its adjoints, compiled: these are those of the rule `contad.ops.matmul`, whatever is not finite."""

import numpy as np
import pytest
from numba import njit

from contad.kernels import product_kernels
from contad.kernels.products_in_place import add_product
from contad.kernels.rows.product_rows import add_left, add_right, put_product
from contad.ops.products import matmul
from tests.compile.watching import caller_of
from tests.kernels.drawn_matrices import laid_out

DRAW = np.random.default_rng(31)
# m, p, n: small ones are loops; 0 stands for a vector
SIZES = [(0, 3, 0), (4, 3, 0), (0, 3, 5), (4, 3, 5), (1, 3, 5), (4, 3, 1), (4, 1, 5), (12, 11, 13)]


@njit
def both(z_bar, a, b, a_bar, b_bar):
    add_left(z_bar, b, a_bar)
    add_right(z_bar, a, b_bar)


multiply = caller_of(put_product)


@njit
def multiply_in_place(a, b, c):
    add_product(-2.0, a, b, c)


def operands(m, p, n):
    """The factors of a product, and an adjoint of the result with a zero in it."""
    a, b = DRAW.standard_normal((m, p) if m else p), DRAW.standard_normal((p, n) if n else p)
    z_bar = DRAW.standard_normal(np.shape(a @ b))
    if z_bar.size > 1:
        z_bar.flat[1] = 0.0
    return z_bar if z_bar.ndim else float(z_bar), a, b


def expected(z_bar, a, b):
    """The rule's cotangents."""
    with np.errstate(invalid="ignore"):
        z = a @ b
        return [matmul.pull(name, z, z_bar, (a, b), {}) for name in "ab"]


def require_rule(z_bar, a, b, a_bar, b_bar):
    """The adjoints are added to, and are the rule's."""
    starts = a_bar.copy(), b_bar.copy()
    both(z_bar, a, b, a_bar, b_bar)
    for bar, start, wanted in zip((a_bar, b_bar), starts, expected(z_bar, a, b), strict=True):
        np.testing.assert_allclose(bar - start, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_adjoints_are_those_of_the_rule(size):
    z_bar, a, b = operands(*size)
    require_rule(z_bar, a, b, DRAW.standard_normal(a.shape), DRAW.standard_normal(b.shape))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [(4, 3, 0), (0, 3, 5), (4, 3, 5), (12, 11, 13), (31, 40, 0), (31, 40, 21)])
def test_a_zero_masks_what_is_not_finite(size, order):
    z_bar, a, b = operands(*size)
    a, b = np.asarray(a, order=order), np.asarray(b, order=order)
    if a.ndim == 2:
        a[1, 2], z_bar[1] = np.inf, 0.0
    if b.ndim == 2:
        b[1, 2], z_bar[..., 2] = np.nan, 0.0
    wanted = expected(z_bar, a, b)
    assert all(np.isfinite(x).all() for x in wanted)
    require_rule(z_bar, a, b, np.zeros(a.shape, order=order), np.zeros(b.shape, order=order))


def test_views_and_parts_are_followed_by_their_strides():
    z_bar, a, b = operands(4, 3, 5)
    wide = DRAW.standard_normal((8, 9))
    require_rule(np.asfortranarray(z_bar), a[:, ::-1], b.T.copy().T, wide[::2, 1:4], DRAW.standard_normal((5, 3)).T)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [(12, 11, 13), (40, 30, 0), (0, 30, 40), (17, 20, 1), (1, 20, 17)])
def test_large_operands_are_multiplied_where_they_lie(size, order):
    """In rows, in columns, as blocks of a larger array, backwards, and with steps that BLAS does not take."""

    def lie(x, kind):
        if kind == "block":
            wide = np.zeros([n + 3 for n in x.shape], order=order)
            part = wide[tuple(slice(2, 2 + n) for n in x.shape)]
        elif kind == "steps":
            part = np.zeros([2 * n for n in x.shape], order=order)[(slice(None, None, 2),) * x.ndim]
        elif kind == "backwards":
            part = np.zeros(x.shape, order=order)[::-1]
        else:
            part = np.zeros(x.shape, order=order)
        part[...] = x
        return part

    z_bar, a, b = operands(*size)
    for kinds in (
        ["whole"] * 5, ["block"] * 5, ["backwards", "whole", "whole", "whole", "block"],
        ["whole", "steps", "block", "whole", "steps"], ["block", "whole", "backwards", "steps", "whole"],
    ):  # fmt: skip
        bars = DRAW.standard_normal(a.shape), DRAW.standard_normal(b.shape)
        require_rule(*map(lie, (z_bar, a, b, *bars), kinds))


@pytest.mark.parametrize("size", [(3, 4), (40, 30), (1, 300), (300, 1), (0, 3), (3, 0)], ids=str)
def test_a_matrix_and_a_vector_are_multiplied_in_every_layout(size):
    m, n = size
    matrix, right, left = DRAW.standard_normal(size), DRAW.standard_normal(n), DRAW.standard_normal(m)
    for a in laid_out(matrix):
        for x, y in zip(laid_out(right), laid_out(left), strict=True):
            product, turned = np.full(m, np.nan), np.full(n, np.nan)
            multiply(product, a, x)
            multiply(turned, y, a)
            np.testing.assert_allclose(product, matrix @ right, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(turned, left @ matrix, rtol=1e-12, atol=1e-12)


def test_nothing_is_added_for_empty_factors():
    a_bar, b_bar = np.ones((2, 0)), np.ones((0, 3))
    both(np.ones((2, 3)), np.ones((2, 0)), np.ones((0, 3)), a_bar, b_bar)
    assert a_bar.shape == (2, 0) and b_bar.shape == (0, 3)


@pytest.mark.parametrize("size", SIZES[::3])
def test_outside_njit_they_are_the_rule_itself(size):
    z_bar, a, b = operands(*size)
    a_bar, b_bar = np.ones(a.shape), np.ones(b.shape)
    add_left(z_bar, b, a_bar)
    add_right(z_bar, a, b_bar)
    for bar, wanted in zip((a_bar, b_bar), expected(z_bar, a, b), strict=True):
        np.testing.assert_allclose(bar, wanted + 1.0, rtol=1e-12)


def test_the_sizes_here_are_multiplied_by_loops_and_by_a_routine():
    sizes = [m * p * n for m, p, n in SIZES]
    assert min(sizes) < product_kernels.FEW < max(sizes)


@pytest.mark.parametrize("size", [(1205, 50, 40), (50, 1205, 40), (50, 40, 1205)], ids=str)
def test_many_rows_go_in_panels(size):
    m, p, n = size
    a, b, z = DRAW.standard_normal((m, p)), DRAW.standard_normal((p, n)), DRAW.standard_normal((m, n))
    for left, right in ((a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b))):
        found = z.copy()
        multiply_in_place(left, right, found)
        np.testing.assert_allclose(found, z - 2.0 * a @ b, rtol=1e-11, atol=1e-11)
        turned = np.asfortranarray(z)
        multiply_in_place(left, right, turned)
        np.testing.assert_allclose(turned, found, rtol=1e-13, atol=1e-11)


@pytest.mark.parametrize("size", [(12, 11, 13), (300, 40, 90), (3, 5000, 17), (1, 30, 20), (20, 30, 1)], ids=str)
def test_matrices_are_multiplied_in_every_layout(size):
    m, p, n = size
    left, right = DRAW.standard_normal((m, p)), DRAW.standard_normal((p, n))
    for a, b in zip(laid_out(left), [*laid_out(right)][::-1], strict=True):
        product = np.full((m, n), np.nan)
        multiply(product, a, b)
        np.testing.assert_allclose(product, left @ right, rtol=1e-12, atol=1e-11)
