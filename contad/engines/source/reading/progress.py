"""The progress of reading a function: the current function and line, and the facts collected so far."""

import ast
import contextlib
import operator
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from contad.engines.source.ir.ssa import Value
from contad.engines.source.reading.scope import Scope, refusal, refuse
from contad.errors import UnsupportedError
from contad.functions.python_copy import Flags

Environment = dict[str, Any]
TAPE = 'rewrite it, or use engine="tape"'
# the line is last, because its file depends on the scope
_POSITION = ("scope", "flags", "inlining", "loop_depth", "branch_depth", "trying", "pinned", "line")
_read_position = operator.attrgetter(*_POSITION)


class TooLong(Exception):
    """A function is too long with all callees inlined."""


class Progress:
    """The state that all readers of one function share; for a callee, `outer` is the state of its caller."""

    def __init__(self, scope: Scope, flags: Flags, outer: "Progress | None" = None) -> None:
        """Start at the beginning of a function."""
        self.scope = scope  # the current function
        self.flags = flags  # the flags of the current function
        self.fastmath = [flags.fastmath]  # the fastmath flags of all functions read so far
        self.inlining: tuple[Any, ...] = (scope.function,)  # the functions that are being inlined, outermost first
        self.frames: list[Environment] = []  # the environments of the callers
        self.scopes: dict[Any, Scope] = {scope.dispatcher or scope.function: scope}
        self.captured: dict[str, Any] = {}  # global arrays
        self.constants: set[Value] = set()  # arguments without a derivative, and global arrays
        self.fields: dict[Any, Value] = {}  # the fields of structured array arguments, by argument and name
        self.written: frozenset[str] = frozenset()  # structured array arguments that the function writes
        self.callables: dict[str, Any] = {}  # handed-on functions, by name
        self.parts: list[tuple[np.ndarray, dict[str, np.ndarray]]] = []  # of global complex arrays
        self.wide_sums = False  # whether sums of float32 numbers are accumulated in float64
        self.typed: dict[Any, Any] = {}  # the types that Numba has inferred for expressions
        self.blocks: dict[Any, Any] = {}  # functions made from objmode blocks
        self.callees: dict[Any, Any] = {}
        self.is_callee = outer is not None
        self.calling = False  # whether functions are called unless they have to be inlined
        self.at_ties = False  # whether selections among equal elements need right second derivatives
        self.branch_depth = self.loop_depth = 0
        self.pinned = False
        self.trying = False  # whether the current statement is in a try, so that nothing may raise unnoticed
        self.tested: set[Value] = set()  # divisors in it that are known not to be 0
        self._line = 0
        self.file = scope.place.filename  # the file of the line
        if outer is not None:
            self.inlining = (*outer.inlining, scope.function)
            self.callees, self.callables, self.typed = outer.callees, outer.callables, outer.typed
            self.calling, self.blocks, self.at_ties = outer.calling, outer.blocks, outer.at_ties
            self.wide_sums = outer.wide_sums

    @property
    def line(self) -> int:
        """The current line of the user's file; that of the call while a NumPy function is inlined."""
        return self._line

    @line.setter
    def line(self, line: int) -> None:
        if not self.pinned:
            self._line = line
            self.file = self.scope.place.filename

    def parts_of(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The real and imaginary parts of a global array, the same for each mention of it."""
        for array, parts in self.parts:
            if array is x:
                return parts
        self.parts.append((x, {"real": x.real.copy(), "imag": x.imag.copy()}))
        return self.parts[-1][1]

    def name_callable(self, x: Any) -> str:
        """The name, in the generated source, of a function or a named-tuple class."""
        for name, known in self.callables.items():
            if known is x:
                return name
        name = f"function_{re.sub(r'[^0-9a-zA-Z_]', '_', getattr(x, '__name__', 'f'))}_{len(self.callables)}"
        self.callables[name] = x
        return name

    def refuse(self, node: ast.AST, construct: str, remedy: str = TAPE) -> NoReturn:
        """Refuse the construct in the line of a node; `{node}` in `construct` is replaced by its source."""
        raise self.refusal(node, construct, remedy)

    def refusal(self, node: ast.AST, construct: str, remedy: str) -> UnsupportedError:
        """The error to raise, perhaps later."""
        if "{node}" in construct:
            construct = construct.replace("{node}", repr(ast.unparse(node)))
        return refusal(self.scope.place.at(node), construct, remedy)

    # ---- going back --------------------------------------------------------------------------------------------------
    def position(self) -> tuple[Any, ...]:
        """The current position, for `return_to`."""
        return _read_position(self)

    def return_to(self, position: tuple[Any, ...]) -> None:
        """Restore a position."""
        for name, x in zip(_POSITION, position, strict=True):
            setattr(self, name, x)

    @contextlib.contextmanager
    def standing(self, **facts: Any) -> Iterator[None]:
        """Change the position inside the `with` block; after an exception it stays where that was raised."""
        before = {name: getattr(self, name) for name in facts}
        vars(self).update(facts)
        yield
        vars(self).update(before)

    def stop(self, construct: str, remedy: str) -> NoReturn:
        """Refuse a construct in the current line."""
        self.refuse(ast.Pass(lineno=self.line), construct, remedy)

    def give_up(self, most: int) -> NoReturn:
        """Stop, because more operations than `most` have been added."""
        if not self.calling:
            raise TooLong
        refuse(
            self.scope.place,
            f"a function of more than {most} operations, as loops over tuples and functions written in place make it",
            "call functions of numbers, which are not written in place",
        )
