"""Views where NumPy and Numba give views, copies where they copy: each body writes, and reads what it has written."""

import numba
import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import EngineLimitError, UnsupportedError
from tests.engines.source.bodies import agree, bodies_in, function_of, generated

WRITING = bodies_in("""\
z = np.zeros(6)
w = z.reshape(3, 2)
w[1, 0] = x[2] * x[1]
z[5] = a * a
w[:, 1] += x[:3]
return np.sum(z * z)

z = np.zeros((2, 3))
r = z.ravel()
r[1] = x[0] * x[1]
z[1, 1] += a
return np.sum(z * z) + r[4] ** 3 + np.sum(z.flatten())

z = np.zeros((2, 3))
c = z.flatten()
c[1] = x[0] * x[1]
z[1, 1] += a
return np.sum(z * z) + np.sum(c * c)

z = np.zeros((2, 3))
c = z.T.ravel()
c[1] = x[0] * x[1]
z[1, 1] += a
return np.sum(z * z) + np.sum(c * c)

t = np.zeros((2, 3, 2))
u = np.transpose(t, (1, 0, 2))
u[0, 1, 0] = x[0] * x[1]
u[2, 0] = x[:2]
w = t.transpose(2, 0, 1)
return np.sum(w[0] * w[1]) + np.sum(t * t) * a + w[0, 1, 0] + np.swapaxes(t, 0, 2)[1, 2, 0]

z = np.zeros((2, 3))
y = np.atleast_2d(z[1])
y[0, 2] = a * x[0]
np.expand_dims(z, 2)[0, 1, 0] = x[1] * x[1]
np.asarray(z)[0, 0] = x[2] * a
np.ascontiguousarray(z[0])[2] = x[3]
np.flip(z)[0, 2] += x[4] * a
return np.sum(z * z)

s = 0.0
for i in range(3):
    z = np.sin(m * x[i])
    c = z.ravel()
    s += np.sum(c * c) * x[i]
return s * a

z = np.zeros((2, 3))
for i in range(2):
    w = z.reshape((3, -1))
    w[i] += x[i] * a
    if x[i] > 0.0:
        z.reshape(6)[i] *= x[4]
return np.sum(z * z)

w = m + x[:3].reshape(3, 1)
return np.sum(w * w) * a

t = np.ones((1, 2, 1, 3, 2))
t[0, :, 0, 1] = x[1:3]
t *= a
for row in t[0]:
    row[0, 2, 1] += np.sum(row)
return np.sum(t * t) + np.sum(t, axis=3)[0, 1, 0, 1]
""")


@pytest.mark.parametrize("body", WRITING)
def test_what_is_written_is_seen_where_memory_is_shared(body):
    agree(body)


def test_a_copy_that_may_be_the_array_itself_is_not_written():
    f = function_of("z = np.sin(m.T * a)\nc = z.ravel()\nc[1] = x[0]\nz[1, 1] += x[2]\nreturn np.sum(z * c[1])")
    with pytest.raises(UnsupportedError, match=r"f:?.* an array that may be another one or a copy of it"):
        generated(f)


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
