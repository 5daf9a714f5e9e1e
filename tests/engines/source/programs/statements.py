"""Bodies of functions, one for each thing that statements and expressions may mean."""

from tests.engines.source.programs.harness import Table, listed, numbered

# as Python runs them
AS_PYTHON = numbered("""\
return (-7 // 2) * a + (-7 % 3) + (7 // -2) + (7 % -3) + x[0]
return (a - 2.0) // 0.3 * a + (a - 2.0) % 0.3 + x[0] % -0.25 + 5.5 // -2.0
return (on + on) * a + (True + 1) * x[0] + on * 2.5
return a * (on * on) + x[0] * (-on)
return a * (on - (k > 1)) + x[0]
return x[-1] * a + x[-2 + 1] + idx[-3] + m[-1, -2]
return a * x[0] if x is not None else 1.0
return a * x[0] if 0.0 < a < 1.0 < 2.0 else a
return a * x[0] if -1 < k <= 2 != 3 else a
return math.floor(-a) * x[0] + math.ceil(a) * x[1] + math.trunc(-1.5) * a + a
return a ** k * x[0] + x[1] ** 3 + 2 ** 3 * a + (-2) ** 2 + k ** 2
return -x[0] ** 2 + a
return (x[1] ** 2.0) * a + x[1] ** 3.0 + a ** -1 + a ** 0 + a ** 0.0 + x[0]
return a // 1 * x[0] + a
return a * x[0] + len((1, 2, 3)) + (a, 2.0)[0] + (1, 2, 3)[k]
return ~k * a + x[0]
return +a * x[0] - -a
return a * x[0] if on else a
return a * x[0] if on and not (k == 3) else a
return a * x[0] if on & (k == 2) else a
return np.sum(np.array([a, x[0]]))
return x.sum() * a + x.mean() + x.max() + x.min() + (x * x).sum()
return np.sum(m, axis=0)[1] * a + x[0]
return np.sum(m, 1)[1] * a + x[0]
return m.sum(axis=1)[1] * a + x[0]
return m.sum(0)[1] * a + x[0]
return np.maximum(a, x[0]) * np.minimum(x[1], a) + max(a, x[0], 3) + min(k, 1)
return np.abs(x[1]) * np.fabs(a) + np.sign(x[1]) + np.square(a)
return x.T[0] * x.ndim * a + x.size * m.size
return np.dot(m, x[:4])[0] * a + (m @ m.T)[0, 1] + x[:4] @ x[1:]
return a * x[0] * math.pi + np.pi + math.e + math.inf * 0.0 if a > 10.0 else a * math.tau
return x[int(a * 3)] * a
return x[k - 4] * a
return np.exp(x)[1] * a + np.sum(np.exp(x) * np.sin(m[0, 0]))
return a * x[0] + 10**18 * 10 * 0.0
return a * x[0] + (-7 // 2.0) + 7 % -2.5 + (k / 3)
return np.floor(a) * x[0] + a + np.ceil(a)
return np.where(a > 0.5, x[0], 1.0) * a
return a * x[0] if x.shape == (5,) else a
return a * x[0] if (1, 2) == (1, 2) else a
return contad.expit(a) * contad.erf(x[0])
return np.arctan2(a, x[0]) + np.hypot(a, x[1]) + math.atan2(a, x[2]) + np.logaddexp(a, x[1])
return abs(idx[2]) * a + x[0] * abs(-3)

u = x.copy()
pair = (u * 2.0, a)
u[0] = 7.0
return pair[0][0] * a

u = x.copy()
w = np.zeros(5)
u[:], w[:] = w * 1.5, u * 2.0
return np.sum(u) + np.sum(w * w) * a

@njit
def h(v, w, u):
    return v * w[0] + u
---
rest = (x, a)
return h(x[1], *rest) + h(*(a, x[2:]), x[0])

@njit
def h(v):
    v[0] = 5.0
    return 2.0
---
u = x.copy()
s = np.sum(u * a) + h(u)
return s

@njit
def h(v):
    v[0] = 5.0
    return 2.0
---
u = x.copy()
s = u[0] * a + h(u) + u[0]
return s

@njit
def h(v):
    v[0] = 5.0
    return 2.0
---
u = x.copy()
u[1] += h(u) * u[1] * u[0] + a
return u[1]

@njit
def h(v):
    v[1] = 5.0
    return 2.0
---
u = x.copy()
u[1] += h(u) + a
return u[1]

@njit
def h(v):
    v[1] = 5.0
    return 1
---
u = x.copy()
u[h(u)] = h(u) * a
return u[1] + u[0]

i = k - 9
return (i // 2) * a + (i % 3) + (i // -2) * 10 + (9 - i) % -4 + x[1]

s = 0.0
for i in range(-4, 5):
    s += (i // 3) * a + (i % 3) * x[0] + (i % -3) + (i // -3)
return s

u = v = x * a
u[0] = 9.0
return v[0] * a + x[1]

u = x.copy()
i = 0
i = u[i] = 2
return u[2] * a + u[0] + i

u = x.copy()
i = 0
i, u[i] = 2, 5.0 * a
return u[2] * a + u[0] + i

u = x.copy()
v = u[1:4]
v += a
u *= 2.0
return np.sum(u) + v[0]

u = x.copy()
v = u
v += a
return u[0] * 3.0

u = x.copy()
v = u
v = v + a
return u[0] * 3.0 + v[0]

sum = a
max = x[0]
len = 3.0
return sum * max * len

abs = 3.0
return abs * a + x[0]

z = float('inf')
s = z
for v in x:
    s = min(s, v * a)
return s

z = np.inf
s = -z
for v in x:
    s = max(s, v * a)
return s + x[0]

z = -0.0
return math.copysign(1.0, z) * a + math.copysign(a, -0.0) * x[0] + x[1]

z = 0.0
z = -z
return math.copysign(a, z) + x[0]

z = 0.0 * -1.0
return math.copysign(a, z) + x[0]

z = 0.0 - 0.0
return math.copysign(a, z) + x[0]

z = None
if z is None:
    z = a
return z * x[0]

z = None
return a * x[0] if z is None else a

for i in range(4):
    a += x[i]
return a * i

i = 7
for i in range(0):
    a += x[i]
return a * i + x[0]

s = 0.0
for v in x:
    s += v * a
return s * v

s = 0.0
for i, v in enumerate(x, 3):
    s += v * a * i
return s

s = 0.0
for i, v in enumerate(x[1:]):
    s += v * a * i
return s

i = 10
if i < 5 and x[i] > 0:
    a = 1.0
return a * x[0]

z = not (a > 5.0)
return x[0] * a * z + (not k)

w = np.zeros(5, np.int64)
w[0] = 2.7
return w[0] * a + x[0]

w = np.zeros(5, np.int64)
w[:] = x * 3.0
return w[3] * a + x[0]

w = np.zeros(5, np.int64)
w += 1
w *= 3
w[0] -= 1
return w[0] * a + w[1] * x[0]

w = x > 0.0
return w[0] * a + np.sum(w) * x[0]

w = idx / 2
return w[0] * a + x[0]

w = idx // 2
v = idx % 3
return w[2] * a + v[2] * x[0]

w = np.ones(5)
w[0:3] = idx[0:3]
return w[0] * a + x[0]

w = x[k:]
w2 = x[:-1]
w3 = x[::-1]
w4 = x[-3:]
return w[0] * w2[1] * w3[0] * w4[0] * a

w = x[10:]
w2 = x[3:1]
return len(w) * a + len(w2) + x[0]

w = x[-10:2]
return len(w) * a + w[0]

w = x[::-2]
return len(w) * a + w[0] * w[1]

w = m[1:, ::2]
return np.sum(w * w) * a + w[0, 1] * w[-1, -1] + w.shape[0] * w.shape[1]

w = m[1]
w2 = m[:, 1]
return np.sum(w) * w2[2] * a

w = m.T
return w[1, 2] * a + np.sum(w[0] * w[1])

s = 0.0
for row in m:
    row[0] = 2.0
    s += row[0] * row[1] * a
return s + m[0, 0]

p, (q, r) = a, (x[0], x[1])
return p * q * r

p = q = a
p += 1.0
return p * q * x[0]

p = (a, x[0])
q, r = p
p = (q * r, p[0])
return p[0] * p[1]

s = 0.0
p = (a, x[0])
for i in range(3):
    p = (p[1], p[0] * 0.5 + x[i])
return p[0] * p[1]

if a > 0.5:
    t = a * 2.0
return t * x[0]

if a > 5.0:
    t = a * 2.0
return a * x[0]

s = 1
for i in range(3):
    s *= 2
s /= 4
return s * a * x[0]

s = 5 & 3 | 8
s ^= 1
s <<= 2
s >>= 1
return s * a * x[0]

w = m * x[:4] + m[:, 0:1]
return np.sum(w) * a

w = m * m[0:1]
return np.sum(w) * a

w = x[0:1] * x
return np.sum(w) * a

w = x * 2.0
w[:] = x[0:1]
return np.sum(w) * a

m[:] = m[:, 0:1]
return np.sum(m * m) * a + x[0]

w = np.empty((2, 3))
for i in range(2):
    for j in range(3):
        w[i, j] = a * i + x[j]
return w[1, 2] * np.sum(w)

w = np.full(3, a)
w2 = np.full((2, 2), 3)
return np.sum(w) * w2[0, 0] * x[0]

w = np.ones_like(x)
w2 = np.empty_like(x)
w2[:] = a
return np.sum(w * w2 * x)

n, c = m.shape
return n * a + c * x[0]

t = 'hello'
return a * x[0]

f = a
g = f * 2.0
return g * x[0]

g = lambda y: y * a
return g(x[0])

u = x
u[0] = 5.0 * a
return x[0] * a + x[1]

if on:
    u = x
else:
    u = idx * 1.0
return u[0] * a

z = 0
if a > 0.5:
    z = 1.5
return z * a * x[0]

z = True
for i in range(3):
    z = z + 1
return z * a * x[0]

s = 0
for i in range(3):
    s += on
return s * a * x[0]

t = a
t: float = x[0]
return t * a

w = np.zeros(3)
w[0], w[1] = a, x[0]
w[0], w[1] = w[1], w[0]
return w[0] * 2.0 + w[1] * w[1]

u = x.copy()
u[1:] = u[:-1]
return np.sum(u * x) * a

u = x.copy()
u[:] = u[::-1] * a + u
return np.sum(u * x)

s = 0.0
for i in range(len(x)):
    s += x[i] if x[i] > 0 else (0 if i % 2 else a)
return s

c = 1j
return a

for i in (0, 1):
    if x[i] > 0:
        break
    a += x[i]
return a

w = np.zeros((2, 2, 2))
w[1, 0, 1] = a
w[0] = x[0]
w[:, 1, :] *= 3.0
return np.sum(w * w)

x[0] = a
x[1] += a
return x[0] * x[1]

s = np.float64(0)
s += a
return s * x[0]

y = x * a
y -= x
y /= 2.0
y **= 2
return y[0] + y[1]

y = idx * 1
y += 1
return y[0] * a + x[0]

u = np.array([a, 2.0, x[0]])
v = np.array([[1, 2], [3, 4]])
return np.sum(u * u) + v[1, 0] * a + v.shape[0]

u = np.array([1, a])
w = np.array(x)
w[0] = 3.0
return u[0] * u[1] + x[0] * w[0]

A = np.eye(4) * a + m.T @ m
return A[0, 0] * A[1, 0] + np.sum(np.identity(3) * x[:3])

y = m.copy()
y[:, 1] += y[:, 0]
y[2] *= y[1]
y[:, -1] -= y[:, -2] * a
return np.sum(y * m)
""")

