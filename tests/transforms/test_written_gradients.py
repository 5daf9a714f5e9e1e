"""Gradients that are written into arrays of the caller's: the same numbers, no other memory, and what is refused."""

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python as _nrt, rtsys

import contad
from contad import grad, value_and_grad


@njit
def chain(x, w):  # a loop that stores nothing but numbers
    total = 0.0
    for k in range(1, len(x)):
        total += w[k] * (x[k] - x[k - 1] ** 2) ** 2 + np.sin(x[k])
    return total


def plainly(x, w):
    return np.sum(w[1:] * (x[1:] - x[:-1] ** 2) ** 2 + np.sin(x[1:]))


@njit
def power(x, p):
    return np.sum(x * x) ** p


X, W = np.array([0.5, -1.0, 2.0, 0.25]), np.array([1.0, 2.0, 0.5, 3.0])
into, value_into = grad(chain, out=True), value_and_grad(chain, out=True)


@njit
def descend(x, w, out):
    for _ in range(3):
        value, out = value_into(x, w, out)
        for k in range(len(x)):
            x[k] -= 0.01 * out[k]
    return value


def count_allocations():
    _nrt.memsys_enable_stats()
    return rtsys.get_allocation_stats().alloc


def test_it_is_the_gradient_and_no_memory_is_asked_for():
    out = np.full(4, 7.0)
    assert into(X, W, out=out) is out and np.array_equal(out, grad(chain)(X, W))
    assert np.allclose(out, grad(plainly)(X, W), rtol=1e-14)
    before = count_allocations()
    for _ in range(10):
        into(X, W, out)
    # Numba notes each of three arrays that come from Python
    assert count_allocations() == before + 30 and np.array_equal(out, grad(chain)(X, W))


def test_compiled_code_keeps_its_array():
    x, out = X.copy(), np.empty(4)
    value = descend(x, W, out)
    before = count_allocations()
    descend(x, W, out)
    assert count_allocations() == before + 3  # those of the call from Python, and none in its loop
    x = X.copy()
    for _ in range(3):
        expected, gradient = value_and_grad(plainly)(x, W)
        x -= 0.01 * gradient
    assert value == pytest.approx(expected, rel=1e-13)


def test_several_arguments_fill_several_arrays():
    outs = np.empty(4), np.empty(4)
    for f in (chain, plainly):
        value, found = value_and_grad(f, (0, 1), out=True)(X, W, out=outs)
        assert found[0] is outs[0] and found[1] is outs[1] and value == pytest.approx(plainly(X, W), rel=1e-14)
        for one, expected in zip(outs, grad(plainly, (0, 1))(X, W), strict=True):
            assert np.allclose(one, expected, rtol=1e-14)


def test_functions_in_vector_registers_are_those_of_the_gradient():
    out = np.empty(4)
    value, found = value_and_grad(chain, numerics="simd", out=True)(X, W, out)
    expected, gradient = value_and_grad(chain, numerics="simd")(X, W)
    assert value == expected and found is out and np.array_equal(out, gradient)


@pytest.mark.parametrize("f", [chain, plainly])
def test_arrays_that_do_not_fit_are_refused(f):
    gradient, fixed = grad(f, out=True), np.empty(4)
    fixed.flags.writeable = False
    needed = "out must be a writable float64 array in C order with 1 axes, got"
    for out in (fixed, np.empty(4, np.float32), np.empty((4, 1)), np.empty(8)[::2]):
        with pytest.raises(TypeError, match=needed):
            gradient(X, W, out=out)
    with pytest.raises(ValueError, match="out must have the shape of"):
        gradient(X, W, out=np.empty(3))
    with pytest.raises(ValueError, match="overlaps in memory with another array of the call"):
        gradient(X, W, out=W)
    with pytest.raises(TypeError, match="out must be a tuple of 2 arrays"):
        grad(f, (0, 1), out=True)(X, W, out=np.empty(4))


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises(contad.UnsupportedError, match="out=True is taken without has_aux"):
        grad(chain, out=True, has_aux=True)
    with pytest.raises(ValueError, match="out must be True or False"):
        grad(chain, out=np.empty(4))
    with pytest.raises(TypeError, match="give an array for the gradient"):
        grad(plainly, out=True)()
    with pytest.raises(TypeError, match="out takes the gradients of arrays and numbers, .* of a list"):
        grad(lambda x: x[0] * x[0], out=True)([2.0], out=np.empty(()))


@pytest.mark.parametrize("f", [power, power.py_func])
def test_the_gradient_of_a_number_fills_an_array_without_axes(f):
    outs = np.empty(4), np.empty(())
    value, found = value_and_grad(f, (0, 1), out=True)(X, 1.5, outs)
    expected = np.sum(X * X) ** 1.5
    assert value == pytest.approx(expected, rel=1e-14) and found[1] is outs[1]
    assert outs[1] == pytest.approx(expected * np.log(np.sum(X * X)), rel=1e-14)
    assert np.allclose(outs[0], 3.0 * np.sum(X * X) ** 0.5 * X, rtol=1e-14)
    assert grad(f, 1, out=True)(X, 1.5, out=outs[1]) is outs[1]
    with pytest.raises(TypeError, match=r"must be a writable float64 array in C order with 0 axes, got"):
        grad(f, 1, out=True)(X, 1.5, np.empty(1))
