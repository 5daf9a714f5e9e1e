"""Stan's sparse matrices in compressed rows: values w, their columns v, and the beginnings u of rows.

Columns and positions count from 0, as in SciPy, which calls w, v and u `data`, `indices` and `indptr`; Stan counts from
1.
"""

from typing import Any

import numpy as np

from contad.distributions.docstrings import with_rest_of
from contad.ops.products import as_array
from contad.ops.sparse_patterns import Pattern
from contad.ops.sparse_products import sparse_product
from contad.stan.compiled import with_bodies
from contad.stan.shapes import matrices
from contad.variables.open_types import ArrayValue

__all__ = [
    "csr_extract", "csr_extract_u", "csr_extract_v", "csr_extract_w", "csr_matrix_times_vector", "csr_to_dense_matrix",
]  # fmt: skip


@with_bodies({"0 0 p p m k": "sparse_times_vector(m, n, w, v, u, b)"})
def csr_matrix_times_vector(m: int, n: int, w: ArrayValue, v: np.ndarray, u: np.ndarray, b: ArrayValue) -> ArrayValue:
    """The product of a sparse m by n matrix and a vector.

        z = S b, S_(i, v_k) = w_k for u_i <= k < u_(i + 1),     b_bar = S^T z_bar,     w_bar_k = z_bar_i b_(v_k)

    Shapes:  w (p,), v (p,) and u (m + 1,) integers, b (n,) -> (m,).
    Domain:  every w and b; v from 0 to n - 1, u rising from 0 to p.
    Raises:  ValueError if v or u does not belong to such a matrix, or if lengths differ.
    Cost:    O(p + m) forward, O(p + n) in reverse.
    Ref:     Stan Functions Reference, sparse matrix arithmetic.

    >>> csr_matrix_times_vector(2, 3, [2.0, 3.0], [1, 0], [0, 1, 2], [1.0, 10.0, 100.0])
    array([20.,  3.])
    """
    name = "csr_matrix_times_vector"
    w, b, v, u = as_array(w), as_array(b), np.asarray(v), np.asarray(u)
    if np.shape(b) != (n,) or np.ndim(w) != 1:
        raise ValueError(f"{name}: w must be a vector and b one of {n}, got shapes {np.shape(w)} and {np.shape(b)}")
    return sparse_product(w, b, pattern=_pattern(name, m, n, np.shape(w)[0], v, u))


@with_bodies({"0 0 p p m": "dense_of_sparse(m, n, w, v, u)"})
def csr_to_dense_matrix(m: int, n: int, w: ArrayValue, v: np.ndarray, u: np.ndarray) -> ArrayValue:
    """The dense m by n matrix of a sparse one.

        z_(i, v_k) = w_k for u_i <= k < u_(i + 1), 0 elsewhere

    Shapes:  w (p,), v (p,) and u (m + 1,) integers -> (m, n).
    Domain:  every w; v from 0 to n - 1, u rising from 0 to p.
    Raises:  ValueError if v or u does not belong to such a matrix, or if a column occurs twice in a row.
    Cost:    O(m n), moves only.
    Ref:     Stan Functions Reference, sparse matrix conversion functions.

    >>> csr_to_dense_matrix(2, 3, [2.0, 3.0], [1, 0], [0, 1, 2])
    array([[0., 2., 0.],
           [3., 0., 0.]])
    """
    name = "csr_to_dense_matrix"
    w, v, u = as_array(w), np.asarray(v), np.asarray(u)
    if np.ndim(w) != 1:
        raise ValueError(f"{name}: w must be a vector, got shape {np.shape(w)}")
    p = np.shape(w)[0]
    places = np.full((m, n), p)
    places[_pattern(name, m, n, p, v, u).places] = np.arange(p)
    if np.count_nonzero(places < p) != p:
        raise ValueError(f"{name}: a column of v comes twice in a row")
    return np.take(np.concatenate([w, [0.0]]), places)


