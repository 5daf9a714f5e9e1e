"""Elementary functions that the value alone needs, which a gradient whose value nobody asks for passes over.

    log_rows(t_rows, log_rows_2, count)        if asks_value:
    ...                                   ->       log_rows(t_rows, log_rows_2, count)
    s += t - math.lgamma(y[i])                 if asks_value:
                                                   s += t - math.lgamma(y[i])

A sum that only the value is made of is left as it is elsewhere: it takes less than a test.
"""

import ast
from collections.abc import Collection, Iterator

from contad.engines.source.writing.live_names import names_in, names_read
from contad.native.elementary.elementary_table import ELEMENTARY
from contad.native.request import ASKS

_ROWS = frozenset(f"{name}_rows" for name in ELEMENTARY)
_LIBRARY = frozenset(
    f"math.{name}" for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "erfc", "exp", "expm1",
        "gamma", "hypot", "lgamma", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh",
    )
) | {f"np.{name}" for name in ("cbrt", "exp2", "log2", "logaddexp", "power")}  # fmt: skip


def ask_for_value(lines: list[str], rules: Collection[str]) -> list[str] | None:
    """The lines of a function that returns (value, gradients), with `asks_value` behind its parameters.

    `rules` are the functions in it, beside those of libraries, that have no effect but their result. None where no
    function would be passed over.
    """
    calls = _LIBRARY | set(rules)
    if not any(f"{name}(" in line for line in lines for name in (*calls, *_ROWS)):
        return None
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    statements = list(_statements(function.body))
    unneeded = _only_in_value(statements, calls)
    found = list(lines)
    for s in statements:
        is_passed_over = _made_by(s, calls) & unneeded and _calls_in(s) & (calls | _ROWS)
        if not is_passed_over or s.end_lineno != s.lineno:
            continue
        line = lines[s.lineno - 1]
        indent = line[: s.col_offset]
        if isinstance(s, ast.Assign):
            code, separator, note = line.partition("  # ")
            found[s.lineno - 1] = f"{code} if {ASKS} else 0.0{separator}{note}"
        else:
            found[s.lineno - 1] = f"{indent}if {ASKS}:\n    {line}"
    if found == lines:
        return None
    found[0] = f"{found[0].removesuffix('):')}, {ASKS}):"
    return "\n".join(found).split("\n")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements, those around others before them."""
    for s in body:
        yield s
        for inner in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(s, inner, []))


def _calls_in(node: ast.AST) -> set[str]:
    return {ast.unparse(x.func) for x in ast.walk(node) if isinstance(x, ast.Call)}


def _made_by(s: ast.stmt, calls: Collection[str]) -> set[str]:
    """The name that a statement makes and has no effect beside; none for other statements."""
    if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and len(s.value.args) == 3:
        into = s.value.args[1]
        return {into.id} if ast.unparse(s.value.func) in _ROWS and isinstance(into, ast.Name) else set()
    target = s.targets[0] if isinstance(s, ast.Assign) else s.target if isinstance(s, ast.AugAssign) else None
    if not isinstance(s, (ast.Assign, ast.AugAssign)) or not _calls_in(s.value) <= {*calls, "new_row"}:
        return set()
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and not _calls_in(target):
        return {target.value.id}
    return {target.id} if isinstance(target, ast.Name) else set()


def _only_in_value(statements: list[ast.stmt], calls: Collection[str]) -> set[str]:
    """The names that nothing but the value is made of: numbers, and rows that loops write to."""
    made = [(s, _made_by(s, calls)) for s in statements]
    rows = {name for s, names in made for name in names if isinstance(s, ast.Assign) and "new_row" in _calls_in(s)}
    found = {name for _, names in made for name in names}
    found -= {name for s, names in made for name in names - rows if _is_array(s)}
    for s, names in made:
        if not names:
            found -= _named_by(s)
    while lost := {x for s, names in made if names and not names <= found for x in names_read(s)} & found:
        found -= lost
    return found


def _is_array(s: ast.stmt) -> bool:
    """Whether a statement writes to an array."""
    target = s.targets[0] if isinstance(s, ast.Assign) else getattr(s, "target", None)
    return target is None or isinstance(target, ast.Subscript)


def _named_by(s: ast.stmt) -> set[str]:
    """The names of a statement that may do anything with them; without those of statements inside it, or a value."""
    parts: list[ast.AST] = [s]
    if isinstance(s, ast.For):
        parts = [s.target, s.iter]
    elif isinstance(s, (ast.If, ast.While)):
        parts = [s.test]
    elif isinstance(s, ast.Return) and isinstance(s.value, ast.Tuple) and not isinstance(s.value.elts[0], ast.Tuple):
        parts = [*s.value.elts[1:]]
    return {x.id for part in parts for x in names_in(part)}
