"""Ranges of cells: whether they meet others, their places in memory, and which are copies of other cells.

The elements of an array that was written to are in several places, and an operation on a slice of it reads fresh cells,
to which a record copies the elements. Where every reader is a fused loop, the copy is omitted: the loop reads the runs
of cells that the slice consists of.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from contad.engines.stream.storage import LINEAR
from contad.programs.codes import ARRAY, GATHER

LONG = 16  # elements in the average run; with shorter runs a copy is faster
Range = tuple[int, int]


class Ranges:
    """Ranges of integers in ascending order; ranges that touch become one, or do not."""

    def __init__(self, ranges: Iterable[Range] = (), join_touching: bool = True) -> None:
        self.firsts: list[int] = []
        self.ends: list[int] = []
        for low, high in sorted(ranges):
            if self.ends and low < self.ends[-1] + join_touching:
                self.ends[-1] = max(high, self.ends[-1])
            elif low < high:
                self.append(low, high)

    def append(self, low: int, high: int) -> None:
        """Add a range above all others."""
        self.firsts.append(low)
        self.ends.append(high)

    @property
    def joined(self) -> list[Range]:
        """The ranges."""
        return list(zip(self.firsts, self.ends, strict=True))

    def find(self, cell: int) -> int:
        """The number of the range that holds a cell, or -1."""
        k = bisect_right(self.firsts, cell) - 1
        return k if k >= 0 and cell < self.ends[k] else -1

    def find_all(self, low: int, high: int) -> range:
        """The numbers of the ranges that hold any integer k with low <= k < high."""
        return range(bisect_right(self.ends, low), bisect_left(self.firsts, high))

    def meet(self, low: int, high: int) -> bool:
        """Whether a range holds any integer k with low <= k < high."""
        return bool(self.find_all(low, high))


class PackedCells(Ranges):
    """Ranges of cells whose places in memory follow one another."""

    def __init__(self, used: Iterable[Range]) -> None:
        super().__init__(used)
        sizes = np.subtract(self.ends, self.firsts)
        self._places = (np.cumsum(sizes) - sizes).tolist()
        self.count = int(sizes.sum())

    def place(self, cell: int) -> int:
        """The place of a cell; one between the ranges has that of the end of a range."""
        k = bisect_right(self.firsts, cell) - 1
        return int(self._places[k]) + min(cell, self.ends[k]) - self.firsts[k]

    def places(self, cells: np.ndarray) -> np.ndarray:
        """The places of cells in these ranges; negative numbers stay unchanged."""
        k = np.maximum(np.searchsorted(self.firsts, cells, "right") - 1, 0)
        return np.where(cells > 0, np.array(self._places)[k] + cells - np.array(self.firsts)[k], cells)


class CellRun(NamedTuple):
    """Cells with a constant step from one to the next."""

    first: int
    step: int
    number: int


class CopiedCells(Ranges):
    """The ranges of cells to which records copy, in order, and the runs of cells that they copy."""

    def __init__(self) -> None:
        super().__init__()
        self._sources: list[CellRun] = []
        self._rows: list[int] = []

    def add(self, row: int, first: int, sources: list[CellRun]) -> None:
        """Take a record that copies these cells to those from `first` on."""
        for source in sources:
            self.append(first, first + source.number)
            first += source.number
            self._sources.append(source)
            self._rows.append(row)

    def runs(self, first: int, step: int, count: int) -> list[CellRun]:
        """The sources of cells, as runs; a cell that is no copy is its own source."""
        found: list[CellRun] = []
        at = 0
        while at < count:
            run = self._run(first + step * at, step, count - at)
            at += run.number
            joined = _join(found[-1], run) if found else None
            found[-1:] = [joined] if joined else [*found[-1:], run]
        return found

    def _run(self, cell: int, step: int, count: int) -> CellRun:
        """The first run that these cells begin with."""
        k = bisect_right(self.firsts, cell) - 1
        if k >= 0 and cell < self.ends[k]:
            low, high, source = self.firsts[k], self.ends[k], self._sources[k]
            place, by = source.first + source.step * (cell - low), source.step * step
        else:
            low = self.ends[k] if k >= 0 else 0
            high = self.firsts[k + 1] if k + 1 < len(self.firsts) else cell + abs(step) * count + 1
            place, by = cell, step
        left = (high - 1 - cell) // step + 1 if step > 0 else (cell - low) // -step + 1 if step < 0 else count
        return CellRun(place, by, min(left, count))

    def rows_of(self, low: int, high: int) -> list[int]:
        """The records that copy to any of these cells."""
        met = self.find_all(low, high)
        return self._rows[met.start : max(met.start, met.stop)]

    def trace_back(self, cells: np.ndarray) -> np.ndarray:
        """The source of each cell that is a copy; other cells unchanged."""
        met = self.find_all(int(cells.min()), int(cells.max()) + 1) if len(cells) else ()
        if not met:
            return cells
        low, high = met.start, met.stop
        k = np.maximum(np.searchsorted(self.firsts[low:high], cells, "right") - 1, 0)
        first, end, source = (np.array(a[low:high])[k] for a in (self.firsts, self.ends, self._sources))
        copied = (first <= cells) & (cells < end)
        return np.where(copied, source[:, 0] + source[:, 1] * (cells - first), cells)


def _join(run: CellRun, further: CellRun) -> CellRun | None:
    """Both runs as one, if they make one."""
    step = run.step if run.number > 1 else further.step if further.number > 1 else 1
    goes_on = further.first == run.first + step * run.number and (further.number == 1 or further.step == step)
    return CellRun(run.first, step, run.number + further.number) if goes_on else None


def sources_of(code: int, x: int, n: int, shapes: np.ndarray, constants: np.ndarray) -> list[CellRun]:
    """The cells that a record only copies; empty for other records, and where the runs are short."""
    if code == GATHER:
        return _runs_of(shapes[x : x + n])
    if code != ARRAY + LINEAR:
        return []
    _, outer, inner, _, step, source, _, by, y = shapes[x : x + 9].tolist()
    is_copy = outer == 1 and inner == n and step == 1 and not shapes[x + 10] and constants[y] == 1.0
    return [CellRun(source, by, n)] if is_copy and (by or n == 1) else []


def _runs_of(cells: np.ndarray) -> list[CellRun]:
    """Cells of a gather as runs; none where there are constants among them, or the runs are short."""
    if not len(cells) or cells.min() <= 0:
        return []
    steps = np.diff(cells)
    edges = np.flatnonzero(np.diff(steps, prepend=0, append=0)) if len(steps) else np.zeros(0, np.int64)
    if len(edges) * LONG > len(cells) + 3 * LONG:
        return []
    at, found = 0, []
    for k in edges.tolist():  # up to here cells are equally far apart
        if k - at > 1 or (k > at and steps[at] == 1):
            found.append(CellRun(int(cells[at]), int(steps[at]), k - at + 1))
            at = k + 1
        else:
            found += [CellRun(cell, 1, 1) for cell in cells[at:k].tolist()]
            at = max(at, k)
    found += [CellRun(cell, 1, 1) for cell in cells[at:].tolist()]
    return found if len(found) == 1 or len(found) * LONG <= len(cells) else []
