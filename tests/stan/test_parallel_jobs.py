"""Parallel sums: the serial sum for every size of pieces and any workers, jobs that raise, workers that die."""

import functools
import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numba
import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.stan import map_rect, reduce_sum, reduce_sum_static

# to fork a worker of the whole suite, which has compiled for minutes, takes long
SPAWNED = functools.partial(ProcessPoolExecutor, mp_context=multiprocessing.get_context("spawn"))
XS = np.linspace(0.1, 2.0, 23)
P = {"rate": 1.3, "more": np.array([0.3, 0.1])}


def partial_sum(xs, start, end, p):
    return np.sum(np.log(p["rate"]) - p["rate"] * xs**2) + p["more"][0] * (end - start) + p["more"][1] * xs[0] * xs[-1]


def by_pieces(xs, p, grainsize):
    """The same sum without the function."""
    return sum(
        partial_sum(xs[k : k + grainsize], k, min(k + grainsize, len(xs)), p) for k in range(0, len(xs), grainsize)
    )


@pytest.fixture(scope="module", params=["serial", "threads", "processes"])
def executor(request):
    if request.param == "serial":
        yield None
        return
    with (ThreadPoolExecutor if request.param == "threads" else SPAWNED)(2) as pool:
        yield pool


def gradient(xs, p, grainsize, executor):
    return contad.value_and_grad(
        lambda xs, p: reduce_sum(partial_sum, xs, p, grainsize=grainsize, executor=executor) ** 2, (0, 1)
    )(xs, p)


@pytest.mark.parametrize("grainsize", [1, 2, 7, 23, 100])
def test_sums_and_gradients(executor, grainsize):
    value, (of_xs, of_p) = gradient(XS, P, grainsize, executor)
    expected, (xs_bar, p_bar) = contad.value_and_grad(lambda xs, p: by_pieces(xs, p, grainsize) ** 2, (0, 1))(XS, P)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(of_xs, xs_bar, rtol=1e-12)
    assert of_p["rate"] == pytest.approx(p_bar["rate"], rel=1e-12)
    np.testing.assert_allclose(of_p["more"], p_bar["more"], rtol=1e-12)


def test_the_result_does_not_depend_on_workers():
    """To the last bit; so that it does not hang on what ends first, pieces end in the reverse order."""
    order = threading.Semaphore(0)

    def slow_first(xs, start, end, p):
        if start == 0:
            order.acquire(timeout=10)
        elif end == len(XS):
            order.release()
        return partial_sum(xs, start, end, p)

    found = []
    for workers in (2, 5):
        with ThreadPoolExecutor(workers) as pool:
            found.append(contad.value_and_grad(lambda p: reduce_sum(slow_first, XS, p, grainsize=4, executor=pool))(P))
    plain = contad.value_and_grad(lambda p: reduce_sum(partial_sum, XS, p, grainsize=4))(P)
    for value, slopes in found:
        assert value == plain[0] and slopes["rate"] == plain[1]["rate"]
        np.testing.assert_array_equal(slopes["more"], plain[1]["more"])


def test_captured_variables_lists_and_engines():
    def f(w):
        rows = [(w[0], w[1]), (w[1], w[2]), (w[2], 2.0)]
        return reduce_sum(lambda rows, start, end: sum(w[0] * u * u * v for u, v in rows), rows, grainsize=2)

    serial = lambda w: w[0] * (w[0] ** 2 * w[1] + w[1] ** 2 * w[2] + w[2] ** 2 * 2.0)
    w = np.array([1.0, 2.0, 3.0])
    for engine in engine_names():
        np.testing.assert_allclose(contad.grad(f, engine=engine)(w), contad.grad(serial)(w), rtol=1e-13)
    np.testing.assert_allclose(contad.jacfwd(f)(w), contad.grad(serial)(w), rtol=1e-13)
    for hessian in (contad.hessian(f), contad.jacfwd(contad.jacfwd(f)), contad.jacrev(contad.jacfwd(f))):
        np.testing.assert_allclose(hessian(w), contad.hessian(serial)(w), rtol=1e-12)


@numba.njit(nogil=True)
def compiled_sum(xs, start, end, rate):
    total = 0.0
    for x in xs:
        total += np.log(rate) - rate * x * x
    return total


def test_numba_functions(executor):
    f = lambda rate: reduce_sum(compiled_sum, XS, rate, grainsize=5, executor=executor)
    value, slope = contad.value_and_grad(f)(1.3)
    assert value == pytest.approx(np.sum(np.log(1.3) - 1.3 * XS**2), rel=1e-13)
    assert slope == pytest.approx(np.sum(1.0 / 1.3 - XS**2), rel=1e-13)


def test_without_derivatives_and_without_elements():
    assert reduce_sum(partial_sum, XS, P) == pytest.approx(by_pieces(XS, P, 1), rel=1e-13)
    assert reduce_sum(partial_sum, XS[:0], P) == 0.0
    assert reduce_sum_static(partial_sum, XS, 23, P) == partial_sum(XS, 0, 23, P)


