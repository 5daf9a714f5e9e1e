"""How contad compiles: one policy for Numba's options, and modules of generated source in a disk cache."""

import atexit
import contextlib
import functools
import importlib.machinery
import itertools
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from contad.compile.trust import Folder, code_folder, make_folder, private_folder
from contad.errors import OWN_FILES
from contad.forks import hold_while_forking

_BEGAN = time.time()
_MARK = os.urandom(16)  # of this process
# Numba settings that do not change machine code
_ELSEWHERE = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_THREADING_LAYER_PRIORITY")
UNUSED = ("command", "counts", "example", "testing")  # packages of contad that no other module imports

# Every option, and why.
NJIT_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",  # a division inside a derivative gives inf or nan, it never raises
    "boundscheck": False,  # cells are issued by the stack; user indices are checked before they are recorded
    "fastmath": False,  # derivatives are reproducible and keep nan and inf; reassociation is the user's choice
    "nogil": True,  # a sweep touches only its own thread's buffers
    "cache": True,  # compiled once per installation
}
INTERNAL_OPTIONS = {  # for functions that compiled code calls, and Python does not
    **{name: value for name, value in NJIT_OPTIONS.items() if name != "cache"},  # cached as part of its callers
    "no_cpython_wrapper": True,  # it takes values that Python cannot hold
    "no_cfunc_wrapper": True,
}


