"""Initial value problems: closed forms, complex steps, forward against adjoint, counted evaluations, bad input."""

import functools
import gc
import weakref

import numba
import numpy as np
import pytest
import scipy.integrate
from mpmath import mp

import contad
from contad.engines import engine_names
from contad.errors import UnsupportedError
from contad.scipy.integrate import Adjoint, odeint, solve_ivp
from contad.scipy.integrate.trajectories import Settings, System
from contad.scipy.linalg import expm

TIMES = np.array([0.5, 1.0, 1.7])
V = np.array([-0.5, 1.0, -1.2, -0.3, 0.2, -0.4, 1.0, 0.5, 0.1])  # A, b, y0, t0
WEIGHTS = np.array([[1.0, -0.3, 2.0], [0.7, 1.1, -0.9]])
TIGHT = {"rtol": 1e-8, "atol": 1e-8}


def linear(v, method="RK45", sensitivity="forward", times=TIMES):
    """y' = A y + b t, whose A is captured and whose b is an argument."""
    a = np.reshape(v[:4], (2, 2))
    return solve_ivp(
        lambda t, y, more: a @ y + more["b"] * t, (v[8], 2.0), v[6:8], method, times, args=({"b": v[4:6]},),
        sensitivity=sensitivity, **TIGHT,
    ).y  # fmt: skip


def by_expm(v, times=TIMES):
    """The same by the exponential of the matrix of (y, t, 1)."""
    above = np.concatenate([np.reshape(v[:4], (2, 2)), np.reshape(v[4:6], (2, 1)), np.zeros((2, 1))], axis=1)
    matrix = np.concatenate([above, np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])], axis=0)
    start = contad.array([v[6], v[7], v[8], 1.0])
    return np.stack([(expm(matrix * (times[k] - v[8])) @ start)[:2] for k in range(len(times))]).T


@functools.cache
def exact():
    return by_expm(V), contad.jacobian(by_expm)(V)


# ---- linear systems --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("method", "tolerance"),
    [("RK45", 1e-7), ("DOP853", 1e-7), ("Radau", 1e-7), ("BDF", 1e-6), ("LSODA", 1e-6)],
)
def test_a_linear_system(method, tolerance):
    value, jacobian = exact()
    np.testing.assert_allclose(linear(V, method), value, atol=tolerance)
    for sensitivity in ("forward", "adjoint"):
        found = contad.jacrev(lambda v: np.sum(WEIGHTS * linear(v, method, sensitivity)))(V)  # noqa: B023
        np.testing.assert_allclose(found, np.tensordot(WEIGHTS, jacobian, 2), atol=tolerance)
    if method in ("RK45", "LSODA"):
        np.testing.assert_allclose(contad.jacfwd(lambda v: linear(v, method))(V), jacobian, atol=tolerance)
        direction = np.linspace(-1.0, 1.0, 9)
        found = contad.jvp(lambda v: linear(v, method), (V,), (direction,))[1]
        np.testing.assert_allclose(found, jacobian @ direction, atol=tolerance)


@pytest.mark.long
def test_a_linear_system_by_rk23():
    for sensitivity in ("forward", "adjoint"):
        found = contad.jacrev(lambda v: linear(v, "RK23", sensitivity))(V)  # noqa: B023
        np.testing.assert_allclose(found, exact()[1], atol=1e-6)


@pytest.mark.parametrize("engine", engine_names())
def test_engines(engine):
    for sensitivity in ("forward", "adjoint"):
        found = contad.grad(lambda v: np.sum(WEIGHTS * linear(v, "RK45", sensitivity)), engine=engine)(V)  # noqa: B023
        np.testing.assert_allclose(found, np.tensordot(WEIGHTS, exact()[1], 2), atol=1e-7)


def test_output_times():
    for sensitivity in ("forward", "adjoint"):

        def f(times):
            return np.sum(WEIGHTS * linear(V, "DOP853", sensitivity, times))  # noqa: B023

        expected = contad.grad(lambda times: np.sum(WEIGHTS * by_expm(V, times)))(TIMES)
        np.testing.assert_allclose(contad.grad(f)(TIMES), expected, atol=1e-7)
        np.testing.assert_allclose(contad.jacfwd(f)(TIMES), expected, atol=1e-7)


