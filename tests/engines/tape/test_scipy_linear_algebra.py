"""Functions of contad.scipy.linalg on the tape: one program of all against the eager engine and differences, errors."""

import numpy as np
import pytest
import scipy.linalg
from numba import njit

import contad
import contad.scipy.linalg as linalg
from contad.native.arena import BLOCK, USED, arena
from contad.native.words import word
from contad.scipy.linalg import cho_factor, solve_triangular
from tests.engines.tape.requests import jvp, value_and_grad

DRAW = np.random.default_rng(83)
A, B, V = DRAW.standard_normal((3, 3)) + 2.0 * np.eye(3), DRAW.standard_normal((3, 2)), DRAW.standard_normal(3)
S = A @ A.T + 0.2 * A + np.eye(3)
BAND = DRAW.standard_normal((4, 3)) + 4.0 * (np.arange(4) == 2)[:, None]
DATA, ALL = (A, B, V, S, BAND), (0, 1, 2, 3, 4)


@njit
def systems(a, b, v, s, band):
    """Every function, operands used twice, transposed, constant, with options by name and by position."""
    x = solve_triangular(a, b)
    y = solve_triangular(a.T, x, trans="T", lower=True)
    w = linalg.solve_triangular(a, v, 1, True, unit_diagonal=True)
    only_a = solve_triangular(a * a + s, np.array([1.0, 2.0, -0.3]), 0, True)
    only_b = contad.scipy.linalg.solve_triangular(np.array([[2.0, 0.3], [0.0, 1.1]]), b[1:, ::-1], trans=2)
    total = np.sum(x * x * b) + y[0, 1] * y[2, 0] + w[0] * w[1] * only_a[2] + only_b[0, 0] * only_b[1, 1]
    low, is_low = cho_factor(s, lower=True)
    up = cho_factor(s + 0.1 * a)
    total += np.sum(low * low * low * a) + up[0][0, 2] * up[0][1, 0] * up[0][2, 2]
    z = linalg.cho_solve((low, is_low), b)
    total += np.sum(z * z * x) + np.sum(linalg.cho_solve(up, v) * w) + linalg.cho_solve((a, False), v)[1]
    wide = linalg.solve_banded((1, 2), band, b)
    three = linalg.solve_banded((1, 1), band[1:], v)
    total += np.sum(wide * wide * b) + np.sum(three * three * v) * wide[0, 1]
    total += linalg.solve_banded((0, 1), band[1:3] + 0.0, v)[0] * linalg.solve_banded((2, 0), band[1:] * band[0, 0], v)[2]
    e = linalg.expm(a)
    return total + 0.01 * np.sum(e * e * s) + linalg.expm(0.1 * s)[0, 2] * e[1, 0]


def test_gradients_and_tangents_agree_with_the_eager_engine_and_with_differences():
    value, gradient = value_and_grad(systems, *DATA, argnums=ALL)
    assert value == systems(*DATA)
    expected, right = contad.value_and_grad(systems.py_func, argnums=ALL)(*DATA)
    assert value == pytest.approx(expected, rel=1e-12)
    assert value == pytest.approx(in_scipy(*DATA), rel=1e-12)
    for found, bar in zip(gradient, right, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-10, atol=1e-11 * np.abs(bar).max())
    tangents = tuple(DRAW.standard_normal(x.shape) for x in DATA)
    h = 1e-6
    ends = [systems(*(x + step * t for x, t in zip(DATA, tangents, strict=True))) for step in (h, -h)]
    value, tangent = jvp(systems, DATA, tangents, argnums=ALL)
    assert value == systems(*DATA)
    assert tangent == pytest.approx(sum(np.sum(x * t) for x, t in zip(right, tangents, strict=True)), rel=1e-11)
    assert tangent == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-6)


def in_scipy(*args):
    """The value of the program with SciPy's own functions."""
    names = {"linalg": scipy.linalg, "contad": type("Contad", (), {"scipy": scipy})}
    names |= {name: getattr(scipy.linalg, name) for name in ("solve_triangular", "cho_factor")}
    function = systems.py_func
    return type(function)(function.__code__, {**function.__globals__, **names})(*args)
