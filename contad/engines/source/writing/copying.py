"""Writes copies of parts of arrays: reserves space, writes the loops that copy, and locates an element."""

import ast
import contextlib
from collections.abc import Sequence

from contad.engines.source.analysis.copies import Copy
from contad.engines.source.ir.ssa import Create, For, Load, Operation, Value
from contad.engines.source.ir.syntax import Part, both, expression, name, part, product, terms_of, total
from contad.engines.source.writing.storing import Storing


class Copying:
    """Writes copies of parts of arrays into the workspace."""

    def __init__(self, storing: Storing) -> None:
        self.storing, self.writer, self.plan = storing, storing.writer, storing.plan
        self.copies = self.plan.copies_in_use()
        storing.copies_once = {copy.once for copy in self.copies}

    def room_for_copies(self, o: For) -> None:
        """Reserve space for the copies that are made in a loop."""
        for copy in self.copies:
            if copy.once is o:
                copy.base = self.writer.fresh(f"{copy.array.name}_kept")
                self.writer.line("base = top", base=copy.base)
                sizes: list[Part] = [*map(self.storing.trip_count, copy.around), *self._lengths(copy)]
                width = self.storing.width(copy.array)
                sizes = [width, *sizes] if width > 1 else sizes
                self.storing.uses_workspace = True
                # a float does not overflow
                self.writer.line("work = grow(work, top + size)", size=product([1.0, *(sizes or [1])]))
                self.writer.line("top += size", size=product(sizes))

    def drop_copies(self, o: For) -> None:
        for copy in reversed(self.copies):
            if copy.once is o:
                self.writer.line("top = base", base=copy.base)

    def copy(self, o: For) -> None:
        """Copy the parts of arrays whose elements the loop reads many times."""
        for copy in self.copies:
            if copy.loop is o:
                self._copy(copy)

    def _copy(self, copy: Copy) -> None:
        """Write the loops that make one copy."""
        array = copy.array.name
        tests = [
            expression("start < stop", start=self.writer.text(h.start), stop=self.writer.text(h.stop))
            for h in copy.others
            if not _surely_runs(h)
        ]
        indices: list[Part] = []
        for axis, x in enumerate(copy.indices):
            indices.append(self.writer.fresh("k") if isinstance(x, For) else self.writer.text(x))
            if isinstance(x, Value) and not _surely_has(copy.array, axis, x):
                tests.append(expression("x < array.shape[axis]", x=indices[-1], array=array, axis=axis))
        with contextlib.ExitStack() as inside:
            if tests:
                inside.enter_context(self.writer.block("if test: pass", test=both(tests)))
            for axis, x in enumerate(copy.indices):
                if isinstance(x, For):
                    length = expression("min(stop, x.shape[axis])", stop=self.writer.text(x.stop), x=array, axis=axis)
                    inside.enter_context(
                        self.writer.block("for k in range(length): pass", k=indices[axis], length=length)
                    )
            varying = [index for index, x in zip(indices, copy.indices, strict=True) if isinstance(x, For)]
            element = expression("array[indices]", array=array, indices=indices)
            place, width = self._place(copy, varying), self.storing.width(copy.array)
            if width > 1:
                self.writer.line("put_lanes(work, place, x, width)", place=place, x=element, width=width)
            else:
                self.writer.line("work[place] = x", place=place, x=element)

    def reread(self, o: Operation) -> ast.expr | None:
        """The element that a load has read, from its copy; None if it has no copy."""
        copy = self.plan.copies.get(o) if isinstance(o, Load) else None
        if copy is None or not isinstance(o, Load):
            return None
        indices = [self.writer.text(i) for i, x in zip(o.indices, copy.indices, strict=True) if isinstance(x, For)]
        place, width = self._place(copy, indices), self.storing.width(copy.array)
        found = expression("work[place]", place=place)
        if width > 1:
            found = expression("lanes_at(work, place, width)", place=place, width=width)
        if o.guard is None:
            return found
        return expression("found if guard else 0.0", found=found, guard=self.writer.text(o.guard))

    def reread_matrix(self, o: Load) -> ast.expr | None:
        """The matrix whose elements a load has read, from its copy; None if the copy has only a part of it."""
        copy = self.plan.copies[o]
        if len(copy.varying) < len(copy.indices) or len(copy.indices) != 2:
            return None
        rows, columns = (self.writer.text(loop.stop) for loop in copy.varying)  # lengths are not negative
        place, before = name(copy.base), self._iteration_of(copy, [])
        if before is not None:
            place = expression("base + k * rows * columns", base=copy.base, k=before, rows=rows, columns=columns)
        return expression("kept_matrix(work, place, rows, columns)", place=place, rows=rows, columns=columns)

    def _place(self, copy: Copy, indices: Sequence[Part]) -> ast.expr:
        """The offset of an element: the iterations of the loops around it come first, then the axes, in C order."""
        found = self._iteration_of(copy, indices)
        return total([copy.base, *(terms_of(found) if found is not None else [])])

    def _iteration_of(self, copy: Copy, indices: Sequence[Part]) -> ast.expr | None:
        """The number of an element, or without indices that of the iteration; None if there is only one."""
        sizes = [*map(self.storing.trip_count, copy.around), *(self._lengths(copy) if indices else [])]
        found: ast.expr | None = None
        for size, index in zip(sizes, [*map(self.storing.iteration, copy.around), *indices], strict=True):
            found = part(index) if found is None else expression("k * size + index", k=found, size=size, index=index)
        width = self.storing.width(copy.array)
        return found if width == 1 or found is None else expression("width * k", width=width, k=found)

    def _lengths(self, copy: Copy) -> list[ast.expr]:
        stops = [loop.stop for loop in copy.varying]
        return [
            self.writer.text(x) if x.constant is not None else expression("max(n, 0)", n=self.writer.text(x))
            for x in stops
        ]


def _surely_runs(loop: For) -> bool:
    limits = [x.constant for x in loop.inputs]
    return None not in limits and len(range(*limits)) > 0


def _surely_has(array: Value, axis: int, index: Value) -> bool:
    """Whether an index is known to be valid for an axis of an array."""
    made = array.operation
    size = made.inputs[axis].constant if isinstance(made, Create) else None
    return size is not None and index.constant is not None and bool(index.constant < size)
