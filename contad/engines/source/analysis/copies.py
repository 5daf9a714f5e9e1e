"""Which parts of arrays are copied for the reverse pass, because a nest of loops reads each element many times.

A number that a loop reads is stored once for each iteration, where the array does not keep it. In
`for i: for j: z += w[i, j] * state[j]` that is n * n numbers for n elements. As the nest does not write the array, its
part is copied before the nest, once in each iteration of the loops around it.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Protocol

from contad.engines.source.ir.single_assignment import (
    FLOAT,
    Block,
    For,
    If,
    Load,
    Loop,
    Operation,
    Segments,
    SourceFunction,
    Value,
)
from contad.engines.source.ir.walks import around, find_written_roots, is_inside, is_natural, walk


class Regions(Protocol):
    """Which loops are reversed how, and what they change: see `contad.engines.source.planning.store_plan.StorePlan`."""

    @property
    def fused(self) -> Container[Any]:
        """Loops whose iterations are reversed at once."""

    def region(self, block: Block | None) -> Loop | None:
        """The innermost loop around a block whose reverse is a loop of its own."""

    def is_unchanged(self, reader: Operation, array: Value) -> bool:
        """Whether an array still holds what an operation read there when the reverse pass gets to the operation."""


class Copy:
    """A part of an array, copied before a loop: all elements of some axes, one of the others."""

    def __init__(
        self, array: Value, indices: list[Value | For], loop: For, around: list[For], others: set[For]
    ) -> None:
        self.array = array
        self.indices = indices  # per axis a fixed index, or a loop for those in range(its stop)
        self.loop = loop  # before which the copy is made
        self.around = around  # the loops around it, whose iterations have a copy each, from the outermost in
        self.once = around[0] if around else loop  # before which there has to be room for all the copies
        self.others = others  # loops inside which all loads of the part are; they may turn out to be empty
        self.base = ""  # the name of where the copies start in the workspace

    @property
    def varying(self) -> list[For]:
        return [x for x in self.indices if isinstance(x, For)]

    @property
    def key(self) -> tuple[object, ...]:
        """What two loads have in common that read the same copy."""
        parts = (("all", _same(x.stop)) if isinstance(x, For) else _same(x) for x in self.indices)
        return (self.array, self.loop, *parts)


def copies(program: SourceFunction, plan: Regions) -> dict[Load, Copy]:
    """For loads in loops, the copy from which the reverse pass may read the element again."""
    possible: dict[Load, Copy] = {}
    worth: dict[object, Copy] = {}
    for o in walk(program.block):
        if (
            isinstance(o, Load)
            and o.result.kind == FLOAT
            and plan.region(o.block)
            and not plan.is_unchanged(o, o.array)
        ):
            nest = _nest(o, plan)
            copy = _copy(o, nest, plan) if nest else None
            if copy is not None:
                possible[o] = copy
                if len(nest) > len(copy.varying):
                    worth.setdefault(copy.key, copy)
    found = {o: worth[copy.key] for o, copy in possible.items() if copy.key in worth}
    for o, copy in found.items():
        copy.others &= possible[o].others
    return found


def _nest(o: Load, plan: Regions) -> list[For]:
    """The loops around a load that run to their end and do not write the array, from the innermost out."""
    found: list[For] = []
    roots = set(o.array.roots)
    for holder in around(o.block):
        plain = isinstance(holder, For) and holder.exit is None and holder.step.constant == 1
        if not plain or holder in plan.fused or roots & find_written_roots(holder) or is_inside(o.array.block, holder):
            break
        assert isinstance(holder, For)
        found.append(holder)
    return found


def _copy(o: Load, nest: list[For], plan: Regions) -> Copy | None:
    """The copy that a load can be read back from, in the innermost of its loops; None where there is none."""
    outer = _regular(nest[-1], plan)
    if outer is None:
        return None
    outermost = outer[0] if outer else nest[-1]
    indices: list[Value | For] = []
    for index in o.indices:
        loop = next((loop for loop in nest if index is loop.index), None)
        if not is_natural(index) or (loop is None and is_inside(index.block, nest[-1])):
            return None
        if loop is not None and (loop in indices or not _is_known(loop.stop, outermost)):
            return None
        indices.append(loop or index)
    others = {loop for loop in nest if loop not in indices}
    if not all(_is_known(x, nest[-1]) for loop in others for x in loop.inputs):
        return None
    return Copy(o.array, indices, nest[-1], outer, others)


def _regular(loop: For, plan: Regions) -> list[For] | None:
    """The loops around a loop, from the outermost in, if they surely run it a number of times known before them."""
    found: list[For] = []
    branch = False
    for holder in around(loop.block):
        if holder in plan.fused or isinstance(holder, Segments):
            break
        if isinstance(holder, If):
            branch = True
        elif branch or not isinstance(holder, For) or holder.exit is not None or holder.step.constant != 1:
            return None
        else:
            found.insert(0, holder)
    return found if all(_is_known(x, found[0]) for h in found for x in h.inputs) else None


def _is_known(value: Value, loop: Operation) -> bool:
    """Whether a value is known before a loop."""
    return value.constant is not None or not is_inside(value.block, loop)


def _same(value: Value) -> object:
    return value if value.constant is None else value.constant
