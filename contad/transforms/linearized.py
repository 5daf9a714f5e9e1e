"""Derivatives at one point as linear maps: evaluate f once, apply its derivative many times."""

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.engines import DEFAULT
from contad.engines.matrix.matrix_stack import MatrixStack, stack_of_whole_rules
from contad.engines.second_order.passes import SecondOrder
from contad.engines.second_order.second_order_records import Unsuited
from contad.front.recorded import Recorded
from contad.front.user_function import UserFunction
from contad.functions.transformed import SEND, OfThisProcess, Transformed
from contad.functions.user_call import name_of, positional, positions
from contad.transforms.gradients import jvp, vjp
from contad.transforms.hessians import direction
from contad.transforms.jacobians import is_array, real_trees
from contad.transforms.library_derivatives import linear_map, on_library
from contad.variables.activation import trees_of
from contad.variables.arguments import require_callable
from contad.variables.array import Array, is_plain
from contad.variables.open_types import Function, Nested, Options, Value
from contad.variables.stack import THREAD
from contad.variables.trees import flatten
from contad.variables.var import Var


def linearize(f: Function, *primals: Nested, engine: str | None = None) -> tuple[Nested, Function]:
    """The value of f at primals, and its derivative there as a function of tangents, one for each primal.

    z_dot = J x_dot, as in `jvp`, but f is evaluated only once: each call of the map is one forward pass over the
    records of f. Inside derivatives, with custom rules, and for tangents that are not finite, the pullback of f is
    recorded instead, and the map is the pullback of that pullback. The map may be called repeatedly, on the thread that
    made it.

    Cost:    one evaluation of f on variables, and its partials; one pass over the records for each call of the map.

    >>> value, tangent_map = linearize(lambda x, y: (x * y, x + y), 2.0, 3.0)
    >>> value, tangent_map(1.0, 0.0), tangent_map(0.0, 1.0)
    ((6.0, 5.0), (3.0, 1.0), (2.0, 1.0))
    """
    function = UserFunction("linearize", f)
    what = f"linearize: {function.name}"
    if on_library(engine, primals):
        value, push, _ = linear_map(function.runnable(), primals, what)
        return value, push
    trees = real_trees(what, range(len(primals)), primals)
    by_records: Callable[[np.ndarray], Nested] | None = None
    plain = all(is_plain(x) for tree in trees for x in tree.leaves)
    if not function.takes_compiled(engine) and plain and engine in (None, DEFAULT) and THREAD.watch is None:
        recorded = Recorded(function.runnable(), primals, f"vjp: {function.name}", stack_of_whole_rules)
        value, pullback = recorded.value, recorded.pullback()
        with contextlib.suppress(Unsuited):
            by_records = _on_records(recorded)
    else:
        value, pullback = vjp(f, *primals, engine=engine)
    if by_records is None:
        by_pullback: Any = _transpose(value, pullback, engine)
    else:
        by_pullback = functools.cache(lambda: _transpose(value, pullback, engine))

    def tangent_map(*tangents: Nested) -> Nested:
        row = direction(what, "tangents", trees, tangents)
        if by_records is None:
            return by_pullback(tangents)[0]
        if is_plain(row):
            with contextlib.suppress(Unsuited):
                return by_records(row)
        return by_pullback()(tangents)[0]

    tangent_map.__qualname__ = f"derivative of {function.name}"
    point = [_copy(x) for x in primals]  # the caller may write into these arrays
    return value, Transformed(tangent_map, _tangent_map, f, *point, engine=engine)


def _tangent_map(f: Function, *primals: Nested, engine: str | None = None) -> Function:
    return linearize(f, *primals, engine=engine)[1]


def _copy(x: Nested) -> Nested:
    tree = flatten(x)
    return tree.unflatten([leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in tree.leaves])


def _transpose(
    value: Nested, pullback: Callable[[Nested], tuple[Nested, ...]], engine: str | None
) -> Callable[[Sequence[Nested]], tuple[Nested, ...]]:
    """The pullback of a pullback: a function of tangents."""
    result = flatten(value)
    # the pullback is linear in the cotangent, so any value works; a zero would mask partials that are not finite
    ones = result.unflatten([np.ones(z.shape) if is_array(z) else 1.0 for z in result.leaves])
    transposed: Callable[[Sequence[Nested]], tuple[Nested, ...]] = vjp(pullback, ones, engine=engine)[1]
    return transposed


