"""A graph that is larger than was thought is made again; one that memory does not hold is refused."""

import numpy as np
import pytest

import contad
from contad.front import noted_dependencies


def run_of(count):
    """What stands for a program that notes `count` nodes, and the sizes of the graphs that it was given."""
    rows = []

    def run(args, given):
        *_, graph = given
        rows.append(len(graph))
        graph[0, 0] = count
        return 1.0, count - 1

    return run, rows


def test_a_larger_graph_is_made_again():
    run, rows = run_of(100_000)
    graph, value = noted_dependencies._run(run, "f", (1.0,), [1], 2)
    assert rows == [4096, 100_000]
    assert (graph.count, graph.columns, value) == (100_000, 1, 1.0)
    np.testing.assert_array_equal(graph.outputs, [99_999])


def test_a_graph_that_memory_does_not_hold_is_refused():
    run, _ = run_of(100_000)
    contad.set_memory_limit(1_000_000)
    try:
        with pytest.raises(MemoryError, match=r"sparsity: f: .*contad\.set_memory_limit allows"):
            noted_dependencies._run(run, "sparsity: f", (1.0,), [1], 2)
    finally:
        contad.set_memory_limit(None)
