"""The dependency graph of a function, and the operation that adds a node to it.

A node represents a number that depends on inputs: node 0 every constant, nodes 1 to n the inputs. A graph is an array
with a row (x, y, bends) for each node: its two parents, and the sum of those of `BENDS_X`, `BENDS_XY`, `BENDS_Y` that
say in which pairs of parents the number is not linear. Row 0 holds the number of the next node.
"""

import functools

import numpy as np

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit
from contad.engines.source.ir.known_functions import Function

BENDS_X, BENDS_XY, BENDS_Y = 1, 2, 4

NOTE = Function("note", "note(x0, x1, x2, x3)", None, "int")  # the operands are x, y, bends and the graph
Bends = tuple[np.ndarray, np.ndarray, np.ndarray]


class NotedGraph:
    """Rows (x, y, bends), one for each node, as `NOTE` writes them.

    `outputs` are the nodes of the numbers of the result.
    """

    def __init__(self, rows: np.ndarray, columns: int, outputs: np.ndarray) -> None:
        self.rows, self.columns, self.outputs = rows, columns, outputs
        self.count = len(rows)

    @functools.cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """(the start of each node's parents, the parents)."""
        parents = self.rows[:, :2].copy()
        parents[0] = 0
        parents[parents[:, 0] == parents[:, 1], 1] = 0
        live = parents != 0
        starts = np.zeros(self.count + 1, np.int64)
        np.cumsum(live.sum(axis=1), out=starts[1:])
        return starts, parents[live]

    @functools.cached_property
    def bends(self) -> Bends:
        """Triples of nodes z, p, q where z may have a second derivative with respect to p and q."""
        found = []
        for which, p, q in ((BENDS_X, 0, 0), (BENDS_XY, 0, 1), (BENDS_Y, 1, 1)):
            z = np.flatnonzero(self.rows[1:, 2] & which) + 1
            z = z[(self.rows[z, p] != 0) & (self.rows[z, q] != 0)]
            found.append((z, self.rows[z, p], self.rows[z, q]))
        z, p, q = (np.concatenate(parts) for parts in zip(*found, strict=True))  # type: ignore[assignment]
        return z, p, q  # type: ignore[return-value]


@njit(inline="always", **(NJIT_OPTIONS | {"cache": False}))
def note(x, y, bends, graph):  # type: ignore[no-untyped-def]
    """The node of a number computed from x and y; a number linear in only one of them shares its node.

    Nodes beyond the last row of the graph are counted, but not kept: the caller then retries with as many rows.
    """
    if bends == 0:
        if y == x or not y:
            return x
        if x == 0:
            return y
    elif x == 0 and y == 0:
        return 0
    node = graph[0, 0]
    graph[0, 0] = node + 1
    if node < len(graph):
        graph[node, 0], graph[node, 1], graph[node, 2] = x, y, bends
    return node
