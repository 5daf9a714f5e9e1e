"""Slices of arrays that have been written to: taken as they lie, or copied in runs, where these are long."""

import numpy as np
import pytest

import contad
from contad.engines.stream.storage import LINEAR
from contad.programs.codes import ARRAY, GATHER, STOPPED
from tests.programs import simulations
from tests.programs.comparison import require_derivatives
from tests.programs.simulations import simulation

RNG = np.random.default_rng(59)
STEPS, N = 3, 60


heat = simulation(simulations.heat, STEPS)


def rows_of(program, code):
    (trace,) = program.traces
    return trace.code[trace.code[:, 0] == code]


def require_gradients(f, program, *args):
    require_derivatives(program, f, args, "closures", True, 1e-13, (1e-12, 1e-13), (1e-12, 0.0))


def test_steps_in_place_copy_runs():
    program = contad.record(heat, RNG.normal(size=N), 0.2)
    require_gradients(heat, program, RNG.normal(size=N), 0.15)
    # u[1:-1] is taken as it lies; u[:-2], u[2:] and at last u have an end each that is older
    assert rows_of(program, GATHER)[:, 2].tolist() == [1] * (2 * (STEPS - 1) + 2)
    assert rows_of(program, ARRAY + LINEAR)[:, 2].tolist() == [N - 3] * (2 * (STEPS - 1)) + [N - 2, 1]


def test_constants_and_short_runs_are_gathered():
    n = 3 * N

    def f(x):
        u = contad.zeros(n)
        u[20:] = x[: n - 20] * x[0]
        u[3:6] = x[3:6]
        v = x[::-1].copy()
        return np.sum(u * u * u) + np.sum(v * v * u)

    program = contad.record(f, RNG.normal(size=n))
    require_gradients(f, program, RNG.normal(size=n))
    lengths = rows_of(program, GATHER)[:, 2].tolist()
    assert n in lengths  # backwards
    assert n - 20 in rows_of(program, ARRAY + LINEAR)[:, 2]


def test_gradients_stop_where_they_are_told_to():
    def f(x):
        u = x.copy()
        u[0] = x[1]
        return np.sum(contad.stop_gradient(u) * u)

    program = contad.record(f, RNG.normal(size=N))
    require_gradients(f, program, RNG.normal(size=N))
    assert len(rows_of(program, STOPPED)) == 1 and rows_of(program, STOPPED)[0, 2] == N


def test_guards_behind_copies_know_their_places():
    def f(x):
        u = x.copy()
        u[1:-1] = 2.0 * x[1:-1]
        z = np.sum(u[:-1] * u[1:])
        return z if z > 0.0 else -z * z

    program = contad.record(f, np.ones(N), retrace=True)
    for x in (np.ones(N), np.where(np.arange(N) % 2 == 0, 1.0, -1.0)):
        assert program(x) == pytest.approx(f(x), rel=1e-13)
    strict = contad.record(f, np.ones(N))
    with pytest.raises(contad.GuardError, match="test_moved_cells.py"):
        strict(np.where(np.arange(N) % 2 == 0, 1.0, -1.0))


def test_guards_behind_copies_and_calls_of_python_know_their_places():
    def f(x):
        u = x.copy()
        u[1:-1] = 2.0 * x[1:-1]
        z = np.convolve(u[:-1] * u[1:], np.array([1.0, 0.5]))  # several cells of a rule that Python runs
        return np.sum(z * z) if z[0] > 0.0 else np.sum(z)

    program = contad.record(f, np.ones(N))
    assert program.python_rules
    require_gradients(f, program, np.linspace(0.5, 1.5, N))
    with pytest.raises(contad.GuardError, match="test_moved_cells.py"):
        program(np.where(np.arange(N) % 2 == 0, 1.0, -1.0))


def test_numbers_that_were_assigned_have_their_values():
    def f(x):
        u = contad.zeros(4)
        for k in range(4):
            u[k] = x[k] * x[k - 1]  # cells that follow one another, whose values are in records of numbers
        return np.sum(u * np.full(4, 1.5) * u)

    x = RNG.normal(size=4)
    for engine in ("matrix", "closures"):
        assert contad.value_and_grad(f, engine=engine)(x)[0] == pytest.approx(f(x), rel=1e-14)
    require_gradients(f, contad.record(f, x), RNG.normal(size=4))


def test_later_assignments_do_not_reach_what_was_read():
    def f(x):
        u = x * 1.0
        u[:2] = x[:2] * 3.0
        inner = u[2:]
        z = inner * inner
        u[2:] = 7.0 * x[2:]
        return np.sum(z) + np.sum(inner) + np.sum(u * u)

    x = RNG.normal(size=40)
    wanted = contad.grad(f, engine="closures")(x)
    np.testing.assert_allclose(contad.grad(f, engine="matrix")(x), wanted, rtol=1e-13)
    require_gradients(f, contad.record(f, x), RNG.normal(size=40))
