"""Derivatives that are bound to their arguments: what they return, what they hold, and what they notice."""

import copy
import gc
import pickle
import sys
import threading
import weakref
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python as _nrt, rtsys

import contad
from contad import bind, grad, value_and_grad
from contad.memory.arena import memory_in_use

SCALE = 2.0


@njit
def energy(x, w, p):
    total = 0.0
    for k in range(len(x)):
        if x[k] < -100.0:
            raise ValueError("too cold")
        total += w[k] * np.exp(p * x[k])
    return total


@njit
def scaled(x):
    return SCALE * np.sum(x * x)


def arguments():
    return np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, 0.5]), 0.5


def expected(x, w, p):
    return np.sum(w * np.exp(p * x)), w * p * np.exp(p * x), np.sum(w * x * np.exp(p * x))


@pytest.mark.parametrize("f", [energy, lambda x, w, p: np.sum(w * np.exp(p * x))])
def test_a_bound_gradient_reads_its_arrays_at_every_call(f):
    x, w, p = arguments()
    outs = np.empty(3), np.empty(())
    value = bind(value_and_grad(f, (0, 2), out=True), x, w, p, outs)
    gradient = bind(grad(f, out=True), x, w, p, outs[0])
    fresh = bind(value_and_grad(f, (0, 2)), x, w, p=p)
    for shift in (0.0, 0.25, -3.0):
        x += shift
        w[1] = shift
        z, by_x, by_p = expected(x, w, p)
        found, gradients = fresh()
        assert found == pytest.approx(z, rel=1e-14) and gradients[1] == pytest.approx(by_p, rel=1e-14)
        assert np.allclose(gradients[0], by_x, rtol=1e-14)
        outs[0][:] = 7.0
        assert value() == found and np.array_equal(outs[0], gradients[0]) and outs[1] == gradients[1]
        outs[0][:] = 7.0
        assert gradient() is None and np.array_equal(outs[0], gradients[0])


def test_a_bound_call_asks_for_no_memory_and_takes_no_arguments():
    x, w, p = arguments()
    out = np.empty(3)
    call = bind(value_and_grad(energy, out=True), x, w, p, out)
    _nrt.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(10):
        call()
    after = rtsys.get_allocation_stats()
    assert after.alloc == before.alloc and after.mi_alloc == before.mi_alloc
    with pytest.raises(TypeError, match="takes no arguments"):
        call(x)
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        call(x=x)


@pytest.mark.parametrize("options", [{}, {"out": True}])
def test_a_bound_call_keeps_its_arguments_alive_no_longer_than_itself(options):
    x, w, p = arguments()
    counts = [sys.getrefcount(a) for a in (x, w)]
    out = np.empty(3)
    call = bind(grad(energy, **options), x, w, p, *([out] if options else []))
    assert str(call.__self__) == "<arguments of grad: energy>"
    watched = weakref.ref(call.__self__.kept)
    for _ in range(5):
        call()
    del call
    assert watched() is None and [sys.getrefcount(a) for a in (x, w)] == counts and sys.getrefcount(out) == 2


@pytest.mark.filterwarnings("ignore:Setting the shape")  # deprecated from NumPy 2.5 on
def test_arrays_that_are_elsewhere_are_noticed():
    for change in (lambda x: x.resize(5000, refcheck=False), lambda x: setattr(x, "shape", (3, 1))):
        x, w, p = arguments()
        x = x.copy()
        call = bind(grad(energy), x, w, p)
        call()
        change(x)
        with pytest.raises(ValueError, match="has got other memory or another shape since; bind again"):
            call()


def test_exceptions_of_the_function_are_raised_and_leave_it_whole():
    x, w, p = arguments()
    call = bind(value_and_grad(energy), x, w, p)
    x[1] = -200.0
    with pytest.raises(ValueError, match="too cold"):
        call()
    x[1] = 1.0
    assert call()[0] == pytest.approx(expected(x, w, p)[0], rel=1e-14)
    with pytest.raises(ValueError, match="too cold"):
        bind(grad(energy), np.full(3, -200.0), w, p)


