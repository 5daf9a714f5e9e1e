"""Derivatives at one point as linear maps: evaluate f once, apply its derivative many times."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad import check
from contad.calls import name_of, positional, positions
from contad.functional import Function, jvp, vjp
from contad.hessians import direction
from contad.jacobians import is_array, real_trees
from contad.trees import flatten


def linearize(f: Function, *primals: Any, engine: str | None = None) -> tuple[Any, Callable[..., Any]]:
    """The value of f at primals, and its derivative there as a function of tangents, one for each primal.

    z_dot = J x_dot, as `jvp`, but f is evaluated once, and not again for further tangents: the pullback of f is
    recorded itself, and its own pullback is the derivative. The map may be called repeatedly, on the thread that made
    it.

    Cost:    one evaluation of f on variables and one sweep on variables; one sweep for each call of the map.

    >>> value, tangent_map = linearize(lambda x, y: (x * y, x + y), 2.0, 3.0)
    >>> value, tangent_map(1.0, 0.0), tangent_map(0.0, 1.0)
    ((6.0, 5.0), (3.0, 1.0), (2.0, 1.0))
    """
    value, pullback = vjp(f, *primals, engine=engine)
    what = f"linearize: {name_of(f)}"
    trees = real_trees(what, range(len(primals)), primals)
    result = flatten(value)
    # linear in the cotangent, so that any will do; a zero would mask partials that are not finite
    ones = result.unflatten([np.ones(z.shape) if is_array(z) else 1.0 for z in result.leaves])
    _, transposed = vjp(pullback, ones, engine=engine)

    def tangent_map(*tangents: Any) -> Any:
        direction(what, "tangents", trees, tangents)
        return transposed(tangents)[0]

    tangent_map.__qualname__ = f"derivative of {name_of(f)}"
    return value, tangent_map


def make_vjp(f: Function, argnums: int | tuple[int, ...] = 0, *, engine: str | None = None) -> Function:
    """make_vjp(f)(*args) is (pullback, value): the map from a cotangent of the result to that of the argument.

    As `vjp`, with respect to some of the arguments, and in the order of HIPS autograd.

    Cost:    one evaluation of f on variables; one sweep for each call of the pullback.

    >>> pullback, value = make_vjp(lambda x, y: x * y)(2.0, 3.0)
    >>> value, pullback(1.0), pullback(10.0)
    (6.0, 3.0, 30.0)
    """
    check.callable_("make_vjp", "f", f)
    numbers = positions("make_vjp", argnums)

    def of_arguments(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        restricted, primals = _restricted(f, "make_vjp", numbers, args, kwargs)
        value, pullback = vjp(restricted, *primals, engine=engine)

        def chosen(cotangent: Any) -> Any:
            found = pullback(cotangent)
            return found[0] if isinstance(argnums, int) else found

        return chosen, value

    return of_arguments


def make_jvp(f: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """make_jvp(f)(*args) is a function of tangents that gives the value of f, and z_dot = J x_dot; as `jvp`.

    Cost:    one evaluation of f on duals for each call; `linearize` evaluates f once.

    >>> make_jvp(lambda x, y: x * y)(2.0, 3.0)(1.0)
    (6.0, 3.0)
    """
    check.callable_("make_jvp", "f", f)
    numbers = positions("make_jvp", argnums)

    def of_arguments(*args: Any, **kwargs: Any) -> Function:
        restricted, primals = _restricted(f, "make_jvp", numbers, args, kwargs)

        def tangent_map(tangent: Any) -> tuple[Any, ...]:
            return jvp(restricted, primals, (tangent,) if isinstance(argnums, int) else tangent)

        return tangent_map

    return of_arguments


def _restricted(
    f: Function, transform: str, numbers: Sequence[int], args: Any, kwargs: Any
) -> tuple[Function, tuple[Any, ...]]:
    """f as a function of the arguments at these positions, and those arguments."""
    args, kwargs = positional(f, f"{transform}: {name_of(f)}", numbers, args, kwargs)

    def restricted(*chosen: Any) -> Any:
        given = dict(zip(numbers, chosen, strict=True))
        return f(*(given.get(k, x) for k, x in enumerate(args)), **kwargs)

    restricted.__name__ = name_of(f)
    return restricted, tuple(args[k] for k in numbers)
