"""Functions of NumPy that Numba has beside the common ones: float32, truth values, and other engines."""

import numpy as np
import pytest
from numba import njit

import contad
from tests.engines.source.programs.harness import ARGUMENTS, along, function_of, run
from tests.engines.source.programs.numpy_calls import NUMPY_CALLS


@pytest.mark.parametrize(
    "body",
    [
        "return np.float32(a) * 2.0 * x[0]",
        "y = np.float32(a) * np.float32(x[1])\nreturn (y + np.float32(a)) * x[0]",
        "return np.sum(x.astype(np.float32) * x) * a",
        "return np.array([1.0, a], dtype=np.float32)[1] * x[0]",
        "return np.full(3, a, np.float32)[1] * x[0]",
        "return np.sum(np.linspace(0.0, a, 5).astype(np.float32).astype(np.float64)) * x[0]",
    ],
)
def test_derivatives_pass_float32(body):
    f = function_of(NUMPY_CALLS, body)
    value, gradient = run(NUMPY_CALLS, f)(*ARGUMENTS)
    assert value == pytest.approx(f.py_func(*ARGUMENTS), rel=1e-6)
    right = along(f.py_func, ARGUMENTS, (0, 1), 1e-2)[:, 0]
    np.testing.assert_allclose([*gradient[0], gradient[1]], right, rtol=1e-4, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, body in NUMPY_CALLS.takes.items() if "out=" in body or "7)" in body])
def test_the_tape_takes_what_is_written_in_loops(name):
    f = function_of(NUMPY_CALLS, NUMPY_CALLS.takes[name])
    _, gradient = contad.value_and_grad(f, (0, 1), engine="tape")(*ARGUMENTS)
    right = along(f.py_func, ARGUMENTS, (0, 1), 1e-6)[:, 0]
    np.testing.assert_allclose([*gradient[0], gradient[1]], right, rtol=1e-6, atol=1e-7)


def test_truth_values_become_floats():
    """Compiled, because Numba has no float of a truth value."""

    @njit
    def f(x, a):
        return np.sum((x > a).astype(np.float64) * x) + np.sum(np.append(x > a, x)) * a

    value, (by_x, by_a) = contad.value_and_grad(f, (0, 1), engine="generated")(np.array([0.5, 1.2, 0.3]), 0.4)
    assert value == pytest.approx(3.3)
    np.testing.assert_allclose([*by_x, by_a], [1.4, 1.4, 0.4, 4.0])
