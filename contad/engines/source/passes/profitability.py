"""Profitability: what an iteration of a loop costs, about, by the operations in it and the lengths of its loops.

Whether a transformation pays is asked apart from whether it may be done (Bacon, Graham & Sharp 1994).
"""

import ast

from contad.engines.source.ir.syntax import called, difference, expression, integer_of, key, number, product, total
from contad.engines.source.ir.writer import CALLED
from contad.engines.source.passes.dependence import is_function
from contad.engines.source.writing.live_names import names_read, nodes_in

UNKNOWN_TRIPS = 8.0  # of a loop whose length differs from iteration to iteration
CALL_COST, DIVISION_COST = 20.0, 4.0  # in additions

Terms = dict[object, tuple[float, tuple[ast.expr, ...]]]  # a factor, and lengths of loops that it is multiplied by


def cost_of(body: list[ast.stmt], inside: frozenset[str]) -> ast.expr:
    """The additions that statements are worth, by what is known before them: not the names `inside`."""
    terms = _cost(body, inside).values()
    return total([product([number(float(f"{x:.1f}")), *lengths]) for x, lengths in terms if x] or [number(1.0)])


def is_outgrown(s: ast.stmt) -> bool:
    """Whether a loop over 0, ..., n - 1 has functions beside loops in it that are about as long, and have none."""
    over = s.iter if isinstance(s, ast.For) else None
    if not isinstance(over, ast.Call) or called(over) != "range" or len(over.args) != 1:
        return False
    inside = nodes_in(s)
    if not any(map(is_function, inside)):
        return False
    inner = [x for x in inside if isinstance(x, ast.For) and x is not s]
    if any(is_function(x) for loop in inner for x in nodes_in(loop)):
        return False
    return any(names_read(over.args[0]) & names_read(loop.iter) for loop in inner)


def _cost(body: list[ast.stmt], inside: frozenset[str]) -> Terms:
    """The cost of statements: of what is done once, and for each product of lengths of loops."""
    found: Terms = {}

    def add(terms: Terms, factor: float = 1.0, times: tuple[ast.expr, ...] = ()) -> None:
        for x, inner in terms.values():
            lengths = *times, *inner
            known = key([*lengths])
            found[known] = found.get(known, (0.0, ()))[0] + factor * x, lengths

    for s in body:
        if isinstance(s, (ast.For, ast.While)):
            add(_cost(s.body, inside), *_trips(s, inside))
        elif isinstance(s, ast.If):
            add(_once(s.test))
            add(_cost(s.body, inside), 0.5 if s.orelse else 1.0)
            add(_cost(s.orelse, inside), 0.5)
        else:
            add(_once(s))
    return found


def _trips(s: ast.For | ast.While, inside: frozenset[str]) -> tuple[float, tuple[ast.expr, ...]]:
    """How often a loop runs: a factor, and the length that it is multiplied by, if that is known before."""
    limits = s.iter if isinstance(s, ast.For) else None
    while isinstance(limits, ast.Call) and called(limits) == "prange":
        limits = limits.args[1]
    if not isinstance(limits, ast.Call) or names_read(limits) & inside:
        return UNKNOWN_TRIPS, ()
    start, stop = [number(0), *limits.args][:2] if len(limits.args) == 1 else limits.args[:2]
    down = len(limits.args) == 3 and integer_of(limits.args[2]) == -1
    span = difference(start, stop) if down else difference(stop, start)
    trips = integer_of(span)
    return (1.0, (expression("max(span, 0)", span=span),)) if trips is None else (float(max(trips, 0)), ())


def _once(node: ast.AST) -> Terms:
    """The cost of an expression or statement that is run once."""
    cost = 0.0
    for x in ast.walk(node):
        if isinstance(x, ast.Call):
            cost += CALL_COST if called(x).startswith(("math.", "value_", *CALLED)) else 1.0
        elif isinstance(x, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
            cost += DIVISION_COST
        elif isinstance(x, (ast.BinOp, ast.Subscript, ast.Compare, ast.AugAssign)):
            cost += 1.0
    return {(): (cost, ())}
