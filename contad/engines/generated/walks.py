"""Ways through a program: its operations, what holds them, what they write."""

from collections.abc import Iterator
from typing import Any

from contad.engines.generated.ir import Accumulate, Block, Operation, Store, Value


def leaves(tree: Any) -> list[Value]:
    """The values of nested tuples, in order."""
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def walk(block: Block) -> Iterator[Operation]:
    """Every operation of a block and of the blocks inside it, in order of the source."""
    for operation in block.operations:
        yield operation
        for inner in operation.blocks:
            yield from walk(inner)


def around(block: Block | None) -> Iterator[Operation]:
    """The operations that hold a block, from the innermost out."""
    while block is not None and block.parent is not None:
        yield block.parent
        block = block.parent.block


def is_inside(block: Block | None, operation: Operation) -> bool:
    """Whether a block lies inside an operation."""
    return any(holder is operation for holder in around(block))


def written_roots(operation: Operation) -> set[Value]:
    """The arrays whose elements an operation, or one inside it, writes."""
    inside = [operation, *(inner for block in operation.blocks for inner in walk(block))]
    return {root for o in inside if isinstance(o, (Store, Accumulate)) for root in o.array.roots}
