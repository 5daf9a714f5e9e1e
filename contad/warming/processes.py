"""All kernels compiled on all cores, by processes that are there for nothing else and end with it."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from contad.compile.compiling import cache_directory, temporary_directory
from contad.progress_bars import ProgressBar
from contad.variables import check

_WORK = "import sys; sys.path[:] = {path!r}; from contad.warming.work import work; work({first}, {count}, {named!r})"
TOTAL, COMPILED, FOUND, FAILED = "total", "compiled", "found", "failed"  # what workers report


class WarmUp(NamedTuple):
    """What `contad.warm_up` has done."""

    compiled: int  # functions
    found: int  # that the cache had before
    directory: str


def warm_up(processes: int | None = None) -> WarmUp:
    """Compile all of contad's own kernels, so that no later process on this machine waits for them.

    What contad compiles it keeps on the disk, for this user, this processor, and these versions of contad, Numba and
    NumPy. Most of it is compiled when it is needed first, which takes seconds here and there; this gets it over with:
    sweeps, kernels of arrays, the interpreter of recorded programs, products, linear algebra. It takes some minutes
    of all cores, and seconds where everything is there. Derivatives of your own Numba functions are compiled when they
    are called first, as before. `python -m contad warm` is the same.

    processes    how many work at once; by default one for each core that this process may use

    Raises:  OSError where nothing can be kept, RuntimeError where a kernel cannot be compiled.

    >>> contad.warm_up()  # doctest: +SKIP
    WarmUp(compiled=371, found=0, directory='/home/me/.cache/contad')
    """
    if processes is not None:
        check.positive_size("contad.warm_up", "processes", processes)
    return run_workers(processes or _count_cores(), ())


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_workers(count: int, named: Sequence[str]) -> WarmUp:
    """The same for kernels of these kinds, all where there are none, by so many processes."""
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
    """What workers report: each at first how many kernels are its own, then each of these when it is ready."""
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
