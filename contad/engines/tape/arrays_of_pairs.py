"""Arrays of complex numbers in a differentiated function: their parts as views, and products.

An element is a pair, and Numba indexes and moves elements. What is linear is computed from the arrays of parts, by the
operations of real arrays.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from contad.compile.emitting import cgutils, impl_ret_borrowed, ir, make_array, pack
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload, add_overload_attribute, add_overload_method
from contad.engines.tape.arrays import ActiveArray, carries
from contad.engines.tape.pairs_of_variables import is_complex, join
from contad.engines.tape.variables import ActivePair

_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def meets_arrays(*kinds: Any) -> bool:
    """Whether these are arrays of numbers, of which one carries derivatives and one is complex."""
    return all(isinstance(x, types.Array) for x in kinds) and any(map(carries, kinds)) and any(map(is_complex, kinds))


# ---- parts, as views -------------------------------------------------------------------------------------------------
def _view(place: int) -> Callable[..., Any]:
    """The function that views the parts at a place of the elements."""

    @intrinsic
    def part(typingctx, z):  # type: ignore[no-untyped-def]
        """The parts of the elements at a place, in the memory of the array."""
        kind = ActiveArray(z.dtype.part, z.ndim, "A", readonly=not z.mutable)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array, made = make_array(z)(context, builder, args[0]), make_array(kind)(context, builder)
            data = builder.bitcast(cgutils.gep_inbounds(builder, array.data, 0, place), made.data.type)
            size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            changes = {"data": data, "itemsize": ir.Constant(array.itemsize.type, size)}
            cgutils.copy_struct(made, array, changes)
            return impl_ret_borrowed(context, builder, kind, pack(made))

        return kind(z), codegen

    found: Callable[..., Any] = part
    return found


_real, _imag = _view(0), _view(1)


@njit(**_OPTIONS)
def no_imag(z: Any) -> Any:
    """The imaginary part of a real array."""
    return np.zeros(z.shape)


def _attribute(name: str, view: Callable[..., Any]) -> None:
    """Declare z.real or z.imag."""

    def typing(z: Any) -> Any:
        if isinstance(z.dtype, ActivePair):
            return lambda z: view(z)
        return (lambda z: z) if name == "real" else lambda z: no_imag(z)

    add_overload_attribute(ActiveArray, name)(typing)
    get = (lambda val: val.real) if name == "real" else lambda val: val.imag
    add_overload(getattr(np, name))(lambda val: get if carries(val) else None)


_attribute("real", _real)
_attribute("imag", _imag)


@add_overload(np.angle)
def _angle(z: Any, deg: Any = False) -> Any:
    return (lambda z, deg=False: np.arctan2(z.imag, z.real)) if meets_arrays(z) else None


for _name in ("conj", "conjugate"):
    add_overload_method(ActiveArray, _name)(lambda z: (lambda z: np.conj(z)) if is_complex(z) else lambda z: z)


# ---- linear functions of arrays --------------------------------------------------------------------------------------
def product(a: Any, b: Any) -> Any:
    """np.dot and @ of arrays of which one is complex, as products of the parts."""
    if not (isinstance(a, types.Array) and meets_arrays(a, b)) or not {a.ndim, b.ndim} <= {1, 2}:
        return None
    if not is_complex(a):
        return lambda a, b: join(np.dot(a, b.real), np.dot(a, b.imag))
    if not is_complex(b):
        return lambda a, b: join(np.dot(a.real, b), np.dot(a.imag, b))
    return lambda a, b: join(
        np.dot(a.real, b.real) - np.dot(a.imag, b.imag), np.dot(a.real, b.imag) + np.dot(a.imag, b.real)
    )


for _function in (np.dot, operator.matmul):
    add_overload(_function)(product)
add_overload_method(ActiveArray, "dot")(product)


@add_overload(np.vdot)
def _vdot(a: Any, b: Any) -> Any:
    if not isinstance(a, types.Array) or not (carries(a) or carries(b)):
        return None
    return lambda a, b: np.dot(np.conj(a), b)


@add_overload(np.outer)
def _outer(a: Any, b: Any) -> Any:
    if not meets_arrays(a, b):
        return None
    return lambda a, b: a.copy().reshape((a.size, 1)) * b.copy().reshape((1, b.size))


@add_overload(np.linalg.norm)
def _norm(x: Any, ord: Any = None) -> Any:
    """The Euclidean norm."""
    if not meets_arrays(x) or not (ord is None or isinstance(ord, (types.NoneType, types.Omitted))):
        return None
    return lambda x, ord=None: np.hypot(np.linalg.norm(x.real), np.linalg.norm(x.imag))
