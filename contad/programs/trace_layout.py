"""The layout of a trace: its records, with fused loops in place of their members, and the memory that a run fills.

A member of a fused loop has cells only if other records read it. A copy that only fused loops read has no cells.
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from contad.engines.matrix.kernel_shapes import PAIRED_SUM
from contad.engines.stream.arithmetic_rules import operation_of
from contad.programs import codes
from contad.programs.cell_places import CellPlaces, Ranges, Shape, active_of, can_move
from contad.programs.copied_cells import CopiedCells, sources_of
from contad.programs.fused_loops import BASES, FEWEST, FusedLoop, meets
from contad.programs.fused_members import (
    IN_CELLS,
    IN_INPUTS,
    SHAPE,
    Member,
    Operand,
    OperandPart,
    align,
    can_be_member,
    reach_of,
)
from contad.programs.header import ADD, WRITE, ZERO
from contad.programs.member_groups import choose_groups
from contad.programs.more_axes import AXES, CODE_OF, length_of, reach
from contad.programs.paired_log_sums import PairedSum, find_pairs, has_log_sums
from contad.programs.program_kernels import ADJOINTS, VALUES, Kernel, kernels_of
from contad.programs.result_places import ResultPlaces

if TYPE_CHECKING:
    from contad.programs.trace import Trace

Spans = list[tuple[int, int]]


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
        self.finished = np.array([[0, n, WRITE]])  # of the gradient: start, number, how
        if not trace.calls and (_has_large_arrays(trace) or has_log_sums(trace)):
            _group(trace).fill(self)

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


def _spans(ranges: Spans) -> np.ndarray:
    """Ranges as rows of (start, number)."""
    return np.array([(low, high - low) for low, high in ranges], np.int64).reshape(-1, 2)


def _has_large_arrays(trace: "Trace") -> bool:
    heads = trace.code[:, 0]
    rows = trace.code[(heads == codes.COMPARE) | (heads >= codes.ARRAY) & (heads < codes.FIRST_STEP), :2].tolist()
    return any(can_be_member(c) and np.prod(trace.shapes[x + 1 : x + 3]) >= FEWEST // 4 for c, x in rows)


def _runs(mask: np.ndarray) -> Spans:
    """The ranges where a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _group(trace: "Trace") -> "_Planner":
    """Group the records into fused loops, and omit copies that only fused loops read."""
    kept: set[int] = set()
    firsts = codes.first_cells(trace.code, trace.inputs).tolist()
    pairs = find_pairs(trace, firsts, lambda row: _all_reads(trace, row, firsts[row]))
    while True:
        found = _Planner(trace, kept, pairs)
        needed = found.find_needed_copies()
        if not needed:
            return found
        kept |= needed


