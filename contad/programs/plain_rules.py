"""Rules that the interpreter compiles beside those of the sweep: whose value functions are plain arithmetic.

A value function may branch, where it calls nothing but the module math; it is copied into the interpreter, as
`value_of_<name>`, and the partials of such rules may call it.
"""

import ast
import functools
import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from contad.errors import RuleError
from contad.native import rule_source
from contad.rules.function_names import captured_values, global_names
from contad.rules.scalar_rule import ScalarRule, rules


@functools.cache
def find_compiled_rules() -> tuple[ScalarRule, ...]:
    """The rules of contad that qualify, in order of their names.

    It is decided by names: to read the sources of all rules takes a tenth of a second.
    """
    found = {rule for rule in rules() if not rule.core and rule.arity <= 2 and _is_arithmetic(rule)}
    while True:  # bodies may call each other's values
        kept = {rule for rule in found if _find_called(rule) <= found}
        if kept == found:
            return tuple(sorted(found, key=lambda rule: rule.name))
        found = kept


def _is_arithmetic(rule: ScalarRule) -> bool:
    """Whether a value function names numbers and what the module math has."""
    f: Any = rule.function
    known = (int, float, tuple)
    own = f.__globals__ | captured_values(f)
    named = (own[x] for x in global_names(f.__code__) & own.keys() - vars(math).keys())
    return f.__module__.startswith("contad.ops.") and all(x is math or isinstance(x, known) for x in named)


def value_source(rule: ScalarRule) -> str:
    """The value function as source that refers to the module math only; RuleError where it cannot be."""
    return rule_source.value_source(rule.function, f"value_of_{rule.name}", _Nothing(), (math,))


class _Nothing:
    """No names: a value that calls anything but the module math is refused."""

    def name_of_value(self, rule: ScalarRule) -> str:
        """Refused."""
        raise RuleError(f"its value calls {rule.name}")

    def name_of_helper(self, function: FunctionType) -> str:
        """Refused."""
        raise RuleError(f"its value calls {function.__name__}")

    def name_of_special(self, name: str) -> str:
        """Refused."""
        raise RuleError(f"its value calls {name} of SciPy")


def _find_called(rule: ScalarRule) -> set[ScalarRule]:
    """The rules without a one-line value that the partials call."""
    assert rule.body is not None
    f = rule.body.function
    named = (f.__globals__.get(x) for x in global_names(f.__code__))
    return {x for x in named if isinstance(x, ScalarRule) and not x.core}


def value(rule: ScalarRule, arguments: Sequence[ast.expr]) -> ast.expr:
    """The value of a rule at argument expressions: written out, or a call of its copy."""
    if rule.core:
        return rule_source.value_expression(rule, arguments)
    return ast.Call(ast.Name(f"value_of_{rule.name}", ast.Load()), list(arguments), [])
