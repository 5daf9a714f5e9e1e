"""Finds sums over independent terms: each iteration can be reversed as soon as it has run, so that nothing is stored.

The adjoints of the sums must be known before the loop runs: their partials must read nothing that is computed after
it. Arrays that the loop writes must be *private*: every iteration writes them in full before it reads them.
"""

from typing import Any

from contad.engines.source.analysis.activity import Activity
from contad.engines.source.analysis.shared_callees import raises
from contad.engines.source.ir import ssa
from contad.engines.source.ir.walks import find_written_roots, is_inside, is_within, walk
from contad.engines.source.planning.running_choice import RunningChoice
from contad.engines.source.planning.store_plan import StorePlan, apply_reads


def fuse(
    function: ssa.SourceFunction,
    activity: Activity,
    sums: dict[ssa.Value, ssa.Value],
    choices: dict[ssa.Loop, RunningChoice],
    functions: Any = None,
) -> frozenset[ssa.Loop]:
    """The loops that reverse each iteration at once; moves those of a block together, after independent operations."""
    fuser = _Fuser(function, activity, sums, StorePlan(function, activity, sums, choices=choices, functions=functions))
    fuser.block(function.block)
    return frozenset(fuser.fused)


class _Fuser:
    """Looks for loops whose iterations can each be reversed right after they have run."""

    def __init__(
        self, function: ssa.SourceFunction, activity: Activity, sums: dict[ssa.Value, ssa.Value], plan: StorePlan
    ) -> None:
        self.function, self.activity, self.sums = function, activity, sums
        self.plan = plan  # tells which values the reverse of an operation reads
        self.fused: set[ssa.Loop] = set()

    def block(self, block: ssa.Block) -> None:
        """Find loops of a block that are independent of each other and reversed at once, and such loops in them."""
        counted = [o for o in block.operations if isinstance(o, ssa.For) and o.exit is None]
        candidates = [o for o in counted if self.activity.changes(o)]
        found: set[ssa.For] = set()
        for loop in sorted(candidates, key=lambda o: (-_depth(o), -candidates.index(o))):
            if parts := _divide(block.operations, found | {loop}):
                independent, loops, dependent = parts
                before, block.operations = block.operations, [*independent, *loops, *dependent]
                if self.are_fusible(loops, dependent):
                    found.add(loop)
                else:
                    block.operations = before
        self.fused |= found
        for loop in found:
            self.block(loop.body)

    def are_fusible(self, loops: list[ssa.For], after: list[ssa.Operation]) -> bool:
        """Whether the reverse of loops needs nothing from `after` them, and no adjoint outlives an iteration."""
        plain = (ssa.Apply, ssa.Load, ssa.Length, ssa.Check)
        if any(not isinstance(o, plain) and self.activity.changes(o) for o in after):
            return False
        if reads_late(self.plan, loops, after) and not leads_back(self.plan, loops, after):
            return False
        return all(map(self._is_alone, loops))

    def _is_alone(self, loop: ssa.For) -> bool:
        """Whether no iteration adds to the adjoints of values that another iteration defines."""
        if any(c.inner in self.activity and c.inner not in self.sums for c in loop.carried):
            return False
        for o in walk(loop.body):
            if isinstance(o, (ssa.Store, ssa.Accumulate)):
                for root in o.array.roots:
                    inside = isinstance(root.operation, ssa.Create) and is_inside(root.block, loop)
                    if root in self.activity and not inside and private_length(self.function, root, loop) is None:
                        return False
        return True


def reads_late(plan: StorePlan, loops: list[ssa.For], after: list[ssa.Operation]) -> bool:
    """Whether the reverse of the operations after loops reads anything computed in the loops or after them."""
    late = _late_values(loops, after)
    return any(late & set(plan.reverse_reads(o)) for o in after)


def leads_back(plan: StorePlan, loops: list[ssa.For], after: list[ssa.Operation]) -> bool:
    """Whether `reads_late` is false of the partials on the way back to the results of the loops."""
    late, way = _late_values(loops, after), way_back(plan, loops, after)
    for o in after:
        if isinstance(o, ssa.Apply) and o.result in way:
            if o in plan.pairs or late & set(apply_reads(o, plan.activity, way)):
                return False
    return True


