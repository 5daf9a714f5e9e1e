"""Chains: consecutive records of arrays that the interpreter runs together, block by block.

Operations by elements, and sums over whole arrays, rows or columns, go along an axis of the same length: n numbers, or
rows of matrices, the *units* of a chain. For each block of units the interpreter copies what the chain reads to scratch
memory, runs the kernels of all members there, and writes what somebody else reads. What only members read never gets
cells: it lives in the first level cache, and going back it is computed anew.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from contad.engines.stream.kernels import ADDING, LEAVING, WRITING, partial_in_kernel
from contad.engines.stream.record_head import LINEAR
from contad.engines.stream.sweep import OPERATIONS
from contad.native.rule_source import names_read
from contad.ops import multiply
from contad.programs.codes import ARRAY, COMPARE, IN_CHAINS
from contad.programs.copied_cells import LONG, Cells, CopiedCells
from contad.rules.scalar_rule import ScalarRule

IN_CELLS, IN_INPUTS, IN_CONSTANTS = range(3)
FEWEST = 1024  # numbers that a chain computes; where there are fewer, cells are in the cache as well
MOST_MEMBERS = 64
BLOCK = 4096  # numbers of scratch memory for the values of a block
ALIGNED = 8  # numbers of a cache line

# ---- what the interpreter reads, places in `shapes` and widths of entries --------------------------------------------
UNITS, BLOCK_UNITS, IS_KEPT, ZERO_AT, ZERO_COUNT = range(5)
FIXED_AT, FIXED, MOVING_AT, MOVING, OUTPUTS_AT, OUTPUTS, SUMS_AT, SUMS, MEMBERS_AT, MEMBERS = range(5, 15)
ENTRY = 15  # integers


class Layout(NamedTuple):
    """How an operand lies in memory, and its strides in a block."""

    is_moving: bool
    apart: int  # elements from unit to unit
    width: int  # numbers of a unit; of all, where it does not move
    step: int
    outer: int
    inner: int


def layout_of(outer: int, inner: int, apart: int, step: int, units: int) -> Layout | None:
    """The layout of an operand with these strides, in an operation that `units` cut; None where a unit has two.

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


class Part(NamedTuple):
    """Units of an operand that lie together: the first, the one after the last, and where they are."""

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
    def reach(self) -> tuple[int, int]:
        """The first place and the one after the last."""
        return reach_of(self.place, self.high - self.low, self.width, self.apart, self.step)


class Operand:
    """What a chain reads from memory: places there, and one in scratch memory."""

    def __init__(self, parts: tuple[Part, ...], layout: Layout) -> None:
        self.parts = parts
        self.layout = layout
        self.slot = 0
        self.adjoint_slot = -1  # in memory of adjoints; -1 where nothing reaches it
        self.is_active = False  # whether it has an adjoint
        self.is_needed = False  # whether derivatives read its value

    @property
    def key(self) -> "Key":
        """What tells it from others: two operations may read the same."""
        return self.parts, self.layout.is_moving


Key = tuple[tuple[Part, ...], bool]