def _on_records(recorded: Recorded) -> Callable[[np.ndarray], Nested]:
    """The tangents of the result by one forward pass over the records, from those of all arguments in one vector.

    Raises Unsuited, here or when it is called, if the pullback has to be differentiated instead.
    """
    s: Any = recorded.stack
    cells = [s.cells_of(x) for tree in trees_of(recorded.active) for x in tree.leaves]
    if not sum(map(len, cells)):
        raise Unsuited
    outputs = [cells_of_result(s, leaf) for leaf in recorded.leaves]
    shapes = [np.shape(leaf) if is_array(leaf) else None for leaf in recorded.leaves]
    at = np.concatenate(outputs)
    records = SecondOrder(s, (), np.concatenate(cells))
    upward = records.upward_to(at)

    def tangents(row: np.ndarray) -> Nested:
        (found,) = records.tangents(row[None], at, upward)
        leaves: list[Value] = []
        first = 0
        for own, shape in zip(outputs, shapes, strict=True):
            part = found[first : first + len(own)]
            leaves.append(float(part[0]) if shape is None else part.reshape(shape).copy())
            first += len(own)
        return recorded.result.unflatten(leaves)

    return tangents


def cells_of_result(s: MatrixStack, leaf: Value) -> np.ndarray:
    """The cells of a leaf of the result, 0 for constants."""
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        return np.array([x._index if isinstance(x, Var) and x._owner is s else 0 for x in leaf.flat], np.int64)
    if isinstance(leaf, (Var, Array)) and leaf._owner is s:
        return np.asarray(s.cells_of(leaf))
    return np.zeros(np.size(leaf), np.int64)


def make_vjp(f: Function, argnums: int | tuple[int, ...] = 0, *, engine: str | None = None) -> Function:
    """make_vjp(f)(*args) is (pullback, value): the map from a cotangent of the result to that of the argument.

    Like `vjp`, but with respect to some of the arguments, and with results in the order of HIPS autograd.

    Cost:    one evaluation of f on variables; one sweep for each call of the pullback.

    >>> pullback, value = make_vjp(lambda x, y: x * y)(2.0, 3.0)
    >>> value, pullback(1.0), pullback(10.0)
    (6.0, 3.0, 30.0)
    """
    UserFunction("make_vjp", f).takes_compiled(engine)  # refuses an unknown one
    numbers = positions("make_vjp", argnums)

    def of_arguments(*args: Nested, **kwargs: Nested) -> tuple[Function, Nested]:
        restricted, primals = restrict(f, "make_vjp", numbers, args, kwargs)
        value, pullback = vjp(restricted, *primals, engine=engine)

        def choose(cotangent: Nested) -> Nested:
            found = pullback(cotangent)
            return found[0] if isinstance(argnums, int) else found

        return OfThisProcess(choose, f"pullback of {name_of(f)}", SEND), value

    return Transformed(of_arguments, make_vjp, f, argnums, engine=engine)


def make_jvp(f: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """make_jvp(f)(*args) is a function of tangents that returns the value of f and z_dot = J x_dot, like `jvp`.

    Cost:    one evaluation of f on duals for each call; `linearize` evaluates f once.

    >>> make_jvp(lambda x, y: x * y)(2.0, 3.0)(1.0)
    (6.0, 3.0)
    """
    require_callable("make_jvp", "f", f)
    positions("make_jvp", argnums)

    def of_arguments(*args: Nested, **kwargs: Nested) -> Function:
        return _jvp_at(f, argnums, args, kwargs)

    return Transformed(of_arguments, make_jvp, f, argnums)


def _jvp_at(f: Function, argnums: int | tuple[int, ...], args: tuple[Nested, ...], kwargs: Options) -> Function:
    restricted, primals = restrict(f, "make_jvp", positions("make_jvp", argnums), args, kwargs)

    def tangent_map(tangent: Nested) -> tuple[Nested, ...]:
        return jvp(restricted, primals, (tangent,) if isinstance(argnums, int) else tangent)

    return Transformed(tangent_map, _jvp_at, f, argnums, args, kwargs)


def restrict(
    f: Function, transform: str, numbers: Sequence[int], args: tuple[Nested, ...], kwargs: Options
) -> tuple[Function, tuple[Nested, ...]]:
    """f as a function of the arguments at these positions, and those arguments."""
    args, kwargs = positional(f, f"{transform}: {name_of(f)}", numbers, args, kwargs)

    def call(*chosen: Nested) -> Nested:
        given = dict(zip(numbers, chosen, strict=True))
        return f(*(given.get(k, x) for k, x in enumerate(args)), **kwargs)

    call.__name__ = name_of(f)
    return call, tuple(args[k] for k in numbers)
