"""Groups: consecutive members of fused loops that one kernel computes, where programs have many such loops.

A recording contains every step of a simulation. Its loops spend more time on cache traffic than on arithmetic, so the
kernel of a group keeps the values that only its members read in registers. It reads the shapes of all members, which
are contiguous in memory. It computes the same numbers as the members' own kernels, but adds up sums of adjoints in
another order.

`MemberGroup` holds the text of the loop. The name of an operand in it consists of a member and a position in the shape
of that member. Groups with the same text share one kernel.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from contad.compiled_rules.rule_source import names_read
from contad.engines.stream.kernels import LEAVING, WRITING, accumulation_text, add_freely_to, partial_in_kernel
from contad.engines.stream.rule_functions import indent
from contad.engines.stream.storage import CODES
from contad.forks import make_lock
from contad.programs.fused_loops import IN_CELLS, PLACES, SHAPE, FusedLoop, Member, Shapes
from contad.programs.interpreter import value_of_rule

OFTEN = 8  # a kernel is compiled if this many fused loops have the group
LONGEST = 16  # members
MOST_TESTS = 8  # pairs of arrays that a compiler tests for overlap before it vectorises a loop
SIMPLE = frozenset({"add", "divide", "multiply", "negative", "square", "subtract"})
OUTER, INNER = 1, 2  # places in shapes
Z, X, Y, Z_BAR, X_BAR, Y_BAR = PLACES
BARS = (Z_BAR, X_BAR, Y_BAR)
STRIDES = {Z: 4, X: 7, Y: 10, Z_BAR: 4, X_BAR: 7, Y_BAR: 10}

_lock = make_lock()
_numbers: dict[str, int] = {}  # kernel numbers, by text


class MemberGroup(NamedTuple):
    """Consecutive members, and the loop that replaces them."""

    first: int
    size: int
    text: str
    is_backward: bool


Place = tuple[bool, int, int]  # whether it holds adjoints, the memory, and the index there


class _GroupLoop:
    """The text of a loop over elements, and the arrays that the loop reads and writes."""

    def __init__(self, shapes: Shapes, first: int) -> None:
        self.shapes = shapes
        self.first = first
        self.names: dict[tuple[Place, int], str] = {}  # of operands, by place and stride
        self.before: list[str] = []
        self.lines: list[str] = []
        self.after: list[str] = []
        self.known: set[str] = set()  # elements
        self.read: set[Place] = set()  # arrays
        self.written: dict[Place, str] = {}  # arrays, and their names

    def place(self, k: int, at: int) -> Place:
        """The place of the operand of member k, which is at index `at` of its shape."""
        integers, places = self.shapes[k]
        return at in BARS, places[PLACES.index(at)].memory, integers[at]

    def stride(self, k: int, at: int) -> int:
        """The stride from element to element; adjoints have the strides of their values."""
        integers, _ = self.shapes[k]
        return integers[STRIDES[at]]

    def name(self, k: int, at: int) -> str:
        """The name of an operand's element, or of the number that sums up adjoints."""
        stride, place = self.stride(k, at), self.place(k, at)
        name = f"{'cv'[stride]}{len(self.names)}"
        known = self.names.setdefault((place, stride), name)
        if known == name:
            start = f"shapes[{SHAPE * (k - self.first) + at}]"
            if stride:
                self.before.append(f"{name}_all = memory[{start} : {start} + n]")
            elif at not in BARS:
                self.before.append(f"{name} = memory[{start}]")
            else:
                self.before.append(f"{name} = 0.0")
                self.after.append(f"memory[{start}] += {name}")
        return known

    def load(self, k: int, at: int) -> str:
        """The name of an operand's element; the loop reads the element unless it has read or computed it before."""
        name = self.name(k, at)
        if self.stride(k, at) and name not in self.known:
            self.known.add(name)
            self.read.add(self.place(k, at))
            self.lines.append(f"{name} = {name}_all[i]")
        return name

    def store(self, k: int, at: int) -> str:
        """The name of an element that is written."""
        name = self.name(k, at)
        if self.stride(k, at):
            self.known.add(name)
            self.written[self.place(k, at)] = name
        return name

    def is_sound(self) -> bool:
        """Whether the arrays that the loop writes overlap no others, and the compiler can prove it."""
        n = self.shapes[self.first][0][INNER]
        others = [place for place in self.read if place not in self.written]
        pairs = [*itertools.product(self.written, others), *itertools.combinations(self.written, 2)]
        apart = all(a[:2] != b[:2] or abs(a[2] - b[2]) >= n for a, b in pairs)
        return apart and bool(self.lines) and len(pairs) <= MOST_TESTS

    @property
    def text(self) -> str:
        """The whole text."""
        lines = [*self.lines, *(f"{name}_all[i] = {name}" for name in self.written.values())]
        return "\n".join([*self.before, "for i in range(n):", *indent(lines), *self.after])


