"""Transforms inside transforms: perturbation confusion, second order in every mode, zeros with live derivatives."""

import math

import numpy as np
import pytest

import contad
from contad import derivative, grad, jvp, vjp
from contad.engines import engine_names

MODES = {"forward": derivative, **{name: lambda f, e=name: grad(f, engine=e) for name in engine_names()}}
PAIRS = [(a, b) for a in MODES for b in MODES]


@pytest.fixture(params=PAIRS, ids="-".join)
def modes(request):
    """Every mode over every mode, the outer one first."""
    return [MODES[name] for name in request.param]


def test_perturbation_confusion(modes):
    d, e = modes
    assert d(lambda x: x * e(lambda y: x + y)(1.0))(1.0) == 1.0  # 2 where the two perturbations are confused
    assert d(lambda x: x * e(lambda y: x * y)(2.0))(3.0) == 6.0
    assert d(lambda x: e(lambda y: x * y * y)(x))(3.0) == 12.0
    assert d(lambda x: x * e(lambda y: 2.0 * x)(1.0))(3.0) == 0.0
    assert d(lambda x: x * e(lambda y: y * d(lambda z: x * y * z)(1.0))(2.0))(3.0) == 24.0
    assert d(lambda x: e(lambda y: d(lambda z: x * z)(y) * y)(5.0))(3.0) == 1.0  # a level skipped
    assert d(lambda x: e(lambda y: x)(5.0) + x)(3.0) == 1.0


def test_second_order(modes):
    d, e = modes

    def f(x):
        return contad.ops.exp(-x * x) * x**3 / (1.0 + abs(x)) + contad.gammaln(x) * contad.ops.arctan2(x, 2.0)

    x, h = 1.3, 1e-4
    expected = (f(x + h) - 2.0 * f(x) + f(x - h)) / h**2
    assert d(e(f))(x) == pytest.approx(expected, rel=1e-6)


def test_the_second_derivative_at_a_zero_first_derivative(modes):
    """An adjoint or tangent that is zero still carries its own derivative."""
    d, e = modes
    assert d(e(lambda x: (x - 1.0) ** 2))(1.0) == 2.0
    assert d(e(lambda x: (x - 1.0) * (x - 1.0)))(1.0) == 2.0

    def residuals(x):
        r = [2.0 * x - 6.0, 3.0 * x - 9.0]
        return r[0] * r[0] + r[1] ** 2

    assert d(e(residuals))(3.0) == 2.0 * (4.0 + 9.0)


def test_mixed_partials(modes):
    d, e = modes

    def f(x, y):
        return contad.ops.sin(x * y) * y

    expected = 2.0 * 0.7 * math.cos(0.3 * 0.7) - 0.3 * 0.7**2 * math.sin(0.3 * 0.7)
    assert d(lambda y: e(lambda x: f(x, y))(0.3))(0.7) == pytest.approx(expected, rel=1e-14)


def test_unused_branches_make_no_nan(modes):
    d, e = modes

    def f(x):
        unused = contad.ops.log(x - 2.0) * contad.ops.sqrt(x - 2.0)  # nonfinite partials at 2
        return contad.select(x > 2.0, unused, x * x * x) + 0.0 * contad.ops.exp(x)

    assert d(f)(2.0) == 12.0
    assert d(e(f))(2.0) == 12.0


@pytest.mark.parametrize("mode", MODES)
def test_third_order(mode):
    d = MODES[mode]
    assert d(d(d(lambda x: x * x * x * x)))(2.0) == 48.0
    assert d(d(d(contad.ops.sin)))(0.4) == pytest.approx(-math.cos(0.4), rel=1e-14)


def test_vjp_and_jvp_of_gradients():
    def f(x):
        return x[0] ** 2 * x[1] + contad.ops.exp(x[1])

    x, v = [1.5, 0.5], [1.0, -2.0]
    expected = [2 * 0.5 * 1.0 + 2 * 1.5 * -2.0, 2 * 1.5 * 1.0 + math.exp(0.5) * -2.0]
    assert jvp(grad(f), (x,), (v,))[1] == pytest.approx(expected)
    assert vjp(grad(f), x)[1](v)[0] == pytest.approx(expected)
    assert grad(lambda x: sum(a * b for a, b in zip(grad(f)(x), v, strict=True)))(x) == pytest.approx(expected)


def test_a_pullback_inside_an_outer_gradient():
    def outer(x):
        _, pullback = vjp(lambda y: (y * y * x, y * x), 3.0)
        return pullback((x, 1.0))[0]  # 6 x^2 + x

    for engine in engine_names():
        assert grad(outer, engine=engine)(2.0) == 25.0
    assert derivative(outer)(2.0) == 25.0


