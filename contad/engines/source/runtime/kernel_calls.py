"""How generated source calls a kernel of matrices: compiled once, for matrices of any layout, and reached by name.

A kernel takes matrices only. A vector is handed over as one column, a number as a matrix of one element, None as an
empty matrix; numbers that a kernel computes are last among its matrices, and the call returns them.
"""

import functools
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array, populate_array

from contad.engines.source.runtime.kernels_by_lanes import count_lanes, lanes_in, run_lane, take_lanes
from contad.engines.source.runtime.workspace import NUMBERS
from contad.native.named_code import compiled_address, emit_address, emit_call, name_of

_MATRIX = types.Array(types.float64, 2, "A")
_BYTES = 8  # of a number
_NUMBERS = {"float": types.float64, "int": types.int64}
_POSITION = types.Tuple((NUMBERS, types.int64))


def forward_kernel(*computed: str) -> Callable[[Any], Any]:
    """Declare a kernel of matrices, then work and top, which returns both; it computes numbers of these kinds.

    Source calls it as `*numbers, work, top = f(*arrays, work, top)`.
    """
    return lambda function: _kernel(function, computed, _POSITION)


def reverse_kernel(function: Any) -> Any:
    """Declare a kernel of matrices, then work and top, which returns top: source calls it as a function.

    Where adjoints are lanes, it is called for each of them, with what the value has kept once.
    """
    call = _kernel(function, (), types.int64)
    take_lanes(call)
    return call


def _kernel(function: Any, computed: tuple[str, ...], returned: Any) -> Any:
    """What source calls, in plain Python too; compiled, it is a call of the kernel's machine code."""
    names = list(inspect.signature(function).parameters.values())
    count = len(names) - 2
    parameters = inspect.Signature([*names[: count - len(computed)], *names[count:]])
    compiled = signature(returned, *[_MATRIX] * count, NUMBERS, types.int64)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        *given, work, top = args
        if count := count_lanes(given):
            return [run_lane(call, given, lane, count, work, top) for lane in range(count)][-1]
        made = [np.empty((1, 1)) for _ in computed]
        found = function(*map(_as_matrix, given), *made, work, top)
        if not computed:
            return found
        return *(int(x[0, 0]) if kind == "int" else x[0, 0] for x, kind in zip(made, computed, strict=True)), *found

    @type_callable(call)
    def type_of_call(context):  # type: ignore[no-untyped-def]
        def typer(*args: Any) -> Any:
            if any(map(lanes_in, args)):
                return None
            if returned is types.int64:
                return signature(returned, *args)
            return signature(types.Tuple([*(_NUMBERS[kind] for kind in computed), *returned.types]), *args)

        typer.__signature__ = parameters  # type: ignore[attr-defined]
        return typer

    @lower_builtin(call, types.VarArg(types.Any))
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        """Call the kernel with a matrix for each operand, and for each number a place."""
        at = emit_address(context, builder, find_kernel, name_of(call))
        matrices = [_emit_matrix(context, builder, kind, x) for kind, x in zip(sig.args[:-2], args[:-2], strict=True)]
        places = [cgutils.alloca_once(builder, context.get_value_type(types.float64)) for _ in computed]
        matrices += [_emit_array(context, builder, place, [1, 1], [_BYTES, _BYTES]) for place in places]
        top = context.cast(builder, args[-1], sig.args[-1], types.int64)
        found = emit_call(context, builder, at, compiled, [*matrices, args[-2], top])
        if returned is types.int64:
            return found
        numbers = [
            context.cast(builder, builder.load(place), types.float64, _NUMBERS[kind])
            for place, kind in zip(places, computed, strict=True)
        ]
        return context.make_tuple(builder, sig.return_type, [*numbers, *cgutils.unpack_tuple(builder, found, 2)])

    call.signature, call.parameters = compiled, list(parameters.parameters)[:-2]  # type: ignore[attr-defined]
    return call


def find_kernel(name: str) -> int:
    """The address of the kernel behind what stands for it in its module, compiled or loaded."""
    return compiled_address(name, pkgutil.resolve_name(name).signature)


def _as_matrix(x: Any) -> Any:
    if x is None:
        return np.empty((0, 0))
    return np.array([[x]]) if np.ndim(x) == 0 else x[:, None] if x.ndim == 1 else x


def _emit_matrix(context: Any, builder: Any, kind: Any, x: Any) -> Any:
    """An operand as a matrix of any layout, in the same memory."""
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, x)
        shape, strides = (cgutils.unpack_tuple(builder, part, kind.ndim) for part in (array.shape, array.strides))
        column = [1, _BYTES] if kind.ndim == 1 else []
        return _emit_array(context, builder, array.data, [*shape, *column[:1]], [*strides, *column[1:]])
    number = context.get_value_type(types.float64)
    if isinstance(kind, types.NoneType):
        return _emit_array(context, builder, number.as_pointer()(None), [0, 0], [_BYTES, _BYTES])
    place = cgutils.alloca_once_value(builder, context.cast(builder, x, kind, types.float64))
    return _emit_array(context, builder, place, [1, 1], [_BYTES, _BYTES])


def _emit_array(context: Any, builder: Any, data: Any, shape: list[Any], strides: list[Any]) -> Any:
    def words(part: list[Any]) -> list[Any]:
        return [context.get_constant(types.intp, n) if isinstance(n, int) else n for n in part]

    made = make_array(_MATRIX)(context, builder)
    populate_array(made, data, words(shape), words(strides), context.get_constant(types.intp, _BYTES), meminfo=None)
    return made._getvalue()
