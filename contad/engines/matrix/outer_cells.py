"""The adjoint vector of a mixed stack: cells that are numbers of outer levels.

Plain adjoints are floats. The others are elements of one assignable array of the highest outer level so far, so that
operations of that level accumulate whole arrays of adjoints. Numbers that come one by one are kept apart until somebody
asks for an array. A cell that no adjoint has reached stays a plain zero: dead code never makes a nan, on any level.
"""

from typing import Any

import numpy as np

from contad.variables.array import is_plain, level_of, numbers_in
from contad.variables.number import Number
from contad.variables.open_types import ArrayValue, CellIndex, Real, Value


class NumberCells:
    """Adjoints by cell, slice of cells, or array of distinct cells; each may be a number of an outer level."""

    __slots__ = ("active", "apart", "array", "plain")

    def __init__(self, adjoints: np.ndarray) -> None:
        self.plain = adjoints.copy()
        self.active = np.zeros(len(adjoints), np.bool_)  # marks the cells that are numbers of an outer level
        self.array: ArrayValue = None  # holds all of them except those kept apart
        self.apart: dict[int, Real] = {}

    def __len__(self) -> int:
        return len(self.plain)

    def __getitem__(self, cells: Any) -> Value:
        if cells.__class__ is int:
            if not self.active[cells]:
                return float(self.plain[cells])
            return self.apart[cells] if cells in self.apart else self.array[cells]
        self._join()
        if not np.any(self.active[cells]):
            d = self.plain[cells]
            return float(d) if isinstance(d, np.floating) else d.copy()
        return self.array[cells]

    def __setitem__(self, cells: CellIndex, d: Value) -> None:
        if cells.__class__ is int:
            self.apart[cells] = d
            self.active[cells] = isinstance(d, Number)
            if not self.active[cells]:
                self.plain[cells] = d
            return
        self._join()
        if not is_plain(d) and not numbers_in(d):  # an object array of floats, from a part without variables
            d = d.astype(np.float64)
        if is_plain(d):
            self.plain[cells] = d
            self.active[cells] = False
            if self.array is not None:
                self.array[cells] = d
            return
        self._store(cells, d)

    def _join(self) -> None:
        """Move the numbers kept apart into the array."""
        apart, self.apart = self.apart, {}
        for cell, d in apart.items():
            if self.active[cell]:
                self._store(cell, d)
            elif self.array is not None:  # the array holds the plain ones as well
                self.array[cell] = d

    def _store(self, cells: CellIndex, d: Value) -> None:
        if self.array is None:
            self.array = self.plain.copy()
        top = max(numbers_in(d), key=level_of)
        if top._owner.level > level_of(self.array):
            self.array = top._owner.writable(self.array)
        self.array[cells] = d
        self.active[cells] = True

    def live(self, cells: CellIndex) -> np.ndarray:
        """Marks the cells that are not plain zeros."""
        return self.active[cells] | (self.plain[cells] != 0.0)

    def add(self, cells: np.ndarray, d: Value) -> None:
        """Accumulate into cells; they may repeat."""
        if not np.any(self.live(cells)) and _are_distinct(cells):
            self[cells] = d
        elif _are_distinct(cells):
            self[cells] = self[cells] + d
        else:
            for k in np.ndindex(cells.shape):
                cell = int(cells[k])
                self[cell] = self[cell] + d[k]

    def add_live(self, cells: np.ndarray, d: Value, live: np.ndarray) -> None:
        """Accumulate into distinct cells where `live` holds."""
        if live.all():
            self.add(cells, d)
        elif live.any():
            self.add(cells[live], d[live])


def _are_distinct(cells: np.ndarray) -> bool:
    return len(np.unique(cells)) == cells.size
