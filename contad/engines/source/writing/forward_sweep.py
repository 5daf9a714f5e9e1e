"""Writes the forward sweep: the user's function, with stores of the values that the reverse sweep reads."""

import ast
import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from contad.engines.source.ir import ssa
from contad.engines.source.ir.called_derivatives import DerivativeCall
from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.rule_sites import RuleForward, RuleValue
from contad.engines.source.ir.syntax import Part, call, expression, number, tuple_of
from contad.engines.source.ir.tree_queries import is_number, names_of
from contad.engines.source.ir.walks import around
from contad.engines.source.passes.parallelise import DOWN, EACH, FIXED, UP, SharedLoop
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.called_derivative_text import DerivativeCallWriter
from contad.engines.source.writing.copying import Copying
from contad.engines.source.writing.loop_products import ProductWriter
from contad.engines.source.writing.rule_text import RuleWriter
from contad.engines.source.writing.segment_text import SegmentWriter
from contad.engines.source.writing.storing import Storing, times
from contad.memory.threads import APART


class ForwardSweep:
    """Writes operations in order."""

    def __init__(self, copying: Copying, adjoints: AdjointWriter, rules: RuleWriter) -> None:
        self.copying, self.storing, self.adjoints, self.rules = copying, copying.storing, adjoints, rules
        self.writer, self.plan, self.expressions = copying.writer, copying.plan, adjoints.expressions
        self.derivatives = DerivativeCallWriter(adjoints)
        self.segments = SegmentWriter(self.writer.function, self.storing, adjoints)
        self.shared = SharedHeads(copying.storing)
        self.products = ProductWriter(copying, adjoints)
        self.called_functions: dict[Any, None] = {}
        self.products_kept: dict[ssa.For, str] = {}  # running products; the reverse divides them by factors

    def forward(self, operations: list[ssa.Operation]) -> None:
        """Write operations in order; a single branch raises for several consecutive checks of divisors."""
        for group in _runs(operations):
            checks = [o for o in group if isinstance(o, ssa.Check)]
            zero = self.writer.fresh("zero") if len(checks) > 1 else ""
            self.adjoints.names.add(ssa.BOOL, [zero])
            for operation in group:
                if zero and operation in checks:
                    test, first = self.test(operation), operation is checks[0]
                    self.writer.line("zero = test" if first else "zero |= test", operation.line, zero=zero, test=test)
                else:
                    getattr(self, f"forward_{type(operation).__name__}")(operation)
            if zero:
                self.writer.line("if zero: raise error", zero=zero, error=self.exception(checks[0]))

    # ---- numbers and arrays ------------------------------------------------------------------------------------------
    def _assign(self, o: ssa.Operation) -> None:
        """Write the assignment of a result, unless it is folded into the expression that reads it."""
        name = o.result.name
        if o.result in self.adjoints.folded:
            self.writer.fold(o.result, self._expression(o), o.line)
            return
        if isinstance(o, ssa.Apply) and o.function in (ADD, SUBTRACT) and o.inputs[0].name == name:
            added = self.writer.text(o.inputs[1])
            self.writer.line("x += added" if o.function is ADD else "x -= added", o.line, x=name, added=added)
        else:
            self.writer.line("x = made", o.line, x=name, made=self._expression(o))
        self.storing.save(o.result)

    def _expression(self, o: ssa.Operation) -> ast.expr:
        """The expression for the result of an operation; writes the lines that it needs before."""
        formulas = self.adjoints.formulas
        if isinstance(o, ssa.Apply) and not self.writer.recalls and formulas.is_written_out(o):
            return formulas.write_value(o)
        return self.expressions.expression(o)

    forward_Apply = forward_Load = forward_Length = _assign

    def forward_Create(self, o: ssa.Create) -> None:
        self._assign(o)
        self.adjoints.shadow(o)

    forward_View = forward_Permuted = forward_Reshaped = forward_Choose = forward_Create

    def forward_Product(self, o: ssa.Product) -> None:
        """Write a product, as a call that fills a new array."""
        if not self.storing.silent:
            self.adjoints.keep_operands(o)
        made = self.expressions.make_product(o)
        if made is not None:
            self.writer.line("z = made", o.line, z=o.result.name, made=made)
            self.writer.line("put_product(z, factors)", z=o.result.name, factors=self._operands(o.inputs))
        else:
            self._assign(o)
        self.adjoints.shadow(o)

    def _operands(self, values: Iterable[ssa.Value]) -> list[Part]:
        return [self.writer.text(x) for x in values]

    def forward_Store(self, o: ssa.Store) -> None:
        cell = self.writer.subscript(self.writer.text(o.array), o.indices)
        self.writer.line("cell = x", o.line, cell=cell, x=self.writer.text(o.stored))

    def forward_Accumulate(self, o: ssa.Accumulate) -> None:
        cell = self.writer.subscript(self.writer.text(o.array), o.indices)
        x = self.writer.text(o.added)
        self.writer.line("cell += x" if o.sign == "+" else "cell -= x", o.line, cell=cell, x=x)

    def forward_Call(self, o: ssa.Call) -> None:
        called = self.plan.plan_call(o)
        self.called_functions[called] = None
        with self.storing.taking_back(called.pushes):
            called.call_forward(self.writer, [r.name for r in o.results], self._operands(o.inputs), o.line)
        self.storing.uses_workspace |= called.pushes
        for result in o.results:
            self.storing.save(result)

    def forward_MatrixCall(self, o: ssa.MatrixCall) -> None:
        """Write a call of the kernel, which keeps values for the reverse; without a reverse, call NumPy's function."""
        active = self.adjoints.active.changes(o)
        targets: list[Part] = [x.name for x in o.results]
        by_lanes = self.storing.lanes is not None and self.storing.lanes.enter(o)
        if not active and o.function.plain is not None and not by_lanes:
            targets += [expression("x[...]", x=x.name) for x in o.filled]
            f, given = f"np.linalg.{o.function.name}", [*self._operands(o.read), *o.function.plain]
            self.writer.line("targets = f(given)", o.line, targets=targets, f=f, given=given)
        else:
            self.storing.uses_workspace = True
            targets += ["work", "top" if active and not self.storing.silent else "_"]
            f = f"{'forward_lanes_' if by_lanes else 'forward_'}{o.function.name}"
            given = [*self._operands(o.inputs), "work", "top"]
            self.writer.line("targets = f(given)", o.line, targets=targets, f=f, given=given)
        for value in o.results:
            self.storing.save(value)

    def forward_RuleForward(self, o: RuleForward) -> None:
        with self.storing.taking_back(True):
            self.storing.uses_workspace |= self.rules.forward(o)
        for value in o.lengths:
            self.storing.save(value)

    def forward_RuleValue(self, o: RuleValue) -> None:
        with self.storing.taking_back(True):
            self.storing.uses_workspace |= self.rules.value(o)
        for value in o.results:
            self.storing.save(value)

    def forward_DerivativeCall(self, o: DerivativeCall) -> None:
        self.storing.uses_workspace = True
        with self.storing.taking_back(True):
            self.derivatives.forward(o)
        for value in o.results:
            self.storing.save(value)

    def forward_Handed(self, o: ssa.Handed) -> None:
        """Write an expression of the user's unchanged."""
        made = self.writer.fill(o)

        def targets(shape: Any) -> Part:
            return tuple_of(list(map(targets, shape))) if isinstance(shape, tuple) else o.results[shape].name

        if o.shape is None:
            self.writer.line("made", o.line, made=made)
        else:
            self.writer.line("targets = made", o.line, targets=targets(o.shape), made=made)
        for value in o.results:
            self.storing.save(value)
        self.adjoints.shadow_results(o)

    def test(self, o: ssa.Check) -> ast.expr:
        """The condition of a check. A constant condition is hidden in a call, or Numba would prune unreachable code.

        If Numba pruned a function down to an exception, it would infer the result None, which callers do not expect.
        """
        test = self.writer.text(o.inputs[0])
        return test if any(names_of(test)) else call("bool", [test])

    def exception(self, o: ssa.Check) -> ast.expr:
        """The exception that a check raises."""
        name, *said = o.exception
        return call(name, [*map(number, said), *self._operands(o.inputs[1:])])

    def forward_Check(self, o: ssa.Check) -> None:
        self.writer.line("if test: raise error", o.line, test=self.test(o), error=self.exception(o))

    # ---- branches and loops ------------------------------------------------------------------------------------------
    def forward_If(self, o: ssa.If) -> None:
        """Write a branch."""
        with self.writer.block("if test: pass", o.line, test=self.writer.text(o.inputs[0])):
            self._forward_branch(o.blocks[0], [(m.result, m.then) for m in o.merges])
        with self.writer.otherwise():
            self._forward_branch(o.blocks[1], [(m.result, m.otherwise) for m in o.merges])
        for m in o.merges:
            self.storing.save(m.result)

    def _forward_branch(self, block: ssa.Block, merged: list[tuple[ssa.Value, ssa.Value]]) -> None:
        self.forward(block.operations)
        for pair in merged:
            self.assign_together([pair])

    def forward_For(self, o: ssa.For) -> None:
        if o in self.plan.products and not self.storing.silent:
            with self.storing.silence():
                self._forward_for(o)
            whole = self.products_kept[o] = self.writer.fresh("whole")
            self.writer.line("whole = result", whole=whole, result=o.carried[0].result.name)
        else:
            self.forward_stored(o)

    def forward_stored(self, o: ssa.For) -> None:
        """Write a counted loop that stores the values that its reverse reads."""
        if not self.storing.silent:
            self.copying.room_for_copies(o)
            self.copying.copy(o)
        with self.storing.room(o), self.products.unless_large(o):
            self._forward_for(o)

    def _forward_for(self, o: ssa.For) -> None:
        """Write a counted loop, after its space has been reserved."""
        self.enter(o)
        count = o.exit is not None and self.is_read(o.count)
        if count:
            self.writer.line("count = 0", count=o.count.name)
        with self.loop(o):
            self.storing.begin_iteration(o)
            if count:
                self.writer.line("count += 1", count=o.count.name)
            self.forward(o.body.operations)
            self.leave_iteration(o)
        self.leave(o)

    def forward_Segments(self, o: ssa.Segments) -> None:
        """Write a checkpointed loop, which keeps the state at the start of each segment."""
        self.enter(o)

        def run() -> None:
            self.forward(o.body.operations)
            self.leave_iteration(o)

        self.segments.forward(o, run)
        self.leave(o)

    def forward_While(self, o: ssa.While) -> None:
        """Write a while loop."""
        self.enter(o)
        if self.is_read(o.count):
            self.writer.line("count = 0", count=o.count.name)
        with self.writer.block("while True: pass", o.line):
            self.storing.begin_iteration(o)
            self.forward(o.test.operations)
            self.writer.line("if not test: break", test=self.writer.text(o.condition))
            if self.is_read(o.count):
                self.writer.line("count += 1", count=o.count.name)
            self.forward(o.body.operations)
            self.leave_iteration(o)
        self.leave(o)

    def is_read(self, count: ssa.Value) -> bool:
        """Whether the reverse sweep reads how often a loop ran."""
        return any(count in values for values in self.plan.needed.values())

    def loop(self, o: ssa.For, reverse: bool = False) -> contextlib.AbstractContextManager[None]:
        """A loop that counts upwards; its body is written inside the `with` block."""
        limits = self._operands(o.inputs)
        if o.step.constant == 1:
            limits = limits[1:2] if o.start.constant == 0 else limits[:2]
        over = self.shared.head(o, call("range", limits), reverse)
        return self.writer.block("for k in over: pass", o.line, k=o.index.name, over=over)

    def enter(self, o: ssa.Loop) -> None:
        """Assign the initial carried values, and reserve space in the workspace."""
        self.assign_together([(c.inner, c.initial) for c in o.carried])
        slots = self.storing.slots(o)
        if slots and isinstance(o, ssa.For) and self.plan.stores_at_once(o):
            base, n = self.storing.names_of_storage(o)
            self.writer.line("n = trips", n=n, trips=self.storing.trip_count(o))
            self.writer.line("base = top", base=base)
            self.storing.push(times(self.storing.width(*slots), n))

    def leave_iteration(self, o: ssa.Loop) -> None:
        self.storing.end_iteration(o)
        self.assign_together([(c.inner, c.following) for c in o.carried])
        if o.exit is not None:
            self.writer.line("if test: break", test=self.writer.text(o.exit))

    def leave(self, o: ssa.Loop) -> None:
        for c in o.carried:
            self.assign_together([(c.result, c.inner)])
            self.storing.save(c.result)
        self.storing.save(o.count)

    def assign_together(self, pairs: list[tuple[ssa.Value, ssa.Value]]) -> None:
        """Write simultaneous assignments: none may read a variable that an earlier one has written."""
        pairs = [(a, b) for a, b in pairs if a is not b and a.name != b.name]
        targets = {a.name for a, _ in pairs}
        if len(pairs) > 1 and any(b.name in targets for _, b in pairs if b.constant is None):
            names, values = [a.name for a, _ in pairs], self._operands(b for _, b in pairs)
            self.writer.line("names = values", names=names, values=values)
        else:
            for a, b in pairs:
                text = self.writer.text(b)
                is_rounded = a.kind.single and b.constant is not None
                self.writer.line("name = value", name=a.name, value=call("np.float32", [text]) if is_rounded else text)