def test_an_output_time_that_is_the_start():
    times = np.array([0.1, 0.1, 0.6])
    for sensitivity in ("forward", "adjoint"):
        np.testing.assert_allclose(
            contad.jacrev(lambda v: linear(v, "RK45", sensitivity, times))(V),  # noqa: B023
            contad.jacobian(lambda v: by_expm(v, times))(V), atol=1e-7,
        )  # fmt: skip


# ---- second order ----------------------------------------------------------------------------------------------------
def oscillator(v, sensitivity="forward"):
    """The position at t = 1.5 of an oscillator with frequency, position and velocity v."""
    minus = -(v[0] ** 2)
    found = solve_ivp(
        lambda t, y: [y[1], minus * y[0]], (0.0, 1.5), v[1:], "DOP853", [1.5], sensitivity=sensitivity, rtol=1e-6
    )
    return found.y[0, -1]


def closed_oscillator(v):
    return v[1] * np.cos(1.5 * v[0]) + v[2] / v[0] * np.sin(1.5 * v[0])


def test_hessians():
    v = np.array([1.3, 0.8, -0.5])
    expected = contad.hessian(closed_oscillator)(v)
    np.testing.assert_allclose(contad.hessian(oscillator)(v), expected, atol=1e-4)
    np.testing.assert_allclose(contad.jacrev(contad.jacfwd(oscillator))(v), expected, atol=1e-4)


def test_hessians_with_the_adjoint():
    v, direction = np.array([1.3, 0.8, -0.5]), np.array([0.4, -1.0, 0.6])
    expected = contad.hessian(closed_oscillator)(v) @ direction
    f = lambda v: oscillator(v, "adjoint")
    np.testing.assert_allclose(contad.hvp(f)(v, direction), expected, atol=1e-4)
    by_adjoint = contad.grad(lambda v: contad.jvp(f, (v,), (direction,))[1])
    np.testing.assert_allclose(by_adjoint(v), expected, atol=1e-4)
    _, tangent = contad.linearize(f, v)
    assert tangent(direction) == pytest.approx(contad.grad(closed_oscillator)(v) @ direction, abs=1e-4)


# ---- non-linear systems ----------------------------------------------------------------------------------------------
def lotka_volterra(t, y, p):
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])


@numba.njit
def compiled_lotka_volterra(t, y, p):
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])


RATES, POPULATIONS = np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.2])


def complex_step(k):
    """d y(2) / d p_k by a complex step through SciPy's solver."""
    p = RATES.astype(complex)
    p[k] += 1e-30j
    found = scipy.integrate.solve_ivp(
        lotka_volterra, (0.0, 2.0), POPULATIONS.astype(complex), args=(p,), rtol=1e-11, atol=1e-13
    )
    return found.y[:, -1].imag / 1e-30


@pytest.mark.parametrize("fun", [lotka_volterra, compiled_lotka_volterra])
def test_lotka_volterra(fun):
    expected = WEIGHTS[:, 0] @ np.array([complex_step(k) for k in range(4)]).T

    def f(p, sensitivity):
        options = {"rtol": 1e-6, "atol": 1e-6, "sensitivity": sensitivity}
        return WEIGHTS[:, 0] @ solve_ivp(fun, (0.0, 2.0), POPULATIONS, "DOP853", [2.0], args=(p,), **options).y[:, 0]

    for sensitivity in ("forward", "adjoint", Adjoint(rtol=1e-8, atol=1e-8, method="RK45", rtol_quad=1e-7)):
        np.testing.assert_allclose(contad.grad(f)(RATES, sensitivity), expected, rtol=1e-4)


