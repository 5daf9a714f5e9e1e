"""Minima with constraints, convex programmes and SciPy's older names: values, both orders, degenerate ones refused."""

import numpy as np
import pytest
import scipy.optimize

import contad
from contad.errors import SingularPointError, UnsupportedError
from contad.scipy import optimize
from tests.judges.array_derivatives import check_orders

RNG = np.random.default_rng(1)
CENTRE = np.array([1.4, 0.9, -0.3])
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=6)
NEAR = A @ np.array([1.0, 0.5, -0.3]) + 0.1 * B
P = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])


# ---- minimize --------------------------------------------------------------------------------------------------------
def on_a_ball(p, r, method="SLSQP"):
    """The point of a ball that is nearest to p: r p / |p|."""
    inside = {"type": "ineq", "fun": lambda x: r**2 - np.sum(x**2)}
    return optimize.minimize(lambda x: np.sum((x - p) ** 2), np.array([0.1, 0.2, 0.1]), method=method, tol=1e-12,
                             constraints=[inside]).x  # fmt: skip


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_the_nearest_point_of_a_ball(method):
    exact = lambda p, r: r * p / np.sqrt(np.sum(p * p))
    given = (CENTRE, 1.1)
    np.testing.assert_allclose(on_a_ball(*given, method), exact(*given), rtol=1e-4)
    for k in range(2):
        found = contad.jacobian(lambda p, r: on_a_ball(p, r, method), k)(*given)
        np.testing.assert_allclose(found, contad.jacobian(exact, k)(*given), rtol=1e-7, atol=1e-8)
    second = contad.hessian(lambda p: np.sum(on_a_ball(p, 1.1, method)[:2]))(CENTRE)
    np.testing.assert_allclose(second, contad.hessian(lambda p: np.sum(exact(p, 1.1)[:2]))(CENTRE), atol=1e-7)


def test_a_constraint_that_is_not_active_has_no_part():
    np.testing.assert_allclose(contad.jacobian(lambda p: on_a_ball(p, 3.0))(CENTRE), np.eye(3), atol=1e-7)


