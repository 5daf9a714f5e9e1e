"""Numba functions that run as Python copies: what names and operators mean there, and what is said where they fail."""

import math
import types

import numba
import numpy as np
import pytest
from numpy.linalg import inv

import contad
from contad.engines import engine_names
from contad.errors import UnsupportedError
from tests.judges.samples import sampled

X = np.array([0.7, 1.3, 2.1])
EAGER = ("matrix", "records", "closures")


def in_a_module(f):
    """A module of the user's with an attribute `inner`."""
    module = types.ModuleType("users_module")
    module.inner = f
    return module


@numba.njit
def logistic(x):
    return np.sum(1 / (1 + np.exp(-x)))


@numba.njit
def negative_power(x):
    return np.sum(1.0 / x**2)


@numba.njit
def in_place(x):
    u = x * 2.0
    u /= x + 1.0
    u[1:] /= x[:2]
    u %= 0.7
    return np.sum(u * x)


@numba.njit
def quotients(x):
    return np.sum(x * (5.0 // x) + 3 % x + x // 2.0 + 2 / x[::-1])


@numba.njit
def divides_by_zeros(x):
    """Of arrays 1 / 0 is inf, and a root of a negative number nan, for every error model."""
    z = np.zeros(3)
    z[0] = x[0]
    n = np.zeros(3)
    lost = 1.0 / n + 1.0 / z + n / n + n % n + z**-1.0 + (n - 1.0) ** 0.5
    return np.sum(x * x) + np.sum(np.where(np.isfinite(lost), 0.0, 1.0)) + lost[0] * 0.0


@numba.njit
def literals(x):
    """Arrays of variables that are written out, beside numbers that carry derivatives."""
    r = np.array([x[0] * x[1], x[2] ** 2, 0.5])
    r /= 1.0 + x[0]
    return np.sum(r / x[1] + x[2] / (r + 2.0) + r ** x[0] + x[0] ** r) + np.linalg.norm(r) % x[1]


@numba.njit
def rotates(x):
    """As poliastro writes it."""
    turn = np.eye(3)
    turn[slice(0, 2, 1), slice(0, 2, 1)] = np.array(((np.cos(x[0]), -np.sin(x[0])), (np.sin(x[0]), np.cos(x[0]))))
    return np.sum(np.dot(turn, x.astype(turn.dtype)) * x[::-1])


@numba.njit
def root(z):
    kind, n = type(z), 3
    return -kind(0.5) * (z * z + kind(np.log(2 * np.pi))) + type(n)(2.9) * z


@numba.njit
def constructs(x):
    """As numba-stats writes it."""
    one = type(x[0])(1)
    total = one - one
    for v in x:
        total += root(v) * type(total)(v)
    return total


@numba.njit
def converts(x):
    total = 0.0
    for v in x:
        total += float(v) * np.float64(v) + int(v) * v
    return total + np.sum(x.astype(np.float64) ** 2) + np.sum(x.astype(np.int64)) * x[0]


@numba.njit
def asks_types(x, n):
    if isinstance(x[0], float) and isinstance(n, int) and not isinstance(x[0], (int, bool)):
        return np.sum(x * x) * n
    return 0.0 * x[0]


@numba.njit
def as_arrays(x):
    """As people write it in the first line; what is an array already is not copied."""
    own = x * 1.5
    a, b = np.asarray(own), np.asarray((x[0], x[1] * x[2]))
    scaled = np.asarray(x * 2.0, np.float64)
    a[0] *= scaled[1]
    counts = np.asarray(np.array([1, 2, 3]), np.float64)
    counts[1] += x[1] * x[0]
    columns = np.asfortranarray(np.outer(x, b))
    rows = np.ascontiguousarray(columns.T)
    rows[0, 1] = x[1] * 0.3
    again = np.ascontiguousarray(scaled)
    again[1] = x[2] ** 2
    total = np.sum(columns * columns) + np.sum(rows[0] * a) + np.sum(counts * b[1])
    return total + np.sum(scaled * own) + np.sum(b * b)


@numba.njit
def linear_algebra(x):
    """Of arrays that the function makes, and of their factors, which it writes."""
    m = np.array([[x[0] + 2.0, x[1]], [0.3, x[2]]])
    factor = np.linalg.cholesky(m @ m.T + np.eye(2))
    factor[0, 1] = x[1] * x[2]
    sign, logarithm = np.linalg.slogdet(m)
    total = np.linalg.det(m) * x[0] + sign * logarithm + np.sum(factor * m) + np.linalg.eigvalsh(m @ m.T)[0]
    return total + np.sum(inv(m) * x[1]) + np.sum(np.linalg.solve(m, x[:2])) + np.linalg.norm(m)


@numba.njit
def library_of_data(x, data):
    """What carries no derivative is computed as it stands, whatever is called; the results are written."""
    basis = np.linalg.inv(np.outer(data, data) + np.eye(3))
    basis[1] = x * basis[0]
    factor = np.linalg.qr(np.outer(data, data) + np.eye(3))[1]
    factor[0] += x
    scale = np.corrcoef(data, data[::-1])[0, 1] + np.digitize(data, np.array([0.1, 0.6]))[1] + np.round(data, 1)[2]
    if np.allclose(data, data):
        scale += np.float_power(data, 2.0)[1] + np.ldexp(data, 2)[0] + np.fmod(data, 0.4)[2]
    return scale * np.sum(basis * x) + np.sum(factor * factor)


_users = in_a_module(root)


@numba.njit
def by_attribute(x):
    return _users.inner(x[0]) * x[1]


FUNCTIONS = [
    (logistic,), (negative_power,), (in_place,), (quotients,), (rotates,), (literals,), (constructs,), (converts,),
    (asks_types, 3), (by_attribute,), (as_arrays,),
]  # fmt: skip


CASES = sampled([(f, rest) for f, *rest in FUNCTIONS], 2, name=lambda case: case[0].__name__)
# for which Numba compiles its linear algebra
OF_A_LIBRARY = pytest.param(library_of_data, [np.array([0.5, 2.0, 1.3])], id="library_of_data", marks=pytest.mark.long)


def by_differences(f, x, *rest, h=1e-6):
    return np.array([(f(x + h * e, *rest) - f(x - h * e, *rest)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("engine", EAGER)
@pytest.mark.parametrize(("f", "rest"), [*CASES, OF_A_LIBRARY])
def test_the_copy_computes_what_numba_does(f, rest, engine):
    assert engine in engine_names()
    value, gradient = contad.value_and_grad(f, engine=engine)(X, *rest)
    assert value == pytest.approx(f(X, *rest), rel=1e-13)
    np.testing.assert_allclose(gradient, by_differences(f, X, *rest), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("f", "rest"), [*CASES, OF_A_LIBRARY])
def test_second_derivatives_of_the_copy(f, rest):
    gradient = contad.grad(f, engine="matrix")
    expected = [(gradient(X + 1e-5 * e, *rest) - gradient(X - 1e-5 * e, *rest)) / 2e-5 for e in np.eye(3)]
    np.testing.assert_allclose(contad.hessian(f, engine="matrix")(X, *rest), expected, rtol=1e-6, atol=1e-7)
    direction = np.array([0.3, -1.0, 0.5])
    product = contad.hvp(f, engine="matrix")(X, *rest, direction)
    np.testing.assert_allclose(product, direction @ expected, rtol=1e-6, atol=1e-7)


@pytest.mark.long  # as for a library
def test_linear_algebra_by_the_copy():
    assert "on a Python copy" in contad.explain(linear_algebra, X)
    value, gradient = contad.value_and_grad(linear_algebra)(X)
    assert value == pytest.approx(linear_algebra(X), rel=1e-13)
    np.testing.assert_allclose(gradient, by_differences(linear_algebra, X), rtol=1e-6, atol=1e-8)
    along = by_differences(lambda x: contad.grad(linear_algebra)(x)[1], X)
    np.testing.assert_allclose(contad.hessian(linear_algebra)(X)[1], along, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("engine", EAGER)
def test_arrays_divide_by_zero_as_compiled_ones(engine):
    value, gradient = contad.value_and_grad(divides_by_zeros, engine=engine)(X)
    assert value == pytest.approx(divides_by_zeros(X), nan_ok=True)
    assert math.isnan(value) or np.allclose(gradient, 2 * X)


@numba.njit
def counted(x):
    """No rule takes the positions of np.interp as variables."""
    return x[0] * x[1] + np.interp(x, x, x)[0]


@numba.njit
def of_the_user(x):
    if x[0] > 0.0:
        raise ValueError("mine")
    return x[0]


def test_a_failure_of_the_copy_names_the_users_expression():
    with pytest.raises(UnsupportedError) as caught:
        contad.grad(counted, engine="records")(X)
    message = str(caught.value)
    assert "test_python_copy.py:" in message and "np.interp(x, x, x)[0]" in message
    assert "Var" not in message and "dtype('O')" not in message


@pytest.mark.parametrize("engine", EAGER)
def test_errors_of_the_users_function_are_left_alone(engine):
    with pytest.raises(ValueError, match="^mine$"):
        contad.grad(of_the_user, engine=engine)(X)
