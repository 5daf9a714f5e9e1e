"""A sparse matrix with variable values and the operations of SciPy's sparse arrays, without dense matrices."""

import sys
from typing import Any, NoReturn, TypeAlias

import numpy as np

from contad.errors import LostDerivativeError, UnsupportedError
from contad.ops.calculus import bincount
from contad.ops.products import as_array
from contad.ops.sparse_patterns import Pattern, is_sparse, known_pattern, split
from contad.ops.sparse_products import sparse_product, transposed_product
from contad.variables.array import stand_in_of_product
from contad.variables.dtypes import require_float64
from contad.variables.open_types import ArrayValue, Key, Option, Real, Value

# A SciPy sparse array or matrix, or a SparseArray.
SparseMatrix: TypeAlias = Any

_ADVICE = "apply it to vectors, A @ (B @ x), or take A.toarray() where it is small"


class SparseArray:
    """Values, possibly variables, at the positions of a constant pattern; made by csr_array, csc_array, coo_array.

        z = A x,     x_bar = A^T z_bar,     values_bar_k = <z_bar_(row k), x_(column k)>

    Products with dense vectors and matrices, sums, multiples, the transpose and conversions are differentiable in the
    values and in the other operand. Operations whose positions depend on the values, or that would silently make a
    dense matrix, are refused by name.

    Shapes:  values (p,), a pattern of p positions in (m, n).
    Domain:  any values.
    Raises:  UnsupportedError for operations that change the positions, or silently make a dense matrix.
    Cost:    O(p) for each column of x; a sweep twice that.
    Ref:     Giles (2008), section 2.2.2, on the elements that are stored; scipy.sparse.

    >>> a = SparseArray(np.array([2.0, 3.0]), Pattern("coo", (np.array([0, 1]), np.array([1, 0])), (2, 2)))
    >>> a @ np.array([5.0, 7.0]), (2.0 * a.T).toarray()[0]
    (array([14., 15.]), array([0., 6.]))
    """

    __array_ufunc__ = None  # NumPy's operators defer to those of this class
    __slots__ = ("data", "pattern")
    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, data: ArrayValue, pattern: Pattern) -> None:
        self.data = data
        self.pattern = pattern

    # ---- attributes --------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        shape: tuple[int, int] = self.pattern.shape
        return shape

    @property
    def format(self) -> str:
        """csr, csc or coo."""
        name: str = self.pattern.format
        return name

    @property
    def nnz(self) -> int:
        """The number of values."""
        number: int = self.pattern.nnz
        return number

    @property
    def T(self) -> "SparseArray":
        """The transposed matrix, with the same values."""
        return SparseArray(self.data, self.pattern.T)

    @property
    def indices(self) -> np.ndarray:
        """The columns of the values (csr), or their rows (csc)."""
        return self._part("indices", 0)

    @property
    def indptr(self) -> np.ndarray:
        """The index of the first value of each row (csr) or column (csc)."""
        return self._part("indptr", 1)

    def _part(self, name: str, k: int) -> np.ndarray:
        if self.format == "coo":
            raise AttributeError(f"a sparse matrix of format coo has no {name}; use .coords, or .tocsr().{name}")
        return self.pattern.parts[k]

    @property
    def coords(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows and the columns of the values."""
        places: tuple[np.ndarray, np.ndarray] = self.pattern.places
        return places

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<{m}x{n} sparse array of {self.nnz} values that carry derivatives, format {self.format}>"

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use .nnz or .shape[0]")

    # ---- products ----------------------------------------------------------------------------------------------------
    def __matmul__(self, x: ArrayValue) -> ArrayValue:
        if isinstance(x, SparseArray) or is_sparse(x):
            self._refuse("A @ B of two sparse matrices")
        return sparse_product(self.data, as_array(x), pattern=self.pattern)

    def __rmatmul__(self, x: ArrayValue) -> ArrayValue:
        if is_sparse(x):
            self._refuse("A @ B of two sparse matrices")
        return transposed_product(self.data, as_array(x), self.pattern)

    def dot(self, x: ArrayValue) -> ArrayValue:
        """self @ x, or a multiple if x is a number."""
        return self * x if np.ndim(x) == 0 and not is_any_sparse(x) else self @ x

    def transpose(self, axes: Option = None, copy: bool = False) -> "SparseArray":
        """The transposed matrix."""
        if axes is not None:
            raise ValueError("Sparse matrices do not support an 'axes' parameter")
        return self.T

    # ---- arithmetic --------------------------------------------------------------------------------------------------
    def multiply(self, other: SparseMatrix | Value) -> "SparseArray":
        """The elements times a number, or times those of a dense matrix, row or column at the same positions."""
        if is_any_sparse(other):
            self._refuse("A * B of two sparse matrices")
        other = as_array(other)
        if np.ndim(other) == 0:
            return SparseArray(self.data * other, self.pattern)
        rows, columns = self.coords
        return SparseArray(self.data * np.broadcast_to(other, self.shape)[rows, columns], self.pattern)

    def __mul__(self, other: SparseMatrix | Value) -> "SparseArray":
        return self.multiply(other)

    __rmul__ = __mul__

    def __truediv__(self, other: SparseMatrix | Value) -> "SparseArray":
        return self.multiply(1.0 / as_array(other))

    def __neg__(self) -> "SparseArray":
        return SparseArray(-self.data, self.pattern)

    def __add__(self, other: SparseMatrix | Value) -> "SparseArray":
        other = _as_variables("A + B", other)
        if other.shape != self.shape:
            raise ValueError(f"inconsistent shapes: {self.shape} and {other.shape}")
        if self.pattern.matches(other.pattern):
            return SparseArray(self.data + other.data, self.pattern)
        ours, theirs = self.coords, other.coords
        parts = tuple(np.concatenate([x, y]) for x, y in zip(ours, theirs, strict=True))
        both = SparseArray(np.concatenate([self.data, other.data]), Pattern("coo", parts, self.shape))
        return both.asformat("csr" if self.format == "coo" else self.format)

    __radd__ = __add__

    def __sub__(self, other: SparseMatrix | Value) -> "SparseArray":
        return self + -_as_variables("A - B", other)

    def __rsub__(self, other: SparseMatrix | Value) -> "SparseArray":
        return -self + other

    def sum(self, axis: Option = None, dtype: Option = None, out: Option = None) -> Value:
        """The sum of all elements, of each column (axis 0) or of each row (axis 1)."""
        if dtype is not None or out is not None:
            self._refuse("A.sum with dtype= or out=")
        if axis is None:
            return np.sum(self.data)
        along = axis % 2
        return bincount(self.data, x=self.coords[1 - along], minlength=self.shape[1 - along])

    def diagonal(self) -> ArrayValue:
        """The elements of the main diagonal."""
        rows, columns = self.coords
        on = np.flatnonzero(rows == columns)
        return bincount(self.data[on], x=rows[on], minlength=min(self.shape))

    # ---- other forms -------------------------------------------------------------------------------------------------
    def toarray(self) -> ArrayValue:
        """The dense matrix."""
        m, n = self.shape
        rows, columns = self.coords
        places = rows.astype(np.int64) * n + columns
        return np.reshape(bincount(self.data, x=places, minlength=m * n), (m, n))

    def asformat(self, format: str | None) -> "SparseArray":
        """The same matrix as csr, csc or coo; duplicates are added up if the order changes."""
        if format is None or format == self.format:
            return self
        if format == "coo":
            return SparseArray(self.data, known_pattern(Pattern("coo", self.coords, self.shape)))
        if format not in ("csr", "csc"):
            raise UnsupportedError(f"a sparse matrix of variables: format must be csr, csc or coo, got {format!r}")
        places = self.coords if format == "csr" else self.coords[::-1]
        lines, length = self.shape if format == "csr" else self.shape[::-1]
        keys = places[0].astype(np.int64) * length + places[1]
        kept, first, order = np.unique(keys, return_index=True, return_inverse=True)
        values = self.data[first] if len(kept) == len(keys) else bincount(self.data, x=order, minlength=len(kept))
        indptr = np.searchsorted(kept, np.arange(lines + 1) * length)
        return SparseArray(values, known_pattern(Pattern(format, (kept % max(length, 1), indptr), self.shape)))

    def tocsr(self, copy: bool = False) -> "SparseArray":
        """The same matrix by rows."""
        return self.asformat("csr")

    def tocsc(self, copy: bool = False) -> "SparseArray":
        """The same matrix by columns."""
        return self.asformat("csc")

    def tocoo(self, copy: bool = False) -> "SparseArray":
        """The same matrix by positions."""
        return self.asformat("coo")

    def copy(self) -> "SparseArray":
        """A copy with its own values."""
        return SparseArray(self.data.copy(), self.pattern)

    def astype(self, dtype: Option, **options: Option) -> "SparseArray":
        """The matrix itself, because its values are float64."""
        require_float64("astype", dtype)
        return self

    # ---- refusals ----------------------------------------------------------------------------------------------------
    def _refuse(self, what: str) -> NoReturn:
        raise UnsupportedError(f"{what}: not supported where values are variables; {_ADVICE}")

    def __array__(self, *args: Option, **options: Option) -> Any:
        stand_in = stand_in_of_product(sys._getframe(1))
        if stand_in is not None:
            return stand_in
        raise LostDerivativeError(
            "np.asarray: a sparse matrix of variables cannot become an array of floats; use A.toarray(), or functions "
            "of contad.scipy.sparse.linalg in place of SciPy's"
        )

    def __getitem__(self, key: Key) -> NoReturn:
        self._refuse("A[...]")

    def __setitem__(self, key: Key, value: Value) -> None:
        self._refuse("A[...] = ...")

    def __pow__(self, power: Real) -> NoReturn:
        self._refuse("A ** n")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"a sparse matrix of variables has no attribute {name!r}; .data has its values, and .coords their places"
        )


def is_any_sparse(x: object) -> bool:
    """Whether x is a sparse array or matrix, SciPy's or one with variable values."""
    return isinstance(x, SparseArray) or is_sparse(x)


def _as_variables(name: str, x: SparseMatrix) -> SparseArray:
    """A sparse operand of either kind, as values and pattern."""
    if is_sparse(x):
        return SparseArray(*split(name, x))
    if not isinstance(x, SparseArray):
        raise UnsupportedError(f"{name}: both must be sparse, got {type(x).__name__}; use A.toarray() for a dense sum")
    return x
