"""Numba functions on the eager engines: unmodified, callees included, with their own error model and frozen globals."""

import math
from math import exp, floor

import numba
import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.errors import UnsupportedError

RATE = 0.7
DATA = np.array([0.5, 1.5, -0.3])


@numba.njit
def kernel(x, y=2.0):
    """A callee with a default."""
    return exp(-x * x) + y * math.log1p(abs(x))


@numba.njit
def model(w, b):
    """Loops, while, early return, in-place arrays, counters, a frozen global and a callee."""
    state = np.zeros(3)
    total = 0.0
    for i in range(DATA.shape[0]):
        state[i % 3] = w * DATA[i] + float(b)
        state[i % 3] *= RATE
        total += kernel(state[i]) / (1 + i // 2)
    k = 0
    while total > 1.0 and k < 5:
        total /= 1.0 + b * b
        k += 1
    if floor(total) < 0:
        return total
    return total + np.sum(state) * math.pow(w, 2) - math.tanh(b) % 0.4


def model_in_floats(w, b):
    """The same in plain Python, by hand."""
    state = [RATE * (w * d + b) for d in DATA.tolist()]
    total = sum((math.exp(-s * s) + 2.0 * math.log1p(abs(s))) / (1 + i // 2) for i, s in enumerate(state))
    k = 0
    while total > 1.0 and k < 5:
        total /= 1.0 + b * b
        k += 1
    return total + sum(state) * w * w - math.tanh(b) % 0.4


@numba.njit
def divides(x, n):
    return x / n


@numba.njit(error_model="numpy")
def divides_as_numpy(x, n):
    return x / n


@numba.njit
def factorial(x, n):
    if n == 0:
        return 1.0
    return x * n * factorial(x, n - 1)


def make(a):
    @numba.njit
    def scaled(x):
        return a * x * x

    return scaled


@pytest.mark.parametrize("engine", engine_names())
def test_an_unmodified_njit_function_differentiates(engine):
    w, b = 0.8, -0.6
    value, gradient = contad.value_and_grad(model, (0, 1), engine=engine)(w, b)
    assert value == pytest.approx(model(w, b), rel=1e-14)
    for k, g in enumerate(gradient):
        h = np.eye(2)[k] * 1e-6
        difference = (model_in_floats(w + h[0], b + h[1]) - model_in_floats(w - h[0], b - h[1])) / 2e-6
        assert g == pytest.approx(difference, rel=1e-8)
    assert contad.jvp(model, (w, b), (1.0, 0.0))[1] == pytest.approx(gradient[0], rel=1e-13)
    assert contad.derivative(model, 1)(w, b) == pytest.approx(gradient[1], rel=1e-13)
    assert contad.jacobian(model)(w, b) == pytest.approx(gradient[0], rel=1e-13)


def test_recursion_closures_and_second_order():
    assert contad.grad(factorial)(2.0, 3) == 6 * 3 * 4.0
    assert contad.grad(make(3.0))(2.0) == 12.0 and contad.grad(make(5.0))(2.0) == 20.0
    assert contad.grad(contad.grad(make(3.0)))(2.0) == 6.0 and contad.grad(make(3.0)) is not contad.grad(make(3.0))
    assert contad.grad(model) is contad.grad(model)


@numba.njit
def rows(x):
    """x_0 sum x_i^3, and a table interpolated at x_0."""
    z = np.zeros((2, x.size))
    z[0] = x**2
    z[1, :] = x * x[0]
    knots, table = np.linspace(0.0, 1.0, 3), np.empty(3)
    table[:] = x[:3] * x[1]
    return np.sum(z[0] * z[1]) + np.interp(x[0], knots, table)


def test_whole_arrays_in_arrays_that_were_created():
    x = np.array([0.3, 0.7, 0.45, 0.9])
    expected = np.append(np.sum(x**3) + 3 * x[0] ** 3, 3 * x[0] * x[1:] ** 2)
    # between the knots 0 and 0.5: x_1 (x_0 + 2 x_0 (x_1 - x_0))
    expected += [x[1] * (1 + 2 * x[1] - 4 * x[0]), x[0] * (1 + 4 * x[1] - 2 * x[0]), 0.0, 0.0]
    np.testing.assert_allclose(contad.grad(rows, engine="matrix")(x), expected, rtol=1e-13)
    first = contad.hessian(rows)(x)[0]
    by_first = [12 * x[0] ** 2 - 4 * x[1], 3 * x[1] ** 2 + 1 + 4 * x[1] - 4 * x[0], 3 * x[2] ** 2, 3 * x[3] ** 2]
    np.testing.assert_allclose(first, by_first, rtol=1e-12)


def test_division_follows_the_error_model():
    for plain in (lambda: divides(1.0, 0.0), lambda: contad.grad(divides)(1.0, 0.0)):
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            plain()
    assert contad.value_and_grad(divides_as_numpy)(1.0, 0.0) == (math.inf, math.inf)
    assert contad.grad(divides)(1.0, 4) == 0.25


def test_globals_are_frozen_when_the_gradient_is_made(monkeypatch):
    @numba.njit
    def uses_rate(x):
        return RATE * x

    g = contad.grad(uses_rate)
    assert g(1.0) == 0.7  # compiled now, with the value that the gradient has seen
    monkeypatch.setitem(globals(), "RATE", 100.0)
    with pytest.raises(contad.FrozenValueError, match="RATE"):
        g(1.0)


def test_the_users_function_is_not_touched():
    before = dict(model.py_func.__globals__)
    contad.grad(model)(0.8, -0.6)
    assert model.py_func.__globals__ is globals() and model.py_func.__globals__["math"] is before["math"] is math


def test_unreadable_source_is_refused_by_file_and_line():
    nameless = numba.njit(eval("lambda x: x * x"))
    with pytest.raises(UnsupportedError, match=r"<string>:1: the source of the njit function <lambda> cannot be read"):
        contad.grad(nameless, engine="matrix")(1.0)
    with pytest.raises(UnsupportedError, match=r"test_python_copy_source.py:\d+: njit of a lambda"):
        contad.grad(numba.njit(lambda x: x * x), engine="matrix")(1.0)


def test_tracebacks_show_the_users_line():
    with pytest.raises(ZeroDivisionError) as caught:
        contad.grad(divides, engine="matrix")(1.0, 0.0)
    lines = [entry.lineno + 1 for entry in caught.traceback if entry.path.name == "test_python_copy_source.py"]
    assert lines[-1] == divides.py_func.__code__.co_firstlineno + 2


@numba.njit
def halve(a):
    a /= 2.0


@numba.njit
def updates(x: "Undefined", y: "Undefined" = 0.0) -> "Undefined":  # noqa: F821
    """In-place operators on a name write the array that others hold."""
    alias = x
    halve(x)
    x /= 2.0
    x **= 2
    x[1:] /= 3.0
    x[0] **= 2
    x[2] %= 0.4
    return alias.sum() * alias[0] + y


@numba.njit
def creates(x):
    """Floats stand among the variables, and shapes, values and dtypes are given in every way."""
    a = np.zeros(3)
    a[0] = x
    b = np.full(2, fill_value=x) + np.full_like(a[:2], 2.0)
    counts = np.zeros_like(a, np.int64)
    counts[0] = 3
    return np.exp(a).sum() + np.hypot(a, 2.0).sum() + (b * x).sum() + (counts * a).sum() + np.zeros_like(x) + a.size


@numba.njit
def powers(x, y, n):
    return x * y**n


def test_in_place_operators_write_the_array():
    x = np.array([0.5, 1.5, -0.3])
    value, gradient = contad.value_and_grad(updates)(x)
    h = 1e-6
    differences = [(updates(x + h * e) - updates(x - h * e)) / (2 * h) for e in np.eye(3)]
    assert value == pytest.approx(updates(x.copy()), rel=1e-14)
    assert gradient == pytest.approx(differences, rel=1e-6, abs=1e-12)


def test_created_arrays_meet_ufuncs():
    value, gradient = contad.value_and_grad(creates)(0.7)
    assert value == pytest.approx(creates(0.7), rel=1e-14)
    assert gradient == pytest.approx((creates(0.7 + 1e-6) - creates(0.7 - 1e-6)) / 2e-6, rel=1e-8)


@pytest.mark.parametrize(("y", "n"), [(-8.0, 1 / 3), (0.0, -1.0), (10.0, 400), (2, 3), (-2, 3), (0, 0), (2, 0.5)])
def test_powers_of_constants_are_those_of_numba(y, n):
    value, gradient = contad.value_and_grad(powers)(1.3, y, n)
    assert value == pytest.approx(powers(1.3, y, n), nan_ok=True)
    assert gradient == pytest.approx(powers(1.0, y, n), nan_ok=True)


def test_division_of_an_element_in_place_follows_the_error_model():
    def divide(x, n):
        a = np.ones(2)
        a[0] /= n
        return a[0] * x

    with pytest.raises(ZeroDivisionError):
        contad.grad(numba.njit(divide))(1.0, 0.0)
    assert contad.grad(numba.njit(error_model="numpy")(divide))(1.0, 0.0) == math.inf


@numba.njit
def hashed(x, seed):
    """A 64-bit generator that wraps around in compiled code."""
    state = seed
    for _ in range(3):
        state = state * 6364136223846793005 + 1442695040888963407
    return x * (state % 1000)


def test_a_value_that_the_python_copy_does_not_reproduce_is_refused():
    with pytest.raises(UnsupportedError, match=r"hashed: its Python copy gives .* compiled"):
        contad.grad(hashed, engine="matrix")(1.0, 12345)


@numba.njit
def over_factorial(x, n):
    factorial = 1
    for k in range(1, n + 1):
        factorial *= k
    return x / factorial


@numba.njit
def centred(x):
    return np.sum(x - np.mean(x))


def test_small_values_are_compared_as_large_ones_are():
    with pytest.raises(UnsupportedError, match=r"over_factorial: its Python copy gives 9\.\d+e-26 .* 2\.1\d+e-19"):
        contad.grad(over_factorial, engine="matrix")(1.5, 25)
    assert contad.grad(over_factorial, engine="matrix")(1.5, 20) == 1.0 / math.factorial(20)


def test_a_rest_of_cancellation_is_no_other_value():
    x = np.random.default_rng(0).normal(size=1001) * 1e3
    assert 0.0 < abs(centred(x)) < 1e-9 and centred(x) != pytest.approx(centred.py_func(x), rel=0.1)
    np.testing.assert_allclose(contad.grad(centred, engine="matrix")(x), np.zeros(1001), atol=1e-12)


@numba.njit
def writes(x, work):
    work[0] += x
    literal = np.array([0.0, 1.0])
    literal[0] = x * np.float64(work[0])
    return literal.sum() + work[0]


def test_work_arrays_are_not_changed_in_the_callers_hands():
    work = np.ones(2)
    for _ in range(2):
        assert contad.grad(writes)(2.0, work) == 2 * 2.0 + 1.0 + 1.0 and contad.derivative(writes)(2.0, work) == 6.0
    assert work.tolist() == [1.0, 1.0]


@numba.njit
def creates_floats(x):
    """The ways to say float64."""
    a = np.zeros(2, dtype=np.float64)
    b = np.empty(2, np.float64)
    c = np.array([1.0, 2.0], dtype=np.float64)
    d = np.ones(2, dtype=float)
    e = np.full(2, 1.5, dtype="float64")
    a[0] = x
    b[:] = x * x
    c[1] = np.float64(x) + float(x)
    d[0] = x
    e[0] = x
    return a.sum() + b[0] + c[1] + d[0] + e[0]


def test_every_way_to_ask_for_floats():
    assert contad.grad(creates_floats)(3.0) == 1.0 + 6.0 + 2.0 + 1.0 + 1.0
