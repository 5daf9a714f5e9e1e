"""What calling a compiled gradient costs: `python -m benchmarks.calls [--quick] [--json]`.

Every call is beside its control: an @njit function that computes the same gradient, written by hand. The functions are
as small as they can be, so that the calls are what is timed. First calls are taken in fresh processes, with an empty
cache and with a filled one.
"""

import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numba
import numpy as np

import contad
from benchmarks.command import parser, show
from benchmarks.scalars import Disagreement
from benchmarks.startup import fresh
from benchmarks.timing import collector, fastest, markdown

X = np.array([0.7, -1.2])
INSIDE = 1000  # calls in a loop of compiled code


@numba.njit
def square(x, scale=3.0):
    """A number."""
    return scale * x * x


@numba.njit
def square_by_hand(x, scale=3.0):
    """Its gradient."""
    return 2.0 * scale * x


@numba.njit
def norm(x):
    """An array of two numbers."""
    return x[0] * x[0] + 3.0 * x[1] * x[1]


@numba.njit
def norm_by_hand(x):
    """Its gradient."""
    g = np.empty_like(x)
    g[0] = 2.0 * x[0]
    g[1] = 6.0 * x[1]
    return g


@numba.njit
def many(gradient, x, calls):
    """The sum of many gradients, taken in compiled code."""
    total = 0.0
    for _ in range(calls):
        total += gradient(x)
        x += 1e-6
    return total


def through_helper(x):
    """Plain Python code that calls a Numba function."""
    return square(x)


def calls() -> dict[str, tuple[Callable[[], Any], Callable[[], Any], int]]:
    """{what: (control, contad, calls in each)}."""
    scalar, array = contad.grad(square), contad.grad(norm)
    helper = contad.grad(through_helper)
    return {
        "a number": (lambda: square_by_hand(1.5, 3.0), lambda: scalar(1.5, 3.0), 1),
        "a number, with a default": (lambda: square_by_hand(1.5), lambda: scalar(1.5), 1),
        "a number, by name": (lambda: square_by_hand(1.5, scale=3.0), lambda: scalar(1.5, scale=3.0), 1),
        "an array": (lambda: norm_by_hand(X), lambda: array(X), 1),
        "inside njit": (lambda: many(square_by_hand, 1.5, INSIDE), lambda: many(scalar, 1.5, INSIDE), INSIDE),
        "grad(f), found again": (lambda: square_by_hand, lambda: contad.grad(square), 1),
        "plain code that calls a Numba function": (lambda: square_by_hand(1.5), lambda: helper(1.5), 1),
    }


def measure(repeats: int, least: float) -> dict[str, dict[str, float]]:
    """Seconds of each call and of its control, which must agree."""
    found = {}
    for what, (control, run, inside) in calls().items():
        expected, got = control(), run()
        if not callable(expected) and not np.allclose(got, expected, rtol=1e-10):
            raise Disagreement(f"{what}: expected {expected}, got {got}")
        start = perf_counter()
        run()
        loops = max(1, int(least / (perf_counter() - start)))
        with collector(False):
            seconds = [fastest(f, repeats, loops) / inside for f in (control, run)]
        found[what] = {"control": seconds[0], "contad": seconds[1], "overhead": seconds[1] - seconds[0]}
    return found


_FIRST = """\
import json, sys
from time import perf_counter
import numba, numpy as np, contad
from benchmarks.first_calls import model, X, Y
model(X, Y)
start = perf_counter()
contad.grad(model)(X, Y)
print(json.dumps(perf_counter() - start))
"""


def first_calls(repeats: int) -> dict[str, float]:
    """Seconds of the first gradient of a process, the function itself being compiled: empty cache, filled cache."""
    with tempfile.TemporaryDirectory() as folder:

        def first() -> float:
            return fresh(_FIRST, CONTAD_CACHE_DIR=f"{folder}/contad", NUMBA_CACHE_DIR=f"{folder}/numba")

        return {"cold": first(), "cached": min(first() for _ in range(repeats))}


def run(quick: bool) -> dict[str, Any]:
    """All figures."""
    repeats, least = (1, 1e-4) if quick else (9, 0.05)
    return {"calls": measure(repeats, least), "first": first_calls(1 if quick else 5)}


def report(figures: dict[str, Any]) -> str:
    """The figures as Markdown tables."""
    rows = [
        (what, *(f"{1e9 * found[name]:.0f}" for name in ("control", "contad", "overhead")))
        for what, found in figures["calls"].items()
    ]
    first = [(name, f"{1e3 * seconds:.0f}") for name, seconds in figures["first"].items()]
    return "\n\n".join(
        [
            "Nanoseconds per call; the control is the gradient by hand in Numba.",
            markdown(("call", "control", "contad", "overhead"), rows),
            "Milliseconds of the first gradient in a process, the function itself being compiled.",
            markdown(("cache", "first call"), first),
        ]
    )


def main() -> None:
    """Measure and print."""
    asked = parser("calls", __doc__.partition("\n")[0]).parse_args()
    show(run(asked.quick), report, asked.json)


if __name__ == "__main__":
    main()
