"""One program at one size: every version prepared, checked against the gradient by hand, and then timed."""

import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.tools import TOOLS, describe_error, find_installed, flatten_numbers
from benchmarks.timing import compare_times, take_turns
from contad.engines.stream.patience import PATIENCE

PRIMAL, AGAIN, BY_HAND = "primal", "primal, again", "by hand"
IN_NUMPY, WITH_KERNELS = "by hand in NumPy", "by hand with kernels"
PATIENCE.loading = PATIENCE.compiling = 0.0  # what is timed is compiled sweeps, from the first one on


class Effort(NamedTuple):
    """How long to measure: rounds, seconds of a repeat, and of all repeats of a version; whether they are warm."""

    repeats: int
    least: float
    budget: float
    warm: bool = False


class Disagreement(Exception):
    """A version gave other numbers than the gradient by hand."""


def versions(program: Program, tools: Sequence[str]) -> dict[str, Callable[..., Run]]:
    """{name: version}: the primal, by hand, every way of contad, and the tools that are installed."""
    found: dict[str, Callable[..., Run]] = {
        PRIMAL: lambda *args: bind(program.primal, args),
        BY_HAND: lambda *args: bind(program.by_hand, args),
    }
    for name, f in ((IN_NUMPY, program.in_numpy), (WITH_KERNELS, program.with_kernels)):
        if f is not None:
            found[name] = lambda *args, f=f: bind(f, args)
    found |= {f"contad {way}": version for way, version in program.contad.items()} | program.written
    return found | {
        name: version
        for tool in find_installed(tools)
        for name, version in program.peers.items()
        if name.partition(" ")[0] == tool
    }


def bind(f: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    """A call of f; without arguments f itself, so that nothing is between the clock and the call."""
    return (lambda: f(*args)) if args else f


def arguments(program: Program, size: str) -> tuple[Any, ...]:
    """The inputs of a size, which are drawn anew for each version, so that none sees what another has written."""
    return program.inputs(**program.sizes[size])


def prepare(name: str, version: Callable[..., Run], args: tuple[Any, ...]) -> Run:
    """The run of a version, its tool set to one thread and float64."""
    tool = name.partition(" ")[0]
    if tool in TOOLS:
        TOOLS[tool].set_up()
    return version(*args)


def check(program: Program, result: Any, expected: Any) -> None:
    """Compare value and gradients, or what else is expected; raises Disagreement."""
    if callable(expected):
        if result is not expected:
            raise Disagreement(f"another object: {result!r}")
        return
    got, wanted = flatten_numbers(result), flatten_numbers(expected)
    if len(got) != len(wanted):
        raise Disagreement(f"{len(got) - 1} gradients for {len(wanted) - 1} arguments")
    gradients = [f"gradient of argument {k}" for k in program.argnums]
    names = ["value", *(gradients if len(wanted) == 1 + len(gradients) else map(str, range(1, len(wanted))))]
    for name, a, b in zip(names, got, wanted, strict=True):
        _compare(name, a, b, program.tolerance)


def _compare(what: str, got: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    if got.squeeze().shape != wanted.squeeze().shape:  # CasADi's vectors are matrices of one column
        raise Disagreement(f"{what}: shape {got.shape}, by hand {wanted.shape}")
    scale = np.max(np.abs(wanted), initial=0.0)
    error = np.max(np.abs(got.reshape(wanted.shape) - wanted), initial=0.0)
    if not (0.0 < scale < math.inf and error <= tolerance * scale):
        raise Disagreement(f"{what}: differs by {error:.3g}, largest entry by hand {scale:.3g}")


def measure(program: Program, size: str, tools: Sequence[str], effort: Effort) -> dict[str, Any]:
    """What every version does at one size.

    Returns the arguments of the size, what is counted in a run, the noise of two equal controls, and for each version:
    `prepare`, the seconds of preparation with the first call, and `seconds` of a call; or `raised` or `wrong`, with the
    reason.
    """
    found, runs = _check_all(program, size, tools)
    for name, timing in take_turns(runs | {AGAIN: runs[PRIMAL]}, *effort).items():
        found[name] = found.get(name, {}) | timing._asdict()
    return {
        "arguments": program.sizes[size],
        "count": program.count(**program.sizes[size]),
        "noise": compare_times(found[PRIMAL]["seconds"], found[AGAIN]["seconds"]),
        "versions": found,
    }


def _check_all(program: Program, size: str, tools: Sequence[str]) -> tuple[dict[str, dict[str, Any]], dict[str, Run]]:
    """Prepare and call every version once; {name: figures} of all, {name: run} of those that agree."""
    found: dict[str, dict[str, Any]] = {}
    runs = {}
    results = {}
    for name, version in versions(program, tools).items():
        args = arguments(program, size)
        try:
            start = perf_counter()
            run = prepare(name, version, args)
            results[name] = run()
            found[name] = {"prepare": perf_counter() - start}
            if name == BY_HAND and PRIMAL not in program.gives:
                _compare(
                    "value",
                    flatten_numbers(results[PRIMAL])[0],
                    flatten_numbers(results[BY_HAND])[0],
                    program.tolerance,
                )
            if name in program.gives:
                check(program, results[name], program.gives[name](*arguments(program, size)))
            elif name != PRIMAL:
                check(program, results[name], results[BY_HAND])
            _check_unchanged(arguments(program, size), args)
        except Disagreement as error:
            found[name] = {"wrong": str(error)}
        except Exception as error:
            if name in (PRIMAL, BY_HAND):  # nothing to compare with
                raise
            found[name] = {"raised": describe_error(error)}
        else:
            runs[name] = run
    return found, runs


def _check_unchanged(before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
    for k, (was, now) in enumerate(zip(before, after, strict=True)):
        if not np.array_equal(was, now):
            raise Disagreement(f"argument {k} has been written to")
