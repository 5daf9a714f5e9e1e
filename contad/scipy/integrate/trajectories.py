"""Solutions of differential equations as operations: sensitivities solve augmented equations, at every order."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.sparse

from contad.scipy.integrate.integral_operation import (
    OfLeaves,
    gauss_kronrod_of_array,
    join,
    place_cotangents,
    replace,
    require_found,
    split,
)
from contad.transforms.gradients import jvp, vjp
from contad.transforms.jacobians import jacobian
from contad.transforms.operation import CustomOperation
from contad.variables import arguments
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.dual import ForwardLevel
from contad.variables.open_types import ArrayValue, Function, Nested, NumbaFunction, Options, Real, Value
from contad.variables.stack import attempt
from contad.variables.trees import flatten

_SPARSE = 64  # unknowns from which the Jacobian of an augmented system is a sparse matrix


class Adjoint(NamedTuple):
    """Settings of `sensitivity="adjoint"`; None means the setting of the solution itself.

        l' = -f_y^T l, which jumps by the cotangent of y_k at t_k,     p_bar = integral of f_p^T l

    `rtol`, `atol` and `method` are for the adjoint equation, which runs backwards; `rtol_quad` and `atol_quad` are for
    the integrals that give the cotangents of parameters. `checkpoints` stores at most that many states after the first,
    and `steps` one state in that many steps. The solution between two states is recomputed when the adjoint equation
    reaches it. So memory holds the states and the steps between two of them, at the cost of a second solution.

    Domain:  rtol, atol, rtol_quad and atol_quad positive, or None.
    Ref:     Hindmarsh & Serban, CVODES.

    >>> import contad, numpy as np
    >>> from contad.scipy.integrate import Adjoint, solve_ivp
    >>> def f(rate):
    ...     how = Adjoint(rtol=1e-8, atol=1e-8, checkpoints=4)
    ...     return solve_ivp(lambda t, y: -rate * y, (0.0, 2.0), np.array([3.0]), sensitivity=how, rtol=1e-8).y[0, -1]
    >>> round(float(contad.grad(f)(0.5)), 4)
    -2.2073
    """

    rtol: float | None = None
    atol: Any = None
    method: Any = None
    rtol_quad: float | None = None
    atol_quad: float | None = None
    checkpoints: int | None = None
    steps: int | None = None


class Settings(NamedTuple):
    """How an equation is solved."""

    name: str  # name of the function that the user called
    solver: Any  # one of SciPy's classes
    rtol: float
    atol: Any
    options: Options
    max_steps: float
    adjoint: Adjoint | None  # None for forward sensitivities
    later: list[Function]  # the user's functions, which derivatives call again
    exact_outputs: bool = False  # whether steps end at output times, because the solver has no interpolant of its order


class System:
    """y' = f((t, y), params), or such a system with tangents of y after y."""

    def __init__(
        self, settings: Settings, f: Function, size: int, base: "System | None" = None, compiled: NumbaFunction = None
    ) -> None:
        self.settings, self.f, self.size, self.base = settings, f, size, base
        self._is_tried = False
        self.compiled = compiled  # the Numba function f(t, y, *args), if its Jacobian compiles

    def slope(self, t: Value, y: ArrayValue, params: Nested) -> ArrayValue:
        """f as an array of the size of y."""
        slope = self.f((t, y), params)
        if isinstance(slope, (list, tuple)):
            slope = array(slope)
        shape = np.shape(slope)
        if shape != (self.size,):
            if shape == () and self.size == 1:
                return array([slope])
            name = self.settings.name
            got = f"{shape[0]}" if len(shape) == 1 else f"shape {shape}"
            raise ValueError(f"{name}: fun must give {self.size} numbers, one for each of y0, got {got}")
        return slope

    def jacobian(self, t: float, y: np.ndarray, params: Nested) -> Any:
        """df/dy; for an augmented system only the diagonal blocks, with which Newton's iteration converges."""
        if self.base is None:
            jacobians = self.find_jacobians(t, y, params, ())
            if jacobians is not None:
                return jacobians[0]
            return np.asarray(jacobian(OfLeaves(self._of_state, (t, params), flatten(y), [0]))(y))
        block = self.base.jacobian(t, y[: self.base.size], params[0])
        copies = self.size // self.base.size
        if self.size < _SPARSE or self.settings.solver is scipy.integrate.LSODA:
            block = block.toarray() if scipy.sparse.issparse(block) else block
            return scipy.linalg.block_diag(*[block] * copies)
        return scipy.sparse.csc_matrix(scipy.sparse.kron(scipy.sparse.identity(copies), block))

    def find_jacobians(self, t: Value, y: ArrayValue, params: Nested, leaves: Sequence[int]) -> Sequence[Any] | None:
        """df/dy and the derivatives in leaves of params, by compiled code; None if there is none."""
        if self.compiled is None or numbers_in(flatten((t, y, params)).leaves):
            return None
        args = params[0]
        if any(flatten(x).spec is not None for x in args):  # a tree; otherwise the leaves are the arguments
            return None
        slopes = jacobian(self.compiled, (1, *(k + 2 for k in leaves)))
        if self._is_tried:
            found: Sequence[Any] = slopes(t, y, *args)
            return found
        try:
            with attempt(), warnings.catch_warnings():
                warnings.simplefilter("error")
                found = slopes(t, y, *args)
        except Exception:  # no compiled engine supports f, or f raises; then a call of f itself shows the error
            self.compiled = None
            return None
        if not isinstance(found[0], np.ndarray) or found[0].shape != (self.size, self.size):
            self.compiled = None
            return None
        self._is_tried = True
        return found

    def _of_state(self, at: tuple[float, Nested], y: ArrayValue) -> ArrayValue:
        return self.slope(at[0], y, at[1])

    def augment(self, count: int, leaves: Sequence[int]) -> "System":
        """(y, tangents)' with `count` tangents of y; params are (params, tangents of their leaves at these
        positions)."""
        n = self.size

        def slope(point: tuple[Value, ArrayValue], params: tuple[Nested, Sequence[Value]]) -> ArrayValue:
            t, state = point
            own, dots = params
            tree = flatten(own)
            y = state[:n]
            y_dots = np.reshape(state[n:], (count, n))
            jacobians = None if numbers_in(list(dots)) else self.find_jacobians(t, y, own, leaves)
            if jacobians is not None:
                rows = y_dots @ jacobians[0].T
                for dot, jacobian in zip(dots, jacobians[1:], strict=True):
                    rows += np.reshape(dot, (count, -1)) @ np.reshape(jacobian, (n, -1)).T
                return np.concatenate([self.slope(t, y, own), rows.reshape(-1)])
            value, tangent = jvp(
                _OfAll(self, t, tree, leaves), (y, *(tree.leaves[k] for k in leaves)), (y_dots, *dots), several=True
            )
            return np.concatenate([value, np.reshape(tangent, (count * n,))])

        return System(self.settings, slope, n * (1 + count), self)


