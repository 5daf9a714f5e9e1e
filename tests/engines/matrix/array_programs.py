"""Functions that write to arrays and hold views of them, as text, and what their derivatives are compared with.

They run on NumPy itself with complex steps, which share nothing with contad.
"""

import numpy as np

from tests.engines.source.programs.harness import functions_of

POINT = np.array([0.3, 0.7, 1.1, -0.4])
TABLE = np.array([[0.3, 0.7, 1.1], [-0.4, 0.9, 0.5]])
STEP = 1e-40


def complex_steps(f, x):
    """The gradient by complex steps: exact to rounding, and independent of contad."""
    slope = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        z = x.astype(complex)
        z[k] += STEP * 1j
        slope[k] = np.imag(f(z)) / STEP
    return slope


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


# of POINT, which they may write to
WRITES = functions_of("""\
# swap
t = x[0]
x[0] = x[1]
x[1] = t
return x[0] ** 2 * 3 + x[1] ** 3 + np.sum(x * t)
# old values after two overwrites
y = x[1]
x[1] = x[0] * 2
z = x[1]
x[1] = x[2] * z
return y * z * x[1] + np.sum(x * x)
# slice taken before an assignment
v = x[1:3]
w = v.copy()
x[1] = x[0] * x[3]
return np.sum(v * w) + v[0] * w[0]
# result taken before an assignment
y = np.sum(x * x)
z = x * 2
x[:] = 0.0
return y * np.sum(z) + np.sum(x)
# constant buffer rewritten
w = np.zeros(4)
s = 0.0
for i in range(4):
    w[:] = 0
    w[i] = i + 1
    s = s + np.dot(w, x) ** 2 + np.sum(w * x) * np.sum(x / (w + 1)) + np.sum(np.outer(w, x) @ (x * w))
return s
# constant buffer of equal contents
w = np.arange(4.0)
y = x * w
w[:] = w.copy()
z = x * w
w[1:] *= -1.5
return np.sum(y * z * w) + np.sum(np.sqrt(x * x + (w + 0.1) ** 2))
# masks and fancy indices
x[x > 0.5] *= 2
x[[0, 0, 1]] = np.stack([x[1], x[2], x[3]])
x[np.array([True, False, False, True])] = x[:2]
return np.sum(x**3)
# the last of repeated indices wins
y = np.zeros_like(x)
y[[1, 1, 2]] = x[:3]
y[[0, 0]] += x[2:]
return np.sum(y**3)
# overlapping assignments
x[1:] = x[:-1]
x[:-1] += x[1:]
x[::-1] = x
x[:2] = x[1:3] * x[0]
return np.sum(x**3 * np.arange(1.0, 5.0))
# views of views
y = np.zeros_like(x.reshape(2, 2))
y[0] = x[:2]
v = y.T[::-1]
u = v[:, 0:1]
y[0, 1] = x[3] * 2
u[0, 0] *= 3.0
v[1] += x[0]
w = u[::-1].reshape(-1)
w[0] = x[2]
return np.sum(y**3) + np.sum(u**2) + w[1] * w[0]
# in place on views
v = x[::2]
v += x[1::2]
v *= v
x -= x[0]
x /= 2.0
x **= 2
return np.sum(x * x * np.arange(4.0))
# lists tuples and object arrays
y = np.zeros_like(x, shape=(2, 2))
y[0] = [x[0], 2.0]
y[1] = (x[1], x[2] * x[3])
y[:, 0] = np.array([x[3], x[2]], dtype=object)
y[0, 1] = 1
y[1:] = [[x[0], 7]]
return np.sum(y**3)
# into part of itself
x[:2] = x[2:]
x[1:3] = x[1:3][::-1]
x[...] = x[::-1]
x[0] = np.sum(x)
return np.sum(x**2)
# negative steps
x[::-2] *= 2.0
return np.sum(x[::-2] ** 2) + np.sum(x[-1:0:-1] * x[1:]) + x[-1] * x[-4]
# rows and columns
X = x.reshape(2, 2)
X[0] += X[1]
X[:, 1] *= X[:, 0]
X.T[0, 1] = x[3]
return np.sum(X @ X) + np.sum(x**2)
# new axes
y = x[:, None] * x
y[1, None] = x
z = y[..., 0]
z[:] = x**2
return np.sum(y**2)
# rows exchanged
X = x.reshape(2, 2)
X[[0, 1]] = X[[1, 0]]
a, b = X
a[:], b[:] = b.copy(), a.copy()
X[0], X[1] = X[1], X[0]  # both views: the second row is lost, as in NumPy
return np.sum(X**2 * np.array([[1.0, 2.0], [3.0, 4.0]]))
# results into arrays
y = np.zeros_like(x)
np.multiply(x, x, out=y)
np.add(y, 1, out=y)
np.sin(y, out=y[...])
np.add.at(y, [0, 0, 1], x[:3])
return np.sum(y * y)
# recurrence over rows
h = np.zeros_like(x, shape=(5, 4))
h[0] = x
for t in range(4):
    h[t + 1] = np.sin(h[t]) + h[t - 1] * 0.5  # h[-1] is still zero at first
return np.sum(h[-1] * h[2])
# loops over rows
X = np.outer(x, x)
for row in X:
    row[0] = row[1] * x[0]
for k, row in enumerate(X):
    X[(k + 1) % 4] = X[(k + 1) % 4] * row
return np.sum(X)
# elements read when the loop gets there
s = 0.0
for i, v in enumerate(x):
    if i + 1 < len(x):
        x[i + 1] = x[i + 1] * v
    s = s + v * v
return s
# elements of flat
X = x.reshape(2, 2)
s = 0.0
for v in X.T.flat:
    s = s * 0.5 + v**2
for k, v in enumerate(X.flat):
    X[k // 2, k % 2] = 0.0
    s = s * 0.5 + v**3
return s
# scalars and arrays alternate
s = x[0] * x[1]
y = x * s
y[1] = s
s = s * s
y[2] = np.exp(s)
return np.sum(y * y) + s
# transposes of written arrays
X = np.outer(x, x**2)
Y = X.T
X[0, 1] = 3.0
return np.sum(Y @ X) + np.sum(Y * X) + np.sum(Y[1:, 0] * X[0, 1:])
# diagonals and grids
X = np.outer(x, x)
X[np.arange(4), np.arange(4)] = x
np.fill_diagonal(X, x[0])
X[np.ix_([0, 1], [2, 3])] = x[:2]
X[np.triu_indices(4, 1)] *= 2
return np.sum(X @ X)
# arrays without axes
y = x[0:1].reshape(())
z = y * 2
y[...] = x[3]
return np.sum(x**2) * z + y.item()
# moved copies
y = np.concatenate([x[1:], [1.0], x[:1]])
y[0] = x[0]
z = np.stack([y, y * 2])
z[0, 1] = y[2]
w = np.where(z > 1, z, np.roll(z, 1))
w[0] = 0.0
return np.sum(w * z) + np.sum(y**2)
# assignments through temporary views
x[1:][1:][0] = x[0]
x[::-1][0] *= 2
x[None][0, 1] = x[2]
return np.sum(x**3)
# a hundred views deep
s = 0.0
v = x
for k in range(100):
    v = v[::-1] if k % 2 else v[...]
v[0] = v[1] * 2.0
for k in range(3):
    s = s + v[0] * x[-1 - k] ** 2
    v = v[1:]
return s
# filled
y = x * 1
y.fill(x[0])
y[1:3] = 3
x.fill(2.0)
return np.sum(y * y) + np.sum(x)
# wholly overwritten by constants
y = x * 3.0
y[:] = 1.5
z = y * 2.0
z[0] = x[1] ** 2
return np.sum(z * z) + np.sum(y * x)
# reshaped results in fortran order
y = np.sin(x.reshape(2, 2).T)
r = y.reshape(-1)
r[0] = 0.0
return np.sum(y * y) + np.sum(r**3)
""", "x")

