"""Arrays that loops fill element by element, of which the reverse sweep reads again what no later iteration writes."""

import linecache
import math
import random

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source import source
from contad.engines.source.analysis import unchanged
from contad.functions.python_copy import python_twin
from tests.engines.source.agreement import agree, as_python, flat, request
from tests.engines.source.test_generated_shortcuts import numbers_stored

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])
POSITIVE = np.exp(-0.3 * (np.arange(6.0)[:, None] - np.arange(6.0)) ** 2) + 0.5 * np.eye(6)


@njit
def factor(a, x):
    """Cholesky's factor, a row after the other, and a system with it."""
    n = len(a)
    lower, z, value = np.zeros((n, n)), np.zeros(n), 0.0
    for i in range(n):
        for j in range(i + 1):
            entry = a[i, j] * x[0]
            for k in range(j):
                entry -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(entry) if i == j else entry / lower[j, j]
        residual = x[1]
        for k in range(i):
            residual -= lower[i, k] * z[k]
        z[i] = residual / lower[i, i]
        value += z[i] * z[i] + math.log(lower[i, i])
    return value


@njit
def from_the_last(a, x):
    """Rows from the last to the first, and columns likewise."""
    n = len(a)
    made, z, value = np.zeros((n, n)), np.zeros(n), x[1]
    for i in range(n - 1, -1, -1):
        for j in range(n - 1, i - 1, -1):
            entry = a[i, j] * x[0]
            for k in range(j + 1, n):
                entry += made[i, k] * made[j, k]
            if i != j:
                entry *= made[j, j]
            made[i, j] = math.sin(entry)
        for k in range(i + 1, n):
            value -= made[i, k] * z[k] * value
        z[i] = value / made[i, i]
    return value


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("f", [factor, from_the_last])
def test_triangles(f, n):
    agree(f, POSITIVE[:n, :n].copy(), np.array([1.2, 0.4]), argnums=(0, 1))


@pytest.mark.parametrize("f", [factor, from_the_last])
def test_no_number_is_stored_for_each_multiplication(f):
    a = np.eye(12) + 0.1

    def count(n):
        args = a[:n, :n].copy(), np.array([1.2, 0.4])
        return numbers_stored(request(f, *args, argnums=(0, 1)), args)

    assert count(12) <= 4.2 * count(6) <= 4.2 * 3.5 * 6 * 7 / 2


@njit
def written_again(x, n):
    """Each element twice: when it is read, it has another value than in the end."""
    a, s = np.ones((n, n)), 0.0
    for i in range(n):
        for j in range(i + 1):
            s += a[i, j] * a[j, i] * x[0]
            a[i, j] = math.sin(s + x[1])
            a[j, i] = a[i, j] * a[j, j] * x[2]
    return s


@njit
def of_the_next_row(x, n):
    """An element that the next iteration writes, another one that this iteration writes later on."""
    a, s = np.ones((n + 2, n + 2)), 0.0
    for i in range(n):
        for j in range(i + 1):
            for k in range(j + 2):
                s += a[i, k] * a[i, k] * x[0]
            s += a[i + 1, j] * a[i + 1, j] * x[1]
            a[i, j] = math.sin(s)
            for k in range(j + 1):
                s += a[i, k] * a[i, k] * x[2]
    return s


@njit
def in_branches(x, n):
    """What is read where the indices differ, and where they do not."""
    a, s = np.ones((n, n)), 0.1
    for i in range(n):
        for j in range(i + 1):
            if j == i:
                s += a[j, j] * a[j, j] * x[0]
            elif s > 0.0:
                s -= a[j, j] * a[j, j] * x[1] * s
            if i != j:
                s += a[j, j] * a[j, j] * x[2]
            else:
                s += math.sin(a[j, j] * x[3])
            a[i, j] = math.cos(s)
    return s


@njit
def of_terms(x, n):
    """Each term is reversed at once, the triangle in it in loops of its own."""
    total = 0.0
    for t in range(n):
        a = np.ones(n)
        for i in range(n):
            s = x[t]
            for k in range(i):
                s += a[k] * a[k] * x[0]
            a[i] = math.sin(s)
        total += a[n - 1] * a[0]
    return total


