"""Functions that create arrays in a differentiated function: float arrays become arrays of variables or duals."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import types

from contad.compile.machine_code import njit
from contad.compile.overloads import stand_in
from contad.compile.typing_rules import parse_dtype
from contad.compiled_rules.callables import NESTED, axes_of, given_types, text_of_array
from contad.engines.tape.arrays import is_active_array, zeros_of
from contad.engines.tape.conversions import FLOAT_CONVERSIONS
from contad.engines.tape.elementwise_loops import UFUNCS
from contad.engines.tape.operations import register
from contad.engines.tape.pairs_of_variables import is_complex, join
from contad.engines.tape.rebuild import Rebuilt
from contad.engines.tape.variables import COMPLEX_OF, Active, ActivePair
from contad.rules.compilable import ARRAY_FUNCTIONS, ArrayFunction, Compilable, is_in_bodies


def _find_dtype(dtype: Any) -> Any:
    """The type of elements that an argument dtype= asks for."""
    if isinstance(dtype, types.Function):
        return {float: types.float64, complex: types.complex128}.get(dtype.typing_key)
    return parse_dtype(dtype)


def _is_given(dtype: Any) -> bool:
    return dtype is not None and not isinstance(dtype, (types.NoneType, types.Omitted))


@functools.cache
def replacements(active: Active) -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function of NumPy that makes a float array, one that makes an array of active elements in njit."""
    rooms = Rooms(active)
    makers = {np.zeros: "0.0", np.ones: "1.0", np.empty: "0.0", np.zeros_like: "0.0", np.ones_like: "1.0",
              np.empty_like: "0.0", np.full: "fill_value", np.full_like: "fill_value"}  # fmt: skip
    made = {plain: _fill(plain, rooms, number) for plain, number in makers.items()}
    made |= {plain: _convert(plain, zeros_of[active]) for plain in (np.linspace, np.eye, np.identity)}
    made |= {np.copy: _copy(rooms), np.array: _array(rooms), np.asarray: _as_array(rooms)}
    replaced = Replaced(made | UFUNCS | FLOAT_CONVERSIONS)
    replaced |= {f: _in_loops(found, replaced) for f, found in ARRAY_FUNCTIONS.items() if f not in _OWN}
    return replaced


class Rooms(NamedTuple):
    """The functions that make room for elements which carry derivatives."""

    active: Active

    def of(self, *kinds: Any) -> Any:
        """The one for elements of these types; None if they carry none, as integers. Variables have all digits."""
        active = dict.fromkeys((types.float32, types.float64), self.active)
        active |= dict.fromkeys((types.complex64, types.complex128), COMPLEX_OF[self.active])
        found = [active.get(kind, kind) for kind in kinds]
        if not found or not all(isinstance(x, (Active, ActivePair)) for x in found):
            return None
        return zeros_of[next((x for x in found if isinstance(x, ActivePair)), found[0])]

    def of_array(self, x: Any) -> Any:
        """The one for the elements of an array."""
        return self.of(x.dtype) if isinstance(x, types.Array) else None


class Replaced(dict[Any, Any]):
    """The replacements of functions; those of the faces of formulas are made on demand."""

    def __contains__(self, function: object) -> bool:
        if is_in_bodies(function) and not super().__contains__(function):
            for rule in function.rules():
                register(rule)
            self[function] = _in_loops(function, self)
        return super().__contains__(function)


_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_BY_PARTS = (np.cumsum, np.diff, np.ediff1d, np.trace, np.diag, np.repeat)  # functions linear in their first argument
_OWN = (np.prod, np.var, np.std, np.sort, np.diag)  # the tape computes these itself


def _in_loops(function: ArrayFunction | Compilable, replaced: Replaced) -> Callable[..., Any]:
    """The replacement of a function of whole arrays: the body that suits variables, or NumPy's own."""
    parameters = list(function.signature.parameters)
    is_face = is_in_bodies(function)
    bodies: dict[Any, Any] = {}

    def write(*args: Any) -> Any:
        """The call of the body for arguments of these types."""
        if any(isinstance(x, types.UnicodeType) for x in args):
            return None  # Numba asks again with the literal string
        if function.numpy in _BY_PARTS and isinstance(getattr(args[0], "dtype", None), ActivePair):
            first, *rest = parameters
            calls = (f"again({', '.join([f'{first}.{part}', *rest])})" for part in ("real", "imag"))
            return [f"return join({', '.join(calls)})"], {"again": made, "join": join}
        active = any(map(holds_active if is_face else is_active, args)) and not any(map(is_complex, args))
        ndims = tuple(map(axes_of, given_types(args))) if is_face else _given_axes(function.signature, args)
        body = function.body(ndims) if active else function.numpy
        if body is None:
            return None
        if active:
            if body not in bodies:
                bodies[body] = _compile(body, replaced)
            body = bodies[body]
        passed = [text_of_array(kind, x) if active and is_face else x for kind, x in zip(args, parameters, strict=True)]
        known = {"body": body, "as_array": replaced.get(np.array)}
        return [f"return body({', '.join(passed[: len(ndims)])})"], known

    made: Callable[..., Any] = stand_in(function.numpy, str(function.signature)[1:-1], write)
    return made


