"""Forward over reverse on one recording: tangents of its cells up, then adjoints and their tangents down.

The function is recorded once, on plain numbers; then each block of directions costs two passes over the records, with
NumPy on whole blocks. Duals inside variables are right for everything, and `tests/test_second_order.py` holds this way
against them; recordings of anything but core operations and array rules go there, and so do results that are not
finite, because nothing is masked here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines.array_sweep import strides_of
from contad.engines.cells import Cells
from contad.engines.forward import forward_level
from contad.engines.second_order_steps import (
    Gather,
    Linear,
    Operation,
    Pass,
    Step,
    Unsuited,
    Variable,
    step_of,
)
from contad.engines.sweep import (
    GATHER,
    INPUT,
    LINEAR,
    OPERATIONS,
    PULLBACK,
    X_NUMBER,
    Y_NUMBER,
    decoded,
)
from contad.stack import THREAD

ROOM = 4_000_000  # numbers: the tangents of all cells for one block of directions
FEW = 64  # scalar records: more of them take less time one by one, by generated methods, than by NumPy


class SecondOrder:
    """A recording of a number, and its Hessian with respect to the arguments' cells, as a map on blocks of directions.

    Raises Unsuited, here or when it is called, where the recording has to be differentiated by duals.
    """

    def __init__(self, stack: Any, seeds: Sequence[tuple[Any, Any]], inputs: np.ndarray) -> None:
        stack.flush()
        self.stack = stack
        self.top = stack.top
        self.seeds = seeds
        self.inputs = inputs
        self.free = int(inputs.max(initial=0)) + 1  # the arguments are recorded first
        with np.errstate(all="ignore"):
            self.steps = self._steps()
        self.upward = self._needed()

    @property
    def most(self) -> int:
        """How many directions may go in one block."""
        return max(1, ROOM // self.top)

    def __call__(self, directions: np.ndarray) -> np.ndarray:
        """The products of the Hessian with the rows of `directions`, as rows."""
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
        if not np.isfinite(rows).all():
            raise Unsuited
        return rows

    def _needed(self) -> list[Step]:
        """The steps whose tangents somebody reads: often those of the last operations nobody does."""
        read = np.zeros(self.top, np.bool_)
        for step in self.steps:
            for cells in step.bending:
                read[cells] = True
        needed = []
        for step in reversed(self.steps):
            if read[step.z].any():
                needed.append(step)
                for cells in step.operands:
                    read[cells] = True
        return needed[::-1]

    # ---- records -----------------------------------------------------------------------------------------------------
    def _steps(self) -> list[Step]:
        stack = self.stack
        if stack.is_mixed():
            raise Unsuited
        steps: list[Step] = []
        scalars = 0
        k = 1
        for head, x, y in stack.buffers.records[1 : stack.rows_packed].tolist():
            code, form, n = decoded(head) if head < 0 else (int(head), 0, 1)
            scalars += code != INPUT and n == 1
            if scalars > FEW:
                raise Unsuited
            if code == PULLBACK:
                steps.append(step_of(stack.callbacks[int(x)]))
            elif code == GATHER:
                steps.append(Gather(stack.buffers.shapes[int(x) : int(x) + n].copy(), slice(k, k + n)))
            elif code == LINEAR and head < 0:
                steps.append(self._linear(strides_of(stack.buffers, form, k, n, x, y)))
            elif code in OPERATIONS:
                steps.append(self._operation(code, form, k, n, x, y, head < 0))
            elif code == INPUT:
                if k >= self.free:
                    steps.append(Variable(slice(k, k + n)))
            else:  # a callback
                raise Unsuited
            k += n
        return steps

    def _linear(self, shape: Sequence[int]) -> Step:
        """A sum or a mean."""
        z0, outer, inner, z_outer, z_inner, x0, x_outer, x_inner, y0, *_ = shape
        coefficient = float(self.stack.buffers.constants[y0])
        return Linear(Cells(x0, outer, inner, x_outer, x_inner), Cells(z0, outer, inner, z_outer, z_inner), coefficient)

    def _operation(self, code: int, form: int, k: int, n: int, x: float, y: float, is_array: bool) -> Step:
        """A core rule on arrays, element by element, or on numbers; its result repeats where products are summed."""
        buffers = self.stack.buffers
        rule, active = OPERATIONS[code]
        numbers: dict[int, float] = {}  # the constants that stand in the record
        if is_array:
            shape = strides_of(buffers, form, k, n, x, y)
            numbers = {X_NUMBER: {0: x}, Y_NUMBER: {1: y}}.get(form, {})
        else:
            numbers = {a: (x, y)[a] for a, kind in enumerate(active) if kind == "c"}
            shape = [k, 1, 1, 0, 0, 0 if 0 in numbers else int(x), 0, 0, 0 if 1 in numbers else int(y), 0, 0]
        z0, outer, inner, *rest = shape
        z = Cells(z0, outer, inner, *rest[:2])
        places = [Cells(rest[2 + 3 * a], outer, inner, *rest[3 + 3 * a : 5 + 3 * a]) for a in range(rule.arity)]
        values = [
            numbers[a] if a in numbers else places[a].of(buffers.values if kind == "v" else buffers.constants)[0]
            for a, kind in enumerate(active)
        ]
        return Operation(rule, active, places, (z.of(buffers.values)[0], *values), z)
