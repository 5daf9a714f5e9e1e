"""Products and systems with Toeplitz and circulant matrices, given by a column and a row."""

import numpy as np

from contad.ops._scipy import linalg
from contad.ops.linear_systems import as_columns, mask
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import COMPLEX, dtype_beside

_C, _R = [2.3, -0.7, 0.4, 0.9], [9.0, 0.5, -0.8, 0.3]  # the 9 is not read
_B, _BS = [0.6, 1.7, -0.2, 0.8], [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9], [0.8, 0.3]]


@array_rule(
    dtypes=COMPLEX,
    points=[
        (_C, _R, _B),
        (_C, _R, _BS),
        (_C[:3], _R, _BS),
        (_C, _R[:2], _B[:2]),
        ([1.7], [9.0, 0.5], [0.6, -0.4]),
    ]
)
def toeplitz_product(c, r, x):
    """The product of the matrix t_ij = c_{i-j}, r_{j-i} above the diagonal, with x; like scipy.linalg.matmul_toeplitz.

        z = t x,     z_dot = t_dot x + t x_dot,     x_bar = t^T z_bar
        c_bar_k = sum_i <z_bar_{i+k}, x_i>,     r_bar_k = sum_i <z_bar_i, x_{i+k}> for k > 0, r_bar_0 = 0

    Shapes:  c (m,), r (n,), x (n,) or (n, k) -> z (m,) or (m, k); r_0 is not read.
    Domain:  finite numbers.
    Cost:    O((m + n) log (m + n) k), by Fourier transforms, forward and for each cotangent; saves nothing.
    Ref:     Golub & Van Loan (2013), section 4.8.2.

    >>> toeplitz_product(np.array([1.0, 2.0]), np.array([0.0, 3.0]), np.array([5.0, 7.0]))
    array([26., 17.])
    """
    z = linalg().matmul_toeplitz((c, r), x, check_finite=False)
    return z.astype(dtype_beside(x, c), copy=False)  # SciPy computes in double precision


@toeplitz_product.vjp("c")
def toeplitz_product_vjp_c(z, z_bar, c, r, x):
    return column_cotangent(z_bar, x)


@toeplitz_product.vjp("r")
def toeplitz_product_vjp_r(z, z_bar, c, r, x):
    return row_cotangent(z_bar, x)


@toeplitz_product.vjp("x")
def toeplitz_product_vjp_x(z, z_bar, c, r, x):
    return transposed_toeplitz_product(c, r, z_bar)


@toeplitz_product.jvp
def toeplitz_product_jvp(z, c_dot, r_dot, x_dot, c, r, x):
    return toeplitz_product(c_dot, r_dot, x) + toeplitz_product(c, r, x_dot)


def transposed_parts(c, r):
    """The first column and the first row of the transposed matrix."""
    return np.concatenate([c[:1], r[1:]]), c


def transposed_toeplitz_product(c, r, z_bar):
    """t^T z_bar."""
    return toeplitz_product(*transposed_parts(c, r), z_bar)


def lagged_sums(x, y, n):
    """sum_i <x_{i+k}, y_i> for k < n: products with upper triangular Toeplitz matrices."""
    left, right = as_columns(x, np.ndim(x)), as_columns(y, np.ndim(y))
    total = 0.0
    for k in range(np.shape(left)[1]):
        row = fit(left[:, k], n + np.shape(right)[0])
        total = total + _lags(row, right[:, k], n)
    return total


def _lags(x, y, n):
    """sum_i x_{i+k} y_i for k < n, as a product with the Toeplitz matrix whose first column holds x backwards."""
    m = np.shape(y)[0]
    # z_k = sum_i x_{k+i} y_i = sum_j x_{k+m-1-j} y_{m-1-j}: constant along k - j
    return toeplitz_product(x[m - 1 : m - 1 + n], x[:m][::-1], y[::-1])


def fit(x, n):
    """The first n elements of a vector, padded with zeros."""
    m = np.shape(x)[0]
    return x[:n] if m >= n else np.concatenate([x, np.zeros(n - m, dtype_beside(x))])


def column_cotangent(z_bar, x):
    """The cotangent of the first column of t, from those of t x."""
    return lagged_sums(z_bar, x, np.shape(z_bar)[0])


def row_cotangent(z_bar, x):
    """The cotangent of the first row of t, whose first element is that of the column."""
    found = lagged_sums(x, z_bar, np.shape(x)[0])
    return np.concatenate([np.zeros(1, dtype_beside(found)), found[1:]])


