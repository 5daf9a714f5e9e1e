"""What the first gradients of a process cost: contad with an empty and a filled cache, beside other libraries.

Each figure is the least of a few processes (`benchmarks/first_calls.py`), which read the clock as they go.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparison.tools import find_installed
from benchmarks.comparison.topic import EVERYTHING, Choice, Counted, Topic
from benchmarks.first_calls import PROGRAMS, READ, SINGLE

ROOT = Path(__file__).parents[2]
CONTAD, PEERS, CONTROL = ("eager", "record", "njit"), ("autograd", "jax", "torch"), "without a gradient"
EMPTY, FILLED = "empty cache", "filled cache"
FILLING = {"eager": 100_000, "record": 100_000, "njit": 1}  # calls that fill it, as somebody's of the day before
REPEATS = 3
WRONG = "wrong"
SMALL, WARM, GRADIENTS = "differences", "after `python -m contad warm`", "A small eager gradient"
Figures = dict[str, Any]  # what a process prints


def run_module(folder: str, *arguments: str) -> str:
    """What a new process prints that runs a module; its caches are in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, check=True,
        env=os.environ | {
            "PYTHONDONTWRITEBYTECODE": "", "CONTAD_CACHE_DIR": f"{folder}/contad", "NUMBA_CACHE_DIR": f"{folder}/numba",
        },
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return done.stdout


def run_fresh(program: str, way: str, calls: int, folder: str, *options: str) -> Figures:
    """What a new process finds, whose caches are in a folder."""
    found: Figures = json.loads(run_module(folder, "benchmarks.first_calls", program, way, str(calls), *options))
    return found


def keep_least(found: list[Figures]) -> Figures:
    """The least seconds of several processes."""
    calls = {n: min(f["calls"][n] for f in found) for n in found[0]["calls"]}
    return {"import": min(f["import"] for f in found), "calls": calls, "gradient": found[0]["gradient"]}


@functools.cache
def time_way(program: str, way: str, quick: bool) -> Mapping[str, Figures]:
    """By the state of the cache, if there is one: what processes find that take gradients in one way."""
    calls, repeats = (10, 1) if quick else (10_000, REPEATS)
    if way not in CONTAD:
        with tempfile.TemporaryDirectory() as folder:
            return {"": keep_least([run_fresh(program, way, calls, folder) for _ in range(repeats)])}
    found = []
    for _ in range(repeats - 1 or 1):
        with tempfile.TemporaryDirectory() as folder:
            found.append(run_fresh(program, way, calls, folder))
    with tempfile.TemporaryDirectory() as folder:
        run_fresh(program, way, 1 if quick else FILLING[way], folder)
        filled = [run_fresh(program, way, calls, folder) for _ in range(repeats)]
    return {EMPTY: keep_least(found), FILLED: keep_least(filled)}


def time_program(program: str, choice: Choice) -> Iterator[tuple[str, Figures | None]]:
    """The rows of a program: a name, and what was found; None where the gradient was not that of the first row."""
    first = None
    for way in (*CONTAD, *find_installed(PEERS), CONTROL):
        for state, figures in time_way(program, way, choice.quick).items():
            first = first or figures["gradient"]
            agrees = way == CONTROL or np.allclose(figures["gradient"], first, rtol=1e-9, atol=1e-12)
            yield ", ".join(filter(None, (f"{program}: {way}", state))), figures if agrees else None


def list_figures(choice: Choice) -> Iterator[tuple[str, str, Figures | None]]:
    """All rows, each with its program."""
    for program in filter(choice.chooses, PROGRAMS):
        for name, figures in time_program(program, choice):
            yield name, program, figures


def count_totals(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Seconds since the start of a process: when the library was there, and after so many gradients."""
    return {
        name: {"": WRONG}
        if figures is None
        else {"import": figures["import"]} | {f"{int(n):,}": seconds for n, seconds in figures["calls"].items()}
        for name, _, figures in list_figures(choice)
    }


def count_calls(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Seconds of a call: of the first, and on average of those between two looks at the clock."""
    table: dict[str, dict[str, Any]] = {}
    for name, program, figures in list_figures(choice):
        row = table[name] = {"operations": str(PROGRAMS[program].operations)}
        if figures is None:
            row["the first"] = WRONG
            continue
        done, before = 0, figures["import"]
        for n in READ:
            if (seconds := figures["calls"].get(str(n))) is not None:
                row["the first" if n == 1 else f"{done + 1:,} to {n:,}"] = (seconds - before) / (n - done)
                done, before = n, seconds
    return table


def count_small_gradients(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Milliseconds of the first gradient of a small plain function beside the import, microseconds of later ones."""
    if not choice.chooses(SMALL):
        return {}
    calls, repeats = (SINGLE[1], 1) if choice.quick else (SINGLE[-1], REPEATS)
    rows: dict[str, list[Figures]] = {EMPTY: [], WARM: []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            rows[EMPTY].append(run_fresh(SMALL, "eager", calls, folder, "--single"))
    with tempfile.TemporaryDirectory() as folder:
        if choice.quick:
            run_fresh(SMALL, "eager", 1, folder)
        else:
            run_module(folder, "contad", "warm")
        rows[WARM] = [run_fresh(SMALL, "eager", calls, folder, "--single") for _ in range(repeats)]
    return {row: _format_small({n: min(f[n] for f in found) for n in found[0]}) for row, found in rows.items()}


def _format_small(seconds: Figures) -> dict[str, str]:
    later = {n: s for n, s in seconds.items() if n != "1"}
    return {"1st, ms": f"{1e3 * seconds['1']:.0f}"} | {f"{int(n):,}th, us": f"{1e6 * s:.0f}" for n, s in later.items()}


def tell_wrong(parts: dict[str, Any]) -> list[str]:
    """A line for every gradient that is not that of the first row."""
    rows = parts["The whole process, ms"]["table"] if parts else {}
    return [f"{name}: {WRONG}" for name, row in rows.items() if WRONG in row.values()]


TOPIC = Topic(
    "The first second",
    {
        "The whole process, ms": Counted(
            "From the start of a process, imports included, to the end of the 1st, 10th, 100th ... gradient. The cache "
            "is filled by a process like it that goes on for longer.",
            count_totals, "ms", of_programs=True,
        ),
        "One call, us": Counted("The same processes, call by call.", count_calls, "us", of_programs=True),
        GRADIENTS: Counted(
            "Of five numbers, 13 operations, in plain code: the first call beside the import, then medians of calls "
            f"around the one that is named. {WARM.capitalize()}, once per machine, there is nothing to compile.",
            count_small_gradients, of_programs=True,
        ),
    },
    tell_wrong,
)  # fmt: skip
