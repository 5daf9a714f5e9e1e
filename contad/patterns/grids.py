"""Colourings of unknowns on a grid: each colour is a lattice, and a stencil needs few of them.

Unknowns that are numbered along a grid have coordinates, the digits of their number: unknown n i + j of a square has
coordinates j and i. The remainders (w . coordinates) mod m are a valid colouring if the columns that meet in a row have
different remainders. For the five points of a Laplacian (j + 2 i) mod 5 is valid, which greedy colourings miss.
"""

import itertools
from typing import Any

import numpy as np

MOST_TRIED = 2_000  # weights
MOST_CHECKED = 20  # weights that are checked on all rows
MOST_AXES = 4


def colour_grid(pattern: Any, least: int, most: int) -> np.ndarray | None:
    """Colours of columns, different within each row: at least `least` and fewer than `most` colours; or None.

    Ref:     Fertin, Godard & Raspaud (2003), Information Processing Letters 87(1), 51-58, on grids without species.
    """
    m, n = pattern.shape
    places = pattern.tocoo()
    if m != n or not places.nnz:
        return None
    strides = _find_strides(places, n)
    if not 1 < len(strides) <= MOST_AXES:
        return None
    numbers = np.arange(n)
    digits = np.stack([numbers // a % (b // a) for a, b in itertools.pairwise([*strides, strides[-1] * n])])
    rows, columns = places.row.astype(np.int64), places.col.astype(np.int64)
    samples = [digits[:, columns[rows == row]] for row in _choose_rows(rows, m)]
    tried = checked = 0
    for count in range(least, most):
        for rest in itertools.product(range(count), repeat=len(strides) - 1):
            tried += 1
            if tried > MOST_TRIED or checked > MOST_CHECKED:
                return None
            weights = np.array([1, *rest])
            if all(len(set((weights @ x % count).tolist())) == x.shape[1] for x in samples):
                colours = weights @ digits % count
                met = np.bincount(rows * count + colours[columns])
                if met.max() == 1:
                    return np.unique(colours, return_inverse=True)[1].astype(np.int64)
                refused = met.argmax() // count  # refused by this row, which refuses others, too
                samples.append(digits[:, columns[rows == refused]])
                checked += 1
    return None


def _find_strides(places: Any, n: int) -> list[int]:
    """The strides between neighbours along each axis: frequent in many rows, each a multiple of the one before."""
    apart = np.abs(places.col.astype(np.int64) - places.row)
    strides = [1]
    for stride in np.flatnonzero(np.bincount(apart) >= n // 2):
        if stride > strides[-1] and stride % strides[-1] == 0:
            strides.append(int(stride))
    return strides


def _choose_rows(rows: np.ndarray, m: int) -> list[int]:
    """The row with the most elements, and some others; these rows refuse most weights."""
    return [int(np.bincount(rows, minlength=m).argmax()), 0, m // 3, m // 2, m - 1]
