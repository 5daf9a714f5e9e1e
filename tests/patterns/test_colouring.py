"""Colourings have the property that they are named for, find random matrices again, and have few colours."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from contad.patterns import colouring, grids
from contad.patterns.colouring import colour_both, colour_columns, colour_symmetric
from contad.patterns.compression import Compression, compress_hessian, compress_jacobian
from contad.patterns.grids import colour_grid

RANDOM = np.random.default_rng(5)
SHAPES = [(int(RANDOM.integers(1, 14)), int(RANDOM.integers(1, 14)), p) for p in [0.1, 0.3, 0.5, 1.0] * 8]


def random_matrix(m, n, p):
    return np.where(RANDOM.random((m, n)) < p, RANDOM.standard_normal((m, n)), 0.0)


def band(n, width):
    offsets = range(-width, width + 1)
    return sparse.diags_array([np.ones(n - abs(k)) for k in offsets], offsets=list(offsets), shape=(n, n)).tocsr() != 0


def laplacian(k):
    line, one = band(k, 1), sparse.eye_array(k)
    return ((sparse.kron(line, one) + sparse.kron(one, line)) != 0).tocsr()


def arrow(n):
    ends = np.zeros(n - 1, int), np.arange(1, n)
    rows, columns = np.concatenate([np.arange(n), *ends]), np.concatenate([np.arange(n), *ends[::-1]])
    return sparse.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(n, n))


def brusselator(k):
    """Two species on a grid: each with its neighbours and with the other one."""
    return sparse.block_array([[laplacian(k), sparse.eye_array(k * k)], [sparse.eye_array(k * k), laplacian(k)]]) != 0


def ring(n):
    """Every unknown with its neighbours, the last one with the first."""
    k = np.arange(n)
    places = np.concatenate([k, k, k]), np.concatenate([k, (k + 1) % n, (k - 1) % n])
    return sparse.csr_array((np.ones(3 * n), places), shape=(n, n))


def periodic_brusselator(k):
    """Two species on a square whose sides meet, all of one before those of the other."""
    one, both = sparse.eye_array(k), sparse.eye_array(k * k)
    grid = sparse.kron(ring(k), one) + sparse.kron(one, ring(k))
    return (sparse.block_array([[grid, both], [both, grid]]) != 0).tocsr()


def laplacian_of_cube(k):
    line, one = band(k, 1), sparse.eye_array(k)
    axes = ([line, one, one], [one, line, one], [one, one, line])
    return (sum(sparse.kron(sparse.kron(a, b), c) for a, b, c in axes) != 0).tocsr()


def blocks(count, size):
    return sparse.kron(sparse.eye_array(count), np.ones((size, size))).tocsr() != 0


@pytest.mark.parametrize(("m", "n", "p"), SHAPES)
def test_columns_of_one_colour_meet_in_no_row(m, n, p):
    matrix = random_matrix(m, n, p)
    colours = colour_columns(sparse.csr_array(matrix != 0))
    for i, j in itertools.combinations(range(n), 2):
        assert colours[i] != colours[j] or not np.any((matrix[:, i] != 0) & (matrix[:, j] != 0))


@pytest.mark.parametrize(("m", "n", "p"), SHAPES)
def test_paths_of_four_have_three_colours(m, n, p):
    graph = random_matrix(n, n, p) != 0
    graph |= graph.T
    np.fill_diagonal(graph, False)
    colours = colour_symmetric(sparse.csr_array(graph))
    ends = [np.flatnonzero(graph[k]) for k in range(n)]
    for b in range(n):
        for c in ends[b]:
            assert colours[b] != colours[c]
            for a, d in itertools.product(ends[b], ends[c]):
                assert len({a, b, c, d}) < 4 or len({colours[k] for k in (a, b, c, d)}) > 2


@pytest.mark.parametrize("hubs", [False, True])
@pytest.mark.parametrize(("m", "n", "p"), SHAPES)
def test_every_element_is_found(m, n, p, hubs, monkeypatch):
    if hubs:  # vertices of many neighbours get colours of their own
        monkeypatch.setattr(colouring, "MOST_WORK", 20)
    matrix = random_matrix(m, n, p)
    pattern = sparse.csr_array(matrix != 0)
    for made in (compress_jacobian(pattern), Compression(pattern, *colour_both(pattern))):
        found = made.matrix(lambda rows: rows @ matrix.T, lambda rows: rows @ matrix)
        np.testing.assert_array_equal(found.toarray() != 0, matrix != 0)
        np.testing.assert_allclose(found.toarray(), matrix, rtol=1e-14)
    square = random_matrix(n, n, p)
    square = square + square.T
    made = compress_hessian(sparse.csr_array(square != 0))
    np.testing.assert_allclose(made.matrix(lambda rows: rows @ square, None).toarray(), square, rtol=1e-14)


@pytest.mark.parametrize(
    ("pattern", "jacobian", "hessian"),
    [
        (band(1000, 1), 3, 3), (band(1000, 3), 7, 7), (arrow(1000), 3, 2), (laplacian(30), 5, 5),
        (laplacian_of_cube(12), 7, 7), (brusselator(20), 6, 6), (periodic_brusselator(10), 7, 7),
        (periodic_brusselator(32), 8, 8), (blocks(50, 5), 5, 5), (sparse.eye_array(100).tocsr() != 0, 1, 1),
    ],
    ids=[
        "tridiagonal", "band", "arrow", "laplacian", "cube", "brusselator",
        "small ring", "ring", "blocks", "diagonal",
    ],
)  # fmt: skip
def test_few_colours(pattern, jacobian, hessian):
    assert compress_jacobian(pattern).passes <= jacobian and compress_hessian(pattern).passes <= hessian


def test_a_row_that_is_none_of_the_grid_refuses_weights_at_once(monkeypatch):
    pattern = laplacian_of_cube(12).tolil()
    pattern[700, 300:310] = 1.0
    pattern = pattern.tocsr() != 0
    checks = []
    real = np.bincount
    monkeypatch.setattr(grids.np, "bincount", lambda x, **given: checks.append(len(x)) or real(x, **given))
    colours = colour_grid(pattern, 16, 30)
    assert sum(n == pattern.nnz for n in checks) <= grids.MOST_CHECKED + 3
    if colours is not None:
        places = pattern.tocoo()
        assert real(places.row * 30 + colours[places.col]).max() == 1


@pytest.mark.parametrize("pattern", [laplacian(12), laplacian_of_cube(6), periodic_brusselator(10), band(40, 2)])
def test_elements_of_grids_are_found(pattern):
    """Columns of one colour meet in no row, and the matrix comes back."""
    matrix = sparse.csr_array(pattern, dtype=float)
    matrix.data = RANDOM.standard_normal(matrix.nnz)
    colours = colour_columns(pattern)
    meet = (abs(matrix).T @ abs(matrix)).tocoo()
    assert np.all((colours[meet.row] != colours[meet.col]) | (meet.row == meet.col))
    made = compress_jacobian(pattern)
    found = made.matrix(lambda rows: rows @ matrix.T, lambda rows: rows @ matrix)
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def greedy_orders(meet):
    """The orders of ColPack in which vertices of a graph are coloured, by their definitions."""
    n = len(meet)
    degrees = meet.sum(axis=0)
    yield np.arange(n)
    yield np.argsort(-degrees, kind="stable")
    left, last = np.ones(n, bool), []
    while left.any():  # smallest last
        v = min(np.flatnonzero(left), key=lambda v: (meet[v] & left).sum())
        left[v] = False
        last.append(v)
    yield np.array(last[::-1])
    for inside in (True, False):  # incidence degree, and dynamic largest first
        left, order = np.ones(n, bool), []
        while left.any():
            v = max(np.flatnonzero(left), key=lambda v: (meet[v] & (~left if inside else left)).sum())
            left[v] = False
            order.append(v)
        yield np.array(order)
    for seed in range(5):
        yield np.random.default_rng(seed).permutation(n)


@pytest.mark.parametrize(
    "pattern",
    [band(60, 2), arrow(60), laplacian(9), laplacian_of_cube(4), brusselator(6), periodic_brusselator(7), blocks(9, 4)],
    ids=["band", "arrow", "laplacian", "cube", "brusselator", "ring", "blocks"],
)
def test_no_order_of_colpack_has_fewer_colours(pattern):
    """Its greedy partial distance-2 colouring, written down plainly, in each of its orders."""
    dense = pattern.toarray() != 0
    meet = (dense.T.astype(int) @ dense.astype(int)) > 0
    np.fill_diagonal(meet, False)
    counts = []
    for order in greedy_orders(meet):
        colours = np.full(len(meet), -1)
        for v in order:
            colours[v] = next(c for c in itertools.count() if c not in colours[meet[v]])
        counts.append(colours.max() + 1)
    assert colour_columns(pattern).max() + 1 <= min(counts)


def banded(n, below, above):
    return np.triu(np.tril(np.ones((n, n)), above), -below)


def block_banded(rows, columns, below, above):
    """Blocks of these heights and widths; block (i, j) is full where j - i is from -below to above."""
    i, j = (np.repeat(np.arange(len(sizes)), sizes) for sizes in (rows, columns))
    offsets = j[None, :] - i[:, None]
    return (offsets >= -below) & (offsets <= above)


@pytest.mark.parametrize(
    ("matrix", "colours"),
    [
        (banded(10, 0, 1), 2), (banded(10, 1, 0), 2), (banded(10, 1, 1), 3), (banded(10, 1, 2), 4),
        (block_banded([1, 2, 3, 4], [4, 3, 2, 1], 1, 0), 7), (block_banded([4, 3, 2, 1], [1, 2, 3, 4], 1, 1), 9),
        (np.triu(np.ones((10, 10))), 10),
    ],
    ids=["upper bidiagonal", "lower bidiagonal", "tridiagonal", "band", "blocks below", "blocks around", "triangle"],
)  # fmt: skip
def test_columns_have_as_many_colours_as_those_of_julia(matrix, colours):
    """The counts of SparseDiffTools.jl on its special matrices."""
    assert colour_columns(sparse.csr_array(matrix != 0)).max() + 1 <= colours


@pytest.mark.parametrize("width", [2, 5, 10])
def test_star_colourings_of_bands_have_the_known_number_of_colours(width):
    """Two for each diagonal beside the main one, and one: Gebremedhin, Tarafdar, Pothen & Walther (2009)."""
    assert compress_hessian(band(500, width)).passes == 2 * width + 1


@pytest.mark.parametrize("n", [1000, 100_000])
def test_colours_do_not_grow_with_the_size(n):
    assert compress_jacobian(band(n, 1)).passes == compress_hessian(band(n, 1)).passes == 3
    assert compress_jacobian(arrow(n)).passes == 3


def test_a_pattern_without_elements():
    made = compress_jacobian(sparse.csr_array((3, 0), dtype=bool))
    assert made.passes == 0 and made.matrix(None, None).shape == (3, 0)
