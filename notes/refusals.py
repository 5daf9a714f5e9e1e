"""What the engine `generated` refuses, and what to write instead: `python -m notes.refusals` writes the page anew.

The rows are read from the source of `contad/engines/source`: every call of `refuse`, `refusal` and `stop`, and every
UnsupportedError that is raised there, with the remedy that the message ends with.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from contad.engines.source.reading.progress import TAPE

SOURCE = Path(__file__).parent.parent / "contad" / "engines" / "source"
PAGE = Path(__file__).parent / "guide" / "refusals.md"
HEAD = """\
# What generated derivatives refuse

The engine `generated`, which contad tries first for a Numba function, refuses the constructs in these tables. Its
message names file, line, function and construct, and ends with what to write instead. A refusal is not an error by
itself: contad then tries the engine `tape`, and after that a Python copy. `contad.explain(f, *args)` says which
engine answers, and why the others do not.

```python
import contad
import numba
import numpy as np


@numba.njit
def smallest(x):
    return np.partition(x, 1)[0]


try:
    contad.grad(smallest, engine="generated")(np.array([3.0, 1.0, 2.0]))
except contad.errors.UnsupportedError as error:
    print(str(error).rpartition(": smallest: ")[2])
```

```text
the call of 'partition'; write it as a loop over numbers, or use engine="tape"
```

`...` stands for the part of your code that the message shows. Expressions that carry no derivative are not refused, but
passed on to Numba unchanged.

"""


class Refusal(NamedTuple):
    """One refusal in the source."""

    file: Path
    line: int
    construct: str
    remedy: str
    about: str  # what the function does that refuses


def find_refusals() -> list[Refusal]:
    """All refusals, in the order of files and lines."""
    found: list[Refusal] = []
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text())
        for function in [x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef)]:
            found += _refusals_of(file, function, tree)
    best: dict[tuple[Path, int, str], Refusal] = {}  # of nested functions the one with a docstring
    for x in found:
        known = best.get((x.file, x.line, x.construct))
        best[x.file, x.line, x.construct] = x if known is None or x.about or not known.about else known
    return sorted(best.values(), key=lambda x: (x.file, x.line, x.construct))


def _refusals_of(file: Path, function: ast.FunctionDef, tree: ast.Module) -> Iterator[Refusal]:
    """Those of one function; what `refuse` and `stop` hand on to one another is none."""
    if function.name in ("refuse", "stop", "refusal") and function.args.args[-1].arg == "remedy":
        return
    about = str(ast.get_docstring(function) or "").partition("\n")[0].rstrip(".")
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "UnsupportedError":
            text = next(iter(_texts(node.args[0], function, tree)))
            yield Refusal(file, node.lineno, *_split(text), about)
        elif name == "Unknown" and node.args:
            for text in _texts(node.args[0], function, tree):
                construct, remedy = _split(text)
                yield Refusal(file, node.lineno, f"a name that is read where {construct}", remedy or TAPE, about)
        elif name in ("refuse", "stop", "refusal"):
            # that of a call has its own node, and a default
            of_site = file.stem == "call_site" or ast.unparse(node.func).endswith("site.refuse")
            first = 0 if name == "stop" or of_site else 1
            named = {x.arg: x.value for x in node.keywords}
            if len(node.args) <= first and not (of_site and named):
                continue
            construct = node.args[first] if len(node.args) > first else ast.Constant("the arguments of ...")
            remedy = node.args[first + 1] if len(node.args) > first + 1 else named.get("remedy", ast.Constant(TAPE))
            for text in _texts(construct, function, tree):
                yield Refusal(file, node.lineno, text, next(iter(_texts(remedy, function, tree))), about)


def _split(text: str) -> tuple[str, str]:
    """The construct and the remedy of a message that is one text, without the place it begins with."""
    while text.startswith("...:"):
        text = text.removeprefix("...:").lstrip()
    construct, _, remedy = text.partition("; ")
    return construct, remedy


def _texts(node: ast.expr, function: ast.FunctionDef, tree: ast.Module) -> list[str]:
    """What an expression may be as a text, with `...` for what is computed."""
    if isinstance(node, ast.Constant):
        return [_shown(node.value)]
    if isinstance(node, ast.JoinedStr):
        parts = [_shown(x.value) if isinstance(x, ast.Constant) else "..." for x in node.values]
        return ["".join(map(str, parts))]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, function, tree), *_texts(node.orelse, function, tree)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        table = node.func.value
        values = _assigned(table.id, tree) if isinstance(table, ast.Name) else []
        given = [x for value in values if isinstance(value, ast.Dict) for x in value.values]
        return [text for x in (*given, *node.args[1:]) for text in _texts(x, function, tree)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return [text.replace("{}", "...") for text in _texts(node.func.value, function, tree)]
    if isinstance(node, ast.Name):
        values = _assigned(node.id, function) or _assigned(node.id, tree)
        return [text for x in values for text in _texts(x, function, tree)] or ["..."]
    return ["..."]


def _shown(text: object) -> str:
    return str(text).replace("{node}", "...")


def _assigned(name: str, where: ast.AST) -> list[ast.expr]:
    """What a name is given by assignments."""
    found = []
    for node in ast.walk(where):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [node.value for x in targets if isinstance(x, ast.Name) and x.id == name]
    return found


def page() -> str:
    """The page, of the source as it is."""
    parts = [HEAD]
    files: dict[Path, list[Refusal]] = {}
    for found in find_refusals():
        files.setdefault(found.file, []).append(found)
    for file, refusals in files.items():
        subject = str(ast.get_docstring(ast.parse(file.read_text()))).partition("\n")[0].rstrip(".")
        rows = dict.fromkeys((_construct(x), _cell(x.remedy)) for x in refusals)
        parts.append(f"## {subject}\n\n| refused | write instead |\n| --- | --- |\n")
        parts += [f"| {construct} | {remedy} |\n" for construct, remedy in rows]
        parts.append("\n")
    return "".join(parts).rstrip() + "\n"


def _construct(found: Refusal) -> str:
    """What is refused; of calls that are only shown, and of arguments, also what was being read."""
    bare = re.sub(r"[.,: ]", "", found.construct).removeprefix("the") in ("", "argumentsof", "axisin", "call")
    return _cell(found.construct + (f" ({found.about})" if bare and found.about else ""))


def _cell(text: str) -> str:
    """A text in a table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page())
