"""The ways to a gradient that are timed side by side: contad, by hand, and other libraries if they are installed.

Every library runs on one thread in float64. It gets its arguments as arrays of its own, made before the clock starts,
and returns value and gradient as such; so no conversion is timed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import contad
from benchmarks.array_workloads import ArrayWorkload
from benchmarks.comparison.program import Run
from benchmarks.comparison.shaped import Version, with_autograd, with_jax, with_torch
from benchmarks.comparison.tools import installed


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


def _of_library(make: Callable[..., Version], **options: Any) -> Callable[[ArrayWorkload], Run]:
    return lambda work: make(work.program, work.argnums, **options)(*work.point, *work.data)


PEERS = {
    "autograd": Way("autograd", _of_library(with_autograd)), "torch": Way("torch", _of_library(with_torch)),
    "jax.jit": Way("jax.jit", _of_library(with_jax)), "jax": Way("jax", _of_library(with_jax, jit=False)),
}  # fmt: skip


def peers(names: Sequence[str] = tuple(PEERS)) -> list[Way]:
    """Those of the named ways whose library is installed."""
    return [way for name, way in PEERS.items() if name in names and installed([name.partition(".")[0]])]


LIBRARIES = tuple(dict.fromkeys(name.partition(".")[0] for name in PEERS))
