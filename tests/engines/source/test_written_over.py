"""Which adjoints lie where the values lie whose adjoints they are."""

import linecache
import math
import random

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.writing import written_over
from contad.engines.source.writing.written_over import write_over
from contad.functions.python_copy import python_twin
from tests.engines.source.agreement import agree, as_python, flat, request

OVER = {
    "a product": """
        z = x @ y
        z_bar = np.empty(z.shape)
        for i in range(n):
            for j in range(n):
                t += z[i, j]
                z_bar[i, j] = z[i, j] * t
        t += z_bar[0, 0]
    """,
    "backwards, in parts, with columns behind them": """
        z = x @ y
        z_bar = lent_empty(2, z.shape)
        for i in range(n - 1, -1, -1):
            for c in range(k):
                first = c * m
                last = (c + 1) * m
                for j in range(first, last):
                    r = z[i, j]
                    z_bar[i, j] = r * r
            for j in range(k * m, z_bar.shape[1]):
                z_bar[i, j] = 0.0
        t += np.sum(z_bar)
    """,
    "an array that loops fill": """
        z = lent_empty(1, (n,))
        for i in range(n):
            z[i] = t * x[i, 0]
        t = z[0] * z[n - 1]
        z_bar = lent_empty(2, z.shape)
        for i in range(n):
            if t > 0.5:
                t -= 0.5 * z[i]
            z_bar[i] = z[i] * t
        t += np.sum(z_bar)
    """,
    "read before, in the row": """
        z = x @ y
        t = z[n - 1, 0]
        z_bar = np.empty(z.shape)
        for i in range(z.shape[0]):
            s = z[i, 0]
            for c in range(z.shape[1]):
                if z[i, c] > s:
                    s = z[i, c]
            for j in range(n):
                z_bar[i, j] = s * z[i, j]
            z_bar[i, 0] += t
            t += z_bar[i, 1]
        t += z_bar[1, 1] * z.shape[0]
    """,
    "three axes": """
        z = np.zeros((n, k, m))
        z[0, 1, 1] = t
        z_bar = np.empty(z.shape)
        for c in range(k):
            for i in range(n):
                r = z[i, c, 0]
                for j in range(m):
                    z_bar[i, c, j] = r + 2.0 * z[i, c, j]
                r = z_bar[i, c, 0]
        t += np.sum(z_bar)
    """,
}
OTHERS = {  # where one memory would give other numbers
    "read behind the loop": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t * z[i, j]
        t += z[0, 0]
    """,
    "handed out": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t * z[i, j]
        return np.sum(z_bar), z
    """,
    "the row before": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t * z[i - 1, j]
    """,
    "the column before": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t * z[i, j - 1]
    """,
    "the row of a column": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t * z[j, i]
    """,
    "the row before, in the row": """
        for i in range(n):
            s = z[i - 1, 1]
            for j in range(n):
                z_bar[i, j] = s
    """,
    "behind the element": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = 2.0 * t
                t += z[i, j]
    """,
    "behind the row": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = 2.0 * t
            t += z[i, 0]
    """,
    "the adjoint of the next row as well": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = z[i, j] * t
                z_bar[(i + 1) % n, j] = t
    """,
    "the adjoint of another row, behind this one": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = z[i, j] * t
            z_bar[(i + 1) % n, 0] = t
    """,
    "the adjoint of another column": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = z[i, j] * t
                z_bar[i, (j + 1) % n] = t
    """,
    "the adjoint is handed on": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = z[i, j] * t
            add(z_bar, 1.0)
    """,
    "more than once": """
        for i in range(n):
            for c in range(k):
                for j in range(n):
                    z_bar[i, j] = z[i, j] * t
    """,
    "parts that overlap": """
        for i in range(n):
            for c in range(k):
                first = c * m
                last = (c + 2) * m
                for j in range(first, last):
                    z_bar[i, j] = z[i, j] * t
    """,
    "a column in a part": """
        for i in range(n):
            for c in range(k):
                t += z[i, 0]
                first = c * m
                last = (c + 1) * m
                for j in range(first, last):
                    z_bar[i, j] = t
    """,
    "the index changes": """
        for i in range(n):
            for j in range(n):
                i = k
                z_bar[i, j] = z[i, j] * t
    """,
    "a number of an earlier row of columns": """
        for i in range(n):
            for j in range(min(n, 1 + int(z[i - 1, 0] > 0.0))):
                z_bar[i, j] = -0.5 * t
        t += z_bar[0, 0]
    """,
    "a part of it": """
        for i in range(n):
            r = z[i]
            for j in range(n):
                z_bar[i, j] = t
                t += r[j]
    """,
    "another name": """
        turned = z.T
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t
        t += turned[0, 1]
    """,
    "a name of the same memory": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t
        t += same[0, 1]
    """,
    "written, too": """
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t
                z[i, j] = 3.0
    """,
}
KEPT = {  # where that is not known
    "an argument": """
        x_bar = np.empty(x.shape)
        for i in range(n):
            for j in range(n):
                x_bar[i, j] = x[i, j]
    """,
    "a part of an argument": """
        z = x[1:]
        z_bar = np.empty(z.shape)
        for i in range(2):
            for j in range(n):
                z_bar[i, j] = z[i, j]
    """,
    "one of two arrays": """
        z = x @ y
        z = y @ x
        z_bar = np.empty(z.shape)
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = z[i, j]
    """,
    "what the thread lends is not handed out": """
        z = lent_empty(1, (n, n))
        z_bar = np.empty(z.shape)
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t
    """,
    "numbers of another kind": """
        z = np.empty((n, n), int)
        z_bar = np.empty(z.shape)
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = t
    """,
    "in each iteration": """
        for c in range(k):
            z = x @ y
            z_bar = np.empty(z.shape)
            for i in range(n):
                for j in range(n):
                    z_bar[i, j] = t
            t += z_bar[0, 0]
    """,
    "by threads": """
        z = x @ y
        z_bar = np.empty(z.shape)
        for i in prange(0, range(n)):
            for j in range(n):
                z_bar[i, j] = z[i, j]
    """,
    "handed on before": """
        z = x @ y
        keep(z)
        z_bar = np.empty(z.shape)
        for i in range(n):
            for j in range(n):
                z_bar[i, j] = z[i, j]
    """,
    "in some rows": """
        z = x @ y
        z_bar = np.empty(z.shape)
        for i in range(n):
            if t > 0.0:
                for j in range(n):
                    z_bar[i, j] = z[i, j]
    """,
    "not what is known to be of numbers": """
        u = x @ y
        u_bar = np.empty(u.shape)
        for i in range(n):
            for j in range(n):
                u_bar[i, j] = u[i, j]
    """,
}
AXES = {"x": 2, "y": 2, "z": 2, "turned": 2, "same": 2}
ROOTS = {x: frozenset((x,)) for x in ("x", "y", "z", "z_bar", "x_bar", "u", "u_bar")} | {
    "turned": frozenset("z"), "same": frozenset("zx"),
}  # fmt: skip


