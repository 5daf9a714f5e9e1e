"""Functions of arrays whose bodies in compiled code are expressions, by the axes of their arguments.

A way is a pattern of axes and an expression. Each part of a pattern is for one argument. It lists the possible numbers
of axes (0 for a number), as in "12 1 0". Or it has a letter for each axis, where equal letters mean equal lengths, as
in "nn n", or "nn n/nk" for a vector or a matrix. Or it is a string, as in "'economic'".
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.linalg import cholesky

from contad.distributions.faces import function_of_text
from contad.rules.compilable import Compilable

Pattern = str
Demands = Sequence[tuple[str, str]]  # conditions on the arguments, and their descriptions


class InExpressions(Compilable):
    """A Python function, with an expression for each pattern of axes of the arguments.

    names     the arguments, if the Python function takes any number of them
    inside    checks only for compiled code, because the Python function checks its arguments itself
    """

    __name__: str

    def __init__(
        self, function: Callable[..., Any], ways: Mapping[Pattern, str], known: Mapping[str, Any], names: str = "",
        inside: Demands = (),
    ) -> None:  # fmt: skip
        super().__init__(function)
        form = inspect.signature(eval(f"lambda {names}: None") if names else function)
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL)  # options, which are not in patterns
        plain = [x.replace(annotation=x.empty) for x in form.parameters.values() if x.kind not in kinds]
        self.signature = inspect.Signature(plain)  # the form that functions written by engines have
        self.ways, self.inside, self.has_bodies = ways, inside, bool(ways)
        self.known = {"np": np, "cholesky": cholesky, **known}
        self._bodies: dict[Any, Any] = {}

    def body(self, given: tuple[Any, ...]) -> Any:
        """The body of the first pattern that fits; `propto` may follow the arguments of a pattern."""
        for pattern in self.ways:
            allowed = axes_in(pattern)
            more = given[len(allowed) :]
            fits = len(given) >= len(allowed) and all(str(n) in axes for n, axes in zip(given, allowed, strict=False))
            if fits and more in ((), (0,) if "propto" in self.signature.parameters else ()):
                if given not in self._bodies:
                    self._bodies[given] = self._write(pattern, given)
                return self._bodies[given]
        return None

    def _write(self, pattern: Pattern, given: tuple[Any, ...]) -> Any:
        names = list(self.signature.parameters)[: len(given)]
        lines = [f"def {self.__name__}({', '.join(names)}):", *write_lengths(self.__name__, names, pattern, given)]
        left_out = set(list(self.signature.parameters)[len(given) :])
        for test, message in self.inside:
            if not left_out.isdisjoint(re.findall(r"\w+", test)):  # no demands on missing arguments
                continue
            lines += [f"    if not ({test}):", f"        raise ValueError({f'{self.__name__}: {message}'!r})"]
        lines.append(f"    return {self.ways[pattern]}")
        return function_of_text("\n".join(lines) + "\n", self.__name__, self.known)

    def refuse(self) -> str:
        """The message for other arguments."""
        names = [name for name in self.signature.parameters if name != "propto"]
        ways = " or ".join(
            ", ".join(
                name if "'" in axes else f"{name} of {' or '.join(axes)}"
                for name, axes in zip(names, axes_in(pattern), strict=False)
            )
            for pattern in self.ways
        )
        return f"{self.__name__}: inside njit it takes arrays of float64 with so many axes (0 is a number): {ways}"


def in_expressions(ways: Mapping[Pattern, str], **known: Any) -> Callable[[Callable[..., Any]], InExpressions]:
    """Let Numba functions and bodies call a function, by expressions of its arguments and of known names."""
    return lambda function: InExpressions(function, ways, known)


def axes_in(pattern: Pattern) -> list[str]:
    """For each argument, the numbers of axes that it may have, or a string."""
    parts = [part.split("/") for part in pattern.split()]
    return ["".join(str(len(x)) for x in part) if part[0].isalpha() else part[0] for part in parts]


def write_lengths(function: str, names: Sequence[str], pattern: Pattern, given: Sequence[Any]) -> list[str]:
    """The lines that raise the error of the Python function unless axes with equal letters have equal lengths."""
    lines: list[str] = []
    first: dict[str, tuple[str, str]] = {}
    for name, part, axes in zip(names, pattern.split(), given, strict=False):
        letters = next((x for x in part.split("/") if x.isalpha() and len(x) == axes), "")
        for axis, letter in enumerate(letters):
            length = f"{name}.shape[{axis}]"
            other, of = first.setdefault(letter, (length, name))
            error, what = "ValueError", f"have in axis {axis} the length of {of} in axis {other[-2]}"
            if of == name:
                error, what = "np.linalg.LinAlgError", "be square"
            if other != length:
                text = f"{function}: {name} must {what}"
                lines += [f"    if {other} != {length}:", f"        raise {error}({text!r})"]
    return lines
