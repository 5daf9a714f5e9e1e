"""Values of an earlier iteration: read back from the workspace, or computed again."""

import ast

from contad.engines.source.ir.single_assignment import (
    Apply,
    Block,
    Carried,
    Choose,
    Create,
    For,
    Length,
    Loop,
    Operation,
    Value,
    View,
)
from contad.engines.source.ir.syntax import Part, expression
from contad.engines.source.ir.walks import is_inside
from contad.engines.source.planning.store_plan import find_count, find_steps
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.copying import Copying
from contad.engines.source.writing.storing import times


class Restoring:
    """Writes, at the start of a reversed iteration or branch, what its reverse will read."""

    def __init__(self, copying: Copying, adjoints: AdjointWriter) -> None:
        self.copying, self.storing, self.adjoints = copying, copying.storing, adjoints
        self.writer, self.plan, self.expressions = copying.writer, copying.plan, adjoints.expressions

    def restore_carried(self, o: Loop, c: Carried, k: Part) -> None:
        """Write what gives a carried value of the k-th iteration: it is read back, or computed."""
        if c.inner in self.storing.slots(o):
            self._read_back(o, c.inner)
        elif c.inner in self.plan.recomputed.get(o, ()):
            found = find_count(o, c)
            if found is not None:
                self._write_count(c.inner, c.initial, found, k)
            elif o not in self.plan.replayed:
                for step in find_steps(o, c) or ():

                    def write(value: Value) -> ast.expr:
                        return self.write_sum(value, o)

                    amount = write(step.amount)
                    if step.times:
                        amount = times(self.storing.trip_count(step.times, write), amount)
                    if step.sign == "+":
                        self.writer.line("x -= amount", x=c.inner.name, amount=amount)
                    else:
                        self.writer.line("x += amount", x=c.inner.name, amount=amount)

    def _write_count(self, x: Value, first: Value, step: tuple[str, Value], count: Part) -> None:
        """A value that an iteration adds the same to, or subtracts, after some iterations."""
        sign, amount = step
        first_text, moved = self.writer.text(first), times(count, self.writer.text(amount))
        if sign == "+":
            self.writer.line("x = first + moved", x=x.name, first=first_text, moved=moved)
        else:
            self.writer.line("x = first - moved", x=x.name, first=first_text, moved=moved)

    def write_sum(self, value: Value, loop: Loop) -> ast.expr:
        """A value that an iteration makes by sums of the index and of what does not change, written out."""
        o = value.operation
        if isinstance(o, Apply) and is_inside(value.block, loop):
            return o.function.write([self.write_sum(x, loop) for x in o.inputs])
        return self.writer.text(value)

    def start_replay(self, o: Loop) -> None:
        """A carried value starts from its first one; an integer that is taken back, from what the loop ended with."""
        for c in self.plan.carried_again(o):
            first = c.initial if o in self.plan.replayed else c.result
            self.writer.line("x = first", x=c.inner.name, first=self.writer.text(first))

    def restore(self, block: Block) -> None:
        """At the start of a reversed block: the values that it reads, read back or computed again."""
        loop = self.plan.region(block)
        if loop is None:
            return
        slots, again = self.storing.slots(loop), self.plan.recomputed.get(loop, set())
        for o in block.operations:
            for value in o.results:
                if value in slots:
                    self._read_back(loop, value)
            for value in o.results:  # once the number of iterations of a loop is there, from which these are computed
                if value in slots:
                    continue
                if value in self.adjoints.folded:
                    self.writer.fold(value, self.expressions.expression(o))
                elif value in again:
                    if isinstance(o, Loop):
                        self._count_again(o, value)
                    elif not value.is_array or not any(
                        self.plan.region(x.block) is not None or x in self.plan.gone for x in value.roots
                    ):
                        again_text = self._length_again(o) or self.copying.reread(o) or self.expressions.expression(o)
                        self.writer.line("x = value", x=value.name, value=again_text)
            if isinstance(o, (View, Choose, Create)) and o.result in self.adjoints.active:
                self.adjoints.make_shadow(o)

    def _length_again(self, o: Operation) -> ast.expr | None:
        """The length of an array that is not made again, from its adjoint's; None for anything else."""
        if not isinstance(o, Length) or all(self.plan.region(root.block) is None for root in o.inputs[0].roots):
            return None
        return expression("bar.shape[axis]", bar=self.adjoints.bar(o.inputs[0]), axis=o.axis)

    def _count_again(self, o: Loop, value: Value) -> None:
        c = next(c for c in o.carried if c.result is value)
        found = find_count(o, c)
        assert found is not None
        count = self.storing.trip_count(o) if isinstance(o, For) and o.exit is None else o.count.name
        self._write_count(value, c.initial, found, count)

    def _read_back(self, loop: Loop, value: Value) -> None:
        if isinstance(loop, For) and self.plan.as_block(loop):
            stored = self.storing.restore(value, self.storing.place(loop, value))
            self.writer.line("x = stored", x=value.name, stored=stored)
