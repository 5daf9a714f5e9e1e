"""Gradients of Numba functions, called from Numba functions."""

import threading

import numba
import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from tests.front.kernels import X, Y, guarded, overwrites, power, several, weighted, weighted_by_hand, with_aux

gradient = contad.grad(weighted)
both = contad.value_and_grad(weighted, (0, 1))


@numba.njit
def by_global(x, y):
    return gradient(x, y), both(x, y)


@numba.njit
def written_inside(x, y):
    by_scale = contad.grad(weighted, 2)(x, y, 2.0)
    value, (x_bar, y_bar) = contad.value_and_grad(weighted, argnums=(0, 1))(x, y)
    return by_scale, value, x_bar, y_bar


@numba.njit
def by_argument(g, x, y):
    return g(x, y)


def capturing(g):
    @numba.njit
    def by_closure(x, y):
        return g(x, y=y)

    return by_closure


def test_as_a_global_a_captured_value_and_an_argument():
    g_x, g_y, _ = weighted_by_hand(X, Y)
    first, (value, (x_bar, y_bar)) = by_global(X, Y)
    assert value == pytest.approx(weighted(X, Y))
    for got, expected in ((first, g_x), (x_bar, g_x), (y_bar, g_y)):
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    np.testing.assert_allclose(capturing(gradient)(X, Y), g_x, rtol=1e-13)
    np.testing.assert_allclose(by_argument(gradient, X, Y), g_x, rtol=1e-13)
    for engine in (None, "tape"):
        np.testing.assert_allclose(by_argument(contad.grad(weighted, 1, engine=engine), X, Y), g_y, rtol=1e-13)


def test_written_inside():
    g_x, g_y, g_scale = weighted_by_hand(X, Y)
    by_scale, value, x_bar, y_bar = written_inside(X, Y)
    assert (by_scale, value) == (pytest.approx(g_scale), pytest.approx(weighted(X, Y)))
    np.testing.assert_allclose([x_bar, y_bar], [g_x, g_y], rtol=1e-13)


def test_a_signature_is_compiled_when_python_needs_it():
    cube = numba.njit(power.py_func)
    derivative = contad.grad(cube)

    @numba.njit
    def caller(x):
        return derivative(x, 3) + derivative(2.0, 3)

    assert derivative.signatures == []
    assert caller(3) == 27.0 + 12.0
    assert derivative.signatures == []  # it is linked into the caller
    assert derivative(2.0, 3) == 12.0
    assert [str(signature[0]) for signature in derivative.signatures] == ["float64"]


def test_jvp_inside():
    @numba.njit
    def caller(x, y):
        return contad.jvp(several, (x, 2.0), (y, 1.0))

    (z, total, n), (z_dot, total_dot, _) = caller(X, Y)
    assert n == 3 and total == pytest.approx(2 * X.sum()) and total_dot == pytest.approx(2 * Y.sum() + X.sum())
    np.testing.assert_allclose([z, z_dot], [2 * X**2, 4 * X * Y + X**2], rtol=1e-13)


def test_extra_results_inside():
    @numba.njit
    def caller(x):
        g, (n, total) = contad.grad(with_aux, has_aux=True)(x)
        return g[0] + n + total

    assert caller(X) == pytest.approx(1.4 + 3 + np.sum(X**2) + 1.0)


def test_errors_pass_through_and_can_be_caught():
    @numba.njit
    def caller(x):
        try:
            return contad.grad(guarded)(x)
        except Exception:
            return -1.0

    @numba.njit
    def uncaught(x):
        return contad.grad(guarded)(x)

    assert [caller(x) for x in (4.0, -1.0, 4.0)] == [pytest.approx(3.0), -1.0, pytest.approx(3.0)]
    with pytest.raises(ValueError, match="x must not be negative"):
        uncaught(-1.0)


def test_overlapping_arguments_are_refused_inside():
    @numba.njit
    def caller(c):
        return contad.grad(overwrites)(c, c)

    with pytest.raises(contad.OverlapError, match="overlap in memory"):
        caller(X.copy())


def second_derivative(x):
    return contad.value_and_grad(contad.grad(guarded))(x)


def of_a_number(x):
    return contad.grad(x)(x)


def with_unknown_argnums(x):
    return contad.grad(guarded, argnums=int(x))(x)


def with_two_vectors(x):
    return contad.hvp(guarded)(x, (x, x))


def with_a_vector_in_a_tuple(x):
    return contad.hvp(guarded)(x, (x,))


STRUCTURE = r"^hvp: guarded: tangents must have the structure of primals, float64; got UniTuple\(float64 x "


@pytest.mark.parametrize(("f", "error", "message"), [
    (with_two_vectors, UnsupportedError, STRUCTURE + "2"),
    (with_a_vector_in_a_tuple, UnsupportedError, STRUCTURE + "1"),
    (second_derivative, UnsupportedError, "compiled code does not take it of <contad.grad: guarded>"),
    (of_a_number, UnsupportedError, "f must be a function made by numba.njit, got float64"),
    (with_unknown_argnums, numba.TypingError, "contad.grad"),
])  # fmt: skip
def test_calls_that_compiled_code_cannot_make_are_named(f, error, message):
    with pytest.raises(error, match=message):
        numba.njit(f)(1.0)


def test_threads_give_what_one_gives():
    @numba.njit(nogil=True)
    def descend(x, y, steps):
        x = x.copy()
        for _ in range(steps):
            x -= 1e-3 * gradient(x, y)
        return x

    expected = [descend(X * k, Y, 500) for k in range(4)]
    found = [None] * 4

    def work(k):
        found[k] = descend(X * k, Y, 500)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found, expected)