class _Planner:
    """Groups records into fused loops, and finds the cells that each of them reads."""

    def __init__(self, trace: "Trace", kept: set[int], pairs: dict[int, PairedSum]) -> None:
        self.trace = trace
        self.copies = CopiedCells()
        self.gathered: dict[int, np.ndarray] = {}  # by row
        self.kept = kept  # rows of copies that other records than fused loops read
        self.order: list[int | FusedLoop] = []  # rows and fused loops, as they run
        self.reads: dict[int, Spans] = {}  # the reads of rows outside fused loops
        self.open: FusedLoop | None = None
        self.firsts = codes.first_cells(trace.code, trace.inputs).tolist()
        self.pairs = pairs
        self.unrecorded = {pair.row for pair in pairs.values()}
        for row, (code, x, y) in enumerate(trace.code.tolist()):
            self.visit(row, code, x, y)
        self.close()

    def visit(self, row: int, code: int, x: int, y: int) -> None:
        """Add a record to the open fused loop, put it before that loop, or begin another loop with it."""
        first = self.firsts[row]
        if row in self.unrecorded:
            return
        if row not in self.kept:
            sources = sources_of(code, x, y, self.trace.shapes, self.trace.constants)
            if sources:
                self.copies.add(row, first, [run for cells in sources for run in self.copies.find(*cells)])
                return
        if code >= codes.ARRAY and can_be_member(code):
            shape = self.trace.shapes[x : x + (14 if code == codes.COMPARE else 11)].tolist()
            member = Member(row, code, first, y, shape)
            if self.open is not None and self.open.add(member):
                return
            reads, own = _reach_of(member, y)
            if member.size >= FEWEST // 4 and own:
                made = FusedLoop(self.trace.inputs, member, self.copies)
                if made.is_good:
                    made = self._move_members(member, made)
                    self.close()
                    self.open = made
                    return
        else:
            reads, own = self.pairs[row].reads if row in self.pairs else _reads_of(self.trace, row, self.copies), True
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
        moved = _find_movable(members, [part for o in made.operands.values() for part in o.parts])
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
            self.reads[member.row] = _reach_of(member, member.n)[0]

    def find_needed_copies(self) -> set[int]:
        """The copies that other records than fused loops read, or that fused loops cannot read at their source."""
        ranges = [r for reads in self.reads.values() for r in reads]
        parts = [p for k in self.order if isinstance(k, FusedLoop) for o in k.operands.values() for p in o.parts]
        ranges += [part.reach for part in parts if part.source == IN_CELLS]
        if self.trace.result > 0:
            ranges.append((self.trace.result, self.trace.result + 1))
        return {row for low, high in ranges for row in self.copies.rows_of(low, high)}

    # ---- the layout --------------------------------------------------------------------------------------------------
    def fill(self, plan: TraceLayout) -> None:
        """Fill in the layout."""
        fused_loops = [k for k in self.order if isinstance(k, FusedLoop)]
        if not fused_loops and not self.pairs:
            return
        trace = self.trace
        plan.fused_loops, plan.has_pairs = fused_loops, bool(self.pairs)
        for fused in fused_loops:
            fused.find_active()
        self._place_cells(fused_loops)
        self._mark(fused_loops)
        self._choose_direct(fused_loops)
        plan.cells, plan.result = self.owned, self.result
        base = align(self.owned + trace.saved)
        shared = used = 0
        for fused in fused_loops:  # kept loops do not share their places
            taken = fused.place(used, self.is_read)
            if fused.has_kept:
                used += taken
        for fused in fused_loops:
            if not fused.has_kept:
                shared = max(shared, fused.place(used, self.is_read))
        self.frontiers: dict[tuple[int, int], int] = {}
        lent_at = base + used + shared
        self._lend_adjoints(fused_loops, lent_at)
        lent = max(self.lent, self.results.lend(lent_at, len(fused_loops)))  # of adjoints and of values
        self._frontier_at = plan.frontier_at = lent_at + lent
        bound = align(self._frontier_at + sum(map(len, self._spans_of.values())))
        for fused in fused_loops:
            fused.settle(base, self.adjoint_place, self.results.value_place)
        choose_groups(fused_loops)
        most = max((len(fused.members) for fused in fused_loops), default=0)
        shapes = trace.shapes.tolist()

        def shape(integers: Iterable[int]) -> int:
            place = len(shapes)
            shapes.extend(integers)
            return place

        code: list[tuple[int, int, int]] = []
        rows: list[int] = []
        cell = trace.inputs + 1
        records = trace.code.tolist()
        for k in self.order:
            if isinstance(k, FusedLoop):
                code.append((codes.FUSED, k.write(shape, bound, self.is_read, self.frontier), 0))
                rows.append(-1)
                continue
            if self.firsts[k] != cell:
                code.append(_jump(self.firsts[k] - cell))
                rows.append(-1)
            code.append(self._record(k, records[k], shape))
            rows.append(k)
            cell = self.firsts[k] + _length(*records[k])
        if cell != self.owned:
            code.append(_jump(self.owned - cell))
            rows.append(-1)
        plan.code = np.array(code, np.uint32)
        plan.rows = np.array(rows)
        plan.shapes = np.array(shapes, np.int64)
        plan.frontiers = len(self.frontiers)
        # so that adjoints, which follow, begin a cache line
        plan.scratch = align(bound + BASES + SHAPE * most) - self.owned - trace.saved
        n = trace.inputs
        plan.copied = _spans(_runs(self.read[1 : n + 1]))
        plan.zeroed = _spans(_runs(~self.written & ~self.hidden))
        how = np.where(self.direct[:n], np.where(self.read[1 : n + 1], ADD, -1), WRITE)
        how[(how == WRITE) & ~self.read[1 : n + 1]] = ZERO
        plan.finished = np.array(
            [(low, high - low, mode) for mode in (WRITE, ADD, ZERO) for low, high in _runs(how == mode)], np.int64
        ).reshape(-1, 3)

    def _record(self, row: int, record: tuple[int, int, int], shape: Shape) -> tuple[int, int, int]:
        """A record outside fused loops, with the places of its cells."""
        if row in self.gathered:
            return record[0], shape(self.gathered[row].tolist()), record[2]
        if row in self.pairs:
            pair = codes.STEP_CODES[PAIRED_SUM], 0, record[2]
            return self.places.move(pair, np.array(self.pairs[row].shape), shape)
        return self.places.move(record, self.trace.shapes, shape) if self.is_moved else record

    def _place_cells(self, fused_loops: Sequence[FusedLoop]) -> None:
        """Give no cells to omitted copies, nor to results of members that only their loop reads."""
        trace = self.trace
        records = {row: trace.code[row].tolist() for row in self.reads}
        for row, (code, x, n) in records.items():
            if code in (codes.GATHER, codes.STOPPED):  # read the cells at their source
                cells = trace.shapes[x : x + n]
                self.gathered[row] = np.where(cells > 0, self.copies.trace_back(cells), cells)
                self.reads[row] = _spans_of(self.gathered[row])
        operands = [o for fused in fused_loops for o in fused.operands.values()]
        read = [span for spans in self.reads.values() for span in spans]
        read += [part.reach for o in operands for part in o.parts if part.source == IN_CELLS]
        alone = Ranges([*(s for spans in self.reads.values() for s in spans), (trace.result, trace.result + 1)])
        known = Ranges([*read, (trace.result, trace.result + 1)])
        members = [m for fused in fused_loops for m in fused.members if not m.is_guard]
        for fused in fused_loops:
            fused.find_outputs(known.meet)
            fused.find_needed()
        self.is_moved = can_move([code for code, _, _ in records.values()])
        self.results = results = ResultPlaces(fused_loops if self.is_moved else (), alone)
        results.exchange(fused_loops)
        results.join_parts(fused_loops)
        results.choose()
        seen = {m.row for m in members if m.is_sum or m.is_stored}
        used = [(m.first, m.first + m.n) for m in members if m.row in seen and not results.has(m)]
        used += [(self.firsts[row], self.firsts[row] + _length(*record)) for row, record in records.items()]
        used = [(0, trace.inputs + 1), *used] if self.is_moved else [(0, trace.cells)]
        self.places = places = CellPlaces(used, trace.cells)
        self.owned = places.count
        self.cells = results.place(self.owned)  # includes the cells in shared memory
        self.result = places.place(trace.result) if trace.result > 0 else trace.result

        def place(cell: int) -> int:
            moved = results.moved_place(cell)
            return places.place(cell) if moved is None else moved

        for o in operands:
            o.parts = tuple(
                part._replace(place=place(part.place)) if part.source == IN_CELLS else part for part in o.parts
            )
        firsts = [place(m.first) if m.row in seen else self.cells for m in members]
        for m, first in zip(members, firsts, strict=True):
            m.first = first
        results.settle()
        self.gathered = {row: places.places(cells) for row, cells in self.gathered.items()}
        self.reads = {
            row: [(places.place(low), places.place(high - 1) + 1) for low, high in spans if low < high]
            for row, spans in self.reads.items()
        }
        self.firsts = [places.place(first) for first in self.firsts]

    def _mark(self, fused_loops: Sequence[FusedLoop]) -> None:
        """Find the cells that are read, the cells that never exist, and where fused loops write adjoints first."""
        trace = self.trace
        self.read = np.zeros(self.cells, bool)  # by records, and by fused loops outside simple ranges
        moved = np.zeros(self.cells, bool)  # read by fused loops unit by unit
        self.direct = np.zeros(trace.inputs, bool)  # inputs whose adjoints fused loops write to the gradient
        active = np.zeros(self.cells, bool)
        if self.result > 0:
            self.read[self.result] = True
        for low, high in (span for spans in self.reads.values() for span in spans):
            self.read[low:high] = True
        for fused in fused_loops:
            for o, part in ((operand, part) for operand in fused.operands.values() for part in operand.parts):
                low, high = part.reach
                if part.source == IN_INPUTS:
                    if o.is_active:
                        self.direct[low:high] = True
                elif part.source == IN_CELLS and o.layout.is_moving and part.is_contiguous and low > trace.inputs:
                    moved[low:high] = True
                    active[low:high] |= o.is_active
                elif part.source == IN_CELLS:
                    self.read[low:high] = True
        self.read[0] = False
        self.touched = np.concatenate([[0], np.cumsum(self.read | moved)])
        self.written = np.zeros(self.cells, bool)
        spans: Spans = []
        for low, high in itertools.pairwise(self._cuts(fused_loops)):
            own = moved[low:high]
            # sums accumulate, and results of records, which read their adjoints, may have other readers
            if own.any() and active[low:high][own].all() and not self.read[low:high].any():
                self.written[low:high] = True
                spans.append((low, high))
        self.hidden = np.zeros(self.cells, bool)  # the inputs that nobody reads in cells
        self.hidden[self.owned :] = True
        self.hidden[1 : trace.inputs + 1] = ~self.read[1 : trace.inputs + 1]
        for m in (m for fused in fused_loops for m in fused.members if m.is_stored):
            if not self.is_read(m.first, m.first + m.n):
                self.hidden[m.first : m.first + m.n] = True
        operands = [o for fused in fused_loops for o in fused.operands.values() if o.is_active and o.layout.is_moving]
        reaches = (part.reach for o in operands for part in o.parts if part.source == IN_INPUTS)
        of_inputs = Ranges(reaches, join_touching=False).joined  # each range has a fused loop that writes to it first
        self._spans_of = {IN_INPUTS: of_inputs, IN_CELLS: spans}
        self._starts_of = {k: [low for low, _ in spans] for k, spans in self._spans_of.items()}

    def _choose_direct(self, fused_loops: Sequence[FusedLoop]) -> None:
        """Find the operands whose adjoints kernels can write directly to their cells.

        The reverse sweep runs the last fused loop that writes to a range first. In that loop the operand at the highest
        cells writes to cells that no strip has written before.
        """
        decided: set[tuple[int, int]] = set()
        for fused in reversed(fused_loops):
            found: dict[tuple[int, int], list[tuple[int, int, Operand]]] = {}
            for o, part in ((k, part) for k in fused.operands.values() if k.is_active for part in k.parts):
                spans, starts = self._spans_of.get(part.source, []), self._starts_of.get(part.source, [])
                k = bisect_right(starts, part.place) - 1
                if k >= 0 and part.place < spans[k][1]:
                    found.setdefault((part.source, k), []).append((part.place, part.width, o))
            for span, read in found.items():
                if span not in decided:
                    _, width, last = max(read, key=lambda place_and_width: place_and_width[0])
                    last.is_direct = all(w == width and o.is_contiguous for _, w, o in read)
            decided |= found.keys()

    def _cuts(self, fused_loops: Sequence[FusedLoop]) -> list[int]:
        """The boundaries between the cells of records, except those that a fused loop reads across."""
        made = [m.first for fused in fused_loops for m in fused.members if not m.is_guard]
        made += [end for result in self.results.found for end in (result.place, result.place + result.member.n)]
        own = [self.firsts[row] for row in self.reads]
        cuts = np.zeros(self.cells + 1, bool)
        cuts[[self.trace.inputs + 1, self.cells, self.owned, *made, *own]] = True
        for part in (part for fused in fused_loops for o in fused.operands.values() for part in o.parts):
            low, high = part.reach
            if part.source == IN_CELLS:
                cuts[low + 1 : high] = False
        return np.flatnonzero(cuts).tolist()

    def _lend_adjoints(self, fused_loops: Sequence[FusedLoop], start: int) -> None:
        """Give adjoints that only fused loops access memory from `start` on, which is reused after them.

        In the reverse sweep they are live from the last fused loop that reads the numbers to the one that computes
        them.
        """
        spans, starts = self._spans_of[IN_CELLS], self._starts_of[IN_CELLS]

        def span_of(cell: int) -> int:
            k = bisect_right(starts, cell) - 1
            return k if k >= 0 and spans[k][0] <= cell < spans[k][1] else -1

        ends: dict[int, int] = {}  # by span: the first fused loop that computes any of its numbers
        fixed = {span_of(self.firsts[row]) for row in self.reads}
        for k, fused in enumerate(fused_loops):
            for m in fused.members:
                span = -1 if m.is_guard else span_of(m.first)
                ends.setdefault(span, k)
                fixed |= {span} if m.is_sum else set()
        self._moved_by: dict[int, int] = {}  # by the start of a span
        free: dict[int, list[int]] = {}
        self.lent = 0
        ending: dict[int, list[int]] = {}
        for span, k in ends.items():
            ending.setdefault(k, []).append(span)
        for k in range(len(fused_loops) - 1, -1, -1):
            for part in (part for o in fused_loops[k].operands.values() for part in o.parts if part.source == IN_CELLS):
                span = span_of(part.place)
                if span in fixed or span not in ends or spans[span][0] in self._moved_by:
                    continue
                low, high = spans[span]
                size = align(high - low)
                if not free.get(size):
                    free.setdefault(size, []).append(start + self.lent)
                    self.lent += size
                self._moved_by[low] = free[size].pop() - low
            for low, high in (spans[span] for span in ending.get(k, ()) if span >= 0):
                if low in self._moved_by:
                    free[align(high - low)].append(low + self._moved_by[low])

    def adjoint_place(self, cell: int) -> int:
        """Where the adjoint of a cell is."""
        k = bisect_right(self._starts_of[IN_CELLS], cell) - 1
        low, high = self._spans_of[IN_CELLS][k] if k >= 0 else (0, 0)
        return cell + self._moved_by.get(low, 0) if low <= cell < high else cell

    def is_read(self, low: int, high: int) -> bool:
        """Whether anybody but members of their own fused loop reads the cells."""
        return low < self.cells and bool(self.touched[high] > self.touched[low])

    def frontier(self, part: OperandPart) -> tuple[int, int, int]:
        """(place, first, end) of the range of adjoints that holds a part and that kernels write before they add to it.

        The place is -1 where kernels add to cells that are zero.
        """
        starts = self._starts_of.get(part.source, [])
        k = bisect_right(starts, part.place) - 1
        low, high = self._spans_of[part.source][k] if k >= 0 else (0, 0)
        if low <= part.place < high and part.is_contiguous:
            number = self.frontiers.setdefault((part.source, low), len(self.frontiers))
            by = self._moved_by.get(low, 0) if part.source == IN_CELLS else 0
            return self._frontier_at + number, low + by, high + by
        return -1, 0, 0


