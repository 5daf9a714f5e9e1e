"""Arrays that iterations make, of lengths that are known before the loop, are made once."""

import ast
import re
from collections import defaultdict

import numpy as np

from contad.engines.source.ir.tree_queries import called_name
from contad.engines.source.passes import hoist_allocations
from tests.engines.source.passes.harness import Table, programs

TEXT = """m = a.shape[0]
s = 0.0
for k in range(3):
    b = {made}
    b[0] = 0.5
    for j in range(k):
        c = np.empty((m, 2))
        c[0, 0] = b.size
        s += c[0, 0] * k
"""
MADE = "np.empty((m,))"
HOISTED = {
    "before the outermost loop": TEXT.format(made=MADE),
    "of no length of an array": TEXT.format(made="np.empty((n,))"),
    "of a length that changes": TEXT.format(made="np.empty((k + 1, m))"),
    "of zeros": TEXT.format(made="np.zeros((m,))"),
    "of integers": TEXT.format(made="np.empty((m,), np.int64)"),
    "made twice": f"{TEXT.format(made=MADE)}b = a",
} | programs("""
    # of zeros that something is added to
    m = a.shape[0]
    s = 0.0
    for k in range(n):
        b = np.zeros((m,))
        b[0] += k
        s += b[0]
    # where a test holds
    m = a.shape[0]
    s = 0.0
    for k in range(n):
        if k == 1:
            b = np.empty((m,))
            s += len(b)
    # of a slice
    m = a.shape[0]
    l = select(m < 2, m, 2)
    s = 0.0
    for k in range(n):
        b = np.empty((l,))
        s += len(b)
""")
LEFT = {
    "another value": f"{TEXT.format(made=MADE)}m = 2 * m",
    "the index of a loop": f"{TEXT.format(made=MADE)}for m in range(2):\n    s += m",
    "another length": f"{TEXT.format(made=MADE)}m = x.shape[0]",
} | programs("""
    # where a loop goes on
    m = a.shape[0]
    s, k = 0.0, 0
    while n > k:
        k += 1
        b = np.empty((m,))
        s += len(b)
    # of a number that may be negative
    p = n - 9
    s = 0.0
    for k in range(p):
        b = np.empty((p,))
    # what an iteration has from the one before
    m = a.shape[0]
    s = 0.0
    b = a
    for k in range(n):
        s += b[0]
        b = np.empty((m,))
        b[0] = k
""")


def expect(name, before, after):
    lines = after.split("\n")
    if name == "before the outermost loop":
        found = [x.strip().partition("  #")[0] for x in lines[3:6]]
        assert found == [f"b = {MADE}", "c = np.empty((m, 2))", "for k in range(3):"]
    elif name in ("where a test holds", "of a slice"):
        assert "\n    b = np.empty" in after and "     b = " not in after
    elif "zeros" in name:
        assert "zeros" not in after and re.search(r"^            b\[\w+\] = 0.0", after, re.MULTILINE)
    else:
        assert sum(x.startswith("    c = np.empty((m, 2))") for x in lines) == 1 and "        b = " in after


_FIND = hoist_allocations._find
HOIST_ALLOCATIONS = Table(
    "hoist allocations", hoist_allocations.hoist_allocations,
    "def run(a, n, x):", "return s", lambda: [(np.arange(3.0), 4, np.arange(5.0)), (np.arange(1.0), 1, np.arange(2.0))],
    HOISTED, LEFT, expect,
    faults={
        "numbers that may be negative": (hoist_allocations, "_is_length", lambda s, _: isinstance(s, ast.Assign)),
        "shapes that change": (hoist_allocations, "_find", lambda body, loop: (
            (s, name, [], loop) for s, name, _, loop in _FIND(body, loop))),
        "arrays of zeros": (hoist_allocations, "called_name", lambda x: called_name(x).replace("zeros", "empty")),
        "arrays that are made twice": (
            hoist_allocations, "find_assignments", lambda body: defaultdict(lambda: [body[0]])),
    },
    nests=3,
)  # fmt: skip
