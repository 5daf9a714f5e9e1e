"""Store or recompute: decides how the reverse sweep gets the values of earlier iterations.

Outside loops a number keeps its variable. In a loop, each value that the reverse of the body reads is either stored in
the workspace in every iteration, or recomputed from stored values, read-only arrays and the iteration number. A minimum
cut of the dependence graph decides, for each loop, innermost loops first. The contents of arrays are never restored; an
element that is read counts as a number of its own.
"""

import itertools
from collections import deque
from collections.abc import Container, Hashable, Iterable, Iterator
from typing import Any

from contad.engines.source.analysis.activity import Activity
from contad.engines.source.analysis.copies import Copy, copies
from contad.engines.source.analysis.finite_partials import wild_values
from contad.engines.source.analysis.partials import partial
from contad.engines.source.analysis.unchanged import is_unchanged
from contad.engines.source.ir import ssa
from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.walks import around, is_inside, is_natural, precedes, walk
from contad.engines.source.planning.running_choice import RunningChoice

STORE = 5.0  # the cost of storing and reloading one number, in units of an addition
# LLVM hoists these out of a loop if they are loop-invariant
MOVED = frozenset(
    ("add", "subtract", "multiply", "square", "divide", "reciprocal", "negative", "sqrt", "exp", "log", "sin", "cos")
)
_SCALE = 1000
_OTHER = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh"}


