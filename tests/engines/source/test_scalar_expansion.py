"""What only inner loops change is computed before the outer loop; what need not run, or may change, stays."""

import math

import numpy as np
import pytest
from numba import njit

from contad.engines.source import source
from tests.engines.source.agreement import agree, as_python, request


@njit
def of_rows(a, x):
    """A function of what two inner loops read."""
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                total += (math.exp(a[j, k]) * x[i, k] - j) ** 2
    return total


@njit
def of_one_loop(a, x):
    """Of two inner loops one makes a difference; one function is a part of another."""
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(1, 3):
            for k in range(1, a.shape[1] - 1):
                part = math.sin(a[0, k])
                total += part * x[i, j] + math.log(2.0 + part) * x[i, k]
    return total


@njit
def of_index(a, x):
    """Nothing is read but the index."""
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            total += math.cos(0.3 * k) * x[i, k] * a[0, k]
    return total


@njit
def of_middle(a, x):
    """What the outermost loop changes is computed inside of it."""
    total = 0.0
    for j in range(a.shape[0]):
        for i in range(x.shape[0]):
            for k in range(a.shape[1]):
                total += math.exp(a[j, k]) * x[i, k]
    return total


@njit
def that_changes(a, x):
    total = 0.0
    y = a[0].copy()
    for i in range(x.shape[0]):
        for k in range(y.size):
            total += math.exp(y[k]) * x[i, k]
            y[k] *= 0.5
    return total


@njit
def that_stops(a, x):
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(a.shape[1]):
            if x[i, k] > 1.0:
                break
            total += math.exp(a[0, k]) * x[i, k]
    return total


@njit
def of_condition(a, x):
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(a.shape[1]):
            if x[i, k] > 0.0:
                total += math.exp(a[0, k]) * x[i, k]
    return total


@njit
def after_an_error(a, x):
    """The error says that an element is not there."""
    total = 0.0
    for i in range(x.shape[0]):
        if a.shape[1] < x.shape[1]:
            raise ValueError("a is too short")
        for k in range(x.shape[1]):
            total += math.exp(a[0, k]) * x[i, k]
    return total


@njit
def of_triangle(a, x):
    """The number of iterations is that of another loop."""
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            for k in range(j):
                total += math.exp(a[0, k]) * x[i, j]
    return total


@njit
def of_cheap(a, x):
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(a.shape[1]):
            total += (a[0, k] + 3.0) * x[i, k]
    return total


@pytest.fixture
def args():
    rng = np.random.default_rng(5)
    return rng.normal(size=(2, 4)), rng.normal(size=(3, 4))


def depth(text, call):
    """How many loops are around the first call of a function."""
    lines = text.splitlines()
    at = next(k for k, line in enumerate(lines) if call in line)
    depth, indent = 0, len(lines[at]) - len(lines[at].lstrip())
    for line in reversed(lines[:at]):
        width = len(line) - len(line.lstrip())
        if line.strip() and width < indent:
            depth, indent = depth + line.lstrip().startswith("for "), width
    return depth


@pytest.mark.parametrize(
    ("f", "call", "loops"),
    [(of_rows, "math.exp(", 2), (of_one_loop, "math.log(", 1), (of_index, "math.cos(", 1), (of_middle, "math.exp(", 2)],
)
def test_it_is_computed_before_the_loop(f, call, loops, args):
    text = source(request(f, *args, argnums=(0, 1))._replace(numerics="libm"))
    assert depth(text, call) == loops
    agree(f, *args, argnums=(0, 1))


@pytest.mark.parametrize(
    ("f", "loops"), [(that_changes, 2), (that_stops, 2), (of_condition, 2), (after_an_error, 2), (of_triangle, 3)]
)
def test_what_may_change_or_need_not_run_stays(f, loops, args):
    text = source(request(f, *args, argnums=(0, 1))._replace(numerics="libm"))
    assert depth(text, "math.exp(") == loops
    agree(f, *args, argnums=(0, 1))


def test_a_sum_stays(args):
    assert "np.empty" not in source(request(of_cheap, *args))


@pytest.mark.parametrize("shape", [(0, 4), (2, 0), (0, 0)])
@pytest.mark.parametrize("f", [of_rows, of_one_loop, of_middle, of_index])
def test_loops_that_do_not_run_read_nothing(f, shape):
    """An element that is not there is read where no iteration of the outer loop reads it, either: not at all."""
    args = np.ones(shape), np.ones((0, 4))
    value, gradients = as_python(request(f, *args, argnums=(0, 1)))(*args)
    assert value == 0.0
    assert all(np.shape(g) == np.shape(x) and not np.any(g) for g, x in zip(gradients, args, strict=True))


def test_an_inner_loop_that_makes_no_difference_may_not_run():
    @njit
    def f(a, x):
        total = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                for k in range(3):
                    total += math.exp(a[k]) * x[i, j]
        return total

    args = np.ones(0), np.ones((2, 0))
    value, _ = as_python(request(f, *args, argnums=(0, 1)))(*args)
    assert value == 0.0
    agree(f, np.array([0.3, -0.2, 0.9]), np.array([[1.0, -0.4]]), argnums=(0, 1))


def test_an_infinite_partial_that_nothing_reads_is_masked():
    """The slope of a square root at 0 has no part where its result is not read."""

    @njit
    def f(a, x):
        total = 0.0
        for i in range(x.shape[0]):
            for k in range(a.shape[1]):
                y = math.sqrt(math.exp(a[0, k]) - 1.0)
                total += (0.0 if x[i, k] > 0.5 else y) + x[i, k]
        return total

    with np.errstate(divide="ignore"):
        agree(f, np.array([[0.0, 1.0]]), np.array([[1.0, 0.2], [0.7, 0.1]]), argnums=(0, 1))
