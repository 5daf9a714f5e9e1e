"""Sets of inputs, propagated along the edges of a recording; compiled where they are large.

Nodes are numbered so that parents come before children. `starts[k] : starts[k + 1]` are the places of node k's parents.
"""

import numpy as np

from contad.patterns.plain_first import plain_first


@plain_first("void(int64[::1], int64[::1], boolean[::1])", lambda starts, parents, *_: len(starts) + len(parents))
def mark_ancestors(starts, parents, marked):  # type: ignore[no-untyped-def]
    """Mark all ancestors of marked nodes."""
    for node in range(len(marked) - 1, -1, -1):
        if marked[node]:
            for k in range(starts[node], starts[node + 1]):
                marked[parents[k]] = True


@plain_first(
    "void(int64[::1], int64[::1], boolean[::1], boolean[::1])", lambda starts, parents, *_: len(starts) + len(parents)
)
def mark_shared(starts, parents, marked, kept):  # type: ignore[no-untyped-def]
    """Mark in `kept` the marked nodes that are parents of several marked nodes."""
    seen = np.zeros(len(marked), np.bool_)
    for node in range(len(marked)):
        if marked[node]:
            for k in range(starts[node], starts[node + 1]):
                parent = parents[k]
                if seen[parent]:
                    kept[parent] = True
                seen[parent] = True


def _include(members, size, seen, node, column):  # type: ignore[no-untyped-def]
    """(members, size) after adding a column to the set of a node; that set is the last one."""
    if seen[column] != node:
        seen[column] = node
        if size == len(members):
            members = np.concatenate((members, np.empty(size, np.int64)))
        members[size] = column
        size += 1
    return members, size


@plain_first(
    "Tuple((int64[::1], int64[::1], int64[::1]))(int64[::1], int64[::1], int64[::1], boolean[::1])",
    lambda starts, parents, *_: len(starts) + len(parents), _include,
)  # fmt: skip
def find_sets(starts, parents, columns, kept):  # type: ignore[no-untyped-def]
    """(first, last, members): the inputs, by column, on which each kept node depends; an input depends on itself.

    A node that is not kept has only one child that needs it, so its set is not built: a sum costs time proportional to
    its number of terms. `columns` is -1 except for inputs.
    """
    n = len(columns)
    first, last = np.zeros(n, np.int64), np.zeros(n, np.int64)
    members = np.empty(max(1024, 4 * n), np.int64)
    seen = np.full(n, -1, np.int64)  # by column: the last node whose set has it; there are fewer columns than nodes
    waiting = np.empty(1024, np.int64)
    size = 0
    for node in range(n):
        if not kept[node]:
            continue
        first[node] = size
        waiting[0], count = node, 1
        while count:
            count -= 1
            current = waiting[count]
            if columns[current] >= 0:
                members, size = _include(members, size, seen, node, columns[current])
            elif kept[current] and current != node:
                for k in range(first[current], last[current]):
                    members, size = _include(members, size, seen, node, members[k])
            else:
                more = starts[current + 1] - starts[current]
                while count + more > len(waiting):
                    waiting = np.concatenate((waiting, np.empty(len(waiting), np.int64)))
                for k in range(starts[current], starts[current + 1]):
                    waiting[count] = parents[k]
                    count += 1
        last[node] = size
    return first, last, members[:size].copy()
