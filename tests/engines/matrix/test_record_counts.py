"""The matrix engine in counts: records and cells per operation, bytes, growth, and what survives interruption."""

import contextlib
import ctypes
import gc
import linecache
import mmap
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import contad
from contad.engines.matrix import array_operators
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream import record_stream, storage
from contad.engines.stream.patience import Patience
from contad.engines.stream.record_stream import CHUNK
from contad.rules.scalar_rule import rule
from contad.variables.stack import THREAD, attempt

N = 100
POINT = np.linspace(-0.6, 0.7, 7)


@pytest.fixture
def x(level):
    return contad.var(np.linspace(0.1, 1.0, N * N))


def size(s):
    """(records, cells) of a stack."""
    s.flush()
    return s.rows_packed - 1, s.top - 1


@contextlib.contextmanager
def pushes(s, records, cells):
    """The body pushes as many records and adds as many cells."""
    before = size(s)
    yield
    after = size(s)
    assert (after[0] - before[0], after[1] - before[1]) == (records, cells)


# ---- methods ---------------------------------------------------------------------------------------------------------
def test_methods_of_arrays_have_one_code_for_many_rules():
    implement, compiled = array_operators.implement, array_operators._compile
    for rules in (("exp", "tanh", "log", "negative"), ("add", "subtract")):
        before = compiled.cache_info().misses
        made = [implement(rule(name))[0] for name in rules]
        assert compiled.cache_info().misses <= before + 1
        assert len({method.__code__.co_code for method in made}) == 1
        assert [method.__code__.co_name for method in made] == [f"{name}_arrays" for name in rules]
    x = np.array([0.3, 0.7])
    found = contad.grad(lambda x: np.sum(np.exp(x) - np.tanh(x)) + np.sum(2.0 - x))(x)
    np.testing.assert_allclose(found, np.exp(x) - 1.0 / np.cosh(x) ** 2 - 1.0)


# ---- what is free ----------------------------------------------------------------------------------------------------
def test_reading_elements_pushes_nothing(level, x):
    with pushes(level, 0, 0):
        by_loop = list(x)
        by_index = [x[k] for k in range(x.size)]
        by_row = [v for row in x.reshape(N, N) for v in row]
    for elements in (by_loop, by_index, by_row):
        assert [v.index for v in elements] == list(range(x.index, x.index + x.size))
    total = by_loop[0] * by_index[-1]
    for v in by_row:
        total = total + v
    (slope,) = contad.gradient(total, [x])
    wanted = np.ones(x.size)
    wanted[0] += 1.0
    wanted[-1] += 0.1
    np.testing.assert_allclose(slope, wanted)


VIEWS = {
    "slice": lambda a: a[1:, ::2], "row": lambda a: a[3], "new axis": lambda a: a[:, None],
    "reversed": lambda a: a[::-1], "T": lambda a: a.T, "reshape": lambda a: a.reshape(-1), "ravel": np.ravel,
    "swapaxes": lambda a: np.swapaxes(a, 0, 1), "moveaxis": lambda a: np.moveaxis(a, 0, 1), "squeeze": np.squeeze,
    "expand_dims": lambda a: np.expand_dims(a, 0), "broadcast_to": lambda a: np.broadcast_to(a, (2, N, N)),
    "atleast_3d": np.atleast_3d, "split": lambda a: np.split(a, 4), "diagonal": lambda a: np.diagonal(a),
    "iteration": list,
}  # fmt: skip
COPIES = {
    "mask": lambda a: a[np.arange(N) % 2 == 0], "fancy": lambda a: a[[1, 1, 2]], "copy": lambda a: a.copy(),
    "concatenate": lambda a: np.concatenate([a, a, np.ones((1, N))]), "stack": lambda a: np.stack([a, a]),
    "where": lambda a: np.where(np.arange(N) > 5, a, 1.0), "roll": lambda a: np.roll(a, 1),
    "take": lambda a: np.take(a, [3, 1]), "repeat": lambda a: np.repeat(a, 2), "tile": lambda a: np.tile(a, 2),
    "sort": np.sort, "tril": np.tril, "reshape of a transpose": lambda a: a.T.reshape(-1),
    "to_matvar": contad.to_matvar,
}  # fmt: skip
CONSTANTS = {
    "comparison": lambda a: a > 0.5,
    "argmax": np.argmax,
    "shape": lambda a: (a.shape, a.size, a.ndim, len(a)),
    "sign": lambda a: np.isfinite(a),
    "value": lambda a: a.value,
    "zeros_like": np.zeros_like,
    "contad.zeros": lambda a: contad.zeros((3, 3)),
    "on constants": lambda a: np.sum(np.exp(contad.zeros((3, 3))) @ np.ones(3)),
    "stop_gradient": lambda a: contad.value_of(a) * 2.0,
}


