"""Stan's solvers of algebraic equations, differentiable by the implicit function theorem."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize

from contad.distributions.docstrings import with_rest_of
from contad.errors import SingularPointError
from contad.scipy.optimize.implicit import differentiate_root, take_primals
from contad.scipy.optimize.newton_steps import find_root
from contad.transforms.jacobians import jacobian
from contad.variables import arguments
from contad.variables.arguments import require_positive_size
from contad.variables.creation import array
from contad.variables.open_types import ArrayValue, Function, Nested

__all__ = [
    "algebra_solver", "algebra_solver_newton", "solve_newton", "solve_newton_tol", "solve_powell", "solve_powell_tol",
]  # fmt: skip


def solve_powell(f: Function, y_init: ArrayValue, *args: Nested) -> ArrayValue:
    """The root of f(y, *args) by Powell's hybrid method, differentiable in args (trees) and captured values.

        f(z, p) = 0,     z_dot = -f_z^-1 f_p p_dot,     p_bar = -f_p^T f_z^-T z_bar

    Like scipy.optimize.root with "hybr" and the exact Jacobian, with Stan's tolerances: 1e-10 for y, 1e-6 for f, 200
    steps. y_init carries no derivative.

    Shapes:  y_init (n,), f(y, *args) n numbers -> (n,).
    Domain:  an f with a root near y_init where its Jacobian is nonsingular.
    Raises:  RuntimeError if no root is found within these steps; SingularPointError if the Jacobian at the root is
             singular and a derivative is taken; ValueError for a wrong length of f and values that are not finite.
    Cost:    SciPy's, and for derivatives an evaluation of f on variables for each order, one Jacobian and its inverse.
    Ref:     Stan's solve_powell; `contad.scipy.optimize.root`.

    >>> import contad
    >>> def root_of(p):
    ...     return solve_powell(lambda y, p: y * y - p, np.array([1.0, 1.0]), p)
    >>> root_of(np.array([4.0, 9.0])).round(6)
    array([2., 3.])
    >>> contad.jacobian(root_of)(np.array([4.0, 9.0])).round(6)
    array([[0.25    , 0.      ],
           [0.      , 0.166667]])
    """
    return _solve_powell("solve_powell", f, y_init, 1e-10, 1e-6, 200, args)


@with_rest_of(solve_powell)
def solve_powell_tol(
    f: Function, y_init: ArrayValue, relative_tolerance: float, function_tolerance: float, max_num_steps: int,
    *args: Nested,
) -> ArrayValue:  # fmt: skip
    """Like `solve_powell`, with your own tolerances and limit of steps.

    Raises:  as there; ValueError for negative tolerances and a limit of steps below 1.
    Ref:     Stan's solve_powell_tol.

    >>> def f(y, p):
    ...     return np.array([y[0] + y[1] - p, y[0] * y[1] - 2.0])
    >>> solve_powell_tol(f, np.array([0.5, 3.0]), 1e-12, 1e-9, 100, 3.5).round(6)
    array([0.719224, 2.780776])
    """
    tolerances = relative_tolerance, function_tolerance, max_num_steps
    return _solve_powell("solve_powell_tol", f, y_init, *tolerances, args)


@with_rest_of(solve_powell)
def solve_newton(f: Function, y_init: ArrayValue, *args: Nested) -> ArrayValue:
    """Like `solve_powell`, but by Newton's method, halving steps until f decreases.

    Raises:  as there; SingularPointError if the Jacobian is singular along the way.
    Cost:    a Jacobian and O(n^3) for each step.
    Ref:     Stan's solve_newton.

    >>> def f(y, p):
    ...     return np.array([y[0] + y[1] - p, y[0] * y[1] - 2.0])
    >>> solve_newton(f, np.array([0.5, 3.0]), 3.5).round(6)
    array([0.719224, 2.780776])
    """
    return _solve_newton("solve_newton", f, y_init, 1e-3, 1e-6, 200, args)


@with_rest_of(solve_newton)
def solve_newton_tol(
    f: Function, y_init: ArrayValue, scaling_step: float, function_tolerance: float, max_num_steps: int, *args: Nested
) -> ArrayValue:
    """Like `solve_newton`, with your own limit of steps; at the root |f| is below `function_tolerance`.

    `scaling_step`, Stan's additional stopping criterion, is only validated.

    Raises:  as there; ValueError for negative tolerances and a limit of steps below 1.
    Ref:     Stan's solve_newton_tol.

    >>> solve_newton_tol(lambda y: y**3 - 7.0, np.array([1.0]), 1e-3, 1e-10, 100).round(9)
    array([1.91293118])
    """
    return _solve_newton("solve_newton_tol", f, y_init, scaling_step, function_tolerance, max_num_steps, args)


@with_rest_of(solve_powell_tol)
def algebra_solver(
    f: Function, y_init: ArrayValue, theta: Nested, x_r: Nested, x_i: Nested, relative_tolerance: float = 1e-10,
    function_tolerance: float = 1e-6, max_num_steps: int = 1000,
) -> ArrayValue:  # fmt: skip
    """The root of f(y, theta, x_r, x_i), like `solve_powell`, under Stan's older name.

    Ref:     Stan Functions Reference, deprecated functions.

    >>> def f(y, theta, x_r, x_i):
    ...     return y * y - theta * x_r[0]
    >>> algebra_solver(f, np.ones(2), np.array([1.0, 2.0]), [3.0], []).round(6)
    array([1.732051, 2.44949 ])
    """
    tolerances = relative_tolerance, function_tolerance, max_num_steps
    return _solve_powell("algebra_solver", f, y_init, *tolerances, (theta, x_r, x_i))


@with_rest_of(solve_newton_tol)
def algebra_solver_newton(
    f: Function, y_init: ArrayValue, theta: Nested, x_r: Nested, x_i: Nested, scaling_step: float = 1e-3,
    function_tolerance: float = 1e-6, max_num_steps: int = 200,
) -> ArrayValue:  # fmt: skip
    """The root of f(y, theta, x_r, x_i), like `solve_newton_tol`, under Stan's older name.

    Ref:     Stan Functions Reference, deprecated functions.

    >>> def f(y, theta, x_r, x_i):
    ...     return y * y - theta
    >>> algebra_solver_newton(f, np.ones(2), np.array([3.0, 6.0]), [], []).round(6)
    array([1.732051, 2.44949 ])
    """
    tolerances = scaling_step, function_tolerance, max_num_steps
    return _solve_newton("algebra_solver_newton", f, y_init, *tolerances, (theta, x_r, x_i))


# ---- methods ---------------------------------------------------------------------------------------------------------
def _solve_powell(
    name: str, f: Function, y_init: ArrayValue, rtol: float, f_tol: float, steps: int, args: tuple[Nested, ...]
) -> ArrayValue:
    equation, start, plain = _prepare(name, f, y_init, args, {"relative_tolerance": rtol}, f_tol, steps)
    found = scipy.optimize.root(
        lambda y: take_primals(equation(y, *plain)), start, jac=lambda y: take_primals(jacobian(equation)(y, *plain)),
        tol=rtol, options={"maxfev": steps},
    )  # fmt: skip
    residual = np.max(np.abs(found.fun), initial=0.0)
    if not found.success and residual > f_tol:
        raise RuntimeError(f"{name}: no root was found: {' '.join(found.message.split()).rstrip('.')}")
    return _differentiate(name, equation, found.x, args, residual, f_tol)


def _solve_newton(
    name: str, f: Function, y_init: ArrayValue, scaling_step: float, f_tol: float, steps: int, args: tuple[Nested, ...]
) -> ArrayValue:
    equation, y, plain = _prepare(name, f, y_init, args, {"scaling_step": scaling_step}, f_tol, steps)

    def of_floats(y: np.ndarray) -> np.ndarray:
        return np.asarray(take_primals(equation(y, *plain)), float)

    found = find_root(of_floats, lambda y: equation(y, *plain), y, f_tol, steps)
    if found.is_singular:
        raise SingularPointError(f"{name}: {found.problem}")
    if found.problem:
        raise RuntimeError(f"{name}: no root was found: {found.problem}")
    return _differentiate(name, equation, found.x, args, 0.0, f_tol)


def _prepare(
    name: str, f: Function, y_init: ArrayValue, args: tuple[Nested, ...], tolerance: dict[str, float], f_tol: float,
    steps: int,
) -> tuple[Function, np.ndarray, Sequence[Nested]]:  # fmt: skip
    """f with a checked result, the starting point, and plain arguments."""
    for argument, x in (*tolerance.items(), ("function_tolerance", f_tol)):
        if not x >= 0.0:
            arguments.fail(name, argument, "not be negative", x)
    require_positive_size(name, "max_num_steps", steps)
    start = np.asarray(take_primals(array(y_init)), float)
    if start.ndim != 1 or not start.size:
        arguments.fail(name, "y_init", "be a vector with at least one number", f"shape {start.shape}")
    if not np.isfinite(start).all():
        arguments.fail(name, "y_init", "be finite", start)

    def equation(y: ArrayValue, *p: Nested) -> Any:
        value = f(y, *p)
        value = array(value) if isinstance(value, (list, tuple)) else value
        if np.shape(value) != start.shape:
            arguments.fail(name, "f", f"give {start.size} numbers, as y_init has", f"shape {np.shape(value)}")
        return value

    plain = take_primals(args)
    first = np.asarray(take_primals(equation(start, *plain)), float)
    if not np.isfinite(first).all():
        arguments.fail(name, "f", "give finite numbers at y_init", first)
    return equation, start, plain


def _differentiate(
    name: str, equation: Function, y: np.ndarray, args: tuple[Nested, ...], residual: float, f_tol: float
) -> ArrayValue:
    if residual > f_tol:
        raise RuntimeError(f"{name}: no root was found: max |f| is {residual:.2g}, above function_tolerance = {f_tol}")
    return differentiate_root(name, equation, y, args, True, "")
