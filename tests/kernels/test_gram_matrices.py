"""The product of a matrix with its transpose, and its adjoint: what the rule `contad.ops.matmul` has for two."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.kernels.gram_matrices import add_gram, gram
from contad.ops.products import matmul
from tests.kernels.drawn_matrices import laid_out

DRAW = np.random.default_rng(37)
SHAPES = [(1, 1), (4, 3), (3, 4), (50, 20), (20, 50)]


@njit
def run(x, z_bar, x_bar):
    add_gram(z_bar, x, x_bar)
    return gram(x)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_product(shape):
    x, z_bar = DRAW.standard_normal(shape), DRAW.standard_normal((shape[1], shape[1]))
    wanted = matmul.pull("a", x.T @ x, z_bar, (x.T, x), {}).T + matmul.pull("b", x.T @ x, z_bar, (x.T, x), {})
    for lain in laid_out(x):
        for f in (run, run.py_func):
            start = DRAW.standard_normal(shape)
            x_bar, operand = start.copy(), z_bar.copy()
            z = f(lain, operand, x_bar)
            np.testing.assert_allclose(z, x.T @ x, rtol=1e-12, atol=1e-13)
            np.testing.assert_array_equal(z, z.T)
            np.testing.assert_allclose(x_bar - start, wanted, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(operand, z_bar)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_products_of_empty_matrices_are_zero(shape):
    x, x_bar = np.empty(shape), np.ones(shape)
    z = run(x, np.ones((shape[1], shape[1])), x_bar)
    np.testing.assert_array_equal(z, np.zeros((shape[1], shape[1])))
    np.testing.assert_array_equal(x_bar, np.ones(shape))


@pytest.mark.parametrize("shape", [(4, 3), (30, 20)])
def test_a_zero_masks_what_is_not_finite(shape):
    x, z_bar, x_bar = DRAW.standard_normal(shape), DRAW.standard_normal((shape[1], shape[1])), np.zeros(shape)
    x[2, 1], z_bar[1], z_bar[:, 1] = np.inf, 0.0, 0.0
    with np.errstate(invalid="ignore"):
        z = run(x, z_bar, x_bar)
        np.testing.assert_array_equal(np.isfinite(z), np.isfinite(x.T @ x))
    others = np.delete(np.arange(shape[1]), 1)
    part = x[:, others]
    np.testing.assert_allclose(x_bar[:, others], part @ (z_bar + z_bar.T)[np.ix_(others, others)], rtol=1e-11)
    np.testing.assert_array_equal(x_bar[:, 1], 0.0)


def normal_equations(x, w):
    """Both products of x with its transpose; x is written after one of them."""
    first = x.T @ x
    second = x @ x.T
    x[0, 1] = w * first[0, 1]
    third = x.T @ x
    return np.sum(first * first) * w + second[0, 1] * second[1, 2] + np.sum(third * first) / (1.0 + second[0, 0])


def scaled(x, w):
    """What only looks like it: the transpose of another matrix, and of itself before it was written."""
    y = w * x
    turned = x.T.copy()
    x[1, 0] = w
    return np.sum((x.T @ y) ** 2) + np.sum((y.T @ x) * w) + np.sum((turned @ x) ** 3)


@pytest.mark.parametrize("f", [normal_equations, scaled])
def test_generated_programs_agree_with_the_eager_ones(f):
    for x in (DRAW.standard_normal((5, 3)), DRAW.standard_normal((20, 30))):
        expected = contad.grad(lambda x, w: f(x * 1.0, w), argnums=(0, 1), engine="matrix")(x, 0.7)
        compiled = njit(f)
        written = contad.grad(_on_a_copy(compiled), argnums=(0, 1), engine="generated")(x, 0.7)
        for found, wanted in zip(written, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def _on_a_copy(f):
    @njit
    def copied(x, w):
        return f(x.copy(), w)

    return copied


def test_only_a_matrix_and_its_own_transpose_are_one_operation():
    rows = contad.source(njit(normal_equations), np.ones((3, 3)), 1.0)
    assert rows.count("add_gram(") >= 2 and rows.count("= gram(") >= 2
    assert "gram(" not in contad.source(njit(scaled), np.ones((3, 3)), 1.0)