@pytest.mark.long
def test_numba_functions_with_several_arguments_and_trees():
    @numba.njit
    def driven(t, y, rate, shift, force):
        return np.array([y[1], -rate * y[0] - shift[0] * y[1] + force[0] * np.cos(shift[1] * t)])

    by_hand = lambda t, y, rate, shift, force: [y[1], -rate * y[0] - shift[0] * y[1] + force[0] * np.cos(shift[1] * t)]

    def f(v, fun, method, sensitivity):
        args = (v[0], v[1:3], (v[3],))
        if fun is by_hand or sensitivity == "adjoint":  # two arrays of one length, and a number
            args = (v[0], v[1:3], v[3:])
        return np.sum(WEIGHTS * solve_ivp(fun, (0.0, 2.0), np.array([1.0, -0.5]), method, TIMES, args=args,
                                          sensitivity=sensitivity, **TIGHT).y)  # fmt: skip

    v = np.array([1.3, 0.4, 0.9, 0.7])
    expected = contad.grad(f)(v, by_hand, "DOP853", "forward")
    for method, sensitivity in (("RK45", "forward"), ("LSODA", "adjoint")):
        np.testing.assert_allclose(contad.grad(f)(v, driven, method, sensitivity), expected, rtol=1e-5)


def test_a_stiff_equation_gets_the_exact_jacobian():
    """Robertson's reaction: as many evaluations as with the Jacobian by hand, and derivatives by mpmath."""

    def robertson(t, y, k):
        first, second, third = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
        return np.array([-first + third, first - second - third, second])

    def by_hand(t, y, k):
        return np.array(
            [
                [-k[0], k[2] * y[2], k[2] * y[1]],
                [k[0], -2.0 * k[1] * y[1] - k[2] * y[2], -k[2] * y[1]],
                [0.0, 2.0 * k[1] * y[1], 0.0],
            ]
        )

    k, start, options = np.array([0.04, 3e7, 1e4]), np.array([1.0, 0.0, 0.0]), {"rtol": 1e-6, "atol": 1e-10}
    for method in ("Radau", "BDF"):
        found = solve_ivp(robertson, (0.0, 40.0), start, method, args=(k,), **options)
        given = scipy.integrate.solve_ivp(
            lambda t, y: robertson(t, y, k), (0.0, 40.0), start, method, jac=lambda t, y: by_hand(t, y, k), **options
        )
        assert (found.nfev, found.njev) == (given.nfev, given.njev)
        np.testing.assert_allclose(found.y, given.y, rtol=1e-9)

    def of_log(x, sensitivity):
        rates = np.exp(x) * k
        options = {"rtol": 1e-5, "atol": 1e-9, "sensitivity": sensitivity}
        return solve_ivp(robertson, (0.0, 40.0), start, "BDF", np.array([40.0]), args=(rates,), **options).y[0, 0]

    steps = 1e-4 * np.eye(3)
    tight = [
        [
            scipy.integrate.solve_ivp(
                robertson, (0.0, 40.0), start, "Radau", args=(np.exp(x) * k,), rtol=1e-11, atol=1e-15
            ).y[0, -1]
            for x in (step, -step)
        ]
        for step in steps
    ]
    expected = [(a - b) / 2e-4 for a, b in tight]
    for sensitivity in ("forward", "adjoint"):
        np.testing.assert_allclose(contad.grad(of_log)(np.zeros(3), sensitivity), expected, rtol=2e-3)


def test_values_by_mpmath():
    with mp.workdps(20):
        exact = mp.odefun(lambda t, y: [y[1], (1 - y[0] ** 2) * y[1] - y[0]], 0, [2, 0])(1.5)

    def f(mu):
        fun = lambda t, y: [y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]]
        return solve_ivp(fun, (0.0, 1.5), np.array([2.0, 0.0]), "DOP853", rtol=1e-10, atol=1e-10).y[:, -1]

    np.testing.assert_allclose(f(1.0), np.array([float(x) for x in exact]), atol=1e-9)
    value, tangent = contad.jvp(f, (1.0,), (1.0,))
    np.testing.assert_allclose(value, f(1.0), atol=1e-9)
    np.testing.assert_allclose(tangent, (f(1.0001) - f(0.9999)) / 2e-4, atol=1e-6)


