"""Turns a request into a compiled derivative: infers types, writes the source, has Numba compile it."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from numba import types

from contad.compile.compiling import load_cached, write_options
from contad.compile.dispatchers import is_dispatcher
from contad.compiled_rules.user_rules import DERIVE
from contad.elementary.elementary_table import has_fast_registers
from contad.engines.source.ir.entries import SMALL, ArrayOfComplex, Complex, Object, OpaqueKind, Point
from contad.engines.source.ir.known_functions import ROUNDED, WIDENED
from contad.engines.source.ir.printing import INSIDE, options_of
from contad.engines.source.ir.ssa import (
    BOOL,
    FLOAT,
    INT,
    MOST_AXES,
    SINGLE,
    Apply,
    Call,
    Handed,
    Kind,
    Operation,
    SourceFunction,
    Value,
)
from contad.engines.source.ir.walks import leaves, walk
from contad.engines.source.planning.segments import mark_loops
from contad.engines.source.reading.frontend import read
from contad.engines.source.reading.numba_typing import BASES, NARROW
from contad.engines.source.tangents.branch_nodes import BranchNodes
from contad.engines.source.tangents.dependency_writer import DependencyWriter, add_nodes
from contad.engines.source.tangents.tangent_writer import add_tangents, add_tangents_of_floats
from contad.engines.source.writing.derivative_text import DerivativeWriter
from contad.errors import UnsupportedError
from contad.functions.python_copy import flags_of
from contad.numba_functions.asked_derivatives import DERIVE as CALLED
from contad.numba_functions.fingerprint import fingerprint
from contad.numba_functions.request import Mode, Request

# Numba's own expressions may read arguments of these types, as long as no derivative passes there
_READABLE = (
    types.Array, types.Number, types.UnicodeType, types.BaseNamedTuple, types.List, types.ListType, types.DictType,
    types.Record, types.ClassInstanceType,
)  # fmt: skip
_NUMBERS = {FLOAT: types.float64, INT: types.int64, BOOL: types.boolean}
_BASES = BASES | dict.fromkeys(NARROW, "int")


def kind_of(t: Any, what: str) -> Any:
    """The kind of an argument of a Numba type: a kind, a tuple of kinds, or an Object."""
    if isinstance(t, types.Array) and 1 <= t.ndim <= MOST_AXES and str(t.dtype) in _BASES:
        return Kind(_BASES[str(t.dtype)], t.ndim, str(t.dtype) in NARROW, order=t.layout)
    if isinstance(t, types.Array) and 1 <= t.ndim <= MOST_AXES and str(t.dtype) in SMALL:
        small = SMALL[str(t.dtype)]
        is_single = small == "single"
        return Kind("float" if is_single else "int", t.ndim, not is_single, small, order=t.layout)
    if isinstance(t, types.Array) and not t.ndim:
        held = kind_of(t.copy(ndim=1), what)
        return Point(held) if isinstance(held, Kind) else OpaqueKind(t)
    if isinstance(t, types.Array) and t.dtype == types.complex128:
        part = kind_of(t.copy(dtype=types.float64, layout="A"), what)
        return ArrayOfComplex(part, part)
    if t == types.complex128:
        return Complex(FLOAT, FLOAT)
    if isinstance(t, types.BaseTuple):
        parts = [kind_of(part, what) for part in t.types]
        return t.instance_class._make(parts) if isinstance(t, types.BaseNamedTuple) else tuple(parts)
    if isinstance(t, types.Literal):
        return kind_of(t.literal_type, what)
    if isinstance(t, (types.NoneType, types.Omitted)):
        return Object(None if isinstance(t, types.NoneType) else t.value)
    if isinstance(t, types.Dispatcher):
        return Object(t.dispatcher)
    if t == types.float32:
        return SINGLE
    if str(t) in _BASES:
        return Kind(_BASES[str(t)])
    if isinstance(t, _READABLE):
        return OpaqueKind(t)
    raise UnsupportedError(
        f"{what}: an argument of type {t}; use float64, int64, booleans, and arrays of them with "
        'one to five dimensions, or engine="tape"'
    )


def _place_of(function: Any) -> str:
    """File, line and name of a function, with which messages begin."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}: {function.__name__}"


def infer_result(request: Any) -> Any:
    """The type of the result, if it consists of numbers; None for other results, or where the engine refuses.

    Asking Numba for this type would compile the function and all its callees.
    """
    try:
        what = _place_of(request.function)
        kinds = tuple(kind_of(t, what) for t in request.types)
        function = read(request.function, kinds, flags_of(request.dispatcher), request.dispatcher)
    except Exception:  # of any class: `build` reports it
        return None
    hidden = function.returns_small or any(map(_hides_types, walk(function.block)))
    return None if hidden else _type_of_numbers(function.returned)


