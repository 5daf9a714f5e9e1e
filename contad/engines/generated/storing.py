"""The workspace in the source: room for what each iteration stores, and where it lies."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from contad.engines.generated.ir import FLOAT, INT, For, Loop, Value
from contad.engines.generated.plan import Plan
from contad.engines.generated.walks import around, is_inside, walk
from contad.engines.generated.writer import ZEROS, Writer


class Storing(Writer):
    """Writes what stores values of an iteration."""

    plan: Plan

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.uses_workspace = False
        self.reserved = False  # whether there is room in the workspace for all that is stored here
        self.copies_once: set[Loop] = set()  # loops before which there has to be room for copies
        self.bases: dict[Loop, tuple[str, str]] = {}

    def block_names(self, o: Loop) -> tuple[str, str]:
        """The names of where a loop's numbers start in the workspace, and of how many iterations it has."""
        if o not in self.bases:
            self.bases[o] = self.fresh("base"), self.fresh("trips")
        return self.bases[o]

    def push(self, size: str) -> None:
        """Take room for `size` numbers from the workspace."""
        self.uses_workspace = True
        self.line(f"top += {size}")
        if not self.reserved:
            with self.indented("if top > work.size:"):
                self.line("work = grow(work, top)")

    @contextlib.contextmanager
    def room(self, o: Loop) -> Iterator[None]:
        """Inside, a loop and the loops in it find room in the workspace, asked for once where that is possible."""
        size = "" if self.reserved else self.storage(o, o)
        if not size:
            yield
            return
        need = size if size.isidentifier() else self.fresh("room")
        if need != size:
            self.line(f"{need} = {size}")
        with self.indented(f"if top + {need} > work.size:"):
            self.line(f"work = grow(work, top + {need})")
        self.reserved = True
        yield
        self.reserved = False

    def storage(self, o: Loop, outermost: Loop) -> str:
        """How many numbers a loop stores, as source in what is known before the outermost one; empty if unknown.

        Of a loop that is reversed at once, how many one iteration stores.
        """
        own = len(self.slots(o))
        known = isinstance(o, For) and o.exit is None
        parts = [str(own)] if own else []
        for block in o.blocks:
            for inner in walk(block):
                if inner in self.copies_once:
                    return ""
                if isinstance(inner, Loop) and next(h for h in around(inner.block) if isinstance(h, Loop)) is o:
                    if self.plan.pushes(inner):
                        parts.append(self.storage(inner, outermost))
        if not parts or not all(parts):
            return ""
        size = " + ".join(parts)
        if o in self.plan.fused:
            return size
        if not known or any(x.constant is None and is_inside(x.block, outermost) for x in o.inputs):
            return ""
        n = self.trip_count(o)  # type: ignore[arg-type]
        return n if size == "1" else f"{n} * ({size})" if len(parts) > 1 else f"{n} * {size}"

    def trip_count(self, o: For, text: Callable[[Value], str] | None = None) -> str:
        """How often a loop without an early exit runs."""
        start, stop, step = map(text or self.text, o.inputs)
        limits = [x.constant for x in o.inputs]
        if None not in limits:
            return str(len(range(*limits)))
        if o.step.constant != 1:
            return f"len(range({start}, {stop}, {step}))"
        return f"max({stop}, 0)" if o.start.constant == 0 else f"max({stop} - {start}, 0)"

    def slots(self, o: Loop) -> list[Value]:
        return self.plan.slots.get(o, []) if o not in self.plan.fused else []

    def begin_iteration(self, o: Loop) -> None:
        slots = self.slots(o)
        if slots and not self.plan.as_block(o):
            for value in slots:  # a value of a branch that is not taken is stored all the same
                if value.block is not None and value.block not in o.blocks:
                    self.line(f"{value.name} = {ZEROS[value.kind.base]}")
        for c in o.carried:
            self.save(c.inner)

    def save(self, value: Value) -> None:
        """Store a value where it is made, if its loop stores all iterations side by side."""
        loop = self.plan.region(value.block)
        if isinstance(loop, For) and value in self.slots(loop) and self.plan.as_block(loop):
            self.line(f"{self.place(loop, value)} = {stored(value)}")

    def place(self, loop: For, value: Value) -> str:
        """Where a value of an iteration lies in a workspace that holds all iterations side by side."""
        base, n = self.block_names(loop)
        k = self.slots(loop).index(value)
        offset = "" if k == 0 else f" + {n}" if k == 1 else f" + {k} * {n}"
        return f"work[{base}{offset} + {self.iteration(loop)}]"

    def iteration(self, loop: For) -> str:
        """The number of the present iteration."""
        index = loop.index.name
        if loop.start.constant != 0:
            index = f"({index} - {self.text(loop.start)})"
        return index if loop.step.constant == 1 else f"{index} // {self.text(loop.step)}"


def stored(value: Value) -> str:
    """A value as the workspace of floats holds it."""
    if value.kind == FLOAT:
        return value.name
    return f"float({value.name})" if value.kind == INT else f"1.0 if {value.name} else 0.0"


def restored(value: Value, place: str) -> str:
    """A value read back from the workspace."""
    if value.kind == FLOAT:
        return place
    return f"int({place})" if value.kind == INT else f"{place} != 0.0"
