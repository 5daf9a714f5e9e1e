"""The model of fused loops: consecutive records of arrays that the interpreter runs together, strip by strip.

Elementwise operations, and sums over whole arrays, rows or columns, run along an axis of the same length: n numbers, or
rows of matrices, the *units* of a fused loop. For each strip of units the interpreter calls the kernels of all members.
A kernel reads an operand in place, or from a copy in scratch memory. Results that only members read are written to
scratch memory: they have no cells, stay in the first level cache, and are recomputed in the reverse sweep. Results that
are expensive to compute, or that others read, have cells as well.

`contad.programs.fusion` fills the loops with members, `contad.programs.allocation` gives their values and adjoints
places, and `contad.programs.fused_loop_source` writes them for the interpreter.
"""

import functools
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

from contad.compiled_rules.rule_source import names_read
from contad.engines.stream.arithmetic_rules import operation_of
from contad.engines.stream.kernels import LEAVING, partial_in_kernel
from contad.engines.stream.storage import LINEAR
from contad.ops import multiply, square
from contad.programs.cell_ranges import LONG, CellRun, CopiedCells, Range
from contad.programs.codes import ARRAY, COMPARE, IN_FUSED, SCALARS
from contad.programs.slots import Slots
from contad.rules.scalar_rule import ScalarRule

IN_CELLS, IN_INPUTS, IN_CONSTANTS, NOWHERE = range(4)  # of values; adjoints are in their cells or in the gradient
IN_SCRATCH = 4  # after the cells
MOST_MEMBERS = 64
COSTLY = frozenset({"exp", "log", "sin", "cos", "tan", "tanh", "expm1", "log1p", "power"})  # to recompute
SHAPE = 14  # integers that a kernel reads
PLACES = (0, 5, 8, 11, 12, 13)  # the positions of z, x and y in it, and of their adjoints
SQUARE = next(code for code, operation in SCALARS.items() if operation == (square, "v"))


class StripPlace(NamedTuple):
    """The place of the numbers of a strip: the memory, the index in it, and the distance from unit to unit.

    The index is a cell of the trace, or in scratch memory the number of a slot.
    """

    memory: int
    at: int
    apart: int = 0
    beside: int = 0  # numbers from there on: room that cells have before and after them


NO_PLACE = StripPlace(NOWHERE, 0)
Locate = Callable[[StripPlace, bool], StripPlace]  # resolves a place, of an adjoint or of a value
Shapes = list[tuple[list[int], list[StripPlace]]]  # the integers that kernels read, and `PLACES`


# ---- operands --------------------------------------------------------------------------------------------------------
class Layout(NamedTuple):
    """The layout of an operand in memory, and its strides in a strip."""

    is_moving: bool
    apart: int  # elements from unit to unit
    width: int  # numbers of a unit; of the operand, where all units read the same
    step: int
    outer: int
    inner: int

    @property
    def strides(self) -> tuple[int, int]:
        """The strides on the two axes of a kernel."""
        return self.outer, self.inner


def layout_of(outer: int, inner: int, apart: int, step: int, units: int) -> Layout | None:
    """The layout of an operand with these strides, in an operation divided into `units`; None where a unit needs two.

    A unit has several rows where there are more rows than units.
    """
    if not apart * (outer > 1) and not step * (inner > 1):
        return Layout(False, 0, 1, 0, 0, 0)
    if outer == 1:
        width = inner // units
        return Layout(True, step * width, width, step, 0, 1)
    if not apart:
        return Layout(False, 0, inner, step, 0, 1)
    rows = outer // units
    if not step or inner == 1:
        return Layout(True, rows * apart, rows, apart if rows > 1 else 1, 1, 0)
    if rows > 1 and apart != inner * step:
        return None
    return Layout(True, rows * apart, rows * inner, step, inner, 1)


def reach_of(start: int, outer: int, inner: int, apart: int, step: int) -> tuple[int, int]:
    """The first place and the one after the last of an operand on two axes."""
    ends = (0, apart * (outer - 1)), (0, step * (inner - 1))
    return start + sum(map(min, ends)), start + sum(map(max, ends)) + 1


class OperandPart(NamedTuple):
    """Units of an operand with one step between them: the first, the one after the last, and their place."""

    low: int
    high: int
    source: int
    place: int
    apart: int  # as in `Layout`
    step: int
    width: int

    @property
    def is_contiguous(self) -> bool:
        """Whether its units lie one after the other."""
        return self.apart == self.width and (self.step == 1 or self.width == 1)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return (self.high - self.low) * self.width

    @property
    def reach(self) -> tuple[int, int]:
        """The first place and the one after the last."""
        return reach_of(self.place, self.high - self.low, self.width, self.apart, self.step)


