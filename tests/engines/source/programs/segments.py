"""Functions with long loops that are checkpointed; tests run them without the mark as well."""

import numpy as np

from tests.engines.source.programs.harness import Table, function_of, programs

MARKED = programs("""
# recurrence
s = 0.0
for t in checkpointed(range(n)):
    x = x + 0.01 * np.sin(x) * (t % 3)
    s += x * x
return s + x
# sum that is shown
s = 0.0
for t in checkpointed(range(n)):
    x = x + 0.01 * np.sin(x) * t
    s += x * x
return s
# with a break
s = 0.0
for t in checkpointed(range(n)):
    x = 1.01 * x + 0.1 * np.cos(x)
    s += np.sqrt(x) + 0.001 * t
    if s > 60.0:
        break
return s * x + t
# with a return
for t in checkpointed(range(n)):
    x = x + 0.05 * np.exp(-x)
    if x > 1.7:
        return x * t
return x * x
# with continue
s = 1.0
for t in checkpointed(range(2, n)):
    if t % 3 == 0:
        continue
    s = s * np.cos(x / t) + 0.1 * x
return s
# backwards
s = 0.0
for t in checkpointed(range(n, -3, -2)):
    x = x * 0.99 + 0.01 * t * np.sin(x)
    s += x * t
return s
# steps of a variable
s = 0.0
step = 3 if n % 2 else -2
for t in checkpointed(range(0, 3 * n if step > 0 else -2 * n, step)):
    x = x * 0.99 + 0.01 * t * np.sin(x)
    s += x
return s
# table of rows
u = np.zeros((n + 1, 3))
u[0] = x
for t in checkpointed(range(n)):
    for j in range(3):
        u[t + 1, j] = np.sin(u[t, j]) + 0.1 * u[t, (j + 1) % 3]
return np.sum(u * u) + u[n, 0]
# rows of expressions
u = np.zeros((n + 2, 3))
u[0] = x
u[1] = x * x
for t in checkpointed(range(2, n + 2)):
    u[t] = 0.5 * np.cos(u[t - 1]) + 0.3 * u[t - 2] * u[t - 1]
return np.sum(u[-1]) + np.sum(u[n // 2] ** 2)
# rows added to
u = np.ones((n + 1, 3))
for t in checkpointed(range(n)):
    for j in range(3):
        u[t + 1, j] += 0.1 * u[t, j] * x[j]
        u[t + 1, j] *= 0.5 + u[t, 0]
return np.sum(u)
# in place
u = x.copy()
for t in checkpointed(range(n)):
    for j in range(3):
        u[j] = u[j] + 0.01 * np.sin(u[j - 1]) * t
return np.sum(u**3)
# two levels
old, now = x.copy(), x * 0.9
for _ in checkpointed(range(n)):
    new = 1.9 * now - 0.91 * old + 0.01 * np.sin(now) * now
    old = now
    now = new
return np.sum(now * now) + old[0]
# column of numbers
v = np.empty(n + 1)
v[0] = x
for t in checkpointed(range(n)):
    v[t + 1] = v[t] + 0.1 * np.sin(v[t]) * v[t]
return np.sum(v * v)
# smoothed ahead
v = np.linspace(0.1, 1.0, n + 1) * x
for t in checkpointed(range(n)):
    v[t] = v[t] * np.cos(v[t + 1])
return np.sum(v**2)
# returned array
v = np.empty(n + 1)
v[0] = x
w = np.zeros(4)
for t in checkpointed(range(n)):
    v[t + 1] = np.sin(v[t]) + 0.2
    w[t % 4] += v[t + 1] * v[t]
return np.sum(w**2) + v[n], (v, w)
# written afterwards
a = np.ones(5) * x
v = np.zeros(n + 1)
v[0] = x
y = x
for t in checkpointed(range(n)):
    y = y * 0.9 + a[t % 5] * np.sin(y)
    v[t + 1] = y * v[t]
a[0] = y * y
v[0] = 3.0 * y
return np.sum(a * a) + y + np.sum(v)
# nested loops
s = 0.0
for t in checkpointed(range(n)):
    y = x
    while y < 2.0 + t % 2:
        y = y * 1.3 + 0.01 * s
    for i in range(t % 4):
        y = y + np.sin(y * i)
    s = 0.9 * s + y * 0.1
return s
# in one another
s = 0.0
for _ in checkpointed(range(n)):
    for i in checkpointed(range(5)):
        x = x + 0.001 * np.sin(x) * i
    s += x
return s * x
# one after the other
for _ in checkpointed(range(n)):
    x = x + 0.01 * np.sin(x)
y = x * x
for t in checkpointed(range(n + 3)):
    y = y + 0.01 * np.cos(x * y) * (t % 2)
return x * y
# in a branch
if x > 0.0:
    for _ in checkpointed(range(n)):
        x = x + 0.01 * np.sin(x)
else:
    x = x * x
return x * x
# independent iterations
s = 0.0
for t in checkpointed(range(n)):
    s += np.exp(-x * t) * np.sin(x + t)
return s * s
# integers carried
k, m, flag = 1, 3, False
table = np.zeros(7, np.int64)
for t in checkpointed(range(n)):
    k = (k * 5 + m) % 7
    m += k
    flag = not flag
    table[k] += t
    if flag:
        x = x + 0.01 * np.sin(x * table[k] / (1.0 + t))
        m += t % 2
    else:
        x = x * 1.001 + 0.001 * m / (1.0 + m)
return x * x + table[2]
# products of matrices
a = np.eye(3) * 0.9 + 0.05 * x
y = np.ones(3)
for _ in checkpointed(range(n)):
    y = np.tanh(a @ y) + 0.1 * np.linalg.solve(np.eye(3) + a, y)
return np.sum(y * y)
# largest
m = 0.0
for t in checkpointed(range(n)):
    y = np.sin(x * t) * x
    for _ in range(3):
        y = np.sin(y) + 0.1 * x
    m = max(m, y)
return m * x
""")
OF_VECTORS = {"table of rows", "rows of expressions", "rows added to", "in place", "two levels"}
LONG_LOOPS = Table("long loops", MARKED, head="x, n", argnums=(0,))


def marked_and_plain(name):
    """A function with its loops checkpointed, and as they are."""
    body = MARKED[name].replace("checkpointed(", "contad.checkpointed(")
    plain = MARKED[name].replace("checkpointed(", "(")
    return function_of(LONG_LOOPS, body, name), function_of(LONG_LOOPS, plain, f"{name}, plain")


def point(name):
    return np.array([0.4, 0.7, 0.2]) if name in OF_VECTORS else 0.4
