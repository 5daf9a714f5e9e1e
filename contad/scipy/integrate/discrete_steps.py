"""The derivative of a solution as computed: explicit steps with fixed lengths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate

from contad.errors import UnsupportedError
from contad.scipy.integrate.integral_operation import place_cotangents, replace, zeros
from contad.scipy.integrate.trajectories import System, march
from contad.transforms.gradients import jvp, vjp
from contad.transforms.operation import CustomOperation
from contad.variables.number import map_numbers, peek, primal
from contad.variables.open_types import ArrayValue, Nested, Real, Value
from contad.variables.trees import Tree, flatten

EXPLICIT = (scipy.integrate.RK45, scipy.integrate.RK23, scipy.integrate.DOP853)


class _Grid:
    """The steps of a solver from t0, and how many outputs each has."""

    dense = False

    def __init__(self, ts: np.ndarray) -> None:
        self.ts, self.done = ts, 0
        self.offsets: list[float] = []  # times of the starts of steps, relative to t0
        self.lengths: list[float] = []
        self.outputs: list[int] = []

    def add(self, solver: Any, piece: Any) -> None:
        """Note an accepted step."""
        self.offsets.append(solver.t_old)
        self.lengths.append(solver.t - solver.t_old)
        inside = int(np.sum(solver.direction * (self.ts[self.done :] - solver.t) <= 0.0))
        self.outputs.append(inside)
        self.done += inside


class _Solved:
    """The solution and its grid on plain numbers, recomputed if these change."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.at: list[np.ndarray] = []

    def find(self, args: Sequence[Any]) -> "_Solved":
        """This object, at the plain numbers under the arguments."""
        y0, t0, ts, params = map_numbers(primal, args)
        y0, t0, ts = np.array(y0, float), float(t0), np.array(ts, float)
        at = [y0, np.array(t0), ts, *(np.array(x) for x in flatten(params).leaves)]
        if len(at) != len(self.at) or not all(map(np.array_equal, at, self.at)):
            self.grid, self.at = _Grid(ts), at
            self.y = march(self.system, y0, t0, ts, params, self.grid)
            self.grid.offsets = [t - t0 for t in self.grid.offsets]
            if not self.grid.lengths:  # no time passes; outputs are on the tangent
                self.grid.offsets, self.grid.lengths, self.grid.outputs = [0.0], [0.0], [len(ts)]
        return self


@dataclass(frozen=True, slots=True)
class _Step:
    """One step: (t, y, slope there, output times in it, leaves of params) -> (y, slope, outputs)."""

    system: System
    length: float
    tree: Tree
    places: list[int]

    def __call__(self, t: Value, y: ArrayValue, slope: ArrayValue, ts: ArrayValue, *leaves: Value) -> Any:
        method, h = self.system.settings.solver, self.length
        params = replace(self.tree, self.places, leaves)
        if h == 0.0:
            return y, slope, y + np.reshape(ts - t, (-1, 1)) * slope
        rows = [slope]

        def add_stage(weights: np.ndarray, at: float) -> None:
            rows.append(self.system.slope(t + at * h, y + h * (weights[: len(rows)] @ np.stack(rows)), params))

        for weights, at in zip(method.A[1:], method.C[1:], strict=True):
            add_stage(weights, at)
        new = y + h * (method.B @ np.stack(rows))
        rows.append(self.system.slope(t + h, new, params))
        last = rows[-1]
        if not len(ts):
            return new, last, np.zeros((0, self.system.size))
        x = np.reshape((ts - t) / h, (-1, 1))
        outputs: Any = 0.0
        if method.__name__ != "DOP853":
            coefficients = method.P.T @ np.stack(rows)
            power = x * h
            outputs = y
            for row in coefficients:
                outputs = outputs + power * row
                power = power * x
            return new, last, outputs
        for weights, at in zip(method.A_EXTRA, method.C_EXTRA, strict=True):
            add_stage(weights, at)
        change = new - y
        terms = [change, h * slope - change, 2.0 * change - h * (last + slope), *(h * (method.D @ np.stack(rows)))]
        for k, term in enumerate(reversed(terms)):
            outputs = (outputs + term) * (x if k % 2 == 0 else 1.0 - x)
        return new, last, y + outputs


@dataclass(frozen=True, slots=True)
class _FirstSlope:
    """The slope at the start."""

    system: System
    tree: Tree
    places: list[int]

    def __call__(self, t: Value, y: ArrayValue, *leaves: Value) -> ArrayValue:
        return self.system.slope(t, y, replace(self.tree, self.places, leaves))


