"""Mutate every rule in turn, and count how many mutants `expect_ad` kills at the rule's points.

    python -m tests.mutation [--sample N] [--order 1|2] [--rule NAME]

A mutant of a rule has one partial negated, multiplied by 1.001, dropped or evaluated on primals (detached, so that outer
levels of differentiation lose it), or two partials swapped, in the body that every engine reads; or one engine assigns
where it should accumulate. Mutants that are the same formula cannot be killed: they are printed by name, and
`tests/test_mutation.py` fixes their list. The sweep of `records` runs as plain Python here, from its generated source.
"""

import argparse
import ast
import collections
import contextlib
import inspect
import itertools
import random
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from contad.engines import closures, records, sweep
from contad.number import primal
from contad.rule import ScalarRule, rules
from contad.testing import expect_ad
from tests.planted import compiled

ZERO, EQUAL, CONSTANT = "a partial that is zero", "equal partials", "a partial that is constant"


class Mutant(NamedTuple):
    """One wrong version of a rule or of an engine's treatment of it."""

    rule: ScalarRule
    kind: str
    place: str
    planted: Callable[[], Any]  # a context in which the library is wrong
    same: str | None = None  # why it is the same formula, if it is

    @property
    def name(self) -> str:
        return f"{self.rule.name}: {self.kind} {self.place}"


def mutants(rule: ScalarRule, order: int = 2) -> list[Mutant]:
    """Every mutant of a rule; detached ones only where second derivatives are checked."""
    made = []
    returned = rule.body.returned
    names = rule.argument_names
    for k, p in enumerate(returned):
        zero = ZERO if rule.body.literal(k) == 0.0 else None
        for kind, changed in (
            ("sign of", ast.UnaryOp(ast.USub(), p)),
            ("1.001 times", ast.BinOp(ast.Constant(1.001), ast.Mult(), p)),
            ("dropped", ast.Constant(0.0)),
        ):
            made.append(Mutant(rule, kind, names[k], _body(rule, [*returned[:k], changed, *returned[k + 1 :]]), zero))
        if order > 1:
            same = zero or (CONSTANT if _is_constant(rule, p) else None)
            made.append(Mutant(rule, "detached", names[k], _detached(rule, k), same))
    for i, k in itertools.combinations(range(rule.arity), 2):
        swapped = list(returned)
        swapped[i], swapped[k] = returned[k], returned[i]
        same = EQUAL if ast.dump(returned[i]) == ast.dump(returned[k]) else None
        made.append(Mutant(rule, "swapped", f"{names[i]} and {names[k]}", _body(rule, swapped), same))
    return made + [Mutant(rule, "= for +=", place, planted) for place, planted in _assignments(rule)]


# ---- mutants of the body ---------------------------------------------------------------------------------------------
def _body(rule: ScalarRule, returned: list[ast.expr]) -> Callable[[], Any]:
    """The body with other partials, as source: every engine slices, evaluates or inlines it as if it were written so."""

    @contextlib.contextmanager
    def planted():
        body = rule.body
        with _attributes(body, _parsed=(body.assignments, returned), _partials=[None] * rule.arity), _implemented(rule):
            with compiled(sweep.sweep_source()) if rule.core else contextlib.nullcontext():
                yield

    return planted


def _detached(rule: ScalarRule, k: int) -> Callable[[], Any]:
    """Partial k evaluated on the primals of its arguments."""

    @contextlib.contextmanager
    def planted():
        partial = rule.partial(k)
        partials = list(rule.body._partials)
        partials[k] = lambda *args: partial(*map(primal, args))
        with _attributes(rule.body, _partials=partials), _implemented(rule):
            yield

    return planted


def _is_constant(rule: ScalarRule, expression: ast.expr) -> bool:
    """Whether an expression of a body is constant, or piecewise so: its derivative is written as zero."""
    assigned = dict(rule.body.assignments)

    def constant(e: ast.expr) -> bool:
        if isinstance(e, ast.Name):
            return constant(assigned[e.id]) if e.id in assigned else e.id not in rule.body.parameters
        if isinstance(e, ast.UnaryOp):
            return constant(e.operand)
        if isinstance(e, ast.BinOp):
            return isinstance(e.op, ast.FloorDiv) or (constant(e.left) and constant(e.right))
        if isinstance(e, ast.Call):
            target = rule.body.resolve(e.func)
            if getattr(target, "is_select", False):
                return constant(e.args[1]) and constant(e.args[2])
            return all(target.body.literal(k) == 0.0 or constant(x) for k, x in enumerate(e.args))
        return isinstance(e, (ast.Constant, ast.Attribute, ast.Compare, ast.BoolOp))

    return constant(expression)


# ---- mutants of the engines ------------------------------------------------------------------------------------------
def _assignments(rule: ScalarRule) -> list[tuple[str, Callable[[], Any]]]:
    """`=` for `+=` into the operands of this rule, per engine and kind of sweep."""
    made = [("in closures", _closures(rule, k, "adj[{i}] += d * p{k}(", "adj[{i}] = d * p{k}(")) for k in _fast(rule)]
    made += [
        ("in closures, numbers", _closures(rule, k, "adj[{i}] = adj[{i}] + scale(d, p{k}(", "adj[{i}] = scale(d, p{k}("))
        for k in _fast(rule)
    ]
    made = [(f"{place}, {rule.argument_names[k]}", planted) for (place, planted), k in zip(made, [*_fast(rule)] * 2)]
    if not rule.core:
        made += [
            ("in closures, general", _method(closures.ClosureStack, "apply", rule, "{}[cell] = {}[cell] + ", "adj")),
        ]
    return made
