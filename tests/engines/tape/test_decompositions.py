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


@njit
def extreme_values(a, order):
    """The largest singular value, or the smallest."""
    return np.linalg.norm(a, order)


@pytest.mark.parametrize("order", [2, -2])
def test_norms_of_matrices_have_subgradient_zero_at_zero(order):
    value, (bar,) = value_and_grad(extreme_values, np.zeros((3, 2)), order, argnums=(0,))
    assert value == 0.0
    np.testing.assert_array_equal(bar, 0.0)


@njit
def general_spectrum(a):
    w, v = np.linalg.eig(a)
    few = np.sum(np.linalg.eigvals(a) ** 2) * np.linalg.matrix_rank(a)
    return np.sum(w * w * w) + v[0, 0] * v[1, 1] * v[1, 0] + few + np.linalg.cond(a[:, :2]) * np.linalg.cond(a, 1)


REAL = np.array([[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]])


@pytest.mark.long  # as those above
def test_spectra_of_general_matrices():
    value, (gradient,) = value_and_grad(general_spectrum, REAL)
    expected, right = contad.value_and_grad(general_spectrum.py_func)(REAL)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, right, rtol=1e-9, atol=1e-10)
    tangent = jvp(general_spectrum, (REAL,), (REAL.T - 1.0,))[1]
    assert tangent == pytest.approx(np.sum(right * (REAL.T - 1.0)), rel=1e-9)


@njit
def eigenvalues(a):
    return np.sum(np.linalg.eigvals(a) ** 2) * np.linalg.matrix_rank(a)


@pytest.mark.parametrize("engine", [pytest.param("tape", marks=pytest.mark.long), "generated"])
def test_complex_eigenvalues_raise_as_in_the_function(engine):
    """And the call after it is right: squares of eigenvalues are the trace of the square."""
    turning = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    gradient = contad.grad(eigenvalues, engine=engine)
    with pytest.raises(ValueError, match="domain change") as raised:
        gradient(turning)
    if np.lib.NumpyVersion(np.__version__) < "2.5.0":  # later ones have complex eigenvalues for all matrices
        with pytest.raises(ValueError, match="domain change") as plain:
            eigenvalues(turning)
        assert str(raised.value) == str(plain.value)
    np.testing.assert_allclose(gradient(REAL), 6.0 * REAL.T, rtol=1e-12, atol=1e-12)
