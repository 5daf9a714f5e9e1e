"""Arrays that loops read again and again while others change them: each part that is read is copied once."""

import numpy as np

from tests.engines.source.programs.harness import ARGUMENTS, Table, programs

COPIED = programs("""
    # steps of products
    state = x.copy()
    new = np.empty(len(x))
    for _ in range(n):
        for i in range(len(x)):
            z = 0.0
            for j in range(len(x)):
                z += w[i, j] * state[j]
            new[i] = math.sin(z)
        for i in range(len(x)):
            state[i] = new[i] + 0.1 * state[i]
    return np.sum(state)
    # two loops read the same part; the inner one starts where the outer one is
    place = w.copy()
    for _ in range(n):
        s = 0.0
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                s += (place[i, 0] - place[j, 0]) * (place[i, 1] * place[j, 1]) * x[i]
        for i in range(len(x)):
            place[i, 0] += 0.1 * s * place[i, 1]
            place[i, 1] *= math.cos(place[i, 0])
    return place[0, 0] + place[1, 1]
    # of two axes
    a = w.copy()
    s = x[0] * w[0, 0]
    for m in range(2, n + 2):
        for _ in range(m):
            for i in range(len(x)):
                for j in range(len(x)):
                    s += 0.01 * a[i, j] * a[i, j] * x[j] * math.sin(s)
        a[0, 1] = s * 0.01 + a[1, 0]
    return s
    # made in an iteration
    s = x[0]
    for _ in range(n):
        for _ in range(2):
            part = np.empty(len(x))
            for i in range(len(x)):
                part[i] = x[i] * s
            for i in range(len(x)):
                for j in range(len(x)):
                    s += w[i, j] * part[j] * part[i] * 0.01
    return s
    # overwritten later
    a = x * 2.0
    s = 0.0
    for i in range(n):
        for j in range(len(x)):
            s += 0.01 * (a[j] * a[j] * w[0, j] * math.sin(s + i) + a[j] * a[j] * i)
    for j in range(len(x)):
        a[j] = s * j + x[j]
    return a[2] + a[3] * w[0, 0]
    # each term is reversed at once; what it copies makes room for that of the next
    total = 0.0
    for k in range(len(x)):
        a = np.empty(len(x))
        for i in range(len(x)):
            a[i] = x[i] * x[k]
        s = 0.1 * x[k]
        for _ in range(n):
            for i in range(len(x)):
                for j in range(len(x)):
                    s += w[i, j] * a[j] * a[j]
            for i in range(len(x)):
                a[i] = math.sin(s + a[i])
        total += s * s
    return total
""")
STORED = programs("""
    # in a branch
    a = x.copy()
    s = x[0] * w[0, 0]
    for t in range(n):
        if t % 2 == 0:
            for i in range(len(x)):
                for j in range(len(x)):
                    s += w[i, j] * a[j] * a[j]
        a[0] = 0.1 * s
    return s
    # until
    a = x.copy()
    s, t = x[0] * w[0, 0], 0
    while t < n:
        for i in range(len(x)):
            for j in range(len(x)):
                s += w[i, j] * a[j] * a[j]
        a[0] = 0.1 * s
        t += 1
    return s
""")
ROWS = programs("""
    # row of a table
    table = np.zeros((n + 1, len(x)))
    for i in range(len(x)):
        table[0, i] = x[i]
    for t in range(1, n + 1):
        for i in range(len(x)):
            for j in range(len(x)):
                table[t, i] += w[i, j] * table[t - 1, j] * table[t - 1, j]
    return np.sum(table)
    # rows that are left behind, on the way down and on the way up; and one that is written again
    a = np.ones((n + 2, 2))
    for t in range(1, n + 2):
        a[t, 0] = math.sin(a[t - 1, 0] * x[0]) + a[t - 1, 1] * a[t - 1, 0]
        a[t, 1] = a[t - 1, 1] * x[1]
    for t in range(n, -1, -1):
        a[t, 1] = a[t + 1, 1] * a[t + 1, 1] * x[2] + a[t, 0]
    for t in range(n):
        a[t + 1, 0] = a[t, 0] * a[t, 1] + a[t + 2, 0] * a[t + 2, 0]
    return a[0, 1] * a[1, 0] + a[n, 0] * w[0, 0]
    # the row before the first is the last
    a = np.ones((n + 1, 2))
    for t in range(n + 1):
        a[t, 0] = a[t - 1, 0] * a[t - 1, 0] * x[0] + x[1]
    return a[n, 0] * w[0, 0]
""")
OTHERS = programs("""
    # a loop that never runs is no reason to copy
    a = x.copy()
    s = x[0]
    for _ in range(3):
        for _ in range(n):
            for j in range(len(a)):
                s += a[j] * a[j] * w[0, j]
        a[0] = s * 0.1
    return s * a[0]
    # a copy stays within the array
    a = w[: 5 * min(n, 1), :2].copy()
    s = x[0]
    for _ in range(3):
        for i in range(n + 1):
            for j in range(i + 1, n + 1):
                s += a[j, 0] * a[j, 0] * a[i, 1] * x[0]
        for k in range(1, len(a)):
            a[k, 0] += 0.1 * a[k - 1, 1]
            a[k, 1] *= a[k, 0]
    return s
    # small arrays
    u, v = np.zeros(2), np.zeros((2, 2))
    other = x[:2].copy()
    for t in range(n):
        for i in range(2):
            v[i, 0] = u[i] + 0.1 * x[t]
            v[i, 1] = math.sin(other[i])
        row = v[1]
        u[:] = v @ other
        u[0] += row[0] * row[1]
        made = np.zeros(2)
        made[:] = u * w[0, 0]
        other[0] += made[0] * made[1]
        u, other = other, u
    return np.sum(u) + other[1] * (1.0 + v[0, 1]) * w[0, 0]
    # an array of more numbers than lie on the stack
    a = np.zeros((3, 11))
    a[1, 2] = x[0]
    return a[1, 2] * w[1, 0] * n
""")
X, W = ARGUMENTS[0], np.sin(np.arange(25.0) + 1.0).reshape(5, 5)
COPIES = Table(
    "copies", COPIED | STORED | OTHERS,
    shows={
        **dict.fromkeys(COPIED, ("_kept = top",)), **dict.fromkeys(STORED, ("!_kept = top",)),
        "a loop that never runs is no reason to copy": ("if 0 < n:",),
        "small arrays": (r"v_bar = small_zeros\(\(2, 2\)\)", r"= small_zeros\(\(2,\)\)", r"!np.zeros\(\(2,\)\)"),
        "steps of products": ("_kept = top", "!small"), "an array of more numbers than lie on the stack": ("!small",),
    },
    head="x, w, n", arguments=(X + 2.0, W, 3), elsewhere=[(X + 2.0, W, 0), (X + 2.0, W, 1)],
)  # fmt: skip
ROWS_OF_TABLES = Table(
    "rows of tables", ROWS, shows={"row of a table": ("!work",), "the row before the first is the last": ("work",)},
    head="x, w, n", arguments=(0.5 * X, W, 4), elsewhere=[(0.5 * X, W, 1)],
)
