"""Sums whose order nobody wrote may be added in any order."""

from contad.engines.source.passes import reassociation
from tests.engines.source.passes.harness import Table, programs

REORDERED = programs("""
    # a sum of products
    for i in range(n):
        s += x[i] * t
    # a difference
    for i in range(n):
        s -= x[i]
    # beside elements
    for i in range(n):
        x[i] = 2.0 * x[i]
        s += x[i]
    # the inner loop
    for i in range(n):
        s += t
        for j in range(n):
            s += x[j] * i
    # in a branch
    if n > 1:
        for i in range(n):
            s += x[i]
""")
KEPT = programs("""
    # the user's sum
    for i in range(n):
        t += x[i]
    # one that another statement reads
    for i in range(n):
        s += x[i]
        x[i] = s
    # one that another statement writes
    for i in range(n):
        s += x[i]
        s = 0.5 * s
    # of itself
    for i in range(n):
        s += x[i] * s
    # a loop with a branch
    for i in range(n):
        if x[i] > 0.0:
            s += x[i]
    # a loop with calls
    for i in range(n):
        s += math.sin(x[i])
    # no sum
    for i in range(n):
        s *= x[i]
    # outside of loops
    s += t
""")

REASSOCIATION = Table(
    "reassociation", lambda function, _: reassociation.reassociate(function, {"s"}), "def run(x, s, t, n):",
    "return s, t, x", lambda: [([0.5, 1.5, 2.5], 0.25, 3.0, n) for n in (0, 1, 3)], REORDERED, KEPT,
    shows={
        "a sum of products": (r"s = add_freely\(s, x\[i\] \* t\)",),
        "a difference": (r"s = add_freely\(s, -x\[i\]\)",),
        "the inner loop": (r"^        s \+= t", r"^            s = add_freely\(s, x\[j\] \* i\)"),
    },
    faults={"terms that are subtracted": (reassociation.ast, "USub", reassociation.ast.UAdd)},
)  # fmt: skip
