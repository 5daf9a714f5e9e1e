"""What parallel sums send: data once, second derivatives as jobs, and what happens where workers and executors fail."""

import gc
import multiprocessing
import pickle
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numba
import numpy as np
import pytest

import contad
from contad.stan import map_rect, reduce_sum
from contad.stan.functionals import messages, workers

ROWS = 4000
XS = contad.constant(np.linspace(0.1, 2.0, ROWS))
OFFSETS = contad.constant(np.linspace(-1.0, 1.0, 500))
P = np.array([1.3, 0.4])
MOST = 1600  # bytes of a message with a small function, two numbers and the names of two parcels


def of_rows(xs, start, end, p):
    return np.sum(np.log(p[0]) - p[0] * xs**2 * np.exp(p[1] * xs))


def with_offsets(xs, start, end, p, offsets):
    return np.sum(np.sin(p[0] * xs)) * np.sum(np.exp(p[1] * offsets))


@numba.njit(nogil=True)
def compiled_rows(xs, start, end, rate, power):
    total = 0.0
    for x in xs:
        total += np.log(rate) - rate * x * x * np.exp(power * x)
    return total


@pytest.fixture(autouse=True)
def no_trace():
    """Nothing stays on the stack."""
    yield
    assert contad.stack().top <= 1


class Post(Executor):
    """Workers to which messages go as bytes, which are counted, each with a store of its own. Jobs are dealt by lot."""

    def __init__(self, count=2, most=messages.KEPT_BYTES):
        self.stores = [messages.ParcelStore(most) for _ in range(count)]
        self.sent, self.largest, self.calls = 0, 0, 0
        self.rng = np.random.default_rng(7)

    def submit(self, call, /, *args):
        content = pickle.dumps((call, args))
        self.sent, self.largest, self.calls = self.sent + len(content), max(self.largest, len(content)), self.calls + 1
        kept, messages._STORE = messages._STORE, self.stores[self.rng.integers(len(self.stores))]
        future = Future()
        try:
            call, args = pickle.loads(content)
            future.set_result(pickle.loads(pickle.dumps(call(*args))))
        finally:
            messages._STORE = kept
        return future

    def count(self, run):
        """(the result, bytes, bytes of the largest message, messages)"""
        self.sent = self.largest = self.calls = 0
        return run(), self.sent, self.largest, self.calls


# ---- data are sent once ----------------------------------------------------------------------------------------------
def gradient(xs, executor, f=of_rows):
    return contad.grad(lambda p: reduce_sum(f, xs, p, grainsize=400, executor=executor))(P)


def test_constants_are_sent_once_to_each_worker():
    serial, post = gradient(XS, None), Post()
    found, first, _, calls = post.count(lambda: gradient(XS, post))
    assert XS.nbytes < first < 1.3 * XS.nbytes and calls == 10  # everything, once
    np.testing.assert_array_equal(found, serial)
    later = 0
    for _ in range(12):  # what a worker lacks comes with the next try, which may go to the other one
        found, sent, _, _ = post.count(lambda: gradient(XS, post))
        later += sent
        np.testing.assert_array_equal(found, serial)
    found, sent, largest, calls = post.count(lambda: gradient(XS, post))
    assert calls == 10 and largest < MOST and later < 3 * XS.nbytes + 150 * largest


def test_values_that_may_change_are_sent_with_every_job_as_they_are_now():
    xs, post = np.array(XS), Post()
    gradient(xs, post)
    xs[:] = xs[::-1] * 1.1
    found, sent, _, _ = post.count(lambda: gradient(xs, post))
    assert sent > xs.nbytes
    np.testing.assert_array_equal(found, gradient(xs, None))


def test_a_shared_constant_goes_to_a_worker_and_not_with_each_job():
    def run(executor):
        return contad.grad(lambda p: reduce_sum(with_offsets, XS, p, OFFSETS, grainsize=100, executor=executor))(P)

    post, serial = Post(3), run(None)
    found, first, _, _ = post.count(lambda: run(post))
    np.testing.assert_array_equal(found, serial)
    assert first < XS.nbytes + (1 + 4 + 16) * OFFSETS.nbytes + 120 * MOST  # 40 jobs, some of them asked for again
    for _ in range(20):
        run(post)
    assert post.count(lambda: run(post))[2] < MOST


