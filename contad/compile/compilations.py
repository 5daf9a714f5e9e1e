"""When Numba compiles: who is told of it, and how functions are numbered meanwhile. Numba is not imported here."""

import importlib.util
import itertools
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_EVENTS = "numba.core.event"


def tell_of_compilations(begin: Callable[[], None], end: Callable[[Any, Any], None]) -> None:
    """Call `begin()` before and `end(dispatcher, types)` after each compilation of a function, once Numba is there."""
    module = sys.modules.get(_EVENTS)
    if module is not None:
        _listen(module, begin, end)
    else:
        sys.meta_path.insert(0, _CompilationFinder(begin, end))


def _listen(events: Any, begin: Callable[[], None], end: Callable[[Any, Any], None]) -> None:
    class Listener(events.Listener):
        """Hands Numba's events on."""

        def on_start(self, event: Any) -> None:
            """A function is going to be compiled."""
            begin()

        def on_end(self, event: Any) -> None:
            """It has been, or an error is on its way."""
            end(event.data["dispatcher"], event.data["args"])

    events.register("numba:compile", Listener())


def begin_numbers(first: int) -> None:
    """Let Numba number the functions that it meets from here."""
    from numba.core.bytecode import FunctionIdentity

    FunctionIdentity._unique_ids = itertools.count(first)


class _CompilationFinder:
    """Waits for Numba, without a base class of `importlib.abc`, which imports twenty modules for nothing else."""

    def __init__(self, *calls: Any) -> None:
        self.calls = calls

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """The place of Numba's events, of which no other finder is kept."""
        if name != _EVENTS:
            return None
        sys.meta_path.remove(self)
        spec: Any = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.calls)
        return spec


class _Loader:
    """Loads the events as ever, and listens to them."""

    def __init__(self, loader: Any, calls: Any) -> None:
        self.loader, self.calls = loader, calls

    def create_module(self, spec: Any) -> Any:
        """As ever."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As ever, and listen."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        _listen(module, *self.calls)
