"""What a child of a fork needs of the threads that it does not have.

A child has the thread that has forked and no other. A lock that another thread of the parent held is never opened
there, so the child would wait for ever. Locks of contad are made by `make_lock` and are open in a child. What they
protect is whole at any time, or is made whole by the next one who closes the lock.

Some locks protect what is not: a compiler at work. `hold_while_forking` lets a fork wait until nobody holds them.
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
_own = threading.local()  # the locks that this thread holds because it forks


def make_lock() -> Any:
    """A lock that is open in a child of a fork, unless the thread that forks holds it; it may close it again."""
    return renew_in_children(threading.RLock())


def renew_in_children(lock: Any) -> Any:
    """A lock or an event of `threading` that is to be used in children of a fork."""
    _renewed.add(lock)
    return lock


def hold_while_forking(lock: Any) -> None:
    """Let every fork wait for a lock; where it takes too long, it is open in the child at least.

    A thread that holds a lock may wait for those that were named before, and for no others.
    """
    _held.append(renew_in_children(lock))


def call_in_children(renew: Callable[[], None]) -> None:
    """Call a function at the start of each child of a fork."""
    _calls.append(renew)


def _await_imports() -> None:
    """Let other threads import what they are importing: a child finds such modules closed for ever."""
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
    """The locks of cached properties in classes of contad, which they have before Python 3.12."""
    if sys.version_info >= (3, 12):
        return []
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "contad"]
    classes = {x for module in modules for x in list(vars(module).values()) if isinstance(x, type)}
    return [x.lock for kind in classes for x in vars(kind).values() if isinstance(x, cached_property)]  # type: ignore[attr-defined,unused-ignore]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_begin_child)
