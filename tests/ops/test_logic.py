"""select and stop_gradient."""

from collections import namedtuple

import numpy as np
import pytest
from numba import njit

import contad
from contad import derivative, grad
from contad.ops import select, stop_gradient
from contad.variables.number import Number

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(("condition", "x", "y", "chosen"), [
    (True, 1.0, 2.0, 1.0), (False, 1.0, 2.0, 2.0), (np.bool_(False), 1, 2, 2),
    (True, [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]), (False, (1.0, 2.0), 0.0, (0.0, 0.0)),
    ([True, False], [1.0, 2.0], [3.0, 4.0], [1.0, 4.0]),
    ({"a": True, "b": False}, {"a": 1.0, "b": 2.0}, {"b": 4.0, "a": 3.0}, {"a": 1.0, "b": 4.0}),
    (True, {"a": [1.0, (2.0,)]}, {"a": [3.0, (4.0,)]}, {"a": [1.0, (2.0,)]}),
    (False, Pair(1.0, 2.0), Pair(3.0, 4.0), Pair(3.0, 4.0)),
])  # fmt: skip
def test_select(condition, x, y, chosen):
    found = select(condition, x, y)
    assert found == chosen and type(found) is type(chosen)


def test_select_in_arrays():
    x = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(select(x > 0.0, x, 0.0), [1.0, 0.0, 3.0])
    np.testing.assert_array_equal(select(True, x, -x), x)


def test_select_refuses_different_structures():
    with pytest.raises(TypeError, match="select: containers must have one structure, got list of 2 and list of 1"):
        select(True, [1.0, 2.0], [1.0])


@pytest.mark.parametrize("transform", [derivative, grad])
def test_select_passes_the_derivative_of_the_chosen_branch(transform):
    f = lambda x: select(x > 1.0, x * x, 1.0 / x) + select(x > 1.0, 3.0 * x, 0.0)
    assert transform(f)(1.5) == 6.0 and transform(f)(0.5) == -4.0 and transform(transform(f))(0.5) == 16.0
    # the branch that is not taken divides by zero
    assert transform(lambda x: select(x == 0.0, 2.0 * x, 1.0 / x))(0.0) == 2.0


@pytest.mark.parametrize("transform", [derivative, grad])
def test_select_in_an_object_array(transform):
    def f(x):
        v = np.array([x, 2.0 * x, -x], dtype=object)
        return select(np.array([True, False, True]), v, x)[1] + select(np.array([False, True]), 0.0, v[:2])[0]

    assert transform(f)(1.5) == 2.0


@pytest.mark.parametrize("transform", [derivative, grad])
def test_stop_gradient(transform):
    assert transform(lambda x: x * stop_gradient(x))(3.0) == 3.0
    assert transform(transform(lambda x: x * x * stop_gradient(x * x)))(3.0) == 18.0


def test_stop_gradient_keeps_the_structure():
    kept = []

    def f(x):
        y = x * 2.0
        array = np.array([x, y], dtype=object)
        kept.append(stop_gradient({"a": [x, (y, 1)], "b": Pair(y, None), "c": array}))
        return y

    grad(f)(1.5)
    (tree,) = kept
    assert tree["a"] == [1.5, (3.0, 1)] and tree["b"] == Pair(3.0, None) and tree["c"].dtype == float
    assert tree["c"].tolist() == [1.5, 3.0] and not any(isinstance(x, Number) for x in tree["c"])


def test_stop_gradient_of_plain_numbers():
    x = np.array([1.0, 2.0])
    assert stop_gradient(2.5) == 2.5
    kept = stop_gradient(x)
    (listed,) = stop_gradient([x])
    x[0] = 9.0
    assert kept.tolist() == listed.tolist() == [1.0, 2.0]
    fixed = contad.constant(x)
    assert stop_gradient(fixed) is fixed


def write_behind(x):
    """Reads what was stopped before u is written to."""
    u = 1.0 * x
    stopped = stop_gradient(u)
    u[1:] = u[1:] + u[:-1]
    return np.sum(stopped * u)


def write_into_stopped(x):
    u = 1.0 * x
    u[2] = u[0] * 3.0
    stopped = stop_gradient(u)
    stopped[0] = 100.0
    given = stop_gradient(x)
    given[1] = -50.0
    return np.sum(u * u) + stopped[0] + given[1] * x[2]


@pytest.mark.parametrize("f", [write_behind, write_into_stopped])
def test_stopped_arrays_are_copies(f):
    x = np.arange(1.0, 6.0)
    expected, slope = contad.value_and_grad(f, engine="closures")(x)
    assert f(x) == expected == njit(f)(x) and x[1] == 2.0
    for other in (f, njit(f)):
        for engine in ("records", "matrix") if other is f else ("generated", "tape"):
            value, gradient = contad.value_and_grad(other, engine=engine)(x)
            assert value == expected
            np.testing.assert_array_equal(gradient, slope)