# ---- cost ------------------------------------------------------------------------------------------------------------
def test_the_adjoint_costs_the_same_for_any_number_of_parameters():
    def count(n, sensitivity):
        calls = [0]

        def fun(t, y, p):
            calls[0] += 1
            return -np.sum(p) / n * y

        def f(p):
            return np.sum(solve_ivp(fun, (0.0, 1.0), np.ones(2), args=(p,), sensitivity=sensitivity, **TIGHT).y[:, -1])

        contad.grad(f)(np.ones(n))
        return calls[0]

    assert count(100, "adjoint") == count(2, "adjoint")


def test_the_cost_of_sensitivities_grows_with_the_parameters():
    """By as many numbers as there are parameters, in each of as many evaluations."""
    settings = Settings("solve_ivp", scipy.integrate.RK45, 1e-3, 1e-6, {}, np.inf, None, [])
    system = System(settings, lambda point, params: -np.sum(params) * point[1], 2)
    assert [system.augment(n, [0]).size for n in (2, 8, 32)] == [6, 18, 66]


# ---- checkpoints -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["RK45", "BDF"])
def test_checkpoints(method):
    """The same derivatives from at most so many states, and the steps between two of them."""
    fun = lambda t, y, p: [p[0] * y[1], -p[0] * p[1] * y[0]]

    def f(p, sensitivity):
        found = solve_ivp(fun, (0.0, 30.0), np.array([1.0, 0.3]), method, np.array([12.0, 30.0]), args=(p,),
                          sensitivity=sensitivity, rtol=1e-6, atol=1e-6)  # fmt: skip
        return np.sum(found.y * WEIGHTS[:, :2])

    p = np.array([1.1, 0.8])
    expected = contad.grad(f)(p, "adjoint")
    for sensitivity in (Adjoint(checkpoints=4), Adjoint(checkpoints=1), Adjoint(steps=20), Adjoint(steps=10**6)):
        np.testing.assert_allclose(contad.grad(f)(p, sensitivity), expected, rtol=2e-4, atol=1e-5)


class Counted(scipy.integrate.RK45):
    """Counts the interpolations that are alive."""

    alive, most = 0, 0

    def _dense_output_impl(self):
        made = super()._dense_output_impl()
        Counted.alive += 1
        Counted.most = max(Counted.most, Counted.alive)
        weakref.finalize(made, Counted.forget)
        return made

    @staticmethod
    def forget():
        Counted.alive -= 1


def test_memory_with_checkpoints():
    """No more interpolations are alive than there are steps in two pieces: the last one, and that of the present."""

    def f(p, sensitivity):
        options = {"rtol": 1e-3, "atol": 1e-3, "max_step": 0.05, "sensitivity": sensitivity}
        return np.sum(
            solve_ivp(lambda t, y, p: -p * y, (0.0, 8.0), np.ones(1), Counted, [8.0], args=(p,), **options).y
        )  # fmt: skip

    found = []
    for settings in ({}, {"checkpoints": 16}, {"steps": 5}):
        gc.collect()
        Counted.alive = Counted.most = 0
        gradient = contad.grad(f)(0.3, Adjoint(method="RK45", **settings))
        found.append(Counted.most)
        assert gradient == pytest.approx(-8.0 * np.exp(-2.4), rel=1e-2)
    assert found[0] >= 160  # steps
    assert found[1] <= 36 and found[2] <= 12


