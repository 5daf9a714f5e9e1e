"""max and min in generated code: Numba's, without a function for each."""

import numba
import numpy as np
import pytest
from numba.core.compiler import CompilerBase

from contad.compile.emitted_choices import largest, smallest
from contad.compile.linked_code import link
from tests.compile.watching import caller_of, note_calls


def choices(x, y, n):
    return (
        max(x, y), min(x, y), max(y, x), min(y, x), max(n, 3), min(2, n), max(x, n), min(n, x, y), max(n > 2, n < 1),
        max((x, y)), min((n, 4)), max(3, 2.5),
    )  # fmt: skip


@pytest.mark.parametrize("x", [1.5, -0.0, 0.0, np.nan, np.inf])
@pytest.mark.parametrize("y", [0.0, -2.0, np.nan])
def test_they_choose_as_numba_does(x, y):
    linked, numbas = link()(choices), numba.njit(choices)

    @numba.njit
    def outer(x, y, n):
        return linked(x, y, n), numbas(x, y, n)

    for n in (-1, 2, 5):
        first, second = outer(x, y, n)
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(np.signbit(first[:4]), np.signbit(second[:4]))
        assert [type(a) for a in first] == [type(b) for b in second]


def test_no_function_is_compiled_for_them(monkeypatch):
    @link()
    def f(x, n):
        return max(x, 1.0) + min(n, 3, 7) + max(n, 0)

    compiled = note_calls(
        monkeypatch, CompilerBase, "_compile_core", lambda compiler: compiler.state.func_id.func_qualname
    )
    assert caller_of(f)(0.5, 4) == 8.0
    assert not [name for name in compiled if name.startswith("ol_")]


def test_a_name_that_hides_them_is_what_it_says():
    @numba.njit
    def max(x, y):
        return x - y

    @link()
    def f(x):
        return max(x, 1.0)

    assert caller_of(f)(5.0) == 4.0


def test_in_python_they_are_what_they_stand_for():
    assert (largest(1.0, 3.0, 2.0), smallest(4, 2)) == (3.0, 2)
