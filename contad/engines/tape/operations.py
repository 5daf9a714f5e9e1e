"""Operations on variables and duals inside Numba, generated from the rules.

The value is that of the user's own operation at plain numbers, so it raises where that raises; the partials are the
rule's.
"""

import inspect
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import types

from contad.dispatcher import MATH
from contad.engines.tape.variables import PLAIN, Active, chain1, chain2
from contad.native.overloads import overloaded
from contad.native.rules import partial_function, value_function
from contad.rule import ScalarRule, rules

Implementation = Callable[..., Any]

# the functions of Python that an operator method stands for
_OPERATORS: dict[str, tuple[Callable[..., Any], ...]] = {
    "add": (operator.add, operator.iadd), "sub": (operator.sub, operator.isub), "mul": (operator.mul, operator.imul),
    "truediv": (operator.truediv, operator.itruediv), "floordiv": (operator.floordiv, operator.ifloordiv),
    "mod": (operator.mod, operator.imod), "pow": (operator.pow, operator.ipow, pow), "neg": (operator.neg,),
    "abs": (abs,),
}  # fmt: skip
_IN_PLACE = {
    getattr(operator, f"i{name}"): getattr(operator, name) for name in _OPERATORS if name not in ("neg", "abs")
}


def spellings(rule: ScalarRule) -> Iterator[Callable[..., Any]]:
    """Every function that means a rule inside njit: operators, functions of math and NumPy, and the rule itself."""
    if rule.operator is not None:
        yield from _OPERATORS[rule.operator]
    yield from (getattr(math, name) for name, found in MATH.items() if found is rule and hasattr(math, name))
    yield from (u for u in rule.ufuncs if not isinstance(u, str))
    yield rule


def scalar_implementation(rule: ScalarRule, value: Callable[..., Any], given: tuple[Any, ...]) -> Implementation | None:
    """The function of arguments of these types that evaluates `value` and chains the rule's partials; None if none is
    active."""
    if len(given) != rule.arity or not all(isinstance(x, (Active, *PLAIN)) for x in given):
        return None
    active = [k for k, x in enumerate(given) if isinstance(x, Active)]
    if not active:
        return None
    names = rule.argument_names
    numbers = [f"{x}.value" if k in active else x for k, x in enumerate(names)]
    lines = [f"{x}_ = float({number})" for x, number in zip(names, numbers, strict=True)]
    lines.append(f"z_ = float(value_({', '.join(numbers)}))")
    known: dict[str, Any] = {"value_": value, "chain1_": chain1, "chain2_": chain2}
    chained = []
    for k in active:
        partial = partial_function(rule, k)
        if partial is not None:
            known[f"partial_{k}_"] = partial
            lines.append(f"p_{k}_ = partial_{k}_({', '.join(['z_', *(f'{x}_' for x in names)])})")
            chained.append(f"p_{k}_, {names[k]}")
    # a record holds two partials: more of them go through cells of their own, with partial 1
    result = "z_"
    while chained:
        first, chained = chained[:2], chained[2:]
        if result != "z_":
            first, chained = [f"1.0, {result}", first[0]], [*first[1:], *chained]
        result = f"chain{len(first)}_(z_, {', '.join(first)})"
    source = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
    exec(compile(f"def implementation({', '.join(names)}):\n{source}", f"<{rule.name}>", "exec"), known)
    made: Implementation = known["implementation"]
    return made


def _register(rule: ScalarRule, spelling: Callable[..., Any]) -> None:
    """Let a spelling of a rule take active arguments; and plain ones, where it is contad's own."""
    plain = value_function(rule) if spelling is rule else None
    value = plain or _IN_PLACE.get(spelling, spelling)

    def typing(*given: Any) -> Implementation | None:
        if rule.name == "power" and given[1:] == (types.literal(2),) and isinstance(given[0], Active):
            return lambda x, y: np.square(x)
        found = scalar_implementation(rule, value, given)
        if found is None and plain is not None and all(isinstance(x, PLAIN) for x in given):
            return _plain(rule, plain)
        return found

    # Numba asks for the names of the parameters
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in rule.argument_names]
    typing.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    overloaded(spelling, prefer_literal=rule.name == "power", strict=False)(typing)


def _plain(rule: ScalarRule, value: Callable[..., Any]) -> Implementation:
    names = ", ".join(rule.argument_names)
    known: dict[str, Any] = {"value_": value}
    call = ", ".join(f"float({name})" for name in rule.argument_names)
    exec(f"def implementation({names}):\n    return value_({call})\n", known)
    made: Implementation = known["implementation"]
    return made


def register(rule: ScalarRule) -> None:
    """Let every spelling of a rule take variables and duals inside njit."""
    for spelling in spellings(rule):
        _register(rule, spelling)


for _rule in rules():
    register(_rule)
