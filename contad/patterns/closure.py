"""Sparsity patterns of derivatives, from the dependencies of a recording."""

from typing import Any

import numpy as np

from contad.engines.second_order.dependencies import Dependencies


def jacobian_pattern(d: Dependencies, columns: int, outputs: np.ndarray) -> Any:
    """The pattern of the Jacobian of these cells by the inputs, as a CSR array of booleans; cell 0 is a constant."""
    nodes = d.nodes[outputs]
    sets = _Sets(d, columns, nodes)
    return sets.rows(nodes)


def hessian_pattern(d: Dependencies, columns: int, outputs: np.ndarray) -> Any:
    """The pattern of the Hessian of a number that is made of these cells by the inputs, a CSR array of booleans.

    Where an operation bends p and q, the inputs of p and those of q may have second derivatives: the pattern has all
    that is not zero, and may have zeros.

    Ref:     Walther (2008), ACM Transactions on Mathematical Software 34(1), on nonlinear interactions.
    """
    from contad.patterns import closure_kernels as kernels

    starts, parents = d.edges
    needed = np.zeros(d.count, np.bool_)
    needed[d.nodes[outputs]] = True
    kernels.mark_ancestors(starts, parents, needed)
    z, p, q = d.bends
    live = needed[z] & (z != 0)
    pairs = np.unique(np.stack([p[live], q[live]]), axis=1)
    sets = _Sets(d, columns, pairs.reshape(-1))
    half = sets.rows(pairs[0]).T @ sets.rows(pairs[1])
    return _canonical(half + half.T)


class _Sets:
    """The inputs on which nodes depend."""

    def __init__(self, d: Dependencies, columns: int, targets: np.ndarray) -> None:
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
