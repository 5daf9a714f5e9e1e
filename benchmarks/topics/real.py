"""Gradient over primal of the functions of `benchmarks.real`: what scientists compile, as they write it."""

from typing import Any

import numpy as np

import contad
from benchmarks.comparison.topic import Choice, Counted, Topic
from benchmarks.real.catalogue import REAL
from benchmarks.timing import take_turns

MOST = 4.0  # of the time of the function, where arithmetic is what takes it
MISSING = "without its reason"
TABLE = "Value and gradient over the function"
ABOUT = "By the engine `generated`; minima of rounds that take turns. Of chaos, differences say nothing."


def measure_ratios(choice: Choice) -> dict[str, dict[str, Any]]:
    """Microseconds of a function and of its value and gradient; the error by differences along one direction."""
    table = {}
    for name, real in REAL.items():
        if not choice.chooses(name):
            continue
        args = real.arguments(real.small if choice.quick else real.large)
        gradient = contad.value_and_grad(real.function, argnums=real.argnums, engine="generated")
        runs = {
            "primal": lambda f=real.function, args=args: f(*args),
            "gradient": lambda f=gradient, args=args: f(*args),
        }
        found = take_turns(runs, *((1, 0.0) if choice.quick else (15, 5e-3)))
        primal, reverse = (found[k].seconds for k in ("primal", "gradient"))
        table[name] = {
            "stands for": real.stands_for, "primal us": 1e6 * primal, "gradient us": 1e6 * reverse,
            "ratio": reverse / primal, "error": find_error(real.function, gradient, args, real.argnums),
        }  # fmt: skip
    return table


def find_error(f: Any, gradient: Any, args: tuple[Any, ...], argnums: tuple[int, ...], h: float = 1e-6) -> float:
    """How far derivatives along random directions, one for each argument, are from differences; relative."""
    value, found = gradient(*args)
    rng, worst = np.random.default_rng(4), 0.0
    for k, bar in zip(argnums, found, strict=True):
        direction = rng.normal(size=np.shape(args[k]))
        if np.iscomplexobj(args[k]):
            direction = direction + 1j * rng.normal(size=np.shape(args[k]))
        one, other = (f(*move(args, k, s * direction)) for s in (h, -h))
        along = float(np.sum(np.conj(bar) * direction).real)
        size = max(abs(along), 1e-3 * abs(value), 1e-12)
        worst = max(worst, abs((one - other) / (2.0 * h) - along) / size)
    return worst


def move(args: tuple[Any, ...], k: int, step: Any) -> tuple[Any, ...]:
    """The arguments with a step added to one."""
    moved = args[k] + step
    return (*args[:k], moved if np.ndim(moved) else moved.item(), *args[k + 1 :])


def remark(parts: dict[str, Any]) -> list[str]:
    """The reason of every ratio above what is asked for, and how many there are."""
    table = parts[TABLE]["table"]
    dear = {name: row["ratio"] for name, row in table.items() if row["ratio"] > MOST}
    lines = [f"{name}, {ratio:.1f} of the function: {REAL[name].why or MISSING}" for name, ratio in dear.items()]
    return [*lines, f"at most {MOST:.0f} of the function: {len(table) - len(dear)} of {len(table)}"]


TOPIC = Topic(
    "Functions as scientists write them",
    {TABLE: Counted(ABOUT, measure_ratios, of_programs=True)},
    remark, fail=MISSING,
)  # fmt: skip
