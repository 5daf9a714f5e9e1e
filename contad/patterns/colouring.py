"""Colourings of the rows and columns of a sparse matrix: those with one colour share one pass of a derivative."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from contad.patterns.grids import colour_grid

MOST_WORK = 200_000_000  # visits of pairs of neighbours; beyond, vertices with many neighbours get colours of their own
AGAIN = 6  # how often a colouring is repeated, class by class
MOST_AGAIN = 2_000_000  # visits of pairs of neighbours up to which repeating pays


def colour_columns(pattern: Any) -> np.ndarray | None:
    """Colours of columns such that two columns with elements in one row differ; None where that is hopeless.

    Ref:     Curtis, Powell & Reid (1974), Journal of the Institute of Mathematics and its Applications 13, 117-119;
             Brélaz (1979), Communications of the ACM 22(4), 251-256; Culberson (1992), Iterated greedy graph coloring
             and the difficulty landscape, TR 92-07, University of Alberta.
    """
    from contad.patterns import colouring_kernels as kernels

    by_rows, by_columns = pattern.tocsr(), pattern.tocsc()
    in_rows = np.diff(by_rows.indptr).astype(np.int64)
    work = int(np.sum(in_rows**2))
    if work > MOST_WORK:
        return None
    arrays = [_integers(a) for a in (by_columns.indptr, by_columns.indices, by_rows.indptr, by_rows.indices)]
    conflicts = np.zeros(pattern.shape[1], np.int64)  # for each column; a column that meets it twice counts twice
    np.add.at(conflicts, by_rows.indices, np.repeat(in_rows, in_rows))
    least = int(in_rows.max(initial=0))
    in_order = (kernels.colour_apart(*arrays, order) for order in _orders(conflicts))
    best = _best(itertools.chain(in_order, (kernels.colour_most_constrained(*arrays)[0] for _ in range(1))), least)
    count = int(best.max(initial=-1)) + 1
    if count <= least:
        return best
    on_grid = colour_grid(pattern, least, count)
    if on_grid is not None and on_grid.max() + 1 == least:
        return on_grid
    # a greedy colouring in the order of classes never has more colours than before
    for k in range(AGAIN if work <= MOST_AGAIN else 0):
        following = kernels.colour_apart(*arrays, _order_classes(best, k))
        best = following if following.max() < best.max() else best
        if best.max() + 1 <= least:
            break
    return best if on_grid is None or best.max() < on_grid.max() else on_grid


def colour_symmetric(pattern: Any) -> np.ndarray:
    """A star colouring of a symmetric pattern, with which `compress_hessian` finds every element in a product.

    Ref:     Coleman & Moré (1984), Mathematical Programming 28, 243-270; the kernel's.
    """
    return _best((_colour_stars(pattern, few) for few in (False, True)), 1)


def _colour_stars(pattern: Any, few: bool) -> np.ndarray:
    """The best of some greedy star colourings. Hubs get colours of their own, with `few` more vertices do."""
    from contad.patterns import colouring_kernels as kernels

    graph, hubs = _graph_without_hubs(pattern, few)
    starts, neighbours = _integers(graph.indptr), _integers(graph.indices)
    edges = _number_edges(graph)
    orders = [*_orders(np.diff(starts)), kernels.order_smallest_last(starts, neighbours)]
    orders.append(kernels.colour_most_constrained(starts, neighbours, starts, neighbours)[1])
    others = np.ones(len(starts) - 1, np.bool_)
    others[hubs] = False
    best = _best((kernels.colour_stars(starts, neighbours, edges, order[others[order]]) for order in orders), 1)
    best[hubs] = best.max(initial=-1) + 1 + np.arange(len(hubs))
    return best


def colour_both(pattern: Any) -> tuple[np.ndarray, np.ndarray]:
    """(colours of rows, colours of columns), -1 for none: each element is alone in the pass of its row or its column.

    Ref:     Coleman & Verma (1998), SIAM Journal on Scientific Computing 19(4), 1210-1233; by a star colouring of the
             graph of rows and columns, without the colours that no element needs.
    """
    from scipy import sparse

    m = pattern.shape[0]
    both = sparse.block_array([[sparse.csr_array((m, m), dtype=np.bool_), pattern], [pattern.T, None]], format="csr")
    found = [_colour_bipartite(pattern, _colour_stars(both, few)) for few in (False, True)]
    return min(found, key=count_colours)


def count_colours(colours: tuple[np.ndarray, np.ndarray]) -> int:
    """The number of colours of rows and columns together."""
    return int(colours[0].max(initial=-1) + colours[1].max(initial=-1)) + 2


def _colour_bipartite(pattern: Any, colours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The colours of rows and of columns from a star colouring, without those that no element needs."""
    m = pattern.shape[0]
    count = int(colours.max(initial=-1)) + 1
    of_rows, of_columns = colours[:m], colours[m:]
    places = pattern.tocoo()
    i, j = (_integers(a) for a in (places.row, places.col))
    by_row = is_alone(j, of_rows[i], count)
    by_column = is_alone(i, of_columns[j], count)
    keep_rows, keep_columns = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    keep_rows[of_rows[i[~by_column]]] = True
    keep_columns[of_columns[j[~by_row]]] = True
    while True:  # then the colours that serve most of the remaining elements
        left = ~(by_row & keep_rows[of_rows[i]]) & ~(by_column & keep_columns[of_columns[j]])
        if not left.any():
            break
        votes = [np.bincount(of_rows[i[left]], minlength=count), np.bincount(of_columns[j[left]], minlength=count)]
        if votes[0].max() > votes[1].max():
            keep_rows[votes[0].argmax()] = True
        else:
            keep_columns[votes[1].argmax()] = True
    return _renumber(of_rows, keep_rows), _renumber(of_columns, keep_columns)


