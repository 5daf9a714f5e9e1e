"""`scipy.linalg` on variables: the names and arguments of SciPy, and SciPy's own functions where nothing is a variable.

NumPy's functions find the rules of contad by themselves, SciPy's cannot: so a function that is differentiated calls
these. Matrices are real. Arguments that permit SciPy something (`overwrite_a`, `lapack_driver`) do nothing on
variables, and `check_finite` does what it does there. What has no derivative is refused by name.

>>> import contad
>>> S = np.array([[4.0, 2.0], [2.0, 10.0]])
>>> gradient = contad.grad(lambda s: np.sum(cho_solve(cho_factor(S), s)))
>>> gradient(np.ones(2)).round(12)
array([0.22222222, 0.05555556])
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import linear_systems, matrix_functions, norms, orthogonal_factors, spectra, triangular_factors
from contad.ops._scipy import linalg
from contad.ops.banded_systems import banded_solution, moved
from contad.ops.cotangents import all_finite
from contad.ops.factors import order_of
from contad.ops.linear_systems import check_square, in_c_order, transposed_of
from contad.ops.matrix_functions import lu_factors, order_in, unit_lower
from contad.ops.products import as_array, matmul
from contad.ops.triangular_factors import cholesky_factor, mirrored, upper_cholesky_factor
from contad.variables.array import numbers_in

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "expm_frechet",
    "inv",
    "logm",
    "lu",
    "lu_factor",
    "lu_solve",
    "norm",
    "pinv",
    "polar",
    "qr",
    "solve",
    "solve_banded",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "toeplitz",
]

Function = Callable[..., Any]
_OWN = {"overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_c", "lapack_driver", "method", "check_finite"}


def _mirror(implementation: Function) -> Function:
    """SciPy's function of that name where no argument holds a variable."""
    name = implementation.__name__

    @functools.wraps(implementation)
    def call(*args: Any, **options: Any) -> Any:
        if not any(map(numbers_in, args)) and not any(map(numbers_in, options.values())):
            return getattr(linalg(), name)(*args, **options)
        return implementation(*args, **options)

    return call


def _matrices(name: str, options: dict[str, Any], *arrays: Any) -> list[Any]:
    """The arguments as arrays, after a look at the other options: what only SciPy's functions know is refused."""
    unknown = [key for key in options if key not in _OWN]
    if unknown:
        raise UnsupportedError(f"contad.scipy.linalg.{name}: {unknown[0]}= is not supported on variables")
    found = [as_array(x) for x in arrays]
    if options.get("check_finite", True) and not all(map(all_finite, found)):
        raise ValueError(f"contad.scipy.linalg.{name}: array must not contain infs or NaNs")
    return found


def _is_transposed(trans: Any) -> bool:
    """Whether SciPy's `trans` asks for the transposed matrix: 1 or "T"; 2 or "C", which is the same for real ones."""
    return trans in (1, "T", 2, "C")


# ---- systems ---------------------------------------------------------------------------------------------------------
_GENERAL = (None, "gen", "general", "banded", "tridiagonal")
_SYMMETRIC = ("sym", "symmetric", "her", "hermitian")
_POSITIVE = ("pos", "positive definite")


@_mirror
def solve(
    a: Any, b: Any, lower: bool = False, *, assume_a: str | None = None, transposed: bool = False, **options: Any
) -> Any:
    """The solution of a z = b (of a^T z = b where `transposed`), with the derivative of `numpy.linalg.solve`.

    Of a matrix that is assumed to be symmetric or positive definite one triangle is read, the lower one if `lower`, and
    all of the derivative is in that triangle. A triangular or diagonal one has it in what is read of it.

    >>> solve(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]))
    array([1., 2.])
    """
    a, b = _matrices("solve", options, a, b)
    if assume_a in _GENERAL:
        return linear_systems.solve(a, b, transposed=bool(transposed))
    if assume_a in _SYMMETRIC:
        return linear_systems.solve(mirrored(a, not lower), b)
    if assume_a in _POSITIVE:
        return _from_cholesky(_cholesky(a, lower), lower, b)
    if assume_a in ("upper triangular", "lower triangular"):
        return triangular_factors.solve_triangular(a, b, trans=int(transposed), lower=assume_a == "lower triangular")
    if assume_a == "diagonal":
        d = np.diagonal(a)
        return b / (d if b.ndim == 1 else d[:, None])
    raise ValueError(f"contad.scipy.linalg.solve: {assume_a!r} is not a recognized matrix structure for assume_a")


