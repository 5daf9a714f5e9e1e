"""Running choices, such as a minimum: the result depends only on the iteration that chose its value last.

The loop carries the index of that iteration, and the reverse sweep reverses only that iteration.
"""

from typing import NamedTuple

from contad.engines.source.analysis.activity import Activity
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.known_functions import SELECT
from contad.engines.source.ir.ssa import (
    FLOAT,
    INT,
    Apply,
    Carried,
    For,
    If,
    Loop,
    Operation,
    SourceFunction,
    Value,
)
from contad.engines.source.ir.walks import find_written_roots, is_inside, is_natural, readers_of, walk


class RunningChoice(NamedTuple):
    """A loop whose result is the value that one of its iterations has chosen."""

    operation: Apply | If  # chooses between the value of this iteration and the one before
    following: Value  # the result of the choice
    chosen: Value  # the value of this iteration
    last: Value  # the index of the iteration that chose last; -1 before any has


def choices(function: SourceFunction, activity: Activity) -> dict[Loop, RunningChoice]:
    """The loops that are running choices. From now on they carry the index of the iteration that chose last."""
    readers = readers_of(function)
    found: dict[Loop, RunningChoice] = {}
    for loop in list(walk(function.block)):
        if isinstance(loop, For) and loop.exit is None and is_natural(loop.index):
            active = [c for c in loop.carried if c.inner in activity or c.result in activity]
            if len(active) == 1 and not any(root in activity for root in find_written_roots(loop)):
                choice = _choice(loop, active[0], activity, readers)
                if choice is not None:
                    found[loop] = choice
    return found


def _choice(loop: For, c: Carried, activity: Activity, readers: dict[Value, list[Operation]]) -> RunningChoice | None:
    """The running choice that a loop makes with a carried value; None if it makes none."""
    o = c.following.operation
    if c.following.block is not loop.body:
        return None
    if isinstance(o, Apply) and o.function is SELECT:
        pair = o.inputs[1:]
    elif isinstance(o, If) and not any(activity.changes(inner) for block in o.blocks for inner in block.operations):
        if sum(m.result in activity for m in o.merges) != 1:
            return None
        pair = next([m.then, m.otherwise] for m in o.merges if m.result is c.following)
    else:
        return None
    if pair.count(c.inner) != 1:
        return None
    before = pair.index(c.inner)
    chosen = pair[1 - before]
    for value, own in ((c.inner, o), (c.following, loop)):
        if any(reader is not own and _passes_on(reader) for reader in readers.get(value, ())):
            return None
    if chosen not in activity or not is_inside(chosen.block, loop) or is_inside(chosen.block, o):
        return None
    return RunningChoice(o, c.following, chosen, _remember(loop, o, before))


def _passes_on(reader: Operation) -> bool:
    return not (isinstance(reader, Apply) and reader.result.kind != FLOAT)


def _remember(loop: For, o: Apply | If, before: int) -> Value:
    """Make the loop carry the index of the iteration that chose last; return the final index."""
    inner, following, result = Value(INT), Value(INT), Value(INT, "chosen")
    operands = [inner, loop.index] if before == 0 else [loop.index, inner]
    select = Apply(SELECT, [o.inputs[0], *operands], following)
    select.line = o.line
    loop.body.append(select)
    loop.carry([*loop.carried, Carried(constant(-1), inner, following, result)])
    return result
