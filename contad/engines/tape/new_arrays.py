"""What creates arrays in a function under differentiation: float arrays become arrays of variables or duals."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.core.typing.npydecl import parse_dtype

from contad.engines.tape.arrays import is_active_array, zeros_of
from contad.engines.tape.conversions import float64
from contad.engines.tape.elementwise_loops import UFUNCS
from contad.engines.tape.operations import register
from contad.engines.tape.rebuild import Rebuilt
from contad.engines.tape.variables import Active
from contad.native.callables import NESTED, axes_of, given_types, text_of_array
from contad.native.loop_bodies import ARRAY_FUNCTIONS, ArrayFunction
from contad.native.machine_code import njit
from contad.native.overloads import add_overload
from contad.rules.compilable import Compilable, is_in_bodies


def _is_float(dtype: Any) -> bool:
    """Whether an argument dtype= asks for floats, as leaving it out does."""
    if dtype is None or isinstance(dtype, (types.NoneType, types.Omitted)):
        return True
    if isinstance(dtype, types.Function):
        return bool(dtype.typing_key is float)
    found = parse_dtype(dtype)
    if isinstance(found, types.Float) and found != types.float64:
        raise TypingError(f"an array of {found}, which rounds what is written into it")
    return isinstance(found, types.Float)


def _holds_floats(x: Any) -> bool:
    """Whether an array is of float64 or of active elements; float32 arrays stay as they are."""
    return isinstance(x, types.Array) and (x.dtype == types.float64 or isinstance(x.dtype, Active))


def _is_given(dtype: Any) -> bool:
    return dtype is not None and not isinstance(dtype, (types.NoneType, types.Omitted))


def _stub(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function that means `plain`, which Numba takes for another one."""

    def stub(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs)

    stub.__name__ = stub.__qualname__ = plain.__name__
    return stub


@functools.cache
def replacements(active: Active) -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function of NumPy that makes a float array, one that makes an array of active elements in njit."""
    zeros = zeros_of[active]
    made: dict[Callable[..., Any], Callable[..., Any]] = {
        np.zeros: _fill(np.zeros, zeros, 0.0),
        np.ones: _fill(np.ones, zeros, 1.0),
        np.empty: _fill(np.empty, zeros, 0.0),
        np.zeros_like: _fill_like(np.zeros_like, zeros, 0.0),
        np.ones_like: _fill_like(np.ones_like, zeros, 1.0),
        np.empty_like: _fill_like(np.empty_like, zeros, 0.0),
        np.full: _full(zeros),
        np.full_like: _full_like(zeros),
        np.copy: _copy(zeros),
        np.array: _array(zeros),
        np.asarray: _as_array(zeros),
        np.linspace: _convert(np.linspace, zeros),
        np.eye: _convert(np.eye, zeros),
        np.identity: _convert(np.identity, zeros),
    }
    replaced = Replaced(made | UFUNCS | {np.float64: float64}, zeros)
    replaced |= {f: _in_loops(found, replaced) for f, found in ARRAY_FUNCTIONS.items() if f not in _OWN}
    return replaced


class Replaced(dict[Any, Any]):
    """What takes the place of functions; that of the face of a formula is made when one is met."""

    def __init__(self, known: dict[Any, Any], zeros: Any) -> None:
        super().__init__(known)
        self.zeros = zeros

    def __contains__(self, function: object) -> bool:
        if is_in_bodies(function) and not super().__contains__(function):
            for rule in function.rules():
                register(rule)
            self[function] = _in_loops(function, self)
        return super().__contains__(function)


_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_OWN = (np.prod, np.var, np.std, np.sort, np.diag)  # that the tape computes itself


def _in_loops(function: ArrayFunction | Compilable, replaced: Replaced) -> Callable[..., Any]:
    """What takes the place of a function of whole arrays: the body that fits variables, or NumPy's own."""
    stub = _stub(function.numpy)
    parameters = list(function.signature.parameters)
    names, text = ", ".join(function.signature.parameters), str(function.signature)[1:-1]
    bodies: dict[Any, Any] = {}

    def choose(*args: Any) -> Any:
        """The body for arguments of these types."""
        is_face = is_in_bodies(function)
        active = any(map(holds_active if is_face else is_active, args))
        ndims = tuple(map(axes_of, given_types(args))) if is_face else _given_axes(function.signature, args)
        body = function.body(ndims) if active else function.numpy
        if body is None:
            return None
        if active:
            if body not in bodies:
                bodies[body] = _compile(body, replaced)
            body = bodies[body]
        module = {"body": body, "as_array": replaced.get(np.array)}
        passed = [text_of_array(kind, x) if active and is_face else x for kind, x in zip(args, parameters, strict=True)]
        exec(f"def implementation({text}):\n    return body({', '.join(passed[: len(ndims)])})\n", module)
        return module["implementation"]

    module = {"choose": choose}
    exec(f"def typing({text}):\n    return choose({names})\n", module)
    add_overload(stub)(module["typing"])
    return stub


