"""Arrays of variables and of duals: Numba's own arrays, of active elements.

So Numba does indexing, slices as views, iteration, shapes and copies. An element is (value, cell, arena) or (value,
tangent); a constant that was written has no cell. Float arrays that a differentiated function creates are such arrays,
and `np.empty` fills them with zeros, because an element without a write must not name a cell.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, lower_cast, models, overload_classmethod, register_model

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.emitting import (
    cgutils,
    emit_lengths,
    emit_new_array,
    impl_ret_borrowed,
    intrin_alloc,
    make_array,
    pack,
    populate_array,
)
from contad.compile.machine_code import njit
from contad.compile.typing_rules import signature as signature_of
from contad.engines.tape.variables import COMPLEX_OF, DUAL, VARIABLE, Active, ActivePair, dual, pair, variable

VARIABLE_BYTES = 24


class ActiveArray(types.Array):
    """An array of active elements; its views have the same type."""

    is_internal = True  # lets Numba fuse expressions of it

    def copy(self, dtype: Any = None, ndim: Any = None, layout: Any = None, readonly: Any = None) -> Any:
        """The type with some of its parts replaced."""
        return _keep(super().copy(dtype, ndim, layout, readonly))

    def unify(self, typingctx: Any, other: Any) -> Any:
        """The common type of both arrays."""
        return _keep(super().unify(typingctx, other))


def _keep(kind: Any) -> Any:
    if kind is None or not isinstance(kind.dtype, (Active, ActivePair)):
        return kind
    return ActiveArray(kind.dtype, kind.ndim, kind.layout, readonly=not kind.mutable, aligned=kind.aligned)


register_model(ActiveArray)(models.ArrayModel)


@overload_classmethod(ActiveArray, "_allocate")
def _allocate(cls, size, align):  # type: ignore[no-untyped-def]
    """Allocate as for Numba's own arrays, whose class method is not inherited."""
    return lambda cls, size, align: intrin_alloc(size, align)


