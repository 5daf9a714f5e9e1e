"""Checkpointed loops in the source: what a segment starts from is kept, and restored before it runs again."""

from collections.abc import Callable

from contad.engines.source.ir.single_assignment import For, Loop, Segments, SourceProgram, Value
from contad.engines.source.ir.walks import leaves, walk
from contad.engines.source.planning.segments import KeptArray
from contad.engines.source.planning.sweep_order import any_order
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.storing import Storing


class SegmentWriter:
    """Writes the loops over segments; what runs in them is written by the sweeps."""

    def __init__(self, program: SourceProgram, storing: Storing, adjoints: AdjointWriter) -> None:
        self.program, self.storing, self.writer, self.adjoints = program, storing, storing.writer, adjoints
        self.names: dict[Segments, tuple[str, str]] = {}  # of the size of a segment, and how many there are
        self.places: dict[tuple[Segments, KeptArray], str] = {}  # the names of places of what is kept once

    def forward(self, o: Segments, run: Callable[[], None]) -> None:
        """A loop over segments in order: `run` writes what a segment does, without storing."""
        line = self.writer.line
        self.storing.uses_workspace = True
        size, many = self.names[o] = self.writer.fresh("size"), self.writer.fresh("many")
        trips = self.storing.trip_count(o)
        line(f"{size} = root_of({trips})", o.line)
        line(f"{many} = -(-({trips}) // {size})")
        if o.exit is not None:
            line(f"{o.count.name} = 0")
        for kept in (k for k in o.kept if k.once):
            self.places[o, kept] = self.writer.fresh(f"{kept.array.name}_kept")
            line(f"{self.places[o, kept]} = top")
            self.storing.push(self._size(kept, kept.array.name))
            line(f"keep_part(work, {self.places[o, kept]}, {kept.array.name})")
        with self.writer.indent(f"for {o.index.name} in range({many}):", o.line):
            self._limits(o)
            width = self.storing.width(*self._list_carried(o))
            if width:
                self.storing.push(str(width))
                for value, place in self.storing.places_from_top(self._list_carried(o)):
                    self.storing.put(value, place)
            for kept in self._list_parts(o):
                part = self._part(o, kept)
                self.storing.push(self._size(kept, part))
                line(f"keep_part(work, top - {self._size(kept, part)}, {part})")
            if o.exit is not None:
                line(f"{o.count.name} += 1")
            with self.storing.silence():
                run()

    def reverse(self, o: Segments, run: Callable[[], None]) -> None:
        """A loop over segments backwards: `run` writes what runs one again, and reverses it."""
        line, (_, many) = self.writer.line, self.names[o]
        shown = [(self.writer.fresh(f"{name}_shown"), name, end) for name, end in self._find_disturbed(o)]
        for kept, name, end in shown:
            line(f"{kept} = {name}{end}")
        count = many if o.exit is None else o.count.name
        once = [(kept.array.name, self.places[o, kept]) for kept in o.kept if kept.once]
        for name, place in once:
            line(f"put_part_back(work, {place}, {name})")
        width = self.storing.width(*self._list_carried(o))
        if self._in_order(o):
            bottom, start = self.writer.fresh("bottom"), self.writer.fresh("start")
            line(f"{bottom} = top - {width} * {count}")
            with self.writer.indent(f"for {o.index.name} in range({count}):", o.line):
                self._limits(o)
                line(f"{start} = {bottom} + {width} * {o.index.name}")
                self._restore_carried(o, start)
                run()
            line(f"top = {bottom}")
        else:
            with self.writer.indent(f"for {o.index.name} in range({count} - 1, -1, -1):", o.line):
                self._limits(o)
                self._reverse_segment(o, width, run)
        for _, place in once[:1]:
            line(f"top = {place}")
        for kept, name, end in shown:
            line(f"{name}[...] = {kept}" if end else f"{name} = {kept}")

    def _in_order(self, o: Segments) -> bool:
        """Whether segments are reversed in the order in which they ran, as the loop would be that they divide.

        Its iterations do not read then what they write, but for arrays without a derivative.
        """
        (loop,) = o.body.operations
        assert isinstance(loop, For)
        active, plan = self.adjoints.active, self.adjoints.plan
        return any_order(loop, active, self.adjoints.sums, plan) and all(k.array in active or k.once for k in o.kept)

    def _list_parts(self, o: Segments) -> list[KeptArray]:
        """What is kept where each segment begins."""
        return [] if self._in_order(o) else [k for k in o.kept if not k.once]

    def _reverse_segment(self, o: Segments, width: int, run: Callable[[], None]) -> None:
        """One segment, above what it started from in the workspace."""
        line, start = self.writer.line, self.writer.fresh("start")
        line(f"{start} = top")
        rows = []
        for kept in reversed(self._list_parts(o)):
            part, place = self._part(o, kept), self.writer.fresh(f"{kept.array.name}_kept")
            line(f"{start} -= {self._size(kept, part)}")
            line(f"{place} = {start}")
            line(f"put_part_back(work, {place}, {part})")
            if kept.axis >= 0:
                rows.append(f"put_part_back(work, {place}, {part})")
        if width:
            line(f"{start} -= {width}")
        self._restore_carried(o, start)
        run()
        for again in rows:  # the segments before find what they left
            line(again)
        line(f"top = {start}")

    def _restore_carried(self, o: Segments, start: str) -> None:
        k = 0
        for value in self._list_carried(o):
            self.writer.line(f"{value.name} = {self.storing.restore(value, f'{start} + {k}' if k else start)}")
            k += self.storing.width(value)

    def _list_carried(self, o: Segments) -> list[Value]:
        return [c.inner for c in o.carried]

    def _limits(self, o: Segments) -> None:
        """The limits of a segment."""
        start, stop, step = map(self.writer.text, o.inputs)
        size, _ = self.names[o]
        by = size if step == "1" else f"{size} * {step}"
        first = f"{o.index.name} * {by}"
        self.writer.line(f"{o.first.name} = {first if start == '0' else f'{start} + {first}'}")
        sign = o.step.constant
        last = f"{o.first.name} + {by}"
        if sign is None:
            text = f"min({last}, {stop}) if {step} > 0 else max({last}, {stop})"
        else:
            text = f"{'min' if sign > 0 else 'max'}({last}, {stop})"
        self.writer.line(f"{o.last.name} = {text}")

    def _part(self, o: Segments, kept: KeptArray) -> str:
        """The part of an array that a segment writes."""
        name = kept.array.name
        if kept.axis < 0:
            return name
        first, last = o.first.name, o.last.name
        if (o.step.constant or 0) < 0:
            low, high = f"{last} + {1 + kept.least}", f"{first} + {1 + kept.most}"
        else:
            low, high = f"{first} + {kept.least}", f"{last} + {kept.most}"
        return f"{name}[{':, ' * kept.axis}{low}:{high}]"

    def _size(self, kept: KeptArray, part: str) -> str:
        """How many numbers a part of an array is."""
        width = self.storing.width(kept.array)
        return f"{width} * {part}.size" if width > 1 else f"{part}.size"

    def _find_disturbed(self, o: Segments) -> list[tuple[str, str]]:
        """The numbers and arrays that are read after the loop, and that running it again writes."""
        made = {x.name for inner in walk(o.body) for x in _find_made(inner)} | {x.name for x in _find_made(o)[1:]}
        found = dict.fromkeys((c.result.name, "") for c in o.carried if c.result.name in made)
        shown = {root for x in leaves(self.program.returned) if isinstance(x, Value) for root in x.roots}
        return [*found, *((k.array.name, ".copy()") for k in o.kept if k.array in shown)]


def _find_made(o: object) -> list[Value]:
    """What an operation gives a name to."""
    if isinstance(o, Segments):
        return [o.count, o.index, *(c.inner for c in o.carried)]
    inner = [c.inner for c in o.carried] if isinstance(o, Loop) else []
    index = [o.index] if isinstance(o, For) else []
    return [*getattr(o, "results", ()), *inner, *index]
