"""Lists that keep their length, dicts and sets with constant members, and loops over the elements of an array."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from tests.engines.source.agreement import agree, as_python, request

X = np.array([0.6, -1.3, 2.1, 0.4])
M = np.array([[0.5, -1.0, 2.0], [1.5, 0.7, -0.3]])


@njit
def square(v):
    return v * v


@njit
def change(values, k):
    values[k] *= 3.0
    return values[k]


@njit
def written_list(x):
    y = [v * v for v in x]
    z = y  # the same list
    z[1] = x[0] * x[2]
    y[-1] += x[0]
    return y[0] * y[1] + z[3] * change(y, 2) + z[2]


@njit
def lists_in_a_loop(x):
    total = 0.0
    for k in range(4):
        y = [x[k] * v + j for j, v in enumerate(x)]
        w = [square(y[i]) for i in range(k, 4)]
        total += sum(w) * y[k] + len(w)
    return total


@njit
def over_ranges(x):
    y = [x[k] for k in range(3, -1, -2)]
    z = [x[k] * k for k in range(1, 4, 2)]
    w = [x[k] for k in range(2, 2)]
    return y[0] * y[1] ** 2 + z[0] * z[1] + len(w) + len(y) * x[0]


@njit
def of_tuples(x):
    y = [v * v for v in (x[0], x[1], 3.0)]
    z = [u * v for u, v in zip(x, x[::-1])]  # noqa: B905
    for k, v in enumerate(y):
        z[k] += v
    return np.sum(np.array(z) * x) + np.array([1, 2.5, x[0]])[2]


@njit
def in_branches(x):
    y = [x[0], 1.0]
    if x[1] < 0.0:
        y[1] = x[1] * x[0]
        z = [v * x[2] for v in y]
        total = z[0] * z[1]
    else:
        total = y[0]
    return total + y[1]


@njit
def walks(x):
    y, total = np.outer(x, x), 0.0
    for i, j in np.ndindex(y.shape):
        if j > i:
            continue
        if i == 3 and j == 2:
            break
        total += y[i, j] * x[i]
    for v in y[1:, ::2].flat:
        if v > 3.0:
            return total * v
        total += v * v
    return total


@njit
def nested_walks(x):
    total = 0.0
    for i, j in np.ndindex(2, 2):
        for (k,), v in np.ndenumerate(x[1:]):
            for (n,) in np.ndindex(2):
                total += v * x[i] * (j + k) * x[n]
    return total


@njit
def looked_up(x):
    weights = {"first": x[0] * x[1], "rest": x[1:]}
    powers = {1: x[3], 2: x[3] ** 2}
    total = weights["first"] * powers[2] * np.sum(weights["rest"] ** 2)
    if "last" in weights or 2 not in powers:
        total = 0.0
    for k in range(4):
        if k in {0, 2}:
            total += x[k] ** 2
    return total


@njit
def sorted_in_place(x):
    y = x * x
    y[:3].sort()
    z = np.empty(2)
    np.add(y[:2], x[2:], z)
    np.negative(z, z)
    return np.sum(z * y[1:3]) + y[3]


@njit
def repeated(x):
    y = [x[0], x[1]] * 2
    z, none = [0.0] * len(x), [1.0] * (len(x) - 5)
    for k in range(3):
        z[k + 1] += x[k] * y[k]
    y[1] = x[3]
    return y[1] * y[3] * z[2] + z[3] + len(none)


@njit
def with_defaults(x):
    w = x[0]

    def weighted(v, by=w, k=2):
        return v * by + k

    w = x[1]
    f = lambda v, by=w: v * v * by  # noqa: E731
    return weighted(w) * weighted(x[2], x[3], 0) + f(x[2]) * f(x[3], 0.5)


FUNCTIONS = [
    repeated, with_defaults, written_list, lists_in_a_loop, over_ranges, of_tuples, in_branches, walks, nested_walks,
    looked_up, sorted_in_place,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_containers_are_generated(f):
    assert agree(f, X.copy()) is not None
    value, _ = as_python(request(f, X))(X.copy())
    assert value == pytest.approx(f(X), rel=1e-13)  # as Numba has it


@pytest.mark.long
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_they_are_right_once_compiled(f):
    agree(f, X.copy(), compiled=True)


def test_an_index_beyond_a_list_raises():
    @njit
    def beyond(x, k):
        y = [v * v for v in x]
        return y[k]

    run = as_python(request(beyond, X, 1))
    assert run(X, -4)[0] == X[0] ** 2
    for k in (4, -5):
        with pytest.raises(IndexError, match="list"):
            run(X, k)


@njit
def grows_under_another_name(x):
    y = [x[0]]
    z = y
    z.append(x[1])
    y.append(x[2])
    return y[0] * y[1]


@njit
def grows_while_read(x):
    y = [x[0]]
    for v in y:
        if v > 0.5:
            y.append(v * 0.5)  # noqa: PERF401
    return y[0]


@njit
def repeats(x):
    y = [x[0], x[1]]
    y *= 2
    return y[2]


@njit
def filters(x):
    y = [v for v in x if v > 0.0]
    return y[0]


@njit
def shifted(x):
    y = x * 1.0
    np.multiply(y[:-1], 2.0, y[1:])
    return np.sum(y)


@njit
def some_defaults(x):
    def f(v, by=2.0, k=3):
        return v * by + k

    return f(x[0], x[1])


REFUSED = [
    some_defaults, grows_under_another_name, grows_while_read, repeats, filters, shifted,
]  # fmt: skip


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_changes_a_container_is_refused(f):
    with pytest.raises(UnsupportedError, match=f"{f.__name__}: .*[;,]"):
        as_python(request(f, X))


@pytest.mark.long
@pytest.mark.parametrize(("f", "expected"), [(grows_under_another_name, [-1.3, 0.6, 0, 0])])
def test_what_is_refused_is_taken_by_another_engine(f, expected):
    np.testing.assert_allclose(contad.grad(f)(X), expected)
