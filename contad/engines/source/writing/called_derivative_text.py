"""Derivatives that a program calls, as source: derivatives that are generated as well, and take the workspace."""

from typing import Any

from contad.engines.source.analysis.lane_values import refuse
from contad.engines.source.ir.called_derivatives import DerivativeCall
from contad.engines.source.ir.memory_orders import order_of
from contad.engines.source.ir.single_assignment import FLOAT, Value
from contad.engines.source.ir.writer import bare, tuple_text
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.native.asked_derivatives import DERIVE

_WAYS = {"float": ("number", "array"), "int": ("integer", "integers"), "bool": ("integer", "integers")}


class DerivativeCallWriter:
    """Writes a call, and its reverse: a call of the derivative of the next order."""

    def __init__(self, adjoints: AdjointWriter) -> None:
        self.adjoints, self.writer = adjoints, adjoints.writer
        self.named: dict[Any, str] = {}

    def forward(self, o: DerivativeCall) -> None:
        """Compute it; what the reverse reads is kept in the workspace."""
        if self.adjoints.lanes is not None and any(x in self.adjoints.lanes for x in o.operands):
            refuse(self.writer.program.name, o.site.what)
        found = self.writer.fresh("derivative")
        arguments, directions = (list(map(self._give, values)) for values in (o.arguments, o.directions))
        self.writer.line(f"{found}, work = {self._call(o, o.along, o.by, arguments, directions)}", o.line)
        for k, part in enumerate(o.parts):
            self.writer.line(f"{part.name}{'[...]' if part.is_array else ''} = {found}[1][{k}]")
        if o.value is not None:
            self.writer.line(f"{o.value.name} = {found}[0]")
        if self.adjoints.active.changes(o):
            for x in self._list_kept(o):
                way = _WAYS[x.kind.base][x.is_array]
                self.writer.line(f"work, top = keep_{way}({bare(self.writer.text(x))}, work, top)")

    def _list_kept(self, o: DerivativeCall) -> list[Value]:
        """What the reverse reads: arguments and directions, at which memory they have had."""
        return [x for x in dict.fromkeys(o.read) if x.constant is None]

    def reverse(self, o: DerivativeCall) -> None:
        """Take back what was kept; where a cotangent has come, add the gradients of its product with the results."""
        if self.adjoints.lanes is not None:
            refuse(self.writer.program.name, o.site.what)
        texts = self._take_all(o)
        parts = [(k, x) for k, x in zip(o.by, o.parts, strict=True) if self._has_bar(x)]
        c = self.adjoints.bar(o.value) if o.value is not None and self.adjoints.has_bar(o.value) else ""
        if not parts and not c:
            return
        for x in o.operands:
            if x.kind == FLOAT and x in self.adjoints.active:
                self.adjoints.begin(x)
        bars = [(x.is_array, self.adjoints.bar(x)) for _, x in parts] + [(False, c)] * bool(c)
        tests = [f"np.any({bar})" if is_array else f"{bar} != 0.0" for is_array, bar in bars]
        with self.writer.indent(f"if {' or '.join(tests)}:"):
            if parts:
                self._add_next(o, parts, c, texts)
            else:
                self._add_gradient(o, c, texts)

    def _add_gradient(self, o: DerivativeCall, c: str, texts: dict[Value, str]) -> None:
        """Of the value alone."""
        moved = self._list_moved(o)
        found = self._compute(o, (), moved, [], texts)
        for n, k in enumerate(moved):
            self._add(o.arguments[k], f"{c} * {found}[1][{n}]")

    def _add_next(self, o: DerivativeCall, parts: list[tuple[int, Value]], c: str, texts: dict[Value, str]) -> None:
        """One order more, along the cotangents of the parts; by them it is the gradient, for the value's cotangent."""
        moved, arguments = self._list_moved(o), o.arguments
        bars = {k: self.adjoints.bar(x) for k, x in parts}
        if c:
            for k in moved:
                x = texts[arguments[k]]
                bars.setdefault(k, f"np.zeros({x}.shape)" if arguments[k].is_array else "0.0")
        count, first = len(arguments), len(arguments) + len(o.directions)
        wanted = [(k, arguments[k], "") for k in moved]
        wanted += [(count + n, d, "") for n, d in enumerate(o.directions) if d in self.adjoints.active]
        if c:
            wanted += [(first + list(bars).index(k), arguments[k], f"{c} * ") for k in moved]
        directions = [*(texts[d] for d in o.directions), *bars.values()]
        by = tuple(place for place, _, _ in wanted)
        found = self._compute(o, (*o.along, tuple(bars)), by, directions, texts)
        for n, (_, y, factor) in enumerate(wanted):
            self._add(y, f"{factor}{found}[1][{n}]")

    def _list_moved(self, o: DerivativeCall) -> tuple[int, ...]:
        """The arguments that have adjoints."""
        return tuple(k for k in o.site.floats() if o.arguments[k] in self.adjoints.active)

    def _has_bar(self, x: Value) -> bool:
        return x in self.adjoints.active if x.is_array else self.adjoints.has_bar(x)

    def _add(self, x: Value, text: str) -> None:
        if x.is_array:
            self.writer.line(f"{self.adjoints.bar(x)} += {text}")
        else:
            self.adjoints.add(x, text)

    def _take_all(self, o: DerivativeCall) -> dict[Value, str]:
        """What was kept, by what it was; what is constant is written out."""
        texts = {x: bare(self.writer.text(x)) for x in o.read if x.constant is not None}
        for x in reversed(self._list_kept(o)):
            way, name = _WAYS[x.kind.base][x.is_array], self.writer.fresh("kept")
            axes = f"({'0, ' * x.kind.ndim}), " if x.is_array else ""
            self.writer.line(f"{name}, top = take_{way}({axes}work, top)")
            texts[x] = f"({name} != 0)" if x.kind.base == "bool" else name
        return texts

    def _give(self, x: Value) -> str:
        """An argument, which lies in memory row by row."""
        text = bare(self.writer.text(x))
        return f"{text}.copy()" if x.is_array and order_of(x) != "C" else text

    def _compute(
        self, o: DerivativeCall, along: tuple[tuple[int, ...], ...], by: tuple[int, ...], directions: list[str],
        texts: dict[Value, str],
    ) -> str:  # fmt: skip
        """The name of what a derivative of the function gives."""
        found = self.writer.fresh("derivative")
        arguments = [texts[x] for x in o.arguments]
        self.writer.line(f"{found}, work = {self._call(o, along, by, arguments, directions)}")
        return found

    def _call(
        self, o: DerivativeCall, along: tuple[tuple[int, ...], ...], by: tuple[int, ...], arguments: list[str],
        directions: list[str],
    ) -> str:  # fmt: skip
        """The call of a derivative."""
        key = o.site.function, o.site.types, along, by
        if key not in self.named:
            made = DERIVE["repeated"](o.site.function, o.site.types, along, by)
            callables = self.writer.program.callables
            hint = f"derivative_{len(along) + 1}_of_{o.site.function.__name__}"
            name = self.writer.fresh(hint)
            while name in callables:
                name = self.writer.fresh(hint)
            callables[name] = made
            self.named[key] = name
        given = [tuple_text(arguments), tuple_text(directions)] if along else arguments
        return f"{self.named[key]}({', '.join([*given, 'work', 'top'])})"