@_mirror
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **options: Any
) -> Any:
    """The solution of a z = b, where one triangle of a is read; trans=1 or "T" solves a^T z = b.

    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([4.0, 10.0]), lower=True)
    array([2., 2.])
    """
    a, b = _matrices("solve_triangular", options, a, b)
    return triangular_factors.solve_triangular(
        a, b, trans=_is_transposed(trans), lower=bool(lower), unit_diagonal=bool(unit_diagonal)
    )


@_mirror
def solve_banded(l_and_u: Any, ab: Any, b: Any, **options: Any) -> Any:
    """The solution of a z = b for a banded matrix with that many diagonals below and above the main one.

    Cost: O(n) for a band of fixed width, the reverse too; see `contad.ops.banded_systems.banded_solution`.

    >>> solve_banded((0, 1), np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([4.0, 8.0]))
    array([1., 2.])
    """
    ab, b = _matrices("solve_banded", options, ab, b)
    lower, upper = map(int, l_and_u)
    return banded_solution(ab, b, lower=lower, upper=upper)


@_mirror
def solveh_banded(ab: Any, b: Any, lower: bool = False, **options: Any) -> Any:
    """The solution of a z = b for a positive definite banded matrix, of which one half of the band is given.

    On variables the whole band is solved, which takes about twice the time.

    >>> solveh_banded(np.array([[4.0, 9.0], [2.0, 0.0]]), np.array([8.0, 20.0]), lower=True)
    array([1., 2.])
    """
    ab, b = _matrices("solveh_banded", options, ab, b)
    width = len(ab) - 1
    half = [ab[d] for d in range(width + 1)]
    if lower:  # row d: the diagonal -d
        above = [moved(half[d], -d) for d in range(width, 0, -1)]
        band = [*above, *half]
    else:  # row d: the diagonal width - d
        below = [moved(half[width - d], d) for d in range(1, width + 1)]
        band = [*half, *below]
    return banded_solution(np.stack(band), b, lower=width, upper=width)


# ---- factors ---------------------------------------------------------------------------------------------------------
def _cholesky(a: Any, lower: bool) -> Any:
    check_square("cholesky", a)
    return cholesky_factor(a) if lower else upper_cholesky_factor(a)


def _from_cholesky(c: Any, lower: bool, b: Any) -> Any:
    half = triangular_factors.solve_triangular(c, b, trans=0 if lower else 1, lower=bool(lower))
    return triangular_factors.solve_triangular(c, half, trans=1 if lower else 0, lower=bool(lower))


@_mirror
def cholesky(a: Any, lower: bool = False, **options: Any) -> Any:
    """The Cholesky factor of a positive definite matrix, the upper one unless `lower`: SciPy's default, not NumPy's.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 10.0]]))
    array([[2., 1.],
           [0., 3.]])
    """
    (a,) = _matrices("cholesky", options, a)
    return in_c_order(_cholesky(a, lower))


@_mirror
def cho_factor(a: Any, lower: bool = False, **options: Any) -> tuple[Any, bool]:
    """The Cholesky factor for `cho_solve`; as SciPy's, the other triangle of the matrix holds that of a.

    >>> cho_factor(np.array([[4.0, 2.0], [2.0, 10.0]]), lower=True)[1]
    True
    """
    (a,) = _matrices("cho_factor", options, a)
    rest = np.triu(a, 1) if lower else np.tril(a, -1)
    return in_c_order(_cholesky(a, lower)) + rest, lower


