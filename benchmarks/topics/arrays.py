"""What differentiating array code costs: one NumPy call, whole gradients, single elements, and memory.

Programs are written once and take the module that holds their functions (`numpy`, `autograd.numpy`, `jax.numpy` or
`torch`); so all libraries run the same lines. By hand is plain NumPy.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

import contad
from benchmarks.chains import CHAINS, make_program, write_elements
from benchmarks.comparison.measure import BY_HAND, Disagreement, versions
from benchmarks.comparison.memory import measure_memory
from benchmarks.comparison.program import Program
from benchmarks.comparison.programs import normal, regressions, stochastic_volatility
from benchmarks.comparison.shaped import on_eager, on_engine, with_autograd, with_jax, with_torch
from benchmarks.comparison.tools import TOOLS, describe_error
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Counted, Timed, Topic
from benchmarks.timing import switch_collector, time_calls
from contad.engines import engine as engine_class, engine_names
from contad.variables.stack import opened

CALLS = (
    "A chain of steps, less the same program of one step, for each call (an operation, a slice, an element read or "
    "write)."
)
READS = ("x[i] of the argument", "x[i] after contad.to_matvar", "x[i] of an object array of variables")
PRODUCTS = 10
ELEMENTWISE = ("closures", "records")  # an operation for each of 10^10 products of numbers: not run at full size


def list_chains(choice: Choice) -> list[Program]:
    """One chain for every kind of call, on arrays of three numbers."""
    found = list(CHAINS)
    found.insert(-2, write_elements(3))
    return [make_program(chain, 1_000, choice.engines) for chain in found]


def list_writes(choice: Choice) -> list[Program]:
    """Element writes into arrays of several sizes, on which a write may not depend."""
    return [make_program(write_elements(n), 10_000, choice.engines, peers=False) for n in (10, 1_000, 100_000)]


# ---- whole gradients -------------------------------------------------------------------------------------------------
def over_arrays(
    name: str, sizes: dict[str, dict[str, int]], inputs: Any, argnums: tuple[int, ...], write: Any, by_hand: Any,
    engines: Sequence[str] = (),
) -> Program:  # fmt: skip
    """A program whose function write(module) makes, with every way to its gradient."""
    f = write(np)
    data = len(inputs(**sizes[QUICK])) > len(argnums)
    ways = {name: on_engine(f, argnums, name, wrapped=False) for name in engines}
    if data:
        ways |= {f"{name}, data wrapped": on_engine(f, argnums, name) for name in engines}
    return Program(
        name=name, about=name, sizes=sizes, inputs=inputs, argnums=argnums, primal=f, by_hand=by_hand,
        contad=ways | {"record": on_eager(f, argnums)["record"]},
        peers={
            "autograd": with_autograd(write, argnums), "torch": with_torch(write, argnums),
            "jax": with_jax(write, argnums), "jax without jit": with_jax(write, argnums, jit=False),
        },
    )  # fmt: skip


def list_models(choice: Choice = EVERYTHING) -> list[Program]:
    """The functions whose whole gradient is timed: an empty one, and log densities."""
    engines, vector = choice.engines, {"full": {"n": 1_000}, QUICK: {"n": 30}}
    return [
        over_arrays(
            "x[0]", {"full": {}, QUICK: {}}, lambda: (np.array([0.7, -1.2, 0.4]),), (0,), lambda np: lambda x: x[0],
            first_by_hand, engines,
        ),
        over_arrays(
            "logistic regression", {"full": {"n": 1_000, "k": 20}, QUICK: {"n": 40, "k": 3}},
            regressions.logistic_inputs, regressions.LOGISTIC, regressions.logistic,
            regressions.logistic_on_arrays_by_hand, engines,
        ),
        over_arrays(
            "stochastic volatility", {"full": {"steps": 1_000}, QUICK: {"steps": 30}}, stochastic_volatility.inputs,
            stochastic_volatility.ARGNUMS, stochastic_volatility.over_arrays, stochastic_volatility.on_arrays_by_hand,
            engines,
        ),
        over_arrays("log sum exp", vector, draw_normal, (0,), log_sum_exp, log_sum_exp_by_hand, engines),
        over_arrays("normal density", vector, normal.inputs, (0, 1), normal.written, normal_by_hand, engines),
    ]  # fmt: skip


def first_by_hand(x):
    """x[0]: what a gradient costs where there is nothing to do."""
    x_bar = np.zeros_like(x)
    x_bar[0] = 1.0
    return x[0], (x_bar,)


def draw_normal(n):
    return (3.0 * np.random.default_rng(7).normal(size=n),)


def log_sum_exp(np):
    """Shifted by the maximum."""

    def f(x):
        m = np.max(x)
        return m + np.log(np.sum(np.exp(x - m)))

    return f


def log_sum_exp_by_hand(x):
    m = np.max(x)
    e = np.exp(x - m)
    s = np.sum(e)
    return m + np.log(s), (e / s,)


def normal_by_hand(mu, sigma, y):
    z = (y - mu) / sigma
    squares = z @ z
    value = -0.5 * squares - len(y) * (np.log(sigma) + normal.HALF_LOG_2_PI)
    return value, (np.sum(z) / sigma, (squares - len(y)) / sigma)


# ---- element by element ----------------------------------------------------------------------------------------------
def read_elements(choice: Choice) -> dict[str, dict[str, Any]]:
    """Seconds per element of x[0] + x[1] + ..., for arrays and for object arrays of scalar variables.

    `whole call` is the whole gradient; `loop alone` only the reading and adding.
    """
    size, repeats = (200, 2) if choice.quick else (10_000, 9)
    table: dict[str, dict[str, Any]] = {}
    for engine in choice.engines:
        direct = None
        for name, run in gradients_of_sum(engine, size).items():
            row = table[f"{engine}, {size} elements: {name}"] = time_reads(run, size, repeats)
            direct = direct or row
            if "refused" not in direct and "refused" not in row:
                row |= {f"x[i] of the argument / this, {part}": direct[part] / row[part] * 1e-9 for part in PARTS}
    return table


PARTS = ("whole call", "loop alone")


def gradients_of_sum(engine: str, size: int) -> dict[str, Callable[[list[float]], np.ndarray]]:
    """The gradient of x[0] + x[1] + ... in three ways; each appends the seconds of its loop to a list."""
    x = np.random.default_rng(17).normal(size=size)

    def add(x: Any, loops: list[float]) -> Any:
        start = perf_counter()
        total = 0.0
        for i in range(size):
            total = total + x[i]
        loops.append(perf_counter() - start)
        return total

    def through_variables(loops: list[float]) -> np.ndarray:
        with opened(engine_class(engine)) as s:
            variables = np.empty(x.shape, dtype=object)
            variables[:] = [s.variable(v) for v in x.tolist()]
            return np.array(s.gradient(add(variables, loops), list(variables)))

    return dict(
        zip(
            READS,
            (
                lambda loops: contad.grad(lambda x: add(x, loops), engine=engine)(x),
                lambda loops: contad.grad(lambda x: add(contad.to_matvar(x), loops), engine=engine)(x),
                through_variables,
            ),
            strict=True,
        )
    )


def time_reads(run: Callable[[list[float]], np.ndarray], size: int, repeats: int) -> dict[str, Any]:
    """Seconds per element, or why the engine refuses."""
    try:
        gradient = run([])
    except Exception as error:
        return {"refused": describe_error(error)}
    if not np.array_equal(gradient, np.ones(size)):
        raise Disagreement(f"reading {size} elements: the gradient of the sum must be 1 everywhere")
    loops: list[float] = []
    with switch_collector(on=True):
        call = min(time_calls(lambda: run(loops)) for _ in range(repeats))
    return dict(zip(PARTS, (call / size, min(loops) / size), strict=True))


# ---- memory ----------------------------------------------------------------------------------------------------------
def multiply(np):
    def f(a, b):
        for _ in range(PRODUCTS):
            a = a @ b
        return np.sum(a)

    return f


def multiply_by_hand(a, b):
    states = []
    for _ in range(PRODUCTS):
        states.append(a)
        a = a @ b
    value = np.sum(a)
    a_bar, b_bar = np.ones_like(a), np.zeros_like(b)
    for state in reversed(states):
        b_bar += state.T @ a_bar
        a_bar = a_bar @ b.T
    return value, (a_bar, b_bar)


def draw_matrices(n: int) -> tuple[np.ndarray, ...]:
    """Two matrices, so scaled that products keep their length."""
    draw = np.random.default_rng(13)
    return tuple(draw.normal(size=(n, n)) / np.sqrt(n) for _ in range(2))


MATRICES = over_arrays(
    "matrix products", {"small": {"n": 200}, QUICK: {"n": 60}, "full": {"n": 1_000}}, draw_matrices,
    (0, 1), multiply, multiply_by_hand, engine_names(),
)  # fmt: skip


def count_memory(choice: Choice) -> dict[str, dict[str, Any]]:
    """What each way takes for a gradient of ten products of matrices, each in a fresh process."""
    size = QUICK if choice.quick else "full"
    n = MATRICES.sizes[size]["n"]
    unit, ideal = 8 * n * n, 2 * (PRODUCTS + 2) * 8 * n * n  # two arguments and each product, values and adjoints
    ours = [f"contad {name}" for name in choice.engines if choice.quick or name not in ELEMENTWISE]
    peers = [name for name in versions(MATRICES, tuple(TOOLS)) if name in MATRICES.peers and "without" not in name]
    table: dict[str, dict[str, Any]] = {}
    for way in (BY_HAND, *ours, *peers):
        found = measure_memory(f"{__name__}:MATRICES", way, size, 5 if choice.quick else 100) or {"raised": "a crash"}
        if "raised" in found:
            table[way] = {"refused": found["raised"]}
            continue
        peak, traced = found["peak"], found["traced"]
        table[way] = {
            "peak, MB": peak / 1e6, "in matrices": peak / unit, "ratio to ideal": peak / ideal,
            "Python's allocators, matrices": traced / unit, "growth, KiB": found["growth"] / 1024,
        }  # fmt: skip
    return table


TOPIC = Topic(
    "Array code",
    {
        "One NumPy call on arrays of three numbers, us": Timed(CALLS, list_chains),
        "One element write, us": Timed(CALLS, list_writes),
        "Whole gradients, with the value, us": Timed("", list_models, first=True),
        "Reading elements one by one and adding them, ns per element": Counted("", read_elements, "ns"),
        "Memory": Counted(
            f"{PRODUCTS} products of two matrices of 1000 x 1000 (of 60 x 60 in a quick run): the peak of resident "
            f"memory in a fresh process over that before the call. Ideal: each value and each adjoint once, "
            f"{2 * (PRODUCTS + 2)} matrices. Growth: resident memory after 100 repeats with small matrices.",
            count_memory,
        ),
    },
)
