"""The memory of a program with fused loops: where a run keeps the value and the adjoint of every cell of a trace.

A value that only its own fused loop reads, and an omitted copy, take no memory. All others keep their order, and the
cells of one record stay together, so that strides do not change. Two kinds of numbers have slots instead, which are
reused after them:

- A *lent result*, which only fused loops read, in place, and no derivative does. It has room for a few numbers beside
  it. A simulation step that writes into an array in place reads the results of the last step with old boundary values
  beside them. A fused loop copies the boundary to this room, so kernels read both as one piece.
- A *span* of adjoints that only fused loops access. In the reverse sweep it is live from the last fused loop that reads
  the numbers to the one that computes them. The first loop writes the adjoints and the others add to them, so that
  nobody has to clear them.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from contad.programs.cell_ranges import PackedCells, Range, Ranges
from contad.programs.fused_loops import (
    IN_CELLS,
    IN_INPUTS,
    IN_SCRATCH,
    Fill,
    FusedLoop,
    Member,
    Operand,
    OperandPart,
    StripPlace,
)
from contad.programs.slots import ALIGNED, Live, Slots, align
from contad.programs.strip_places import place_strip


# ---- lent results ----------------------------------------------------------------------------------------------------
class Reading(NamedTuple):
    """A part of an operand of a fused loop, which reads a result."""

    fused: int
    operand: Operand
    part: OperandPart


class Result:
    """A result that only fused loops read, the fused loop that computes it, and its readers."""

    def __init__(self, member: Member, fused: int) -> None:
        self.member = member
        self.fused = fused
        self.readings: list[Reading] = []
        self.beside: dict[int, tuple[int, int]] = {}  # by offset from the first cell: (memory, place) of the source
        self.at = 0  # its index in memory

    @property
    def before(self) -> int:
        """Numbers of room before it, so that it begins a cache line."""
        return ALIGNED if any(k < 0 for k in self.beside) else 0

    @property
    def live(self) -> Live:
        """The numbers that it takes with its room, and the fused loops from which and to which it is live."""
        after = max(0, *(k + 1 - self.member.n for k in self.beside)) if self.beside else 0
        last = None if self.is_needed() else max(reading.fused for reading in self.readings)
        return Live(align(self.before + self.member.n + after), self.fused, last)

    def can_be_lent(self) -> bool:
        """Whether all readers read only it, in place, and pass adjoints on."""
        return bool(self.readings) and all(
            part.is_contiguous and operand.layout.is_moving and operand.is_active and self.member.holds(part)
            for _, operand, part in self.readings
        )

    def is_needed(self) -> bool:
        """Whether derivatives read it."""
        return self.member.is_recalled or any(reading.operand.is_needed for reading in self.readings)

    def is_read_back(self) -> bool:
        """Whether derivatives read it directly, and not only values computed from it."""
        return self.member.is_recalled or any(reading.operand.is_read_back for reading in self.readings)


class Results:
    """The results that have slots; `outside` are the cells that others than fused loops read."""

    def __init__(self, fused_loops: Sequence[FusedLoop], outside: Ranges) -> None:
        made = [(m, k) for k, fused in enumerate(fused_loops) for m in fused.results if m.is_stored and m.is_output]
        self._keep([Result(m, k) for m, k in made if not outside.meet(m.first, m.end)])
        for k, fused in enumerate(fused_loops):
            for operand, read in fused.parts:
                if read.source == IN_CELLS:
                    for n in self.cells.find_all(*read.reach):
                        self.found[n].readings.append(Reading(k, operand, read))
        self._keep([result for result in self.found if result.can_be_lent()])
        self._exchange(fused_loops)
        for fused in fused_loops:
            for operand in fused.operands.values():
                if len(operand.parts) > 1 and all(read.is_contiguous or read.size == 1 for read in operand.parts):
                    self._join(fused, operand)
        self._keep([result for result in self.found if result.beside or not result.is_needed()])

    def _keep(self, found: list[Result]) -> None:
        self.found = sorted(found, key=lambda result: result.member.first)
        self.cells = Ranges([(r.member.first, r.member.end) for r in found], join_touching=False)

    def _exchange(self, fused_loops: Sequence[FusedLoop]) -> None:
        """Store values that derivatives of a fused loop read, instead of the results that recompute them."""
        by_reader: dict[int, list[Result]] = {}
        for result in self.found:
            readers = {reading.fused for reading in result.readings}
            if len(readers) == 1 and result.is_needed() and not result.is_read_back():
                by_reader.setdefault(readers.pop(), []).append(result)
        for k, results in by_reader.items():
            kept = [m for m in fused_loops[k].members if m.is_read_back and not m.is_stored]
            if not any(m.is_sum for m in kept) and sum(m.n for m in kept) <= sum(r.member.n for r in results):
                fused_loops[k].find_needed(kept)

    def _join(self, fused: FusedLoop, operand: Operand) -> None:
        """Let kernels read an operand of several parts in place, if all parts but one fit beside that one."""
        whole = max(operand.parts, key=lambda read: read.size)
        n = self.cells.find(whole.place) if whole.source == IN_CELLS and whole.is_contiguous else -1
        if n < 0:
            return
        member, beside = self.found[n].member, self.found[n].beside
        first = StripPlace(IN_CELLS, member.first, operand.layout.width)
        start = k = whole.place - member.first - whole.low * whole.width
        fills: list[Fill] = []
        added: dict[int, tuple[int, int]] = {}
        for read in operand.parts:
            if read is not whole:
                if read.size > ALIGNED:
                    return
                fills.append(Fill(first._replace(beside=k), read))
                added |= {k + i: (read.source, read.place + i) for i in range(read.size)}
            k += read.size
        if start < -ALIGNED or k > member.n + ALIGNED or any(0 <= at < member.n for at in added):
            return
        if all(beside.get(at, what) == what for at, what in added.items()):
            beside.update(added)
            operand.joined = first._replace(beside=start)
            for fill in fills:
                self.fill(fused, fill)

    @staticmethod
    def fill(fused: FusedLoop, fill: Fill) -> None:
        """Let a fused loop copy a part to the room beside a result."""
        fused.fills += [] if fill in fused.fills else [fill]

    def lend(self, start: int) -> int:
        """Give the results slots from `start` on; returns their end."""
        slots = Slots()
        found = slots.scan([result.live for result in self.found])
        end = slots.lay_out(start)
        for result, slot in zip(self.found, found, strict=True):
            result.at = slots.places[slot] + result.before
        return end


# ---- all cells -------------------------------------------------------------------------------------------------------
class Allocation:
    """The places of values and adjoints: indices in the memory of a run, which has two parts of one layout."""

    def __init__(
        self, fused_loops: Sequence[FusedLoop], firsts: Sequence[int], reads: Mapping[int, Sequence[Range]], *,
        inputs: int, cells: int, saved: int, result: int,
    ) -> None:  # fmt: skip
        """Take the first cells of all records of a trace, and the reads of the records outside fused loops by row."""
        self.fused_loops, self.firsts, self.inputs, self.cells = fused_loops, firsts, inputs, cells
        ends = [*firsts[1:], cells]
        self._records = [(firsts[row], ends[row]) for row in reads if firsts[row] < ends[row]]
        outside = [*itertools.chain(*reads.values()), (result, result + 1)]
        known = Ranges([*outside, *(part.reach for _, part in self._parts(IN_CELLS))])
        for fused in fused_loops:
            fused.find_active()
            fused.find_outputs(known.meet)
            fused.find_needed()
        self.results = Results(fused_loops, Ranges(outside))
        has_slot = {result.member.row for result in self.results.found}
        stored = [m for m in self._members() if (m.is_sum or m.is_stored) and m.row not in has_slot]
        used = [(0, inputs + 1), *self._records, *((m.first, m.end) for m in stored)]
        self.packed = PackedCells([*used, (cells, cells + saved)])
        self.owned = self.packed.place(cells)  # how many cells a run keeps
        self.result = self.packed.place(result) if result > 0 else result
        self._find_spans(outside, used)
        self._choose_direct()
        self._place()

    def _members(self) -> Iterator[Member]:
        return (m for fused in self.fused_loops for m in fused.results)

    def _parts(self, source: int) -> Iterator[tuple[Operand, OperandPart]]:
        return ((o, part) for fused in self.fused_loops for o, part in fused.parts if part.source == source)

    def _find_spans(self, outside: Sequence[Range], used: Sequence[Range]) -> None:
        """Find the spans of adjoints, and the adjoints that a run has to clear."""
        inputs, cells = self.inputs, self.cells
        read, moved, active, cuts, owned = np.zeros((5, cells + 1), bool)
        for low, high in used:
            owned[low:high] = True
        for low, high in outside:
            read[max(low, 0) : max(high, 0)] = True
        cuts[[inputs + 1, cells, *self.firsts]] = True  # between records, except where a fused loop reads across
        for o, part in self._parts(IN_CELLS):
            low, high = part.reach
            cuts[low + 1 : high] = False
            if o.layout.is_moving and part.is_contiguous and low > inputs:
                moved[low:high] = True
                active[low:high] |= o.is_active
            else:
                read[low:high] = True
        cleared = owned.copy()
        cleared[1 : inputs + 1] &= read[1 : inputs + 1]
        for m in self._members():
            if m.is_stored and not m.is_output:
                cleared[m.first : m.end] = False
        spans = []
        for low, high in itertools.pairwise(np.flatnonzero(cuts).tolist()):
            own = moved[low:high]
            # sums accumulate, and results of records, which read their adjoints, may have other readers
            if own.any() and active[low:high][own].all() and not read[low:high].any():
                spans.append((low, high))
                cleared[low:high] = False
        self.cleared = runs_of(cleared[owned])
        self.read_inputs = read[1 : inputs + 1]
        self.direct_inputs = np.zeros(inputs, bool)  # whose adjoints fused loops write to the gradient
        reaches = [part.reach for o, part in self._parts(IN_INPUTS) if o.is_active]
        for low, high in reaches:
            self.direct_inputs[low:high] = True
        # each range of inputs has a fused loop that writes to it first
        self.spans = {IN_CELLS: Ranges(spans, join_touching=False), IN_INPUTS: Ranges(reaches, join_touching=False)}

    def _span_of(self, part: OperandPart) -> int:
        """The number of the span that holds the adjoints of a part, or -1."""
        return self.spans[part.source].find(part.place) if part.source in self.spans else -1

    def _choose_direct(self) -> None:
        """Find the operands whose adjoints kernels can write directly to their cells.

        The reverse sweep runs the last fused loop that writes to a span first. In that loop the operand at the highest
        cells writes to cells that no strip has written before.
        """
        decided: set[tuple[int, int]] = set()
        for fused in reversed(self.fused_loops):
            found: dict[tuple[int, int], list[tuple[OperandPart, Operand]]] = {}
            for o, part in fused.parts:
                if o.is_active and self._span_of(part) >= 0:
                    found.setdefault((part.source, self._span_of(part)), []).append((part, o))
            for span in found.keys() - decided:
                last, operand = max(found[span], key=lambda read: read[0].place)
                operand.is_direct = all(part.width == last.width and o.is_contiguous for part, o in found[span])
            decided |= found.keys()

    # ---- memory ------------------------------------------------------------------------------------------------------
    def _place(self) -> None:
        """Lay out the memory after the cells and saved numbers: strips, lent numbers, frontiers, and shapes."""
        for fused in self.fused_loops:
            place_strip(fused)
        start = align(self.packed.count)
        for fused in self.fused_loops:  # kept loops do not share their places
            if fused.has_kept:
                start = fused.lay_out(start)
        start = max([start, *(fused.lay_out(start) for fused in self.fused_loops if not fused.has_kept)])
        self.frontier_at = max(self._lend_spans(start), self.results.lend(start))
        self.frontiers: dict[tuple[int, int], int] = {}  # their numbers, by memory and span
        self.bound = align(self.frontier_at + sum(len(spans.firsts) for spans in self.spans.values()))
        for fused in self.fused_loops:
            fused.locate = partial(self._locate, fused)
            fused.shapes = [m.write_shape(fused.strip, fused.locate) for m in fused.members]

    def _lend_spans(self, start: int) -> int:
        """Give the spans that only fused loops access slots from `start` on; returns their end."""
        spans = self.spans[IN_CELLS]
        fixed = {spans.find(low) for low, _ in [*self._records, *((m.first, m.n) for m in self._members() if m.is_sum)]}
        made: dict[int, int] = {}  # by span: the first fused loop that computes any of its numbers
        read: dict[int, int] = {}  # and the last one that reads any
        for k, fused in enumerate(self.fused_loops):
            for m in fused.results:
                made.setdefault(spans.find(m.first), k)
            read.update((self._span_of(part), k) for _, part in fused.parts if part.source == IN_CELLS)
        lent = [span for span in made if span in read and span not in fixed and span >= 0]
        slots = Slots()
        sizes = [align(spans.ends[span] - spans.firsts[span]) for span in lent]
        found = slots.scan([Live(size, -read[k], -made[k]) for k, size in zip(lent, sizes, strict=True)])
        end = slots.lay_out(start)
        self._lent = {span: slots.places[slot] for span, slot in zip(lent, found, strict=True)}
        assert all(spans.find(low) in self._lent for low in self.results.cells.firsts)
        return end

    def _locate(self, fused: FusedLoop, place: StripPlace, is_adjoint: bool) -> StripPlace:
        """The place with its cell, or its slot of a fused loop, resolved to an index in memory."""
        if place.memory == IN_CELLS:
            at = self.adjoint_place(place.at) if is_adjoint else self.value_place(place.at)
            return place._replace(at=at + place.beside, beside=0)
        if place.memory != IN_SCRATCH:
            return place
        return StripPlace(IN_CELLS, (fused.adjoint_slots if is_adjoint else fused.slots).places[place.at])

    def value_place(self, cell: int) -> int:
        """Where the value of a cell is."""
        k = self.results.cells.find(cell)
        return self.packed.place(cell) if k < 0 else self.results.found[k].at + cell - self.results.cells.firsts[k]

    def adjoint_place(self, cell: int) -> int:
        """Where the adjoint of a cell is."""
        k = self.spans[IN_CELLS].find(cell)
        return self._lent[k] + cell - self.spans[IN_CELLS].firsts[k] if k in self._lent else self.packed.place(cell)

    def frontier(self, part: OperandPart) -> tuple[int, int, int]:
        """(place, first, end) of the span that holds the adjoints of a part, and of the number of those written.

        The place is -1 where kernels add to cells that are zero.
        """
        k = self._span_of(part) if part.is_contiguous else -1
        if k < 0:
            return -1, 0, 0
        number = self.frontiers.setdefault((part.source, k), len(self.frontiers))
        low, high = self.spans[part.source].firsts[k], self.spans[part.source].ends[k]
        first = self.adjoint_place(low) if part.source == IN_CELLS else low
        return self.frontier_at + number, first, first + high - low


def runs_of(mask: np.ndarray) -> list[Range]:
    """The ranges where a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
