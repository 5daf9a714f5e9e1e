"""Gradients of solutions of equations and of hidden states, beside autograd's, JAX's with diffrax, and by hand."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.integrate

import contad
import contad.stan
from benchmarks.comparison import shaped
from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Timed, Topic
from contad.scipy.integrate import Adjoint, dopri5, sdirk4, solve_ivp
from contad.scipy.optimize import brentq, newton

RTOL = ATOL = 1e-7
TOLERANCE = 1e-3  # gradients of different methods, at these tolerances

# ---- Lotka and Volterra ----------------------------------------------------------------------------------------------
TIMES = np.linspace(0.0, 10.0, 11)


@numba.njit
def populations(t, y, p):
    """Slopes of prey and predators."""
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])


@numba.njit
def lotka_volterra(p, y0):
    """A sum of squares of both at ten times."""
    return np.sum((dopri5(populations, TIMES, y0, (p,), RTOL, ATOL)[1:] - 1.0) ** 2)


@numba.njit
def populations_by_hand(t, y, p):
    """With derivatives in four rates and two starts behind them."""
    found = np.empty(14)
    both = y[0] * y[1]
    found[0], found[1] = p[0] * y[0] - p[1] * both, p[3] * both - p[2] * y[1]
    for k in range(6):
        a, b = y[2 + 2 * k], y[3 + 2 * k]
        mixed = a * y[1] + y[0] * b
        found[2 + 2 * k], found[3 + 2 * k] = p[0] * a - p[1] * mixed, p[3] * mixed - p[2] * b
    found[2] += y[0]
    found[4] -= both
    found[7] -= y[1]
    found[9] += both
    return found


@numba.njit
def lotka_volterra_by_hand(p, y0):
    """Value and gradient."""
    start = np.zeros(14)
    start[:2], start[10], start[13] = y0, 1.0, 1.0
    y = dopri5(populations_by_hand, TIMES, start, (p,), RTOL, ATOL)[1:]
    value, gradient = 0.0, np.zeros(6)
    for row in y:
        value += (row[0] - 1.0) ** 2 + (row[1] - 1.0) ** 2
        for k in range(6):
            gradient[k] += 2.0 * ((row[0] - 1.0) * row[2 + 2 * k] + (row[1] - 1.0) * row[3 + 2 * k])
    return value, (gradient[:4], gradient[4:])


def by_compiled(f: Any, argnums: tuple[int, ...]) -> Callable[..., Run]:
    """The compiled solver, differentiated by generated code."""
    gradient = contad.value_and_grad(f, argnums)
    return lambda *args: lambda: gradient(*args)


def by_solve_ivp(sensitivity: Any) -> Callable[..., Run]:
    """contad's solve_ivp of the same equation."""

    def loss(p: Any, y0: Any) -> Any:
        options = {"t_eval": TIMES[1:], "args": (p,), "rtol": RTOL, "atol": ATOL, "sensitivity": sensitivity}
        return np.sum((solve_ivp(populations, (0.0, 10.0), y0, **options).y - 1.0) ** 2)

    gradient = contad.value_and_grad(loss, (0, 1))
    return lambda *args: lambda: gradient(*args)


def by_autograd(p: np.ndarray, y0: np.ndarray) -> Run:
    """autograd's odeint, whose gradient is an adjoint solution."""
    import autograd
    import autograd.numpy as anp
    from autograd.builtins import tuple as autograd_tuple
    from autograd.scipy.integrate import odeint

    def slope(y: Any, t: Any, p: Any) -> Any:
        return anp.array([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])

    def loss(p: Any, y0: Any) -> Any:
        return anp.sum((odeint(slope, y0, TIMES, autograd_tuple((p,)), rtol=RTOL, atol=ATOL)[1:] - 1.0) ** 2)

    gradient = autograd.grad(loss, (0, 1))
    return lambda: (loss(p, y0), gradient(p, y0))


