"""Sum reductions in loops: s = s + t. Every partial sum has the adjoint of the total.

So one variable holds the adjoint for all iterations, and an iteration can be reversed before the total is known.
"""

from collections import Counter

from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.ssa import FLOAT, Apply, Carried, If, Loop, Operation, SourceFunction, Value
from contad.engines.source.ir.walks import is_inside, walk


def partial_sums(function: SourceFunction) -> dict[Value, Value]:
    """Maps each partial sum, in any nest of loops and branches, to the total: the result of the outermost loop."""
    readers: dict[Value, list[Operation]] = {}
    for operation in walk(function.block):
        for value in operation.reads():
            readers.setdefault(value, []).append(operation)
    found: dict[Value, Value] = {}
    for loop in walk(function.block):
        if isinstance(loop, Loop):
            for c in loop.carried:
                if c.inner.kind == FLOAT and c.inner not in found:
                    for value in _Sum(loop, c, readers).values or ():
                        found[value] = c.result
    return found


class _Sum:
    """The partial sums from `inner` to `following`, or None if the loop uses them for anything else."""

    def __init__(self, loop: Loop, carried: Carried, readers: dict[Value, list[Operation]]) -> None:
        """Follow the values from `carried.following` back."""
        self.reaching: dict[tuple[Value, Carried], bool] = {}  # the results of `reaches` so far
        self.leading: dict[Value, bool] = {}  # for values already seen: whether they lead to `carried.inner`
        self.values: set[Value] | None = {carried.inner}
        self.links: set[tuple[Value, Operation]] = {(carried.following, loop)}  # (partial sum, its reader)
        if not self.reaches(carried.following, carried, loop) or any(
            (value, reader) not in self.links or times > 1  # a second read: the loop carries it for another name, too
            for value in self.values or ()
            for reader, times in Counter(readers.get(value, ())).items()
        ):
            self.values = None

    def reaches(self, value: Value, c: Carried, loop: Loop) -> bool:
        """Whether a value is `c.inner` plus terms. Notes the partial sums on the way."""
        known = self.reaching.get((value, c))
        if known is None:  # each branch in a sequence doubles the number of paths
            known = self.reaching[value, c] = self._follow(value, c, loop)
        return known

    def _follow(self, value: Value, c: Carried, loop: Loop) -> bool:
        """`reaches` for a value seen for the first time, from the operation that computes it."""
        assert self.values is not None
        o = value.operation
        if value is c.inner:
            return True
        if o is None or not is_inside(value.block, loop):
            return False
        before: list[Value] = []
        if isinstance(o, Apply) and o.function in (ADD, SUBTRACT):
            x = o.inputs[0]
            if o.function is ADD and not self._leads_to(x, c, loop):
                x = o.inputs[1]
            before = [x]
            if o.inputs.count(x) != 1:
                return False
        elif isinstance(o, If):
            before = [x for m in o.merges if m.result is value for x in (m.then, m.otherwise)]
        elif isinstance(o, Loop):
            inner = next((i for i in o.carried if i.result is value), None)
            if inner is None:
                return False
            self.values.add(inner.inner)
            self.links.add((inner.following, o))
            if not self.reaches(inner.following, inner, o):
                return False
            before = [inner.initial]
        if not before or not all(self.reaches(x, c, loop) for x in before):
            return False
        self.values.add(value)
        self.links |= {(x, o) for x in before}
        return True

    def _leads_to(self, value: Value, c: Carried, loop: Loop) -> bool:
        """Whether the sum may continue through a value: a first check, without side effects."""
        known = self.leading.get(value)
        if known is None:
            known = self.leading[value] = self._look(value, c, loop)
        return known

    def _look(self, value: Value, c: Carried, loop: Loop) -> bool:
        """`_leads_to` for a value seen for the first time: whether only sums and branches lead to it from `c.inner`."""
        o = value.operation
        if value is c.inner:
            return True
        if o is None or not is_inside(value.block, loop):
            return False
        before: list[Value] = []
        if isinstance(o, Apply) and o.function in (ADD, SUBTRACT):
            before = o.inputs
        elif isinstance(o, If):
            before = [x for m in o.merges if m.result is value for x in (m.then, m.otherwise)]
        elif isinstance(o, Loop):
            before = [i.initial for i in o.carried if i.result is value]
        return any(self._leads_to(x, c, loop) for x in before)
