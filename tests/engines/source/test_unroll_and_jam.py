"""Sums of neighbouring iterations that go together: the same numbers, to the last bit, in fewer steps that wait."""

import math
import random

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source import source
from contad.engines.source.passes import unroll_and_jam
from contad.engines.source.writing import derivative_text
from tests.engines.source.agreement import as_python, flat, request
from tests.engines.source.nests_of_loops import OUTER, disagreement, factor

N = 45  # above what is left as it is
A = 0.2 / (1.0 + np.abs(np.arange(N)[:, None] - np.arange(N))) + 2.0 * np.eye(N)
X = np.array([1.2, 0.4, 0.7, 0.1, -0.3])


@njit
def weighed_sums(a, x):
    """Two sums, and terms that are made of several numbers."""
    n = len(a)
    made, total = np.zeros((n, n)), x[0]
    for i in range(n):
        for j in range(1, n):
            one = a[i, j] * x[0]
            other = a[j, i] * x[1]
            for k in range(j):
                t = made[i, k] * 0.1
                one += t * a[k, j]
                other -= t * t
            made[i, j] = one / (1.0 + other * other)
        total += made[i, n - 1]
    return total


@njit
def carried(a, x):
    """A number that each iteration takes from the one before."""
    n = len(a)
    made, s = np.zeros(n), x[0]
    for j in range(n):
        entry = s * a[0, j]
        for k in range(j):
            entry += made[k] * a[k, j] * 0.1
        s = math.sin(entry)
        made[j] = s
    return s


@njit
def added_up(a, x):
    """A sum that goes on from iteration to iteration."""
    n = len(a)
    made, s = np.zeros(n), x[0]
    for j in range(n):
        for k in range(j):
            s += made[k] * a[k, j] * 0.1
        made[j] = math.sin(s)
    return s


@njit
def read_before(a, x):
    """What the first part of an iteration reads is written by the one before."""
    n = len(a)
    made = np.ones(n + 1) * x[0]
    for j in range(n):
        entry = made[j] * a[0, j]
        for k in range(j):
            entry += made[k] * a[k, j] * 0.1
        made[j + 1] = math.sin(entry)
    return made[n]


