"""Where the reading of a function stands: the function, the line, and what is collected on the way."""

import ast
import contextlib
import operator
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from contad.engines.source.ir.refusal import refusal, refuse
from contad.engines.source.ir.single_assignment import Value
from contad.engines.source.reading.scope import Scope
from contad.errors import UnsupportedError
from contad.functions.python_copy import Flags

Environment = dict[str, Any]
TAPE = 'rewrite it, or use engine="tape"'
# the line is last, because the file that it is in is that of the scope
_POSITION = ("scope", "flags", "inlining", "loop_depth", "branch_depth", "trying", "pinned", "line")
_read_position = operator.attrgetter(*_POSITION)


class TooLong(Exception):
    """A program is longer than it may be with all functions written in place."""


class Progress:
    """What all readers of one function share; a function that is read for a call of its own knows the `outer` one."""

    def __init__(self, scope: Scope, flags: Flags, outer: "Progress | None" = None) -> None:
        """Stand at the beginning of a function."""
        self.scope = scope  # the function that is being read
        self.flags = flags  # of it
        self.fastmath = [flags.fastmath]  # of all functions that have been read
        self.inlining: tuple[Any, ...] = (
            scope.function,
        )  # the functions that are being written in place, outermost first
        self.frames: list[Environment] = []  # the environments of the callers
        self.scopes: dict[Any, Scope] = {scope.dispatcher or scope.function: scope}
        self.captured: dict[str, Any] = {}  # global arrays
        self.constants: set[Value] = set()  # the arguments that are not differentiated, and global arrays
        self.fields: dict[Any, Value] = {}  # of arguments that are arrays of records, by argument and name
        self.written: frozenset[str] = frozenset()  # arguments of records that are known to be written
        self.callables: dict[str, Any] = {}  # functions that are handed on to Numba, by name
        self.typed: dict[Any, Any] = {}  # the types that Numba has found for expressions
        self.blocks: dict[Any, Any] = {}  # functions made of blocks in objmode
        self.callees: dict[Any, Any] = {}
        self.calling = False  # whether functions are called that need not be written in place
        self.at_ties = False  # whether what picks among equal elements is read so that second derivatives are right
        self.branch_depth = self.loop_depth = 0
        self.pinned = False
        self.trying = False  # whether what is read stands in a try, so that nothing may raise unseen
        self.tested: set[Value] = set()  # divisors there that are known not to be 0
        self._line = 0
        self.file = scope.place.filename  # in which the line is
        if outer is not None:
            self.inlining = (*outer.inlining, scope.function)
            self.callees, self.callables, self.typed = outer.callees, outer.callables, outer.typed
            self.calling, self.blocks, self.at_ties = outer.calling, outer.blocks, outer.at_ties

    @property
    def line(self) -> int:
        """The line of the user's file that is read; that of the call while a function of NumPy's is written out."""
        return self._line

    @line.setter
    def line(self, line: int) -> None:
        if not self.pinned:
            self._line = line
            self.file = self.scope.place.filename

    def name_callable(self, x: Any) -> str:
        """The name under which the generated source finds a function, or a class of named tuples."""
        for name, known in self.callables.items():
            if known is x:
                return name
        name = f"function_{re.sub(r'[^0-9a-zA-Z_]', '_', getattr(x, '__name__', 'f'))}_{len(self.callables)}"
        self.callables[name] = x
        return name

    def refuse(self, node: ast.AST, construct: str, remedy: str = TAPE) -> NoReturn:
        """Refuse what stands in the line of a node; `{node}` in the construct stands for its source."""
        raise self.refusal(node, construct, remedy)

    def refusal(self, node: ast.AST, construct: str, remedy: str) -> UnsupportedError:
        """The error to raise, perhaps later."""
        if "{node}" in construct:
            construct = construct.replace("{node}", repr(ast.unparse(node)))
        return refusal(self.scope.place.at(node), construct, remedy)

    # ---- going back --------------------------------------------------------------------------------------------------
    def position(self) -> tuple[Any, ...]:
        """Where reading stands, to return to."""
        return _read_position(self)

    def return_to(self, position: tuple[Any, ...]) -> None:
        """Stand there again."""
        for name, x in zip(_POSITION, position, strict=True):
            setattr(self, name, x)

    @contextlib.contextmanager
    def standing(self, **facts: Any) -> Iterator[None]:
        """Stand elsewhere for a while; an exception leaves it where it was raised."""
        before = {name: getattr(self, name) for name in facts}
        vars(self).update(facts)
        yield
        vars(self).update(before)

    def stop(self, construct: str, remedy: str) -> NoReturn:
        """Refuse what stands in the present line."""
        self.refuse(ast.Pass(lineno=self.line), construct, remedy)

    def give_up(self, most: int) -> NoReturn:
        """Stop where more operations than `most` have been added."""
        if not self.calling:
            raise TooLong
        refuse(
            self.scope.place,
            f"a program of more than {most} operations, as loops over tuples and functions written in place make it",
            "call functions of numbers, which are not written in place",
        )
