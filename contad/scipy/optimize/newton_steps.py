"""Newton's method for systems of equations, halving steps until the function decreases."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse.linalg

from contad.scipy.optimize.implicit import take_primals
from contad.transforms.gradients import jvp
from contad.transforms.jacobians import jacobian
from contad.variables.open_types import Function

_DENSE = 100  # unknowns up to which the Jacobian is a matrix
_LEAST_STEP = 1e-8  # smallest step before the search gives up


class Found(NamedTuple):
    """Where the steps ended; `problem` says why this is not a root."""

    x: np.ndarray
    fun: np.ndarray
    steps: int
    problem: str
    is_singular: bool = False


def find_root(of_floats: Function, of_variables: Function, start: Any, limit: float, steps: int) -> Found:
    """A root with max |f| <= limit; `of_variables` is f for its Jacobian or products with it."""
    y = np.asarray(start, float)
    value = np.asarray(of_floats(y), float)
    for step in range(steps + 1):
        if np.max(np.abs(value), initial=0.0) <= limit:
            return Found(y, value, step, "")
        if step == steps:
            break
        try:
            direction = _solve(of_variables, y, value)
        except np.linalg.LinAlgError:
            return Found(y, value, step, f"the Jacobian is singular on the way, at y = {y}", True)
        scale = 1.0
        while True:
            ahead = np.asarray(of_floats(y - scale * direction), float)
            if np.linalg.norm(ahead) <= (1.0 - 1e-4 * scale) * np.linalg.norm(value):
                break
            scale *= 0.5
            if scale < _LEAST_STEP:
                return Found(y, value, step, f"no step from y = {y} makes f smaller")
        y, value = y - scale * direction, ahead
    return Found(y, value, steps, f"not in {steps} steps; max |f| is {np.max(np.abs(value)):.2g}")


def _solve(f: Function, y: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The step J^-1 f(y)."""
    if y.size <= _DENSE:
        step: np.ndarray = np.linalg.solve(np.asarray(take_primals(jacobian(f)(y)), float), value)
        return step

    def times(v: np.ndarray) -> np.ndarray:
        return np.asarray(take_primals(jvp(f, (y,), (np.reshape(v, y.shape),))[1]), float)

    operator = scipy.sparse.linalg.LinearOperator((y.size, y.size), matvec=times, dtype=float)
    found, _ = scipy.sparse.linalg.gmres(operator, value, rtol=1e-9, atol=0.0, restart=min(y.size, 100), maxiter=50)
    if not np.isfinite(found).all():
        raise np.linalg.LinAlgError
    return found
