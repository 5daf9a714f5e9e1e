"""What a gradient by the engine tape costs: `python -m benchmarks.tape [--quick] [--json]`.

Nanoseconds per operation for the value and the whole gradient, beside the function itself (the control, taken twice)
and the gradient written by hand; seconds to the first gradient in a fresh process, with an empty cache and with a full
one; and what the call from Python adds to a bare Numba call. All gradients are compared before anything is timed.
"""

import tempfile
from typing import Any

import numpy as np
from numba import njit, typeof

from benchmarks.command import parser, show
from benchmarks.njit_workloads import Program, programs
from benchmarks.startup import fresh
from benchmarks.timing import collector, fastest, markdown, noise
from contad.engines.tape import build
from contad.native.arena import USED, arena
from contad.native.request import Request
from contad.native.words import word

TOLERANCE = 1e-9

FIRST_CALL = """
from time import perf_counter
from benchmarks.njit_workloads import programs
point = programs(0.01)[3]
point.f(*point.point)
start = perf_counter()
from benchmarks.tape import gradient
gradient(point)(*point.point)
print(perf_counter() - start)
"""


class Disagreement(Exception):
    """The tape and the gradient by hand gave different numbers."""


def gradient(program: Program) -> Any:
    """The value and gradient of a program by the tape, as a Numba function."""
    kinds = tuple(map(typeof, program.point))
    return build(Request(program.f.py_func, program.f, kinds, program.argnums, False, "value_and_grad"))


@njit
def _cells() -> int:
    return word(arena(), USED)


def operations(program: Program) -> int:
    """How many records the tape pushes for a program at its point."""
    names = ", ".join(f"a{k}" for k in range(len(program.point)))
    known: dict[str, Any] = {"f": program.f, "cells": _cells}
    exec(f"def counted({names}):\n    return f({names}), cells()\n", known)
    counted = njit(known["counted"])
    kinds = tuple(map(typeof, program.point))
    run = build(Request(counted.py_func, counted, kinds, program.argnums, True, "value_and_grad"))
    (_, used), _ = run(*program.point)
    return int(used) - int(_cells()) - sum(np.size(program.point[k]) for k in program.argnums)


def check(program: Program, run: Any) -> None:
    """Compare with the gradient by hand; raises Disagreement."""
    value, got = run(*program.point)
    expected_value, expected = program.by_hand(*program.point)
    for x, y in zip((value, *got), (expected_value, *expected), strict=True):
        if not np.abs(np.subtract(x, y)).max() <= TOLERANCE * max(np.abs(y).max(), 1e-3):
            raise Disagreement(f"{program.name}: {x} by the tape, {y} by hand")


def measure(program: Program, repeats: int) -> dict[str, Any]:
    """Nanoseconds per operation."""
    run = gradient(program)
    check(program, run)
    n = operations(program)
    with collector(False):
        control = [fastest(lambda: program.f(*program.point), repeats) for _ in range(2)]
        by_hand = fastest(lambda: program.by_hand(*program.point), repeats)
        tape = fastest(lambda: run(*program.point), repeats)
    per = 1e9 / n
    return {
        "name": program.name, "operations": n, "control": min(control) * per, "noise": noise(*control),
        "by_hand": by_hand * per, "tape": tape * per,
    }  # fmt: skip


def calls(repeats: int) -> dict[str, float]:
    """Seconds per call from Python: of a function of one float, and of its gradient."""

    @njit
    def square(x):
        return x * x

    run = build(Request(square.py_func, square, (typeof(1.5),), (0,), False, "value_and_grad"))
    run(1.5)
    with collector(False):
        return {
            "bare": fastest(lambda: square(1.5), repeats, 10_000),
            "tape": fastest(lambda: run(1.5), repeats, 10_000),
        }


def first_calls() -> dict[str, float]:
    """Seconds to the first gradient of the recurrence in a fresh process: the cache empty, then full."""
    with tempfile.TemporaryDirectory() as folder:
        times = [fresh(FIRST_CALL, CONTAD_CACHE_DIR=folder, NUMBA_CACHE_DIR=folder) for _ in range(2)]
    return {"cold": times[0], "cached": times[1]}


def report(figures: dict[str, Any]) -> str:
    """The figures as text."""
    rows = [
        (w["name"], str(w["operations"]), f"{w['control']:.2f}", f"{100 * w['noise']:.0f} %", f"{w['by_hand']:.2f}",
         f"{w['tape']:.2f}", f"{w['tape'] / w['control']:.1f}", f"{w['tape'] / w['by_hand']:.1f}")
        for w in figures["programs"]
    ]  # fmt: skip
    header = ("ns per operation", "operations", "function", "noise", "by hand", "tape", "x function", "x by hand")
    calls, first = figures["calls"], figures["first"]
    return "\n".join([
        markdown(header, rows),
        "",
        f"a call from Python: {calls['bare'] * 1e6:.2f} us of x * x, {calls['tape'] * 1e6:.2f} us of its gradient",
        f"first gradient of the recurrence: {first['cold']:.2f} s cold, {first['cached']:.2f} s cached",
    ])  # fmt: skip


def run(quick: bool) -> dict[str, Any]:
    """All figures."""
    measured = [measure(p, 2 if quick else 20) for p in programs(0.01 if quick else 1.0)]
    return {"programs": measured, "calls": calls(2 if quick else 20), "first": first_calls()}


def main() -> None:
    """The command."""
    asked = parser("tape", __doc__.split("\n")[0]).parse_args()
    show(run(asked.quick), report, asked.json)


if __name__ == "__main__":
    main()