def test_data_that_a_function_captures_are_sent_once():
    data = np.linspace(0.0, 1.0, 3000)  # as long as the content is the same
    f = lambda xs, start, end, p: p[0] * np.sum(xs) * np.sum(data) + p[1]
    post = Post(1)
    first = post.count(lambda: gradient(XS[:800], post, f))[1]
    assert first > data.nbytes > post.count(lambda: gradient(XS[:800], post, f))[1]
    data[0] = 100.0
    np.testing.assert_array_equal(gradient(XS[:800], post, f), gradient(XS[:800], None, f))


def test_a_worker_that_has_no_room_asks_again():
    post, serial = Post(1, most=4000), gradient(XS, None)
    for _ in range(3):
        np.testing.assert_array_equal(gradient(XS, post), serial)
    assert post.stores[0].size <= 4000


def test_arrays_of_a_worker_cannot_be_written_to_and_keep_their_layout():
    a = contad.constant(np.arange(600.0).reshape(20, 30))
    for x in (a, a.T, a[3:8]):
        again = messages._as_constant(*messages.content_of(x))
        assert not again.flags.writeable and again.flags.f_contiguous == x.flags.f_contiguous
        np.testing.assert_array_equal(again, x)
    assert messages.is_parcel(a) and not messages.is_parcel(a[:, ::2]) and not messages.is_parcel(np.array(a))
    sent = workers.Sent.of(a)
    assert sent is workers.Sent.of(a[3:8]) and len({sent.digest(x) for x in (a, a.T, a[3:8], a[4:9])}) == 4


def test_knowledge_of_data_ends_with_them():
    before = len(workers.Sent._known)
    xs = contad.constant(np.linspace(0.0, 1.0, ROWS))
    gradient(xs, Post())
    assert len(workers.Sent._known) == before + 1
    del xs
    gc.collect()
    assert len(workers.Sent._known) == before


# ---- every order, on workers -----------------------------------------------------------------------------------------
def plain(v):
    return np.sum(np.log(v[0]) - v[0] * v[2:] ** 2 * np.exp(v[1] * v[2:]))


