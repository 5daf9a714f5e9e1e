"""Stan's decompositions of matrices.

Of factors whose sign is free, those of QR have a diagonal of r that is not negative, as in Stan.
"""


import numpy as np

from contad.ops import orthogonal_factors, spectra
from contad.ops.linear_systems import check_square, in_c_order, transposed_of
from contad.ops.products import as_array
from contad.ops.triangular_factors import cholesky_factor
from contad.stan.shapes import matrices
from contad.variables.array import numbers_in
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue


def cholesky_decompose(a: ArrayValue) -> ArrayValue:
    """The lower triangular l of a = l l^T, as `numpy.linalg.cholesky`.

    The lower triangle of a is read. Its cotangent has there the sum of both triangles, and zeros above.

    Shapes:  a (..., n, n) -> (..., n, n).
    Raises:  LinAlgError if a is not positive definite or not square.
    Cost:    O(n^3) forward, three times that in reverse.

    >>> cholesky_decompose([[4.0, 2.0], [2.0, 10.0]])
    array([[2., 0.],
           [1., 3.]])
    """
    a = as_array(a)
    check_square("cholesky_decompose", a)
    return cholesky_factor(a)


# ---- QR --------------------------------------------------------------------------------------------------------------
def qr_thin(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """q and r of a = q r, with min(m, n) columns of q; the diagonal of r is not negative.

    Shapes:  a (..., m, n) -> (..., m, k), (..., k, n) with k = min(m, n).
    Domain:  a whose first k columns are independent; else the derivative is nan.
    Cost:    O(m n k) forward and reverse.

    >>> qr_thin([[3.0], [4.0]])[1]
    array([[5.]])
    """
    (a,) = matrices("qr_thin", a=a)
    return _with_positive_diagonal(*orthogonal_factors.qr(a))


def qr_thin_Q(a: ArrayValue) -> ArrayValue:
    """The q of `qr_thin`.

    Shapes:  a (..., m, n) -> (..., m, k) with k = min(m, n).
    Cost:    as `qr_thin`.

    >>> qr_thin_Q([[3.0], [4.0]])
    array([[0.6],
           [0.8]])
    """
    return qr_thin(a)[0]


def qr_thin_R(a: ArrayValue) -> ArrayValue:
    """The r of `qr_thin`.

    Shapes:  a (..., m, n) -> (..., k, n) with k = min(m, n).
    Cost:    as `qr_thin`.

    >>> qr_thin_R([[3.0], [4.0]])
    array([[5.]])
    """
    return qr_thin(a)[1]


def qr(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """q and r of a = q r with a square q; the diagonal of r is not negative.

    Where a has more rows than columns, the additional columns of q have no derivative: there `qr_thin` is to be called.

    Shapes:  a (m, n) -> (m, m), (m, n).
    Raises:  UnsupportedError for a variable with more rows than columns.
    Cost:    O(m^2 n) forward and reverse.

    >>> qr([[0.0, 3.0], [4.0, 5.0]])[1]
    array([[4., 5.],
           [0., 3.]])
    """
    return qr_Q(a), qr_R(a)


def qr_Q(a: ArrayValue) -> ArrayValue:
    """The q of `qr`.

    Shapes:  a (m, n) -> (m, m).
    Raises:  UnsupportedError for a variable with more rows than columns.
    Cost:    as `qr`.

    >>> qr_Q([[0.0, 3.0], [4.0, 5.0]]) + 0.0
    array([[0., 1.],
           [1., 0.]])
    """
    (a,) = matrices("qr_Q", a=a)
    m, n = np.shape(a)[-2:]
    complete = np.linalg.qr if m > n and not numbers_in(a) else orthogonal_factors.qr
    return _with_positive_diagonal(*complete(a, "complete"))[0]


def qr_R(a: ArrayValue) -> ArrayValue:
    """The r of `qr`: that of `qr_thin`, over rows of zeros where a has more rows than columns.

    Shapes:  a (m, n) -> (m, n).
    Cost:    as `qr_thin`.

    >>> qr_R([[3.0], [4.0]])
    array([[5.],
           [0.]])
    """
    r = qr_thin(a)[1]
    m, (k, n) = np.shape(a)[-2], np.shape(r)[-2:]
    return r if m == k else np.concatenate([r, np.zeros((*np.shape(r)[:-2], m - k, n))], axis=-2)


def _with_positive_diagonal(q: ArrayValue, r: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    k = min(np.shape(r)[-2:])
    sign = np.where(observe(np.less, np.diagonal(r, 0, -2, -1), 0.0), -1.0, 1.0)
    of_rows = np.concatenate([sign, np.ones((*sign.shape[:-1], np.shape(r)[-2] - k))], axis=-1)
    return q * np.expand_dims(of_rows, -2), np.expand_dims(of_rows, -1) * r + 0.0


# ---- singular values -------------------------------------------------------------------------------------------------
def svd(a: ArrayValue) -> tuple[ArrayValue, ArrayValue, ArrayValue]:
    """u, s and v of a = u diag(s) v^T, the singular values from the largest; the signs of vectors are LAPACK's.

    Shapes:  a (..., m, n) -> (..., m, k), (..., k), (..., n, k) with k = min(m, n).
    Domain:  every a; vectors of equal singular values have the derivative nan.
    Raises:  LinAlgError if a is not finite.
    Cost:    O(m n k) forward and reverse.

    >>> svd([[0.0, 2.0], [3.0, 0.0]])[1]
    array([3., 2.])
    """
    (a,) = matrices("svd", a=a)
    u, s, vh = spectra.svd(a, full_matrices=False)
    return u, s, in_c_order(transposed_of(vh))


def svd_U(a: ArrayValue) -> ArrayValue:
    """The u of `svd`.

    Shapes:  a (..., m, n) -> (..., m, k) with k = min(m, n).
    Cost:    as `svd`.

    >>> abs(svd_U([[0.0, 2.0], [3.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    return svd(a)[0]


def svd_V(a: ArrayValue) -> ArrayValue:
    """The v of `svd`, not transposed.

    Shapes:  a (..., m, n) -> (..., n, k) with k = min(m, n).
    Cost:    as `svd`.

    >>> abs(svd_V([[0.0, 2.0], [3.0, 0.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    return svd(a)[2]


def singular_values(a: ArrayValue) -> ArrayValue:
    """The singular values of a matrix, from the largest, as `numpy.linalg.svdvals`.

    Shapes:  a (..., m, n) -> (..., min(m, n)).
    Raises:  LinAlgError if a is not finite.
    Cost:    O(m n min(m, n)) forward and reverse.

    >>> singular_values([[0.0, 2.0], [3.0, 0.0]])
    array([3., 2.])
    """
    (a,) = matrices("singular_values", a=a)
    return spectra.svdvals(a)


# ---- eigenvalues -----------------------------------------------------------------------------------------------------
def eigendecompose_sym(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """Eigenvectors, in columns, and eigenvalues, from the smallest, of a symmetric matrix.

    The lower triangle of a is read. Its cotangent has there the sum of both triangles, and zeros above.

    Shapes:  a (..., n, n) -> (..., n, n), (..., n).
    Domain:  every symmetric a; vectors of equal eigenvalues have the derivative nan, and their signs are LAPACK's.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse.

    >>> eigendecompose_sym([[3.0, 0.0], [0.0, 2.0]])[1]
    array([2., 3.])
    """
    w, v = spectra.eigh(a)
    return v, w


def eigenvalues_sym(a: ArrayValue) -> ArrayValue:
    """The eigenvalues of `eigendecompose_sym`.

    Shapes:  a (..., n, n) -> (..., n).
    Cost:    as `eigendecompose_sym`.

    >>> eigenvalues_sym([[3.0, 0.0], [0.0, 2.0]])
    array([2., 3.])
    """
    return eigendecompose_sym(a)[1]


def eigenvectors_sym(a: ArrayValue) -> ArrayValue:
    """The eigenvectors of `eigendecompose_sym`.

    Shapes:  a (..., n, n) -> (..., n, n).
    Cost:    as `eigendecompose_sym`.

    >>> abs(eigenvectors_sym([[3.0, 0.0], [0.0, 2.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    return eigendecompose_sym(a)[0]


def eigendecompose(a: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """Eigenvectors of length 1, in columns, and eigenvalues of a matrix whose eigenvalues are real.

    In Stan these are complex. Here complex ones are refused, and real ones stay real.

    Shapes:  a (..., n, n) -> (..., n, n), (..., n).
    Domain:  matrices with n eigenvectors; those of equal eigenvalues have the derivative nan.
    Raises:  UnsupportedError if eigenvalues are complex; LinAlgError if a is not square.
    Cost:    O(n^3) forward and reverse.

    >>> eigendecompose([[3.0, 0.0], [0.0, 2.0]])[1]
    array([3., 2.])
    """
    w, v = spectra.eig(a)
    return v, w


def eigenvalues(a: ArrayValue) -> ArrayValue:
    """The eigenvalues of `eigendecompose`.

    Shapes:  a (..., n, n) -> (..., n).
    Raises:  UnsupportedError if eigenvalues are complex.
    Cost:    as `eigendecompose`.

    >>> eigenvalues([[3.0, 0.0], [0.0, 2.0]])
    array([3., 2.])
    """
    return eigendecompose(a)[1]


def eigenvectors(a: ArrayValue) -> ArrayValue:
    """The eigenvectors of `eigendecompose`.

    Shapes:  a (..., n, n) -> (..., n, n).
    Raises:  UnsupportedError if eigenvalues are complex.
    Cost:    as `eigendecompose`.

    >>> abs(eigenvectors([[3.0, 0.0], [0.0, 2.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    return eigendecompose(a)[0]