# of TABLE; views outlive what they were made with
VIEWS = functions_of("""\
# axes of a transpose
p = [1, 0]
y, z = x.transpose(p), np.transpose(x, p)
p[:] = [0, 1]
x[0, 1] = x[1, 2] ** 2
return np.sum(y[1] ** 2) + z[2, 1] * z[1, 0]
# shape of a reshape
s, t = [3, 2], [6]
y, z = np.reshape(x, s), x.reshape(t)
s[:] = [2, 3]
t.append(1)
x[0, 1] = x[1, 2] ** 2
return y[0, 1] * y[2, 1] + np.sum(z[:3] ** 3)
# moved axes
s, d = np.array([1, 0]), [0, 1]
y = np.moveaxis(x, s, d)
s[:] = [0, 1]
x[0, 1] = x[1, 2] ** 2
return np.sum(y[1] ** 2)
# shape of a broadcast
s = [2, 2, 3]
y = np.broadcast_to(x, s)
s[0] = 3
x[0, 1] = x[1, 2] ** 2
return np.sum(y**2)
# places of a split
i, j = np.array([1, 2]), [1]
a, b, c = np.split(x, i, axis=1)
d, e = np.split(x, j)
i += 1
j[0] = 2
x[0, 1] = x[1, 2] ** 2
return np.sum(b**2) + np.sum(a * c) + np.sum(d * e)
# ends of a slice
i, j = np.array(1), np.array(2)
y, z = x[:, i:], x.reshape(-1)[i:j]
i += 1
j += 3
x[0, 1] = x[1, 2] ** 2
return np.sum(y**2) + z[0] * z[-1]
# indices of elements
i = [0, 1]
k = np.array([2, 1])
y = x[i, k]
i[:], k[:] = [1, 1], 0
x[0, 2] = 5.0
return np.sum(y**2) + x[0, 2]
# copy in fortran order
y = x.copy("F")
y.ravel()[0] = 5.0
y.ravel("F")[1] = x[0, 2]
z = x.copy(order="F")
z.T.ravel()[2] = x[1, 2] ** 2
return np.sum(y**2 * np.arange(6.0).reshape(2, 3)) + np.sum(z**3)
# copies that keep their layout
s = 0.0
for y in (x.T.copy("K"), np.copy(x.T, order="K"), x.T.astype(x.dtype), x.T.copy("A"), np.copy(x, order="F")):
    y.ravel()[1] = x[1, 2] ** 2
    y.ravel("F")[4] = x[0, 0] * 3.0
    s = s * 0.5 + np.sum(y**2 * (1 + np.arange(6.0).reshape(y.shape)))
return s
# copies in c order
s = 0.0
for y in (x.T.copy(), x.T.copy("C"), x.T.astype(x.dtype, order="C"), x.T.flatten("F")):
    y.ravel()[1] = x[1, 2] ** 2
    s = s * 0.5 + np.sum(y**2 * (1 + np.arange(6.0).reshape(y.shape)))
return s
# cast without a copy
y = x.astype(x.dtype, copy=False)
y[0, 1] = x[1, 2] ** 2
z = x.T.astype(x.dtype, copy=True)
z[0, 0] = 7.0
return np.sum(x**2 * (1 + np.arange(6.0).reshape(2, 3)))
""", "x")

# of an array of an inner level, and of one of an outer level that is written into arrays of the inner one
INNER_AND_OUTER = functions_of("""\
# array
w = np.zeros_like(z)
w[:] = x
return np.sum(w * z * z)
# rows
w = np.zeros_like(z, shape=(3, 4))
w[0], w[1, 1:] = z, x[1:]
return np.sum(w[0] * w[1] * z + w[2] * z + np.dot(w[1], w[1]))
# scalars
w = contad.zeros(4)
w[1], w[2:], w[0] = x[0], x[2:] * x[0], z[0]
return np.sum(w * w * z)
# into the argument
z[0] = x[1]
z[1:3] = x[2:]
return np.sum(z * z * np.arange(1.0, 5.0)) * z[3]
# constant rows
h = contad.zeros((3, 4))
h[0] = z
return np.sum(h[0] * h[2] * x + h[0] ** 2 * x)
""", "z, x")  # fmt: skip


def written_result(x):
    """An array as the result, of cells that are repeated, written and constant."""
    y = x * x
    y[0] = x[1] * x[2]
    y[1:3] = y[:2]
    x[3] = y[0]
    y[3] = 2.0
    return y + 0.0 * x