def by_diffrax(p: np.ndarray, y0: np.ndarray) -> Run:
    """diffrax' Dopri5, compiled; its default derivative, of the steps with checkpoints."""
    jax, jnp = shaped.import_jax()
    import diffrax

    def slope(t: Any, y: Any, p: Any) -> Any:
        return jnp.array([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])

    def loss(p: Any, y0: Any) -> Any:
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(slope), diffrax.Dopri5(), 0.0, 10.0, None, y0, p, max_steps=4096,
            saveat=diffrax.SaveAt(ts=jnp.asarray(TIMES[1:])),
            stepsize_controller=diffrax.PIDController(rtol=RTOL, atol=ATOL),
        )  # fmt: skip
        return jnp.sum((found.ys - 1.0) ** 2)

    gradient, args = jax.jit(jax.value_and_grad(loss, (0, 1))), (jnp.asarray(p), jnp.asarray(y0))
    return lambda: jax.block_until_ready(gradient(*args))


# ---- pharmacokinetics ------------------------------------------------------------------------------------------------
HOURS = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0])


@numba.njit
def absorption(t, y, p):
    """A drug goes from the gut into the blood, and out of it; p are logarithms of two rates and a volume."""
    absorbed = np.exp(p[0]) * y[0]
    return np.array([-absorbed, absorbed - np.exp(p[1]) * y[1]])


@numba.njit
def subjects(p):
    """A sum of squares of concentrations of all subjects, each a solution of its own."""
    total = 0.0
    for k in range(len(p)):
        y = dopri5(absorption, HOURS, np.array([10.0, 0.0]), (p[k],), RTOL, ATOL)
        for row in range(1, len(HOURS)):
            total += (y[row, 1] * np.exp(-p[k, 2]) - 0.5) ** 2
    return total


@numba.njit
def subjects_by_hand(p):
    """Value and gradient by Bateman's function, the solution in closed form."""
    total, gradient = 0.0, np.zeros(p.shape)
    for k in range(len(p)):
        a, b, volume = np.exp(p[k, 0]), np.exp(p[k, 1]), np.exp(p[k, 2])
        for t in HOURS[1:]:
            ea, eb = np.exp(-a * t), np.exp(-b * t)
            scale = 10.0 / volume / (a - b)
            c = scale * a * (eb - ea)
            error = 2.0 * (c - 0.5)
            total += (c - 0.5) ** 2
            gradient[k, 0] += error * a * (scale * (eb - ea) + scale * a * t * ea - c / (a - b))
            gradient[k, 1] += error * b * (-scale * a * t * eb + c / (a - b))
            gradient[k, 2] -= error * c
    return total, (gradient,)


def subjects_by_autograd(p: np.ndarray) -> Run:
    """autograd's odeint, subject by subject."""
    import autograd
    import autograd.numpy as anp
    from autograd.builtins import tuple as autograd_tuple
    from autograd.scipy.integrate import odeint

    def slope(y: Any, t: Any, p: Any) -> Any:
        absorbed = anp.exp(p[0]) * y[0]
        return anp.array([-absorbed, absorbed - anp.exp(p[1]) * y[1]])

    def loss(p: Any) -> Any:
        total = 0.0
        for k in range(len(p)):
            y = odeint(slope, np.array([10.0, 0.0]), HOURS, autograd_tuple((p[k],)), rtol=RTOL, atol=ATOL)
            total = total + anp.sum((y[1:, 1] * anp.exp(-p[k, 2]) - 0.5) ** 2)
        return total

    gradient = autograd.value_and_grad(loss)
    return lambda: gradient(p)


def subjects_by_diffrax(p: np.ndarray) -> Run:
    """diffrax' Dopri5 of all subjects at once."""
    jax, jnp = shaped.import_jax()
    import diffrax

    def slope(t: Any, y: Any, p: Any) -> Any:
        absorbed = jnp.exp(p[0]) * y[0]
        return jnp.array([-absorbed, absorbed - jnp.exp(p[1]) * y[1]])

    def solve(p: Any) -> Any:
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(slope), diffrax.Dopri5(), 0.0, HOURS[-1], None, jnp.array([10.0, 0.0]), p, max_steps=4096,
            saveat=diffrax.SaveAt(ts=jnp.asarray(HOURS[1:])),
            stepsize_controller=diffrax.PIDController(rtol=RTOL, atol=ATOL),
        )  # fmt: skip
        return jnp.sum((found.ys[:, 1] * jnp.exp(-p[2]) - 0.5) ** 2)

    gradient, given = jax.jit(jax.value_and_grad(lambda p: jnp.sum(jax.vmap(solve)(p)))), jnp.asarray(p)
    return lambda: jax.block_until_ready(gradient(given))


