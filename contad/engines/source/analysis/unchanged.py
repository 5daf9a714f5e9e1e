"""Decides whether the reverse sweep may reload from an array because no store has written there since."""

from collections.abc import Callable

from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.ssa import (
    Accumulate,
    Apply,
    Block,
    For,
    If,
    Load,
    Loop,
    Operation,
    Store,
    Value,
)
from contad.engines.source.ir.walks import around, is_inside, is_natural, limits, precedes

_BRANCHES = {"==": 1, "!=": 0}  # the branch that is taken if two values differ

Region = Callable[[Block | None], Loop | None]  # the innermost loop around whose reverse is a loop of its own


def is_unchanged(
    reader: Operation, array: Value, stores: list[Store | Accumulate], region: Region, after: Store | None = None
) -> bool:
    """Whether an array still holds the values that an operation read when the reverse sweep reaches the operation.

    If the reader is a load of the element just `after` a store, it need not be in its block.
    """
    if any(region(root.block) is not None for root in array.roots):
        return False  # an earlier iteration has made the array
    held = {id(reader.block): after or reader, **{id(o.block): o for o in around(reader.block)}}
    for store in stores:
        if not set(store.array.roots) & set(array.roots):
            continue
        operation: Operation = store
        while id(operation.block) not in held:
            assert operation.block is not None and operation.block.parent is not None
            operation = operation.block.parent
        mine = held[id(operation.block)]
        if region(operation.block) is not None:
            if _is_ahead(store, reader, region, after):
                continue
            return False  # a later iteration may write it
        if store is after:
            continue
        if operation is mine:
            if isinstance(operation, If):
                continue  # it is in the other branch
            return False
        assert operation.block is not None
        order = operation.block.operations
        if order.index(operation) > order.index(mine):
            return False
    return True


def _is_ahead(store: Store | Accumulate, reader: Operation, region: Region, after: Store | None) -> bool:
    """Whether a store has passed the element that an operation reads, and never returns to it.

    If the index of a store is a loop index plus a number, the store writes the element in one iteration of that loop.
    The loops around both are compared, outermost first. If that iteration is the reader's or an earlier one, the next
    loop decides. If it is the same iteration of all loops, the order of the two operations decides.
    """
    array = store.array
    if not isinstance(reader, Load) or array is not reader.array or len(array.roots) != 1:
        return False
    shared = [o for o in around(reader.block) if isinstance(o, Loop) and is_inside(store.block, o)]
    for loop in reversed(shared):
        if region(loop.body) is not loop:  # no later iteration runs before the reverse of this one
            continue
        if not isinstance(loop, For) or is_inside(array.block, loop):
            return False
        passed = max(_count_passed(*pair, loop, reader) for pair in zip(store.indices, reader.indices, strict=True))
        if passed != 0:
            return passed > 0
    return store is after or precedes(store, after or reader)


def _count_passed(row: Value, other: Value, loop: For, reader: Operation) -> int:
    """By how many iterations, at least, a store to `row` is past index `other`; -1 if unknown.

    A store at the reader's own element is past it by 0.
    """
    forward = 1 if (loop.step.constant or 0) > 0 else -1
    a, b = _offset(row, loop), _find_reach(other, loop, forward)
    if loop.step.constant is None or a is None or b is None or not (is_natural(row) and is_natural(other)):
        return -1
    passed = (a - b) * forward
    if passed == 0 and a == 0 and _differ(other, loop.index, reader):
        return 1
    return max(passed, -1)


def _offset(value: Value, loop: For) -> int | None:
    """The c in a value i + c, where i is the index of the loop; None for other values."""
    if value is loop.index:
        return 0
    o = value.operation
    if isinstance(o, Apply) and o.function in (ADD, SUBTRACT) and o.inputs[0] is loop.index:
        added = o.inputs[1].constant
        return added if added is None or o.function is ADD else -added
    return None


def _find_reach(value: Value, loop: For, forward: int) -> int | None:
    """The c for which loop index + c bounds a value: from above if `forward` is 1, from below if -1."""
    if value is loop.index:
        return 0
    o = value.operation
    if isinstance(o, Apply) and o.function in (ADD, SUBTRACT):
        added = o.inputs[1].constant
        found = None if added is None else _find_reach(o.inputs[0], loop, forward)
        return None if found is None else found + (added if o.function is ADD else -added)
    if not isinstance(o, For) or value is not o.index or not o.step.constant:
        return None
    start, stop, step = limits(o)
    to_stop = step.constant * forward > 0
    found = _find_reach(stop if to_stop else start, loop, forward)
    return None if found is None else found - (forward if to_stop else 0)


def _differ(x: Value, y: Value, reader: Operation) -> bool:
    """Whether an operation is in a branch that is taken only if two values differ."""
    block = reader.block
    while block is not None and block.parent is not None:
        holder = block.parent
        test = holder.inputs[0].operation if isinstance(holder, If) else None
        if isinstance(test, Apply) and test.function.name in _BRANCHES and {x, y} == set(test.inputs):
            if block is holder.blocks[_BRANCHES[test.function.name]]:
                return True
        block = holder.block
    return False
