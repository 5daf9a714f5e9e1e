"""Functions of whole arrays and other constructs, compiled by both engines: against differences of f itself."""

from itertools import product

import numba
import numpy as np
import pytest
from numba import njit
from numba.typed import Dict, List

import contad
from contad.errors import UnsupportedError
from tests.front.array_functions import DATA, FUNCTIONS, X
from tests.judges.samples import sampled

ENGINES = ("generated", "tape")


def by_differences(f, x, *rest, h=1e-6):
    return np.array([(f(x + h * e, *rest) - f(x - h * e, *rest)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize(("f", "engine"), sampled(product(FUNCTIONS, ENGINES), 10, family=lambda case: case[1]))
def test_it_is_differentiated_by_compiled_code(f, engine):
    value, gradient = contad.value_and_grad(f, engine=engine)(X, DATA)
    assert value == pytest.approx(f(X, DATA), rel=1e-13)
    np.testing.assert_allclose(gradient, by_differences(f, X, DATA), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("engine", ENGINES)
def test_values_written_by_hand(engine):
    @njit
    def f(x):
        return np.median(x) * np.cumprod(x)[1] + np.interp(x[0], np.array([0.0, 1.0]), x[1:3])

    # x_1 x_0 x_1 + x_1 + x_0 (x_2 - x_1): the median of (0.5, 2, 3) is x_1
    value, gradient = contad.value_and_grad(f, engine=engine)(np.array([0.5, 2.0, 3.0]))
    assert value == pytest.approx(2.0 * 1.0 + 2.5)
    assert gradient == pytest.approx([4.0 + 1.0, 2 * 0.5 * 2.0 + 0.5, 0.5])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("n", "m"), [(4, 5), (5, 4)])
def test_errors_are_those_of_the_function(engine, n, m):
    @njit
    def f(x, n, m):
        return np.interp(x[0], x[:n], x[:m])

    with pytest.raises(ValueError, match="fp and xp are not of the same size"):
        f(X, n, m)
    with pytest.raises(ValueError, match="fp and xp are not of the same size"):
        contad.grad(f, engine=engine)(X, n, m)


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_rows_that_do_not_fit_raise_as_the_function_does(engine):
    @njit
    def f(x, n):
        rows = np.outer(x, x[:3])
        return np.sum(np.cross(rows, rows[:n])) + np.sum(np.cross(rows[:n], rows))

    for n in (1, 5):
        np.testing.assert_allclose(contad.grad(f, engine=engine)(X, n), by_differences(f, X, n), rtol=1e-6, atol=1e-7)
    for n in (0, 2, 4):
        for called in (f, contad.grad(f, engine=engine)):
            with pytest.raises(ValueError, match="broadcast"):
                called(X, n)


@pytest.mark.parametrize("engine", ENGINES)
def test_negative_repeats_raise(engine):
    @njit
    def f(x, repeats):
        return np.sum(np.repeat(x, repeats)) * x[0]

    with pytest.raises(ValueError, match="negative"):
        contad.grad(f, engine=engine)(X, np.array([3, -2, 0, 0, 0]))


def test_an_array_of_another_length_is_not_unpacked():
    @njit
    def f(x):
        a, b = x
        return a * b

    assert contad.grad(f, engine="generated")(X[:2]).tolist() == [1.31, 0.7]
    with pytest.raises(ValueError):
        contad.grad(f, engine="generated")(X)


# ---- data that only Numba reads --------------------------------------------------------------------------------------
@njit
def of_dict(x, table):
    total = 0.0
    if "rate" in table:
        total += x[0] * table["rate"] * len(table)
    return total + table["scale"] * x[1] * x[1]


@njit
def of_list(x, values):
    total = 0.0
    for i in range(len(values)):
        total += values[i] * x[i] * x[i]
    return total


@njit
def of_others(x, single, name):
    total = 0.0
    for i in range(3):
        total += np.float64(single[i]) * x[i] * x[i] + single[0, 0, 0, 0] if single.ndim > 3 else single[i] * x[i]
    return total * (2.0 if name == "twice" else 1.0)


@njit
def appends(x, values):
    values.append(1.0)
    return x[0] * values[0]


def table():
    made = Dict()
    made["rate"], made["scale"] = 2.5, 0.5
    return made


def test_typed_containers_are_constant_data():
    np.testing.assert_allclose(contad.grad(of_dict, engine="generated")(X, table()), [5.0, 1.31, 0.0, 0.0, 0.0])
    values = List([1.0, 2.0, 3.0])
    np.testing.assert_allclose(contad.grad(of_list, engine="generated")(X, values), [1.4, 5.24, 12.6, 0.0, 0.0])
    assert contad.engine_name(of_dict, args=(X, table())) == "generated"
    assert list(values) == [1.0, 2.0, 3.0]


def test_a_container_that_is_written_is_refused():
    with pytest.raises(UnsupportedError, match="appends: the attribute 'values.append'"):
        contad.grad(appends, engine="generated")(X, List([1.0]))


@njit
def deep(x, data):
    """A call inside a branch, a loop and a callee."""
    total = 0.0
    for i in range(3):
        if x[i] > 0.0:
            low = np.sort(data[i:])
            total += np.sum(low) * x[i] * np.linalg.norm(low)
    return total


def test_library_calls_on_data_stay_in_generated_code():
    derivative = contad.value_and_grad(deep)
    assert contad.engine_name(derivative, args=(X, DATA)) == "generated"
    value, gradient = derivative(X, DATA)
    assert value == pytest.approx(deep(X, DATA), rel=1e-13)
    np.testing.assert_allclose(gradient, by_differences(deep, X, DATA), rtol=1e-6, atol=1e-8)
    assert "= np.linalg.norm(" in contad.source(deep, X, DATA)
    assert isinstance(deep, type(numba.njit(lambda x: x)))
