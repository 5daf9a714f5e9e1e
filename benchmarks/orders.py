"""What second derivatives cost: `python -m benchmarks.orders [--quick] [--json]`.

The Hessian of a logistic regression with 20 parameters, and its product with a vector, beside the function and its
gradient, by contad and by JAX compiled with jit if that is installed. Everything is compared with the Hessian by hand
before it is timed. Then what a checkpoint saves: resident memory of a long chain of array operations.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import contad
from benchmarks.command import head, machine, parser, show
from benchmarks.comparison.tools import TOOLS, installed, releases
from benchmarks.resident import peak_of
from benchmarks.scalars import Disagreement
from benchmarks.timing import interleaved, markdown, noise

PARAMETERS = 20
TOLERANCE = 1e-9  # relative to the largest element
PARTS = ("function", "gradient", "Hessian times vector", "Hessian")
STEPS, PIECES = 400, 20  # of the chain: operations on arrays, and checkpoints
Runs = dict[str, Callable[[], Any]]


# ---- logistic regression ---------------------------------------------------------------------------------------------
def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels, parameters and a direction."""
    rng = np.random.default_rng(20)
    rows = rng.normal(size=(n, PARAMETERS))
    labels = (rng.random(n) < 0.5).astype(float)
    return rows, labels, 0.3 * rng.normal(size=PARAMETERS), rng.normal(size=PARAMETERS)


def loss_of(np: Any, rows: Any, labels: Any) -> Callable[[Any], Any]:
    """The negative log likelihood, in the functions of a library."""

    def loss(w: Any) -> Any:
        eta = rows @ w
        return np.sum(np.logaddexp(0.0, eta) - labels * eta)

    return loss


def hessian_by_hand(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    """X^T diag(p (1 - p)) X."""
    p = 1.0 / (1.0 + np.exp(-(rows @ w)))
    product: np.ndarray = rows.T @ ((p * (1.0 - p))[:, None] * rows)
    return product


def by_contad(n: int) -> Runs:
    """The function and its derivatives by contad."""
    rows, labels, w, v = data(n)
    loss = loss_of(np, contad.constant(rows), contad.constant(labels))
    gradient, product, hessian = contad.grad(loss), contad.hvp(loss), contad.hessian(loss)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: loss(w), lambda: gradient(w), lambda: product(w, v), lambda: hessian(w),
    )  # fmt: skip
    return dict(zip(PARTS, calls, strict=True))


def by_jax(n: int) -> Runs:
    """The same by JAX, compiled."""
    import jax
    import jax.numpy as jnp

    TOOLS["jax"].set_up()
    rows, labels, w, v = map(jnp.asarray, data(n))
    loss = loss_of(jnp, rows, labels)

    def product(w: Any, v: Any) -> Any:
        return jax.jvp(jax.grad(loss), (w,), (v,))[1]

    compiled = [jax.jit(f) for f in (loss, jax.grad(loss), product, jax.hessian(loss))]
    arguments = [(w,), (w,), (w, v), (w,)]
    return {
        part: lambda f=f, a=a: jax.block_until_ready(f(*a))
        for part, f, a in zip(PARTS, compiled, arguments, strict=True)
    }


def check(name: str, runs: Runs, n: int) -> None:
    """Compare the Hessian and its product with those by hand; raises Disagreement."""
    rows, _, w, v = data(n)
    expected = hessian_by_hand(rows, w)
    for part, right in ((PARTS[2], expected @ v), (PARTS[3], expected)):
        error = np.max(np.abs(np.asarray(runs[part]()) - right)) / np.max(np.abs(right))
        if not error <= TOLERANCE:
            raise Disagreement(f"{part} by {name}, {n} rows: differs by {error:.3g} of the largest element")


