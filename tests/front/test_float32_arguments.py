"""float32 in Numba functions: gradients have the dtypes of the arguments, and are right to that precision, on both
compiled engines.
"""

import functools
import math
import re

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError

EPS = float(np.finfo(np.float32).eps)
DRAW = np.random.default_rng(59)
X, M = DRAW.normal(size=6), DRAW.normal(size=(4, 6))


def in_single(x):
    """Arrays and numbers as float32."""
    return tuple(map(in_single, x)) if isinstance(x, tuple) else np.asarray(x).astype(np.float32)[()]


@njit
def square(v):
    return v * v


@njit
def loops(x, m, t):
    """Loops, branches, a callee, writes in place, two axes, a tuple, and the functions that have float32 kernels."""
    scale, shift = t
    z = x.copy()
    for k in range(1, len(z)):
        z[k] = z[k - 1] * scale + square(z[k])
        if z[k] > 1:
            z[k] -= shift
    total = np.float32(0.0)
    for i in range(m.shape[0]):
        eta = np.float32(0.0)
        for j in range(m.shape[1]):
            eta += m[i, j] * z[j]
        total += math.log1p(math.exp(math.tanh(eta))) * math.log(eta * eta + scale * scale)
    return total + z[len(z) - 1] / scale


@njit
def arrays(x, m, y):
    """Functions of whole arrays; y is float64, and so is what it meets."""
    product = np.sum(m * x, axis=1)
    kept = np.zeros(len(product), np.float32)
    kept[:] = np.where(product > 0, np.exp(product / 10), product * 3)
    made = np.empty_like(x)
    for k in range(len(made)):
        made[k] = x[k] ** 2 + y[k]
    made[1] += x[0]
    return np.sum(kept) + np.mean(made * y) + np.max(x) + np.sum(x[1:] * x[:-1]) / np.sqrt(y[0] ** 2 + 1.0)


CASES = {"loops": (loops, (X, M, (0.7, 0.3)), (0, 1, 2)), "arrays": (arrays, (X, M, X + 1.0), (0, 1, 2))}
SINGLE = {"loops": (0, 1, 2), "arrays": (0, 1)}  # the arguments in float32


@functools.cache
def in_double(name):
    """The arguments of a case, and its gradients computed in float64: without the setting, arguments become float64."""
    f, args, argnums = CASES[name]
    given = tuple(in_single(x) if k in SINGLE[name] else x for k, x in enumerate(args))
    return given, contad.grad(f, argnums=argnums)(*given)


@pytest.mark.parametrize("engine", ["generated", "tape"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_have_the_dtypes_of_the_arguments(name, engine):
    f, _, argnums = CASES[name]
    given, right = in_double(name)
    with contad.settings(keep_dtype=True):
        value, found = contad.value_and_grad(f, argnums=argnums, engine=engine)(*given)
    assert value == pytest.approx(f(*given), rel=32 * EPS)
    for k, (got, exact) in enumerate(zip(found, right, strict=True)):
        if isinstance(got, np.ndarray):
            assert got.dtype == (np.float32 if k in SINGLE[name] else np.float64)
            assert exact.dtype == np.float64
        np.testing.assert_allclose(got, exact, rtol=32 * EPS, atol=32 * EPS * np.max(np.abs(exact)))


@njit
def rounded(x, a):
    """float32 numbers and arrays that the function makes itself, whatever the settings."""
    z = np.zeros(len(x), np.float32)
    for k in range(len(x)):
        z[k] = math.exp(x[k]) * a
        z[k] += x[k]
    few = x.astype(np.float32)
    few += x * 0.0
    w = np.zeros(2, np.complex64)
    w[0] = few[0] * (1.0 + 1.0j)
    z[0] += w[0].real - w[0].imag
    return np.sum(z * z) + np.float32(a) * np.sum(few * np.array([1.0, a], dtype=np.float32)[1])


@pytest.mark.parametrize("engine", ["generated", "tape"])
def test_float32_made_in_a_function(engine):
    value, (by_x, by_a) = contad.value_and_grad(rounded, argnums=(0, 1), engine=engine)(X, 1.3)
    assert value == pytest.approx(rounded(X, 1.3), rel=16 * EPS)
    z = 1.3 * np.exp(X) + X
    np.testing.assert_allclose(by_x, 2.0 * z * (1.3 * np.exp(X) + 1.0) + 1.3**2, rtol=16 * EPS)
    assert by_a == pytest.approx(np.sum(2.0 * z * np.exp(X)) + 2.0 * 1.3 * np.sum(X), rel=32 * EPS)
    assert by_x.dtype == np.float64


def test_forward_mode_and_second_derivatives_pass_float32():
    along, step = np.linspace(-1.0, 1.0, 6), 1e-2
    gradient = contad.grad(rounded)
    by_differences = (gradient(X + step * along, 1.3) - gradient(X - step * along, 1.3)) / (2.0 * step)
    np.testing.assert_allclose(contad.hvp(rounded)(X, 1.3, along), by_differences, rtol=1e-3)
    _, tangent = contad.jvp(rounded, (X, 1.3), (along, 0.0))
    assert tangent == pytest.approx(gradient(X, 1.3) @ along, rel=16 * EPS)


@njit
def log_sum_exp(x):
    largest = np.max(x)
    total = np.float32(0.0)
    for v in x:
        total += math.exp(v - largest)
    return largest + math.log(total)


def test_sums_may_be_accumulated_in_float64():
    x = DRAW.normal(size=100_000).astype(np.float32)
    exact = np.exp(x.astype(float)) / np.sum(np.exp(x.astype(float)))
    with contad.settings(keep_dtype=True, accumulate=np.float64):
        wide = contad.grad(log_sum_exp)(x)
        text = contad.source(log_sum_exp, x)
    assert wide.dtype == np.float32
    few = np.arange(len(x)) != np.argmax(x)  # that one has the sum of all others in its derivative
    np.testing.assert_allclose(wide[few], exact[few], rtol=1e-3)  # total is a float32 number of the function
    assert abs(np.sum(wide, dtype=float) - 1.0) < 100 * EPS
    assert "_bar = np.float32" not in text


def test_rows_of_float32_run_through_vector_registers():
    x = X.astype(np.float32)
    with contad.settings(keep_dtype=True):
        text = contad.source(log_sum_exp, x)
    assert "new_single_row()" in text
    assert not re.search(r"\bnew_row\(\)", text)
    assert "np.empty(x.shape, np.float32)" in text
    assert "np.float64" not in text


def test_a_pullback_keeps_float32():
    x = X.astype(np.float32)
    with contad.settings(keep_dtype=True):
        value, pullback = contad.vjp(square, x)
        (found,) = pullback(np.ones_like(x))
        with pytest.raises(UnsupportedError, match="float"):
            contad.grad(square, engine="generated")(x.astype(np.float16))
    assert (value.dtype, found.dtype) == (np.float32, np.float32)
    np.testing.assert_array_equal(found, 2 * x)


@njit
def with_truth(x):
    return np.sum(x * (x > 0))


def test_a_refusal_names_the_place():
    with contad.settings(keep_dtype=True), pytest.raises(UnsupportedError, match=r"float32_arguments.py:\d+: with_tr"):
        contad.grad(with_truth, engine="generated")(X.astype(np.float32))
