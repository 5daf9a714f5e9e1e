"""Fused loops: consecutive records of arrays that the interpreter runs together, strip by strip.

Elementwise operations, and sums over whole arrays, rows or columns, run along an axis of the same length: n numbers, or
rows of matrices, the *units* of a fused loop. For each strip of units the interpreter calls the kernels of all members.
A kernel reads an operand in place, or from a copy in scratch memory. Results that only members read are written to
scratch memory: they have no cells, stay in the first level cache, and are recomputed in the reverse sweep. Results that
are expensive to compute, or that others read, have cells as well.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

from contad.programs.adjoint_places import AdjointPlaces
from contad.programs.copied_cells import LONG, CellRun, CopiedCells
from contad.programs.fused_members import (
    ALIGNED,
    IN_CELLS,
    IN_INPUTS,
    IN_SCRATCH,
    NOWHERE,
    PLACES,
    SHAPE,
    Key,
    Layout,
    Member,
    Operand,
    OperandPart,
    Slots,
    StripPlace,
    layout_of,
)

FEWEST = 1024  # numbers that a fused loop computes; fewer numbers stay in the cache as cells, too
MOST_MEMBERS = 64
BLOCK = 3072  # numbers of scratch memory for the values of a strip, or for its adjoints
COSTLY = frozenset({"exp", "log", "sin", "cos", "tan", "tanh", "expm1", "log1p", "power"})  # to recompute

# ---- the interpreter's data: places in `shapes` and widths of entries ------------------------------------------------
UNITS, BLOCK_UNITS, IS_KEPT, BOUND_AT = range(4)
FIXED_AT, FIXED, MOVING_AT, MOVING, OUTPUTS_AT, OUTPUTS, SUMS_AT, SUMS, MEMBERS_AT, MEMBERS = range(4, 14)
STEPS_AT, STEPS, FILLS_AT, FILLS = range(14, 18)
ENTRY = 18  # integers
FILL = 7
BASES = 8  # integers before the shapes of a run: where the memory of values and of adjoints begins


class Fill(NamedTuple):
    """A part of an operand that is copied to the free memory beside another part."""

    place: int
    part: OperandPart


class FusedLoop:
    """Members, their operands, and the places of both in scratch memory."""

    def __init__(self, inputs: int, member: Member, copies: CopiedCells) -> None:
        self.inputs = inputs
        self.copies = copies
        self.units = member.outer if member.outer > 1 else member.inner
        self.members: list[Member] = []
        self.operands: dict[Key, Operand] = {}
        self.fills: list[Fill] = []
        self.groups: dict[int, tuple[int, int]] = {}  # by first member: kernel number, member count
        self.groups_back: dict[int, tuple[int, int]] = {}
        self.is_good = self.add(member)

    def add(self, member: Member) -> bool:
        """Take a member, if these units divide it, or if other units divide all members."""
        for units in dict.fromkeys((self.units, member.outer)):
            if units > 1 and self._take(units, [*self.members, member]):
                return True
        return False

    def _take(self, units: int, members: list[Member]) -> bool:
        if len(members) > MOST_MEMBERS or not all(member.divides(units) for member in members):
            return False
        same = units == self.units and len(members) == len(self.members) + 1 and self.members
        operands = dict(self.operands) if same else {}
        known = list(self.members) if same else []
        found: list[list[tuple[Operand | Member, Layout]]] = []
        for member in members[len(known) :]:
            own = self._operands(member, units, known, operands)
            if own is None:
                if not same:
                    for m in self.members:  # undo the change
                        m.set_units(self.units)
                return False
            member.set_units(units)
            found.append(own)
            known.append(member)
        for member, own in zip(members[len(members) - len(found) :], found, strict=True):
            member.operands = own
            member.find_square()
        self.units, self.members, self.operands = units, members, operands
        return True

    def _operands(
        self, member: Member, units: int, known: Sequence[Member], operands: dict[Key, Operand]
    ) -> list[tuple[Operand | Member, Layout]] | None:
        """The operands of a member (those in memory join `operands`); None where the member does not fit."""
        found: list[tuple[Operand | Member, Layout]] = []
        for source, start, apart, step in member.strided_operands():
            layout = layout_of(member.outer, member.inner, apart, step, units)
            if layout is None:
                return None
            parts = self._locate(source, start, layout, units)
            met = [m for m in known if not m.is_guard and any(meets(m, part) for part in parts)]
            if met:
                made = met[0]
                if len(met) > 1 or len(parts) > 1 or made.is_sum or made.first != parts[0].place:
                    return None
                if not (layout.is_moving and parts[0].is_contiguous and layout.width == made.width):
                    return None
                found.append((made, layout))
                continue
            operand = Operand(tuple(self._in_inputs(part) for part in parts if layout.is_moving) or parts, layout)
            found.append((operands.setdefault(operand.key, operand), layout))
        return found

    def _locate(self, source: int, start: int, layout: Layout, units: int) -> tuple[OperandPart, ...]:
        """The parts of an operand in memory; copies are read at their source."""
        width, apart, step = layout.width, layout.apart, layout.step
        whole = OperandPart(0, units if layout.is_moving else 1, source, start, apart, step, width)
        if source != IN_CELLS:
            return (whole,)
        low, high = whole.reach
        if not self.copies.rows_of(low, high):
            return (whole,)
        if layout.is_moving and (width == 1 or apart == step * width):
            runs = self.copies.find(start, apart if width == 1 else step, units * width)
            fits = len(runs) == 1 or len(runs) * LONG <= units
            return tuple(_parts_of(runs, width)) if fits and not any(run.number % width for run in runs) else (whole,)
        (run, *others) = self.copies.find(low, 1, high - low)
        if others:
            return (whole,)
        place, by = run.first + run.step * (start - low), run.step if run.number > 1 else 1
        return (whole._replace(place=place, apart=apart * by, step=step * by),)

    def _in_inputs(self, part: OperandPart) -> OperandPart:
        """The same part, read from the inputs where possible."""
        is_input = part.source == IN_CELLS and part.is_contiguous and part.reach[1] - 1 <= self.inputs
        return part._replace(source=IN_INPUTS, place=part.place - 1) if is_input else part

    def depends(self, reads: Iterable[tuple[int, int]]) -> bool:
        """Whether any of these ranges of cells holds results of members."""
        reads = list(reads)
        return any(
            low < m.first + m.n and m.first < high for m in self.members if not m.is_guard for low, high in reads
        )

    def in_groups(self, is_backward: bool) -> set[int]:
        """The members that groups compute, forward or backward."""
        groups = self.groups_back if is_backward else self.groups
        return {k for first, (_, count) in groups.items() for k in range(first, first + count)}

    @property
    def size(self) -> int:
        """How many operations on numbers the loop performs."""
        return sum(member.size for member in self.members)

    def _all(self) -> list[Operand | Member]:
        return [*self.operands.values(), *self.members]

    # ---- before it is written ----------------------------------------------------------------------------------------
    def find_active(self) -> None:
        """Mark the values that have adjoints, and those that derivatives read."""
        for member in reversed(self.members):
            for k, read in member.partials():
                what, _ = member.operands[k]
                if isinstance(what, Operand):
                    what.is_active = True
                for name in read:
                    found = member if name == "z" else member.operands["xy".index(name)][0]
                    found.is_read_back = True

    def find_outputs(self, is_read: Callable[[int, int], bool]) -> None:
        """Mark the results that records outside the loop read."""
        for member in self.members:
            member.is_output = not member.is_guard and is_read(member.first, member.first + member.n)

    def find_needed(self, stored: Container[Member] = ()) -> None:
        """Mark the values that have cells, `stored` among them, and those that are recomputed before the adjoints."""
        for what in self._all():
            what.is_needed = what.is_read_back
        for member in reversed(self.members):
            member.is_recalled = member.is_needed
            is_long = member.rule is not None and member.rule.name in COSTLY and member.is_needed
            member.is_stored = not member.is_sum and (member.is_output or is_long or member in stored)
            member.is_needed = member.is_needed and not member.is_stored
            if member.is_needed:
                for what, _ in member.operands:
                    what.is_needed = True

    def place(self, start: int, is_read: Callable[[int, int], bool]) -> int:
        """Give values and adjoints places in scratch memory; returns its size."""
        self.slots = Slots()
        self._place_values()
        self._place_adjoints(is_read)
        block = max(1, BLOCK // max(self.slots.width, self.adjoint_slots.width, 1))
        if block >= self.units:
            block = self.units
        elif block > ALIGNED:
            block -= block % ALIGNED
        self.block = block
        self.is_kept = block == self.units
        self.has_kept = self.is_kept and any(k.is_needed and k.value.memory == IN_SCRATCH for k in self._all())
        return max(self.slots.lay_out(start, block), self.adjoint_slots.lay_out(start, block)) - start

    def _place_values(self) -> None:
        """A slot for each value without cells, free again after its last member, unless derivatives read the value."""
        last: dict[int, Member] = {}
        for operand in self.operands.values():
            if operand.is_read_in_place:
                operand.value = operand.own_place
            else:
                operand.value = self.slots.take(operand.layout.width, operand.layout.is_moving)
        for member in self.members:
            last.update((id(what), member) for what, _ in member.operands if isinstance(what, Member))
        for member in self.members:
            if member.is_guard:
                pass
            elif member.is_stored:
                member.value = StripPlace(IN_CELLS, member.first, member.width)
            else:
                member.value = self.slots.take(member.width, not member.is_sum)
            for what in {id(what): what for what, _ in member.operands}.values():
                if isinstance(what, Member) and last[id(what)] is member and not what.is_read_back:
                    self.slots.give(what.value)

    def _place_adjoints(self, is_read: Callable[[int, int], bool]) -> None:
        """Give adjoints places: those of direct operands are their cells, unless the kernels cannot write there."""
        while True:
            self.adjoint_slots = AdjointPlaces(self.members, list(self.operands.values()), is_read).find()
            failed = [o for o in self.operands.values() if o.is_direct and o.adjoint != o.preferred]
            if not failed:
                return
            for operand in failed:
                operand.is_direct = False

    # ---- as integers -------------------------------------------------------------------------------------------------
    def settle(self, base: int, adjoint_place: Callable[[int], int], value_place: Callable[[int], int]) -> None:
        """Set where scratch memory begins, and the functions that find the adjoint and the value of a cell."""
        self.base, self._adjoint_place, self._value_place = base, adjoint_place, value_place
        self.shapes = [m.write_shape(self.block, self.locate) for m in self.members]

    def locate(self, place: StripPlace, is_adjoint: bool) -> StripPlace:
        """The place with its slot resolved to an address in scratch memory."""
        if place.memory == IN_CELLS:
            return place._replace(at=(self._adjoint_place if is_adjoint else self._value_place)(place.at))
        if place.memory != IN_SCRATCH:
            return place
        slots = self.adjoint_slots if is_adjoint else self.slots
        return StripPlace(IN_CELLS, self.base + slots.places[place.at])

    def write(
        self, shape: Callable[[Iterable[int]], int], bound: int, is_read: Callable[[int, int], bool],
        frontier: Callable[[OperandPart], tuple[int, int, int]],
    ) -> int:  # fmt: skip
        """Write the fused loop to the shapes; returns its place.

        `bound` is where the shapes of a run are among the cells, `is_read` tells whether anybody else reads cells, and
        `frontier` gives the range around a part whose adjoints kernels write before they add to them.
        """
        adjoint_place, value_place, locate = self._adjoint_place, self._value_place, self.locate

        def place_of(part: OperandPart) -> int:
            return value_place(part.place) if part.source == IN_CELLS else part.place

        def at(place: StripPlace | None) -> int:
            return -1 if place is None else locate(place, True).at

        fixed, moving, outputs, totals, members, steps = [], [], [], [], [], []
        for o in self.operands.values():
            layout = o.layout
            slot = -1 if o.is_read_in_place else locate(o.value, False).at
            if layout.is_moving:
                for part in o.parts:
                    first, low, high = frontier(part) if o.is_active else (-1, 0, 0)
                    moving.append((
                        slot, part.source, place_of(part), part.apart, part.width, part.step, int(o.is_needed),
                        int(o.is_active), first, low, high, at(o.adjoint), part.low, part.high, int(o.is_direct),
                        o.adjoint.apart if o.adjoint else 0,
                        adjoint_place(part.place) if part.source == IN_CELLS else part.place,
                    ))  # fmt: skip
            else:
                (part,) = o.parts
                fixed.append((slot, part.source, part.place, part.width, part.step, int(o.is_active), at(o.adjoint)))
        ends = {first + count - 1: (number, count) for first, (number, count) in self.groups_back.items()}
        for k, m in enumerate(self.members):
            integers, places = self.shapes[k]
            rest, _ = m.write_shape(self.units % self.block, locate)
            full = shape([*integers, *(place.memory for place in places), *rest[1:3]])
            for n, place in zip(PLACES, places, strict=True):
                if place.apart and place.memory != NOWHERE and not self.is_kept:
                    steps.append((BASES + SHAPE * k + n, place.apart))
            cleared = [n for slot, width in m.cleared for n in (at(slot), width * self.block)]
            z = locate(m.value, False)
            members.append((
                m.code, full, m.row, int(m.is_needed), m.purpose, int(m.is_guard), z.at, z.apart, m.width,
                int(m.is_sum), *(*cleared, 0, 0, 0, 0)[:4], *self.groups.get(k, (0, 0)), *ends.get(k, (0, 0)),
            ))  # fmt: skip
            if m.is_sum:
                totals.append((z.at, m.first, m.width))
            elif m.is_stored and is_read(m.first, m.first + m.n):
                outputs.append((adjoint_place(m.first), m.width))
        head = [self.units, self.block, int(self.is_kept), bound]
        for entries in (fixed, _join_targets(moving), outputs, totals, members):
            place_of_entries = shape(n for entry in entries for n in (*entry, *(0,) * (ENTRY - len(entry))))
            head += [place_of_entries, len(entries)]
        fills = [
            (value_place(f.place), f.part.source, place_of(f.part), f.part.apart, f.part.width, f.part.step,
             f.part.high - f.part.low)
            for f in self.fills
        ]  # fmt: skip
        for pairs in (steps, fills):
            head += [shape(n for entry in pairs for n in entry), len(pairs)]
        return shape(head)


def _join_targets(moving: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Parts of operands by the range in which their adjoints begin, at most three to a group, and the group's size."""
    by_frontier: dict[int, list[tuple[int, ...]]] = {}
    for number, e in enumerate(moving):
        is_joined = e[8] >= 0 and e[11] >= 0 and not e[14] and e[13] - e[12] > 1
        by_frontier.setdefault(e[8] if is_joined else -1 - number, []).append(e)
    found = []
    for parts in by_frontier.values():
        count = min(len(parts), 3)
        found += [(*parts[0], count), *((*e, 0) for e in parts[1:])]
    return found


def meets(member: Member, part: OperandPart) -> bool:
    """Whether a part of an operand holds results of a member."""
    low, high = part.reach
    return part.source == IN_CELLS and member.first < high and low < member.first + member.n


def _parts_of(runs: Sequence[CellRun], width: int) -> Iterable[OperandPart]:
    """Runs of cells as parts of an operand."""
    low = 0
    for first, step, count in runs:
        high = low + count // width
        yield OperandPart(low, high, IN_CELLS, first, step * width, step, width)
        low = high
