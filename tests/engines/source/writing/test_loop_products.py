"""Products of matrices in loops: large ones are calls of BLAS, small ones loops; both are the same derivative."""

import numpy as np
import pytest
from numba import njit, prange

from contad.engines.source import source
from contad.engines.source.writing.loop_products import ProductWriter
from contad.kernels.product_kernels import FEW_IN_PLACE
from tests.engines.source.agreement import agree, request

CALLS = {"put_product", "add_left", "add_right"}
SMALL, LARGE = 3, 8


@njit
def chain(a):
    product = a[0]
    for k in range(1, a.shape[0]):
        product = product @ a[k]
    return np.sum(product * product)


@njit
def layers(a):
    """Factors that are turned, columns alone, expressions, and the same array twice; in a branch, and in two loops."""
    x, total = a[0, :, 1:], 0.0
    for i in range(2):
        for k in range(a.shape[0]):
            if k == 1:  # noqa: SIM108
                x = a[k] @ np.sin(x)
            else:
                x = np.tanh(a[i].T @ x + 0.5)
            total += np.sum(x.T @ x)
        y = a[i] @ a[i]
        total += y[0, 1]
    return total


@njit
def until(a):
    """As often as the numbers tell, which is not known before; what a product makes is written afterwards."""
    x = 0.1 * a[0]
    while np.sum(x) < 50.0:
        x = a[1] @ x
        x[0, 0] += 3.0
    return np.sum(x * x)


@njit(parallel=True)
def shared(a):
    total = 0.0
    for k in prange(a.shape[0]):
        y = a[k] @ a[k]
        total += y[0, 1]
    return total


def matrices(order):
    return np.random.default_rng(5).normal(size=(4, order, order)) / np.sqrt(order)


def calls_in(text):
    return {name for name in CALLS if f" {name}(" in text.partition("def run")[2]}


def test_sizes_are_on_either_side():
    assert SMALL**3 < (LARGE - 1) * LARGE**2 and FEW_IN_PLACE < (LARGE - 1) * LARGE**2 and SMALL**3 <= FEW_IN_PLACE


@pytest.mark.parametrize("order", [SMALL, LARGE])
@pytest.mark.parametrize("f", [chain, layers], ids=lambda f: f.py_func.__name__)
def test_gradients_agree(f, order):
    a = matrices(order)
    assert calls_in(source(request(f, a))) == CALLS
    agree(f, a)
    agree(f, a, compiled=True)


@pytest.mark.parametrize("order", [SMALL, LARGE])
def test_a_loop_that_stores_elements_stays_a_loop(order):
    a = np.abs(matrices(order)) + 0.2
    agree(until, a)
    assert not calls_in(source(request(until, a)))


def test_a_lost_contribution_is_noticed(monkeypatch):
    calls = ProductWriter._calls
    monkeypatch.setattr(ProductWriter, "_calls", lambda self, product, reverse: calls(self, product, reverse)[:1])
    with pytest.raises(AssertionError):
        agree(chain, matrices(LARGE))


def test_threads_share_loops_with_products():
    assert not calls_in(source(request(shared, matrices(LARGE))))