# ---- Brusselator -----------------------------------------------------------------------------------------------------
ENDS = np.array([0.0, 1.0])


@numba.njit
def brusselator(t, y, p):
    """Two substances on a line, u and v by turns; p are two rates and a diffusion."""
    n = len(y) // 2
    found, d = np.empty(2 * n), p[2] * (n + 1.0) ** 2
    for i in range(n):
        u, v = y[2 * i], y[2 * i + 1]
        left_u, left_v = (y[2 * i - 2], y[2 * i - 1]) if i > 0 else (1.0, 3.0)
        right_u, right_v = (y[2 * i + 2], y[2 * i + 3]) if i < n - 1 else (1.0, 3.0)
        uuv = u * u * v
        found[2 * i] = p[0] + uuv - (p[1] + 1.0) * u + d * (left_u - 2.0 * u + right_u)
        found[2 * i + 1] = p[1] * u - uuv + d * (left_v - 2.0 * v + right_v)
    return found


@numba.njit
def brusselator_loss(p, y0):
    """The sum of squares at the end."""
    return np.sum(sdirk4(brusselator, ENDS, y0, (p,), 1e-5, 1e-5, 100_000, 2, 2)[1] ** 2)


@numba.njit
def brusselator_by_hand(t, y, p):
    """With derivatives in three parameters: eight numbers for each place."""
    n = len(y) // 8
    found, d = np.empty(8 * n), p[2] * (n + 1.0) ** 2
    for i in range(n):
        own, at = y[8 * i : 8 * i + 8], 8 * i
        for k in range(4):
            edge = 1.0 if k == 0 else 0.0
            for s in range(2):
                left = y[at - 8 + 2 * k + s] if i > 0 else (1.0 + 2.0 * s) * edge
                right = y[at + 8 + 2 * k + s] if i < n - 1 else (1.0 + 2.0 * s) * edge
                spread = left - 2.0 * own[2 * k + s] + right
                found[at + 2 * k + s] = d * spread
                if k == 0:
                    found[at + 6 + s] = 0.0
        u, v = own[0], own[1]
        for k in range(1, 4):
            a, b = own[2 * k], own[2 * k + 1]
            change = 2.0 * u * v * a + u * u * b
            found[at + 2 * k] += change - (p[1] + 1.0) * a
            found[at + 2 * k + 1] += p[1] * a - change
        found[at + 2] += 1.0
        found[at + 4] -= u
        found[at + 5] += u
        found[at + 6] += found[at] / p[2]
        found[at + 7] += found[at + 1] / p[2]
        found[at] += p[0] + u * u * v - (p[1] + 1.0) * u
        found[at + 1] += p[1] * u - u * u * v
    return found


