"""Stan's products of matrices."""


import numpy as np

from contad.ops import linear_systems, matrix_functions, quadratic_forms
from contad.ops.linear_systems import as_columns, check_square, transposed_of
from contad.ops.products import as_array, matmul
from contad.stan.shapes import matrices, require_length, require_same_shape
from contad.variables.open_types import ArrayValue, Real, Value


# ---- element by element ----------------------------------------------------------------------------------------------
def elt_multiply(x: ArrayValue, y: ArrayValue) -> ArrayValue:
    """The products of the elements of two arrays, `x * y`.

    Shapes:  x, y (...) -> (...); nothing is broadcast.
    Raises:  ValueError if the shapes differ.
    Cost:    O(n) forward and reverse.

    >>> elt_multiply([1.0, 2.0], [3.0, 4.0])
    array([3., 8.])
    """
    x, y = map(as_array, (x, y))
    require_same_shape("elt_multiply", "x", x, "y", y)
    return x * y


def elt_divide(x: ArrayValue, y: ArrayValue) -> ArrayValue:
    """The quotients of the elements of two arrays, `x / y`; one of them may be a number.

    Shapes:  x, y (...) -> (...).
    Raises:  ValueError if the shapes of two arrays differ.
    Cost:    O(n) forward and reverse.

    >>> elt_divide([3.0, 8.0], [3.0, 4.0])
    array([1., 2.])
    """
    x, y = map(as_array, (x, y))
    if np.ndim(x) and np.ndim(y):
        require_same_shape("elt_divide", "x", x, "y", y)
    return x / y


# ---- rows and columns ------------------------------------------------------------------------------------------------
def columns_dot_product(x: ArrayValue, y: ArrayValue) -> ArrayValue:
    """The dot products of the columns of two matrices, z_j = sum_i x_ij y_ij.

    Shapes:  x, y (..., m, n) -> (..., n).
    Raises:  ValueError if the shapes differ.
    Cost:    O(m n) forward and reverse.

    >>> columns_dot_product([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
    array([26., 44.])
    """
    x, y = matrices("columns_dot_product", x=x, y=y)
    require_same_shape("columns_dot_product", "x", x, "y", y)
    return np.sum(x * y, axis=-2)


def rows_dot_product(x: ArrayValue, y: ArrayValue) -> ArrayValue:
    """The dot products of the rows of two matrices, z_i = sum_j x_ij y_ij.

    Shapes:  x, y (..., m, n) -> (..., m).
    Raises:  ValueError if the shapes differ.
    Cost:    O(m n) forward and reverse.

    >>> rows_dot_product([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
    array([17., 53.])
    """
    x, y = matrices("rows_dot_product", x=x, y=y)
    require_same_shape("rows_dot_product", "x", x, "y", y)
    return np.sum(x * y, axis=-1)


def columns_dot_self(x: ArrayValue) -> ArrayValue:
    """The squared lengths of the columns of a matrix, z_j = sum_i x_ij^2.

    Shapes:  x (..., m, n) -> (..., n).
    Cost:    O(m n) forward and reverse.

    >>> columns_dot_self([[1.0, 2.0], [3.0, 4.0]])
    array([10., 20.])
    """
    (x,) = matrices("columns_dot_self", x=x)
    return np.sum(x * x, axis=-2)


def rows_dot_self(x: ArrayValue) -> ArrayValue:
    """The squared lengths of the rows of a matrix, z_i = sum_j x_ij^2.

    Shapes:  x (..., m, n) -> (..., m).
    Cost:    O(m n) forward and reverse.

    >>> rows_dot_self([[1.0, 2.0], [3.0, 4.0]])
    array([ 5., 25.])
    """
    (x,) = matrices("rows_dot_self", x=x)
    return np.sum(x * x, axis=-1)


# ---- diagonals -------------------------------------------------------------------------------------------------------
def diag_pre_multiply(v: ArrayValue, m: ArrayValue) -> ArrayValue:
    """diag(v) m, the rows of a matrix times the elements of a vector.

    Shapes:  v (..., k), m (..., k, n) -> (..., k, n).
    Raises:  ValueError if the lengths differ.
    Cost:    O(k n) forward and reverse.

    >>> diag_pre_multiply([2.0, 3.0], [[1.0, 1.0], [1.0, 2.0]])
    array([[2., 2.],
           [3., 6.]])
    """
    v, (m,) = as_array(v), matrices("diag_pre_multiply", m=m)
    require_length("diag_pre_multiply", "v", v, -1, np.shape(m)[-2], "m has rows")
    return np.expand_dims(v, -1) * m


