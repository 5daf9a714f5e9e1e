"""Initial value problems by SciPy's solvers, differentiable in initial values, times, arguments and captured
variables."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate

from contad.errors import UnsupportedError
from contad.scipy.integrate.compiled_calls import COMPILED, solve_compiled
from contad.scipy.integrate.discrete_steps import discrete_trajectory, require_explicit
from contad.scipy.integrate.events import solve_with_events
from contad.scipy.integrate.integral_operation import ConvertedFunction, freeze
from contad.scipy.integrate.trajectories import Adjoint, Settings, System, Watched, solver_of, trajectory
from contad.variables import arguments
from contad.variables.creation import array
from contad.variables.number import map_numbers, peek, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Option, Options, Real
from contad.variables.trees import holds_number

_EXACT = ("Radau", "BDF", "LSODA")  # methods that use a Jacobian
_STRUCTURE = ("lband", "uband", "jac_sparsity")  # options for a Jacobian that SciPy computes itself


def solve_ivp(
    fun: Function, t_span: Sequence[Real], y0: ArrayValue, method: Any = "RK45", t_eval: ArrayValue | None = None,
    dense_output: bool = False, events: Any = None, vectorized: bool = False, args: Sequence[Nested] | None = None,
    *, rtol: float = 1e-3, atol: Any = 1e-6, sensitivity: str | Adjoint = "forward", **options: Option,
) -> Any:  # fmt: skip
    """scipy.integrate.solve_ivp of y' = fun(t, y, *args), with differentiable `y` and `t`,

        y' = f(t, y, p),     s' = f_y s + f_p p_dot,     s(t0) = y0_dot - f(t0, y0) t0_dot,     dy/dt_k = f(t_k, y_k)

    with respect to y0, args (trees), captured values, t_span and t_eval. `sensitivity` chooses the method of reverse
    mode:

    "forward"   solves for all sensitivities s together with y, under the same error control. Derivatives of higher
                order are sensitivities of this larger equation
    "adjoint"   solves l' = -f_y^T l backwards along the solution; p_bar is the integral of f_p^T l. The cost does not
                grow with the number of parameters; the whole solution is stored. `Adjoint(rtol=, ...)` sets its own
                tolerances, and `Adjoint(checkpoints=)` bounds memory. Inside another derivative, "forward" is used
                instead
    "discrete"  for "RK45", "RK23" and "DOP853": differentiates the steps themselves, up to rounding, in both modes and
                at every order, with fixed lengths. The cost does not grow with the number of parameters

    Forward mode solves for the requested tangents only. For `@njit` functions there are also the methods "dopri5" and
    "sdirk4" (for stiff equations), which run in compiled code and use the discrete derivative. Times and states of
    `events`, and the end at a terminal event, are differentiable by the implicit function theorem:

        g(t, y(t)) = 0,     t_dot = -(g_y y_dot + g_p p_dot) / (g_t + g_y f)

    The methods "Radau", "BDF" and "LSODA" receive the exact Jacobian of fun, unless `jac`, `lband`, `uband` or
    `jac_sparsity` is given; these are used on plain numbers only.

    Shapes:  y0 (n,), fun(t, y, *args) n numbers, t_eval (T,) -> y (n, T), t (T,).
    Domain:  a fun that is differentiable along the solution; times of t_eval from t_span[0] to t_span[1].
    Raises:  ValueError for a wrong length of fun's result, and for a nan that smaller steps do not avoid, with the
             time; RuntimeError if the solver fails and derivatives are taken; ValueError on variables for an atol that
             is not positive; SingularPointError for the derivative of an event that the solution only touches;
             UnsupportedError on variables for `dense_output` and `vectorized`, and for "discrete" of implicit methods.
    Cost:    "forward": a solution of n (1 + m) equations, for derivatives in m numbers; "adjoint": one solution
             forward, one backward and one integral; "discrete": two solutions, and a gradient of each step.
    Ref:     scipy.integrate.solve_ivp; Hindmarsh & Serban, CVODES; Stan's ode_rk45 and ode_adjoint_tol_ctl.

    >>> import contad
    >>> def f(rate):
    ...     return solve_ivp(lambda t, y: -rate * y, (0.0, 2.0), np.array([3.0]), rtol=1e-9, atol=1e-9).y[0, -1]
    >>> round(float(f(0.5)), 6), round(contad.grad(f)(0.5), 6), round(contad.hessian(f)(0.5), 6)
    (1.103638, -2.207277, 4.414553)
    """
    given = () if args is None else args if isinstance(args, tuple) else tuple(args)
    frozen = freeze(fun, "solve_ivp")
    start = as_vector("solve_ivp", "y0", y0)
    if len(t_span) != 2:
        arguments.fail("solve_ivp", "t_span", "be a pair (t0, t1)", f"{len(t_span)} numbers")
    if method in COMPILED:
        given_options = {"events": events, "dense_output": dense_output, "vectorized": vectorized, **options}
        times = array([t_span[0], t_span[1]]) if t_eval is None else as_vector("solve_ivp", "t_eval", t_eval)
        require_order("solve_ivp", "t_eval", t_span[0], times, t_span[1])
        y = solve_compiled(method, frozen, start, t_span[0], times, given, rtol, atol, given_options)
        return _make_result(times, y)
    solver = solver_of("solve_ivp", method)
    adjoint = _read_sensitivity("solve_ivp", sensitivity)
    if sensitivity == "discrete":
        require_explicit("solve_ivp", solver)
    own = {name: x for name, x in options.items() if name not in ("jac", *_STRUCTURE)}
    settings = Settings("solve_ivp", solver, rtol, atol, own, np.inf, adjoint, frozen.later)
    active = bool(frozen.captured) or holds_number((t_span, y0, t_eval, given))
    times, params = t_eval, (given, frozen.captured)
    result: Any = None
    if active:
        for name, x in (("dense_output", dense_output), ("vectorized", vectorized)):
            if x:
                raise UnsupportedError(f"solve_ivp: {name}= is not supported on variables")
        require_tolerances("solve_ivp", rtol=rtol, atol=atol)
    events = [] if events is None else list(events) if isinstance(events, (list, tuple)) else [events]
    frozen_events = [freeze(event, "solve_ivp") for event in events]
    active = active or any(event.captured for event in frozen_events)
    if not active or t_eval is None or events:
        plain: Options = {"dense_output": dense_output, "events": events or None, "vectorized": vectorized, **options}
        if active:
            plain["events"] = [_plain_event(*both, given) for both in zip(events, frozen_events, strict=True)] or None
        result = _solve_plain(settings, frozen, map_numbers(primal, (t_span, start, t_eval, params)), method, plain)
        if not active:
            return result
    if times is None:
        if not result.success:
            raise RuntimeError(f"solve_ivp: the solver failed, so there is no derivative: {result.message}")
        inner = list(result.t[1:-1])
        times = array([t_span[0], *inner, t_span[1]])
    else:
        times = as_vector("solve_ivp", "t_eval", times)
        require_order("solve_ivp", "t_eval", t_span[0], times, t_span[1])
        times = times if result is None else times[: len(result.t)]  # up to a terminal event
    system = System(settings, frozen.call, len(start), None, frozen.dispatcher)
    solve = trajectory
    if sensitivity == "discrete":
        end = float(peek(t_span[1])) if result is None or result.status == 0 else None
        solve = functools.partial(discrete_trajectory, end=end)
    if not events or result.t_events is None or not any(map(len, result.t_events)):
        return _make_result(times, solve(system, start, t_span[0], times, params), result)
    outputs = solve_with_events(system, solve, (start, t_span, times, params, t_eval is None), frozen_events, result)
    return _make_result(*outputs, result)


def _read_sensitivity(name: str, sensitivity: Any) -> Adjoint | None:
    """The settings of the adjoint, if it is requested."""
    if not isinstance(sensitivity, Adjoint):
        if sensitivity not in ("forward", "adjoint", "discrete"):
            expected = 'be "forward", "adjoint", "discrete" or an Adjoint(...)'
            arguments.fail(name, "sensitivity", expected, repr(sensitivity))
        return Adjoint() if sensitivity == "adjoint" else None
    for argument in ("checkpoints", "steps"):
        x = getattr(sensitivity, argument)
        if x is not None and (not isinstance(x, (int, np.integer)) or isinstance(x, bool) or x < 1):
            arguments.fail(name, f"{argument} of Adjoint", "be a positive integer", repr(x))
    return sensitivity


def _make_result(times: ArrayValue, y: ArrayValue, result: Any = None) -> Any:
    """The result of solve_ivp; y is (T, n)."""
    if result is None:
        result = scipy.integrate._ivp.ivp.OdeResult(
            sol=None, t_events=None, y_events=None, status=0, success=True,
            message="The solver successfully reached the end of the integration interval.",
        )  # fmt: skip
    result.t, result.y = times, np.transpose(y)
    return result


def _plain_event(event: Function, frozen: ConvertedFunction, given: Sequence[Nested]) -> Function:
    """An event on plain numbers, with the attributes that SciPy reads, and with args already bound."""
    at = map_numbers(primal, (given, frozen.captured))

    def of_state(t: float, y: np.ndarray, *args: Nested) -> Any:
        return frozen.call((t, y), at)

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(of_state, name, getattr(event, name))
    return of_state


def _solve_plain(settings: Settings, frozen: ConvertedFunction, at: Any, method: Any, options: Options) -> Any:
    """SciPy's solution on plain numbers."""
    t_span, y0, t_eval, params = at
    if options["vectorized"]:  # fun takes several columns
        return scipy.integrate.solve_ivp(
            lambda t, y: frozen.call((t, y), params), t_span, y0, method, t_eval, rtol=settings.rtol,
            atol=settings.atol, **options,
        )  # fmt: skip
    watched = Watched(System(settings, frozen.call, len(y0), None, frozen.dispatcher), params)
    own = any(options.get(name) is not None for name in ("jac", *_STRUCTURE))
    if settings.solver.__name__ in _EXACT and not own and _is_differentiable(watched, t_span[0], y0):
        options["jac"] = watched.jac
    elif callable(options.get("jac")):
        given: Any = options["jac"]
        options["jac"] = lambda t, y: given(t, y, *params[0])
    if options["events"] is not None:
        options["events"] = [_with_args(event, params[0]) for event in options["events"]]
    try:
        result = scipy.integrate.solve_ivp(
            watched, t_span, y0, method, t_eval, rtol=settings.rtol, atol=settings.atol, **options
        )
    except (ValueError, np.linalg.LinAlgError):  # matrices with nan
        if watched.when_nan is not None:
            watched.fail(0.0)
        raise
    if not result.success and watched.when_nan is not None:
        watched.fail(0.0)
    return result


