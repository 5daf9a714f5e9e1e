"""The forward sweep as source: the user's program, storing what the reverse sweep will read."""

import math
import re
from collections.abc import Iterator
from typing import Any

from contad.engines.source.ir.known_functions import ADD, SUBTRACT
from contad.engines.source.ir.single_assignment import (
    DIVISION_BY_ZERO,
    FLOAT,
    INT,
    NEW_AXIS,
    Accumulate,
    Apply,
    Body,
    Call,
    Check,
    Choose,
    Create,
    For,
    Handed,
    If,
    Length,
    Load,
    Loop,
    Operation,
    Product,
    Store,
    Value,
    View,
    While,
)
from contad.engines.source.ir.walks import around
from contad.engines.source.ir.writer import ZEROS, bare, is_deep, tuple_text
from contad.engines.source.writing.copying import Copying
from contad.engines.source.writing.small_products import MOST

_DTYPES = {"float": "np.float64", "int": "np.int64", "bool": "np.bool_"}

_OF_NUMBERS = re.compile(r"[-+()0-9.<>=!| ]+|True")


class Forward(Copying):
    """Writes operations in order."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.folded: set[Value] = set()
        self.called_functions: dict[Any, None] = {}
        self.checking: set[str] = set()  # names of the results of several checks

    def forward(self, operations: list[Operation]) -> None:
        """Write operations in order; where several divisors are checked one after the other, one branch raises."""
        for group in _runs(operations):
            checks = [o for o in group if isinstance(o, Check)]
            zero = self.fresh("zero") if len(checks) > 1 else ""
            self.checking.add(zero)
            for operation in group:
                if zero and operation in checks:
                    sign = "=" if operation is checks[0] else "|="
                    self.line(f"{zero} {sign} {self.test(operation)}", operation.line)
                else:
                    getattr(self, f"forward_{type(operation).__name__}")(operation)
            if zero:
                with self.indented(f"if {zero}:"):
                    self.line(f"raise {checks[0].exception}")

    # ---- numbers and arrays ------------------------------------------------------------------------------------------
    def expression(self, o: Operation) -> str:
        """The text of an operation with one result."""
        if isinstance(o, Apply):
            return self.applied(o)
        if isinstance(o, Load):
            text = self.subscript(self.text(o.array), o.indices)
            if o.array.kind.narrow or o.result.kind.base == "bool":  # NumPy's wrap, and add as truth values, in Python
                text = f"{o.result.kind.base}({text})"
            return text if o.guard is None else f"{text} if {self.text(o.guard)} else {ZEROS[o.result.kind.base]}"
        if isinstance(o, Length):
            return f"{self.text(o.inputs[0])}.shape[{o.axis}]"
        if isinstance(o, Create):
            if o.fill in ("empty", "zeros") and o.result.kind.base == "float" and self.is_small(o):
                return f"small_zeros({self.shape(o)})"
            dtype = "" if o.result.kind.base == "float" else f", {_DTYPES[o.result.kind.base]}"
            return f"np.{o.fill}({self.shape(o)}{dtype})"
        if isinstance(o, View):
            return self.viewed(o, self.text(o.inputs[0]))
        if isinstance(o, Choose):
            return self.chosen(o, "")
        if isinstance(o, Product):
            return " @ ".join(map(self.text, o.inputs))
        raise TypeError(type(o))

    def shape(self, o: Create) -> str:
        return tuple_text([self.text(x) for x in o.inputs])

    def is_small(self, o: Create) -> bool:
        """Whether an array and its adjoint may lie on the stack: small, of a known shape, and made once."""
        sizes = [x.constant for x in o.inputs]
        if None in sizes or min(sizes) < 1 or math.prod(sizes) > MOST:
            return False
        return not any(isinstance(holder, Loop) and not isinstance(holder, Body) for holder in around(o.block))

    def viewed(self, o: View, array: str) -> str:
        """A basic slice of an array, or of its adjoint."""
        if o.spec is None:
            return f"{array}.T"
        parts = []
        for part in o.spec:
            if part == NEW_AXIS:
                parts.append(part)
            elif isinstance(part, tuple):
                start, stop, step = ("" if k is None else self.text(o.inputs[k]) for k in part)
                parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
            else:
                parts.append(self.text(o.inputs[part]))
        return f"{array}[{', '.join(parts)}]"

    def chosen(self, o: Choose, suffix: str) -> str:
        """One of several arrays, or of their adjoints, by its number."""
        selector, *arrays = o.inputs
        text = arrays[-1].name + suffix
        for n, array in reversed(list(zip(o.numbers, arrays, strict=True))[:-1]):
            text = f"{array.name}{suffix} if {selector.name} == {n} else {text}"
        return text

    def _assign(self, o: Operation) -> None:
        name = o.result.name
        if o.result in self.folded:
            text = self.expression(o)
            if is_deep(text):
                self.line(f"{name} = {text}", o.line)
            else:
                self.inside[o.result] = text
            return
        if isinstance(o, Apply) and o.function in (ADD, SUBTRACT) and o.inputs[0].name == name:
            self.line(f"{name} {'+' if o.function is ADD else '-'}= {bare(self.text(o.inputs[1]))}", o.line)
        else:
            self.line(f"{name} = {self.expression(o)}", o.line)
        self.save(o.result)

    forward_Apply = forward_Load = forward_Length = forward_Choose = _assign

    def forward_Create(self, o: Create) -> None:
        self._assign(o)
        self.shadow(o)

    forward_View = forward_Product = forward_Create

    def shadow(self, o: Operation) -> None:
        """The adjoint of an array, where its reverse is not in a loop of its own."""

    def forward_Store(self, o: Store) -> None:
        self.line(f"{self.subscript(self.text(o.array), o.indices)} = {bare(self.text(o.stored))}", o.line)

    def forward_Accumulate(self, o: Accumulate) -> None:
        self.line(f"{self.subscript(self.text(o.array), o.indices)} {o.sign}= {bare(self.text(o.added))}", o.line)

    def forward_Call(self, o: Call) -> None:
        called = self.plan.called(o)
        self.called_functions[called] = None
        self.line(called.forward_call([r.name for r in o.results], [bare(self.text(x)) for x in o.inputs]), o.line)
        self.uses_workspace |= called.pushes
        for result in o.results:
            self.save(result)

    def forward_Handed(self, o: Handed) -> None:
        text = o.template.format(*map(self.text, o.inputs))

        def targets(shape: Any) -> str:
            return tuple_text(list(map(targets, shape))) if isinstance(shape, tuple) else o.results[shape].name

        self.line(text if o.shape is None else f"{targets(o.shape)} = {text}", o.line)
        for value in o.results:
            self.save(value)
        self.shadow_results(o)

    def shadow_results(self, o: Handed) -> None:
        """The adjoints of arrays that a call gives and that are written to later on."""

    def test(self, o: Check) -> str:
        """The condition of a check; one of numbers alone in a call, or Numba would leave out what is never reached.

        A function of which nothing is left but an exception returns None to Numba, not what its callers expect.
        """
        text = bare(self.text(o.inputs[0]))
        return f"bool({text})" if _OF_NUMBERS.fullmatch(text) else text

    def forward_Check(self, o: Check) -> None:
        with self.indented(f"if {self.test(o)}:", o.line):
            self.line(f"raise {o.exception}")

    # ---- branches and loops ------------------------------------------------------------------------------------------
    def forward_If(self, o: If) -> None:
        for head, block, values in (
            (f"if {self.text(o.inputs[0])}:", o.blocks[0], [m.then for m in o.merges]),
            ("else:", o.blocks[1], [m.otherwise for m in o.merges]),
        ):
            first = block is o.blocks[0]
            with self.indented(head, o.line if first else 0, else_nothing=not first):
                self.forward(block.operations)
                for m, value in zip(o.merges, values, strict=True):
                    self.assign_together([(m.result, value)])
        for m in o.merges:
            self.save(m.result)

    def forward_For(self, o: For) -> None:
        self.room_for_copies(o)
        self.copy(o)
        with self.room(o):
            self._forward_for(o)

    def _forward_for(self, o: For) -> None:
        self.enter(o)
        count = o.exit is not None and self.is_read(o.count)
        if count:
            self.line(f"{o.count.name} = 0")
        with self.indented(self.head(o), o.line):
            self.begin_iteration(o)
            if count:
                self.line(f"{o.count.name} += 1")
            self.forward(o.body.operations)
            self.leave_iteration(o)
        self.leave(o)

    def forward_While(self, o: While) -> None:
        self.enter(o)
        if self.is_read(o.count):
            self.line(f"{o.count.name} = 0")
        with self.indented("while True:", o.line):
            self.begin_iteration(o)
            self.forward(o.test.operations)
            with self.indented(f"if not {self.text(o.condition)}:"):
                self.line("break")
            if self.is_read(o.count):
                self.line(f"{o.count.name} += 1")
            self.forward(o.body.operations)
            self.leave_iteration(o)
        self.leave(o)

    def is_read(self, count: Value) -> bool:
        """Whether the reverse sweep asks how often a loop ran."""
        return any(count in values for values in self.plan.needed.values())

    def head(self, o: For) -> str:
        start, stop, step = map(self.text, o.inputs)
        limits = stop if o.start.constant == 0 and o.step.constant == 1 else f"{start}, {stop}"
        return f"for {o.index.name} in range({limits if o.step.constant == 1 else f'{start}, {stop}, {step}'}):"

    def enter(self, o: Loop) -> None:
        """What a loop carries at first, and room in the workspace."""
        self.assign_together([(c.inner, c.initial) for c in o.carried])
        slots = self.slots(o)
        if slots and isinstance(o, For) and self.plan.as_block(o):
            base, n = self.block_names(o)
            self.line(f"{n} = {self.trip_count(o)}")
            self.line(f"{base} = top")
            self.push(f"{len(slots)} * {n}" if len(slots) > 1 else n)

    def leave_iteration(self, o: Loop) -> None:
        slots = self.slots(o)
        if slots and not self.plan.as_block(o):
            self.push(str(len(slots)))
            for k, value in enumerate(slots):
                self.put(value, f"top - {len(slots) - k}")
        self.assign_together([(c.inner, c.following) for c in o.carried])
        if o.exit is not None:
            with self.indented(f"if {self.text(o.exit)}:"):
                self.line("break")

    def leave(self, o: Loop) -> None:
        for c in o.carried:
            self.assign_together([(c.result, c.inner)])
            self.save(c.result)
        self.save(o.count)

    def assign_together(self, pairs: list[tuple[Value, Value]]) -> None:
        """Assignments of which none reads what another has written."""
        pairs = [(a, b) for a, b in pairs if a is not b and a.name != b.name]
        targets = {a.name for a, _ in pairs}
        if len(pairs) > 1 and any(b.name in targets for _, b in pairs if b.constant is None):
            self.line(f"{', '.join(a.name for a, _ in pairs)} = {', '.join(self.text(b) for _, b in pairs)}")
        else:
            for a, b in pairs:
                self.line(f"{a.name} = {self.text(b)}")


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
