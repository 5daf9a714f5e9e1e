"""The reverse sweep as source: branches and loops backwards, and loops whose iterations are reversed at once."""

import contextlib
from collections.abc import Callable, Iterator

from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.ir.called_derivatives import DerivativeCall
from contad.engines.source.ir.known_functions import SELECT
from contad.engines.source.ir.rule_sites import RuleValue
from contad.engines.source.ir.single_assignment import (
    Apply,
    Block,
    For,
    If,
    Loop,
    Operation,
    Segments,
    SourceProgram,
    Value,
)
from contad.engines.source.ir.walks import around, find_written_roots, leaves, walk
from contad.engines.source.ir.writer import BAR, Writer, number
from contad.engines.source.planning.fuse import reads_late, way_back
from contad.engines.source.planning.running_products import LARGEST, SMALLEST
from contad.engines.source.planning.store_plan import StorePlan
from contad.engines.source.planning.sweep_order import any_order
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.copying import Copying
from contad.engines.source.writing.forward_sweep import ForwardSweep
from contad.engines.source.writing.restore import Restoring
from contad.engines.source.writing.rule_text import RuleWriter
from contad.engines.source.writing.storing import Storing


class ReverseSweep:
    """Writes operations backwards, and loops that are reversed at once, by a forward sweep of the same program."""

    def __init__(
        self, program: SourceProgram, plan: StorePlan, sums: dict[Value, Value], lanes: LaneValues | None = None
    ) -> None:
        """Make the writers; `lanes` tells what there is once for each of several directions."""
        self.writer, self.plan = Writer(program), plan
        self.storing = Storing(self.writer, plan, lanes)
        self.copying = Copying(self.storing)
        self.adjoints = AdjointWriter(self.writer, plan, sums, lanes)
        self.restoring = Restoring(self.copying, self.adjoints)
        self.rules = RuleWriter(self.adjoints)
        self.forward_sweep = ForwardSweep(self.copying, self.adjoints, self.rules)

    def reverse(self, operations: list[Operation]) -> None:
        """Write the reverse of operations, the last one first."""
        for operation in reversed(operations):
            if self.adjoints.active.changes(operation):
                name = f"reverse_{type(operation).__name__}"
                write = getattr(self, name, None) or getattr(self.adjoints, name, None)
                if write is not None:
                    write(operation)

    def reverse_RuleValue(self, o: RuleValue) -> None:
        self.rules.reverse(o)

    def reverse_DerivativeCall(self, o: DerivativeCall) -> None:
        self.forward_sweep.derivatives.reverse(o)

    def numbers(self) -> set[str]:
        """The names of numbers that operations compute, and of their adjoints; `+=` of an array is no assignment."""
        given = [v for p in self.writer.program.parameters for v in leaves(p) if isinstance(v, Value)]
        made = [v for o in walk(self.writer.program.block) for v in o.results]
        names = {v.name for v in made if not v.is_array} | {v.name + BAR for v in (*given, *made) if not v.is_array}
        return names | self.forward_sweep.checking

    # ---- branches ----------------------------------------------------------------------------------------------------
    def reverse_If(self, o: If) -> None:
        """Write the reverse of a branch."""
        if o in self.plan.choosing:
            self.adjoints.reverse_choice(o)
            return
        self.adjoints.begin_outside(o)
        for head, block, values in (
            (f"if {self.writer.text(o.inputs[0])}:", o.blocks[0], [m.then for m in o.merges]),
            ("else:", o.blocks[1], [m.otherwise for m in o.merges]),
        ):
            first = block is o.blocks[0]
            with self.writer.indent(head, o.line if first else 0, else_nothing=not first):
                self.restoring.restore(block)
                for m, value in zip(o.merges, values, strict=True):
                    if self.adjoints.has_bar(m.result):
                        self.adjoints.add(value, self.adjoints.bar(m.result))
                self.reverse(block.operations)

    # ---- loops -------------------------------------------------------------------------------------------------------
    def reverse_For(self, o: For) -> None:
        """Write the reverse of a counted loop."""
        self._begin_loop(o)
        whole = self.forward_sweep.products_kept.get(o)
        if whole is None:
            self._reverse_stored(o)
        else:
            begun, factor = set(self.adjoints.begun), self.plan.products[o]
            with self.writer.indent(f"if {SMALLEST} <= abs({whole}) <= {LARGEST}:", o.line):
                self._reverse_product(o, f"{whole} / {self.writer.text(factor)}")
            self.adjoints.begun = begun
            with self.writer.indent("else:"):
                self.forward_sweep.forward_stored(o)
                self._reverse_stored(o)
        self._end_loop(o)
        self.copying.drop_copies(o)

    def _reverse_product(self, o: For, others: str) -> None:
        """The reverse of a running product; `others` is the product of all other factors."""
        (c,) = o.carried
        with self.writer.indent(self.forward_sweep.head(o, reverse=True), o.line):
            self.restoring.restore(o.body)
            self.writer.line(f"{c.inner.name} = {others}")
            self.adjoints.add(c.following, self.adjoints.bar(c.result))
            before, self.adjoints.left_out = self.adjoints.left_out, lambda x: x is c.inner
            self.reverse(o.body.operations)
            self.adjoints.left_out = before

    def _reverse_stored(self, o: For) -> None:
        """The reverse of a loop from what its iterations have stored."""
        slots = self.storing.slots(o)
        if slots and self.plan.as_block(o):
            base, n = self.storing.block_names(o)
            self.writer.line(f"{n} = {self.storing.trip_count(o)}")
            width = self.storing.width(*slots)
            self.writer.line(f"top -= {f'{width} * {n}' if width > 1 else n}")
            self.writer.line(f"{base} = top")
        with self._unless_zero(o), self.forward_sweep.products.unless_large(o, reverse=True):
            self._reverse_for(o)

    def _reverse_for(self, o: For) -> None:
        """Write a loop over the iterations backwards, or in the order in which they ran where that does not matter."""
        start, stop, step = map(self.writer.text, o.inputs)
        if o in self.plan.choices:
            last = self.plan.choices[o].last.name
            with self.writer.indent(f"if {last} >= 0:", o.line):
                self.writer.line(f"{o.index.name} = {last}")
                self.reverse_iteration(o, self.storing.iteration(o))
        elif any_order(o, self.adjoints.active, self.adjoints.sums, self.plan):
            with self.writer.indent(self.forward_sweep.head(o, reverse=True), o.line):
                self.reverse_iteration(o, self.storing.iteration(o))
        elif o.exit is None and o.step.constant == 1:
            first = f"{stop} - 1"
            last = f"{start} - 1" if o.start.constant is None else number(o.start.constant - 1)
            over = self.forward_sweep.shared.head(o, f"range({first}, {last}, -1)", reverse=True)
            with self.writer.indent(f"for {o.index.name} in {over}:", o.line):
                self.reverse_iteration(o, self.storing.iteration(o))
                self._stop_at_zero(o)
        elif o.exit is None and o.step.constant == -1:
            with self.writer.indent(
                f"for {o.index.name} in range({self._next(o.stop)}, {self._next(o.start)}):", o.line
            ):
                self.reverse_iteration(o, f"({start} - {o.index.name})")
        else:
            k = self.writer.fresh("iteration")
            count = self.storing.trip_count(o) if o.exit is None else o.count.name
            with self.writer.indent(f"for {k} in range({count} - 1, -1, -1):", o.line):
                self.writer.line(f"{o.index.name} = {start} + {k} * {step}")
                self.reverse_iteration(o, k)

    def _next(self, x: Value) -> str:
        return number(x.constant + 1) if x.constant is not None else f"{self.writer.text(x)} + 1"

    def _may_stop(self, o: For) -> bool:
        """Whether nothing but the adjoints of what it carries enters the reverse of a loop, so that zeros end it."""
        if self.storing.lanes is not None:  # of which some may be zero
            return False
        pops = any(map(self.plan.pushes, walk(o.body))) or not self.plan.as_block(o)
        return not pops and not any(root in self.adjoints.active for root in find_written_roots(o))

    @contextlib.contextmanager
    def _unless_zero(self, o: For) -> Iterator[None]:
        """A loop in a loop whose results may not have been chosen is reversed only where an adjoint is not zero."""
        results = [c.result for c in o.carried if c.result in self.adjoints.active]
        chosen = any(_chooses(reader) for c in o.carried for reader in self.adjoints.readers.get(c.result, ()))
        nested = any(isinstance(holder, Loop) for holder in around(o.block))
        if not (results and chosen and nested and self._may_stop(o)):
            yield
            return
        names = dict.fromkeys(self.adjoints.bar(value) for value in results)
        with self.writer.indent(f"if {' or '.join(f'{name} != 0.0' for name in names)}:"):
            yield

    def _stop_at_zero(self, o: For) -> None:
        """A running choice (a minimum) is reversed as far as what was chosen last."""
        active = [c for c in o.carried if c.result in self.adjoints.active]
        if len(active) == 1 and active[0].following.operation is not None and self._may_stop(o):
            if _chooses(active[0].following.operation):
                with self.writer.indent(f"if {self.adjoints.bar(active[0].result)} == 0.0:"):
                    self.writer.line("break")

    def reverse_While(self, o: Loop) -> None:
        self._begin_loop(o)
        k = self.writer.fresh("iteration")
        with self.writer.indent(f"for {k} in range({o.count.name} - 1, -1, -1):", o.line):
            self.reverse_iteration(o, k)
        self._end_loop(o)

    def reverse_Segments(self, o: Segments) -> None:
        """Write the reverse of a checkpointed loop, which runs each segment again before it reverses it."""
        self._begin_loop(o)

        def run() -> None:
            self.forward_sweep.forward(o.body.operations)
            self.reverse_iteration(o, o.index.name)

        self.forward_sweep.segments.reverse(o, run)
        self._end_loop(o)

    def _begin_loop(self, o: Loop) -> None:
        self.adjoints.begin_outside(o)
        for c in o.carried:
            self.adjoints.begin(c.result)
        if o not in self.plan.fused:
            self.restoring.start_replay(o)

    def _end_loop(self, o: Loop) -> None:
        for c in o.carried:
            if c.result in self.adjoints.active and c.initial not in self.adjoints.sums:
                self.adjoints.add(c.initial, self.adjoints.bar(c.result))

    def reverse_iteration(self, o: Loop, k: str) -> None:
        """One iteration backwards. The adjoint of a loop's result is that of what is carried between iterations."""
        slots = self.storing.slots(o)
        if slots and not self.plan.as_block(o):
            for value, place in self.storing.places_from_top(slots):
                self.writer.line(f"{value.name} = {self.storing.restore(value, place)}")
            self.writer.line(f"top -= {self.storing.width(*slots)}")
        for c in o.carried:
            self.restoring.restore_carried(o, c, k)
        for block in o.blocks:
            self.restoring.restore(block)
        active = [c for c in o.carried if c.result in self.adjoints.active and c.inner not in self.adjoints.sums]
        for c in active:
            self.adjoints.add(c.following, self.adjoints.bar(c.result))
        for block in reversed(o.blocks):
            self.reverse(block.operations)
        for c in active:
            inner = self.adjoints.bar(c.inner) if c.inner in self.adjoints.begun else "0.0"
            self.writer.line(f"{self.adjoints.bar(c.result)} = {inner}")

    # ---- loops that are reversed at once -----------------------------------------------------------------------------
    def sweep(self, block: Block, seed: Callable[[], None]) -> None:
        """A block forwards and backwards; `seed` starts the adjoints of what it hands on."""
        operations = block.operations
        loops = [o for o in operations if isinstance(o, For) and o in self.plan.fused]
        if not loops:
            self.forward_sweep.forward(operations)
            seed()
            self.reverse(operations)
            return
        position = operations.index(loops[0])
        before, after = operations[:position], operations[position + len(loops) :]
        self.forward_sweep.forward(before)
        seed()
        if not reads_late(self.plan, loops, after):
            self.reverse(after)
            self._at_once(loops)
            self.forward_sweep.forward(after)
        else:  # what the loops' own adjoints need comes before them
            way = way_back(self.plan, loops, after)
            self._reverse_some([o for o in after if isinstance(o, Apply) and o.result in way], lambda x: x not in way)
            self._at_once(loops)
            self.forward_sweep.forward(after)
            self._reverse_some(after, way.__contains__)
        self.reverse(before)

    def _reverse_some(self, operations: list[Operation], left_out: Callable[[Value], bool]) -> None:
        before, self.adjoints.left_out = self.adjoints.left_out, left_out
        self.reverse(operations)
        self.adjoints.left_out = before

    def _at_once(self, loops: list[For]) -> None:
        for o in loops:
            self._reverse_at_once(o)

    def _reverse_at_once(self, o: For) -> None:
        self.forward_sweep.assign_together([(c.inner, c.initial) for c in o.carried])
        self._begin_loop(o)
        with self.storing.room(o), self.writer.indent(self.forward_sweep.head(o), o.line):
            self.sweep(o.body, lambda: None)
            self.forward_sweep.assign_together([(c.inner, c.following) for c in o.carried])
        for c in o.carried:
            self.forward_sweep.assign_together([(c.result, c.inner)])
        self._end_loop(o)


def _chooses(o: Operation) -> bool:
    """Whether an operation hands on one of several values."""
    return isinstance(o, If) or (isinstance(o, Apply) and o.function is SELECT)
