"""Large matrices that loops fill lie in memory which the thread keeps, where lines of the cache begin."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.runtime.lent_arrays import lent_empty, lent_zeros
from contad.memory.arena import memory_in_use
from tests.engines.source.programs.unchanged import factor

LINE = 64  # bytes


@njit
def places(n):
    return lent_empty(0, (n, n)).ctypes.data, lent_zeros(1, (n, n)).ctypes.data, lent_zeros(1, (n, n)).sum()


@njit
def of_vectors(a, x):
    z = np.zeros(len(a))
    for i in range(len(a)):
        z[i] = np.sin(a[i, 0] * x[0])
    return z[0] * z[1]


@pytest.mark.parametrize("n", [130, 301, 200])
def test_rows_begin_with_a_line(n):
    *found, total = places(n)
    assert [at % LINE for at in found] == [0, 0] and found[0] != found[1] and total == 0.0


def test_matrices_of_loops_are_lent_and_vectors_alone_are_not():
    a, x = np.eye(3), np.ones(2)
    assert contad.source(factor, a, x).count(" = lent_") == 4
    assert " = lent_" not in contad.source(of_vectors, a, x)


def test_sizes_after_another_see_nothing_of_each_other():
    gradient, x = contad.grad(factor, argnums=1, engine="generated"), np.array([1.3, 0.7])
    sizes = (20, 150, 20, 180, 150)
    a = {n: 0.2 / (1.0 + np.abs(np.arange(n)[:, None] - np.arange(n))) + 2.0 * np.eye(n) for n in sizes}
    expected = {n: contad.grad(factor, argnums=1, engine="tape")(a[n], x) for n in (20, 150)}
    contad.recover_memory()
    before = memory_in_use()
    for n in sizes:
        found = gradient(a[n], x)
        if n in expected:
            np.testing.assert_allclose(found, expected[n], rtol=1e-9)
    held = memory_in_use()
    assert held - before > 2 * 8 * 180**2
    gradient(a[180], x)
    assert memory_in_use() == held
    contad.recover_memory()
    assert memory_in_use() == before


@njit
def sums(n, m):
    """Of arrays of no more numbers than lie on the stack, and of more; with their lengths."""
    a, b, c = lent_zeros(0, (n, m)), lent_zeros(1, n), lent_empty(2, (n, m, 2))
    c[:] = 1.0
    return a.sum() + b.sum() + c.sum(), a.shape, b.shape, c.shape


SIZES = [(0, 0), (0, 10**6), (0, 2**40), (3, 4), (64, 1), (65, 1), (8, 8), (13, 5), (300, 200)]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_arrays_of_any_lengths(n, m):
    assert sums(n, m) == (2.0 * n * m, (n, m), (n,), (n, m, 2))


@pytest.mark.parametrize(("n", "m"), [(-1, 3), (3, -1), (-300, -200), (-1, 0), (5, -(2**40))])
def test_lengths_below_zero_are_numpys_error(n, m):
    with pytest.raises(ValueError, match="negative dimensions"):
        sums(n, m)


@pytest.mark.parametrize("m", [2**40, 2**62])
def test_lengths_that_no_memory_holds_are_an_error(m):
    with pytest.raises((ValueError, MemoryError)):
        sums(2**30, m)
