"""The adjoints of a sweep in the hands of a user's continuation."""

from typing import Any

from contad.arguments import operand
from contad.errors import ForeignVariableError, LostDerivativeError
from contad.number import Number
from contad.var import Var


class Adjoints:
    """The adjoints during a sweep, as a user's continuation sees them: `adj[x]` reads, `adj.add(x, v)` accumulates."""

    __slots__ = ("cells", "_own", "_stack")

    def __init__(self, stack: Any, cells: Any, own: int) -> None:
        self.cells = cells
        self._own = own  # the continuation's own cell
        self._stack = stack

    def _cell(self, x: Any, what: str) -> int:
        if not isinstance(x, Var) or x._owner is not self._stack:
            raise ForeignVariableError(f"{what}: expected a variable of the stack being swept, got {x!r}")
        return x._index

    def __getitem__(self, x: Var) -> Any:
        cell = self._cell(x, "adj[x]")
        adjoint = self.cells[cell] if cell < len(self.cells) else 0.0  # newer than what is being swept
        return float(adjoint) if isinstance(adjoint, float) else adjoint

    def add(self, x: Var, v: Any) -> None:
        """x_bar += v; v is a number, of an outer level when gradients are nested."""
        cell = self._cell(x, "adj.add")
        v = operand("adj.add", "v", v)
        if cell >= self._own:
            raise LostDerivativeError("adj.add: x is not older than this callback, and the sweep has passed it")
        if isinstance(v, Number) and not isinstance(self.cells, list):
            self.cells = self.cells.tolist()  # an array of floats cannot hold it; the engine goes on with it
        self.cells[cell] = self.cells[cell] + v