def test_changed_globals_and_recompilation_are_noticed(monkeypatch):
    x = arguments()[0]
    gradient = grad(scaled)
    call = bind(gradient, x)
    assert np.array_equal(call(), 4.0 * x)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    with pytest.raises(contad.FrozenValueError, match="SCALE has changed"):
        call()
    scaled.recompile()
    gradient.recompile()
    with pytest.raises(RuntimeError, match="the derivative has been recompiled since; bind again"):
        call()
    assert np.array_equal(bind(gradient, x)(), 6.0 * x)
    monkeypatch.undo()
    scaled.recompile()
    gradient.recompile()


def test_other_derivatives_are_bound_as_well():
    x, w, p = arguments()
    hessian = bind(contad.hessian(energy), x, w, p)
    x[0] = 0.75
    assert np.allclose(hessian(), np.diag(w * p**2 * np.exp(p * x)), rtol=1e-14)
    pushed = bind(contad.jvp, lambda p: np.sum(w * np.exp(p * x)), (p,), (1.0,))
    assert pushed()[1] == pytest.approx(expected(x, w, p)[2], rel=1e-14)
    assert bind(energy, x, w, p)() == energy(x, w, p)
    with pytest.raises(TypeError, match="contad.bind: expected a derivative and its arguments, got float"):
        bind(1.0, x)
    with pytest.raises(TypeError, match="missing a required argument"):
        bind(grad(energy), x)


def test_tuples_of_arrays_and_defaults():
    pair = namedtuple("pair", ["x", "scale"])

    @njit
    def f(given, y, power=3.0):
        return np.sum(given.x**power) * given.scale + y[0][0]

    given, y = pair(np.array([1.0, 2.0]), 0.5), (np.array([1.5]),)
    call = bind(grad(f), given, y)
    given.x[0] = 3.0
    found = call()
    assert np.allclose(found.x, [13.5, 6.0]) and found.scale == pytest.approx(35.0)
    assert call.__self__.arguments == (given, y, 3.0)


def test_calls_that_another_engine_has_to_answer():
    @njit
    def product(x):
        total = 1.0
        for k in range(len(x)):
            total *= 1.0 + 1e-3 * np.sin(x[k])
        return total

    x, out = np.linspace(-1.9, 1.9, 100_000), np.empty(100_000)
    call = bind(value_and_grad(product, out=True), x, out)
    value, gradient = call(), out.copy()
    out[:] = 7.0
    try:
        contad.set_memory_limit(memory_in_use() + 200_000)
        with ThreadPoolExecutor(1) as thread, pytest.warns(UserWarning, match="its loops are checkpointed"):
            assert thread.submit(call).result() == pytest.approx(value, rel=1e-12)  # it has no workspace yet
        assert np.allclose(out, gradient, rtol=1e-12)
    finally:
        contad.set_memory_limit(None)


def test_it_stays_in_its_process_and_serves_all_threads():
    x, w, p = arguments()
    call = bind(value_and_grad(energy), x, w, p)
    with pytest.raises(contad.UnsupportedError, match="bind again in the other one"):
        pickle.dumps(call)
    assert copy.copy(call) is call and "energy" in repr(call.__self__)
    found = []
    threads = [threading.Thread(target=lambda: found.append([call()[0] for _ in range(500)])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {z for zs in found for z in zs} == {energy(x, w, p)}


def test_guards_of_a_call_go_with_it():
    @njit
    def stores(x):  # which may need more memory than there is: a guard calls another derivative then
        total = 1.0
        for k in range(len(x)):
            total *= SCALE - x[k] * total
        return total

    x = np.array([0.5, 0.25])
    calls = [bind(grad(stores), x) for _ in range(5)]
    found = [call() for call in calls]
    assert all(np.array_equal(y, found[0]) for y in found)
    watched = weakref.ref(calls[0].__self__.kept)
    del calls[:]
    gc.collect()
    assert watched() is None and sys.getrefcount(x) == 2
