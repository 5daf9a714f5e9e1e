"""Stan's functions of functions in compiled code: Numba functions that contad differentiates like a user's.

Each one has the name and the arguments of the Python function that it stands for, without its keywords. User functions
are Numba functions, and return new arrays.
"""

import numpy as np

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit
from contad.ops.logic import stop_gradient
from contad.scipy.integrate.compiled_solvers import dopri5, sdirk4
from contad.scipy.optimize.compiled_roots import newton_system
from contad.stan.recursion_bodies import densities_of_states
from contad.variables.open_types import NumbaFunction

OPTIONS = {name: value for name, value in NJIT_OPTIONS.items() if name != "cache"}
_densities_of_states = njit(**OPTIONS)(densities_of_states)


# ---- roots -----------------------------------------------------------------------------------------------------------
@njit(**OPTIONS)
def solve_newton(f, y_init, *args):  # type: ignore[no-untyped-def]
    """By Newton's method."""
    return newton_system(f, y_init, args, 200)


solve_powell = solve_newton


def _make_root_finders(name: str) -> tuple[NumbaFunction, NumbaFunction]:
    """The functions with settings, of both orders of arguments."""
    wrong = f"{name}: tolerances must not be negative, and max_num_steps must be at least 1"

    @njit(**OPTIONS)
    def solve_tol(f, y_init, first, function_tolerance, max_num_steps, *args):  # type: ignore[no-untyped-def]
        if not (first >= 0.0 and function_tolerance >= 0.0 and max_num_steps >= 1):
            raise ValueError(wrong)
        return newton_system(f, y_init, args, max_num_steps)

    @njit(**OPTIONS)
    def solve(  # type: ignore[no-untyped-def]
        f, y_init, theta, x_r, x_i, first=0.0, function_tolerance=1e-6, max_num_steps=200
    ):
        if not (first >= 0.0 and function_tolerance >= 0.0 and max_num_steps >= 1):
            raise ValueError(wrong)
        return newton_system(f, y_init, (theta, x_r, x_i), max_num_steps)

    return solve_tol, solve


solve_newton_tol, _ = _make_root_finders("solve_newton_tol")
solve_powell_tol, _ = _make_root_finders("solve_powell_tol")
_, algebra_solver = _make_root_finders("algebra_solver")
_, algebra_solver_newton = _make_root_finders("algebra_solver_newton")


# ---- differential equations ------------------------------------------------------------------------------------------
def _make_solver(name: str, solver: NumbaFunction) -> NumbaFunction:
    """The solver, with a check of times."""
    wrong = f"{name}: ts must increase, and begin after t0"

    @njit(**OPTIONS)
    def solve(f, y0, t0, ts, args, rtol, atol, max_num_steps):  # type: ignore[no-untyped-def]
        times = np.empty(len(ts) + 1)
        times[0] = t0
        for k in range(len(ts)):
            times[k + 1] = ts[k]
            if not stop_gradient(times[k + 1]) > stop_gradient(times[k]):
                raise ValueError(wrong)
        return solver(f, times, y0, args, rtol, atol, max_num_steps)[1:]

    return solve


def _make_solvers(name: str, solver: NumbaFunction, tolerance: float, steps: int) -> tuple[NumbaFunction, ...]:
    """The functions without and with tolerances."""
    solve, solve_tol = _make_solver(name, solver), _make_solver(f"{name}_tol", solver)

    @njit(**OPTIONS)
    def plain(f, y0, t0, ts, *args):  # type: ignore[no-untyped-def]
        return solve(f, y0, t0, ts, args, tolerance, tolerance, steps)

    @njit(**OPTIONS)
    def with_tolerances(  # type: ignore[no-untyped-def]
        f, y0, t0, ts, relative_tolerance, absolute_tolerance, max_num_steps, *args
    ):
        return solve_tol(f, y0, t0, ts, args, relative_tolerance, absolute_tolerance, max_num_steps)

    return plain, with_tolerances


ode_rk45, ode_rk45_tol = _make_solvers("ode_rk45", dopri5, 1e-6, 10**6)
ode_ckrk, ode_ckrk_tol = _make_solvers("ode_ckrk", dopri5, 1e-6, 10**6)
ode_adams, ode_adams_tol = _make_solvers("ode_adams", dopri5, 1e-10, 10**8)
ode_bdf, ode_bdf_tol = _make_solvers("ode_bdf", sdirk4, 1e-10, 10**8)


# ---- sums and maps ---------------------------------------------------------------------------------------------------
@njit(**OPTIONS)
def reduce_sum(f, xs, *shared):  # type: ignore[no-untyped-def]
    """In one piece."""
    total = 0.0
    if len(xs) > 0:
        total = f(xs, 0, len(xs), *shared)
    return total


@njit(**OPTIONS)
def reduce_sum_static(f, xs, grainsize, *shared):  # type: ignore[no-untyped-def]
    """In pieces of this size."""
    if grainsize < 1:
        raise ValueError("reduce_sum_static: grainsize must be at least 1")
    total = 0.0
    for start in range(0, len(xs), grainsize):
        end = min(start + grainsize, len(xs))
        total += f(xs[start:end], start, end, *shared)
    return total


@njit(**OPTIONS)
def map_rect(f, shared, job_params, data_r, data_i):  # type: ignore[no-untyped-def]
    """Job after job."""
    count = len(job_params)
    if len(data_r) != count or len(data_i) != count:
        raise ValueError("map_rect: data_r and data_i must have an entry for each job")
    size, total, same = 0, 0, True
    if count > 0:
        size = len(f(shared, job_params[0], data_r[0], data_i[0]))
    rows = np.zeros((count, size))
    for k in range(count):
        part = f(shared, job_params[k], data_r[k], data_i[k])
        total += len(part)
        same = same and len(part) == size
        if same:
            rows[k] = part
    found, end = np.zeros(total), 0
    if same:
        found[:] = rows.ravel()
    else:  # vectors of several lengths
        for k in range(count):
            part = f(shared, job_params[k], data_r[k], data_i[k])
            found[end : end + len(part)] = part
            end += len(part)
    return found


# ---- hidden Markov models --------------------------------------------------------------------------------------------
@njit(**OPTIONS)
def hmm_latent(log_omega, gamma, rho, rng):  # type: ignore[no-untyped-def]
    """The draw that the Python function makes from the same generator."""
    states, times = log_omega.shape
    omega, _ = _densities_of_states(stop_gradient(log_omega))
    transitions, first = stop_gradient(gamma), stop_gradient(rho)
    ahead = np.ones((times, states))
    for s in range(times - 1):
        t = times - 1 - s
        ahead[t - 1] = transitions @ (omega[t] * ahead[t])
        ahead[t - 1] /= np.sum(ahead[t - 1])
    drawn = np.empty(times, np.int64)
    for t in range(times):
        reached = np.cumsum((first if t == 0 else transitions[drawn[t - 1]]) * omega[t] * ahead[t])
        if not reached[states - 1] > 0.0:
            raise ValueError("hmm_latent: log_omega must leave a sequence of states possible")
        drawn[t] = np.searchsorted(reached / reached[states - 1], rng.random(), "right")
    return drawn