class StripValue:
    """A value of a fused loop, an operand or the result of a member: where kernels find it and its adjoint."""

    def __init__(self) -> None:
        self.value = NO_PLACE
        self.adjoint: StripPlace | None = None  # None where nothing reaches it
        self.preferred: StripPlace | None = None  # for its adjoint
        self.is_read_back = False  # whether derivatives read its value
        self.is_needed = False  # whether they read it, or recompute from it a value that they read


class Operand(StripValue):
    """An operand that a fused loop reads from memory: its places there, and one in scratch memory."""

    def __init__(self, parts: tuple[OperandPart, ...], layout: Layout) -> None:
        super().__init__()
        self.parts = parts
        self.layout = layout
        self.is_active = False  # whether it has an adjoint
        self.is_direct = False  # whether kernels write its adjoint to the gradient or its cells directly
        self.joined: StripPlace | None = None  # the place of all parts as one piece, if there is one

    @property
    def key(self) -> "Key":
        """The key of the operand: two operations may read the same one."""
        return self.parts, self.layout.is_moving

    @property
    def is_contiguous(self) -> bool:
        """Whether all units lie one after the other."""
        return self.layout.is_moving and len(self.parts) == 1 and self.parts[0].is_contiguous

    @property
    def is_read_in_place(self) -> bool:
        """Whether kernels read it in place."""
        if self.joined is not None:
            return True
        part = self.parts[0]
        return self.is_contiguous if self.layout.is_moving else part.width == 1 or part.step == 1

    @property
    def own_place(self) -> StripPlace:
        """Its place in memory, if kernels read it in place."""
        if self.joined is not None:
            return self.joined
        part = self.parts[0]
        return StripPlace(part.source, part.place, part.apart if self.layout.is_moving else 0)


Key = tuple[tuple[OperandPart, ...], bool]


