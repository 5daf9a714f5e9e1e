"""Bounds of numbers from below, by which tests for zero that cannot succeed are left out."""

import math

import numpy as np
import pytest
from numba import njit

from contad.engines.source import source
from contad.engines.source.analysis.finite_partials import _assume as assume, least
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.known_functions import (
    ADD,
    AND,
    COMPARISONS,
    MULTIPLY,
    NOT,
    OPERATORS,
    OR,
    SQUARE,
    function_of,
)
from contad.engines.source.ir.ssa import BOOL, FLOAT, Apply, Value
from tests.engines.source.agreement import agree, request

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])


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


@pytest.mark.parametrize(
    ("symbol", "holds", "above"),
    [
        ("x > 2", True, 2.0), ("x >= 2", True, 2.0), ("x <= 2", False, 2.0), ("2 < x", True, 2.0),
        ("2 > x", False, 2.0),
        ("x > 2", False, None), ("x < 2", True, None), ("2 > x", True, None), ("x != 2", True, None),
        ("s != 0", True, 0.0), ("s == 0", False, 0.0), ("0 == s", False, 0.0), ("s == 0", True, None),
        ("x != 0", True, None), ("s != 1", True, None),
    ],
)  # fmt: skip
def test_conditions_bound_numbers(symbol, holds, above):
    x = Value(FLOAT)
    names = {"x": x, "s": made(SQUARE, x)}
    left, symbol, right = symbol.split()
    y = names.get(left) or names[right]
    a, b = (names.get(side, side) for side in (left, right))
    test = compared(symbol, *(n if isinstance(n, Value) else constant(float(n)) for n in (a, b)))
    for condition, way in (
        (test, holds), (compared(NOT, test), not holds),
        (compared(AND if holds else OR, compared("<", x, x), test), holds),
    ):  # fmt: skip
        found = {}
        assume(condition, way, found)
        assert set(found) == (set() if above is None else {y})
        assert above is None or above <= found[y] <= math.nextafter(above, 9.0)
    either = {}
    assume(compared(OR if holds else AND, test, compared("<", x, x)), holds, either)
    assert not either


def compared(function, *operands):
    result = Value(BOOL)
    known = next((f for f in COMPARISONS.values() if f.name == function), function)
    Apply(known, list(operands), result)
    return result


def test_behind_a_test_for_zero_nothing_is_masked():
    @njit
    def turned(x, y):
        total = 0.0
        for i in range(x.size):
            r2 = 0.0
            for k in range(y.size):
                r2 += (x[i] - y[k]) ** 2
            if r2 == 0.0:
                total += x[i]
            else:
                total += math.sin(math.sqrt(r2))
        return total

    @njit
    def unguarded(x, y):
        total = 0.0
        for i in range(x.size):
            r2 = (x[i] - y[0]) ** 2
            total += math.sin(math.sqrt(r2)) if r2 != 1.0 else x[i]
        return total

    assert "masked_product(" not in source(request(turned, X, X[:2]))
    assert "masked_product(" in source(request(unguarded, X, X[:2]))
    agree(turned, X, X[:1], argnums=(0, 1))


def test_bounded_numbers_need_no_test_for_zero():
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

    text = source(request(bounded, X))
    assert "!= 0.0" not in text
    assert "raise" not in text
    assert "raise" in source(request(attraction, X, 0.1))  # the softening may be zero
    agree(bounded, X)