def is_active(kind: Any) -> bool:
    """Whether a type is that of a variable or of an array of them."""
    return isinstance(kind, Active) or is_active_array(kind)


def holds_active(kind: Any) -> bool:
    """Whether a type is that of a variable, or of an array, a list or a tuple of them."""
    parts = [kind.dtype] if isinstance(kind, types.List) else list(kind) if isinstance(kind, NESTED) else []
    return is_active(kind) or any(map(holds_active, parts))


def _given_axes(signature: inspect.Signature, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The axes of the arguments up to the last that a call gives, in the form of `LoopBody`."""
    given = [isinstance(x, types.Type) and not isinstance(x, (types.Omitted, types.NoneType)) for x in args]
    count = max((k + 1 for k, there in enumerate(given) if there), default=0)
    return tuple(
        axes_of(x) if there else None if isinstance(x, types.NoneType) or parameter.default is None else 0
        for x, there, parameter in zip(args[:count], given, signature.parameters.values(), strict=False)
    )


def _compile(body: Any, replaced: Replaced) -> Any:
    """Compile a body and those that it calls, so that they create arrays of active elements."""
    return Rebuilt(njit(**_OPTIONS)(body), replaced).dispatcher


def _fill(plain: Any, rooms: Rooms, number: str) -> Callable[..., Any]:
    """The replacement of np.zeros and the like: for a shape or an array, filled with a number or an argument."""
    is_like, is_full = plain.__name__.endswith("_like"), number == "fill_value"
    first, shape = ("x", "x.shape") if is_like else ("shape", "shape")
    given = f"{first}, {number}" if is_full else first
    fill = [] if number == "0.0" else [f"made[...] = {number}"]

    def write(x: Any, *others: Any) -> Any:
        """The body for arguments of these types."""
        *filled, dtype = others
        if _is_given(dtype):
            zeros = rooms.of(_find_dtype(dtype))
        elif is_like:
            zeros = rooms.of_array(x)
        else:
            zeros = rooms.of(*(filled or [types.float64]))
        if zeros is not None:
            return [f"made = zeros({shape})", *fill, "return made"], {"zeros": zeros}
        if any(isinstance(kind, (Active, ActivePair)) for kind in (x, *filled)):
            return None
        return [f"return plain({given}{', dtype' * _is_given(dtype)})"], {"plain": plain}

    return stand_in(plain, f"{given}, dtype=None", write)


def _copy(rooms: Rooms) -> Callable[..., Any]:
    """The replacement of np.copy."""

    def write(a: Any) -> Any:
        zeros = rooms.of_array(a)
        if zeros is None:
            return ["return np.copy(a)"], {"np": np}
        return ["made = zeros(a.shape)", f"made[{'...' if a.ndim else '()'}] = a{'' if a.ndim else '[()]'}",
                "return made"], {"zeros": zeros}  # fmt: skip

    return stand_in(np.copy, "a", write)


def _convert(plain: Any, zeros: Any) -> Callable[..., Any]:
    """A function of plain numbers whose result accepts variables."""

    def write(args: Any) -> Any:
        if any(isinstance(x, Active) for x in args):
            return None
        return ["found = plain(*args)", "made = zeros(found.shape)", "made[...] = found", "return made"], {
            "plain": plain, "zeros": zeros,
        }  # fmt: skip

    return stand_in(plain, "*args", write)


def _array(rooms: Rooms) -> Callable[..., Any]:
    """The replacement of np.array."""

    def write(object: Any, dtype: Any) -> Any:
        """The body for arguments of these types."""
        element, depth = object, 0
        while isinstance(element, (types.List, types.BaseTuple)):
            items = [element.dtype] if isinstance(element, types.List) else list(element)
            if not items:
                return None
            first = (x for kind in (ActivePair, types.Complex, Active) for x in items if isinstance(x, kind))
            element, depth = next(first, items[0]), depth + 1
        shape, asked = "", [_find_dtype(dtype)] if _is_given(dtype) else []
        zeros = rooms.of_array(element) if isinstance(element, types.Array) else rooms.of(element, *asked)
        if asked and (rooms.of(*asked) is None or (is_complex(element) and not is_complex(asked[0]))):
            zeros = None
        if zeros is None:
            pass
        elif isinstance(element, types.Array) and depth == 0:
            shape, lines = "object.shape", ["made[...] = object"]
        elif not isinstance(element, types.Array) and depth <= 2:
            shape = ("()", "len(object)", "(len(object), len(object[0]))")[depth]
            lines = list(_assignments(object, "object", ""))
        if shape:
            return [f"made = zeros({shape})", *lines, "return made"], {"zeros": zeros}
        return [f"return np.array(object{', dtype' * _is_given(dtype)})"], {"np": np}

    return stand_in(np.array, "object, dtype=None", write)


def _as_array(rooms: Rooms) -> Callable[..., Any]:
    """The replacement of np.asarray: a new array for a number, anything else as in NumPy."""
    make = _array(rooms)

    def write(a: Any, dtype: Any) -> Any:
        if rooms.of(a) is not None:
            return ["return make(a, dtype)"], {"make": make}
        return [f"return np.asarray(a{', dtype' * _is_given(dtype)})"], {"np": np}

    return stand_in(np.asarray, "a, dtype=None", write)


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
