"""Stan's solvers of differential equations: its forced and damped oscillators, Lorenz' equations, limits of steps."""


import numpy as np
import pytest
import scipy.integrate

import contad
from contad import stan

SOLVERS = {"ode_rk45": 1e-4, "ode_ckrk": 1e-4, "ode_adams": 1e-7, "ode_bdf": 1e-7}  # fmt: skip
CONTROL = (1e-9, np.array([1e-9, 1e-10]), 1e-8, 1e-8, 1e-8, 1e-8, 10**6, 250, 2, 2, 1)


def damped(t, y, theta):
    """Stan's harmonic oscillator."""
    return [y[1], -y[0] - theta * y[1]]


def closed_damped(v, times):
    """y from (theta, y0, v0), under critical damping."""
    theta, y, w = v[0], v[1], v[2]
    frequency = np.sqrt(1.0 - 0.25 * theta * theta)
    phase = frequency * times
    position = np.exp(-0.5 * theta * times) * (y * np.cos(phase) + (w + 0.5 * theta * y) / frequency * np.sin(phase))
    return position


TIMES = np.linspace(0.3, 4.0, 5)
V = np.array([0.3, 1.0, -0.4])


@pytest.mark.parametrize("name", SOLVERS)
def test_the_damped_oscillator(name):
    solver, tolerance = getattr(stan, name), SOLVERS[name]
    if name == "ode_bdf":  # at its own tolerances it takes many steps
        solver, tolerance = (lambda *args: stan.ode_bdf_tol(*args[:4], 1e-8, 1e-8, 10**6, *args[4:])), 1e-5
    f = lambda v: solver(damped, v[1:], 0.0, TIMES, v[0])[:, 0]
    np.testing.assert_allclose(f(V), closed_damped(V, TIMES), atol=tolerance)
    expected = contad.jacobian(closed_damped)(V, TIMES)
    np.testing.assert_allclose(contad.jacrev(f)(V), expected, atol=tolerance)
    by_direction = contad.jvp(f, (V,), (np.array([1.0, -0.5, 0.7]),))[1]
    np.testing.assert_allclose(by_direction, expected @ np.array([1.0, -0.5, 0.7]), atol=tolerance)


@pytest.mark.parametrize("name", ["ode_rk45_tol", "ode_ckrk_tol", "ode_adams_tol"])
def test_tolerances(name):
    f = lambda v, t0, times: getattr(stan, name)(damped, v[1:], t0, times, 1e-9, 1e-9, 10**5, v[0])[:, 0]
    for k, expected in enumerate(
        [
            contad.jacobian(closed_damped)(V, TIMES),
            contad.jacobian(lambda t0: closed_damped(V, TIMES - t0))(0.0),
            contad.jacobian(lambda times: closed_damped(V, times))(TIMES),
        ]
    ):
        np.testing.assert_allclose(contad.jacrev(f, k)(V, 0.0, TIMES), expected, atol=1e-7)


def test_the_adjoint():
    f = lambda v, t0, times: stan.ode_adjoint_tol_ctl(damped, v[1:], t0, times, *CONTROL, v[0])[:, 0]
    np.testing.assert_allclose(f(V, 0.0, TIMES), closed_damped(V, TIMES), atol=1e-7)
    weights = np.linspace(1.0, 2.0, 5)
    exact = contad.grad(lambda v, t0, times: weights @ closed_damped(v, times - t0), (0, 1, 2))(V, 0.0, TIMES)
    found = contad.grad(lambda v, t0, times: weights @ f(v, t0, times), (0, 1, 2))(V, 0.0, TIMES)
    for a, b in zip(found, exact, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_lorenz():
    lorenz = lambda t, y, p: [p[0] * (y[1] - y[0]), p[1] * y[0] - y[1] - y[0] * y[2], -p[2] * y[2] + y[0] * y[1]]
    p, start = np.array([10.0, 28.0, 8.0 / 3.0]), np.array([10.0, 1.0, 1.0])

    def complex_step(k):
        q = p.astype(complex)
        q[k] += 1e-30j
        found = scipy.integrate.solve_ivp(lorenz, (0.0, 0.8), start.astype(complex), args=(q,), rtol=1e-11, atol=1e-12)
        return found.y[:, -1].imag / 1e-30

    expected = np.array([complex_step(k) for k in range(3)]).T
    found = contad.jacobian(lambda p: stan.ode_rk45_tol(lorenz, start, 0.0, [0.8], 1e-9, 1e-9, 10**5, p)[0])(p)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_without_times():
    assert stan.ode_rk45(damped, V[1:], 0.0, [], 0.3).shape == (0, 2)


@pytest.mark.parametrize("call", [lambda f: f(0.3), lambda f: contad.grad(f)(0.3)])
@pytest.mark.parametrize(("times", "settings", "error", "message"), [
    ([1.0], (0.0, 1e-6, 100), ValueError, "ode_rk45_tol: relative_tolerance must be positive, got 0.0"),
    ([1.0], (1e-6, 0.0, 100), ValueError, "ode_rk45_tol: absolute_tolerance must be positive, got 0.0"),
    ([1.0], (1e-6, 1e-6, 0), ValueError, "ode_rk45_tol: max_num_steps must be positive, got 0"),
    ([1.0, 1.0], (1e-6, 1e-6, 100), ValueError, "ode_rk45_tol: ts must increase, from above the initial time 0.0"),
    ([0.0, 1.0], (1e-6, 1e-6, 100), ValueError, "ode_rk45_tol: ts must increase, from above the initial time 0.0"),
    ([np.nan], (1e-6, 1e-6, 100), ValueError, "ode_rk45_tol: ts must be finite"),
    ([1.0, 1000.0], (1e-6, 1e-6, 50), RuntimeError, "the solver did not come to t = 1000 in 50 steps, only to"),
])  # fmt: skip
def test_bad_input(call, times, settings, error, message):
    with pytest.raises(error, match=message):
        call(lambda theta: stan.ode_rk45_tol(damped, V[1:], 0.0, times, *settings, theta)[-1, 0])
    assert contad.stack().top <= 1


def test_bad_settings_of_the_adjoint():
    for k, message in (
        (2, "relative_tolerance_backward must be positive"),
        (9, "solver_forward must be 1"),
        (8, "interpolation_polynomial must be 1 or 2"),
    ):
        settings = list(CONTROL)
        settings[k] = 0
        with pytest.raises(ValueError, match=f"ode_adjoint_tol_ctl: {message}"):
            stan.ode_adjoint_tol_ctl(damped, V[1:], 0.0, TIMES, *settings, 0.3)
