"""Arrays that loops fill element by element, of which the reverse sweep reads again what no later iteration writes."""

import math

import numpy as np
import pytest
from numba import njit

from contad.engines.source.analysis import unchanged
from tests.engines.source.agreement import agree, numbers_stored, request
from tests.engines.source.nests_of_loops import X, disagreement, factor

POSITIVE = np.exp(-0.3 * (np.arange(6.0)[:, None] - np.arange(6.0)) ** 2) + 0.5 * np.eye(6)


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