# what need not run, and does not
LAZY = numbered("""\
i = k + 7
return a * 2.0 if 0 <= i < 5 < x[i] else a * x[0]

i = k + 7
if 0 <= i < 5 and x[i] > 0.0:
    a = 3.0
return a * x[0]

i = k - 2
return a if 0 < i < 3 // i else a * x[0]

@njit
def h(v):
    v[0] = 5.0
    return 1.0
---
u = x.copy()
s = a if 1.0 < a < h(u) else a * x[1]
return s * u[0]

i = k
return a if 0 < i < 3 // i < x[i + 1] * 2.0 else a * x[0]
""")

# what Python and Numba do differently: as Numba
AS_NUMBA = numbered("""\
return (small[0] * small[0]) * a + x[0]

w = np.zeros(5, np.bool_)
w[0] = 2
return w[0] * a + (w[0] + w[0])

s = small[1]
for i in range(3):
    s = s * small[0]
return s * a + idx[2] // 3 * x[0] + idx[2] % 3
""")

# of which Numba computes a part, as it stands
HANDED_ON = numbered("""\
return a * (k and 3) + x[0]
return int(-2.7) * a + int(a * 13.0) * x[0] + round(a)
return 2 ** k * a + x[0]
return 2 ** -1 * a + x[0]
return np.var(m) * a + x[0] * np.std(idx) + m.max() * a
return np.sum(m[0][m[0] > -0.5]) * a + np.sum(x * x[idx[0]]) * np.sum(m[1][np.array([2, 0])])
return np.sum(np.round(x, 1) * x) + np.any(x > 1.5) * a + np.all(x > 0.0) * x[0] + x.argmax() * x[1]
return sum([v * v for v in m[0]]) * a + len({1: k}) * x[0] + np.sum(np.array([j * 0.5 for j in range(k)])) * x[1]

w = small + small
return w[0] * a + x[0]

u, s, v = np.linalg.svd(m)
return a * u[0, 1] + s[1] * x[0] * x[1] + v[0, 0]

w = np.sort(m[0])
w[0] = a * x[0]
w[1] *= x[1]
return np.sum(w * w)

order = np.argsort(x)
s = 0.0
for i in range(5):
    s += x[order[i]] * (i + 1) * a
return s

s = 0.0
for i in range(3):
    low = np.sort(m[i])
    s += np.sum(low * x[:4]) * np.median(m[:, i])
return s * a

if a > 0.5:
    w = np.unique(idx)
    a = a * w[-1] + len(w)
return a * x[0]

w = m.reshape(4, 3)
return w[3, 1] * a + np.sum(w.ravel()[2:7] * x)

grid = np.linspace(-1.0, 2.0, 7)
s = 0.0
for i in range(5):
    c = np.searchsorted(grid, x[i])
    s += (x[i] - grid[c - 1]) * x[i] * a
return s

np.random.seed(3)
w = np.random.normal(0.0, 1.0, 5)
return np.sum(w * x) * a

@njit
def h(v):
    found = {}
    for j in range(len(v)):
        found[j] = v[j]
    return found[1], v * 2.0
---
p, w = h(m[0])
q, _ = h(idx * 0.5)
return p * a + np.sum(w * x[:4]) * q

@njit
def count(v):
    found = [j for j in range(len(v)) if v[j] > 0.5]
    return len(found)
---
return count(x) * a * x[0]
""")

