"""Numba's decorators as contad uses them: machine code on disk carries a digest, which reveals damage.

Numba unpickles and runs its cache files without a check. A flipped bit there ends the process or changes a number. Here
a file with a wrong digest counts as missing, so that the function is compiled again.
"""

import contextlib
import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache
from numba.core.ccallback import CFunc
from numba.core.codegen import RuntimeLinker
from numba.core.compiler_lock import global_compiler_lock
from numba.core.sigutils import normalize_signature
from numba.core.typeinfer import register_dispatcher

from contad.compile.compiling import has_changed, hold_llvm_while_forking, library_digest
from contad.compile.trust import Folder, code_folder, has_owners, make_folder
from contad.errors import OWN_FILES, UnsupportedError
from contad.forks import hold_while_forking

_DIGEST = 32  # bytes of SHA-256
# settings that, besides the processor, decide how Numba compiles; code that calls vector functions needs their library
FLAGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML")

hold_llvm_while_forking()
hold_while_forking(global_compiler_lock._lock)


class _SealedFile(IndexDataCacheFile):
    """The index and the data files of a function, each behind the digest of its contents.

    Processes that write at the same time may number their data files alike, so each file says what it holds.
    """

    def __init__(self, folder: str, filename_base: str, stamp: Any, file: str) -> None:
        super().__init__(folder, filename_base, stamp)
        self._file = file  # the source

    def save(self, key: Any, data: Any) -> None:
        """Save the compiled code."""
        super().save(key, (self._version, self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        """The compiled code, or None."""
        *found, data = super().load(key) or (None,)
        return data if found == [self._version, self._source_stamp, key] else None

    def _load_index(self) -> dict[Any, str]:
        """The entries by key; none if the index is missing, damaged, or made from another source or by another
        Numba."""
        try:
            found, stamp, entries = self._read(self._index_name)
        except Exception:  # unpickling the contents of another version may raise anything
            return {}
        return entries if (found, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_name, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        """The contents of a data file; OSError if it is damaged, which Numba takes for a missing file."""
        return self._read(name, is_use=True)  # contad deletes the oldest files first when the cache grows too large

    def _save_data(self, name: str, data: Any) -> None:
        self._write(name, data)

    def _read(self, name: str, is_use: bool = False) -> Any:
        with _folder_of(self._cache_path, self._file) as folder:
            contents = memoryview(folder.read(name, is_use))
        if hashlib.sha256(contents[_DIGEST:]).digest() != contents[:_DIGEST]:
            raise OSError(f"{name} is damaged")
        return pickle.loads(contents[_DIGEST:])

    def _write(self, name: str, data: Any) -> None:
        contents = self._dump(data)
        with _folder_of(self._cache_path, self._file) as folder:
            folder.write(name, hashlib.sha256(contents).digest() + contents)


class _PrivatePlace:
    """A mixin for Numba's cache locators: it makes the folder private to this user, whatever the umask."""

    def ensure_cache_path(self) -> None:
        """OSError if machine code cannot be kept there."""
        path, file = self.get_cache_path(), self._py_file  # type: ignore[attr-defined]
        source = _source_of(path, file)
        # Python's own cache beside an installed source serves all users
        make_folder(Path(path), 0o700 if source is None else source.stat().st_mode & 0o755)
        with _folder_of(path, file) as folder:
            if not folder.is_writable():
                raise PermissionError(f"{path} cannot be written to")
        if not has_owners():
            super().ensure_cache_path()  # type: ignore[misc]


_PRIVATE_PLACES = [type(x.__name__, (_PrivatePlace, x), {}) for x in CompileResultCacheImpl._locator_classes]


def _source_of(path: str, file: str) -> Path | None:
    """The folder of the installed source beside a folder of machine code; None if that folder is in a cache."""
    folder = os.path.dirname(file)
    return Path(folder) if file.startswith(OWN_FILES) and os.path.dirname(path) == folder else None


def _folder_of(path: str, file: str) -> Folder:
    """The open folder of the machine code of a source."""
    return code_folder(Path(path), _source_of(path, file))


class _QuietImpl(CompileResultCacheImpl):
    """Silences Numba's warning about code that it cannot cache: users did not ask for a cache of contad's files."""

    _locator_classes = _PRIVATE_PLACES

    def check_cachable(self, cres: Any) -> bool:
        """Whether machine code holds no addresses of this process."""
        plain = not cres.library.has_dynamic_globals and all(x.can_cache for x in cres.lifted)
        return plain and not _is_recursive(cres.library)


def _is_recursive(library: Any) -> bool:
    """Whether the code has recursive calls, whose targets Numba fills in when it compiles.

    If another process loads such code, it calls address 0.
    """
    _, _, (machine_code, _) = library.serialize_using_object_code()
    return RuntimeLinker.PREFIX.encode() in machine_code


class SealedCache(FunctionCache):
    """The cache of one of contad's own functions: where loading fails, it compiles again."""

    _impl_class = _QuietImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # code with little optimisation, or without checks, is not for other processes
        stamp = _stamp_of(function, self._impl.locator), *(str(getattr(numba.config, x)) for x in FLAGS)
        self._cache_file = _SealedFile(self._cache_path, self._impl.filename_base, stamp, function.__code__.co_filename)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # of a caller whose callee is gone, or from another version of a library
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled function if possible."""
        with contextlib.suppress(OSError):
            if not has_changed():
                super().save_overload(sig, data)


def _stamp_of(function: Callable[..., Any], place: Any) -> Any:
    """The inputs of machine code. Numba itself compares only the size and time of one file."""
    file = function.__code__.co_filename
    if file.startswith(OWN_FILES):
        return library_digest()
    found = hashlib.sha256(Path(file).read_bytes()).digest() if os.path.isfile(file) else place.get_source_stamp()
    return library_digest(), found  # a user's file is compiled with the functions of contad that it calls


def _cache_of(function: Callable[..., Any]) -> Any:
    """The sealed cache of a function; None if its source is not in a file, or if the file has no cache."""
    try:
        return SealedCache(function)
    except RuntimeError:  # there is no place for it, or no private one
        return NullCache()


def njit(*arguments: Any, cache: bool = False, **options: Any) -> Any:
    """`numba.njit(*arguments, **options)`, with a sealed cache if asked for."""
    if not cache:
        return numba.njit(*arguments, **options)

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        dispatcher._cache = _cache_of(function)
        if arguments:
            with register_dispatcher(dispatcher):
                for signature in arguments:
                    dispatcher.compile(signature)
            dispatcher.disable_compile()
        return dispatcher

    return decorate


def has_machine_code(function: Callable[..., Any]) -> bool:
    """Whether machine code of one of contad's own functions is on disk, for some signature."""
    cache = _cache_of(getattr(function, "__wrapped__", function))
    return isinstance(cache, SealedCache) and bool(cache._cache_file._load_index())


class _CFunction(CFunc):
    """A C function: an address in this process."""

    def __reduce__(self) -> Any:
        raise UnsupportedError(
            "pickle: a C function is an address in this process; send the Numba function, and call contad.cfunc(f, n) "
            "there, which loads its machine code from the cache"
        )


def cfunc(signature: Any, cache: bool = False, **options: Any) -> Any:
    """`numba.cfunc(signature, **options)`, with a sealed cache if asked for."""

    def decorate(function: Callable[..., Any]) -> Any:
        made: Any = _CFunction(function, normalize_signature(signature), locals={}, options=options)
        if cache:
            made._cache = _cache_of(function)
        made.compile()
        return made

    return decorate
