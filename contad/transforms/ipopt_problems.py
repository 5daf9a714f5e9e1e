"""Constrained problems in Ipopt's form: sparse derivatives as values in the order of a structure."""

import numpy as np

from contad.compile.dispatchers import is_dispatcher
from contad.errors import OutputError
from contad.functions.user_call import name_of
from contad.transforms.gradients import grad
from contad.transforms.pattern_search import HESSIAN, sparsity
from contad.transforms.sparse_derivatives import select_places, sparse_hessian, sparse_jacobian
from contad.variables.arguments import fail, require_callable
from contad.variables.open_types import ArrayValue, Function, Real

Structure = tuple[np.ndarray, np.ndarray]


def _lagrangian_of(objective: Function, constraints: Function) -> Function:
    """The function whose Hessian Ipopt needs; a Numba function if both are."""

    def lagrangian(x: ArrayValue, lagrange: ArrayValue, obj_factor: Real) -> Real:
        return obj_factor * objective(x) + np.sum(lagrange * constraints(x))

    lagrangian.__name__ = f"lagrangian_of_{name_of(objective)}"
    if is_dispatcher(objective) and is_dispatcher(constraints):
        from numba import njit

        compiled: Function = njit(lagrangian)
        return compiled
    return lagrangian


class IpoptProblem:
    """A problem `minimise objective(x) with constraints(x) within bounds`, with the methods that cyipopt.Problem calls.

    `objective` is a function of a vector to a number, `constraints` one to a vector. The structure, where derivatives
    may be nonzero, is found once, at `x0`. The values at every later point are compared with one more product, so an
    element that the structure misses raises an error. For functions with branches, `x0` may be a list of points whose
    structures are joined.

    Raises:  ValueMismatchError at a point where a derivative outside the structure is nonzero; OutputError if
             constraints does not return a vector.
    Cost:    `jacobian` and `hessian` as `sparse_jacobian` and `sparse_hessian`, and one product for the check.
    Ref:     Wächter & Biegler (2006), Mathematical Programming 106, 25-57; cyipopt's Problem.

    >>> problem = IpoptProblem(lambda x: np.sum(x**4), lambda x: x[1:] * x[:-1], np.ones(3))
    >>> rows, columns = problem.jacobianstructure()
    >>> rows, columns, problem.jacobian(np.array([1.0, 2.0, 3.0]))
    (array([0, 0, 1, 1]), array([0, 1, 1, 2]), array([2., 1., 3., 2.]))
    >>> problem.hessian(np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0]), 1.0)
    array([ 12.,   5.,  48.,   7., 108.])
    """

    def __init__(self, objective: Function, constraints: Function, x0: ArrayValue) -> None:
        require_callable("IpoptProblem", "objective", objective)
        require_callable("IpoptProblem", "constraints", constraints)
        try:
            points = np.atleast_2d(np.asarray(x0, float))
        except (TypeError, ValueError):
            fail("IpoptProblem", "x0", "be a vector, or vectors of one length", repr(x0))
        given = constraints(points[0])
        for f, what, found, axes in (
            (constraints, "a vector of constraints", given, 1), (objective, "one number", objective(points[0]), 0)
        ):  # fmt: skip
            if found is None or np.ndim(found) != axes:
                got = "None" if found is None else f"an array of {np.ndim(found)} axes"
                raise OutputError(f"IpoptProblem: {name_of(f)} must return {what}, got {got}")
        lagrangian = _lagrangian_of(objective, constraints)
        self.objective = objective
        self.gradient = grad(objective)
        self.constraints = constraints
        ones = np.ones(len(given))
        self._count, self._size = len(given), points.shape[1]
        rows = sum(sparsity(constraints, x) for x in points)
        self._jacobian = sparse_jacobian(constraints, pattern=rows, check=True)
        bends = sum(sparsity(lagrangian, x, ones, 1.0, of=HESSIAN) for x in points)
        self._hessian = sparse_hessian(lagrangian, pattern=bends, check=True)
        self._structures = [
            select_places("IpoptProblem", pattern.tocsr(), triangle)[:2]
            for pattern, triangle in ((rows, None), (bends, "lower"))
        ]

    def jacobianstructure(self) -> Structure:
        """(rows, columns) of the elements that `jacobian` returns."""
        return self._structures[0]

    def jacobian(self, x: ArrayValue) -> np.ndarray:
        """The elements of the Jacobian of the constraints."""
        return self._jacobian.values(self._require_point("jacobian", x))

    def hessianstructure(self) -> Structure:
        """(rows, columns) of the elements that `hessian` returns, in the lower triangle."""
        return self._structures[1]

    def hessian(self, x: ArrayValue, lagrange: ArrayValue, obj_factor: Real) -> np.ndarray:
        """The elements of the Hessian of obj_factor objective(x) + lagrange . constraints(x)."""
        multipliers = np.asarray(lagrange)
        if multipliers.shape != (self._count,):
            expected = f"have a number for each of the {self._count} constraints"
            fail("IpoptProblem.hessian", "lagrange", expected, f"shape {multipliers.shape}")
        x = self._require_point("hessian", x)
        return self._hessian.values(x, multipliers, float(obj_factor), triangle="lower")

    def _require_point(self, method: str, x: ArrayValue) -> ArrayValue:
        """Refuse a value that is not a point of the problem, because its structure would differ."""
        point = np.asarray(x) if isinstance(x, (list, tuple)) else x
        if np.shape(point) != (self._size,):
            fail(f"IpoptProblem.{method}", "x", f"have the {self._size} numbers of x0", f"shape {np.shape(point)}")
        return point
