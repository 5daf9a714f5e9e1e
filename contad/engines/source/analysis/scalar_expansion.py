"""Loop-invariant code motion with scalar expansion: values that vary only in inner loops move before the outer loop.

    for i in range(n):                        scales = np.empty(m)
        for j in range(m):                    for j in range(m):
            s += exp(a[j]) * x[i, j]   ->         scales[j] = exp(a[j])
                                              for i in range(n):
                                                  for j in range(m):
                                                      s += scales[j] * x[i, j]

The reverse sweep gains as much: the outer loop adds to the adjoints of the elements, and the derivative of the function
is computed once for each element. Only functions that take much longer than a read of an element are moved. If a loop
runs zero times, the elements are not computed, because their operands need not exist. Functions also leave branches,
and move before checks, if a comparison of lengths shows that their operands exist.

Ref: Muchnick (1997), section 13.2 (loop-invariant code motion); Allen & Kennedy (2001), section 5.3 (scalar expansion).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from contad.engines.source.analysis.hoist import SPECULATED, is_movable, runs
from contad.engines.source.analysis.shared_callees import raises
from contad.engines.source.ir import known_functions, ssa
from contad.engines.source.ir.clones import clone
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.walks import find_written_roots, is_inside, walk

_Operation = TypeVar("_Operation", bound=ssa.Operation)
DEAR = 20.0  # cheaper functions are not worth an array; in units of an addition


def expand_scalars(function: ssa.SourceFunction) -> bool:
    """Move invariant computations of inner loops in front of the outer loop; True if any was moved."""
    changed = False
    for loop in [o for o in walk(function.block) if isinstance(o, ssa.For) and o.step.constant]:
        invariants = _Invariants(function, loop)
        for nest, moved in invariants.find().items():
            invariants.move(nest, moved)
            changed = True
    return changed


class _Place(NamedTuple):
    """All loops between a loop and a number computed inside, and those of them over which the number varies."""

    around: tuple[ssa.For, ...]
    own: tuple[ssa.For, ...]
    bounds: tuple[tuple[ssa.Value, ssa.Value, int], ...]  # stops of loops, and the axes of arrays that are as long


class _Invariants:
    """The numbers computed inside a loop that are the same in each iteration of the loop."""

    def __init__(self, function: ssa.SourceFunction, loop: ssa.For) -> None:
        self.function, self.loop = function, loop
        self.written = find_written_roots(loop)
        self.parts: dict[ssa.Value, list[ssa.Operation] | None] = {}

    # ---- finding -----------------------------------------------------------------------------------------------------
    def find(self) -> dict[_Place, list[ssa.Apply]]:
        """The functions that are worth an array, grouped by the loops around them."""
        found: dict[_Place, list[ssa.Apply]] = {}
        is_certain = True  # whether an operation runs whenever the loops around it do
        for o, around, in_branch in self._list_inner(self.loop.body, (), False):
            is_certain = is_certain and not raises(o)
            if (
                around
                and isinstance(o, ssa.Apply)
                and o.result.kind == ssa.FLOAT
                and self._is_dear(o)
                and self._is_read(o)
                and ((is_certain and not in_branch) or self._is_harmless(o, around))
            ):
                parts = self.compute(o.result) or ()
                read = {x for part in parts for x in part.inputs}
                bounds = [] if is_certain and not in_branch else list(self._list_bounds(parts))
                nest = _Place(around, tuple(h for h in around if h.index in read), tuple(dict.fromkeys(bounds)))
                if nest.own:
                    found.setdefault(nest, []).append(o)
        return found

    def _list_inner(
        self, block: ssa.Block, around: tuple[ssa.For, ...], in_branch: bool
    ) -> Iterator[tuple[ssa.Operation, tuple[ssa.For, ...], bool]]:
        """The operations inside the loop, each with the loops around it, and whether a branch is; no loops if they are
        unlike those that can be built before the loop.
        """
        for o in block.operations:
            yield o, around, in_branch
            first = o.start.constant if isinstance(o, ssa.For) and o.exit is None and o.step.constant == 1 else None
            if isinstance(o, ssa.For) and first is not None and first >= 0 and not is_inside(o.stop.block, self.loop):
                yield from self._list_inner(o.body, (*around, o), in_branch)
            elif isinstance(o, ssa.If):
                for inner in o.blocks:
                    yield from self._list_inner(inner, around, True)
            else:
                yield from ((x, (), True) for inner in o.blocks for x in walk(inner))

    def _is_harmless(self, o: ssa.Apply, around: tuple[ssa.For, ...]) -> bool:
        """Whether a number may be computed where its operation does not run: its functions neither raise nor take
        long, and a comparison of lengths shows that the elements that it reads exist.
        """
        indices = {loop.index for loop in around}
        return all(
            {*part.indices} <= indices and part.guard is None and not is_inside(part.array.block, self.loop)
            if isinstance(part, ssa.Load)
            else isinstance(part, ssa.Apply) and is_movable(part.function) and part.function.cost <= SPECULATED
            for part in self.compute(o.result) or ()
        )

    def _list_bounds(self, parts: Iterable[ssa.Operation]) -> Iterator[tuple[ssa.Value, ssa.Value, int]]:
        """The limits of indices, with the array and the axis whose length they must not exceed."""
        for part in parts:
            for axis, index in enumerate(part.indices if isinstance(part, ssa.Load) else ()):
                assert isinstance(index.operation, ssa.For) and isinstance(part, ssa.Load)
                yield index.operation.stop, part.array, axis

    def _is_dear(self, o: ssa.Apply) -> bool:
        parts = self.compute(o.result) or ()
        return any(isinstance(part, ssa.Apply) and part.function.cost >= DEAR for part in parts)

    def _is_read(self, o: ssa.Apply) -> bool:
        """Whether an operation that is not moved reads the number."""
        readers = (x for x in walk(self.loop.body) if o.result in x.reads())
        return any(not isinstance(x, ssa.Apply) or self.compute(x.result) is None for x in readers)

    def compute(self, value: ssa.Value) -> list[ssa.Operation] | None:
        """The operations inside the loop that compute a value, in order; None if iterations differ in it."""
        if value not in self.parts:
            self.parts[value] = self._compute(value)
        return self.parts[value]

    def _compute(self, value: ssa.Value) -> list[ssa.Operation] | None:
        """Follow the operands of a value back to the start of the loop."""
        o = value.operation
        if value.constant is not None or not is_inside(value.block, self.loop):
            return []
        if isinstance(o, ssa.For):
            return [] if value is o.index and o is not self.loop else None
        if not isinstance(o, (ssa.Apply, ssa.Load, ssa.View, ssa.Length)) or (
            isinstance(o, ssa.Load) and self._is_written(o.array)
        ):
            return None
        found: dict[ssa.Operation, None] = {}
        for x in o.inputs:
            parts = self.compute(x)
            if parts is None:
                return None
            found |= dict.fromkeys(parts)
        return [*found, o]

    def _is_written(self, array: ssa.Value) -> bool:
        return not self.written.isdisjoint(array.roots)

    # ---- moving ------------------------------------------------------------------------------------------------------
    def move(self, nest: _Place, moved: list[ssa.Apply]) -> None:
        """Build a nest of loops before the loop that computes the numbers, and loads of them in the loop."""
        before: list[ssa.Operation] = []
        lengths = [self._find_length(own.stop, before) for own in nest.own]
        new = {own.index: ssa.Value(ssa.INT, own.index.hint) for own in nest.own}
        body = ssa.Block()
        for o in moved:
            for part in self.compute(o.result) or ():
                if part.result not in new:
                    body.append(*clone([part], new))
            array = ssa.Value(ssa.Kind("float", len(nest.own)), f"{o.result.hint or o.function.name}s")
            array.order = "C"
            before.append(_note(ssa.Create("empty", lengths, array), o))
            body.append(_note(ssa.Store(array, [new[own.index] for own in nest.own], new[o.result]), o))
            read = _note(ssa.Load(array, [own.index for own in nest.own], o.result), o)
            read.block = o.block
            assert o.block is not None
            o.block.operations[o.block.operations.index(o)] = read
        for own in reversed(nest.own):
            inner, body = body, ssa.Block()
            body.append(_note(ssa.For([own.start, own.stop, constant(1)], new[own.index], inner), own))
        test = self._find_test(nest, before)
        self._insert(
            [*before, *(body.operations if test is None else [_note(ssa.If(test, body, ssa.Block()), self.loop)])]
        )
        self.parts.clear()

    def _find_length(self, stop: ssa.Value, before: list[ssa.Operation]) -> ssa.Value:
        """The length of an axis whose elements a loop visits up to `stop`."""
        if isinstance(stop.operation, ssa.Length) or (stop.constant or 0) > 0:
            return stop
        more = ssa.Apply(known_functions.COMPARISONS["Gt"], [stop, constant(0)], ssa.Value(ssa.BOOL))
        length = ssa.Apply(known_functions.SELECT, [more.result, stop, constant(0)], ssa.Value(ssa.INT))
        before += [_note(more, self.loop), _note(length, self.loop)]
        return length.result

    def _find_test(self, nest: _Place, before: list[ssa.Operation]) -> ssa.Value | None:
        """A test that all loops run: otherwise the operands need not exist. None if it is known that they run."""
        test: ssa.Value | None = None
        for loop in (self.loop, *(h for h in nest.around if h not in nest.own)):
            one, made = runs(loop)
            before += made
            test = test if one.constant is True else self._join(test, one, before)
        for stop, array, axis in nest.bounds:
            length = _note(ssa.Length(array, axis, ssa.Value(ssa.INT)), self.loop)
            fits = _note(
                ssa.Apply(known_functions.COMPARISONS["LtE"], [stop, length.result], ssa.Value(ssa.BOOL)), self.loop
            )
            before += [length, fits]
            test = self._join(test, fits.result, before)
        return test

    def _join(self, test: ssa.Value | None, more: ssa.Value, before: list[ssa.Operation]) -> ssa.Value:
        """Both tests."""
        if test is None:
            return more
        before.append(_note(ssa.Apply(known_functions.AND, [test, more], ssa.Value(ssa.BOOL)), self.loop))
        return before[-1].result

    def _insert(self, operations: list[ssa.Operation]) -> None:
        """Put operations before the loop."""
        block = self.loop.block
        assert block is not None
        place = block.operations.index(self.loop)
        later, block.operations = block.operations[place:], block.operations[:place]
        for o in operations:
            block.append(o)
        block.operations += later


def _note(o: _Operation, like: ssa.Operation) -> _Operation:
    """An operation, with the line of the user's source that `like` has."""
    o.file, o.line = like.file, like.line
    return o
