"""Running products, if the user's options allow reassociation: the partial by a factor is product / factor.

    for i in range(n):                     the partial by t, for all i:  product / t
        product *= t                       where the product is a normal number, so that no factor is 0

So no partial product is stored, and no iteration of the reverse depends on another. If the product is 0, infinite or
nan, the loop runs again and is reversed like any other.
"""

from contad.engines.source.ir.known_functions import MULTIPLY
from contad.engines.source.ir.ssa import (
    Apply,
    Carried,
    For,
    Length,
    Load,
    Operation,
    SourceFunction,
    Value,
)
from contad.engines.source.ir.walks import readers_of
from contad.engines.source.planning.store_plan import StorePlan

SMALLEST, LARGEST = 2.2250738585072014e-308, 1.7976931348623157e308  # normal numbers


def running_products(function: SourceFunction, plan: StorePlan) -> dict[For, Value]:
    """{loop: factor} of loops that only multiply a number, and would store only the partial products."""
    allowed = function.fastmath
    if allowed is not True and not (isinstance(allowed, (set, frozenset)) and allowed & {"fast", "reassoc"}):
        return {}
    readers = readers_of(function)
    found: dict[For, Value] = {}
    for o in function.block.operations:
        if isinstance(o, For) and o.exit is None and not o.is_parallel and len(o.carried) == 1:
            factor = _factor(o, o.carried[0], readers)
            alone = plan.slots.get(o) == [o.carried[0].inner] and o not in plan.fused
            if factor is not None and factor in plan.activity and alone:
                found[o] = factor
    return found


def _factor(loop: For, c: Carried, readers: dict[Value, list[Operation]]) -> Value | None:
    """The factor by which each iteration multiplies a carried number; None if the loop uses the number otherwise."""
    o = c.following.operation
    if not (isinstance(o, Apply) and o.function is MULTIPLY and o.block is loop.body and o.inputs.count(c.inner) == 1):
        return None
    plain = all(isinstance(x, (Apply, Load, Length)) for x in loop.body.operations)
    only = readers.get(c.inner) == [o] and readers.get(c.following, [loop]) == [loop]
    begins = c.initial.constant is not None and c.inner not in loop.reads()
    return o.inputs[1 - o.inputs.index(c.inner)] if plain and only and begins else None
