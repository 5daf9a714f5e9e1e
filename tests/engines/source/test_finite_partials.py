"""Bounds of numbers from below, by which tests for zero that cannot succeed are left out."""

import math

import numpy as np
from numba import njit

from contad.engines.source import source
from contad.engines.source.analysis.finite_partials import least
from contad.engines.source.ir.known_functions import ADD, MULTIPLY, OPERATORS, SQUARE, function_of
from contad.engines.source.ir.single_assignment import FLOAT, Apply, Value
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

    text = source(request(bounded, X))
    assert "!= 0.0" not in text
    assert "raise" not in text
    assert "raise" in source(request(attraction, X, 0.1))  # the softening may be zero
    agree(bounded, X)
