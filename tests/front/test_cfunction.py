"""The value and gradient of a Numba function as a function of C, by pointers, and as samplers and SciPy call it."""

import ctypes
import math
import re

import numba
import numpy as np
import pytest
import scipy
from scipy.integrate import quad

import contad
from contad.errors import UnsupportedError
from tests.front.kernels import guarded, power


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


def test_f_is_compiled_at_the_first_call_for_its_value_alone():
    scale = 2.0

    @numba.njit
    def scaled(x):
        return scale * x[0] * x[1]

    f = contad.cfunc(scaled, 2).ctypes
    x, value, g = np.array([1.5, 2.0]), np.zeros(1), np.zeros(2)
    assert f(pointer(x), pointer(value), pointer(g)) == 0 and (value[0], g.tolist()) == (6.0, [4.0, 3.0])
    assert not scaled.overloads
    value[0] = 0.0
    assert f(pointer(x), pointer(value), None) == 0 and value[0] == 6.0


def test_a_value_whose_function_has_changed_is_an_error(capsys):
    f = contad.cfunc(changing, 1).ctypes
    x, value, g = np.array([1.5]), np.zeros(1), np.zeros(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "factor", 5.0)
        assert f(pointer(x), pointer(value), None) == 1 and value[0] == 0.0
    assert "FrozenValueError" in capsys.readouterr().err
    assert f(pointer(x), pointer(value), pointer(g)) == 0 and (value[0], g[0]) == (4.5, 3.0)
    assert f(pointer(x), pointer(value), None) == 0 and value[0] == 4.5


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


factor = 3.0


@numba.njit
def changing(x):
    return factor * x[0]


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
def test_functions_without_a_c_function_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
