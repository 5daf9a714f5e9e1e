"""The layout of a trace: its records, with fused loops in place of their members, and the memory that a run fills."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from contad.engines.matrix.kernel_shapes import PAIRED_SUM
from contad.programs import codes, header
from contad.programs.allocation import Allocation, runs_of
from contad.programs.cell_fields import GATHERS, Record, move_record
from contad.programs.cell_ranges import Range
from contad.programs.fused_loop_source import BASES, write_loop
from contad.programs.fused_loops import SHAPE, FusedLoop
from contad.programs.fusion import Fusion, fuse
from contad.programs.member_groups import choose_groups
from contad.programs.program_kernels import ADJOINTS, VALUES, Kernel, kernels_of
from contad.programs.slots import align

if TYPE_CHECKING:
    from contad.programs.trace import Trace


class TraceLayout:
    """The records that compiled code runs for a trace."""

    __slots__ = (
        *("cells", "fused_loops", "code", "copied", "finished", "frontier_at", "frontiers", "result", "rows"),
        *("has_pairs", "scratch", "shapes", "zeroed"),
    )

    def __init__(self, trace: "Trace") -> None:
        self.code = trace.code
        self.shapes = trace.shapes
        self.rows = np.arange(len(trace.code))  # of the trace
        self.cells = trace.cells
        self.result = trace.result  # a cell, or -1 - the place of a constant
        self.scratch = 0  # numbers after the cells and the saved numbers
        self.frontiers, self.frontier_at = 0, 0  # the numbers that tell how far adjoints are written
        self.fused_loops: list[FusedLoop] = []
        self.has_pairs = False  # whether some records replace two of the trace
        n = trace.inputs
        self.copied = _spans([(0, n)])  # spans of inputs that a run copies to cells
        self.zeroed = _spans([(0, trace.cells)])  # spans of adjoints
        self.finished = np.array([[0, n, header.WRITE]])  # of the gradient: start, number, how
        fusion = fuse(trace)
        if fusion is not None:
            self._fill(trace, fusion)

    def _fill(self, trace: "Trace", fusion: Fusion) -> None:
        """Fill in the records and the memory of a trace with fused loops."""
        self.fused_loops, self.has_pairs = fusion.loops, bool(fusion.pairs)
        gathered = {row: _sources_of(fusion, row) for row in fusion.reads if trace.code[row, 0] in GATHERS}
        reads = fusion.reads | {row: _ranges_of(cells) for row, cells in gathered.items()}
        a = Allocation(
            fusion.loops, fusion.firsts, reads,
            inputs=trace.inputs, cells=trace.cells, saved=trace.saved, result=trace.result,
        )  # fmt: skip
        choose_groups(fusion.loops)
        shapes, records = trace.shapes.tolist(), trace.code.tolist()
        code: list[Record] = []
        rows: list[int] = []
        cell = trace.inputs + 1

        def shape(integers: Iterable[int]) -> int:
            place = len(shapes)
            shapes.extend(integers)
            return place

        def append(row: int, record: Record) -> None:
            code.append(record)
            rows.append(row)

        def jump(to: int) -> None:
            if to != cell:
                append(-1, (codes.JUMP, max(to - cell, 0), max(cell - to, 0)))

        for k in fusion.order:
            if isinstance(k, FusedLoop):
                append(-1, (codes.FUSED, write_loop(k, a, shape), 0))
                continue
            jump(a.packed.place(fusion.firsts[k]))
            head, x, n = records[k]
            if k in gathered:
                append(k, (head, shape(a.packed.places(gathered[k]).tolist()), n))
            elif k in fusion.pairs:
                pair = codes.KERNEL_CODES[PAIRED_SUM], 0, n
                append(k, move_record(pair, np.array(fusion.pairs[k].shape), a.packed, shape))
            else:
                append(k, move_record((head, x, n), trace.shapes, a.packed, shape))
            cell = a.packed.place(fusion.firsts[k]) + (n if head >= codes.ARRAY else 1)
        jump(a.owned)
        self.code, self.rows, self.shapes = np.array(code, np.uint32), np.array(rows), np.array(shapes, np.int64)
        self.cells, self.result = a.owned, a.result
        self.frontiers, self.frontier_at = len(a.frontiers), a.frontier_at
        # so that adjoints, which follow, begin a cache line
        most = max((len(fused.members) for fused in fusion.loops), default=0)
        self.scratch = align(a.bound + BASES + SHAPE * most) - a.owned - trace.saved
        self.copied, self.zeroed = _spans(runs_of(a.read_inputs)), _spans(a.cleared)
        read, direct = a.read_inputs, a.direct_inputs
        how = (header.WRITE, read & ~direct), (header.ADD, read & direct), (header.ZERO, ~read & ~direct)
        finished = [(low, high - low, mode) for mode, mask in how for low, high in runs_of(mask)]
        self.finished = np.array(finished, np.int64).reshape(-1, 3)

    def header_fields(self, trace: "Trace") -> dict[int, int]:
        """What the header of a program tells compiled code about the trace."""
        h = header
        arrays = {
            h.CODE_AT: self.code, h.CONSTANTS_AT: trace.constants, h.SHAPES_AT: self.shapes, h.COPIED_AT: self.copied,
            h.ZEROED_AT: self.zeroed, h.FINISHED_AT: self.finished,
        }  # fmt: skip
        return {
            h.ROWS: len(self.code), h.CELLS: self.cells, h.RESULT: self.result, h.PYTHON: int(bool(trace.calls)),
            h.INPUTS: trace.inputs, h.SAVED: trace.saved, h.CONSTANTS_SIZE: len(trace.constants),
            h.SHAPES_SIZE: len(self.shapes), h.SCRATCH: self.scratch, h.FRONTIER_AT: self.frontier_at,
            h.FRONTIERS: self.frontiers, h.COPIED: len(self.copied), h.ZEROED: len(self.zeroed),
            h.FINISHED: len(self.finished),
        } | {field: a.ctypes.data for field, a in arrays.items()}  # fmt: skip

    def kernels(self, *purposes: int) -> Iterator[Kernel]:
        """The kernels that its records and fused loops call for these purposes."""
        for code in kernels_of(self.code, self.shapes):
            yield from ((purpose, code) for purpose in purposes)
        for fused in self.fused_loops:
            for purpose in purposes:
                yield from _kernels_of_members(fused, purpose)

    def row_of(self, row: int) -> int:
        """The row of a guard in the trace; a guard in a fused loop is given as -1 - row."""
        return -1 - row if row < 0 else int(self.rows[row])


def _kernels_of_members(fused: FusedLoop, purpose: int) -> Iterator[Kernel]:
    """The kernels that a fused loop calls: those of groups, and of members that are in no group or recomputed."""
    groups = {VALUES: fused.groups, ADJOINTS: fused.groups_back}.get(purpose, {})
    yield from ((codes.GROUPS, number) for number, _ in groups.values())
    grouped = fused.in_groups(purpose == ADJOINTS) if groups else ()
    for k, m in enumerate(fused.members):
        if m.is_guard or (k in grouped and not (purpose == VALUES and m.is_needed)):
            continue
        if purpose != ADJOINTS or m.purpose:  # adjoint kernels depend on which adjoints they write first
            yield m.purpose if purpose == ADJOINTS else purpose, m.code - codes.ARRAY


def _spans(ranges: list[Range]) -> np.ndarray:
    """Ranges as rows of (start, number)."""
    return np.array([(low, high - low) for low, high in ranges], np.int64).reshape(-1, 2)


def _sources_of(fusion: Fusion, row: int) -> np.ndarray:
    """The sources of a gather, copies among them traced back; negative numbers are constants."""
    _, x, n = fusion.trace.code[row].tolist()
    cells = fusion.trace.shapes[x : x + n]
    return np.where(cells > 0, fusion.copies.trace_back(cells), cells)


def _ranges_of(cells: np.ndarray) -> list[Range]:
    """Cells as ranges; they may be in any order, and constants among them are left out."""
    cells = np.sort(cells[cells > 0])
    cells = cells[np.diff(cells, prepend=0) > 0]
    ends = np.flatnonzero(np.diff(cells, append=-1) != 1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    return [(int(cells[a]), int(cells[b]) + 1) for a, b in zip(starts, ends, strict=True)] if len(cells) else []
