"""The copies of parts of arrays in the source: room for them, the loops that make them, and where an element lies."""

from contad.engines.source.analysis.copies import Copy
from contad.engines.source.ir.single_assignment import Create, For, Load, Operation, Value
from contad.engines.source.ir.writer import atom, bare
from contad.engines.source.writing.storing import Storing


class Copying:
    """Writes copies of parts of arrays; they lie in the workspace."""

    def __init__(self, storing: Storing) -> None:
        self.storing, self.writer, self.plan = storing, storing.writer, storing.plan
        self.copies = self.plan.copies_in_use()
        storing.copies_once = {copy.once for copy in self.copies}

    def room_for_copies(self, o: For) -> None:
        """Take room for the copies that are made in a loop."""
        for copy in self.copies:
            if copy.once is o:
                copy.base = self.writer.fresh(f"{copy.array.name}_kept")
                self.writer.line(f"{copy.base} = top")
                sizes = [*map(self.storing.trip_count, copy.around), *self._lengths(copy)]
                width = self.storing.width(copy.array)
                size = " * ".join([*([str(width)] if width > 1 else []), *sizes]) or "1"
                self.storing.uses_workspace = True
                self.writer.line(f"work = grow(work, top + 1.0 * {size})")  # a float does not overflow
                self.writer.line(f"top += {size}")

    def drop_copies(self, o: For) -> None:
        for copy in reversed(self.copies):
            if copy.once is o:
                self.writer.line(f"top = {copy.base}")

    def copy(self, o: For) -> None:
        """Copy what the loop is going to read again and again."""
        for copy in self.copies:
            if copy.loop is o:
                self._copy(copy)

    def _copy(self, copy: Copy) -> None:
        """The loops that make one copy."""
        array, depth = copy.array.name, self.writer.depth
        tests = [
            f"{self.writer.text(h.start)} < {self.writer.text(h.stop)}" for h in copy.others if not _surely_runs(h)
        ]
        names: list[str] = []
        for axis, x in enumerate(copy.indices):
            names.append(self.writer.fresh("k") if isinstance(x, For) else self.writer.text(x))
            if isinstance(x, Value) and not _surely_has(copy.array, axis, x):
                tests.append(f"{names[-1]} < {array}.shape[{axis}]")
        if tests:
            self.writer.line(f"if {' and '.join(sorted(tests))}:")
            self.writer.depth += 1
        for axis, x in enumerate(copy.indices):
            if isinstance(x, For):
                self.writer.line(f"for {names[axis]} in range(min({self.writer.text(x.stop)}, {array}.shape[{axis}])):")
                self.writer.depth += 1
        varying = [name for name, x in zip(names, copy.indices, strict=True) if isinstance(x, For)]
        place, element = self._place(copy, varying), f"{array}[{', '.join(names)}]"
        width = self.storing.width(copy.array)
        self.writer.line(f"put_lanes(work, {place}, {element}, {width})" if width > 1 else f"work[{place}] = {element}")
        self.writer.depth = depth

    def reread(self, o: Operation) -> str:
        """The element that a load has read, from the copy; empty where there is none."""
        copy = self.plan.copies.get(o) if isinstance(o, Load) else None
        if copy is None or not isinstance(o, Load):
            return ""
        indices = [self.writer.text(i) for i, x in zip(o.indices, copy.indices, strict=True) if isinstance(x, For)]
        place, width = self._place(copy, indices), self.storing.width(copy.array)
        text = f"lanes_at(work, {place}, {width})" if width > 1 else f"work[{place}]"
        return text if o.guard is None else f"{text} if {self.writer.text(o.guard)} else 0.0"

    def reread_matrix(self, o: Load) -> str:
        """The matrix whose elements a load has read, from the copy; empty where that has no more than a part of it."""
        copy = self.plan.copies[o]
        if len(copy.varying) < len(copy.indices) or len(copy.indices) != 2:
            return ""
        rows, columns = (self.writer.text(loop.stop) for loop in copy.varying)  # lengths, which are not negative
        before = self._place(copy, []).removeprefix(copy.base).removeprefix(" + ")
        place = f" + {atom(bare(before))} * {rows} * {columns}" if before else ""
        return f"kept_matrix(work, {copy.base}{place}, {rows}, {columns})"

    def _place(self, copy: Copy, indices: list[str]) -> str:
        """Where an element lies: the iterations of the loops around, then the axes, the last one side by side.

        Without indices, the number of the iteration behind the beginning.
        """
        sizes = [*map(self.storing.trip_count, copy.around), *(self._lengths(copy) if indices else [])]
        place = ""
        for size, index in zip(sizes, [*map(self.storing.iteration, copy.around), *indices], strict=True):
            place = f"{f'({place})' if ' + ' in place else place} * {size} + {index}" if place else index
        width = self.storing.width(copy.array)
        if width > 1 and place:
            place = f"{width} * ({place})"
        return f"{copy.base}{f' + {place}' if place else ''}"

    def _lengths(self, copy: Copy) -> list[str]:
        stops = [loop.stop for loop in copy.varying]
        return [
            self.writer.text(stop) if stop.constant is not None else f"max({self.writer.text(stop)}, 0)"
            for stop in stops
        ]


def _surely_runs(loop: For) -> bool:
    limits = [x.constant for x in loop.inputs]
    return None not in limits and len(range(*limits)) > 0


def _surely_has(array: Value, axis: int, index: Value) -> bool:
    """Whether an array surely has an element at an index of an axis."""
    made = array.operation
    size = made.inputs[axis].constant if isinstance(made, Create) else None
    return size is not None and index.constant is not None and bool(index.constant < size)
