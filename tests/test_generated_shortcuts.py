"""What generated derivatives leave out: tests for zero that cannot succeed, numbers that need not be stored, iterations
of a running choice that were not chosen.
"""

import math

import numpy as np
import pytest
from numba import njit

from benchmarks import loops
from contad.engines.generated import source
from contad.engines.generated.functions import ADD, MULTIPLY, OPERATORS, SQUARE, function_of
from contad.engines.generated.ir import FLOAT, Apply, Value
from contad.engines.generated.tame import least
from tests.test_generated import agree, request

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])


def text_of(function, *args, argnums=(0,)):
    return source(request(function, *args, argnums=argnums))


# ---- bounds from below -----------------------------------------------------------------------------------------------
def made(function, *operands):
    result = Value(FLOAT)
    Apply(function, [x if isinstance(x, Value) else Value(FLOAT, constant=x) for x in operands], result)
    return result


def test_bounds_from_below():
    x = Value(FLOAT)
    square = made(SQUARE, x)
    positive = made(ADD, square, 0.25)
    root = made(function_of(math.sqrt), positive)
    assert least(x) == -math.inf
    assert least(square) == least(made(function_of(math.exp), x)) == 0.0
    assert (least(positive), least(root), least(made(MULTIPLY, positive, root))) == (0.25, 0.5, 0.125)
    assert least(made(ADD, positive, x)) == least(made(MULTIPLY, positive, x)) == -math.inf
    assert least(made(OPERATORS["Sub"], positive, square)) == -math.inf
    assert least(made(MULTIPLY, made(ADD, square, 1e-200), made(ADD, square, 1e-200))) == 0.0  # it may underflow
    assert least(made(ADD, -1.0, made(ADD, square, 3.0))) == 2.0


def test_what_is_bounded_needs_no_test_for_zero():
    @njit
    def attraction(x, softening):
        s = 0.0
        for i in range(len(x)):
            d2 = x[i] * x[i] + softening
            s += 1.0 / (d2 * math.sqrt(d2))
        return s

    def softened(x):
        d2 = x * x + 0.01
        return 1.0 / (d2 * math.sqrt(d2))

    inner = njit(softened)

    @njit
    def bounded(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * inner(x[i])
        return s

    text = text_of(bounded, X)
    assert "!= 0.0" not in text
    assert "raise" not in text
    assert "raise" in text_of(attraction, X, 0.1)  # the softening may be zero
    agree(bounded, X)


# ---- what is the same in each iteration ------------------------------------------------------------------------------
def test_what_is_the_same_in_each_iteration_is_not_stored():
    @njit
    def growth(x, sigma, n):
        for i in range(n):
            x *= 1.0 + math.sqrt(sigma) * i
        return x

    assert "work[base + trips" not in text_of(growth, 0.3, 0.2, 5, argnums=(0, 1))  # but x is
    agree(growth, 0.3, 0.2, 5, argnums=(0, 1))


# ---- running choices -------------------------------------------------------------------------------------------------
@njit
def nearest(x, y):
    best = 100.0
    for i in range(1, len(x)):
        best = min(best, (x[i] - y) ** 2)
    return best * x[0]


@njit
def nearest_with_place(x, y):
    best, place = x[0] * y, -1
    for i in range(len(x)):
        d = (x[i] - y) ** 2
        if d < best:
            best = d
            place = i
    return best + 2.0 * x[place]


@njit
def largest_of_each(x, y):
    s = 0.0
    for i in range(len(x)):
        most = x[i]
        for j in range(i):
            w = x[j] * x[i] * y
            for _ in range(3):
                w = math.sin(w)  # stored, and read back by the one iteration
            most = max(w * w, most)
        s += math.exp(most) * x[i]
    return s


@njit
def falling(x, y):
    best = y
    for i in range(len(x)):
        best = max(0.5 * best, x[i] * y)  # no choice: every iteration changes what was chosen
    return best


@njit
def largest_read_on_the_way(x, y):
    best, s = y, 0.0
    for i in range(len(x)):
        best = max(best, x[i] * y)
        s += best * best
    return best + s


@njit
def growing(x, y):
    best = y * y
    for i in range(len(x)):
        best = max(best, best * x[i] * x[i])  # what is chosen depends on what was chosen before
    return best


@njit
def from_the_end(x, y):
    best = -100.0
    for i in range(len(x) - 1, -1, -1):
        best = max(best, x[i] * y)
    return best


@njit
def with_a_sum(x, y):
    best, s = -100.0, 0.0
    for i in range(len(x)):
        s += x[i] * y
        best = max(best, x[i] * y)
    return best * s


CHOICES = [
    nearest, nearest_with_place, largest_of_each, falling, growing, largest_read_on_the_way, from_the_end,
    with_a_sum,
]  # fmt: skip


@pytest.mark.parametrize("y", [0.2, -3.0, 5.0])
@pytest.mark.parametrize("function", CHOICES)
def test_running_choices(function, y):
    agree(function, X, y, argnums=(0, 1))


@pytest.mark.parametrize("function", CHOICES)
def test_running_choices_compiled(function):
    agree(function, X, 0.2, argnums=(0, 1), compiled=True)


def test_of_a_running_choice_one_iteration_is_reversed():
    for function in (nearest, nearest_with_place):
        text = text_of(function, X, 0.2)
        assert "if chosen >= 0:" in text
        assert "work" not in text
    assert "chosen" not in text_of(falling, X, 0.2)
    assert "chosen" not in text_of(largest_read_on_the_way, X, 0.2)
    function, args, argnums = loops.problems(0.01)["mixture"]
    assert text_of(function, *args, argnums=argnums).count("if chosen") == 2


def test_a_choice_that_was_not_made_leaves_the_start():
    @njit
    def never_chosen(x, n):
        best = x[0] * x[1]
        for i in range(n):
            best = max(best, -x[i] * x[i] - 10.0)
        return best

    for n in (0, 4):
        np.testing.assert_allclose(agree(never_chosen, X, n)[0], [X[1], X[0], 0.0, 0.0, 0.0])
