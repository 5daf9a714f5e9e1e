"""Sparse Jacobians and Hessians: the pattern from a recording, the values from as many passes as it has colours."""

import contextlib
import functools
import inspect
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from contad.engines.matrix.matrix_stack import stack_of_whole_rules
from contad.engines.second_order.passes import SecondOrder
from contad.engines.second_order.steps import Unsuited
from contad.errors import UnsupportedError, ValueMismatchError
from contad.front.numba_transforms import pair_of
from contad.front.user_function import UserFunction
from contad.functions.pickling import Transformed
from contad.functions.user_call import positional, positions
from contad.patterns.closure import hessian_pattern, jacobian_pattern
from contad.patterns.compression import Compression, compress_hessian, compress_jacobian
from contad.transforms.gradients import jvp, vjp
from contad.transforms.hessians import Curvature, hvp
from contad.transforms.jacobians import BLOCK, is_array, real_trees, size_of, split_last
from contad.transforms.linearized import cells_of_result, linearize, restrict
from contad.variables.activation import activate
from contad.variables.arguments import fail
from contad.variables.array import is_plain
from contad.variables.open_types import Function, Nested, Options
from contad.variables.stack import THREAD, attempt, opened
from contad.variables.trees import Tree, flatten, output_leaves, scalar_output

_KEPT = 8  # patterns of one function
_NOISE = 1e-8  # of a probe: a matrix and the derivative differ by less, relative to the sizes of the terms

JACOBIAN, HESSIAN = "jacobian", "hessian"


def sparsity(
    f: Function, *example: Nested, of: str = JACOBIAN, argnums: int | tuple[int, ...] = 0, **kwargs: Nested
) -> Any:
    """Where the Jacobian, or the Hessian, of a function may be other than zero, as a CSR array of booleans.

    Rows are the numbers of the result (for a Hessian those of the arguments), columns those of the arguments, in the
    order of their trees and, within arrays, C order. f is run once at the example, and the pattern is that of what it
    did: a branch that was not taken, or an index that depends on values, may have another one. It has every element
    that can be other than zero by what was computed, and may have elements that are zero: where terms cancel, and
    where a rule of arrays does not tell its elements apart, as a linear system does not.

    Raises:  UnsupportedError where f has rules that run as they like (custom_vjp, reverse_pass_callback).
    Cost:    one evaluation of f on variables (a Numba function: its Python copy), and time in proportion to the
             recorded operations and the elements of the pattern.
    Ref:     Walther (2008), ACM Transactions on Mathematical Software 34(1); Griewank & Walther (2008), chapter 7.

    >>> sparsity(lambda x: x[1:] * x[:-1], np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    >>> sparsity(lambda x: np.sum(x[1:] * x[:-1]), np.ones(3), of="hessian").toarray().astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    if of not in (JACOBIAN, HESSIAN):
        fail("sparsity", "of", f"be {JACOBIAN!r} or {HESSIAN!r}", repr(of))
    function = UserFunction("sparsity", f)
    numbers = positions("sparsity", argnums)
    what = f"sparsity: {function.name}"
    args, kwargs = positional(function.runnable(), what, numbers, example, kwargs)
    with _Recording(function, what, of, numbers, args, kwargs) as recording:
        return recording.pattern()


def sparse_jacobian(
    f: Function, argnums: int | tuple[int, ...] = 0, *, pattern: Any = None, check: bool | None = None,
    engine: str | None = None,
) -> "SparseDerivative":  # fmt: skip
    """The Jacobian of a function as a SciPy CSR array, from a few passes: sparse_jacobian(f)(*args).

    Rows are the numbers of the result, columns those of the arguments, in the order of their trees. Columns that have
    no row in common are added up and found by one pass of forward mode, rows likewise by one of reverse mode: a
    tridiagonal Jacobian of any size takes 3. The pattern comes from a recording (`sparsity`), or is given. `passes`
    tells how many there were at the last call; `structure(*args)` gives (rows, columns) and `values(*args)` the values
    in that order.

    A plain function is recorded at every call, and its pattern is that of the call. Of a Numba function the pattern is
    found once for all calls of one shape, and every call holds the matrix against one more product, with a random
    vector; where it misses an element, f is recorded again. check=False leaves that out. With check=True it is done for
    a pattern that is given as well, and an element that it misses is a ValueMismatchError.

    Cost:    `passes` products with the Jacobian or its transpose, several of them in one block; the colouring once for
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

    As `sparse_jacobian`, with products of the Hessian, forward over reverse, and a colouring that uses its symmetry:
    that of a chain takes 3 at most. `structure(*args, triangle="lower")` has the elements that Ipopt asks for.

    Cost:    `passes` products of the Hessian with a vector, several of them in one block.
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


