"""Rules that recorded programs compile in addition to those of the sweep: their value functions are plain arithmetic.

A value function may branch, but may call only the module math and other such rules. The compiled source contains a copy
of it as `value_of_<name>`, which the partials of such rules may call.
"""

import ast
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any

from contad.compiled_rules import rule_source
from contad.engines.stream.rule_functions import Operation, number_operations
from contad.engines.stream.sweep import OPERATIONS
from contad.errors import RuleError
from contad.rules.definition import captured_values, global_names
from contad.rules.scalar_rule import ScalarRule, rules

VALUE = "value_of_"


@functools.cache
def find_compiled_rules() -> tuple[ScalarRule, ...]:
    """The rules of contad that qualify, in order of their names.

    A list of names decides, because reading the sources of all rules takes a tenth of a second.
    """
    listed = (rule for rule in rules() if not rule.core and rule.function.__module__.startswith("contad.ops."))
    found = {rule for rule in (*listed, *_list_called_by_formulas()) if rule.arity <= 2 and _is_arithmetic(rule)}
    while True:  # values and bodies may call values of other rules
        kept = {rule for rule in found if find_called(rule) <= found}
        if kept == found:
            return tuple(sorted(found, key=lambda rule: rule.name))
        found = kept


def _list_called_by_formulas() -> tuple[ScalarRule, ...]:
    """Rules that are in no list, from modules that only densities or programs import."""
    from contad.distributions.counts import log_divergence
    from contad.distributions.formula import CHOICES

    return (log_divergence, *CHOICES)


@functools.cache
def list_operations() -> Mapping[int, Operation]:
    """By code: the operations of the sweep, and those of the compiled rules that it does not have."""
    return OPERATIONS | number_operations(max(OPERATIONS) + 1, find_compiled_rules())


def operation_of(code: int) -> tuple[ScalarRule | None, str]:
    """The operation of an array record; the linear one has no rule."""
    linear: tuple[None, str] = (None, "vc")
    if code <= max(OPERATIONS):
        return OPERATIONS.get(code, linear)
    return list_operations().get(code, linear)


def _is_arithmetic(rule: ScalarRule) -> bool:
    """Whether a value function names only numbers, members of the module math, and rules."""
    return all(x is math or isinstance(x, (int, float, tuple, ScalarRule)) for x in _find_named(rule.function))


def value_source(rule: ScalarRule) -> str:
    """The value function as source that refers to the module math and to copies of other value functions.

    It raises RuleError where that is impossible.
    """
    return rule_source.value_source(rule.function, f"{VALUE}{rule.name}", _Copies(), (math,))


def find_copied(names: Iterable[str]) -> list[ScalarRule]:
    """The rules whose value functions have copies with these names."""
    called = {name.removeprefix(VALUE) for name in names if name.startswith(VALUE)}
    return [rule for rule in find_compiled_rules() if rule.name in called] if called else []


def copies_of_values(rules: Iterable[ScalarRule]) -> list[str]:
    """The sources of the value functions of rules, each after those that it calls."""
    found: dict[ScalarRule, str] = {}

    def add(rule: ScalarRule) -> None:
        if rule not in found:
            for called in sorted(_find_rules(rule.function), key=lambda r: r.name):
                add(called)
            found[rule] = value_source(rule)

    for rule in rules:
        add(rule)
    return [*found.values()]


class _Copies:
    """Names of the copies of value functions; it refuses values that call anything else but the module math."""

    def name_of_value(self, rule: ScalarRule) -> str:
        """The name of the copy of a rule's value function."""
        return f"{VALUE}{rule.name}"

    def name_of_helper(self, function: FunctionType) -> str:
        """Refuse the value function."""
        raise RuleError(f"its value calls {function.__name__}")

    def name_of_special(self, name: str) -> str:
        """Refuse the value function."""
        raise RuleError(f"its value calls {name} of SciPy")


def find_called(rule: ScalarRule) -> set[ScalarRule]:
    """The rules that the value of a rule calls, and those without a one-line value that its partials call."""
    assert rule.body is not None
    return _find_rules(rule.function) | _find_rules(rule.body.function)


def _find_rules(f: Any) -> set[ScalarRule]:
    """The rules that a function names, without core rules."""
    return {x for x in _find_named(f) if isinstance(x, ScalarRule) and not x.core}


def _find_named(f: Any) -> list[object]:
    """The objects that a function names."""
    own = f.__globals__ | captured_values(f)
    return [own[x] for x in global_names(f.__code__) & own.keys() - vars(math).keys()]


def value(rule: ScalarRule, arguments: Sequence[ast.expr]) -> ast.expr:
    """The value of a rule at argument expressions: its expression, or a call of its copy."""
    if rule.core:
        return rule_source.value_expression(rule, arguments)
    return ast.Call(ast.Name(f"{VALUE}{rule.name}", ast.Load()), list(arguments), [])
