"""Copies parts of arrays for the reverse sweep where a nest of loops reads each element many times.

If an array is overwritten later, the reverse sweep stores each element that a loop reads, once for each iteration. In
`for i: for j: z += w[i, j] * state[j]` it would store n * n numbers for n elements. The nest does not write the array,
so the part that it reads is copied before the nest instead, once in each iteration of the loops around the nest.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Protocol

from contad.engines.source.ir.ssa import (
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
    """How loops are reversed, and what they change: see `contad.engines.source.planning.store_plan.StorePlan`."""

    @property
    def fused(self) -> Container[Any]:
        """Loops that reverse each iteration as soon as it has run."""

    def region(self, block: Block | None) -> Loop | None:
        """The innermost loop around a block whose reverse is a loop of its own."""

    def is_unchanged(self, reader: Operation, array: Value) -> bool:
        """Whether an array still holds the values that an operation read when the reverse sweep reaches it."""


class Copy:
    """A part of an array that is copied before a loop: all elements along some axes, one index of the others."""

    def __init__(
        self, array: Value, indices: list[Value | For], loop: For, around: list[For], others: set[For]
    ) -> None:
        self.array = array
        self.indices = indices  # for each axis a fixed index, or a loop whose range(stop) gives the indices
        self.loop = loop  # the copy is made before this loop
        self.around = around  # the loops around it, outermost first; each of their iterations makes a copy
        self.once = around[0] if around else loop  # space for all copies is reserved before this loop
        self.others = others  # other loops around all loads of the part; they may run zero times
        self.base = ""  # the name of the offset in the workspace where the copies start

    @property
    def varying(self) -> list[For]:
        return [x for x in self.indices if isinstance(x, For)]

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for two loads if they read the same copy."""
        parts = (("all", _same(x.stop)) if isinstance(x, For) else _same(x) for x in self.indices)
        return (self.array, self.loop, *parts)


def copies(function: SourceFunction, plan: Regions) -> dict[Load, Copy]:
    """Maps loads in loops to the copy from which the reverse sweep may reload the element."""
    possible: dict[Load, Copy] = {}
    worth: dict[object, Copy] = {}
    for o in walk(function.block):
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
    """The loops around a load that run to their end and do not write the array, innermost first."""
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
    """The copy from which a load can be repeated, before the innermost possible loop; None if there is no such copy."""
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
    """The loops around a loop, outermost first, if they certainly run it and their trip counts are known; else None."""
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