def test_descent_inside_descent():
    """d/dx of min over y of a quadratic, by unrolled gradient descent with an inner gradient."""

    def inner_minimum(x):
        y = 0.0 * x
        for _ in range(60):
            y = y - 0.2 * grad(lambda y: (y - x) ** 2 + 0.5 * y * y)(y)
        return (y - x) ** 2 + 0.5 * y * y  # x^2 / 3

    for d in MODES.values():
        assert d(inner_minimum)(1.2) == pytest.approx(2.0 * 1.2 / 3.0, rel=1e-10)


def test_descent_inside_ascent(modes):
    """argmin inside argmax, by gradient descent inside gradient ascent: a saddle at (3/2, 1)."""
    d, e = modes

    def payoff(x, y):
        return (y - x) ** 2 + 0.5 * y * y - (x - 1.0) ** 2

    def best_reply(x):
        y = 0.0
        for _ in range(15):
            y = y - 0.3 * e(lambda y: payoff(x, y))(y)
        return y

    x = 0.4
    for _ in range(20):
        x = x + 0.6 * d(lambda x: payoff(x, best_reply(x)))(x)
    assert x == pytest.approx(1.5, abs=1e-8)
    assert best_reply(x) == pytest.approx(1.0, abs=1e-8)


def test_a_derivative_inside_a_rule(modes):
    """Newton's root of a function, whose rule differentiates that function."""
    d, e = modes

    def residual(z, a):
        return z**3 + a * z - 2.0 * a

    def root(a):
        def solved(a):
            z = 1.0
            for _ in range(30):
                z -= residual(z, a) / (3.0 * z * z + a)
            return z

        def gradient(z, seed, a):
            return -seed * e(lambda a: residual(z, a))(a) / e(lambda z: residual(z, a))(z)

        return contad.function_gradients((a,), solved, (gradient,))

    z = root(1.3)
    slope = (2.0 - z) / (3.0 * z * z + 1.3)
    assert d(root)(1.3) == pytest.approx(slope, rel=1e-14)
    h = 1e-4
    second = (root(1.3 + h) - 2.0 * z + root(1.3 - h)) / h**2
    assert d(d(root))(1.3) == pytest.approx(second, rel=1e-5)
    assert d(lambda a: a * e(lambda b: root(a * b))(1.0))(1.3) == pytest.approx(
        2.0 * 1.3 * slope + 1.3**2 * second, rel=1e-5
    )


# ---- arrays ----------------------------------------------------------------------------------------------------------
X, V = np.array([0.7, -1.2, 0.4]), np.array([1.0, -2.0, 0.5])


def along(f, engine):
    """The derivative of f, which returns one number, along V."""
    if engine == "forward":
        return lambda x: jvp(f, (x,), (V,))[1]
    return lambda x: np.sum(grad(f, engine=engine)(x) * V)


@pytest.fixture(params=PAIRS, ids="-".join)
def array_modes(request):
    """Derivatives along V by every mode over every mode."""
    return [lambda f, e=name: along(f, e) for name in request.param]


def test_perturbation_confusion_of_arrays(array_modes):
    d, e = array_modes
    one = np.ones(3)
    assert d(lambda x: np.sum(x) * e(lambda y: np.sum(x + y))(one))(X) == pytest.approx(np.sum(V) ** 2)
    expected = (X @ V) * np.sum(V) + (V @ V) * np.sum(X)
    assert d(lambda x: np.sum(x * e(lambda y: np.sum(x * y))(one)))(X) == pytest.approx(expected)
    assert d(lambda x: e(lambda y: np.sum(x))(one) * x[0] + x[1])(X) == V[1]
    assert d(lambda x: e(lambda y: d(lambda z: np.sum(x * z))(y) * y[0])(X))(X) == pytest.approx(V[0] * (V @ V))


def test_second_order_of_arrays(array_modes):
    d, e = array_modes
    a = np.array([[1.0, 2.0, 0.3], [0.5, -1.0, 1.7]])

    def f(x):
        y = contad.zeros(3)
        y[:2] = np.tanh(a @ x)
        y[2] = x[0]
        return np.sum(y**3) * x[1] + np.sum(np.cumsum(x) ** 3)

    hessian = contad.jacfwd(grad(f))(X)
    assert d(e(f))(X) == pytest.approx(V @ hessian @ V, rel=1e-12)
    b = a @ X
    with np.errstate(invalid="ignore"):  # NumPy warns of what was computed, and masked, inside its loop over objects
        residuals = d(e(lambda x: np.sum((a @ x - b) ** 2)))(X)
    assert residuals == pytest.approx(2.0 * V @ a.T @ a @ V, rel=1e-12)
