"""Minima, least squares and large systems that differentiate: closed forms, differences, no dense Hessian, refusals."""

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.errors import SingularPointError
from contad.scipy.optimize import implicit, least_squares, minimize, root
from tests.judges.ways import differences

RNG = np.random.default_rng(4)
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=6)


def ridge(penalty):
    return np.linalg.solve(np.transpose(A) @ A + penalty * np.eye(3), np.transpose(A) @ B)


def ridge_by_minimize(penalty, method=None):
    return minimize(lambda x: np.sum((A @ x - B) ** 2) + penalty * np.sum(x * x), np.zeros(3), method=method).x


def ridge_by_least_squares(penalty):
    residuals = lambda x, p: np.concatenate([A @ x - B, np.sqrt(p) * x])
    return least_squares(residuals, np.zeros(3), (penalty,)).x


@pytest.mark.parametrize("f", [ridge_by_minimize, ridge_by_least_squares])
def test_ridge_regression_to_second_order(f):
    np.testing.assert_allclose(f(0.7), ridge(0.7), rtol=1e-5, atol=1e-7)
    weights = np.array([1.0, -0.3, 0.8])
    total, closed = (lambda p: np.sum(weights * f(p) ** 2)), (lambda p: np.sum(weights * ridge(p) ** 2))
    for engine in engine_names():
        assert contad.grad(total, engine=engine)(0.7) == pytest.approx(contad.grad(closed)(0.7), rel=1e-8)
    second = contad.grad(contad.grad(closed))(0.7)
    for twice in (contad.grad(contad.grad(total)), contad.derivative(contad.derivative(total)), contad.hessian(total)):
        assert twice(0.7) == pytest.approx(second, rel=1e-7)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Newton-CG", "trust-exact", "trust-krylov", "Nelder-Mead"])
def test_methods(method):
    found = contad.jacobian(lambda p: ridge_by_minimize(p, method))(0.7)
    np.testing.assert_allclose(found, contad.jacobian(ridge)(0.7), rtol=1e-5, atol=1e-7)


def test_trees_args_and_the_envelope():
    def loss(p, data):
        z = (data["y"] - p["mean"]) / np.exp(p["log_width"])
        return 0.5 * np.sum(z * z) + len(data["y"]) * p["log_width"] + 0.1 * p["mean"] ** 4

    fit = lambda y: minimize(loss, {"mean": 0.0, "log_width": 0.0}, ({"y": y},), method="Newton-CG")
    y = np.array([0.3, 1.2, -0.4, 0.9])
    for name in ("mean", "log_width"):
        found = contad.grad(lambda y: fit(y).x[name])(y)  # noqa: B023
        np.testing.assert_allclose(found, differences(lambda y: fit(y).x[name], y, 1e-4), atol=2e-6)  # noqa: B023
    at = fit(y)
    np.testing.assert_allclose(
        contad.grad(lambda y: fit(y).fun)(y), contad.grad(lambda y: loss(at.x, {"y": y}))(y), rtol=1e-6
    )


def test_bounds_hold_what_is_at_them():
    def f(p):
        return minimize(lambda x: np.sum((x - p) ** 2) + x[0] * x[1], np.ones(2), bounds=[(0.0, None), (None, 0.5)]).x

    def g(p):
        residuals = lambda x: np.concatenate([x - p, np.sqrt(2.0) * x[:1] * 0.0])
        return least_squares(residuals, np.array([0.1, 0.2]), bounds=([0.0, -1.0], [5.0, 0.5])).x

    np.testing.assert_allclose(contad.jacobian(f)(np.array([1.0, 3.0])), [[1.0, 0.0], [0.0, 0.0]], atol=1e-8)
    np.testing.assert_allclose(contad.jacobian(f)(np.array([-4.0, 0.3])), [[0.0, 0.0], [0.0, 1.0]], atol=1e-8)
    np.testing.assert_allclose(contad.jacobian(g)(np.array([1.0, 3.0])), [[1.0, 0.0], [0.0, 0.0]], atol=1e-8)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_losses(loss):
    t = np.linspace(0.0, 2.0, 9)
    y = 1.5 * np.exp(-0.8 * t) + 0.3 * RNG.normal(size=9)

    def f(y):
        model = lambda x, y: x[0] * np.exp(-x[1] * t) - y
        options = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-12}
        return least_squares(model, np.array([1.4, 0.7]), (y,), loss=loss, f_scale=0.3, **options)

    rate, cost = (lambda y: f(y).x[1]), (lambda y: f(y).cost)
    np.testing.assert_allclose(contad.grad(rate)(y), differences(rate, y, 1e-4), atol=1e-5)
    np.testing.assert_allclose(contad.grad(cost)(y), differences(cost, y, 1e-4), atol=1e-7)
    assert contad.value_and_grad(lambda y: f(y).cost)(y)[0] == pytest.approx(f(y).cost, rel=1e-9)  # SciPy's


