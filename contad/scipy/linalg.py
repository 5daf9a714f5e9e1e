"""`scipy.linalg` on variables: SciPy's names and arguments, and SciPy's own functions if nothing is a variable.

NumPy's functions dispatch to contad's rules, but SciPy's cannot, so call these functions in code to differentiate.
Arguments may be passed by name or by position. Complex matrices are taken where SciPy takes them. Arguments that only
let SciPy choose how it computes (`overwrite_a`, `lapack_driver`) have no effect on variables, and `check_finite` works
as in SciPy. Variables may hold stacks of matrices, in leading axes, with every version of SciPy. `block_diag` does not
accept stacks, nor do functions whose matrix is given by vectors. Functions without a derivative are refused by name.

>>> import contad
>>> S = np.array([[4.0, 2.0], [2.0, 10.0]])
>>> gradient = contad.grad(lambda s: np.sum(cho_solve(cho_factor(S), s)))
>>> gradient(np.ones(2)).round(12)
array([0.22222222, 0.05555556])
"""

from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import _scipy, determinants, linear_systems, norms, orthogonal_factors, triangular_factors
from contad.ops.cholesky_systems import cholesky_solution, filled_cholesky_factor
from contad.ops.factors import order_of
from contad.ops.linear_systems import check_square, conj_of, in_c_order
from contad.ops.matrix_functions import lu_factors, order_in
from contad.ops.triangular_factors import cholesky_factor, symmetrise, upper_cholesky_factor
from contad.scipy.eigenvalues import (
    eig,
    eigh,
    eigh_tridiagonal,
    eigvals,
    eigvalsh,
    eigvalsh_tridiagonal,
    null_space,
    orth,
    polar,
    rank_above,
    schur,
    subspace_angles,
    svd,
    svdvals,
)
from contad.scipy.functions_of_matrices import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    fractional_matrix_power,
    logm,
    sinhm,
    sinm,
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_sylvester,
    sqrtm,
    tanhm,
    tanm,
)
from contad.scipy.mirroring import VECTORS, inside_njit, matrices, mirror, mirror_of, over_stacks, refuse_options
from contad.scipy.reduced_matrices import (
    hessenberg,
    ldl,
    lstsq,
    orthogonal_procrustes,
    pinvh,
    rq,
    solve_discrete_are,
)
from contad.scipy.riccati_equations import solve_continuous_are
from contad.scipy.structured_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    fiedler,
    hankel,
    khatri_rao,
    leslie,
    matmul_toeplitz,
    solve_banded,
    solve_circulant,
    solve_toeplitz,
    solveh_banded,
    toeplitz,
)
from contad.variables.complex_pair import is_complex
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Option, Value

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "convolution_matrix", "coshm",
    "cosm", "det", "eig", "eigh", "eigh_tridiagonal", "eigvals", "eigvalsh", "eigvalsh_tridiagonal", "expm",
    "expm_frechet", "fiedler", "fractional_matrix_power", "hankel", "hessenberg", "inv", "khatri_rao", "ldl",
    "leslie", "logm", "lstsq", "lu", "lu_factor", "lu_solve", "matmul_toeplitz", "norm", "null_space", "orth",
    "orthogonal_procrustes", "pinv", "pinvh", "polar", "qr", "rq", "schur", "sinhm", "sinm", "solve",
    "solve_banded", "solve_circulant", "solve_continuous_are", "solve_continuous_lyapunov", "solve_discrete_are",
    "solve_discrete_lyapunov", "solve_sylvester", "solve_toeplitz", "solve_triangular", "solveh_banded", "sqrtm",
    "subspace_angles", "svd", "svdvals", "tanhm", "tanm", "toeplitz",
]  # fmt: skip


def _is_transposed(trans: Option) -> bool:
    """Whether SciPy's `trans` means the transpose: 1 or "T", and 2 or "C", which is the same for real matrices."""
    return trans in (1, "T", 2, "C")


def _is_conjugate(trans: Option, a: ArrayValue) -> bool:
    """Whether `trans` means the conjugate of a complex matrix."""
    return trans in (2, "C") and is_complex(a)