def _with_args(event: Function, args: Sequence[Nested]) -> Function:
    def of_state(t: float, y: np.ndarray) -> Any:
        return event(t, y, *args)

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(of_state, name, getattr(event, name))
    return of_state


def _is_differentiable(watched: Watched, t0: float, y0: np.ndarray) -> bool:
    """Whether contad can compute the Jacobian of a function, which may call code that accepts only plain numbers."""
    from contad.errors import ContadError
    from contad.variables.stack import attempt

    try:
        with attempt():
            watched.jac(t0, y0)
    except (ContadError, TypeError):
        return False
    return True


def odeint(
    func: Function, y0: ArrayValue, t: ArrayValue, args: Sequence[Nested] = (), *, tfirst: bool = False,
    rtol: float | None = None, atol: Any = None, sensitivity: str | Adjoint = "forward", **options: Option,
) -> Any:  # fmt: skip
    """scipy.integrate.odeint of y' = func(y, t, *args), differentiable in y0, t, args and captured variables.

        y' = f(y, t, p),     s' = f_y s + f_p p_dot,     s(t_0) = y0_dot - f(y0, t_0) t_0_dot,     dy/dt_k = f(y_k, t_k)

    t[0] is the time of y0. On variables scipy.integrate.LSODA solves with the exact Jacobian and the same default
    tolerances; `sensitivity` works as in `solve_ivp`. Other options are SciPy's, on plain numbers only.

    Shapes:  y0 (n,), t (T,) -> (T, n).
    Domain:  increasing or decreasing t.
    Raises:  like `solve_ivp`.
    Cost:    that of `solve_ivp`.
    Ref:     scipy.integrate.odeint.

    >>> import contad
    >>> def f(rate):
    ...     return odeint(lambda y, t: -rate * y, 3.0, np.array([0.0, 2.0]))[-1, 0]
    >>> round(float(f(0.5)), 5), round(contad.grad(f)(0.5), 5)
    (1.10364, -2.20728)
    """
    given = args if isinstance(args, tuple) else (args,)
    frozen = freeze(func, "odeint")
    call = frozen.call
    if not tfirst:
        frozen = frozen._replace(call=lambda point, params: call((point[1], point[0]), params))
    if not frozen.captured and not holds_number((y0, t, given)):
        options |= {name: x for name, x in (("rtol", rtol), ("atol", atol)) if x is not None}
        return scipy.integrate.odeint(func, y0, t, given, tfirst=tfirst, **options)
    for name, x in options.items():
        if x not in (None, False, 0):
            raise UnsupportedError(f"odeint: {name}= is not supported on variables")
    rtol, atol = (1.49012e-8 if x is None else x for x in (rtol, atol))
    require_tolerances("odeint", rtol=rtol, atol=atol)
    start, times = as_vector("odeint", "y0", y0), as_vector("odeint", "t", t)
    require_order("odeint", "t", times[0], times, times[-1])
    adjoint = _read_sensitivity("odeint", sensitivity)
    if sensitivity == "discrete":
        require_explicit("odeint", scipy.integrate.LSODA)
    settings = Settings("odeint", scipy.integrate.LSODA, rtol, atol, {}, np.inf, adjoint, frozen.later)
    return trajectory(System(settings, frozen.call, len(start)), start, times[0], times, (given, frozen.captured))


