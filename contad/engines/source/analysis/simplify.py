"""Common subexpression elimination, store-to-load forwarding and dead code elimination."""

from collections import Counter
from typing import Any

from contad.engines.source.analysis.shared_callees import raises
from contad.engines.source.ir import ssa
from contad.engines.source.ir.known_functions import ADD, COMPARISONS, MULTIPLY, OUTSIDE, SQUARE
from contad.engines.source.ir.walks import find_written_roots, is_natural, is_within, leaves, like


def simplify(function: ssa.SourceFunction) -> None:
    """Rewrite a function into a shorter one that computes the same result."""
    found = _Equal()
    found.block(function.block, {})
    function.returned = _map_tree(function.returned, found.new)
    _Live(function).clean(function.block)


def _map_tree(tree: Any, new: Any) -> Any:
    return like(tree, (_map_tree(part, new) for part in tree)) if isinstance(tree, tuple) else new(tree)


class _Equal:
    """Replaces values by equal values that were computed before.

    A table maps the function and the operands of an operation to its result. The key of a load includes the number of
    writes to the array so far, so a load after a write has another key.
    """

    def __init__(self) -> None:
        self.replaced: dict[ssa.Value, ssa.Value] = {}
        self.writes: Counter[ssa.Value] = Counter()

    def new(self, value: ssa.Value) -> ssa.Value:
        return self.replaced.get(value, value)

    def block(self, block: ssa.Block, known: dict[Any, ssa.Value]) -> None:
        """Simplify a block; operations before it have computed the values in `known`."""
        kept = []
        for operation in block.operations:
            operation.rewrite(self.new)
            if isinstance(operation, ssa.Apply) and operation.function is MULTIPLY:
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
            if isinstance(operation, ssa.Check) and _never(operation):
                continue
            if key is not None:
                known[key] = operation.result
            if isinstance(operation, (ssa.Store, ssa.Accumulate)):
                self.wrote(operation)
                if isinstance(operation, ssa.Store):
                    known[self.element(operation.array, operation.indices)] = operation.stored
            self.inner(operation, known)
            kept.append(operation)
        block.operations = kept

    def inner(self, operation: ssa.Operation, known: dict[Any, ssa.Value]) -> None:
        """Simplify the blocks inside an operation."""
        written = find_written_roots(operation) if operation.blocks else set()
        if isinstance(operation, ssa.Loop):
            self.writes.update(written)  # an iteration may read what an earlier one wrote
        if isinstance(operation, ssa.While):  # the test was computed before the body runs
            tested = dict(known)
            self.block(operation.test, tested)
            self.block(operation.body, tested)
        else:
            for inner in operation.blocks:
                self.block(inner, dict(known))
        self.writes.update(written)
        if operation.blocks:
            operation.rewrite(self.new)

    def wrote(self, operation: ssa.Store | ssa.Accumulate) -> None:
        self.writes.update(operation.array.roots)

    def key(self, o: ssa.Operation) -> Any:
        """The key of the result of an operation; None if it has no result, or one that must not be shared."""
        if isinstance(o, ssa.Apply):
            return ("apply", o.function.name, o.result.kind, *map(_identity, o.inputs))
        if (
            isinstance(o, ssa.Load) and o.guard is not None
        ):  # 0 if the guard is false, unlike other loads of the element
            return ("guarded", _identity(o.guard), self.element(o.array, o.indices))
        if isinstance(o, ssa.Load):
            return self.element(o.array, o.indices)
        if isinstance(o, ssa.Length):
            return ("length", o.inputs[0], o.axis)
        return None

    def element(self, array: ssa.Value, indices: list[ssa.Value]) -> Any:
        return ("load", array, sum(self.writes[root] for root in array.roots), *map(_identity, indices))


def _identity(value: ssa.Value) -> Any:
    return value if value.constant is None else (value.kind, repr(value.constant))


def _never(check: ssa.Check) -> bool:
    """Whether a check obviously cannot fail: a length differs from itself, or a loop counts to the length."""
    condition = check.inputs[0]
    if condition.constant is not None:
        return not condition.constant
    test = condition.operation
    if isinstance(test, ssa.Apply) and test.function is OUTSIDE:
        return is_within(*test.inputs)
    return (
        isinstance(test, ssa.Apply)
        and test.function.name == "!="
        and test.inputs[0] is test.inputs[1]
        and (test.inputs[0].kind != ssa.FLOAT)
    )


