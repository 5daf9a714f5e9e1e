"""The other tools: what is installed, how each is set to one thread and float64, and results as NumPy arrays."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np


class Tool(NamedTuple):
    """A library that differentiates; `name` is also that of its module and of its distribution."""

    name: str
    settings: str  # what the report says of them
    set_up: Callable[[], None] = lambda: None


def _set_up_jax() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # no hand-over to another thread


def _set_up_torch() -> None:
    import torch

    torch.set_num_threads(1)


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("autograd", "NumPy's arrays and BLAS, which is kept to one thread"),
        Tool("jax", "float64 (`jax_enable_x64`), the CPU client without its thread pools and asynchronous dispatch",
             _set_up_jax),
        Tool("torch", "float64 tensors, `set_num_threads(1)`", _set_up_torch),
        Tool("casadi", "float64 always; its virtual machine runs on one thread"),
        Tool("xad", "float64 always; one tape on one thread"),
    )
}  # fmt: skip


def find_installed(names: Sequence[str] = tuple(TOOLS)) -> list[str]:
    """Those of the named tools that can be imported."""
    return [name for name in names if find_spec(name)]


def find_releases(names: Sequence[str] = tuple(TOOLS)) -> dict[str, str]:
    """The release of each tool, or "not installed, skipped"."""
    return {name: version(name) if find_spec(name) else "not installed, skipped" for name in names}


def list_skipped(names: Sequence[str] = tuple(TOOLS)) -> list[str]:
    """A line for each of the named tools that is not installed."""
    return [
        f"{name} is not installed and is skipped; `pip install -e '.[bench]'` installs it"
        for name in names
        if not find_spec(name)
    ]


def flatten_numbers(result: Any) -> list[np.ndarray]:
    """The value and the gradients that any tool returns, one after the other, as NumPy arrays of float64."""
    if isinstance(result, tuple | list):
        return [x for part in result for x in flatten_numbers(part)]
    return [np.asarray(result.detach() if hasattr(result, "detach") else result, dtype=np.float64)]


def describe_error(error: BaseException) -> str:
    """An exception in one line, as a table can show it."""
    text = str(error).strip().partition("\n")[0].replace("|", "/")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
