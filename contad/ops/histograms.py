"""Histograms: edges that are made from the elements, and sums of weights, have derivatives; counts are constants."""

import operator

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.calculus import bincount
from contad.ops.polynomials import linspace
from contad.ops.products import as_array
from contad.rules.numpy_functions import implements
from contad.variables.number import map_numbers, observe, primal


@implements(np.histogram_bin_edges, layout="own")
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of bins of one width, from the smallest element to the largest or in a range; given edges unchanged."""
    if isinstance(bins, str):
        raise UnsupportedError(f"np.histogram_bin_edges: bins must be a number or edges on variables, got {bins!r}")
    if np.ndim(bins):
        bins = as_array(bins)
        if np.any(observe(np.diff, bins) < 0.0):
            raise ValueError("`bins` must increase monotonically, when an array")
        return bins
    observe(np.histogram_bin_edges, a, bins, range)  # raises for wrong arguments
    if range is not None:
        low, high = range
    else:
        a = as_array(a)
        low, high = (np.min(a), np.max(a)) if np.size(a) else (0.0, 1.0)
    if observe(operator.eq, low, high):
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, operator.index(bins) + 1)


def places_of(x, edges):
    """The bin of each element, and whether it has one; the last bin contains its right edge."""
    x, edges = (np.ravel(np.asarray(map_numbers(primal, v))) for v in (x, edges))
    place = np.where(x == edges[-1], len(edges) - 2, np.searchsorted(edges, x, "right") - 1)
    return place, (x >= edges[0]) & (x <= edges[-1])


@implements(np.histogram, layout="own")
def histogram(a, bins=10, range=None, density=None, weights=None):
    """Counts of elements in bins, or sums of their weights, and the edges."""
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    edges = histogram_bin_edges(a, bins, range)
    counts = observe(np.histogram, a, bins, range)[0] if weights is None else _sums(weights, [a], [edges])
    if density:
        return counts / np.diff(edges) / np.sum(counts), edges
    return counts, edges


def _sums(weights, columns, edges, margin=0):
    """The sums of the weights of points, given by coordinates, in the cells of a grid with margins of empty cells."""
    shape = tuple(len(e) - 1 + 2 * margin for e in edges)
    found = [observe(places_of, x, e) for x, e in zip(columns, edges, strict=True)]
    inside = np.logical_and.reduce([within for _, within in found])
    cells = np.ravel_multi_index([place[inside] + margin for place, _ in found], shape)
    w = np.ravel(as_array(weights))[inside]
    if isinstance(w, np.ndarray) and w.dtype.kind in "iub":
        return np.bincount(cells, w, int(np.prod(shape))).astype(w.dtype if w.dtype != bool else int).reshape(shape)
    return np.reshape(bincount(w, x=cells, minlength=int(np.prod(shape))), shape)


@implements(np.histogramdd, layout="own")
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """Counts of points in the cells of a grid, or sums of their weights, and the edges along each axis."""
    if isinstance(sample, (list, tuple)):
        columns = [as_array(x) for x in sample]
    else:
        sample = sample if np.ndim(sample) == 2 else np.atleast_2d(sample).T
        if np.ndim(sample) != 2:
            raise ValueError(f"np.histogramdd: sample must have two axes, got shape {np.shape(sample)}")
        columns = [sample[:, k] for k in np.arange(np.shape(sample)[1])]
    n = len(columns)
    bins = [bins] * n if np.ndim(bins) == 0 else list(bins)
    if len(bins) != n:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * n if range is None else list(range)
    if len(ranges) != n:
        raise ValueError("range argument must have one entry per dimension")
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(columns, bins, ranges, strict=True)]
    counts = _sums(np.ones(np.shape(columns[0])) if weights is None else weights, columns, edges, 1)
    counts = counts.astype(float) if isinstance(counts, np.ndarray) else counts
    counts = counts[(slice(1, -1),) * n]  # of an array with margins, like NumPy's
    if density:
        counts = counts / np.sum(counts)
        for k, e in enumerate(edges):
            counts = counts / np.reshape(np.diff(e), [-1 if j == k else 1 for j in np.arange(n)])
    return counts, tuple(edges)


@implements(np.histogram2d, layout="own")
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """Counts of points in the cells of a grid in the plane, or sums of their weights, and the edges of both axes."""
    if np.shape(x) != np.shape(y):
        raise ValueError("x and y must have the same length.")
    if np.ndim(bins) and len(bins) not in (1, 2):  # the edges of both axes
        bins = [bins, bins]
    elif np.ndim(bins) and len(bins) == 1:
        bins = [bins[0], bins[0]]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second
