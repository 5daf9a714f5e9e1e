"""Loops over prange that threads share: the same numbers for any threads, and nothing that could be a race."""

import os
import random
import re
import threading
import warnings
from collections import defaultdict
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import njit, prange

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.passes import parallelise
from contad.engines.source.runtime import loop_strips
from contad.engines.source.writing import forward_sweep
from contad.memory import threads
from contad.numba_functions.request import Request
from tests.compile.processes import run_python
from tests.engines.source.programs.harness import defined
from tests.judges.samples import sampled
from tests.random_programs import generated_programs
from tests.random_programs.searching import is_failure

RNG = np.random.default_rng(0)
X, W, MATRIX = RNG.uniform(0.1, 1.0, 4000), RNG.uniform(0.5, 1.5, 9), RNG.normal(size=(600, 8))
PLACES = RNG.integers(0, len(X), len(X))
parallel = njit(parallel=True)


# ---- programs --------------------------------------------------------------------------------------------------------
DEFINED = defined("""\
def sums(x, w):
    total = 0.0
    for i in prange(len(x)):
        t = x[i]
        for k in range(len(w)):
            t = math.sin(t) * w[k] + x[i]
        total += t * t
    return total
def mixed(x, w, places):
    out = np.empty(len(x))
    for i in prange(len(x)):
        t = x[i]
        for k in range(len(w)):
            t = math.sin(t) * w[k] + 0.3
        out[i] = t / x[places[i]]
    total = 0.0
    for i in prange(len(x)):
        if out[i] < 0.5:
            continue
        total += out[i] * out[i]
    return total
def made_inside(x, w):
    out = np.empty(len(x))
    for i in prange(len(x)):
        b = np.zeros(3)
        for k in range(3):
            b[k] = x[i] * w[k]
        out[i] = b.sum() * math.exp(b[0])
    return out.sum()
def rows(x, w):
    y = np.empty(x.shape)
    for i in prange(x.shape[0]):
        row = y[i]
        total = 0.0
        for j in range(x.shape[1]):
            row[j] = math.exp(x[i, j]) * w[j]
            total += row[j]
        for j in range(x.shape[1]):
            y[i, j] /= total
    return np.sum(y * y)
def in_place(x, w):
    a = x.copy()
    for _ in range(3):
        for i in prange(len(a)):
            a[i] = math.sin(a[i]) * w[0]
    for i in prange(len(a)):
        a[i] = a[i] * a[i] + w[1]
    return a.sum()
def stencil(x, c):
    n = len(x)
    z = np.empty(n)
    for i in prange(1, n - 1):
        z[i] = x[i] + c * (x[i - 1] - 2 * x[i] + x[i + 1]) * math.exp(x[i])
    z[0] = x[0]
    z[n - 1] = x[n - 1]
    return np.sum(z * z)
def shifted(x, w):
    y = np.zeros(len(x))
    for i in prange(1, len(x)):
        y[i - 1] = math.sin(x[i]) * w[0]
    return np.sum(y * y)
def nested(x, w):
    total = 0.0
    for i in prange(len(x)):
        u = 0.0
        for k in prange(len(w)):
            u += math.cos(x[i] * w[k])
        total += math.exp(u) * x[i]
    return total
def binned(x, w):
    h = np.zeros(len(w))
    for i in prange(len(x)):
        h[int(x[i] * len(w)) % len(w)] += math.exp(x[i]) * w[0]
    return np.sum(h * h)
def counted(x, w):
    inside = 0
    total = 0.0
    for i in prange(len(x)):
        if x[i] * w[0] < 0.6:
            inside += 1
            total += math.exp(-x[i]) * w[1]
        elif x[i] > 0.8:
            total -= x[i]
    return total / (1 + inside)
@njit
def attract(r, a):
    return r * a / (1.0 + r * r) ** 1.5
def called(x, a):
    total = 0.0
    for i in prange(len(x)):
        for j in range(i + 1, min(len(x), i + 20)):
            total += attract(x[i] - x[j], a)
    return total
def smallest(x, w):
    least = 1e9
    for i in prange(len(x)):
        least = min(least, x[i] * w[0])
    return least
def product(x, w):
    p = 1.0
    for i in prange(len(x)):
        p *= 1.0 + 1e-3 * math.sin(x[i] * w[0])
    return p
def carried(x, w):
    last = 0.0
    total = 0.0
    for i in prange(len(x)):
        total += last * x[i]
        last = x[i] * w[0]
    return total
def overlapping(x, w):
    y = x.copy()
    for i in prange(1, len(x)):
        y[i] = y[i - 1] * w[0] + math.sin(x[i])
    return y.sum()
def special(x, w):
    total = 0.0
    for i in prange(len(x)):
        total += contad.erf(x[i] * w[0])
    return total
def in_steps(x, w):
    total = 0.0
    for i in prange(0, len(x), 2):
        total += math.sin(x[i]) * w[0]
    return total
def whole_arrays(x, w):
    a = np.exp(-x) * w[0]
    b = a[1:] - w[1] * a[:-1]
    a[0] = 0.3
    total = 0.0
    for k in range(3):  # arrays in a loop are mostly small
        total += np.sum(a[k : k + 2] * w[k])
    return total + np.sum(np.sin(a) * x) - np.mean(b * b)
""", "shared loops", prange=prange)  # fmt: skip
loops_alone = njit(parallel={"numpy": False, "reduction": False})
p = SimpleNamespace(**{
    name: (loops_alone if name == "overlapping" else parallel)(f) for name, f in DEFINED.items() if name != "attract"
})  # fmt: skip
ARGUMENTS = {p.mixed: (X, W, PLACES), p.rows: (MATRIX, W[:8]), p.stencil: (X, 0.1), p.called: (X[:400], 0.7)}
SHARED = {  # how many loops of the derivative threads share
    p.sums: 1, p.mixed: 3, p.made_inside: 3, p.rows: 3, p.in_place: 7, p.stencil: 3, p.shifted: 3, p.nested: 1,
    p.binned: 3, p.called: 1, p.counted: 2, p.whole_arrays: 5,
}  # fmt: skip
SERIAL = {
    p.smallest: "is no sum", p.product: "is no sum", p.carried: "is no sum", p.overlapping: "iterations may meet",
    p.special: "may not run on several threads", p.in_steps: "its step is not 1",
}  # fmt: skip


