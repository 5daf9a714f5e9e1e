"""Functions as trees, from text and back, for tests of passes."""

import ast
import textwrap

from contad.engines.source.ir.printing import print_function


def function_of(text: str | list[str]) -> ast.FunctionDef:
    """The tree of a function, `# line 3` behind a statement as its note."""
    lines = text if isinstance(text, list) else textwrap.dedent(text).strip().splitlines()
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    for s in ast.walk(function):
        if isinstance(s, ast.stmt):
            note = lines[s.lineno - 1].rpartition("  # line ")[2]
            s.note = int(note) if note.isdigit() else 0
    return function


def text_of(function: ast.FunctionDef) -> str:
    """The text of a function."""
    return "\n".join(print_function(function))