RAISING = listed("""
# ValueError:
s = 0.0
for j in range(0, 5, k - 2):
    s += x[j] * j * a
return s + a
# AssertionError: no
assert a < 0.5, 'no'
return a
# AssertionError:
assert a < 0.5
return a
# ValueError: .'big', 3.
if a > 0.5:
    raise ValueError("big", 3)
return a
# ValueError: .'big', 1.4, 2.
big = a * 2.0
if a > 0.5:
    raise ValueError("big", big, k)
return a
# ValueError:
if a > 0.5:
    raise ValueError
return a
# ZeroDivisionError:
return a / (k - 2) + x[0]
# ZeroDivisionError:
return a % (k - 2) + x[0]
# ZeroDivisionError:
return (3 // (k - 2)) * a + x[0]
# ValueError:
if a > 0.5:
    raise ValueError(f"bad {a}")
return a * x[0]
""")

REFUSED = listed("""
# a call that writes into an array of the same expression
@njit
def h(v):
    v[0] = 5.0
    return v * 2.0
---
u = x.copy()
w = u * a + h(u)
return np.sum(w)
# a call that writes into an array of the same expression
@njit
def h(v):
    v[0] = 5.0
    return 2.0
---
u = x.copy()
w = u * a + h(u)
return np.sum(w)
# a write into an array of fewer than 64 bits, which wraps or rounds
small[0] += 1
return small[0] * a + x[0]
# 'a and x[0]', which is one of its operands: return (a and x[0]) + (k or 3)
# 'a or x[0]', which is one of its operands
z = a or x[0]
return z * x[0]
# the statement del
del k
return a * x[0]
# 'a and on', which is one of its operands: return (a and on) * x[0]
# the index 'on': return x[on] * a
# 'q[:, :-1] += q[:, 1:]' of overlapping parts, where Numba and NumPy differ
q = m.copy()
q[:, :-1] += q[:, 1:]
return np.sum(q * m) * a
# 'q += q[::-1]' of overlapping parts, where Numba and NumPy differ
q = m.copy()
q += q[::-1]
return np.sum(q * m) * a
# integers whose result does not have 64 bits
z = 9223372036854775807
return a * x[0] + (z + 1) * 1e-20
# the function g, handed to another
@njit
def h(q):
    return q(2.0)
---
def g(y):
    return y * a
return h(g) * x[0]
# a function whose captured names have changed since
c = 3.0
def g(y):
    if y > 0.5:
        return y * c
    w = y
    return w * w
c = 2.0
return g(a)
# the call of 'setdiff1d': return np.setdiff1d(x * a, x)[0]
# the call of 'asfortranarray'
w = x[:4].copy()
w[0] = a
return np.asfortranarray(w)[1]
# the array method .view
w = m[0].copy()
v = w.view(np.float64)
w[1] = 7.0
return v[1] * a
# the call of 'fill_diagonal'
w = m[:3, :3].copy()
np.fill_diagonal(w, 1.0)
return w[0, 0] * a
# the recursive function power
@njit
def power(n):
    return 2 if n == 0 else 2 * power(n - 1)
---
return power(k) * a
# 'found.popitem()' of a dict
found = {}
found[0] = x[0]
return found.popitem()[1] * a
""")

# beyond 64 bits
OVERFLOWS = numbered("""\
z = 2**62
return a * x[0] + (z * 2) * 1e-20

z = 9223372036854775807 + k
return a * x[0] + z * 1e-20
""")

STATEMENTS = Table("statements", AS_PYTHON | LAZY, REFUSED, RAISING)
COMPUTED_BY_NUMBA = Table("computed by Numba", HANDED_ON)
BEYOND_64_BITS = Table("integers beyond 64 bits", OVERFLOWS, overflows=True)
