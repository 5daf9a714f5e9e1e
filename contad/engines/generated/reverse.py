"""The reverse sweep as source: the operations backwards, each adding to the adjoints of what it read."""

import contextlib
from collections.abc import Callable, Iterator

from contad.engines.generated.forward import Forward, restored
from contad.engines.generated.functions import DIVIDE, SELECT
from contad.engines.generated.ir import (
    FLOAT,
    Accumulate,
    Apply,
    Block,
    Carried,
    Choose,
    Create,
    For,
    If,
    Load,
    Loop,
    Operation,
    Product,
    Program,
    Store,
    Value,
    View,
    around,
    is_inside,
    walk,
    written_roots,
)
from contad.engines.generated.order import any_order
from contad.engines.generated.partials import partial, source_of
from contad.engines.generated.plan import Plan, advanced, counted
from contad.engines.generated.tame import may_be_infinite, wild_values
from contad.engines.generated.writer import BAR, number


class Reverse(Forward):
    """Writes the reverse of operations. An adjoint is first assigned, then added to."""

    def __init__(self, program: Program, plan: Plan, sums: dict[Value, Value]) -> None:
        super().__init__(program)
        self.plan = plan
        self.sums = sums  # partial sums share the adjoint of the total
        self.active = plan.activity
        self.wild = wild_values(program)
        self.readers: dict[Value, list[Operation]] = {}
        for operation in walk(program.block):
            for value in operation.reads():
                self.readers.setdefault(value, []).append(operation)
        self.kept: dict[tuple[Product, Value], str] = {}  # copies of operands of products
        self.begun: set[Value] = set()  # values whose adjoint has been assigned

    def bar(self, value: Value) -> str:
        """The name of an adjoint."""
        return self.sums.get(value, value).name + BAR

    def has_bar(self, value: Value) -> bool:
        """Whether anything has been added to an adjoint yet."""
        return self.sums.get(value, value) in self.begun

    def add(self, value: Value, text: str) -> None:
        """Add to an adjoint."""
        if value not in self.active or value in self.sums:  # the total's adjoint is complete before the loop
            return
        if value not in self.begun:
            self.begun.add(value)
            self.line(f"{self.bar(value)} = {text}")
        elif text.startswith("-") and not text.startswith("-("):
            self.line(f"{self.bar(value)} -= {text[1:]}")
        else:
            self.line(f"{self.bar(value)} += {text}")

    def begin(self, value: Value) -> None:
        """Make sure that an adjoint is assigned."""
        if not self.has_bar(value):
            self.add(value, "0.0")

    def begin_outside(self, o: Operation) -> None:
        """Assign the adjoints that the reverse of a branch or loop adds to and that belong to what is around it."""
        inside = {id(block) for block in o.blocks}
        reads = list(o.reads())
        for block in o.blocks:
            for inner in walk(block):
                inside |= {id(b) for b in inner.blocks}
                reads += inner.reads()
        for value in dict.fromkeys(reads):
            if value.kind == FLOAT and value in self.active and id(value.block) not in inside:
                self.begin(value)

    def reverse(self, operations: list[Operation]) -> None:
        for operation in reversed(operations):
            if self.active.changes(operation):
                write = getattr(self, f"reverse_{type(operation).__name__}", None)
                if write is not None:
                    write(operation)

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def reverse_Apply(self, o: Apply) -> None:
        if not self.has_bar(o.result):
            return
        d = self.bar(o.result)
        inverses = self._inverses(o)
        for k, x in enumerate(o.inputs):
            if x not in self.active:
                continue
            literal = partial(o.function, k).literal
            if o.function is SELECT:
                condition = self.text(o.inputs[0])
                self.add(x, f"{d} if {condition} else 0.0" if k == 1 else f"0.0 if {condition} else {d}")
            elif literal is not None:
                if literal != 0.0:
                    self.add(x, d if literal == 1.0 else f"-{d}" if literal == -1.0 else f"{number(literal)} * {d}")
            else:
                names = [o.result.name, *map(self.text, o.inputs)]
                lines, text = source_of(o, k, names, f"{o.result.name}_")
                for line in lines:
                    self.line(line)
                self.add(x, self.product(o, k, d, self._by_inverse(text, inverses)))

    def _inverses(self, o: Apply) -> dict[str, str]:
        """A divisor of both partials is inverted once: divisor -> the name of its inverse."""
        if o.function is not DIVIDE or not all(x in self.active for x in o.inputs):
            return {}
        divisor = self.text(o.inputs[1])
        name = self.fresh(f"{o.result.name}_inverse")
        self.line(f"{name} = 1.0 / {divisor}")
        return {divisor: name}

    def _by_inverse(self, text: str, inverses: dict[str, str]) -> str:
        for divisor, name in inverses.items():
            text = text.replace(f"1.0 / {divisor}", name).replace(f"/ {divisor}", f"* {name}")
        return text

    def product(self, o: Apply, k: int, d: str, text: str) -> str:
        """An adjoint times a partial. Where the adjoint is 0 the product is 0, though the partial may be infinite."""
        simple = text.replace("_", "").replace(".", "").isalnum()
        text = text if simple or (text.startswith("math.") and text.count("(") == 1) else f"({text})"
        product = f"{d} * {text}"
        return f"{product} if {d} != 0.0 else 0.0" if may_be_infinite(o, k, self.wild) else product

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def reverse_Load(self, o: Load) -> None:
        if not self.has_bar(o.result):
            return
        line = f"{self.subscript(self.bar(o.array), o.indices)} += {self.bar(o.result)}"
        if o.guard is None:
            self.line(line)
        else:
            with self.indented(f"if {self.text(o.guard)}:"):
                self.line(line)

    def reverse_Store(self, o: Store) -> None:
        cell = self.subscript(self.bar(o.array), o.indices)
        self.add(o.stored, cell)
        self.line(f"{cell} = 0.0")

    def reverse_Accumulate(self, o: Accumulate) -> None:
        cell = self.subscript(self.bar(o.array), o.indices)
        self.add(o.added, cell if o.sign == "+" else f"-{cell}")

    def forward_Product(self, o: Product) -> None:  # type: ignore[override]
        """An operand that is written later on is copied, because the other one's adjoint is made of it."""
        for x, other in ((o.inputs[0], o.inputs[1]), (o.inputs[1], o.inputs[0])):
            if o.result in self.active and other in self.active and not self.plan.unchanged(o, x):
                self.kept[o, x] = self.fresh(f"{x.name}_kept")
                self.line(f"{self.kept[o, x]} = {x.name}.copy()")
        super().forward_Create(o)  # type: ignore[arg-type]

    def reverse_Product(self, o: Product) -> None:
        a, b = o.inputs
        d = self.bar(o.result)
        a_name, b_name = (self.kept.get((o, x), x.name) for x in (a, b))
        if a.kind.ndim == b.kind.ndim == 1:
            if self.has_bar(o.result):
                for x, other in ((a, b_name), (b, a_name)):
                    if x in self.active:
                        self.line(f"{self.bar(x)} += {d} * {other}")
            return
        a_bar = {(2, 1): f"np.outer({d}, {b_name})", (1, 2): f"{b_name} @ {d}", (2, 2): f"{d} @ {b_name}.T"}
        b_bar = {(2, 1): f"{a_name}.T @ {d}", (1, 2): f"np.outer({a_name}, {d})", (2, 2): f"{a_name}.T @ {d}"}
        for x, texts in ((a, a_bar), (b, b_bar)):
            if x in self.active:
                self.line(f"{self.bar(x)} += {texts[a.kind.ndim, b.kind.ndim]}")

    def shadow(self, o: Operation) -> None:
        if o.result in self.active and self.plan.region(o.block) is None:
            self.make_shadow(o)

    def make_shadow(self, o: Operation) -> None:
        """The adjoint of an array that is created, viewed or chosen."""
        if isinstance(o, View):
            text = self.viewed(o, self.bar(o.inputs[0]))
        elif isinstance(o, Choose):
            text = self.chosen(o, BAR)
        elif isinstance(o, Create):
            text = f"np.zeros(({', '.join(map(self.text, o.inputs))}{',' if len(o.inputs) == 1 else ''}))"
        elif o.result.is_array:
            text = f"np.zeros({o.result.name}.shape)"
        else:
            return
        self.line(f"{self.bar(o.result)} = {text}")

    def forward_Choose(self, o: Choose) -> None:  # type: ignore[override]
        self._assign(o)
        self.shadow(o)

    # ---- branches ----------------------------------------------------------------------------------------------------
    def reverse_If(self, o: If) -> None:
        self.begin_outside(o)
        for head, block, values in (
            (f"if {self.text(o.inputs[0])}:", o.blocks[0], [m.then for m in o.merges]),
            ("else:", o.blocks[1], [m.otherwise for m in o.merges]),
        ):
            with self.indented(head, o.line, else_nothing=block is o.blocks[1]):
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

    def _reverse_for(self, o: For) -> None:
        start, stop, step = map(self.text, o.inputs)
        if any_order(o, self.active, self.sums, self.plan):
            with self.indented(self.head(o), o.line):
                self._iteration(o, self.iteration(o))
        elif o.exit is None and o.step.constant == 1:
            first = f"{stop} - 1"
            last = "-1" if o.start.constant == 0 else f"{start} - 1"
            with self.indented(f"for {o.index.name} in range({first}, {last}, -1):", o.line):
                self._iteration(o, self.iteration(o))
        else:
            k = self.fresh("iteration")
            count = self.trip_count(o) if o.exit is None else o.count.name
            with self.indented(f"for {k} in range({count} - 1, -1, -1):", o.line):
                self.line(f"{o.index.name} = {start} + {k} * {step}")
                self._iteration(o, k)

    @contextlib.contextmanager
    def _unless_zero(self, o: For) -> Iterator[None]:
        """A loop in a loop whose results may not have been chosen is reversed only where an adjoint is not zero."""
        results = [c.result for c in o.carried if c.result in self.active]
        chosen = any(
            isinstance(reader, If) or (isinstance(reader, Apply) and reader.function is SELECT)
            for c in o.carried
            for reader in self.readers.get(c.result, ())
        )
        nested = any(isinstance(holder, Loop) for holder in around(o.block))
        pops = any(isinstance(i, Loop) and self.plan.pushes(i) for i in walk(o.body)) or not self.plan.as_block(o)
        if not (chosen and nested) or pops or any(root in self.active for root in written_roots(o)):
            yield
            return
        names = dict.fromkeys(self.bar(value) for value in results)
        with self.indented(f"if {' or '.join(f'{name} != 0.0' for name in names)}:"):
            yield

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
                self.line(f"{value.name} = {restored(value, f'work[top - {len(slots) - j}]')}")
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
            self.line(f"{c.result.name} = {c.inner.name}")
        self._end_loop(o)

    # ---- values of an earlier iteration ------------------------------------------------------------------------------
    def _restore_inner(self, o: Loop, c: Carried, k: str) -> None:
        if c.inner in self.slots(o):
            self._read_back(o, c.inner)
        elif c.inner in self.plan.recomputed.get(o, ()):
            found = counted(o, c)
            if found is not None:
                self.line(f"{c.inner.name} = {self.text(c.initial)} {found[0]} {times(k, self.text(found[1]))}")
            else:
                for step in advanced(o, c) or ():

                    def text(value: Value) -> str:
                        return self.sum_text(value, o)

                    count = times(self.trip_count(step.times, text) if step.times else "1", text(step.amount))
                    self.line(f"{c.inner.name} {'-' if step.sign == '+' else '+'}= {count}")

    def sum_text(self, value: Value, loop: Loop) -> str:
        """A value that an iteration makes by sums of the index and of what does not change, written out."""
        o = value.operation
        if isinstance(o, Apply) and is_inside(value.block, loop):
            return f"({o.function.template.format(*(self.sum_text(x, loop) for x in o.inputs))})"
        return self.text(value)

    def _start_replay(self, o: Loop) -> None:
        """Integers that are taken back step by step start from what the loop ended with."""
        for c in o.carried:
            if c.inner in self.plan.recomputed.get(o, ()) and counted(o, c) is None:
                self.line(f"{c.inner.name} = {c.result.name}")

    def restore(self, block: Block) -> None:
        """At the start of a reversed block: the values that it reads, read back or computed again."""
        loop = self.plan.region(block)
        if loop is None:
            return
        again = self.plan.recomputed.get(loop, set())
        for o in block.operations:
            for value in o.results:
                if value in self.slots(loop):
                    self._read_back(loop, value)
                elif value in again:
                    if isinstance(o, Loop):
                        self._count_again(o, value)
                    elif not value.is_array or all(self.plan.region(root.block) is None for root in value.roots):
                        self.line(f"{value.name} = {self.expression(o)}")
            if isinstance(o, (View, Choose, Create)) and o.result in self.active:
                self.make_shadow(o)

    def _count_again(self, o: Loop, value: Value) -> None:
        c = next(c for c in o.carried if c.result is value)
        found = counted(o, c)
        assert found is not None
        count = self.trip_count(o) if isinstance(o, For) and o.exit is None else o.count.name
        self.line(f"{value.name} = {self.text(c.initial)} {found[0]} {times(count, self.text(found[1]))}")

    def _read_back(self, loop: Loop, value: Value) -> None:
        if isinstance(loop, For) and self.plan.as_block(loop):
            self.line(f"{value.name} = {restored(value, self.place(loop, value))}")


def times(a: str, b: str) -> str:
    """The source of a product."""
    return a if b == "1" else f"{a} * {b}"


