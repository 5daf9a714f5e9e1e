"""Functions that are optimised with their callers, once."""

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

import contad
from contad.native.linked_code import link


@pytest.fixture
def finished(monkeypatch):
    """The names of the libraries that have been optimised."""
    seen = []
    optimise = JITCodeLibrary._optimize_final_module

    def noted(library):
        seen.append(library.name)
        optimise(library)

    monkeypatch.setattr(JITCodeLibrary, "_optimize_final_module", noted)
    return seen


def test_the_caller_alone_is_optimised_and_gives_the_numbers(finished):
    @link(error_model="numpy")
    def inner(x):
        if x < 0.0:
            raise ValueError("below zero")
        return np.sqrt(x)

    @numba.njit(error_model="numpy")
    def outer(x):
        return 2.0 * inner(x)

    assert outer(4.0) == 4.0
    with pytest.raises(ValueError, match="below zero"):
        outer(-1.0)
    assert [name for name in finished if name.endswith("inner")] == []
    assert [name for name in finished if name.endswith("outer")] != []


def test_a_linked_function_calls_another_and_two_callers_share_it():
    @link()
    def innermost(x):
        return x + 1.0

    @link()
    def inner(x):
        return innermost(x) * 2.0

    @numba.njit
    def first(x):
        return inner(x)

    @numba.njit
    def second(x):
        return inner(x) + innermost(x)

    assert (first(1.0), second(1.0)) == (4.0, 6.0)


def test_a_derivative_with_its_value_is_optimised_once(finished):
    @numba.njit
    def cubes(x):
        total = 0.0
        for i in range(len(x)):
            total += x[i] ** 3
        return total

    x = np.array([1.0, 2.0])
    value, (gradient,) = contad.value_and_grad(cubes, (0,), engine="generated")(x)
    assert value == 9.0
    assert list(gradient) == [3.0, 12.0]
    assert sum(name == "run" for name in finished) == 0
    assert sum(name == "derivative" for name in finished) == 1
