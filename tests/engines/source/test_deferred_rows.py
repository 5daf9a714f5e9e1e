"""Adjoints of earlier rows that wait for four rows: the same derivative, and one pass over a matrix instead of four."""

import math
import random

import numpy as np
import pytest
from numba import njit

from contad.engines.source import source
from contad.engines.source.build import derivative_of
from contad.engines.source.writing import deferred_rows, derivative_text, first_writes
from tests.engines.source.agreement import agree, as_python, flat, request
from tests.engines.source.nests_of_loops import disagreement, factor

N = 23
A = 0.2 / (1.0 + np.abs(np.arange(N)[:, None] - np.arange(N))) + 2.0 * np.eye(N)
X = np.array([1.2, 0.4, 0.7, 0.1, -0.3])
CALL = " add_late_rows("


@njit
def of_two_matrices(a, x):
    """Products with rows of another matrix, in a loop that does not begin with the first row."""
    n = len(a)
    b, total = np.zeros((n, n)), 0.0
    for i in range(5, n):
        b[i, 0] = x[0] * a[i, 0]
        for j in range(i):
            s = 0.0
            for k in range(j):
                s += a[i, k] * b[j, k]
            b[i, j] = math.sin(s + x[1])
        total += b[i, i - 1]
    return total


@njit
def read_before(a, x):
    """Elements of the row before are read, whose adjoints are added to."""
    n = len(a)
    b, total = np.zeros((n, n)), 0.0
    for i in range(1, n):
        for j in range(i):
            s = x[0] + b[i - 1, j] * b[i - 1, j]
            for k in range(j):
                s += b[i, k] * b[j, k] * 0.1
            b[i, j] = math.sin(s)
        total += b[i, i - 1]
    return total


