"""Fusion: the records of a trace in the order of a run, consecutive elementwise ones as fused loops.

A copy that only fused loops read is omitted: they read the cells at their source.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from contad.programs import codes
from contad.programs.cell_fields import member_of, reads_of
from contad.programs.cell_ranges import CopiedCells, Range, sources_of
from contad.programs.fused_loops import IN_CELLS, FusedLoop, Member, OperandPart, can_be_member
from contad.programs.paired_log_sums import PairedSum, find_pairs, has_log_sums

if TYPE_CHECKING:
    from contad.programs.trace import Trace

FEWEST = 1024  # numbers that a fused loop computes; fewer numbers stay in the cache as cells, too


def fuse(trace: "Trace") -> "Fusion | None":
    """The records of a trace with fused loops; None where nothing is fused."""
    if trace.calls or not (_has_large_arrays(trace) or has_log_sums(trace)):
        return None
    kept: set[int] = set()
    firsts = codes.first_cells(trace.code, trace.inputs).tolist()
    pairs = find_pairs(trace, firsts, lambda row: _all_reads(trace, row, firsts[row]))
    while True:
        found = Fusion(trace, firsts, kept, pairs)
        needed = found.find_needed_copies()
        if not needed:
            return found if found.loops or pairs else None
        kept |= needed


def _has_large_arrays(trace: "Trace") -> bool:
    heads = trace.code[:, 0]
    rows = trace.code[(heads == codes.COMPARE) | (heads >= codes.ARRAY) & (heads < codes.FIRST_KERNEL), :2].tolist()
    return any(can_be_member(code) and np.prod(trace.shapes[x + 1 : x + 3]) >= FEWEST // 4 for code, x in rows)


def _all_reads(trace: "Trace", row: int, first: int) -> list[Range]:
    """The cells that any record reads."""
    member = member_of(trace.shapes, row, first, *trace.code[row].tolist())
    return reads_of(trace, row, CopiedCells()) if member is None else member.reach()[0]


class Fusion:
    """Groups records into fused loops, and finds the cells that each of them reads."""

    def __init__(self, trace: "Trace", firsts: list[int], kept: set[int], pairs: dict[int, PairedSum]) -> None:
        self.trace = trace
        self.firsts = firsts  # the first cell of each record
        self.kept = kept  # rows of copies that other records than fused loops read
        self.pairs = pairs  # by row: records that replace two of the trace
        self.copies = CopiedCells()
        self.order: list[int | FusedLoop] = []  # rows and fused loops, as they run
        self.reads: dict[int, list[Range]] = {}  # the reads of rows outside fused loops
        self.open: FusedLoop | None = None
        unrecorded = {pair.row for pair in pairs.values()}
        for row, record in enumerate(trace.code.tolist()):
            if row not in unrecorded:
                self.visit(row, *record)
        self.close()
        self.loops = [k for k in self.order if isinstance(k, FusedLoop)]

    def visit(self, row: int, code: int, x: int, n: int) -> None:
        """Add a record to the open fused loop, put it before that loop, or begin another loop with it."""
        trace, first = self.trace, self.firsts[row]
        if row not in self.kept:
            sources = sources_of(code, x, n, trace.shapes, trace.constants)
            if sources:
                self.copies.add(row, first, [run for cells in sources for run in self.copies.runs(*cells)])
                return
        member = member_of(trace.shapes, row, first, code, x, n)
        if member is None:
            reads, own = self.pairs[row].reads if row in self.pairs else reads_of(trace, row, self.copies), True
        else:
            if self.open is not None and self.open.add(member):
                return
            reads, own = member.reach()
            if own and member.size >= FEWEST // 4:
                made = self._loop_of([member])
                if made is not None:
                    made = self._move_members(member, made)
                    self.close()
                    self.open = made
                    return
        if self.open is not None and (not own or self.open.depends(reads)):
            self.close()
        self.order.append(row)
        self.reads[row] = reads

    def _move_members(self, member: Member, made: FusedLoop) -> FusedLoop:
        """The fused loop that a member begins, with members moved from the open loop if these then need no cells.

        The first members of a simulation step may have joined the loop of the last step, which the later members cannot
        join. These first members read results that have cells in any case, so they can move to the new loop.
        """
        if self.open is None:
            return made
        members = self.open.members
        moved = _find_movable(members, [part for _, part in made.parts])
        rest = [m for m in members if m not in moved]
        if not moved or sum(m.size for m in rest) < FEWEST:
            return made
        found = self._loop_of([*moved, member])
        left = found and self._loop_of(rest)  # None also if the units were those of a moved member
        if not found or not left:
            self.open = self._loop_of(members)  # undo
            return FusedLoop(self.trace.inputs, member, self.copies)
        self.open = left
        return found

    def _loop_of(self, members: Sequence[Member]) -> FusedLoop | None:
        """A fused loop of all these members; None where they do not fit together."""
        made = FusedLoop(self.trace.inputs, members[0], self.copies)
        return made if made.is_good and all(made.add(m) for m in members[1:]) else None

    def close(self) -> None:
        """Append the open fused loop to the order, or its members as plain records if it has too little work."""
        fused, self.open = self.open, None
        if fused is None:
            return
        if fused.size >= FEWEST:
            self.order.append(fused)
            return
        for member in fused.members:
            self.order.append(member.row)
            self.reads[member.row] = member.reach()[0]

    def find_needed_copies(self) -> set[int]:
        """The copies that other records than fused loops read, or that fused loops cannot read at their source."""
        ranges = [r for reads in self.reads.values() for r in reads]
        ranges += [part.reach for fused in self.loops for _, part in fused.parts if part.source == IN_CELLS]
        if self.trace.result > 0:
            ranges.append((self.trace.result, self.trace.result + 1))
        return {row for low, high in ranges for row in self.copies.rows_of(low, high)}


def _find_movable(members: Sequence[Member], reads: Sequence[OperandPart]) -> list[Member]:
    """The last members that a fused loop may leave to another loop, which reads these parts of its results."""
    stored = [m for m in members if any(m.meets(part) and not m.is_read_by(part) for part in reads)]
    movable: list[Member] = []
    for m in members if stored else ():
        read = [what for what, _ in m.operands if isinstance(what, Member)]
        if not m.is_guard and not m.is_sum and m not in stored and all(k in stored or k in movable for k in read):
            movable.append(m)
    staying = [m for m in members if m not in movable]
    for m in reversed(movable):
        if any(what is m for k in staying for what, _ in k.operands):
            staying.append(m)
    return [m for m in movable if m not in staying]
