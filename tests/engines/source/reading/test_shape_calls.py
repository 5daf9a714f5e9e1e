"""Shapes that are known when the derivative runs, and orders in memory."""

import numba
import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import EngineLimitError


@njit
def folded(x, n):
    return np.sum(x.reshape(n, -1)[0] * x.reshape((2, n))[0])


def test_a_length_of_minus_one_that_is_not_seen_is_a_limit():
    x = np.array([0.3, -1.2, 0.7, 1.9])
    assert contad.grad(folded, engine="generated")(x, 2).tolist() == [0.6, -2.4, 0.0, 0.0]
    with pytest.raises(EngineLimitError, match="write -1 as a number"):
        contad.grad(folded, engine="generated")(x, -1)
    with pytest.raises(ValueError, match=r"size|shape"):
        contad.grad(folded, engine="generated")(x, 3)


@njit
def in_order(m, x):
    return np.sum(m.T.ravel() * np.arange(12.0)) * x + np.ascontiguousarray(m.T)[1, 2] * m.ravel()[5]


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_orders_in_memory(order):
    m = np.arange(24.0).reshape(3, 8)[:, ::2]
    m = m if order == "A" else np.array(m, order=order)
    found = contad.grad(in_order, engine="generated")(m, 0.7)
    np.testing.assert_allclose(found, contad.grad(in_order.py_func)(m, 0.7), rtol=1e-12)
    assert numba.typeof(m).layout == order
