"""Merges entries where control flow joins: those of two branches, and those of successive iterations of a loop.

Numbers are merged and carried as numbers. If a name switches between arrays (`u, w = w, u`), an integer is merged and
carried: the number of its array. So the reverse sweep replays it like any other integer. For an array that an iteration
creates, the contents are carried.
"""

import ast
import copy
from collections.abc import Callable
from typing import Any

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import UNDEFINED, Complex, Unknown, constant, default, is_number, join_kinds, same
from contad.engines.source.ir.lengths import is_within, lies_in, may_differ, same_length
from contad.engines.source.ir.ssa import BOOL, FLOAT, INT, Apply, Block, Carried, If, Kind, Loop, Value
from contad.engines.source.ir.walks import leaves, like
from contad.engines.source.reading.fresh_arrays import Buffer, FreshArrays
from contad.engines.source.reading.progress import Environment
from contad.errors import UnsupportedError

_MADE_INSIDE = (
    "it is bound to an array that is made inside the {}; make the array before it and write into it, as in {}[:] = ..."
)


class Switch:
    """The pattern of a name that may refer to one of several arrays, by number."""

    def __init__(self, arrays: dict[int, Value]) -> None:
        self.arrays = arrays


class Merging:
    """Writes branches and loops, and merges environments (dicts from names to entries)."""

    def __init__(self, fresh: FreshArrays) -> None:
        self.fresh, self.builder, self.progress = fresh, fresh.builder, fresh.progress

    # ---- branches ----------------------------------------------------------------------------------------------------
    def branch(
        self,
        condition: Value,
        env: Environment,
        then: Callable[[Environment], None],
        otherwise: Callable[[Environment], None],
    ) -> None:
        """Write an If: each of two functions writes one branch and changes its copy of the environment."""
        line = self.progress.line
        envs = []
        blocks = []
        for write in (then, otherwise):
            with self.builder.inside(Block()) as block:
                changed = dict(env)
                self.progress.branch_depth += 1
                write(changed)
                self.progress.branch_depth -= 1
            envs.append(changed)
            blocks.append(block)
        operation = If(condition, *blocks)
        self.progress.line = line
        self.fresh.move_out(operation, envs)
        self.builder.add(operation)
        for name in dict.fromkeys([*envs[0], *envs[1]]):
            a, b = (e.get(name, UNDEFINED) for e in envs)
            env[name] = self.merge(operation, a, b, name)

    def merge(self, branch: If, a: Any, b: Any, name: str) -> Any:
        """The entry that is a after one branch and b after the other."""
        if same(a, b):
            return a
        if a is UNDEFINED and is_number(b):
            a = default(b.kind)
        if b is UNDEFINED and is_number(a):
            b = default(a.kind)
        if is_number(a) and is_number(b):
            return self._merge_numbers(branch, a, b, name)
        a, b = _promote(a, b), _promote(b, a)
        if isinstance(a, tuple) and b is UNDEFINED:
            b = like(a, (UNDEFINED,) * len(a))
        if isinstance(b, tuple) and a is UNDEFINED:
            a = like(b, (UNDEFINED,) * len(b))
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return like(a, (self.merge(branch, x, y, name) for x, y in zip(a, b, strict=True)))
        if isinstance(a, Value) and isinstance(b, Value) and a.kind == b.kind:
            candidates = self.builder.candidates(a) | self.builder.candidates(b)
            if any(lies_in(array, block) for array in candidates.values() for block in branch.blocks):
                return Unknown(_MADE_INSIDE.format("branch", name))
            selector = self._merge_numbers(branch, self.builder.number_of(a), self.builder.number_of(b), name)
            return self.builder.choose(selector, candidates, name)
        if isinstance(a, Unknown) and a is not UNDEFINED:
            return a
        if isinstance(b, Unknown) and b is not UNDEFINED:
            return b
        return Unknown("it stands for different things after the two branches of an if")

    def _merge_numbers(self, branch: If, a: Value, b: Value, name: str) -> Value:
        """The number that is a after one branch and b after the other."""
        if same(a, b):
            return a
        if (a.constant, b.constant) == (True, False) and a.kind == b.kind == BOOL:
            return branch.inputs[0]
        kind = join_kinds(a.kind, b.kind)
        with self.builder.inside(branch.blocks[0]):
            a = self.builder.convert(a, kind)
        with self.builder.inside(branch.blocks[1]):
            b = self.builder.convert(b, kind)
        return branch.merge(a, b, Value(kind, name))

    def choice(self, condition: Value, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """A conditional expression; cheap numbers are selected without a branch."""
        env: Environment = {}
        before = len(self.builder.block.operations)

        def write(make: Callable[[], Any]) -> Callable[[Environment], None]:
            return lambda changed: changed.update({"": make()})

        self.branch(condition, env, write(then), write(otherwise))
        made = self.builder.block.operations[before]
        result = env[""]
        if isinstance(made, If) and is_number(result) and result.operation is made:
            if all(isinstance(o, Apply) and o.function.cost <= 1.0 for block in made.blocks for o in block.operations):
                del self.builder.block.operations[before:]
                for block in made.blocks:
                    for o in block.operations:
                        self.builder.add(o)
                (merge,) = made.merges
                return self.builder.apply(known_functions.SELECT, condition, merge.then, merge.otherwise)
        return result

    # ---- loops -------------------------------------------------------------------------------------------------------
    def iterate(
        self, env: Environment, names: list[str], write: Callable[[Environment, Callable[[Environment], None]], Loop],
        count: Callable[..., Value],
    ) -> None:  # fmt: skip
        """Write a loop that assigns `names`.

        `write(env, start)` writes the blocks of the loop in the given environment, and returns the loop. It must call
        `start(env)` in the first block, which binds the names to carried values. The blocks are rewritten until the
        kinds of carried values are settled. `count(name, axis, refusal)` computes the greatest length of an array that
        grows.
        """
        line = self.progress.line
        patterns = {name: _pattern(env.get(name, UNDEFINED)) for name in names}
        before = self.builder.added
        while True:
            self.builder.added = before
            inner = dict(env)
            carrying = _Carrying(self, dict(patterns), env)
            loop = write(inner, carrying.start)
            settled = True
            for name in names:
                join = _Join(self, loop.blocks, name, env, _buffers(patterns.values()), count)
                pattern = join(patterns[name], env.get(name, UNDEFINED), inner.get(name, UNDEFINED))
                if not _equal(pattern, patterns[name]):
                    # a name first assigned in the body cannot have been read there before
                    settled = settled and patterns[name] is UNDEFINED
                    patterns[name] = pattern
            if settled:
                break
        carrying.patterns = patterns
        carrying.finish(loop.body, inner)
        loop.carry(list(carrying.carried.values()))
        self.progress.line = line
        self.builder.add(loop)
        carrying.leave(env)
        for buffer, _ in carrying.pairs:
            buffer.loop = loop


class _Join:
    """Joins the pattern that a loop carries for a name with the entry of the name after an iteration."""

    def __init__(
        self, merging: Merging, blocks: list[Block], name: str, before: Environment, buffers: set[Value],
        count: Callable[..., Value],
    ) -> None:  # fmt: skip
        self.merging, self.blocks, self.name, self.before, self.buffers = merging, blocks, name, before, buffers
        self.count = count
        self.body = blocks[-1]

    def __call__(self, pattern: Any, initial: Any, out: Any) -> Any:
        """The new pattern, if the name was bound to `initial` before the loop and to `out` after an iteration."""
        if isinstance(pattern, Kind) and is_number(out):
            return join_kinds(pattern, out.kind)
        if pattern is UNDEFINED:
            return self._first(out)
        if isinstance(pattern, Kind) and isinstance(out, Complex) and all(map(is_number, out)):
            return Complex(FLOAT, FLOAT)
        out = _promote(out, pattern)
        if isinstance(pattern, Unknown):
            return pattern
        if isinstance(out, Unknown):
            return out
        if isinstance(pattern, tuple) and isinstance(out, tuple) and len(pattern) == len(out):
            return like(pattern, map(self, pattern, _parts(initial, pattern), out))
        if isinstance(pattern, _Fixed) and same(pattern.entry, out):
            return pattern
        if isinstance(out, Value) and out.is_array and isinstance(pattern, (_Fixed, Switch, Buffer)):
            return self._array(pattern, initial, out)
        return Unknown("it stands for different things before a loop and at the end of its body")

    def _first(self, out: Any) -> Any:
        """The pattern of a name that the body assigns first."""
        if is_number(out) or out is UNDEFINED:
            return _pattern(out)
        return like(out, map(self._first, out)) if isinstance(out, tuple) else self._unknown()

    def _unknown(self) -> Unknown:
        return Unknown(_MADE_INSIDE.format("loop", self.name))

    def _array(self, pattern: Any, initial: Any, out: Value) -> Any:
        if not (isinstance(initial, Value) and initial.kind == out.kind):
            return Unknown("it stands for arrays of different types before a loop and at the end of its body")
        if isinstance(pattern, Buffer):
            return self._of_other_length(pattern, out)
        before = pattern.arrays if isinstance(pattern, Switch) else self.merging.builder.candidates(initial)
        now = self.merging.builder.candidates(out)
        if not any(lies_in(x, self.body) for x in now.values()) and not self.buffers & set(out.roots):
            return Switch(dict(sorted((before | now).items())))
        return self.merging.fresh.buffer(self.name, initial, self.before) if not out.kind.narrow else self._unknown()

    def _of_other_length(self, buffer: Buffer, out: Value) -> Buffer:
        """A buffer that allows for the axes along which its array shrinks or grows."""
        shrinks = set(buffer.shrinks)
        longer: dict[int, bool] = {}  # by axis, whether its length certainly differs
        if out is buffer.inner:
            return buffer
        with self.merging.builder.inside(self.body):
            for axis in sorted(set(range(out.kind.ndim)) - buffer.rooms.keys()):
                limit, length = self.merging.builder.length(buffer.array, axis), self.merging.builder.length(out, axis)
                changes = may_differ(length, limit, self.blocks) or self._is_of_longer(out, axis)
                computed = limit.constant is not None and isinstance(length.operation, Apply)
                if axis in shrinks or (not same_length(limit, length) and (changes or computed)):
                    if not is_within(length, limit):
                        longer[axis] = changes or axis in shrinks
                    shrinks.add(axis)
        rooms: dict[int, Value] = {}
        for axis, is_sure in longer.items():
            try:
                rooms[axis] = self.count(self.name, axis, self._refusal())
            except UnsupportedError:
                if is_sure:
                    raise
                shrinks.remove(axis)  # a check at run time finds it
        if rooms:
            return self.merging.fresh.enlarge(buffer, rooms, frozenset(shrinks))
        if shrinks == buffer.shrinks:
            return buffer
        changed = copy.copy(buffer)
        changed.shrinks = frozenset(shrinks)
        self.merging.fresh.buffers[buffer.array] = changed
        return changed

    def _is_of_longer(self, out: Value, axis: int) -> bool:
        """Whether an array may be that of another name which grows."""
        buffers = self.merging.fresh.buffers
        return any(axis in buffers[root].rooms for root in out.roots if root in buffers)

    def _refusal(self) -> UnsupportedError:
        """The error if the greatest length is not known before the loop."""
        what = f"the array {self.name.rpartition('.')[2]}, which may have another length after each iteration"
        progress, remedy = self.merging.progress, "make one array of the final length, and write into it"
        return progress.refusal(ast.Pass(lineno=progress.line), what, remedy)


def _buffers(patterns: Any) -> set[Value]:
    """The buffers in the patterns of a loop."""
    return {p.array for pattern in patterns for p in leaves(pattern) if isinstance(p, Buffer)}


class _Fixed:
    """The pattern of a name with the same entry in every iteration."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry


def _pattern(entry: Any) -> Any:
    if isinstance(entry, Unknown):
        return entry
    if is_number(entry):
        return entry.kind
    return like(entry, map(_pattern, entry)) if isinstance(entry, tuple) else _Fixed(entry)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Switch) and isinstance(b, Switch):
        return a.arrays == b.arrays
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a is b or (isinstance(a, Kind) and a == b)


class _Carrying:
    """The numbers that a loop carries, by name and place in nested tuples."""

    def __init__(self, merging: Merging, patterns: dict[str, Any], before: Environment) -> None:
        self.merging, self.patterns, self.before = merging, patterns, before
        self.carried: dict[tuple[Any, ...], Carried] = {}

    # ---- at the start of the body ------------------------------------------------------------------------------------
    def start(self, env: Environment) -> None:
        """Bind the names to the carried values; called inside the body."""
        for name, pattern in self.patterns.items():
            env[name] = self._inner(pattern, self.before.get(name, UNDEFINED), (name,))

    def _inner(self, pattern: Any, initial: Any, place: tuple[Any, ...]) -> Any:
        """The entry of a name at the start of an iteration."""
        if isinstance(pattern, Kind):
            return self._carry(initial, pattern, place).inner
        if isinstance(pattern, Switch):
            selector = self._carry(self.merging.builder.number_of(initial), INT, place).inner
            return self.merging.builder.choose(selector, pattern.arrays, place[0])
        if isinstance(pattern, Buffer):
            if pattern.shrinks:
                carried = {axis: self._carry(n, INT, (*place, axis)) for axis, n in self._lengths(pattern).items()}
                lengths = {axis: c.inner for axis, c in carried.items()}
                pattern.inner = self.merging.fresh.first_part(pattern, lengths)
            return pattern.inner
        if isinstance(pattern, tuple):
            parts = enumerate(zip(pattern, _parts(initial, pattern), strict=True))
            return like(pattern, (self._inner(p, x, (*place, k)) for k, (p, x) in parts))
        return pattern.entry if isinstance(pattern, _Fixed) else pattern

    def _lengths(self, buffer: Buffer) -> dict[int, Value]:
        """The lengths of a buffer along the axes that shrink."""
        return {axis: self.merging.builder.length(buffer.initial, axis) for axis in sorted(buffer.shrinks)}

    def _carry(self, initial: Any, kind: Kind, place: tuple[Any, ...]) -> Carried:
        initial = default(kind) if initial is UNDEFINED else initial
        inner = Value(kind, place[0])
        inner.block = self.merging.builder.block  # the length changes in the body
        inner.adds_in_any_order = getattr(self.merging.progress.scope.function, "adds_in_any_order", False)
        self.carried[place] = Carried(initial, inner, inner, Value(kind, place[0]))
        return self.carried[place]

    # ---- at its end --------------------------------------------------------------------------------------------------
    def finish(self, body: Block, env: Environment) -> None:
        """Note the values for the next iteration: the entries of the names at the end of the body."""
        self.pairs: list[tuple[Buffer, Value]] = []
        for name, pattern in self.patterns.items():
            self._follow(pattern, env.get(name, UNDEFINED), (name,), body)
        self.merging.fresh.carry_contents(self.pairs, body)
        for carried in self.carried.values():
            carried.initial = self.merging.builder.convert(carried.initial, carried.inner.kind)

    def _follow(self, pattern: Any, out: Any, place: tuple[Any, ...], body: Block) -> None:
        """Note the values of a name for the next iteration."""
        if isinstance(pattern, Switch):
            pattern, out = INT, self.merging.builder.number_of(out)
        if isinstance(pattern, Kind):
            # a name first assigned in the body is carried for readers after the loop
            carried = self.carried.get(place) or self._carry(UNDEFINED, pattern, place)
            with self.merging.builder.inside(body):
                carried.following = self.merging.builder.convert(out, pattern)
        elif isinstance(pattern, Buffer):
            self.pairs.append((pattern, out))
            for axis in sorted(pattern.shrinks):
                carried = self.carried[(*place, axis)]
                if out is not pattern.inner:
                    with self.merging.builder.inside(body):
                        carried.following = self.merging.builder.length(out, axis)
        elif isinstance(pattern, tuple):
            for k, (p, x) in enumerate(zip(pattern, _promote(out, pattern), strict=True)):
                self._follow(p, x, (*place, k), body)

    # ---- after the loop ----------------------------------------------------------------------------------------------
    def leave(self, env: Environment) -> None:
        """Bind the names to the results of the loop."""
        for name, pattern in self.patterns.items():
            env[name] = self._result(pattern, (name,))

    def _result(self, pattern: Any, place: tuple[Any, ...]) -> Any:
        """The entry of a name after the loop."""
        if isinstance(pattern, Kind):
            return self.carried[place].result
        if isinstance(pattern, Switch):
            return self.merging.builder.choose(self.carried[place].result, pattern.arrays, place[0])
        if isinstance(pattern, Buffer):
            lengths = {axis: self.carried[(*place, axis)].result for axis in sorted(pattern.shrinks)}
            return self.merging.fresh.first_part(pattern, lengths) if lengths else pattern.array
        if isinstance(pattern, tuple):
            return like(pattern, (self._result(p, (*place, k)) for k, p in enumerate(pattern)))
        return pattern.entry if isinstance(pattern, _Fixed) else pattern


def _promote(x: Any, other: Any) -> Any:
    """A number as a complex one if it meets a complex number."""
    is_met = isinstance(other, Complex) and is_number(x) and all(isinstance(v, Kind) or is_number(v) for v in other)
    return Complex(x, constant(0.0)) if is_met else x


def _parts(entry: Any, pattern: tuple[Any, ...]) -> tuple[Any, ...]:
    entry = _promote(entry, pattern)
    return entry if isinstance(entry, tuple) else (UNDEFINED,) * len(pattern)
