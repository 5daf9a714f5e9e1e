"""Checkpointed loops: a loop becomes a loop over segments, and the reverse sweep keeps the state at the start of each.

    for t in range(start, stop, step):          for segment in ...:                     (keeps the carried values)
        ...                              ->         for t in range(first, last, step):
                                                        ...

The values that a segment stores live until it is reversed. The reverse sweep also needs the old contents of the arrays
that a segment writes. If each iteration writes the row of its index, or a row at a fixed distance from it, the old rows
of the segment are kept. If iterations read only rows behind those that they write, nothing is kept. Otherwise the
whole array is kept.
"""

from collections.abc import Iterator

from contad.engines.source.ir import ssa
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.rule_sites import RuleForward
from contad.engines.source.ir.walks import around, find_written_roots, is_inside, is_natural, walk
from contad.engines.source.planning.store_plan import StorePlan


class KeptArray:
    """An array that the reverse sweep keeps: along an axis the rows of a segment's iterations, or the whole array.

    An array that the loop only reads, but that is written later, is kept `once`, before the loop.
    """

    def __init__(self, array: ssa.Value, axis: int = -1, offsets: tuple[int, int] = (0, 0), once: bool = False) -> None:
        self.array, self.axis, self.once = array, axis, once
        self.least, self.most = offsets  # the rows of an iteration are at its index plus these


def mark_loops(function: ssa.SourceFunction) -> None:
    """Mark every outermost counted loop as checkpointed."""
    for o in walk(function.block):
        if isinstance(o, ssa.For) and not any(isinstance(holder, ssa.Loop) for holder in around(o.block)):
            o.checkpointed = True


def split_into_segments(function: ssa.SourceFunction, plan: StorePlan) -> list[ssa.Segments]:
    """Divide the marked loops that have a reverse and that, by the current store plan, store something."""
    marked = [o for o in walk(function.block) if isinstance(o, ssa.For) and o.checkpointed and o not in plan.fused]
    copied = {loop for copy in plan.copies_in_use() for loop in copy.around}
    storing = [o for o in marked if plan.activity.changes(o) and (plan.pushes(o) or o in copied)]
    return [_split(function, o) for o in storing if not why_not(o)]


def why_not(loop: ssa.For) -> str:
    """Why a loop cannot be run again, in words; empty if it can."""
    if any(isinstance(holder, ssa.Loop) for holder in around(loop.block)):
        return "it is inside another loop"
    if any(isinstance(o, ssa.Handed) and not isinstance(o, RuleForward) for o in walk(loop.body)):
        return "something in it might not come out the same when it runs again"
    return ""


def _split(function: ssa.SourceFunction, loop: ssa.For) -> ssa.Segments:
    """Replace a loop by a loop over its segments."""
    block, body = loop.block, ssa.Block()
    assert block is not None
    segments = ssa.Segments(loop.inputs, body, None, [])
    segments.file, segments.line = loop.file, loop.line
    carried = []
    for c in loop.carried:
        inner, following = ssa.Value(c.inner.kind, c.inner.hint), ssa.Value(c.inner.kind, c.inner.hint)
        inner.roots, following.roots = (), ()
        carried.append(ssa.Carried(c.initial, inner, following, c.result))
        c.initial, c.result = inner, following
    if loop.exit is not None:
        inner, result = ssa.Value(ssa.BOOL, "ended"), ssa.Value(ssa.BOOL, "ended")
        loop.carried.append(ssa.Carried(constant(False), inner, loop.exit, result))
        segments.exit = result
    loop.carry(loop.carried)
    loop.inputs = [segments.first, segments.last, loop.step]
    position = block.operations.index(loop)
    block.operations[position] = segments
    segments.block = block
    body.append(loop)
    segments.carry(carried)
    segments.count.operation, segments.count.block = segments, block
    segments.kept = _find_kept(function, segments, loop)
    return segments


