"""Products whose rows wait for the loop behind them: the same derivative, and one pass over a narrow matrix."""

import linecache
import math
import random

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source import build, source
from contad.engines.source.build import derivative_of
from contad.engines.source.writing import derivative_text, products_by_rows
from tests.engines.source.agreement import agree, as_python, flat, request

N, P = 211, 5
DRAW = np.random.default_rng(29)
X, B, Y = DRAW.standard_normal((N, P)), DRAW.standard_normal(P), DRAW.standard_normal(N)
BY_ROWS = "put_product_of_rows", "add_right_of_rows"


@njit
def squares(b, x, y):
    residual = y - x @ b
    return -0.5 * np.sum(residual * residual)


@njit
def in_loops(b, x, y):
    """With other statements around, and an adjoint that starts with something else."""
    z = x @ b
    scale, total = y[0] * b[0], 0.0
    for i in range(len(x)):
        t = z[i] - y[i]
        if t > 0.0:
            total += t * t * scale
        total += np.sin(z[i]) * x[i, 0]
    return total + np.sum(b * b)


@njit
def twice(b, x, y):
    """Two products of the same matrix, one after the other."""
    first = y - x @ b
    s = np.sum(first * first)
    second = x @ (b * s)
    return s + np.sum(second * second)


@njit
def of_two(b, x, y):
    """Two products in one loop, of which one is by rows."""
    return np.sum((x @ b) * (x[:, ::-1] @ b) * y)


@njit
def of_the_vector(b, x, y):
    """The adjoint of the vector is added to in the loop as well."""
    z, total = x @ b, 0.0
    for i in range(len(x)):
        total += z[i] * z[i] * y[i] * b[i % 3]
    return total


@njit
def with_a_prior(b, x, y):
    """The adjoint of the vector begins behind the loop."""
    z = x @ b
    return np.sum(z * z * y) - 0.5 * np.sum(b * b)


@njit
def bernoulli(b, x, y):
    z = x @ b
    return np.sum(y * z - np.log1p(np.exp(z))) - 0.5 * np.sum(b * b)


@njit
def probit(b, x, y):
    """Functions in branches, which are gathered where they go along rows."""
    z, total = x @ b, 0.0
    for i in range(len(x)):
        total += math.log1p(math.exp(-z[i])) if y[i] > 0.0 else math.log1p(math.exp(z[i])) * y[i]
    return total


# how many products are by rows, of how many
JOINED = {
    squares: (1, 1), in_loops: (1, 1), of_the_vector: (1, 1), twice: (1, 2), of_two: (1, 2), with_a_prior: (1, 1),
    bernoulli: (1, 1), probit: (1, 1),
}  # fmt: skip


@njit
def of_neighbours(b, x, y):
    z, total = x @ b, 0.0
    for i in range(1, len(x)):
        total += z[i] * z[i - 1] * y[i]
    return total


@njit
def backwards(b, x, y):
    z, total = x @ b, 0.0
    for i in range(len(x) - 1, -1, -1):
        total += z[i] * z[i] * y[i]
    return total


@njit
def of_the_first(b, x, y):
    z, total = x @ b, 0.0
    for i in range(len(x)):
        total += z[i] * z[i] * z[0]
    return total


@njit
def of_some(b, x, y):
    z, total = x @ b, 0.0
    for i in range(len(x) // 2):
        total += z[i] * z[i] * y[i]
    return total


@njit
def of_others(b, x, y):
    z, total = x @ b, 0.0
    for i in range(len(x)):
        total += z[i] * z[7 * i % len(x)]
    return total


@njit
def written(b, x, y):
    """The vector is another one when the rows would be met."""
    c = b * 1.5
    z, total = x @ c, 0.0
    c[0] = y[0]
    for i in range(len(x)):
        total += z[i] * z[i] * y[i]
    return total


LEFT = [of_neighbours, backwards, of_the_first, of_some, of_others, written]


def run_by_rows(asked, args, rows):
    """The source as plain Python, with so many rows together."""
    derivative = derivative_of(asked)
    names = {}
    exec(derivative.source(), names)
    names.update(derivative.constants(), rows_together=lambda *_: rows)
    return names["run"](*args)


def calls_in(f, *args):
    text = source(request(f, *args)).partition("def run")[2]
    return [text.count(f" {name}(") for name in (*BY_ROWS, "put_product", "add_right")]


@pytest.mark.parametrize("f", JOINED, ids=lambda f: f.py_func.__name__)
def test_rows_go_together(f):
    joined, products = JOINED[f]
    assert calls_in(f, B, X, Y) == [joined, joined, products - joined, products - joined]
    gradient = agree(f, B, X, Y)
    agree(f, B, X, Y, compiled=True)
    for rows in (1, 4, N - 1, N):
        again = run_by_rows(request(f, B, X, Y), (B, X, Y), rows)[1]
        np.testing.assert_allclose(flat(again), flat(gradient), rtol=1e-11)


@pytest.mark.parametrize("f", [bernoulli, probit], ids=lambda f: f.py_func.__name__)
def test_rows_of_loops_that_are_split(f):
    """Functions go along the rows of the matrix that are taken together; beyond 256 of these, in several blocks."""
    asked = request(f, B, X, Y)._replace(numerics="auto")
    text = source(asked)
    assert "exp_rows(" in text and " put_product_of_rows(" in text and " put_product(" not in text
    assert "min(256, last" in text
    known, (expected,) = as_python(request(f, B, X, Y))(B, X, Y)
    x, y = np.concatenate([X, X]), np.concatenate([Y, Y])
    for rows, many, few in ((7, X, Y), (N, X, Y), (300, x, y), (len(x), x, y)):
        value, gradient = run_by_rows(asked, (B, many, few), rows)
        times = len(many) / N
        prior = f is bernoulli
        np.testing.assert_allclose(value, times * known + prior * (times - 1.0) * 0.5 * B @ B, rtol=1e-12)
        np.testing.assert_allclose(flat(gradient), times * expected + prior * (times - 1.0) * B, rtol=1e-10)
    value, (gradient,) = build(asked)(B, X, Y)
    np.testing.assert_allclose(value, known, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)


@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.py_func.__name__)
def test_what_may_not_wait_stays(f):
    assert calls_in(f, B, X, Y)[:2] == [0, 0]
    agree(f, B, X, Y)


