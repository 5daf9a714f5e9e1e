"""Stan's differential-algebraic equations, solved by SUNDIALS' IDA with forward sensitivities of every order."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.distributions.docstrings import with_rest_of
from contad.scipy.integrate.integral_operation import freeze, join, place_cotangents, replace, require_found, split
from contad.scipy.optimize.implicit import take_primals
from contad.transforms.gradients import jvp
from contad.transforms.jacobians import jacobian
from contad.transforms.operation import CustomOperation
from contad.variables import arguments
from contad.variables.arguments import require_positive_size
from contad.variables.creation import array
from contad.variables.open_types import ArrayValue, Function, Nested, Real, Value
from contad.variables.trees import flatten

__all__ = ["dae", "dae_tol"]

_CORRECTIONS = 3  # Newton steps to a consistent start; each order of tangents is linear in the lower ones
_RANK = 1e-10  # directions below this fraction of the largest singular value of F_y' are algebraic
_LARGEST = 1e10  # condition number beyond which the algebraic equations determine nothing
_CONSISTENT = 1e-4  # tolerance of the residual at the start, relative to the slopes


def dae(residual: Function, yy0: ArrayValue, yp0: ArrayValue, t0: Real, ts: ArrayValue, *args: Nested) -> ArrayValue:
    """The solution of residual(t, y, y', *args) = 0 at the times ts, with y(t0) = yy0 and y'(t0) = yp0.

        F(t, y, y', p) = 0,     F_y s + F_y' s' + F_p p_dot = 0,     s(t0) = yy0_dot,   s'(t0) = yp0_dot

    The equation must have index 1: its algebraic equations can be solved for the algebraic variables. IDA, a
    variable-order BDF method, solves it with the exact Jacobian. Derivatives of any order with respect to yy0, yp0,
    args (trees) and captured values are solutions of an augmented equation with error control. The equation determines
    yp0 and the algebraic part of yy0, which are only passed to the solver: they carry no derivative, and neither do
    times. Needs scikit-sundae.

    Shapes:  yy0, yp0 (n,), ts (T,) increasing from t0, residual n numbers -> (T, n).
    Domain:  equations of index 1, with F(t0, yy0, yp0) = 0; t0 < ts[0] < ts[1] ...
    Raises:  ImportError without scikit-sundae; ValueError for other shapes, times that do not increase, values that are
             not finite, and a start with a nonzero residual; RuntimeError for a higher index and if IDA fails.
    Cost:    IDA's; a gradient costs as much as an equation 1 + k times as large, for k numbers that carry derivatives.
    Ref:     Hindmarsh et al. (2005), ACM Transactions on Mathematical Software 31; Stan's dae.

    >>> import contad
    >>> def f(k):  # y0' = -k y0,  y0 + y1 = 1
    ...     def residual(t, y, yp):
    ...         return np.stack([yp[0] + k * y[0], y[0] + y[1] - 1.0])
    ...     start = np.stack([-1.5 * k, 1.5 * k])
    ...     return dae_tol(residual, np.array([1.5, -0.5]), start, 0.0, np.array([0.5, 1.0]), 1e-9, 1e-10, 10**5)[1, 1]
    >>> value, slope = contad.value_and_grad(f)(0.8)  # doctest: +SKIP
    >>> round(float(value), 5), round(slope, 5)  # doctest: +SKIP
    (0.32601, 0.67399)
    """
    return _solve("dae", residual, yy0, yp0, t0, ts, _Tolerances(1e-10, 1e-10, 10**8), args)


@with_rest_of(dae)
def dae_tol(
    residual: Function, yy0: ArrayValue, yp0: ArrayValue, t0: Real, ts: ArrayValue, rel_tol: float, abs_tol: float,
    max_num_steps: int, *args: Nested,
) -> ArrayValue:  # fmt: skip
    """Like `dae`, with your own tolerances and limit of steps between two output times.

    Raises:  as there; ValueError for tolerances and a limit that are not positive.
    Ref:     Hindmarsh et al. (2005), ACM Transactions on Mathematical Software 31; Stan's dae_tol.

    >>> residual = lambda t, y, yp: np.stack([yp[0] + y[0], y[0] + y[1] - 1.0])
    >>> start = np.array([1.0, 0.0]), np.array([-1.0, 1.0])
    >>> dae_tol(residual, *start, 0.0, np.array([1.0]), 1e-8, 1e-9, 1000).round(5)  # doctest: +SKIP
    array([[0.36788, 0.63212]])
    """
    for argument, x in (("rel_tol", rel_tol), ("abs_tol", abs_tol)):
        if not x > 0.0:
            arguments.fail("dae_tol", argument, "be positive", x)
    require_positive_size("dae_tol", "max_num_steps", max_num_steps)
    return _solve("dae_tol", residual, yy0, yp0, t0, ts, _Tolerances(rel_tol, abs_tol, max_num_steps), args)


class _Tolerances(NamedTuple):
    rtol: float
    atol: float
    steps: int


class _System(NamedTuple):
    """0 = f((t, y, yp), params), or such a system with `copies` tangents of y after y."""

    name: str
    f: Function
    size: int
    tolerances: _Tolerances
    later: list[Function]
    base: Any = None

    def residual(self, t: float, y: ArrayValue, yp: ArrayValue, params: Nested) -> ArrayValue:
        value = self.f((t, y, yp), params)
        value = array(value) if isinstance(value, (list, tuple)) else value
        if np.shape(value) != (self.size,):
            got = f"shape {np.shape(value)}"
            arguments.fail(self.name, "residual", f"give {self.size} numbers, one for each of yy0", got)
        return value

    def jacobian(self, t: float, y: np.ndarray, yp: np.ndarray, cj: float, params: Any) -> np.ndarray:
        """F_y + cj F_y'; for an augmented system only the diagonal blocks, with which Newton's method converges.
        """
        if self.base is not None:
            n = self.base.size
            return np.kron(np.eye(self.size // n), self.base.jacobian(t, y[:n], yp[:n], cj, params[0]))
        slopes, more = self.find_slopes(t, y, yp, params)
        return slopes + cj * more

    def find_slopes(self, t: float, y: np.ndarray, yp: np.ndarray, params: Any) -> tuple[np.ndarray, np.ndarray]:
        """F_y and F_y', with all blocks."""
        of_both = jacobian(lambda a, b: self.residual(t, a, b, params), (0, 1))
        slopes, more = take_primals(of_both(y, yp))
        return np.asarray(slopes, float), np.asarray(more, float)

    def augment(self, count: int, leaves: Sequence[int]) -> "_System":
        n = self.size

        def residual(point: Any, params: Any) -> ArrayValue:
            t, y, yp = point
            own, dots = params
            tree = flatten(own)

            def of_all(a: ArrayValue, b: ArrayValue, *inner: Value) -> ArrayValue:
                return self.residual(t, a, b, replace(tree, leaves, inner))

            given = (y[:n], yp[:n], *(tree.leaves[k] for k in leaves))
            tangents = np.reshape(y[n:], (count, n)), np.reshape(yp[n:], (count, n)), *dots
            value, tangent = jvp(of_all, given, tangents, several=True)
            return np.concatenate([value, np.reshape(tangent, (count * n,))])

        return _System(self.name, residual, n * (1 + count), self.tolerances, self.later, self)


def _solve(
    name: str, residual: Function, yy0: Nested, yp0: Nested, t0: Real, ts: Nested, tolerances: _Tolerances,
    args: tuple[Nested, ...],
) -> ArrayValue:  # fmt: skip
    yy0, yp0 = array(yy0), array(yp0)
    if np.ndim(yy0) != 1 or not np.size(yy0):
        arguments.fail(name, "yy0", "be a vector with at least one number", f"shape {np.shape(yy0)}")
    if np.shape(yp0) != np.shape(yy0):
        arguments.fail(name, "yp0", f"have {np.size(yy0)} numbers, as yy0 has", f"shape {np.shape(yp0)}")
    arguments.require_plain(name, "t0", t0)
    arguments.require_plain(name, "ts", ts)
    times = np.concatenate([[float(t0)], np.asarray(ts, float)])
    if len(times) < 2 or not (np.isfinite(times).all() and (np.diff(times) > 0.0).all()):
        arguments.fail(name, "ts", "increase from t0", times)
    frozen = freeze(residual, name)
    system = _System(name, frozen.call, int(np.size(yy0)), tolerances, frozen.later)
    params = (args, frozen.captured)
    for argument, x in (("yy0", yy0), ("yp0", yp0)):
        if not np.isfinite(np.asarray(take_primals(x), float)).all():
            arguments.fail(name, argument, "be finite", take_primals(x))
    start = np.asarray(take_primals(yy0), float), np.asarray(take_primals(yp0), float)
    first = np.asarray(take_primals(system.residual(float(t0), *start, take_primals(params))), float)
    if not np.max(np.abs(first)) <= _CONSISTENT * (1.0 + np.max(np.abs(np.concatenate(start)))):
        arguments.fail(name, "yy0", "make the residual zero with yp0 at t0", first)
    return _trajectory(system, yy0, yp0, times, params)


def _trajectory(system: _System, yy0: ArrayValue, yp0: ArrayValue, times: np.ndarray, params: Nested) -> ArrayValue:
    """The solution at times[1:]."""
    n = system.size

    def find_active() -> tuple[bool, bool, list[int]]:
        active = {place[0] for place in operation.places}
        return 0 in active, 1 in active, [k for m, k in operation.places if m == 2]

    def value(yy0: ArrayValue, yp0: ArrayValue, params: Nested) -> tuple[ArrayValue, Any]:
        if operation.owner is None:
            return _march(system, yy0, yp0, times, params), None
        of_yy, of_yp, leaves = find_active()
        tree = flatten(params)
        sizes = [int(np.size(tree.leaves[k])) for k in leaves]
        count = n * of_yy + n * of_yp + sum(sizes)
        rows_y, rows_yp = np.zeros((count, n)), np.zeros((count, n))
        rows_y[: n * of_yy] = np.eye(n)[: n * of_yy]
        rows_yp[n * of_yy : n * of_yy + n * of_yp] = np.eye(n)[: n * of_yp]
        dots, row = [], n * of_yy + n * of_yp
        for k, size in zip(leaves, sizes, strict=True):
            dots.append(np.reshape(np.eye(count, size, -row), (count, *np.shape(tree.leaves[k]))))
            row += size
        wide = system.augment(count, leaves)
        start = [np.concatenate([x, rows.reshape(-1)]) for x, rows in ((yy0, rows_y), (yp0, rows_yp))]
        found = _trajectory(wide, start[0], start[1], times, (params, dots))
        return found[:, :n], np.reshape(found[:, n:], (len(times) - 1, count, n))

    def pull(args: Sequence[Any], saved: Any, z: ArrayValue, z_bar: ArrayValue) -> Sequence[Nested | None]:
        of_yy, of_yp, leaves = find_active()
        row = np.sum(saved * np.reshape(z_bar, (len(times) - 1, 1, n)), axis=(0, 2))
        tree = flatten(args[2])
        first = n * of_yy + n * of_yp
        parts = split(row[first:], [np.shape(tree.leaves[k]) for k in leaves])
        bar = place_cotangents(tree, leaves, parts) if leaves else None
        return row[:n] if of_yy else None, row[n * of_yy : first] if of_yp else None, bar

    def push(args: Sequence[Any], saved: Any, z: ArrayValue, tangents: Sequence[Any]) -> ArrayValue:
        of_yy, of_yp, leaves = find_active()
        dots = flatten(tangents[2]).leaves
        parts = ([tangents[0]] if of_yy else []) + ([tangents[1]] if of_yp else []) + [dots[k] for k in leaves]
        return np.sum(saved * np.reshape(join(parts), (1, -1, 1)), axis=1)

    operation = CustomOperation(system.name, (yy0, yp0, params), value, pull, push, [], system.later)
    return operation.perform()


def _start(system: _System, y: np.ndarray, yp: np.ndarray, t: float, params: Nested) -> tuple[np.ndarray, np.ndarray]:
    """A start with zero residual, found by changing the algebraic directions of y, which carry no state, and yp.

    The residual at the user's start is already zero; its tangents for one argument need not be.
    """
    y, yp = np.array(y, float), np.array(yp, float)
    for _ in range(_CORRECTIONS):
        error = np.asarray(system.residual(t, y, yp, params), float)
        slopes, more = system.find_slopes(t, y, yp, params)
        if not (np.isfinite(slopes).all() and np.isfinite(more).all()):
            arguments.fail(system.name, "residual", "have finite derivatives at t0", "others")
        u, s, vt = np.linalg.svd(more)
        rank = int(np.count_nonzero(s > _RANK * np.max(s, initial=0.0)))
        free = vt[rank:].T
        if free.size and np.linalg.cond(u[:, rank:].T @ slopes @ free) > _LARGEST:
            raise RuntimeError(
                f"{system.name}: the algebraic equations do not determine the algebraic variables at t0: the index is "
                "higher than 1"
            )
        step = np.linalg.lstsq(np.concatenate([slopes @ free, more], axis=1), -error)[0]
        y, yp = y + free @ step[: free.shape[1]], yp + step[free.shape[1] :]
    return y, yp


def _march(system: _System, yy0: ArrayValue, yp0: ArrayValue, times: np.ndarray, params: Nested) -> np.ndarray:
    """Solve by IDA with plain numbers; errors in a callback are raised after the solver has stopped."""
    try:
        from sksundae.ida import IDA
    except ImportError:
        raise ImportError(f"{system.name}: it needs scikit-sundae; pip install contad[adapters]") from None
    wrong: list[Exception] = []
    when_nan: list[float] = []

    def residual(t: float, y: np.ndarray, yp: np.ndarray, res: np.ndarray) -> None:
        res[:] = np.nan
        if wrong:
            return
        try:
            found = system.residual(float(t), y.copy(), yp.copy(), params)
            require_found(system.name, "residual", found)
            res[:] = found
        except Exception as error:
            wrong.append(error)
        if np.isnan(res).any() and not when_nan:
            when_nan.append(float(t))

    def slopes(t: float, y: np.ndarray, yp: np.ndarray, res: np.ndarray, cj: float, out: np.ndarray) -> None:
        try:
            out[:] = system.jacobian(float(t), y.copy(), yp.copy(), float(cj), params)
        except Exception as error:
            wrong.append(error)

    rtol, atol, steps = system.tolerances
    solver = IDA(residual, rtol=rtol, atol=atol, max_num_steps=min(steps, 2**31 - 1), jacfn=slopes)
    start = _start(system, np.asarray(yy0, float), np.asarray(yp0, float), float(times[0]), params)
    try:
        result = solver.solve(times, *start)
    except Exception as error:
        raise (wrong[0] if wrong else RuntimeError(f"{system.name}: IDA failed: {error}")) from None
    if wrong:
        raise wrong[0]
    y: np.ndarray = np.asarray(result.y)
    if len(times) == 2:  # IDA would return its own steps
        y = y[[0, -1]]
    if not result.success or len(y) != len(times) or not np.isfinite(y).all():
        reason = f"; residual gave nan at time {when_nan[0]:.6g}" if when_nan else ""
        raise RuntimeError(f"{system.name}: IDA failed: {' '.join(str(result.message).split())}{reason}")
    return y[1:]
