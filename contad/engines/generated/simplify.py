"""Simplification: equal values are computed once, an element just stored is not read again, dead code goes."""

from collections import Counter
from typing import Any

from contad.engines.generated.functions import MULTIPLY, SQUARE
from contad.engines.generated.ir import (
    FLOAT,
    Accumulate,
    Apply,
    Block,
    Check,
    If,
    Length,
    Load,
    Loop,
    Operation,
    Program,
    Store,
    Value,
    While,
)
from contad.engines.generated.walks import leaves, written_roots


def simplify(program: Program) -> None:
    """Rewrite a program into a shorter one that computes the same."""
    found = _Equal()
    found.block(program.block, {})
    program.returned = _mapped(program.returned, found.new)
    _Live(program).clean(program.block)


def _mapped(tree: Any, new: Any) -> Any:
    return tuple(_mapped(part, new) for part in tree) if isinstance(tree, tuple) else new(tree)


class _Equal:
    """Replaces values by equal ones that were computed before.

    The table of what has been computed maps an operation's function and operands to its result; a read of an element
    counts the writes to the array so far among its operands, so that a write makes later reads different.
    """

    def __init__(self) -> None:
        self.replaced: dict[Value, Value] = {}
        self.writes: Counter[Value] = Counter()

    def new(self, value: Value) -> Value:
        return self.replaced.get(value, value)

    def block(self, block: Block, known: dict[Any, Value]) -> None:
        kept = []
        for operation in block.operations:
            operation.rewrite(self.new)
            if isinstance(operation, Apply) and operation.function is MULTIPLY:
                x, y = operation.inputs
                if x is y:
                    operation.function, operation.inputs = SQUARE, [x]
            key = self.key(operation)
            if key is not None and key in known:
                same = known[key]
                self.replaced[operation.result] = same
                if not same.hint and same.constant is None:
                    same.hint = operation.result.hint
                continue
            if isinstance(operation, Check) and _never(operation):
                continue
            if key is not None:
                known[key] = operation.result
            if isinstance(operation, (Store, Accumulate)):
                self.wrote(operation)
                if isinstance(operation, Store):
                    known[self.element(operation.array, operation.indices)] = operation.stored
            self.inner(operation, known)
            kept.append(operation)
        block.operations = kept

    def inner(self, operation: Operation, known: dict[Any, Value]) -> None:
        written = written_roots(operation) if operation.blocks else set()
        if isinstance(operation, Loop):
            self.writes.update(written)  # an iteration may meet what an earlier one wrote
        if isinstance(operation, While):  # the test has been computed whenever the body runs
            tested = dict(known)
            self.block(operation.test, tested)
            self.block(operation.body, tested)
        else:
            for inner in operation.blocks:
                self.block(inner, dict(known))
        self.writes.update(written)
        if operation.blocks:
            operation.rewrite(self.new)

    def wrote(self, operation: Store | Accumulate) -> None:
        self.writes.update(operation.array.roots)

    def key(self, o: Operation) -> Any:
        """What identifies the result of an operation; None where it has none, or is not to be shared."""
        if isinstance(o, Apply):
            return ("apply", o.function.name, o.result.kind, *map(_identity, o.inputs))
        if isinstance(o, Load):
            return self.element(o.array, o.indices)
        if isinstance(o, Length):
            return ("length", o.inputs[0], o.axis)
        return None

    def element(self, array: Value, indices: list[Value]) -> Any:
        return ("load", array, sum(self.writes[root] for root in array.roots), *map(_identity, indices))


def _identity(value: Value) -> Any:
    return value if value.constant is None else (value.kind, repr(value.constant))


def _never(check: Check) -> bool:
    """Whether a check can be seen not to fail: a length differs from itself."""
    condition = check.inputs[0]
    if condition.constant is not None:
        return not condition.constant
    test = condition.operation
    return (
        isinstance(test, Apply)
        and test.function.name == "!="
        and test.inputs[0] is test.inputs[1]
        and (test.inputs[0].kind != FLOAT)
    )


class _Live:
    """Finds what the result depends on, and drops the rest."""

    def __init__(self, program: Program) -> None:
        self.values: set[Value] = set()
        self.operations: set[Operation] = set()
        self.changed = True
        for value in leaves(program.returned):
            self.use(value)
        while self.changed:
            self.changed = False
            self.sweep(program.block)

    def use(self, value: Value) -> None:
        for v in (value, *value.roots):
            if v not in self.values:
                self.values.add(v)
                self.changed = True

    def sweep(self, block: Block) -> bool:
        """Mark the live operations of a block, from the last to the first; whether there are any."""
        live = False
        for operation in reversed(block.operations):
            live = self.mark(operation) or live
        return live

    def mark(self, o: Operation) -> bool:
        live = isinstance(o, Check) or any(value in self.values for value in o.results)
        if isinstance(o, (Store, Accumulate)):
            live = any(root in self.values for root in o.array.roots)
        for block in o.blocks:
            live = self.sweep(block) or live
        if not live:
            return False
        if o not in self.operations:
            self.operations.add(o)
            self.changed = True
        for value in o.inputs:
            self.use(value)
        if isinstance(o, If):
            for m in o.merges:
                if m.result in self.values:
                    self.use(m.then)
                    self.use(m.otherwise)
        if isinstance(o, Loop):
            for c in o.carried:
                if c.result in self.values or c.inner in self.values:
                    for value in (c.initial, c.inner, c.following, c.result):
                        self.use(value)
            if o.exit is not None:
                self.use(o.exit)
            if isinstance(o, While):
                self.use(o.condition)
        return True

    def clean(self, block: Block) -> None:
        block.operations = [o for o in block.operations if o in self.operations]
        for o in block.operations:
            if isinstance(o, If):
                o.merges = [m for m in o.merges if m.result in self.values]
                o.results = [m.result for m in o.merges]
            if isinstance(o, Loop):
                o.carry([c for c in o.carried if c.result in self.values])
            for inner in o.blocks:
                self.clean(inner)
