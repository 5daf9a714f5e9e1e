"""Solutions of linear systems, and inverses."""

import operator

import numpy as np

from contad.ops.cotangents import all_finite, fold, plain
from contad.ops.factors import factorise, known_factor
from contad.ops.products import as_array, masked_product, matmul
from contad.ops.shape import refuse_given
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import constant, implements
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import COMPLEX, FLOAT, dtype_beside
from contad.variables.number import peek

_A, _C = [[2.3, -0.7, 0.4], [0.5, 1.9, -1.1], [-0.8, 0.3, 2.6]], [[1.2, 0.4, 0.3], [-0.5, 3.1, 0.2], [0.7, -0.6, 1.8]]
_B = [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9]]


def transposed_of(a):
    """a with its last two axes exchanged."""
    return a.swapaxes(-1, -2) if a.__class__ is np.ndarray else np.swapaxes(a, -1, -2)


def conj_of(a):
    """The conjugate; a itself if it is real."""
    return np.conj(a) if is_complex(a) else a


def real_of(a):
    """The real part; a itself if it is real."""
    return np.real(a) if is_complex(a) else a


def conj_transposed_of(a):
    """a with its last two axes exchanged, and conjugate."""
    return conj_of(transposed_of(a))


def turn(a, transposed):
    """a, or a with its last two axes exchanged."""
    return transposed_of(a) if transposed else a


def in_c_order(x):
    """x, or a copy in C order, because NumPy returns the parts of a decomposition as separate arrays."""
    return x if is_complex(x) or peek(x).flags.c_contiguous else x.copy()


def identity_beside(a):
    """The identity of the size of the matrices of a."""
    return np.eye(np.shape(a)[-1], dtype=dtype_beside(a))


def check_square(name, a):
    """Raise LinAlgError, as NumPy does, unless a is a square matrix or a stack of them."""
    shape = a.shape if a.__class__ is np.ndarray else np.shape(a)
    if len(shape) < 2:
        raise np.linalg.LinAlgError(f"{name}: a must be a matrix or a stack of matrices, got shape {shape}")
    if shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(f"{name}: Last 2 dimensions of the array must be square, got shape {shape}")


def check_lengths(name, a, b):
    """Raise ValueError unless b, a vector or matrices of columns, has as many rows as the matrix a."""
    shape = np.shape(b)
    if not shape or shape[-2:][0] != np.shape(a)[-1]:
        raise ValueError(f"{name}: a has shape {np.shape(a)}, b {shape}: their lengths differ")


# ---- systems ---------------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    numpy=np.linalg.solve,
    points=[(_A, [0.6, 1.7, -0.2]), (_A, _B), ([_A, _C], _B), (_A, [_B, [[0.3, 1.1], [-0.8, 2.4], [0.5, 1.6]]])],
)
def solve(a, b, *, transposed=False):
    """The solution of a z = b, for matrices and stacks of them; a b with one axis is one vector.

        z = a^-1 b,     z_dot = a^-1 (b_dot - a_dot z),     b_bar = a^-T z_bar,     a_bar = -b_bar z^T

    Shapes:  a (..., n, n), b (n,) or (..., n, k) -> z like b; the stacks broadcast. transposed: a^T z = b is solved.
    Domain:  nonsingular a.
    Raises:  LinAlgError if a is singular or not square, ValueError if the lengths differ.
    Cost:    O(n^3 + n^2 k) forward, O(n^2 k) in reverse from the saved factors; stacks are factorised again.
    Ref:     Giles (2008), section 2.3.1.

    >>> solve(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]))
    array([1., 2.])
    """
    check_square("solve", a)
    factor = known_factor(a)
    if factor is not None and np.ndim(b) <= 2 and np.size(b) and np.shape(b)[0] == np.shape(a)[0]:
        return factor.solve(b, transposed)
    check_lengths("solve", a, b)
    return np.linalg.solve(turn(a, transposed), b)


