"""Plain Python functions that call Numba functions."""

import math

import numba
import numpy as np
import pytest

import contad
from contad import callees
from contad.engines import engine_names
from contad.errors import LostDerivativeError

Y = np.array([0.4, 1.3, -0.2])


@numba.njit
def logp(theta, y):
    total = 0.0
    for i in range(y.shape[0]):
        total -= 0.5 * ((y[i] - theta[0]) * math.exp(-theta[1])) ** 2 + theta[1]
    return total


@numba.njit
def square(x):
    return x * x


@numba.njit
def accumulate(x, out):
    for i in range(out.shape[0]):
        out[i] += x * i


def helper(x):
    return square(x) + 1.0


def through_helper(x):
    return helper(x) * square(3.0)


def by_hand(theta):
    mu, s = theta
    r = (Y - mu) * np.exp(-s)
    return np.array([-np.sum(r * np.exp(-s)), -np.sum(r * r) + Y.size])


@pytest.mark.parametrize("engine", engine_names())
def test_a_plain_function_calls_a_numba_function(engine):
    theta = np.array([0.3, -0.2])
    gradient = contad.grad(lambda theta: -logp(theta, Y), engine=engine)(theta)
    assert gradient == pytest.approx(by_hand(theta), rel=1e-13)
    assert contad.grad(through_helper, engine=engine)(2.0) == 36.0
    assert contad.jacobian(contad.grad(through_helper, engine=engine))(2.0) == 18.0
    assert contad.derivative(through_helper)(2.0) == 36.0
    assert contad.vjp(through_helper, 2.0)[1](1.0) == (36.0,)


def test_captured_functions_and_inner_functions():
    def make(kernel, a):
        def f(x):
            def inner(t):
                return kernel(t) * a

            return inner(x) + square(x)

        return f

    assert contad.grad(make(square, 3.0))(2.0) == 16.0


def test_globals_are_read_live(monkeypatch):
    gradient = contad.grad(through_helper)
    assert gradient(2.0) == 36.0
    monkeypatch.setitem(globals(), "helper", lambda x: 5.0 * x)
    assert gradient(2.0) == 45.0
    with pytest.raises(NameError, match="undefined_name"):
        contad.grad(lambda x: square(x) + undefined_name)(1.0)  # noqa: F821


def test_plain_arguments_run_compiled(monkeypatch):
    calls = []
    monkeypatch.setattr("contad.callees.compared", lambda f, **options: calls.append(f) or f.py_func)
    assert contad.grad(lambda x: x * square(3.0))(2.0) == 9.0
    assert calls == []
    assert contad.grad(lambda x: x * square(x))(2.0) == 12.0
    assert len(calls) == 1


def test_writes_into_arrays_are_seen_or_refused():
    def into_objects(x):
        out = np.zeros(3, dtype=object)
        accumulate(x * x, out)
        return out.sum()

    def into_floats(x):
        out = np.zeros(3)
        accumulate(x * x, out)
        return out.sum()

    def constants(x):
        out = np.zeros(3)
        accumulate(2.0, out)
        return out.sum() * x

    assert contad.grad(into_objects)(2.0) == 3.0 * 4.0
    assert contad.grad(constants)(2.0) == 6.0
    with pytest.raises(LostDerivativeError, match="accumulate: writes a variable into argument 1.*dtype=object"):
        contad.grad(into_floats)(2.0)


def test_libraries_are_not_searched():
    import scipy.optimize

    f = eval("lambda x: minimize and x * x", {"minimize": scipy.optimize.minimize})
    searched = set()
    assert not callees._reaches_numba(f, searched)
    assert len(searched) == 1


def test_functions_without_numba_run_as_they_are():
    def f(x):
        return x * math.pi

    assert contad.grad(f).run is f
    assert contad.grad(through_helper).run is not through_helper


COUNT = 0


def counts(x):
    global COUNT
    COUNT += 1
    return square(contad.value_of(x)) * x


def test_a_function_that_assigns_to_globals_runs_as_it_is():
    assert contad.grad(counts).run is counts
    assert contad.grad(counts)(2.0) == 4.0
    assert COUNT == 1


@numba.njit
def count(x, counts, sums):
    counts[0] += 1
    sums[0] += 1.0
    return x * counts[0] + sums[0]


def test_a_callee_writes_once_into_arrays_of_constants():
    def f(x):
        counts, sums = np.zeros(1, dtype=int), np.zeros(1)
        return (count(x, counts, sums) + count(x, counts, sums=sums)) * sums[0] * counts[0]

    assert contad.value_and_grad(f)(2.0) == (f(2.0), 12.0)


def powers():
    def square_times(x, n):
        return square(x) if n == 0 else x * other(x, n - 1)

    def other(x, n):
        return square(x) if n == 0 else x * square_times(x, n - 1)

    return square_times


def test_functions_that_capture_each_other():
    assert contad.grad(powers())(2.0, 3) == 5 * 2.0**4


@numba.njit
def twice(f, x):
    return f(f(x))


def of_a_default(x, *, g=square):
    return g(x)


def with_attribute(x):
    return with_attribute.factor * square(x)


with_attribute.factor = 3.0


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: square.py_func(x) + square(x), 8.0),
        (lambda x: twice(square, x), 32.0),
        (lambda x: twice(square, 3.0) * x, 81.0),
        (lambda x: contad.grad(square)(x=x) * x, 8.0),
        (lambda x: of_a_default(x), 4.0),
        (lambda x: with_attribute(x), 12.0),
        (lambda x: globals().get("Y")[0] * square(x) if "Y" in globals() else x, 1.6),
    ],
)
def test_numba_functions_are_used_as_values_and_names(f, slope):
    assert contad.grad(f)(2.0) == contad.derivative(f)(2.0) == pytest.approx(slope)


def test_a_class_inside_a_function():
    def f(x):
        class Local:
            def square(self, x):
                return square(x)

        assert Local.__module__ == __name__
        return Local().square(x)

    assert contad.grad(f)(3.0) == 6.0


def test_an_inner_function_that_assigns_to_globals():
    def f(x):
        def note():
            global noted
            noted = square(3.0)

        note()
        return x * noted

    assert contad.grad(f)(2.0) == 9.0
    assert globals().pop("noted") == 9.0


@numba.njit
def raise_first(a, x):
    a[0] += 1.0
    return a[:1], x * a[0]


def test_a_returned_view_is_of_the_callers_array():
    def f(x):
        a = np.zeros(2)
        first, y = raise_first(a, x)
        first[0] += 3.0
        return a[0] * y

    assert contad.value_and_grad(f)(2.0) == (8.0, 4.0)
