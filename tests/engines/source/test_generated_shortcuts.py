"""What generated derivatives leave out: tests for zero that cannot succeed, numbers that need not be stored, iterations
of a running choice that were not chosen.
"""

import math

import numpy as np
import pytest
from numba import njit

import contad
from benchmarks import loops
from contad.engines.source import source
from contad.engines.source.analysis.finite_partials import _assume as assume, least
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.known_functions import (
    ADD,
    AND,
    COMPARISONS,
    MULTIPLY,
    NOT,
    OPERATORS,
    OR,
    SQUARE,
    function_of,
)
from contad.engines.source.ir.single_assignment import BOOL, FLOAT, Apply, Value
from tests.engines.source.agreement import agree, numbers_stored, request
from tests.judges.samples import sampled

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])


def text_of(function, *args, argnums=(0,)):
    return source(request(function, *args, argnums=argnums))


# ---- bounds from below -----------------------------------------------------------------------------------------------
def made(function, *operands):
    result = Value(FLOAT)
    Apply(function, [x if isinstance(x, Value) else Value(FLOAT, constant=x) for x in operands], result)
    return result


def test_bounds_from_below():
    x = Value(FLOAT)
    square = made(SQUARE, x)
    positive = made(ADD, square, 0.25)
    root = made(function_of(math.sqrt), positive)
    assert least(x) == -math.inf
    assert least(square) == least(made(function_of(math.exp), x)) == 0.0
    assert (least(positive), least(root), least(made(MULTIPLY, positive, root))) == (0.25, 0.5, 0.125)
    assert least(made(ADD, positive, x)) == least(made(MULTIPLY, positive, x)) == -math.inf
    assert least(made(OPERATORS["Sub"], positive, square)) == -math.inf
    assert least(made(MULTIPLY, made(ADD, square, 1e-200), made(ADD, square, 1e-200))) == 0.0  # it may underflow
    assert least(made(ADD, -1.0, made(ADD, square, 3.0))) == 2.0


@pytest.mark.parametrize(
    ("symbol", "holds", "above"),
    [
        ("x > 2", True, 2.0), ("x >= 2", True, 2.0), ("x <= 2", False, 2.0), ("2 < x", True, 2.0),
        ("2 > x", False, 2.0),
        ("x > 2", False, None), ("x < 2", True, None), ("2 > x", True, None), ("x != 2", True, None),
        ("s != 0", True, 0.0), ("s == 0", False, 0.0), ("0 == s", False, 0.0), ("s == 0", True, None),
        ("x != 0", True, None), ("s != 1", True, None),
    ],
)  # fmt: skip
def test_conditions_bound_numbers(symbol, holds, above):
    x = Value(FLOAT)
    names = {"x": x, "s": made(SQUARE, x)}
    left, symbol, right = symbol.split()
    y = names.get(left) or names[right]
    a, b = (names.get(side, side) for side in (left, right))
    test = compared(symbol, *(n if isinstance(n, Value) else constant(float(n)) for n in (a, b)))
    for condition, way in (
        (test, holds), (compared(NOT, test), not holds),
        (compared(AND if holds else OR, compared("<", x, x), test), holds),
    ):  # fmt: skip
        found = {}
        assume(condition, way, found)
        assert set(found) == (set() if above is None else {y})
        assert above is None or above <= found[y] <= math.nextafter(above, 9.0)
    either = {}
    assume(compared(OR if holds else AND, test, compared("<", x, x)), holds, either)
    assert not either


def compared(function, *operands):
    result = Value(BOOL)
    known = next((f for f in COMPARISONS.values() if f.name == function), function)
    Apply(known, list(operands), result)
    return result


