"""Writes the reverse sweep: branches and loops backwards, and loops that reverse each iteration at once."""

import ast
import contextlib
from collections.abc import Callable, Iterator

from contad.engines.source.analysis.finite_partials import reads_data
from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.ir.called_derivatives import DerivativeCall
from contad.engines.source.ir.known_functions import SELECT
from contad.engines.source.ir.rule_sites import RuleValue
from contad.engines.source.ir.ssa import (
    Apply,
    Block,
    For,
    If,
    Loop,
    Operation,
    Segments,
    SourceFunction,
    Value,
)
from contad.engines.source.ir.syntax import either, expression, name, number, part
from contad.engines.source.ir.walks import around, find_written_roots, walk
from contad.engines.source.ir.writer import Writer
from contad.engines.source.planning.fuse import reads_late, way_back
from contad.engines.source.planning.running_products import LARGEST, SMALLEST
from contad.engines.source.planning.store_plan import StorePlan
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.copying import Copying
from contad.engines.source.writing.forward_sweep import ForwardSweep
from contad.engines.source.writing.restore import Restoring
from contad.engines.source.writing.rule_text import RuleWriter
from contad.engines.source.writing.storing import Storing, times


class ReverseSweep:
    """Writes operations backwards. A forward sweep of the same function helps with loops that are reversed at once."""

    def __init__(
        self, function: SourceFunction, plan: StorePlan, sums: dict[Value, Value], lanes: LaneValues | None = None
    ) -> None:
        """Create the writers; `lanes` tells which values have lanes."""
        self.writer, self.plan = Writer(function), plan
        self.storing = Storing(self.writer, plan, lanes)
        self.copying = Copying(self.storing)
        self.adjoints = AdjointWriter(self.writer, plan, sums, lanes)
        self.restoring = Restoring(self.copying, self.adjoints)
        self.rules = RuleWriter(self.adjoints)
        self.forward_sweep = ForwardSweep(self.copying, self.adjoints, self.rules)

    def reverse(self, operations: list[Operation], block: Block | None = None) -> None:
        """Write the reverse of operations, last one first; sunk operations are reversed only in their block."""
        for operation in reversed(operations):
            if self.adjoints.active.changes(operation) and self.adjoints.sunk.get(operation) is block:
                method = f"reverse_{type(operation).__name__}"
                write = getattr(self, method, None) or getattr(self.adjoints, method, None)
                if write is not None:
                    write(operation)

    def reverse_RuleValue(self, o: RuleValue) -> None:
        self.rules.reverse(o)

    def reverse_DerivativeCall(self, o: DerivativeCall) -> None:
        self.forward_sweep.derivatives.reverse(o)

    # ---- branches ----------------------------------------------------------------------------------------------------
    def reverse_If(self, o: If) -> None:
        """Write the reverse of a branch."""
        if o in self.plan.choosing:
            self.adjoints.reverse_choice(o)
            return
        self.adjoints.begin_outside(o)
        with self._unless_unselected(o):
            with self.writer.block("if test: pass", o.line, test=self.writer.text(o.inputs[0])):
                self._reverse_branch(o, o.blocks[0], [m.then for m in o.merges])
            with self.writer.otherwise():
                self._reverse_branch(o, o.blocks[1], [m.otherwise for m in o.merges])

    @contextlib.contextmanager
    def _unless_unselected(self, o: If) -> Iterator[None]:
        """Reverse a choice by data only if an adjoint is not zero, provided that the result may go unselected itself.

        The processor predicts this test better than the branch itself.
        """
        active = self.adjoints.active
        merges = [m for m in o.merges if self.adjoints.has_bar(m.result)]
        results = [m.result for m in merges]
        inside = (o, *(x for block in o.blocks for x in walk(block)))
        may_rest = (
            self.storing.lanes is None
            and self.plan.region(o.block) is not None
            and reads_data(o.inputs[0])
            and all(x in self.adjoints.unselected and x not in self.adjoints.sums for x in results)
            and all(x in active for m in merges for x in (m.then, m.otherwise))
            and not any(map(self.plan.pushes, inside))
            and not any(root in active for root in find_written_roots(o))
        )
        if not results or not may_rest:
            yield
            return
        bars = dict.fromkeys(self.adjoints.bar(x) for x in results)
        with self.writer.block("if test: pass", test=either([expression("bar != 0.0", bar=bar) for bar in bars])):
            yield

    def _reverse_branch(self, o: If, block: Block, handed_on: list[Value]) -> None:
        self.restoring.restore(block)
        for m, value in zip(o.merges, handed_on, strict=True):
            if self.adjoints.has_bar(m.result):
                self.adjoints.add(value, self.adjoints.bar(m.result))
        self.reverse(block.operations)
        self.reverse([x for x in reversed(self.adjoints.sunk) if self.adjoints.sunk[x] is block], block)

    # ---- loops -------------------------------------------------------------------------------------------------------
    def reverse_For(self, o: For) -> None:
        """Write the reverse of a counted loop."""
        self._begin_loop(o)
        whole = self.forward_sweep.products_kept.get(o)
        if whole is None:
            self._reverse_stored(o)
        else:
            begun, factor = set(self.adjoints.begun), self.plan.products[o]
            is_safe = expression("least <= abs(whole) <= most", least=SMALLEST, whole=whole, most=LARGEST)
            with self.writer.block("if is_safe: pass", o.line, is_safe=is_safe):
                others = expression("whole / factor", whole=whole, factor=self.writer.text(factor))
                self._reverse_product(o, others)
            self.adjoints.begun = begun
            with self.writer.otherwise():
                self.forward_sweep.forward_stored(o)
                self._reverse_stored(o)
        self._end_loop(o)
        self.copying.drop_copies(o)

    def _reverse_product(self, o: For, others: ast.expr) -> None:
        """Write the reverse of a running product; `others` is the product of all other factors."""
        (c,) = o.carried
        with self.forward_sweep.loop(o, reverse=True):
            self.restoring.restore(o.body)
            self.writer.line("x = others", x=c.inner.name, others=others)
            self.adjoints.add(c.following, self.adjoints.bar(c.result))
            before, self.adjoints.left_out = self.adjoints.left_out, lambda x: x is c.inner
            self.reverse(o.body.operations)
            self.adjoints.left_out = before

    def _reverse_stored(self, o: For) -> None:
        """Write the reverse of a loop from stored values."""
        slots = self.storing.slots(o)
        if slots and self.plan.stores_at_once(o):
            base, n = self.storing.names_of_storage(o)
            self.writer.line("n = trips", n=n, trips=self.storing.trip_count(o))
            self.writer.line("top -= size", size=times(self.storing.width(*slots), n))
            self.writer.line("base = top", base=base)
        with self._unless_zero(o), self.forward_sweep.products.unless_large(o, reverse=True):
            self._reverse_for(o)

    def _reverse_for(self, o: For) -> None:
        """Write a loop over the iterations, backwards or, if the order does not matter, forwards."""
        start, stop, step = map(self.writer.text, o.inputs)
        if o in self.plan.choices:
            chosen = self.plan.choices[o].last.name
            with self.writer.block("if last >= 0: pass", o.line, last=chosen):
                self.writer.line("k = last", k=o.index.name, last=chosen)
                self.reverse_iteration(o, self.storing.iteration(o))
        elif self.plan.in_any_order(o):
            with self.forward_sweep.loop(o, reverse=True):
                self.reverse_iteration(o, self.storing.iteration(o))
        elif o.exit is None and o.step.constant == 1:
            first = expression("stop - 1", stop=stop)
            over = expression("range(first, last, -1)", first=first, last=self._shift(o.start, -1))
            over = self.forward_sweep.shared.head(o, over, reverse=True)
            with self.writer.block("for k in over: pass", o.line, k=o.index.name, over=over):
                self.reverse_iteration(o, self.storing.iteration(o))
                self._stop_at_zero(o)
        elif o.exit is None and o.step.constant == -1:
            first, last = self._shift(o.stop, 1), self._shift(o.start, 1)
            with self.writer.block("for k in range(first, last): pass", o.line, k=o.index.name, first=first, last=last):
                self.reverse_iteration(o, expression("start - k", start=start, k=o.index.name))
        else:
            count = self.storing.trip_count(o) if o.exit is None else name(o.count.name)
            with self._backwards(o, count) as k:
                self.writer.line("index = start + k * step", index=o.index.name, start=start, k=k, step=step)
                self.reverse_iteration(o, name(k))

    @contextlib.contextmanager
    def _backwards(self, o: Loop, count: ast.expr) -> Iterator[str]:
        """A loop over iteration numbers, last one first; yields the name of the number."""
        k = self.writer.fresh("iteration")
        with self.writer.block("for k in range(count - 1, -1, -1): pass", o.line, k=k, count=count):
            yield k

    def _shift(self, x: Value, by: int) -> ast.expr:
        """An integer plus 1 or -1."""
        if x.constant is not None:
            return number(x.constant + by)
        return expression("x + 1" if by == 1 else "x - 1", x=self.writer.text(x))

    def _may_stop(self, o: For) -> bool:
        """Whether the reverse of a loop can stop when all adjoints of its carried values are zero."""
        if self.storing.lanes is not None:  # only some lanes may be zero
            return False
        pops = any(map(self.plan.pushes, walk(o.body))) or not self.plan.stores_at_once(o)
        return not pops and not any(root in self.adjoints.active for root in find_written_roots(o))

    @contextlib.contextmanager
    def _unless_zero(self, o: For) -> Iterator[None]:
        """Reverse an inner loop whose results may go unselected only if one of their adjoints is not zero."""
        results = [c.result for c in o.carried if c.result in self.adjoints.active]
        chosen = any(_chooses(reader) for c in o.carried for reader in self.adjoints.readers.get(c.result, ()))
        nested = any(isinstance(holder, Loop) for holder in around(o.block))
        if not (results and chosen and nested and self._may_stop(o)):
            yield
            return
        bars = dict.fromkeys(self.adjoints.bar(value) for value in results)
        with self.writer.block("if test: pass", test=either([expression("bar != 0.0", bar=bar) for bar in bars])):
            yield

    def _stop_at_zero(self, o: For) -> None:
        """Reverse a running choice (a minimum) only back to the iteration that chose last."""
        active = [c for c in o.carried if c.result in self.adjoints.active]
        if len(active) == 1 and active[0].following.operation is not None and self._may_stop(o):
            if _chooses(active[0].following.operation):
                self.writer.line("if bar == 0.0: break", bar=self.adjoints.bar(active[0].result))

    def reverse_While(self, o: Loop) -> None:
        self._begin_loop(o)
        with self._backwards(o, name(o.count.name)) as k:
            self.reverse_iteration(o, name(k))
        self._end_loop(o)

    def reverse_Segments(self, o: Segments) -> None:
        """Write the reverse of a checkpointed loop: it runs each segment again, then reverses the segment."""
        self._begin_loop(o)

        def run() -> None:
            self.forward_sweep.forward(o.body.operations)
            self.reverse_iteration(o, name(o.index.name))

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

    def reverse_iteration(self, o: Loop, k: ast.expr) -> None:
        """Write one iteration backwards. The result of a loop and the carried value share an adjoint."""
        slots = self.storing.slots(o)
        if slots and not self.plan.stores_at_once(o):
            for value, place in self.storing.places_from_top(slots):
                self.writer.line("x = stored", x=value.name, stored=self.storing.restore(value, place))
            self.writer.line("top -= n", n=self.storing.width(*slots))
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
            inner = self.adjoints.bar(c.inner) if c.inner in self.adjoints.begun else 0.0
            self.writer.line(
                "bar = inner", bar=self.adjoints.bar(c.result), inner=self.adjoints.round(c.result, part(inner))
            )
        if o in self.plan.replayed:
            self.forward_sweep.assign_together([(c.inner, c.following) for c in self.plan.carried_again(o)])

    # ---- loops that are reversed at once -----------------------------------------------------------------------------
    def sweep(self, block: Block, seed: Callable[[], None]) -> None:
        """Write a block forwards and backwards; `seed` starts the adjoints of its results."""
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
        else:  # the operations that the adjoints of the loops need come first
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
        with self.storing.room(o), self.forward_sweep.loop(o):
            self.sweep(o.body, lambda: None)
            self.forward_sweep.assign_together([(c.inner, c.following) for c in o.carried])
        for c in o.carried:
            self.forward_sweep.assign_together([(c.result, c.inner)])
        self._end_loop(o)


def _chooses(o: Operation) -> bool:
    """Whether the result of an operation is one of several values."""
    return isinstance(o, If) or (isinstance(o, Apply) and o.function is SELECT)
