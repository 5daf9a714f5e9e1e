"""Code sinking in the reverse sweep: if only one branch reads a result, the operation is reversed in that branch.

    t = math.exp(x)                  if test:                            if test:
    if test:                             t_bar = z_bar                       x_bar += z_bar * t
        z = t               not      else:                       but     else:
    else:                                t_bar = 0.0                         x_bar += z_bar
        z = x                            x_bar += z_bar
                                     x_bar += masked_product(t_bar, t)

So no adjoint is computed or masked where it is zero.

Ref: Knoop, Ruething & Steffen (1994), "Partial dead code elimination"; Muchnick (1997), section 18.10.
"""

from collections.abc import Container, Mapping, Sequence

from contad.engines.source.analysis.activity import Activity
from contad.engines.source.analysis.partials import passes
from contad.engines.source.ir.ssa import Apply, Block, If, Operation, SourceFunction, Value
from contad.engines.source.ir.walks import walk
from contad.engines.source.planning.store_plan import StorePlan


def find_sunk(
    function: SourceFunction, plan: StorePlan, readers: Mapping[Value, Sequence[Operation]], kept: Container[Value]
) -> dict[Operation, Block]:
    """Maps each function of numbers that is reversed in a later branch to the block of that branch.

    Values in `kept` get adjoints from elsewhere, too.
    """
    found: dict[Operation, Block] = {}
    for block in (function.block, *(b for o in walk(function.block) for b in o.blocks)):  # outermost first
        for o in reversed(block.operations):
            if isinstance(o, Apply) and o.result in plan.activity and o.result not in kept:
                mine = [x for x in readers.get(o.result, ()) if _hands_on(x, o.result, plan.activity)]
                places = {found[x] if x in found else _find_branch(x, o.result, block) for x in mine}
                own = places.pop() if len(places) == 1 else None
                if own and own.parent and plan.activity.changes(own.parent) and own.parent not in plan.choosing:
                    found[o] = own
    return found


def _hands_on(reader: Operation, value: Value, activity: Activity) -> bool:
    """Whether a reader may add to the adjoint of a value."""
    return not isinstance(reader, Apply) or (reader.result in activity and value in passes(reader))


def _find_branch(reader: Operation, value: Value, block: Block) -> Block | None:
    """The block of a branch in `block` that contains the reader, or hands the value on; None if there is none."""
    if isinstance(reader, If) and reader.block is block:
        sides = {k for m in reader.merges for k, x in enumerate((m.then, m.otherwise)) if x is value}
        return reader.blocks[sides.pop()] if len(sides) == 1 else None
    inside = reader.block
    while inside is not None and inside.parent is not None:
        if inside.parent.block is block:
            return inside if isinstance(inside.parent, If) else None
        inside = inside.parent.block
    return None