class Member:
    """A record of a chain: its operation, its operands, and its result, which may be a sum over units."""

    def __init__(self, row: int, code: int, first: int, n: int, shape: Sequence[int]) -> None:
        self.row = row
        self.code = code
        self.first = first
        self.n = n
        self.outer, self.inner = shape[1:3]
        self.is_guard = code == COMPARE
        operation: tuple[ScalarRule | None, str] = OPERATIONS.get(code - ARRAY, (None, "vc"))
        self.rule, self.active = operation
        self.shape = shape
        self.slot = 0
        self.adjoint_slot = -1
        self.how = [LEAVING, LEAVING]  # what its kernel does with the adjoints of x and y
        self.cleared: list[tuple[int, int]] = []  # slots that are cleared before it adds to them, and lengths
        self.is_sum = False
        self.width = 0  # of the result: numbers of a unit, or of the sum
        self.is_needed = False
        self.operands: list[tuple[Operand | Member, Layout]] = []

    @property
    def size(self) -> int:
        """How many times the operation is done."""
        return self.outer * self.inner

    def strided_operands(self) -> list[tuple[int, int, int, int]]:
        """(source, start, stride, stride) of what it reads; the outcomes of a guard are constants."""
        s = self.shape
        if self.is_guard:
            x, y = (IN_CELLS if k else IN_CONSTANTS for k in s[12:14])
            return [(IN_CONSTANTS, s[0], s[3], s[4]), (x, s[5], s[6], s[7]), (y, s[8], s[9], s[10])]
        kinds = tuple(IN_CELLS if kind == "v" else IN_CONSTANTS for kind in self.active)
        return [(kind, s[5 + 3 * k], s[6 + 3 * k], s[7 + 3 * k]) for k, kind in enumerate(kinds)]

    def divides(self, units: int) -> bool:
        """Whether units cut the operation and its result."""
        if self.outer == 1:
            if self.inner % units:
                return False
        elif self.outer % units:
            return False
        return self.is_guard or self._result(units) is not None

    def _result(self, units: int) -> tuple[bool, int, int, int] | None:
        """(whether the result is a sum over units, its width, its strides in a block); None for other results."""
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

    def place_result(self, units: int) -> None:
        """Find out how the result lies in a block."""
        if not self.is_guard:
            found = self._result(units)
            assert found is not None
            self.is_sum, self.width, self.z_outer, self.z_inner = found

    def is_read_by(self, part: Part) -> bool:
        """Whether a part of an operand is its result, from first to last."""
        return part.is_contiguous and (part.place, (part.high - part.low) * part.width) == (self.first, self.n)

    def partials(self) -> Iterable[tuple[int, set[str]]]:
        """The operands that pass an adjoint on, and the names that their partials read."""
        if self.is_guard:
            return
        for k, kind in enumerate(self.active):
            found = partial_in_kernel(self.rule, k) if kind == "v" else None
            if found is not None:
                yield k, names_read([*found[0], found[1]]) & set("zxy")

    @property
    def purpose(self) -> int:
        """That of its kernel of adjoints; 0 where it needs none."""
        x, y = self.how
        return IN_CHAINS + x + 3 * y if x or y else 0

    def passes_on(self, k: int, layout: Layout) -> bool:
        """Whether the adjoint of operand k, if it has no other, is that of the result."""
        alone = self.operands[0][0] is not self.operands[-1][0] or len(self.operands) == 1
        is_one = self.rule is not None and self.rule.body is not None and self.rule.body.literal(k) == 1.0
        return is_one and alone and not self.is_sum and self._strides(layout) == (self.z_outer, self.z_inner)

    def write_shape(self, units: int, base: int) -> list[int]:
        """What a kernel reads, for a block of so many units; `base` is where scratch memory begins.

        Three integers more than elsewhere are the places of adjoints.
        """
        outer, inner = self.outer, self.inner
        if outer == 1:
            inner = inner // self._units * units
        else:
            outer = outer // self._units * units
        places = [(base + what.slot, *self._strides(layout)) for what, layout in self.operands]
        if self.is_guard:
            z, x, y = places
            return [z[0], outer, inner, z[1], z[2], *x, *y, self.shape[11], 1, 1]
        places += [(0, 0, 1)] * (2 - len(places))
        found = [base + self.slot, outer, inner, self.z_outer, self.z_inner, *places[0], *places[1]]
        strides = [(self.z_outer, self.z_inner), *(self._strides(layout) for _, layout in self.operands)]
        if outer > 1 and all(pair in ((inner, 1), (0, 0)) for pair in strides):  # one long axis
            found[1:3] = 1, outer * inner
        slots = [self.adjoint_slot, *(what.adjoint_slot for what, _ in self.operands), -1]
        return [*found, *(base + slot for slot in slots[:3])]

    @staticmethod
    def _strides(layout: Layout) -> tuple[int, int]:
        return layout.outer, layout.inner

    def set_units(self, units: int) -> None:
        """Be cut by so many units."""
        self._units = units
        self.place_result(units)


def can_be_member(code: int) -> bool:
    """Whether records of an array are of a kind that chains take."""
    return code == COMPARE or code == ARRAY + LINEAR or code - ARRAY in OPERATIONS


