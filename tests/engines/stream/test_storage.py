"""Buffers on systems that take memory when it is reserved, or do not say how much there may be."""

import mmap
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import contad
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream import storage
from contad.engines.stream.record_stream import CHUNK
from contad.errors import StaleVariableError
from contad.variables.stack import THREAD, opened
from tests.judges.operator_methods import compile_operators, methods_of_python


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


@pytest.mark.parametrize("numbers", [0, 3000, 5000])
def test_small_arrays_behind_numbers_have_room(elsewhere, monkeypatch, numbers):
    looks, look = [], MatrixStack.make_room
    monkeypatch.setattr(MatrixStack, "make_room", lambda s, n: looks.append(s.top) or look(s, n))

    def f(x):
        t, s = x[0], x
        for _ in range(numbers):
            t = t * 0.999
        for _ in range(3000):
            s = s * 0.999
        return t + np.sum(s)

    for _ in range(2):
        slope = np.full(3, 0.999**3000)
        slope[0] += 0.999**numbers
        np.testing.assert_allclose(contad.grad(f)(np.ones(3)), slope)
    assert len(looks) < 100


@pytest.mark.parametrize("n", [1, 3, 100])
def test_long_recordings_of_arrays_alone_are_packed(monkeypatch, n):
    packed, flush = [], MatrixStack.flush
    monkeypatch.setattr(MatrixStack, "flush", lambda s: packed.append(len(s.stream) // 4) or flush(s))

    def f(x):
        s = x
        for _ in range(2 * CHUNK + 10):
            s = s * 0.9999
        return np.sum(s)

    np.testing.assert_allclose(contad.grad(f)(np.ones(n)), np.full(n, 0.9999 ** (2 * CHUNK + 10)), rtol=1e-10)
    assert packed == [CHUNK, CHUNK]


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


# ---- stacks that are copied ------------------------------------------------------------------------------------------
def attributes(s):
    """The attributes of a stack; of those that each one has anew, what is in them."""
    names = {name for cls in type(s).__mro__ for name in getattr(cls, "__slots__", ())} - {"__weakref__", "level"}
    found = {name: getattr(s, name) for name in names if hasattr(s, name)}
    return found | {name: (type(found[name]), len(found[name])) for name in ("callbacks", "factors")}


def test_a_stack_that_is_copied_is_as_one_that_is_made(own_pools):
    compile_operators()
    x = np.array([0.3, 0.5])
    for _ in range(2):
        contad.grad(f)(x)
    (buffers,) = THREAD.pools["matrix"]
    assert buffers.template is not None
    copied = MatrixStack.begin()
    assert copied.callbacks.buffers is copied.buffers is buffers and copied.pool is THREAD.pools["matrix"]
    found = attributes(copied)
    copied.close("test")
    made = MatrixStack()
    expected = attributes(made)
    assert made.level == copied.level + 1 and found.keys() == expected.keys()
    assert [name for name in found if found[name] is not expected[name] and found[name] != expected[name]] == []


def test_a_gradient_while_a_stack_is_copied_has_buffers_of_its_own(own_pools, monkeypatch):
    """As a finalizer's, which Python's collector runs where the copy is made."""
    compile_operators()
    x, kept = np.array([0.3, 0.5]), []
    expected = gradient_of_f(x)
    for _ in range(2):
        contad.grad(f)(x)
    copy = MatrixStack.native.copy

    def copy_and_record(template):
        made = copy(template)
        if not kept:
            kept.append(contad.vjp(f, 2.0 * x)[1])
        return made

    monkeypatch.setattr(MatrixStack.native, "copy", copy_and_record)
    np.testing.assert_allclose(contad.grad(f)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(kept[0](1.0)[0], gradient_of_f(2.0 * x), rtol=1e-14)


def test_no_stack_is_copied_from_other_memory(own_pools):
    compile_operators()
    large = np.linspace(0.1, 1.0, 300_000)
    for x in (np.array([0.3, 0.5]), large, np.array([0.3, 0.5])):
        for _ in range(3):
            np.testing.assert_allclose(contad.grad(f)(x), gradient_of_f(x), rtol=1e-13, atol=1e-15)
            (buffers,) = THREAD.pools["matrix"]
            buffers.values = storage.reserve()
            buffers._measure()
            assert buffers.template is None


# ---- arrays of values that are kept ----------------------------------------------------------------------------------
def chain(x, n=20):
    """The sum of a chain, and the arrays of values along it."""
    s, values = x, []
    for _ in range(n):
        s = s * 0.9 + x
        values.append(s._value)
    return np.sum(s), values


SLOPE = sum(0.9**k for k in range(21))


def record_chain(x, **options):
    """The arrays of values along the chain of a recording, whose gradient is that of the formula."""
    with opened(MatrixStack) as s:
        v = s.array_variable(x)
        total, values = chain(v, **options)
        np.testing.assert_allclose(s.gradient(total, [v])[0], np.full(x.shape, SLOPE), rtol=1e-14)
    return values


@pytest.fixture
def by_methods():
    """Machine code makes an array for each result: NumPy's function in C takes less time than a look-up."""
    with methods_of_python():
        yield


@pytest.fixture
def own_pools(monkeypatch):
    monkeypatch.setattr(THREAD, "pools", {})


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_the_next_recording_has_the_same_arrays_of_values(by_methods, own_pools, shape):
    x = np.sin(np.arange(np.prod(shape))).reshape(shape)
    first, second = record_chain(x), record_chain(2.0 * x)
    assert all(a is b for a, b in zip(first, second, strict=True))
    other = record_chain(np.ones((*shape[::-1], 1)))
    assert not {*map(id, first)} & {*map(id, other)}


def test_arrays_of_values_are_not_kept_from_other_memory(by_methods, own_pools):
    x = np.sin(np.arange(3.0))
    first = record_chain(x)
    (buffers,) = THREAD.pools["matrix"]
    buffers.values = storage.reserve()
    buffers._measure()
    assert not buffers.views
    assert not {*map(id, first)} & {*map(id, record_chain(x))}


def test_few_arrays_of_values_are_kept(by_methods, own_pools, monkeypatch):
    monkeypatch.setattr(storage, "MOST_VIEWS", 50)
    for n in range(1, 30):
        record_chain(np.sin(np.arange(float(n))))
        (buffers,) = THREAD.pools["matrix"]
        assert buffers.views_kept == sum(map(len, buffers.views.values())) <= 50
    for views in buffers.views.values():
        assert max(views) < storage.CELLS_WITH_VIEWS


def test_levels_inside_each_other_have_arrays_of_their_own(own_pools):
    x = np.array([0.3, 0.5, 0.7])

    def f(x):
        y = x * x * 2.0
        inner = contad.grad(lambda z: np.sum(z * z * 3.0 * y))(x * 1.0)  # 6 y x
        return np.sum(inner * y + y)

    for _ in range(3):
        np.testing.assert_allclose(contad.grad(f)(x), 120.0 * x**4 + 4.0 * x)


@pytest.mark.filterwarnings("ignore:Setting the shape")  # deprecated from NumPy 2.5 on
def test_primals_are_no_arrays_of_a_recording(own_pools):
    """What is done to one changes neither its recording nor the next, which has the same arrays of values."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    found = []

    def f(x, spoil):
        y = x * 2.0
        z = x.reshape(2, 2) @ np.ones((2, 2))
        for a in (y, z):
            found.append(contad.primal(a))
            spoil(found[-1])
        return np.sum(y * y) + np.sum(z * z)

    def reshape(a):
        a[...] = 7.0
        a.shape = (1, 4)

    def lock(a):
        a.flags.writeable = False

    for spoil in (reshape, lock, np.shape):
        np.testing.assert_array_equal(contad.grad(f)(x, spoil), 8.0 * x + np.repeat([12.0, 28.0], 2))
    np.testing.assert_array_equal(found[2], 2.0 * x)  # as they were when they were asked for
    contad.grad(f)(-x, np.shape)
    np.testing.assert_array_equal(found[4], 2.0 * x)


def test_variables_of_an_ended_recording_write_to_no_array(own_pools):
    kept = []

    def f(x):
        kept.append(x)
        return np.sum(x * 2.0)

    x = np.array([0.3, 0.5, 0.7])
    for _ in range(2):
        contad.grad(f)(x)
    (buffers,) = THREAD.pools["matrix"]
    _, pullback = contad.vjp(f, x)  # it has the buffers
    before = buffers.values[:20].copy()
    for z_bar in (1.0, 3.0):
        for stale in kept:
            for operation in (lambda v=stale: v * 2.0, lambda v=stale: v + v, lambda v=stale: np.exp(v)):
                with contad.variables.stack.attempt(), pytest.raises(StaleVariableError):
                    operation()
        np.testing.assert_array_equal(buffers.values[:20], before)
        np.testing.assert_array_equal(pullback(z_bar)[0], np.full(3, 2.0 * z_bar))


@pytest.mark.skipif(not hasattr(mmap, "MAP_PRIVATE"), reason="there are no such mappings here")
def test_a_limit_that_is_not_told_is_none(monkeypatch):
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
