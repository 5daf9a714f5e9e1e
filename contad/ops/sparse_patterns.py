"""Patterns of sparse matrices: the positions of their elements, which are constant while the values may be
variables."""

import copy
import sys
import weakref

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import sparse
from contad.variables.dtypes import dtype_beside
from contad.variables.layout import same_bits

KEPT = 8  # how many of the newest patterns are compared with that of a constant
CLASSES = {"csr": "csr_array", "csc": "csc_array", "coo": "coo_array"}


class Pattern:
    """The shape of a sparse matrix and the positions of its elements, in SciPy's storage: csr, csc or coo.

    It has its own copies of the index arrays, because SciPy's solvers may sort or merge those of the user's matrix.
    Elements with the same position are added up.

    >>> pattern = Pattern("csr", (np.array([2, 0]), np.array([0, 1, 2])), (2, 3))
    >>> pattern.matrix(np.array([5.0, 7.0])).toarray()
    array([[0., 0., 5.],
           [7., 0., 0.]])
    """

    __slots__ = ("__weakref__", "_found", "format", "parts", "shape")

    def __init__(self, format, parts, shape, found=None):
        self.format = format
        self.parts = parts  # (indices, indptr); for coo (rows, columns)
        self.shape = shape
        self._found = {} if found is None else found  # made on first use, and shared with the transpose

    @property
    def T(self):
        """The pattern of the transpose, whose values are in the same order."""
        shape = self.shape[::-1]
        if self.format == "coo":
            return Pattern("coo", self.parts[::-1], shape)
        return Pattern("csc" if self.format == "csr" else "csr", self.parts, shape, self._found)

    @property
    def nnz(self):
        """The number of values."""
        return len(self.parts[0])

    @property
    def places(self):
        """(rows, columns) of the values."""
        if self.format == "coo":
            return self.parts
        if "lines" not in self._found:
            indices, indptr = self.parts
            self._found["lines"] = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices
        lines = self._found["lines"]
        return lines if self.format == "csr" else lines[::-1]

    def matrix(self, values):
        """SciPy's array with these plain values."""
        empty = self._found.get(self.format)
        if empty is None:
            parts = (self.parts,) if self.format == "coo" else self.parts
            empty = getattr(sparse(), CLASSES[self.format])((np.zeros(self.nnz), *parts), shape=self.shape)
            empty.data = None
            self._found[self.format] = empty
        made = copy.copy(empty)  # SciPy's constructor takes longer than a small product
        made.data = values
        return made

    def frozen(self, values):
        """The values of a constant with this pattern, or a copy, as read-only data that recordings may keep."""
        kept = self._found.get("values")
        if kept is None or not same_bits(kept, values):
            kept = self._found["values"] = np.frombuffer(values.tobytes(), values.dtype)
        return kept

    def matches(self, other):
        """Whether both patterns are equal."""
        return (
            self.format == other.format
            and self.shape == other.shape
            and all(x is y or np.array_equal(x, y) for x, y in zip(self.parts, other.parts, strict=True))
        )


# ---- constants -------------------------------------------------------------------------------------------------------
_patterns: list["weakref.ref[Pattern]"] = []  # the newest last


def is_sparse(x):
    """Whether x is a sparse array or matrix of SciPy's; asking imports nothing."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(x))


def split(name, s):
    """(values, pattern) of a constant sparse matrix of any format; equal patterns in use are one."""
    if s.ndim != 2:
        raise UnsupportedError(f"{name}: a sparse array must have two axes on variables, got shape {s.shape}")
    if s.dtype.kind not in "fiubc":
        raise UnsupportedError(f"{name}: a sparse array must hold numbers, got dtype {s.dtype}")
    if s.format not in CLASSES:
        s = s.tocsr()
    if s.format == "coo":
        given, count = s.coords, s.nnz
    else:
        count = int(s.indptr[-1])
        given = s.indices[:count], s.indptr
    pattern = known_pattern(Pattern(s.format, tuple(given), s.shape))
    return pattern.frozen(s.data[:count].astype(np.result_type(s.dtype, np.float64), copy=False)), pattern


def known_pattern(pattern):
    """A pattern in use with the same positions, or a copy of this one, which stays in use while somebody keeps it."""
    for reference in reversed(_patterns.copy()):
        kept = reference()
        if kept is not None and kept.matches(pattern):
            return kept
    own = tuple(map(np.array, pattern.parts))
    for x in own:
        x.flags.writeable = False
    made = Pattern(pattern.format, own, tuple(map(int, pattern.shape)))
    _patterns.append(weakref.ref(made))
    del _patterns[:-KEPT]
    return made


class SparseFactor:
    """The LU factors of one sparse matrix, for systems with it and its transpose; if it is singular, every solution is
    nan."""

    __slots__ = ("_lu", "_pattern", "_values")

    def __init__(self, values, pattern, lu=None, by_rows=False):
        m, n = pattern.shape
        if m != n:
            raise ValueError(f"spsolve: matrix must be square (has shape {pattern.shape})")
        # SuperLU takes matrices by columns. A matrix by rows is the transpose of one by columns; SciPy's spsolve uses
        # that, but splu does not.
        self._pattern = pattern.T if by_rows and pattern.format == "csr" else pattern
        self._values = np.array(values)
        self._lu = lu or self._factorise()

    @property
    def singular(self):
        """Whether the matrix is exactly singular."""
        return self._lu is None

    def _factorise(self):
        from scipy.sparse.linalg import splu

        try:
            return splu(self._pattern.matrix(self._values).tocsc(copy=True))  # adds up duplicates
        except RuntimeError as error:
            if "singular" not in str(error):
                raise
            return None

    def solve(self, values, pattern, b):
        """The solution of a z = b for the matrix with these values; None if this is not its factor."""
        straight = self._pattern.matches(pattern)
        if not (straight or self._pattern.matches(pattern.T)) or not same_bits(self._values, values):
            return None
        if self.singular:
            return np.full(np.shape(b), np.nan, dtype_beside(b))
        return self._lu.solve(b) if straight else self._lu.solve(b, "T")
