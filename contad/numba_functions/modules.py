"""Modules of source generated for users' functions: kept on disk, and found by name by Numba.

Numba stores a compiled caller on disk with the names of the modules whose code it contains. Loading the caller imports
these modules, and the import notices if a function has changed since.
"""

import importlib.abc
import importlib.machinery
import inspect
import itertools
import json
import os
import sys
import weakref
from collections.abc import Iterable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import contad.compile.compiling as disk
from contad.compile.dispatchers import is_dispatcher
from contad.errors import StaleCacheError
from contad.numba_functions.fingerprint import Fingerprint, fingerprint

PACKAGE = "contad._generated."
_HEADER = "# contad "
_COMPARED = ".compared"  # the suffix of an empty file beside a module, see `Served.is_compared`
_numbers = itertools.count()


class _Name:
    """The name that modules of equal content share. The name is in use as long as this object lives."""


_names: weakref.WeakValueDictionary[str, _Name] = weakref.WeakValueDictionary()


def _in_use(name: str) -> _Name:
    """The name as an object for a module to hold. Numba finds an empty module under this name, which keeps no code
    alive."""
    held = _names.get(name)
    if held is None:
        held = _names[name] = _Name()
        weakref.finalize(held, _forget, name)
    sys.modules.setdefault(name, ModuleType(name))
    return held


def _forget(name: str) -> None:
    if _names.get(name) is None:  # a module of the same content may have come meanwhile
        sys.modules.pop(name, None)


class Served:
    """A generated module of one function: its files on disk, and how to run it."""

    def __init__(
        self, name: str, f: Any, key: Iterable[str], found: Fingerprint | None = None, stable: bool = True
    ) -> None:
        """The module for the function f as it is now.

        `key` holds texts for the other inputs of its source; `stable` is whether another process has the same.
        """
        self.function = f
        self.fingerprint = found or fingerprint(f)
        digest = disk.digest_of((self.fingerprint.digest, *key))
        self.stable = stable and self.fingerprint.stable
        if not self.stable:  # known to this process only
            digest = f"{os.getpid()}_{next(_numbers)}"
        self.stem = f"{name}_{digest}"
        directory = disk.cache_directory() if self.stable else disk.temporary_directory()
        self.path = directory / f"{self.stem}.py"
        self._text: str | None = None  # the text that was read or written, to be run whatever the file holds later

    def text(self) -> str | None:
        """The source on disk without its header; None if there is none."""
        self._text = disk.read_sealed(self.path)
        return self._text.partition("\n")[2] if self._text is not None else None

    def write(self, source: str) -> None:
        """Save the source on disk, below a line that says from which function it was made.

        If another process has saved it meanwhile, its file stays: for Numba, a new file would be another source.
        """
        if self.text() is not None:
            return
        function = inspect.unwrap(getattr(self.function, "py_func", self.function))
        header = {
            "module": function.__module__,
            "name": function.__qualname__,
            "digest": self.fingerprint.digest,
            "library": disk.library_digest(),
        }
        self._text = f"{_HEADER}{json.dumps(header)}\n{source}"
        self.path = disk.write_sealed(self.path, self._text)

    def is_compared(self) -> bool:
        """Whether a comparison has shown that the module computes the value of its function."""
        return disk.is_marked(self.path.with_suffix(_COMPARED))

    def mark_compared(self) -> None:
        """Remember that for all processes."""
        disk.mark(self.path.with_suffix(_COMPARED))

    def load(self, names: Mapping[str, Any] | None = None) -> ModuleType:
        """Run the source, with these names defined. Each call makes a module, which lives as long as its functions."""
        module = ModuleType(PACKAGE + self.stem)
        module.__file__ = str(self.path)
        assert self._text is not None
        code = compile(disk.seal(self._text), str(self.path), "exec")
        vars(module).update(names or {}, __module=module, __name_in_use=_in_use(module.__name__))
        exec(code, vars(module))
        return module


# ---- staleness -------------------------------------------------------------------------------------------------------
def _require_current(stem: str) -> None:
    """StaleCacheError unless the function of a served module is unchanged."""
    text = disk.read_sealed(disk.cache_directory() / f"{stem}.py")
    if text is None:
        raise StaleCacheError(f"{PACKAGE}{stem}: compiled code refers to a gradient that is no longer in the cache")
    if not text.startswith(_HEADER):
        return  # a part of another generated module, which is checked
    header = json.loads(text.partition("\n")[0].removeprefix(_HEADER))
    found: Any = sys.modules.get(header["module"])
    for name in header["name"].split("."):  # an inner function is not found, because several may have its name
        found = getattr(found, name, None)
    if isinstance(found, FunctionType):  # the Numba function may have another name than its Python function
        names = vars(sys.modules[header["module"]]).values()
        found = next((x for x in names if is_dispatcher(x) and x.py_func is found), found)
    current = found is not None and header["library"] == disk.library_digest()
    now = fingerprint(found) if current else None
    if now is not None and now.recursive:
        raise StaleCacheError(
            f"{PACKAGE}{stem}: compiled code holds the gradient of {header['module']}.{header['name']}, which is "
            "recursive, and Numba's code of recursive functions works in the process that compiled it only; leave out "
            "cache=True of the function that takes the gradient"
        )
    if now is None or now.digest != header["digest"]:
        raise StaleCacheError(
            f"{PACKAGE}{stem}: compiled code holds the gradient of {header['module']}.{header['name']} as it was; the "
            "function, one that it calls, a global value or contad has changed since; the caller must be compiled again"
        )


class _GeneratedFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds generated modules, and returns them empty: compiled code needs only their names, and the symbols that it
    reads."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """The spec of a generated module; StaleCacheError if its function has changed."""
        if not name.startswith(PACKAGE):
            return None
        _require_current(name.removeprefix(PACKAGE))
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec: Any) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Give machine code the symbols of the arena, before any of it is loaded."""
        import contad.memory.arena  # noqa: F401


def install_finder() -> None:
    """Let Python's import find generated modules."""
    if not any(isinstance(finder, _GeneratedFinder) for finder in sys.meta_path):
        sys.meta_path.append(_GeneratedFinder())