class SparseDerivative(Transformed):
    """What `sparse_jacobian` and `sparse_hessian` return: a function with the arguments of f."""

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
        self.found: OrderedDict[Any, Compression] = OrderedDict()  # by what the pattern was found from
        self.passes: int | None = None

        def derivative(*args: Nested, **kwargs: Nested) -> Any:
            return self._evaluate(*args, **kwargs)[0]

        derivative.__name__ = derivative.__qualname__ = f"{name}_of_{self.function.name}"
        super().__init__(derivative, transform, f, argnums, pattern=pattern, check=check, engine=engine)

    # ---- for solvers that keep the structure -------------------------------------------------------------------------
    def structure(self, *args: Nested, triangle: str | None = None, **kwargs: Nested) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of the elements in the order of `values`, for triangle="lower" those up to the diagonal."""
        rows, columns, _ = select_places(self.what, self._evaluate(*args, **kwargs)[1].pattern, triangle)
        return rows, columns

    def values(self, *args: Nested, triangle: str | None = None, **kwargs: Nested) -> np.ndarray:
        """The elements at the places of `structure`, in that order."""
        matrix, compression = self._evaluate(*args, **kwargs)
        values: np.ndarray = matrix.data[select_places(self.what, compression.pattern, triangle)[2]]
        return values

    @functools.cached_property
    def _run(self) -> Function:
        return self.function.runnable()

    # ---- evaluation --------------------------------------------------------------------------------------------------
    def _evaluate(self, *args: Nested, **kwargs: Nested) -> tuple[Any, Compression]:
        args, kwargs = positional(self._run, self.what, self.argnums, args, kwargs)
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
        self, args: tuple[Nested, ...], kwargs: Options, recording: "_Recording | None"
    ) -> tuple[Any, Compression]:
        """The matrix by the products of a recording, if there is one, or by those of the transforms."""
        products = recording or _Products(self, args, kwargs)
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
        matrix = self._matrix(compression, products)
        if check is False:
            return matrix, compression
        row = self._find_missed(matrix, products)
        if row is not None and self.given is None and recording is None:
            compression = self._keep(key, self._find_pattern(args, kwargs) + compression.pattern)
            matrix = self._matrix(compression, products)
            row = self._find_missed(matrix, products)
        if row is not None:
            self._refuse(compression, products, row)
        return matrix, compression

    def _record(self, args: tuple[Nested, ...], kwargs: Options) -> "_Recording":
        return _Recording(self.function, self.what, self.of, self.argnums, args, kwargs)

    def _find_pattern(self, args: tuple[Nested, ...], kwargs: Options) -> Any:
        with self._record(args, kwargs) as recording:
            return recording.pattern()

    def _matrix(self, compression: Compression, products: Any) -> Any:
        self.passes = compression.passes
        return compression.matrix(products.push, products.pull)

    def _recall(self, key: Any) -> Compression | None:
        if key in self.found:
            self.found.move_to_end(key)
        return self.found.get(key)

    def _keep(self, key: Any, pattern: Any) -> Compression:
        made = self.found[key] = (compress_jacobian if self.of == JACOBIAN else compress_hessian)(pattern)
        if len(self.found) > _KEPT:
            self.found.popitem(last=False)
        return made

    # ---- patterns that are given, or were found elsewhere ------------------------------------------------------------
    def _compress_given(self, args: tuple[Nested, ...]) -> Compression:
        n = sum(size_of(x) for tree in real_trees(self.what, self.argnums, args) for x in tree.leaves)
        compression = self._recall("given") or self._keep("given", self.given)
        if compression.pattern.shape[1] != n:
            shape = compression.pattern.shape
            fail(self.what, "pattern", f"have a column for each of the {n} numbers", f"shape {shape}")
        return compression

    def _find_missed(self, matrix: Any, products: Any) -> int | None:
        """A row in which the matrix is not the derivative, by a product with a random vector."""
        v = _draw_probe(matrix.shape[1])
        exact = products.push(v[None])[0]
        if exact.shape != matrix.shape[:1]:
            fail(self.what, "pattern", f"have a row for each of the {len(exact)} numbers", f"shape {matrix.shape}")
        terms = matrix.data * v[matrix.indices]
        rows = np.repeat(np.arange(len(exact)), np.diff(matrix.indptr))
        difference = np.abs(np.bincount(rows, terms, len(exact)) - exact)
        bound = _NOISE * (np.bincount(rows, np.abs(terms), len(exact)) + np.abs(exact))
        wrong = np.flatnonzero(difference > bound)  # what is nan here is so in f
        return int(wrong[np.argmax(difference[wrong])]) if len(wrong) else None

    def _refuse(self, compression: Compression, products: Any, row: int) -> NoReturn:
        """Raise for a row in which there is more than the pattern has."""
        unit = np.zeros((1, compression.pattern.shape[0]))
        unit[0, row] = 1.0
        exact = products.pull(unit)[0]
        column = int(np.argmax(np.where(compression.pattern[[row]].toarray()[0], 0.0, np.abs(exact))))
        raise ValueMismatchError(
            f"{self.what}: the pattern misses element ({row}, {column}), where the derivative is "
            f"{exact[column]:.6g}; leave pattern= out, or make it of contad.sparsity at more points"
        )


def select_places(what: str, pattern: Any, triangle: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, columns) of the elements of a pattern, or of those of a triangle, and which of all elements they are."""
    if triangle not in (None, "lower", "upper"):
        fail(what, "triangle", "be 'lower', 'upper' or None", repr(triangle))
    places = pattern.tocoo()
    rows, columns = places.row.astype(np.int64), places.col.astype(np.int64)
    keep = rows >= columns if triangle == "lower" else rows <= columns if triangle else np.ones(len(rows), np.bool_)
    return rows[keep], columns[keep], keep


