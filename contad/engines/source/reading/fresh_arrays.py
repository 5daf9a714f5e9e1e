"""Arrays that a branch or a loop creates and that outlive it.

For a branch, the creation of the array moves before the branch; after it, a number tells which array a name refers to.
A loop creates a new array in every iteration, so it carries the *contents*: at its end, each iteration copies the array
of the name into a buffer that was created before the loop. That is correct unless the function writes to an array with
two names, because two buffers would be two arrays. Such writes are refused.
"""

from typing import Any

from contad.engines.source.ir import known_functions, ssa
from contad.engines.source.ir.entries import Yielding, constant
from contad.engines.source.ir.lengths import lies_in
from contad.engines.source.ir.walks import around, find_written_roots, leaves, precedes, walk
from contad.engines.source.reading.builder import WHOLE, Builder
from contad.engines.source.reading.progress import Environment

_SAFE = {"add", "subtract", "multiply", "negative", "square", "select", "and", "or", "not"}
_SAFE |= {"<", "<=", ">", ">=", "==", "!="}
GROWS = ssa.limit("an array becomes longer in a loop than a run of it beforehand has told; make it of the final length")
CHANGES = ssa.limit("an array that a loop carries changes its shape; make a new name for it")


class Buffer:
    """Holds the contents of an array that each iteration of a loop may recreate."""

    def __init__(self, name: str, array: ssa.Value, initial: ssa.Value) -> None:
        """Hold the array of a name; inside a generator, the names of the caller have a prefix."""
        self.name = name.rpartition(".")[2]
        self.array, self.initial = array, initial
        self.loop: ssa.Loop | None = None
        self.may_be: set[ssa.Value] = set()  # the arrays whose contents it may hold
        self.shrinks: frozenset[int] = frozenset()  # axes along which an iteration may fill less than the whole buffer
        self.rooms: dict[int, ssa.Value] = {}  # lengths along axes along which the array may grow
        self.made: list[ssa.Operation] = []  # the operations that create and fill it before the loop
        self.inner = array  # the name's array in an iteration: the buffer, or its first part
        self.shared_before = False  # whether another name may refer to the same array before the loop
        self.shared = False


