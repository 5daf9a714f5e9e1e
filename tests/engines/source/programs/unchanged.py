"""Arrays that loops fill element by element, of which the reverse sweep reads again what no later iteration writes."""

import numpy as np

from contad.engines.source.analysis import unchanged
from tests.engines.source.programs.harness import ARGUMENTS, Table, function_of, programs

TRIANGLES = programs("""
    # rows from the last to the first, and columns likewise
    n = len(a)
    made, z, value = np.zeros((n, n)), np.zeros(n), x[1]
    for i in range(n - 1, -1, -1):
        for j in range(n - 1, i - 1, -1):
            entry = a[i, j] * x[0]
            for k in range(j + 1, n):
                entry += made[i, k] * made[j, k]
            if i != j:
                entry *= made[j, j]
            made[i, j] = math.sin(entry)
        for k in range(i + 1, n):
            value -= made[i, k] * z[k] * value
        z[i] = value / made[i, i]
    return value
    # Cholesky's factor and a system with it
    n = len(a)
    lower, z, value = np.zeros((n, n)), np.zeros(n), 0.0
    for i in range(n):
        for j in range(i + 1):
            entry = a[i, j] * x[0]
            for k in range(j):
                entry -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(entry) if i == j else entry / lower[j, j]
        residual = x[1]
        for k in range(i):
            residual -= lower[i, k] * z[k]
        z[i] = residual / lower[i, i]
        value += z[i] * z[i] + math.log(lower[i, i])
    return value
""")
FILLINGS = programs("""
    # each element twice: when it is read, it has another value than in the end
    a, s = np.ones((n, n)), 0.0
    for i in range(n):
        for j in range(i + 1):
            s += a[i, j] * a[j, i] * x[0]
            a[i, j] = math.sin(s + x[1])
            a[j, i] = a[i, j] * a[j, j] * x[2]
    return s
    # an element that the next iteration writes, another one that this iteration writes later on
    a, s = np.ones((n + 2, n + 2)), 0.0
    for i in range(n):
        for j in range(i + 1):
            for k in range(j + 2):
                s += a[i, k] * a[i, k] * x[0]
            s += a[i + 1, j] * a[i + 1, j] * x[1]
            a[i, j] = math.sin(s)
            for k in range(j + 1):
                s += a[i, k] * a[i, k] * x[2]
    return s
    # what is read where the indices differ, and where they do not
    a, s = np.ones((n, n)), 0.1
    for i in range(n):
        for j in range(i + 1):
            if j == i:
                s += a[j, j] * a[j, j] * x[0]
            elif s > 0.0:
                s -= a[j, j] * a[j, j] * x[1] * s
            if i != j:
                s += a[j, j] * a[j, j] * x[2]
            else:
                s += math.sin(a[j, j] * x[3])
            a[i, j] = math.cos(s)
    return s
    # each term is reversed at once, the triangle in it in loops of its own
    total = 0.0
    for t in range(n):
        a = np.ones(n)
        for i in range(n):
            s = x[t]
            for k in range(i):
                s += a[k] * a[k] * x[0]
            a[i] = math.sin(s)
        total += a[n - 1] * a[0]
    return total
""")
POSITIVE = np.exp(-0.3 * (np.arange(6.0)[:, None] - np.arange(6.0)) ** 2) + 0.5 * np.eye(6)
FILLED_TRIANGLES = Table(
    "triangles", TRIANGLES, head="a, x", arguments=(POSITIVE, np.array([1.2, 0.4])),
    elsewhere=[(POSITIVE[:n, :n].copy(), np.array([1.2, 0.4])) for n in (1, 2)],
)  # fmt: skip


def _find_too_little(*args):
    found = _FIND_REACH(*args)
    return None if found is None else found - 1


_FIND_REACH = unchanged._find_reach
OTHER_FILLINGS = Table(
    "other fillings", FILLINGS,
    faults={
        "what is written later on": (unchanged, "_find_reach", _find_too_little),
        "indices that may be the same": (unchanged, "_differ", lambda *args: True),
        "the order of statements": (unchanged, "precedes", lambda *args: True),
    },
    head="x, n", arguments=(ARGUMENTS[0], 4),
    elsewhere=[(ARGUMENTS[0], 1), (ARGUMENTS[0], 2)], argnums=(0,),
)  # fmt: skip
factor = function_of(FILLED_TRIANGLES, TRIANGLES["Cholesky's factor and a system with it"])
