"""Writes checkpointed loops: keeps the state at the start of each segment, and restores it to run the segment again."""

import ast
from collections.abc import Callable

from contad.engines.source.ir.ssa import For, Loop, Segments, SourceFunction, Value
from contad.engines.source.ir.syntax import Part, expression
from contad.engines.source.ir.walks import leaves, walk
from contad.engines.source.planning.segments import KeptArray
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.storing import Storing


class SegmentWriter:
    """Writes the loops over segments; the sweeps write their bodies."""

    def __init__(self, function: SourceFunction, storing: Storing, adjoints: AdjointWriter) -> None:
        self.function, self.storing, self.writer, self.adjoints = function, storing, storing.writer, adjoints
        self.names: dict[Segments, tuple[str, str]] = {}  # of the size of a segment and of the number of segments
        self.places: dict[tuple[Segments, KeptArray], str] = {}  # the names of the offsets of arrays that are kept once

    def forward(self, o: Segments, run: Callable[[], None]) -> None:
        """Write a loop over segments in order: `run` writes the body of a segment, without stores."""
        line = self.writer.line
        self.storing.uses_workspace = True
        size, many = self.names[o] = self.writer.fresh("size"), self.writer.fresh("many")
        trips = self.storing.trip_count(o)
        line("size = root_of(trips)", o.line, size=size, trips=trips)
        line("many = -(-trips // size)", many=many, trips=trips, size=size)
        if o.exit is not None:
            line("count = 0", count=o.count.name)
        for kept in (k for k in o.kept if k.once):
            place = self.places[o, kept] = self.writer.fresh(f"{kept.array.name}_kept")
            line("place = top", place=place)
            self.storing.push(self._size(kept, kept.array.name))
            line("keep_part(work, place, part)", place=place, part=kept.array.name)
        with self.writer.block("for k in range(many): pass", o.line, k=o.index.name, many=many):
            self._limits(o)
            width = self.storing.width(*self._list_carried(o))
            if width:
                self.storing.push(width)
                for value, at in self.storing.places_from_top(self._list_carried(o)):
                    self.storing.put(value, at)
            for kept in self._list_parts(o):
                part = self._part(o, kept)
                self.storing.push(self._size(kept, part))
                line("keep_part(work, top - size, part)", size=self._size(kept, part), part=part)
            if o.exit is not None:
                line("count += 1", count=o.count.name)
            with self.storing.silence():
                run()

    def reverse(self, o: Segments, run: Callable[[], None]) -> None:
        """Write a loop over segments backwards: `run` writes the code that runs a segment again and reverses it."""
        line, (_, many) = self.writer.line, self.names[o]
        shown = [(self.writer.fresh(f"{x.name}_shown"), x) for x in self._find_disturbed(o)]
        for kept, x in shown:
            line("kept = x.copy()" if x.is_array else "kept = x", kept=kept, x=x.name)
        count = many if o.exit is None else o.count.name
        once = [(k.array.name, self.places[o, k]) for k in o.kept if k.once]
        for name, place in once:
            line("put_part_back(work, place, part)", place=place, part=name)
        width = self.storing.width(*self._list_carried(o))
        if self._in_order(o):
            bottom, start = self.writer.fresh("bottom"), self.writer.fresh("start")
            line("bottom = top - width * count", bottom=bottom, width=width, count=count)
            with self.writer.block("for k in range(count): pass", o.line, k=o.index.name, count=count):
                self._limits(o)
                line("start = bottom + width * k", start=start, bottom=bottom, width=width, k=o.index.name)
                self._restore_carried(o, start)
                run()
            line("top = bottom", bottom=bottom)
        else:
            with self.writer.block("for k in range(count - 1, -1, -1): pass", o.line, k=o.index.name, count=count):
                self._limits(o)
                self._reverse_segment(o, width, run)
        for _, place in once[:1]:
            line("top = place", place=place)
        for kept, x in shown:
            line("x[...] = kept" if x.is_array else "x = kept", x=x.name, kept=kept)

    def _in_order(self, o: Segments) -> bool:
        """Whether segments are reversed in the order in which they ran, as the original loop would be.

        The iterations of the loop do not read what they write then, except in arrays without a derivative.
        """
        (loop,) = o.body.operations
        assert isinstance(loop, For)
        active, plan = self.adjoints.active, self.adjoints.plan
        return plan.in_any_order(loop) and all(k.array in active or k.once for k in o.kept)

    def _list_parts(self, o: Segments) -> list[KeptArray]:
        """The arrays kept at the start of each segment."""
        return [] if self._in_order(o) else [k for k in o.kept if not k.once]

    def _reverse_segment(self, o: Segments, width: int, run: Callable[[], None]) -> None:
        """Write the reverse of one segment; its values are above its initial state in the workspace."""
        line, start = self.writer.line, self.writer.fresh("start")
        line("start = top", start=start)
        rows = []
        for kept in reversed(self._list_parts(o)):
            part, place = self._part(o, kept), self.writer.fresh(f"{kept.array.name}_kept")
            line("start -= size", start=start, size=self._size(kept, part))
            line("place = start", place=place, start=start)
            line("put_part_back(work, place, part)", place=place, part=part)
            if kept.axis >= 0:
                rows.append((place, part))
        if width:
            line("start -= width", start=start, width=width)
        self._restore_carried(o, start)
        run()
        for place, part in rows:  # earlier segments need the contents that they left
            line("put_part_back(work, place, part)", place=place, part=part)
        line("top = start", start=start)

    def _restore_carried(self, o: Segments, start: str) -> None:
        k = 0
        for value in self._list_carried(o):
            place = expression("start + k" if k else "start", start=start, k=k)
            self.writer.line("value = kept", value=value.name, kept=self.storing.restore(value, place))
            k += self.storing.width(value)

    def _list_carried(self, o: Segments) -> list[Value]:
        return [c.inner for c in o.carried]

    def _limits(self, o: Segments) -> None:
        """Write the limits of a segment."""
        start, stop, step = map(self.writer.text, o.inputs)
        sign, (size, _) = o.step.constant, self.names[o]
        names: dict[str, Part] = {"first": o.first.name, "k": o.index.name, "size": size, "step": step}
        many = expression("k * size" if sign == 1 else "k * size * step", **names)
        first = expression("start + many" if o.start.constant != 0 else "many", start=start, many=many)
        self.writer.line("name = first", name=o.first.name, first=first)
        last = expression("first + size" if sign == 1 else "first + size * step", **names)
        if sign is None:
            last = expression("min(last, stop) if step > 0 else max(last, stop)", last=last, stop=stop, step=step)
        else:
            last = expression("min(last, stop)" if sign > 0 else "max(last, stop)", last=last, stop=stop)
        self.writer.line("name = last", name=o.last.name, last=last)

    def _part(self, o: Segments, kept: KeptArray) -> Part:
        """The part of an array that a segment writes."""
        if kept.axis < 0:
            return kept.array.name
        is_down = (o.step.constant or 0) < 0
        ends = zip((o.last, o.first) if is_down else (o.first, o.last), (kept.least, kept.most), strict=True)
        low, high = (expression("end + n", end=end.name, n=n + is_down) for end, n in ends)
        return expression("x[axes]", x=kept.array.name, axes=[*[ast.Slice()] * kept.axis, ast.Slice(low, high)])

    def _size(self, kept: KeptArray, part: Part) -> ast.expr:
        """The number of elements of a part of an array."""
        width = self.storing.width(kept.array)
        return expression("width * part.size" if width > 1 else "part.size", width=width, part=part)

    def _find_disturbed(self, o: Segments) -> list[Value]:
        """The numbers and arrays that are read after the loop, and that running the loop again overwrites."""
        made = {x.name for inner in walk(o.body) for x in _find_made(inner)} | {x.name for x in _find_made(o)[1:]}
        found = {c.result.name: c.result for c in o.carried if c.result.name in made}
        shown = {root for x in leaves(self.function.returned) if isinstance(x, Value) for root in x.roots}
        return [*found.values(), *(k.array for k in o.kept if k.array in shown)]


def _find_made(o: object) -> list[Value]:
    """The values that an operation defines."""
    if isinstance(o, Segments):
        return [o.count, o.index, *(c.inner for c in o.carried)]
    inner = [c.inner for c in o.carried] if isinstance(o, Loop) else []
    index = [o.index] if isinstance(o, For) else []
    return [*getattr(o, "results", ()), *inner, *index]
