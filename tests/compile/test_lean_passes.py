"""Passes over generated code: nothing is found out for nobody, and what needs Numba's own gets it."""

import numba
import numpy as np
import pytest
from numba.core import postproc
from numba.core.runtime import _nrt_python
from numba.core.untyped_passes import InlineClosureLikes

from contad.compile.linked_code import link


def call(f, *args):
    """The result of f for compiled code."""

    @numba.njit
    def caller(*args):
        return f(*args)

    return caller(*args)


@pytest.fixture
def asked(monkeypatch):
    """The functions of which it was asked how long names live, once for each time."""
    seen = []
    run = postproc.PostProcessor.run

    def noted(self, *args, **kwargs):
        seen.append(self.func_ir.func_id.func_name)
        return run(self, *args, **kwargs)

    monkeypatch.setattr(postproc.PostProcessor, "run", noted)
    return seen


def of_numbers(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] if x[i] > 0.0 else 1.0
    return total


def test_lives_of_names_are_asked_for_at_the_ends_alone(asked):
    before = postproc.PostProcessor
    assert call(link()(of_numbers), np.array([2.0, -1.0])) == 3.0
    assert asked.count("of_numbers") == 2
    assert call(numba.njit(of_numbers), np.array([2.0, -1.0])) == 3.0
    assert asked.count("of_numbers") > 8
    assert postproc.PostProcessor is before


def test_expressions_of_arrays_are_loops_and_give_their_memory_back():
    @link()
    def summed(x):
        y = 2.0 * x + np.exp(x - 1.0) * x
        y = np.maximum(y, -x)
        return y.sum() + (x * x)[0]

    x = np.array([0.3, -1.2, 2.5])
    expected = np.maximum(2.0 * x + np.exp(x - 1.0) * x, -x).sum() + x[0] ** 2

    @numba.njit
    def outer(x):
        return summed(x)

    np.testing.assert_allclose(outer(x), expected)
    _nrt_python.memsys_enable_stats()
    try:
        before = numba.core.runtime.rtsys.get_allocation_stats()
        outer(x)
        after = numba.core.runtime.rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free <= 4


@pytest.mark.parametrize(("inside", "count"), [(False, 0), (True, 1)])
def test_functions_inside_are_inlined_where_there_are_any(inside, count, monkeypatch):
    seen = []
    run = InlineClosureLikes.run_pass

    def noted(self, state):
        seen.append(state.func_id.func_name)
        return run(self, state)

    monkeypatch.setattr(InlineClosureLikes, "run_pass", noted)

    def with_function(x):
        def squared(t):
            return t * t

        return squared(x[0]) + squared(x[1])

    def without(x):
        return x[0] * x[0] + x[1] * x[1]

    f = with_function if inside else without
    assert call(link()(f), np.array([2.0, -3.0])) == 13.0
    assert seen.count(f.__name__) == count


def test_lists_become_arrays():
    def listed(x):
        made = np.array([x, 2.0 * x, 1.0])
        squares = np.array([t * t for t in made])
        return made, squares

    made, squares = call(link()(listed), 3.0)
    np.testing.assert_array_equal(made, [3.0, 6.0, 1.0])
    np.testing.assert_array_equal(squares, made * made)
