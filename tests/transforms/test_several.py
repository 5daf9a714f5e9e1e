"""Several tangents at once, and elementwise derivatives."""

import numpy as np
import pytest

import contad

X = np.array([0.7, -1.2, 0.4, 1.9])
RNG = np.random.default_rng(8)


def everything(x, s):
    """Assignment, views, reads, rules with and without a jvp of their own, movement, scalars among arrays."""
    y = np.zeros_like(x)
    y[0] = x[1] * s
    y[1:] = np.sin(x[:-1]) * s
    z = contad.array([y[0], s, x[2] * 2.0])
    return (
        np.sum(y * x) + z[1] * y[2],
        y @ x,
        np.cumsum(y),
        z,
        np.outer(x, x) @ y,
        np.sort(x)[::-1],
        np.exp(s) * x[0],
        1.5,
    )


def test_several_tangents_are_those_of_one_at_a_time():
    v, t = RNG.normal(size=(5, 4)), RNG.normal(size=5)
    value, several = contad.jvp(everything, (X, 1.3), (v, t), several=True)
    for j in range(5):
        plain, one = contad.jvp(everything, (X, 1.3), (v[j], float(t[j])))
        for a, b, c, d in zip(several, one, value, plain, strict=True):
            np.testing.assert_allclose(a[j], b, rtol=1e-14)
            np.testing.assert_array_equal(c, d)


def test_the_value_is_computed_once():
    calls = []

    def f(x):
        calls.append(1)
        return np.tanh(x)

    contad.jvp(f, (X,), (np.eye(4),), several=True)
    assert len(calls) == 1


def test_a_number_as_the_tangent_of_an_array_without_axes():
    assert contad.jvp(lambda x: x * x, (np.array(3.0),), (2.0,))[1] == 12.0


def test_a_hessian_by_blocks_of_tangents():
    def f(x):
        return np.sum(np.exp(0.3 * x) * x[0]) + x[1] * x[2]

    _, hessian = contad.jvp(contad.grad(f), (X,), (np.eye(4),), several=True)
    h = 1e-5
    differences = [(contad.grad(f)(X + h * e) - contad.grad(f)(X - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(hessian, differences, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("primals", "tangents", "message"), [
    ((1.0,), (1.0,), "with several=True every tangent must be an array with a leading axis"),
    ((X,), (np.eye(3),), r"its primal's shape, \(3, 4\)"),
    ((X, 1.0), (np.eye(4), np.ones(3)), r"its primal's shape, \(4,\)"),
])  # fmt: skip
def test_tangents_of_a_wrong_shape_are_named(primals, tangents, message):
    with pytest.raises(TypeError, match=message):
        contad.jvp(lambda *x: x[0], primals, tangents, several=True)


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
def test_elementwise_derivatives(engine):
    slope = contad.elementwise_grad(lambda x, y: np.tanh(x) * y, engine=engine)
    np.testing.assert_allclose(slope(X, 3.0), 3.0 / np.cosh(X) ** 2, rtol=1e-14)
    assert slope(0.5, 3.0) == pytest.approx(3.0 / np.cosh(0.5) ** 2, rel=1e-14)


def test_elementwise_derivatives_of_higher_order():
    third = contad.elementwise_grad(contad.elementwise_grad(contad.elementwise_grad(lambda x: x**4)))
    np.testing.assert_allclose(third(X), 24.0 * X, rtol=1e-13)
