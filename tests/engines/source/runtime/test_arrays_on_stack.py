"""Small arrays that a derivative makes for itself lie on the stack: it asks for no memory; each call has its own."""

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

import contad
from contad.engines.source.runtime.lent_arrays import FEW, ON_STACK, lent_empty, lent_zeros
from tests.engines.source.agreement import agree

LENGTHS = 0, 1, FEW, FEW + 1, ON_STACK - 1, ON_STACK, ON_STACK + 1
SHAPES = [*((n,) for n in LENGTHS), (8, 8), (8, 9), (4, 0, 5), (2, 4, 8)]


@pytest.fixture
def allocations():
    """How often Numba has asked for memory since it was last called."""
    _nrt_python.memsys_enable_stats()
    last = rtsys.get_allocation_stats().alloc

    def count():
        nonlocal last
        now = rtsys.get_allocation_stats().alloc
        found, last = now - last, now
        return found

    yield count
    _nrt_python.memsys_disable_stats()


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_of_any_shape(shape, allocations):
    @njit
    def f(shape):
        a, b, c = lent_zeros(0, shape), lent_zeros(1, shape), lent_empty(2, shape)
        ones = np.ones(a.size)
        is_new = np.dot(a.reshape(-1), ones) == 0.0 and np.dot(ones, b.reshape(-1)) == 0.0  # by BLAS, from memory
        a[...] = 1.0
        b[...] = 2.0
        c[...] = 3.0
        sums = np.dot(a.reshape(-1), ones), np.dot(b.reshape(-1), ones), np.dot(c.reshape(-1), ones)
        return is_new, a.size, sums, a.shape == shape, c.shape == shape

    def expected():
        size = int(np.prod(shape))
        return True, size, (float(size), 2.0 * size, 3.0 * size), True, True

    assert f(shape) == expected()
    allocations()
    for _ in range(3):  # each has its own, and zeros again
        assert f(shape) == expected()
    few = np.prod(shape) <= ON_STACK
    assert allocations() == (3 if few else 12)


@njit
def density(beta, x, y):
    residual = y - x @ beta
    return -0.5 * np.sum(residual * residual) + np.sum(np.exp(x @ beta))


@pytest.mark.parametrize("rows", [1, 10, ON_STACK, ON_STACK + 1, 300])
def test_gradients_of_array_programs(rows, allocations):
    rng = np.random.default_rng(rows)
    x, y, beta = rng.normal(size=(rows, 3)), rng.normal(size=rows), rng.normal(size=3)
    gradient = contad.value_and_grad(density, engine="generated")
    assert "lent_empty(" in contad.source(density, beta, x, y)
    value, found = gradient(beta, x, y)
    expected = x.T @ (y - x @ beta) + x.T @ np.exp(x @ beta)
    assert value == pytest.approx(density.py_func(beta, x, y), rel=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    allocations()
    gradient(beta, x, y)
    count = allocations()
    assert count == 1 if rows <= ON_STACK else count > 1  # the adjoint of beta


def test_calls_in_loops_take_no_more_of_the_stack():
    gradient = contad.grad(density, engine="generated")
    gradient(np.zeros(3), np.ones((5, 3)), np.ones(5))

    @njit
    def descend(beta, x, y, steps):
        for _ in range(steps):
            beta = beta + 1e-7 * gradient(beta, x, y)
        return beta

    x, y = np.full((5, 3), 0.1), np.ones(5)
    found = descend(np.zeros(3), x, y, 100_000)
    assert np.isfinite(found).all() and found[0] > 0.0


def test_threads_have_their_own():
    from concurrent.futures import ThreadPoolExecutor

    gradient = contad.grad(density, engine="generated")
    x, y = np.full((20, 3), 0.1), np.ones(20)
    points = [np.full(3, 0.1 * k) for k in range(8)]
    expected = [gradient(p, x, y) for p in points]

    def run(k):
        return all(np.array_equal(gradient(points[k], x, y), expected[k]) for _ in range(500))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(8)))


@njit
def of_steps(a):
    """Arrays of an iteration, some of which the next one still reads."""
    total, y = 0.0, np.array([0.3, 0.7])
    before = y
    for k in range(a.size):
        z, w = np.empty(2), np.zeros((2, 2))
        z[0], z[1] = a[k] + y[1], np.sin(y[0] * a[k])
        w[0, 1] += z[0] * y[0]
        before, y = y, z
        total += w[0, 1] * before[1] + w[1, 0] + z[1]
    return total * before[0] + y[1]


def test_arrays_that_iterations_make_ask_for_no_memory(allocations):
    gradient = contad.value_and_grad(of_steps, engine="generated")
    found = []
    for count in (50, 5, 50):
        a = np.linspace(0.2, 0.9, count)
        allocations()
        _, got = gradient(a)
        found.append(allocations())
        (expected,) = agree(of_steps, a)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert found[1] == found[2]


# ---- arrays that die with their iteration ----------------------------------------------------------------------------
@njit
def ragged(x, ends):
    """A sum over parts of x, whose lengths are data."""
    total, begin = 0.0, 0
    for end in ends:
        made = np.cumsum(np.concatenate((np.zeros(1), np.exp(x[begin:end]))))
        total += np.log(np.sum(made)) * made[-1]
        begin = end
    return total


@pytest.mark.parametrize("ends", [[2, 3, 7], [1, 2, ON_STACK, 2 * ON_STACK + 1, 2 * ON_STACK + 9], [150, 300]])
def test_arrays_of_iterations(ends):
    x = np.sin(np.arange(2.0 * ON_STACK + 9))
    agree(ragged, x, np.array(ends), compiled=True)


def test_iterations_ask_for_no_memory(allocations):
    gradient, x = contad.grad(ragged), np.sin(np.arange(300.0))
    counts = []
    for parts in (3, 90):
        ends = np.arange(1, parts + 1) * 3
        gradient(x, ends)
        allocations()
        gradient(x, ends)
        counts.append(allocations())
    assert counts[0] == counts[1]