# ---- checks ----------------------------------------------------------------------------------------------------------
def as_vector(name: str, argument: str, x: Nested) -> ArrayValue:
    """A number or numbers as a vector of floats or variables."""
    a: Any = array(x) if np.ndim(peek(x)) else array([x])
    if np.ndim(a) != 1:
        arguments.fail(name, argument, "be a vector", f"shape {np.shape(a)}")
    return a


def require_tolerances(name: str, **tolerances: Any) -> None:
    """Refuse tolerances that are not positive: sensitivities start at 0, where only an absolute tolerance works."""
    for argument, x in tolerances.items():
        if not np.all(np.asarray(x) > 0.0):
            arguments.fail(name, argument, "be positive", x)


def require_order(name: str, argument: str, t0: Real, ts: ArrayValue, t1: Real, strict: bool = False) -> None:
    """Refuse output times outside t0 to t1, or in another order."""
    first, last, times = (np.asarray(map_numbers(primal, x), float) for x in (t0, t1, ts))
    for what, x in (("the initial time", first), (argument, times)):
        if not np.isfinite(x).all():
            arguments.fail(name, what, "be finite", x)
    steps = np.diff(np.concatenate([[first], times, [last]]))
    if strict and (steps[:-1] <= 0.0).any():
        arguments.fail(name, argument, f"increase, from above the initial time {first}", times)
    if not ((steps >= 0.0).all() or (steps <= 0.0).all()):
        arguments.fail(name, argument, f"go in order from {first} to {last}", times)
