"""Lists and tuples of arrays that a loop runs over, and lists of lists of numbers that become matrices."""

import numpy as np
import pytest
from numba import njit

from contad.engines.source.reading import made_containers
from contad.errors import UnsupportedError
from tests.engines.source.agreement import as_python, request

X = np.array([0.6, -1.3, 2.1, 0.4])


@njit
def over_lists(x):
    s, y = 0.0, x * x
    for w in [x, y[1:], x * 2.0]:
        w[0] += 1.5 * x[2]
        s += np.sum(w * w) * w.size
        if s > 1e6:
            break
    for k, (u, w) in enumerate(zip([x, y], [y, x])):  # noqa: B905
        s += (k + 1) * u[0] * w[1] ** 2
    for u, c in [(x, 2.0), (y, -1.0)]:
        s += c * u[-1] ** 3
    return s


@njit
def matrices(x):
    n = len(x)
    m, none = n - 1, n - 4
    a = np.array([[x[i] * x[j] + i * j for j in range(m)] for i in range(1, n)])
    c = np.array([[w[k] * k for k in range(n)] for w in (x, x * x)])
    d = np.array([[x[k] for k in range(none)] for _ in range(n)])
    e = np.array([[x[k] for k in range(n)] for _ in range(none)])
    a[0, 0] *= x[3]
    return np.sum(a * a) * a.shape[1] + np.sum(c) ** 2 + d.size + d.shape[0] + e.size + e.shape[1] + a.shape[0]


def differences(f, x, h=1e-5):
    return np.array([(f(x + s) - f(x - s)) / (2.0 * h) for s in h * np.eye(len(x))])


@pytest.mark.parametrize("f", [over_lists, matrices], ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    value, (gradient,) = as_python(request(f, X))(X.copy())
    assert value == pytest.approx(f(X.copy()), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-6, atol=1e-8)


def test_a_misplaced_row_is_noticed(monkeypatch):
    monkeypatch.setattr(made_containers, "_position", lambda _, index, limits: limits[0])
    value, _ = as_python(request(matrices, X))(X.copy())
    assert value != pytest.approx(matrices(X))


@njit
def ragged(x):
    return np.sum(np.array([[x[j] for j in range(i)] for i in range(3)]))


@njit
def of_arrays(x):
    rows = [x * k for k in range(3)]
    return rows[0][1]


@pytest.mark.parametrize(
    ("f", "words"), [(ragged, "rows of a list of lists have one length"), (of_arrays, "of what is no number")]
)
def test_what_is_no_matrix_is_refused(f, words):
    with pytest.raises(UnsupportedError) as caught:
        as_python(request(f, X))
    assert words in str(caught.value)
