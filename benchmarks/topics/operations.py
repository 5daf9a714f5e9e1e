"""What one operation of eager code costs with its derivative, beside other libraries that run operation by operation.

Chains of 200 operations on numbers and on arrays of three, and a sum over a list of 100 numbers: what is timed is what
Python does for each operation, and a two hundredth of what a call of the gradient takes.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.shaped import import_torch, on_engine, with_autograd, with_torch
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Timed, Topic
from benchmarks.micro import with_values
from benchmarks.stacks import Indexed, Vari

C = 0.999
SIZES = {"full": {"n": 100}, QUICK: {"n": 5}}
X = np.array([0.3, 0.4, 0.5])


# ---- chains ----------------------------------------------------------------------------------------------------------
def multiply_and_add(np: Any) -> Callable[..., Any]:
    """s = s c + x, two operations a step."""

    def f(x: Any, n: int) -> Any:
        s = x
        for _ in range(n):
            s = s * C + x
        return s

    return f


def multiply_and_add_by_hand(x: Any, n: int) -> Any:
    s, slope = x, 1.0
    for _ in range(n):
        s = s * C + x
        slope = slope * C + 1.0
    return s, slope


def take_sines(np: Any) -> Callable[..., Any]:
    """s = sin(s) + x, two operations a step."""

    def f(x: Any, n: int) -> Any:
        s = x
        for _ in range(n):
            s = np.sin(s) + x
        return s

    return f


def take_sines_by_hand(x: Any, n: int) -> Any:
    sine, cosine = (math.sin, math.cos) if isinstance(x, float) else (np.sin, np.cos)
    s, slope = x, 1.0
    for _ in range(n):
        slope = slope * cosine(s) + 1.0
        s = sine(s) + x
    return s, slope


def total(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The sum of the elements of a chain on arrays."""

    def written(np: Any) -> Callable[..., Any]:
        f = write(np)
        return lambda x, n: np.sum(f(x, n))

    return written


def list_chains(choice: Choice = EVERYTHING) -> list[Program]:
    """The chains on a number and on an array, and the sum over a list."""
    chains = (
        ("s*c + x", multiply_and_add, multiply_and_add_by_hand), ("np.sin(s) + x", take_sines, take_sines_by_hand),
    )  # fmt: skip
    numbers = [
        make_program(name, write, lambda x, n, f=f: (f(x, n)[0], (f(x, n)[1],)), lambda n: (0.5, n), lambda n: 2 * n)
        for name, write, f in chains
    ]
    arrays = [
        make_program(
            f"{name}, three elements", total(write), lambda x, n, f=f: (np.sum(f(x, n)[0]), (f(x, n)[1] * np.ones(3),)),
            lambda n: (X.copy(), n), lambda n: 2 * n + 1,
        )
        for name, write, f in chains
    ]  # fmt: skip
    squares = make_program(
        "t + v*v over a list", sum_squares, lambda x: (sum(v * v for v in x), ([2.0 * v for v in x],)),
        lambda n: (np.linspace(0.1, 1.0, n).tolist(),), lambda n: 2 * n,
    )  # fmt: skip
    return [*numbers, *arrays, squares._replace(peers=squares.peers | {"torch": squares_with_torch})]


def make_program(name: str, write: Any, by_hand: Any, inputs: Any, count: Any) -> Program:
    """A program of one argument that is differentiated."""
    f = write(np)
    return Program(
        name=name, about=name, sizes=SIZES, inputs=inputs, argnums=(0,), primal=f, by_hand=by_hand,
        contad={engine: on_engine(f, (0,), engine, wrapped=False) for engine in ("matrix", "closures")},
        peers={"autograd": with_autograd(write, (0,)), "torch": with_torch(write, (0,))},
        written={
            "micro-library": with_values(write, (0,)), "stack of objects": with_values(write, (0,), Vari),
            "stack of continuations": with_values(write, (0,), Indexed),
        },
        count=count,
    )  # fmt: skip


# ---- a list ----------------------------------------------------------------------------------------------------------
def sum_squares(np: Any) -> Callable[..., Any]:
    """t = t + v v over the numbers of a list, two operations for each."""

    def f(x: Any) -> Any:
        t = 0.0
        for v in x:
            t = t + v * v
        return t

    return f


def squares_with_torch(x: list[float]) -> Run:
    """torch on a list of tensors without axes."""
    torch, f = import_torch(), sum_squares(np)
    own = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in x]

    def run() -> Any:
        y = f(own)
        return y.detach(), [*torch.autograd.grad(y, own)]

    return run


TOPIC = Topic(
    "One operation with its derivative",
    {
        "Value and gradient of chains, us per operation": Timed(
            "The whole call over the number of operations. The micro-library is `benchmarks/micro.py`: what micrograd "
            "and its like do, written for this table. The two stacks are `benchmarks/stacks.py`: an object with a "
            "virtual method for each operation, as in Stan Math's older design, and a closure for each.",
            list_chains, beside="matrix",
        ),
    },
)  # fmt: skip
