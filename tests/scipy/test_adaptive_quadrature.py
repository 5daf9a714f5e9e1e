"""Integrals: SciPy's on floats, derivatives to second order against closed forms, limits, and what is refused."""

import types
import warnings

import numba
import numpy as np
import pytest
import scipy.integrate
import scipy.special

import contad
from contad.engines import engine_names
from contad.errors import RuleError, UnsupportedError
from contad.scipy.integrate import quad, quad_vec

V = np.array([0.2, 1.3, 0.5, 1.5, 2.0])  # two limits, three rates


def of_arguments(v):
    return quad(lambda x, w: np.sum(w * np.exp(-w * x)), v[0], v[1], (v[2:],))[0]


def of_captured(v):
    w = v[2:]
    return quad(lambda x: np.sum(w * np.exp(-w * x)), v[0], v[1])[0]


def closed(v):
    return np.sum(np.exp(-v[2:] * v[0]) - np.exp(-v[2:] * v[1]))


@numba.njit
def decay(x, w):
    return w * np.exp(-w * x)


@pytest.mark.parametrize("f", [of_arguments, of_captured])
def test_derivatives_to_second_order(f):
    gradient, hessian = contad.grad(closed)(V), contad.hessian(closed)(V)
    for engine in engine_names():
        assert contad.value_and_grad(f, engine=engine)(V)[0] == pytest.approx(closed(V), rel=1e-12)
        np.testing.assert_allclose(contad.grad(f, engine=engine)(V), gradient, rtol=1e-9)
    np.testing.assert_allclose(contad.hessian(f)(V), hessian, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(contad.jacfwd(f)(V), gradient, rtol=1e-9)
    for twice in (contad.jacfwd(contad.jacfwd(f)), contad.jacrev(contad.jacfwd(f)), contad.jacobian(contad.grad(f))):
        np.testing.assert_allclose(twice(V), hessian, rtol=1e-9, atol=1e-12)


def test_infinite_limits():
    f = lambda p, b, a=0.0: quad(lambda x: np.exp(-p * x), a, b)[0]
    assert contad.value_and_grad(f, (0, 1))(2.0, np.inf) == (pytest.approx(0.5), (pytest.approx(-0.25), 0.0))
    assert contad.hessian(f)(2.0, np.inf) == pytest.approx(0.25)
    gaussian = lambda s: quad(lambda x: np.exp(-0.5 * (x / s) ** 2), -np.inf, np.inf)[0]
    assert contad.grad(gaussian)(1.7) == pytest.approx(np.sqrt(2.0 * np.pi), rel=1e-9)
    moving = lambda p: quad(lambda x: np.exp(-p * x), p, np.inf)[0]
    assert contad.grad(moving)(1.3) == pytest.approx(-np.exp(-1.69) * (1.0 / 1.69 + 2.0), rel=1e-9)


def test_limits_in_reverse_order_and_equal_ones():
    def f(b):
        return quad(lambda x: b * x * x, b, 0.5)[0]  # b (1/8 - b^3) / 3

    assert contad.value_and_grad(f)(2.0) == (pytest.approx(-5.25), pytest.approx((0.125 - 32.0) / 3.0))
    assert contad.value_and_grad(f)(0.5) == (0.0, pytest.approx(-0.125))


def test_singular_ends_and_points():
    beta = lambda p: quad(lambda x: x ** (p - 1.0) * (1.0 - x) ** 0.5, 0.0, 1.0)[0]
    expected = scipy.special.beta(0.7, 1.5) * (scipy.special.digamma(0.7) - scipy.special.digamma(2.2))
    assert contad.grad(beta)(0.7) == pytest.approx(expected, rel=1e-7)
    kink = lambda p: quad(lambda x: np.abs(x - 0.3) ** p, 0.0, 1.0, points=[0.3])[0]
    expected = sum(c**2.5 * (np.log(c) / 2.5 - 1.0 / 2.5**2) for c in (0.3, 0.7))
    assert contad.grad(kink)(1.5) == pytest.approx(expected, rel=1e-9)


def test_numba_functions():
    for f in (lambda w: quad(decay, 0.0, 1.0, (w,))[0], lambda w: quad(lambda x: decay(x, w), 0.0, 1.0)[0]):
        assert contad.value_and_grad(f)(2.0) == (pytest.approx(1.0 - np.exp(-2.0)), pytest.approx(np.exp(-2.0)))
    assert contad.hessian(lambda w: quad(decay, 0.0, 1.0, (w,))[0])(2.0) == pytest.approx(-np.exp(-2.0))


def test_arrays():
    f = lambda p: quad_vec(lambda x, q: q["rate"] * np.exp(-q["rate"] * x), 0.0, p[2], args=({"rate": p[:2]},))[0]
    p = np.array([1.0, 2.0, 0.8])
    closed = contad.jacobian(lambda p: 1.0 - np.exp(-p[:2] * p[2]))(p)
    np.testing.assert_allclose(contad.jacobian(f)(p), closed, rtol=1e-9)
    np.testing.assert_allclose(contad.jacfwd(f)(p), closed, rtol=1e-9)
    total = lambda p: np.sum(f(p) ** 2)
    exact = contad.hessian(lambda p: np.sum((1.0 - np.exp(-p[:2] * p[2])) ** 2))(p)
    np.testing.assert_allclose(contad.hessian(total)(p), exact, rtol=1e-8)


def test_on_floats_they_are_scipys():
    assert quad(decay, 0.0, 1.0, (2.0,)) == scipy.integrate.quad(decay.py_func, 0.0, 1.0, (2.0,))
    weighted = {"weight": "cos", "wvar": 3.0}
    assert quad(np.cos, 0.0, 1.0, **weighted) == scipy.integrate.quad(np.cos, 0.0, 1.0, **weighted)
    rates = np.array([1.0, 2.0])
    np.testing.assert_array_equal(
        quad_vec(lambda x: np.exp(-rates * x), 0.0, 1.0)[0],
        scipy.integrate.quad_vec(lambda x: np.exp(-rates * x), 0.0, 1.0)[0],
    )


def test_one_integration_for_all_parameters():
    """Counted evaluations: a gradient in 100 parameters takes as many as one in 2."""

    def evaluations(n):
        count = [0]

        def integrand(x, p):
            count[0] += 1
            return np.exp(-x) * np.sum(p)

        contad.grad(lambda p: quad(integrand, 0.0, 1.0, (p,))[0])(np.ones(n))
        return count[0]

    assert evaluations(100) == evaluations(2)


def test_bad_integrals_are_refused():
    with pytest.raises(UnsupportedError, match="quad: weight= is not supported on variables"):
        contad.grad(lambda p: quad(lambda x: p * x, 0.0, 1.0, weight="cos", wvar=1.0)[0])(1.0)
    with pytest.raises(ValueError, match="quad: the limits must be numbers, got nan and 1.0"):
        contad.grad(lambda p: quad(lambda x: p * x, np.nan, 1.0)[0])(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="quad: the integral of the derivative does not converge"):
            contad.grad(lambda p: quad(lambda x: x ** (p - 1.0), 0.0, 1.0)[0])(-0.2)
        with pytest.raises(ZeroDivisionError):
            contad.grad(lambda p: quad(lambda x: 1 / 0, 0.0, 1.0)[0] * p)(1.0)

    def in_a_module(p):
        hidden = types.ModuleType("hidden")
        hidden.rate = p
        return quad(lambda x: hidden.rate * x, 0.0, 1.0)[0] * p

    with pytest.raises(RuleError, match="quad: the function captures a variable in a place where it is not looked for"):
        contad.grad(lambda p: in_a_module(p) + quad(lambda x: p * x, 0.0, 1.0)[0])(1.0)
    assert contad.stack().top <= 1