def is_active(kind: Any) -> bool:
    """Whether a type is that of a variable or of an array of them."""
    return isinstance(kind, Active) or is_active_array(kind)


def holds_active(kind: Any) -> bool:
    """Whether a type is that of a variable, or of an array, a list or a tuple of them."""
    parts = [kind.dtype] if isinstance(kind, types.List) else list(kind) if isinstance(kind, NESTED) else []
    return is_active(kind) or any(map(holds_active, parts))


def _given_axes(signature: inspect.Signature, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The axes of the arguments up to the last that a call gives, as `LoopBody` has them."""
    given = [isinstance(x, types.Type) and not isinstance(x, (types.Omitted, types.NoneType)) for x in args]
    count = max((k + 1 for k, there in enumerate(given) if there), default=0)
    return tuple(
        axes_of(x) if there else None if isinstance(x, types.NoneType) or parameter.default is None else 0
        for x, there, parameter in zip(args[:count], given, signature.parameters.values(), strict=False)
    )


def _compile(body: Any, replaced: Replaced) -> Any:
    """A body, and those that it calls, making arrays of active elements."""
    return Rebuilt(njit(**_OPTIONS)(body), replaced).dispatcher


def _fill(plain: Any, zeros: Any, number: float) -> Callable[..., Any]:
    """What takes the place of np.zeros or np.ones."""
    stub = _stub(plain)

    def typing(shape: Any, dtype: Any = None) -> Any:
        """Numba's question: what makes the array for arguments of these types?"""
        if not _is_float(dtype):
            return lambda shape, dtype=None: plain(shape, dtype)
        if number == 0.0:
            return lambda shape, dtype=None: zeros(shape)

        def implementation(shape: Any, dtype: Any = None) -> Any:
            made = zeros(shape)
            made[...] = number
            return made

        return implementation

    add_overload(stub)(typing)
    return stub


def _fill_like(plain: Any, zeros: Any, number: float) -> Callable[..., Any]:
    """What takes the place of np.zeros_like or np.ones_like."""
    stub = _stub(plain)

    def typing(x: Any, dtype: Any = None) -> Any:
        """Numba's question: what makes the array for arguments of these types?"""
        floats = _holds_floats(x)
        if _is_given(dtype) and not _is_float(dtype):
            return lambda x, dtype=None: plain(x, dtype)
        if not _is_given(dtype) and not floats:
            return None if isinstance(x, Active) else lambda x, dtype=None: plain(x)
        if number == 0.0:
            return lambda x, dtype=None: zeros(x.shape)

        def implementation(x: Any, dtype: Any = None) -> Any:
            made = zeros(x.shape)
            made[...] = number
            return made

        return implementation

    add_overload(stub)(typing)
    return stub


def _full(zeros: Any) -> Callable[..., Any]:
    """What takes the place of np.full."""
    stub = _stub(np.full)

    def typing(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
        """Numba's question: what makes the array for arguments of these types?"""
        if _is_given(dtype):
            if not _is_float(dtype):
                return (
                    None
                    if isinstance(fill_value, Active)
                    else lambda shape, fill_value, dtype=None: np.full(shape, fill_value, dtype)
                )
        elif not (isinstance(fill_value, Active) or fill_value == types.float64):
            return lambda shape, fill_value, dtype=None: np.full(shape, fill_value)

        def implementation(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
            made = zeros(shape)
            made[...] = fill_value
            return made

        return implementation

    add_overload(stub)(typing)
    return stub


def _full_like(zeros: Any) -> Callable[..., Any]:
    """What takes the place of np.full_like."""
    stub = _stub(np.full_like)

    def typing(x: Any, fill_value: Any, dtype: Any = None) -> Any:
        """Numba's question: what makes the array for arguments of these types?"""
        floats = _holds_floats(x)
        if _is_given(dtype) or not floats:
            return (
                None
                if isinstance(fill_value, Active)
                else lambda x, fill_value, dtype=None: np.full_like(x, fill_value, dtype)
            )

        def implementation(x: Any, fill_value: Any, dtype: Any = None) -> Any:
            made = zeros(x.shape)
            made[...] = fill_value
            return made

        return implementation

    add_overload(stub)(typing)
    return stub


def _copy(zeros: Any) -> Callable[..., Any]:
    """What takes the place of np.copy."""
    stub = _stub(np.copy)

    def typing(a: Any) -> Any:
        """Numba's question: what makes the array for an argument of this type?"""
        if not _holds_floats(a):
            return lambda a: np.copy(a)

        def implementation(a: Any) -> Any:
            made = zeros(a.shape)
            made[...] = a
            return made

        def of_point(a: Any) -> Any:
            made = zeros(())
            made[()] = a[()]
            return made

        return implementation if a.ndim else of_point

    add_overload(stub)(typing)
    return stub


def _convert(plain: Any, zeros: Any) -> Callable[..., Any]:
    """A function of plain numbers whose result can take variables."""
    stub = _stub(plain)

    def typing(*args: Any) -> Any:
        def implementation(*args: Any) -> Any:
            found = plain(*args)
            made = zeros(found.shape)
            made[...] = found
            return made

        return None if any(isinstance(x, Active) for x in args) else implementation

    add_overload(stub)(typing)
    return stub


def _array(zeros: Any) -> Callable[..., Any]:
    """What takes the place of np.array."""
    stub = _stub(np.array)

    def typing(object: Any, dtype: Any = None) -> Any:
        """Numba's question: what makes the array for arguments of these types?"""
        element, depth = object, 0
        while isinstance(element, (types.List, types.BaseTuple)):
            items = [element.dtype] if isinstance(element, types.List) else list(element)
            if not items:
                return None
            element, depth = next((x for x in items if isinstance(x, Active)), items[0]), depth + 1
        if isinstance(element, types.Array) and depth == 0:
            if _holds_floats(element) and _is_float(dtype):
                return _from(zeros, "object.shape", ["made[...] = object"])
        elif (isinstance(element, Active) or element == types.float64) and _is_float(dtype) and depth <= 2:
            shape = ("()", "len(object)", "(len(object), len(object[0]))")[depth]
            return _from(zeros, shape, list(_assignments(object, "object", "")))
        if _is_given(dtype):
            return lambda object, dtype=None: np.array(object, dtype)
        return lambda object, dtype=None: np.array(object)

    add_overload(stub)(typing)
    return stub


def _as_array(zeros: Any) -> Callable[..., Any]:
    """What takes the place of np.asarray: a new array of a number, anything else as NumPy has it."""
    stub, make = _stub(np.asarray), _array(zeros)

    def typing(a: Any, dtype: Any = None) -> Any:
        """Numba's question: what makes the array for arguments of these types?"""
        if isinstance(a, Active) or a == types.float64:
            return lambda a, dtype=None: make(a, dtype)
        if _is_given(dtype):
            return lambda a, dtype=None: np.asarray(a, dtype)
        return lambda a, dtype=None: np.asarray(a)

    add_overload(stub)(typing)
    return stub


def _assignments(kind: Any, text: str, index: str) -> Iterator[str]:
    """Statements that write the elements of a (nested) list or tuple into `made`."""
    if isinstance(kind, types.List):
        k = f"k{index.count(',')}"
        yield f"for {k} in range(len({text})):"
        for line in _assignments(kind.dtype, f"{text}[{k}]", f"{index}{k},"):
            yield f"    {line}"
    elif isinstance(kind, types.BaseTuple):
        for n, item in enumerate(kind):
            yield from _assignments(item, f"{text}[{n}]", f"{index}{n},")
    else:
        yield f"made[{index or '()'}] = {text}"


def _from(zeros: Any, shape: str, lines: list[str]) -> Any:
    names: dict[str, Any] = {"zeros": zeros}
    body = "".join(f"    {line}\n" for line in [f"made = zeros({shape})", *lines, "return made"])
    exec(f"def implementation(object, dtype=None):\n{body}", names)
    return names["implementation"]
