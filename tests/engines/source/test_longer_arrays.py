"""Arrays and lists that become longer in loops which do not tell how often they run: a run beforehand counts."""

import numba
import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.reading import buffer_bounds
from contad.errors import EngineLimitError, UnsupportedError
from contad.numba_functions.request import Request
from tests.engines.source.agreement import as_python, constants_in_python, request

X = np.array([0.6, -1.3, 2.1, 0.4])
V = np.array([0.3, -0.2, 1.0, 0.5])


@njit
def in_front_and_behind(x):
    z = np.array([x[1]])
    for i, a in enumerate(x):
        if a > 0.5:
            z = np.concatenate((x[:2] * a, z))
        elif a > 0.0:
            z = np.hstack((z, x[i:] * z[0]))
            z = np.append(z, z)
    return np.sum(z * z * np.arange(z.size))


@njit
def nested(x):
    z = x[:1] * 1.0
    for a in x:
        k = 0
        while k < 2:
            z = np.append(z, np.array([a * z[0], k * a]))
            k += 1
            if z.size > 9:
                break
        if z.size > 9:
            break
    z = z.copy()
    v, w = z[1:3], z[::-1]
    v[0] = x[2] * x[3]
    w[0] *= 3.0
    return np.sum(z * z * z) * z.size + np.dot(v, w[:2])


@njit
def rows(x):
    path = np.zeros((1, 2))
    old = path
    while path[-1, 0] < 2.0:
        old = path
        row = np.array([[path[-1, 0] + 0.5 + x[1] ** 2 * 0.1, path[-1, 1] * x[2] + x[3]]])
        path = np.vstack((path, row))
    return np.sum(path * path) * path.shape[0] + np.sum(old) * len(old)


@njit
def never(x):
    z = x[:2] * 2.0
    for _ in range(0):
        z = np.append(z, x)
    while z[0] > 100.0:
        z = np.append(x, z)
    return np.sum(z * z) * len(z)


@njit
def twice(x):
    z = np.array([x[1]])
    old, k = z, 0
    while k < 3:
        z = np.append(z, x[k] * x[3])
        z = np.concatenate((z, x[1:3] + x[0]))
        k += 1
    return np.sum(z * z * np.arange(z.size)) + np.sum(old)


@njit
def lists(x):
    a = []
    b = [x[1]]
    k = 0
    while True:
        k += 1
        a.append(b[-1] * x[0])
        if k > 6:
            break
        if k % 2 == 0:
            continue
        b.append(a[-1] + x[2])
        x[0] += 0.01
        if len(a) > 3:
            a.pop()
    s = 0.0
    for v in a:
        s += v * v
    return s + b[-1] * len(b)


FUNCTIONS = [in_front_and_behind, nested, rows, never, twice, lists]


def differences(f, x, h=1e-5):
    return np.array([(f(x + s) - f(x - s)) / (2.0 * h) for s in h * np.eye(len(x))])


def in_python(f, mode):
    made = derivative_of(Request(f.py_func, f, (numba.typeof(X),), (0,), False, mode))
    names = {}
    exec(made.source(), names)
    names.update(constants_in_python(made))
    return names["run"]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_derivatives(f):
    value, (gradient,) = as_python(request(f, X))(X.copy())
    assert value == pytest.approx(f.py_func(X.copy()), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f.py_func, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [in_front_and_behind, lists], ids=lambda f: f.__name__)
def test_forward_mode_and_second_derivatives(f):
    _, tangent = in_python(f, "jvp")((X.copy(),), (V,))
    assert tangent == pytest.approx(V @ differences(f.py_func, X), rel=1e-7)
    _, (along,) = in_python(f, "hvp")((X.copy(),), (V,))
    first = as_python(request(f, X))
    np.testing.assert_allclose(along, V @ differences(lambda x: first(x.copy())[1][0], X), rtol=1e-6, atol=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_they_are_right_once_compiled(f):
    value, gradient = contad.value_and_grad(f, engine="generated")(X)
    assert value == pytest.approx(f(X.copy()), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f.py_func, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("f", "words"), [(nested, "becomes longer"), (lists, "grows by more")])
def test_a_count_that_is_too_small_raises(f, words, monkeypatch):
    monkeypatch.setattr(buffer_bounds, "_load", lambda function, *_: lambda *given: function(*given) - 1)
    with pytest.raises(EngineLimitError, match=words):
        as_python(request(f, X))(X.copy())


def test_a_write_that_is_overlooked_is_found_by_numba(monkeypatch):
    monkeypatch.setattr(buffer_bounds, "_may_write", lambda *_: False)
    with pytest.raises(UnsupportedError, match="does not tell how often it runs"):
        as_python(request(lists, X))


@njit
def drawn(x):
    z = [x[0]]
    while z[-1] < 1.0:
        z.append(z[-1] + np.random.rand())  # noqa: NPY002
    return z[-1]


uniform = np.random.uniform


@njit
def draw(z):
    return z + uniform(0.1, 0.3)


@njit
def drawn_by_name(x):
    z = x * 1.0
    while z[-1] < 1.0:
        z = np.append(z, np.array([uniform(0.1, 0.3)]))
    return z[-1]


@njit
def drawn_elsewhere(x):
    z = x * 1.0
    while z[-1] < 1.0:
        z = np.append(z, np.array([draw(z[-1])]))
    return z[-1]


@njit
def of_two_names(x):
    y = x[1:]
    z = np.zeros(0)
    while x[1] < 2.0:
        y[0] += 0.5
        z = np.append(z, x[0] * x[1])
    return np.sum(z)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (drawn, "a loop that does not tell how often it runs"),
        (drawn_elsewhere, "the array z, which may have another length"),
        (drawn_by_name, "the array z, which may have another length"),
        (of_two_names, "the array z, which may have another length"),
    ],
)
def test_what_must_not_run_twice_or_apart_is_refused(f, words):
    with pytest.raises(UnsupportedError) as caught:
        as_python(request(f, X))
    assert words in str(caught.value)
