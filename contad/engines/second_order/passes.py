"""Forward over reverse on one recording: tangents of its cells up, then adjoints and their tangents down.

The function is recorded once, on plain numbers; then each chunk of directions costs two passes over the records, with
NumPy on whole chunks and compiled loops on runs of scalar records. Duals inside variables handle every case, and
`tests/engines/second_order/` compares this method with them. Recordings with users' continuations need duals, and so do
results that are not finite, because these passes mask nothing.
"""

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines.forward import forward_level
from contad.engines.second_order.dependencies import Dependencies
from contad.engines.second_order.number_runs import Numbers, belongs_to_run
from contad.engines.second_order.second_order_records import (
    Cells,
    Gather,
    Linear,
    OperationRecord,
    Pass,
    SecondOrderRecord,
    Unsuited,
    VariableRecord,
    record_of,
)
from contad.engines.stream.plain_arrays import strides_of
from contad.engines.stream.storage import (
    CALLBACK,
    GATHER,
    INPUT,
    LINEAR,
    PULLBACK,
    VARIANTS,
    X_NUMBER,
    Y_NUMBER,
    decode,
    head_of,
    own_cells,
)
from contad.engines.stream.sweep import OPERATIONS
from contad.variables.open_types import CellIndex, Value
from contad.variables.stack import THREAD

ROOM = 4_000_000  # numbers: the tangents of all cells for one chunk of directions


