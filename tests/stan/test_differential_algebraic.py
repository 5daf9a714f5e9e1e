"""Differential-algebraic equations: closed forms, Robertson's reaction against the equation without the constraint,
both modes, second order, and what must raise: a higher index, an inconsistent start, nan on the way."""

import doctest
import inspect

import numpy as np
import pytest

import contad
from contad import stan

pytestmark = pytest.mark.adapters  # scikit-sundae is of that extra

TS = np.array([0.3, 0.9])
TIGHT = 1e-9, 1e-10, 10**6


def linear(v):
    """y0' = -v0 y0, y0 + y1 = v1, y0(0) = v2."""
    residual = lambda t, y, yp, k, total: np.stack([yp[0] + k * y[0], y[0] + y[1] - total])
    start, slope = np.stack([v[2], v[1] - v[2]]), np.stack([-v[0] * v[2], v[0] * v[2]])
    return stan.dae_tol(residual, start, slope, 0.0, TS, *TIGHT, v[0], v[1])


def captured(v):
    residual = lambda t, y, yp: [yp[0] + v[0] * y[0], y[0] + y[1] - v[1]]
    start, slope = np.stack([v[2], v[1] - v[2]]), np.stack([-v[0] * v[2], v[0] * v[2]])
    return stan.dae_tol(residual, start, slope, 0.0, TS, *TIGHT)


def closed(v):
    y = v[2] * np.exp(-v[0] * TS)
    return np.stack([y, v[1] - y], axis=1)


V = np.array([0.8, 1.1, 1.4])


@pytest.mark.parametrize("f", [linear, captured])
def test_a_linear_equation(f):
    np.testing.assert_allclose(f(V), closed(V), rtol=1e-6, atol=1e-8)
    expected = contad.jacobian(closed)(V)
    np.testing.assert_allclose(contad.jacobian(f)(V), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(contad.jacfwd(f)(V), expected, rtol=1e-5, atol=1e-7)


def test_second_order():
    total, expected = (lambda v: np.sum(linear(v) ** 2)), (lambda v: np.sum(closed(v) ** 2))
    np.testing.assert_allclose(contad.hessian(total)(V), contad.hessian(expected)(V), rtol=1e-4, atol=1e-5)


def test_a_stiff_reaction_with_a_conservation_law():
    """Robertson's: the third equation is the sum of all, as against three differential equations."""
    rates, ts = np.array([0.04, 3e7, 1e4]), np.array([0.4, 4.0])

    def residual(t, y, yp, k):
        first = -k[0] * y[0] + k[2] * y[1] * y[2]
        return np.stack([yp[0] - first, yp[1] + first + k[1] * y[1] ** 2, y[0] + y[1] + y[2] - 1.0])

    def by_dae(log_k):
        k = np.exp(log_k)
        start = np.stack([-k[0], k[0], 0.0 * k[0]])
        return stan.dae_tol(residual, np.array([1.0, 0.0, 0.0]), start, 0.0, ts, 1e-8, 1e-12, 10**6, k)[1, 2]

    def by_ode(log_k):
        def f(t, y, k):
            first = -k[0] * y[0] + k[2] * y[1] * y[2]
            return np.stack([first, -first - k[1] * y[1] ** 2, k[1] * y[1] ** 2])

        return stan.ode_bdf_tol(f, np.array([1.0, 0.0, 0.0]), 0.0, ts, 1e-8, 1e-12, 10**6, np.exp(log_k))[1, 2]

    at = np.log(rates)
    assert float(by_dae(at)) == pytest.approx(float(by_ode(at)), rel=1e-5)
    np.testing.assert_allclose(contad.grad(by_dae)(at), contad.grad(by_ode)(at), rtol=1e-4)


def test_an_index_of_three_is_refused():
    """A pendulum in Cartesian coordinates."""

    def residual(t, y, yp, g):
        return np.stack(
            [yp[0] - y[2], yp[1] - y[3], yp[2] + y[4] * y[0], yp[3] + y[4] * y[1] + g, y[0] ** 2 + y[1] ** 2 - 1.0]
        )

    start, slope = np.array([1.0, 0.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, -9.8, 0.0])
    for f in (lambda g: np.sum(stan.dae_tol(residual, start, slope, 0.0, [1.0], 1e-8, 1e-8, 1000, g)),):
        with pytest.raises(RuntimeError, match="dae_tol: .* the index is higher than 1"):
            f(9.8)
        with pytest.raises(RuntimeError, match="dae_tol: .* the index is higher than 1"):
            contad.grad(f)(9.8)
    assert contad.stack().top <= 1


GOOD = {"yy0": np.array([1.0, 0.0]), "yp0": np.array([-0.8, 0.8]), "t0": 0.0, "ts": TS, "rtol": 1e-6, "atol": 1e-8}


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"yy0": np.zeros(0)}, ValueError, "yy0 must be a vector with at least one number"),
    ({"yp0": np.zeros(3)}, ValueError, r"yp0 must have 2 numbers, as yy0 has, got shape \(3,\)"),
    ({"yy0": np.array([np.nan, 0.0])}, ValueError, "yy0 must be finite"),
    ({"yp0": np.zeros(2)}, ValueError, "yy0 must make the residual zero with yp0 at t0"),
    ({"ts": np.array([0.5, 0.2])}, ValueError, "ts must increase from t0"),
    ({"ts": np.array([-0.5])}, ValueError, "ts must increase from t0"),
    ({"rtol": 0.0}, ValueError, "rel_tol must be positive, got 0.0"),
    ({"steps": 0}, ValueError, "max_num_steps must be positive, got 0"),
    ({"f": lambda t, y, yp, k: y[:1] * k}, ValueError, r"residual must give 2 numbers, .* got shape \(1,\)"),
    ({"f": lambda t, y, yp, k: fail_at(t, y, yp, k)}, ZeroDivisionError, "stop"),
    ({"f": lambda t, y, yp, k: nan_at(t, y, yp, k)}, RuntimeError, "IDA failed: .*; residual gave nan at time 0.3"),
])  # fmt: skip
def test_bad_input(change, error, message):
    given = GOOD | {"steps": 1000, "f": decay} | change
    f = given.pop("f")
    run = lambda k: np.sum(stan.dae_tol(f, *given.values(), k))
    for call in (run, contad.grad(run)):
        with pytest.raises(error, match=message):
            call(0.8)
    assert contad.stack().top <= 1


def decay(t, y, yp, k):
    return np.stack([yp[0] + k * y[0], y[0] + y[1] - 1.0])


def fail_at(t, y, yp, k):
    if t > 0.3:
        raise ZeroDivisionError("stop")
    return decay(t, y, yp, k)


def nan_at(t, y, yp, k):
    return decay(t, y, yp, k) * (1.0 if t < 0.3 else np.nan)


@pytest.mark.parametrize("f", [stan.dae, stan.dae_tol])
def test_docstrings(f):
    globs = {"np": np, "dae": stan.dae, "dae_tol": stan.dae_tol}
    source = inspect.getdoc(f).replace("# doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(source, globs, f.__name__, None, 0)
    assert doctest.DocTestRunner().run(example).failed == 0
    assert all(x in inspect.getdoc(f) for x in ("Shapes: ", "Cost: ", ">>> "))
