"""Compilation of all kernels on all cores, by processes that only do this."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from contad.compile.compiling import cache_directory, temporary_directory
from contad.progress_bars import ProgressBar
from contad.variables.arguments import require_positive_size

_WORK = """
import sys
sys.path[:] = {path!r}
from contad.warming.own_kernels import work
work({first}, {count}, {named!r})
"""
TOTAL, COMPILED, FOUND, FAILED = "total", "compiled", "found", "failed"  # kinds of reports of workers


class WarmUp(NamedTuple):
    """The result of `contad.warm_up`."""

    compiled: int  # functions
    found: int  # already in the cache
    directory: str


def warm_up(processes: int | None = None) -> WarmUp:
    """Compile all of contad's own kernels, so that no later process on this machine waits for them.

    contad keeps compiled code on the disk, for this user, this processor, and these versions of contad, Numba and
    NumPy. Without this call, most code is compiled on first use, which takes seconds here and there. The call compiles
    sweeps, kernels of arrays, the interpreter of recorded programs, products and linear algebra. It takes some minutes
    on all cores, or seconds if everything is in the cache. Derivatives of your own Numba functions are still compiled
    on their first call. `python -m contad warm` does the same.

    processes    how many work at once; by default one for each core that this process may use

    Raises:  OSError if the cache cannot be written, RuntimeError if a kernel cannot be compiled.

    >>> contad.warm_up()  # doctest: +SKIP
    WarmUp(compiled=371, found=0, directory='/home/me/.cache/contad')
    """
    if processes is not None:
        require_positive_size("contad.warm_up", "processes", processes)
    return run_workers(processes or _count_cores(), ())


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_workers(count: int, named: Sequence[str]) -> WarmUp:
    """Compile kernels of these kinds, or all if no kind is given, with `count` processes."""
    directory = cache_directory()
    if directory == temporary_directory():
        raise OSError(
            "contad.warm_up: there is no directory where machine code can be kept: the cache directory cannot be "
            "written to, or others can write to it (see the warning); set CONTAD_CACHE_DIR to one of your own"
        )
    reading, writing = os.pipe()
    workers = []
    try:
        for first in range(count):
            code = _WORK.format(path=sys.path, first=first, count=count, named=[*named])
            workers.append(subprocess.Popen([sys.executable, "-c", code], stdout=writing, stdin=subprocess.DEVNULL))
        os.close(writing)
        with open(reading, encoding="utf-8", errors="replace") as reports:
            found = _follow(reports)
        broken = [f"a process has ended with status {w.returncode}" for w in workers if w.wait()]
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
    if broken or found[FAILED]:
        raise RuntimeError(f"contad.warm_up: not all could be compiled: {'; '.join((*found[FAILED], *broken))}")
    return WarmUp(len(found[COMPILED]), len(found[FOUND]), str(directory))


def _follow(reports: Iterable[str]) -> dict[str, list[str]]:
    """Collect the reports of workers: each first reports how many kernels it has, then each kernel that is ready."""
    found: dict[str, list[str]] = {COMPILED: [], FOUND: [], FAILED: []}
    with ProgressBar("contad.warm_up: compiling contad's own functions, once per machine", 0) as bar:
        for line in reports:
            kind, _, text = line.rstrip("\n").partition(" ")
            if kind == TOTAL:
                bar.total = (bar.total or 0) + int(text)
            elif kind in found:
                found[kind].append(text)
                bar.advance()
    return found
