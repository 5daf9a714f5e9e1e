"""Loops that choose in blocks: those in which nothing is chosen are passed over, and nothing else changes."""

import math

import numba
import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.writing import skipped_blocks
from contad.native.elementary.elementary_table import has_fast_registers
from contad.native.request import Request
from tests.engines.source.agreement import as_python, flat

pytestmark = pytest.mark.skipif(not has_fast_registers(), reason="this processor has no such registers")


def request(f, *args, numerics="auto"):
    kinds = tuple(map(numba.typeof, args))
    return Request(f.py_func, f, kinds, (0,), False, "value_and_grad", numerics=numerics)


def text_of(f, *args):
    return derivative_of(request(f, *args)).source()


@njit
def largest_of(x):
    largest = x[0]
    for k in range(1, len(x)):
        largest = max(largest, x[k])
    return largest * largest


@njit
def smallest_of(x):
    return 3.0 * np.min(x)


@njit
def farthest(x):
    """A running choice of a formula."""
    largest = 0.0
    for k in range(len(x) - 1):
        largest = max(largest, (x[k] - x[k + 1]) ** 2)
    return 2.0 * largest


FUNCTIONS = {"largest_of": largest_of, "smallest_of": smallest_of, "farthest": farthest}
LENGTHS = (2, 3, 255, 256, 257, 258, 513, 700)


def inputs(n):
    """Random numbers; growing and falling ones; equal ones; some with nan and infinite ones."""
    draw = np.random.default_rng(n).normal(size=n)
    yield draw
    yield np.sort(draw)
    yield np.sort(draw)[::-1].copy()
    yield np.round(draw)
    yield np.ones(n)
    for odd in (math.nan, math.inf, -math.inf):
        for place in (0, n // 2, n - 1):
            changed = draw.copy()
            changed[place] = odd
            yield changed


def differing(f):
    """The inputs at which blocks give anything else than the loop as it was."""
    ways = [as_python(request(f, np.ones(4), numerics=n)) for n in ("auto", "libm")]
    found = []
    for n in LENGTHS:
        for x in inputs(n):
            with np.errstate(all="ignore"):
                (value, slopes), (known, expected) = (way(x) for way in ways)
            if not (np.array_equal(value, known, True) and np.array_equal(flat(slopes), flat(expected), True)):
                found.append(x)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_blocks_choose_what_the_loop_does(name):
    f = FUNCTIONS[name]
    assert "if changes:" in text_of(f, np.ones(4))
    assert differing(f) == []


def test_a_block_that_is_skipped_though_it_chooses_is_found(monkeypatch):
    write = skipped_blocks._write
    monkeypatch.setattr(
        skipped_blocks, "_write", lambda *args: [line.replace("|= ", "= ") for line in write(*args)]
    )
    assert differing(largest_of) != []


@njit
def of_rows(x):
    """Choices in a loop, of which there are many short ones."""
    total = 0.0
    for i in range(x.shape[0]):
        largest = x[i, 0]
        for j in range(1, x.shape[1]):
            largest = max(largest, x[i, j])
        total += largest
    return total


@njit
def sum_of_positive(x):
    """What is chosen is no number of those before."""
    total = 0.0
    for k in range(len(x)):
        total = total + x[k] if x[k] > 0.0 else total
    return total


@njit
def two_choices(x):
    """Two tests."""
    low, high = x[0], x[0]
    for k in range(len(x)):
        low, high = min(low, x[k]), max(high, x[k])
    return high - low


@pytest.mark.parametrize(("f", "axes"), [(of_rows, 2), (sum_of_positive, 1), (two_choices, 1)])
def test_other_loops_stay_whole(f, axes):
    assert "changes" not in text_of(f, np.ones((4,) * axes))


def test_compiled():
    x = np.random.default_rng(1).normal(size=700)
    value, slope = contad.value_and_grad(largest_of)(x)
    assert value == x.max() ** 2
    assert np.array_equal(np.flatnonzero(slope), [x.argmax()])