# ---- compiled methods ------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_compiled_methods():
    def f(p, times, method="dopri5"):
        options = {"args": (p,), "rtol": 1e-9, "atol": 1e-9, "t_eval": times}
        return WEIGHTS[:, 0] @ solve_ivp(compiled_lotka_volterra, (0.0, 2.0), POPULATIONS, method, **options).y[:, 0]

    times = np.array([2.0])
    expected = WEIGHTS[:, 0] @ np.array([complex_step(k) for k in range(4)]).T
    np.testing.assert_allclose(contad.grad(f)(RATES, times), expected, rtol=1e-6)
    end = solve_ivp(lotka_volterra, (0.0, 2.0), POPULATIONS, args=(RATES,), **TIGHT).y[:, -1]
    slope = lotka_volterra(2.0, end, RATES)
    np.testing.assert_allclose(contad.grad(f, 1)(RATES, times), [WEIGHTS[:, 0] @ slope], rtol=1e-5)
    for options, error, message in (
        ({"fun": lotka_volterra}, ValueError, "solve_ivp: fun must be a Numba function for the method"),
        ({"events": lambda t, y: y}, UnsupportedError, "solve_ivp: events= is not supported by the method"),
        ({"rtol": 0.0}, ValueError, "solve_ivp: rtol and atol must be positive numbers"),
        ({"args": (np.full(4, np.nan),)}, ValueError, r"solve_ivp: fun must give finite numbers, .* at t = 0\b"),
    ):
        given = {"fun": compiled_lotka_volterra, "args": (RATES,), "t_eval": times} | options

        def call(y0):
            return solve_ivp(t_span=(0.0, 2.0), y0=y0, method="dopri5", **given).y[0, 0]  # noqa: B023

        for f in (call, contad.grad(call)):
            with pytest.raises(error, match=message):
                f(POPULATIONS)
    assert contad.stack().top <= 1


# ---- what stays SciPy's ----------------------------------------------------------------------------------------------
def test_on_floats_it_is_scipys():
    options = {"args": (RATES,), "t_eval": np.linspace(0.0, 2.0, 5), "events": lambda t, y, p: y[0] - 1.5}
    found = solve_ivp(lotka_volterra, (0.0, 2.0), POPULATIONS, dense_output=True, **options)
    expected = scipy.integrate.solve_ivp(lotka_volterra, (0.0, 2.0), POPULATIONS, dense_output=True, **options)
    np.testing.assert_array_equal(found.y, expected.y)
    np.testing.assert_array_equal(found.t_events[0], expected.t_events[0])
    np.testing.assert_array_equal(found.sol(0.3), expected.sol(0.3))
    times = np.linspace(0.0, 2.0, 5)
    np.testing.assert_array_equal(
        odeint(lotka_volterra, POPULATIONS, times, (RATES,), tfirst=True),
        scipy.integrate.odeint(lotka_volterra, POPULATIONS, times, (RATES,), tfirst=True),
    )


def test_the_structure_of_a_jacobian_is_scipys():
    chain = lambda t, y, k: -k * y + np.concatenate([[0.0], y[:-1]])
    start = np.linspace(1.0, 2.0, 4)
    for method, options in (("LSODA", {"lband": 1, "uband": 0}), ("BDF", {"jac_sparsity": np.tri(4)})):
        found = solve_ivp(chain, (0.0, 1.0), start, method, args=(2.0,), **options)
        expected = scipy.integrate.solve_ivp(chain, (0.0, 1.0), start, method, args=(2.0,), **options)
        np.testing.assert_array_equal(found.y, expected.y)

        def f(k):
            return np.sum(solve_ivp(chain, (0.0, 1.0), start, method, [1.0], args=(k,), **options, **TIGHT).y)  # noqa: B023

        assert contad.grad(f)(2.0) == pytest.approx((f(2.001) - f(1.999)) / 0.002, rel=1e-4)


def test_times_of_the_solver():
    """Without t_eval the times are the solver's, whose ends are those of t_span."""
    f = lambda p, end: solve_ivp(lambda t, y: -p * y, (0.0, end), np.array([2.0]), **TIGHT)
    plain = f(0.7, 1.3)
    gradient = contad.grad(lambda p, end: f(p, end).y[0, -1] + 0.5 * f(p, end).t[-1], (0, 1))(0.7, 1.3)
    np.testing.assert_allclose(gradient, [-2.6 * np.exp(-0.91), -1.4 * np.exp(-0.91) + 0.5], rtol=1e-6)  # fmt: skip
    middle = len(plain.t) // 2
    found = contad.derivative(lambda p: f(p, 1.3).y[0, middle])(0.7)
    assert found == pytest.approx(-2.0 * plain.t[middle] * np.exp(-0.7 * plain.t[middle]), rel=1e-6)


