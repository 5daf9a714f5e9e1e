"""Arrays and lists that become longer in loops which do not tell how often they run: a run beforehand counts."""

import numpy as np

from contad.engines.source.reading import buffer_bounds
from tests.engines.source.programs.harness import Table, X, listed, programs

TAKEN = programs("""
    # in front and behind
    z = np.array([x[1]])
    for i, a in enumerate(x):
        if a > 0.5:
            z = np.concatenate((x[:2] * a, z))
        elif a > 0.0:
            z = np.hstack((z, x[i:] * z[0]))
            z = np.append(z, z)
    return np.sum(z * z * np.arange(z.size))
    # nested
    z = x[:1] * 1.0
    for a in x:
        k = 0
        while k < 2:
            z = np.append(z, np.array([a * z[0], k * a]))
            k += 1
            if z.size > 9:
                break
        if z.size > 9:
            break
    z = z.copy()
    v, w = z[1:3], z[::-1]
    v[0] = x[2] * x[3]
    w[0] *= 3.0
    return np.sum(z * z * z) * z.size + np.dot(v, w[:2])
    # rows
    path = np.zeros((1, 2))
    old = path
    while path[-1, 0] < 2.0:
        old = path
        row = np.array([[path[-1, 0] + 0.5 + x[1] ** 2 * 0.1, path[-1, 1] * x[2] + x[3]]])
        path = np.vstack((path, row))
    return np.sum(path * path) * path.shape[0] + np.sum(old) * len(old)
    # never
    z = x[:2] * 2.0
    for _ in range(0):
        z = np.append(z, x)
    while z[0] > 100.0:
        z = np.append(x, z)
    return np.sum(z * z) * len(z)
    # twice
    z = np.array([x[1]])
    old, k = z, 0
    while k < 3:
        z = np.append(z, x[k] * x[3])
        z = np.concatenate((z, x[1:3] + x[0]))
        k += 1
    return np.sum(z * z * np.arange(z.size)) + np.sum(old)
    # lists
    a = []
    b = [x[1]]
    k = 0
    while True:
        k += 1
        a.append(b[-1] * x[0])
        if k > 6:
            break
        if k % 2 == 0:
            continue
        b.append(a[-1] + x[2])
        x[0] += 0.01
        if len(a) > 3:
            a.pop()
    s = 0.0
    for v in a:
        s += v * v
    return s + b[-1] * len(b)
""")
REFUSED = listed("""
    # a loop that does not tell how often it runs
    z = [x[0]]
    while z[-1] < 1.0:
        z.append(z[-1] + np.random.rand())
    return z[-1]
    # the array z, which may have another length
    @njit
    def draw(z):
        return z + uniform(0.1, 0.3)
    ---
    z = x * 1.0
    while z[-1] < 1.0:
        z = np.append(z, np.array([draw(z[-1])]))
    return z[-1]
    # the array z, which may have another length
    z = x * 1.0
    while z[-1] < 1.0:
        z = np.append(z, np.array([uniform(0.1, 0.3)]))
    return z[-1]
    # the array z, which may have another length
    y = x[1:]
    z = np.zeros(0)
    while x[1] < 2.0:
        y[0] += 0.5
        z = np.append(z, x[0] * x[1])
    return np.sum(z)
""")
LONGER_ARRAYS = Table(
    "longer arrays", TAKEN, REFUSED, twice=("in front and behind", "lists"),
    faults={"a write that is overlooked": (buffer_bounds, "_may_write", lambda *_: False)},
    known={"uniform": np.random.uniform}, head="x", arguments=(X,), argnums=(0,),
)  # fmt: skip
