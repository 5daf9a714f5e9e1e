"""Gradients of Numba functions, called from Numba functions."""

import ctypes
import math
import re
import threading

import numba
import numpy as np
import pytest
import scipy
from scipy.integrate import quad

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


def test_a_signature_is_compiled_when_a_caller_needs_it():
    cube = numba.njit(power.py_func)
    derivative = contad.grad(cube)

    @numba.njit
    def caller(x):
        return derivative(x, 3) + derivative(2.0, 3)

    assert derivative.signatures == []
    assert caller(3) == 27.0 + 12.0
    assert [str(signature[0]) for signature in derivative.signatures] == ["int64", "float64"]
    assert derivative(2.0, 3) == 12.0
    assert len(derivative.signatures) == 2


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
def test_what_compiled_code_cannot_do_is_named(f, error, message):
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


# ---- from C ----------------------------------------------------------------------------------------------------------
@numba.njit
def positive_squares(x):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            raise ValueError("x must not be negative")
        total += (i + 1) * x[i] * x[i]
    return total


def pointer(a):
    return a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def test_a_c_function_gives_value_gradient_and_status():
    f = contad.cfunc(positive_squares, 3)
    assert f is contad.cfunc(positive_squares, np.int64(3)) is contad.cfunc(positive_squares, np.uint8(3))
    assert f is contad.cfunc(positive_squares, 3) is not contad.cfunc(positive_squares, 2)
    x, value, g = np.array([1.0, 2.0, 3.0]), np.zeros(1), np.zeros(3)
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(ctypes.c_double)] * 3)
    for call in (f.ctypes, prototype(f.address)):
        value[:], g[:] = 0.0, 0.0
        assert call(pointer(x), pointer(value), pointer(g)) == 0
        assert (value[0], g.tolist()) == (36.0, [2.0, 8.0, 18.0])
    x[1] = -1.0
    assert f.ctypes(pointer(x), pointer(value), pointer(g)) != 0
    assert (value[0], g.tolist()) == (36.0, [2.0, 8.0, 18.0])
    callable_from_c = scipy.LowLevelCallable(f.ctypes)
    assert callable_from_c.signature.replace(" ", "") == "int(double*,double*,double*)"


@numba.njit
def overwritten(x):
    x[0] *= 2.0
    return positive_squares(x)


@pytest.mark.parametrize("function", [positive_squares, overwritten])
def test_null_asks_for_the_value_or_the_gradient_alone(function):
    f = contad.cfunc(function, 3).ctypes
    x, value, g = np.array([1.0, 2.0, 3.0]), np.zeros(1), np.zeros(3)
    factor = 4.0 if function is overwritten else 1.0
    assert f(pointer(x), pointer(value), None) == 0
    assert (value[0], g.tolist()) == (35.0 + factor, [0.0, 0.0, 0.0])
    assert f(pointer(x), None, pointer(g)) == 0
    assert (value[0], g.tolist()) == (35.0 + factor, [2.0 * factor, 8.0, 18.0])
    assert f(pointer(x), None, None) == 0
    assert f(None, pointer(value), pointer(g)) == f(None, pointer(value), None) == 1
    assert x.tolist() == [1.0, 2.0, 3.0]
    x[1], value[0] = -1.0, 7.0
    assert f(pointer(x), pointer(value), None) == 1
    assert value[0] == 7.0


def test_signatures_of_samplers_and_optimisers():
    x, value, g = np.array([1.0, 2.0, 3.0]), np.zeros(1), np.zeros(3)
    nuts = contad.cfunc(positive_squares, 3, "nuts").ctypes
    assert nuts(3, pointer(x), pointer(g), pointer(value), None) == 0
    assert (value[0], g.tolist()) == (36.0, [2.0, 8.0, 18.0])
    assert nuts(2, pointer(x), pointer(g), pointer(value), None) == 1
    nlopt = contad.cfunc(positive_squares, 3, "nlopt").ctypes
    g[:] = 0.0
    assert nlopt(3, pointer(x), None, None) == 36.0 and g.tolist() == [0.0, 0.0, 0.0]
    assert nlopt(3, pointer(x), pointer(g), None) == 36.0 and g.tolist() == [2.0, 8.0, 18.0]
    plain = contad.cfunc(positive_squares, 3, "scipy").ctypes
    assert plain(3, pointer(x), None) == 36.0
    x[0] = -1.0
    assert math.isnan(nlopt(3, pointer(x), pointer(g), None)) and math.isnan(plain(3, pointer(x), None))
    assert nuts(3, pointer(x), pointer(g), pointer(value), None) == 1 and g.tolist() == [2.0, 8.0, 18.0]


@numba.njit
def ramp(x):
    return x[0] * x[0] * 3.0


def test_scipy_integrates_a_function_by_its_c_interface():
    integrand = scipy.LowLevelCallable(contad.cfunc(ramp, 1, "scipy").ctypes)
    assert quad(integrand, 0.0, 2.0)[0] == pytest.approx(8.0)


def test_scipy_integrates_a_gradient_by_its_c_interface():
    @numba.cfunc("float64(int32, CPointer(float64))")
    def slope(n, x):
        return contad.grad(guarded)(x[0])

    rise, _ = quad(scipy.LowLevelCallable(slope.ctypes), 1.0, 4.0)
    assert rise == pytest.approx(guarded(4.0) - guarded(1.0))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: contad.cfunc(positive_squares, -1), ValueError, "cfunc: n must be the length"),
        *[
            (lambda n=n: contad.cfunc(positive_squares, n), ValueError, f"cfunc: n must .* got {re.escape(repr(n))}")
            for n in (2**63, 2**61, np.uint64(2**63), np.int64(-1), 2.0, np.float64(2.0), True, "2", None)
        ],
        (lambda: contad.cfunc(ramp, 1, "c"), ValueError, "cfunc: signature must be one of 'contad', 'nuts', 'nlopt'"),
        (lambda: contad.cfunc(lambda x: x, 2), UnsupportedError, "must be a function made by numba.njit"),
        (
            lambda: contad.cfunc(power, 2),
            UnsupportedError,
            "power must take one array, got the arguments x, n; call it",
        ),
    ],
)
def test_what_has_no_c_function_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
