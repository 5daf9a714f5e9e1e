"""Which products of matrices in loops are calls."""

from numba import njit, prange

from contad.engines.source import source
from contad.kernels.product_kernels import FEW_IN_PLACE
from tests.engines.source.agreement import request
from tests.engines.source.programs.loop_products import LARGE, SMALL, matrices


def test_sizes_are_on_either_side():
    assert SMALL**3 < (LARGE - 1) * LARGE**2 and FEW_IN_PLACE < (LARGE - 1) * LARGE**2 and SMALL**3 <= FEW_IN_PLACE


def test_threads_share_loops_with_products():
    @njit(parallel=True)
    def shared(a):
        total = 0.0
        for k in prange(a.shape[0]):
            y = a[k] @ a[k]
            total += y[0, 1]
        return total

    text = source(request(shared, matrices(LARGE))).partition("def run")[2]
    assert not any(f" {name}(" in text for name in ("put_product", "add_left", "add_right"))