def arguments_of(f):
    return ARGUMENTS.get(f, (X, W))


def floats_in(args):
    return tuple(k for k, x in enumerate(args) if np.asarray(x).dtype == float)


def derivative(f, args, outs=()):
    argnums = tuple(k for k in floats_in(args) if not outs or np.ndim(args[k]))
    request = Request(f.py_func, f, tuple(map(numba.typeof, args)), argnums, False, "value_and_grad")
    return derivative_of(request._replace(outs=tuple(map(numba.typeof, outs))))


def run_in_python(f, args, outs=()):
    """The value and gradient by the text of the derivative, as it is now."""
    made = derivative(f, args, outs)
    names = {}
    exec(made.source(), names)
    names.update(made.constants())
    value, gradient = names["run"](*args, *outs)
    return value, np.concatenate([np.ravel(g) for g in gradient])


def plain(f):
    return njit(**{name: x for name, x in f.targetoptions.items() if name not in ("parallel", "nopython")})(f.py_func)


@pytest.fixture
def at_random(monkeypatch):
    """Blocks run one after the other, in any order: what iterations have from one another becomes wrong."""
    order = random.Random(5)
    ran = []

    def sharer(part):
        def share(blocks, given):
            ran.append(blocks)
            for block in order.sample(range(blocks), blocks):
                part(block, *given)

        return share

    monkeypatch.setattr(threads, "sharer", sharer)
    monkeypatch.setattr(loop_strips, "count_strips", lambda n, cost, buffered: max(1, min(n, 3)))
    return ran


# ---- what is shared --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", SHARED, ids=lambda f: f.__name__)
def test_blocks_in_any_order_give_the_derivative(f, at_random):
    args = tuple(x[:40] if np.ndim(x) else x for x in arguments_of(f))
    args = tuple(x % 40 if np.asarray(x).dtype == int else x for x in args)
    text = derivative(f, args).source()
    assert len(re.findall(r"^ +share_\w+\(", text, re.M)) == SHARED[f]
    assert "prange" not in text
    value, gradient = run_in_python(f, args)
    assert max(at_random) == 3
    expected, known = run_in_python(plain(f), args)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, known, rtol=1e-12, atol=1e-13 * np.abs(known).max())


