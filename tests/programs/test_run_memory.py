"""The memory of runs of programs: it serves again, whatever it holds, and never two runs at once."""

import numpy as np
import pytest

import contad
from contad.programs import inputs

X = np.linspace(0.1, 1.0, 5000)


@contad.array_rule()
def in_python(x):
    return np.tanh(x)


@in_python.vjp("x")
def in_python_vjp(z, z_bar, x):
    return z_bar * (1.0 - z * z)


@in_python.jvp
def in_python_jvp(z, x_dot, x):
    return x_dot * (1.0 - z * z)


def program_of(function):
    return contad.record(lambda x: np.sum(function(x) * x) + x[1], X)


@pytest.mark.parametrize("function", [np.tanh, in_python])
def test_a_run_uses_the_memory_of_the_last_one(function):
    program = program_of(function)
    assert bool(program.python_rules) == (function is in_python)
    program.gradient(X)
    kept = inputs._kept.numbers
    assert len(kept) >= 3 * len(X)
    kept[:] = np.nan
    z = np.tanh(X)
    expected = z + X * (1.0 - z * z)
    expected[1] += 1.0
    np.testing.assert_allclose(program.gradient(X), expected, rtol=1e-14)
    kept[:] = np.nan
    assert program.jvp((X,), (X,))[1] == pytest.approx(X @ expected, rel=1e-13)
    assert inputs._kept.numbers is kept


def test_a_guard_that_does_not_hold_leaves_the_memory():
    program = contad.record(lambda x: np.sum(in_python(x)) if x[0] > 0.0 else x[1], X)
    program.gradient(X)
    kept = inputs._kept.numbers
    with pytest.raises(contad.GuardError):
        program.gradient(-X)
    assert inputs._kept.numbers is kept


def test_a_rule_may_run_another_program():
    inner = contad.record(lambda x: np.sum(np.tanh(x) * x), X)

    @contad.array_rule()
    def of_inner(x):
        return inner(x)

    @of_inner.vjp("x")
    def of_inner_vjp(z, z_bar, x):
        return z_bar * (np.tanh(x) + x * (1.0 - np.tanh(x) ** 2))

    outer = contad.record(lambda x: of_inner(x) * np.sum(np.exp(x)), X)
    outer.gradient(X)  # after which there is memory to share
    value, gradient = inner.value_and_grad(X)
    total = np.sum(np.exp(X))
    found, found_gradient = outer.value_and_grad(X)
    assert found == pytest.approx(value * total, rel=1e-14)
    np.testing.assert_allclose(found_gradient, gradient * total + value * np.exp(X), rtol=1e-13)


def test_a_thread_does_not_keep_more_than_said(monkeypatch):
    monkeypatch.setattr(inputs, "MOST", inputs.FEW)
    monkeypatch.setattr(inputs, "_kept", inputs._Kept())
    program_of(np.tanh).gradient(X)
    assert len(inputs._kept.numbers) == 0
