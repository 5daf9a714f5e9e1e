"""Roots and fixed points: SciPy's on floats, and their derivatives to third order against differences."""

import numpy as np
import pytest
import scipy.optimize

import contad
from contad.engines import engine_names
from contad.errors import SingularPointError, UnsupportedError
from contad.scipy.optimize import fixed_point, least_squares, minimize, root, root_scalar
from contad.scipy.optimize.implicit import differentiate_root
from tests.judges.ways import differences

A = np.array([[2.0, 0.3], [0.1, 1.5]])
WEIGHTS = np.array([1.0, 2.0])
V = np.array([0.7, 1.2, -0.4])


def equations(x, p):
    return A @ x + 0.3 * np.sin(x) * p["a"] - p["b"]


def of_arguments(v):
    return np.sum(WEIGHTS * root(equations, np.zeros(2), ({"a": v[0], "b": v[1:]},)).x ** 2)


def of_captured(v):
    return np.sum(WEIGHTS * root(lambda x: equations(x, {"a": v[0], "b": v[1:]}), np.zeros(2)).x ** 2)


@pytest.mark.parametrize("f", [of_arguments, of_captured])
def test_derivatives_of_a_system_to_third_order(f):
    gradient = differences(lambda v: float(of_arguments(v)), V, 1e-5)
    hessian = differences(contad.grad(of_arguments), V, 1e-5)
    third = differences(contad.hessian(of_arguments), V, 1e-5)
    for engine in engine_names():
        np.testing.assert_allclose(contad.grad(f, engine=engine)(V), gradient, rtol=1e-7)
        np.testing.assert_allclose(contad.hessian(f, engine=engine)(V), hessian, rtol=1e-6)
    np.testing.assert_allclose(contad.jacfwd(f)(V), gradient, rtol=1e-7)
    for twice in (contad.jacfwd(contad.jacfwd(f)), contad.jacrev(contad.jacfwd(f)), contad.jacobian(contad.grad(f))):
        np.testing.assert_allclose(twice(V), hessian, rtol=1e-6)
    np.testing.assert_allclose(np.moveaxis(contad.jacfwd(contad.hessian(f))(V), -1, 0), third, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(("method", "options"), [
    (None, {"bracket": (0.0, 5.0)}), ("bisect", {"bracket": (0.0, 5.0), "xtol": 1e-13}),
    ("secant", {"x0": 1.0, "x1": 2.0}), ("newton", {"x0": 1.0}), ("halley", {"x0": 1.0}),
])  # fmt: skip
def test_derivatives_of_a_number(method, options):
    cubic = lambda x, p: x**3 + x * p - 2.0 * p
    f = lambda p: root_scalar(cubic, (p,), method, **options).root
    x = f(1.5)
    assert x == pytest.approx(scipy.optimize.brentq(cubic, 0.0, 5.0, (1.5,), xtol=1e-14), rel=1e-12)
    slope = -(x - 2.0) / (3.0 * x * x + 1.5)  # by the implicit function theorem
    assert contad.grad(f)(1.5) == pytest.approx(slope, rel=1e-10)
    twice = -(slope + slope + 6.0 * x * slope**2) / (3.0 * x * x + 1.5)
    for second in (contad.grad(contad.grad(f)), contad.derivative(contad.derivative(f)), contad.hessian(f)):
        assert second(1.5) == pytest.approx(twice, rel=1e-9)


def test_fixed_points():
    f = lambda p: fixed_point(lambda x: np.cos(p * x), 0.5, xtol=1e-12)
    x = f(1.1)
    assert contad.grad(f)(1.1) == pytest.approx(-x * np.sin(1.1 * x) / (1.0 + 1.1 * np.sin(1.1 * x)), rel=1e-9)
    jacobian = contad.jacobian(lambda p: fixed_point(lambda x, p: 0.5 * np.cos(p * x), np.full(2, 0.5), (p,)))
    p = np.array([1.1, 0.4])
    x = fixed_point(lambda x, p: 0.5 * np.cos(p * x), np.full(2, 0.5), (p,), 1e-12)
    np.testing.assert_allclose(jacobian(p), np.diag(-x * np.sin(p * x) / (2.0 + p * np.sin(p * x))), rtol=1e-6)


def test_on_floats_they_are_scipys():
    found, expected = root(equations, np.zeros(2), ({"a": 0.3, "b": WEIGHTS},)), scipy.optimize.root(
        equations, np.zeros(2), ({"a": 0.3, "b": WEIGHTS},)
    )  # fmt: skip
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-9)
    assert type(found.x) is np.ndarray and found.success
    assert type(root_scalar(np.cos, bracket=(0.0, 3.0)).root) is float