@njit
def written_again(a, x):
    """An element of an earlier row is replaced."""
    n = len(a)
    b, total = np.zeros((n, n)), 0.0
    for i in range(n):
        for j in range(i):
            s = x[0] * a[i, j]
            for k in range(j):
                s += a[i, k] * b[j, k]
            b[i, j] = math.sin(s)
            if i > 9:
                b[i - 8, j // 2] = x[1] * s
        total += b[i, i // 2]
    return total


@njit
def upwards(a, x):
    """Rows are made from the last one to the first."""
    n = len(a)
    b, total = np.zeros((n, n)), 0.0
    for i in range(n - 1, -1, -1):
        for j in range(i):
            s = x[0] * a[i, j]
            for k in range(j):
                s += b[i, k] * a[j, k]
            b[i, j] = math.sin(s)
        total += b[i, i // 2]
    return total


@njit
def until_the_row(a, x):
    """Another triangle."""
    n = len(a)
    b, total = np.zeros((n, n)), 0.0
    for i in range(n):
        for j in range(i):
            s = x[0] * a[i, j]
            for k in range(j, i):
                s += b[i, k] * b[j, k]
            b[i, j] = math.sin(s)
        total += b[i, i // 2]
    return total


@njit
def by_another_name(a, x):
    """Elements of earlier rows are replaced through a part of the matrix."""
    n = len(a)
    b, total = np.zeros((n, n)), 0.0
    rows = b[1:]
    for i in range(1, n):
        for j in range(i):
            s = x[0] * a[i, j] + rows[i // 2, j] * rows[i // 2, j]
            for k in range(j):
                s += a[i, k] * b[j, k]
            rows[i - 1, j] = math.sin(s)
            if i > 9:
                rows[i - 9, j // 2] = x[1] * s
        total += b[i, i // 2]
    return total


@njit
def in_place(a, x):
    """Rows are overwritten from left to right."""
    b, total = a * x[0], 0.0
    for i in range(len(a)):
        for j in range(i):
            s = b[i, j] * b[i, j]
            for k in range(j):
                s -= b[i, k] * b[j, k]
            b[i, j] = math.sin(s) * b[i, i]
        total += b[i, i // 2]
    return total


WAITS = [factor, of_two_matrices, read_before, in_place]
LEFT = [written_again, by_another_name, upwards, until_the_row]


@pytest.fixture(autouse=True)
def however_few(monkeypatch):
    """Rows wait in any matrix."""
    monkeypatch.setattr(deferred_rows, "_SHORTEST", 0)


def outcome(f, args):
    """The value and gradient, and the text."""
    asked = request(f, *args, argnums=(0, 1))
    value, gradient = as_python(asked)(*args)
    return value, flat(gradient), source(asked)


def without(monkeypatch, f, args):
    with monkeypatch.context() as patch:
        patch.setattr(derivative_text, "defer_rows", lambda lines, *_: lines)
        return outcome(f, args)


@pytest.mark.parametrize("n", [6, 7, 8, 9, 20, 22, N])
@pytest.mark.parametrize("f", WAITS)
def test_the_same_numbers(f, n, monkeypatch):
    args = A[:n, :n].copy(), X
    value, gradient, text = outcome(f, args)
    known, slopes, plain = without(monkeypatch, f, args)
    assert value == known and text.count(CALL) == 1 and CALL not in plain
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-13 * np.abs(slopes).max())


@pytest.mark.parametrize("f", WAITS)
def test_compiled(f):
    agree(f, A, X, argnums=(0, 1), compiled=True)


@pytest.mark.parametrize("f", LEFT)
def test_what_may_not_wait_stays(f, monkeypatch):
    assert outcome(f, (A, X))[2] == without(monkeypatch, f, (A, X))[2]


@njit
def adds_itself(a, x):
    """Sums of the function's own, whose order is that of the program."""
    n = len(a)
    b = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i):
            w = x[0] * a[j, i]
            for k in range(j):
                b[j, k] += w * a[i, k]
    return np.sum(b * b)


def test_the_order_of_values_stays():
    text = outcome(adds_itself, (A, X))[2]
    assert CALL not in text


@pytest.mark.parametrize(("fault", "f"), [("_is_of_row", written_again), ("_may_wait", by_another_name)])
def test_a_mistake_is_found(fault, f, monkeypatch):
    known = without(monkeypatch, f, (A, X))[1]
    monkeypatch.setattr(deferred_rows, fault, lambda *_: True)
    _, gradient, text = outcome(f, (A, X))
    assert CALL in text and not np.allclose(gradient, known, rtol=1e-6)


# ---- nests of any kind -----------------------------------------------------------------------------------------------
OUTER = "range(n)", "range(n)", "range(2, n)", "range(n - 1)", "range(n - 1, -1, -1)"
INNER = "range(i)", "range(i + 1)", "range(n)", "range(i - 1, -1, -1)", "range(1, i)"
LAST = "range(j)", "range(j)", "range(j)", "range(j)", "range(j + 1)"
LEFT_TERMS, RIGHT_TERMS = ("a[i, k]", "a[i, k]", "b[i, k]", "b[k, i]"), ("a[j, k]", "a[j, k]", "b[j, k]", "a[j - 1, k]")
READ = "a[i, j]", "b[i, j]", "a[j, j]", "a[i - 1, j]", "b[j, i]", "a[i // 2, j // 2]", "x[1]"
STORED = "a[i, j]", "a[i, j]", "a[i, j]", "a[i, j]", "b[i, j]", "a[i // 2, j]", "a[j, i]"


def triangles(seed):
    """A function whose loops fill a triangle by products of its rows."""
    chosen = random.Random(seed)
    one, other = chosen.choice(LEFT_TERMS), chosen.choice(RIGHT_TERMS)
    lines = ["def f(x, n):", "    a, total = np.ones((n + 2, n + 2)) * x[2], 0.2"]
    lines += ["    b = np.ones((n + 2, n + 2)) * x[3]", f"    for i in {chosen.choice(OUTER)}:"]
    lines += [f"        for j in {chosen.choice(INNER)}:", f"            s = x[0] * i + {chosen.choice(READ)}"]
    lines += [f"            for k in {chosen.choice(LAST)}:", f"                s += {one} * {other}"]
    parts = [[f"            {chosen.choice(STORED)} = math.sin(s) if i == j else math.cos(s) * x[4]"]]
    assigns = chosen.choice(("=", "+="))
    parts += [[f"            {chosen.choice(STORED)} {assigns} x[3] * math.sin(s)"]] * chosen.randrange(2)
    parts += [[f"            total += {chosen.choice(READ)} * s"]] * chosen.randrange(2)
    chosen.shuffle(parts)
    lines += [line for part in parts for line in part]
    lines += [f"        total += {chosen.choice(READ).replace('j', 'i')} * 0.1"]
    lines += ["    return total + a[n - 1, 0] + 2.0 * a[0, n - 1] + 3.0 * a[1, 1] + 4.0 * a[n, n - 1]"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def waiting(monkeypatch):
    """Counts the nests with rows that wait."""
    found, write = [], deferred_rows._write
    monkeypatch.setattr(deferred_rows, "_write", lambda *args: (found.append(args), write(*args))[1])
    return found


def test_random_triangles(waiting):
    found = [disagreement(seed, 11, triangles) for seed in range(24)]
    assert [wrong for _, wrong in found if wrong] == []
    assert len(waiting) > 4


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 4000, 200))
def test_more_random_triangles(start, waiting):
    found = [disagreement(seed, 11, triangles) for seed in range(start, start + 200)]
    assert [wrong for _, wrong in found if wrong] == []


@pytest.mark.parametrize(("loans", "made"), [(12, "lent_zeros(2, "), (3, "lent_zeros(2, "), (2, "np.zeros(")])
def test_weights_are_in_memory_of_the_thread_where_it_has_some(loans, made, monkeypatch):
    monkeypatch.setattr(first_writes, "LOANS", loans)
    assert f"    weights = {made}(4, a_length if waits else 0))" in outcome(in_place, (A, X))[2]


@pytest.mark.parametrize("n", [79, 80, 83])
def test_few_rows_do_not_wait(n, monkeypatch):
    monkeypatch.undo()
    a = 0.2 / (1.0 + np.abs(np.arange(n)[:, None] - np.arange(n))) + 2.0 * np.eye(n)
    asked = request(factor, a, X, argnums=(0, 1))
    names = {}
    exec(derivative_of(asked).source(), names)
    counts, add = [], names["add_late_rows"]
    names["add_late_rows"] = lambda *args: (counts.append(args[-1]), add(*args))
    _, gradient = names["run"](a, X)
    assert counts == ([0] if n < 80 else list(range(76, -1, -4)))
    np.testing.assert_allclose(flat(gradient), without(monkeypatch, factor, (a, X))[1], rtol=1e-10, atol=1e-12)