V = np.concatenate([P, np.linspace(0.2, 1.7, 9)])
SECOND = {
    "hessian": contad.hessian, "rows of rows": lambda f: contad.jacrev(contad.jacrev(f)),
    "columns of rows": lambda f: contad.jacfwd(contad.jacrev(f)),
    "hvp": lambda f: lambda v: contad.hvp(f)(v, np.cos(v)),
    "third": lambda f: contad.grad(lambda v: contad.hvp(f)(v, np.cos(V)) @ np.sin(V)),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("order", SECOND)
def test_higher_orders_are_computed_by_workers(order, compiled):
    post = Post()

    def f(v):
        if compiled:
            return reduce_sum(compiled_rows, v[2:], v[0], v[1], grainsize=4, executor=post)
        return reduce_sum(of_rows, v[2:], v[:2], grainsize=4, executor=post)

    found = SECOND[order](f)(V)
    np.testing.assert_allclose(found, SECOND[order](plain)(V), rtol=1e-9, atol=1e-12)
    assert post.calls >= 6  # the values and gradients of three jobs, and their derivatives


def test_captured_variables_and_trees_on_workers():
    post = Post()

    def f(v):
        tree = {"rate": v[0], "more": (v[1], "text", 3)}

        def of_piece(xs, start, end, tree):
            return np.sum(np.log(tree["rate"]) - v[0] * xs**2 * np.exp(tree["more"][0] * xs))

        return reduce_sum(of_piece, v[2:], tree, grainsize=4, executor=post)

    for transform in (contad.grad, contad.hessian):
        np.testing.assert_allclose(transform(f)(V), transform(plain)(V), rtol=1e-9, atol=1e-12)
    assert post.calls > 6


def test_map_rect_at_second_order_on_workers():
    times, post = np.linspace(0.1, 1.0, 6).reshape(3, 2), Post()
    job = lambda shared, own, times, k: shared[0] * np.exp(-own["rate"] * times) * shared[1]

    def total(v, executor):
        own = [{"rate": v[2 + k]} for k in range(3)]
        return np.sum(map_rect(job, v[:2], own, times, [0, 1, 2], executor) ** 2)

    serial = lambda v: np.sum((v[0] * np.exp(-v[2:5][:, None] * times) * v[1]) ** 2)
    for second in ("hessian", "rows of rows", "hvp"):
        found = SECOND[second](lambda v: total(v, post))(V[:5])
        np.testing.assert_allclose(found, SECOND[second](serial)(V[:5]), rtol=1e-9, atol=1e-12)
    assert post.calls > 9


# ---- failures --------------------------------------------------------------------------------------------------------
def ends_its_worker(xs, start, end, p):
    if start == 800:
        raise SystemExit(3)
    return p[0] * np.sum(xs)


class Odd(Exception):
    """What pickle cannot make again."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def raises_odd(xs, start, end, p):
    raise Odd(1, 2)


def test_a_job_that_exits_or_raises_what_cannot_be_sent():
    with pytest.raises(RuntimeError, match="has ended its worker: SystemExit") as caught:
        gradient(XS, Post(), ends_its_worker)
    assert caught.value.__notes__[0] == "reduce_sum: in job 2, of elements 800 to 1199"
    with ThreadPoolExecutor(2) as pool, pytest.raises(RuntimeError, match="has called exit"):
        gradient(XS, pool, ends_its_worker)
    with pytest.raises(RuntimeError, match="Odd: 1 and 2"):
        gradient(XS, Post(), raises_odd)


class Losing(ThreadPoolExecutor):
    """An executor that loses some jobs before they are run."""

    def __init__(self, losses):
        super().__init__(1)
        self.losses = losses

    def submit(self, call, /, *args):
        if not self.losses:
            return super().submit(call, *args)
        self.losses -= 1
        future = Future()
        future.set_exception(ConnectionError("the worker is gone"))
        return future


def test_a_lost_job_is_tried_again_and_named_in_the_end(monkeypatch):
    monkeypatch.setattr(workers, "PAUSE", 0.0)
    with Losing(13) as pool:
        np.testing.assert_array_equal(gradient(XS, pool), gradient(XS, None))
    with Losing(100) as pool, pytest.raises(RuntimeError, match="before job 0, of elements 0 to 399 was") as caught:
        gradient(XS, pool)
    assert isinstance(caught.value.__cause__, ConnectionError)


class Full(ThreadPoolExecutor):
    """An executor that has no room for a worker, as where a process is too large to be forked."""

    def submit(self, call, /, *args):
        raise OSError(12, "Cannot allocate memory")


def test_an_executor_that_takes_no_job_is_not_asked_for_ever():
    with Full(1) as pool, pytest.raises(RuntimeError, match="before job 0, of elements .* Cannot allocate memory"):
        gradient(XS, pool)


def test_an_executor_that_is_shut_down_or_cancelled():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="job 0, of elements 0 to 399 .* cannot schedule new futures"):
        gradient(XS, pool)
    pool = ThreadPoolExecutor(1)

    def stops(xs, start, end, p):
        pool.shutdown(wait=False, cancel_futures=True)
        return p[0] * np.sum(xs)

    # the first that was not given out, or was cancelled, when job 0 ran
    with pytest.raises(RuntimeError, match="job [1-9], of elements .* cannot schedule new futures"):
        gradient(XS, pool, stops)


def test_a_straggler_does_not_change_the_result():
    def late(xs, start, end, p):
        if start == 400:
            time.sleep(0.2)
        return of_rows(xs, start, end, p)

    with ThreadPoolExecutor(3) as pool:
        np.testing.assert_array_equal(gradient(XS, pool, late), gradient(XS, None))


def is_clean(xs, start, end, p):
    """What has been left on a worker's stack, plainly."""
    return p[0] * (contad.stack().top <= 1) * (start < 800)


def test_nothing_is_left_on_the_stack_of_a_worker():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(RuntimeError):
            gradient(XS, pool, raises_odd)
        f = lambda p: reduce_sum(is_clean, XS[:1200], p, grainsize=400, executor=pool)
        assert f(P) == 2 * P[0]