class StorePlan:
    """For each loop, the values that it stores and those that its reverse recomputes."""

    def __init__(
        self,
        function: ssa.SourceFunction,
        activity: Activity,
        sums: dict[ssa.Value, ssa.Value],
        fused: frozenset[ssa.Loop] = frozenset(),
        choices: dict[ssa.Loop, RunningChoice] | None = None,
        functions: Any = None,
        gone: frozenset[ssa.Value] = frozenset(),
        wild: Iterable[ssa.Value] = (),
    ) -> None:
        """Find the values that the reverse sweep reads, and decide for each loop which of them it stores."""
        self.activity = activity
        self.sums = sums
        self.choices = choices or {}  # running choices: the reverse sweep visits only one iteration
        self.choosing = {choice.operation: choice for choice in self.choices.values()}
        self.fused = fused  # loops that reverse each iteration as soon as it has run
        self.functions = functions  # creates the derivatives of callees
        self.gone = gone  # arrays of the caller that have changed when the reverse sweep runs
        self.wild = wild_values(function, wild)  # values that may be infinite or nan
        self.products: dict[ssa.For, ssa.Value] = {}  # the factors of running products whose order is open
        self._called: dict[ssa.Call, Any] = {}
        self.stores = [o for o in walk(function.block) if isinstance(o, (ssa.Store, ssa.Accumulate))]
        self.copies = copies(function, self)
        self.reloads = dict(self._find_reloads())  # the elements in which the reverse sweep finds dear results
        self.pairs = pair_sines(function)  # sines and cosines whose partial is already computed
        self.needed: dict[ssa.Loop | None, dict[ssa.Value, None]] = {}
        self.slots: dict[ssa.Loop, list[ssa.Value]] = {}
        self.recomputed: dict[ssa.Loop, set[ssa.Value]] = {}
        self.replayed: set[ssa.Loop] = set()  # their reverse recomputes the carried values from the first iteration on
        for operation in walk(function.block):
            for value in self.reverse_reads(operation):
                self.need(value)
        self._decide(function.block)

    def need(self, value: ssa.Value) -> None:
        """Note that the reverse sweep reads this value."""
        if value.constant is None and value.operation is not None:
            self.needed.setdefault(self.region(value.block), {})[value] = None

    def region(self, block: ssa.Block | None) -> ssa.Loop | None:
        """The innermost loop around a block whose reverse is a loop of its own.

        A segment runs again before it is reversed, so its operations can read all values around it.
        """
        plain = (o for o in around(block) if isinstance(o, ssa.Loop) and not isinstance(o, ssa.Segments))
        return next((o for o in plain if o not in self.fused), None)

    def pushes(self, operation: ssa.Operation) -> bool:
        """Whether a loop or a call, or one inside an operation, stores numbers in the workspace."""
        inside = (operation, *(o for block in operation.blocks for o in walk(block)))
        loops = (o for o in inside if isinstance(o, ssa.Loop) and o not in self.fused)
        return any(map(self.slots.get, loops)) or self.calls_push(operation)

    def calls_push(self, operation: ssa.Operation) -> bool:
        """Whether a callee, or a function of matrices, stores numbers in the workspace."""
        inside = [operation, *(o for block in operation.blocks for o in walk(block))]
        if any(isinstance(o, ssa.MatrixCall) and self.activity.changes(o) for o in inside):
            return True
        return any(self.plan_call(o).pushes for o in inside if isinstance(o, ssa.Call))

    def plan_call(self, o: ssa.Call) -> Any:
        """The derivative that a call needs of its callee: the active arguments, and the arrays that it may reload."""
        if o not in self._called:
            active: tuple[int, ...] = ()
            kept: tuple[int, ...] = ()
            if any(result in self.activity for result in o.results):
                active = tuple(k for k, x in enumerate(o.inputs) if x in self.activity and o.callee.reached[k])
                kept = tuple(k for k, x in enumerate(o.inputs) if x.is_array and self.is_unchanged(o, x))
            self._called[o] = self.functions.call(o.callee, active, kept)
        return self._called[o]

    def stores_at_once(self, loop: ssa.Loop) -> bool:
        """Whether all iterations store in one allocation: their number is known and nothing inside them stores."""
        inside = (o for block in loop.blocks for o in walk(block) if isinstance(o, ssa.Loop))
        known = isinstance(loop, ssa.For) and loop.exit is None and not any(self.slots.get(o) for o in inside)
        return known and not self.calls_push(loop)

    def sequential(self, loop: ssa.Loop) -> bool:
        """Whether the reverse visits all iterations in order, because they pop values or undo increments."""
        inside = (o for block in loop.blocks for o in walk(block) if isinstance(o, ssa.Loop))
        if not self.stores_at_once(loop) or any(self.pushes(o) for o in inside):
            return True
        return bool(self.carried_again(loop))

    def carried_again(self, loop: ssa.Loop) -> list[ssa.Carried]:
        """The carried values that the reverse of a loop computes from one iteration to the next."""
        again = self.recomputed.get(loop, ())
        return [c for c in loop.carried if c.inner in again and find_count(loop, c) is None]

    def in_any_order(self, loop: ssa.For) -> bool:
        """Whether no iteration of the reverse reads what another one writes, or pops what another one pushed.

        The reverse then runs forwards, which vectorises best.
        """
        inside = list(walk(loop.body))
        if loop.exit is not None or any(map(self.pushes, inside)):
            return False
        if any(c.inner in self.activity and c.inner not in self.sums for c in loop.carried):
            return False
        if self.carried_again(loop) and loop not in self.replayed:
            return False
        written = {root for o in inside if isinstance(o, (ssa.Store, ssa.Accumulate)) for root in o.array.roots}
        return all(_are_separate(root, loop, inside) for root in written if root in self.activity)

    def copies_in_use(self) -> list[Copy]:
        """The copies of parts of arrays that the reverse sweep reads."""
        again = set().union(*self.recomputed.values()) if self.recomputed else set()
        return list(dict.fromkeys(copy for o, copy in self.copies.items() if o.result in again))

    # ---- reading -----------------------------------------------------------------------------------------------------
    def reverse_reads(self, o: ssa.Operation) -> list[ssa.Value]:
        """The values that the reverse of an operation reads, without those of operations inside it."""
        active = self.activity
        if o in self.choosing:
            return []
        if isinstance(o, ssa.Apply) and o in self.pairs:
            return [self.pairs[o]] if o.result in active else []
        if isinstance(o, ssa.Apply):
            return apply_reads(o, active) if o.result in active else []
        if isinstance(o, ssa.Load):
            return o.inputs if o.result in active else []
        if isinstance(o, (ssa.Store, ssa.Accumulate)):
            return [o.array, *o.indices] if o.array in active else []
        if isinstance(o, (ssa.View, ssa.Choose)):
            return o.inputs if o.result in active else []
        if isinstance(o, ssa.Create):
            return o.inputs if o.result in active else []
        if isinstance(o, ssa.Product):
            a, b = o.inputs
            return [x for x, other in ((a, b), (b, a)) if other in active] + o.inputs if o.result in active else []
        if isinstance(o, ssa.If):
            return o.inputs if active.changes(o) else []
        if isinstance(o, ssa.Call):
            return [o.inputs[k] for k in self.plan_call(o).needs] if active.changes(o) else []
        if isinstance(o, ssa.Body):
            return []
        if isinstance(o, ssa.Loop) and o in self.choices:
            return [self.choices[o].last]
        if isinstance(o, ssa.Loop) and active.changes(o) and o not in self.fused:
            return trips(o)
        return []

    # ---- storing -----------------------------------------------------------------------------------------------------
    def _decide(self, block: ssa.Block) -> None:
        for operation in block.operations:
            for inner in operation.blocks:
                self._decide(inner)
            if isinstance(operation, ssa.Loop) and operation not in self.fused and self.needed.get(operation):
                if isinstance(operation, ssa.For) and not operation.checkpointed and self.in_any_order(operation):
                    self.replayed.add(operation)
                self._cut(operation)

    def _cut(self, loop: ssa.Loop) -> None:
        """Decide by a minimum cut which values a loop stores, and which its reverse recomputes."""
        cut = Cut()
        sources: dict[ssa.Value, list[ssa.Value]] = {}
        waiting = list(self.needed[loop])
        for value in waiting:
            cut.edge(("there", value), cut.sink, INFINITE)
        while waiting:
            value = waiting.pop()
            if value in sources:
                continue
            cost, sources[value] = self.again(value, loop)
            cut.edge(cut.source, ("again", value), min(round(cost * _SCALE), INFINITE))
            cut.edge(("again", value), ("there", value), INFINITE if value.is_array else round(STORE * _SCALE))
            for x in sources[value]:
                if x.constant is None and self.region(x.block) is loop:
                    cut.edge(("there", x), ("again", value), INFINITE)
                    waiting.append(x)
        left = cut.source_side()
        again = [value for value in sources if ("again", value) not in left]
        self.slots[loop] = [v for v in sources if ("again", v) in left and ("there", v) not in left]
        self.recomputed[loop] = set(again)
        for value in again:
            for x in sources[value]:
                if self.region(x.block) is not loop:
                    self.need(x)

    def again(self, value: ssa.Value, loop: ssa.Loop) -> tuple[float, list[ssa.Value]]:
        """The cost of recomputing a value in the reverse of a loop, and the values that this reads."""
        o = value.operation
        if value in self.reloads:
            return 0.7, self.reloads[value].inputs
        if isinstance(o, ssa.Apply):
            same = all(x.constant is not None or self.region(x.block) is not loop for x in o.inputs)
            return 0.1 if same and o.function.name in MOVED else o.function.cost, o.inputs
        if isinstance(o, ssa.Length) and self._is_lost(o.inputs[0]):
            return INFINITE, []
        if isinstance(o, (ssa.View, ssa.Choose, ssa.Length)):
            return 0.1, o.inputs
        if isinstance(o, ssa.Load) and self.is_unchanged(o, o.array):
            return 0.7, o.inputs
        if isinstance(o, ssa.Load) and o in self.copies:
            return 0.7, [*(h.index for h in self.copies[o].around), *o.inputs[1:]]
        if isinstance(o, ssa.Create):
            return (0.1, o.inputs) if value in self.activity else (INFINITE, [])
        if isinstance(o, ssa.For) and value is o.index:
            return 0.0, []
        if isinstance(o, ssa.Loop):
            for c in o.carried:
                if value in (c.inner, c.result) and (added := find_count(o, c)) is not None:
                    return 0.5, [c.initial, added[1], *(trips(o) if value is c.result else [])]
                if value is c.inner and o in self.replayed:
                    return 0.5, [c.initial, c.following]
                if value is c.inner and isinstance(o, ssa.For) and (increments := find_increments(o, c)) is not None:
                    return 0.6, [c.result, *(x for increment in increments for x in increment.reads_outside(o))]
        return INFINITE, []

    def _find_reloads(self) -> Iterator[tuple[ssa.Value, ssa.Load]]:
        """Results of dear functions that are stored in an array which still holds them in the reverse sweep."""
        for store in self.stores:
            made = store.inputs[-1].operation
            if (
                isinstance(store, ssa.Store) and isinstance(made, ssa.Apply) and made.block is store.block
                and made.function.cost >= STORE and store.array.kind == ssa.Kind("float", store.array.kind.ndim)
                and not any(
                    isinstance(x.operation, ssa.Operation) and x.operation.block is made.block
                    and not precedes(x.operation, made) for x in store.indices
                )
            ):  # fmt: skip
                load = ssa.Load(store.array, store.indices, ssa.Value(ssa.FLOAT))
                load.block = store.block
                if not self.gone & set(store.array.roots) and is_unchanged(
                    load, store.array, self.stores, self.region, store
                ):
                    yield made.result, load

    def _is_lost(self, array: ssa.Value) -> bool:
        """Whether an array no longer exists in the reverse sweep: iterations create it, and it has no adjoint."""
        if self.gone & set(array.roots):
            return True
        return array not in self.activity and any(self.region(root.block) is not None for root in array.roots)

    def is_unchanged(self, reader: ssa.Operation, array: ssa.Value) -> bool:
        """Whether an array still holds the values that an operation read when the reverse sweep reaches it."""
        return not self.gone & set(array.roots) and is_unchanged(reader, array, self.stores, self.region)