def regression(n: int, repeats: int, least: float) -> dict[str, Any]:
    """Seconds of every part by every library, all taking turns; the gradient by contad twice, for the noise."""
    libraries = {"contad": by_contad(n)} | ({"jax.jit": by_jax(n)} if installed(["jax"]) else {})
    runs: Runs = {}
    for name, parts in libraries.items():
        check(name, parts, n)
        runs |= {f"{name} {part}": run for part, run in parts.items()}
    runs["again"] = runs[f"contad {PARTS[1]}"]
    seconds = {name: t.seconds for name, t in interleaved(runs, repeats, least).items()}
    return {
        "rows": n,
        "noise": noise(seconds[f"contad {PARTS[1]}"], seconds["again"]),
        "seconds": {name: {part: seconds[f"{name} {part}"] for part in PARTS} for name in libraries},
    }


# ---- memory ----------------------------------------------------------------------------------------------------------
def chain_memory(way: str, size: int) -> int:
    """The peak of resident memory in bytes over that before one gradient of a chain, whole or in pieces."""

    def steps(x: Any, count: int) -> Any:
        for _ in range(count):
            x = np.sin(x) * 1.01
        return x

    def whole(x: Any) -> Any:
        return np.sum(steps(x, STEPS))

    def in_pieces(x: Any) -> Any:
        piece = contad.checkpoint(steps)
        for _ in range(PIECES):
            x = piece(x, STEPS // PIECES)
        return np.sum(x)

    f = whole if way == "whole" else in_pieces
    contad.grad(f)(np.ones(10))  # compiles
    x = np.linspace(0.5, 1.5, size)
    return peak_of(lambda: contad.grad(f)(x))


def memory(size: int) -> dict[str, Any]:
    """Both ways, each in a process of its own."""
    found = {}
    for way in ("whole", "in pieces"):
        command = [sys.executable, "-m", "benchmarks.orders", "--chain", way, "--size", str(size)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ)
        found[way] = int(done.stdout)
    return {"size": size, "bytes": found}


# ---- report ----------------------------------------------------------------------------------------------------------
def run(quick: bool) -> dict[str, Any]:
    """All checks and all figures."""
    repeats, least = (2, 0.0) if quick else (9, 0.05)
    return {
        "machine": machine("numpy", **releases(["jax"])),
        "quick": quick,
        "repeats": repeats,
        "regressions": [regression(n, repeats, least) for n in ((50, 100) if quick else (1_000, 100_000))],
        "memory": memory(1_000 if quick else 100_000),
    }  # fmt: skip


def report(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    rows = []
    for r in figures["regressions"]:
        for name, seconds in r["seconds"].items():
            gradient = seconds[PARTS[1]]
            cells = [f"{t * 1e6:.1f} ({t / gradient:.1f})" for t in seconds.values()]
            rows.append((f"{name}, {r['rows']} rows", *cells, f"{r['noise']:.1%}"))
    chain = figures["memory"]
    megabytes = [(way, f"{b / 1e6:.0f}") for way, b in chain["bytes"].items()]
    return "\n\n".join(
        [
            "# Second derivatives",
            head(figures, f"One thread; the minimum of {figures['repeats']} rounds in which all take turns."),
            f"## Logistic regression with {PARAMETERS} parameters, us",
            "In brackets the ratio to the gradient by the same library.",
            markdown(("", *PARTS, "noise"), rows),
            "## Checkpoints",
            (
                f"The peak of resident memory over that before the gradient of {2 * STEPS} operations on "
                f"{chain['size']} numbers, whole and in {PIECES} checkpointed pieces."
            ),
            markdown(("", "MB"), megabytes),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run and print."""
    options = parser("orders", "Time second derivatives.")
    options.add_argument("--chain", choices=("whole", "in pieces"), help=argparse.SUPPRESS)
    options.add_argument("--size", type=int, default=1_000, help=argparse.SUPPRESS)
    asked = options.parse_args(arguments)
    if asked.chain:
        print(chain_memory(asked.chain, asked.size))
        return
    show(run(asked.quick), report, asked.json)


if __name__ == "__main__":
    main()
