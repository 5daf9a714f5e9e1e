"""Derivatives that a differentiated function calls: one operation of the generated engine, to any order.

Judged by formulas in many digits, and by the same functions in plain Python, whose derivatives are nested recordings.
"""

import math

import mpmath
import numba
import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from tests.compile.processes import run_python
from tests.engines.source.programs.derivative_calls import CALLERS, DERIVATIVE_CALLS, V, X
from tests.engines.source.programs.harness import function_of, plain


# ---- by formulas in many digits --------------------------------------------------------------------------------------
@numba.njit
def wave(t, a):
    return math.sin(a * t) * t


@numba.njit
def by_slopes(x):
    """A value and a gradient by one of two arguments that have derivatives; directions have tangents, too."""
    value, by_t = contad.value_and_grad(wave)(x[0] * x[1], x[1])
    return value + math.sin(by_t)


@numba.njit
def product_of_products(x, v, w):
    return np.sum(contad.hvp(by_slopes)(x, v) * w)


def by_slopes_in_digits(x, a):
    t = x * a
    by_t = mpmath.sin(a * t) + a * t * mpmath.cos(a * t)
    return mpmath.sin(a * t) * t + mpmath.sin(by_t)


def partial_in_digits(*counts):
    with mpmath.workdps(40):
        return float(mpmath.diff(by_slopes_in_digits, (mpmath.mpf(0.7), mpmath.mpf(1.3)), counts))


def test_up_to_the_third_order():
    x, v, w = np.array([0.7, 1.3]), np.array([0.4, -0.9]), np.array([1.1, 0.6])
    assert by_slopes(x) == pytest.approx(partial_in_digits(0, 0), rel=1e-14)
    gradient, product = contad.grad(by_slopes), contad.hvp(by_slopes)
    np.testing.assert_allclose(gradient(x), [partial_in_digits(1, 0), partial_in_digits(0, 1)], rtol=1e-13)
    mixed = partial_in_digits(1, 1)
    matrix = np.array([[partial_in_digits(2, 0), mixed], [mixed, partial_in_digits(0, 2)]])
    np.testing.assert_allclose(product(x, v), matrix @ v, rtol=1e-12)
    third = contad.grad(product_of_products)
    orders = [(3, 0), (2, 1), (1, 2), (0, 3)]
    thirds = [partial_in_digits(*order) for order in orders]
    weights = v[0] * w[0], v[0] * w[1] + v[1] * w[0], v[1] * w[1]
    expected = [np.dot(weights, thirds[k : k + 3]) for k in (0, 1)]
    np.testing.assert_allclose(third(x, v, w), expected, rtol=1e-11)
    for f, args in ((gradient, (x,)), (product, (x, v)), (third, (x, v, w))):
        assert contad.engine_name(f, args=args) == "generated"


# ---- each of the derivatives -----------------------------------------------------------------------------------------
def check_against_plain(name):
    """All derivatives up to the second order, and the third along vectors, by one engine; warnings are errors."""
    compiled = function_of(DERIVATIVE_CALLS, CALLERS[name], name)
    f, names = plain(DERIVATIVE_CALLS, compiled), []

    def call(derivative, *args):
        names.append(contad.engine_name(derivative, args=args))
        return derivative(*args)

    slope, product = contad.grad(f)(X), contad.hvp(f)(X, V)
    close = {"rtol": 1e-11, "atol": 1e-12 * np.max(np.abs(product))}
    assert contad.jvp(compiled, (X,), (V,))[1] == pytest.approx(np.dot(slope, V), rel=1e-11)
    np.testing.assert_allclose(call(contad.grad(compiled), X), slope, **close)
    np.testing.assert_allclose(call(contad.hvp(compiled), X, V), product, **close)
    np.testing.assert_allclose(call(contad.hessian(compiled), X) @ V, product, **close)

    @numba.njit
    def twice_along(x, v, w):
        return np.sum(contad.hvp(compiled)(x, v) * w)

    expected = contad.grad(lambda x: np.sum(contad.hvp(f)(x, V) * slope))(X)
    found = call(contad.grad(twice_along), X, V, slope)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11 * np.max(np.abs(expected)))
    assert set(names) == {"generated"}


@pytest.mark.long  # some ten seconds of compilation each; formulas above are a sample
@pytest.mark.parametrize("name", CALLERS)
def test_each_derivative_to_the_third_order(name):
    check_against_plain(name)


@numba.njit
def mixed(x, v):
    return np.sum(contad.hvp(chain)(x, v * x[0]))


@numba.njit
def chain(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += np.exp(0.3 * x[i]) * x[i + 1] ** 2 + np.sin(x[i])
    return total


def test_products_are_one_operation_each_and_are_shown():
    text = contad.source(mixed, X, V)
    assert text.count("derivative_2_of_chain(") == text.count("derivative_3_of_chain(") == 1
    tangents = contad.source(mixed, X, V, V, of="hvp")
    assert "derivative_4_of_chain" in tangents


def test_the_tape_is_not_loaded_while_numba_types_a_call():
    """It has overloads of NumPy's functions, which would get two types in what is compiled."""
    text = "import sys, contad.front.derivative; print('contad.engines.tape.building' in sys.modules)"
    assert run_python("-c", text) == "False\n"


# ---- what changes, and what is refused -------------------------------------------------------------------------------
SIZE = 2.0


@numba.njit
def cubed(t):
    return SIZE * t**3


@numba.njit
def of_cubed(t):
    return contad.grad(cubed)(t) * t


def test_a_constant_of_the_inner_function_that_has_changed_is_an_error(monkeypatch):
    derivative = contad.grad(of_cubed, engine="generated")
    assert derivative(2.0) == pytest.approx(72.0)
    monkeypatch.setattr("tests.engines.source.reading.test_derivative_calls.SIZE", 3.0)
    with pytest.raises(contad.FrozenValueError, match="SIZE"):
        derivative(2.0)


@numba.njit
def writes(x, y):
    x[0] = y[0] * y[1]
    return np.sum(x * y)


@numba.njit
def of_written(x):
    return np.sum(contad.grad(writes)(x, x * 2.0))


@numba.njit
def guarded(x):
    try:
        return x[0] * x[0] * np.ones(len(x) - 1)[0]  # whose length is not known
    except Exception:
        return 0.0


@numba.njit
def of_guarded(x):
    return np.sum(contad.grad(guarded)(x))


def test_refusals_name_the_call_and_what_is_refused_in_the_function():
    first = of_written.py_func.__code__.co_firstlineno + 2
    with pytest.raises(UnsupportedError, match=rf"derivative_calls.py:{first}: of_written.*grad: writes: it may"):
        contad.source(of_written, X)
    line = guarded.py_func.__code__.co_firstlineno + 3
    with pytest.raises(UnsupportedError, match=rf"derivative_calls.py:{line}: guarded.*try/except"):
        contad.source(of_guarded, X)
