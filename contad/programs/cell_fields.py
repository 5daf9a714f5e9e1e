"""Which fields of a record are cells: what the records of a trace read, and records whose cells have moved."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from contad.engines.matrix.kernel_shapes import PAIRED_SUM
from contad.engines.stream.arithmetic_rules import operation_of
from contad.kernels import shape_fields
from contad.programs import codes
from contad.programs.cell_ranges import CopiedCells, PackedCells, Range
from contad.programs.fused_loops import Member, can_be_member
from contad.programs.more_axes import AXES, CODE_OF, length_of, reach

if TYPE_CHECKING:
    from contad.programs.trace import Trace

Shape = Callable[[Iterable[int]], int]
Record = tuple[int, int, int]
GATHERS = codes.GATHER, codes.STOPPED


def _active_of(code: int) -> str:
    """Which fields of a record of a number are cells."""
    if code == codes.STOP:
        return "v"
    return codes.GUARDS[code][2] if code in codes.GUARDS else codes.SCALARS[code][1] if code in codes.SCALARS else ""


def member_of(shapes: np.ndarray, row: int, first: int, code: int, x: int, n: int) -> Member | None:
    """The member of a fused loop that a record can be; None for other records."""
    if code < codes.ARRAY or not can_be_member(code):
        return None
    return Member(row, code, first, n, shapes[x : x + (14 if code == codes.COMPARE else 11)].tolist())


def reads_of(trace: "Trace", row: int, copies: CopiedCells) -> list[Range]:
    """The cells that a record outside fused loops reads; a gather reads copies at their source."""
    code, x, y = trace.code[row].tolist()
    if code in GATHERS:
        cells = trace.shapes[x : x + y]
        cells = copies.trace_back(cells[cells > 0])
        return [(int(cells.min()), int(cells.max()) + 1)] if len(cells) else []
    if code == codes.PRODUCT:
        _, a, a_in_cells, m, p, b, b_in_cells, n = trace.shapes[x : x + 8].tolist()
        return [(a, a + m * p)] * a_in_cells + [(b, b + p * n)] * b_in_cells
    if code == codes.REPEATED:
        shape = trace.shapes[x : x + length_of(int(trace.shapes[x + AXES]))].tolist()
        _, active = operation_of(shape[CODE_OF])
        return [reach(shape, place) for place, kind in zip((5, 8), active, strict=False) if kind == "v"]
    if code >= codes.FIRST_KERNEL:
        operands = trace.kernel_records[row].recorded.operands
        return [(cell, cell + int(np.prod(shape, dtype=np.int64))) for _, cell, shape in operands]
    return [(cell, cell + 1) for cell, kind in zip((x, y), _active_of(code), strict=False) if kind == "v"]


def move_record(record: Record, shapes: np.ndarray, cells: PackedCells, shape: Shape) -> Record:
    """A record whose cells have moved; not of a gather."""
    code, x, y = record
    if code < codes.ARRAY:
        active = _active_of(code)
        return code, cells.place(x) if active[:1] == "v" else x, cells.place(y) if active[1:] == "v" else y
    fields, length = _fields(code, shapes, x)
    moved = shapes[x : x + length].tolist()
    for field in fields:
        moved[field] = cells.place(moved[field])
    return code, shape(moved), y


def _fields(code: int, shapes: np.ndarray, x: int) -> tuple[list[int], int]:
    """The positions of cells in the shape of an array record, and the length of the shape."""
    if code == codes.COMPARE:
        return [field for field, kind in ((5, 12), (8, 13)) if shapes[x + kind]], 14
    if code == codes.PRODUCT:
        return [0, *(field for field, kind in ((1, 2), (5, 6)) if shapes[x + kind])], 10
    if code >= codes.FIRST_KERNEL:
        f, is_pair = shape_fields, code == codes.KERNEL_CODES[PAIRED_SUM]
        places = ((f.X, f.X_CELLS), (f.Y, f.Y_CELLS)) if is_pair else ((f.A, f.A_CELLS), (f.B, f.B_CELLS))
        operands = [field for field, kind in places if shapes[x + kind] > 0]
        return [f.STATUS, f.SAVED, f.RESULT, f.KEEPER, f.KEPT, *operands], f.PAIRED if is_pair else f.FIELDS
    length = 11
    if code == codes.REPEATED:
        code, length = codes.ARRAY + int(shapes[x + CODE_OF]), length_of(int(shapes[x + AXES]))
    active = operation_of(code - codes.ARRAY)[1]
    return [0, *(5 + 3 * k for k, kind in enumerate(active) if kind == "v")], length
