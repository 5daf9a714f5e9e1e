"""The common part of the mirrors of SciPy's modules: calls of SciPy's function for plain numbers, and checks of
arguments."""

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any, NoReturn

import numpy as np

from contad.compile.dispatchers import watch_first_calls
from contad.distributions.ways_by_axes import Demands, InExpressions, Pattern
from contad.errors import UnsupportedError
from contad.ops._scipy import linalg
from contad.ops.cotangents import all_finite
from contad.ops.products import as_array
from contad.scipy import matrix_bodies
from contad.variables.arguments import fail
from contad.variables.array import Array, numbers_in
from contad.variables.creation import array
from contad.variables.open_types import ArrayValue, Function, Nested, NumbaFunction, Option, Value

NO_WAYS: dict[str, Any] = {}


def mirror(implementation: Function) -> Any:
    """`scipy.linalg`'s function of that name if no argument holds a variable; Numba functions may call some of them."""
    return mirror_of(linalg)(implementation)


def mirror_of(module: Callable[[], Any]) -> Callable[[Function], Any]:
    """The function of that name in a SciPy module, if no argument holds a variable."""
    return lambda implementation: _call_scipy(module, implementation)


def refuse_plain_functions(solver: NumbaFunction, argument: str, instead: str) -> None:
    """Make a Numba function that takes Numba functions refuse a Python function as first argument, with advice."""

    def see(*args: Any, **named: Any) -> None:
        f = named.get(argument, args[0] if args else None)
        if isinstance(f, (FunctionType, MethodType, functools.partial)):
            fail(solver.__name__, argument, f"be an @njit function ({instead})", "a Python function", TypeError)

    watch_first_calls(solver, see)


def refuse_missing(mirror: str, module: Callable[[], ModuleType], name: str) -> NoReturn:
    """Raise AttributeError for a name that the mirror of a SciPy module lacks, even if SciPy has it."""
    if name.startswith("_") or not hasattr(module(), name):
        raise AttributeError(f"module '{mirror}' has no attribute {name!r}")
    raise AttributeError(
        f"{mirror} has no {name}, because it has no derivative here; "
        f"{mirror.removeprefix('contad.')}.{name} takes constants"
    )


def inside_njit(
    ways: Mapping[Pattern, str], names: str = "", inside: Demands = (), **known: Any
) -> Callable[[Any], Any]:
    """Let Numba functions also call a mirror, by expressions: see `contad.distributions.ways_by_axes`.

    Names in the expressions come from `known` or from `contad.scipy.matrix_bodies`.
    """
    return lambda found: Mirror(found.function, found.implementation, ways, names, inside, known)


def _call_scipy(module: Callable[[], Any], implementation: Function) -> Any:
    name = implementation.__name__

    @functools.wraps(implementation)
    def call(*args: Value, **options: Option) -> Value:
        for x in args:
            if isinstance(x, Array):
                break
        else:
            if not any(map(numbers_in, args)) and not any(map(numbers_in, options.values())):
                return getattr(module(), name)(*args, **options)
        return implementation(*args, **options)

    return Mirror(call, implementation)


class Mirror(InExpressions):
    """A function with a SciPy name, and its implementation for arrays of variables."""

    def __init__(
        self, function: Function, implementation: Function, ways: Mapping[Pattern, str] = NO_WAYS, names: str = "",
        inside: Demands = (), known: Mapping[str, Any] = NO_WAYS,
    ) -> None:  # fmt: skip
        super().__init__(function, ways, {**vars(matrix_bodies), **known}, names, inside)
        self.implementation = implementation

    def __call__(self, *args: Value, **options: Option) -> Any:
        for x in args:
            if isinstance(x, Array):
                return self.implementation(*args, **options)
        return self.function(*args, **options)


def as_one(x: Nested) -> ArrayValue:
    """An argument as one array; a list may hold array variables and numbers."""
    return array(x) if isinstance(x, (list, tuple)) and numbers_in(x) else as_array(x)