@pytest.mark.parametrize("f", [p.mixed, p.in_place, p.binned, p.whole_arrays], ids=lambda f: f.__name__)
def test_gradients_in_arrays_of_the_callers_are_shared_as_well(f, at_random):
    args = tuple(x[:40] % 40 if x.dtype == int else x[:40] for x in arguments_of(f))
    outs = tuple(np.full(x.shape, 7.0) for x in args if x.dtype == float)
    made = run_in_python(f, args, outs)
    assert max(at_random) == 3
    expected = run_in_python(f, args)
    assert made[0] == expected[0] and np.array_equal(made[1], expected[1])
    assert np.array_equal(np.concatenate(outs), expected[1])


@pytest.mark.parametrize("f", SERIAL, ids=lambda f: f.__name__)
def test_dependent_loops_stay_serial_and_explain_says_why(f):
    args = arguments_of(f)
    assert "share_" not in derivative(f, args).source()
    assert SERIAL[f] in contad.explain(f, *args)
    value, gradient = run_in_python(f, (X[:40], W))
    expected, known = run_in_python(plain(f), (X[:40], W))
    assert value == expected
    np.testing.assert_array_equal(gradient, known)


def test_explain_tells_what_is_shared():
    assert "line 44: the loop is reversed iteration by iteration, as it runs; it stores nothing; threads" in re.sub(
        r"line \d+", "line 44", contad.explain(p.sums, X, W)
    )
    assert "threads" not in contad.explain(plain(p.sums), X, W)


def test_only_functions_that_are_compiled_in_parallel_are_shared():
    for f in (plain(p.sums), njit(parallel=False)(p.sums.py_func), njit(parallel={"prange": False})(p.sums.py_func)):
        assert "share_" not in derivative(f, (X, W)).source()
    assert "share_" in derivative(njit(parallel={"prange": True})(p.sums.py_func), (X, W)).source()


def test_flags_are_those_of_the_function():
    fast = njit(parallel=True, fastmath={"reassoc", "nsz"})(p.sums.py_func)
    text = derivative(fast, (X, W)).source("fastmath={'nsz', 'reassoc'}")
    assert text.count("fastmath={'nsz', 'reassoc'}") == 2


def mark_every_loop(monkeypatch):
    head = forward_sweep.SharedHeads.head

    def marked(self, o, limits, reverse=False):
        o.is_parallel = True
        return head(self, o, limits, reverse)

    monkeypatch.setattr(forward_sweep.SharedHeads, "head", marked)


@pytest.mark.parametrize("start", sampled(range(0, 300, 10), 10))
def test_shared_loops_of_random_programs_are_independent(start, at_random, monkeypatch):
    """Every loop is taken for a prange: what is then shared was found to be independent by what it does alone."""
    mark_every_loop(monkeypatch)
    outcomes = [generated_programs.check(seed) for seed in range(start, start + 10)]
    assert [o for o in outcomes if is_failure(o)] == []
    assert max(at_random) == 3


def all_private(monkeypatch):
    monkeypatch.setattr(parallelise._StripLoop, "_is_private", lambda self, accesses: True)


def nothing_live(monkeypatch):
    """Whatever iterations assign is their own."""
    monkeypatch.setattr(parallelise, "carried_names", lambda body: frozenset())
    monkeypatch.setattr(parallelise, "LiveNames", lambda body: SimpleNamespace(after=defaultdict(frozenset)))


RACES = [(all_private, p.overlapping), (nothing_live, p.sums), (nothing_live, p.carried)]


@pytest.mark.parametrize(("plant", "f"), RACES)
def test_planted_races_are_found(plant, f, at_random, monkeypatch):
    args = X[:40], W
    expected = run_in_python(plain(f), args)
    plant(monkeypatch)
    try:
        found = run_in_python(f, args)
    except NameError:  # a number is not there
        return
    assert not np.allclose(found[0], expected[0]) or not np.allclose(found[1], expected[1])


@pytest.mark.long
@pytest.mark.parametrize("plant", [all_private, nothing_live])
def test_planted_races_are_found_by_random_programs(plant, at_random, monkeypatch):
    mark_every_loop(monkeypatch)
    plant(monkeypatch)
    found = (generated_programs.check(seed) or "" for seed in range(120))
    assert any(o.startswith(("wrong", "crash")) for o in found)