# ---- large ones ------------------------------------------------------------------------------------------------------
def test_a_large_minimum_takes_products_and_no_hessian(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a matrix was formed")

    monkeypatch.setattr(implicit, "jacobian", refuse)
    n = 400
    weights = np.linspace(1.0, 4.0, n)
    calls = 0

    def objective(x, p):
        nonlocal calls
        calls += 1
        return np.sum(weights * (x - p[0] * np.sin(weights)) ** 2) + np.sum((x[1:] - x[:-1]) ** 2) + p[1] * np.sum(x**4)

    f = lambda p: np.sum(minimize(objective, np.zeros(n), (p,), method="L-BFGS-B", tol=1e-10).x ** 2)
    p = np.array([0.8, 0.3])
    gradient = contad.grad(f)(p)
    assert calls < 150  # the products for a Hessian would be 400
    step = 1e-4
    for k in range(2):
        e = step * np.eye(2)[k]
        assert gradient[k] == pytest.approx((f(p + e) - f(p - e)) / (2.0 * step), rel=1e-5)
    v = np.array([1.0, -0.5])
    hessian_times = contad.hvp(f)(p, v)
    expected = (contad.grad(f)(p + step * v) - contad.grad(f)(p - step * v)) / (2.0 * step)
    np.testing.assert_allclose(hessian_times, expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["newton", "krylov"])
def test_a_large_root_takes_products_and_no_jacobian(method):
    n = 400

    def equations(x, p):
        ahead, behind = np.concatenate([x[1:], np.zeros(1)]), np.concatenate([np.zeros(1), x[:-1]])
        return 2.5 * x - ahead - 0.7 * behind + p * x**3 - 1.0

    f = lambda p: np.sum(root(equations, np.ones(n), (p,), method, tol=1e-11).x ** 2)
    calls = contad.value_and_grad(f)(0.4)
    assert calls[1] == pytest.approx((f(0.4 + 1e-4) - f(0.4 - 1e-4)) / 2e-4, rel=1e-6)
    second = contad.grad(contad.grad(f))(0.4)
    assert second == pytest.approx((contad.grad(f)(0.4 + 1e-4) - contad.grad(f)(0.4 - 1e-4)) / 2e-4, rel=1e-5)
    assert contad.derivative(f)(0.4) == pytest.approx(calls[1], rel=1e-9)


def test_newton_of_few_unknowns():
    f = lambda p: root(lambda x: x**3 + x - p, np.array([1.0, 1.0]), method="newton").x
    np.testing.assert_allclose(f(np.array([2.0, 10.0])), [1.0, 2.0], rtol=1e-9)
    np.testing.assert_allclose(contad.jacobian(f)(np.array([2.0, 10.0])), np.diag([0.25, 1.0 / 13.0]), rtol=1e-9)
    lost = root(lambda x: x**2 + 1.0, np.array([0.3]), method="newton")
    assert not lost.success and "no step" in lost.message
    with pytest.raises(ValueError, match='options must have "ftol" and "maxiter" for method="newton", got'):
        root(lambda x: x, np.ones(1), method="newton", options={"eps": 1.0})


# ---- what is refused -------------------------------------------------------------------------------------------------
def test_singular_points_and_failures_are_errors():
    flat_valley = lambda x, p: (x[0] - p) ** 2 + 0.0 * x[1]
    with pytest.raises(SingularPointError, match="minimize: the Hessian at the minimum is singular"):
        contad.grad(lambda p: np.sum(minimize(flat_valley, np.zeros(2), (p,)).x))(1.0)
    with pytest.raises(SingularPointError, match="least_squares: the Hessian at the minimum is singular"):
        contad.grad(lambda p: np.sum(least_squares(lambda x: np.ones(3) * (x[0] + x[1] - p), np.zeros(2)).x))(1.0)
    n = 150
    direction = np.ones(n) / np.sqrt(n)

    def large_valley(x, p):
        across = x - np.dot(x, direction) * direction
        return np.sum((across - p * np.linspace(0.0, 1.0, n)) ** 2)

    with pytest.raises(SingularPointError, match="minimize: the Hessian at the minimum is singular, or nearly so"):
        contad.grad(lambda p: np.sum(np.arange(n) * minimize(large_valley, np.zeros(n), (p,)).x))(1.0)
    with pytest.raises(RuntimeError, match="minimize: no minimum was found, so there is no derivative"):
        contad.grad(lambda p: minimize(lambda x: (x - p) ** 4, 5.0, options={"maxiter": 1}).x)(1.0)
    with pytest.raises(TypeError, match="least_squares: contad supplies jac; leave it out"):
        least_squares(lambda x: x, np.zeros(1), jac="2-point")
    assert contad.stack().top <= 1


def test_on_floats_they_are_scipys_and_a_start_has_no_derivative():
    found = least_squares(lambda x: x - np.array([1.0, 2.0]), np.zeros(2))
    assert type(found.x) is np.ndarray and type(found.cost) in (float, np.float64)
    assert type(minimize(lambda x: (x - 1.0) ** 2, 0.0).x) is float
    zero = contad.jacobian(lambda p: minimize(lambda x: np.sum((x - 1.0) ** 2), p).x)(np.zeros(2))
    np.testing.assert_array_equal(zero, np.zeros((2, 2)))
