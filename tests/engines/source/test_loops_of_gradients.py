"""Loops of gradients, whole: each element is written once, without zeros, branches or arrays made anew."""

import re

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source import source
from contad.testing import expect_ad
from tests.engines.source.agreement import agree, request


def text_of(f, *args):
    return re.sub(r"  # line .*", "", contad.source(f, *args))


@njit
def energy(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += np.sin(x[i, j]) * w[j] * x[i, j]
    return total


def test_elements_that_a_loop_reads_once_are_written_once():
    x, w = np.array([[1.0, -2.0, 0.5], [0.3, 4.0, -1.0]]), np.array([2.0, -1.0, 0.7])
    text = text_of(contad.grad(energy, (0, 1)), x, w)
    assert text.count("np.zeros(") == 1 and text.count("np.empty(") == 1
    found = contad.grad(energy, (0, 1))(x, w)
    np.testing.assert_allclose(found[0], (np.cos(x) * x + np.sin(x)) * w, rtol=1e-14)
    np.testing.assert_allclose(found[1], np.sum(np.sin(x) * x, axis=0), rtol=1e-14)


@njit
def walk(x, a):
    """Steps of a walk, the first of which is from zero."""
    total = 0.0
    for t in range(len(x)):
        total += 0.5 * x[t] * x[t]
        if t > 0:
            step = x[t] - a * x[t - 1]
            total -= step * step
    return total


def test_neighbours_have_no_zeros_and_no_branch():
    text = text_of(walk, np.ones(4), 0.3)
    assert "np.zeros" not in text
    alone, _, rest = text.partition("for t in range(1, x_length):")
    assert "x_bar[t] = " in alone
    loop = rest.partition("\n    if ")[0]
    assert "if " not in loop
    assert re.findall(r"x_bar\[.*?\] .?=", loop) == ["x_bar[t - 1] ="]
    for n in (0, 1, 2, 3, 7):
        x = np.linspace(0.5, 1.5, n)
        _, (x_bar, a_bar) = contad.value_and_grad(walk, (0, 1))(x, 0.3)
        step = x[1:] - 0.3 * x[:-1]
        expected = x.copy()
        expected[1:] -= 2.0 * step
        expected[:-1] += 2.0 * 0.3 * step
        np.testing.assert_allclose(x_bar, expected, rtol=1e-14)
        assert a_bar == pytest.approx(np.sum(2.0 * step * x[:-1]))


@njit
def both_ends(x):
    total = 0.0
    n = len(x)
    for i in range(n):
        left = x[i - 1] if i > 0 else 0.0
        right = 0.5
        if i < n - 1:
            right = x[i + 1]
        total += (left - 2.0 * x[i] + right) * x[i] * x[i]
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_tests_of_both_ends(n):
    expect_ad(both_ends, np.linspace(0.5, 1.5, n))


@njit
def chain(x):
    total = 0.0
    for i in range(len(x) - 1):
        a = x[i + 1] - x[i] * x[i]
        total += a * a
    return total


def test_neighbours_go_on_in_numbers():
    text = text_of(chain, np.ones(4))
    assert text.partition("x_bar_here = 0.0")[2] == """
    for i in range(k):
        t_2 = x[i]
        a = x[i + 1] - t_2 * t_2
        total += a * a
        a_bar = total_bar * (2.0 * a)
        t_3_bar = -a_bar
        t_2_bar = t_3_bar * (2.0 * t_2)
        x_bar_here += t_2_bar
        x_bar_next = a_bar
        x_bar[i] = x_bar_here
        x_bar_here = x_bar_next
    if 0 < k:
        x_bar[k] = x_bar_here
    else:
        x_bar[:] = 0.0
    return total, (x_bar,)
"""
    x = np.array([0.5, -1.0, 2.0])
    a = x[1:] - x[:-1] ** 2
    for n, expected in ((3, [-4 * a[0] * x[0], 2 * a[0] - 4 * a[1] * x[1], 2 * a[1]]), (1, [0.0]), (0, [])):
        assert contad.grad(chain)(x[:n]) == pytest.approx(expected)


@njit
def steps(a, x):
    """Arrays of an iteration that are read whole, in part, under two names, and in an inner loop."""
    total = 0.0
    for k in range(3):
        y = np.sin(a[k] @ x)
        z = np.zeros(x.shape[0])
        z[1] = y[0]
        for j in range(2):
            w = y * z + x
            v = w if j == 0 else y
            total += np.sum(v * v) + w[j]
        x = y + z
    return total * np.sum(x)


@njit
def of_data(a, n):
    total = 0.0
    for k in range(a.shape[0]):
        made = np.empty(n)
        for i in range(n):
            made[i] = a[k] * (i + 1.0)
        total += np.sum(made * made[::-1])
    return total


def inside_loops(text, made):
    """The lines inside of loops that make arrays so."""
    return [line for line in text.splitlines() if re.match(rf" {{8,}}\w+ = (np\.|brief_){made}\(", line)]


@pytest.mark.parametrize("compiled", [False, True])
def test_arrays_of_iterations_are_made_once(compiled):
    rng = np.random.default_rng(3)
    a, x = rng.normal(size=(3, 4, 4)), rng.normal(size=4)
    agree(steps, a, x, argnums=(0, 1), compiled=compiled)
    text = source(request(steps, a, x, argnums=(0, 1)))
    assert not inside_loops(text, "empty")
    assert len(inside_loops(text, "zeros")) < text.count("np.zeros(")


def test_a_negative_length_is_an_error_where_it_was():
    """A loop that does not run makes nothing."""
    text = source(request(of_data, np.zeros(2), 3))
    assert inside_loops(text, "empty")
    agree(of_data, np.array([0.3, 0.5]), 4)