class _OfAll:
    """The slope as a function of the state and of leaves of the parameters."""

    __slots__ = ("leaves", "system", "t", "tree")

    def __init__(self, system: System, t: Value, tree: Any, leaves: Sequence[int]) -> None:
        self.system, self.t, self.tree, self.leaves = system, t, tree, leaves

    def __call__(self, y: ArrayValue, *leaves: Value) -> ArrayValue:
        return self.system.slope(self.t, y, replace(self.tree, self.leaves, leaves))


class _Active(NamedTuple):
    """Which of y0, t0, ts and the leaves of params carry derivatives."""

    of_y0: bool
    of_t0: bool
    of_ts: bool
    leaves: list[int]


def trajectory(system: System, y0: ArrayValue, t0: Real, ts: ArrayValue, params: Nested) -> ArrayValue:
    """The solution with y(t0) = y0 at the times ts, in order from t0: (T, n).

        dy/dt_k = f(t_k, y_k);     s' = f_y s + f_p p_dot,     s(t0) = y0_dot - f(t0, y0) t0_dot
    """
    n = system.size

    def find_active() -> _Active:
        active = {place[0] for place in operation.places}
        return _Active(0 in active, 1 in active, 2 in active, [k for m, k in operation.places if m == 3])

    def value(y0: ArrayValue, t0: Real, ts: ArrayValue, params: Nested) -> tuple[ArrayValue, Any]:
        owner = operation.owner
        if owner is None:
            return march(system, y0, t0, ts, params), None
        active = find_active()
        if isinstance(owner, ForwardLevel):
            if owner.several is None or _count(active, n, params) > 2 * owner.several:
                return trajectory(system, y0, t0, ts, params), None
        elif system.settings.adjoint is not None and not numbers_in(flatten((y0, t0, ts, params)).leaves):
            path = Path(system, y0, t0, params, system.settings.adjoint.checkpoints, system.settings.adjoint.steps)
            return march(system, y0, t0, ts, params, path), path
        return _find_sensitivities(system, y0, t0, ts, params, active)

    def pull(args: Sequence[Any], saved: Any, z: ArrayValue, z_bar: ArrayValue) -> Sequence[Nested | None]:
        active = find_active()
        if isinstance(saved, Path):
            if not numbers_in(z_bar):
                return _solve_adjoint(system, saved, args, z, z_bar, active)
            y0, t0, ts, params = args
            saved = _find_sensitivities(system, y0, t0, ts, params, active)[1]  # the pullback is itself differentiated
        rows, slopes = saved
        row = np.sum(rows * np.reshape(z_bar, (len(z_bar), 1, n)), axis=(0, 2))
        return _split_cotangents(row, active, n, args[3], np.sum(z_bar * slopes, axis=1) if active.of_ts else None)

    def push(args: Sequence[Any], saved: Any, z: ArrayValue, tangents: Sequence[Any]) -> ArrayValue:
        y0, t0, ts, params = args
        active = find_active()
        z_dot: Value = np.zeros(np.shape(z))
        dots = [flatten(tangents[3]).leaves[k] for k in active.leaves]
        if saved is not None:
            parts = ([tangents[0]] if active.of_y0 else []) + ([tangents[1]] if active.of_t0 else []) + dots
            if parts:
                z_dot = z_dot + np.sum(saved[0] * np.reshape(join(parts), (1, -1, 1)), axis=1)
        elif active.of_y0 or active.of_t0 or active.leaves:
            start = tangents[0] if active.of_y0 else np.zeros(n)
            if active.of_t0:
                start = start - system.slope(t0, y0, params) * tangents[1]
            rows = [np.reshape(x, (1, *np.shape(x))) if np.ndim(x) else array([x]) for x in dots]
            whole = np.concatenate([y0, start])
            z_dot = z_dot + trajectory(system.augment(1, active.leaves), whole, t0, ts, (params, rows))[:, n:]
        if active.of_ts:
            slopes = _slopes(system, ts, z, params) if saved is None else saved[1]
            z_dot = z_dot + np.reshape(tangents[2], (-1, 1)) * slopes
        return z_dot

    operation = CustomOperation(
        system.settings.name, (y0, t0, ts, params), value, pull, push, [], system.settings.later
    )
    return operation.perform()


