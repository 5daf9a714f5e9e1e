"""Who may write what is run: sources and machine code of the cache are code, whoever has put them there.

Where the system has no owners and modes of POSIX's, on Windows, a user's folders are private by their access lists, and
what lies elsewhere is the user's choice.
"""

import contextlib
import functools
import os
import stat
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0  # who may write everything anyway


def has_owners() -> bool:
    """Whether files have owners and modes here."""
    return hasattr(os, "getuid")


def is_private(folder: Path) -> bool:
    """Whether a folder is this user's, and nobody else can write to it."""
    if not has_owners():
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & _OTHERS


def is_trusted_owner(owner: int, folder: Path) -> bool:
    """Whether what that user has put into a folder may be run: this user, root, and whom the folder belongs to."""
    return not has_owners() or owner in (os.getuid(), _ROOT) or owner == folder.stat().st_uid


@functools.cache
def close_folder(folder: Path, source: Path) -> bool:
    """See that nobody can write to a folder of machine code who cannot write to the folder of its source.

    A folder that is more open is closed, and the machine code in it is deleted. False where that is not possible.
    """
    if not has_owners():
        return True
    try:
        status, allowed = folder.stat(), source.stat()
        if not is_trusted_owner(status.st_uid, source):
            return False
        inherited = allowed.st_mode & (_OTHERS if status.st_gid == allowed.st_gid else stat.S_IWOTH)
        if not status.st_mode & _OTHERS & ~inherited:
            return True
        folder.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
    except OSError:
        return False
    for file in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
        with contextlib.suppress(OSError):  # gone meanwhile
            file.unlink()
    return True