def test_an_equation_without_a_smooth_root_is_refused_where_a_derivative_is_wanted():
    with pytest.raises(SingularPointError, match=r"root_scalar: the derivative of the function at the root 0 is 0"):
        contad.grad(lambda p: root_scalar(lambda x: x**3 - 0.0 * p, bracket=(-1.0, 1.0)).root)(1.0)
    with pytest.raises(SingularPointError, match=r"root: the Jacobian at the root is singular"):
        contad.grad(lambda p: np.sum(root(lambda x: np.array([x[0] - p, x[0] - p]), np.ones(2), method="lm").x))(1.0)
    with pytest.raises(RuntimeError, match="root: no root was found"):
        contad.grad(lambda p: np.sum(root(lambda x: np.array([x[0] ** 2 + p, x[1]]), np.ones(2)).x))(1.0)
    assert contad.stack().top <= 1


@pytest.mark.parametrize("of", [
    lambda p: root_scalar(lambda x, p: (x - p) ** 2, x0=1.3, args=(p,), method="newton").root,
    lambda p: root_scalar(lambda x, p: x**2 - p + 1.0, x0=1.3, args=(p,), method="newton").root,
    lambda p: root(lambda x, p: (x - p) ** 2, np.array([1.3]), args=(p,)).x[0],
    lambda p: fixed_point(lambda x, p: x - (x - p) ** 2, 1.2, args=(p,)),
    lambda p: minimize(lambda x, p: (x[0] - p) ** 4, np.array([1.2]), args=(p,)).x[0],
])  # fmt: skip
def test_solutions_that_meet_are_no_smooth_function(of):
    with pytest.raises(SingularPointError, match="several solutions meet"):
        contad.grad(of)(1.0)


def test_solutions_that_meet_in_a_system_are_found_beside_the_root():
    fun = lambda x, p: np.array([(x[0] - p) ** 2, x[1] - p])
    with pytest.raises(SingularPointError, match="several solutions meet at the one that was found"):
        contad.grad(lambda p: differentiate_root("root", fun, np.array([1.0 + 1e-7, 1.0]), (p,), True, "")[1])(1.0)


def test_a_function_that_gives_another_number_of_values_is_named():
    of = lambda p: root(lambda x: np.concatenate([x * x - p, x]), [1.0]).x[0]
    for find in (of, contad.grad(of)):
        with pytest.raises(ValueError, match="root: fun must return 1 numbers, as many as x0 has, got 2"):
            find(1.0)
    with pytest.raises(ValueError, match="root: fun must return as many numbers as there are unknowns, 2, got 3"):
        contad.grad(lambda p: root(lambda x: np.array([x[0] - p, x[0] - x[1], 0.0]), [1.0, 2.0], method="lm").x[0])(1.0)


def test_a_jump_is_no_root():
    of = lambda p: root_scalar(lambda x: np.where(x > p, 1.0, -1.0) + x * p * 0.1, bracket=(0.0, 2.3)).root
    with pytest.raises(SingularPointError, match="root_scalar: at 1 the function is .* and jumps"):
        contad.grad(of)(1.0)


@pytest.mark.parametrize("solve", [
    lambda p: minimize(lambda x: np.sum((x - 5.0) ** 2), np.zeros(2), bounds=[(0.0, p), (0.0, 3.0)]).x[0],
    lambda p: minimize(lambda x: np.sum(x * x), np.ones(1), bounds=scipy.optimize.Bounds(np.array([p]), [2.0])).x[0],
    lambda p: least_squares(lambda x: x - 5.0, [0.5], bounds=(0.0, p)).x[0],
])  # fmt: skip
def test_bounds_that_carry_derivatives_are_refused(solve):
    with pytest.raises(UnsupportedError, match="bounds that carry a derivative are not supported"):
        contad.grad(solve)(2.0)


def test_a_simple_root_of_any_size_is_none_of_several():
    for p in (1e-12, 2.0, 1e12):
        found = contad.grad(lambda p: root_scalar(lambda x, p: x**2 - p, x0=2.0 * p**0.5, args=(p,)).root)(p)
        assert found == pytest.approx(0.5 / p**0.5, rel=1e-8)
    nearly_dependent = lambda x, p: np.array([1e4 * x[0] + x[1] - p, 1e4 * x[0] + 1.0001 * x[1] - p**2])
    found = contad.grad(lambda p: root(nearly_dependent, np.ones(2), args=(p,)).x[1])(1.5)
    assert found == pytest.approx(2e4, rel=1e-6)


def test_a_start_has_no_derivative():
    assert contad.grad(lambda p: root_scalar(lambda x: x**3 - 8.0, x0=p, method="newton").root)(1.0) == 0.0
    found = contad.jacobian(lambda p: root(lambda x: x**3 - 8.0, p).x)(np.ones(2))
    np.testing.assert_array_equal(found, np.zeros((2, 2)))