def _symmetric(a: ArrayValue, lower: bool, assume_a: str) -> ArrayValue:
    """The symmetric or Hermitian matrix in one triangle of a."""
    if assume_a not in ("sym", "symmetric") or not is_complex(a):
        return symmetrise(a, not lower)
    half = np.tril(a) if lower else np.triu(a)
    return half + np.swapaxes(np.tril(half, -1) if lower else np.triu(half, 1), -1, -2)


# ---- systems ---------------------------------------------------------------------------------------------------------
_GENERAL = (None, "gen", "general", "banded")
_SYMMETRIC = ("sym", "symmetric", "her", "hermitian")
_POSITIVE = ("pos", "positive definite")


@inside_njit({"nn n/nk": "np.linalg.solve(a, b)"})
@mirror
def solve(
    a: ArrayValue, b: ArrayValue, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: str | None = None, transposed: bool = False,
) -> ArrayValue:  # fmt: skip
    """The solution of a z = b (of a^T z = b if `transposed`), with the derivative of `numpy.linalg.solve`.

        z = a^-1 b,     b_bar = a^-T z_bar,     a_bar = -b_bar z^T

    If a matrix is assumed to be symmetric or positive definite, one triangle is read (the lower one if `lower`) and
    holds the whole derivative. For triangular, tridiagonal and diagonal matrices, the elements that are read hold it.

    Shapes:  a (..., n, n), b (n,) or (..., n, k) -> like b.
    Domain:  every nonsingular a of the assumed kind, every b.
    Raises:  LinAlgError if a is singular, ValueError for shapes that do not fit and values that are not finite.
    Cost:    O(n^3 + n^2 k) for k columns of b; the sweep uses the factors again, O(n^2 k), and so does slogdet(a).
    Ref:     Giles (2008), section 2.3.1.

    >>> solve(np.array([[2.0, 1.0], [0.5, 4.0]]), np.array([3.0, 8.25]))
    array([0.5, 2. ])
    """
    a, b = matrices("solve", check_finite, a, b)
    if assume_a == "tridiagonal":
        a = np.triu(np.tril(a, 1), -1)
        return linear_systems.solve(a, b, transposed=bool(transposed))
    if assume_a in _GENERAL:
        return linear_systems.solve(a, b, transposed=bool(transposed))
    if assume_a in _SYMMETRIC:
        return linear_systems.solve(_symmetric(a, lower, assume_a), b)
    if assume_a in _POSITIVE:
        return cholesky_solution(_cholesky(a, lower), b, lower=bool(lower))
    if assume_a in ("upper triangular", "lower triangular"):
        lower = assume_a == "lower triangular"
        return triangular_factors.solve_triangular(a, b, transposed=bool(transposed), lower=lower)
    if assume_a == "diagonal":
        d = np.diagonal(a, axis1=-2, axis2=-1)
        return b / (d if b.ndim == 1 else d[..., None])
    raise ValueError(f"contad.scipy.linalg.solve: {assume_a!r} is not a recognized matrix structure for assume_a")