class Chain:
    """Members, what they read and where everything lies in scratch memory."""

    def __init__(self, inputs: int, member: Member, copies: CopiedCells) -> None:
        self.inputs = inputs
        self.copies = copies
        self.units = member.outer if member.outer > 1 else member.inner
        self.members: list[Member] = []
        self.operands: dict[Key, Operand] = {}
        self.is_good = self.add(member)

    def add(self, member: Member) -> bool:
        """Take a member, if the units cut it, or other units would cut all."""
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
                    for m in self.members:  # as they were
                        m.set_units(self.units)
                return False
            member.set_units(units)
            found.append(own)
            known.append(member)
        for member, own in zip(members[len(members) - len(found) :], found, strict=True):
            member.operands = own
        self.units, self.members, self.operands = units, members, operands
        return True

    def _operands(
        self, member: Member, units: int, known: Sequence[Member], operands: dict[Key, Operand]
    ) -> list[tuple[Operand | Member, Layout]] | None:
        """What a member reads: results of others, or operands in memory, which are added; None where it cannot."""
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

    def _locate(self, source: int, start: int, layout: Layout, units: int) -> tuple[Part, ...]:
        """Where an operand lies, copies where they come from."""
        width, apart, step = layout.width, layout.apart, layout.step
        whole = Part(0, units if layout.is_moving else 1, source, start, apart, step, width)
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

    def _in_inputs(self, part: Part) -> Part:
        """The same part, read from the inputs themselves where it can be."""
        is_input = part.source == IN_CELLS and part.is_contiguous and part.reach[1] - 1 <= self.inputs
        return part._replace(source=IN_INPUTS, place=part.place - 1) if is_input else part

    def depends(self, reads: Iterable[tuple[int, int]]) -> bool:
        """Whether any of these ranges of cells has results of members."""
        reads = list(reads)
        return any(
            low < m.first + m.n and m.first < high for m in self.members if not m.is_guard for low, high in reads
        )

    @property
    def size(self) -> int:
        """How many operations on numbers it does."""
        return sum(member.size for member in self.members)

    # ---- before it is written ----------------------------------------------------------------------------------------
    def find_needed(self) -> None:
        """Mark what has adjoints, and whose values derivatives read."""
        for member in reversed(self.members):
            for k, read in member.partials():
                what, _ = member.operands[k]
                if isinstance(what, Operand):
                    what.is_active = True
                for name in read:
                    if name == "z":
                        member.is_needed = True
                    else:
                        member.operands["xy".index(name)][0].is_needed = True
        for member in reversed(self.members):
            if member.is_needed:
                for what, _ in member.operands:
                    what.is_needed = True

    def place(self, start: int, is_read: Callable[[int, int], bool]) -> int:
        """Give everything a place in scratch memory; returns how much it takes."""
        at = start
        moving = [o for o in self.operands.values() if o.layout.is_moving]
        results = [m for m in self.members if not m.is_guard]
        width = sum(o.layout.width for o in moving) + sum(m.width for m in results if not m.is_sum)
        block = max(1, BLOCK // max(width, 1))
        if block >= self.units:
            block = self.units
        elif block > ALIGNED:
            block -= block % ALIGNED
        self.block = block
        self.is_kept = block == self.units
        for operand in self.operands.values():
            if not operand.layout.is_moving:
                operand.slot = at
                at = align(at + operand.layout.width)
        for member in results:
            if member.is_sum:
                member.slot = at
                at = align(at + member.width)
        self._place_adjoints(at, is_read)
        for operand in moving:
            if not operand.is_active:
                operand.slot = at
                at = align(at + operand.layout.width * block)
        self.zero_at = at
        for operand in moving:
            if operand.is_active:
                operand.slot = at
                at = align(at + operand.layout.width * block)
        for member in results:
            if not member.is_sum:
                member.slot = at
                at = align(at + member.width * block)
        self.zero_count = at - self.zero_at
        return at - start

    def _place_adjoints(self, at: int, is_read: Callable[[int, int], bool]) -> None:
        """Give adjoints places from `at` on, and find out which kernels write them first.

        Going back an adjoint begins with what the last reader passes on, and ends with the member whose result it
        belongs to: after that others have its place. Those of operands in memory stay to the end of the block.
        """
        free: dict[int, list[int]] = {}

        def take(width: int) -> int:
            nonlocal at
            size = align(width * self.block)
            if free.get(size):
                return free[size].pop()
            at += size
            return at - size

        for operand in self.operands.values():
            operand.adjoint_slot = -1 if operand.layout.is_moving else operand.slot
        for member in self.members:
            member.how, member.cleared = [LEAVING, LEAVING], []
            member.adjoint_slot = member.slot if member.is_sum else -1
            if not member.is_guard and not member.is_sum and is_read(member.first, member.first + member.n):
                member.adjoint_slot = take(member.width)
        for member in reversed(self.members):
            if member.is_guard or member.adjoint_slot < 0:
                continue
            is_passed_on = False
            for k, _ in member.partials():
                what, layout = member.operands[k]
                if what.adjoint_slot >= 0:
                    member.how[k] = ADDING
                elif not is_passed_on and member.passes_on(k, layout):
                    what.adjoint_slot = member.adjoint_slot
                    is_passed_on = True
                else:
                    what.adjoint_slot = take(layout.width)
                    member.how[k] = WRITING if layout.inner == 1 else ADDING
                    if layout.inner != 1:
                        member.cleared.append((what.adjoint_slot, layout.width * self.block))
            if not is_passed_on and not member.is_sum:
                free.setdefault(align(member.width * self.block), []).append(member.adjoint_slot)

    # ---- as integers -------------------------------------------------------------------------------------------------
    def write(
        self, shape: Callable[[Iterable[int]], int], base: int, is_read: Callable[[int, int], bool],
        frontier: Callable[[Part], tuple[int, int, int]], adjoint_place: Callable[[int], int],
    ) -> int:  # fmt: skip
        """Write the chain to the shapes; returns its place.

        `is_read` says whether anybody else reads cells, `frontier` where adjoints of a part are written first, and
        `adjoint_place` where that of a cell is.
        """
        fixed, moving, outputs, totals, members = [], [], [], [], []
        for o in self.operands.values():
            layout = o.layout
            if layout.is_moving:
                for part in o.parts:
                    first, low, high = frontier(part) if o.is_active else (-1, 0, 0)
                    moving.append((
                        base + o.slot, part.source, part.place, part.apart, part.width, part.step, int(o.is_needed),
                        int(o.is_active), first, low, high, base + o.adjoint_slot if o.adjoint_slot >= 0 else -1,
                        part.low, part.high, adjoint_place(part.place) if part.source == IN_CELLS else part.place,
                    ))  # fmt: skip
            else:
                (part,) = o.parts
                fixed.append((base + o.slot, part.source, part.place, part.width, part.step, int(o.is_active)))
        for m in self.members:
            full = shape(m.write_shape(self.block, base))
            rest = self.units % self.block
            left = shape(m.write_shape(rest, base)) if rest else full
            cleared = [n for slot, count in m.cleared for n in (base + slot, count)]
            members.append((m.code, full, left, m.row, int(m.is_needed), m.purpose, int(m.is_guard), *cleared))
            if m.is_guard:
                continue
            if m.is_sum:
                totals.append((base + m.slot, m.first, m.width))
            elif is_read(m.first, m.first + m.n):
                outputs.append((base + m.slot, m.first, m.width, base + m.adjoint_slot, adjoint_place(m.first)))
        head = [self.units, self.block, int(self.is_kept), base + self.zero_at, self.zero_count]
        for entries in (fixed, moving, outputs, totals, members):
            at = shape(n for entry in entries for n in (*entry, *(0,) * (ENTRY - len(entry))))
            head += [at, len(entries)]
        return shape(head)


def meets(member: Member, part: Part) -> bool:
    """Whether a part of an operand has results of a member."""
    low, high = part.reach
    return part.source == IN_CELLS and member.first < high and low < member.first + member.n


def _parts_of(runs: Sequence[Cells], width: int) -> Iterable[Part]:
    """Runs of cells as parts of an operand."""
    low = 0
    for first, step, count in runs:
        high = low + count // width
        yield Part(low, high, IN_CELLS, first, step * width, step, width)
        low = high


def align(n: int) -> int:
    """n, or the next number that is whole lines of the cache."""
    return -(-n // ALIGNED) * ALIGNED
