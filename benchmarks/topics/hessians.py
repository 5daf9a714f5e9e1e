"""Hessians of Numba functions: several columns at once, beside JAX and CasADi."""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import contad
from benchmarks import loops
from benchmarks.comparison import shaped
from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Timed, Topic

INPUTS = (30, 100, 300)
PARTS = ("gradient", "Hessian")
MOST_IN_C = 2_000  # elements, each an expression of its own; of zeros five times as many


# ---- a band ----------------------------------------------------------------------------------------------------------
def banded(np: Any, x: Any) -> Any:
    """Rosenbrock's function, in the functions of a library."""
    a, b = x[1:] - x[:-1] * x[:-1], 1.0 - x[:-1]
    return np.sum(100.0 * a * a + b * b)


@numba.njit
def banded_by_hand(x):
    """Its value and gradient."""
    total, gradient = 0.0, np.zeros(len(x))
    for i in range(len(x) - 1):
        a = x[i + 1] - x[i] * x[i]
        b = 1.0 - x[i]
        total += 100.0 * a * a + b * b
        gradient[i] -= 400.0 * a * x[i] + 2.0 * b
        gradient[i + 1] += 200.0 * a
    return total, (gradient,)


@numba.njit
def band(x):
    """Its Hessian, with the zeros beside the band."""
    n = len(x)
    found = np.zeros((n, n))
    for i in range(n - 1):
        found[i, i] += 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0
        found[i, i + 1] = found[i + 1, i] = -400.0 * x[i]
        found[i + 1, i + 1] += 200.0
    return found


# ---- a full matrix ---------------------------------------------------------------------------------------------------
def dense(np: Any, x: Any) -> Any:
    """Sines times a norm, in the functions of a library."""
    s = np.sum(x * x)
    return s * np.sum(np.sin(x)) + np.log(1.0 + s)


@numba.njit
def dense_loop(x):
    """The same as a loop."""
    s = sines = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
        sines += math.sin(x[i])
    return s * sines + math.log(1.0 + s)


@numba.njit
def dense_by_hand(x):
    """Its value and gradient."""
    s, sines, gradient = 0.0, 0.0, np.empty(len(x))
    for i in range(len(x)):
        s += x[i] * x[i]
        sines += math.sin(x[i])
    for i in range(len(x)):
        gradient[i] = s * math.cos(x[i]) + 2.0 * x[i] * (sines + 1.0 / (1.0 + s))
    return s * sines + math.log(1.0 + s), (gradient,)


@numba.njit
def full(x):
    """Its Hessian."""
    n = len(x)
    s, sines = np.sum(x * x), np.sum(np.sin(x))
    c, found = np.cos(x), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            found[i, j] = 2.0 * (x[j] * c[i] + x[i] * c[j]) - 4.0 * x[i] * x[j] / (1.0 + s) ** 2
        found[i, i] += 2.0 * (sines + 1.0 / (1.0 + s)) - s * math.sin(x[i])
    return found


# ---- tools -----------------------------------------------------------------------------------------------------------
def by_contad(f: Any, part: str) -> Callable[..., Run]:
    """A part by contad, called from Python."""
    derivative = (contad.grad if part == "gradient" else contad.hessian)(f)
    return lambda x: lambda: derivative(x)


def by_jax(f: Any, part: str) -> Callable[..., Run]:
    """A part by JAX, compiled."""

    def version(x: np.ndarray) -> Run:
        jax, jnp = shaped.import_jax()
        transform = jax.grad if part == "gradient" else jax.hessian
        derivative, own = jax.jit(transform(lambda x: f(jnp, x))), jnp.asarray(x)
        return lambda: jax.block_until_ready(derivative(own))

    return version


class _Names:
    """The functions of NumPy that the programs call, in CasADi's."""

    def __init__(self, casadi: Any) -> None:
        self.sin, self.log, self.sum = casadi.sin, casadi.log, casadi.sum1


def by_casadi(f: Any, part: str) -> Callable[..., Run]:
    """A part by CasADi, compiled from C; by its virtual machine where gcc would take minutes."""

    def version(x: np.ndarray) -> Run:
        import casadi

        symbol = casadi.SX.sym("x", len(x))
        value = f(_Names(casadi), symbol)
        found = casadi.gradient(value, symbol) if part == "gradient" else casadi.hessian(value, symbol)[0]
        options = shaped.choose_options_of_c() if max(found.nnz(), found.numel() // 5) <= MOST_IN_C else {}
        function = casadi.Function("part", [symbol], [casadi.densify(found)], options)
        (result,), trigger = shaped.make_buffers(function, np.ascontiguousarray(x))
        result = result if part == "gradient" else result.reshape(len(x), len(x))

        def run() -> np.ndarray:
            trigger()
            return result

        return run

    return version


REMARKS = (
    "The Hessian of Rosenbrock's function is a band of three diagonals: casadi sees that and computes nothing else; "
    "contad.sparse_hessian does so, too, with three products at any size. hessian has all columns, eight at once. "
    "casadi writes into one buffer, contad makes the matrix anew."
)


def _program(name: str, f: Any, own: Any, by_hand: Any, hessian: Any) -> Program:
    gives = {"gradient": lambda x: by_hand(x)[1][0], "Hessian": hessian}
    tools = {"jax": by_jax, "casadi": by_casadi}
    return Program(
        name=name, about="its gradient and Hessian, as NumPy arrays",
        sizes={QUICK: {"n": 10}} | {f"{n}": {"n": n} for n in INPUTS},
        inputs=lambda n: (np.linspace(-1.0, 1.0, n),), argnums=(0,), primal=own, by_hand=by_hand,
        contad={part: by_contad(own, part) for part in PARTS},
        peers={f"{tool} {part}": make(f, part) for tool, make in tools.items() for part in PARTS},
        gives={f"{tool} {part}": gives[part] for tool in ("contad", *tools) for part in PARTS},
        remarks=REMARKS, tolerance=1e-9,
    )  # fmt: skip


def list_programs(choice: Choice = EVERYTHING) -> list[Program]:
    """Both functions by every library."""
    return [
        _program("band", banded, loops.rosenbrock, banded_by_hand, band),
        _program("full matrix", dense, dense_loop, dense_by_hand, full),
    ]


TOPIC = Topic("Hessians", {"Hessians of 30 to 300 inputs, us": Timed(REMARKS, list_programs, beside="own gradient")})
