"""np.cov and np.corrcoef by the tape, and what Numba has not of them."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from tests.engines.source.programs.harness import function_of, given_to
from tests.engines.source.programs.sample_calls import CALLS, SAMPLE_CALLS

X, DATA = np.array([0.7, 1.31, 2.1, -0.4, 0.9]), np.array([0.5, 2.0, -1.0, 0.25, 3.0])


@pytest.mark.long
@pytest.mark.parametrize("call", CALLS)
def test_the_tape_agrees(call):
    f, (x,) = function_of(SAMPLE_CALLS, SAMPLE_CALLS.takes[call], call), given_to(SAMPLE_CALLS)
    value, gradient = contad.value_and_grad(f, engine="tape")(x)
    assert value == pytest.approx(f(x), rel=1e-12, abs=1e-14)
    np.testing.assert_allclose(gradient, contad.grad(f.py_func)(x), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("engine", "said"), [("generated", r"the arguments of 'np.cov\(rows, aweights=d\)'"), ("tape", r"np.cov\(rows, aw")]
)
def test_covariances_that_numba_lacks_are_refused(engine, said):
    @njit
    def f(x, d):
        rows = np.outer(x, x)
        return np.cov(rows, aweights=d)[0, 1]

    with pytest.raises(UnsupportedError, match=said):
        contad.grad(f, engine=engine)(X, DATA)


@pytest.mark.long
def test_a_single_row_has_no_covariance_as_in_numba():
    @njit
    def f(x):
        return np.cov(x.reshape((1, 5)))[0, 0]

    for called in (f, contad.grad(f, engine="generated")):
        with pytest.raises(RuntimeError, match="single row is unsupported"):
            called(X)
