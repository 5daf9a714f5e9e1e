"""Boundary value problems with differentiable solutions, by the collocation equations that SciPy solves."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate
import scipy.sparse
import scipy.sparse.linalg

from contad.errors import SingularPointError
from contad.scipy.integrate.integral_operation import freeze
from contad.scipy.optimize.implicit import ProductsOfInverse, differentiate_root, take_primals
from contad.transforms.sparse_derivatives import sparse_jacobian
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.open_types import ArrayValue, Function, Nested, Option
from contad.variables.trees import flatten, holds_number

_LARGEST = 1e13  # condition number beyond which the derivative of a solution has no digits


def solve_bvp(
    fun: Function, bc: Function, x: ArrayValue, y: ArrayValue, p: ArrayValue | None = None, *,
    args: Sequence[Nested] = (), **options: Option,
) -> Any:  # fmt: skip
    """scipy.integrate.solve_bvp, with `y`, `p` and `sol` differentiable in args and in values captured by fun and bc.

        y' = fun(x, y, p, *args),     bc(y(a), y(b), p, *args) = 0

    SciPy finds the mesh and the solution of its collocation equations (Lobatto IIIA, of order 4) on plain numbers.
    The derivative is that of these equations on SciPy's mesh, by the implicit function theorem, at every order; its
    error is that of the solution. `p` are unknown parameters, omitted from the calls if there are none. Initial guesses
    x, y, p, the mesh and SciPy's other results carry no derivative.

    Shapes:  x (m,), y (n, m), p (k,); fun(x, y) (n, m), bc (n + k,), as in SciPy -> `y` (n, mesh), `p` (k,).
    Domain:  equations with a solution near the guess where their Jacobian is nonsingular; increasing x.
    Raises:  SciPy's errors; if a derivative is taken, RuntimeError if SciPy does not converge, and SingularPointError
             if the equations are singular at the solution.
    Cost:    SciPy's; a derivative takes a sparse Jacobian of the equations, its sparse factors, and fun on variables on
             the whole mesh for each order.
    Ref:     scipy.integrate.solve_bvp; Kierzenka & Shampine (2001), ACM Transactions on Mathematical Software 27.

    >>> import contad
    >>> def middle(k):  # y'' = -k y, y(0) = 0, y(1) = 1: y = sin(sqrt(k) x) / sin(sqrt(k))
    ...     fun = lambda x, y: np.stack([y[1], -k * y[0]])
    ...     bc = lambda ya, yb: np.stack([ya[0], yb[0] - 1.0])
    ...     return solve_bvp(fun, bc, np.linspace(0.0, 1.0, 21), np.ones((2, 21)), tol=1e-8).sol(0.5)[0]
    >>> value, slope = contad.value_and_grad(middle)(1.0)
    >>> round(float(value), 6), round(float(slope), 6)
    (0.569747, 0.077814)
    """
    args = tuple(args)
    found = [holds_number(args)]

    def plain(f: Function) -> Function:
        def of_floats(*given: Nested) -> Any:
            value = f(*given, *take_primals(args))
            value = array(value) if isinstance(value, (list, tuple)) else value
            found[0] = found[0] or bool(numbers_in(flatten(value).leaves))
            return take_primals(value)

        return of_floats

    guesses = take_primals(x), take_primals(y), take_primals(p)
    result = scipy.integrate.solve_bvp(plain(fun), plain(bc), *guesses, **options)
    if not found[0]:
        return result
    problem = _Collocation(fun, bc, result, options)
    root = differentiate_root(
        "solve_bvp", problem.residual, problem.start, (args,), result.success, result.message, inverse=problem.inverse
    )
    result.y, unknown = problem.unpack(root)
    if p is not None:
        result.p = unknown
    result.yp = problem.slopes(result.x, result.y, unknown, args)
    result.sol = _Interpolant(result.x, result.y, result.yp)
    return result


class _Collocation:
    """SciPy's equations on the mesh of a solution, as a function of the vector of all unknowns."""

    def __init__(self, fun: Function, bc: Function, result: Any, options: dict[str, Option]) -> None:
        self.fun, self.bc, self.x = fun, bc, result.x
        self.shape = result.y.shape
        self.has_p = result.p is not None
        self.singular: Any = options.get("S")
        unknown = result.p if self.has_p else np.zeros(0)
        self.start = np.concatenate([result.y.T.reshape(-1), unknown])

    def unpack(self, z: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
        """(y, p) of the vector."""
        size = self.shape[0] * self.shape[1]
        return np.transpose(np.reshape(z[:size], self.shape[::-1])), z[size:]

    def slopes(self, x: np.ndarray, y: ArrayValue, p: ArrayValue, args: tuple[Nested, ...]) -> ArrayValue:
        """y' at points of the mesh, or between them."""
        value = self.fun(x, y, *([p] if self.has_p else []), *args)
        value = array(value) if isinstance(value, (list, tuple)) else value
        if self.singular is None:
            return value
        distance = x - self.x[0]
        at_start = np.linalg.pinv(np.eye(len(self.singular)) - self.singular)
        inside = value + self.singular @ y / np.where(distance == 0.0, 1.0, distance)
        return np.where(distance == 0.0, at_start @ value, inside)

    def residual(self, z: ArrayValue, args: tuple[Nested, ...]) -> ArrayValue:
        """The residual, zero at the solution: a vector of the length of the unknowns."""
        y, p = self.unpack(z)
        h = np.diff(self.x)
        f = self.slopes(self.x, y, p, args)
        y_middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h * (f[:, 1:] - f[:, :-1])
        f_middle = self.slopes(self.x[:-1] + 0.5 * h, y_middle, p, args)
        inner = y[:, 1:] - y[:, :-1] - h / 6.0 * (f[:, :-1] + f[:, 1:] + 4.0 * f_middle)
        ends = self.bc(y[:, 0], y[:, -1], *([p] if self.has_p else []), *args)
        ends = array(ends) if isinstance(ends, (list, tuple)) else ends
        return np.concatenate([np.reshape(np.transpose(inner), (-1,)), ends])

    def inverse(self, args: tuple[Nested, ...]) -> Function:
        """r -> J^-1 r, by sparse factors of the Jacobian at the solution."""
        (given,) = args
        plain = copy.copy(self)
        plain.fun, plain.bc = _bind_primals(self.fun), _bind_primals(self.bc)
        slopes = sparse_jacobian(lambda z: plain.residual(z, given), pattern=self._pattern())
        return ProductsOfInverse("solve_bvp", _Factors(slopes(self.start)).apply).solve

    def _pattern(self) -> Any:
        """The unknowns on which each equation may depend: those at both ends of an interval, at both boundaries, and
        p."""
        n, m = self.shape
        k = len(self.start) - n * m
        intervals = scipy.sparse.diags_array([1.0, 1.0], offsets=[0, 1], shape=(m - 1, m))
        inner = scipy.sparse.kron(intervals, np.ones((n, n)))
        ends = np.zeros((n + k, n * m))
        ends[:, :n] = ends[:, -n:] = 1.0
        of_y = scipy.sparse.vstack([inner, scipy.sparse.csr_array(ends)])
        return scipy.sparse.csc_array(scipy.sparse.hstack([of_y, scipy.sparse.csr_array(np.ones((n * m + k, k)))]))


class _Factors:
    """The factors of a nonsingular sparse matrix."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = scipy.sparse.csc_array(matrix)
        try:
            self.factors = scipy.sparse.linalg.splu(self.matrix)
        except RuntimeError as error:
            raise SingularPointError(f"solve_bvp: the equations at the solution are singular: {error}") from None
        n = self.matrix.shape[0]
        inverse = scipy.sparse.linalg.LinearOperator(
            (n, n), matvec=self.factors.solve, rmatvec=lambda r: self.factors.solve(r, "T"), dtype=float
        )
        condition = scipy.sparse.linalg.onenormest(inverse) * scipy.sparse.linalg.norm(self.matrix, 1)
        if not condition <= _LARGEST:
            raise SingularPointError(
                f"solve_bvp: the equations at the solution are singular (condition number {condition:.1e}): the "
                "solution is not a smooth function of its parameters"
            )

    def apply(self, r: np.ndarray, transposed: bool) -> np.ndarray:
        """The solution for a plain right-hand side."""
        x: np.ndarray = self.factors.solve(r, "T" if transposed else "N")
        return x


def _bind_primals(f: Function) -> Function:
    """f with the plain values of captured variables."""
    frozen = freeze(f, "solve_bvp")
    captured = take_primals(frozen.captured)
    return lambda *given: frozen.call(given, ((), captured))


class _Interpolant:
    """The solution between points of the mesh, like SciPy's `sol`: a cubic with the values and slopes at both."""

    def __init__(self, x: np.ndarray, y: ArrayValue, slopes: ArrayValue) -> None:
        self.x, self.y, self.slopes = x, y, slopes

    def __call__(self, x: Any) -> ArrayValue:
        """y at a number (n,) or at a vector of them (n, k)."""
        at = np.asarray(take_primals(x), float)
        left = np.clip(np.searchsorted(self.x, at, side="right") - 1, 0, len(self.x) - 2)
        h = self.x[left + 1] - self.x[left]
        t = (x - self.x[left]) / h
        y0, y1 = self.y[:, left], self.y[:, left + 1]
        f0, f1 = h * self.slopes[:, left], h * self.slopes[:, left + 1]
        return y0 + t * (f0 + t * (3.0 * (y1 - y0) - 2.0 * f0 - f1 + t * (2.0 * (y0 - y1) + f0 + f1)))
