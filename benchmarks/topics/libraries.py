"""What a gradient costs on arrays of another library, beside that library's own: PyTorch's tensors on the CPU."""

from collections.abc import Callable
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

import contad
from benchmarks.comparison.topic import Choice, Counted, Topic

SIZES = (10, 10**4, 10**6)
OPERATIONS = 5 * 5 + 2


def loss(x: Any, y: Any) -> Any:
    """Twenty-seven operations, written for NumPy."""
    z = x
    for _ in range(5):
        z = np.sin(z * y) + z / (1.0 + y)
    return np.sum(z * z)


def loss_of_torch(x: Any, y: Any) -> Any:
    """The same, written for PyTorch."""
    import torch

    z = x
    for _ in range(5):
        z = torch.sin(z * y) + z / (1.0 + y)
    return torch.sum(z * z)


def time_call(f: Callable[[], object], seconds: float) -> float:
    """Seconds of one call, the least of several rounds."""
    start = process_time()
    f()
    repeats = max(1, int(seconds / (process_time() - start + 1e-9)))
    best = np.inf
    for _ in range(5):
        start = process_time()
        for _ in range(repeats):
            f()
        best = min(best, (process_time() - start) / repeats)
    return float(best)


def compare(choice: Choice) -> dict[str, dict[str, float]]:
    """By the number of elements: seconds for each operation with its derivative."""
    if find_spec("torch") is None:
        return {}
    import torch

    torch.set_num_threads(1)
    gradient = contad.grad(loss, (0, 1))
    table = {}
    for n in SIZES[:2] if choice.quick else SIZES:
        x, y = (torch.linspace(0.1, 0.9, n, dtype=torch.float64).roll(k) for k in (0, 1))
        active = [v.clone().requires_grad_() for v in (x, y)]

        def own(active: Any = active) -> Any:
            return torch.autograd.grad(loss_of_torch(*active), active)

        for found, expected in zip(gradient(x, y), own(), strict=True):
            torch.testing.assert_close(found, expected)
        seconds = 0.01 if choice.quick else 0.2
        theirs = time_call(own, seconds) / OPERATIONS
        ours = time_call(lambda x=x, y=y: gradient(x, y), seconds) / OPERATIONS
        table[f"{n} elements"] = {"PyTorch": theirs, "contad": ours}
    return table


TOPIC = Topic(
    "Arrays of other libraries",
    {"PyTorch on the CPU, us per operation": Counted("Value and gradient, divided by 27 operations.", compare, "us")},
)