class _Recording:
    """A function recorded at a point, with products from its records."""

    def __init__(
        self, function: UserFunction, what: str, of: str, argnums: Sequence[int], args: tuple[Nested, ...],
        kwargs: Options,
    ) -> None:  # fmt: skip
        if THREAD.watch is not None or not all(is_plain(x) for t in real_trees(what, argnums, args) for x in t.leaves):
            raise UnsupportedError(f"{what}: patterns are those of plain numbers; call it outside other derivatives")
        self.what, self.of = what, of
        with opened(stack_of_whole_rules) as s:
            active, trees = activate(s, what, argnums, args)
            cells = [s.cells_of(x) for tree in trees for x in tree.leaves]  # type: ignore[attr-defined]
            y = function.runnable()(*active, **kwargs)
            leaves = [scalar_output(y, what, s)] if of == HESSIAN else output_leaves(flatten(y), what, s)
            self.outputs = _join([cells_of_result(s, leaf) for leaf in leaves])  # type: ignore[arg-type]
            self.inputs = _join(cells)
            s.end(f"its call of {what} has ended")
        self.stack: Any = s
        seeds = [(int(cell), 1.0) for cell in self.outputs if cell] if of == HESSIAN else ()
        try:
            self.records = SecondOrder(s, seeds, self.inputs)
        except Unsuited:
            s.release()
            raise UnsupportedError(
                f"{what}: f has derivatives that run as they like (custom_vjp, checkpoint, reverse_pass_callback), and "
                "these do not tell what depends on what; give the pattern, pattern=..."
            ) from None

    def __enter__(self) -> "_Recording":
        return self

    def __exit__(self, *exception: object) -> None:
        self.stack.release()

    def key(self) -> tuple[int, ...]:
        """What stands for all that the pattern is made of, in this process."""
        d = self.records.dependencies
        return len(self.inputs), *(hash(a.tobytes()) for a in (*d.linked, *d.bends, d.nodes[self.outputs]))

    def pattern(self) -> Any:
        """The pattern of what was recorded."""
        find = jacobian_pattern if self.of == JACOBIAN else hessian_pattern
        return find(self.records.dependencies, len(self.inputs), self.outputs)

    @functools.cached_property
    def _upward(self) -> Any:
        return self.records.upward_to(self.outputs)

    def push(self, directions: np.ndarray) -> np.ndarray:
        """The products with directions, as rows."""
        if self.of == HESSIAN:
            return _in_blocks(self.records, directions, self.records.most)
        push = functools.partial(self.records.tangents, outputs=self.outputs, upward=self._upward)
        return _in_blocks(push, directions, self.records.most)

    def pull(self, cotangents: np.ndarray) -> np.ndarray:
        """The products of the transpose with cotangents, as rows."""
        if self.of == HESSIAN:
            return self.push(cotangents)
        pull = functools.partial(self.records.adjoints, outputs=self.outputs)
        return _in_blocks(pull, cotangents, self.records.most)


