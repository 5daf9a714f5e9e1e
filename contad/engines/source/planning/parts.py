"""Divides a long function into parts: the operations in branches and loops become callees of bounded length.

Numba rewrites a whole function once for every name that several blocks assign. So the time to compile a long function
with many branches grows with the square of its length. A part is a callee: it takes the numbers and arrays that it
reads, and returns the numbers that are read after it. Operations that write or create arrays stay in the function.
"""

from collections.abc import Iterable
from typing import Any

from contad.engines.source.analysis.shared_callees import Callee
from contad.engines.source.ir import ssa
from contad.engines.source.ir.walks import leaves, like, walk

LONG = 250  # operations in branches and loops; shorter functions stay whole, because calls slow the gradient
MOST = 60  # operations in a part
LEAST = 10
PART = "_part"  # the end of the name of a part

_WHOLE = (ssa.Apply, ssa.Load, ssa.Length, ssa.Check, ssa.Call, ssa.If, ssa.For, ssa.While)
_INSIDE = (*_WHOLE, ssa.View, ssa.Choose)


def divide(function: ssa.SourceFunction, long: int = LONG, most: int = MOST, least: int = LEAST) -> None:
    """Move parts of a long function into callees."""
    nested = sum(1 for o in function.block.operations for block in o.blocks for _ in walk(block))
    if nested > long:
        _Divider(function, most, least).block(function.block, set(leaves(function.returned)))


class _Divider:
    """Makes parts of the blocks of a function, innermost blocks first."""

    def __init__(self, function: ssa.SourceFunction, most: int, least: int) -> None:
        self.function, self.most, self.least = function, most, least

    def block(self, block: ssa.Block, after: set[ssa.Value]) -> int:
        """Divide a block; operations after it read the values in `after`. Return its new length, in operations."""
        sizes = {}
        for o in block.operations:
            outside = set(o.reads())
            if isinstance(o, ssa.While):  # the body may read values of the test
                outside.update(x for inner in walk(o.body) for x in inner.reads())
            sizes[o] = 1 + sum(self.block(inner, outside) for inner in o.blocks)
        size = sum(sizes.values())
        if size <= self.most + self.least:
            return size
        groups = list(_groups(block.operations, sizes, self.most))
        read: dict[ssa.Value, set[int]] = {}  # the groups that read a value
        for k, group in enumerate(groups):
            for x in _reads(group):
                read.setdefault(x, set()).add(k)
        new: dict[ssa.Value, ssa.Value] = {}
        kept: list[ssa.Operation] = []
        for k, group in enumerate(groups):
            made = [x for o in group for x in o.results]
            handed = [x for x in made if x in after or read.get(x, set()) - {k}]
            if handed and sum(sizes[o] for o in group) > self.least and all(map(_may_move, group)):
                kept.append(self.part(group, handed, new))
            else:
                _rewrite(group, new)
                kept += group
        block.operations = []
        for o in kept:
            block.append(o)
        if block.parent is None:
            self.function.returned = _replace(self.function.returned, new)
        else:
            block.parent.rewrite(lambda x: new.get(x, x))
            if isinstance(block.parent, ssa.While):
                _rewrite(block.parent.body.operations, new)
        return sum(sizes.get(o, 1) for o in kept)

    def part(self, group: list[ssa.Operation], handed: list[ssa.Value], new: dict[ssa.Value, ssa.Value]) -> ssa.Call:
        """The call of a part that replaces its operations. `new` maps their results to those of the call."""
        own = {x for o in _all(group) for x in _find_made(o)}
        given = dict.fromkeys(new.get(x, x) for x in _reads(group) if x not in own and x.constant is None)
        parameters = {x: ssa.Value(x.kind, x.hint) for x in given}
        block = ssa.Block()
        for o in group:
            block.append(o)
        _rewrite(group, {x: parameters[y] for x in _reads(group) if (y := new.get(x, x)) in parameters})
        function = ssa.SourceFunction(f"{self.function.name}{PART}", list(parameters.values()), block)
        function.returned = tuple(handed)
        function.fastmath = self.function.fastmath
        results = [ssa.Value(x.kind, x.hint) for x in handed]
        new.update(zip(handed, results, strict=True))
        call = ssa.Call(Callee(function), list(given), results)
        call.line = group[0].line
        return call


def _groups(
    operations: list[ssa.Operation], sizes: dict[ssa.Operation, int], most: int
) -> Iterable[list[ssa.Operation]]:
    """Operations in groups, in order: parts of bounded length, and single operations that cannot be in a part."""
    group: list[ssa.Operation] = []
    size = 0
    for o in operations:
        possible = _may_move(o)
        if group and (not possible or size + sizes[o] > most):
            yield group
            group, size = [], 0
        if possible:
            group.append(o)
            size += sizes[o]
        else:
            yield [o]
    if group:
        yield group


def _may_move(o: ssa.Operation) -> bool:
    """Whether an operation may be in a part."""
    within = [inner for block in o.blocks for inner in walk(block)]
    marked = any(isinstance(inner, ssa.For) and inner.checkpointed for inner in (o, *within))
    is_sum = any(isinstance(inner, ssa.Loop) and inner.adds_in_any_order for inner in (o, *within))  # for passes
    return isinstance(o, _WHOLE) and all(isinstance(inner, _INSIDE) for inner in within) and not (marked or is_sum)


def _all(group: Iterable[ssa.Operation]) -> Iterable[ssa.Operation]:
    for o in group:
        yield o
        for block in o.blocks:
            yield from walk(block)


def _reads(group: Iterable[ssa.Operation]) -> list[ssa.Value]:
    """The values that operations, and the operations inside them, read."""
    return [x for o in _all(group) for x in o.reads()]


def _find_made(o: ssa.Operation) -> list[ssa.Value]:
    inner = [c.inner for c in o.carried] if isinstance(o, ssa.Loop) else []
    return [*o.results, *inner, *([o.index] if isinstance(o, ssa.For) else [])]


def _rewrite(group: Iterable[ssa.Operation], new: dict[ssa.Value, ssa.Value]) -> None:
    for o in _all(group):
        o.rewrite(lambda x: new.get(x, x))
        if isinstance(o, ssa.View):
            o.result.roots = o.inputs[0].roots
        elif isinstance(o, ssa.Choose):
            o.result.roots = tuple(dict.fromkeys(root for array in o.inputs[1:] for root in array.roots))


def _replace(tree: Any, new: dict[ssa.Value, ssa.Value]) -> Any:
    return like(tree, (_replace(part, new) for part in tree)) if isinstance(tree, tuple) else new.get(tree, tree)
