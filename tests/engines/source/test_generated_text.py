"""The engine `generated`: the programs of the benchmarks, traps, refusals."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from benchmarks import loops, loops_by_hand
from contad.engines.source import build, source
from contad.errors import UnsupportedError
from tests.engines.source.agreement import agree, as_python, flat, request
from tests.random_programs import generated_programs

# ---- the programs of the benchmarks ----------------------------------------------------------------------------------
PROBLEMS = loops.problems(0.01)


@pytest.mark.parametrize("name", PROBLEMS)
def test_programs_agree_with_the_eager_engine(name):
    function, args, argnums = PROBLEMS[name]
    agree(function, *args, argnums=argnums)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if hasattr(loops_by_hand, name)])
def test_programs_agree_with_gradients_by_hand(name):
    function, args, argnums = PROBLEMS[name]
    value, gradient = getattr(loops_by_hand, name).py_func(*args)
    got_value, got = as_python(request(function, *args, argnums=argnums))(*args)
    assert got_value == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(flat(got), flat(gradient), rtol=1e-9, atol=1e-11 * np.max(np.abs(flat(gradient))))


@pytest.mark.parametrize("name", ["rosenbrock", "logistic"])
def test_sums_over_independent_terms_store_nothing(name):
    function, args, argnums = PROBLEMS[name]
    assert "work" not in source(request(function, *args, argnums=argnums))


def test_source_is_deterministic():
    function, args, argnums = PROBLEMS["mixture"]
    asked = request(function, *args, argnums=argnums)
    assert source(asked) == source(asked)


# ---- traps -----------------------------------------------------------------------------------------------------------
X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])


@njit
def never_runs(x, n):
    s = x[0] * x[0]
    for i in range(n):
        s = math.sin(s) * x[i]
    return s


@njit
def leaves_early(x, n):
    s = 1.0
    k = 0
    for i in range(len(x)):
        k += i
        if i == n:
            break
        s = s * x[i] + k * s
    return s * x[k % 5]


@njit
def counts_down(x, n):
    s = 0.5
    for i in range(len(x) - 1, -1, -2):
        s = math.tanh(s * x[i] + n)
    return s


@njit
def returns_in_a_loop(x, n):
    for i in range(len(x)):
        for j in range(i):
            if x[i] * x[j] > 0.5 * n:
                return x[i] * math.exp(x[j])
    return x[0]


@njit
def last_elements_alias(x, n):
    u = x.copy()
    for i in range(-1, len(x)):
        u[i] = u[i] * x[i] + 0.1 * n
    return np.sum(u * u)


@njit
def swaps(x, n):
    u, w = x.copy(), np.zeros(len(x))
    for _ in range(n):
        for i in range(1, len(x)):
            w[i] = u[i - 1] * u[i]
        u, w = w, u
    return np.sum(u) + np.sum(w * x)


@njit
def swapped_elements(x, n):
    u = x.copy()
    t = u[1]
    u[1] = u[n]
    u[n] = t
    return u[1] * 2.0 + u[n] * u[n]


@njit
def writes_into_its_argument(x, n):
    for i in range(1, len(x)):
        x[i] *= x[i - 1] + n
    return x[len(x) - 1]


@njit
def while_with_two_counters(x, n):
    i, p, s = 0, 0, 0.2
    while i < len(x) and s < 50.0:
        s = s * x[i] + math.cos(p * s)
        p += i
        i += 2 if p % 2 == 0 else 1
    return s + n


@njit
def views(x, n):
    u = x.copy()
    v = u[1:4]
    w = u[::-1]
    for i in range(3):
        v[i] = v[i] * w[i + n]
    return np.sum(u * x)


@njit
def helper(v, c):
    if c < 0.0:
        return v[0] * c
    v[0] = v[0] * 2.0
    return v[0]


@njit
def calls(x, n):
    u = x.copy()
    s = 0.0
    for i in range(len(x)):
        s += helper(u[i:], x[i] * n)
    return s + u[2]


@njit
def matrices(x, n):
    a = np.empty((len(x), 3))
    for i in range(len(x)):
        for j in range(3):
            a[i, j] = x[i] ** (j + 1.0) if x[i] > 0.0 else x[i] * j
    b = a.T @ a
    return b[0, 1] * b[2, 2] + np.sum(a[n] * b[1]) + np.dot(a[:, 1], x)


WEIGHTS = np.array([0.5, -1.0, 2.0, 0.1, 0.7])
ORDER = np.array([2, 0, 1, 4, 3])
SCALE = 1.5


@njit
def frozen_values(x, n):
    s = 0.0
    for i in range(len(x)):
        s += WEIGHTS[i] * x[ORDER[i]] ** 2 * SCALE
    return s * (n + 1)


def closure(c):
    @njit
    def captures(x, n):
        s = c
        while True:
            s = s * 0.9 + x[n] ** 2
            if s > 1.0 + n:
                break
            s += 1.0
        return s

    return captures


@njit
def iterates(x, n):
    a = np.ones((3, len(x)))
    s = 0.0
    for k, row in enumerate(a):
        for v, w in zip(row, x):  # noqa: B905  (Numba has no strict)
            s += math.tanh(v * w) * (k + n)
    for i, j in ((0, 1), (2, 3)):
        s -= x[i] * x[j]
    return s * np.float64(2)


@njit
def continues(x, n):
    m = np.zeros((len(x), len(x)), dtype=np.float64)
    k = np.zeros(len(x), np.int64)
    for i in range(x.size):
        k[i] = x.size - 1 - i
        for j in range(x.shape[0]):
            m[i, j] = x[i] * x[j]
    total = 0.0
    for i in range(len(x)):
        if not (x[i] > -1.0 and m[i, k[i]] < 10.0 + n):
            continue
        total += m[i, k[i]] if i % 2 else -m[i, i]
    return total


@njit
def constant_branches(x, n):
    if 0.5 < 0.7:  # noqa: PLR0133, SIM108
        s = x[0] * x[1]
    else:
        s = x[2]
    for _ in range(n + 1):
        t = 0.2 if 0.5 < 0.1 else x[3]  # noqa: PLR0133
        s = max(s * t, 0.1 * t) if True else t
    return s


@njit
def unlucky_names(x, n):
    y_t, y_r, z, x_bar, top, work, base, trips, cotangent, args, t, run = (
        x[0],
        x[1],
        0.5,
        x[2],
        2.0,
        x[3],
        1,
        1.0,
        1,
        2,
        3,
        4,
    )
    y = math.tanh(y_t * y_r)
    z_bar = math.tanh(y * z + x_bar) * y_t
    room = math.hypot(y_r, z_bar)
    for max_ in range(n + 1):
        y = math.tanh(y * y_t + work) + trips * y_r + max_
    return y * y_t * z_bar * top * y_r * room + base + cotangent + args + t + run


@njit
def sorts(x, n):
    u = x * x
    for i in range(1, len(u)):
        v = u[i]
        j = i - 1
        while j >= 0 and u[j] > v:
            u[j + 1] = u[j]
            j -= 1
        u[j + 1] = v * x[n]
    return u[0] * u[1] + u[2] * u[n] + np.sum(u * x)


@njit
def writes_where_a_loop_has_ended(x, n):
    u = np.zeros(len(x))
    for i in range(len(x)):
        j = 0
        for k in range(len(x)):
            u[k] = x[k]
            j += 1
            if k >= (2 * i + n) % 4:
                break
        u[j % len(x)] += x[i]
    return np.sum(u * x)


TRAPS = [
    sorts, writes_where_a_loop_has_ended, unlucky_names, frozen_values, closure(0.3), iterates, continues,
    constant_branches, never_runs, leaves_early, counts_down, returns_in_a_loop, last_elements_alias, swaps,
    swapped_elements, writes_into_its_argument, while_with_two_counters, views, calls, matrices,
]  # fmt: skip


@pytest.mark.parametrize("function", TRAPS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_traps(function, n):
    agree(function, X, n)


@pytest.mark.parametrize("function", [leaves_early, swaps, writes_into_its_argument, closure(0.3), frozen_values])
def test_traps_compiled(function):
    agree(function, X, 2, compiled=True)


@njit
def work_array(x, work):
    for i in range(len(x)):
        work[i] = x[i] * x[i] + work[i]
    return np.sum(work * x)


def test_an_argument_becomes_active_by_what_is_written_into_it():
    work = np.array([1.0, 2.0, -0.5, 0.3, 0.9])
    _, (gradient,) = as_python(request(work_array, X, work))(X, work)
    np.testing.assert_allclose(gradient, 3.0 * X * X + work)
    assert work[0] == 1.0


@njit
def entropy(p):
    s = 0.0
    for i in range(len(p)):
        t = p[i] * np.log(p[i])
        if p[i] > 0.0:
            s -= t
    return s


def test_an_infinite_partial_of_something_unused_is_no_nan():
    p = np.array([0.5, 0.0, 0.25])
    _, (gradient,) = build(request(entropy, p))(p)
    np.testing.assert_allclose(gradient, [-1.0 - math.log(0.5), 0.0, -1.0 - math.log(0.25)])


@njit
def quotient(x, y):
    return x / y


@njit(error_model="numpy")
def quotient_of_numpy(x, y):
    return x / y


def test_division_raises_where_the_function_raises():
    run = build(request(quotient, 1.0, 2.0, argnums=(0, 1)))
    assert run(1.0, 2.0) == (0.5, (0.5, -0.25))
    with pytest.raises(ZeroDivisionError):
        run(1.0, 0.0)
    assert build(request(quotient_of_numpy, 1.0, 2.0))(1.0, 0.0)[0] == math.inf


@njit
def checked(x, limit):
    assert limit > 0.0, "limit must be positive"
    s = 0.0
    for v in x:
        if v > limit:
            raise ValueError("too large")
        s += v * v
    return s


def test_errors_of_the_function_are_raised():
    run = build(request(checked, X, 2.0))
    np.testing.assert_allclose(run(X, 2.0)[1][0], 2.0 * X)
    with pytest.raises(ValueError, match="too large"):
        run(X, 1.0)
    with pytest.raises(AssertionError, match="limit must be positive"):
        run(X, -1.0)


@njit
def with_aux(pair, x):
    a, b = pair
    u = x * a
    return np.sum(u * u) * b, (u, len(x))


def test_tuples_and_aux():
    asked = request(with_aux, (2.0, 3.0), X, argnums=(0, 1), has_aux=True)
    for run in (as_python(asked), build(asked)):
        (value, (u, n)), ((da, db), dx) = run((2.0, 3.0), X)
        total = np.sum(X * X)
        np.testing.assert_allclose([value, da, db], [12.0 * total, 12.0 * total, 4.0 * total])
        np.testing.assert_allclose(dx, 24.0 * X)
        np.testing.assert_allclose(u, 2.0 * X)
        assert n == 5


# ---- refusals --------------------------------------------------------------------------------------------------------
def refused(body):
    """A function with this body, in a file of its own."""
    text = "@njit\ndef f(x, a):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return generated_programs.namespace(text, f"refused {hash(body)}")["f"]


REFUSALS = {
    "d = {0: a}\nd.popitem()\nreturn a": (4, "'d.popitem()' of a dict"),
    "d = []\nreturn a": (3, "an empty list"),
    "try:\n    a = math.factorial(3) * a\nexcept Exception:\n    a = 2.0\nreturn a": (4, "factorial"),
    "return a + x[x]": (3, "the index 'x'"),
    "for i in range(3):\n    u = x * a\nreturn u[0]": (5, "made inside the loop"),
    "yield a": (3, "generator"),
    "y = [a, 2.0]\nreturn y[:][0]": (4, "'y[:]', a part of a list"),
    "return f(x, a)": (3, "recursive function f"),
    "return b": (3, "the name b is not defined"),
    "return open('x')": (3, "the call of 'open'"),
    "a += 1": (1, "returns nothing"),
}


@pytest.mark.parametrize("body", REFUSALS)
def test_refusals_name_file_line_and_construct(body):
    line, construct = REFUSALS[body]
    with pytest.raises(UnsupportedError) as caught:
        source(request(refused(body), X, 1.0))
    message = str(caught.value)
    assert message.startswith(f"<program refused {hash(body)}>:{line}: f: "), message
    assert construct in message
    assert ";" in message  # what to do


# ---- vjp -------------------------------------------------------------------------------------------------------------
@njit
def several(x, a):
    u = x * a
    for i in range(1, len(x)):
        u[i] = u[i - 1] * math.sin(x[i]) + a
    return u, np.sum(u) * a, x


def test_vjp_of_several_results():
    z_bar = (np.arange(1.0, 6.0), 0.5, np.linspace(0.1, 0.9, 5))
    _, pullback = contad.vjp(several, X, 0.7, engine="generated")
    _, expected = contad.vjp(several, X, 0.7, engine="records")
    for got, wanted in zip(pullback(z_bar), expected(z_bar), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
