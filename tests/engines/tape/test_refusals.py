"""What the engines say where they refuse: the innermost line of the user's, the reason in words, and what to do."""

import ctypes
import ctypes.util

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from contad.front.choice import reason

sine = ctypes.CDLL(ctypes.util.find_library("m")).sin
sine.restype, sine.argtypes = ctypes.c_double, (ctypes.c_double,)


@njit
def inner(x):
    found = np.setdiff1d(np.ones(2) * x, np.ones(2))
    return found[0]


@njit
def middle(x):
    return inner(x) + 1.0


@njit
def outer(x):
    y = 3.0
    return middle(x) * y


@njit
def of_ctypes(x):
    return sine(x) * x


@njit
def of_halves(x):
    return x[0] * 2.0


@njit
def reads_halves(x, a):
    return x * a[0]


def refusal(f, *args, engine="tape"):
    with pytest.raises(UnsupportedError) as error:
        contad.grad(f, engine=engine)(*args)
    text = str(error.value)
    for raw in ("NoneType", "unhashable", "object at 0x", "Numba says: ;", "RecursionError"):
        assert raw not in text
    assert not text.rstrip().endswith("Numba says:")
    return text


def test_the_innermost_line_is_named_and_where_it_is_called():
    text = refusal(outer, 1.3)
    line = inner.py_func.__code__.co_firstlineno + 2
    assert f"test_refusals.py:{line}: inner: `found = np.setdiff1d(" in text
    assert f"called from line {line + 12} of outer" in text
    assert "no implementation of setdiff1d(array(contad.variable, 1d, C), " in text


@pytest.mark.parametrize("engine", ["tape", "generated"])
def test_functions_of_ctypes(engine):
    assert f"test_refusals.py:{of_ctypes.py_func.__code__.co_firstlineno + 2}: of_ctypes" in refusal(
        of_ctypes, 1.3, engine=engine
    )


@pytest.mark.parametrize("engine", ["tape", "generated"])
def test_float16(engine):
    assert "array(float16, 1d, C)" in refusal(of_halves, np.ones(3, np.float16), engine=engine)
    assert "float16" in refusal(reads_halves, 1.3, np.ones(3, np.float16), engine=engine)


def test_expressions_that_are_nested_too_deeply():
    assert reason(RecursionError("maximum recursion depth exceeded")).startswith("it is nested too deeply")
