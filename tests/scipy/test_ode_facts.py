"""Problems of Stan's tests of its solvers, as a table: values and sensitivities by closed forms, exponentials, complex
steps; every way of differentiating gives them. And systems that have to raise.
"""

import numpy as np
import pytest
import scipy.integrate

import contad
from contad.scipy.integrate import Adjoint, solve_ivp
from contad.scipy.linalg import expm


def damped(t, y, p):
    return [y[1], -y[0] - p[0] * y[1]]


def damped_by_expm(p, y0, t):
    return expm(np.stack([contad.array([0.0, 1.0]), contad.array([-1.0, -p[0]])]) * t) @ y0


def coupled(t, y, p):
    """Two masses between three springs: p are the springs."""
    return [y[2], y[3], -(p[0] + p[1]) * y[0] + p[1] * y[1], p[1] * y[0] - (p[1] + p[2]) * y[1]]


def coupled_by_expm(p, y0, t):
    rows = [
        [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [-p[0] - p[1], p[1], 0.0, 0.0], [p[1], -p[1] - p[2], 0.0, 0.0]
    ]  # fmt: skip
    return expm(np.stack([contad.array(row) for row in rows]) * t) @ y0


def driven(t, y, p):
    """An oscillator of frequency p_0 under a force p_1 cos t."""
    return [y[1], -p[0] * p[0] * y[0] + p[1] * np.cos(t)]


def driven_closed(p, y0, t):
    forced = p[1] / (p[0] ** 2 - 1.0)
    phase, a, b = p[0] * t, y0[0] - forced, y0[1] / p[0]
    return contad.array(
        [
            forced * np.cos(t) + a * np.cos(phase) + b * np.sin(phase),
            -forced * np.sin(t) + p[0] * (b * np.cos(phase) - a * np.sin(phase)),
        ]
    )


FACTS = {
    "damped": (damped, damped_by_expm, [0.15], [1.0, 0.5], 2.0),
    "coupled": (coupled, coupled_by_expm, [1.0, 0.4, 1.7], [1.0, 0.0, -0.3, 0.2], 1.5),
    "driven": (driven, driven_closed, [1.4, 0.7], [0.3, -0.2], 3.0),
}
WAYS = [
    ("RK45", "forward"), ("DOP853", "adjoint"), ("RK45", "discrete"), ("LSODA", Adjoint(checkpoints=3)),
    ("Radau", "forward"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "sensitivity"), WAYS)
@pytest.mark.parametrize("name", FACTS)
def test_oscillators(name, method, sensitivity):
    fun, exact, p, y0, end = FACTS[name]
    p, y0 = np.array(p), np.array(y0)

    def f(p, y0, end):
        options = {"rtol": 1e-8, "atol": 1e-8, "sensitivity": sensitivity}
        return solve_ivp(fun, (0.0, end), y0, method, contad.array([end]), args=(p,), **options).y[:, 0]

    weights = np.arange(1.0, len(y0) + 1.0)
    found = contad.grad(lambda *args: weights @ f(*args), (0, 1, 2))(p, y0, end)
    expected = contad.grad(lambda *args: weights @ exact(*args), (0, 1, 2))(p, y0, end)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def lorenz(t, y, p):
    return np.array([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])


@pytest.mark.parametrize("sensitivity", ["forward", "discrete", "adjoint"])
def test_lorenz(sensitivity):
    """By complex steps through SciPy's solver at tight tolerances."""
    p, y0 = np.array([10.0, 28.0, 8.0 / 3.0]), np.array([10.0, 1.0, 1.0])

    def by_complex_step(k):
        v = np.concatenate([p, y0]).astype(complex)
        v[k] += 1e-30j
        found = scipy.integrate.solve_ivp(lorenz, (0.0, 1.0), v[3:], "DOP853", args=(v[:3],), rtol=1e-11, atol=1e-12)
        return found.y[:, -1].imag / 1e-30

    def f(v):
        options = {"args": (v[:3],), "sensitivity": sensitivity, "rtol": 1e-9, "atol": 1e-9}
        return solve_ivp(lorenz, (0.0, 1.0), v[3:], "DOP853", [1.0], **options).y[:, 0]

    weights = np.array([1.0, -0.5, 0.3])
    expected = weights @ np.array([by_complex_step(k) for k in range(6)]).T
    found = contad.grad(lambda v: weights @ f(v))(np.concatenate([p, y0]))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("sensitivity", ["forward", "adjoint", "discrete"])
@pytest.mark.parametrize(("fun", "error", "message"), [
    (lambda t, y, p: y[:1] * p, ValueError, "solve_ivp: fun must give 2 numbers"),
    (lambda t, y, p: 0.0 * y / 0.0 * p, ValueError, "solve_ivp: fun must give finite numbers, got nan at t = 0"),
    (lambda t, y, p: p * y * y, (RuntimeError, ValueError), "solve_ivp: "),
    (lambda t, y, p: p * (y if t < 0.5 else y * np.nan), ValueError, r"finite numbers, got nan at t = 0\.5"),
])  # fmt: skip
def test_degenerate_systems_raise(fun, error, message, sensitivity):
    f = lambda p: np.sum(solve_ivp(fun, (0.0, 2.0), np.ones(2), t_eval=[2.0], args=(p,), sensitivity=sensitivity).y)
    for call in (contad.grad(f), contad.derivative(f)):
        with np.errstate(all="ignore"), pytest.raises(error, match=message):
            call(1.0)
    assert contad.stack().top <= 1
