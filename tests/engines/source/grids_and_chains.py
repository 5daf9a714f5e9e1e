"""Functions as people write them for Numba: equations on grids, networks, chains, energies of points.

`JACOBIANS` and `HESSIANS` have, by name, the arguments of a function, of which the first is differentiated, and how
many elements the patterns of the branches that are taken, and of all, have; these are counted by hand where they are
short.
"""

import re

import numpy as np

from tests.engines.source.programs.harness import Table, function_of, listed

RANDOM = np.random.default_rng(7)
FUNCTIONS = listed("""
# brusselator(y, k, alpha)
n = k * k
dy = np.empty(2 * n)
h2 = 1.0 / (k - 1) ** 2
for i in range(k):
    for j in range(k):
        c = i * k + j
        ip, im, jp, jm = (i + 1) % k, (i - 1) % k, (j + 1) % k, (j - 1) % k
        u, v = y[c], y[n + c]
        lu = y[ip * k + j] + y[im * k + j] + y[i * k + jp] + y[i * k + jm] - 4 * u
        lv = y[n + ip * k + j] + y[n + im * k + j] + y[n + i * k + jp] + y[n + i * k + jm] - 4 * v
        dy[c] = 1.0 + u * u * v - 4.4 * u + alpha * lu / h2
        dy[n + c] = 3.4 * u - u * u * v + alpha * lv / h2
return dy
# laplace2d(u)
m, n = u.shape
r = np.zeros((m, n))
for i in range(1, m - 1):
    for j in range(1, n - 1):
        r[i, j] = (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j]) - np.exp(u[i, j])
r[0, :] = u[0, :]
r[-1, :] = u[-1, :]
r[1:-1, 0] = u[1:-1, 0]
r[1:-1, -1] = u[1:-1, -1] ** 2
return r
# burgers(u, nu, dx)
n = len(u)
f = np.zeros(n + 1)
for i in range(1, n):
    ul, ur = u[i - 1], u[i]
    s = 0.5 * (ul + ur)
    if ul > ur:
        f[i] = 0.5 * ul * ul if s > 0 else 0.5 * ur * ur
    elif ul > 0:
        f[i] = 0.5 * ul * ul
    elif ur < 0:
        f[i] = 0.5 * ur * ur
r = np.zeros(n)
for i in range(n):
    r[i] -= (f[i + 1] - f[i]) / dx
    if 0 < i < n - 1:
        r[i] += nu * (u[i - 1] - 2 * u[i] + u[i + 1]) / dx**2
return r
# network(p, demand)
r = -demand.copy()
for e in range(len(SOURCES)):
    d = p[SOURCES[e]] - p[TARGETS[e]]
    q = math.sqrt(abs(d) + 1e-3)
    if d < 0:
        q = -q
    r[SOURCES[e]] += q
    r[TARGETS[e]] -= q
return r
# in place thomas(d)
n = len(d)
c = np.zeros(n)
x = d.copy()
c[0] = -1 / 4.0
x[0] = x[0] / 4.0
for i in range(1, n):
    w = 4.0 + c[i - 1]
    c[i] = -1 / w
    x[i] = (x[i] + x[i - 1]) / w
for i in range(n - 2, -1, -1):
    x[i] -= c[i] * x[i + 1]
return x
# swap(x)
y = x.copy()
for i in range(0, len(y) - 1, 2):
    t = y[i]
    y[i] = y[i + 1] * 2
    y[i + 1] = t * t
return y
# pendulum euler(z, steps, h)
a = z.copy()
for _ in range(steps):
    b = np.empty_like(a)
    for i in range(len(a)):
        left = a[i - 1] if i > 0 else 0.0
        b[i] = a[i] + h * math.sin(left)
    a = b
return a
# stencil power(x)
z = np.zeros_like(x)
i = 0
while i < len(x):
    acc = 0.0
    j = max(0, i - 2)
    while j <= min(len(x) - 1, i + 2):
        if j == i:
            j += 1
            continue
        acc += x[j] ** 3
        j += 1
    z[i] = acc * x[i]
    i += 1
return z
# calls(x)
z = np.zeros(len(x) - 1)
for i in range(len(z)):
    z[i] = flux(x[i], x[i + 1]) + (flux(x[i + 1], x[0]) if i % 3 == 0 else 0.0)
return z
# banded product(x)
return BAND @ (x * x) + BAND.T @ np.exp(x)
# slices(x)
z = np.zeros(len(x))
z[1:] += x[1:] * x[:-1]
z[:-1] -= x[:-1] ** 2
z[::2] *= 3.0
return z
# cum(x)
return np.cumsum(x) * x
# newton each(x)
z = np.empty_like(x)
for i in range(len(x)):
    t = 1.0 + x[i] * x[i]
    c = t
    for _ in range(50):
        dt = (t * t * t - c) / (3 * t * t)
        t -= dt
        if abs(dt) < 1e-14:
            break
    z[i] = t
return z
# bisect(x): a loop that ends as the argument decides, with writes in it
z = np.zeros(len(x))
z[0] = x[0]
low, high = 0.0, 4.0
while high - low > 0.01 * (1.0 + x[1] * x[1]):
    z[1] += 0.5 * x[2]
    low = low + 0.5 * (high - low)
z[2] = low * x[3]
return z
# pick(x): an element whose place the argument decides is read and written
z = np.zeros(4)
k = int(abs(x[0])) % 4
z[k] = x[1] * x[k + 2]
return z
# rosen(x)
s = 0.0
for i in range(len(x) - 1):
    s += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
return s
# springs(q)
e = 0.0
n = q.shape[0]
for i in range(n):
    for j in range(i + 1, min(i + 3, n)):
        dx = q[i, 0] - q[j, 0]
        dy = q[i, 1] - q[j, 1]
        e += 0.5 * (math.sqrt(dx * dx + dy * dy) - 1.0) ** 2
    e += 9.81 * q[i, 1]
return e
# arrowhead(x)
s = 0.0
for i in range(1, len(x)):
    s += math.exp(x[0] * x[i]) + x[i] ** 4
return s
# huber(x)
s = 0.0
for i in range(len(x) - 1):
    r = x[i + 1] - x[i] * x[i]
    s += 0.5 * r * r if abs(r) < 1.0 else abs(r) - 0.5
return s
# minimal surface(z)
m, n = z.shape
s = 0.0
for i in range(m - 1):
    for j in range(n - 1):
        a = z[i + 1, j + 1] - z[i, j]
        b = z[i, j + 1] - z[i + 1, j]
        s += np.sqrt(1 + a * a + b * b)
return s
# local level(theta, y)
s = theta[0] ** 2 + np.exp(theta[1])
h = theta[2:]
for t in range(len(y)):
    s += 0.5 * (y[t] ** 2) * np.exp(-h[t]) + 0.5 * h[t]
    if t > 0:
        s += 0.5 * (h[t] - theta[0] * h[t - 1]) ** 2 * np.exp(-theta[1])
return s
# control(u, n)
x, v, cost = 0.3, 0.0, 0.0
for k in range(n):
    v += 0.1 * (u[k] - math.sin(x))
    x += 0.1 * v
    cost += x * x + 0.01 * u[k] ** 2
return cost
# solve energy(x)
w = np.linalg.solve(np.eye(3) * 3.0, x[:3])
return w @ x[3:6] + np.log(x[6] ** 2 + 1.0) + np.sum(x[7:] ** 3)
# sorted pairs(x)
o = np.argsort(x)
s = 0.0
for k in range(len(o) - 1):
    s += (x[o[k + 1]] - x[o[k]]) ** 2
return s
# early(x): a function that returns where the argument decides
if x[0] < 0.0:
    return x[1] * x[2]
for k in range(len(x)):
    if x[k] > 10.0:
        return x[k] ** 2
return x[3] * x[4]
""")
FLUX = """
@njit
def flux(a, b):
    return a * abs(b) + max(a, 0.0) * b
"""
KNOWN = {
    "SOURCES": np.array([0, 1, 2, 3, 0, 4]), "TARGETS": np.array([1, 2, 3, 4, 5, 5]),
    "BAND": np.triu(np.tril(RANDOM.standard_normal((8, 8)), 1), -1),
}  # fmt: skip
X = RANDOM.standard_normal(8)
JACOBIANS = {
    "brusselator": ((RANDOM.random(32), 4, 0.02), 192, 192), "laplace2d": ((RANDOM.standard_normal((4, 5)),), 44, 44),
    "burgers": ((RANDOM.standard_normal(9), 0.1, 0.2), None, 25),
    "network": ((RANDOM.standard_normal(6), RANDOM.random(6)), 18, 18), "in place thomas": ((X,), 64, 64),
    "swap": ((X,), 8, 8), "pendulum euler": ((X, 2, 0.1), 21, 21), "stencil power": ((X,), 34, 34),
    "calls": ((X,), 16, 16), "banded product": ((X,), 22, 22), "slices": ((X,), 15, 15), "cum": ((X,), 36, 36),
    "newton each": ((X,), 8, 8), "bisect": ((X,), None, None), "pick": ((X,), None, None),
}  # fmt: skip
HESSIANS = {
    "rosen": ((X,), 22, 22), "springs": ((RANDOM.standard_normal((5, 2)),), None, None),
    "arrowhead": ((0.3 * X,), 22, 22), "huber": ((X,), None, 22),
    "minimal surface": ((RANDOM.standard_normal((4, 4)),), 100, 100),
    "local level": ((X, RANDOM.standard_normal(6)), 44, 44), "control": ((X, 8), 64, 64),
    "solve energy": ((RANDOM.standard_normal(9),), 21, 21), "sorted pairs": ((X,), 22, 64), "early": ((X,), None, None),
}  # fmt: skip


def read_functions():
    """The functions by name; the line before each is its name with its parameters, and what is special about it."""
    for line, body in FUNCTIONS:
        name, head = re.match(r"(.*?)\((.*?)\)", line).groups()
        yield name, function_of(Table("grids", {}, before=FLUX, known=KNOWN, head=head), body, name).py_func


BY_NAME = dict(read_functions())
