"""The stack as a table: the best teacher of what a recording holds."""


import numpy as np

from contad.variables.number import Number, peek
from contad.variables.open_types import Value
from contad.variables.stack import ChainStack, stack

_HEADER = ("index", "operation", "parents", "partials", "value")


def show_stack(of: ChainStack | None = None) -> str:
    """The records of a chain stack (this thread's by default) as text: index, operation, parents, partials, value.

    A parent is a cell's index; a constant operand is shown as its value in brackets.

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
    rows = [_HEADER]
    for row in (stack() if of is None else of).rows():
        parents = " ".join(str(p) if isinstance(p, int) else f"[{_text(p)}]" for p in row.parents)
        rows.append((str(row.index), row.operation, parents, " ".join(map(_text, row.partials)), _text(row.value)))
    widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADER))]
    return "\n".join(
        "  ".join(
            cell.rjust(w) if k == 0 else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _text(x: Value) -> str:
    """Six digits; a number of an outer level is marked by its kind; of long arrays the beginning and the end."""
    if isinstance(x, np.ndarray):
        return np.array2string(x, precision=6, threshold=6, edgeitems=2).replace("\n", "")
    return f"{peek(x):.6g}" + (f":{x.kind}" if isinstance(x, Number) else "")