def _count(active: _Active, n: int, params: Nested) -> int:
    """The number of tangents of all sensitivities, except those to output times."""
    tree = flatten(params)
    return n * active.of_y0 + active.of_t0 + sum(int(np.size(tree.leaves[k])) for k in active.leaves)


def _slopes(system: System, ts: ArrayValue, y: ArrayValue, params: Nested) -> ArrayValue:
    return np.stack([system.slope(ts[k], y[k], params) for k in range(len(y))])


def _find_sensitivities(
    system: System, y0: ArrayValue, t0: Real, ts: ArrayValue, params: Nested, active: _Active
) -> tuple[ArrayValue, tuple[ArrayValue, ArrayValue | None]]:
    """The solution, its derivatives in everything except output times (T, count, n), and those in output times (T,
    n)."""
    n, count, tree = system.size, _count(active, system.size, params), flatten(params)
    starts = [y0] + ([np.eye(n).reshape(-1)] if active.of_y0 else [])
    starts += [-system.slope(t0, y0, params)] if active.of_t0 else []
    row = n * active.of_y0 + active.of_t0
    starts += [np.zeros((count - row) * n)]
    dots = []
    for k in active.leaves:
        shape = np.shape(tree.leaves[k])
        size = int(np.prod(shape))
        dots.append(np.reshape(np.eye(count, size, -row), (count, *shape)))
        row += size
    if count:
        found = trajectory(system.augment(count, active.leaves), np.concatenate(starts), t0, ts, (params, dots))
    else:
        found = trajectory(system, y0, t0, ts, params)
    y = found[:, :n]
    slopes = _slopes(system, ts, y, params) if active.of_ts else None
    return y, (np.reshape(found[:, n:], (len(found), count, n)), slopes)


