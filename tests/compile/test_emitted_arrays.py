"""New arrays in generated code."""

import numba
import numpy as np
import pytest
from numba.core.compiler import CompilerBase

from contad.compile.emitted_arrays import reshape
from contad.compile.linked_code import link
from contad.engines.source.runtime.lent_arrays import lent_empty, lent_zeros
from tests.compile.watching import caller_of, note_calls


def test_they_are_numpys_of_every_shape():
    @link()
    def make(n, m):
        return np.zeros(n), np.zeros((n, m)), np.zeros(()), np.zeros((n, m, 2)), np.empty((m, n)), np.empty(m)

    made = caller_of(make)(3, 4)
    assert [x.shape for x in made] == [(3,), (3, 4), (), (3, 4, 2), (4, 3), (4,)]
    assert all(x.dtype == float and x.flags.c_contiguous for x in made)
    assert not any(x.any() for x in made[:4])
    made[4][:] = 1.0
    assert made[4].sum() == 12.0


@pytest.mark.parametrize("make", [np.zeros, np.empty])
def test_they_raise_as_numpys_do(make):
    @link()
    def zeros(n, m):
        return np.zeros((n, m)).size

    @link()
    def empty(n, m):
        return np.empty((n, m)).size

    outer = caller_of(zeros if make is np.zeros else empty)
    assert outer(2, 3) == 6
    with pytest.raises(ValueError, match="negative dimensions"):
        outer(2, -3)
    with pytest.raises(ValueError, match="too big"):
        outer(2**40, 2**40)


def test_they_compile_no_function_for_each_number_of_axes(monkeypatch):
    @link()
    def make(n):
        x, y, z = np.zeros((n, n, n)), np.empty((n, n, n, n)), np.zeros((n, n, 1, 1, n))
        return x.size + y.size + z.size

    compiled = note_calls(monkeypatch, CompilerBase, "compile_extra", lambda self, function: function.__qualname__)
    assert caller_of(make)(2) == 8 + 16 + 8
    assert not [name for name in compiled if "empty" in name or "zeros" in name or "zero_fill" in name]


def test_other_elements_and_orders_are_numbas():
    @link()
    def make(n):
        return np.zeros(n, np.int64), np.empty((n, n), np.bool_), np.zeros(n, dtype=np.float32)

    assert [x.dtype for x in caller_of(make)(2)] == [np.int64, np.bool_, np.float32]


@pytest.mark.parametrize("side", [3, 200])
def test_lent_arrays_are_numpys_or_the_threads(side):
    @numba.njit
    def fill(n):
        x = lent_zeros(0, (n, n))
        y = lent_empty(1, (n, n))
        z = lent_zeros(2, (n * n,))
        y[:] = 1.0
        x += y
        z += 2.0
        return x.sum(), y.sum(), z.sum(), x.shape, z.shape, x.ctypes.data, y.ctypes.data

    first, second = fill(side), fill(side)
    assert first[:5] == second[:5] == (side**2, side**2, 2.0 * side**2, (side, side), (side**2,))
    if side == 200:
        assert first[5:] == second[5:]
        assert first[5] != first[6]


def test_integers_and_other_shapes_are_numpys():
    @link()
    def make(x, n):
        k, seen = np.zeros((n, 2), np.int64), np.zeros(n, np.bool_)
        return k, seen, np.empty(n, np.int64), reshape(x, (n, 2)), reshape(x[:4], (2, 1, 2)), reshape(x, (2 * n,))

    x = np.arange(6.0)
    outer = caller_of(make)
    k, seen, empty, *shaped = outer(x, 3)
    assert (k.dtype, k.shape, seen.dtype, empty.dtype) == (np.int64, (3, 2), np.bool_, np.int64)
    assert not k.any() and not seen.any()
    for found, expected in zip(shaped, (x.reshape(3, 2), x[:4].reshape(2, 1, 2), x), strict=True):
        np.testing.assert_array_equal(found, expected)
    shaped[0][2, 1] = 9.0
    assert x[5] == 9.0  # in the memory of x
    with pytest.raises(ValueError, match="total size of new array must be unchanged"):
        outer(x, 4)
