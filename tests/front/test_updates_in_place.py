"""Updates in place of arrays by parts of themselves: NumPy copies what overlaps, and Numba does not.

`a op= b` of arrays is a loop in Numba that writes each element before it reads the next. Assignments `a[k] = ...` copy
the right side where it may overlap, and an expression such as b * 2.0 is an array of its own.
"""

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from tests.judges.samples import sampled
from tests.judges.written import function_of

X = np.array([1.3, 2.1, 0.7, -1.4, 0.9])
SQUARE = "b = np.empty((2, 2)); b[0] = a[:2]; b[1] = a[2:4]; "
UPDATES = (
    "a[1:] += a[:-1]", "a[:-1] += a[1:]", "a += a[::-1]", "a[1:] += a[:-1]; a[:3] *= a[2:]", "v = a[1:]; v -= a[:-1]",
    "a -= a[0:1]", "a[1:] /= a[:-1]", "a[1:] = a[:-1]", "a[:] = a[::-1]", "a[...] = a[::-1] + a", "a[1:] = a[:-1] + 1",
    "a += a[::-1] * 1.0", f"{SQUARE}b += b.T; a[:2] = b[0]; a[2:4] = b[1]", f"{SQUARE}b *= b[0]; a[:2] = b[1]",
    f"{SQUARE}b.T[::-1] -= b; a[:2] = b[1]", f"{SQUARE}c = b.T; c += c[::-1]; a[:2] = b[1]",
)  # fmt: skip


def updated(update):
    row = f"a = x.copy(); {update}; a[0] * 0.3 + a[1] * 0.5 + a[2] * a[3] + a[4]"
    return njit(function_of(row, {"np": np, "__name__": "updates"}))


@pytest.mark.parametrize("update", sampled(UPDATES, 4, family=lambda update: update.startswith(SQUARE)))
def test_every_engine_computes_what_numba_computes(update):
    f = updated(update)
    differences = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
    for engine in ("tape", "records", "matrix", "generated"):
        if engine == "generated" and update.startswith(SQUARE):  # whose order depends on the layout of arrays
            with pytest.raises(UnsupportedError, match="overlapping parts"):
                contad.grad(f, engine=engine)(X)
            continue
        value, gradient = contad.value_and_grad(f, engine=engine)(X)
        assert value == pytest.approx(f(X), rel=1e-14), engine
        np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-7, err_msg=engine)


def test_duals():
    f = updated(UPDATES[3])
    value, tangent = contad.jvp(f, (X,), (X,))
    assert value == f(X)
    assert tangent == pytest.approx((f(X * (1 + 1e-7)) - f(X * (1 - 1e-7))) / 2e-7, rel=1e-6)


@pytest.mark.parametrize("call", ["np.add(a[1:], a[:-1], a[1:])", "np.sin(a[:-1], a[1:])"])
def test_results_in_an_argument_are_refused(call):
    for engine in ("tape", "generated", "matrix"):
        with pytest.raises(UnsupportedError, match="add|sin|Python copy"):
            contad.grad(updated(call), engine=engine)(X)