def test_behind_a_test_for_zero_nothing_is_masked():
    @njit
    def turned(x, y):
        total = 0.0
        for i in range(x.size):
            r2 = 0.0
            for k in range(y.size):
                r2 += (x[i] - y[k]) ** 2
            if r2 == 0.0:
                total += x[i]
            else:
                total += math.sin(math.sqrt(r2))
        return total

    @njit
    def unguarded(x, y):
        total = 0.0
        for i in range(x.size):
            r2 = (x[i] - y[0]) ** 2
            total += math.sin(math.sqrt(r2)) if r2 != 1.0 else x[i]
        return total

    assert "chain(" not in text_of(turned, X, X[:2])
    assert "chain(" in text_of(unguarded, X, X[:2])
    agree(turned, X, X[:1], argnums=(0, 1))


def test_what_is_bounded_needs_no_test_for_zero():
    @njit
    def attraction(x, softening):
        s = 0.0
        for i in range(len(x)):
            d2 = x[i] * x[i] + softening
            s += 1.0 / (d2 * math.sqrt(d2))
        return s

    def softened(x):
        d2 = x * x + 0.01
        return 1.0 / (d2 * math.sqrt(d2))

    inner = njit(softened)

    @njit
    def bounded(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * inner(x[i])
        return s

    text = text_of(bounded, X)
    assert "!= 0.0" not in text
    assert "raise" not in text
    assert "raise" in text_of(attraction, X, 0.1)  # the softening may be zero
    agree(bounded, X)


# ---- what a loop carries is computed again ---------------------------------------------------------------------------
@njit
def polynomials(x, t):
    """Powers, and places in a triangle, are carried without a derivative."""
    total = 0.0
    for i in range(t.size):
        value, power, place, step = 0.0, 1.0, 0, 1
        for j in range(x.size):
            power, before = 0.5 * power * t[i] + 0.1, power
            for k in range(j):
                value += x[j] * x[k] * t[(place + k) % t.size]
            value += x[j] * (power - before)
            place += j + step
            step = 3 - step
        total += value * value * math.sin(value)
    return total


@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_loop_carries_is_computed_again(compiled):
    agree(polynomials, X, np.array([0.5, 1.5, -0.7]), compiled=compiled)


def test_powers_are_not_stored():
    @njit
    def squares(x, t):
        total = 0.0
        for i in range(t.size):
            value, power = 0.0, 1.0
            for j in range(x.size):
                value += x[j] * power
                power *= t[i]
            total += value * value
        return total

    assert "work" not in text_of(squares, X, X)
    agree(squares, X, X)


# ---- what is the same in each iteration ------------------------------------------------------------------------------
def test_what_is_the_same_in_each_iteration_is_not_stored():
    @njit
    def growth(x, sigma, n):
        for i in range(n):
            x *= 1.0 + math.sqrt(sigma) * i
        return x

    assert "work[base + trips" not in text_of(growth, 0.3, 0.2, 5, argnums=(0, 1))  # but x is
    agree(growth, 0.3, 0.2, 5, argnums=(0, 1))


# ---- running choices -------------------------------------------------------------------------------------------------
@njit
def nearest(x, y):
    best = 100.0
    for i in range(1, len(x)):
        best = min(best, (x[i] - y) ** 2)
    return best * x[0]


@njit
def nearest_with_place(x, y):
    best, place = x[0] * y, -1
    for i in range(len(x)):
        d = (x[i] - y) ** 2
        if d < best:
            best = d
            place = i
    return best + 2.0 * x[place]


@njit
def largest_of_each(x, y):
    s = 0.0
    for i in range(len(x)):
        most = x[i]
        for j in range(i):
            w = x[j] * x[i] * y
            for _ in range(3):
                w = math.sin(w)  # stored, and read back by the one iteration
            most = max(w * w, most)
        s += math.exp(most) * x[i]
    return s


@njit
def falling(x, y):
    best = y
    for i in range(len(x)):
        best = max(0.5 * best, x[i] * y)  # no choice: every iteration changes what was chosen
    return best


@njit
def largest_read_on_the_way(x, y):
    best, s = y, 0.0
    for i in range(len(x)):
        best = max(best, x[i] * y)
        s += best * best
    return best + s


@njit
def growing(x, y):
    best = y * y
    for i in range(len(x)):
        best = max(best, best * x[i] * x[i])  # what is chosen depends on what was chosen before
    return best


@njit
def from_the_end(x, y):
    best = -100.0
    for i in range(len(x) - 1, -1, -1):
        best = max(best, x[i] * y)
    return best


@njit
def with_a_sum(x, y):
    best, s = -100.0, 0.0
    for i in range(len(x)):
        s += x[i] * y
        best = max(best, x[i] * y)
    return best * s


CHOICES = [
    nearest, nearest_with_place, largest_of_each, falling, growing, largest_read_on_the_way, from_the_end,
    with_a_sum,
]  # fmt: skip


@pytest.mark.parametrize("y", [0.2, -3.0, 5.0])
@pytest.mark.parametrize("function", CHOICES)
def test_running_choices(function, y):
    agree(function, X, y, argnums=(0, 1))


@pytest.mark.parametrize("function", CHOICES)
def test_running_choices_compiled(function):
    agree(function, X, 0.2, argnums=(0, 1), compiled=True)


def test_of_a_running_choice_one_iteration_is_reversed():
    for function in (nearest, nearest_with_place):
        text = text_of(function, X, 0.2)
        assert "if chosen >= 0:" in text
        assert "work" not in text
    assert "chosen" not in text_of(falling, X, 0.2)
    assert "chosen" not in text_of(largest_read_on_the_way, X, 0.2)
    function, args, argnums = loops.problems(0.01)["mixture"]
    assert text_of(function, *args, argnums=argnums).count("if chosen") == 2


def test_a_choice_that_was_not_made_leaves_the_start():
    @njit
    def never_chosen(x, n):
        best = x[0] * x[1]
        for i in range(n):
            best = max(best, -x[i] * x[i] - 10.0)
        return best

    for n in (0, 4):
        np.testing.assert_allclose(agree(never_chosen, X, n)[0], [X[1], X[0], 0.0, 0.0, 0.0])


# ---- copies of what is read again and again --------------------------------------------------------------------------
W = np.sin(np.arange(25.0) + 1.0).reshape(5, 5)


@njit
def steps_of_products(x, w, n):
    state = x.copy()
    new = np.empty(len(x))
    for _ in range(n):
        for i in range(len(x)):
            z = 0.0
            for j in range(len(x)):
                z += w[i, j] * state[j]
            new[i] = math.sin(z)
        for i in range(len(x)):
            state[i] = new[i] + 0.1 * state[i]
    return np.sum(state)


@njit
def pairs(x, w, n):
    """Two loops read the same part; the inner one starts where the outer one is."""
    place = w.copy()
    for _ in range(n):
        s = 0.0
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                s += (place[i, 0] - place[j, 0]) * (place[i, 1] * place[j, 1]) * x[i]
        for i in range(len(x)):
            place[i, 0] += 0.1 * s * place[i, 1]
            place[i, 1] *= math.cos(place[i, 0])
    return place[0, 0] + place[1, 1]


@njit
def of_two_axes(x, w, n):
    a = w.copy()
    s = x[0] * w[0, 0]
    for m in range(2, n + 2):
        for _ in range(m):
            for i in range(len(x)):
                for j in range(len(x)):
                    s += 0.01 * a[i, j] * a[i, j] * x[j] * math.sin(s)
        a[0, 1] = s * 0.01 + a[1, 0]
    return s


@njit
def row_of_a_table(x, w, n):
    table = np.zeros((n + 1, len(x)))
    for i in range(len(x)):
        table[0, i] = x[i]
    for t in range(1, n + 1):
        for i in range(len(x)):
            for j in range(len(x)):
                table[t, i] += w[i, j] * table[t - 1, j] * table[t - 1, j]
    return np.sum(table)


@njit
def made_in_an_iteration(x, w, n):
    s = x[0]
    for _ in range(n):
        for _ in range(2):
            part = np.empty(len(x))
            for i in range(len(x)):
                part[i] = x[i] * s
            for i in range(len(x)):
                for j in range(len(x)):
                    s += w[i, j] * part[j] * part[i] * 0.01
    return s


@njit
def overwritten_later(x, w, n):
    a = x * 2.0
    s = 0.0
    for i in range(n):
        for j in range(len(x)):
            s += a[j] * a[j] * w[0, j] * math.sin(s + i) + a[j] * a[j] * i
    for j in range(len(x)):
        a[j] = s * j + x[j]
    return a[2] + a[3] * w[0, 0]


@njit
def in_a_branch(x, w, n):
    a = x.copy()
    s = x[0] * w[0, 0]
    for t in range(n):
        if t % 2 == 0:
            for i in range(len(x)):
                for j in range(len(x)):
                    s += w[i, j] * a[j] * a[j]
        a[0] = 0.1 * s
    return s


@njit
def until(x, w, n):
    a = x.copy()
    s, t = x[0] * w[0, 0], 0
    while t < n:
        for i in range(len(x)):
            for j in range(len(x)):
                s += w[i, j] * a[j] * a[j]
        a[0] = 0.1 * s
        t += 1
    return s


@njit
def sum_of_runs(x, w, n):
    """Each term is reversed at once; what it copies makes room for that of the next."""
    total = 0.0
    for k in range(len(x)):
        a = np.empty(len(x))
        for i in range(len(x)):
            a[i] = x[i] * x[k]
        s = 0.1 * x[k]
        for _ in range(n):
            for i in range(len(x)):
                for j in range(len(x)):
                    s += w[i, j] * a[j] * a[j]
            for i in range(len(x)):
                a[i] = math.sin(s + a[i])
        total += s * s
    return total


COPIES = [steps_of_products, pairs, of_two_axes, made_in_an_iteration, overwritten_later, sum_of_runs]


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("function", [*COPIES, in_a_branch, until])
def test_what_is_read_again_and_again(function, n):
    agree(function, X + 2.0, W, n, argnums=(0, 1))


@pytest.mark.parametrize("function", sampled(COPIES, 3))
def test_what_is_read_again_and_again_compiled(function):
    agree(function, X + 2.0, W, 3, argnums=(0, 1), compiled=True)


def test_copies_are_made_where_their_number_is_known():
    for function in COPIES:
        assert "_kept = top" in text_of(function, X, W, 3, argnums=(0, 1)), function
    for function in (in_a_branch, until):
        assert "_kept = top" not in text_of(function, X, W, 3, argnums=(0, 1)), function


def test_a_product_of_matrix_and_state_stores_the_state():
    def count(n):
        args = (np.linspace(0.1, 1.0, n), np.ones((n, n)), 4)
        return numbers_stored(request(steps_of_products, *args, argnums=(0, 1)), args)

    assert count(10) == 4 * 10 * 2  # the state and what the sines are of


@njit
def back_and_forth(x, w, n):
    """Rows that are left behind, on the way down and on the way up; and one that is written again."""
    a = np.ones((n + 2, 2))
    for t in range(1, n + 2):
        a[t, 0] = math.sin(a[t - 1, 0] * x[0]) + a[t - 1, 1] * a[t - 1, 0]
        a[t, 1] = a[t - 1, 1] * x[1]
    for t in range(n, -1, -1):
        a[t, 1] = a[t + 1, 1] * a[t + 1, 1] * x[2] + a[t, 0]
    for t in range(n):
        a[t + 1, 0] = a[t, 0] * a[t, 1] + a[t + 2, 0] * a[t + 2, 0]
    return a[0, 1] * a[1, 0] + a[n, 0] * w[0, 0]


@njit
def round_the_end(x, w, n):
    """The row before the first is the last."""
    a = np.ones((n + 1, 2))
    for t in range(n + 1):
        a[t, 0] = a[t - 1, 0] * a[t - 1, 0] * x[0] + x[1]
    return a[n, 0] * w[0, 0]


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("function", [row_of_a_table, back_and_forth, round_the_end])
def test_rows_of_a_table(function, n):
    agree(function, X * 0.5, W, n, argnums=(0, 1))


def test_a_row_that_was_left_behind_is_not_stored():
    asked = request(row_of_a_table, X, W, 3, argnums=(0, 1))
    assert numbers_stored(asked, (X, W, 3)) == 0
    assert "work" not in text_of(row_of_a_table, X, W, 3, argnums=(0, 1))
    assert "work" in text_of(round_the_end, X, W, 3, argnums=(0, 1))
    function, args, argnums = loops.problems(0.01)["tridiagonal"]
    assert numbers_stored(request(function, *args, argnums=argnums), args) == len(args[0]) - 1  # 1 / ...


def test_a_loop_that_never_runs_is_no_reason_to_copy():
    @njit
    def mostly_nothing(x, w, n):
        a = x.copy()
        s = x[0]
        for _ in range(3):
            for _ in range(n):
                for j in range(len(a)):
                    s += a[j] * a[j] * w[0, j]
            a[0] = s * 0.1
        return s * a[0]

    assert "if 0 < n:" in text_of(mostly_nothing, X, W, 2, argnums=(0, 1))
    for n in (0, 2):
        agree(mostly_nothing, X, W, n, argnums=(0, 1))


def test_a_copy_stays_within_the_array():
    @njit
    def short(x, w, n):
        a = w.copy()
        s = x[0]
        for _ in range(3):
            for i in range(n):
                for j in range(i + 1, n):
                    s += a[j, 0] * a[j, 0] * a[i, 1] * x[0]
            for k in range(1, len(a)):
                a[k, 0] += 0.1 * a[k - 1, 1]
                a[k, 1] *= a[k, 0]
        return s

    agree(short, X, np.zeros((0, 3)), 1)
    agree(short, X, W[:, :2].copy(), 4)


# ---- small arrays ----------------------------------------------------------------------------------------------------
@njit
def stages(x, w, n):
    """Small arrays that are swapped with each other and with one of the heap, viewed, multiplied and made in a loop."""
    u, v = np.zeros(2), np.zeros((2, 2))
    other = x[:2].copy()
    for t in range(n):
        for i in range(2):
            v[i, 0] = u[i] + 0.1 * x[t]
            v[i, 1] = math.sin(other[i])
        row = v[1]
        u[:] = v @ other
        u[0] += row[0] * row[1]
        made = np.zeros(2)
        made[:] = u * w[0, 0]
        other[0] += made[0] * made[1]
        u, other = other, u
    return np.sum(u) + other[1] * (1.0 + v[0, 1]) * w[0, 0]


def test_small_arrays_lie_on_the_stack():
    text = text_of(stages, X, W, 2, argnums=(0, 1))
    assert "v_bar = small_zeros((2, 2))" in text
    assert "= small_zeros((2,))" in text and "np.zeros((2,))" not in text  # made in a loop
    assert "small" not in text_of(steps_of_products, X, W, 2)

    @njit
    def large(x):
        a = np.zeros((3, 11))
        a[1, 2] = x[0]
        return a[1, 2] * x[1]

    assert "small" not in text_of(large, X)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_small_arrays(n, compiled):
    agree(stages, X + 0.1, W, n, argnums=(0, 1), compiled=compiled)


def test_a_small_array_that_is_returned_outlives_the_call():
    @njit
    def squares(x):
        a = np.zeros(2)
        a[0], a[1] = x[0] * 0.5, x[1] * x[1]
        return a[0] * a[1], a

    run = contad.value_and_grad(squares, has_aux=True, engine="generated")
    results = [run(X + k) for k in range(50)]
    for k, ((_, aux), gradient) in enumerate(results):
        a, b = X[:2] + k
        np.testing.assert_allclose(aux, [a * 0.5, b * b])
        np.testing.assert_allclose(gradient, [0.5 * b * b, a * b, 0.0, 0.0, 0.0])
