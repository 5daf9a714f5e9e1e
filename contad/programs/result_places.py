"""Results that only fused loops read: their memory has room for a few numbers beside them, and is reused after them.

A simulation step that writes into an array in place reads the results of the last step with old boundary values beside
them. A fused loop copies the boundary to the room beside the results, so kernels read both as one piece. If derivatives
do not read a result, its memory is reused after the last fused loop that reads it. If derivatives read results only to
recompute others, the others are stored in their place.

The places of such results are numbers above all cells: `ResultPlaces.value_place` maps them to memory.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from contad.programs.cell_places import Ranges
from contad.programs.fused_loops import Fill, FusedLoop
from contad.programs.fused_members import ALIGNED, IN_CELLS, Member, Operand, OperandPart, align

FOREVER = -1


class Reading(NamedTuple):
    """A part of an operand of a fused loop, which reads a result."""

    fused: int
    operand: Operand
    part: OperandPart


class MovedResult:
    """A result, the fused loop that computes it, and its readers."""

    def __init__(self, member: Member, fused: int) -> None:
        self.member = member
        self.fused = fused
        self.readings: list[Reading] = []
        self.beside: dict[int, tuple[int, int]] = {}  # by offset from the first place: (memory, place) of the source
        self.place = 0  # of its first number, above the cells
        self.at = 0  # its index in memory
        self.last = FOREVER  # the last fused loop that reads it

    @property
    def before(self) -> int:
        """Numbers of room before it, so that it begins a cache line."""
        return ALIGNED if any(k < 0 for k in self.beside) else 0

    @property
    def after(self) -> int:
        """Numbers of room after it."""
        return max(0, *(k + 1 - self.member.n for k in self.beside)) if self.beside else 0

    def can_move(self) -> bool:
        """Whether all readers read it in place, and pass adjoints on."""
        return bool(self.readings) and all(
            reading.part.is_contiguous and reading.operand.layout.is_moving and reading.operand.is_active
            for reading in self.readings
        )

    def is_needed(self) -> bool:
        """Whether derivatives read it."""
        return self.member.is_recalled or any(reading.operand.is_needed for reading in self.readings)

    def is_read_back(self) -> bool:
        """Whether derivatives read it directly, and not only values computed from it."""
        return self.member.is_recalled or any(reading.operand.is_read_back for reading in self.readings)


class ResultPlaces:
    """The results that have places of their own."""

    def __init__(self, fused_loops: Sequence[FusedLoop], known: Ranges) -> None:
        """Find them; `known` are the cells that others than fused loops read."""
        self._joined: list[tuple[Operand, MovedResult, int]] = []
        self._fills: list[tuple[FusedLoop, Operand, int, MovedResult, int]] = []
        made = [(m, k) for k, fused in enumerate(fused_loops) for m in fused.members if m.is_stored and m.is_output]
        self.found = [MovedResult(m, k) for m, k in made if not known.meet(m.first, m.first + m.n)]
        self._index()
        failed: set[int] = set()
        for k, fused in enumerate(fused_loops):
            for operand in fused.operands.values():
                for part in operand.parts:
                    self._add(Reading(k, operand, part), failed)
        self.found = [r for r in self.found if r.can_move() and id(r) not in failed]
        self._index()

    def _index(self) -> None:
        self.found.sort(key=lambda r: r.member.first)
        self._firsts = [r.member.first for r in self.found]

    def _add(self, reading: Reading, failed: set[int]) -> None:
        if reading.part.source != IN_CELLS:
            return
        low, high = reading.part.reach
        for k in range(max(bisect_right(self._firsts, low) - 1, 0), bisect_right(self._firsts, high - 1)):
            result = self.found[k]
            first, end = result.member.first, result.member.first + result.member.n
            if low < end and first < high:
                result.readings.append(reading)
                if not first <= low < high <= end:
                    failed.add(id(result))

    def result_at(self, cell: int) -> MovedResult | None:
        """The result that a cell of the trace belongs to."""
        k = bisect_right(self._firsts, cell) - 1
        result = self.found[k] if k >= 0 else None
        return result if result and cell < result.member.first + result.member.n else None

    def exchange(self, fused_loops: Sequence[FusedLoop]) -> None:
        """Store values that derivatives of a fused loop read, instead of the results that recompute them."""
        by_reader: dict[int, list[MovedResult]] = {}
        for result in self.found:
            readers = {reading.fused for reading in result.readings}
            if len(readers) == 1 and result.is_needed() and not result.is_read_back():
                by_reader.setdefault(readers.pop(), []).append(result)
        for k, results in by_reader.items():
            kept = [m for m in fused_loops[k].members if m.is_read_back and not m.is_stored]
            if not any(m.is_sum for m in kept) and sum(m.n for m in kept) <= sum(r.member.n for r in results):
                fused_loops[k].find_needed(kept)

    def join_parts(self, fused_loops: Sequence[FusedLoop]) -> None:
        """Let kernels read operands of several parts in place, if all parts but one fit beside that one."""
        for fused in fused_loops:
            for operand in fused.operands.values():
                if len(operand.parts) > 1 and all(part.is_contiguous or _size(part) == 1 for part in operand.parts):
                    self._join(fused, operand)

    def _join(self, fused: FusedLoop, operand: Operand) -> None:
        whole = max(operand.parts, key=_size)
        result = self.result_at(whole.place) if whole.source == IN_CELLS else None
        at = operand.parts.index(whole)
        if result is None or not whole.is_contiguous:
            return
        start = k = whole.place - result.member.first - sum(map(_size, operand.parts[:at]))
        fills: list[tuple[FusedLoop, Operand, int, MovedResult, int]] = []
        beside: dict[int, tuple[int, int]] = {}
        for number, part in enumerate(operand.parts):
            if part is not whole:
                if _size(part) > ALIGNED:
                    return
                fills.append((fused, operand, number, result, k))
                beside |= {k + n: (part.source, part.place + n) for n in range(_size(part))}
            k += _size(part)
        n = result.member.n
        if start < -ALIGNED or k > n + ALIGNED or any(0 <= at < n for at in beside):
            return
        if all(result.beside.get(at, what) == what for at, what in beside.items()):
            result.beside.update(beside)
            self._joined.append((operand, result, start))
            self._fills += fills

    def choose(self) -> None:
        """Keep only the results that are worth it, and find their last readers."""
        for result in self.found:
            if not result.is_needed():
                result.last = max(reading.fused for reading in result.readings)
        self.found = [r for r in self.found if r.last != FOREVER or r.beside]
        self._index()
        self._rows = {r.member.row for r in self.found}

    def has(self, member: Member) -> bool:
        """Whether the result of a member has a place here."""
        return member.row in self._rows

    def place(self, start: int) -> int:
        """Give results places from `start` on; returns their end."""
        for result in self.found:
            result.place = start + 1 + result.before  # apart from others
            start = result.place + result.member.n + result.after
        self._starts = [r.place - r.before for r in self.found]
        return start + 1 if self.found else start

    def settle(self) -> None:
        """Tell operands and fused loops where the numbers beside results are, once parts have places."""
        for operand, result, start in self._joined:
            operand.joined_at = result.place + start
        for fused, operand, number, result, start in self._fills:
            fill = Fill(result.place + start, operand.parts[number])
            fused.fills += [] if fill in fused.fills else [fill]

    def lend(self, start: int, fused_loops: int) -> int:
        """Give results memory from `start` on, which is reused after them; returns its size."""
        made: dict[int, list[MovedResult]] = {}
        ending: dict[int, list[MovedResult]] = {}
        free: dict[int, list[int]] = {}
        taken = 0
        for result in self.found:
            made.setdefault(result.fused, []).append(result)
            ending.setdefault(result.last, []).append(result)
        for k in range(fused_loops):
            for result in made.get(k, ()):
                size = _room(result)
                if not free.get(size):
                    free.setdefault(size, []).append(start + taken)
                    taken += size
                result.at = free[size].pop() + result.before
            for result in ending.get(k, ()):
                free.setdefault(_room(result), []).append(result.at - result.before)
        return taken

    def moved_place(self, cell: int) -> int | None:
        """The place of a cell of the trace among those above the cells, if it has one."""
        result = self.result_at(cell)
        return None if result is None else result.place + cell - result.member.first

    def value_place(self, place: int) -> int:
        """The index in memory of a place."""
        k = bisect_right(self._starts, place) - 1
        return self.found[k].at + place - self.found[k].place if k >= 0 else place


def _room(result: MovedResult) -> int:
    return align(result.before + result.member.n + result.after)


def _size(part: OperandPart) -> int:
    return (part.high - part.low) * part.width
