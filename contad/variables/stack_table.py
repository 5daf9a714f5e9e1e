"""The stack as a table, which shows what a recording holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.variables.array import Array
from contad.variables.open_types import Value
from contad.variables.stack import ChainStack, Footprint, Row, stack

_HEADER = ("index", "operation", "parents", "partials", "value")


def show_stack(of: ChainStack | None = None) -> "StackTable":
    """The records of a chain stack (this thread's by default) as text: index, operation, parents, partials, value.

    A parent is the index of a cell; a constant operand appears as its value in brackets. In a notebook the table also
    has the adjoints of the last sweep and the memory of each record, and shows a small stack as a graph.

    >>> import contad
    >>> with contad.nested():
    ...     x = contad.var(3.0)
    ...     z = x * x + 1.0
    ...     print(show_stack())
    index  operation  parents  partials  value
        1  input                         3
        2  multiply   1 1      3 3       9
        3  add        2 [1]    1         10
    """
    if not (of is None or isinstance(of, ChainStack)):
        raise TypeError(f"show_stack: of must be a chain stack, as contad.stack(), or None, got {type(of).__name__}")
    s = stack() if of is None else of
    return StackTable.of(s)


class StackTable(str):
    """The table of a stack at the moment of the call: text, with a form for notebooks.

    `rows` are the records, `footprints` the memory of each, and `shared_bytes` the memory beside them. `adjoints` are
    those of the last sweep, by row; there are none before the first sweep.
    """

    rows: list[Row]
    footprints: list[Footprint]
    adjoints: list[Value]
    shared_bytes: int
    engine: str

    @classmethod
    def of(cls, s: ChainStack) -> "StackTable":
        """The table of a stack."""
        rows = list(s.rows())
        table = cls(_text_of(rows))
        table.rows, table.footprints = rows, list(s.footprints())
        table.shared_bytes, table.engine = s.shared_bytes(), s.engine
        table.adjoints = [_adjoint(s, *pair) for pair in zip(rows, table.footprints, strict=True)] if _swept(s) else []
        return table

    def __repr__(self) -> str:
        return str(self)

    @property
    def bytes(self) -> int:
        """The memory of all records, and of the data beside them."""
        return sum(footprint.bytes for footprint in self.footprints) + self.shared_bytes

    def _repr_html_(self) -> str:
        from contad.variables.stack_display import write_stack

        return write_stack(self)


def _swept(s: ChainStack) -> bool:
    return len(s.adjoints) > 0


def _text_of(found: Sequence[Row]) -> str:
    from contad.variables.stack_display import show, show_parents

    cells = (
        (str(row.index), row.operation, show_parents(row), " ".join(map(show, row.partials)), show(row.value))
        for row in found
    )
    rows = [_HEADER, *cells]
    widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADER))]
    return "\n".join(
        "  ".join(
            cell.rjust(w) if k == 0 else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _adjoint(s: ChainStack, row: Row, footprint: Footprint) -> Value:
    """The adjoint of a record's result after the last sweep: a number, or an array of the shape of the value."""
    if not isinstance(row.value, (np.ndarray, Array)):
        return s.adjoint_of(row.index)
    found: Any = s.adjoints[row.index : row.index + footprint.cells]
    return found.copy() if len(found) == footprint.cells else np.zeros(footprint.cells)
