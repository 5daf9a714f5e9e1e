"""Greedy colourings of graphs, compiled where they are large.

A graph is a symmetric pattern without its diagonal, or a matrix by rows and by columns, in compressed form: the
neighbours of k are `neighbours[starts[k] : starts[k + 1]]`. Colours are numbers from 0.
"""

import numpy as np

from contad.patterns.plain_first import plain_first


def _count_meetings(starts: np.ndarray, rows: np.ndarray, row_starts: np.ndarray, *_: np.ndarray) -> int:
    """Count how often columns meet in rows."""
    return len(starts) + int(np.sum(np.diff(row_starts) ** 2))


@plain_first("int64[::1](int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])", _count_meetings)
def colour_apart(starts, rows, row_starts, columns, order):  # type: ignore[no-untyped-def]
    """Colours of columns such that two columns that meet in a row differ.

    Ref:     Curtis, Powell & Reid (1974); Gebremedhin, Manne & Pothen (2005), SIAM Review 47(4), algorithm 3.1.
    """
    n = len(starts) - 1
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)
    for j in order:
        for k in range(starts[j], starts[j + 1]):
            row = rows[k]
            for i in range(row_starts[row], row_starts[row + 1]):
                colour = colours[columns[i]]
                if colour >= 0:
                    taken[colour] = j
        colour = 0
        while taken[colour] == j:
            colour += 1
        colours[j] = colour
    return colours