class _Products:
    """Products with the derivative at a point by the transforms, for whatever they take."""

    def __init__(self, derivative: SparseDerivative, args: tuple[Nested, ...], kwargs: Options) -> None:
        self.derivative = derivative
        self.args, self.kwargs = args, kwargs
        self.trees = real_trees(derivative.what, derivative.argnums, args)

    def push(self, directions: np.ndarray) -> np.ndarray:
        """The products with directions, as rows."""
        d = self.derivative
        if d.of == HESSIAN and self._is_compiled:
            product = hvp(d.function.f, d.argnums, engine=d.engine)
            return np.stack([_row(product(*self._positional, tuple(self._split(x)))) for x in directions])
        if d.of == HESSIAN:
            with Curvature(d.what, d.function, d.argnums, d.engine, self.args, self.kwargs) as curvature:
                return _in_blocks(curvature, directions, BLOCK)
        if self._is_compiled:
            some = functools.partial(_push_some, d.argnums)
            forward: Any = pair_of(d.function.dispatcher, "jvp", some, argnums=d.argnums)
            return np.stack([_row(forward(self._positional, tuple(self._split(x)))[1]) for x in directions])
        f, primals = self._restricted

        def push(rows: np.ndarray) -> np.ndarray:
            found = flatten(jvp(f, primals, split_last(rows, self.trees, True), several=True)[1]).leaves
            return np.concatenate([np.reshape(x, (len(rows), -1)) for x in found], axis=1)

        try:
            with attempt():
                return _in_blocks(push, directions, BLOCK)
        except UnsupportedError:  # a rule without forward mode
            along = linearize(f, *primals, engine=d.engine)[1]
            return np.stack([_row(along(*self._split(x))) for x in directions])

    def pull(self, cotangents: np.ndarray) -> np.ndarray:
        """The products of the transpose with cotangents, as rows."""
        d = self.derivative
        if d.of == HESSIAN:
            return self.push(cotangents)
        result, pullback = self._pullback
        return np.stack([_row(pullback(split_last(z_bar, [result], False)[0])) for z_bar in cotangents])

    @property
    def _is_compiled(self) -> bool:
        return self.derivative.function.takes_compiled(self.derivative.engine)

    @functools.cached_property
    def _positional(self) -> tuple[Nested, ...]:
        """All arguments, as compiled code takes them."""
        run = self.derivative.function.f
        return inspect.signature(run).bind(*self.args, **self.kwargs).args if self.kwargs else self.args

    @functools.cached_property
    def _restricted(self) -> tuple[Function, tuple[Nested, ...]]:
        d = self.derivative
        return restrict(d.function.f, d.what, d.argnums, self.args, self.kwargs)

    @functools.cached_property
    def _pullback(self) -> tuple[Tree, Function]:
        """The result of f, and its pullback."""
        d = self.derivative
        if self._is_compiled:
            args = self._positional
            pull = functools.partial(_pull_some, d.argnums)
            backward: Any = pair_of(d.function.dispatcher, "vjp", pull, d.engine, d.argnums)
            return flatten(d.function.f(*args)), functools.partial(backward, args)
        f, primals = self._restricted
        value, pullback = vjp(f, *primals, engine=d.engine)
        return flatten(value), pullback

    def _split(self, row: np.ndarray) -> list[Nested]:
        return split_last(row, self.trees, False)


def _push_some(
    argnums: tuple[int, ...], f: Function, args: tuple[Nested, ...], tangents: Sequence[Nested]
) -> tuple[Nested, ...]:
    """jvp along some of the arguments."""
    restricted, primals = restrict(f, "jvp", argnums, args, {})
    return jvp(restricted, primals, tangents)


def _pull_some(argnums: tuple[int, ...], f: Function, args: tuple[Nested, ...], z_bar: Nested) -> tuple[Nested, ...]:
    """The cotangents of some of the arguments."""
    restricted, primals = restrict(f, "vjp", argnums, args, {})
    found: tuple[Nested, ...] = vjp(restricted, *primals)[1](z_bar)
    return found


def _row(x: Nested) -> np.ndarray:
    """All numbers of a tree."""
    return np.concatenate([np.zeros(0), *(np.reshape(leaf, (-1,)) for leaf in flatten(x).leaves)])


def _in_blocks(product: Function, rows: np.ndarray, most: int) -> np.ndarray:
    blocks = [product(rows[k : k + most]) for k in range(0, len(rows), most)]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _given_pattern(function: str, pattern: Any, of: str) -> Any:
    from scipy import sparse

    made = sparse.csr_array(pattern).astype(np.bool_)
    if made.ndim != 2 or (of == HESSIAN and (made.shape[0] != made.shape[1] or (made != made.T).nnz)):
        fail(function, "pattern", "be a symmetric matrix" if of == HESSIAN else "be a matrix", f"shape {made.shape}")
    made.sum_duplicates()
    made.eliminate_zeros()
    return made


@functools.lru_cache(maxsize=_KEPT)
def _draw_probe(n: int) -> np.ndarray:
    """A vector that hides no element: the same at every call, so that errors can be repeated."""
    return np.random.default_rng(20190101).standard_normal(n)


def _shapes(args: Sequence[Nested], argnums: Sequence[int]) -> tuple[Any, ...]:
    """What a pattern of a Numba function is found for: shapes of arrays, and the values of counts."""
    found: list[Any] = []
    for k, arg in enumerate(args):
        tree = flatten(arg)
        found.append(str(tree.spec))
        is_shape = k in argnums
        found += [np.shape(x) if is_array(x) or is_shape else x if isinstance(x, int) else None for x in tree.leaves]
    return tuple(found)


def _join(cells: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *cells])

