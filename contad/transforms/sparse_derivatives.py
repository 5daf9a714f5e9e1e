"""Sparse Jacobians and Hessians: the pattern from a recording, the values from one pass for each colour."""

import contextlib
import functools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines.second_order.second_order_records import Unsuited
from contad.errors import UnsupportedError, ValueMismatchError
from contad.front.numba_transforms import higher_of
from contad.front.user_function import UserFunction
from contad.functions.transformed import Transformed
from contad.functions.user_call import positional, positions
from contad.patterns.compression import Compression, compress_hessian, compress_jacobian, draw_probe
from contad.transforms.derivative_products import Products, one_by_one
from contad.transforms.hessians import hvp
from contad.transforms.jacobians import is_array, real_trees, size_of
from contad.transforms.pattern_search import HESSIAN, JACOBIAN, RecordedDerivative, find_pattern
from contad.variables.arguments import fail
from contad.variables.open_types import Function, Nested, Options
from contad.variables.stack import attempt
from contad.variables.trees import flatten

_KEPT = 8  # patterns of one function
_NOISE = 1e-13  # rounding error in a probe's product with a row, relative to the sizes of its terms
_SUSPECTS = 8  # how many rows with differences to examine: rounding may be larger than that in some


def sparse_jacobian(
    f: Function, argnums: int | tuple[int, ...] = 0, *, pattern: Any = None, check: bool | None = None,
    engine: str | None = None,
) -> "SparseDerivative":  # fmt: skip
    """The Jacobian of a function as a SciPy CSR array, from a few passes: sparse_jacobian(f)(*args).

    Rows are the numbers of the result, columns those of the arguments, in the order of their trees. Columns that share
    no row are added up and computed in one pass of forward mode, and rows likewise in one pass of reverse mode: a
    tridiagonal Jacobian of any size takes 3. The pattern comes from a recording (`sparsity`), or from the caller.
    `passes` is the number of passes in the last call; `structure(*args)` returns (rows, columns) and `values(*args)`
    the values in that order.

    A plain function is recorded at every call, so its pattern is that of the call. For a Numba function the pattern is
    found once for all calls with the same shapes, and every call compares the matrix with one more product, with a
    random vector. If an element is missing, the pattern is found again and joined to the old one. check=False skips
    this. check=True does it for a given pattern as well, and a missing element raises a ValueMismatchError.

    Cost:    `passes` products with the Jacobian or its transpose, several of them in one chunk; the colouring once for
             each pattern.
    Ref:     Curtis, Powell & Reid (1974); Gebremedhin, Manne & Pothen (2005), SIAM Review 47(4), 629-705.

    >>> jacobian_of_f = sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> jacobian_of_f(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    >>> jacobian_of_f.passes
    2
    """
    return SparseDerivative(sparse_jacobian, f, argnums, pattern=pattern, check=check, engine=engine)


def sparse_hessian(
    f: Function, argnums: int | tuple[int, ...] = 0, *, pattern: Any = None, check: bool | None = None,
    engine: str | None = None,
) -> "SparseDerivative":  # fmt: skip
    """The Hessian of a function that returns one number as a SciPy CSR array: sparse_hessian(f)(*args).

    Like `sparse_jacobian`, with Hessian-vector products, forward over reverse, and a colouring that uses symmetry: a
    tridiagonal Hessian takes at most 3. `structure(*args, triangle="lower")` returns the elements that Ipopt needs.

    Cost:    `passes` Hessian-vector products, several of them in one chunk.
    Ref:     Coleman & Moré (1984), Mathematical Programming 28; Gebremedhin, Tarafdar, Manne & Pothen (2007), SIAM
             Journal on Scientific Computing 29(3), 1042-1072.

    >>> hessian_of_f = sparse_hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2))
    >>> hessian_of_f(np.array([1.0, 2.0, 3.0])).toarray()
    array([[ 4., -4.,  0.],
           [-4., 38., -8.],
           [ 0., -8.,  2.]])
    >>> hessian_of_f.passes
    2
    """
    return SparseDerivative(sparse_hessian, f, argnums, pattern=pattern, check=check, engine=engine)


class OtherHeight(Exception):
    """A pattern found for arguments of these shapes has another number of rows."""


