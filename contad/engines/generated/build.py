"""From a request to a compiled function: types, source, compilation."""

import re
from types import ModuleType
from typing import Any

from numba import types

from contad.compiled import cached_module
from contad.engines.generated.derivative import Derivative
from contad.engines.generated.entries import Object
from contad.engines.generated.frontend import read
from contad.engines.generated.ir import BOOL, Kind, Value
from contad.engines.generated.walks import leaves
from contad.errors import UnsupportedError

_NARROW = ("int32", "int16", "int8")
_BASES = {"float64": "float", "int64": "int", "bool": "bool"} | dict.fromkeys(_NARROW, "int")


def kind_of(t: Any, what: str) -> Any:
    """The kind of an argument of a Numba type: a kind, a tuple of kinds, or an Object."""
    if isinstance(t, types.Array) and 1 <= t.ndim <= 3 and str(t.dtype) in _BASES:
        return Kind(_BASES[str(t.dtype)], t.ndim, str(t.dtype) in _NARROW)
    if isinstance(t, types.BaseTuple) and not isinstance(t, types.BaseNamedTuple):
        return tuple(kind_of(part, what) for part in t.types)
    if isinstance(t, types.Literal):
        return kind_of(t.literal_type, what)
    if isinstance(t, (types.NoneType, types.Omitted)):
        return Object(None if isinstance(t, types.NoneType) else t.value)
    if isinstance(t, types.Dispatcher):
        return Object(t.dispatcher)
    if str(t) in _BASES:
        return Kind(_BASES[str(t)])
    raise UnsupportedError(
        f"{what}: an argument of type {t}; use float64, signed integers, booleans, and arrays of them with "
        'one to three dimensions, or engine="tape"'
    )


def derivative_of(request: Any) -> Derivative:
    """The derivative that a request asks for, as source that has not been written yet."""
    name = request.function.__name__
    code = request.function.__code__
    what = f"{code.co_filename}:{code.co_firstlineno}: {name}"
    if request.mode not in ("value_and_grad", "vjp"):
        raise UnsupportedError(f"{what}: forward mode is not generated; the tape has it")
    options = getattr(request.dispatcher, "targetoptions", {})
    kinds = tuple(kind_of(t, what) for t in request.types)
    program = read(request.function, kinds, checked_division=options.get("error_model", "python") == "python")
    returned = program.returned
    if request.has_aux and not (isinstance(returned, tuple) and len(returned) == 2):
        raise UnsupportedError(f"{what}: with has_aux=True it must return (value, aux)")
    value = returned[0] if request.has_aux else returned
    if request.mode == "value_and_grad" and (not isinstance(value, Value) or value.is_array or value.kind == BOOL):
        raise UnsupportedError(f"{what}: it must return one number to be differentiated, or (value, aux) with has_aux")
    for k in request.argnums:
        if not all(isinstance(v, Value) and v.kind.base == "float" for v in leaves(program.parameters[k])):
            raise UnsupportedError(f"{what}: argument {k} is not made of float64 and cannot be differentiated")
    return Derivative(program, request.argnums, request.has_aux, request.mode)


def build(request: Any) -> Any:
    """The compiled derivative: run(*args) -> (value, grads).

    Raises UnsupportedError where the function has something in it that is not generated.
    """
    derivative = derivative_of(request)
    options = options_of(request.dispatcher)
    stable = all(rule.__module__.startswith("contad.ops.") for rule in derivative.rules.values())
    written = ", ".join(f"{name}={value!r}" for name, value in (options | ({"cache": True} if stable else {})).items())
    text = derivative.source(written)
    constants = derivative.constants()
    if stable:
        name = re.sub(r"\W", "", request.function.__name__)
        contents = [f"{name} {array.dtype} {array.shape} {array.tobytes()!r}" for name, array in constants.items()]
        module = cached_module(f"generated_{name}", lambda: text, [text, *contents])
    else:
        module = ModuleType("contad._generated.generated")
        exec(compile(text, f"<derivative of {request.function.__name__}>", "exec"), vars(module))
    vars(module).update(constants)
    run = module.run
    if request.mode == "value_and_grad":
        run.compile(request.types)
    return run


def options_of(dispatcher: Any) -> dict[str, Any]:
    """How derivatives are compiled: divisions never raise, because those of the function are checked in the source."""
    own = getattr(dispatcher, "targetoptions", {})
    options = {"error_model": "numpy", "nogil": True, "fastmath": own.get("fastmath", False)}
    return options | ({"boundscheck": True} if own.get("boundscheck") else {})