def write_options(options: dict[str, Any] = NJIT_OPTIONS) -> str:
    """Options of njit as source."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


@functools.cache
def hold_llvm_while_forking() -> None:
    """Make forks wait for LLVM: a child cannot use a compiler that another thread has left in the middle of its
    work."""
    from llvmlite.binding import ffi

    hold_while_forking(ffi.lib._lock._lock)


def cache_directory() -> Path:
    """Where generated source and machine code are kept: $CONTAD_CACHE_DIR, or the user's cache directory.

    Only its owner can read it. contad does not trust a directory that others can write to, and uses a fresh temporary
    one in this process instead.
    """
    configured = os.environ.get("CONTAD_CACHE_DIR")
    if configured:
        path = Path(configured)
    else:
        from platformdirs import user_cache_path

        try:
            path = user_cache_path("contad", appauthor=False)
        except RuntimeError:  # a user without a home, as in containers
            return temporary_directory()
    try:
        make_folder(path)
        with private_folder(path) as folder:
            if folder.is_writable():
                return path
    except OSError:
        pass
    return temporary_directory()


@functools.cache
def temporary_directory() -> Path:
    """A directory of this process, deleted with it."""
    import tempfile

    directory, owner = Path(tempfile.mkdtemp(prefix="contad-")), os.getpid()

    @atexit.register
    def delete() -> None:
        if os.getpid() == owner:  # but not by a child of a fork, which may end sooner
            shutil.rmtree(directory, ignore_errors=True)

    return directory


LONGEST = 64  # characters of a name in that of a file, to which Numba adds more; systems allow 260 with the folders


def load_cached(name: str, source: Callable[[], str], depends: Iterable[str] = ()) -> ModuleType:
    """The generated module called `name`, made once for these texts and this version of contad.

    This writes a truncated or altered file again, and compiles again if machine code is damaged.
    """
    stem = stem_of(name, depends)
    path = cache_directory() / f"{stem}.py"
    text = read_sealed(path)
    if text is None:
        text = source()
        path = write_sealed(path, text)
    return _load(path, stem, text)


def is_cached(name: str, depends: Iterable[str] = ()) -> bool:
    """Whether `load_cached` finds source and machine code in the directory."""
    directory = cache_directory()
    if next(directory.glob(f"{name[:LONGEST]}_*.py"), None) is None:
        return False  # without Numba, which takes longest to import, and whose version is part of the whole name
    stem = stem_of(name, depends)
    return (directory / f"{stem}.py").exists() and any(
        next(folder.glob(f"{stem}.*.nbi"), None) is not None for folder in _machine_code(directory)
    )


def stem_of(name: str, depends: Iterable[str]) -> str:
    """The common stem of the names of the files of a module."""
    return f"{name[:LONGEST]}_{digest_of(depends)}"


def digest_of(depends: Iterable[str]) -> str:
    """16 hexadecimal digits for these texts, the processor, contad and the libraries that it runs with."""
    import hashlib

    texts = (_processor(), library_digest(), *depends)
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@functools.cache
def _processor() -> str:
    """Numba's target and its settings. They decide which functions generated source calls.

    This does not import Numba, which would take longer than loading the compiled code.
    """
    import llvmlite.binding as llvm

    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        features = ""
    settings = sorted(x for x in os.environ.items() if x[0].startswith("NUMBA_") and x[0] not in _ELSEWHERE)
    file = Path(".numba_config.yaml")
    contents = file.read_text(encoding="utf-8") if file.is_file() else ""
    return repr((llvm.get_process_triple(), llvm.get_host_cpu_name(), features, settings, contents))


@functools.cache
def library_digest() -> str:
    """A digest of contad's sources and of the versions of their imports: contad does not use code made by others.

    All sources count, because most kernels reach most sources by late imports, and by imports in generated text.
    """
    import hashlib

    files = sorted(_sources())
    digest = hashlib.sha256(b"" if files else _MARK)  # if no source can be read, no other process has the same digest
    digest.update("\0".join(_versions()).encode())
    for path in files:
        with open(path, "rb", buffering=0) as file:
            contents = file.read()
        # code that this process makes from older contents stays its own: another process would take it for code of
        # newer ones
        mark = _MARK if _is_later(os.stat(path)) else b""
        digest.update(hashlib.sha256(contents).digest() + mark + path.removeprefix(OWN_FILES).encode())
    return digest.hexdigest()


def _versions() -> tuple[str, ...]:
    """The versions of the libraries on which the meaning of machine code depends."""
    from importlib.util import find_spec

    import numpy as np

    texts = []
    for name, file in (("numba", "_version.py"), ("llvmlite", "_version.py"), ("scipy", "version.py")):
        found = find_spec(name)  # importing it, or reading its metadata, takes longer than everything else
        assert found is not None and found.origin is not None
        texts.append(Path(found.origin).with_name(file).read_text(encoding="utf-8"))
    rocket = find_spec("rocket_fft")  # which compiles np.fft
    texts.append("" if rocket is None else str(rocket.origin))
    return sys.version, np.__version__, *texts


def has_changed() -> bool:
    """Whether a source has changed since this process began: later imports may then not fit."""
    return _look_for_changes(int(time.monotonic() * 10.0))  # takes milliseconds, so at most once in 0.1 s


@functools.lru_cache(1)
def _look_for_changes(_: int) -> bool:
    return any(_is_later(os.stat(path)) for path in _sources())


def _sources() -> Iterator[str]:
    for folder, inside, names in os.walk(OWN_FILES):  # faster than pathlib
        if folder == OWN_FILES:
            inside[:] = [x for x in inside if x not in UNUSED]
        yield from (os.path.join(folder, x) for x in names if x.endswith(".py"))


def _is_later(status: os.stat_result) -> bool:
    """Whether a file has been written, or moved into its place, since this process began."""
    return any(_BEGAN < t <= time.time() for t in (status.st_mtime, status.st_ctime))  # else the clock is wrong


def seal(text: str) -> str:
    """A text, preceded by a line with its digest."""
    import hashlib

    return f"# sha256 {hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def read_sealed(path: Path) -> str | None:
    """The text of a sealed file; None if it is missing, altered, or possibly written by another user."""
    try:
        with private_folder(path.parent) as folder:
            sealed = folder.read(path.name).decode()
    except (OSError, UnicodeDecodeError):
        return None
    text = sealed.partition("\n")[2]
    return text if sealed == seal(text) else None


def write_sealed(path: Path, text: str) -> Path:
    """Write atomically, so that concurrent processes see the whole file or none; return the path.

    The path belongs to this process alone if contad's sources have changed, or if the folder is no longer private.
    """
    try:
        folder = private_folder(temporary_directory() if has_changed() else path.parent)
    except PermissionError:
        folder = private_folder(temporary_directory())
    path = folder.path / path.name
    with folder:
        try:
            folder.write(path.name, seal(text).encode())
        except PermissionError:  # on Windows, while another process reads the file, which has the same contents
            if read_sealed(path) != text:
                raise
    note_write(path.parent)
    return path


def note_write(directory: Path) -> None:
    """Make room from time to time."""
    if next(_writes) % 32 == 0:  # the search takes milliseconds, and longer as the cache grows
        make_room(directory)


def mark(path: Path) -> None:
    """Leave an empty file."""
    with contextlib.suppress(OSError), private_folder(path.parent) as folder:
        folder.write(path.name, b"")


def is_marked(path: Path) -> bool:
    """Whether a file of that name exists that nobody else can have put there."""
    try:
        with private_folder(path.parent) as folder:
            return folder.read(path.name) == b""
    except OSError:
        return False


class _Sealed(importlib.machinery.SourceFileLoader):
    """Loads the text that was read, whatever the file holds by now, and ignores Python's bytecode."""

    def __init__(self, fullname: str, path: str, text: str) -> None:
        super().__init__(fullname, path)
        self._contents = seal(text).encode()

    def get_data(self, path: str) -> bytes:
        return self._contents

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._contents, self.path)


