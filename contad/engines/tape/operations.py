"""Operations on variables and duals inside Numba, generated from the rules.

The user's own operation computes the value from plain numbers, with its exceptions; the rule gives the partials. Both
are emitted directly into the caller: compiling a function for every operation would take most of the time of a first
call.
"""

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numba import types
from numba.extending import lower_builtin

from contad.compile.emitting import cgutils
from contad.compile.typing_rules import AbstractTemplate, infer_global, signature
from contad.compiled_rules.elementwise_calls import MAKERS, PLAIN
from contad.compiled_rules.rules import partial_function, value_function
from contad.engines.tape.arrays import zeros_of
from contad.engines.tape.variables import Active, emit_chain
from contad.rules.body import ARITHMETIC, functions_of
from contad.rules.scalar_rule import ScalarRule, rule, rules

_IN_PLACE = {getattr(operator, f"i{name}"): getattr(operator, name) for name in ARITHMETIC}


def spellings(rule: ScalarRule) -> Iterator[Callable[..., Any]]:
    """Every function that spells a rule inside njit: operators, functions of math and NumPy, and the rule itself."""
    if rule.operator is not None:
        yield from functions_of(rule.operator)
    if hasattr(math, rule.math):
        yield getattr(math, rule.math)
    yield from (u for u in rule.ufuncs if not isinstance(u, str))
    yield rule


def register(rule: ScalarRule) -> None:
    """Let every spelling of a rule accept variables and duals inside njit; done once."""
    if rule in _registered:
        return
    _registered.add(rule)
    for spelling in spellings(rule):
        _declare(rule, spelling)
        for kinds in _mixes(rule.arity):
            lower_builtin(spelling, *kinds)(_emitter(rule, spelling))


def register_plain(function: Callable[..., Any], arity: int) -> None:
    """Let a function of numbers whose result carries no derivative accept variables and duals inside njit."""

    class Plain(AbstractTemplate):
        """The typing of the function: the type of its result on plain numbers."""

        key = function
        metadata: ClassVar = {"target": "cpu"}

        def generic(self, args: Any, kws: Any) -> Any:
            if kws or len(args) != arity or not all(isinstance(x, (Active, *PLAIN)) for x in args):
                return None
            if not any(isinstance(x, Active) for x in args):
                return None
            plain = tuple(types.float64 if isinstance(x, Active) else types.unliteral(x) for x in args)
            found = self.context.resolve_value_type(function).get_call_type(self.context, plain, {})
            return signature(found.return_type, *args)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        plain, numbers = _plain(context, builder, sig.args, args)
        result, kind = _call(context, builder, function, plain, numbers)
        return context.cast(builder, result, kind, sig.return_type)

    infer_global(function, types.Function(Plain))
    for kinds in _mixes(arity):
        lower_builtin(function, *kinds)(emit)


def _plain(context: Any, builder: Any, kinds: Any, args: Any) -> tuple[list[Any], list[Any]]:
    """The types and values of arguments without their derivatives."""
    plain, numbers = [], []
    for kind, x in zip(kinds, args, strict=True):
        active = isinstance(kind, Active)
        plain.append(types.float64 if active else types.unliteral(kind))
        numbers.append(cgutils.create_struct_proxy(kind)(context, builder, x).value if active else x)
    return plain, numbers


def _mixes(arity: int) -> Iterator[list[Any]]:
    """Signatures in which at least one argument is active."""
    for mask in range(1, 2**arity):
        yield [Active if mask >> k & 1 else types.Any for k in range(arity)]


def _declare(rule: ScalarRule, spelling: Callable[..., Any]) -> None:
    """Give a spelling of a rule its type on variables and duals."""

    class OperationTyping(AbstractTemplate):
        """The type of an operation with active operands."""

        key = spelling
        metadata: ClassVar = {"target": "cpu"}  # takes precedence over Numba's own, which are for any target
        prefer_literal = rule.name == "power"

        def generic(self, args: Any, kws: Any) -> Any:
            if kws or len(args) != rule.arity or not all(isinstance(x, (Active, *PLAIN)) for x in args):
                return None
            active = [k for k, x in enumerate(args) if isinstance(x, Active)]
            if not active:
                return None
            carries = any(partial_function(rule, k) is not None for k in active)
            return signature(args[active[0]] if carries else types.float64, *args)

    infer_global(spelling, types.Function(OperationTyping))


def _emitter(operation: ScalarRule, spelling: Callable[..., Any]) -> Callable[..., Any]:
    """The function that emits an operation into its caller."""
    spelled = _IN_PLACE.get(spelling, spelling)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        """Emit one operation."""
        rule_, function = operation, value_function(operation) if spelling is operation else spelled
        kinds, operands = list(sig.args), list(args)
        if rule_.name == "power" and isinstance(kinds[1], types.IntegerLiteral) and kinds[1].literal_value == 2:
            rule_, function, kinds, operands = _SQUARE, np.square, kinds[:1], operands[:1]  # saves a libm pow, or two
        plain, numbers = _plain(context, builder, kinds, operands)
        z, result = _call(context, builder, function, plain, numbers)
        z = context.cast(builder, z, result, types.float64)
        floats = [context.cast(builder, x, kind, types.float64) for x, kind in zip(numbers, plain, strict=True)]
        pairs, routed = [], []
        for k, (kind, x) in enumerate(zip(kinds, operands, strict=True)):
            p = _partial(context, builder, rule_, k, [z, *floats]) if isinstance(kind, Active) else None
            if p is not None:
                pairs.append((p, x))
                if rule_.body is not None and rule_.body.routes(k):
                    routed.append(p)
        return emit_chain(context, builder, sig.return_type, z, pairs, routed) if pairs else z

    return emit


def _partial(context: Any, builder: Any, rule: ScalarRule, k: int, given: list[Any]) -> Any:
    """The value of partial k at (z, *arguments); None where it is zero everywhere."""
    assert rule.body is not None
    literal = rule.body.literal(k)
    if literal is not None:
        return context.get_constant(types.float64, literal) if literal else None
    return _call(context, builder, partial_function(rule, k), [types.float64] * len(given), given)[0]


def _call(context: Any, builder: Any, function: Any, kinds: list[Any], args: list[Any]) -> tuple[Any, Any]:
    """The result of a function that Numba knows on plain numbers, and its type."""
    kind = context.typing_context.resolve_value_type(function)
    found = kind.get_call_type(context.typing_context, tuple(kinds), {})
    implementation = context.get_function(kind, found)
    context.add_linking_libs(getattr(implementation, "libs", ()))
    cast = [context.cast(builder, x, own, to) for x, own, to in zip(args, kinds, found.args, strict=True)]
    return implementation(builder, cast), found.return_type


MAKERS.update((kind, zeros) for kind, zeros in zeros_of.items() if isinstance(kind, Active))
_SQUARE = rule("square")
_registered: set[ScalarRule] = set()
for _rule in rules():
    register(_rule)