@pytest.mark.parametrize("f", [written_again, of_the_next_row, in_branches, of_terms])
def test_other_fillings(f):
    for n in (1, 2, 4):
        agree(f, X, n)


# ---- nests of any kind -----------------------------------------------------------------------------------------------
OUTER = "range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(n - 1, 0, -1)", "range(0, n, 2)"
INNER = "range(n)", "range(i)", "range(i + 1)", "range(i, n)", "range(i, -1, -1)", "range(n - 1, i, -1)", "range(i + 2)"
LAST = "range(j)", "range(j + 1)", "range(j, n)", "range(j + 1, n)", "range(i)", "range(j - 1, -1, -1)", "range(i, j)"
STORED = "i, j", "j, i", "i + 1, j", "i, j + 1", "i, i", "i - 1, j"
READ = "i, k", "j, k", "k, i", "j, j", "i, j", "k, j", "i + 1, k", "i, k + 1", "j - 1, k", "i - 1, j"
TESTS = "i != j", "i == j", "s < 5.0"


def nest(seed):
    """A function whose loops fill an array and read it."""
    chosen = random.Random(seed)
    one, other, later = (chosen.choice(READ) for _ in range(3))
    test = chosen.choice(TESTS)
    lines = ["def f(x, n):", "    a, s = np.ones((n + 2, n + 2)), 0.2", f"    for i in {chosen.choice(OUTER)}:"]
    lines += [f"        for j in {chosen.choice(INNER)}:", f"            for k in {chosen.choice(LAST)}:"]
    lines += [f"                s += 0.1 * a[{one}] * a[{other}] * x[0]", "            k = 1"]
    parts = [[f"            a[{chosen.choice(STORED)}] = math.sin(s + x[1])"]]
    parts += [[f"            if {test}:", f"                s += 0.1 * a[{later}] * a[{later}] * x[2]"]]
    parts += [[f"            a[{chosen.choice(STORED)}] {chosen.choice(('=', '+='))} x[3] * s"]] * chosen.randrange(2)
    chosen.shuffle(parts)
    lines += [line for part in parts for line in part]
    lines += ["    return s + a[n - 1, 0] + 2.0 * a[0, n - 1] + 3.0 * a[1, 1] + 4.0 * a[n, n - 1]"]
    return "\n".join(lines) + "\n"


def disagreement(seed, most=4, write=nest):
    """(whether elements are read again, what is wrong with the gradient of a nest of loops)."""
    text, file = write(seed), f"<{write.__name__} {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"np": np, "math": math}
    exec(compile(text, file, "exec"), names)
    f = njit(names["f"])
    asked = request(f, X, 4)
    again = " a[" in source(asked).split("_bar = 1.0")[-1]
    for n in (2, most):
        _, gradient = as_python(asked)(X, n)
        _, expected = contad.value_and_grad(python_twin(f), engine="records")(X, n)
        scale = np.abs(expected).max(initial=1e-6)
        if not np.allclose(flat(gradient), expected, rtol=1e-9, atol=1e-11 * scale):
            return again, f"{text}{gradient} for {expected}"
    return again, None


def test_random_nests():
    found = [disagreement(seed) for seed in range(24)]
    assert [wrong for _, wrong in found if wrong] == []
    assert 4 < sum(again for again, _ in found) < 22


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 5000, 200))
def test_more_random_nests(start):
    assert [wrong for _, wrong in map(disagreement, range(start, start + 200)) if wrong] == []


@pytest.mark.parametrize("fault", ["passed", "differ", "order"])
def test_a_mistake_is_found(fault, monkeypatch):
    if fault == "passed":
        right = unchanged._find_reach
        monkeypatch.setattr(unchanged, "_find_reach", lambda *args: None if right(*args) is None else right(*args) - 1)
    elif fault == "differ":
        monkeypatch.setattr(unchanged, "_differ", lambda *args: True)
    else:
        monkeypatch.setattr(unchanged, "precedes", lambda *args: True)
    assert any(disagreement(seed)[1] for seed in range(120))
