"""Profitability: estimates the cost of statements in additions, as an expression in values known before them.

    for k in range(n):
        s += x[k] / y[k]           ->      8.0 * max(n, 0)

Profitability and legality of a transformation are separate questions (Bacon, Graham & Sharp 1994, section 4).
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from contad.engines.source.ir.runtime_functions import CALLEES
from contad.engines.source.ir.syntax import expression, number, product, total
from contad.engines.source.ir.tree_queries import called_name, integer_of, key, nodes_in
from contad.engines.source.passes.dependence import bounds_of
from contad.engines.source.passes.liveness import names_read

UNKNOWN_TRIPS = 8.0  # the assumed trip count of a loop whose length varies between iterations
CALL_COST, DIVISION_COST = 20.0, 4.0  # in additions


class _Term(NamedTuple):
    """A number of additions, and the lengths of loops by which it is multiplied."""

    additions: float
    trips: tuple[ast.expr, ...] = ()


def cost_of(body: list[ast.stmt], inside: frozenset[str]) -> ast.expr:
    """The cost of statements in additions; the names in `inside` are not known before them."""
    sums: dict[Any, _Term] = {}
    for term in _list_terms(body, inside):
        which = key(list(term.trips))
        before = sums[which].additions if which in sums else 0.0
        sums[which] = _Term(before + term.additions, term.trips)
    terms = [product([number(round(x.additions, 1)), *x.trips]) for x in sums.values() if x.additions]
    return total(terms) if terms else number(1.0)


def _list_terms(body: list[ast.stmt], inside: frozenset[str]) -> Iterator[_Term]:
    """The costs of statements, in order."""
    for s in body:
        if isinstance(s, (ast.For, ast.While)):
            factor, trips = _count_trips(s, inside)
            for x in _list_terms(s.body, inside):
                yield _Term(factor * x.additions, (*trips, *x.trips))
        elif isinstance(s, ast.If):
            yield _Term(_cost_of(s.test))
            for branch in (s.body, s.orelse):
                share = 0.5 if s.orelse else 1.0
                yield from (_Term(share * x.additions, x.trips) for x in _list_terms(branch, inside))
        else:
            yield _Term(_cost_of(s))


def _count_trips(s: ast.For | ast.While, inside: frozenset[str]) -> tuple[float, tuple[ast.expr, ...]]:
    """The trip count of a loop: a number, and the lengths by which it is multiplied."""
    bounds = bounds_of(s)
    if bounds is None or (names_read(bounds.start) | names_read(bounds.stop)) & inside:
        return UNKNOWN_TRIPS, ()
    span = bounds.span
    if (count := integer_of(span)) is not None:
        return float(count), ()
    return 1.0, (expression("max(span, 0)", span=span),)


def _cost_of(s: ast.AST) -> float:
    """The cost of an expression, in additions."""
    found = 0.0
    for node in nodes_in(s):
        if isinstance(getattr(node, "op", None), (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
            found += DIVISION_COST
        if isinstance(node, ast.Call):
            found += CALL_COST if called_name(node).startswith(("math.", "value_", *CALLEES)) else 1.0
        elif isinstance(node, (ast.BinOp, ast.Subscript, ast.Compare, ast.AugAssign)):
            found += 1.0
    return found
