"""Second derivatives of functions that return one number, and quantities derived from them, by forward over reverse.

A product of the Hessian with a direction is a tangent of the gradient. Several directions form one chunk. Only
`hessian` and `grad_tr_mat_times_hessian` form the matrix.
"""

import functools
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from contad.engines import DEFAULT
from contad.engines.forward import forward_level
from contad.engines.matrix.matrix_stack import stack_of_operations
from contad.engines.second_order.passes import SecondOrder
from contad.engines.second_order.second_order_records import Unsuited
from contad.errors import UnsupportedError
from contad.front.numba_transforms import Transform, higher_of, require_flag, require_numerics
from contad.front.user_function import UserFunction, runnable
from contad.functions.transformed import Transformed
from contad.functions.user_call import positional, positions
from contad.rules.compilable import WrittenOut
from contad.transforms.gradients import grad, jvp
from contad.transforms.jacobians import CHUNK, activate_rows, in_chunks, is_array, real_trees, size_of, split_last
from contad.transforms.library_derivatives import hessian_on, on_library, product_on
from contad.variables.activation import activate, seeds, trees_of
from contad.variables.arguments import fail, require_positive_size
from contad.variables.array import is_plain
from contad.variables.complex_pair import NO_HESSIAN
from contad.variables.dual import plain_float
from contad.variables.kept_dtypes import round_to
from contad.variables.number import peek
from contad.variables.open_types import ArrayValue, Function, Nested, NumbaType, Options, Real
from contad.variables.overlaps import set_apart
from contad.variables.stack import THREAD, opened
from contad.variables.trees import Tree, flatten, plain_leaf, scalar_output


class Curvature:
    """The Hessian of f at one point as a linear map on chunks of directions, the rows of a matrix.

    If the point is plain, the engine `matrix` records f once, and forward mode runs on the records. Otherwise, and if
    the records do not suffice, the gradient is evaluated on duals.
    """

    def __init__(
        self, transform: str, f: UserFunction, argnums: int | tuple[int, ...], engine: str | None,
        args: tuple[Nested, ...], kwargs: Options,
    ) -> None:  # fmt: skip
        gradient: Any = grad(f.f, argnums, engine=engine)
        is_compiled = hasattr(gradient, "form")  # f is a Numba function or a compiled gradient
        self.gradient = gradient.eager() if is_compiled else gradient
        self.what = f"{transform}: {f.name}"
        self.argnums = positions(transform, argnums)
        if max(self.argnums) >= len(args) or kwargs:  # the gradient copies constants itself, in case f writes to them
            args, kwargs = positional(self.gradient.run, self.what, self.argnums, args, kwargs)
        self.args, self.kwargs = set_apart(self.what, args), kwargs
        self.trees = real_trees(self.what, self.argnums, self.args)
        self.size = sum(size_of(x) for tree in self.trees for x in tree.leaves)
        self.recorded: Any = None
        plain = all(is_plain(x) for tree in self.trees for x in tree.leaves)
        self.may_record = plain and self.size > 0 and THREAD.watch is None and self.gradient.engine in (None, DEFAULT)

    def __enter__(self) -> "Curvature":
        return self

    def __exit__(self, *exception: object) -> None:
        if self.recorded is not None:
            self.recorded.stack.release()

    def __call__(self, directions: ArrayValue) -> ArrayValue:
        """The products with the rows of `directions`, as rows."""
        if is_plain(directions) and self._is_recorded():
            try:
                return in_chunks(self.recorded, directions, self.recorded.most)
            except Unsuited:
                self.may_record = False
        found, lost = self._on_duals(directions)
        if not lost.any():
            return found
        return np.concatenate([self(directions[k : k + 1]) if lost[k] else found[k : k + 1] for k in range(len(lost))])

    def _on_duals(self, directions: ArrayValue) -> tuple[ArrayValue, np.ndarray]:
        """The products, and which of them to compute one by one: nan at ties, where directions point to different
        sides."""
        with forward_level(len(directions) if len(directions) > 1 else None) as level:
            active = list(self.args)
            for k, x in zip(self.argnums, activate_rows(level, self.trees, directions), strict=True):
                active[k] = x
            gradient = flatten(self.gradient(*active, **self.kwargs)).leaves
            rows = [np.reshape(level.tangent_of(x), (len(directions), size_of(x))) for x in gradient]
            found = rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1)
        if not level.meets_ties or len(directions) == 1:
            return found, np.zeros(len(directions), bool)
        return found, np.isnan(peek(found)).any(axis=1)

    def _is_recorded(self) -> bool:
        """Whether there is a usable recording; it is made on first use."""
        if self.may_record and self.recorded is None:
            try:
                self._record()
            except Unsuited:
                self.may_record = False
        return self.may_record

    def _record(self) -> None:
        with opened(stack_of_operations) as s:
            args, kwargs = positional(self.gradient.run, self.what, self.argnums, self.args, self.kwargs)
            given, active = activate(s, self.what, self.argnums, args)
            cells = [s.cells_of(x) for tree in trees_of(active) for x in tree.leaves]  # type: ignore[attr-defined]
            y = scalar_output(self.gradient.run(*given, **kwargs), self.what, s)
            self.recorded = SecondOrder(s, seeds(s, y, 1.0), np.concatenate(cells))
            s.end("its Hessian call has ended")  # the recording is kept for further directions

    def chunks(self) -> Iterator[tuple[int, ArrayValue]]:
        """(first row, rows) of the Hessian, a chunk of rows at a time."""
        for start in range(0, self.size, CHUNK):
            yield start, self(np.eye(min(CHUNK, self.size - start), self.size, start))


