"""What calling a compiled gradient costs.

Every call is beside its control: an @njit function that computes the same gradient, written by hand. The functions are
as small as they can be, so that the calls are what is timed.
"""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import contad
from benchmarks.comparison.measure import BY_HAND, PRIMAL
from benchmarks.comparison.program import Program
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Counted, Timed, Topic
from benchmarks.topics.startup import time_first_gradients

X = np.array([0.7, -1.2])
INSIDE = 1000  # calls in a loop of compiled code
MANY = 100  # calls in a loop of Python


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
def call_often(gradient, x, calls):
    """The sum of many gradients, taken in compiled code."""
    total = 0.0
    for _ in range(calls):
        total += gradient(x)
        x += 1e-6
    return total


def call_helper(x):
    """Plain Python code that calls a Numba function."""
    return square(x)


def sum_helper(x):
    """Plain Python code with many calls of a Numba function, of a number."""
    total = 0.0
    for _ in range(MANY):
        total = total + square(x)
    return total


def sum_norms(x):
    """Plain Python code with many calls of a Numba function, of an array."""
    total = 0.0
    for _ in range(MANY):
        total = total + norm(x)
    return total


def call_many(gradient: Callable[[Any], Any], x: Any) -> Any:
    """The sum of many gradients, taken in Python."""
    total = gradient(x)
    for _ in range(MANY - 1):
        total = total + gradient(x)
    return total


def make_program(name: str, control: Callable[[], Any], run: Callable[[], Any], count: int = 1) -> Program:
    """A call beside its control; nothing is between the clock and both."""
    return Program(
        name=name, about="a call", sizes={QUICK: {}, "full": {}}, inputs=lambda: (), argnums=(0,), primal=control,
        by_hand=control, contad={"gradient": lambda: run}, gives={PRIMAL: control, BY_HAND: control},
        count=lambda: count,
    )  # fmt: skip


def list_programs(choice: Choice = EVERYTHING) -> list[Program]:
    """Every way to call."""
    scalar, array, helper = contad.grad(square), contad.grad(norm), contad.grad(call_helper)
    numbers, arrays = contad.grad(sum_helper), contad.grad(sum_norms)
    found = make_program("grad(f), found again", lambda: square_by_hand, lambda: contad.grad(square))
    return [
        make_program("a number", lambda: square_by_hand(1.5, 3.0), lambda: scalar(1.5, 3.0)),
        make_program("a number, with a default", lambda: square_by_hand(1.5), lambda: scalar(1.5)),
        make_program(
            "a number, by name", lambda: square_by_hand(1.5, scale=3.0), lambda: scalar(1.5, scale=3.0)
        ),
        make_program("an array", lambda: norm_by_hand(X), lambda: array(X)),
        make_program(
            "inside njit", lambda: call_often(square_by_hand, 1.5, INSIDE), lambda: call_often(scalar, 1.5, INSIDE),
            INSIDE,
        ),
        found._replace(gives=dict(found.gives) | {"contad gradient": lambda: scalar}),
        make_program("plain code that calls a Numba function", lambda: square_by_hand(1.5), lambda: helper(1.5)),
        make_program(
            "a Numba function in a sum, of a number", lambda: call_many(square_by_hand, 1.5), lambda: numbers(1.5), MANY
        ),
        make_program(
            "a Numba function in a sum, of an array", lambda: call_many(norm_by_hand, X), lambda: arrays(X), MANY
        ),
    ]  # fmt: skip


# ---- first calls -----------------------------------------------------------------------------------------------------
@numba.njit(cache=True)
def model(x, y):
    """A log density of data that a branching recurrence predicts."""
    total = 0.0
    state = x[0]
    for i in range(y.shape[0]):
        state = math.tanh(x[1] * state) + x[2] if state > 0.0 else x[0] - math.exp(-x[2]) * state
        total -= (y[i] - state) ** 2
    return total


POINT = np.array([0.7, -0.2, 0.4]), np.linspace(-1.0, 2.0, 50)
_MODEL = f"from {__name__} import model as function, POINT as args\nargnums = 0"


def time_first_calls(choice: Choice = EVERYTHING) -> dict[str, dict[str, float]]:
    """The first gradient of a process, the function itself being compiled."""
    return {"first call": time_first_gradients(_MODEL, repeats=1 if choice.quick else 5)}


TOPIC = Topic(
    "Calls of compiled gradients",
    {
        "One call, ns": Timed("The control is the gradient by hand in Numba.", list_programs, "ns", "difference"),
        "The first gradient in a process, ms": Counted("The function itself is compiled.", time_first_calls, "ms"),
    },
)