def diag_post_multiply(m: ArrayValue, v: ArrayValue) -> ArrayValue:
    """m diag(v), the columns of a matrix times the elements of a vector.

    Shapes:  m (..., k, n), v (..., n) -> (..., k, n).
    Raises:  ValueError if the lengths differ.
    Cost:    O(k n) forward and reverse.

    >>> diag_post_multiply([[1.0, 1.0], [1.0, 2.0]], [2.0, 3.0])
    array([[2., 3.],
           [2., 6.]])
    """
    v, (m,) = as_array(v), matrices("diag_post_multiply", m=m)
    require_length("diag_post_multiply", "v", v, -1, np.shape(m)[-1], "m has columns")
    return m * np.expand_dims(v, -2)


def quad_form_diag(m: ArrayValue, v: ArrayValue) -> ArrayValue:
    """diag(v) m diag(v), z_ij = v_i m_ij v_j.

    Shapes:  m (..., n, n), v (..., n) -> (..., n, n).
    Raises:  LinAlgError if m is not square, ValueError if the lengths differ.
    Cost:    O(n^2) forward and reverse.

    >>> quad_form_diag([[1.0, 0.5], [0.5, 1.0]], [2.0, 3.0])
    array([[4., 3.],
           [3., 9.]])
    """
    m, v = map(as_array, (m, v))
    check_square("quad_form_diag", m)
    require_length("quad_form_diag", "v", v, -1, np.shape(m)[-1], "m has rows")
    return m * (np.expand_dims(v, -1) * np.expand_dims(v, -2))


def add_diag(m: ArrayValue, d: Value) -> ArrayValue:
    """m with a number, or the elements of a vector, added to its diagonal.

    Shapes:  m (..., k, n), d () or (..., min(k, n)) -> (..., k, n).
    Raises:  ValueError if the length of d is not that of the diagonal.
    Cost:    O(k n) forward and reverse.

    >>> add_diag([[1.0, 2.0], [3.0, 4.0]], 10.0)
    array([[11.,  2.],
           [ 3., 14.]])
    """
    (m,) = matrices("add_diag", m=m)
    d = as_array(d)
    k, n = np.shape(m)[-2:]
    if np.ndim(d):
        require_length("add_diag", "d", d, -1, min(k, n), "the diagonal of m")
        d = np.concatenate([d, np.zeros((*np.shape(d)[:-1], n - min(k, n)))], axis=-1)
        d = np.expand_dims(d, -2)
    return m + np.where(np.eye(k, n, dtype=bool), d, 0.0)


# ---- products with the transposed ------------------------------------------------------------------------------------
def crossprod(a: ArrayValue) -> ArrayValue:
    """a^T a, by the rule of `tcrossprod`.

    Shapes:  a (..., m, n) -> (..., n, n), exactly symmetric.
    Cost:    O(m n^2) forward, half that of a product; one product in reverse.

    >>> crossprod([[1.0, 2.0], [3.0, 4.0]])
    array([[10., 14.],
           [14., 20.]])
    """
    (a,) = matrices("crossprod", a=a)
    return quadratic_forms.tcrossprod(transposed_of(a))


def tcrossprod(a: ArrayValue) -> ArrayValue:
    """a a^T, with one product in reverse; the rule is `contad.ops.quadratic_forms.tcrossprod`.

    Shapes:  a (..., m, n) -> (..., m, m), exactly symmetric.
    Cost:    O(m^2 n) forward, half that of a product; one product in reverse.

    >>> tcrossprod([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """
    (a,) = matrices("tcrossprod", a=a)
    return quadratic_forms.tcrossprod(a)


def multiply_lower_tri_self_transpose(l: ArrayValue) -> ArrayValue:  # noqa: E741  (Stan's name)
    """l l^T of the lower triangle of a matrix; what is above the diagonal is not read, and its cotangent is 0.

    Shapes:  l (..., m, n) -> (..., m, m), exactly symmetric.
    Cost:    as `tcrossprod`.

    >>> multiply_lower_tri_self_transpose([[1.0, 9.0], [3.0, 4.0]])
    array([[ 1.,  3.],
           [ 3., 25.]])
    """
    (l,) = matrices("multiply_lower_tri_self_transpose", l=l)  # noqa: E741
    return quadratic_forms.tcrossprod(np.tril(l))