@_mirror
def cho_solve(c_and_lower: tuple[Any, bool], b: Any, **options: Any) -> Any:
    """The solution of a z = b from the Cholesky factor of a.

    >>> cho_solve(cho_factor(np.array([[4.0, 2.0], [2.0, 10.0]])), np.array([8.0, 22.0])).round(12)
    array([1., 2.])
    """
    c, lower = c_and_lower
    c, b = _matrices("cho_solve", options, c, b)
    return _from_cholesky(c, lower, b)


@_mirror
def lu_factor(a: Any, **options: Any) -> tuple[Any, Any]:
    """The triangular factors of a square matrix in one, and the exchanges of rows, for `lu_solve`.

    >>> lu_factor(np.array([[2.0, 1.0], [4.0, 6.0]]))[0]
    array([[ 4. ,  6. ],
           [ 0.5, -2. ]])
    """
    (a,) = _matrices("lu_factor", options, a)
    z = lu_factors(a)
    return z[:-1], _exchanges(order_in(z))


def _exchanges(order: Any) -> Any:
    """The exchanges of rows, as LAPACK reports them, that bring rows into an order."""
    now, found = list(range(len(order))), []
    for k, wanted in enumerate(order.tolist()):
        other = now.index(wanted)
        now[k], now[other] = now[other], now[k]
        found.append(other)
    return np.array(found, dtype=np.int32)


@_mirror
def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: Any = 0, **options: Any) -> Any:
    """The solution of a z = b (of a^T z = b where trans is 1 or "T") from the factors of a.

    >>> lu_solve(lu_factor(np.array([[2.0, 1.0], [4.0, 6.0]])), np.array([4.0, 16.0]))
    array([1., 2.])
    """
    factors, pivots = lu_and_piv
    factors, b = _matrices("lu_solve", options, factors, b)
    order = order_of(np.asarray(pivots))
    solved = triangular_factors.solve_triangular
    if _is_transposed(trans):
        half = solved(factors, b, trans=1)
        return solved(factors, half, trans=1, lower=True, unit_diagonal=True)[np.argsort(order)]
    half = solved(factors, b[order], lower=True, unit_diagonal=True)
    return solved(factors, half)


