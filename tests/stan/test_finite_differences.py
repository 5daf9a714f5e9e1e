"""Stan's derivatives by differences, beside those of contad."""

import functools

import numpy as np
import pytest

import contad
from contad import stan


def f(x):
    return np.exp(0.3 * x[0]) * x[1] ** 3 + np.sin(x[2]) * x[0]


AT = np.array([0.7, -1.3, 210.4])


@functools.cache
def exact():
    """The value and its derivatives to the third order."""
    return float(f(AT)), contad.grad(f)(AT), contad.hessian(f)(AT), contad.jacobian(contad.hessian(f))(AT)


@pytest.mark.parametrize("name", ["finite_diff_gradient", "finite_diff_gradient_auto"])
def test_gradients(name):
    value, gradient = getattr(stan, name)(f, AT)
    assert value == exact()[0]
    np.testing.assert_allclose(gradient, exact()[1], rtol=1e-8)


@pytest.mark.parametrize(("name", "error"), [("finite_diff_hessian", 2e-6), ("finite_diff_hessian_auto", 1e-8)])
def test_hessians(name, error):
    value, gradient, second = getattr(stan, name)(f, AT)
    assert value == exact()[0]
    np.testing.assert_allclose(gradient, exact()[1], rtol=1e-8)
    np.testing.assert_allclose(second, exact()[2], rtol=error, atol=error)
    np.testing.assert_array_equal(second, second.T)


@pytest.mark.parametrize("name", ["finite_diff_grad_hessian", "finite_diff_grad_hessian_auto"])
def test_gradients_of_hessians(name):
    value, second, third = getattr(stan, name)(f, AT)
    assert value == exact()[0]
    np.testing.assert_allclose(second, exact()[2], rtol=1e-14)
    np.testing.assert_allclose(third, np.moveaxis(exact()[3], -1, 0), rtol=1e-7, atol=1e-9)


def test_steps():
    """A step that is given is the one taken: the error is of its sixth power."""
    errors = [abs(stan.finite_diff_gradient(lambda x: np.exp(x[0]), [0.0], h)[1][0] - 1.0) for h in (0.4, 0.2)]
    assert errors[0] / errors[1] == pytest.approx(64.0, rel=0.1)
    with pytest.raises(ValueError, match=r"finite_diff_gradient: x must be a vector, got shape \(2, 2\)"):
        stan.finite_diff_gradient(np.sum, np.eye(2))