# ---- arrays ----------------------------------------------------------------------------------------------------------
def _find_kept(function: ssa.SourceFunction, segments: ssa.Segments, loop: ssa.For) -> list[KeptArray]:
    """The arrays that would differ when a segment runs again, and the parts of them that are kept."""
    written = {root for root in find_written_roots(loop) if not is_inside(root.block, loop)}
    others = _find_read_roots(loop) - written
    late = {root for o in _run_later(segments) for root in find_written_roots(o)}
    ways = {root: KeptArray(root) if root in late else _keep(root, loop) for root in written}
    kept = [way for way in ways.values() if way is not None]
    kept += [KeptArray(root, once=True) for root in others & late]
    return sorted(kept, key=lambda k: k.array.hint)


def _find_read_roots(loop: ssa.For) -> set[ssa.Value]:
    inside = walk(loop.body)
    return {
        root for o in inside for x in o.reads() if x.is_array for root in x.roots if not is_inside(root.block, loop)
    }


def _run_later(o: ssa.Operation) -> Iterator[ssa.Operation]:
    """The operations that may run after an operation outside loops, and before its reverse."""
    while o.block is not None:
        operations = o.block.operations
        yield from operations[operations.index(o) + 1 :]
        if o.block.parent is None:
            return
        o = o.block.parent


def _keep(root: ssa.Value, loop: ssa.For) -> KeptArray | None:
    """The part to keep of an array that a loop writes; None if iterations that run again read the same elements."""
    users = [o for o in walk(loop.body) if any(x.is_array and root in x.roots for x in o.inputs)]
    writes = [o for o in users if isinstance(o, (ssa.Store, ssa.Accumulate))]
    if not loop.step.constant or any(
        isinstance(o, ssa.MatrixCall) and any(root in x.roots for x in o.filled) for o in users
    ):
        return KeptArray(root)
    for axis in range(root.kind.ndim):
        found = [_row(o, root, axis, loop) for o in writes]
        rows = [row for row in found if row is not None]
        if len(rows) < len(found):
            continue
        least, most = min(rows), max(rows)
        others = [o for o in users if o not in writes and not isinstance(o, ssa.Length)]
        others = [o for o in others if not (isinstance(o, ssa.View) and _view_row(o, root, axis, loop) is not None)]
        sign, last = (1, least) if (loop.step.constant or 0) > 0 else (-1, -most)
        behind = [row is not None and sign * row < last for row in (_row(o, root, axis, loop) for o in others)]
        again = all(isinstance(o, ssa.Store) for o in writes) and all(behind)
        return None if again else KeptArray(root, axis, (least, most))
    return KeptArray(root)


def _row(o: ssa.Operation, root: ssa.Value, axis: int, loop: ssa.For) -> int | None:
    """The offset of an accessed element from the index of the loop, along an axis; None if unknown."""
    if not isinstance(o, (ssa.Load, ssa.Store, ssa.Accumulate)):
        return None
    if o.array is root:
        return _offset(o.indices[axis], loop)
    view = o.array.operation
    return _view_row(view, root, axis, loop) if isinstance(view, ssa.View) else None


def _view_row(view: ssa.View, root: ssa.Value, axis: int, loop: ssa.For) -> int | None:
    """`_row` for a view of the array itself."""
    if view.inputs[0] is not root or not view.spec or axis >= len(view.spec):
        return None
    if any(part is None or isinstance(part, str) for part in view.spec[: axis + 1]):
        return None
    part = view.spec[axis]
    return None if isinstance(part, tuple) else _offset(view.inputs[part], loop)


def _offset(value: ssa.Value, loop: ssa.For) -> int | None:
    """The c in a value i + c, where i is the index of the loop; None for other values, or if i + c may be negative."""
    if not is_natural(value):
        return None
    o, added = value.operation, constant(0)
    if isinstance(o, ssa.Apply) and o.function in (ADD, SUBTRACT):
        value, added = o.inputs
        if o.function is ADD and value.constant is not None:
            value, added = added, value
    if value is not loop.index or added.constant is None:
        return None
    return int(-added.constant if isinstance(o, ssa.Apply) and o.function is SUBTRACT else added.constant)
