"""Iterations at an end of a loop that a test tells from all others: written apart, in the same order."""

import re
import textwrap

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.passes.peel import peel
from contad.testing import expect_ad
from tests.engines.source.trees import function_of, text_of

HEAD = "n = x.shape[0]\ns = 0.0\n"
BODY = "    s = 0.9 * s + x[i]\n    if {test}:\n        s = s * x[i {far}]\n        s += 0.1\n    s += 0.2 * x[i]"
UP, DOWN = "for i in range(n):\n", "for i in range(n - 1, -1, -1):\n"
LEAST = ("i > 0", "i != 0", "i >= 1", "0 < i", "1 <= i")
OTHERS = ("i == 0", "i < 1", "i <= 0", "0 == i")
GREATEST = ("i < n - 1", "i != n - 1", "i + 1 < n", "n > i + 1", "n - 1 > i")
WRITTEN = {
    **{f"{head.strip()} {test}": f"{HEAD}{head}{BODY.format(test=test, far='- 1')}"
       for head in (UP, DOWN) for test in LEAST},
    **{f"{head.strip()} {test}": f"{HEAD}{head}{BODY.format(test=test, far='+ 0')}"
       for head in (UP, DOWN) for test in (*OTHERS, "i == n - 1", "i >= n - 1", "i + 1 == n")},
    **{f"{head.strip()} {test}": f"{HEAD}{head}{BODY.format(test=test, far='+ 1')}"
       for head in (UP, DOWN) for test in GREATEST},
    "by name, twice": f"{HEAD}{UP}    t = i > 0\n    if t:\n        s += x[i - 1]\n    s *= 0.5\n    if t:\n"
                      "        s += 0.1\n    else:\n        s -= x[i]",
    "a name that is read elsewhere": f"{HEAD}t = True\nfor k in range(2):\n    s += 1.0\n{UP}    u = i > 0\n    if u:\n"
                                     "        s += x[i - 1]\n    s += 0.1 * u",
    "from the third": f"{HEAD}for i in range(2, n):\n    if i > 2:\n        s += x[i - 3]\n    s = 0.3 * s + x[i]",
    "down to the second": f"{HEAD}for i in range(n - 1, 0, -1):\n    if i == 1:\n        s *= 2.0\n    s += x[i]",
    "both ends": f"{HEAD}{UP}    if i > 0:\n        s += x[i - 1]\n    if i < n - 1:\n        s = 0.3 * s + x[i + 1]",
    "in a loop": f"{HEAD}for k in range(3):\n" + textwrap.indent(f"{UP}{BODY.format(test='i > 0', far='- 1')}", "    "),
}  # fmt: skip
LEFT = {
    "others do nothing": f"{HEAD}{UP}    t = i == 0\n    if t:\n        s += x[i] * x[i]",
    "another number": f"{HEAD}{UP}{BODY.format(test='i > 2', far='- 1')}",
    "the second one": f"{HEAD}{UP}{BODY.format(test='i == 1', far='- 1')}",
    "up to the second one": f"{HEAD}{UP}{BODY.format(test='i <= 1', far='- 1')}",
    "not of all others": f"{HEAD}{UP}{BODY.format(test='i == 3', far='- 1')}",
    "before the last but one": f"{HEAD}{UP}{BODY.format(test='i < n - 2', far='+ 1')}",
    "of numbers": f"{HEAD}{UP}    if i > 0:\n        s += x[i - 1]\n    if x[i] > 0.0:\n        s += 1.0",
    "a branch in the branch": f"{HEAD}{UP}    if i > 0:\n        if x[i] > 0.0:\n            s += x[i - 1]",
    "a loop inside": f"{HEAD}{UP}    if i > 0:\n        s += x[i - 1]\n    for k in range(2):\n        s *= 0.5",
    "left by a break": f"{HEAD}{UP}    if i > 0:\n        s += x[i - 1]\n        break",
    "an end that changes": f"{HEAD}{UP}    if i < n - 1:\n        s += x[i + 1]\n    n = 3",
    "a test that changes": f"{HEAD}{UP}    t = i > 0\n    t = x[i] > 0\n    if t:\n        s += 1.0",
    "steps of two": f"{HEAD}for i in range(0, n, 2):\n{BODY.format(test='i > 0', far='- 1')}",
    "from an unknown one": f"{HEAD}k = n // 2\nfor i in range(k, n):\n{BODY.format(test='i > 0', far='- 1')}",
    "always so": f"{HEAD}for i in range(1, n):\n{BODY.format(test='i > 0', far='- 1')}",
    "threads may share it": f"{HEAD}for i in prange(0, range(n)):\n{BODY.format(test='i > 0', far='- 1')}",
    "an index that changes": f"{HEAD}{UP}    i = i + 0\n    if i > 0:\n        s += 1.0",
    "a function in a loop": f"{HEAD}for k in range(2):\n    for i in range(n):\n        if i > 0:\n"
                            "            s += math.exp(x[i])",
}  # fmt: skip


def rewrite(body):
    text = "def run(x):\n" + textwrap.indent(f"{body}\nreturn s", "    ")
    return text_of(function_of(text)), text_of(peel(function_of(text)))


@pytest.mark.parametrize("what", WRITTEN)
def test_iterations_apart_have_the_same_bits_and_no_branch_is_left_in_the_loop(what):
    before, after = rewrite(WRITTEN[what])
    loops = after.split("    for i in ")[1:]
    assert len(loops) == 1
    assert not re.search(r"^ {8,}if ", loops[0].partition("\n    if ")[0], re.MULTILINE)
    runs = []
    for text in (before, after):
        names = {}
        exec(text, names)
        runs.append(names["run"])
    for n in range(9):
        x = np.random.default_rng(n).normal(size=n)
        assert runs[0](x) == runs[1](x), n


@pytest.mark.parametrize("what", LEFT)
def test_what_is_no_end_stays(what):
    before, after = rewrite(LEFT[what])
    assert before == after


def test_long_loops_are_not_written_twice():
    before, after = rewrite(f"{HEAD}{UP}    if i > 0:\n" + "        s += x[i - 1]\n" * 60)
    assert before == after


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


def test_the_gradient_of_neighbours_has_no_zeros_and_writes_each_element_once():
    text = re.sub(r"  # line .*", "", contad.source(walk, np.ones(4), 0.3))
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