@solve.forward
def solve_forward(a, b, *, transposed=False):
    check_square("solve", a)
    factor = factorise(a)
    if factor is not None and are_matrices(a, as_columns(b, np.ndim(b))) and b.size and len(b) == len(a):
        return factor.solve(b, transposed), factor
    return solve(a, b, transposed=transposed), factor


@solve.common
def solve_common(z, z_bar, a, b, saved, *, transposed=False):
    return solve_back(a, z_bar, np.ndim(b), transposed, saved)


@solve.vjp("a")
def solve_vjp_a(z, z_bar, a, b, saved, common, *, transposed=False):
    c = masked_product(common, transposed_of(as_columns(z, np.ndim(b))))
    return -fold(turn(c, transposed), np.shape(a))


@solve.vjp("b")
def solve_vjp_b(z, z_bar, a, b, saved, common, *, transposed=False):
    return np.reshape(fold(common, column_shape(np.shape(b))), np.shape(b))


@solve.jvp
def solve_jvp(z, a_dot, b_dot, a, b, saved, *, transposed=False):
    product = matmul(turn(a_dot, transposed), as_columns(z, np.ndim(b)))
    return np.reshape(solve(a, as_columns(b_dot, np.ndim(b)) - product, transposed=transposed), np.shape(z))


def as_columns(x, ndim):
    """x as matrices, for a system whose right-hand side has ndim axes: a vector is one column."""
    if ndim != 1:
        return x
    return x[..., None] if x.__class__ is np.ndarray else np.expand_dims(x, -1)


def column_shape(shape):
    """The shape of a right-hand side as matrices."""
    return (*shape, 1) if len(shape) == 1 else shape


def by_matrix(x):
    """x with two more axes, so that its elements broadcast with the matrices of a stack."""
    return np.reshape(x, (*np.shape(x), 1, 1))


def solve_back(a, z_bar, ndim, transposed, factor):
    """The cotangent of the columns of b, before the stacks are summed; by the factor of a, if there is one."""
    columns = as_columns(z_bar, ndim)
    if factor is not None and are_matrices(a, columns) and columns.size:
        found = factor.solve(columns, not transposed)
        if all_finite(found):
            return found
    return mask(columns, solve(a, columns, transposed=not transposed))


def mask(z_bar, c):
    """c, with zeros for the matrices whose cotangent z_bar is zero: dead code never makes a nan."""
    if all_finite(c):
        return c
    return np.where(np.all(plain(z_bar) == 0.0, axis=(-2, -1), keepdims=True), 0.0, c)


# ---- inverses --------------------------------------------------------------------------------------------------------
@array_rule(dtypes=COMPLEX, numpy=np.linalg.inv, points=[(_A,), ([_A, _C],)])
def inv(a):
    """The inverse of a matrix, or of each matrix in a stack.

        z = a^-1,     z_dot = -z a_dot z,     a_bar = -z^T z_bar z^T

    Shapes:  a (..., n, n) -> z (..., n, n).
    Domain:  nonsingular a.
    Raises:  LinAlgError if a is singular or not square.
    Cost:    O(n^3) forward, twice that in reverse; saves nothing. To solve a system, call solve.
    Ref:     Giles (2008), section 2.2.3.

    >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    check_square("inv", a)
    return np.linalg.inv(a)


@inv.vjp("a")
def inv_vjp_a(z, z_bar, a):
    return pull_inverse(z, z_bar)


def pull_inverse(z, z_bar):
    """The cotangent of a matrix that has the inverse z."""
    zt = transposed_of(z)
    if are_matrices(z, z_bar):
        c = zt.dot(z_bar).dot(zt)
        if all_finite(c):
            return np.negative(c, c)
    return mask(z_bar, -matmul(matmul(zt, z_bar), zt))


def are_matrices(*arrays):
    """Whether these are plain float64 matrices, for which NumPy's functions can be called directly."""
    for x in arrays:  # noqa: SIM110  # all(...) takes three times as long
        if x.__class__ is not np.ndarray or x.dtype != FLOAT or x.ndim != 2:
            return False
    return True


@inv.jvp
def inv_jvp(z, a_dot, a):
    return -matmul(matmul(z, a_dot), z)


