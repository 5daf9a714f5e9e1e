"""A function for the front end: its statements without early exits, its names, its place in the source; refusals.

A refusal is the error for an unsupported construct: it names file, line, function, construct and a remedy.
"""

import ast
import builtins
import inspect
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NoReturn

from contad.compile.dispatchers import declared_names
from contad.engines.source.reading.appended_arrays import AppendedArray, without_appended_arrays
from contad.engines.source.reading.exits import without_exits, without_ladders
from contad.engines.source.reading.handlers import without_tries
from contad.errors import UnsupportedError
from contad.rules.definition import captured_values, definition_of


class Place:
    """A place in the user's source."""

    def __init__(self, filename: str, function: str, line: int) -> None:
        self.filename, self.function, self.line = filename, function, line

    def at(self, node: ast.AST) -> "Place":
        """The place of a node of the same function."""
        return Place(self.filename, self.function, getattr(node, "lineno", self.line))


def refusal(place: Place, construct: str, remedy: str) -> UnsupportedError:
    """The error that names file, line, function, construct and remedy."""
    return UnsupportedError(f"{place.filename}:{place.line}: {place.function}: {construct}; {remedy}")


def refuse(place: Place, construct: str, remedy: str) -> NoReturn:
    """Raise it."""
    raise refusal(place, construct, remedy)


class Scope:
    """One function: the user's, or an inlined callee."""

    dispatcher: Any = None  # its declared types apply
    declared: Mapping[str, Any] = {}  # names with declared types

    def __init__(self, function: Any, dispatcher: Any = None, arrays: Collection[tuple[str, int, str]] = ()) -> None:
        """Parse the definition of a function; `arrays` are (file, line, name) of arrays that must not become lists."""
        self.arrays = arrays
        self.function = function
        self.dispatcher = dispatcher
        self.declared = declared_names(dispatcher)
        code = function.__code__
        self.place = Place(code.co_filename, function.__name__, code.co_firstlineno)
        try:
            definition, start = definition_of(function, lambdas=True)
        except OSError:
            raise UnsupportedError(
                f"{code.co_filename}:{code.co_firstlineno}: {function.__name__}: its source cannot be read; define it "
                'in a file, or use engine="tape"'
            ) from None
        if not isinstance(definition, ast.FunctionDef):
            refuse(self.place, "njit of a lambda or an expression", "write it as a function")
        self.line = start
        self.captured: dict[str, Any] = captured_values(function)
        self.globals = function.__globals__
        self.take(definition)
        self.positional = code.co_argcount  # includes options of a rule, which are keyword parameters in the file

    def take(self, definition: ast.FunctionDef) -> None:
        """Take the parameters and the statements of a definition."""
        parameters = definition.args
        if parameters.kwarg:
            refuse(self.place, "**kwargs", "give the function a fixed number of arguments")
        self.positional = len(parameters.posonlyargs) + len(parameters.args)
        self.starred = parameters.vararg.arg if parameters.vararg else ""
        self.names = [a.arg for a in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)]
        inside = [x for statement in definition.body for x in _own_nodes(statement)]
        self.yields = next((x for x in inside if isinstance(x, (ast.Yield, ast.YieldFrom))), None)
        body = definition.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        arrays = [name for *place, name in self.arrays if place == [self.place.filename, self.line]]
        body = without_appended_arrays(body, self.outer, arrays)
        body = self.written = without_tries(body, self.refuse)  # still with early exits
        self.body = without_exits(without_ladders(body))

    def refuse(self, node: ast.AST, construct: str, remedy: str) -> NoReturn:
        refuse(self.place.at(node), construct, remedy)

    def unlist(self, name: str) -> NoReturn:
        """Have the function read again, with an array in place of a list."""
        raise AppendedArray((self.place.filename, self.line, name))

    def defaults(self) -> dict[str, Any]:
        """The values of the parameters that have defaults."""
        signature = inspect.signature(self.function)
        return {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }

    def outer(self, name: str) -> Any:
        """The object of a name outside the function; KeyError if there is none."""
        for names in (self.captured, self.globals, vars(builtins)):
            if name in names:
                return names[name]
        raise KeyError(name)


class LocalScope(Scope):
    """A nested function or lambda, which is inlined where it is called."""

    def __init__(self, outer: Scope, node: ast.FunctionDef | ast.Lambda) -> None:
        """Parse a nested definition."""
        self.function, self.outside, self.arrays = node, outer, outer.arrays
        name = node.name if isinstance(node, ast.FunctionDef) else "lambda"
        self.place = Place(outer.place.filename, name, node.lineno)
        self.line = node.lineno
        self.captured, self.globals = outer.captured, outer.globals
        if any(x is not None for x in node.args.kw_defaults):
            refuse(self.place, "defaults of keywords of a function inside a function", "let it take them by position")
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            refuse(self.place, "decorators of a function inside a function", "define it in the module")
        if isinstance(node, ast.Lambda):
            returned = ast.copy_location(ast.Return(node.body), node)
            node = ast.FunctionDef(name, node.args, [returned], [], lineno=node.lineno)
        inside = [x for statement in node.body for x in ast.walk(statement)]
        self.take(node)
        if self.yields is not None:
            refuse(self.place.at(self.yields), "a generator inside a function", "define it in the module")
        assigned = {x.id for x in inside if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        read = {x.id for x in inside if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
        self.free = read - assigned - set(self.names)

    def defaults(self) -> dict[str, Any]:
        return {}


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its descendants, without those of nested functions."""
    waiting = [node]  # no recursion: an expression may have thousands of levels
    for known in waiting:
        yield known
        if not isinstance(known, (ast.FunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(known)
