"""Sparse matrices from few products: each direction adds up columns (or rows) that have no elements side by side."""

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.patterns.colouring import colour_both, colour_columns, colour_symmetric, count_colours, is_alone
from contad.patterns.plain_first import plain_first

Products = Callable[[np.ndarray], np.ndarray]


class Compression:
    """A pattern, the directions of the passes that find its elements, and the place of each element in the products.

    `forward` are directions of the inputs, `reverse` cotangents of the outputs, both as rows. In a `symmetric` matrix
    an element that shares its pass with others has the place of its mirror image.
    """

    def __init__(self, pattern: Any, of_rows: np.ndarray, of_columns: np.ndarray, symmetric: bool = False) -> None:
        self.pattern = pattern.tocsr()
        self.forward, self.reverse = _indicators(of_columns), _indicators(of_rows)
        m, n = pattern.shape
        places = self.pattern.tocoo()
        i, j = places.row.astype(np.int64), places.col.astype(np.int64)
        by_column = is_alone(i, of_columns[j], len(self.forward))
        at_column = of_columns[j] * m + i
        at_row = of_columns[i] * n + j if symmetric else len(self.forward) * m + of_rows[i] * n + j
        self.places = np.where(by_column, at_column, at_row)  # in the products, one row after the other

    @property
    def passes(self) -> int:
        """The number of products."""
        return len(self.forward) + len(self.reverse)

    @functools.cached_property
    def with_probe(self) -> np.ndarray:
        """The directions, followed by a random vector, whose product reveals missed elements."""
        return np.concatenate([self.forward, draw_probe(self.pattern.shape[1])[None]])

    @functools.cached_property
    def _empty(self) -> Any:
        """A CSR array with the pattern. All matrices are copies of it, so that SciPy checks the indices once."""
        from scipy import sparse

        p = self.pattern
        return sparse.csr_array((np.zeros(p.nnz), p.indices, p.indptr), shape=p.shape)

    def matrix(self, push: Products, pull: Products) -> Any:
        """The matrix as a CSR array; `push` multiplies it by directions, `pull` its transpose by cotangents."""
        products = []
        if len(self.forward):
            products.append(push(self.forward).reshape(-1))
        if len(self.reverse):
            products.append(pull(self.reverse).reshape(-1))
        found = products[0] if len(products) == 1 else np.concatenate([np.zeros(0), *products])
        return self.with_values(np.take(found, self.places))

    def with_values(self, values: np.ndarray) -> Any:
        """A CSR array with the pattern and these values."""
        made = copy.copy(self._empty)
        made.data, made.indices, made.indptr = values, made.indices.copy(), made.indptr.copy()
        return made


@functools.lru_cache(maxsize=8)
def draw_probe(n: int) -> np.ndarray:
    """A vector that hides no element; it is the same in every call, so that errors are reproducible."""
    return np.random.default_rng(20190101).standard_normal(n)


def compress_jacobian(pattern: Any) -> Compression:
    """The compression by columns, by rows or by both, whichever takes the fewest passes."""
    m, n = pattern.shape
    none = np.full(m, -1, np.int64), np.full(n, -1, np.int64)
    found = []
    columns = colour_columns(pattern)
    if columns is not None:
        found.append((none[0], columns))
    rows = colour_columns(pattern.T)
    if rows is not None:
        found.append((rows, none[1]))
    least = min(map(count_colours, found), default=m + n)
    if least > 3:  # the search for one pass less costs as much as it would save
        found.append(colour_both(pattern))
    return Compression(pattern, *min(found, key=count_colours))


def compress_hessian(pattern: Any) -> Compression:
    """The compression by a star colouring: an element or its mirror image is alone in its pass, and gives both."""
    found = [colour_symmetric(pattern)]
    if found[0].max(initial=-1) > 3:
        columns = colour_columns(pattern)  # ignores the symmetry, but may still need fewer colours
        found += [] if columns is None else [columns]
    colours = min(found, key=lambda colours: colours.max(initial=-1))
    return Compression(pattern, np.full(len(colours), -1, np.int64), colours, symmetric=True)


def _indicators(colours: np.ndarray) -> np.ndarray:
    """One row for each colour, with 1 where the colour is."""
    rows = np.zeros((int(colours.max(initial=-1)) + 1, len(colours)))
    coloured = np.flatnonzero(colours >= 0)
    rows[colours[coloured], coloured] = 1.0
    return rows


# ---- a product that tells whether a matrix is right ------------------------------------------------------------------
@plain_first(None, lambda starts, columns, *_: len(starts) + len(columns))
def find_wrong_rows(starts, columns, values, v, exact, noise, count):  # type: ignore[no-untyped-def]
    """Up to `count` rows in which the product of a matrix with v is farthest from `exact`, the farthest first.

    A row agrees if the difference is less than `noise` relative to the sizes of its terms, which is also the measure of
    distance. It also agrees if an element of it is not finite, because the function is not finite there.
    """
    rows, ratios, found = np.empty(count, np.int64), np.empty(count), 0
    for row in range(len(exact)):
        total, size = 0.0, abs(exact[row])
        for k in range(starts[row], starts[row + 1]):
            term = values[k] * v[columns[k]]
            total += term
            size += abs(term)
        difference = abs(total - exact[row])
        ratio = 0.0
        if difference > noise * size:
            ratio = difference / size
        elif difference != difference and total - total == 0.0:  # only the product is nan
            ratio = np.inf
        if ratio > 0.0 and (found < count or ratio > ratios[count - 1]):
            place = min(found, count - 1)
            while place > 0 and ratios[place - 1] < ratio:
                rows[place], ratios[place] = rows[place - 1], ratios[place - 1]
                place -= 1
            rows[place], ratios[place] = row, ratio
            found = min(found + 1, count)
    return rows[:found]