class SecondOrder:
    """A recording of a number, and its Hessian with respect to the arguments' cells, as a map on chunks of directions.

    The constructor or a call raises Unsuited if only duals can differentiate the recording.
    """

    def __init__(self, stack: Any, seeds: Sequence[tuple[CellIndex, Value]], inputs: np.ndarray) -> None:
        stack.flush()
        self.stack = stack
        self.top = stack.top
        self.seeds = seeds
        self.inputs = inputs
        self.first: Pass | None = None  # of `tangents`
        self.free = int(inputs.max(initial=0)) + 1  # the arguments are recorded first
        with np.errstate(all="ignore"):
            self.records = self._find_records()

    @functools.cached_property
    def upward(self) -> list[SecondOrderRecord]:
        """The records whose tangents the downward pass needs."""
        with np.errstate(all="ignore"):
            return self._find_needed([cells for record in self.records for cells in record.bending])

    @property
    def most(self) -> int:
        """How many directions may form one chunk."""
        return max(1, ROOM // self.top)

    def __call__(self, directions: np.ndarray) -> np.ndarray:
        """The products of the Hessian with the rows of `directions`, as rows."""
        self.stack.require_held()
        with forward_level(len(directions)) as level, np.errstate(all="ignore"):
            room = THREAD.pools.pop("second order", [])
            p = Pass(len(directions), self.top, self.free, level, room)
            p.dots[:, self.inputs] = directions
            for record in self.upward:
                record.up(p)
            for cell, z_bar in self.seeds:
                p.bars[cell] += z_bar
            for record in reversed(self.records):
                record.down(p)
        rows = p.bar_dots[:, self.inputs]
        THREAD.pools["second order"] = room
        return _finite(rows)

    def tangents(self, directions: np.ndarray, outputs: np.ndarray, upward: Sequence[SecondOrderRecord]) -> np.ndarray:
        """The tangents of cells along the rows of `directions`, as rows; `upward` are the records that they need."""
        self.stack.require_held()
        p = self.first
        if p is None or p.count != len(directions):
            p = self.first = Pass(len(directions), self.top, self.free, None, [])  # the upward pass needs no level
        p.dots[:, self.inputs] = directions
        with np.errstate(all="ignore"):
            for record in upward:
                record.up(p)
        return _finite(p.dots[:, outputs])

    def adjoints(self, cotangents: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """The adjoints of the inputs for each row of cotangents of these cells, as rows.

        The downward pass computes them as tangents of zero adjoints, for all rows in each operation.
        """
        self.stack.require_held()
        with forward_level(len(cotangents)) as level, np.errstate(all="ignore"):
            p = Pass(len(cotangents), self.top, self.free, level, [])
            p.dots[:] = 0.0
            np.add.at(p.bar_dots.T, outputs, cotangents.T)
            for record in reversed(self.records):
                record.down(p)
        return _finite(p.bar_dots[:, self.inputs])

    @functools.cached_property
    def dependencies(self) -> Dependencies:
        """The dependences of the recording."""
        return Dependencies(self.records, self.inputs, self.top)

    def upward_to(self, outputs: np.ndarray) -> list[SecondOrderRecord]:
        """The records that the tangents of these cells need."""
        return self._find_needed([outputs])

    def _find_needed(self, cells_read: Sequence[slice | np.ndarray]) -> list[SecondOrderRecord]:
        """The records whose tangents somebody reads: often nobody reads those of the last operations."""
        read = np.zeros(self.top, np.bool_)
        for cells in cells_read:
            read[cells] = True
        needed = []
        for record in reversed(self.records):
            if read[record.z].any():
                needed.append(record)
                for cells in record.operands:
                    read[cells] = True
        return needed[::-1]

    # ---- records -----------------------------------------------------------------------------------------------------
    def _find_records(self) -> list[SecondOrderRecord]:
        stack = self.stack
        if stack.is_mixed:
            raise Unsuited
        b = stack.buffers
        records = b.records[1 : stack.rows_packed]
        heads = records[:, 0].astype(np.int64)
        own = own_cells(heads)
        starts = 1 + np.cumsum(own) - own
        numbers = heads >= len(VARIANTS)  # operations on numbers
        for row in np.flatnonzero(heads == head_of(PULLBACK, 1)).tolist():
            numbers[row] = belongs_to_run(stack.callbacks[int(records[row, 1])])
        changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        found: list[SecondOrderRecord] = []
        for begin, end in itertools.pairwise([0, *changes.tolist(), len(numbers)]):
            if begin < end and numbers[begin]:
                found.append(Numbers(records[begin:end], int(starts[begin]), b.values, stack.callbacks))
                continue
            for record, k, n in zip(records[begin:end].tolist(), starts[begin:end], own[begin:end], strict=True):
                if k >= self.free:  # the arguments are below it
                    found.append(self._of_array(record, int(k), int(n)))
        return found

    def _of_array(self, record: Sequence[float], k: int, n: int) -> SecondOrderRecord:
        """The second-order record of one array record, whose n cells begin with k."""
        head, x, y = record
        code, form, _ = decode(head)
        buffers = self.stack.buffers
        if code == PULLBACK:
            return record_of(self.stack.callbacks[int(x)])
        if code == GATHER:
            return Gather(buffers.shapes[int(x) : int(x) + n].copy(), slice(k, k + n))
        if code == INPUT:
            return VariableRecord(slice(k, k + n))
        if code == CALLBACK:  # a user's continuation
            raise Unsuited
        z0, outer, inner, *rest = strides_of(buffers.shapes, form, k, n, x, y)
        z = Cells(z0, outer, inner, *rest[:2])
        places = [Cells(rest[at], outer, inner, *rest[at + 1 : at + 3]) for at in (2, 5)]
        if code == LINEAR:  # a sum or a mean
            return Linear(places[0], z, float(buffers.constants[places[1].start]))
        rule, active = OPERATIONS[code]
        numbers = {X_NUMBER: {0: x}, Y_NUMBER: {1: y}}.get(form, {})  # constants in the record itself
        values = [
            numbers[a] if a in numbers else places[a].of(buffers.values if kind == "v" else buffers.constants)[0]
            for a, kind in enumerate(active)
        ]
        return OperationRecord(rule, active, places, (z.of(buffers.values)[0], *values), z)


def _finite(rows: np.ndarray) -> np.ndarray:
    if not np.isfinite(rows).all():
        raise Unsuited
    return rows
