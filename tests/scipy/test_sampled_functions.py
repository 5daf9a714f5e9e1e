"""Integrals of samples: SciPy's values, derivatives of both orders, and what is refused."""

import numpy as np
import pytest
import scipy.integrate

import contad
import contad.scipy.integrate as mirror
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)


def a(*shape):
    return RNG.normal(size=shape)


def points(n):
    return np.cumsum(RNG.uniform(0.5, 1.5, n))


CASES = {"spacing": (lambda m, y, h: m.simpson(y, dx=h[0]) + m.trapezoid(y, dx=h[0]), a(6), np.array([0.4]))}
for n in (2, 3, 4, 5, 8):
    x = points(n)
    columns = np.stack([x, 2.0 * x], axis=1)
    CASES |= {
        f"simpson of {n}": (lambda m, y: m.simpson(y, axis=0, dx=0.3), a(n, 2)),
        f"simpson of {n}, at points": (lambda m, y, x: m.simpson(y, x=x), a(2, n), x),
        f"simpson of {n}, at points of each": (lambda m, y, x: m.simpson(y, x=x, axis=0), a(n, 2), columns),
        f"cumulative of {n}": (lambda m, y: m.cumulative_trapezoid(y, axis=0, dx=0.3), a(n, 2)),
        f"cumulative of {n}, at points": (lambda m, y, x: m.cumulative_trapezoid(y, x, initial=0), a(2, n), x),
        f"trapezoid of {n}": (lambda m, y, x: m.trapezoid(y, x, axis=0), a(n, 2), columns),
    }


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.integrate, mirror)


@pytest.mark.parametrize(("call", "message"), [
    (lambda y: mirror.simpson(y, x=[1.0, 2.0]), "simpson: x must be of shape"),
    (lambda y: mirror.cumulative_trapezoid(y, initial=1.0)[0], "`initial` must be"),
    (lambda y: mirror.simpson(y[:0]), "at least one point is required"),
])  # fmt: skip
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        contad.grad(call)(points(4))
