"""Constructs that Numba compiles: how many of them `generated` takes, and who takes the others."""

from collections import Counter

import numpy as np
import pytest

import contad
from tests.engines.source.programs.constructs import BODIES, TAKEN_BY, table_of
from tests.engines.source.programs.harness import along, function_of, given_to, is_refused


@pytest.mark.parametrize("name", TAKEN_BY)
def test_refusals_are_named(name):
    assert is_refused(table_of(name), "; ", BODIES[name])


def test_the_number_of_constructs(report):
    by = Counter(TAKEN_BY.values())
    others = ", ".join(f"{engine} {n} more" for engine, n in by.items())
    report("constructs that Numba compiles", f"{len(BODIES)}; generated {len(BODIES) - len(TAKEN_BY)}, {others}")
    assert len(BODIES) == 148
    assert len(TAKEN_BY) <= 3


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, engine in TAKEN_BY.items() if engine != "nothing"])
def test_refused_constructs_are_taken_by_another_engine(name):
    table = table_of(name)
    f = function_of(table, BODIES[name])
    derivative = contad.value_and_grad(f, (0, 1))
    assert contad.engine_name(derivative, args=given_to(table)) == TAKEN_BY[name]
    _, (by_x, by_a) = derivative(*given_to(table))
    right = along(f.py_func, given_to(table), (0, 1), 1e-6)[:, 0]
    np.testing.assert_allclose([*by_x, by_a], right, rtol=1e-6, atol=1e-7)
