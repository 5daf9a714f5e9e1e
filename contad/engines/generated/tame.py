"""Which numbers may be infinite or nan although the arguments are finite: what functions with poles lead to.

Only there can an adjoint of zero meet an infinite partial; the reverse pass then has to say that the product is zero.
"""

import math

from contad.engines.generated.functions import ABSOLUTE, ADD, DIVIDE, MULTIPLY, RECIPROCAL, SQUARE
from contad.engines.generated.ir import (
    FLOAT,
    Accumulate,
    Apply,
    If,
    Load,
    Loop,
    Operation,
    Product,
    Program,
    Store,
    Value,
)
from contad.engines.generated.partials import partial
from contad.engines.generated.walks import walk

# finite at finite operands, with finite partials; large products are not considered
TAME = frozenset(
    (
        *("add", "subtract", "multiply", "negative", "square", "absolute", "sin", "cos", "tanh", "arctan", "arcsinh"),
        *("maximum", "minimum", "select", "float", "hypot", "floor", "ceil", "trunc", "rint", "sign", "copysign"),
        *("deg2rad", "rad2deg", "erf", "erfc", "ndtr", "expit", "checked_divide", "checked_reciprocal"),
    )
)


def wild_values(program: Program) -> set[Value]:
    """The numbers, and the arrays by their roots, that may be infinite or nan."""
    wild: set[Value] = set()
    operations = list(walk(program.block))
    size = -1
    while len(wild) != size:
        size = len(wild)
        for o in operations:
            for source, target in _flow(o):
                if source is None or source in wild or any(root in wild for root in source.roots):
                    wild.update(target.roots or (target,))
    return wild


def _flow(o: Operation) -> list[tuple[Value | None, Value]]:
    """From what to what wildness spreads; from None where it begins."""
    if isinstance(o, Apply) and o.result.kind == FLOAT:
        begins: list[tuple[Value | None, Value]] = [] if is_tame(o) else [(None, o.result)]
        # an infinite positive divisor gives zero
        spreading = o.inputs
        if o.function in (DIVIDE, RECIPROCAL) and is_tame(o):
            spreading = o.inputs[:-1]
        return begins + [(x, o.result) for x in spreading if x.kind == FLOAT]
    if isinstance(o, Load):
        return [(o.array, o.result)]
    if isinstance(o, Store):
        return [(o.stored, o.array)]
    if isinstance(o, Accumulate):
        return [(o.added, o.array)]
    if isinstance(o, Product):
        return [(x, o.result) for x in o.inputs]
    if isinstance(o, If):
        return [(x, m.result) for m in o.merges for x in (m.then, m.otherwise)]
    if isinstance(o, Loop):
        pairs = [(c.initial, c.inner, c.following, c.result) for c in o.carried]
        return [pair for i, inner, f, r in pairs for pair in ((i, inner), (f, inner), (inner, r))]
    return []


def may_be_infinite(o: Apply, k: int, wild: set[Value]) -> bool:
    """Whether the partial with respect to operand k may be infinite or nan."""
    if not is_tame(o):
        return True
    if o.function is DIVIDE:
        return o.inputs[0] in wild
    p = partial(o.function, k)
    return any(o.inputs[j] in wild for j in p.reads) or (p.reads_result and o.result in wild)


def is_tame(o: Apply) -> bool:
    """Whether a function has neither poles nor overflow, at these operands."""
    if o.function in (DIVIDE, RECIPROCAL):
        return least(o.inputs[-1]) > 0.0
    return o.function.name in TAME or (o.function.name in ("sqrt", "log") and least(o.inputs[0]) > 0.0)


def least(value: Value, depth: int = 8) -> float:
    """A number that a value is surely not below, unless it is nan; -inf where none is known.

    Rounding keeps order, so that a bound computed as the value is computed holds.
    """
    if value.constant is not None:
        return float(value.constant)
    o = value.operation
    if not isinstance(o, Apply) or depth == 0:
        return -math.inf
    if o.function in (SQUARE, ABSOLUTE) or o.function.name == "exp":
        return 0.0  # it may underflow
    if o.function in (ADD, MULTIPLY) or o.function.name == "sqrt":
        bounds = [least(x, depth - 1) for x in o.inputs]
        if o.function is ADD:
            return sum(bounds)
        if min(bounds) >= 0.0:
            return math.prod(bounds) if o.function is MULTIPLY else math.sqrt(bounds[0])
    return -math.inf