def _are_separate(root: ssa.Value, loop: ssa.For, inside: list[ssa.Operation]) -> bool:
    """Whether the iterations that write an array access separate elements of it, or only add to it."""
    if isinstance(root.operation, ssa.Create) and is_inside(root.block, loop):
        return True
    users = [o for o in inside if any(x.is_array and root in x.roots for x in o.inputs)]
    if all(isinstance(o, ssa.Accumulate) for o in users):
        return True
    (first, *others) = users
    # -1 and n - 1 are the same element
    separate = isinstance(first, ssa.Store) and loop.index in first.indices and is_natural(loop.index)
    return not others and separate and first.inputs[0] is root


def pair_sines(function: ssa.SourceFunction) -> dict[ssa.Operation, ssa.Value]:
    """Maps a sine to the cosine of the same number, and the other way round, if one block has both; also hyperbolic
    ones."""
    found: dict[ssa.Operation, ssa.Value] = {}
    by_operand: dict[tuple[ssa.Block | None, ssa.Value, str], ssa.Operation] = {}
    for o in walk(function.block):
        if isinstance(o, ssa.Apply) and o.function.name in _OTHER:
            other = by_operand.get((o.block, o.inputs[0], _OTHER[o.function.name]))
            if other is not None:
                found[o], found[other] = other.result, o.result
            by_operand[o.block, o.inputs[0], o.function.name] = o
    return found


