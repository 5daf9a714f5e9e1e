"""Where a run keeps cells: values that only their own fused loop reads, and omitted copies, take no memory.

Cells keep their order, and the cells of one record stay together, so that strides do not change.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable

import numpy as np

from contad.engines.matrix.kernel_shapes import PAIRED_SUM
from contad.engines.stream.arithmetic_rules import operation_of
from contad.engines.stream.record_head import LINEAR
from contad.kernels.shape_fields import (
    A_CELLS,
    B_CELLS,
    FIELDS,
    KEEPER,
    KEPT,
    PAIRED,
    RESULT,
    SAVED,
    STATUS,
    X_CELLS,
    Y_CELLS,
    A,
    B,
    X,
    Y,
)
from contad.programs.codes import (
    ARRAY,
    COMPARE,
    CONSTANT,
    FIRST_STEP,
    GATHER,
    GUARDS,
    PRODUCT,
    REPEATED,
    SCALARS,
    STEP_CODES,
    STEPS,
    STOP,
    STOPPED,
)
from contad.programs.more_axes import AXES, CODE_OF, length_of

Range = tuple[int, int]
Shape = Callable[[Iterable[int]], int]
KNOWN = {CONSTANT, STOP, GATHER, STOPPED, COMPARE, PRODUCT, REPEATED, ARRAY + LINEAR, *STEPS, *GUARDS, *SCALARS}
KNOWN |= {ARRAY + code for code in SCALARS}


class Ranges:
    """Ranges of integers that can tell whether others meet them; ranges that touch become one, or do not."""

    def __init__(self, ranges: Iterable[Range], join_touching: bool = True) -> None:
        self.joined: list[Range] = []
        for low, high in sorted(ranges):
            if self.joined and low < self.joined[-1][1] + join_touching:
                self.joined[-1] = self.joined[-1][0], max(high, self.joined[-1][1])
            elif low < high:
                self.joined.append((low, high))
        self._ends = [high for _, high in self.joined]

    def meet(self, low: int, high: int) -> bool:
        """Whether a range holds any integer k with low <= k < high."""
        k = bisect_right(self._ends, low)
        return k < len(self.joined) and self.joined[k][0] < high


class CellPlaces:
    """The places of the cells that are used; each range holds all cells of its records."""

    def __init__(self, used: Iterable[Range], cells: int) -> None:
        self._cells = cells  # of the trace; the numbers that linear algebra saves follow
        joined = Ranges(used).joined
        self._firsts = [low for low, _ in joined]
        self._sizes = [high - low for low, high in joined]
        self._places = (np.cumsum(self._sizes) - self._sizes).tolist()
        self.count = sum(self._sizes)

    def place(self, cell: int) -> int:
        """The place of a cell."""
        if cell >= self._cells:
            return cell - self._cells + self.count
        k = bisect_right(self._firsts, cell) - 1
        return int(self._places[k]) + min(cell - self._firsts[k], self._sizes[k])

    def places(self, cells: np.ndarray) -> np.ndarray:
        """The places of cells that are used; negative numbers stay unchanged."""
        k = np.maximum(np.searchsorted(self._firsts, cells, "right") - 1, 0)
        return np.where(cells > 0, np.array(self._places)[k] + cells - np.array(self._firsts)[k], cells)

    def move(self, record: tuple[int, int, int], shapes: np.ndarray, shape: Shape) -> tuple[int, int, int]:
        """A record whose cells are replaced by their places."""
        code, x, y = record
        if code >= ARRAY:
            fields, length = _fields(code, shapes, x)
            moved = shapes[x : x + length].tolist()
            for field in fields:
                moved[field] = self.place(moved[field])
            return code, shape(moved), y
        active = active_of(code)
        return code, self.place(x) if active[:1] == "v" else x, self.place(y) if active[1:] == "v" else y


def active_of(code: int) -> str:
    """Which fields of a record of a number are cells."""
    if code == STOP:
        return "v"
    return GUARDS[code][2] if code in GUARDS else SCALARS[code][1] if code in SCALARS else ""


def can_move(codes: Iterable[int]) -> bool:
    """Whether `active_of` knows which fields of records with these codes are cells."""
    return set(codes) <= KNOWN


def _fields(code: int, shapes: np.ndarray, x: int) -> tuple[list[int], int]:
    """The positions of cells in the shape of an array record, and the length of the shape."""
    if code == COMPARE:
        return [field for field, kind in ((5, 12), (8, 13)) if shapes[x + kind]], 14
    if code == PRODUCT:
        return [0, *(field for field, kind in ((1, 2), (5, 6)) if shapes[x + kind])], 10
    if code >= FIRST_STEP:
        is_pair = code == STEP_CODES[PAIRED_SUM]
        places = ((X, X_CELLS), (Y, Y_CELLS)) if is_pair else ((A, A_CELLS), (B, B_CELLS))
        operands = [field for field, kind in places if shapes[x + kind] > 0]
        return [STATUS, SAVED, RESULT, KEEPER, KEPT, *operands], PAIRED if is_pair else FIELDS
    length = 11
    if code == REPEATED:
        code, length = ARRAY + int(shapes[x + CODE_OF]), length_of(int(shapes[x + AXES]))
    active = operation_of(code - ARRAY)[1]
    return [0, *(5 + 3 * k for k, kind in enumerate(active) if kind == "v")], length
