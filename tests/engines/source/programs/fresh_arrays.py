"""Bodies of functions that make arrays anew in loops and branches, and read or write them under several names."""

from tests.engines.source.programs.harness import Table, numbered

RIGHT = numbered("""\
A = m[:, :3] * 0.3
u = x[:3] * 1.0
for i in range(4):
    u = A @ u
return np.sum(u * x[:3]) * a

x0 = x
for i in range(3):
    x = x + a * np.sin(x)
return np.sum(x) + np.sum(x0 * x)

for i in range(k - 2):
    x = x + a * np.sin(x)
return np.sum(x * x) * a

u = x * a
w = np.ones(5)
for i in range(3):
    u = np.exp(-u * u) * w
    w = w * 0.9 + x
return np.sum(u) + w[1]

u = x * a
prev = u
for i in range(3):
    prev = u
    u = u + np.sin(prev)
return np.sum(u * prev)

u = x * a
prev = np.zeros(5)
for i in range(4):
    new = 2.0 * u - 0.5 * prev + 0.1 * x
    prev = u
    u = new
return np.sum(u * prev)

u = x * a
for i in range(5):
    if x[i] > 0.0:
        u = u * 2.0
return np.sum(u * x)

u = x * a
w = x * 2.0
for i in range(5):
    if x[i] > 0.0:
        u = u * 0.5 + w
    else:
        u, w = w, u
return np.sum(u * x) + np.sum(w)

u = x * a
w = x + 2.0
for i in range(3):
    u, w = w * 0.5, u + 1.0
    u, w = w, u
return np.sum(u * x) + np.sum(w)

u = x * a
i = 0
while np.sum(u * u) > 0.1 and i < 10:
    u = u * 0.7
    i += 1
return np.sum(u * x) * i

u = x * a
for i in range(10):
    u = u * 0.7 + 0.1
    if u[0] < 0.3:
        return u[1] * u[2]
    if i % 3 == 0:
        continue
    u = u - 0.05 * x
return np.sum(u * x)

u = x * a
for i in range(3):
    for j in range(i):
        u = u * 0.7 + np.sin(u) * x[j]
    u = u + x
return np.sum(u * x)

u = x.copy()
for i in range(3):
    u[0] = a
    u = u * 0.7 + np.sin(u)
    u[1] = 0.2
u[2] = a * a
return np.sum(u * x)

u = x
for i in range(k):
    u = u * 0.7
    u[0] = a
return np.sum(u * x)

u = x.copy()
w = x * 2.0
for i in range(k):
    u = u * 0.7
    w = u
    w[0] = a
return np.sum(u * w)

u = x.copy()
for i in range(k):
    new = np.empty(5)
    for j in range(5):
        new[j] = u[j - 1] * a + u[j]
    u = new
return np.sum(u * x)

u = x * 1.0
for i in range(4):
    u = u[::-1]
    u = np.sin(u) if i % 2 else u * a
return np.sum(u * x)

u = x * a
for i in range(3):
    u = u[::-1]
return u[0] + 2.0 * u[1]

u = x[0:3] * a
v = u[1:]
for i in range(4):
    u = u * 0.5 + 1.0
    v = u[1:]
return np.sum(v) + np.sum(u)

if a > 5.0:
    u = np.zeros(k)
    u[0] = a
else:
    u = np.ones(k + 1) * a
return np.sum(u) * x[0]

if k > 5:
    u = np.zeros(k - 5)
else:
    u = x[1:]
return np.sum(u) * x[0]

if a > 0.5:
    A = m @ m.T
    u = A @ x[:3]
else:
    u = x[1:4] * a
return np.sum(u) * x[0]

u = x * a
w = u if a > 0.5 else x * x
return np.sum(u) * np.sum(w)

p = (x * a, 1.0)
for i in range(3):
    p = (p[0] * 0.5 + x, p[1] * a)
return np.sum(p[0]) * p[1]

u = x * a
w = x * 2.0
z = x * 3.0
for i in range(4):
    u, w, z = w, z, u
    u = u * 0.5
return np.sum(u) + 2.0 * np.sum(w * x) + 3.0 * np.sum(z)

u = x * a
for i in range(3):
    w = u * 2.0
    for j in range(2):
        w = w * 0.5 + u
    u = w
return np.sum(u)

w = x.copy()
s = 0.0
for i in range(3):
    w[0] += 1.0
    u = w
    for j in range(i):
        u = u + a
    s += u[0]
return s

o = x * 0.3
if a < 0.5:
    for i in range(3):
        o = np.ones(5) * a
o[0] += 0.2 * x[1]
return np.sum(o * x)

o = x * 0.3
for i in range(3):
    for j in range(i):
        o = np.cos(o) * a
o[2] *= 1.2
return np.sum(o * x)

""")

