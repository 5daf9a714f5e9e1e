"""What a function returns is read off it where it is numbers, and Numba is asked for the rest."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import typeof, types

import contad
from contad.engines.source import infer_result
from contad.numba_functions.request import Request


class Pair(NamedTuple):
    first: float
    second: float


def inner(x, n):
    return x * n, n > 1


inner = numba.njit(inner)
OF_NUMBERS = [
    lambda x, n: x * n, lambda x, n: (x, n // 2, n > 1, x > 1.0, len((x, n))), lambda x, n: inner(x, n),
    lambda x, n: ((x, x * x), inner(x, n)[1], np.sin(x)), lambda x, n: x if n > 2 else n,
    lambda x, n: (n, n / 2, n**2, n**-1.0, 3, 2.5, True),
    lambda x, n: (max(n, x), min(n, 2), abs(n), np.floor(x), int(x), float(n)),
    lambda x, n: complex(x, n), lambda x, n: (x * 1j, n),
]  # fmt: skip
OF_OTHERS = [
    lambda x, n: np.ones(n) * x, lambda x, n: (x, np.ones(n)), lambda x, n: Pair(x, x), lambda x, n: [x, x],
    lambda x, n: np.float32(x), lambda x, n: (x, np.float32(n)),
    lambda x, n: (x, np.arange(n, dtype=np.int8)[0], np.uint64(n)), lambda x, n: (), lambda x, n: (x, "text"),
]  # fmt: skip


def infer(f):
    made = numba.njit(f)
    return made, infer_result(Request(made.py_func, made, (types.float64, types.int64), (0,), False, "value_and_grad"))


@pytest.mark.parametrize("f", OF_NUMBERS)
def test_types_of_numbers_are_numbas(f):
    made, found = infer(f)
    assert not made.overloads
    made.compile((types.float64, types.int64))
    assert found == typeof(made(1.7, 3))


@pytest.mark.parametrize("f", OF_OTHERS)
def test_of_what_is_not_numbers_nothing_is_said(f):
    assert infer(f)[1] is None


def test_a_jacobian_in_compiled_code_does_not_compile_its_function(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))

    @numba.njit
    def of_numbers(x):
        return x[0] * x[1], x[1] ** 2

    @numba.njit
    def of_arrays(x):
        return np.array([x[0] * x[1], x[1] ** 2])

    for f, asks in ((of_numbers, False), (of_arrays, True)):
        compile_rows(contad.jacobian(f, engine="generated"))
        assert bool(f.overloads) is asks
    np.testing.assert_allclose(contad.jacobian(of_numbers)((2.0, 3.0)), ((3.0, 2.0), (0.0, 6.0)))


def compile_rows(jacobian):
    @numba.njit
    def rows(a, b):
        return jacobian((a, b))

    rows.compile("(float64, float64)")
