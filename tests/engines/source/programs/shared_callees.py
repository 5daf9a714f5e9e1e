"""Callees that are functions of their own: what is handed over, and what they give."""

import numpy as np

from contad.engines.source.analysis import shared_callees
from contad.engines.source.reading import call_reader, frontend
from tests.engines.source.programs.harness import Table, programs

CALLEES = """
@njit
def row_sum(row, x, k):
    total = 0.0
    for i in range(len(row)):
        if row[i] * x > 2.0:
            return total, k
        total += math.sin(row[i] * x) * row[i - k]
    return total * x, k + len(row)
@njit
def counted(x, n):
    k = 0
    while x < 4.0 and k < n:
        x = x * 1.5 + 0.1 * math.sin(x)
        k += 1
    return x, k, x > 5.0
@njit
def pairs(p, scale=2.0):
    (a, b), c = p
    return (a * b * scale, (c, a))
@njit
def applied(f, x, n):
    for _ in range(n):
        x = f(x) + 0.1
    return x
@njit
def sine(x):
    return math.sin(x) * x
@njit
def cosine(x):
    return math.cos(x) * x
@njit
def weighted(x):
    s = 0.0
    for i in range(len(WEIGHTS)):
        s = math.sin(s * x + WEIGHTS[i])
    return s
@njit
def flagged(x, flag, other=True):
    if flag:
        x = math.sin(x) * x
    for _ in range(3):
        x = x * x + 0.3 if flag and other else math.cos(x)
        flag = not flag
    return x * (flag + 1 if other is True else 2), flag is not False
@njit
def fills(v, x):
    for i in range(len(v)):
        v[i] = math.sin(x * i)
@njit
def made(x):
    v = np.empty(3)
    fills(v, x)
    return v
"""
CALLED = programs("""
    # array is kept
    s = 0.0
    for i in range(a.shape[0]):
        value, k = row_sum(a[i], x, 1)
        s += value * k
    return s
    # array is changed
    b = a.copy()
    s = 0.0
    for i in range(3):
        value, k = row_sum(b[i], x, 1)
        b[0, :] = b[1] * value
        b[1, 1] = s * k
        s = math.tanh(s + value)
        x = x + b[0, 0]
    return s * x
    # array of an iteration
    s = x
    for i in range(3):
        fresh = a[i] * s + 0.1 * i
        s += row_sum(fresh, s, 2)[0] * 0.1
    return s
    # kinds of number
    y, k, large = counted(x, 7)
    z, j, _ = counted(a[0, 0], k)
    return y * k + z * a[1, j] if large else y * z * j
    # tuples
    u, (v, w) = pairs(((x, a[0, 1]), 3.0))
    u2, _ = pairs(((u, v), w), scale=x)
    return u2 * w + v
    # functions: return applied(sine, x, 3) * applied(cosine, a[1, 1], 2) + applied(sine, a[0, 2], 4)
    # global arrays: return weighted(x) * weighted(a[0, 0]) + WEIGHTS[1] * x
    # flags
    s = flagged(x, True)[0] + 2.0 * flagged(x, False)[0] + 3.0 * flagged(other=False, flag=True, x=x)[0]
    y, flag = flagged(x * 0.5, True, not s > 100.0)
    for i in range(3):
        s += (i + 4.0) * flagged(a[0, i], flag)[0] + flagged(a[1, i], x > a[i, 0])[0]
        flag = not flag
    return s + y
    # inactive
    m = 0.0
    for _ in range(3):
        m += weighted(2.0) * row_sum(WEIGHTS, 0.5, 1)[0]
    return m * x + a[0, 0]
    # unused
    weighted(a[0, 0])
    y, z = row_sum(a[0], x, 1)
    if x > 100.0:
        y = weighted(y)
    return z * x + 0.0 * y
    # smallest
    best = 10.0
    for i in range(3):
        d = weighted(a[i, 0] * x)
        if d < best:
            best = d
    return best * x
""")
IN_PLACE = programs("""
    # what writes or returns arrays: return np.sum(made(x) * a[0]) + made(x * 2.0)[1]
""")
OWN = r"^def \w+_of_\w+\("  # a function of its own
SHARED_CALLEES = Table(
    "shared callees", CALLED | IN_PLACE,
    shows=dict.fromkeys(CALLED, (OWN,)) | dict.fromkeys(IN_PLACE, (f"!{OWN}",)),
    before=CALLEES, known={"WEIGHTS": np.array([0.3, -0.7, 1.1])}, head="a, x",
    arguments=(np.array([[0.3, 0.7, -0.2], [0.9, 0.4, 0.6], [0.1, -0.5, 0.8]]), 0.8),
    settings=((frontend, "INLINED", 0), (shared_callees, "SMALL", -1), (call_reader, "NEAR_THE_TOP", -1)),
)  # fmt: skip
