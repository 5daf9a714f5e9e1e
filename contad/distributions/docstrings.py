"""The docstrings of functions named by other libraries: in one form, from the docstring of the formula."""

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from contad.rules.scalar_rule import ScalarRule

F = TypeVar("F", bound=Callable[..., Any])
_WIDTH = 116  # of lines, which are indented by four in a module
_FIELD = re.compile(r"^(?=[A-Z]\w+: +\S)", re.MULTILINE)  # the beginning of a field


def formula_of(rule: ScalarRule) -> str:
    """The formula, which is the first paragraph of the docstring."""
    return inspect.cleandoc(rule.__doc__ or "").partition("\n\n")[0].removesuffix(".")


def source_of(rule: ScalarRule) -> str:
    """The source of a formula, from its docstring."""
    found = re.search(r"^\s*Ref: (.*)\.$", rule.__doc__ or "", re.MULTILINE)
    return found[1] if found else ""


def describe(
    title: str, formula: str, fields: Mapping[str, str], example: str = "", notes: Sequence[str] = ()
) -> str:
    """A docstring from a title, a formula, paragraphs of notes, fields, and an example.

    >>> print(describe("The square.", "z = x^2", {"Domain": "every x.", "Ref": "Euclid."}, "square(2.0)"))
    The square.
    <BLANKLINE>
        z = x^2
    <BLANKLINE>
    Domain:  every x.
    Ref:     Euclid.
    <BLANKLINE>
    square(2.0)
    <BLANKLINE>
    """
    width = max(9, *(len(name) + 2 for name in fields))
    lines = "\n".join(f"{name + ':':{width}}{text}" for name, text in fields.items())
    parts = [title, formula and f"    {formula}", *notes, lines, example]
    return "\n\n".join(part for part in parts if part) + "\n"


def example_of(call: str, result: str) -> str:
    """An example with six digits after the decimal point."""
    return f">>> round({call}, 6)\n{result}"


def with_rest_of(other: Callable[..., Any]) -> Callable[[F], F]:
    """Complete the docstring of a variant of another function, which says only what differs.

    The variant takes the formula and the fields that it lacks from the other function. A field that begins with "as
    there" is added to what the other function says in that field.

    >>> def square(x):
    ...     '''The square.
    ...
    ...         z = x^2
    ...
    ...     Domain:  every x.
    ...     Ref:     Euclid.
    ...     '''
    >>> @with_rest_of(square)
    ... def fast_square(x):
    ...     '''The square, fast.
    ...
    ...     Domain:  as there; not nan.
    ...     '''
    >>> print(fast_square.__doc__)
    The square, fast.
    <BLANKLINE>
        z = x^2
    <BLANKLINE>
    Domain:  every x; not nan.
    Ref:     Euclid.
    <BLANKLINE>
    """

    def complete(function: F) -> F:
        own, rest = _parse(function.__doc__), _parse(other.__doc__)
        for name, text in own.fields.items():
            if text.startswith("as there"):
                whole = rest.fields[name].removesuffix(".") + text.removeprefix("as there")
                lines = textwrap.wrap(" ".join(whole.split()), _WIDTH - 9)
                own.fields[name] = ("\n" + 9 * " ").join(lines)
        formula = (own.formula or rest.formula).removeprefix("    ")
        function.__doc__ = describe(own.title, formula, rest.fields | own.fields, own.example, own.notes)
        return function

    return complete


class _Docstring(NamedTuple):
    title: str
    formula: str
    notes: list[str]
    fields: dict[str, str]
    example: str


def _parse(docstring: str | None) -> _Docstring:
    text, _, example = inspect.cleandoc(docstring or "").partition("\n\n>>>")
    title, *notes = text.split("\n\n")
    formula = notes.pop(0) if notes and notes[0].startswith("    ") else ""
    fields = {}
    if notes and _FIELD.match(notes[-1]):
        fields = {x.partition(":")[0]: x.partition(":")[2].strip() for x in _FIELD.split(notes.pop()) if x}
    return _Docstring(title, formula, notes, fields, example and f">>>{example}")
