"""How compile time grows with a program.

Straight-line code of 25 to 800 statements, `if` statements one after the other, also in a loop and as a ladder of
`elif`, and functions that return early and call the one below them three times on each path, 1 to 7 levels of them.
Beside the seconds of processor time that Numba takes for the function stand those that contad takes for its value and
gradient, generation included, and their ratio, which should not grow downwards. A size whose predecessor took more than
a minute is left out, and what the engine `generated` refuses is shown with its reason.
"""

import linecache
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any
from unittest import mock

import numba

import contad
from benchmarks.comparison.topic import EVERYTHING, Choice, Counted, Topic
from contad.errors import UnsupportedError

SIZES = (25, 50, 100, 200, 400, 800)
DEEPEST = 200  # rungs: few programs have more
LEVELS = (1, 2, 3, 4, 5, 6, 7)
PATIENCE = 60.0  # seconds
POINT = (0.3, 0.7)
STATEMENTS = ("a = a*x + 1/(a+k)", "a = math.exp(-a*k) + math.log(1.0 + a*a)", "a = max(a*k, x) + abs(a - k)")


def compile_text(text: str, name: str) -> Any:
    """The function f of a text, for Numba; its source can be read."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names: dict[str, Any] = {"math": math, "njit": numba.njit}
    exec(compile(text, file, "exec"), names)
    return names["f"]


def write_straight(statement: str, n: int) -> str:
    """n equal statements."""
    return "\n".join(["@njit", "def f(x, k):", "    a = x", *[f"    {statement}"] * n, "    return a"])


def write_branching(n: int) -> str:
    """n conditional statements, one after the other."""
    pairs = [line for j in range(n) for line in (f"    if x < {j / n!r}:", f"        a = a*k + {j}.0/(x+k)")]
    return "\n".join(["@njit", "def f(x, k):", "    a = x", *pairs, "    return a"])


def write_branching_in_a_loop(n: int) -> str:
    """n conditional statements in the body of a loop, on what they change."""
    pairs = [line for j in range(n) for line in (f"        if a < {j / n!r}:", f"            a = a*k + {j}.0/(x+k)")]
    return "\n".join(["@njit", "def f(x, k):", "    a = x", "    for i in range(3):", *pairs, "    return a"])


def write_ladder(n: int) -> str:
    """One conditional statement with n branches, each an elif of the one before."""
    pairs = [line for j in range(n) for line in (f"    elif x < {j / n!r}:", f"        a = a*k + {j}.0/(x+k)")]
    pairs[0] = pairs[0].replace("elif", "if")
    return "\n".join(["@njit", "def f(x, k):", "    a = x", *pairs, "    return a"])


def write_nested(n: int) -> str:
    """n levels of functions that return early and call the one below three times on each path."""
    lines = ["@njit", "def f_0(x, k):", "    if x < 0.0:", "        return -x", "    return x*x + k"]
    for j in range(1, n):
        below = f"f_{j - 1}"
        lines += ["@njit", f"def f_{j}(x, k):", "    if x < 0.5:"]
        lines += [f"        return {below}(-x, k) + {below}(x*0.5, k) * {below}(x - k, k)"]
        lines += [f"    return {below}(x, k) * {below}(x*0.25, k) - {below}(x - 1.0, k)"]
    return "\n".join([*lines, "@njit", "def f(x, k):", f"    return f_{n - 1}(x, k)"])


def time_once(run: Callable[[], Any]) -> float:
    """Processor time."""
    start = process_time()
    run()
    return process_time() - start


def measure(text: str, name: str) -> dict[str, Any]:
    """Seconds of compiling a function, and its value and gradient; or why that is refused."""
    f = compile_text(text, name)
    try:
        figures: dict[str, Any] = {"function": time_once(lambda: f(*POINT))}
    except RecursionError:
        return {"refused": "Numba ends in a RecursionError, without a derivative"}
    try:
        figures["gradient"] = time_once(lambda: contad.value_and_grad(f, (0, 1), engine="generated")(*POINT))
        figures["ratio"] = figures["gradient"] / figures["function"]
    except UnsupportedError as error:
        figures["refused"] = str(error)[:150]
    return figures


def grow(what: str, texts: list[tuple[int, str]]) -> Iterator[dict[str, Any]]:
    """The figures of a program that grows, until one takes too long or is refused."""
    for size, text in texts:
        found = {"program": what, "size": size} | measure(text, f"{what} {size}")
        yield found
        if found.get("gradient", math.inf) > PATIENCE:
            return


def write_programs(sizes: tuple[int, ...], levels: tuple[int, ...]) -> dict[str, list[tuple[int, str]]]:
    """The text of every program in its sizes."""
    found = {f"`{s}`": [(n, write_straight(s, n)) for n in sizes] for s in STATEMENTS}
    for what, write in (("`if`", write_branching), ("`if` in a loop", write_branching_in_a_loop)):
        found[what] = [(n, write(n)) for n in sizes]
    found["`elif`"] = [(n, write_ladder(n)) for n in sizes if n <= DEEPEST]
    return found | {"levels": [(n, write_nested(n)) for n in levels]}


def count_seconds(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Of every program in its sizes, with a fresh cache."""
    sizes, levels = (SIZES[:1], LEVELS[:2]) if choice.quick else (SIZES, LEVELS)
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, CONTAD_CACHE_DIR=folder):
        measure(write_straight(STATEMENTS[0], 2), "warm")  # what Numba and contad compile once in a process
        rows = [
            row
            for what, texts in write_programs(sizes, levels).items()
            if choice.chooses(what)
            for row in grow(what, texts)
        ]
    return {f"{row.pop('program')}, {row.pop('size')}": row for row in rows}


TOPIC = Topic(
    "Compile time",
    {"Seconds of processor time, one run": Counted("", count_seconds, of_programs=True)},
)
