"""How contad compiles: one policy for Numba's options, and modules of generated source in a disk cache."""

import atexit
import contextlib
import functools
import importlib.machinery
import itertools
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from contad.errors import OWN_FILES
from contad.native.trust import is_private, is_trusted_owner

_BEGAN = time.time()
_MARK = os.urandom(16)  # of this process

# Every option, and why.
NJIT_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",  # a division inside a derivative gives inf or nan, it never raises
    "boundscheck": False,  # cells are issued by the stack; user indices are checked before they are recorded
    "fastmath": False,  # derivatives are reproducible and keep nan and inf; reassociation is the user's choice
    "nogil": True,  # a sweep touches only its own thread's buffers
    "cache": True,  # compiled once per installation
}


def write_options(options: dict[str, Any] = NJIT_OPTIONS) -> str:
    """Options of njit as source."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def cache_directory() -> Path:
    """Where generated source and machine code are kept: $CONTAD_CACHE_DIR, or the user's cache directory.

    It is readable by its owner only. A directory that others could write to is not trusted: a fresh temporary one
    serves this process instead.
    """
    configured = os.environ.get("CONTAD_CACHE_DIR")
    if configured:
        path = Path(configured)
    else:
        from platformdirs import user_cache_path

        path = user_cache_path("contad", appauthor=False)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(path):
            _warn_of(path)
        elif os.access(path, os.W_OK):
            return path
    except OSError:
        pass
    return temporary_directory()


@functools.cache
def _warn_of(path: Path) -> None:
    """Say once that a directory is not trusted."""
    warnings.warn(
        f"contad: the cache directory {path} is not used, because other users own it or can write to it, and what it "
        "holds is run; this process compiles anew what it needs (chmod go-w it, or set CONTAD_CACHE_DIR)",
        stacklevel=3,
    )


@functools.cache
def temporary_directory() -> Path:
    """A directory of this process, deleted with it."""
    import tempfile

    directory = tempfile.TemporaryDirectory(prefix="contad-", ignore_cleanup_errors=True)
    atexit.register(directory.cleanup)
    return Path(directory.name)


_LONGEST = 64  # characters of a name in that of a file, to which Numba adds more; systems allow 260 with the folders


def load_cached(name: str, source: Callable[[], str], depends: Iterable[str]) -> ModuleType:
    """The module of generated source called `name`, made once for given contents of what it depends on (files or text).

    A truncated or altered file is written again, and machine code that is damaged is compiled again.
    """
    stem = _stem(name, depends)
    path = cache_directory() / f"{stem}.py"
    if read_sealed(path) is None:
        write_sealed(path, source())
    return _load(path, stem)


def is_cached(name: str, depends: Iterable[str]) -> bool:
    """Whether `load_cached` finds source and machine code in the directory."""
    directory = cache_directory()
    if next(directory.glob(f"{name[:_LONGEST]}_*.py"), None) is None:
        return False  # without Numba, whose version is part of the whole name, and which takes longest to import
    stem = _stem(name, depends)
    return (directory / f"{stem}.py").exists() and any(
        next(folder.glob(f"{stem}.*.nbi"), None) is not None for folder in _machine_code(directory)
    )


def _stem(name: str, depends: Iterable[str]) -> str:
    return f"{name[:_LONGEST]}_{digest_of(depends)}"


def digest_of(depends: Iterable[str]) -> str:
    """16 hexadecimal digits for the contents of files or texts, Numba, Python and this file."""
    import hashlib

    import numba

    digest = hashlib.sha256()
    for part in (numba.__version__, sys.version, __file__, *depends):
        digest.update(Path(part).read_bytes() + mark_of(part) if os.path.isfile(part) else part.encode())
    return digest.hexdigest()[:16]


def mark_of(path: str) -> bytes:
    """What is added to the contents of a file of contad's own that has changed since this process has loaded it.

    What this process makes is then its own: another one, which has the later contents, would take it for theirs.
    """
    is_newer = path.startswith(OWN_FILES) and _BEGAN < os.stat(path).st_mtime <= time.time()  # not a clock's mistake
    return _MARK if is_newer else b""


def _seal(text: str) -> str:
    import hashlib

    return f"# sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"


def read_sealed(path: Path) -> str | None:
    """The text of a sealed file, or None where it is missing, altered, or put there by another user."""
    try:
        with open(path, encoding="utf-8") as file:
            if not is_trusted_owner(os.fstat(file.fileno()).st_uid, path.parent):
                return None
            seal, _, text = file.read().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if seal + "\n" == _seal(text) else None


def write_sealed(path: Path, text: str) -> None:
    """Write atomically, so that concurrent processes see the whole file or none."""
    import tempfile

    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(_seal(text) + text)
    try:
        os.replace(temporary, path)
    except PermissionError:  # on Windows, while another process reads the file, which has the same name and contents
        os.unlink(temporary)
        if read_sealed(path) != text:
            raise
    if next(_writes) % 32 == 0:  # looking takes milliseconds, and more as the cache grows
        make_room(path.parent)


class _Sealed(importlib.machinery.SourceFileLoader):
    """Loads a sealed file without Python's bytecode, whose damage nothing would notice."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _load(path: Path, stem: str) -> ModuleType:
    import importlib.util

    qualified = f"contad._generated.{stem}"
    spec = importlib.util.spec_from_file_location(qualified, path, loader=_Sealed(qualified, str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[qualified] = module  # Numba names the module when it loads a cached function
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[qualified]
        raise
    return module


# ---- its size --------------------------------------------------------------------------------------------------------
_writes = itertools.count()
_STEM = re.compile(r"\w+_[0-9a-f]{16}$")
_IN_USE = 60.0  # seconds for which a module is left alone, because another process may be about to load it


def make_room(directory: Path) -> None:
    """Delete modules with their machine code, those unused for longest first, until the cache is below its size.

    The size is $CONTAD_CACHE_MEGABYTES, or 512; then a quarter of it is made free.
    """
    try:
        size = float(os.environ.get("CONTAD_CACHE_MEGABYTES", "512")) * 2**20
    except ValueError:
        size = 512.0 * 2**20
    bytes_of: dict[str, int] = {}
    used: dict[str, float] = {}
    files = _files(directory)
    for stem, paths in files.items():
        for path in paths:
            with contextlib.suppress(OSError):  # gone meanwhile
                status = path.stat()
                bytes_of[stem] = bytes_of.get(stem, 0) + status.st_size
                used[stem] = max(used.get(stem, 0.0), status.st_mtime)
    total = sum(bytes_of.values())
    if total <= size:
        return
    for stem in sorted(used, key=lambda stem: used[stem]):
        if total <= 0.75 * size or used[stem] > time.time() - _IN_USE:
            break
        total -= bytes_of[stem]
        _delete(files[stem])


def clear() -> None:
    """Delete the files of generated modules and of their machine code, of all versions of contad."""
    for paths in _files(cache_directory()).values():
        _delete(paths)


def _delete(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):  # gone meanwhile, or held open by another process on Windows
            path.unlink()


def _files(directory: Path) -> dict[str, list[Path]]:
    """The files of each module in the cache, by its name: source first, then machine code."""
    found: dict[str, list[Path]] = {}
    for folder in (directory, *_machine_code(directory)):
        for path in folder.glob("*.*"):
            stem = path.name.partition(".")[0]
            if _STEM.match(stem):
                found.setdefault(stem, []).append(path)
    return found


def _machine_code(directory: Path) -> list[Path]:
    """Where Numba keeps the machine code of the modules in a directory."""
    from numba.core import caching, config

    folders = [directory / "__pycache__"]
    if config.CACHE_DIR:  # Numba has been told to use another place
        name = caching._CacheLocator.get_suitable_cache_subpath(str(directory / "x.py"))
        folders.append(Path(config.CACHE_DIR, name))
    return folders