def _push(heap, size, key):  # type: ignore[no-untyped-def]
    """(heap, size) after adding a key; the least key comes first."""
    if size == len(heap):
        heap = np.concatenate((heap, np.empty(size, np.int64)))
    k = size
    while k > 0 and heap[(k - 1) // 2] > key:
        heap[k] = heap[(k - 1) // 2]
        k = (k - 1) // 2
    heap[k] = key
    return heap, size + 1


def _pop(heap, size):  # type: ignore[no-untyped-def]
    """Remove and return the least key of a heap of this size."""
    least, last = heap[0], heap[size - 1]
    k = 0
    while 2 * k + 1 < size - 1:
        child = 2 * k + 1
        if child + 1 < size - 1 and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= last:
            break
        heap[k] = heap[child]
        k = child
    heap[k] = last
    return least


@plain_first(
    "Tuple((int64[::1], int64[::1]))(int64[::1], int64[::1], int64[::1], int64[::1])",
    lambda *graph: 2 * _count_meetings(*graph), _push, _pop,
)  # fmt: skip
def colour_most_constrained(starts, rows, row_starts, columns):  # type: ignore[no-untyped-def]
    """(colours, order): as `colour_apart`, but always continues with the first column that meets the most colours.

    A colour counts in each row where it was first met; on grids this is better than counting it once. The choice does
    not distinguish colours from 63 on.

    Ref:     Brélaz (1979), Communications of the ACM 22(4), 251-256.
    """
    n = len(starts) - 1
    colours, order = np.full(n, -1, np.int64), np.empty(n, np.int64)
    met, counts = np.zeros(n, np.int64), np.zeros(n, np.int64)  # the colours that a column meets, as bits; their number
    heap, size = np.empty(max(2 * n, 1), np.int64), 0  # keys (most - count) n + column; outdated entries stay
    most = 64 * (len(rows) + 1)
    for j in range(n):
        heap[j] = most * n + j
    size = n
    for place in range(n):
        while True:
            key = _pop(heap, size)
            size -= 1
            j = key % n
            if colours[j] < 0 and key // n == most - counts[j]:
                break
        colour = 0
        while colour < 63 and met[j] >> colour & 1:
            colour += 1
        if colour == 63:  # no bits left
            taken = np.zeros(n + 1, np.bool_)
            for k in range(starts[j], starts[j + 1]):
                for i in range(row_starts[rows[k]], row_starts[rows[k] + 1]):
                    if colours[columns[i]] >= 0:
                        taken[colours[columns[i]]] = True
            while taken[colour]:
                colour += 1
        colours[j], order[place] = colour, j
        bit = 1 << min(colour, 62)
        for k in range(starts[j], starts[j + 1]):
            for i in range(row_starts[rows[k]], row_starts[rows[k] + 1]):
                counts[columns[i]] += not met[columns[i]] & bit
        for k in range(starts[j], starts[j + 1]):
            for i in range(row_starts[rows[k]], row_starts[rows[k] + 1]):
                other = columns[i]
                if colours[other] < 0 and not met[other] & bit:
                    met[other] |= bit
                    heap, size = _push(heap, size, (most - counts[other]) * n + other)
    return colours, order


@plain_first(
    "int64[::1](int64[::1], int64[::1], int64[::1], int64[::1])",
    lambda starts, *_: len(starts) + 3 * int(np.sum(np.diff(starts) ** 2)),
)
def colour_stars(starts, neighbours, edges, order):  # type: ignore[no-untyped-def]
    """A star colouring: neighbours differ, and every path of four vertices has three colours.

    `edges` numbers the edges, equally in both directions; vertices that are not in `order` get no colour.

    Ref:     Gebremedhin, Tarafdar, Manne & Pothen (2007), SIAM Journal on Scientific Computing 29(3), algorithm 4.1.
    """
    n = len(starts) - 1
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)  # by colour: the vertex that may not have it
    first_of, first = np.full(n + 1, -1, np.int64), np.full(n + 1, -1, np.int64)  # by colour: (v, its first neighbour)
    first_edge = np.full(n + 1, -1, np.int64)
    treated = np.full(n, -1, np.int64)
    stars = np.full(len(edges) // 2 + 1, -1, np.int64)  # by edge
    hubs = np.full(len(edges) // 2 + 1, -1, np.int64)  # by star; -1 while it is one edge
    count = 0
    for v in order:
        for k in range(starts[v], starts[v + 1]):
            w = neighbours[k]
            colour = colours[w]
            if colour < 0:
                continue
            taken[colour] = v
            if first_of[colour] == v:  # two neighbours of one colour: v is a hub, none of theirs may have its colour
                for u in (first[colour], w):
                    if treated[u] != v:
                        treated[u] = v
                        for i in range(starts[u], starts[u + 1]):
                            if colours[neighbours[i]] >= 0:
                                taken[colours[neighbours[i]]] = v
            else:
                first_of[colour], first[colour], first_edge[colour] = v, w, edges[k]
                for i in range(starts[w], starts[w + 1]):  # w is a leaf of the star of x: v must differ from x
                    x = neighbours[i]
                    if x != v and colours[x] >= 0 and hubs[stars[edges[i]]] == x:
                        taken[colours[x]] = v
        colour = 0
        while taken[colour] == v:
            colour += 1
        colours[v] = colour
        for k in range(starts[v], starts[v + 1]):
            w = neighbours[k]
            if colours[w] < 0:
                continue
            joined = False
            for i in range(starts[w], starts[w + 1]):
                x = neighbours[i]
                if x != v and colours[x] == colour:
                    stars[edges[k]] = stars[edges[i]]
                    hubs[stars[edges[i]]] = w
                    joined = True
                    break
            if not joined:
                if first[colours[w]] != w:
                    stars[edges[k]] = stars[first_edge[colours[w]]]
                    hubs[stars[edges[k]]] = v
                else:
                    stars[edges[k]] = count
                    count += 1
    return colours


@plain_first("int64[::1](int64[::1], int64[::1])", lambda starts, neighbours: len(starts) + 2 * len(neighbours))
def order_smallest_last(starts, neighbours):  # type: ignore[no-untyped-def]
    """Vertices ordered so that each has the fewest neighbours among those up to it.

    Ref:     Matula & Beck (1983), Journal of the ACM 30(3).
    """
    n = len(starts) - 1
    degrees = starts[1:] - starts[:-1]
    most = 0
    for degree in degrees:
        most = max(most, degree)
    # vertices by degree, as doubly linked lists
    heads = np.full(most + 1, -1, np.int64)
    after, before = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for v in range(n):
        after[v] = heads[degrees[v]]
        if after[v] >= 0:
            before[after[v]] = v
        heads[degrees[v]] = v
    order, removed = np.empty(n, np.int64), np.zeros(n, np.bool_)
    least = 0
    for place in range(n - 1, -1, -1):
        while heads[least] < 0:
            least += 1
        v = heads[least]
        heads[least] = after[v]
        if after[v] >= 0:
            before[after[v]] = -1
        removed[v], order[place] = True, v
        for k in range(starts[v], starts[v + 1]):
            w = neighbours[k]
            if removed[w]:
                continue
            if before[w] >= 0:
                after[before[w]] = after[w]
            else:
                heads[degrees[w]] = after[w]
            if after[w] >= 0:
                before[after[w]] = before[w]
            degrees[w] -= 1
            before[w], after[w] = -1, heads[degrees[w]]
            if after[w] >= 0:
                before[after[w]] = w
            heads[degrees[w]] = w
        least = max(least - 1, 0)
    return order
