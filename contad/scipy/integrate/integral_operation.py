"""Integrals as operations: derivatives of an integral are integrals by the same rule, at every order."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from contad.errors import RuleError
from contad.front.user_function import UserFunction, primitive_of
from contad.functions.closure_conversion import Closure
from contad.transforms.gradients import jvp, vjp
from contad.transforms.operation import CustomOperation
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.number import map_numbers, peek
from contad.variables.open_types import ArrayValue, Function, Nested, NumbaFunction, Real, Value
from contad.variables.trees import Tree, flatten

_HALF_OF_DIGITS = 1e-8  # largest relative rounding error of a result that is returned, with a warning


class Rule(NamedTuple):
    """A rule of integration: of_number and of_array integrate a plain function of a point from a to b.

    A point is a tuple, (x,) or (x, distance to the nearest end); `end` makes the point of an end.
    """

    name: str  # name of the function that the user called
    of_number: Callable[[Function, float, float], float]
    of_array: Callable[[Function, float, float], ArrayValue]
    end: Callable[[Real], tuple[Real, ...]]
    later: list[Function]  # the user's functions, which derivatives call again


class ConvertedFunction(NamedTuple):
    """A user's function in its current state: call(point, (args, captured)) is f(*point, *args), with `captured` in
    place of the variables that f captures.
    """

    call: Function
    captured: list[Value]
    later: list[Function]  # functions that derivatives call again
    dispatcher: NumbaFunction = None  # the Numba function, if f is one


def freeze(f: Function, what: str) -> ConvertedFunction:
    """f with its captured values, for operations that call it on plain values and at every level."""
    user = UserFunction(what, f)
    if user.dispatcher is not None:
        primitive = primitive_of(user.dispatcher)
        return ConvertedFunction(lambda point, params: primitive(*point, *params[0]), [], [], user.dispatcher)
    closure = Closure(f)
    run = user.runnable()
    if not closure.variables:
        return ConvertedFunction(lambda point, params: run(*point, *params[0]), [], [f])

    def call(point: Sequence[Value], params: tuple[Sequence[Nested], Sequence[Value]]) -> Nested:
        bound = closure.bind(params[1])
        if run is not f:  # f calls Numba functions, which accept no variables
            bound = UserFunction(what, bound).runnable()
        return bound(*point, *params[0])

    # all captured data but the variables must not change
    return ConvertedFunction(call, closure.variables, [closure.bind(map_numbers(peek, closure.variables))])


class OfLeaves:
    """A function of a point and a tree, as a function of the leaves at some positions."""

    __slots__ = ("f", "places", "point", "tree")

    def __init__(self, f: Function, point: Sequence[Value], tree: Tree, places: Sequence[int]) -> None:
        self.f, self.point, self.tree, self.places = f, point, tree, places

    def __call__(self, *leaves: Value) -> Nested:
        return self.f(self.point, replace(self.tree, self.places, leaves))


def require_found(what: str, name: str, value: Nested) -> None:
    """Refuse a variable as a result on plain values, because it means that a captured variable was not found."""
    if numbers_in(value):
        raise RuleError(
            f"{what}: {name} captures a variable in a place where it is not looked for, and whose derivative would be "
            f"lost; pass it in args"
        )


def watch_result(what: str, f: Function) -> Function:
    """f, checked not to return variables."""

    def of_floats(x: Value, *args: Nested) -> Any:
        y = f(x, *args)
        require_found(what, "the function", y)
        return y

    return of_floats


def integrate(rule: Rule, f: Function, a: Real, b: Real, params: Nested) -> Nested:
    """The integral of f(point, params), a number or an array, from a to b.

        z = integral of f,     z_dot = f(b) b_dot - f(a) a_dot + integral of f_p p_dot
    """

    def value(a: Real, b: Real, params: Nested) -> tuple[Nested, None]:
        if operation.owner is None:
            return _integrate_plain(rule, f, a, b, params), None
        return integrate(rule, f, a, b, params), None

    def at_end(x: Real, params: Nested) -> Nested:
        """The contribution of moving an end; infinite ends do not move."""
        return 0.0 if np.isinf(peek(x)) else f(rule.end(x), params)

    def pull(args: Sequence[Nested], saved: None, z: Nested, z_bar: Nested) -> Sequence[Nested | None]:
        a, b, params = args
        active = {n for n, _ in operation.places}
        a_bar = -np.sum(z_bar * at_end(a, params)) if 0 in active else None
        b_bar = np.sum(z_bar * at_end(b, params)) if 1 in active else None
        if 2 not in active:
            return a_bar, b_bar, None
        leaves = [k for n, k in operation.places if n == 2]
        tree = flatten(params)
        shapes = [np.shape(tree.leaves[k]) for k in leaves]

        def cotangents(point: Sequence[Value], given: tuple[Nested, Nested]) -> ArrayValue:
            inner = flatten(given[0])
            of_leaves = OfLeaves(f, point, inner, leaves)
            return join(vjp(of_leaves, *(inner.leaves[k] for k in leaves))[1](given[1]))

        parts = split(integrate(rule, cotangents, a, b, (params, z_bar)), shapes)
        return a_bar, b_bar, place_cotangents(tree, leaves, parts)

    def push(args: Sequence[Nested], saved: None, z: Nested, tangents: Sequence[Nested]) -> Nested:
        a, b, params = args
        leaves = [k for n, k in operation.places if n == 2]
        z_dot: Value = 0.0
        if any(n == 0 for n, _ in operation.places):
            z_dot = z_dot - tangents[0] * at_end(a, params)
        if any(n == 1 for n, _ in operation.places):
            z_dot = z_dot + tangents[1] * at_end(b, params)
        if leaves:
            dots = flatten(tangents[2]).leaves

            def tangent(point: Sequence[Value], given: tuple[Nested, Sequence[Value]]) -> Nested:
                inner = flatten(given[0])
                chosen = [inner.leaves[k] for k in leaves]
                return jvp(OfLeaves(f, point, inner, leaves), chosen, given[1])[1]

            z_dot = z_dot + integrate(rule, tangent, a, b, (params, [dots[k] for k in leaves]))
        return z_dot if np.shape(z_dot) == np.shape(z) else z_dot + np.zeros(np.shape(z))

    operation = CustomOperation(rule.name, (a, b, params), value, pull, push, [], rule.later)
    return operation.perform()


def _integrate_plain(rule: Rule, f: Function, a: float, b: float, params: Nested) -> Value:
    def of_point(*point: float) -> Value:
        y = f(point, params)
        require_found(rule.name, "the function", y)
        return y

    a, b = float(a), float(b)
    seen: list[int] = []

    def integrand(*point: float) -> Value:
        y = of_point(*point)
        if not seen:
            seen.append(np.ndim(y))
        return y

    if np.isnan(a) or np.isnan(b):
        raise ValueError(f"{rule.name}: the limits must be numbers, got {a} and {b}")
    middle = inner_point(a, b)
    if np.ndim(integrand(*rule.end(middle))):
        return np.asarray(rule.of_array(lambda *x: np.asarray(of_point(*x), float), a, b))
    return rule.of_number(of_point, a, b)


def inner_point(a: float, b: float) -> float:
    """A finite number between two limits."""
    low, high = min(a, b), max(a, b)
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * low + 0.5 * high
    return low + 1.0 if np.isfinite(low) else high - 1.0 if np.isfinite(high) else 0.0


# ---- vectors of leaves -----------------------------------------------------------------------------------------------
def replace(tree: Tree, places: Sequence[int], leaves: Sequence[Value]) -> Nested:
    """The tree with other leaves at these positions."""
    given = dict(zip(places, leaves, strict=True))
    return tree.unflatten([given.get(k, x) for k, x in enumerate(tree.leaves)])


def place_cotangents(tree: Tree, places: Sequence[int], found: Sequence[Value]) -> Nested:
    """The cotangents of a tree, from those at these positions; all others are 0."""
    given = dict(zip(places, found, strict=True))
    return tree.unflatten([given.get(k, zeros(x)) for k, x in enumerate(tree.leaves)])


def join(leaves: Sequence[Value]) -> ArrayValue:
    """Numbers and arrays concatenated into one vector."""
    rows = [np.reshape(x, (-1,)) if np.ndim(x) else array([x]) for x in leaves]
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


def split(row: ArrayValue, shapes: Sequence[tuple[int, ...]]) -> list[Value]:
    """The numbers and arrays of these shapes, split from the last axis of a vector."""
    parts, first = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        piece = row[first : first + size]
        parts.append(np.reshape(piece, shape) if shape else piece[0])
        first += size
    return parts


def zeros(x: Value) -> Value:
    """The zero cotangent of a leaf."""
    return np.zeros(np.shape(x)) if np.ndim(x) else 0.0


# ---- rules -----------------------------------------------------------------------------------------------------------
def gauss_kronrod_of_array(
    name: str, f: Function, a: float, b: float, **options: Any
) -> ArrayValue:
    """scipy.integrate.quad_vec, raising an error if it fails."""
    if a == b:
        return np.zeros(np.shape(f(inner_point(a, b))))
    value, error, info = scipy.integrate.quad_vec(f, a, b, norm="max", full_output=True, **options)
    if info.status == 2 and error <= _HALF_OF_DIGITS * np.max(np.abs(value), initial=0.0):
        return value
    if info.status != 0:
        raise RuntimeError(
            f"{name}: the integral of the derivative does not converge (estimated error {error:.1e}): "
            f"{' '.join(info.message.split())}"
        )
    return value

