"""Which adjoints of matrices a loop clears row by row, instead of a pass over all of their memory."""

import itertools

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.writing.cleared_rows import clear_rows, save_zeros
from contad.engines.source.writing.first_writes import FirstWrites
from tests.engines.source.lines_of_functions import lines_of

CLEARED = {
    "forwards": """
        x_bar = np.zeros(x.shape)
        length = x.shape[0]
        for i in range(length):
            for j in range(m):
                x_bar[i, j] += t
    """,
    "backwards, and read later on": """
        y_bar = lent_zeros(2, (n, m))
        for i in range(n - 1, -1, -1):
            for j in range(k):
                y_bar[i, j + 1] += t
            t += y_bar[i, 0]
        t += y_bar[0, 0]
    """,
    "of a product": """
        product = x @ y
        z_bar = lent_zeros(2, product.shape)
        for i in range(x.shape[0]):
            for j in range(k):
                z_bar[i, j] += t
    """,
    "in each iteration of a loop around": """
        for c in range(k):
            x_bar = np.zeros(x.shape)
            for i in range(x.shape[0]):
                for j in range(m):
                    x_bar[i, j] += t
    """,
}
BEGUN = {
    "the first columns": ("y_length", """
        x_bar = np.zeros(x.shape)
        y_length = y.shape[0]
        for i in range(x.shape[0]):
            t = 0.5 * t
            for j in range(y_length):
                x_bar[i, j] += t
            x_bar[i, 0] += t
    """),
    "column by column, backwards": ("y_length", """
        y_length = len(y)
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0] - 1, -1, -1):
            for j in range(y_length - 1, -1, -1):
                x_bar[i, j] += t
    """),
    "part by part": ("y_length * k", """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for c in range(y_length):
                first = c * k
                last = (c + 1) * k
                t += 1.0
                for j in range(first, last):
                    x_bar[i, j] += t
    """),
}  # fmt: skip
ALL = {
    "of a length that may be negative": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(m):
                x_bar[i, j] += t
    """,
    "of a length that changes": """
        y_length = y.shape[0]
        y_length = z.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(y_length):
                x_bar[i, j] += t
    """,
    "not the first columns": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(1, y_length):
                x_bar[i, j] += t
    """,
    "parts that overlap": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for c in range(y_length):
                first = c * k
                last = (c + 2) * k
                for j in range(first, last):
                    x_bar[i, j] += t
    """,
    "parts of lengths that change": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for c in range(y_length):
                first = c * w
                last = (c + 1) * w
                for j in range(first, last):
                    x_bar[i, j] += t
                w = w + 1
    """,
    "parts that begin elsewhere": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for c in range(y_length):
                first = c * k
                first = first + 1
                last = (c + 1) * k
                for j in range(first, last):
                    x_bar[i, j] += t
    """,
    "more than once": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for c in range(k):
                for j in range(y_length):
                    x_bar[i, j] += t
    """,
    "in some iterations": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(y_length):
                if t > 0:
                    x_bar[i, j] += t
    """,
    "other columns as well": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(y_length):
                x_bar[i, j] += t
                x_bar[i, 0] += t
    """,
    "a multiple of what is there": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(y_length):
                x_bar[i, j] += x_bar[i, 0]
    """,
    "another column": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(y_length):
                x_bar[i, j + 1] += t
    """,
    "a column is read before": """
        y_length = y.shape[0]
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            t = x_bar[i, 0]
            for j in range(y_length):
                x_bar[i, j] += t
    """,
}
LEFT = {
    "not the first row": """
        x_bar = np.zeros(x.shape)
        for i in range(1, x.shape[0]):
            for j in range(m):
                x_bar[i, j] += t
    """,
    "another number of rows": """
        x_bar = np.zeros(x.shape)
        for i in range(y.shape[0]):
            for j in range(m):
                x_bar[i, j] += t
    """,
    "the columns of a product": """
        product = x @ y
        z_bar = lent_zeros(2, product.shape)
        for i in range(y.shape[0]):
            for j in range(k):
                z_bar[i, j] += t
    """,
    "a product with another matrix": """
        x = x[1:]
        product = x @ y
        z_bar = lent_zeros(2, product.shape)
        for i in range(x.shape[0]):
            for j in range(k):
                z_bar[i, j] += t
    """,
    "another row as well": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(m):
                x_bar[i, j] += t
                x_bar[i - 1, j] += t
    """,
    "columns": """
        x_bar = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                x_bar[j, i] += t
    """,
    "more than once": """
        x_bar = np.zeros((n, m))
        for c in range(k):
            for i in range(n):
                for j in range(m):
                    x_bar[i, j] += t
    """,
    "named whole": """
        x_bar = np.zeros((n, m))
        for i in range(n):
            for j in range(m):
                x_bar[i, j] += t
            add_right(y, x, x_bar)
    """,
    "a view of it": """
        x_bar = np.zeros((n, m))
        turned = x_bar.T
        for i in range(n):
            for j in range(m):
                x_bar[i, j] += t
    """,
    "a row of it": """
        x_bar = np.zeros((n, m))
        for i in range(n):
            for j in range(m):
                x_bar[i, 1:] += t
    """,
    "the index changes": """
        x_bar = np.zeros((n, m))
        for i in range(n):
            i = k
            for j in range(m):
                x_bar[i, j] += t
    """,
    "until a break": """
        x_bar = np.zeros((n, m))
        for i in range(n):
            if t > 0:
                break
            for j in range(m):
                x_bar[i, j] += t
    """,
    "threads may share it": """
        x_bar = np.zeros((n, m))
        for i in prange(0, range(n)):
            for j in range(m):
                x_bar[i, j] += t
    """,
    "a number of a row": """
        x_bar = np.zeros((n, m))
        for i in range(n):
            x_bar[i, k] += t
    """,
    "a vector": """
        x_bar = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(m):
                x_bar[i] += t
    """,
    "three axes": """
        x_bar = np.zeros((n, m, k))
        for i in range(n):
            for j in range(m):
                x_bar[i, j] += t
    """,
}


def _names():
    count = itertools.count(1)
    return lambda name: f"{name}_{next(count)}"


@pytest.mark.parametrize("case", CLEARED)
def test_a_loop_over_all_rows_clears_them(case):
    before = lines_of(CLEARED[case])
    after = clear_rows(before, FirstWrites.read(before), _names())
    assert "zeros" not in "".join(after)
    (at,) = (k for k, line in enumerate(after) if "column" in line and line.strip().startswith("for"))
    assert after[at - 1].strip().startswith("for i in")
    name = after[at + 1].split("[")[0].strip()
    assert after[at].strip() == f"for column_1 in range({name}.shape[1]):"
    assert after[at + 1].strip() == f"{name}[i, column_1] = 0.0"
    assert [x.replace("empty(", "zeros(", 1) for x in after[:at] + after[at + 2 :]] == before


@pytest.mark.parametrize("case", BEGUN)
def test_what_a_row_begins_with_is_written_and_the_rest_of_it_cleared(case):
    columns, text = BEGUN[case]
    before = lines_of(text)
    after = save_zeros(before, _names())
    (at,) = (k for k, line in enumerate(after) if "column" in line and line.strip().startswith("for"))
    assert after[at].strip() == f"for column_1 in range({columns}, x_bar.shape[1]):"
    assert after[at + 1].strip() == "x_bar[i, column_1] = 0.0"
    left = [x.replace("empty(", "zeros(", 1) for x in after[:at] + after[at + 2 :]]
    (changed,) = (k for k, line in enumerate(before) if line != left[k])
    assert left[changed] == before[changed].replace("x_bar[i, j] += t", "x_bar[i, j] = t")
    assert changed == at - 1  # and nothing names it before


@pytest.mark.parametrize("case", ALL)
def test_other_rows_are_cleared_whole_before(case):
    before = lines_of(ALL[case])
    after = save_zeros(before, _names())
    (at,) = (k for k, line in enumerate(after) if "column" in line and line.strip().startswith("for"))
    assert after[at].strip() == "for column_1 in range(x_bar.shape[1]):"
    assert after[at - 1].strip().startswith("for i in")
    assert [x.replace("empty(", "zeros(", 1) for x in after[:at] + after[at + 2 :]] == before


@pytest.mark.parametrize("case", LEFT)
def test_other_zeros_are_made(case):
    before = lines_of(LEFT[case])
    assert clear_rows(before, FirstWrites.read(before), _names()) == before


@numba.njit
def mixture(x, q, heights, w):
    """The rows of the product are read in parts, of which those of the last columns may be none."""
    scaled = x @ q
    total = 0.0
    for i in range(x.shape[0]):
        for c in range(len(heights)):
            squares = 0.0
            for j in range(c * w, (c + 1) * w):
                squares += scaled[i, j] ** 2
            total += heights[c] * squares
        total += scaled[i, 0]
    return total


@pytest.mark.parametrize("columns", [6, 9])
def test_the_adjoint_of_a_product_is_no_pass_over_zeros(columns):
    """Also of columns that nothing reads: their adjoints are 0, whatever stood in the memory that the thread lends."""
    rng = np.random.default_rng(3)
    heights = rng.standard_normal(3)
    source = contad.source(mixture, np.ones((2, 3)), np.ones((3, 6)), heights, 2, argnums=(0, 1))
    assert "lent_zeros" not in source
    assert source.count("product_bar[i, column] = 0.0") == 1
    gradient = contad.grad(mixture, argnums=(0, 1))
    for n in (0, 1, 5, 2000, 3000):  # the larger ones are lent
        x, q = rng.standard_normal((n, 3)), rng.standard_normal((3, columns))
        z_bar = np.zeros((n, columns))
        z_bar[:, :6] = 2.0 * (x @ q)[:, :6] * np.repeat(heights, 2)
        z_bar[:, 0] += 1.0
        found = gradient(x, q, heights, 2)
        np.testing.assert_allclose(found[0], z_bar @ q.T, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found[1], x.T @ z_bar, rtol=1e-11, atol=1e-11)
