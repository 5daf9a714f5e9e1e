"""Checkpointed loops: to the last bit the derivatives of plain ones, with memory that grows with the root."""

import types

import numpy as np
import pytest
from numba import njit

import contad
from tests.engines.source import bodies_of_long_loops as bodies

NAMES = [name for name, f in vars(bodies).items() if isinstance(f, types.FunctionType) and f is not contad.checkpointed]
LENGTHS = (0, 1, 2, 3, 5, 16, 29, 100)
OF_VECTORS = {
    "table_of_rows", "rows_of_expressions", "rows_added_to", "in_place", "two_levels",
}  # fmt: skip


@njit
def unmarked(iterable):
    return iterable


def with_mark(name, mark):
    """A body as a Numba function, with this function around ranges."""
    f = getattr(bodies, name)
    return njit(types.FunctionType(f.__code__, vars(bodies) | {"checkpointed": mark}, name))


def point(name):
    return np.array([0.4, 0.7, 0.2]) if name in OF_VECTORS else 0.4


def equal(a, b):
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return np.array_equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_plain_loops(name):
    has_aux = name == "returned_array"
    plain, marked = (
        contad.value_and_grad(with_mark(name, mark), has_aux=has_aux, engine="generated")
        for mark in (unmarked, contad.checkpointed)
    )
    x = point(name)
    for n in LENGTHS:
        if n == 0 and name == "with_a_break":
            continue
        assert equal(marked(x, n), plain(x, n)), n
    assert "root_of" in contad.source(marked, x, 10)
