"""Stan's solvers of differential equations, by SciPy's methods of the same kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate

from contad.distributions.docstrings import describe, with_rest_of
from contad.distributions.faces import function_of_text
from contad.scipy.integrate.differential_equations import as_vector, require_order, require_tolerances
from contad.scipy.integrate.integral_operation import freeze
from contad.scipy.integrate.trajectories import Adjoint, CashKarp, Settings, System, trajectory
from contad.variables import arguments
from contad.variables.arguments import require_positive_size
from contad.variables.open_types import ArrayValue, Function, Nested, Real

__all__ = [
    "ode_adams", "ode_adams_tol", "ode_adjoint_tol_ctl", "ode_bdf", "ode_bdf_tol", "ode_ckrk", "ode_ckrk_tol",
    "ode_rk45", "ode_rk45_tol",
]  # fmt: skip

_NON_STIFF, _STIFF = (1e-6, 1e-6, 10**6), (1e-10, 1e-10, 10**8)  # Stan's relative and absolute tolerance, and steps


def ode_rk45(f: Function, y0: ArrayValue, t0: Real, ts: ArrayValue, *args: Nested) -> ArrayValue:
    """The solution of y' = f(t, y, *args), y(t0) = y0 at the times ts, by the method of Dormand and Prince.

        s' = f_y s + f_p p_dot,     s(t0) = y0_dot - f(t0, y0) t0_dot,     dy/dt_k = f(t_k, y_k)

    Differentiable in y0, t0, ts, args (trees) and captured values, by sensitivities with the same error control. The
    tolerances are Stan's, 1e-6 relative and absolute, and so is the limit of 10^6 steps.

    Shapes:  y0 (n,), ts (T,), f(t, y, *args) n numbers -> (T, n).
    Domain:  t0 < ts[0] < ts[1] ...
    Raises:  ValueError for times that do not increase, and if f does not return n numbers, or returns nan; RuntimeError
             if the solver fails or needs more steps.
    Cost:    a solution of n (1 + m) equations, for m numbers with respect to which derivatives are taken.
    Ref:     Stan's ode_rk45; scipy.integrate.RK45.

    >>> import contad
    >>> ode_rk45(lambda t, y, w: [y[1], -w * w * y[0]], np.array([0.0, 2.0]), 0.0, [0.5, 1.0], 2.0).round(5)
    array([[ 0.84147,  1.0806 ],
           [ 0.9093 , -0.83229]])
    """
    return _solve("ode_rk45", scipy.integrate.RK45, f, y0, t0, ts, *_NON_STIFF, args)


@with_rest_of(ode_rk45)
def ode_adjoint_tol_ctl(
    f: Function, y0: ArrayValue, t0: Real, ts: ArrayValue, relative_tolerance_forward: float,
    absolute_tolerance_forward: Any, relative_tolerance_backward: float, absolute_tolerance_backward: Any,
    relative_tolerance_quadrature: float, absolute_tolerance_quadrature: float, max_num_steps: int,
    num_steps_between_checkpoints: int, interpolation_polynomial: int, solver_forward: int, solver_backward: int,
    *args: Nested,
) -> ArrayValue:  # fmt: skip
    """The same result as `ode_rk45`; reverse mode solves the adjoint equation backwards, for any number of parameters.

        l' = -f_y^T l,     l jumps by the cotangent of y_k at t_k,     p_bar = integral of f_p^T l

    There are tolerances for the solution, the adjoint equation and the integrals; absolute tolerances of the first two
    may be vectors (n,). The solvers are 1 for Adams methods (LSODA) and 2 for backward differentiation formulas. One
    state in num_steps_between_checkpoints is stored, and the solution between them is recomputed as SciPy's
    interpolant; interpolation_polynomial is only validated.

    Raises:  as there; ValueError for tolerances that are not positive and solvers other than 1 and 2.
    Cost:    one solution forward, one backward and one integral, whatever the number of parameters.
    Ref:     Stan's ode_adjoint_tol_ctl; Hindmarsh & Serban, CVODES.

    >>> import contad
    >>> def f(rate):
    ...     settings = (1e-9, 1e-9, 1e-8, 1e-8, 1e-8, 1e-8, 10**6, 250, 2, 2, 2)
    ...     return ode_adjoint_tol_ctl(lambda t, y: -rate * y, np.array([3.0]), 0.0, [2.0], *settings)[0, 0]
    >>> round(contad.grad(f)(0.5), 5)
    -2.20728
    """
    name = "ode_adjoint_tol_ctl"
    backward = {"relative_tolerance_backward": relative_tolerance_backward}
    backward |= {"absolute_tolerance_backward": absolute_tolerance_backward}
    backward |= {"relative_tolerance_quadrature": relative_tolerance_quadrature}
    backward |= {"absolute_tolerance_quadrature": absolute_tolerance_quadrature}
    require_tolerances(name, **backward)
    require_positive_size(name, "num_steps_between_checkpoints", num_steps_between_checkpoints)
    solvers = {1: scipy.integrate.LSODA, 2: scipy.integrate.BDF}
    for argument, x in (("solver_forward", solver_forward), ("solver_backward", solver_backward)):
        if x not in solvers:
            arguments.fail(name, argument, "be 1 (Adams) or 2 (BDF)", x)
    if interpolation_polynomial not in (1, 2):
        arguments.fail(name, "interpolation_polynomial", "be 1 or 2", interpolation_polynomial)
    adjoint = Adjoint(
        relative_tolerance_backward, absolute_tolerance_backward, solvers[solver_backward],
        relative_tolerance_quadrature, absolute_tolerance_quadrature, steps=num_steps_between_checkpoints,
    )  # fmt: skip
    forward = relative_tolerance_forward, absolute_tolerance_forward, max_num_steps
    return _solve(name, solvers[solver_forward], f, y0, t0, ts, *forward, args, adjoint)


def _solve(
    name: str, solver: Any, f: Function, y0: ArrayValue, t0: Real, ts: ArrayValue, rtol: float, atol: Any,
    max_num_steps: int, args: Sequence[Nested], adjoint: Adjoint | None = None,
) -> ArrayValue:  # fmt: skip
    require_tolerances(name, relative_tolerance=rtol, absolute_tolerance=atol)
    require_positive_size(name, "max_num_steps", max_num_steps)
    start, times = as_vector(name, "y0", y0), as_vector(name, "ts", ts)
    if not len(times):
        return np.zeros((0, len(start)))
    require_order(name, "ts", t0, times, times[-1], strict=True)
    frozen = freeze(f, name)
    settings = Settings(name, solver, rtol, atol, {}, max_num_steps, adjoint, frozen.later, solver is CashKarp)
    system = System(settings, frozen.call, len(start), None, frozen.dispatcher)
    return trajectory(system, start, t0, times, (args, frozen.captured))


# ---- one function for each method ------------------------------------------------------------------------------------
# by method: the solver, its default tolerances and limit of steps, its name in words, and its source
_METHODS = {
    "rk45": (scipy.integrate.RK45, _NON_STIFF, "the method of Dormand and Prince", "scipy.integrate.RK45"),
    "ckrk": (
        CashKarp, _NON_STIFF, "the method of Cash and Karp, whose steps end at the times ts",
        "Cash & Karp (1990), ACM Transactions on Mathematical Software 16",
    ),
    "adams": (
        scipy.integrate.LSODA, _STIFF, "LSODA: Adams' methods, and backward differences where the equation turns stiff",
        "scipy.integrate.LSODA",
    ),
    "bdf": (
        scipy.integrate.BDF, _STIFF, "backward differences with the exact Jacobian of f, for stiff equations",
        "scipy.integrate.BDF",
    ),
}  # fmt: skip
_EXAMPLE = """>>> def f(t, y, rate):  # predators and prey
...     return [y[0] * (1.0 - y[1]), y[1] * (rate * y[0] - 1.0)]
>>> {name}(f, np.array([1.0, 0.5]), 0.0, [0.5, 1.0], {tolerances}0.8).round(5)
array([[1.2941 , 0.47842],
       [1.66628, 0.5235 ]])"""


def _solver_of(name: str) -> Any:
    """The function named `ode_` and the method; with "_tol" it takes tolerances and a limit of steps."""
    is_set = name.endswith("_tol")
    solver, settings, method, source = _METHODS[name.removeprefix("ode_").removesuffix("_tol")]
    options = "relative_tolerance, absolute_tolerance, max_num_steps, " if is_set else ""
    text = (
        f"def {name}(f, y0, t0, ts, {options}*args):\n"
        f"    return _solve({name!r}, solver, f, y0, t0, ts, {options or '*settings, '}args)\n"
    )
    made = function_of_text(text, name, {"_solve": _solve, "solver": solver, "settings": settings})
    made.__module__ = __name__
    title, raises = f"Like `ode_rk45`, by {method}.", "as there."
    notes = [f"Tolerances are {settings[0]}, relative and absolute, and the limit is {settings[2]:,} steps."]
    if is_set:
        title = f"Like `{name.removesuffix('_tol')}`, with your own tolerances and limit of steps."
        raises, notes = "as there; ValueError unless tolerances and limit are positive.", []
    fields = {"Raises": raises, "Ref": f"Stan's {name}; {source}."}
    example = _EXAMPLE.format(name=name, tolerances="1e-8, 1e-8, 1000, " if is_set else "")
    made.__doc__ = describe(title, "", fields, example, notes)
    return with_rest_of(ode_rk45)(made)


ode_rk45_tol = _solver_of("ode_rk45_tol")
ode_ckrk, ode_ckrk_tol = _solver_of("ode_ckrk"), _solver_of("ode_ckrk_tol")
ode_adams, ode_adams_tol = _solver_of("ode_adams"), _solver_of("ode_adams_tol")
ode_bdf, ode_bdf_tol = _solver_of("ode_bdf"), _solver_of("ode_bdf_tol")
