"""Runs of scalar records in a second-order pass: tables of their partials, computed at once, and loops over them.

The loops run in plain Python until they have taken as long as compiling or loading them would.
"""

import functools
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from contad.compile.compiling import is_cached, load_cached, write_options
from contad.engines.second_order.dependencies import Dependencies
from contad.engines.second_order.second_order_records import Pass, SecondOrderRecord, partials_of, require_smooth
from contad.engines.stream.patience import PATIENCE
from contad.engines.stream.pullbacks import ElementwisePullback
from contad.engines.stream.sweep import OPERATIONS
from contad.rules.body_derivatives import derivatives_of_partial
from contad.rules.scalar_rule import ScalarRule

_SOURCE = '''\
"""Tangents up and adjoints down a run of records of numbers; generated, do not edit."""

import numpy as np
from contad.compile.machine_code import njit


@njit("void(float64[:, ::1], int64, int64[:, ::1], float64[:, ::1])", {options})
def up(dots, start, cells, first):
    for j in range(dots.shape[0]):
        row = dots[j]
        for i in range(len(cells)):
            row[start + i] = first[i, 0] * row[cells[i, 0]] + first[i, 1] * row[cells[i, 1]]


@njit("void(float64[:, ::1], float64[::1], float64[:, ::1], int64, int64[:, ::1], float64[:, ::1], float64[:, ::1])",
      {options})
def down(dots, bars, bar_dots, start, cells, first, second):
    for i in range(len(cells) - 1, -1, -1):
        d = bars[start + i]
        bars[cells[i, 0]] += d * first[i, 0]
        bars[cells[i, 1]] += d * first[i, 1]
    for j in range(dots.shape[0]):
        row, bar = dots[j], bar_dots[j]
        for i in range(len(cells) - 1, -1, -1):
            x, y = cells[i, 0], cells[i, 1]
            d, d_dot = bars[start + i], bar[start + i]
            # tangents that nobody needs have not been computed
            x_dot = row[x] if second[i, 0] != 0.0 or second[i, 2] != 0.0 else 0.0
            y_dot = row[y] if second[i, 1] != 0.0 or second[i, 3] != 0.0 else 0.0
            bar[x] += d_dot * first[i, 0] + d * (second[i, 0] * x_dot + second[i, 1] * y_dot)
            bar[y] += d_dot * first[i, 1] + d * (second[i, 2] * x_dot + second[i, 3] * y_dot)
'''


def _text() -> str:
    return _SOURCE.format(options=write_options())


@functools.cache
def compile_runs() -> ModuleType:
    """The module with `up` and `down`, from the disk cache if it has it."""
    return load_cached("second_order_numbers", _text, (_text(),))


def has_compiled_runs() -> bool:
    """Whether the disk cache has the module."""
    return is_cached("second_order_numbers", (_text(),))


class RunPatience:
    """The seconds for which all passes run in plain Python, in proportion to the `Patience` of recordings."""

    SMALLER = 0.5  # compile time relative to the sweeps
    UP, DOWN = 0.15e-6, 0.5e-6  # seconds of a record for a direction; as much again to convert the tables to lists
    MOST = 1 << 16  # records of a run: lists of more would take too much memory

    def __init__(self) -> None:
        self.spent = 0.0
        self.is_cached: bool | None = None  # None before a look at the disk

    def allows(self, seconds: float, records: int, directions: int) -> bool:
        """Whether plain Python may go on for so many records; it counts them."""
        if compile_runs.cache_info().currsize or records > self.MOST:
            return False
        total = self.spent + seconds * records * (1 + directions)
        if self.is_cached is None and total > PATIENCE.loading:
            self.is_cached = has_compiled_runs()
        limit = self.SMALLER * PATIENCE.compiling if self.is_cached is False else PATIENCE.loading
        if total > limit:
            return False
        self.spent = total
        return True


OF_RUNS = RunPatience()


# ---- in plain Python, to the last bit --------------------------------------------------------------------------------
Table = list[Any]  # rows of an array as lists


def up(dots: np.ndarray, start: int, cells: Table, first: Table) -> None:
    """`up` of the compiled module."""
    for row in dots:
        dot = row.data  # a memoryview, which gives Python's floats
        for z, (x, y), (p, q) in zip(range(start, start + len(cells)), cells, first, strict=True):
            dot[z] = p * dot[x] + q * dot[y]


def down(
    dots: np.ndarray, bars: np.ndarray, bar_dots: np.ndarray, start: int, cells: Table, first: Table, second: Table
) -> None:
    """`down` of the compiled module."""
    bar = bars.data
    steps = [*zip(range(start, start + len(cells)), cells, first, second, strict=True)][::-1]
    for z, (x, y), (p, q), _ in steps:
        d = bar[z]
        bar[x] += d * p
        bar[y] += d * q
    adjoints = [bar[z] for z, *_ in steps]
    for row, bar_row in zip(dots, bar_dots, strict=True):
        dot, bar_dot = row.data, bar_row.data
        for d, (z, (x, y), (p, q), (xx, xy, yx, yy)) in zip(adjoints, steps, strict=True):
            d_dot = bar_dot[z]
            x_dot = dot[x] if xx != 0.0 or yx != 0.0 else 0.0
            y_dot = dot[y] if xy != 0.0 or yy != 0.0 else 0.0
            bar_dot[x] += d_dot * p + d * (xx * x_dot + xy * y_dot)
            bar_dot[y] += d_dot * q + d * (yx * x_dot + yy * y_dot)


