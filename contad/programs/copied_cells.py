"""Copied cells, which fused loops read at their source: slices of arrays that the function wrote to.

The elements of an array that was written to are in several places, and an operation on a slice of it reads fresh cells,
to which a record copies the elements. Where every reader is a fused loop, the copy is omitted: the loop reads the runs
of cells that the slice consists of.
"""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from contad.engines.stream.record_head import LINEAR
from contad.programs.codes import ARRAY, GATHER

LONG = 16  # elements in the average run; with shorter runs a copy is faster


class CellRun(NamedTuple):
    """Cells with a constant step from one to the next."""

    first: int
    step: int
    number: int


class CopiedCells:
    """The records that copy cells, in order, and the runs of cells that they copy."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []
        self._sources: list[CellRun] = []
        self._rows: list[int] = []

    def add(self, row: int, first: int, sources: list[CellRun]) -> None:
        """Take a record that copies these cells to those from `first` on."""
        for source in sources:
            self._firsts.append(first)
            first += source.number
            self._ends.append(first)
            self._sources.append(source)
            self._rows.append(row)

    def find(self, first: int, step: int, count: int) -> list[CellRun]:
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
        k = bisect_right(self._firsts, cell) - 1
        if k >= 0 and cell < self._ends[k]:
            low, high, source = self._firsts[k], self._ends[k], self._sources[k]
            place, by = source.first + source.step * (cell - low), source.step * step
        else:
            low = self._ends[k] if k >= 0 else 0
            high = self._firsts[k + 1] if k + 1 < len(self._firsts) else cell + abs(step) * count + 1
            place, by = cell, step
        left = (high - 1 - cell) // step + 1 if step > 0 else (cell - low) // -step + 1 if step < 0 else count
        return CellRun(place, by, min(left, count))

    def rows_of(self, low: int, high: int) -> list[int]:
        """The records that copy to any of these cells."""
        k = bisect_right(self._ends, low)
        return self._rows[k : max(k, bisect_right(self._firsts, high - 1))]

    def trace_back(self, cells: np.ndarray) -> np.ndarray:
        """The source of each cell that is a copy; other cells unchanged."""
        if not len(cells):
            return cells
        low, high = bisect_right(self._ends, int(cells.min())), bisect_right(self._firsts, int(cells.max()))
        if low >= high:
            return cells
        k = np.maximum(np.searchsorted(self._firsts[low:high], cells, "right") - 1, 0)
        first, end, source = (np.array(a[low:high])[k] for a in (self._firsts, self._ends, self._sources))
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
