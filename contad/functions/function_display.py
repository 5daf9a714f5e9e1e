"""The notebook display of an object that contad made from a function: facts, the place of the function, its source."""

import contextlib
import functools
import inspect
from collections.abc import Sequence
from typing import Any

from contad.display.markup import Markup, code_block, fold, page, table
from contad.functions.user_call import name_of


def write_function(title: str, f: Any, facts: Sequence[tuple[str, object]], *more: Markup) -> str:
    """The HTML of an object made from the user's function f: facts about it, more content, and the source of f."""
    plain = getattr(f, "py_func", f)
    while isinstance(plain, functools.partial):
        plain = plain.func
    rows = [("function", f"{name_of(f)}{_signature(f)}"), *facts]
    code = getattr(plain, "__code__", None)
    if code is not None:
        rows.append(("defined in", f"{code.co_filename}:{code.co_firstlineno}"))
    parts = [table(["", " "], rows, left=", "), *more]
    with contextlib.suppress(OSError, TypeError):  # typed at the console, or not Python code
        parts.append(fold("source", code_block(inspect.getsource(plain).rstrip())))
    return page(title, *parts)


def list_arguments(f: Any, argnums: Sequence[int]) -> str:
    """The names of arguments, or their numbers if they have no names."""
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        names = []
    return ", ".join(names[n] if n < len(names) else f"argument {n}" for n in argnums)


def _signature(f: Any) -> str:
    try:
        return str(inspect.signature(f))
    except (TypeError, ValueError):
        return "(...)"
