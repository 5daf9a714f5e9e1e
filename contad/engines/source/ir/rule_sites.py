"""Calls of operations whose reverse rule a user has written: two operations each, the forward part and its value.

The forward part gives what the value is read from, whose shape is known only then; so the array that holds the value
is made between the two. What the rule saves is kept in the workspace, with the options that its backward part takes.

In a program with tangents the forward mode of a rule is written beside the call, as operations like any others. A call
of a rule without one computes the tangent of its value, too. Its reverse is what forward mode makes of the reverse: the
adjoint of the tangent is what the backward part takes, whose derivative along the tangent of what is saved, and along
the adjoint of the value, is that of the arguments. So second derivatives are those of the backward part, be that linear
in its cotangent or not; third ones there are none.
"""

import ast
from typing import Any

from contad.engines.source.ir.known_matrix_functions import MatrixFunction
from contad.engines.source.ir.single_assignment import FLOAT, INT, Handed, Kind, MatrixCall, Value
from contad.rules.compilable import Parts, WithParts


class RuleSite:
    """What both operations of a call have to know.

    `given` has, for each argument, its position among the values that are read, None for a constant, which is `known`
    by the argument; `plain` its Numba type. The source calls `name_value`, `name_forward`, and a backward part
    for the arguments that are wanted.
    """

    def __init__(
        self, rule: WithParts, name: str, parts: Parts, given: tuple[int | None, ...], plain: tuple[Any, ...],
        saved: Any, known: dict[int, Any],
    ) -> None:  # fmt: skip
        self.rule, self.name, self.parts = rule, name, parts
        self.given, self.plain = given, plain
        self.known = known
        self.saved = saved  # the Numba type of what the forward part saves
        self.moved: tuple[int, ...] = ()  # arguments whose tangents are read behind all that is read

    def with_tangents(self, moved: tuple[int, ...]) -> "RuleSite":
        """The same call in a program with tangents, which these arguments have."""
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
    """found, lengths = the forward part of a call: (value, saved), and the lengths of a value that is an array.

    With tangents it is ((value, saved), tangents), of which the first is that of the value.
    """

    def __init__(self, site: RuleSite, read: list[Value], ndim: int, lengths: list[Value] | None = None) -> None:
        """No derivative passes here, but from what is read to the value."""
        lengths = [Value(INT, "length") for _ in range(ndim)] if lengths is None else lengths
        results = [Value(Kind("object"), f"{site.name}_found"), *lengths]
        super().__init__(ast.Constant(None), read, results, None, set(), NotImplementedError())
        self.site, self.is_step = site, True
        self.more: list[Value] = []  # numbers and arrays that the rule saves beside its value and arguments

    @property
    def found(self) -> Value:
        return self.results[0]

    @property
    def lengths(self) -> list[Value]:
        return self.results[1 : len(self.results) - len(self.more)]

    def give_more(self, kinds: list[Kind]) -> list[Value]:
        """The values of what is saved last, of these kinds; they carry no derivative."""
        if not self.more:
            self.more = [Value(kind, f"{self.site.name}_saved") for kind in kinds]
            self.results = [*self.results, *self.more]
            for value in self.more:
                value.operation, value.block = self, self.block
        return self.more


class RuleValue(MatrixCall):
    """The value of a call: a number, or what fills an array; its reverse is the backward part of the rule."""

    def __init__(self, forward: RuleForward, filled: list[Value]) -> None:
        name, count = forward.site.rule.name, len(forward.inputs)
        function = MatrixFunction(name, count, reads_all=False, is_finite=False, plain=None)
        results = [] if filled else [Value(FLOAT) for _ in range(2 if forward.site.moved else 1)]
        super().__init__(function, [*forward.inputs, forward.found], filled, results)
        self.site = forward.site

    @property
    def tangents(self) -> list[Value]:
        """The tangents that it reads."""
        return self.read[len(self.read) - 1 - len(self.site.moved) : -1]

    @property
    def found(self) -> Value:
        """What the forward part has given."""
        return self.inputs[self.function.operands]
