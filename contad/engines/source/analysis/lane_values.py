"""Finds the values that have lanes: those that differ between the directions or cotangents of one call.

A tangent, and any value computed from a tangent, has a number for each direction. For adjoints in a function with
tangents it is the other way round: the adjoint of a tangent is the same for all directions, other adjoints differ.
Without tangents each adjoint has a lane for each cotangent, and no other value has lanes.
"""

from collections.abc import Iterable, Iterator
from typing import NoReturn

from contad.engines.source.ir import ssa
from contad.engines.source.ir.kink_functions import EXTREME_ON_LINE, PART_OF_TANGENT
from contad.engines.source.ir.known_functions import MASKED_PRODUCT, MULTIPLY
from contad.engines.source.ir.rule_sites import RuleForward, RuleValue
from contad.engines.source.ir.walks import walk
from contad.errors import UnsupportedError


class LaneValues:
    """Tells whether a value has lanes, and whether its adjoint has."""

    def __init__(self, function: ssa.SourceFunction, count: int, given: Iterable[ssa.Value]) -> None:
        """The `given` values have lanes."""
        self.count = count
        self.values = {key for x in given for key in x.roots or (x,)}
        self.has_tangents = bool(self.values)
        # adjoints of tangents differ, too, where a tangent of 0 may mask a partial, and where tangents are multiplied
        # (in third derivatives) or enter a function that is not linear in them
        self.masked = False
        known = -1
        while known != len(self.values):
            known = len(self.values)
            for o in _walk_calls(function):
                self._visit(o)
        for o in _walk_calls(function):
            self._check(function.name, o)

    def __contains__(self, value: ssa.Value) -> bool:
        return any(key in self.values for key in value.roots or (value,))

    def width(self, value: ssa.Value) -> int:
        """The number of lanes of a value."""
        return self.count if value in self else 1

    def bar(self, value: ssa.Value) -> bool:
        """Whether the adjoint of a value has lanes."""
        return not self.has_tangents or self.masked or value not in self

    def _add(self, value: ssa.Value) -> None:
        self.values.update(value.roots or (value,))

    def _visit(self, o: ssa.Operation) -> None:
        """Add the results of an operation that have lanes."""
        pairs: list[tuple[ssa.Value, ssa.Value]] = []
        if isinstance(o, ssa.Apply) and o.result.kind == ssa.FLOAT:
            pairs = [(x, o.result) for x in o.inputs[: 3 if o.function is EXTREME_ON_LINE else None]]  # no parts
            self.masked |= (o.function in (MASKED_PRODUCT, PART_OF_TANGENT) and o.result in self) or self._multiplies(o)
        elif isinstance(o, ssa.Load):
            pairs = [(o.array, o.result)]
        elif isinstance(o, ssa.Store):
            pairs = [(o.stored, o.array)]
        elif isinstance(o, ssa.Accumulate):
            pairs = [(o.added, o.array)]
        elif isinstance(o, ssa.Choose):
            pairs = [(o.result, o.result)]
        elif isinstance(o, ssa.Product):
            pairs = [(x, o.result) for x in o.inputs]
            self.masked |= self._multiplies(o)
        elif isinstance(o, RuleValue):  # only its tangents have lanes, and only if the call computes them
            pairs = [(x, made) for x in o.tangents for made in o.varying[1:]]
        elif isinstance(o, ssa.MatrixCall):
            pairs = [(x, made) for x in o.operands for made in o.varying]
            self.masked |= o.function.lanes == "all" and any(x in self for x in o.operands)
        elif isinstance(o, ssa.If):
            pairs = [(x, m.result) for m in o.merges for x in (m.then, m.otherwise)]
        elif isinstance(o, ssa.Loop):
            pairs = [(x, c.inner) for c in o.carried for x in (c.initial, c.following)]
            pairs += [(c.inner, c.result) for c in o.carried]
        elif isinstance(o, ssa.Call):
            pairs = [*zip(o.inputs, o.callee.parameters, strict=True), *zip(o.callee.outputs, o.results, strict=True)]
        for source, target in pairs:
            if source in self:
                self._add(target)

    def _multiplies(self, o: ssa.Apply | ssa.Product) -> bool:
        """Whether it multiplies two operands that differ: then the adjoint of one has the lanes of the other."""
        return (isinstance(o, ssa.Product) or o.function is MULTIPLY) and all(x in self for x in o.inputs)

    def _check(self, name: str, o: ssa.Operation) -> None:
        """Refuse operations that compute one direction at a time."""
        if isinstance(o, ssa.Apply) and o.result.kind != ssa.FLOAT and any(x in self for x in o.inputs):
            refuse(name, "a condition on a tangent")
        if isinstance(o, RuleForward):
            if any(x in self for x in o.inputs[: len(o.inputs) - len(o.site.moved)]):
                refuse(name, o.site.rule.name)
            return
        if isinstance(o, RuleValue):
            return
        if isinstance(o, ssa.Handed) and any(x in self for x in o.inputs):
            refuse(name, "an expression that Numba computes as it stands")
        if isinstance(o, ssa.MatrixCall):
            taken = {"right": o.operands[1:], "all": o.operands}.get(o.function.lanes, [])
            if any(x in self for x in o.operands if x not in taken):
                refuse(name, o.function.name)

    def enter(self, o: ssa.MatrixCall) -> bool:
        """Whether operands of a call have lanes."""
        return any(x in self for x in o.operands)


def refuse(name: str, what: str) -> NoReturn:
    """Refuse `what` in the function `name`."""
    raise UnsupportedError(f"{name}: {what} is differentiated in one direction at a time; ask for one direction")


def _walk_calls(function: ssa.SourceFunction) -> Iterator[ssa.Operation]:
    """The operations of a function and of its callees."""
    waiting, known = [function], {function}
    while waiting:
        for o in walk(waiting.pop().block):
            yield o
            if isinstance(o, ssa.Call) and o.callee.function not in known:
                known.add(o.callee.function)
                waiting.append(o.callee.function)
