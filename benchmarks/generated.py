"""What generated derivatives of loops cost: `python -m benchmarks.generated [--quick] [names]`.

Times are microseconds per call: the function itself, its gradient by hand, by `generated` and by `tape`. Beside them
the numbers that a call keeps in the workspace, and the times of generation and of compilation. All gradients are
compared before anything is timed.
"""

import argparse
import math
import re
import sys
from time import perf_counter

import numba
import numpy as np

import contad
from benchmarks import loops, loops_by_hand
from benchmarks.timing import fastest, markdown
from contad.dispatcher import python_twin
from contad.engines.generated import build, source
from contad.engines.generated.build import options_of
from contad.engines.tape import build as build_tape
from contad.errors import UnsupportedError
from contad.native.request import Request

TOLERANCE = 1e-9  # relative; by hand the terms are added in another order


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


def stored(request, args):
    """How many numbers one call keeps in the workspace, counted on the source run as Python."""
    most = [0]

    def grow(work, n):
        most[0] = max(most[0], n)
        return np.concatenate([work, np.empty(max(n, 2 * len(work)) - len(work))])

    names = {}
    with np.errstate(all="ignore"):
        exec(source(request), names)
        names.update(workspace=lambda: np.empty(0), grow=grow)
        names["run"](*args)
    return most[0]


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
    """One row: times in microseconds, ratios, stored numbers, seconds of generation and compilation."""
    function, args, argnums = problem
    by_hand = getattr(loops_by_hand, name, None)
    asked = request(function, args, argnums)
    primal = numba.njit(function.py_func)
    compile_primal, _ = timed(lambda: primal.compile(asked.types))
    generate, _ = timed(lambda: source(asked))
    run = check(name, small, by_hand)
    again = numba.njit(**options_of(function))(run.py_func)
    compile_run, _ = timed(lambda: again.compile(asked.types))
    tape = on_tape(asked)
    calls = max(1, int(2e-3 / max(timed(lambda: run(*args))[0], 1e-7)))
    times = [
        fastest(lambda f=f: f(*args), repeats, calls if f is not tape else 1) if f is not None else math.nan
        for f in (primal, by_hand, run, tape)
    ]
    return [name, *times, stored(request(*small[:2], argnums), small[1]), generate, compile_primal, compile_run]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true", help="small problems, few repeats")
    options = parser.parse_args()
    problems, small = loops.problems(0.02 if options.quick else 1.0), loops.problems(0.02)
    rows, ratios, compiled = [], [], []
    for name, problem in problems.items():
        if options.names and name not in options.names:
            continue
        _, primal, by_hand, run, tape, numbers, generate, first, second = measure(
            name, problem, small[name], 2 if options.quick else 20
        )
        ratios.append(run / by_hand)
        compiled.append((generate + second) / first)
        rows.append([
            name, *(f"{1e6 * t:.2f}" for t in (primal, by_hand, run, tape)),
            *(f"{r:.2f}" for r in (by_hand / primal, run / primal, run / by_hand)),
            str(numbers), f"{1e3 * generate:.0f}", f"{first:.2f}", f"{second:.2f}",
        ])  # fmt: skip
    header = (
        "program", "primal us", "by hand us", "generated us", "tape us", "hand/primal", "generated/primal",
        "generated/hand", "stored (small)", "generation ms", "compile primal s", "compile generated s",
    )  # fmt: skip
    print(re.sub(r"\bnan\b", "  -", markdown(header, rows)))
    known = [r for r in ratios if not math.isnan(r)]
    if known:
        print(f"\ngenerated / by hand: geometric mean {math.exp(np.mean(np.log(known))):.2f} of {len(known)}")
    print(f"generation and compilation / compilation of the primal: {math.exp(np.mean(np.log(compiled))):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