@njit
def of_itself(a, x):
    """Terms up to the index itself, of elements that stand elsewhere."""
    n = len(a)
    made = np.ones((n, n)) * x[0]
    for j in range(n):
        entry = a[0, j]
        for k in range(j):
            entry += made[0, k] * 0.1
        made[0, j - 2] = math.sin(entry)
    return made[0, n - 3] + made[0, n // 2]


@njit
def in_two_arrays(a, x):
    """An array that is written under another name."""
    n = len(a)
    made = np.ones((n, n)) * x[0]
    rows = made[1:]
    for j in range(n):
        entry = a[0, j]
        for k in range(j):
            entry += made[1, k] * a[k, j] * 0.1
        rows[0, j] = math.sin(entry)
    return made[1, n - 1]


JAMMED = [factor, weighed_sums]
LEFT = [carried, added_up, read_before, of_itself, in_two_arrays]


def outcome(f, args):
    """The value and gradient, and the text."""
    asked = request(f, *args, argnums=(0, 1))
    value, gradient = as_python(asked)(*args)
    return value, flat(gradient), source(asked)


def without(monkeypatch, f, args):
    with monkeypatch.context() as patch:
        patch.setattr(derivative_text, "unroll_and_jam", lambda function, *_: function)
        return outcome(f, args)


@pytest.mark.parametrize("n", [1, 31, 33, 34, 35, N])
@pytest.mark.parametrize("f", JAMMED)
def test_the_same_numbers(f, n, monkeypatch):
    args = A[:n, :n].copy(), X
    value, gradient, text = outcome(f, args)
    known, slopes, plain = without(monkeypatch, f, args)
    assert value == known
    np.testing.assert_array_equal(gradient, slopes)
    assert text.count(" in range(begun)") == 1 and "begun" not in plain


@pytest.mark.parametrize("f", LEFT)
def test_sums_that_wait_for_each_other_stay(f, monkeypatch):
    args = A, X
    assert outcome(f, args)[2] == without(monkeypatch, f, args)[2]


@pytest.mark.parametrize("f", JAMMED)
def test_compiled(f):
    value, gradient = contad.value_and_grad(f, argnums=(0, 1), engine="generated")(A, X)
    known, slopes, _ = outcome(f, (A, X))
    np.testing.assert_allclose(value, known, rtol=1e-13)
    np.testing.assert_allclose(flat(gradient), slopes, rtol=1e-10, atol=1e-12 * np.abs(slopes).max())


# ---- nests of any kind -----------------------------------------------------------------------------------------------
INNER = "range(n)", "range(i + 1)", "range(1, n)", "range(i)"
TERMS = "a[i, k]", "a[i, k]", "a[j, k]", "b[j, k]", "b[k, i]", "a[i, k + 1]", "a[k, j]", "a[j - 1, k]", "b[i, j]"
FIRST = "x[1]", "x[1]", "b[i, j]", "b[j, i]", "a[j, j]", "a[i, j - 1]"
STORED = "a[i, j]", "a[i, j]", "a[i, j]", "a[i, j + 1]", "a[j, i]", "a[i, 0]"


def sums(seed):
    """A function whose loops fill an array by sums of its elements."""
    chosen = random.Random(seed)
    one, other = chosen.choice(TERMS), chosen.choice(TERMS)
    lines = ["def f(x, n):", "    a, total = np.ones((n + 2, n + 2)), 0.2", "    b = np.ones((n + 2, n + 2)) * x[3]"]
    lines += [f"    for i in {chosen.choice(OUTER)}:", f"        for j in {chosen.choice(INNER)}:"]
    lines += [f"            s = x[0] * i + {chosen.choice(FIRST)}"]
    if chosen.random() < 0.5:
        lines += ["            if i == j:", "                s += x[4]"]
    lines += ["            for k in range(j):", f"                s += 0.1 * {one} * {other} * x[2]"]
    parts = [[f"            {chosen.choice(STORED)} = math.sin(s) if i == j else math.cos(s) * x[4]"]]
    parts += [[f"            total += {chosen.choice(FIRST)} * s"]] * chosen.randrange(2)
    chosen.shuffle(parts)
    lines += [line for part in parts for line in part]
    lines += ["    return total + a[n - 1, 0] + 2.0 * a[0, n - 1] + 3.0 * a[1, 1] + 4.0 * a[n, n - 1]"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def together(monkeypatch):
    """Counts the loops whose sums go together, however short they are."""
    found, write = [], unroll_and_jam._write
    monkeypatch.setattr(unroll_and_jam, "_SHORTEST", 0)
    monkeypatch.setattr(unroll_and_jam, "_FEWEST", 0)
    monkeypatch.setattr(unroll_and_jam, "_write", lambda *args: (found.append(args), write(*args))[1])
    return found


def test_random_sums(together):
    found = [disagreement(seed, 6, sums) for seed in range(24)]
    assert [wrong for _, wrong in found if wrong] == []
    assert len(together) > 4


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 5000, 200))
def test_more_random_sums(start, together):
    found = [disagreement(seed, 6, sums) for seed in range(start, start + 200)]
    assert [wrong for _, wrong in found if wrong] == []


@pytest.mark.parametrize(("fault", "f"), [("_is_behind", of_itself), ("_are_apart", read_before)])
def test_a_mistake_is_found(fault, f, monkeypatch):
    known = without(monkeypatch, f, (A, X))[0]
    monkeypatch.setattr(unroll_and_jam, fault, lambda *args: True)
    assert abs(outcome(f, (A, X))[0] - known) > 1e-6
