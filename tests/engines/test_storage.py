"""Buffers on systems that take memory when it is reserved, or do not say how much there may be."""

import mmap
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import contad
from contad.engines.stream import storage
from contad.variables.stack import THREAD


@pytest.fixture
def elsewhere(monkeypatch):
    """A system without mappings whose memory comes page by page."""
    monkeypatch.delattr(mmap, "MAP_PRIVATE")
    pools = THREAD.pools
    THREAD.pools = {}
    yield
    THREAD.pools = pools


def f(x):
    y = np.exp(-x) * x
    return np.sum(y * y) + y[0] * x[-1]


def gradient_of_f(x):
    y, slope = np.exp(-x) * x, np.exp(-x) * (1.0 - x)
    g = 2.0 * y * slope
    g[0] += slope[0] * x[-1]
    g[-1] += y[0]
    return g


def test_gradients_with_buffers_that_grow(elsewhere):
    for n in (3, 1000, 100_000, 10, 300_000):
        x = np.linspace(0.1, 2.0, n)
        np.testing.assert_allclose(contad.grad(f)(x), gradient_of_f(x), rtol=1e-13, atol=1e-15)
    (buffers,) = THREAD.pools["matrix"]
    assert len(buffers.values) >= 300_000
    x = np.linspace(0.1, 2.0, 3)
    expected = np.array([[gradient_of_f(x + h * e) for h in (1e-6, -1e-6)] for e in np.eye(3)])
    np.testing.assert_allclose(contad.hessian(f)(x), (expected[:, 0] - expected[:, 1]) / 2e-6, rtol=1e-7)
    np.testing.assert_allclose(contad.grad(lambda x: np.sum(contad.grad(f)(x)))(x), contad.hessian(f)(x).sum(axis=0))


def test_buffers_shrink_to_what_is_usual(elsewhere, monkeypatch):
    monkeypatch.setattr(storage, "LARGE", 1 << 14)
    large, small = np.full(200_000, 0.5), np.full(100, 0.5)
    for x in (large, large, large):
        np.testing.assert_allclose(contad.grad(f)(x), gradient_of_f(x), rtol=1e-13, atol=1e-15)
    (buffers,) = THREAD.pools["matrix"]
    assert len(buffers.values) >= 200_000
    for _ in range(25):
        np.testing.assert_allclose(contad.grad(f)(small), gradient_of_f(small), rtol=1e-13, atol=1e-15)
    assert len(buffers.values) < 100_000
    assert len(buffers.adjoints) < 100_000
    np.testing.assert_allclose(contad.grad(f)(large), gradient_of_f(large), rtol=1e-13, atol=1e-15)


@pytest.mark.skipif(not hasattr(mmap, "MAP_PRIVATE"), reason="there are no such mappings here")
def test_what_the_system_does_not_tell_is_no_limit(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)  # importing it fails
    assert storage._address_space() == sys.maxsize
    assert len(storage.reserve()) == storage.RESERVED


@pytest.mark.skipif(not hasattr(mmap, "MAP_PRIVATE"), reason="there are no such mappings here")
def test_little_address_space_is_shared_out(monkeypatch):
    monkeypatch.setattr(storage, "_address_space", lambda: 2**30)
    assert len(storage.reserve()) == 2**30 // 512
    monkeypatch.setattr(storage, "_address_space", lambda: 1)
    assert len(storage.reserve()) == storage.ROWS


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="only Linux tells how it counts a mapping")
def test_reserved_addresses_are_not_counted_as_memory():
    """Else a process with several recordings could not be forked: together they would be more than the machine has."""
    kept = storage.reserve()
    place, flags = kept.__array_interface__["data"][0], []
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if "-" in first:
            low, _, high = first.partition("-")
            is_here = int(low, 16) <= place < int(high, 16)
        elif first == "VmFlags:" and is_here:
            flags = rest
    assert flags
    assert "ac" not in flags  # accounted
