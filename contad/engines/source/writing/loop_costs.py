"""What an iteration of a loop costs, about, as source in what is known before the loop."""

import ast
import re

from contad.engines.source.ir.writer import CALLED
from contad.engines.source.writing.live_names import names_read
from contad.engines.source.writing.loop_statements import is_function

UNKNOWN_TRIPS = 8.0  # of a loop whose length differs from iteration to iteration
CALL_COST, DIVISION_COST = 20.0, 4.0  # in additions


def cost_of(body: list[ast.stmt], inside: frozenset[str]) -> str:
    """The additions that statements are worth, if these names are not known before them."""
    return _write_cost(_cost(body, inside))


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


def _cost(body: list[ast.stmt], inside: frozenset[str]) -> dict[str, float]:
    """The cost of statements: of what is done once, and for each product of lengths of loops."""
    total: dict[str, float] = {}

    def add(terms: dict[str, float], factor: float = 1.0, times: str = "") -> None:
        for key, x in terms.items():
            product = " * ".join(filter(None, (times, key)))
            total[product] = total.get(product, 0.0) + factor * x

    for s in body:
        if isinstance(s, (ast.For, ast.While)):
            trips, factor = _trips(s, inside)
            add(_cost(s.body, inside), factor, trips)
        elif isinstance(s, ast.If):
            add({"": _cost_of(s.test)})
            branches = [_cost(s.body, inside), _cost(s.orelse, inside)]
            add(branches[0], 0.5 if s.orelse else 1.0)
            add(branches[1], 0.5)
        else:
            add({"": _cost_of(s)})
    return total


def _trips(s: ast.For | ast.While, inside: frozenset[str]) -> tuple[str, float]:
    """How often a loop runs: a text, and a factor."""
    limits = s.iter if isinstance(s, ast.For) else None
    while isinstance(limits, ast.Call) and ast.unparse(limits.func) == "prange":
        limits = limits.args[1]
    if not isinstance(limits, ast.Call) or names_read(limits) & inside:
        return "", UNKNOWN_TRIPS
    start, stop = (
        ["0", *map(ast.unparse, limits.args)][:2] if len(limits.args) == 1 else map(ast.unparse, limits.args[:2])
    )
    down = len(limits.args) == 3 and ast.unparse(limits.args[2]) == "-1"
    span = difference(start, stop) if down else difference(stop, start)
    return ("", float(int(stop))) if re.fullmatch(r"\d+", span) else (f"max({span}, 0)", 1.0)


def _cost_of(s: ast.AST) -> float:
    """The cost of an expression, in additions."""
    total = 0.0
    for node in ast.walk(s):
        if isinstance(node, ast.Call):
            total += CALL_COST if ast.unparse(node.func).startswith(("math.", "value_", *CALLED)) else 1.0
        elif isinstance(node, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
            total += DIVISION_COST
        elif isinstance(node, (ast.BinOp, ast.Subscript, ast.Compare, ast.AugAssign)):
            total += 1.0
    return total


def _write_cost(terms: dict[str, float]) -> str:
    parts = [f"{x:.1f}" if not key else f"{x:.1f} * {key}" for key, x in terms.items() if x]
    return " + ".join(parts) or "1.0"
