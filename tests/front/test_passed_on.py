"""Plain functions that only pass their arguments on to a Numba function."""

import numba
import numpy as np
import pytest

import contad
from contad.transforms import gradients as of_gradients
from contad.variables.activation import activate


@numba.njit
def weigh(x, y, scale=3.0):
    return scale * x[0] * x[1] + y * y


@numba.njit
def cube(x):
    return x * x * x


@numba.njit
def double(x):
    return 2.0 * x


DATA = np.array([0.5, -2.0])
called = cube


def call_weigh(y, x):
    return weigh(x, y)


def call_named(x):
    return called(x)


@pytest.fixture
def recorded(monkeypatch):
    """Notes what is recorded."""
    notes = []
    monkeypatch.setattr(of_gradients, "activate", lambda *args: notes.append(1) or activate(*args))
    return notes


def test_nothing_is_recorded(recorded):
    scale = 2.0
    assert contad.grad(lambda y: weigh(DATA, y))(1.5) == 3.0
    assert contad.value_and_grad(lambda x: weigh(x, 2.0, scale))(DATA)[0] == 2.0
    (y_bar, x_bar) = contad.grad(call_weigh, (0, 1))(1.5, DATA)
    assert y_bar == 3.0 and x_bar.tolist() == [-6.0, 1.5]
    (x_bar, y_bar) = contad.grad(call_weigh, (1, 0))(1.5, DATA)
    assert y_bar == 3.0 and x_bar.tolist() == [-6.0, 1.5] and x_bar is not DATA
    assert not recorded
    assert contad.grad(call_weigh)(y=1.5, x=DATA) == 3.0 and recorded


def test_names_are_looked_up_at_every_call(monkeypatch):
    power = cube

    def captured(x):
        return power(x)

    gradient, of_captured = contad.grad(call_named), contad.grad(captured)
    assert gradient(2.0) == of_captured(2.0) == 12.0
    monkeypatch.setitem(globals(), "called", lambda x: 5.0 * x)
    power = double
    assert (gradient(2.0), of_captured(2.0)) == (5.0, 2.0)
    monkeypatch.undo()
    assert gradient(2.0) == 12.0
    with pytest.raises(NameError, match="nowhere"):
        contad.grad(lambda x: nowhere(x))(1.0)  # noqa: F821


def test_arguments_of_other_kinds_are_recorded(recorded):
    gradient = contad.grad(lambda x: weigh(x, 2.0))
    assert gradient(DATA).tolist() == [-6.0, 1.5] and not recorded
    assert gradient(DATA[::-1]).tolist() == [1.5, -6.0] and recorded
    assert contad.grad(lambda x: called(x))(2) == 12.0
    outer = contad.grad(lambda w: contad.grad(lambda x: weigh(x, 1.0, w))(DATA)[0])
    assert outer(2.0) == -2.0
    assert contad.hessian(lambda x: called(x))(2.0) == 12.0
    assert contad.grad(lambda x: weigh(x, x[0]))(DATA).tolist() == [-5.0, 1.5]
    with contad.settings(rewrite=False), pytest.raises(contad.ContadError):
        contad.grad(lambda x: called(x))(2.0)


def test_results_that_are_no_numbers_are_refused():
    with pytest.raises(contad.OutputError, match="one real number"):
        contad.grad(lambda x: double(x))(DATA)
    with pytest.raises(TypeError):
        contad.grad(call_named)(1.0, 2.0)
