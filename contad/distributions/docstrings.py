"""The docstrings of functions that other libraries name: of one form, from what the formula says of itself."""

import inspect
import re
from collections.abc import Mapping

from contad.rules.scalar_rule import ScalarRule


def formula_of(rule: ScalarRule) -> str:
    """The first paragraph of the docstring of a formula, which is one."""
    return inspect.cleandoc(rule.__doc__ or "").partition("\n\n")[0].removesuffix(".")


def source_of(rule: ScalarRule) -> str:
    """Where the docstring of a formula says that it is from."""
    found = re.search(r"^\s*Ref: (.*)\.$", rule.__doc__ or "", re.MULTILINE)
    return found[1] if found else ""


def describe(title: str, formula: str, fields: Mapping[str, str], example: str = "") -> str:
    """A docstring: what a function is, its formula, fields, and an example.

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
    parts = [title, f"    {formula}", lines, example]
    return "\n\n".join(part for part in parts if part) + "\n"


def example_of(call: str, result: str) -> str:
    """An example, whose result has six digits after the point."""
    return f">>> round({call}, 6)\n{result}"
