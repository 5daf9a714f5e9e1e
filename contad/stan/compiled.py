"""Functions of arrays that compiled code may call too: their bodies there, by the axes of the arguments.

A body is written from the expression of its value and from what is checked before; what these call stands in
`contad.stan.bodies`, or is a density of one formula. So the formula is one, for Python and for compiled code.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.linalg import cholesky

from contad.distributions.faces import function_of_text
from contad.rules.compilable import Compilable
from contad.stan import bodies

Checks = Sequence[tuple[str, str]]  # a condition that has to hold, and what has to be, in words
Pattern = str  # of each argument the numbers of axes that it may have: "12 1 0"


class WithBodies(Compilable):
    """A function of Python, with an expression for arguments of each pattern of axes."""

    __name__: str
    has_bodies = True

    def __init__(
        self, function: Callable[..., Any], ways: Mapping[Pattern, str], checks: Checks, known: dict[str, Any]
    ) -> None:
        super().__init__(function)
        plain = [x.replace(annotation=x.empty) for x in inspect.signature(function).parameters.values()]
        self.signature = inspect.Signature(plain)  # as text it is that of functions which engines write
        self.ways, self.checks = ways, checks
        self.known = vars(bodies) | {"np": np, "cholesky": cholesky} | known
        self._bodies: dict[Any, Any] = {}

    def body(self, given: tuple[Any, ...]) -> Any:
        """The body of the first pattern that fits; behind those of a pattern `propto` may follow."""
        for pattern, expression in self.ways.items():
            allowed = pattern.split()
            more = given[len(allowed) :]
            fits = len(given) >= len(allowed) and all(str(n) in axes for n, axes in zip(given, allowed, strict=False))
            if fits and more in ((), (0,)):
                key = given
                if key not in self._bodies:
                    self._bodies[key] = self._write(expression, given, bool(more))
                return self._bodies[key]
        return None

    def _write(self, expression: str, given: tuple[Any, ...], has_propto: bool) -> Any:
        names = list(self.signature.parameters)[: len(given)]
        lines = [f"def {self.__name__}({', '.join(names)}):"]
        for condition, what in self.checks:
            test = condition if given[0] else condition.replace("are_categories", "is_category")
            lines += [f"    if not ({test}):", f"        raise ValueError({f'{self.__name__}: {what}'!r})"]
        lines.append(f"    return {expression.replace('PROPTO', ', propto' if has_propto else '')}")
        return function_of_text("\n".join(lines) + "\n", self.__name__, self.known)

    def refuse(self) -> str:
        """What a call with other arguments is told."""
        names = [name for name in self.signature.parameters if name != "propto"]
        ways = " or ".join(
            ", ".join(f"{name} of {' or '.join(axes)}" for name, axes in zip(names, pattern.split(), strict=False))
            for pattern in self.ways
        )
        return f"{self.__name__}: inside njit it takes arrays of float64 with so many axes (0 is a number): {ways}"


def with_bodies(
    ways: Mapping[Pattern, str] | None = None, checks: Checks = (), **known: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Let Numba functions call a function, too.

    ways     an expression of the arguments for each pattern of axes; PROPTO in it is the argument propto, if given
    checks   conditions that hold, and what ValueError says where one does not
    known    what the expressions name beside `contad.stan.bodies`
    """
    return lambda function: WithBodies(function, ways or {}, checks, known)
