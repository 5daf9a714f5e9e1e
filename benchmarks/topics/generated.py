"""What generated derivatives of loops cost, and what generating and compiling them takes.

Where a gradient is slower than 1.2 of that by hand, or one by hand takes more than 3 times as long as the function, the
reason that `benchmarks.loops` notes is told; a run without it fails.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numba

from benchmarks import loops, loops_by_hand
from benchmarks.comparison.figures import find_mean
from benchmarks.comparison.measure import BY_HAND, PRIMAL
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import on_compiled
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Counted, Timed, Topic, divide_seconds
from benchmarks.topics.startup import time_first_gradients
from contad.engines.source import build, source
from contad.engines.source.ir.printing import options_of
from contad.memory.arena import arena, workspace_bytes
from contad.numba_functions.request import Request

MISSING = "no reason is noted in benchmarks/loops.py"
TIMES, COMPILATION = "Value and gradient, us", "Workspace and compilation"
_NAMED = "from benchmarks import loops\nfunction, args, argnums = loops.problems(0.02)[{!r}]"


def list_programs(choice: Choice = EVERYTHING) -> list[Program]:
    """Those of `benchmarks.loops`; by hand the terms are added in another order."""
    return [
        Program(
            name=name, about=str(function.__doc__), sizes={"full": {"scale": 1.0}, QUICK: {"scale": 0.02}},
            inputs=lambda scale, name=name: loops.problems(scale)[name][1], argnums=argnums, primal=function,
            by_hand=getattr(loops_by_hand, name), contad=on_compiled(function, argnums), tolerance=1e-9,
        )
        for name, (function, _, argnums) in loops.problems(0.02).items()
    ]  # fmt: skip


@numba.njit
def _count_bytes():
    """How many bytes this thread's workspace takes."""
    return workspace_bytes(arena())


def count_workspace(run: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """How many bytes one call takes from a thread that has none."""
    with ThreadPoolExecutor(1) as thread:
        before = thread.submit(_count_bytes).result()
        thread.submit(run, *args).result()
        return int(thread.submit(_count_bytes).result() - before)


def time_once(make: Callable[[], Any]) -> float:
    """Seconds."""
    start = perf_counter()
    make()
    return perf_counter() - start


def time_compilation(function: Any, options: dict[str, Any], types: Any, repeats: int) -> float:
    """Seconds of compiling a function that has been compiled before."""
    return min(time_once(lambda: numba.njit(**options)(function).compile(types)) for _ in range(repeats))


def count_compilation(choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Bytes of the workspace, seconds of generation, of compilation, and of first gradients in fresh processes."""
    repeats = 1 if choice.quick else 3
    table = {}
    for name, (function, args, argnums) in loops.problems(0.02 if choice.quick else 1.0).items():
        if not choice.chooses(name):
            continue
        asked = Request(function.py_func, function, tuple(map(numba.typeof, args)), argnums, False, "value_and_grad")
        run = build(asked)
        run(*args)
        generation = min(time_once(lambda asked=asked: source(asked)) for _ in range(repeats))
        of_primal = time_compilation(function.py_func, {}, asked.types, repeats)
        of_gradient = time_compilation(run.py_func, options_of(False), asked.types, repeats)
        other = _NAMED.format("rosenbrock" if name != "rosenbrock" else "recurrence")  # contad's own machine code
        first = time_first_gradients(_NAMED.format(name), "generated", repeats, other)
        table[name] = {
            "workspace bytes": count_workspace(run, args), "generation ms": 1e3 * generation,
            "compile primal s": of_primal, "compile generated s": of_gradient,
            "compile ratio": (generation + of_gradient) / of_primal,
            "first gradient s": first["empty cache"], "second process s": first["filled cache"],
        }  # fmt: skip
    return table


def explain_ratios(name: str, of_hand: float, of_primal: float) -> list[str]:
    """The reasons noted for a gradient of more than 1.2 of that by hand, and for one by hand of more than 3 primals."""
    notes = []
    if of_hand > 1.2:
        notes.append((f"{of_hand:.2f} of the gradient by hand", loops.WHY_SLOWER.get(name, MISSING)))
    if of_primal > 3.0:
        notes.append((f"by hand {of_primal:.2f} of the function", loops.WHY_DEAR.get(name, MISSING)))
    return [f"{name}, {ratio}: {why}" for ratio, why in notes]


def remark(parts: dict[str, Any]) -> list[str]:
    """Reasons, and means over all programs."""
    lines, ratios = [], []
    for program in parts[TIMES]["programs"]:
        for size in program["sizes"]:
            run, by_hand, primal = (divide_seconds(program, size, n) for n in ("contad generated", BY_HAND, PRIMAL))
            ratios.append(run / by_hand)
            lines += explain_ratios(program["name"], ratios[-1], by_hand / primal)
    table = parts.get(COMPILATION, {}).get("table", {}).values()
    known = [r for r in ratios if not math.isnan(r)]
    lines.append(f"generated / by hand: geometric mean {find_mean(known):.2f} of {len(known)}")
    if table:
        of_primal = find_mean(row["compile ratio"] for row in table)
        lines.append(f"generation and compilation / compilation of the primal: {of_primal:.2f}")
        slowest = max(row["second process s"] for row in table)
        lines.append(f"slowest first gradient of a second process: {slowest:.2f} s")
    return lines


TOPIC = Topic(
    "Generated derivatives",
    {
        TIMES: Timed("", list_programs),
        COMPILATION: Counted(
            "The bytes that a call takes from a new thread's arena, and the fastest of three compilations of functions "
            "that have been compiled before. First gradients are taken in new processes, the function being compiled.",
            count_compilation, of_programs=True,
        ),
    },
    remark,
    MISSING,
)  # fmt: skip