def _find_movable(members: Sequence[Member], reads: Sequence[OperandPart]) -> list[Member]:
    """The last members that a fused loop may leave to another loop, which reads these parts of its results."""
    stored = [m for m in members if not m.is_guard and any(meets(m, part) and not m.is_read_by(part) for part in reads)]
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


def _reads_of(trace: "Trace", row: int, copies: CopiedCells) -> Spans:
    """The cells that a record outside fused loops reads."""
    code, x, y = trace.code[row].tolist()
    if code in (codes.GATHER, codes.STOPPED):
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
    if code >= codes.FIRST_STEP:
        return [
            (cell, cell + int(np.prod(shape, dtype=np.int64)))
            for _, cell, shape in trace.steps[row].recorded.operands
        ]
    return [(cell, cell + 1) for cell, kind in zip((x, y), active_of(code), strict=False) if kind == "v"]


def _all_reads(trace: "Trace", row: int, first: int) -> Spans:
    """The cells that any record reads."""
    code, x, y = trace.code[row].tolist()
    if code >= codes.ARRAY and can_be_member(code):
        shape = trace.shapes[x : x + (14 if code == codes.COMPARE else 11)].tolist()
        return _reach_of(Member(row, code, first, y, shape), y)[0]
    return _reads_of(trace, row, CopiedCells())


