"""Loops whose iterations are reversed right after they ran: where what follows them allows it, and where not."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source import list_loops, source
from contad.engines.source.planning import fuse
from tests.engines.source.agreement import agree, as_python, flat, request

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
def likelihood_and_prior(x, mu, sigma):
    """Two sums, and what is written between them for the second one alone."""
    fit = 0.0
    for i in range(len(x)):
        fit += math.sin(x[i] * mu)
    width = sigma + 1.0
    scaled = np.empty(3)
    for k in range(3):
        scaled[k] = width * k
    norm = 0.0
    for k in range(len(x)):
        norm += math.cos(x[k] * width) * scaled[k % 3]
    return fit - 0.5 * norm


@njit
def of_what_is_written(x, mu, sigma):
    """The second loop reads what is written behind the first one, which reads the same array."""
    z = x * mu
    first = 0.0
    for i in range(len(x)):
        first += math.exp(z[i])
    z[0] = sigma
    second = 0.0
    for i in range(len(x)):
        second += math.exp(z[i] * sigma)
    return first + second


@njit
def one_after_another(x, mu, sigma):
    """The second sum is of terms with the first one in them."""
    first = 0.0
    for i in range(len(x)):
        first += x[i] * mu
    second = 0.0
    for i in range(len(x)):
        second += math.sin(x[i] * first)
    return second * sigma


def loops_at_once(function):
    return sum(loop.is_fused for loop in list_loops(request(function, X, 0.7, 1.3, argnums=(0, 1, 2))))


@pytest.mark.parametrize(
    ("function", "count"), [(likelihood_and_prior, 2), (of_what_is_written, 1), (one_after_another, 1)]
)
def test_several_loops_of_a_block(function, count):
    """As many as depend on none of each other; the others wait."""
    assert loops_at_once(function) == count
    agree(function, X, 0.7, 1.3, argnums=(0, 1, 2))
    agree(function, X, 0.7, 1.3, argnums=(0, 1, 2), compiled=True)


@pytest.mark.parametrize("function", [of_what_is_written, one_after_another])
def test_a_loop_that_depends_on_another_one_is_noticed(function, monkeypatch):
    known = flat(as_python(request(function, X, 0.7, 1.3, argnums=(0, 1, 2)))(X, 0.7, 1.3)[1])
    monkeypatch.setattr(fuse, "_depends", lambda *_: False)
    try:
        found = flat(as_python(request(function, X, 0.7, 1.3, argnums=(0, 1, 2)))(X, 0.7, 1.3)[1])
    except UnboundLocalError:  # a sum that is read before it is made
        return
    assert np.abs(found - known).max() > 1e-6


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
