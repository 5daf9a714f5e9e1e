"""Programs in which a derivative is easily wrong: loops that never run or are left, names for one array, odd names."""

import numpy as np

from tests.engines.source.programs.harness import ARGUMENTS, Table, programs

TAKEN = programs("""
    # sorts
    u = x * x
    for i in range(1, len(u)):
        v = u[i]
        j = i - 1
        while j >= 0 and u[j] > v:
            u[j + 1] = u[j]
            j -= 1
        u[j + 1] = v * x[n]
    return u[0] * u[1] + u[2] * u[n] + np.sum(u * x)
    # writes where a loop has ended
    u = np.zeros(len(x))
    for i in range(len(x)):
        j = 0
        for k in range(len(x)):
            u[k] = x[k]
            j += 1
            if k >= (2 * i + n) % 4:
                break
        u[j % len(x)] += x[i]
    return np.sum(u * x)
    # unlucky names
    y_t, y_r, z, x_bar, top, work = x[0], x[1], 0.5, x[2], 2.0, x[3]
    base, trips, cotangent, args, t, run = 1, 1.0, 1, 2, 3, 4
    y = math.tanh(y_t * y_r)
    z_bar = math.tanh(y * z + x_bar) * y_t
    room = math.hypot(y_r, z_bar)
    for max_ in range(n + 1):
        y = math.tanh(y * y_t + work) + trips * y_r + max_
    return y * y_t * z_bar * top * y_r * room + base + cotangent + args + t + run
    # frozen values
    s = 0.0
    for i in range(len(x)):
        s += WEIGHTS[i] * x[ORDER[i]] ** 2 * SCALE
    return s * (n + 1)
    # iterates
    a = np.ones((3, len(x)))
    s = 0.0
    for k, row in enumerate(a):
        for v, w in zip(row, x):
            s += math.tanh(v * w) * (k + n)
    for i, j in ((0, 1), (2, 3)):
        s -= x[i] * x[j]
    return s * np.float64(2)
    # continues
    m = np.zeros((len(x), len(x)), dtype=np.float64)
    k = np.zeros(len(x), np.int64)
    for i in range(x.size):
        k[i] = x.size - 1 - i
        for j in range(x.shape[0]):
            m[i, j] = x[i] * x[j]
    total = 0.0
    for i in range(len(x)):
        if not (x[i] > -1.0 and m[i, k[i]] < 10.0 + n):
            continue
        total += m[i, k[i]] if i % 2 else -m[i, i]
    return total
    # constant branches
    if 0.5 < 0.7:
        s = x[0] * x[1]
    else:
        s = x[2]
    for _ in range(n + 1):
        t = 0.2 if 0.5 < 0.1 else x[3]
        s = max(s * t, 0.1 * t) if True else t
    return s
    # never runs
    s = x[0] * x[0]
    for i in range(n):
        s = math.sin(s) * x[i]
    return s
    # leaves early
    s = 1.0
    k = 0
    for i in range(len(x)):
        k += i
        if i == n:
            break
        s = s * x[i] + k * s
    return s * x[k % 5]
    # counts down
    s = 0.5
    for i in range(len(x) - 1, -1, -2):
        s = math.tanh(s * x[i] + n)
    return s
    # returns in a loop
    for i in range(len(x)):
        for j in range(i):
            if x[i] * x[j] > 0.5 * n:
                return x[i] * math.exp(x[j])
    return x[0]
    # last elements alias
    u = x.copy()
    for i in range(-1, len(x)):
        u[i] = u[i] * x[i] + 0.1 * n
    return np.sum(u * u)
    # swaps
    u, w = x.copy(), np.zeros(len(x))
    for _ in range(n):
        for i in range(1, len(x)):
            w[i] = u[i - 1] * u[i]
        u, w = w, u
    return np.sum(u) + np.sum(w * x)
    # swapped elements
    u = x.copy()
    t = u[1]
    u[1] = u[n]
    u[n] = t
    return u[1] * 2.0 + u[n] * u[n]
    # writes into its argument
    for i in range(1, len(x)):
        x[i] *= x[i - 1] + n
    return x[len(x) - 1]
    # while with two counters
    i, p, s = 0, 0, 0.2
    while i < len(x) and s < 50.0:
        s = s * x[i] + math.cos(p * s)
        p += i
        i += 2 if p % 2 == 0 else 1
    return s + n
    # views
    u = x.copy()
    v = u[1:4]
    w = u[::-1]
    for i in range(3):
        v[i] = v[i] * w[i + n]
    return np.sum(u * x)
    # calls
    @njit
    def helper(v, c):
        if c < 0.0:
            return v[0] * c
        v[0] = v[0] * 2.0
        return v[0]
    ---
    u = x.copy()
    s = 0.0
    for i in range(len(x)):
        s += helper(u[i:], x[i] * n)
    return s + u[2]
    # matrices
    a = np.empty((len(x), 3))
    for i in range(len(x)):
        for j in range(3):
            a[i, j] = x[i] ** (j + 1.0) if x[i] > 0.0 else x[i] * j
    b = a.T @ a
    return b[0, 1] * b[2, 2] + np.sum(a[n] * b[1]) + np.dot(a[:, 1], x)
    # a captured name
    def closure(c):
        @njit
        def captures(x, n):
            s = c
            while True:
                s = s * 0.9 + x[n] ** 2
                if s > 1.0 + n:
                    break
                s += 1.0
            return s
        return captures
    captures = closure(0.3)
    ---
    return captures(x, n)
""")
X = ARGUMENTS[0]
KNOWN = {"WEIGHTS": np.array([0.5, -1.0, 2.0, 0.1, 0.7]), "ORDER": np.array([2, 0, 1, 4, 3]), "SCALE": 1.5}
TRAPS = Table(
    "traps", TAKEN, known=KNOWN, head="x, n", arguments=(X, 1), elsewhere=[(X, 0), (X, 2)], argnums=(0,)
)
