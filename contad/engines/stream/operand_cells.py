"""The cells of operands of compiled records, as views into arrays of cells."""


import numpy as np

from contad.variables.dtypes import FLOAT
from contad.variables.open_types import Value


class Cells:
    """The cells of an operand along two axes; with a step of 0 a cell repeats."""

    __slots__ = ("_inner", "_offset", "_outer", "_repeats", "_shape", "start")

    def __init__(self, start: int, outer: int, inner: int, outer_step: int, inner_step: int) -> None:
        self.start, self._offset = start, 8 * start
        self._outer, self._inner = 8 * outer_step, 8 * inner_step
        self._shape = outer, inner
        self._repeats = (outer_step == 0 and outer > 1, inner_step == 0 and inner > 1)

    @property
    def span(self) -> slice:
        """The range from the first cell to the last."""
        outer, inner = self._shape
        ways = (outer - 1) * self._outer // 8, (inner - 1) * self._inner // 8  # may be negative
        return slice(self.start + sum(min(n, 0) for n in ways), self.start + sum(max(n, 0) for n in ways) + 1)

    def indices(self) -> np.ndarray:
        """The indices of the cells, along the two axes."""
        (outer, inner), steps = self._shape, (self._outer // 8, self._inner // 8)
        return self.start + np.add.outer(np.arange(outer) * steps[0], np.arange(inner) * steps[1])

    def of(self, a: np.ndarray) -> np.ndarray:
        """A view of the cells in an array of cells, with a leading axis for directions."""
        lead, stride = (len(a), a.strides[0]) if a.ndim == 2 else (1, 0)
        return np.ndarray((lead, *self._shape), FLOAT, a, self._offset, (stride, self._outer, self._inner))

    def put(self, a: np.ndarray, c: Value) -> None:
        """Write to the cells, with sums along the axes on which a cell repeats."""
        view, c = self._sum(a, c)
        view[...] = c

    def add(self, a: np.ndarray, c: Value) -> None:
        """Add to the cells, with sums along the axes on which a cell repeats."""
        view, c = self._sum(a, c)
        view += c

    def _sum(self, a: np.ndarray, c: Value) -> tuple[np.ndarray, Value]:
        view = self.of(a)
        outer_repeats, inner_repeats = self._repeats
        if outer_repeats:
            view, c = view[:, :1], c.sum(axis=1, keepdims=True)
        if inner_repeats:
            view, c = view[:, :, :1], c.sum(axis=2, keepdims=True)
        return view, c