def way_back(plan: StorePlan, loops: list[ssa.For], after: list[ssa.Operation]) -> set[ssa.Value]:
    """The active results of loops, and the active numbers after them that depend on these."""
    found = {value for loop in loops for value in loop.results if value in plan.activity}
    for o in after:
        if isinstance(o, ssa.Apply) and o.result in plan.activity and found & set(o.inputs):
            found.add(o.result)
    return found


def _late_values(loops: list[ssa.For], after: list[ssa.Operation]) -> set[ssa.Value]:
    return {value for o in (*loops, *after) for value in o.results}


def _depth(o: ssa.Operation) -> int:
    return 1 + max((_depth(inner) for block in o.blocks for inner in block.operations), default=0)


def _divide(
    operations: list[ssa.Operation], loops: set[ssa.For]
) -> tuple[list[ssa.Operation], list[ssa.For], list[ssa.Operation]] | None:
    """The operations independent of these loops, the loops, the dependent ones; None if a loop depends on another."""
    independent, found, dependent = list[ssa.Operation](), list[ssa.For](), list[ssa.Operation]()
    results, written, read = set[ssa.Value](), set[ssa.Value](), set[ssa.Value]()
    for o in operations:
        is_late = bool(found) and (raises(o) or _depends(o, results, written, read))
        if o in loops and is_late:
            return None
        if isinstance(o, ssa.For) and o in loops:
            found.append(o)
        elif is_late:
            dependent.append(o)
        else:
            independent.append(o)
            continue
        results |= set(o.results)
        written |= find_written_roots(o)
        read |= _read_roots(o)
    return independent, found, dependent


def _depends(o: ssa.Operation, results: set[ssa.Value], written: set[ssa.Value], read: set[ssa.Value]) -> bool:
    """Whether an operation reads `results`, touches an array in `written`, or writes an array in `read`."""
    reads = {value for inner in (o, *(i for b in o.blocks for i in walk(b))) for value in inner.reads()}
    return bool(reads & results or find_written_roots(o) & (written | read) or _read_roots(o) & written)


def _read_roots(operation: ssa.Operation) -> set[ssa.Value]:
    inside = (operation, *(o for block in operation.blocks for o in walk(block)))
    readers = [o for o in inside if isinstance(o, (ssa.Call, ssa.Load, ssa.Product, ssa.Handed, ssa.MatrixCall))]
    return {root for o in readers for x in o.inputs if x.is_array for root in x.roots}


def private_length(function: ssa.SourceFunction, array: ssa.Value, loop: ssa.Loop) -> ssa.Value | None:
    """The length of an array that is private to a loop; None for any other array."""
    if array.kind.ndim != 1 or not isinstance(array.operation, ssa.Create):
        return None
    users = [o for o in walk(function.block) if any(x.is_array and array in x.roots for x in o.inputs)]
    elements = [o for o in users if isinstance(o, (ssa.Load, ssa.Store, ssa.Accumulate)) and o.array is array]
    if len(elements) < len(users) or not all(is_inside(o.block, loop) for o in users):
        return None
    return _written_first(users, loop)


def _written_first(users: list[ssa.Operation], loop: ssa.Loop) -> ssa.Value | None:
    """The length of an array that each iteration writes in full before any other use; None for any other array."""
    first = next((o for o in loop.body.operations if o in users or any(is_inside(u.block, o) for u in users)), None)
    if not isinstance(first, ssa.For) or first.exit is not None:
        return None
    own = [o for o in first.body.operations if o in users]
    fills = bool(own) and isinstance(own[0], ssa.Store) and own[0].indices[0] is first.index
    if not fills or first.start.constant != 0 or first.step.constant != 1:
        return _written_first(users, first) if all(is_inside(u.block, first) for u in users) else None
    for user in users:
        (index,) = user.indices  # type: ignore[attr-defined]
        if user is not own[0] and is_inside(user.block, first):
            if index is not first.index or (user in own) != (user.block is first.body):
                return None
        # a correct function has an element 0 there
        elif index.constant != 0 and not is_within(index, first.stop):
            return None
    return first.stop
