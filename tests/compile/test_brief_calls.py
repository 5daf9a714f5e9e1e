"""Python's lock is kept through brief calls, and given up by others."""

import contextlib
import ctypes

import numba
import numpy as np
import pytest
from numba.core import codegen

from contad.compile import brief_calls
from contad.compile.brief_calls import BriefCalls, has_cycles

COUNTS = {"saved": 0, "restored": 0}


@pytest.fixture(scope="module")
def counted():
    """A function whose wrapper calls two functions that count, in place of Python's."""
    yield from _count_calls()


def _count_calls():
    state = ctypes.c_int64()

    @ctypes.PYFUNCTYPE(ctypes.c_void_p)
    def save():
        COUNTS["saved"] += 1
        return ctypes.addressof(state)

    @ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    def restore(given):
        assert given == ctypes.addressof(state)
        COUNTS["restored"] += 1

    from numba.core.pythonapi import PythonAPI

    codegen.ll.add_symbol("counted_save", ctypes.cast(save, ctypes.c_void_p).value)
    codegen.ll.add_symbol("counted_restore", ctypes.cast(restore, ctypes.c_void_p).value)
    find = PythonAPI._get_function
    names = {"PyEval_SaveThread": "counted_save", "PyEval_RestoreThread": "counted_restore"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PythonAPI, "_get_function", lambda self, kind, name: find(self, kind, names.get(name, name)))

        @numba.njit(nogil=True, pipeline_class=BriefCalls)
        def f(x, n):
            total = 0.0
            for k in range(n):
                total += x[k % len(x)]
            if total > 1e300:
                raise ValueError("too large")
            return total

        f(np.ones(2), 2)
    yield f, save, restore


def _given_up(f, *args):
    before = COUNTS["saved"]
    with contextlib.suppress(ValueError):
        f(*args)
    assert COUNTS["saved"] == COUNTS["restored"]
    return COUNTS["saved"] - before


@pytest.mark.skipif(not has_cycles(), reason="this processor's cycles are not counted")
def test_calls_in_quick_succession_keep_the_lock(counted):
    f, x = counted[0], np.ones(2)
    f(x, 2)
    before, calls = COUNTS["saved"], 1000
    for _ in range(calls):
        f(x, 2)
    assert COUNTS["saved"] - before < calls // 2  # the machine may be busy with others in between


def test_larger_arguments_and_calls_after_a_pause_give_it_up(counted):
    f, x = counted[0], np.ones(2)
    f(x, 2)
    assert _given_up(f, np.ones(1000), 2) == 1
    f(x, 2)
    assert _given_up(f, x, 1000) == 1
    f(x, 2)
    sum(range(100_000))
    assert _given_up(f, x, 2) == 1


def test_the_lock_is_taken_again_where_the_function_raises(counted):
    f = counted[0]
    assert _given_up(f, np.full(5000, 1e300), 5000) == 1


def test_results_are_those_of_other_compilers(counted):
    assert counted[0](np.array([1.0, 2.0, 3.0]), 4) == 7.0


def test_without_the_counter_every_call_gives_the_lock_up(monkeypatch):
    monkeypatch.setattr(brief_calls, "has_cycles", lambda: False)
    f, *kept = next(_count_calls())
    assert kept
    before = COUNTS["saved"]
    for _ in range(10):
        assert f(np.ones(2), 2) == 2.0
    assert COUNTS["saved"] == COUNTS["restored"] == before + 10
