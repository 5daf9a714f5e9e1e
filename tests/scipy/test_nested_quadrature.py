"""Integrals of integrals, fixed rules and Simpson's and Romberg's rules of samples: values and both orders."""

import numpy as np
import pytest
import scipy.integrate

import contad
from contad.errors import UnsupportedError
from contad.scipy import integrate
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)
Y, X = RNG.normal(size=(2, 7)), np.cumsum(RNG.uniform(0.3, 1.0, 7))

CASES = {
    "cumulative_simpson": (lambda m, y, x: m.cumulative_simpson(y, x=x), Y, X),
    "cumulative_simpson, even": (lambda m, y, h: m.cumulative_simpson(y, dx=h, axis=0, initial=0.0),
                                 Y.T[:6].copy(), 0.7),
    "cumulative_simpson, two": (lambda m, y, x: m.cumulative_simpson(y, x=x), Y[:, :2].copy(), X[:2]),
    "romb": (lambda m, y, h: m.romb(y, h, axis=0), RNG.normal(size=(9, 2)), 0.3),
    "fixed_quad": (lambda m, p, a, b: m.fixed_quad(lambda x: np.exp(-p * x), a, b, n=6)[0], 0.7, 0.2, 1.4),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.integrate, integrate, exact="fixed" not in name)


def test_integrals_of_integrals():
    f = lambda p: integrate.dblquad(lambda y, x: np.exp(-p * x * y), 0.0, p, 0.0, lambda x: p * x)[0]
    expected = scipy.integrate.dblquad(lambda y, x: np.exp(-0.8 * x * y), 0.0, 0.8, 0.0, lambda x: 0.8 * x)[0]
    value, slope = contad.value_and_grad(f)(0.8)
    assert value == pytest.approx(expected, rel=1e-12)
    assert slope == pytest.approx((f(0.8 + 1e-4) - f(0.8 - 1e-4)) / 2e-4, rel=1e-6)
    exact = lambda p: p**4 / 24.0  # of a simplex of four
    g = lambda p: integrate.tplquad(lambda z, y, x: p - x - y - z, 0.0, p, 0.0, lambda x: p - x, 0.0,
                                    lambda x, y: p - x - y)[0]  # fmt: skip
    assert contad.value_and_grad(g)(1.3) == pytest.approx((exact(1.3), 1.3**3 / 6.0), rel=1e-9)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda p: integrate.romb(p * np.ones(6)), ValueError, "one plus"),
    (lambda p: integrate.fixed_quad(lambda x: p * x, 0.0, np.inf)[0], ValueError, "finite limits"),
    (lambda p: integrate.nquad(lambda x: p * x, [(0, 1)], full_output=True)[0], UnsupportedError, "full_output"),
])  # fmt: skip
def test_fails(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(call)(1.0)