def matrices(name: str, check_finite: Option, *arrays: ArrayValue) -> list[ArrayValue]:
    """The arguments as arrays, checked to be finite unless the caller turns that off."""
    found = [x if isinstance(x, (np.ndarray, Array)) else as_one(x) for x in arrays]
    if check_finite:
        for x in found:
            if not all_finite(x):
                raise ValueError(f"contad.scipy.linalg.{name}: array must not contain infs or NaNs")
    return found


def check_one(name: str, *arrays: ArrayValue) -> None:
    """Refuse stacks of matrices, which SciPy accepts since 1.16, for functions with a derivative only for one
    matrix."""
    for x in arrays:
        if len(getattr(x, "shape", ())) > 2:
            raise UnsupportedError(
                f"contad.scipy.linalg.{name}: on variables it takes one matrix, got shape {x.shape}; use np.stack of "
                "the results for each matrix"
            )


VECTORS = "1|2"  # one vector or a matrix of columns; more axes mean a stack of matrices


def over_stacks(**axes: int | str) -> Any:
    """Accept stacks, as SciPy does since 1.16, for a function with a rule for one matrix: one call for each.

    `axes` are the numbers of axes of one matrix or vector, for each argument that may be a stack; stacks broadcast.
    """

    def decorate(implementation: Function) -> Any:
        form = inspect.signature(implementation)
        single = {name: 2 if n == VECTORS else int(n) for name, n in axes.items()}
        places = [(name, list(form.parameters).index(name), n) for name, n in single.items()]

        @functools.wraps(implementation)
        def call(*args: Value, **options: Option) -> Value:
            for name, k, n in places:
                if not _has_axes(args[k] if k < len(args) else options.get(name, _ABSENT), n):
                    break
            else:
                return implementation(*args, **options)
            bound = form.bind(*args, **options)
            given = {name: as_one(x) for name in axes if (x := bound.arguments.get(name)) is not None}
            cores = {name: _core(np.shape(x), axes[name]) for name, x in given.items()}
            stacks = [np.shape(x)[: np.ndim(x) - len(cores[name])] for name, x in given.items()]
            if not any(stacks):
                return implementation(*args, **options)
            stack = np.broadcast_shapes(*stacks)
            if 0 in stack:
                name = f"contad.scipy.linalg.{implementation.__name__.removeprefix('_')}"
                raise UnsupportedError(f"{name}: on variables a stack must not be empty, got stacks of shape {stack}")
            rows = {
                name: np.reshape(np.broadcast_to(x, (*stack, *cores[name])), (-1, *cores[name]))
                for name, x in given.items()
            }
            found = []
            for k in range(math.prod(stack)):
                bound.arguments.update({name: x[k] for name, x in rows.items()})
                found.append(implementation(*bound.args, **bound.kwargs))
            if not isinstance(found[0], tuple):
                return _join(stack, found)
            return tuple(_join(stack, parts) for parts in zip(*found, strict=True))

        return call

    return decorate


_ABSENT = np.empty(0)  # stands for a missing argument


def _has_axes(x: Value, n: int) -> bool:
    """Whether x is an array of at most n axes."""
    return isinstance(x, (np.ndarray, Array)) and len(x.shape) <= n


def _core(shape: tuple[int, ...], axes: int | str) -> tuple[int, ...]:
    """The shape of one element of a stack."""
    return shape[-2:] if axes == VECTORS else shape[max(len(shape) - int(axes), 0) :]


def _join(stack: tuple[int, ...], parts: Sequence[ArrayValue]) -> ArrayValue:
    return np.reshape(np.stack(parts), (*stack, *np.shape(parts[0])))


def refuse_options(name: str, **options: Option) -> None:
    """Refuse options that only SciPy's own function supports, if they are given."""
    for key, value in options.items():
        if value is not None and value is not False:
            raise UnsupportedError(f"contad.scipy.linalg.{name}: {key}= is not supported on variables")