class FreshArrays:
    """Moves arrays out of branches, and carries their contents through loops."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.progress = builder.progress
        self.buffers: dict[ssa.Value, Buffer] = {}  # by array
        self.copying: set[ssa.Operation] = set()  # the stores that fill buffers
        self.copies = UnsharedCopies()

    def copy_into(self, target: ssa.Value, source: ssa.Value) -> None:
        """target[...] = source, of the same shape; these stores are not the user's."""

        def nest(indices: list[ssa.Value]) -> None:
            if len(indices) == target.kind.ndim:
                self.copying.add(self.builder.add(ssa.Store(target, indices, self.builder.load(source, indices))))
            else:
                self.builder.repeat(self.builder.length(target, len(indices)), lambda k: nest([*indices, k]))

        nest([])

    def room_for(self, array: ssa.Value, hint: str) -> ssa.Value:
        """A new array of the shape of another."""
        lengths = [self.builder.length(array, axis) for axis in range(array.kind.ndim)]
        return self.builder.create("empty", lengths, array.kind.elements, hint)

    # ---- branches ----------------------------------------------------------------------------------------------------
    def move_out(self, branch: ssa.If, envs: list[Environment]) -> None:
        """Create arrays that outlive a branch before the branch, which is not added yet."""
        for block, env, other in zip(branch.blocks, envs, envs[::-1], strict=True):
            for name in env:
                self._move(env[name], other.get(name), branch, block)

    def _move(self, entry: Any, other: Any, branch: ssa.If, block: ssa.Block) -> None:
        if isinstance(entry, tuple) and isinstance(other, tuple):
            for x, y in zip(entry, other, strict=False):
                self._move(x, y, branch, block)
        if isinstance(entry, ssa.Value) and isinstance(other, ssa.Value) and entry is not other and entry.is_array:
            made = entry.operation
            for array in made.inputs[1:] if isinstance(made, ssa.Choose) else [entry]:
                self._leave(array, branch, block)

    def _leave(self, value: ssa.Value, branch: ssa.If, block: ssa.Block) -> bool:
        """Move the computation of a value before a branch, if possible; True if the value is available there."""
        if value.constant is not None or not lies_in(value, block):
            return True
        o = value.operation
        if o is None or o.block is not block:
            return False
        if not _cannot_fail(o) or not all(self._leave(x, branch, block) for x in o.inputs):
            return False
        if isinstance(o, ssa.Create):  # the branch may guard against invalid lengths
            o.inputs = [self._length_if_taken(x, branch, block) for x in o.inputs]
        block.operations.remove(o)
        self.builder.block.append(o)
        return True

    def _length_if_taken(self, length: ssa.Value, branch: ssa.If, block: ssa.Block) -> ssa.Value:
        if isinstance(length.operation, ssa.Length) or (length.constant is not None and length.constant >= 0):
            return length
        taken = (length, constant(0)) if block is branch.blocks[0] else (constant(0), length)
        found: ssa.Value = self.builder.apply(known_functions.SELECT, branch.inputs[0], *taken)
        return found

    # ---- loops -------------------------------------------------------------------------------------------------------
    def buffer(self, name: str, initial: ssa.Value, before: Environment) -> Buffer:
        """A buffer for the array of a name, with its contents before the loop."""
        found = self._make(name, initial, {})
        entries = [entry for env in (before, *self.progress.frames) for tree in env.values() for entry in leaves(tree)]
        waiting = [x for x in entries if isinstance(x, Yielding)]
        entries += [entry for x in waiting for tree in x.given.values() for entry in leaves(tree)]
        holders = sum(isinstance(entry, ssa.Value) and initial in entry.roots for entry in entries)
        found.shared_before = not isinstance(initial.operation, ssa.Create) or holders > 1
        return found

    def enlarge(self, buffer: Buffer, rooms: dict[int, ssa.Value], shrinks: frozenset[int]) -> Buffer:
        """Replace a buffer that is too short along these axes."""
        for o in buffer.made:
            self.builder.block.operations.remove(o)
        del self.buffers[buffer.array]
        found = self._make(buffer.name, buffer.initial, buffer.rooms | rooms)
        found.shrinks, found.shared_before = shrinks, buffer.shared_before
        return found

    def _make(self, name: str, initial: ssa.Value, rooms: dict[int, ssa.Value]) -> Buffer:
        """A buffer that holds an array, with more room along some axes."""
        first = len(self.builder.block.operations)
        lengths = {axis: self.builder.length(initial, axis) for axis in range(initial.kind.ndim)}
        array = self.builder.create("empty", list((lengths | rooms).values()), initial.kind.elements, name)
        found = self.buffers[array] = Buffer(name, array, initial)
        found.rooms = rooms
        self.copy_into(self.first_part(found, {axis: lengths[axis] for axis in rooms}) if rooms else array, initial)
        found.made = self.builder.block.operations[first:]
        return found

    def carry_contents(self, pairs: list[tuple[Buffer, ssa.Value]], body: ssa.Block) -> None:
        """At the end of a loop's body, copy the array of each name into its buffer, as if simultaneously."""
        for buffer, array in pairs:
            own = buffer.array
            others = [root for b, x in pairs if b is not buffer for root in (*x.roots, b.array)]
            foreign = any(root is not own and (root in others or not lies_in(root, body)) for root in array.roots)
            foreign = foreign or any(own in x.roots for b, x in pairs if b is not buffer)
            buffer.shared = buffer.shared_before or foreign
            buffer.may_be = {*buffer.initial.roots, *array.roots} - {own}
        with self.builder.inside(body):
            waiting = [(b, x) for b, x in pairs if x is not b.inner]
            for buffer, array in waiting:
                for axis in range(array.kind.ndim):
                    a, b = self.builder.length(buffer.array, axis), self.builder.length(array, axis)
                    if axis in buffer.rooms:
                        self.builder.add(ssa.Check(self.builder.apply(known_functions.COMPARISONS["Lt"], a, b), GROWS))
                    elif a is not b and axis not in buffer.shrinks:
                        self.builder.add(
                            ssa.Check(self.builder.apply(known_functions.COMPARISONS["NotEq"], a, b), CHANGES)
                        )
            while waiting:
                k = next((k for k in range(len(waiting)) if self._is_free(k, waiting)), None)
                if k is None:  # the names swap their arrays
                    buffer, array = waiting[0]
                    waiting[0] = buffer, self.room_for(array, array.hint)
                    self.copy_into(waiting[0][1], array)
                else:
                    self._renew(*waiting.pop(k))

    def first_part(self, buffer: Buffer, lengths: dict[int, ssa.Value]) -> ssa.Value:
        """The used part of a buffer, by its lengths along the axes that shrink."""
        axes = range(buffer.array.kind.ndim)
        return self.builder.view(
            buffer.array, [(None, lengths[axis], None) if axis in lengths else WHOLE for axis in axes]
        )

    def _is_free(self, k: int, waiting: list[tuple[Buffer, ssa.Value]]) -> bool:
        """Whether a buffer may be filled before the waiting ones: none of them reads it."""
        buffer, array = waiting[k]
        target = buffer.array
        own = self._others(buffer, array) if target in array.roots else [array]
        return not any(target in x.roots for x in [*own, *(x for j, (_, x) in enumerate(waiting) if j != k)])

    def _others(self, buffer: Buffer, array: ssa.Value) -> list[ssa.Value]:
        """The arrays of a name other than its buffer itself."""
        return [x for x in self.builder.candidates(array).values() if x is not buffer.inner]

    def _renew(self, buffer: Buffer, array: ssa.Value) -> None:
        """Fill a buffer with the array of its name, unless that is the buffer itself."""
        if buffer.array not in array.roots:
            self._fill(buffer, array)
            return
        candidates = self.builder.candidates(array)
        (number,) = (n for n, x in candidates.items() if x is buffer.inner)
        with self.builder.inside(ssa.Block()) as block:
            self._fill(buffer, self.choose_among(array, {n: x for n, x in candidates.items() if n != number}))
        changed = self.builder.apply(
            known_functions.COMPARISONS["NotEq"], self.builder.number_of(array), constant(number)
        )
        self.builder.add(ssa.If(changed, block, ssa.Block()))

    def _fill(self, buffer: Buffer, array: ssa.Value) -> None:
        lengths = {axis: self.builder.length(array, axis) for axis in sorted(buffer.shrinks)}
        self.copy_into(self.first_part(buffer, lengths) if lengths else buffer.array, array)

    def choose_among(self, array: ssa.Value, arrays: dict[int, ssa.Value]) -> ssa.Value:
        """A choice among only some of its arrays."""
        if len(arrays) == 1:
            return next(iter(arrays.values()))
        return self.builder.choose(self.builder.number_of(array), arrays, array.hint)

    # ---- writes into carried arrays ----------------------------------------------------------------------------------
    def wrongly_written(self, block: ssa.Block) -> tuple[ssa.Operation, Buffer] | None:
        """A user's write into an array that may have two names, one of them carried; and its buffer."""
        operations = list(walk(block))
        live = set(operations)
        buffers = [b for b in self.buffers.values() if b.loop in live]
        for o in operations:
            if isinstance(o, (ssa.Store, ssa.Accumulate)) and o not in self.copying:
                for buffer in buffers:
                    if self._is_wrong(o, buffer):
                        return o, buffer
        return None

    def _is_wrong(self, o: ssa.Store | ssa.Accumulate, buffer: Buffer) -> bool:
        """Whether a write may go to an array with two names, one of which has a buffer."""
        copied = self._find_copies(buffer)
        if buffer.array in o.array.roots and any(b.shared for b in copied):
            return True
        assert buffer.loop is not None
        outside = next((holder for holder in around(buffer.loop.block) if isinstance(holder, ssa.Loop)), None)
        if outside is not None and outside not in around(o.block):
            return False  # an array that outlives an iteration has its own buffer
        if not set(o.array.roots) & {root for b in copied for root in b.may_be} or precedes(o, buffer.loop):
            return False
        # an iteration writes its own arrays before they are copied at its end
        bodies = [[loop.body for loop in (b.loop, buffer.loop) if loop is not None] for b in copied]
        return any(
            root in b.may_be and root is not buffer.array and not any(lies_in(root, body) for body in own)
            for root in o.array.roots
            for b, own in zip(copied, bodies, strict=True)
            # an array with this name only can be written later only if the loop did not run, in another branch
            if root is not b.initial or b.shared_before
        )

    def _find_copies(self, buffer: Buffer) -> list[Buffer]:
        """A buffer and all buffers of which it may be a copy."""
        found = [buffer]
        for b in found:
            more = [self.buffers[root] for root in b.may_be if root in self.buffers]
            found += [x for x in more if x not in found]
        return found


