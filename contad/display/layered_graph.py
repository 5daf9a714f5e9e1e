"""A layout for the nodes and arrows of a small directed graph: layer by layer, with few crossings.

The method is Sugiyama's: a node's layer is the length of the longest path to it; an arrow across layers gets a place in
each of them; the order in a layer follows the means of neighbours; the places are as close to the means of neighbours
as the room for everything allows.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

_SWEEPS = 12
_ROOM = 18.0  # between neighbours in a layer
_THIN = 10.0  # width of a passing arrow


class Placed(NamedTuple):
    """The places of nodes, along the layer (`across`) and from layer to layer (`layers`), and of arrows by layer."""

    layers: list[int]
    across: list[float]  # the middle of each node
    ways: list[list[float]]  # for each arrow: its places in the layers from its source to its target
    extent: float  # of the widest layer


def arrange(sizes: Sequence[float], edges: Sequence[tuple[int, int]]) -> Placed:
    """Place nodes with these sizes along their layer; arrows must lead to higher numbers.

    >>> placed = arrange([10.0, 10.0, 10.0], [(0, 2), (1, 2)])
    >>> placed.layers, placed.across[2] == (placed.across[0] + placed.across[1]) / 2
    ([0, 0, 1], True)
    """
    layers = [0] * len(sizes)
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        layers[b] = max(layers[b], layers[a] + 1)
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for node, layer in enumerate(layers):
        rows[layer].append(node)
    room = list(sizes)
    paths = []
    for a, b in edges:
        path = [a]
        for layer in range(layers[a] + 1, layers[b]):
            rows[layer].append(len(room))
            path.append(len(room))
            room.append(_THIN)
        paths.append([*path, b])
    above: list[list[int]] = [[] for _ in room]
    below: list[list[int]] = [[] for _ in room]
    for path in paths:
        for a, b in itertools.pairwise(path):
            below[a].append(b)
            above[b].append(a)
    rows = _order(rows, above, below)
    across = _place(rows, above, below, room)
    start = min((across[n] - room[n] / 2 for row in rows for n in row), default=0.0)
    across = [x - start for x in across]
    extent = max((across[n] + room[n] / 2 for row in rows for n in row), default=0.0)
    return Placed(layers, across[: len(sizes)], [[across[n] for n in path] for path in paths], extent)


def _order(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    """Order each layer by the means of neighbours, down and up repeatedly; returns the best order found."""
    best, fewest = rows, _crossings(rows, below)
    for k in range(_SWEEPS):
        downwards = k % 2 == 0
        rows = [list(row) for row in rows]
        neighbours = above if downwards else below
        for row in rows if downwards else reversed(rows):
            place = {n: i for other in rows for i, n in enumerate(other)}
            means = {
                n: sum(place[m] for m in neighbours[n]) / len(neighbours[n]) if neighbours[n] else float(place[n])
                for n in row
            }
            row.sort(key=means.__getitem__)
        found = _crossings(rows, below)
        if found < fewest:
            best, fewest = rows, found
    return best


def _crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """The number of crossing pairs of arrows between neighbouring layers."""
    place = {n: i for row in rows for i, n in enumerate(row)}
    count = 0
    for row in rows:
        arrows = [(place[a], place[b]) for a in row for b in below[a]]
        count += sum(a < c and b > d for a, b in arrows for c, d in arrows)
    return count


def _place(rows: list[list[int]], above: list[list[int]], below: list[list[int]], room: list[float]) -> list[float]:
    """Places along the layers: near the means of neighbours, in the given order, with room between."""
    across = [0.0] * len(room)
    for row in rows:
        _settle(row, dict.fromkeys(row, 0.0), room, across)
    for k in range(_SWEEPS):
        downwards = k % 2 == 0
        for row in rows if downwards else reversed(rows):
            wanted = {}
            for n in row:
                # both sides count, so that a node with one neighbour does not drift away from the others
                near = (above[n] or below[n]) if downwards else (below[n] or above[n])
                wanted[n] = sum(across[m] for m in near) / len(near) if near else across[n]
            _settle(row, wanted, room, across)
    return across


def _settle(row: list[int], wanted: dict[int, float], room: list[float], across: list[float]) -> None:
    """The places of a layer that are nearest to the wanted ones in least squares, by isotonic regression."""
    offsets = [0.0]
    for a, b in itertools.pairwise(row):
        offsets.append(offsets[-1] + (room[a] + room[b]) / 2 + _ROOM)
    groups: list[tuple[float, int]] = []  # (mean of wanted less offset, number of nodes)
    for n, offset in zip(row, offsets, strict=True):
        mean, count = wanted[n] - offset, 1
        while groups and groups[-1][0] > mean:
            other, more = groups.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        groups.append((mean, count))
    means = [mean for mean, count in groups for _ in range(count)]
    for n, mean, offset in zip(row, means, offsets, strict=True):
        across[n] = mean + offset
