"""The workspace in the source: room for what each iteration stores, and where it lies."""

import contextlib
import itertools
from collections.abc import Callable, Iterator

from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.ir.single_assignment import FLOAT, INT, For, Loop, Segments, Value
from contad.engines.source.ir.walks import around, is_inside, walk
from contad.engines.source.ir.writer import ZEROS, Writer
from contad.engines.source.planning.store_plan import StorePlan


class Storing:
    """Writes what stores values of an iteration."""

    def __init__(self, writer: Writer, plan: StorePlan, lanes: LaneValues | None = None) -> None:
        """`lanes` tells what is stored once for each of several directions."""
        self.writer, self.plan, self.lanes = writer, plan, lanes
        self.uses_workspace = False
        self.reserved = False  # whether there is room in the workspace for all that is stored here
        self.silent = False  # while what is written will run again, and store then
        self.copies_once: set[Loop] = set()  # loops before which there has to be room for copies
        self.bases: dict[Loop, tuple[str, str]] = {}

    def block_names(self, o: Loop) -> tuple[str, str]:
        """The names of where a loop's numbers start in the workspace, and of how many iterations it has."""
        if o not in self.bases:
            self.bases[o] = self.writer.fresh("base"), self.writer.fresh("trips")
        return self.bases[o]

    def push(self, size: str) -> None:
        """Take room for `size` numbers from the workspace."""
        self.uses_workspace = True
        self.writer.line(f"top += {size}")
        if not self.reserved:
            self.writer.line("work = grow(work, top)")

    @contextlib.contextmanager
    def room(self, o: Loop) -> Iterator[None]:
        """Inside, a loop and the loops in it find room in the workspace, asked for once where that is possible."""
        size = "" if self.reserved or self.silent else self.storage(o, o)
        if not size:
            yield
            return
        self.writer.line(f"work = grow(work, top + {size})")
        self.reserved = True
        yield
        self.reserved = False

    def storage(self, o: Loop, outermost: Loop) -> str:
        """How many numbers a loop stores, as source in what is known before the outermost one; empty if unknown.

        Of a loop that is reversed at once, how many one iteration stores. A product has a float in it, so that it does
        not overflow. A loop in a branch may never run: what it needs is unknown, or all iterations would get room.
        """
        parts = self._iteration_storage(o, outermost)
        if not parts:
            return ""
        size = " + ".join(parts)
        if o in self.plan.fused:
            return size
        known = isinstance(o, For) and o.exit is None
        if not known or any(x.constant is None and is_inside(x.block, outermost) for x in o.inputs):
            return ""
        return f"{self.trip_count(o)} * {f'({size})' if len(parts) > 1 else size}"  # type: ignore[arg-type]

    def _iteration_storage(self, o: Loop, outermost: Loop) -> list[str] | None:
        """The terms of what an iteration stores; None if unknown."""
        if self.plan.calls_push(o):
            return None
        own = self.width(*self.slots(o))
        once = o in self.plan.fused
        parts = [f"{own}.0"] if own else []
        for inner in (x for block in o.blocks for x in walk(block) if isinstance(x, Loop)):
            if inner in self.copies_once:
                return None
            holders = list(itertools.takewhile(lambda h: h is not o, around(inner.block)))
            if self.plan.pushes(inner) and not any(isinstance(h, Loop) for h in holders):
                parts.append(self.storage(inner, outermost) if once or not holders else "")
        return parts if all(parts) else None

    def step(self, o: Loop) -> str | None:
        """By how much an iteration moves the top of the workspace, as source; None if that is unknown."""
        if self.plan.as_block(o) and not any(map(self.plan.pushes, walk(o.body))):
            return "0"
        parts = self._iteration_storage(o, o)
        return None if parts is None else " + ".join(parts) or "0"

    def trip_count(self, o: For | Segments, text: Callable[[Value], str] | None = None) -> str:
        """How often a loop without an early exit runs."""
        start, stop, step = map(text or self.writer.text, o.inputs)
        limits = [x.constant for x in o.inputs]
        if None not in limits:
            return str(len(range(*limits)))
        if o.step.constant != 1:
            return f"len(range({start}, {stop}, {step}))"
        return f"max({stop}, 0)" if o.start.constant == 0 else f"max({stop} - {start}, 0)"

    def slots(self, o: Loop) -> list[Value]:
        return self.plan.slots.get(o, []) if o not in self.plan.fused and not self.silent else []

    @contextlib.contextmanager
    def silence(self) -> Iterator[None]:
        """Inside, nothing is stored."""
        self.silent = True
        yield
        self.silent = False

    @contextlib.contextmanager
    def taking_back(self, pushes: bool) -> Iterator[None]:
        """Around what stores by itself: where nothing is to be stored, it is taken back at once."""
        mark = self.writer.fresh("mark") if pushes and self.silent else ""
        if mark:
            self.writer.line(f"{mark} = top")
        yield
        if mark:
            self.writer.line(f"top = {mark}")

    def width(self, *values: Value) -> int:
        """How many numbers values are in the workspace."""
        return len(values) if self.lanes is None else sum(map(self.lanes.width, values))

    def places_from_top(self, slots: list[Value]) -> list[tuple[Value, str]]:
        """Where the values of an iteration lie, once all of them are stored at the top of the workspace."""
        return [(value, f"top - {self.width(*slots[k:])}") for k, value in enumerate(slots)]

    def begin_iteration(self, o: Loop) -> None:
        slots = self.slots(o)
        if slots and not self.plan.as_block(o):
            for value in slots:  # a value of a branch that is not taken is stored all the same
                if value.block is not None and value.block not in o.blocks:
                    self.writer.line(f"{value.name} = {ZEROS[value.kind.base]}")
        for c in o.carried:
            self.save(c.inner)

    def save(self, value: Value) -> None:
        """Store a value where it is made, if its loop stores all iterations side by side."""
        loop = self.plan.region(value.block)
        if isinstance(loop, For) and value in self.slots(loop) and self.plan.as_block(loop):
            self.put(value, self.place(loop, value))

    def put(self, value: Value, place: str) -> None:
        """Store a value at a place in the workspace."""
        if value.kind == INT:
            self.writer.line(f"put_integer(work, {place}, {value.name})")
        elif self.width(value) > 1:
            self.writer.line(f"put_lanes(work, {place}, {value.name}, {self.width(value)})")
        else:
            self.writer.line(f"work[{place}] = {value.name}")

    def restore(self, value: Value, place: str) -> str:
        """A value read back from its place in the workspace."""
        if value.kind == INT:
            return f"integer(work, {place})"
        if self.width(value) > 1:
            return f"lanes_at(work, {place}, {self.width(value)})"
        return f"work[{place}]" if value.kind == FLOAT else f"work[{place}] != 0.0"

    def place(self, loop: For, value: Value) -> str:
        """Where a value of an iteration lies where the workspace holds all iterations side by side."""
        base, n = self.block_names(loop)
        slots = self.slots(loop)
        k = self.width(*slots[: slots.index(value)])
        offset = "" if k == 0 else f" + {n}" if k == 1 else f" + {k} * {n}"
        iteration = self.iteration(loop)
        if self.width(value) > 1:
            iteration = f"{self.width(value)} * {iteration if iteration.isidentifier() else f'({iteration})'}"
        return f"{base}{offset} + {iteration}"

    def iteration(self, loop: For) -> str:
        """The number of the present iteration."""
        index = loop.index.name
        if loop.start.constant != 0:
            index = f"({index} - {self.writer.text(loop.start)})"
        return index if loop.step.constant == 1 else f"{index} // {self.writer.text(loop.step)}"
