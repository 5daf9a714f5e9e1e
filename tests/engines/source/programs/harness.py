"""What all tables of programs share: a program is the body of a function, as text, which the engine has to
differentiate, to refuse by name, or to raise the errors of.

Generated derivatives run as plain Python, next to the function and to differences of it.
"""

import linecache
import math
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numba
import numpy as np
import pytest
from numba import njit, types
from numba.typed import Dict, List

import contad
from contad.engines.source import source
from contad.functions.python_copy import python_twin
from tests.engines.source.agreement import request
from tests.engines.source.plain_text import generate, numbers
from tests.judges.written import define
from tests.random_programs.generated_programs import copied, plainly

Plant = tuple[Any, str, Any]  # the owner of an attribute, its name, and what it is instead
X = np.array([0.6, -1.3, 2.1, 0.4])
ARGUMENTS = [
    np.array([0.3, -1.2, 0.7, 1.9, -0.4]), 0.7, 2, np.array([3, 0, -4, 1, 1]),
    np.arange(12.0).reshape(3, 4) * 0.3 - 1.0, True, np.array([2**31 - 1, 3, 7], np.int32),
]  # fmt: skip
KNOWN = {
    "np": np, "math": math, "njit": njit, "contad": contad, "numba": numba, "types": types, "Dict": Dict, "List": List,
}  # fmt: skip


class _List(list[Any]):
    empty_list = staticmethod(lambda kind: [])


class _Dict(dict[Any, Any]):
    empty = staticmethod(lambda *kinds, **named: {})


PLAINLY = {"njit": plainly, "List": _List, "Dict": _Dict}


class Table(NamedTuple):
    """Programs about one subject."""

    name: str
    takes: Mapping[str, str]  # by what is special about them
    refuses: Sequence[tuple[str, str]] = ()  # a part of the message, and the program
    raises: Sequence[tuple[str, str]] = ()  # a pattern of what the derivative raises, as the function does
    faults: Mapping[str, Plant] = {}  # each is found by a program
    shows: Mapping[str, tuple[str, ...]] = {}  # patterns in the texts of derivatives, or not in them: `!pattern`
    twice: Collection[str] = ()  # programs that are differentiated twice in every run: all others in long ones
    compiled: Collection[str] = ()  # and those that are compiled in every run
    overflows: bool = False  # integers are those of 64 bits once they are compiled, and exact in Python
    by_records: bool = False  # gradients are those of the engine `records` too, to ten digits
    before: str = ""  # definitions that stand before each program
    known: Mapping[str, Any] = {}  # what they name besides KNOWN
    as_numba: Collection[str] = ()  # programs that mean something else in Python: they are compiled to be compared
    plainly: Mapping[str, Any] = {}  # what names mean where a function runs as Python
    head: str = "x, a, k, idx, m, on, small"
    arguments: Sequence[Any] | Callable[[], Sequence[Any]] = ARGUMENTS
    elsewhere: Sequence[Sequence[Any]] = ()  # other arguments at which they have to be right, too
    argnums: tuple[int, ...] = (0, 1)
    settings: tuple[Plant, ...] = ()


def listed(text: str) -> list[tuple[str, str]]:
    """The programs of a text, each with what its first line, a comment, says; one line may stand behind it."""
    _, *parts = re.split(r"(?m)^# (.*)\n?", textwrap.dedent(text))
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [(name, body) if body else (name.partition(": ")[0], name.partition(": ")[2]) for name, body in pairs]


def numbered(text: str) -> dict[str, str]:
    """The programs of a text, which blank lines separate, by their numbers and what they return.

    Lines below each other that all return something are programs.
    """
    blocks = [block.splitlines() for block in textwrap.dedent(text).strip().split("\n\n")]
    bodies = [
        body
        for block in blocks
        for body in (block if all(line.startswith("return ") for line in block) else ["\n".join(block)])
    ]
    return {f"{k}, {body.splitlines()[-1].strip()[:40]}": body for k, body in enumerate(bodies)}


def programs(text: str) -> dict[str, str]:
    """The same by what they are about."""
    found = dict(listed(text))
    assert len(found) == len(listed(text))
    return found


def function_of(table: Table, body: str, name: str = "") -> Any:
    """An njit function with a body, in a file of its own; definitions may stand before a line `---`."""
    before, _, body = body.rpartition("---\n")
    text = f"{table.before}\n{before}@njit\ndef f({table.head}):\n{textwrap.indent(body, '    ')}"
    known = {**KNOWN, **table.known, "__name__": "programs"}
    return define(text, f"<{table.name}: {name or hash(text)}>", known)["f"]


def defined(text: str, filename: str, **known: Any) -> dict[str, Any]:
    """The functions of a text, as if it were a file."""
    names = define(text, f"<{filename}>", {**KNOWN, **known, "__name__": "programs"})
    return {name: f for name, f in names.items() if getattr(f, "__module__", "") == "programs"}