@with_bodies({"2": "values_of_rows(a)"})
def csr_extract_w(a: ArrayValue) -> ArrayValue:
    """The nonzero elements of a matrix, row by row; their positions are constants.

        w_k = a_(i, v_k) for u_i <= k < u_(i + 1)

    Shapes:  a (m, n) -> (p,).
    Domain:  every a.
    Raises:  ValueError if a is not one matrix.
    Cost:    O(m n), moves only.
    Ref:     Stan Functions Reference, sparse matrix conversion functions.

    >>> csr_extract_w([[0.0, 2.0, 0.5], [3.0, 0.0, 0.0]])
    array([2. , 0.5, 3. ])
    """
    a = _matrix("csr_extract_w", a)
    return np.take(np.reshape(a, (-1,)), np.flatnonzero(a))


@with_bodies({"2": "columns_of_rows(a)"})
@with_rest_of(csr_extract_w)
def csr_extract_v(a: ArrayValue) -> ArrayValue:
    """The columns of the nonzero elements, counted from 0; constants.

        v_k = j of the element a_ij that is the k-th other than 0, row by row

    Shapes:  a (m, n) -> (p,) integers.
    Cost:    O(m n).

    >>> csr_extract_v([[0.0, 2.0, 0.5], [3.0, 0.0, 0.0]])
    array([1, 2, 0])
    """
    return np.nonzero(_matrix("csr_extract_v", a))[1]


@with_bodies({"2": "beginnings_of_rows(a)"})
@with_rest_of(csr_extract_v)
def csr_extract_u(a: ArrayValue) -> ArrayValue:
    """The index of each row's first nonzero element, counted from 0, and their number; constants.

        u_i = the number of elements other than 0 in the rows before i, i = 0, ..., m

    Shapes:  a (m, n) -> (m + 1,) integers.

    >>> csr_extract_u([[0.0, 2.0, 0.5], [3.0, 0.0, 0.0]])
    array([0, 2, 3])
    """
    counts = np.count_nonzero(_matrix("csr_extract_u", a), axis=1)
    return np.concatenate([[0], np.cumsum(counts)])


@with_bodies({"2": "values_of_rows(a), columns_of_rows(a), beginnings_of_rows(a)"})
@with_rest_of(csr_extract_v)
def csr_extract(a: ArrayValue) -> tuple[ArrayValue, ArrayValue, ArrayValue]:
    """w, v and u of a matrix, like `csr_extract_w`, `csr_extract_v` and `csr_extract_u`.

        a_(i, v_k) = w_k for u_i <= k < u_(i + 1), 0 elsewhere

    Shapes:  a (m, n) -> (p,), (p,) and (m + 1,) integers.

    >>> w, v, u = csr_extract([[0.0, 2.0, 0.5], [3.0, 0.0, 0.0]])
    >>> csr_to_dense_matrix(2, 3, w, v, u)
    array([[0. , 2. , 0.5],
           [3. , 0. , 0. ]])
    """
    return csr_extract_w(a), csr_extract_v(a), csr_extract_u(a)


def _pattern(name: str, m: int, n: int, p: int, v: np.ndarray, u: np.ndarray) -> Pattern:
    """The positions of p values; ValueError unless v and u are columns and beginnings of rows of an m by n matrix."""
    for label, x, size in (("v", v, p), ("u", u, m + 1)):
        if x.ndim != 1 or x.size != size or x.dtype.kind not in "iu":
            raise ValueError(f"{name}: {label} must be {size} integers, got shape {x.shape} of {x.dtype}")
    if p and not 0 <= np.min(v) <= np.max(v) < n:
        raise ValueError(f"{name}: v must have columns from 0 to {n - 1}, got {np.min(v)} to {np.max(v)}")
    if u[0] != 0 or u[-1] != p or np.any(np.diff(u) < 0):
        raise ValueError(f"{name}: u must rise from 0 to {p}, the number of values, got {u.tolist()}")
    return Pattern("csr", (v.astype(np.intp), u.astype(np.intp)), (m, n))


def _matrix(name: str, a: ArrayValue) -> Any:
    (a,) = matrices(name, a=a)
    if np.ndim(a) != 2:
        raise ValueError(f"{name}: a must be one matrix, got shape {np.shape(a)}")
    return a
