"""Modules of source generated for users' functions: kept on disk, and found by name by Numba.

Numba keeps a compiled caller on disk with the names of the modules whose code is in it. Loading it imports them; that
is where code of a function that has changed since is noticed.
"""

import contextlib
import functools
import hashlib
import importlib.abc
import importlib.machinery
import inspect
import itertools
import json
import os
import sys
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import contad.compiled as disk
from contad.dispatcher import is_dispatcher
from contad.errors import StaleCacheError
from contad.native.fingerprint import Fingerprint, fingerprint

PACKAGE = "contad._generated."
_HEADER = "# contad "
_numbers = itertools.count()


class Served:
    """A generated module of one function: what is on disk of it, and how to run it."""

    def __init__(
        self, name: str, f: Any, key: Iterable[str], found: Fingerprint | None = None, stable: bool = True
    ) -> None:
        """The module for the function f as it is now.

        `key` holds texts that tell what else its source depends on; `stable` is whether another process has the same.
        """
        self.function = f
        self.fingerprint = found or fingerprint(f)
        digest = disk.digest_of((library_digest(), self.fingerprint.digest, *key))
        self.stable = stable and self.fingerprint.stable
        if not self.stable:  # known to this process only
            digest = f"{os.getpid()}_{next(_numbers)}"
        self.stem = f"{name}_{digest}"
        directory = disk.cache_directory() if self.stable else disk.temporary_directory()
        self.path = directory / f"{self.stem}.py"

    def text(self) -> str | None:
        """The source on disk without its header; None where there is none."""
        text = disk.read_sealed(self.path)
        return text.partition("\n")[2] if text is not None else None

    def write(self, source: str) -> None:
        """Keep the source on disk, under a line that tells of which function it was made.

        Where another process has kept it meanwhile it is left alone: to Numba, a new file would be another source.
        """
        if self.text() is not None:
            return
        function = inspect.unwrap(getattr(self.function, "py_func", self.function))
        header = {
            "module": function.__module__,
            "name": function.__qualname__,
            "digest": self.fingerprint.digest,
            "library": library_digest(),
        }
        disk.write_sealed(self.path, f"{_HEADER}{json.dumps(header)}\n{source}")

    def load(self, names: Mapping[str, Any] | None = None) -> ModuleType:
        """Run the source, with these names defined. Each call makes a module, which lives as long as its functions.

        Its Numba functions are compiled again where their files in the cache are damaged.
        """
        module = ModuleType(PACKAGE + self.stem)
        module.__file__ = str(self.path)
        # Numba looks the name up while it compiles; an empty module there does not keep this one alive
        sys.modules[module.__name__] = ModuleType(module.__name__)
        weakref.finalize(module, sys.modules.pop, module.__name__, None)
        code = compile(self.path.read_text(encoding="utf-8"), str(self.path), "exec")
        vars(module).update(names or {}, __module=module)
        try:
            exec(code, vars(module))
        except Exception:  # a C function is loaded at once, and damaged files raise whatever they raise
            for folder in _machine_code(self.path.parent):
                for file in folder.glob(f"{self.stem}.*"):
                    with contextlib.suppress(OSError):
                        file.unlink()
            exec(code, vars(module))
        for value in vars(module).values():
            if is_dispatcher(value) and value.py_func.__globals__ is vars(module):
                _repair(value)
        return module


def _repair(dispatcher: Any) -> None:
    """Let a dispatcher with a cache compile again where reading its files fails in any way."""
    from numba.core.caching import FunctionCache

    class Repairing(FunctionCache):
        """Numba's cache, which compiles again where a file is damaged and goes on where none can be written."""

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """The compiled function, or None."""
            try:
                return super().load_overload(sig, target_context)
            except Exception:  # whatever damaged contents raise while they are unpickled
                self.flush()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            """Keep the compiled function if possible."""
            with contextlib.suppress(OSError):
                super().save_overload(sig, data)

    if isinstance(dispatcher._cache, FunctionCache):
        dispatcher._cache = Repairing(dispatcher.py_func)


# ---- staleness -------------------------------------------------------------------------------------------------------
@functools.cache
def library_digest() -> str:
    """A digest of contad's sources: compiled code of another version is not used."""
    digest = hashlib.sha256()
    root = Path(disk.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in ("command", "example", "testing"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _require_current(stem: str) -> None:
    """StaleCacheError unless the function that a served module was made of is as it was."""
    text = disk.read_sealed(disk.cache_directory() / f"{stem}.py")
    if text is None:
        raise StaleCacheError(f"{PACKAGE}{stem}: compiled code refers to a gradient that is no longer in the cache")
    if not text.startswith(_HEADER):
        return  # a part of another generated module, which is checked
    header = json.loads(text.partition("\n")[0].removeprefix(_HEADER))
    found: Any = sys.modules.get(header["module"])
    for name in header["name"].split("."):  # a function made by another one is not found: any of several may be meant
        found = getattr(found, name, None)
    if isinstance(found, FunctionType):  # the Numba function may have another name than what it compiles
        names = vars(sys.modules[header["module"]]).values()
        found = next((x for x in names if is_dispatcher(x) and x.py_func is found), found)
    current = found is not None and header["library"] == library_digest()
    if not current or fingerprint(found).digest != header["digest"]:
        raise StaleCacheError(
            f"{PACKAGE}{stem}: compiled code holds the gradient of {header['module']}.{header['name']} as it was; the "
            "function, one that it calls, a global value or contad has changed since; the caller must be compiled again"
        )


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds generated modules. They come empty: compiled code needs their names only, and what it reads by name."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """The place of a generated module; StaleCacheError where its function has changed."""
        if not name.startswith(PACKAGE):
            return None
        _require_current(name.removeprefix(PACKAGE))
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec: Any) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Give machine code the symbols of the arena, before any of it is loaded."""
        import contad.native.arena  # noqa: F401


def install_finder() -> None:
    """Let Python's import find generated modules."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


# ---- clearing --------------------------------------------------------------------------------------------------------
def clear() -> None:
    """Delete the files of generated modules and of their machine code, of all versions of contad."""
    directory = disk.cache_directory()
    files = [*directory.glob("*_" + "[0-9a-f]" * 16 + ".py")]
    stems = {path.stem for path in files}
    for folder in _machine_code(directory):
        files += [path for path in folder.glob("*") if path.name.partition(".")[0] in stems]
    for path in files:
        with contextlib.suppress(OSError):  # gone meanwhile, or held open by another process on Windows
            path.unlink()


def discard_machine_code() -> None:
    """Delete all machine code in the cache, some of which is damaged; it is compiled again when needed."""
    for folder in _machine_code(disk.cache_directory()):
        for path in folder.glob("*.nb[ci]"):
            with contextlib.suppress(OSError):
                path.unlink()


def _machine_code(directory: Path) -> list[Path]:
    """Where Numba keeps the machine code of the modules in a directory."""
    from numba.core import caching, config

    folders = [directory / "__pycache__"]
    if config.CACHE_DIR:  # Numba has been told to use another place
        name = caching._CacheLocator.get_suitable_cache_subpath(str(directory / "x.py"))
        folders.append(Path(config.CACHE_DIR, name))
    return folders
