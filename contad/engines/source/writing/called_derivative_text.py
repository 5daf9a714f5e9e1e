"""Writes calls of derivatives. The called derivatives are generated as well, and take the caller's workspace."""

import ast
from typing import Any

from contad.engines.source.analysis.lane_values import refuse
from contad.engines.source.ir.called_derivatives import DerivativeCall
from contad.engines.source.ir.lengths import order_of
from contad.engines.source.ir.ssa import FLOAT, Value
from contad.engines.source.ir.syntax import Part, either, expression, tuple_of
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.numba_functions.asked_derivatives import DERIVE

_WAYS = {"float": ("number", "array"), "int": ("integer", "integers"), "bool": ("integer", "integers")}


class DerivativeCallWriter:
    """Writes a call and its reverse, which calls the derivative of the next order."""

    def __init__(self, adjoints: AdjointWriter) -> None:
        self.adjoints, self.writer = adjoints, adjoints.writer
        self.named: dict[Any, str] = {}

    def forward(self, o: DerivativeCall) -> None:
        """Write the call; the workspace keeps the values that the reverse reads."""
        if self.adjoints.lanes is not None and any(x in self.adjoints.lanes for x in o.operands):
            refuse(self.writer.function.name, o.site.what)
        line = self.writer.line
        arguments, directions = (list(map(self._give, values)) for values in (o.arguments, o.directions))
        found = self._compute(o, o.along, o.by, arguments, directions, o.line)
        for k, part in enumerate(o.parts):
            line("part[...] = found[1][k]" if part.is_array else "part = found[1][k]", part=part.name, found=found, k=k)
        if o.value is not None:
            line("z = found[0]", z=o.value.name, found=found)
        if self.adjoints.active.changes(o):
            for x in self._list_kept(o):
                keep = f"keep_{_WAYS[x.kind.base][x.is_array]}"
                line("work, top = keep(x, work, top)", keep=keep, x=self.writer.text(x))

    def _list_kept(self, o: DerivativeCall) -> list[Value]:
        """The values that the reverse reads: arguments and directions, with their contents at the call."""
        return [x for x in dict.fromkeys(o.read) if x.constant is None]

    def reverse(self, o: DerivativeCall) -> None:
        """Pop the kept values; unless the cotangents are zero, add the gradients of their product with the results."""
        if self.adjoints.lanes is not None:
            refuse(self.writer.function.name, o.site.what)
        taken = self._take_all(o)
        parts = [(k, x) for k, x in zip(o.by, o.parts, strict=True) if self._has_bar(x)]
        has_value = o.value is not None and self.adjoints.has_bar(o.value)
        c = self.adjoints.bar(o.value) if has_value else None  # type: ignore[arg-type]
        if not parts and c is None:
            return
        for x in o.operands:
            if x.kind == FLOAT and x in self.adjoints.active:
                self.adjoints.begin(x)
        bars = [(x.is_array, self.adjoints.bar(x)) for _, x in parts] + [(False, c)] * has_value
        tests = [expression("np.any(bar)" if is_array else "bar != 0.0", bar=bar) for is_array, bar in bars]
        with self.writer.block("if test: pass", test=either(tests)):
            if parts:
                self._add_next(o, parts, c, taken)
            else:
                self._add_gradient(o, c, taken)

    def _add_gradient(self, o: DerivativeCall, c: Part, taken: dict[Value, Part]) -> None:
        """Add the gradient if only the value has a cotangent."""
        moved = self._list_moved(o)
        found = self._compute(o, (), moved, [taken[x] for x in o.arguments], [])
        for n, k in enumerate(moved):
            self._add(o.arguments[k], expression("c * found[1][n]", c=c, found=found, n=n))

    def _add_next(self, o: DerivativeCall, parts: list[tuple[int, Value]], c: Part, taken: dict[Value, Part]) -> None:
        """Call the next order along the cotangents of the parts; its gradient by these serves the value's cotangent."""
        moved, arguments = self._list_moved(o), o.arguments
        bars: dict[int, Part] = {k: self.adjoints.bar(x) for k, x in parts}
        for k in moved if c is not None else ():
            x = arguments[k]
            bars.setdefault(k, expression("np.zeros(x.shape)", x=taken[x]) if x.is_array else 0.0)
        count, first = len(arguments), len(arguments) + len(o.directions)
        wanted = [(k, arguments[k], False) for k in moved]
        wanted += [(count + n, d, False) for n, d in enumerate(o.directions) if d in self.adjoints.active]
        if c is not None:
            wanted += [(first + list(bars).index(k), arguments[k], True) for k in moved]
        directions = [*(taken[d] for d in o.directions), *bars.values()]
        by = tuple(place for place, _, _ in wanted)
        found = self._compute(o, (*o.along, tuple(bars)), by, [taken[x] for x in arguments], directions)
        for n, (_, y, by_value) in enumerate(wanted):
            self._add(y, expression("c * found[1][n]" if by_value else "found[1][n]", c=c, found=found, n=n))

    def _list_moved(self, o: DerivativeCall) -> tuple[int, ...]:
        """The arguments that have adjoints."""
        return tuple(k for k in o.site.floats() if o.arguments[k] in self.adjoints.active)

    def _has_bar(self, x: Value) -> bool:
        return x in self.adjoints.active if x.is_array else self.adjoints.has_bar(x)

    def _add(self, x: Value, part: ast.expr) -> None:
        if x.is_array:
            self.writer.line("bar += part", bar=self.adjoints.bar(x), part=part)
        else:
            self.adjoints.add(x, part)

    def _take_all(self, o: DerivativeCall) -> dict[Value, Part]:
        """Maps each kept value to its popped copy; constants are written out."""
        taken: dict[Value, Part] = {x: self.writer.text(x) for x in o.read if x.constant is not None}
        for x in reversed(self._list_kept(o)):
            take, name = f"take_{_WAYS[x.kind.base][x.is_array]}", self.writer.fresh("kept")
            axes = [tuple_of([0] * x.kind.ndim)] if x.is_array else []
            self.writer.line("x, top = take(axes, work, top)", x=name, take=take, axes=axes)
            taken[x] = expression("x != 0", x=name) if x.kind.base == "bool" else name
        return taken

    def _give(self, x: Value) -> Part:
        """An argument in C order."""
        is_copy = x.is_array and order_of(x) != "C"
        return expression("x.copy()" if is_copy else "x", x=self.writer.text(x))

    def _compute(
        self, o: DerivativeCall, along: tuple[tuple[int, ...], ...], by: tuple[int, ...], arguments: list[Part],
        directions: list[Part], line: int = 0,
    ) -> str:  # fmt: skip
        """Call a derivative of the function; the name of the result."""
        found = self.writer.fresh("derivative")
        key = o.site.function, o.site.types, along, by
        if key not in self.named:
            made = DERIVE["repeated"](o.site.function, o.site.types, along, by)
            hint = f"derivative_{len(along) + 1}_of_{o.site.function.__name__}"
            self.named[key] = self.writer.name_function(hint, made)
        given = [tuple_of(arguments), tuple_of(directions)] if along else arguments
        self.writer.line("found, work = f(given, work, top)", line, found=found, f=self.named[key], given=given)
        return found
