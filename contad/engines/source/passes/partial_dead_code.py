"""Partial dead code elimination: skips elementary functions that only the value needs, if no caller asks for the value.

    log_rows(t_rows, log_rows_2, count)        if asks_value:
    ...                                   ->       log_rows(t_rows, log_rows_2, count)
    s += t - math.lgamma(y[i])                 if asks_value:
                                                   s += t - math.lgamma(y[i])

Other sums that only the value needs stay unguarded: they cost less than a test.

Ref: Knoop, Ruething & Steffen (1994), "Partial dead code elimination"; Muchnick (1997), section 18.10.
"""

import ast
from collections.abc import Collection

from contad.elementary.elementary_table import ELEMENTARY
from contad.engines.source.ir.syntax import expression, statement
from contad.engines.source.ir.tree_queries import called_name, names_in, nodes_in
from contad.engines.source.ir.writer import NameTable
from contad.engines.source.passes.dependence import may_be_left_out
from contad.engines.source.passes.liveness import names_read
from contad.numba_functions.request import ASKS

_ROWS = frozenset(f"{name}_rows" for name in ELEMENTARY)
_NEW_ROWS = frozenset(("new_row", "new_single_row"))
_LIBRARY = frozenset(
    f"math.{name}" for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "erfc", "exp", "expm1",
        "gamma", "hypot", "lgamma", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh",
    )
) | {f"np.{name}" for name in ("cbrt", "exp2", "log2", "logaddexp", "power")}  # fmt: skip


def ask_for_value(function: ast.FunctionDef, names: NameTable) -> bool:
    """Guard the statements that only the value needs by a new parameter `asks_value`.

    The function returns (value, gradients). If no elementary function would be skipped, nothing changes: False.
    """
    rules = {f"value_{name}" for name in names.rules}
    calls = _LIBRARY | {f for f in rules if may_be_left_out(f, names.rules)}
    costly = calls | _ROWS
    if _calls_in(function).isdisjoint(costly):
        return False
    simple = [s for s in nodes_in(function) if isinstance(s, ast.stmt) and s is not function]
    unneeded = _only_in_value(simple, calls)
    guarded = {s for s in simple if _made_by(s, calls) & unneeded and _calls_in(s) & costly}
    if guarded:
        _guard(function.body, guarded)
        function.args.args.append(ast.arg(ASKS))
    return bool(guarded)


def _guard(body: list[ast.stmt], guarded: set[ast.stmt]) -> None:
    """Make the `guarded` statements run only if the value is asked for."""
    for k, s in enumerate(body):
        if s not in guarded:
            for inner in ("body", "orelse"):
                _guard(getattr(s, inner, []), guarded)
        elif isinstance(s, ast.Assign):
            s.value = expression("value if asks else 0.0", value=s.value, asks=ASKS)
        else:
            body[k] = statement("if asks: pass", asks=ASKS)
            body[k].body = [s]  # type: ignore[attr-defined]


def _calls_in(node: ast.AST) -> set[str]:
    return {called_name(x) for x in nodes_in(node) if isinstance(x, ast.Call)}


def _made_by(s: ast.stmt, calls: Collection[str]) -> set[str]:
    """The name that a statement without other effects assigns; none for other statements."""
    if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and len(s.value.args) == 3:
        into = s.value.args[1]
        return {into.id} if called_name(s.value) in _ROWS and isinstance(into, ast.Name) else set()
    target = s.targets[0] if isinstance(s, ast.Assign) else s.target if isinstance(s, ast.AugAssign) else None
    if not isinstance(s, (ast.Assign, ast.AugAssign)) or not _calls_in(s.value) <= {*calls, *_NEW_ROWS}:
        return set()
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and not _calls_in(target):
        return {target.value.id}
    return {target.id} if isinstance(target, ast.Name) else set()


def _only_in_value(statements: list[ast.stmt], calls: Collection[str]) -> set[str]:
    """The names that only the value needs: numbers, and rows that loops write."""
    made = [(s, _made_by(s, calls)) for s in statements]
    of_rows = [names for s, names in made if isinstance(s, ast.Assign) and not _NEW_ROWS.isdisjoint(_calls_in(s))]
    rows = {name for names in of_rows for name in names}
    found = {name for _, names in made for name in names}
    found -= {name for s, names in made for name in names - rows if _is_array(s)}
    for s, names in made:
        if not names:
            found -= _named_by(s)
    read = [(names, names_read(s)) for s, names in made if names]
    while lost := {x for names, needed in read if not names <= found for x in needed} & found:
        found -= lost
    return found


def _is_array(s: ast.stmt) -> bool:
    """Whether a statement writes to an array."""
    target = s.targets[0] if isinstance(s, ast.Assign) else getattr(s, "target", None)
    return target is None or isinstance(target, ast.Subscript)


def _named_by(s: ast.stmt) -> set[str]:
    """The names that a statement uses itself, without nested statements and assigned values."""
    parts: list[ast.AST] = [s]
    if isinstance(s, ast.For):
        parts = [s.target, s.iter]
    elif isinstance(s, (ast.If, ast.While)):
        parts = [s.test]
    elif isinstance(s, ast.Return) and isinstance(s.value, ast.Tuple) and not isinstance(s.value.elts[0], ast.Tuple):
        parts = [*s.value.elts[1:]]
    return {x.id for part in parts for x in names_in(part)}
