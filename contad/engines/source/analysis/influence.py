"""Influence analysis: which values may change with the inputs, by computation, a branch, a trip count or an index."""

from contad.engines.source.ir import ssa
from contad.engines.source.ir.walks import leaves, walk


class Influence:
    """`value in influence` tells whether inputs influence a value, or any element of an array."""

    def __init__(self, function: ssa.SourceFunction, inputs: list[ssa.Value]) -> None:
        self._found: set[ssa.Value] = set()
        self._add(*inputs)
        size = -1
        while len(self._found) != size:
            size = len(self._found)
            self._block(function.block, controlled=False)

    def __contains__(self, value: ssa.Value) -> bool:
        return value in self._found or not self._found.isdisjoint(value.roots)

    def any(self, values: list[ssa.Value]) -> bool:
        """Whether inputs influence one of these values."""
        return any(x in self for x in values)

    def decides(self, o: ssa.Operation) -> bool:
        """Whether inputs influence which branch is taken, or how often a loop runs."""
        if isinstance(o, ssa.Loop):
            ends = [*([] if o.exit is None else [o.exit]), *(o.inputs if isinstance(o, ssa.For) else [])]
            return self.any([*ends, *([o.condition] if isinstance(o, ssa.While) else [])])
        return isinstance(o, ssa.If) and o.inputs[0] in self

    def _add(self, *values: ssa.Value) -> None:
        for value in values:
            if value.constant is None:
                self._found.update(value.roots or (value,))

    def _block(self, block: ssa.Block, controlled: bool) -> None:
        for o in block.operations:
            decides = self.decides(o)
            for inner in o.blocks:
                self._block(inner, controlled or decides)
            self._operation(o, controlled, decides)

    def _operation(self, o: ssa.Operation, controlled: bool, decides: bool) -> None:
        """Visit an operation; `controlled` says that inputs decide whether it runs."""
        given = self.any(o.inputs)
        if isinstance(o, ssa.If):
            self._add(*(m.result for m in o.merges if decides or self.any([m.then, m.otherwise])))
        elif isinstance(o, ssa.Loop):
            for c in o.carried:
                if decides or self.any([c.initial, c.following, c.inner]):
                    self._add(c.inner, c.result)
            if decides:
                self._add(o.count, *([o.index] if isinstance(o, ssa.For) else []))
        elif isinstance(o, (ssa.Store, ssa.Accumulate)):
            if controlled or self.any(o.inputs[1:]):
                self._add(o.array)
        elif isinstance(o, ssa.MatrixCall):
            if given or controlled:
                self._add(*o.filled, *o.results)
        elif isinstance(o, ssa.Length):
            if any(isinstance(root.operation, ssa.Handed) and root in self for root in o.inputs[0].roots):
                self._add(o.result)
        elif isinstance(o, ssa.Choose):
            if o.inputs[0] in self:
                self._add(o.result)
        elif given:
            self._add(*o.results)


def find_escaping(function: ssa.SourceFunction) -> set[ssa.Loop]:
    """The loops that define a value which is read outside, other than the values that they carry."""
    holders: dict[ssa.Value, list[ssa.Loop]] = {}

    def note(block: ssa.Block, loops: list[ssa.Loop]) -> None:
        for o in block.operations:
            inner = [*loops, o] if isinstance(o, ssa.Loop) else loops
            for value in o.results:
                holders[value] = loops
            if isinstance(o, ssa.Loop):
                for value in (*(c.inner for c in o.carried), *([o.index] if isinstance(o, ssa.For) else [])):
                    holders[value] = inner
            for b in o.blocks:
                note(b, inner)

    note(function.block, [])
    found: set[ssa.Loop] = set()

    def look(block: ssa.Block, loops: list[ssa.Loop]) -> None:
        for o in block.operations:
            inner = [*loops, o] if isinstance(o, ssa.Loop) else loops
            for value in o.reads():  # a loop itself reads the values that its body carries to the next iteration
                found.update(loop for loop in holders.get(value, ()) if loop not in inner)
            for b in o.blocks:
                look(b, inner)

    look(function.block, [])
    for value in leaves(function.returned):
        found.update(holders.get(value, ()))
    return found


def defined_inside(loop: ssa.Loop) -> set[ssa.Value]:
    """All values defined in the body of a loop."""
    inside = [o for block in loop.blocks for o in walk(block)]
    made = {x for o in inside for x in o.results}
    for o in [loop, *(x for x in inside if isinstance(x, ssa.Loop))]:
        made.update(c.inner for c in o.carried)
        if isinstance(o, ssa.For):
            made.add(o.index)
    return made