def _split_cotangents(
    row: ArrayValue, active: _Active, n: int, params: Nested, ts_bar: ArrayValue | None
) -> tuple[Nested | None, ...]:
    """The cotangents of y0, t0, ts and params, from one vector with those of y0, t0 and leaves of params."""
    tree = flatten(params)
    first = n * active.of_y0 + active.of_t0
    parts = split(row[first:], [np.shape(tree.leaves[k]) for k in active.leaves])
    params_bar = place_cotangents(tree, active.leaves, parts) if active.leaves else None
    y0_bar, t0_bar = row[:n] if active.of_y0 else None, row[n * active.of_y0] if active.of_t0 else None
    return y0_bar, t0_bar, ts_bar, params_bar


# ---- on plain numbers ------------------------------------------------------------------------------------------------
class Watched:
    """A plain right-hand side, checked not to return variables, and the last time when it returned nan."""

    def __init__(self, system: System, params: Nested) -> None:
        self.system, self.params = system, params
        self.when_nan: float | None = None
        self.calls = 0

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        slope = self.system.slope(float(t), y, self.params)
        name = self.system.settings.name
        require_found(name, "fun", slope)
        slope = np.asarray(slope, float)
        if np.isnan(slope).any():
            self.when_nan = float(t)
            if not self.calls and not np.isnan(y).any():  # SciPy would search for a first step forever
                self.fail(t)
        self.calls += 1
        return slope

    def jac(self, t: float, y: np.ndarray) -> Any:
        """df/dy in the form for the stiff methods."""
        return self.system.jacobian(float(t), y, self.params)

    def fail(self, t: float, message: str = "") -> None:
        """Raise for a solver that has stopped at the time t."""
        name = self.system.settings.name
        if self.when_nan is not None:
            raise ValueError(f"{name}: fun must give finite numbers, got nan at t = {self.when_nan:.6g}")
        raise RuntimeError(f"{name}: the solver failed at t = {t:.6g}: {' '.join(message.split()).rstrip('.')}")


def march(
    system: System, y0: np.ndarray, t0: float, ts: np.ndarray, params: Nested, keeper: Any = None
) -> np.ndarray:
    """The solution at times ts by SciPy's solver; keeper.add(solver, its interpolant) is called for each step.

    The interpolant is None if keeper.dense is False and no output needs it.
    """
    settings = system.settings
    y0, t0, ts = np.asarray(y0, float), float(t0), np.asarray(ts, float)
    found = np.empty((len(ts), len(y0)))
    done = int(np.argmax(ts != t0)) if (ts != t0).any() else len(ts)
    found[:done] = y0
    if done == len(ts):
        return found
    fun = Watched(system, params)
    solver = _start(fun, y0, t0, ts[-1], settings.atol)
    steps = 0
    while done < len(ts):
        if settings.exact_outputs:
            solver.t_bound, solver.status = ts[done], "running"
        if steps >= settings.max_steps:
            raise RuntimeError(
                f"{settings.name}: the solver did not come to t = {ts[done]:.6g} in {settings.max_steps:.0f} steps, "
                f"only to {solver.t:.6g}"
            )
        try:
            message = solver.step()
        except (ValueError, np.linalg.LinAlgError) as error:
            if fun.when_nan is None:
                raise
            fun.fail(solver.t, str(error))
        steps += 1
        if solver.status == "failed" or np.isnan(solver.y).any():
            fun.fail(solver.t, message or "nan in the solution")
        last = done + int(np.sum(solver.direction * (ts[done:] - solver.t) <= 0.0))
        piece = None
        if (keeper is not None and keeper.dense) or (last > done and not settings.exact_outputs):
            piece = solver.dense_output()
            found[done:last] = np.reshape(piece(ts[done:last]), (len(y0), -1)).T
        if keeper is not None:
            keeper.add(solver, piece)
        found[done:last][ts[done:last] == solver.t] = solver.y
        done = last
    return found


