"""Arrays that np.append makes longer in loops, as lists: values and gradients, and what shares memory, so is none."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.reading import appended_arrays, made_containers
from tests.engines.source.agreement import agree, as_python, request

X = np.array([0.6, -1.3, 2.1, 0.4])


@njit
def products(x):
    z = np.array([x[0]])
    for i in range(len(x)):
        z = np.append(z, z[-1] * x[i])
    return z[-1] + z.sum() * len(z) + z.size * z.shape[0] * len(z[1:]) * x[1]


@njit
def written_in_place(x):
    z = np.empty(0)
    for i in range(len(x)):
        if x[i] > 0.5:
            z = np.append(z, x[i] * x[0])
        for j in range(i):
            z = np.append(z, x[i] * x[j])
    z[0] = z[1] * z[2]
    z[1] += x[0]
    return np.dot(z[1:], z[:-1]) + np.max(z) + np.sum((z * x[2] - 0.3) ** 2)


@njit
def made_in_each_turn(x):
    total = 0.0
    for k in range(3):
        z = np.zeros(0)
        for i in range(k + 1):
            z = np.append(z, i)
            z = np.append(z, x[i] * x[k])
        total += np.sum(z) * np.exp(z).sum()
    return total


@njit
def steps_of_any_size(x):
    t, y = np.zeros(1), np.array([x[0]])
    while t[-1] < 3.0:
        h = 0.3 + 0.1 * np.exp(-(y[-1] ** 2))
        y = np.append(y, y[-1] + h * np.sin(x[1] * y[-1]))
        t = np.append(t, t[-1] + h)
        if len(t) > 6:
            break
    return y[-1] + np.sum(y * t) * len(t)


FUNCTIONS = [products, written_in_place, made_in_each_turn, steps_of_any_size]


def differences(f, x, h=1e-5):
    return np.array([(f(x + s) - f(x - s)) / (2.0 * h) for s in h * np.eye(len(x))])


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_arrays_that_are_appended_to_are_generated(f):
    assert agree(f, X.copy()) is not None
    value, (gradient,) = as_python(request(f, X))(X.copy())
    assert value == pytest.approx(f(X), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_they_are_right_once_compiled(f):
    value, gradient = contad.value_and_grad(f, engine="generated")(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-7)


@njit
def changed(z):
    z[0] = 3.0


@njit
def with_a_second_name(x):
    z = np.zeros(0)
    for i in range(len(x)):
        z = np.append(z, x[i])
        w = z
        w[0] = 3.0
    return np.sum(z)


@njit
def with_a_view(x):
    z = np.zeros(0)
    for i in range(len(x)):
        z = np.append(z, x[i])
        w = z[:1]
        w[0] += 3.0
    return np.sum(z)


@njit
def handed_to_a_function(x):
    z = np.zeros(0)
    for i in range(len(x)):
        z = np.append(z, x[i])
        changed(z)
    return np.sum(z)


@njit
def another_array(x):
    z = np.array([x[0]])
    for i in range(len(x)):
        z = np.append(z, x[i])
        if i == 1:
            z = x * 2.0
    return np.sum(z)


SHARED = [with_a_second_name, with_a_view, handed_to_a_function, another_array]


@pytest.mark.parametrize("f", SHARED, ids=lambda f: f.__name__)
def test_arrays_that_share_memory_are_no_lists(f):
    def fail(*_):
        raise AssertionError("a list")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made_containers, "find_bound", fail)
        value, (gradient,) = as_python(request(f, X))(X.copy())
    assert value == pytest.approx(f(X), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-7)


def test_a_planted_fault_is_noticed(monkeypatch):
    """A view that is kept becomes a copy."""
    monkeypatch.setattr(appended_arrays, "is_transient", lambda *_, **__: True)
    value, _ = as_python(request(with_a_view, X))(X.copy())
    assert value != pytest.approx(with_a_view(X))