def _runs(operations: list[ssa.Operation]) -> Iterator[list[ssa.Operation]]:
    """Operations in groups, such that the checks of divisors in a group can raise at its end.

    Until then its numbers may be wrong. So an operation that must not see wrong numbers begins a new group: a branch, a
    loop, an integer computed from such a number, or another exception.
    """
    group: list[ssa.Operation] = []
    for o in operations:
        if not _is_check_of_divisor(o) and not _is_harmless(o):
            yield from (group, [o])
            group = []
        else:
            group.append(o)
    yield group


def _is_check_of_divisor(o: ssa.Operation) -> bool:
    return isinstance(o, ssa.Check) and o.exception == ssa.DIVISION_BY_ZERO


def _is_harmless(o: ssa.Operation) -> bool:
    """Whether an operation only computes numbers, or loads or stores them."""
    if isinstance(o, ssa.Apply):
        return o.result.kind != ssa.INT or all(x.kind != ssa.FLOAT for x in o.inputs)
    return isinstance(o, (ssa.Load, ssa.Store, ssa.Accumulate, ssa.Length))


# ---- loops that threads may share ------------------------------------------------------------------------------------
class SharedHeads:
    """Writes the heads of loops that threads may share: `parallelise` decides about them later.

    for i in prange(3, range(n)):      a loop over range(n); 3 is its index in the list `loops`
    """

    def __init__(self, storing: Storing) -> None:
        self.storing, self.writer, self.plan = storing, storing.writer, storing.plan
        self.enabled = False
        self.loops: list[SharedLoop] = []
        self.serial: dict[ssa.For, str] = {}  # why loops are not even considered
        self._strides: dict[ssa.For, str] = {}

    def head(self, o: ssa.For, limits: ast.expr, reverse: bool = False) -> ast.expr:
        """The iterable of a loop over a range with these limits."""
        if not self.enabled or not o.is_parallel or o in self.serial:
            return limits
        if o in self._strides:
            return self._mark(SharedLoop(o, reverse, DOWN if reverse else UP, self._strides[o]), limits)
        width = self.storing.stride(o)
        if width is not None and is_number(width, 0):
            return self._mark(SharedLoop(o, reverse, FIXED, ""), limits)
        fused = o in self.plan.fused
        if o.exit is not None:
            self.serial[o] = "a break ends it"
        elif width is None:
            self.serial[o] = "how much an iteration stores is not known before it runs"
        elif not fused and any(isinstance(x, ssa.Loop) for x in around(o.block)):
            self.serial[o] = "its iterations store what loops in them need, and it is itself in a loop"
        if o in self.serial:
            return limits
        stride = self.writer.fresh("stride")
        # the places that strips write in parallel are some cache lines apart; the values of iterations have no gaps
        line = self.writer.line
        line("stride = int(width) + n" if fused else "stride = int(width)", stride=stride, width=width, n=APART)
        if not fused:
            self._strides[o] = stride
        return self._mark(SharedLoop(o, reverse, EACH if fused else UP, stride), limits)

    def _mark(self, shared: SharedLoop, limits: ast.expr) -> ast.expr:
        self.loops.append(shared)
        return expression("prange(k, limits)", k=len(self.loops) - 1, limits=limits)
