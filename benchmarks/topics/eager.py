"""What eager derivatives cost beside a gradient: joined arrays, forward mode, linear maps, and memory that stays."""

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import contad
from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.shaped import on_engine, with_autograd
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Counted, Timed, Topic
from benchmarks.resident import trim

ROOT = Path(__file__).parents[2]
SIZES = (1_000, 10_000, 30_000, 100_000)
SIDES = (3, 10, 30)
LARGE = 10_000_000  # elements, of the gradient whose memory is measured


# ---- joined arrays, in the functions of a library --------------------------------------------------------------------
def concatenate(np: Any) -> Callable[[Any], Any]:
    """Two arrays end to end."""
    return lambda x: np.sum(np.concatenate([x * 2.0, x]) ** 2)


def concatenate_by_hand(x: np.ndarray) -> Any:
    z = np.concatenate([x * 2.0, x])
    z_bar = 2.0 * z
    return np.sum(z**2), (2.0 * z_bar[: len(x)] + z_bar[len(x) :],)


def roll(np: Any) -> Callable[[Any], Any]:
    """An array beside itself, moved on."""
    return lambda x: np.sum(np.roll(x * 2.0, 3) * x)


def roll_by_hand(x: np.ndarray) -> Any:
    moved = np.roll(x * 2.0, 3)
    return np.sum(moved * x), (moved + 2.0 * np.roll(x, -3),)


def multiply_three(np: Any) -> Callable[[Any], Any]:
    """An einsum of three matrices, of which one is differentiated."""

    def f(x: Any) -> Any:
        b, c = draw_factors(len(x))
        return np.sum(np.einsum("ij,jk,kl->il", x, b, c) ** 2)

    return f


def multiply_three_by_hand(x: np.ndarray) -> Any:
    b, c = draw_factors(len(x))
    z = np.einsum("ij,jk,kl->il", x, b, c)
    return np.sum(z**2), (np.einsum("il,kl,jk->ij", 2.0 * z, c, b),)


@functools.cache
def draw_factors(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(2, n, n))


def list_joins(choice: Choice = EVERYTHING) -> list[Program]:
    """Joined arrays, by contad and autograd."""
    cases: Any = (
        ("concatenate", concatenate, concatenate_by_hand, SIZES, 1),
        ("roll", roll, roll_by_hand, SIZES, 1),
        ("einsum of three", multiply_three, multiply_three_by_hand, SIDES, 2),
    )
    return [
        Program(
            name=name, about=str(write.__doc__),
            sizes={QUICK: {"n": 3 if axes == 2 else 100}} | {str(n): {"n": n} for n in sizes},
            inputs=lambda n, axes=axes: (np.random.default_rng(19).normal(size=(n,) * axes),), argnums=(0,),
            primal=write(np), by_hand=by_hand, contad={"matrix": on_engine(write(np), (0,), "matrix")},
            peers={"autograd": with_autograd(write, (0,))},
        )
        for name, write, by_hand, sizes, axes in cases
    ]  # fmt: skip


# ---- derivatives of one function -------------------------------------------------------------------------------------
def rosenbrock(x: Any) -> Any:
    """A valley in many dimensions."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_by_hand(x: np.ndarray) -> Any:
    a, b = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
    gradient = np.zeros(len(x))
    gradient[:-1] = -400.0 * a * x[:-1] - 2.0 * b
    gradient[1:] += 200.0 * a
    return np.sum(100.0 * a**2 + b**2), (gradient,)


def apply_map(x: np.ndarray) -> Run:
    tangent_map, tangent = contad.linearize(rosenbrock, x)[1], np.ones(x.shape)
    return lambda: tangent_map(tangent)


def list_directions(choice: Choice = EVERYTHING) -> list[Program]:
    """The valley of 50 numbers: its gradient, and what stands beside it."""
    ways: dict[str, Callable[..., Run]] = {
        "gradient": lambda x: functools.partial(contad.grad(rosenbrock), x),
        "jvp": lambda x: lambda: contad.jvp(rosenbrock, (x,), (np.ones(x.shape),))[1],
        "linearize": lambda x: lambda: contad.linearize(rosenbrock, x)[0],
        "call of the map": apply_map,
    }
    slope = lambda x: np.sum(rosenbrock_by_hand(x)[1][0])  # noqa: E731
    expected = (lambda x: rosenbrock_by_hand(x)[1][0], slope, rosenbrock, slope)
    return [
        Program(
            name="Rosenbrock", about="a valley", sizes={QUICK: {"n": 50}, "full": {"n": 50}},
            inputs=lambda n: (np.linspace(0.1, 1.0, n),), argnums=(0,), primal=rosenbrock, by_hand=rosenbrock_by_hand,
            contad=ways, gives={f"contad {way}": f for way, f in zip(ways, expected, strict=True)},
        )
    ]  # fmt: skip


# ---- memory ----------------------------------------------------------------------------------------------------------
_MEMORY = """
import numpy as np
import contad
from benchmarks.resident import trim

f = contad.grad(lambda x: np.sum(np.exp(x) * x))
f(np.ones(100))
x = np.ones({size})
before = trim()
found = []
for _ in range(3):
    f(x)
    found.append(trim() - before)
for _ in range(25):
    f(x[:100])
found.append(trim() - before)
contad.recover_memory()
found.append(trim() - before)
print(*found)
"""
AFTER = ("the first large gradient", "the second", "the third", "25 small ones", "recover_memory()")


def count_kept(choice: Choice) -> dict[str, dict[str, float]]:
    """Resident memory over that before, after each of the calls, in a fresh process; none where no kernel tells."""
    if sys.platform != "linux":
        return {}
    trim()
    command = [sys.executable, "-c", _MEMORY.format(size=1_000_000 if choice.quick else LARGE)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return {what: {"MiB": int(n) / 2**20} for what, n in zip(AFTER, done.stdout.split(), strict=True)}


TOPIC = Topic(
    "Eager derivatives",
    {
        "Gradients of joined arrays, us": Timed("", list_joins),
        "Derivatives of a function of 50 numbers, us": Timed("", list_directions, beside="own gradient"),
        "Memory kept after one gradient of many elements": Counted("", count_kept),
    },
)
