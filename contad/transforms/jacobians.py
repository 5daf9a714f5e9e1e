"""Jacobians: by columns in forward mode, by rows in reverse mode, or in the mode that needs fewer passes."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines import engine as engine_class
from contad.engines.forward import forward_level
from contad.errors import NotHolomorphicError, OutputError, UnsupportedError
from contad.front.numba_transforms import Transform, higher_of
from contad.front.repeated import is_first_gradient, jacobian_of_gradient
from contad.front.user_function import UserFunction
from contad.functions.transformed import Transformed
from contad.functions.user_call import positional, positions, split_aux
from contad.ops.close_values import LOST, contract, fill_lost_if_same, was_lost
from contad.transforms.library_derivatives import jacobian_on, on_library
from contad.variables.activation import activate, differentiate_leaf
from contad.variables.array import Array
from contad.variables.complex_pair import BOTH_COMPLEX, NOT_HOLOMORPHIC, ROUNDING, is_complex, join
from contad.variables.dual import ForwardLevel, plain_float
from contad.variables.layout import OVERLAPPING
from contad.variables.number import map_numbers, peek, stands_for_float
from contad.variables.open_types import ArrayValue, Function, Nested, Options, Value
from contad.variables.overlaps import hand_on_marks
from contad.variables.stack import attempt, opened
from contad.variables.trees import Tree, flatten, lower, map_leaves, output_leaves, real_leaf

CHUNK = 32  # directions in one pass of forward mode: more directions share the overhead of a pass but take more memory


@Transform
def jacrev(
    f: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, engine: str | None = None,
    holomorphic: bool = False,
) -> Function:  # fmt: skip
    """The Jacobian of a function by reverse mode: for every number of the result, the gradient.

    The Jacobian has the structure of the result of f, with that of the argument in place of each number; an array
    result of shape S and an array argument of shape T give an array of shape S + T. With has_aux, f returns (value,
    aux), and this function returns the Jacobian and aux. For complex numbers see `jacobian`.

    Cost:    one evaluation of f on variables, and one sweep per number of the result.

    >>> jacrev(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 1.0]]
    """
    def by_rows(*call: Any, has_aux: bool) -> Nested:
        return _by_rows(*call, has_aux=has_aux, engine=engine, holomorphic=holomorphic)

    options: Options = {"argnums": argnums, "has_aux": has_aux, "engine": engine}
    return _make("jacrev", jacrev, f, by_rows, options, holomorphic)


@Transform
def jacfwd(
    f: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """The Jacobian of a function by forward mode, several columns in one pass; structures are those of `jacrev`.

    Cost:    one evaluation of f on duals for every 32 numbers of the argument.

    >>> jacfwd(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 1.0]]
    """
    compute = functools.partial(by_columns, holomorphic=holomorphic)
    return _make("jacfwd", jacfwd, f, compute, {"argnums": argnums, "has_aux": has_aux}, holomorphic)


@Transform
def jacobian(
    f: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, engine: str | None = None,
    holomorphic: bool = False,
) -> Function:  # fmt: skip
    """The Jacobian of a function, as `jacrev` or `jacfwd`: by forward mode if the result has more numbers than the
    argument, and otherwise by reverse mode. It also uses reverse mode if an engine is named or a rule of f has no
    forward mode.

    For a Numba function the Jacobian is compiled, and callable in njit as contad.jacobian(f)(x); so are the other two.
    They compute 2 to 8 columns or rows at once, in vector registers.

    A real result by z = x + iy gives du/dx + i du/dy, like `grad`, and a complex result u + iv by a real x gives
    du/dx + i dv/dx. A complex result by a complex argument has such a derivative only if f is holomorphic: with
    holomorphic=True it is f'(z).

    Raises:  OutputError for a complex result by a complex argument without holomorphic=True; with it,
             NotHolomorphicError where the equations of Cauchy and Riemann, du/dx = dv/dy and du/dy = -dv/dx, fail.
    Cost:    one evaluation of f on variables, to find the shape of its result, and the cost of the mode.

    >>> jacobian(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 1.0]]
    >>> jacobian(lambda z: z * z, holomorphic=True)(1.0 + 2.0j)
    (2+4j)
    """

    def choose(*call: Any, has_aux: bool) -> Nested:
        options: Options = {"has_aux": has_aux, "holomorphic": holomorphic}
        if engine is None:
            found = _by_rows(*call, **options, most=count_of(call[3], call[2]))
            if found is not None:
                return found
            try:
                with attempt():
                    return by_columns(*call, **options)
            except UnsupportedError:  # a rule without forward mode, or one that reverse mode refuses as well
                pass
        return _by_rows(*call, **options, engine=engine)

    options = {"argnums": argnums, "has_aux": has_aux, "engine": engine}
    return _make("jacobian", jacobian, f, choose, options, holomorphic)


def _make(
    name: str, transform: Function, f: Function, compute: Function, options: Options, holomorphic: bool
) -> Function:
    """The result of a transform; compiled for a Numba function, with a Python copy if one is needed."""
    function = UserFunction(name, f)
    argnums, engine = options["argnums"], options.get("engine")

    def eager() -> Function:
        return _transform(name, f, argnums, functools.partial(compute, has_aux=options["has_aux"]), engine,
                          options["has_aux"])

    options |= {"holomorphic": True} if holomorphic else {}
    gradient: Any = f
    alone = not (holomorphic or options["has_aux"])
    if alone and is_first_gradient(f, engine) and gradient.form.argnums == (argnums,):
        return jacobian_of_gradient(f, (transform, options), eager)
    if function.takes_compiled(engine):
        positions(name, argnums)
        return higher_of(function, name, eager, (transform, options))
    return Transformed(eager(), transform, f, **options)


def _transform(
    name: str, f: Function, argnums: int | tuple[int, ...], compute: Function, engine: str | None, has_aux: bool
) -> Function:
    """The function of f's arguments that calls compute(f, what, positions, args, kwargs, single)."""
    function = UserFunction(name, f)
    numbers = positions(name, argnums)
    what = f"{name}: {function.name}"
    run = function.runnable()

    def of_arguments(*args: Nested, **kwargs: Nested) -> Nested:
        if on_library(engine, args):
            return jacobian_on(run, what, argnums, has_aux)(*args, **kwargs)
        args, kwargs = positional(run, what, numbers, args, kwargs)
        return compute(run, what, numbers, args, kwargs, isinstance(argnums, int))

    of_arguments.__name__ = of_arguments.__qualname__ = f"{name}_of_{function.name}"
    return of_arguments