def require_explicit(name: str, solver: Any) -> None:
    """Refuse methods whose steps cannot be differentiated."""
    if not issubclass(solver, EXPLICIT):
        raise UnsupportedError(
            f'{name}: sensitivity="discrete" is of the methods RK23, RK45 and DOP853, got {solver.__name__}; take '
            '"adjoint", or contad.scipy.integrate.sdirk4 for an njit function'
        )


def discrete_trajectory(
    system: System, y0: ArrayValue, t0: Real, ts: ArrayValue, params: Nested, end: float | None = None
) -> ArrayValue:
    """The solution at times ts, like `trajectory`, but with the derivative of the steps as taken, up to `end`.

    Steps keep their lengths and move with t0; the interpolant is differentiated at output times.
    """
    if end is not None and end != peek(ts[-1]):
        return discrete_trajectory(system, y0, t0, np.concatenate([ts, np.array([end])]), params)[:-1]
    return _follow(system, _Solved(system), (y0, t0, ts, params))


def _follow(system: System, solved: _Solved, args: Sequence[Any]) -> ArrayValue:
    def value(*args: Any) -> tuple[ArrayValue, None]:
        if operation.owner is None:
            return solved.find(args).y.copy(), None
        return _follow(system, solved, args), None

    def pull(args: Sequence[Any], saved: None, z: ArrayValue, z_bar: ArrayValue) -> Sequence[Nested | None]:
        y0, t0, ts, params = args
        grid, tree = solved.find(args).grid, flatten(params)
        leaves = [tree.leaves[k] for k in places]
        states = [(t, y, slope) for t, y, slope, _ in _steps(system, grid, args, places)]
        firsts = np.cumsum([0, *grid.outputs])
        y_bar: Value = np.zeros(system.size)
        slope_bar: Value = np.zeros(system.size)
        t0_bar: Value = 0.0
        pieces, found = [], [zeros(x) for x in leaves]
        for k in reversed(range(len(grid.lengths))):
            inside = slice(firsts[k], firsts[k + 1])
            step = _Step(system, grid.lengths[k], tree, places)
            bars = vjp(step, *states[k], ts[inside], *leaves)[1]((y_bar, slope_bar, z_bar[inside]))
            t0_bar, y_bar, slope_bar = t0_bar + bars[0], bars[1], bars[2]
            pieces.append(bars[3])
            found = [one + other for one, other in zip(found, bars[4:], strict=True)]
        bars = vjp(_FirstSlope(system, tree, places), t0, y0, *leaves)[1](slope_bar)
        found = [one + other for one, other in zip(found, bars[2:], strict=True)]
        params_bar = place_cotangents(tree, places, found) if places else None
        return y_bar + bars[1], t0_bar + bars[0], np.concatenate(pieces[::-1]), params_bar

    def push(args: Sequence[Any], saved: None, z: ArrayValue, tangents: Sequence[Any]) -> ArrayValue:
        y0, t0, ts, params = args
        grid, tree = solved.find(args).grid, flatten(params)

        def run(y0: ArrayValue, t0: Value, ts: ArrayValue, *leaves: Value) -> ArrayValue:
            args = (y0, t0, ts, replace(tree, places, leaves))
            return np.concatenate([outputs for *_, outputs in _steps(system, grid, args, places)])

        dots = flatten(tangents[3]).leaves
        primals = (y0, t0, ts, *(tree.leaves[k] for k in places))
        return jvp(run, primals, (*tangents[:3], *(dots[k] for k in places)))[1]

    operation = CustomOperation(system.settings.name, args, value, pull, push, [], system.settings.later)
    places = [k for m, k in operation.places if m == 3]
    return operation.perform()


def _steps(system: System, grid: _Grid, args: Sequence[Any], places: list[int]) -> Iterator[tuple[Any, ...]]:
    """(t, y, slope) where each step starts, and its outputs."""
    y, t0, ts, params = args
    tree = flatten(params)
    leaves = [tree.leaves[k] for k in places]
    slope, first = system.slope(t0, y, params), 0
    for offset, length, inside in zip(grid.offsets, grid.lengths, grid.outputs, strict=True):
        t = t0 + offset
        step = _Step(system, length, tree, places)
        new, last, outputs = step(t, y, slope, ts[first : first + inside], *leaves)
        yield t, y, slope, outputs
        y, slope, first = new, last, first + inside
