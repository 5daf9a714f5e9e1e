"""Stan's decompositions of matrices.

The signs of QR factors are chosen such that the diagonal of r is not negative, as in Stan.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from contad.distributions.docstrings import describe, with_rest_of
from contad.ops import orthogonal_factors, singular_spectra, spectra
from contad.ops.linear_systems import in_c_order, transposed_of
from contad.ops.products import as_array
from contad.ops.schur_forms import schur_factors
from contad.ops.triangular_factors import cholesky_factor
from contad.stan.compiled import WithBodies, with_bodies
from contad.stan.recorded_checks import are_finite, equals_its_transposed, require_symmetric, values_of
from contad.stan.shapes import matrices
from contad.variables.array import numbers_in
from contad.variables.complex_pair import as_complex
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue

__all__ = [
    "cholesky_decompose", "complex_schur_decompose", "complex_schur_decompose_t", "complex_schur_decompose_u",
    "eigendecompose", "eigendecompose_sym", "eigenvalues", "eigenvalues_sym", "eigenvectors",
    "eigenvectors_sym", "qr", "qr_Q", "qr_R", "qr_thin", "qr_thin_Q", "qr_thin_R", "singular_values", "svd", "svd_U",
    "svd_V",
]  # fmt: skip

SYMMETRIC = (("a", "symmetric"),)
WIDE = (("a.shape[0] <= a.shape[1]", "a must have no more rows than columns inside njit; call qr_thin"),)


@with_bodies({"nn": "cholesky(a)"}, inside=(*SYMMETRIC, ("a", "real")))
def cholesky_decompose(a: ArrayValue) -> ArrayValue:
    """The Cholesky factor of a symmetric positive definite matrix, like `numpy.linalg.cholesky`.

        a = l l^T, l lower triangular,     l_dot = l P(l^-1 a_dot l^-T),     a_bar = l^-T P(l^T l_bar) l^-1,
        P the lower triangle, with the diagonal halved

    The lower triangle of a is read. Its cotangent has the sum of both triangles there, and zeros above.

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  every symmetric positive definite a.
    Raises:  ValueError if a is not symmetric, LinAlgError if it is not positive definite or not square.
    Cost:    O(n^3) forward, three times that in reverse.
    Ref:     Giles (2008), section 2.3.2; Murray (2016), equation 10;
             Stan Functions Reference, Cholesky decomposition.

    >>> cholesky_decompose([[4.0, 2.0], [2.0, 10.0]])
    array([[2., 0.],
           [1., 3.]])
    """
    a = as_array(a)
    if not equals_its_transposed(a):
        require_symmetric("cholesky_decompose", "a", a, "real")
    z = cholesky_factor(a)
    if z.__class__ is np.ndarray and z.size and not z[-1, -1] < math.inf:  # any nan reaches the last pivot
        require_symmetric("cholesky_decompose", "a", a, "real")
    return z


# ---- parts -----------------------------------------------------------------------------------------------------------
def _part_of(
    whole: WithBodies, function: Callable[[str, ArrayValue], Sequence[ArrayValue]], place: int, name: str, title: str,
    shapes: str, example: str, ways: Mapping[str, str] | None = None,
) -> WithBodies:  # fmt: skip
    """The function for one part of a decomposition, which `compute(name, matrix)` returns.

    ways    the compiled forms, if the part alone costs less than the whole
    """

    def part(a: ArrayValue) -> ArrayValue:
        return function(name, a)[place]

    part.__name__ = part.__qualname__ = name
    part.__doc__ = describe(f"{title} of `{whole.__name__}`.", "", {"Shapes": f"{shapes}."}, example)
    known = ways or {pattern: f"{expression}[{place}]" for pattern, expression in whole.ways.items()}
    made: WithBodies = with_bodies(known, inside=whole.inside)(with_rest_of(whole)(part))
    return made


# ---- QR --------------------------------------------------------------------------------------------------------------
@with_bodies({"mn": "with_positive_diagonal(np.linalg.qr(a))"})
def qr_thin(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """The QR decomposition with the smallest number of columns; the diagonal of r is not negative.

        a = q r, q^T q = 1,     q_dot = x - q (c - w),     r_dot = (c - w) r,     x = a_dot r^-1, c = q^T x,
        w = l - l^T, l the strict lower triangle of c

    Shapes:  a (..., m, n) -> (..., m, k), (..., k, n) with k = min(m, n).
    Domain:  a whose first k columns are independent; otherwise the derivative is nan.
    Raises:  ValueError if a is not a matrix.
    Cost:    O(m n k) forward and reverse.
    Ref:     Walter & Lehmann (2013), section 3; Stan Functions Reference, QR decomposition.

    >>> qr_thin([[3.0, 1.0], [4.0, 2.0]])[1]
    array([[5. , 2.2],
           [0. , 0.4]])
    """
    return _factors("qr_thin", a)


def _factors(name: str, a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    (a,) = matrices(name, a=a)
    return _with_positive_diagonal(*orthogonal_factors.qr(a))


def _with_positive_diagonal(q: ArrayValue, r: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    k = min(np.shape(r)[-2:])
    sign = np.where(observe(np.less, np.diagonal(r, 0, -2, -1), 0.0), -1.0, 1.0)
    of_rows = np.concatenate([sign, np.ones((*sign.shape[:-1], np.shape(r)[-2] - k))], axis=-1)
    return q * np.expand_dims(of_rows, -2), np.expand_dims(of_rows, -1) * r + 0.0


qr_thin_Q = _part_of(
    qr_thin, _factors, 0, "qr_thin_Q", "The q", "a (..., m, n) -> (..., m, k) with k = min(m, n)",
    ">>> qr_thin_Q([[3.0, 1.0], [4.0, 2.0]])\narray([[ 0.6, -0.8],\n       [ 0.8,  0.6]])",
)  # fmt: skip
qr_thin_R = _part_of(
    qr_thin, _factors, 1, "qr_thin_R", "The r", "a (..., m, n) -> (..., k, n) with k = min(m, n)",
    ">>> qr_thin_R([[3.0, 1.0], [4.0, 2.0]])\narray([[5. , 2.2],\n       [0. , 0.4]])",
)  # fmt: skip


@with_bodies({"mn": "with_positive_diagonal(np.linalg.qr(a))"}, inside=WIDE)
def qr(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """The QR decomposition with a square q; the diagonal of r is not negative.

        a = q r, q^T q = q q^T = 1, r_ii >= 0; derivatives as of `qr_thin`

    If a has more rows than columns, the additional columns of q have no derivative; call `qr_thin` instead.

    Shapes:  a (m, n) -> (m, m), (m, n).
    Domain:  a with at most as many rows as columns and independent first columns; a constant may be any matrix.
    Raises:  UnsupportedError for a variable with more rows than columns.
    Cost:    O(m^2 n) forward and reverse.
    Ref:     Walter & Lehmann (2013), section 3; Stan Functions Reference, QR decomposition.

    >>> qr([[0.0, 3.0], [4.0, 5.0]])[1]
    array([[4., 5.],
           [0., 3.]])
    """
    return qr_Q(a), qr_R(a)


@with_bodies({"mn": "with_positive_diagonal(np.linalg.qr(a))[0]"}, inside=WIDE)
@with_rest_of(qr)
def qr_Q(a: ArrayValue) -> ArrayValue:
    """The q of `qr`.

    Shapes:  a (m, n) -> (m, m).

    >>> qr_Q([[3.0, 1.0], [4.0, 2.0]])
    array([[ 0.6, -0.8],
           [ 0.8,  0.6]])
    """
    (a,) = matrices("qr_Q", a=a)
    m, n = np.shape(a)[-2:]
    complete = np.linalg.qr if m > n and not numbers_in(a) else orthogonal_factors.qr
    return _with_positive_diagonal(*complete(a, "complete"))[0]


@with_bodies({"mn": "with_rows_of_zeros(with_positive_diagonal(np.linalg.qr(a))[1], a.shape[0])"})
@with_rest_of(qr_thin)
def qr_R(a: ArrayValue) -> ArrayValue:
    """The r of `qr`: that of `qr_thin`, followed by rows of zeros if a has more rows than columns.

    Shapes:  a (m, n) -> (m, n), whose first k = min(m, n) rows are those of `qr_thin`.

    >>> qr_R([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]]).round(6) + 0.0
    array([[5.      , 2.2     ],
           [0.      , 2.039608],
           [0.      , 0.      ]])
    """
    r = _factors("qr_R", a)[1]
    m, (k, n) = np.shape(a)[-2], np.shape(r)[-2:]
    return r if m == k else np.concatenate([r, np.zeros((*np.shape(r)[:-2], m - k, n))], axis=-2)


# ---- singular values -------------------------------------------------------------------------------------------------
@with_bodies({"mn": "with_vectors_in_columns(np.linalg.svd(a, False))"})
def svd(a: ArrayValue) -> tuple[ArrayValue, ArrayValue, ArrayValue]:
    """The singular value decomposition, with values from the largest; the signs of vectors are LAPACK's.

        a = u diag(s) v^T,     s_dot = diag(c),     u_dot = u (f (c s + s c^T)) + (1 - u u^T) a_dot v s^-1,
        c = u^T a_dot v, f_ij = 1 / (s_j^2 - s_i^2), 0 for i = j; v_dot is like u_dot

    Shapes:  a (..., m, n) -> (..., m, k), (..., k), (..., n, k) with k = min(m, n).
    Domain:  every a; vectors of equal singular values have the derivative nan.
    Raises:  LinAlgError if a is not finite.
    Cost:    O(m n k) forward and reverse.
    Ref:     Giles (2008), section 2.3.4; Stan Functions Reference, singular value decomposition.

    >>> svd([[0.5, 2.0], [3.0, 0.0]])[1].round(6)
    array([3.071486, 1.953452])
    """
    return _singular_parts("svd", a)


def _singular_parts(name: str, a: ArrayValue) -> tuple[ArrayValue, ArrayValue, ArrayValue]:
    (a,) = matrices(name, a=a)
    u, s, vh = singular_spectra.svd(a, full_matrices=False)
    return u, s, in_c_order(transposed_of(vh))


svd_U = _part_of(
    svd, _singular_parts, 0, "svd_U", "The u", "a (..., m, n) -> (..., m, k) with k = min(m, n)",
    ">>> abs(svd_U([[0.5, 2.0], [3.0, 0.0]])).round(6)\narray([[0.277949, 0.960596],\n       [0.960596, 0.277949]])",
)  # fmt: skip
svd_V = _part_of(
    svd, _singular_parts, 2, "svd_V", "The v, not transposed,", "a (..., m, n) -> (..., n, k) with k = min(m, n)",
    ">>> abs(svd_V([[0.5, 2.0], [3.0, 0.0]])).round(6)\narray([[0.983486, 0.180987],\n       [0.180987, 0.983486]])",
)  # fmt: skip


@with_bodies({"mn": "np.linalg.svd(a, False)[1]"})
def singular_values(a: ArrayValue) -> ArrayValue:
    """The singular values of a matrix, from the largest, like `numpy.linalg.svdvals`.

        a = u diag(s) v^T,     s_dot = diag(u^T a_dot v),     a_bar = u diag(s_bar) v^T

    Shapes:  a (..., m, n) -> (..., min(m, n)).
    Domain:  every a; if values are equal or 0, the derivative is that for LAPACK's vectors.
    Raises:  LinAlgError if a is not finite.
    Cost:    O(m n min(m, n)) forward and reverse.
    Ref:     Giles (2008), section 2.3.4; Stan Functions Reference, singular value decomposition.

    >>> singular_values([[0.5, 2.0], [3.0, 0.0]]).round(6)
    array([3.071486, 1.953452])
    """
    (a,) = matrices("singular_values", a=a)
    return singular_spectra.svdvals(a)


# ---- eigenvalues -----------------------------------------------------------------------------------------------------
@with_bodies({"nn": "spectrum_of(a)"}, inside=SYMMETRIC)
def eigendecompose_sym(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """Eigenvectors, in columns, and eigenvalues, from the smallest, of a symmetric matrix.

        a v = v diag(w), v^T v = 1,     w_dot = diag(c),     v_dot = v (f c),
        c = v^T a_dot v, f_ij = 1 / (w_j - w_i), 0 for i = j

    The lower triangle of a is read. Its cotangent has the sum of both triangles there, and zeros above.

    Shapes:  a (..., n, n) -> (..., n, n), (..., n).
    Domain:  every symmetric a; vectors of equal eigenvalues have the derivative nan, and their signs are LAPACK's.
    Raises:  ValueError if a is not symmetric, LinAlgError if it is not square.
    Cost:    O(n^3) forward and reverse.
    Ref:     Giles (2008), section 2.3.3; Stan Functions Reference, eigendecomposition.

    >>> eigendecompose_sym([[3.0, 0.5], [0.5, 2.0]])[1].round(6)
    array([1.792893, 3.207107])
    """
    return _spectrum("eigendecompose_sym", a)


def _spectrum(name: str, a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    a = as_array(a)
    if equals_its_transposed(a) and are_finite(a):
        w, v = spectra.eigh(a)
        return v, w
    require_symmetric(name, "a", a)
    w, v = spectra.eigh(a)
    seen = values_of(name, "a", a)
    return (v, w) if np.all(np.abs(seen) < np.inf) else (v * math.nan, w * math.nan)  # LAPACK gives any then


eigenvalues_sym = _part_of(
    eigendecompose_sym, _spectrum, 1, "eigenvalues_sym", "The eigenvalues", "a (..., n, n) -> (..., n)",
    ">>> eigenvalues_sym([[3.0, 0.5], [0.5, 2.0]]).round(6)\narray([1.792893, 3.207107])", {"nn": "eigenvalues_of(a)"},
)  # fmt: skip
eigenvectors_sym = _part_of(
    eigendecompose_sym, _spectrum, 0, "eigenvectors_sym", "The eigenvectors", "a (..., n, n) -> (..., n, n)",
    ">>> abs(eigenvectors_sym([[3.0, 0.5], [0.5, 2.0]])).round(6)\n"
    "array([[0.382683, 0.92388 ],\n       [0.92388 , 0.382683]])",
)  # fmt: skip


@with_bodies({"nn": "vectors_first(np.linalg.eig(a))"})
def eigendecompose(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """Eigenvectors of length 1, in columns, and eigenvalues of a matrix.

        a v = v diag(w),     w_dot = diag(c),     v_dot = v (f c) - v diag(v^T v (f c)),
        c = v^-1 a_dot v, f_ij = 1 / (w_j - w_i), 0 for i = j

    In Stan these are always complex. Here they are real if all eigenvalues of a real matrix are.

    Shapes:  a (..., n, n) -> (..., n, n), (..., n).
    Domain:  matrices with n eigenvectors; those of equal eigenvalues have the derivative nan.
    Raises:  LinAlgError if a is not square; inside njit, ValueError if eigenvalues of a real matrix are complex.
    Cost:    O(n^3) forward and reverse.
    Ref:     Giles (2008), section 2.3.3; Stan Functions Reference, eigendecomposition.

    >>> eigendecompose([[3.0, 1.0], [0.5, 2.0]])[1].round(6)
    array([3.366025, 1.633975])
    """
    return _eigenvectors_first("eigendecompose", a)


def _eigenvectors_first(_: str, a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    w, v = spectra.eig(a)
    return v, w


eigenvalues = _part_of(
    eigendecompose, _eigenvectors_first, 1, "eigenvalues", "The eigenvalues", "a (..., n, n) -> (..., n)",
    ">>> eigenvalues([[3.0, 1.0], [0.5, 2.0]]).round(6)\narray([3.366025, 1.633975])", {"nn": "np.linalg.eigvals(a)"},
)  # fmt: skip
eigenvectors = _part_of(
    eigendecompose, _eigenvectors_first, 0, "eigenvectors", "The eigenvectors", "a (..., n, n) -> (..., n, n)",
    ">>> abs(eigenvectors([[3.0, 1.0], [0.5, 2.0]])).round(6)\n"
    "array([[0.939071, 0.59069 ],\n       [0.343724, 0.806898]])",
)  # fmt: skip


# ---- Schur's form ----------------------------------------------------------------------------------------------------
def complex_schur_decompose(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """The complex Schur form of a matrix: a unitary u and an upper triangular t.

        a = u t u^H,     t_dot = up(c - x t + t x),     u_dot = u x,     c = u^H a_dot u,     x = l - l^H,
        l strictly lower, low(l t - t l) = low(c); low and up are the part below the diagonal and the rest

    The columns of u have arbitrary phases; derivatives are right for functions that do not depend on them.

    Shapes:  a (n, n) -> (n, n), (n, n).
    Domain:  distinct eigenvalues; otherwise the derivatives are nan.
    Raises:  ValueError if a is not a matrix, LinAlgError if it is not square; inside njit, which computes u from the
             eigenvectors, ValueError if u is not accurate because eigenvalues are too close.
    Cost:    O(n^3) forward and reverse.
    Ref:     Golub & Van Loan (2013), section 7.1.3; Stan Functions Reference, Schur decomposition.

    >>> complex_schur_decompose([[0.0, 1.0], [-1.0, 0.0]])[1].round(6) + 0.0
    array([[0.+1.j, 0.+0.j],
           [0.+0.j, 0.-1.j]])
    """
    (a,) = matrices("complex_schur_decompose", a=a)
    z = schur_factors(as_complex(a))
    n = np.shape(z)[1]
    return z[n:], z[:n]


@with_rest_of(complex_schur_decompose)
def complex_schur_decompose_u(a: ArrayValue) -> ArrayValue:
    """The unitary factor of `complex_schur_decompose`.

    Shapes:  a (n, n) -> (n, n).

    >>> abs(complex_schur_decompose_u([[0.0, 1.0], [-1.0, 0.0]])).round(6)
    array([[0.707107, 0.707107],
           [0.707107, 0.707107]])
    """
    return complex_schur_decompose(a)[0]


@with_rest_of(complex_schur_decompose)
def complex_schur_decompose_t(a: ArrayValue) -> ArrayValue:
    """The triangular factor of `complex_schur_decompose`, with the eigenvalues on its diagonal.

    Shapes:  a (n, n) -> (n, n).

    >>> np.diagonal(complex_schur_decompose_t([[0.0, 1.0], [-1.0, 0.0]])).round(6) + 0.0
    array([0.+1.j, 0.-1.j])
    """
    return complex_schur_decompose(a)[1]
