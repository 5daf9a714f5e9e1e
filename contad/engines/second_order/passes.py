"""Forward over reverse on one recording: tangents of its cells up, then adjoints and their tangents down.

The function is recorded once, on plain numbers; then each block of directions costs two passes over the records, with
NumPy on whole blocks and compiled loops on runs of numbers. Duals inside variables are right for everything, and
`tests/engines/second_order/` holds this way against them; recordings with somebody's own continuations go there, and so
do results that are not finite, because nothing is masked here.
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
    Gather,
    Linear,
    OperationRecord,
    Pass,
    SecondOrderRecord,
    Unsuited,
    VariableRecord,
    step_of,
)
from contad.engines.stream.operand_cells import Cells
from contad.engines.stream.plain_arrays import strides_of
from contad.engines.stream.record_head import (
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

ROOM = 4_000_000  # numbers: the tangents of all cells for one block of directions


class SecondOrder:
    """A recording of a number, and its Hessian with respect to the arguments' cells, as a map on blocks of directions.

    Raises Unsuited, here or when it is called, where the recording has to be differentiated by duals.
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
            self.steps = self._steps()

    @functools.cached_property
    def upward(self) -> list[SecondOrderRecord]:
        """The steps whose tangents the way down needs."""
        with np.errstate(all="ignore"):
            return self._find_needed([cells for step in self.steps for cells in step.bending])

    @property
    def most(self) -> int:
        """How many directions may go in one block."""
        return max(1, ROOM // self.top)

    def __call__(self, directions: np.ndarray) -> np.ndarray:
        """The products of the Hessian with the rows of `directions`, as rows."""
        self.stack.require_held()
        with forward_level(len(directions)) as level, np.errstate(all="ignore"):
            room = THREAD.pools.pop("second order", [])
            p = Pass(len(directions), self.top, self.free, level, room)
            p.dots[:, self.inputs] = directions
            for step in self.upward:
                step.up(p)
            for cell, z_bar in self.seeds:
                p.bars[cell] += z_bar
            for step in reversed(self.steps):
                step.down(p)
        rows = p.bar_dots[:, self.inputs]
        THREAD.pools["second order"] = room
        return _finite(rows)

    def tangents(self, directions: np.ndarray, outputs: np.ndarray, upward: Sequence[SecondOrderRecord]) -> np.ndarray:
        """The tangents of cells along the rows of `directions`, as rows; `upward` are the steps that they need."""
        self.stack.require_held()
        p = self.first
        if p is None or p.count != len(directions):
            p = self.first = Pass(len(directions), self.top, self.free, None, [])  # going up needs no level
        p.dots[:, self.inputs] = directions
        with np.errstate(all="ignore"):
            for step in upward:
                step.up(p)
        return _finite(p.dots[:, outputs])

    def adjoints(self, cotangents: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """The adjoints of the inputs for each row of cotangents of these cells, as rows.

        They go down as the tangents of adjoints that are zero, with all of them in each operation.
        """
        self.stack.require_held()
        with forward_level(len(cotangents)) as level, np.errstate(all="ignore"):
            p = Pass(len(cotangents), self.top, self.free, level, [])
            p.dots[:] = 0.0
            np.add.at(p.bar_dots.T, outputs, cotangents.T)
            for step in reversed(self.steps):
                step.down(p)
        return _finite(p.bar_dots[:, self.inputs])

    @functools.cached_property
    def dependencies(self) -> Dependencies:
        """What depends on what."""
        return Dependencies(self.steps, self.inputs, self.top)

    def upward_to(self, outputs: np.ndarray) -> list[SecondOrderRecord]:
        """The steps that the tangents of these cells need."""
        return self._find_needed([outputs])

    def _find_needed(self, cells_read: Sequence[slice | np.ndarray]) -> list[SecondOrderRecord]:
        """The steps whose tangents somebody reads: often those of the last operations nobody does."""
        read = np.zeros(self.top, np.bool_)
        for cells in cells_read:
            read[cells] = True
        needed = []
        for step in reversed(self.steps):
            if read[step.z].any():
                needed.append(step)
                for cells in step.operands:
                    read[cells] = True
        return needed[::-1]

    # ---- records -----------------------------------------------------------------------------------------------------
    def _steps(self) -> list[SecondOrderRecord]:
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
        steps: list[SecondOrderRecord] = []
        for begin, end in itertools.pairwise([0, *changes.tolist(), len(numbers)]):
            if begin < end and numbers[begin]:
                steps.append(Numbers(records[begin:end], int(starts[begin]), b.values, stack.callbacks))
                continue
            for record, k, n in zip(records[begin:end].tolist(), starts[begin:end], own[begin:end], strict=True):
                if k >= self.free:  # below are the arguments
                    steps.append(self._of_array(record, int(k), int(n)))
        return steps

    def _of_array(self, record: Sequence[float], k: int, n: int) -> SecondOrderRecord:
        """The step of one record of an array, whose n cells begin with k."""
        head, x, y = record
        code, form, _ = decode(head)
        buffers = self.stack.buffers
        if code == PULLBACK:
            return step_of(self.stack.callbacks[int(x)])
        if code == GATHER:
            return Gather(buffers.shapes[int(x) : int(x) + n].copy(), slice(k, k + n))
        if code == INPUT:
            return VariableRecord(slice(k, k + n))
        if code == CALLBACK:  # somebody's own
            raise Unsuited
        z0, outer, inner, *rest = strides_of(buffers.shapes, form, k, n, x, y)
        z = Cells(z0, outer, inner, *rest[:2])
        places = [Cells(rest[at], outer, inner, *rest[at + 1 : at + 3]) for at in (2, 5)]
        if code == LINEAR:  # a sum or a mean
            return Linear(places[0], z, float(buffers.constants[places[1].start]))
        rule, active = OPERATIONS[code]
        numbers = {X_NUMBER: {0: x}, Y_NUMBER: {1: y}}.get(form, {})  # constants that stand in the record
        values = [
            numbers[a] if a in numbers else places[a].of(buffers.values if kind == "v" else buffers.constants)[0]
            for a, kind in enumerate(active)
        ]
        return OperationRecord(rule, active, places, (z.of(buffers.values)[0], *values), z)


def _finite(rows: np.ndarray) -> np.ndarray:
    if not np.isfinite(rows).all():
        raise Unsuited
    return rows
