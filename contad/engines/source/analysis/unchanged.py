"""Whether the reverse pass may read an array again, because nothing has written there since."""

from collections.abc import Callable

from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.single_assignment import (
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
from contad.engines.source.ir.walks import around, is_inside, is_natural

Region = Callable[[Block | None], Loop | None]  # the innermost loop around whose reverse is a loop of its own


def is_unchanged(reader: Operation, array: Value, stores: list[Store | Accumulate], region: Region) -> bool:
    """Whether an array still holds what an operation read there when the reverse pass gets to the operation."""
    if any(region(root.block) is not None for root in array.roots):
        return False  # the array was made in an iteration that is over
    held = {id(reader.block): reader, **{id(o.block): o for o in around(reader.block)}}
    for store in stores:
        if not set(store.array.roots) & set(array.roots):
            continue
        operation: Operation = store
        while id(operation.block) not in held:
            assert operation.block is not None and operation.block.parent is not None
            operation = operation.block.parent
        mine = held[id(operation.block)]
        if region(operation.block) is not None:
            if _is_ahead(store, reader, region):
                continue
            return False  # a later iteration may write it
        if operation is mine:
            if isinstance(operation, If):
                continue  # the other branch
            return False
        assert operation.block is not None
        order = operation.block.operations
        if order.index(operation) > order.index(mine):
            return False
    return True


def _is_ahead(store: Store | Accumulate, reader: Operation, region: Region) -> bool:
    """Whether a store of the rows of a table has left behind the row that an operation reads, and not come back."""
    loop = region(store.block)
    while loop is not None and (outer := region(loop.block)) is not None:
        loop = outer
    if not (isinstance(loop, For) and isinstance(reader, Load)):
        return False
    array = store.array
    if array is not reader.array or len(array.roots) != 1 or is_inside(array.block, loop):
        return False
    if not is_inside(reader.block, loop):
        return False
    for row, other in zip(store.indices, reader.indices, strict=True):
        a, b = _offset(row, loop), _offset(other, loop)
        if a is not None and b is not None and is_natural(row) and is_natural(other):
            if (a - b) * (loop.step.constant or 0) > 0:
                return True
    return False


def _offset(value: Value, loop: For) -> int | None:
    """What is added to the index of a loop, where a value is made so."""
    if value is loop.index:
        return 0
    o = value.operation
    if isinstance(o, Apply) and o.function in (ADD, SUBTRACT) and o.inputs[0] is loop.index:
        added = o.inputs[1].constant
        return added if added is None or o.function is ADD else -added
    return None
