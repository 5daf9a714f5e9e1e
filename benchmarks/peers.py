"""The ways to a gradient that are timed side by side: contad, by hand, and other libraries if they are installed.

Every library runs on one thread in float64. It gets its arguments as arrays of its own, made before the clock starts,
and returns value and gradient as such; so no conversion is timed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import contad
from benchmarks.array_workloads import ArrayWorkload
from benchmarks.comparison.tools import TOOLS, installed

Run = Callable[[], Any]  # (value, gradient)


class Way(NamedTuple):
    """A way to value and gradient: prepare(work)() returns (value, tuple of cotangents)."""

    name: str
    prepare: Callable[[ArrayWorkload], Run]


def by_hand() -> Way:
    """The gradient by hand, in NumPy."""
    return Way("by hand", lambda work: lambda: work.by_hand(*work.point, *work.data))


def with_contad(engine: str, *, wrapped: bool = False) -> Way:
    """contad on an engine; if wrapped, the data are passed as `contad.constant`."""

    def prepare(work: ArrayWorkload) -> Run:
        gradient = contad.value_and_grad(work.program(np), work.argnums, engine=engine)
        data = tuple(contad.constant(a) for a in work.data) if wrapped else work.data
        return lambda: gradient(*work.point, *data)

    return Way(f"contad {engine}, data wrapped" if wrapped else f"contad {engine}", prepare)


def recorded() -> Way:
    """A program that `contad.record` has made at the point, which freezes the data."""

    def prepare(work: ArrayWorkload) -> Run:
        arguments = (*work.point, *work.data)
        program = contad.record(work.program(np), *arguments, argnums=work.argnums)
        return lambda: program.value_and_grad(*work.point)

    return Way("contad.record", prepare)


def _with_autograd(work: ArrayWorkload) -> Run:
    import autograd
    import autograd.numpy as anp

    gradient = autograd.value_and_grad(work.program(anp), work.argnums)
    return lambda: gradient(*work.point, *work.data)


def _with_torch(work: ArrayWorkload) -> Run:
    import torch

    TOOLS["torch"].set_up()
    f = work.program(torch)
    point = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in work.point]
    data = [torch.tensor(x, dtype=torch.float64) for x in work.data]

    def run() -> Any:
        y = f(*point, *data)
        return y.detach(), torch.autograd.grad(y, point)

    return run


def _with_jax(jit: bool) -> Callable[[ArrayWorkload], Run]:
    def prepare(work: ArrayWorkload) -> Run:
        import jax
        import jax.numpy as jnp

        TOOLS["jax"].set_up()
        gradient = jax.value_and_grad(work.program(jnp), work.argnums)
        if jit:
            gradient = jax.jit(gradient)
        arguments = [jnp.asarray(x, dtype=jnp.float64) for x in (*work.point, *work.data)]
        return lambda: jax.block_until_ready(gradient(*arguments))

    return prepare


PEERS = {
    "autograd": Way("autograd", _with_autograd), "torch": Way("torch", _with_torch),
    "jax.jit": Way("jax.jit", _with_jax(True)), "jax": Way("jax", _with_jax(False)),
}  # fmt: skip


def peers(names: Sequence[str] = tuple(PEERS)) -> list[Way]:
    """Those of the named ways whose library is installed."""
    return [way for name, way in PEERS.items() if name in names and installed([name.partition(".")[0]])]


LIBRARIES = tuple(dict.fromkeys(name.partition(".")[0] for name in PEERS))