# ---- quadratic forms -------------------------------------------------------------------------------------------------
def quad_form(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """b^T a b.

    Shapes:  a (..., n, n), b (..., n, k) -> (..., k, k); b (n,) -> (...).
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ.
    Cost:    O(n^2 k) forward, twice that in reverse. Of a symmetric a `quad_form_sym` needs half.

    >>> quad_form(np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([1.0, 2.0]))
    np.float64(16.0)
    """
    a, b = _of_form("quad_form", a, b)
    return trace_quad_form(a, b) if np.ndim(b) == 1 else matmul(transposed_of(b), matmul(a, b))


def _of_form(name: str, a: ArrayValue, b: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """A square matrix, and a vector or matrix whose rows are as many."""
    a, b = map(as_array, (a, b))
    check_square(name, a)
    require_length(name, "b", b, -1 if np.ndim(b) == 1 else -2, np.shape(a)[-1], "a has columns")
    return a, b


def quad_form_sym(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """b^T a b for a symmetric a, by the rule `contad.ops.quadratic_forms.quad_form_sym`.

    The lower triangle of a is read. Its cotangent has there the sum of both triangles, and zeros above.

    Shapes:  a (..., n, n), b (..., n, k) -> (..., k, k), exactly symmetric; b (n,) -> (...).
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ.
    Cost:    O(n^2 k) forward and in reverse.

    >>> quad_form_sym(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0]))
    np.float64(18.0)
    """
    return quadratic_forms.quad_form_sym(*_of_form("quad_form_sym", a, b))


def trace_quad_form(a: ArrayValue, b: ArrayValue) -> Value:
    """tr(b^T a b), without that product: sum_ij b_ij (a b)_ij.

    Shapes:  a (..., n, n), b (..., n, k) -> (...); b (n,) is one column.
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ.
    Cost:    O(n^2 k) forward, twice that in reverse.

    >>> trace_quad_form(np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[1.0, 0.0], [2.0, 1.0]]))
    np.float64(19.0)
    """
    a, b = _of_form("trace_quad_form", a, b)
    columns = as_columns(b, np.ndim(b))
    return np.sum(columns * matmul(a, columns), axis=(-2, -1))


def trace_gen_quad_form(d: Value, a: ArrayValue, b: ArrayValue) -> Value:
    """tr(d b^T a b): sum_ij (b d^T)_ij (a b)_ij.

    Shapes:  d (..., k, k), a (..., n, n), b (..., n, k) -> (...).
    Raises:  LinAlgError if d or a is not square, ValueError if the lengths differ.
    Cost:    O(n^2 k + n k^2) forward, twice that in reverse.

    >>> trace_gen_quad_form(np.diag([2.0, 3.0]), np.eye(2), np.array([[1.0, 0.0], [2.0, 1.0]]))
    np.float64(13.0)
    """
    d, b = map(as_array, (d, b))
    a, b = _of_form("trace_gen_quad_form", a, *matrices("trace_gen_quad_form", b=b))
    check_square("trace_gen_quad_form", d)
    require_length("trace_gen_quad_form", "d", d, -1, np.shape(b)[-1], "b has columns")
    return np.sum(matmul(b, transposed_of(d)) * matmul(a, b), axis=(-2, -1))


# ---- powers and exponentials -----------------------------------------------------------------------------------------
def matrix_power(a: ArrayValue, n: int) -> ArrayValue:
    """The n-th power of a square matrix for a whole n >= 0, as `numpy.linalg.matrix_power`.

    Shapes:  a (..., n, n) -> (..., n, n).
    Raises:  LinAlgError if a is not square, ValueError if n is negative.
    Cost:    O(log n) products forward, twice that in reverse.

    >>> matrix_power([[1.0, 1.0], [0.0, 1.0]], 3)
    array([[1., 3.],
           [0., 1.]])
    """
    (a,) = matrices("matrix_power", a=a)
    if n < 0:
        raise ValueError(f"matrix_power: n must not be negative, got {n}; np.linalg.matrix_power inverts")
    return linear_systems.matrix_power(a, n)


def matrix_exp(a: ArrayValue) -> ArrayValue:
    """The exponential of a square matrix, as `contad.scipy.linalg.expm`.

    Shapes:  a (..., n, n) -> (..., n, n).
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward, about three times that in reverse.

    >>> matrix_exp([[0.0, 2.0], [0.0, 0.0]])
    array([[1., 2.],
           [0., 1.]])
    """
    (a,) = matrices("matrix_exp", a=a)
    return matrix_functions.expm(a)


def matrix_exp_multiply(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """exp(a) b.

    Shapes:  a (n, n), b (n, k) or (n,) -> as b.
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ.
    Cost:    O(n^3) forward and about three times that in reverse for a; only a product where a is a constant.

    >>> matrix_exp_multiply([[0.0, 2.0], [0.0, 0.0]], [1.0, 3.0])
    array([7., 3.])
    """
    a, b = _of_form("matrix_exp_multiply", a, b)
    return matmul(matrix_functions.expm(a), b)


def scale_matrix_exp_multiply(t: Real, a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """exp(t a) b for a number t.

    Shapes:  t (), a (n, n), b (n, k) or (n,) -> as b.
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ.
    Cost:    as `matrix_exp_multiply`.

    >>> scale_matrix_exp_multiply(0.5, [[0.0, 2.0], [0.0, 0.0]], [1.0, 3.0])
    array([4., 3.])
    """
    a, b = _of_form("scale_matrix_exp_multiply", a, b)
    if np.ndim(t):
        raise ValueError(f"scale_matrix_exp_multiply: t must be a number, got shape {np.shape(t)}")
    return matmul(matrix_functions.expm(t * a), b)