def _reach_of(member: Member, n: int) -> tuple[Spans, bool]:
    """The cells that an elementwise record reads, and whether no others share the cells that it writes."""
    if not member.size:
        return [], True

    def reach(start: int, apart: int, step: int) -> tuple[int, int]:
        return reach_of(start, member.outer, member.inner, apart, step)

    found = [reach(*at) for source, *at in member.strided_operands() if source == IN_CELLS]
    if member.is_guard:
        return found, True
    written = reach(member.shape[0], *member.shape[3:5])
    own = written[0] >= member.first and written[1] <= member.first + n
    return (found, True) if own else ([*found, written], False)


def _length(code: int, _: int, y: int) -> int:
    """The number of cells of a record."""
    return y if code >= codes.ARRAY or code == codes.CALL else 1


def _spans_of(cells: np.ndarray) -> Spans:
    """Cells as ranges; they may be in any order, and constants among them are left out."""
    cells = np.sort(cells[cells > 0])
    cells = cells[np.diff(cells, prepend=0) > 0]
    ends = np.flatnonzero(np.diff(cells, append=-1) != 1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    return [(int(cells[a]), int(cells[b]) + 1) for a, b in zip(starts, ends, strict=True)] if len(cells) else []


def _jump(by: int) -> tuple[int, int, int]:
    return codes.JUMP, max(by, 0), max(-by, 0)
