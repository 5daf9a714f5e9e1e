"""Refusals: every construct that is not differentiated is named, with its file and line and what to do about it."""

import ast
from typing import NoReturn

from contad.errors import EngineLimitError, UnsupportedError

LIMIT = EngineLimitError.__name__  # as source raises it


class Place:
    """Where in the user's source something stands."""

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
    """The exception for what is found when the derivative runs, and another engine can do."""
    return LIMIT, f'{what}, or use engine="tape"'
