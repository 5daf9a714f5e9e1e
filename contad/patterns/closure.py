"""Sparsity patterns of derivatives, from a graph of dependences."""

from typing import Any, Protocol

import numpy as np

Bends = tuple[np.ndarray, np.ndarray, np.ndarray]


class Graph(Protocol):
    """Nodes, each after its parents; node 0 is every constant, the next nodes are the inputs."""

    count: int

    @property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """(the start of each node's parents, the parents), in the order of the nodes."""

    @property
    def bends(self) -> Bends:
        """Triples of nodes z, p and q where z may have a second derivative by p and q."""


def jacobian_pattern(d: Graph, columns: int, nodes: np.ndarray) -> Any:
    """The pattern of the Jacobian of these nodes by the inputs, as a CSR array of booleans."""
    sets = _Sets(d, columns, nodes)
    return sets.rows(nodes)


def hessian_pattern(d: Graph, columns: int, nodes: np.ndarray) -> Any:
    """The Hessian pattern by the inputs of a number that is linear in these nodes, as a CSR array of booleans.

    If an operation bends p and q, any input of p and any input of q may have a second derivative: the pattern covers
    all nonzero elements, and may contain zeros.

    Ref:     Walther (2008), ACM Transactions on Mathematical Software 34(1), on nonlinear interactions.
    """
    from contad.patterns import closure_kernels as kernels

    starts, parents = d.edges
    needed = np.zeros(d.count, np.bool_)
    needed[nodes] = True
    kernels.mark_ancestors(starts, parents, needed)
    z, p, q = d.bends
    live = needed[z] & (z != 0)
    pairs = np.stack(np.divmod(np.unique(p[live] * d.count + q[live]), d.count))
    sets = _Sets(d, columns, pairs.reshape(-1))
    half = sets.rows(pairs[0]).T @ sets.rows(pairs[1])
    return _canonical(half + half.T)


class _Sets:
    """For each node, the inputs on which it depends."""

    def __init__(self, d: Graph, columns: int, targets: np.ndarray) -> None:
        from contad.patterns import closure_kernels as kernels

        starts, parents = d.edges
        marked = np.zeros(d.count, np.bool_)
        marked[targets] = True
        kept = marked.copy()
        kernels.mark_ancestors(starts, parents, marked)
        kernels.mark_shared(starts, parents, marked, kept)
        kept[0] = False  # a constant depends on nothing
        of_inputs = np.full(d.count, -1, np.int64)
        of_inputs[1 : columns + 1] = np.arange(columns)
        self.columns = columns
        self.first, self.last, self.members = kernels.find_sets(starts, parents, of_inputs, kept)

    def rows(self, nodes: np.ndarray) -> Any:
        """The sets of these nodes as the rows of a matrix."""
        from scipy import sparse

        first, counts = self.first[nodes], self.last[nodes] - self.first[nodes]
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])
        shape = len(nodes), self.columns
        indices = self.members[places]
        return _canonical(sparse.csr_array((np.ones(len(indices), np.bool_), indices, starts), shape=shape))


def _canonical(pattern: Any) -> Any:
    pattern = pattern.tocsr()
    pattern.sum_duplicates()
    return pattern
