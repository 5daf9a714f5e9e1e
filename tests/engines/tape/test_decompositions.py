"""Decompositions, least squares, powers and norms on the tape, against NumPy's rules on the eager engine."""

import numpy as np
import pytest
from numba import njit

import contad
from tests.engines.tape.requests import jvp, value_and_grad

DRAW = np.random.default_rng(47)
SQUARE = DRAW.standard_normal((3, 3)) + np.diag([1.0, 2.5, 4.0])
TALL, WIDE = DRAW.standard_normal((4, 3)), DRAW.standard_normal((2, 3))
DATA, ALL = (SQUARE, TALL, WIDE, DRAW.standard_normal(4)), (0, 1, 2, 3)


@njit
def spectra(a, t, w, v):
    """Eigenvalues and singular values and their vectors; signs of vectors cancel."""
    e, p = np.linalg.eigh(a)
    d = np.linalg.eigvalsh(a + a.T)
    total = e[0] * e[1] + p[0, 1] * p[2, 1] * d[2] + d[0] * v[0]
    for x in (t, a[1:], 2.0 * w):
        y, s, z = np.linalg.svd(x, False)
        total += s[0] * s[1] + y[0, 0] * z[0, 1] * y[1, 1] * z[1, 0]
    return total + np.linalg.svd(a)[1][2] * np.linalg.svd(w, 0)[1][0]


@njit
def factors(a, t, w, v):
    """QR factors of three shapes, pseudoinverses and least squares."""
    total = 0.0
    for x in (a, t, w):
        q, r = np.linalg.qr(x)
        total += q[0, 1] * q[1, 1] * r[0, 2] ** 2 + q[1, 0] ** 2 * r[1, 1] ** 2
        i = np.linalg.pinv(x)
        total += i[0, 1] * i[2, 0] + x[1, 0] * i[1, 1]
    x, squares, rank, s = np.linalg.lstsq(t, v)
    total += x[0] * x[2] + squares[0] * rank + s[0] * s[2]
    x, squares, rank, s = np.linalg.lstsq(w, t[1:3])
    total += x[0, 1] * x[2, 2] + len(squares) + s[1]
    x, squares, rank, s = np.linalg.lstsq(t, np.outer(v, v[:2]))
    return total + x[0, 1] * squares[1]


@njit
def powers(a, t, w, v):
    """Powers, norms, the trace and Kronecker's product."""
    total = np.trace(np.linalg.matrix_power(a, 5)) * 1e-3 + np.linalg.matrix_power(a, 0)[1, 1]
    total += np.linalg.matrix_power(a, -3)[0, 1] * 1e2 + np.linalg.matrix_power(a, 2)[1, 2]
    total += np.linalg.matrix_power(a, 3)[1, 2] + np.linalg.matrix_power(a, 1)[0, 2]
    k = np.kron(w, a)
    total += k[1, 2] * k[4, 7]
    for order in (1, -1, 2, -2, 3):
        total += np.linalg.norm(v, order) * v[1]
    for order in (1, -1, 2, -2):
        total += np.linalg.norm(t, order) * v[2]
    for order in (np.inf, -np.inf):
        total += np.linalg.norm(t, order) * v[0] + np.linalg.norm(v, order)
    return total + np.linalg.norm(w) * np.linalg.norm(v) + np.linalg.norm(v, 0) * v[3] + np.linalg.norm(v, 2.5)


LATER = [pytest.param(f, marks=pytest.mark.long) for f in (factors, powers)]  # a minute of compilation


@pytest.mark.parametrize("f", [spectra, *LATER])
def test_gradients_and_tangents_agree_with_the_eager_engine(f):
    value, gradient = value_and_grad(f, *DATA, argnums=ALL)
    assert value == pytest.approx(f(*DATA), rel=1e-13)
    expected, right = contad.value_and_grad(f.py_func, argnums=ALL)(*DATA)
    assert value == pytest.approx(expected, rel=1e-11)
    for found, bar in zip(gradient, right, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-8, atol=1e-9 * max(1.0, np.abs(bar).max()))
    tangents = tuple(np.random.default_rng(5).standard_normal(x.shape) for x in DATA)
    value, tangent = jvp(f, DATA, tangents, argnums=ALL)
    assert value == pytest.approx(f(*DATA), rel=1e-13)
    assert tangent == pytest.approx(sum(np.sum(x * y) for x, y in zip(right, tangents, strict=True)), rel=1e-9)
