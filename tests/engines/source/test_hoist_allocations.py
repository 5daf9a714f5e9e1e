"""Arrays that iterations make, of lengths that are known before the loop, are made once."""

import re

import numpy as np
import pytest
from numba import njit

from contad.engines.source import source
from contad.engines.source.passes.hoist_allocations import hoist_allocations
from tests.engines.source.agreement import agree, request
from tests.engines.source.trees import function_of, text_of

TEXT = """def run(a, n):
    m = a.shape[0]
    for k in range(3):
        b = {made}
        for j in range(k):
            c = np.empty((m, 2))  # line 5
            c[0, 0] = b[0]
    return b"""


@njit
def steps(a, x):
    """Arrays of an iteration that are read whole, in part, under two names, and in an inner loop."""
    total = 0.0
    for k in range(3):
        y = np.sin(a[k] @ x)
        z = np.zeros(x.shape[0])
        z[1] = y[0]
        for j in range(2):
            w = y * z + x
            v = w if j == 0 else y
            total += np.sum(v * v) + w[j]
        x = y + z
    return total * np.sum(x)


@njit
def of_data(a, n):
    total = 0.0
    for k in range(a.shape[0]):
        made = np.empty(n)
        for i in range(n):
            made[i] = a[k] * (i + 1.0)
        total += np.sum(made * made[::-1])
    return total


def rewrite(text):
    """The text of a function as it is printed, and after the pass."""
    return text_of(function_of(text)), text_of(hoist_allocations(function_of(text)))


def inside_loops(text, made):
    """The lines inside of loops that make arrays so."""
    return [line for line in text.splitlines() if re.match(rf" {{8,}}\w+ = np\.{made}\(", line)]


def test_they_stand_before_the_outermost_loop():
    lines = rewrite(TEXT.format(made="np.empty((m,))"))[1].split("\n")
    assert lines[2:6] == [
        "    b = np.empty((m,))", "    c = np.empty((m, 2))  # line 5", "    for k in range(3):",
        "        for j in range(k):",
    ]  # fmt: skip


@pytest.mark.parametrize("made", ["np.empty((n,))", "np.empty((k, m))", "np.zeros((m,))", "np.empty((m,), np.int64)"])
def test_others_stay(made):
    """Of lengths that are no lengths of arrays, or not known; of zeros; of integers."""
    text = rewrite(TEXT.format(made=made))[1]
    assert f"        b = {made}" in text and "\n    c = np.empty((m, 2))  # line 5" in text


@pytest.mark.parametrize("line", ["    m = 2 * m", "    for m in range(2):\n        pass", "    m = n.shape[0]"])
def test_a_length_with_two_values_is_none(line):
    before, after = rewrite(TEXT.format(made="np.empty((m,))") + "\n" + line)
    assert after == before


@pytest.mark.parametrize("head", ["if k == 1:", "while n > k:"])
def test_what_may_not_be_made_stays(head):
    text = f"def run(a, n):\n    m = a.shape[0]\n    for k in range(n):\n        {head}\n            b = np.empty((m,))"
    before, after = rewrite(text)
    assert after == before


def test_an_array_that_is_made_twice_stays():
    assert "        b = np.empty((m,))" in rewrite(TEXT.format(made="np.empty((m,))") + "\n    b = a")[1]


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_agree(compiled):
    rng = np.random.default_rng(3)
    a, x = rng.normal(size=(3, 4, 4)), rng.normal(size=4)
    agree(steps, a, x, argnums=(0, 1), compiled=compiled)
    text = source(request(steps, a, x, argnums=(0, 1)))
    assert not inside_loops(text, "empty")
    assert len(inside_loops(text, "zeros")) < text.count("np.zeros(")


def test_a_negative_length_is_an_error_where_it_was():
    """A loop that does not run makes nothing."""
    text = source(request(of_data, np.zeros(2), 3))
    assert inside_loops(text, "empty")
    agree(of_data, np.array([0.3, 0.5]), 4)
