"""Lists of Python's numbers that machine code reads: what it writes, refuses and leaves as it was."""

import struct
import sys

import numpy as np
import pytest

from contad.compile import images
from contad.engines.stream import sweep
from contad.engines.stream.storage import Buffers
from contad.engines.stream.sweep import compile_sweeps

KINDS = [
    0.5, -0.0, 5e-324, float("nan"), float("inf"), -float("inf"), 0, 1, -1, 255, 2**30, -(2**30), 2**53 + 1, 2**60 + 3,
    -(2**62), 2**100, np.float64(0.25), np.float64(-0.0),
]  # fmt: skip


class Wide(float):
    """A float with attributes."""

    def __float__(self):
        raise AssertionError("a float is its own value")


def read(numbers):
    """What is written for them and what is behind them, up to a multiple of four; None where Python has to do it."""
    buffers, padded = Buffers(), [*numbers, *[7.0] * (-len(numbers) % 4)]
    buffers.staging[: len(padded) // 4 + 1] = 7.0
    buffers.stream = padded
    found = compile_sweeps().read(buffers, len(padded) // 4)
    assert found in (True, False)
    return buffers.staging.reshape(-1)[: len(padded) + 4].copy() if found else None


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 17, 1000])
def test_numbers_are_written_as_struct_writes_them(n):
    rng = np.random.default_rng(n)
    numbers = [KINDS[k] for k in rng.integers(len(KINDS), size=n)]
    found = read(numbers)
    assert found[:n].tobytes() == struct.pack(f"{n}d", *numbers)
    assert (found[n:] == 7.0).all()
    assert read([*numbers, *numbers])[: 2 * n].tobytes() == struct.pack(f"{2 * n}d", *numbers, *numbers)


def test_classes_that_are_floats():
    assert read([Wide(1.5), 2]).tolist()[:2] == [1.5, 2.0]


@pytest.mark.parametrize("other", ["1.0", None, [], 2**2000, -(2**2000), True, np.int64(3), np.float32(0.5), 1j])
@pytest.mark.parametrize("place", [0, 2, 7])
def test_other_objects_than_plain_numbers_are_left_to_python(other, place):
    numbers = [0.5] * 8
    numbers[place] = other
    assert read(numbers) is None
    numbers[place] = 3
    assert read(numbers)[place] == 3.0  # no error is left behind


def test_references_are_as_they_were():
    numbers = [0.1 + k if k % 2 else 1000 + k for k in range(100)]
    before = [sys.getrefcount(x) for x in numbers]
    for _ in range(100):
        read(numbers)
    assert [sys.getrefcount(x) for x in numbers] == before


def test_a_python_with_other_objects_reads_them_itself(monkeypatch):
    assert images.has_known_layout()
    monkeypatch.setattr(sweep, "has_known_layout", lambda: False)
    assert compile_sweeps.__wrapped__().read(Buffers(), 0) is False