def inner_sum(xs, start, end, p):
    return np.sum(np.sin(p[0] * xs) * np.exp(p[1] * xs))


def sum_of_sums(xs, start, end, p):
    return reduce_sum(inner_sum, xs, p, grainsize=2)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_sums_of_sums_and_their_second_derivatives_do_not_depend_on_workers(workers):
    f = lambda p, pool=None: reduce_sum(sum_of_sums, XS, p, grainsize=6, executor=pool)
    p, v = np.array([1.3, 0.4]), np.array([0.3, -0.2])
    flat = contad.hvp(lambda p: inner_sum(XS, 0, len(XS), p))(p, v)
    np.testing.assert_allclose(contad.hvp(f)(p, v), flat, rtol=1e-12)
    with ThreadPoolExecutor(workers) as pool:
        np.testing.assert_array_equal(contad.grad(f)(p, pool), contad.grad(f)(p))
        np.testing.assert_array_equal(contad.hvp(lambda p: f(p, pool))(p, v), contad.hvp(f)(p, v))


# ---- map_rect --------------------------------------------------------------------------------------------------------
OWN = np.array([[0.5, 1.0], [1.0, 2.0], [0.2, 0.3]])
TIMES = [np.array([1.0, 2.0]), np.array([3.0]), np.array([2.0, 4.0])]
SHARED = np.array([2.0, 0.7])


def job(shared, own, times, count):
    return shared[0] * np.exp(-own[0] * times) + count * own[1] * shared[1]


def serial_map(shared, own):
    return np.concatenate([job(shared, own[k], TIMES[k], k) for k in range(3)])


def test_map_rect(executor):
    f = lambda shared, own: map_rect(job, shared, own, TIMES, [0, 1, 2], executor)
    np.testing.assert_allclose(f(SHARED, OWN), serial_map(SHARED, OWN), rtol=1e-14)
    expected = contad.jacrev(serial_map, (0, 1))(SHARED, OWN)
    for transform in (contad.jacrev, contad.jacfwd):
        for found, exact in zip(transform(f, (0, 1))(SHARED, OWN), expected, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-15)


def test_map_rect_at_second_order_and_with_trees():
    def total(v, mapped):
        rows = [{"own": v[2 + 2 * k : 4 + 2 * k]} for k in range(3)]
        if mapped:
            scaled = lambda s, own, times, k: job(s, own["own"], times, k) * v[0]
            found = map_rect(scaled, v[:2], rows, TIMES, [0, 1, 2])
        else:
            found = serial_map(v[:2], [row["own"] for row in rows]) * v[0]
        return np.sum(found**2)

    v = np.concatenate([SHARED, OWN.ravel()])
    np.testing.assert_allclose(contad.grad(total)(v, True), contad.grad(total)(v, False), rtol=1e-12)
    np.testing.assert_allclose(contad.hessian(total)(v, True), contad.hessian(total)(v, False), rtol=1e-10, atol=1e-12)


# ---- what goes wrong -------------------------------------------------------------------------------------------------
def raises(xs, start, end, p):
    if start == 8:
        raise FloatingPointError("a bad row")
    return p * np.sum(xs)


def dies(xs, start, end, p):
    if start == 8:
        os._exit(1)
    return p * np.sum(xs)


def test_a_job_that_raises(executor):
    with pytest.raises(FloatingPointError, match="a bad row") as caught:
        contad.grad(lambda p: reduce_sum(raises, XS, p, grainsize=4, executor=executor))(1.0)
    assert caught.value.__notes__[0] == "reduce_sum: in job 2, of elements 8 to 11"
    if isinstance(executor, ProcessPoolExecutor):  # with the lines on the worker
        assert "in raises" in caught.value.__notes__[1]
    assert contad.stack().top <= 1
    assert gradient(XS, P, 4, executor)[0] > 0.0  # the executor goes on


def test_a_worker_that_dies():
    message = "reduce_sum: a worker or the executor ended before job"
    with SPAWNED(2) as pool, pytest.raises(RuntimeError, match=message):
        contad.grad(lambda p: reduce_sum(dies, XS, p, grainsize=4, executor=pool))(1.0)
    assert contad.stack().top <= 1


def test_bad_input():
    with pytest.raises(TypeError, match="reduce_sum: xs must be an array, a list or a tuple, got float"):
        reduce_sum(partial_sum, 1.0, P)
    with pytest.raises(ValueError, match="reduce_sum: grainsize must be positive, got 0"):
        reduce_sum(partial_sum, XS, P, grainsize=0)
    with pytest.raises(ValueError, match=r"reduce_sum: f must give a number, got shape \(1,\)"):
        reduce_sum(lambda xs, start, end: xs, XS, grainsize=1)
    with pytest.raises(ValueError, match="map_rect: data_i must have an entry for each of 3 jobs, got 2"):
        map_rect(job, SHARED, OWN, TIMES, [0, 1])
    with pytest.raises(ValueError, match=r"map_rect: f must give a vector, got shape \(\)"):
        contad.grad(lambda s: np.sum(map_rect(lambda s, own, t, k: s[0], s, OWN, TIMES, [0, 1, 2])))(SHARED)