_NEGATIVE = "ValueError", "negative dimensions not allowed"
_NO_STEP = "ValueError", "range() arg 3 must not be zero"


def _refusals(o: ssa.Operation) -> list[tuple[ssa.Value, tuple[str, str]]]:
    """The integers for which an operation may raise: lengths, and the increment of a range."""
    if isinstance(o, ssa.Create):
        return [(n, _NEGATIVE) for n in o.inputs if not _is_length(n)]
    if isinstance(o, ssa.For):
        return [] if o.step.constant else [(o.step, _NO_STEP)]
    return []


def _is_length(n: ssa.Value) -> bool:
    """Whether an integer is a length, or computed from lengths."""
    o = n.operation
    made = isinstance(o, ssa.Apply) and o.function in (ADD, MULTIPLY, SQUARE) and all(map(_is_length, o.inputs))
    return isinstance(o, ssa.Length) or made or is_natural(n)


def _checks(o: ssa.Operation) -> list[ssa.Operation]:
    """The checks that raise as an operation would; they replace it if nothing reads its result."""
    checks: list[ssa.Operation] = []
    for value, exception in _refusals(o):
        test = ssa.Apply(
            COMPARISONS["Lt" if exception == _NEGATIVE else "Eq"],
            [value, ssa.Value(ssa.INT, constant=0)],
            ssa.Value(ssa.BOOL),
        )
        checks += [test, ssa.Check(test.result, exception)]
    for check in checks:
        check.line = o.line
    return checks


class _Live:
    """Keeps the operations on which the result depends, and drops the others."""

    def __init__(self, function: ssa.SourceFunction) -> None:
        self.values: set[ssa.Value] = set()
        self.operations: set[ssa.Operation] = set()
        self.refusing: set[ssa.Operation] = set()  # they may raise, but nothing reads their result
        self.changed = True
        for value in leaves(function.returned):
            self.use(value)
        while self.changed:
            self.changed = False
            self.sweep(function.block)

    def use(self, value: ssa.Value) -> None:
        for v in (value, *value.roots):
            if v not in self.values:
                self.values.add(v)
                self.changed = True

    def sweep(self, block: ssa.Block) -> bool:
        """Mark the live operations of a block, from the last to the first; True if there are any."""
        live = False
        for operation in reversed(block.operations):
            live = self.mark(operation) or live
        return live

    def mark(self, o: ssa.Operation) -> bool:
        """Mark an operation and its operands if it is live; True if it is."""
        live = raises(o) or any(value in self.values for value in o.results)
        if isinstance(o, (ssa.Store, ssa.Accumulate)):
            live = any(root in self.values for root in o.array.roots)
        for block in o.blocks:
            live = self.sweep(block) or live
        if not live:
            return self.mark_refusal(o)
        if o not in self.operations:
            self.operations.add(o)
            self.changed = True
        for value in o.inputs:
            self.use(value)
        if isinstance(o, ssa.If):
            for m in o.merges:
                if m.result in self.values:
                    self.use(m.then)
                    self.use(m.otherwise)
        if isinstance(o, ssa.Loop):
            for c in o.carried:
                if c.result in self.values or c.inner in self.values:
                    for value in (c.initial, c.inner, c.following, c.result):
                        self.use(value)
            if o.exit is not None:
                self.use(o.exit)
            if isinstance(o, ssa.While):
                self.use(o.condition)
        return True

    def mark_refusal(self, o: ssa.Operation) -> bool:
        """Keep the integers for which a dropped operation may raise."""
        for value, _ in _refusals(o):
            self.refusing.add(o)
            self.use(value)
        return o in self.refusing

    def clean(self, block: ssa.Block) -> None:
        """Drop the operations that are not live; the checks of those that may raise stay."""
        kept: list[ssa.Operation] = []
        for o in block.operations:
            if o in self.operations:
                kept.append(o)
            elif o in self.refusing:
                kept += _checks(o)
        block.operations = []
        for o in kept:
            block.append(o)
        for o in block.operations:
            if isinstance(o, ssa.If):
                o.merges = [m for m in o.merges if m.result in self.values]
                o.results = [m.result for m in o.merges]
            if isinstance(o, ssa.Loop):
                o.carry([c for c in o.carried if c.result in self.values])
            for inner in o.blocks:
                self.clean(inner)
