"""Systems with sparse matrices, by factors or by iterations; no dense matrix is made."""

import warnings

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.cotangents import all_finite, plain
from contad.ops.linear_systems import as_columns, mask
from contad.ops.products import matmul
from contad.ops.sparse_patterns import Pattern, SparseFactor
from contad.ops.sparse_products import sampled_product, sparse_product
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import COMPLEX, float64_only

# [[2.3, -0.7, 0], [0, 1.9, -1.1], [0.8, 0, 2.0 + 0.6]]: one position has two values
_CSC = Pattern("csc", (np.array([0, 2, 0, 1, 1, 2, 2]), np.array([0, 2, 4, 7])), (3, 3))
_COO = Pattern("coo", (np.array([2, 0, 1, 0, 2, 1]), np.array([2, 0, 1, 1, 0, 2])), (3, 3))
_V, _W = [2.3, 0.8, -0.7, 1.9, -1.1, 2.0, 0.6], [2.6, 2.3, 1.9, -0.7, 0.8, -1.1]
_A = [[2.3, -0.7, 0.4], [0.5, 1.9, -1.1], [-0.8, 0.3, 2.6]]
_B, _BS = [0.6, 1.7, -0.2], [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9]]


# ---- by factors ------------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    points=[
        (_V, _B, {"pattern": _CSC}),
        (_V, _BS, {"pattern": _CSC.T}),
        (_W, _B, {"pattern": _COO}),
        ([1.7], [[0.6, -0.4]], {"pattern": Pattern("coo", (np.array([0]), np.array([0])), (1, 1))}),
    ]
)
def sparse_solution(values, b, *, pattern, factor=None):
    """The solution of S z = b for a sparse matrix; contad.scipy.sparse.linalg.spsolve calls it.

        z = S^-1 b,     z_dot = S^-1 (b_dot - S_dot z),     b_bar = S^-T z_bar
        values_bar_k = -<b_bar[row_k], z[column_k]>

    Shapes:  S (n, n) with nnz values at the positions of `pattern`, values (nnz,), b (n,) or (n, k) -> z like b.
    Domain:  nonsingular S.
    Raises:  ValueError if S is not square or the lengths differ. If S is exactly singular it warns and returns nan.
    Cost:    one sparse LU factorisation; each derivative is a solution with the saved factors and O(nnz k).
    Ref:     Giles (2008), section 2.3.1, on the elements that are stored; Li (2005), SuperLU.

    >>> from contad.ops.sparse_patterns import Pattern
    >>> pattern = Pattern("csr", (np.array([1, 0]), np.array([0, 1, 2])), (2, 2))
    >>> sparse_solution(np.array([2.0, 4.0]), np.array([6.0, 8.0]), pattern=pattern)
    array([2., 3.])
    """
    check_lengths("spsolve", pattern.shape, b)
    known = None if factor is None else factor.solve(values, pattern, b)
    return made_factor(values, pattern).solve(values, pattern, b) if known is None else known


@sparse_solution.forward
def sparse_solution_forward(values, b, *, pattern, factor=None):
    if factor is None:
        factor = made_factor(plain(values), pattern)
    return sparse_solution(values, b, pattern=pattern, factor=factor), factor


@sparse_solution.vjp("values")
def sparse_solution_vjp_values(z, z_bar, values, b, saved, *, pattern, factor=None):
    return -sampled_product(sparse_back(values, z_bar, pattern=pattern, factor=saved), z, pattern=pattern)


@sparse_solution.vjp("b")
def sparse_solution_vjp_b(z, z_bar, values, b, saved, *, pattern, factor=None):
    return sparse_back(values, z_bar, pattern=pattern, factor=saved)


@sparse_solution.jvp
def sparse_solution_jvp(z, values_dot, b_dot, values, b, saved, *, pattern, factor=None):
    return sparse_solution(
        values, b_dot - sparse_product(values_dot, z, pattern=pattern), pattern=pattern, factor=saved
    )


def made_factor(values, pattern):
    """The factors of a matrix; warns like SciPy if it is singular."""
    made = SparseFactor(values, pattern, by_rows=True)
    if made.singular:
        from scipy.sparse.linalg import MatrixRankWarning

        warnings.warn("Matrix is exactly singular", MatrixRankWarning, stacklevel=2)
    return made


def sparse_back(values, z_bar, *, pattern, factor):
    """The cotangent of b."""
    c = sparse_solution(values, z_bar, pattern=pattern.T, factor=factor)
    if all_finite(c):
        return c
    ndim = np.ndim(z_bar)
    return np.reshape(mask(as_columns(z_bar, ndim), as_columns(c, ndim)), np.shape(c))


