"""Numba functions called by plain code once their derivative is known."""

from typing import NamedTuple

import numba
import numpy as np
import pytest

import contad
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.front import numba_calls
from tests.judges.written import function_of


class Moments(NamedTuple):
    total: float
    squares: np.ndarray


@numba.njit
def weigh(x, y, n, a=2.0):
    total = 0.0
    for i in range(x.size):
        total += a * x.flat[i] ** 2 * (i + 1) + n * y
    return total


@numba.njit
def wave(x, w):
    return np.sin(x) * w, x.sum()


@numba.njit
def square(x):
    return x * x


@numba.njit
def root(x):
    return np.sqrt(x[0]) + x[1]


@numba.njit
def join(x, y):
    return np.sum(x * y * y)


@numba.njit
def moments(x):
    return Moments(x.sum(), x * x)


@numba.njit
def turned(x):
    return (x * x).T


@numba.njit
def count(x):
    return x.size, x[0] * x[1]


PROGRAMS = {
    "of_numbers": "square(x[0]) * square(square(x[1])) + square(x[2] * x[0])",
    "of_parts_and_options": (
        "weigh(x, x[0], 3) + weigh(x[1:3], 2.0, 1) * weigh(x, x[2] * x[1], True, 1.5) + weigh(x, 1.0, n=2)"
    ),
    "of_what_is_written_later": (
        "y = x * 1.0; u = weigh(y, 0.3, 1); v = square(y); y[0] = x[1] * 5.0; "
        "u * weigh(y, y[1], 2) + u * np.sum(v * y)"
    ),
    "of_views": "weigh(x[::-1], 1.0, 2) * weigh(x, 1.0, 2) + weigh(x.reshape(2, 2).T, x[0], 1)",
    "of_several_results": (  # w is written after the call: the derivative is with respect to what it was
        "w = np.arange(4.0) + 1.0; a, b = wave(x, w); w[:] = 7.0; c, d = wave(x * x, w); np.sum(a * c) * b + d"
    ),
    "of_matrices": "m = x.reshape(2, 2); np.sum(square(m).T @ turned(m)) + np.sum(turned(m) * m)",
    "of_an_argument_twice": "join(x, x) + join(x, square(x)) * join(x[:2], x[2:])",
    "of_a_named_tuple": "m = moments(x); m.total * np.sum(m.squares * x)",
    "of_counts": "n, z = count(x); n * z * z",
}
KNOWN = {
    "__name__": __name__, "np": np, "weigh": weigh, "wave": wave, "square": square, "join": join, "moments": moments,
    "turned": turned, "count": count,
}  # fmt: skip
X = np.array([0.3, -1.2, 0.7, 2.1])


def difference(f, x, step=1e-5):
    """The central difference of f, by rows."""
    return np.array([(f(x + e) - f(x - e)) / (2.0 * step) for e in step * np.eye(x.size)])


@pytest.mark.parametrize("name", PROGRAMS)
def test_known_calls_give_the_same(name):
    f = function_of(PROGRAMS[name], KNOWN)
    first = contad.grad(f)(X)
    np.testing.assert_allclose(first, difference(f, X), rtol=1e-6)
    for _ in range(2):
        value, again = contad.value_and_grad(f)(X)
        assert value == f(X)
        np.testing.assert_array_equal(again, first)


@pytest.mark.parametrize("name", PROGRAMS)
def test_orders_above_are_taken_of_known_calls(name):
    f = function_of(PROGRAMS[name], KNOWN)
    gradient = contad.grad(f)
    gradient(X)
    hessian = difference(gradient, X)
    np.testing.assert_allclose(contad.hessian(f)(X), hessian, rtol=1e-5, atol=1e-6)
    over = contad.grad(lambda x: np.sum(gradient(x) ** 2))(X)
    np.testing.assert_allclose(over, 2.0 * hessian @ gradient(X), rtol=1e-5)
    tangent = contad.jvp(f, (X,), (np.ones(4),))[1]
    np.testing.assert_allclose(tangent, np.sum(gradient(X)), rtol=1e-10)


def test_known_calls_are_not_looked_at(monkeypatch):
    looked = []
    asked = numba_calls._takes
    monkeypatch.setattr(numba_calls, "_takes", lambda *args: looked.append(1) or asked(*args))

    @numba.njit
    def scale(x, a):
        return a * x

    def f(x, a):
        return sum([np.sum(scale(x, a)), scale(x[0], a), scale(scale(2.0, x[1]), 0.5)])

    gradient = contad.grad(f)
    gradient(X, 3.0)
    assert len(looked) == 3  # an array and a number; two numbers, of which the first or the second is a variable
    gradient(X, 2.0)
    assert len(looked) == 3
    gradient(X[:2], 2.0)
    assert len(looked) == 3  # of another length
    gradient(X, 2)
    assert len(looked) == 5  # another type: an array and an integer, a number and an integer