@pytest.mark.filterwarnings("ignore:.*is faster on contiguous arrays")
@pytest.mark.parametrize("x", [X, np.asfortranarray(X), X[::-1], X[:, ::-1], X[:1], X[:0]])
def test_matrices_of_all_orders(x):
    y = Y[: len(x)]
    value, (gradient,) = contad.value_and_grad(squares, argnums=(0,), engine="generated")(B, x, y)
    np.testing.assert_allclose(value, -0.5 * np.sum((y - x @ B) ** 2), rtol=1e-12)
    np.testing.assert_allclose(gradient, x.T @ (y - x @ B), rtol=1e-10, atol=1e-11)


def test_lengths_that_differ_are_refused():
    with pytest.raises(contad.ContadError, match="length"):
        contad.value_and_grad(squares, engine="generated")(B, X, Y[1:])


def test_a_matrix_that_is_differentiated():
    agree(squares, B, X, Y, argnums=(0, 1))


# ---- of any kind -----------------------------------------------------------------------------------------------------
OVER = *["range(n)"] * 6, "range(1, n)", "range(n - 1)", "range(n - 1, -1, -1)"
FACTORS = *["z[i]"] * 9, "z[i - 1]", "z[0]", "y[i]", "w[i]", "m[i, 0]", "m[0, 1]", "b[1]", "v[2]", "s"
BETWEEN = (
    "m[1, 1] = 0.5", "m[2, 0] += s", "v[1] = 2.0 * s", "s += z[2]", "z[1] = s", "y = y * 1.5", "w = m @ v",
    "s += b[0] * m[1, 1]", "w = z[::-1]", "m = m + 1.0", "s += np.sum(w * w)", "z = z * 2.0", "w[2] = 0.3",
)  # fmt: skip


def around(seed):
    """A function with a product, and loops and other statements around it."""
    chosen = random.Random(seed)
    lines = ["def f(b, x, y):", "    n, m, v, w, s = len(x), x.copy(), b * 1.1, y * 0.7, 0.2", "    z = m @ v"]
    for _ in range(chosen.choice((1, 1, 1, 2, 3))):
        lines += [f"    {x}" for x in chosen.sample(BETWEEN, chosen.choice((0, 0, 1, 2)))]
        lines += [f"    for i in {chosen.choice(OVER)}:"]
        lines += [f"        s += 0.1 * {chosen.choice(FACTORS)} * np.sin({chosen.choice(FACTORS)})" for _ in range(2)]
        if chosen.random() < 0.1:
            lines += [f"        {chosen.choice(('m[i, 2]', 'w[i]', 'z[i]', 'v[1]'))} = {chosen.choice(FACTORS)} * 0.3"]
    lines += ["    return s + v[0] + m[1, 2] * w[0] + np.sum(z * z)"] if chosen.random() < 0.3 else ["    return s"]
    return "\n".join(lines) + "\n"


def disagreement(seed, joined, monkeypatch):
    """What is wrong with the derivative of such a function, in which the loops joined are counted."""
    text, file = around(seed), f"<around {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"np": np}
    exec(compile(text, file, "exec"), names)
    f, args = njit(names["f"]), (B, X[:9], Y[:9])
    asked = request(f, *args)
    joined += [seed] * calls_in(f, *args)[0]
    value, gradient = run_by_rows(asked, args, 2)
    with monkeypatch.context() as patch:
        patch.setattr(derivative_text, "join_products", lambda lines, *_: lines)
        known, expected = as_python(asked)(*args)
    found, wanted = np.append(flat(gradient), value), np.append(flat(expected), known)
    good = np.allclose(found, wanted, rtol=1e-9, atol=1e-11 * np.abs(wanted).max(initial=1e-6))
    return None if good else f"{text}{found} for {wanted}"


def test_random_programs(monkeypatch):
    joined = []
    assert [wrong for seed in range(60) if (wrong := disagreement(seed, joined, monkeypatch))] == []
    assert len(joined) > 3


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 3000, 200))
def test_more_random_programs(start, monkeypatch):
    assert [wrong for seed in range(start, start + 200) if (wrong := disagreement(seed, [], monkeypatch))] == []


@pytest.mark.parametrize(
    ("fault", "f"), [("touches_only", of_others), ("_only_reads", written), ("_is_touched", with_a_prior)]
)
def test_a_mistake_is_found(fault, f, monkeypatch):
    """Without one of the tests, numbers are wrong."""
    known = flat(run_by_rows(request(f, B, X, Y), (B, X, Y), 2)[1])
    where = products_by_rows if fault == "touches_only" else products_by_rows._ProductSearch
    monkeypatch.setattr(where, fault, lambda *_: fault != "_is_touched")
    again = flat(run_by_rows(request(f, B, X, Y), (B, X, Y), 2)[1])
    assert np.abs(again - known).max() > 1e-6
