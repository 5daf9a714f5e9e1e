"""Calls of matrix kernels from generated source. A kernel is compiled once, for matrices in C order, and found by name.

A kernel takes only matrices. The call passes a vector as one column, a number as a matrix of one element, and None as
an empty matrix. The kernel writes the numbers that it computes to its last matrices, and the call returns them. A
matrix in another order is copied for the kernel; if the kernel adds to it, the kernel gets zeros instead.
"""

import functools
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from contad.compile.emitting import cgutils, ir, make_array, pack, populate_array
from contad.compile.named_code import compiled_address, emit_address, emit_call, name_of
from contad.compile.typing_rules import signature
from contad.compile.words import WORD, array_at, emit_array_at
from contad.engines.source.runtime.kernels_by_lanes import OPERAND_BARS, count_lanes, lanes_in, run_lane, take_lanes
from contad.engines.source.runtime.lent_arrays import ON_STACK
from contad.engines.source.runtime.workspace import NUMBERS
from contad.kernels.matrix_loops import add_scaled, clear, is_in_rows, write_into
from contad.memory.arena import allocate, release

_MATRIX, _ANY = (types.Array(types.float64, 2, layout) for layout in "CA")
_READ, _WRITTEN, _ADDED_TO = range(3)  # how a kernel uses a matrix
_BYTES = 8  # in a number
_NUMBERS = {"float": types.float64, "int": types.int64}
_POSITION = types.Tuple((NUMBERS, types.int64))


def forward_kernel(written: str, *computed: str) -> Callable[[Any], Any]:
    """Declare a kernel that takes matrices, work and top, writes the matrices in `written`, and returns work and top.

    It computes numbers of the kinds in `computed`. Source calls it as `*numbers, work, top = f(*arrays, work, top)`.
    """
    return lambda function: _kernel(function, written.split(), computed, _POSITION)


def reverse_kernel(function: Any, written: str = "") -> Any:
    """Declare a kernel that takes matrices, work and top, and returns top: source calls it as a function.

    It adds to the adjoints of operands. If adjoints have lanes, it is called for each lane; the values that the
    forward kernel has kept are shared.
    """
    call = _kernel(function, written.split(), (), types.int64)
    take_lanes(call)
    return call


def _kernel(function: Any, written: Sequence[str], computed: tuple[str, ...], returned: Any) -> Any:
    """The function that source calls. Compiled, it calls the kernel's machine code; it also works in plain Python."""
    names = list(inspect.signature(function).parameters.values())
    count = len(names) - 2
    parameters = inspect.Signature([*names[: count - len(computed)], *names[count:]])
    ways = [_ADDED_TO if x in OPERAND_BARS else _WRITTEN if x in written else _READ for x in parameters.parameters]
    compiled = signature(returned, *[_MATRIX] * count, NUMBERS, types.int64)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        """In plain Python."""
        *given, work, top = args
        if count := count_lanes(given):
            return [run_lane(call, given, lane, count, work, top) for lane in range(count)][-1]
        made = [np.empty((1, 1)) for _ in computed]
        matrices = [*map(_as_matrix, given)]
        rows = [_lend(x, way) for x, way in zip(matrices, ways, strict=False)]
        found = function(*rows, *made, work, top)
        for x, row, way in zip(matrices, rows, ways, strict=False):
            if row is not x and way != _READ:
                x[...] = row if way == _WRITTEN else x + row
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
        """Call the kernel with a matrix for each operand, and a place for each number."""
        matrices, lent = [], []
        for kind, x, way in zip(sig.args, args[:-2], ways, strict=False):
            if isinstance(kind, types.Array) and kind.layout != "C":
                strided = _emit_any(context, builder, kind, x)
                room = builder.ptrtoint(cgutils.alloca_once(builder, ir.DoubleType(), ON_STACK), WORD)
                address = _emit_call(context, builder, lend_rows, [strided, WORD(way), room])
                lent.append([strided, address, WORD(way), room])
                shape = cgutils.unpack_tuple(builder, make_array(_ANY)(context, builder, strided).shape, 2)
                matrices.append(emit_array_at(context, builder, _MATRIX, address, shape))
            else:
                matrices.append(_emit_matrix(context, builder, kind, x))
        places = [cgutils.alloca_once(builder, context.get_value_type(types.float64)) for _ in computed]
        matrices += [_emit_at(context, builder, place, 1, 1) for place in places]
        top = context.cast(builder, args[-1], sig.args[-1], types.int64)

        def give_back() -> None:
            for given in lent:
                _emit_call(context, builder, take_back, given)

        found = _emit_call(context, builder, call, [*matrices, args[-2], top], give_back)
        if returned is types.int64:
            return found
        numbers = [
            context.cast(builder, builder.load(place), types.float64, _NUMBERS[kind])
            for place, kind in zip(places, computed, strict=True)
        ]
        return context.make_tuple(builder, sig.return_type, [*numbers, *cgutils.unpack_tuple(builder, found, 2)])

    call.signature, call.parameters = compiled, list(parameters.parameters)[:-2]  # type: ignore[attr-defined]
    call.written = written  # type: ignore[attr-defined]
    return call