class Member(StripValue):
    """A record of a fused loop: its operation, its operands, and its result, which may be a sum over units."""

    def __init__(self, row: int, code: int, first: int, n: int, shape: Sequence[int]) -> None:
        super().__init__()
        self.row = row
        self.code = code
        self.first = first
        self.n = n
        self.end = first + n
        self.outer, self.inner = shape[1:3]
        self.is_guard = code == COMPARE
        self.rule, self.active = operation_of(code - ARRAY)
        self.shape = shape
        self.how = [LEAVING, LEAVING]  # what its kernel does with the adjoints of x and y
        self.cleared: list[tuple[StripPlace, int]] = []  # slots that it clears before it adds to them, and widths
        self.is_sum = False
        self.width = 0  # of the result: numbers of a unit, or of the sum
        self.is_output = False  # whether records outside the loop read it
        self.is_stored = False  # whether its value has cells; then `is_needed` is false, for it is not recomputed
        self.is_recalled = False  # whether the reverse sweep reads it, stored or recomputed
        self.operands: list[tuple[Operand | Member, Layout]] = []

    @property
    def size(self) -> int:
        """How many times the operation is performed."""
        return self.outer * self.inner

    def strided_operands(self) -> list[tuple[int, int, int, int]]:
        """(source, start, stride, stride) of each operand; the outcomes of a guard are constants."""
        s = self.shape
        if self.is_guard:
            x, y = (IN_CELLS if k else IN_CONSTANTS for k in s[12:14])
            return [(IN_CONSTANTS, s[0], s[3], s[4]), (x, s[5], s[6], s[7]), (y, s[8], s[9], s[10])]
        kinds = tuple(IN_CELLS if kind == "v" else IN_CONSTANTS for kind in self.active)
        return [(kind, s[5 + 3 * k], s[6 + 3 * k], s[7 + 3 * k]) for k, kind in enumerate(kinds)]

    def reach(self) -> tuple[list[Range], bool]:
        """The cells that it reads, and whether no others share the cells that it writes."""
        if not self.size:
            return [], True

        def reach(start: int, apart: int, step: int) -> Range:
            return reach_of(start, self.outer, self.inner, apart, step)

        found = [reach(*at) for source, *at in self.strided_operands() if source == IN_CELLS]
        if self.is_guard:
            return found, True
        low, high = reach(self.shape[0], *self.shape[3:5])
        own = low >= self.first and high <= self.end
        return (found, True) if own else ([*found, (low, high)], False)

    def divides(self, units: int) -> bool:
        """Whether `units` divide the operation and its result."""
        if self.outer == 1:
            if self.inner % units:
                return False
        elif self.outer % units:
            return False
        return self.is_guard or self._result(units) is not None

    def _result(self, units: int) -> tuple[bool, int, int, int] | None:
        """(whether the result is a sum over units, its width, its strides in a strip); None for other results."""
        z, outer, inner, apart, step = self.shape[:5]
        if z != self.first:
            return None
        if outer == 1:
            apart = 0
        if inner == 1 and outer > 1:
            step = 1 if apart == 1 else 0
        is_linear = self.rule in (None, multiply)
        rows = outer // units  # of each unit
        found = None
        if outer == 1 and step == 1:
            found = False, inner // units, 0, 1
        elif outer == 1 and step == 0 and (inner > 1 or units == 1):
            found = True, 1, 0, 0
        elif outer > 1 and (apart, step) == (inner, 1):
            found = False, rows * inner, inner, 1
        elif outer > 1 and (apart, step) == (1, 0):
            found = False, rows, 1, 0
        elif outer > 1 and (apart, step) == (0, 1) and inner > 1:
            found = True, inner, 0, 1
        elif outer > 1 and (apart, step) == (0, 0):
            found = True, 1, 0, 0
        if found is None or self.n != (found[1] if found[0] else found[1] * units):
            return None
        elementwise = not found[0] and found[1] * units == outer * inner
        return found if elementwise or is_linear else None

    def set_units(self, units: int) -> None:
        """Divide the member into `units`, and choose the layout of its result in a strip."""
        self._units = units
        if not self.is_guard:
            found = self._result(units)
            assert found is not None
            self.is_sum, self.width, self.z_outer, self.z_inner = found

    def meets(self, part: OperandPart) -> bool:
        """Whether a part of an operand holds any of its results."""
        low, high = part.reach
        return not self.is_guard and part.source == IN_CELLS and self.first < high and low < self.end

    def is_read_by(self, part: OperandPart) -> bool:
        """Whether a part of an operand is its result, from first to last."""
        return part.is_contiguous and (part.place, part.size) == (self.first, self.n)

    def holds(self, part: OperandPart) -> bool:
        """Whether a part of an operand has no other cells than its results."""
        low, high = part.reach
        return self.first <= low and high <= self.end

    def partials(self) -> Iterable[tuple[int, frozenset[str]]]:
        """The operands that pass an adjoint on, and the names that their partials read."""
        if self.is_guard:
            return
        for k, kind in enumerate(self.active):
            read = _names_in_partial(self.rule, k) if kind == "v" else None
            if read is not None:
                yield k, read

    @property
    def purpose(self) -> int:
        """The purpose of its adjoint kernel; 0 where it needs no kernel."""
        x, y = self.how
        return IN_FUSED + x + 3 * y if x or y else 0

    def passes_on(self, k: int, layout: Layout) -> bool:
        """Whether operand k, if it has no other reader, has the same adjoint as the result."""
        alone = self.operands[0][0] is not self.operands[-1][0] or len(self.operands) == 1
        is_one = self.rule is not None and self.rule.body is not None and self.rule.body.literal(k) == 1.0
        return is_one and alone and not self.is_sum and layout.strides == (self.z_outer, self.z_inner)

    def write_shape(self, units: int, locate: Locate) -> tuple[list[int], list[StripPlace]]:
        """The shape that a kernel reads for a strip of `units`, and its `PLACES`, whose memory is known when it runs.

        Three more integers than in other shapes are the places of adjoints.
        """
        outer, inner = self.outer, self.inner
        if outer == 1:
            inner = inner // self._units * units
        else:
            outer = outer // self._units * units
        places = [locate(what.value, False) for what, _ in self.operands]
        strides = [layout.strides for _, layout in self.operands]
        if self.is_guard:
            (z, x, y), (of_z, of_x, of_y) = places, strides
            found = [z.at, outer, inner, *of_z, x.at, *of_x, y.at, *of_y, self.shape[11], 1, 1]
            return found, [z, x, y, NO_PLACE, NO_PLACE, NO_PLACE]
        z, (x, y) = locate(self.value, False), [*places, NO_PLACE][:2]
        of_x, of_y = [*strides, (0, 1)][:2]
        strides.append((self.z_outer, self.z_inner))
        if outer > 1 and all(pair in ((inner, 1), (0, 0)) for pair in strides):  # one long axis
            outer, inner = 1, outer * inner
        adjoints = [self.adjoint, *(what.adjoint for what, _ in self.operands), None][:3]
        bars = [NO_PLACE if place is None else locate(place, True) for place in adjoints]
        found = [z.at, outer, inner, self.z_outer, self.z_inner, x.at, *of_x, y.at, *of_y, *(bar.at for bar in bars)]
        return found, [z, x, y, *bars]

    def find_square(self) -> None:
        """Become a square if both factors are the same: the kernel then reads one operand and writes one adjoint."""
        is_product = self.rule is multiply and self.active == "vv" and not self.is_sum
        if is_product and self.operands[0] == self.operands[1]:
            self.code, self.rule, self.active = ARRAY + SQUARE, square, "v"
            self.operands = self.operands[:1]


