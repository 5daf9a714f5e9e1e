"""Arrays of no axes: made, read, written and handed on inside a function."""

from tests.engines.source.programs.harness import Table, listed, numbered

TAKEN = numbered("""
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
REFUSED = listed("""
# the subscript 'z[...]' of an array of no axes; write z[()]
z = np.array(a)
return z[...] * x[0]
# 'z += a', whose result is no number of the array's type
z = np.array(k)
z += a
return z[()] * x[0]
# which rounds; give a number of 64 bits
z = np.array(x[0], np.int64)
return z[()] * a
# of what is no number
t = [np.array(a), np.array(x[0])]
return t[0][()]
""")
POINTS = Table("points", TAKEN, REFUSED)
