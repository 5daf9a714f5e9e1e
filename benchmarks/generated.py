"""What generated derivatives of loops cost: `python -m benchmarks.generated [--quick] [names]`.

Times are microseconds per call: the function itself, its gradient by hand, by `generated` and by `tape`. Beside them
the bytes that a call takes for its workspace, and what generation and compilation take once Numba is warm: both
functions have been compiled before, so that neither pays for what a process compiles once. The last two columns are
taken in fresh processes, through `contad.value_and_grad`: the first gradient of a function that is compiled already,
with an empty cache and with a filled one. All gradients are compared before anything is timed.

Below the table stands why a gradient is slower than 1.2 of that by hand, and why one by hand takes more than 3 times as
long as the function. The exit status is 1 where no reason is noted in `benchmarks.loops`.
"""

import argparse
import math
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numba
import numpy as np

import contad
from benchmarks import loops, loops_by_hand
from benchmarks.startup import fresh
from benchmarks.timing import fastest, markdown
from contad.dispatcher import python_twin
from contad.engines.generated import build, source
from contad.engines.generated.build import options_of
from contad.engines.tape import build as build_tape
from contad.errors import UnsupportedError
from contad.native.arena import arena, workspace_bytes
from contad.native.request import Request

MISSING = "no reason is noted in benchmarks/loops.py"
TOLERANCE = 1e-9  # relative; by hand the terms are added in another order
_FIRST = """\
import json, sys
from time import perf_counter
import contad
from benchmarks import loops
function, args, argnums = loops.problems(0.02)[sys.argv[1]]
function(*args)
start = perf_counter()
contad.value_and_grad(function, argnums, engine="generated")(*args)
print(json.dumps(perf_counter() - start))
"""


def request(function, args, argnums):
    """The request for a value and gradient."""
    types = tuple(map(numba.typeof, args))
    return Request(function.py_func, function, types, argnums, False, "value_and_grad")


def flat(gradient):
    return np.concatenate([np.ravel(g) for g in gradient])


def error(gradient, expected):
    """The largest error, relative to the largest entry."""
    return float(np.max(np.abs(flat(gradient) - flat(expected))) / np.max(np.abs(flat(expected))))


def check(name, small, by_hand):
    """Compare the generated gradient with the one by hand, or with the eager engine; returns the compiled one."""
    function, args, argnums = small
    run = build(request(function, args, argnums))
    value, gradient = run(*args)
    other, expected = (
        by_hand(*args)
        if by_hand is not None
        else contad.value_and_grad(python_twin(function), argnums, engine="records")(*args)
    )
    assert abs(value - other) <= TOLERANCE * abs(other), (name, value, other)
    assert error(gradient, expected) <= TOLERANCE, (name, error(gradient, expected))
    return run


@numba.njit
def held():
    """How many bytes this thread's workspace takes."""
    return workspace_bytes(arena())


def stored(run, args):
    """How many bytes one call takes from a thread that has none."""
    with ThreadPoolExecutor(1) as thread:
        before = thread.submit(held).result()
        thread.submit(run, *args).result()
        return thread.submit(held).result() - before


def first_gradients(name, repeats):
    """Seconds of the first gradient of a process, with an empty and with a filled cache."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"CONTAD_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder}
        fresh(_FIRST, "rosenbrock" if name != "rosenbrock" else "recurrence", **places)  # contad's own machine code
        cold = fresh(_FIRST, name, **places)
        return cold, min(fresh(_FIRST, name, **places) for _ in range(repeats))


def compilation(function, options, types, repeats):
    """Seconds of compiling a function that has been compiled before."""
    return min(timed(lambda: numba.njit(**options)(function).compile(types))[0] for _ in range(repeats))


def on_tape(asked):
    """The same derivative by the engine `tape`; None where it refuses."""
    try:
        return build_tape(asked)
    except UnsupportedError:
        return None


def timed(make):
    start = perf_counter()
    made = make()
    return perf_counter() - start, made


def measure(name, problem, small, repeats):
    """One row: times in seconds, bytes of the workspace, seconds of generation, compilation and first gradients."""
    function, args, argnums = problem
    by_hand = getattr(loops_by_hand, name, None)
    asked = request(function, args, argnums)
    function(*small[1])
    run = check(name, small, by_hand)
    rounds = min(repeats, 3)
    generate = min(timed(lambda: source(asked))[0] for _ in range(rounds))
    compile_primal = compilation(function.py_func, {}, asked.types, rounds)
    compile_run = compilation(run.py_func, options_of(function), asked.types, rounds)
    tape = on_tape(asked)
    calls = max(1, int(2e-3 / max(timed(lambda: run(*args))[0], 1e-7)))
    times = [
        fastest(lambda f=f: f(*args), repeats, calls if f is not tape else 1) if f is not None else math.nan
        for f in (function, by_hand, run, tape)
    ]
    return *times, stored(run, args), generate, compile_primal, compile_run, *first_gradients(name, rounds)


def remarks(name, of_hand, of_primal):
    """The reasons noted for a gradient of more than 1.2 of that by hand, and for one by hand of more than 3 primals."""
    notes = []
    if of_hand > 1.2:
        notes.append((f"{of_hand:.2f} of the gradient by hand", loops.WHY_SLOWER.get(name, MISSING)))
    if of_primal > 3.0:
        notes.append((f"by hand {of_primal:.2f} of the function", loops.WHY_DEAR.get(name, MISSING)))
    return [f"{name}, {ratio}: {why}" for ratio, why in notes]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true", help="small problems, few repeats")
    options = parser.parse_args()
    problems, small = loops.problems(0.02 if options.quick else 1.0), loops.problems(0.02)
    rows, ratios, compiled, seconds, noted = [], [], [], [], []
    for name, problem in problems.items():
        if options.names and name not in options.names:
            continue
        primal, by_hand, run, tape, room, generate, first, second, cold, warm = measure(
            name, problem, small[name], 1 if options.quick else 20
        )
        ratios.append(run / by_hand)
        noted += remarks(name, ratios[-1], by_hand / primal)
        compiled.append((generate + second) / first)
        seconds.append(warm)
        rows.append([
            name, *(f"{1e6 * t:.2f}" for t in (primal, by_hand, run, tape)),
            *(f"{r:.2f}" for r in (by_hand / primal, run / primal, run / by_hand)),
            str(room), f"{1e3 * generate:.0f}", f"{first:.2f}", f"{second:.2f}", f"{compiled[-1]:.2f}", f"{cold:.2f}",
            f"{warm:.2f}",
        ])  # fmt: skip
    header = (
        "program", "primal us", "by hand us", "generated us", "tape us", "hand/primal", "generated/primal",
        "generated/hand", "workspace bytes", "generation ms", "compile primal s", "compile generated s",
        "compile ratio", "first gradient s", "second process s",
    )  # fmt: skip
    print(re.sub(r"\bnan\b", "  -", markdown(header, rows)))
    print("", *noted, sep="\n")
    known = [r for r in ratios if not math.isnan(r)]
    if known:
        print(f"\ngenerated / by hand: geometric mean {math.exp(np.mean(np.log(known))):.2f} of {len(known)}")
    print(f"generation and compilation / compilation of the primal: {math.exp(np.mean(np.log(compiled))):.2f}")
    print(f"slowest first gradient of a second process: {max(seconds):.2f} s")
    return 1 if any(MISSING in line for line in noted) and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
