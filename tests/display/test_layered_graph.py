"""Where the nodes of a small graph stand."""

import itertools
import random

import pytest

from contad.display import layered_graph
from contad.display.layered_graph import arrange


def graph(seed):
    draw = random.Random(seed)
    n = draw.randint(1, 40)
    edges = {(draw.randrange(b), b) for b in range(1, n) for _ in range(draw.randint(0, 3))}
    return [draw.uniform(20.0, 200.0) for _ in range(n)], sorted(edges)


@pytest.mark.parametrize("seed", range(20))
def test_arrows_lead_on_and_nodes_have_room(seed):
    sizes, edges = graph(seed)
    placed = arrange(sizes, edges)
    assert all(placed.layers[a] < placed.layers[b] for a, b in edges)
    for layer in set(placed.layers):
        ends = sorted(
            (x - size / 2, x + size / 2)
            for x, size, at in zip(placed.across, sizes, placed.layers, strict=True)
            if at == layer
        )
        assert all(a[1] < b[0] for a, b in itertools.pairwise(ends))
        assert ends[0][0] >= -1e-9 and ends[-1][1] <= placed.extent + 1e-9
    for (a, b), way in zip(edges, placed.ways, strict=True):
        assert len(way) == placed.layers[b] - placed.layers[a] + 1
        assert (way[0], way[-1]) == (placed.across[a], placed.across[b])


def test_crossings_that_need_not_be_are_avoided():
    """Two chains and a node that joins them, numbered so that the order of numbers crosses."""
    edges = [(0, 3), (1, 2), (3, 4), (2, 5), (4, 6), (5, 6)]
    placed = arrange([10.0] * 7, edges)
    order = [placed.across[a] < placed.across[b] for a, b in ((0, 1), (3, 2), (4, 5))]
    assert len(set(order)) == 1


def test_a_layout_without_ordering_is_noticed(monkeypatch):
    monkeypatch.setattr(layered_graph, "_order", lambda rows, above, below: rows)
    with pytest.raises(AssertionError):
        test_crossings_that_need_not_be_are_avoided()


def test_nothing_and_one_node():
    assert arrange([], []) == ([], [], [], 0.0) and arrange([8.0], []) == ([0], [4.0], [], 8.0)