@_mirror
def lu(a: Any, permute_l: bool = False, p_indices: bool = False, **options: Any) -> tuple[Any, ...]:
    """p, l and u of a square matrix a = p l u; the permutation is a constant.

    >>> lu(np.array([[2.0, 1.0], [4.0, 6.0]]))[2]
    array([[ 4.,  6.],
           [ 0., -2.]])
    """
    (a,) = _matrices("lu", options, a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise UnsupportedError(f"contad.scipy.linalg.lu: a must be a square matrix on variables, got shape {a.shape}")
    z = lu_factors(a)
    places = np.argsort(order_in(z))
    low, up = unit_lower(z[:-1]), np.triu(z[:-1])
    if permute_l:
        return low[places], up
    return places if p_indices else np.eye(len(places))[places], low, up


@_mirror
def qr(a: Any, mode: str = "full", pivoting: bool = False, **options: Any) -> Any:
    """The factors of a = q r; modes "full" (for matrices with no more rows than columns), "economic" and "r".

    >>> abs(qr(np.array([[3.0], [4.0]]), mode="r")[0])
    array([[5.],
           [0.]])
    """
    (a,) = _matrices("qr", options, a)
    modes = {"full": "complete", "economic": "reduced", "r": "r"}
    if pivoting or mode not in modes or a.ndim != 2:
        raise UnsupportedError(
            "contad.scipy.linalg.qr: on variables it takes one matrix, modes 'full', 'economic', 'r'"
        )
    m, n = a.shape
    if mode != "r":
        return tuple(orthogonal_factors.qr(a, modes[mode]))
    r = orthogonal_factors.qr(a, "r")
    return (np.concatenate([r, np.zeros((m - n, n))]) if m > n else r,)


# ---- spectra ---------------------------------------------------------------------------------------------------------
@_mirror
def eigh(
    a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, type: int = 1, **options: Any
) -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix, or of a v = w b v with a positive definite b (type 1).

    With b = l l^T they are those of l^-1 a l^-T, and v = l^-T y; v^T b v = 1. Vectors of equal eigenvalues have the
    derivative nan.

    >>> eigh(np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 4.0]]), eigvals_only=True)
    array([0.5, 3. ])
    """
    if type != 1:
        raise UnsupportedError(f"contad.scipy.linalg.eigh: type={type} is not supported on variables; use type=1")
    (a,) = _matrices("eigh", options, a)
    if b is None:
        w, v = spectra.eigh(a, "L" if lower else "U")
        return w if eigvals_only else (w, v)
    (b,) = _matrices("eigh", options, b)
    c = cholesky_factor(b if lower else in_c_order(transposed_of(b)))
    solved = triangular_factors.solve_triangular
    half = solved(c, mirrored(a, not lower), lower=True)
    w, y = spectra.eigh(solved(c, transposed_of(half), lower=True))
    return w if eigvals_only else (w, solved(c, y, trans=1, lower=True))


@_mirror
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, type: int = 1, **options: Any) -> Any:
    """The eigenvalues that `eigh` gives.

    >>> eigvalsh(np.array([[3.0, 0.0], [0.0, 2.0]]))
    array([2., 3.])
    """
    return eigh(a, b, lower=lower, eigvals_only=True, type=type, **options)


@_mirror
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, **options: Any) -> Any:
    """Singular values and vectors, as `numpy.linalg.svd`.

    >>> svd(np.array([[3.0, 0.0], [0.0, 2.0]]), compute_uv=False)
    array([3., 2.])
    """
    (a,) = _matrices("svd", options, a)
    found = spectra.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found


@_mirror
def svdvals(a: Any, **options: Any) -> Any:
    """Singular values, from the largest.

    >>> svdvals(np.array([[3.0, 0.0], [0.0, 2.0]]))
    array([3., 2.])
    """
    (a,) = _matrices("svdvals", options, a)
    return spectra.svdvals(a)


@_mirror
def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """u and p of a = u p (a = p u on the side "left"), u with orthonormal columns or rows, p symmetric.

    >>> polar(np.array([[0.0, -2.0], [3.0, 0.0]]))[1].round(12) + 0.0
    array([[3., 0.],
           [0., 2.]])
    """
    if side not in ("right", "left"):
        raise ValueError("contad.scipy.linalg.polar: `side` must be either 'right' or 'left'")
    (a,) = _matrices("polar", {}, a)
    # p p = a^T a: the vectors of singular values that are equal have no derivative, but their product has
    p = matrix_functions.sqrtm(matmul(transposed_of(a), a) if side == "right" else matmul(a, transposed_of(a)))
    if side == "right":
        return transposed_of(linear_systems.solve(p, transposed_of(a))), p
    return linear_systems.solve(p, a), p


# ---- functions and equations -----------------------------------------------------------------------------------------
@_mirror
def inv(a: Any, **options: Any) -> Any:
    """The inverse of a matrix.

    >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    (a,) = _matrices("inv", options, a)
    return linear_systems.inv(a)


@_mirror
def pinv(a: Any, *, rtol: Any = None, **options: Any) -> Any:
    """The pseudoinverse of Moore and Penrose.

    >>> pinv(np.array([[2.0], [0.0]]))
    array([[0.5, 0. ]])
    """
    (a,) = _matrices("pinv", options, a)
    bound = max(np.shape(a)) * np.finfo(float).eps if rtol is None else float(rtol)
    return orthogonal_factors.pseudoinverse(a, rcond=bound)


@_mirror
def det(a: Any, **options: Any) -> Any:
    """The determinant of a matrix.

    >>> det(np.array([[2.0, 1.0], [0.0, 4.0]]))
    np.float64(8.0)
    """
    (a,) = _matrices("det", options, a)
    return linear_systems.det(a)


@_mirror
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """The norm of a vector or a matrix, as `numpy.linalg.norm`.

    >>> norm(np.array([3.0, 4.0]))
    5.0
    """
    (a,) = _matrices("norm", options, a)
    return norms.norm(a, ord, axis, keepdims)


