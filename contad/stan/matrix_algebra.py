"""Stan's products of matrices."""

import numpy as np

from contad.distributions.docstrings import with_rest_of
from contad.ops import linear_systems, matrix_functions, quadratic_forms
from contad.ops.linear_systems import as_columns, check_square, transposed_of
from contad.ops.products import as_array, matmul
from contad.scipy.linalg import expm
from contad.stan.compiled import with_bodies
from contad.stan.recorded_checks import require_symmetric
from contad.stan.shapes import matrices, require_length, require_same_shape
from contad.variables.open_types import ArrayValue, Real, Value

__all__ = [
    "add_diag", "columns_dot_product", "columns_dot_self", "crossprod", "diag_post_multiply", "diag_pre_multiply",
    "elt_divide", "elt_multiply", "matrix_exp", "matrix_exp_multiply", "matrix_power",
    "multiply_lower_tri_self_transpose", "quad_form", "quad_form_diag", "quad_form_sym", "rows_dot_product",
    "rows_dot_self", "scale_matrix_exp_multiply", "tcrossprod", "trace_gen_quad_form", "trace_quad_form",
]  # fmt: skip

SYMMETRIC = (("a", "symmetric"),)


# ---- element by element ----------------------------------------------------------------------------------------------
@with_bodies({"n n": "x * y", "mn mn": "x * y", "12 0": "x * y", "0 12": "x * y", "0 0": "x * y"})
def elt_multiply(x: ArrayValue, y: ArrayValue) -> ArrayValue:
    """The products of the elements of two arrays; one of them may be a number.

        z = x * y,     z_dot = x_dot * y + x * y_dot

    Shapes:  x, y (...) -> (...).
    Domain:  every x and y.
    Raises:  ValueError if the shapes of two arrays differ.
    Cost:    O(n) forward and reverse.
    Ref:     Stan Functions Reference, elementwise arithmetic operations.

    >>> elt_multiply([1.5, 2.0], [3.0, -0.4])
    array([ 4.5, -0.8])
    """
    x, y = map(as_array, (x, y))
    if np.ndim(x) and np.ndim(y):
        require_same_shape("elt_multiply", "x", x, "y", y)
    return x * y


@with_bodies({"n n": "x / y", "mn mn": "x / y", "12 0": "x / y", "0 12": "x / y", "0 0": "x / y"})
def elt_divide(x: ArrayValue, y: ArrayValue) -> ArrayValue:
    """The quotients of the elements of two arrays; one of them may be a number.

        z = x / y,     z_dot = (x_dot - z * y_dot) / y

    Shapes:  x, y (...) -> (...).
    Domain:  y other than 0.
    Raises:  ValueError if the shapes of two arrays differ.
    Cost:    O(n) forward and reverse.
    Ref:     Stan Functions Reference, elementwise arithmetic operations.

    >>> elt_divide([3.0, 8.0], [4.0, -0.5])
    array([  0.75, -16.  ])
    """
    x, y = map(as_array, (x, y))
    if np.ndim(x) and np.ndim(y):
        require_same_shape("elt_divide", "x", x, "y", y)
    return x / y


# ---- rows and columns ------------------------------------------------------------------------------------------------
@with_bodies({"mn mn": "np.sum(x * y, axis=0)"})
def columns_dot_product(x: ArrayValue, y: ArrayValue) -> ArrayValue:
    """The dot products of the columns of two matrices.

        z_j = sum_i x_ij y_ij,     x_bar_ij = z_bar_j y_ij

    Shapes:  x, y (..., m, n) -> (..., n).
    Domain:  every x and y.
    Raises:  ValueError if the shapes differ.
    Cost:    O(m n) forward and reverse.
    Ref:     Stan Functions Reference, dot products and specialized products.

    >>> columns_dot_product([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
    array([26., 44.])
    """
    x, y = matrices("columns_dot_product", x=x, y=y)
    require_same_shape("columns_dot_product", "x", x, "y", y)
    return np.sum(x * y, axis=-2)


@with_bodies({"mn mn": "np.sum(x * y, axis=1)"})
@with_rest_of(columns_dot_product)
def rows_dot_product(x: ArrayValue, y: ArrayValue) -> ArrayValue:
    """The dot products of the rows of two matrices.

        z_i = sum_j x_ij y_ij,     x_bar_ij = z_bar_i y_ij

    Shapes:  x, y (..., m, n) -> (..., m).

    >>> rows_dot_product([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
    array([17., 53.])
    """
    x, y = matrices("rows_dot_product", x=x, y=y)
    require_same_shape("rows_dot_product", "x", x, "y", y)
    return np.sum(x * y, axis=-1)


