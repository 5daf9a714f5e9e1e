"""Locks that stay usable in the child of a fork, which lacks the other threads of its parent.

A child has only the thread that forked. If another thread of the parent held a lock, nobody releases it in the child,
which would wait for ever. contad makes its locks by `make_lock`, and they are released in a child. The data that they
protect are consistent at any time, or the next holder of the lock makes them so.

Other locks protect a compiler at work, whose data are not consistent. `hold_while_forking` makes a fork wait until
nobody holds them.
"""

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any
from weakref import WeakSet

LONGEST = 60.0  # seconds that a fork waits for a lock

_renewed: WeakSet[Any] = WeakSet()  # locks and events
_held: list[Any] = []
_calls: list[Callable[[], None]] = []
_own = threading.local()  # the locks that this thread holds for a fork


def make_lock() -> Any:
    """A lock that is released in a child of a fork, unless the forking thread holds it; that thread may acquire it
    again."""
    return renew_in_children(threading.RLock())


def renew_in_children(lock: Any) -> Any:
    """Register a lock or an event of `threading` for use in children of a fork."""
    _renewed.add(lock)
    return lock


def hold_while_forking(lock: Any) -> None:
    """Make every fork wait for a lock; after a timeout, the lock is at least released in the child.

    A thread that holds a lock may wait for locks registered earlier, and for no others.
    """
    _held.append(renew_in_children(lock))


def call_in_children(renew: Callable[[], None]) -> None:
    """Call a function at the start of each child of a fork."""
    _calls.append(renew)


def _await_imports() -> None:
    """Let other threads finish their imports: a child would find such modules locked for ever."""
    until = time.monotonic() + LONGEST
    for find in list(getattr(importlib._bootstrap, "_module_locks", {}).values()):
        lock = find()
        while getattr(lock, "owner", None) not in (None, threading.get_ident()) and time.monotonic() < until:
            time.sleep(0.001)


def _hold() -> None:
    _await_imports()
    _own.locks = [lock for lock in reversed(_held) if lock.acquire(timeout=LONGEST)]


def _release() -> None:
    for lock in reversed(_own.locks):
        lock.release()
    _own.locks = []


def _begin_child() -> None:
    _release()
    for lock in [*_renewed, *_locks_of_properties()]:
        if not getattr(lock, "_is_owned", bool)():
            lock._at_fork_reinit()
    for renew in _calls:
        renew()


def _locks_of_properties() -> list[Any]:
    """The locks of cached properties in classes of contad; they exist before Python 3.12."""
    if sys.version_info >= (3, 12):
        return []
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "contad"]
    classes = {x for module in modules for x in list(vars(module).values()) if isinstance(x, type)}
    return [x.lock for kind in classes for x in vars(kind).values() if isinstance(x, cached_property)]  # type: ignore[attr-defined,unused-ignore]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_begin_child)
