"""What tests of all passes share: a table of programs for each pass, which are rewritten and run as plain Python.

A program is the body of a function `run`, as text. Before the pass and after it, it has to give the same numbers to the
last bit, or raise the same error, for several arguments; what `np.empty` makes holds NaN, so that whoever reads it is
found.
"""

import ast
import itertools
import math
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import contad
from contad.elementary.elementary_table import BY_CALL
from contad.elementary.rows import are_apart
from contad.engines.source.ir.printing import print_statements
from contad.engines.source.ir.tree_queries import called_name, key, nodes_in, note_of
from contad.engines.source.ir.writer import NameTable
from tests.engines.source.trees import function_of, text_of

Plant = tuple[Any, str, Any]  # the owner of an attribute, its name, and what it is instead


class Table(NamedTuple):
    """A pass, and what is expected of it."""

    name: str
    apply: Callable[[ast.FunctionDef, NameTable], Any]  # rewrites a function; definitions that it needs, if any
    head: str  # of functions
    end: str  # what they return
    arguments: Callable[[], list[tuple[Any, ...]]]
    changes: Mapping[str, str]  # bodies that it must change, by what is special about them
    leaves: Mapping[str, str]  # bodies that it must leave as they are
    expect: Callable[[str, str, str], None] = lambda name, before, after: None  # of texts that it has changed
    shows: Mapping[str, tuple[str, ...]] = {}  # patterns that are in the new texts of programs, or not: `!pattern`
    faults: Mapping[str, Plant] = {}  # each is found by a program, or by a random nest
    settings: tuple[Plant, ...] = ()
    seen: Callable[[Any], Any] = lambda result: result  # what of a result has to be the same
    nests: int = 0  # how many of the random nests it changes at least
    known: tuple[tuple[Any, ...], ...] = ()  # what `NameTable.add` is given: kinds, names, what memory these may be


def programs(text: str) -> dict[str, str]:
    """The programs of a text by their names, each of which is a comment before its program."""
    _, *parts = re.split(r"(?m)^# (.*)\n", textwrap.dedent(text))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def text_with(table: Table, body: str) -> str:
    """A whole function."""
    return f"{table.head}\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n    {table.end}"


def rewrite(table: Table, text: str) -> tuple[str, str, bool]:
    """The text of a function as it is printed, after the pass, and whether that is another tree.

    Its statements are those of the user's lines, but those that make zeros, which are of adjoints.
    """
    function = function_of(text)
    for s in nodes_in(function):
        if isinstance(s, ast.stmt) and not note_of(s) and "zeros" not in called_name(getattr(s, "value", s)):
            s.note = s.lineno
    before, was = text_of(function), key(function)
    numbers = itertools.count()
    names = NameTable(lambda hint: f"{hint}_{next(numbers)}", {}, "run")
    for known in table.known:
        names.add(*known)
    definitions = table.apply(function, names)
    after = "\n".join([*print_statements(definitions if isinstance(definitions, list) else []), text_of(function)])
    return before, after, key(function) != was


class _Numpy(SimpleNamespace):
    """NumPy, where nothing is in an empty array."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _empty(shape: Any, dtype: Any = float) -> Any:
    return np.full(shape, np.nan if dtype is float else 77, dtype)


def _brief(fill: float) -> Callable[[tuple[int, ...]], np.ndarray]:
    """Arrays on the stack: all of one line of the program are in the same memory."""
    rows: dict[int, np.ndarray] = {}

    def make(shape: tuple[int, ...]) -> np.ndarray:
        row = rows.setdefault(sys._getframe(1).f_lineno, np.empty(64))
        row[:] = fill
        return row[: math.prod(shape)].reshape(shape)

    return make


def _elementary(name: str) -> Callable[[float], float]:
    """An elementary function, as functions that are no rows compute it."""
    (known,) = (x for x, function in BY_CALL.items() if function.name == name)
    return NAMES[known] if known in NAMES else getattr(math, known.removeprefix("math."))


def _rows_of(name: str) -> Callable[..., None]:
    def run(x: Any, z: Any, n: int) -> None:
        z[:n] = [_elementary(name)(t) for t in x[:n]]

    return run


NAMES: dict[str, Any] = {
    "np": _Numpy(empty=_empty), "math": math, "prange": lambda place, iterations: iterations, "place": int,
    "lent_zeros": lambda slot, shape: np.zeros(shape), "lent_empty": lambda slot, shape: _empty(shape),
    "add_freely": lambda total, term: total + term, "select": lambda test, x, y: x if test else y,
    "new_row": lambda: _empty(8), "elementary_rows": _rows_of, "elementary": _elementary,
    "are_apart": are_apart, "exp_rows": _rows_of("exp"), "value_own": math.sqrt, "value_other": math.sqrt,
    "other": math.sqrt, "value_expit": contad.expit, "value_log1p_exp": contad.ops.log1p_exp,
    "value_log1m_exp": contad.ops.log1m_exp, "value_log_expit": contad.ops.log_expit,
}  # fmt: skip


def outcomes(table: Table, text: str) -> list[str]:
    """What a function gives for arguments of a table, bits and all, with what it leaves in them; or its error."""
    kept: list[np.ndarray] = []
    names: dict[str, Any] = NAMES | {
        "brief_empty": _brief(np.nan), "brief_zeros": _brief(0.0), "keep_array": kept.append,
        "take_array": lambda: kept.pop(0),
    }  # fmt: skip
    try:
        exec(text, names)
    except SyntaxError as error:
        return [repr(error)]
    return [_outcome(table, names["run"], args) for args in table.arguments()]


def _outcome(table: Table, run: Callable[..., Any], args: tuple[Any, ...]) -> str:
    own = [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]
    try:
        return _bits([table.seen(run(*own)), own])
    except Exception as error:
        return repr(error)


def _bits(x: Any) -> str:
    """Numbers with all their digits; a zero has no sign, as 0 - y and -y differ by it."""
    if isinstance(x, (tuple, list)):
        return "(" + " ".join(map(_bits, x)) + ")"
    return repr((x + 0.0).tolist()) if isinstance(x, np.ndarray) else repr(float(x) + 0.0)


def is_wrong(table: Table, text: str) -> bool:
    """Whether what the pass makes of a function gives something else, or is no function at all."""
    before, after, _ = rewrite(table, text)
    return outcomes(table, before) != outcomes(table, after)


def require_change(table: Table, name: str) -> None:
    """A program is changed as it has to be."""
    before, after, is_changed = rewrite(table, text_with(table, table.changes[name]))
    assert is_changed
    expected = outcomes(table, before)
    assert outcomes(table, after) == expected
    assert any("Error(" not in x for x in expected)
    assert _lost_notes(before, after) == set()
    table.expect(name, before, after)
    for pattern in table.shows.get(name, ()):
        assert bool(re.search(pattern.removeprefix("!"), after, re.MULTILINE)) != pattern.startswith("!"), pattern


def _lost_notes(before: str, after: str) -> set[str]:
    """The statements that stand once in a text, and in the new one without the line of the user's."""
    old, new = ([line.strip().partition("  # line ") for line in text.splitlines()] for text in (before, after))
    count = Counter(x for x, _, _ in old)
    noted = [(x, note, {n for y, _, n in new if x == y}) for x, _, note in old if note and count[x] == 1]
    return {x for x, note, found in noted if found and note not in found}
