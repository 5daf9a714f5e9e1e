"""Compiled solvers of equations: closed forms, loops, engines, orders, what has no root or no derivative."""

import functools
import math

import numba
import numpy as np
import pytest

import contad
from contad.errors import SingularPointError
from contad.scipy.integrate import dopri5, sdirk4
from contad.scipy.optimize import brentq, compiled_roots, newton, newton_system
from tests.scipy.uncompiled import uncompiled

PLAIN = uncompiled(compiled_roots)
P = np.array([0.3, 1.3, 10.0, 40.0])


@numba.njit
def cubic(x, p):
    return x**3 + x - p


@numba.njit
def roots_between(p):
    """A root for each, weighted so that all derivatives differ."""
    total = 0.0
    for k in range(len(p)):
        total += (k + 1.0) * brentq(cubic, 0.0, 5.0, (p[k],)) ** 2
    return total


@numba.njit
def roots_near(p):
    total = 0.0
    for k in range(len(p)):
        total += (k + 1.0) * newton(cubic, 1.0, (p[k],)) ** 2
    return total


def closed(p):
    s = np.sqrt(p * p / 4.0 + 1.0 / 27.0)
    return np.sum(np.arange(1.0, len(p) + 1.0) * (np.cbrt(p / 2.0 + s) + np.cbrt(p / 2.0 - s)) ** 2)


@numba.njit
def pair(x, p):
    return np.array([x[0] * x[1] - p[0], x[0] - x[1] - p[1]])


@numba.njit
def root_of_pair(p):
    return np.sum(np.array([1.0, -0.3]) * newton_system(pair, np.ones(2), (p,)) ** 2)


def closed_pair(p):
    b = 0.5 * (np.sqrt(p[1] ** 2 + 4.0 * p[0]) - p[1])
    return (b + p[1]) ** 2 - 0.3 * b * b


CASES = [
    (roots_between, closed, P),
    pytest.param(roots_near, closed, P, marks=pytest.mark.long),
    pytest.param(root_of_pair, closed_pair, np.array([6.0, 1.0]), marks=pytest.mark.long),
]


@pytest.mark.parametrize(("f", "exact", "p"), CASES)
def test_gradients_of_roots_in_loops(f, exact, p):
    assert contad.engine_name(f, args=(p,)) == "generated"
    value, gradient = contad.value_and_grad(f)(p)
    assert value == pytest.approx(exact(p), rel=1e-13)
    np.testing.assert_allclose(gradient, contad.grad(exact)(p), rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("f", "exact", "p"), [(*case[:2], case[2][:2]) for case in (CASES[0], CASES[2].values)])
