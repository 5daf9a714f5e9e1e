"""Clones operations with new values, so that one function can be inlined into another."""

import copy
from collections.abc import Iterable

from contad.engines.source.ir.ssa import (
    Block,
    Carried,
    For,
    Handed,
    If,
    Loop,
    Merge,
    Operation,
    Value,
    While,
)


def clone(operations: Iterable[Operation], new: dict[Value, Value]) -> list[Operation]:
    """Copies of operations that read `new[x]` for x. Their results are added to `new`; they are in no block yet."""
    return [_Clone(new).operation(o) for o in operations]


class _Clone:
    """One copy: maps each value to the new one."""

    def __init__(self, new: dict[Value, Value]) -> None:
        self.new = new

    def now(self, value: Value) -> Value:
        return self.new.get(value, value)

    def fresh(self, value: Value) -> Value:
        """A new value that replaces the result of an operation."""
        made = self.new[value] = Value(value.kind, value.hint, value.constant)
        roots = [x for root in value.roots for x in ((made,) if root is value else self.now(root).roots)]
        made.roots = tuple(dict.fromkeys(roots))  # a root may be mapped to a view
        return made

    def operation(self, o: Operation) -> Operation:
        """A copy of an operation and of its blocks."""
        made = copy.copy(o)
        made.inputs = [self.now(x) for x in o.inputs]
        if isinstance(made, Loop) and isinstance(o, Loop):
            self._loop(made, o)
        elif isinstance(made, If) and isinstance(o, If):
            made.blocks = [self._block(block) for block in o.blocks]
            made.merges = [Merge(self.fresh(m.result), self.now(m.then), self.now(m.otherwise)) for m in o.merges]
            made.results = [m.result for m in made.merges]
        else:
            made.results = [self.fresh(x) for x in o.results]
        if isinstance(made, Handed) and isinstance(o, Handed):
            made.aliases = [self.now(x) for x in o.aliases]
        for value in made.results:
            value.operation = made
        for block in made.blocks:
            block.parent = made
        return made

    def _loop(self, made: Loop, o: Loop) -> None:
        """Copy the counter, the carried values and the body of a loop."""
        inner = [self.fresh(c.inner) for c in o.carried]
        if isinstance(made, For) and isinstance(o, For):
            made.index = self.fresh(o.index)
            made.index.operation = made
        made.blocks = [self._block(block) for block in o.blocks]
        if isinstance(made, For):
            made.index.block = made.blocks[0]
        made.count = self.fresh(o.count)
        made.exit = None if o.exit is None else self.now(o.exit)
        if isinstance(made, While):
            made.condition = self.now(made.condition)
        made.carry(
            [
                Carried(self.now(c.initial), i, self.now(c.following), self.fresh(c.result))
                for c, i in zip(o.carried, inner, strict=True)
            ]
        )

    def _block(self, block: Block) -> Block:
        made = Block()
        for o in block.operations:
            made.append(self.operation(o))
        return made
