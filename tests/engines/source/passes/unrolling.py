"""Sums by index add four terms at once where four iterations in a row meet the same element."""

import ast

import numpy as np

from contad.engines.source.ir.ssa import Kind
from contad.engines.source.ir.writer import NameTable
from contad.engines.source.passes import unrolling
from tests.engines.source.passes.harness import Table, programs

UNROLLED = programs("""
    # a scatter
    for i in range(n):
        k = int(g[i])
        x_bar[k] += y[i]
    # indices that are made from data
    for i in range(n):
        z[i % 3] = g[i] - 0.0
    for i in range(n):
        k = int(z[i % 3])
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
    # indices that the source does not show
    for i in range(n):
        k = int(row_bar[i % 3] * 0.5)
        x_bar[k] += y[i]
    # indices that are not in groups
    for i in range(3):
        k = h[i]
        x_bar[k] += y[i]
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
        (row, row.copy(), row[:], row.copy(), 0.5 * np.arange(99), g, np.arange(3), 1.0, n)
        for g in places
        for n in (-3, 0, 3, 8, 9)
    ]


def _unroll(function: ast.FunctionDef, names: NameTable) -> None:
    groups = {"g": np.arange(99) // 40, "h": np.arange(99)}
    unrolling.unroll_scatters(function, names, groups)


UNROLLING = Table(
    "unrolling", _unroll, "def run(x_bar, z_bar, row_bar, z, y, g, h, s, n):",
    "return s, x_bar, z_bar, z, y", _arguments, UNROLLED, KEPT,
    shows={"a scatter": (r"x_bar\[place_\d+\] \+= term_\d+ \+ term_\d+ \+ \(term_\d+ \+ term_\d+\)",)},
    faults={"additions in a loop that reads the adjoint": (unrolling, "names_of", lambda node: set())},
    known=((Kind("float", 1), ["x_bar", "row_bar"], frozenset(["x_bar"])),),
)  # fmt: skip
