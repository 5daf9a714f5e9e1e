"""Functions of `scipy.linalg` for structured matrices: banded, Toeplitz, Hankel, circulant, block-diagonal.

Systems, and those for derivatives, are solved within the structure.
"""


import numpy as np

from contad.errors import UnsupportedError
from contad.ops.banded_systems import banded_solution, positive_banded_solution
from contad.ops.linear_systems import conj_of
from contad.ops.toeplitz_systems import circulant_solution, toeplitz_product, toeplitz_solution
from contad.scipy.mirroring import VECTORS, as_one, check_one, inside_njit, matrices, mirror, over_stacks
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Option


def _vector(name: str, x: ArrayValue) -> ArrayValue:
    """An argument that must be a vector; with more axes, SciPy makes one vector or many, depending on the version."""
    found = as_one(x)
    if np.ndim(found) != 1:
        raise UnsupportedError(
            f"contad.scipy.linalg.{name}: on variables it takes vectors, got shape {np.shape(found)}; use np.ravel, or "
            "np.stack of the results for each vector"
        )
    return found


# ---- banded matrices -------------------------------------------------------------------------------------------------
@mirror
def solve_banded(
    l_and_u: Option, ab: ArrayValue, b: ArrayValue, overwrite_ab: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> ArrayValue:  # fmt: skip
    """The solution of a z = b for a banded matrix with l diagonals below and u above the main one.

        a z = b, ab_(u + i - j, j) = a_ij for u diagonals above the main one,
        b_bar = a^-T z_bar,     ab_bar: -b_bar z^T in the band, 0 outside the matrix

    Shapes:  ab (..., l + u + 1, n), b (n,) or (..., n, k) -> like b.
    Domain:  every nonsingular a, every b.
    Raises:  LinAlgError if a is singular, ValueError for shapes that do not fit and values that are not finite.
    Cost:    O(n) for a band of fixed width, and so is the sweep.
    Ref:     Giles (2008), section 2.3.1, on the elements of the band.

    >>> solve_banded((0, 1), np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([4.0, 8.0]))
    array([1., 2.])
    """
    lower, upper = l_and_u
    z = banded_solution.attempt(ab, b, lower=int(lower), upper=int(upper))
    return _solve_banded(int(lower), int(upper), ab, b, check_finite) if z is None else z


@over_stacks(ab=2, b=VECTORS)
def _solve_banded(lower: int, upper: int, ab: ArrayValue, b: ArrayValue, check_finite: bool) -> ArrayValue:
    ab, b = matrices("solve_banded", check_finite, ab, b)
    return banded_solution(ab, b, lower=lower, upper=upper)


@mirror
@over_stacks(ab=2, b=VECTORS)
def solveh_banded(
    ab: ArrayValue, b: ArrayValue, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> ArrayValue:  # fmt: skip
    """The solution of a z = b for a positive definite banded matrix, given by one half of its band.

        a z = b,     b_bar = a^-1 z_bar,     ab_bar: -b_bar z^T in the half of the band, the other half added

    Shapes:  ab (..., w, n), b (n,) or (..., n, k) -> like b.
    Domain:  every positive definite a, every b.
    Raises:  LinAlgError if a is not positive definite, ValueError for wrong shapes and values that are not finite.
    Cost:    O(n w^2) for w diagonals, O(n k w) in the sweep from the saved factor.
    Ref:     Giles (2008), section 2.3.1, on the elements of the band.

    >>> solveh_banded(np.array([[4.0, 9.0], [2.0, 0.0]]), np.array([8.0, 20.0]), lower=True)
    array([1., 2.])
    """
    ab, b = matrices("solveh_banded", check_finite, ab, b)
    return positive_banded_solution(ab, b, lower=bool(lower))


# ---- Toeplitz and circulant matrices ---------------------------------------------------------------------------------
def _column_and_row(
    name: str, c_or_cr: ArrayValue | tuple[ArrayValue, ArrayValue], check_finite: bool
) -> tuple[ArrayValue, ArrayValue]:
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, conj_of(c_or_cr))
    c, r = matrices(name, check_finite, _vector(name, c), _vector(name, r))
    return c, r


def _right_side(name: str, b: ArrayValue, n: int, check_finite: bool) -> ArrayValue:
    (b,) = matrices(name, check_finite, b)
    if np.ndim(b) not in (1, 2) or np.shape(b)[0] != n:
        raise ValueError(
            f"contad.scipy.linalg.{name}: Incompatible dimensions: expected a vector or a matrix of {n} rows, got "
            f"shape {np.shape(b)}"
        )
    return b


@inside_njit({"n n/nk": "np.linalg.solve(toeplitz_of(c_or_cr, c_or_cr), b)"})
@mirror
def solve_toeplitz(
    c_or_cr: ArrayValue | tuple[ArrayValue, ArrayValue], b: ArrayValue, check_finite: bool = True
) -> ArrayValue:
    """The solution of t z = b for the Toeplitz matrix with first column c and first row r (c if there is none).

        t z = b, t_ij = c_(i-j), or r_(j-i) above the diagonal,
        b_bar = t^-T z_bar,     c_bar_k = -sum_i <b_bar_{i+k}, z_i>,     r_bar_k = -sum_i <b_bar_i, z_{i+k}> for k > 0

    Shapes:  c (n,), r (n,), b (n,) or (n, k) -> like b.
    Domain:  every t whose leading parts are regular, every b.
    Raises:  LinAlgError if a leading submatrix of t is singular, ValueError for shapes that do not fit.
    Cost:    O(n^2) by Levinson's recursion, and so is the sweep; no matrix is made.
    Ref:     Giles (2008), section 2.3.1; Golub & Van Loan (2013), section 4.7.

    >>> solve_toeplitz((np.array([1.0, 2.0]), np.array([0.0, 3.0])), np.array([26.0, 17.0]))
    array([5., 7.])
    """
    c, r = _column_and_row("solve_toeplitz", c_or_cr, check_finite)
    if np.shape(c) != np.shape(r):
        raise ValueError(
            f"contad.scipy.linalg.solve_toeplitz: Incompatible dimensions: c has {len(c)} elements, r has {len(r)}"
        )
    return toeplitz_solution(c, r, _right_side("solve_toeplitz", b, len(c), check_finite))


@inside_njit({"n n/nk": "toeplitz_of(c_or_cr, c_or_cr) @ x"})
@mirror
def matmul_toeplitz(
    c_or_cr: ArrayValue | tuple[ArrayValue, ArrayValue], x: ArrayValue, check_finite: bool = False,
    workers: Option = None,
) -> ArrayValue:  # fmt: skip
    """The product of the Toeplitz matrix with first column c and first row r (c if there is none) with x.

        z = t x, t_ij = c_(i-j), or r_(j-i) above the diagonal,
        x_bar = t^T z_bar,     c_bar_k = sum_i <z_bar_{i+k}, x_i>,     r_bar_k = sum_i <z_bar_i, x_{i+k}> for k > 0

    Shapes:  c (m,), r (n,), x (n,) or (n, k) -> (m,) or (m, k).
    Domain:  every c, r and x.
    Raises:  ValueError for shapes that do not fit.
    Cost:    O((m + n) log (m + n)) by Fourier transforms, and so is the sweep; no matrix is made.
    Ref:     Golub & Van Loan (2013), section 4.8.2.

    >>> matmul_toeplitz((np.array([1.0, 2.0]), np.array([0.0, 3.0])), np.array([5.0, 7.0]))
    array([26., 17.])
    """
    c, r = _column_and_row("matmul_toeplitz", c_or_cr, check_finite)
    return toeplitz_product(c, r, _right_side("matmul_toeplitz", x, len(r), check_finite))


@inside_njit({"n n/nk": "np.linalg.solve(circulant_of(c), b)"})
@mirror
def solve_circulant(
    c: ArrayValue, b: ArrayValue, singular: str = "raise", tol: Option = None, caxis: int = -1, baxis: int = 0,
    outaxis: int = 0,
) -> ArrayValue:  # fmt: skip
    """The solution of a z = b for the circulant matrix with first column c.

        a z = b, a_ij = c_((i-j) mod n),
        b_bar = a^-T z_bar,     c_bar_k = -sum_i <b_bar_i, z_{i-k}>

    On variables c is a vector, and the axes are SciPy's defaults.

    Shapes:  c (n,), b (n,) or (n, k) -> like b.
    Domain:  every c whose discrete Fourier transform has no zeros, every b.
    Raises:  LinAlgError if the matrix is nearly singular, ValueError for shapes, UnsupportedError for other axes.
    Cost:    O(n log n k) by Fourier transforms, and for each cotangent.
    Ref:     Giles (2008), section 2.3.1; Golub & Van Loan (2013), section 4.8.2.

    >>> solve_circulant(np.array([2.0, 1.0]), np.array([4.0, 5.0]))
    array([1., 2.])
    """
    if singular != "raise" or tol is not None or (caxis, baxis, outaxis) not in ((-1, 0, 0), (0, 0, 0)):
        raise UnsupportedError(
            "contad.scipy.linalg.solve_circulant: on variables it takes a vector c, b by columns and singular='raise'"
        )
    c = _vector("solve_circulant", c)
    return circulant_solution(c, _right_side("solve_circulant", b, len(c), False))


@inside_njit({"n": "circulant_of(c)"})
@mirror
def circulant(c: ArrayValue) -> ArrayValue:
    """The circulant matrix with first column c.

        a_ij = c_((i-j) mod n),     c_bar_k = sum of a_bar_ij where (i - j) mod n = k

    Shapes:  c (n,) -> (n, n).
    Domain:  every c.
    Raises:  UnsupportedError if c, on variables, is not a vector.
    Cost:    O(n^2), and so is the sweep.
    Ref:     Golub & Van Loan (2013), section 4.8.2; scipy.linalg.circulant.

    >>> circulant(np.array([1.0, 2.0, 3.0]))
    array([[1., 3., 2.],
           [2., 1., 3.],
           [3., 2., 1.]])
    """
    c = _vector("circulant", c)
    places = np.arange(len(c))
    return c[(places[:, None] - places) % max(len(c), 1)]


@inside_njit({"n": "hankel_of(c, np.zeros(len(c)))", "n k": "hankel_of(c, r)"})
@mirror
def hankel(c: ArrayValue, r: ArrayValue | None = None) -> ArrayValue:
    """The matrix with first column c and last row r (zeros if there is none) and constant antidiagonals.

        z_ij = c_{i+j}, or r_{i+j-m+1} where that is beyond c;     c_bar_k: the sum of z_bar on its antidiagonal

    The first element of r is not read.

    Shapes:  c (m,), r (n,) -> (m, n).
    Domain:  every c and r.
    Raises:  UnsupportedError if c or r, on variables, is not a vector.
    Cost:    O(m n), and so is the sweep.
    Ref:     scipy.linalg.hankel.

    >>> hankel(np.array([1.0, 2.0]), np.array([9.0, 5.0, 6.0]))
    array([[1., 2., 5.],
           [2., 5., 6.]])
    """
    c = _vector("hankel", c)
    r = np.zeros(len(c)) if r is None else _vector("hankel", r)
    return np.concatenate([c, r[1:]])[np.arange(len(c))[:, None] + np.arange(len(r))]


@mirror
def block_diag(*arrs: ArrayValue) -> ArrayValue:
    """The matrix with these matrices on its diagonal; a vector is a row.

        z = diag(a, b, ...);     the cotangent of each is the block of z_bar

    Shapes:  a (m, n), b (k, l), ... -> (m + k + ..., n + l + ...).
    Domain:  every matrix.
    Raises:  UnsupportedError if a block, on variables, is a stack.
    Cost:    O(n^2), including the zeros.
    Ref:     scipy.linalg.block_diag.

    >>> block_diag(np.eye(1), np.array([2.0, 3.0]))
    array([[1., 0., 0.],
           [0., 2., 3.]])
    """
    blocks = [np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x for x in map(as_one, arrs)]
    check_one("block_diag", *blocks)
    columns = sum(np.shape(x)[1] for x in blocks)
    rows, before = [], 0
    for x in blocks:
        m, n = np.shape(x)
        rows.append(np.concatenate([np.zeros((m, before)), x, np.zeros((m, columns - before - n))], axis=1))
        before += n
    return np.concatenate(rows)


@inside_njit({"n": "toeplitz_of(c, c)", "n k": "toeplitz_of(c, r)"})
@mirror
def toeplitz(c: ArrayValue, r: ArrayValue | None = None) -> ArrayValue:
    """The matrix with first column c and first row r (conj(c) if there is none) and constant diagonals.

        z_ij = c_{i-j}, or r_{j-i} above the diagonal;     c_bar_k: the sum of z_bar on its diagonal

    Shapes:  c (m,), r (n,) -> (m, n).
    Domain:  every c and r.
    Raises:  UnsupportedError if c or r, on variables, is not a vector.
    Cost:    O(m n), and so is the sweep.
    Ref:     Golub & Van Loan (2013), section 4.7; scipy.linalg.toeplitz.

    >>> toeplitz(np.array([1.0, 2.0]), np.array([1.0, 5.0, 6.0]))
    array([[1., 5., 6.],
           [2., 1., 5.]])
    """
    c = as_one(c)
    r = conj_of(c) if r is None else as_one(r)
    c, r = (_vector("toeplitz", x if np.ndim(x) else np.reshape(x, (1,))) for x in (c, r))
    m, n = np.size(c), np.size(r)
    diagonals = np.concatenate([c[::-1], r[1:]])
    return diagonals[m - 1 - np.arange(m)[:, None] + np.arange(n)]


def _with_zero(x: ArrayValue) -> ArrayValue:
    """A vector with a zero behind it, which places beyond its end read."""
    return np.concatenate([x, np.zeros(1)])


@mirror
def companion(a: ArrayValue) -> ArrayValue:
    """The matrix whose eigenvalues are the roots of the polynomial with coefficients a, the highest first.

        z_0j = -a_(j+1) / a_0,     z_(i+1)i = 1

    Shapes:  a (n,) -> (n - 1, n - 1).
    Domain:  a_0 other than 0, n >= 2.
    Raises:  ValueError for fewer coefficients and a_0 = 0; UnsupportedError if a, on variables, is not a vector.
    Cost:    O(n^2).
    Ref:     Horn & Johnson (2013), Matrix Analysis, section 3.3; scipy.linalg.companion.

    >>> companion(np.array([1.0, -10.0, 31.0, -30.0]))
    array([[ 10., -31.,  30.],
           [  1.,   0.,   0.],
           [  0.,   1.,   0.]])
    """
    a = _vector("companion", a)
    n = len(a)
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    if observe(np.equal, a[0], 0.0):
        raise ValueError("The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero.")
    return np.concatenate([np.reshape(-a[1:] / a[0], (1, -1)), np.eye(n - 2, n - 1)])


@mirror
def leslie(f: ArrayValue, s: ArrayValue) -> ArrayValue:
    """The matrix of a population with birth rates f and survival rates s.

        z_0j = f_j,     z_(i+1)i = s_i

    Shapes:  f (n,), s (n - 1,) -> (n, n).
    Domain:  every f and s.
    Raises:  ValueError for lengths that do not fit; UnsupportedError on variables for other shapes.
    Cost:    O(n^2).
    Ref:     Leslie (1945), Biometrika 33; scipy.linalg.leslie.

    >>> leslie(np.array([0.5, 2.0]), np.array([0.3]))
    array([[0.5, 2. ],
           [0.3, 0. ]])
    """
    f, s = _vector("leslie", f), _vector("leslie", s)
    n = len(f)
    if n != len(s) + 1 or n < 2:
        raise ValueError("The length of s must be one less than the length of f, and at least 1.")
    i, j = np.indices((n - 1, n))
    return np.concatenate([np.reshape(f, (1, n)), _with_zero(s)[np.where(i == j, i, n - 1)]])


@mirror
def fiedler(a: ArrayValue) -> ArrayValue:
    """The matrix of absolute differences.

        z_ij = |a_i - a_j|

    Shapes:  a (n,) -> (n, n).
    Domain:  every a; a kink where two elements are equal.
    Raises:  UnsupportedError if a, on variables, is not a vector.
    Cost:    O(n^2).
    Ref:     scipy.linalg.fiedler.

    >>> fiedler(np.array([1.0, 4.0]))
    array([[0., 3.],
           [3., 0.]])
    """
    a = _vector("fiedler", a)
    return np.abs(a[:, None] - a[None, :])


@mirror
def convolution_matrix(a: ArrayValue, n: int, mode: str = "full") -> ArrayValue:
    """The matrix whose product with a vector of length n is its convolution with a.

        (z v)_i = sum_j a_(i-j) v_j, all of it, or the part that `mode` names as in numpy.convolve

    Shapes:  a (m,) -> (m + n - 1, n), (max(m, n), n) with mode="same", (max(m, n) - min(m, n) + 1, n) with "valid".
    Domain:  every a.
    Raises:  ValueError for an unknown mode and n < 1; UnsupportedError if a, on variables, is not a vector.
    Cost:    O((m + n) n).
    Ref:     scipy.linalg.convolution_matrix.

    >>> convolution_matrix(np.array([1.0, 2.0]), 2)
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    a = _vector("convolution_matrix", a)
    m = len(a)
    if n < 1 or m == 0:
        raise ValueError("n must be a positive integer, and len(a) must be at least 1.")
    if mode not in ("full", "same", "valid"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    first, rows = {
        "full": (0, m + n - 1), "same": ((min(m, n) - 1) // 2, max(m, n)),
        "valid": (min(m, n) - 1, max(m, n) - min(m, n) + 1),
    }[mode]  # fmt: skip
    places = np.arange(first, first + rows)[:, None] - np.arange(n)
    return _with_zero(a)[np.where((places >= 0) & (places < m), places, m)]


@mirror
def khatri_rao(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """The products of Kronecker of the columns of two matrices.

        z_((i, j), k) = a_ik b_jk

    Shapes:  a (m, k), b (n, k) -> (m n, k).
    Domain:  every a and b.
    Raises:  ValueError for different numbers of columns and for arrays that are not matrices.
    Cost:    O(m n k).
    Ref:     Liu & Trenkler (2008); scipy.linalg.khatri_rao.

    >>> khatri_rao(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([[ 3.,  8.],
           [ 5., 12.]])
    """
    a, b = as_one(a), as_one(b)
    if np.ndim(a) != 2 or np.ndim(b) != 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if np.shape(a)[1] != np.shape(b)[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return np.reshape(a[:, None, :] * b[None, :, :], (-1, np.shape(a)[1]))
