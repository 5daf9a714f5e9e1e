"""Arrays that np.append makes longer in loops: values and gradients, and what is refused because it shares memory."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.reading import appended_arrays
from contad.errors import EngineLimitError, UnsupportedError
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


FUNCTIONS = [products, written_in_place, made_in_each_turn]


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
def test_arrays_that_share_memory_are_refused(f):
    with pytest.raises((UnsupportedError, EngineLimitError), match="may have another length|changes its shape"):
        as_python(request(f, X))(X.copy())


def test_a_planted_fault_is_noticed(monkeypatch):
    """A view that is kept becomes a copy."""
    monkeypatch.setattr(appended_arrays, "_is_transient", lambda *_: True)
    value, _ = as_python(request(with_a_view, X))(X.copy())
    assert value != pytest.approx(with_a_view(X))


@njit
def in_a_while_loop(x):
    z = np.zeros(0)
    t = 1.0
    while t < 5.0:
        z = np.append(z, t * x[0])
        t *= 1.5
    return np.sum(z)


@njit
def whole_arrays(x):
    z = np.zeros(0)
    for i in range(3):
        z = np.append(z, x[:i])
    return np.sum(z)


@pytest.mark.parametrize(
    ("f", "words"), [(in_a_while_loop, "does not tell how often it runs"), (whole_arrays, "conversion 'float(x[:i])'")]
)
def test_what_tells_no_length_is_refused(f, words):
    with pytest.raises(UnsupportedError) as caught:
        as_python(request(f, X))
    assert words in str(caught.value)