def find_groups(fused: FusedLoop, shapes: Shapes) -> list[MemberGroup]:
    """The groups in a fused loop, each with several members, forward and backward."""
    members = fused.members
    simple = [_is_simple(m, integers) for m, (integers, _) in zip(members, shapes, strict=True)]
    found: list[MemberGroup] = []
    for is_backward, loop_of in ((False, _forward), (True, _backward)):
        first = 0
        while first < len(members):
            end = first
            while end < min(len(members), first + LONGEST) and simple[end] and (
                shapes[end][0][INNER] == shapes[first][0][INNER] and not (is_backward and members[end].cleared)
            ):  # fmt: skip
                end += 1
            while end > first + 1:
                loop = loop_of(fused, shapes, first, end)
                if loop.is_sound():
                    found.append(MemberGroup(first, end - first, loop.text, is_backward))
                    break
                end -= 1
            first = max(end, first + 1)
    return found


def _is_simple(member: Member, integers: Sequence[int]) -> bool:
    """Whether its result and operands are contiguous, or numbers."""
    if member.is_guard or member.is_sum or member.rule is None or member.rule.name not in SIMPLE:
        return False
    strides = [integers[STRIDES[at]] for at in (X, Y)[: len(member.active)]]
    return integers[OUTER] == integers[STRIDES[Z]] == 1 and all(stride in (0, 1) for stride in strides)


def _forward(fused: FusedLoop, shapes: Shapes, first: int, end: int) -> _GroupLoop:
    """The loop that computes the values of members, and writes those that others read."""
    loop = _GroupLoop(shapes, first)
    own = {id(m): f"z{k}" for k, m in enumerate(fused.members[first:end])}
    elsewhere = {id(what) for m in fused.members[end:] for what, _ in m.operands}
    for k in range(first, end):
        m = fused.members[k]
        assert m.rule is not None
        for name, at, (what, _) in zip("xy", (X, Y), m.operands, strict=False):
            loop.lines.append(f"{name} = {own[id(what)] if id(what) in own else loop.load(k, at)}")
        loop.lines.append(f"{own[id(m)]} = {value_of_rule(m.rule)}")
        if m.is_stored or (m.is_needed and fused.is_kept) or id(m) in elsewhere:
            loop.lines.append(f"{loop.store(k, Z)} = {own[id(m)]}")
    return loop


def _backward(fused: FusedLoop, shapes: Shapes, first: int, end: int) -> _GroupLoop:
    """The loop that computes the adjoints of the members' operands, and writes those that others read or add to."""
    loop = _GroupLoop(shapes, first)
    for k in reversed(range(first, end)):
        m = fused.members[k]
        if m.purpose:
            loop.lines.append(f"d = {loop.load(k, Z_BAR)}")
        for n, kind in enumerate(m.active if m.purpose else ""):
            found = partial_in_kernel(m.rule, n) if kind == "v" and m.how[n] != LEAVING else None
            if found is None:
                continue
            read = names_read([*found[0], found[1]])
            places = [(name, at) for name, at in (("z", Z), ("x", X), ("y", Y)) if name in read]
            loop.lines += [f"{name} = {loop.load(k, at)}" for name, at in places]
            at = (X_BAR, Y_BAR)[n]
            if m.how[n] != WRITING:
                loop.load(k, at)
            target = loop.store(k, at)
            lines = accumulation_text(m.rule, n, found, m.how[n], target)
            loop.lines += lines if loop.stride(k, at) else [add_freely_to(target, line) for line in lines]
    read_later = _read_later(fused, first)
    for at in fused.adjoint_slots.places:
        if at not in read_later:
            loop.written.pop((True, IN_CELLS, at), None)
    return loop


def _read_later(fused: FusedLoop, first: int) -> set[int]:
    """The places of adjoints that the reverse sweep still reads after the members from `first` on."""
    places = [m.adjoint for m in fused.members[:first]] + [o.adjoint for o in fused.operands.values()]
    return {fused.locate(place, True).at for place in places if place is not None}


def choose_groups(fused_loops: Sequence[FusedLoop]) -> None:
    """Give fused loops the groups that many of them share, and give each group the number of its kernel."""
    found = [(fused, group) for fused in fused_loops for group in find_groups(fused, fused.shapes)]
    often = Counter(group.text for _, group in found)
    for fused, group in found:
        number = _number_of(group.text) if often[group.text] >= OFTEN else 0
        if number:
            (fused.groups_back if group.is_backward else fused.groups)[group.first] = number, group.size


def _number_of(text: str) -> int:
    """The number of a kernel, from 1 on; 0 where there are too many."""
    with _lock:
        if text not in _numbers and len(_numbers) + 1 < CODES:
            _numbers[text] = len(_numbers) + 1
        return _numbers.get(text, 0)


def group_text(number: int) -> str:
    """The loop of a kernel."""
    return next(text for text, known in _numbers.items() if known == number)
