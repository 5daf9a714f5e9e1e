"""Loops whose iterations may be reversed in any order: the reverse then runs forwards, which vectorises best."""

from contad.engines.source.analysis.activity import Activity
from contad.engines.source.ir.single_assignment import Accumulate, Create, For, Operation, Store, Value
from contad.engines.source.ir.walks import is_inside, is_natural, walk
from contad.engines.source.planning.store_plan import StorePlan, find_count


def any_order(loop: For, activity: Activity, sums: dict[Value, Value], plan: StorePlan) -> bool:
    """Whether no iteration of the reverse reads what another one has written, or pops what another one has pushed."""
    inside = list(walk(loop.body))
    if loop.exit is not None or any(map(plan.pushes, inside)):
        return False
    again = plan.recomputed.get(loop, set())
    for c in loop.carried:
        if c.inner in activity and c.inner not in sums:
            return False
        if c.inner in again and find_count(loop, c) is None:
            return False
    written = {root for o in inside if isinstance(o, (Store, Accumulate)) for root in o.array.roots}
    return all(_independent(root, loop, inside) for root in written if root in activity)


def _independent(root: Value, loop: For, inside: list[Operation]) -> bool:
    """Whether the iterations touch separate elements of an array that they write, or only add to it."""
    if isinstance(root.operation, Create) and is_inside(root.block, loop):
        return True
    users = [o for o in inside if any(x.is_array and root in x.roots for x in o.inputs)]
    if all(isinstance(o, Accumulate) for o in users):
        return True
    (first, *others) = users
    # indices -1 and n - 1 are one element
    separate = isinstance(first, Store) and loop.index in first.indices and is_natural(loop.index)
    return not others and separate and first.inputs[0] is root
