"""Finite differences agree with known derivatives, and their error estimate says how well."""

import math

import numpy as np
import pytest

from contad.testing.differences import derivative_by_differences, gradient_by_differences


@pytest.mark.parametrize(("f", "x", "derivative", "accuracy"), [
    (math.exp, 0.7, math.exp(0.7), 1e-11),
    (math.log, 0.4, 2.5, 1e-11),
    (math.log, 1e-8, 1e8, 1e-9),  # most steps leave the domain
    (lambda x: math.exp(300.0 * x), 0.5, 300.0 * math.exp(150.0), 1e-11),
    (lambda x: math.sin(50.0 * x), 1.0, 50.0 * math.cos(50.0), 1e-11),
    (lambda x: 1e-20 * x, 1.0, 1e-20, 1e-11),
    (lambda x: x * 1e5, 1e10, 1e5, 1e-11),
    (lambda x: 1e5 - 1.0 / x, 1e-7, 1e14, 1e-6),  # wide steps reach over the pole
    (abs, 1e-6, 1.0, 1e-11),  # and over a kink
    (lambda x: x % -1.7, 7.3, 1.0, 1e-11),  # and over a jump
    (math.floor, -1.7, 0.0, 0.0),
    (lambda x: 1.0, 0.3, 0.0, 0.0),
])  # fmt: skip
def test_derivative(f, x, derivative, accuracy):
    value, error = derivative_by_differences(f, x)
    assert type(value) is float and abs(value - derivative) <= accuracy * abs(derivative)
    assert abs(value - derivative) <= error


@pytest.mark.parametrize(("f", "x"), [(math.sqrt, 0.0), (lambda x: math.nan, 1.0), (lambda x: math.log(-1.0), 1.0)])
def test_nothing_converges(f, x):
    value, error = derivative_by_differences(f, x)
    assert math.isnan(value) and error == math.inf


def test_error_estimate_knows_a_kink_beside_the_point():
    assert derivative_by_differences(lambda x: abs(x) * math.sin(1.0 / x) if x else 0.0, 0.0).error > 1e-3


def test_array_result():
    value, error = derivative_by_differences(lambda x: np.array([[x * x, math.exp(9.0 * x)]]), 1.0)
    assert value.shape == error.shape == (1, 2)
    np.testing.assert_allclose(value, [[2.0, 9.0 * math.exp(9.0)]], rtol=1e-11)
    assert (error < 1e-8 * value).all()


def test_gradient():
    value, error = gradient_by_differences(lambda x: [x[0] * x[1], x[0] / x[1]], (3, 2.0))
    np.testing.assert_allclose(value, [[2.0, 3.0], [0.5, -0.75]], rtol=1e-11)
    assert error.shape == (2, 2)


def test_evaluations_are_few():
    points = []
    derivative_by_differences(lambda x: points.append(x) or math.exp(x), 0.7)
    assert len(points) <= 12
    points.clear()
    derivative_by_differences(lambda x: points.append(x) or math.floor(x * 1e3), 0.1)
    assert len(points) <= 48
