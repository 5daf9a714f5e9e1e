"""The memory of runs from Python, which serves again: the operating system would clear every page of a new block.

For programs of arrays that takes longer than the run itself. A thread keeps one block, which a run takes away, so that
a rule in Python may run another program meanwhile.
"""

import threading

import numpy as np

FEW = 1 << 13  # numbers, which Numba gets and gives back faster
MOST = 1 << 25  # numbers that a thread keeps: 256 MiB
NONE = np.empty(0)


class _Kept(threading.local):
    numbers = NONE
    inputs = NONE


_kept = _Kept()


def take(n: int) -> np.ndarray:
    """At least n numbers for a run; none where the run had better ask for them itself."""
    if n < FEW:
        return NONE
    found = _kept.numbers
    _kept.numbers = NONE
    return found if len(found) >= n else np.empty(n)


def give_back(numbers: np.ndarray) -> None:
    """Keep what was taken for the next run of this thread."""
    if len(_kept.numbers) < len(numbers) <= MOST:
        _kept.numbers = numbers


def take_inputs(n: int) -> np.ndarray:
    """An array of n numbers for the inputs of a run."""
    if n < FEW:
        return np.empty(n)
    found = _kept.inputs
    _kept.inputs = NONE
    return found if len(found) == n else np.empty(n)


def give_back_inputs(inputs: np.ndarray) -> None:
    """Keep inputs that have been read for those of the next run of this thread; not arrays of the user's."""
    if FEW <= len(inputs) <= MOST and inputs.base is None:
        _kept.inputs = inputs