def _cannot_fail(o: ssa.Operation) -> bool:
    """Whether an operation may run although the user's function does not run it."""
    if isinstance(o, ssa.Reshaped):
        return False
    if isinstance(o, ssa.View):  # slices with nonzero steps
        return all(
            part == ssa.NEW_AXIS or (isinstance(part, tuple) and (part[2] is None or bool(o.inputs[part[2]].constant)))
            for part in o.spec or ()
        )
    return isinstance(o, (ssa.Create, ssa.Choose, ssa.Length)) or (
        isinstance(o, ssa.Apply) and o.function.name in _SAFE
    )


# ---- copies that may be the array itself in Numba --------------------------------------------------------------------
class UnsharedCopies:
    """Copies of arrays in calls where Numba returns a copy or the array itself, depending on its unknown memory layout.

    The difference does not matter unless one of them is written later; functions that do so are refused.
    """

    def __init__(self) -> None:
        self.found: list[
            tuple[ssa.Value, ssa.Value, set[ssa.Operation], int]
        ] = []  # array, copy, stores of the copy, line

    def add(self, array: ssa.Value, copy: ssa.Value, made: list[ssa.Operation], line: int) -> None:
        """Note a copy of an array, and the operations that fill it."""
        self.found.append((array, copy, {inner for o in made for inner in _with_inner(o)}, line))

    def find_written(self, block: ssa.Block) -> int | None:
        """The line of a copy that is written later, or whose array is; None if there is none."""
        operations = list(walk(block)) if self.found else []
        live = set(operations)
        writes = [o for o in operations if isinstance(o, (ssa.Store, ssa.Accumulate, ssa.MatrixCall))]
        for array, copy, own, line in self.found:
            if copy.operation not in live:  # the copy is from a discarded version of a loop body
                continue
            roots = {*array.roots, *copy.roots}
            for o in writes:
                if o not in own and roots & find_written_roots(o) and not _is_before(o, copy, array):
                    return line
        return None


def _with_inner(o: ssa.Operation) -> list[ssa.Operation]:
    return [o, *(inner for block in o.blocks for inner in walk(block))]


def _is_before(o: ssa.Operation, copy: ssa.Value, array: ssa.Value) -> bool:
    """Whether a write precedes the copy of an array that the same iteration creates."""
    made = copy.operation
    assert made is not None
    loops = [holder for holder in around(made.block) if isinstance(holder, ssa.Loop)]
    if loops and not all(loops[0] in around(root.block) for root in array.roots):
        return False
    return precedes(o, made)
