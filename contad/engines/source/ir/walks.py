"""Walks over a function: its operations, the operations that hold them, the arrays that they write."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.ssa import (
    Accumulate,
    Apply,
    Block,
    For,
    If,
    MatrixCall,
    Operation,
    Segments,
    SourceFunction,
    Store,
    Value,
)


def leaves(tree: Any) -> list[Value]:
    """The values of nested tuples, in order."""
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def map_tree(tree: Any, new: Callable[[Any], Any]) -> Any:
    """Nested tuples with every value replaced; other members, such as None, stay."""
    if isinstance(tree, tuple):
        return like(tree, (map_tree(part, new) for part in tree))
    return new(tree) if isinstance(tree, Value) else tree


def values_in(trees: Iterable[Any]) -> list[Value]:
    """The values of nested tuples, without None."""
    return [leaf for tree in trees for leaf in leaves(tree) if isinstance(leaf, Value)]


def class_of_names(tree: tuple[Any, ...]) -> Any:
    """The class of a named tuple; None for a plain tuple."""
    return type(tree) if hasattr(tree, "_fields") else None


def like(tree: tuple[Any, ...], parts: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of these parts, of the same named-tuple class as another one."""
    cls = class_of_names(tree)
    return tuple(parts) if cls is None else cls._make(parts)


def walk(block: Block) -> Iterator[Operation]:
    """Every operation of a block and of the blocks inside it, in source order."""
    for operation in block.operations:
        yield operation
        for inner in operation.blocks:
            yield from walk(inner)


def readers_of(function: SourceFunction) -> dict[Value, list[Operation]]:
    """Maps each value to the operations that read it, once for each read."""
    readers: dict[Value, list[Operation]] = {}
    for operation in walk(function.block):
        for value in operation.reads():
            readers.setdefault(value, []).append(operation)
    return readers


def around(block: Block | None) -> Iterator[Operation]:
    """The operations that hold a block, innermost first."""
    while block is not None and block.parent is not None:
        yield block.parent
        block = block.parent.block


def is_inside(block: Block | None, operation: Operation) -> bool:
    """Whether a block lies inside an operation."""
    return any(holder is operation for holder in around(block))


def precedes(o: Operation, later: Operation) -> bool:
    """Whether an operation is before `later` in the innermost block around both, or in the other branch of an if."""
    mine = {id(holder.block): holder for holder in (later, *around(later.block))}
    operation = o
    for operation in (o, *around(o.block)):
        if id(operation.block) in mine:
            break
    other = mine[id(operation.block)]
    if operation is other:
        return isinstance(other, If)
    assert operation.block is not None
    order = operation.block.operations
    return order.index(operation) < order.index(other)


def find_written_roots(operation: Operation) -> set[Value]:
    """The arrays whose elements an operation, or one inside it, writes."""
    inside = [operation, *(inner for block in operation.blocks for inner in walk(block))]
    return {root for o in inside for array in find_written(o) for root in array.roots}


def find_written(o: Operation) -> list[Value]:
    """The array values through which an operation itself writes."""
    if isinstance(o, (Store, Accumulate)):
        return [o.array]
    return o.filled if isinstance(o, MatrixCall) else []


def is_natural(value: Value) -> bool:
    """Whether an integer is known to be at least 0."""
    if value.constant is not None:
        return bool(value.constant >= 0)
    o = value.operation
    if isinstance(o, For) and value is o.index:
        start, stop, step = limits(o)
        if (step.constant or 0) > 0:
            return is_natural(start)
        return step.constant == -1 and _follows_natural(stop)
    if not isinstance(o, Apply):
        return False
    if o.function is SUBTRACT and isinstance(o.inputs[0].operation, For) and o.inputs[0] is o.inputs[0].operation.index:
        loop, less = o.inputs[0].operation, o.inputs[1].constant
        start, stop, step = limits(loop)
        up = (step.constant or 0) > 0
        first = start.constant if up else None if stop.constant is None else stop.constant + 1
        return first is not None and less is not None and is_natural(o.inputs[0]) and bool(first >= less)
    return o.function is ADD and all(map(is_natural, o.inputs))


def _follows_natural(stop: Value) -> bool:
    """Whether an integer is known to be at least -1."""
    o = stop.operation
    if isinstance(o, Apply) and o.function is SUBTRACT and o.inputs[1].constant == 1 and is_natural(o.inputs[0]):
        return True
    return is_natural(stop) if stop.constant is None else bool(stop.constant >= -1)


def is_within(index: Value, length: Value) -> bool:
    """Whether an index is known to be in range(length), because a loop counts to the length."""
    if index.constant is not None and length.constant is not None:
        return bool(0 <= index.constant < length.constant)
    loop = index.operation
    if not isinstance(loop, For) or index is not loop.index:
        return False
    start, stop, step = limits(loop)
    same = stop is length or (stop.constant is not None and stop.constant == length.constant)
    return same and step.constant == 1 and is_natural(start)


def limits(loop: For) -> list[Value]:
    """The limits of a loop; for a segment, those of the whole loop."""
    whole = loop.start.operation
    return whole.inputs if isinstance(whole, Segments) and loop.start is whole.first else loop.inputs