def find_kernel(name: str) -> int:
    """The address of a kernel, by the name of its wrapper in its module; compiles or loads the kernel."""
    return compiled_address(name, pkgutil.resolve_name(name).signature)


def _emit_call(context: Any, builder: Any, kernel: Any, args: Any, then: Callable[[], None] = lambda: None) -> Any:
    at = emit_address(context, builder, find_kernel, name_of(kernel))
    return emit_call(context, builder, at, kernel.signature, args, then)


def _as_matrix(x: Any) -> Any:
    if x is None:
        return np.empty((0, 0))
    return np.array([[x]]) if np.ndim(x) == 0 else x[:, None] if x.ndim == 1 else x


def _lend(x: Any, way: int) -> Any:
    """The C-ordered matrix that the kernel gets in place of x."""
    if x.flags.c_contiguous:
        return x
    return np.zeros(x.shape) if way == _ADDED_TO else np.ascontiguousarray(x)


# ---- matrices in another order, inside machine code ------------------------------------------------------------------
def lend_rows(a, way, room):  # type: ignore[no-untyped-def]
    """The address of a matrix in C order: the matrix itself if it is one, else a copy, or zeros to add to.

    Small copies are in `room`, on the caller's stack.
    """
    if is_in_rows(a):
        return a.ctypes.data
    address = room if a.size <= ON_STACK else allocate(_BYTES * a.size)
    made = array_at(address, a.shape)
    if way == _ADDED_TO:
        clear(made)
    else:
        write_into(made, a)
    return address


def take_back(a, address, way, room):  # type: ignore[no-untyped-def]
    """Write the kernel's result to the matrix, or add it."""
    if address == a.ctypes.data:
        return
    made = array_at(address, a.shape)
    if way == _ADDED_TO:
        add_scaled(a, 0, 0, 1.0, made)
    elif way == _WRITTEN:
        write_into(a, made)
    if address != room:
        release(address, _BYTES * a.size)


lend_rows.signature = types.int64(_ANY, types.int64, types.int64)  # type: ignore[attr-defined]
take_back.signature = types.none(_ANY, types.int64, types.int64, types.int64)  # type: ignore[attr-defined]


def _emit_any(context: Any, builder: Any, kind: Any, x: Any) -> Any:
    """An array as a matrix of any layout."""
    array = make_array(kind)(context, builder, x)
    shape, strides = (cgutils.unpack_tuple(builder, part, kind.ndim) for part in (array.shape, array.strides))
    if kind.ndim == 1:
        shape, strides = [*shape, WORD(1)], [*strides, WORD(_BYTES)]
    made = make_array(_ANY)(context, builder)
    populate_array(made, array.data, shape, strides, WORD(_BYTES), meminfo=None)
    return pack(made)


def _emit_matrix(context: Any, builder: Any, kind: Any, x: Any) -> Any:
    """An operand as a matrix that shares its memory."""
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, x)
        return _emit_at(context, builder, array.data, *cgutils.unpack_tuple(builder, array.shape, kind.ndim))
    number = context.get_value_type(types.float64)
    if isinstance(kind, types.NoneType):
        return _emit_at(context, builder, number.as_pointer()(None), 0, 0)
    return _emit_at(
        context, builder, cgutils.alloca_once_value(builder, context.cast(builder, x, kind, types.float64)), 1, 1
    )


def _emit_at(context: Any, builder: Any, place: Any, rows: Any, columns: Any = 1) -> Any:
    lengths = [WORD(n) if isinstance(n, int) else n for n in (rows, columns)]
    return emit_array_at(context, builder, _MATRIX, builder.ptrtoint(place, WORD), lengths)