def belongs_to_run(c: Any) -> bool:
    """Whether a continuation belongs to a scalar rule on numbers whose second partials are known."""
    if c.__class__ is not ElementwisePullback or len(c.values) > 2 or c.results[0].shape or not c.rule.has_no_data():
        return False
    return all(v.__class__ is float for v in c.values) and _has_second_partials(c.rule, _activity_of(c))


def _activity_of(c: ElementwisePullback) -> str:
    variables = {a for a, _, _ in c.operands}
    return "".join("v" if a in variables else "c" for a in range(len(c.values)))


def _live(rule: ScalarRule, active: str) -> list[int]:
    """The arguments that are variables and have a partial."""
    assert rule.body is not None
    return [a for a, kind in enumerate(active) if kind == "v" and rule.body.literal(a) != 0.0]


@functools.cache
def _has_second_partials(rule: ScalarRule, active: str) -> bool:
    try:
        for a in _live(rule, active):
            derivatives_of_partial(rule, a, active)
    except LookupError:
        return False
    return True


class Numbers(SecondOrderRecord):
    """A run of scalar rules on numbers: rows of cells, of first and of second partials, 0 where there is none.

    Cell 0, whose tangent is 0, replaces an operand that is constant or has a zero partial.
    """

    def __init__(self, records: np.ndarray, start: int, values: np.ndarray, callbacks: Sequence[Any]) -> None:
        m = len(records)
        self.z = slice(start, start + m)
        self.cells = np.zeros((m, 2), np.int64)
        self.first, self.second = np.zeros((m, 2)), np.zeros((m, 4))
        self.kinds: list[tuple[np.ndarray, ScalarRule, str, list[int]]] = []  # rows of one operation
        codes = records[:, 0].astype(np.int64)
        for code in np.unique(codes).tolist():
            rows = np.flatnonzero(codes == code)
            if code < 0:
                self._add_special(rows, [callbacks[x] for x in records[rows, 1].astype(np.int64).tolist()], values)
                continue
            rule, active = OPERATIONS[code]
            fields = [records[rows, 1 + a] for a in range(rule.arity)]
            operands = [values[f.astype(np.int64)] if k == "v" else f for f, k in zip(fields, active, strict=True)]
            self._add(rows, rule, active, fields, operands, values)
        self.operands = [self.cells]
        self.bending = [self.cells[self.second.any(axis=1)]]

    def _add_special(self, rows: np.ndarray, continuations: list[ElementwisePullback], values: np.ndarray) -> None:
        """Add the rows of rules that are not compiled into sweeps."""
        by_rule: dict[tuple[ScalarRule, str], list[int]] = {}
        for at, c in enumerate(continuations):
            by_rule.setdefault((c.rule, _activity_of(c)), []).append(at)
        for (rule, active), places in by_rule.items():
            own = [continuations[at] for at in places]
            cells = np.zeros((rule.arity, len(own)))
            for n, c in enumerate(own):
                for a, cell, _ in c.operands:
                    cells[a, n] = cell
            operands = [np.array([c.values[a] for c in own]) for a in range(rule.arity)]
            self._add(rows[places], rule, active, list(cells), operands, values)

    def _add(
        self, rows: np.ndarray, rule: ScalarRule, active: str, fields: Sequence[np.ndarray],
        operands: Sequence[np.ndarray], values: np.ndarray,
    ) -> None:  # fmt: skip
        """Add the rows of one operation; the cells of its variables are among the fields."""
        require_smooth(rule, operands)
        live = _live(rule, active)
        self.kinds.append((rows, rule, active, live))
        first, second = partials_of(rule, active, live, (values[self.z.start + rows], *operands))
        for a, p, row in zip(live, first, second, strict=True):
            self.cells[rows, a] = fields[a]
            self.first[rows, a] = p
            for b, q in zip(live, row, strict=True):
                self.second[rows, 2 * a + b] = 0.0 if q is None else q

    def up(self, p: Pass) -> None:
        if OF_RUNS.allows(OF_RUNS.UP, len(self.cells), p.count):
            up(p.dots, self.z.start, self.cells.tolist(), self.first.tolist())
        else:
            compile_runs().up(p.dots, self.z.start, self.cells, self.first)

    def down(self, p: Pass) -> None:
        if OF_RUNS.allows(OF_RUNS.DOWN, len(self.cells), p.count):
            tables = (table.tolist() for table in (self.cells, self.first, self.second))
            down(p.dots, p.bars, p.bar_dots, self.z.start, *tables)
        else:
            compile_runs().down(p.dots, p.bars, p.bar_dots, self.z.start, self.cells, self.first, self.second)

    def depend(self, d: Dependencies) -> None:
        d.make_nodes(self.z)
        z, operands = d.nodes[self.z], d.nodes[self.cells]
        for rows, rule, active, live in self.kinds:
            d.depend_by_elements(rule, active, live, z[rows], [operands[rows, a] for a in live])
