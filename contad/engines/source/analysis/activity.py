"""Activity analysis: a value is active, and has an adjoint, if it depends on an argument and affects the result."""

from collections.abc import Iterator

from contad.engines.source.analysis.partials import passes
from contad.engines.source.ir import ssa
from contad.engines.source.ir.walks import walk


class Activity:
    """`value in activity` tells whether a value has an adjoint. An array has one if any of its roots has one."""

    def __init__(self, function: ssa.SourceFunction, inputs: list[ssa.Value], outputs: list[ssa.Value]) -> None:
        edges = [edge for operation in walk(function.block) for edge in _flow(operation)]
        joined = [o.result.roots for o in walk(function.block) if isinstance(o, ssa.Choose) and _is_float(o.result)]
        varied = self.varied = _closure(_keys(inputs), edges, joined)  # what depends on the inputs
        useful = _closure(_keys(outputs), [(b, a) for a, b in edges], joined)
        self.active = varied & useful

    def __contains__(self, value: ssa.Value) -> bool:
        return value.constant is None and any(key in self.active for key in _keys([value]))

    def changes(self, operation: ssa.Operation) -> bool:
        """Whether an operation has a reverse."""
        if isinstance(operation, (ssa.Store, ssa.Accumulate)):
            return operation.array in self
        if isinstance(operation, ssa.MatrixCall):
            return any(value in self for value in operation.varying)
        if isinstance(operation, ssa.Loop) and any(c.inner in self or c.result in self for c in operation.carried):
            return True
        return any(value in self for value in operation.results) or any(
            self.changes(inner) for block in operation.blocks for inner in block.operations
        )


def _keys(values: list[ssa.Value]) -> list[ssa.Value]:
    return [key for value in values if _is_float(value) for key in (value.roots or (value,))]


def _is_float(value: ssa.Value) -> bool:
    return value.kind.base == "float"


def _flow(operation: ssa.Operation) -> Iterator[tuple[ssa.Value, ssa.Value]]:
    """Pairs (from, to) between which a derivative passes."""
    pairs: list[tuple[ssa.Value, ssa.Value]] = []
    if isinstance(operation, ssa.Apply):
        pairs = [(x, operation.result) for x in passes(operation)]
    elif isinstance(operation, ssa.Load):
        pairs = [(operation.array, operation.result)]
    elif isinstance(operation, ssa.Store):
        pairs = [(operation.stored, operation.array)]
    elif isinstance(operation, ssa.Accumulate):
        pairs = [(operation.added, operation.array)]
    elif isinstance(operation, ssa.Product):
        pairs = [(x, operation.result) for x in operation.inputs]
    elif isinstance(operation, ssa.MatrixCall):
        pairs = [(x, y) for x in operation.operands for y in operation.varying]
    elif isinstance(operation, ssa.Call):
        reached = zip(operation.inputs, operation.callee.reached, strict=True)
        pairs = [(x, operation.results[k]) for x, outputs in reached for k in outputs]
    elif (
        isinstance(operation, ssa.Handed) and not operation.is_flat
    ):  # no derivative may pass; `refuse_lost` checks that
        pairs = [(x, r) for x in operation.inputs for r in operation.results]
    elif isinstance(operation, ssa.If):
        pairs = [(x, m.result) for m in operation.merges for x in (m.then, m.otherwise)]
    elif isinstance(operation, ssa.Loop):
        for c in operation.carried:
            # the result and the carried value share an adjoint, so both are active or neither is
            pairs += [(c.initial, c.inner), (c.following, c.inner), (c.inner, c.result), (c.result, c.inner)]
    for source, target in pairs:
        for a in _keys([source]):
            yield from ((a, b) for b in _keys([target]))


def _closure(
    start: list[ssa.Value], edges: list[tuple[ssa.Value, ssa.Value]], joined: list[tuple[ssa.Value, ...]]
) -> set[ssa.Value]:
    """Everything reachable from the start. Arrays that one name may stand for are in it together, or not at all."""
    onward: dict[ssa.Value, list[ssa.Value]] = {}
    for a, b in edges:
        onward.setdefault(a, []).append(b)
    for roots in joined:
        for a in roots:
            onward.setdefault(a, []).extend(b for b in roots if b is not a)
    reached = set(start)
    waiting = list(start)
    while waiting:
        for b in onward.get(waiting.pop(), ()):
            if b not in reached:
                reached.add(b)
                waiting.append(b)
    return reached


def refuse_lost(function: ssa.SourceFunction, activity: Activity) -> None:
    """Refuse a call that is left to Numba if a derivative would have to pass through it."""
    for o in walk(function.block):
        if isinstance(o, ssa.Handed) and not o.is_flat:
            if any(x in activity for x in o.inputs) and any(r in activity for r in o.results):
                raise o.refusal
