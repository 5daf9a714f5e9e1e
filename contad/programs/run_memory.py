"""Memory that runs from Python reuse: the operating system would clear every page of a new allocation.

For programs of arrays this would take longer than the run itself. A thread keeps one allocation, and a run takes it
away, so that a rule in Python may run another program meanwhile.
"""

import threading

import numpy as np

FEW = 1 << 13  # numbers; Numba allocates and frees fewer than that faster
MOST = 1 << 25  # numbers that a thread keeps: 256 MiB
NONE = np.empty(0)


class _Kept(threading.local):
    numbers = NONE
    inputs = NONE


_kept = _Kept()


def take(n: int) -> np.ndarray:
    """At least n numbers for a run; an empty array where the run allocates them faster itself."""
    if n < FEW:
        return NONE
    found = _kept.numbers
    _kept.numbers = NONE
    return found if len(found) >= n else np.empty(n)


def give_back(numbers: np.ndarray) -> None:
    """Keep the numbers for the next run of this thread."""
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
    """Keep the memory of inputs for the next run of this thread, but not arrays of the user."""
    if FEW <= len(inputs) <= MOST and inputs.base is None:
        _kept.inputs = inputs
