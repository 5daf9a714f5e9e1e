"""Type inference for generated code: fewer rounds, and the same types."""

import gc

import numba
import numpy as np
import pytest
from numba.core import typeinfer
from numba.core.typing import Context
from numba.core.untyped_passes import ReconstructSSA
from numba.extending import overload

import contad
from contad.compile.linked_code import defer_code, link
from tests.compile.watching import caller_of, note_calls, watched_memory


@pytest.fixture
def renamed(monkeypatch):
    """The functions whose assignments got names of their own."""
    return note_calls(
        monkeypatch, ReconstructSSA, "run_pass", lambda self, state: state.func_id.func_qualname.rpartition(".")[2]
    )


def test_names_of_one_type_are_not_renamed(renamed):
    @link()
    def summed(x):
        total = 0.0
        for i in range(len(x)):
            t = x[i]
            total += t * t
        for i in range(len(x)):
            t = 2.0 * x[i]
            total -= t
        return total

    assert caller_of(summed)(np.array([1.0, 2.0, 3.0])) == 2.0
    assert "summed" not in renamed


def test_a_name_of_several_types_has_each_of_them(renamed):
    @link()
    def halved(x):
        k = 7 if x > 0.0 else 9
        whole = k // 2
        if x > 0.0:
            k = 3.5
        return whole, k + x

    outer = caller_of(halved)
    assert outer(1.0) == (3, 4.5) and isinstance(outer(1.0)[0], int)
    assert outer(-1.0) == (4, 8.0)
    assert "halved" in renamed


def test_arrays_that_a_name_holds_one_after_another_are_released():
    @link()
    def replaced(n):
        x = np.ones(3)
        for k in range(n):
            x = x + k
        return x

    @numba.njit
    def outer(n):
        return replaced(n).sum()

    assert outer(4) == 21.0
    with watched_memory() as memory:
        outer(100)
    assert memory.asked == memory.returned > 100


def test_equal_calls_are_typed_once(monkeypatch):
    asked = note_calls(monkeypatch, Context, "resolve_function_type", lambda self, function, args, kws: args)
    lines = ["def f(x):", "    a = x", *["    a = a*x + 1.0/(a + 2.0)"] * 30, "    return a"]
    made = {}
    exec("\n".join(lines), made)
    with defer_code():
        numba.njit(made["f"]).compile("float64(float64)")
    assert 3 <= len([args for args in asked if len(args) == 2]) <= 6


def divided(x, y):
    return x / y


@overload(divided)
def _divided(x, y):
    def written_for_numba(x, y):
        return x / y

    return written_for_numba


def test_overloads_have_the_options_of_their_caller():
    """Whoever typed it last: a caller that divides by zero, or one that raises."""

    @numba.njit(error_model="python")
    def raises(x):
        return divided(x, 0.0)

    @numba.njit(error_model="numpy")
    def divides(x, also):
        total = divided(1.0, x)
        if also:
            total += raises(1.0)
        for _ in range(2):
            total += divided(1.0, x)
        return total

    with defer_code():
        divides.compile("float64(float64, boolean)")
    assert divides(0.0, False) == np.inf
    with pytest.raises(ZeroDivisionError):
        divides(0.0, True)


def test_outside_numba_infers_types_as_ever():
    before = typeinfer.TypeInferer
    with defer_code():
        assert typeinfer.TypeInferer is not before
        with defer_code():
            assert not gc.isenabled()
        assert typeinfer.TypeInferer is not before
    assert typeinfer.TypeInferer is before


def test_the_collector_waits_while_a_derivative_is_compiled_and_is_as_it_was():
    assert gc.isenabled()
    with defer_code():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with defer_code():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_no_derivative_of_numbers_and_arrays_is_typed_twice(renamed, tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))

    @numba.njit
    def weighted(x, w):
        total = 0.0
        for i in range(len(x)):
            t = np.exp(-x[i]) * w if x[i] > w else x[i] ** 3
            total += t * t
        return total

    contad.value_and_grad(weighted, (0, 1), engine="generated")(np.linspace(0.0, 1.0, 5), 0.4)
    assert "run" not in renamed