def functions_of(text: str, head: str, **known: Any) -> dict[str, Any]:
    """The plain functions of the bodies in a text, by their names."""
    made = {name: f"def f({head}):\n{textwrap.indent(body, '    ')}" for name, body in programs(text).items()}
    known = {**KNOWN, **known}
    return {name: define(body, f"<{name}, {crc32(body.encode())}>", known)["f"] for name, body in made.items()}


def given_to(table: Table) -> list[Any]:
    """Arguments of its own for a program of a table."""
    return copied(table.arguments() if callable(table.arguments) else table.arguments)


def plain(table: Table, f: Any) -> Callable[..., Any]:
    """The function, and what it calls, as Python runs it."""
    filename = f.py_func.__code__.co_filename
    known = {**KNOWN, **table.known, **PLAINLY, **table.plainly}
    return define("".join(linecache.getlines(filename)), filename, known)["f"]


def run(table: Table, f: Any, mode: str = "value_and_grad") -> Callable[..., Any]:
    """The derivative of a function, as plain Python."""
    return generate(f, given_to(table), table.argnums, mode)


def text_of(table: Table, name: str) -> str:
    """The text of the derivative of a program."""
    f = function_of(table, table.takes[name], name)
    return source(request(f, *given_to(table), argnums=table.argnums))


def along(f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int], step: float) -> np.ndarray:
    """Differences of what f gives, a row for each number that it is differentiated by."""
    rows = []
    for k in argnums:
        for at in np.ndindex(np.shape(args[k])):
            sides = []
            for sign in (1.0, -1.0):
                given = copied(args)
                given[k] = np.array(given[k])
                given[k][at] += sign * step
                given[k] = given[k] if np.ndim(given[k]) else float(given[k])
                sides.append(np.array(numbers(f(*given)), float))
            rows.append((sides[0] - sides[1]) / (2.0 * step))
    return np.reshape(rows, (len(rows), -1) if rows else (0, 0))


def require_right(table: Table, name: str) -> None:
    """Value and gradient are those of the function, run as Python, and of differences of it; arguments stay."""
    f = function_of(table, table.takes[name], name)
    derivative, function = run(table, f), f if name in table.as_numba else plain(table, f)
    for k, args in enumerate((given_to(table), *table.elsewhere)):
        given = copied(args)
        with np.errstate(all="ignore"):  # as compiled code; NumPy's warnings are the function's errors
            value, gradient = derivative(*given)
        for x, y in zip(given, args, strict=True):
            assert not isinstance(x, np.ndarray) or x.tobytes() == y.tobytes()
        np.testing.assert_allclose(value, function(*given), rtol=1e-12)
        expected = along(function, args, table.argnums, 1e-6)[:, :1].ravel()
        assert k or np.any(expected != 0.0)
        np.testing.assert_allclose(numbers(gradient), expected, rtol=1e-6, atol=1e-7)
        if table.by_records:
            expected = numbers(contad.grad(python_twin(f), table.argnums, engine="records")(*copied(args)))
            scale = np.max(np.abs(expected))
            np.testing.assert_allclose(numbers(gradient), expected, rtol=1e-10, atol=1e-12 * scale)


def require_right_twice(table: Table, name: str) -> None:
    """A product with the Hessian is that of differences of the gradient; forward mode has the gradient's slope."""
    f, draw = function_of(table, table.takes[name], name), np.random.default_rng(1)
    given = tuple(given_to(table))
    v = tuple(draw.normal(size=np.shape(given[k]) or None) for k in table.argnums)
    gradient = run(table, f)
    slope = numbers(run(table, f, "jvp")(given, v)[1])
    np.testing.assert_allclose(slope, numbers(gradient(*given)[1]) @ numbers(v), rtol=1e-11, atol=1e-13)
    expected = numbers(v) @ along(lambda *args: gradient(*args)[1], given, table.argnums, 1e-5)
    np.testing.assert_allclose(numbers(run(table, f, "hvp")(given, v)[1]), expected, rtol=1e-6, atol=1e-7)


def fails(table: Table) -> bool:
    """Whether a program of a table is found to be wrong."""
    for name in table.takes:
        try:
            require_right(table, name)
        except (AssertionError, LookupError, NameError, contad.ContadError):
            return True
    return any(not is_refused(table, *row) for row in table.refuses)


def is_refused(table: Table, words: str, body: str) -> bool:
    """Whether a program is refused in these words."""
    try:
        run(table, function_of(table, body, "refused"))
    except contad.UnsupportedError as error:
        return words in str(error) and bool(re.match(r"<.*>:\d+: ", str(error)))
    return False


def case(table: Table, *row: Any, name: str) -> Any:
    """A case of a test, with the names of its table and of the program."""
    return pytest.param(table, *row, id=f"{table.name}: {name}")
