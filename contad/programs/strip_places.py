"""The memory of a strip of a fused loop: where kernels find values and adjoints, and which of them write first."""

from collections import Counter
from collections.abc import Sequence

from contad.engines.stream.kernels import ADDING, LEAVING, WRITING
from contad.programs.fused_loops import (
    IN_CELLS,
    IN_SCRATCH,
    FusedLoop,
    Layout,
    Member,
    Operand,
    StripPlace,
    StripValue,
)
from contad.programs.slots import ALIGNED, Live, Slots

STRIP = 3072  # numbers of scratch memory for the values of a strip, or for its adjoints


def place_strip(fused: FusedLoop) -> None:
    """Choose the strip of a fused loop, and the slots and cells of its values and adjoints."""
    _place_values(fused)
    _place_adjoints(fused)
    strip = max(1, STRIP // max(fused.slots.width, fused.adjoint_slots.width, 1))
    fused.strip = fused.units if strip >= fused.units else strip - (strip % ALIGNED if strip > ALIGNED else 0)
    fused.has_kept = fused.is_kept and any(k.is_needed and k.value.memory == IN_SCRATCH for k in fused.values)


def _place_values(fused: FusedLoop) -> None:
    """Give each value without cells a slot, which is free after its last reader, unless derivatives read the value."""
    last = {id(what): k for k, member in enumerate(fused.members) for what, _ in member.operands}
    given: list[tuple[StripValue, Live]] = []
    for operand in fused.operands.values():
        operand.value = operand.own_place
        if not operand.is_read_in_place:
            given.append((operand, Live(operand.layout.width, -1, None, operand.layout.is_moving)))
    for k, member in enumerate(fused.members):
        if member.is_stored:
            member.value = StripPlace(IN_CELLS, member.first, member.width)
        elif not member.is_guard:
            end = None if member.is_read_back else last.get(id(member))
            given.append((member, Live(member.width, k, end, not member.is_sum)))
    for (what, _), slot in zip(given, fused.slots.scan([live for _, live in given]), strict=True):
        what.value = StripPlace(IN_SCRATCH, slot)


def _place_adjoints(fused: FusedLoop) -> None:
    """Give adjoints places: those of direct operands are their cells, unless the kernels cannot write there."""
    while True:
        fused.adjoint_slots = AdjointPlaces(fused.members, list(fused.operands.values())).find()
        failed = [o for o in fused.operands.values() if o.is_direct and o.adjoint != o.preferred]
        if not failed:
            return
        for operand in failed:
            operand.is_direct = False


class AdjointPlaces:
    """The places of adjoints, found from the last member to the first.

    In the reverse sweep an adjoint is live from the last reader of a value to the member that computes the value; then
    its place is free for others. The adjoints of operands in memory stay live to the end of the strip. A member that
    adds passes its own adjoint on, to both operands if they have no other reader: then kernels only read that adjoint.
    """

    def __init__(self, members: Sequence[Member], operands: Sequence[Operand]) -> None:
        self.members = members
        self.slots = Slots()
        self.count = Counter(id(m.operands[k][0]) for m in members for k, _ in m.partials())
        self.holders: dict[StripPlace, int] = {}  # how many values have their live adjoint there
        self.shared: set[StripPlace] = set()
        values: list[StripValue] = [*operands, *members]
        for what in values:
            what.adjoint = what.preferred = None
        for member in members:
            member.how, member.cleared = [LEAVING, LEAVING], []
            if member.is_sum:
                member.adjoint = StripPlace(IN_CELLS, member.first)
            elif member.is_output:
                member.adjoint = StripPlace(IN_CELLS, member.first, member.width)
        self.direct: set[StripPlace] = set()
        for operand in operands:
            if operand.is_direct:
                self.direct.add(operand.own_place)
                self._prefer(operand, operand.own_place)
            elif operand.is_active and not operand.layout.is_moving:
                operand.adjoint = self._take(operand.layout.width, is_of_strip=False)

    def _take(self, width: int, is_of_strip: bool = True) -> StripPlace:
        return StripPlace(IN_SCRATCH, self.slots.take(width, is_of_strip))

    def _prefer(self, what: Operand | Member, place: StripPlace) -> None:
        """Begin the adjoint of a value at a place, and that of its last reader too if this reader passes its own on."""
        what.preferred = place
        for member in reversed(self.members):
            for k, _ in member.partials():
                if member.operands[k][0] is what:
                    if member.adjoint is None and member.passes_on(k, member.operands[k][1]):
                        self._prefer(member, place)
                    return

    def find(self) -> Slots:
        """Go back through the fused loop; returns how much scratch memory adjoints take."""
        for member in reversed(self.members):
            if member.is_guard or member.adjoint is None:
                continue
            passed = self._find_passed(member, member.adjoint)
            for k, _ in member.partials():
                what, layout = member.operands[k]
                if k in passed:
                    what.adjoint = member.adjoint
                elif what.adjoint is not None:
                    member.how[k] = ADDING
                else:
                    self._begin(member, k, what, layout)
            self._leave(member, member.adjoint, len(passed))
        return self.slots

    def _find_passed(self, member: Member, own: StripPlace) -> list[int]:
        """The operands that get the place of a member's adjoint."""
        found = []
        for k, _ in member.partials():
            what, layout = member.operands[k]
            is_elsewhere = own in self.direct and what.preferred != own and isinstance(what, Operand)
            if what.adjoint is None and member.passes_on(k, layout) and not is_elsewhere:
                found.append(k)
        alone = [k for k in found if self.count[id(member.operands[k][0])] == 1]
        if own in self.shared:
            return alone
        if len(alone) > 1:
            self.shared.add(own)
            return alone
        return sorted(found, key=lambda k: member.operands[k][0].preferred != own)[:1]

    def _begin(self, member: Member, k: int, what: Operand | Member, layout: Layout) -> None:
        """Write or add to an adjoint that no other member has reached before."""
        place = what.preferred
        if layout.inner != 1:
            what.adjoint = self._take(layout.width)
            member.how[k] = ADDING
            member.cleared.append((what.adjoint, layout.width))
            return
        what.adjoint = self._take(layout.width) if place is None or place in self.holders else place
        self.holders[what.adjoint] = 1
        member.how[k] = WRITING

    def _leave(self, member: Member, own: StripPlace, passed: int) -> None:
        """End the adjoint of a member: only the operands that it is passed on to still use its place."""
        left = self.holders.pop(own, 1) - 1 + passed
        if left:
            self.holders[own] = left
        elif not member.is_sum:
            self.shared.discard(own)
            if own.memory == IN_SCRATCH:
                self.slots.give(own.at)
