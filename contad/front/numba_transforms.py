"""Transforms of Numba functions: their objects, and how compiled code finds the transforms.

The modules that import Numba are loaded with the first Numba function that is differentiated.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, TypeVar, get_args

import numpy as np

from contad.errors import UnsupportedError
from contad.functions.transformed import SEND, OfThisProcess
from contad.functions.user_call import form_of, memo_of, name_of, positions
from contad.numba_functions.request import Numerics
from contad.ops.close_values import LOST, was_lost
from contad.rules.compilable import MakesDerivatives
from contad.variables.arguments import fail
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import FLOAT, PRECISION, SINGLE
from contad.variables.layout import subclass_of_arrays
from contad.variables.number import is_real
from contad.variables.open_types import Function, Nested, NumbaFunction, NumbaType, Options
from contad.variables.stack import attempt
from contad.variables.trees import flatten, map_leaves, output_leaves, with_cotangents

if TYPE_CHECKING:
    from contad.front.derivative import Derivative

P = ParamSpec("P")
R = TypeVar("R")


class Transform(Generic[P, R], MakesDerivatives):
    """A transform that Numba functions can call, too: `contad.grad(f)(x)` inside njit.

    `made_for(f, **options)` gives the object that compiled code calls; without it, compiled code calls what the
    transform returns.
    """

    def __init__(self, function: Callable[P, R], made_for: Function | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.made_for = made_for

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return self.function(*args, **kwargs)
        except TypeError:
            if len(args) <= self.function.__code__.co_argcount:
                raise
        name = self.function.__name__
        raise TypeError(f"{name}: got {len(args)} positional arguments; the form is {form_of(name)}")

    def __get__(self, instance: object, owner: type | None = None) -> "Transform[P, R]":
        """Itself, also as an attribute of a class. This makes it a routine, so that `help` shows the help of its
        function."""
        return self

    def __repr__(self) -> str:
        return f"<contad.{self.function.__name__}>"

    def __reduce__(self) -> str:
        return self.function.__name__

    def derivative_for(self, f: NumbaFunction, options: list[Any], named: dict[str, Any]) -> tuple[Any, bool]:
        """The derivative of a Numba function for use in a function that is itself differentiated; see
        `contad.front.plan.write_out`."""
        if self.made_for is None:
            return self.function(f, *options, **named), False
        if hasattr(f, "form"):
            from contad.front.repeated import TangentOfGradient

            return TangentOfGradient(self, f), True
        several = named.get("several", options[2] if len(options) > 2 else False)
        return self.made_for(f, True) if several else self.made_for(f), True

    @functools.cached_property
    def _numba_type_(self) -> NumbaType:
        """Numba asks for this type if compiled code names the transform."""
        from contad.front.typing import type_of

        return type_of(self)


class LookedAt(Protocol):
    """A function that a transform was given: see `UserFunction`."""

    dispatcher: NumbaFunction
    name: str

    @property
    def memo(self) -> dict[Hashable, Any]:
        """Everything made from the function."""


def gradient_of(
    f: LookedAt, transform: Transform, options: Options, eager: Callable[[], Function]
) -> "Derivative":
    """A new object for transform(f, **options) of a Numba function; `eager()` takes calls that no compiled engine
    takes."""
    from contad.front.derivative import Derivative
    from contad.front.form import Form

    kind: Any = transform.function.__name__
    argnums, has_aux, engine = options["argnums"], options["has_aux"], options["engine"]
    form = Form(kind, positions(kind, argnums), isinstance(argnums, int), has_aux)
    form = form._replace(numerics=options["numerics"], checkpoint=options["checkpoint"], out=options["out"])
    form = form._replace(**_precision())
    return Derivative(f.dispatcher, form, engine, eager, f.memo, (transform, options))


def _precision() -> dict[str, Any]:
    """The fields of a form that follow `contad.settings`."""
    return {"keep_dtype": PRECISION.keeps, "wide_sums": PRECISION.keeps and PRECISION.accumulate == FLOAT}


def require_numerics(what: str, numerics: str) -> None:
    """Refuse anything but the name of a set of elementary functions."""
    if numerics not in get_args(Numerics):
        fail(what, "numerics", 'be "auto", "libm" or "simd"', repr(numerics))


def require_flag(what: str, checkpoint: bool, name: str = "checkpoint") -> None:
    """Refuse an option value that is not a bool: for checkpointed loops, or gradients written into arrays."""
    if not isinstance(checkpoint, bool):
        fail(what, name, "be True or False", repr(checkpoint))


def higher_of(
    f: LookedAt, kind: Any, eager: Callable[[], Function], made_by: tuple[Function, Options], vector: int = -1,
    size: int = 0,
) -> "Derivative":  # fmt: skip
    """The compiled matrix of derivatives of a Numba function, or product; `eager()` takes calls that no engine
    takes."""
    from contad.front.derivative import Derivative
    from contad.front.form import Form

    options = made_by[1]
    argnums, engine = options.get("argnums", 0), options.get("engine")
    has_aux = options.get("has_aux", False)
    form = Form(kind, positions(kind, argnums), isinstance(argnums, int), has_aux, vector, size=size)
    form = form._replace(numerics=options.get("numerics", "auto"), checkpoint=options.get("checkpoint", False))
    form = form._replace(holomorphic=options.get("holomorphic", False))
    key = form, engine
    if key not in f.memo:
        f.memo[key] = Derivative(f.dispatcher, form, engine, eager, f.memo, made_by)
    made: Derivative = f.memo[key]
    return made


def pair_of(
    f: NumbaFunction, kind: Literal["value_and_grad", "vjp", "jvp", "jvps"], eager: Function, engine: str | None = None,
    argnums: tuple[int, ...] = (),
) -> "Derivative":  # fmt: skip
    """The compiled vjp(primals, z_bar) or jvp(primals, tangents) of a Numba function, or value_and_grad(*args).

    Without argnums all arguments are differentiated. `eager(twin, primals, along)` answers calls that no compiled
    engine takes, with the Python copy of f.
    """
    memo = memo_of(f)
    precision = _precision()
    key = kind, engine, argnums, *precision.values()
    if key not in memo:
        from contad.front.checked_twin import checked_twin
        from contad.front.derivative import Derivative
        from contad.front.form import Form

        form = Form(kind, argnums, **precision)
        memo[key] = Derivative(f, form, engine, lambda: functools.partial(eager, checked_twin(f)), memo)
    return memo[key]


def call_compiled_vjp(
    f: LookedAt, primals: tuple[Nested, ...], what: str, pair: "Derivative"
) -> tuple[Nested, Function] | None:
    """The value of a Numba function and its pullback by its compiled vjp; None if only the eager engine takes it."""
    try:
        with attempt():
            own = tuple(map(_own_parts, primals))
    except UnsupportedError:
        return None
    from numba import TypingError

    pair.frozen.check()
    try:
        result = flatten(f.dispatcher(*map(_own_parts, own)))
    except TypingError as error:
        require_no_counts(primals, what, "contad.vjp(lambda x: f(x, n), x)", error)
        raise
    leaves = output_leaves(result, what)

    def pullback(cotangent: Nested) -> tuple[Nested, ...]:
        z_bar = result.unflatten([x for _, x in with_cotangents(what, result, leaves, cotangent)])
        found = pair(own, z_bar)
        return pair.find_lost_cotangents(found, own, z_bar) if LOST and was_lost() else found

    made = OfThisProcess(pullback, f"pullback of {f.name}", SEND)
    return result.unflatten([leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]), made


def require_no_counts(primals: Sequence[Nested], what: str, remedy: str, error: Exception) -> None:
    """UnsupportedError if an error of a Numba function may result from integers that became floats."""
    integers = [k for k, x in enumerate(primals) if isinstance(x, int) or getattr(x, "dtype", FLOAT).kind in "iu"]
    if integers:
        raise UnsupportedError(
            f"{what}: every argument is differentiated, as float64, which Numba refuses for the integers of argument "
            f"{integers[0]}; capture what is constant in a plain function, as {remedy}"
        ) from error


def _own_parts(x: Nested) -> Nested:
    """Numbers as floats, arrays as copies in float64, tuples of these; UnsupportedError for anything else.

    float32 is kept if the settings say so.
    """
    return map_leaves(_own, x, is_leaf=lambda part: not isinstance(part, tuple))


def _own(x: Nested) -> Nested:
    if PRECISION.keeps and getattr(x, "dtype", None) == SINGLE and not subclass_of_arrays(x):
        return x.copy()
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiu" and not subclass_of_arrays(x):
        return x.astype(np.float64)
    if is_real(x) and not isinstance(x, (bool, np.bool_, np.ndarray)):
        return float(x)
    if is_complex(x) and not subclass_of_arrays(x):
        return x.astype(np.complex128) if isinstance(x, np.ndarray) else complex(x)
    raise UnsupportedError("only numbers, arrays and tuples of them are taken by compiled code")


def along(jvp: Function, argnum: int, f: Function, args: Sequence[Nested], tangents: Nested) -> tuple[Nested, Nested]:
    """The jvp of f along one of its arguments."""

    def of_one(x: Nested) -> Nested:
        return f(*args[:argnum], x, *args[argnum + 1 :])

    of_one.__name__ = name_of(f)
    return jvp(of_one, (args[argnum],), tangents)
