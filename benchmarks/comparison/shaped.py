"""How each tool is led to a value and gradient: what the versions of all programs share.

A maker takes a function and says what is differentiated; it gives a version, as `benchmarks.comparison.program` defines
it. Functions for other libraries are written over their NumPy: `write(module)` returns the function. Every tool runs on
one thread, in float64, and keeps the arguments as arrays of its own.
"""

import functools
from collections.abc import Callable, Sequence
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import contad
from benchmarks.comparison.program import Run
from benchmarks.comparison.tools import TOOLS

Version = Callable[..., Run]
Argnums = tuple[int, ...]


# ---- contad ----------------------------------------------------------------------------------------------------------
def on_engine(f: Any, argnums: Argnums, engine: str, wrapped: bool = True, **options: Any) -> Version:
    """contad on a named engine; data are wrapped for the eager ones, as its README advises, unless told not to."""
    eager = wrapped and engine not in ("generated", "tape")

    def version(*args: Any) -> Run:
        gradient = contad.value_and_grad(f, argnums, engine=engine, **options)
        if eager:
            args = tuple(
                contad.constant(x) if isinstance(x, np.ndarray) and x.dtype == float and n not in argnums else x
                for n, x in enumerate(args)
            )
        return lambda: gradient(*args)

    return version


def on_compiled(f: Any, argnums: Argnums) -> dict[str, Version]:
    """contad's engines for a Numba function."""
    return {engine: on_engine(f, argnums, engine) for engine in ("generated", "tape")}


def in_registers(f: Any, argnums: Argnums) -> dict[str, Version]:
    """The engine `generated` with elementary functions of contad's own, for programs that spend their time in those."""
    return {"generated, simd": on_engine(f, argnums, "generated", numerics="simd")}


def on_bound(f: Any, argnums: Argnums) -> dict[str, Version]:
    """The engine `generated` with its arguments bound, and gradients in the same arrays at every call."""

    def version(*args: Any) -> Run:
        outs = tuple(np.empty(np.shape(args[n])) for n in argnums)
        call = contad.bind(contad.value_and_grad(f, argnums, engine="generated", out=True), *args, outs)
        return lambda: (call(), outs)

    return {"generated, bound": version}


def with_checkpoints(f: Any, argnums: Argnums) -> dict[str, Version]:
    """The engine `generated` with checkpoints, for programs that keep more numbers than caches hold."""
    return {"generated, checkpoints": on_engine(f, argnums, "generated", checkpoint=True)}


def on_eager(f: Callable[..., Any], argnums: Argnums) -> dict[str, Version]:
    """contad's engines for a NumPy function: at once, and as a program recorded before the clock starts."""

    def recorded(*args: Any) -> Run:
        program = contad.record(f, *args, argnums=argnums)
        point = [args[n] for n in argnums]
        return lambda: program.value_and_grad(*point)

    return {"matrix": on_engine(f, argnums, "matrix"), "record": recorded}


# ---- peers -----------------------------------------------------------------------------------------------------------
def with_autograd(write: Callable[[Any], Any], argnums: Argnums) -> Version:
    """autograd on a function written over autograd.numpy."""

    def version(*args: Any) -> Run:
        import autograd
        import autograd.numpy as anp

        gradient = autograd.value_and_grad(write(anp), argnums)
        return lambda: gradient(*args)

    return version


def with_jax(write: Callable[[Any], Any], argnums: Argnums, static: Argnums = (), jit: bool = True) -> Version:
    """jax.jit(jax.value_and_grad(f)) of a function written over jax.numpy; shapes and counts are static arguments."""

    def version(*args: Any) -> Run:
        jax, jnp = import_jax()
        gradient = jax.value_and_grad(write(jnp), argnums)
        if jit:
            gradient = jax.jit(gradient, static_argnums=static)
        own = [x if n in static else jnp.asarray(x) for n, x in enumerate(args)]
        return lambda: jax.block_until_ready(gradient(*own))

    return version