def _hides_types(operation: Operation) -> bool:
    """Whether Numba may compute a result with fewer bits than the operation declares, or in a way only Numba knows."""
    if isinstance(operation, Apply):
        return operation.function in (*WIDENED.values(), ROUNDED)
    return isinstance(operation, (Handed, Call))


def _type_of_numbers(returned: Any) -> Any:
    if isinstance(returned, Complex):
        return types.complex128 if all(isinstance(x, Value) and not x.is_array for x in returned) else None
    if type(returned) is tuple:
        parts = [_type_of_numbers(part) for part in returned]
        return types.Tuple(parts) if parts and all(parts) else None
    return _NUMBERS.get(returned.kind) if isinstance(returned, Value) else None


def derivative_of(request: Any, nested: bool = False) -> DerivativeWriter:
    """The writer of the derivative that a request asks for; it has not written the source yet.

    If `nested`, another derivative calls this one.
    """
    what = _place_of(request.function)
    kinds = tuple(kind_of(t, what) for t in request.types)
    transform: Any = None
    if request.mode in ("jvp", "hvp"):
        transform = functools.partial(_with_tangents, request=request, what=what)
    elif request.mode in ("dependencies", "all_dependencies"):
        transform = functools.partial(_with_nodes, request=request, what=what)
    flags = flags_of(request.dispatcher)
    argnums = tuple(dict.fromkeys(k for numbers in (request.argnums, *request.along) for k in numbers))
    change = functools.partial(_with_marks, transform) if request.checkpoint else transform
    at_ties = request.mode == "hvp"
    function = read(
        request.function, kinds, flags, request.dispatcher, argnums, change, at_ties=at_ties,
        wide_sums=request.wide_sums,
    )  # fmt: skip
    if transform is None:
        _require_differentiable(function, request, what)
    return DerivativeWriter(
        function, request.argnums, request.has_aux, request.mode, lanes=request.lanes, nested=nested,
        numerics=request.numerics if has_fast_registers() else "libm", memory=request.memory,
        out=bool(request.outs), optional_value=request.optional_value, in_parts=request.parts,
    )  # fmt: skip


def _with_marks(transform: Any, function: SourceFunction) -> None:
    """Mark loops as checkpointed, before any other transformation of the function."""
    mark_loops(function)
    if transform is not None:
        transform(function)


def _with_tangents(function: SourceFunction, request: Any, what: str) -> None:
    """Add tangents, once for each order: forward mode and products with higher derivatives need them."""
    _require_differentiable(function, request, what)
    value = tangent = function.returned
    if request.has_aux:
        function.returned = function.returned[0]
    is_reversed, along = request.mode == "hvp", request.along or (request.argnums,)
    in_lanes = request.lanes > 1
    for argnums in along:
        add_tangents(function, argnums, is_reversed, is_reversed or in_lanes or len(along) > 1, in_lanes)
        tangent = function.returned = function.returned[0]
    function.returned = tangent, value


def _with_nodes(function: SourceFunction, request: Any, what: str) -> None:
    """Add the nodes that describe which numbers depend on which."""
    _require_differentiable(function, request, what)
    add_nodes(function, request.argnums, DependencyWriter if request.mode == "dependencies" else BranchNodes)


def _require_differentiable(function: SourceFunction, request: Any, what: str) -> None:
    """Raise UnsupportedError unless the result and the arguments can be differentiated in this mode."""
    returned = function.returned
    is_pair = isinstance(returned, tuple) and len(returned) == 2 and not isinstance(returned, Complex)
    if request.has_aux and not is_pair:
        raise UnsupportedError(f"{what}: with has_aux=True it must return (value, aux); return both")
    value = returned[0] if request.has_aux else returned
    if isinstance(value, Complex) and request.mode in ("value_and_grad", "hvp"):
        raise UnsupportedError(
            f"{what}: it returns a complex number; return a real one, such as np.abs(z) or z.real, "
            "or ask for contad.vjp"
        )
    is_number = isinstance(value, Value) and not value.is_array and value.kind != BOOL
    is_number = is_number or (isinstance(value, Point) and value.array.kind.base == "float")
    if request.mode in ("value_and_grad", "hvp") and not is_number:
        raise UnsupportedError(
            f"{what}: it must return one number to be differentiated, or (value, aux) with has_aux; "
            "return one, or ask for contad.jacobian"
        )
    for k in request.argnums:
        given = [v for v in leaves(function.parameters[k]) if not (isinstance(v, Object) and v.value is None)]
        if not all(isinstance(v, Value) and v.kind.base == "float" for v in given):
            raise UnsupportedError(
                f"{what}: argument {k} is not made of floats and cannot be differentiated; "
                "leave it out of argnums, or convert it"
            )


