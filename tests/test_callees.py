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
