"""Transforms inside transforms: perturbation confusion, second order in every mode, zeros with live derivatives."""

import math

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
        return contad.exp(-x * x) * x**3 / (1.0 + abs(x)) + contad.gammaln(x) * contad.arctan2(x, 2.0)

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
        return contad.sin(x * y) * y

    expected = 2.0 * 0.7 * math.cos(0.3 * 0.7) - 0.3 * 0.7**2 * math.sin(0.3 * 0.7)
    assert d(lambda y: e(lambda x: f(x, y))(0.3))(0.7) == pytest.approx(expected, rel=1e-14)


def test_unused_branches_make_no_nan(modes):
    d, e = modes

    def f(x):
        unused = contad.log(x - 2.0) * contad.sqrt(x - 2.0)  # nonfinite partials at 2
        return contad.select(x > 2.0, unused, x * x * x) + 0.0 * contad.exp(x)

    assert d(f)(2.0) == 12.0
    assert d(e(f))(2.0) == 12.0


@pytest.mark.parametrize("mode", MODES)
def test_third_order(mode):
    d = MODES[mode]
    assert d(d(d(lambda x: x * x * x * x)))(2.0) == 48.0
    assert d(d(d(contad.sin)))(0.4) == pytest.approx(-math.cos(0.4), rel=1e-14)


def test_vjp_and_jvp_of_gradients():
    def f(x):
        return x[0] ** 2 * x[1] + contad.exp(x[1])

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