def check_lengths(name, shape, b):
    """Refuse a system whose matrix is not square or whose right-hand side has another length."""
    if shape[0] != shape[1]:
        raise ValueError(f"{name}: matrix must be square (has shape {tuple(shape)})")
    if np.ndim(b) not in (1, 2) or np.shape(b)[0] != shape[0]:
        raise ValueError(f"{name}: b must have {shape[0]} rows, got shape {np.shape(b)}")


# ---- by iterations ---------------------------------------------------------------------------------------------------
class Dense:
    """A dense matrix, which is its own array of values."""

    def __init__(self, transposed=False):
        self._transposed = transposed

    @property
    def T(self):
        """The transposed matrix, of the same values."""
        return Dense(not self._transposed)

    def matrix(self, values):
        """The form for SciPy's solvers."""
        return values.T if self._transposed else values

    def product(self, values, x):
        """The product with x."""
        return matmul(np.transpose(values) if self._transposed else values, x)

    def sample(self, x, y):
        """The elements of x y^T, in the order of the values."""
        left, right = (y, x) if self._transposed else (x, y)
        return left[:, None] * right

    def is_zero(self, values):
        """Whether the matrix is zero."""
        return not np.any(plain(values))


class Sparse:
    """A sparse matrix of a pattern."""

    def __init__(self, pattern):
        self._pattern = pattern

    @property
    def T(self):
        """The transposed matrix, of the same values."""
        return Sparse(self._pattern.T)

    def matrix(self, values):
        """The form for SciPy's solvers."""
        return self._pattern.matrix(values)

    def product(self, values, x):
        """The product with x."""
        return sparse_product(values, x, pattern=self._pattern)

    def sample(self, x, y):
        """The elements of x y^T, in the order of the values."""
        return sampled_product(x, y, pattern=self._pattern)

    def is_zero(self, values):
        """Whether the matrix is zero."""
        return not np.any(plain(values))


class Operator:
    """A constant SciPy LinearOperator, which has no values."""

    def __init__(self, operator):
        self._operator = operator

    @property
    def T(self):
        """The transposed operator, which calls rmatvec."""
        return Operator(self._operator.T)

    def matrix(self, values):
        """The form for SciPy's solvers."""
        return self._operator

    def product(self, values, x):
        """The derivative of the product with x along the values, which is zero because there are none."""
        return np.zeros(np.shape(x))

    def sample(self, x, y):
        """No element."""
        return np.zeros(0)

    def is_zero(self, values):
        """False, because only products could show it."""
        return False


def aside(a, b, k):
    """A step in no special direction, whose residual is as large as b.

    A residual r with r^T a r = 0 makes bicgstab break down at once, so continuing from there would not help.
    """
    from scipy.sparse.linalg import aslinearoperator

    step = np.cos(1.0 + k + 1.7 * np.arange(np.size(b)))
    size = np.linalg.norm(aslinearoperator(a).matvec(step))
    return step * (np.linalg.norm(b) / size) if size else step


class KrylovSolver:
    """A solver of scipy.sparse.linalg with its options; `T` solves the transposed system as accurately."""

    SYMMETRIC = ("cg", "minres")
    RESTARTS = 10

    def __init__(self, name, options, start=None, restarts=0):
        self.name = name
        self.options = options  # options of SciPy's function, including M and tolerances
        self.start = start  # options for the first solution only: x0, callback
        self.restarts = restarts  # how often the iteration continues after a breakdown

    def run(self, a, b):
        """(z, info), like SciPy."""
        import scipy.sparse.linalg

        solve = getattr(scipy.sparse.linalg, self.name)
        z, info = solve(a, b, **self.options, **(self.start or {}))
        for k in range(self.restarts):
            if info >= 0 or not np.all(np.isfinite(z)):
                break
            z, info = solve(a, b, **self.options, x0=z + aside(a, b, k))
        return z, info

    def of_derivatives(self, b, transposed):
        """The iteration for tangents or cotangents: atol refers to the size of b, so it becomes relative to it.

        It continues after a breakdown, even if the solution itself did not break down: bicgstab often breaks down if
        only one element of the right-hand side is nonzero, as for a row of a Jacobian.
        """
        options = dict(self.options)
        size = float(np.linalg.norm(plain(b)))
        if options.get("atol"):
            relative = options["atol"] / size if size else 0.0
            options["rtol"] = max(options.get("rtol", 1e-5), relative)
            options["atol"] = 0.0
        if transposed and options.get("M") is not None and self.name not in self.SYMMETRIC:
            options["M"] = options["M"].T
        return KrylovSolver(self.name, options, restarts=self.RESTARTS)