@Transform
def hessian(f: Function, argnums: int | tuple[int, ...] = 0, *, engine: str | None = None) -> Function:
    """The matrix of second derivatives of a function that returns one number, by forward over reverse.

    For an array argument of shape T the result is an array of shape T + T. For other structures it is the structure of
    the gradient, with that of the argument in place of each number, and for a tuple of argnums a tuple of tuples that
    includes the mixed partials.

    Complex arguments are refused: their second derivatives are four real matrices. Pass the parts as real arguments, or
    use `hvp`, whose products are complex.

    For a Numba function it is compiled, as products with the unit vectors, and is callable in njit as
    contad.hessian(f)(x).

    Cost:    one recording of f, then two passes over the records for up to 32 rows at a time. Inside derivatives, and
             if f has custom rules (custom_vjp, checkpoint), a gradient on duals for every 32 rows.
    Ref:     Griewank & Walther (2008), section 5.3.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
    array([[10.,  6.],
           [ 6.,  0.]])
    """
    function = UserFunction("hessian", f)
    positions("hessian", argnums)

    def hessian_of_f(*args: Nested, **kwargs: Nested) -> Nested:
        if on_library(engine, args):
            return hessian_on(function.runnable(), f"hessian: {function.name}", argnums)(*args, **kwargs)
        with Curvature("hessian", function, argnums, engine, args, kwargs) as curvature:
            _require_real(curvature)
            rows = [chunk for _, chunk in curvature.chunks()]
        matrix = rows[0] if len(rows) == 1 else np.concatenate(rows) if rows else np.zeros((0, 0))
        by_gradient = split_last(matrix, curvature.trees, True)  # the columns; the rows are directions
        made = []
        for tree, part in zip(curvature.trees, by_gradient, strict=True):
            leaves = []
            for x, rows_of_x in zip(tree.leaves, flatten(part).leaves, strict=True):
                found = split_last(np.moveaxis(rows_of_x, 0, -1), curvature.trees, is_array(x))
                leaves.append(found[0] if isinstance(argnums, int) else tuple(found))
            made.append(tree.unflatten(leaves))
        return made[0] if isinstance(argnums, int) else tuple(made)

    if function.takes_compiled(engine):
        return higher_of(function, "hessian", lambda: hessian_of_f, (hessian, {"argnums": argnums, "engine": engine}))
    return Transformed(hessian_of_f, hessian, f, argnums, engine=engine)


