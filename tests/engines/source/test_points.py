"""Arrays of no axes: made, read, written and handed on inside a function, and as its arguments and results."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from tests.engines.source.agreement import as_python, request
from tests.engines.source.bodies import agree, bodies_in, function_of, generated

BODIES = bodies_in("""\
z = np.array(x[0] * a)
w = z
z[()] += x[1] * x[1]
w[()] *= a
return z[()] * w.item() + z.sum() * x[2] + np.sin(z) * z ** 2

z = np.zeros(())
for i in range(5):
    z[()] += x[i] * x[i] * a
return z * 2.0 + x[0]

z = np.full((), x[1])
u = z.copy()
v = np.copy(z)
u[...] = a * u
z += x[2]
z -= u
z *= v
z /= a + 2.0
return z[()] * u[()] + v[()] ** 3 + np.maximum(z, v) + (x / (z + 3.0)).sum() + z.mean() + np.max(z) * a

z = np.asarray(x[0] * a)
w = np.asarray(z)
w[()] += x[3]
y = np.ones(())
y *= z
e = np.empty(())
e[()] = y
e[()] = e * a
return np.exp(-z * 0.3) * (e - 2.0) + len(z.shape) + z.ndim + z.size

z = np.array(x[0])
z.reshape(1)[0] *= a
z.reshape((1, 1))[0, 0] += x[1]
z[None][0] *= x[2]
np.atleast_1d(z)[0] += x[3] * a
np.atleast_2d(z)[0, 0] *= x[4]
np.expand_dims(z, 0)[0] += x[0]
z.ravel()[0] *= x[1]
z.T[()] += a
z.reshape(())[()] *= x[0]
np.ascontiguousarray(z)[0] += x[0] * x[1]
z.flatten()[0] = 7.0
z.astype(np.float64)[()] = 7.0
return z.item() * z[None, None][0, 0] * np.ravel(z)[0]

y = x * a
z = y[1:2].reshape(())
z[()] *= x[0]
w = np.reshape(y[2:3], ())
w += z
return np.sum(y * y) + z[()] * w[()]

z = np.array(x[0])
w = np.array(x[1])
if a > 0.5:
    w = z
w[()] += a
u = z if x[3] > 100.0 else w
u[()] *= x[2]
return z[()] * w[()] + u[()]

z = np.array(1.0)
for i in range(4):
    z = np.array(z[()] * x[i] + a)
return z[()] * a

z, w = np.array(x[0]), np.array(x[1])
for i in range(3):
    z, w = w, z
    z[()] += a * x[i]
return z[()] * 2.0 + w[()] ** 2

i = np.array(k)
z = np.array(a)
y = x.copy()
y[i] = z
y[1:] += z
y[0] = z * x[1]
y[3:] = z
return np.sum(y * y) * x[i] + x[i - 1]

z = np.array(x[0] * a)
s = 0.0
for v in z.flat:
    s += v * x[1]
for j, v in np.ndenumerate(z):
    s += v * x[2] + len(j)
for j in np.ndindex(z.shape):
    z[j] = s * a
return s * z[()]

z = np.array(x[0] * a)
np.sin(z, z)
np.add(z, x[1], z)
w = np.zeros_like(z)
np.multiply(z, z, w)
v = np.full_like(z, x[2]) + np.ones_like(z) + np.full_like(x[0], a) + np.empty_like(z).size
t = np.append(x, z)
c = np.where(z > 0.0, z, x[3])
d = c
c += a
v += d[()] + np.interp(z, np.array([-1.0, 0.0, 1.0]), x[:3])
return w[()] * v + np.sum(t * t) + np.where(z > 0.0, z, x[1]) * np.clip(z, -1.0, x[4] + 9.0) + np.clip(z, 2.0, None)

z = np.array(x[0] * a)
ix = ()
z[ix] = z[ix] * x[1]
if z > -100.0 and z != 3.0 and z:
    z[()] += a
c = np.where(x[0] > 0.1, x[0], x[1])
return z[()] + c[()] * c.item() + np.float64(z) * bool(z) + z.prod() * a + np.var(z) + z.cumsum()[0] + np.median(z) * a

z = np.array(x[0] * a)
t = (z, np.array(x[1]))
t[0][()] += a * x[2]
t[1][()] *= t[0][()]
p, q = t
q[()] += p[()]
return z[()] * t[1][()]

z = np.array(k * 3)
w = np.zeros((), np.int64)
w[()] += z[()] // 2
u = np.array(on)
return x[w] * a + (x[0] if u[()] else x[1]) + z / 7 * x[2]

@njit
def bump(z, y):
    z[()] += y * y
@njit
def square(z):
    return z[()] ** 2
@njit
def made(y):
    return np.array(y * 2.0)
---
z = np.array(x[0] * a)
bump(z, x[1])
w = made(z[()])
bump(w, a)
return square(z) + w[()] * x[2]

