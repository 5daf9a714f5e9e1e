"""Arrays of no axes as arguments and results of functions that are differentiated."""

import numpy as np
import pytest
from numba import njit

import contad
from tests.engines.source.agreement import as_python, request


@njit
def oscillator(z, x, pair):
    """sin(u) w + u x_1 with u = z x_0 and w = v + u^2."""
    z[()] *= x[0]
    w = pair[0].copy()
    w += z * z
    return np.sin(z) * w[()] + z * x[1]


POINT = np.array(2.0), np.array([0.3, -1.2]), (np.array(0.7), 3)


def value(z, x, v):
    u = z * x[0]
    return np.sin(u) * (v + u * u) + u * x[1]


def gradient(z, x, v):
    """By hand: z, x and v in a row."""
    u = z * x[0]
    by_u = np.cos(u) * (v + u * u) + 2.0 * u * np.sin(u) + x[1]
    return np.array([by_u * x[0], by_u * z, u, np.sin(u)])


def second(z, x, v):
    """Columns of second derivatives, by complex steps of the gradient."""
    start = np.array([z, *x, v])
    moved = [start + 1e-30j * row for row in np.eye(4)]
    return np.array([gradient(y[0], y[1:3], y[3]).imag for y in moved]).T * 1e30


def test_arguments_are_compiled():
    derivative = contad.value_and_grad(oscillator, argnums=(0, 1))
    z, x, pair = POINT
    for point in (z, np.array(-0.7)):
        found, (by_z, by_x) = derivative(point, x, pair)
        assert contad.engine_name(derivative, args=(point, x, pair)) == "generated"
        assert found == pytest.approx(value(float(point), x, 0.7), rel=1e-14)
        assert isinstance(by_z, np.ndarray) and by_z.shape == ()
        np.testing.assert_allclose([by_z, *by_x], gradient(float(point), x, 0.7)[:3], rtol=1e-13)
    assert z == 2.0  # what the function writes into is a copy


def run_in_python(function, args, argnums, mode, *more):
    """What `run` of a derivative gives for (args, *more), as plain Python."""
    return as_python(request(function, *args, argnums=argnums)._replace(mode=mode))(args, *more)


def test_second_order_of_arguments():
    tangents = (np.array(0.8), np.array([-0.4, 1.7]))
    found, (by_z, by_x) = run_in_python(oscillator, POINT, (0, 1), "hvp", tangents)
    expected = second(2.0, POINT[1], 0.7)[:3, :3] @ [0.8, -0.4, 1.7]
    assert found == pytest.approx(value(2.0, POINT[1], 0.7), rel=1e-14)
    np.testing.assert_allclose([by_z, *by_x], expected, rtol=1e-12)


@njit
def outputs(z, x):
    w = np.array(z[()] * x[0])
    return w, z * x[1], np.asarray(w).reshape(1)


def test_results():
    z, x = POINT[:2]
    shown, tangents = run_in_python(outputs, (z, x), (0, 1), "jvp", (np.array(0.8), np.array([-0.4, 1.7])))
    assert [y.shape for y in (*shown, *tangents)] == [(), (), (1,)] * 2
    np.testing.assert_allclose(np.ravel(shown[0]), 0.6)
    np.testing.assert_allclose(np.hstack(tangents), [0.8 * 0.3 - 2.0 * 0.4, -0.8 * 1.2 + 2.0 * 1.7, -0.56], rtol=1e-14)
    by_z, by_x = run_in_python(outputs, (z, x), (0, 1), "vjp", (np.array(0.5), 2.0, np.array([-1.5])))
    assert by_z.shape == ()
    np.testing.assert_allclose([by_z, *by_x], [-0.3 - 2.4, -2.0, 4.0], rtol=1e-14)
