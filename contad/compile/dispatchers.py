"""Numba dispatchers seen from outside, and events when Numba makes one. This module does not import Numba."""

import importlib.util
import itertools
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from contad.errors import set_compiling


def is_dispatcher(f: object) -> bool:
    """Whether f was made by numba.njit or numba.jit."""
    return hasattr(f, "py_func") and hasattr(f, "targetoptions") and type(f).__module__.startswith("numba.")


def of_ufunc(f: object) -> Any:
    """The dispatcher inside a ufunc of numba.vectorize; None for anything else."""
    found = getattr(f, "_dispatcher", None)
    return found if is_dispatcher(found) else None


def compiles_on_demand(f: Any) -> bool:
    """Whether a dispatcher compiles for any types; it does not if it was declared with signatures."""
    return bool(getattr(f, "_can_compile", True))


def declared_names(f: Any) -> dict[str, Any]:
    """The names whose types the dispatcher f declares, with these types."""
    found = getattr(getattr(f, "_compiler", None), "locals", None) or {}
    return {name: t for name, t in found.items() if "." not in name}  # Numba adds k.1, k.2 ... when it compiles


def signature_for(f: Any, given: tuple[Any, ...], named: dict[str, Any] | None = None) -> Any:
    """The signature of a dispatcher's code for arguments of these types, which this compiles; None if none fits.

    Raises Numba's error if Numba cannot compile it.
    """
    return f._numba_type_.get_call_type(f.typingctx, given, named or {})


def watch_first_calls(f: Any, see: Any) -> None:
    """Call `see` with the arguments of each call of a dispatcher whose types are not compiled yet."""
    compiled = f._compile_for_args

    def compile_for(*args: Any, **named: Any) -> Any:
        see(*args, **named)
        return compiled(*args, **named)

    f._compile_for_args = compile_for


# ---- when Numba compiles ---------------------------------------------------------------------------------------------
_EVENTS = "numba.core.event"


def _is_compiling() -> bool:
    locks = sys.modules.get("numba.core.compiler_lock")
    return locks is not None and locks.global_compiler_lock.is_locked()


set_compiling(_is_compiling)


def tell_of_compilations(begin: Callable[[], None], end: Callable[[Any, Any], None]) -> None:
    """Call `begin()` before and `end(dispatcher, types)` after each compilation of a function, once Numba is
    imported."""
    module = sys.modules.get(_EVENTS)
    if module is not None:
        _listen(module, begin, end)
    else:
        sys.meta_path.insert(0, _CompilationFinder(begin, end))


def _listen(events: Any, begin: Callable[[], None], end: Callable[[Any, Any], None]) -> None:
    class Listener(events.Listener):
        """Passes Numba's events on."""

        def on_start(self, event: Any) -> None:
            """Numba begins to compile a function."""
            begin()

        def on_end(self, event: Any) -> None:
            """Numba has compiled it, or raises an error."""
            end(event.data["dispatcher"], event.data["args"])

    events.register("numba:compile", Listener())


def begin_numbers(first: int) -> None:
    """Set the number from which Numba counts functions."""
    from numba.core.bytecode import FunctionIdentity

    FunctionIdentity._unique_ids = itertools.count(first)


class _CompilationFinder:
    """Waits for the import of Numba. Its base is not a class of `importlib.abc`, which would import twenty modules."""

    def __init__(self, *calls: Any) -> None:
        self.calls = calls

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """The spec of the module of Numba's events, without any other finder."""
        if name != _EVENTS:
            return None
        sys.meta_path.remove(self)
        spec: Any = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.calls)
        return spec


class _Loader:
    """Loads the module of Numba's events as usual, then listens to them."""

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