z = np.zeros(())
for i in range(5):
    t = np.array(x[i])
    t *= a
    for j in range(3):
        t[()] *= x[j] + 2.0
        if t > 1.0:
            z[()] += t * t
    z += t
return z[()] * a

z = np.array(x[0] * a)
def add(y):
    z[()] += y
    return z * y
return add(x[1]) + add(x[2]) * z[()]
""")


@pytest.mark.parametrize("body", BODIES)
def test_bodies(body):
    agree(body)


REFUSED = (
    ("z = np.array(a)\nreturn z[...] * x[0]", "the subscript 'z[...]' of an array of no axes; write z[()]"),
    ("z = np.array(k)\nz += a\nreturn z[()] * x[0]", "'z += a', whose result is no number of the array's type"),
    ("z = np.array(x[0], np.int64)\nreturn z[()] * a", "which rounds; give a number of 64 bits"),
    ("t = [np.array(a), np.array(x[0])]\nreturn t[0][()]", "of what is no number"),
)


@pytest.mark.parametrize(("body", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refused(body, message):
    with pytest.raises(UnsupportedError) as error:
        generated(function_of(body))
    assert message in str(error.value)


# ---- as arguments and results ----------------------------------------------------------------------------------------
@njit
def oscillator(z, x, pair):
    """sin(u) w + u x_1 with u = z x_0 and w = v + u^2."""
    z[()] *= x[0]
    w = pair[0].copy()
    w += z * z
    return np.sin(z) * w[()] + z * x[1]


POINT = np.array(2.0), np.array([0.3, -1.2]), (np.array(0.7), 3)


def value(z, x, v):
    u = z * x[0]
    return np.sin(u) * (v + u * u) + u * x[1]


def gradient(z, x, v):
    """By hand: z, x and v in a row."""
    u = z * x[0]
    by_u = np.cos(u) * (v + u * u) + 2.0 * u * np.sin(u) + x[1]
    return np.array([by_u * x[0], by_u * z, u, np.sin(u)])


def second(z, x, v):
    """Columns of second derivatives, by complex steps of the gradient."""
    start = np.array([z, *x, v])
    moved = [start + 1e-30j * row for row in np.eye(4)]
    return np.array([gradient(y[0], y[1:3], y[3]).imag for y in moved]).T * 1e30


def test_arguments_are_compiled():
    derivative = contad.value_and_grad(oscillator, argnums=(0, 1))
    z, x, pair = POINT
    for point in (z, np.array(-0.7)):
        found, (by_z, by_x) = derivative(point, x, pair)
        assert contad.engine_name(derivative, args=(point, x, pair)) == "generated"
        assert found == pytest.approx(value(float(point), x, 0.7), rel=1e-14)
        assert isinstance(by_z, np.ndarray) and by_z.shape == ()
        np.testing.assert_allclose([by_z, *by_x], gradient(float(point), x, 0.7)[:3], rtol=1e-13)
    assert z == 2.0  # what the function writes into is a copy


def run_in_python(function, args, argnums, mode, *more):
    """What `run` of a derivative gives for (args, *more), as plain Python."""
    return as_python(request(function, *args, argnums=argnums)._replace(mode=mode))(args, *more)


def test_second_order_of_arguments():
    tangents = (np.array(0.8), np.array([-0.4, 1.7]))
    found, (by_z, by_x) = run_in_python(oscillator, POINT, (0, 1), "hvp", tangents)
    expected = second(2.0, POINT[1], 0.7)[:3, :3] @ [0.8, -0.4, 1.7]
    assert found == pytest.approx(value(2.0, POINT[1], 0.7), rel=1e-14)
    np.testing.assert_allclose([by_z, *by_x], expected, rtol=1e-12)


@njit
def outputs(z, x):
    w = np.array(z[()] * x[0])
    return w, z * x[1], np.asarray(w).reshape(1)


def test_results():
    z, x = POINT[:2]
    shown, tangents = run_in_python(outputs, (z, x), (0, 1), "jvp", (np.array(0.8), np.array([-0.4, 1.7])))
    assert [y.shape for y in (*shown, *tangents)] == [(), (), (1,)] * 2
    np.testing.assert_allclose(np.ravel(shown[0]), 0.6)
    np.testing.assert_allclose(np.hstack(tangents), [0.8 * 0.3 - 2.0 * 0.4, -0.8 * 1.2 + 2.0 * 1.7, -0.56], rtol=1e-14)
    by_z, by_x = run_in_python(outputs, (z, x), (0, 1), "vjp", (np.array(0.5), 2.0, np.array([-1.5])))
    assert by_z.shape == ()
    np.testing.assert_allclose([by_z, *by_x], [-0.3 - 2.4, -2.0, 4.0], rtol=1e-14)
