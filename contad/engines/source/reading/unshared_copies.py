"""Copies of arrays where Numba gives a copy or the array itself, by how it lies in memory, which is not seen here.

That is one and the same as long as neither is written to any more: a program that writes is refused.
"""

from contad.engines.source.ir.single_assignment import Accumulate, Block, Loop, MatrixCall, Operation, Store, Value
from contad.engines.source.ir.walks import around, find_written_roots, precedes, walk


class UnsharedCopies:
    """Copies, and the line of each."""

    def __init__(self) -> None:
        self.found: list[tuple[Value, Value, set[Operation], int]] = []

    def add(self, array: Value, copy: Value, made: list[Operation], line: int) -> None:
        """Note a copy of an array, and the operations that fill it."""
        self.found.append((array, copy, {inner for o in made for inner in _with_inner(o)}, line))

    def find_written(self, block: Block) -> int | None:
        """The line of a copy that is written to later on, or whose array is."""
        operations = list(walk(block)) if self.found else []
        live = set(operations)
        writes = [o for o in operations if isinstance(o, (Store, Accumulate, MatrixCall))]
        for array, copy, own, line in self.found:
            if copy.operation not in live:  # what has been written again, as the body of a loop
                continue
            roots = {*array.roots, *copy.roots}
            for o in writes:
                if o not in own and roots & find_written_roots(o) and not _is_before(o, copy, array):
                    return line
        return None


def _with_inner(o: Operation) -> list[Operation]:
    return [o, *(inner for block in o.blocks for inner in walk(block))]


def _is_before(o: Operation, copy: Value, array: Value) -> bool:
    """Whether a write is over whenever the copy is made, of an array that is made in the same iteration."""
    made = copy.operation
    assert made is not None
    loops = [holder for holder in around(made.block) if isinstance(holder, Loop)]
    if loops and not all(loops[0] in around(root.block) for root in array.roots):
        return False
    return precedes(o, made)
