"""The forward sweep as source: the user's program, storing what the reverse sweep will read."""

import re
from collections.abc import Iterator
from typing import Any

from contad.engines.source.ir.called_derivatives import DerivativeCall
from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.rule_sites import RuleForward, RuleValue
from contad.engines.source.ir.single_assignment import (
    DIVISION_BY_ZERO,
    FLOAT,
    INT,
    Accumulate,
    Apply,
    Call,
    Check,
    Create,
    For,
    Handed,
    If,
    Length,
    Load,
    Loop,
    MatrixCall,
    Operation,
    Product,
    Segments,
    Store,
    Value,
    While,
)
from contad.engines.source.ir.writer import bare, is_deep, tuple_text
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.called_derivative_text import DerivativeCallWriter
from contad.engines.source.writing.copying import Copying
from contad.engines.source.writing.loop_products import ProductWriter
from contad.engines.source.writing.rule_text import RuleWriter
from contad.engines.source.writing.segment_text import SegmentWriter
from contad.engines.source.writing.shared_heads import SharedHeads

_OF_NUMBERS = re.compile(r"[-+()0-9.<>=!| ]+|True")


class ForwardSweep:
    """Writes operations in order."""

    def __init__(self, copying: Copying, adjoints: AdjointWriter, rules: RuleWriter) -> None:
        self.copying, self.storing, self.adjoints, self.rules = copying, copying.storing, adjoints, rules
        self.writer, self.plan, self.expressions = copying.writer, copying.plan, adjoints.expressions
        self.derivatives = DerivativeCallWriter(adjoints)
        self.segments = SegmentWriter(self.writer.program, self.storing, adjoints)
        self.shared = SharedHeads(copying.storing)
        self.products = ProductWriter(copying, adjoints)
        self.called_functions: dict[Any, None] = {}
        self.products_kept: dict[For, str] = {}  # the names of running products by which factors are divided
        self.checking: set[str] = set()  # names of the results of several checks

    def forward(self, operations: list[Operation]) -> None:
        """Write operations in order; where several divisors are checked one after the other, one branch raises."""
        for group in _runs(operations):
            checks = [o for o in group if isinstance(o, Check)]
            zero = self.writer.fresh("zero") if len(checks) > 1 else ""
            self.checking.add(zero)
            for operation in group:
                if zero and operation in checks:
                    sign = "=" if operation is checks[0] else "|="
                    self.writer.line(f"{zero} {sign} {self.test(operation)}", operation.line)
                else:
                    getattr(self, f"forward_{type(operation).__name__}")(operation)
            if zero:
                with self.writer.indent(f"if {zero}:"):
                    self.writer.line(f"raise {checks[0].exception}")

    # ---- numbers and arrays ------------------------------------------------------------------------------------------
    def _assign(self, o: Operation) -> None:
        """Write an operation with one result, unless it is written inside the expression that reads it."""
        name = o.result.name
        if o.result in self.adjoints.folded:
            self.writer.fold(o.result, self._text(o), o.line)
            return
        if isinstance(o, Apply) and o.function in (ADD, SUBTRACT) and o.inputs[0].name == name:
            self.writer.line(
                f"{name} {'+' if o.function is ADD else '-'}= {bare(self.writer.text(o.inputs[1]))}", o.line
            )
        else:
            self.writer.line(f"{name} = {self._text(o)}", o.line)
        self.storing.save(o.result)

    def _text(self, o: Operation) -> str:
        """The text of an operation's result, after the lines that it needs."""
        formulas = self.adjoints.formulas
        if isinstance(o, Apply) and not self.writer.recalls and formulas.is_written_out(o):
            return formulas.write_value(o)
        return self.expressions.expression(o)

    forward_Apply = forward_Load = forward_Length = _assign

    def forward_Create(self, o: Create) -> None:
        self._assign(o)
        self.adjoints.shadow(o)

    forward_View = forward_Permuted = forward_Reshaped = forward_Choose = forward_Create

    def forward_Product(self, o: Product) -> None:
        """Write a product, by a call that puts it in its array where it is of a matrix and a vector."""
        if not self.storing.silent:
            self.adjoints.keep_operands(o)
        text = self.expressions.make_product(o)
        if text:
            self.writer.line(f"{o.result.name} = {text}", o.line)
            factors = ", ".join(map(self.writer.text, o.inputs))
            self.writer.line(f"put_product({o.result.name}, {factors})")
        else:
            self._assign(o)
        self.adjoints.shadow(o)

    def forward_Store(self, o: Store) -> None:
        self.writer.line(
            f"{self.writer.subscript(self.writer.text(o.array), o.indices)} = {bare(self.writer.text(o.stored))}",
            o.line,
        )

    def forward_Accumulate(self, o: Accumulate) -> None:
        cell = self.writer.subscript(self.writer.text(o.array), o.indices)
        self.writer.line(
            f"{cell} {o.sign}= {bare(self.writer.text(o.added))}",
            o.line,
        )

    def forward_Call(self, o: Call) -> None:
        called = self.plan.plan_call(o)
        self.called_functions[called] = None
        given = [bare(self.writer.text(x)) for x in o.inputs]
        with self.storing.taking_back(called.pushes):
            self.writer.line(called.forward_call([r.name for r in o.results], given), o.line)
        self.storing.uses_workspace |= called.pushes
        for result in o.results:
            self.storing.save(result)

    def forward_MatrixCall(self, o: MatrixCall) -> None:
        """What the reverse reads is kept in the workspace; where there is none, NumPy's function stands here."""
        active = self.adjoints.active.changes(o)
        targets = [x.name for x in o.results]
        by_lanes = self.storing.lanes is not None and self.storing.lanes.enter(o)
        if not active and o.function.plain and not by_lanes:
            filled = [f"{x.name}[...]" for x in o.filled]
            given = ", ".join(bare(self.writer.text(x)) for x in o.read)
            text = o.function.plain.format(o.function.name, given)
            self.writer.line(f"{', '.join([*targets, *filled])} = {text}", o.line)
        else:
            self.storing.uses_workspace = True
            targets += ["work", "top" if active and not self.storing.silent else "_"]
            given = ", ".join([*(bare(self.writer.text(x)) for x in o.inputs), "work", "top"])
            way = "forward_lanes_" if by_lanes else "forward_"
            self.writer.line(f"{', '.join(targets)} = {way}{o.function.name}({given})", o.line)
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

    def forward_Handed(self, o: Handed) -> None:
        text = self.writer.fill(o)

        def targets(shape: Any) -> str:
            return tuple_text(list(map(targets, shape))) if isinstance(shape, tuple) else o.results[shape].name

        self.writer.line(text if o.shape is None else f"{targets(o.shape)} = {text}", o.line)
        for value in o.results:
            self.storing.save(value)
        self.adjoints.shadow_results(o)

    def test(self, o: Check) -> str:
        """The condition of a check; one of numbers alone in a call, or Numba would leave out what is never reached.

        A function of which nothing is left but an exception returns None to Numba, not what its callers expect.
        """
        text = bare(self.writer.text(o.inputs[0]))
        return f"bool({text})" if _OF_NUMBERS.fullmatch(str(text)) else text

    def forward_Check(self, o: Check) -> None:
        with self.writer.indent(f"if {self.test(o)}:", o.line):
            numbers = "".join(f", {bare(self.writer.text(x))}" for x in o.inputs[1:])
            self.writer.line(f"raise {o.exception[:-1]}{numbers})" if numbers else f"raise {o.exception}")

    # ---- branches and loops ------------------------------------------------------------------------------------------
    def forward_If(self, o: If) -> None:
        """Write a branch."""
        for head, block, values in (
            (f"if {self.writer.text(o.inputs[0])}:", o.blocks[0], [m.then for m in o.merges]),
            ("else:", o.blocks[1], [m.otherwise for m in o.merges]),
        ):
            first = block is o.blocks[0]
            with self.writer.indent(head, o.line if first else 0, else_nothing=not first):
                self.forward(block.operations)
                for m, value in zip(o.merges, values, strict=True):
                    self.assign_together([(m.result, value)])
        for m in o.merges:
            self.storing.save(m.result)

    def forward_For(self, o: For) -> None:
        if o in self.plan.products and not self.storing.silent:
            with self.storing.silence():
                self._forward_for(o)
            self.products_kept[o] = self.writer.fresh("whole")
            self.writer.line(f"{self.products_kept[o]} = {o.carried[0].result.name}")
        else:
            self.forward_stored(o)

    def forward_stored(self, o: For) -> None:
        """Write a counted loop that stores what its reverse will read."""
        if not self.storing.silent:
            self.copying.room_for_copies(o)
            self.copying.copy(o)
        with self.storing.room(o), self.products.unless_large(o):
            self._forward_for(o)

    def _forward_for(self, o: For) -> None:
        """Write a counted loop, for which there is room."""
        self.enter(o)
        count = o.exit is not None and self.is_read(o.count)
        if count:
            self.writer.line(f"{o.count.name} = 0")
        with self.writer.indent(self.head(o), o.line):
            self.storing.begin_iteration(o)
            if count:
                self.writer.line(f"{o.count.name} += 1")
            self.forward(o.body.operations)
            self.leave_iteration(o)
        self.leave(o)

    def forward_Segments(self, o: Segments) -> None:
        """Write a checkpointed loop, which keeps what each segment starts from."""
        self.enter(o)

        def run() -> None:
            self.forward(o.body.operations)
            self.leave_iteration(o)

        self.segments.forward(o, run)
        self.leave(o)

    def forward_While(self, o: While) -> None:
        """Write a loop that ends by its condition."""
        self.enter(o)
        if self.is_read(o.count):
            self.writer.line(f"{o.count.name} = 0")
        with self.writer.indent("while True:", o.line):
            self.storing.begin_iteration(o)
            self.forward(o.test.operations)
            with self.writer.indent(f"if not {self.writer.text(o.condition)}:"):
                self.writer.line("break")
            if self.is_read(o.count):
                self.writer.line(f"{o.count.name} += 1")
            self.forward(o.body.operations)
            self.leave_iteration(o)
        self.leave(o)

    def is_read(self, count: Value) -> bool:
        """Whether the reverse sweep asks how often a loop ran."""
        return any(count in values for values in self.plan.needed.values())

    def head(self, o: For, reverse: bool = False) -> str:
        """The first line of a loop that counts upwards."""
        start, stop, step = map(self.writer.text, o.inputs)
        limits = stop if o.start.constant == 0 and o.step.constant == 1 else f"{start}, {stop}"
        over = f"range({limits if o.step.constant == 1 else f'{start}, {stop}, {step}'})"
        return f"for {o.index.name} in {self.shared.head(o, over, reverse)}:"

    def loop(self, o: For, reverse: bool = False) -> Any:
        """A loop that counts upwards, whose body is written inside."""
        return self.writer.indent(self.head(o, reverse), o.line)

    def enter(self, o: Loop) -> None:
        """What a loop carries at first, and room in the workspace."""
        self.assign_together([(c.inner, c.initial) for c in o.carried])
        slots = self.storing.slots(o)
        if slots and isinstance(o, For) and self.plan.as_block(o):
            base, n = self.storing.block_names(o)
            self.writer.line(f"{n} = {self.storing.trip_count(o)}")
            self.writer.line(f"{base} = top")
            width = self.storing.width(*slots)
            self.storing.push(f"{width} * {n}" if width > 1 else n)

    def leave_iteration(self, o: Loop) -> None:
        slots = self.storing.slots(o)
        if slots and not self.plan.as_block(o):
            self.storing.push(str(self.storing.width(*slots)))
            for value, place in self.storing.places_from_top(slots):
                self.storing.put(value, place)
        self.assign_together([(c.inner, c.following) for c in o.carried])
        if o.exit is not None:
            with self.writer.indent(f"if {self.writer.text(o.exit)}:"):
                self.writer.line("break")

    def leave(self, o: Loop) -> None:
        for c in o.carried:
            self.assign_together([(c.result, c.inner)])
            self.storing.save(c.result)
        self.storing.save(o.count)

    def assign_together(self, pairs: list[tuple[Value, Value]]) -> None:
        """Assignments of which none reads what another has written."""
        pairs = [(a, b) for a, b in pairs if a is not b and a.name != b.name]
        targets = {a.name for a, _ in pairs}
        if len(pairs) > 1 and any(b.name in targets for _, b in pairs if b.constant is None):
            self.writer.line(
                f"{', '.join(a.name for a, _ in pairs)} = {', '.join(self.writer.text(b) for _, b in pairs)}"
            )
        else:
            for a, b in pairs:
                self.writer.line(f"{a.name} = {self.writer.text(b)}")


def _runs(operations: list[Operation]) -> Iterator[list[Operation]]:
    """Operations in groups: a group with checks of divisors does nothing else that its numbers could disturb.

    So the checks of a group can raise at its end. What depends on a number that may be wrong by then, a branch, a loop,
    an integer made of it or another exception, begins a new group.
    """
    group: list[Operation] = []
    for o in operations:
        if not _is_check_of_divisor(o) and not _is_harmless(o):
            yield from (group, [o])
            group = []
        else:
            group.append(o)
    yield group


def _is_check_of_divisor(o: Operation) -> bool:
    return isinstance(o, Check) and o.exception == DIVISION_BY_ZERO


def _is_harmless(o: Operation) -> bool:
    """Whether an operation only computes numbers, or moves them from and to elements."""
    if isinstance(o, Apply):
        return o.result.kind != INT or all(x.kind != FLOAT for x in o.inputs)
    return isinstance(o, (Load, Store, Accumulate, Length))