@with_bodies({"mn": "np.sum(x * x, axis=0)"})
def columns_dot_self(x: ArrayValue) -> ArrayValue:
    """The squared lengths of the columns of a matrix.

        z_j = sum_i x_ij^2,     x_bar_ij = 2 z_bar_j x_ij

    Shapes:  x (..., m, n) -> (..., n).
    Domain:  every x.
    Raises:  ValueError if x is not a matrix.
    Cost:    O(m n) forward and reverse.
    Ref:     Stan Functions Reference, dot products and specialized products.

    >>> columns_dot_self([[1.0, 2.0], [3.0, 4.0]])
    array([10., 20.])
    """
    (x,) = matrices("columns_dot_self", x=x)
    return np.sum(x * x, axis=-2)


@with_bodies({"mn": "np.sum(x * x, axis=1)"})
@with_rest_of(columns_dot_self)
def rows_dot_self(x: ArrayValue) -> ArrayValue:
    """The squared lengths of the rows of a matrix.

        z_i = sum_j x_ij^2,     x_bar_ij = 2 z_bar_i x_ij

    Shapes:  x (..., m, n) -> (..., m).

    >>> rows_dot_self([[1.0, 2.0], [3.0, 4.0]])
    array([ 5., 25.])
    """
    (x,) = matrices("rows_dot_self", x=x)
    return np.sum(x * x, axis=-1)


# ---- diagonals -------------------------------------------------------------------------------------------------------
@with_bodies({"k kn": "np.expand_dims(v, 1) * m"})
def diag_pre_multiply(v: ArrayValue, m: ArrayValue) -> ArrayValue:
    """The rows of a matrix, each times an element of a vector.

        z = diag(v) m,     v_bar_i = sum_j z_bar_ij m_ij,     m_bar = diag(v) z_bar

    Shapes:  v (..., k), m (..., k, n) -> (..., k, n).
    Domain:  every v and m.
    Raises:  ValueError if the lengths differ.
    Cost:    O(k n) forward and reverse.
    Ref:     Stan Functions Reference, dot products and specialized products.

    >>> diag_pre_multiply([2.0, 3.0], [[1.0, 0.5], [-1.0, 2.0]])
    array([[ 2.,  1.],
           [-3.,  6.]])
    """
    v, (m,) = as_array(v), matrices("diag_pre_multiply", m=m)
    require_length("diag_pre_multiply", "v", v, -1, np.shape(m)[-2], "m has rows")
    return np.expand_dims(v, -1) * m


@with_bodies({"kn n": "m * np.expand_dims(v, 0)"})
@with_rest_of(diag_pre_multiply)
def diag_post_multiply(m: ArrayValue, v: ArrayValue) -> ArrayValue:
    """The columns of a matrix, each times an element of a vector.

        z = m diag(v),     v_bar_j = sum_i z_bar_ij m_ij,     m_bar = z_bar diag(v)

    Shapes:  m (..., k, n), v (..., n) -> (..., k, n).
    Domain:  every m and v.

    >>> diag_post_multiply([[1.0, 0.5], [-1.0, 2.0]], [2.0, 3.0])
    array([[ 2. ,  1.5],
           [-2. ,  6. ]])
    """
    v, (m,) = as_array(v), matrices("diag_post_multiply", m=m)
    require_length("diag_post_multiply", "v", v, -1, np.shape(m)[-1], "m has columns")
    return m * np.expand_dims(v, -2)


@with_bodies({"nn n": "m * (np.expand_dims(v, 1) * np.expand_dims(v, 0))"})
def quad_form_diag(m: ArrayValue, v: ArrayValue) -> ArrayValue:
    """A square matrix between two equal diagonal matrices, which scales a correlation matrix to a covariance matrix.

        z = diag(v) m diag(v), z_ij = v_i m_ij v_j,     m_bar_ij = v_i z_bar_ij v_j

    Shapes:  m (..., n, n), v (..., n) -> (..., n, n).
    Domain:  every m and v.
    Raises:  LinAlgError if m is not square, ValueError if the lengths differ.
    Cost:    O(n^2) forward and reverse.
    Ref:     Stan Functions Reference, dot products and specialized products.

    >>> quad_form_diag([[1.0, 0.5], [0.5, 1.0]], [2.0, 3.0])
    array([[4., 3.],
           [3., 9.]])
    """
    m, v = map(as_array, (m, v))
    check_square("quad_form_diag", m)
    require_length("quad_form_diag", "v", v, -1, np.shape(m)[-1], "m has rows")
    return m * (np.expand_dims(v, -1) * np.expand_dims(v, -2))