def _function(text, first=()):
    body = [line[4:] for line in text.splitlines() if line.strip()]
    return ["def run(x, y, t, n, m, k):", *first, *body, "    return t"]


def _of_product(case):
    made = ["    z = x @ y", "    z_bar = np.empty(z.shape)"]
    if "same" in OTHERS[case]:
        made.insert(1, "    same = z")  # as a function of another module may give it
    return _function(OTHERS[case], made)


def _over(lines, axes=2):
    return write_over(lines, AXES | {"z": axes}, ROOTS)


def _outcome(lines):
    """What a function gives, with the adjoint at its end."""
    ending = [line.replace("return t", "return t, z_bar") for line in lines]
    names = {"np": np, "lent_empty": lambda k, shape: np.empty(shape), "add": lambda z, t: z.__iadd__(t)}
    exec("\n".join(ending), names)
    rng = np.random.default_rng(4)
    found = names["run"](rng.normal(size=(6, 4)), rng.normal(size=(4, 6)), 0.7, 6, 2, 2)
    return [np.copy(x) for x in found]


@pytest.mark.parametrize("case", OVER)
def test_an_adjoint_is_written_over_its_array(case):
    before = _function(OVER[case])
    after = _over(before, 1 if "(n,)" in OVER[case] else 3 if "m))" in OVER[case] else 2)
    (changed,) = (k for k, line in enumerate(after) if line != before[k])
    assert after[changed] == "    z_bar = z"
    for found, expected in zip(_outcome(after), _outcome(before), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("case", OTHERS)
def test_what_is_read_later_keeps_its_memory(case):
    before = _of_product(case)
    assert _over(before) == before
    wrong = [line.replace("z_bar = np.empty(z.shape)", "z_bar = z") for line in before]
    with np.errstate(all="ignore"):
        pairs = zip(_outcome(wrong), _outcome([x.replace("np.empty", "np.zeros") for x in before]), strict=True)
        differs = [not np.array_equal(x, y) for x, y in pairs]
    assert any(differs)


@pytest.mark.parametrize("case", KEPT)
def test_memory_of_which_too_little_is_known_is_kept(case):
    before = _function(KEPT[case])
    assert _over(before) == before


@numba.njit
def squares_of_rows(x, q, w):
    z = x @ q
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(q.shape[1]):
            total += w[j] * z[i, j] ** 2
    return total


@numba.njit
def read_twice(x, q, w):
    z = x @ q
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(q.shape[1]):
            total += w[j] * z[i, j] ** 2
    for i in range(x.shape[0]):
        for j in range(q.shape[1]):
            total *= 1.0 + 0.1 * z[i, j] ** 2
    return total


@numba.njit
def rows_and_what_they_are(x, q, w):
    z = x @ q
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(q.shape[1]):
            total += w[j] * z[i, j] ** 2
    return total, z


def _arguments(n):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 3)), rng.normal(size=(3, 4)), rng.normal(size=4)


def _text(function, **options):
    return derivative_of(request(function, *_arguments(3), argnums=(0, 1, 2), **options)).source()