@_mirror
def expm(A: Any) -> Any:
    """The exponential of a square matrix, or of each in a stack.

    >>> expm(np.array([[0.0, 2.0], [0.0, 0.0]]))
    array([[1., 2.],
           [0., 1.]])
    """
    return matrix_functions.expm(*_matrices("expm", {}, A))


@_mirror
def expm_frechet(
    A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """The exponential of a and its derivative along e.

    >>> expm_frechet(np.zeros((1, 1)), np.array([[3.0]]), compute_expm=False)
    array([[3.]])
    """
    a, e = _matrices("expm_frechet", {"check_finite": check_finite}, A, E)
    along = matrix_functions.exponential_along(a, e)
    return (matrix_functions.expm(a), along) if compute_expm else along


@_mirror
def logm(A: Any) -> Any:
    """The principal logarithm of a square matrix; one that is complex is refused.

    >>> logm(np.eye(2)) + 0.0
    array([[0., 0.],
           [0., 0.]])
    """
    return matrix_functions.logm(*_matrices("logm", {}, A))


@_mirror
def sqrtm(A: Any) -> Any:
    """The principal square root of a square matrix; one that is complex is refused.

    >>> sqrtm(np.array([[4.0, 5.0], [0.0, 9.0]]))
    array([[2., 1.],
           [0., 3.]])
    """
    return matrix_functions.sqrtm(*_matrices("sqrtm", {}, A))


@_mirror
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The solution of a z + z b = q.

    >>> solve_sylvester(np.array([[2.0]]), np.array([[3.0]]), np.array([[10.0]]))
    array([[2.]])
    """
    return matrix_functions.solve_sylvester(*_matrices("solve_sylvester", {}, a, b, q))


@_mirror
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """The solution of a z + z a^T = q.

    >>> solve_continuous_lyapunov(np.array([[2.0]]), np.array([[8.0]]))
    array([[2.]])
    """
    a, q = _matrices("solve_continuous_lyapunov", {}, a, q)
    return matrix_functions.solve_sylvester(a, transposed_of(a), q)


@_mirror
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """The solution of a z a^T - z + q = 0, by the equation in continuous time that the bilinear map makes of it.

    >>> solve_discrete_lyapunov(np.array([[0.5]]), np.array([[3.0]]))
    array([[4.]])
    """
    a, q = _matrices("solve_discrete_lyapunov", {}, a, q)
    identity = np.eye(np.shape(a)[-1])
    shifted = transposed_of(a) + identity
    b = transposed_of(linear_systems.solve(transposed_of(shifted), transposed_of(transposed_of(a) - identity)))
    half = linear_systems.solve(transposed_of(shifted), q)
    c = 2.0 * transposed_of(linear_systems.solve(transposed_of(shifted), transposed_of(half)))
    return matrix_functions.solve_sylvester(transposed_of(b), b, -c)


# ---- matrices of a form ----------------------------------------------------------------------------------------------
@_mirror
def block_diag(*arrays: Any) -> Any:
    """The matrix with these matrices on its diagonal; a vector is a row.

    >>> block_diag(np.eye(1), np.array([2.0, 3.0]))
    array([[1., 0., 0.],
           [0., 2., 3.]])
    """
    blocks = [np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x for x in map(as_array, arrays)]
    columns = sum(np.shape(x)[1] for x in blocks)
    rows, before = [], 0
    for x in blocks:
        m, n = np.shape(x)
        rows.append(np.concatenate([np.zeros((m, before)), x, np.zeros((m, columns - before - n))], axis=1))
        before += n
    return np.concatenate(rows)


@_mirror
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with first column c and first row r (c if there is none) and constant diagonals.

    >>> toeplitz(np.array([1.0, 2.0]), np.array([1.0, 5.0, 6.0]))
    array([[1., 5., 6.],
           [2., 1., 5.]])
    """
    c = np.reshape(as_array(c), (-1,))
    r = c if r is None else np.reshape(as_array(r), (-1,))
    m, n = np.size(c), np.size(r)
    diagonals = np.concatenate([c[::-1], r[1:]])
    return diagonals[m - 1 - np.arange(m)[:, None] + np.arange(n)]
