"""What the reverse pass needs to know of one operation: which operands its derivative reads, and its source.

The derivative bodies are those of the registry; `contad.body` slices them per argument and pastes them.
"""

import ast
import functools
from collections.abc import Callable
from typing import NamedTuple

from contad.body import inline, or_call
from contad.engines.generated.functions import SELECT, TO_FLOAT, Function
from contad.engines.generated.ir import FLOAT, Apply, Value
from contad.rule import ScalarRule


class Partial(NamedTuple):
    """The derivative of a function with respect to one operand: a number, or a text in the result and the operands."""

    literal: float | None
    reads_result: bool
    reads: tuple[int, ...]  # operands


@functools.cache
def partial(function: Function, k: int) -> Partial:
    """The derivative with respect to operand k; literal 0.0 where there is none."""
    if function is SELECT:
        return Partial(0.0, False, ()) if k == 0 else Partial(None, False, (0,))
    if function is TO_FLOAT:
        return Partial(1.0, False, ())
    if function.rule is None or function.rule.body is None:
        return Partial(0.0, False, ())
    body = function.rule.body
    literal = body.literal(k)
    if literal is not None:
        return Partial(literal, False, ())
    assignments, result = body.slice(k)
    names = {
        n.id
        for tree in (result, *(value for _, value in assignments))
        for n in ast.walk(tree)
        if isinstance(n, ast.Name)
    }
    parameters = body.parameters
    return Partial(None, parameters[0] in names, tuple(j for j, name in enumerate(parameters[1:]) if name in names))


def source_of(
    operation: Apply, k: int, names: list[str], prefix: str, called: Callable[[ScalarRule], str]
) -> tuple[list[str], str]:
    """Lines and an expression for the derivative with respect to operand k; `names` of the result and the operands.

    `called(rule)` names a compiled function for a rule whose value is no expression.
    """
    rule = operation.function.rule
    assert rule is not None and rule.body is not None
    return inline(rule.body, k, dict(zip(rule.body.parameters, names, strict=True)), prefix, or_call(called))


def passes(operation: Apply) -> list[Value]:
    """The operands through which a derivative passes."""
    if operation.result.kind != FLOAT:
        return []
    return [
        x for k, x in enumerate(operation.inputs) if x.kind == FLOAT and partial(operation.function, k).literal != 0.0
    ]
