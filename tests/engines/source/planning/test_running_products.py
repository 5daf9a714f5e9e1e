"""Running products whose order is open are reversed by division where no factor is 0, and else like other loops."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from numba import njit

import contad

reassociating = njit(fastmath={"reassoc", "arcp", "contract", "nsz"})


def product(x):
    result = 1.0
    for i in range(len(x)):
        result *= x[i]
    return result


def of_terms(x, a):
    before = 2.0
    for i in range(1, len(x)):
        t = x[i] * a - x[i - 1]
        before = t * before
    after = 1.0
    for i in range(len(x) - 1, -1, -1):
        after *= x[i]
    return before * a + after * after


def read_within(x):  # the product is read in its loop
    result, total = 1.0, 0.0
    for i in range(len(x)):
        result *= x[i]
        total += result
    return total


def twice(x):  # the factor depends on the product
    result = 1.5
    for i in range(len(x)):
        result *= x[i] * result
    return result


def stored(x):  # its loop stores a factor as well
    result = 1.0
    for i in range(len(x)):
        result *= np.exp(x[i])
    return result


PRODUCT, TERMS = reassociating(product), reassociating(of_terms)
FACTORS = st.one_of(
    st.floats(-3.0, 3.0), st.sampled_from([0.0, -0.0, 1e-300, 5e-324, 1e300, np.inf, -np.inf, np.nan, 1.0, -2.0])
)


@settings(max_examples=300, deadline=None)
@given(st.lists(FACTORS, min_size=1, max_size=9))
@example([2.0, 0.0, 3.0])
@example([0.0, 2.0, 0.0])
@example([np.inf, 2.0, 3.0])
@example([np.nan, 2.0, 3.0])
def test_the_gradient_is_that_of_the_loop_in_order(factors):
    x = np.array(factors)
    value, gradient = contad.value_and_grad(PRODUCT)(x)
    with np.errstate(all="ignore"):
        whole = [np.prod(np.delete(x, k)) for k in range(len(x))]
        sizes = np.abs(x[np.isfinite(x) & (x != 0.0)])
        # else a partial product overflows in one order, and not in another
        if np.prod(np.maximum(sizes, 1.0)) < 1e300 and np.prod(np.minimum(sizes, 1.0)) > 1e-300:
            assert np.allclose(value, np.prod(x), rtol=1e-14, equal_nan=True)
            assert np.allclose(gradient, whole, rtol=1e-14, atol=0.0, equal_nan=True)


@pytest.mark.parametrize(
    "x", [[1e-200, 1e-200, 3.0], [1e-160, 1e-155, 3.0], [1e200, 1e200, 3.0], [1e300, 1e300, 1e-300]]
)
def test_products_that_are_no_normal_number(x):
    value, gradient = contad.value_and_grad(PRODUCT)(np.array(x))
    a, b, c = x
    assert value == pytest.approx(a * b * c, abs=1e-322) and np.allclose(gradient, [b * c, a * c, a * b], atol=0.0)


@pytest.mark.parametrize("x", [[0.5, 1.25, -2.0, 0.75], [0.5, 0.0, 2.0, 1.0], [2.0, 1.0, 0.5, 0.25]])
def test_factors_of_several_terms(x):
    x, a = np.array(x), 0.5  # the last has a factor of 0 in the first loop, and the second none in the second
    found, expected = contad.value_and_grad(TERMS, (0, 1))(x, a), contad.value_and_grad(of_terms, (0, 1))(x, a)
    assert found[0] == pytest.approx(expected[0], rel=1e-14)
    assert np.allclose(found[1][0], expected[1][0], rtol=1e-14) and found[1][1] == pytest.approx(expected[1][1])
    hessian, reference = contad.hessian(TERMS)(x, a), contad.hessian(of_terms)(x, a)
    assert np.allclose(hessian, reference, rtol=1e-13, atol=1e-14)
    assert np.allclose(contad.vjp(TERMS, x, a)[1](2.0)[0], 2.0 * expected[1][0], rtol=1e-14)


def test_nothing_is_stored_and_no_iteration_waits_where_the_order_is_open():
    x = np.linspace(0.5, 1.5, 7)
    text = contad.source(contad.value_and_grad(PRODUCT), x)
    divided, stored_part = text.split("else:\n")
    assert "work[" not in divided and "whole / t" in divided and "work[" in stored_part
    assert text.count("for i in range(x_length):") == 3 and text.count("range(x_length - 1, -1, -1)") == 1
    assert contad.source(contad.value_and_grad(TERMS, (0, 1)), x, 0.5).count("if 2.2250738585072014e-308 <=") == 2


@pytest.mark.parametrize("f", [njit(product), *map(reassociating, (read_within, twice, stored))])
def test_other_loops_are_reversed_as_before(f):
    x = np.array([0.5, 1.25, -0.5, 0.75])
    assert "whole" not in contad.source(contad.grad(f), x)
    assert np.allclose(contad.grad(f)(x), contad.grad(f.py_func)(x), rtol=1e-14)
