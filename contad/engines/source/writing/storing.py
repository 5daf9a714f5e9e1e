"""Writes stores: reserves space in the workspace for the values of iterations, and locates them."""

import ast
import contextlib
import itertools
from collections.abc import Callable, Iterator

from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.ir.ssa import FLOAT, INT, For, Loop, Segments, Value
from contad.engines.source.ir.syntax import Part, expression, name, number, part, product, total
from contad.engines.source.ir.tree_queries import is_number
from contad.engines.source.ir.walks import around, is_inside, walk
from contad.engines.source.ir.writer import ZEROS, Writer
from contad.engines.source.planning.store_plan import StorePlan


class Storing:
    """Writes the statements that store values of an iteration."""

    def __init__(self, writer: Writer, plan: StorePlan, lanes: LaneValues | None = None) -> None:
        """`lanes` tells which values have lanes, which are all stored."""
        self.writer, self.plan, self.lanes = writer, plan, lanes
        self.uses_workspace = False
        self.reserved = False  # whether space for all stores of the current loop is already reserved
        self.silent = False  # while writing code that will run again, and store only then
        self.copies_once: set[Loop] = set()  # loops before which space for copies is reserved
        self.bases: dict[Loop, tuple[str, str]] = {}

    def names_of_storage(self, o: Loop) -> tuple[str, str]:
        """The names of the offset of a loop's numbers in the workspace, and of its trip count."""
        if o not in self.bases:
            self.bases[o] = self.writer.fresh("base"), self.writer.fresh("trips")
        return self.bases[o]

    def push(self, size: Part) -> None:
        """Reserve `size` numbers in the workspace."""
        self.uses_workspace = True
        self.writer.line("top += size", size=size)
        if not self.reserved:
            self.writer.line("work = grow(work, top)")

    @contextlib.contextmanager
    def room(self, o: Loop) -> Iterator[None]:
        """Reserve space for a loop and the loops in it, written inside; all at once if possible."""
        size = None if self.reserved or self.silent else self.storage(o, o)
        if size is None:
            yield
            return
        self.writer.line("work = grow(work, sum)", sum=total(["top", *size]))
        self.reserved = True
        yield
        self.reserved = False

    def storage(self, o: Loop, outermost: Loop) -> list[Part] | None:
        """The count of numbers that a loop stores, as terms that are known before the outermost loop; None if unknown.

        For a loop that is reversed at once: the count for one iteration. Products contain a float, so that they do not
        overflow. A loop in a branch may never run, so its count is unknown; else it would get space in each iteration.
        """
        parts = self._iteration_storage(o, outermost)
        if not parts:
            return None
        if o in self.plan.fused:
            return parts
        if not isinstance(o, For) or o.exit is not None:
            return None
        if any(x.constant is None and is_inside(x.block, outermost) for x in o.inputs):
            return None
        return [expression("trips * size", trips=self.trip_count(o), size=total(parts))]

    def _iteration_storage(self, o: Loop, outermost: Loop) -> list[Part] | None:
        """The terms of the count of numbers that an iteration stores; None if unknown."""
        if self.plan.calls_push(o):
            return None
        own = self.width(*self.slots(o))
        once = o in self.plan.fused
        parts: list[Part] = [float(own)] if own else []
        for inner in (x for block in o.blocks for x in walk(block) if isinstance(x, Loop)):
            if inner in self.copies_once:
                return None
            holders = list(itertools.takewhile(lambda h: h is not o, around(inner.block)))
            if self.plan.pushes(inner) and not any(isinstance(h, Loop) for h in holders):
                own_parts = self.storage(inner, outermost) if once or not holders else None
                if own_parts is None:
                    return None
                parts += own_parts
        return parts

    def stride(self, o: Loop) -> ast.expr | None:
        """How far an iteration moves the top of the workspace; None if unknown."""
        if self.plan.stores_at_once(o) and not any(map(self.plan.pushes, walk(o.body))):
            return total([])
        parts = self._iteration_storage(o, o)
        return None if parts is None else total(parts)

    def trip_count(self, o: For | Segments, text: Callable[[Value], ast.expr] | None = None) -> ast.expr:
        """How often a loop without an early exit runs."""
        start, stop, step = map(text or self.writer.text, o.inputs)
        limits = [x.constant for x in o.inputs]
        if None not in limits:
            return number(len(range(*limits)))
        if o.step.constant != 1:
            return expression("len(range(start, stop, step))", start=start, stop=stop, step=step)
        if o.start.constant == 0:
            return expression("max(stop, 0)", stop=stop)
        return expression("max(stop - start, 0)", start=start, stop=stop)

    def slots(self, o: Loop) -> list[Value]:
        return self.plan.slots.get(o, []) if o not in self.plan.fused and not self.silent else []

    @contextlib.contextmanager
    def silence(self) -> Iterator[None]:
        """Code written inside stores nothing."""
        self.silent = True
        yield
        self.silent = False

    @contextlib.contextmanager
    def taking_back(self, pushes: bool) -> Iterator[None]:
        """Around operations that always store: if nothing shall be stored, restore the top afterwards."""
        mark = self.writer.fresh("mark") if pushes and self.silent else ""
        if mark:
            self.writer.line("mark = top", mark=mark)
        yield
        if mark:
            self.writer.line("top = mark", mark=mark)

    def width(self, *values: Value) -> int:
        """The count of numbers that values take in the workspace."""
        return len(values) if self.lanes is None else sum(map(self.lanes.width, values))

    def places_from_top(self, slots: list[Value]) -> list[tuple[Value, ast.expr]]:
        """The offsets of the values of an iteration after all of them are stored at the top of the workspace."""
        return [(value, expression("top - n", n=self.width(*slots[k:]))) for k, value in enumerate(slots)]

    def begin_iteration(self, o: Loop) -> None:
        slots = self.slots(o)
        if slots and not self.plan.stores_at_once(o):
            for value in slots:  # values of a branch that was not taken are stored as well
                if value.block is not None and value.block not in o.blocks:
                    zero = number(ZEROS[value.kind.base])
                    zero = expression("np.float32(zero)", zero=zero) if value.kind.single else zero
                    self.writer.line("x = zero", x=value.name, zero=zero)

    def save(self, value: Value) -> None:
        """Store a value where it is defined, if that is in a branch of a loop that stores in one allocation."""
        loop = self.plan.region(value.block)
        if isinstance(loop, For) and value.block is not loop.body and value in self.slots(loop):
            if self.plan.stores_at_once(loop):
                self.put(value, self.place(loop, value))

    def end_iteration(self, o: Loop) -> None:
        """Store the values of an iteration at its end, so that no store comes between its loads."""
        slots = self.slots(o)
        if isinstance(o, For) and self.plan.stores_at_once(o):
            for value in slots:
                if value.block is o.body:
                    self.put(value, self.place(o, value))
        elif slots:
            self.push(self.width(*slots))
            for value, place in self.places_from_top(slots):
                self.put(value, place)

    def put(self, value: Value, place: ast.expr) -> None:
        """Store a value at a place in the workspace."""
        if value.kind == INT:
            self.writer.line("put_integer(work, place, x)", place=place, x=value.name)
        elif (n := self.width(value)) > 1:
            self.writer.line("put_lanes(work, place, x, n)", place=place, x=value.name, n=n)
        else:
            self.writer.line("work[place] = x", place=place, x=value.name)

    def restore(self, value: Value, place: ast.expr) -> ast.expr:
        """A value read back from its place in the workspace."""
        if value.kind == INT:
            return expression("integer(work, place)", place=place)
        if (n := self.width(value)) > 1:
            return expression("lanes_at(work, place, n)", place=place, n=n)
        if value.kind == FLOAT:
            stored = expression("work[place]", place=place)
            return expression("np.float32(x)", x=stored) if value.kind.single else stored
        return expression("work[place] != 0.0", place=place)

    def place(self, loop: For, value: Value) -> ast.expr:
        """The offset of a value of the current iteration, if all iterations store in one allocation."""
        base, n = self.names_of_storage(loop)
        slots = self.slots(loop)
        k = self.width(*slots[: slots.index(value)])
        return total([base, *([times(k, n)] if k else []), times(self.width(value), self.iteration(loop))])

    def iteration(self, loop: For) -> ast.expr:
        """The number of the current iteration."""
        found = name(loop.index.name)
        if loop.start.constant != 0:
            found = expression("index - start", index=found, start=self.writer.text(loop.start))
        if loop.step.constant == 1:
            return found
        return expression("index // step", index=found, step=self.writer.text(loop.step))


def times(x: Part, y: Part) -> ast.expr:
    """A product; leaves out factors that are 1."""
    factors = [z for z in map(part, (x, y)) if not is_number(z, 1)]
    return product(factors)