@Transform
def hvp(
    f: Function, argnums: int | tuple[int, ...] = 0, *, vector: int | None = None, engine: str | None = None,
    numerics: str = "auto", checkpoint: bool = False,
) -> Function:  # fmt: skip
    """The product of the Hessian of f with a vector: hvp(f)(*args, v), which never forms the Hessian.

    v comes last, or at position `vector`: with vector=1 the signature is that of hessp(x, p, *args) in SciPy's
    minimize. v has the structure of the argument (a tuple of structures for a tuple of argnums), and so has the
    product. For a Numba function it is compiled, and callable in njit with all arguments in order; `numerics` and
    `checkpoint` are as in `grad`.

    Raises:  TypeError if v has another structure or shape than the argument.
    Cost:    a small multiple of the gradient's, whatever the size of the Hessian.
    Ref:     Pearlmutter (1994), Neural Computation 6(1), 147-160.

    >>> hvp(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]), np.array([1.0, 0.0]))
    array([10.,  6.])
    >>> hvp(lambda x, a: a * x[0] ** 2, vector=1)(np.array([3.0]), np.array([1.0]), 5.0)
    array([10.])
    """
    function = UserFunction("hvp", f)
    positions("hvp", argnums)
    require_numerics("hvp", numerics)
    require_flag("hvp", checkpoint)
    if vector is not None:
        positions("hvp", vector)

    def product(*args: Nested, **kwargs: Nested) -> Nested:
        place = -1 if vector is None else vector
        if len(args) < max(2, place + 1):
            last = "then the vector" if vector is None else f"with the vector at position {vector}"
            raise TypeError(f"hvp: {function.name}: expected the arguments of the function, {last}")
        primals = list(args)
        v = primals.pop(place)
        vectors = (v,) if isinstance(argnums, int) else v
        if on_library(engine, primals):
            return product_on(function.runnable(), f"hvp: {function.name}", argnums, v)(*primals, **kwargs)
        with Curvature("hvp", function, argnums, engine, tuple(primals), kwargs) as curvature:
            row = direction(curvature.what, "the vector", curvature.trees, vectors)
            rows = curvature(np.reshape(row, (1, -1)))
        found = split_last(np.reshape(rows, (-1,)), curvature.trees, False)
        return found[0] if isinstance(argnums, int) else tuple(found)

    if function.takes_compiled(engine):
        options: Options = {
            "argnums": argnums, "vector": vector, "engine": engine, "numerics": numerics, "checkpoint": checkpoint,
        }  # fmt: skip
        place = -1 if vector is None else vector
        return CompiledProduct(product, higher_of(function, "hvp", lambda: product, (hvp, options), place), f, options)
    return Transformed(product, hvp, f, argnums, vector=vector, engine=engine, numerics=numerics, checkpoint=checkpoint)


class CompiledProduct(Transformed, WrittenOut):
    """The Hessian-vector product of a Numba function; compiled code sees it as a Numba function."""

    def __init__(self, run: Function, compiled: Any, f: Function, options: Options) -> None:
        super().__init__(run, hvp, f, **options)
        self.compiled, self.place = compiled, -1 if options["vector"] is None else options["vector"]
        self.count = compiled.f.py_func.__code__.co_argcount + 1

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        """The product; missing arguments have the defaults of f."""
        if kwargs or len(args) < self.count:
            args = self._complete(args, kwargs)
        return self.compiled(*args)

    def _complete(self, args: tuple[Nested, ...], kwargs: Options) -> tuple[Nested, ...]:
        name = self.compiled.f.__name__
        if len(args) < max(2, self.place + 1):
            last = "then the vector" if self.place < 0 else f"with the vector at position {self.place}"
            raise TypeError(f"hvp: {name}: expected the arguments of the function, {last}")
        own = list(args)
        v = own.pop(self.place)
        try:
            bound = inspect.signature(self.compiled.f.py_func).bind(*own, **kwargs)
        except TypeError as error:
            raise TypeError(f"hvp: {name}: {error}") from None
        bound.apply_defaults()
        own = list(bound.args)
        own.insert(self.place if self.place >= 0 else len(own), v)
        return tuple(own)

    @property
    def _numba_type_(self) -> NumbaType:
        return self.compiled._numba_type_

    @property
    def py_func(self) -> Function:
        """A Python function with its parameters."""
        return self.compiled.py_func

    def write_out(self, given: tuple[NumbaType, ...]) -> Any:
        """Like that of the compiled object."""
        return self.compiled.write_out(given)


