"""Closure conversion: where variables are found, and that copies leave what is the user's as it is."""

import functools

import numpy as np
import pytest

import contad
from contad.functions.closure_conversion import Closure


class Model:
    def __init__(self, rate, more=None):
        self.rate, self.more = rate, more
        self.calls = 0

    def slope(self, t):
        return self.rate * t

    def __call__(self, t):
        return self.slope(t)


class Slots:
    __slots__ = ("rate",)


def ways(x):
    """Functions that are x t, and hold x in different places."""

    def inner(t):
        return x * t

    def default(t, rate=x):
        return rate * t

    def keyword(t, *, rate=x):
        return rate * t

    def recursive(t, n=2):
        return x * t if n == 0 else recursive(t, n - 1)

    slots = Slots()
    slots.rate = x
    nested, model, tree = [{"a": (x, 1.0)}], Model(x), {"function": inner}
    objects = np.array([x, 2.0], dtype=object)
    return {
        "a captured name": inner, "a default": default, "a keyword": keyword,
        "functools.partial": functools.partial(lambda rate, t: rate * t, x), "a method": model.slope,
        "an object that is called": model, "an attribute": lambda t: model.rate * t, "a slot": lambda t: slots.rate * t,
        "a container": lambda t: nested[0]["a"][0] * t, "a function in a function": lambda t: inner(t),
        "a function in a container": lambda t: tree["function"](t), "a method of an object": lambda t: model.slope(t),
        "an object array": lambda t: objects[0] * t, "itself": recursive,
        "a function that is made inside": lambda t: max([t], key=lambda s: x * s) * x,
    }  # fmt: skip


@pytest.mark.parametrize("name", ways(1.0))
def test_variables_are_found_and_replaced(name):
    with contad.nested():
        x = contad.var(3.0)
        f = ways(x)[name]
        closure = Closure(f)
        assert [v is x for v in closure.variables] == [True] and closure.bind([5.0])(2.0) == 10.0
        assert f(2.0).value == 6.0  # the user's is as it was


def test_globals_are_found():
    scope = {"__name__": "a module of the user's"}
    exec("def f(t): return g(t)\ndef g(t): return x * t", scope)
    with contad.nested():
        scope["x"] = contad.var(3.0)
        assert Closure(scope["f"]).bind([5.0])(2.0) == 10.0 and scope["f"](2.0).value == 6.0


def test_without_variables_the_function_is_itself():
    def f(t):
        return 2.0 * t

    assert Closure(f).bind([]) is f and Closure(np.sin).variables == []


def test_values_that_the_function_writes_stay_the_users():
    counts = [0]
    number = 0
    with contad.nested():
        x = contad.var(3.0)

        def f(t):
            nonlocal number
            number += 1
            counts[0] += 1
            return x * t

        closure = Closure(f)
        for value in (1.0, 2.0):
            assert closure.bind([value])(2.0) == 2.0 * value
    assert number == 2 and counts == [2]


def test_other_names_are_as_they_were():
    with contad.nested():
        x = contad.var(3.0)
        number = 1.0

        def f(t):
            return x * t + number

        closure = Closure(f)
        number = 2.0
        assert closure.bind([1.0])(0.0) == 1.0 and f(0.0).value == 2.0
