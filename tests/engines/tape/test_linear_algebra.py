"""A system of equations on the tape: how many records and how much memory it takes."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.compile.words import word
from contad.memory.arena import USED, arena, memory_in_use
from tests.engines.matrix_programs import DRAW
from tests.engines.tape.requests import state, value_and_grad


@njit
def solved(a, b):
    """An element of the solution, and how many cells the system takes."""
    first = word(arena(), USED)
    z = np.linalg.solve(a, b)
    return z[1, 0], word(arena(), USED) - first


def test_a_system_takes_records_for_its_elements_only_and_no_more_memory_than_allowed():
    n, k = 60, 3
    a, b = np.eye(n) * 2.0 + 0.01 * DRAW.standard_normal((n, n)), DRAW.standard_normal((n, k))
    (_, cells), _ = value_and_grad(solved, a, b, has_aux=True)
    assert cells <= n * n + 2 * n * k + (n * n + n) // 3 + 4
    before = state()
    contad.set_memory_limit(memory_in_use() + 10_000)
    try:
        large = np.eye(400) * 2.0
        with pytest.raises(MemoryError, match="set_memory_limit"):
            value_and_grad(solved, large, large, has_aux=True)
        assert state() == before
    finally:
        contad.set_memory_limit(None)
