"""Gradients on a device beside the library's own: PyTorch (CUDA, else the CPU), JAX and CuPy, six programs.

On a machine without a GPU it says so and runs the CPU's forms. Every gradient is checked against PyTorch's, or contad's
own of NumPy's arrays, before it is timed.
"""

import functools
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

import contad
from benchmarks.comparison.topic import Choice, Counted, Topic

SIZES, QUICK = (10**6, 10**7), (10**4,)
SECONDS = 1.0  # for one figure; six programs at two sizes in all libraries take less than five minutes


def take_norm(x: Any) -> Any:
    return np.sum(x * x)


def add_elementary(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(-x) + np.log1p(x * x))


def choose(x: Any) -> Any:
    return np.sum(np.where(x > 0.5, x * x, 0.3 * x))


def take_log_sum(x: Any) -> Any:
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def multiply(x: Any) -> Any:
    n = int(x.shape[0] ** 0.5)
    a = np.reshape(x[: n * n], (n, n))
    return np.sum(np.tanh(a @ a / n))


def regress(x: Any) -> Any:
    z = x[1:] - 0.5 * x[:-1]
    return np.mean(z * z) + np.sum(np.logaddexp(0.0 * x, x)) / x.shape[0]


def of_torch(name: str) -> Callable[[Any], Any]:
    """A program, written for PyTorch."""
    import torch

    def multiply_tensors(x: Any) -> Any:
        n = int(x.shape[0] ** 0.5)
        a = x[: n * n].reshape(n, n)
        return torch.tanh(a @ a / n).sum()

    def regress_tensors(x: Any) -> Any:
        z = x[1:] - 0.5 * x[:-1]
        return (z * z).mean() + torch.logaddexp(0.0 * x, x).sum() / x.shape[0]

    return {
        "take_norm": lambda x: (x * x).sum(),
        "add_elementary": lambda x: (torch.sin(x) * torch.exp(-x) + torch.log1p(x * x)).sum(),
        "choose": lambda x: torch.where(x > 0.5, x * x, 0.3 * x).sum(),
        "take_log_sum": lambda x: torch.logsumexp(x, 0),
        "multiply": multiply_tensors,
        "regress": regress_tensors,
    }[name]


PROGRAMS = (take_norm, add_elementary, choose, take_log_sum, multiply, regress)


def time_call(f: Callable[[], object], wait: Callable[[], object], seconds: float) -> float:
    """Seconds of one call until the device has finished, the least of three rounds."""
    f()
    wait()
    start = perf_counter()
    f()
    wait()
    repeats = max(1, int(seconds / 3 / (perf_counter() - start + 1e-9)))
    best = np.inf
    for _ in range(3):
        start = perf_counter()
        for _ in range(repeats):
            f()
        wait()
        best = min(best, (perf_counter() - start) / repeats)
    return float(best)


def compare_torch(choice: Choice) -> dict[str, dict[str, float]]:
    """By program and elements: seconds of a gradient."""
    if find_spec("torch") is None:
        return {}
    import torch

    has_gpu = torch.cuda.is_available()
    if not has_gpu:
        print("There is no GPU for PyTorch here: these are times of the CPU.")
        torch.set_num_threads(1)
    wait = torch.cuda.synchronize if has_gpu else lambda: None
    where = torch.cuda.get_device_name() if has_gpu else "CPU"
    table = {}
    for n in QUICK if choice.quick else SIZES:
        x = torch.linspace(0.1, 0.9, n, dtype=torch.float32, device="cuda" if has_gpu else "cpu")
        for f in PROGRAMS:
            active, own = x.clone().requires_grad_(), of_torch(f.__name__)
            gradient = contad.grad(f)

            def by_torch(own: Any = own, active: Any = active) -> Any:
                return torch.autograd.grad(own(active), active)[0]

            torch.testing.assert_close(gradient(x), by_torch(), rtol=1e-3, atol=1e-5)
            seconds = 0.01 if choice.quick else SECONDS
            theirs = time_call(by_torch, wait, seconds)
            ours = time_call(functools.partial(gradient, x), wait, seconds)
            table[f"{f.__name__}, {n} elements, {where}"] = {"PyTorch": theirs, "contad": ours}
    return table


def compare_jax(choice: Choice) -> dict[str, dict[str, float]]:
    """The same in JAX, both compiled."""
    if find_spec("jax") is None:
        return {}
    import jax

    where = jax.devices()[0].platform
    if where == "cpu":
        print("There is no GPU for JAX here: these are times of the CPU.")
    table = {}
    for n in QUICK if choice.quick else SIZES:
        x = jax.numpy.linspace(0.1, 0.9, n, dtype=jax.numpy.float32)
        for f in PROGRAMS[:3]:
            ours = jax.jit(contad.grad(f))
            theirs = jax.jit(jax.grad(_of_jax(f.__name__)))
            np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-3, atol=1e-5)
            seconds = 0.01 if choice.quick else SECONDS
            table[f"{f.__name__}, {n} elements, {where}"] = {
                "JAX": time_call(functools.partial(_finish, theirs, x), lambda: None, seconds),
                "contad": time_call(functools.partial(_finish, ours, x), lambda: None, seconds),
            }
    return table


def _finish(f: Callable[[Any], Any], x: Any) -> Any:
    return f(x).block_until_ready()


def _of_jax(name: str) -> Callable[[Any], Any]:
    import jax.numpy as jnp

    return {
        "take_norm": lambda x: jnp.sum(x * x),
        "add_elementary": lambda x: jnp.sum(jnp.sin(x) * jnp.exp(-x) + jnp.log1p(x * x)),
        "choose": lambda x: jnp.sum(jnp.where(x > 0.5, x * x, 0.3 * x)),
    }[name]


def compare_cupy(choice: Choice) -> dict[str, dict[str, float]]:
    """CuPy has no derivatives: beside contad's gradient stands the value."""
    if find_spec("cupy") is None:
        print("CuPy is not installed: no figures.")
        return {}
    import cupy  # type: ignore[import-not-found]

    if not cupy.cuda.is_available():
        print("There is no GPU for CuPy here: no figures.")
        return {}
    return compare_on(cupy.asarray, cupy.asnumpy, cupy.cuda.Device().synchronize, choice)


def compare_on(
    make: Callable[[Any], Any], back: Callable[[Any], Any], wait: Callable[[], object], choice: Choice
) -> dict[str, dict[str, float]]:
    """The gradient beside the value, on arrays that `make` puts on a device."""
    table = {}
    for n in QUICK if choice.quick else SIZES:
        host = np.linspace(0.1, 0.9, n)
        x = make(host.astype(np.float32))
        for f in PROGRAMS:
            gradient = contad.grad(f)
            np.testing.assert_allclose(back(gradient(x)), gradient(host), rtol=1e-3, atol=1e-5)
            seconds = 0.01 if choice.quick else SECONDS
            table[f"{f.__name__}, {n} elements"] = {
                "value": time_call(functools.partial(f, x), wait, seconds),
                "contad's gradient": time_call(functools.partial(gradient, x), wait, seconds),
            }
    return table


TOPIC = Topic(
    "GPUs",
    {
        "PyTorch, ms of a gradient": Counted("Beside torch.autograd, in float32.", compare_torch, "ms"),
        "JAX, ms of a gradient": Counted("Both under jax.jit, in float32.", compare_jax, "ms"),
        "CuPy, ms": Counted("CuPy has no derivatives: the value, and contad's gradient.", compare_cupy, "ms"),
    },
)
