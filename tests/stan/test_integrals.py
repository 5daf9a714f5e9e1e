"""Stan's integrals: the twelve of its own tests and their derivatives by mpmath, ends, complements, refusals."""


import numpy as np
import pytest
from mpmath import mp

import contad
from contad import stan

INF = float("inf")


def right(x, xc):
    """1 - x, without rounding near 1."""
    return xc if xc > 0.0 else 1.0 - x


# (f(x, xc, p), its form for mpmath, a, b, p)
CASES = {
    "smooth": (lambda x, xc, p: np.exp(p * x), lambda x, p: mp.exp(p * x), 0.2, 0.7, 0.5),
    "a constant interval about 0": (lambda x, xc, p: np.exp(-x) / p, lambda x, p: mp.exp(-x) / p, -0.2, 0.7, 1.7),
    "a density": (
        lambda x, xc, p: np.exp(-0.5 * (x - p) ** 2) / np.sqrt(2.0 * np.pi),
        lambda x, p: mp.exp(-(x - p) ** 2 / 2) / mp.sqrt(2 * mp.pi), -INF, 1.3, 0.4,
    ),
    "the line": (lambda x, xc, p: np.exp(-p * x * x), lambda x, p: mp.exp(-p * x * x), -INF, INF, 1.7),
    "a half line": (lambda x, xc, p: x * np.exp(-p * x), lambda x, p: x * mp.exp(-p * x), 0.0, INF, 0.8),
    "a half line about 0": (lambda x, xc, p: np.exp(-p * x), lambda x, p: mp.exp(-p * x), -1.5, INF, 0.8),
    "the other half line": (lambda x, xc, p: np.exp(p * x), lambda x, p: mp.exp(p * x), -INF, -0.3, 0.8),
    "an algebraic tail": (lambda x, xc, p: (1.0 + x * x) ** -p, lambda x, p: (1 + x * x) ** -p, -INF, INF, 1.5),
    "a root at the left": (lambda x, xc, p: x ** (p - 1.0), lambda x, p: x ** (p - 1), 0.0, 1.3, 0.4),
    "both ends": (
        lambda x, xc, p: x ** (p - 1.0) * right(x, xc) ** (-0.9), lambda x, p: x ** (p - 1) * (1 - x) ** mp.mpf(-0.9),
        0.0, 1.0, 0.2,
    ),
    "a logarithm": (lambda x, xc, p: np.log(p * x) ** 2, lambda x, p: mp.log(p * x) ** 2, 0.0, 1.0, 0.6),
    "oscillation": (
        lambda x, xc, p: np.cos(p * x) * np.exp(-x), lambda x, p: mp.cos(p * x) * mp.exp(-x), 0.0, INF, 3.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    f, exact, a, b, p = CASES[name]
    with mp.workdps(30):
        ends = [a, 0.0, b] if a < 0.0 < b else [a, b]

        def integral(q):
            if name == "both ends":
                return mp.beta(q, mp.mpf(1) - mp.mpf(0.9))
            return mp.quad(lambda x: exact(x, q), ends)

        value, slope = float(integral(mp.mpf(p))), float(mp.diff(integral, mp.mpf(p)))
    found = contad.value_and_grad(lambda p: stan.integrate_1d(f, a, b, p))(p)
    assert found == (pytest.approx(value, rel=1e-8), pytest.approx(slope, rel=1e-7))
    if name not in ("both ends", "a root at the left", "a logarithm"):
        found = contad.value_and_grad(lambda p: stan.integrate_1d_gauss_kronrod(f, a, b, p))(p)
        assert found == (pytest.approx(value, rel=1e-8), pytest.approx(slope, rel=1e-7))


def test_limits_and_second_derivatives():
    closed = lambda v: (np.exp(v[2] * v[1]) - np.exp(v[2] * v[0])) / v[2]
    f = lambda v: stan.integrate_1d_double_exponential(lambda x, xc: np.exp(v[2] * x), v[0], v[1])
    v = np.array([-0.3, 0.9, 1.4])
    np.testing.assert_allclose(contad.grad(f)(v), contad.grad(closed)(v), rtol=1e-9)
    np.testing.assert_allclose(contad.hessian(f)(v), contad.hessian(closed)(v), rtol=1e-9)
    assert stan.integrate_1d(lambda x, xc: x, 2.0, 2.0) == 0.0


def test_the_distance_to_the_nearest_end():
    seen = []

    def f(x, xc):
        seen.append((x, xc))
        return 1.0

    stan.integrate_1d(f, 1.0, 3.0)
    for x, xc in seen[1:]:
        assert xc == pytest.approx(1.0 - x if x <= 2.0 else 3.0 - x, abs=1e-15)
    assert min(abs(xc) for _, xc in seen[1:]) < 1e-200
    seen.clear()
    stan.integrate_1d(lambda x, xc: f(x, xc) * np.exp(-x), 0.0, INF)
    assert all(np.isnan(xc) for _, xc in seen)


@pytest.mark.parametrize("rule", [stan.integrate_1d, stan.integrate_1d_gauss_kronrod])
def test_bad_integrals_are_refused(rule):
    name = rule.__name__
    for gradient in (lambda f: contad.grad(f)(1.0), lambda f: f(1.0)):
        with pytest.raises(ValueError, match=f"{name}: a must be at most b, 0.0, got 1.0"):
            gradient(lambda p: rule(lambda x, xc: p * x, p, 0.0))
        with pytest.raises(ValueError, match=f"{name}: a must be another infinity than b, got inf"):
            gradient(lambda p: rule(lambda x, xc: p * x, INF, INF))
        with pytest.raises(ValueError, match=f"{name}: relative_tolerance must be positive, got 0.0"):
            gradient(lambda p: rule(lambda x, xc: p * x, 0.0, 1.0, relative_tolerance=0.0))
        with pytest.raises(ValueError, match=f"{name}: f must give finite numbers, got nan at"):
            gradient(lambda p: rule(lambda x, xc: p * x if x < 0.7 else np.nan, 0.0, 1.0))
    with pytest.raises(ValueError, match=f"{name}: the error estimate of the integral, .*, exceeds"):
        rule(lambda x, xc: float(x > 1.0 / 3.0), 0.0, 1.0, relative_tolerance=1e-17)
    assert contad.stack().top <= 1
