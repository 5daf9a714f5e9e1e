"""Functions of `scipy.linalg` that find eigenvalues, singular values and the spaces of their vectors."""


import numpy as np

from contad.errors import UnsupportedError
from contad.ops import orthogonal_factors, singular_spectra, spectra, triangular_factors
from contad.ops._scipy import linalg
from contad.ops.cotangents import plain
from contad.ops.linear_systems import conj_of, conj_transposed_of, in_c_order, real_of
from contad.ops.polar_factors import polar_factors
from contad.ops.products import matmul
from contad.ops.schur_forms import schur_factors
from contad.ops.triangular_factors import cholesky_factor, symmetrise
from contad.ops.tridiagonal_spectra import tridiagonal_spectrum
from contad.scipy.mirroring import inside_njit, matrices, mirror, over_stacks, refuse_options
from contad.variables.complex_pair import as_complex
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Option


# ---- eigenvalues ----------------------------------------------------------------------------------------------------
@inside_njit({"nn": "np.linalg.eigh(a)"})
@mirror
def eigh(
    a: ArrayValue, b: ArrayValue | None = None, *, lower: bool = True, eigvals_only: bool = False,
    overwrite_a: bool = False, overwrite_b: bool = False, type: int = 1, check_finite: bool = True,
    subset_by_index: Option = None, subset_by_value: Option = None, driver: Option = None,
) -> ArrayValue | tuple[ArrayValue, ...]:  # fmt: skip
    """Eigenvalues and eigenvectors of a symmetric matrix, or of a v = w b v with a positive definite b.

        a v = v diag(w),     a_bar = v (diag(w_bar) + f (v^T v_bar)) v^T,     f_ij = 1 / (w_j - w_i), 0 for i = j;
        the triangle that is read has the sum of both, and the other zeros; so does b_bar

    Type 2 is a b v = w v, and type 3 is b a v = w v. With b = l l^T and eigenvectors y of l^-1 a l^-T (of l^T a l for
    types 2 and 3), v = l^-T y (l y for type 3). Vectors of equal eigenvalues have the derivative nan. subset_by_index
    keeps those from a first to a last position. On variables all are computed, and a vector may have the opposite sign
    of SciPy's.

    Shapes:  a, b (..., n, n) -> w (..., n), v (..., n, n).
    Domain:  every symmetric a, every positive definite b.
    Raises:  LinAlgError if b is not positive definite, ValueError for wrong shapes and values that are not finite,
             UnsupportedError for subset_by_value.
    Cost:    O(n^3), and so is the sweep.
    Ref:     Giles (2008), section 2.3.3 (the symmetric case).

    >>> a, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.diag([1.0, 4.0])
    >>> eigh(a, b, eigvals_only=True).round(6)
    array([0.403709, 3.096291])
    """
    if type not in (1, 2, 3):
        raise ValueError("contad.scipy.linalg.eigh: \"type\" keyword only accepts 1, 2, and 3.")
    refuse_options("eigh", subset_by_value=subset_by_value)
    (a,) = matrices("eigh", check_finite, a)
    kept, triangle = _positions(subset_by_index, np.shape(a)[-1]), "L" if lower else "U"
    if b is None:
        if eigvals_only:
            return spectra.eigvalsh(a, triangle)[..., kept]
        z = spectra.robust_spectrum(a, upper=not lower, own_signs=True)
        return in_c_order(real_of(z[..., 0, kept])), in_c_order(z[..., 1:, kept])
    (b,) = matrices("eigh", check_finite, b)
    w, v = _solve_generalised(a, b, lower, type)
    return w[..., kept] if eigvals_only else (w[..., kept], in_c_order(v[..., kept]))


