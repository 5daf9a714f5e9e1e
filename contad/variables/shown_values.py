"""How the values of records are written in tables and pictures."""

import numpy as np

from contad.variables.array import Array
from contad.variables.number import Number, peek
from contad.variables.open_types import Value
from contad.variables.stack import Row


def show_parents(row: Row) -> str:
    """The parents of a record: cells, and constants in brackets."""
    return " ".join(str(p) if isinstance(p, int) else f"[{show(p)}]" for p in row.parents)


def show(x: Value) -> str:
    """Six digits; the kind marks a number of an outer level; long arrays show the beginning and the end."""
    if isinstance(x, Array):
        return f"{show(peek(x))}:{x.kind}"
    if isinstance(x, np.ndarray):
        return np.array2string(x, precision=6, threshold=6, edgeitems=2).replace("\n", "")
    return f"{peek(x):.6g}" + (f":{x.kind}" if isinstance(x, Number) else "")
