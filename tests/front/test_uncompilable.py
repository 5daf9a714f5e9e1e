"""Numba functions that Numba itself cannot compile: the error says so, and what to do."""

import math

import pytest
from numba import njit

import contad


def helper(x):
    return x * math.sin(x)


@njit
def calls_a_plain_function(x):
    return helper(x) + 1.0


WAYS = {
    "grad": lambda: contad.grad(calls_a_plain_function)(0.5),
    "profile": lambda: contad.profile(calls_a_plain_function)(0.5),
    "jvp": lambda: contad.jvp(calls_a_plain_function, (0.5,), (1.0,)),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_told_that_numba_cannot_compile_it(way):
    told = r"Numba cannot compile this function itself .*name 'helper'.*; decorate helper, a plain Python function"
    with pytest.raises(contad.UnsupportedError, match=told):
        WAYS[way]()


def test_the_explanation_quotes_numba_in_full():
    text = str(contad.explain(calls_a_plain_function, 0.5))
    assert "Numba says: Untyped global name 'helper': Cannot determine Numba type of <class 'function'>" in text
