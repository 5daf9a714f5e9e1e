"""Gradients of a fresh process, one after the other: `python -m benchmarks.first_calls PROGRAM WAY CALLS` times them.

With `--single` it times single calls: the first one, and those around some later ones.

It is what a process of a user's does that asks for a few gradients: it imports NumPy, the library and nothing else of
the benchmarks. The clock starts before NumPy is imported, so that starting Python itself is not counted.
"""

from time import perf_counter

START = perf_counter()

import json  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from types import FunctionType  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy as np  # noqa: E402

READ = (1, 10, 100, 1_000, 10_000, 100_000)  # calls, after which the clock is read
SINGLE, AROUND = (1, 100, 10_000), 10  # calls that are timed one by one, with so many before and after them


# ---- programs: of the first argument, the others are data ------------------------------------------------------------
def differences(x: Any) -> Any:
    return np.sum(np.tanh(x[1:] - x[:-1]) ** 2) + np.dot(x, x) / (1.0 + np.sum(np.exp(-x)))


def logistic(w: Any, rows: Any, labels: Any) -> Any:
    return np.sum(np.log1p(np.exp(-labels * (rows @ w)))) + 0.5 * np.dot(w, w)


def numbers(x: Any) -> Any:
    s = x
    for _ in range(12):
        s = np.sin(s) * 0.9 + x * s
    return s * s + x


def recurrence(x: Any, observed: Any) -> Any:
    rate, level, s, total = x[0], x[1], x[2], 0.0
    for k in range(200):
        s = s + rate * (level - s)
        total = total + (s - observed[k]) ** 2
    return total


def process(x: Any, distances: Any, y: Any, identity: Any) -> Any:
    covariance = np.exp(x[0] - 0.5 * distances * np.exp(-x[1])) + np.exp(x[2]) * identity
    lower = np.linalg.cholesky(covariance)
    z = np.linalg.solve(lower, y)
    return 0.5 * np.dot(z, z) + np.sum(np.log(np.diag(lower)))


def net(p: Any, rows: Any, y: Any) -> Any:
    hidden = np.tanh(rows @ p[:12].reshape(3, 4) + p[12:16])
    return np.sum((hidden @ p[16:20] - y) ** 2)


class FirstProgram(NamedTuple):
    """A function with its arguments, and how many operations it has on what depends on the first of them."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    operations: int


def _waves(*shape: int) -> np.ndarray:
    """Numbers between -1 and 1; `numpy.random` would have to be imported."""
    return np.sin(np.arange(1.0, 1.0 + np.prod(shape)) ** 2).reshape(shape)


def _list_programs() -> dict[str, FirstProgram]:
    at = np.linspace(0.0, 2.0, 11)
    return {
        "differences": FirstProgram(differences, (np.linspace(0.1, 0.9, 5) ** 2,), 13),
        "logistic": FirstProgram(logistic, (_waves(5), _waves(50, 5), np.sign(_waves(50))), 8),
        "numbers": FirstProgram(numbers, (0.3,), 50),
        "recurrence": FirstProgram(recurrence, (np.array([0.1, 0.7, 0.2]), _waves(200)), 1203),
        "process": FirstProgram(
            process, (np.array([0.1, -0.7, -2.0]), np.subtract.outer(at, at) ** 2, _waves(11), np.eye(11)), 20
        ),
        "net": FirstProgram(net, (_waves(20), _waves(10, 3), _waves(10)), 11),
    }


PROGRAMS = _list_programs()


# ---- ways: each gives what a user calls for a gradient ---------------------------------------------------------------
Run = Callable[[], Any]


def _over(f: Any, module: Any) -> Any:
    """The function with another module in the place of NumPy."""
    return FunctionType(f.__code__, f.__globals__ | {"np": module}, f.__name__)


def _run_eager(f: Any, x: Any, *data: Any) -> Run:
    import contad

    gradient = contad.grad(f)
    return lambda: gradient(x, *data)


def _run_record(f: Any, x: Any, *data: Any) -> Run:
    import contad

    program = contad.record(f, x, *data, argnums=0)
    return lambda: program.gradient(x)


def _run_njit(f: Any, x: Any, *data: Any) -> Run:
    import numba

    import contad

    gradient = contad.grad(numba.njit(cache=True)(f))
    return lambda: gradient(x, *data)


def _run_autograd(f: Any, x: Any, *data: Any) -> Run:
    import autograd
    import autograd.numpy

    gradient = autograd.grad(_over(f, autograd.numpy))
    return lambda: gradient(x, *data)


def _run_jax(f: Any, x: Any, *data: Any) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    gradient = jax.jit(jax.grad(_over(f, jax.numpy)))
    x, *data = (jax.numpy.asarray(a) for a in (x, *data))
    return lambda: jax.block_until_ready(gradient(x, *data))


def _run_torch(f: Any, x: Any, *data: Any) -> Run:
    import torch

    torch.set_num_threads(1)
    f = _over(f, torch)
    point = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    data = tuple(torch.tensor(a) for a in data)
    return lambda: torch.autograd.grad(f(point, *data), point)[0]


def _run_plain(f: Any, *args: Any) -> Run:
    return lambda: f(*args)


WAYS = {
    "eager": _run_eager, "record": _run_record, "njit": _run_njit, "autograd": _run_autograd, "jax": _run_jax,
    "torch": _run_torch, "without a gradient": _run_plain,
}  # fmt: skip
LIBRARIES = {"njit": ("numba", "contad"), "autograd": ("autograd.numpy",), "jax": ("jax",), "torch": ("torch",)}


def time_calls(program: str, way: str, calls: int) -> dict[str, Any]:
    """Seconds since the start, when what is imported is there, and after 1, 10, 100 ... calls; and the gradient."""
    function, args, _ = PROGRAMS[program]
    for library in LIBRARIES.get(way, ("contad",)):
        if way != "without a gradient":
            __import__(library)
    imported = perf_counter() - START
    run = WAYS[way](function, *args)
    done, seconds, found = 0, {}, None
    for n in READ:
        if n > calls:
            break
        for _ in range(n - done):
            found = run()
        seconds[str(n)] = perf_counter() - START
        done = n
    return {"import": imported, "calls": seconds, "gradient": np.asarray(found, dtype=float).ravel().tolist()}


def time_single_calls(program: str, way: str, calls: int) -> dict[str, Any]:
    """Seconds of the calls of `SINGLE`: of the first beside the import, of later ones the median of those around."""
    function, args, _ = PROGRAMS[program]
    for library in LIBRARIES.get(way, ("contad",)):
        __import__(library)
    seconds = []
    start = perf_counter()
    run = WAYS[way](function, *args)
    for _ in range(calls + AROUND):
        run()
        end = perf_counter()
        seconds.append(end - start)
        start = end
    around = {n: sorted(seconds[n - 1 - AROUND : n + AROUND]) for n in SINGLE if 1 < n <= calls}
    return {"1": seconds[0]} | {str(n): found[len(found) // 2] for n, found in around.items()}


if __name__ == "__main__":
    run_timer = time_single_calls if "--single" in sys.argv else time_calls
    print(json.dumps(run_timer(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
