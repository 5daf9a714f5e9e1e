"""Views where NumPy and Numba give views, copies where they copy: each program reads what it has written."""

from tests.engines.source.programs.harness import Table, listed, numbered

WRITING = numbered("""
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
REFUSED = listed("""
# an array that may be another one or a copy of it
z = np.sin(m.T * a)
c = z.ravel()
c[1] = x[0]
z[1, 1] += x[2]
return np.sum(z * c[1])
""")
SHAPE_CALLS = Table("shape calls", WRITING, REFUSED)
