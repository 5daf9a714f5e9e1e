"""What Numba does while a test watches: what it compiles, and the memory that it asks for."""

import contextlib
from types import SimpleNamespace

import numba
from numba.core.runtime import _nrt_python, rtsys


def note_calls(patch, owner, name, what=lambda self, *args: None):
    """What is told of each call of a function from now on, in their order; they do what they did."""
    told, run = [], getattr(owner, name)

    def noted(*args, **options):
        told.append(what(*args))
        return run(*args, **options)

    patch.setattr(owner, name, noted)
    return told


@contextlib.contextmanager
def watched_memory():
    """How often NRT is asked for memory inside, and gets it back: numbers that are there at the end."""
    _nrt_python.memsys_enable_stats()
    try:
        before, found = rtsys.get_allocation_stats(), SimpleNamespace()
        yield found
        after = rtsys.get_allocation_stats()
        found.asked, found.returned = after.alloc - before.alloc, after.free - before.free
    finally:
        _nrt_python.memsys_disable_stats()


def caller_of(f, **options):
    """A compiled function that calls another one."""

    @numba.njit(**options)
    def caller(*args):
        return f(*args)

    return caller
