"""Makes the source readable: decides which temporaries are written inside the expression that reads them."""

from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.ssa import (
    INT,
    Accumulate,
    Apply,
    Block,
    Check,
    For,
    Load,
    Operation,
    SourceFunction,
    Store,
    Value,
)
from contad.engines.source.ir.walks import walk
from contad.engines.source.planning.store_plan import StorePlan


def fold(
    function: SourceFunction, plan: StorePlan, readers: dict[Value, list[Operation]], kept: set[Value]
) -> set[Value]:
    """The values that are folded: they have no user name, one reader close to their definition, none in the reverse.

    Loop indices plus a constant are folded, too.
    """
    read_back = {value for operation in walk(function.block) for value in plan.reverse_reads(operation)} | kept
    for values in (*plan.needed.values(), *plan.slots.values(), *plan.recomputed.values()):
        read_back.update(values)
    found = {
        o.result
        for o in walk(function.block)
        if isinstance(o, Apply) and _is_shifted_index(o) and not any(o.result in s for s in plan.slots.values())
    }
    for block in (function.block, *(b for o in walk(function.block) for b in o.blocks)):
        found |= _in_block(block, readers, read_back)
    return found


def _is_shifted_index(o: Apply) -> bool:
    """Whether a value is a loop index plus or minus a constant; it is written out in each reader."""
    if o.function not in (ADD, SUBTRACT) or o.result.hint or o.result.kind != INT:
        return False
    a, b = o.inputs
    return isinstance(a.operation, For) and a is a.operation.index and b.constant is not None


def _in_block(block: Block, readers: dict[Value, list[Operation]], read_back: set[Value]) -> set[Value]:
    """The values of a block that can be folded into the expression that reads them."""
    found: set[Value] = set()
    waiting: dict[Operation, list[Value]] = {}  # by reader: values defined before, with only pure operations since
    for o in block.operations:
        found.update(waiting.get(o, ()))
        if isinstance(o, Check):  # a check reads a number but changes none
            continue
        if not isinstance(o, (Apply, Load)):
            waiting.clear()
        elif not o.result.hint and o.result not in read_back and not (isinstance(o, Load) and o.guard):
            mine = readers.get(o.result, [])
            if (
                len(mine) == 1
                and mine[0].block is block
                and isinstance(mine[0], (Apply, Load, Store, Accumulate, Check))
            ):
                waiting.setdefault(mine[0], []).append(o.result)
    return found
