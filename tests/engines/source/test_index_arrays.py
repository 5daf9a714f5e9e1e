"""Elements at positions and under masks: read, written, updated, in loops and branches, of several axes."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from tests.engines.source.bodies import agree, bodies_in, function_of, generated

BODIES = bodies_in("""\
y = np.zeros(5)
y[np.array([1, 3, 1])] = x[:3] * a
y[np.array([2, 2])] += x[0]
y[-np.array([1, 5])] *= a
return np.sum(y * y)

y = x.copy()
y[1:][np.array([0, 2])] = y[:2] * a
y[np.array([0, 1])] = y[np.array([1, 0])]
y[idx[:2]] -= y[1:3] * y[1]
return np.sum(y * x) + y[0] * y[1]

y = m * a
y[np.array([0, 2])] *= x[:4]
y[:, np.array([1, 3])] = x[:2] * x[2]
y[1, np.array([0, 2])] += x[3]
y[np.array([0, 1]), np.array([1, 2])] = a * a
return np.sum(y * y) + np.sum(y[np.array([2, 0]), 1] * x[:2]) + np.sum(y[np.array([1, 1])][0])

y = x.copy()
for i in range(3):
    y[y > 0.5] *= 0.5 * a
    if y[i] < 0.4:
        y[x < 0.0] = y[i] * x[3]
    kept = y[y < 0.6]
    y[i] += np.sum(kept * kept)
return np.sum(y * y)

y = m[m[:, 0] < 0.0] * a
y[:, m[0] > -0.8] += x[0]
z = np.take(m, idx[1:2]) * x[1] + np.take(m, np.array([1, 0]), axis=1)[2, 0] * a
return np.sum(y * y) + z[0]

order = np.argsort(x)
y = np.zeros(5)
y[order] = np.arange(5.0) * x
t = np.zeros((2, 3, 2))
t[:, np.array([2, 0])] = x[:2] * a
return np.sum(y * x) + np.sum(t * t)

y = np.array([1, 0, 2, 0])
y[y] = y
z = y[np.array([2, 0])]
return x[z[0]] * a * y[1] + x[y[0]] * a
""")


@pytest.mark.parametrize("body", BODIES)
def test_elements_at_positions(body):
    agree(body)


@pytest.mark.parametrize("body", ["y[idx[:2], :, None]", "y[y > 0.0][0]", "y[0, :, None, idx][0]"])
def test_other_indices_are_refused(body):
    with pytest.raises(UnsupportedError, match="<body .*: f: .*ind"):
        generated(function_of(f"y = np.outer(x, x)\nreturn np.sum({body}) * a"))


@njit(boundscheck=True)
def at(x, k):
    return np.sum(x[k] * x[k])


def test_an_index_out_of_range_raises_where_that_is_asked_for():
    x = np.array([0.5, 2.0, 3.0])
    assert contad.grad(at, engine="generated")(x, np.array([2, -1, 0])).tolist() == [1.0, 0.0, 12.0]
    with pytest.raises(IndexError):
        contad.grad(at, engine="generated")(x, np.array([0, 3]))


@njit
def joined(x, d):
    pair = np.stack((x, x * x), axis=1)
    wide = np.hstack((pair, np.column_stack((x, d))))
    tall = np.vstack((np.concatenate((x[:2], d[2:])), np.append(x[1:], d[0])))
    return np.sum(wide[:, 1] * wide[:, 2]) + np.sum(tall[0] * tall[1])


@njit
def shifted(x, d):
    s = np.trapezoid(x * x, dx=0.5) * np.ptp(x)
    t = np.roll(np.outer(x, d), 4) + np.triu(np.outer(x, x), 1) * np.broadcast_to(d, (5, 5))
    ends = np.linspace(x[0], x[1], 4) * np.clip(np.full_like(x[:4], x[2]), None, d[1:])
    return s + np.sum(t * t) + np.sum(ends * ends) + sum([x[0], d[1], x[2]])


@pytest.mark.parametrize("f", [joined, pytest.param(shifted, marks=pytest.mark.long)])
def test_joined_and_shifted_arrays_are_right_once_they_are_compiled(f):
    x, d = np.array([0.7, 1.31, 2.1, -0.4, 0.9]), np.array([0.5, 2.0, -1.0, 0.25, 3.0])
    value, gradient = contad.value_and_grad(f, engine="generated")(x, d)
    assert value == pytest.approx(f(x, d), rel=1e-13)
    right = [(f(x + 1e-6 * e, d) - f(x - 1e-6 * e, d)) / 2e-6 for e in np.eye(5)]
    np.testing.assert_allclose(gradient, right, rtol=1e-6)
