"""Sums by index add four terms at once where four iterations in a row meet the same element."""

import numpy as np

from contad.engines.source.ir.ssa import Kind
from contad.engines.source.passes import unrolling
from tests.engines.source.passes.harness import Table, programs

UNROLLED = programs("""
    # a scatter
    for i in range(n):
        k = int(g[i])
        x_bar[k] += y[i]
    # backwards
    for i in range(n - 1, -1, -1):
        k = int(g[i])
        t = 2.0 * y[i]
        y[i] = 0.0
        x_bar[k] -= t
    # from the second on
    for i in range(1, n):
        k = int(g[i])
        x_bar[k] += y[i - 1]
    # two adjoints
    for i in range(n):
        k = int(g[i])
        x_bar[k] += y[i]
        m = 2 - k
        z_bar[m] += y[i]
    # two additions to one
    for i in range(n):
        k = int(g[i])
        m = 2 - k
        x_bar[k] += y[i]
        x_bar[m] += 2.0 * y[i]
    # a running sum beside it
    for i in range(n):
        k = int(g[i])
        s = s + y[i]
        x_bar[k] += s
    # the inner loop
    for j in range(2):
        for i in range(n):
            k = int(g[i])
            x_bar[k] += y[i]
""")
KEPT = programs("""
    # at the index of the loop
    for i in range(3):
        x_bar[i] += y[i]
    # at a place that moves with the loop
    for i in range(4):
        k = 2 + i
        x_bar[k - 2 if k < 5 else 0] += 0.0
        m = k // 2
        x_bar[m] += y[i]
    # at the same element each time
    for i in range(n):
        x_bar[n % 3] += y[i]
    # the user's sum
    for i in range(n):
        k = int(g[i])
        z[k] += y[i]
    # an adjoint that the loop reads
    for i in range(n):
        k = int(g[i])
        t = x_bar[0]
        x_bar[k] += t
    # an adjoint in the memory of one that the loop reads
    for i in range(n):
        k = int(g[i])
        t = row_bar[0]
        x_bar[k] += t
    # a branch
    for i in range(n):
        k = int(g[i])
        if k > 0:
            x_bar[k] += y[i]
    # steps of two
    for i in range(0, n, 2):
        k = int(g[i])
        x_bar[k] += y[i]
    # a loop that may end early
    for i in range(n):
        k = int(g[i])
        if k > 1:
            break
        x_bar[k] += y[i]
""")


def _arguments() -> list[tuple[object, ...]]:
    """Indices that are sorted and not, also for so long that the first loop stops; no loop, groups, groups and a
    rest."""
    places = (np.arange(99.0) // 40, np.arange(99.0) % 3, np.array([0, 0, 0, 0, 1, 1, 1, 2, 0.0] * 11))
    row = np.array([0.25, 4.0, 1.0])
    return [
        (row, row.copy(), row[:], row.copy(), 0.5 * np.arange(99), g, 1.0, n) for g in places for n in (-3, 0, 3, 8, 9)
    ]


UNROLLING = Table(
    "unrolling", unrolling.unroll_scatters, "def run(x_bar, z_bar, row_bar, z, y, g, s, n):",
    "return s, x_bar, z_bar, z, y", _arguments, UNROLLED, KEPT,
    shows={"a scatter": (r"x_bar\[place_\d+\] \+= term_\d+ \+ term_\d+ \+ \(term_\d+ \+ term_\d+\)",)},
    faults={"additions in a loop that reads the adjoint": (unrolling, "names_of", lambda node: set())},
    known=((Kind("float", 1), ["x_bar", "row_bar"], frozenset(["x_bar"])),),
)  # fmt: skip
