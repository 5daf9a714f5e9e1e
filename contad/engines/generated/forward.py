"""The forward sweep as source: the user's program, storing what the reverse sweep will read."""

import math
from typing import Any

from contad.engines.generated.copying import Copying
from contad.engines.generated.functions import ADD, SUBTRACT
from contad.engines.generated.ir import (
    NEW_AXIS,
    Accumulate,
    Apply,
    Check,
    Choose,
    Create,
    For,
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
from contad.engines.generated.small import MOST
from contad.engines.generated.walks import around
from contad.engines.generated.writer import ZEROS, bare, tuple_text

_DTYPES = {"float": "np.float64", "int": "np.int64", "bool": "np.bool_"}


class Forward(Copying):
    """Writes operations in order."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.folded: set[Value] = set()

    def forward(self, operations: list[Operation]) -> None:
        """Write operations in order."""
        for operation in operations:
            getattr(self, f"forward_{type(operation).__name__}")(operation)

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
        return not any(isinstance(holder, Loop) for holder in around(o.block))

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
        if o.result in self.folded:
            self.inside[o.result] = self.expression(o)
            return
        name = o.result.name
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

    def forward_Check(self, o: Check) -> None:
        with self.indented(f"if {self.text(o.inputs[0])}:", o.line):
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