@array_rule(dtypes=COMPLEX, points=[(_C, _R, _B), (_C, _R, _BS), ([1.7, 0.4], [9.0, -0.5], [0.6, 1.3])])
def toeplitz_solution(c, r, b):
    """The solution of t z = b for the Toeplitz matrix with first column c and first row r; like SciPy's solve_toeplitz.

        z = t^-1 b,     z_dot = t^-1 (b_dot - t_dot z),     b_bar = t^-T z_bar
        c_bar_k = -sum_i <b_bar_{i+k}, z_i>,     r_bar_k = -sum_i <b_bar_i, z_{i+k}> for k > 0, r_bar_0 = 0

    Shapes:  c (n,), r (n,), b (n,) or (n, k) -> z like b; r_0 is not read.
    Domain:  t whose leading square submatrices are nonsingular.
    Raises:  LinAlgError if a leading submatrix of t is singular, ValueError if the lengths differ.
    Cost:    O(n^2 k) by Levinson's recursion, forward and for b_bar, and O(n log n k); O(n k) of memory.
    Ref:     Giles (2008), section 2.3.1; Golub & Van Loan (2013), section 4.7.

    >>> toeplitz_solution(np.array([1.0, 2.0]), np.array([0.0, 3.0]), np.array([26.0, 17.0]))
    array([5., 7.])
    """
    # a copy, because SciPy before 1.15 refuses read-only vectors
    return linalg().solve_toeplitz((c, r), np.array(b), check_finite=False).astype(dtype_beside(b, c), copy=False)


@toeplitz_solution.vjp("c")
def toeplitz_solution_vjp_c(z, z_bar, c, r, b):
    return -column_cotangent(toeplitz_back(c, r, z_bar), z)


@toeplitz_solution.vjp("r")
def toeplitz_solution_vjp_r(z, z_bar, c, r, b):
    return -row_cotangent(toeplitz_back(c, r, z_bar), z)


@toeplitz_solution.vjp("b")
def toeplitz_solution_vjp_b(z, z_bar, c, r, b):
    return toeplitz_back(c, r, z_bar)


@toeplitz_solution.jvp
def toeplitz_solution_jvp(z, c_dot, r_dot, b_dot, c, r, b):
    return toeplitz_solution(c, r, b_dot - toeplitz_product(c_dot, r_dot, z))


def toeplitz_back(c, r, z_bar):
    """The cotangent of b."""
    found = toeplitz_solution(*transposed_parts(c, r), z_bar)
    return _mask(z_bar, found)


def _mask(z_bar, c):
    return np.reshape(mask(as_columns(z_bar, np.ndim(z_bar)), as_columns(c, np.ndim(c))), np.shape(c))


@array_rule(dtypes=COMPLEX, points=[(_C, _B), (_C, _BS), ([1.7], [0.6])])
def circulant_solution(c, b):
    """The solution of a z = b for the circulant matrix a_ij = c_{(i-j) mod n}; like scipy.linalg.solve_circulant.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-T z_bar,     c_bar_k = -sum_i <b_bar_i, z_{i-k}>

    Shapes:  c (n,), b (n,) or (n, k) -> z like b.
    Domain:  c whose Fourier transform has no zero.
    Raises:  LinAlgError if the matrix is nearly singular.
    Cost:    O(n log n k) forward and for each cotangent, by Fourier transforms; saves nothing.
    Ref:     Giles (2008), section 2.3.1; Golub & Van Loan (2013), section 4.8.2.

    >>> circulant_solution(np.array([2.0, 1.0]), np.array([4.0, 5.0]))
    array([1., 2.])
    """
    return np.ascontiguousarray(linalg().solve_circulant(c, b))


@circulant_solution.vjp("c")
def circulant_solution_vjp_c(z, z_bar, c, b):
    return -circular_sums(circulant_back(c, z_bar), z)


@circulant_solution.vjp("b")
def circulant_solution_vjp_b(z, z_bar, c, b):
    return circulant_back(c, z_bar)


@circulant_solution.jvp
def circulant_solution_jvp(z, c_dot, b_dot, c, b):
    return circulant_solution(c, b_dot - toeplitz_product(c_dot, reversed_circle(c_dot), z))


def reversed_circle(c):
    """c_{-k mod n}: the first row of the circulant matrix with first column c, and vice versa."""
    return np.concatenate([c[:1], c[1:][::-1]])


def circulant_back(c, z_bar):
    """The cotangent of b."""
    return _mask(z_bar, circulant_solution(reversed_circle(c), z_bar))


def circular_sums(x, y):
    """sum_i <x_i, y_{(i-k) mod n}> for every k."""
    left, right = as_columns(x, np.ndim(x)), as_columns(y, np.ndim(y))
    total = 0.0
    for k in range(np.shape(left)[1]):
        total = total + toeplitz_product(reversed_circle(right[:, k]), right[:, k], left[:, k])
    return total
