"""Which adjoints need no zeros: those that a loop over all of their elements writes first."""

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.passes.dead_stores import remove_dead_zeros
from tests.engines.source.trees import function_of, text_of

WRITTEN = {
    "forwards": """
        x_bar = np.zeros(x.shape)
        length = x.shape[0]
        for i in range(length):
            x_bar[i] += t
    """,
    "backwards, in a copy": """
        x = x.copy()
        x_bar = np.zeros(x.shape)
        for i in range(len(x) - 1, -1, -1):
            x_bar[i] += t
    """,
    "two axes, the second one first": """
        y_bar = lent_zeros(3, (n, m))
        for j in range(m):
            for i in range(n):
                y_bar[i, j] += t
    """,
    "again at the same place": """
        x_bar = np.zeros(x.shape)
        length = x.shape[0]
        for i in range(length):
            x_bar[i] += t
            if t > 0:
                x_bar[i] += x_bar[i]
        x_bar[0] += t
    """,
    "a length that is checked": """
        length = y.shape[0]
        rows = x.shape[0]
        z = lent_empty(0, (x.shape[0],))
        z_bar = lent_zeros(1, z.shape)
        differs = length != rows
        if differs:
            raise ValueError
        for i in range(length):
            z_bar[i] += t
    """,
    "a length that the function checks itself": """
        length = y.shape[0]
        rows = x.shape[0]
        z_bar = lent_zeros(1, (x.shape[0],))
        wrong = not (length == rows)
        if wrong:
            if bool(True):
                raise ValueError
        for i in range(length):
            z_bar[i] += t
    """,
    "threads may share it": """
        x_bar = np.zeros(x.shape)
        for i in prange(0, range(x.shape[0])):
            x_bar[i] += t
    """,
}
NEEDED = {
    "lengths that may not be the same": """
        length = y.shape[0]
        rows = x.shape[0]
        z_bar = lent_zeros(1, (x.shape[0],))
        wrong = not (length != rows)
        if wrong:
            raise ValueError
        for i in range(length):
            z_bar[i] += t
    """,
    "lengths of which some may differ": """
        length = y.shape[0]
        rows = x.shape[0]
        z_bar = lent_zeros(1, (x.shape[0],))
        if length != rows:
            if t > 0:
                raise ValueError
        for i in range(length):
            z_bar[i] += t
    """,
    "not the first element": """
        x_bar = np.zeros(x.shape)
        length = x.shape[0]
        for i in range(1, length):
            x_bar[i] += t
    """,
    "not the last element": """
        x_bar = np.zeros(x.shape)
        length = x.shape[0]
        for i in range(length - 1):
            x_bar[i] += t
    """,
    "a length that is checked too late": """
        n = y.shape[0]
        z_bar = lent_zeros(1, (x.shape[0],))
        for i in range(n):
            z_bar[i] += t
        if n != x.shape[0]:
            raise ValueError
    """,
    "a length that is the same in another case": """
        n = y.shape[0]
        z_bar = lent_zeros(1, (x.shape[0],))
        if n == x.shape[0]:
            raise ValueError
        for i in range(n):
            z_bar[i] += t
    """,
    "the length of another array": """
        x_bar = np.zeros(x.shape)
        length = y.shape[0]
        for i in range(length):
            x_bar[i] += t
    """,
    "the other axis": """
        x_bar = np.zeros(x.shape)
        length = x.shape[1]
        for i in range(length):
            x_bar[i] += t
    """,
    "axes exchanged": """
        y_bar = np.zeros((n, m))
        for j in range(m):
            for i in range(n):
                y_bar[j, i] += t
    """,
    "more than once": """
        x_bar = np.zeros(x.shape)
        for k in range(3):
            for i in range(x.shape[0]):
                x_bar[i] += t
    """,
    "on a diagonal": """
        y_bar = np.zeros((n, n))
        for i in range(n):
            y_bar[i, i] += t
    """,
    "where a test holds": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            if t > 0:
                x_bar[i] += t
    """,
    "until a break": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            if t > 0:
                break
            x_bar[i] += t
    """,
    "read before": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            s = x_bar[i]
            x_bar[i] += t
    """,
    "by its own value": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            x_bar[i] += 1 - x_bar[i]
    """,
    "another element before": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            x_bar[i] += t
            x_bar[i - 1] += t
    """,
    "named before": """
        x_bar = np.zeros(x.shape)
        z_bar = x_bar[1:]
        for i in range(x.shape[0]):
            x_bar[i] += t
    """,
    "the index changes": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            i = k
            x_bar[i] += t
    """,
    "another array in between": """
        x_bar = np.zeros(x.shape)
        x = x[1:]
        for i in range(x.shape[0]):
            x_bar[i] += t
    """,
    "only in a branch": """
        x_bar = np.zeros(x.shape)
        if t > 0:
            for i in range(x.shape[0]):
                x_bar[i] += t
    """,
}


def rewrite(body):
    """The text of a function as it is printed, and after the pass."""
    text = f"def run(x, y, t, n, m, k):{body.rstrip()}\n        return x_bar"
    return text_of(function_of(text)), text_of(remove_dead_zeros(function_of(text)))


@pytest.mark.parametrize("case", WRITTEN)
def test_zeros_that_are_written_over_are_not_made(case):
    before, after = rewrite(WRITTEN[case])
    assert sum(x != y for x, y in zip(before.split("\n"), after.split("\n"), strict=True)) == 2
    assert "zeros" not in after and after.count("empty(") == before.count("empty(") + 1


@pytest.mark.parametrize("case", NEEDED)
def test_zeros_that_something_reads_are_made(case):
    before, after = rewrite(NEEDED[case])
    assert after == before


@numba.njit
def energy(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += np.sin(x[i, j]) * w[j] * x[i, j]
    return total


def test_the_gradient_of_what_a_loop_reads_once_is_written_once():
    x, w = np.array([[1.0, -2.0, 0.5], [0.3, 4.0, -1.0]]), np.array([2.0, -1.0, 0.7])
    source = contad.source(contad.grad(energy, (0, 1)), x, w)
    assert source.count("np.zeros(") == 1 and source.count("np.empty(") == 1
    found = contad.grad(energy, (0, 1))(x, w)
    np.testing.assert_allclose(found[0], (np.cos(x) * x + np.sin(x)) * w, rtol=1e-14)
    np.testing.assert_allclose(found[1], np.sum(np.sin(x) * x, axis=0), rtol=1e-14)
