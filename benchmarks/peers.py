"""The ways to a gradient that are timed side by side: contad, by hand, and other libraries if they are installed.

Every library runs on one thread in float64. It gets its arguments as arrays of its own, made before the clock starts,
and returns value and gradient as such; so no conversion is timed.
"""

import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import contad
from benchmarks.array_workloads import ArrayWorkload

# read when JAX is imported, which happens on first use
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

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

    torch.set_num_threads(1)
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

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_cpu_enable_async_dispatch", False)  # no hand-over to another thread
        gradient = jax.value_and_grad(work.program(jnp), work.argnums)
        if jit:
            gradient = jax.jit(gradient)
        arguments = [jnp.asarray(x, dtype=jnp.float64) for x in (*work.point, *work.data)]
        return lambda: jax.block_until_ready(gradient(*arguments))

    return prepare


_PEERS = {
    "autograd": Way("autograd", _with_autograd), "torch": Way("torch", _with_torch),
    "jax.jit": Way("jax.jit", _with_jax(True)), "jax": Way("jax", _with_jax(False)),
}  # fmt: skip


def peers(names: Sequence[str] = tuple(_PEERS)) -> list[Way]:
    """Those of the named ways whose library is installed."""
    return [way for name, way in _PEERS.items() if name in names and find_spec(name.partition(".")[0])]


def releases() -> dict[str, str]:
    """The release of each library, or "not installed, skipped"."""
    libraries = dict.fromkeys(name.partition(".")[0] for name in _PEERS)
    return {name: version(name) if find_spec(name) else "not installed, skipped" for name in libraries}


def reason(error: Exception) -> str:
    """An exception in one line, as a table can show it."""
    text = str(error).strip().partition("\n")[0].replace("|", "/")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
