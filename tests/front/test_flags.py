"""Every callee keeps its own flags: error model, checks of indices, fastmath."""

from itertools import product

import numpy as np
import pytest
from numba import njit

import contad
from contad.functions.python_copy import Flags, flags_of
from tests.judges.samples import sampled
from tests.judges.written import numba_functions

ENGINES = ["generated", "tape", "matrix", "closures"]
COMPILED = ["generated", "tape"]


@njit(fastmath=False)
def times_number(x, y):
    if np.isnan(x):
        x = 2.0
    return x * y


KNOWN = {"__name__": __name__, "np": np, "times_number": times_number}
F = numba_functions({
    "inverse(x)": ("1.0 / x", {"error_model": "numpy"}),
    "strict_inverse(x)": ("1.0 / x", {"error_model": "python"}),
    "plain_inverse(x)": "1.0 / x",
    "of_inverse(x)": "inverse(x - 1.0) + x * x",
    "of_strict_inverse(x)": ("strict_inverse(x - 1.0) + 3.0 / x", {"error_model": "numpy"}),
    "of_plain_inverse(x)": ("plain_inverse(x - 1.0) + x * x", {"error_model": "numpy"}),
    "third(x)": "of_inverse(x) + 1.0 / (x - 1.0)",
    "called_with(f, x)": "f(x - 1.0) + x * x",
    "hands_on(x)": "called_with(inverse, x)",
    "element(x, k)": ("x[k] * x[0]", {"boundscheck": True}),
    "stored(x, k)": ("y = np.zeros(3); y[k] = x[1] * x[0]; y[k] += x[1]; y[0] + y[2]", {"boundscheck": True}),
    "row(x, k)": ("y = np.empty((2, 2)); y[:, :] = x[0]; z = y[k, :]; z[0] * z[1]", {"boundscheck": True}),
    "of_element(x, k)": "element(x, k) + x[1]",
    "of_stored(x, k)": "stored(x, k) + x[1]",
    "of_row(x, k)": "row(x, k) + x[1]",
    "fast(x, y)": ("times_number(x, y) + y", {"fastmath": True}),
    "all_fast(x)": ("x * x + x", {"fastmath": True}),
    "of_fast(x)": "all_fast(x) * x",
    "plain(x)": "x",
}, KNOWN)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("f", [F.of_inverse, F.of_plain_inverse], ids=lambda f: f.__name__)
def test_a_callee_with_error_model_numpy_divides_by_zero(f, engine):
    value, gradient = contad.value_and_grad(f, engine=engine)(1.0)
    assert value == f(1.0) == np.inf
    assert gradient == -np.inf
    assert contad.value_and_grad(f, engine=engine)(3.0) == (f(3.0), 6.0 - 0.25)


@pytest.mark.parametrize("engine", ["generated", "matrix"])
def test_a_callee_that_is_handed_on_keeps_its_flags(engine):
    assert contad.value_and_grad(F.hands_on, engine=engine)(1.0) == (np.inf, -np.inf)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("f", [F.of_strict_inverse, F.third], ids=lambda f: f.__name__)
def test_a_function_with_error_model_python_raises_wherever_it_is_called(f, engine):
    with pytest.raises(ZeroDivisionError):
        f(1.0)
    with pytest.raises(ZeroDivisionError):
        contad.value_and_grad(f, engine=engine)(1.0)
    assert contad.value_and_grad(f, engine=engine)(3.0)[0] == f(3.0)


# ---- indices ---------------------------------------------------------------------------------------------------------
@njit(boundscheck=True)
def in_a_loop(x, k):
    s = 0.0
    for i in range(k):
        s += x[i] * x[i - 1]
    return s


OUTSIDE = product([F.of_element, F.of_stored, F.of_row, F.element], [3, -4, 10**9, -(10**9)], COMPILED)


@pytest.mark.parametrize(("f", "k", "engine"), sampled(OUTSIDE, 4, family=lambda case: (case[0], case[2])))
def test_an_index_out_of_range_raises_in_a_callee_that_checks(f, k, engine):
    x = np.array([2.0, 3.0, 5.0])
    with pytest.raises(IndexError, match="out of bounds"):
        f(x, k)
    with pytest.raises(IndexError, match="out of bounds"):
        contad.value_and_grad(f, engine=engine)(x, k)
    for inside in (0, -2):
        value, gradient = contad.value_and_grad(f, engine=engine)(x, inside)
        assert value == f(x, inside)
        assert np.any(gradient != 0.0)


@pytest.mark.parametrize("engine", COMPILED)
def test_an_index_that_leaves_the_array_in_a_loop(engine):
    x = np.array([2.0, 3.0, 5.0])
    value, gradient = contad.value_and_grad(in_a_loop, engine=engine)(x, 3)
    assert value == in_a_loop(x, 3)
    np.testing.assert_array_equal(gradient, [8.0, 7.0, 5.0])
    with pytest.raises(IndexError):
        contad.value_and_grad(in_a_loop, engine=engine)(x, 4)


def test_an_index_that_counts_to_the_length_is_not_checked():
    @njit(boundscheck=True)
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * x[0]
        return s

    text = contad.source(f, np.ones(3))
    assert text.count("raise IndexError") == 1  # of x[0]


# ---- fastmath --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", COMPILED)
def test_a_strict_callee_of_a_fast_function_keeps_its_tests_for_nan(engine):
    assert F.fast(np.nan, 4.0) == 12.0
    assert contad.value_and_grad(F.fast, 1, engine=engine)(np.nan, 4.0) == (12.0, 3.0)


def test_every_function_of_the_source_keeps_its_own_fastmath():
    assert "fastmath=True" in options(F.all_fast, 2.0)
    lines = compiled_source(F.fast, 2.0, 1.0).splitlines()
    for name, flag in (("forward_of_times_number", False), ("reverse_of_times_number", False), ("run", True)):
        (at,) = [k for k, line in enumerate(lines) if line.startswith(f"def {name}(")]
        assert f"fastmath={flag}" in lines[at - 1]

    plain = F.plain

    @njit(fastmath={"nnan", "contract", "nsz"})
    def some(x):
        return plain(x) * x

    assert "fastmath={'contract', 'nnan', 'nsz'}" in options(some, 2.0)
    assert contad.grad(some)(2.0) == 4.0


def options(f, *args):
    from contad.engines.source.build import derivative_of
    from contad.engines.source.ir.printing import options_of
    from tests.engines.source.agreement import request

    found = options_of(derivative_of(request(f, *args)).function.fastmath)
    return ", ".join(f"{name}={value!r}" for name, value in found.items())


def compiled_source(f, *args):
    """The source with the decorators that it is compiled with."""
    from contad.engines.source.build import derivative_of
    from tests.engines.source.agreement import request

    return derivative_of(request(f, *args)).source(options(f, *args))


def test_a_callee_takes_from_its_caller_the_flags_that_it_does_not_set():
    caller = Flags("numpy", True, True)
    assert flags_of(F.plain, caller) == Flags("numpy", True, False)
    assert flags_of(times_number, caller) == Flags("numpy", False, False)
    assert flags_of(F.strict_inverse, caller) == Flags("python", True, False)
    assert flags_of(F.plain) == Flags()


def test_which_statements_threads_share():
    shared = [flags_of(njit(parallel=x)(F.plain.py_func))[3:] for x in (True, {"reduction": False}, {"prange": False})]
    assert shared == [(True, True), (True, False), (False, True)]