# ---- on threads ------------------------------------------------------------------------------------------------------
@pytest.fixture
def at_once(monkeypatch):
    """Threads are made for the shortest loops."""
    values = threads._numbers.copy()
    threads._numbers[threads._WORTH], threads._numbers[threads._SURE] = 0, 0
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)
    threads._numbers[:] = values


def require_same(f, args, counts):
    """The same bits for any number of threads, and, up to rounding, what the serial derivative gives."""
    argnums = floats_in(args)
    gradient = contad.value_and_grad(f, argnums)
    found = set()
    for count in counts:
        numba.set_num_threads(count)
        value, slopes = gradient(*args)
        found.add((value, *(np.asarray(x).tobytes() for x in slopes)))
    assert len(found) == 1
    expected, known = run_in_python(plain(f), args)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    got = np.concatenate([np.ravel(x) for x in slopes])
    np.testing.assert_allclose(got, known, rtol=1e-11, atol=1e-13 * np.abs(known).max(initial=0.0))


def counts():
    return [k for k in (1, 2, 4, 2, 1, 2) if k <= numba.config.NUMBA_NUM_THREADS]


def test_results_are_the_same_for_any_number_of_threads(at_once):
    require_same(p.mixed, (X, W, PLACES), counts())
    require_same(p.mixed, (X[:3], W, PLACES[:3] % 3), counts())
    require_same(p.mixed, (X[:0], W, PLACES[:0]), counts())
    expected, outs = contad.grad(p.mixed, (0, 1))(X, W, PLACES), (np.empty_like(X), np.empty_like(W))
    for count in counts()[:2]:
        numba.set_num_threads(count)
        contad.grad(p.mixed, (0, 1), out=True)(X, W, PLACES, out=outs)
        assert all(map(np.array_equal, outs, expected))
    zero = X.copy()
    zero[PLACES[3000]] = zero[PLACES[1700]] = 0.0
    for count in counts():
        numba.set_num_threads(count)
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            contad.grad(p.mixed, (0, 1))(zero, W, PLACES)
    several_callers()
    if hasattr(os, "fork"):
        forked()


def several_callers():
    """Threads of Python's that differentiate at the same time."""
    gradient = contad.grad(p.mixed)
    expected = gradient(X, W, PLACES)
    found = []

    def call():
        found.extend(np.array_equal(gradient(X, W, PLACES), expected) for _ in range(20))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [True] * 80
    assert threads._numbers[threads._BUSY] == 0


def forked():
    """A child of a fork, after the parent has used threads."""
    gradient = contad.grad(p.mixed)
    expected = gradient(X, W, PLACES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of forks where there are threads
        child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(gradient(X, W, PLACES), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.long
@pytest.mark.parametrize("f", SHARED, ids=lambda f: f.__name__)
def test_results_of_all_programs_are_the_same(f, at_once):
    require_same(f, arguments_of(f), counts())


@pytest.mark.long
def test_four_threads_give_the_same():
    run_python("-m", "pytest", "-q", "-m", "long", "-k", "all_programs", __file__, NUMBA_NUM_THREADS=4)


@pytest.mark.long
def test_a_derivative_on_threads_inside_njit(at_once):
    """The caller keeps Python's lock, and is itself in a loop on threads."""
    gradient = contad.grad(p.sums)

    @njit
    def holding(x, w):
        return gradient(x, w)

    @njit(parallel=True)
    def inside(x, w):
        out = np.empty((4, len(x)))
        for k in prange(4):
            out[k] = gradient(x, w)
        return out

    expected = gradient(X, W)
    np.testing.assert_array_equal(holding(X, W), expected)
    np.testing.assert_array_equal(inside(X, W), np.tile(expected, (4, 1)))


@pytest.mark.long
@pytest.mark.parametrize("f", [p.sums, p.rows, p.made_inside])
def test_forward_mode_and_second_derivatives_are_right(f):
    args = arguments_of(f)
    vectors = np.cos(args[0]), np.sin(args[1])
    for transform in (contad.jvp, contad.hvp):
        found, known = ([np.asarray(x) for x in apply_transform(transform, g, args, vectors)] for g in (f, plain(f)))
        for x, y in zip(found, known, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12 * np.abs(y).max())


def apply_transform(transform, f, args, vectors):
    if transform is contad.jvp:
        return contad.jvp(f, args, vectors)
    return contad.hvp(f, (0, 1))(*args, vectors)
