"""Functions of parameters alone leave branches of loops over data, and move before checks; nothing is read beyond an
array."""

import re

import numpy as np
import pytest
from numba import njit

import contad
from contad.stan import bernoulli_lpmf
from tests.engines.source.agreement import agree

RNG = np.random.default_rng(57)


@njit
def of_captures(p, y):
    total = 0.0
    for i in range(y.shape[0]):
        if np.sum(y[i]) > 0:
            total += bernoulli_lpmf(y[i], p)
        else:
            total += 0.5 * bernoulli_lpmf(y[i], p * p)
    return total


@njit
def behind_a_check(p, y):
    total = 0.0
    for i in range(y.shape[0]):
        if y.shape[1] > p.shape[0]:
            raise ValueError("p is too short")
        for k in range(y.shape[1]):
            total += np.log(p[k]) * y[i, k]
    return total


@njit
def of_a_part(p, y):
    """An element may lie beyond the array in the branch that is not taken."""
    total = 0.0
    for i in range(y.shape[0]):
        if y.shape[1] <= p.shape[0]:
            for k in range(y.shape[1]):
                total += np.exp(p[k]) * y[i, k]
        else:
            total += np.sin(p[0])
    return total


@pytest.mark.parametrize("f", [of_captures, behind_a_check, of_a_part])
def test_functions_are_computed_before_the_loop(f):
    p, y = RNG.uniform(0.1, 0.9, 3), RNG.integers(0, 2, (7, 3))
    text = contad.source(f, p, y)
    before = text[: re.search(r"for (i|strip_2) in range\((0, )?y_length\b", text).start()]
    assert re.search(r"(log|exp)\w*\(", before[before.index("def run") :])
    agree(f, p, y)


def test_what_lies_beyond_an_array_is_not_read():
    y = np.ones((4, 3), np.int64)
    for short in (np.full(2, 0.5), np.zeros(0)):  # an element beyond it might be in no page of memory
        with pytest.raises(ValueError, match="too short"):
            contad.value_and_grad(behind_a_check)(short, y)
        with pytest.raises(ValueError, match="shape"):
            contad.value_and_grad(of_captures)(short, y)
    agree(of_a_part, np.full(2, 0.5), y)