class Path:
    """A solution for the adjoint equation: an interpolant, or states from which to recompute it."""

    dense = True

    def __init__(
        self, system: System, y0: np.ndarray, t0: float, params: Nested, most: int | None, steps: int | None
    ) -> None:
        self.system, self.params, self.most = system, params, most
        self.every = steps or (np.inf if most is None else 1)
        self.starts = [(float(t0), np.asarray(y0, float))]
        self.times, self.pieces = [float(t0)], []  # type: ignore[var-annotated]  # since the last start

    def add(self, solver: Any, piece: Any) -> None:
        """Store the interpolant of a step, or after a number of steps a state instead."""
        self.times.append(solver.t)
        self.pieces.append(piece)
        if len(self.pieces) < self.every or solver.status == "finished":
            return
        self.starts.append((solver.t, solver.y.copy()))
        self.times, self.pieces = [solver.t], []
        if self.most is not None and len(self.starts) > self.most + 1:
            first = self.starts[0]
            self.starts = self.starts[::-2][::-1]  # halves the states, and keeps the last one
            if self.starts[0] is not first:
                self.starts.insert(0, first)
            self.every *= 2

    def pieces_backwards(self) -> Any:
        """(start, the solution from there as a function of time) of each piece, from the last to the first."""
        if self.pieces:
            yield self.starts[-1][0], scipy.integrate.OdeSolution(self.times, self.pieces)
        end = self.starts[-1][0]
        for t, y in self.starts[-2::-1]:
            again = Path(self.system, y, t, self.params, None, None)
            march(self.system, y, t, np.array([end]), self.params, again)
            yield t, scipy.integrate.OdeSolution(again.times, again.pieces)
            end = t


