"""Sums of formulas in recorded programs: the lines of the formula, where compiled code has every operation of them.

A program calls Python for a formula, whose cases and selections may come out otherwise at other inputs. Where
selections depend on data alone, its lines are operations as users write them, and cases that hold nowhere are guards.
"""

import ast
import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.distributions.formula import Formula
from contad.ops.logic import select
from contad.programs.codes import code_of
from contad.rules.scalar_rule import ScalarRule
from contad.rules.vectorised import REWRITTEN, Vectoriser
from contad.variables.number import Carrier, peek
from contad.variables.open_types import Value

Test = Callable[..., Any]


def sum_of_lines(rule: ScalarRule, args: Sequence[Value], conditions: tuple[str, ...]) -> Value:
    """The sum over the elements of arrays of one shape and numbers; None where Python evaluates the formula."""
    if not isinstance(rule, Formula):
        return None
    plain = [peek(x) for x in args]
    if any(x.__class__ is not float and np.asarray(x).dtype.kind not in "biuf" for x in plain):
        return None
    shapes = {np.shape(x) for x in plain if np.ndim(x)}
    active = tuple([isinstance(x, Carrier) for x in args])
    lines = _lines_of(rule, active)
    if lines is None or len(shapes) > 1 or any(0 in shape for shape in shapes):
        return None
    tests = _tests_of(rule, conditions)
    with np.errstate(all="ignore"):
        if not all(np.all(test(*plain)) for test in tests):
            return None
        for test in tests:
            test(*args)  # whose comparisons are guards
        z = lines(*args)
    if np.shape(peek(z)) not in shapes and shapes:
        return None
    return np.sum(z) if shapes else z


@functools.cache
def _lines_of(rule: Formula, active: tuple[bool, ...]) -> Callable[..., Any] | None:
    """The value behind the cases as a function, if the program has all operations of the arguments that are active."""
    body = rule.body
    parameters = body.parameters[1:]
    assignments, result = body.slice(rule.arity)
    for _ in body.cases:
        assert isinstance(result, ast.Call)
        result = result.args[2]
    depending = {name for name, is_active in zip(parameters, active, strict=True) if is_active}
    scope: dict[str, Any] = dict(REWRITTEN)
    form = Vectoriser(lambda node: body.resolve(node) is select)
    lines = []
    for name, expression in [*assignments, ("_result", result)]:
        if not _take_names(body, expression, depending, {*parameters, *dict(assignments)}, scope):
            return None
        if _names(expression) & depending:
            depending.add(name)
        lines.append(f"    {form.write_assignment(name, copy.deepcopy(expression))}\n")
    text = f"def lines({', '.join(parameters)}):\n{''.join(lines)}    return _result\n"
    exec(compile(text, f"<contad lines of {rule.name}>", "exec"), scope)
    found: Callable[..., Any] | None = scope["lines"]
    return found


def _take_names(
    body: Any, expression: ast.expr, depending: set[str], local: set[str], scope: dict[str, Any]
) -> bool:
    """Put what an expression names into the scope; whether a program has its operations."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute):
            return False
        if isinstance(node, (ast.Compare, ast.BoolOp)) and _names(node) & depending:
            return False
        if not isinstance(node, ast.Name) or node.id in local:
            continue
        scope[node.id] = body.resolve(node)
    for node in ast.walk(expression):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        called = scope[node.func.id]
        reads = [bool(_names(x) & depending) for x in node.args]
        if called is select:
            if reads[0]:
                return False
        elif any(reads):
            if isinstance(called, Formula):
                inner = _lines_of(called, tuple(reads))
                if inner is None or called.body.cases:
                    return False
                scope[node.func.id] = inner
            elif code_of(called, "".join("cv"[reads_one] for reads_one in reads)) is None:
                return False
    return True


@functools.cache
def _tests_of(rule: Formula, conditions: tuple[str, ...]) -> list[Test]:
    """What has to hold of each element: the conditions of a density, and that no case of its formula does."""
    body = rule.body
    parameters = body.parameters[1:]
    form = Vectoriser(lambda node: False)
    texts = [(condition, [f"p_{k}" for k in range(rule.arity)]) for condition in conditions]
    texts += [(f"not ({case})", list(parameters)) for case, _ in body.cases]
    known = REWRITTEN | body.extra | {"np": np}
    return [
        eval(f"lambda {', '.join(names)}: {ast.unparse(form.rewritten(ast.parse(text, mode='eval').body))}", known)
        for text, names in texts
    ]


def _names(expression: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
