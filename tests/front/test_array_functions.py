"""Functions of whole arrays and other constructs, compiled by both engines: against differences of f itself."""

from itertools import product

import numba
import numpy as np
import pytest
from numba import njit
from numba.typed import Dict, List

import contad
from contad.errors import UnsupportedError
from tests.judges.samples import sampled

ENGINES = ("generated", "tape")
X = np.array([0.7, 1.31, 2.1, -0.4, 0.9])
DATA = np.array([0.5, 2.0, -1.0, 0.25, 3.0])


@njit
def unpacks(x, d):
    a, b, c, e, g = x
    (h, i), (j, k) = x[:2] * 1.5, d[1:3]
    return a * b + c * e * g + h * i * j * k


@njit
def ends_loops(x, d):
    s, k = x[0], 0
    while k < 3:
        s *= x[k]
        if s > 100.0:
            break
        k += 1
    else:
        s = s * x[4]
    for k in range(5):
        if x[k] > 2.0:
            s *= x[k]
            break
    else:
        s = s * x[3]
    for k in range(3):
        for j in range(2):
            if x[k] < j:
                break
        else:
            continue
        s *= 1.0 + x[k]
        break
    return s


@njit
def converts(x, d):
    y = x.astype(np.float64)
    y[0] = 3.0 * x[1]
    whole, rest = divmod(x[2] * 3.0, 1.7)
    kind = type(x[0])
    total = np.sum(y * y) + np.sum(x.astype(np.int64)) * x[0] + np.sum(d.astype(np.int64)) * x[1]
    return total + whole * x[0] + rest * x[1] + kind(0.5) * np.float64(x[0]) * x[1] + kind(x[1]) * np.float64(3)


@njit
def rounds(x, d):
    return np.sum(np.round(x) * x) + round(x[0]) * x[1] + np.round(x[2], 1) * x[2] + np.sum(np.round(d)) * x[3]


@njit
def repeats(x, d):
    each = np.repeat(x, np.array([1, 0, 2, 1, 3]))
    return np.sum(np.repeat(x, 2) * np.repeat(x[::-1], 2)) + np.sum(np.repeat(x[0] * x[1], 3)) + each[5] * x[0]


@njit
def interpolates(x, d):
    knots = np.array([-1.0, 0.0, 1.3, 2.0])
    moved = np.interp(x[1], x[1] * np.array([0.5, 1.5]), x[:2])
    outside = np.interp(3.0 * x[2], knots, x[1:]) + np.interp(-5.0, knots, x[1:])
    return np.sum(np.interp(x, knots, d[1:]) * x) + np.interp(0.3 * x[0], knots, x[:4]) + moved + outside


@njit
def orders(x, d):
    s = np.sort(x)
    u = np.unique(np.floor(x[2] * 0.0) + x)
    low = np.median(x) * x[0] + np.median(x[:4]) * x[1] + np.median(d) * x[2]
    return s[0] * s[1] * 2.0 + s[4] + np.sum(u * np.arange(len(u))) + low + len(np.unique(np.array([1, 2, 1]))) * x[3]


@njit
def accumulates(x, d):
    y = x.copy()
    y[2] = np.nan
    total = np.nansum(y * y) + np.sum(np.cumprod(x) * np.cumsum(x)) + np.prod(x) * x[0]
    return total + np.var(x) + np.std(x) * x[1] + np.sum(np.diff(x) ** 2)


@njit
def crosses(x, d):
    rows = np.cross(np.outer(x[:2], x[:3]), np.outer(x[3:], x[2:]))
    mixed = np.cross(rows, x[1:4]) * x[2] + np.cross(d[:3], rows) * x[3]
    one = np.cross(rows[:1], rows) * np.cross(rows, rows[1:])
    vectors = np.cross(x[:3], x[2:]) * x[1:4]
    return np.sum(vectors) + np.sum(rows) + np.cross(x[:3], d[:3])[1] * x[4] + np.sum(mixed - one)


@njit
def searches(x, d):
    grid = np.array([-1.0, 0.5, 1.0, 2.0, 3.0])
    s = 0.0
    for i in range(5):
        k = np.searchsorted(grid, x[i])
        s += x[i] * k + grid[k] * x[i]
    found = np.searchsorted(grid, x, side="right")
    return s + np.sum(found) * x[0] + np.searchsorted(np.sort(x), 0.8) * x[1]


FUNCTIONS = [
    unpacks, ends_loops, converts, rounds, repeats, interpolates, orders, accumulates, crosses, searches,
]  # fmt: skip


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
