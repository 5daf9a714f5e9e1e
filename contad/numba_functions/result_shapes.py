"""The shape of the array that a Numba function returns, where its source tells."""

from typing import Any

import numpy as np
from numba.core import ir
from numba.core.compiler import run_frontend
from numba.core.errors import NumbaError
from numba.core.ir_utils import find_callname, find_const, get_definition, guard

from contad.variables.open_types import NumbaFunction

_MAKERS = {("empty", "numpy"), ("zeros", "numpy"), ("ones", "numpy"), ("full", "numpy")}


def literal_shape(f: NumbaFunction) -> tuple[int, ...] | None:
    """The shape that every return of f has, made by np.empty(2), np.zeros((2, 3)) or np.array([a, b]); else None."""
    try:
        code = run_frontend(f.py_func)
    except (NumbaError, NotImplementedError):
        return None
    found = {guard(_shape_of, code, s.value) for b in code.blocks.values() for s in b.body if isinstance(s, ir.Return)}
    shape = found.pop() if len(found) == 1 else None
    return shape if shape is not None and all(n > 0 for n in shape) else None


def _shape_of(code: Any, value: Any) -> tuple[int, ...] | None:
    """The shape of a variable that is assigned once."""
    made = get_definition(code, value)
    while isinstance(made, ir.Expr) and made.op == "cast":
        made = get_definition(code, made.value)
    if not isinstance(made, ir.Expr) or made.op != "call" or not made.args:
        return None
    name = find_callname(code, made)
    if name in _MAKERS:
        given = get_definition(code, made.args[0])
        is_tuple = isinstance(given, ir.Expr) and given.op == "build_tuple"
        shape = tuple(find_const(code, n) for n in (given.items if is_tuple else [made.args[0]]))
        return shape if all(isinstance(n, (int, np.integer)) for n in shape) else None
    if name == ("array", "numpy"):
        given = made.args[0]
        listed = get_definition(code, given)
        owner = get_definition(code, given, lhs_only=True)
        is_list = isinstance(listed, ir.Expr) and listed.op in ("build_list", "build_tuple")
        is_unnamed = isinstance(owner, ir.Var) and given.name == owner.name and given.name.startswith("$")
        return (len(listed.items),) if is_list and is_unnamed else None  # what has a name may have grown
    return None