def with_torch(write: Callable[[Any], Any], argnums: Argnums) -> Version:
    """torch.autograd.grad of a function of tensors, written over torch."""

    def version(*args: Any) -> Run:
        torch = import_torch()
        f = write(torch)
        own = [torch.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
        for n in argnums:
            own[n] = torch.tensor(args[n], dtype=torch.float64, requires_grad=True)
        point = [own[n] for n in argnums]

        def run() -> Any:
            y = f(*own)
            return y.detach(), torch.autograd.grad(y, point)

        return run

    return version


def with_xad(f: Callable[..., Any], argnums: Argnums) -> Version:
    """xad's adjoint tape on a function of (nested) lists of its numbers; xad has no arrays."""

    def version(*args: Any) -> Run:
        from xad.adj_1st import Tape

        tape = Tape()
        points = [np.asarray(args[n], dtype=float) for n in argnums]
        inputs = [make_reals(x.ravel().tolist()) for x in points]
        own = [x.tolist() if isinstance(x, np.ndarray) else x for x in args]
        for n, flat, point in zip(argnums, inputs, points, strict=True):
            own[n] = nest(flat, point.shape)
        with tape:
            tape.registerInputs([x for flat in inputs for x in flat])

        def run() -> Any:
            with tape:
                tape.newRecording()
                y = f(*own)
                tape.registerOutput(y)
                y.derivative = 1.0
                tape.computeAdjoints()
                found = (np.array([x.derivative for x in flat]) for flat in inputs)
                return y.value, [g.reshape(x.shape) for g, x in zip(found, points, strict=True)]

        return run

    return version


def with_casadi(write: Callable[..., Any], argnums: Argnums, symbols: str = "MX", in_c: bool = False) -> Version:
    """A CasADi Function of value and gradient, run by its virtual machine, or in C if there is a compiler.

    `write(casadi, *args)` gets a symbol in place of each differentiated argument, (n, 1) or (n, m) as the array is,
    and DM or numbers for the others; it returns the expression of the value.
    """

    def version(*args: Any) -> Run:
        import casadi

        points = [np.asarray(args[n], dtype=float) for n in argnums]
        ends = np.cumsum([0, *(x.size for x in points)]).tolist()
        x = getattr(casadi, symbols).sym("x", ends[-1])  # one vector, so that one reverse sweep gives all gradients
        own = list(args)
        for n, part, point in zip(argnums, casadi.vertsplit(x, ends), points, strict=True):
            own[n] = casadi.reshape(part, *point.shape) if point.ndim == 2 else part
        y = write(casadi, *own)
        outputs = [y, *casadi.vertsplit(casadi.gradient(y, x), ends)]
        gradient = casadi.Function("gradient", [x], outputs, choose_options_of_c() if in_c else {})
        (value, *flat), trigger = make_buffers(gradient, np.concatenate([p.ravel(order="F") for p in points]))
        gradients = tuple(g.reshape(x.shape, order="F") for g, x in zip(flat, points, strict=True))

        def run() -> Any:
            trigger()
            return value[0], gradients

        return run

    return version


# ---- shared steps ----------------------------------------------------------------------------------------------------
def import_jax() -> tuple[Any, Any]:
    """jax and jax.numpy, in float64 and without another thread for the dispatch."""
    import jax
    import jax.numpy as jnp

    TOOLS["jax"].set_up()
    return jax, jnp


def import_torch() -> Any:
    """torch."""
    import torch

    TOOLS["torch"].set_up()
    return torch


def make_reals(numbers: Sequence[float]) -> list[Any]:
    """Numbers that xad's adjoint tape follows."""
    from xad.adj_1st import Real

    return [Real(x) for x in numbers]


def nest(numbers: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Numbers in a row as nested lists of a shape; the number itself for shape ()."""
    if not shape:
        return numbers[0]
    if len(shape) == 1:
        return list(numbers)
    step = len(numbers) // shape[0]
    return [nest(numbers[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]


def choose_options_of_c() -> dict[str, Any]:
    """The options with which CasADi translates a function to C and compiles it, if there is a compiler."""
    if not which("gcc"):
        return {}
    options = {"flags": ["-O3", "-march=native"], "directory": f"{make_scratch_folder().name}/"}
    return {"jit": True, "compiler": "shell", "jit_options": options}


@functools.cache
def make_scratch_folder() -> TemporaryDirectory[str]:
    """A folder for temporary files, instead of the current one, that is gone when the process ends."""
    return TemporaryDirectory(prefix="casadi-", ignore_cleanup_errors=True)


def make_buffers(function: Any, *given: np.ndarray) -> tuple[list[np.ndarray], Callable[[], None]]:
    """Arrays for the results of a CasADi Function, and what fills them; matrices are stored by columns."""
    buffers, trigger = function.buffer()
    results = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
    views = [memoryview(x) for x in (*given, *results)]
    for k, view in enumerate(views[: len(given)]):
        buffers.set_arg(k, view)
    for k, view in enumerate(views[len(given) :]):
        buffers.set_res(k, view)

    def run() -> None:
        trigger()

    run.keep = buffers, views  # type: ignore[attr-defined]  # the trigger knows addresses only
    return results, run