def _load(path: Path, stem: str, text: str) -> ModuleType:
    import importlib.util

    qualified = f"contad._generated.{stem}"
    spec = importlib.util.spec_from_file_location(qualified, path, loader=_Sealed(qualified, str(path), text))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[qualified] = module  # Numba names the module when it loads a cached function
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[qualified]
        raise
    return module


# ---- size of the cache -----------------------------------------------------------------------------------------------
_writes = itertools.count()
_STEM = re.compile(r"\w+_[0-9a-f]{16}$")
_IN_USE = 60.0  # seconds during which a module is kept, because another process may be about to load it


def make_room(directory: Path) -> None:
    """Delete modules with their machine code, least recently used first, until the cache is below its size.

    The size is $CONTAD_CACHE_MEGABYTES, or 512. Beyond it, this frees a quarter of the size.
    """
    try:
        size = float(os.environ.get("CONTAD_CACHE_MEGABYTES", "512")) * 2**20
    except ValueError:
        size = 512.0 * 2**20
    bytes_of: dict[str, int] = {}
    unused: dict[str, float] = {}  # seconds
    now = time.time()
    with _files(directory) as files:
        for stem, found in files.items():
            for folder, name in found:
                with contextlib.suppress(OSError):  # gone meanwhile
                    status = folder.status_of(name)
                    bytes_of[stem] = bytes_of.get(stem, 0) + status.st_size
                    # a time in the future comes from a wrong clock, and counts as far away as one in the past
                    unused[stem] = min(unused.get(stem, math.inf), abs(now - status.st_mtime))
        total = sum(bytes_of.values())
        if total <= size:
            return
        for stem in sorted(unused, key=lambda stem: -unused[stem]):
            if total <= 0.75 * size or unused[stem] < _IN_USE:
                break
            total -= bytes_of[stem]
            _delete(files[stem])


def clear() -> None:
    """Delete the files of generated modules and of their machine code, of all versions of contad."""
    with _files(cache_directory()) as files:
        for found in files.values():
            _delete(found)


def _delete(files: Iterable[tuple[Folder, str]]) -> None:
    for folder, name in files:
        folder.delete(name)


@contextlib.contextmanager
def _files(directory: Path) -> Iterator[dict[str, list[tuple[Folder, str]]]]:
    """The files of each module in the cache, by its name: source first, then machine code."""
    found: dict[str, list[tuple[Folder, str]]] = {}
    with contextlib.ExitStack() as stack:
        for path in (directory, *_machine_code(directory)):
            try:
                folder = stack.enter_context(private_folder(path) if path == directory else code_folder(path, None))
            except OSError:  # there is no such file, or another user owns it
                continue
            for name in folder.names():
                stem, _, ending = name.partition(".")
                if ending and _STEM.match(stem):
                    found.setdefault(stem, []).append((folder, name))
        yield found


def _machine_code(directory: Path) -> list[Path]:
    """Where Numba keeps the machine code of the modules in a directory."""
    from numba.core import caching, config

    folders = [directory / "__pycache__"]
    if config.CACHE_DIR:  # Numba is set to use another place
        name = caching._CacheLocator.get_suitable_cache_subpath(str(directory / "x.py"))
        folders.append(Path(config.CACHE_DIR, name))
    return folders


# ---- object code -----------------------------------------------------------------------------------------------------
_DIGEST = 32  # bytes of SHA-256


class Image(NamedTuple):
    """The object code of one function that C can call."""

    function: str  # its name there
    calls: tuple[str, ...]  # names that it does not define
    code: bytes

    def pack(self) -> bytes:
        """The contents of the file of the image: a digest, the names, the code."""
        import hashlib
        import json

        head = json.dumps([self.function, self.calls]).encode()
        body = b"%d\n%b%b" % (len(head), head, self.code)
        return hashlib.sha256(body).digest() + body


def unpack(contents: bytes) -> Image | None:
    """The image in a file; None if the file is damaged."""
    import hashlib
    import json

    body = contents[_DIGEST:]
    if hashlib.sha256(body).digest() != contents[:_DIGEST]:
        return None
    length, _, rest = body.partition(b"\n")
    function, calls = json.loads(rest[: int(length)])
    return Image(function, tuple(calls), rest[int(length) :])