def _by_rows(
    f: Function, what: str, numbers: Sequence[int], args: Sequence[Nested], kwargs: Options, single: bool,
    *, has_aux: bool = False, engine: str | None = None, most: int | None = None, holomorphic: bool = False,
) -> Nested:  # fmt: skip
    """The Jacobian by reverse mode; None if the result has more than `most` numbers."""
    with opened(engine_class(engine)) as s:
        given, active = activate(s, what, numbers, args)
        y, aux = split_aux(f(*given, **kwargs), has_aux, what)
        result = flatten(y)
        leaves = output_leaves(result, what, s)
        if most is not None and sum(map(size_of, leaves)) > most:
            return None
        blocks = [differentiate_leaf(s, active, leaf) for leaf in leaves]
        found = put_in_place(what, result, [b[0] if single else tuple(b) for b in blocks], holomorphic)
        value = result.unflatten([lower(leaf, s) for leaf in leaves]) if LOST and was_lost() else None
        aux = lower(aux, s)
    if value is not None:
        found = find_lost(found, value, f, what, numbers, args, kwargs, single, has_aux, holomorphic=holomorphic)
    return (found, aux) if has_aux else found


def find_lost(
    found: Nested, value: Nested, f: Function, what: str, numbers: Sequence[int], args: Sequence[Nested],
    kwargs: Options, single: bool, has_aux: bool, z_bar: Nested = None, holomorphic: bool = False,
) -> Nested:  # fmt: skip
    """The result of reverse mode, with entries from forward mode where the sweep has lost digits.

    It is the Jacobian, or the cotangent of the result times the Jacobian.
    """

    def run(*args: Nested, **kwargs: Nested) -> Nested:
        y = split_aux(f(*args, **kwargs), has_aux, what)[0]
        return (y if z_bar is None else flatten(y).leaves), y

    def forward() -> tuple[Nested, Nested]:
        options: Options = {"has_aux": True, "holomorphic": holomorphic}
        jacobian, again = by_columns(run, what, numbers, args, kwargs, single, **options)
        return (jacobian if z_bar is None else contract(z_bar, jacobian)), again

    return fill_lost_if_same(found, value, forward)


def by_columns(
    f: Function, what: str, numbers: Sequence[int], args: Sequence[Nested], kwargs: Options, single: bool,
    *, has_aux: bool = False, holomorphic: bool = False,
) -> Nested:  # fmt: skip
    """The Jacobian by forward mode."""
    trees = real_trees(what, numbers, args)
    n = sum(size_of(x) for tree in trees for x in tree.leaves)
    if n == 0:
        return _by_rows(f, what, numbers, args, kwargs, single, has_aux=has_aux, holomorphic=holomorphic)
    parts: list[list[ArrayValue]] = []
    for start in range(0, n, CHUNK):
        directions = np.eye(min(CHUNK, n - start), n, start)
        with forward_level(len(directions)) as level:
            active = list(args)
            for k, x in zip(numbers, activate_rows(level, trees, directions), strict=True):
                active[k] = x
            y, aux = split_aux(f(*active, **kwargs), has_aux, what)
            result = flatten(y)
            leaves = output_leaves(result, what, level)
            parts.append([level.tangent_of(leaf) for leaf in leaves])
            aux = lower(aux, level)
    matrices = []
    for leaf, *columns in zip(leaves, *parts, strict=True):
        whole = columns[0] if len(columns) == 1 else np.concatenate(columns)
        found = split_last(np.moveaxis(whole, 0, -1), trees, is_array(leaf))
        matrices.append(found[0] if single else tuple(found))
    jacobian = put_in_place(what, result, matrices, holomorphic)
    return (jacobian, aux) if has_aux else jacobian


