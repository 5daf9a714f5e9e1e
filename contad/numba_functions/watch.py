"""What the machine code of Numba functions has frozen, noted whenever Numba compiles one; and names of one process.

Numba keeps no copy of a global array that it makes a constant, nor of the attribute of a module: when a derivative is
asked for later, nobody could tell whether they still are what they were. Numba itself is not imported here: that takes
longer than to import contad.
"""

import functools
import importlib.util
import itertools
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_EVENTS = "numba.core.event"


def watch_compilations() -> None:
    """Note from now on what is frozen, once Numba is imported."""
    module = sys.modules.get(_EVENTS)
    if module is not None:
        _listen(module)
    elif not any(isinstance(finder, _CompilationFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _CompilationFinder())


def _listen(events: Any) -> None:
    class Note(events.Listener):
        """Notes what each function has frozen that has just been compiled."""

        def on_start(self, event: Any) -> None:
            """A function is going to be compiled."""
            _begin_numbers(os.getpid())

        def on_end(self, event: Any) -> None:
            """It has been, or an error is on its way."""
            dispatcher, args = event.data["dispatcher"], event.data["args"]
            if not (getattr(dispatcher.py_func, "__module__", None) or "").startswith("contad."):
                from contad.numba_functions.fingerprint import note_untold

                note_untold(dispatcher, args)

    events.register("numba:compile", Note())


@functools.lru_cache(1)
def _begin_numbers(process: int) -> None:
    """Let Numba number functions from where no other process does, nor the parent of a fork.

    In machine code a function's name has its number, and on the disk the code of a caller has the functions that it
    calls. Numba counts from 1: of two functions called alike, as closures are, which two processes have kept under one
    number, a third would run the one that it loads first in place of the other.
    """
    from numba.core.bytecode import FunctionIdentity

    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(7), "big"))


class _CompilationFinder:
    """Waits for Numba, without a base class of `importlib.abc`, which imports twenty modules for nothing else."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """The place of Numba's events, of which no other finder is kept."""
        if name != _EVENTS:
            return None
        sys.meta_path.remove(self)
        spec: Any = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    """Loads the events as ever, and listens to them."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: Any) -> Any:
        """As ever."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As ever, and listen."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        _listen(module)
