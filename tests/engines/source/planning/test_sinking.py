"""What hands on to one branch alone is reversed in that branch, and choices only where their adjoints are not zero."""

import math
import re

import numpy as np
import pytest
from numba import njit

from contad.engines.source.ir.single_assignment import If
from contad.engines.source.ir.syntax import expression
from contad.engines.source.planning import sinking
from contad.engines.source.writing import reverse_sweep
from tests.engines.source.agreement import agree, flat, text_of

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4, 0.3])


@njit
def falling(x, dt):
    """A force that the last iteration computes in vain."""
    y, v = x[0], x[1]
    while True:
        force = math.exp(-y) / (1.0 + v * v)
        if y < -1.0:
            return y * v
        y, v = y + dt * v, v - dt * (2.0 - force)


@njit
def rectified(x, scale):
    """One branch reads what comes before it; the other one and what follows read other numbers."""
    total = 0.0
    for i in range(x.size):
        s = math.sin(x[i] * scale)
        grown = math.exp(s)
        u = s * x[i]
        if x[i] > 0.0:
            for k in range(2):
                total += grown * grown * (k + x[i])
        else:
            total += u
        total *= 1.0 + 0.1 * x[i]
    return total


@njit
def of_both(x, scale):
    """What both branches read, or something behind them, stays."""
    total = 0.0
    for i in range(x.size):
        grown = math.exp(x[i] * scale)
        turned = math.cos(x[i])
        total += grown if x[i] > 0.0 else 2.0 * grown
        total += turned * turned if x[i] > 0.5 else x[i]
        total += turned
    return total


@njit
def cheapest(x, step):
    """The cheapest way through a table."""
    n = x.size
    cost = np.zeros((n, n))
    cost[0] = x
    for i in range(1, n):
        for j in range(n):
            least = cost[i - 1, j]
            if j > 0 and cost[i - 1, j - 1] + step < least:
                least = cost[i - 1, j - 1] + step * x[j]
            cost[i, j] = x[(i * j) % n] + least * 1.5
    return np.min(cost[n - 1])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("f", [falling, rectified, of_both, cheapest])
def test_adjoints_are_those_of_records(f, compiled):
    agree(f, X, 0.3, argnums=(0, 1), compiled=compiled)


def test_adjoints_of_a_branch_are_computed_in_it():
    for f, name in ((falling, "force"), (rectified, "grown")):
        text = text_of(f, X, 0.3)
        assert f"{name}_bar = 0.0" not in text
        assert re.search(rf"^            +{name}_bar = ", text, re.MULTILINE)


def test_an_infinite_partial_of_the_other_branch_has_no_part():
    @njit
    def root(x, limit):
        total = 0.0
        for i in range(x.size):
            r = math.sqrt(x[i])
            total += r if x[i] > limit else x[i]
        return total

    assert flat(agree(root, np.array([0.0, 1.0, 4.0]), 0.5)).tolist() == [1.0, 0.5, 0.25]


def test_choices_rest_where_nothing_has_chosen_them():
    assert "if least_2_bar != 0.0:" in text_of(cheapest, X, 0.3)


def branches(block):
    return [b for o in block.operations if isinstance(o, If) for b in o.blocks] or [None]


def test_planted_faults_are_found(monkeypatch):
    find = sinking._find_branch
    monkeypatch.setattr(sinking, "_find_branch", lambda x, value, block: find(x, value, block) or branches(block)[0])
    with pytest.raises((AssertionError, NameError)):
        agree(of_both, X, 0.3, argnums=(0, 1))
    monkeypatch.undo()
    monkeypatch.setattr(reverse_sweep, "either", lambda tests: expression("False"))
    with pytest.raises(AssertionError):
        agree(cheapest, X, 0.3, argnums=(0, 1))
