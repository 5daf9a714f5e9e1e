"""Passes over generated code: nothing is found out for nobody, and what needs Numba's own gets it."""

import numba
import numpy as np
import pytest
from numba.core import postproc
from numba.core.untyped_passes import InlineClosureLikes

from contad.compile.linked_code import link
from tests.compile.watching import caller_of, note_calls, watched_memory


def of_numbers(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] if x[i] > 0.0 else 1.0
    return total


def test_lives_of_names_are_asked_for_at_the_ends_alone(monkeypatch):
    before = postproc.PostProcessor
    asked = note_calls(monkeypatch, before, "run", lambda self, *_: self.func_ir.func_id.func_name)
    assert caller_of(link()(of_numbers))(np.array([2.0, -1.0])) == 3.0
    assert asked.count("of_numbers") == 2
    assert caller_of(numba.njit(of_numbers))(np.array([2.0, -1.0])) == 3.0
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
    outer = caller_of(summed)
    np.testing.assert_allclose(outer(x), expected)
    with watched_memory() as memory:
        outer(x)
    assert memory.asked == memory.returned <= 4


@pytest.mark.parametrize(("inside", "count"), [(False, 0), (True, 1)])
def test_functions_inside_are_inlined_where_there_are_any(inside, count, monkeypatch):
    seen = note_calls(monkeypatch, InlineClosureLikes, "run_pass", lambda self, state: state.func_id.func_name)

    def with_function(x):
        def squared(t):
            return t * t

        return squared(x[0]) + squared(x[1])

    def without(x):
        return x[0] * x[0] + x[1] * x[1]

    f = with_function if inside else without
    assert caller_of(link()(f))(np.array([2.0, -3.0])) == 13.0
    assert seen.count(f.__name__) == count


def test_lists_become_arrays():
    def listed(x):
        made = np.array([x, 2.0 * x, 1.0])
        squares = np.array([t * t for t in made])
        return made, squares

    made, squares = caller_of(link()(listed))(3.0)
    np.testing.assert_array_equal(made, [3.0, 6.0, 1.0])
    np.testing.assert_array_equal(squares, made * made)
