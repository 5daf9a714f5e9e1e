"""The reverse sweep as source: branches and loops backwards, and loops whose iterations are reversed at once."""

import contextlib
from collections.abc import Callable, Iterator

from contad.engines.source.ir.known_functions import SELECT
from contad.engines.source.ir.single_assignment import Apply, Block, For, If, Loop, Operation, Value
from contad.engines.source.ir.walks import around, leaves, walk, written_roots
from contad.engines.source.ir.writer import BAR, number
from contad.engines.source.planning.sweep_order import any_order
from contad.engines.source.writing.restore import Restore
from contad.engines.source.writing.storing import restored


class Reverse(Restore):
    """Writes the reverse of branches and loops."""

    def numbers(self) -> set[str]:
        """The names of numbers that operations compute, and of their adjoints; `+=` of an array is no assignment."""
        given = [v for p in self.program.parameters for v in leaves(p) if isinstance(v, Value)]
        made = [v for o in walk(self.program.block) for v in o.results]
        names = {v.name for v in made if not v.is_array} | {v.name + BAR for v in (*given, *made) if not v.is_array}
        return names | self.checking

    # ---- branches ----------------------------------------------------------------------------------------------------
    def reverse_If(self, o: If) -> None:
        if o in self.plan.choosing:
            self.reverse_choice(o)
            return
        self.begin_outside(o)
        for head, block, values in (
            (f"if {self.text(o.inputs[0])}:", o.blocks[0], [m.then for m in o.merges]),
            ("else:", o.blocks[1], [m.otherwise for m in o.merges]),
        ):
            first = block is o.blocks[0]
            with self.indented(head, o.line if first else 0, else_nothing=not first):
                self.restore(block)
                for m, value in zip(o.merges, values, strict=True):
                    if self.has_bar(m.result):
                        self.add(value, self.bar(m.result))
                self.reverse(block.operations)

    # ---- loops -------------------------------------------------------------------------------------------------------
    def reverse_For(self, o: For) -> None:
        self._begin_loop(o)
        slots = self.slots(o)
        if slots and self.plan.as_block(o):
            base, n = self.block_names(o)
            self.line(f"{n} = {self.trip_count(o)}")
            self.line(f"top -= {f'{len(slots)} * {n}' if len(slots) > 1 else n}")
            self.line(f"{base} = top")
        with self._unless_zero(o):
            self._reverse_for(o)
        self._end_loop(o)
        self.drop_copies(o)

    def _reverse_for(self, o: For) -> None:
        start, stop, step = map(self.text, o.inputs)
        if o in self.plan.choices:
            last = self.plan.choices[o].last.name
            with self.indented(f"if {last} >= 0:", o.line):
                self.line(f"{o.index.name} = {last}")
                self._iteration(o, self.iteration(o))
        elif any_order(o, self.active, self.sums, self.plan):
            with self.indented(self.head(o), o.line):
                self._iteration(o, self.iteration(o))
        elif o.exit is None and o.step.constant == 1:
            first = f"{stop} - 1"
            last = f"{start} - 1" if o.start.constant is None else number(o.start.constant - 1)
            with self.indented(f"for {o.index.name} in range({first}, {last}, -1):", o.line):
                self._iteration(o, self.iteration(o))
                self._stop_at_zero(o)
        elif o.exit is None and o.step.constant == -1:
            with self.indented(f"for {o.index.name} in range({self._next(o.stop)}, {self._next(o.start)}):", o.line):
                self._iteration(o, f"({start} - {o.index.name})")
        else:
            k = self.fresh("iteration")
            count = self.trip_count(o) if o.exit is None else o.count.name
            with self.indented(f"for {k} in range({count} - 1, -1, -1):", o.line):
                self.line(f"{o.index.name} = {start} + {k} * {step}")
                self._iteration(o, k)

    def _next(self, x: Value) -> str:
        return number(x.constant + 1) if x.constant is not None else f"{self.text(x)} + 1"

    def _may_stop(self, o: For) -> bool:
        """Whether nothing but the adjoints of what it carries enters the reverse of a loop, so that zeros end it."""
        pops = any(map(self.plan.pushes, walk(o.body))) or not self.plan.as_block(o)
        return not pops and not any(root in self.active for root in written_roots(o))

    @contextlib.contextmanager
    def _unless_zero(self, o: For) -> Iterator[None]:
        """A loop in a loop whose results may not have been chosen is reversed only where an adjoint is not zero."""
        results = [c.result for c in o.carried if c.result in self.active]
        chosen = any(_chooses(reader) for c in o.carried for reader in self.readers.get(c.result, ()))
        nested = any(isinstance(holder, Loop) for holder in around(o.block))
        if not (results and chosen and nested and self._may_stop(o)):
            yield
            return
        names = dict.fromkeys(self.bar(value) for value in results)
        with self.indented(f"if {' or '.join(f'{name} != 0.0' for name in names)}:"):
            yield

    def _stop_at_zero(self, o: For) -> None:
        """A running choice (a minimum) is reversed as far as what was chosen last."""
        active = [c for c in o.carried if c.result in self.active]
        if len(active) == 1 and active[0].following.operation is not None and self._may_stop(o):
            if _chooses(active[0].following.operation):
                with self.indented(f"if {self.bar(active[0].result)} == 0.0:"):
                    self.line("break")

    def reverse_While(self, o: Loop) -> None:
        self._begin_loop(o)
        k = self.fresh("iteration")
        with self.indented(f"for {k} in range({o.count.name} - 1, -1, -1):", o.line):
            self._iteration(o, k)
        self._end_loop(o)

    def _begin_loop(self, o: Loop) -> None:
        self.begin_outside(o)
        for c in o.carried:
            self.begin(c.result)
        if o not in self.plan.fused:
            self._start_replay(o)

    def _end_loop(self, o: Loop) -> None:
        for c in o.carried:
            if c.result in self.active and c.initial not in self.sums:
                self.add(c.initial, self.bar(c.result))

    def _iteration(self, o: Loop, k: str) -> None:
        """One iteration backwards. The adjoint of a loop's result is that of what is carried between iterations."""
        slots = self.slots(o)
        if slots and not self.plan.as_block(o):
            for j, value in enumerate(slots):
                self.line(f"{value.name} = {restored(value, f'top - {len(slots) - j}')}")
            self.line(f"top -= {len(slots)}")
        for c in o.carried:
            self._restore_inner(o, c, k)
        for block in o.blocks:
            self.restore(block)
        active = [c for c in o.carried if c.result in self.active and c.inner not in self.sums]
        for c in active:
            self.add(c.following, self.bar(c.result))
        for block in reversed(o.blocks):
            self.reverse(block.operations)
        for c in active:
            self.line(f"{self.bar(c.result)} = {self.bar(c.inner) if c.inner in self.begun else '0.0'}")

    # ---- loops that are reversed at once -----------------------------------------------------------------------------
    def sweep(self, block: Block, seed: Callable[[], None]) -> None:
        """A block forwards and backwards; `seed` starts the adjoints of what it hands on."""
        operations = block.operations
        loop = next((o for o in operations if o in self.plan.fused), None)
        if not isinstance(loop, For):
            self.forward(operations)
            seed()
            self.reverse(operations)
            return
        position = operations.index(loop)
        before, after = operations[:position], operations[position + 1 :]
        self.forward(before)
        seed()
        self.reverse(after)
        self._at_once(loop)
        self.forward(after)
        self.reverse(before)

    def _at_once(self, o: For) -> None:
        self.assign_together([(c.inner, c.initial) for c in o.carried])
        self._begin_loop(o)
        with self.room(o), self.indented(self.head(o), o.line):
            self.sweep(o.body, lambda: None)
            self.assign_together([(c.inner, c.following) for c in o.carried])
        for c in o.carried:
            self.assign_together([(c.result, c.inner)])
        self._end_loop(o)


def _chooses(o: Operation) -> bool:
    """Whether an operation hands on one of several values."""
    return isinstance(o, If) or (isinstance(o, Apply) and o.function is SELECT)