def test_a_gradient_makes_no_array_for_such_an_adjoint():
    text = _text(squares_of_rows)
    assert "    product_bar = product\n" in text and "lent_empty" not in text and "lent_zeros" not in text
    for n in (1, 5):
        agree(squares_of_rows, *_arguments(n), argnums=(0, 1, 2))
    for n in (5, 9000):  # of which the thread would lend
        agree(squares_of_rows, *_arguments(n), argnums=(0, 1, 2), compiled=True)


def test_what_else_is_read_or_returned_keeps_its_memory():
    for function, has_aux in ((read_twice, False), (rows_and_what_they_are, True)):
        assert "_bar = product\n" not in _text(function, has_aux=has_aux)
    agree(read_twice, *_arguments(5), argnums=(0, 1, 2))


def test_a_read_that_is_overlooked_is_found(monkeypatch):
    args = _arguments(5)
    asked = request(read_twice, *args, argnums=(0, 1, 2))
    _, expected = as_python(asked)(*args)
    monkeypatch.setattr(written_over, "_may_be_written", lambda arrays, name, line, axes: True)
    _, found = as_python(asked)(*args)
    assert not np.allclose(flat(found), flat(expected))


# ---- random programs -------------------------------------------------------------------------------------------------
TERMS = (
    "s += z[i, j] ** 2", "s += (z[i, j] - w[0]) ** 2", "s += math.exp(0.1 * z[i, j])", "s += z[i, j] * 0.3 * y[0]",
    "s += z[i, j] * z[i, 0]", "s += z[i, j] * z[i - 1, j]", "s += z[i, j] * z[0, j]", "s = max(s, z[i, j])",
    "s += math.sin(z[i, j]) if z[i, j] > 0.0 else 0.5",
)  # fmt: skip
COLUMNS = ("range(q.shape[1])", "range(k)", "range(1, k)", "range(c * m, (c + 1) * m)", "range(c * m, (c + 1) * m)")


def program(seed):
    """Rows of a product, or of what a loop fills, read in one or two nests of loops, or besides."""
    choose = random.Random(seed).choice
    lines = ["def f(x, q, w, y):", "    n, k, m = x.shape[0], len(w), y.shape[0]", "    z = x @ q"]
    if choose((True, False, False)):
        lines[-1:] = ["    z = np.empty((n, q.shape[1]))", "    for i in range(n):"]
        lines += ["        for j in range(q.shape[1]):", "            z[i, j] = math.sin(x[i, 0] + q[1, j])"]
    lines.append(f"    total = {choose(('0.0', '0.0', '0.0', 'z[0, 0]'))}")
    for _ in range(choose((1, 1, 1, 1, 1, 2))):
        lines.append(f"    for i in {choose(('range(n)', 'range(n)', 'range(1, n)', 'range(n - 1, -1, -1)'))}:")
        lines.append(f"        s = {choose(('0.0', '0.0', '0.0', 'z[i, 0]'))}")
        for columns in (choose(COLUMNS) for _ in range(choose((1, 1, 1, 2)))):
            indent = " " * 8
            if "c *" in columns:
                lines.append(f"{indent}for c in range(k):")
                indent += "    "
                lines.append(f"{indent}s = w[c]")
            lines.append(f"{indent}for j in {columns}:")
            lines += [f"{indent}    {choose(TERMS)}" for _ in range(choose((1, 1, 2)))]
            lines.append(f"{indent}total += s * w[1]")
    return "\n".join([*lines, f"    return total{choose(('', '', '', '', ' + z[0, 0]'))}"])


def is_over(seed):
    """Whether the adjoint of a random program is written over; its gradient is that of the engine `records`."""
    text, name, names = program(seed), f"<program {seed} of rows>", {"np": np, "math": math}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)
    f, rng = numba.njit(names["f"]), np.random.default_rng(seed)
    k, m, more = rng.integers(2, 4), rng.integers(2, 4), rng.integers(0, 3)
    shapes = ((rng.integers(2, 6), 2), (2, k * m + more), k, m)
    args = [rng.normal(size=shape) for shape in shapes]
    asked = request(f, *args, argnums=(0, 1, 2, 3))
    value, gradient = as_python(asked)(*args)
    known, slopes = contad.value_and_grad(python_twin(f), (0, 1, 2, 3), engine="records")(*args)
    size = max(1e-3, np.abs(flat(slopes)).max())
    np.testing.assert_allclose(value, known, rtol=1e-10, err_msg=text)
    np.testing.assert_allclose(flat(gradient), flat(slopes), rtol=1e-9, atol=1e-10 * size, err_msg=text)
    return any(f"    {x}_bar = {x}\n" in derivative_of(asked).source() for x in ("z", "product"))


def test_random_programs_of_rows():
    assert sum(is_over(seed) for seed in (0, 1, 2, 3, 13, 24, 34, 38, 71)) > 2


@pytest.mark.long
@pytest.mark.parametrize("start", range(100, 900, 100))
def test_more_random_programs_of_rows(start):
    assert sum(is_over(seed) for seed in range(start, start + 100)) > 0