class SparseDerivative(Transformed):
    """The result of `sparse_jacobian` and `sparse_hessian`: a function with the arguments of f."""

    def __init__(
        self, transform: Function, f: Function, argnums: int | tuple[int, ...], *, pattern: Any, check: bool | None,
        engine: str | None,
    ) -> None:  # fmt: skip
        name = transform.__name__
        self.function = UserFunction(name, f)
        self.what = f"{name}: {self.function.name}"
        self.argnums = positions(name, argnums)
        self.of = JACOBIAN if transform is sparse_jacobian else HESSIAN
        self.given = None if pattern is None else _given_pattern(name, pattern, self.of)
        self.check = check
        self.engine = engine
        self.function.takes_compiled(engine)  # refuses an unknown one
        self.found: OrderedDict[Any, Compression] = OrderedDict()  # keyed by what determines the pattern
        self.passes: int | None = None
        self.rows: dict[str, Function] = {}  # compiled products, by kind

        def derivative(*args: Nested, **kwargs: Nested) -> Any:
            return self._evaluate(*args, **kwargs)[0]

        derivative.__name__ = derivative.__qualname__ = f"{name}_of_{self.function.name}"
        super().__init__(derivative, transform, f, argnums, pattern=pattern, check=check, engine=engine)

    # ---- for solvers that keep the structure -------------------------------------------------------------------------
    def structure(self, *args: Nested, triangle: str | None = None, **kwargs: Nested) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of the elements in the order of `values`; with triangle="lower" those up to the diagonal."""
        rows, columns, _ = select_places(self.what, self._evaluate(*args, **kwargs)[1].pattern, triangle)
        return rows, columns

    def values(self, *args: Nested, triangle: str | None = None, **kwargs: Nested) -> np.ndarray:
        """The elements at the places of `structure`, in that order."""
        matrix, compression = self._evaluate(*args, **kwargs)
        values: np.ndarray = matrix.data[select_places(self.what, compression.pattern, triangle)[2]]
        return values

    @functools.cached_property
    def hessian_product(self) -> Function:
        """The Hessian-vector product, compiled once for a Numba function."""
        return hvp(self.function.f, self.argnums, engine=self.engine)

    def compiled_rows(self, kind: str) -> Function:
        """The compiled products of a Numba function's derivative with the rows of a matrix, in lanes."""
        made = self.rows.get(kind)
        if made is None:
            engine = None if kind == "tangent_rows" else self.engine
            argnums = self.argnums
            options: Options = {"argnums": argnums, "engine": engine}
            transform = sparse_hessian if self.of == HESSIAN else sparse_jacobian
            made = higher_of(self.function, kind, lambda: one_by_one(self, kind), (transform, options))
            self.rows[kind] = made
        return made

    # ---- evaluation --------------------------------------------------------------------------------------------------
    def _evaluate(self, *args: Nested, **kwargs: Nested) -> tuple[Any, Compression]:
        args, kwargs = positional(self.function.f, self.what, self.argnums, args, kwargs)
        with contextlib.ExitStack() as held:
            if self.function.takes_compiled(self.engine):
                return self._evaluate_at(args, kwargs, None)
            recording = None
            with contextlib.nullcontext() if self.given is None else contextlib.suppress(UnsupportedError), attempt():
                recording = held.enter_context(self._record(args, kwargs))
            try:
                return self._evaluate_at(args, kwargs, recording)
            except Unsuited:
                return self._evaluate_at(args, kwargs, None)

    def _evaluate_at(
        self, args: tuple[Nested, ...], kwargs: Options, recording: RecordedDerivative | None
    ) -> tuple[Any, Compression]:
        """The matrix from products by a recording, if there is one, or by the transforms."""
        products = recording or Products(self, args, kwargs)
        check = self.check
        if self.given is not None:
            compression = self._compress_given(args)
            check = bool(check)
        elif recording is not None:  # the pattern is that of this call
            key: Any = recording.key()
            compression = self._recall(key) or self._keep(key, recording.pattern())
            check = bool(check)
        else:
            key = _shapes(args, self.argnums)
            compression = self._recall(key) or self._keep(key, self._find_pattern(args, kwargs))
        check = check is not False
        try:
            matrix, exact = self._matrix(compression, products, check)
        except OtherHeight:  # the number of outputs depends on the inputs
            compression = self._keep(key, self._find_pattern(args, kwargs))
            matrix, exact = self._matrix(compression, products, check)
        if not check:
            return matrix, compression
        missed = self._find_missed(matrix, products, exact)
        if missed is not None and self.given is None and recording is None:
            compression = self._keep(key, self._find_pattern(args, kwargs) + compression.pattern)
            matrix, exact = self._matrix(compression, products, check)
            missed = self._find_missed(matrix, products, exact)
        if missed is not None:
            row, column, element = missed
            raise ValueMismatchError(
                f"{self.what}: the pattern misses element ({row}, {column}), where the derivative is {element:.6g}; "
                "leave pattern= out, or add up those of contad.sparsity at more points"
            )
        return matrix, compression

    def _record(self, args: tuple[Nested, ...], kwargs: Options) -> RecordedDerivative:
        return RecordedDerivative(self.function, self.what, self.of, self.argnums, args, kwargs)

    def _find_pattern(self, args: tuple[Nested, ...], kwargs: Options) -> Any:
        return find_pattern(self.function, self.what, self.of, self.argnums, args, kwargs)

    def _matrix(self, compression: Compression, products: Any, check: bool) -> tuple[Any, np.ndarray]:
        """The matrix, and for a check the product with a random vector, as one more row of the same chunk."""
        self.passes = compression.passes
        exact = np.zeros((0, 0))

        def push(rows: np.ndarray) -> np.ndarray:
            nonlocal exact
            found = self._require_rows(compression, products.push(compression.with_probe if check else rows))
            exact = found[len(rows) :]
            return found[: len(rows)]

        def pull(rows: np.ndarray) -> np.ndarray:
            try:
                found: np.ndarray = products.pull(rows)
                return found
            except ValueError:  # the result has another number of outputs
                if isinstance(products, Products):
                    self._require_height(compression, products.count_outputs())
                raise

        if compression.passes == 0 and self.of == JACOBIAN and isinstance(products, Products):  # none has run
            self._require_height(compression, products.count_outputs())
        matrix = compression.matrix(push, pull)
        if check and not len(exact):
            exact = self._require_rows(compression, products.push(compression.with_probe))
        return matrix, exact

    def _require_rows(self, compression: Compression, products: np.ndarray) -> np.ndarray:
        """Products with the derivative, which must have as many rows as the pattern."""
        self._require_height(compression, products.shape[1])
        return products

    def _require_height(self, compression: Compression, count: int) -> None:
        shape = compression.pattern.shape
        if count != shape[0]:
            if self.given is None:
                raise OtherHeight
            fail(self.what, "pattern", f"have a row for each of the {count} numbers", f"shape {shape}")

    def _recall(self, key: Any) -> Compression | None:
        if key in self.found:
            self.found.move_to_end(key)
        return self.found.get(key)

    def _keep(self, key: Any, pattern: Any) -> Compression:
        made = self.found[key] = (compress_jacobian if self.of == JACOBIAN else compress_hessian)(pattern)
        if len(self.found) > _KEPT:
            self.found.popitem(last=False)
        return made

    # ---- patterns from the caller, or found elsewhere ----------------------------------------------------------------
    def _compress_given(self, args: tuple[Nested, ...]) -> Compression:
        n = sum(size_of(x) for tree in real_trees(self.what, self.argnums, args) for x in tree.leaves)
        compression = self._recall("given") or self._keep("given", self.given)
        if compression.pattern.shape[1] != n:
            shape = compression.pattern.shape
            fail(self.what, "pattern", f"have a column for each of the {n} numbers", f"shape {shape}")
        return compression

    def _find_missed(self, matrix: Any, products: Any, found: np.ndarray) -> tuple[int, int, float] | None:
        """(row, column, derivative) of an element that the matrix misses, by the product with the probe."""
        from contad.patterns.compression import find_wrong_rows

        v = draw_probe(matrix.shape[1])
        exact = found[0]
        rows = find_wrong_rows(matrix.indptr, matrix.indices, matrix.data, v, exact, _NOISE, _SUSPECTS)
        if not len(rows):
            return None
        units = np.zeros((len(rows), len(exact)))
        units[np.arange(len(rows)), rows] = 1.0
        for row, elements in zip(rows, products.pull(units), strict=True):
            least = _NOISE * np.max(np.abs(elements))
            elements[matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]] = 0.0
            column = int(np.argmax(np.abs(elements)))  # a nan comes first
            if elements[column] != 0.0 and not abs(elements[column]) <= least:
                return int(row), column, elements[column]
        return None


