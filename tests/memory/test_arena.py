"""The memory of compiled derivatives: a limit that was met does not stay in the way; what is kept can be had back."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.memory.arena import memory_in_use


@njit
def long(s, n):
    k = 0
    while k < n:  # which is not checkpointed
        s = math.sin(s)
        k += 1
    return s


@njit
def wide(x, n):
    """Adjoints of many cells, few numbers in the workspace."""
    total = 0.0
    for k in range(n):
        total += x[k % x.shape[0]] * math.exp(-0.1 * x[0])
    return total


GRADIENTS = {engine: contad.value_and_grad(long, engine=engine) for engine in ("tape", "generated")}
SMALL = {engine: contad.value_and_grad(wide, engine=engine) for engine in ("tape", "generated")}
X = np.array([0.3, -1.2, 2.0])


@pytest.fixture
def recovered():
    """Nothing is held, and what a test sets is undone."""
    for gradient in GRADIENTS.values():
        gradient(0.5, 3)
    for gradient in SMALL.values():
        gradient(X, 3)
    contad.recover_memory()
    yield
    contad.set_memory_limit(None)
    contad.recover_memory()


@pytest.mark.parametrize("then", GRADIENTS)
@pytest.mark.parametrize("first", GRADIENTS)
@pytest.mark.parametrize("limit", [200_000, 262_144, 1_000_000, 3_333_333])
def test_after_the_limit_was_met_what_fits_is_computed(recovered, limit, first, then):
    expected = GRADIENTS[then](1.5, 1000), SMALL[then](X, 1000)
    contad.recover_memory()
    contad.set_memory_limit(limit)
    for _ in range(2):
        with pytest.raises(MemoryError, match="set_memory_limit"):
            GRADIENTS[first](1.5, 10_000_000)
    assert GRADIENTS[then](1.5, 1000) == expected[0]
    value, gradient = SMALL[then](X, 1000)
    assert value == expected[1][0]
    assert gradient.tolist() == expected[1][1].tolist()
    assert memory_in_use() <= limit


def test_a_lower_limit_does_not_stop_what_fits(recovered):
    for engine, gradient in GRADIENTS.items():
        before = gradient(1.5, 1000)
        gradient(1.5, 1_000_000)
        contad.set_memory_limit(200_000)
        for other, function in GRADIENTS.items():
            if other != engine:
                assert function(1.5, 1000) == before
        contad.set_memory_limit(None)


@pytest.mark.parametrize("engine", GRADIENTS)
def test_recover_memory_gives_all_back(recovered, engine):
    before = GRADIENTS[engine](1.5, 1_000_000)
    assert memory_in_use() >= 8_000_000
    contad.recover_memory()
    assert memory_in_use() == 0
    assert GRADIENTS[engine](1.5, 1_000_000) == before
    with contad.recover_memory():
        assert memory_in_use() == 0
        GRADIENTS[engine](1.5, 1000)
    assert memory_in_use() == 0