def brusselator_gradient_by_hand(p: np.ndarray, y0: np.ndarray) -> Any:
    """By SciPy's LSODA of the larger system, whose Jacobian is a band."""
    start = np.zeros((len(y0) // 2, 4, 2))
    start[:, 0] = y0.reshape(-1, 2)
    found = scipy.integrate.odeint(
        brusselator_by_hand, start.reshape(-1), ENDS, (p,), tfirst=True, rtol=1e-5, atol=1e-5, ml=8, mu=8
    )[1].reshape(-1, 4, 2)  # fmt: skip
    return np.sum(found[:, 0] ** 2), (2.0 * np.einsum("is,iks->k", found[:, 0], found[:, 1:]),)


def brusselator_inputs(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Parameters, and a start with a wave."""
    x = np.arange(1, cells + 1) / (cells + 1.0)
    start = np.stack([1.0 + np.sin(2.0 * np.pi * x), np.full(cells, 3.0)], axis=1)
    return np.array([1.0, 3.0, 0.02]), start.reshape(-1)


def brusselator_by_solve_ivp(sensitivity: Any) -> Callable[..., Run]:
    """By SciPy's BDF."""

    def loss(p: Any, y0: Any) -> Any:
        options = {"t_eval": [1.0], "args": (p,), "rtol": 1e-5, "atol": 1e-5, "sensitivity": sensitivity}
        return np.sum(solve_ivp(brusselator, (0.0, 1.0), y0, "BDF", **options).y ** 2)

    gradient = contad.value_and_grad(loss)
    return lambda *args: lambda: gradient(*args)


def brusselator_by_diffrax(p: np.ndarray, y0: np.ndarray) -> Run:
    """diffrax' Kvaerno5, whose Newton's method has the dense Jacobian."""
    jax, jnp = shaped.import_jax()
    import diffrax

    def slope(t: Any, y: Any, p: Any) -> Any:
        y = y.reshape(-1, 2)
        edge, (u, v), d = jnp.array([[1.0, 3.0]]), y.T, p[2] * (len(y) + 1.0) ** 2
        around = jnp.concatenate([edge, y, edge])
        spread, uuv = around[:-2] - 2.0 * y + around[2:], u * u * v
        react = jnp.stack([p[0] + uuv - (p[1] + 1.0) * u, p[1] * u - uuv], axis=1)
        return (react + d * spread).reshape(-1)

    def loss(p: Any, y0: Any) -> Any:
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(slope), diffrax.Kvaerno5(), 0.0, 1.0, None, y0, p, max_steps=4096,
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5),
        )  # fmt: skip
        return jnp.sum(found.ys[-1] ** 2)

    gradient, args = jax.jit(jax.value_and_grad(loss)), (jnp.asarray(p), jnp.asarray(y0))
    return lambda: jax.block_until_ready(gradient(*args))


# ---- hidden states ---------------------------------------------------------------------------------------------------
def hidden_states(log_omega: Any, gamma: Any, rho: Any) -> Any:
    """The logarithm of the density of observations of a hidden Markov model."""
    return contad.stan.hmm_marginal(log_omega, gamma, rho)


@numba.njit
def hidden_states_by_hand(log_omega, gamma, rho):
    """Value and gradient: the forward variables, scaled, and the way back."""
    states, times = log_omega.shape
    alpha, omega, scale, value = np.empty((times, states)), np.empty((times, states)), np.empty(times), 0.0
    for t in range(times):
        top = log_omega[:, t].max()
        omega[t] = np.exp(log_omega[:, t] - top)
        alpha[t] = omega[t] * (rho if t == 0 else alpha[t - 1] @ gamma)
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
        value += top + np.log(scale[t])
    of_omega, of_gamma, beta = np.empty((states, times)), np.zeros((states, states)), np.ones(states)
    for t in range(times - 1, -1, -1):
        of_omega[:, t] = alpha[t] * beta
        ahead = omega[t] * beta / scale[t]
        if t > 0:
            of_gamma += np.outer(alpha[t - 1], ahead)
            beta = gamma @ ahead
    return value, (of_omega, of_gamma, ahead)


def hidden_states_inputs(states: int, steps: int) -> tuple[np.ndarray, ...]:
    """Densities, probabilities of steps and of the start."""
    rng = np.random.default_rng(5)
    even = np.ones(states)
    return rng.normal(size=(states, steps)), rng.dirichlet(even, states), rng.dirichlet(even)


def hidden_states_by_contad(*args: np.ndarray) -> Run:
    """The functional, whose derivative its own compiled recursions are."""
    gradient = contad.value_and_grad(hidden_states, (0, 1, 2))
    return lambda: gradient(*args)


def hidden_states_by_autograd(*args: np.ndarray) -> Run:
    """autograd on the loop of the forward variables."""

    def write(anp: Any) -> Callable[..., Any]:
        def f(log_omega: Any, gamma: Any, rho: Any) -> Any:
            omega, ahead, value = anp.exp(log_omega), rho, 0.0
            for t in range(log_omega.shape[1]):
                alpha = omega[:, t] * ahead
                scale = anp.sum(alpha)
                value, ahead = value + anp.log(scale), anp.dot(alpha / scale, gamma)
            return value

        return f

    return shaped.with_autograd(write, (0, 1, 2))(*args)


def hidden_states_by_jax(*args: np.ndarray) -> Run:
    """JAX on a scan."""

    def write(jnp: Any) -> Callable[..., Any]:
        from jax.lax import scan

        def f(log_omega: Any, gamma: Any, rho: Any) -> Any:
            def step(ahead: Any, omega: Any) -> Any:
                alpha = omega * ahead
                scale = jnp.sum(alpha)
                return (alpha / scale) @ gamma, jnp.log(scale)

            return jnp.sum(scan(step, rho, jnp.exp(log_omega).T)[1])

        return f

    return shaped.with_jax(write, (0, 1, 2))(*args)


# ---- roots in a loop -------------------------------------------------------------------------------------------------
@numba.njit
def kepler(x, mean, eccentricity):
    """Zero where x is the eccentric anomaly of a planet."""
    return x - eccentricity * np.sin(x) - mean


@numba.njit
def orbit(eccentricity, means):
    """A sum of squares of distances, a root for each time."""
    total = 0.0
    for k in range(len(means)):
        total += (1.0 - eccentricity[0] * np.cos(brentq(kepler, 0.0, 7.0, (means[k], eccentricity[0])))) ** 2
    return total


@numba.njit
def orbit_by_newton(eccentricity, means):
    """The same from a start."""
    total = 0.0
    for k in range(len(means)):
        total += (1.0 - eccentricity[0] * np.cos(newton(kepler, means[k], (means[k], eccentricity[0])))) ** 2
    return total


@numba.njit
def orbit_by_hand(eccentricity, means):
    """Value and gradient: Newton's method with the slope by hand, and the implicit function theorem."""
    e, total, of_e, of_means = eccentricity[0], 0.0, 0.0, np.empty(len(means))
    for k in range(len(means)):
        x = means[k]
        for _ in range(50):
            move = (x - e * np.sin(x) - means[k]) / (1.0 - e * np.cos(x))
            x -= move
            if abs(move) < 1e-14 * (1.0 + abs(x)):
                break
        sine, cosine = np.sin(x), np.cos(x)
        radius = 1.0 - e * cosine
        total += radius * radius
        of_e += 2.0 * radius * (e * sine * sine / radius - cosine)
        of_means[k] = 2.0 * e * sine
    return total, (np.array([of_e]), of_means)


def orbit_inputs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """An eccentricity, and times in a year."""
    return np.array([0.3]), np.linspace(0.1, 6.0, n)


def orbit_by_autograd(*args: np.ndarray) -> Run:
    """autograd's fixed points, of Newton's steps of all roots at once."""

    def write(anp: Any) -> Callable[..., Any]:
        from autograd.builtins import tuple as autograd_tuple
        from autograd.misc.fixed_points import fixed_point

        def step(given: Any) -> Callable[[Any], Any]:
            e, means = given
            return lambda x: x - (x - e * anp.sin(x) - means) / (1.0 - e * anp.cos(x))

        def f(eccentricity: Any, means: Any) -> Any:
            given = autograd_tuple((eccentricity, means))
            x = fixed_point(step, given, args[1], lambda x, y: np.max(np.abs(x - y)), 1e-12)
            return anp.sum((1.0 - eccentricity * anp.cos(x)) ** 2)

        return f

    return shaped.with_autograd(write, (0, 1))(*args)


def orbit_by_jax(*args: np.ndarray) -> Run:
    """JAX's custom_root on all roots at once."""

    def write(jnp: Any) -> Callable[..., Any]:
        from jax.lax import custom_root, while_loop

        def f(eccentricity: Any, means: Any) -> Any:
            def equation(x: Any) -> Any:
                return x - eccentricity * jnp.sin(x) - means

            def solve(f: Any, x: Any) -> Any:
                def step(state: Any) -> Any:
                    x = state[0]
                    move = f(x) / (1.0 - eccentricity * jnp.cos(x))
                    return x - move, jnp.max(jnp.abs(move))

                return while_loop(lambda state: state[1] > 1e-13, step, (x, jnp.inf))[0]

            def tangent_solve(g: Any, y: Any) -> Any:
                return y / g(jnp.ones_like(y))

            x = custom_root(equation, means, solve, tangent_solve)
            return jnp.sum((1.0 - eccentricity * jnp.cos(x)) ** 2)

        return f

    return shaped.with_jax(write, (0, 1))(*args)


REMARKS = (
    "By hand are, for Lotka and Volterra's equations, those of all sensitivities by the same compiled solver; for the "
    "subjects the solution in closed form, which nobody has of an equation that needs a solver; for the Brusselator "
    "sensitivities by SciPy's LSODA, told that its Jacobian is a band. For hidden states and roots they are the "
    "recursions and the implicit function theorem with derivatives by hand. JAX and autograd find all roots at once. "
    "autograd's odeint has no right gradient of the Brusselator: it solves a stiff equation backwards, and gives up."
)


def list_programs(choice: Choice = EVERYTHING) -> list[Program]:
    """The three equations, hidden states, and roots."""
    return [
        Program(
            name="Lotka-Volterra", about="two populations, ten times, six derivatives",
            sizes={QUICK: {}, "10 times": {}},
            inputs=lambda: (np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.2])), argnums=(0, 1),
            primal=lotka_volterra, by_hand=lotka_volterra_by_hand,
            contad={
                "dopri5": by_compiled(lotka_volterra, (0, 1)), "forward": by_solve_ivp("forward"),
                "adjoint": by_solve_ivp("adjoint"), "discrete": by_solve_ivp("discrete"),
            },
            peers={"autograd": by_autograd, "jax diffrax": by_diffrax}, remarks=REMARKS, tolerance=TOLERANCE,
        ),
        Program(
            name="pharmacokinetics", about="one solution for each subject, three derivatives each",
            sizes={QUICK: {"n": 2}, "100 subjects": {"n": 100}},
            inputs=lambda n: (np.array([0.3, -1.5, 1.0]) + 0.2 * np.random.default_rng(1).normal(size=(n, 3)),),
            argnums=(0,), primal=subjects, by_hand=subjects_by_hand, contad={"dopri5": by_compiled(subjects, (0,))},
            peers={"autograd": subjects_by_autograd, "jax diffrax": subjects_by_diffrax}, tolerance=TOLERANCE,
        ),
        Program(
            name="Brusselator", about="a stiff equation on a line, three derivatives",
            sizes={QUICK: {"cells": 4}, "200 unknowns": {"cells": 100}},
            inputs=brusselator_inputs, argnums=(0,), primal=brusselator_loss, by_hand=brusselator_gradient_by_hand,
            contad={
                "sdirk4": by_compiled(brusselator_loss, (0,)), "forward": brusselator_by_solve_ivp("forward"),
                "adjoint": brusselator_by_solve_ivp(Adjoint()),
            },
            peers={"jax diffrax": brusselator_by_diffrax}, tolerance=TOLERANCE,
        ),
        Program(
            name="hmm", about="the density of a chain of hidden states", argnums=(0, 1, 2),
            sizes={QUICK: {"states": 3, "steps": 5}, "8 states, 500 times": {"states": 8, "steps": 500}},
            inputs=hidden_states_inputs, primal=hidden_states, by_hand=hidden_states_by_hand,
            contad={"hmm_marginal": hidden_states_by_contad},
            peers={"autograd": hidden_states_by_autograd, "jax scan": hidden_states_by_jax},
        ),
        Program(
            name="roots", about="Kepler's equation at every time, derivatives in the eccentricity and the times",
            sizes={QUICK: {"n": 5}, "1000 roots": {"n": 1000}}, inputs=orbit_inputs, argnums=(0, 1),
            primal=orbit, by_hand=orbit_by_hand,
            contad={"brentq": by_compiled(orbit, (0, 1)), "newton": by_compiled(orbit_by_newton, (0, 1))},
            peers={"autograd fixed_point": orbit_by_autograd, "jax custom_root": orbit_by_jax},
        ),
    ]  # fmt: skip


TOPIC = Topic(
    "Solvers", {"Gradients of solutions, us": Timed(REMARKS, list_programs)}
)  # fmt: skip