@over_stacks(a=2, b=2)
def _solve_generalised(a: ArrayValue, b: ArrayValue, lower: bool, type: int) -> tuple[ArrayValue, ArrayValue]:
    """All eigenvalues and eigenvectors of a v = w b v, of a b v = w v or of b a v = w v."""
    c = cholesky_factor(b if lower else in_c_order(conj_transposed_of(b)))
    solved, whole = triangular_factors.solve_triangular, symmetrise(a, not lower)
    triangle = "L" if lower else "U"  # keep LAPACK's signs of vectors
    if type == 1:
        half = solved(c, whole, lower=True)
        w, y = spectra.eigh(solved(c, conj_transposed_of(half), lower=True), triangle)
    else:
        w, y = spectra.eigh(matmul(conj_transposed_of(c), matmul(whole, c)), triangle)
    return w, matmul(c, y) if type == 3 else solved(conj_of(c), y, transposed=True, lower=True)


def _positions(subset: Option, n: int) -> slice:
    """The eigenvalues from a first to a last position, or all."""
    if subset is None:
        return slice(None)
    first, last = (int(k) for k in subset)
    if not 0 <= first <= last < n:
        raise ValueError(
            "contad.scipy.linalg.eigh: Requested eigenvalue indices are not valid. Valid range is "
            f"[0, {n - 1}] and start <= end, but start={first}, end={last} is given"
        )
    return slice(first, last + 1)

BESIDE = (("len(e) + 1 == len(d)", "e must have one element less than d"),)


@inside_njit({"nn": "np.linalg.eigvalsh(a)"})
@mirror
def eigvalsh(
    a: ArrayValue, b: ArrayValue | None = None, *, lower: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True, subset_by_index: Option = None,
    subset_by_value: Option = None, driver: Option = None,
) -> ArrayValue:  # fmt: skip
    """The eigenvalues of `eigh`.

        a v = v diag(w),     a_bar = v diag(w_bar) v^T, in the triangle that is read; right for symmetric functions
        of equal eigenvalues; for plain functions so are their second derivatives by hvp, hessian and the jvp of
        a gradient; otherwise those are nan

    Shapes:  a, b (..., n, n) -> (..., n).
    Domain:  every symmetric a, every positive definite b.
    Raises:  like `eigh`.
    Cost:    O(n^3), and so is the sweep.
    Ref:     Giles (2008), section 2.3.3.

    >>> eigvalsh(np.array([[3.0, 0.5], [0.5, 2.0]])).round(6)
    array([1.792893, 3.207107])
    """
    refuse_options("eigvalsh", subset_by_value=subset_by_value)
    return eigh(
        a, b, lower=lower, eigvals_only=True, type=type, check_finite=check_finite, subset_by_index=subset_by_index
    )