# ---- complex results -------------------------------------------------------------------------------------------------
def put_in_place(what: str, result: Tree, blocks: Sequence[Nested], holomorphic: bool) -> Nested:
    """The Jacobian: blocks, one for each real leaf of the result, in place of its numbers and arrays."""

    def at(place: Any) -> Nested:
        if place is None:
            return None
        if isinstance(place, complex):
            pair = blocks[int(place.real)], blocks[int(place.imag)]
            return map_leaves(functools.partial(_join_rows, what, holomorphic), *pair, is_leaf=is_complex)
        block = blocks[int(place)]
        return map_leaves(functools.partial(_check_row, what), block, is_leaf=is_complex) if holomorphic else block

    return map_leaves(at, result.unflatten([*map(float, range(len(blocks)))]))


def _join_rows(what: str, holomorphic: bool, u: Value, v: Value) -> Value:
    """The derivative of u + iv from the derivatives of both by one leaf; du/dx + i du/dy for a complex leaf."""
    if not is_complex(u):
        return join(u, v)
    if not holomorphic:
        raise OutputError(f"{what} {BOTH_COMPLEX}")
    _require_same(what, v, 1j * u)
    return u.conjugate()


def _check_row(what: str, u: Value) -> Value:
    """The derivative of a real result, which must be a constant if the leaf is complex."""
    if is_complex(u):
        _require_same(what, 0.0 * u, u)
    return u


def _require_same(what: str, v: Value, expected: Value) -> None:
    """The equations of Cauchy and Riemann, for all elements up to rounding."""
    x, y = np.asarray(map_numbers(peek, v)), np.asarray(map_numbers(peek, expected))
    if x.size and np.any(np.abs(x - y) > ROUNDING * max(np.max(np.abs(x)), np.max(np.abs(y)))):
        raise NotHolomorphicError(f"{what} {NOT_HOLOMORPHIC}")


# ---- numbers of arguments in a row -----------------------------------------------------------------------------------
def is_array(x: Value) -> bool:
    """Whether a leaf has axes, or might have."""
    return isinstance(x, (np.ndarray, Array))


def size_of(leaf: Value) -> int:
    """How many numbers a leaf has."""
    return int(leaf.size) if is_array(leaf) else 1


def count_of(args: Sequence[Nested], argnums: Sequence[int]) -> int:
    """How many numbers there are in these arguments."""
    return sum(size_of(leaf) for n in argnums for leaf in flatten(args[n]).leaves)


def real_trees(what: str, argnums: Sequence[int], args: Sequence[Nested]) -> list[Tree]:
    """The trees of the arguments to differentiate, with leaves in the form that levels accept."""
    trees = []
    for n in argnums:
        tree = flatten(args[n])
        if not tree.leaves:
            raise UnsupportedError(
                f"{what}, argument {n}: expected numbers or arrays to differentiate, got {args[n]!r}"
            )
        trees.append(tree._replace(leaves=[_leaf(x, f"{what}, argument {n}") for x in tree.leaves]))
    return trees


def _leaf(x: Value, what: str) -> Value:
    """A leaf in the form that levels accept, which distinguishes NumPy's numbers from Python's."""
    leaf = real_leaf(x, what)
    return np.float64(leaf) if leaf.__class__ is float and not stands_for_float(x) else leaf


def activate_rows(level: ForwardLevel, trees: Sequence[Tree], directions: ArrayValue) -> list[Nested]:
    """The arguments, with the rows of `directions`, or its only row, as tangents of all numbers of the trees."""
    made, k = [], 0
    for tree in trees:
        leaves = []
        for x in tree.leaves:
            shape = x.shape if is_array(x) else ()
            if level.several is not None:
                own = np.reshape(directions[:, k : k + size_of(x)], (len(directions), *shape))
            else:
                own = np.reshape(directions[0, k : k + size_of(x)], shape) if shape else plain_float(directions[0, k])
            leaves.append(level.make_active(x, own))
            k += size_of(x)
        if OVERLAPPING:
            hand_on_marks(tree.leaves, leaves)
        made.append(tree.unflatten(leaves))
    return made


def in_chunks(product: Function, rows: ArrayValue, most: int) -> ArrayValue:
    """The products with rows, at most `most` rows at a time."""
    found = [product(rows[k : k + most]) for k in range(0, len(rows), most)]
    return found[0] if len(found) == 1 else np.concatenate(found)


def split_last(rows: ArrayValue, trees: Sequence[Tree], has_axes: bool) -> list[Nested]:
    """Split the last axis of an array, which runs over all numbers of the trees, into one array for each leaf.

    A leaf that is a number becomes a number if `has_axes` is false.
    """
    made, k = [], 0
    for tree in trees:
        leaves: list[Value] = []
        for x in tree.leaves:
            part = rows[..., k : k + size_of(x)]
            if is_array(x) or has_axes:
                part = np.reshape(part, part.shape[:-1] + (x.shape if is_array(x) else ()))
                leaves.append(np.array(part) if isinstance(part, np.ndarray) else part)
            else:
                leaves.append(plain_float(part[0]))
            k += size_of(x)
        made.append(tree.unflatten(leaves))
    return made