# ---- systems of tensors ----------------------------------------------------------------------------------------------
@implements(np.linalg.tensorsolve, layout="own")
def tensorsolve(a, b, axes=None):
    """The solution of tensordot(a, x, x.ndim) = b."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        others = [k for k in range(a.ndim) if k not in axes]
        a = np.transpose(a, (*others, *axes))
    shape = a.shape[-(a.ndim - np.ndim(b)) :]
    n = int(np.prod(shape, dtype=int))
    if a.size != n * n or n != np.size(b):
        raise np.linalg.LinAlgError(
            f"tensorsolve: a must have as many elements in the axes of b as in the others, got {a.shape} for b of "
            f"shape {np.shape(b)}"
        )
    return np.reshape(solve(np.reshape(a, (n, n)), np.reshape(b, (n,))), shape)


@implements(np.linalg.tensorinv, layout="own")
def tensorinv(a, ind=2):
    """The inverse of tensordot with a over its first `ind` axes."""
    a = as_array(a)
    if np.ndim(a) == 0:
        raise TypeError("tensorinv: a must be an array, got a number")
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive, got {ind}")
    first, rest = a.shape[:ind], a.shape[ind:]
    n = int(np.prod(first, dtype=int))
    return np.reshape(inv(np.reshape(a, (n, -1))), (*rest, *first))


# ---- powers and chains -----------------------------------------------------------------------------------------------
@implements(np.linalg.matrix_power, layout="own")
def matrix_power(a, n):
    """The n-th power of a square matrix, or of its inverse for a negative n, by repeated squaring."""
    a = as_array(a)
    check_square("matrix_power", a)
    n = operator.index(n)
    if n == 0:
        identity = np.empty_like(peek(a))
        identity[...] = np.eye(np.shape(a)[-1])
        return identity
    if n < 0:
        a, n = inv(a), -n
    z = None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            z = a if z is None else matmul(z, a)
        if n:
            a = matmul(a, a)
    return z


@implements(np.linalg.multi_dot, layout="own")
def multi_dot(arrays, *, out=None):
    """The product of matrices in the cheapest order; the first and the last may be vectors."""
    refuse_given(np.linalg.multi_dot, out=out)
    factors = [as_array(x) for x in arrays]
    if len(factors) < 2:
        raise ValueError(f"np.linalg.multi_dot: expected two or more arrays, got {len(factors)}")
    if len(factors) == 2:
        return matmul(*factors)
    first, last = np.ndim(factors[0]), np.ndim(factors[-1])
    factors[0] = np.reshape(factors[0], (1, -1)) if first == 1 else factors[0]
    factors[-1] = np.reshape(factors[-1], (-1, 1)) if last == 1 else factors[-1]
    if any(np.ndim(x) != 2 for x in factors):
        shapes = [np.shape(x) for x in factors]
        raise np.linalg.LinAlgError(f"np.linalg.multi_dot: expected matrices, vectors at the ends, got {shapes}")
    splits = _cheapest_splits([*(np.shape(x)[0] for x in factors), np.shape(factors[-1])[1]])
    z = _product_of(factors, splits, 0, len(factors))
    if first == 1 and last == 1:
        return z[0, 0]
    return np.reshape(z, (-1,)) if 1 in (first, last) else z


def _cheapest_splits(lengths):
    """The cheapest place to split each part (i, j) of a product of matrices of lengths[k] x lengths[k + 1]."""
    cost, splits = {}, {}
    n = len(lengths) - 1
    for size in range(1, n + 1):
        for i in range(n - size + 1):
            j = i + size
            tries = ((cost[i, k] + cost[k, j] + lengths[i] * lengths[k] * lengths[j], k) for k in range(i + 1, j))
            cost[i, j], splits[i, j] = min(tries, default=(0, i))
    return splits


def _product_of(factors, splits, i, j):
    if j - i == 1:
        return factors[i]
    k = splits[i, j]
    return matmul(_product_of(factors, splits, i, k), _product_of(factors, splits, k, j))


constant(np.linalg.matrix_rank)
