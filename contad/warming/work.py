"""The work of a process of `contad.warm_up`: it compiles its share of the kernels and reports each one."""

import sys
from collections.abc import Sequence

from contad.compile import images
from contad.compile.dispatchers import tell_of_compilations
from contad.warming.own_kernels import get_ready, list_kernels
from contad.warming.processes import COMPILED, FAILED, FOUND, TOTAL


def work(first: int, count: int, named: Sequence[str]) -> None:
    """Prepare every `count`th kernel from `first` on, only of these kinds if any are given."""
    chosen = [kernel for kernel in list_kernels() if not named or kernel[0] in named][first::count]
    _report(TOTAL, str(len(chosen)))
    for kernel in chosen:
        name = " ".join(map(str, (kernel[0], *kernel[1])))
        before = count_compilations()
        try:
            get_ready(kernel)
        except Exception as error:  # the other kernels are useful without it
            _report(FAILED, f"{name} ({type(error).__name__}: {' '.join(str(error).split())[:200]})")
        else:
            _report(FOUND if count_compilations() == before else COMPILED, name)


def _report(kind: str, text: str) -> None:
    """Write a line in one piece, so that the lines of several processes do not mix."""
    sys.stdout.write(f"{kind} {text}\n")
    sys.stdout.flush()


_begun: list[int] = [0]  # how many functions Numba has begun to compile because the disk did not have them


def _count() -> None:
    _begun[0] += 1


tell_of_compilations(_count, lambda *_: None)


def count_compilations() -> int:
    """The number of functions that this process has compiled."""
    return len(images.compiled) + _begun[0]
