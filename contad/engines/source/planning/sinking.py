"""Code sinking in the reverse pass: what hands on to one branch alone is reversed in that branch.

    t = math.exp(x)                  if test:                            if test:
    if test:                             t_bar = z_bar                       x_bar += z_bar * t
        z = t               not      else:                       but     else:
    else:                                t_bar = 0.0                         x_bar += z_bar
        z = x                            x_bar += z_bar
                                     x_bar += chain(t_bar, t)

So no adjoint is computed, or masked, where it is zero.

Ref: Knoop, Ruething & Steffen (1994), "Partial dead code elimination"; Muchnick (1997), section 18.10.
"""

from collections.abc import Container, Mapping, Sequence

from contad.engines.source.analysis.activity import Activity
from contad.engines.source.analysis.partials import passes
from contad.engines.source.ir.single_assignment import Apply, Block, If, Operation, SourceProgram, Value
from contad.engines.source.ir.walks import walk
from contad.engines.source.planning.store_plan import StorePlan


def find_sunk(
    program: SourceProgram, plan: StorePlan, readers: Mapping[Value, Sequence[Operation]], kept: Container[Value]
) -> dict[Operation, Block]:
    """The functions of numbers that are reversed in a branch after them, each with the block of that branch.

    What is `kept` has adjoints from elsewhere.
    """
    found: dict[Operation, Block] = {}
    for block in (program.block, *(b for o in walk(program.block) for b in o.blocks)):
        for k, branch in enumerate(block.operations):
            if isinstance(branch, If) and plan.activity.changes(branch) and branch not in plan.choosing:
                for o in reversed(block.operations[:k]):
                    if isinstance(o, Apply) and o not in found and o.result in plan.activity and o.result not in kept:
                        mine = [x for x in readers.get(o.result, ()) if _hands_on(x, o.result, plan.activity)]
                        for own in branch.blocks:
                            if mine and all(_is_in(x, o.result, branch, own, found) for x in mine):
                                found[o] = own
    return found


def _hands_on(reader: Operation, value: Value, activity: Activity) -> bool:
    """Whether a reader may add to the adjoint of a value."""
    return not isinstance(reader, Apply) or (reader.result in activity and value in passes(reader))


def _is_in(reader: Operation, value: Value, branch: If, own: Block, found: Mapping[Operation, Block]) -> bool:
    """Whether a reader of a value is reversed in one block of a branch."""
    if reader is branch:
        return not any(value is (m.otherwise if own is branch.blocks[0] else m.then) for m in branch.merges)
    if found.get(reader) is own:
        return True
    inside = reader.block
    while inside is not None and inside is not own:
        inside = inside.parent.block if inside.parent is not None else None
    return inside is own
