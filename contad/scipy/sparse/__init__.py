"""`scipy.sparse` on variables: matrices with variable values at constant positions.

A SciPy sparse array or matrix is a constant and does not need this module: `S @ x` and `x @ S` accept array variables.
If no value is a variable, the functions return SciPy's own arrays. `contad.scipy.sparse.linalg` has solvers.

>>> import contad
>>> indices, indptr = np.array([0, 1, 1]), np.array([0, 2, 3])
>>> x = np.array([5.0, 7.0])
>>> contad.grad(lambda v: np.sum(csr_array((v, indices, indptr), shape=(2, 2)) @ x))(np.array([1.0, 2.0, 3.0]))
array([5., 7., 7.])
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import sparse
from contad.ops.products import as_array
from contad.ops.sparse_patterns import Pattern, known_pattern
from contad.scipy.sparse import linalg
from contad.scipy.sparse.sparse_arrays import SparseArray, SparseMatrix, is_any_sparse
from contad.variables.array import Array, numbers_in
from contad.variables.dtypes import require_float64
from contad.variables.open_types import ArrayValue, Option

__all__ = ["SparseArray", "coo_array", "csc_array", "csr_array", "diags_array", "issparse", "linalg"]


def csr_array(arg1: Any, shape: Option = None, dtype: Option = None, copy: bool = False) -> SparseMatrix:
    """A sparse matrix by rows: (values, indices, indptr), or (values, (rows, columns)) in any order.

        a_(i, indices_k) = values_k for indptr_i <= k < indptr_(i+1), 0 elsewhere

    Shapes:  values, indices (p,), indptr (m + 1,) -> (m, n).
    Domain:  any values; positions inside the shape.
    Raises:  like SciPy; UnsupportedError for options not supported on variables.
    Cost:    O(p) for p values.
    Ref:     scipy.sparse.csr_array.

    >>> csr_array((np.array([2.0, 3.0, 0.5]), np.array([1, 0, 1]), np.array([0, 1, 3]))).toarray()
    array([[0. , 2. ],
           [3. , 0.5]])
    """
    return _make("csr", arg1, shape, dtype, copy)


def csc_array(arg1: Any, shape: Option = None, dtype: Option = None, copy: bool = False) -> SparseMatrix:
    """A sparse matrix by columns: (values, indices, indptr), or (values, (rows, columns)) in any order.

        a_(indices_k, j) = values_k for indptr_j <= k < indptr_(j+1), 0 elsewhere

    Shapes:  values, indices (p,), indptr (n + 1,) -> (m, n).
    Domain:  any values; positions inside the shape.
    Raises:  like SciPy; UnsupportedError for options not supported on variables.
    Cost:    O(p) for p values.
    Ref:     scipy.sparse.csc_array.

    >>> csc_array((np.array([2.0, 3.0, 0.5]), np.array([1, 0, 1]), np.array([0, 1, 3]))).toarray()
    array([[0. , 3. ],
           [2. , 0.5]])
    """
    return _make("csc", arg1, shape, dtype, copy)


def coo_array(arg1: Any, shape: Option = None, dtype: Option = None, copy: bool = False) -> SparseMatrix:
    """A sparse matrix by positions, (values, (rows, columns)); values at the same position are added up.

        a_ij = sum of values_k where rows_k = i and columns_k = j

    Shapes:  values, rows, columns (p,) -> (m, n).
    Domain:  any values; positions inside the shape.
    Raises:  like SciPy; UnsupportedError for options not supported on variables.
    Cost:    O(p) for p values.
    Ref:     scipy.sparse.coo_array.

    >>> coo_array((np.array([2.0, 3.0]), (np.array([0, 0]), np.array([1, 1])))).toarray()
    array([[0., 5.]])
    """
    return _make("coo", arg1, shape, dtype, copy)


def diags_array(
    diagonals: Sequence[ArrayValue] | ArrayValue, /, *, offsets: Option = 0, shape: Option = None,
    format: Option = None, dtype: Option = None,
) -> SparseMatrix:  # fmt: skip
    """A sparse matrix with these diagonals, at `offsets` above the main one; with variables, the default format is csr.

        a_(i, i + o) = d_o,(min(i, i + o)) for each offset o, 0 elsewhere

    Shapes:  a diagonal (k,) for each offset -> (m, n).
    Domain:  any diagonals with the lengths determined by offsets and shape.
    Raises:  like SciPy; UnsupportedError for options not supported on variables.
    Cost:    O(p) for p values.
    Ref:     scipy.sparse.diags_array.

    >>> diags_array([np.array([2.0, 3.0]), np.array([5.0])], offsets=[0, 1]).toarray()
    array([[2., 5.],
           [0., 3.]])
    """
    alone = np.ndim(offsets) == 0
    given = [diagonals] if alone and np.ndim(diagonals) < 2 and not _is_nested(diagonals) else list(diagonals)
    if not numbers_in(given):
        return sparse().diags_array(diagonals, offsets=offsets, shape=shape, format=format, dtype=dtype)
    require_float64("contad.scipy.sparse.diags_array", dtype)
    places = [int(k) for k in np.atleast_1d(offsets)]
    found = [np.reshape(as_array(x), (-1,)) for x in given]
    if len(places) != len(found):
        raise ValueError(f"Different number of diagonals ({len(found)}) and offsets ({len(places)}).")
    if shape is None:
        n = len(found[0]) + abs(places[0])
        shape = (n, n)
    values, rows, columns = [], [], []
    for x, k in zip(found, places, strict=True):
        length = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        if len(x) not in (length, 1) or length < 0:
            at = f"at offset {k}: {len(x)}"
            raise ValueError(f"Diagonal length ({at}) does not agree with array size {tuple(shape)}.")
        values.append(x if len(x) == length else np.broadcast_to(x, (length,)))
        rows.append(np.arange(length) - min(k, 0))
        columns.append(np.arange(length) + max(k, 0))
    pattern = known_pattern(Pattern("coo", (np.concatenate(rows), np.concatenate(columns)), tuple(shape)))
    return SparseArray(np.concatenate(values), pattern).asformat("csr" if format is None else format)


def _is_nested(diagonals: Sequence[ArrayValue] | ArrayValue) -> bool:
    """Whether the argument is a list of diagonals and not a single one."""
    return isinstance(diagonals, (list, tuple)) and len(diagonals) > 0 and np.ndim(diagonals[0]) > 0


def issparse(x: object) -> bool:
    """Whether x is a sparse array or matrix, SciPy's or one with variable values.

        z = True for an array of SciPy's or a `SparseArray`, else False

    Shapes:  anything -> a bool.
    Domain:  every x.
    Cost:    O(1).
    Ref:     scipy.sparse.issparse.

    >>> issparse(np.eye(2)), issparse(coo_array((np.array([2.0]), ([0], [0]))))
    (False, True)
    """
    return is_any_sparse(x)


def _make(format: str, arg1: Any, shape: Option, dtype: Option, copy: bool) -> SparseMatrix:
    if isinstance(arg1, SparseArray):
        return arg1.asformat(format)
    name = f"contad.scipy.sparse.{format}_array"
    made = getattr(sparse(), f"{format}_array")
    if not isinstance(arg1, tuple) or not arg1 or not numbers_in(arg1[0]):
        if numbers_in(arg1) or isinstance(arg1, Array):
            raise UnsupportedError(
                f"{name}: for a dense matrix of variables, the positions would depend on which elements are zero; give "
                "(values, indices, indptr) or (values, (rows, columns))"
            )
        return made(arg1, shape=shape, dtype=dtype, copy=copy)
    require_float64(name, dtype)
    values, *places = arg1
    values = _vector(name, values)
    by_places = len(places) == 1
    # SciPy checks the positions and finds the shape
    like = (sparse().coo_array if by_places else made)((np.zeros(values.shape), *places), shape=shape)
    if len(like.shape) != 2:
        raise UnsupportedError(f"{name}: a sparse array must have two axes on variables, got shape {like.shape}")
    if by_places:
        return SparseArray(values, known_pattern(Pattern("coo", tuple(like.coords), like.shape))).asformat(format)
    like.check_format(full_check=True)  # with an index out of range, SciPy's products would read other memory
    if len(like.data) != like.indptr[-1]:
        raise ValueError(f"{name}: values must have as many elements as indptr tells, {like.indptr[-1]}")
    return SparseArray(values, known_pattern(Pattern(format, (like.indices, like.indptr), like.shape)))


def _vector(name: str, values: ArrayValue) -> ArrayValue:
    """The values as a one-dimensional array."""
    found = np.stack(values) if isinstance(values, (list, tuple)) and isinstance(values[0], Array) else values
    found = as_array(np.array(found, dtype=object) if isinstance(found, (list, tuple)) else found)
    if np.ndim(found) != 1:
        raise ValueError(f"{name}: values must be a vector, got shape {np.shape(found)}")
    return found
