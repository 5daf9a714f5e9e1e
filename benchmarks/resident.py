"""Resident memory, as the kernel accounts for it: it counts what Python's allocators do not see. Linux only."""

import ctypes
import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOW, PEAK = "VmRSS", "VmHWM"


def resident(mark: str = NOW) -> int:
    """A line of the kernel's account of this process, in bytes."""
    return 1024 * int(re.search(rf"{mark}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def trimmed() -> int:
    """Resident memory after what is free has gone back to the kernel."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc's
        libc.malloc_trim(0)
    return resident()


def peak_of(run: Callable[[], Any]) -> int:
    """Bytes of resident memory at the peak of run(), over those before."""
    gc.collect()
    before = resident()
    reset_peak()
    run()
    return resident(PEAK) - before


def reset_peak() -> None:
    """Set the high-water mark to the present."""
    Path("/proc/self/clear_refs").write_text("5")