def build(request: Any) -> Any:
    """The compiled derivative: run(*args) -> (value, grads).

    Raises UnsupportedError if the function contains anything that this engine does not support.
    """
    derivative = derivative_of(request)
    run = _load(derivative, request.function.__name__, {}, request.linked or request.lanes > 1)
    if request.mode == "value_and_grad":
        run.compile((*request.types, *request.outs, *([types.boolean] if derivative.asks_value else [])))
    return run


def _load(derivative: DerivativeWriter, title: str, inside: dict[str, bool], is_linked: bool = False) -> Any:
    """Compile the function `run` of the derivative of a function with this title with njit."""
    options = options_of(derivative.function.fastmath)
    if is_linked:
        decorator = f"link({write_options(options)})"
    else:  # Numba caches nothing for source that is in no file
        decorator = f"njit({write_options(options | inside | {'cache': True})})"
    text = derivative.source(decorator)
    callables = derivative.function.callables
    depends = {name: f for name, f in callables.items() if is_dispatcher(f)}
    classes: dict[str, Any] = {name: c for name, c in callables.items() if isinstance(c, type)}  # of named tuples
    stable = len(depends) + len(classes) == len(callables)
    depends |= {
        f"rule {name}": rule for name, rule in derivative.writer.rules.items()
    }  # known once the source is written
    called = {name: fingerprint(x) for name, x in depends.items()}
    stable &= all(found.stable for found in called.values())
    constants = derivative.constants()
    if stable:
        name = "".join(x for x in title if x.isalnum() or x == "_")
        contents = [f"{name} {found.digest}" for name, found in called.items()]
        contents += [f"{name} {c.__module__}.{c.__qualname__} {c._fields}" for name, c in classes.items()]
        arrays = {name: x for name, x in constants.items() if name not in called and name not in classes}
        contents += [f"{name} {array.dtype} {array.shape} {array.tobytes()!r}" for name, array in arrays.items()]
        module = load_cached(f"generated_{name}", lambda: text, [text, *contents])
    else:
        module = ModuleType("contad._uncached")  # this module cannot be imported by name; Numba accepts that
        exec(compile(text, f"<derivative of {title}>", "exec"), vars(module))
    vars(module).update(constants)
    return module.run


# ---- parts of rules --------------------------------------------------------------------------------------------------
def derive_part(part: Any, given: tuple[Any, ...], wanted: Callable[[list[Any]], list[Value]]) -> Any:
    """Forward mode of a part of a rule, which another derivative calls.

        run(arguments, tangents, work, top) -> (value, tangents), work

    `wanted` chooses the float and array parameters that have tangents. The call returns the tangents of all floats of
    the value, in order; a None in the value gives an empty tuple.
    """
    kinds = tuple(kind_of(t, _place_of(part.py_func)) for t in given)

    def transform(function: SourceFunction) -> None:
        add_tangents_of_floats(function, wanted(function.parameters))

    function = read(part.py_func, kinds, flags_of(part), part, None, transform, is_part=True, at_ties=True)
    return _load(DerivativeWriter(function, (), mode="jvp", nested=True), part.py_func.__name__, INSIDE)


def derive_gradient(part: Any, given: tuple[Any, ...], first: int, nested: bool = True) -> Any:
    """The gradient of a part of a rule that returns a number, with respect to its arguments from number `first` on.

    run(*arguments[, work, top]) -> value, gradients     if nested: (value, gradients), work
    """
    argnums = tuple(range(first, len(given)))
    request = Request(part.py_func, part, given, argnums, False, "value_and_grad")
    return _load(derivative_of(request, nested), part.py_func.__name__, INSIDE if nested else {})


DERIVE.update(part=derive_part, gradient=derive_gradient)


# ---- derivatives that a function calls -------------------------------------------------------------------------------
def derive_repeated(f: Any, given: tuple[Any, ...], along: tuple[tuple[int, ...], ...], by: tuple[int, ...]) -> Any:
    """The gradient of a derivative of f along tangents of some arguments for each order; another derivative calls it.

    run(arguments, tangents, work, top) -> (the value of f, the gradients), work

    Without an order there are no tangents. Numbers in `by` that follow those of the arguments name tangents.
    """
    what = _place_of(f.py_func)
    argnums = tuple(dict.fromkeys(k for numbers in (by, *along) for k in numbers if k < len(given)))
    mode: Mode = "hvp" if along else "value_and_grad"
    request = Request(f.py_func, f, given, argnums, False, mode, along)

    def transform(function: SourceFunction) -> None:
        if along:
            _with_tangents(function, request, what)
        else:
            _require_differentiable(function, request, what)

    kinds = tuple(kind_of(t, what) for t in given)
    function = read(f.py_func, kinds, flags_of(f), f, argnums, transform, at_ties=bool(along))
    return _load(DerivativeWriter(function, by, mode=mode, nested=True), f.py_func.__name__, INSIDE)


CALLED["repeated"] = derive_repeated
