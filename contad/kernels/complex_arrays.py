"""Complex arrays and their real and imaginary parts, in compiled code.

The parts are views whose strides the compiler knows, so that loops over them become vector instructions. Numba's own
`z.real` and `z.imag` have strides that are read at run time.
"""

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable
from numpy.typing import NDArray

from contad.compile.emitting import cgutils, impl_ret_borrowed, ir, make_array, pack
from contad.compile.overloads import in_machine_code
from contad.variables.complex_pair import ROUNDING

_PART, _PAIR = 8, 16  # bytes


def parts_of(z: Any) -> tuple[Any, Any]:
    """The two parts of a complex number or array, as views of the array; a pair of parts is unchanged.

    In compiled code the last axis of the parts of a C-contiguous array has a constant stride.
    """
    if isinstance(z, tuple):
        return z
    return np.real(z) if np.ndim(z) else z.real, np.imag(z) if np.ndim(z) else z.imag


@type_callable(parts_of)
def _type(context: Any) -> Any:
    def typer(z: Any) -> Any:
        if isinstance(z, types.Array) and z.dtype == types.complex128:
            return types.UniTuple(z.copy(dtype=types.float64, layout="A"), 2)
        if isinstance(z, types.BaseTuple):
            return z
        return types.UniTuple(types.float64, 2) if z == types.complex128 else None

    return typer


@lower_builtin(parts_of, types.BaseTuple)
def _of_pair(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return impl_ret_borrowed(context, builder, sig.return_type, args[0])


@lower_builtin(parts_of, types.complex128)
def _of_number(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    number = context.make_complex(builder, sig.args[0], args[0])
    return context.make_tuple(builder, sig.return_type, [number.real, number.imag])


@lower_builtin(parts_of, types.Array)
def _of_array(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, part_kind = sig.args[0], sig.return_type.dtype
    array = make_array(kind)(context, builder, args[0])
    strides = array.strides
    if kind.layout == "C":
        known: list[Any] = []
        lengths = cgutils.unpack_tuple(builder, array.shape, kind.ndim)
        stride = ir.Constant(lengths[0].type, _PAIR)
        for length in reversed(lengths):
            known.insert(0, stride)
            stride = builder.mul(stride, length)
        strides = cgutils.pack_array(builder, known)
    numbers = builder.bitcast(array.data, ir.DoubleType().as_pointer())
    parts = []
    for k in range(2):
        part = make_array(part_kind)(context, builder)
        data = builder.gep(numbers, [ir.Constant(ir.IntType(64), k)])
        item = ir.Constant(array.itemsize.type, _PART)
        cgutils.copy_struct(part, array, {"data": data, "itemsize": item, "strides": strides})
        parts.append(pack(part))
    return impl_ret_borrowed(context, builder, sig.return_type, context.make_tuple(builder, sig.return_type, parts))


@numba.njit
def join_parts(real: NDArray[np.float64], imag: NDArray[np.float64]) -> NDArray[np.complex128]:
    """A new array, real + i imag."""
    found = np.empty(real.shape, np.complex128)
    found.real[...] = real
    found.imag[...] = imag
    return found


@numba.njit
def is_holomorphic(
    u_x: NDArray[np.float64], u_y: NDArray[np.float64], v_x: NDArray[np.float64], v_y: NDArray[np.float64]
) -> bool:
    """Whether du/dx = dv/dy and du/dy = -dv/dx hold for all elements up to rounding."""
    gap = largest = 0.0
    for a, b, c, d in zip(u_x.flat, u_y.flat, v_x.flat, v_y.flat):  # noqa: B905  (Numba)
        gap = max(gap, np.hypot(c + b, d - a))
        largest = max(largest, np.hypot(a, b), np.hypot(c, d))
    return gap <= ROUNDING * largest


# ---- the rows of kernels ---------------------------------------------------------------------------------------------
@in_machine_code
def join_rows(x, y, sign):  # type: ignore[no-untyped-def]
    """The matrix x + i y, or x - i y."""
    z = np.empty(x.shape, np.complex128)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = complex(x[i, j], sign * y[i, j])
    return z


@in_machine_code
def write_parts(z, scale, sign, real, imag):  # type: ignore[no-untyped-def]
    """real + i sign imag = scale z"""
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            real[i, j] = scale * z[i, j].real
            imag[i, j] = sign * scale * z[i, j].imag


@in_machine_code
def add_rows(x, scale, x_bar):  # type: ignore[no-untyped-def]
    """x_bar += scale x, unless x_bar is empty because it is not needed."""
    if x_bar.size != 0:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x_bar[i, j] += scale * x[i, j]
