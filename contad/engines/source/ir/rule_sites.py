"""Calls of operations with a user-written reverse rule. Each call is two operations: the forward part and its value.

Only the forward part tells the shape of the value, so the array for the value is created between the two. The workspace
keeps what the rule saves, and the options that its backward part takes.

In a function with tangents, the forward mode of a rule is inlined next to the call. If a rule has no forward mode, the
call also computes the tangent of the value, and its reverse differentiates the backward part in forward mode: the
backward part takes the adjoint of the tangent as its cotangent. The tangent of the result, along the tangent of the
saved values and the adjoint of the value, gives the adjoints of the arguments. So the rule gets second derivatives,
whether or not the backward part is linear in its cotangent, but no third ones.
"""

import ast
from typing import Any

from contad.engines.source.ir.runtime_functions import MatrixFunction
from contad.engines.source.ir.ssa import FLOAT, INT, Handed, Kind, MatrixCall, Value
from contad.rules.compilable import Parts, WithParts


class RuleSite:
    """The facts that both operations of a call need.

    `given` has, for each argument, its position among the inputs, or None for a constant; `known` has the constants by
    argument, and `plain` the Numba types. The source calls `name_value`, `name_forward`, and a backward part for the
    arguments that need adjoints.
    """

    def __init__(
        self, rule: WithParts, name: str, parts: Parts, given: tuple[int | None, ...], plain: tuple[Any, ...],
        saved: Any, known: dict[int, Any],
    ) -> None:  # fmt: skip
        self.rule, self.name, self.parts = rule, name, parts
        self.given, self.plain = given, plain
        self.known = known
        self.saved = saved  # the Numba type of the saved values
        self.moved: tuple[int, ...] = ()  # arguments whose tangents are the last inputs

    def with_tangents(self, moved: tuple[int, ...]) -> "RuleSite":
        """The same call in a function with tangents, where these arguments have tangents."""
        made = RuleSite(self.rule, self.name, self.parts, self.given, self.plain, self.saved, self.known)
        made.moved = moved
        return made

    @property
    def value_name(self) -> str:
        return f"{self.name}_value"

    @property
    def forward_name(self) -> str:
        return f"{self.name}_forward"


class RuleForward(Handed):
    """found, lengths = the forward part of a call: (value, saved), and the lengths of an array value.

    With tangents it is ((value, saved), tangents); the first tangent is that of the value.
    """

    def __init__(self, site: RuleSite, read: list[Value], ndim: int, lengths: list[Value] | None = None) -> None:
        """No derivative passes here, only from the inputs to the value."""
        lengths = [Value(INT, "length") for _ in range(ndim)] if lengths is None else lengths
        results = [Value(Kind("object"), f"{site.name}_found"), *lengths]
        super().__init__(ast.Constant(None), read, results, None, set(), NotImplementedError())
        self.site, self.is_flat = site, True
        self.more: list[Value] = []  # numbers and arrays that the rule saves, other than its value and arguments

    @property
    def found(self) -> Value:
        return self.results[0]

    @property
    def lengths(self) -> list[Value]:
        return self.results[1 : len(self.results) - len(self.more)]

    def give_more(self, kinds: list[Kind]) -> list[Value]:
        """The values, of these kinds, that are saved last; they carry no derivative."""
        if not self.more:
            self.more = [Value(kind, f"{self.site.name}_saved") for kind in kinds]
            self.results = [*self.results, *self.more]
            for value in self.more:
                value.operation, value.block = self, self.block
        return self.more


class RuleValue(MatrixCall):
    """The value of a call: computes a number or fills an array. Its reverse is the backward part of the rule."""

    def __init__(self, forward: RuleForward, filled: list[Value]) -> None:
        name, count = forward.site.rule.name, len(forward.inputs)
        function = MatrixFunction(name, count, reads_all=False, is_finite=False, plain=None)
        results = [] if filled else [Value(FLOAT) for _ in range(2 if forward.site.moved else 1)]
        super().__init__(function, [*forward.inputs, forward.found], filled, results)
        self.site = forward.site

    @property
    def tangents(self) -> list[Value]:
        """The tangents among its inputs."""
        return self.read[len(self.read) - 1 - len(self.site.moved) : -1]

    @property
    def found(self) -> Value:
        """The result of the forward part."""
        return self.inputs[self.function.operands]