@with_bodies(
    {"2 0": "with_diagonal(m, d + np.zeros(min(m.shape[0], m.shape[1])))", "2 1": "with_diagonal(m, d)"},
    inside=[("len(d) == min(m.shape[0], m.shape[1])", "d must have as many elements as the diagonal of m")],
)
def add_diag(m: ArrayValue, d: Value) -> ArrayValue:
    """A matrix with a number, or the elements of a vector, added to its diagonal.

        z = m + diag(d),     m_bar = z_bar,     d_bar_i = z_bar_ii, summed where d is a number

    Shapes:  m (..., k, n), d () or (..., min(k, n)) -> (..., k, n).
    Domain:  every m and d.
    Raises:  ValueError if the length of d is not that of the diagonal.
    Cost:    O(k n) forward and reverse.
    Ref:     Stan Functions Reference, diagonal matrix functions.

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
@with_bodies({"mn": "a.T @ a"})
def crossprod(a: ArrayValue) -> ArrayValue:
    """The product of the transpose of a matrix with the matrix, by the rule of `tcrossprod`.

        z = a^T a,     z_dot = a_dot^T a + a^T a_dot,     a_bar = a (z_bar + z_bar^T)

    Shapes:  a (..., m, n) -> (..., n, n), exactly symmetric.
    Domain:  every a.
    Raises:  ValueError if a is not a matrix.
    Cost:    O(m n^2) forward, half that of a product; one product in reverse.
    Ref:     Giles (2008), section 2.2.2; Stan Functions Reference, dot products and specialized products.

    >>> crossprod([[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]])
    array([[10.25, 13.5 ],
           [13.5 , 21.  ]])
    """
    (a,) = matrices("crossprod", a=a)
    return quadratic_forms.tcrossprod(transposed_of(a))


@with_bodies({"mn": "a @ a.T"})
@with_rest_of(crossprod)
def tcrossprod(a: ArrayValue) -> ArrayValue:
    """The product of a matrix with its transpose; the rule is `contad.ops.quadratic_forms.tcrossprod`.

        z = a a^T,     z_dot = a_dot a^T + a a_dot^T,     a_bar = (z_bar + z_bar^T) a

    Shapes:  a (..., m, n) -> (..., m, m), exactly symmetric.
    Cost:    O(m^2 n) forward, half that of a product; one product in reverse.

    >>> tcrossprod([[1.0, 2.0, 0.5], [3.0, 4.0, -1.0]])
    array([[ 5.25, 10.5 ],
           [10.5 , 26.  ]])
    """
    (a,) = matrices("tcrossprod", a=a)
    return quadratic_forms.tcrossprod(a)


@with_bodies({"mn": "np.tril(l) @ np.tril(l).T"})
def multiply_lower_tri_self_transpose(l: ArrayValue) -> ArrayValue:  # noqa: E741  (Stan's name)
    """The product of the lower triangle of a matrix with its transpose.

        z = l l^T,     l_bar = tril((z_bar + z_bar^T) l)

    Elements above the diagonal are not read, and their cotangents are 0.

    Shapes:  l (..., m, n) -> (..., m, m), exactly symmetric.
    Domain:  every l.
    Raises:  ValueError if l is not a matrix.
    Cost:    that of `tcrossprod`.
    Ref:     Giles (2008), section 2.2.2; Stan Functions Reference, dot products and specialized products.

    >>> multiply_lower_tri_self_transpose([[1.0, 9.0], [3.0, 4.0]])
    array([[ 1.,  3.],
           [ 3., 25.]])
    """
    (l,) = matrices("multiply_lower_tri_self_transpose", l=l)  # noqa: E741
    return quadratic_forms.tcrossprod(np.tril(l))


# ---- quadratic forms -------------------------------------------------------------------------------------------------
@with_bodies({"nn n/nk": "b.T @ (a @ b)"})
def quad_form(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """The quadratic form of a square matrix.

        z = b^T a b,     a_bar = b z_bar b^T,     b_bar = a b z_bar^T + a^T b z_bar

    Shapes:  a (..., n, n), b (..., n, k) -> (..., k, k); b (n,) -> (...).
    Domain:  every a and b.
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ.
    Cost:    O(n^2 k) forward, twice that in reverse. For a symmetric a, `quad_form_sym` needs half of that.
    Ref:     Giles (2008), section 2.2.2; Stan Functions Reference, dot products and specialized products.

    >>> quad_form(np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([1.0, 2.0]))
    np.float64(16.0)
    """
    a, b = _of_form("quad_form", a, b)
    return trace_quad_form(a, b) if np.ndim(b) == 1 else matmul(transposed_of(b), matmul(a, b))


def _of_form(name: str, a: ArrayValue, b: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """A square matrix, and a vector or matrix with as many rows."""
    a, b = map(as_array, (a, b))
    check_square(name, a)
    require_length(name, "b", b, -1 if np.ndim(b) == 1 else -2, np.shape(a)[-1], "a has columns")
    return a, b


@with_bodies({"nn n/nk": "b.T @ (by_lower_triangle(a) @ b)"}, inside=SYMMETRIC)
def quad_form_sym(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """The quadratic form of a symmetric matrix, by the rule `contad.ops.quadratic_forms.quad_form_sym`.

        z = b^T a b,     b_bar = a b (z_bar + z_bar^T),     a_bar = b (z_bar + z_bar^T) b^T / 2

    The lower triangle of a is read. Its cotangent has the sum of both triangles there, and zeros above.

    Shapes:  a (..., n, n), b (..., n, k) -> (..., k, k), exactly symmetric; b (n,) -> (...).
    Domain:  every symmetric a, every b.
    Raises:  LinAlgError if a is not square, ValueError if it is not symmetric or the lengths differ.
    Cost:    O(n^2 k) forward and in reverse.
    Ref:     Giles (2008), section 2.2.2; Stan Functions Reference, dot products and specialized products.

    >>> quad_form_sym(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0]))
    np.float64(18.0)
    """
    a, b = _of_form("quad_form_sym", a, b)
    require_symmetric("quad_form_sym", "a", a)
    return quadratic_forms.quad_form_sym(a, b)


@with_bodies({"nn n/nk": "np.sum(b * (a @ b))"})
@with_rest_of(quad_form)
def trace_quad_form(a: ArrayValue, b: ArrayValue) -> Value:
    """The trace of a quadratic form, without forming the product.

        z = tr(b^T a b) = sum_ij b_ij (a b)_ij,     a_bar = z_bar b b^T,     b_bar = z_bar (a + a^T) b

    Shapes:  a (..., n, n), b (..., n, k) -> (...); b (n,) is one column.
    Cost:    O(n^2 k) forward, twice that in reverse.

    >>> trace_quad_form(np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[1.0, 0.0], [2.0, 1.0]]))
    np.float64(19.0)
    """
    a, b = _of_form("trace_quad_form", a, b)
    columns = as_columns(b, np.ndim(b))
    return np.sum(columns * matmul(a, columns), axis=(-2, -1))


@with_bodies({"kk nn nk": "np.sum((b @ d.T) * (a @ b))"})
def trace_gen_quad_form(d: Value, a: ArrayValue, b: ArrayValue) -> Value:
    """The trace of a matrix times a quadratic form.

        z = tr(d b^T a b) = sum_ij (b d^T)_ij (a b)_ij,
        a_bar = z_bar b d^T b^T,     b_bar = z_bar (a b d + a^T b d^T),     d_bar = z_bar b^T a^T b

    Shapes:  d (..., k, k), a (..., n, n), b (..., n, k) -> (...).
    Domain:  every d, a and b.
    Raises:  LinAlgError if d or a is not square, ValueError if the lengths differ.
    Cost:    O(n^2 k + n k^2) forward, twice that in reverse.
    Ref:     Giles (2008), section 2.2.2; Stan Functions Reference, dot products and specialized products.

    >>> d, a, b = [[2.0, 0.5], [0.0, 3.0]], [[2.0, 1.0], [0.0, 3.0]], [[1.0, 0.0], [2.0, 1.0]]
    >>> trace_gen_quad_form(*map(np.array, (d, a, b)))
    np.float64(44.0)
    """
    d, b = map(as_array, (d, b))
    a, b = _of_form("trace_gen_quad_form", a, *matrices("trace_gen_quad_form", b=b))
    check_square("trace_gen_quad_form", d)
    require_length("trace_gen_quad_form", "d", d, -1, np.shape(b)[-1], "b has columns")
    return np.sum(matmul(b, transposed_of(d)) * matmul(a, b), axis=(-2, -1))


# ---- powers and exponentials -----------------------------------------------------------------------------------------
@with_bodies(
    {"nn 0": "np.linalg.matrix_power(a, n)"},
    inside=[("n >= 0", "n must not be negative; np.linalg.matrix_power inverts")],
)
def matrix_power(a: ArrayValue, n: int) -> ArrayValue:
    """The n-th power of a square matrix for a whole n >= 0, like `numpy.linalg.matrix_power`.

        z = a^n,     z_dot = sum_(k < n) a^k a_dot a^(n - 1 - k)

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  every a, n = 0, 1, ...
    Raises:  LinAlgError if a is not square, ValueError if n is negative.
    Cost:    O(log n) products forward, twice that in reverse.
    Ref:     Stan Functions Reference, matrix power.

    >>> matrix_power([[1.0, 0.5], [-1.0, 2.0]], 3)
    array([[-1.  ,  3.25],
           [-6.5 ,  5.5 ]])
    """
    (a,) = matrices("matrix_power", a=a)
    if n < 0:
        raise ValueError(f"matrix_power: n must not be negative, got {n}; np.linalg.matrix_power inverts")
    return linear_systems.matrix_power(a, n)


@with_bodies({"nn": "expm(a)"}, expm=expm)
def matrix_exp(a: ArrayValue) -> ArrayValue:
    """The exponential of a square matrix, like `contad.scipy.linalg.expm`.

        z = sum_k a^k / k!,     z_dot = L(a, a_dot),     L(a, e) = int_0^1 exp(s a) e exp((1 - s) a) ds

    Shapes:  a (..., n, n) -> (..., n, n).
    Domain:  every finite a.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward, about three times that in reverse.
    Ref:     Al-Mohy & Higham (2009), section 2; Stan Functions Reference, matrix exponential.

    >>> matrix_exp([[0.0, 0.5], [-0.5, 0.0]]).round(6)
    array([[ 0.877583,  0.479426],
           [-0.479426,  0.877583]])
    """
    (a,) = matrices("matrix_exp", a=a)
    return matrix_functions.expm(a)


@with_bodies({"nn n/nk": "expm(a) @ b"}, expm=expm)
def matrix_exp_multiply(a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """The exponential of a square matrix times another matrix or a vector.

        z = exp(a) b,     z_dot = L(a, a_dot) b + exp(a) b_dot, L as of `matrix_exp`

    Shapes:  a (n, n), b (n, k) or (n,) -> like b.
    Domain:  every finite a, every b.
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ.
    Cost:    O(n^3) forward and about three times that in reverse for a; only a product if a is a constant.
    Ref:     Al-Mohy & Higham (2009), section 2; Stan Functions Reference, matrix exponential.

    >>> matrix_exp_multiply([[0.0, 0.5], [-0.5, 0.0]], [1.0, 3.0]).round(6)
    array([2.315859, 2.153322])
    """
    a, b = _of_form("matrix_exp_multiply", a, b)
    return matmul(matrix_functions.expm(a), b)


@with_bodies({"0 nn n/nk": "expm(t * a) @ b"}, expm=expm)
def scale_matrix_exp_multiply(t: Real, a: ArrayValue, b: ArrayValue) -> ArrayValue:
    """The exponential of a number times a square matrix, times another matrix or a vector.

        z = exp(t a) b,     dz/dt = a z

    Shapes:  t (), a (n, n), b (n, k) or (n,) -> like b.
    Domain:  every finite t and a, every b.
    Raises:  LinAlgError if a is not square, ValueError if the lengths differ or t is not a number.
    Cost:    that of `matrix_exp_multiply`.
    Ref:     Al-Mohy & Higham (2009), section 2; Stan Functions Reference, matrix exponential.

    >>> scale_matrix_exp_multiply(0.4, [[0.0, 0.5], [-0.5, 0.0]], [1.0, 3.0]).round(6)
    array([1.576075, 2.74153 ])
    """
    a, b = _of_form("scale_matrix_exp_multiply", a, b)
    if np.ndim(t):
        raise ValueError(f"scale_matrix_exp_multiply: t must be a number, got shape {np.shape(t)}")
    return matmul(matrix_functions.expm(t * a), b)
