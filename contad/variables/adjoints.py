"""The adjoints of a sweep, for a user's continuation."""


import numpy as np

from contad.errors import ForeignVariableError, LostDerivativeError, StaleVariableError
from contad.variables.arguments import fail, operand
from contad.variables.array import Array, is_plain, numbers_in
from contad.variables.open_types import AdjointVector, CellIndex, Owner, Value
from contad.variables.var import Var


class Adjoints:
    """The adjoints during a sweep, as a user's continuation sees them: `adj[x]` reads, `adj.add(x, v)` accumulates."""

    __slots__ = ("cells", "_own", "_stack")

    def __init__(self, stack: Owner, cells: AdjointVector, own: int) -> None:
        self.cells = cells
        self._own = own  # the continuation's own first cell
        self._stack = stack

    def _cell(self, x: Value, what: str) -> CellIndex:
        if not self._stack.sweeping or self._stack.running != self._own:
            raise StaleVariableError(
                f"{what}: adj is valid only while the callback it was given to runs", level=self._stack
            )
        if not isinstance(x, (Var, Array)) or x._owner is not self._stack:
            raise ForeignVariableError(
                f"{what}: expected a variable of the stack being swept, got {x!r}", level=self._stack
            )
        return x._index if isinstance(x, Var) else x.cells_before(self._own, what)  # type: ignore[attr-defined]

    def __getitem__(self, x: Value) -> Value:
        cell = self._cell(x, "adj[x]")
        if isinstance(x, Array):
            none = (cell >= len(self.cells)) | (cell == 0)  # newer than the swept cells, and constants
            found = self.cells[np.where(none, 0, cell)]
            return np.where(none, 0.0, found) if none.any() else found
        adjoint = self.cells[cell] if cell < len(self.cells) else 0.0
        return float(adjoint) if isinstance(adjoint, float) else adjoint

    def add(self, x: Value, v: Value) -> None:
        """x_bar += v; v is a number or an array, from an outer level if gradients are nested."""
        cell = self._cell(x, "adj.add")
        if any(n._owner is self._stack for n in numbers_in(v)):
            fail("adj.add", "v", "be a number", "a variable of the stack being swept; use x.value", TypeError)
        if isinstance(x, Array):
            if not isinstance(v, Array):
                v = np.asarray(v)
                if v.dtype.kind not in "fiubO":
                    fail("adj.add", "v", "be an array of real numbers", f"dtype {v.dtype}", TypeError)
                if v.dtype == object and not numbers_in(v):
                    v = np.array([operand("adj.add", "v", n) for n in v.flat]).reshape(v.shape)
                v = v if v.dtype == object else v.astype(float)
            if v.shape != x.shape:
                fail("adj.add", "v", f"have the shape of x, {x.shape}", v.shape)
        else:
            v = operand("adj.add", "v", v)
        if np.max(cell, initial=0) >= self._own:
            raise LostDerivativeError(
                "adj.add: x is not older than this callback, and the sweep has passed it", level=self._stack
            )
        if isinstance(self.cells, np.ndarray):
            if is_plain(v):
                np.add.at(self.cells, cell, v)
                return
            self.cells = self._stack.numbers_of(self.cells)  # floats cannot hold it; the engine goes on with these
        if isinstance(x, Array):
            self.cells.add(cell, v)  # whose cells may repeat
        else:
            self.cells[cell] = self.cells[cell] + v
