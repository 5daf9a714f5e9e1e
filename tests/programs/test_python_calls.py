"""Calls of a user's rule in recorded programs: what is right, and how often compiled code is entered beside them."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

import contad
from contad.programs.interpreter import interpreter, interpreter_source

X = np.array([0.3, -0.7, 1.1, 0.2])


@contad.array_rule
def total_of_squares(a):
    """The sum of squares."""
    return np.sum(a * a)


@total_of_squares.vjp("a")
def pull_squares(z, z_bar, a):
    return 2.0 * z_bar * a


@contad.array_rule
def both_scaled(a, c):
    """Arrays of the shape of a."""
    return c * a, a / c


@both_scaled.vjp("a")
def pull_scaled(z, z_bar, a, c):
    return c * z_bar[0] + z_bar[1] / c


@both_scaled.vjp("c")
def pull_scale(z, z_bar, a, c):
    return np.sum(z_bar[0] * a) - np.sum(z_bar[1] * a) / (c * c)


def of_a_number(x):
    first, second = both_scaled(np.sin(x), x[1] * x[2])
    return np.sum(first * second * second) + x[0]


FUNCTIONS = {
    "at the end": lambda x: total_of_squares(np.sin(x)),
    "alone": lambda x: total_of_squares(x),
    "in the middle": lambda x: np.cos(total_of_squares(np.sin(x))) * x[0],
    "twice": lambda x: total_of_squares(np.sin(x)) + total_of_squares(x),
    "of a transpose": lambda x: (total_of_squares((x[:, None] * np.array([1.0, -0.4, 2.0])).T) + total_of_squares(x)),
    "of a number": of_a_number,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_with_calls_are_the_function(name):
    f = FUNCTIONS[name]
    program = contad.record(f, X)
    program._compile()
    for x in (X, X[::-1].copy(), 2.0 * X):
        value, gradient = program.value_and_grad(x)
        wanted, expected = contad.value_and_grad(f)(x)
        assert value == pytest.approx(wanted, rel=1e-12) and program(x) == value
        np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("name", "expected"), [
    ("at the end", {"forward": 1, "backward": 1}), ("in the middle", {"forward": 2, "backward": 2}),
    ("alone", {"forward": 1}),
])  # fmt: skip
def test_compiled_code_is_entered_for_what_is_between_calls(name, expected):
    f = FUNCTIONS[name]
    program = contad.record(f, X)
    program._compile()
    calls = Counter()

    def counted(name):
        function = getattr(interpreter(), name)
        return lambda *args: (calls.update([name]), function(*args))[1]

    program._interpreter = SimpleNamespace(
        prepare=interpreter().prepare, forward=counted("forward"), backward=counted("backward"),
        run=lambda *args: pytest.fail("it runs in Python"),
    )  # fmt: skip
    found = program.gradient(X)
    np.testing.assert_allclose(found, contad.grad(f)(X), rtol=1e-12)
    assert calls == expected


@pytest.mark.parametrize("n", [1, 7, 511, 512, 513, 1030])
def test_numbers_that_are_not_finite_are_found_anywhere(n):
    source = interpreter_source()
    source = source[source.index("@inline\ndef all_finite") :]
    scope = {"inline": njit(error_model="numpy"), "np": np}
    exec(source[: source.index("@inline", 1)], scope)
    all_finite = scope["all_finite"]
    a = np.full(n + 2, np.nan)
    a[1:-1] = 1.5
    assert all_finite(a, 1, n) and all_finite(a, 1, 0)
    for k in {1, n, n // 2 + 1, min(n, 512), min(n, 513)}:
        for other in (np.inf, -np.inf, np.nan):
            a[k] = other
            assert not all_finite(a, 1, n)
        a[k] = 1.5
