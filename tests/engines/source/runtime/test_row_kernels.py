"""Kernels of rows in compiled code: operands in another order of memory, and blocks that LAPACK solves."""

import numpy as np
import pytest
from numba import njit

from contad.engines.source.runtime import row_kernels
from contad.engines.source.runtime.workspace import workspace
from contad.memory.arena import memory_in_use
from tests.kernels.drawn_matrices import Draw

draw = Draw(71)


@njit
def run_blocks(a, b, bars):
    """The adjoints of a, from those of its factor and of a solution of many columns."""
    work, top = workspace()
    n, k = b.shape
    factor, z, of_factor, of_solution = np.empty((n, n)), np.empty((n, k)), np.zeros((n, n)), np.zeros((n, n))
    work, top = row_kernels.forward_cholesky(a, factor, work, top)
    top = row_kernels.reverse_cholesky(bars[:, :n], of_factor, work, top)
    work, top = row_kernels.forward_solve(a, b, z, work, top)
    b_bar = np.zeros((n, k))
    top = row_kernels.reverse_solve(bars[:, n:], of_solution, b_bar, work, top)
    return of_factor, of_solution, b_bar, top


@njit
def solve_and_reverse(a, b, z, bars, a_bar, b_bar):
    work, top = workspace()
    work, top = row_kernels.forward_solve(a, b, z, work, top)
    return row_kernels.reverse_solve(bars, a_bar, b_bar, work, top)


@pytest.mark.parametrize("n", [3, 12])
def test_matrices_in_another_order_are_copied_for_kernels(n):
    """On the stack, or in memory that is given back, if the kernel raises as well; adjoints are added to."""
    given = [draw(n, n), draw(n, n), np.empty((n, n)), draw(n, n), draw(n, n), draw(n, n)]
    turned = [np.asfortranarray(x) for x in given]
    twice = [np.repeat(x, 2, axis=1)[:, ::2] for x in given]
    solve_and_reverse(*given)
    before = memory_in_use()
    for others in (turned, twice):
        assert solve_and_reverse(*others) == 0
        for x, y in zip(given, others, strict=True):
            np.testing.assert_array_equal(x, y)
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            solve_and_reverse(np.zeros_like(others[0]), *others[1:])
    assert memory_in_use() == before


@pytest.mark.parametrize(("n", "k"), [(9, 1), (23, 30), (24, 23), (24, 24), (60, 31)])
def test_blocks_by_lapack_are_the_loops(n, k):
    """Around the size from which on LAPACK solves."""
    a, b, bars = draw.positive(n), draw(n, k), draw(n, n + k)
    operands = [x.copy() for x in (a, b, bars)]
    *found, top = run_blocks(*operands)
    expected = run_blocks.py_func(a, b, bars.copy())
    bars[:] = 0.0  # adjoints of results are spent; LAPACK writes to copies of the others
    for x, y in zip(operands, (a, b, bars), strict=True):
        np.testing.assert_array_equal(x, y)
    assert top == 0
    for x, y in zip(found, expected, strict=False):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
