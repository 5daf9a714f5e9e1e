"""Finds where a zero adjoint may meet an infinite or nan partial. The reverse sweep takes their product as zero.

Functions with poles, and constants, can make a number infinite or nan although the arguments are finite. The arguments
themselves may be infinite or nan in elements and branches that are not selected, and adjoints are zero there.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from contad.engines.source.analysis.partials import partial
from contad.engines.source.ir import ssa
from contad.engines.source.ir.known_functions import (
    ABSOLUTE,
    ADD,
    AND,
    DIVIDE,
    MULTIPLY,
    NOT,
    OR,
    RECIPROCAL,
    SELECT,
    SQUARE,
)
from contad.engines.source.ir.walks import around, leaves, walk
from contad.ops.powers import MOST

# values and partials are finite at finite operands, overflow of products aside
TAME = frozenset(
    (
        *("add", "subtract", "multiply", "negative", "square", "absolute", "sin", "cos", "tanh", "arctan", "arcsinh"),
        *("fmax", "fmin", "maximum", "minimum"),
        *("select", "float", "constant", "hypot", "floor", "ceil", "trunc", "rint", "sign", "copysign"),
        *(f"power_{n}" for n in range(2, MOST + 1)),
        *("deg2rad", "rad2deg", "erf", "erfc", "ndtr", "expit", "checked_divide", "checked_reciprocal"),
    )
)

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}

# where the value is finite, so are the partials
BOUNDED = TAME | {"divide", "reciprocal", "exp", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "cosh", "sinh"}


def has_bounded_slopes(operations: Iterable[ssa.Operation]) -> bool:
    """Whether all partials are bounded where the values are finite; False if the operations call other functions."""
    return all(
        o.function.name in BOUNDED or o.result.kind != ssa.FLOAT if isinstance(o, ssa.Apply)
        else o.function.is_finite if isinstance(o, ssa.MatrixCall) else not isinstance(o, (ssa.Call, ssa.Handed))
        for o in operations
    )  # fmt: skip


def wild_values(function: ssa.SourceFunction, given: Iterable[ssa.Value] = ()) -> set[ssa.Value]:
    """The numbers, and the roots of arrays, that may be infinite or nan, if the `given` parameters may be."""
    operations = list(walk(function.block))
    wild = set(given)
    wild |= {x for o in operations for x in o.reads() if x.constant is not None and not math.isfinite(x.constant)}
    for value, array in zip(function.captured_values, function.captured.values(), strict=True):
        if not np.isfinite(array).all():
            wild.add(value)
    return _spread(operations, wild, lambda o: not is_tame(o))


def pole_values(function: ssa.SourceFunction) -> tuple[set[ssa.Value], set[ssa.Value]]:
    """The numbers and arrays that feed an operand which may be at a pole, and those that may then be infinite."""
    operations = list(walk(function.block))
    before = {
        x for o in operations if isinstance(o, ssa.Apply) and has_poles(o) for x in o.inputs if x.constant is None
    }
    size = -1
    while len(before) != size:
        size = len(before)
        for o in operations:
            for source, target in _flow(o, has_poles):
                if source is not None and (target in before or not before.isdisjoint(target.roots)):
                    before.update(source.roots or (source,))
    return before, _spread(operations, set(), has_poles)


def has_poles(o: ssa.Apply) -> bool:
    """Whether a function and its partials are infinite at some finite values that these operands may have.

    Partials of functions with kinks either never divide by 0, or have another formula there.
    """
    if o.function.rule is None or not o.function.rule.may_have_pole() or is_tame(o) or o.of_kink:
        return False
    of_last = o.function in (DIVIDE, RECIPROCAL) or o.function.name in ("sqrt", "log")
    return not (of_last and _is_positive(o.inputs[-1]))


def _spread(
    operations: list[ssa.Operation], wild: set[ssa.Value], begins: Callable[[ssa.Apply], bool]
) -> set[ssa.Value]:
    """The values `wild`, the results of functions for which `begins` is true, and everything computed from them."""
    size = -1
    while len(wild) != size:
        size = len(wild)
        for o in operations:
            for source, target in _flow(o, begins):
                if source is None or source in wild or any(root in wild for root in source.roots):
                    wild.update(target.roots or (target,))
    return wild


def _flow(o: ssa.Operation, is_wild: Callable[[ssa.Apply], bool]) -> list[tuple[ssa.Value | None, ssa.Value]]:
    """Pairs (from, to) along which infinite values spread; from None where they begin."""
    if isinstance(o, ssa.Apply) and o.result.kind == ssa.FLOAT:
        begins: list[tuple[ssa.Value | None, ssa.Value]] = [(None, o.result)] if is_wild(o) else []
        # dividing by a positive infinity gives zero
        spreading = o.inputs
        if o.function in (DIVIDE, RECIPROCAL) and is_tame(o):
            spreading = o.inputs[:-1]
        return begins + [(x, o.result) for x in spreading if x.kind == ssa.FLOAT]
    if isinstance(o, ssa.Call):
        found: list[tuple[ssa.Value | None, ssa.Value]] = [(None, o.results[k]) for k in o.callee.wild]
        for x, reached in zip(o.inputs, o.callee.reached, strict=True):
            found += [(x, o.results[k]) for k in reached]
        return found
    if isinstance(o, ssa.Load):
        return [(o.array, o.result)]
    if isinstance(o, ssa.Store):
        return [(o.stored, o.array)]
    if isinstance(o, ssa.Accumulate):
        return [(o.added, o.array)]
    if isinstance(o, ssa.Handed):
        return [(None, result) for result in o.results if result.kind.base == "float"]
    if isinstance(o, ssa.MatrixCall):
        started = [] if o.function.is_finite else [None]
        return [(x, y) for x in [*started, *o.operands] for y in o.varying]
    if isinstance(o, ssa.Product):
        return [(x, o.result) for x in o.inputs]
    if isinstance(o, ssa.If):
        return [(x, m.result) for m in o.merges for x in (m.then, m.otherwise)]
    if isinstance(o, ssa.Loop):
        pairs = [(c.initial, c.inner, c.following, c.result) for c in o.carried]
        return [pair for i, inner, f, r in pairs for pair in ((i, inner), (f, inner), (inner, r))]
    return []


def unselected_values(
    function: ssa.SourceFunction,
    readers: dict[ssa.Value, list[ssa.Operation]],
    sunk: Mapping[ssa.Value, ssa.Block | None],
) -> set[ssa.Value]:
    """The numbers whose adjoints may be zero because another number or element is selected instead.

    The set includes the roots of arrays of which some elements may not be selected, by a decision on data or by a
    slice. For decisions on counters alone it includes numbers only, and ignores elements that no index reaches.
    `sunk` values have adjoints only in their branch.
    """
    operations = list(walk(function.block))
    returned = leaves(function.returned)
    found = set(returned) if len(returned) > 1 else set()  # some results may have no cotangent
    values: list[ssa.Value] = []
    for o in operations:
        values += [*(c.inner for c in o.carried), *o.results] if isinstance(o, ssa.Loop) else o.results
        if (
            isinstance(o, ssa.View)
            and o.spec is not None
            and any(isinstance(part, tuple) and any(part) for part in o.spec)
        ):
            found.update(o.result.roots)
    loads = [o for o in operations if isinstance(o, ssa.Load)]
    matrices = [o for o in operations if isinstance(o, ssa.MatrixCall)]
    by_data = {o for o in operations if isinstance(o, ssa.If) and reads_data(o.inputs[0])}
    for branches in (by_data, {o for o in operations if isinstance(o, ssa.If)}):
        passing = _Passing(readers, found, branches, sunk)
        size = -1
        while len(found) != size:
            size = len(found)
            for value in reversed(values):
                if value not in found and passing.may_reach_nothing(value):
                    found.add(value)
            for o in loads if branches is by_data else []:
                if o.result in found or not branches.isdisjoint(_holders(o.block, o.array.block)):
                    found.update(o.array.roots)
            for m in matrices:
                passed = any(x in found or not found.isdisjoint(x.roots) for x in m.varying)
                if passed or not m.function.reads_all or not branches.isdisjoint(around(m.block)):
                    found.update(root for x in m.operands for root in x.roots)
    return found


class _Passing:
    """Whether the operations that read a value may add nothing to its adjoint, by the numbers found so far."""

    def __init__(
        self, readers: dict[ssa.Value, list[ssa.Operation]], found: set[ssa.Value], branches: set[ssa.If],
        sunk: Mapping[ssa.Value, ssa.Block | None],
    ) -> None:  # fmt: skip
        """`branches` are those whose sides count as alternatives; `found` may grow later."""
        self.readers, self.found, self.branches, self.sunk = readers, found, branches, sunk

    def may_reach_nothing(self, value: ssa.Value) -> bool:
        """Whether the adjoint of a value may stay zero because none of its readers adds to it."""
        mine = self.readers.get(value)
        if not mine or not all(self._may_pass_by(value, o) for o in mine):
            return False
        return not self._is_on_both_sides(value, mine)

    def _may_pass_by(self, value: ssa.Value, reader: ssa.Operation, taken: ssa.If | None = None) -> bool:
        """Whether a reader may add nothing to the adjoint of a value, on the side that a branch has `taken`."""
        found, block = self.found, self._block_of(value)
        if isinstance(reader, ssa.Call):
            return True
        if isinstance(reader, (ssa.Store, ssa.Accumulate)):
            return any(root in found for root in reader.array.roots)
        if isinstance(reader, ssa.Apply):
            if reader.result.kind != ssa.FLOAT or reader.result in found:
                return True
            places = [k for k, x in enumerate(reader.inputs) if x is value]
            if reader.function is SELECT or all(_routes(reader, k) for k in places):
                return True
        if reader in self.branches and reader is not taken and block not in reader.blocks:
            return True
        if isinstance(reader, ssa.If):  # its results may be unused
            results = [m.result for m in reader.merges if value in (m.then, m.otherwise)]
            if results and all(x in found for x in results):
                return True
        if isinstance(reader, ssa.Loop):  # each iteration may replace the value of the one before
            inner = [c.inner for c in reader.carried if value in (c.initial, c.following)]
            if any(x in found or x not in self.readers for x in inner):
                return True
        around_it = _holders(self._place_of(reader), block)
        return any(holder in self.branches and holder is not taken for holder in around_it)

    def _is_on_both_sides(self, value: ssa.Value, mine: list[ssa.Operation]) -> bool:
        """Whether both sides of a branch add to the adjoint of a value."""
        sides: dict[ssa.If, set[int]] = {}
        for reader in mine:
            if isinstance(reader, ssa.If) and reader in self.branches:
                ways = {k for m in reader.merges for k, x in enumerate((m.then, m.otherwise)) if x is value}
                if not self._may_pass_by(value, reader, reader):
                    sides.setdefault(reader, set()).update(ways)
            inside = self._place_of(reader)
            holder = inside.parent if inside is not None else None
            if (
                inside
                and isinstance(holder, ssa.If)
                and holder in self.branches
                and holder.block is self._block_of(value)
            ):
                if not self._may_pass_by(value, reader, holder):
                    sides.setdefault(holder, set()).add(holder.blocks.index(inside))
        return any(len(ways) == 2 for ways in sides.values())

    def _block_of(self, value: ssa.Value) -> ssa.Block | None:
        """The block in which the adjoint of a value is used."""
        return self.sunk.get(value, value.block)

    def _place_of(self, reader: ssa.Operation) -> ssa.Block | None:
        """The block in which an operation is reversed."""
        return self.sunk.get(reader.results[0], reader.block) if reader.results else reader.block


def _holders(inner: ssa.Block | None, outer: ssa.Block | None) -> Iterable[ssa.Operation]:
    """The operations that contain a block, out to another block around it."""
    if outer is None:
        return ()
    return itertools.takewhile(lambda holder: holder is not outer.parent, around(inner))


def reads_data(condition: ssa.Value) -> bool:
    """Whether a condition depends on anything but counters, lengths and integers."""
    seen: set[ssa.Value] = set()
    left = [condition]
    while left:
        value = left.pop()
        if value in seen:
            continue
        seen.add(value)
        o = value.operation
        if (value.kind == ssa.FLOAT and value.constant is None) or isinstance(o, (ssa.Load, ssa.Call, ssa.Handed)):
            return True
        if isinstance(o, (ssa.Apply, ssa.If)):
            left += o.reads()
        if isinstance(o, ssa.Loop):
            left += [x for c in o.carried if value in (c.inner, c.result) for x in (c.initial, c.following)]
    return False


def _routes(o: ssa.Apply, k: int) -> bool:
    rule = o.function.rule
    return rule is not None and rule.body is not None and (rule.body.routes(k) or rule.body.literal(k) == 0.0)


def may_be_infinite(o: ssa.Apply, k: int, wild: set[ssa.Value], unselected: set[ssa.Value]) -> bool:
    """Whether the partial with respect to operand k may be infinite or nan where the adjoint is zero."""
    if not is_tame(o):
        return True
    p = partial(o.function, k)
    if o.result in unselected and any(o.inputs[j].kind == ssa.FLOAT and o.inputs[j].constant is None for j in p.reads):
        return True
    if o.function is DIVIDE:
        return o.inputs[0] in wild
    return any(o.inputs[j] in wild for j in p.reads) or (p.reads_result and o.result in wild)


def is_tame(o: ssa.Apply) -> bool:
    """Whether a function has neither poles nor overflow at these operands."""
    if o.function in (DIVIDE, RECIPROCAL):
        return _is_above_zero(o.inputs[-1], o.block)
    return o.function.name in TAME or (o.function.name in ("sqrt", "log") and _is_above_zero(o.inputs[0], o.block))


def _is_above_zero(value: ssa.Value, block: ssa.Block | None) -> bool:
    """Whether a number is above 0, or nan, wherever a block runs."""
    return least(value, bounds_in(block)) > 0.0


def _is_positive(value: ssa.Value, depth: int = 8) -> bool:
    """Whether a number is certainly above 0, unless it has underflowed."""
    if value.constant is not None:
        return float(value.constant) > 0.0
    o = value.operation
    if not isinstance(o, ssa.Apply) or depth == 0:
        return False
    if o.function is ADD:
        return least(value) > 0.0 or all(_is_positive(x, depth - 1) for x in o.inputs)
    composed = o.function in (MULTIPLY, DIVIDE) or o.function.name == "sqrt"
    return o.function.name == "exp" or (composed and all(_is_positive(x, depth - 1) for x in o.inputs))


def least(value: ssa.Value, bounds: Mapping[ssa.Value, float] = MappingProxyType({}), depth: int = 8) -> float:
    """A lower bound of a value, unless the value is nan; -inf if no bound is known.

    Rounding is monotonic, so a bound that is computed in the same way as the value holds. `bounds` are known ones.
    """
    if value.constant is not None:
        return float(value.constant)
    o, known = value.operation, bounds.get(value, -math.inf)
    if depth == 0:
        return known
    if isinstance(o, ssa.Loop):  # by induction: the bound holds at the start, and after an iteration if it held before
        for c in o.carried:
            bound = least(c.initial, bounds, depth - 1) if value is c.result else -math.inf
            if bound > known and least(c.following, {**bounds, c.inner: bound}, depth - 1) >= bound:
                return bound
    if not isinstance(o, ssa.Apply):
        return known
    if o.function in (SQUARE, ABSOLUTE) or o.function.name == "exp":
        return max(known, 0.0)  # it may underflow
    if o.function in (ADD, MULTIPLY) or o.function.name == "sqrt":
        of_inputs = [least(x, bounds, depth - 1) for x in o.inputs]
        if o.function is ADD:
            return max(known, sum(of_inputs))
        if min(of_inputs) >= 0.0:
            return max(known, math.prod(of_inputs) if o.function is MULTIPLY else math.sqrt(of_inputs[0]))
    return known


def bounds_in(block: ssa.Block | None) -> dict[ssa.Value, float]:
    """Lower bounds of values inside a block, from the conditions of the branches around it."""
    found: dict[ssa.Value, float] = {}
    while block is not None and block.parent is not None:
        if isinstance(block.parent, ssa.If):
            _assume(block.parent.inputs[0], block is block.parent.blocks[0], found)
        block = block.parent.block
    return found


def _assume(test: ssa.Value, holds: bool, found: dict[ssa.Value, float]) -> None:
    """Note the lower bounds that follow if a condition has the truth value `holds`."""
    o = test.operation
    if not isinstance(o, ssa.Apply):
        return
    if o.function in (NOT, AND if holds else OR):
        for x in o.inputs:
            _assume(x, holds is not (o.function is NOT), found)
    elif o.function.name in _OPPOSITE:
        symbol = o.function.name if holds else _OPPOSITE[o.function.name]
        x, y = o.inputs
        if symbol.startswith("<") or (x.constant is not None and "!" in symbol):
            x, y, symbol = y, x, symbol.replace("<", ">")
        if y.constant is None or symbol == "==" or (symbol == "!=" and least(x) < y.constant):
            return
        bound = float(y.constant)
        found[x] = max(found.get(x, -math.inf), bound if symbol == ">=" else math.nextafter(bound, math.inf))