def apply_reads(o: ssa.Apply, activity: Activity, of: Container[ssa.Value] | None = None) -> list[ssa.Value]:
    """The values that the derivative of a function of numbers reads, by all its inputs or by those in `of`."""
    found: list[ssa.Value] = []
    for k, x in enumerate(o.inputs):
        if x in activity and (of is None or x in of):
            p = partial(o.function, k)
            found += [o.inputs[j] for j in p.reads] + ([o.result] if p.reads_result else [])
    return found


def trips(loop: ssa.Loop) -> list[ssa.Value]:
    """The values that tell how often a loop ran."""
    if isinstance(loop, ssa.For) and loop.exit is None:
        return loop.inputs
    return [loop.count, *loop.inputs]


class Increment:
    """The amount that an iteration adds to an integer: a number, times the trip count of an inner loop if any."""

    def __init__(self, sign: str, amount: ssa.Value, times: ssa.For | None) -> None:
        self.sign, self.amount, self.times = sign, amount, times

    def reads(self) -> list[ssa.Value]:
        return [self.amount, *(self.times.inputs if self.times is not None else [])]

    def reads_outside(self, loop: ssa.For) -> list[ssa.Value]:
        """The values, other than the index of the loop, from which the increment is computed."""
        return [x for value in self.reads() for x in _outside(value, loop)]