def test_known_calls_need_few_records():
    """A number of an array is one record that compiled code sweeps; nothing else is kept."""
    kept = []

    def f(x):
        s = contad.variables.stack.stack()
        before = s.top
        z = join(x, x[:4]) + 0.0
        kept.append((len(s.callbacks), s.top - before))
        return z

    for _ in range(2):
        contad.grad(f)(X)
    assert isinstance(contad.variables.stack.stack(), MatrixStack)
    assert kept[1][0] == 0


@pytest.mark.parametrize("shape", [(1,), (3,), (8,), (9,), (2, 3), (4, 5)])
def test_gradients_of_few_numbers_are_records_and_longer_ones_are_kept(shape):
    """A call with few variables has a record for each; a call with many has one that reads a copy of the gradient."""
    n, cells = np.prod(shape), []
    w = np.arange(1.0, n + 1.0).reshape(shape)

    def f(x):
        s = contad.variables.stack.stack()
        before, y = s.top, 2.0 * x
        middle = s.top
        z = join(w, y) * join(y, w) + weigh(y, 3.0, 2)
        cells.append((s.top - middle, middle - before))
        return z

    x = np.sin(w)
    for _ in range(3):
        value, gradient = contad.value_and_grad(f)(x)
        assert value == f(x)
        left, right = np.sum(w * 4.0 * x * x), np.sum(2.0 * x * w * w)
        expected = left * 2.0 * w * w + right * 8.0 * w * x + 16.0 * w * x
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    own = n if n <= 8 else 1
    assert cells[-2] == (3 * own + 2, n)  # the last ones are of f alone


def test_dead_results_leave_no_nan():
    x = np.array([0.0, 1.0])

    def f(x):
        unused, arrays = root(x), square(x)
        return np.sum(arrays) if x[0] > 1.0 else 3.0 * x[1] + root(x) * 0.0 + unused * 0.0

    for _ in range(3):
        np.testing.assert_array_equal(contad.grad(f)(x), [0.0, 3.0])


def test_gradients_too_long_to_copy():
    x = np.linspace(-1.0, 1.0, 5001)
    for _ in range(2):
        np.testing.assert_allclose(contad.grad(lambda x: join(x, x) * 2.0)(x), 6.0 * x * x)


def test_arguments_stay_as_they_are():
    w, x = np.arange(4.0), X.copy()
    for _ in range(3):
        contad.grad(lambda x: np.sum(wave(x, w)[0]) + join(x, w))(x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, np.arange(4.0))


# ---- what only a Python copy does right ------------------------------------------------------------------------------
@numba.njit
def same(x):
    return x


@numba.njit
def tail(x):
    return x[1:]


@numba.njit
def back(x):
    return 1.0, x[::-1]


@numba.njit
def overlapping(x):
    y = x * x
    return y, y[1:]


@numba.njit
def noisy(x):
    return x * np.random.normal(0.0, 1.0, len(x))  # noqa: NPY002 - the state that Numba keeps


@numba.njit
def drawn(x, generator):
    return x * generator.standard_normal(len(x))


LARGE = np.ones(200_000)


@numba.njit
def weighted(x):
    return x * LARGE[:4]


def write_argument(x):
    y = x * 1.0
    z = same(y)
    y[0] = 5.0 * x[1]
    return np.sum(z**3)


def write_result(x):
    y = x * 1.0
    z = tail(y)
    z[0] = x[0] ** 2
    return np.sum(y**3) + np.sum(z)


def write_reversed(x):
    y = x * 1.0
    number, z = back(y)
    z[0] = x[0] * x[1]
    return number * np.sum(y**3 * z)


def write_other_result(x):
    y, z = overlapping(x)
    z[1] = x[0] * 3.0
    return np.sum(y**2) + y[0] * z[0]


@pytest.mark.parametrize("f", [write_argument, write_result, write_reversed, write_other_result])
def test_results_that_share_memory(f):
    expected = f(X)
    slope = difference(f, X)
    for _ in range(3):
        value, gradient = contad.value_and_grad(f)(X)
        assert value == pytest.approx(expected, rel=1e-13)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6)


def test_random_numbers_are_drawn_once():
    x = np.ones(4)
    with pytest.raises(contad.errors.UnsupportedError, match=r"noisy: .* random numbers are not reproduced"):
        contad.grad(lambda x: np.sum(noisy(x)))(x)  # those that Numba keeps the state of
    generator, rest = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(3):
        found = contad.grad(lambda x: np.sum(drawn(x, generator)))(x)
        np.testing.assert_allclose(found, rest.standard_normal(4))
    assert generator.random() == rest.random()


def test_large_global_arrays_are_what_they_were(monkeypatch):
    def f(x, change):
        z = weighted(x)
        if change:
            LARGE[0] += 1.0
        return np.sum(z * x)

    for _ in range(2):
        np.testing.assert_allclose(contad.grad(f)(X, False), 2.0 * X * LARGE[:4])
    with pytest.raises(contad.errors.LostDerivativeError, match=r"weighted: a global array that it reads, of float64"):
        contad.grad(f)(X, True)
    np.testing.assert_allclose(contad.grad(f)(X, False), 2.0 * X * LARGE[:4])
