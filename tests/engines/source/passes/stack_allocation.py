"""Arrays that die with their iteration are on the stack."""

from collections import Counter

import numpy as np

from contad.engines.source.ir.ssa import Kind
from contad.engines.source.passes import stack_allocation
from tests.engines.source.passes.harness import Table, programs

CHANGED = programs("""
    # of a length that changes
    s = 0.0
    for k in range(n):
        b = np.empty((k + 1,))
        b[0] = a[0] + k
        c = np.zeros((k + 1,))
        c[k] += b[0]
        s += c[0] * c[k]
    # with a slice
    s = 0.0
    for k in range(n):
        b = np.empty((k + 2,))
        b[0], b[1] = k, a[0]
        row = b[1:]
        s += row[0] * b[0]
    # of an inner loop
    s = 0.0
    for k in range(n):
        for j in range(k):
            b = np.empty((j + 1,))
            b[j] = a[0] * j
            s += b[j] * k
    # in a branch of a while loop
    s, k = 0.0, 0
    while n > k:
        k += 1
        if k > 1:
            b = np.zeros((k,))
            b[k - 1] += a[0]
            s += b[k - 1] - b[0]
""")
LEFT = programs("""
    # outside of loops
    b = np.zeros((n,))
    b[0] = a[0]
    s = b[0]
    # of integers
    s = 0.0
    for k in range(n):
        b = np.zeros((k + 1,), np.int64)
        b[k] += k
        s += b[k]
    # that the next iteration reads
    s = 0.0
    b = a
    for k in range(n):
        c = np.empty((k + 1,))
        c[0] = b[0] + k
        s += b[0] * c[0]
        b = c
    # that the outer loop reads
    s = 0.0
    row = a
    for k in range(n):
        s += row[0]
        for j in range(k):
            b = np.empty((j + 2,))
            b[0], b[1] = s, j
            row = b[1:]
    # that is kept
    s = 0.0
    for k in range(n):
        b = np.empty((k + 1,))
        b[k] = a[0] + k
        keep_array(b)
    for k in range(n):
        s += (k + 1) * take_array()[k]
""")
VECTOR = Kind("float", 1)
KNOWN = (
    (VECTOR, ("a", "c")), (VECTOR, ("b",), frozenset(("a", "b", "c"))),
    (VECTOR, ("row",), frozenset(("a", "b", "row"))),
)  # fmt: skip


def expect(name, before, after):
    assert not {"np.empty", "np.zeros"} & set(after.replace("(", " ").split())


STACK_ALLOCATION = Table(
    "stack allocation", stack_allocation.allocate_on_stack, "def run(a, n):", "return s",
    lambda: [(np.arange(3.0) + 0.5, 4), (np.arange(1.0) + 0.25, 2)], CHANGED, LEFT, expect,
    faults={
        "names outside of the loop": (stack_allocation, "_count_names", lambda tree: Counter()),
        "arrays that are kept": (stack_allocation, "_KEEPS", "nothing "),
    },
    known=KNOWN,
)  # fmt: skip
