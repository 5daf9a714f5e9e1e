"""Loop-invariant code motion: computes before a loop what is the same in each iteration.

The reverse sweep gains too. An element read before the loop is stored once, and has one adjoint: a variable to which
the iterations add. A loop may run zero times, so a condition guards each read that is moved out of it.

Functions also leave branches whose conditions change between iterations, unless they are expensive: it is likely that
some iteration needs them.
"""

from contad.engines.source.analysis.shared_callees import raises
from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.ssa import (
    BOOL,
    Apply,
    Block,
    For,
    If,
    Length,
    Load,
    Operation,
    SourceFunction,
    Value,
)
from contad.engines.source.ir.walks import find_written_roots, is_inside, walk

_CHEAP = {
    "add", "subtract", "multiply", "negative", "square", "float", "select", "and", "not",
    "<", "<=", ">", ">=", "==", "!=",
}  # fmt: skip
SPECULATED = 100.0  # dearer functions do not leave branches; in units of an addition


def hoist(function: SourceFunction) -> None:
    """Move invariant operations out of the loops of a function, innermost loops first."""
    _block(function.block)


def _block(block: Block) -> None:
    """Move invariant operations out of the loops of a block."""
    done: list[Operation] = []
    for operation in block.operations:
        for inner in operation.blocks:
            _block(inner)
        if isinstance(operation, For) and operation.step.constant:
            for moved in _find_movable(operation):
                moved.block = block
                for value in moved.results:
                    value.block = block
                done.append(moved)
        done.append(operation)
    block.operations = done


def _find_movable(loop: For) -> list[Operation]:
    """The operations that leave the loop, in order."""
    written = find_written_roots(loop)
    moved: list[Operation] = []
    stayed: list[Operation] = []
    guard: Value | None = None
    may_raise = False
    for o in loop.body.operations:
        may_raise = may_raise or raises(o) or any(raises(i) for b in o.blocks for i in walk(b))
        if not _is_invariant(o, loop):
            moved += _leave_branches(o, loop)
            stayed.append(o)
        elif isinstance(o, Length) or (isinstance(o, Apply) and is_movable(o.function)):
            moved.append(o)
            _leave(o)
        elif isinstance(o, Load) and not written & set(o.array.roots) and not may_raise:
            if guard is None:
                guard, made = runs(loop)
                moved += made
            if guard.constant is None:
                if o.guard is None:
                    o.inputs.append(guard)
                else:
                    both = Value(BOOL)
                    moved.append(_place(Apply(known_functions.AND, [o.guard, guard], both), loop))
                    o.inputs[-1] = both
            moved.append(o)
            _leave(o)
        else:
            stayed.append(o)
    loop.body.operations = stayed
    return moved


def _is_invariant(o: Operation, loop: For) -> bool:
    """Whether all operands are the same in each iteration."""
    return all(x.constant is not None or not (x.block is loop.body or is_inside(x.block, loop)) for x in o.inputs)


def _leave_branches(o: Operation, loop: For) -> list[Operation]:
    """The invariant functions that leave a branch of a loop, in order."""
    moved: list[Operation] = []
    for block in o.blocks if isinstance(o, If) else []:
        stayed: list[Operation] = []
        for i in block.operations:
            is_invariant = _is_invariant(i, loop)
            if is_invariant and isinstance(i, Apply) and is_movable(i.function) and i.function.cost <= SPECULATED:
                moved.append(i)
                _leave(i)
            else:
                moved += [] if is_invariant else _leave_branches(i, loop)
                stayed.append(i)
        block.operations = stayed
    return moved


def is_movable(function: known_functions.Function) -> bool:
    """Whether a function may be computed before a loop that does not run: it neither raises nor has a side effect.

    Sums and divisions are left to LLVM, which does not move calls.
    """
    is_call = function.rule is not None and function.result == "float" and function.cost > known_functions.DIVIDE.cost
    return function.name in _CHEAP or is_call


def _leave(o: Operation) -> None:
    o.block = None
    for value in o.results:
        value.block = None


def runs(loop: For) -> tuple[Value, list[Operation]]:
    """Whether a loop runs at all."""
    step = loop.step.constant
    symbol = "Lt" if step > 0 else "Gt"
    if loop.start.constant is not None and loop.stop.constant is not None:
        return constant(len(range(loop.start.constant, loop.stop.constant, step)) > 0), []
    runs = Value(BOOL)
    return runs, [_place(Apply(known_functions.COMPARISONS[symbol], [loop.start, loop.stop], runs), loop)]


def _place(o: Operation, loop: For) -> Operation:
    o.line = loop.line
    return o
