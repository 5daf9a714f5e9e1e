"""Another operating system: what Windows offers, by what this one has."""

import ctypes
import sys

MEMORY = 7 * 2**30


class Kernel32:
    """Functions of Windows' kernel32 by those of POSIX."""

    def __init__(self, name):
        assert name == "kernel32"
        system = ctypes.CDLL(None)
        self._create = system.pthread_key_create
        self.FlsGetValue, self.FlsSetValue = system.pthread_getspecific, system.pthread_setspecific

    def FlsAlloc(self, release):
        key = ctypes.c_size_t(0)
        return key.value if self._create(ctypes.byref(key), release) == 0 else -1

    def GlobalMemoryStatusEx(self, status):
        size = ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))[0]
        assert size == 64  # of MEMORYSTATUSEX
        ctypes.cast(status, ctypes.POINTER(ctypes.c_uint64))[1] = MEMORY
        return 1


class Kernel32WithoutKeys(Kernel32):
    """One that gives no more keys, and does not tell how much memory there is."""

    def FlsAlloc(self, release):
        return -1

    def GlobalMemoryStatusEx(self, status):
        return 0


def become(way):
    """Have the arena of this process find its threads by that way; before anything of contad's is compiled."""
    assert "contad.memory.arena" not in sys.modules
    from contad.memory import system

    ctypes.WinDLL = Kernel32
    system.THREAD_WORDS = [getattr(system, f"{way}_thread_word")]
