"""Restores the values of an earlier iteration: reads them back from the workspace, or recomputes them."""

import ast

from contad.engines.source.ir.ssa import (
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
from contad.engines.source.planning.store_plan import find_count, find_increments
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.copying import Copying
from contad.engines.source.writing.storing import times


class Restoring:
    """Writes, at the start of a reversed iteration or branch, the values that its reverse reads."""

    def __init__(self, copying: Copying, adjoints: AdjointWriter) -> None:
        self.copying, self.storing, self.adjoints = copying, copying.storing, adjoints
        self.writer, self.plan, self.expressions = copying.writer, copying.plan, adjoints.expressions

    def restore_carried(self, o: Loop, c: Carried, k: Part) -> None:
        """Restore a carried value of the k-th iteration: read it back, or compute it."""
        if c.inner in self.storing.slots(o):
            self._read_back(o, c.inner)
        elif c.inner in self.plan.recomputed.get(o, ()):
            found = find_count(o, c)
            if found is not None:
                self._write_count(c.inner, c.initial, found, k)
            elif o not in self.plan.replayed:
                for increment in find_increments(o, c) or ():

                    def write(value: Value) -> ast.expr:
                        return self.write_sum(value, o)

                    amount = write(increment.amount)
                    if increment.times:
                        amount = times(self.storing.trip_count(increment.times, write), amount)
                    if increment.sign == "+":
                        self.writer.line("x -= amount", x=c.inner.name, amount=amount)
                    else:
                        self.writer.line("x += amount", x=c.inner.name, amount=amount)

    def _write_count(self, x: Value, first: Value, increment: tuple[str, Value], count: Part) -> None:
        """Write the value, after `count` iterations, of an integer that each iteration changes by the same amount."""
        sign, amount = increment
        first_text, moved = self.writer.text(first), times(count, self.writer.text(amount))
        if sign == "+":
            self.writer.line("x = first + moved", x=x.name, first=first_text, moved=moved)
        else:
            self.writer.line("x = first - moved", x=x.name, first=first_text, moved=moved)

    def write_sum(self, value: Value, loop: Loop) -> ast.expr:
        """The expression for a value that is a sum of the loop index and loop-invariant values."""
        o = value.operation
        if isinstance(o, Apply) and is_inside(value.block, loop):
            return o.function.write([self.write_sum(x, loop) for x in o.inputs])
        return self.writer.text(value)

    def start_replay(self, o: Loop) -> None:
        """Start carried values: at the initial value, or, for an integer whose increments are undone, at the end."""
        for c in self.plan.carried_again(o):
            first = c.initial if o in self.plan.replayed else c.result
            self.writer.line("x = first", x=c.inner.name, first=self.writer.text(first))

    def restore(self, block: Block) -> None:
        """Restore the values that a reversed block reads, at its start."""
        loop = self.plan.region(block)
        if loop is None:
            return
        slots, again = self.storing.slots(loop), self.plan.recomputed.get(loop, set())
        for o in block.operations:
            for value in o.results:
                if value in slots:
                    self._read_back(loop, value)
            for value in o.results:  # after the number of iterations of a loop, from which these are computed
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
                        found = self.plan.reloads.get(value, o)
                        text = self._length_again(o) or self.copying.reread(o) or self.expressions.expression(found)
                        self.writer.line("x = value", x=value.name, value=text)
            if isinstance(o, (View, Choose, Create)) and o.result in self.adjoints.active:
                self.adjoints.make_shadow(o)

    def _length_again(self, o: Operation) -> ast.expr | None:
        """The length of an array that is not recreated, from that of its adjoint; None for other operations."""
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
        if isinstance(loop, For) and self.plan.stores_at_once(loop):
            stored = self.storing.restore(value, self.storing.place(loop, value))
            self.writer.line("x = stored", x=value.name, stored=stored)
