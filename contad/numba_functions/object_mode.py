"""Blocks in Numba's objmode as separate functions: compiled code calls them, and Python runs them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numba
import numpy as np
from numba import types

from contad.errors import UnsupportedError
from contad.memory.arena import memory_set_aside


class PythonBlock:
    """A Python function that reads arrays. It does not write into them, and its results do not share their memory."""

    def __init__(self, function: Callable[..., tuple[Any, ...]], place: str, outputs: Sequence[str]) -> None:
        """Note the names of the outputs, and the place in the user's file for errors."""
        self.function, self.place, self.outputs = function, place, outputs

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """The outputs of the function, which may take derivatives itself."""
        try:
            with memory_set_aside():
                results = self.function(*map(_read_only, given))
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise UnsupportedError(
                f"{self.place}: a write into an array that an objmode block is given; make a new array, and declare "
                "it as an output"
            ) from error
        arrays = [x for tree in given for x in _arrays(tree)]
        for name, result in zip(self.outputs, results, strict=True):
            if any(np.may_share_memory(x, y) for x in arrays for y in _arrays(result)):
                raise UnsupportedError(
                    f"{self.place}: the output {name} of an objmode block is a part of an array that it reads; "
                    f"copy it, as in {name} = {name}.copy()"
                )
        return results


def _read_only(x: Any) -> Any:
    if isinstance(x, tuple):
        parts = map(_read_only, x)
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if not isinstance(x, np.ndarray):
        return x
    seen = x.view()
    seen.flags.writeable = False
    return seen


def _arrays(x: Any) -> Iterator[np.ndarray]:
    if isinstance(x, tuple):
        for part in x:
            yield from _arrays(part)
    elif isinstance(x, np.ndarray):
        yield x


def compile_block(block: PythonBlock, parameters: Sequence[str], declared: Sequence[Any]) -> Any:
    """A Numba function of the parameters that runs a block; it returns new arrays of the declared types, and numbers.

    It returns one output itself, and several as a tuple.
    """
    name = "objmode_block"
    known: dict[str, Any] = {"objmode": numba.objmode, "run": block}
    known |= {f"type_{k}": t for k, t in enumerate(declared)}
    outputs = [f"output_{k}" for k in range(len(declared))]
    results = [f"{x}.copy()" if isinstance(t, types.Array) else x for x, t in zip(outputs, declared, strict=True)]
    options = ", ".join(f"{x}=type_{k}" for k, x in enumerate(outputs))
    text = (
        f"def {name}({', '.join(parameters)}):\n"
        f"    with objmode({options}):\n"
        f"        {''.join(f'{x}, ' for x in outputs)}{'= ' if outputs else ''}run({', '.join(parameters)})\n"
        f"    return {', '.join(results) or 'None'}\n"
    )
    exec(text, known)
    return numba.njit(known[name])
