"""Several loops that are reversed at once, and errors between and behind them."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source import list_loops
from tests.engines.source.agreement import agree, request
from tests.engines.source.programs.fuse import AT_ONCE, FUSED_LOOPS, SEVERAL
from tests.engines.source.programs.harness import function_of, given_to

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])
SEVERAL_COUNTS = dict(zip(SEVERAL, (2, 1, 1), strict=True))


@pytest.mark.parametrize("name", SEVERAL)
def test_several_loops_of_a_block(name):
    """As many as depend on none of each other; the others wait."""
    f, args = function_of(FUSED_LOOPS, SEVERAL[name]), given_to(FUSED_LOOPS)
    found = list_loops(request(f, *args, argnums=(0, 1, 2)))
    assert sum(loop.is_fused for loop in found) == SEVERAL_COUNTS[name]
    agree(f, *args, argnums=(0, 1, 2), compiled=True)


@njit
def raises_in_between(x, mu, sigma):
    first = 0.0
    for i in range(len(x)):
        first += x[i] * mu
    if sigma < 0.0:
        raise ValueError("sigma")
    second = 0.0
    for i in range(len(x)):
        second += math.sqrt(1.0 / (x[i] - x[0] + sigma))
    return first + second


def test_errors_between_loops_are_those_of_the_function():
    gradient = contad.grad(raises_in_between, (1, 2))
    for sigma, error in ((-1.0, ValueError), (0.0, ZeroDivisionError)):
        with pytest.raises(error):
            gradient(X, 0.7, sigma)
    agree(raises_in_between, X, 0.7, 2.3, argnums=(0, 1, 2))


def test_errors_after_the_loop_are_those_of_the_function():
    with pytest.raises(ZeroDivisionError):
        contad.grad(function_of(FUSED_LOOPS, AT_ONCE["likelihood"]), (1, 2))(X, 0.7, 0.0)


def test_several_results_with_cotangents():
    """What is returned beside the sum has an adjoint before the loop, to which the rest of the reverse adds."""

    @njit
    def both(x, sigma):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * x[i]
        w = sigma * sigma
        return s / w, w, s

    _, pull = contad.vjp(both, X, 1.3)
    by_x, by_sigma = pull((0.6, -0.4, 0.2))
    s, w = X @ X, 1.3 * 1.3
    np.testing.assert_allclose(by_x, (0.6 / w + 0.2) * 2.0 * X, rtol=1e-14)
    np.testing.assert_allclose(by_sigma, (-0.6 * s / w**2 - 0.4) * 2.6, rtol=1e-14)
