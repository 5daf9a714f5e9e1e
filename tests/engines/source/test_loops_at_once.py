"""Loops whose iterations are reversed right after they ran: where what follows them allows it, and where not."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source import source
from tests.engines.source.agreement import agree, request

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])


@njit
def likelihood(x, mu, sigma):
    squares = 0.0
    for i in range(len(x)):
        squares += (x[i] - mu) ** 2
    return -0.5 * squares / (sigma * sigma) - len(x) * math.log(sigma)


@njit
def scaled(x, mu, sigma):
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i] * mu)
    t = s * sigma
    return t * mu + sigma * mu


@njit
def two_sums(x, mu, sigma):
    s, q = 0.0, 0.0
    for i in range(len(x)):
        s += x[i] * mu
        q += x[i] * x[i] * mu
    return (s * mu - q / sigma) * sigma


@njit
def group_by_group(x, mu, sigma):
    total = 0.0
    for g in range(3):
        s = 0.0
        width = sigma + g
        for i in range(len(x)):
            s += (x[i] - g * mu) ** 2
        total -= 0.5 * s / (width * width) + math.log(width)
    return total * mu


@njit
def chosen(x, mu, sigma):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i] * mu
    scale = sigma * mu if sigma > 0.0 else 1.0
    return (s + x[0]) / scale - s / mu


AT_ONCE = [likelihood, scaled, two_sums, group_by_group, chosen]


@pytest.mark.parametrize("function", AT_ONCE, ids=lambda f: f.__name__)
def test_adjoints_of_sums_are_known_before_the_loop(function):
    """The partials that lead to the sums do not read them, though others do; so nothing is stored."""
    text = source(request(function, X, 0.7, 1.3, argnums=(0, 1, 2)))
    assert "work" not in text
    assert text.count(" in range(len") + text.count(" in range(x_length") == 1
    agree(function, X, 0.7, 1.3, argnums=(0, 1, 2))
    agree(function, X, 0.7, 1.3, argnums=(1,))


@njit
def logarithm(x, mu):
    s = 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
    return math.log(s)


@njit
def ratio(x, mu):
    s, q = 0.0, 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
        q += math.exp(mu - x[i])
    return s / q


@njit
def product(x, mu):
    s, q = 0.0, 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
        q += math.exp(mu - x[i])
    return s * q


@njit
def sine_and_cosine(x, mu):
    s = 0.0
    for i in range(len(x)):
        s += math.exp(x[i] * mu)
    return math.sin(s) + mu * math.cos(s)


@pytest.mark.parametrize("function", [logarithm, ratio, product, sine_and_cosine], ids=lambda f: f.__name__)
def test_loops_whose_sums_are_read_again_are_reversed_afterwards(function):
    text = source(request(function, X, 0.7, argnums=(0, 1)))
    assert text.count(" in range(x_length") == 2
    agree(function, X, 0.7, argnums=(0, 1))


def test_errors_after_the_loop_are_those_of_the_function():
    with pytest.raises(ZeroDivisionError):
        contad.grad(likelihood, (1, 2))(X, 0.7, 0.0)


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
