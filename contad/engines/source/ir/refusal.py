"""Refusals: the error for an unsupported construct names it, its file and line, and a remedy."""

import ast
from typing import NoReturn

from contad.errors import EngineLimitError, UnsupportedError

LIMIT = EngineLimitError.__name__  # generated source raises it by this name


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


def limit(what: str) -> tuple[str, str]:
    """The exception for a case found at run time that another engine can handle."""
    return LIMIT, f'{what}, or use engine="tape"'