@lower_cast(ActiveArray, Active)
def _element(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    """Convert an array without axes where a number is written."""
    return context.compile_internal(builder, lambda x: x[()], signature_of(toty, fromty), [value])


def is_active_array(kind: Any) -> bool:
    """Whether a type is that of an array of variables or duals."""
    return isinstance(kind, types.Array) and isinstance(kind.dtype, Active)


def carries(kind: Any) -> bool:
    """Whether a type is that of an array of variables or duals, or of pairs of them."""
    return isinstance(kind, types.Array) and isinstance(kind.dtype, (Active, ActivePair))


def _zeros_of(active: Active | ActivePair) -> Callable[..., Any]:
    """An njit function that makes an array of constants 0 of a given shape."""

    @intrinsic
    def zeros(typingctx, shape):  # type: ignore[no-untyped-def]
        """An array of constants 0, with any number of axes."""
        if isinstance(shape, types.Integer):
            ndim = 1
        elif isinstance(shape, types.UniTuple) and isinstance(shape.dtype, types.Integer):
            ndim = len(shape)
        elif isinstance(shape, types.Tuple) and not len(shape):
            ndim = 0
        else:
            return None
        kind = ActiveArray(active, ndim, "C")

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            lengths = emit_lengths(context, builder, signature.args[0], args[0])
            made = emit_new_array(context, builder, kind, lengths)
            cgutils.memset(builder, made.data, builder.mul(made.itemsize, made.nitems), 0)
            return pack(made)

        return kind(shape), codegen

    found: Callable[..., Any] = zeros
    return found


_KINDS: tuple[Any, ...] = (VARIABLE, DUAL, *COMPLEX_OF.values())
zeros_of: dict[Any, Callable[..., Any]] = {kind: _zeros_of(kind) for kind in _KINDS}
_zero_duals, _zero_dual_pairs = zeros_of[DUAL], zeros_of[COMPLEX_OF[DUAL]]


@intrinsic
def _array_at(typingctx, address, shape, like):  # type: ignore[no-untyped-def]
    """An array of variables, or of pairs of them for a complex array `like`, in memory that it does not own."""
    is_complex = isinstance(like.dtype, types.Complex)
    kind = ActiveArray(COMPLEX_OF[VARIABLE] if is_complex else VARIABLE, len(shape), "C")

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        made = make_array(kind)(context, builder)
        lengths = cgutils.unpack_tuple(builder, args[1])
        size = context.get_constant(types.intp, VARIABLE_BYTES * (1 + is_complex))
        strides = [size]
        for length in lengths[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        data = builder.inttoptr(args[0], made.data.type)
        populate_array(made, data, lengths, strides if lengths else [], size, None)
        return pack(made)

    return kind(address, shape, like), codegen


@njit(**INTERNAL_OPTIONS)
def lift(x, cell, header, address):  # type: ignore[no-untyped-def]
    """The array x as variables of the cells from `cell`, in C order, in the memory at an address.

    It takes memory from the caller, because Numba would not free the array if the user's function raises.
    """
    made = _array_at(address, x.shape, x)
    flat = made.reshape(made.size)
    for k, value in enumerate(x.flat):
        flat[k] = variable(value, cell + k, header)
    return made


@njit(**INTERNAL_OPTIONS)
def lift_pairs(x, cell, header, address):  # type: ignore[no-untyped-def]
    """The complex array x as pairs of variables, like `lift`; the two cells of a pair are neighbours."""
    made = _array_at(address, x.shape, x)
    flat = made.reshape(made.size)
    for k, value in enumerate(x.flat):
        flat[k] = pair(variable(value.real, cell + 2 * k, header), variable(value.imag, cell + 2 * k + 1, header))
    return made


@njit(**INTERNAL_OPTIONS)
def lift_dual(x, x_dot):  # type: ignore[no-untyped-def]
    """The array x as duals with tangents x_dot."""
    if x_dot.shape != x.shape:
        raise ValueError("jvp: a tangent must have the shape of its argument")
    made = _zero_duals(x.shape)
    for k in np.ndindex(x.shape):
        made[k] = dual(x[k], x_dot[k])
    return made


@njit(**INTERNAL_OPTIONS)
def lift_dual_pairs(x, of_real, of_imag):  # type: ignore[no-untyped-def]
    """The complex array x as pairs of duals with these tangents of the parts."""
    if of_real.shape != x.shape or of_imag.shape != x.shape:
        raise ValueError("jvp: a tangent must have the shape of its argument")
    made = _zero_dual_pairs(x.shape)
    for k in np.ndindex(x.shape):
        made[k] = pair(dual(x[k].real, of_real[k]), dual(x[k].imag, of_imag[k]))
    return made


def _constants(zeros: Callable[..., Any]) -> Callable[..., Any]:
    @njit(**INTERNAL_OPTIONS)
    def constants(x):  # type: ignore[no-untyped-def]
        """The array x as an array of constants that accepts variables."""
        made = zeros(x.shape)
        made[...] = x
        return made

    found: Callable[..., Any] = constants
    return found


constants_of = {active: _constants(zeros) for active, zeros in zeros_of.items()}


@njit(**INTERNAL_OPTIONS)
def values(x):  # type: ignore[no-untyped-def]
    """The plain numbers of an array."""
    made = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        made[k] = x[k].value
    return made


@njit(**INTERNAL_OPTIONS)
def tangents(x):  # type: ignore[no-untyped-def]
    """The tangents of an array of duals."""
    made = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        made[k] = x[k].tangent
    return made


@njit(**INTERNAL_OPTIONS)
def copy_in_order(x):  # type: ignore[no-untyped-def]
    """A copy in C order."""
    made = np.empty(x.shape, x.dtype)
    made[...] = x
    return made


@intrinsic
def readonly(typingctx, x):  # type: ignore[no-untyped-def]
    """The same array with a read-only type."""
    kind = x.copy(readonly=True)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return impl_ret_borrowed(context, builder, kind, args[0])

    return kind(x), codegen
