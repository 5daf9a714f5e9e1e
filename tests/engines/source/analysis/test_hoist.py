"""What a loop computes anew although it cannot change is computed before the loop: reads, lengths, calls of rules."""

import math
import re

import numpy as np
import pytest
from numba import njit

import contad.stan
from contad.engines.source.analysis import hoist
from tests.engines.source.agreement import agree, text_of

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])


@njit
def densities(x, mu):
    """The density is one for all elements; the sine is another one for each."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * contad.stan.normal_lpdf(mu, 0.5, 2.0) * math.sin(x[i])
    return total * total


@njit
def heads(x, mu):
    """Slices of rows: their lengths are clipped, or constant where the array's is."""
    total = 0.0
    made = np.zeros(7)
    made[:5] = x[:5]
    for i in range(3):
        row = np.empty(4)
        row[1:3] = mu * x[i]
        part = x[1:4] * mu
        total += np.sum(part * part) + row[1] * row[2] + np.sum(made[i:])
    return total + np.sum(made[2:9] * 2.0)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("f", [densities, heads])
def test_derivatives_are_those_of_records(f, compiled):
    agree(f, X, 0.3, argnums=(0, 1), compiled=compiled)


@pytest.mark.parametrize("n", [5, 6])
def test_slices_that_are_clipped(n):
    @njit
    def heads_of_short(x, y):
        total = 0.0
        for i in range(2):
            total += np.sum(x[:4] * y[i]) + np.sum(x[3:9]) ** 2 + x[2:3].size * y[0] + x[7:].size
        return total

    for k in range(1, n):
        agree(heads_of_short, np.arange(1.0, k + 1.0), X, argnums=(0, 1))


def test_a_rule_is_called_once():
    text = text_of(densities, X, 0.3, argnums=(0, 1))
    assert re.search(r"^    \w+ = value_normal_log_density", text, re.MULTILINE)
    assert re.search(r"^        .*math.sin", text, re.MULTILINE)


def test_slices_of_known_lengths_are_not_compared():
    @njit
    def in_the_middle(x, mu):
        made = np.zeros((4, 4))
        made[:3, :3] = np.eye(3) * mu
        return np.sum(made[:2] * x[0])

    text = text_of(in_the_middle, X, 0.3)
    assert "EngineLimitError" not in text and "range(3)" in text
    agree(in_the_middle, X, 0.3, argnums=(0, 1))


def test_what_changes_must_not_move(monkeypatch):
    @njit
    def written(x, mu):
        made = x.copy()
        for i in range(1, x.size):
            made[0] = made[0] * x[i] + mu
        return made[0]

    agree(written, X, 0.3)
    monkeypatch.setattr(hoist, "find_written_roots", lambda _: set())
    with pytest.raises((AssertionError, NameError)):
        agree(written, X, 0.3)
