"""Members of fused loops, their operands, and the places of numbers."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from contad.compiled_rules.rule_source import names_read
from contad.engines.stream.arithmetic_rules import operation_of
from contad.engines.stream.kernels import LEAVING, partial_in_kernel
from contad.engines.stream.record_head import LINEAR
from contad.ops import multiply, square
from contad.programs.codes import ARRAY, COMPARE, IN_FUSED, SCALARS
from contad.rules.scalar_rule import ScalarRule

IN_CELLS, IN_INPUTS, IN_CONSTANTS, NOWHERE = range(4)  # of values; adjoints are in their cells or in the gradient
IN_SCRATCH = 4  # after the cells
ALIGNED = 8  # numbers of a cache line
SHAPE = 14  # integers that a kernel reads
PLACES = (0, 5, 8, 11, 12, 13)  # the positions of z, x and y in it, and of their adjoints
SQUARE = next(code for code, operation in SCALARS.items() if operation == (square, "v"))


def align(n: int) -> int:
    """n rounded up to whole cache lines."""
    return -(-n // ALIGNED) * ALIGNED


class StripPlace(NamedTuple):
    """The place of the numbers of a strip: the memory, the index in it, and the distance from unit to unit.

    In scratch memory the index is the number of a slot.
    """

    memory: int
    at: int
    apart: int = 0


class Slots:
    """Scratch memory for values or adjoints, in slots that are reused: for the units of a strip, or single numbers."""

    def __init__(self) -> None:
        self.widths: list[tuple[int, bool]] = []  # of each slot, and whether that is per unit of a strip
        self.free: dict[int, list[int]] = {}

    def take(self, width: int, is_block: bool = True) -> StripPlace:
        """A slot of this width."""
        if is_block and self.free.get(width):
            return StripPlace(IN_SCRATCH, self.free[width].pop())
        self.widths.append((width, is_block))
        return StripPlace(IN_SCRATCH, len(self.widths) - 1)

    def give(self, place: StripPlace) -> None:
        """Free the slot of a strip for reuse."""
        if place.memory == IN_SCRATCH:
            self.free.setdefault(self.widths[place.at][0], []).append(place.at)

    @property
    def width(self) -> int:
        """Numbers for each unit of a strip."""
        return sum(width for width, is_block in self.widths if is_block)

    def lay_out(self, start: int, block: int) -> int:
        """Give the slots places from `start` on; returns their end."""
        self.places = []
        for width, is_block in self.widths:
            self.places.append(start)
            start = align(start + width * (block if is_block else 1))
        return start


class Layout(NamedTuple):
    """The layout of an operand in memory, and its strides in a strip."""

    is_moving: bool
    apart: int  # elements from unit to unit
    width: int  # numbers of a unit; of the operand, where all units read the same
    step: int
    outer: int
    inner: int


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
    def reach(self) -> tuple[int, int]:
        """The first place and the one after the last."""
        return reach_of(self.place, self.high - self.low, self.width, self.apart, self.step)


class Operand:
    """An operand that a fused loop reads from memory: its places there, and one in scratch memory."""

    def __init__(self, parts: tuple[OperandPart, ...], layout: Layout) -> None:
        self.parts = parts
        self.layout = layout
        self.value = StripPlace(NOWHERE, 0)  # for kernels
        self.adjoint: StripPlace | None = None  # None where nothing reaches it
        self.preferred: StripPlace | None = None  # for its adjoint
        self.is_active = False  # whether it has an adjoint
        self.is_direct = False  # whether kernels write it to the gradient or its cells directly
        self.is_read_back = False  # whether derivatives read its value
        self.is_needed = False  # or recompute from it a value that they read
        self.joined_at: int | None = None  # the place of all parts as one piece, if there is one

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
        if self.joined_at is not None:
            return True
        part = self.parts[0]
        return self.is_contiguous if self.layout.is_moving else part.width == 1 or part.step == 1

    @property
    def own_place(self) -> StripPlace:
        """Its place in memory, if kernels read it in place."""
        if self.joined_at is not None:
            return StripPlace(IN_CELLS, self.joined_at, self.layout.width)
        part = self.parts[0]
        return StripPlace(part.source, part.place, part.apart if self.layout.is_moving else 0)


Key = tuple[tuple[OperandPart, ...], bool]


class Member:
    """A record of a fused loop: its operation, its operands, and its result, which may be a sum over units."""

    def __init__(self, row: int, code: int, first: int, n: int, shape: Sequence[int]) -> None:
        self.row = row
        self.code = code
        self.first = first
        self.n = n
        self.outer, self.inner = shape[1:3]
        self.is_guard = code == COMPARE
        self.rule, self.active = operation_of(code - ARRAY)
        self.shape = shape
        self.value = StripPlace(NOWHERE, 0)
        self.adjoint: StripPlace | None = None
        self.preferred: StripPlace | None = None
        self.how = [LEAVING, LEAVING]  # what its kernel does with the adjoints of x and y
        self.cleared: list[tuple[StripPlace, int]] = []  # slots that it clears before it adds to them, and widths
        self.is_sum = False
        self.width = 0  # of the result: numbers of a unit, or of the sum
        self.is_read_back = False  # whether derivatives read its value
        self.is_output = False  # whether records outside the loop read it
        self.is_stored = False  # whether its value has cells
        self.is_recalled = False  # whether the reverse sweep reads it, stored or recomputed
        self.is_needed = False  # whether it is recomputed
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

    def place_result(self, units: int) -> None:
        """Choose the layout of the result in a strip."""
        if not self.is_guard:
            found = self._result(units)
            assert found is not None
            self.is_sum, self.width, self.z_outer, self.z_inner = found

    def is_read_by(self, part: OperandPart) -> bool:
        """Whether a part of an operand is its result, from first to last."""
        return part.is_contiguous and (part.place, (part.high - part.low) * part.width) == (self.first, self.n)

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
        return is_one and alone and not self.is_sum and self._strides(layout) == (self.z_outer, self.z_inner)

    def write_shape(
        self, units: int, locate: Callable[[StripPlace, bool], StripPlace]
    ) -> tuple[list[int], list[StripPlace]]:
        """The shape that a kernel reads for a strip of `units`, and its `PLACES`, whose memory is known when it runs.

        Three more integers than in other shapes are the places of adjoints.
        """
        outer, inner = self.outer, self.inner
        if outer == 1:
            inner = inner // self._units * units
        else:
            outer = outer // self._units * units
        places = [locate(what.value, False) for what, _ in self.operands]
        strides = [self._strides(layout) for _, layout in self.operands]
        nowhere = StripPlace(NOWHERE, 0)
        if self.is_guard:
            (z, x, y), (of_z, of_x, of_y) = places, strides
            found = [z.at, outer, inner, *of_z, x.at, *of_x, y.at, *of_y, self.shape[11], 1, 1]
            return found, [z, x, y, nowhere, nowhere, nowhere]
        z, (x, y) = locate(self.value, False), [*places, nowhere][:2]
        of_x, of_y = [*strides, (0, 1)][:2]
        strides.append((self.z_outer, self.z_inner))
        if outer > 1 and all(pair in ((inner, 1), (0, 0)) for pair in strides):  # one long axis
            outer, inner = 1, outer * inner
        adjoints = [self.adjoint, *(what.adjoint for what, _ in self.operands), None][:3]
        bars = [nowhere if place is None else locate(place, True) for place in adjoints]
        found = [z.at, outer, inner, self.z_outer, self.z_inner, x.at, *of_x, y.at, *of_y, *(bar.at for bar in bars)]
        return found, [z, x, y, *bars]

    @staticmethod
    def _strides(layout: Layout) -> tuple[int, int]:
        return layout.outer, layout.inner

    def set_units(self, units: int) -> None:
        """Divide the member into `units`."""
        self._units = units
        self.place_result(units)

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
