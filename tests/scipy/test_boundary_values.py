"""Boundary value problems: closed forms, differences, both modes, second order, unknown parameters, refusals."""


import numpy as np
import pytest
import scipy.integrate

import contad
from contad.engines import engine_names
from contad.errors import SingularPointError
from contad.scipy.integrate import solve_bvp

MESH = np.linspace(0.0, 1.0, 21)


def oscillator(v, at=0.5):
    """y'' = -v0 y, y(0) = v1, y(1) = v2, by arguments."""
    fun = lambda x, y, v: np.stack([y[1], -v[0] * y[0]])
    bc = lambda ya, yb, v: np.stack([ya[0] - v[1], yb[0] - v[2]])
    return solve_bvp(fun, bc, MESH, np.ones((2, 21)), args=(v,), tol=1e-9).sol(at)[0]


def captured(v, at=0.5):
    fun = lambda x, y: [y[1], -v[0] * y[0]]
    bc = lambda ya, yb: [ya[0] - v[1], yb[0] - v[2]]
    return solve_bvp(fun, bc, MESH, np.ones((2, 21)), tol=1e-9).sol(at)[0]


def closed(v, at=0.5):
    w = np.sqrt(v[0])
    return v[1] * np.cos(w * at) + (v[2] - v[1] * np.cos(w)) / np.sin(w) * np.sin(w * at)


V = np.array([2.3, 0.4, 1.2])


@pytest.mark.parametrize("f", [oscillator, captured])
def test_a_linear_problem_to_second_order(f):
    assert float(f(V)) == pytest.approx(closed(V), rel=1e-8)
    gradient = contad.grad(closed)(V)
    for engine in engine_names() if f is oscillator else ("matrix",):
        np.testing.assert_allclose(contad.grad(f, engine=engine)(V), gradient, rtol=1e-6)
    np.testing.assert_allclose(contad.jacfwd(f)(V), gradient, rtol=1e-6)
    np.testing.assert_allclose(contad.hessian(f)(V), contad.hessian(closed)(V), rtol=1e-5, atol=1e-7)


def test_a_nonlinear_problem():
    """Bratu's: y'' = -k exp(y), y(0) = y(1) = 0, the lower branch: y = -2 log(cosh((x - 1/2) t / 2) / cosh(t / 4))."""

    def middle(k):
        fun = lambda x, y: np.stack([y[1], -k * np.exp(y[0])])
        bc = lambda ya, yb: np.stack([ya[0], yb[0]])
        return solve_bvp(fun, bc, MESH, np.zeros((2, 21)), tol=1e-9).sol(0.5)[0]

    def closed(k):
        equation = lambda t: t - np.sqrt(2.0 * k) * np.cosh(t / 4.0)
        t = contad.scipy.optimize.root_scalar(equation, bracket=(0.0, 4.0)).root
        return 2.0 * np.log(np.cosh(t / 4.0))

    assert float(middle(1.0)) == pytest.approx(closed(1.0), rel=1e-8)
    assert contad.grad(middle)(1.0) == pytest.approx(contad.grad(closed)(1.0), rel=1e-6)


def test_an_unknown_parameter():
    """y'' = -p^2 c y, y(0) = y(1) = 0, y'(0) = p: the eigenvalue p is pi / sqrt(c)."""

    def eigenvalue(c):
        fun = lambda x, y, p: np.stack([y[1], -p[0] ** 2 * c * y[0]])
        bc = lambda ya, yb, p: np.stack([ya[0], yb[0], ya[1] - p[0]])
        guess = np.stack([np.sin(np.pi * MESH), np.pi * np.cos(np.pi * MESH)])
        return solve_bvp(fun, bc, MESH, guess, np.array([3.0]), tol=1e-9).p[0]

    assert float(eigenvalue(1.1)) == pytest.approx(np.pi / np.sqrt(1.1), rel=1e-8)
    assert contad.grad(eigenvalue)(1.1) == pytest.approx(-0.5 * np.pi * 1.1**-1.5, rel=1e-6)


def test_a_singular_term():
    """y'' = -2 y'/x - k, y'(0) = 0, y(1) = 0: y = k (1 - x^2) / 6."""

    def middle(k):
        fun = lambda x, y: np.stack([y[1], -k + 0.0 * y[0]])
        bc = lambda ya, yb: np.stack([ya[1], yb[0]])
        singular = np.array([[0.0, 0.0], [0.0, -2.0]])
        return solve_bvp(fun, bc, MESH, np.zeros((2, 21)), S=singular, tol=1e-8).sol(0.5)[0]

    assert contad.value_and_grad(middle)(1.7) == (pytest.approx(0.125 * 1.7, rel=1e-7), pytest.approx(0.125, rel=1e-6))


def test_on_floats_it_is_scipys():
    fun, bc = lambda x, y: np.stack([y[1], -y[0]]), lambda ya, yb: np.array([ya[0], yb[0] - 1.0])
    found = solve_bvp(fun, bc, MESH, np.ones((2, 21)))
    expected = scipy.integrate.solve_bvp(fun, bc, MESH, np.ones((2, 21)))
    np.testing.assert_array_equal(found.y, expected.y)
    assert type(found.sol) is type(expected.sol)


def test_bad_problems_are_refused():
    ends = lambda ya, yb: np.stack([ya[0], yb[0]])
    bratu = lambda k: lambda x, y: np.stack([y[1], -k * np.exp(y[0])])
    beyond = lambda k: solve_bvp(bratu(k), ends, MESH, np.zeros((2, 21))).sol(0.5)[0]
    with pytest.raises(RuntimeError, match="solve_bvp: no root was found, so there is no derivative: "):
        contad.grad(beyond)(9.0)
    once = lambda ya, yb: np.stack([ya[0], 2.0 * ya[0]])
    growth = lambda k: lambda x, y: np.stack([y[1], k * y[0]])
    open_end = lambda k: solve_bvp(growth(k), once, MESH, np.zeros((2, 21))).y[0, 3]
    with pytest.raises((SingularPointError, RuntimeError), match="solve_bvp: .*singular"):
        contad.grad(open_end)(1.0)
    with pytest.raises(ValueError, match="expected to have shape"):
        contad.grad(lambda k: solve_bvp(lambda x, y: k * y[:1], ends, MESH, np.zeros((2, 21))).y[0, 3])(1.0)
    assert contad.stack().top <= 1
