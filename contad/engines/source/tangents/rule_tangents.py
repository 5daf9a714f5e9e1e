"""Inlines the user-written forward mode of rules.

Inlined operations are like any others: they have tangents, several lanes, and a reverse. If a rule has no forward
mode, the engine differentiates its parts in forward mode, but only once.
"""

from collections.abc import Mapping
from typing import Any

from numba import types

from contad.engines.source.ir.entries import Object, constant
from contad.engines.source.ir.known_functions import COMPARISONS, TO_FLOAT
from contad.engines.source.ir.rule_sites import RuleForward, RuleSite, RuleValue
from contad.engines.source.ir.ssa import (
    Accumulate,
    Check,
    Kind,
    SourceFunction,
    Store,
    Value,
)
from contad.engines.source.ir.walks import leaves, values_in, walk
from contad.engines.source.reading.frontend import read
from contad.engines.source.reading.numba_typing import kind_of
from contad.engines.source.tangents.appending import ZERO, Appender
from contad.errors import UnsupportedError
from contad.functions.python_copy import flags_of


class RuleTangents:
    """Inlines the forward mode of rules into a function."""

    def __init__(self, append: Appender, function: SourceFunction) -> None:
        self.append, self.function = append, function
        self.is_called = False  # whether it writes into a callee

    def tangent(self, o: RuleValue, dots: Mapping[Value, Value]) -> Value:
        """The tangent of the value of a call, from those of its arguments."""
        site, forward = o.site, o.found.operation
        assert isinstance(forward, RuleForward)
        (z,) = o.varying
        kinds, given = self._arguments(site, forward, z, dots)
        function = self._read(site, kinds)
        new = dict(zip(values_in(function.parameters), given, strict=True))
        written = {r for x in walk(function.block) if isinstance(x, (Store, Accumulate)) for r in x.array.roots}
        for parameter in [x for x in new if x in written]:
            copied = self.append.zeros(self.append.shape_of(new[parameter]))
            self.append.copy_into(copied, new[parameter])
            new[parameter] = copied
        self._take_over(site, function)
        self.append.append_copies(function.block.operations, new, self.is_called)
        found = new.get(function.returned, function.returned)
        self._require_shape(site, found, z)
        return self.append.apply(TO_FLOAT, found) if found.kind.base != "float" and not found.is_array else found

    def _arguments(
        self, site: RuleSite, forward: RuleForward, z: Value, dots: Mapping[Value, Value]
    ) -> tuple[tuple[Any, ...], list[Value]]:
        """The kinds of the arguments of the forward mode, and the values of those that are computed."""
        options, arguments, tangents = [], [], []
        for k, at in enumerate(site.given):
            x = _entry(site.known[k]) if at is None else forward.inputs[at]
            if k in site.parts.options:
                options.append(x)
                continue
            arguments.append(x)
            if isinstance(x, Value) and x in dots:
                tangents.append(dots[x])
            elif isinstance(x, Value) and x.is_array:
                tangents.append(self.append.zeros(self.append.shape_of(x)))
            else:
                tangents.append(ZERO)
        more, more_kind = self._take_saved(site, forward)
        kinds = *map(_kind, options), (_kind(z), *map(_kind, arguments), more_kind), *map(_kind, tangents)
        given = [*options, z, *arguments, *more, *tangents]
        return kinds, [x for x in given if isinstance(x, Value)]

    def _take_saved(self, site: RuleSite, forward: RuleForward) -> tuple[list[Value], Any]:
        """The values that the rule saves, other than its value and arguments; they carry no derivative."""
        last = site.saved[-1]
        if isinstance(last, types.NoneType):
            return [], Object(None)
        kind = kind_of(last)
        if kind is None:
            raise _refusal(site, "what it saves is not made of numbers and arrays")
        kinds: list[Any] = list(leaves(kind))
        return forward.give_more(kinds), kind

    def _read(self, site: RuleSite, kinds: tuple[Any, ...]) -> SourceFunction:
        """The forward mode of a rule in SSA form."""
        part = site.parts.tangent
        try:
            function = read(part.py_func, kinds, flags_of(part), part, callables=self.function.callables, at_ties=True)
        except UnsupportedError as error:
            raise _refusal(site, str(error)) from error
        if not isinstance(function.returned, Value):
            raise _refusal(site, "its tangent is no number or array")
        return function

    def _take_over(self, site: RuleSite, function: SourceFunction) -> None:
        """Take over the global arrays of another function, and only the fastmath flags that it permits."""
        if function.fastmath != self.function.fastmath:
            self.function.fastmath = False
        if function.captured and self.is_called:
            raise _refusal(site, "it reads a global array, inside a function that is called")
        for value, (name, array) in zip(function.captured_values, function.captured.items(), strict=True):
            count = len(self.function.captured)
            self.function.captured[f"{name}_{count}" if name in self.function.captured else name] = array
            self.function.captured_values.append(value)

    def _require_shape(self, site: RuleSite, found: Value, z: Value) -> None:
        if found.kind.ndim != z.kind.ndim or (found.is_array and found.kind.base != "float"):
            raise _refusal(site, f"its tangent has {found.kind.ndim} axes, its value {z.kind.ndim}")
        if not found.is_array:
            return
        error = "RuleError", f"{site.rule.name}: a tangent must have the shape of the value"
        for n, m in zip(self.append.shape_of(found), self.append.shape_of(z), strict=True):
            if n is not m:
                self.append.add(Check(self.append.apply(COMPARISONS["NotEq"], n, m), error))


def _entry(x: Any) -> Any:
    """The entry of a constant argument."""
    return constant(x) if isinstance(x, (bool, int, float)) else Object(x)


def _kind(x: Any) -> Any:
    """The kind of an argument; a string or None is its own kind."""
    return Kind(x.kind.base, x.kind.ndim, x.kind.narrow) if isinstance(x, Value) else x


def _refusal(site: RuleSite, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"{site.rule.name}: its forward mode is not generated: {why}; write it with what is generated in functions"
    )
