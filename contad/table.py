"""The table of functions, made from the registry: `python -m contad.table > docs/functions.md`."""

import inspect
import sys
from collections.abc import Iterable
from typing import Any

from contad.rule import ScalarRule, rules

HEADER = ("name", "arguments", "description", "formula", "NumPy, SciPy", "operator", "reverse sweep", "accuracy")
_BOUND = "8 ulp + 4 ulp x condition number"


def function_table() -> str:
    """Every registered rule as a Markdown table, sorted by name.

    From a rule's docstring come its first line (the description), its line `z = ...` (the formula) and, for a rule that
    misses the bound on partials which all others keep, its line `Accuracy: ...`. The partials of a compiled rule are
    evaluated inside the reverse sweep; any other stores them when it is recorded.

    >>> function_table().splitlines()[4][:23]
    '| name | arguments | de'
    """
    import contad.ops  # noqa: F401  # registers the rules

    found = sorted(rules(), key=lambda rule: rule.name)
    head = f"# Functions\n\n{len(found)} rules. Generated from the registry by `python -m contad.table`.\n\n"
    lines = [HEADER, ["---"] * len(HEADER), *map(_row, found)]
    return head + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _row(rule: ScalarRule) -> list[str]:
    lines = inspect.cleandoc(rule.__doc__ or "").splitlines() or [""]
    return [
        _code(rule.name),
        ", ".join(rule.argument_names),
        _text(lines[0]),
        _code(_first(lines, "z = ")),
        ", ".join(_code(_ufunc_name(ufunc)) for ufunc in rule.ufuncs),
        _code(rule.operator or ""),
        "compiled" if rule.core else "stored partials",
        _text(_first(lines, "Accuracy:").removeprefix("Accuracy:") or _BOUND),
    ]


def _first(lines: Iterable[str], start: str) -> str:
    return next((line.strip() for line in lines if line.strip().startswith(start)), "")


def _ufunc_name(ufunc: Any) -> str:
    return ufunc if isinstance(ufunc, str) else f"numpy.{ufunc.__name__}"


def _text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{_text(text)}`" if text else ""


if __name__ == "__main__":
    if sys.argv[1:]:
        print("usage: python -m contad.table    (it takes no arguments)", file=sys.stderr)
        sys.exit(2)
    print(function_table(), end="")
