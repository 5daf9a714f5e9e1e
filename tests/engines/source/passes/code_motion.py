"""Numbers of formulas that no iteration changes are computed before the loops."""

import ast
from collections import Counter

from contad.engines.source.ir.tree_queries import names_in
from contad.engines.source.passes import code_motion
from tests.engines.source.passes.harness import Table, programs

MOVED = programs("""
    # a number
    s = 0.0
    for i in range(n):
        t = 2.0 * x
        s += t * i
    # a chain, out of two loops
    s = 0.0
    for i in range(n):
        for j in range(n):
            t = 2.0 * x
            u = t + x
            s += u * i
    # out of the inner loop alone
    s = 0.0
    for i in range(n):
        for j in range(n):
            t = 2.0 * i
            u = x * j
            s += t + u
    # out of a loop in a branch
    s = 0.0
    if n > 1:
        for i in range(n):
            t = x - 1.0
            s += t
    else:
        s = 1.0
    # nothing is left
    s = 0.0
    for i in range(n):
        t = x - 1.0
""")
KEPT = programs("""
    # of the index
    s = 0.0
    for i in range(n):
        t = 2.0 * i
        s += t
    # of what changes
    s = 0.0
    for i in range(n):
        t = 2.0 * s + 1.0
        s += t
    # of an element
    s = 0.0
    a = [x, x]
    for i in range(n):
        t = a[0] * 2.0
        a[0] += 1.0
        s += t
    # another name
    s = 0.0
    for i in range(n):
        v = 2.0 * x
        s += v
""")


def _all_at_once(loop, names):
    moved = [s for s in loop.body if getattr(s, "targets", None) and getattr(s.targets[0], "id", "") in names]
    loop.body = [s for s in loop.body if s not in moved]
    return moved


def move(function, _):
    """The pass, for names of which each is assigned once, as those of formulas are."""
    stored = Counter(x.id for x in names_in(function) if isinstance(x.ctx, ast.Store))
    return code_motion.hoist_invariants(function, {name for name in ("t", "u") if stored[name] == 1})


HOIST = Table(
    "code motion", move, "def run(x, n):", "return s",
    lambda: [(0.3, 0), (0.7, 1), (0.9, 4)], MOVED, KEPT,
    shows={
        "a number": (r"^    t = 2.0 \* x", "!^        t ="), "a chain, out of two loops": (r"^    u = t \+ x",),
        "out of the inner loop alone": (r"^        t = 2.0 \* i", r"^            u = x \* j"),
        "nothing is left": (r"^        pass",),
    },
    faults={
        "what changes in the loop": (code_motion, "names_assigned", lambda nodes: set()),
        "whatever is assigned": (code_motion, "_take", _all_at_once),
        "elements": (code_motion.ast, "Subscript", ()),
    },
)  # fmt: skip
