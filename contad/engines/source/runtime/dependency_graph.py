"""Fills the dependency graph while a function runs; `ir/dependency_notes.py` defines the graph."""

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit


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