@Transform
def hessian_block_diag(f: Function, size: int, *, engine: str | None = None) -> Function:
    """The diagonal matrix blocks of the Hessian of a function of one vector, if the Hessian is block-diagonal.

    For a vector of n numbers the result has the shape (n / size, size, size). Entries outside of these must be zero;
    otherwise they are silently added to them. Further arguments of f follow the vector. For a Numba function it
    is compiled, and callable in njit as contad.hessian_block_diag(f, 3)(x).

    Raises:  ValueError unless size divides n.
    Cost:    `size` Hessian-vector products, whatever n.
    Ref:     Stan's hessian_block_diag.

    >>> hessian_block_diag(lambda x: x[0] * x[1] + x[2] * x[3] ** 2, 2)(np.array([1.0, 2.0, 3.0, 4.0]))
    array([[[0., 1.],
            [1., 0.]],
    <BLANKLINE>
           [[0., 8.],
            [8., 6.]]])
    """
    function = UserFunction("hessian_block_diag", f)
    require_positive_size("hessian_block_diag", "size", size)

    def matrix_blocks(x: ArrayValue, *args: Nested, **kwargs: Nested) -> Any:
        _require_vector("hessian_block_diag", x)
        if np.size(x) % size:
            fail("hessian_block_diag", "size", f"divide the length of x, {np.size(x)}", size)
        with Curvature("hessian_block_diag", function, 0, engine, (x, *args), kwargs) as curvature:
            rows = curvature(np.tile(np.eye(size), np.size(x) // size))
        return np.transpose(np.reshape(rows, (size, -1, size)), (1, 2, 0))

    if function.takes_compiled(engine):
        made_by: tuple[Function, Options] = hessian_block_diag, {"size": size, "engine": engine}
        return higher_of(function, "hessian_block_diag", lambda: matrix_blocks, made_by, size=size)
    return Transformed(matrix_blocks, hessian_block_diag, f, size, engine=engine)


@Transform
def laplacian(f: Function, argnums: int | tuple[int, ...] = 0, *, engine: str | None = None) -> Function:
    """The trace of the Hessian, the sum of all second derivatives d2f/dx_i^2.

    For a Numba function it is compiled, and callable in njit as contad.laplacian(f)(x).

    Cost:    that of `hessian`, with the memory of 32 of its rows; if compiled, of one row.

    >>> laplacian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
    10.0
    """
    function = UserFunction("laplacian", f)
    positions("laplacian", argnums)

    def laplacian_of_f(*args: Nested, **kwargs: Nested) -> Real:
        total: Real = 0.0
        with Curvature("laplacian", function, argnums, engine, args, kwargs) as curvature:
            for start, rows in curvature.chunks():
                places = np.arange(len(rows))
                total = total + np.sum(rows[places, start + places])
        dtypes = {d for tree in curvature.trees for d in tree.dtypes or (None,)}
        return plain_float(total) if None in dtypes else round_to(plain_float(total), np.result_type(*dtypes))

    if function.takes_compiled(engine):
        made_by: tuple[Function, Options] = laplacian, {"argnums": argnums, "engine": engine}
        return higher_of(function, "laplacian", lambda: laplacian_of_f, made_by)
    return Transformed(laplacian_of_f, laplacian, f, argnums, engine=engine)


def gradient_dot_vector(f: Function, x: Nested, v: Nested) -> tuple[Real, Real]:
    """The value of f at x, and its gradient times a vector, by one pass of forward mode.

    Ref:     Stan's gradient_dot_vector.

    >>> gradient_dot_vector(lambda x: x[0] ** 2 * x[1], np.array([3.0, 5.0]), np.array([1.0, 2.0]))
    (45.0, 48.0)
    """
    shape = getattr(x, "shape", ())
    if getattr(v, "shape", ()) != shape:
        got = getattr(v, "shape", type(v).__name__)
        fail("gradient_dot_vector", "v", f"have the shape of x, {shape}", got)
    return jvp(f, (x,), (v,))


def _trace_of(f: Function, engine: str | None = None) -> Any:
    """The compiled gradient of a trace, for a Numba function."""
    function = UserFunction("grad_tr_mat_times_hessian", f)

    def gradient(x: ArrayValue, *rest: Nested) -> ArrayValue:
        run, (*others, m) = runnable(f), rest
        return _gradient_of_trace(lambda x: run(x, *others), x, m, engine)

    made_by: tuple[Function, Options] = _trace_of, {"engine": engine}
    return higher_of(function, "grad_tr_mat_times_hessian", lambda: gradient, made_by)


@functools.partial(Transform, made_for=_trace_of)
def grad_tr_mat_times_hessian(f: Function, x: ArrayValue, m: ArrayValue, *, engine: str | None = None) -> ArrayValue:
    """The gradient at a vector x of tr(m H(x)), where H is the Hessian of f and m a constant square matrix.

    For a Numba function it is compiled, and callable in njit: for each nonzero row of m, a third derivative along a
    unit vector and that row.

    Cost:    one sweep over the computation of H; if compiled, a small multiple of the gradient's for each row of m.
    Ref:     Stan's grad_tr_mat_times_hessian.

    >>> grad_tr_mat_times_hessian(lambda x: x[0] ** 2 * x[1] ** 2, np.array([3.0, 5.0]), np.eye(2))
    array([12., 20.])
    """
    function = UserFunction("grad_tr_mat_times_hessian", f)
    _require_vector("grad_tr_mat_times_hessian", x)
    if np.shape(m) != (np.size(x), np.size(x)):
        fail("grad_tr_mat_times_hessian", "m", f"have shape {(np.size(x), np.size(x))}", f"shape {np.shape(m)}")
    if function.takes_compiled(engine) and is_plain(x) and is_plain(m):
        dispatcher: Any = function.dispatcher
        bound = inspect.signature(dispatcher.py_func).bind(x)
        bound.apply_defaults()
        found: ArrayValue = _trace_of(dispatcher, engine)(*bound.args, m)
        return found
    return _gradient_of_trace(f, x, m, engine)


def _gradient_of_trace(f: Function, x: ArrayValue, m: ArrayValue, engine: str | None) -> ArrayValue:
    weights = np.transpose(m)
    return grad(lambda x: np.sum(weights * hessian(f, engine=engine)(x)), engine=engine)(x)


def _require_vector(function: str, x: Nested) -> None:
    if np.ndim(x) != 1:
        fail(function, "x", "be a vector", f"shape {np.shape(x)}")


def _require_real(curvature: Curvature) -> None:
    """Refuse complex numbers among the differentiated arguments."""
    for n, tree in zip(curvature.argnums, curvature.trees, strict=True):
        if tree.is_complex:
            raise UnsupportedError(
                f"{curvature.what}: argument {n} {NO_HESSIAN}"
            )


def direction(what: str, name: str, trees: Sequence[Tree], vectors: Sequence[Nested]) -> ArrayValue:
    """All numbers of vectors in a row, after checking them against the structures of the trees."""
    if not isinstance(vectors, (tuple, list)) or len(vectors) != len(trees):
        raise TypeError(f"{what}: {name} must be a tuple with one entry for each of {len(trees)} arguments")
    rows = []
    for tree, v in zip(trees, vectors, strict=True):
        given = flatten(v)
        if not given.matches(tree):
            raise TypeError(
                f"{what}: {name} must have the structure of the argument, {tree.describe()}; got {given.describe()}"
            )
        for x, leaf in zip(tree.leaves, given.leaves, strict=True):
            shape, got = (y.shape if is_array(y) else () for y in (x, leaf))
            if shape != got:
                several = name == "the vector" and got != () and got[1:] == shape
                hint = "; for several at once contad.jvp(contad.grad(f), (x,), (vectors,), several=True)" * several
                raise TypeError(f"{what}: {name} must have the shape of the argument, {shape}, got {got}{hint}")
            rows.append(np.reshape(plain_leaf(what, name, leaf), (-1,)))
    return rows[0] if len(rows) == 1 else np.concatenate(rows)
