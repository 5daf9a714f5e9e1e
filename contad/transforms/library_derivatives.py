"""Derivatives of functions of other libraries' arrays, all by reverse mode: the engine `arrays` differentiates itself.

A pullback is linear in its cotangent. So its own pullback is the tangent: forward mode is reverse mode, twice.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines import ARRAYS, engine as engine_class
from contad.engines.arrays.libraries import library_of
from contad.engines.arrays.library_stack import LibraryStack
from contad.errors import UnsupportedError
from contad.front.recorded import Recorded
from contad.functions.user_call import positional, positions
from contad.ops.close_values import LOST, was_lost
from contad.variables.array import numbers_in
from contad.variables.number import peek
from contad.variables.open_types import ArrayValue, Function, Nested, Options
from contad.variables.stack import opened
from contad.variables.trees import is_of_library, leaves_of, lower, map_leaves

_OF_NUMPY = (np.ndarray, float, int, np.float64)


def on_library(engine: str | None, args: Sequence[Nested]) -> bool:
    """Whether the engine `arrays` answers: it is named, or an argument is an array of another library."""
    if engine is not None:
        return engine == ARRAYS
    others = [x for x in args if x.__class__ not in _OF_NUMPY]  # which are most, and need no search
    if any(map(is_of_library, others)):
        return True
    leaves = [x for arg in others for x in leaves_of(arg)]
    return any(is_of_library(x) or getattr(getattr(x, "_owner", None), "takes_any", False) for x in leaves)


def pass_to_arrays(pair: Any, args: Sequence[Nested]) -> tuple[Nested, tuple[Nested, ...]] | None:
    """The value and the gradients, from the pair's function on the engine `arrays`; None without other arrays."""
    if not on_library(None, args):
        return None
    if LOST:
        was_lost()  # forget what other transforms left
    y, gradients = pair(*args)
    return y, (gradients,) if pair.single else gradients


def on_variables(f: Function, *args: Nested) -> Nested:
    """f(*args), in which arrays of other libraries are variables, so that NumPy's functions leave them to the library.

    Nothing is recorded. Arguments that carry derivatives are variables already.
    """
    leaves = leaves_of(args)
    if numbers_in(leaves) or not any(map(is_of_library, leaves)):
        return f(*args)
    with opened(LibraryStack) as s:
        s.push = lambda record: None
        return lower(f(*map_leaves(lambda x: s.array_variable(x) if is_of_library(x) else x, args)), s)


def pull_back(
    f: Function, primals: Sequence[Nested], what: str, has_aux: bool = False
) -> tuple[Nested, Function, Nested]:
    """The value, the pullback, and aux."""
    recorded = Recorded(f, primals, what, engine_class(ARRAYS), has_aux)
    return recorded.value, recorded.pullback(), recorded.aux


def linear_map(
    f: Function, primals: Sequence[Nested], what: str, has_aux: bool = False
) -> tuple[Nested, Function, Nested]:
    """The value, the function of tangents, and aux: the pullback of the pullback."""
    z, pullback, aux = pull_back(f, primals, what, has_aux)
    # the pullback is linear, so any cotangent will do; a zero would mask partials that are not finite
    ones = map_leaves(lambda x: library_of(peek(x)).np.ones_like(peek(x)) if hasattr(x, "shape") else 1.0, z)
    _, push, _ = pull_back(pullback, (ones,), what)
    return z, lambda *tangents: push(tangents)[0], aux


def push_forward(
    f: Function, primals: Sequence[Nested], tangents: Sequence[Nested], what: str, has_aux: bool = False
) -> tuple[Nested, ...]:
    """The value and the tangent."""
    z, push, aux = linear_map(f, primals, what, has_aux)
    return (z, push(*tangents), aux) if has_aux else (z, push(*tangents))


def rows_of(f: Function, primals: Sequence[ArrayValue], what: str, has_aux: bool = False) -> tuple[Nested, Nested]:
    """(for each primal the Jacobian of f, which returns one array; aux), one row by one pull."""
    z, pullback, aux = pull_back(f, primals, what, has_aux)
    leaves = leaves_of(z)
    if len(leaves) != 1 or any(len(leaves_of(x)) != 1 for x in primals):
        raise UnsupportedError(f"{what}: on arrays of other libraries f takes arrays and returns one array")
    library = library_of(peek(z))
    n = library.np.size(z)
    units = library.np.reshape(library.np.eye(n), (n, *peek(z).shape))
    rows = [pullback(units[k, ...]) for k in range(n)]
    shape = tuple(peek(z).shape)
    matrices = [library.np.stack([row[k] for row in rows]) for k in range(len(primals))]
    return tuple(library.np.reshape(a, (*shape, *x.shape)) for a, x in zip(matrices, primals, strict=True)), aux


def of_arguments(compute: Function, f: Function, what: str, argnums: int | tuple[int, ...]) -> Function:
    """compute(function of the chosen arguments, these) as a function of all arguments."""
    numbers = positions(what, argnums)

    def call(*args: Nested, **kwargs: Options) -> Nested:
        args, kwargs = positional(f, what, numbers, args, kwargs)

        @functools.wraps(f, updated=())
        def call_with(*xs: Nested) -> Nested:
            given = [*args]
            for k, x in zip(numbers, xs, strict=True):
                given[k] = x
            return f(*given, **kwargs)

        return compute(call_with, [args[k] for k in numbers])

    return call


def jacobian_on(f: Function, what: str, argnums: int | tuple[int, ...], has_aux: bool) -> Function:
    """`jacobian` on arrays of other libraries."""

    def compute(chosen: Function, primals: Sequence[ArrayValue]) -> Nested:
        found, aux = rows_of(chosen, primals, what, has_aux)
        made = found[0] if isinstance(argnums, int) else found
        return (made, aux) if has_aux else made

    return of_arguments(compute, f, what, argnums)


def gradient_of_chosen(chosen: Function, what: str) -> Function:
    """The gradients of a function of arrays with respect to all of them, as a function to record."""

    def gradients(*xs: Nested) -> Nested:
        z, pullback, _ = pull_back(chosen, xs, what)
        library = library_of(peek(z))
        return pullback(library.np.ones_like(peek(z)))

    return gradients


def hessian_on(f: Function, what: str, argnums: int | tuple[int, ...]) -> Function:
    """`hessian` on arrays of other libraries: the rows of the Jacobian of the gradient."""

    def compute(chosen: Function, primals: Sequence[ArrayValue]) -> Nested:
        gradients = gradient_of_chosen(chosen, what)
        rows = [rows_of(lambda *xs, k=k: gradients(*xs)[k], primals, what)[0] for k in range(len(primals))]
        return rows[0][0] if isinstance(argnums, int) else tuple(rows)

    return of_arguments(compute, f, what, argnums)


def product_on(f: Function, what: str, argnums: int | tuple[int, ...], v: Nested) -> Function:
    """`hvp` on arrays of other libraries: the pullback of the gradient."""

    def compute(chosen: Function, primals: Sequence[ArrayValue]) -> Nested:
        vectors = (v,) if isinstance(argnums, int) else tuple(v)
        found = pull_back(gradient_of_chosen(chosen, what), primals, what)[1](vectors)
        return found[0] if isinstance(argnums, int) else found

    return of_arguments(compute, f, what, argnums)