@pytest.mark.parametrize("name", VIEWS | COPIES | CONSTANTS)
def test_views_moved_elements_and_constants_push_nothing(name, level, x):
    a = x.reshape(N, N)
    with pushes(level, 0, 0):
        (VIEWS | COPIES | CONSTANTS)[name](a)


def test_writing_pushes_nothing(level, x):
    a = x.reshape(N, N) * 1.0
    with pushes(level, 0, 0):
        a[0, 0] = 1.0
        a[1] = x[:N]
        a[2, :] = x[0]
        a[3:5] = [1.0] * N
        a[a > 0.9] = 0.0
        a[[0, 0]] = np.zeros((2, N))
        a.T[0] = a[0]
        a[1:] = a[:-1]


# ---- what an operation costs -----------------------------------------------------------------------------------------
OPERATIONS = {
    "sin": (np.sin, N * N), "times a number": (lambda a: 2.0 * a, N * N),
    "times an array": (lambda a: np.arange(1.0, N + 1) * a, N * N), "sum": (np.sum, 1),
    "sum over an axis": (lambda a: np.sum(a, 0), N), "product with itself": (lambda a: a @ a, N * N),
    "product with a constant": (lambda a: np.ones((2, N)) @ a, 2 * N), "outer": (lambda a: a[0][:, None] * a[1], N * N),
    "norm": (lambda a: np.dot(a[0], a[1]), 1), "special function": (contad.gammaln, N * N),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_one_operation_is_one_record(name, level, x):
    f, cells = OPERATIONS[name]
    a = x.reshape(N, N)
    with pushes(level, 1, cells):
        f(a)


def test_a_scattered_array_is_gathered_once_until_it_is_written(level, x):
    a = x.reshape(N, N) * 1.0
    a[0, 0] = 1.0
    with pushes(level, 1 + 3, 4 * N * N):
        _ = a * 2.0, a + a, np.exp(a)
    with pushes(level, 0, 0):
        a[0, 1] = x[0]
    with pushes(level, 1 + 1, 2 * N * N):
        a * 2.0
    v = a[1:3]  # whose cells follow one another
    with pushes(level, 2, 2 * 2 * N):
        _ = v * 2.0, v + v
    v[0, 0] = 3.0
    with pushes(level, 2 + 2, 2 * 2 * N + 2 * N * N):
        _ = v * 2.0, a * 2.0


def test_slices_of_a_written_array_do_not_take_the_general_way(monkeypatch):
    def steps(u, k):
        u = u.copy()
        for _ in range(3):
            u[1:-1] += k * (u[:-2] - 2.0 * u[1:-1] + u[2:]) * np.exp(-u[1:-1])
        return np.sum(u * u)

    start = np.linspace(-0.6, 0.7, 9) ** 2
    expected = contad.grad(steps, (0, 1), engine="closures")(start, 0.3)
    general = []
    monkeypatch.setattr(MatrixStack, "apply_elementwise", lambda s, rule, args: general.append(rule))
    found = contad.grad(steps, (0, 1))(start, 0.3)
    assert general == []
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
    assert found[1] == pytest.approx(expected[1], rel=1e-13)


def test_a_contiguous_view_is_used_as_it_is(level, x):
    a = x.reshape(N, N)
    with pushes(level, 2, 3 * N):
        _ = a[3] * 2.0, a[5:7] * 2.0
    with pushes(level, 1, 1):
        np.sum(a[0])


def test_a_view_with_strides_is_one_record_without_a_list_of_cells(level, x):
    a = x.reshape(N, N)
    for view, records, n in (
        (a.T[:, ::2], 2, N * N // 2), (np.broadcast_to(a[0], (3, N)), 2, 3 * N), (np.diagonal(a), 1, N),
        (a[:, 1], 1, N), (a[0, ::-1], 1, N),  # of one axis: they are not copied, either
    ):  # fmt: skip
        before = level.buffers.shapes_top
        with pushes(level, records, records * n):
            _ = np.exp(view)
        assert level.buffers.shapes_top - before == 11 and x._positions is None
    diagonal = np.diagonal(a)
    with pushes(level, 3, 3 * N):  # what is moved serves until the next assignment
        _ = diagonal * diagonal, diagonal + 1.0


def test_a_chain_of_products_has_the_cells_of_its_results(level):
    n, steps = 300, 10
    pooled = len(level.buffers.records)  # of an earlier, larger recording
    a = contad.var(np.eye(n) * 0.9 + 0.001)
    with pushes(level, steps, steps * n * n):
        z = a
        for _ in range(steps):
            z = z @ a
    assert z.shape == (n, n)
    assert len(level.buffers.records) <= max(pooled, 1e6 / 24)


def test_bytes_per_record(level):
    a = contad.var(np.ones(3))
    beside = level.buffers.shapes_top, level.buffers.constants_top
    for _ in range(3 * CHUNK):
        a = np.sin(a) * 0.5
    records, cells = size(level)
    assert level.buffers.records[0].nbytes <= 24
    assert records == 1 + 6 * CHUNK
    assert cells == 3 * records
    assert (
        level.buffers.shapes_top,
        level.buffers.constants_top,
    ) == beside  # contiguous operations keep nothing beside their records


def test_the_stack_is_shown(level):
    a = contad.var(POINT)
    b = a * 2.0
    b[0] = a[1]
    np.sum(b * a[:, None]) + np.dot(a, a) * a[0] + np.sum(np.outer(a, a) @ a)
    shown = contad.show_stack()
    for operation in ("input", "multiply", "gather", "sum", "matmul"):
        assert operation in shown
    assert len(shown.splitlines()) >= size(level)[0]


def test_equal_constants_are_kept_once(level):
    a = contad.var(np.ones(1000))
    c = np.arange(1000.0)
    before = level.buffers.constants_top
    for _ in range(50):
        a = a * c
        c[:] = c.copy()
    assert level.buffers.constants_top - before == 1000
    c[0] = -1.0
    a * c
    assert level.buffers.constants_top - before == 2000


def test_an_immutable_constant_is_not_copied(level):
    a = contad.var(np.ones((5, 1000)))
    before = level.buffers.constants_top
    c = contad.constant(np.ones((1000, 3)))
    for _ in range(10):
        a @ c
    assert level.buffers.constants_top == before


@pytest.mark.parametrize("n", [3, storage.ROWS, storage.ROWS + 1])
def test_constants_that_no_partial_reads_are_not_copied(level, n):
    """But long ones, of which kernels may read what is not there; and those of a product."""
    a, c = contad.var(np.ones(n)), np.linspace(0.1, 1.0, n)
    before = level.buffers.constants_top
    for operate in (lambda: a + c, lambda: c + a, lambda: a - c, lambda: c - a):
        operate()
    copied = n if n > storage.ROWS else 0
    assert level.buffers.constants_top - before == copied
    a * c.copy()
    assert level.buffers.constants_top - before == copied + n


def differences(x):
    c = np.linspace(0.1, 1.0, 3)
    return np.sum((c - x) * (x - c) * (c + x))


def test_derivatives_of_differences_with_constants():
    x, c, v = np.array([0.3, -0.7, 1.1]), np.linspace(0.1, 1.0, 3), np.array([0.2, 0.5, -0.4])
    slope = -2.0 * (x - c) * (c + x) - (x - c) ** 2
    np.testing.assert_allclose(contad.grad(differences)(x), slope, rtol=1e-13)
    curvature = -2.0 * (c + x) - 4.0 * (x - c)
    along = contad.grad(lambda x: np.sum(contad.grad(differences)(x) * v))(x)  # of an outer level
    np.testing.assert_allclose(along, curvature * v, rtol=1e-13)
    np.testing.assert_allclose(contad.hvp(differences)(x, v), curvature * v, rtol=1e-13)
    np.testing.assert_allclose(contad.record(differences, x).value_and_grad(x)[1], slope, rtol=1e-13)


# ---- growth ----------------------------------------------------------------------------------------------------------
def program(x):
    """Scalars and arrays, writes, constants, products, callbacks, in many records."""
    s = 0.0
    h = x * 1.0
    w = np.zeros(x.shape)
    for t in range(60):
        h = np.sin(h) * x + h[::-1] * 0.5
        h[t % len(x)] = h[0] * x[1]
        w[:] = t + 1
        s = s + np.sum(h * w) * x[t % len(x)]
        s = s + x[0] * h[1]
        h = h + np.outer(x, h)[1] * 0.1
        if t % 7 == 0:
            h = (x.reshape(1, -1) @ np.outer(h, x) * 0.2)[0]
    return s + np.sum(h)


gradient = contad.grad(program, engine="matrix")


def test_the_program_is_right():
    np.testing.assert_allclose(gradient(POINT), contad.grad(program, engine="records")(POINT), rtol=1e-12)


def test_nothing_grows(monkeypatch):
    # what is loaded on the way leaves objects, and so all of it is there from the first sweep on
    monkeypatch.setattr(record_stream, "PATIENCE", Patience(loading=0.0, compiling=0.0))
    for _ in range(5):
        gradient(POINT)
    gc.collect()
    gc.collect()
    pool = THREAD.pools["matrix"]
    lengths = len(pool), [{name: np.size(getattr(b, name)) for name in b.__slots__} for b in pool]
    objects = len(gc.get_objects())
    tracemalloc.start()
    try:
        for _ in range(5):
            gradient(POINT)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            gradient(POINT)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000  # of some 600 operations in each gradient
    assert abs(len(gc.get_objects()) - objects) < 20
    assert (len(pool), [{name: np.size(getattr(b, name)) for name in b.__slots__} for b in pool]) == lengths
    assert len(THREAD.open) <= 1


def test_exceptions_and_pullbacks_give_their_buffers_back():
    def failing(x):
        program(x)
        raise ZeroDivisionError

    def run():
        with pytest.raises(ZeroDivisionError):
            contad.grad(failing, engine="matrix")(POINT)
        _, pullback = contad.vjp(lambda x: np.exp(x) * x, POINT, engine="matrix")
        pullback(POINT)

    for _ in range(3):
        run()
    gc.collect()
    pooled = len(THREAD.pools["matrix"])
    for _ in range(10):
        run()
    gc.collect()
    assert len(THREAD.pools["matrix"]) <= pooled


@contextlib.contextmanager
def small_buffers(monkeypatch, n):
    """Buffers that begin with room for n numbers, so that they grow in mid-recording."""
    pools = THREAD.pools
    THREAD.pools = {}
    monkeypatch.setattr(storage, "reserve", lambda *size: np.empty(n))
    try:
        yield
    finally:
        THREAD.pools = pools


@pytest.mark.parametrize("n", [1, 64, 1000])
def test_buffers_grow_in_mid_recording(n, monkeypatch):
    hessian = contad.jacobian(gradient, engine="matrix")
    wanted = gradient(POINT), hessian(POINT), contad.vjp(written, POINT, engine="matrix")[1](POINT)[0]
    with small_buffers(monkeypatch, n):
        for _ in range(2):
            assert np.array_equal(gradient(POINT), wanted[0])
        assert np.array_equal(hessian(POINT), wanted[1])
        assert np.array_equal(contad.vjp(written, POINT, engine="matrix")[1](POINT)[0], wanted[2])


def written(x):
    y = np.sin(x)
    v = y[1:]
    for k in range(40):
        y = y * x + np.cos(v[0])
        y[k % 7] = v[k % 6]
    v[0] = y[2]
    return y * np.append(v, 1.0)


# ---- packing ---------------------------------------------------------------------------------------------------------
def require_records(f):
    """The gradient is that of the engine `records`."""
    found, expected = (contad.grad(f, engine=engine)(np.array([0.3, 0.2, 0.1])) for engine in ("matrix", "records"))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("n", [1, CHUNK - 8, CHUNK - 3, CHUNK - 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK])
def test_scalars_and_arrays_alternate_across_the_packing_boundary(n):
    def f(x):
        s = x[0]
        for _ in range(n):
            s = s * 0.999 + x[1]
        y = x * s
        y[1] = s
        for _ in range(n % 13):
            s = s * x[2] + np.sum(y)
        y = y + np.hypot(x, s) * s
        return np.sum(y * y) * s

    require_records(f)


@pytest.mark.parametrize("shift", range(6))
def test_long_alternations(shift):
    def f(x):
        s = x[0] * x[1]
        for k in range(shift):
            s = s + x[k % 3]
        y = x
        for k in range(1500):
            y = np.sin(y) + s * 0.01
            s = y[k % 3] * 0.5 + s * 0.5
        return np.sum(y * y) + s

    require_records(f)


def test_more_records_than_cells(level):
    x = contad.var(np.array([0.8]))
    total = x * 0.0
    for _ in range(CHUNK):
        total = total + contad.ops.beta(x, x + 1.0)
    (slope,) = contad.gradient(np.sum(total), [x])
    single = contad.grad(lambda x: contad.ops.beta(x, x + 1.0), engine="records")(0.8)
    np.testing.assert_allclose(slope, CHUNK * single, rtol=1e-10)


def test_a_million_elements():
    x = np.linspace(0.1, 2.0, 10**6)

    def f(x):
        s = x[5] * x[-1]
        y = np.exp(-x) * x
        y[::2] = 0.0
        y[1] = s
        return np.sum(y * y)

    y = np.exp(-x) * x
    wanted = 2 * y * np.exp(-x) * (1 - x)
    wanted[::2] = wanted[1] = 0.0
    s = x[5] * x[-1]
    wanted[5] += 2 * s * x[-1]
    wanted[-1] += 2 * s * x[5]
    np.testing.assert_allclose(contad.grad(f, engine="matrix")(x), wanted, rtol=1e-12, atol=1e-15)


# ---- interruption ----------------------------------------------------------------------------------------------------
class Interrupted(BaseException):
    """As KeyboardInterrupt: raised between any two lines."""


@pytest.mark.long
def test_a_gradient_may_be_interrupted_anywhere():
    wanted = gradient(POINT)
    lines = 0
    stop = 0

    def trace(frame, event, arg):
        nonlocal lines
        if "contad" not in frame.f_code.co_filename or frame.f_code.co_name in ("__exit__", "close", "end", "release"):
            return None
        # the line of a with statement comes again on the way out, before __exit__ is called
        if event == "line" and not linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith(
            "with"
        ):
            lines += 1
            if lines == stop:
                raise Interrupted
        return trace

    def traced():
        nonlocal lines
        lines = 0
        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            return gradient(POINT)
        finally:
            sys.settrace(previous)

    traced()
    total = lines
    assert total > 1000
    for line in [*range(1, total, total // 30), *range(total - 25, total)]:
        stop = line
        with contextlib.suppress(Interrupted):
            traced()
        assert len(THREAD.open) <= 1
        assert not THREAD.forward
        assert np.array_equal(gradient(POINT), wanted)


def test_an_interrupted_recording_is_refused_not_swept(level):
    x = contad.var(POINT)

    class Interrupting(list):
        def extend(self, record):
            raise Interrupted

    push = level.push
    level.push = Interrupting().extend
    with pytest.raises(Interrupted):
        np.sin(x)
    level.push = push
    try:
        with attempt():
            y = np.sum(x * x)
            slope = contad.gradient(y, [x])[0]
    except contad.ContadError:
        return
    np.testing.assert_allclose(slope, 2 * POINT)


def test_pools_are_per_thread():
    found = []

    def run():
        found.append(gradient(POINT))
        found.append(len(THREAD.pools["matrix"]))

    worker = threading.Thread(target=run)
    worker.start()
    worker.join()
    assert np.array_equal(found[0], gradient(POINT))
    assert found[1] == 1


# ---- memory that is given back ---------------------------------------------------------------------------------------
def pages(buffers):
    """MiB of resident memory behind the values and adjoints of a recording, and nothing beside them; Linux only."""
    found = 0
    for name in ("values", "adjoints"):
        a = getattr(buffers, name)
        start = a.ctypes.data // mmap.PAGESIZE * mmap.PAGESIZE
        length = a.ctypes.data + a.nbytes - start
        resident = np.zeros(-(-length // mmap.PAGESIZE), np.uint8)
        found_all = ctypes.CDLL(None).mincore(
            ctypes.c_void_p(start), ctypes.c_size_t(length), ctypes.c_void_p(resident.ctypes.data)
        )
        assert found_all == 0
        found += np.count_nonzero(resident & 1) * mmap.PAGESIZE / 2**20
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads the kernel's account of memory")
def test_memory_far_above_the_usual_goes_back(monkeypatch):
    monkeypatch.setattr(storage, "LARGE", 1 << 17)  # 1 MiB of each buffer
    contad.recover_memory()
    large, small = np.full(1_000_000, 0.5), np.full(100, 0.5)
    f = contad.grad(lambda x: np.sum(np.exp(x) * x))

    def after(x):
        np.testing.assert_allclose(f(x), np.exp(0.5) * 1.5)
        (buffers,) = THREAD.pools["matrix"]
        return pages(buffers)

    assert after(small) < 6.0
    assert after(large) < 6.0  # once is no habit
    assert after(large) > 40.0
    assert after(large) > 40.0  # kept for the next
    for _ in range(25):
        left = after(small)
    assert left < 20.0
    contad.recover_memory()
    assert "matrix" not in THREAD.pools


def test_memory_is_recovered_at_once():
    contad.recover_memory()
    gc.disable()
    try:
        for _ in range(3):  # the first makes machine code, the second what later stacks are copies of
            contad.grad(lambda x: np.sum(np.exp(x) * x))(np.full(100_000, 0.5))
        (buffers,) = THREAD.pools["matrix"]
        kept = [weakref.ref(x) for x in (buffers.values, buffers.adjoints, buffers.constants)]
        del buffers
        contad.recover_memory()
        assert [x() for x in kept] == [None] * 3
    finally:
        gc.enable()
