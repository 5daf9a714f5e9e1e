"""Services of operating systems that differ between them: memory, threads, and a word per thread.

contad chooses a variant by the functions that exist, not by the name of the system, so that tests can try each.
"""

import atexit
import ctypes
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple


def address_of_symbol(function: Any) -> int:
    """The address of a C function that ctypes has found."""
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


def memory_functions() -> dict[str, int]:
    """The addresses of C functions that resize and free memory: Python's own, which do not need the GIL."""
    python = ctypes.pythonapi
    return {"realloc": address_of_symbol(python.PyMem_RawRealloc), "free": address_of_symbol(python.PyMem_RawFree)}


# ---- a word per thread -----------------------------------------------------------------------------------------------
class ThreadWord(NamedTuple):
    """A thread-local word, 0 at first: get(key) and put(key, word) are C functions."""

    key: int
    get: int
    put: int


def posix_thread_word(release: int) -> ThreadWord:
    """By POSIX threads: when a thread ends, the system passes the word to the C function `release`."""
    system = ctypes.CDLL(None)  # TypeError on Windows
    key = ctypes.c_size_t(0)  # pthread_key_t is an unsigned int, or a long on macOS
    if system.pthread_key_create(ctypes.byref(key), ctypes.c_void_p(release)) != 0:
        raise MemoryError("contad: the operating system gives no thread-specific key")
    get, put = system.pthread_getspecific, system.pthread_setspecific
    return ThreadWord(key.value, address_of_symbol(get), address_of_symbol(put))


def windows_thread_word(release: int) -> ThreadWord:
    """By Windows' fiber-local storage, which, unlike thread-local storage, calls `release` when a thread ends."""
    system = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]  # AttributeError elsewhere
    key = system.FlsAlloc(ctypes.c_void_p(release)) & 0xFFFFFFFF
    if key == 0xFFFFFFFF:
        raise MemoryError("contad: the operating system gives no thread-specific key")
    get, put = system.FlsGetValue, system.FlsSetValue
    # the main thread ends after Python, when the machine code of `release` may be gone
    atexit.register(put, ctypes.c_uint32(key), ctypes.c_void_p(None))
    return ThreadWord(key, address_of_symbol(get), address_of_symbol(put))


def python_thread_word(release: int) -> ThreadWord:
    """By Python's C API, which every system has; the memory of threads that end is not freed."""
    python = ctypes.pythonapi
    python.PyThread_tss_alloc.restype = ctypes.c_void_p
    key = python.PyThread_tss_alloc()
    if not key or python.PyThread_tss_create(ctypes.c_void_p(key)) != 0:
        raise MemoryError("contad: the operating system gives no thread-specific key")
    return ThreadWord(key, address_of_symbol(python.PyThread_tss_get), address_of_symbol(python.PyThread_tss_set))


THREAD_WORDS: list[Callable[[int], ThreadWord]] = [posix_thread_word, windows_thread_word, python_thread_word]


def thread_word(release: int) -> ThreadWord:
    """A word per thread. When a thread ends, `release`, the address of a C function `int64(int64)`, gets the word.

    MemoryError if the system has no more of them.
    """
    for way in THREAD_WORDS[:-1]:
        try:
            return way(release)
        except (AttributeError, OSError, TypeError):  # the system has no such functions
            continue
    return THREAD_WORDS[-1](release)


# ---- threads ---------------------------------------------------------------------------------------------------------
class ThreadFunctions(NamedTuple):
    """C functions of words: create(where the thread is put, attributes, function, its argument), join(thread, 0)."""

    create: int
    join: int
    clock: int  # clock(which, address for seconds and nanoseconds)
    which: int  # the monotonic clock
    attributes: Any  # of a thread with a stack of STACK bytes; they live as long as this object


STACK = 8 << 20  # bytes; some systems give a thread much less than the main thread


def thread_functions() -> ThreadFunctions | None:
    """POSIX threads and clock; None if the system lacks them."""
    try:
        system = ctypes.CDLL(None)  # TypeError on Windows
        attributes = (ctypes.c_int64 * 32)()  # more than any system needs
        if system.pthread_attr_init(attributes) or system.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK)):
            return None
        functions = system.pthread_create, system.pthread_join, system.clock_gettime
        create, join, clock = map(address_of_symbol, functions)
        return ThreadFunctions(create, join, clock, time.CLOCK_MONOTONIC, attributes)
    except (AttributeError, OSError, TypeError):
        return None


# ---- how much memory there is ----------------------------------------------------------------------------------------
def posix_memory() -> int:
    """The bytes of the machine's memory, by POSIX."""
    pages = os.sysconf("SC_PHYS_PAGES")  # AttributeError on Windows
    if pages <= 0:
        raise ValueError("the system does not tell")
    return os.sysconf("SC_PAGE_SIZE") * pages


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX."""

    _fields_ = (
        ("length", ctypes.c_uint32), ("load", ctypes.c_uint32), ("physical", ctypes.c_uint64),
        ("others", ctypes.c_uint64 * 6),
    )  # fmt: skip


def windows_memory() -> int:
    """The bytes of the machine's memory, by Windows."""
    system = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]  # AttributeError elsewhere
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if not system.GlobalMemoryStatusEx(ctypes.byref(status)):
        raise OSError("the system does not tell")
    return int(status.physical)


def machine_memory() -> int | None:
    """The bytes of the machine's memory; None if unknown."""
    for way in (posix_memory, windows_memory):
        try:
            return way()
        except (AttributeError, OSError, ValueError):
            continue
    return None
