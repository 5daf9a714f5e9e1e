"""What second derivatives cost, and what a checkpoint saves."""

import timeit
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import contad
from benchmarks import loops
from benchmarks.comparison.memory import measure_memory
from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.shaped import on_engine
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Counted, Timed, Topic

PARAMETERS = 20
PARTS = ("function", "gradient", "Hessian times vector", "Hessian")
STEPS, PIECES = 400, 20  # of the chain: operations on arrays, and checkpoints


# ---- logistic regression ---------------------------------------------------------------------------------------------
def draw_data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Parameters, rows, labels and a direction."""
    rng = np.random.default_rng(20)
    rows = rng.normal(size=(n, PARAMETERS))
    labels = (rng.random(n) < 0.5).astype(float)
    return 0.3 * rng.normal(size=PARAMETERS), rows, labels, rng.normal(size=PARAMETERS)


def loss_of(np: Any, rows: Any, labels: Any) -> Callable[[Any], Any]:
    """The negative log likelihood, in the functions of a library."""

    def loss(w: Any) -> Any:
        eta = rows @ w
        return np.sum(np.logaddexp(0.0, eta) - labels * eta)

    return loss


def gradient_by_hand(w: np.ndarray, rows: np.ndarray, labels: np.ndarray, v: np.ndarray) -> Any:
    eta = rows @ w
    return np.sum(np.logaddexp(0.0, eta) - labels * eta), (rows.T @ (1.0 / (1.0 + np.exp(-eta)) - labels),)


def hessian_by_hand(w: np.ndarray, rows: np.ndarray, labels: np.ndarray, v: np.ndarray) -> np.ndarray:
    """X^T diag(p (1 - p)) X."""
    p = 1.0 / (1.0 + np.exp(-(rows @ w)))
    product: np.ndarray = rows.T @ ((p * (1.0 - p))[:, None] * rows)
    return product


EXPECTED: dict[str, Callable[..., Any]] = {
    "function": lambda w, rows, labels, v: loss_of(np, rows, labels)(w),
    "gradient": lambda *args: gradient_by_hand(*args)[1][0],
    "Hessian times vector": lambda *args: hessian_by_hand(*args) @ args[3],
    "Hessian": hessian_by_hand,
}


def by_contad(part: str) -> Any:
    """A part by contad."""

    def version(w: np.ndarray, rows: np.ndarray, labels: np.ndarray, v: np.ndarray) -> Run:
        loss = loss_of(np, contad.constant(rows), contad.constant(labels))
        f = {"function": lambda f: f, "gradient": contad.grad, "Hessian": contad.hessian}.get(part, contad.hvp)(loss)
        return (lambda: f(w, v)) if part == PARTS[2] else lambda: f(w)

    return version


def by_jax(part: str) -> Any:
    """A part by JAX, compiled."""

    def version(*args: np.ndarray) -> Run:
        import jax
        import jax.numpy as jnp

        w, rows, labels, v = map(jnp.asarray, args)
        loss = loss_of(jnp, rows, labels)
        f: Callable[..., Any] = {
            "function": loss, "gradient": jax.grad(loss), "Hessian": jax.hessian(loss),
            "Hessian times vector": lambda w, v: jax.jvp(jax.grad(loss), (w,), (v,))[1],
        }[part]  # fmt: skip
        f, given = jax.jit(f), (w, v) if part == PARTS[2] else (w,)
        return lambda: jax.block_until_ready(f(*given))

    return version


def list_programs(choice: Choice = EVERYTHING) -> list[Program]:
    """Every part of the second derivative of a logistic regression, by every library."""
    return [
        Program(
            name=f"logistic regression, {PARAMETERS} parameters", about="and its product with a vector",
            sizes={QUICK: {"n": 50}, "small": {"n": 1_000}, "full": {"n": 100_000}}, inputs=draw_data, argnums=(0,),
            primal=EXPECTED["function"], by_hand=gradient_by_hand,
            contad={part: by_contad(part) for part in PARTS}, peers={f"jax {part}": by_jax(part) for part in PARTS},
            gives={f"{tool} {part}": EXPECTED[part] for tool in ("contad", "jax") for part in PARTS},
            tolerance=1e-9,
        )
    ]  # fmt: skip


# ---- memory ----------------------------------------------------------------------------------------------------------
def run_steps(x: Any, count: int) -> Any:
    for _ in range(count):
        x = np.sin(x) * 1.01
    return x


def run_whole(x: Any) -> Any:
    return np.sum(run_steps(x, STEPS))


def run_in_pieces(x: Any) -> Any:
    piece = contad.checkpoint(run_steps)
    for _ in range(PIECES):
        x = piece(x, STEPS // PIECES)
    return np.sum(x)


def chain_by_hand(x: Any) -> Any:
    states = [x]
    for _ in range(STEPS):
        states.append(np.sin(states[-1]) * 1.01)
    x_bar = np.ones_like(x)
    for state in reversed(states[:-1]):
        x_bar = x_bar * 1.01 * np.cos(state)
    return np.sum(states[-1]), (x_bar,)


CHAIN = Program(
    name="sines", about=f"{2 * STEPS} operations, whole and in {PIECES} checkpointed pieces",
    sizes={"small": {"n": 10}, QUICK: {"n": 1_000}, "full": {"n": 100_000}},
    inputs=lambda n: (np.linspace(0.5, 1.5, n),), argnums=(0,), primal=run_whole, by_hand=chain_by_hand,
    contad={way: on_engine(f, (0,), "matrix") for way, f in (("whole", run_whole), ("in pieces", run_in_pieces))},
    tolerance=1e-9,
)  # fmt: skip


def count_memory(choice: Choice) -> dict[str, dict[str, Any]]:
    """The peak of both ways, each in a process of its own."""
    size = QUICK if choice.quick else "full"
    found = {way: measure_memory(f"{__name__}:CHAIN", f"contad {way}", size) or {} for way in CHAIN.contad}
    return {way: {"peak, MB": f["peak"] / 1e6 if "peak" in f else f.get("raised")} for way, f in found.items()}


# ---- Numba functions -------------------------------------------------------------------------------------------------
COMPILED = ("rosenbrock", "logistic", "recurrence", "mixture", "lstm")
INPUTS = (30, 100, 300)


@numba.njit
def volatility(h, y, phi, sigma):
    """The log density of a stochastic volatility model: an autoregression of logarithms of variances."""
    total = 0.0
    for t in range(len(h)):
        mean = phi * h[t - 1] if t > 0 else 0.0
        total -= 0.5 * ((h[t] - mean) / sigma) ** 2 + 0.5 * h[t] + 0.5 * y[t] * y[t] * np.exp(-h[t])
    return total - len(h) * np.log(sigma)


def list_compiled(scale: float) -> dict[str, tuple[Any, Any, tuple[int, ...]]]:
    """name -> (function, arguments, argnums)"""
    found = loops.problems(scale)
    rng = np.random.default_rng(3)
    n = max(int(1000 * scale), 10)
    series = rng.normal(size=n), rng.normal(size=n), 0.9, 0.4
    return {name: found[name] for name in COMPILED} | {"volatility": (volatility, series, (0, 2, 3))}


def time_call(f: Callable[..., Any], *args: Any) -> float:
    """Seconds of a call, the least of several runs."""
    f(*args)
    timer = timeit.Timer(lambda: f(*args))
    count = timer.autorange()[0]
    return min(timer.repeat(5, count)) / count


def count_products(choice: Choice) -> dict[str, dict[str, Any]]:
    """The times of a gradient, and of a product with the Hessian; compiled Hessians of the Rosenbrock function."""
    table: dict[str, dict[str, Any]] = {}
    for name, (f, args, argnums) in list_compiled(0.02 if choice.quick else 1.0).items():
        if choice.chooses(name):
            rng = np.random.default_rng(5)
            v = tuple(rng.normal(size=args[k].shape) if np.ndim(args[k]) else float(rng.normal()) for k in argnums)
            gradient = time_call(contad.grad(f, argnums), *args)
            product = time_call(contad.hvp(f, argnums), *args, v)
            table[name] = {"gradient, us": 1e6 * gradient, "product, us": 1e6 * product, "ratio": product / gradient}
    f = loops.rosenbrock
    for n in INPUTS[:1] if choice.quick else INPUTS:
        if choice.chooses(f"Hessian of {n}"):
            x = np.linspace(-1.0, 1.0, n)
            gradient, hessian = time_call(contad.grad(f), x), time_call(contad.hessian(f), x)
            product = hessian / n
            figures = {"gradient, us": 1e6 * gradient, "product, us": 1e6 * product, "ratio": product / gradient}
            table[f"Hessian of {n}"] = figures
    return table


TOPIC = Topic(
    "Second derivatives",
    {
        "Logistic regression, us": Timed("", list_programs, beside="own gradient"),
        "Products with compiled Hessians": Counted(
            "The gradient of Numba functions, and the product of the Hessian with a vector; in rows of Hessians, of "
            "the Rosenbrock function, the time for each of their columns.",
            count_products,
        ),
        "Checkpoints": Counted(
            f"The peak of resident memory over that before the gradient of {2 * STEPS} operations on 100 000 numbers "
            f"(1000 in a quick run), whole and in {PIECES} checkpointed pieces.",
            count_memory,
        ),
    },
)