def test_engines_and_orders(f, exact, p):
    expected, direction = contad.grad(exact)(p), np.array([0.4, -1.0])
    for engine in ("tape", "matrix"):
        np.testing.assert_allclose(contad.grad(f, engine=engine)(p), expected, rtol=1e-12)
    np.testing.assert_allclose(contad.jvp(f, (p,), (direction,))[1], expected @ direction, rtol=1e-12)
    np.testing.assert_allclose(contad.hessian(f)(p), contad.hessian(exact)(p), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(contad.hvp(f)(p, direction), contad.hessian(exact)(p) @ direction, rtol=1e-11)
    third = lambda f: contad.derivative(contad.derivative(contad.derivative(lambda s: f(p + s * direction))))(0.0)
    assert third(f) == pytest.approx(third(exact), rel=1e-9)


def test_roots_without_digits_to_spare():
    """At 0, at an end, at many sizes, from a bad start; f is not called outside the interval."""
    for scale in (1e-150, 1e-9, 1.0, 1e12):
        assert PLAIN.brentq(lambda x: x / scale - 2.0, 0.0, 5.0 * scale) == pytest.approx(2.0 * scale, rel=1e-15)  # noqa: B023
        assert PLAIN.newton(lambda x: x / scale - 2.0, 0.3 * scale) == pytest.approx(2.0 * scale, rel=1e-15)  # noqa: B023
    assert PLAIN.brentq(lambda x: math.sin(x), -1.0, 2.0) == pytest.approx(0.0, abs=1e-18)
    assert PLAIN.brentq(lambda x: math.log(x), 1.0, 3.0) == 1.0
    assert PLAIN.brentq(lambda x: math.log(x), 3.0, 0.5) == pytest.approx(1.0, rel=1e-15)
    assert PLAIN.newton(lambda x: math.atan(x - 0.2), 5.0) == pytest.approx(0.2, rel=1e-14)  # plain steps diverge
    seen = []

    def f(x):
        seen.append(x)
        return math.sqrt(x) - 1e-4

    assert PLAIN.brentq(f, 0.0, 1.0) == pytest.approx(1e-8, rel=1e-13) and min(seen) >= 0.0


HUGE = np.array([1e9, 1e-9])


def test_systems_of_mixed_units():
    found = PLAIN.newton_system(lambda x: np.array([x[0] / 1e9 - 2.0, x[1] * 1e9 * x[0] / 1e9 - 6.0]), 0.7 * HUGE)
    np.testing.assert_allclose(found, [2e9, 3e-9], rtol=1e-13)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: PLAIN.brentq(lambda x: x * x + 1.0, 0.0, 2.0), ValueError, "brentq: f.a. and f.b. must have diff"),
    (lambda: PLAIN.brentq(lambda x: x, 0.0, math.inf), ValueError, "brentq: a and b must be finite"),
    (lambda: PLAIN.brentq(lambda x: math.nan, 0.0, 1.0), ValueError, r"brentq: f .*got nan at x =', 0\.0"),
    (
        lambda: PLAIN.brentq(lambda x: x - 0.4 if abs(x) > 0.9 else math.nan, -1.0, 1.0), ValueError,
        r"brentq: f must give numbers, got nan at x =', 0\.",
    ),
    (lambda: PLAIN.brentq(lambda x: math.exp(x) - 2.0, -9.0, 9.0, (), 3), RuntimeError, "brentq: no root in max_"),
    (lambda: PLAIN.brentq(lambda x: x**3, -1.0, 2.0), SingularPointError, "brentq: the slope of f at the root"),
    (lambda: PLAIN.brentq(np.cbrt, -1.0, 2.0), SingularPointError, "brentq"),
    (lambda: PLAIN.brentq(lambda x: max(x, 3.0 * x), -1.0, 2.0), SingularPointError, "brentq: .* or jumps"),
    (lambda: PLAIN.brentq(lambda x: math.copysign(1.0, x - 0.3), -1.0, 2.0), SingularPointError, "brentq"),
    (lambda: PLAIN.newton(lambda x: x * x + 1.0, 0.7), (RuntimeError, SingularPointError), "newton: "),
    (lambda: PLAIN.newton(lambda x: 1.0, 0.7), SingularPointError, "newton: the slope of f is zero or not"),
    (lambda: PLAIN.newton(lambda x: (x - 1.0) ** 2, 0.3), SingularPointError, "newton: the slope of f at the root"),
    (lambda: PLAIN.newton(lambda x: math.nan, 0.3), ValueError, r"newton: x0 and f\(x0\) must be finite"),
    (lambda: PLAIN.newton(lambda x: np.exp(x) - 2.0, -9.0, (), 3), RuntimeError, "newton: no root in max_steps"),
    (lambda: PLAIN.newton_system(lambda x: x[:1], np.ones(2)), ValueError, "as many numbers as x0 has, got', 1"),
    (lambda: PLAIN.newton_system(lambda x: x / 0.0, np.ones(2)), ValueError, "newton_system: x0 and f.x0. must"),
    (
        lambda: PLAIN.newton_system(lambda x: np.array([x[0] + x[1], x[0] + x[1]]) - 1.0, np.ones(2)),
        SingularPointError, "newton_system: the Jacobian",
    ),
    (
        lambda: PLAIN.newton_system(lambda x: np.array([(x[0] - 1.0) ** 2, x[1] - x[0]]), np.array([0.3, 0.1])),
        SingularPointError, "newton_system: the Jacobian",
    ),
    (
        lambda: PLAIN.newton_system(lambda x: np.array([max(x[0], 2.0 * x[0]), x[1] - 1.0]), np.array([0.3, 0.1])),
        SingularPointError, "newton_system: the Jacobian of f at the root .* or jumps",
    ),
    (lambda: PLAIN.newton_system(lambda x: x * x + 1.0, np.ones(1)), (RuntimeError, SingularPointError), "system"),
    (lambda: PLAIN.newton_system(lambda x: np.exp(x) - 2.0, np.full(1, -9.0), (), 3), RuntimeError, "no root in"),
])  # fmt: skip
def test_equations_without_root_or_derivative_are_errors(call, error, message):
    """As Python runs it; what compiled derivatives raise is in the next test."""
    with np.errstate(all="ignore"), pytest.raises(error, match=message):
        call()


@numba.njit
def powers(x, p, n):
    return x**n - p


@pytest.mark.long
def test_derivatives_raise_what_the_function_raises():
    @numba.njit
    def f(p, n):
        return brentq(powers, -1.0, 2.0, (p, n))

    gradients = [contad.grad(f), contad.grad(f, engine="tape"), contad.hessian(f)]
    for call in (f, *gradients):
        with pytest.raises(SingularPointError, match=r"slope of f at the root .* at x =', -?[0-9.e-]+"):
            call(0.0, 3)
        with pytest.raises(ValueError, match=r"must have different signs, got', -10\.0, -7\.0"):
            call(9.0, 1)
    assert gradients[0](1.0, 3) == pytest.approx(1.0 / 3.0, rel=1e-12)
    assert contad.stack().top <= 1


@pytest.mark.parametrize(("solve", "argument", "mirror"), [
    (lambda f: brentq(f, 0.0, 2.0), "brentq: f", "optimize.root_scalar"),
    (lambda f: newton(f=f, x0=1.0), "newton: f", "optimize.root_scalar"),
    (lambda f: newton_system(f, np.ones(1)), "newton_system: f", "optimize.root"),
    (lambda f: dopri5(f, np.array([0.0, 1.0]), np.ones(1)), "dopri5: fun", "integrate.solve_ivp"),
    (lambda f: sdirk4(f, np.array([0.0, 1.0]), np.ones(1)), "sdirk4: fun", "integrate.solve_ivp"),
])  # fmt: skip
def test_functions_of_python_are_refused_by_name(solve, argument, mirror):
    for f in (lambda x, *rest: x * x - 2.0, functools.partial(cubic.py_func, p=1.0)):
        told = rf"{argument} must be an @njit function \(contad.scipy.{mirror} takes functions of Python\), got a"
        for call in (solve, lambda f: contad.grad(lambda p: np.sum(solve(f)) * p)(2.0)):
            with pytest.raises(TypeError, match=told):
                call(f)
