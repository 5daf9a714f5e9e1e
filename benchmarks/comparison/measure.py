"""One program at one size: every version prepared, checked against the gradient by hand, and then timed."""

import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.tools import TOOLS, installed, numbers, reason
from benchmarks.timing import interleaved, noise

TOLERANCE = 1e-10  # relative to the largest entry of the value, and of each gradient
PRIMAL, AGAIN, BY_HAND = "primal", "primal, again", "by hand"


class Effort(NamedTuple):
    """How long to measure: rounds, seconds of a repeat, seconds for all repeats of a version."""

    repeats: int
    least: float
    budget: float


class Disagreement(Exception):
    """A version gave other numbers than the gradient by hand."""


def versions(program: Program, tools: Sequence[str]) -> dict[str, Callable[..., Run]]:
    """{name: version}: the primal, by hand, every way of contad, and the tools that are installed."""
    found: dict[str, Callable[..., Run]] = {
        PRIMAL: lambda *args: lambda: program.primal(*args),
        BY_HAND: lambda *args: lambda: program.by_hand(*args),
    }
    found |= {f"contad {way}": version for way, version in program.contad.items()}
    return found | {tool: program.peers[tool] for tool in installed(tools) if tool in program.peers}


def arguments(program: Program, size: str) -> tuple[Any, ...]:
    """The inputs of a size, which are drawn anew for each version, so that none sees what another has written."""
    return program.inputs(**program.sizes[size])


def prepared(name: str, version: Callable[..., Run], args: tuple[Any, ...]) -> Run:
    """The run of a version, its tool set to one thread and float64."""
    if name in TOOLS:
        TOOLS[name].set_up()
    return version(*args)


def check(program: Program, result: Any, expected: Any) -> None:
    """Compare value and gradients with those expected; raises Disagreement."""
    (value, gradients), (right, rights) = numbers(result), numbers(expected)
    if len(gradients) != len(program.argnums):
        raise Disagreement(f"{len(gradients)} gradients for {len(program.argnums)} arguments")
    _agree("value", value, right)
    for k, got, wanted in zip(program.argnums, gradients, rights, strict=True):
        _agree(f"gradient of argument {k}", got, wanted)


def _agree(what: str, got: np.ndarray, wanted: np.ndarray) -> None:
    if got.squeeze().shape != wanted.squeeze().shape:  # CasADi's vectors are matrices of one column
        raise Disagreement(f"{what}: shape {got.shape}, by hand {wanted.shape}")
    scale = np.max(np.abs(wanted), initial=0.0)
    error = np.max(np.abs(got.reshape(wanted.shape) - wanted), initial=0.0)
    if not (0.0 < scale < math.inf and error <= TOLERANCE * scale):
        raise Disagreement(f"{what}: differs by {error:.3g}, largest entry by hand {scale:.3g}")


def measure(program: Program, size: str, tools: Sequence[str], effort: Effort) -> dict[str, Any]:
    """What every version does at one size.

    Returns the arguments of the size, the noise of two equal controls, and for each version: `prepare`, the seconds
    of preparation with the first call, and `seconds` of a call; or `raised` or `wrong`, with the reason.
    """
    found, runs = _checked(program, size, tools)
    for name, timing in interleaved(runs | {AGAIN: runs[PRIMAL]}, *effort).items():
        found[name] = found.get(name, {}) | timing._asdict()
    return {
        "arguments": program.sizes[size],
        "noise": noise(found[PRIMAL]["seconds"], found[AGAIN]["seconds"]),
        "versions": found,
    }


def _checked(program: Program, size: str, tools: Sequence[str]) -> tuple[dict[str, dict[str, Any]], dict[str, Run]]:
    """Prepare and call every version once; {name: figures} of all, {name: run} of those that agree."""
    found: dict[str, dict[str, Any]] = {}
    runs = {}
    results = {}
    for name, version in versions(program, tools).items():
        args = arguments(program, size)
        try:
            start = perf_counter()
            run = prepared(name, version, args)
            results[name] = run()
            found[name] = {"prepare": perf_counter() - start}
            if name == BY_HAND:
                _agree("value", *(numbers((value, ()))[0] for value in (results[PRIMAL], results[BY_HAND][0])))
            if name != PRIMAL:
                check(program, results[name], results[BY_HAND])
            _unchanged(arguments(program, size), args)
        except Disagreement as error:
            found[name] = {"wrong": str(error)}
        except Exception as error:
            if name in (PRIMAL, BY_HAND):  # nothing to compare with
                raise
            found[name] = {"raised": reason(error)}
        else:
            runs[name] = run
    return found, runs


def _unchanged(before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
    for k, (was, now) in enumerate(zip(before, after, strict=True)):
        if not np.array_equal(was, now):
            raise Disagreement(f"argument {k} has been written to")
