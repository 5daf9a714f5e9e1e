"""Loops that fill an array which only a later loop reads become one with that loop, and the array goes.

    for i in range(n):                         for i in range(n):
        z[i] = x[i] - y[i]                         z = x[i] - y[i]
    for i in range(n):                 ->          s += z * z
        s += z[i] * z[i]

An array expression is one loop as it stands; a name for a part of it makes an array, which costs a pass over memory
each way. Both loops count the same elements, whatever stands between them has nothing to do with the first one, and
where both touch the same memory they touch the same element in the same iteration.
"""

from collections.abc import Iterable

from contad.engines.source.ir.lengths import same_length
from contad.engines.source.ir.single_assignment import (
    Apply,
    Block,
    Check,
    Create,
    Element,
    For,
    If,
    Kind,
    Length,
    Load,
    Operation,
    SourceProgram,
    Store,
    Value,
)
from contad.engines.source.ir.walks import find_written_roots, leaves, readers_of, walk

PLAIN = (Apply, Length, Load, Store, Check)  # what iterations do that may be joined
BETWEEN = (*PLAIN, Create, For, If)


def join_loops(program: SourceProgram) -> bool:
    """Join loops of a program where an array goes; whether there were any. What is stored is still to be simplified."""
    joining = _Joining(program)
    blocks = [program.block, *(inner for o in walk(program.block) for inner in o.blocks)]
    joined = [joining.join_in(block) for block in blocks]
    return any(joined)


class _Joining:
    """Joins loops, knowing who reads which value."""

    def __init__(self, program: SourceProgram) -> None:
        self.readers = readers_of(program)
        self.returned = {root for value in leaves(program.returned) if value.is_array for root in value.roots}

    def join_in(self, block: Block) -> bool:
        """Join the loops of a block, the last ones first: a loop may join one that has been joined."""
        joined = False
        for loop in reversed(block.operations):
            if isinstance(loop, For):
                later = self._find_reader(loop, block)
                if later is not None and self._may_join(loop, later, block):
                    block.operations.remove(loop)
                    self._join(loop, later)
                    joined = True
        return joined

    def _find_reader(self, loop: For, block: Block) -> For | None:
        """The one loop of a block that reads an array which this one fills, and which nothing else touches."""
        body = _innermost(loop)[-1].body
        for o in body.operations:
            if not isinstance(o, Store) or not isinstance(o.array.operation, Create) or o.array in self.returned:
                continue
            if o.stored.kind != Kind(o.array.kind.base):
                continue  # what is stored is not what is read
            users = [user for user in self.readers[o.array] if user.block is not body]
            if not users or not all(isinstance(user, Load) for user in users):
                continue
            if any(not isinstance(user, Store) for user in self.readers[o.array] if user.block is body):
                continue
            places = {user.block for user in users}
            found = [x for x in block.operations if isinstance(x, For) and _innermost(x)[-1].body in places]
            if len(places) == 1 and len(found) == 1:
                return found[0]
        return None

    def _may_join(self, loop: For, later: For, block: Block) -> bool:
        """Whether a loop may run together with a later one."""
        mine, others = _innermost(loop), _innermost(later)
        order = block.operations
        first, last = order.index(loop), order.index(later)
        if first > last or len(mine) != len(others) or (len(mine) > 1 and any(x.carried for x in mine)):
            return False
        if not all(map(_counts_alike, mine, others)):
            return False
        inside = [mine[-1].body.operations, others[-1].body.operations]
        if not all(isinstance(o, PLAIN) for operations in inside for o in operations):
            return False
        if any(isinstance(o, Check) for o in inside[0]) and any(isinstance(o, Check) for o in inside[1]):
            return False
        made = {value for x in mine for value in x.results}
        if any(x.count in self.readers for x in mine) or made & set(_read_by(later)):
            return False
        if not all(self._is_apart(loop, o, made) for o in order[first + 1 : last]):
            return False
        return _touch_alike(mine, others)

    def _is_apart(self, loop: For, between: Operation, made: set[Value]) -> bool:
        """Whether an operation behind a loop may run before it."""
        inside = [between, *(o for block in between.blocks for o in walk(block))]
        if not all(isinstance(o, BETWEEN) for o in inside) or made & set(_read_by(between)):
            return False
        if any(isinstance(o, Check) for o in inside) and any(isinstance(o, Check) for o in walk(loop.body)):
            return False
        mine = find_written_roots(loop)
        touched = _find_touched([loop, *walk(loop.body)])
        return not (mine & _find_touched(inside) or find_written_roots(between) & touched)

    def _join(self, loop: For, later: For) -> None:
        """Put what a loop does before what a later one does in the same iteration."""
        mine, others = _innermost(loop), _innermost(later)
        new = {a.index: b.index for a, b in zip(mine, others, strict=True)}
        body, operations = others[-1].body, others[-1].body.operations
        body.operations = []
        for o in mine[-1].body.operations:
            o.rewrite(lambda value: new.get(value, value))
            body.append(o)
        body.operations += operations
        if loop.carried:
            for c in loop.carried:
                c.following = new.get(c.following, c.following)
            later.carry([*loop.carried, *later.carried])


def _innermost(loop: For) -> list[For]:
    """A nest of loops with nothing between them, from the outermost in."""
    nest = [loop]
    while len(nest[-1].body.operations) == 1 and isinstance(inner := nest[-1].body.operations[0], For):
        nest.append(inner)
    return nest


def _counts_alike(a: For, b: For) -> bool:
    """Whether two loops have the same indices, and nothing else that tells them apart."""
    if any(x.exit is not None or x.is_parallel or x.checkpointed for x in (a, b)):
        return False
    if any(x.start.constant != 0 or x.step.constant != 1 for x in (a, b)):
        return False
    return same_length(a.stop, b.stop)


def _read_by(o: Operation) -> Iterable[Value]:
    """The values that an operation reads, and those inside it."""
    yield from o.reads()
    for block in o.blocks:
        for inner in walk(block):
            yield from inner.reads()


def _find_touched(operations: Iterable[Operation]) -> set[Value]:
    """The arrays whose elements are read or written."""
    return {root for o in operations if isinstance(o, Element) for root in o.array.roots}


def _touch_alike(mine: list[For], others: list[For]) -> bool:
    """Whether two nests touch what one of them writes at the same element in the same iteration, and in no other."""
    here = [o for o in mine[-1].body.operations if isinstance(o, Element)]
    there = [o for o in others[-1].body.operations if isinstance(o, Element)]
    indices, matching = [x.index for x in others], {a.index: b.index for a, b in zip(mine, others, strict=True)}
    for a in here:
        for b in there:
            if not (isinstance(a, Store) or isinstance(b, Store)) or not set(a.array.roots) & set(b.array.roots):
                continue
            at = [matching.get(x, x) for x in a.indices]
            if a.array is not b.array or at != b.indices or not set(indices) <= set(at):
                return False
    return True
