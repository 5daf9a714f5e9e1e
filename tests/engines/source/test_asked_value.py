"""Gradients whose value nobody asks for: what the value alone needs is passed over, and nothing else changes."""

import math

import numba
import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.build import derivative_of
from contad.errors import ValueMismatchError
from contad.front.first_call import FirstCall
from contad.numba_functions.request import Request
from tests.engines.source.agreement import as_python


@njit
def poisson(b, x, y):
    """The logarithm of a likelihood, whose normalising terms no gradient needs."""
    total = 0.0
    for i in range(x.shape[0]):
        eta = x[i] * b[0] + b[1]
        total += y[i] * eta - math.exp(eta) - math.lgamma(y[i] + 1.0)
    return total


@njit
def normal(b, x, y):
    """The logarithm of a scale is in the value alone, its exponential in both."""
    total = 0.0
    for i in range(x.shape[0]):
        scale = math.exp(b[1] * x[i])
        z = (y[i] - b[0]) / scale
        total -= 0.5 * z * z + math.log(scale)
    return total


@njit
def of_arrays(b, x, y):
    return np.sum(np.log(1.0 + x * x * b[0] ** 2)) + b[1] * np.sum(y)


@njit
def powers(b, x, y):
    """A sine that decides, and one that is multiplied."""
    total = 0.0
    for i in range(x.shape[0]):
        if math.sin(x[i]) > 0.0:
            total += b[0] * math.sin(y[i])
        total += math.cos(b[1]) * b[0]
    return total


FUNCTIONS = [poisson, normal, of_arrays, powers]
RNG = np.random.default_rng(5)
ARGS = np.array([0.3, -0.2]), RNG.normal(size=700), RNG.integers(0, 5, 700).astype(float)


def asked(f, numerics="auto"):
    kinds = tuple(map(numba.typeof, ARGS))
    return Request(
        f.py_func, f, kinds, (0,), False, "value_and_grad", numerics=numerics, optional_value=True
    )  # fmt: skip


@pytest.mark.parametrize("numerics", ["libm", "auto", "simd"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_are_the_same(f, numerics):
    value, whole = contad.value_and_grad(f, numerics=numerics)(*ARGS)
    assert value == pytest.approx(f(*ARGS), rel=1e-13)
    for _ in range(2):
        np.testing.assert_array_equal(contad.grad(f, numerics=numerics)(*ARGS), whole)
    out = np.empty(2)
    assert contad.grad(f, numerics=numerics, out=True)(*ARGS, out) is out
    np.testing.assert_array_equal(out, whole)


def test_functions_that_the_value_needs_are_not_called(monkeypatch):
    calls = []
    of_library = math.lgamma
    run = as_python(asked(poisson, "libm"))
    monkeypatch.setattr(math, "lgamma", lambda x: calls.append(1) or of_library(x))
    value, (gradient,) = run(*ARGS, True)
    assert len(calls) == 700 and value == pytest.approx(poisson(*ARGS), rel=1e-13)
    again = run(*ARGS, False)[1][0]
    assert len(calls) == 700
    np.testing.assert_array_equal(again, gradient)


def test_gradients_compute_their_operands():
    """The exponential and the test of `powers` are in the gradient as well."""
    text = derivative_of(asked(normal, "libm")).source()
    assert text.count("if asks_value") == text.count("math.log(") == 1
    sines = derivative_of(asked(powers, "libm")).source()
    assert "asks_value" not in sines


def test_rows_of_the_value_are_passed_over():
    text = derivative_of(asked(of_arrays, "simd")).source()
    if "log_rows(" in text:  # on a processor with wide registers
        assert "if asks_value:\n            log_rows(" in text


def test_compiled_callers_get_the_same():
    gradient = contad.grad(poisson)

    @njit
    def step(b, x, y):
        return b + 0.01 * gradient(b, x, y)

    np.testing.assert_array_equal(step(*ARGS), ARGS[0] + 0.01 * contad.value_and_grad(poisson)(*ARGS)[1])


def test_wrong_values_are_found_where_nobody_asks_for_them(monkeypatch, tmp_path):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))  # what is compared once is compared here
    seen = []
    require = FirstCall.require_same
    monkeypatch.setattr(FirstCall, "require_same", lambda self, got, *args: seen.append(got))

    @njit
    def f(b, x):
        total = 0.0
        for i in range(x.shape[0]):
            total += b[0] * x[i] - math.lgamma(x[i])
        return total

    x = np.array([1.5, 2.5])
    contad.grad(f)(ARGS[0], x)
    assert seen == [pytest.approx(f(ARGS[0], x), rel=1e-14)]
    monkeypatch.setattr(FirstCall, "require_same", lambda self, got, *args: require(self, got + 1e-3, *args))

    @njit
    def g(b, x):
        total = 1.0
        for i in range(x.shape[0]):
            total += b[0] * x[i] - math.lgamma(x[i])
        return total

    with pytest.raises(ValueMismatchError):
        contad.grad(g)(ARGS[0], x)