@functools.cache  # thousands of members ask several times each, and the answer is parsed from source text
def _names_in_partial(rule: ScalarRule | None, k: int) -> frozenset[str] | None:
    """The names among z, x and y that partial k reads; None where it is zero."""
    found = partial_in_kernel(rule, k)
    return None if found is None else frozenset(names_read([*found[0], found[1]]) & set("zxy"))


def can_be_member(code: int) -> bool:
    """Whether fused loops take array records with this code."""
    return code == COMPARE or code == ARRAY + LINEAR or code - ARRAY in SCALARS


# ---- loops -----------------------------------------------------------------------------------------------------------
class Fill(NamedTuple):
    """A part of an operand that is copied to the free memory beside a result."""

    place: StripPlace
    part: OperandPart


class FusedLoop:
    """Members and their operands, and the memory that both have in a run."""

    def __init__(self, inputs: int, member: Member, copies: CopiedCells) -> None:
        self.inputs = inputs
        self.copies = copies
        self.units = member.outer if member.outer > 1 else member.inner
        self.members: list[Member] = []
        self.operands: dict[Key, Operand] = {}
        self.fills: list[Fill] = []
        self.groups: dict[int, tuple[int, int]] = {}  # by first member: kernel number, member count
        self.groups_back: dict[int, tuple[int, int]] = {}
        self.strip = self.units  # units that the interpreter takes together
        self.has_kept = False  # whether values in scratch memory stay until the reverse sweep reads them
        self.slots, self.adjoint_slots = Slots(), Slots()
        self.locate: Locate  # resolves slots and cells to indices in memory
        self.shapes: Shapes = []  # that kernels of members read for a strip
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
            met = [m for m in known if any(map(m.meets, parts))]
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
            runs = self.copies.runs(start, apart if width == 1 else step, units * width)
            fits = len(runs) == 1 or len(runs) * LONG <= units
            return tuple(_parts_of(runs, width)) if fits and not any(run.number % width for run in runs) else (whole,)
        (run, *others) = self.copies.runs(low, 1, high - low)
        if others:
            return (whole,)
        place, by = run.first + run.step * (start - low), run.step if run.number > 1 else 1
        return (whole._replace(place=place, apart=apart * by, step=step * by),)

    def _in_inputs(self, part: OperandPart) -> OperandPart:
        """The same part, read from the inputs where possible."""
        is_input = part.source == IN_CELLS and part.is_contiguous and part.reach[1] - 1 <= self.inputs
        return part._replace(source=IN_INPUTS, place=part.place - 1) if is_input else part

    def depends(self, reads: Sequence[Range]) -> bool:
        """Whether any of these ranges of cells holds results of members."""
        return any(low < m.end and m.first < high for m in self.results for low, high in reads)

    @property
    def results(self) -> list[Member]:
        """The members that have results, which are all except guards."""
        return [m for m in self.members if not m.is_guard]

    @property
    def parts(self) -> list[tuple[Operand, OperandPart]]:
        """The parts of all operands."""
        return [(operand, part) for operand in self.operands.values() for part in operand.parts]

    @property
    def is_kept(self) -> bool:
        """Whether one strip has all units, so that values in scratch memory stay as long as those in cells."""
        return self.strip == self.units

    def in_groups(self, is_backward: bool) -> set[int]:
        """The members that groups compute, forward or backward."""
        groups = self.groups_back if is_backward else self.groups
        return {k for first, (_, count) in groups.items() for k in range(first, first + count)}

    @property
    def size(self) -> int:
        """How many operations on numbers the loop performs."""
        return sum(member.size for member in self.members)

    def lay_out(self, start: int) -> int:
        """Give its slots scratch memory from `start` on; returns the end."""
        return max(self.slots.lay_out(start, self.strip), self.adjoint_slots.lay_out(start, self.strip))

    @property
    def values(self) -> list[StripValue]:
        """The operands and members."""
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
        for member in self.results:
            member.is_output = is_read(member.first, member.end)

    def find_needed(self, stored: Container[Member] = ()) -> None:
        """Mark the values that have cells, `stored` among them, and those that are recomputed before the adjoints."""
        for what in self.values:
            what.is_needed = what.is_read_back
        for member in reversed(self.members):
            member.is_recalled = member.is_needed
            is_long = member.rule is not None and member.rule.name in COSTLY and member.is_needed
            member.is_stored = not member.is_sum and (member.is_output or is_long or member in stored)
            member.is_needed = member.is_needed and not member.is_stored
            if member.is_needed:
                for what, _ in member.operands:
                    what.is_needed = True


def _parts_of(runs: Sequence[CellRun], width: int) -> Iterable[OperandPart]:
    """Runs of cells as parts of an operand."""
    low = 0
    for first, step, count in runs:
        high = low + count // width
        yield OperandPart(low, high, IN_CELLS, first, step * width, step, width)
        low = high