# of another length after each iteration
SHRINKING = numbered("""\
u = x * a
for i in range(3):
    u = u[1:]
return np.sum(u)

u = x * a
s = 0.0
for _ in range(3):
    u = u[1:] * u[:-1]
    s += np.sum(u)
return s

v = x
s = 0.0
while len(v) > 0:
    s += v[0] * len(v) * v[0]
    v = v[1:]
return s * a

v = x * a
while len(v) > 1:
    v = v[::2] * 2.0 if len(v) % 2 else v[::2] + v[1::2]
return v[0] * a

u = x.copy()
w = x * 2.0
for i in range(len(x) - 1):
    w = w[:-1]
    u = u[1:] + w * u[:-1]
return u[0] + w[0] * a

q = x[:, None] * x[None, :]
s = 0.0
for i in range(3):
    q = q[1:, :-1] * q[0, 1]
    s += np.sum(q)
return s * a + q[0, 0]

v = x * a
for i in range(4):
    if x[i] > 0.5:
        v = v[1:]
    else:
        v = v * 1.1
return np.sum(v * v)

v = x * 1.5
for i in range(4):
    w = np.empty(len(v) - 1)
    for j in range(len(w)):
        w[j] = v[j + 1] - v[j] * v[j] * a
    v = w
return np.sum(v * v)

s = 0.0
for j in range(3):
    v = x[j:] * a
    while len(v) > 1:
        v = v[1:] * v[:-1]
    s += v[0]
return s

v = x.copy()
w = x * a
while v.size > 1:
    v, w = w[1:], v[:-1] * a
    a = a + v[0] * w[0]
return a

v = np.ones(5) * a
while v.size > 1:
    v = np.diff(v) + v[1:] * x[0]
return v[0]
""")

# of another length after each iteration
LONGER = numbered("""
u = x[:1] * a
for i in range(3):
    w = np.zeros(len(u) + 1)
    w[1:] = u
    u = w
return np.sum(u * u)

n = 2
u = np.zeros(n) + a
for i in range(3):
    n = n + 1
    w = u
    u = np.zeros(n)
    u[: n - 1] = w
return np.sum(u)

n = 2
u = np.zeros(n) + a
while n < 5:
    n += 1
    u = np.ones(n) * u[0]
return np.sum(u)

k = 5
u = x * a
while k > 1:
    k -= 1
    u = np.ones(2 * k) * u[1] * x[k]
return np.sum(u)
""")

# two names of one array, of which one is written: a loop has two copies
REFUSED = numbered("""
u = x
for i in range(k):
    u[0] = a
    u = u * 0.7
return np.sum(u * x)

u = x.copy()
w = u
for i in range(k):
    u[0] = a
    u = u * 0.7
return np.sum(u * w)

u = x.copy()
w = x * 2.0
for i in range(k):
    w[1] = 3.0
    u = u * 0.7
    w = u
return np.sum(u * w)

u = x.copy()
w = x * 2.0
for i in range(k - 2):
    u = u * 0.7
    w = u
u[0] = 4.0
return np.sum(u * w) * a

u = x
for i in range(k - 2):
    u = u * 0.7
x[0] = 4.0
return np.sum(u * u) * a

w = x.copy()
u = x * 2.0
s = a
for i in range(3):
    w[0] += 1.0
    s += u[0]
    u = w
    for j in range(i):
        u = u + a
return s
""")
RAISED = [(
    "EngineLimitError: .*an array that a loop carries changes its shape",
    "u = x * a\nfor i in range(3):\n    u = m[0] * a\nreturn np.sum(u)",
)]  # fmt: skip
DRAWN = (
    "the array u, which may have another length after each iteration",
    "u = x * a\nfor i in range(3):\n    u = np.append(u, u[: np.random.randint(3)])\nreturn np.sum(u)",
)
FRESH_ARRAYS = Table(
    "fresh arrays", RIGHT,
    [DRAWN, *(("f: a write into an array that may be the one named ", body) for body in REFUSED.values())], RAISED,
)  # fmt: skip
SHORTER_ARRAYS, ONES_THAT_GROW = Table("shorter arrays", SHRINKING), Table("arrays that grow", LONGER)
