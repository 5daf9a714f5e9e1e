"""Times and states of events: closed forms, both modes, second order, what has no derivative."""

import numpy as np
import pytest
import scipy.integrate

import contad
from contad.errors import SingularPointError
from contad.scipy.integrate import solve_ivp

TIGHT = {"rtol": 1e-9, "atol": 1e-9}
V = np.array([9.81, 10.0, 3.0, 0.2])  # gravity, height, velocity, start


def fall(t, y, g):
    return [y[1], -g]


def touches_ground(t, y, g):
    return y[0]


touches_ground.terminal = True


def is_at_the_top(t, y, g):
    return y[1]


def closed(v):
    """Time and velocity at the ground, time and height of the top, and the end."""
    g, height, velocity, start = v
    root = np.sqrt(velocity * velocity + 2.0 * g * height)
    time, top = start + (velocity + root) / g, start + velocity / g
    return contad.array([time, -root, top, height + 0.5 * velocity**2 / g, time, -root])


def by_events(v, sensitivity="forward", method="RK45"):
    found = solve_ivp(
        fall, (v[3], 20.0), v[1:3], method, events=[touches_ground, is_at_the_top], args=(v[0],),
        sensitivity=sensitivity, **TIGHT,
    )  # fmt: skip
    ground, top = found.t_events
    return contad.array(
        [ground[0], found.y_events[0][0, 1], top[0], found.y_events[1][0, 0], found.t[-1], found.y[1, -1]]
    )


def test_a_fall():
    for sensitivity in ("forward", "adjoint", "discrete"):
        np.testing.assert_allclose(by_events(V, sensitivity), closed(V), atol=1e-7)
        expected = contad.jacobian(closed)(V)
        np.testing.assert_allclose(contad.jacrev(by_events)(V, sensitivity), expected, atol=1e-6)
    np.testing.assert_allclose(contad.jacfwd(by_events)(V, "forward", "DOP853"), expected, atol=1e-6)


def test_second_derivatives():
    f = lambda v: by_events(v)[0] * by_events(v)[1]
    expected = lambda v: closed(v)[0] * closed(v)[1]
    np.testing.assert_allclose(contad.hessian(f)(V), contad.hessian(expected)(V), atol=1e-5)


def test_captured_thresholds_and_several_times():
    """Zeros of sin(w t) - level, whose level only the event captures; with output times of one's own."""

    def f(v):
        found = solve_ivp(
            lambda t, y: [y[1], -v[0] ** 2 * y[0]], (0.0, 6.2), contad.array([0.0, v[0]]), "DOP853",
            np.array([0.5, 5.5]), events=lambda t, y: y[0] - v[1], **TIGHT,
        )  # fmt: skip
        return np.concatenate([found.t_events[0], found.y[0]])

    def exact(v):
        first = np.arcsin(v[1]) / v[0]
        times = [first, np.pi / v[0] - first, 2.0 * np.pi / v[0] + first, 3.0 * np.pi / v[0] - first]
        return contad.array([*times, np.sin(0.5 * v[0]), np.sin(5.5 * v[0])])

    v = np.array([1.5, 0.4])
    np.testing.assert_allclose(f(v), exact(v), atol=1e-7)
    np.testing.assert_allclose(contad.jacrev(f)(v), contad.jacobian(exact)(v), atol=1e-6)


def test_events_alone_carry_a_derivative():
    def f(level):
        found = solve_ivp(lambda t, y: -y, (0.0, 3.0), np.ones(1), events=lambda t, y: y[0] - level, **TIGHT)
        return found.t_events[0][0]

    assert contad.grad(f)(0.3) == pytest.approx(-1.0 / 0.3, rel=1e-6)


def test_an_event_that_does_not_happen():
    def f(g):
        found = solve_ivp(fall, (0.0, 0.5), np.array([10.0, 3.0]), events=touches_ground, args=(g,), **TIGHT)
        assert len(found.t_events[0]) == 0
        return found.y[0, -1]

    assert contad.grad(f)(9.81) == pytest.approx(-0.125, abs=1e-7)


def test_grazing_is_an_error():
    """y = (t - 1)^3 goes through 0 without speed."""

    def f(p):
        found = solve_ivp(
            lambda t, y: [3.0 * (t - p) ** 2], (0.0, 2.0), np.array([-1.0]), events=lambda t, y: y[0], max_step=0.1
        )  # fmt: skip
        return found.t_events[0][0]

    assert f(1.0) == pytest.approx(1.0, abs=0.2)
    for transform in (contad.grad, contad.derivative):
        with pytest.raises(SingularPointError, match=r"solve_ivp: event 0 at t = .* only grazes it"):
            transform(f)(1.0)
    assert contad.stack().top <= 1


def test_on_floats_it_is_scipys():
    options = {"events": [touches_ground, is_at_the_top], "args": (9.81,)}
    found = solve_ivp(fall, (0.0, 20.0), np.array([10.0, 3.0]), **options)
    expected = scipy.integrate.solve_ivp(fall, (0.0, 20.0), np.array([10.0, 3.0]), **options)
    for one, other in zip(found.t_events + found.y_events, expected.t_events + expected.y_events, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (found.status, found.t[-1]) == (expected.status, expected.t[-1])