def test_odeint():
    times = np.array([0.0, 0.4, 1.1])
    for sensitivity in ("forward", "adjoint"):

        def f(v):
            return odeint(lambda y, t, k: -k * y, v[1], times, (v[0],), sensitivity=sensitivity)[:, 0]  # noqa: B023

        expected = contad.jacobian(lambda v: v[1] * np.exp(-v[0] * times))(np.array([0.8, 2.0]))
        np.testing.assert_allclose(contad.jacrev(f)(np.array([0.8, 2.0])), expected, atol=1e-6)


# ---- bad input -------------------------------------------------------------------------------------------------------
def solve(p, fun=lambda t, y: -y, t_span=(0.0, 2.0), **options):
    return np.sum(solve_ivp(fun, t_span, np.ones(2) * p, **options).y[:, -1])


@pytest.mark.parametrize("call", [lambda f: f(1.0), lambda f: contad.grad(f)(1.0), lambda f: contad.derivative(f)(1.0)])
@pytest.mark.parametrize(("options", "error", "message"), [
    ({"fun": lambda t, y: y[:1]}, ValueError, "solve_ivp: fun must give 2 numbers, one for each of y0, got 1"),
    ({"fun": lambda t, y: y @ y}, ValueError, r"solve_ivp: fun must give 2 numbers, .* got shape \(\)"),
    ({"fun": lambda t, y: y * np.nan}, ValueError, "solve_ivp: fun must give finite numbers, got nan at t = 0"),
    (
        {"fun": lambda t, y: -y if t < 1.0 else y * np.nan},
        ValueError, r"solve_ivp: fun must give finite numbers, got nan at t = 1\b",
    ),
    ({"method": "Euler"}, ValueError, "solve_ivp: method must be one of RK23, RK45, .*, got 'Euler'"),
    ({"sensitivity": "both"}, ValueError, "solve_ivp: sensitivity must be"),
    ({"sensitivity": Adjoint(checkpoints=0)}, ValueError, "solve_ivp: checkpoints of Adjoint must be a positive"),
    ({"t_span": (0.0,)}, ValueError, r"solve_ivp: t_span must be a pair \(t0, t1\), got 1 numbers"),
    ({"fun": lambda t, y: [1 / 0, y]}, ZeroDivisionError, "division"),
])  # fmt: skip
def test_bad_input(call, options, error, message):
    with np.errstate(all="ignore"), pytest.raises(error, match=message):
        call(lambda p: solve(p, **options))
    assert contad.stack().top <= 1


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_nan_on_the_way_of_a_stiff_method(method):
    fun = lambda t, y: -y if t < 1.0 else y * np.nan
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"fun must give finite numbers, got nan at t = 1"):
        contad.grad(lambda p: solve(p, fun, method=method))(1.0)


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"atol": 0.0}, ValueError, "solve_ivp: atol must be positive, got 0.0"),
    ({"rtol": 0.0}, ValueError, "solve_ivp: rtol must be positive, got 0.0"),
    ({"t_eval": [1.0, 0.5]}, ValueError, "solve_ivp: t_eval must go in order from 0.0 to 2.0"),
    ({"t_eval": [1.0, 3.0]}, ValueError, "solve_ivp: t_eval must go in order from 0.0 to 2.0"),
    ({"fun": lambda t, y: y * y}, RuntimeError, "solve_ivp: the solver failed"),
    ({"fun": lambda t, y: y * y, "t_eval": [1.5]}, RuntimeError, "solve_ivp: the solver failed at t = "),
])  # fmt: skip
def test_calls_that_are_refused_on_variables(options, error, message):
    for sensitivity in ("forward", "adjoint"):
        with np.errstate(all="ignore"), pytest.raises(error, match=message):
            contad.grad(solve)(1.0, **options, sensitivity=sensitivity)
    assert contad.stack().top <= 1