KINDS = {
    "dict": lambda c: {"type": "eq", "fun": lambda x: np.sum(x["a"]) - c * x["b"]},
    "with arguments": lambda c: {"type": "eq", "fun": lambda x, c: np.sum(x["a"]) - c * x["b"], "args": (c,)},
    "NonlinearConstraint": lambda c: scipy.optimize.NonlinearConstraint(lambda x: np.sum(x["a"]) - c * x["b"], 0, 0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_equalities_of_trees(kind):
    """By the projection on a plane, with a bound that is not active and one that is."""

    def nearest(p, c):
        constraints = [KINDS[kind](c), scipy.optimize.LinearConstraint(np.eye(4), -9.0, [9.0, 0.5, 9.0, 9.0])]
        found = optimize.minimize(
            lambda x: np.sum((x["a"] - p) ** 2) + (x["b"] - 0.5) ** 2, {"a": np.zeros(3), "b": 0.0}, method="SLSQP",
            constraints=constraints, tol=1e-12, bounds={"a": (-5.0, 5.0)},
        )  # fmt: skip
        return found.vector

    def exact(p, c):  # a_1 is 0.5
        normal = np.stack([1.0 + 0.0 * c, 1.0 + 0.0 * c, -c])
        point = np.stack([p[0], p[2], 0.5 + 0.0 * c])
        step = (normal @ point + 0.5) / (normal @ normal)
        x = point - step * normal
        return np.stack([x[0], 0.5 + 0.0 * c, x[1], x[2]])

    np.testing.assert_allclose(nearest(CENTRE, 1.3), exact(CENTRE, 1.3), rtol=1e-6)
    for k in range(2):
        found = contad.jacobian(nearest, k)(CENTRE, 1.3)
        np.testing.assert_allclose(found, contad.jacobian(exact, k)(CENTRE, 1.3), rtol=1e-7, atol=1e-8)


def test_an_active_constraint_without_a_multiplier_is_refused():
    with pytest.raises(SingularPointError, match="active, but does not hold the minimum back"):
        contad.grad(lambda p: on_a_ball(p, 1.0)[0])(np.array([1.0, 0.0, 0.0]))


@pytest.mark.filterwarnings("ignore:Singular Jacobian")
def test_dependent_constraints_are_refused():
    twice = [{"type": "eq", "fun": lambda x: x[0] - 1.0}, {"type": "eq", "fun": lambda x: 2.0 * x[0] - 2.0}]
    f = lambda p: optimize.minimize(lambda x: np.sum((x - p) ** 2), np.array([1.0, 2.0]), method="trust-constr",
                                    constraints=twice).x[1]  # fmt: skip
    with pytest.raises(SingularPointError, match="singular"):
        contad.grad(f)(np.array([1.0, 2.0]))


# ---- programmes ------------------------------------------------------------------------------------------------------
def qp(p, q, g, h, a, b):
    return optimize.solve_qp(p + p.T, q, g, h, a, b, lb=-np.ones(3))


PROGRAMMES = {
    "solve_qp": (
        qp, P, np.array([-4.0, 2.9, 0.7]), np.array([[1.0, 0.2, 0.0], [0.5, 1.0, 1.0]]), np.array([0.5, 2.5]),
        np.array([[0.3, 1.0, -0.5]]), np.array([-0.4]),
    ),
    "solve_qp, free": (lambda p, q: optimize.solve_qp(p + p.T, q), P, CENTRE),
    "linprog": (
        lambda c, a, b, e, f: np.append(*map(np.atleast_1d, ((r := optimize.linprog(c, a, b, e, f)).x, r.fun))),
        np.array([-3.0, -5.0, 1.0]), np.array([[1.0, 0.1, 0.3], [0.2, 2.0, 0.1], [3.0, 2.0, 0.4]]),
        np.array([4.0, 12.0, 18.0]), np.array([[1.0, 1.0, 1.0]]), np.array([8.5]),
    ),
    "lsq_linear": (lambda a, b: optimize.lsq_linear(a, b, (-0.2, 0.7), method="bvls").x, A, NEAR),
    "nnls": (lambda a, b: optimize.nnls(a, b)[0], A, NEAR),
    "nnls, rest": (lambda a, b: optimize.nnls(a, b)[1], A, NEAR),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMMES)
def test_programmes(name):
    call, *args = PROGRAMMES[name]
    if name == "linprog":  # whose solution is a vertex, and its value linear in c
        for k in range(1, 5):
            of_one = lambda x, k=k: call(*args[:k], x, *args[k + 1 :])
            check_orders(of_one, [args[k]])
        slope = contad.jacobian(call)(*args)
        np.testing.assert_allclose(slope[:3], 0.0, atol=1e-12)
        np.testing.assert_allclose(slope[3], call(*args)[:3], rtol=1e-12)
    else:
        check_orders(call, args)


def test_solutions_satisfy_their_conditions():
    call, *args = PROGRAMMES["solve_qp"]
    z = call(*args)
    reference = scipy.optimize.minimize(
        lambda z: z @ args[0] @ z + args[1] @ z, np.zeros(3), method="trust-constr", tol=1e-12,
        constraints=[scipy.optimize.LinearConstraint(args[2], -np.inf, args[3]),
                     scipy.optimize.LinearConstraint(args[4], args[5], args[5])], bounds=[(-1.0, None)] * 3,
    )  # fmt: skip
    np.testing.assert_allclose(z, reference.x, atol=1e-5)
    assert np.sum(np.isclose(args[2] @ z, args[3])) == 1  # an active and an inactive inequality


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: optimize.linprog(np.ones(2), [[1.0, 1.0]], x, bounds=[(0, 3)] * 2).x[0] * 0.0
     + optimize.linprog(-np.ones(2), [[1.0, 1.0]], x, bounds=[(0, 3)] * 2).x[0], SingularPointError, "not unique"),
    (lambda x: optimize.linprog(x, bounds=[(None, None)]).fun, RuntimeError, "no solution"),
    (lambda x: optimize.linprog(np.ones(1), bounds=[(x[0], 3.0)]).fun, UnsupportedError, "bounds that carry"),
    (lambda x: optimize.solve_qp(np.eye(1), 0.0 * x - 1.0, np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]))[0],
     RuntimeError, "no solution"),
    (lambda x: optimize.solve_qp(np.eye(1), -x, lb=None, ub=np.ones(1))[0], SingularPointError, "multiplier is zero"),
    (lambda x: optimize.nnls(np.eye(2), np.append(x, 0.0))[0][0], SingularPointError, "multiplier is zero"),
])  # fmt: skip
def test_fails(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(call)(np.ones(1))


# ---- older names -----------------------------------------------------------------------------------------------------
def test_fsolve_and_leastsq():
    f = lambda p: optimize.fsolve(lambda x, p: x**3 + x - p, np.ones(2), (p,))
    np.testing.assert_allclose(f(np.array([2.0, 10.0])), [1.0, 2.0], rtol=1e-8)
    check_orders(f, [np.array([2.0, 10.0])])
    g = lambda y: optimize.leastsq(lambda x, y: x[0] * np.exp(-x[1] * np.arange(4.0)) - y, np.array([1.0, 1.0]), y)[0]
    y = 2.0 * np.exp(-0.3 * np.arange(4.0)) + 0.01 * B[:4]
    reference = scipy.optimize.leastsq(lambda x: x[0] * np.exp(-x[1] * np.arange(4.0)) - y, np.array([1.0, 1.0]))[0]
    np.testing.assert_allclose(contad.jvp(g, (y,), (y,))[0], reference, rtol=1e-7)
    polished = lambda y: contad.jvp(g, (y,), (0.0 * y,))[0]
    h = 1e-4
    found = contad.jvp(g, (y,), (B[:4],))[1]
    np.testing.assert_allclose(found, (polished(y + h * B[:4]) - polished(y - h * B[:4])) / (2.0 * h), rtol=1e-6)


@pytest.mark.parametrize("name", ["bisect", "ridder", "brenth", "toms748"])
def test_brackets(name):
    f = lambda p: getattr(optimize, name)(lambda x, p: x**3 + x - p, 0.0, 5.0, (p,))
    value, slope = contad.value_and_grad(f)(10.0)
    assert (value, slope) == (pytest.approx(2.0, rel=1e-11), pytest.approx(1.0 / 13.0, rel=1e-11))
    assert contad.derivative(contad.derivative(f))(10.0) == pytest.approx(-12.0 / 13.0**3, rel=1e-9)
    assert getattr(optimize, name)(lambda x: x - 1.0, 0.0, 5.0, full_output=True)[1].converged


@pytest.mark.parametrize("options", [{}, {"method": "golden"}, {"bounds": (0.0, 3.0)}])
def test_minimize_scalar(options):
    f = lambda p: optimize.minimize_scalar(lambda x: (x - p) ** 2 + 0.1 * x**4, **options).x
    value, slope = contad.value_and_grad(f)(1.2)
    assert (value, slope) == (pytest.approx(1.0, rel=1e-9), pytest.approx(0.625, rel=1e-9))
    assert contad.derivative(contad.derivative(f))(1.2) == pytest.approx(-1.2 * 2.0 * 0.625**2 / 3.2, rel=1e-7)


def test_minimize_scalar_at_a_bound():
    f = lambda p: optimize.minimize_scalar(lambda x: (x - p) ** 2, bounds=(0.0, 1.0)).x
    assert contad.grad(lambda p: f(p) + 0.0 * p)(2.0) == 0.0
    assert contad.grad(lambda p: optimize.minimize_scalar(lambda x: (x - p) ** 2, bounds=(0.0, 1.0)).fun)(2.0) == (
        pytest.approx(2.0, rel=1e-4)
    )


@pytest.mark.parametrize("call", [
    lambda: optimize.fsolve(np.cos, 1.0, fprime=np.sin), lambda: optimize.leastsq(np.cos, 1.0, full_output=True),
])  # fmt: skip
def test_derivatives_are_supplied(call):
    with pytest.raises(TypeError, match="contad supplies derivatives"):
        call()