@mirror
def eig(
    a: ArrayValue, b: ArrayValue | None = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> ArrayValue | tuple[ArrayValue, ...]:  # fmt: skip
    """Complex eigenvalues and right eigenvectors of any square matrix, like `numpy.linalg.eig`.

        a v = v diag(w),     a_bar = v^-H (diag(w_bar) + conj(f) (v^H v_bar, without what scales vectors)) v^H,
        f_ij = 1 / (w_j - w_i), 0 for i = j

    Shapes:  a (..., n, n) -> w (..., n), v (..., n, n).
    Domain:  every a; derivatives of equal eigenvalues and of their vectors are nan.
    Raises:  UnsupportedError for b=, left= and homogeneous_eigvals=, ValueError if a is not finite.
    Cost:    O(n^3), and so is the sweep.
    Ref:     `contad.ops.spectra`; Boeddeker et al. (2019).

    >>> eig(np.array([[0.0, -2.0], [2.0, 0.0]]))[0]
    array([0.+2.j, 0.-2.j])
    """
    refuse_options("eig", b=b, left=left, homogeneous_eigvals=homogeneous_eigvals)
    (a,) = matrices("eig", check_finite, a)
    w, v = np.linalg.eig(a)
    return (as_complex(w), v) if right else as_complex(w)


@mirror
def eigvals(
    a: ArrayValue, b: ArrayValue | None = None, overwrite_a: bool = False, check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> ArrayValue:  # fmt: skip
    """The eigenvalues of `eig`.

        a v = v diag(w),     a_bar = v^-H diag(w_bar) v^H

    Shapes:  a (..., n, n) -> w (..., n).
    Domain:  every a; derivatives of equal eigenvalues are nan.
    Raises:  UnsupportedError for b= and homogeneous_eigvals=, ValueError if a is not finite.
    Cost:    O(n^3), and so is the sweep.
    Ref:     `contad.ops.spectra`; Boeddeker et al. (2019).

    >>> eigvals(np.array([[2.0, 1.0], [0.0, 3.0]]))
    array([2.+0.j, 3.+0.j])
    """
    refuse_options("eigvals", b=b, homogeneous_eigvals=homogeneous_eigvals)
    (a,) = matrices("eigvals", check_finite, a)
    return as_complex(np.linalg.eigvals(a))


# ---- singular values -------------------------------------------------------------------------------------------------
@inside_njit(
    {"nn": "np.linalg.svd(a, False)", "mn 0": "np.linalg.svd(a, False)"},
    inside=[("not full_matrices", "full_matrices must be False")],
)
@mirror
def svd(
    a: ArrayValue, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd",
) -> ArrayValue | tuple[ArrayValue, ...]:  # fmt: skip
    """Singular values and vectors, like `numpy.linalg.svd`.

        a = u diag(s) v^T,
        a_bar = u ((f (u^T u_bar - u_bar^T u)) s + s (f (v^T v_bar - v_bar^T v)) + diag(s_bar)) v^T + ...,
        f_ij = 1 / (s_j^2 - s_i^2), 0 for i = j; `contad.ops.singular_spectra.singular_spectrum` has the omitted terms

    Shapes:  a (..., m, n) -> u (..., m, k), s (..., k), v^T (..., k, n) with k = min(m, n).
    Domain:  every finite a; vectors of equal singular values have the derivative nan.
    Raises:  UnsupportedError for the additional vectors of full matrices; ValueError if a is not finite.
    Cost:    O(m n min(m, n)), and so is the sweep.
    Ref:     Giles (2008), section 2.3.4; Townsend (2016).

    >>> svd(np.array([[0.5, 2.0], [3.0, 0.0]]), compute_uv=False).round(6)
    array([3.071486, 1.953452])
    """
    (a,) = matrices("svd", check_finite, a)
    if full_matrices and compute_uv and np.ndim(a) > 1 and np.shape(a)[-2] != np.shape(a)[-1]:
        raise UnsupportedError(
            f"contad.scipy.linalg.svd: of shape {np.shape(a)}, the additional vectors of full matrices have no "
            "derivative; pass full_matrices=False"
        )
    found = singular_spectra.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found


@inside_njit({"mn": "np.linalg.svd(a, False)[1]"})
@mirror
def svdvals(a: ArrayValue, overwrite_a: bool = False, check_finite: bool = True) -> ArrayValue:
    """Singular values, from the largest.

        a = u diag(s) v^T,     a_bar = u diag(s_bar) v^T

    Shapes:  a (..., m, n) -> (..., min(m, n)).
    Domain:  every finite a.
    Raises:  ValueError if a is not finite, LinAlgError if the iteration fails.
    Cost:    O(m n min(m, n)), and so is the sweep.
    Ref:     Giles (2008), section 2.3.4.

    >>> svdvals(np.array([[0.5, 2.0], [3.0, 0.0]])).round(6)
    array([3.071486, 1.953452])
    """
    (a,) = matrices("svdvals", check_finite, a)
    return singular_spectra.svdvals(a)


@inside_njit({"mn": "polar_of(a)"})
@mirror
@over_stacks(a=2)
def polar(a: ArrayValue, side: str = "right") -> tuple[ArrayValue, ArrayValue]:
    """The polar factors u, with orthonormal columns or rows, and p, symmetric.

        a = u p (a = p u on the side "left"),
        a_bar = u (s + y) + (1 - u u^T) u_bar p^-1; s and y: see `contad.ops.polar_factors.polar_factors`

    Shapes:  a (m, n) -> (m, n), (n, n), or (m, m) on the side "left".
    Domain:  every a; if it does not have full rank, the derivative is nan.
    Raises:  ValueError for the side and the shape, LinAlgError if a is not finite.
    Cost:    O(m n^2), and so is the sweep.
    Ref:     Higham (2008), sections 8.1 and 8.2.

    >>> polar(np.array([[0.0, -2.0], [3.0, 0.0]]))[1].round(12) + 0.0
    array([[3., 0.],
           [0., 2.]])
    """
    if side not in ("right", "left"):
        raise ValueError("contad.scipy.linalg.polar: `side` must be either 'right' or 'left'")
    (a,) = matrices("polar", True, a)
    if np.ndim(a) != 2:
        raise ValueError(f"contad.scipy.linalg.polar: `a` must be a 2-D array, got shape {np.shape(a)}")
    m, n = np.shape(a)
    turned = m < n if m != n else side == "left"
    z = polar_factors(conj_transposed_of(a) if turned else a)
    u, p = z[: max(m, n)], in_c_order(z[max(m, n) :])
    if turned != (side == "left"):  # p is as large as the longer side of a
        p = matmul(matmul(u, p), conj_transposed_of(u))
    return in_c_order(conj_transposed_of(u) if turned else u), p


@inside_njit({"n k": "np.linalg.eigh(tridiagonal_of(d, e))"}, inside=BESIDE)
@mirror
@over_stacks(d=1, e=1)
def eigh_tridiagonal(
    d: ArrayValue, e: ArrayValue, eigvals_only: bool = False, select: str = "a", select_range: Option = None,
    check_finite: bool = True, tol: float = 0.0, lapack_driver: str = "auto",
) -> ArrayValue | tuple[ArrayValue, ...]:  # fmt: skip
    """Eigenvalues and eigenvectors of the symmetric tridiagonal matrix with diagonal d and off-diagonal e.

        d_bar_k = sum_i w_bar_i v_ki^2,     e_bar_k = sum_i 2 w_bar_i v_ki v_(k+1)i, where vectors have no cotangent

    select "i" keeps those at positions min to max of select_range, and "v" those in (min, max]; the selection is
    constant. On variables all vectors are computed, and a selected one may have the opposite sign of SciPy's.

    Shapes:  d (n,), e (n - 1,) -> w (k,), v (n, k).
    Domain:  every finite d and e; vectors of equal eigenvalues have the derivative nan.
    Raises:  ValueError for a selection that is not valid, UnsupportedError for tol=.
    Cost:    O(n^2); the sweep is O(n^2) if vectors have no cotangent, otherwise O(n^3).
    Ref:     Giles (2008), section 2.3.3, on the diagonals.

    >>> eigh_tridiagonal(np.array([3.0, 2.0]), np.array([0.5]), eigvals_only=True).round(6)
    array([1.792893, 3.207107])
    """
    if tol != 0.0:
        raise UnsupportedError("contad.scipy.linalg.eigh_tridiagonal: tol= is not supported on variables")
    d, e = matrices("eigh_tridiagonal", check_finite, d, e)
    z = tridiagonal_spectrum(d, e, own_signs=True)
    kept = slice(None)
    kind = str(select).lower()
    if kind in ("i", "index", "2"):
        first, last = map(int, select_range)
        if not 0 <= first <= last < len(d):
            raise ValueError("contad.scipy.linalg.eigh_tridiagonal: select_range out of bounds")
        kept = slice(first, last + 1)
    elif kind in ("v", "value", "1"):
        low, high = map(float, select_range)
        kept = slice(*observe(np.searchsorted, z[0], np.array([low, high]), "right"))
    elif kind not in ("a", "all", "0"):
        raise ValueError("contad.scipy.linalg.eigh_tridiagonal: invalid argument for select")
    w = in_c_order(z[0, kept])
    return w if eigvals_only else (w, in_c_order(z[1:, kept]))


@inside_njit({"n k": "np.linalg.eigvalsh(tridiagonal_of(d, e))"}, inside=BESIDE)
@mirror
def eigvalsh_tridiagonal(
    d: ArrayValue, e: ArrayValue, select: str = "a", select_range: Option = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> ArrayValue:  # fmt: skip
    """The eigenvalues of `eigh_tridiagonal`.

        d_bar_k = sum_i w_bar_i v_ki^2,     e_bar_k = sum_i 2 w_bar_i v_ki v_(k+1)i

    Shapes:  d (n,), e (n - 1,) -> (k,).
    Domain:  every finite d and e.
    Raises:  like `eigh_tridiagonal`.
    Cost:    O(n^2), and so is the sweep.
    Ref:     Giles (2008), section 2.3.3, on the diagonals.

    >>> eigvalsh_tridiagonal(np.array([3.0, 2.0]), np.array([0.5])).round(6)
    array([1.792893, 3.207107])
    """
    return eigh_tridiagonal(d, e, True, select, select_range, check_finite, tol)

BESIDE = (("len(e) + 1 == len(d)", "e must have one element less than d"),)


@mirror
@over_stacks(a=2)
def schur(
    a: ArrayValue, output: str = "real", lwork: Option = None, overwrite_a: bool = False, sort: Option = None,
    check_finite: bool = True,
) -> ArrayValue | tuple[ArrayValue, ...]:  # fmt: skip
    """The Schur form t and z of a matrix, with output="complex" also if eigenvalues are complex.

        a = z t z^T, z orthogonal, or z t z^H, z unitary; t upper triangular

    Complex vectors have arbitrary phases: derivatives are right for functions that do not depend on them.

    The rule is `contad.ops.schur_forms.schur_factors`.

    Shapes:  a (..., n, n) -> (..., n, n), (..., n, n).
    Domain:  every a; if two eigenvalues are equal the derivative is nan.
    Raises:  UnsupportedError for sort=, and for complex eigenvalues of a real a without output="complex"; ValueError if
             a is not finite.
    Cost:    O(n^3), and so is the sweep.
    Ref:     Golub & Van Loan (2013), section 7.6.3.

    >>> t, z = schur(np.array([[2.0, 3.0], [1.0, 4.0]]))
    >>> abs(t).round(6)
    array([[1., 2.],
           [0., 5.]])
    """
    if output not in ("real", "r", "complex", "c"):
        raise ValueError("contad.scipy.linalg.schur: argument must be 'real', or 'complex'")
    refuse_options("schur", sort=sort)
    (a,) = matrices("schur", check_finite, a)
    z = schur_factors(as_complex(a) if output in ("complex", "c") else a)
    n = np.shape(z)[1]
    return in_c_order(z[:n]), in_c_order(z[n:])


# ---- subspaces -------------------------------------------------------------------------------------------------------
def _rank(s: ArrayValue, shape: tuple[int, ...], rcond: Option) -> int:
    """The number of singular values that count as nonzero, a constant."""
    values = plain(s)
    bound = np.finfo(float).eps * max(shape) if rcond is None else float(rcond)
    return int(np.sum(values > bound * np.max(values, initial=0.0)))


def rank_above(a: ArrayValue, bound: float) -> int:
    """The number of singular values of a plain matrix above the bound times the largest."""
    return _rank(np.linalg.svd(a, compute_uv=False), np.shape(a), bound)


@mirror
@over_stacks(A=2)
def orth(A: ArrayValue, rcond: Option = None) -> ArrayValue:
    """An orthonormal basis of the range of a matrix: the left singular vectors of nonzero singular values.

        A = u diag(s) v^T,     z = the columns of u where s is not zero: z^T z = 1, z z^T projects onto the range of A

    The rank is a constant.

    Shapes:  A (m, n) -> (m, k), k the rank.
    Domain:  every finite A; vectors of equal singular values have the derivative nan.
    Raises:  ValueError if A is not finite.
    Cost:    O(m n min(m, n)), and so is the sweep, which is that of `svd`.
    Ref:     Giles (2008), section 2.3.4.

    >>> abs(orth(np.array([[3.0, 6.0], [4.0, 8.0]]))).round(6)
    array([[0.6],
           [0.8]])
    """
    (a,) = matrices("orth", True, A)
    u, s, _ = singular_spectra.svd(a, full_matrices=False)
    return in_c_order(u[:, : _rank(s, np.shape(a), rcond)])


@mirror
@over_stacks(A=2)
def null_space(
    A: ArrayValue, rcond: Option = None, *, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> ArrayValue:  # fmt: skip
    """The unit vector, as a column, that a matrix maps to zero; no column if there is none.

        A z = 0,     |z| = 1

    With two or more dimensions the basis is arbitrary and has no derivative: use the projector onto the space,
    `np.eye(n) - pinv(A) @ A`. The rank is a constant.

    Shapes:  A (m, n) -> (n, 1) or (n, 0).
    Domain:  every finite A whose null space has at most one dimension.
    Raises:  UnsupportedError for two or more dimensions; ValueError if A is not finite.
    Cost:    O(m n min(m, n)), and so is the sweep, which is that of `pinv`.
    Ref:     Golub & Pereyra (1973), equation 4.12.

    >>> abs(null_space(np.array([[3.0, 4.0]]))).round(6)
    array([[0.8],
           [0.6]])
    """
    (a,) = matrices("null_space", check_finite, A)
    given = linalg().null_space(plain(a), rcond=rcond)
    if given.shape[1] > 1:
        raise UnsupportedError(
            f"contad.scipy.linalg.null_space: the space has {given.shape[1]} dimensions, and its basis no derivative; "
            "use the projector onto it, np.eye(n) - pinv(A) @ A"
        )
    if given.shape[1] == 0:
        return given
    # the projection of that vector onto the space that it spans, at every order
    bound = max(np.shape(a)) * np.finfo(float).eps if rcond is None else float(rcond)
    q = given - matmul(orthogonal_factors.pseudoinverse(a, rcond=bound), matmul(a, given))
    return q / np.sqrt(np.sum(real_of(q * conj_of(q))))


@mirror
@over_stacks(A=2, B=2)
def subspace_angles(A: ArrayValue, B: ArrayValue) -> ArrayValue:
    """The angles between the ranges of two matrices, from the largest.

        cos and sin of the angles are singular values of q_a^T q_b and of (1 - q_a q_a^T) q_b; each where it is exact

    An angle of 0 is a kink, where the derivative is one-sided, like that of a norm at zero. If a matrix has full rank,
    its range comes from its QR factor, so that equal singular values do no harm.

    Shapes:  A (m, n), B (m, k) -> (min(n, k),).
    Domain:  every finite A and B.
    Raises:  ValueError for shapes that do not fit, and for values that are not finite.
    Cost:    O(m n^2), and so is the sweep.
    Ref:     Knyazev & Argentati (2002).

    >>> subspace_angles(np.array([[1.0], [0.5]]), np.array([[1.0], [1.0]])).round(6)
    array([0.321751])
    """
    a, b = matrices("subspace_angles", True, A, B)
    for x in (a, b):
        if np.ndim(x) != 2:
            raise ValueError(f"contad.scipy.linalg.subspace_angles: expected 2D array, got shape {np.shape(x)}")
    if len(a) != len(b):
        raise ValueError(
            f"contad.scipy.linalg.subspace_angles: A and B must have the same number of rows, got {len(a)} and {len(b)}"
        )
    left, right = map(_range_of, (a, b))
    across = matmul(conj_transposed_of(left), right)
    cosines = singular_spectra.svdvals(across)
    if np.shape(left)[1] >= np.shape(right)[1]:
        rest = right - matmul(left, across)
    else:
        rest = left - matmul(right, conj_transposed_of(across))
    small = plain(cosines) ** 2 >= 0.5
    sines = singular_spectra.svdvals(rest)
    # each element by the function that is exact there; the other one gets 0
    by_sine = np.arcsin(np.clip(np.where(small, sines, 0.0), -1.0, 1.0))
    by_cosine = np.arccos(np.clip(np.where(small, 0.0, cosines[::-1]), -1.0, 1.0))
    return np.where(small, by_sine, by_cosine)


def _range_of(a: ArrayValue) -> ArrayValue:
    """An orthonormal basis of the range of a matrix."""
    m, n = np.shape(a)
    rank = _rank(np.linalg.svd(plain(a), compute_uv=False), (m, n), None)
    return orthogonal_factors.qr(a)[0] if rank == n <= m else orth(a)
