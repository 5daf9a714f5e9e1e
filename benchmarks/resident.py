"""Resident memory, as the kernel accounts for it: it counts what Python's allocators do not see. Linux only."""

import ctypes
import gc
import re
from pathlib import Path

NOW, PEAK = "VmRSS", "VmHWM"


def read_resident(mark: str = NOW) -> int:
    """A line of the kernel's account of this process, in bytes."""
    return 1024 * int(re.search(rf"{mark}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def trim() -> int:
    """Resident memory after what is free has gone back to the kernel."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc's
        libc.malloc_trim(0)
    return read_resident()


def reset_peak() -> None:
    """Set the high-water mark to the present."""
    Path("/proc/self/clear_refs").write_text("5")
