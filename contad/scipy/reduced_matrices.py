"""Factors and solutions of `scipy.linalg` by steps that NumPy's functions differentiate.

LAPACK chooses the pivots and signs, which are constants, and the steps with this choice are repeated on variables.
"""

from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import linear_systems, orthogonal_factors
from contad.ops._scipy import linalg
from contad.ops.linear_systems import check_square
from contad.ops.products import matmul
from contad.scipy.eigenvalues import polar, svdvals
from contad.scipy.functions_of_matrices import solve_discrete_lyapunov
from contad.scipy.mirroring import check_one, matrices, mirror, over_stacks, refuse_options
from contad.variables.complex_pair import holds_complex
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Option


def _real(name: str, *arrays: Any) -> None:
    if any(map(holds_complex, arrays)):
        raise UnsupportedError(f"contad.scipy.linalg.{name}: complex matrices are not supported on variables")


def _from_triangle(a: ArrayValue, lower: bool) -> ArrayValue:
    """The symmetric matrix of which one triangle is given."""
    half = np.tril(a) if lower else np.transpose(np.triu(a))
    return half + np.transpose(np.tril(half, -1))


# ---- factors ---------------------------------------------------------------------------------------------------------
@mirror
@over_stacks(A=2)
def ldl(
    A: ArrayValue, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[ArrayValue, ArrayValue, np.ndarray]:
    """The factors l, d of a symmetric matrix, which may be indefinite, and the order of rows that makes l triangular.

        a = l d l^T,     with 1 on the diagonal of l after permutation, and blocks of one or two rows in d

    Only the triangle that `lower` names is read.

    Shapes:  A (..., n, n) -> (..., n, n), (..., n, n), (..., n).
    Domain:  A whose leading blocks, in the order of the pivots, are nonsingular; a jump where the pivots change.
    Raises:  ValueError if A is not square or not finite; UnsupportedError for a complex A.
    Cost:    O(n^3), in n steps of arrays.
    Ref:     Bunch & Kaufman (1977), Mathematics of Computation 31; scipy.linalg.ldl.

    >>> l, d, order = ldl(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> l, d
    (array([[1. , 0. ],
           [0.5, 1. ]]), array([[2. , 0. ],
           [0. , 2.5]]))
    """
    _real("ldl", A)
    (a,) = matrices("ldl", check_finite, A)
    check_square("contad.scipy.linalg.ldl", a)
    n = np.shape(a)[0]

    def pivots(a: np.ndarray) -> np.ndarray:
        _, d, order = linalg().ldl(a, lower, hermitian)
        return np.stack([order, np.append(np.diagonal(d, 1) != 0.0, False)])

    order, pairs = observe(pivots, a)
    rest = _from_triangle(a, lower)[order][:, order]
    left, middle = [], np.zeros((n, n))
    if not lower:  # eliminated from the last row
        rest, pairs = rest[::-1, ::-1], np.append(pairs[:-1][::-1], 0)
    k = 0
    blocks = []
    while k < n:
        size = 2 if pairs[k] else 1
        pivot, below = rest[:size, :size], rest[size:, :size]
        columns = np.transpose(linear_systems.solve(pivot, np.transpose(below))) if k + size < n else below
        left.append(np.concatenate([np.zeros((k, size)), np.eye(size), columns]))
        blocks.append(np.concatenate([np.zeros((k, size)), pivot, np.zeros((n - k - size, size))]))
        rest = rest[size:, size:] - matmul(columns, np.transpose(below))
        k += size
    factor, middle = np.concatenate(left, axis=1), np.concatenate(blocks, axis=1)
    if not lower:
        factor, middle = factor[::-1, ::-1], middle[::-1, ::-1]
    return factor[np.argsort(order)], middle, order


@mirror
@over_stacks(a=2)
def hessenberg(
    a: ArrayValue, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> ArrayValue | tuple[ArrayValue, ArrayValue]:
    """The similar matrix that is zero below its first subdiagonal, and with calc_q the orthogonal q.

        a = q h q^T,     by the reflections 1 - 2 v v^T / v^T v of Householder

    Shapes:  a (..., n, n) -> (..., n, n), or two of them.
    Domain:  a whose columns below the subdiagonal are not 0 after the reflections before.
    Raises:  ValueError if a is not square or not finite; UnsupportedError for a complex a.
    Cost:    O(n^3), in n - 2 steps of arrays.
    Ref:     Golub & Van Loan (2013), section 7.4.3; scipy.linalg.hessenberg.

    >>> hessenberg(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [4.0, 0.0, 1.0]])).round(6)
    array([[ 1.  , -3.6 ,  0.2 ],
           [-5.  ,  4.48, -0.36],
           [ 0.  ,  4.64,  0.52]])
    """
    _real("hessenberg", a)
    (h,) = matrices("hessenberg", check_finite, a)
    check_square("contad.scipy.linalg.hessenberg", h)
    n = np.shape(h)[0]
    q: Any = np.eye(n)
    for k in range(n - 2):
        column = h[k + 1 :, k]
        if not observe(np.any, column[1:]):
            continue
        size = np.linalg.norm(column) * (1.0 if observe(np.less, column[0], 0.0) else -1.0)
        v = np.concatenate([np.zeros(k + 1), np.reshape(column[0] - size, (1,)), column[1:]])
        v = v / np.linalg.norm(v)
        h = h - 2.0 * v[:, None] * matmul(v, h)[None, :]
        h = h - 2.0 * matmul(h, v)[:, None] * v[None, :]
        q = q - 2.0 * matmul(q, v)[:, None] * v[None, :]
    return (np.triu(h, -1), q) if calc_q else np.triu(h, -1)


@mirror
@over_stacks(a=2)
def rq(
    a: ArrayValue, overwrite_a: bool = False, lwork: Option = None, mode: str = "full", check_finite: bool = True
) -> ArrayValue | tuple[ArrayValue, ArrayValue]:
    """The factors r, upper triangular, and q with orthonormal rows.

        a = r q,     the factors of `qr` of the rows and columns in reverse order, transposed

    Shapes:  a (..., m, n) with m <= n -> (m, m), (m, n) with mode="economic"; for mode="full" m = n. "r" is r alone.
    Domain:  a whose rows are independent.
    Raises:  UnsupportedError on variables for other shapes and modes, and for complex matrices; ValueError if a is not
             finite.
    Cost:    that of `qr`.
    Ref:     Golub & Van Loan (2013), section 5.2; scipy.linalg.rq.

    >>> r, q = rq(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> r.round(6) + 0.0, q.round(6) + 0.0
    (array([[-0.4, -2.2],
           [ 0. , -5. ]]), array([[ 0.8, -0.6],
           [-0.6, -0.8]]))
    """
    _real("rq", a)
    (a,) = matrices("rq", check_finite, a)
    m, n = np.shape(a)
    if m > n or (m < n and mode != "economic") or mode not in ("full", "economic", "r"):
        raise UnsupportedError(
            f"contad.scipy.linalg.rq: on variables mode must be 'economic', or a square, got {mode!r} and {np.shape(a)}"
        )
    q, r = np.linalg.qr(np.transpose(a[::-1, ::-1]))
    r, q = np.transpose(r)[::-1, ::-1], np.transpose(q)[::-1, ::-1]
    return r if mode == "r" else (r, q)


# ---- least squares ---------------------------------------------------------------------------------------------------
@mirror
def lstsq(
    a: ArrayValue, b: ArrayValue, cond: Option = None, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, lapack_driver: Option = None,
) -> tuple[ArrayValue, ArrayValue, int, ArrayValue]:  # fmt: skip
    """(z, residues, rank, singular values): the shortest z with the least |a z - b|.

        z = a^+ b, with the derivative of the pseudoinverse `pinv`

    Shapes:  a (m, n), b (m,) or (m, k) -> (n,) or (n, k), () or (k,), a constant, (min(m, n),). Without full rank, or
             with m <= n, there are no residues, as in SciPy.
    Domain:  where the rank does not change; singular values that differ for their derivative.
    Raises:  ValueError for shapes that do not fit and values that are not finite.
    Cost:    O(m n min(m, n)), and so is the sweep.
    Ref:     Golub & Pereyra (1973), equation 4.12; scipy.linalg.lstsq.

    >>> z, residues, rank, s = lstsq(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0, 4.0]))
    >>> z.round(6), residues.round(6), rank
    (array([0.833333, 1.5     ]), np.float64(0.166667), 2)
    """
    check_one("lstsq", a, b)
    a, b = matrices("lstsq", check_finite, a, b)
    m, n = np.shape(a)
    if np.shape(b)[0] != m:
        raise ValueError(f"Shape mismatch: a and b should have the same number of rows ({m} != {np.shape(b)[0]}).")
    s = svdvals.implementation(a)
    bound = np.finfo(float).eps if cond is None else float(cond)
    rank = int(observe(lambda s: np.sum(s > bound * s[0]), s))
    z = matmul(orthogonal_factors.pseudoinverse(a, rcond=bound), b)
    if rank < n or m <= n:
        return z, np.zeros(0), rank, s
    return z, np.sum((b - matmul(a, z)) ** 2, axis=0), rank, s


@mirror
@over_stacks(a=2)
def pinvh(
    a: ArrayValue, atol: Option = None, rtol: Option = None, lower: bool = True, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """The pseudoinverse of a symmetric matrix, of which one triangle is read; with `return_rank` also the rank.

        z = a^+, with the derivative of `pinv`

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  where the rank does not change.
    Raises:  UnsupportedError for atol= and a complex a; ValueError if a is not finite.
    Cost:    O(n^3), and so is the sweep.
    Ref:     Golub & Pereyra (1973), equation 4.12; scipy.linalg.pinvh.

    >>> pinvh(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    refuse_options("pinvh", atol=atol)
    _real("pinvh", a)
    (a,) = matrices("pinvh", check_finite, a)
    a = _from_triangle(a, lower)
    bound = np.shape(a)[-1] * np.finfo(float).eps if rtol is None else float(rtol)
    z = orthogonal_factors.pseudoinverse(a, rcond=bound)
    z = 0.5 * (z + np.transpose(z))
    if not return_rank:
        return z
    sizes = observe(np.linalg.svd, a, compute_uv=False)
    return z, int(np.sum(sizes > bound * sizes[0]))


@mirror
@over_stacks(A=2, B=2)
def orthogonal_procrustes(A: ArrayValue, B: ArrayValue, check_finite: bool = True) -> tuple[ArrayValue, ArrayValue]:
    """The orthogonal r that makes a r nearest to b, and the sum of singular values of a^T b.

        r = u v^T,     a^T b = u s v^T:     the polar factor of a^T b, with the derivative of `polar`

    Shapes:  A, B (..., m, n) -> (..., n, n), (...).
    Domain:  A^T B nonsingular.
    Raises:  ValueError for different shapes and values that are not finite.
    Cost:    O(m n^2), and so is the sweep.
    Ref:     Schoenemann (1966), Psychometrika 31; scipy.linalg.orthogonal_procrustes.

    >>> r, scale = orthogonal_procrustes(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 2.0], [-1.0, 0.0]]))
    >>> r.round(6) + 0.0, float(scale)
    (array([[ 0.,  1.],
           [-1.,  0.]]), 5.0)
    """
    a, b = matrices("orthogonal_procrustes", check_finite, A, B)
    if np.ndim(a) != 2 or np.shape(a) != np.shape(b):
        raise ValueError(
            f"contad.scipy.linalg.orthogonal_procrustes: shapes of A and B differ ({np.shape(a)} vs {np.shape(b)})"
        )
    r, p = polar.implementation(matmul(linear_systems.conj_transposed_of(a), b))
    return r, np.trace(p)


# ---- Riccati's equation in discrete time -----------------------------------------------------------------------------
@mirror
@over_stacks(a=2, b=2, q=2, r=2, e=2, s=2)
def solve_discrete_are(
    a: ArrayValue, b: ArrayValue, q: ArrayValue, r: ArrayValue, e: ArrayValue | None = None,
    s: ArrayValue | None = None, balanced: bool = True,
) -> ArrayValue:  # fmt: skip
    """The stabilising solution of Riccati's equation in discrete time.

        z = a^T z a - k^T (r + b^T z b) k + q,     k = (r + b^T z b)^-1 b^T z a,
        z_dot - c^T z_dot c = q_dot + k^T r_dot k + c^T z (a_dot - b_dot k) + (a_dot - b_dot k)^T z c,     c = a - b k

    SciPy solves, and two steps of Newton's method from its solution carry derivatives up to the third. Only the
    symmetric parts of q and r matter to the derivative.

    Shapes:  a, q (..., n, n), b (..., n, k), r (..., k, k) -> (..., n, n).
    Domain:  (a, b) stabilisable, q and r symmetric, r + b^T z b nonsingular.
    Raises:  LinAlgError if there is no such solution; ValueError for wrong shapes; UnsupportedError on variables for e,
             s and complex matrices.
    Cost:    SciPy's, and two equations of Lyapunov; the sweep two more.
    Ref:     Hewer (1971), IEEE Transactions on Automatic Control 16; scipy.linalg.solve_discrete_are.

    >>> solve_discrete_are(np.array([[1.0]]), np.array([[1.0]]), np.array([[2.0]]), np.array([[1.0]])).round(6)
    array([[2.732051]])
    """
    refuse_options("solve_discrete_are", e=e, s=s)
    _real("solve_discrete_are", a, b, q, r)
    a, b, q, r = (np.atleast_2d(x) for x in matrices("solve_discrete_are", True, a, b, q, r))
    z = observe(linalg().solve_discrete_are, a, b, q, r)
    q, r = 0.5 * (q + np.transpose(q)), 0.5 * (r + np.transpose(r))
    for _ in range(2):
        zb = matmul(z, b)
        k = linear_systems.solve(r + matmul(np.transpose(b), zb), matmul(np.transpose(zb), a))
        c = a - matmul(b, k)
        z = solve_discrete_lyapunov.implementation(np.transpose(c), q + matmul(np.transpose(k), matmul(r, k)))
    return z
