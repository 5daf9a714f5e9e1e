"""Stan's algebraic solvers: its linear, non-linear, unsolvable and degenerate systems, derivatives of both orders."""


import numpy as np
import pytest

import contad
from contad import stan
from contad.errors import SingularPointError

NAMES = ["solve_powell", "solve_newton", "algebra_solver", "algebra_solver_newton", "solve_powell_tol"]
NAMES += ["solve_newton_tol"]


def solve(name, f, start, p, function_tolerance=1e-10, steps=200):
    """The root of f(y, p) by any of them."""
    solver = getattr(stan, name)
    if name.startswith("algebra"):
        return solver(lambda y, p, x_r, x_i: f(y, p), start, p, [], [], 1e-10, function_tolerance, steps)
    if name.endswith("_tol"):
        return solver(f, start, 1e-10, function_tolerance, steps, p)
    return solver(f, start, p)


def product(y, p):
    """Stan's simple system, whose root is (p0 p1, p2)."""
    return [y[0] - p[0] * y[1] * p[1] / p[2], y[1] - p[2]]


def cubic(y, p):
    """y1 = p0^2, and y0 by y0^3 + y0 = p1 + y1."""
    return np.stack([y[0] ** 3 + y[0] - p[1] - y[1], y[1] - p[0] ** 2])


def closed_cubic(p):
    c = p[1] + p[0] ** 2
    s = np.sqrt(c * c / 4.0 + 1.0 / 27.0)
    return np.stack([np.cbrt(c / 2.0 + s) + np.cbrt(c / 2.0 - s), p[0] ** 2])


@pytest.mark.parametrize("name", NAMES)
def test_roots_and_derivatives(name):
    p = np.array([5.0, 4.0, 2.0])
    f = lambda p: solve(name, product, np.array([1.0, 1.0]), p)
    np.testing.assert_allclose(f(p), [20.0, 2.0], rtol=1e-9)
    np.testing.assert_allclose(contad.jacobian(f)(p), [[4.0, 5.0, 0.0], [0.0, 0.0, 1.0]], rtol=1e-8, atol=1e-9)
    q = np.array([0.8, 1.7])
    total, closed = (
        lambda p: np.sum(np.array([1.0, -0.4]) * solve(name, cubic, np.array([0.5, 0.5]), p) ** 2),
        lambda p: np.sum(np.array([1.0, -0.4]) * closed_cubic(p) ** 2),
    )
    np.testing.assert_allclose(contad.grad(total)(q), contad.grad(closed)(q), rtol=1e-6)
    np.testing.assert_allclose(contad.hessian(total)(q), contad.hessian(closed)(q), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_captured_variables(name):
    f = lambda p: solve(name, lambda y, unused: y * y - p, np.array([1.0]), 0.0)[0]
    assert contad.value_and_grad(f)(4.0) == (pytest.approx(2.0, abs=1e-6), pytest.approx(0.25, abs=1e-6))


@pytest.mark.parametrize("call", [lambda f: f(1.0), lambda f: contad.grad(lambda p: np.sum(f(p)))(1.0)])
@pytest.mark.parametrize("name", NAMES)
def test_bad_equations_are_refused(name, call):
    one = np.array([1.0])
    with pytest.raises((RuntimeError, SingularPointError), match=f"{name}: "):
        call(lambda p: solve(name, lambda y, p: y * y + p, one, p))
    with pytest.raises(ValueError, match=rf"{name}: f must give 1 numbers, as y_init has, got shape \(2,\)"):
        call(lambda p: solve(name, lambda y, p: np.stack([y[0], p]), one, p))
    with pytest.raises(ValueError, match=f"{name}: y_init must be finite, got"):
        call(lambda p: solve(name, lambda y, p: y - p, np.array([np.inf]), p))
    with pytest.raises(ValueError, match=f"{name}: y_init must be a vector with at least one number"):
        call(lambda p: solve(name, lambda y, p: y - p, np.zeros(0), p))
    with pytest.raises(ValueError, match=f"{name}: f must give finite numbers at y_init, got"):
        call(lambda p: solve(name, lambda y, p: y * np.nan * p, one, p))
    if name not in ("solve_powell", "solve_newton"):
        with pytest.raises(ValueError, match=f"{name}: function_tolerance must not be negative, got -1.0"):
            call(lambda p: solve(name, lambda y, p: y - p, one, p, -1.0))
        with pytest.raises(ValueError, match=f"{name}: max_num_steps must be positive, got 0"):
            call(lambda p: solve(name, lambda y, p: y - p, one, p, steps=0))
        with pytest.raises(RuntimeError, match=f"{name}: no root was found"):
            call(lambda p: solve(name, lambda y, p: y**3 - 1e6 * p, one, p, steps=2))
    assert contad.stack().top <= 1


def test_a_degenerate_root():
    """At the double root of (y - 1)^2 there is a value, and no derivative."""
    f = lambda p: stan.solve_newton(lambda y, p: (y - 1.0) ** 2 + 0.0 * p, np.array([1.0]), p)
    assert f(1.0) == 1.0
    with pytest.raises(SingularPointError, match="solve_newton: the Jacobian at the root is singular"):
        contad.grad(lambda p: f(p)[0])(1.0)
