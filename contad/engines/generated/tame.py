"""Which numbers may be infinite or nan although the arguments are finite: what functions with poles lead to.

Only there can an adjoint of zero meet an infinite partial; the reverse pass then has to say that the product is zero.
"""

from contad.engines.generated.functions import ABSOLUTE, ADD, DIVIDE, MULTIPLY, SQUARE
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
        *("deg2rad", "rad2deg", "erf", "erfc", "ndtr", "expit", "checked_divide"),
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
        spreading = o.inputs[:1] if o.function is DIVIDE and is_tame(o) else o.inputs
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
    return o.function.name in TAME or (o.function is DIVIDE and sign(o.inputs[1]) == 1)


def sign(value: Value, depth: int = 6) -> int:
    """1 for a number that is surely positive, 0 for one that is surely not negative, -1 for any other; or nan."""
    if value.constant is not None:
        return 1 if value.constant > 0 else 0 if value.constant == 0 else -1
    o = value.operation
    if not isinstance(o, Apply) or depth == 0:
        return -1
    if o.function.name == "exp":
        return 0  # it may underflow
    if o.function in (SQUARE, ABSOLUTE):
        return 0
    if o.function in (ADD, MULTIPLY):
        signs = [sign(x, depth - 1) for x in o.inputs]
        if min(signs) < 0:
            return -1
        return max(signs) if o.function is ADD else 0
    return -1
