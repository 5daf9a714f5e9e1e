"""What stands for an operation inside njit means the same outside of it, at plain numbers."""

import numpy as np
import pytest
from numba import boolean, int64, njit

from contad.engines.tape import casts, conversions, new_arrays, numpy_products, tape_array_records, whole_arrays
from contad.engines.tape.elementwise_loops import UFUNCS
from contad.engines.tape.variables import VARIABLE

A = np.array([[1.5, -2.25, 0.5], [3.0, 4.75, -6.5]])
MADE = new_arrays.replacements(VARIABLE)


@njit("float64(int64, float64[:])")
def declared(k, x):
    """Its signature drops the fraction of the first argument."""
    return k * x[1]


@pytest.mark.parametrize(
    ("stub", "args"),
    [
        (conversions.value, (2.5,)),
        (tape_array_records.cell_of, (2.5,)),
        (tape_array_records.tangent_of, (2.5,)),
        (whole_arrays.shape_of, (A,)),
        (whole_arrays.shape_of, (2.5,)),
        (MADE[np.full_like], (np.arange(3), 2)),
        (UFUNCS[np.maximum], (A, 0.5)),
        (casts._name_cast(declared, "k", int64), (2.75,)),
        (casts._name_cast(declared, "k", boolean), (2.75,)),
        (casts._casts(declared)["of_arguments_"], ((2.75, A[0]),)),
        (casts._casts(declared)["of_result_"], ((2, A[0]), 7)),
    ],
)
def test_a_stub_means_outside_njit_what_it_does_inside(stub, args):
    @njit
    def compiled(*args):
        return stub(*args)

    outside, inside = stub(*args), compiled(*args)
    for x, y in zip(outside, inside, strict=True) if isinstance(outside, tuple) else [(outside, inside)]:
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


def test_a_product_is_accumulated_outside_njit_too():
    """Inside njit it is asked for variables only."""
    assert numpy_products.accumulate(0.5, 2.0, 3.0) == 6.5


def test_stubs_that_make_arrays_mean_numpy():
    """Inside njit they make arrays of variables, which exist nowhere else."""
    assert {f.__name__ for f in MADE if callable(f)} >= {"zeros", "full", "array", "eye", "linspace"}
    np.testing.assert_array_equal(MADE[np.full]((2, 3), 2.5), np.full((2, 3), 2.5))
    np.testing.assert_array_equal(MADE[np.array]([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(MADE[np.linspace](0.0, 1.0, 5), np.linspace(0.0, 1.0, 5))
    assert MADE[np.zeros](2, np.int64).dtype == np.int64
