"""Who may write the files that contad runs: sources and machine code in the cache are code, whoever wrote them.

contad opens a folder first and reaches its files through the descriptor. It reads owners and modes from open files, so
that nobody can exchange a file between check and use.

Windows has no POSIX owners and modes. There, access lists keep a user's folders private, and a folder elsewhere is the
user's choice.
"""

import contextlib
import functools
import os
import stat
import warnings
from pathlib import Path
from typing import Self

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0  # who can write to every file anyway
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # refuse a link, and do not wait for a pipe


def has_owners() -> bool:
    """Whether files have owners and modes here."""
    return hasattr(os, "getuid")


@functools.cache
def warn_of(what: str) -> None:
    """Warn once that contad does not trust a directory, or files in it."""
    warnings.warn(
        f"contad: {what} not used, because other users own it or can write to it, and what it "
        "holds is run; this process compiles anew what it needs (chmod go-w it, or set CONTAD_CACHE_DIR)",
        stacklevel=3,
    )


def make_folder(path: Path, mode: int = 0o700) -> None:
    """Make a folder, and missing parents as private folders, whatever the umask. An existing folder stays as it is."""
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        pass
    except FileNotFoundError:
        if path.parent.is_dir():  # if no folder can be made, as in /proc, or behind a dangling link
            raise
        make_folder(path.parent)
        os.mkdir(path, mode)


class Folder:
    """An open folder. Its path is resolved once if the system can open files relative to a descriptor."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, _FOLDER) if os.open in os.supports_dir_fd else None
        self.status = os.stat(path) if self._descriptor is None else os.fstat(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def is_private(self) -> bool:
        """Whether it is this user's, and nobody else can write to it."""
        return not has_owners() or (self.status.st_uid == os.getuid() and not self.status.st_mode & _OTHERS)

    def is_trusted_owner(self, owner: int) -> bool:
        """Whether contad may run files of that user: this user, root, or the owner of the folder."""
        return not has_owners() or owner in (os.getuid(), _ROOT, self.status.st_uid)

    def is_writable(self) -> bool:
        """Whether this process can make files in it."""
        return os.access(self._place(os.curdir), os.W_OK, dir_fd=self._descriptor)

    def names(self) -> list[str]:
        """The names of its files."""
        return os.listdir(self.path if self._descriptor is None else self._descriptor)

    def status_of(self, name: str) -> os.stat_result:
        """The status of a file."""
        return os.stat(self._place(name), dir_fd=self._descriptor, follow_symlinks=False)

    def delete(self, name: str) -> None:
        """Delete a file, unless it is gone, or another process holds it open on Windows."""
        with contextlib.suppress(OSError):
            os.unlink(self._place(name), dir_fd=self._descriptor)

    def read(self, name: str, is_use: bool = False) -> bytes:
        """The contents of a file, which becomes the most recently used; PermissionError if others may have written
        it."""
        with open(self._place(name), "rb", buffering=0, opener=self._open) as file:
            status = os.fstat(file.fileno())
            is_open = has_owners() and status.st_mode & _OTHERS
            if is_open or not self.is_trusted_owner(status.st_uid) or not stat.S_ISREG(status.st_mode):
                warn_of(f"a file in the cache directory {self.path} is")
                raise PermissionError(f"{self.path / name} is another user's, or others can write to it")
            if is_use:
                with contextlib.suppress(OSError):
                    os.utime(file.fileno() if os.utime in os.supports_fd else self._place(name))
            return file.readall()

    def write(self, name: str, contents: bytes) -> None:
        """Write a file that only its owner can read, so that other processes see the whole file or none."""
        temporary = f"{name}.tmp.{os.urandom(8).hex()}"
        try:
            with open(self._place(temporary), "xb", opener=self._open) as file:
                file.write(contents)
            places = self._place(temporary), self._place(name)
            os.replace(*places, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            self.delete(temporary)
            raise

    def close_to_others(self, owner: int | None, inherited: int) -> None:
        """Ensure that only its owner can write to it, apart from `inherited` modes; PermissionError if that fails.

        This deletes the machine code in a folder that was more open.
        """
        if not has_owners():
            return
        if self.status.st_uid not in (os.getuid(), _ROOT, owner):
            raise PermissionError(f"{self.path} is another user's")
        if not self.status.st_mode & _OTHERS & ~inherited:
            return
        if self.status.st_mode & stat.S_ISVTX:
            raise PermissionError(f"{self.path} is for the files of all users")
        place = self.path if self._descriptor is None else self._descriptor
        os.chmod(place, stat.S_IMODE(self.status.st_mode) & ~_OTHERS)
        for name in self.names():
            if name.endswith((".nbi", ".nbc")):
                self.delete(name)

    def _open(self, place: str, flags: int) -> int:
        return os.open(place, flags | _PLAIN, 0o600, dir_fd=self._descriptor)

    def _place(self, name: str) -> str:
        """How to open a file: by its name, relative to the descriptor, or else by its path."""
        return os.path.join(self.path, name) if self._descriptor is None else name


def private_folder(path: Path) -> Folder:
    """Open a folder that belongs to this user alone; PermissionError for others."""
    folder = Folder(path)
    if not folder.is_private():
        folder.__exit__()
        warn_of(f"the cache directory {path} is")
        raise PermissionError(f"{path} is another user's, or others can write to it")
    return folder


def code_folder(path: Path, source: Path | None) -> Folder:
    """Open a folder of machine code. Only users who can write to the folder of its source can write to it.

    `source` is None if the source is itself in the cache: then only this user can. PermissionError if the folder is
    another user's, or if its modes cannot be tightened.
    """
    folder = Folder(path)
    try:
        allowed = None if source is None else source.stat()
        if allowed is None:
            folder.close_to_others(None, 0)
        else:
            shared = _OTHERS if folder.status.st_gid == allowed.st_gid else stat.S_IWOTH
            folder.close_to_others(allowed.st_uid, allowed.st_mode & shared)
    except BaseException as error:
        folder.__exit__()
        if isinstance(error, PermissionError):
            warn_of(f"the cache directory {path} is")
        raise
    return folder
