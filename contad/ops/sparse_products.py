"""Products with sparse matrices, whose values may be variables; no dense matrix is made."""

import numpy as np

from contad.ops.cotangents import all_finite, scale
from contad.ops.linear_systems import as_columns, transposed_of
from contad.ops.products import as_array
from contad.ops.sparse_patterns import Pattern, split
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import COMPLEX, dtype_beside

# [[1.3, 0, -0.7, 0], [0, 0, 0.4, 2.1 + 0.6], [0.9, -1.1, 0, 0]]: a row with two values in one position
_CSR = Pattern("csr", (np.array([0, 2, 2, 3, 3, 0, 1]), np.array([0, 2, 5, 7])), (3, 4))
_CSC = Pattern("csc", (np.array([0, 2, 2, 0, 1, 1]), np.array([0, 2, 3, 5, 6])), (3, 4))
_COO = Pattern("coo", (np.array([2, 0, 1, 0, 2, 1]), np.array([1, 0, 3, 2, 0, 2])), (3, 4))
_V, _W = [1.3, -0.7, 0.4, 2.1, 0.6, 0.9, -1.1], [1.3, 0.9, -1.1, -0.7, 0.4, 2.7]
_X, _Y = [0.6, 1.7, -0.2, 0.9], [1.2, -0.5, 0.8]
_XS = [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9], [0.8, 0.3]]
_YS = [[1.2, 0.4], [-0.5, 0.9], [0.7, -0.6]]


@array_rule(
    dtypes=COMPLEX,
    linear=("values", "x"),
    points=[
        (_V, _X, {"pattern": _CSR}),
        (_W, _XS, {"pattern": _CSC}),
        (_W, _X, {"pattern": _COO}),
        (_V, _YS, {"pattern": _CSR.T}),
    ],
)
def sparse_product(values, x, *, pattern):
    """The product of a sparse matrix with a vector or a matrix, like S @ x for SciPy's sparse arrays.

        z = S x,     z_dot = S_dot x + S x_dot,     x_bar = S^T z_bar,     values_bar_k = <z_bar[row_k], x[column_k]>

    Shapes:  S (m, n) with nnz values at the positions of `pattern`, values (nnz,), x (n,) or (n, k) -> z (m,) or (m,
             k).
    Domain:  every S and x; a zero cotangent masks its factor.
    Raises:  ValueError if the lengths differ.
    Cost:    O(nnz k) forward and for each cotangent; saves nothing.
    Ref:     Giles (2008), section 2.2.2, on the elements that are stored.

    >>> from contad.ops.sparse_patterns import Pattern
    >>> pattern = Pattern("csr", (np.array([1, 0]), np.array([0, 1, 2])), (2, 2))
    >>> sparse_product(np.array([2.0, 3.0]), np.array([5.0, 7.0]), pattern=pattern)
    array([14., 15.])
    """
    if np.ndim(x) not in (1, 2) or len(x) != pattern.shape[1]:
        raise ValueError(
            f"a sparse matrix @ x: x must be a vector or a matrix of {pattern.shape[1]} rows, got shape {np.shape(x)}"
        )
    return np.ascontiguousarray(pattern.matrix(values) @ x)


@sparse_product.structure("values")
def sparse_product_structure_values(values, x, *, pattern):
    rows, _ = pattern.places
    width = np.size(x) // max(len(x), 1)
    return (rows[:, None] * width + np.arange(width)).reshape(-1), np.repeat(np.arange(pattern.nnz), width)


@sparse_product.structure("x")
def sparse_product_structure_x(values, x, *, pattern):
    width = np.size(x) // max(len(x), 1)
    return tuple((lines[:, None] * width + np.arange(width)).reshape(-1) for lines in pattern.places)


@sparse_product.vjp("values")
def sparse_product_vjp_values(z, z_bar, values, x, *, pattern):
    return sampled_masked(z_bar, x, pattern)