def find_increments(loop: ssa.Loop, c: ssa.Carried) -> list[Increment] | None:
    """The increments by which an iteration changes an integer, if they are known at its end; else None.

    The reverse sweep undoes them, starting from the final value.
    """
    if not isinstance(loop, ssa.For) or c.inner.kind != ssa.INT:
        return None
    increments: list[Increment] = []
    value = c.following
    while value is not c.inner:
        o = value.operation
        if isinstance(o, ssa.Apply) and o.function in (ADD, SUBTRACT) and is_inside(o.block, loop):
            before, amount = o.inputs
            if o.function is ADD and not isinstance(before.operation, (ssa.Loop, ssa.Apply)) and before is not c.inner:
                before, amount = amount, before
            increments.append(Increment("+" if o.function is ADD else "-", amount, None))
        elif isinstance(o, ssa.For) and o.exit is None and is_inside(o.block, loop):
            inner = next((i for i in o.carried if i.result is value), None)
            added = find_count(o, inner) if inner is not None else None
            if inner is None or added is None:
                return None
            increments.append(Increment(*added, o))
            before = inner.initial
        else:
            return None
        value = before
    return increments if all(_of_index(x, loop) for increment in increments for x in increment.reads()) else None


def _outside(value: ssa.Value, loop: ssa.For) -> list[ssa.Value]:
    if value.constant is not None or value is loop.index:
        return []
    if not is_inside(value.block, loop):
        return [value]
    assert value.operation is not None
    return [x for part in value.operation.inputs for x in _outside(part, loop)]


def _of_index(value: ssa.Value, loop: ssa.For) -> bool:
    """Whether a value is a sum of the index of a loop and loop-invariant values."""
    if value.constant is not None or value is loop.index or not is_inside(value.block, loop):
        return True
    o = value.operation
    return isinstance(o, ssa.Apply) and o.function in (ADD, SUBTRACT) and all(_of_index(x, loop) for x in o.inputs)


def find_count(loop: ssa.Loop, c: ssa.Carried) -> tuple[str, ssa.Value] | None:
    """The sign and the amount of an increment that is the same in each iteration; None for any other carried value."""
    following = c.following.operation
    if c.inner.kind != ssa.INT or not isinstance(following, ssa.Apply) or following.function not in (ADD, SUBTRACT):
        return None
    a, b = following.inputs
    if b is c.inner and following.function is ADD:
        a, b = b, a
    if a is not c.inner or b is c.inner or (b.constant is None and is_inside(b.block, loop)):
        return None
    return "+" if following.function is ADD else "-", b


# ---- minimum cut -----------------------------------------------------------------------------------------------------
INFINITE = 10**12  # a capacity; capacities are integers, so the search by augmenting paths ends


class Cut:
    """A flow network between a source and a sink."""

    def __init__(self) -> None:
        self.source, self.sink = object(), object()
        self.capacity: dict[Hashable, dict[Hashable, int]] = {self.source: {}, self.sink: {}}

    def edge(self, a: Hashable, b: Hashable, capacity: int) -> None:
        """Add `capacity` to the edge from a to b."""
        forward = self.capacity.setdefault(a, {})
        forward[b] = forward.get(b, 0) + capacity
        self.capacity.setdefault(b, {}).setdefault(a, 0)

    def source_side(self) -> set[Hashable]:
        """The nodes on the source's side of a minimum cut."""
        while True:
            before = self._reach()
            if self.sink not in before:
                return set(before)
            path = [self.sink]
            while path[-1] is not self.source:
                path.append(before[path[-1]])
            edges = [(a, b) for b, a in itertools.pairwise(path)]
            flow = min(self.capacity[a][b] for a, b in edges)
            for a, b in edges:
                self.capacity[a][b] -= flow
                self.capacity[b][a] += flow

    def _reach(self) -> dict[Hashable, Hashable]:
        """Every node reachable from the source with capacity left, with its predecessor on a shortest path."""
        before: dict[Hashable, Hashable] = {self.source: self.source}
        waiting = deque([self.source])
        while waiting:
            a = waiting.popleft()
            for b, capacity in self.capacity[a].items():
                if capacity > 0 and b not in before:
                    before[b] = a
                    waiting.append(b)
        return before
