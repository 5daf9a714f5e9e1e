"""Rules of numbers called with arrays inside Numba: who has a gradient has a value, which broadcasts as in NumPy."""

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan
from contad.scipy import special
from tests.compile.watching import caller_of

V, M = np.array([0.5, 1.7]), np.array([[1.5, 0.7], [0.2, 0.3], [0.9, 2.0]])


each, pairs = map(caller_of, (stan.inv_logit, contad.ops.hypot))


@njit
def total(v, m):
    return np.sum(special.beta(m, v) * contad.ops.floor(3.0 * v)) + np.sum(contad.logit(0.3 * v))


@njit
def curve(v):
    return np.sum(special.expit(v) * contad.ops.log1p_exp(v))


@pytest.mark.parametrize("x", [V, M.T, M[None, ::2], np.array(0.3), V > 1.0, np.arange(3), 0.3, True], ids=repr)
def test_values(x):
    found = each(x)
    np.testing.assert_allclose(found, contad.ops.inv_logit(np.asarray(x, float)), rtol=1e-15)
    assert np.shape(found) == np.shape(x)


@pytest.mark.parametrize(("x", "y"), [(M, V), (V[:1], M), (M[:1], V[:, None]), (2.0, V), (M[:, :1], 1), (M[:0], V)])
def test_operands_broadcast_as_in_numpy(x, y):
    np.testing.assert_allclose(pairs(x, y), np.hypot(x, y), rtol=1e-15)
    assert pairs(x, y).shape == np.broadcast_shapes(np.shape(x), np.shape(y))


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="could not be broadcast"):
        pairs(V, M[:, 0])


@pytest.mark.parametrize("engine", ["tape", "generated"])
def test_gradients(engine):
    expected = contad.grad(total.py_func, (0, 1))(V, M)
    found = contad.grad(total, (0, 1), engine=engine)(V, M)
    for bar, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-12)


def test_every_transform_of_an_array():
    expected = contad.grad(curve.py_func)(V)
    program = contad.record(curve, V)
    assert program(V) == pytest.approx(curve(V), rel=1e-14)
    np.testing.assert_allclose(contad.grad(lambda x: curve(x))(V), expected, rtol=1e-12)
    np.testing.assert_allclose(contad.grad(program)(V), expected, rtol=1e-12)
    np.testing.assert_allclose(contad.jvp(curve, (V,), (V,))[1], expected @ V, rtol=1e-12)
    np.testing.assert_allclose(contad.hessian(curve)(V), contad.hessian(curve.py_func)(V), rtol=1e-10)
    assert contad.cfunc(curve, 2) is not None
