"""The records of a recording in a second-order pass: tangents up, adjoints and their tangents down.

Arrays of cells have a leading axis for directions, so that one NumPy operation handles all directions.
"""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from contad.engines.matrix.matrix_products import ProductPullback
from contad.engines.second_order.dependencies import Dependencies
from contad.engines.stream.pullbacks import Continuation, ElementwisePullback, Part, Pullback, unbroadcast
from contad.rules.array_rule import ArrayRule
from contad.rules.body import ARITHMETIC_ERRORS
from contad.rules.body_derivatives import derivatives_of_partial
from contad.rules.scalar_rule import ScalarRule
from contad.variables.dtypes import FLOAT
from contad.variables.dual import ForwardLevel, array_dual
from contad.variables.layout import inverse
from contad.variables.number import peek
from contad.variables.open_types import Options, Rule, Value


class Cells:
    """The cells of an operand along two axes; with a step of 0 a cell repeats."""

    __slots__ = ("_inner", "_offset", "_outer", "_repeats", "_shape", "start")

    def __init__(self, start: int, outer: int, inner: int, outer_step: int, inner_step: int) -> None:
        self.start, self._offset = start, 8 * start
        self._outer, self._inner = 8 * outer_step, 8 * inner_step
        self._shape = outer, inner
        self._repeats = (outer_step == 0 and outer > 1, inner_step == 0 and inner > 1)

    @property
    def span(self) -> slice:
        """The range from the first cell to the last."""
        outer, inner = self._shape
        ways = (outer - 1) * self._outer // 8, (inner - 1) * self._inner // 8  # may be negative
        return slice(self.start + sum(min(n, 0) for n in ways), self.start + sum(max(n, 0) for n in ways) + 1)

    def indices(self) -> np.ndarray:
        """The indices of the cells, along the two axes."""
        (outer, inner), steps = self._shape, (self._outer // 8, self._inner // 8)
        return self.start + np.add.outer(np.arange(outer) * steps[0], np.arange(inner) * steps[1])

    def of(self, a: np.ndarray) -> np.ndarray:
        """A view of the cells in an array of cells, with a leading axis for directions."""
        lead, stride = (len(a), a.strides[0]) if a.ndim == 2 else (1, 0)
        return np.ndarray((lead, *self._shape), FLOAT, a, self._offset, (stride, self._outer, self._inner))

    def put(self, a: np.ndarray, c: Value) -> None:
        """Write to the cells, with sums along the axes on which a cell repeats."""
        view, c = self._sum(a, c)
        view[...] = c

    def add(self, a: np.ndarray, c: Value) -> None:
        """Add to the cells, with sums along the axes on which a cell repeats."""
        view, c = self._sum(a, c)
        view += c

    def _sum(self, a: np.ndarray, c: Value) -> tuple[np.ndarray, Value]:
        view = self.of(a)
        outer_repeats, inner_repeats = self._repeats
        if outer_repeats:
            view, c = view[:, :1], c.sum(axis=1, keepdims=True)
        if inner_repeats:
            view, c = view[:, :, :1], c.sum(axis=2, keepdims=True)
        return view, c


class Unsuited(Exception):
    """Only duals can differentiate the recording."""


def require_smooth(rule: Rule, values: Sequence[Value], *options: Options) -> None:
    """Leave an operation at its kink to duals, where its twin replaces it."""
    if rule.twin is not None and rule.is_at_kink(values, *options):
        raise Unsuited


class Pass:
    """The cells of a recording for one chunk of directions: tangents, adjoints, and tangents of adjoints."""

    level: ForwardLevel  # unused by the upward pass

    def __init__(self, count: int, top: int, free: int, level: ForwardLevel | None, room: list[np.ndarray]) -> None:
        self.count = count
        self.free = free  # cells below it are arguments, whose adjoints nobody reads
        if level is not None:
            self.level = level
        if not room or len(room[0]) < count * top:
            room[:] = np.empty(count * top), np.empty(count * top)
        self.dots, self.bar_dots = (a[: count * top].reshape(count, top) for a in room)
        self.bars = np.zeros(top)
        self.bar_dots[:] = 0.0
        self.dots[:, :free] = 0.0

    def reads_adjoints(self, cells: slice) -> bool:
        """Whether anybody reads the adjoints of these cells: not if all belong to arguments."""
        return bool(cells.stop > self.free)


class SecondOrderRecord(ABC):
    """One record. `z` are the cells of its result, `operands` those that `up` reads, `bending` those that `down` reads.

    A linear operation bends nothing: its adjoints do not need the tangents of its operands.
    """

    z: slice
    operands: Sequence[slice | np.ndarray] = ()
    bending: Sequence[slice | np.ndarray] = ()

    @abstractmethod
    def up(self, p: Pass) -> None:
        """The tangents of the result."""

    @abstractmethod
    def down(self, p: Pass) -> None:
        """Add to the adjoints of the operands, and to the tangents of these."""

    @abstractmethod
    def depend(self, d: Dependencies) -> None:
        """Tell on which cells the result depends."""


class VariableRecord(SecondOrderRecord):
    """A variable that f has created: its tangent is zero."""

    def __init__(self, z: slice) -> None:
        self.z = z

    def up(self, p: Pass) -> None:
        p.dots[:, self.z] = 0.0

    def down(self, p: Pass) -> None:
        pass

    def depend(self, d: Dependencies) -> None:
        d.make_nodes(self.z)


class Gather(SecondOrderRecord):
    """Elements in fresh cells."""

    def __init__(self, source: np.ndarray, z: slice) -> None:
        self.source, self.z = source, z
        self.operands = [slice(int(source.min()), int(source.max()) + 1)]

    def up(self, p: Pass) -> None:
        p.dots[:, self.z] = p.dots[:, self.source]

    def down(self, p: Pass) -> None:
        np.add.at(p.bars, self.source, p.bars[self.z].copy())  # else NumPy copies all cells: they share memory
        for row in p.bar_dots:
            np.add.at(row, self.source, row[self.z].copy())

    def depend(self, d: Dependencies) -> None:
        d.make_nodes(self.z)
        d.link(d.nodes[self.z], d.nodes[self.source])


# ---- operations element by element -----------------------------------------------------------------------------------
class Linear(SecondOrderRecord):
    """A sum or a mean: a coefficient times the operand, added up where the result repeats."""

    def __init__(self, x: Cells, z: Cells, coefficient: float) -> None:
        self.x, self.to, self.coefficient = x, z, coefficient
        self.z, self.operands = z.span, [x.span]

    def up(self, p: Pass) -> None:
        self.to.put(p.dots, self._times(self.x.of(p.dots)))

    def down(self, p: Pass) -> None:
        if p.reads_adjoints(self.x.span):
            self.x.add(p.bars, self._times(self.to.of(p.bars)))
        self.x.add(p.bar_dots, self._times(self.to.of(p.bar_dots)))

    def depend(self, d: Dependencies) -> None:
        d.make_nodes(self.z)
        d.link(d.nodes[self.to.indices()], d.nodes[self.x.indices()])

    def _times(self, d: np.ndarray) -> np.ndarray:
        return d if self.coefficient == 1.0 else d * self.coefficient


class OperationRecord(SecondOrderRecord):
    """A core rule. Its partials and their derivatives are evaluated once, for all directions."""

    def __init__(
        self, rule: Rule, active: str, places: Sequence[Cells], values: Sequence[Value], z: Cells
    ) -> None:
        require_smooth(rule, values[1:])
        literal = rule.body.literal
        self.to = z
        self.live = [a for a, kind in enumerate(active) if kind == "v" and literal(a) != 0.0]
        self.places = [places[a] for a in self.live]
        self.rule, self.active, self.values = rule, active, values
        self.z = z.span
        self.operands = [place.span for place in self.places]

    @functools.cached_property
    def first(self) -> list[Value]:
        """The partials by the live arguments, without the second ones unless those are known."""
        return [self.rule.array_partial(a, True)(*self.values) for a in self.live]

    @functools.cached_property
    def second(self) -> list[list[Value]]:
        """Rows of the second partials, None where one is zero; the upward pass does not need them."""
        self.first, rows = partials_of(self.rule, self.active, self.live, self.values)
        return rows

    @property
    def bending(self) -> Sequence[slice | np.ndarray]:  # type: ignore[override]
        return [self.places[b].span for row in self.second for b, q in enumerate(row) if q is not None]

    def up(self, p: Pass) -> None:
        terms = [_scale(place.of(p.dots), first) for place, first in zip(self.places, self.first, strict=True)]
        self.to.put(p.dots, sum(terms[1:], terms[0]) if terms else 0.0)

    def down(self, p: Pass) -> None:
        d, d_dot = self.to.of(p.bars), self.to.of(p.bar_dots)
        for place, first, row in zip(self.places, self.first, self.second, strict=True):
            if p.reads_adjoints(place.span):
                place.add(p.bars, _scale(d, first))
            total = _scale(d_dot, first)
            for other, second in zip(self.places, row, strict=True):
                if second is not None:
                    total = total + other.of(p.dots) * (d * second)
            place.add(p.bar_dots, total)

    def depend(self, d: Dependencies) -> None:
        d.make_nodes(self.z)
        places = [d.nodes[place.indices()] for place in self.places]
        d.depend_by_elements(self.rule, self.active, self.live, d.nodes[self.to.indices()], places)


def _scale(d: np.ndarray, p: Value) -> np.ndarray:
    return d if p.__class__ is float and p == 1.0 else d * p


def partials_of(
    rule: ScalarRule, active: str, live: Sequence[int], values: Sequence[Value]
) -> tuple[list[Value], list[list[Value]]]:
    """The first partials of a rule by its live arguments, and rows of the second ones, None where they are zero."""
    try:
        found = [derivatives_of_partial(rule, a, active)(*values) for a in live]
    except (LookupError, *ARITHMETIC_ERRORS):  # the body has no such form, or the operands are numbers
        raise Unsuited from None
    first = [partial for partial, *_ in found]
    variables = [a for a, kind in enumerate(active) if kind == "v"]
    second = []
    for _, by_z, *by_arguments in found:
        row = []
        for b, own in zip(live, first, strict=True):
            direct = by_arguments[variables.index(b)]
            through_z = None if by_z is None else by_z * own
            row.append(direct if through_z is None else through_z if direct is None else direct + through_z)
        second.append(row)
    return first, second


# ---- pullbacks -------------------------------------------------------------------------------------------------------
class ProductRecord(SecondOrderRecord):
    """A product of matrices, or of a matrix and a vector, with all directions in one product."""

    def __init__(self, c: ProductPullback) -> None:
        self.c = c
        self.x = c.x.reshape(-1, c.x.shape[-1])
        self.y = c.y.reshape(len(c.y), -1)
        self.shape = len(self.x), self.y.shape[1]
        self.z = slice(c.first, c.first + c.z.size)
        self.x_cells = slice(c.x_cell, c.x_cell + c.x.size) if c.x_cell > 0 else None
        self.y_cells = slice(c.y_cell, c.y_cell + c.y.size) if c.y_cell > 0 else None
        cells = [cells for cells in (self.x_cells, self.y_cells) if cells is not None]
        self.operands, self.bending = cells, cells if len(cells) == 2 else ()

    def up(self, p: Pass) -> None:
        total: Value = 0.0
        if self.x_cells is not None:
            total = (p.dots[:, self.x_cells].reshape(-1, self.x.shape[1]) @ self.y).reshape(p.count, -1)
        if self.y_cells is not None:
            total = total + _times(self.x, p.dots[:, self.y_cells].reshape(-1, *self.y.shape)).reshape(p.count, -1)
        p.dots[:, self.z] = total

    def down(self, p: Pass) -> None:
        x, y, x_cells, y_cells = self.x, self.y, self.x_cells, self.y_cells
        d, d_dot = p.bars[self.z].reshape(self.shape), p.bar_dots[:, self.z].reshape(-1, *self.shape)
        if x_cells is not None:
            if p.reads_adjoints(x_cells):
                p.bars[x_cells] += (d @ y.T).reshape(-1)
            p.bar_dots[:, x_cells] += (d_dot.reshape(-1, self.shape[1]) @ y.T).reshape(p.count, -1)
        if y_cells is not None:
            if p.reads_adjoints(y_cells):
                p.bars[y_cells] += (x.T @ d).reshape(-1)
            p.bar_dots[:, y_cells] += _times(x.T, d_dot).reshape(p.count, -1)
        if x_cells is not None and y_cells is not None:
            x_dot, y_dot = p.dots[:, x_cells].reshape(-1, *x.shape), p.dots[:, y_cells].reshape(-1, *y.shape)
            p.bar_dots[:, x_cells] += np.matmul(d, y_dot.transpose(0, 2, 1)).reshape(p.count, -1)
            p.bar_dots[:, y_cells] += np.matmul(x_dot.transpose(0, 2, 1), d).reshape(p.count, -1)

    def depend(self, d: Dependencies) -> None:
        d.depend_on_product(self.c, self.z)


class ByDuals(SecondOrderRecord):
    """An array rule, or a scalar rule on arrays without a kernel: its jvp, then its vjp on duals."""

    def __init__(self, c: Continuation) -> None:
        self.c = c
        first = min(part.cell for part in c.results)
        self.z = slice(first, max(part.cell + part.size for part in c.results))
        self.operands = [slice(cell, cell + math.prod(shape)) for _, cell, shape in c.operands]
        self.bending = [*self.operands, self.z]

    def up(self, p: Pass) -> None:
        c, z = self.c, self.c.values_of_results()
        for dots in p.dots:
            tangents: list[Value | None] = [None] * len(c.values)
            for k, cell, shape in c.operands:
                tangents[k] = _block(dots, cell, shape)
            z_dot = self._push(z, tangents)
            for part, part_dot in zip(c.results, z_dot if c.is_tuple else (z_dot,), strict=True):
                turned = part_dot if part.axes is None else np.transpose(part_dot, inverse(part.axes))
                dots[part.cell : part.cell + part.size] = np.reshape(turned, -1)

    def down(self, p: Pass) -> None:
        c = self.c
        values = list(c.values)
        for k, cell, shape in c.operands:
            values[k] = _dual(p, values[k], p.dots, cell, shape)
        z = [_dual(p, r.value, p.dots, r.cell, r.shape, r.axes) for r in c.results]
        z_bar = [_dual(p, _bar(p, r), p.bar_dots, r.cell, r.shape, r.axes) for r in c.results]
        results: Any = (tuple(z), tuple(z_bar)) if c.is_tuple else (z[0], z_bar[0])
        for (_, cell, shape), c_bar in zip(c.operands, self._pull(results, values), strict=True):
            value, tangents = p.level.parts(c_bar)
            cells = slice(cell, cell + math.prod(shape))
            p.bars[cells] += np.reshape(value, -1)
            for row, t in zip(p.bar_dots, tangents, strict=True):
                row[cells] += np.reshape(t, -1)

    def depend(self, d: Dependencies) -> None:
        d.depend_on_continuation(self.c, self.z)

    def _push(self, z: Value, tangents: list[Value | None]) -> Value:
        c = self.c
        if isinstance(c, Pullback):
            return c.rule.push(z, tangents, c.values, c.options, c.saved)
        terms = [t * self._partial(k)(z, *c.values) for k, t in enumerate(tangents) if t is not None]
        return np.broadcast_to(sum(terms), np.shape(z))

    def _pull(self, results: tuple[Value, Value], values: list[Value]) -> Iterator[Value]:
        """The cotangents of the operands, one after another."""
        c, (z, z_bar) = self.c, results
        if isinstance(c, Pullback):
            names = [c.rule.argument_names[k] for k, _, _ in c.operands]
            return c.rule.pull_each(names, z, z_bar, values, c.options, c.saved)
        return (
            unbroadcast(c.rule.product(k)(z_bar, _require_finite(self._partial(k)(z, *values))), shape)
            for k, _, shape in c.operands
        )

    def _partial(self, k: int) -> Value:
        rule = self.c.rule
        return rule.array_partial(k) if self.c.results[0].shape else rule.partial(k)


def _require_finite(p: Value) -> Value:
    """Require a finite partial: at a pole, an adjoint of 0 would mask it, and a twin replaces the operation."""
    if not np.all(np.isfinite(peek(p))):
        raise Unsuited
    return p


def record_of(c: Any) -> SecondOrderRecord:
    """The second-order record of a pullback."""
    if getattr(c, "turned", ()):
        raise Unsuited  # its cells are in another order
    if hasattr(c, "x_cell"):
        return ProductRecord(c)
    if isinstance(c, ElementwisePullback) or (isinstance(c, Pullback) and isinstance(c.rule, ArrayRule)):
        require_smooth(c.rule, c.values, *([c.options] if isinstance(c, Pullback) else []))
        return ByDuals(c)
    raise Unsuited  # a user's continuation


def _times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x times each matrix of a stack; one product if these are columns."""
    return y[:, :, 0] @ x.T if y.shape[2] == 1 else np.matmul(x, y)


def _block(cells: np.ndarray, first: int, shape: tuple[int, ...]) -> Value:
    return cells[first : first + math.prod(shape)].reshape(shape) if shape else float(cells[first])


def _bar(p: Pass, part: Part) -> Value:
    bar = _block(p.bars, part.cell, part.shape)
    return bar if part.axes is None else bar.transpose(part.axes)


def _dual(
    p: Pass, value: Value, dots: np.ndarray, first: int, shape: tuple[int, ...], axes: tuple[int, ...] | None = None
) -> Value:
    """A value with the tangents of its cells."""
    if not shape:
        return p.level.dual(float(value), dots[:, first].copy())
    blocks = [_block(row, first, shape) for row in dots]
    return array_dual(p.level, value, [b if axes is None else b.transpose(axes) for b in blocks])