@array_rule(
    dtypes=float64_only("the tolerances of iterations are those of double precision"),
    points=[
        (_A, _B, {"form": Dense(), "iteration": KrylovSolver("gmres", {"rtol": 1e-13, "restart": 3})}),
        (_V, _B, {"form": Sparse(_CSC), "iteration": KrylovSolver("bicgstab", {"rtol": 1e-13})}),
        (_V, _B, {"form": Sparse(_CSC.T), "iteration": KrylovSolver("gmres", {"rtol": 1e-13})}),
        ([[1.7]], [0.6], {"form": Dense(), "iteration": KrylovSolver("cg", {"rtol": 1e-13})}),
    ]
)
def iterative_solution(values, b, *, form, iteration):
    """The solution of A z = b by a solver of scipy.sparse.linalg, and below it the solver's `info`.

        z = (A^-1 b, info),  z_dot = A^-1 (b_dot - A_dot z),     b_bar = A^-T z_bar,     values_bar = -b_bar z^T
        at the positions of the values; the derivatives are solutions by the same solver, with its relative tolerance

    Shapes:  A (n, n), of `form`, b (n,) -> z (n + 1,).
    Domain:  matrices for which the solver converges; otherwise (info is not 0) the derivative is nan. So it is at A =
             0, which solvers consider solved if b = 0. cg and minres assume that A is symmetric.
    Raises:  LinAlgError if the solution converges but the solution for a derivative does not; UnsupportedError if an
             operator has no rmatvec.
    Cost:    one more solution for each derivative; saves nothing. The matrix is used only in products.
    Ref:     Christianson (1994), on adjoints of iterations by the equation that is solved.

    >>> from contad.ops.sparse_systems import Dense, KrylovSolver
    >>> iterative_solution(np.diag([2.0, 4.0]), np.array([6.0, 8.0]), form=Dense(), iteration=KrylovSolver("cg", {}))
    array([3., 2., 0.])
    """
    z, info = iteration.run(form.matrix(values), b)
    return np.concatenate([z, [float(info)]])


@iterative_solution.vjp("values")
def iterative_solution_vjp_values(z, z_bar, values, b, *, form, iteration):
    return -form_sampled(form, iterate(z, values, z_bar[:-1], b, form, iteration, transposed=True), z[:-1])


@iterative_solution.vjp("b")
def iterative_solution_vjp_b(z, z_bar, values, b, *, form, iteration):
    return iterate(z, values, z_bar[:-1], b, form, iteration, transposed=True)


@iterative_solution.jvp
def iterative_solution_jvp(z, values_dot, b_dot, values, b, *, form, iteration):
    right = b_dot - form_product(form, values_dot, z[:-1])
    return np.append(iterate(z, values, right, b, form, iteration, transposed=False), 0.0)


def form_product(form, values, x):
    """The product of a matrix of a form."""
    return form.product(values, x)


def form_sampled(form, x, y):
    """The elements of x y^T at the positions of the values of a matrix of a form."""
    return form.sample(x, y)


def iterate(z, values, right, b, form, iteration, *, transposed):
    """The solution for a tangent or cotangent, which must converge; nan if z itself has not converged."""
    if float(plain(z[-1])) != 0.0 or form.is_zero(values):
        return np.where(np.all(plain(right) == 0.0), 0.0, np.full(np.shape(right), np.nan))
    solver = iteration.of_derivatives(b, transposed)
    symmetric = iteration.name in KrylovSolver.SYMMETRIC
    try:
        turned = form.T if transposed and not symmetric else form
        found = iterative_solution(values, right, form=turned, iteration=solver)
    except NotImplementedError as error:
        raise UnsupportedError(
            f"{iteration.name}: the derivative solves with the transposed of A (and of M), and the LinearOperator has "
            "no rmatvec; give it one, LinearOperator(shape, matvec=..., rmatvec=...)"
        ) from error
    info = float(plain(found[-1]))
    if info != 0.0 and all_finite(right):
        raise np.linalg.LinAlgError(
            f"{iteration.name}: the solution for the derivative did not converge (info={int(info)}); raise maxiter or "
            "rtol, or give a preconditioner M"
        )
    return found[:-1]