@mirror
def solve_triangular(
    a: ArrayValue, b: ArrayValue, trans: Option = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> ArrayValue:  # fmt: skip
    """The solution of a z = b, where one triangle of a is read; trans=1 or "T" solves a^T z = b, 2 or "C" a^H z = b.

        z = a^-1 b,     b_bar = a^-T z_bar,     a_bar = -b_bar z^T in the triangle that is read, 0 in the other

    Shapes:  a (..., n, n), b (n,) or (..., n, k) -> like b.
    Domain:  every a without zeros on the diagonal, every b.
    Raises:  LinAlgError if a is singular, ValueError for shapes that do not fit and values that are not finite.
    Cost:    O(n^2 k) for k columns of b, twice that in the sweep.
    Ref:     Giles (2008), section 2.3.1.

    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([4.0, 10.0]), lower=True)
    array([2., 2.])
    """
    solved = triangular_factors.solve_triangular
    if _is_conjugate(trans, a):
        return conj_of(solve_triangular(a, conj_of(b), "T", lower, unit_diagonal, check_finite=check_finite))
    options = {"transposed": _is_transposed(trans), "lower": bool(lower), "unit_diagonal": bool(unit_diagonal)}
    z = solved.attempt(a, b, **options)
    if z is None:
        a, b = matrices("solve_triangular", check_finite, a, b)
        z = solved(a, b, **options)
    return z


# ---- factors ---------------------------------------------------------------------------------------------------------
def _cholesky(a: ArrayValue, lower: bool) -> ArrayValue:
    check_square("cholesky", a)
    return cholesky_factor(a) if lower else upper_cholesky_factor(a)


@inside_njit(
    {"nn": "np.linalg.cholesky(a.T).T", "nn 0": "np.linalg.cholesky(a) if lower else np.linalg.cholesky(a.T).T"}
)
@mirror
def cholesky(a: ArrayValue, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> ArrayValue:
    """The Cholesky factor of a positive definite matrix, the upper one unless `lower`: SciPy's default, not NumPy's.

        a = z z^T for the lower one,     a_bar = z^-T P(z^T z_bar) z^-1,     P: the lower triangle, diagonal halved;
        the triangle that is read has the sum of both, the other has zeros

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  every positive definite a.
    Raises:  LinAlgError if a is not positive definite, ValueError if it is not square or not finite.
    Cost:    n^3 / 3, twice that in the sweep, by blocks.
    Ref:     Giles (2008), section 2.3.2; Murray (2016).

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 10.0]]))
    array([[2., 1.],
           [0., 3.]])
    """
    z = cholesky_factor.attempt(a) if lower else None
    if z is None:
        (a,) = matrices("cholesky", check_finite, a)
        z = in_c_order(_cholesky(a, lower))
    return z


class _Filled:
    """SciPy's function for plain numbers; from SciPy 1.18 on, its other triangle is 0 if nothing is overwritten."""

    @staticmethod
    def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
        """Fill in the other triangle of a."""
        c, flags = _scipy.linalg().cho_factor(a, lower, False, check_finite)
        is_lower = np.tri(c.shape[-1], dtype=bool)
        return np.where(is_lower if lower else is_lower.T, c, a), flags if np.ndim(flags) else lower


@mirror_of(lambda: _Filled)
def cho_factor(
    a: ArrayValue, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[ArrayValue, bool]:
    """The Cholesky factor for `cho_solve`; the other triangle holds that of a, as in SciPy before 1.18.

        a = c c^T for a lower factor c, a = c^T c for an upper one

    Shapes:  a (..., n, n) -> (..., n, n), and `lower`.
    Domain:  every positive definite a.
    Raises:  LinAlgError if a is not positive definite, ValueError if it is not square or not finite.
    Cost:    that of `cholesky`, whose derivative it has; the other triangle is passed through.
    Ref:     Giles (2008), section 2.3.2.

    >>> cho_factor(np.array([[4.0, 2.0], [2.0, 10.0]]), lower=True)
    (array([[2., 2.],
           [1., 3.]]), True)
    """
    z = filled_cholesky_factor.attempt(a, lower=bool(lower))
    if z is None:
        (a,) = matrices("cho_factor", check_finite, a)
        z = filled_cholesky_factor(a, lower=bool(lower))
    return z, lower


@mirror
def cho_solve(
    c_and_lower: tuple[ArrayValue, bool | np.ndarray], b: ArrayValue, overwrite_b: bool = False,
    check_finite: bool = True,
) -> ArrayValue:  # fmt: skip
    """The solution of a z = b from the Cholesky factor of a.

        c h = b, c^T z = h,     u = c^-1 z_bar,     b_bar = c^-T u,     c_bar = -(z u^T + b_bar h^T) in the triangle,
        for a lower factor c

    Shapes:  c (..., n, n), b (n,) or (..., n, k) -> like b.
    Domain:  every c without zeros on the diagonal, every b.
    Raises:  ValueError for shapes that do not fit and values that are not finite.
    Cost:    O(n^2 k) for k columns of b, twice that in the sweep; nothing is factorised.
    Ref:     Giles (2008), section 2.3.1.

    >>> cho_solve(cho_factor(np.array([[4.0, 2.0], [2.0, 10.0]])), np.array([8.0, 22.0])).round(12)
    array([1., 2.])
    """
    c, lower = c_and_lower
    if isinstance(lower, np.ndarray):
        lower = _flag_of_stack(lower)
    z = cholesky_solution.attempt(c, b, lower=bool(lower))
    if z is None:
        c, b = matrices("cho_solve", check_finite, c, b)
        z = cholesky_solution(c, b, lower=bool(lower))
    return z


def _flag_of_stack(lower: np.ndarray) -> bool:
    """The flag for all factors of a stack; SciPy's cho_factor returns one for each."""
    if lower.any() and not lower.all():
        raise UnsupportedError("contad.scipy.linalg.cho_solve: on variables factors of a stack must have one `lower`")
    return bool(lower.any())


@mirror
@over_stacks(a=2)
def lu_factor(a: ArrayValue, overwrite_a: bool = False, check_finite: bool = True) -> tuple[ArrayValue, ArrayValue]:
    """The triangular factors of a matrix in one array, and the row exchanges; for a square matrix, use them in
    `lu_solve`.

        a[order] = l u, l with ones on the diagonal; u and what is below the diagonal of l are one matrix

    Shapes:  a (..., m, n) -> (..., m, n), and exchanges (..., min(m, n)).
    Domain:  a whose leading min(m, n) rows and columns of l u are nonsingular; otherwise the derivative is nan.
    Raises:  LinAlgError if a is not a matrix, ValueError if it is not finite.
    Cost:    O(m n min(m, n)), three times that in the sweep. The exchanges are a constant.
    Ref:     de Hoog, Anderssen & Lukas (2011), theorem 1; `contad.ops.matrix_functions.lu_factors`.

    >>> lu_factor(np.array([[2.0, 1.0], [4.0, 6.0]]))[0]
    array([[ 4. ,  6. ],
           [ 0.5, -2. ]])
    """
    (a,) = matrices("lu_factor", check_finite, a)
    z = lu_factors(a)
    return z[:, :-1], _exchanges(order_in(z))[: np.shape(a)[-1]]


def _exchanges(order: Any) -> np.ndarray:
    """The row exchanges, in LAPACK's form, that produce an order of rows."""
    now, found = list(range(len(order))), []
    for k, wanted in enumerate(order.tolist()):
        other = now.index(wanted)
        now[k], now[other] = now[other], now[k]
        found.append(other)
    return np.array(found, dtype=np.int32)


@mirror
def lu_solve(
    lu_and_piv: tuple[ArrayValue, np.ndarray], b: ArrayValue, trans: Option = 0, overwrite_b: bool = False,
    check_finite: bool = True,
) -> ArrayValue:  # fmt: skip
    """The solution of a z = b, of a^T z = b (trans=1 or "T") or of a^H z = b (2 or "C") from the factors of a.

        z = a^-1 b from a[order] = l u,     b_bar = a^-T z_bar;
        the factors get cotangents as triangular matrices, and `lu_factor` passes them on to a

    Shapes:  l u (..., n, n), exchanges (..., n), b (n,) or (..., n, k) -> like b.
    Domain:  every regular u, every b.
    Raises:  ValueError for shapes that do not fit and values that are not finite.
    Cost:    O(n^2 k) for k columns of b, twice that in the sweep; nothing is factorised.
    Ref:     Giles (2008), section 2.3.1.

    >>> lu_solve(lu_factor(np.array([[2.0, 1.0], [4.0, 6.0]])), np.array([4.0, 16.0]))
    array([1., 2.])
    """
    factors, pivots = lu_and_piv
    factors, b = matrices("lu_solve", check_finite, factors, b)
    if _is_conjugate(trans, factors):
        return conj_of(_solve_with_lu(factors, pivots, conj_of(b), 1))
    return _solve_with_lu(factors, pivots, b, trans)


@over_stacks(factors=2, pivots=1, b=VECTORS)
def _solve_with_lu(factors: ArrayValue, pivots: ArrayValue, b: ArrayValue, trans: Option) -> ArrayValue:
    if np.shape(factors)[0] != np.shape(b)[0]:
        raise ValueError(
            f"contad.scipy.linalg.lu_solve: Shapes of lu {np.shape(factors)} and b {np.shape(b)} are incompatible"
        )
    order = order_of(np.asarray(pivots))
    solved = triangular_factors.solve_triangular
    if _is_transposed(trans):
        half = solved(factors, b, transposed=True)
        return solved(factors, half, transposed=True, lower=True, unit_diagonal=True)[np.argsort(order)]
    half = solved(factors, b[order], lower=True, unit_diagonal=True)
    return solved(factors, half)


@mirror
def lu(
    a: ArrayValue, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[ArrayValue, ...]:  # fmt: skip
    """The factors p, l and u of a matrix, or of each matrix in a stack; the permutation is a constant.

        a = p l u, l with ones on the diagonal

    The rule is `contad.ops.matrix_functions.lu_factors`.

    Shapes:  a (..., m, n) -> (..., m, m), (..., m, k), (..., k, n) with k = min(m, n).
    Domain:  every a; if the square part of l u is singular the derivative is nan.
    Raises:  ValueError if a has less than two axes or is not finite.
    Cost:    O(m n min(m, n)), three times that in the sweep.
    Ref:     de Hoog, Anderssen & Lukas (2011), theorem 1.

    >>> lu(np.array([[2.0, 1.0], [4.0, 6.0]]))[2]
    array([[ 4.,  6.],
           [ 0., -2.]])
    """
    (a,) = matrices("lu", check_finite, a)
    if a.ndim < 2:
        raise ValueError("contad.scipy.linalg.lu: The input array must be at least two-dimensional.")
    stack = a.shape[:-2]
    if 0 in stack:
        raise UnsupportedError(f"contad.scipy.linalg.lu: on variables a stack must not be empty, got shape {a.shape}")
    if not stack:
        return _lu_of_one(a, permute_l, p_indices)
    found = [_lu_of_one(x, permute_l, p_indices) for x in np.reshape(a, (-1, *a.shape[-2:]))]
    return tuple(np.reshape(np.stack(parts), (*stack, *np.shape(parts[0]))) for parts in zip(*found, strict=True))


def _lu_of_one(a: ArrayValue, permute_l: bool, p_indices: bool) -> tuple[ArrayValue, ...]:
    z = lu_factors(a)
    places, k = np.argsort(order_in(z)), min(np.shape(a))
    low = in_c_order(np.tril(z[:, :k], -1) + np.eye(len(places), k))
    up = np.triu(z[:k, :-1])
    if permute_l:
        return low[places], up
    return places if p_indices else np.eye(len(places))[places], low, up


@inside_njit({"nn": "np.linalg.qr(a)", "mn 'economic'": "np.linalg.qr(a)"}, names="a, mode='full'")
@mirror
def qr(
    a: ArrayValue, overwrite_a: bool = False, lwork: Option = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> ArrayValue | tuple[ArrayValue, ...]:  # fmt: skip
    """The factors q and r of a matrix; modes "full" (for matrices with no more rows than columns), "economic" and "r".

        a = q r,     a_bar = (q_bar + q (t + l^T)) r^-T,     t: the lower triangle of r r_bar^T - q_bar^T q,
        l the strict one

    Shapes:  a (..., m, n) -> (..., m, k), (..., k, n) with k = min(m, n), or m in mode "full".
    Domain:  a of rank min(m, n); otherwise the derivative is nan.
    Raises:  UnsupportedError for pivoting and for the additional columns of mode "full"; ValueError for shapes.
    Cost:    O(m n^2), and so is the sweep.
    Ref:     Walter & Lehmann (2013), section 3.

    >>> abs(qr(np.array([[3.0, 1.0], [4.0, 2.0]]), mode="r")[0])
    array([[5. , 2.2],
           [0. , 0.4]])
    """
    (a,) = matrices("qr", check_finite, a)
    modes = {"full": "complete", "economic": "reduced", "r": "r"}
    if a.ndim < 2:
        raise ValueError(f"contad.scipy.linalg.qr: expected a matrix or a stack of matrices, got shape {a.shape}")
    if pivoting or mode not in modes:
        raise UnsupportedError(
            "contad.scipy.linalg.qr: on variables it takes modes 'full', 'economic', 'r', and pivoting=False; for "
            "pivoting, take the order of columns from the values: a[:, order]"
        )
    m, n = a.shape[-2:]
    if mode == "full" and m > n:
        raise UnsupportedError(
            f"contad.scipy.linalg.qr: mode='full' has no derivative for shape {a.shape}; use mode='economic' or 'r'"
        )
    if mode != "r":
        return tuple(orthogonal_factors.qr(a, modes[mode]))
    r = orthogonal_factors.qr(a, "r")
    r = np.concatenate([r, np.zeros((*a.shape[:-2], m - n, n))], axis=-2) if m > n else r
    return (r,) if a.ndim == 2 or _scipy.is_from("1.18.0") else r  # earlier versions return no tuple for a stack


# ---- inverses, determinants and norms --------------------------------------------------------------------------------
@inside_njit({"nn": "np.linalg.inv(a)"})
@mirror
def inv(
    a: ArrayValue, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: str | None = None,
    lower: bool = False,
) -> ArrayValue:  # fmt: skip
    """The inverse of a matrix.

        z = a^-1,     a_bar = -z^T z_bar z^T

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  every nonsingular a.
    Raises:  LinAlgError if a is singular, ValueError if it is not square or not finite.
    Cost:    O(n^3), twice that in the sweep. To solve a system, call solve.
    Ref:     Giles (2008), section 2.2.3.

    >>> inv(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    if assume_a not in _GENERAL:
        refuse_options("inv", assume_a=assume_a)
    (a,) = matrices("inv", check_finite, a)
    return linear_systems.inv(a)


@inside_njit({"mn": "np.linalg.pinv(a)"})
@mirror
def pinv(
    a: ArrayValue, *, atol: Option = None, rtol: Option = None, return_rank: bool = False, check_finite: bool = True
) -> ArrayValue | tuple[ArrayValue, int]:
    """The Moore-Penrose pseudoinverse, and with `return_rank` also the rank, a constant.

        a z a = a,     z a z = z,     a z and z a symmetric,
        a_bar = -z^T z_bar z^T + (1 - a z) z_bar^T z z^T + z^T z z_bar^T (1 - z a)

    Shapes:  a (..., m, n) -> (..., n, m).
    Domain:  where the rank does not change.
    Raises:  UnsupportedError for atol=; ValueError if a is not finite.
    Cost:    O(m n min(m, n)), and so is the sweep, which treats the rank as constant.
    Ref:     Golub & Pereyra (1973), equation 4.12.

    >>> pinv(np.array([[2.0], [1.0]]))
    array([[0.4, 0.2]])
    """
    refuse_options("pinv", atol=atol)
    (a,) = matrices("pinv", check_finite, a)
    bound = max(np.shape(a)[-2:]) * np.finfo(float).eps if rtol is None else float(rtol)
    z = orthogonal_factors.pseudoinverse(a, rcond=bound)
    return (z, observe(rank_above, a, bound)) if return_rank else z


@inside_njit({"nn": "np.linalg.det(a)"})
@mirror
def det(a: ArrayValue, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """The determinant of a matrix.

        z = |a|,     a_bar = z_bar c,     c = |a| a^-T, the matrix of cofactors, which a singular matrix has too

    Shapes:  a (..., n, n) -> (...).
    Domain:  every a.
    Raises:  ValueError if a is not square or not finite.
    Cost:    O(n^3), and so is the sweep. It overflows where `numpy.linalg.slogdet` does not.
    Ref:     Giles (2008), section 2.2.4.

    >>> round(det(np.array([[2.0, 1.0], [0.5, 4.0]])), 12)
    np.float64(7.5)
    """
    (a,) = matrices("det", check_finite, a)
    return determinants.det(a)


@inside_njit({"12": "np.linalg.norm(a)", "12 0": "np.linalg.norm(a, ord)"})
@mirror
def norm(
    a: ArrayValue, ord: Option = None, axis: Option = None, keepdims: bool = False, check_finite: bool = True
) -> Value:
    """The norm of a vector or a matrix, like `numpy.linalg.norm`.

        z = (sum_i |x_i|^p)^(1 / p) of a vector of order p, |.|_F, or of singular values, of a matrix,
        x_bar = (x / z) z_bar for the 2-norm of a vector and the Frobenius norm,
        x_bar = z_bar u_i v_i^T for the singular value i that the 2-norm of a matrix is; "nuc" sums these
        All are 0 where z = 0, a subgradient; in "nuc" so is the part of a singular value that is 0.

    Shapes:  a (..., n) or (..., m, n) -> without the axes of the norm.
    Domain:  every a.
    Raises:  ValueError for an unknown order and values that are not finite.
    Cost:    O(n); matrix norms by singular values (2, -2, "nuc") take O(m n min(m, n)).
    Ref:     `contad.ops.norms`, for each order.

    >>> float(norm(np.array([[3.0, 4.0], [0.0, 12.0]])))
    13.0
    """
    (a,) = matrices("norm", check_finite, a)
    return norms.norm(a, ord, axis, keepdims)
