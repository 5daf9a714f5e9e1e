"""Sums of neighbouring iterations that go together: the same numbers, to the last bit, in fewer steps that wait."""

import numpy as np

from contad.engines.source.passes import unroll_and_jam
from tests.engines.source.passes.harness import Table, programs
from tests.engines.source.passes.random_nests import ARRAYS

ROOTS = {name: frozenset((name,)) for name in ("z", "made", *ARRAYS)} | {"rows": frozenset(("made",))}
JAMMED = programs("""
    # Cholesky's factor, and a system with it
    made, z, value = np.zeros((n, n)), np.zeros(n), 0.0
    for i in range(n):
        for j in range(i + 1):
            entry = a[i, j] * x[0]
            for k in range(j):
                entry -= made[i, k] * made[j, k]
            if i == j:
                made[i, j] = math.sqrt(entry)
            else:
                made[i, j] = entry / made[j, j]
        residual = x[1]
        for k in range(i):
            residual -= made[i, k] * z[k]
        z[i] = residual / made[i, i]
    # two sums, and terms that are made of several numbers
    made = np.zeros((n, n))
    for i in range(n):
        for j in range(1, n):
            one = a[i, j] * x[0]
            other = a[j, i] * x[1]
            for k in range(j):
                t = made[i, k] * 0.1
                one += t * a[k, j]
                other -= t * t
            made[i, j] = one / (1.0 + other * other)
    # what comes before is computed again
    made = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            scale = a[j, j] * 0.5
            entry = scale
            for k in range(j):
                entry += made[i, k] * scale
            made[i, j] = math.cos(entry) * scale
""")
LEFT = programs("""
    # a number that each iteration takes from the one before
    made, s = np.zeros(n), x[0]
    for j in range(n):
        entry = s * a[0, j]
        for k in range(j):
            entry += made[k] * a[k, j] * 0.1
        s = math.sin(entry)
        made[j] = s
    # a sum that goes on from iteration to iteration
    made, s = np.zeros(n), x[0]
    for j in range(n):
        for k in range(j):
            s += made[k] * a[k, j] * 0.1
        made[j] = math.sin(s)
    # what the first part of an iteration reads is written by the one before
    made = np.ones(n + 1) * x[0]
    for j in range(n):
        entry = made[j] * a[0, j]
        for k in range(j):
            entry += made[k] * a[k, j] * 0.1
        made[j + 1] = math.sin(entry)
    # terms up to the index itself, of elements that stand elsewhere
    made = np.ones((n + 2, n + 2)) * x[0]
    for j in range(n):
        entry = a[0, j]
        for k in range(j):
            entry += made[0, k] * 0.1
        made[0, j - 2] = math.sin(entry)
    # an array that is written under another name
    made = np.ones((n + 1, n + 1)) * x[0]
    rows = made[1:]
    for j in range(n):
        entry = a[0, j]
        for k in range(j):
            entry += made[1, k] * a[k, j] * 0.1
        rows[0, j] = math.sin(entry)
    # an error that is raised in between
    made = np.zeros((n, n))
    for j in range(n):
        entry = a[0, j]
        for k in range(j):
            entry += made[0, k]
        if entry > 1e9:
            raise OverflowError
        made[0, j] = entry
    # a length of another kind
    made = np.zeros((n, n))
    for j in range(n):
        entry = a[0, j]
        for k in range(n - j):
            entry += a[0, k]
        made[0, j] = entry
""")


def arguments():
    a = 0.2 / (1.0 + np.abs(np.arange(45.0)[:, None] - np.arange(45.0))) + 2.0 * np.eye(45)
    x = np.array([1.2, 0.4, 0.7, 0.1, -0.3])
    return [(a[:n, :n].copy(), x, n) for n in (1, 31, 33, 34, 35, 45)]


UNROLL_AND_JAM = Table(
    "unroll and jam", lambda function, fresh: unroll_and_jam.unroll_and_jam(function, ROOTS, fresh),
    "def run(a, x, n):", "return made", arguments, JAMMED, LEFT,
    shows=dict.fromkeys(JAMMED, ("_sums_",)),
    faults={
        "elements that stand elsewhere": (unroll_and_jam, "_is_behind", lambda *_: True),
        "parts that meet": (unroll_and_jam, "_are_apart", lambda *_: True),
        "what is carried": (unroll_and_jam, "_find_again", lambda before, inner, after, sums: []),
        "another length": (unroll_and_jam, "_counts", lambda *_: True),
    },
    nests=5,
)  # fmt: skip
