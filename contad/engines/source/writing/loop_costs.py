"""Which loops have others beside them that are about as long."""

import ast

from contad.engines.source.passes.liveness import names_read
from contad.engines.source.writing.loop_statements import is_function


def is_outgrown(s: ast.stmt) -> bool:
    """Whether a loop over 0, ..., n - 1 has functions beside loops in it that are about as long, and have none."""
    over = s.iter if isinstance(s, ast.For) else None
    if not isinstance(s, ast.For) or not isinstance(over, ast.Call) or ast.unparse(over.func) != "range":
        return False
    if len(over.args) != 1 or not any(map(is_function, ast.walk(s))):
        return False
    inner = [x for x in ast.walk(s) if isinstance(x, ast.For) and x is not s]
    if any(is_function(x) for loop in inner for x in ast.walk(loop)):
        return False
    return any(names_read(over.args[0]) & names_read(loop.iter) for loop in inner)


def difference(x: str, y: str) -> str:
    """x - y."""
    return x if y == "0" else f"({x}) - ({y})"