def _start(fun: Watched, y0: np.ndarray, t0: float, t1: float, atol: Any) -> Any:
    settings = fun.system.settings
    options = dict(settings.options)
    if settings.solver in (scipy.integrate.Radau, scipy.integrate.BDF, scipy.integrate.LSODA):
        options["jac"] = fun.jac
    if np.ndim(atol):
        atol = np.tile(atol, len(y0) // np.size(atol))
    return settings.solver(fun, t0, y0, t1, rtol=settings.rtol, atol=atol, **options)


# ---- the adjoint equation --------------------------------------------------------------------------------------------
def _solve_adjoint(
    system: System, path: Path, args: Sequence[Any], z: np.ndarray, z_bar: np.ndarray, active: _Active
) -> Sequence[Nested | None]:
    """All cotangents, by the equation l' = -f_y^T l, which runs backwards and jumps by z_bar_k at t_k.

        p_bar = integral of f_p^T l,     t0_bar = -l(t0) f(t0, y0)
    """
    y0, t0, ts, params = args
    n, settings = system.size, system.settings
    adjoint: Any = settings.adjoint
    tree = flatten(params)
    chosen = [tree.leaves[k] for k in active.leaves]
    rtol, atol = _take_given(adjoint.rtol, settings.rtol), _take_given(adjoint.atol, settings.atol)
    least = float(np.min(atol))
    solution: Any = None  # on the present piece

    def pull_slope(t: float, cotangent: np.ndarray, leaves: Sequence[int]) -> tuple[Value, ...]:
        jacobians = system.find_jacobians(float(t), solution(t), params, leaves)
        if jacobians is not None:
            return tuple(np.tensordot(cotangent, jacobian, 1) for jacobian in jacobians)
        own = [tree.leaves[k] for k in leaves]
        return tuple(vjp(_OfAll(system, float(t), tree, leaves), solution(t), *own)[1](cotangent))

    def backward_slope(point: tuple[Value, ArrayValue], nothing: Nested) -> Any:
        return -pull_slope(point[0], point[1], ())[0]

    class Backward(System):
        """The adjoint equation, with its known Jacobian."""

        def jacobian(self, t: float, y: np.ndarray, nothing: Nested) -> Any:
            return -system.jacobian(t, solution(t), params).T

    solver = _take_given(adjoint.method, settings.solver)
    own = settings._replace(rtol=rtol, atol=atol, adjoint=None, solver=solver_of(settings.name, solver))
    backward = Backward(own, backward_slope, n)
    costate, row = np.zeros(n), np.zeros(sum(map(np.size, chosen)))
    outputs, times, now = len(ts), np.asarray(ts, float), float(ts[-1])

    def jump() -> None:
        """Add the cotangents of all outputs at the present time."""
        nonlocal outputs, costate
        while outputs and times[outputs - 1] == now:
            outputs -= 1
            costate = costate + z_bar[outputs]

    jump()
    for start, solution in path.pieces_backwards():
        while now != start:
            nearest = times[outputs - 1] if outputs else start
            left = float(max(nearest, start) if now > start else min(nearest, start))
            if costate.any():
                interpolation = Path(backward, costate, now, None, None, None)
                ends = march(backward, costate, now, np.array([left]), None, interpolation)
                way = scipy.integrate.OdeSolution(interpolation.times, interpolation.pieces)
                if active.leaves:
                    row = row + gauss_kronrod_of_array(
                        settings.name, lambda t, way=way: join(pull_slope(t, way(t), active.leaves)[1:]), left, now,
                        epsabs=_take_given(adjoint.atol_quad, least), epsrel=_take_given(adjoint.rtol_quad, rtol),
                        quadrature="gk15",
                    )  # fmt: skip
                costate = ends[0]
            now = left
            jump()
        solution = None  # noqa: PLW2901  (before the next piece is computed)
    ts_bar = np.sum(z_bar * _slopes(system, ts, z, params), axis=1) if active.of_ts else None
    t0_bar = [-costate @ system.slope(t0, y0, params)] if active.of_t0 else []
    whole = np.concatenate([costate if active.of_y0 else costate[:0], t0_bar, row])
    return _split_cotangents(whole, active, n, params, ts_bar)


def _take_given(x: Any, default: Any) -> Any:
    return default if x is None else x


# ---- solvers ---------------------------------------------------------------------------------------------------------
_SOLVERS = {name: getattr(scipy.integrate, name) for name in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")}


def solver_of(name: str, method: Any) -> Any:
    """SciPy's class of that name."""
    if isinstance(method, type) and issubclass(method, scipy.integrate.OdeSolver):
        return method
    if method not in _SOLVERS:
        arguments.fail(name, "method", f"be one of {', '.join(_SOLVERS)}", repr(method))
    return _SOLVERS[method]


class CashKarp(scipy.integrate.RK45):
    """The method of Cash and Karp, of order 5 with an error estimate of order 4; steps must end at output times."""

    order = 5
    error_estimator_order = 4
    n_stages = 6
    C = np.array([0.0, 1 / 5, 3 / 10, 3 / 5, 1.0, 7 / 8])
    A = np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [1 / 5, 0.0, 0.0, 0.0, 0.0],
            [3 / 40, 9 / 40, 0.0, 0.0, 0.0],
            [3 / 10, -9 / 10, 6 / 5, 0.0, 0.0],
            [-11 / 54, 5 / 2, -70 / 27, 35 / 27, 0.0],
            [1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096],
        ]
    )
    B = np.array([37 / 378, 0.0, 250 / 621, 125 / 594, 0.0, 512 / 1771])
    E = np.array(
        [37 / 378 - 2825 / 27648, 0.0, 250 / 621 - 18575 / 48384, 125 / 594 - 13525 / 55296, -277 / 14336,
         512 / 1771 - 1 / 4, 0.0]
    )  # fmt: skip