@sparse_product.vjp("x")
def sparse_product_vjp_x(z, z_bar, values, x, *, pattern):
    return product_masked(values, z_bar, pattern)


@array_rule(
    dtypes=COMPLEX,
    linear=("x", "y"),
    points=[(_Y, _X, {"pattern": _CSR}), (_YS, _XS, {"pattern": _CSC}), (_Y, _X, {"pattern": _COO})],
)
def sampled_product(x, y, *, pattern):
    """The elements of x y^T at the positions of a sparse matrix.

        z_k = <x[row_k], y[column_k]>,  z_dot = its value at x_dot, y and at x, y_dot
        x_bar = S y,     y_bar = S^T x,     with z_bar for the values of S

    Shapes:  x (m,) or (m, k), y (n,) or (n, k), a pattern of shape (m, n) -> z (nnz,).
    Cost:    O(nnz k) forward and for each cotangent; saves nothing.

    >>> from contad.ops.sparse_patterns import Pattern
    >>> pattern = Pattern("csr", (np.array([1, 0]), np.array([0, 1, 2])), (2, 2))
    >>> sampled_product(np.array([2.0, 3.0]), np.array([5.0, 7.0]), pattern=pattern)
    array([14., 15.])
    """
    rows, columns = pattern.places
    if x.ndim == 1:
        return x[rows] * y[columns]
    z = np.zeros(pattern.nnz, dtype_beside(x, y))
    for k in range(x.shape[1]):  # by columns: all at once would take nnz numbers for each
        z += x[rows, k] * y[columns, k]
    return z


@sampled_product.vjp("x")
def sampled_product_vjp_x(z, z_bar, x, y, *, pattern):
    return sparse_product(z_bar, y, pattern=pattern)


@sampled_product.vjp("y")
def sampled_product_vjp_y(z, z_bar, x, y, *, pattern):
    return sparse_product(z_bar, x, pattern=pattern.T)


def sampled_masked(z_bar, x, pattern):
    """The cotangent of the values, where zeros of z_bar mask elements of x that are not finite."""
    z = sampled_product(z_bar, x, pattern=pattern)
    if all_finite(z):
        return z
    rows, columns = pattern.places
    return np.sum(scale(as_columns(z_bar, np.ndim(x))[rows], as_columns(x, np.ndim(x))[columns]), axis=-1)


def product_masked(values, z_bar, pattern):
    """The cotangent of x, where zeros of z_bar mask values that are not finite."""
    z = sparse_product(values, z_bar, pattern=pattern.T)
    if all_finite(z):
        return z
    rows, columns = pattern.places
    terms = scale(as_columns(z_bar, np.ndim(z_bar))[rows], as_columns(values, 1))
    sums = Pattern("coo", (columns, np.arange(pattern.nnz)), (pattern.shape[1], pattern.nnz))
    return np.reshape(sparse_product(np.ones(pattern.nnz, dtype_beside(values)), terms, pattern=sums), np.shape(z))


# ---- constants -------------------------------------------------------------------------------------------------------
def product_with_constant(s, x):
    """S @ x for a constant sparse array or matrix of SciPy's and an array variable."""
    values, pattern = split("S @ x", s)
    return sparse_product(values, as_array(x), pattern=pattern)


def product_before_constant(x, s):
    """x @ S, which is (S^T x^T)^T."""
    values, pattern = split("x @ S", s)
    return transposed_product(values, as_array(x), pattern)


def transposed_product(values, x, pattern):
    """x S, for a sparse matrix with a pattern."""
    if np.ndim(x) not in (1, 2) or np.shape(x)[-1] != pattern.shape[0]:
        raise ValueError(
            f"x @ a sparse matrix: x must be a vector or a matrix of {pattern.shape[0]} columns, got shape "
            f"{np.shape(x)}"
        )
    if np.ndim(x) == 1:
        return sparse_product(values, x, pattern=pattern.T)
    return transposed_of(sparse_product(values, transposed_of(x), pattern=pattern.T))
