"""`scipy.sparse.linalg` on variables: systems by sparse factors and by iterations, without dense matrices.

A matrix is a SciPy sparse array or matrix, or one of `contad.scipy.sparse`, whose values may be variables. The
right-hand side may be a variable. If nothing is a variable, SciPy's own functions are called.

>>> import contad
>>> import scipy.sparse
>>> S = scipy.sparse.csc_array(np.array([[2.0, 0.0], [1.0, 4.0]]))
>>> contad.grad(lambda b: np.sum(spsolve(S, b)))(np.ones(2))
array([0.375, 0.25 ])
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import sparse_linalg
from contad.ops.cotangents import plain
from contad.ops.linear_systems import conj_of
from contad.ops.products import as_array
from contad.ops.sparse_patterns import Pattern, SparseFactor, is_sparse, split
from contad.ops.sparse_systems import Dense, KrylovSolver, Operator, Sparse, iterative_solution, sparse_solution
from contad.scipy.sparse.sparse_arrays import SparseArray, SparseMatrix
from contad.variables.array import copy_parts, numbers_in
from contad.variables.complex_pair import is_complex
from contad.variables.number import Carrier, lower_to_recorded
from contad.variables.open_types import ArrayValue, Option, Options, Value

__all__ = ["bicgstab", "cg", "factorized", "gmres", "minres", "splu", "spsolve"]


def _has_variables(*args: Value) -> bool:
    return any(isinstance(x, SparseArray) or bool(numbers_in(x)) for x in args)


def _parts(name: str, a: SparseMatrix) -> tuple[ArrayValue, Pattern]:
    """(values, pattern) of a sparse matrix of either kind."""
    if isinstance(a, SparseArray):
        return a.data, a.pattern
    if not is_sparse(a):
        raise UnsupportedError(
            f"contad.scipy.sparse.linalg.{name}: A must be sparse on variables, got {type(a).__name__}; use "
            "np.linalg.solve"
        )
    values, pattern = split(name, a)
    return values, pattern


def _refuse_recording(name: str, *args: Value) -> None:
    """Refuse variables of a function that is being recorded, because factors and iterations depend on their values."""
    if any(isinstance(lower_to_recorded(x), Carrier) for x in args):
        raise UnsupportedError(
            f"contad.scipy.sparse.linalg.{name}: contad.record does not support it on recorded variables, because a "
            "program would keep its present result; use contad.scipy.sparse.linalg.spsolve, which a program repeats, "
            "or take the derivative without recording (contad.grad)"
        )


# ---- by factors ------------------------------------------------------------------------------------------------------
def spsolve(A: SparseMatrix, b: ArrayValue, permc_spec: Option = None, use_umfpack: bool = True) -> ArrayValue:
    """The solution of A z = b for a sparse matrix; see `contad.ops.sparse_systems.sparse_solution`.

        A z = b,     b_bar = A^-T z_bar,     A_bar = -b_bar z^T in the elements that are stored

    On variables the factors are SuperLU's with its default ordering, and the derivatives reuse them. For an exactly
    singular matrix the result is nan, with SciPy's warning. The solution for one column is a vector.

    Shapes:  A (n, n), b (n,) or (n, k) -> like b.
    Domain:  every nonsingular A, every b.
    Raises:  UnsupportedError for a dense A or a sparse b, ValueError for shapes that do not fit.
    Cost:    one factorisation, which the sweep reuses, O(nnz of the factors) for each column of b.
    Ref:     Giles (2008), section 2.3.1; Li (2005), SuperLU.

    >>> import scipy.sparse
    >>> spsolve(scipy.sparse.csc_array(np.array([[2.0, 0.0], [1.0, 4.0]])), np.array([4.0, 10.0]))
    array([2., 2.])
    """
    if not _has_variables(A, b):
        return sparse_linalg().spsolve(A, b, permc_spec, use_umfpack)
    if is_sparse(b) or isinstance(b, SparseArray):
        raise UnsupportedError("contad.scipy.sparse.linalg.spsolve: b must be dense on variables; use b.toarray()")
    b = as_array(b)
    values, pattern = _parts("spsolve", A)
    z = sparse_solution(values, b, pattern=pattern)
    return np.reshape(z, (-1,)) if np.ndim(z) == 2 and np.shape(z)[1] == 1 else z


class SparseLU:
    """The factors of a sparse matrix, for any number of solutions, with the attributes of SciPy's SuperLU.

    >>> import scipy.sparse
    >>> splu(scipy.sparse.csc_array(np.array([[2.0, 0.0], [1.0, 4.0]]))).solve(np.array([4.0, 10.0]))
    array([2., 2.])
    """

    def __init__(self, values: ArrayValue, pattern: Pattern, lu: Any) -> None:
        self._values = copy_parts(values)  # read-only copies, because the factors belong to the present values
        self._pattern = pattern
        self._lu = lu  # SciPy's, if the values are constants
        self._factor = SparseFactor(plain(self._values), pattern, lu)
        if self._factor.singular:
            raise RuntimeError("Factor is exactly singular")  # as SciPy's
        self.shape = pattern.shape

    def solve(self, rhs: ArrayValue, trans: str = "N") -> ArrayValue:
        """The solution of A z = rhs, of A^T z = rhs with trans "T", or of A^H z = rhs with "H"."""
        if not _has_variables(rhs, self._values):
            return self._lu.solve(rhs, trans)
        if trans not in ("N", "T", "H"):
            raise ValueError(f"contad.scipy.sparse.linalg.splu: trans must be N, T, or H, got {trans!r}")
        if trans == "H" and is_complex(self._values):
            return conj_of(self.solve(conj_of(rhs), "T"))
        pattern = self._pattern if trans == "N" else self._pattern.T
        return sparse_solution(self._values, as_array(rhs), pattern=pattern, factor=self._factor)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__dict__.get("_lu") is None:
            raise AttributeError(f"the factors of a sparse matrix of variables have no attribute {name!r}, but solve")
        return getattr(self._lu, name)


def splu(
    A: SparseMatrix,
    permc_spec: Option = None,
    diag_pivot_thresh: Option = None,
    relax: Option = None,
    panel_size: Option = None,
    options: Option = None,
) -> SparseLU:
    """The LU factors of a sparse matrix, constant or not: `splu(A).solve(b, trans)` takes variables.

        A[p, q] = L U,     A z = b,     b_bar = A^-T z_bar,     A_bar = -b_bar z^T in the elements that are stored

    Shapes:  A (n, n) -> factors, whose `solve` takes b (n,) or (n, k).
    Domain:  every nonsingular A.
    Raises:  RuntimeError if A is exactly singular, like SciPy; UnsupportedError for options on variables.
    Cost:    one factorisation for all solutions and their derivatives.
    Ref:     Giles (2008), section 2.3.1; Li (2005), SuperLU.

    >>> import scipy.sparse
    >>> splu(scipy.sparse.csc_array(np.array([[2.0, 0.0], [1.0, 4.0]]))).solve(np.array([4.0, 8.0]), "T")
    array([1., 2.])
    """
    more = {
        "permc_spec": permc_spec, "diag_pivot_thresh": diag_pivot_thresh, "relax": relax, "panel_size": panel_size,
        "options": options,
    }  # fmt: skip
    if isinstance(A, SparseArray):
        given = [name for name, x in more.items() if x is not None]
        if given:
            raise UnsupportedError(f"contad.scipy.sparse.linalg.splu: {given[0]}= is not supported on variables")
        _refuse_recording("splu", A.data)
        return SparseLU(A.data, A.pattern, None)
    lu = sparse_linalg().splu(A, **more)
    values, pattern = _parts("splu", A)
    return SparseLU(values, pattern, lu)


def factorized(A: SparseMatrix) -> Callable[[ArrayValue], ArrayValue]:
    """A function that solves A z = b for any b with the same factors.

        A z = b,     b_bar = A^-T z_bar,     A_bar = -b_bar z^T in the elements that are stored

    Shapes:  A (n, n) -> a function of b (n,) or (n, k).
    Domain:  every nonsingular A.
    Raises:  RuntimeError if A is exactly singular, like SciPy.
    Cost:    that of `splu`, whose solutions and derivatives it has.
    Ref:     Giles (2008), section 2.3.1.

    >>> import scipy.sparse
    >>> factorized(scipy.sparse.csc_array(np.array([[2.0, 0.0], [1.0, 4.0]])))(np.array([4.0, 10.0]))
    array([2., 2.])
    """
    if isinstance(A, SparseArray):
        _refuse_recording("factorized", A.data)
    return splu(A).solve


# ---- by iterations ---------------------------------------------------------------------------------------------------
def _iterate(name: str, A: SparseMatrix, b: ArrayValue, options: Options) -> tuple[ArrayValue, int]:
    if isinstance(options.get("M"), SparseArray) or numbers_in(options.get("M")):
        raise UnsupportedError(f"contad.scipy.sparse.linalg.{name}: M must be a constant; contad.value_of gives one")
    start = {key: options.pop(key) for key in ("x0", "callback", "callback_type") if key in options}
    _refuse_recording(name, A.data if isinstance(A, SparseArray) else A, b, start.get("x0"))
    if not _has_variables(A, b):
        x0 = start.get("x0")
        start["x0"] = x0 if not numbers_in(x0) else plain(x0)
        return KrylovSolver(name, options, start).run(A, b)
    if start.get("x0") is not None:
        start["x0"] = plain(start["x0"])  # the solution does not depend on the start of the iteration
    b = as_array(b)
    if np.ndim(b) not in (1, 2) or np.size(b) != np.shape(b)[0]:
        raise ValueError(f"contad.scipy.sparse.linalg.{name}: b must be a vector on variables, got shape {np.shape(b)}")
    values, form = _form(name, A)
    z = iterative_solution(values, np.reshape(b, (-1,)), form=form, iteration=KrylovSolver(name, options, start))
    return np.reshape(z[:-1], np.shape(b)), int(plain(z[-1]))


def _form(name: str, a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """The values of a matrix, and the function that rebuilds the matrix from them."""
    if isinstance(a, SparseArray) or is_sparse(a):
        values, pattern = _parts(name, a)
        return values, Sparse(pattern)
    if hasattr(a, "matvec"):
        if np.dtype(a.dtype or float).kind not in "fiub":
            raise UnsupportedError(
                f"contad.scipy.sparse.linalg.{name}: a LinearOperator must be real on variables, got dtype {a.dtype}"
            )
        return np.zeros(0), Operator(a)
    return as_array(a), Dense()


def cg(
    A: SparseMatrix, b: ArrayValue, x0: ArrayValue | None = None, *, rtol: float = 1e-5, atol: float = 0.0,
    maxiter: Option = None, M: Option = None, callback: Option = None,
) -> tuple[ArrayValue, int]:  # fmt: skip
    """(z, info): the solution of A z = b by conjugate gradients, for a symmetric positive definite A, and SciPy's
    status.

        A z = b,     b_bar = A^-T z_bar,     A_bar = -b_bar z^T in the elements that are stored

    A is sparse, dense or a LinearOperator, which is a constant. The derivative is another solution by the same
    iteration, with the same accuracy relative to its right-hand side. If info is not 0 the derivative is nan; if only
    the solution for the derivative does not converge, LinAlgError is raised. x0 has no derivative, because the solution
    does not depend on it.

    Shapes:  A (n, n), b (n,) -> (n,) and a number.
    Domain:  every symmetric positive definite A, every b.
    Raises:  ValueError if b is not a vector on variables; LinAlgError if only the derivative's solution fails;
             UnsupportedError if M is a variable.
    Cost:    the products of the iteration; the sweep runs it once more.
    Ref:     Christianson (1994), on adjoints of iterations by the equation that is solved.

    >>> z, info = cg(np.array([[2.0, 0.5], [0.5, 4.0]]), np.array([4.5, 5.0]))
    >>> z.round(6), info
    (array([2., 1.]), 0)
    """
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "M": M, "x0": x0, "callback": callback}
    return _iterate("cg", A, b, options)


def bicgstab(
    A: SparseMatrix, b: ArrayValue, x0: ArrayValue | None = None, *, rtol: float = 1e-5, atol: float = 0.0,
    maxiter: Option = None, M: Option = None, callback: Option = None,
) -> tuple[ArrayValue, int]:  # fmt: skip
    """(z, info): the solution of A z = b by stabilised biconjugate gradients, for any A; otherwise like `cg`.

        A z = b,     b_bar = A^-T z_bar,     A_bar = -b_bar z^T in the elements that are stored

    Reverse mode solves with the transpose, for which a LinearOperator needs rmatvec.

    Shapes:  A (n, n), b (n,) -> (n,) and a number.
    Domain:  every nonsingular A, every b.
    Raises:  ValueError if b is not a vector on variables; LinAlgError if only the derivative's solution fails;
             UnsupportedError if M is a variable.
    Cost:    the products of the iteration; the sweep runs it once more.
    Ref:     Christianson (1994), on adjoints of iterations by the equation that is solved.

    >>> z, info = bicgstab(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]), rtol=1e-12)
    >>> z.round(6), info
    (array([1., 2.]), 0)
    """
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "M": M, "x0": x0, "callback": callback}
    return _iterate("bicgstab", A, b, options)


def gmres(
    A: SparseMatrix, b: ArrayValue, x0: ArrayValue | None = None, *, rtol: float = 1e-5, atol: float = 0.0,
    restart: Option = None, maxiter: Option = None, M: Option = None, callback: Option = None,
    callback_type: Option = None,
) -> tuple[ArrayValue, int]:  # fmt: skip
    """(z, info): the solution of A z = b by generalised minimal residuals; otherwise like `bicgstab`.

        A z = b,     b_bar = A^-T z_bar,     A_bar = -b_bar z^T in the elements that are stored

    Shapes:  A (n, n), b (n,) -> (n,) and a number.
    Domain:  every nonsingular A, every b.
    Raises:  ValueError if b is not a vector on variables; LinAlgError if only the derivative's solution fails;
             UnsupportedError if M is a variable.
    Cost:    the products of the iteration; the sweep runs it once more.
    Ref:     Christianson (1994), on adjoints of iterations by the equation that is solved.

    >>> z, info = gmres(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]), rtol=1e-12)
    >>> z.round(6), info
    (array([1., 2.]), 0)
    """
    options = {"rtol": rtol, "atol": atol, "restart": restart, "maxiter": maxiter, "M": M}
    return _iterate("gmres", A, b, {**options, "x0": x0, "callback": callback, "callback_type": callback_type})


def minres(
    A: SparseMatrix, b: ArrayValue, x0: ArrayValue | None = None, *, rtol: float = 1e-5, shift: float = 0.0,
    maxiter: Option = None, M: Option = None, callback: Option = None, show: bool = False, check: bool = False,
) -> tuple[ArrayValue, int]:  # fmt: skip
    """(z, info): the solution of A z = b by minimal residuals, for a symmetric, possibly indefinite A; otherwise like
    `cg`.

        A z = b,     b_bar = A^-T z_bar,     A_bar = -b_bar z^T in the elements that are stored

    Shapes:  A (n, n), b (n,) -> (n,) and a number.
    Domain:  every nonsingular symmetric A, every b.
    Raises:  ValueError if b is not a vector on variables; LinAlgError if only the derivative's solution fails;
             UnsupportedError if M is a variable.
    Cost:    the products of the iteration; the sweep runs it once more.
    Ref:     Christianson (1994), on adjoints of iterations by the equation that is solved.

    >>> z, info = minres(np.array([[2.0, 0.5], [0.5, -4.0]]), np.array([3.5, 5.0]), rtol=1e-12)
    >>> z.round(6), info
    (array([ 2., -1.]), 0)
    """
    options = {"rtol": rtol, "shift": shift, "maxiter": maxiter, "M": M, "show": show, "check": check}
    return _iterate("minres", A, b, {**options, "x0": x0, "callback": callback})