def select_places(what: str, pattern: Any, triangle: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, columns) of the elements of a pattern or of one triangle of it, and their positions among all elements."""
    if triangle not in (None, "lower", "upper"):
        fail(what, "triangle", "be 'lower', 'upper' or None", repr(triangle))
    places = pattern.tocoo()
    rows, columns = places.row.astype(np.int64), places.col.astype(np.int64)
    keep = rows >= columns if triangle == "lower" else rows <= columns if triangle else np.ones(len(rows), np.bool_)
    return rows[keep], columns[keep], keep


def _given_pattern(function: str, pattern: Any, of: str) -> Any:
    from scipy import sparse

    expected = "be a symmetric matrix" if of == HESSIAN else "be a matrix"
    try:
        made = sparse.csr_array(pattern).astype(np.bool_)
    except (TypeError, ValueError):
        fail(function, "pattern", f"{expected}, dense or sparse", repr(pattern))
    if made.ndim != 2 or (of == HESSIAN and made.shape[0] != made.shape[1]):
        fail(function, "pattern", expected, f"shape {made.shape}")
    if of == HESSIAN and (lonely := (made > made.T).tocoo()).nnz:
        row, column = int(lonely.row[0]), int(lonely.col[0])
        fail(function, "pattern", expected, f"one with element ({row}, {column}) and without ({column}, {row})")
    made.sum_duplicates()
    made.eliminate_zeros()
    return made


def _shapes(args: Sequence[Nested], argnums: Sequence[int]) -> tuple[Any, ...]:
    """The key of a Numba function's pattern: shapes of arrays, and the values of counts."""
    found: list[Any] = []
    for k, arg in enumerate(args):
        tree = flatten(arg)
        found.append(str(tree.spec))
        is_shape = k in argnums
        found += [np.shape(x) if is_array(x) or is_shape else x if isinstance(x, int) else None for x in tree.leaves]
    return tuple(found)
