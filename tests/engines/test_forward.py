"""What forward mode does beside the arithmetic, counted: times are not asserted."""

import numpy as np
import pytest

import contad
from contad.engines.second_order import second_order_records

X = np.linspace(0.1, 1.1, 50)
V = np.linspace(-1.0, 2.0, 50)


@pytest.fixture
def entered(monkeypatch):
    """How often np.errstate was entered."""
    real, found = np.errstate.__enter__, []

    def enter(self):
        found.append(self)
        return real(self)

    monkeypatch.setattr(np.errstate, "__enter__", enter)
    return found


def f(x):
    return np.sum(np.exp(-x * x) * x + np.log(x) / 3.0)


def gradient(x):
    return np.exp(-x * x) * (1.0 - 2.0 * x * x) + 1.0 / (3.0 * x)


def test_an_operation_on_an_array_sets_the_state_of_errors_once(entered):
    contad.jvp(f, (X,), (V,))
    entered.clear()
    z, z_dot = contad.jvp(f, (X,), (V,))
    assert len(entered) == 7  # -x, * x, exp, * x, log, / 3, +; a sum cannot divide
    np.testing.assert_allclose([z, z_dot], [f(X), gradient(X) @ V], rtol=1e-14)


def test_a_linear_map_evaluates_no_second_partials(monkeypatch):
    def refuse(*args):
        raise AssertionError("second partials")

    monkeypatch.setattr(second_order_records, "partials_of", refuse)
    z, tangent_map = contad.linearize(f, X)
    np.testing.assert_allclose([z, tangent_map(V)], [f(X), gradient(X) @ V], rtol=1e-14)
    with pytest.raises(AssertionError, match="second partials"):
        contad.hvp(f)(X, V)
