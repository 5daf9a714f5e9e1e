"""What a gradient by the engine tape costs for an operation, at points where both branches run and derivatives live."""

from typing import Any

import numba
import numpy as np

import contad
from benchmarks import loops, loops_by_hand
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import on_engine
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Counted, Timed, Topic
from benchmarks.topics.startup import time_first_gradients
from contad.compile.words import word
from contad.engines.tape import build
from contad.memory.arena import USED, arena
from contad.numba_functions.request import Request

ARGNUMS = {
    "rosenbrock": (0,), "logistic": (0,), "logistic_arrays": (0,), "recurrence": (0, 1, 2), "heat": (0, 1),
    "newtons": (0, 1), "mixture": (0, 1, 2),
}  # fmt: skip


def draw_points(scale: float) -> dict[str, tuple[Any, ...]]:
    """Arguments of seven programs of `benchmarks.loops`; `scale` 1 is the full size, 0.01 that of the tests."""
    draw = np.random.default_rng(11)

    def many(n: int) -> int:
        return max(8, int(n * scale))

    features = draw.standard_normal((many(1000), 6))
    beta = 0.3 * draw.standard_normal(6)
    labels = (draw.random(len(features)) < 1.0 / (1.0 + np.exp(-features @ beta))) * 1.0
    d, k = 4, 5
    size = d * (d + 1) // 2
    mixture = (
        draw.standard_normal(k), draw.random((k, d)), 0.5 * draw.standard_normal((k, size)),
        draw.standard_normal((many(500), d)), 1.3, 2,
    )  # fmt: skip
    return {
        "rosenbrock": (draw.standard_normal(many(1000)),),
        "logistic": (beta, features, labels),
        "logistic_arrays": (beta, features, labels),
        # both branches are taken, and the derivative lives: at other points it underflows or is that of chaos
        "recurrence": (0.7, 0.9245, -0.4, 100_000) if scale == 1.0 else (0.7, 0.95, -0.4, 60),
        "heat": (draw.standard_normal(many(500)), 0.2, many(200)),
        "newtons": (draw.random(many(1000)) * 3.0 + 0.5, draw.random(many(1000))),
        "mixture": mixture,
    }


def list_programs(choice: Choice = EVERYTHING) -> list[Program]:
    """The seven, a time being that of one record."""
    return [
        Program(
            name=name, about="a loop", sizes={"full": {"scale": 1.0}, QUICK: {"scale": 0.01}},
            inputs=lambda scale, name=name: draw_points(scale)[name], argnums=argnums, primal=getattr(loops, name),
            by_hand=getattr(loops_by_hand, name), contad={"tape": on_engine(getattr(loops, name), argnums, "tape")},
            count=lambda scale, name=name: count_operations(name, scale), tolerance=1e-9,
        )
        for name, argnums in ARGNUMS.items()
    ]  # fmt: skip


@numba.njit
def _count_cells() -> int:
    return word(arena(), USED)


def count_operations(name: str, scale: float) -> int:
    """How many records the tape pushes for a program."""
    point, argnums = draw_points(scale)[name], ARGNUMS[name]
    names = ", ".join(f"a{k}" for k in range(len(point)))
    known: dict[str, Any] = {"f": getattr(loops, name), "cells": _count_cells}
    exec(f"def counted({names}):\n    return f({names}), cells()\n", known)
    counted = numba.njit(known["counted"])
    kinds = tuple(map(numba.typeof, point))
    run = build(Request(counted.py_func, counted, kinds, argnums, True, "value_and_grad"))
    (_, used), _ = run(*point)
    return int(used) - int(_count_cells()) - sum(np.size(point[k]) for k in argnums)


@numba.njit
def square(x):
    return x * x


def list_calls(choice: Choice = EVERYTHING) -> list[Program]:
    """Of a function of one float, and of its gradient."""
    gradient = contad.value_and_grad(square, engine="tape")
    return [
        Program(
            name="x * x", about="a call", sizes={"full": {}, QUICK: {}}, inputs=lambda: (1.5,), argnums=(0,),
            primal=square, by_hand=lambda x: (x * x, 2.0 * x), contad={"tape": lambda x: lambda: gradient(x)},
        )
    ]  # fmt: skip


_RECURRENCE = (
    f"from {__name__} import ARGNUMS, draw_points\nfrom benchmarks.loops import recurrence as function\n"
    "args, argnums = draw_points(0.01)['recurrence'], ARGNUMS['recurrence']"
)


def time_first_calls(choice: Choice = EVERYTHING) -> dict[str, dict[str, float]]:
    """The first gradient of a process, the function itself being compiled."""
    return {"recurrence": time_first_gradients(_RECURRENCE, "tape")}


TOPIC = Topic(
    "The engine tape",
    {
        "Value and gradient, ns per operation": Timed("", list_programs, "ns"),
        "A call from Python, us": Timed("", list_calls),
        "The first gradient in a process, s": Counted("The function itself is compiled.", time_first_calls),
    },
)
