"""How contad compiles: one policy for Numba's options, and modules of generated source in a disk cache."""

import atexit
import functools
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

# Every option, and why.
NJIT_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",  # a division inside a derivative gives inf or nan, it never raises
    "boundscheck": False,  # cells are issued by the stack; user indices are checked before they are recorded
    "fastmath": False,  # derivatives are reproducible and keep nan and inf; reassociation is the user's choice
    "nogil": True,  # a sweep touches only its own thread's buffers
    "cache": True,  # compiled once per installation
}


def cache_directory() -> Path:
    """Where generated source and machine code are kept: $CONTAD_CACHE_DIR, or the user's cache directory.

    It is readable by its owner only. A directory that others could write to is not trusted: a fresh temporary one
    serves this process instead.
    """
    configured = os.environ.get("CONTAD_CACHE_DIR")
    if configured:
        path = Path(configured)
    elif sys.platform == "win32":
        path = Path(os.environ.get("LOCALAPPDATA", Path.home())) / "contad" / "cache"
    elif sys.platform == "darwin":
        path = Path.home() / "Library" / "Caches" / "contad"
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "contad"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        private = sys.platform == "win32" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
        if private and os.access(path, os.W_OK):
            return path
    except OSError:
        pass
    return temporary_directory()


@functools.cache
def temporary_directory() -> Path:
    """A directory of this process, deleted with it."""
    import tempfile

    directory = tempfile.TemporaryDirectory(prefix="contad-")
    atexit.register(directory.cleanup)
    return Path(directory.name)


def cached_module(name: str, source: Callable[[], str], depends: Iterable[str]) -> ModuleType:
    """The module of generated source called `name`, made once for given contents of what it depends on (files or text).

    A truncated or altered file is written again, and unreadable machine code is compiled again.
    """
    stem = f"{name}_{digest_of(depends)}"
    path = cache_directory() / f"{stem}.py"
    if read_sealed(path) is None:
        write_sealed(path, source())
    try:
        return _load(path, stem)
    except Exception:  # whatever a damaged cache file raises while Numba unpickles it
        for stale in path.parent.glob(f"__pycache__/{stem}*"):
            stale.unlink(missing_ok=True)
        return _load(path, stem)


def digest_of(depends: Iterable[str]) -> str:
    """16 hexadecimal digits for the contents of files or texts, Numba, Python and this file."""
    import hashlib

    import numba

    digest = hashlib.sha256()
    for part in (numba.__version__, sys.version, __file__, *depends):
        digest.update(Path(part).read_bytes() if os.path.isfile(part) else part.encode())
    return digest.hexdigest()[:16]


def _seal(text: str) -> str:
    import hashlib

    return f"# sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"


def read_sealed(path: Path) -> str | None:
    """The text of a sealed file, or None where it is missing or altered."""
    try:
        seal, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if seal + "\n" == _seal(text) else None


def write_sealed(path: Path, text: str) -> None:
    """Write atomically, so that concurrent processes see the whole file or none."""
    import tempfile

    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(_seal(text) + text)
    os.replace(temporary, path)


def _load(path: Path, stem: str) -> ModuleType:
    import importlib.util

    qualified = f"contad._generated.{stem}"
    spec = importlib.util.spec_from_file_location(qualified, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[qualified] = module  # Numba names the module when it loads a cached function
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[qualified]
        raise
    return module
