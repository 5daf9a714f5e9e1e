"""Where the adjoints of a fused loop are, and which kernels write them first."""

from collections import Counter
from collections.abc import Callable, Sequence

from contad.engines.stream.kernels import ADDING, LEAVING, WRITING
from contad.programs.fused_members import IN_CELLS, Layout, Member, Operand, Slots, StripPlace


class AdjointPlaces:
    """The places of adjoints, found from the last member to the first.

    In the reverse sweep an adjoint is live from the last reader of a value to the member that computes the value; then
    its place is free for others. The adjoints of operands in memory stay live to the end of the strip. A member that
    adds passes its own adjoint on, to both operands if they have no other reader: then kernels only read that adjoint.
    """

    def __init__(
        self, members: Sequence[Member], operands: Sequence[Operand], is_read: Callable[[int, int], bool]
    ) -> None:
        self.members = members
        self.slots = Slots()
        self.count = Counter(id(m.operands[k][0]) for m in members for k, _ in m.partials())
        self.holders: dict[StripPlace, int] = {}  # how many values have their live adjoint there
        self.shared: set[StripPlace] = set()
        whole: list[Operand | Member] = [*operands, *members]
        for what in whole:
            what.adjoint = what.preferred = None
        for member in members:
            member.how, member.cleared = [LEAVING, LEAVING], []
            if member.is_sum:
                member.adjoint = StripPlace(IN_CELLS, member.first)
            elif not member.is_guard and is_read(member.first, member.first + member.n):
                member.adjoint = StripPlace(IN_CELLS, member.first, member.width)
        self.direct: set[StripPlace] = set()
        for operand in operands:
            if operand.is_direct:
                self.direct.add(operand.own_place)
                self._prefer(operand, operand.own_place)
            elif operand.is_active and not operand.layout.is_moving:
                operand.adjoint = self.slots.take(operand.layout.width, is_block=False)

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
            what.adjoint = self.slots.take(layout.width)
            member.how[k] = ADDING
            member.cleared.append((what.adjoint, layout.width))
            return
        what.adjoint = self.slots.take(layout.width) if place is None or place in self.holders else place
        self.holders[what.adjoint] = 1
        member.how[k] = WRITING

    def _leave(self, member: Member, own: StripPlace, passed: int) -> None:
        """End the adjoint of a member: only the operands that it is passed on to still use its place."""
        left = self.holders.pop(own, 1) - 1 + passed
        if left:
            self.holders[own] = left
        elif not member.is_sum:
            self.shared.discard(own)
            self.slots.give(own)