def is_alone(lines: np.ndarray, colours: np.ndarray, count: int) -> np.ndarray:
    """Marks the elements whose colour no other element of their line has; colour -1 is never alone."""
    keys = lines * (count + 1) + colours
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return (counts[which.reshape(-1)] == 1) & (colours >= 0)


# ---- orders and graphs -----------------------------------------------------------------------------------------------
def _orders(degrees: np.ndarray) -> list[np.ndarray]:
    """Orders of vertices: the given order, and largest degree first."""
    return [np.arange(len(degrees)), np.argsort(-degrees, kind="stable")]


def _order_classes(colours: np.ndarray, k: int) -> np.ndarray:
    """The vertices, colour by colour, in one of three orders: last colour first, smallest class first, or unsorted."""
    count = int(colours.max()) + 1
    keys = (-np.arange(count), np.bincount(colours), np.random.default_rng(k).permutation(count))[k % 3]
    return np.argsort(keys[colours], kind="stable")


def _best(colourings: Iterator[np.ndarray], least: int) -> np.ndarray:
    """The colouring with the fewest colours; the search stops at `least`."""
    best: np.ndarray | None = None
    for colours in colourings:
        if best is None or colours.max(initial=-1) < best.max(initial=-1):
            best = colours
        if best.max(initial=-1) + 1 <= least:
            break
    assert best is not None
    return best


def _graph_without_hubs(pattern: Any, few: bool) -> tuple[Any, np.ndarray]:
    """The graph of a symmetric pattern without hubs, and the hubs, which have too many neighbours for visits from each.

    A vertex with a colour of its own is on no path of two colours, so the graph can omit it. With `few`, vertices with
    many times more neighbours than most are hubs as well.
    """
    from scipy import sparse

    graph = pattern.tocsr()
    degrees = np.diff(graph.indptr).astype(np.int64)
    order = np.argsort(-degrees, kind="stable")
    work = np.cumsum(degrees[order][::-1] ** 2)[::-1]
    is_hub = work > MOST_WORK
    if few:
        is_hub |= degrees[order] > 8 + 4 * np.median(degrees)
    hubs = order[is_hub]
    keep = np.ones(len(degrees))
    keep[hubs] = 0.0
    places = graph.tocoo()
    live = (places.row != places.col) & (keep[places.row] > 0.0) & (keep[places.col] > 0.0)
    rows, columns = places.row[live], places.col[live]
    graph = sparse.csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=graph.shape)
    graph.sort_indices()
    return graph, hubs


def _number_edges(graph: Any) -> np.ndarray:
    """Numbers for the edges of a symmetric graph, equal in both directions."""
    n = graph.shape[0]
    places = graph.tocoo()
    row, column = _integers(places.row), _integers(places.col)
    _, numbers = np.unique(np.minimum(row, column) * n + np.maximum(row, column), return_inverse=True)
    return _integers(numbers.reshape(-1))


def _renumber(colours: np.ndarray, keep: np.ndarray) -> np.ndarray:
    numbers = np.where(keep, np.cumsum(keep) - 1, -1)
    return numbers[colours]


def _integers(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a, np.int64)
