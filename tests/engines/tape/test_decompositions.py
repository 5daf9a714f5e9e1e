"""Decompositions, least squares, powers and norms on the tape, against NumPy's rules on the eager engine."""

import numpy as np
import pytest
from numba import njit

import contad
from tests.engines.matrix_programs import SHAPES, SQUARES, factors, powers, spectra
from tests.engines.tape.requests import jvp, value_and_grad

LATER = [pytest.param(f, marks=pytest.mark.long) for f in (spectra, factors, powers)]  # a minute of compilation


@njit
def first_spectrum(a, t, w, v):
    """An eigenvalue with a vector."""
    e, p = np.linalg.eigh(a)
    return e[0] * p[0, 1] * p[2, 1] * v[0] + t[0, 1] * w[0, 1]


@pytest.mark.parametrize("f", [first_spectrum, *LATER])
def test_gradients_and_tangents_agree_with_the_eager_engine(f):
    value, gradient = value_and_grad(f, *SHAPES, argnums=SQUARES)
    assert value == pytest.approx(f(*SHAPES), rel=1e-13)
    expected, right = contad.value_and_grad(f.py_func, argnums=SQUARES)(*SHAPES)
    assert value == pytest.approx(expected, rel=1e-11)
    for found, bar in zip(gradient, right, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-8, atol=1e-9 * max(1.0, np.abs(bar).max()))
    tangents = tuple(np.random.default_rng(5).standard_normal(x.shape) for x in SHAPES)
    value, tangent = jvp(f, SHAPES, tangents, argnums=SQUARES)
    assert value == pytest.approx(f(*SHAPES), rel=1e-13)
    assert tangent == pytest.approx(sum(np.sum(x * y) for x, y in zip(right, tangents, strict=True)), rel=1e-9)
